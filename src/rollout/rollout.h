// rollout.h: what batches and checks see of a rollout.
#ifndef TG_ROLLOUT_ROLLOUT_H
#define TG_ROLLOUT_ROLLOUT_H

#include "sim/sim.h"
#include "tangere/rollout.h"

/// Steps T of the rollout.
int tgi_rollout_steps(const tgRollout *r);
/// Its step size [s].
double tgi_rollout_timestep(const tgRollout *r);
/// A rollout is as right as its worst step; the first step in time gives the reason. one: of step t.
void tgi_grad_merge(tgGradInfo *all, const tgGradInfo *one, int t);

#endif
