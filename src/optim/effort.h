// effort.h: a price on the speed of what actuators drive, relative to the scale of a task's own losses.
#ifndef TG_OPTIM_EFFORT_H
#define TG_OPTIM_EFFORT_H

#include "optim/task.h"

/// The task's `effort`, as one more running term in task->term, which has room for it. Its weight is that share times the loss of the
/// start: the sum of what the other terms are there, each by its weight, but for those at the least of the motion and those that count from
/// a later stage on. A file that is silent gets the default share, unless something speaks against it (tgEffort.reason). TG_ERR_INVALID:
/// the file's is no number, nothing is driven, or the start has no loss.
tgStatus tgi_effort_resolve(tgTask *task, tgError *error);
/// The weight for the terms and the start as they are now; 0 where the start has no loss. Nothing changes where that fails.
tgStatus tgi_effort_follow(tgTask *task, tgError *error);
/// Loss term i was given a weight of its own: that of the effort stays as it is from then on.
void tgi_effort_fixed(tgTask *task, int i);

#endif
