// event_scenes.h: scenes of which random steps under `toi` have several impacts, with friction, and the drawing of such steps.
#ifndef TG_TEST_STEP_EVENT_SCENES_H
#define TG_TEST_STEP_EVENT_SCENES_H

#include <string.h>

#include "base/random.h"
#include "sim/sim.h"
#include "support/check.h"
#include "tangere/param.h"
#include "tangere/step.h"

enum { EVENT_MOST = 64 };   // numbers of a state

// two links with motors, a disc and a rod in a room, in a plane
static const char *const plane =
    "<mujoco><option gravity=\"0.4 0 -9.81\"/><default><geom friction=\".4\" mass=\"1\"/></default><worldbody>"
    "<geom name=\"floor\" type=\"plane\" size=\"5 5 1\" friction=\".3\"/>"
    "<geom name=\"left\" type=\"plane\" size=\"5 5 1\" pos=\"-.6 0 0\" euler=\"0 90 0\" friction=\"0\"/>"
    "<geom name=\"right\" type=\"plane\" size=\"5 5 1\" pos=\".9 0 0\" euler=\"0 -90 0\"/>"
    "<body pos=\"0 0 .6\"><joint name=\"a\" axis=\"0 1 0\" damping=\".05\" limited=\"true\" range=\"-40 40\"/>"
    "<geom type=\"capsule\" size=\".04\" fromto=\"0 0 0 .3 0 -.1\" mass=\".8\" friction=\".41\"/>"
    "<body pos=\".3 0 -.1\"><joint name=\"b\" axis=\"0 1 0\" stiffness=\"1\"/>"
    "<geom type=\"capsule\" size=\".03\" fromto=\"0 0 0 .2 0 -.2\" mass=\".5\" friction=\".42\"/>"
    "</body></body>"
    "<body pos=\"-.3 0 .2\"><joint type=\"slide\" axis=\"1 0 0\"/><joint type=\"slide\" axis=\"0 0 1\"/><joint axis=\"0 1 0\"/>"
    "<geom type=\"sphere\" size=\".1\" mass=\".6\" friction=\".43\"/></body>"
    "<body pos=\".1 0 .15\"><joint type=\"slide\" axis=\"1 0 0\"/><joint type=\"slide\" axis=\"0 0 1\"/><joint axis=\"0 1 0\"/>"
    "<geom type=\"capsule\" size=\".05\" fromto=\"-.1 0 0 .12 0 .02\" mass=\".7\" friction=\".44\"/></body>"
    "</worldbody><actuator><motor joint=\"a\"/><motor joint=\"b\"/></actuator></mujoco>";

// a free box, and an arm with a ball joint, in space
static const char *const space =
    "<mujoco><option gravity=\"0.1 .2 -9.81\"/><default><geom friction=\".5\"/></default><worldbody>"
    "<geom name=\"floor\" type=\"plane\" size=\"5 5 1\"/>"
    "<body pos=\"0 0 .3\"><freejoint/><geom type=\"box\" size=\".15 .1 .06\" mass=\"1\" friction=\".51\"/></body>"
    "<body pos=\".6 0 .5\"><joint type=\"ball\" damping=\".01\"/>"
    "<geom type=\"capsule\" size=\".03\" fromto=\"0 0 0 0 0 -.3\" mass=\".6\" friction=\".52\"/>"
    "<body pos=\"0 0 -.3\"><joint name=\"e\" axis=\"1 0 0\"/>"
    "<geom type=\"capsule\" size=\".03\" fromto=\"0 0 0 .1 0 -.12\" mass=\".4\" friction=\".53\"/></body></body>"
    "</worldbody><actuator><motor joint=\"e\"/></actuator></mujoco>";

// hulls of six and eight points, one of them on a hinge, and a wall that leans
static const char *const hulls =
    "<mujoco><option gravity=\"0.1 .2 -9.81\"/><default><geom friction=\".4\"/></default><asset>"
    "<mesh name=\"wedge\" vertex=\"-.15 -.1 -.05 .14 -.09 -.07 0 .13 -.06 -.1 -.05 .08 .12 -.04 .07 .02 .1 .09\"/>"
    "<mesh name=\"stone\" vertex=\"-.1 -.1 -.1 .1 -.08 -.1 .12 .1 -.08 -.1 .11 -.1 -.07 -.1 .1 .08 -.1 .12 .1 .07 .1 -.09 .1 .08\"/>"
    "</asset><worldbody><geom name=\"floor\" type=\"plane\" size=\"5 5 1\"/>"
    "<geom name=\"wall\" type=\"plane\" size=\"5 5 1\" pos=\".7 0 0\" euler=\"0 -80 5\"/>"
    "<body pos=\"0 0 .3\"><freejoint/><geom type=\"mesh\" mesh=\"wedge\" mass=\"1\" friction=\".41\"/></body>"
    "<body pos=\".3 .1 .35\"><joint type=\"slide\" axis=\"0 0 1\"/><joint name=\"e\" axis=\"1 .3 0\" damping=\".01\"/>"
    "<geom type=\"mesh\" mesh=\"stone\" mass=\".8\" friction=\".42\"/></body>"
    "</worldbody><actuator><motor joint=\"e\"/></actuator></mujoco>";

// a drum that falls on its rim, and another one that rolls
static const char *const drums =
    "<mujoco><option gravity=\"0.1 .2 -9.81\"/><default><geom friction=\".4\" type=\"cylinder\"/></default><worldbody>"
    "<geom name=\"floor\" type=\"plane\" size=\"5 5 1\"/><geom type=\"box\" size=\".3 .5 .1\" pos=\".6 0 0\"/>"
    "<body pos=\"0 0 .3\" euler=\"20 10 0\"><freejoint/><geom size=\".15 .07\" mass=\"1\" friction=\".41\"/></body>"
    "<body pos=\".6 .1 .35\" euler=\"70 10 0\"><joint type=\"slide\" axis=\"0 0 1\"/><joint name=\"e\" axis=\"1 .3 0\" damping=\".01\"/>"
    "<geom size=\".12 .1\" mass=\".8\" friction=\".42\"/></body></worldbody><actuator><motor joint=\"e\"/></actuator></mujoco>";

// brackets, which are not convex, on one that stands, with a ball, a rod and a box
#define BRACKET                                                                                                                 \
  "<asset><mesh name=\"b\" vertex=\"-.1 -.08 -.1 .1 -.08 -.1 .1 -.08 0 0 -.08 .01 0 -.08 .1 -.1 -.08 .12 -.1 .08 -.11 .1 .08 -.1 " \
  ".1 .08 0 0 .08 0 0 .08 .1 -.11 .08 .1\" face=\"0 1 2 0 2 3 0 3 4 0 4 5 6 8 7 6 9 8 6 10 9 6 11 10 0 7 1 0 6 7 1 8 2 1 7 8 "     \
  "2 9 3 2 8 9 3 10 4 3 9 10 4 11 5 4 10 11 5 6 0 5 11 6\"/></asset>"
#define HOLLOW(body)                                                                                                                   \
  "<mujoco><option gravity=\"0.1 .2 -9.81\"/><default><geom friction=\".4\"/></default>" BRACKET "<worldbody>"                          \
  "<geom name=\"floor\" type=\"mesh\" mesh=\"b\"/><body pos=\".06 .02 .35\" euler=\"10 160 20\"><freejoint/>"                          \
  "<geom type=\"mesh\" mesh=\"b\" mass=\"1\" friction=\".41\"/></body>" body "</worldbody></mujoco>"
static const char *const hollow[] = {
    HOLLOW(""),
    HOLLOW("<body pos=\".07 .03 .1\"><joint type=\"slide\" axis=\"0 .2 1\"/><joint axis=\"0 1 .3\"/>"
           "<geom size=\".06\" pos=\".02 0 0\" mass=\".8\" friction=\".42\"/></body>"),
    HOLLOW("<body pos=\".07 .03 .11\"><joint type=\"slide\" axis=\"0 .2 1\"/><joint type=\"ball\"/>"
           "<geom type=\"capsule\" size=\".03 .05\" mass=\".8\" friction=\".42\"/></body>"),
    HOLLOW("<body pos=\".07 .03 .11\"><joint type=\"slide\" axis=\"0 .2 1\"/><joint type=\"ball\"/>"
           "<geom type=\"box\" size=\".03 .04 .05\" mass=\".8\" friction=\".42\"/></body>"),
    HOLLOW("<body pos=\".07 .03 .11\"><joint type=\"slide\" axis=\"0 .2 1\"/><joint type=\"ball\"/>"
           "<geom type=\"cylinder\" size=\".03 .05\" mass=\".8\" friction=\".42\"/></body>"),
    HOLLOW("<body pos=\".07 .03 .11\"><joint type=\"slide\" axis=\"0 .2 1\"/><joint type=\"ball\"/>"
           "<geom type=\"ellipsoid\" size=\".03 .04 .05\" mass=\".8\" friction=\".42\"/></body>")};

// a drum over the edge of a step, a mesh that is not convex, and a state from which its rim meets it where it slides along the edge
static const char *const step_and_drum =
    "<mujoco><option gravity='0.1 .2 -9.81'/><default><geom friction='.4'/></default><asset><mesh name='step' vertex='-.3 -.5 -.1 "
    ".3 -.5 -.1 .3 -.5 0 .05 -.5 0 .05 -.5 .1 -.3 -.5 .1 -.3 .5 -.1 .3 .5 -.1 .3 .5 0 .05 .5 0 .05 .5 .1 -.3 .5 .1' "
    "face='0 1 2 0 2 3 0 3 4 0 4 5 6 8 7 6 9 8 6 10 9 6 11 10 0 7 1 0 6 7 1 8 2 1 7 8 2 9 3 2 8 9 3 10 4 3 9 10 4 11 5 4 10 11 5 6 0 "
    "5 11 6'/></asset><worldbody><geom name='floor' type='mesh' mesh='step'/><body pos='.05 0 .19' euler='5 8 30'><freejoint/>"
    "<geom type='cylinder' size='.2 .07' mass='1' friction='.41'/></body></worldbody></mujoco>";
#define STEP_AND_DRUM_Q                                                                                                                 \
  {0.014595266655247033, 0.026317498108451076, 0.19577744968426108, 0.95139487967071346, 0.044298312180786691, 0.025088657557048304,  \
   0.30373673096329235}
#define STEP_AND_DRUM_V                                                                                                                 \
  {-1.4519211833444086, -1.4016943401072783, -2.4676126810605896, -0.42066376907243175, -1.5934745419617893, -1.5142682616968992}

// What goes by velocity and what is implicit in the middle of a flow: an arm with servos, one of them at its range, springs, dampers and a
// tendon; a box that tumbles and an arm on a ball joint, fast enough to have momenta that are kept in part.
static const char *const turning =
    "<mujoco><option gravity=\"0.1 .2 -9.81\"/><default><geom friction=\".4\"/></default><worldbody>"
    "<geom name=\"floor\" type=\"plane\" size=\"5 5 1\"/>"
    "<body pos=\"0 0 .55\"><joint name=\"a\" axis=\"0 1 0\" damping=\".05\" stiffness=\"2\"/>"
    "<geom type=\"capsule\" size=\".04\" fromto=\"0 0 0 .3 0 -.1\" mass=\".8\" friction=\".41\"/>"
    "<body pos=\".3 0 -.1\"><joint name=\"b\" axis=\"0 1 .2\" armature=\".002\"/>"
    "<geom type=\"capsule\" size=\".03\" fromto=\"0 0 0 .2 0 -.2\" mass=\".5\" friction=\".42\"/></body></body>"
    "<body pos=\"0 .6 .3\"><freejoint/><inertial pos=\".02 -.01 .01\" mass=\"1\" fullinertia=\".012 .014 .006 .001 .002 -.001\"/>"
    "<geom type=\"box\" size=\".12 .08 .05\" friction=\".43\"/></body>"
    "<body pos=\".7 0 .5\"><joint name=\"c\" type=\"ball\" damping=\".01\" stiffness=\".5\"/>"
    "<geom type=\"capsule\" size=\".03\" fromto=\"0 0 0 .1 0 -.3\" mass=\".6\" friction=\".44\"/>"
    "<body pos=\".1 0 -.3\"><joint name=\"d\" axis=\"1 0 0\"/>"
    "<geom type=\"capsule\" size=\".03\" fromto=\"0 0 0 .1 .1 -.08\" mass=\".4\" friction=\".45\"/></body></body>"
    "</worldbody><tendon><fixed name=\"t\" stiffness=\"3\" damping=\".2\" springlength=\".1\"><joint joint=\"a\" coef=\".5\"/>"
    "<joint joint=\"b\" coef=\"-.3\"/></fixed></tendon><actuator><position joint=\"a\" kp=\"30\" kv=\"1\"/>"
    "<position joint=\"d\" kp=\"20\" kv=\".3\" forcerange=\"-.4 .4\"/><position tendon=\"t\" kp=\"5\" gear=\"1.5\"/>"
    "<velocity joint=\"b\" kv=\".4\"/></actuator></mujoco>";

// a ball on a rope, a strut from it to another one, and a rope from that over a pulley
#define FLIES "<joint type=\"slide\" axis=\"1 0 0\"/><joint type=\"slide\" axis=\"0 1 0\"/><joint type=\"slide\" axis=\"0 0 1\"/>"
static const char *const ropes =
    "<mujoco><option gravity=\"0.3 .1 -9.81\"/><default><geom contype=\"0\" conaffinity=\"0\" size=\".1\"/></default><worldbody>"
    "<site name=\"o\"/><site name=\"p\" pos=\".9 .1 .3\"/><site name=\"r\" pos=\".7 .1 .3\"/>"
    "<body pos=\".3 0 -.1\">" FLIES "<geom mass=\".8\"/><site name=\"a\"/></body>"
    "<body pos=\".6 .1 -.1\">" FLIES "<joint name=\"e\" axis=\"0 1 .2\"/><geom mass=\".5\" pos=\".02 0 .03\"/>"
    "<site name=\"b\" pos=\"-.03 0 .04\"/><site name=\"c\" pos=\".05 .01 0\"/></body></worldbody><tendon>"
    "<spatial limited=\"true\" range=\"0 .45\"><site site=\"o\"/><site site=\"a\"/></spatial>"
    "<spatial limited=\"true\" range=\".2 .4\"><site site=\"a\"/><site site=\"b\"/></spatial>"
    "<spatial limited=\"true\" range=\"0 .75\"><site site=\"c\"/><site site=\"p\"/><pulley divisor=\"2\"/><site site=\"r\"/>"
    "<site site=\"a\"/></spatial></tendon><actuator><motor joint=\"e\"/></actuator></mujoco>";

// an arm of which a joint follows another's, and a ball that falls on it
static const char *const coupled =
    "<mujoco><option gravity=\"0.3 0 -9.81\"/><default><geom friction=\".4\"/></default><worldbody>"
    "<geom name=\"floor\" type=\"plane\" size=\"5 5 1\"/>"
    "<body pos=\"-.3 0 .12\"><joint name=\"a\" axis=\"0 1 0\" damping=\".03\"/>"
    "<geom type=\"capsule\" size=\".03\" fromto=\"0 0 0 .3 0 0\" mass=\".7\" friction=\".41\"/>"
    "<body pos=\".3 0 0\"><joint name=\"b\" axis=\"0 1 .2\"/>"
    "<geom type=\"capsule\" size=\".02\" fromto=\"0 0 0 .25 0 -.07\" mass=\".4\" friction=\".42\"/></body></body>"
    "<body pos=\".5 0 .12\"><joint name=\"c\" axis=\"1 1 0\" stiffness=\".5\"/>"
    "<geom type=\"capsule\" size=\".02\" fromto=\"0 0 0 .2 0 -.06\" mass=\".3\"/></body>"
    "<body pos=\"-.1 .02 .28\"><freejoint/><geom type=\"sphere\" size=\".08\" mass=\".5\" friction=\".43\"/></body>"
    "</worldbody><equality><joint joint1=\"b\" joint2=\"c\" polycoef=\"0 -.7 .2 0 0\"/></equality>"
    "<actuator><position joint=\"a\" kp=\"10\" kv=\".2\"/></actuator></mujoco>";

// an arm whose end is pinned to a box and a ball that is welded to that, all of them free, above a floor
static const char *const bonded =
    "<mujoco><option gravity=\"0.3 0 -9.81\"/><default><geom friction=\".4\"/></default><worldbody>"
    "<geom name=\"floor\" type=\"plane\" size=\"5 5 1\"/>"
    "<body pos=\"-.3 0 .16\"><freejoint/><geom type=\"sphere\" size=\".06\" mass=\".7\" friction=\".41\"/>"
    "<body name=\"arm\" pos=\".1 0 0\"><joint name=\"a\" axis=\"0 1 .2\" damping=\".02\"/>"
    "<geom type=\"capsule\" size=\".02\" fromto=\"0 0 0 .25 0 -.07\" mass=\".4\" contype=\"0\" conaffinity=\"0\"/></body></body>"
    "<body name=\"box\" pos=\".25 .05 .18\" euler=\"20 30 10\"><freejoint/>"
    "<geom type=\"box\" size=\".1 .07 .05\" mass=\".6\" friction=\".43\"/></body>"
    "<body name=\"ball\" pos=\".6 0 .18\"><freejoint/><geom type=\"sphere\" size=\".07\" mass=\".5\" friction=\".44\"/></body></worldbody>"
    "<contact><exclude body1=\"box\" body2=\"ball\"/></contact>"
    "<equality><connect body1=\"arm\" body2=\"box\" anchor=\".25 0 -.07\"/>"
    "<weld body1=\"box\" body2=\"ball\" anchor=\".02 .03 .01\"/></equality>"
    "<actuator><position joint=\"a\" kp=\"10\" kv=\".2\"/></actuator></mujoco>";

// the model's state and numbers, but for restitution, which its file has not
static inline void reset(tgSim *s) {
  int rows, cols;
  tg_sim_reset(s);
  tgReal *e = tg_sim_param(s, "geom_restitution", &rows, &cols);
  for (int i = 0; i < rows; i++) e[i] = 0.3 + 0.08 * i;
}

// a random state with bodies apart, within that spread about the model's; false: this one is not
static inline bool draw_within(tgSim *s, tgtRandom *r, double spread, double speed, double h) {
  const tgModel *m = &s->m;
  tgReal w[EVENT_MOST], q[EVENT_MOST], v[EVENT_MOST], u[EVENT_MOST];
  reset(s);
  for (int d = 0; d < m->nv; d++) {
    w[d] = tgt_uniform(r, -spread, spread);
    v[d] = speed * tgt_uniform(r, -1, 1);
  }
  for (int i = 0; i < m->nu; i++) u[i] = tgt_uniform(r, -1, 1);
  tg_model_integrate(m, s->qpos, w, q);
  memcpy(s->qpos, q, (size_t)m->nq * sizeof *q);
  memcpy(s->qvel, v, (size_t)m->nv * sizeof *v);
  memcpy(s->ctrl, u, (size_t)m->nu * sizeof *u);
  tgStepInfo info;
  tgStatus status = tg_sim_step_growing(s, h, &info);
  bool good = status == TG_OK && info.nimpact >= 2 && info.nimpact <= 12 && info.nstalled == 0;
  reset(s);
  memcpy(s->qpos, q, (size_t)m->nq * sizeof *q);
  memcpy(s->qvel, v, (size_t)m->nv * sizeof *v);
  memcpy(s->ctrl, u, (size_t)m->nu * sizeof *u);
  return good;
}

static inline bool draw(tgSim *s, tgtRandom *r, double speed, double h) { return draw_within(s, r, 0.35, speed, h); }

#endif
