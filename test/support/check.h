// check.h: cmocka with comparisons that print both values, the tolerance and the line; a seeded generator.
#ifndef TG_TEST_CHECK_H
#define TG_TEST_CHECK_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <stdlib.h>

#include "math/real.h"

/// Fails with both values when |a - b| > tol (real parts; NaN fails).
#define check_close(a, b, tol)                                                                        \
  do {                                                                                                \
    double ca_ = tgRe(a), cb_ = tgRe(b), ct_ = (tol);                                                  \
    if (!(fabs(ca_ - cb_) <= ct_))                                                                    \
      fail_msg("%s:%d: %s = %.17g, %s = %.17g, differ by %.3g > %.3g", __FILE__, __LINE__, #a, ca_, #b, cb_, \
               fabs(ca_ - cb_), ct_);                                                                 \
  } while (0)
/// Fails when cond is false, with a printf-style message.
#define check_true(cond, ...)          \
  do {                                 \
    if (!(cond)) fail_msg(__VA_ARGS__); \
  } while (0)

/// How many of `all` random cases a loop takes: all, or one in k where TANGERE_FEWER=k is in the environment, at least `least` of them. So
/// does make test: a third, and an eighth under the address sanitizer, where a case takes some ten times as long.
static inline int tgt_cases(int all, int least) {
  const char *fewer = getenv("TANGERE_FEWER");
  int k = fewer == NULL ? 1 : atoi(fewer), n = k > 1 ? all / k : all;
  return n > least ? n : least < all ? least : all;
}

// splitmix64: the same numbers on every machine
typedef struct tgtRandom { uint64_t s; } tgtRandom;
static inline uint64_t tgt_next(tgtRandom *r) {
  uint64_t z = (r->s += 0x9E3779B97F4A7C15u);
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return z ^ (z >> 31);
}
/// Uniform in [lo, hi).
static inline double tgt_uniform(tgtRandom *r, double lo, double hi) {
  return lo + (hi - lo) * (double)(tgt_next(r) >> 11) * 0x1p-53;
}
/// Standard normal (Box-Muller).
static inline double tgt_normal(tgtRandom *r) {
  double u = tgt_uniform(r, 1e-300, 1), v = tgt_uniform(r, 0, 1);
  return sqrt(-2 * log(u)) * cos(2 * TG_PI * v);
}

#endif
