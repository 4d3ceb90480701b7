// joint_forces.c: limits and dry friction as forces with two continuous derivatives; see force.h.
//
// Based on: [math/softmin Joints]. At x beyond a limit, leaving it with u,  F = k r(x) D(u/(omega width)): r sets in over the width (math/onset.h), D
// is the dissipation of contacts, k = omega^2 times the joint's inertia at qpos0 (tgContact.limit_inertia).
// Dry friction: -f v/sqrt(v^2 + v_s^2) of a dof, the same of a tendon's rate along it. A ball's limit acts along its rotation vector w = |w| n:
// torque -F n, with d|w| = n . delta and dn = (1 - n n')/|w| Jr^-1(w) delta.
#include "math/onset.h"
#include "math/quat.h"
#include "step/force.h"
#include "step/objective.h"

typedef struct Push { tgReal F, F_x, F_u, F_w, F_omega; } Push;

// a limit that pushes, or would with other speeds
static bool push(const tgSim *s, int j, int side, const tgReal *q, tgReal u, Push *f) {
  const tgContact *c = s->contact_model;
  tgReal gap, width, r_d[2], slope;
  if (!tgi_limit(s, j, side, q, &gap, &width) || tgRe(gap) >= 0) return false;
  tgReal omega = TG_NUMBER(s, limit_frequency), k = c->limit_inertia[j] * omega * omega, x = u / (omega * width), r = tgi_ramp(-gap, width, r_d), d = tgi_dissipation(x, &slope);
  f->F = k * r * d;
  f->F_x = k * r_d[0] * d;
  f->F_u = k * r * slope / (omega * width);
  f->F_w = k * (r_d[1] * d - r * slope * x / width);
  f->F_omega = k * r * (2 * d - slope * x) / omega;
  return true;
}

// Fbar dF into the range, x = lo - q or q - hi, the width being a share of what is between, and into the numbers
static void limit_vjp(const tgSim *s, int j, int side, tgReal Fbar, const Push *f, tgParamGrad *p) {
  if (p == NULL) return;
  const tgModel *m = &s->m;
  tgReal share = TG_NUMBER(s, limit_range), *by_share = TG_NUMBER_GRAD(p, limit_range), *by_omega = TG_NUMBER_GRAD(p, limit_frequency);
  const tgReal *range = m->jnt_range + 2 * j;
  bool ball = m->jnt_type[j] == TG_JOINT_BALL, whole = isfinite(tgRe(range[1])) && (ball || isfinite(tgRe(range[0])));
  tgReal span = !whole ? 1 : ball ? range[1] : range[1] - range[0];
  if (by_omega != NULL) *by_omega += Fbar * f->F_omega;
  if (by_share != NULL) *by_share += Fbar * f->F_w * span;
  if (p->jnt_range == NULL) return;
  tgReal *out = p->jnt_range + 2 * j;
  out[side] += (side == 0 ? Fbar : -Fbar) * f->F_x;
  if (!whole) return;
  out[1] += Fbar * share * f->F_w;
  if (!ball) out[0] -= Fbar * share * f->F_w;
}

// rotation vector of a ball joint as angle and axis, and dn/ddelta
static tgReal ball(const tgModel *m, int j, const tgReal *q, tgReal n[3], tgReal Dn[9]) {
  tgReal r[4], w[3], J[9];
  for (int i = 0; i < 4; i++) r[i] = q[m->jnt_qadr[j] + i];
  tgi_quat_normalize(r);
  tgi_quat_log(w, r);
  tgReal angle = tgi_v3_unit(n, w);
  tgi_so3_jr_inv(J, w);
  for (int c = 0; c < 3; c++) {
    tgReal e[3];
    tgi_m3_col(e, J, c);
    tgReal along = tgi_v3_dot(n, e);
    for (int i = 0; i < 3; i++) Dn[3 * i + c] = (e[i] - along * n[i]) / angle;
  }
  return angle;
}

// ---- values ----

static tgReal slip(const tgSim *s, tgReal v, tgReal *slope) {
  tgReal v_s = TG_NUMBER(s, stiction_speed), rho = tgSqrt(v * v + v_s * v_s);
  *slope = v_s * v_s / (rho * rho * rho);
  return v / rho;
}

static tgReal tendon_rate(const tgModel *m, int t, const tgReal *v) {
  tgReal sum = 0;
  for (int w = m->ten_adr[t]; w < m->ten_adr[t] + m->ten_num[t]; w++) sum += m->wrap_coef[w] * v[m->jnt_vadr[m->wrap_jnt[w]]];
  return sum;
}

void tgi_joint_forces(const tgSim *s, const tgReal *q, const tgReal *v, tgReal *qfrc) {
  const tgModel *m = &s->m;
  Push f;
  tgReal n[3], Dn[9], slope;
  for (int j = 0; j < m->njnt; j++) {
    int d = m->jnt_vadr[j];
    if (m->jnt_type[j] == TG_JOINT_BALL) {
      if (!push(s, j, 1, q, 0, &f)) continue;
      ball(m, j, q, n, Dn);
      push(s, j, 1, q, -tgi_v3_dot(n, v + d), &f);
      tgi_v3_axpy(qfrc + d, -f.F, n);
      continue;
    }
    for (int side = 0; side < 2; side++)
      if (push(s, j, side, q, side == 0 ? v[d] : -v[d], &f)) qfrc[d] += side == 0 ? f.F : -f.F;
  }
  for (int d = 0; d < m->nv; d++)
    if (!tgZero(m->dof_frictionloss[d])) qfrc[d] -= m->dof_frictionloss[d] * slip(s, v[d], &slope);
  for (int t = 0; t < m->ntendon; t++) {
    if (tgZero(m->ten_frictionloss[t])) continue;
    tgReal force = m->ten_frictionloss[t] * slip(s, tendon_rate(m, t, v), &slope);
    for (int w = m->ten_adr[t]; w < m->ten_adr[t] + m->ten_num[t]; w++) qfrc[m->jnt_vadr[m->wrap_jnt[w]]] -= force * m->wrap_coef[w];
  }
}

// ---- Jacobian ----

// a ball's limit: torque T = -F n, F of |w| and u = -n . omega
static void ball_d(const tgSim *s, int j, const tgReal *q, const tgReal *v, tgReal *Dq, tgReal *Dv) {
  const tgModel *m = &s->m;
  int d = m->jnt_vadr[j], nv = m->nv;
  Push f;
  tgReal n[3], Dn[9], turn[3];
  if (!push(s, j, 1, q, 0, &f)) return;
  ball(m, j, q, n, Dn);
  push(s, j, 1, q, -tgi_v3_dot(n, v + d), &f);
  tgi_m3_tmulv(turn, Dn, v + d);
  for (int i = 0; i < 3; i++)
    for (int k = 0; k < 3; k++) {
      Dq[(d + i) * nv + d + k] -= (f.F_x * n[k] - f.F_u * turn[k]) * n[i] + f.F * Dn[3 * i + k];
      Dv[(d + i) * nv + d + k] += f.F_u * n[k] * n[i];
    }
}

void tgi_joint_forces_d(const tgSim *s, const tgReal *q, const tgReal *v, tgReal *Dq, tgReal *Dv) {
  const tgModel *m = &s->m;
  int nv = m->nv;
  Push f;
  tgReal slope;
  for (int j = 0; j < m->njnt; j++) {
    int d = m->jnt_vadr[j];
    if (m->jnt_type[j] == TG_JOINT_BALL) {
      ball_d(s, j, q, v, Dq, Dv);
      continue;
    }
    // below: x = lo - q, u = v; above: x = q - hi, u = -v, and the force turns round
    for (int side = 0; side < 2; side++) {
      if (!push(s, j, side, q, side == 0 ? v[d] : -v[d], &f)) continue;
      Dq[d * nv + d] -= f.F_x;
      Dv[d * nv + d] += f.F_u;
    }
  }
  for (int d = 0; d < nv; d++) {
    if (tgZero(m->dof_frictionloss[d])) continue;
    slip(s, v[d], &slope);
    Dv[d * nv + d] -= m->dof_frictionloss[d] * slope;
  }
  for (int t = 0; t < m->ntendon; t++) {
    int from = m->ten_adr[t], to = from + m->ten_num[t];
    if (tgZero(m->ten_frictionloss[t])) continue;
    slip(s, tendon_rate(m, t, v), &slope);
    for (int a = from; a < to; a++)
      for (int b = from; b < to; b++)
        Dv[m->jnt_vadr[m->wrap_jnt[a]] * nv + m->jnt_vadr[m->wrap_jnt[b]]] -= m->ten_frictionloss[t] * slope * m->wrap_coef[a] * m->wrap_coef[b];
  }
}

// ---- adjoint ----

static void ball_vjp(const tgSim *s, int j, const tgReal *q, const tgReal *v, const tgReal *x, tgReal *gq, tgReal *gv, tgParamGrad *p) {
  const tgModel *m = &s->m;
  int d = m->jnt_vadr[j];
  Push f;
  tgReal n[3], Dn[9], nbar[3], t[3];
  if (!push(s, j, 1, q, 0, &f)) return;
  ball(m, j, q, n, Dn);
  push(s, j, 1, q, -tgi_v3_dot(n, v + d), &f);
  tgReal Fbar = -tgi_v3_dot(x + d, n), ubar = Fbar * f.F_u;
  for (int i = 0; i < 3; i++) nbar[i] = -f.F * x[d + i] - ubar * v[d + i];
  tgi_v3_axpy(gq + d, Fbar * f.F_x, n);
  tgi_m3_tmulv(t, Dn, nbar);
  tgi_v3_add(gq + d, gq + d, t);
  tgi_v3_axpy(gv + d, -ubar, n);
  limit_vjp(s, j, 1, Fbar, &f, p);
}

static void friction_vjp(const tgSim *s, const tgReal *v, const tgReal *x, tgReal *gv, tgParamGrad *p) {
  const tgModel *m = &s->m;
  tgReal slope, *by_speed = p != NULL ? TG_NUMBER_GRAD(p, stiction_speed) : NULL, v_s = TG_NUMBER(s, stiction_speed);
  for (int d = 0; d < m->nv; d++) {
    tgReal share = slip(s, v[d], &slope);
    gv[d] -= m->dof_frictionloss[d] * slope * x[d];
    if (p != NULL && p->dof_frictionloss != NULL) p->dof_frictionloss[d] -= share * x[d];
    // of v/rho: -v v_s/rho^3 = -(slope/v_s) v
    if (by_speed != NULL) *by_speed += m->dof_frictionloss[d] * slope / v_s * v[d] * x[d];
  }
  for (int t = 0; t < m->ntendon; t++) {
    tgReal share = slip(s, tendon_rate(m, t, v), &slope), along = tendon_rate(m, t, x);
    for (int w = m->ten_adr[t]; w < m->ten_adr[t] + m->ten_num[t]; w++)
      gv[m->jnt_vadr[m->wrap_jnt[w]]] -= m->ten_frictionloss[t] * slope * along * m->wrap_coef[w];
    if (p != NULL && p->ten_frictionloss != NULL) p->ten_frictionloss[t] -= share * along;
    if (by_speed != NULL) *by_speed += m->ten_frictionloss[t] * slope / v_s * tendon_rate(m, t, v) * along;
  }
}

void tgi_joint_forces_vjp(const tgSim *s, const tgReal *q, const tgReal *v, const tgReal *x, tgReal *gq, tgReal *gv, tgParamGrad *p) {
  const tgModel *m = &s->m;
  Push f;
  for (int j = 0; j < m->njnt; j++) {
    int d = m->jnt_vadr[j];
    if (m->jnt_type[j] == TG_JOINT_BALL) {
      ball_vjp(s, j, q, v, x, gq, gv, p);
      continue;
    }
    for (int side = 0; side < 2; side++) {
      if (!push(s, j, side, q, side == 0 ? v[d] : -v[d], &f)) continue;
      tgReal Fbar = side == 0 ? x[d] : -x[d];
      gq[d] -= f.F_x * x[d];
      gv[d] += f.F_u * x[d];
      limit_vjp(s, j, side, Fbar, &f, p);
    }
  }
  friction_vjp(s, v, x, gv, p);
}
