// ssdf_near.h: the searches of ssdf_tree.h, compiled for every width of vectors. Results differ between them by rounding, within what the bounds allow.
#ifndef TG_COLL_SSDF_NEAR_H
#define TG_COLL_SSDF_NEAR_H

#include "coll/ssdf_tree.h"
#include "math/isa.h"

/// What squares of distances may be wrong by, relative.
#define TGI_SSDF_ROUNDING 2e-15

#define TGI_SSDF_SEARCHES(width)                                                                                                                \
  void tgi_ssdf_nearest_##width(const tgiSsdfTree *tree, const tgiSsdfNumbers *z, const double *c, double below, bool about,                    \
                                tgiSsdfNearest *near);                                                                                          \
  void tgi_ssdf_gather_##width(const tgiSsdfTree *tree, const tgiSsdfNumbers *z, const double *c, double r, double cut,                         \
                               const tgiSsdfNearest *near, int *blocks, int *count);                                                            \
  void tgi_ssdf_above_##width(const tgiSsdfTree *tree, const tgiSsdfNumbers *z, const tgiSsdfBall *ball, double cut, double level, bool *above);
TGI_SSDF_SEARCHES(2)
TGI_SSDF_SEARCHES(4)
TGI_SSDF_SEARCHES(8)

#endif
