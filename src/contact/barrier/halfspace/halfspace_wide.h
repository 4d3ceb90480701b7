// halfspace_wide.h: the sum of halfspace.h under one node of the tree, on vectors. [math/barrier Half-space]
//
// All terms are functions of heights z = height + n.x of points x = a e1 + b e2 + c n, and p = (1, a, b) is the
// gradient of z in the moves that change it: along n, about -e2, about e1. So sums need 4 numbers each (value, gradient
// in p), and second derivatives 10 in all: sums of c2 p p' and of c1 (p, c). The kernel (halfspace_kernel.c) is
// compiled for every width of lanes.h (math/isa.h).
#ifndef TG_CONTACT_BARRIER_HALFSPACE_HALFSPACE_WIDE_H
#define TG_CONTACT_BARRIER_HALFSPACE_HALFSPACE_WIDE_H

#include "contact/barrier/halfspace/halfspace.h"
#include "math/isa.h"

/// A node, and the blend that has it; blend 0 is the total.
typedef struct tgiHeightItem { int node, owner; } tgiHeightItem;

/// Lists that the kernel makes, for a tree of so many faces. The nodes of a level have different faces, as have
/// clusters and leaves; all nodes may be blends.
struct tgiHeightWork {
  tgiHeightItem *next[2], *far, *leaf, *blend;
  tgReal *inner;            ///< share of the total of what a blend owns
  tgReal (*acc)[4];         ///< value and gradient in p of what a blend owns
  int *level;               ///< first blend of each level of nodes, nlevel + 1
  int nfar, nleaf, nblend, nlevel;
  tgReal *value_bar, *share_bar;   ///< of the reverse pass (halfspace_reverse.c)
};

/// A force N on a node at (a, b, c), z above the plane, across d.
typedef struct tgiHeightForce { int node; tgReal N, at[3], z, d; } tgiHeightForce;

/// A tree before a plane, and how to sum.
typedef struct tgiHeightFrame {
  const tgiWorldTree *A;
  tgReal axis[9];           ///< rows e1, e2, n, right-handed
  tgReal height;            ///< of the origin
  double eps, base;
  tgReal more;              ///< tgiTreeLaw
  bool brute;
  void (*scatter)(void *ctx, const tgiHeightForce *force);   ///< is told the force of every term; NULL: none
  void *ctx;
} tgiHeightFrame;

/// What the kernel sums. Where a face reaches into the plane only that is told.
typedef struct tgiHeightSum {
  tgReal value[4];          ///< value, gradient in p
  tgReal second[6], slope[4];   ///< lower triangle of sum c2 p p', sum c1 (p, c), with the shares of the total
  double near, far;         ///< least height of vertices looked at, of clusters
  int intersecting;         ///< the first leaf of the tree's order that reaches into the plane, -1: none
  long visits;
} tgiHeightSum;

TGI_ISA_DECLARE(tgi_height_sum, (const tgiHeightFrame *f, tgiHeightWork *w, tgiHeightSum *sum))

/// The reverse pass over the lists of a sum (scatter.h): reverse->twist += the derivative in the pose of A of the
/// weighed sum of all forces.
void tgi_height_reverse(const tgiHeightFrame *f, tgiHeightWork *w, tgiForceReverse *reverse);

#endif
