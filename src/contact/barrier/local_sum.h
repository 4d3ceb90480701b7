// local_sum.h: the local barrier between two surfaces, or a surface and a half-space: a sum over pairs of triangles that are close, 0 beyond.
//
// Based on: [barrier 6], the model without long range; [math/barrier Local barrier]. Two triangles cost w_i w_j P of pair_local.h, a triangle before a
// half-space w_i sum b(z_k), z_k its vertices' heights. Spheres only leave out what is 0: nothing is blended.
#ifndef TG_CONTACT_BARRIER_LOCAL_SUM_H
#define TG_CONTACT_BARRIER_LOCAL_SUM_H

#include "contact/barrier/tree_pair.h"

/// b(x) = -(x - x0)^2 log(x/x0)/x below x0, else 0: value and two derivatives, x > 0.
void tgi_local_barrier(tgReal x, double x0, tgReal b[3]);

/// Gap from which on two triangles cost nothing.
static inline double tgi_local_reach(double x0) { return 2 * x0/(1 - x0); }

/// As tgi_tree_pair with law->local = x0; B NULL: as tgi_half_space.
bool tgi_local_sum(const tgiPosed *A, const tgiPosed *B, const tgReal n[3], tgReal height, double x0, tgiPairSum *sum, int touching[2],
                   tgiClearance *clear, tgiTreeCount *count);

#endif
