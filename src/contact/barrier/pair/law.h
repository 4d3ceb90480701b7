// law.h: the functions of distance that the barrier sums: clusters, pairs of triangles, planes, and the blend between them.
//
// Each gives f[0], f[1], f[2]: value and two derivatives in its own coordinate. [math/barrier Hierarchy]
//   h(z) = 24 (1 + more) z^-1/4 + 12 z^-1/2,  z a squared distance; convex, decreasing, 0 at infinity
#ifndef TG_CONTACT_BARRIER_PAIR_LAW_H
#define TG_CONTACT_BARRIER_PAIR_LAW_H

#include "math/real.h"

/// w (base + h(z)).
static inline void tgi_law_cluster(tgReal w, double base, tgReal more, tgReal z, tgReal f[3]) {
  tgReal s = 1 / tgSqrt(z), r = (1 + more) * tgSqrt(s), i = s * s;
  f[0] = w * (base + 24 * r + 12 * s);
  f[1] = -6 * w * i * (r + s);
  f[2] = w * i * i * (7.5 * r + 9 * s);
}

/// w (base + S + 2 (1 + more) sqrt(12 S)) = w (base + h((12/S)^2)), in S.
static inline void tgi_law_pair(tgReal w, double base, tgReal more, tgReal S, tgReal f[3]) {
  tgReal r = (1 + more) * tgSqrt(12 * S);
  f[0] = w * (base + S + 2 * r);
  f[1] = w * (1 + r / S);
  f[2] = -w * r / (2 * S * S);
}

/// w (base + h((12/S)^2 + m)), in S.
static inline void tgi_law_point(tgReal w, double base, tgReal more, tgReal S, tgReal m, tgReal f[3]) {
  tgReal D = 12 / S, z1 = -2 * D * D / S, z2 = -3 * z1 / S, g[3];
  tgi_law_cluster(w, base, more, D * D + m, g);
  f[0] = g[0];
  f[1] = g[1] * z1;
  f[2] = g[2] * z1 * z1 + g[1] * z2;
}

/// w (base + h(z^2)), in the height z.
static inline void tgi_law_height(tgReal w, double base, tgReal more, tgReal z, tgReal f[3]) {
  tgReal i = 1 / z, r = (1 + more) * tgSqrt(i);
  f[0] = w * (base + 24 * r + 12 * i);
  f[1] = -12 * w * i * (r + i);
  f[2] = w * i * i * (18 * r + 24 * i);
}

/// f by `more`: rates of value and slope of the three above, w 24 z^-1/4 and w 2 sqrt(12 S).
static inline void tgi_law_cluster_more(tgReal w, tgReal z, tgReal f[2]) {
  f[0] = 24 * w / tgSqrt(tgSqrt(z));
  f[1] = -f[0] / (4 * z);
}
static inline void tgi_law_pair_more(tgReal w, tgReal S, tgReal f[2]) {
  f[0] = 2 * w * tgSqrt(12 * S);
  f[1] = f[0] / (2 * S);
}

/// The quintic that goes from 0 at s = 0 to 1 at s = 1 with two derivatives 0 at both ends.
static inline void tgi_law_blend(tgReal s, tgReal f[3]) {
  tgReal t = 1 - s;
  f[0] = s * s * s * (10 - 15 * s + 6 * s * s);
  f[1] = 30 * s * s * t * t;
  f[2] = 60 * s * t * (1 - 2 * s);
}

#endif
