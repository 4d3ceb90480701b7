// last_speeds.h: a loss for rollouts that are timed: the sum of squares of the last state's velocities, so that every step counts.
#ifndef TG_BENCH_LAST_SPEEDS_H
#define TG_BENCH_LAST_SPEEDS_H

#include "tangere/rollout.h"

/// As tgRolloutRun.loss; ctx: nv, an int.
static inline tgStatus tgb_last_speeds(void *ctx, tgSim *sim, int t, int steps, tgReal *value, tgReal *gq, tgReal *gv, tgReal *gu) {
  int nv = *(const int *)ctx;
  const tgReal *v = tg_sim_qvel(sim);
  (void)gq;
  (void)gu;
  for (int d = 0; d < nv && t == steps; d++) {
    *value += v[d] * v[d] / 2;
    if (gv != NULL) gv[d] = v[d];
  }
  return TG_OK;
}

#endif
