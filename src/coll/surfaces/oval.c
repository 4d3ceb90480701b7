// oval.c: see oval.h.
#include "coll/surfaces/oval.h"

#include <math.h>
#include <string.h>

#include "coll/surfaces/triangle.h"
#include "math/d3.h"

enum { ROUNDS = 200, SWEEPS = 200 };
static const double accuracy = 1e-3;   // of the distance
static const double nothing = 1e-14;   // of the largest coordinate: rounding

// the point of the part that is farthest against u
static void lowest(const tgiOvalPart *p, const double u[3], double x[3]) {
  if (!p->oval) {
    int k = 0;
    for (int i = 1; i < 3; i++)
      if (tgi_d3_dot(p->x + 3 * i, u) < tgi_d3_dot(p->x + 3 * k, u)) k = i;
    tgi_d3_along(x, p->x + 3 * k, -p->round, u);
    return;
  }
  double e[3], h;
  for (int i = 0; i < 3; i++) e[i] = tgi_d3_dot(p->axes + 3 * i, u);
  h = tgi_d3_norm(e);
  tgi_d3_along(x, p->x, -p->round, u);
  for (int i = 0; i < 3; i++) tgi_d3_along(x, x, -e[i] / h, p->axes + 3 * i);
}

// of a - b; returns its height along u
static double lowest_between(const tgiOvalPart *a, const tgiOvalPart *b, const double u[3], double w[3]) {
  double y[3], down[3] = {-u[0], -u[1], -u[2]};
  lowest(a, u, w);
  lowest(b, down, y);
  tgi_d3_sub(w, w, y);
  return tgi_d3_dot(u, w);
}

// ---- the point of a simplex that is nearest to the origin; the simplex keeps the corners that carry it

typedef struct Simplex { double w[4][3]; int count; } Simplex;

static double nearest_of_triangle(const Simplex *s, const int k[3], double v[3], Simplex *kept) {
  const double origin[3] = {0, 0, 0};
  double t[9];
  for (int i = 0; i < 9; i++) t[i] = s->w[k[i / 3]][i % 3];
  tgiNearby c = tgi_point_triangle(origin, t);
  tgi_d3_along(v, c.b, 0, c.b);
  kept->count = 0;
  for (int i = 0; i < 3; i++) {
    int f = c.feature_b;
    bool in = f == TGI_FACE || f == TGI_VERTEX + i || f == TGI_EDGE + i || f == TGI_EDGE + (i + 2) % 3;
    if (in) memcpy(kept->w[kept->count++], s->w[k[i]], sizeof kept->w[0]);
  }
  return c.distance;
}

static double volume(const double *a, const double *b, const double *c, const double *d) {
  double e[3], f[3], g[3], n[3];
  tgi_d3_sub(e, b, a);
  tgi_d3_sub(f, c, a);
  tgi_d3_sub(g, d, a);
  tgi_d3_cross(n, e, f);
  return tgi_d3_dot(n, g);
}

// is the origin inside a tetrahedron
static bool holds(const Simplex *s) {
  const double origin[3] = {0, 0, 0};
  double all = volume(s->w[0], s->w[1], s->w[2], s->w[3]);
  for (int i = 0; i < 4; i++) {
    const double *w[4] = {s->w[0], s->w[1], s->w[2], s->w[3]};
    w[i] = origin;
    if (!(volume(w[0], w[1], w[2], w[3]) * all > 0)) return false;
  }
  return true;
}

static double nearest(Simplex *s, double v[3]) {
  static const int face[4][3] = {{0, 1, 2}, {0, 1, 3}, {0, 2, 3}, {1, 2, 3}}, few[2][3] = {{0, 0, 0}, {0, 1, 1}};
  Simplex best = {.count = 0}, kept;
  double least = INFINITY, x[3];
  if (s->count == 4 && holds(s)) return 0;
  for (int f = 0; f < (s->count == 4 ? 4 : 1); f++) {
    double d = nearest_of_triangle(s, s->count < 3 ? few[s->count - 1] : face[f], x, &kept);
    if (d >= least) continue;
    least = d;
    best = kept;
    memcpy(v, x, sizeof x);
  }
  for (int i = 1; i < best.count; i++)   // corners that stand for fewer came twice
    for (int j = 0; j < i; j++)
      if (memcmp(best.w[i], best.w[j], sizeof best.w[0]) == 0) {
        memcpy(best.w[i], best.w[--best.count], sizeof best.w[0]);
        i--;
        break;
      }
  *s = best;
  return least;
}

// ---- distance

static double size_of(const tgiOvalPart *a, const tgiOvalPart *b) {
  double size = 0;
  for (int i = 0; i < 9; i++) size = fmax(size, fabs(a->x[i] - b->x[i % 3]));
  for (int i = 0; i < 9; i++) size = fmax(size, fmax(a->oval ? fabs(a->axes[i]) : 0, b->oval ? fabs(b->axes[i]) : 0));
  return fmax(size, fmax(a->round, b->round));
}

double tgi_oval_distance(const tgiOvalPart *a, const tgiOvalPart *b, double n[3]) {
  Simplex s = {.count = 1};
  double v[3], best = 0, size = size_of(a, b);
  tgi_d3_sub(v, a->x, b->x);
  double d = tgi_d3_norm(v);
  for (int i = 0; i < 3; i++) n[i] = 0;
  if (!(d > 0)) return 0;
  for (int round = 0; round < ROUNDS; round++) {
    double u[3], w[3];
    for (int i = 0; i < 3; i++) u[i] = v[i] / d;
    double width = lowest_between(a, b, u, w);
    if (width > best) {
      best = width;
      memcpy(n, u, sizeof u);
    }
    if (round > 0 && d - best <= accuracy * d) break;
    if (round == 0) memcpy(s.w[0], w, sizeof w);
    else memcpy(s.w[s.count++], w, sizeof w);
    d = nearest(&s, v);
    if (!(d > nothing * size)) break;
  }
  return best;
}

// ---- motion: along a fixed direction the support of what moves so is convex in time, and the width of the slab lies above its chord

static void at_time(const tgiOvalPart p[2], double t, tgiOvalPart *out) {
  *out = p[0];
  for (int i = 0; i < 9; i++) {
    out->x[i] += t * (p[1].x[i] - p[0].x[i]);
    if (p->oval) out->axes[i] += t * (p[1].axes[i] - p[0].axes[i]);
  }
}

double tgi_oval_sweep(const tgiOvalPart a[2], const tgiOvalPart b[2], double gap, double tol, double until) {
  double t = 0;
  for (int k = 0; k < SWEEPS; k++) {
    tgiOvalPart x, y;
    double n[3], w[3];
    at_time(a, t, &x);
    at_time(b, t, &y);
    double now = tgi_oval_distance(&x, &y, n);
    if (!(now > gap + tol)) return t;
    double end = lowest_between(&a[1], &b[1], n, w);
    if (end >= gap) return until;
    t += (1 - t) * (now - gap) / (now - end);
    if (t >= until) return until;
  }
  return t;
}
