// soft_topk.h: the K largest of V scores chosen softly, by entropic transport, with derivatives.
//
// Based on: [topk]; [softmin] eq. (13). Each score z_v has mass 1, anchors y_0 .. y_{K-1} take mass 1 each and
// y_K = 0 takes V - K, at the cost
//   C_vj = (z_v - y_j)^2 - lean_vj  (lean_vK = 0).
// The transport of least cost less width times its entropy is R_vj = exp((g_j - C_vj)/width)/sum_k
// exp((g_k - C_vk)/width): rows have mass 1, and the potentials g (g_K = 0) are where columns have theirs. As
// width -> 0 column k picks one score; with anchors K, K-1, .. 1 the k-th largest. Scores that are equal share a
// column's mass, unless they lean: lean_vj favours v for j.
// Columns: F_j(g) = sum_v R_vj - 1 = 0, j < K, the gradient of a convex function, so that a system of K unknowns
// gives dg; rows are eliminated.
#ifndef TG_COLL_CLOUDS_SOFT_TOPK_H
#define TG_COLL_CLOUDS_SOFT_TOPK_H

#include "math/real.h"

enum { TGI_TOPK_MOST = 16 };

/// K at most TGI_TOPK_MOST, V > K. Scores are best of the size of 1.
typedef struct tgiTopk {
  int V, K;
  const tgReal *score;
  const double *anchor;   ///< K, positive
  const double *lean;     ///< V x K, NULL: 0
  double width;
} tgiTopk;

/// Potentials g (K) and shares R (V x K, columns sum to 1). False: not reached, within 1e-12 of the columns' masses.
/// Sinkhorn's sweeps in the log domain, then Newton's method.
bool tgi_topk_solve(const tgiTopk *t, tgReal *g, tgReal *R);

/// Means c_k = sum_v R_vk y_v of vectors y (V x 3), K x 3.
void tgi_topk_means(const tgiTopk *t, const tgReal *R, const tgReal *y, tgReal *c);

/// J (3 K x V) = dc/dscore at the solution R.
void tgi_topk_jacobian(const tgiTopk *t, const tgReal *R, const tgReal *y, tgReal *J);

#endif
