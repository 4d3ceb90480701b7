// test_pieces.c: pieces survive being written and read; bytes that are damaged anywhere are refused with a reason.
#include "geom/pieces.h"

#include <stdlib.h>
#include <string.h>

#include "tangere/base.h"
#include "support/alloc.h"
#include "support/check.h"

static const double low[3] = {-1, -1, -1}, high[3] = {1, 1, 1};

// two tetrahedra and one with five points
static tgPieces sample(void) {
  tgPieces p;
  uint32_t count[3] = {4, 5, 4};
  assert_int_equal(tgi_pieces_create(&p, 3, count, NULL, NULL), TG_OK);
  for (int i = 0; i < 3 * p.adr[3]; i++) p.vert[i] = (i * 37 % 41 - 20) / 20.0;
  return p;
}

static char *bytes_of(const tgPieces *p, uint64_t key, size_t *size) {
  *size = tgi_pieces_size(p);
  char *bytes = malloc(*size);
  assert_non_null(bytes);
  tgi_pieces_encode(p, key, bytes);
  return bytes;
}

// makes the checksum fit again, so that what lies behind it is reached
static void seal(char *bytes, size_t size) {
  uint64_t sum = tg_hash(TG_HASH_START, bytes, size - sizeof sum);
  memcpy(bytes + size - sizeof sum, &sum, sizeof sum);
}

static void comes_back(void **state) {
  (void)state;
  tgPieces p = sample(), q;
  size_t size;
  char *bytes = bytes_of(&p, 42, &size);
  assert_int_equal(tgi_pieces_decode(bytes, size, 42, low, high, NULL, &q, NULL), TG_OK);
  assert_int_equal(q.npiece, 3);
  assert_memory_equal(q.adr, p.adr, 4 * sizeof *p.adr);
  assert_memory_equal(q.vert, p.vert, 3 * 13 * sizeof *p.vert);
  tgi_pieces_free(&p);
  tgi_pieces_free(&q);
  free(bytes);
}

static void every_bit_and_length_counts(void **state) {
  (void)state;
  tgPieces p = sample(), q;
  size_t size;
  char *bytes = bytes_of(&p, 42, &size);
  for (size_t bit = 0; bit < 8 * size; bit++) {
    tgError why = {0};
    bytes[bit / 8] ^= (char)(1 << bit % 8);
    check_true(tgi_pieces_decode(bytes, size, 42, low, high, NULL, &q, &why) == TG_ERR_PARSE, "bit %zu", bit);
    check_true(why.text[0] != '\0', "bit %zu: no reason", bit);
    bytes[bit / 8] ^= (char)(1 << bit % 8);
  }
  for (size_t n = 0; n < size; n++) {
    char *exact = malloc(n + 1);     // the sanitizer sees reads past the end
    assert_non_null(exact);
    memcpy(exact, bytes, n);
    check_true(tgi_pieces_decode(exact, n, 42, low, high, NULL, &q, NULL) == TG_ERR_PARSE, "%zu bytes", n);
    free(exact);
  }
  tgi_pieces_free(&p);
  free(bytes);
}

static void lies_under_a_good_checksum_are_seen(void **state) {
  (void)state;
  tgPieces p = sample(), q;
  size_t size;
  double inf = INFINITY, far = 1.5;
  static const uint32_t zero = 0, three = 3, many = 4000000000u, most = TGI_PIECES_MOST + 1;
  const struct { size_t at; const void *data; size_t n; tgStatus want; const char *text; } lie[] = {
      {12, &zero, 4, TG_ERR_PARSE, "0 pieces"}, {12, &most, 4, TG_ERR_PARSE, "4097 pieces"}, {24, &many, 4, TG_ERR_PARSE, "vertices need"},
      {24, &three, 4, TG_ERR_PARSE, "vertices need"}, {36, &inf, 8, TG_ERR_PARSE, "vertex 0"},
      {36 + 8 * 7, &far, 8, TG_ERR_PARSE, "vertex 2"}};
  for (size_t i = 0; i < sizeof lie / sizeof *lie; i++) {
    tgError why = {0};
    char *bytes = bytes_of(&p, 42, &size);
    memcpy(bytes + lie[i].at, lie[i].data, lie[i].n);
    seal(bytes, size);
    check_true(tgi_pieces_decode(bytes, size, 42, low, high, NULL, &q, &why) == lie[i].want, "lie %zu", i);
    check_true(strstr(why.text, lie[i].text) != NULL, "lie %zu: %s", i, why.text);
    free(bytes);
  }
  char *bytes = bytes_of(&p, 42, &size);
  assert_int_equal(tgi_pieces_decode(bytes, size, 43, low, high, NULL, &q, NULL), TG_ERR_PARSE);
  free(bytes);
  tgi_pieces_free(&p);
}

static void too_few_and_too_many_are_refused(void **state) {
  (void)state;
  tgPieces p;
  uint32_t count[2] = {4, 3};
  assert_int_equal(tgi_pieces_create(&p, 0, count, NULL, NULL), TG_ERR_LIMIT);
  assert_int_equal(tgi_pieces_create(&p, 2, count, NULL, NULL), TG_ERR_LIMIT);
  count[1] = TGI_PIECE_VERTICES_MOST + 1;
  assert_int_equal(tgi_pieces_create(&p, 2, count, NULL, NULL), TG_ERR_LIMIT);
  count[1] = 4;
  for (long k = 1; k <= 2; k++) {
    tgtAlloc a;
    tgt_alloc_init(&a);
    a.fail_at = k;
    assert_int_equal(tgi_pieces_create(&p, 2, count, &a.hooks, NULL), TG_ERR_MEMORY);
    assert_int_equal(a.blocks, 0);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(comes_back), cmocka_unit_test(every_bit_and_length_counts),
                                     cmocka_unit_test(lies_under_a_good_checksum_are_seen),
                                     cmocka_unit_test(too_few_and_too_many_are_refused)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
