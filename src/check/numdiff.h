// numdiff.h: derivatives by differences on a manifold: complex step, Ridders' extrapolation, dot and Taylor tests.
//
// Based on: [Ridders], Neville's tableau over shrinking steps with the error of neighbouring entries as estimate;
// [SquireTrapp], the complex step. Nothing is allocated; work arrays are the caller's.
#ifndef TG_CHECK_NUMDIFF_H
#define TG_CHECK_NUMDIFF_H

#include "math/real.h"

/// y = f(x). A status other than TG_OK stops the difference.
typedef tgStatus (*tgiMap)(void *ctx, const tgReal *x, tgReal *y);
/// out = x (+) d: moves x (nx coordinates) along the tangent d (nt).
typedef void (*tgiRetract)(void *ctx, const tgReal *x, const tgReal *d, tgReal *out);

/// Which points a difference uses.
typedef enum tgiSide { TGI_SIDE_BELOW = -1, TGI_SIDE_BOTH = 0, TGI_SIDE_ABOVE = 1 } tgiSide;

typedef struct tgiNumDiff {
  int nx, nt, ny;        ///< coordinates, tangent directions, outputs
  tgiMap map;
  tgiRetract retract;    ///< NULL: x + d (then nx = nt)
  void *ctx;             ///< of both
  double step;           ///< first step of the extrapolation; 0: 1e-3
  bool analytic;         ///< complex build: use the complex step
} tgiNumDiff;

/// Reals of work that tgi_numdiff needs.
size_t tgi_numdiff_work(const tgiNumDiff *d);

/// Derivative of f along the tangent direction t (nt) at x: D (ny), with the extrapolation's error estimate (ny, 0 for the complex
/// step). One-sided sides use only points x (+) a t with a >= 0 (above) or a <= 0 (below).
tgStatus tgi_numdiff(const tgiNumDiff *d, const tgReal *x, const tgReal *t, tgiSide side, double *D, double *error, tgReal *work);

/// Round-off of the outputs beside x: noise (ny), by second differences along t of points so near each other that only
/// round-off has any; all are on one side of x, at which there may be a switch. last: 2 ny.
tgStatus tgi_numdiff_noise(const tgiNumDiff *d, const tgReal *x, const tgReal *t, double *noise, double *last, tgReal *work);
/// What round-off may be of a central difference with the first step `step`: at the narrow end of the tableau, steps of
/// 1/32, it is 32/sqrt(2) noise, by 4/3 for the extrapolation; the worst of many entries three times that.
static inline double tgi_numdiff_round_off(double noise, double step) { return 90 * noise / step; }
/// The same of a difference to one side is that of a central one whose step is so much shorter: 400 noise / step.
static inline double tgi_numdiff_side_step(double step) { return step / 4.5; }

/// Worst entry of a block compared with its reference.
typedef struct tgiWorst {
  double error;          ///< max|D - R| / max|R|; where R is zero throughout: max|D|. Infinite when an entry is not finite.
  int row, col;
  double ours, reference;
} tgiWorst;

/// Compares rows x cols of D and R (row-major with strides ldd, ldr).
tgiWorst tgi_block_error(const tgReal *D, int ldd, const double *R, int ldr, int rows, int cols);

/// |<w,Jv> - <J'w,v>| / (|w| |J| |v|), J (m x n) in the Frobenius norm, Jtw (n) what the adjoint gave for w. 0/0 is 0.
double tgi_dot_error(const tgReal *J, int m, int n, const tgReal *w, const tgReal *v, const tgReal *Jtw);

/// Slope of log|r(a)| over log a, r(a) = f(x (+) a t) - f(x) - a slope1 for scalar f, by the median over a = a0, a0/2,
/// .. (n of them, at most 16) while r stands clear of round-off. NAN when fewer than 3 points do; *flat is then set
/// when r is round-off throughout.
tgStatus tgi_taylor_slope(const tgiNumDiff *d, const tgReal *x, const tgReal *t, double slope1, double a0, int n, double *slope, bool *flat,
                          tgReal *work);

#endif
