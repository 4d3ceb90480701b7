// soft_scene.h: scenes for the force model: bodies of every primitive in a heap, and an arm with limits, dry friction
// and a tendon that meets the floor.
#ifndef TG_TEST_SOFT_SCENE_H
#define TG_TEST_SOFT_SCENE_H

#include "support/deriv.h"
#include "support/rig.h"
#include "sim/sim.h"
#include "tangere/softmin.h"

static const char *const soft_heap =
    "<mujoco><option timestep='0.002'/><default><geom density='4000'/></default><worldbody>"
    "<geom type='plane' size='5 5 .1' friction='0.7'/>"
    "<body pos='0 0 .11'><freejoint/><geom type='sphere' size='.1' friction='.5'/></body>"
    "<body pos='.16 .05 .1'><freejoint/><geom type='box' size='.06 .08 .1' friction='.4' pos='.01 0 0' quat='.9 .1 .2 .3'/></body>"
    "<body pos='-.12 .1 .1'><freejoint/><geom type='capsule' size='.05 .07' friction='.3'/></body>"
    "<body pos='0 -.2 .1'><freejoint/><geom type='cylinder' size='.07 .06' friction='.6'/></body>"
    "<body pos='.02 .17 .1'><freejoint/><geom type='ellipsoid' size='.09 .06 .07' friction='.2'/></body>"
    "</worldbody></mujoco>";

static const char *const soft_heap_small =
    "<mujoco><option timestep='0.002'/><default><geom density='4000'/></default><worldbody>"
    "<geom type='plane' size='5 5 .1' friction='0.7'/>"
    "<body pos='0 0 .1'><freejoint/><geom type='sphere' size='.1' friction='.5'/></body>"
    "<body pos='.16 .05 .1'><freejoint/><geom type='box' size='.06 .08 .1' friction='.4' pos='.01 0 0' quat='.9 .1 .2 .3'/></body>"
    "</worldbody></mujoco>";

static const char *const soft_arm =
    "<mujoco><option timestep='0.002'/><default><geom density='4000'/></default><compiler angle='radian'/><worldbody>"
    "<geom type='plane' size='5 5 .1' friction='0.7'/>"
    "<body pos='0 0 .3'><joint name='a' type='hinge' axis='0 1 0' limited='true' range='-.4 .5' damping='.1' "
    "stiffness='2' armature='.01' frictionloss='.2'/>"
    "<geom type='capsule' fromto='0 0 0 .2 0 -.05' size='.03'/>"
    "<body pos='.2 0 -.05'><joint name='b' type='ball' limited='true' range='0 .6' damping='.05'/>"
    "<geom type='box' size='.1 .02 .03' pos='.1 0 0'/>"
    "<body pos='.2 0 0'><joint name='c' type='slide' axis='1 0 .3' limited='true' range='-.05 .04' frictionloss='.1'/>"
    "<joint name='d' type='hinge' axis='1 .2 0'/><geom type='sphere' size='.05' friction='.9'/></body></body></body>"
    "<body pos='.5 .05 .06'><freejoint/><geom type='box' size='.05 .06 .05' friction='.45'/></body></worldbody>"
    "<tendon><fixed name='t' damping='.1' stiffness='3' springlength='-1' frictionloss='.3'>"
    "<joint joint='a' coef='.7'/><joint joint='c' coef='-1.2'/></fixed></tendon>"
    "<actuator><motor joint='a' gear='2'/><position joint='c' kp='5'/><velocity joint='d' kv='.1'/></actuator></mujoco>";

// every equality, tendons with limits, actuators with ranges of their own and of their sum; nothing touches
static const char *const soft_tied =
    "<mujoco><option timestep='0.002'/><default><geom density='4000' contype='0' conaffinity='0'/></default>"
    "<compiler angle='radian'/><worldbody>"
    "<body name='a' pos='0 0 .3'>"
    "<joint name='a' type='hinge' axis='0 1 0' actuatorfrclimited='true' actuatorfrcrange='-1 .8'/>"
    "<geom type='capsule' fromto='0 0 0 .2 0 -.05' size='.03'/>"
    "<body name='b' pos='.2 0 -.05'><joint name='b' type='ball'/><geom type='box' size='.1 .02 .03' pos='.1 0 0'/>"
    "<body name='c' pos='.2 0 0'><joint name='c' type='slide' axis='1 0 .3'/>"
    "<joint name='d' type='hinge' axis='1 .2 0'/><geom size='.05' pos='0 .05 0'/></body></body></body>"
    "<body name='e' pos='.5 .05 .06'><freejoint/><geom type='box' size='.05 .06 .05'/></body>"
    "<body name='f' pos='-.2 0 .3'><joint name='f' type='hinge' axis='0 1 0'/>"
    "<geom type='capsule' fromto='0 0 0 0 .1 -.2' size='.03'/></body></worldbody>"
    "<tendon><fixed name='t' limited='true' range='-.1 .08' stiffness='2'><joint joint='a' coef='.7'/>"
    "<joint joint='c' coef='-1.2'/></fixed>"
    "<fixed name='u' limited='true' range='-.05 .05' frictionloss='.2'><joint joint='d' coef='.7'/>"
    "<joint joint='f' coef='.4'/></fixed></tendon>"
    "<equality><weld name='w' body1='c' body2='e' anchor='.01 .02 .03'/>"
    "<connect body1='f' body2='e' anchor='.1 .05 -.1'/><connect body1='b' anchor='.1 0 .1'/>"
    "<joint joint1='a' joint2='f' polycoef='.02 .8 .5 -.3 .2'/><joint joint1='d' polycoef='.1'/>"
    "<tendon tendon1='t' tendon2='u' polycoef='.01 .6 .4 .3 -.2'/></equality>"
    "<actuator><motor joint='a' gear='2' forcelimited='true' forcerange='-.5 .4'/>"
    "<position joint='a' kp='3' forcelimited='true' forcerange='-.7 .6'/><position joint='c' kp='5' "
    "forcelimited='true' forcerange='-.3 .3'/><velocity tendon='u' kv='.1'/></actuator></mujoco>";

// fine points would only cost time
static inline tgSoftminOptions soft_options(void) {
  tgSoftminOptions o = tg_softmin_default();
  o.spacing = 0.09;
  o.stiffness = 8000;
  o.eps1 = 6e-4;
  o.eps2 = o.eps3 = 0.009;
  return o;
}

// about the model's pose, so that limits are passed and bodies overlap or are apart; apart: lifts free bodies
static inline void soft_state(tgSim *s, tgtRandom *r, double lift) {
  const tgModel *m = &s->m;
  tgReal step[64];
  for (int d = 0; d < m->nv; d++) {
    step[d] = tgt_uniform(r, -0.03, 0.03) * (m->jnt_type[m->dof_jnt[d]] == TG_JOINT_FREE ? 1 : 25);
    s->qvel[d] = tgt_uniform(r, -0.5, 0.5);
    s->qfrc_applied[d] = tgt_uniform(r, -0.5, 0.5);
  }
  for (int j = 0; j < m->njnt; j++) {
    int d = m->jnt_vadr[j];
    if (m->jnt_type[j] == TG_JOINT_SLIDE) step[d] *= 0.1;
    for (int i = 0; i < 3 && m->jnt_type[j] == TG_JOINT_FREE; i++) {
      step[d + 3 + i] *= 20;
      step[d + i] += (i == 2 || j % 2 ? lift : -lift) * (1 + j);
    }
  }
  for (int i = 0; i < m->nu; i++) s->ctrl[i] = tgt_uniform(r, -1, 1);
  tg_model_integrate(m, m->qpos0, step, s->qpos);
}

#endif
