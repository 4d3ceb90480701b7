// test_sides.c: what a point is beyond of many sides at once, for both instruction sets, and the clip of two faces by it, against loops
// over the sides one by one, to the bit; which points of a manifold are kept.
#include <stdlib.h>
#include <string.h>

#include "coll/features/clip.h"
#include "geom/hull.h"
#include "support/check.h"

static tgiBeyond plain_at(const tgiSides *S, const double *x, double tol) {
  tgiBeyond b = {0, 0};
  for (int k = 0; k < S->count; k++) {
    double n[3] = {S->n[0][k], S->n[1][k], S->n[2][k]}, d = tgi_d3_dot(n, x) - S->n[3][k];
    assert_true(tgi_side_at(S, k, x) == d);
    b.out |= (uint64_t)(d > tol) << k;
    b.near |= (uint64_t)(d >= -tol) << k;
  }
  return b;
}

static bool plain_hold(const tgiEdges *E, const double *c) {
  for (int k = 0; k < E->count; k++) {
    double r[3] = {c[0] - E->x[0][k], c[1] - E->x[1][k], c[2] - E->x[2][k]}, out[3] = {E->out[0][k], E->out[1][k], E->out[2][k]};
    if (tgi_d3_dot(out, r) >= E->end[k]) return false;
  }
  return true;
}

static void check_sides(const tgiSides *S, const double *x, double tol) {
  tgiBeyond b = plain_at(S, x, tol), one = tgi_sides_at_v1(S, x, tol), taken = tgi_sides_at(S, x, tol);
  assert_true(b.out == one.out && b.near == one.near && b.out == taken.out && b.near == taken.near);
}

static void check_edges(const tgiEdges *E, const double *c, int *held) {
  bool hold = plain_hold(E, c);
  assert_true(tgi_edges_hold_v1(E, c) == hold && tgi_edges_hold(E, c) == hold);
  *held += hold;
}

// Of 1 to 64 sides and edges; points within the tolerance of a side too.
static void kernels(void **state) {
  (void)state;
  tgtRandom r = {5};
  int held = 0, cases = 0;
  for (int trial = 0; trial < 20 * TGI_SIDES; trial++) {
    tgiSides S = {.count = 1 + trial % TGI_SIDES};
    tgiEdges E = {.count = S.count};
    double x[3], tol = pow(10, tgt_uniform(&r, -3, -1));
    for (int k = 0; k < S.count; k++) {
      for (int i = 0; i < 4; i++) S.n[i][k] = i < 3 ? tgt_normal(&r) : tgt_uniform(&r, 0, 3);
      for (int i = 0; i < 3; i++) E.out[i][k] = E.x[i][k] = S.n[i][k];
      E.end[k] = -tol;
    }
    for (int k = S.count; k % TGI_LANES != 0; k++) {
      for (int i = 0; i < 3; i++) E.out[i][k] = E.x[i][k] = E.x[i][k - 1];
      E.end[k] = -tol;
    }
    for (int i = 0; i < 3; i++) x[i] = tgt_uniform(&r, -1, 1);
    int k = trial % S.count;
    if (trial % 2 == 0) S.n[3][k] = S.n[0][k] * x[0] + S.n[1][k] * x[1] + S.n[2][k] * x[2] + tgt_uniform(&r, -2, 2) * tol;
    check_sides(&S, x, tol);
    check_edges(&E, x, &held);
    cases++;
  }
  check_true(held > 20 && held < cases - 20, "%d of %d held", held, cases);
}

// A point that is the tolerance beyond all sides, or within them, is near and not out; one that is that within all edges is not held.
static void borders(void **state) {
  (void)state;
  static const double at[] = {-0.5, -0.25, 0, 0.25, 0.5}, tol = 0.25;   // exact, as is what is found of them
  for (int count = 1; count <= TGI_SIDES; count++)
    for (int p = 0; p < 5; p++) {
      tgiSides S = {.count = count};
      tgiEdges E = {.count = count};
      double x[3] = {at[p], 0, 0};
      uint64_t all = ~(uint64_t)0 >> (TGI_SIDES - count);
      int held = 0;
      for (int k = 0; k < count; k++) S.n[0][k] = 1;
      for (int k = 0; k < count || k % TGI_LANES != 0; k++) {
        E.out[0][k] = 1;
        E.end[k] = -tol;
      }
      tgiBeyond b = tgi_sides_at(&S, x, tol);
      assert_true(b.out == (at[p] > tol ? all : 0) && b.near == (at[p] >= -tol ? all : 0));
      check_sides(&S, x, tol);
      check_edges(&E, x, &held);
      assert_true(held == (at[p] < -tol));
    }
}

// ---- two faces ----

static int loop_size(const tgHull *h, int f) { return h->face_adr[f + 1] - h->face_adr[f]; }
static int loop_vertex(const tgHull *h, int f, int k) { return h->face_vert[h->face_adr[f] + k % loop_size(h, f)]; }
static int loop_edge(const tgHull *h, int f, int k) { return h->face_edge[h->face_adr[f] + k]; }

typedef struct Clip { const tgiConvex *F, *I; int f, g; tgiOutline o; } Clip;

static double beyond(Clip *K, int j, const double *x) {
  double scratch[4];
  const double *m = tgi_outline_side(&K->o, j, scratch);
  return tgi_d3_dot(m, x) - m[3];
}

static double gap_at(const Clip *K, const double *x) { return tgi_d3_dot(K->o.n, x) - K->o.off - K->I->r; }

static void plain_vertex(tgiManifold *M, Clip *K, int k) {
  double x[3];
  bool tie = false;
  int v = loop_vertex(K->I->h, K->g, k);
  tgi_convex_vertex(K->I, v, x);
  for (int j = 0; j < K->o.nside; j++) {
    double d = beyond(K, j, x);
    if (d > M->tol) return;
    tie = tie || d >= -M->tol;
  }
  tgi_manifold_offer(M, TGI_KIND_FACE_POINT, v, 0, x, gap_at(K, x), tie);
}

static void plain_edge(tgiManifold *M, Clip *K, int k) {
  double from[3], to[3], x[3], u[3], t[2] = {0, 1};
  int at[2] = {-1, -1};
  tgi_convex_vertex(K->I, loop_vertex(K->I->h, K->g, k), from);
  tgi_convex_vertex(K->I, loop_vertex(K->I->h, K->g, k + 1), to);
  for (int j = 0; j < K->o.nside; j++) {
    double d0 = beyond(K, j, from), d1 = beyond(K, j, to);
    if (d0 <= M->tol && d1 <= M->tol) continue;
    if (d0 >= -M->tol && d1 >= -M->tol) return;
    double cut = d0 / (d0 - d1);
    if (d0 > 0 && cut > t[0]) { t[0] = cut; at[0] = j; }
    if (d1 > 0 && cut < t[1]) { t[1] = cut; at[1] = j; }
  }
  if (!(t[0] < t[1])) return;
  tgi_d3_sub(u, to, from);
  bool tie = (t[1] - t[0]) * tgi_d3_norm(u) < M->tol;
  for (int e = 0; e < 2; e++) {
    if (at[e] < 0) continue;
    tgi_d3_along(x, from, t[e], u);
    tgi_manifold_offer(M, TGI_KIND_FACE_EDGE, loop_edge(K->I->h, K->g, k), loop_edge(K->F->h, K->f, at[e]), x, gap_at(K, x), tie);
  }
}

static void plain_corner(tgiManifold *M, Clip *K, int k) {
  double c[3], x0[3], x1[3], e[3], out[3], r[3], m[3], x[3], off = tgi_convex_face(K->I, K->g, m);
  int v = loop_vertex(K->F->h, K->f, k);
  tgi_convex_vertex(K->F, v, c);
  for (int i = 0; i < loop_size(K->I->h, K->g); i++) {
    tgi_convex_vertex(K->I, loop_vertex(K->I->h, K->g, i), x0);
    tgi_convex_vertex(K->I, loop_vertex(K->I->h, K->g, i + 1), x1);
    tgi_d3_sub(e, x1, x0);
    tgi_d3_cross(out, K->o.n, e);
    tgi_d3_sub(r, c, x0);
    if (tgi_d3_dot(out, r) >= -M->tol * tgi_d3_norm(out)) return;
  }
  double gap = (off - tgi_d3_dot(m, c)) / tgi_d3_dot(m, K->o.n);
  tgi_d3_along(x, c, gap, K->o.n);
  tgi_manifold_offer(M, TGI_KIND_FACE_CORNER, K->g, v, x, gap, false);
}

static void plain_clip(tgiManifold *M, const tgiConvex *F, int f, const tgiConvex *I, int g, double margin, double tol) {
  Clip K = {.F = F, .I = I, .f = f, .g = g};
  double x[3], e[3];
  tgi_outline_start(&K.o, F, f);
  bool mine = loop_size(I->h, g) < K.o.nside;
  const tgiConvex *C = mine ? F : I;
  tgi_convex_vertex(C, loop_vertex(C->h, mine ? f : g, 0), x);
  tgi_convex_vertex(C, loop_vertex(C->h, mine ? f : g, 1), e);
  tgi_d3_sub(e, e, x);
  tgi_manifold_start(M, margin, tol, K.o.n, e);
  for (int k = 0; k < loop_size(I->h, g); k++) {
    plain_vertex(M, &K, k);
    plain_edge(M, &K, k);
  }
  for (int k = 0; k < K.o.nside; k++) plain_corner(M, &K, k);
}

static bool same_candidate(const tgiCandidate *a, const tgiCandidate *b) {
  return a->kind == b->kind && a->i == b->i && a->j == b->j && memcmp(a->x, b->x, sizeof a->x) == 0 && a->gap == b->gap && a->tie == b->tie;
}

// A prism of n sides about an ellipse of radii a and b, h high to either side; of few sides they are not alike.
static tgHullOwned *prism(tgtRandom *r, int n, double a, double b, double h) {
  double *x = malloc(6 * (size_t)n * sizeof *x), phase = tgt_uniform(r, 0, 6);
  tgHullOwned *hull;
  tgError e = {0};
  for (int k = 0; k < 2 * n; k++) {
    double turn = 2 * TG_PI * (k % n + (n > 40 ? 0 : 0.2 * sin(12.9898 * (k % n) + phase))) / n;
    x[3 * k] = a * cos(turn);
    x[3 * k + 1] = b * sin(turn);
    x[3 * k + 2] = k < n ? h : -h;
  }
  check_true(tgi_hull_from_points(x, 2 * n, NULL, &hull, &e) == TG_OK, "%d sides: %s", n, e.text);
  free(x);
  return hull;
}

// the face that looks most along z, or against it
static int cap(const tgHull *h, int way) {
  int best = 0;
  for (int f = 1; f < h->nface; f++)
    if (way * tgRe(h->face_plane[4 * f + 2]) > way * tgRe(h->face_plane[4 * best + 2])) best = f;
  return best;
}

typedef struct Seen { int kind[TGI_KIND_A], full; } Seen;

static void check_clip(tgtRandom *r, int n, int m, int trial, Seen *seen) {
  bool equal = trial % 3 == 0;   // next to the same outline: corners stick out on both sides
  double turn = trial % 5 == 0 ? 0 : tgt_uniform(r, 0, 1), tilt = 1e-3 * tgt_normal(r), scale = equal ? 1 : tgt_uniform(r, 0.3, 1.5);
  tgHullOwned *a = prism(r, n, 1, 0.8, 0.2), *b = prism(r, m, scale, 0.8 * scale, 0.1);
  tgReal pos[2][3] = {{0, 0, 0}, {equal ? 0 : tgt_uniform(r, -0.7, 0.7), equal ? 0 : tgt_uniform(r, -0.7, 0.7), 0.3}};
  tgReal c = cos(turn), s = sin(turn), one[3] = {1, 1, 1};
  tgReal mat[2][9] = {{1, 0, 0, 0, 1, 0, 0, 0, 1}, {c, -s, 0, s, c, -tilt, s * tilt, c * tilt, 1}};
  tgShape A = {.type = TG_GEOM_MESH, .size = one, .hull = &a->hull, .pos = pos[0], .mat = mat[0]};
  tgShape B = {.type = TG_GEOM_MESH, .size = one, .hull = &b->hull, .pos = pos[1], .mat = mat[1]};
  tgiPair P = {.A = &A, .B = &B};
  tgiConvex X, Y;
  tgiManifold M, plain;
  tgi_convex_pair(&P, &X, &Y);
  const tgiConvex *lower = X.is_a ? &X : &Y, *upper = X.is_a ? &Y : &X;
  int f = cap(&a->hull, 1), g = cap(&b->hull, -1);
  double margin = trial % 2 ? 0.01 : INFINITY;
  for (int side = 0; side < 2; side++) {
    const tgiConvex *F = side ? upper : lower, *I = side ? lower : upper;
    tgi_clip(&M, F, side ? g : f, I, side ? f : g, margin, 1e-9);
    plain_clip(&plain, F, side ? g : f, I, side ? f : g, margin, 1e-9);
    check_true(M.count == plain.count && M.least == plain.least, "%d on %d sides: %d points, %d", n, m, M.count, plain.count);
    for (int k = 0; k < M.count; k++) {
      check_true(same_candidate(&M.c[k], &plain.c[k]), "%d on %d sides, trial %d: point %d", n, m, trial, k);
      seen->kind[M.c[k].kind]++;
    }
    seen->full += M.count > TGI_FACE_POINTS;
  }
  tgi_hull_free(a);
  tgi_hull_free(b);
}

// Faces of few sides, of as many as are taken at once, one more, and of more than are kept.
static void faces(void **state) {
  (void)state;
  static const int sides[] = {3, 4, 5, 8, 31, 52, 63, 64, 65, 130, 200};
  enum { SIDES = sizeof sides / sizeof *sides };
  tgtRandom r = {2};
  Seen seen = {{0}, 0};
  int trial = 0;
  for (int i = 0; i < SIDES; i++)
    for (int j = 0; j < SIDES; j++)
      for (int k = 0; k < tgt_cases(3, 1); k++) check_clip(&r, sides[i], sides[j], trial++, &seen);
  int points = seen.kind[TGI_KIND_FACE_POINT], crossings = seen.kind[TGI_KIND_FACE_EDGE], corners = seen.kind[TGI_KIND_FACE_CORNER];
  check_true(points > 50 && crossings > 50 && corners > 50 && seen.full > 20, "%d vertices, %d crossings, %d corners, %d full", points,
             crossings, corners, seen.full);
}

// ---- reduction ----

// what is kept, each direction by itself
static void plain_best(const tgiManifold *M, const bool *allowed, bool *keep, double cx, double cy, double cgap) {
  int best = -1;
  double top = 0;
  for (int k = 0; k < M->count; k++) {
    const tgiCandidate *c = &M->c[k];
    if (!allowed[k]) continue;
    double s = cx * tgi_d3_dot(M->axis[0], c->x) + cy * tgi_d3_dot(M->axis[1], c->x) + cgap * c->gap;
    if (best < 0 || s > top + 1e3 * M->tol) { best = k; top = s; }
  }
  keep[best] = true;
}

static void plain_reduce(const tgiManifold *M, int most, bool *keep) {
  static const double h = 0.7071067811865476, turn[8][2] = {{1, 0}, {0, 1}, {-1, 0}, {0, -1}, {h, h}, {-h, h}, {-h, -h}, {h, -h}};
  bool touching[TGI_CANDIDATES] = {false}, rest[TGI_CANDIDATES];
  int ntouching = 0, kept = 1;
  double level = fmax(M->least, 0) + 1e3 * M->tol;
  for (int k = 0; k < M->count; k++) ntouching += touching[k] = M->c[k].gap <= level;
  if (ntouching >= most) {
    plain_best(M, touching, keep, 0, 0, -1);
    for (int d = 0; d < 8 && kept < most; d++) {
      plain_best(M, touching, keep, turn[d][0], turn[d][1], 0);
      kept = 0;
      for (int k = 0; k < M->count; k++) kept += keep[k];
    }
    return;
  }
  for (int k = 0; k < M->count; k++) keep[k] = touching[k];
  for (kept = ntouching; kept < most; kept++) {
    for (int k = 0; k < M->count; k++) rest[k] = !keep[k];
    plain_best(M, rest, keep, 0, 0, -1);
  }
}

static void reductions(void **state) {
  (void)state;
  static const double along[3] = {1, 0.2, 0}, n[3] = {0, 0, 1};
  tgtRandom r = {8};
  int touched = 0;
  for (int trial = 0; trial < 2000; trial++) {
    tgiManifold M;
    bool keep[TGI_CANDIDATES] = {false};
    tgiCandidate left[TGI_CANDIDATES];
    int most = TGI_FACE_POINTS - trial % 2, expected = 0, ground = trial % 4;
    tgi_manifold_start(&M, 1, 1e-9, n, along);
    for (int k = most + 1 + trial % (TGI_CANDIDATES - most); k > 0; k--) {
      double x[3] = {round(4 * tgt_normal(&r)), round(4 * tgt_normal(&r)), 0};
      double gap = ground == 0 ? 0 : tgt_uniform(&r, -ground + 1.0, 1) * 1e-3;
      tgi_manifold_offer(&M, TGI_KIND_FACE_POINT, k, 0, x, gap, false);
    }
    touched += ground != 1;
    plain_reduce(&M, most, keep);
    for (int k = 0; k < M.count; k++)
      if (keep[k]) left[expected++] = M.c[k];
    tgi_manifold_reduce(&M, most);
    assert_int_equal(M.count, expected);
    for (int k = 0; k < expected; k++) assert_true(same_candidate(&M.c[k], &left[k]));
  }
  assert_true(touched > 100);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(kernels), cmocka_unit_test(borders), cmocka_unit_test(faces),
                                     cmocka_unit_test(reductions)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
