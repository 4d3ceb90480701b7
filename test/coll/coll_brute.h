// coll_brute.h: independent views of a body: its support function, a bound on distances, how far a point is outside it.
#ifndef TG_TEST_COLL_BRUTE_H
#define TG_TEST_COLL_BRUTE_H

#include "coll/coll_support.h"

/// Vertices of the core with a radius around it; of a cylinder or ellipsoid none, they are in closed form.
typedef struct tgtCore { double v[400][3]; int n; double r; const tgtShape *s; } tgtCore;
static inline void tgt_core(tgtCore *c, const tgtShape *s) {
  c->s = s;
  c->r = 0;
  c->n = 0;
  if (s->type == TG_GEOM_SPHERE || s->type == TG_GEOM_CAPSULE) {
    double h = s->type == TG_GEOM_CAPSULE ? tgRe(s->size[1]) : 0;
    c->r = tgRe(s->size[0]);
    c->n = 2;
    for (int k = 0; k < 2; k++)
      for (int i = 0; i < 3; i++) c->v[k][i] = tgRe(s->pos[i]) + (k ? h : -h) * tgRe(s->mat[3 * i + 2]);
    return;
  }
  if (s->type == TG_GEOM_CYLINDER || s->type == TG_GEOM_ELLIPSOID) {
    for (int i = 0; i < 3; i++) c->v[0][i] = tgRe(s->pos[i]);      // a point of it
    return;
  }
  int n = s->type == TG_GEOM_BOX ? 8 : s->hull->nvert;
  assert_true(n <= 400);
  for (int k = 0; k < n; k++) {
    tgReal x[3], y[3];
    for (int i = 0; i < 3; i++) {
      if (s->type == TG_GEOM_BOX) x[i] = (k >> i & 1 ? 1 : -1) * s->size[i];
      else x[i] = s->hull->vert[3 * k + i];
    }
    for (int i = 0; i < 3 && s->type == TG_GEOM_MESH; i++) x[i] *= s->size[i];
    tgi_m3_mulv(y, s->mat, x);
    for (int i = 0; i < 3; i++) c->v[k][i] = tgRe(y[i] + s->pos[i]);
  }
  c->n = n;
}
static inline double tgt_support(const tgtCore *c, const double *d, double sign, double *x) {
  double best = INFINITY;
  if (c->n == 0) {
    // the point of a cylinder or ellipsoid farthest along -sign d
    const tgtShape *q = c->s;
    double e[3], y[3] = {0}, w[3], len = 0;
    for (int j = 0; j < 3; j++) {
      w[j] = 0;
      for (int i = 0; i < 3; i++) w[j] -= sign * d[i] * tgRe(q->mat[3 * i + j]);
      e[j] = tgRe(q->size[j]);
    }
    if (q->type == TG_GEOM_CYLINDER) {
      len = hypot(w[0], w[1]);
      for (int j = 0; j < 2 && len > 0; j++) y[j] = e[0] * w[j] / len;
      y[2] = w[2] > 0 ? e[1] : -e[1];
    } else {
      for (int j = 0; j < 3; j++) len += e[j] * e[j] * w[j] * w[j];
      for (int j = 0; j < 3; j++) y[j] = e[j] * e[j] * w[j] / sqrt(len);
    }
    best = 0;
    for (int i = 0; i < 3; i++) {
      double z = tgRe(q->pos[i]);
      for (int j = 0; j < 3; j++) z += tgRe(q->mat[3 * i + j]) * y[j];
      best += sign * d[i] * z;
      if (x) x[i] = z;
    }
    return best;
  }
  for (int k = 0; k < c->n; k++) {
    double s = sign * (d[0] * c->v[k][0] + d[1] * c->v[k][1] + d[2] * c->v[k][2]);
    if (s < best) {
      best = s;
      if (x) memcpy(x, c->v[k], sizeof c->v[k]);
    }
  }
  return best;
}
// largest gap that a plane normal to the unit vector n leaves between the bodies, n from B to A
static inline double tgt_separation(const tgtCore *a, const tgtCore *b, const double *n) {
  return tgt_support(a, n, 1, NULL) + tgt_support(b, n, -1, NULL) - a->r - b->r;
}
// climbs from unit n, whose separation is top, by random steps that shrink where nothing is gained
static inline double tgt_climb(const tgtCore *a, const tgtCore *b, double *n, double top, double step, int steps, tgtRandom *r) {
  for (int k = 0; k < steps; k++) {
    double m[3], len = 0;
    for (int i = 0; i < 3; i++) {
      m[i] = n[i] + step * tgt_normal(r);
      len += m[i] * m[i];
    }
    for (int i = 0; i < 3; i++) m[i] /= sqrt(len);
    double s = tgt_separation(a, b, m);
    step *= s > top ? 1.3 : 0.98;
    if (s > top) {
      top = s;
      memcpy(n, m, sizeof m);
    }
  }
  return top;
}
// upper bound on the distance of the cores: Frank-Wolfe on the Minkowski difference, line search each step
static inline double tgt_distance_bound(const tgtCore *a, const tgtCore *b) {
  double x[3], s[3], y[3];
  for (int i = 0; i < 3; i++) x[i] = a->v[0][i] - b->v[0][i];
  for (int it = 0; it < 3000; it++) {
    double num = 0, den = 0;
    tgt_support(a, x, 1, s);
    tgt_support(b, x, -1, y);
    for (int i = 0; i < 3; i++) {
      s[i] -= y[i];
      num += x[i] * (x[i] - s[i]);
      den += (x[i] - s[i]) * (x[i] - s[i]);
    }
    if (!(num > 0)) break;
    double t = fmin(1, num / den);
    for (int i = 0; i < 3; i++) x[i] += t * (s[i] - x[i]);
  }
  return sqrt(x[0] * x[0] + x[1] * x[1] + x[2] * x[2]);
}
// how far x is outside the body: planes of a polytope, distance to the segment of a round one
static inline double tgt_outside(const tgtShape *s, const double *x) {
  double d[3], y[3], worst = -INFINITY;
  for (int i = 0; i < 3; i++) d[i] = x[i] - tgRe(s->pos[i]);
  for (int i = 0; i < 3; i++) y[i] = tgRe(s->mat[i]) * d[0] + tgRe(s->mat[3 + i]) * d[1] + tgRe(s->mat[6 + i]) * d[2];
  if (s->type == TG_GEOM_SPHERE || s->type == TG_GEOM_CAPSULE) {
    double h = s->type == TG_GEOM_CAPSULE ? tgRe(s->size[1]) : 0, z = y[2] - fmin(fmax(y[2], -h), h);
    return sqrt(y[0] * y[0] + y[1] * y[1] + z * z) - tgRe(s->size[0]);
  }
  if (s->type == TG_GEOM_CYLINDER) return fmax(hypot(y[0], y[1]) - tgRe(s->size[0]), fabs(y[2]) - tgRe(s->size[1]));
  if (s->type == TG_GEOM_ELLIPSOID) {
    double e[3], q = 0;
    for (int i = 0; i < 3; i++) {
      e[i] = tgRe(s->size[i]);
      q += y[i] * y[i] / (e[i] * e[i]);
    }
    return (sqrt(q) - 1) * fmin(e[0], fmin(e[1], e[2]));
  }
  if (s->type == TG_GEOM_BOX) {
    for (int i = 0; i < 3; i++) worst = fmax(worst, fabs(y[i]) - tgRe(s->size[i]));
    return worst;
  }
  static tgtScaled room;
  const tgHull *h = tgt_shape(s, &room).hull;
  for (int f = 0; f < h->nface; f++) {
    const tgReal *p = h->face_plane + 4 * f;
    worst = fmax(worst, y[0] * tgRe(p[0]) + y[1] * tgRe(p[1]) + y[2] * tgRe(p[2]) - tgRe(p[3]));
  }
  return worst;
}

#endif
