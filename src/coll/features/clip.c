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

// the place of the largest of n scores; the earlier one unless a later is better by `tie`, so that rounding between equals does not choose
static int largest(const double *score, int n, double tie) {
  int best = 0;
  for (int k = 1; k < n; k++)
    if (score[k] > score[best] + tie) best = k;
  return best;
}

// the deepest and the outermost of those that touch
static void keep_outermost(const tgiManifold *M, const bool *touching, int most, bool *keep) {
  static const double turn[8][2] = {{1, 0}, {0, 1}, {-1, 0}, {0, -1}, {0.7071067811865476, 0.7071067811865476},
    {-0.7071067811865476, 0.7071067811865476}, {-0.7071067811865476, -0.7071067811865476},
    {0.7071067811865476, -0.7071067811865476}};
  double at[2][TGI_CANDIDATES], score[TGI_CANDIDATES], tie = 1e3 * M->tol;
  int of[TGI_CANDIDATES], n = 0, kept = 1;
  for (int k = 0; k < M->count; k++) {
    if (!touching[k]) continue;
    for (int a = 0; a < 2; a++) at[a][n] = tgi_d3_dot(M->axis[a], M->c[k].x);
    score[n] = -M->c[k].gap;
    of[n++] = k;
  }
  keep[of[largest(score, n, tie)]] = true;
  for (int d = 0; d < 8 && kept < most; d++) {
    for (int k = 0; k < n; k++) score[k] = turn[d][0] * at[0][k] + turn[d][1] * at[1][k];
    int best = of[largest(score, n, tie)];
    kept += !keep[best];
    keep[best] = true;
  }
}

// all that touch, and the nearest of the rest
static void keep_nearest(const tgiManifold *M, const bool *touching, int ntouching, int most, bool *keep) {
  double score[TGI_CANDIDATES];
  int of[TGI_CANDIDATES], n = 0;
  for (int k = 0; k < M->count; k++) {
    keep[k] = touching[k];
    if (touching[k]) continue;
    score[n] = -M->c[k].gap;
    of[n++] = k;
  }
  for (int kept = ntouching; kept < most; kept++, n--) {
    int best = largest(score, n, 1e3 * M->tol);
    keep[of[best]] = true;
    for (int k = best; k + 1 < n; k++) {
      score[k] = score[k + 1];
      of[k] = of[k + 1];
    }
  }
}

void tgi_manifold_reduce(tgiManifold *M, int most) {
  bool touching[TGI_CANDIDATES] = {false}, keep[TGI_CANDIDATES] = {false};
  int ntouching = 0, n = 0;
  if (M->count <= most) return;
  double level = fmax(M->least, 0) + 1e3 * M->tol;     // beyond round-off, so that a body at rest keeps its points
  for (int k = 0; k < M->count; k++) {
    touching[k] = M->c[k].gap <= level;
    ntouching += touching[k];
  }
  if (ntouching >= most) keep_outermost(M, touching, most, keep);
  else keep_nearest(M, touching, ntouching, most, keep);
  for (int k = 0; k < M->count; k++)
    if (keep[k]) M->c[n++] = M->c[k];
  M->count = n;
}

// ---- clipping

enum { CACHE = TGI_SIDES, KEPT = 3 };   // incident vertices kept, and how many times TGI_SIDES of the reference face's sides
typedef struct Clip {
  tgiOutline o;                  // reference loop
  const tgiConvex *I;
  int g, nloop;                  // incident loop
  double tol, vert[CACHE][3];
  int made;
  tgiSides sides[KEPT];          // of the reference face: the first `made` are there
  tgiEdges edges;                // of the incident loop, across n
} Clip;

// A vertex of the incident loop, and what it is beyond, found as far as it was asked for.
typedef struct Beyond {
  const double *x;
  int made;
  double own[3];
  tgiBeyond of[KEPT];
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

// side plane through x and y, corners of a loop that follow each other: outward unit normal, offset
static void side_through(const double *n, const double *x, const double *y, double *m) {
  double u[3];
  tgi_d3_sub(u, y, x);
  tgi_d3_cross(m, u, n);
  double len = tgi_d3_norm(m);
  for (int i = 0; i < 3; i++) m[i] /= len;
  m[3] = tgi_d3_dot(m, x);
}

static void outline_corner(const tgiOutline *O, int k, double *x) {
  tgi_convex_vertex(O->F, loop_vertex(O->F->h, O->f, k < O->nside ? k : 0), x);
}

static void make_side(const tgiOutline *O, int k, double *m) {
  double x[3], y[3];
  outline_corner(O, k, x);
  outline_corner(O, k + 1, y);
  side_through(O->n, x, y, m);
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

static void clip_start(Clip *K, const tgiConvex *F, int f, const tgiConvex *I, int g, double tol) {
  tgi_outline_start(&K->o, F, f);
  K->I = I;
  K->g = g;
  K->tol = tol;
  K->made = 0;
  K->nloop = I->h ? loop_size(I->h, g) : I->nvert;
  for (int k = 0; k < K->nloop && k < CACHE; k++) tgi_convex_vertex(I, incident_id(K, k), K->vert[k]);
}

static double gap_at(const Clip *K, const double *x) { return tgi_d3_dot(K->o.n, x) - K->o.off - K->I->r; }

// sides of the reference face from c TGI_SIDES on
static void fill_sides(const tgiOutline *O, int c, tgiSides *S) {
  double x[2][3], m[4];
  int first = c * TGI_SIDES;
  S->count = O->nside - first < TGI_SIDES ? O->nside - first : TGI_SIDES;
  outline_corner(O, first, x[0]);
  for (int k = 0; k < S->count; k++) {
    outline_corner(O, first + k + 1, x[(k + 1) % 2]);
    side_through(O->n, x[k % 2], x[(k + 1) % 2], m);
    for (int i = 0; i < 4; i++) S->n[i][k] = m[i];
  }
  for (int k = S->count; k % TGI_LANES != 0; k++)
    for (int i = 0; i < 4; i++) S->n[i][k] = 0;
}

static const tgiSides *sides(Clip *K, int c, tgiSides *scratch) {
  for (; K->made <= c && K->made < KEPT; K->made++) fill_sides(&K->o, K->made, &K->sides[K->made]);
  if (c < KEPT) return &K->sides[c];
  fill_sides(&K->o, c, scratch);
  return scratch;
}

static void beyond_start(Beyond *b, const Clip *K, int k) {
  b->x = incident(K, k, b->own);
  b->made = 0;
}

// of the sides from c TGI_SIDES on
static tgiBeyond beyond(Beyond *b, Clip *K, int c) {
  tgiSides scratch;
  for (; b->made <= c && b->made < KEPT; b->made++) b->of[b->made] = tgi_sides_at(sides(K, b->made, &scratch), b->x, K->tol);
  return c < KEPT ? b->of[c] : tgi_sides_at(sides(K, c, &scratch), b->x, K->tol);
}

static void offer_vertex(tgiManifold *M, Clip *K, int k, Beyond *at) {
  bool tie = false;
  for (int c = 0; c * TGI_SIDES < K->o.nside; c++) {
    tgiBeyond of = beyond(at, K, c);
    if (of.out != 0) return;
    tie = tie || of.near != 0;
  }
  tgi_manifold_offer(M, TGI_KIND_FACE_POINT, incident_id(K, k), 0, at->x, gap_at(K, at->x), tie);
}

// What is within all side planes of an edge of the incident face: parameters of its ends, and which sides these are on; -1: its own end.
typedef struct Stretch { double t[2]; int at[2]; } Stretch;

// Cuts off what the sides from c TGI_SIDES on leave out. False: that is all of it.
static bool cut_by_sides(Clip *K, int c, Beyond *from, Beyond *to, Stretch *w) {
  tgiBeyond b0 = beyond(from, K, c), b1 = beyond(to, K, c);
  uint64_t beyond_one = b0.out | b1.out;
  tgiSides scratch;
  if ((beyond_one & b0.near & b1.near) != 0) return false;
  if (beyond_one == 0) return true;
  for (const tgiSides *S = sides(K, c, &scratch); beyond_one != 0; beyond_one &= beyond_one - 1) {
    int k = __builtin_ctzll(beyond_one);
    double d0 = tgi_side_at(S, k, from->x), d1 = tgi_side_at(S, k, to->x), cut = d0 / (d0 - d1);
    if (d0 > 0 && cut > w->t[0]) { w->t[0] = cut; w->at[0] = c * TGI_SIDES + k; }
    if (d1 > 0 && cut < w->t[1]) { w->t[1] = cut; w->at[1] = c * TGI_SIDES + k; }
  }
  return true;
}

// the edge from loop vertex k, `from`, to the next: its stretch within all side planes, and the ends of that where they are crossings
static void offer_edge(tgiManifold *M, Clip *K, int k, Beyond *from, Beyond *to) {
  Stretch w = {{0, 1}, {-1, -1}};
  double x[3], u[3];
  for (int c = 0; c * TGI_SIDES < K->o.nside; c++)
    if (!cut_by_sides(K, c, from, to, &w)) return;
  if (!(w.t[0] < w.t[1]) || (w.at[0] < 0 && w.at[1] < 0)) return;
  tgi_d3_sub(u, to->x, from->x);
  bool tie = (w.t[1] - w.t[0]) * tgi_d3_norm(u) < M->tol;
  for (int e = 0; e < 2; e++) {
    if (w.at[e] < 0) continue;
    tgi_d3_along(x, from->x, w.t[e], u);
    tgi_manifold_offer(M, TGI_KIND_FACE_EDGE, K->I->h ? loop_edge(K->I->h, K->g, k) : 0,
                       loop_edge(K->o.F->h, K->o.f, w.at[e]), x, gap_at(K, x), tie);
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

// outward across n of the edge after vertex i of the incident loop, and how far along that a corner is no longer within
static void make_out(const Clip *K, int i, double *out) {
  double e[3], xs[3], ys[3];
  const double *x0 = incident(K, i, xs), *x1 = incident(K, i + 1 < K->nloop ? i + 1 : 0, ys);
  tgi_d3_sub(e, x1, x0);
  tgi_d3_cross(out, K->o.n, e);                        // the loop turns clockwise about n
  out[3] = -K->tol * tgi_d3_norm(out);
}

static void make_edges(Clip *K) {
  tgiEdges *E = &K->edges;
  double out[4];
  E->count = K->nloop < CACHE ? K->nloop : CACHE;
  for (int k = 0; k < E->count; k++) {
    make_out(K, k, out);
    for (int i = 0; i < 3; i++) E->x[i][k] = K->vert[k][i];
    for (int i = 0; i < 3; i++) E->out[i][k] = out[i];
    E->end[k] = out[3];
  }
  for (int k = E->count; k % TGI_LANES != 0; k++) {
    for (int i = 0; i < 3; i++) E->x[i][k] = E->x[i][k - 1];
    for (int i = 0; i < 3; i++) E->out[i][k] = E->out[i][k - 1];
    E->end[k] = E->end[k - 1];
  }
}

// corner k of the reference face, where strictly inside the incident face's outline along n
static void offer_corner(tgiManifold *M, const Clip *K, int k, const double *m, double off) {
  double c[3], xs[3], out[4], r[3], x[3];
  int v = loop_vertex(K->o.F->h, K->o.f, k);
  tgi_convex_vertex(K->o.F, v, c);
  if (!tgi_edges_hold(&K->edges, c)) return;
  for (int i = CACHE; i < K->nloop; i++) {
    make_out(K, i, out);
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
  clip_start(&K, F, f, I, g, tol);
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
  make_edges(&K);
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
