// lanes_exp.h: exponentials and logarithms on the vectors of lanes.h.
#ifndef TG_MATH_LANES_EXP_H
#define TG_MATH_LANES_EXP_H

#include "math/lanes.h"

#if TGI_WIDTH == 1
TGI_LANE V v_exp(V x) { return tgExp(v_max(v_all(-700), x)); }
TGI_LANE V v_log1p(V t) { return tgLog1p(t); }
#else

typedef int64_t Bits __attribute__((vector_size(8 * TGI_WIDTH)));

/// exp(x) for x <= 700; where x < -700, exp(-700). Relative error below 4e-16.
/// x = k ln 2 + r, |r| <= ln(2)/2, ln 2 in two parts; exp(r) by its series to r^13/13! (the next is 4e-18), k into the exponent.
TGI_LANE V v_exp(V x) {
  const double shift = 0x1.8p52;   // adding it leaves the nearest integer in the last bits
  x = v_max(v_all(-700), x);   // in this order what is no number stays none
  V k = x * 0x1.71547652b82fep0 + shift, n = k - shift;
  V r = x - n * 0x1.62e42fefa3800p-1 - n * 0x1.ef35793c76730p-45;
  V p = v_all(1.0 / 6227020800.0);
  p = p * r + 1.0 / 479001600.0;
  p = p * r + 1.0 / 39916800.0;
  p = p * r + 1.0 / 3628800.0;
  p = p * r + 1.0 / 362880.0;
  p = p * r + 1.0 / 40320.0;
  p = p * r + 1.0 / 5040.0;
  p = p * r + 1.0 / 720.0;
  p = p * r + 1.0 / 120.0;
  p = p * r + 1.0 / 24.0;
  p = p * r + 1.0 / 6.0;
  p = p * r + 0.5;
  p = p * r + 1;
  p = p * r + 1;
  return (V)((Bits)p + ((Bits)k << 52));
}

/// log(1 + t) for 0 <= t <= 1, relative error below 1e-15: log(c) + 2 artanh(u), u = (1 + t - c)/(1 + t + c), c = 1 or
/// 3/2 so that |u| <= 1/7; its series to u^21.
TGI_LANE V v_log1p(V t) {
  Mask large = v_less(v_all(0.25), t);
  V rest = v_pick(large, v_all(0.5), v_all(0)), u = (t - rest) / (2 + t + rest), z = u * u, p = v_all(2.0 / 21);
  p = p * z + 2.0 / 19;
  p = p * z + 2.0 / 17;
  p = p * z + 2.0 / 15;
  p = p * z + 2.0 / 13;
  p = p * z + 2.0 / 11;
  p = p * z + 2.0 / 9;
  p = p * z + 2.0 / 7;
  p = p * z + 2.0 / 5;
  p = p * z + 2.0 / 3;
  p = p * z + 2;
  return p * u + v_pick(large, v_all(0.40546510810816438198), v_all(0));
}

#endif

#endif
