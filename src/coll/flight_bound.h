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

/// Bounds over a stretch of time: speed, acceleration and its change of a sphere's points, turning speed, as seen from what a dof carries.
typedef struct tgiSpeeds { double speed, acceleration, jerk, turn; } tgiSpeeds;

/// Rates of the path at the two ends of a stretch `span` long, and how they change: d0, d1 (nv) in the path's coordinates, slope =
/// (v1 - v0)/s; w (nv): where on the path it begins. pose: there.
typedef struct tgiStretch {
  const tgModel *m;
  const tgPose *pose;
  const double *d0, *d1, *slope, *w;
  double span;
} tgiStretch;

/// Where geom g is placed.
void tgi_geom_centre(const tgPose *pose, int g, double c[3]);
/// Of the points of a body within r of c (world, at the pose), as seen from what carries dof `stop` (-1: the world).
tgiSpeeds tgi_stretch_speeds(const tgiStretch *k, int body, int stop, const double c[3], double r);
/// Of a ball or a capsule about its core, else 0.
double tgi_core_radius(const tgModel *m, int geom);
/// The same of a geom's core; a ball does not turn.
tgiSpeeds tgi_stretch_core(const tgSim *s, const tgiStretch *k, int geom, int stop);
/// The last dof that carries both bodies, -1: none.
int tgi_common_dof(const tgModel *m, int body1, int body2);

/// How long pair stays above `level` by the bound above, at most k->span; n (from geom2 to geom1) separates them by at least that.
/// V1, V2: twists of the bodies at the pose. Tried as seen from either body.
double tgi_flight_clear(tgSim *s, const tgiStretch *k, int pair, const double n[3], const double V1[6], const double V2[6], double level);

/// The same of a pair that touches by its faces: of every two that are within `within`, what is farther being clear by how fast the bodies
/// come nearer at most.
double tgi_flight_clear_faces(tgSim *s, const tgiStretch *k, int pair, const double V1[6], const double V2[6], double fastest,
                              double within, double level);

// Above a plane that stays where it is the distance of a body's point is f(d) = n.x - const, whose third derivative is at most J. Known at
// 0, with its rate there, and at D it is, by the parabola through them, with t = d/D,
//   f(d) >= (1 - t^2) f(0) + d (1 - t) f'(0) + t^2 f(D) - J d^2 (D - d)/6,
// so that f stays above a level up to D where it is at 0 and at D, and 2 (f(0) - level) + D f'(0) >= J D^3/6. What slides or rolls has
// f' = f'' = 0 but for the path's own error: this falls with d^3, where a bound by accelerations falls with d^2.

/// A geom over a plane that stays where it is.
typedef struct tgiOver {
  int geom;
  double n[3], off, radius, reach;   // n.x = off on the plane; of the ball that goes along the geom's core; of the core's points
} tgiOver;
/// False: the pair is none, or has no points that stay on the body and meet.
bool tgi_over_plane(const tgSim *s, const tgPose *pose, int pair, tgiOver *o);
/// Least of a f + b f' over the geom, at a pose where its twist is V.
double tgi_over_lowest(tgSim *s, const tgPose *pose, const tgiOver *o, const double V[6], double a, double b);

#endif
