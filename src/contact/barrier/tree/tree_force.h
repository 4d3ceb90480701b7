// tree_force.h: the barrier's terms as forces: the recursion of tree_pair.h and halfspace.h again, once a step, with
// rates along any directions.
//
// Every term of the sum is a function of one distance, so it pushes two material points a (of A) and b (of B) apart by N along n, and
//   gradient of the sum for a twist of A about the world origin = -sum N (a x n; n)                                                    (69)
// Its friction follows from N, n, a, b (friction.h), gathered to one point for each patch of A: a node that is small
// enough with all below it, and every node above. Rates of the forces along a direction are rates of the gradient too:
// the derivatives in sizes, and those of lagged friction.
//
// Friction is local: what is scattered is the forces times one factor of the pair, the share of its force that acts
// nearby (friction.h), and nothing where that is 0.
#ifndef TG_CONTACT_BARRIER_TREE_TREE_FORCE_H
#define TG_CONTACT_BARRIER_TREE_TREE_FORCE_H

#include "contact/barrier/friction/friction.h"
#include "contact/barrier/tree/tree_pair.h"

enum { TGI_MOST_DIRECTIONS = 14 };

/// A direction in which the shapes change, world axes: a twist of A about the world origin, and rates of the nodes (dx,
/// dR, dw, dM), of the vertices and of the radius around a core or the faces of A [0] and B [1]; NULL: none. Rates of positions are of
/// world positions. more: rate of what the far part counts more (tgiTreeLaw).
typedef struct tgiDirection { tgReal twist[6]; const tgReal *node[2], *vert[2]; tgReal round[2], more; } tgiDirection;

/// What is summed over and what for. B NULL: the half-space below the plane with normal n that A's origin is `height`
/// above (A with its numbers).
typedef struct tgiForceTask {
  const tgiWorldTree *A, *B;
  const tgReal *n;
  tgReal height;
  tgiTreeLaw law;
  tgReal mu;
  double range;                ///< of friction; 0: whatever the distance, all of it
  int nd;
  const tgiDirection *dir;
  const int *patch;            ///< patch of each of A's nodes
  int npatch;
  tgiFrictionSum *room;        ///< npatch x (1 + nd), where points are wanted
  void *ctx;
  /// A friction point and its rates (nd). NULL: not wanted.
  void (*point)(void *ctx, const tgiFrictionPoint *p, const tgiFrictionPoint *dp);
  /// A pair of triangles in the plane's form, p->x world, and its rates. NULL: not wanted.
  void (*plane)(void *ctx, const tgiFrictionPlane *p, const tgiFrictionPlane *dp);
} tgiForceTask;

/// Sums: mu P, its gradient for a twist of A about the world origin, and their rates.
typedef struct tgiForceSum { tgReal P, g[6], dP[TGI_MOST_DIRECTIONS], dg[TGI_MOST_DIRECTIONS][6]; } tgiForceSum;

/// false: faces touch. *sum and what was scattered are then incomplete.
bool tgi_tree_force(const tgiForceTask *task, tgiForceSum *sum);

/// Patches of a tree with the radii `radius`: nodes of at most `size`, or leaves, with all below them, and each node
/// above. patch (nnode) says in which a node is; the ends of a core that is a segment have one more each, so that it resists turning about
/// the normal. Returns their number.
int tgi_force_patches(const tgiSurface *surface, const tgiTree *tree, const double *radius, double size, int *patch);

/// Rates of what stands in a tgiWorldTree along d (geom axes): node (nnode x TGI_NODE_SIZE) and vert (nvert x 3),
/// with the geom's rotation R.
void tgi_world_tree_rates(const tgiWorldTree *world, const tgiTreeNumbers *d, const tgReal R[9], tgReal *node, tgReal *vert);

#endif
