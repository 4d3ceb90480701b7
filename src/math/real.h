// real.h: the scalar of the kernels and the functions that are the same in both builds.
//
// Code = tgReal. In the complex build (TG_COMPLEX) a derivative is Im f(x + i e)/e with e = 1e-30 or so;
// every operation must therefore be analytic, and branches compare real parts: tgRe(x) < 0, never x < 0.
#ifndef TG_MATH_REAL_H
#define TG_MATH_REAL_H

#include <math.h>
#ifdef TG_COMPLEX
#include <complex.h>
#undef I
#ifndef CMPLX  // glibc hides it from clang
#define CMPLX(x, y) __builtin_complex((double)(x), (double)(y))
#endif
#endif
#include "tangere/base.h"

#define TG_PI 3.14159265358979323846

#ifdef TG_COMPLEX
static inline double tgRe(tgReal x) { return creal(x); }
static inline double tgIm(tgReal x) { return cimag(x); }
static inline tgReal tgSqrt(tgReal x) { return csqrt(x); }
static inline tgReal tgSin(tgReal x) { return csin(x); }
static inline tgReal tgCos(tgReal x) { return ccos(x); }
static inline tgReal tgExp(tgReal x) { return cexp(x); }
static inline tgReal tgLog(tgReal x) { return clog(x); }
static inline tgReal tgAcos(tgReal x) { return cacos(x); }
static inline tgReal tgLog1p(tgReal x) { return CMPLX(log1p(creal(x)), cimag(x) / (1 + creal(x))); }
// first order in the imaginary parts, which is all that a complex step needs
static inline tgReal tgAtan2(tgReal y, tgReal x) {
  double yr = creal(y), xr = creal(x), r2 = yr * yr + xr * xr;
  double im = r2 > 0 ? (xr * cimag(y) - yr * cimag(x)) / r2 : 0;
  return CMPLX(atan2(yr, xr), im);
}
static inline bool tgFinite(tgReal x) { return isfinite(creal(x)) && isfinite(cimag(x)); }
#else
static inline double tgRe(tgReal x) { return x; }
static inline double tgIm(tgReal x) { (void)x; return 0; }
static inline tgReal tgSqrt(tgReal x) { return sqrt(x); }
static inline tgReal tgSin(tgReal x) { return sin(x); }
static inline tgReal tgCos(tgReal x) { return cos(x); }
static inline tgReal tgExp(tgReal x) { return exp(x); }
static inline tgReal tgLog(tgReal x) { return log(x); }
static inline tgReal tgAcos(tgReal x) { return acos(x); }
static inline tgReal tgLog1p(tgReal x) { return log1p(x); }
static inline tgReal tgAtan2(tgReal y, tgReal x) { return atan2(y, x); }
static inline bool tgFinite(tgReal x) { return isfinite(x); }
#endif

static inline tgReal tgAbs(tgReal x) { return tgRe(x) < 0 ? -x : x; }
/// Zero, its derivative included: in the complex build a parameter at 0 may carry one.
static inline bool tgZero(tgReal a) { return tgRe(a) == 0 && tgIm(a) == 0; }
static inline tgReal tgMax(tgReal a, tgReal b) { return tgRe(a) >= tgRe(b) ? a : b; }
static inline tgReal tgMin(tgReal a, tgReal b) { return tgRe(a) <= tgRe(b) ? a : b; }

#endif
