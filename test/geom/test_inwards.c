// test_inwards.c: a surface that lies deeper in its geom: faces are deeper by what they should be, and only along their normals.
#include <math.h>
#include <stdlib.h>

#include "geom/sphere_tree.h"
#include "support/check.h"

#define DEPTH 0.01

static void place(const tgiSurface *s, const double size[3], double depth, tgReal *vert) {
  tgReal z[3] = {size[0], size[1], size[2]};
  tgi_surface_place(s, z, vert);
  for (int k = 0; k < 3 * s->nvert; k++) vert[k] += depth * s->inwards[k];
}

// depth of each face's centre under its plane, and how far its normal has turned
static void check_faces(const tgiSurface *s, const double size[3], double tolerance) {
  tgReal *x = malloc(sizeof(tgReal) * 6 * (size_t)s->nvert), *y = x + 3 * s->nvert;
  place(s, size, 0, x);
  place(s, size, DEPTH, y);
  for (int f = 0; f < s->nface; f++) {
    const int *v = s->face + 3 * f;
    tgReal a[3], b[3], n[3], moved = 0, square = 0;
    for (int i = 0; i < 3; i++) {
      a[i] = x[3 * v[1] + i] - x[3 * v[0] + i];
      b[i] = x[3 * v[2] + i] - x[3 * v[0] + i];
    }
    for (int i = 0; i < 3; i++) {
      n[i] = a[(i + 1) % 3] * b[(i + 2) % 3] - a[(i + 2) % 3] * b[(i + 1) % 3];
      square += n[i] * n[i];
    }
    for (int k = 0; k < 3; k++)
      for (int i = 0; i < 3; i++) moved += n[i] / tgSqrt(square) * (y[3 * v[k] + i] - x[3 * v[k] + i]) / 3;
    check_close(moved, -DEPTH, tolerance * DEPTH);
  }
  free(x);
}

static void primitives_lie_deeper(void **state) {
  (void)state;
  static const struct { tgGeomType type; double size[3], tolerance; } shape[] = {
      {TG_GEOM_BOX, {0.3, 0.2, 0.1}, 2e-3}, {TG_GEOM_SPHERE, {0.2, 0.2, 0.2}, 0.02}, {TG_GEOM_CAPSULE, {0.1, 0.3, 0.3}, 0.02},
      {TG_GEOM_CYLINDER, {0.2, 0.1, 0.1}, 0.02}, {TG_GEOM_ELLIPSOID, {0.3, 0.2, 0.1}, 0.05}};
  for (size_t k = 0; k < sizeof shape / sizeof *shape; k++) {
    tgiSurface s;
    assert_int_equal(tgi_surface_primitive(shape[k].type, shape[k].size, TGI_CHORD, NULL, &s), TG_OK);
    assert_int_equal(tgi_surface_inwards(&s, shape[k].size), TG_OK);
    check_faces(&s, shape[k].size, shape[k].tolerance);
    tgi_surface_free(&s);
  }
}

// an open sheet of four faces goes down as one; a knife's edge moves by no more than the most
static void sheets_and_edges(void **state) {
  (void)state;
  static const double sheet[] = {0, 0, 0, 1, 0, 0, 1, 1, 0, 0, 1, 0, 0.4, 0.6, 0}, one[3] = {1, 1, 1};
  static const int sheet_face[] = {0, 1, 4, 1, 2, 4, 2, 3, 4, 3, 0, 4};
  tgiSurface s;
  tgError e = {0};
  assert_int_equal(tgi_surface_mesh(sheet, 5, sheet_face, 4, NULL, &s, &e), TG_OK);
  assert_int_equal(tgi_surface_inwards(&s, one), TG_OK);
  for (int k = 0; k < 5; k++) {
    check_close(s.inwards[3 * k], 0, 1e-12);
    check_close(s.inwards[3 * k + 1], 0, 1e-12);
    check_close(s.inwards[3 * k + 2], -1, 1e-3);
  }
  tgi_surface_free(&s);
  static const double knife[] = {0, 0, 0, 1, 0, 0, 0, 1, 0.01, 1, 1, 0.01, 0, 1, -0.01, 1, 1, -0.01};
  static const int knife_face[] = {0, 1, 3, 0, 3, 2, 0, 5, 1, 0, 4, 5};
  assert_int_equal(tgi_surface_mesh(knife, 6, knife_face, 4, NULL, &s, &e), TG_OK);
  assert_int_equal(tgi_surface_inwards(&s, one), TG_OK);
  for (int k = 0; k < s.nvert; k++)
    assert_true(sqrt(s.inwards[3 * k] * s.inwards[3 * k] + s.inwards[3 * k + 1] * s.inwards[3 * k + 1] +
                     s.inwards[3 * k + 2] * s.inwards[3 * k + 2]) <= TGI_INWARDS_MOST * (1 + 1e-12));
  assert_true(s.inwards[1] > 1.5);
  tgi_surface_free(&s);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(primitives_lie_deeper), cmocka_unit_test(sheets_and_edges)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
