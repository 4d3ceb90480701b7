// local_sum.h: the local barrier between two surfaces, or a surface and a half-space: a sum over pairs of triangles
// that are close, 0 beyond.
//
// Based on: [barrier 6], the model without long range; [math/barrier Local barrier]. Two triangles cost w_i w_j P of
// pair_local.h, a triangle before a half-space w_i sum b(z_k), z_k its vertices' heights. Spheres only leave out what
// is 0: nothing is blended.
#ifndef TG_CONTACT_BARRIER_TREE_LOCAL_SUM_H
#define TG_CONTACT_BARRIER_TREE_LOCAL_SUM_H

#include "contact/barrier/tree/tree_pair.h"

/// As tgi_tree_pair with law->local = x0; B NULL: as tgi_half_space.
bool tgi_local_sum(const tgiWorldTree *A, const tgiWorldTree *B, const tgReal n[3], tgReal height, double x0,
                   tgiPairSum *sum, int intersecting[2], tgiClearance *clear, tgiTreeCount *count);

#endif
