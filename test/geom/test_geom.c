// test_geom.c: mass properties against closed forms and each other; hulls against brute force.
#include <string.h>

#include "geom/hull.h"
#include "geom/mass.h"
#include "support/check.h"
#include "support/tessellate.h"

static void box_mesh(const double h[3], const double c[3], double *v, int *f) {
  static const int quad[6][4] = {{0, 4, 6, 2}, {1, 3, 7, 5}, {0, 1, 5, 4}, {2, 6, 7, 3}, {0, 2, 3, 1}, {4, 5, 7, 6}};
  for (int i = 0; i < 8; i++)
    for (int k = 0; k < 3; k++) v[3 * i + k] = c[k] + ((i >> k & 1) ? h[k] : -h[k]);
  for (int q = 0; q < 6; q++)
    for (int t = 0; t < 6; t++) f[6 * q + t] = quad[q][t < 3 ? t : t == 3 ? 0 : t - 2];
}

// a box as a mesh has the box's closed form, far from the origin too; shells likewise
static void test_box_mesh(void **state) {
  (void)state;
  double h[3] = {0.1, 0.25, 0.4}, c[3] = {3, -2, 7}, v[24];
  int f[36];
  box_mesh(h, c, v, f);
  for (int shell = 0; shell < 2; shell++) {
    tgMassProps box, mesh;
    assert_int_equal(tgi_mass_primitive(TG_GEOM_BOX, h, shell, &box), TG_OK);
    tgAllocator a = {0};
    tgHullOwned *hull;
    assert_int_equal(tgt_hull_box(h, NULL, &hull), TG_OK);
    a = hull->alloc;
    tgi_hull_free(hull);
    assert_int_equal(tgi_mass_mesh(v, 8, f, 12, shell ? TG_MASS_SHELL : TG_MASS_EXACT, &a, &mesh, NULL), TG_OK);
    check_close(mesh.volume, box.volume, 1e-12);
    for (int k = 0; k < 3; k++) check_close(mesh.com[k], c[k], 1e-12);
    for (int k = 0; k < 6; k++) check_close(mesh.inertia[k], box.inertia[k], 1e-12);
    if (shell) continue;
    for (int kind = TG_MASS_CONVEX; kind <= TG_MASS_LEGACY; kind++) {
      assert_int_equal(tgi_mass_mesh(v, 8, f, 12, (tgMassKind)kind, &a, &mesh, NULL), TG_OK);
      for (int k = 0; k < 6; k++) check_close(mesh.inertia[k], box.inertia[k], 1e-12);
    }
    tgError why;
    assert_int_equal(tgi_mass_mesh(v, 8, f, 11, TG_MASS_EXACT, &a, &mesh, &why), TG_ERR_INVALID);
    assert_non_null(strstr(why.text, "open"));
    int swapped = f[0];
    f[0] = f[1];
    f[1] = swapped;
    assert_int_equal(tgi_mass_mesh(v, 8, f, 12, TG_MASS_EXACT, &a, &mesh, &why), TG_ERR_INVALID);
    assert_non_null(strstr(why.text, "wound"));
  }
}

// Monte-Carlo-free check of the primitives: mesh of a fine tessellation converges to the closed form
static void test_primitives(void **state) {
  (void)state;
  double size[3] = {0.3, 0.7, 0.45};
  tgHullOwned *hull;
  assert_int_equal(tgt_hull_ellipsoid(size, 60, 120, NULL, &hull), TG_OK);
  tgAllocator a = hull->alloc;
  double *p = a.alloc(a.ctx, sizeof(double) * 3 * (size_t)hull->hull.nvert);
  for (int i = 0; i < 3 * hull->hull.nvert; i++) p[i] = tgRe(hull->hull.vert[i]);
  tgMassProps exact, mesh;
  int dummy[3] = {0, 1, 2};
  assert_int_equal(tgi_mass_mesh(p, hull->hull.nvert, dummy, 1, TG_MASS_CONVEX, &a, &mesh, NULL), TG_OK);
  assert_int_equal(tgi_mass_primitive(TG_GEOM_ELLIPSOID, size, false, &exact), TG_OK);
  for (int k = 0; k < 3; k++) check_close(mesh.inertia[k] / exact.inertia[k], 1, 6e-3);
  a.free(a.ctx, p);
  tgi_hull_free(hull);
  // a capsule is a cylinder and two half balls: volume and axial inertia by hand
  double cap[3] = {0.2, 0.5, 0};
  assert_int_equal(tgi_mass_primitive(TG_GEOM_CAPSULE, cap, false, &exact), TG_OK);
  check_close(exact.volume, TG_PI * 0.04 * 1.0 + 4 * TG_PI * 0.008 / 3, 1e-14);
  check_close(exact.inertia[2], TG_PI * 0.04 * 0.02 + 4 * TG_PI * 0.008 / 3 * 0.4 * 0.04, 1e-14);
  // shells of a sphere agree between the sphere's closed form and the ellipsoid's quadrature
  double ball[3] = {0.4, 0.4, 0.4};
  tgMassProps s1, s2;
  assert_int_equal(tgi_mass_primitive(TG_GEOM_SPHERE, ball, true, &s1), TG_OK);
  assert_int_equal(tgi_mass_primitive(TG_GEOM_ELLIPSOID, ball, true, &s2), TG_OK);
  check_close(s2.inertia[0] / s1.inertia[0], 1, 1e-10);
  // a capsule shell of zero length is a sphere's
  double none[3] = {0.4, 1e-12, 0};
  assert_int_equal(tgi_mass_primitive(TG_GEOM_CAPSULE, none, true, &s2), TG_OK);
  for (int k = 0; k < 3; k++) check_close(s2.inertia[k] / s1.inertia[k], 1, 1e-9);
}

static void check_hull(const tgHull *h, const double *p, int n) {
  assert_int_equal(h->nvert - h->nedge + h->nface, 2);
  for (int f = 0; f < h->nface; f++)
    for (int i = 0; i < n; i++) {
      double d = -tgRe(h->face_plane[4 * f + 3]);
      for (int k = 0; k < 3; k++) d += tgRe(h->face_plane[4 * f + k]) * p[3 * i + k];
      check_true(d < 1e-9, "point %d is %g outside face %d", i, d, f);
    }
  for (int e = 0; e < h->nedge; e++)  // the left face runs v0 -> v1, the right one v1 -> v0
    for (int s = 0; s < 2; s++) {
      int f = h->edge[4 * e + 2 + s], found = 0;
      for (int i = h->face_adr[f]; i < h->face_adr[f + 1]; i++) {
        int j = i + 1 < h->face_adr[f + 1] ? i + 1 : h->face_adr[f];
        found += h->face_vert[i] == h->edge[4 * e + s] && h->face_vert[j] == h->edge[4 * e + 1 - s] && h->face_edge[i] == e;
      }
      assert_int_equal(found, 1);
    }
}

// random points: all inside, and the support function equals brute force over the points
static void test_hulls(void **state) {
  (void)state;
  tgtRandom r = {7};
  for (int trial = 0; trial < 60; trial++) {
    enum { N = 60 };
    double p[3 * N], scale = pow(10, tgt_uniform(&r, -4, 3));
    for (int i = 0; i < 3 * N; i++) p[i] = trial % 3 == 0 ? scale * round(tgt_uniform(&r, -3, 3)) : scale * tgt_normal(&r);
    tgHullOwned *hull;
    tgError why = {0};
    check_true(tgi_hull_from_points(p, N, NULL, &hull, &why) == TG_OK, "trial %d: %s", trial, why.text);
    for (int i = 0; i < 3 * N; i++) p[i] /= scale;
    for (int dir = 0; dir < 50; dir++) {
      double d[3], a = -INFINITY, b = -INFINITY;
      for (int k = 0; k < 3; k++) d[k] = tgt_normal(&r);
      for (int i = 0; i < N; i++) a = fmax(a, d[0] * p[3 * i] + d[1] * p[3 * i + 1] + d[2] * p[3 * i + 2]);
      for (int i = 0; i < hull->hull.nvert; i++) {
        const tgReal *v = hull->hull.vert + 3 * i;
        b = fmax(b, (d[0] * tgRe(v[0]) + d[1] * tgRe(v[1]) + d[2] * tgRe(v[2])) / scale);
      }
      check_close(a, b, 1e-12);
    }
    for (int i = 0; i < 3 * N; i++) p[i] *= scale;
    if (scale < 1) check_hull(&hull->hull, p, N);
    tgi_hull_free(hull);
  }
  double h[3] = {1, 2, 3};
  tgHullOwned *box;
  assert_int_equal(tgt_hull_box(h, NULL, &box), TG_OK);
  assert_int_equal(box->hull.nvert, 8);
  assert_int_equal(box->hull.nedge, 12);
  assert_int_equal(box->hull.nface, 6);
  tgi_hull_free(box);
  assert_int_equal(tgt_hull_cylinder(0.1, 0.2, 32, NULL, &box), TG_OK);
  assert_int_equal(box->hull.nface, 34);
  assert_int_equal(box->hull.nvert, 64);
  tgi_hull_free(box);
}

// degenerate sets are refused by what they are
static void test_degenerate(void **state) {
  (void)state;
  static const double flat[12] = {0, 0, 0, 1, 0, 0, 0, 1, 0, 1, 1, 0}, line[12] = {0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3}, same[12] = {0};
  const double *set[3] = {flat, line, same};
  const char *word[3] = {"flat", "line", "coincide"};
  for (int i = 0; i < 3; i++) {
    tgHullOwned *hull;
    tgError why = {0};
    assert_int_equal(tgi_hull_from_points(set[i], 4, NULL, &hull, &why), TG_ERR_INVALID);
    assert_non_null(strstr(why.text, word[i]));
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_box_mesh), cmocka_unit_test(test_primitives),
                                     cmocka_unit_test(test_hulls), cmocka_unit_test(test_degenerate)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
