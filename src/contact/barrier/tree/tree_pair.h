// tree_pair.h: the barrier between two surfaces, summed over the pairs of their triangles by two trees of spheres.
//
// Based on: [barrier], with the moment form of [math/barrier Hierarchy]. For nodes I, J at distance D, with
// d1 = R_I + R_J and d2 = (1 + eps) d1:
//   D >= d2: the cluster's value;  D <= d1: the sum over the children, of two leaves the triangles' value;  between: both, blended.    (41)
// The result is a function of the relative pose with two continuous derivatives, infinite exactly when triangles touch.
//
// Derivatives are for a twist (angular; linear) of A about A's origin with B held, world axes.
#ifndef TG_CONTACT_BARRIER_TREE_TREE_PAIR_H
#define TG_CONTACT_BARRIER_TREE_TREE_PAIR_H

#include "base/layout.h"
#include "contact/barrier/pair/hard.h"
#include "contact/barrier/tree/scatter.h"
#include "contact/barrier/tree/world_tree.h"
#include "contact/barrier/tree/tree_wide.h"

/// Value, gradient, second derivatives (lower triangle, TGI_LOWER).
typedef struct tgiPairSum { tgReal P, g[6], H[21]; } tgiPairSum;

/// How to sum. One-sided: a node of this side, smaller than half a triangle of the other, may meet that triangle as a
/// point at the node's centre (46); its moments then count TGI_ONE_SIDED^2-fold. Fixed by the shapes, not by the pose.
// 12/(1 + sqrt 3)^2: 12/S* of a point three times and a vertex is at most this times their distance
#define TGI_ONE_SIDED 1.6076951545867364
typedef struct tgiTreeLaw {
  double eps;
  double base;              ///< of every value: 12 in the publication's form, else 0
  tgReal more;              ///< by how much more than once the far part counts: `far_strength` less 1
  bool brute;               ///< every pair of triangles
  bool one_sided[2];        ///< clusters of A, of B
  double local;             ///< 0, or the range of the local barrier, which then stands for all of this (local_sum.h)
  bool distances;           ///< the local barrier is that of distances (pair/distance.h),
  bool everywhere;          ///< and does not end at its range
} tgiTreeLaw;

/// Gap from which on the local barrier of two triangles, or of a vertex before a plane, is 0.
double tgi_local_ends(const tgiTreeLaw *law, bool plane);

/// What the faces of two surfaces are the cores of.
tgiPairCores tgi_pair_cores(const tgiWorldTree *A, const tgiWorldTree *B);

/// Counts of the last sum.
typedef struct tgiTreeCount {
  long visits, leaves, clusters, points, blends, iterations;
  long ties;   ///< of closest features, in a barrier of distances
} tgiTreeCount;

/// The side, 0 or 1, whose node (a of A, b of B) may meet the other's triangle as a point; -1: neither.
int tgi_small_side(const tgiWorldTree *A, const tgiWorldTree *B, const tgiTreeLaw *law, int a, int b);

/// Memory of the recursion, for trees up to a depth; one for each thread.
typedef struct tgiTreeWork tgiTreeWork;
size_t tgi_tree_work_bytes(int depth);
tgiTreeWork *tgi_tree_work_place(void *memory, int depth);

/// Lower bounds of the distance that the sum gives on its way: of all, and of the triangles whose pairs were solved (INFINITY: none was).
typedef struct tgiClearance { double all, solved; } tgiClearance;

/// What the next sums scatter their forces to; NULL: nothing.
void tgi_tree_work_scatter(tgiTreeWork *w, const tgiForceScatter *scatter);

/// The reverse pass that the next sums do; NULL: none. With it they have no second derivatives (sum->H is undefined).
void tgi_tree_work_reverse(tgiTreeWork *w, tgiForceReverse *reverse);

/// Sum over A and B. false: faces touch, named in intersecting (of A, of B); *sum is then undefined. clear and count may be NULL.
bool tgi_tree_pair(const tgiWorldTree *A, const tgiWorldTree *B, const tgiTreeLaw *law, tgiTreeWork *w, tgiPairSum *sum,
                   int intersecting[2], tgiClearance *clear, tgiTreeCount *count);

/// What the next sums note the hardest pairs of triangles to; NULL: nothing.
void tgi_tree_work_hard(tgiTreeWork *w, tgiHardLog *hard);

/// The sum over these pairs of triangles alone, with the shares that they had where they were noted. false: two of them touch.
bool tgi_tree_hard(const tgiWorldTree *A, const tgiWorldTree *B, const tgiTreeLaw *law, tgiTreeWork *w, const tgiHardLeaves *hard,
                   tgiPairSum *sum);

/// H += c2 v v' + c1 G for a lower triangle G.
void tgi_sum_add(tgReal H[21], tgReal c2, const tgReal v[6], tgReal c1, const tgReal G[21]);

#endif
