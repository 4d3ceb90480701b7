// sweep.h: distance of two surfaces and the first contact of two that move, by their sphere trees.
//
// Based on: [math/collision Continuous]. Double throughout.
#ifndef TG_COLL_SURFACES_SWEEP_H
#define TG_COLL_SURFACES_SWEEP_H

#include "geom/sphere_tree.h"

/// A surface with its tree, geom frame.
typedef struct tgiSolid { const tgiSurface *surface; const tgiTree *tree; const tgiTreeNumbers *number; } tgiSolid;
/// x = R y + p of a point y of the geom frame.
typedef struct tgiRigid { double R[9], p[3]; } tgiRigid;
/// Through p with unit normal n, the half-space below.
typedef struct tgiPlane { double p[3], n[3]; } tgiPlane;

/// Least of the distance and cap. Cheap when the spheres are cap apart. pa NULL: poses are from a's frame.
double tgi_solid_distance(const tgiSolid *a, const tgiRigid *pa, const tgiSolid *b, const tgiRigid *pb, double cap);
/// Vertices move along straight lines from their places at the first pose to those at the second: until the time that is returned, in [0,
/// until], the distance is at least gap; below `until` it has come down to gap + tol by then. A time <= enough may be returned for any
/// earlier one. until <= 1.
double tgi_solid_sweep(const tgiSolid *a, const tgiRigid pa[2], const tgiSolid *b, const tgiRigid pb[2], double gap, double tol,
                       double enough, double until);

/// The same against a half-space at rest: height of the lowest vertex over the plane (negative below), and the time at which it falls to
/// gap.
double tgi_solid_height(const tgiSolid *a, const tgiRigid *pa, const tgiPlane *plane, double cap);
double tgi_solid_fall(const tgiSolid *a, const tgiRigid pa[2], const tgiPlane *plane, double gap, double until);

#endif
