// effort.h: a price on the speed of what actuators drive, relative to the scale of a task's own losses.
#ifndef TG_OPTIM_EFFORT_H
#define TG_OPTIM_EFFORT_H

#include "optim/task.h"

/// The task's `effort`, a number, as one more running term in task->term, which has room for it; "off" or nothing adds none. Its weight
/// is that number times the loss of the start: the sum of what the other terms are there, each by its weight, but for those at the least
/// of the motion and those that count from a later stage on. TG_ERR_INVALID: it is no number, nothing is driven, or the start has no loss.
tgStatus tgi_effort_resolve(tgTask *task, tgError *error);

#endif
