// test_png.c: heights of PNG images: what they are, and images that are damaged, too large, or for which there is no memory.
// Images of every kind are held against MuJoCo's reading in test/peer/test_mujoco_mjcf.py.
#include <string.h>

#include "io/png.h"
#include "support/alloc.h"
#include "support/check.h"

// 3 x 2 of 8 bits, with a text
static const unsigned char grey[] = {
    137, 80, 78, 71, 13, 10, 26, 10, 0, 0, 0, 13, 73, 72, 68, 82, 0, 0, 0, 3, 0, 0, 0, 2, 8, 0, 0, 0, 0, 184, 31, 57, 198, 0, 0, 0, 3,
    116, 69, 88, 116, 97, 0, 98, 220, 73, 162, 59, 0, 0, 0, 16, 73, 68, 65, 84, 120, 156, 99, 96, 224, 18, 97, 72, 57, 241, 31, 0, 4, 99,
    2, 74, 57, 188, 225, 108, 0, 0, 0, 0, 73, 69, 78, 68, 174, 66, 96, 130,
};
// 2 x 2 of 4 bits, of a palette of four
static const unsigned char palette[] = {
    137, 80, 78, 71, 13, 10, 26, 10, 0, 0, 0, 13, 73, 72, 68, 82, 0, 0, 0, 2, 0, 0, 0, 2, 4, 3, 0, 0, 0, 128, 152, 16, 23, 0, 0, 0, 12,
    80, 76, 84, 69, 0, 0, 0, 10, 100, 200, 200, 1, 2, 255, 255, 255, 97, 248, 153, 85, 0, 0, 0, 12, 73, 68, 65, 84, 120, 156, 99, 96, 100,
    80, 6, 0, 0, 42, 0, 37, 2, 183, 255, 219, 0, 0, 0, 0, 73, 69, 78, 68, 174, 66, 96, 130,
};
// the same whose last pixel is of colour 9
static const unsigned char beyond[] = {
    137, 80, 78, 71, 13, 10, 26, 10, 0, 0, 0, 13, 73, 72, 68, 82, 0, 0, 0, 2, 0, 0, 0, 2, 4, 3, 0, 0, 0, 128, 152, 16, 23, 0, 0, 0, 12,
    80, 76, 84, 69, 0, 0, 0, 10, 100, 200, 200, 1, 2, 255, 255, 255, 97, 248, 153, 85, 0, 0, 0, 12, 73, 68, 65, 84, 120, 156, 99, 96, 100,
    208, 4, 0, 0, 48, 0, 43, 49, 96, 191, 131, 0, 0, 0, 0, 73, 69, 78, 68, 174, 66, 96, 130,
};
// 5000 x 2 of 1 bit
static const unsigned char wide[] = {
    137, 80, 78, 71, 13, 10, 26, 10, 0, 0, 0, 13, 73, 72, 68, 82, 0, 0, 19, 136, 0, 0, 0, 2, 1, 0, 0, 0, 0, 156, 254, 11, 139, 0, 0, 0,
    18, 73, 68, 65, 84, 120, 156, 99, 96, 24, 5, 163, 96, 20, 140, 130, 225, 11, 0, 4, 228, 0, 1, 72, 62, 23, 1, 0, 0, 0, 0, 73, 69, 78,
    68, 174, 66, 96, 130,
};
// 1 x 2
static const unsigned char thin[] = {
    137, 80, 78, 71, 13, 10, 26, 10, 0, 0, 0, 13, 73, 72, 68, 82, 0, 0, 0, 1, 0, 0, 0, 2, 8, 0, 0, 0, 0, 188, 234, 233, 251, 0, 0, 0, 12,
    73, 68, 65, 84, 120, 156, 99, 96, 96, 96, 4, 0, 0, 5, 0, 2, 245, 77, 65, 206, 0, 0, 0, 0, 73, 69, 78, 68, 174, 66, 96, 130,
};

typedef struct Image { unsigned char *pixel; int nrow, ncol; tgError error; tgStatus status; } Image;

static Image read_with(const unsigned char *data, size_t size, const tgAllocator *a) {
  Image i = {0};
  i.status = tgi_png_heights((const char *)data, size, 4096, a, &i.pixel, &i.nrow, &i.ncol, &i.error);
  return i;
}

static void expect(const unsigned char *data, size_t size, int nrow, int ncol, const unsigned char *want) {
  tgtAlloc a;
  tgt_alloc_init(&a);
  Image i = read_with(data, size, &a.hooks);
  check_true(i.status == TG_OK, "%s", i.error.text);
  assert_int_equal(i.nrow, nrow);
  assert_int_equal(i.ncol, ncol);
  assert_memory_equal(i.pixel, want, (size_t)(nrow * ncol));
  a.hooks.free(a.hooks.ctx, i.pixel);
  assert_int_equal(a.blocks, 0);
}

static void refuse(const unsigned char *data, size_t size, tgStatus status, const char *text) {
  tgtAlloc a;
  tgt_alloc_init(&a);
  Image i = read_with(data, size, &a.hooks);
  check_true(i.status == status && strstr(i.error.text, text) != NULL, "status %d: %s", i.status, i.error.text);
  assert_null(i.pixel);
  assert_int_equal(a.blocks, 0);
}

static void test_pixels(void **state) {
  (void)state;
  expect(grey, sizeof grey, 2, 3, (const unsigned char[]){0, 10, 20, 100, 200, 255});
  expect(palette, sizeof palette, 2, 2, (const unsigned char[]){0, 10, 200, 255});   // the red of each colour
}

static void test_refused(void **state) {
  (void)state;
  refuse(beyond, sizeof beyond, TG_ERR_PARSE, "a colour that its palette does not have");
  refuse(wide, sizeof wide, TG_ERR_LIMIT, "5000 x 2 pixels; heights need 2 to 4096 of each");
  refuse(thin, sizeof thin, TG_ERR_INVALID, "1 x 2 pixels");
  refuse(grey + 1, sizeof grey - 1, TG_ERR_PARSE, "no PNG image that can be read");
  refuse((const unsigned char *)"", 0, TG_ERR_PARSE, "ends too early");
}

// any byte that is wrong is noticed, as everything in a PNG is under a checksum; so is any end that comes too early
static void test_damaged(void **state) {
  (void)state;
  tgtAlloc a;
  tgt_alloc_init(&a);
  for (size_t k = 0; k < sizeof grey; k++) {
    unsigned char bent[sizeof grey];
    memcpy(bent, grey, sizeof grey);
    bent[k] ^= 0x55;
    Image wrong = read_with(bent, sizeof bent, &a.hooks), cut = read_with(grey, k, &a.hooks);
    check_true(wrong.status != TG_OK && wrong.pixel == NULL && strlen(wrong.error.text) > 10, "byte %zu: %s", k, wrong.error.text);
    check_true(cut.status == TG_ERR_PARSE && cut.pixel == NULL && strlen(cut.error.text) > 10, "%zu bytes: %s", k, cut.error.text);
    assert_int_equal(a.blocks, 0);
  }
}

// every allocation fails in turn, once and for good
static void test_memory(void **state) {
  (void)state;
  tgtAlloc a;
  tgt_alloc_init(&a);
  Image whole = read_with(palette, sizeof palette, &a.hooks);
  assert_int_equal(whole.status, TG_OK);
  a.hooks.free(a.hooks.ctx, whole.pixel);
  long n = a.calls;
  assert_true(n > 4);
  for (long k = 1; k <= n; k++)
    for (int sticky = 0; sticky < 2; sticky++) {
      tgt_alloc_init(&a);
      a.fail_at = k;
      a.sticky = sticky;
      Image i = read_with(palette, sizeof palette, &a.hooks);
      check_true(i.status == TG_ERR_MEMORY && strstr(i.error.text, "out of memory") != NULL, "%ld: %s", k, i.error.text);
      assert_null(i.pixel);
      assert_int_equal(a.blocks, 0);
    }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_pixels), cmocka_unit_test(test_refused), cmocka_unit_test(test_damaged),
                                     cmocka_unit_test(test_memory)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
