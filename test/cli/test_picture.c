// test_picture.c: what pages of reproductions are drawn with: lines and surfaces where a field is zero, and rasters as PNG.
#include <stdlib.h>
#include <string.h>

#include "repro/picture.h"
#include "support/check.h"

typedef struct Ball {
  int dim;
  double centre[3], radius;
} Ball;

static double ball(void *ctx, const double *x) {
  const Ball *b = ctx;
  double sum = 0;
  for (int i = 0; i < b->dim; i++) sum += (x[i] - b->centre[i]) * (x[i] - b->centre[i]);
  return sqrt(sum) - b->radius;
}

// ends lie on the circle, and the pieces are as long as it
static void test_contour(void **state) {
  (void)state;
  Ball b = {2, {0.1, -0.2, 0}, 0.5};
  tgSegments s = {0};
  double length = 0;
  assert_true(tgi_contour(ball, &b, 0.1, 1, 100, &s));
  for (int k = 0; k < s.n; k++) {
    const double *x = s.x + 4 * k;
    for (int end = 0; end < 2; end++) check_close(hypot(x[2 * end] - 0.1, x[2 * end + 1] + 0.2), 0.6, 2e-4);
    length += hypot(x[2] - x[0], x[3] - x[1]);
  }
  check_close(length, 2 * TG_PI * 0.6, 1e-3);
  free(s.x);
}

// a ball's picture is a disc, brightest where it faces the light
static void test_surface(void **state) {
  (void)state;
  static const double turn[9] = {0, 1, 0, 0, 0, 1, 1, 0, 0}, half[3] = {0.5, 0.5, 0.5};
  Ball b = {3, {0.3, 0.2, -0.1}, 0.4};
  tgRaster r;
  int inside = 0, wrong = 0;
  assert_true(tgi_raster_make(&r, 200, 200));
  assert_true(tgi_zero_set_draw(ball, &b, b.centre, half, 0.02, turn, 200, &r));
  for (int k = 0; k < 200 * 200; k++) {
    double d = hypot(k % 200 - 100, k / 200 - 100);
    inside += r.pixel[k] > 0;
    wrong += d < 78 ? r.pixel[k] == 0 : d > 82 && r.pixel[k] > 0;
  }
  assert_int_equal(wrong, 0);
  check_close(inside, TG_PI * 80 * 80, 300);
  assert_true(r.pixel[70 * 200 + 80] > 220 && r.pixel[150 * 200 + 140] < 60);  // upper left, lower right
  tgi_raster_free(&r);
}

static unsigned word(const unsigned char *p) { return (unsigned)p[0] << 24 | (unsigned)p[1] << 16 | (unsigned)p[2] << 8 | p[3]; }

// the bytes of a PNG of one row of two pixels: chunks in order, the check sum that the standard prints for IEND, the stored row
static void test_png(void **state) {
  (void)state;
  static const char code[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  tgRaster r;
  char *text = NULL;
  size_t size = 0, n = 0;
  assert_true(tgi_raster_make(&r, 2, 1));
  r.pixel[0] = 7;
  r.pixel[1] = 9;
  FILE *out = open_memstream(&text, &size);
  assert_true(tgi_raster_image(&r, out, 0, 0, 2, 1));
  fclose(out);
  unsigned char *png = malloc(size);
  unsigned held = 0;
  int bits = 0;
  const char *at = strstr(text, "base64,");
  assert_non_null(at);
  for (at += 7; *at != '"' && *at != '='; at++) {
    held = held << 6 | (unsigned)(strchr(code, *at) - code);
    bits += 6;
    if (bits >= 8) png[n++] = (unsigned char)(held >> (bits -= 8));
  }
  assert_memory_equal(png, "\x89PNG\r\n\x1a\n", 8);
  static const char *const name[] = {"IHDR", "PLTE", "IDAT", "IEND"};
  size_t p = 8;
  for (int k = 0; k < 4; k++) {
    unsigned length = word(png + p);
    assert_memory_equal(png + p + 4, name[k], 4);
    if (k == 2) assert_memory_equal(png + p + 8, "\x78\x01\x01\x03\x00\xfc\xff\x00\x07\x09", 10);
    if (k == 3) assert_memory_equal(png + p + 8, "\xae\x42\x60\x82", 4);
    p += 12 + length;
  }
  assert_true(p == n);
  free(png);
  free(text);
  tgi_raster_free(&r);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_contour), cmocka_unit_test(test_surface), cmocka_unit_test(test_png)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
