// convex.c: access to convex cores and exact separating axes. See convex.h.
#include "coll/features/convex.h"
#include <string.h>

#define FLAT 2e-4             // sine of a tilt, see tgiConvex
#define SIN2_PARALLEL 1e-6   // edges within 1e-3 rad make no axis of their own; faces and vertices decide [math/collision Choice]

static void real_pose(const tgShape *S, double *R, double *x) {
  for (int i = 0; i < 9; i++) R[i] = tgRe(S->mat[i]);
  for (int i = 0; i < 3; i++) x[i] = tgRe(S->pos[i]);
}
static void turn(double *y, const double *R, const double *x) {
  double a = R[0] * x[0] + R[1] * x[1] + R[2] * x[2], b = R[3] * x[0] + R[4] * x[1] + R[5] * x[2];
  y[2] = R[6] * x[0] + R[7] * x[1] + R[8] * x[2];
  y[0] = a;
  y[1] = b;
}
static void turn_back(double *y, const double *R, const double *x) {
  double a = R[0] * x[0] + R[3] * x[1] + R[6] * x[2], b = R[1] * x[0] + R[4] * x[1] + R[7] * x[2];
  y[2] = R[2] * x[0] + R[5] * x[1] + R[8] * x[2];
  y[0] = a;
  y[1] = b;
}
static void real3(double *y, const tgReal *x) {
  for (int i = 0; i < 3; i++) y[i] = tgRe(x[i]);
}

static tgiConvexKind kind_of(const tgShape *S) {
  switch (S->type) {
    case TG_GEOM_PLANE: return TGI_CONVEX_PLANE;
    case TG_GEOM_CYLINDER: return TGI_CONVEX_CYLINDER;
    case TG_GEOM_ELLIPSOID: return TGI_CONVEX_ELLIPSOID;
    case TG_GEOM_BOX:
    case TG_GEOM_MESH: return TGI_CONVEX_HULL;
    case TG_GEOM_SPHERE:
    case TG_GEOM_CAPSULE: break;
  }
  return TGI_CONVEX_ROUND;
}

// They are at most 6e-5 r above the rim's lowest point, and no more than a third of `fine` where that is not 0.
static double flat_below(double radius, double fine) { return fine > 0 ? fmin(FLAT, fine / radius) : FLAT; }

static void fill(tgiConvex *C, const tgShape *S, bool is_a, double fine) {
  *C = (tgiConvex){.S = S, .kind = kind_of(S), .is_a = is_a, .R = {1, 0, 0, 0, 1, 0, 0, 0, 1}, .inner = INFINITY};
  double *z = C->size;
  if (C->kind != TGI_CONVEX_PLANE) real3(z, S->size);
  switch (C->kind) {
    case TGI_CONVEX_ROUND:
      C->r = z[0];
      C->radius = S->type == TG_GEOM_CAPSULE ? z[0] + z[1] : z[0];
      break;
    case TGI_CONVEX_ELLIPSOID:
      C->radius = fmax(z[0], fmax(z[1], z[2]));
      C->inner = fmin(z[0], fmin(z[1], z[2]));
      break;
    case TGI_CONVEX_CYLINDER:
      C->nface = 2;
      C->flat = flat_below(z[0], fine);
      C->radius = sqrt(z[0] * z[0] + z[1] * z[1]);
      C->inner = fmin(z[0], z[1]);
      break;
    case TGI_CONVEX_HULL:
      C->h = S->hull;
      C->nvert = S->hull->nvert;
      C->nedge = S->hull->nedge;
      C->nface = S->hull->nface;
      C->radius = S->hull->radius;
      break;
    case TGI_CONVEX_PLANE: C->nface = 1; break;
  }
}

void tgi_convex_pair(const tgiPair *P, tgiConvex *X, tgiConvex *Y) {
  double RX[9], RY[9], x[3], y[3];
  fill(X, P->A, true, P->fine);
  fill(Y, P->B, false, P->fine);
  if (X->kind > Y->kind) {
    tgiConvex swap = *X;
    *X = *Y;
    *Y = swap;
  }
  Y->home = true;
  real_pose(X->S, RX, x);
  real_pose(Y->S, RY, y);
  bool round = X->kind == TGI_CONVEX_ROUND;
  for (int i = 0; i < 3 && !round; i++)
    for (int j = 0; j < 3; j++) X->R[3 * i + j] = RY[i] * RX[j] + RY[3 + i] * RX[3 + j] + RY[6 + i] * RX[6 + j];
  tgi_d3_sub(x, x, y);
  turn_back(X->t, RY, x);
  if (!round) return;
  X->seg = tgi_round_segment(X->S);
  tgi_d3_sub(x, X->seg.x, y);
  turn_back(X->seg.x, RY, x);
  turn_back(X->seg.u, RY, X->seg.u);
  X->nvert = X->seg.line ? 2 : 1;
  X->nedge = X->seg.line ? 1 : 0;
}

void tgi_convex_vertex(const tgiConvex *C, int v, double *x) {
  if (!C->h) {
    tgi_d3_along(x, C->seg.x, v, C->seg.u);
    return;
  }
  real3(x, C->h->vert + 3 * v);
  if (C->home) return;
  turn(x, C->R, x);
  for (int i = 0; i < 3; i++) x[i] += C->t[i];
}

void tgi_convex_edge(const tgiConvex *C, int e, tgiSegment *g, double *left, double *right) {
  if (!C->h) {
    *g = C->seg;
    return;
  }
  const int *q = C->h->edge + 4 * e;
  tgi_convex_vertex(C, q[0], g->x);
  tgi_convex_vertex(C, q[1], g->u);
  tgi_d3_sub(g->u, g->u, g->x);
  g->line = true;
  if (left) tgi_convex_face(C, q[2], left);
  if (right) tgi_convex_face(C, q[3], right);
}

double tgi_convex_face(const tgiConvex *C, int f, double *n) {
  if (!C->h) {                                       // a cap or a plane: along the frame's z
    for (int i = 0; i < 3; i++) n[i] = (f == 0 && C->kind == TGI_CONVEX_CYLINDER ? -1 : 1) * C->R[3 * i + 2];
    return (C->kind == TGI_CONVEX_CYLINDER ? C->size[1] : 0) + tgi_d3_dot(n, C->t);
  }
  real3(n, C->h->face_plane + 4 * f);
  if (C->home) return tgRe(C->h->face_plane[4 * f + 3]);
  turn(n, C->R, n);
  return tgRe(C->h->face_plane[4 * f + 3]) + tgi_d3_dot(n, C->t);
}

// lowest point of a cylinder or ellipsoid about its centre, in its own axes, for the direction d there; returns d.x
static double lowest_curved(const tgiConvex *C, const double *d, double *x) {
  const double *z = C->size;
  double v[3], len;
  if (C->kind == TGI_CONVEX_ELLIPSOID) {
    for (int i = 0; i < 3; i++) v[i] = z[i] * d[i];
    len = tgi_d3_norm(v);
    for (int i = 0; i < 3; i++) x[i] = len > 0 ? -z[i] * v[i] / len : 0;
    return -len;
  }
  len = sqrt(d[0] * d[0] + d[1] * d[1]);
  for (int i = 0; i < 2; i++) x[i] = len > 0 ? -z[0] * d[i] / len : 0;
  x[2] = d[2] > 0 ? -z[1] : z[1];
  return -z[0] * len - z[1] * fabs(d[2]);
}

void tgi_convex_lowest(const tgiConvex *C, const double *n, double shrink, int *from, double *x) {
  double d[3];
  if (C->kind == TGI_CONVEX_ROUND || C->kind == TGI_CONVEX_HULL) {
    tgi_convex_support_from(C, n, *from, from);
    tgi_convex_vertex(C, *from, x);
    return;
  }
  turn_back(d, C->R, n);
  lowest_curved(C, d, x);
  for (int i = 0; i < 3; i++) x[i] *= shrink;
  turn(x, C->R, x);
  for (int i = 0; i < 3; i++) x[i] += C->t[i];
}

// edges are in the order of their vertices, but for those of boxes and triangles
int tgi_edge_between(const tgHull *h, int v, int w) {
  enum { BOX = 12 };
  int low = v < w ? v : w, high = v < w ? w : v, from = 0, end = h->nedge - 1;
  for (int e = 0; e <= end && end < BOX; e++)
    if (h->edge[4 * e] + h->edge[4 * e + 1] == v + w && (h->edge[4 * e] == v || h->edge[4 * e] == w)) return e;
  while (from < end) {
    int middle = (from + end) / 2;
    const int *q = h->edge + 4 * middle;
    if (q[0] < low || (q[0] == low && q[1] < high)) from = middle + 1;
    else end = middle;
  }
  return from;
}

// on a polytope's edge graph a vertex without a lower neighbour is lowest; small hulls are scanned
double tgi_convex_support_from(const tgiConvex *C, const double *n, int from, int *arg) {
  enum { SCAN = 24 };
  double d[3], x[3], best = INFINITY;
  int v = from;
  if (C->kind == TGI_CONVEX_ELLIPSOID || C->kind == TGI_CONVEX_CYLINDER) {
    turn_back(d, C->R, n);
    *arg = 0;
    return tgi_d3_dot(n, C->t) + lowest_curved(C, d, x);
  }
  if (!C->h) {
    double end = tgi_d3_dot(n, C->seg.u);
    *arg = C->seg.line && end < 0;
    return tgi_d3_dot(n, C->seg.x) + *arg * end;
  }
  const tgHull *h = C->h;
  if (C->home) memcpy(d, n, sizeof d);
  else turn_back(d, C->R, n);
  if (h->nvert <= SCAN) {
    for (int k = 0; k < h->nvert; k++) {
      real3(x, h->vert + 3 * k);
      double s = tgi_d3_dot(d, x);
      if (s < best) { best = s; v = k; }
    }
  } else {
    real3(x, h->vert + 3 * v);
    best = tgi_d3_dot(d, x);
    for (bool moved = true; moved;) {
      int at = v;
      moved = false;
      for (int k = h->vert_adr[at]; k < h->vert_adr[at + 1]; k++) {
        real3(x, h->vert + 3 * h->vert_next[k]);
        double s = tgi_d3_dot(d, x);
        if (s < best) { best = s; v = h->vert_next[k]; moved = true; }
      }
    }
  }
  *arg = v;
  return best + tgi_d3_dot(n, C->t);
}

double tgi_face_separation(const tgiConvex *F, int f, const tgiConvex *V) {
  double n[3], off = tgi_convex_face(F, f, n);
  int v;
  return tgi_convex_support(V, n, &v) - off;
}

static void take(tgiAxis *best, int i, int j, double s, double side) {
  if (s > best->s) *best = (tgiAxis){i, j, s, best->s, side};
  else if (s > best->second) best->second = s;
}

tgiAxis tgi_best_face(const tgiConvex *F, const tgiPart *part, const tgiConvex *V, double limit) {
  tgiAxis best = {-1, -1, -INFINITY, -INFINITY, 0};
  int count = F->h && part->edge ? part->nface : F->nface, v = 0;
  for (int k = 0; k < count && best.s <= limit; k++) {
    int f = F->h && part->edge ? part->face[k] : k;
    double n[3], off = tgi_convex_face(F, f, n);
    take(&best, f, -1, tgi_convex_support_from(V, n, v, &v) - off, 0);   // neighbours have near support vertices
  }
  return best;
}

// edges u of X (faces a, b) and w of Y (faces c, d) make a face of the Minkowski difference when the arcs ab and -cd cross
// on the Gauss map:  (c.u)(d.u) < 0,  (a.w)(b.w) < 0,  (c.u)(b.w) < 0.  A free segment has the whole circle normal to u.
static bool edge_axis(const tgiSegment *gx, const double *a, const double *b, const tgiSegment *gy, const double *c,
                      const double *d, double *s, double *side) {
  double cu = tgi_d3_dot(c, gx->u), du = tgi_d3_dot(d, gx->u), N[3], r[3];
  if (!(cu * du < 0)) return false;
  if (a) {
    double aw = tgi_d3_dot(a, gy->u), bw = tgi_d3_dot(b, gy->u);
    if (!(aw * bw < 0 && cu * bw < 0)) return false;
  }
  tgi_d3_cross(N, gx->u, gy->u);
  double NN = tgi_d3_dot(N, N);
  if (!(NN > SIN2_PARALLEL * tgi_d3_dot(gx->u, gx->u) * tgi_d3_dot(gy->u, gy->u))) return false;
  *side = tgi_d3_dot(N, c) + tgi_d3_dot(N, d) > 0 ? 1 : -1;    // outward of Y, hence towards X
  tgi_d3_sub(r, gx->x, gy->x);
  *s = *side * tgi_d3_dot(N, r) / sqrt(NN);
  return true;
}

tgiAxis tgi_edge_axis(const tgiConvex *X, int ex, const tgiConvex *Y, int ey) {
  tgiAxis axis = {-1, -1, -INFINITY, -INFINITY, 0};
  tgiSegment gx, gy;
  double a[3], b[3], c[3], d[3], s, side;
  tgi_convex_edge(X, ex, &gx, a, b);
  tgi_convex_edge(Y, ey, &gy, c, d);
  if (edge_axis(&gx, X->h ? a : NULL, b, &gy, c, d, &s, &side)) axis = (tgiAxis){ex, ey, s, -INFINITY, side};
  return axis;
}

static int part_edges(const tgiConvex *C, const tgiPart *p) { return p->edge ? p->nedge : C->nedge; }

// What the separation along axes of an edge of X is at most, whichever edge of Y it is with. Axes n are on the arc from -a to -b, where
// the edge is X's nearest, and no axis separates more than a point y of Y leaves it: s(n) <= n . (x - y) <= m . r + max |n - m| |r|,
// m the arc's middle, y farthest along it. from: a vertex to look from, then y.
// normals of faces of four and more corners are off square to their edges by so much at most
#define OFF_ARC 1e-3
static double most_apart(const tgiSegment *gx, const double *a, const double *b, const tgiConvex *Y, int *from) {
  double m[3], n[3], y[3], r[3];
  for (int i = 0; i < 3; i++) m[i] = -a[i] - b[i];
  double size = tgi_d3_norm(m);
  if (!(size > 0)) return INFINITY;
  for (int i = 0; i < 3; i++) {
    m[i] /= size;
    n[i] = -m[i];
  }
  tgi_convex_support_from(Y, n, *from, from);
  real3(y, Y->h->vert + 3 * *from);
  tgi_d3_sub(r, gx->x, y);
  double wide = sqrt(fmax(0, 2 - size));   // |a + m|, a + b being of that size
  return tgi_d3_dot(m, r) + (wide + OFF_ARC) * tgi_d3_norm(r);
}

tgiAxis tgi_best_edges(const tgiConvex *X, const tgiPart *px, const tgiConvex *Y, const tgiPart *py, double limit) {
  enum { MANY = 64 };   // edges of Y, from which on it pays to ask whether any can matter
  tgiAxis best = {-1, -1, -INFINITY, -INFINITY, 0};
  const tgHull *h = Y->h;
  int nx = part_edges(X, px), ny = part_edges(Y, py), from = 0;
  for (int k = 0; k < nx && best.s <= limit; k++) {
    int i = px->edge ? px->edge[k] : k;
    tgiSegment gx;
    double a[3], b[3];
    tgi_convex_edge(X, i, &gx, a, b);
    if (X->h && ny >= MANY && most_apart(&gx, a, b, Y, &from) < best.second) continue;
    for (int l = 0; l < ny; l++) {
      int j = py->edge ? py->edge[l] : l;
      const int *q = h->edge + 4 * j;
      double c[3], d[3], s, side;
      real3(c, h->face_plane + 4 * q[2]);            // Y's frame is the working frame
      real3(d, h->face_plane + 4 * q[3]);
      if (!(tgi_d3_dot(c, gx.u) * tgi_d3_dot(d, gx.u) < 0)) continue;
      tgiSegment gy;
      real3(gy.x, h->vert + 3 * q[0]);
      real3(gy.u, h->vert + 3 * q[1]);
      tgi_d3_sub(gy.u, gy.u, gy.x);
      if (edge_axis(&gx, X->h ? a : NULL, b, &gy, c, d, &s, &side)) take(&best, i, j, s, side);
    }
  }
  return best;
}

// a point's nearest edge bounds a face that it is on the outer side of
static bool hidden(const tgiConvex *X, const tgHull *h, int e) {
  if (X->h || X->seg.line) return false;
  for (int s = 2; s < 4; s++) {
    double n[3];
    const tgReal *plane = h->face_plane + 4 * h->edge[4 * e + s];
    real3(n, plane);
    if (tgi_d3_dot(n, X->seg.x) > tgRe(plane[3])) return false;
  }
  return true;
}

tgiClosest tgi_closest_edges(const tgiConvex *X, const tgiPart *px, const tgiConvex *Y, const tgiPart *py, double tol,
                             int *ex, int *ey) {
  tgiClosest best = {.distance = INFINITY};
  double away = INFINITY;                            // nearest of those that end elsewhere
  double pa[3] = {0}, pb[3] = {0};
  bool tie = false;
  *ex = *ey = 0;
  int nx = X->nedge > 0 ? part_edges(X, px) : 1, ny = part_edges(Y, py);   // a point: its one "edge"
  for (int k = 0; k < nx; k++) {
    tgiSegment gx, gy;
    int i = X->nedge > 0 && px->edge ? px->edge[k] : k;
    tgi_convex_edge(X, i, &gx, NULL, NULL);
    for (int l = 0; l < ny; l++) {
      int j = py->edge ? py->edge[l] : l;
      if (hidden(X, Y->h, j)) continue;
      tgi_convex_edge(Y, j, &gy, NULL, NULL);
      tgiClosest c = tgi_closest_segments(&gx, &gy, tol);
      if (c.distance > best.distance + tol) continue;
      if (c.distance < best.distance - tol) tie = false;
      tie = tie || c.tie;                            // edges that share the nearest vertex each see their own switch
      double a[3], b[3], da[3], db[3];
      tgi_d3_along(a, gx.x, c.s, gx.u);
      tgi_d3_along(b, gy.x, c.t, gy.u);
      if (fabs(c.distance - best.distance) <= tol) {
        tgi_d3_sub(da, a, pa);
        tgi_d3_sub(db, b, pb);
        if (tgi_d3_norm(da) + tgi_d3_norm(db) > 1e3 * tol) away = fmin(away, fmax(c.distance, best.distance));
      }
      if (!(c.distance < best.distance)) continue;
      best = c;
      *ex = i;
      *ey = j;
      memcpy(pa, a, sizeof pa);
      memcpy(pb, b, sizeof pb);
    }
  }
  best.tie = tie || away < best.distance + tol;
  return best;
}
