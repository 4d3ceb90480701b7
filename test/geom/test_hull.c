// test_hull.c: hulls of points against brute force, builders against closed forms, refusals of flat sets.
#include "geom/hull.h"

#include <stdlib.h>
#include <string.h>

#include "geom/mesh_check.h"
#include "math/vec3.h"
#include "support/tessellate.h"
#include "test/support/check.h"

enum { MOST = 400 };

static double dot3(const tgReal *a, const double *b) {
  return tgRe(a[0]) * b[0] + tgRe(a[1]) * b[1] + tgRe(a[2]) * b[2];
}

static void random_direction(tgtRandom *r, double d[3]) {
  double n = 0;
  for (int i = 0; i < 3; i++) {
    d[i] = tgt_normal(r);
    n += d[i] * d[i];
  }
  for (int i = 0; i < 3; i++) d[i] /= sqrt(n);
}

// the vertex farthest along the direction by walking from vertex `start`: convexity makes the local answer the global
// one, if neighbours are right
static int farthest(const tgHull *h, const tgReal direction[3], int start) {
  int v = start;
  double best = tgRe(tgi_v3_dot(h->vert + 3 * (size_t)v, direction));
  for (;;) {
    int next = v;
    for (int k = h->vert_adr[v]; k < h->vert_adr[v + 1]; k++) {
      double value = tgRe(tgi_v3_dot(h->vert + 3 * (size_t)h->vert_next[k], direction));
      if (value > best) {
        best = value;
        next = h->vert_next[k];
      }
    }
    if (next == v) return v;
    v = next;
  }
}

// every plane bounds every point, by brute force; a walk over neighbours ends at the farthest
static void check_against_points(const tgHull *h, const double *x, int n, double size, tgtRandom *r) {
  for (int f = 0; f < h->nface; f++)
    for (int k = 0; k < n; k++) {
      double out = dot3(h->face_plane + 4 * f, x + 3 * k) - tgRe(h->face_plane[4 * f + 3]);
      check_true(out <= TGI_HULL_TOLERANCE * size, "point %d lies %g outside face %d of size %g", k, out, f, size);
    }
  for (int t = 0, v = 0; t < 50; t++) {
    double d[3], best = -1e300;
    random_direction(r, d);
    for (int k = 0; k < n; k++) best = fmax(best, x[3 * k] * d[0] + x[3 * k + 1] * d[1] + x[3 * k + 2] * d[2]);
    tgReal direction[3] = {d[0], d[1], d[2]};
    v = farthest(h, direction, v);
    check_close(dot3(h->vert + 3 * v, d), best, 2e-6 * size);
  }
}

static void make_points(tgtRandom *r, int kind, double *x, int n) {
  double axis[3], scale = pow(10, tgt_uniform(r, -5, 5));
  random_direction(r, axis);
  for (int k = 0; k < n; k++) {
    double d[3];
    random_direction(r, d);
    for (int i = 0; i < 3; i++) {
      double u = tgt_uniform(r, -1, 1);
      if (kind == 0) x[3 * k + i] = u;                                      // filled box
      if (kind == 1) x[3 * k + i] = d[i];                                   // sphere
      if (kind == 2) x[3 * k + i] = floor(3 * u) / 3;                       // lattice: many coplanar, repeated points
      if (kind == 3) x[3 * k + i] = (double)(float)(d[i] + 10 * axis[i]);   // float noise, off centre
      if (kind == 4) x[3 * k + i] = u * (i == 0 ? 1 : i == 1 ? 0.1 : 1e-4); // thin plate
      x[3 * k + i] *= scale;
    }
  }
}

static void random_hulls(void **state) {
  (void)state;
  tgtRandom r = {.s = 11};
  for (int t = 0; t < 400; t++) {
    double x[3 * MOST], size;
    int n = 4 + (int)(tgt_next(&r) % (MOST - 4));
    make_points(&r, t % 5, x, n);
    tgHullOwned *hull;
    tgError error = {0};
    tgExtent extent = tgi_points_extent(x, n, &size);
    tgStatus status = tgi_hull_from_points(x, n, NULL, &hull, &error);
    if (extent != TG_EXTENT_SOLID) {
      assert_int_equal(status, TG_ERR_INVALID);
      assert_null(hull);
      continue;
    }
    check_true(status == TG_OK, "set %d of %d points: %s", t, n, error.text);
    check_against_points(&hull->hull, x, n, size, &r);
    tgi_hull_free(hull);
  }
}

// a cube of 3 x 3 x 3 points turned anyhow, rounded to float: 8 vertices, 12 edges, 6 squares
static void coplanar_faces_merge(void **state) {
  (void)state;
  tgtRandom r = {.s = 5};
  for (int t = 0; t < 100; t++) {
    double a[3], b[3], c[3], x[81];
    random_direction(&r, a);
    random_direction(&r, c);
    for (int i = 0; i < 3; i++) b[i] = a[(i + 1) % 3] * c[(i + 2) % 3] - a[(i + 2) % 3] * c[(i + 1) % 3];
    double nb = sqrt(b[0] * b[0] + b[1] * b[1] + b[2] * b[2]);
    for (int i = 0; i < 3; i++) b[i] /= nb;
    for (int i = 0; i < 3; i++) c[i] = a[(i + 1) % 3] * b[(i + 2) % 3] - a[(i + 2) % 3] * b[(i + 1) % 3];
    for (int k = 0; k < 27; k++)
      for (int i = 0; i < 3; i++)
        x[3 * k + i] = (double)(float)(0.2 * a[i] * (k % 3) + 0.3 * b[i] * (k / 3 % 3) + 0.1 * c[i] * (k / 9) + 0.05);
    tgHullOwned *hull;
    assert_int_equal(tgi_hull_from_points(x, 27, NULL, &hull, NULL), TG_OK);
    assert_int_equal(hull->hull.nvert, 8);
    assert_int_equal(hull->hull.nedge, 12);
    assert_int_equal(hull->hull.nface, 6);
    for (int f = 0; f < 6; f++) assert_int_equal(hull->hull.face_adr[f + 1] - hull->hull.face_adr[f], 4);
    tgi_hull_free(hull);
  }
}

static void refusal(const double *x, int n, tgStatus want, const char *word) {
  tgHullOwned *hull;
  tgError error = {0};
  assert_int_equal(tgi_hull_from_points(x, n, NULL, &hull, &error), want);
  assert_null(hull);
  check_true(strstr(error.text, word) != NULL, "'%s' lacks '%s'", error.text, word);
}

static void flat_sets_are_refused(void **state) {
  (void)state;
  double point[15] = {1, 2, 3, 1, 2, 3, 1, 2, 3, 1, 2, 3, 1, 2, 3};
  double line[15] = {0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3, -5, -5, -5};
  double plane[15] = {0, 0, 1, 1, 0, 1, 0, 1, 1, 1, 1, 1, 0.3, 0.2, 1 + 1e-9};
  double three[9] = {0, 0, 0, 1, 0, 0, 0, 1, 0};
  double nan[12] = {0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, NAN};
  refusal(point, 5, TG_ERR_INVALID, "coincident");
  refusal(line, 5, TG_ERR_INVALID, "collinear");
  refusal(plane, 5, TG_ERR_INVALID, "flat");
  refusal(three, 3, TG_ERR_INVALID, "flat");
  refusal(NULL, 0, TG_ERR_INVALID, "coincident");
  refusal(nan, 4, TG_ERR_NOT_FINITE, "point 3");
  // the same shapes, a thousandth thick, are solids at any scale
  for (double scale = 1e-6; scale < 1e7; scale *= 1e6) {
    double x[12] = {0, 0, 0, scale, 0, 0, 0, scale, 0, 0, 0, 1e-3 * scale};
    tgHullOwned *hull;
    assert_int_equal(tgi_hull_from_points(x, 4, NULL, &hull, NULL), TG_OK);
    assert_int_equal(hull->hull.nface, 4);
    tgi_hull_free(hull);
  }
}

static void box_fills(void **state) {
  (void)state;
  double half[3] = {0.1, 0.2, 0.3};
  tgReal other[3] = {1, 0.5, 2}, vert[24], plane[24];
  tgHullOwned *hull;
  assert_int_equal(tgt_hull_box(half, NULL, &hull), TG_OK);
  assert_int_equal(hull->hull.nedge, 12);
  check_close(hull->hull.radius, sqrt(0.14), 1e-15);
  tgReal same[3] = {0.1, 0.2, 0.3};
  check_close(tgi_hull_box_fill(vert, plane, same), hull->hull.radius, 1e-15);
  for (int i = 0; i < 24; i++) {
    check_close(vert[i], hull->hull.vert[i], 0);
    check_close(plane[i], hull->hull.face_plane[i], 1e-15);
  }
  // refilled for another size, the old adjacency is still a hull
  tgi_hull_box_fill(vert, plane, other);
  tgHull copy = hull->hull;
  copy.vert = vert;
  copy.face_plane = plane;
  assert_int_equal(tgi_hull_check(&copy, NULL, 0, NULL), TG_OK);
  tgi_hull_free(hull);
  double bad[3] = {1, 0, 1};
  assert_int_equal(tgt_hull_box(bad, NULL, &hull), TG_ERR_ARG);
  assert_null(hull);
}

// chord error: the deepest that the tessellation lies below the surface, over many directions
static void tessellations(void **state) {
  (void)state;
  tgtRandom r = {.s = 3};
  for (int n = 3; n < 40; n += 7) {
    tgHullOwned *hull;
    assert_int_equal(tgt_hull_cylinder(0.4, 0.7, n, NULL, &hull), TG_OK);
    assert_int_equal(hull->hull.nface, n + 2);
    assert_int_equal(hull->hull.nedge, 3 * n);
    double least = 1e9;
    for (int f = 0; f < hull->hull.nface; f++) {
      const tgReal *p = hull->hull.face_plane + 4 * f;
      if (fabs(tgRe(p[2])) < 0.5) least = fmin(least, tgRe(p[3]));
    }
    check_close(0.4 - least, 0.4 * (1 - cos(TG_PI / n)), 1e-14);
    tgi_hull_free(hull);

    double semi[3] = {1, 1, 1};
    assert_int_equal(tgt_hull_ellipsoid(semi, n / 2, n, NULL, &hull), TG_OK);
    double bound = 1 - cos(TG_PI / n) * cos(TG_PI / (2.0 * (n / 2 + 1)));
    for (int f = 0; f < hull->hull.nface; f++) {
      double depth = 1 - tgRe(hull->hull.face_plane[4 * f + 3]);
      check_true(depth <= bound + 1e-12 && depth > 0, "face %d is %g deep, promised %g", f, depth, bound);
    }
    tgi_hull_free(hull);
    double egg[3] = {0.3, 1.5, 0.6};
    assert_int_equal(tgt_hull_ellipsoid(egg, n / 2, n, NULL, &hull), TG_OK);
    for (int t = 0, v = 0; t < 50; t++) {
      double d[3], exact = 0;
      random_direction(&r, d);
      for (int i = 0; i < 3; i++) exact += egg[i] * egg[i] * d[i] * d[i];
      tgReal direction[3] = {d[0], d[1], d[2]};
      v = farthest(&hull->hull, direction, v);
      double support = dot3(hull->hull.vert + 3 * v, d);
      check_true(support <= sqrt(exact) * (1 + 1e-12), "outside the ellipsoid");
      check_true(sqrt(exact) - support <= 1.5 * bound, "%g below the ellipsoid, promised %g", sqrt(exact) - support,
                 1.5 * bound);
    }
    tgi_hull_free(hull);
  }
}

// the check sees a hull that was spoilt
static void spoilt_hulls_are_seen(void **state) {
  (void)state;
  double half[3] = {1, 1, 1}, outside[3] = {0, 1.01, 0}, inside[3] = {0.9, -0.9, 0.9};
  tgHullOwned *hull;
  assert_int_equal(tgt_hull_box(half, NULL, &hull), TG_OK);
  tgReal vert[24], plane[24];
  memcpy(vert, hull->hull.vert, sizeof vert);
  memcpy(plane, hull->hull.face_plane, sizeof plane);
  tgHull copy = hull->hull;
  copy.vert = vert;
  copy.face_plane = plane;
  assert_int_equal(tgi_hull_check(&copy, inside, 1, NULL), TG_OK);
  assert_int_equal(tgi_hull_check(&copy, outside, 1, NULL), TG_ERR_INTERNAL);
  vert[0] *= 0.9;
  assert_int_equal(tgi_hull_check(&copy, NULL, 0, NULL), TG_ERR_INTERNAL);
  vert[0] = -1;
  plane[0] = 1;
  assert_int_equal(tgi_hull_check(&copy, NULL, 0, NULL), TG_ERR_INTERNAL);
  plane[0] = -1;
  copy.nedge = 11;
  assert_int_equal(tgi_hull_check(&copy, NULL, 0, NULL), TG_ERR_INTERNAL);
  tgi_hull_free(hull);
}

// The box of a hull is that of its vertices, be they as given, scaled or moved.
static void check_box(const tgHull *h) {
  for (int i = 0; i < 3; i++) {
    double least = INFINITY, most = -INFINITY;
    for (int v = 0; v < h->nvert; v++) {
      least = fmin(least, tgRe(h->vert[3 * v + i]));
      most = fmax(most, tgRe(h->vert[3 * v + i]));
    }
    check_close(h->box[0][i], least, 0);
    check_close(h->box[1][i], most, 0);
  }
}

// random hulls stay hulls under an affine map, whose planes are those of a hull built anew; a vertex drawn through the body is named
static void moved_vertices(void **state) {
  (void)state;
  tgtRandom r = {.s = 31};
  for (int trial = 0; trial < 40; trial++) {
    enum { POINTS = 40 };
    double x[3 * POINTS], A[9];
    tgReal vert[3 * POINTS], plane[4 * 2 * POINTS];
    tgHullOwned *hull;
    tgHull moved;
    tgHullFault fault;
    make_points(&r, 1, x, POINTS);
    assert_int_equal(tgi_hull_from_points(x, POINTS, NULL, &hull, NULL), TG_OK);
    const tgHull *h = &hull->hull;
    assert_true(tgi_hull_move(h, h->vert, plane, &moved, &fault));
    assert_memory_equal(plane, h->face_plane, 4 * (size_t)h->nface * sizeof *plane);
    check_box(h);
    tgHull scaled = tgi_hull_scale(h, (tgReal[3]){0.5, 2, 3}, vert, plane);
    check_box(&scaled);
    for (int i = 0; i < 9; i++) A[i] = (i % 4 == 0 ? 1 : 0) + tgt_uniform(&r, -0.2, 0.2);
    for (int v = 0; v < h->nvert; v++)
      for (int i = 0; i < 3; i++)
        vert[3 * v + i] = A[3 * i] * h->vert[3 * v] + A[3 * i + 1] * h->vert[3 * v + 1] + A[3 * i + 2] * h->vert[3 * v + 2];
    assert_true(tgi_hull_move(h, vert, plane, &moved, &fault));
    check_box(&moved);
    double y[3 * POINTS];
    for (int i = 0; i < 3 * h->nvert; i++) y[i] = tgRe(vert[i]);
    assert_int_equal(tgi_hull_check(&moved, y, h->nvert, NULL), TG_OK);
    int v = (int)(tgt_next(&r) % (unsigned)h->nvert);
    for (int i = 0; i < 3; i++) vert[3 * v + i] *= -0.5;
    assert_false(tgi_hull_move(h, vert, plane, &moved, &fault));
    assert_true(fault.by > 0 && fault.vertex < h->nvert && fault.face < h->nface);
    double inside[3] = {0};
    for (int i = 0; i < 3; i++) inside[i] = tgRe(vert[3 * fault.vertex + i]);
    check_close(dot3(plane + 4 * fault.face, inside) - tgRe(plane[4 * fault.face + 3]), fault.by, 1e-12 * fabs(fault.by));
    tgi_hull_free(hull);
  }
}

// a box's corner leaves the planes of its three faces, which have four corners each; a face without area; a vertex that is no number
static void moved_corner_of_a_polygon(void **state) {
  (void)state;
  tgHullOwned *hull;
  tgHull moved;
  tgHullFault fault;
  tgReal vert[24], plane[24];
  assert_int_equal(tgt_hull_box((double[3]){1, 2, 3}, NULL, &hull), TG_OK);
  memcpy(vert, hull->hull.vert, sizeof vert);
  vert[0] -= 1e-5;
  assert_true(tgi_hull_move(&hull->hull, vert, plane, &moved, &fault));
  vert[0] -= 0.01;
  assert_false(tgi_hull_move(&hull->hull, vert, plane, &moved, &fault));
  assert_int_equal(fault.face, 0);
  check_true(fabs(fault.by) > 1e-3 && fabs(fault.by) < 0.01, "by %g", fault.by);
  memcpy(vert, hull->hull.vert, sizeof vert);
  vert[4] = NAN;
  assert_false(tgi_hull_move(&hull->hull, vert, plane, &moved, &fault));
  for (int v = 0; v < 8; v++) vert[3 * v + 1] = vert[3 * v + 2] = v;
  assert_false(tgi_hull_move(&hull->hull, vert, plane, &moved, &fault));
  assert_true(fault.by == 0);
  tgi_hull_free(hull);
}

static void same_points_same_bits(void **state) {
  (void)state;
  tgtRandom r = {.s = 8};
  double x[3 * MOST];
  tgHullOwned *a, *b;
  make_points(&r, 1, x, MOST);
  assert_int_equal(tgi_hull_from_points(x, MOST, NULL, &a, NULL), TG_OK);
  assert_int_equal(tgi_hull_from_points(x, MOST, NULL, &b, NULL), TG_OK);
  assert_int_equal(a->hull.nface, b->hull.nface);
  assert_memory_equal(a->hull.vert, b->hull.vert, (size_t)a->hull.nvert * 3 * sizeof(tgReal));
  assert_memory_equal(a->hull.face_plane, b->hull.face_plane, (size_t)a->hull.nface * 4 * sizeof(tgReal));
  assert_memory_equal(a->hull.edge, b->hull.edge, (size_t)a->hull.nedge * 4 * sizeof(int));
  tgi_hull_free(a);
  tgi_hull_free(b);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(random_hulls),          cmocka_unit_test(coplanar_faces_merge),
      cmocka_unit_test(flat_sets_are_refused), cmocka_unit_test(box_fills),
      cmocka_unit_test(tessellations),         cmocka_unit_test(spoilt_hulls_are_seen),
      cmocka_unit_test(same_points_same_bits), cmocka_unit_test(moved_vertices),
      cmocka_unit_test(moved_corner_of_a_polygon),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
