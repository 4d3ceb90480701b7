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
typedef void (*tgtOutputsOf)(const tgReal x[18], const tgiPairCores *cores, tgtOutputs *o);

/// What the vertices of pair_make become the cores of, at the same gap between the solids: points, segments and triangles with or
/// without a radius; of every fourth pair triangles without one.
static inline tgiPairCores cores_make(tgtRandom *r, int kind, double gap, const double size[2], double offset, double x[18]) {
  tgiPairCores c = {.radius = {0, 0}};
  bool plain = tgt_next(r) % 4 == 0;
  for (int half = 0; half < 2 && !plain; half++) c.radius[half] = tgt_next(r) % 4 == 0 ? 0 : pow(10, tgt_uniform(r, -2, 0.5));
  pair_make(r, kind, gap + tgRe(c.radius[0] + c.radius[1]), size, 1, offset, x);
  for (int half = 0; half < 2 && !plain; half++) {
    int corners = 1 + (int)(tgt_next(r) % 3);
    double *at = x + 9 * half;
    c.segment[half] = corners == 2;
    if (corners == 1) memcpy(at + 3, at, 3 * sizeof *at);
    if (corners < 3) memcpy(at + 6, at + 3, 3 * sizeof *at);
  }
  return c;
}

/// Any rates of the vertices, which keep corners together, and of the radii.
static inline tgiPairField field_make(tgtRandom *r, const double x[18]) {
  tgiPairField f;
  for (int k = 0; k < 18; k++) f.axes[k / 9][k % 9] = tgt_normal(r);
  for (int k = 0; k < 18; k++) f.x[k] = tgt_normal(r);
  for (int k = 0; k < 18; k++)
    if (k % 9 >= 3 && memcmp(x + k - k % 3, x + k - k % 3 - 3, 3 * sizeof *x) == 0) f.x[k] = f.x[k - 3];
  for (int half = 0; half < 2; half++) f.radius[half] = tgt_normal(r);
  return f;
}

/// Their derivative along a field, by complex step or by differences of fourth order.
static inline void along(tgtOutputsOf outputs, const tgReal x[18], const tgiPairCores *cores, const tgiPairField *field, double step,
                         tgtOutputs *d) {
  const tgReal *dx = field->x;
  tgiPairCores c = *cores;
  tgReal y[18], *p = (tgReal *)d;
#ifdef TG_COMPLEX
  tgtOutputs o;
  const double e = 1e-40;
  (void)step;
  for (int k = 0; k < 18; k++) y[k] = CMPLX(tgRe(x[k]), e * tgRe(dx[k]));
  for (int k = 0; k < 2; k++) c.radius[k] = CMPLX(tgRe(cores->radius[k]), e * tgRe(field->radius[k]));
  for (int k = 0; k < 18; k++) c.axes[k / 9][k % 9] = CMPLX(tgRe(cores->axes[k / 9][k % 9]), e * tgRe(field->axes[k / 9][k % 9]));
  outputs(y, &c, &o);
  for (int k = 0; k < TGT_OUTPUTS; k++) p[k] = tgIm(((tgReal *)&o)[k]) / e;
#else
  static const double at[4] = {-2, -1, 1, 2}, weight[4] = {1.0 / 12, -2.0 / 3, 2.0 / 3, -1.0 / 12};
  memset(d, 0, sizeof *d);
  for (int j = 0; j < 4; j++) {
    tgtOutputs o;
    for (int k = 0; k < 18; k++) y[k] = x[k] + at[j] * step * dx[k];
    for (int k = 0; k < 2; k++) c.radius[k] = cores->radius[k] + at[j] * step * field->radius[k];
    for (int k = 0; k < 18; k++) c.axes[k / 9][k % 9] = cores->axes[k / 9][k % 9] + at[j] * step * field->axes[k / 9][k % 9];
    outputs(y, &c, &o);
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
static inline tgiPairField twist_field(const tgReal x[18], const tgReal xi[6]) {
  tgiPairField f = {.x = {0}};
  for (int k = 0; k < 9; k += 3) {
    tgi_v3_cross(f.x + k, xi, x + k);
    tgi_v3_axpy(f.x + k, 1, xi + 3);
  }
  return f;
}
// and of its semi-axes where it is an ellipsoid
static inline tgiPairField twist_field_of(const tgReal x[18], const tgiPairCores *cores, const tgReal xi[6]) {
  tgiPairField f = twist_field(x, xi);
  for (int k = 0; k < 9 && cores->oval[0]; k += 3) tgi_v3_cross(f.axes[0] + k, xi, cores->axes[0] + k);
  return f;
}

#endif
