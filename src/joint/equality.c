// equality.c: how stiff equalities are, and those of joints and tendons. See joint.h.
//
// Based on: [math/joints Equalities]. Stiffness is omega^2 times an inertia, the inertia at qpos0 (inertia.c), the
// frequency a number of the contact model:
//   of an energy  omega^2 = g/opening: under its weight the inertia opens the equality by `opening`, whatever the step;
//   of forces     omega = equality_frequency, and the damping 2 omega times the inertia, which is critical.
#include "joint/joint.h"

static void gains(const tgSim *s, int eq, tgReal square, tgReal twice, tgiEqualityGains *g) {
  const double *inertia = s->contact_model->equality_inertia + 2 * eq;
  *g = (tgiEqualityGains){square * inertia[0], twice * inertia[0], square * inertia[1], twice * inertia[1]};
}

void tgi_equality_energy_gains(const tgSim *s, int eq, tgiEqualityGains *g) {
  gains(s, eq, TG_STANDARD_GRAVITY / TG_NUMBER(s, equality_opening), 0, g);
}

void tgi_equality_force_gains(const tgSim *s, int eq, tgiEqualityGains *g) {
  tgReal omega = TG_NUMBER(s, equality_frequency);
  gains(s, eq, omega * omega, 2 * omega, g);
}

void tgi_equality_parameters(const tgSim *s, tgReal bar_k, tgReal bar_c, tgParamGrad *p) {
  tgReal *by_opening = TG_NUMBER_GRAD(p, equality_opening), *by_frequency = TG_NUMBER_GRAD(p, equality_frequency);
  if (by_opening != NULL) *by_opening -= bar_k / TG_NUMBER(s, equality_opening);
  if (by_frequency != NULL) *by_frequency += (2 * bar_k + bar_c) / TG_NUMBER(s, equality_frequency);
}

tgiTieSide tgi_tie_side(const tgModel *m, int eq, int side) {
  static const tgReal one = 1;
  const int *of = (side == 0 ? m->eq_a : m->eq_b) + eq;
  if (*of < 0) return (tgiTieSide){.n = 0};
  if (m->eq_type[eq] == TG_EQ_JOINT) return (tgiTieSide){1, of, &one};
  return (tgiTieSide){m->ten_num[*of], m->wrap_jnt + m->ten_adr[*of], m->wrap_coef + m->ten_adr[*of]};
}

int tgi_tie_lead(const tgModel *m, int eq, int side) {
  tgiTieSide s = tgi_tie_side(m, eq, side);
  return s.n > 0 ? tgi_tie_dof(m, &s, 0) : -1;
}

tgReal tgi_tie_rate(const tgModel *m, const tgiTieSide *s, const tgReal *v) {
  tgReal sum = 0;
  for (int k = 0; k < s->n; k++) sum += s->coef[k] * v[tgi_tie_dof(m, s, k)];
  return sum;
}

void tgi_tie_add(const tgModel *m, const tgiTieSide *s, tgReal y, tgReal *x) {
  for (int k = 0; k < s->n; k++) x[tgi_tie_dof(m, s, k)] += y * s->coef[k];
}

int tgi_tie_entry(const tgModel *m, const tgiTie *t, int k, tgReal *coef) {
  const tgiTieSide *s = k < t->a.n ? &t->a : &t->b;
  if (s == &t->b) k -= t->a.n;
  *coef = s == &t->a ? s->coef[k] : -t->slope * s->coef[k];
  return tgi_tie_dof(m, s, k);
}

// how much longer a side is than at qpos0
static tgReal length(const tgModel *m, const tgiTieSide *s, const tgReal *q) {
  tgReal sum = 0;
  for (int k = 0; k < s->n; k++) sum += s->coef[k] * (q[m->jnt_qadr[s->joint[k]]] - m->qpos0[m->jnt_qadr[s->joint[k]]]);
  return sum;
}

void tgi_tie(const tgModel *m, int eq, const tgReal *q, tgiTie *t) {
  const tgReal *c = m->eq_polycoef + 5 * eq;
  *t = (tgiTie){.a = tgi_tie_side(m, eq, 0), .b = tgi_tie_side(m, eq, 1)};
  tgReal x = t->x = length(m, &t->b, q), value[3] = {0};
  for (int k = 4; k >= 0; k--) {
    value[2] = 2 * value[1] + x * value[2];
    value[1] = value[0] + x * value[1];
    value[0] = c[k] + x * value[0];
  }
  t->error = length(m, &t->a, q) - value[0];
  t->slope = value[1];
  t->curve = value[2];
}

void tgi_tie_parameters(int eq, const tgiTie *t, tgReal by_error, tgReal by_slope, tgParamGrad *p) {
  if (p->eq_polycoef == NULL) return;
  tgReal power = 1, lower = 0;   // x^k and x^(k - 1)
  for (int k = 0; k < 5; k++) {
    p->eq_polycoef[5 * eq + k] += by_slope * k * lower - by_error * power;
    lower = power;
    power *= t->x;
  }
}
