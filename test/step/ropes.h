// ropes.h: a box on two ropes, one of them over a pulley to an arm, which a strut holds: a scene for tests.
#ifndef TG_TEST_STEP_ROPES_H
#define TG_TEST_STEP_ROPES_H

static const char *const ropes =
    "<mujoco><option gravity=\"0.1 .2 -9.81\"/><default><geom contype=\"0\" conaffinity=\"0\"/></default><worldbody>"
    "<site name=\"w\" pos=\"0 0 1.2\"/><site name=\"p\" pos=\".5 .1 1.3\"/><site name=\"p2\" pos=\".55 .1 1.3\"/>"
    "<site name=\"x\" pos=\"1.2 .1 1\"/>"
    "<body pos=\"0 0 .7\"><freejoint/><geom type=\"box\" size=\".1 .08 .05\" mass=\"1\"/>"
    "<site name=\"a\" pos=\".08 0 .05\"/><site name=\"b\" pos=\"-.05 .06 .04\"/></body>"
    "<body pos=\".8 0 .9\"><joint name=\"e\" axis=\"0 1 0\" damping=\".02\"/>"
    "<geom type=\"capsule\" size=\".03\" fromto=\"0 0 0 .25 0 -.1\" mass=\".6\"/>"
    "<body pos=\".25 0 -.1\"><joint axis=\"0 1 .2\"/><geom type=\"capsule\" size=\".02\" fromto=\"0 0 0 .2 .05 -.15\" mass=\".4\"/>"
    "<site name=\"t\" pos=\".2 .05 -.15\"/></body></body></worldbody><tendon>"
    "<spatial limited=\"true\" range=\"0 .55\"><site site=\"w\"/><site site=\"a\"/></spatial>"
    "<spatial limited=\"true\" range=\"0 1.35\"><site site=\"b\"/><site site=\"p\"/><pulley divisor=\"2\"/>"
    "<site site=\"p2\"/><site site=\"t\"/></spatial>"
    "<spatial limited=\"true\" range=\".25 .6\"><site site=\"x\"/><site site=\"t\"/></spatial></tendon>"
    "<actuator><motor joint=\"e\"/></actuator></mujoco>";

#endif
