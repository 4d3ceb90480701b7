// impulse_midway.c: see impulse_midway.h.
#include "step/impulse_midway.h"

#include "dyn/dynamics.h"
#include "dyn/forces.h"
#include "step/impulse.h"
#include "step/step.h"

// Some force may go by velocity: that of a tree of one dof has none but joint dampers. By the model's kind, not by its numbers, so that a
// damper of 0 has the derivative of one that is not.
bool tgi_midway_goes_by_velocity(const tgModel *m) {
  for (int d = 0; d < m->nv; d++)
    if (m->dof_tree[2 * d + 1] - m->dof_tree[2 * d] > 1) return true;
  return m->ntendon > 0 || tgi_has_fluid(m);
}

void tgi_midway_shares(const tgSim *s, tgReal *c) {
  const tgModel *m = &s->m;
  for (int d = 0; d < m->nv; d++) c[d] = 0.5 * (1 - s->carried_share[d]);
  for (int i = 0; i < s->nrow; i++) {
    const int *span = s->rows->span + 4 * i;
    for (int side = 0; side < 4; side += 2)
      for (int d = span[side]; d < span[side + 1]; d = m->dof_tree[2 * d + 1])
        for (int k = m->dof_tree[2 * d]; k < m->dof_tree[2 * d + 1]; k++) c[k] = 0;
  }
}

// by the forces of u, whose V and the like the pose keeps
static void forces_by(tgSim *s, const tgReal *u) {
  const tgModel *m = &s->m;
  const tgReal *v = s->middle.vel;   // the start's, whose pose that is now
  tgi_velocities(s, &s->start, u);
  tgi_bias(s, &s->start);
  tgi_passive(s, &s->start);
  for (int d = 0; d < m->nv; d++) {
    if (!tgi_explicit_damping(s)) s->qfrc_passive[d] += m->dof_damping[d] * (u[d] - v[d]);
    s->tau[d] = s->qfrc_applied[d] + s->qfrc_actuator[d] + s->qfrc_passive[d];
    s->start.vel[d] = v[d];
  }
}

static void forces_of(tgSim *s, int k) {
  s->turning = k;
  forces_by(s, tgi_turned(s, k));
}

void tgi_midway_forces(tgSim *s, const tgReal *u) {
  forces_by(s, u);
  tgi_velocities(s, &s->start, s->middle.vel);
}

void tgi_midway_level(tgSim *s, int k) {
  s->turning = 0;
  if (k == 0) {
    tgi_step_forces(s, s->middle.vel);
    return;
  }
  forces_of(s, k);
  tgi_velocities(s, &s->start, s->middle.vel);
}

void tgi_midway_end(tgSim *s) {
  if (s->turning > 0) tgi_velocities(s, &s->start, s->middle.vel);
}

bool tgi_midway_turn(tgSim *s) {
  const tgModel *m = &s->m;
  int k = s->turning + 1;
  bool any = false;
  if (k > TGI_TURNS || !tgi_midway_goes_by_velocity(m)) return false;
  tgReal *u = tgi_turned(s, k), *ahead = tgi_foreseen(s, k);
  tgi_midway_shares(s, u);
  for (int d = 0; d < m->nv; d++) {
    any = any || tgRe(u[d]) != 0;
    ahead[d] = s->vhat[d];
    u[d] = s->start.vel[d] + u[d] * (s->vhat[d] - s->start.vel[d]);
  }
  if (any) forces_of(s, k);
  return any;
}
