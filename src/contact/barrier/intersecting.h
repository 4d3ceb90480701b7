// intersecting.h: says which bodies touch where a potential needs them apart.
#ifndef TG_CONTACT_BARRIER_INTERSECTING_H
#define TG_CONTACT_BARRIER_INTERSECTING_H

#include "contact/barrier/barrier.h"

/// TG_ERR_INVALID names the first pair of geoms that touch at the pose of the last tgi_barrier_pairs, with faces and
/// depth, or of which one is wholly inside the other.
tgStatus tgi_barrier_check_separated(tgSim *s);

#endif
