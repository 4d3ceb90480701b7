// ssdf_tree.h: which points of a cloud count at a place: a binary tree of boxes over blocks of eight points, and a bound that is proved.
//
// Weights fall as exp(-(d_i - d_min)/eps), d_i = |x - p_i|^2. Let q be a point of the cloud, c a centre and r a radius.
// For every x with |x - c| <= r
//   d_i(x) - d_q(x) = d_i(c) - d_q(c) - 2 (x - c) . (p_i - q) >= d_i(c) - d_q(c) - 2 r |p_i - q|,                                       (1)
// as the difference is affine in x. If the right side exceeds cut = eps ln(n/tau), then
// w_i(x) <= exp(-(d_i - d_q)/eps) < tau/n; all such points together weigh less than tau, and leaving them out changes
// phi by less than 2 tau max|s_i - s_j| and any weighted mean of vectors f_i by less than 2 tau max|f_i|. With D the
// distance of c to a box around p_i and |q - c| <= D the right side is at least
//   max((D + |q - c|)(D - |q - c| - 2 r),  D^2 - |q - c|^2 - 2 r far(q)),   far(q) the largest distance of q to the box,                (2)
// the first by |p_i - q| <= |p_i - c| + |q - c|, increasing in |p_i - c| >= D where it is positive.
// Where all points are equally far (the centre of a sphere) all are kept: there nothing can be left out.
#ifndef TG_COLL_CLOUDS_SSDF_TREE_H
#define TG_COLL_CLOUDS_SSDF_TREE_H

#include "base/status.h"
#include "coll/clouds/ssdf.h"

enum { TGI_SSDF_BLOCK = 8 };

/// Topology. Children come after their parent, beside each other; node 0 is the root; a leaf is a block of at most
/// eight points. Points on one plane share blocks where they are many.
typedef struct tgiSsdfTree {
  int n, nnode, nblock;     ///< nnode = 2 nblock - 1
  int *child;               ///< nnode: the first of two children, -1 at a leaf
  int *block;               ///< nnode: of a leaf, else -1
  int *point;               ///< nblock x 8: points, the last repeated to fill the block
  int *used;                ///< nblock: how many are not repeats
  int *lead;                ///< nblock: the first block of those made of points on one plane
  tgAllocator alloc;
} tgiSsdfTree;

/// A node's points: box, its centre and the largest distance from it; outward normals within `spread` of `normal`;
/// n_i . (p_i - centre) within [low, high].
typedef struct tgiSsdfNode { double lo[3], hi[3], centre[3], radius, normal[3], spread, low, high; } tgiSsdfNode;

/// Eight points side by side, and the box of their real parts. plane: 0, or where they are on one plane (normals and
/// offsets equal to rounding) its number, from 1.
typedef struct tgiSsdfBlock { tgReal p[3][TGI_SSDF_BLOCK], normal[3][TGI_SSDF_BLOCK]; double lo[3], hi[3]; int used, plane; } tgiSsdfBlock;

/// Numbers for one choice of points and normals; searches look at real parts. Memory is the caller's.
typedef struct tgiSsdfNumbers { tgiSsdfNode *node; tgiSsdfBlock *block; } tgiSsdfNumbers;

/// Tree over n >= 1 points. Same input, same tree. TG_ERR_MEMORY.
tgStatus tgi_ssdf_tree_make(int n, const tgReal *p, const tgReal *normal, const tgAllocator *allocator, tgiSsdfTree *tree);
void tgi_ssdf_tree_free(tgiSsdfTree *tree);
/// Numbers of a tree for points and normals in the order it was made of. Their count is 1.2 nodes and blocks for eight points at most.
void tgi_ssdf_tree_numbers(const tgiSsdfTree *tree, const tgReal *p, const tgReal *normal, tgiSsdfNumbers *numbers);

/// A point of the cloud and its distance to a centre c.
typedef struct tgiSsdfNearest { double q[3], normal[3], squared; } tgiSsdfNearest;

/// The point nearest c to near. below: its squared distance is known to be at most this, with near then filled by a
/// point that is; INFINITY: nothing is. about: only a point that is near, found faster.
void tgi_ssdf_nearest(const tgiSsdfTree *tree, const tgiSsdfNumbers *numbers, const double c[3], double below,
                      bool about, tgiSsdfNearest *near);

/// Blocks with points that (1) does not exclude in the ball of c and r, to blocks (room for nblock), in the tree's
/// order; near: of c. Returns their count.
int tgi_ssdf_gather(const tgiSsdfTree *tree, const tgiSsdfNumbers *numbers, const double c[3], double r, double cut,
                    const tgiSsdfNearest *near, int *blocks);

/// What a ball's points have in common: centre c, radius r, half extents along three axes (columns of the rotation R), nearest point.
typedef struct tgiSsdfBall { double c[3], r, half[3]; const double *R; tgiSsdfNearest near; } tgiSsdfBall;

/// Has every point that (2) does not exclude s_i > level in all of the ball? Then, the others weighing exp(-cut/eps)
/// each at most and phi being a mean,
///   phi > level - n exp(-cut/eps) max(level - s_i)  there,  max(level - s_i) <= level + |c - q| + r + extent of the cloud.
/// Where the answer is true it is proved; false may be wrong.
bool tgi_ssdf_above(const tgiSsdfTree *tree, const tgiSsdfNumbers *numbers, const tgiSsdfBall *ball, double cut, double level);

/// Exponent's reach: eps ln(n/tau).
static inline double tgi_ssdf_cut(double eps, int n, double tau) { return eps * log(n / tau); }

/// tgi_ssdf (isotropic kernel) over the points that count at x, all but a weight tau; kept: room for s->n indices.
tgReal tgi_ssdf_pruned(const tgiSsdf *s, const tgiSsdfTree *tree, const tgiSsdfNumbers *numbers, double tau, int *kept,
                       const tgReal x[3], tgReal g[3], tgReal H[9]);

#endif
