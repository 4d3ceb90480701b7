// rods.h: impacts that would gain energy by their restitution and friction.
#ifndef TG_TEST_RODS_H
#define TG_TEST_RODS_H

#include <math.h>
#include <string.h>

#include "kin/kinematics.h"
#include "scenes/scenes.h"
#include "scene_states.h"

/// Two rods on a hinge, in the air above a floor, balls at their ends that bounce and rub.
static inline tgDesc *tgt_rods(void) {
  tgDesc *d = tg_desc_create(NULL);
  tgs_plane(d, 0.9);
  int body[2];
  for (int k = 0; k < 2; k++) {
    body[k] = tg_desc_add_body(d, k == 0 ? 0 : body[0], k == 0 ? "a" : "b");
    int j = tg_desc_add_joint(d, body[k], k == 0 ? TG_JOINT_FREE : TG_JOINT_HINGE, k == 0 ? "a" : "b");
    int g = tg_desc_add_geom(d, body[k], TG_GEOM_BOX, NULL);
    d->body[body[k]].pos[0] = 0.3 * k;
    d->joint[j].axis[0] = 0.3;
    d->joint[j].axis[1] = 0.9;
    d->joint[j].axis[2] = sqrt(1 - 0.9);
    for (int i = 0; i < 3; i++) d->geom[g].size[i] = i == 0 ? 0.15 : 0.04;
    d->geom[g].pos[0] = 0.15;
    d->geom[g].contype = d->geom[g].conaffinity = 0;
  }
  for (int k = 0; k < 3; k++) {
    int g = tg_desc_add_geom(d, body[k / 2], TG_GEOM_SPHERE, NULL);
    d->geom[g].size[0] = 0.05;
    d->geom[g].pos[0] = k == 0 ? 0 : 0.3;
    d->geom[g].mass = 0.3;
    d->geom[g].friction[0] = 0.9;
    d->geom[g].restitution = 0.8;
  }
  return d;
}

static inline double tgt_lowest_ball(tgSim *s) {
  double lowest = INFINITY;
  tgi_kinematics(&s->m, s->qpos, &s->start);
  for (int g = 0; g < s->m.ngeom; g++)
    if (s->m.geom_type[g] == TG_GEOM_SPHERE) lowest = fmin(lowest, tgRe(s->start.geom_xpos[3 * g + 2]) - 0.05);
  return lowest;
}

/// A random state with a ball just above the floor whose impact, in a step of h, would gain energy. Fails the test where none is found.
static inline void tgt_throw_rods(tgSim *s, tgtRandom *r, double h) {
  for (int tries = 0; tries < 500; tries++) {
    tgReal q[8], v[7];
    tg_sim_reset(s);
    tgt_nudge(s, r, 1, 3);
    s->qpos[2] += tgt_uniform(r, 0.0005, 0.003) - tgt_lowest_ball(s);
    s->qvel[2] -= 2;
    memcpy(q, s->qpos, sizeof q);
    memcpy(v, s->qvel, sizeof v);
    bool gains = tg_sim_step(s, h, NULL) == TG_OK && s->info.ndamped > 0;
    tg_sim_reset(s);
    memcpy(s->qpos, q, sizeof q);
    memcpy(s->qvel, v, sizeof v);
    if (gains) return;
  }
  check_true(false, "no impact gains energy");
}

#endif
