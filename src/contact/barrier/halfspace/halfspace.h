// halfspace.h: the barrier between a surface and a half-space. [math/barrier Half-space]
//
// A plane is the limit of a triangle whose vertices are far away: the separating plane is parallel to it, a height t
// above it with 0 < t < z_k, and
//   S* = min over t of sum_k 1/(z_k - t) + 3/t,   z_k heights of the triangle's vertices                                               (51)
// 12/S* is the gap of a triangle parallel to it. It answers triangle i with a patch of i's own size: weight
// w_i^2 = A_i/A in the moment form, so that a face's force does not depend on its mesh; 1 in the
// publication's form. A node at height z is w_I h(z^2): h(z^2) is convex in z, so no moment is due when the
// centre is the mean with the weights.
#ifndef TG_CONTACT_BARRIER_HALFSPACE_HALFSPACE_H
#define TG_CONTACT_BARRIER_HALFSPACE_HALFSPACE_H

#include "contact/barrier/tree/tree_pair.h"

/// Numbers of a tree before planes, from n of the moment form: weight A_I/A, centre of area, radius about it, no
/// moment. vert and area are n's.
void tgi_plane_numbers(const tgiTree *tree, const tgiTreeNumbers *n, tgiTreeNumbers *plane);
/// Their derivatives from d, those of n in a size.
void tgi_plane_numbers_d(const tgiTree *tree, const tgiTreeNumbers *n, const tgiTreeNumbers *d,
                         const tgiTreeNumbers *plane, tgiTreeNumbers *dplane);

/// Memory of the sum over a tree of so many faces, or fewer; one for each thread.
typedef struct tgiHeightWork tgiHeightWork;
size_t tgi_height_work_bytes(int faces);
tgiHeightWork *tgi_height_work_place(void *memory, int faces);

/// A surface before a half-space. A: transformed with the numbers above (publication's form: with the tree's own); n:
/// the plane's normal, |n| = 1, which A's origin is `height` above. scatter.h says what scatter and reverse do with its
/// forces; either may be NULL.
typedef struct tgiHalfSpace {
  const tgiWorldTree *A;
  const tgReal *n;
  tgReal height;
  const tgiTreeLaw *law;
  tgiHeightWork *work;
  const tgiForceScatter *scatter;
  tgiForceReverse *reverse;
  tgiHardLog *log;          ///< what notes its hardest triangles; NULL: nothing
  const tgiHardLeaves *hard;  ///< of tgi_half_space_hard
} tgiHalfSpace;

/// Its sum, with derivatives for a twist of A about A's origin with the plane held. false: face *intersecting reaches into it.
bool tgi_half_space(const tgiHalfSpace *t, tgiPairSum *sum, int *intersecting, tgiClearance *clear, tgiTreeCount *count);
/// The sum over the triangles of t->hard alone, with the shares that they had where they were noted. false: one reaches into the plane.
bool tgi_half_space_hard(const tgiHalfSpace *t, tgiPairSum *sum);
/// The whole on one of the instruction sets of math/isa.h.
bool tgi_half_space_on(int isa, const tgiHalfSpace *t, tgiPairSum *sum, int *intersecting, tgiClearance *clear, tgiTreeCount *count);

#endif
