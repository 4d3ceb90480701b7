// clip.c: the part of a face of one body that lies over the reference face of the other, as contact points.
//
// Based on: [math/collision Rules], the clipped face; [math/collision Manifold].
// The corners of the common polygon are found each for itself, so that loops of any length stream through: vertices of I
// within all side planes, edges of I passing a side plane, corners of the reference face within I's outline. Side planes
// are tol thick: a vertex on one counts as within (and is a tie), an edge passes only when it is strictly on both sides.
#include "coll/features/clip.h"

#define UPRIGHT 1e-3   // a face within 1e-3 rad of upright has no outline along n; also the hysteresis of its choice

// ---- reduction

void tgi_manifold_start(tgiManifold *M, double margin, double tol, const double *n, const double *along) {
  M->count = 0;
  M->margin = margin;
  M->tol = tol;
  M->least = INFINITY;
  double un = tgi_d3_dot(along, n);
  for (int i = 0; i < 3; i++) M->axis[0][i] = along[i] - un * n[i];
  double len = tgi_d3_norm(M->axis[0]);
  for (int i = 0; i < 3; i++) M->axis[0][i] /= len;
  tgi_d3_cross(M->axis[1], n, M->axis[0]);
}

void tgi_manifold_offer(tgiManifold *M, int kind, int i, int j, const double *x, double gap, bool tie) {
  M->least = fmin(M->least, gap);
  if (!(gap <= M->margin)) return;
  if (M->count == TGI_CANDIDATES) tgi_manifold_reduce(M, TGI_FACE_POINTS);
  M->c[M->count++] = (tgiCandidate){kind, i, j, {x[0], x[1], x[2]}, gap, 0, tie};
}

// the unkept candidate with the largest score; the earlier one unless a later is better by tol, so that rounding between
// equals does not choose
static void keep_best(const tgiManifold *M, const bool *allowed, bool *keep, double cx, double cy, double cgap) {
  int best = -1;
  double top = 0;
  for (int k = 0; k < M->count; k++) {
    const tgiCandidate *c = &M->c[k];
    if (!allowed[k]) continue;
    double s = cx * tgi_d3_dot(M->axis[0], c->x) + cy * tgi_d3_dot(M->axis[1], c->x) + cgap * c->gap;
    if (best < 0 || s > top + 1e3 * M->tol) { best = k; top = s; }
  }
  if (best >= 0) keep[best] = true;
}

void tgi_manifold_reduce(tgiManifold *M, int most) {
  static const double turn[8][2] = {{1, 0}, {0, 1}, {-1, 0}, {0, -1}, {0.7071067811865476, 0.7071067811865476},
    {-0.7071067811865476, 0.7071067811865476}, {-0.7071067811865476, -0.7071067811865476},
    {0.7071067811865476, -0.7071067811865476}};
  bool touching[TGI_CANDIDATES] = {false}, keep[TGI_CANDIDATES] = {false};
  int ntouching = 0, kept = 0, n = 0;
  if (M->count <= most) return;
  double level = fmax(M->least, 0) + 1e3 * M->tol;     // beyond round-off, so that a body at rest keeps its points
  for (int k = 0; k < M->count; k++) {
    touching[k] = M->c[k].gap <= level;
    ntouching += touching[k];
  }
  if (ntouching >= most) {
    keep_best(M, touching, keep, 0, 0, -1);
    kept = 1;
    for (int d = 0; d < 8 && kept < most; d++) {
      keep_best(M, touching, keep, turn[d][0], turn[d][1], 0);
      kept = 0;
      for (int k = 0; k < M->count; k++) kept += keep[k];
    }
  } else {
    bool rest[TGI_CANDIDATES];
    for (int k = 0; k < M->count; k++) { keep[k] = touching[k]; rest[k] = !touching[k]; }
    for (kept = ntouching; kept < most; kept++) {
      keep_best(M, rest, keep, 0, 0, -1);
      for (int k = 0; k < M->count; k++) rest[k] = rest[k] && !keep[k];
    }
  }
  for (int k = 0; k < M->count; k++)
    if (keep[k]) M->c[n++] = M->c[k];
  M->count = n;
}

// ---- clipping

enum { CACHE = 64 };
typedef struct Clip {
  tgiOutline o;                  // reference loop
  const tgiConvex *I;
  int g, nloop;                  // incident loop
  double vert[CACHE][3];
  double out[CACHE][4];          // of the edge after each vertex: outward across n, and how far along that a corner is no longer within
} Clip;

// A vertex of the incident loop, and how far it is beyond each side of the reference face, found as far as it was asked for.
typedef struct Beyond {
  const double *x;
  int made;
  double own[3], by[TGI_SIDES];
} Beyond;

static int loop_vertex(const tgHull *h, int f, int k) { return h->face_vert[h->face_adr[f] + k]; }
static int loop_edge(const tgHull *h, int f, int k) { return h->face_edge[h->face_adr[f] + k]; }
static int loop_size(const tgHull *h, int f) { return h->face_adr[f + 1] - h->face_adr[f]; }

void tgi_outline_start(tgiOutline *O, const tgiConvex *F, int f) {
  O->F = F;
  O->f = f;
  O->nside = F->h ? loop_size(F->h, f) : 0;
  O->made = 0;
  O->off = tgi_convex_face(F, f, O->n);
}

static void make_side(const tgiOutline *O, int k, double *m) {
  double x[3], y[3];
  int next = k + 1 < O->nside ? k + 1 : 0;
  tgi_convex_vertex(O->F, loop_vertex(O->F->h, O->f, k), x);
  tgi_convex_vertex(O->F, loop_vertex(O->F->h, O->f, next), y);
  tgi_d3_sub(y, y, x);
  tgi_d3_cross(m, y, O->n);
  double len = tgi_d3_norm(m);
  for (int i = 0; i < 3; i++) m[i] /= len;
  m[3] = tgi_d3_dot(m, x);
}
const double *tgi_outline_side(tgiOutline *O, int k, double scratch[4]) {
  for (; O->made <= k && O->made < TGI_SIDES; O->made++) make_side(O, O->made, O->side[O->made]);
  if (k < TGI_SIDES) return O->side[k];
  make_side(O, k, scratch);
  return scratch;
}

bool tgi_outline_holds(tgiOutline *O, const double *x, double tol, bool *tie) {
  double ms[4];
  if (O->F->kind == TGI_CONVEX_CYLINDER) {
    double y[3], z;
    tgi_d3_sub(y, x, O->F->t);
    z = tgi_d3_dot(y, O->n);
    double beyond = sqrt(fmax(tgi_d3_dot(y, y) - z * z, 0)) - O->F->size[0];
    if (beyond > tol) return false;
    *tie = *tie || beyond >= -tol;
  }
  for (int j = 0; j < O->nside; j++) {
    const double *m = tgi_outline_side(O, j, ms);
    double d = tgi_d3_dot(m, x) - m[3];
    if (d > tol) return false;
    *tie = *tie || d >= -tol;
  }
  return true;
}

static int incident_id(const Clip *K, int k) { return K->I->h ? loop_vertex(K->I->h, K->g, k) : k; }
static const double *incident(const Clip *K, int k, double *scratch) {
  if (k < CACHE) return K->vert[k];
  tgi_convex_vertex(K->I, incident_id(K, k), scratch);
  return scratch;
}

static void clip_start(Clip *K, const tgiConvex *F, int f, const tgiConvex *I, int g) {
  tgi_outline_start(&K->o, F, f);
  K->I = I;
  K->g = g;
  K->nloop = I->h ? loop_size(I->h, g) : I->nvert;
  for (int k = 0; k < K->nloop && k < CACHE; k++) tgi_convex_vertex(I, incident_id(K, k), K->vert[k]);
}

static double gap_at(const Clip *K, const double *x) { return tgi_d3_dot(K->o.n, x) - K->o.off - K->I->r; }

static void beyond_start(Beyond *b, const Clip *K, int k) {
  b->x = incident(K, k, b->own);
  b->made = 0;
}
static double beyond_next(Beyond *b, Clip *K, int side) {
  enum { AT_ONCE = 8 };
  double ms[4];
  int kept = K->o.nside < TGI_SIDES ? K->o.nside : TGI_SIDES, end = side + AT_ONCE < kept ? side + AT_ONCE : kept;
  for (; b->made < end; b->made++) {
    const double *m = tgi_outline_side(&K->o, b->made, ms);
    b->by[b->made] = tgi_d3_dot(m, b->x) - m[3];
  }
  if (side < kept) return b->by[side];
  const double *m = tgi_outline_side(&K->o, side, ms);
  return tgi_d3_dot(m, b->x) - m[3];
}
static inline double beyond(Beyond *b, Clip *K, int side) { return side < b->made ? b->by[side] : beyond_next(b, K, side); }

static void offer_vertex(tgiManifold *M, Clip *K, int k, Beyond *at) {
  bool tie = false;
  for (int j = 0; j < K->o.nside; j++) {
    double d = beyond(at, K, j);
    if (d > M->tol) return;
    tie = tie || d >= -M->tol;
  }
  tgi_manifold_offer(M, TGI_KIND_FACE_POINT, incident_id(K, k), 0, at->x, gap_at(K, at->x), tie);
}

// the edge from loop vertex k, `from`, to the next: the stretch [t0, t1] within all side planes; its ends where they are crossings
static void offer_edge(tgiManifold *M, Clip *K, int k, Beyond *from, Beyond *to) {
  double x[3], u[3], t[2] = {0, 1};
  int at[2] = {-1, -1};
  for (int j = 0; j < K->o.nside; j++) {
    double d0 = beyond(from, K, j), d1 = beyond(to, K, j);
    if (d0 <= M->tol && d1 <= M->tol) continue;
    if (d0 >= -M->tol && d1 >= -M->tol) return;
    double cut = d0 / (d0 - d1);
    if (d0 > 0 && cut > t[0]) { t[0] = cut; at[0] = j; }
    if (d1 > 0 && cut < t[1]) { t[1] = cut; at[1] = j; }
  }
  if (!(t[0] < t[1])) return;
  tgi_d3_sub(u, to->x, from->x);
  bool tie = (t[1] - t[0]) * tgi_d3_norm(u) < M->tol;
  for (int e = 0; e < 2; e++) {
    if (at[e] < 0) continue;
    tgi_d3_along(x, from->x, t[e], u);
    tgi_manifold_offer(M, TGI_KIND_FACE_EDGE, K->I->h ? loop_edge(K->I->h, K->g, k) : 0,
                       loop_edge(K->o.F->h, K->o.f, at[e]), x, gap_at(K, x), tie);
  }
}

static void offer_loop(tgiManifold *M, Clip *K) {
  Beyond row[3], *first = row, *at = first;
  beyond_start(first, K, 0);
  for (int k = 0; k < K->nloop; k++) {
    Beyond *next = at == row + 1 ? row + 2 : row + 1;
    bool last = k + 1 == K->nloop;
    if (!last) beyond_start(next, K, k + 1);
    offer_vertex(M, K, k, at);
    if (K->nloop > 2 || !last) offer_edge(M, K, k, at, last ? first : next);
    at = next;
  }
}

static void make_out(const Clip *K, int i, double tol, double *out) {
  double e[3], xs[3], ys[3];
  const double *x0 = incident(K, i, xs), *x1 = incident(K, i + 1 < K->nloop ? i + 1 : 0, ys);
  tgi_d3_sub(e, x1, x0);
  tgi_d3_cross(out, K->o.n, e);                        // the loop turns clockwise about n
  out[3] = -tol * tgi_d3_norm(out);
}

// corner k of the reference face, where strictly inside the incident face's outline along n
static void offer_corner(tgiManifold *M, const Clip *K, int k, const double *m, double off) {
  double c[3], xs[3], os[4], r[3], x[3];
  int v = loop_vertex(K->o.F->h, K->o.f, k);
  tgi_convex_vertex(K->o.F, v, c);
  for (int i = 0; i < K->nloop; i++) {
    const double *out = i < CACHE ? K->out[i] : os;
    if (i >= CACHE) make_out(K, i, M->tol, os);
    tgi_d3_sub(r, c, incident(K, i, xs));
    if (tgi_d3_dot(out, r) >= out[3]) return;
  }
  double gap = (off - tgi_d3_dot(m, c)) / tgi_d3_dot(m, K->o.n);
  tgi_d3_along(x, c, gap, K->o.n);
  tgi_manifold_offer(M, TGI_KIND_FACE_CORNER, K->g, v, x, gap, false);
}

void tgi_clip(tgiManifold *M, const tgiConvex *F, int f, const tgiConvex *I, int g, double margin, double tol) {
  Clip K;
  double e[3], x[3], m[3];
  if (!F->h || tgi_convex_is_curved(I)) {
    tgi_clip_curved(M, F, f, I, g, margin, tol);
    return;
  }
  clip_start(&K, F, f, I, g);
  // directions for the reduction: along an edge of the larger of the two faces, carried by its body
  bool mine = !I->h || K.nloop < K.o.nside;
  const tgiConvex *C = mine ? F : I;
  int face = mine ? f : g;
  tgi_convex_vertex(C, loop_vertex(C->h, face, 0), x);
  tgi_convex_vertex(C, loop_vertex(C->h, face, 1), e);
  tgi_d3_sub(e, e, x);
  tgi_manifold_start(M, margin, tol, K.o.n, e);
  offer_loop(M, &K);
  if (!I->h) return;
  double off = tgi_convex_face(I, g, m);
  if (!(tgi_d3_dot(m, K.o.n) < -UPRIGHT)) return;
  for (int i = 0; i < K.nloop && i < CACHE; i++) make_out(&K, i, tol, K.out[i]);
  for (int k = 0; k < K.o.nside; k++) offer_corner(M, &K, k, m, off);
}

int tgi_incident_face(const tgiConvex *F, int f, const tgiConvex *I, int prefer, double h, bool *tie) {
  enum { FEW = 12 };   // edges that are all looked at; of more those of the vertex, whose neighbours are in the order of the edges
  double n[3], m[3], least, best = INFINITY, second = INFINITY;
  int v, face = -1;
  *tie = false;
  if (!I->h) return -1;
  tgi_convex_face(F, f, n);
  least = tgi_convex_support(I, n, &v);
  bool few = I->nedge <= FEW;
  for (int k = few ? 0 : I->h->vert_adr[v], end = few ? I->nedge : I->h->vert_adr[v + 1]; k < end; k++) {
    const int *q = I->h->edge + 4 * (few ? k : tgi_edge_between(I->h, v, I->h->vert_next[k]));
    if (q[0] != v && q[1] != v) continue;
    for (int s = 2; s < 4; s++) {
      tgi_convex_face(I, q[s], m);
      double c = tgi_d3_dot(m, n);
      if (q[s] == face) continue;
      if (c < best) { second = best; best = c; face = q[s]; }
      else if (c < second) second = c;
    }
  }
  if (prefer >= 0 && prefer < I->nface && prefer != face) {
    double x[3], low = INFINITY;
    for (int k = 0; k < loop_size(I->h, prefer); k++) {
      tgi_convex_vertex(I, loop_vertex(I->h, prefer, k), x);
      low = fmin(low, tgi_d3_dot(n, x));
    }
    tgi_convex_face(I, prefer, m);
    if (tgi_d3_dot(m, n) <= best + UPRIGHT && low <= least + h) return prefer;
  }
  *tie = prefer != face && second - best < TGI_TIE;
  return face;
}

// ---- closed forms

static void emit(tgContactPoint *c, const tgiCandidate *k, const tgiFace *W, const tgiConvex *F,
                 const tgiConvex *I, tgCollide want) {
  tgiCore core, edge;
  tgiFace other;
  switch (k->kind) {
    case TGI_KIND_FACE_POINT:
      if (I->h) tgi_hull_vertex(&core, I->S, I->is_a, k->i, want);
      else tgi_round_core(&core, I->S, I->is_a, k->i == 0 ? TGI_AT_START : TGI_AT_END, want);
      tgi_rule_face_point(c, W, &core, want);
      break;
    case TGI_KIND_FACE_EDGE:
      // the side plane's normal does not depend on which way round the face the edge is listed
      tgi_hull_edge(&edge, F->S, F->is_a, k->j, want);
      if (I->h) tgi_hull_edge(&core, I->S, I->is_a, k->i, want);
      else tgi_round_core(&core, I->S, I->is_a, TGI_AT_INSIDE, want);
      tgi_rule_face_edge(c, W, &edge, &core, want);
      break;
    default:
      tgi_hull_vertex(&core, F->S, F->is_a, k->j, want);
      tgi_hull_face(&other, I->S, I->is_a, k->i, want);
      tgi_rule_face_corner(c, W, &core, &other, want);
      break;
  }
}

int tgi_manifold_emit(tgiManifold *M, const tgiConvex *F, int f, const tgiConvex *I, bool tie, tgiPair *P) {
  tgiFace W;
  tgi_manifold_reduce(M, TGI_FACE_POINTS);
  tgi_convex_world_face(&W, F, f, P->want);
  for (int k = 0; k < M->count; k++) {
    tgContactPoint *c = &P->out[k];
    const tgiCandidate *q = &M->c[k];
    if (!F->h || tgi_convex_is_curved(I)) tgi_emit_curved(c, q, &W, F, I, P->want);
    else emit(c, q, &W, F, I, P->want);
    c->feature = tgi_feature(q->kind + (F->is_a ? TGI_KIND_A : 0), q->i, q->kind == TGI_KIND_FACE_POINT ? f : q->j);
    c->tie = q->tie;
    c->tie = c->tie || tie;
  }
  return M->count;
}
