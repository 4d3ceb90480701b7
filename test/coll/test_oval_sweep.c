// test_oval_sweep.c: distances and first contacts of ellipsoids against closed forms, sampling and the barrier's own pair solve.
#include "coll/surfaces/oval.h"
#include "contact/barrier/ovals.h"

static void part(const double X[18], const tgiPairCores *c, int half, tgtRandom *r, double far, tgiOvalPart p[2]) {
  double R[9], turn[9];
  p[0] = (tgiOvalPart){.round = tgRe(c->radius[half]), .oval = c->oval[half]};
  for (int k = 0; k < 9; k++) {
    p[0].x[k] = X[9 * half + k];
    p[0].axes[k] = tgRe(c->axes[half][k]);
  }
  p[1] = p[0];
  oval_directions(r, R);
  for (int k = 0; k < 9; k++) turn[k] = far * 0.3 * (R[k] - (k % 4 == 0));
  for (int k = 0; k < 9; k++) {   // moved and turned, straight: anything affine
    for (int i = 0; i < 3; i++) {
      p[1].x[k] += turn[3 * (k % 3) + i] * p[0].x[k - k % 3 + i];
      p[1].axes[k] += turn[3 * (k % 3) + i] * p[0].axes[k - k % 3 + i];
    }
    p[1].x[k] += (half == 0 ? -1 : 1) * far * R[k % 3];
  }
}

static void test_distance(void **state) {
  (void)state;
  tgtRandom r = {61};
  for (int trial = 0; trial < 3000; trial++) {
    double X[18], gap = pow(10, tgt_uniform(&r, -6, 1)), size[2] = {1, tgt_uniform(&r, 0.3, 3)}, n[3];
    tgiOvalPart a[2], b[2];
    const tgiPairCores c = ovals_make(&r, gap, size, 0.05, X);
    part(X, &c, 0, &r, 0, a);
    part(X, &c, 1, &r, 0, b);
    double d = tgi_oval_distance(a, b, n);
    check_true(d <= gap * (1 + 1e-9) + 1e-14 && d >= gap * (gap > 1e-4 ? 1 - 2e-3 : 0.2), "gap %g: %g", gap, d);
    const tgiPairCores deep = ovals_make(&r, -1e-3 * pow(10, tgt_uniform(&r, -3, 0)), size, 0.3, X);
    part(X, &deep, 0, &r, 0, a);
    part(X, &deep, 1, &r, 0, b);
    check_true(tgi_oval_distance(a, b, n) == 0, "solids that overlap are apart");
  }
}

// nothing comes nearer than the gap before what is returned, and what is below the end has come near
static void test_sweep(void **state) {
  (void)state;
  tgtRandom r = {62};
  int hits = 0;
  for (int trial = 0; trial < 1000; trial++) {
    double X[18], apart = pow(10, tgt_uniform(&r, -3, 0)), gap = 0.1 * apart, tol = 0.05 * apart, n[3];
    tgiOvalPart a[2], b[2], x, y;
    const tgiPairCores c = ovals_make(&r, apart, (const double[]){1, tgt_uniform(&r, 0.3, 3)}, 0.1, X);
    part(X, &c, 0, &r, tgt_uniform(&r, 0, 1), a);
    part(X, &c, 1, &r, tgt_uniform(&r, 0, 1), b);
    double t = tgi_oval_sweep(a, b, gap, tol, 1);
    assert_true(t >= 0 && t <= 1);
    for (int s = 0; s <= 50; s++) {
      double at = t * s / 50;
      x = a[0], y = b[0];
      for (int k = 0; k < 9; k++) {
        x.x[k] += at * (a[1].x[k] - a[0].x[k]);
        y.x[k] += at * (b[1].x[k] - b[0].x[k]);
        x.axes[k] += at * (a[1].axes[k] - a[0].axes[k]);
        y.axes[k] += at * (b[1].axes[k] - b[0].axes[k]);
      }
      double d = tgi_oval_distance(&x, &y, n);
      check_true(d * 1.002 >= gap, "at %g of %g: %g apart, gap %g", at, t, d, gap);
      if (s == 50 && t < 1) check_true(d <= gap + tol, "stopped %g apart, gap %g", d, gap);
    }
    hits += t < 1;
  }
  check_true(hits > 100 && hits < 950, "%d hits", hits);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_distance), cmocka_unit_test(test_sweep)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
