// force.c: limits, dry friction and ties as forces with two continuous derivatives; see joint.h.
//
// Based on: [math/joints Force]. At x beyond a limit, leaving it with u,
//   F = k r(x) D(u/(omega width)): r sets in over the width (math/onset.h), D
// is the dissipation of contacts, k = omega^2 times the inertia at qpos0 (tgContact.limit_inertia).
// Dry friction: -f v/sqrt(v^2 + v_s^2) of a dof, the same of a tendon's rate along it. A ball's limit acts along its
// rotation vector w = |w| n: torque -F n, with d|w| = n . delta and dn = (1 - n n')/|w| Jr^-1(w) delta. A tie, of
// joints or tendons: F = -k error - c error' along its first side, -slope F along the second.
#include "joint/joint.h"
#include "math/onset.h"
#include "math/quat.h"

typedef struct Push { tgReal F, F_x, F_u, F_w, F_omega; } Push;

// a limit that pushes, or would with other speeds
static bool push(const tgSim *s, int i, int side, const tgPose *pose, tgReal u, Push *f) {
  tgReal gap, width, r_d[2], slope;
  if (!tgi_limit_at(s, i, side, pose, &gap, &width) || tgRe(gap) >= 0) return false;
  tgReal omega = TG_NUMBER(s, limit_frequency), k = s->contact_model->limit_inertia[i] * omega * omega, x = u / (omega * width),
         r = tgi_ramp(-gap, width, r_d), d = tgi_dissipation(x, &slope);
  f->F = k * r * d;
  f->F_x = k * r_d[0] * d;
  f->F_u = k * r * slope / (omega * width);
  f->F_w = k * (r_d[1] * d - r * slope * x / width);
  f->F_omega = k * r * (2 * d - slope * x) / omega;
  return true;
}

// Fbar dF into the range and the numbers; the force goes with x = -gap
static void limit_parameters(const tgSim *s, int i, int side, tgReal Fbar, const Push *f, tgParamGrad *p) {
  if (p == NULL) return;
  tgReal *by_omega = TG_NUMBER_GRAD(p, limit_frequency);
  if (by_omega != NULL) *by_omega += Fbar * f->F_omega;
  tgi_limit_parameters(s, i, side, -Fbar * f->F_x, Fbar * f->F_w, p);
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
  tgReal v_s = TG_NUMBER(s, slip_speed), rho = tgSqrt(v * v + v_s * v_s);
  *slope = v_s * v_s / (rho * rho * rho);
  return v / rho;
}

// the force of a tie, and its derivatives in the error and its rate
typedef struct Hold { tgiTie t; tgReal F, rate, k, c; } Hold;

static bool hold(const tgSim *s, int eq, const tgReal *q, const tgReal *v, Hold *f) {
  const tgModel *m = &s->m;
  tgiEqualityGains gain;
  if (!m->eq_active[eq] || !tgi_is_tie(m, eq)) return false;
  tgi_tie(m, eq, q, &f->t);
  tgi_equality_force_gains(s, eq, &gain);
  f->k = gain.k;
  f->c = gain.c;
  f->rate = tgi_tie_rate(m, &f->t.a, v) - f->t.slope * tgi_tie_rate(m, &f->t.b, v);
  f->F = -gain.k * f->t.error - gain.c * f->rate;
  return true;
}

// of a force f along tendon t, with its slopes in the length and in the rate
static void add_tendon_d(const tgModel *m, const tgPose *pose, int t, const tgReal *v, tgReal f, tgReal by_q, tgReal by_v,
                         const tgiEntries *D) {
  if (tgi_is_spatial(m, t)) tgi_strands_force_d(m, pose, t, v, f, by_q, by_v, D);
  int from = m->ten_adr[t], to = from + m->ten_num[t];
  for (int a = from; a < to; a++)
    for (int b = from; b < to; b++) {
      tgReal cc = m->wrap_coef[a] * m->wrap_coef[b];
      D->add(D->to, m->jnt_vadr[m->wrap_jnt[a]], m->jnt_vadr[m->wrap_jnt[b]], by_q * cc, by_v * cc);
    }
}

// the speed at which the coordinate of a limit leaves it; balls apart
static tgReal leaving(const tgSim *s, const tgPose *pose, int i, int side, const tgReal *v) {
  const tgModel *m = &s->m;
  tgReal rate = i < m->njnt ? v[m->jnt_vadr[i]] : tgi_tendon_speed(s, pose, i - m->njnt, v);
  return side == 0 ? rate : -rate;
}

static void limit_forces(const tgSim *s, const tgPose *pose, const tgReal *v, tgReal *qfrc) {
  const tgModel *m = &s->m;
  Push f;
  tgReal n[3], Dn[9];
  for (int i = 0; i < tgi_limit_count(m); i++) {
    int d = i < m->njnt ? m->jnt_vadr[i] : -1;
    if (d >= 0 && m->jnt_type[i] == TG_JOINT_BALL) {
      if (!push(s, i, 1, pose, 0, &f)) continue;
      ball(m, i, pose->q, n, Dn);
      push(s, i, 1, pose, -tgi_v3_dot(n, v + d), &f);
      tgi_v3_axpy(qfrc + d, -f.F, n);
      continue;
    }
    for (int side = 0; side < 2; side++) {
      if (!push(s, i, side, pose, leaving(s, pose, i, side, v), &f)) continue;
      tgReal F = side == 0 ? f.F : -f.F;
      if (d >= 0) qfrc[d] += F;
      else tgi_tendon_row(s, pose, i - m->njnt, F, qfrc);
    }
  }
}

static void add_dry(const tgSim *s, const tgPose *pose, int t, const tgReal *v, tgReal *qfrc) {
  tgReal slope, share = slip(s, tgi_tendon_speed(s, pose, t, v), &slope);
  tgi_tendon_row(s, pose, t, -s->m.ten_frictionloss[t] * share, qfrc);
}

void tgi_joint_forces(const tgSim *s, const tgPose *pose, const tgReal *v, tgReal *qfrc) {
  const tgModel *m = &s->m;
  tgReal slope;
  Hold f;
  limit_forces(s, pose, v, qfrc);
  for (int d = 0; d < m->nv; d++)
    if (!tgZero(m->dof_frictionloss[d])) qfrc[d] -= m->dof_frictionloss[d] * slip(s, v[d], &slope);
  for (int t = 0; t < m->ntendon; t++)
    if (!tgZero(m->ten_frictionloss[t])) add_dry(s, pose, t, v, qfrc);
  for (int e = 0; e < m->neq; e++) {
    if (!hold(s, e, pose->q, v, &f)) continue;
    tgi_tie_add(m, &f.t.a, f.F, qfrc);
    tgi_tie_add(m, &f.t.b, -f.t.slope * f.F, qfrc);
  }
}

// ---- Jacobian ----

// a ball's limit: torque T = -F n, F of |w| and u = -n . omega
static void ball_d(const tgSim *s, int j, const tgPose *pose, const tgReal *v, const tgiEntries *D) {
  const tgModel *m = &s->m;
  int d = m->jnt_vadr[j];
  Push f;
  tgReal n[3], Dn[9], turn[3];
  if (!push(s, j, 1, pose, 0, &f)) return;
  ball(m, j, pose->q, n, Dn);
  push(s, j, 1, pose, -tgi_v3_dot(n, v + d), &f);
  tgi_m3_tmulv(turn, Dn, v + d);
  for (int i = 0; i < 3; i++)
    for (int k = 0; k < 3; k++)
      D->add(D->to, d + i, d + k, (f.F_u * turn[k] - f.F_x * n[k]) * n[i] - f.F * Dn[3 * i + k], f.F_u * n[k] * n[i]);
}

// J = Ja - slope Jb, of which the change is -curve Jb along Jb; the force J' F, where dF is -k J - c (-curve rate_b Jb) in the coordinates
// and -c J in the speeds
static void hold_d(const tgModel *m, const Hold *f, const tgReal *v, const tgiEntries *D) {
  const tgiTieSide *b = &f->t.b;
  tgReal turn = f->c * f->t.curve * tgi_tie_rate(m, b, v), x, y;
  for (int r = 0; r < tgi_tie_entries(&f->t); r++) {
    int i = tgi_tie_entry(m, &f->t, r, &x);
    for (int c = 0; c < tgi_tie_entries(&f->t); c++) {
      int j = tgi_tie_entry(m, &f->t, c, &y);
      D->add(D->to, i, j, -f->k * x * y, -f->c * x * y);
    }
    for (int c = 0; c < b->n; c++) D->add(D->to, i, tgi_tie_dof(m, b, c), turn * x * b->coef[c], 0);
  }
  for (int r = 0; r < b->n; r++)
    for (int c = 0; c < b->n; c++)
      D->add(D->to, tgi_tie_dof(m, b, r), tgi_tie_dof(m, b, c), -f->t.curve * f->F * b->coef[r] * b->coef[c], 0);
}

static void limit_forces_d(const tgSim *s, const tgPose *pose, const tgReal *v, const tgiEntries *D) {
  const tgModel *m = &s->m;
  Push f;
  for (int i = 0; i < tgi_limit_count(m); i++) {
    int d = i < m->njnt ? m->jnt_vadr[i] : -1;
    if (d >= 0 && m->jnt_type[i] == TG_JOINT_BALL) {
      ball_d(s, i, pose, v, D);
      continue;
    }
    // below: x = lo - q, u = v; above: x = q - hi, u = -v, and the force turns round
    for (int side = 0; side < 2; side++) {
      if (!push(s, i, side, pose, leaving(s, pose, i, side, v), &f)) continue;
      if (d < 0) add_tendon_d(m, pose, i - m->njnt, v, side == 0 ? f.F : -f.F, -f.F_x, f.F_u, D);
      else D->add(D->to, d, d, -f.F_x, f.F_u);
    }
  }
}

void tgi_joint_forces_d_each(const tgSim *s, const tgPose *pose, const tgReal *v, const tgiEntries *D) {
  const tgModel *m = &s->m;
  tgReal slope;
  Hold f;
  limit_forces_d(s, pose, v, D);
  for (int d = 0; d < m->nv; d++) {
    if (tgZero(m->dof_frictionloss[d])) continue;
    slip(s, v[d], &slope);
    D->add(D->to, d, d, 0, -m->dof_frictionloss[d] * slope);
  }
  for (int t = 0; t < m->ntendon; t++) {
    if (tgZero(m->ten_frictionloss[t])) continue;
    tgReal share = slip(s, tgi_tendon_speed(s, pose, t, v), &slope);
    add_tendon_d(m, pose, t, v, -m->ten_frictionloss[t] * share, 0, -m->ten_frictionloss[t] * slope, D);
  }
  for (int e = 0; e < m->neq; e++)
    if (hold(s, e, pose->q, v, &f)) hold_d(m, &f, v, D);
}

typedef struct Dense { int n; tgReal *Dq, *Dv; } Dense;

static void add_dense(void *to, int i, int j, tgReal by_q, tgReal by_v) {
  const Dense *D = to;
  D->Dq[i * D->n + j] += by_q;
  D->Dv[i * D->n + j] += by_v;
}

void tgi_joint_forces_d(const tgSim *s, const tgPose *pose, const tgReal *v, tgReal *Dq, tgReal *Dv) {
  Dense D = {s->m.nv, Dq, Dv};
  tgi_joint_forces_d_each(s, pose, v, &(tgiEntries){.add = add_dense, .to = &D});
}

// ---- adjoint ----

static void ball_vjp(const tgSim *s, int j, const tgPose *pose, const tgReal *v, const tgReal *x, tgReal *gq, tgReal *gv, tgParamGrad *p) {
  const tgModel *m = &s->m;
  int d = m->jnt_vadr[j];
  Push f;
  tgReal n[3], Dn[9], nbar[3], t[3];
  if (!push(s, j, 1, pose, 0, &f)) return;
  ball(m, j, pose->q, n, Dn);
  push(s, j, 1, pose, -tgi_v3_dot(n, v + d), &f);
  tgReal Fbar = -tgi_v3_dot(x + d, n), ubar = Fbar * f.F_u;
  for (int i = 0; i < 3; i++) nbar[i] = -f.F * x[d + i] - ubar * v[d + i];
  tgi_v3_axpy(gq + d, Fbar * f.F_x, n);
  tgi_m3_tmulv(t, Dn, nbar);
  tgi_v3_add(gq + d, gq + d, t);
  tgi_v3_axpy(gv + d, -ubar, n);
  limit_parameters(s, j, 1, Fbar, &f, p);
}

// x' J' F of a spatial tendon, J alone: F (J x) has the gradient F d(J x); F's own slope in the rate has by_rate d(J v)
static void turn_vjp(const tgSim *s, const tgPose *pose, int t, const tgReal *v, const tgReal *x, tgReal F, tgReal by_rate, tgReal along,
                     tgReal *gq, tgParamGrad *p) {
  if (!tgi_is_spatial(&s->m, t)) return;
  tgi_strands_vjp(s, pose, t, x, F, along, gq, p);
  tgi_strands_vjp(s, pose, t, v, by_rate, 0, gq, p);
}

static void friction_vjp(const tgSim *s, const tgPose *pose, const tgReal *v, const tgReal *x, tgReal *gq, tgReal *gv, tgParamGrad *p) {
  const tgModel *m = &s->m;
  tgReal slope, *by_speed = p != NULL ? TG_NUMBER_GRAD(p, slip_speed) : NULL, v_s = TG_NUMBER(s, slip_speed);
  for (int d = 0; d < m->nv; d++) {
    tgReal share = slip(s, v[d], &slope);
    gv[d] -= m->dof_frictionloss[d] * slope * x[d];
    if (p != NULL && p->dof_frictionloss != NULL) p->dof_frictionloss[d] -= share * x[d];
    // of v/rho: -v v_s/rho^3 = -(slope/v_s) v
    if (by_speed != NULL) *by_speed += m->dof_frictionloss[d] * slope / v_s * v[d] * x[d];
  }
  for (int t = 0; t < m->ntendon; t++) {
    tgReal rate = tgi_tendon_speed(s, pose, t, v), share = slip(s, rate, &slope), along = tgi_tendon_speed(s, pose, t, x),
           f = m->ten_frictionloss[t];
    tgi_tendon_row(s, pose, t, -f * slope * along, gv);
    turn_vjp(s, pose, t, v, x, -f * share, -f * slope * along, 0, gq, p);
    if (p != NULL && p->ten_frictionloss != NULL) p->ten_frictionloss[t] -= share * along;
    if (by_speed != NULL) *by_speed += m->ten_frictionloss[t] * slope / v_s * rate * along;
  }
}

static void limit_forces_vjp(const tgSim *s, const tgPose *pose, const tgReal *v, const tgReal *x, tgReal *gq, tgReal *gv, tgParamGrad *p) {
  const tgModel *m = &s->m;
  Push f;
  for (int i = 0; i < tgi_limit_count(m); i++) {
    int d = i < m->njnt ? m->jnt_vadr[i] : -1;
    if (d >= 0 && m->jnt_type[i] == TG_JOINT_BALL) {
      ball_vjp(s, i, pose, v, x, gq, gv, p);
      continue;
    }
    for (int side = 0; side < 2; side++) {
      if (!push(s, i, side, pose, leaving(s, pose, i, side, v), &f)) continue;
      tgReal along = d >= 0 ? x[d] : tgi_tendon_speed(s, pose, i - m->njnt, x);
      if (d >= 0) {
        gq[d] -= f.F_x * along;
        gv[d] += f.F_u * along;
      } else {
        tgi_tendon_row(s, pose, i - m->njnt, -f.F_x * along, gq);
        tgi_tendon_row(s, pose, i - m->njnt, f.F_u * along, gv);
        turn_vjp(s, pose, i - m->njnt, v, x, side == 0 ? f.F : -f.F, f.F_u * along, -f.F_x * along, gq, p);
      }
      limit_parameters(s, i, side, side == 0 ? along : -along, &f, p);
    }
  }
}

// x_a F - x_b slope F
static void hold_vjp(const tgSim *s, int eq, const Hold *f, const tgReal *v, const tgReal *x, tgReal *gq, tgReal *gv, tgParamGrad *p) {
  const tgModel *m = &s->m;
  const tgiTie *t = &f->t;
  tgReal xb = tgi_tie_rate(m, &t->b, x), vb = tgi_tie_rate(m, &t->b, v), bar = tgi_tie_rate(m, &t->a, x) - t->slope * xb,
         by_error = -f->k * bar, by_rate = -f->c * bar;
  tgReal by_slope = -xb * f->F - vb * by_rate;
  tgi_tie_add(m, &t->a, by_error, gq);
  tgi_tie_add(m, &t->a, by_rate, gv);
  tgi_tie_add(m, &t->b, by_slope * t->curve - by_error * t->slope, gq);
  tgi_tie_add(m, &t->b, -by_rate * t->slope, gv);
  if (p == NULL) return;
  tgi_tie_parameters(eq, t, by_error, by_slope, p);
  tgi_equality_parameters(s, by_error * t->error, by_rate * f->rate, p);
}

void tgi_joint_forces_vjp(const tgSim *s, const tgPose *pose, const tgReal *v, const tgReal *x, tgReal *gq, tgReal *gv, tgParamGrad *p) {
  Hold f;
  limit_forces_vjp(s, pose, v, x, gq, gv, p);
  friction_vjp(s, pose, v, x, gq, gv, p);
  for (int e = 0; e < s->m.neq; e++)
    if (hold(s, e, pose->q, v, &f)) hold_vjp(s, e, &f, v, x, gq, gv, p);
}
