// pair_convex.c: polytope, cylinder and ellipsoid against plane, sphere, capsule and one another.
//
// Based on: [math/collision Choice]. The features come from exact separating axes: every face of both, every pair of edges that
// makes a face of the Minkowski difference. Apart, where the best axis is no closest feature, from the nearest edges. Where a body
// is curved, what is not a face's contact is that of curved.h.
// Memory: (1+f, -1-g): face f of A is the reference, face g of B lies on it (0 for a B without faces to clip); (-1-g, 1+f): the
// reverse; (-1-i, -1-j): edges i of A and j of B, or features of curved.h.
// Order of preference, each taken when its separation is within h (1e-4 of the smaller body) of the best: the remembered
// feature, a face of the larger body, a face of the smaller, the edges. Remembered edges come last where a face is within h/2.
// Where edges are the contact and faces beside them lie within 20 degrees of it, places of these within the margin are points as well.
// For given memory the choice is a constant but at isolated switches, which within 1e-9 are reported as ties.
#include "coll/features/clip.h"
#include "coll/features/curved.h"
#include "coll/features/gjk.h"

#include <string.h>

typedef struct Choice {
  tgiConvex X, Y;
  tgiAxis face_x, face_y, edges;
  double best, reach;            ///< largest separation of the cores; largest that still matters
  double h, tol, touch;          ///< hysteresis, tie, distance below which cores touch and give no direction
  int mem_x, mem_y;
  bool tie;
  tgiPart part_x, part_y;        ///< where the nearest features can be; everything unless the polytopes are large
} Choice;

static bool is_tie(const Choice *C, double s) { return fabs(s - (C->best - C->h)) < C->tol; }

// edges are remembered, and a face is about as good as the best
static bool nearly_flush(Choice *C) {
  if (C->mem_x >= 0 || C->mem_y >= 0) return false;
  double s = fmax(C->face_x.s, C->face_y.s) - (C->best - 0.5 * C->h);
  C->tie = C->tie || fabs(s) < C->tol;
  return s >= 0;
}

// ---- plane

int tgi_pair_plane_hull(tgiPair *P) {
  bool plane_is_a = P->A->type == TG_GEOM_PLANE;
  const tgShape *S = plane_is_a ? P->B : P->A;
  const tgHull *h = S->hull;
  tgiFace F;
  tgiManifold M;
  double n[3], along[3] = {0}, s[3];
  tgi_plane_face(&F, plane_is_a ? P->A : P->B, plane_is_a);
  // n and the plane's point in the hull's frame
  for (int i = 0; i < 3; i++) {
    n[i] = s[i] = 0;
    for (int k = 0; k < 3; k++) {
      double R = tgRe(S->mat[3 * k + i]);
      n[i] += R * tgRe(F.n[k]);
      s[i] += R * tgRe(F.s[k] - S->pos[k]);
    }
  }
  int axis = fabs(n[0]) <= fabs(n[1]) && fabs(n[0]) <= fabs(n[2]) ? 0 : fabs(n[1]) <= fabs(n[2]) ? 1 : 2;
  along[axis] = 1;
  tgi_manifold_start(&M, P->margin, TGI_TIE * h->radius, n, along);
  for (int v = 0; v < h->nvert; v++) {
    double x[3];
    for (int i = 0; i < 3; i++) x[i] = tgRe(h->vert[3 * v + i]);
    tgi_manifold_offer(&M, TGI_KIND_FACE_POINT, v, 0, x, tgi_d3_dot(n, x) - tgi_d3_dot(n, s), false);
  }
  P->distance = M.least;
  tgi_manifold_reduce(&M, TGI_FACE_POINTS);
  for (int k = 0; k < M.count; k++) {
    tgiCore vertex;
    tgi_hull_vertex(&vertex, S, !plane_is_a, M.c[k].i, P->want);
    tgi_rule_face_point(&P->out[k], &F, &vertex, P->want);
    P->out[k].feature = tgi_feature(TGI_KIND_FACE_POINT, M.c[k].i, 0);
    P->out[k].tie = false;
  }
  return M.count;
}

int tgi_pair_plane_curved(tgiPair *P) {
  tgiConvex X, Y;
  tgiManifold M;
  tgi_convex_pair(P, &X, &Y);
  tgi_clip_curved(&M, &Y, 0, &X, -1, P->margin, TGI_TIE * X.radius);
  double n[3], off = tgi_convex_face(&Y, 0, n);
  int at;
  P->distance = tgi_convex_support(&X, n, &at) - off;
  return tgi_manifold_emit(&M, &Y, 0, &X, false, P);
}

// ---- what is left

static void remember(tgiPair *P, const Choice *C, int x, int y) {
  P->memory[0] = C->X.is_a ? x : y;
  P->memory[1] = C->X.is_a ? y : x;
}

// the contact of face f of F: the points of I over it. False when they do not come down to the face's separation s (the
// lowest part of I is beside the face), unless `must`.
static bool try_face(tgiPair *P, Choice *C, bool of_x, int f, double s, bool must, int *count) {
  const tgiConvex *F = of_x ? &C->X : &C->Y, *I = of_x ? &C->Y : &C->X;
  int prefer = of_x ? C->mem_y : C->mem_x;
  bool tie;
  tgiManifold M;
  int g = tgi_incident_face(F, f, I, prefer < 0 ? -1 - prefer : -1, C->h, &tie);
  tgi_clip(&M, F, f, I, g, P->margin, C->tol);
  double low = s - I->r;
  if (!(M.least <= low + C->h)) {
    if (!must) return false;
    double n[3], x[3];
    int v = 0;
    tgi_convex_face(F, f, n);
    tgi_convex_lowest(I, n, 1, &v, x);
    if (I->kind == TGI_CONVEX_CYLINDER) v = tgi_cylinder_lowest(I, n);
    tgi_manifold_offer(&M, TGI_KIND_FACE_POINT, v, 0, x, low, true);
  }
  P->distance = low;
  *count = tgi_manifold_emit(&M, F, f, I, C->tie || tie, P);
  remember(P, C, of_x ? 1 + f : -1 - g, of_x ? -1 - g : 1 + f);
  return true;
}

static void world_core(tgiCore *core, const tgiConvex *C, int edge, int at, tgCollide want) {
  if (!C->h) tgi_round_core(core, C->S, C->is_a, at, want);
  else if (at == TGI_AT_INSIDE) tgi_hull_edge(core, C->S, C->is_a, edge, want);
  else tgi_hull_vertex(core, C->S, C->is_a, C->h->edge[4 * edge + (at == TGI_AT_END)], want);
}
// vertex or edge number for the feature, edges counted after the vertices
static int core_number(const tgiConvex *C, int edge, int at) {
  if (!C->h) return at;
  return at == TGI_AT_INSIDE ? C->nvert + edge : C->h->edge[4 * edge + (at == TGI_AT_END)];
}

// Of the faces beside edges i of X and j of Y the one that looks most along their common normal n (from Y to X), as reference. Returns by
// how much (a cosine), tie: another one does as much.
static double face_along(const Choice *C, const tgiAxis *e, const double *n, bool *of_x, int *face, bool *tie) {
  double best = -1, second = -1, m[3];
  for (int k = 0; k < 4; k++) {
    const tgiConvex *F = k < 2 ? &C->X : &C->Y;
    if (!F->h) continue;
    int f = F->h->edge[4 * (k < 2 ? e->i : e->j) + 2 + k % 2];
    tgi_convex_face(F, f, m);
    double along = (k < 2 ? -1 : 1) * tgi_d3_dot(m, n);
    second = fmax(second, fmin(along, best));
    if (along <= best) continue;
    best = along;
    *of_x = k < 2;
    *face = f;
  }
  *tie = best - second < TGI_TIE;
  return best;
}

// Drops the place where edges i of I and j of F cross, and what is deeper than it, which other directions free.
static bool drop_crossing(tgiManifold *M, int i, int j, double deepest) {
  int n = 0;
  bool tie = false;
  for (int k = 0; k < M->count; k++) {
    const tgiCandidate *c = &M->c[k];
    if (c->kind == TGI_KIND_FACE_EDGE && c->i == i && c->j == j) continue;
    tie = tie || fabs(c->gap - deepest) < M->tol;
    if (c->gap >= deepest) M->c[n++] = *c;
  }
  M->count = n;
  return tie;
}

// Where two edges cross and faces beside them lie nearly on each other, what these have within the margin are points too: a body that turns
// about the crossing meets there next. Returns their count.
static int beside_edges(tgiPair *P, const Choice *C, const tgiAxis *e, const tgiSegment *gx, const tgiSegment *gy) {
  static const double nearly = 0.94;   // cosine of 20 degrees
  double n[3];
  bool of_x = false, tie, other;
  int f = -1;
  tgiManifold M;
  tgi_d3_cross(n, gx->u, gy->u);
  double scale = e->side / tgi_d3_norm(n);
  for (int i = 0; i < 3; i++) n[i] *= scale;
  double along = face_along(C, e, n, &of_x, &f, &tie);
  if (fabs(along - nearly) < TGI_TIE) P->out->tie = true;
  if (along < nearly) return 0;
  const tgiConvex *F = of_x ? &C->X : &C->Y, *I = of_x ? &C->Y : &C->X;
  int g = tgi_incident_face(F, f, I, -1, C->h, &other);
  tgi_clip(&M, F, f, I, g, P->margin, C->tol);
  bool drops = drop_crossing(&M, of_x ? e->j : e->i, of_x ? e->i : e->j, P->distance - C->h);
  P->out->tie = P->out->tie || drops;   // where points come or go the crossing's derivative is one-sided too
  tgi_manifold_reduce(&M, TGI_FACE_POINTS - 1);
  tgiPair rest = *P;
  rest.out++;
  return tgi_manifold_emit(&M, F, f, I, P->out->tie || tie || other, &rest);
}

// edge i of X against j of Y along their common normal. Apart, only where both closest points lie on the edges.
static bool try_edges(tgiPair *P, Choice *C, const tgiAxis *e, int *count) {
  tgiCore A, B;
  tgiSegment gx, gy;
  tgi_convex_edge(&C->X, e->i, &gx, NULL, NULL);
  tgi_convex_edge(&C->Y, e->j, &gy, NULL, NULL);
  tgiClosest c = tgi_closest_segments(&gx, &gy, C->tol);
  if (e->s > C->touch && (c.at_a != TGI_AT_INSIDE || c.at_b != TGI_AT_INSIDE)) return false;
  bool x_is_a = C->X.is_a;
  world_core(x_is_a ? &A : &B, &C->X, e->i, TGI_AT_INSIDE, P->want);
  world_core(x_is_a ? &B : &A, &C->Y, e->j, TGI_AT_INSIDE, P->want);
  // side (u cross w) points from Y to X; with A and B exchanged both the product and the wanted direction turn round
  tgi_rule_cores(P->out, &A, &B, TGI_NORMAL_CROSS, e->side, NULL, P->want);
  P->distance = e->s - C->X.r;
  P->out->feature = tgi_feature(TGI_KIND_CROSS, x_is_a ? e->i : e->j, x_is_a ? e->j : e->i);
  P->out->tie = C->tie || c.tie;
  *count = P->distance <= P->margin;
  if (*count > 0) *count += beside_edges(P, C, e, &gx, &gy);
  remember(P, C, -1 - e->i, -1 - e->j);
  return true;
}

// apart and over no face: vertex or edge against vertex or edge. False when they touch, which gives no direction.
static bool closest_cores(tgiPair *P, Choice *C, int *count) {
  int ex, ey;
  tgiCore A, B;
  tgiClosest c = tgi_closest_edges(&C->X, &C->part_x, &C->Y, &C->part_y, C->tol, &ex, &ey);
  bool x_is_a = C->X.is_a;
  if (!(c.distance > C->touch)) return false;
  P->distance = c.distance - C->X.r;
  *count = P->distance <= P->margin;
  remember(P, C, 0, 0);
  if (*count == 0) return true;
  world_core(x_is_a ? &A : &B, &C->X, ex, c.at_a, P->want);
  world_core(x_is_a ? &B : &A, &C->Y, ey, c.at_b, P->want);
  tgi_emit_cores(P, &A, &B, c.distance, C->X.radius + C->Y.radius);
  int i = core_number(&C->X, ex, c.at_a), j = core_number(&C->Y, ey, c.at_b);
  P->out->feature = tgi_feature(TGI_KIND_CORES, x_is_a ? i : j, x_is_a ? j : i);
  P->out->tie = C->tie || c.tie;
  return true;
}

// the body whose faces are preferred: the larger; of equal ones the lower, which turns round with the pair
static bool prefer_x(const Choice *C) {
  if (C->X.radius != C->Y.radius) return C->X.radius > C->Y.radius;
  if (C->X.nface != C->Y.nface) return C->X.nface > C->Y.nface;
  for (int i = 2; i >= 0; i--) {
    double x = tgRe(C->X.S->pos[i]), y = tgRe(C->Y.S->pos[i]);
    if (x != y) return x < y;
  }
  return C->X.is_a;
}

// the remembered feature, when it still exists and is about as good as the best
static bool try_memory(tgiPair *P, Choice *C, int *count) {
  int x = C->mem_x, y = C->mem_y;
  if (x < 0 && y < 0) {
    if (-1 - x >= C->X.nedge || -1 - y >= C->Y.nedge) return false;
    tgiAxis e = tgi_edge_axis(&C->X, -1 - x, &C->Y, -1 - y);
    if (e.i < 0) return false;
    C->tie = C->tie || is_tie(C, e.s);
    return e.s >= C->best - C->h && try_edges(P, C, &e, count);
  }
  if (x <= 0 && y <= 0) return false;
  bool of_x = x > 0;
  int f = (of_x ? x : y) - 1;
  if (f >= (of_x ? C->X.nface : C->Y.nface)) return false;
  double s = of_x ? tgi_face_separation(&C->X, f, &C->Y) : tgi_face_separation(&C->Y, f, &C->X);
  C->tie = C->tie || is_tie(C, s);
  return s >= C->best - C->h && try_face(P, C, of_x, f, s, false, count);
}

static bool try_best_face(tgiPair *P, Choice *C, bool of_x, bool must, int *count) {
  const tgiAxis *a = of_x ? &C->face_x : &C->face_y;
  if (a->i < 0) return false;
  bool outer = C->tie;
  if (!must) C->tie = C->tie || is_tie(C, a->s);
  if (!must && a->s < C->best - C->h) return false;
  bool flips = C->tie;
  C->tie = C->tie || a->s - a->second < C->tol;
  if (try_face(P, C, of_x, a->i, a->s, must, count)) return true;
  C->tie = outer || flips;
  return false;
}

static int choose(tgiPair *P, Choice *C) {
  int count = 0;
  bool first = prefer_x(C), flush = nearly_flush(C);
  if (!flush && try_memory(P, C, &count)) return count;
  if (try_best_face(P, C, first, false, &count)) return count;
  if (try_best_face(P, C, !first, false, &count)) return count;
  if (flush && try_memory(P, C, &count)) return count;
  bool edges = C->edges.i >= 0 && C->edges.s >= C->best - C->h;
  if (edges) {
    bool outer = C->tie;
    C->tie = C->tie || C->edges.s - C->edges.second < C->tol;
    if (try_edges(P, C, &C->edges, &count)) return count;
    C->tie = outer;
  }
  if (C->best > C->touch && closest_cores(P, C, &count)) return count;
  // overlapping or touching, and hysteresis or rounding left the best face without points: its deepest vertex stands for it
  try_best_face(P, C, C->face_x.s > C->face_y.s, true, &count);
  return count;
}

// ---- large polytopes: only the neighbourhood of the nearest vertices

enum { LARGE = 300, NEAR = 96 };   ///< edge pairs (edges, for a round X) above which GJK pays; edges kept of each body
typedef struct Near { int edge[NEAR], face[2 * NEAR]; } Near;

static void add_once(int *list, int *n, int value) {
  for (int k = 0; k < *n; k++)
    if (list[k] == value) return;
  list[(*n)++] = value;
}
// their numbers, ascending; false when they are too many
static bool edges_of(const tgHull *h, const int *v, int nv, int *edge, int *n) {
  *n = 0;
  for (int k = 0; k < nv; k++)
    for (int a = h->vert_adr[v[k]]; a < h->vert_adr[v[k] + 1]; a++) {
      int e = tgi_edge_between(h, v[k], h->vert_next[a]), at = *n;
      while (at > 0 && edge[at - 1] > e) at--;
      if (at > 0 && edge[at - 1] == e) continue;
      if (*n == NEAR) return false;
      memmove(edge + at + 1, edge + at, (size_t)(*n - at) * sizeof *edge);
      edge[at] = e;
      ++*n;
    }
  return true;
}
// edges that end in one of the vertices, and their faces; false when they are too many
static bool neighbourhood(const tgiConvex *C, const int *v, int nv, Near *N, tgiPart *part) {
  static const int only[1] = {0};
  *part = (tgiPart){.edge = only, .nedge = C->nedge, .face = only};
  if (!C->h) return true;                            // a round core: its one edge, or none
  *part = (tgiPart){.edge = N->edge, .face = N->face};
  if (!edges_of(C->h, v, nv, N->edge, &part->nedge)) return false;
  for (int k = 0; k < part->nedge; k++) {
    add_once(N->face, &part->nface, C->h->edge[4 * N->edge[k] + 2]);
    add_once(N->face, &part->nface, C->h->edge[4 * N->edge[k] + 3]);
  }
  return true;
}

static void best_axes(Choice *C, double limit) {
  C->edges = (tgiAxis){-1, -1, -INFINITY, -INFINITY, 0};
  C->face_y = tgi_best_face(&C->Y, &C->part_y, &C->X, limit);
  C->face_x = tgi_best_face(&C->X, &C->part_x, &C->Y, limit);
  C->best = fmax(C->face_x.s, C->face_y.s);
  if (!(C->best <= limit)) return;
  C->edges = tgi_best_edges(&C->X, &C->part_x, &C->Y, &C->part_y, limit);
  C->best = fmax(C->best, C->edges.s);
}

// narrows the parts to the neighbourhood that GJK names and takes the best axes there; true when they are the best of all:
// the depth is reached by an axis, the distance by an axis or by a pair of edges. *bound when the cores are beyond reach.
static bool narrowed(Choice *C, Near *nx, Near *ny, double *bound) {
  int x[3], y[3], ex, ey;
  double n[3], m = tgi_d3_norm(C->X.t);
  for (int i = 0; i < 3; i++) n[i] = m > 0 ? C->X.t[i] / m : i == 2;
  tgiNearest R = tgi_nearest(&C->X, &C->Y, n, C->reach);
  if (R.kind == TGI_NEAREST_UNSURE) return false;
  *bound = R.s;
  if (R.kind == TGI_NEAREST_BEYOND) return true;
  for (int k = 0; k < R.count; k++) {
    x[k] = R.p[k].x;
    y[k] = R.p[k].y;
  }
  if (!neighbourhood(&C->X, x, R.count, nx, &C->part_x) || !neighbourhood(&C->Y, y, R.count, ny, &C->part_y)) return false;
  best_axes(C, INFINITY);
  C->tie = R.tie;
  if (C->best >= R.s - C->tol) return true;
  if (R.s < 0) return false;
  tgiClosest c = tgi_closest_edges(&C->X, &C->part_x, &C->Y, &C->part_y, C->tol, &ex, &ey);
  return fabs(c.distance - R.s) <= C->tol;
}

// ---- curved bodies

// Nothing has a direction of its own, as with equal centres: along n, held by B, the lowest point of A over the highest of B.
static int emit_held(tgiPair *P, const Choice *C, const double *n) {
  const tgiConvex *A = C->X.is_a ? &C->X : &C->Y, *B = C->X.is_a ? &C->Y : &C->X;
  double a[3], b[3], w[3], m[3];
  int at = 0;
  for (int i = 0; i < 3; i++) {
    w[i] = C->X.is_a ? n[i] : -n[i];
    m[i] = -w[i];
  }
  tgi_convex_lowest(A, w, 1, &at, a);
  at = 0;
  tgi_convex_lowest(B, m, 1, &at, b);
  tgiFace F = {.is_a = false};
  tgiCore core = {.is_a = true};
  const tgReal *Q = C->Y.S->mat;
  for (int i = 0; i < 3; i++) {
    F.s[i] = core.x[i] = C->Y.S->pos[i];
    for (int k = 0; k < 3; k++) {
      F.n[i] += Q[3 * i + k] * w[k];
      F.s[i] += Q[3 * i + k] * b[k];
      core.x[i] += Q[3 * i + k] * a[k];
    }
  }
  core.r = A->r + B->r;
  tgi_rule_face_point(P->out, &F, &core, P->want);
  P->out->feature = tgi_feature(TGI_KIND_SMOOTH, 0x3fff, 0x1fff);
  P->out->tie = true;
  P->distance = tgRe(P->out->gap);
  remember(P, C, 0, 0);
  return P->distance <= P->margin;
}

static int emit_smooth(tgiPair *P, const Choice *C, const tgiSmoothPair *R) {
  P->distance = R->gap;
  remember(P, C, -1 - R->fx, -1 - R->fy);
  if (!(R->gap <= P->margin)) return 0;
  tgi_rule_smooth(P->out, &R->A, &R->B, &R->z, P->want);
  P->out->feature = tgi_feature(TGI_KIND_SMOOTH, C->X.is_a ? R->fx : R->fy, C->X.is_a ? R->fy : R->fx);
  P->out->tie = R->tie || C->tie;
  return 1;
}

// a face that the other body lies over; else, or where both are deep in one another and it is better, features of curved.h
static int curved_contact(tgiPair *P, Choice *C) {
  int count = 0;
  double n[3] = {0}, bound;
  bool first = prefer_x(C), smooth_before = C->mem_x < 0 && C->mem_y < 0;
  C->part_x = C->part_y = (tgiPart){.edge = NULL};
  C->face_y = tgi_best_face(&C->Y, &C->part_y, &C->X, C->reach);
  C->face_x = tgi_best_face(&C->X, &C->part_x, &C->Y, C->reach);
  C->best = fmax(C->face_x.s, C->face_y.s);
  if (C->best > C->reach) {
    P->distance = C->best - C->X.r;
    remember(P, C, 0, 0);
    return 0;
  }
  bool face = (!smooth_before && try_memory(P, C, &count)) || try_best_face(P, C, first, false, &count) ||
              try_best_face(P, C, !first, false, &count);
  if (face && C->best >= -tgi_shallow(&C->X, &C->Y)) return count;
  tgiSearch S = {.P = P, .X = &C->X, .Y = &C->Y, .tol = C->tol, .h = C->h, .mem_x = -1, .mem_y = -1, .face_gap = -INFINITY};
  if (smooth_before && -1 - C->mem_x < tgi_smooth_features(&C->X) && -1 - C->mem_y < tgi_smooth_features(&C->Y)) {
    S.mem_x = -1 - C->mem_x;
    S.mem_y = -1 - C->mem_y;
  }
  if (face && count > 0) {                           // its normal in the working frame
    for (int i = 0; i < 3; i++)
      for (int k = 0; k < 3; k++) n[i] += tgRe(C->Y.S->mat[3 * k + i]) * tgRe(P->out->n[k]) * (C->X.is_a ? 1 : -1);
    S.face = n;
    S.face_gap = P->distance;
  }
  tgiSmoothPair R;
  tgi_smooth_search(&S, &R, &bound);
  if (!face && bound > C->reach) {
    P->distance = bound - C->X.r;
    remember(P, C, 0, 0);
    return 0;
  }
  double other = R.found ? R.gap : R.held;
  bool keep = face && P->distance >= other - (smooth_before ? -C->h : C->h);
  if (!keep && R.found) return emit_smooth(P, C, &R);
  if (!keep && R.held > -INFINITY && R.held >= C->best - C->X.r - C->h) return emit_held(P, C, R.direction);
  if (face) return count;
  if (C->face_x.i >= 0 || C->face_y.i >= 0) {
    try_best_face(P, C, C->face_x.s > C->face_y.s, true, &count);
    return count;
  }
  return emit_held(P, C, R.direction);
}

int tgi_pair_convex(tgiPair *P) {
  Choice C = {.tie = false};
  Near nx, ny;
  double bound = -INFINITY;
  tgi_convex_pair(P, &C.X, &C.Y);
  C.mem_x = P->memory[C.X.is_a ? 0 : 1];
  C.mem_y = P->memory[C.X.is_a ? 1 : 0];
  C.tol = TGI_TIE * (C.X.radius + C.Y.radius);
  C.touch = TGI_COINCIDE * (C.X.radius + C.Y.radius);
  C.h = TGI_HYSTERESIS * fmin(C.X.radius, C.Y.radius);
  if (P->fine > 0) C.h = fmin(C.h, P->fine);
  C.reach = P->margin + C.X.r;
  if (tgi_convex_is_curved(&C.X) || tgi_convex_is_curved(&C.Y)) return curved_contact(P, &C);
  bool large = (C.X.h ? C.X.nedge : 4) * C.Y.nedge > LARGE;
  if (!large || !narrowed(&C, &nx, &ny, &bound)) {
    C.part_x = C.part_y = (tgiPart){.edge = NULL};
    C.tie = false;
    best_axes(&C, C.reach);
    bound = C.best;
  }
  if (bound > C.reach) {                             // apart beyond the margin: a bound is all that is asked
    P->distance = bound - C.X.r;
    remember(P, &C, 0, 0);
    return 0;
  }
  return choose(P, &C);
}
