// forces.c: actuator and passive forces. See dynamics.h and forces.h.
//
// Based on: MuJoCo's documentation of actuators, springs, dampers and gravity compensation [mujoco computation].
//   actuator: f = clamp((g0 + g1 l + g2 l') x + b0 + b1 l + b2 l'), l' = moment . v; qfrc = moment f; its input x is
//   clamp(u), or its activation;
//   but on sites (site.c) and spatial tendons (kin/tendon.h) the moment is constant: gear (hinge, slide, free), gear in body axes (ball,
//   whose length is gear . log q), gear coef (tendon).
#include "dyn/forces.h"

#include "dyn/sheet.h"
#include "math/quat.h"

int tgi_clamp_side(tgReal x, tgReal lo, tgReal hi, int *clamps) {
  double r = tgRe(x), a = tgRe(lo), b = tgRe(hi);
  if (fabs(r - a) <= 1e-12 * fmax(1, fabs(a)) || fabs(r - b) <= 1e-12 * fmax(1, fabs(b))) {
    if (clamps != NULL) ++*clamps;
    return 0;
  }
  return r < a ? -1 : r > b ? 1 : 0;
}

static tgReal clamp(tgReal x, const tgReal *range) { return tgMin(tgMax(x, range[0]), range[1]); }

int tgi_actuator_terms(const tgModel *m, int i) {
  if (tgi_on_site(m, i) || tgi_on_strands(m, i)) return 0;
  if (m->act_trn[i] == TG_TRN_TENDON) return m->ten_num[m->act_target[i]];
  int type = m->jnt_type[m->act_target[i]];
  return type == TG_JOINT_FREE ? 6 : type == TG_JOINT_BALL ? 3 : 1;
}

static void ball_log(const tgReal *q, tgReal *w) {
  tgReal r[4] = {q[0], q[1], q[2], q[3]};
  tgi_quat_normalize(r);
  tgi_quat_log(w, r);
}

int tgi_actuator_term(const tgModel *m, int i, int k, const tgReal *q, tgReal *moment, tgReal *slope) {
  const tgReal *gear = m->act_gear + 6 * i;
  int t = m->act_target[i];
  if (m->act_trn[i] == TG_TRN_TENDON) {
    int w = m->ten_adr[t] + k;
    *moment = gear[0] * m->wrap_coef[w];
    if (slope != NULL) *slope = *moment;
    return m->jnt_vadr[m->wrap_jnt[w]];
  }
  *moment = gear[k];
  if (slope != NULL) {
    *slope = m->jnt_type[t] == TG_JOINT_FREE ? 0 : gear[k];  // a free joint's actuator has length 0
    if (m->jnt_type[t] == TG_JOINT_BALL) {
      tgReal w[3], J[9], g[3];
      ball_log(q + m->jnt_qadr[t], w);
      tgi_so3_jr_inv(J, w);
      tgi_m3_tmulv(g, J, gear);
      *slope = g[k];
    }
  }
  return m->jnt_vadr[t] + k;
}

void tgi_actuator_unit_length(const tgModel *m, int i, const tgReal *q, tgReal length[6]) {
  int t = m->act_target[i];
  for (int k = 0; k < 6; k++) length[k] = 0;
  if (m->jnt_type[t] == TG_JOINT_FREE) return;
  if (m->jnt_type[t] == TG_JOINT_BALL) ball_log(q + m->jnt_qadr[t], length);
  else length[0] = q[m->jnt_qadr[t]];
}

// on a joint of one dof
static bool on_one_dof(const tgModel *m, int i) {
  if (m->act_trn[i] != TG_TRN_JOINT) return false;
  int type = m->jnt_type[m->act_target[i]];
  return type == TG_JOINT_HINGE || type == TG_JOINT_SLIDE;
}

static tgReal actuator_length(const tgSim *s, const tgPose *pose, int i) {
  const tgModel *m = &s->m;
  const tgReal *gear = m->act_gear + 6 * i;
  if (on_one_dof(m, i)) return gear[0] * pose->q[m->jnt_qadr[m->act_target[i]]];
  if (m->act_trn[i] == TG_TRN_TENDON) return gear[0] * pose->ten_length[m->act_target[i]];
  tgReal length[6], sum = 0;
  tgi_actuator_unit_length(m, i, pose->q, length);
  for (int k = 0; k < tgi_actuator_terms(m, i); k++) sum += gear[k] * length[k];
  return sum;
}

tgReal tgi_actuator_control(const tgSim *s, int i, int *side, int *clamps) {
  const tgReal *range = s->m.act_ctrlrange + 2 * i;
  *side = s->m.act_ctrllimited[i] ? tgi_clamp_side(s->ctrl[i], range[0], range[1], clamps) : 0;
  return s->m.act_ctrllimited[i] ? clamp(s->ctrl[i], range) : s->ctrl[i];
}

tgReal tgi_actuator_input(const tgSim *s, int i, int *side, int *clamps) {
  if (s->m.act_adr[i] < 0) return tgi_actuator_control(s, i, side, clamps);
  *side = 0;
  return s->act0[s->m.act_adr[i]];
}

// without forcerange
static void free_law(const tgSim *s, int i, tgReal length, tgReal velocity, tgActuatorState *a, int *clamps) {
  const tgModel *m = &s->m;
  const tgReal *g = m->act_gain + 3 * i, *b = m->act_bias + 3 * i;
  int side;
  tgReal u = tgi_actuator_input(s, i, &side, clamps), gain = g[0] + g[1] * length + g[2] * velocity;
  *a = (tgActuatorState){.length = length, .velocity = velocity, .D_input = side == 0 ? gain : 0};
  a->force = gain * u + b[0] + b[1] * length + b[2] * velocity;
  a->D_length = g[1] * u + b[1];
  a->D_velocity = g[2] * u + b[2];
}

// the force is held at that end of its range
static void hold(const tgSim *s, int i, int side, tgActuatorState *a) {
  a->D_length = a->D_velocity = a->D_input = 0;
  a->force = s->m.act_forcerange[2 * i + (side > 0)];
  a->side = side;
}

void tgi_actuator_law(const tgSim *s, int i, tgReal length, tgReal velocity, tgActuatorState *a, int *clamps) {
  const tgReal *range = s->m.act_forcerange + 2 * i;
  free_law(s, i, length, velocity, a, clamps);
  if (!s->m.act_forcelimited[i]) return;
  int side = tgi_clamp_side(a->force, range[0], range[1], clamps);
  if (side != 0) hold(s, i, side, a);
}

int tgi_end_tie(tgReal x, const tgReal *range) {
  int ties = 0;
  for (int k = 0; k < 2; k++) ties += fabs(tgRe(x - range[k])) <= TGI_HOLD_TIE * fmax(1, fabs(tgRe(range[k])));
  return ties;
}

// at the end of a step, where what is held was chosen
static void end_law(const tgSim *s, int i, tgReal length, tgReal velocity, tgActuatorState *a, int *clamps) {
  free_law(s, i, length, velocity, a, clamps);
  if (s->m.act_forcelimited[i] && clamps != NULL) *clamps += tgi_end_tie(a->force, s->m.act_forcerange + 2 * i);
  if (s->act_hold[i] != TGI_HOLD_NOT) hold(s, i, s->act_hold[i], a);
}

static void site_state(const tgSim *s, const tgPose *pose, int i, tgActuatorState *a, int *clamps) {
  tgiSitePull x;
  tgi_site_pull(&s->m, pose, i, &x);
  tgi_actuator_law(s, i, x.length, tgi_site_rate(&s->m, pose, &x, pose->vel, -1), a, clamps);
}

static tgReal actuator_velocity(const tgModel *m, int i, const tgReal *q, const tgReal *v) {
  tgReal velocity = 0;
  if (on_one_dof(m, i)) return m->act_gear[6 * i] * v[m->jnt_vadr[m->act_target[i]]];
  for (int k = 0; k < tgi_actuator_terms(m, i); k++) {
    tgReal moment;
    int d = tgi_actuator_term(m, i, k, q, &moment, NULL);
    velocity += moment * v[d];
  }
  return velocity;
}

// at the end, what its length has there more than at the pose over reach and h
static tgReal end_velocity(const tgModel *m, int i, const tgReal *q, const tgStepEnd *end, tgReal *way) {
  tgReal velocity = actuator_velocity(m, i, q, end->v);
  *way = velocity;
  if (end->from == NULL) return velocity;
  tgReal from = actuator_velocity(m, i, q, end->from);
  *way = 0.5 * (velocity - from);
  return 0.5 * (velocity + from);
}

tgReal tgi_actuator_asked(const tgSim *s, const tgPose *pose, int i, const tgStepEnd *end) {
  tgReal way, velocity = end_velocity(&s->m, i, pose->q, end, &way);
  tgActuatorState a;
  free_law(s, i, actuator_length(s, pose, i) + tgi_actuator_reach(&s->m, i) * end->h * way, velocity, &a, NULL);
  return a.force;
}

static void strands_state(const tgSim *s, const tgPose *pose, int i, tgActuatorState *a, int *clamps) {
  int t = s->m.act_target[i];
  tgReal gear = s->m.act_gear[6 * i];
  tgi_actuator_law(s, i, gear * pose->ten_length[t], gear * tgi_strands_rate(s, pose, t, pose->vel), a, clamps);
}

void tgi_actuator_state(const tgSim *s, const tgPose *pose, int i, const tgStepEnd *end, tgActuatorState *a, int *clamps) {
  if (tgi_on_strands(&s->m, i)) {
    strands_state(s, pose, i, a, clamps);
    return;
  }
  if (tgi_on_site(&s->m, i)) {
    site_state(s, pose, i, a, clamps);
    return;
  }
  tgReal length = actuator_length(s, pose, i);
  if (!tgi_actuator_at_end(s, i, end)) {
    tgi_actuator_law(s, i, length, actuator_velocity(&s->m, i, pose->q, pose->vel), a, clamps);
    return;
  }
  tgReal way, velocity = end_velocity(&s->m, i, pose->q, end, &way);
  end_law(s, i, length + tgi_actuator_reach(&s->m, i) * end->h * way, velocity, a, clamps);
}

static void site_sum(const tgModel *m, const tgPose *pose, int i, tgReal force, tgReal *qfrc) {
  tgiSitePull x;
  tgi_site_pull(m, pose, i, &x);
  for (tgiSiteTerm t = {0}; tgi_site_next(m, pose, &x, &t);) qfrc[t.dof] += t.moment * force;
}

void tgi_actuator_sum(const tgSim *s, const tgPose *pose, const tgStepEnd *end, tgReal *qfrc) {
  const tgModel *m = &s->m;
  for (int d = 0; d < m->nv; d++) qfrc[d] = 0;
  for (int i = 0; i < m->nu; i++) {
    tgActuatorState a;
    tgi_actuator_state(s, pose, i, end, &a, NULL);
    if (end == NULL) {
      s->act_length[i] = a.length;
      s->act_velocity[i] = a.velocity;
      s->act_force[i] = a.force;
    }
    for (int k = 0; k < tgi_actuator_terms(m, i); k++) {
      tgReal moment;
      int d = tgi_actuator_term(m, i, k, pose->q, &moment, NULL);
      qfrc[d] += moment * a.force;
    }
    if (tgi_on_site(m, i)) site_sum(m, pose, i, a.force, qfrc);
    if (tgi_on_strands(m, i)) tgi_strands_row(s, pose, m->act_target[i], m->act_gear[6 * i] * a.force, qfrc);
  }
}

bool tgi_sum_limited(const tgModel *m, int j) {
  return m->jnt_actfrclimited[j] && (m->jnt_type[j] == TG_JOINT_HINGE || m->jnt_type[j] == TG_JOINT_SLIDE);
}

int tgi_actuator_sum_side(const tgSim *s, int d, const tgStepEnd *end, tgReal qfrc, int *clamps) {
  int j = s->m.dof_jnt[d];
  const tgReal *range = s->m.jnt_actfrcrange + 2 * j;
  if (!tgi_sum_limited(&s->m, j)) return 0;
  if (end == NULL) return tgi_clamp_side(qfrc, range[0], range[1], clamps);
  if (clamps != NULL) *clamps += tgi_end_tie(qfrc, range);
  return s->jnt_hold[j];
}

void tgi_actuation(tgSim *s, const tgPose *pose) {
  const tgModel *m = &s->m;
  tgi_actuator_sum(s, pose, NULL, s->qfrc_actuator);
  for (int d = 0; d < m->nv; d++)
    if (tgi_sum_limited(m, m->dof_jnt[d])) s->qfrc_actuator[d] = clamp(s->qfrc_actuator[d], m->jnt_actfrcrange + 2 * m->dof_jnt[d]);
}

// without a dead band the spring is smooth in the length, and pulls against the end on its side
int tgi_tendon_side(const tgModel *m, int t, tgReal length, int *clamps) {
  const tgReal *rest = m->ten_lengthspring + 2 * t;
  if (tgRe(rest[0]) == tgRe(rest[1])) return tgRe(length) >= tgRe(rest[0]) ? 1 : -1;
  return tgi_clamp_side(length, rest[0], rest[1], clamps);
}

// one-sided at the ends of the dead band: there the slope is that of the inside, 0
tgReal tgi_tendon_spring(const tgSim *s, const tgPose *pose, int t, tgReal *slope, int *clamps) {
  const tgModel *m = &s->m;
  const tgReal *rest = m->ten_lengthspring + 2 * t;
  tgReal k = m->ten_stiffness[t], l = pose->ten_length[t];
  *slope = 0;
  if (tgZero(k)) return 0;
  int side = tgi_tendon_side(m, t, l, clamps);
  if (side == 0) return 0;
  *slope = -k;
  return -k * (l - (side > 0 ? rest[1] : rest[0]));
}

tgReal tgi_tendon_speed(const tgSim *s, const tgPose *pose, int t, const tgReal *v) {
  const tgModel *m = &s->m;
  if (tgi_is_spatial(m, t)) return tgi_strands_rate(s, pose, t, v);
  tgReal sum = 0;
  for (int w = m->ten_adr[t]; w < m->ten_adr[t] + m->ten_num[t]; w++) sum += m->wrap_coef[w] * v[m->jnt_vadr[m->wrap_jnt[w]]];
  return sum;
}

void tgi_tendon_row(const tgSim *s, const tgPose *pose, int t, tgReal scale, tgReal *row) {
  const tgModel *m = &s->m;
  if (tgi_is_spatial(m, t)) tgi_strands_row(s, pose, t, scale, row);
  for (int w = m->ten_adr[t]; w < m->ten_adr[t] + m->ten_num[t]; w++) row[m->jnt_vadr[m->wrap_jnt[w]]] += scale * m->wrap_coef[w];
}

void tgi_strands_force_d(const tgModel *m, const tgPose *pose, int t, const tgReal *v, tgReal f, tgReal by_length, tgReal by_rate,
                         const tgiEntries *D) {
  for (int c = 0; c < m->nv; c++) {
    if (!tgi_strands_moved(m, t, c)) continue;
    tgReal moment = tgi_strands_moment(m, pose, t, c), turn = 0;   // of J v
    for (int r = 0; r < m->nv; r++) {
      tgReal curve = tgi_strands_moved(m, t, r) ? tgi_strands_curve(m, pose, t, r, c) : 0;
      turn += v[r] * curve;
      if (!tgZero(curve)) D->add(D->to, r, c, f * curve, 0);
    }
    tgReal by_q = by_length * moment + by_rate * turn, by_v = by_rate * moment;
    for (int r = 0; r < m->nv && (!tgZero(by_q) || !tgZero(by_v)); r++) {
      if (!tgi_strands_moved(m, t, r)) continue;
      tgReal J = tgi_strands_moment(m, pose, t, r);
      D->add(D->to, r, c, J * by_q, J * by_v);
    }
  }
}

void tgi_spring_rotation(const tgModel *m, int adr, const tgReal *q, tgReal *w) {
  const tgReal *rest = m->qpos_spring + adr;
  tgReal inverse[4] = {rest[0], -rest[1], -rest[2], -rest[3]}, r[4];
  tgi_quat_mul(r, inverse, q + adr);
  tgi_quat_normalize(r);
  tgi_quat_log(w, r);
}

// -k (q - rest), for a rotation -k log(rest^-1 q) in body axes
static void joint_spring(const tgModel *m, int j, const tgReal *q, tgReal *qfrc) {
  int a = m->jnt_qadr[j], d = m->jnt_vadr[j], type = m->jnt_type[j];
  int n = type == TG_JOINT_FREE ? 3 : type == TG_JOINT_BALL ? 0 : 1;
  tgReal k = m->jnt_stiffness[j], w[3];
  if (tgZero(k)) return;
  for (int i = 0; i < n; i++) qfrc[d + i] -= k * (q[a + i] - m->qpos_spring[a + i]);
  if (type != TG_JOINT_FREE && type != TG_JOINT_BALL) return;
  tgi_spring_rotation(m, a + n, q, w);
  tgi_v3_axpy(qfrc + d + n, -k, w);
}

// k |q - rest|^2/2, for a rotation k |log(rest^-1 q)|^2/2
tgReal tgi_spring_energy(const tgSim *s, const tgPose *pose) {
  const tgModel *m = &s->m;
  const tgReal *q = pose->q;
  tgReal energy = 0;
  for (int j = 0; j < m->njnt; j++) {
    int a = m->jnt_qadr[j], type = m->jnt_type[j], n = type == TG_JOINT_FREE ? 3 : type == TG_JOINT_BALL ? 0 : 1;
    tgReal k = m->jnt_stiffness[j], w[3] = {0};
    if (tgZero(k)) continue;
    for (int i = 0; i < n; i++) energy += k * (q[a + i] - m->qpos_spring[a + i]) * (q[a + i] - m->qpos_spring[a + i]) / 2;
    if (type == TG_JOINT_FREE || type == TG_JOINT_BALL) tgi_spring_rotation(m, a + n, q, w);
    energy += k * tgi_v3_dot(w, w) / 2;
  }
  for (int t = 0; t < m->ntendon; t++) {
    tgReal slope, f = tgi_tendon_spring(s, pose, t, &slope, NULL);
    if (!tgZero(slope)) energy -= f * f / (2 * slope);
  }
  for (tgiPatch k = tgi_no_patch; tgi_next_patch(s, pose, &k);) energy += tgi_patch_energy(s, &k);
  return energy;
}

tgReal tgi_potential_energy(const tgSim *s, const tgPose *pose) {
  const tgModel *m = &s->m;
  tgReal energy = tgi_spring_energy(s, pose);
  for (int b = 1; b < m->nbody; b++)
    energy -= (1 - m->body_gravcomp[b]) * m->body_mass[b] * tgi_v3_dot(m->opt_gravity, pose->xcom + 3 * b);
  return energy;
}

bool tgi_has_gravcomp(const tgModel *m) {
  for (int b = 1; b < m->nbody; b++)
    if (!tgZero(m->body_gravcomp[b])) return true;
  return false;
}

static void sheet_forces(tgSim *s, const tgPose *pose) {
  for (tgiPatch k = tgi_no_patch; tgi_next_patch(s, pose, &k);) {
    tgReal f[12], w[6];
    tgi_patch_force(s, &k, f);
    for (int i = 0; i < k.n; i++) {
      tgi_sp_screw(w, k.x + 3 * i, f + 3 * i);
      tgi_sp_axpy(s->fpassive + 6 * s->m.flex_vertbody[k.vert[i]], 1, w);
    }
  }
}

// fpassive of each body and all it carries, then its pull on the dofs
static void body_forces(tgSim *s, const tgPose *pose, bool fluid) {
  const tgModel *m = &s->m;
  if (fluid) tgi_fluid_boxes(s);
  for (int b = 0; b < m->nbody; b++) {
    tgReal *f = s->fpassive + 6 * b, up[3], w[6];
    tgi_sp_zero(f);
    if (b == 0) continue;
    if (fluid) tgi_fluid_force(s, pose, b, f, NULL);
    // gravity compensation: -gravcomp m g at the centre of mass
    tgi_v3_scale(up, m->opt_gravity, -m->body_gravcomp[b] * m->body_mass[b]);
    tgi_sp_screw(w, pose->xcom + 3 * b, up);
    tgi_sp_add(f, f, w);
  }
  sheet_forces(s, pose);
  for (int b = m->nbody - 1; b > 0; b--) tgi_sp_axpy(s->fpassive + 6 * m->body_parent[b], 1, s->fpassive + 6 * b);
  for (int d = 0; d < m->nv; d++) s->qfrc_passive[d] += tgi_sp_dot(pose->S + 6 * d, s->fpassive + 6 * m->dof_body[d]);
}

void tgi_passive(tgSim *s, const tgPose *pose) {
  const tgModel *m = &s->m;
  tgReal *qfrc = s->qfrc_passive;
  bool fluid = tgi_has_fluid(m);
  for (int d = 0; d < m->nv; d++) qfrc[d] = -m->dof_damping[d] * pose->vel[d];
  for (int j = 0; j < m->njnt; j++) joint_spring(m, j, pose->q, qfrc);
  for (int t = 0; t < m->ntendon; t++) {
    tgReal slope, f = tgi_tendon_spring(s, pose, t, &slope, NULL) - m->ten_damping[t] * tgi_tendon_speed(s, pose, t, pose->vel);
    tgi_tendon_row(s, pose, t, f, qfrc);
  }
  if (fluid || tgi_has_gravcomp(m) || tgi_has_sheet(m)) body_forces(s, pose, fluid);
}
