// test_tessellate.c: surfaces of primitives against the shapes themselves: closed, outward, inscribed within the chord, regular; cleaned
// meshes.
#include "geom/tessellate.h"

#include <stdlib.h>
#include <string.h>

#include "geom/mass.h"
#include "geom/mesh_check.h"
#include "test/support/check.h"

static void place(const tgiSurface *s, const double size[3], double *vert) {
  tgReal z[3] = {size[0], size[1], size[2]}, *x = malloc(3 * (size_t)s->nvert * sizeof *x);
  tgi_surface_place(s, z, x);
  for (int k = 0; k < 3 * s->nvert; k++) vert[k] = tgRe(x[k]);
  free(x);
}

// distance inside (negative: outside) of x under the surface of the shape, exact for all but the ellipsoid, where it is of its unit sphere
// times the largest semi-axis, which bounds the true one from above
static double depth_under(tgGeomType type, const double z[3], const double x[3]) {
  double rho = hypot(x[0], x[1]), most = fmax(z[0], fmax(z[1], z[2])), q[3] = {x[0] / z[0], x[1] / z[1], x[2] / z[2]};
  switch (type) {
    case TG_GEOM_SPHERE: return z[0] - hypot(rho, x[2]);
    case TG_GEOM_CAPSULE: return z[0] - hypot(rho, fmax(0, fabs(x[2]) - z[1]));
    case TG_GEOM_CYLINDER: return fmin(z[0] - rho, z[1] - fabs(x[2]));
    case TG_GEOM_BOX: return fmin(z[0] - fabs(x[0]), fmin(z[1] - fabs(x[1]), z[2] - fabs(x[2])));
    default: return most * (1 - sqrt(q[0] * q[0] + q[1] * q[1] + q[2] * q[2]));
  }
}

// the deepest of a face's points lies no deeper than the chord, none lies outside; vertices are on the surface
static void check_depth(tgGeomType type, const double z[3], double size, const tgiSurface *s, const double *vert) {
  for (int f = 0; f < s->nface; f++)
    for (int i = 0; i <= 6; i++)
      for (int j = 0; i + j <= 6; j++) {
        double x[3], w[3] = {i / 6.0, j / 6.0, (6 - i - j) / 6.0};
        for (int k = 0; k < 3; k++)
          x[k] = w[0] * vert[3 * s->face[3 * f] + k] + w[1] * vert[3 * s->face[3 * f + 1] + k] + w[2] * vert[3 * s->face[3 * f + 2] + k];
        double d = depth_under(type, z, x);
        check_true(d >= -1e-12 * size && d <= TGI_CHORD * size, "type %d: face %d is %g under the surface of size %g",
                   (int)type, f, d, size);
      }
  for (int k = 0; k < s->nvert; k++) {
    double d = depth_under(type, z, vert + 3 * k);
    check_true(fabs(d) <= 1e-12 * size || type == TG_GEOM_CYLINDER, "type %d: vertex %d is off the surface by %g", (int)type, k, d);
  }
}

// least ratio of height to longest edge
static double worst_shape(const tgiSurface *s, const double *vert) {
  double worst = 1;
  for (int f = 0; f < s->nface; f++) {
    double e[3][3], longest = 0;
    for (int c = 0; c < 3; c++) {
      double l = 0;
      for (int i = 0; i < 3; i++) {
        e[c][i] = vert[3 * s->face[3 * f + (c + 1) % 3] + i] - vert[3 * s->face[3 * f + c] + i];
        l += e[c][i] * e[c][i];
      }
      longest = fmax(longest, l);
    }
    double nx = e[0][1] * e[1][2] - e[0][2] * e[1][1], ny = e[0][2] * e[1][0] - e[0][0] * e[1][2],
           nz = e[0][0] * e[1][1] - e[0][1] * e[1][0];
    worst = fmin(worst, sqrt(nx * nx + ny * ny + nz * nz) / longest);
  }
  return worst;
}

static void test_primitives(void **state) {
  (void)state;
  static const struct { tgGeomType type; double size[3], shape; } c[] = {
      {TG_GEOM_SPHERE, {0.3, 0, 0}, 0.45},   {TG_GEOM_BOX, {1, 2, 3}, 0.2},           {TG_GEOM_CAPSULE, {0.1, 0.5, 0}, 0.25},
      {TG_GEOM_CAPSULE, {2, 0.01, 0}, 0.0}, {TG_GEOM_CYLINDER, {0.2, 0.7, 0}, 0.25}, {TG_GEOM_CYLINDER, {5, 0.1, 0}, 0.05},
      {TG_GEOM_ELLIPSOID, {1, 2, 1.5}, 0.25}};
  for (size_t i = 0; i < sizeof c / sizeof *c; i++) {
    tgiSurface s;
    const double *z = c[i].size;
    double size = fmax(z[0], fmax(z[1], z[2]));
    assert_int_equal(tgi_surface_primitive(c[i].type, z, TGI_CHORD, NULL, &s), TG_OK);
    double *vert = malloc(3 * (size_t)s.nvert * sizeof *vert);
    tgMeshCheck check;
    tgMassProps mass;
    place(&s, z, vert);
    assert_int_equal(tgi_mesh_check(vert, s.nvert, s.face, s.nface, NULL, &check), TG_OK);
    check_true(check.nopen == 0 && check.nwinding == 0 && check.ncrowded == 0, "type %d is not closed", (int)c[i].type);
    assert_int_equal(s.nvert - s.nface / 2, 2);  // Euler: a sphere
    assert_int_equal(tgi_mass_primitive(c[i].type, z, false, &mass), TG_OK);
    check_true(check.volume <= mass.volume * (1 + 1e-12) && check.volume >= 0.96 * mass.volume,
               "type %d: volume %g of %g", (int)c[i].type, check.volume, mass.volume);
    check_depth(c[i].type, z, size, &s, vert);
    double shape = worst_shape(&s, vert);
    check_true(shape >= c[i].shape, "type %d has a triangle of height %g edges", (int)c[i].type, shape);
    free(vert);
    tgi_surface_free(&s);
  }
}

// vertices are linear in the sizes: x = sum_j (dx/dsize_j) size_j
static void test_linear(void **state) {
  (void)state;
  for (int type = TG_GEOM_PLANE + 1; type < TG_GEOM_MESH; type++) {
    tgiSurface s;
    const double at[3] = {1, 2, 3}, size[3] = {0.7, 0.2, 1.9};
    assert_int_equal(tgi_surface_primitive((tgGeomType)type, at, 0.05, NULL, &s), TG_OK);
    size_t n = 3 * (size_t)s.nvert;
    double *vert = malloc(n * sizeof *vert);
    tgReal *d = malloc(3 * n * sizeof *d);
    place(&s, size, vert);
    for (int j = 0; j < 3; j++) tgi_surface_place_d(&s, j, d + n * (size_t)j);
    for (size_t k = 0; k < n; k++)
      check_close(vert[k], tgRe(d[k]) * size[0] + tgRe(d[n + k]) * size[1] + tgRe(d[2 * n + k]) * size[2], 1e-15);
    free(vert);
    free(d);
    tgi_surface_free(&s);
  }
}

// the error of the volume falls as the chord
static void test_volume_order(void **state) {
  (void)state;
  double error[3], size[3] = {1, 0, 0};
  for (int i = 0; i < 3; i++) {
    tgiSurface s;
    assert_int_equal(tgi_surface_primitive(TG_GEOM_SPHERE, size, 0.04 / (1 << 2 * i), NULL, &s), TG_OK);
    double *vert = malloc(3 * (size_t)s.nvert * sizeof *vert);
    place(&s, size, vert);
    error[i] = 1 - tgi_mesh_volume(vert, s.nvert, s.face, s.nface) / (4 * TG_PI / 3);
    free(vert);
    tgi_surface_free(&s);
  }
  for (int i = 0; i < 2; i++)
    check_true(error[i] / error[i + 1] > 3 && error[i] / error[i + 1] < 5, "volume errors %g %g", error[i], error[i + 1]);
}

static void test_refusals(void **state) {
  (void)state;
  tgiSurface s;
  double zero[3] = {0, 1, 1}, one[3] = {1, 1, 1};
  assert_int_equal(tgi_surface_primitive(TG_GEOM_SPHERE, zero, TGI_CHORD, NULL, &s), TG_ERR_ARG);
  assert_int_equal(tgi_surface_primitive(TG_GEOM_PLANE, one, TGI_CHORD, NULL, &s), TG_ERR_ARG);
  assert_int_equal(tgi_surface_primitive(TG_GEOM_SPHERE, one, 0, NULL, &s), TG_ERR_ARG);
  assert_int_equal(tgi_surface_primitive(TG_GEOM_SPHERE, one, 1e-12, NULL, &s), TG_ERR_ARG);
}

static void expect_bad(const double *vert, int nvert, const int *face, int nface, const char *word) {
  tgiSurface s;
  tgError e = {0};
  check_true(tgi_surface_mesh(vert, nvert, face, nface, NULL, &s, &e) < 0, "accepted although %s", word);
  check_true(strstr(e.text, word) != NULL, "'%s' does not say '%s'", e.text, word);
  tgi_surface_free(&s);
}

// doubled vertices become one; faces without area go, a sliver of 1e-7 stays
static void test_mesh(void **state) {
  (void)state;
  static const double v[] = {0, 0, 0, 1, 0, 0, 0, 1, 0, 1, 0, 0, 0, -0.0, 0, 0.5, 0.5, 1, 0.5, 1e-7, 0, 2, 0, 0, 9, 9, 9, 0.5, 1e-11, 0};
  static const int f[] = {0, 1, 2, 3, 2, 5, 4, 6, 1, 0, 1, 7, 0, 4, 2, 5, 5, 1, 0, 9, 1};
  tgiSurface s;
  tgError e = {0};
  check_true(tgi_surface_mesh(v, 10, f, 7, NULL, &s, &e) >= 0, "%s", e.text);
  assert_int_equal(s.nface, 3);
  assert_int_equal(s.ndropped, 4);
  int first;
  assert_int_equal(tgi_surface_degenerate(v, f, 7, &first), 4);
  assert_int_equal(first, 3);
  assert_int_equal(tgi_surface_degenerate(v, f, 3, &first), 0);
  assert_int_equal(first, -1);
  assert_int_equal(s.nvert, 5);
  static const int face[] = {0, 1, 2, 1, 2, 3, 0, 4, 1}, origin[] = {0, 1, 2};
  assert_memory_equal(s.face, face, sizeof face);
  assert_memory_equal(s.origin, origin, sizeof origin);
  double x[15], scale[3] = {2, 3, 4};
  place(&s, scale, x);
  check_close(x[9], 1, 0);
  check_close(x[10], 1.5, 0);
  check_close(x[11], 4, 0);
  tgi_surface_free(&s);
  expect_bad(v, 10, f + 9, 1, "degenerate");
  expect_bad(v, 10, f, 0, "no faces");
  expect_bad(v, 4, f, 2, "vertex 5");
  double w[9] = {0, 0, 0, 1, 0, 0, 0, NAN, 0};
  expect_bad(w, 3, f, 1, "not finite");
}

// sizes whose areas are near the ends of the range of doubles
static void test_extremes(void **state) {
  (void)state;
  static const int f[] = {0, 1, 2};
  static const double size[] = {9e99, 2e-100, 1e101, 1e-101};
  static const char *const word[] = {NULL, NULL, "farther", "degenerate"};
  for (int i = 0; i < 4; i++) {
    double k = size[i], v[] = {0, 0, 0, k, 0, 0, 0, k, 0};
    tgiSurface s;
    if (word[i] != NULL) {
      expect_bad(v, 3, f, 1, word[i]);
      continue;
    }
    assert_int_equal(tgi_surface_mesh(v, 3, f, 1, NULL, &s, NULL), TG_OK);
    assert_int_equal(s.nface, 1);
    tgi_surface_free(&s);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_primitives), cmocka_unit_test(test_linear),
                                     cmocka_unit_test(test_volume_order), cmocka_unit_test(test_refusals),
                                     cmocka_unit_test(test_mesh), cmocka_unit_test(test_extremes)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
