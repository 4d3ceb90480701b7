// local_sum.h: the local barrier between two surfaces, or a surface and a half-space: a sum over pairs of triangles
// that are close, 0 beyond.
//
// Based on: [barrier 6], the model without long range; [math/barrier Local barrier]. Two triangles cost w_i w_j P of
// pair_local.h, a triangle before a half-space w_i sum b(z_k), z_k its vertices' heights. Spheres only leave out what
// is 0: nothing is blended. With law->distances each vertex with each triangle, and each two edges, cost P of distance.h.
#ifndef TG_CONTACT_BARRIER_TREE_LOCAL_SUM_H
#define TG_CONTACT_BARRIER_TREE_LOCAL_SUM_H

#include "contact/barrier/tree/tree_pair.h"

/// The local barrier of a vertex at the height z before a plane, with two derivatives.
void tgi_local_height(tgReal z, const tgiTreeLaw *law, tgReal b[3]);

/// As tgi_tree_pair with law->local; B NULL: as tgi_half_space.
bool tgi_local_sum(const tgiWorldTree *A, const tgiWorldTree *B, const tgReal n[3], tgReal height, const tgiTreeLaw *law,
                   tgiPairSum *sum, int intersecting[2], tgiClearance *clear, tgiTreeCount *count);

#endif
