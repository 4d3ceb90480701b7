// scene_states.h: seeded states of the scenes, reached by simulation, with contacts that stick, slip and part.
#ifndef TG_TEST_SCENE_STATES_H
#define TG_TEST_SCENE_STATES_H

#include "scenes/scenes.h"
#include "sim/sim.h"
#include "support/check.h"

static inline void tgt_nudge(tgSim *s, tgtRandom *r, double dq, double dv) {
  tgReal *w = s->vhat;   // any nv reals that the next step overwrites
  for (int d = 0; d < s->m.nv; d++) w[d] = dq * tgt_normal(r);
  tg_model_integrate(s->model, s->qpos, w, s->qpos);
  for (int d = 0; d < s->m.nv; d++) s->qvel[d] += dv * tgt_normal(r);
}

/// Puts the sim into state k of the scene: its own pose, nudged, thrown, some steps with random controls, ready to step.
static inline tgStatus tgt_scene_state(tgSim *s, tgsScene scene, int k, double h) {
  tgtRandom r = {.s = 1000u * (unsigned)scene + (unsigned)k + 17};
  tg_sim_reset(s);
  bool calm = k % 2 == 0;
  tgt_nudge(s, &r, scene == TGS_ARM ? 0.3 : calm ? 0.002 : 0.02, calm ? 0.02 : 0.5);
  if (!calm && scene != TGS_ARM && scene != TGS_HUMANOID) s->qvel[0] += tgt_uniform(&r, -2, 2);
  if (scene == TGS_ARM) {
    // bent, then stretched against the wall
    s->qpos[0] = -0.7 + 0.1 * tgt_normal(&r);
    s->qpos[1] = 1.4 + 0.1 * tgt_normal(&r);
    s->qvel[1] -= tgt_uniform(&r, 1, 5);
  }
  if (scene == TGS_SPHERES && !calm) s->qpos[2] = 0.2995;   // on the floor, so that it slips before it rolls
  if (scene == TGS_CHEETAH) s->qpos[1] -= tgt_uniform(&r, 0.03, 0.12);
  for (int i = 0; i < s->m.nu; i++) s->ctrl[i] = (calm ? 0.1 : 0.5) * tgt_normal(&r);
  if (scene == TGS_ARM) {
    s->ctrl[0] -= tgt_uniform(&r, .5, 1.5);
    s->ctrl[1] -= tgt_uniform(&r, 1, 3);
  }
  int steps = 3 + (int)tgt_uniform(&r, 0, scene == TGS_CHEETAH || scene == TGS_ARM ? 30 : 12);
  for (int i = 0; i < steps; i++) {
    tgStatus status = tg_sim_step(s, h, NULL);
    if (status == TG_ERR_CAPACITY && tg_sim_reserve(s, s->wanted.ncon, s->wanted.nrow) == TG_OK) status = tg_sim_step(s, h, NULL);
    if (status != TG_OK) return status;
  }
  return TG_OK;
}

#endif
