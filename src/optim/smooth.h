// smooth.h: gradients of a task's smoothed loss, by rollouts at normal perturbations of the decision variables.
#ifndef TG_OPTIM_SMOOTH_H
#define TG_OPTIM_SMOOTH_H

#include "optim/task.h"

/// The perturbations of a task, drawn once, and what runs them. The task, low and high (n) outlive it.
typedef struct tgSmoother tgSmoother;

/// NULL: error filled (no memory, no spread).
tgSmoother *tgi_smoother_create(const tgTask *task, const double *low, const double *high, const tgSmoothOptions *o,
                                const tgAllocator *alloc, tgError *error);
void tgi_smoother_free(tgSmoother *s);
/// As tg_task_smoothed. *distance: of x's own motion, as tgi_evaluator_distance.
tgStatus tgi_smoother_run(tgSmoother *s, const double *x, const volatile int *cancel, double *g, tgSmoothed *out, double *distance,
                          tgError *error);

#endif
