// verify.h: what a task's `verify` says, checked.
#ifndef TG_OPTIM_VERIFY_H
#define TG_OPTIM_VERIFY_H

#include "optim/task.h"

/// Every replay that the file names is one that some contact model has.
tgStatus tgi_verify_resolve(const tgTask *task, tgError *error);
/// The task under the conditions of replay `name`, for rollouts with gradients; tg_task_free. NULL: error says why there is none.
tgTask *tgi_verify_view(const tgTask *task, const char *name, tgError *error);
/// The criterion of the task's own motion: each bound that it gives; none given: any finite loss will do.
bool tgi_task_met(const tgTask *task, double loss, double distance);
/// The task says where its method stops, by a loss or a distance; and whether that is met, by either.
bool tgi_task_can_stop(const tgTask *task);
bool tgi_task_stops(const tgTask *task, double loss, double distance);
/// How far from held the worst replay that is required is: its distance or loss over the bound; 0: all hold, INFINITY: one ended early or
/// cannot be expressed.
double tgi_verify_worst(const tgTask *task, const tgVerification *v);

#endif
