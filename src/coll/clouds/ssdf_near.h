// ssdf_near.h: the searches of ssdf_tree.h, compiled for every width of vectors. Results differ between them by
// rounding, within what the bounds allow.
#ifndef TG_COLL_CLOUDS_SSDF_NEAR_H
#define TG_COLL_CLOUDS_SSDF_NEAR_H

#include "coll/clouds/ssdf_tree.h"
#include "math/isa.h"

/// What squares of distances may be wrong by, relative.
#define TGI_SSDF_ROUNDING 2e-15

TGI_ISA_DECLARE(tgi_ssdf_nearest, (const tgiSsdfTree *tree, const tgiSsdfNumbers *z, const double *c, double below,
                                   bool about, tgiSsdfNearest *near))
TGI_ISA_DECLARE(tgi_ssdf_gather, (const tgiSsdfTree *tree, const tgiSsdfNumbers *z, const double *c, double r,
                                  double cut, const tgiSsdfNearest *near, int *blocks, int *count))
TGI_ISA_DECLARE(tgi_ssdf_above, (const tgiSsdfTree *tree, const tgiSsdfNumbers *z, const tgiSsdfBall *ball, double cut,
                                 double level, bool *above))

#endif
