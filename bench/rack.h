// rack.h: a rack of 15 balls with a cue ball 1 m before it, on the ground; balls are octahedral geodesic meshes.
#ifndef TG_BENCH_RACK_H
#define TG_BENCH_RACK_H

#include "tangere/model.h"

enum { TGB_RACK_BALLS = 16 };
#define TGB_RACK_RADIUS 0.1   // [m]

/// Balls of 8 f^2 triangles each, the cue ball the last body; ground 0: a plane, 1: a box of 12 triangles. NULL: says why on stdout.
tgModel *tgb_rack(int f, int ground);

#endif
