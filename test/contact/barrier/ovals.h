// ovals.h: pairs of solids of which one at least is an ellipsoid, at a known gap, for the tests of the barrier.
#ifndef TG_TEST_BARRIER_OVALS_H
#define TG_TEST_BARRIER_OVALS_H

#include <string.h>

#include "contact/barrier/pair/pair.h"
#include "contact/barrier/pair_rates.h"
#include "math/vec3.h"

/// Part of a pair: its corners, and what is around them.
typedef struct tgtOval { double x[9], radius, axes[9]; bool segment, oval; } tgtOval;

static inline void oval_directions(tgtRandom *r, double R[9]) {
  double d;
  for (int i = 0; i < 3; i++) {
    for (int k = 0; k < 3; k++) R[3 * i + k] = tgt_normal(r);
    for (int j = 0; j < i; j++) {
      d = R[3 * i] * R[3 * j] + R[3 * i + 1] * R[3 * j + 1] + R[3 * i + 2] * R[3 * j + 2];
      for (int k = 0; k < 3; k++) R[3 * i + k] -= d * R[3 * j + k];
    }
    d = sqrt(R[3 * i] * R[3 * i] + R[3 * i + 1] * R[3 * i + 1] + R[3 * i + 2] * R[3 * i + 2]);
    for (int k = 0; k < 3; k++) R[3 * i + k] /= d;
  }
}

/// A solid of which `at` is the farthest point along -n, and has n as its inner normal there: an ellipsoid with semi-axes of `least` to 1
/// times size, or all that is within a radius of a point, a segment or a triangle that has a corner, an edge or its face there.
static inline tgtOval oval_part(tgtRandom *r, bool oval, const double at[3], const double n[3], double size, double least) {
  tgtOval p = {.oval = oval};
  double R[9], core[3];
  oval_directions(r, R);
  if (oval) {
    double e[3], h = 0;
    for (int i = 0; i < 3; i++) {
      double a = size * pow(least, tgt_uniform(r, 0, 1));
      e[i] = 0;
      for (int k = 0; k < 3; k++) {
        p.axes[3 * i + k] = a * R[3 * i + k];
        e[i] += p.axes[3 * i + k] * n[k];
      }
      h += e[i] * e[i];
    }
    for (int k = 0; k < 9; k++) {
      p.x[k] = at[k % 3];
      for (int i = 0; i < 3; i++) p.x[k] += e[i] * p.axes[3 * i + k % 3] / sqrt(h);
    }
    return p;
  }
  int corners = 1 + (int)(tgt_next(r) % 3), touching = 1 + (int)(tgt_next(r) % (unsigned)corners);
  p.radius = tgt_next(r) % 2 == 0 ? 0 : size * pow(10, tgt_uniform(r, -2, 0));
  p.segment = corners == 2;
  for (int k = 0; k < 3; k++) core[k] = at[k] + p.radius * n[k];
  for (int c = 0; c < 3; c++) {   // around the core's point, those that touch at its height, weights of 1/touching
    double d[3], up = 0;
    for (int k = 0; k < 3; k++) d[k] = size * tgt_normal(r);
    for (int k = 0; k < 3; k++) up += d[k] * n[k];
    for (int k = 0; k < 3; k++) d[k] += ((c < touching ? 0 : fabs(up)) - up) * n[k];
    for (int k = 0; k < 3; k++) p.x[3 * c + k] = d[k];
  }
  double mean[3] = {0, 0, 0};
  for (int c = 0; c < touching; c++)
    for (int k = 0; k < 3; k++) mean[k] += p.x[3 * c + k] / touching;
  for (int c = 0; c < 3; c++)
    for (int k = 0; k < 3; k++) p.x[3 * c + k] = c < corners ? core[k] + p.x[3 * c + k] - mean[k] : p.x[3 * (corners - 1) + k];
  return p;
}

/// Both, gap apart: A an ellipsoid, or B, or both. size: of A and of B; least: of the semi-axes, of it.
static inline tgiPairCores ovals_make(tgtRandom *r, double gap, const double size[2], double least, double x[18]) {
  tgiPairCores c = {.radius = {0, 0}};
  double R[9], at[3];
  unsigned which = 1 + (unsigned)(tgt_next(r) % 3);
  oval_directions(r, R);
  for (int half = 0; half < 2; half++) {
    double n[3];
    for (int k = 0; k < 3; k++) {
      n[k] = half == 0 ? R[k] : -R[k];
      at[k] = 0.5 * gap * n[k];
    }
    tgtOval p = oval_part(r, (which >> half & 1) != 0, at, n, size[half], least);
    memcpy(x + 9 * half, p.x, sizeof p.x);
    c.radius[half] = p.radius;
    c.segment[half] = p.segment;
    c.oval[half] = p.oval;
    for (int k = 0; k < 9; k++) c.axes[half][k] = p.axes[k];
  }
  return c;
}

#endif
