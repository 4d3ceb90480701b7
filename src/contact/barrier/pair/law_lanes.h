// law_lanes.h: the blend of law.h on vectors. Included by kernels only.
#ifndef TG_CONTACT_BARRIER_PAIR_LAW_LANES_H
#define TG_CONTACT_BARRIER_PAIR_LAW_LANES_H

#include "math/lanes.h"

TGI_LANE void blend(V s, V f[3]) {
  V t = 1.0 - s, st = s * t;
  f[0] = s * s * s * (10.0 - 15.0 * s + 6.0 * s * s);
  f[1] = 30.0 * st * st;
  f[2] = 60.0 * st * (1.0 - 2.0 * s);
}

#endif
