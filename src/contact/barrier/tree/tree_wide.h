// tree_wide.h: the work of the recursion on pairs of nodes a block at a time. [math/barrier Hierarchy]
//
// The kernel (tree_kernel.c) is compiled for every width of lanes.h like that of the triangle pairs (pair_wide.h), and chosen with it.
#ifndef TG_CONTACT_BARRIER_TREE_TREE_WIDE_H
#define TG_CONTACT_BARRIER_TREE_TREE_WIDE_H

#include "contact/barrier/friction/friction.h"
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

/// Pairs of nodes, one a column, the first `count` in use; aligned to 64 bytes. Value, gradient and 0 of what a column adds go to the
/// eight numbers at its `to`.
typedef struct tgiTreeBlock {
  tgReal spare[8];                   ///< where columns that are not in use add
  tgReal phi[3][TGI_TREE_LANES];     ///< share of the cluster in a blend, two derivatives in the squared distance
  tgReal inner[TGI_TREE_LANES];      ///< share of the total
  tgReal square[TGI_TREE_LANES];     ///< least squared distance of all clusters, by columns
  tgReal slab[TGI_TREE_LANES];       ///< least width of a slab between two triangles, likewise
  tgReal *to[TGI_TREE_LANES];
  const tgReal *below[TGI_TREE_LANES];   ///< value and gradient of what lies under a blend
  int a[TGI_TREE_LANES], b[TGI_TREE_LANES], count;
} tgiTreeBlock;

/// The forces of a block's terms, for friction (scatter.h), each added to the sum of its patch and to those of the pair.
typedef struct tgiTreeForces {
  tgReal mu, origin[3];              ///< origin: of A
  double range;                      ///< up to which a force counts as near; 0: that is not asked for
  const tgiPairForces *pairs;        ///< where those of solved pairs act
  tgiFrictionSum *to[TGI_TREE_LANES];
  tgReal all[TGI_TREE_LANES], near[TGI_TREE_LANES];   ///< tgiFrictionShare, by columns
} tgiTreeForces;

/// Pairs of nodes to be looked at: more than a vector has, so that one need not wait for the roots and quotients
/// of another. a, b, count in.
typedef struct tgiTreeLook {
  tgReal phi[3][TGI_LOOK_LANES];     ///< as above
  int a[TGI_LOOK_LANES], b[TGI_LOOK_LANES], count;
  unsigned far, between;             ///< bit l: column l is beyond d2, between d1 and d2
} tgiTreeLook;

/// far, between and, of those between, phi.
void tgi_tree_visit(const tgiTreeFrame *f, tgiTreeLook *b);
/// Adds clusters, with their second derivatives, of the shares `inner`, to sum. Here and below a sum or forces NULL: not wanted.
void tgi_tree_far(const tgiTreeFrame *f, tgiTreeBlock *b, tgiTreeSum *sum, tgiTreeForces *forces);
/// Ends blends (43) of the shares `inner`, phi and below being theirs.
void tgi_tree_close(const tgiTreeFrame *f, tgiTreeBlock *b, tgiTreeSum *sum, tgiTreeForces *forces);

/// Solved pairs of triangles, all apart, with the products `weight` of their weights. b->count of them.
void tgi_tree_leaves(const tgiTreeFrame *f, const tgiPairBlock *p, const tgReal weight[TGI_TREE_LANES], tgiTreeBlock *b, tgiTreeSum *sum,
                     tgiTreeForces *forces);

TGI_ISA_DECLARE(tgi_tree_visit, (const tgiTreeFrame *f, tgiTreeLook *b))
TGI_ISA_DECLARE(tgi_tree_far, (const tgiTreeFrame *f, tgiTreeBlock *b, tgiTreeSum *sum, tgiTreeForces *forces))
TGI_ISA_DECLARE(tgi_tree_close, (const tgiTreeFrame *f, tgiTreeBlock *b, tgiTreeSum *sum, tgiTreeForces *forces))
TGI_ISA_DECLARE(tgi_tree_leaves, (const tgiTreeFrame *f, const tgiPairBlock *p, const tgReal *weight, tgiTreeBlock *b, tgiTreeSum *sum,
                                  tgiTreeForces *forces))

#endif
