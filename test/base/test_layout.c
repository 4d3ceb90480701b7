// test_layout.c: arrays of one block, and the scratch of a sim: apart, aligned, and under the address sanitizer with bytes between them
// that end a program which touches them.
#include "base/layout.h"

#include <stdlib.h>

#include "sim/sim.h"
#include "support/rig.h"

// is a byte marked as no one's? Without the sanitizer none can be.
static bool is_red(const void *at) {
#ifdef TGI_SANITIZED
  return __asan_address_is_poisoned(at) != 0;
#else
  (void)at;
  return true;
#endif
}
static bool is_free(const char *at, size_t bytes) {
#ifdef TGI_SANITIZED
  return __asan_region_is_poisoned((void *)(uintptr_t)at, bytes) == NULL;
#else
  return at != NULL || bytes == 0;
#endif
}

enum { ARRAYS = 5 };
static const size_t count[ARRAYS] = {3, 8, 0, 64, 5}, size[ARRAYS] = {1, 8, 4, 1, 12};

static void place(tgLayout *l, char *at[ARRAYS]) {
  for (int i = 0; i < ARRAYS; i++) at[i] = tgi_place(l, count[i], size[i]);
}

static void test_arrays_of_a_block(void **state) {
  (void)state;
  tgLayout l = {.base = NULL};
  char *at[ARRAYS];
  place(&l, at);
  size_t bytes = l.used;
  for (int i = 0; i < ARRAYS; i++) assert_null(at[i]);
  char *block = aligned_alloc(64, bytes);
  memset(block, 7, bytes);
  l = (tgLayout){.base = block};
  place(&l, at);
  assert_int_equal(l.used, bytes);
  for (int i = 0; i < ARRAYS; i++) {
    const char *end = at[i] + count[i] * size[i], *next = i + 1 < ARRAYS ? at[i + 1] : block + bytes;
    assert_true((uintptr_t)at[i] % 64 == 0 && next >= end && next - end < 64 + TGI_RED_ZONE);
    assert_true(is_free(at[i], count[i] * size[i]));
    for (const char *c = end; c < next; c++) assert_true(is_red(c));
  }
  free(block);
}

static void test_scratch(void **state) {
  (void)state;
  Rig r = rig_of_text("<mujoco><worldbody><body><freejoint/><geom size=\".1\"/></body></worldbody></mujoco>", "lcp", NULL);
  char *first = tgi_stack_bytes(r.s, 100);
  size_t mark = tgi_stack_mark(r.s);
  char *second = tgi_stack_bytes(r.s, 64);
  assert_true((uintptr_t)first % 64 == 0 && second == first + 128);
  assert_true(is_free(first, 100) && is_red(first + 100) && is_red(second - 1) && is_free(second, 64) && is_red(second + 64));
  tgi_stack_free(r.s, mark);
  assert_true(is_free(first, 100) && is_red(second) && is_red(second + 63));
  assert_ptr_equal(tgi_stack_bytes(r.s, 10), second);
  assert_true(is_free(second, 10) && is_red(second + 10));
  tgi_stack_free(r.s, 0);
  assert_true(is_red(first));
  drop(&r);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_arrays_of_a_block), cmocka_unit_test(test_scratch)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
