// test_deriv.c: the derivative check itself: right derivatives pass, every kind of wrong one is refused.
#include "support/deriv.h"

#include "math/quat.h"

// y0 = sin(x0) x1 + exp(x2), y1 = x0 x1 x2, y2 = cos(x1 - x2)
static tgStatus curve(void *ctx, const tgReal *x, tgReal *y) {
  (void)ctx;
  y[0] = tgSin(x[0]) * x[1] + tgExp(x[2]);
  y[1] = x[0] * x[1] * x[2];
  y[2] = tgCos(x[1] - x[2]);
  return TG_OK;
}

static void curve_d(const tgReal *x, tgReal D[9]) {
  tgReal s = tgSin(x[1] - x[2]);
  tgReal right[9] = {tgCos(x[0]) * x[1], tgSin(x[0]), tgExp(x[2]), x[1] * x[2], x[0] * x[2], x[0] * x[1], 0, -s, s};
  for (int i = 0; i < 9; i++) D[i] = right[i];
}

static const tgReal POINT[3] = {0.3, -1.2, 0.7};

// 1e-12 by complex step, 1e-9 by Ridders
static tgtDeriv curve_check(bool numeric) {
#ifdef TG_COMPLEX
  double tol = numeric ? 1e-9 : 1e-12;
#else
  double tol = 1e-9;
#endif
  return (tgtDeriv){.name = "curve", .nx = 3, .ny = 3, .map = curve, .tol = tol, .numeric = numeric};
}

static void right_derivatives_pass(void **state) {
  (void)state;
  tgReal D[9];
  curve_d(POINT, D);
  for (int numeric = 0; numeric < 2; numeric++) {
    tgtDeriv d = curve_check(numeric);
    tgt_check_jacobian(&d, POINT, D);
  }
}

static void refused(const tgReal *D, double at_least) {
  for (int numeric = 0; numeric < 2; numeric++) {
    tgtDeriv d = curve_check(numeric);
    char message[256];
    tgiWorst w = tgt_jacobian_error(&d, POINT, D, message);
    check_true(w.error > d.tol && w.error >= at_least, "a wrong derivative passed with error %g: %s", w.error, message);
  }
}

static void wrong_sign_is_refused(void **state) {
  (void)state;
  tgReal D[9];
  curve_d(POINT, D);
  D[1] = -D[1];
  refused(D, 0.1);
}

// A wrong column is found by one of as many checks as there are columns to each that is looked at.
static void fewer_columns_take_turns(void **state) {
  (void)state;
  tgReal D[9];
  int found = 0;
  curve_d(POINT, D);
  D[1] += 0.1;
  assert_true(setenv("TANGERE_DIFFERENCES", "3", 1) == 0 && setenv("TANGERE_FEWER", "2", 1) == 0);
  for (int call = 0; call < 6; call++) {
    tgtDeriv d = curve_check(call % 2);
    found += tgt_jacobian_error(&d, POINT, D, NULL).error > d.tol;
  }
  assert_int_equal(unsetenv("TANGERE_DIFFERENCES"), 0);
  assert_int_equal(found, 2);
}

static void missing_term_is_refused(void **state) {
  (void)state;
  tgReal D[9];
  curve_d(POINT, D);
  D[4] = 0;
  refused(D, 0.05);
}

static void one_in_a_million_is_refused(void **state) {
  (void)state;
  tgReal D[9];
  curve_d(POINT, D);
  D[2] *= 1 + 1e-6;
  refused(D, 0.9e-6);
}

static void transposed_is_refused(void **state) {
  (void)state;
  tgReal D[9], T[9];
  curve_d(POINT, D);
  for (int i = 0; i < 9; i++) T[i] = D[i % 3 * 3 + i / 3];
  refused(T, 0.1);
}

static void not_a_number_is_refused(void **state) {
  (void)state;
  tgReal D[9];
  curve_d(POINT, D);
  D[5] = NAN;
  refused(D, HUGE_VAL);
}

// an error small beside the whole matrix is large in its own block
static void blocks_are_compared_apart(void **state) {
  (void)state;
  tgReal D[9];
  curve_d(POINT, D);
  tgReal x[3] = {POINT[0], POINT[1], 20};
  curve_d(x, D);
  D[7] += 1e-3;
  tgtDeriv d = curve_check(false);
  d.tol = 1e-5;
  check_true(tgt_jacobian_error(&d, x, D, NULL).error < d.tol, "one block: exp(20) hides 1e-3");
  d.rows = (const int[]){1, 2};
  d.nrows = 2;
  tgiWorst w = tgt_jacobian_error(&d, x, D, NULL);
  check_true(w.error > d.tol, "two blocks: 1e-3 shows");
  assert_int_equal(w.row, 2);
  assert_int_equal(w.col, 1);
}

static tgStatus fails(void *ctx, const tgReal *x, tgReal *y) {
  (void)ctx;
  (void)x;
  (void)y;
  return TG_ERR_NOT_FINITE;
}

static void failing_map_is_refused(void **state) {
  (void)state;
  tgReal D[9] = {0};
  tgtDeriv d = {.name = "fails", .nx = 3, .ny = 3, .map = fails, .tol = 1};
  check_true(tgt_jacobian_error(&d, POINT, D, NULL).error > 1e300, "a map that fails must not pass");
}

// rotation of a fixed vector by the quaternion x, moved by a body-frame rotation vector: D = -R [a]x
static tgStatus rotate(void *ctx, const tgReal *x, tgReal *y) {
  (void)ctx;
  const tgReal a[3] = {0.2, -0.5, 0.9};
  tgReal w = x[0], u[3] = {x[1], x[2], x[3]}, c[3], cc[3];
  c[0] = u[1] * a[2] - u[2] * a[1];
  c[1] = u[2] * a[0] - u[0] * a[2];
  c[2] = u[0] * a[1] - u[1] * a[0];
  cc[0] = u[1] * c[2] - u[2] * c[1];
  cc[1] = u[2] * c[0] - u[0] * c[2];
  cc[2] = u[0] * c[1] - u[1] * c[0];
  for (int i = 0; i < 3; i++) y[i] = a[i] + 2 * (w * c[i] + cc[i]);
  return TG_OK;
}

// out = x * exp(d/2), first and second order exact enough for both kinds of step
static void turn(void *ctx, const tgReal *x, const tgReal *d, tgReal *out) {
  (void)ctx;
  tgReal n2 = d[0] * d[0] + d[1] * d[1] + d[2] * d[2];
  tgReal c = 1 - n2 / 8 + n2 * n2 / 384, s = 0.5 - n2 / 48 + n2 * n2 / 3840;
  tgReal e[4] = {c, s * d[0], s * d[1], s * d[2]};
  out[0] = x[0] * e[0] - x[1] * e[1] - x[2] * e[2] - x[3] * e[3];
  out[1] = x[0] * e[1] + x[1] * e[0] + x[2] * e[3] - x[3] * e[2];
  out[2] = x[0] * e[2] - x[1] * e[3] + x[2] * e[0] + x[3] * e[1];
  out[3] = x[0] * e[3] + x[1] * e[2] - x[2] * e[1] + x[3] * e[0];
}

static void manifold_is_followed(void **state) {
  (void)state;
  const tgReal x[4] = {0.5, 0.5, -0.5, 0.5};
  const double a[3] = {0.2, -0.5, 0.9};
  // columns: R (e_j x a)
  tgReal R[9] = {0, -1, 0, 0, 0, -1, 1, 0, 0}, D[9], back[3];
  // R from its own action on unit vectors would repeat rotate; this one is written out for the quaternion (1 1 -1 1)/2
  const double cross[3][3] = {{0, a[2], -a[1]}, {-a[2], 0, a[0]}, {a[1], -a[0], 0}};  // cross[i][j] = (e_j x a)_i
  rotate(NULL, x, back);
  for (int i = 0; i < 3; i++) check_close(back[i], tgRe(R[i * 3]) * a[0] + tgRe(R[i * 3 + 1]) * a[1] + tgRe(R[i * 3 + 2]) * a[2], 1e-15);
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < 3; j++) {
      D[i * 3 + j] = 0;
      for (int k = 0; k < 3; k++) D[i * 3 + j] += R[i * 3 + k] * cross[k][j];
    }
  tgtDeriv d = {.name = "rotate", .nx = 4, .nt = 3, .ny = 3, .map = rotate, .retract = turn, .tol = 1e-9};
  tgt_check_jacobian(&d, x, D);
  D[0] += 1e-6;
  check_true(tgt_jacobian_error(&d, x, D, NULL).error > d.tol, "a wrong entry must show on the manifold too");
}

static void adjoint_is_checked(void **state) {
  (void)state;
  tgReal J[6] = {1, 2, 3, 4, 5, 6}, w[2] = {0.5, -2}, v[3] = {1, -1, 0.25}, g[3] = {-7.5, -9, -10.5};
  tgt_check_adjoint(J, 2, 3, w, v, g);
  g[1] *= 1 + 1e-6;
  check_true(tgi_dot_error(J, 2, 3, w, v, g) > 1e-11, "1e-6 off must show");
  g[1] = 9;
  check_true(tgi_dot_error(J, 2, 3, w, v, g) > 0.1, "a wrong sign must show");
}

static tgStatus scalar(void *ctx, const tgReal *x, tgReal *y) {
  tgReal all[3];
  tgStatus status = curve(ctx, x, all);
  y[0] = all[0] + all[1] + all[2];
  return status;
}

static void taylor_slope_is_two_only_when_right(void **state) {
  (void)state;
  tgReal D[9], g[3], t[3] = {0.4, 0.7, -0.2};
  curve_d(POINT, D);
  for (int j = 0; j < 3; j++) g[j] = D[j] + D[3 + j] + D[6 + j];
  tgtDeriv d = {.name = "scalar", .nx = 3, .ny = 1, .map = scalar};
  tgt_check_taylor(&d, POINT, g, t, 0.1);
  bool flat;
  g[1] *= 1 + 1e-2;
  double slope = tgt_taylor_slope(&d, POINT, g, t, 0.1, &flat);
  check_true(!flat && fabs(slope - 2) > 0.1, "1 %% off: slope %g", slope);
  g[1] = -g[1];
  slope = tgt_taylor_slope(&d, POINT, g, t, 0.1, &flat);
  check_true(!flat && fabs(slope - 1) < 0.1, "wrong sign: slope %g should be 1", slope);
}

// |x| at 0: the two sides differ, and each is what its own points say
static tgStatus kink(void *ctx, const tgReal *x, tgReal *y) {
  (void)ctx;
  y[0] = tgAbs(x[0]) + x[0] * x[0];
  return TG_OK;
}

static void sides_are_told_apart(void **state) {
  (void)state;
  tgiNumDiff n = {.nx = 1, .nt = 1, .ny = 1, .map = kink};
  tgReal x = 0, t = 1, work[32];
  double D, error;
  check_true(tgi_numdiff_work(&n) <= 32, "work");
  tgi_numdiff(&n, &x, &t, TGI_SIDE_ABOVE, &D, &error, work);
  check_close(D, 1, 1e-12);
  tgi_numdiff(&n, &x, &t, TGI_SIDE_BELOW, &D, &error, work);
  check_close(D, -1, 1e-12);
}

int main(void) {
  unsetenv("TANGERE_DIFFERENCES");   // all columns, but where it is asked for
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(right_derivatives_pass), cmocka_unit_test(wrong_sign_is_refused),
    cmocka_unit_test(missing_term_is_refused), cmocka_unit_test(one_in_a_million_is_refused),
    cmocka_unit_test(transposed_is_refused), cmocka_unit_test(not_a_number_is_refused),
    cmocka_unit_test(blocks_are_compared_apart), cmocka_unit_test(failing_map_is_refused),
    cmocka_unit_test(manifold_is_followed), cmocka_unit_test(adjoint_is_checked),
    cmocka_unit_test(taylor_slope_is_two_only_when_right), cmocka_unit_test(sides_are_told_apart),
    cmocka_unit_test(fewer_columns_take_turns),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
