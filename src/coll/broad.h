// broad.h: which pairs of geoms are near enough to look at, in the order of the model's pairs.
//
// A tree of boxes over the geoms' bounding spheres, made anew at each pose in O(n log n): a pair is asked for only
// where two spheres come within a margin. Half-spaces are compared with all. What comes out is what a loop over all
// pairs finds, in its order.
#ifndef TG_COLL_BROAD_H
#define TG_COLL_BROAD_H

#include "sim/sim.h"

/// Lower bound of the distance of two geoms from their bounding spheres (s->geom_bound).
double tgi_sphere_gap(const tgSim *s, const tgPose *pose, int geom1, int geom2);

typedef struct tgiBroad {
  const tgSim *s;
  const tgPose *pose;
  double margin;
  int nnode, nplane;
  int *order;          // geoms that are no planes, node by node
  int *plane;          // planes, ascending
  int *near;           // of one geom: those that may be near it
  struct tgiBroadNode *node;   // NULL: all pairs are looked at, which for few costs less
} tgiBroad;

/// Makes the tree on scratch, which is the caller's to free. With s->all_pairs (the plain twin) there is none.
/// TG_ERR_CAPACITY: the scratch is short.
tgStatus tgi_broad_begin(tgSim *s, const tgPose *pose, double margin, tgiBroad *b);
/// Pairs whose first geom is `geom` and whose spheres come within the margin, ascending; pair has room for as many as
/// the geom has. Returns how many.
int tgi_broad_pairs(tgiBroad *b, int geom, int *pair);

#endif
