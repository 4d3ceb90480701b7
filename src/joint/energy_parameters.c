// energy_parameters.c: what the gradient of J changes by with the parameters. See joint.h.
//
// Based on: [math/joints Start]. Each line is z, or zeta = Jr^-1 z, against the derivative of one part of the gradient
// in a number, read off the energies.
#include "joint/joint.h"
#include "math/quat.h"

// dry friction h f sqrt((y/h)^2 + eps^2): of its slope, in f, in h and, as eps stands with h, in eps
static void friction(const tgSim *s, double h, tgReal f, tgReal y, tgReal zeta, tgReal *by_loss, tgParamGrad *p) {
  tgReal eps = TG_NUMBER(s, slip_speed), r = tgSqrt(y * y + eps * eps * h * h), *slip = TG_NUMBER_GRAD(p, slip_speed);
  tgReal rate = -zeta * f * y * eps * eps * h / (r * r * r);
  if (by_loss != NULL) *by_loss += zeta * y / r;
  if (p->opt_timestep != NULL) p->opt_timestep[0] += rate;
  if (slip != NULL) *slip += rate * h / eps;
}

static void dofs(const tgSim *s, const tgiJointTerms *t, const tgReal *zeta, tgParamGrad *p) {
  const tgModel *m = &s->m;
  double h = t->h;
  for (int d = 0; d < m->nv; d++) {
    tgReal x = t->delta[d];
    if (p->dof_damping != NULL) p->dof_damping[d] += zeta[d] * x / h;
    if (p->dof_armature != NULL) p->dof_armature[d] += zeta[d] * (x - h * s->start.vel[d]) / (h * h);
    friction(s, h, m->dof_frictionloss[d], x, zeta[d], p->dof_frictionloss != NULL ? &p->dof_frictionloss[d] : NULL, p);
    if (p->opt_timestep == NULL) continue;
    p->opt_timestep[0] += zeta[d] * (-m->dof_damping[d] * x / (h * h) +
                                     m->dof_armature[d] * (s->start.vel[d] / (h * h) - 2 * x / (h * h * h)));
  }
}

static void spring(const tgSim *s, int j, const tgReal *q, const tgReal *z, tgParamGrad *p) {
  const tgModel *m = &s->m;
  int at = m->jnt_qadr[j], d = m->jnt_vadr[j], adr, turn = tgi_rotation_dof(m, j, &adr),
      n = m->jnt_type[j] == TG_JOINT_FREE ? 3 : turn >= 0 ? 0 : 1;
  tgReal k = m->jnt_stiffness[j], w[3], J[9], t[3];
  for (int i = 0; i < n; i++) {
    if (p->jnt_stiffness != NULL) p->jnt_stiffness[j] += z[d + i] * (q[at + i] - m->qpos_spring[at + i]);
    if (p->qpos_spring != NULL) p->qpos_spring[at + i] -= k * z[d + i];
  }
  if (turn < 0) return;
  tgi_spring_rotation(m, adr, q, w);
  if (p->jnt_stiffness != NULL) p->jnt_stiffness[j] += tgi_v3_dot(w, z + turn);
  if (p->qpos_spring == NULL || tgZero(k)) return;
  // a turn of the rest orientation by x changes w by -Jr^-T x
  tgi_so3_jr_inv(J, w);
  tgi_m3_mulv(t, J, z + turn);
  tgi_v3_scale(t, t, -k);
  tgi_quat_gradient(m->qpos_spring + adr, t, p->qpos_spring + adr);
}

// z along the coordinate of limit i; of a ball the angle |w|, whose slope in the tangent is Jr^-T n = n
static tgReal along_limit(const tgModel *m, int i, const tgReal *q, const tgReal *z) {
  if (i >= m->njnt) return tgi_tendon_rate(m, i - m->njnt, z);
  int d = m->jnt_vadr[i];
  if (m->jnt_type[i] != TG_JOINT_BALL) return z[d];
  tgReal w[3], n[3], r[4];
  for (int k = 0; k < 4; k++) r[k] = q[m->jnt_qadr[i] + k];
  tgi_quat_normalize(r);
  tgi_quat_log(w, r);
  tgi_v3_unit(n, w);
  return tgi_v3_dot(n, z + d);
}

// slope sign mu b'(x)/width, x = gap/width
static void limit(const tgSim *s, int i, const tgReal *q, const tgReal *z, tgParamGrad *p) {
  tgReal mu = TG_NUMBER(s, weight), *by_mu = TG_NUMBER_GRAD(p, weight);
  for (int side = 0; side < 2; side++) {
    tgReal gap, width, b[3];
    if (!tgi_limit(s, i, side, q, &gap, &width) || tgRe(gap) >= tgRe(width)) continue;
    tgReal x = gap / width, bar = (side == 0 ? 1 : -1) * along_limit(&s->m, i, q, z);
    tgi_limit_barrier(x, b);
    if (by_mu != NULL) *by_mu += bar * b[1] / width;
    tgi_limit_parameters(s, i, side, bar * mu * b[2] / (width * width), -bar * mu * (b[1] + x * b[2]) / (width * width), p);
  }
}

// the gear of an actuator on a line of its own: in the moment, in y, and in the length at q
static void gear(const tgSim *s, int i, const tgiLine *l, const tgActuatorState *a, const tgiJointTerms *t,
                 const tgReal *zeta, tgReal bar, tgParamGrad *p) {
  const tgModel *m = &s->m;
  bool tendon = m->act_trn[i] == TG_TRN_TENDON;
  tgReal length[6] = {0}, *out = p->act_gear + 6 * i;
  if (!tendon) tgi_actuator_unit_length(m, i, s->start.q, length);
  for (int k = 0; k < l->n; k++) {
    int d = t->dof[k], w = tendon ? m->ten_adr[m->act_target[i]] + k : 0;
    tgReal unit = tendon ? m->wrap_coef[w] : 1, at = tendon ? unit * s->start.q[m->jnt_qadr[m->wrap_jnt[w]]] : length[k];
    out[tendon ? 0 : k] += unit * zeta[d] * l->slope + bar * (l->curve * unit * t->delta[d] - a->D_length * at);
  }
}

// the gear of one of a joint's motors, whose lever it is
static void lever_gear(const tgSim *s, int i, int actuator, tgReal lever, const tgiLine *l, const tgActuatorState *a,
                       const tgiJointTerms *t, tgReal bar, tgParamGrad *p) {
  tgReal start = s->start.q[s->m.jnt_qadr[s->m.act_target[actuator]]];
  if (tgi_line_sum_side(s, i, l, t, NULL) != 0) return;
  p->act_gear[6 * actuator] -= bar * (a->force + lever * (a->D_length * (start + l->y) + a->D_velocity * l->y / t->h));
}

static void motors(const tgSim *s, int i, const tgiLine *l, const tgiJointTerms *t, const tgReal *zeta, tgReal bar, tgParamGrad *p) {
  const tgModel *m = &s->m;
  int side = tgi_line_sum_side(s, i, l, t, NULL);
  tgReal lever;
  for (int k = tgi_line_motor(m, i, -1, &lever); k >= 0; k = tgi_line_motor(m, i, k, &lever)) {
    tgActuatorState a;
    tgi_line_motor_state(s, i, k, lever, l, t, &a, NULL);
    if (side == 0) tgi_actuator_parameters(s, k, &a, -bar * lever, p);
    if (p->opt_timestep != NULL) p->opt_timestep[0] += bar * lever * a.D_velocity * lever * l->y / (t->h * t->h);
    if (p->act_gear == NULL) continue;
    if (i < m->nu) gear(s, k, l, &a, t, zeta, bar, p);
    else lever_gear(s, i, k, lever, l, &a, t, bar, p);
  }
  if (side != 0 && p->jnt_actfrcrange != NULL) p->jnt_actfrcrange[2 * (i - m->nu - m->ntendon) + (side > 0)] -= bar;
}

static void tendon(const tgSim *s, const tgPose *pose, int k, const tgiLine *l, const tgiJointTerms *t, tgReal bar, tgParamGrad *p) {
  const tgModel *m = &s->m;
  tgReal h = t->h, length = pose->ten_length[k];
  if (p->ten_damping != NULL) p->ten_damping[k] += bar * l->y / h;
  if (p->opt_timestep != NULL) p->opt_timestep[0] -= bar * m->ten_damping[k] * l->y / (h * h);
  friction(s, t->h, m->ten_frictionloss[k], l->y, bar, p->ten_frictionloss != NULL ? &p->ten_frictionloss[k] : NULL, p);
  int side = tgi_tendon_side(m, k, length, NULL);
  tgi_tendon_rest_tie(m, k, length, p);
  if (side == 0) return;
  if (p->ten_stiffness != NULL) p->ten_stiffness[k] += bar * (length - m->ten_lengthspring[2 * k + (side > 0)]);
  if (p->ten_lengthspring != NULL) p->ten_lengthspring[2 * k + (side > 0)] -= m->ten_stiffness[k] * bar;
}

// k error (z_a - slope z_b)
static void equality(const tgSim *s, int e, const tgReal *q, const tgReal *z, tgParamGrad *p) {
  tgiTie x;
  tgiEqualityGains gain;
  tgi_tie(&s->m, e, q, &x);
  tgi_equality_energy_gains(s, e, &gain);
  tgReal zb = tgi_tie_rate(&s->m, &x.b, z), bar = tgi_tie_rate(&s->m, &x.a, z) - x.slope * zb;
  tgi_tie_parameters(e, &x, gain.k * bar, -gain.k * x.error * zb, p);
  tgi_equality_parameters(s, gain.k * x.error * bar, 0, p);
}

void tgi_joint_energy_parameters(const tgSim *s, const tgPose *pose, tgiJointTerms *t, const tgReal *z,
                                 const tgReal *zeta, tgParamGrad *p) {
  const tgModel *m = &s->m;
  const tgReal *q = pose->q;
  dofs(s, t, zeta, p);
  for (int j = 0; j < m->njnt; j++) spring(s, j, q, z, p);
  for (int i = 0; i < tgi_limit_count(m); i++) limit(s, i, q, z, p);
  for (int i = 0; i < tgi_line_count(m); i++) {
    tgiLine l = tgi_line(s, pose, i, t);
    tgReal bar = 0;
    for (int k = 0; k < l.n; k++) bar += t->coef[k] * zeta[t->dof[k]];
    if (i >= m->nu && i < m->nu + m->ntendon) tendon(s, pose, i - m->nu, &l, t, bar, p);
    else if (l.n > 0) motors(s, i, &l, t, zeta, bar, p);
  }
  for (int e = 0; e < m->neq; e++)
    if (m->eq_active[e] && tgi_is_tie(m, e)) equality(s, e, q, z, p);
}
