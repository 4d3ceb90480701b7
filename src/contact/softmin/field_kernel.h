// field_kernel.h: eight points of one surface against the points of another that count there, on vectors. See pair_fast.h.
//
// The kernels (field_kernel.c) are compiled for vectors of 2, 4 and 8, chosen by isa.h. They sum in the order of the blocks; results of different widths
// differ by rounding.
#ifndef TG_CONTACT_SOFTMIN_FIELD_KERNEL_H
#define TG_CONTACT_SOFTMIN_FIELD_KERNEL_H

#include "coll/ssdf_tree.h"
#include "math/isa.h"

enum { TGI_SOFT_LANES = TGI_SSDF_BLOCK };

/// The surface that pushes: those of its blocks that may count, in its frame. q: one of its points, near those tested; what is farther from a point than q, in
/// squares by `cut`, counts for nothing there. reach: no exponent, less that of q, is larger. sums, kept: room for eight numbers and an index a block.
typedef struct tgiSoftSource { const tgiSsdfBlock *block; const int *at; int n; double eps1, q[3], cut, reach, *sums; int *kept; } tgiSoftSource;

/// Where the frame of the points tested is in that of the source.
typedef struct tgiSoftPose { double R[9], t[3]; } tgiSoftPose;

/// How points are weighed and pushed. Velocity of the points against the source: v + w x y in its frame. A point weighs exp((level - phi)/eps2); what
/// weighs less than `tail` beside a weight of 1 is left out, and what of the source would have a share less than `share` of that; at heights above
/// `far` over one plane weight times push is less than the tail of a push at touch.
typedef struct tgiSoftPush { double k, eps3, v_d, v_s, mu, v[3], w[3], eps2, level, tail, share, far; } tgiSoftPush;

/// Sums in each lane of weights, forces and moments at the source's origin; least height.
typedef struct tgiSoftTotals { double weight[TGI_SOFT_LANES], F[3][TGI_SOFT_LANES], M[3][TGI_SOFT_LANES], least[TGI_SOFT_LANES]; } tgiSoftTotals;

/// heights: of the eight points of a block of the other surface. forces: their weights, forces and moments, added to sum. plane: the same for the points
/// of the blocks at[0 .. n - 1] against the plane of p and normal. ball: against a ball about the origin.
#define TGI_SOFT_KERNELS(width)                                                                                                                     \
  void tgi_soft_heights_##width(const tgiSoftSource *source, const tgiSoftPose *pose, const tgiSsdfBlock *points, double *phi);               \
  void tgi_soft_forces_##width(const tgiSoftSource *source, const tgiSoftPush *push, const tgiSoftPose *pose, const tgiSsdfBlock *points,           \
                               tgiSoftTotals *sum);                                                                                                 \
  void tgi_soft_plane_##width(const double *normal, const double *p, const tgiSoftPush *push, const tgiSoftPose *pose, const tgiSsdfBlock *block,   \
                              const int *at, int n, tgiSoftTotals *sum);                                                                     \
  void tgi_soft_ball_##width(double radius, const tgiSoftPush *push, const tgiSoftPose *pose, const tgiSsdfBlock *block, const int *at, int n,     \
                             tgiSoftTotals *sum);
TGI_SOFT_KERNELS(2)
TGI_SOFT_KERNELS(4)
TGI_SOFT_KERNELS(8)

#endif
