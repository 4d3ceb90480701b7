// midpoint_rig.h: scenes under every law and both rules of `damped`, and random states of them, for the tests of its steps.
#ifndef TG_TEST_STEP_MIDPOINT_RIG_H
#define TG_TEST_STEP_MIDPOINT_RIG_H

#include "contact/damped/damped.h"
#include "support/rig.h"

// every primitive on a plane and on each other, all apart
static const char *const heap =
    "<mujoco><default><geom density='4000'/></default><worldbody>"
    "<geom type='plane' size='5 5 .1' friction='0.7' pos='0 0 -.01' euler='3 2 0'/>"
    "<body pos='0 0 .13'><freejoint/><geom type='sphere' size='.1' friction='.5'/></body>"
    "<body pos='.22 .05 .16'><freejoint/><geom type='box' size='.06 .08 .1' friction='.4' pos='.01 0 0' quat='.9 .1 .2 .3'/></body>"
    "<body pos='-.19 .1 .15'><freejoint/><geom type='capsule' size='.05 .07' friction='.3' euler='40 10 0'/></body>"
    "<body pos='0 -.21 .12'><freejoint/><geom type='cylinder' size='.07 .06' friction='.6'/></body>"
    "<body pos='.02 .2 .12'><freejoint/><geom type='ellipsoid' size='.09 .06 .07' friction='.2'/></body>"
    "</worldbody></mujoco>";

static const char *const pair =
    "<mujoco><default><geom density='4000'/></default><worldbody><geom type='plane' size='5 5 .1' friction='0.7'/>"
    "<body pos='0 0 .11'><freejoint/><geom type='box' size='.1 .08 .1' friction='.5' pos='.01 0 0' quat='.99 .1 .05 .02'/></body>"
    "<body pos='.02 .01 .28'><freejoint/><geom type='capsule' size='.04 .07' friction='.4' quat='.7 .7 .1 0'/></body></worldbody></mujoco>";

static const char *const arm =
    "<mujoco><default><geom density='4000'/></default><compiler angle='radian'/><worldbody>"
    "<geom type='plane' size='5 5 .1' friction='0.7'/>"
    "<body pos='0 0 .3'><joint name='a' type='hinge' axis='0 1 0' limited='true' range='-.1 .1' damping='.1' "
    "stiffness='2' armature='.01' frictionloss='.2'/>"
    "<geom type='capsule' fromto='0 0 0 .2 0 -.05' size='.03'/>"
    "<body pos='.2 0 -.05'><joint name='b' type='ball' limited='true' range='0 .6' damping='.05' stiffness='.3' frictionloss='.05'/>"
    "<geom type='box' size='.1 .02 .03' pos='.1 0 0' contype='0' conaffinity='0'/>"
    "<body pos='.2 0 0'><joint name='c' type='slide' axis='1 0 .3' limited='true' range='-.05 .04' frictionloss='.1'/>"
    "<joint name='d' type='hinge' axis='1 .2 0' frictionloss='.02'/><geom type='sphere' size='.05' friction='.9'/></body></body></body>"
    "<body pos='.58 .05 .09'><joint type='free' frictionloss='.03'/><geom type='box' size='.05 .06 .05' friction='.45'/></body></worldbody>"
    "<tendon><fixed name='t' damping='.1' stiffness='3' springlength='-1' frictionloss='.3' limited='true' range='-.1 .08'>"
    "<joint joint='a' coef='.7'/><joint joint='c' coef='-1.2'/></fixed></tendon>"
    "<actuator><motor joint='a' gear='2' forcelimited='true' forcerange='-.5 .4'/><position joint='c' kp='5'/>"
    "<velocity joint='d' kv='.1'/></actuator></mujoco>";

// a convex mesh on a plane and a ball
static const char *const wedge =
    "<mujoco><asset><mesh name='w' vertex='-.1 -.08 -.05 .1 -.08 -.05 .1 .08 -.05 -.1 .08 -.05 -.03 -.05 .06 .05 .02 .07'/></asset>"
    "<default><geom density='3000'/></default><worldbody><geom type='plane' size='5 5 .1' friction='.6'/>"
    "<body pos='0 0 .1'><freejoint/><geom type='mesh' mesh='w' friction='.5'/></body>"
    "<body pos='.03 .02 .29'><freejoint/><geom size='.09' friction='.3'/></body></worldbody></mujoco>";

// hollow geoms with others inside: a sphere that moves, at its middle a small one; a box and a cylinder that stand, a capsule that moves
static const char *const hollows =
    "<mujoco><default><geom density='4000'/></default><worldbody>"
    "<body pos='0 0 .4'><freejoint/><geom size='.3' friction='.3'/></body>"
    "<body pos='.05 .02 .25'><freejoint/><geom type='box' size='.05 .06 .04' friction='.4' quat='.9 .1 .2 .3'/></body>"
    "<geom type='box' size='.3 .25 .2' pos='1 0 .2' euler='3 2 5' friction='.6'/>"
    "<body pos='1.05 .05 .13'><freejoint/><geom type='capsule' size='.05 .07' friction='.3' euler='80 10 0'/></body>"
    "<geom type='cylinder' size='.25 .2' pos='2 0 .2'/>"
    "<body pos='2 0 .12'><freejoint/><geom type='ellipsoid' size='.09 .06 .07' friction='.2'/></body>"
    "<body pos='3 0 .3'><freejoint/><geom type='capsule' size='.2 .2' euler='85 0 0'/></body>"
    "<body pos='3 .02 .22'><freejoint/><geom size='.08'/></body></worldbody></mujoco>";

static const char *const rules[] = {"end", "midpoint"}, *const laws[] = {"perturbed", "penalty", "barrier", "barrier_c2", "signorini"};
enum { RULES = 2, LAWS = 5, VARIANTS = RULES * LAWS };

// A window is twice differentiable: of use to complex steps, where those of Ridders' method see its third derivative jump.
#ifdef TG_COMPLEX
#define REACH " reach=.2"
#else
#define REACH ""
#endif

// numbers that are given have derivatives
static inline Rig make(const char *text, int variant, bool given) {
  char settings[256];
  snprintf(settings, sizeof settings, "rule=%s law=%s mesh=%s mesh_cells=16 hollow=%s %s%s", rules[variant % RULES], laws[variant / RULES],
           text == wedge ? "points" : "surface", text == hollows ? "true" : "false",
           given ? "resting_gap=.002 damping_ratio=.8 slip_speed=1 spacing=.09 limit_frequency=100" REACH : "slip_speed=.02 spacing=.06",
           given ? " onset=.008 stiffness=200" : "");
  tgAnyContactOptions o = options_of("damped", settings);
  return rig_of_text(text, "damped", &o.of);
}

// about the model's pose; lift: of free bodies, over which they are thrown down
static inline void random_state(tgSim *s, tgtRandom *r, double lift) {
  const tgModel *m = &s->m;
  tgReal step[64];
  for (int d = 0; d < m->nv; d++) {
    bool free = m->jnt_type[m->dof_jnt[d]] == TG_JOINT_FREE, slide = m->jnt_type[m->dof_jnt[d]] == TG_JOINT_SLIDE;
    step[d] = tgt_uniform(r, -1, 1) * (free ? 0.004 : slide ? 0.05 : 0.4);
    s->qvel[d] = tgt_uniform(r, -1, 1) * (free ? 0.3 : 0.6);
    s->qfrc_applied[d] = tgt_uniform(r, -0.5, 0.5);
  }
  for (int j = 0; j < m->njnt; j++) {
    int d = m->jnt_vadr[j];
    if (m->jnt_type[j] != TG_JOINT_FREE) continue;
    for (int i = 0; i < 3; i++) step[d + 3 + i] *= 10;
    step[d + 2] += lift;
    s->qvel[d + 2] -= 10 * lift * tgt_uniform(r, 0, 1);
  }
  for (int i = 0; i < m->nu; i++) s->ctrl[i] = tgt_uniform(r, -1, 1);
  tg_model_integrate(m, m->qpos0, step, s->qpos);
}

#endif
