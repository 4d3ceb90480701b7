// rubbing.h: a scene with friction between surfaces, a plane, a large and a small geom, and one that is too far to
// rub, at the start of a step.
#ifndef TG_TEST_CONTACT_BARRIER_RUBBING_H
#define TG_TEST_CONTACT_BARRIER_RUBBING_H

#include "contact/barrier/barrier.h"
#include "kin/kinematics.h"
#include "support/rig.h"
#include "tangere/barrier.h"

static inline Rig rubbing(tgHierarchy form, int threads) {
  static const char scene[] =
      "<mujoco><worldbody><geom type='plane' size='2 2 1'/><geom type='box' size='.3 .3 .05' pos='0 0 .06'/>"
      "<body pos='0 0 .165'><freejoint/><geom type='box' size='.1 .08 .05'/></body>"
      "<body pos='.19 .02 .17' euler='10 5 20'><freejoint/><geom type='box' size='.05 .08 .04' friction='.3'/></body>"
      "<body pos='.05 .3 .3' euler='30 0 0'><freejoint/><geom type='sphere' size='.12'/></body>"
      "<body pos='.9 0 .3'><freejoint/><geom type='sphere' size='.1'/></body></worldbody></mujoco>";
  tgBarrierOptions o = tg_barrier_default();
  o.hierarchy = form;
  o.threads = threads;
  Rig r = rig_of_text(scene, "barrier", &o.of);
  r.s->h = 0.01;
  tgi_kinematics(&r.s->m, r.s->qpos, &r.s->start);
  check_true(r.s->contact_model->kind->law->begin(r.s, 0.01) == TG_OK, "%s", r.s->error.text);
  return r;
}

#endif
