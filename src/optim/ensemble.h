// ensemble.h: a motion under several conditions at once. A stage of a refinement may ask for it: its loss is then the mean of the losses
// of the motion and of replays, so that what is found holds in them.
#ifndef TG_OPTIM_ENSEMBLE_H
#define TG_OPTIM_ENSEMBLE_H

#include "optim/task.h"

typedef struct tgEnsemble tgEnsemble;

/// Replays of the motion that the stage's loss takes in; 0: none.
int tgi_ensemble_size(const tgTask *stage);
/// The replays that the stage asks for exist, and `method` can follow it.
tgStatus tgi_ensemble_check(const tgTask *stage, tgMethod method, tgSmoothOrder smoothing, tgError *error);
/// The replays of a stage, of which it has one at least. NULL: error says why.
tgEnsemble *tgi_ensemble_create(const tgTask *stage, size_t tape_bytes, tgError *error);
void tgi_ensemble_free(tgEnsemble *e);
/// Hash of all that the replays' losses depend on beyond the stage's, continued from h.
uint64_t tgi_ensemble_key(uint64_t h, const tgEnsemble *e);
/// Loss *f and gradient g (or NULL) of the motion of x become the means over it and its replays; grad takes the worst label in. Another
/// status than TG_OK: of the first replay that came to no end, which error names.
tgStatus tgi_ensemble_mean(tgEnsemble *e, const double *x, const volatile int *cancel, double *f, double *g, tgGradInfo *grad,
                           tgError *error);

#endif
