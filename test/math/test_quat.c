// test_quat.c: rotations against each other and against closed forms.
#include "math/quat.h"
#include "support/check.h"

// exp(log(q)) = q, log(exp(w)) = w for |w| < pi, small angles included
static void test_exp_log(void **state) {
  (void)state;
  tgtRandom r = {1};
  for (int k = 0; k < 300; k++) {
    double scale = pow(10, tgt_uniform(&r, -12, 0));
    tgReal w[3], q[4], back[3];
    for (int i = 0; i < 3; i++) w[i] = scale * tgt_uniform(&r, -1.8, 1.8);
    tgi_quat_exp(q, w);
    tgi_quat_log(back, q);
    for (int i = 0; i < 3; i++) check_close(back[i], w[i], 1e-14 * scale + 1e-15);
  }
}

// R(q) and rotate agree
static void test_matrix(void **state) {
  (void)state;
  tgtRandom r = {2};
  for (int k = 0; k < 300; k++) {
    tgReal q[4], R[9], v[3], a[3], b[3];
    for (int i = 0; i < 4; i++) q[i] = k < 8 ? (i == k % 4) : tgt_normal(&r);
    tgi_quat_normalize(q);
    if (tgRe(q[0]) < 0)
      for (int i = 0; i < 4; i++) q[i] = -q[i];
    for (int i = 0; i < 3; i++) v[i] = tgt_normal(&r);
    tgi_quat_to_mat(R, q);
    tgi_m3_mulv(a, R, v);
    tgi_quat_rotate(b, q, v);
    for (int i = 0; i < 3; i++) check_close(a[i], b[i], 1e-14);
  }
}

// exp(w + d) = exp(w) exp(Jr(w) d) to first order, by Richardson-extrapolated central differences; Jr Jr^-1 = 1
static void test_right_jacobian(void **state) {
  (void)state;
  tgtRandom r = {3};
  for (int k = 0; k < 200; k++) {
    double scale = pow(10, tgt_uniform(&r, -6, 0.3));
    tgReal w[3], J[9], Ji[9], P[9], q0[4], conj[4];
    for (int i = 0; i < 3; i++) w[i] = scale * tgt_uniform(&r, -1, 1);
    tgi_so3_jr(J, w);
    tgi_so3_jr_inv(Ji, w);
    tgi_m3_mul(P, J, Ji);
    for (int i = 0; i < 9; i++) check_close(P[i], i % 4 == 0 ? 1 : 0, 1e-12);
    tgi_quat_exp(q0, w);
    for (int i = 0; i < 4; i++) conj[i] = i == 0 ? q0[i] : -q0[i];
    for (int c = 0; c < 3; c++) {
      tgReal est[2][3];
      for (int level = 0; level < 2; level++) {
        double h = 1e-3 / (1 << level);
        tgReal qp[4], d[2][3], wp[3];
        for (int s = 0; s < 2; s++) {
          tgi_v3_copy(wp, w);
          wp[c] += s == 0 ? h : -h;
          tgi_quat_exp(qp, wp);
          tgi_quat_mul(qp, conj, qp);
          tgi_quat_log(d[s], qp);
        }
        for (int i = 0; i < 3; i++) est[level][i] = (d[0][i] - d[1][i]) / (2 * h);
      }
      for (int i = 0; i < 3; i++) check_close((4 * est[1][i] - est[0][i]) / 3, J[3 * i + c], 2e-11);
    }
  }
}

// p' Jr^-1(w) y along each axis of w, on both sides of where the series ends (|w|^2 = 0.1) and at 0
static void test_jr_inv_d(void **state) {
  (void)state;
  tgtRandom r = {.s = 11};
  const double length[6] = {0, 1e-3, 0.31, 0.32, 1, 3};
  for (int k = 0; k < 6; k++) {
    tgReal w[3], p[3], y[3], D[3], n = 0;
    for (int i = 0; i < 3; i++) {
      w[i] = tgt_normal(&r);
      p[i] = tgt_normal(&r);
      y[i] = tgt_normal(&r);
      n += w[i] * w[i];
    }
    for (int i = 0; i < 3; i++) w[i] *= length[k] / tgSqrt(n);
    tgi_so3_jr_inv_d(D, w, p, y);
    for (int c = 0; c < 3; c++) {
      tgReal est[2];
      for (int level = 0; level < 2; level++) {
        double h = 1e-3 / (1 << level);
        tgReal f[2];
        for (int s = 0; s < 2; s++) {
          tgReal at[3], J[9], Jy[3];
          tgi_v3_copy(at, w);
          at[c] += s == 0 ? h : -h;
          tgi_so3_jr_inv(J, at);
          tgi_m3_mulv(Jy, J, y);
          f[s] = tgi_v3_dot(p, Jy);
        }
        est[level] = (f[0] - f[1]) / (2 * h);
      }
      check_close(D[c], (4 * est[1] - est[0]) / 3, 1e-10);
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_exp_log), cmocka_unit_test(test_matrix), cmocka_unit_test(test_jr_inv_d),
                                     cmocka_unit_test(test_right_jacobian)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
