// scatter.h: the forces of the terms of sums over trees (tree_pair.h, halfspace.h), scattered to friction and taken
// back in a reverse pass. [math/barrier Friction]
#ifndef TG_CONTACT_BARRIER_TREE_SCATTER_H
#define TG_CONTACT_BARRIER_TREE_SCATTER_H

#include "contact/barrier/friction/friction.h"
#include "contact/barrier/tree/world_tree.h"

/// The forces of the terms, for friction: each pushes A and B apart by N along n at points a and b, and is added
/// to the sum of the patch of A's node (as tgi_tree_force does without rates) and to the pair's share, of which
/// those within `range` are near.
typedef struct tgiForceScatter { tgReal mu; double range; const int *patch; tgiFrictionSum *sum; tgiFrictionShare *share; } tgiForceScatter;
/// Adds the force F on A (its node `node`) at a, against B at b, both from A's origin, across the distance d.
void tgi_scatter(const tgiForceScatter *p, const tgiWorldTree *A, int node, const tgReal F[3], const tgReal a[3],
                 const tgReal b[3], tgReal d);

/// What the forces of a patch are weighed by, world axes: q = N + a . (a_k - pa) + b . (b_k - pb) + M . (n_k
/// n_k' - 1 + Q), pa, pb and Q those of the patch's friction point: differences that lose nothing where it has one
/// force. A patch without a point has 0 throughout.
typedef struct tgiPatchWeight { tgReal N, a[3], b[3], M[6], pa[3], pb[3], Q[6]; } tgiPatchWeight;

/// The reverse pass: what a sum of all these forces, weighed, changes by with the pose of A. To the weight of a force's
/// patch comes that of the pair's share.
typedef struct tgiForceReverse {
  tgReal mu;
  double range;
  tgReal origin[3];              ///< of A: places are from there
  const int *patch;
  const tgiPatchWeight *weight;  ///< of each patch
  tgiFrictionShare share;        ///< weights too
  tgReal twist[6];               ///< out, +=: the derivative for a twist of A about A's origin
} tgiForceReverse;
/// Weight q of a force along n (places as above), and its derivatives in n and d; in a and b those of the patch.
typedef struct tgiForceWeight { const tgiPatchWeight *of; tgReal q, n[3], d; } tgiForceWeight;
tgiForceWeight tgi_reverse_weigh(const tgiForceReverse *p, const tgiPatchWeight *of, const tgReal n[3],
                                 const tgReal a[3], const tgReal b[3], tgReal d);
static inline const tgiPatchWeight *tgi_reverse_patch(const tgiForceReverse *p, int node) { return p->weight + p->patch[node]; }
/// A weight f of where the point x of A is, from A's origin.
void tgi_reverse_at(tgiForceReverse *p, const tgReal x[3], const tgReal f[3]);

#endif
