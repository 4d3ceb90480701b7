// test_random.c: Philox against the published vectors, uniform and normal numbers against their moments; FNV-1a against published values.
#include <string.h>

#include "tangere/base.h"
#include "base/random.h"
#include "support/check.h"

// known answers of the authors' library Random123, philox4x32 with 10 rounds
static void philox_gives_published_words(void **state) {
  (void)state;
  static const uint32_t known[3][10] = {
    {0, 0, 0, 0, 0, 0, 0x6627e8d5u, 0xe169c58du, 0xbc57ac4cu, 0x9b00dbd8u},
    {~0u, ~0u, ~0u, ~0u, ~0u, ~0u, 0x408f276du, 0x41c83b0eu, 0xa20bc7c6u, 0x6d5451fdu},
    {0x243f6a88u, 0x85a308d3u, 0x13198a2eu, 0x03707344u, 0xa4093822u, 0x299f31d0u, 0xd16cfe09u, 0x94fdccebu, 0x5001e420u, 0x24126ea1u},
  };
  for (int i = 0; i < 3; i++) {
    uint32_t out[4];
    tgi_philox(known[i], known[i] + 4, out);
    assert_memory_equal(out, known[i] + 6, sizeof out);
  }
}

static void numbers_have_their_moments(void **state) {
  (void)state;
  const int n = 200000;
  double su = 0, suu = 0, sn = 0, snn = 0, snnnn = 0, cross = 0;
  for (int i = 0; i < n; i++) {
    double u = tg_random_uniform(7, 3, (uint64_t)i), z = tg_random_normal(7, 4, (uint64_t)i);
    check_true(u >= 0 && u < 1, "uniform %g", u);
    su += u;
    suu += u * u;
    sn += z;
    snn += z * z;
    snnnn += z * z * z * z;
    cross += (u - 0.5) * (tg_random_uniform(7, 5, (uint64_t)i) - 0.5);
  }
  // five standard deviations of each mean
  double r = 5 / sqrt(n);
  check_close(su / n, 0.5, r * sqrt(1.0 / 12));
  check_close(suu / n, 1.0 / 3, r * sqrt(4.0 / 45));
  check_close(sn / n, 0, r);
  check_close(snn / n, 1, r * sqrt(2));
  check_close(snnnn / n, 3, r * sqrt(96));
  check_close(cross / n, 0, r / 12);
}

static void every_argument_matters(void **state) {
  (void)state;
  uint64_t a = tgi_random_bits(1, 2, 3);
  assert_true(a == tgi_random_bits(1, 2, 3));
  assert_true(a != tgi_random_bits(2, 2, 3));
  assert_true(a != tgi_random_bits(1, 3, 3));
  assert_true(a != tgi_random_bits(1, 2, 4));
  assert_true(a != tgi_random_bits(1 + (UINT64_C(1) << 40), 2, 3));
  assert_true(a != tgi_random_bits(1, 2 + (UINT64_C(1) << 40), 3));
  assert_true(a != tgi_random_bits(1, 2, 3 + (UINT64_C(1) << 40)));
}

static void hash_gives_published_values(void **state) {
  (void)state;
  assert_true(tg_hash(TG_HASH_START, "", 0) == UINT64_C(0xcbf29ce484222325));
  assert_true(tg_hash(TG_HASH_START, "a", 1) == UINT64_C(0xaf63dc4c8601ec8c));
  assert_true(tg_hash(TG_HASH_START, "foobar", 6) == UINT64_C(0x85944171f73967e8));
  assert_true(tg_hash(tg_hash(TG_HASH_START, "foo", 3), "bar", 3) == UINT64_C(0x85944171f73967e8));
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(philox_gives_published_words),
    cmocka_unit_test(numbers_have_their_moments),
    cmocka_unit_test(every_argument_matters),
    cmocka_unit_test(hash_gives_published_values),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
