// broad.h: which pairs of geoms are near enough to look at, in the order of the model's pairs.
//
// A tree of boxes over a sphere about each geom that may be the second of a pair, made anew at each pose in O(n log n): a pair is asked
// for only where two spheres come within a margin. So the cells of a height field, which come first, cost a look at its root each.
// Half-spaces are compared with all. What comes out is what a loop over all
// pairs finds, in its order.
#ifndef TG_COLL_BROAD_H
#define TG_COLL_BROAD_H

#include "sim/sim.h"

/// A sphere about each geom, world: centre (ngeom x 3) and radius (ngeom). A half-space lies as the pose has it, and
/// its radius is by how much it stands out; INFINITY: it is near to all.
typedef struct tgiSpheres { const double *centre, *radius; } tgiSpheres;

typedef struct tgiBroad {
  const tgSim *s;
  const tgPose *pose;
  const double *centre, *radius;
  double margin;
  int nnode, nplane;
  int *order;          // geoms that may be asked for and are no planes, node by node
  int *plane;          // planes, ascending
  int *near;           // of one geom: those that may be near it
  struct tgiBroadNode *node;   // NULL: all pairs are looked at, which for few costs less
} tgiBroad;

/// Makes the tree on scratch, which is the caller's to free, over the spheres about the geoms' origins (s->geom_bound).
/// With s->all_pairs (the plain twin) there is none. TG_ERR_CAPACITY: the scratch is short.
tgStatus tgi_broad_begin(tgSim *s, const tgPose *pose, double margin, tgiBroad *b);
/// The same over other spheres, which are kept by reference.
tgStatus tgi_broad_spheres(tgSim *s, const tgPose *pose, const tgiSpheres *spheres, double margin, tgiBroad *b);
/// Has the model so many pairs that a tree costs less than looking at all of them?
bool tgi_broad_pays(const tgModel *m);
/// Pairs with the same first geom, at most.
int tgi_broad_most(const tgModel *m);
/// Pairs whose first geom is `geom` and whose spheres come within the margin, ascending; pair has room for as many as
/// the geom has. Returns how many.
int tgi_broad_pairs(tgiBroad *b, int geom, int *pair);

#endif
