// onset.h: two functions with which forces set in, each with two continuous derivatives.
#ifndef TG_MATH_ONSET_H
#define TG_MATH_ONSET_H

#include "math/real.h"

/// 1 - x for x <= 0, 0 for x >= 2, between (1 - x/2)^3 (1 + x/2); slope: its derivative.
static inline tgReal tgi_dissipation(tgReal x, tgReal *slope) {
  tgReal y = 1 - x / 2;
  *slope = -1;
  if (tgRe(x) <= 0) return 1 - x;
  *slope = 0;
  if (tgRe(x) >= 2) return 0;
  *slope = -y * y * (1 + x);
  return y * y * y * (1 + x / 2);
}

/// 0 for x <= 0, x - w/2 for x >= w, between w (t^3 - t^4/2), t = x/w; D: its derivatives in x and w.
static inline tgReal tgi_ramp(tgReal x, tgReal w, tgReal D[2]) {
  tgReal t = x / w;
  D[0] = D[1] = 0;
  if (tgRe(t) <= 0) return 0;
  D[0] = 1;
  D[1] = -0.5;
  if (tgRe(t) >= 1) return x - w / 2;
  D[0] = t * t * (3 - 2 * t);
  D[1] = t * t * t * (1.5 * t - 2);
  return w * t * t * t * (1 - t / 2);
}

#endif
