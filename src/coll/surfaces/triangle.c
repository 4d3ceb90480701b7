// triangle.c: distance of two triangles over all pairs of features. See triangle.h.
//
// Based on: [math/collision Distance]. Of disjoint triangles the closest points are those of a vertex and a face, or of two edges. Every
// candidate is a pair of points of the two sets, so that a badly conditioned one can only lose.
#include "coll/surfaces/triangle.h"

#include <math.h>
#include <string.h>

#include "math/d3.h"

typedef struct Best { double d2, d; tgiNearby r; } Best;

static void offer(Best *best, const double *a, int feature_a, const double *b, int feature_b) {
  double d[3];
  tgi_d3_sub(d, a, b);
  double d2 = tgi_d3_dot(d, d);
  if (d2 >= best->d2) return;
  best->d2 = d2;
  best->d = sqrt(d2);
  memcpy(best->r.a, a, sizeof best->r.a);
  memcpy(best->r.b, b, sizeof best->r.b);
  best->r.feature_a = feature_a;
  best->r.feature_b = feature_b;
}

// the same with the sets named the other way round
static void offer_in_order(Best *best, bool swapped, const double *a, int feature_a, const double *b, int feature_b) {
  if (swapped) offer(best, b, feature_b, a, feature_a);
  else offer(best, a, feature_a, b, feature_b);
}

// vertex p (feature i) and the edge (feature e) from u to v, whose ends are the features k and l
static void vertex_edge(Best *best, bool swapped, const double *p, int i, const double *u, const double *v, int e, int k, int l) {
  double d[3], w[3], x[3];
  tgi_d3_sub(d, v, u);
  tgi_d3_sub(w, p, u);
  double dd = tgi_d3_dot(d, d), s = dd > 0 ? tgi_d3_dot(w, d) / dd : 0;
  if (!(s > 0)) {
    offer_in_order(best, swapped, p, i, u, k);
  } else if (s >= 1) {
    offer_in_order(best, swapped, p, i, v, l);
  } else {
    tgi_d3_along(x, u, s, d);
    offer_in_order(best, swapped, p, i, x, e);
  }
}

// Is what lies at r along n, of square nn, farther than the best so far? It is not looked at then. uu vv: squares of what n is the product
// of; with a sine of 1e-6 between these and more the distance along n is known to 1e-9 of r.
static bool loses(const Best *best, const double *r, const double *n, double nn, double uu, double vv) {
  double along = tgi_d3_dot(r, n), more = best->d + 1e-9 * (fabs(r[0]) + fabs(r[1]) + fabs(r[2]));
  return nn > 1e-12 * uu * vv && along * along > nn * more * more;
}

// Interiors of two edges: the common normal n = d x e gives the feet; with the edges almost parallel the feet are ill placed along them,
// but not their distance. The edges are at least as far apart as their lines.
static void edge_edge(Best *best, const double *p, const double *q, int i, const double *u, const double *v, int j) {
  double d[3], e[3], n[3], r[3], c[3], x[3], y[3];
  tgi_d3_sub(d, q, p);
  tgi_d3_sub(e, v, u);
  tgi_d3_cross(n, d, e);
  double nn = tgi_d3_dot(n, n);
  if (!(nn > 0)) return;
  tgi_d3_sub(r, u, p);
  if (loses(best, r, n, nn, tgi_d3_dot(d, d), tgi_d3_dot(e, e))) return;
  tgi_d3_cross(c, r, e);
  double s = tgi_d3_dot(c, n) / nn;
  if (!(s > 0 && s < 1)) return;
  tgi_d3_cross(c, r, d);
  double t = tgi_d3_dot(c, n) / nn;
  if (!(t > 0 && t < 1)) return;
  tgi_d3_along(x, p, s, d);
  tgi_d3_along(y, u, t, e);
  offer(best, x, i, y, j);
}

// Interior of a face: the foot of p by its barycentric coordinates, when these are all positive; n = normal, nn = n.n.
static void vertex_face(Best *best, bool swapped, const double *p, int i, const double *T, const double *n, double nn) {
  double w[3], x[3] = {0, 0, 0};
  for (int k = 0; k < 3; k++) {
    const double *u = T + 3 * ((k + 1) % 3), *v = T + 3 * ((k + 2) % 3);
    double d[3], r[3], c[3];
    tgi_d3_sub(d, v, u);
    tgi_d3_sub(r, p, u);
    tgi_d3_cross(c, d, r);
    w[k] = tgi_d3_dot(c, n) / nn;
    if (!(w[k] > 0)) return;
  }
  double sum = w[0] + w[1] + w[2];
  for (int k = 0; k < 3; k++) tgi_d3_along(x, x, w[k] / sum, T + 3 * k);
  offer_in_order(best, swapped, p, i, x, TGI_FACE);
}

// twice the area times the normal
static double normal_of(const double *T, double *n) {
  double d[3], e[3];
  tgi_d3_sub(d, T + 3, T);
  tgi_d3_sub(e, T + 6, T);
  tgi_d3_cross(n, d, e);
  return tgi_d3_dot(n, n);
}

// Does the edge p q of one triangle cross the face T? sp, sq: heights of its ends, of opposite sign.
static bool pierces(const double *p, const double *q, double sp, double sq, const double *T, double *x) {
  double d[3], v[3];
  tgi_d3_sub(d, q, p);
  for (int k = 0; k < 3; k++) {
    double a[3], b[3], c[3];
    tgi_d3_sub(a, T + 3 * k, p);
    tgi_d3_sub(b, T + 3 * ((k + 1) % 3), p);
    tgi_d3_cross(c, a, b);
    v[k] = tgi_d3_dot(c, d);
  }
  bool up = v[0] >= 0 && v[1] >= 0 && v[2] >= 0, down = v[0] <= 0 && v[1] <= 0 && v[2] <= 0;
  if (!up && !down) return false;
  tgi_d3_along(x, p, sp / (sp - sq), d);
  return true;
}

// an edge of S crosses the face T: the triangles meet at x
static bool crosses(const double *S, const double *T, const double *n, int *edge, double *x) {
  double s[3];
  for (int k = 0; k < 3; k++) {
    double r[3];
    tgi_d3_sub(r, S + 3 * k, T);
    s[k] = tgi_d3_dot(r, n);
  }
  for (int k = 0; k < 3; k++) {
    int l = (k + 1) % 3;
    if (s[k] * s[l] >= 0 || !pierces(S + 3 * k, S + 3 * l, s[k], s[l], T, x)) continue;
    *edge = TGI_EDGE + k;
    return true;
  }
  return false;
}

// vertices of S against T, none of whose points is nearer than its plane
static void vertices(Best *best, bool swapped, const double *S, int count, const double *T, const double *n, double nn) {
  double d[3], e[3], r[3];
  tgi_d3_sub(d, T + 3, T);
  tgi_d3_sub(e, T + 6, T);
  double dd = tgi_d3_dot(d, d), ee = tgi_d3_dot(e, e);
  for (int i = 0; i < count; i++) {
    tgi_d3_sub(r, S + 3 * i, T);
    if (loses(best, r, n, nn, dd, ee)) continue;
    for (int k = 0; k < 3; k++) {
      int l = (k + 1) % 3;
      vertex_edge(best, swapped, S + 3 * i, i, T + 3 * k, T + 3 * l, TGI_EDGE + k, k, l);
    }
    if (nn > 0) vertex_face(best, swapped, S + 3 * i, i, T, n, nn);
  }
}

static tgiNearby meeting(const double *x, int feature_a, int feature_b) {
  tgiNearby r = {.distance = 0, .feature_a = feature_a, .feature_b = feature_b};
  memcpy(r.a, x, sizeof r.a);
  memcpy(r.b, x, sizeof r.b);
  return r;
}

tgiNearby tgi_triangle_triangle(const double a[9], const double b[9]) {
  double n[3], m[3], x[3], nn = normal_of(a, n), mm = normal_of(b, m);
  int edge;
  if (crosses(a, b, m, &edge, x)) return meeting(x, edge, TGI_FACE);
  if (crosses(b, a, n, &edge, x)) return meeting(x, TGI_FACE, edge);
  Best best = {.d2 = INFINITY, .d = INFINITY};
  vertices(&best, false, a, 3, b, m, mm);
  vertices(&best, true, b, 3, a, n, nn);
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < 3; j++)
      edge_edge(&best, a + 3 * i, a + 3 * ((i + 1) % 3), TGI_EDGE + i, b + 3 * j, b + 3 * ((j + 1) % 3), TGI_EDGE + j);
  best.r.distance = best.d;
  return best.r;
}

tgiNearby tgi_point_triangle(const double p[3], const double t[9]) {
  double n[3], nn = normal_of(t, n);
  Best best = {.d2 = INFINITY, .d = INFINITY};
  vertices(&best, false, p, 1, t, n, nn);
  best.r.distance = best.d;
  return best.r;
}

tgiNearby tgi_segment_segment(const double a[6], const double b[6]) {
  Best best = {.d2 = INFINITY, .d = INFINITY};
  for (int i = 0; i < 2; i++) {
    vertex_edge(&best, false, a + 3 * i, i, b, b + 3, TGI_EDGE, 0, 1);
    vertex_edge(&best, true, b + 3 * i, i, a, a + 3, TGI_EDGE, 0, 1);
  }
  edge_edge(&best, a, a + 3, TGI_EDGE, b, b + 3, TGI_EDGE);
  best.r.distance = best.d;
  return best.r;
}
