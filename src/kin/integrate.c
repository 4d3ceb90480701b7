// integrate.c: composition of coordinates with tangent steps, its inverse and its tangent Jacobians.
//
// Based on: [math/dynamics Coordinates]. q (+) w: Euclidean coordinates are added; a quaternion becomes q exp(w/2), w in body axes.
//   d(q (+) w)/dq: 1 and exp(-[w]);   d(q (+) w)/dw: 1 and Jr(w).   A free joint is translation and rotation apart, no SE(3).
#include "kin/kinematics.h"

#include "math/quat.h"

// true when dof d opens a rotation group of three
static bool opens_rotation(const tgModel *m, int d) { return m->dof_grpnum[d] == 3 && m->dof_grpadr[d] == d; }

// coordinates before the quaternion of joint j
static int lead(const tgModel *m, int j) { return m->jnt_type[j] == TG_JOINT_BALL ? 0 : m->jnt_type[j] == TG_JOINT_FREE ? 3 : 1; }
static bool turns(const tgModel *m, int j) { return m->jnt_type[j] == TG_JOINT_BALL || m->jnt_type[j] == TG_JOINT_FREE; }

void tgi_integrate_joint(const tgModel *m, int j, const tgReal *q, const tgReal *dv, tgReal *out) {
  int a = m->jnt_qadr[j], d = m->jnt_vadr[j], n = lead(m, j);
  for (int i = 0; i < n; i++) out[a + i] = q[a + i] + dv[d + i];
  if (!turns(m, j)) return;
  tgReal e[4];
  tgi_quat_exp(e, dv + d + n);
  tgi_quat_mul(out + a + n, q + a + n, e);
  tgi_quat_normalize(out + a + n);
}

void tg_model_integrate(const tgModel *m, const tgReal *q, const tgReal *dv, tgReal *out) {
  if (m == NULL || q == NULL || dv == NULL || out == NULL) return;
  for (int j = 0; j < m->njnt; j++) tgi_integrate_joint(m, j, q, dv, out);
}

void tg_model_difference(const tgModel *m, const tgReal *q1, const tgReal *q2, tgReal *out) {
  if (m == NULL || q1 == NULL || q2 == NULL || out == NULL) return;
  for (int j = 0; j < m->njnt; j++) {
    int a = m->jnt_qadr[j], d = m->jnt_vadr[j], n = lead(m, j);
    for (int i = 0; i < n; i++) out[d + i] = q2[a + i] - q1[a + i];
    if (!turns(m, j)) continue;
    const tgReal *p = q1 + a + n;
    tgReal inverse[4] = {p[0], -p[1], -p[2], -p[3]}, r[4];
    tgi_quat_mul(r, inverse, q2 + a + n);
    tgi_quat_normalize(r);
    tgi_quat_log(out + d + n, r);
  }
}

tgStatus tg_model_normalize(const tgModel *m, const tgReal *q, tgReal *out) {
  if (m == NULL || q == NULL || out == NULL) return TG_ERR_ARG;
  for (int j = 0; j < m->njnt; j++) {
    if (!turns(m, j)) continue;
    double length = 0;
    for (int i = 0; i < 4; i++) length += tgRe(q[m->jnt_qadr[j] + lead(m, j) + i]) * tgRe(q[m->jnt_qadr[j] + lead(m, j) + i]);
    if (!(length > 0) || !isfinite(length)) return TG_ERR_NOT_FINITE;
  }
  for (int i = 0; i < m->nq; i++) out[i] = q[i];
  for (int j = 0; j < m->njnt; j++)
    if (turns(m, j)) tgi_quat_normalize(out + m->jnt_qadr[j] + lead(m, j));
  return TG_OK;
}

tgStatus tg_model_inside(const tgModel *m, const tgReal *q, double share, tgReal *out) {
  if (m == NULL || q == NULL || out == NULL || !(share >= 0 && share <= 0.5)) return TG_ERR_ARG;
  for (int i = 0; i < m->nq; i++) out[i] = q[i];
  for (int j = 0; j < m->njnt; j++) {
    if (!m->jnt_limited[j] || turns(m, j) || m->jnt_type[j] == TG_JOINT_FREE) continue;
    tgReal low = m->jnt_range[2 * j], high = m->jnt_range[2 * j + 1], room = share * (high - low);
    tgReal *x = out + m->jnt_qadr[j];
    *x = tgMin(tgMax(*x, low + room), high - room);
  }
  return TG_OK;
}

// dq = (1/2) q (0, w) for a tangent step w of a rotation, so g . dq = (1/2) vec(conj(q) g) . w
void tg_model_to_tangent(const tgModel *m, const tgReal *q, const tgReal *g, tgReal *out) {
  if (m == NULL || q == NULL || g == NULL || out == NULL) return;
  for (int j = 0; j < m->njnt; j++) {
    int a = m->jnt_qadr[j], d = m->jnt_vadr[j], n = lead(m, j);
    for (int i = 0; i < n; i++) out[d + i] = g[a + i];
    if (!turns(m, j)) continue;
    const tgReal *p = q + a + n;
    tgReal inverse[4] = {p[0], -p[1], -p[2], -p[3]}, r[4];
    tgi_quat_mul(r, inverse, g + a + n);
    for (int i = 0; i < 3; i++) out[d + n + i] = r[1 + i] / 2;
  }
}

// w = 2 vec(conj(q) dq) for dq along the sphere of |q|, so g . w = 2 q (0, g) . dq, and by 1/|q|^2 less where q is not of unit length
void tg_model_from_tangent(const tgModel *m, const tgReal *q, const tgReal *g, tgReal *out) {
  if (m == NULL || q == NULL || g == NULL || out == NULL) return;
  for (int j = 0; j < m->njnt; j++) {
    int a = m->jnt_qadr[j], d = m->jnt_vadr[j], n = lead(m, j);
    for (int i = 0; i < n; i++) out[a + i] = g[d + i];
    if (!turns(m, j)) continue;
    const tgReal *p = q + a + n;
    tgReal w[4] = {0, g[d + n], g[d + n + 1], g[d + n + 2]}, r[4], length = p[0] * p[0] + p[1] * p[1] + p[2] * p[2] + p[3] * p[3];
    tgi_quat_mul(r, p, w);
    for (int i = 0; i < 4; i++) out[a + n + i] = 2 * r[i] / length;
  }
}

// R = exp(-[w]) and Jr(w)
static void rotation_blocks(const tgReal *w, tgReal *R, tgReal *J) {
  tgReal minus[3], e[4];
  tgi_v3_scale(minus, w, -1);
  tgi_quat_exp(e, minus);
  tgi_quat_to_mat(R, e);
  tgi_so3_jr(J, w);
}

void tgi_integrate_blocks(const tgModel *m, const tgReal *w, tgReal *Bq, tgReal *Bw) {
  for (int d = 0; d < m->nv;) {
    if (opens_rotation(m, d)) {
      rotation_blocks(w + d, Bq + 3 * d, Bw + 3 * d);
      d += 3;
      continue;
    }
    Bq[3 * d] = Bw[3 * d] = 1;
    d++;
  }
}

// out (3 x n) = T X, out may be X; added when out already holds the other part
static void mul3(const tgReal *T, const tgReal *X, int n, bool add, tgReal *out) {
  for (int c = 0; c < n; c++) {
    tgReal x[3] = {X[c], X[n + c], X[2 * n + c]}, y[3];
    tgi_m3_mulv(y, T, x);
    for (int i = 0; i < 3; i++) out[i * n + c] = add ? out[i * n + c] + y[i] : y[i];
  }
}

// dofs from .. to - 1, whole groups
static void integrate_jacobian(const tgModel *m, int from, int to, const tgReal *w, int n, const tgReal *Xq, const tgReal *Xw,
                               tgReal *out) {
  for (int d = from; d < to;) {
    if (!opens_rotation(m, d)) {
      for (int c = 0; c < n; c++)
        out[d * n + c] = (Xq != NULL ? Xq[d * n + c] : 0) + (Xw != NULL ? Xw[d * n + c] : 0);
      d++;
      continue;
    }
    tgReal R[9], J[9];
    rotation_blocks(w + d, R, J);
    if (Xq != NULL) mul3(R, Xq + d * n, n, false, out + d * n);
    if (Xw != NULL) mul3(J, Xw + d * n, n, Xq != NULL, out + d * n);
    d += 3;
  }
}

void tgi_integrate_jacobian(const tgModel *m, const tgReal *w, int n, const tgReal *Xq, const tgReal *Xw, tgReal *out) {
  integrate_jacobian(m, 0, m->nv, w, n, Xq, Xw, out);
}

void tgi_integrate_joint_rate(const tgModel *m, int j, const tgReal *w, const tgReal *x, tgReal *out) {
  int from = m->jnt_vadr[j];
  integrate_jacobian(m, from, j + 1 < m->njnt ? m->jnt_vadr[j + 1] : m->nv, w, 1, NULL, x, out);
}

// out (k rows of n, columns from .. to - 1) = h T Y, T (k x k)
static void scaled(int k, const tgReal *T, tgReal h, const tgReal *Y, int n, int from, int to, tgReal *out) {
  for (int c = from; c < to; c++)
    for (int r = 0; r < k; r++) {
      tgReal sum = 0;
      for (int i = 0; i < k; i++) sum += T[k * r + i] * Y[i * n + c];
      out[r * n + c] = h * sum;
    }
}

void tgi_integrate_own_jacobian(const tgModel *m, const tgReal *w, tgReal h, int n, const tgReal *Y, const int *span, tgReal *out) {
  int nv = m->nv;
  for (int d = 0; d < nv;) {
    int k = opens_rotation(m, d) ? 3 : 1, from = span[2 * d], to = span[2 * d + 1];
    tgReal R[9] = {1}, J[9] = {1}, *row = out + d * n;
    if (k == 3) rotation_blocks(w + d, R, J);
    if (Y != NULL) {
      scaled(k, J, h, Y + d * n, n, from, to, row);
      scaled(k, J, h, Y + d * n, n, nv + from, nv + to, row);
      scaled(k, J, h, Y + d * n, n, 2 * nv, n, row);
    }
    for (int r = 0; r < k; r++)
      for (int i = 0; i < k; i++) {
        row[r * n + d + i] += R[k * r + i];
        if (Y == NULL) row[r * n + nv + d + i] += h * J[k * r + i];
      }
    d += k;
  }
}

void tgi_integrate_vjp(const tgModel *m, const tgReal *w, const tgReal *g, tgReal *gq, tgReal *gw) {
  for (int d = 0; d < m->nv;) {
    if (!opens_rotation(m, d)) {
      if (gq != NULL) gq[d] += g[d];
      if (gw != NULL) gw[d] += g[d];
      d++;
      continue;
    }
    tgReal R[9], J[9], t[3];
    rotation_blocks(w + d, R, J);
    tgi_m3_tmulv(t, R, g + d);
    if (gq != NULL) tgi_v3_add(gq + d, gq + d, t);
    tgi_m3_tmulv(t, J, g + d);
    if (gw != NULL) tgi_v3_add(gw + d, gw + d, t);
    d += 3;
  }
}
