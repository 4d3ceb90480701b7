// flight.h: the first contact along a path of even acceleration in joint space.
//
// The path is q (+) w(t), w(t) = t v0 + t^2/(2 s) (v1 - v0), 0 <= t <= s: joints run through parabolas, bodies turn. Nothing is sampled:
// each pair of geoms is let go only as far as bounds on its motion show it clear of what it may not pass (flight_bound.h).
// Based on: [math/toi First contact].
#ifndef TG_COLL_FLIGHT_H
#define TG_COLL_FLIGHT_H

#include "sim/sim.h"

/// A path; arrays are the caller's, v0 and v1 of nv.
typedef struct tgiFlight {
  const tgReal *q, *v0, *v1;
  tgReal s;
} tgiFlight;

/// w (nv) = w(t) and u (nv) = dw/dt there.
void tgi_flight_at(const tgModel *m, const tgiFlight *f, tgReal t, tgReal *w, tgReal *u);
/// The pose at t, and its velocity there in tangent coordinates of that pose, u (nv). Scratch: w (nv), q (nq).
void tgi_flight_pose(const tgModel *m, const tgiFlight *f, tgReal t, tgReal *w, tgReal *q, tgPose *pose, tgReal *u);

/// The same of what pair's geoms are placed by alone: nothing else of the pose and of u is touched. Scratch: w, x (nv).
void tgi_flight_pair(const tgModel *m, const tgiFlight *f, tgReal t, int pair, tgReal *w, tgReal *x, tgPose *pose, tgReal *u);

/// Newton's steps to a root on a path of `length` have come to it: a step of `change` after one of `before` is 0, or is short and no longer
/// shrinks, being what rounding makes of a gap of 0. Never in the complex build, in which the imaginary part comes one step later.
static inline bool tgi_root_stays(double change, double before, double length) {
#ifdef TG_COMPLEX
  (void)change, (void)before, (void)length;
  return false;
#else
  return change == 0 || (change <= 1e-12 * length && change >= 0.5 * before);
#endif
}

/// A contact that is closed at the path's start, and the gap down to which it may come, above that at which all others meet.
typedef struct tgiClosed {
  int pair, feature;
  double level;
} tgiClosed;

/// A contact that the search for contacts lists at the path's start.
typedef struct tgiStartPoint {
  int pair, feature;
  tgReal p[3], n[3], gap;
} tgiStartPoint;

/// A contact that is known to meet at t of the path, though others may before.
typedef struct tgiKnown {
  int pair, feature;
  double t;
} tgiKnown;

/// What the search looks for, and what it has found.
typedef struct tgiFirst {
  double meet;                 ///< gap at which contacts that are not closed meet
  const tgiClosed *closed;     ///< sorted by pair
  int nclosed;
  const tgiStartPoint *start;  ///< sorted by pair: all that tgi_contacts lists there
  int nstart;
  tgiKnown known;              ///< pair -1: none
  double still;                ///< a length that is nothing beside the least level
  double t;                    ///< of the first contact, or up to which nothing meets
  int pair, feature;           ///< the contact; pair -1: none up to t
  int which;                   ///< of `closed` it is; -1: it is not one of them
  bool settled;                ///< t is the root of its gap above its level; else it has none there, and t is when the search came to it
  double fastest;              ///< no two points near each other faster
  int stuck;                   ///< the pair that was looked at last, where the search took too many looks; else -1
  int looks;                   ///< pairs that were looked at, one after the other
} tgiFirst;

/// The first contact along a path, at whose start s->start is. f->t < s with no pair: the search took too many looks, and nothing meets
/// up to t; f->stuck says of which pair. The pose s->trial is undefined afterwards. TG_ERR_CAPACITY: scratch is short.
tgStatus tgi_first_contact(tgSim *s, const tgiFlight *path, tgiFirst *f);

/// Of a contact at a pose with velocity u: gap and its rate; false: the pair does not have that feature there.
bool tgi_flight_gap(tgSim *s, const tgPose *pose, const tgReal *u, int pair, int feature, tgReal *gap, tgReal *rate);

#endif
