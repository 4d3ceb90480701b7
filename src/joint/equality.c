// equality.c: how stiff equalities are, and those of joints. See joint.h.
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

void tgi_joint_tie(const tgModel *m, int eq, const tgReal *q, tgiJointTie *t) {
  const tgReal *c = m->eq_polycoef + 5 * eq;
  int a = m->eq_a[eq], b = m->eq_b[eq], qa = m->jnt_qadr[a];
  tgReal x = b >= 0 ? q[m->jnt_qadr[b]] - m->qpos0[m->jnt_qadr[b]] : 0, value[3] = {0};
  for (int k = 4; k >= 0; k--) {
    value[2] = 2 * value[1] + x * value[2];
    value[1] = value[0] + x * value[1];
    value[0] = c[k] + x * value[0];
  }
  *t = (tgiJointTie){.a = m->jnt_vadr[a], .b = b >= 0 ? m->jnt_vadr[b] : -1, .x = x,
                     .error = q[qa] - m->qpos0[qa] - value[0], .slope = value[1], .curve = value[2]};
}

void tgi_joint_tie_parameters(int eq, const tgiJointTie *t, tgReal by_error, tgReal by_slope, tgParamGrad *p) {
  if (p->eq_polycoef == NULL) return;
  tgReal power = 1, lower = 0;   // x^k and x^(k - 1)
  for (int k = 0; k < 5; k++) {
    p->eq_polycoef[5 * eq + k] += by_slope * k * lower - by_error * power;
    lower = power;
    power *= t->x;
  }
}
