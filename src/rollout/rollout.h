// rollout.h: what batches and checks see of a rollout.
#ifndef TG_ROLLOUT_ROLLOUT_H
#define TG_ROLLOUT_ROLLOUT_H

#include "sim/sim.h"
#include "tangere/rollout.h"

/// Steps T of the rollout.
int tgi_rollout_steps(const tgRollout *r);
/// Its step size [s].
double tgi_rollout_timestep(const tgRollout *r);
/// A rollout is as right as its worst step; the first in time of those that are as bad gives the reason. one: of step t.
void tgi_grad_merge(tgGradInfo *all, const tgGradInfo *one, int t);
/// *all becomes the worse of two gradients' accounts: the higher label, at the same label the one with a step that had not converged. That
/// there was such a step stays said, whichever it is.
void tgi_grad_worst(tgGradInfo *all, const tgGradInfo *one);

#endif
