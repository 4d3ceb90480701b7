// regressor.c: inverse dynamics as a linear map of the inertial parameters. See dynamics.h.
//
// Based on: [RBDA 2.14, 5.3]. f_b = I A + V x* I V is linear in (m, h = m c, I_o) of the body about its own frame's origin:
// with A and V moved there and turned into body axes, dp = v' + w x v the acceleration of that origin,
//   force  = m dp + (dw x + w x w x) h,    moment = h x dp + I dw + w x I w.
#include "dyn/dynamics.h"

enum { NPARAM = 10 };

// body axes, body origin: r = (R' w; R' (v + w x x))
static void to_body(const tgPose *pose, int b, const tgReal *m, tgReal *r) {
  tgReal v[3];
  tgi_sp_point_velocity(v, m, pose->xpos + 3 * b);
  tgi_m3_tmulv(r, pose->xmat + 9 * b, m);
  tgi_m3_tmulv(r + 3, pose->xmat + 9 * b, v);
}

// force (6, moment first) of each unit parameter, column by column
static void body_columns(const tgSim *s, const tgPose *pose, int b, tgReal f[NPARAM][6]) {
  tgReal V[6], A[6], wv[3], dp[3], t[3];
  // which entries of the inertia matrix a parameter fills: xx yy zz xy xz yz
  static const int row[6] = {0, 1, 2, 0, 0, 1}, col[6] = {0, 1, 2, 1, 2, 2};
  to_body(pose, b, pose->V + 6 * b, V);
  to_body(pose, b, s->A + 6 * b, A);
  tgi_v3_cross(wv, V, V + 3);
  tgi_v3_add(dp, A + 3, wv);
  tgi_v3_zero(f[0]);
  tgi_v3_copy(f[0] + 3, dp);
  for (int k = 0; k < 3; k++) {
    tgReal e[3] = {k == 0, k == 1, k == 2};
    tgi_v3_cross(f[1 + k], e, dp);
    tgi_v3_cross(f[1 + k] + 3, A, e);
    tgi_v3_cross(t, V, e);
    tgi_v3_cross(t, V, t);
    tgi_v3_add(f[1 + k] + 3, f[1 + k] + 3, t);
  }
  for (int k = 0; k < 6; k++) {
    tgReal Idw[3] = {0, 0, 0}, Iw[3] = {0, 0, 0};
    int i = row[k], j = col[k];
    Idw[i] = A[j]; Iw[i] = V[j];
    Idw[j] = A[i]; Iw[j] = V[i];
    tgi_v3_cross(t, V, Iw);
    tgi_v3_add(f[4 + k], Idw, t);
    tgi_v3_zero(f[4 + k] + 3);
  }
}

tgStatus tgi_regressor(tgSim *s, const tgPose *pose, const tgReal *a, tgReal *Y) {
  const tgModel *m = &s->m;
  size_t mark = tgi_stack_mark(s), n = (size_t)m->nv * NPARAM * (size_t)m->nbody;
  tgReal *tau = tgi_stack_real(s, (size_t)m->nv);
  if (tau == NULL) return TG_ERR_CAPACITY;
  tgi_inverse(s, pose, a, NULL, tau);  // A
  tgi_stack_free(s, mark);
  for (size_t i = 0; i < n; i++) Y[i] = 0;
  for (int b = 1; b < m->nbody; b++) {
    tgReal f[NPARAM][6], S[6];
    body_columns(s, pose, b, f);
    for (int d = m->body_lastdof[b]; d >= 0; d = m->dof_parent[d]) {
      tgReal *y = Y + ((size_t)d * (size_t)m->nbody + (size_t)b) * NPARAM;
      to_body(pose, b, pose->S + 6 * d, S);
      for (int k = 0; k < NPARAM; k++) y[k] = tgi_sp_dot(S, f[k]);
    }
  }
  return TG_OK;
}
