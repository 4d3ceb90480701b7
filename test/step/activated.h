// activated.h: a robot with actuators of every kind of activation, under every stepper.
#ifndef TG_TEST_ACTIVATED_H
#define TG_TEST_ACTIVATED_H

#include "sim/sim.h"
#include "support/rig.h"
#include "support/tree.h"

// A ball on a cart that presses on the floor and an arm, driven by actuators of every kind: ACTIVATIONS of them with one.
enum { ACTIVATIONS = 6 };
static const char activated_scene[] =
    "<mujoco><option timestep='0.004'/>"
    "<worldbody><geom name='floor' type='plane' size='5 5 .1'/>"
    "<body name='cart' pos='0 0 .1002'><joint name='x' type='slide' axis='1 0 0'/><joint name='z' type='slide' axis='0 0 1'/>"
    "<joint name='roll' axis='0 1 0'/><geom name='ball' size='.1' density='900'/>"
    "<body name='arm' pos='0 .2 .3'><joint name='shoulder' axis='0 1 0' damping='.05'/><joint name='elbow' axis='1 0 0' pos='0 0 .1'/>"
    "<geom size='.05' fromto='0 0 0 0 .1 .2' type='capsule' density='800' contype='0' conaffinity='0'/></body></body></worldbody>"
    "<tendon><fixed name='t'><joint joint='shoulder' coef='.7'/><joint joint='elbow' coef='-.4'/></fixed></tendon>"
    "<actuator><motor name='plain' joint='x' gear='3' ctrlrange='-2 2'/>"
    "<general name='filter' joint='z' dyntype='filter' dynprm='.05' gainprm='4' ctrlrange='-2 2'/>"
    "<general name='integrator' joint='roll' dyntype='integrator' gainprm='1.5' actrange='-1 1'/>"
    "<position name='exact' joint='shoulder' kp='6' kv='.3' timeconst='.03'/>"
    "<cylinder name='cylinder' joint='elbow' timeconst='.02' area='1.2' bias='.1 -.3 -.05'/>"
    "<intvelocity name='intvelocity' joint='elbow' kp='2' kv='.1' actrange='-.5 .5'/>"
    "<general name='tendon' tendon='t' dyntype='filterexact' dynprm='.04' gaintype='affine' gainprm='.5 .2 .1' forcerange='-3 3'/>"
    "</actuator>"
    "<keyframe><key name='wound' act='.1 .2 .3 .4 .5 .6' ctrl='1 1 1 1 1 1 1'/></keyframe></mujoco>";

#define SOFT "stiffness=3e4 eps1=6e-4 eps2=0.009 eps3=0.009 "
static const struct { const char *name, *word, *options; } activated_variant[] = {
    {"lcp", "lcp", ""}, {"lcp by old velocity", "lcp", "symplectic=false explicit_damping=true"},
    {"softmin", "softmin", SOFT}, {"softmin explicit", "softmin", SOFT "integrator=explicit"},
    {"softmin rk4", "softmin", SOFT "stiffness=1e4 integrator=rk4"},
    {"barrier", "barrier", ""}, {"sdrs", "sdrs", ""}};
// of softmin the first and one past the last; how many
enum { SOFTMIN = 2, BARRIER = 5, VARIANTS = sizeof activated_variant / sizeof *activated_variant };

/// Under variant v.
static inline Rig activated(int v) {
  tgAnyContactOptions o = options_of(activated_variant[v].word, activated_variant[v].options);
  Rig r = rig_of_text(activated_scene, activated_variant[v].word, &o.of);
  assert_int_equal(tg_model_na(r.m), ACTIVATIONS);
  return r;
}

/// A random state at the floor, activations within their ranges.
static inline void activated_state(tgSim *s, tgtRandom *r) {
  tgReal step[16];
  tg_sim_reset(s);
  assert_true(s->m.nv <= 16);
  for (int i = 0; i < s->m.nv; i++) step[i] = tgt_uniform(r, -0.2, 0.2);
  step[1] = 0;
  tg_model_integrate(s->model, s->qpos, step, s->qpos);
  for (int i = 0; i < s->m.nv; i++) s->qvel[i] = i == 1 ? 0 : tgt_uniform(r, -0.3, 0.3);
  for (int i = 0; i < s->m.na; i++) s->act[i] = tgt_uniform(r, -0.45, 0.45);
  for (int i = 0; i < s->m.nu; i++) s->ctrl[i] = tgt_uniform(r, -1, 1);
}

#endif
