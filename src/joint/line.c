// line.c: the lines of a step's energy: actuators that work alone, tendons, and joints whose summed actuator force is limited. See joint.h.
//
// Based on: [math/joints Lines]. Along a line y goes from 0 at the start of the step; an actuator has length l0 + lever
// y and velocity lever y/h, so that its force, between clamps, goes in a straight line with y, and minus its work is an
// energy with one continuous derivative and pieces of a parabola:
//   phi(y) = -int_0^y clamp(sum_i lever_i f_i(l0_i + lever_i s, lever_i s/h)) ds,   f_i after its own clamp [math/joints (6)].
#include "joint/joint.h"

int tgi_line_room(const tgModel *m) {
  int most = 6;
  for (int t = 0; t < m->ntendon; t++) most = m->ten_num[t] > most ? m->ten_num[t] : most;
  return most;
}

// joint whose summed force line i is, -1: another line
static int joint_of(const tgModel *m, int i) { return i >= m->nu + m->ntendon ? i - m->nu - m->ntendon : -1; }

// actuator i works on a joint whose summed force is limited
static bool summed(const tgModel *m, int i) { return m->act_trn[i] == TG_TRN_JOINT && tgi_sum_limited(m, m->act_target[i]); }

int tgi_line_motor(const tgModel *m, int i, int after, tgReal *lever) {
  int joint = joint_of(m, i);
  *lever = 1;
  if (i < m->nu) return after < 0 && !summed(m, i) ? i : -1;
  if (joint < 0 || !tgi_sum_limited(m, joint)) return -1;
  for (int k = after + 1; k < m->nu; k++)
    if (m->act_trn[k] == TG_TRN_JOINT && m->act_target[k] == joint) {
      *lever = m->act_gear[6 * k];
      return k;
    }
  return -1;
}

// length of an actuator at q0
static tgReal start_length(const tgSim *s, int i) {
  const tgModel *m = &s->m;
  const tgReal *gear = m->act_gear + 6 * i;
  tgReal length[6], sum = 0;
  if (m->act_trn[i] == TG_TRN_TENDON) return gear[0] * tgi_tendon_length(m, m->act_target[i], s->start.q);
  tgi_actuator_unit_length(m, i, s->start.q, length);
  for (int k = 0; k < tgi_actuator_terms(m, i); k++) sum += gear[k] * length[k];
  return sum;
}

// ---- motors ----

// the forces of the motors of line i at y, before the clamp of their sum
static tgReal sum_at(const tgSim *s, int i, double h, tgReal y) {
  tgReal lever, sum = 0;
  for (int k = tgi_line_motor(&s->m, i, -1, &lever); k >= 0; k = tgi_line_motor(&s->m, i, k, &lever)) {
    tgActuatorState a;
    tgi_actuator_law(s, k, start_length(s, k) + lever * y, lever * y / h, &a, NULL);
    sum += lever * a.force;
  }
  return sum;
}

// range of the sum; false: it has none
static bool sum_range(const tgModel *m, int i, const tgReal **range) {
  int j = joint_of(m, i);
  *range = j >= 0 ? m->jnt_actfrcrange + 2 * j : NULL;
  return j >= 0;
}

static tgReal clamped(const tgModel *m, int i, tgReal sum) {
  const tgReal *range;
  return sum_range(m, i, &range) ? tgMin(tgMax(sum, range[0]), range[1]) : sum;
}

int tgi_line_sum_side(const tgSim *s, int i, const tgiLine *l, const tgiJointTerms *t, int *clamps) {
  const tgReal *range;
  return sum_range(&s->m, i, &range) ? tgi_clamp_side(sum_at(s, i, t->h, l->y), range[0], range[1], clamps) : 0;
}

void tgi_line_motor_state(const tgSim *s, int i, int actuator, tgReal lever, const tgiLine *l, const tgiJointTerms *t,
                          tgActuatorState *a, int *clamps) {
  tgi_actuator_law(s, actuator, start_length(s, actuator) + lever * l->y, lever * l->y / t->h, a, clamps);
  if (tgi_line_sum_side(s, i, l, t, NULL) != 0) a->D_length = a->D_velocity = a->D_input = 0;
}

// *next <- x where that is between from and *next
static void nearer(tgReal from, tgReal x, tgReal *next) {
  double a = tgRe(from), b = tgRe(*next), c = tgRe(x);
  if (b > a ? c > a && c < b : c < a && c > b) *next = x;
}

// *next <- where, between from and there, a motor of line i meets an end of its range
static void motor_ends(const tgSim *s, int i, double h, tgReal from, tgReal *next) {
  const tgModel *m = &s->m;
  tgReal lever;
  for (int k = tgi_line_motor(m, i, -1, &lever); k >= 0; k = tgi_line_motor(m, i, k, &lever)) {
    const tgReal *end = m->act_forcerange + 2 * k;
    int held;
    tgReal u = tgi_actuator_input(s, k, &held, NULL), a[3];
    for (int j = 0; j < 3; j++) a[j] = m->act_gain[3 * k + j] * u + m->act_bias[3 * k + j];
    tgReal rate = lever * (a[1] + a[2] / h), at_0 = a[0] + a[1] * start_length(s, k);
    for (int side = 0; side < 2 && m->act_forcelimited[k] && tgRe(rate) != 0; side++)
      if (isfinite(tgRe(end[side]))) nearer(from, (end[side] - at_0) / rate, next);
  }
}

// int_0^y of the clamped sum: trapezoids between the points where its slope changes
static tgReal work(const tgSim *s, int i, double h, tgReal y) {
  const tgModel *m = &s->m;
  const tgReal *range;
  bool limited = sum_range(m, i, &range);
  tgReal at = 0, sum = sum_at(s, i, h, 0), energy = 0;
  // two ends of each motor's range, and in each of the pieces between them two of the sum's
  for (int piece = 0; piece < 6 * m->nu + 6; piece++) {
    tgReal next = y, then;
    motor_ends(s, i, h, at, &next);
    then = sum_at(s, i, h, next);
    for (int side = 0; limited && side < 2; side++) {
      tgReal end = next, below = sum - range[side], above = then - range[side];
      if ((tgRe(below) < 0) == (tgRe(above) < 0) || !isfinite(tgRe(range[side]))) continue;
      nearer(at, at + (next - at) * (below / (below - above)), &end);
      if (tgRe(end) == tgRe(next)) continue;
      next = end;
      then = sum_at(s, i, h, next);
    }
    energy += (next - at) * (clamped(m, i, sum) + clamped(m, i, then)) / 2;
    if (tgRe(next) == tgRe(y)) return energy;
    at = next;
    sum = then;
  }
  return energy + (y - at) * clamped(m, i, sum);
}

// slope, curve and by_start of the motors
static void drive(const tgSim *s, int i, const tgiJointTerms *t, tgiLine *l) {
  const tgModel *m = &s->m;
  tgReal lever, sum = 0;
  l->energy = -work(s, i, t->h, l->y);
  for (int k = tgi_line_motor(m, i, -1, &lever); k >= 0; k = tgi_line_motor(m, i, k, &lever)) {
    tgActuatorState a;
    tgi_actuator_law(s, k, start_length(s, k) + lever * l->y, lever * l->y / t->h, &a, NULL);
    sum += lever * a.force;
    l->curve -= lever * lever * (a.D_length + a.D_velocity / t->h);
    l->by_start -= lever * lever * a.D_length;   // the length at q goes with y's start by the lever
  }
  l->slope = -clamped(m, i, sum);
  const tgReal *range;
  if (sum_range(m, i, &range) && tgi_clamp_side(sum, range[0], range[1], NULL) != 0) l->curve = l->by_start = 0;
}

// ---- lines ----

void tgi_dry_friction(const tgSim *s, double h, tgReal f, tgReal y, tgReal *energy, tgReal *slope, tgReal *curve) {
  if (tgZero(f)) return;
  tgReal eps = TG_NUMBER(s, slip_speed), r = tgSqrt(y * y / (h * h) + eps * eps);
  *energy += h * f * r;
  *slope += f * y / (h * r);
  *curve += f * eps * eps / (h * r * r * r);
}

static tgiLine tendon_line(const tgSim *s, const tgPose *pose, int k, tgiJointTerms *t) {
  const tgModel *m = &s->m;
  tgiLine l = {.n = m->ten_num[k]};
  tgReal stiffness = m->ten_stiffness[k], D = m->ten_damping[k], length = pose->ten_length[k];
  for (int w = 0; w < l.n; w++) {
    t->coef[w] = m->wrap_coef[m->ten_adr[k] + w];
    t->dof[w] = m->jnt_vadr[m->wrap_jnt[m->ten_adr[k] + w]];
    l.y += t->coef[w] * t->delta[t->dof[w]];
  }
  l.energy = D * l.y * l.y / (2 * t->h);
  l.slope = D * l.y / t->h;
  l.curve = D / t->h;
  tgi_dry_friction(s, t->h, m->ten_frictionloss[k], l.y, &l.energy, &l.slope, &l.curve);
  int side = tgZero(stiffness) ? 0 : tgi_tendon_side(m, k, length, NULL);
  if (side == 0) return l;
  tgReal stretch = length - m->ten_lengthspring[2 * k + (side > 0)];
  l.energy += stiffness * stretch * stretch / 2;
  l.slope += stiffness * stretch;
  l.curve += stiffness;
  l.by_start = stiffness;
  return l;
}

tgiLine tgi_line(const tgSim *s, const tgPose *pose, int i, tgiJointTerms *t) {
  const tgModel *m = &s->m;
  int joint = joint_of(m, i);
  tgReal lever;
  tgiLine l = {.n = 0};
  if (i >= m->nu && joint < 0) return tendon_line(s, pose, i - m->nu, t);
  if (tgi_line_motor(m, i, -1, &lever) < 0) return l;
  l.n = joint >= 0 ? 1 : tgi_actuator_terms(m, i);
  for (int k = 0; k < l.n; k++) {
    if (joint < 0) {
      t->dof[k] = tgi_actuator_term(m, i, k, s->start.q, &t->coef[k], NULL);
    } else {
      t->dof[k] = m->jnt_vadr[joint];
      t->coef[k] = 1;
    }
    l.y += t->coef[k] * t->delta[t->dof[k]];
  }
  drive(s, i, t, &l);
  return l;
}

void tgi_line_start(const tgSim *s, int i, const tgiLine *l, const tgiJointTerms *t, tgReal *slope) {
  tgReal moment;
  for (int k = 0; k < l->n; k++)
    if (i < s->m.nu) tgi_actuator_term(&s->m, i, k, s->start.q, &moment, &slope[k]);
    else slope[k] = t->coef[k];
}
