// narrow.h: contact points of one pair of convex shapes, with exact derivatives.
#ifndef TG_COLL_NARROW_H
#define TG_COLL_NARROW_H

#include "geom/hull.h"
#include "math/vec3.h"
#include "tangere/desc.h"

/// A geom as collision sees it. Cylinders, ellipsoids, boxes and meshes may carry a hull.
typedef struct tgShape {
  tgGeomType type;
  const tgReal *size;     ///< MuJoCo's size: sphere r; capsule r, half length (axis z); box half lengths
  const tgHull *hull;     ///< NULL for plane, sphere, capsule
  const tgReal *pos;      ///< world position of the geom frame
  const tgReal *mat;      ///< world rotation of the geom frame, row-major
} tgShape;

enum {
  TG_PAIR_POINTS = 8,     ///< at most so many points from one pair
  TG_PAIR_MEMORY = 2      ///< ints of discrete memory of one pair: reference feature; 0 when fresh
};

/// One contact point. n is the unit normal from B to A; gap > 0 apart, < 0 overlapping, along n.
typedef struct tgContactPoint {
  tgReal p[3], n[3], gap;
  int feature;            ///< identifies the pair of features; the same features give the same number
  bool tie;               ///< at a switch of features (within 1e-9 of scale): derivatives are one-sided
  tgReal D[7][12];        ///< d(p, n, gap)/d(twist A, twist B); twists are spatial motions (w; v) of the geoms in
                          ///< world axes at the world origin: a material point x moves by w cross x + v
} tgContactPoint;

/// Contact points with gap <= margin, in a fixed order, at most TG_PAIR_POINTS. Returns their count, or
/// a negative tgStatus when a shape has no hull but needs one (TG_ERR_UNSUPPORTED). memory is read and
/// updated (reference-feature hysteresis); the points are a function of the poses for given memory. With
/// derivatives false, D is left alone. distance (may be NULL): the gap of the pair, a lower bound on it when the pair is
/// farther than margin.  Swapping A and B gives the same points with n and twists swapped.
int tgi_collide(const tgShape *A, const tgShape *B, double margin, bool derivatives, int32_t memory[TG_PAIR_MEMORY],
                tgContactPoint out[TG_PAIR_POINTS], double *distance);

#endif
