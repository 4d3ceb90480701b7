// reach.h: a loss for tests: squared distance of a body from a target at every step and at the end, with control and speed costs.
#ifndef TG_TEST_REACH_H
#define TG_TEST_REACH_H

#include "sim/sim.h"
#include "tangere/rollout.h"

/// l = w |x_body - target|^2 + speed |v|^2 + control |u|^2 at each step, w = final at the end, else `running`.
typedef struct tgtReach {
  int body;
  double target[3], running, final, speed, control;
  int calls, derivative_calls;   ///< counted, not for use from several threads
  bool count;
} tgtReach;

/// Its tgLossParamFn.
tgStatus tgt_reach_param(void *ctx, tgSim *sim, int t, int steps, tgParamGrad *dp);
/// tgLossFn, ctx a tgtReach.
tgStatus tgt_reach(void *ctx, tgSim *sim, int t, int steps, tgReal *value, tgReal *gq, tgReal *gv, tgReal *gu);

#endif
