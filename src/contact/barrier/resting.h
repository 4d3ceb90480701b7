// resting.h: the weight of a pair from the gap at which it shall rest.
#ifndef TG_CONTACT_BARRIER_RESTING_H
#define TG_CONTACT_BARRIER_RESTING_H

#include "contact/barrier/barrier.h"

/// Force per unit of weight with which the pair's geoms, at the model's sizes, face each other with their largest flat sides at the gap;
/// of a core its own shape counts. 0: they have no such pose (other parts are in the way), or the potential does not reach so far.
/// [math/barrier Resting gap] TG_ERR_MEMORY.
tgStatus tgi_resting_force(const tgModel *m, const tgiBarrier *k, const tgiGeomPair *g, double gap, double *force);

#endif
