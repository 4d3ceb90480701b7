// field_kernel.h: eight points of one surface against the points of another that count there, on vectors. See pair_fast.h.
//
// The kernels (field_kernel.c, rate_kernel.c) are compiled for every width of lanes.h, chosen by isa.h. They sum in the
// order of the blocks; results of different widths differ by rounding.
#ifndef TG_CONTACT_SOFTMIN_FIELD_KERNEL_H
#define TG_CONTACT_SOFTMIN_FIELD_KERNEL_H

#include "coll/clouds/ssdf_tree.h"
#include "contact/softmin/grid.h"
#include "contact/softmin/point.h"
#include "math/isa.h"

enum { TGI_SOFT_LANES = TGI_SSDF_BLOCK };

/// The surface that pushes: its grids where it is a box (else NULL), or those of its blocks that may count, in its
/// frame; how many points it has. What is farther from a point than another point of it, in squares by `cut`, counts
/// for nothing there. sums, kept: room for eight numbers and an index a block.
typedef struct tgiSoftSource {
  const tgiSoftGrid *grid;
  const tgiSsdfBlock *block;
  const int *at;
  int n, points;
  tgReal eps1, *sums;
  double cut;
  int *kept;
} tgiSoftSource;

/// Where the frame of the points tested is in that of the source; and its real parts, by which searches go.
typedef struct tgiSoftFrame { tgReal R[9], t[3]; } tgiSoftFrame;
typedef struct tgiSoftPose { double R[9], t[3]; } tgiSoftPose;

/// How points are weighed and pushed. Velocity of the points against the source: v + w x y in its frame. A point weighs
/// exp((level - phi)/eps2); what weighs less than `tail` beside a weight of 1 is left out, all that is higher than
/// `reach`, and what of the source would have a share less than `share` of that; at heights above `far` over one plane
/// weight times push is less than the tail of a push at touch.
typedef struct tgiSoftPush { tgReal k, eps3, v_d, v_s, mu, v[3], w[3], eps2; double level, tail, share, reach, far; } tgiSoftPush;

/// Sums in each lane of weights, forces and moments at the source's origin.
typedef struct tgiSoftTotals { tgReal weight[TGI_SOFT_LANES], F[3][TGI_SOFT_LANES], M[3][TGI_SOFT_LANES]; } tgiSoftTotals;

/// What derivatives need, likewise: with h = (y x F; F), G = (y x g; g) and J = [-[y] 1], g the gradient of Phi, sums
/// of W, W h, W G, W h G', W J' A J with A = F_y + F_u [w], W J' F_u J, and W y F'.
typedef struct tgiSoftRates {
  tgReal weight[TGI_SOFT_LANES], h[6][TGI_SOFT_LANES], G[6][TGI_SOFT_LANES], hG[36][TGI_SOFT_LANES],
         A[36][TGI_SOFT_LANES], U[36][TGI_SOFT_LANES], yF[9][TGI_SOFT_LANES];
} tgiSoftRates;

/// heights: of the eight points of a block of the other surface, or of the points of the blocks at[0 .. n - 1] against
/// a plane or a ball about the origin.
/// points: of a block heights and forces (3 x 8), those that `reach` and `far` leave. With _grid: against a box by its
/// grids. weigh: weights, forces and moments of these, added to sum. plane, ball: the same at once; phi: the heights,
/// known. With _d: what derivatives need.
TGI_ISA_DECLARE(tgi_soft_heights, (const tgiSoftSource *source, const tgiSoftFrame *pose, const tgiSsdfBlock *points, tgReal *phi))
TGI_ISA_DECLARE(tgi_soft_plane_heights, (const tgReal *normal, const tgReal *p, const tgiSoftFrame *pose,
                                         const tgiSsdfBlock *block, const int *at, int n, tgReal *phi))
TGI_ISA_DECLARE(tgi_soft_ball_heights, (tgReal radius, const tgiSoftFrame *pose, const tgiSsdfBlock *block, const int *at,
                                        int n, tgReal *phi))
TGI_ISA_DECLARE(tgi_soft_points, (const tgiSoftSource *source, const tgiSoftPush *push, const tgiSoftFrame *pose,
                                  const tgiSsdfBlock *points, tgReal *phi, tgReal *force))
TGI_ISA_DECLARE(tgi_soft_grid_heights, (const tgiSoftSource *source, const tgiSoftFrame *pose, const tgiSsdfBlock *points,
                                        tgReal *phi))
TGI_ISA_DECLARE(tgi_soft_grid_points, (const tgiSoftSource *source, const tgiSoftPush *push, const tgiSoftFrame *pose,
                                       const tgiSsdfBlock *points, tgReal *phi, tgReal *force))
TGI_ISA_DECLARE(tgi_soft_weigh, (const tgiSoftPush *push, const tgiSoftFrame *pose, const tgiSsdfBlock *points,
                                 const tgReal *phi, const tgReal *force, tgiSoftTotals *sum))
TGI_ISA_DECLARE(tgi_soft_plane, (const tgReal *normal, const tgReal *p, const tgiSoftPush *push, const tgiSoftFrame *pose,
                                 const tgiSsdfBlock *block, const int *at, int n, const tgReal *phi, tgiSoftTotals *sum))
TGI_ISA_DECLARE(tgi_soft_ball, (tgReal radius, const tgiSoftPush *push, const tgiSoftFrame *pose, const tgiSsdfBlock *block,
                                const int *at, int n, const tgReal *phi, tgiSoftTotals *sum))
TGI_ISA_DECLARE(tgi_soft_forces_d, (const tgiSoftSource *source, const tgiSoftPush *push, const tgiSoftFrame *pose,
                                    const tgiSsdfBlock *points, tgiSoftRates *sum))
TGI_ISA_DECLARE(tgi_soft_grid_forces_d, (const tgiSoftSource *source, const tgiSoftPush *push, const tgiSoftFrame *pose,
                                         const tgiSsdfBlock *points, tgiSoftRates *sum))
TGI_ISA_DECLARE(tgi_soft_plane_d, (const tgReal *normal, const tgReal *p, const tgiSoftPush *push, const tgiSoftFrame *pose,
                                   const tgiSsdfBlock *block, const int *at, int n, const tgReal *phi, tgiSoftRates *sum))
TGI_ISA_DECLARE(tgi_soft_ball_d, (tgReal radius, const tgiSoftPush *push, const tgiSoftFrame *pose,
                                  const tgiSsdfBlock *block, const int *at, int n, const tgReal *phi, tgiSoftRates *sum))

#endif
