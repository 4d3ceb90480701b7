// oval.h: how far two solids are apart of which one is an ellipsoid, and when two that move come near.
//
// Based on: [GJK], distance by simplices of the Minkowski difference. Double throughout; what is returned never promises too much: it is
// the width of a slab that parts the solids.
#ifndef TG_COLL_SURFACES_OVAL_H
#define TG_COLL_SURFACES_OVAL_H

#include "tangere/base.h"

/// All that is within `round` of the triangle x, or of an ellipsoid about x[0..2], its semi-axes the rows of `axes`.
typedef struct tgiOvalPart { double x[9], round; bool oval; double axes[9]; } tgiOvalPart;

/// Distance of a and b, at least: to a thousandth of it where it is more than 1e-4 of their size, nearer less so (under 1e-6 it may be 0),
/// 0 where they meet; n (unit) from b to a.
double tgi_oval_distance(const tgiOvalPart *a, const tgiOvalPart *b, double n[3]);

/// Corners, centres and semi-axes move along straight lines, uniformly, from the first to the second of each: until the time returned, in
/// [0, until], the distance is at least gap; below `until` it has come down to gap + tol.
double tgi_oval_sweep(const tgiOvalPart a[2], const tgiOvalPart b[2], double gap, double tol, double until);

#endif
