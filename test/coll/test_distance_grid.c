// test_distance_grid.c: fields of closed surfaces: against closed forms of a sphere and a box, against distances to triangles and winding
// numbers, their own derivatives, and continuity across cells.
#include "coll/surfaces/distance_grid.h"

#include "base/memory.h"
#include "support/check.h"
#include "support/deriv.h"

static tgiDistanceGrid make(tgGeomType type, const double size[3], double chord, int cells) {
  tgAllocator a = tgi_allocator(NULL);
  tgiSurface s;
  tgiDistanceGrid g;
  tgError e = {0};
  assert_int_equal(tgi_surface_primitive(type, size, chord, &a, &s), TG_OK);
  check_true(tgi_distance_grid_make(&s, size, cells, &a, &g, &e) == TG_OK, "%s", e.text);
  tgi_surface_free(&s);
  return g;
}

static double box_distance(const double size[3], const double x[3]) {
  double out = 0, in = -INFINITY;
  for (int i = 0; i < 3; i++) {
    double s = fabs(x[i]) - size[i];
    out += s > 0 ? s * s : 0;
    in = fmax(in, s);
  }
  return in > 0 ? sqrt(out) : in;
}

// a box's faces are flat: away from its edges, and from where its middle tears the distance, the spline is exact to what ripples from them
static void test_box(void **state) {
  (void)state;
  static const double size[3] = {1, 0.7, 0.5};
  tgiDistanceGrid g = make(TG_GEOM_BOX, size, 0.1, 40);
  tgtRandom r = {.s = 3};
  double low[3], high[3], near = 0, far = 0;
  tgi_distance_grid_box(&g, low, high);
  for (int k = 0; k < 4000; k++) {
    tgReal x[3], f, d[3];
    double p[3], amid = 0;
    for (int i = 0; i < 3; i++) {
      p[i] = tgt_uniform(&r, low[i], high[i]);
      x[i] = p[i];
      amid += fabs(p[i]) < size[i] - 6 * g.spacing;
    }
    double is = box_distance(size, p);
    tgi_distance_grid_at(&g, x, 1, &f, d, NULL);
    check_true((tgRe(f) > 0) == (is > 0) || fabs(is) < 0.3 * g.spacing, "sign of %g at %g", tgRe(f), is);
    if (fabs(is) > 2 * g.spacing) continue;
    *(amid == 2 ? &far : &near) = fmax(amid == 2 ? far : near, fabs(tgRe(f) - is));
    double slope = sqrt(tgRe(d[0]) * tgRe(d[0]) + tgRe(d[1]) * tgRe(d[1]) + tgRe(d[2]) * tgRe(d[2]));
    check_true(slope <= g.steepest, "slope %g of at most %g", slope, g.steepest);
  }
  print_message("box: %.2g of a cell near edges, %.2g amid faces; error found %.2g\n",
                near / g.spacing, far / g.spacing, g.error / g.spacing);
  check_true(near <= 0.3 * g.spacing && far <= 5e-3 * g.spacing && g.error <= 0.3 * g.spacing, "%g %g %g", near, far, g.error);
  check_true(g.error > 0.02 * g.spacing, "%g", g.error);
  check_true(fabs(g.depth - 0.5) < g.spacing, "%g", g.depth);
  tgi_distance_grid_free(&g);
}

// facets of a sphere are as far off as its chords, the field of them nearly the sphere's
static void test_sphere(void **state) {
  (void)state;
  static const double size[3] = {1, 1, 1};
  tgiDistanceGrid g = make(TG_GEOM_SPHERE, size, 0.002, 20);
  tgtRandom r = {.s = 4};
  double value = 0, turn = 0;
  for (int k = 0; k < 2000; k++) {
    tgReal x[3], f, d[3];
    double length = 0, at = tgt_uniform(&r, 0.8, 1.2);
    for (int i = 0; i < 3; i++) {
      x[i] = tgt_uniform(&r, -1, 1);
      length += tgRe(x[i] * x[i]);
    }
    for (int i = 0; i < 3; i++) x[i] *= at / sqrt(length);
    tgi_distance_grid_at(&g, x, 1, &f, d, NULL);
    value = fmax(value, fabs(tgRe(f) - (at - 1)));
    for (int i = 0; i < 3; i++) turn = fmax(turn, fabs(tgRe(d[i] - x[i] / at)));
  }
  print_message("sphere: value %.2g, gradient %.2g\n", value, turn);
  check_true(value <= 2.5e-3 && turn <= 0.05, "%g %g", value, turn);
  tgi_distance_grid_free(&g);
}

// ---- derivatives ----

static const tgiDistanceGrid *grid;
static tgStatus value(void *ctx, const tgReal *x, tgReal *y) {
  (void)ctx;
  tgi_distance_grid_at(grid, x, 0, y, NULL, NULL);
  return TG_OK;
}
static tgStatus gradient(void *ctx, const tgReal *x, tgReal *y) {
  (void)ctx;
  tgReal f;
  tgi_distance_grid_at(grid, x, 1, &f, y, NULL);
  return TG_OK;
}

static void test_derivatives(void **state) {
  (void)state;
  static const double size[3] = {1, 0.7, 0.5};
  tgiDistanceGrid g = make(TG_GEOM_BOX, size, 0.1, 12);
  tgtRandom r = {.s = 5};
  double low[3], high[3];
  grid = &g;
  tgi_distance_grid_box(&g, low, high);
  for (int k = 0; k < 200; k++) {
    tgReal x[3], f, d[3], dd[6], H[9], after[6];
    for (int i = 0; i < 3; i++) x[i] = tgt_uniform(&r, low[i], high[i]);
    tgi_distance_grid_at(&g, x, 2, &f, d, dd);
    for (int i = 0, q = 0; i < 3; i++)
      for (int j = 0; j <= i; j++, q++) H[3 * i + j] = H[3 * j + i] = dd[q];
    tgtDeriv first = {.name = "value", .nx = 3, .ny = 1, .map = value, .tol = 1e-7, .step = 1e-4};
    tgtDeriv second = {.name = "gradient", .nx = 3, .ny = 3, .map = gradient, .tol = 1e-6, .step = 1e-4};
#ifdef TG_COMPLEX
    first.tol = second.tol = 1e-12;
    tgt_check_jacobian(&first, x, d);
    tgt_check_jacobian(&second, x, H);
#else
    bool inner = true;   // within one cell, where the spline is one polynomial
    for (int i = 0; i < 3; i++) {
      double t = (x[i] - g.low[i]) / g.spacing;
      inner = inner && fabs(t - round(t)) > 0.01;
    }
    if (inner) tgt_check_jacobian(&first, x, d);
    if (inner) tgt_check_jacobian(&second, x, H);
#endif
    // across the border of a cell nothing jumps
    int axis = k % 3;
    double t = round(tgRe(x[axis] - g.low[axis]) / g.spacing);
    x[axis] = g.low[axis] + (t - 1e-11) * g.spacing;
    tgi_distance_grid_at(&g, x, 2, &f, d, dd);
    x[axis] = g.low[axis] + (t + 1e-11) * g.spacing;
    tgReal f1, d1[3];
    tgi_distance_grid_at(&g, x, 2, &f1, d1, after);
    check_close(f1, f, 1e-10);
    for (int i = 0; i < 3; i++) check_close(d1[i], d[i], 1e-9);
    for (int i = 0; i < 6; i++) check_close(after[i], dd[i], 1e-8);
  }
  tgi_distance_grid_free(&g);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_box), cmocka_unit_test(test_sphere), cmocka_unit_test(test_derivatives)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
