// flight_bound.h: how far a pair of geoms may be let go along a path of even acceleration (flight.h).
//
// Seen from one of the two bodies the other moves, and at held n the separation h = min n.a - max n.b of the two convex shapes bounds
// their distance from below at all times. With x a point of the moving one, W = (w; v) its twist and A a bound on its acceleration there,
//   h(t + d) >= d n.v + min x.(n + d n x w) - max n.b - A d^2/2,
// which is concave in d: it is above a level from 0 up to its one root. Pressed faces that slide on each other have n.(v + w x x) = 0
// for all their points, so that the bound falls with d^2 alone.
// Based on: [math/toi First contact].
#ifndef TG_COLL_FLIGHT_BOUND_H
#define TG_COLL_FLIGHT_BOUND_H

#include "coll/flight.h"

/// Bounds over a stretch of time: speed and acceleration of a sphere's points, turning speed, as seen from what a dof carries.
typedef struct tgiSpeeds { double speed, acceleration, turn; } tgiSpeeds;

/// Rates of the path at the two ends of a stretch `span` long, and how they change: d0, d1 (nv) in the path's coordinates, slope =
/// (v1 - v0)/s; w (nv): where on the path it begins. pose: there.
typedef struct tgiStretch {
  const tgModel *m;
  const tgPose *pose;
  const double *d0, *d1, *slope, *w;
  double span;
} tgiStretch;

/// Of the points of a body within r of c (world, at the pose), as seen from what carries dof `stop` (-1: the world).
tgiSpeeds tgi_stretch_speeds(const tgiStretch *k, int body, int stop, const double c[3], double r);
/// The last dof that carries both bodies, -1: none.
int tgi_common_dof(const tgModel *m, int body1, int body2);

/// How long pair stays above `level` by the bound above, at most k->span; n (from geom2 to geom1) separates them by at least that.
/// V1, V2: twists of the bodies at the pose. Tried as seen from either body.
double tgi_flight_clear(tgSim *s, const tgiStretch *k, int pair, const double n[3], const double V1[6], const double V2[6], double level);

#endif
