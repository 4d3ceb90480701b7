// halfspace_wide.h: the sum of halfspace.h under one node of the tree, on vectors. [math/barrier Half-space]
//
// All terms are functions of heights z = height + n.x of points x = a e1 + b e2 + c n, and p = (1, a, b) is the gradient of z in the moves that change it:
// along n, about -e2, about e1. So sums need 4 numbers each (value, gradient in p), and second derivatives 10 in all: sums of c2 p p' and of c1 (p, c).
// The kernel (halfspace_kernel.c) is compiled for vectors of 2, 4 and 8 (math/isa.h); halfspace.c sums node by node, as the plain twin and where forces
// are weighed.
#ifndef TG_CONTACT_BARRIER_HALFSPACE_HALFSPACE_WIDE_H
#define TG_CONTACT_BARRIER_HALFSPACE_HALFSPACE_WIDE_H

#include "contact/barrier/tree/world_tree.h"
#include "math/isa.h"

/// Faces under a node that the kernel takes: its lists, on the stack, are as long as that (70 kB).
enum { TGI_HEIGHT_FACES = 512 };

/// A force N on a node at (a, b, c), z above the plane, across d.
typedef struct tgiHeightForce { int node; tgReal N, at[3], z, d; } tgiHeightForce;

/// A tree before a plane, and how to sum.
typedef struct tgiHeightFrame {
  const tgiWorldTree *A;
  tgReal axis[9];           ///< rows e1, e2, n, right-handed
  tgReal height;            ///< of the origin
  double eps, base;
  bool brute;
  void (*scatter)(void *ctx, const tgiHeightForce *force);   ///< is told the force of every term; NULL: none
  void *ctx;
} tgiHeightFrame;

/// Adds up over calls, but for value and touching.
typedef struct tgiHeightSum {
  tgReal value[4];          ///< of the node: value, gradient in p; from above that it has the share 1
  tgReal second[6], slope[4];   ///< lower triangle of sum c2 p p', sum c1 (p, c), with the shares of the total
  double near, far;         ///< least height of vertices looked at, of clusters
  int intersecting;             ///< the first leaf of the tree's order that reaches into the plane, -1: none
  long visits, leaves, clusters, blends;
} tgiHeightSum;

#if !defined(TG_COMPLEX)
/// Under `node`, of at most TGI_HEIGHT_FACES faces and with this share of the total. Where a face touches only that is told.
void tgi_height_sum_2(const tgiHeightFrame *f, int node, double share, tgiHeightSum *sum);
void tgi_height_sum_4(const tgiHeightFrame *f, int node, double share, tgiHeightSum *sum);
void tgi_height_sum_8(const tgiHeightFrame *f, int node, double share, tgiHeightSum *sum);
#endif

#endif
