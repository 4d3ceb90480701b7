// servo.c: actuators whose force is taken at the end of a step: their share of the step matrix, and which are held at an
// end of a range. See forces.h.
//
// Based on: [math/lcp Servos]. Of an actuator with the moment m and the slopes D_l, D_v of its force in length and velocity,
//   f(v') = f(v) + (h D_l + D_v) m . (v' - v)     at the length l + h m . v', with the input held,
// so that the balance of the step has W = -h sum (h D_l + D_v) m m' beside its mass. A force at an end of its range has none.
#include "dyn/forces.h"

// ---- which ones are taken at the end ----

// The step matrix has entries for the dofs of one tree, and the moments of what pushes at a site or pulls at a spatial tendon turn with the
// pose. A joint's sum at its limit would leave of m m' what is not symmetric.
static bool fits(const tgModel *m, int i) {
  if (m->act_trn[i] != TG_TRN_TENDON) return !tgi_on_site(m, i);
  if (tgi_on_strands(m, i)) return false;
  int t = m->act_target[i], first = m->jnt_vadr[m->wrap_jnt[m->ten_adr[t]]];
  for (int k = m->ten_adr[t]; k < m->ten_adr[t] + m->ten_num[t]; k++) {
    int j = m->wrap_jnt[k];
    if (m->dof_tree[2 * m->jnt_vadr[j]] != m->dof_tree[2 * first] || tgi_sum_limited(m, j)) return false;
  }
  return true;
}

// the sum that it is part of is held
static bool sum_held(const tgSim *s, int i) { return s->m.act_trn[i] == TG_TRN_JOINT && s->jnt_hold[s->m.act_target[i]] != TGI_HOLD_NOT; }

// Its force changes with neither length nor velocity, as a motor's.
static bool is_even(const tgSim *s, int i) {
  const tgReal *g = s->m.act_gain + 3 * i, *b = s->m.act_bias + 3 * i;
  return tgZero(g[1]) && tgZero(g[2]) && tgZero(b[1]) && tgZero(b[2]);
}

// what its m m' has in the step matrix where no range holds it
static tgReal weight(const tgSim *s, tgReal h, int i) {
  const tgReal *g = s->m.act_gain + 3 * i, *b = s->m.act_bias + 3 * i;
  int side;
  if (is_even(s, i)) return 0;
  tgReal u = tgi_actuator_input(s, i, &side, NULL);
  return -h * (g[2] * u + b[2] + tgi_actuator_reach(&s->m, i) * h * (g[1] * u + b[1]));
}

static bool acts(const tgSim *s, int i) { return s->act_hold[i] == TGI_HOLD_NOT && !sum_held(s, i); }

static void add_weighted(tgSim *s, int i, tgReal w) {
  const tgModel *m = &s->m;
  for (int r = 0; r < tgi_actuator_terms(m, i); r++)
    for (int c = 0; c < tgi_actuator_terms(m, i); c++) {
      tgReal mr, mc;
      int dr = tgi_actuator_term(m, i, r, s->start.q, &mr, NULL), dc = tgi_actuator_term(m, i, c, s->start.q, &mc, NULL);
      s->Mh[m->dof_block[dr] + dc] += w * mr * mc;
    }
}

void tgi_servo_matrix(tgSim *s, tgReal h) {
  for (int i = 0; i < s->m.nu; i++) {
    tgReal w = weight(s, h, i);
    if (acts(s, i) && !tgZero(w)) add_weighted(s, i, w);
  }
}

// The mass matrix has to stay positive definite with twice what they take from it, whatever else is held.
static void refuse(tgSim *s, tgReal h) {
  bool any = false;
  for (int i = 0; i < s->m.nu; i++) {
    tgReal w = weight(s, h, i);
    if (s->act_hold[i] == TGI_HOLD_START || !(tgRe(w) < 0)) continue;
    if (!any) tgi_step_matrix(s, h, false);
    any = true;
    add_weighted(s, i, 2 * w);
  }
  if (!any || tgi_factor(&s->m, s->Mh, s->L)) return;
  for (int i = 0; i < s->m.nu; i++)
    if (tgRe(weight(s, h, i)) < 0) s->act_hold[i] = TGI_HOLD_START;
}

void tgi_servo_foretell(tgSim *s, tgReal h) {
  const tgModel *m = &s->m;
  tgReal *sum = s->vhat;
  for (int i = 0; i < m->nu; i++) {
    tgActuatorState a = {.side = 0};
    if (m->act_forcelimited[i]) tgi_actuator_state(s, &s->start, i, NULL, &a, NULL);
    s->act_hold[i] = fits(m, i) ? a.side : TGI_HOLD_START;
  }
  bool any = false;
  for (int j = 0; j < m->njnt; j++) {
    s->jnt_hold[j] = TGI_HOLD_NOT;
    any = any || tgi_sum_limited(m, j);
  }
  if (any) tgi_actuator_sum(s, &s->start, NULL, sum);
  for (int j = 0; j < m->njnt && any; j++) s->jnt_hold[j] = tgi_actuator_sum_side(s, m->jnt_vadr[j], NULL, sum[m->jnt_vadr[j]], NULL);
  refuse(s, h);
}

// ---- what is held ----

// What is held is let go first, where its law asks for less: held at the other end at once, it would come back.
static int side_of(tgReal x, const tgReal *range, int before, bool hold) {
  double margin[2];
  for (int k = 0; k < 2; k++) margin[k] = TGI_HOLD_TIE * fmax(1, fabs(tgRe(range[k])));
  if (before == TGI_HOLD_LOW) return hold || tgRe(x - range[0]) < margin[0] ? before : TGI_HOLD_NOT;
  if (before == TGI_HOLD_HIGH) return hold || tgRe(x - range[1]) > -margin[1] ? before : TGI_HOLD_NOT;
  return tgRe(x - range[0]) < -margin[0] ? TGI_HOLD_LOW : tgRe(x - range[1]) > margin[1] ? TGI_HOLD_HIGH : TGI_HOLD_NOT;
}

static bool put(int *place, int value) {
  bool changes = *place != value;
  *place = value;
  return changes;
}

bool tgi_servo_any_range(const tgModel *m) {
  for (int i = 0; i < m->nu; i++)
    if (m->act_forcelimited[i]) return true;
  for (int j = 0; j < m->njnt; j++)
    if (m->jnt_actfrclimited[j]) return true;
  return false;
}

bool tgi_servo_revise(tgSim *s, const tgStepEnd *end, bool hold, tgReal *sum) {
  const tgModel *m = &s->m;
  bool changed = false;
  if (!tgi_servo_any_range(m)) return false;
  for (int i = 0; i < m->nu; i++) {
    if (!m->act_forcelimited[i] || s->act_hold[i] == TGI_HOLD_START) continue;
    tgReal force = tgi_actuator_asked(s, &s->start, i, end);
    changed = put(&s->act_hold[i], side_of(force, m->act_forcerange + 2 * i, s->act_hold[i], hold)) || changed;
  }
  tgi_actuator_sum(s, &s->start, end, sum);
  for (int j = 0; j < m->njnt; j++) {
    if (!tgi_sum_limited(m, j)) continue;
    changed = put(&s->jnt_hold[j], side_of(sum[m->jnt_vadr[j]], m->jnt_actfrcrange + 2 * j, s->jnt_hold[j], hold)) || changed;
  }
  return changed;
}

void tgi_servo_forces(const tgSim *s, const tgStepEnd *end, tgReal *qfrc) {
  const tgModel *m = &s->m;
  tgi_actuator_sum(s, &s->start, end, qfrc);
  for (int j = 0; j < m->njnt; j++)
    if (s->jnt_hold[j] != TGI_HOLD_NOT) qfrc[m->jnt_vadr[j]] = m->jnt_actfrcrange[2 * j + (s->jnt_hold[j] > 0)];
}

// ---- derivatives ----

// x along the moments of actuator i
static tgReal along(const tgSim *s, int i, const tgReal *x) {
  tgReal sum = 0, moment;
  for (int k = 0; k < tgi_actuator_terms(&s->m, i); k++) {
    int d = tgi_actuator_term(&s->m, i, k, s->start.q, &moment, NULL);
    sum += moment * x[d];
  }
  return sum;
}

// lengths grow by h m . v, in the middle by h m . (v - from)/2
tgReal tgi_servo_rate(const tgSim *s, const tgStepEnd *end, const tgReal *lambda) {
  tgReal rate = 0;
  for (int i = 0; i < s->m.nu; i++) {
    tgActuatorState a;
    if (!acts(s, i)) continue;
    tgi_actuator_state(s, &s->start, i, end, &a, NULL);
    tgReal way = end->from != NULL ? 0.5 * (along(s, i, end->v) - along(s, i, end->from)) : a.velocity;
    rate += tgi_actuator_reach(&s->m, i) * a.D_length * way * along(s, i, lambda);
  }
  return rate;
}

// bar of the weight of actuator i to its gains, and of its moments
static void weight_parameters(const tgSim *s, tgReal h, int i, tgReal bar, const tgReal *x, const tgReal *y, tgParamGrad *p) {
  const tgModel *m = &s->m;
  int side;
  tgReal u = tgi_actuator_input(s, i, &side, NULL), w = weight(s, h, i), by[3] = {0, -h * h * tgi_actuator_reach(m, i), -h}, gain = 0;
  bool tendon = m->act_trn[i] == TG_TRN_TENDON;
  for (int k = 1; k < 3; k++) {
    gain += m->act_gain[3 * i + k] * by[k];
    if (p->act_gain != NULL) p->act_gain[3 * i + k] += bar * by[k] * u;
    if (p->act_bias != NULL) p->act_bias[3 * i + k] += bar * by[k];
  }
  if (side != 0 && p->act_ctrlrange != NULL) p->act_ctrlrange[2 * i + (side > 0)] += bar * gain;
  for (int k = 0; p->act_gear != NULL && k < tgi_actuator_terms(m, i); k++) {
    tgReal moment, unit = tendon ? m->wrap_coef[m->ten_adr[m->act_target[i]] + k] : 1;
    int d = tgi_actuator_term(m, i, k, s->start.q, &moment, NULL);
    p->act_gear[6 * i + (tendon ? 0 : k)] += w * unit * (x[d] * along(s, i, y) + y[d] * along(s, i, x));
  }
}

// of the weight in the input
static tgReal weight_input(const tgSim *s, tgReal h, int i) {
  const tgReal *g = s->m.act_gain + 3 * i;
  int side;
  tgi_actuator_input(s, i, &side, NULL);
  return side != 0 ? 0 : -h * (g[2] + tgi_actuator_reach(&s->m, i) * h * g[1]);
}

void tgi_servo_matrix_vjp(const tgSim *s, tgReal h, const tgReal *x, const tgReal *y, tgReal *gu, tgParamGrad *p, tgReal *dt) {
  const tgModel *m = &s->m;
  for (int i = 0; i < m->nu; i++) {
    const tgReal *g = m->act_gain + 3 * i, *b = m->act_bias + 3 * i;
    int side;
    if (!acts(s, i)) continue;
    tgReal u = tgi_actuator_input(s, i, &side, NULL), bar = along(s, i, x) * along(s, i, y);
    if (gu != NULL) gu[i] += bar * weight_input(s, h, i);
    if (dt != NULL) *dt -= bar * (g[2] * u + b[2] + 2 * h * tgi_actuator_reach(m, i) * (g[1] * u + b[1]));
    if (p != NULL) weight_parameters(s, h, i, bar, x, y, p);
  }
}

tgReal tgi_servo_matrix_input(const tgSim *s, tgReal h, int i, const tgReal *y, tgReal *out) {
  const tgModel *m = &s->m;
  for (int d = 0; d < m->nv; d++) out[d] = 0;
  if (!acts(s, i)) return 0;
  for (int k = 0; k < tgi_actuator_terms(m, i); k++) {
    tgReal moment;
    int d = tgi_actuator_term(m, i, k, s->start.q, &moment, NULL);
    out[d] += moment;
  }
  return weight_input(s, h, i) * along(s, i, y);
}
