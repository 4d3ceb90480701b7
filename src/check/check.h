// check.h: what the checks of a step and of a rollout share.
#ifndef TG_CHECK_CHECK_H
#define TG_CHECK_CHECK_H

#include "check/mode.h"
#include "check/numdiff.h"
#include "tangere/grad.h"

/// Appends a block with its name and tolerance; NULL when the list is full.
tgGradBlock *tgi_check_block(tgGradCheck *check, const char *name, double tolerance);
/// Settles block->pass from its error, and the whole check's.
void tgi_check_verdict(tgGradCheck *check, tgGradBlock *block);
/// Joint of dof i, with the dof's place in the joint when it has several: "root[3]".
void tgi_check_dof_name(const tgModel *m, int dof, char *text, size_t size);
/// Of the part w = (v, act) of a state: joint of a dof, or actuator of an activation.
void tgi_check_rate_name(const tgModel *m, int i, char *text, size_t size);
void tgi_check_actuator_name(const tgModel *m, int actuator, char *text, size_t size);

/// A loss as a function of a step (n) of its variables. TG_CANCELLED ends what asks for it; another status is a step that cannot be taken.
typedef struct tgiTrustMap {
  int n;
  tgStatus (*loss)(void *ctx, const double *step, double *value);
  void *ctx;
} tgiTrustMap;
/// TG_ERR_ARG with the error set: the options are not of tg_trust_default, or out of their ranges.
tgStatus tgi_trust_options_check(const tgTrustOptions *options, tgError *error);
/// Fills slope, range, beyond and runs. loss, g (n): at no step. work: 2 n.
tgStatus tgi_trust_range(const tgiTrustMap *map, const tgTrustOptions *options, double loss, const double *g, double *work, tgTrust *trust);
/// Runs the rollout with its gradient, as `given` wants it, and fills loss, grad, growth, step, multiplied and by.
tgStatus tgi_trust_growth(tgRollout *rollout, const tgRolloutRun *given, tgTrust *trust, tgError *error);

#endif
