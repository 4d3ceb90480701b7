// start.c: separating planes among directions that need no closest points. See start.h.
#include "contact/barrier/pair/start.h"
#include <math.h>

typedef struct Slab {
  double n[3], delta, width;  // |n| = 1, width < 0: none yet
} Slab;

static void sub(double r[3], const double *a, const double *b) {
  for (int i = 0; i < 3; i++) r[i] = a[i] - b[i];
}
static void cross(double r[3], const double *a, const double *b) {
  for (int i = 0; i < 3; i++) r[i] = a[(i + 1) % 3] * b[(i + 2) % 3] - a[(i + 2) % 3] * b[(i + 1) % 3];
}
static double dot(const double *a, const double *b) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }

// n of any length and sign
static void consider(Slab *best, const double *x, const double *n) {
  double length = sqrt(dot(n, n)), lo[2], hi[2];
  if (!(length > 0)) return;
  for (int half = 0; half < 2; half++) {
    lo[half] = INFINITY;
    hi[half] = -INFINITY;
    for (int k = 3 * half; k < 3 * half + 3; k++) {
      double s = dot(n, x + 3 * k) / length;
      lo[half] = fmin(lo[half], s);
      hi[half] = fmax(hi[half], s);
    }
  }
  bool above = lo[0] - hi[1] >= lo[1] - hi[0];
  double width = above ? lo[0] - hi[1] : lo[1] - hi[0], sign = above ? 1 : -1;
  if (!(width > best->width)) return;
  best->width = width;
  for (int i = 0; i < 3; i++) best->n[i] = sign * n[i] / length;
  best->delta = above ? -0.5 * (lo[0] + hi[1]) : 0.5 * (lo[1] + hi[0]);
}

// n of a narrow triangle, at right angles to its edges to rounding: a cross product is so only to rounding times length over height
static void straighten(double n[3], double e[3][3]) {
  for (int k = 0; k < 3; k++) {
    double f = dot(n, e[k]) / fmax(dot(e[k], e[k]), DBL_MIN);
    for (int i = 0; i < 3; i++) n[i] -= f * e[k][i];
  }
}

static void edges(const double *x, double e[3][3]) {
  for (int k = 0; k < 3; k++) sub(e[k], x + 3 * ((k + 1) % 3), x + 3 * k);
}

// The shortest of the vectors from a vertex of one triangle to an edge of the other. Its angle with the edge must be right to rounding
// times the gap over the edge's length, hence the second pass.
static void closest_edge(const double *x, double ea[3][3], double eb[3][3], double n[3]) {
  double least = INFINITY, e[3] = {0, 0, 0};
  for (int k = 0; k < 18; k++) {
    int a = k / 6, b = k / 2 % 3;
    const double *edge = k % 2 == 0 ? ea[a] : eb[b];
    double d[3], r[3];
    sub(d, x + 3 * a, x + 9 + 3 * b);
    double t = dot(d, edge) / fmax(dot(edge, edge), DBL_MIN), inside = k % 2 == 0 ? fmax(-1, fmin(t, 0)) : fmax(0, fmin(t, 1));
    for (int i = 0; i < 3; i++) r[i] = d[i] - inside * edge[i];
    if (!(dot(r, r) < least)) continue;
    least = dot(r, r);
    for (int i = 0; i < 3; i++) {
      n[i] = r[i];
      e[i] = t == inside ? edge[i] : 0;
    }
  }
  double again = dot(n, e) / fmax(dot(e, e), DBL_MIN);
  for (int i = 0; i < 3; i++) n[i] -= again * e[i];
}

static void first_candidates(Slab *best, const double *x, double ea[3][3], double eb[3][3], double na[3], double nb[3]) {
  double n[3];
  consider(best, x, na);
  consider(best, x, nb);
  for (int a = 0; a < 3; a++)
    for (int b = 0; b < 3; b++) {
      cross(n, ea[a], eb[b]);
      consider(best, x, n);
    }
  closest_edge(x, ea, eb, n);
  consider(best, x, n);
}

bool tgi_pair_start(const double x[18], double size, double u[3], double *delta) {
  Slab best = {.width = -1};
  double ea[3][3], eb[3][3], na[3], nb[3], n[3];
  edges(x, ea);
  edges(x + 9, eb);
  cross(na, ea[0], ea[1]);
  cross(nb, eb[0], eb[1]);
  straighten(na, ea);
  straighten(nb, eb);
  first_candidates(&best, x, ea, eb, na, nb);
  if (!(best.width > TGI_PAIR_SIGNIFICANT * size)) {
    for (int k = 0; k < 3; k++) {
      cross(n, na, ea[k]);
      consider(&best, x, n);
      cross(n, nb, eb[k]);
      consider(&best, x, n);
    }
    for (int a = 0; a < 3; a++)
      for (int b = 3; b < 6; b++) {
        sub(n, x + 3 * a, x + 3 * b);
        consider(&best, x, n);
      }
    if (!(best.width > TGI_PAIR_SIGNIFICANT_ALL * size)) return false;
  }
  for (int i = 0; i < 3; i++) u[i] = best.n[i];
  *delta = best.delta;
  return true;
}
