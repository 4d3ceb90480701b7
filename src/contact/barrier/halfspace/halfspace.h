// halfspace.h: the barrier between a surface and a half-space. [math/barrier Half-space]
//
// A plane is the limit of a triangle whose vertices are far away: the separating plane is parallel to it, a height t above it with 0 < t < z_k, and
//   S* = min over t of sum_k 1/(z_k - t) + 3/t,   z_k heights of the triangle's vertices                                                  (51)
// 12/S* is the gap of a triangle parallel to it. It answers triangle i with a patch of i's own size: weight w_i^2 = A_i/A in the moment form, so that a
// face's force does not depend on its mesh; 1 in the publication's form. A node at height z is w_I h(z^2): h(z^2) is convex in z, so no moment is due
// when the centre is the mean with the weights.
#ifndef TG_CONTACT_BARRIER_HALFSPACE_HALFSPACE_H
#define TG_CONTACT_BARRIER_HALFSPACE_HALFSPACE_H

#include "contact/barrier/tree/tree_pair.h"

/// Numbers of a tree before planes, from n of the moment form: weight A_I/A, centre of area, radius about it, no moment. vert and area are n's.
void tgi_plane_numbers(const tgiTree *tree, const tgiTreeNumbers *n, tgiTreeNumbers *plane);
/// Their derivatives from d, those of n in a size.
void tgi_plane_numbers_d(const tgiTree *tree, const tgiTreeNumbers *n, const tgiTreeNumbers *d, const tgiTreeNumbers *plane, tgiTreeNumbers *dplane);

/// The sum over A, transformed with the numbers above (publication's form: with the tree's own), and the half-space below the plane with normal n (|n| = 1)
/// that A's origin is `height` above. Derivatives for a twist of A about A's origin with the plane held. false: face *intersecting reaches into it.
bool tgi_half_space(const tgiWorldTree *A, const tgReal n[3], tgReal height, const tgiTreeLaw *law, tgiPairSum *sum, int *intersecting, tgiClearance *clear,
                    tgiTreeCount *count);
/// The same on one of the instruction sets of math/isa.h, or with -1 node by node, as in the complex build. scatter may be NULL; it does not change a bit.
bool tgi_half_space_on(int isa, const tgiWorldTree *A, const tgReal n[3], tgReal height, const tgiTreeLaw *law, const tgiForceScatter *scatter, tgiPairSum *sum,
                       int *intersecting, tgiClearance *clear, tgiTreeCount *count);
/// The same, and what scatter.h says with its forces; either may be NULL.
bool tgi_half_space_forces(const tgiWorldTree *A, const tgReal n[3], tgReal height, const tgiTreeLaw *law, const tgiForceScatter *scatter, tgiForceReverse *reverse,
                           tgiPairSum *sum, int *intersecting, tgiClearance *clear, tgiTreeCount *count);

#endif
