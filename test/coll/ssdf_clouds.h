// ssdf_clouds.h: oriented points on surfaces with known signed distance, made here and not by the engine.
#ifndef TG_TEST_COLL_SSDF_CLOUDS_H
#define TG_TEST_COLL_SSDF_CLOUDS_H

#include <stdlib.h>

#include "coll/clouds/ssdf.h"
#include "math/vec3.h"
#include "support/check.h"

typedef struct tgtCloud { int n; tgReal *p, *normal; } tgtCloud;

static inline tgtCloud tgt_cloud(int n) {
  tgtCloud c = {n, calloc(3 * (size_t)n, sizeof(tgReal)), calloc(3 * (size_t)n, sizeof(tgReal))};
  assert_non_null(c.p);
  assert_non_null(c.normal);
  return c;
}
static inline void tgt_cloud_free(tgtCloud *c) {
  free(c->p);
  free(c->normal);
}
// w_i of all points at x, from the formula of ssdf.h
static inline void tgt_ssdf_weights(const tgiSsdf *s, const tgReal x[3], tgReal *w) {
  tgReal most = -INFINITY, total = 0;
  for (int i = 0; i < s->n; i++) {
    static const tgReal one[6] = {1, 0, 1, 0, 0, 1};
    const tgReal *A = s->shape != NULL ? s->shape + 6 * i : one,
                 d[3] = {x[0] - s->p[3 * i], x[1] - s->p[3 * i + 1], x[2] - s->p[3 * i + 2]};
    w[i] = -(A[0] * d[0] * d[0] + A[2] * d[1] * d[1] + A[5] * d[2] * d[2] +
             2 * (A[1] * d[0] * d[1] + A[3] * d[0] * d[2] + A[4] * d[1] * d[2])) / s->eps;
    if (tgRe(w[i]) > tgRe(most)) most = w[i];
  }
  for (int i = 0; i < s->n; i++) total += w[i] = tgExp(w[i] - most);
  for (int i = 0; i < s->n; i++) w[i] /= total;
}
static inline tgiSsdf tgt_ssdf(const tgtCloud *c, double eps) {
  return (tgiSsdf){.n = c->n, .p = c->p, .normal = c->normal, .eps = eps};
}

// sphere about the origin: a spiral of equal areas
static inline tgtCloud tgt_cloud_sphere(int n, double radius) {
  tgtCloud c = tgt_cloud(n);
  for (int i = 0; i < n; i++) {
    double z = 1 - (2 * i + 1.0) / n, r = sqrt(1 - z * z), a = i * TG_PI * (3 - sqrt(5.0)), u[3] = {r * cos(a), r * sin(a), z};
    for (int k = 0; k < 3; k++) {
      c.normal[3 * i + k] = u[k];
      c.p[3 * i + k] = radius * u[k];
    }
  }
  return c;
}

// box about the origin: squares of the same side on all faces; half[k] multiples of spacing/2
static inline tgtCloud tgt_cloud_box(const double half[3], double spacing) {
  int m[3], n = 0;
  for (int k = 0; k < 3; k++) m[k] = (int)lround(2 * half[k] / spacing);
  for (int k = 0; k < 3; k++) n += 2 * m[(k + 1) % 3] * m[(k + 2) % 3];
  tgtCloud c = tgt_cloud(n);
  int i = 0;
  for (int f = 0; f < 6; f++) {
    int k = f / 2, u = (k + 1) % 3, v = (k + 2) % 3;
    for (int a = 0; a < m[u] * m[v]; a++, i++) {
      c.p[3 * i + k] = f % 2 ? half[k] : -half[k];
      c.p[3 * i + u] = (a % m[u] + 0.5) * spacing - half[u];
      c.p[3 * i + v] = (a / m[u] + 0.5) * spacing - half[v];
      c.normal[3 * i + k] = f % 2 ? 1 : -1;
    }
  }
  return c;
}

// torus about z: R to the middle of the tube, tube radius a; ring by ring, about `spacing` apart
static inline tgtCloud tgt_cloud_torus(double R, double a, double spacing) {
  int rings = (int)lround(2 * TG_PI * a / spacing), n = 0;
  for (int j = 0; j < rings; j++) n += (int)lround(2 * TG_PI * (R + a * cos(2 * TG_PI * j / rings)) / spacing);
  tgtCloud c = tgt_cloud(n);
  for (int j = 0, i = 0; j < rings; j++) {
    double t = 2 * TG_PI * j / rings;
    int m = (int)lround(2 * TG_PI * (R + a * cos(t)) / spacing);
    for (int k = 0; k < m; k++, i++) {
      double f = 2 * TG_PI * (k + 0.5 * (j % 2)) / m;
      double u[3] = {cos(t) * cos(f), cos(t) * sin(f), sin(t)};
      for (int d = 0; d < 3; d++) {
        c.normal[3 * i + d] = u[d];
        c.p[3 * i + d] = a * u[d] + (d == 0 ? R * cos(f) : d == 1 ? R * sin(f) : 0);
      }
    }
  }
  return c;
}

static inline void tgt_random_unit(tgtRandom *r, double u[3]) {
  double n = 0;
  for (int k = 0; k < 3; k++) {
    u[k] = tgt_normal(r);
    n += u[k] * u[k];
  }
  for (int k = 0; k < 3; k++) u[k] /= sqrt(n);
}

#endif
