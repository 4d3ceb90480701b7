// near.h: the pairs of geoms that a sum or a step bound looks at.
//
// A potential of long range has all pairs. One that is 0 from a distance on has those of which the spheres around the
// surfaces come within it, and a step bound those that may come near each other along the step; a tree of boxes finds
// them (coll/broad.h), anew at each pose. What is left out is 0, or is cleared by the bounds of speed: no result
// depends on it, and none on where lists were made before. Few pairs are listed once, all of them.
#ifndef TG_CONTACT_BARRIER_NEAR_H
#define TG_CONTACT_BARRIER_NEAR_H

#include "base/layout.h"
#include "contact/barrier/tree/tree_pair.h"
#include "sim/sim.h"

struct tgiBarrier;

/// Two geoms at work. A is the smaller surface; B a surface, or a plane.
typedef struct tgiGeomPair {
  int A, B, pair;           ///< geoms, pair of the model
  int body[2];              ///< of the term that it is a part of, ascending
  bool plane, swapped;      ///< swapped: A belongs to the term's second body
  double times;             ///< its weight over the option's
  tgiTreeLaw law;
} tgiGeomPair;

/// Which tree of a geom a list needs, as bits.
enum { TGI_NEAR_WORLD = 1, TGI_NEAR_PLANE = 2 };

/// Pairs that are looked at, in the order of the model's.
typedef struct tgiNearPairs {
  int n, room;
  const tgiGeomPair *pair;  ///< n
  tgiGeomPair *own;         ///< room; none where all pairs are listed once
  unsigned char *needs;     ///< ngeom
} tgiNearPairs;

/// Pairs of a step bound.
typedef struct tgiNearStep {
  int n, before, room;
  int *geom1, *geom2, *pair, *pair_before;   ///< pair: of the model; before: those of the call before
  double *bound, *bound_before;              ///< of tgiAdvance
} tgiNearStep;

/// Pair p of the model; false: its bodies cannot move against each other.
bool tgi_near_pair(const struct tgiBarrier *k, const tgModel *m, int p, tgiGeomPair *g);
/// Places a list with room for so many pairs; the listed ones are in it where the contact model lists them.
void tgi_near_place(tgLayout *l, const tgModel *m, const struct tgiBarrier *k, int room, tgiNearPairs *list);
void tgi_near_step_place(tgLayout *l, const struct tgiBarrier *k, int room, tgiNearStep *step);

/// Lists the pairs at the pose, whose numbers of trees are made. TG_ERR_CAPACITY: there are more than there is room for.
tgStatus tgi_near_at(tgSim *s, const tgPose *pose, tgiNearPairs *list);
/// needs of the n pairs.
void tgi_near_needs(int ngeom, int n, const tgiGeomPair *pair, unsigned char *needs);
/// Lists the pairs of the workspace's step bound for the tangent step d from the pose, with the bounds that they have
/// in the list before.
tgStatus tgi_near_along(tgSim *s, const tgPose *pose, const tgReal *d);

#endif
