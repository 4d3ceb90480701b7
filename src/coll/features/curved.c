// curved.c: see curved.h.
//
// Based on: [math/collision Curved shapes].
// The separation s(n) along a direction is concave and of degree one; contacts are its largest value over unit n, distance or depth.
// A first direction comes from bodies with their curved cores halved, which are apart unless the overlap is deep; a second from the
// bodies themselves moved apart along it. Near that direction the features are few, and Newton's method finds each pair's n.
#include "coll/features/curved.h"

#include <string.h>

#include "coll/features/gjk.h"

enum { FEATURES = 24 };
// features within this of the direction, as an angle or relative to the size, are tried
static const double near_by[3] = {0.02, 0.1, 0.3};
#define APART 0.01         // bodies are moved this part of the smaller's size apart
#define RANGE 1e-9         // a parameter or a normal may leave its range by so much

static void world_direction(const tgiConvex *Y, const double *n, double *w) {
  for (int i = 0; i < 3; i++) w[i] = tgRe(Y->S->mat[3 * i]) * n[0] + tgRe(Y->S->mat[3 * i + 1]) * n[1] + tgRe(Y->S->mat[3 * i + 2]) * n[2];
}
static double separation(const tgiSearch *S, const double *n) {
  double m[3] = {-n[0], -n[1], -n[2]};
  int at;
  return tgi_convex_support(S->X, n, &at) + tgi_convex_support(S->Y, m, &at);
}

static double within(const tgiConvex *C, int f, const double *d, double at);

// ---- features of a body that lie outermost along d, or nearly

static void add(int *list, int *n, int feature) {
  if (*n < FEATURES) list[(*n)++] = feature;
}
// vertices that low are connected; the mask passes over most edges at once
static int hull_features(const tgiConvex *C, const double *d, double near, int *list) {
  double m[3] = {-d[0], -d[1], -d[2]}, x[3];
  int n = 0, v;
  uint64_t mask = 0;
  double top = tgi_convex_support(C, m, &v) + near * C->radius;
  add(list, &n, v);
  for (int at = 0; at < n; at++) {
    mask |= (uint64_t)1 << (list[at] & 63);
    for (int k = C->h->vert_adr[list[at]]; k < C->h->vert_adr[list[at] + 1] && n < FEATURES / 2; k++) {
      int next = C->h->vert_next[k];
      bool listed = false;
      for (int l = 0; l < n; l++) listed = listed || list[l] == next;
      if (listed) continue;
      tgi_convex_vertex(C, next, x);
      if (tgi_d3_dot(m, x) <= top) add(list, &n, next);
    }
  }
  int vertices = n;
  for (int e = 0; e < C->nedge; e++) {
    const int *q = C->h->edge + 4 * e;
    int ends = 0;
    if (!(mask >> (q[0] & 63) & mask >> (q[1] & 63) & 1)) continue;
    for (int k = 0; k < vertices; k++) ends += list[k] == q[0] || list[k] == q[1];
    if (ends == 2) add(list, &n, C->nvert + e);
  }
  int kept = 0;                                      // those whose normals are near d
  for (int k = 0; k < n; k++)
    if (within(C, list[k], d, 0.5) >= -2 * near) list[kept++] = list[k];
  return kept;
}
static int features(const tgiConvex *C, const double *d, double near, int *list) {
  int n = 0;
  if (C->kind == TGI_CONVEX_HULL) return hull_features(C, d, near, list);
  if (C->kind == TGI_CONVEX_ELLIPSOID || (C->kind == TGI_CONVEX_ROUND && !C->seg.line)) {
    add(list, &n, 0);
    return n;
  }
  // a capsule's ends or a cylinder's rims, and what joins them
  double a[3], along;
  for (int i = 0; i < 3; i++) a[i] = C->kind == TGI_CONVEX_ROUND ? C->seg.u[i] : C->R[3 * i + 2];
  along = tgi_d3_dot(a, d) / tgi_d3_norm(a);
  if (fabs(along) < near) add(list, &n, 2);
  if (along < near) add(list, &n, 0);
  if (along > -near) add(list, &n, 1);
  return n;
}

double tgi_shallow(const tgiConvex *X, const tgiConvex *Y) {
  return X->kind == TGI_CONVEX_ROUND ? 0 : 0.1 * fmin(X->inner, Y->inner);
}

int tgi_smooth_features(const tgiConvex *C) {
  switch (C->kind) {
    case TGI_CONVEX_ROUND: return C->seg.line ? 3 : 1;
    case TGI_CONVEX_ELLIPSOID: return 1;
    case TGI_CONVEX_CYLINDER: return 3;
    default: return C->nvert + C->nedge;
  }
}

static void make(const tgiConvex *C, int f, tgCollide want, tgiSmooth *K) {
  K->curve = TGI_CURVE_NONE;
  switch (C->kind) {
    case TGI_CONVEX_ROUND: tgi_round_core(&K->core, C->S, C->is_a, f, want); break;
    case TGI_CONVEX_ELLIPSOID: tgi_ellipsoid_surface(K, C->S, C->is_a, want); break;
    case TGI_CONVEX_CYLINDER:
      if (f == 2) tgi_cylinder_side(K, C->S, C->is_a, want);
      else tgi_cylinder_rim(K, C->S, C->is_a, f, want);
      break;
    default:
      if (f < C->nvert) tgi_hull_vertex(&K->core, C->S, C->is_a, f, want);
      else tgi_hull_edge(&K->core, C->S, C->is_a, f - C->nvert, want);
      break;
  }
}

// how far the normal d (outward, working frame) and the parameter lie within the range of feature f: negative beyond it
static double within(const tgiConvex *C, int f, const double *d, double at) {
  if (C->kind == TGI_CONVEX_ELLIPSOID || (C->kind == TGI_CONVEX_ROUND && !C->seg.line)) return INFINITY;
  if (C->kind != TGI_CONVEX_HULL) {
    double a[3];
    for (int i = 0; i < 3; i++) a[i] = C->kind == TGI_CONVEX_ROUND ? C->seg.u[i] : C->R[3 * i + 2];
    double along = tgi_d3_dot(a, d) / tgi_d3_norm(a);
    return f == 2 ? 1 - fabs(at) : f == 0 ? -along : along;
  }
  double least = INFINITY;
  if (f < C->nvert) {
    double x[3], y[3];
    tgi_convex_vertex(C, f, x);
    for (int k = C->h->vert_adr[f]; k < C->h->vert_adr[f + 1]; k++) {
      tgi_convex_vertex(C, C->h->vert_next[k], y);
      tgi_d3_sub(y, x, y);
      least = fmin(least, tgi_d3_dot(y, d) / tgi_d3_norm(y));
    }
    return least;
  }
  // an edge: on the outer side of the directions that lead into its two faces
  tgiSegment g;
  double left[3], right[3], in[3];
  tgi_convex_edge(C, f - C->nvert, &g, left, right);
  double len = tgi_d3_norm(g.u);
  tgi_d3_cross(in, left, g.u);
  least = -tgi_d3_dot(in, d) / len;
  tgi_d3_cross(in, g.u, right);
  return fmin(fmin(least, -tgi_d3_dot(in, d) / len), fmin(at, 1 - at));
}

// ---- one pair of features

static bool try_pair(const tgiSearch *S, int fx, int fy, const double *n, tgiSmoothPair *R) {
  const tgiConvex *X = S->X, *Y = S->Y;
  double w[3], d[3], m[3];
  R->fx = fx;
  R->fy = fy;
  make(X, fx, S->P->want, X->is_a ? &R->A : &R->B);
  make(Y, fy, S->P->want, X->is_a ? &R->B : &R->A);
  world_direction(Y, n, w);
  for (int i = 0; i < 3 && !X->is_a; i++) w[i] = -w[i];
  if (!tgi_smooth_solve(&R->z, &R->A, &R->B, w)) return false;
  // outward normal of Y in the working frame
  for (int i = 0; i < 3; i++) {
    d[i] = 0;
    for (int k = 0; k < 3; k++) d[i] += tgRe(Y->S->mat[3 * k + i]) * tgRe(R->z.n[k]) * (X->is_a ? 1 : -1);
  }
  for (int i = 0; i < 3; i++) m[i] = -d[i];
  double s = tgRe(R->z.s), t = tgRe(R->z.t);
  double room = fmin(within(X, fx, m, X->is_a ? s : t), within(Y, fy, d, X->is_a ? t : s));
  if (!(room >= -RANGE) || !tgi_smooth_is_maximum(&R->z, &R->A, &R->B)) return false;
  R->tie = room < TGI_TIE;
  R->gap = tgRe(R->z.g - R->A.core.r - R->B.core.r);
  R->found = true;
  return true;
}

static void take(const tgiSearch *S, tgiSmoothPair *best, const tgiSmoothPair *R) {
  bool better = !best->found || R->gap > best->gap;
  bool other = best->found && fabs(R->gap - best->gap) < S->tol;
  if (other) {                                       // as far elsewhere, or the same place seen by two features
    double turn = 0;
    for (int i = 0; i < 3; i++) turn += fabs(tgRe(R->z.n[i] - best->z.n[i]));
    other = turn > 1e-6 || R->tie || best->tie;
  }
  if (better) *best = *R;
  best->tie = best->tie || other;
}

static bool try_near(const tgiSearch *S, const double *n, double near, tgiSmoothPair *best) {
  int lx[FEATURES], ly[FEATURES];
  double m[3] = {-n[0], -n[1], -n[2]};
  int nx = features(S->X, m, near, lx), ny = features(S->Y, n, near, ly);
  bool found = false;
  for (int i = 0; i < nx; i++)
    for (int j = 0; j < ny; j++) {
      tgiSmoothPair R = {.found = false};
      if (!try_pair(S, lx[i], ly[j], n, &R)) continue;
      take(S, best, &R);
      found = true;
    }
  return found;
}

// from direction n: the bodies moved apart along it, the direction of their closest points, until it stays
static bool from_direction(const tgiSearch *S, const double *seed, tgiSmoothPair *best) {
  double n[3], to[3], shift[3], apart = APART * fmin(S->X->radius, S->Y->radius);
  memcpy(n, seed, sizeof n);
  for (int round = 0; round < 4; round++) {
    double by = fmax(0, apart - separation(S, n));
    for (int i = 0; i < 3; i++) shift[i] = by * n[i];
    memcpy(to, n, sizeof to);
    if (!tgi_direction(S->X, S->Y, shift, 1, round == 0 ? 1e-4 : 1e-6, to)) break;
    bool settled = round > 0 && (by == 0 || tgi_d3_dot(n, to) > 0.9998);     // 0.02 rad
    memcpy(n, to, sizeof n);
    if (try_near(S, n, near_by[0], best)) return true;
    if (settled) break;
  }
  for (int k = 1; k < 3; k++)
    if (try_near(S, n, near_by[k], best)) return true;
  return false;
}

// ---- deep in one another: many directions, the best of them climbed, the highest summits tried

enum { SPREAD = 96, ROUND = 16, STARTS = 10, SUMMITS = 4 };
#define SLACK 0.02         // a climb ends within this part of the smaller body of its summit's height
typedef struct Start { double n[3], s; } Start;

// into the list of the highest, one within 0.4 rad
static void offer_start(Start *list, int *count, int most, const double *n, double s, double apart) {
  for (int k = 0; k < *count; k++) {
    if (tgi_d3_dot(list[k].n, n) < apart) continue;
    if (s > list[k].s) list[k] = (Start){{n[0], n[1], n[2]}, s};
    return;
  }
  int at = *count;
  if (at == most) {
    at = 0;
    for (int k = 1; k < most; k++)
      if (list[k].s < list[at].s) at = k;
    if (!(s > list[at].s)) return;
  } else {
    (*count)++;
  }
  list[at] = (Start){{n[0], n[1], n[2]}, s};
}

static void climb(const tgiSearch *S, const double *axis, double step, double least, Start *p) {
  static const double turn[8][2] = {{1, 0}, {0, 1}, {-1, 0}, {0, -1}, {0.7, 0.7}, {-0.7, 0.7}, {-0.7, -0.7}, {0.7, -0.7}};
  while (step > least) {
    double t[2][3], best[3];
    const double e[3] = {fabs(p->n[0]) < 0.6, !(fabs(p->n[0]) < 0.6), 0};
    bool up = false;
    tgi_d3_cross(t[0], p->n, axis);                  // the separation has ridges normal to the axes: along them
    double len = tgi_d3_norm(t[0]);
    if (!(len > 0.1)) {
      tgi_d3_cross(t[0], p->n, e);
      len = tgi_d3_norm(t[0]);
    }
    for (int i = 0; i < 3; i++) t[0][i] /= len;
    tgi_d3_cross(t[1], p->n, t[0]);
    for (int k = 0; k < 8; k++) {
      double m[3];
      for (int i = 0; i < 3; i++) m[i] = p->n[i] + step * (turn[k][0] * t[0][i] + turn[k][1] * t[1][i]);
      len = tgi_d3_norm(m);
      for (int i = 0; i < 3; i++) m[i] /= len;
      double s = separation(S, m);
      if (s > p->s) { p->s = s; memcpy(best, m, sizeof best); up = true; }
    }
    if (up) memcpy(p->n, best, sizeof best);
    else step *= 0.5;
  }
}

// the best direction where no features are stationary, as between equal centres, is held as it is
static void hold(const tgiSearch *S, const Start *p, tgiSmoothPair *best) {
  if (p->s - S->X->r > (best->found ? best->gap + S->h : best->held)) {
    best->found = false;
    best->held = p->s - S->X->r;
    memcpy(best->direction, p->n, sizeof best->direction);
  }
}

// unit axis of a capsule or cylinder; false for others
static bool axis_of(const tgiConvex *C, double *a) {
  if (C->kind != TGI_CONVEX_CYLINDER && !(C->kind == TGI_CONVEX_ROUND && C->seg.line)) return false;
  for (int i = 0; i < 3; i++) a[i] = C->kind == TGI_CONVEX_ROUND ? C->seg.u[i] : C->R[3 * i + 2];
  double len = tgi_d3_norm(a);
  for (int i = 0; i < 3; i++) a[i] /= len;
  return true;
}

// directions over the sphere of Y's frame, along the axes of both frames, round the axes of capsules and cylinders
static void offer_starts(const tgiSearch *S, Start *start, int *nstart) {
  double n[3], a[3], t[2][3];
  for (int k = 0; k < SPREAD; k++) {
    double z = 1 - (2 * k + 1.0) / (double)SPREAD, w = sqrt(1 - z * z), turn = 2.399963229728653 * k;
    n[0] = w * cos(turn);
    n[1] = w * sin(turn);
    n[2] = z;
    offer_start(start, nstart, STARTS, n, separation(S, n), 0.92);
  }
  for (int side = 0; side < 2; side++) {
    const tgiConvex *C = side == 0 ? S->X : S->Y;
    for (int k = 0; k < 6; k++) {
      for (int i = 0; i < 3; i++) n[i] = (k % 2 ? -1 : 1) * C->R[3 * i + k / 2];
      offer_start(start, nstart, STARTS, n, separation(S, n), 0.92);
    }
    if (!axis_of(C, a)) continue;
    const double e[3] = {fabs(a[0]) < 0.6, !(fabs(a[0]) < 0.6), 0};
    tgi_d3_cross(t[0], a, e);
    double len = tgi_d3_norm(t[0]);
    for (int i = 0; i < 3; i++) t[0][i] /= len;
    tgi_d3_cross(t[1], a, t[0]);
    for (int k = 0; k < ROUND; k++) {
      double c = cos(2 * TG_PI * k / (double)ROUND), s = sin(2 * TG_PI * k / (double)ROUND);
      for (int i = 0; i < 3; i++) n[i] = c * t[0][i] + s * t[1][i];
      offer_start(start, nstart, STARTS, n, separation(S, n), 0.92);
    }
  }
}

static void from_summits(const tgiSearch *S, tgiSmoothPair *best) {
  Start start[STARTS], summit[SUMMITS];
  int nstart = 0, nsummit = 0;
  double axis[3] = {0, 0, 0}, slack = SLACK * fmin(S->X->radius, S->Y->radius);
  if (!axis_of(S->X, axis)) axis_of(S->Y, axis);
  offer_starts(S, start, &nstart);
  for (int k = 0; k < nstart; k++) {
    climb(S, axis, 0.2, 0.05, &start[k]);
    offer_start(summit, &nsummit, SUMMITS, start[k].n, start[k].s, 0.98);
  }
  for (int k = 0; k < nsummit; k++) {
    climb(S, axis, 0.05, 0.005, &summit[k]);
    double s = summit[k].s - S->X->r;
    if (S->face != NULL && tgi_d3_dot(summit[k].n, S->face) > 0.999) continue;   // what the face gives is known
    if (s < fmax(best->found ? best->gap : -INFINITY, S->face_gap) - slack) continue;
    from_direction(S, summit[k].n, best);
  }
  for (int k = 0; k < nsummit; k++)
    if (S->face == NULL || !(tgi_d3_dot(summit[k].n, S->face) > 0.999)) hold(S, &summit[k], best);
}

void tgi_smooth_search(const tgiSearch *S, tgiSmoothPair *best, double *bound) {
  double n[3], len = tgi_d3_norm(S->X->t);
  const double none[3] = {0, 0, 0};
  for (int i = 0; i < 3; i++) n[i] = len > 0 ? S->X->t[i] / len : i == 2;
  if (S->X->kind == TGI_CONVEX_ROUND) {
    for (int i = 0; i < 3; i++) n[i] = S->X->seg.x[i] + S->X->seg.u[i] / 2;
    len = tgi_d3_norm(n);
    for (int i = 0; i < 3; i++) n[i] = len > 0 ? n[i] / len : i == 2;
  }
  best->found = best->tie = false;
  best->held = -INFINITY;
  bool apart = tgi_direction(S->X, S->Y, none, 0.5, 1e-2, n);
  *bound = separation(S, n);
  if (*bound > S->P->margin + S->X->r) return;
  bool found = from_direction(S, n, best);
  if (!apart || !found || best->gap + S->X->r < -tgi_shallow(S->X, S->Y)) from_summits(S, best);
  if (S->mem_x < 0 || S->mem_y < 0 || (best->found && best->fx == S->mem_x && best->fy == S->mem_y)) return;
  if (!best->found) return;
  // the remembered features from the same place
  tgiSmoothPair R = {.found = false};
  double w[3];
  for (int i = 0; i < 3; i++) {
    w[i] = 0;
    for (int k = 0; k < 3; k++) w[i] += tgRe(S->Y->S->mat[3 * k + i]) * tgRe(best->z.n[k]) * (S->X->is_a ? 1 : -1);
  }
  if (!try_pair(S, S->mem_x, S->mem_y, w, &R) || !(R.gap >= best->gap - S->h)) return;
  bool tie = fabs(R.gap - (best->gap - S->h)) < S->tol;
  *best = R;
  best->tie = best->tie || tie;
}
