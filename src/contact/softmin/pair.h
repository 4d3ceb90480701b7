// pair.h: contact force of two surfaces of oriented points: one wrench on either body, with derivatives in poses and velocities.
//
// Based on: [softmin] eqs. (11), (23), [math/softmin Pair]. Every point f of either surface against the other, with
// height Phi_f and wrench w_f,
//   w = sum W_f w_f,   W ~ exp(-Phi/eps2),   dw = sum W_f [dw_f - (w_f - w) dPhi_f/eps2].
// A twist xi of both bodies turns everything along: with V1, V2 held as numbers
//   dw_f = xi x* w_f - Y_1 (xi x V1) - Y_2 (xi x V2),   dPhi_f = 0,
// which gives the derivative in the pose of the surface from that in the pose of the point.
#ifndef TG_CONTACT_SOFTMIN_PAIR_H
#define TG_CONTACT_SOFTMIN_PAIR_H

#include "contact/softmin/point.h"
#include "sim/sim.h"

/// One of the two: its points, frame (world) and the spatial velocity of its body. A flat one is not tested against the other's plane.
typedef struct tgiSoftSide { tgiSoftSurface surface; const tgReal *x, *R, *V; bool flat; } tgiSoftSide;

/// The two surfaces and how they push.
typedef struct tgiSoftPair { tgiSoftSide side[2]; tgiSoftLaw law; tgReal eps2; } tgiSoftPair;

/// w of out, and X and Y where d is true, by plain sums over all points: the twin of every faster way. work: a number
/// for each point of the two surfaces. Returns the least height.
double tgi_soft_pair_plain(const tgiSoftPair *p, bool d, tgReal *work, tgPairTerm *out);

/// The point of least height, in the world, and the direction in which the second body is pushed there.
void tgi_soft_pair_closest(const tgiSoftPair *p, double z[3], double n[3]);

/// What the adjoint of Z1 . w_1 + Z2 . w_2 is in what a pair is made of, added: points and normals of the two surfaces (3 n each; NULL: not
/// wanted), eps1 and a ball's radius of each, eps2 and the law's numbers. Frames and velocities are held.
typedef struct tgiSoftPairBar { tgReal *p[2], *normal[2], eps1[2], ball[2], eps2; tgiSoftLawBar law; } tgiSoftPairBar;
void tgi_soft_pair_vjp(const tgiSoftPair *p, const tgReal Z[12], tgReal *work, tgiSoftPairBar *bar);

// ---- point f of the surface that is not o, against o ----

/// Its place in the world, z, and in the frame of o, y.
void tgi_soft_pair_place(const tgiSoftPair *p, int o, int f, tgReal z[3], tgReal y[3]);
/// Z . w_f.
tgReal tgi_soft_pair_value(const tgiSoftPair *p, int o, int f, const tgReal Z[12]);
/// Adjoint of A Z . w_f + B Phi_f, added: to the points and normals of both, and the numbers.
void tgi_soft_pair_point_back(const tgiSoftPair *p, int o, int f, tgReal A, tgReal B, const tgReal Z[12], tgiSoftPairBar *bar);

// ---- the sums over points, shared with other ways to form them ----

/// Sums over the points of one surface (their body: P) against the other (O), at the world origin. Rows of h: wrench
/// on P, then T in world axes.
/// Columns: twists, or velocities, of P or O.
enum { TGI_SOFT_ROWS = 9 };
typedef struct tgiSoftSum {
  tgReal h[TGI_SOFT_ROWS];
  tgReal Dh[TGI_SOFT_ROWS * 6], hphi[TGI_SOFT_ROWS * 6], phi[6];   ///< sum W dh_f, W h_f dPhi_f, W dPhi_f, in the pose of P
  tgReal YP[TGI_SOFT_ROWS * 6], YO[TGI_SOFT_ROWS * 6];
} tgiSoftSum;

/// Adds a point at z (world) with weight W; f in world axes. V: of P and O.
void tgi_soft_sum_add(tgiSoftSum *sum, tgReal W, const tgReal z[3], const tgReal *VP, const tgReal *VO,
                      const tgiSoftPoint *f, bool paper, bool d);
/// w, X, Y from the sums of the second surface's points against the first (sum[0]) and the first's against the second
/// (sum[1]), weights of both adding up to 1.
void tgi_soft_sum_finish(const tgiSoftSum sum[2], const tgReal *V1, const tgReal *V2, tgReal eps2, bool d, tgPairTerm *out);
/// A point's F, T, g and their derivatives from the frame R of the surface to world axes.
void tgi_soft_point_turn(const tgReal *R, bool paper, bool d, tgiSoftPoint *f);

#endif
