// toi_rig.h: scenes under `toi` and their energy, for its tests.
#ifndef TG_TEST_STEP_TOI_RIG_H
#define TG_TEST_STEP_TOI_RIG_H

#include "dyn/dynamics.h"
#include "kin/kinematics.h"
#include "step/impulse.h"
#include "support/rig.h"
#include "tangere/param.h"

#define FLOOR "<geom name=\"floor\" type=\"plane\" size=\"5 5 1\" friction=\".5\"/>"

// a ball and a box that falls beside it
#define FLOOR_AND_BALLS                                                                                             \
  "<mujoco><worldbody>" FLOOR "<body pos=\"0 0 .2\"><freejoint/><geom size=\".1\" mass=\"1\"/></body>"                \
  "<body pos=\".05 0 .5\" euler=\"20 30 0\"><freejoint/><geom type=\"box\" size=\".1 .1 .1\" mass=\"1\"/></body></worldbody></mujoco>"

// every geom with restitution e
static inline Rig toi(const char *xml, double e) {
  Rig r = rig_of_text(xml, "toi", NULL);
  int rows, cols;
  tgReal *x = tg_sim_param(r.s, "geom_restitution", &rows, &cols);
  for (int i = 0; i < rows * cols; i++) x[i] = e;
  return r;
}

// of motion, in gravity and in the springs of hinges and slides
static inline double whole_energy(tgSim *s) {
  const tgModel *m = &s->m;
  tgPose *p = &s->trial;
  tgi_kinematics(m, s->qpos, p);
  tgi_inertias(s, p);
  tgi_mass_matrix(s, p);
  double sum = tgi_kinetic_energy(s, s->qvel);
  for (int b = 1; b < m->nbody; b++)
    for (int c = 0; c < 3; c++) sum -= tgRe(m->body_mass[b] * m->opt_gravity[c] * p->xcom[3 * b + c]);
  for (int j = 0; j < m->njnt; j++) {
    double x = tgRe(s->qpos[m->jnt_qadr[j]] - m->qpos_spring[m->jnt_qadr[j]]);
    sum += 0.5 * tgRe(m->jnt_stiffness[j]) * x * x;
  }
  return sum;
}

#endif
