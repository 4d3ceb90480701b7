// test_ssdf.c: soft signed distance against closed forms of sphere, box and torus, and its derivatives.
#include "coll/ssdf_clouds.h"
#include "support/deriv.h"

#include <string.h>

#ifdef TG_COMPLEX
static const double tolerance = 1e-12;
#else
static const double tolerance = 1e-6;
#endif

// A sphere covered evenly: the mean of its points under exp(2 x . p/eps) is the Langevin function times R, so
// phi = r L(2 r R/eps) - R, L(k) = coth k - 1/k, for every eps and r.
static double sphere_exact(double r, double R, double eps) {
  double k = 2 * r * R / eps;
  return r * (k > 1e-3 ? 1 / tanh(k) - 1 / k : k / 3 - k * k * k / 45) - R;
}

static void test_sphere(void **state) {
  (void)state;
  double R = 0.5;
  tgtCloud c = tgt_cloud_sphere(4000, R);
  double l2 = 4 * TG_PI * R * R / c.n;   // spacing^2
  tgtRandom r = {.s = 1};
  for (int k = 0; k < 300; k++) {
    double u[3], at = k % 3 == 0 ? tgt_uniform(&r, 0.02, 1) : k % 3 == 1 ? R : pow(10, tgt_uniform(&r, 0, 6));
    // beyond the surface the kernel is narrower as an angle: eps R/r is what has to span the points
    double eps = l2 * fmax(1, at / R) * (k % 2 ? tgt_uniform(&r, 0.8, 2) : pow(10, tgt_uniform(&r, 0.5, 8)));
    tgt_random_unit(&r, u);
    tgReal x[3] = {at * u[0], at * u[1], at * u[2]};
    tgiSsdf s = tgt_ssdf(&c, eps);
    // ripple of the points: some thousandths of spacing^2 (mean curvature 2) near the surface, growing with the
    // distance that the normals' turn spans
    check_close(tgi_ssdf(&s, x, NULL, NULL), sphere_exact(at, R, eps), 4e-3 * l2 * (1 + at / R));
  }
  tgt_cloud_free(&c);
}

// the law of ssdf.h in both directions of curvature: phi on the surface = -(eps/2) H, to second order in eps
static void test_torus(void **state) {
  (void)state;
  double R = 0.3, a = 0.1, spacing = 0.006, worst[2] = {0, 0};
  tgtCloud c = tgt_cloud_torus(R, a, spacing);
  tgtRandom r = {.s = 2};
  for (int k = 0; k < 200; k++) {
    double t = tgt_uniform(&r, 0, 2 * TG_PI), f = tgt_uniform(&r, 0, 2 * TG_PI), rho = R + a * cos(t);
    double H = 0.5 * (1 / a + cos(t) / rho);
    tgReal x[3] = {rho * cos(f), rho * sin(f), a * sin(t)};
    for (int h = 0; h < 2; h++) {
      double eps = spacing * spacing * (h ? 1 : 4);
      tgiSsdf s = tgt_ssdf(&c, eps);
      worst[h] = fmax(worst[h], fabs(tgRe(tgi_ssdf(&s, x, NULL, NULL)) + 0.5 * eps * H));
    }
  }
  // remainder of second order: eps^2 times curvature^3 (10^3 at most), ripple aside
  check_true(worst[1] < 2 * pow(spacing, 4) * 1e3 + 2e-3 * spacing * spacing / a, "remainder %g", worst[1]);
  check_true(worst[0] < 2 * 16 * pow(spacing, 4) * 1e3, "remainder %g", worst[0]);
  tgt_cloud_free(&c);
}

// beyond a face, further from its border than the kernel reaches: the distance to the plane, inside and outside
static void test_box(void **state) {
  (void)state;
  double half[3] = {0.2, 0.3, 0.1}, spacing = 0.01;
  tgtCloud c = tgt_cloud_box(half, spacing);
  tgtRandom r = {.s = 3};
  for (int k = 0; k < 200; k++) {
    int axis = (int)(tgt_next(&r) % 3), sign = tgt_next(&r) % 2 ? 1 : -1;
    double gap = k % 2 ? tgt_uniform(&r, -0.02, 0) : tgt_uniform(&r, 0, 10);
    tgReal x[3];
    for (int i = 0; i < 3; i++) x[i] = tgt_uniform(&r, -half[i] + 0.08, half[i] - 0.08);
    x[axis] = sign * (half[axis] + gap);
    tgiSsdf s = tgt_ssdf(&c, spacing * spacing);
    tgReal g[3], H[9];
    check_close(tgi_ssdf(&s, x, g, H), gap, 1e-13 * (1 + gap));
    for (int i = 0; i < 3; i++) check_close(g[i], i == axis ? sign : 0, 1e-9);
    for (int i = 0; i < 9; i++) check_close(H[i], 0, 1e-9 / spacing);
  }
  // on an edge's bisector both faces count alike: gradient along it
  tgReal x[3] = {half[0] + 0.003, 0, half[2] + 0.003}, g[3];
  tgiSsdf s = tgt_ssdf(&c, spacing * spacing);
  check_close(tgi_ssdf(&s, x, g, NULL), 0.003, 1e-12);
  check_close(g[0], g[2], 1e-9);
  tgt_cloud_free(&c);
}

// limits of the width: the nearest plane, and the mean of all planes
static void test_widths(void **state) {
  (void)state;
  tgtCloud c = tgt_cloud_sphere(50, 1);
  tgtRandom r = {.s = 4};
  for (int k = 0; k < 60; k++) {
    double u[3], at = pow(10, tgt_uniform(&r, -3, 5)), best = INFINITY, planes = 0, near = 0;
    tgt_random_unit(&r, u);
    tgReal x[3] = {at * u[0], at * u[1], at * u[2]}, d[3];
    for (int i = 0; i < c.n; i++) {
      tgi_v3_sub(d, x, c.p + 3 * i);
      double s = tgRe(tgi_v3_dot(c.normal + 3 * i, d)), q = tgRe(tgi_v3_dot(d, d));
      planes += s / c.n;
      if (q < best) near = s;
      best = fmin(best, q);
    }
    tgiSsdf sharp = tgt_ssdf(&c, 1e-8), flat = tgt_ssdf(&c, 1e16);
    check_close(tgi_ssdf(&sharp, x, NULL, NULL), near, 1e-14 * (1 + at));
    check_close(tgi_ssdf(&flat, x, NULL, NULL), planes, 1e-9 * (1 + at));
  }
  tgt_cloud_free(&c);
}

typedef struct Field { tgiSsdf s; } Field;
static tgStatus value(void *ctx, const tgReal *x, tgReal *y) {
  *y = tgi_ssdf(&((Field *)ctx)->s, x, NULL, NULL);
  return TG_OK;
}
static tgStatus gradient(void *ctx, const tgReal *x, tgReal *y) {
  tgi_ssdf(&((Field *)ctx)->s, x, y, NULL);
  return TG_OK;
}

static void random_shapes(tgtRandom *r, int n, tgReal *shape) {
  for (int i = 0; i < n; i++) {
    double L[6];
    for (int k = 0; k < 6; k++) L[k] = k == 0 || k == 2 || k == 5 ? tgt_uniform(r, 0.7, 1.6) : tgt_uniform(r, -0.6, 0.6);
    tgReal *A = shape + 6 * i;
    A[0] = L[0] * L[0];
    A[1] = L[0] * L[1];
    A[2] = L[1] * L[1] + L[2] * L[2];
    A[3] = L[0] * L[3];
    A[4] = L[1] * L[3] + L[2] * L[4];
    A[5] = L[3] * L[3] + L[4] * L[4] + L[5] * L[5];
  }
}

static void test_derivatives(void **state) {
  (void)state;
  tgtCloud c = tgt_cloud_sphere(60, 0.4);
  tgtRandom r = {.s = 5};
  tgReal shape[6 * 60];
  random_shapes(&r, c.n, shape);
  for (int k = 0; k < 120; k++) {
    double u[3], at = k % 4 == 0 ? 0 : k % 4 == 1 ? tgt_uniform(&r, 0.3, 0.5) : pow(10, tgt_uniform(&r, -2, 2));
#ifdef TG_COMPLEX
    Field f = {tgt_ssdf(&c, k % 5 == 0 ? 1e-8 : pow(10, tgt_uniform(&r, -4, 4)))};
#else
    Field f = {tgt_ssdf(&c, pow(10, tgt_uniform(&r, -1, 1)))};   // what differences resolve
#endif
    if (k % 2) f.s.shape = shape;
    tgt_random_unit(&r, u);
    tgReal x[3] = {at * u[0], at * u[1], at * u[2]}, g[3], H[9];
    tgi_ssdf(&f.s, x, g, H);
    tgtDeriv d = {.name = "ssdf", .nx = 3, .ny = 1, .map = value, .ctx = &f, .tol = tolerance, .step = 0.1 * fmin(tgRe(f.s.eps), 1)};
    tgt_check_jacobian(&d, x, g);
    d = (tgtDeriv){.name = "ssdf gradient", .nx = 3, .ny = 3, .map = gradient, .ctx = &f, .tol = tolerance, .step = d.step};
    tgt_check_jacobian(&d, x, H);
  }
  tgt_cloud_free(&c);
}

// midway between two points: both weights 1/2, as at every switch of the nearest point
static void test_tie(void **state) {
  (void)state;
  tgReal p[6] = {-1, 0, 0, 1, 0, 0}, n[6] = {0.6, 0.8, 0, 0, 0.8, 0.6}, x[3] = {0, 0.5, 0.2}, g[3], H[9];
  Field f = {{.n = 2, .p = p, .normal = n, .eps = 0.3}};
  check_close(tgi_ssdf(&f.s, x, g, H), 0.5 * (0.6 + 0.4) + 0.5 * (0.4 + 0.12), 1e-15);
  tgtDeriv d = {.name = "gradient at a tie", .nx = 3, .ny = 3, .map = gradient, .ctx = &f, .tol = tolerance};
  tgt_check_jacobian(&d, x, H);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_sphere), cmocka_unit_test(test_torus), cmocka_unit_test(test_box), cmocka_unit_test(test_widths),
    cmocka_unit_test(test_derivatives), cmocka_unit_test(test_tie),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
