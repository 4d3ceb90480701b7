// ssdf.h: soft signed distance of a cloud of oriented points: smooth everywhere, at any distance and for any width of the kernel.
//
// Based on: [softmin] eqs. (8)-(10). With s_i = n_i . (x - p_i) and weights w_i that sum to 1,
//   phi(x) = sum w_i s_i,   w_i ~ exp(l_i),   l_i = -(x - p_i)' A_i (x - p_i)/eps,
//     A_i = 1 (eqs. 8, 9) or any symmetric positive definite matrix (10).
// Weights are formed from differences of the exponents to the largest one, so that none underflows before it is
// negligible beside the others. On a smooth surface that is densely covered phi = -(eps/2) H, H the mean curvature: the
// zero set lies eps/(2 R) outside a sphere of radius R.
#ifndef TG_COLL_CLOUDS_SSDF_H
#define TG_COLL_CLOUDS_SSDF_H

#include "math/real.h"

/// Points p and outward unit normals in one frame (3 n reals each), and the kernel.
typedef struct tgiSsdf {
  int n;                     ///< at least 1
  const tgReal *p, *normal;
  tgReal eps;                ///< [m^2], positive
  const tgReal *shape;       ///< n x 6: A_i as xx, yx, yy, zx, zy, zz; NULL: 1
} tgiSsdf;

/// phi at x, with its gradient g and Hessian H (row-major, symmetric); either may be NULL, H needs no g.
tgReal tgi_ssdf(const tgiSsdf *s, const tgReal x[3], tgReal g[3], tgReal H[9]);

/// The same over the points kept[0 .. n - 1] only, in that order.
tgReal tgi_ssdf_among(const tgiSsdf *s, const int *kept, int n, const tgReal x[3], tgReal g[3], tgReal H[9]);

#endif
