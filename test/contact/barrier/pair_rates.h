// pair_rates.h: differences of what a pair solve gives, for the tests of both solves.
#ifndef TG_TEST_BARRIER_PAIR_RATES_H
#define TG_TEST_BARRIER_PAIR_RATES_H

#include <string.h>

#include "contact/barrier/pair/pair.h"
#include "contact/barrier/pairs.h"
#include "math/vec3.h"

static inline void widen(const double *x, tgReal y[18]) {
  for (int k = 0; k < 18; k++) y[k] = x[k];
}

static inline double largest(const tgReal *a, int n) {
  double m = 0;
  for (int k = 0; k < n; k++) m = fmax(m, fabs(tgRe(a[k])));
  return m;
}

/// A solve's value, gradient and force at the vertices x.
typedef struct tgtOutputs { tgReal value, g[6]; tgiPairForce f; } tgtOutputs;
enum { TGT_OUTPUTS = sizeof(tgtOutputs) / sizeof(tgReal) };
typedef void (*tgtOutputsOf)(const tgReal x[18], tgtOutputs *o);

/// Their derivative along a field of vertex velocities, by complex step or by differences of fourth order.
static inline void along(tgtOutputsOf outputs, const tgReal x[18], const tgReal dx[18], double step, tgtOutputs *d) {
  tgReal y[18], *p = (tgReal *)d;
#ifdef TG_COMPLEX
  tgtOutputs o;
  const double e = 1e-40;
  (void)step;
  for (int k = 0; k < 18; k++) y[k] = CMPLX(tgRe(x[k]), e * tgRe(dx[k]));
  outputs(y, &o);
  for (int k = 0; k < TGT_OUTPUTS; k++) p[k] = tgIm(((tgReal *)&o)[k]) / e;
#else
  static const double at[4] = {-2, -1, 1, 2}, weight[4] = {1.0 / 12, -2.0 / 3, 2.0 / 3, -1.0 / 12};
  memset(d, 0, sizeof *d);
  for (int j = 0; j < 4; j++) {
    tgtOutputs o;
    for (int k = 0; k < 18; k++) y[k] = x[k] + at[j] * step * dx[k];
    outputs(y, &o);
    for (int k = 0; k < TGT_OUTPUTS; k++) p[k] += weight[j] / step * ((tgReal *)&o)[k];
  }
#endif
}

static inline void compare(const char *what, int kind, double gap, const tgReal *a, const tgReal *b, int n, double scale, double tol) {
  for (int k = 0; k < n; k++)
    check_true(fabs(tgRe(a[k] - b[k])) <= tol * scale, "%s gap %g %s[%d]: %.15g, differences %.15g, scale %g",
               pair_kind[kind], gap, what, k, tgRe(a[k]), tgRe(b[k]), scale);
}

// of a twist of A
static inline void twist_field(const tgReal x[18], const tgReal xi[6], tgReal dx[18]) {
  memset(dx, 0, 18 * sizeof *dx);
  for (int k = 0; k < 9; k += 3) {
    tgi_v3_cross(dx + k, xi, x + k);
    tgi_v3_axpy(dx + k, 1, xi + 3);
  }
}

#endif
