// halfspace.h: the barrier between a surface and a half-space. [math/barrier Half-space]
//
// A plane is the limit of a triangle whose vertices are far away: the separating plane is parallel to it, a height t above it with 0 < t < z_k, and
//   S* = min over t of sum_k 1/(z_k - t) + 3/t,   z_k heights of the triangle's vertices                                                  (51)
// 12/S* is the gap of a triangle parallel to it. It answers triangle i with a patch of i's own size: weight w_i^2 = A_i/A in the moment form, so that a
// face's force does not depend on its mesh; 1 in the publication's form. A node at height z is w_I h(z^2): h(z^2) is convex in z, so no moment is due
// when the centre is the mean with the weights.
#ifndef TG_CONTACT_BARRIER_HALFSPACE_H
#define TG_CONTACT_BARRIER_HALFSPACE_H

#include "contact/barrier/tree_pair.h"

/// Numbers of a tree before planes, from n of the moment form: weight A_I/A, centre of area, radius about it, no moment. vert and area are n's.
void tgi_plane_numbers(const tgiTree *tree, const tgiTreeNumbers *n, tgiTreeNumbers *plane);
/// Their derivatives from d, those of n in a size.
void tgi_plane_numbers_d(const tgiTree *tree, const tgiTreeNumbers *n, const tgiTreeNumbers *d, const tgiTreeNumbers *plane, tgiTreeNumbers *dplane);

/// Three heights above the plane: S*, dS*/dz_k and second derivatives (rows), the height t of the separating plane. false: a height <= 0.
typedef struct tgiHeightPair { tgReal S, t, d[3], D[9]; } tgiHeightPair;
bool tgi_height_pair(const tgReal z[3], tgiHeightPair *r);

/// Height n.x of a point x above the plane through the origin, with its derivatives in a twist (lower triangle G).
tgReal tgi_rise(const tgReal n[3], const tgReal x[3], tgReal v[6], tgReal G[21]);

/// The sum over A, posed with the numbers above (publication's form: with the tree's own), and the half-space below the plane with normal n (|n| = 1)
/// that A's origin is `height` above. Derivatives for a twist of A about A's origin with the plane held. false: face *touching reaches into it.
bool tgi_half_space(const tgiPosed *A, const tgReal n[3], tgReal height, const tgiTreeLaw *law, tgiPairSum *sum, int *touching, tgiClearance *clear,
                    tgiTreeCount *count);
/// The same on one of the instruction sets of math/isa.h, or with -1 node by node, as in the complex build. press may be NULL; it does not change a bit.
bool tgi_half_space_on(int isa, const tgiPosed *A, const tgReal n[3], tgReal height, const tgiTreeLaw *law, const tgiTreePress *press, tgiPairSum *sum,
                       int *touching, tgiClearance *clear, tgiTreeCount *count);
/// The same, and what press.h says with its forces; either may be NULL.
bool tgi_half_space_forces(const tgiPosed *A, const tgReal n[3], tgReal height, const tgiTreeLaw *law, const tgiTreePress *press, tgiTreePull *pull,
                           tgiPairSum *sum, int *touching, tgiClearance *clear, tgiTreeCount *count);

#endif
