// implicit_param.c: see implicit_param.h.
//
// Based on: [math/barrier Gradient]. Each line is z . (the derivative of one part of dL/dq' in a number), read off the energies of
// objective.h. Where bodies and joints are placed: the poses and axes at q1, q0 and a step before each have their adjoint, which
// tgi_place_vjp carries to the parameters that place them.
#include "step/implicit_param.h"

#include "dyn/forces.h"
#include "math/quat.h"
#include "step/implicit.h"

// mass, centre, inertia, weight and h of one body whose points move with Z
static void inertial(const tgSim *s, int b, const tgReal *Z, tgParamGrad *p) {
  const tgModel *m = &s->m;
  const tgReal *R = s->end.xmat + 9 * b, *g = m->opt_gravity;
  tgReal A[9], a[3], u[3], x[3], y[3], turned[9], Q[9], T[9], Sigma[9], mass = m->body_mass[b], light = 1 - m->body_gravcomp[b], hh = s->h * s->h;
  tgi_second_difference(s, &s->end, b, A, a);
  tgi_sp_point_velocity(u, Z, s->end.xcom + 3 * b);
  for (int k = 0; k < 3; k++) {
    tgi_m3_col(x, R, k);
    tgi_v3_cross(y, Z, x);
    for (int i = 0; i < 3; i++) turned[3 * i + k] = y[i];
  }
  // Q = A' [w] R/h^2, to which Sigma is dual
  for (int i = 0; i < 3; i++)
    for (int k = 0; k < 3; k++) Q[3 * i + k] = (A[i] * turned[k] + A[3 + i] * turned[3 + k] + A[6 + i] * turned[6 + k]) / hh;
  tgReal pull = tgi_v3_dot(a, u) / hh, fall = tgi_v3_dot(g, u);
  if (p->body_mass != NULL) p->body_mass[b] += pull - light * fall;
  if (p->body_gravcomp != NULL) p->body_gravcomp[b] += mass * fall;
  if (p->opt_gravity != NULL) tgi_v3_axpy(p->opt_gravity, -light * mass, u);
  if (p->body_com != NULL) {
    for (int i = 0; i < 3; i++) x[i] = mass * (a[i] / hh - light * g[i]);
    tgi_m3_tmulv(y, turned, x);
    tgi_v3_add(p->body_com + 3 * b, p->body_com + 3 * b, y);
    tgi_m3_tmulv(y, A, u);
    tgi_v3_axpy(p->body_com + 3 * b, mass / hh, y);
  }
  if (p->body_inertia != NULL) {
    tgReal *I = p->body_inertia + 6 * b, half = (Q[0] + Q[4] + Q[8]) / 2;
    for (int i = 0; i < 3; i++) I[i] += half - Q[4 * i];
    I[3] -= Q[1] + Q[3];
    I[4] -= Q[2] + Q[6];
    I[5] -= Q[5] + Q[7];
  }
  if (p->opt_timestep == NULL) return;
  tgi_spread(s, b, Sigma);
  tgReal sum = mass * pull;
  tgi_m3_mul(T, Q, Sigma);
  sum += T[0] + T[4] + T[8];
  p->opt_timestep[0] -= 2 / s->h * sum;
}

// slope of h f sqrt((y/h)^2 + eps^2) in f, and in h
static tgReal friction_slope(const tgSim *s, tgReal y) {
  tgReal eps = TG_NUMBER(s, slip_speed);
  return y / tgSqrt(y * y + eps * eps * s->h * s->h);
}
static tgReal friction_rate(const tgSim *s, tgReal f, tgReal y) {
  double h = s->h;
  tgReal eps = TG_NUMBER(s, slip_speed), r = tgSqrt(y * y + eps * eps * h * h);
  return -f * y * eps * eps * h / (r * r * r);
}

// p += zeta times the rates of that slope in h and, as eps stands with h, in eps
static void friction_rates(const tgSim *s, tgReal f, tgReal y, tgReal zeta, tgParamGrad *p) {
  tgReal *slip = TG_NUMBER_GRAD(p, slip_speed);
  if (tgZero(f)) return;
  tgReal rate = zeta * friction_rate(s, f, y);
  if (p->opt_timestep != NULL) p->opt_timestep[0] += rate;
  if (slip != NULL) *slip += rate * s->h / TG_NUMBER(s, slip_speed);
}

static void dofs(const tgSim *s, const tgiAdjoint *a, tgParamGrad *p) {
  const tgModel *m = &s->m;
  double h = s->h;
  for (int d = 0; d < m->nv; d++) {
    tgReal x = a->o.delta[d], zeta = a->zeta[d], f = m->dof_frictionloss[d];
    if (p->dof_damping != NULL) p->dof_damping[d] += zeta * x / h;
    if (p->dof_armature != NULL) p->dof_armature[d] += zeta * (x - h * s->v0[d]) / (h * h);
    if (p->dof_frictionloss != NULL) p->dof_frictionloss[d] += zeta * friction_slope(s, x);
    friction_rates(s, f, x, zeta, p);
    if (p->opt_timestep == NULL) continue;
    p->opt_timestep[0] += zeta * (-m->dof_damping[d] * x / (h * h) + m->dof_armature[d] * (s->v0[d] / (h * h) - 2 * x / (h * h * h)));
  }
}

static void spring(const tgSim *s, int j, const tgiAdjoint *a, tgParamGrad *p) {
  const tgModel *m = &s->m;
  int at = m->jnt_qadr[j], d = m->jnt_vadr[j], adr, turn = tgi_rotation_dof(m, j, &adr), n = m->jnt_type[j] == TG_JOINT_FREE ? 3 : turn >= 0 ? 0 : 1;
  tgReal k = m->jnt_stiffness[j], w[3], J[9], t[3];
  for (int i = 0; i < n; i++) {
    if (p->jnt_stiffness != NULL) p->jnt_stiffness[j] += a->z[d + i] * (s->end.q[at + i] - m->qpos_spring[at + i]);
    if (p->qpos_spring != NULL) p->qpos_spring[at + i] -= k * a->z[d + i];
  }
  if (turn < 0) return;
  tgi_spring_rotation(m, adr, s->end.q, w);
  if (p->jnt_stiffness != NULL) p->jnt_stiffness[j] += tgi_v3_dot(w, a->z + turn);
  if (p->qpos_spring == NULL || tgZero(k)) return;
  // a turn of the rest orientation by x changes w by -Jr^-T x
  tgi_so3_jr_inv(J, w);
  tgi_m3_mulv(t, J, a->z + turn);
  tgi_v3_scale(t, t, -k);
  tgi_quat_gradient(m->qpos_spring + adr, t, p->qpos_spring + adr);
}

// mu b(x), x = gap/width, width = share (hi - lo); of a ball the gap is hi - angle, whose slope in the tangent is -Jr^-T n = -n
static void range(const tgSim *s, int j, const tgiAdjoint *a, tgParamGrad *p) {
  const tgModel *m = &s->m;
  tgReal mu = TG_NUMBER(s, mu), share = TG_NUMBER(s, limit_range), *by_mu = TG_NUMBER_GRAD(p, mu), *by_share = TG_NUMBER_GRAD(p, limit_range);
  bool ball = m->jnt_type[j] == TG_JOINT_BALL;
  for (int side = 0; side < 2; side++) {
    tgReal gap, width, b[3], z = a->z[m->jnt_vadr[j]];
    if (!tgi_limit(s, j, side, s->end.q, &gap, &width) || tgRe(gap) >= tgRe(width)) continue;
    if (ball) {
      tgReal w[3], n[3], r[4];
      for (int i = 0; i < 4; i++) r[i] = s->end.q[m->jnt_qadr[j] + i];
      tgi_quat_normalize(r);
      tgi_quat_log(w, r);
      tgi_v3_unit(n, w);
      z = tgi_v3_dot(n, a->z + m->jnt_vadr[j]);
    }
    tgReal x = gap / width, sign = side == 0 ? 1 : -1;
    tgi_limit_barrier(x, b);
    // slope mu b'(x)/width: by mu, by the gap, then by the width
    if (by_mu != NULL) *by_mu += sign * z * b[1] / width;
    tgReal by_gap = sign * z * mu * b[2] / (width * width), by_width = -sign * z * mu * (b[1] + x * b[2]) / (width * width);
    bool spans = ball || (isfinite(tgRe(m->jnt_range[2 * j])) && isfinite(tgRe(m->jnt_range[2 * j + 1])));
    if (by_share != NULL) *by_share += by_width * width / share;
    if (p->jnt_range == NULL) continue;
    p->jnt_range[2 * j + side] -= sign * by_gap;
    if (!spans) continue;
    p->jnt_range[2 * j + 1] += share * by_width;
    if (!ball) p->jnt_range[2 * j] -= share * by_width;
  }
}

static void actuator(const tgSim *s, int i, tgiAdjoint *a, tgParamGrad *p) {
  const tgModel *m = &s->m;
  const tgReal *g = m->act_gain + 3 * i, *range_ = m->act_ctrlrange + 2 * i;
  tgiLine l = tgi_line(s, &s->end, i, &a->o);
  tgReal zeta = 0, affine[3], u = tgi_actuator_affine(s, i, affine), start = tgi_actuator_start(s, i);
  for (int k = 0; k < l.n; k++) zeta += a->o.coef[k] * a->zeta[a->o.dof[k]];
  tgReal x[3] = {1, start + l.y, l.y / s->h};
  for (int k = 0; k < 3; k++) {
    if (p->act_gain != NULL) p->act_gain[3 * i + k] -= zeta * u * x[k];
    if (p->act_bias != NULL) p->act_bias[3 * i + k] -= zeta * x[k];
  }
  if (p->opt_timestep != NULL) p->opt_timestep[0] += zeta * affine[2] * l.y / (s->h * s->h);
  int side = m->act_ctrllimited[i] ? tgi_clamp_side(s->ctrl[i], range_[0], range_[1], NULL) : 0;
  if (side != 0 && p->act_ctrlrange != NULL) p->act_ctrlrange[2 * i + (side > 0)] -= zeta * (g[0] + g[1] * x[1] + g[2] * x[2]);
  if (p->act_gear == NULL) return;
  bool tendon = m->act_trn[i] == TG_TRN_TENDON;
  tgReal length[6] = {0}, *out = p->act_gear + 6 * i;
  if (!tendon) tgi_actuator_unit_length(m, i, s->q0, length);
  for (int k = 0; k < l.n; k++) {
    int d = a->o.dof[k], w = tendon ? m->ten_adr[m->act_target[i]] + k : 0;
    tgReal unit = tendon ? m->wrap_coef[w] : 1, at = tendon ? unit * s->q0[m->jnt_qadr[m->wrap_jnt[w]]] : length[k];
    out[tendon ? 0 : k] += unit * a->zeta[d] * l.slope + zeta * (l.curve * unit * a->o.delta[d] - affine[1] * at);
  }
}

static void tendon(const tgSim *s, int t, tgiAdjoint *a, tgParamGrad *p) {
  const tgModel *m = &s->m;
  tgiLine l = tgi_line(s, &s->end, m->nu + t, &a->o);
  tgReal zeta = 0, h = s->h, f = m->ten_frictionloss[t], length = s->end.ten_length[t];
  for (int k = 0; k < l.n; k++) zeta += a->o.coef[k] * a->zeta[a->o.dof[k]];
  if (p->ten_damping != NULL) p->ten_damping[t] += zeta * l.y / h;
  if (p->ten_frictionloss != NULL) p->ten_frictionloss[t] += zeta * friction_slope(s, l.y);
  if (p->opt_timestep != NULL) p->opt_timestep[0] -= zeta * m->ten_damping[t] * l.y / (h * h);
  friction_rates(s, f, l.y, zeta, p);
  int side = tgi_tendon_side(m, t, length, NULL);
  if (side == 0) return;
  if (p->ten_stiffness != NULL) p->ten_stiffness[t] += zeta * (length - m->ten_lengthspring[2 * t + (side > 0)]);
  if (p->ten_lengthspring != NULL) p->ten_lengthspring[2 * t + (side > 0)] -= m->ten_stiffness[t] * zeta;
}

// what E(exp(xi) T) = E + w . xi + xi' K xi/2 costs by a turn of T itself: d(w . Z) = (K Z) . xi + w . (Z x xi)/2
static void turned(const tgReal *KZ, const tgReal *Z, const tgReal *w, tgReal *X) {
  tgReal t[6];
  tgi_sp_cross_f(t, Z, w);
  for (int i = 0; i < 6; i++) X[i] += KZ[i] - t[i] / 2;
}

static tgStatus new_poses(tgSim *s, const tgiAdjoint *a, tgParamGrad *p) {
  const tgModel *m = &s->m;
  tgReal *sum = a->o.wrench, w[6], K[36], KZ[12];
  for (int i = 0; i < 6 * m->nbody; i++) sum[i] = 0;
  for (int b = 1; b < m->nbody; b++) {
    if (m->body_lastdof[b] < 0) continue;
    const tgReal *Z = a->Z + 6 * b;
    tgi_body_terms(s, &s->end, b, s->h, w, K);
    for (int r = 0; r < 6; r++) {
      KZ[r] = 0;
      for (int c = 0; c < 6; c++) KZ[r] += K[6 * r + c] * Z[c];
    }
    turned(KZ, Z, w, p->X + 6 * b);
    tgi_sp_axpy(sum + 6 * b, 1, w);
  }
  for (int i = 0; i < s->nterm; i++) {
    const tgPairTerm *t = &s->term[i];
    const tgReal *Z[2] = {a->Z + 6 * t->body1, a->Z + 6 * t->body2};
    for (int r = 0; r < 12; r++) {
      KZ[r] = 0;
      for (int c = 0; c < 12; c++) KZ[r] += t->H[12 * r + c] * Z[c / 6][c % 6];
    }
    turned(KZ, Z[0], t->g, p->X + 6 * t->body1);
    turned(KZ + 6, Z[1], t->g + 6, p->X + 6 * t->body2);
    tgi_sp_axpy(sum + 6 * t->body1, 1, t->g);
    tgi_sp_axpy(sum + 6 * t->body2, 1, t->g + 6);
  }
  for (int b = m->nbody - 1; b > 0; b--) tgi_sp_axpy(sum + 6 * m->body_parent[b], 1, sum + 6 * b);
  for (int d = 0; d < m->nv; d++) tgi_sp_axpy(p->S + 6 * d, a->z[d], sum + 6 * m->dof_body[d]);
  tgi_place_vjp(s, &s->end, p, NULL);
  return TG_OK;
}

static tgStatus places(tgSim *s, const tgiAdjoint *a, tgParamGrad *p) {
  TG_TRY(new_poses(s, a, p));
  for (int k = 0; k < 2; k++) {
    for (int i = 0; i < 6 * s->m.nbody; i++) p->X[i] += a->old[k][i];
    tgi_place_vjp(s, tgi_old_pose(s, k), p, NULL);
  }
  return TG_OK;
}

tgStatus tgi_implicit_parameters(tgSim *s, tgiAdjoint *a, tgParamGrad *p) {
  const tgModel *m = &s->m;
  const tgPotentialModel *k = s->contact_model->kind->potential;
  for (int b = 1; b < m->nbody; b++)
    if (m->body_lastdof[b] >= 0) inertial(s, b, a->Z + 6 * b, p);
  dofs(s, a, p);
  for (int j = 0; j < m->njnt; j++) {
    spring(s, j, a, p);
    range(s, j, a, p);
  }
  for (int i = 0; i < m->nu; i++) actuator(s, i, a, p);
  for (int t = 0; t < m->ntendon; t++) tendon(s, t, a, p);
  TG_TRY(k->parameters(s, &s->end, a->Z, p));
  return p->places ? places(s, a, p) : TG_OK;
}
