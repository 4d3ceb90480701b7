// ssdf_shape.h: which points of a cloud count at a place when each has a kernel of its own shape (ssdf.h: A_i,
// [softmin] eq. (10)), with a proved bound.
//
// Weights fall as exp(-(D_i - D_min)/eps), D_i = (x - p_i)' A_i (x - p_i) >= a_i |x - p_i|^2, a_i the least eigenvalue
// of A_i. Over the points of a node with a = min a_i and the distance d of x to their box
//   D_i >= a d^2,                                                                                                                       (1)
// so that a search by (1) finds the least D, and a node with a d^2 > D_min + cut, cut = eps ln(n/tau), has only points
// of w_i <= exp(-(D_i - D_min)/eps) < tau/n: together they weigh less than tau, with what that is worth in phi and in
// means as in ssdf_tree.h. Points of other nodes are asked one by one.
#ifndef TG_COLL_CLOUDS_SSDF_SHAPE_H
#define TG_COLL_CLOUDS_SSDF_SHAPE_H

#include "coll/clouds/ssdf_tree.h"

/// low (nnode): a of each node, of shapes as in tgiSsdf; never above the true value (1e-6 of the trace is taken off for
/// rounding), 0 where nothing is known.
void tgi_ssdf_tree_shapes(const tgiSsdfTree *tree, const tgReal *shape, double *low);

/// Points that count at x, all but a weight tau, to kept (room for n): in the tree's order. Returns their count. s->shape is not NULL.
int tgi_ssdf_shaped_kept(const tgiSsdf *s, const tgiSsdfTree *tree, const tgiSsdfNumbers *numbers, const double *low,
                         double tau, const double x[3], int *kept);

/// tgi_ssdf over those.
tgReal tgi_ssdf_pruned_shaped(const tgiSsdf *s, const tgiSsdfTree *tree, const tgiSsdfNumbers *numbers,
                              const double *low, double tau, int *kept, const tgReal x[3], tgReal g[3], tgReal H[9]);

#endif
