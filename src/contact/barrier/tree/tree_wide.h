// tree_wide.h: the work of the recursion on pairs of nodes a block at a time. [math/barrier Hierarchy]
//
// The kernel (tree_kernel.c) is compiled for every width of lanes.h like that of the triangle pairs (pair_wide.h), and chosen with it.
#ifndef TG_CONTACT_BARRIER_TREE_TREE_WIDE_H
#define TG_CONTACT_BARRIER_TREE_TREE_WIDE_H

#include "contact/barrier/pair/pair_wide.h"
#include "contact/barrier/tree/world_tree.h"

enum { TGI_TREE_LANES = TGI_PAIR_LANES, TGI_LOOK_LANES = TGI_TREE_LANES };

/// Two trees in world axes and how to sum them.
typedef struct tgiTreeFrame {
  const tgReal *a, *b;               ///< nodes (TGI_NODE_SIZE each), from A's origin and from B's
  tgReal shift[3];                   ///< of B's origin from A's
  double eps, base, moment[2];       ///< moment: what a moment of A, of B counts in clusters
  tgReal more;                       ///< tgiTreeLaw
} tgiTreeFrame;

/// Second derivatives, lower triangle, summed by column.
typedef struct tgiTreeSum { tgReal H[21][TGI_TREE_LANES]; } tgiTreeSum;

/// Pairs of nodes, one a column, the first `count` in use; aligned to 64 bytes.
typedef struct tgiTreeBlock {
  tgReal acc[TGI_TREE_LANES][8];     ///< value, gradient, 0 of each column
  tgReal phi[3][TGI_TREE_LANES];     ///< share of the cluster in a blend, two derivatives in the squared distance
  tgReal inner[TGI_TREE_LANES];      ///< share of the total
  tgReal q[TGI_TREE_LANES];          ///< squared distance
  int a[TGI_TREE_LANES], b[TGI_TREE_LANES], count;
} tgiTreeBlock;

/// Pairs of nodes to be looked at: more than a vector has, so that one need not wait for the roots and quotients
/// of another. a, b, count in.
typedef struct tgiTreeLook {
  tgReal phi[3][TGI_LOOK_LANES];     ///< as above
  int a[TGI_LOOK_LANES], b[TGI_LOOK_LANES], count;
  unsigned far, between;             ///< bit l: column l is beyond d2, between d1 and d2
} tgiTreeLook;

/// far, between and, of those between, phi.
void tgi_tree_visit(const tgiTreeFrame *f, tgiTreeLook *b);
/// Values and gradients of clusters to acc, second derivatives with the shares `inner` to sum; here and below NULL: they are not wanted.
void tgi_tree_far(const tgiTreeFrame *f, tgiTreeBlock *b, tgiTreeSum *sum);
/// Ends blends (43): acc, of what lies below, becomes that of the blend; phi, inner (of the blend itself) are in.
void tgi_tree_close(const tgiTreeFrame *f, tgiTreeBlock *b, tgiTreeSum *sum);

/// Solved pairs of triangles, all apart, with the products `weight` of their weights: values and gradients to b->acc,
/// second derivatives with the shares b->inner to sum, b->q the width of the slab between them. b->count of them.
void tgi_tree_leaves(const tgiTreeFrame *f, const tgiPairBlock *p, const tgReal weight[TGI_TREE_LANES], tgiTreeBlock *b, tgiTreeSum *sum);

TGI_ISA_DECLARE(tgi_tree_visit, (const tgiTreeFrame *f, tgiTreeLook *b))
TGI_ISA_DECLARE(tgi_tree_far, (const tgiTreeFrame *f, tgiTreeBlock *b, tgiTreeSum *sum))
TGI_ISA_DECLARE(tgi_tree_close, (const tgiTreeFrame *f, tgiTreeBlock *b, tgiTreeSum *sum))
TGI_ISA_DECLARE(tgi_tree_leaves, (const tgiTreeFrame *f, const tgiPairBlock *p, const tgReal *weight, tgiTreeBlock *b, tgiTreeSum *sum))

#endif
