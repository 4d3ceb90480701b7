// test_tree_pair.c: the recursion over sphere trees and half-spaces against a plain twin, complex steps, step halving and the properties claimed.
#include "contact/barrier/law.h"
#include "contact/barrier/tree_force.h"
#include "test/contact/barrier/bodies.h"

typedef tgtBody Body;

// ---- a plain twin: every frame has its own value, gradient and second derivatives; nothing is listed or weighted going down ----

typedef struct Twin {
  const tgiPosed *A, *B;
  tgiTreeLaw law;
  tgReal shift[3];
  double bound;      // least of (sum over children - cluster)/cluster met
} Twin;

static void clear(tgiPairSum *s) { memset(s, 0, sizeof *s); }
static void add(tgiPairSum *s, const tgiPairSum *t) {
  const tgReal *x = (const tgReal *)t;
  tgReal *y = (tgReal *)s;
  for (int i = 0; i < 28; i++) y[i] += x[i];
}
static void compose(const tgReal f[3], const tgReal v[6], const tgReal G[21], tgiPairSum *s) {
  s->P = f[0];
  for (int i = 0; i < 6; i++) s->g[i] = f[1] * v[i];
  for (int i = 0, n = 0; i < 6; i++)
    for (int j = 0; j <= i; j++, n++) s->H[n] = f[2] * v[i] * v[j] + f[1] * G[n];
}
// (1 - Phi) A + Phi C
static void mix(const tgiPairSum *A, const tgiPairSum *C, const tgiPairSum *F, tgiPairSum *s) {
  s->P = A->P + F->P * (C->P - A->P);
  for (int i = 0; i < 6; i++) s->g[i] = A->g[i] + F->P * (C->g[i] - A->g[i]) + F->g[i] * (C->P - A->P);
  for (int i = 0, n = 0; i < 6; i++)
    for (int j = 0; j <= i; j++, n++)
      s->H[n] = A->H[n] + F->P * (C->H[n] - A->H[n]) + F->H[n] * (C->P - A->P) + F->g[i] * (C->g[j] - A->g[j]) + F->g[j] * (C->g[i] - A->g[i]);
}

// |x - y|^2 by its definition: first and second order motion of x
static tgReal squared(const tgReal *x, const tgReal *y, tgReal v[6], tgReal G[21]) {
  tgReal d[3], J[6][3];
  tgi_v3_sub(d, x, y);
  for (int k = 0; k < 6; k++) {
    tgReal e[3] = {k % 3 == 0, k % 3 == 1, k % 3 == 2};
    if (k < 3) tgi_v3_cross(J[k], e, x);
    else tgi_v3_copy(J[k], e);
    v[k] = 2 * tgi_v3_dot(d, J[k]);
  }
  for (int i = 0, n = 0; i < 6; i++)
    for (int j = 0; j <= i; j++, n++) {
      tgReal a[3] = {0}, b[3] = {0}, e[3] = {i == 0, i == 1, i == 2}, f[3] = {j == 0, j == 1, j == 2};
      tgi_v3_cross(a, e, J[j]);
      tgi_v3_cross(b, f, J[i]);
      G[n] = 2 * tgi_v3_dot(J[i], J[j]) + tgi_v3_dot(d, a) + tgi_v3_dot(d, b);
    }
  return tgi_v3_dot(d, d);
}

static void twin_corners(const Twin *t, int side, int k, tgReal x[9]) {
  const tgiPosed *p = side ? t->B : t->A;
  for (int i = 0; i < 9; i++) x[i] = p->vert[3 * p->surface->face[3 * p->tree->tri[k] + i / 3] + i % 3] + (side ? t->shift[i % 3] : 0);
}

static bool twin_node(Twin *t, int a, int b, bool before, tgiPairSum *s);

static bool twin_children(Twin *t, int a, int b, bool before, tgiPairSum *s) {
  const int *ca = t->A->tree->child + 2 * a, *cb = t->B->tree->child + 2 * b;
  clear(s);
  for (int i = 0; i < (ca[0] < 0 ? 1 : 2); i++)
    for (int j = 0; j < (cb[0] < 0 ? 1 : 2); j++) {
      tgiPairSum c;
      if (!twin_node(t, ca[0] < 0 ? a : ca[i], cb[0] < 0 ? b : cb[j], before, &c)) return false;
      add(s, &c);
    }
  return true;
}

static void twin_blend(tgReal D, tgReal D1, tgReal D2, tgReal d1, double eps, const tgReal v[6], const tgReal G[21], tgiPairSum *F) {
  tgReal b[3], width = eps * d1, f[3];
  tgi_law_blend((D - d1) / width, b);
  f[0] = b[0];
  f[1] = b[1] / width * D1;
  f[2] = b[2] / (width * width) * D1 * D1 + b[1] / width * D2;
  compose(f, v, G, F);
}

static void note(Twin *t, tgReal sum, tgReal cluster) { t->bound = fmin(t->bound, tgRe(sum - cluster) / tgRe(cluster)); }

static bool twin_below(Twin *t, int a, int b, tgReal ww, tgiPairSum *s) {
  bool la = t->A->tree->tri[a] >= 0, lb = t->B->tree->tri[b] >= 0;
  tgReal x[18], f[3];
  tgiPair p;
  if (la && lb) {
    twin_corners(t, 0, a, x);
    twin_corners(t, 1, b, x + 9);
    if (!tgi_pair_solve(x, false, &p)) return false;
    tgi_law_pair(ww, t->law.base, p.S, f);
    compose(f, p.g, p.H, s);
    return true;
  }
  int side = t->law.one_sided[0] && lb && t->A->nominal[a] <= 0.5 * t->B->nominal[b]   ? 0
             : t->law.one_sided[1] && la && t->B->nominal[b] <= 0.5 * t->A->nominal[a] ? 1
                                                                                       : -1;
  if (side < 0) return twin_children(t, a, b, false, s);
  const tgReal *point = side ? t->B->node + 8 * b : t->A->node + 8 * a;
  for (int i = 0; i < 9; i++) x[9 * side + i] = point[i % 3] + (side ? t->shift[i % 3] : 0);
  twin_corners(t, 1 - side, side ? a : b, x + 9 * (1 - side));
  tgReal d1 = TGI_ONE_SIDED * point[TGI_NODE_R];
  if (!tgi_pair_solve(x, false, &p) || tgRe(12 / p.S) <= tgRe(d1)) return twin_children(t, a, b, true, s);
  tgiPairSum A, C, F;
  tgReal D = 12 / p.S;
  tgi_law_point(ww, t->law.base, p.S, TGI_ONE_SIDED * TGI_ONE_SIDED * point[TGI_NODE_M], f);
  compose(f, p.g, p.H, &C);
  bool far = tgRe(D) >= tgRe(d1) * (1 + t->law.eps);
  if (far) *s = C;
  if (!twin_children(t, a, b, true, &A)) return false;
  note(t, A.P, C.P);
  if (far) return true;
  twin_blend(D, -D / p.S, 2 * D / (p.S * p.S), d1, t->law.eps, p.g, p.H, &F);
  mix(&A, &C, &F, s);
  return true;
}

static bool twin_node(Twin *t, int a, int b, bool before, tgiPairSum *s) {
  const tgReal *x = t->A->node + 8 * a, *yb = t->B->node + 8 * b;
  if (before) return twin_below(t, a, b, x[TGI_NODE_W] * yb[TGI_NODE_W], s);
  tgReal y[3], v[6], G[21], f[3], ww = x[TGI_NODE_W] * yb[TGI_NODE_W], d1 = x[TGI_NODE_R] + yb[TGI_NODE_R];
  double k = TGI_ONE_SIDED * TGI_ONE_SIDED;
  tgi_v3_add(y, yb, t->shift);
  tgReal q = squared(x, y, v, G), D = tgSqrt(q);
  tgi_law_cluster(ww, t->law.base, q + (t->law.one_sided[0] ? k : 1) * x[TGI_NODE_M] + (t->law.one_sided[1] ? k : 1) * yb[TGI_NODE_M], f);
  if (tgRe(D) >= tgRe(d1) * (1 + t->law.eps)) {
    compose(f, v, G, s);
    return true;
  }
  tgiPairSum A, C, F;
  if (!twin_below(t, a, b, ww, &A)) return false;
  *s = A;
  if (tgRe(D) <= tgRe(d1)) return true;
  compose(f, v, G, &C);
  note(t, A.P, C.P);
  twin_blend(D, 0.5 / D, -0.25 / (D * q), d1, t->law.eps, v, G, &F);
  mix(&A, &C, &F, s);
  return true;
}

static bool twin(const Body *a, const Body *b, const tgiTreeLaw *law, tgiPairSum *s, double *bound) {
  Twin t = {.A = &a->posed, .B = &b->posed, .law = *law, .bound = INFINITY};
  tgi_v3_sub(t.shift, t.B->origin, t.A->origin);
  bool apart = twin_node(&t, 0, 0, false, s);
  if (bound != NULL) *bound = fmin(*bound, t.bound);
  return apart;
}

// ---- cases ----

enum { BALL, BOX, TORUS, ROD, PLATE, SHAPES };
static const char *const shape_name[SHAPES] = {"ball", "box", "torus", "rod", "plate"};

static void make(Body *b, int shape, tgiTreeForm form) {
  switch (shape) {
    case BALL: tgt_body_primitive(b, TG_GEOM_SPHERE, 0.1, 0, 0, 0.1, form); break;
    case BOX: tgt_body_primitive(b, TG_GEOM_BOX, 0.1, 0.15, 0.07, 0.1, form); break;
    case TORUS: tgt_body_torus(b, 0.2, 0.06, 10, 6, form); break;
    case ROD: tgt_body_grid(b, 0.02, 0.03, 0.4, 3, form); break;
    default: tgt_body_primitive(b, TG_GEOM_BOX, 2, 2, 0.1, 0.1, form); break;
  }
}

static double size_of(const Body *b) { return b->nominal[0]; }

// random poses about the origin, `gap` (of the sum of the bounding radii) apart at least
static void scatter(tgtRandom *r, Body *a, Body *b, double gap) {
  tgReal x[3], R[9];
  double w[3], u[3], n = 0, d = size_of(a) + size_of(b);
  for (int i = 0; i < 3; i++) {
    w[i] = tgt_normal(r);
    u[i] = tgt_normal(r);
    n += u[i] * u[i];
  }
  tgt_rotation(w, R);
  for (int i = 0; i < 3; i++) x[i] = u[i] / sqrt(n) * d * gap;
  tgt_body_move(a, x, R);
  for (int i = 0; i < 3; i++) w[i] = tgt_normal(r), x[i] = 0.3 * tgt_normal(r) * 0.1;
  tgt_rotation(w, R);
  tgt_body_move(b, x, R);
}

static void near_sum(const tgiPairSum *a, const tgiPairSum *b, double tol, const char *what) {
  const tgReal *x = (const tgReal *)a, *y = (const tgReal *)b;
  double scale[3] = {fabs(tgRe(b->P)), 0, 0};
  for (int k = 1; k < 28; k++) scale[k < 7 ? 1 : 2] = fmax(scale[k < 7 ? 1 : 2], fabs(tgRe(y[k])));
  for (int k = 0; k < 28; k++)
    check_true(fabs(tgRe(x[k] - y[k])) <= tol * scale[k < 1 ? 0 : k < 7 ? 1 : 2], "%s: entry %d is %.17g, twin %.17g", what, k, tgRe(x[k]), tgRe(y[k]));
}

// every pair of shapes, both forms, eps, over distances: batches against the twin, and the lower bound in every blend of the twin
static void test_twin(void **state) {
  (void)state;
  tgtRandom r = {1};
  int met = 0;
  for (int form = 0; form < 2; form++)
    for (int sa = 0; sa < SHAPES; sa++)
      for (int sb = sa; sb < SHAPES; sb++) {
        Body a, b;
        double bound = INFINITY;
        make(&a, sa, form ? TGI_TREE_PAPER : TGI_TREE_MOMENT);
        make(&b, sb, form ? TGI_TREE_PAPER : TGI_TREE_MOMENT);
        tgiTreeWork *w = tgt_tree_work(&a, &b);
        for (int k = 0; k < 6; k++) {
          tgiTreeLaw law = tgt_law(&a, &b, form ? TGI_TREE_PAPER : TGI_TREE_MOMENT, k % 2 ? 0.1 : 0.5);
          tgiPairSum s, t;
          int face[2];
          scatter(&r, &a, &b, tgt_uniform(&r, 0.2, 3));
          bool apart = tgi_tree_pair(&a.posed, &b.posed, &law, w, &s, face, NULL, NULL);
          assert_int_equal(apart, twin(&a, &b, &law, &t, &bound));
          if (!apart) continue;
          met++;
          near_sum(&s, &t, 1e-11, shape_name[sb]);
        }
        check_true(bound > -1e-13, "%s and %s: a cluster is above its parts by %.3g", shape_name[sa], shape_name[sb], -bound);
        free(w);
        tgt_body_free(&a);
        tgt_body_free(&b);
      }
  check_true(met > 100, "%d poses apart", met);
}

// so many blends that the lists run full and are emptied on the way, of spheres and of one-sided nodes
static void test_full_lists(void **state) {
  (void)state;
  for (int k = 0; k < 2; k++) {
    Body a, b;
    tgReal x[3] = {k ? 0.6 : 0.29, 0.01, k ? 0.203 : 0.02}, zero[3] = {0, 0, 0}, R[9], I[9];
    double turn[3] = {0.1, 0.2, 0.3}, none[3] = {0, 0, 0};
    tgt_body_torus(&a, 0.1, 0.04, 48, 24, TGI_TREE_MOMENT);
    if (k) make(&b, PLATE, TGI_TREE_MOMENT);
    else tgt_body_torus(&b, 0.1, 0.04, 40, 20, TGI_TREE_MOMENT);
    tgt_rotation(turn, R);
    tgt_rotation(none, I);
    tgt_body_move(&a, x, R);
    tgt_body_move(&b, zero, I);
    tgiTreeLaw law = tgt_law(&a, &b, TGI_TREE_MOMENT, k ? 8 : 1);
    tgiTreeWork *w = tgt_tree_work(&a, &b);
    tgiTreeCount count;
    tgiPairSum s, t;
    int face[2];
    assert_true(tgi_tree_pair(&a.posed, &b.posed, &law, w, &s, face, NULL, &count));
    check_true(count.blends > (k ? 400 : 3000), "%ld blends", count.blends);
    assert_true(twin(&a, &b, &law, &t, NULL));
    near_sum(&s, &t, 1e-11, "full lists");
    free(w);
    tgt_body_free(&a);
    tgt_body_free(&b);
  }
}

// forces for friction, patch by patch, and the share of them nearby against those of the recursion that also has their rates
static void total_point(void *ctx, const tgiFrictionPoint *p, const tgiFrictionPoint *dp) {
  (void)dp;
  *(tgReal *)ctx += p->N;
}

static void test_press(void **state) {
  (void)state;
  tgtRandom r = {9};
  int met = 0, some = 0;
  for (int sa = 0; sa < SHAPES; sa++)
    for (int sb = sa; sb < SHAPES; sb++) {
      Body a, b;
      make(&a, sa, TGI_TREE_MOMENT);
      make(&b, sb, TGI_TREE_MOMENT);
      int *patch = malloc((size_t)a.tree.nnode * sizeof *patch), n = tgi_force_patches(&a.tree, a.nominal, 0.25 * a.nominal[0], patch);
      tgiFrictionSum *sum[2];
      for (int i = 0; i < 2; i++) sum[i] = calloc((size_t)n, sizeof *sum[i]);
      tgiTreeWork *w = tgt_tree_work(&a, &b);
      tgiTreeLaw law = tgt_law(&a, &b, TGI_TREE_MOMENT, 0.5);
      for (int k = 0; k < 4; k++) {
        tgiPairSum s;
        tgiForceSum fs;
        int face[2];
        scatter(&r, &a, &b, tgt_uniform(&r, 0.2, 1.5));
        tgiFrictionShare share = {.all = 0};
        tgReal total = 0;
        double range = 4 * a.nominal[0];
        tgiTreePress press = {.mu = 0.3, .range = range, .patch = patch, .sum = sum[0], .share = &share};
        tgiForceTask task = {.A = &a.posed, .B = &b.posed, .law = &law, .mu = 0.3, .range = range, .patch = patch, .npatch = n, .room = sum[1],
                             .ctx = &total, .point = total_point};
        memset(sum[0], 0, (size_t)n * sizeof *sum[0]);
        tgi_tree_work_press(w, &press);
        bool apart = tgi_tree_pair(&a.posed, &b.posed, &law, w, &s, face, NULL, NULL);
        tgi_tree_work_press(w, NULL);
        if (!apart) continue;
        met++;
        assert_true(tgi_tree_force(&task, &fs));
        double most = 0;
        const tgReal *x = (const tgReal *)sum[0], *y = (const tgReal *)sum[1];
        for (int i = 0; i < 13 * n; i++) most = fmax(most, fabs(tgRe(y[i])));
        for (int i = 0; i < 13 * n; i++) check_close(x[i], y[i], 1e-11 * most);
        tgReal factor = tgi_friction_factor(&share, 0, NULL, NULL);
        some += tgRe(factor) > 0 && tgRe(factor) < 1;
        check_close(factor * share.all, total, 1e-11 * tgRe(share.all));
      }
      free(w);
      free(patch);
      free(sum[0]);
      free(sum[1]);
      tgt_body_free(&a);
      tgt_body_free(&b);
    }
  check_true(met > 20, "%d poses apart", met);
  check_true(some > 5, "%d poses with some friction", some);
}

#ifdef TG_COMPLEX
// A moved by e xi about its origin, to first order in e (imaginary)
typedef struct Place { tgReal x[3], R[9]; } Place;
static void nudged(const Place *p, const tgReal pivot[3], int k, double e, Place *q) {
  tgReal xi[6] = {0}, d[3], t[3];
  *q = *p;
  xi[k] = CMPLX(0, e);
  tgi_v3_sub(d, p->x, pivot);
  tgi_v3_cross(t, xi, d);
  tgi_v3_axpy(q->x, 1, t);
  tgi_v3_axpy(q->x, 1, xi + 3);
  for (int j = 0; j < 3; j++) {
    tgReal col[3];
    tgi_m3_col(col, p->R, j);
    tgi_v3_cross(t, xi, col);
    for (int i = 0; i < 3; i++) q->R[3 * i + j] += t[i];
  }
}

typedef bool (*Sum)(void *ctx, const Place *p, tgReal origin[3], tgiPairSum *s);

// g by the complex step of P; the derivative of g in xi is H plus half of g.[., xi], since twists do not commute
static bool check_sum(Sum f, void *ctx, const Place *p, const char *what) {
  const double e = 1e-30;
  tgReal pivot[3], origin[3], D[6][6], g[6];
  tgiPairSum s, t;
  if (!f(ctx, p, pivot, &s)) return false;
  for (int k = 0; k < 6; k++) {
    Place q;
    nudged(p, pivot, k, e, &q);
    assert_true(f(ctx, &q, origin, &t));
    g[k] = tgIm(t.P) / e;
    tgReal d[3], m[3];
    tgi_v3_sub(d, origin, pivot);
    tgi_v3_cross(m, d, t.g + 3);
    tgi_v3_axpy(t.g, 1, m);
    for (int i = 0; i < 6; i++) D[i][k] = tgIm(t.g[i]) / e;
  }
  tgiPairSum ref = s;
  memcpy(ref.g, g, sizeof g);
  for (int i = 0; i < 6; i++)
    for (int j = 0; j <= i; j++) ref.H[TGI_LOWER(i, j)] = (D[i][j] + D[j][i]) / 2;
  near_sum(&s, &ref, 2e-10, what);
  return true;
}

typedef struct Two { Body *a, *b; tgiTreeLaw law; tgiTreeWork *w; } Two;
static bool sum_two(void *ctx, const Place *p, tgReal origin[3], tgiPairSum *s) {
  Two *t = ctx;
  int face[2];
  tgt_body_move(t->a, p->x, p->R);
  tgi_v3_copy(origin, t->a->posed.origin);
  return tgi_tree_pair(&t->a->posed, &t->b->posed, &t->law, t->w, s, face, NULL, NULL);
}

static void test_derivatives(void **state) {
  (void)state;
  tgtRandom r = {2};
  for (int form = 0; form < 2; form++)
    for (int sa = 0; sa < SHAPES; sa++)
      for (int sb = sa; sb < SHAPES; sb++) {
        Body a, b;
        make(&a, sa, form ? TGI_TREE_PAPER : TGI_TREE_MOMENT);
        make(&b, sb, form ? TGI_TREE_PAPER : TGI_TREE_MOMENT);
        Two two = {&a, &b, tgt_law(&a, &b, form ? TGI_TREE_PAPER : TGI_TREE_MOMENT, 0.5), tgt_tree_work(&a, &b)};
        int met = 0;
        for (int k = 0; k < 20 && met < 3; k++) {
          Place p;
          double w[3] = {tgt_normal(&r), tgt_normal(&r), tgt_normal(&r)};
          scatter(&r, &a, &b, 1);
          double far = met == 2 ? 1.5 : 0.8;   // the second is within the root's blend
          tgt_rotation(w, p.R);
          for (int i = 0; i < 3; i++) p.x[i] = (size_of(&a) + size_of(&b)) * far * (i == 0 ? 0.7 : i == 1 ? -0.5 : 0.5) * (1 + 0.1 * tgt_normal(&r));
          met += check_sum(sum_two, &two, &p, shape_name[sb]);
        }
        check_true(met > 0, "%s and %s: never apart", shape_name[sa], shape_name[sb]);
        free(two.w);
        tgt_body_free(&a);
        tgt_body_free(&b);
      }
}

typedef struct One { Body *a; tgiTreeLaw law; tgReal n[3]; } One;
static bool sum_plane(void *ctx, const Place *p, tgReal origin[3], tgiPairSum *s) {
  One *t = ctx;
  int face;
  tgt_body_move(t->a, p->x, p->R);
  tgi_v3_copy(origin, t->a->plane.origin);
  return tgi_half_space(&t->a->plane, t->n, tgi_v3_dot(t->n, origin), &t->law, s, &face, NULL, NULL);
}

// numbers before planes in the sizes
static void test_half_space_numbers(void **state) {
  (void)state;
  const double e = 1e-30;
  for (int j = 0; j < 3; j++) {
    Body a, b;
    make(&a, ROD, TGI_TREE_MOMENT);
    make(&b, ROD, TGI_TREE_MOMENT);
    size_t n = (size_t)a.tree.nnode;
    tgReal size[3] = {1, 1, 1}, *memory = malloc(2 * tgi_tree_reals(&a.surface, &a.tree) * sizeof *memory);
    tgiTreeNumbers d = tgi_tree_place(&a.surface, &a.tree, memory), dp = tgi_tree_place(&a.surface, &a.tree, memory + tgi_tree_reals(&a.surface, &a.tree));
    size[j] = CMPLX(1, e);
    tgi_tree_numbers_d(&a.surface, &a.tree, TGI_TREE_MOMENT, TGI_CLIMB_SUM, &a.numbers, j, &d);
    tgi_plane_numbers_d(&a.tree, &a.numbers, &d, &a.plane_numbers, &dp);
    tgi_tree_numbers(&b.surface, &b.tree, TGI_TREE_MOMENT, TGI_CLIMB_SUM, size, &b.numbers);
    tgi_plane_numbers(&b.tree, &b.numbers, &b.plane_numbers);
    for (size_t k = 0; k < n; k++) {
      for (size_t i = 0; i < 3; i++) check_close(dp.centre[3 * k + i], tgIm(b.plane_numbers.centre[3 * k + i]) / e, 1e-12);
      check_close(dp.radius[k], tgIm(b.plane_numbers.radius[k]) / e, 1e-12);
      check_close(dp.weight[k], tgIm(b.plane_numbers.weight[k]) / e, 1e-12);
      check_close(dp.moment[k], 0, 0);
    }
    free(memory);
    tgt_body_free(&a);
    tgt_body_free(&b);
  }
}

static void test_half_space_derivatives(void **state) {
  (void)state;
  tgtRandom r = {3};
  for (int form = 0; form < 2; form++)
    for (int shape = 0; shape < SHAPES; shape++) {
      Body a;
      make(&a, shape, form ? TGI_TREE_PAPER : TGI_TREE_MOMENT);
      One one = {&a, {.eps = 0.5, .base = form ? 12 : 0}, {2.0 / 7, 3.0 / 7, 6.0 / 7}};
      int met = 0;
      for (int k = 0; k < 30; k++) {
        Place p;
        double w[3] = {tgt_normal(&r), tgt_normal(&r), tgt_normal(&r)}, up = tgt_uniform(&r, 0.2, 2) * size_of(&a);
        tgt_rotation(w, p.R);
        for (int i = 0; i < 3; i++) p.x[i] = up * one.n[i] + 0.1 * (i == 0);
        met += check_sum(sum_plane, &one, &p, shape_name[shape]);
      }
      check_true(met > 5, "%s: apart %d times", shape_name[shape], met);
      tgt_body_free(&a);
    }
}
#endif

// ---- properties, with real numbers ----

#ifndef TG_COMPLEX
static const tgReal unturned[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};

// b at rest at the origin, a at `x` turned a little
static void stand(Body *a, Body *b, const double x[3], const double turn[3]) {
  tgReal R[9], zero[3] = {0, 0, 0};
  tgt_rotation(turn, R);
  tgt_body_move(a, x, R);
  tgt_body_move(b, zero, unturned);
}

static double change(const tgiPairSum *a, const tgiPairSum *b) {
  double d = 0;
  for (int k = 0; k < 21; k++) d = fmax(d, fabs(a->H[k] - b->H[k]));
  return d;
}

// how the change of second derivatives across s = 0 shrinks when the step is halved: by 2 when they are continuous, by 1 when they jump
static double halving(bool (*f)(void *ctx, double s, tgiPairSum *sum), void *ctx, double step) {
  double d[2];
  for (int k = 0; k < 2; k++, step /= 2) {
    tgiPairSum lo, hi;
    assert_true(f(ctx, -step, &lo) && f(ctx, step, &hi));
    d[k] = change(&lo, &hi);
  }
  return d[0] / d[1];
}

typedef struct Approach { Body *a, *b; tgiTreeLaw law; tgiTreeWork *w; double x[3], turn[3], dir[3]; } Approach;
static bool approach(void *ctx, double s, tgiPairSum *sum) {
  Approach *p = ctx;
  int face[2];
  double x[3];
  for (int i = 0; i < 3; i++) x[i] = p->x[i] + s * p->dir[i];
  stand(p->a, p->b, x, p->turn);
  return tgi_tree_pair(&p->a->posed, &p->b->posed, &p->law, p->w, sum, face, NULL, NULL);
}
static bool sink(void *ctx, double s, tgiPairSum *sum) {
  Approach *p = ctx;
  int face;
  tgReal n[3] = {0, 0, 1}, x[3] = {0, 0, p->x[2] + s}, R[9];
  tgt_rotation(p->turn, R);
  tgt_body_move(p->a, x, R);
  return tgi_half_space(&p->a->plane, n, p->a->plane.origin[2], &p->law, sum, &face, NULL, NULL);
}

// a root pair through both ends of its blend; a body over a plane likewise
static void test_smooth(void **state) {
  (void)state;
  for (int form = 0; form < 2; form++)
    for (int sa = 0; sa < PLATE; sa++) {
      Body a, b;
      tgiTreeForm f = form ? TGI_TREE_PAPER : TGI_TREE_MOMENT;
      make(&a, sa, f);
      make(&b, (sa + 1) % PLATE, f);
      Approach p = {&a, &b, tgt_law(&a, &b, f, 0.5), tgt_tree_work(&a, &b), {0}, {0.1, 0.2, 0.3}, {2.0 / 7, 3.0 / 7, 6.0 / 7}};
      for (int end = 0; end < 2; end++) {
        double d = (size_of(&a) + size_of(&b)) * (end ? 1.5 : 1), from[3] = {0, 0, 0}, shift[3];
        stand(&a, &b, from, p.turn);
        for (int i = 0; i < 3; i++) shift[i] = a.posed.origin[i] - b.posed.origin[i];   // of the centres of the roots
        for (int i = 0; i < 3; i++) p.x[i] = d * p.dir[i] - shift[i];
        double ratio = halving(approach, &p, 1e-5 * d);
        check_true(ratio > 1.9 && ratio < 2.1, "%s and %s, end %d: ratio %.3f", shape_name[sa], shape_name[(sa + 1) % PLATE], end, ratio);
        stand(&a, &b, from, p.turn);
        p.x[2] = a.plane.node[TGI_NODE_R] * (end ? 1.5 : 1) - a.plane.origin[2];
        ratio = halving(sink, &p, 1e-5 * p.x[2]);
        check_true(ratio > 1.9 && ratio < 2.1, "%s over a plane, end %d: ratio %.3f", shape_name[sa], end, ratio);
      }
      free(p.w);
      tgt_body_free(&a);
      tgt_body_free(&b);
    }
}

// a ball beside the middle of a large triangle: one-sided, through both ends of its root's blend
static void test_one_sided_smooth(void **state) {
  (void)state;
  Body a, b;
  make(&a, BALL, TGI_TREE_MOMENT);
  make(&b, PLATE, TGI_TREE_MOMENT);
  Approach p = {&a, &b, tgt_law(&a, &b, TGI_TREE_MOMENT, 0.5), tgt_tree_work(&a, &b), {0.5, 0.3, 0}, {0.1, 0.2, 0.3}, {0, 0, 1}};
  assert_true(p.law.one_sided[0] && !p.law.one_sided[1]);
  for (int end = 0; end < 2; end++) {
    // the height at which 12/S* of the centre and some triangle of the top is at the end
    double lo = 0.101, hi = 1;
    for (int k = 0; k < 100; k++) {
      double z = (lo + hi) / 2, from[3] = {p.x[0], p.x[1], z}, most = 0;
      stand(&a, &b, from, p.turn);
      for (int f = 0; f < b.surface.nface; f++) {
        tgReal x[18];
        tgiPair q;
        for (int i = 0; i < 9; i++) {
          x[i] = a.posed.origin[i % 3];
          x[9 + i] = b.posed.vert[3 * b.surface.face[3 * f + i / 3] + i % 3] + b.posed.origin[i % 3];
        }
        if (tgi_pair_solve(x, false, &q)) most = fmax(most, q.S);
      }
      if (12 / most < TGI_ONE_SIDED * a.nominal[0] * (end ? 1.5 : 1)) lo = z;
      else hi = z;
    }
    p.x[2] = lo;
    double ratio = halving(approach, &p, 1e-6);
    check_true(ratio > 1.9 && ratio < 2.1, "end %d: ratio %.3f", end, ratio);
  }
  free(p.w);
  tgt_body_free(&a);
  tgt_body_free(&b);
}

// convex bodies push each other apart at every distance, and a plane pushes
static void test_pushes(void **state) {
  (void)state;
  for (int form = 0; form < 2; form++)
    for (int k = 0; k < 2; k++) {
      Body a, b;
      tgiTreeForm f = form ? TGI_TREE_PAPER : TGI_TREE_MOMENT;
      make(&a, BALL, f);
      make(&b, k ? PLATE : BALL, f);
      Approach p = {&a, &b, tgt_law(&a, &b, f, 0.5), tgt_tree_work(&a, &b), {0, 0, k ? 0.2 : 0.2}, {0}, {0, 0, 1}};
      for (double e = -6; e <= 4; e += 0.01) {
        tgiPairSum s;
        check_true(approach(&p, pow(10, e), &s) && s.g[5] < 0, "gap 1e%.2f: force %.3g", e, -s.g[5]);
        p.x[2] = 0.1;
        check_true(sink(&p, pow(10, e), &s) && s.g[5] < 0, "over a plane, gap 1e%.2f: force %.3g", e, -s.g[5]);
        p.x[2] = 0.2;
      }
      free(p.w);
      tgt_body_free(&a);
      tgt_body_free(&b);
    }
}

// gap at which a plank carries the force, over another (b) or a plane (b NULL)
static double carried(Body *a, Body *b, const tgiTreeLaw *law, double force, tgiTreeWork *w) {
  double lo = 1e-6, hi = 1;
  for (int k = 0; k < 60; k++) {
    double gap = sqrt(lo * hi), x[3] = {0, 0, b != NULL ? 0.2 + gap : 0.1 + gap}, turn[3] = {0, 0, 0};
    tgiPairSum s;
    tgReal n[3] = {0, 0, 1};
    int face[2];
    stand(a, b != NULL ? b : a, x, turn);
    if (b == NULL) {
      tgt_body_move(a, x, unturned);
      assert_true(tgi_half_space(&a->plane, n, a->plane.origin[2], law, &s, face, NULL, NULL));
    } else {
      assert_true(tgi_tree_pair(&a->posed, &b->posed, law, w, &s, face, NULL, NULL));
    }
    if (-s.g[5] > force) lo = gap;
    else hi = gap;
  }
  return lo;
}

// planks of 2 x 0.4 x 0.2 m, 0.16 kg, mu 1e-7: the gap does not depend on the mesh in the moment form; in the publication's it grows with it
static void test_mesh_independent(void **state) {
  (void)state;
  double force = 1.57 / 1e-7, least[3] = {1, 1, 1}, most[3] = {0, 0, 0};
  for (int n = 1; n <= 8; n *= 2)
    for (int form = 0; form < 3; form++) {
      tgiTreeForm f = form == 2 ? TGI_TREE_PAPER : TGI_TREE_MOMENT;
      Body a, b;
      tgt_body_grid(&a, 1, 0.2, 0.1, n, f);
      tgt_body_grid(&b, 1, 0.2, 0.1, n, f);
      tgiTreeWork *w = tgt_tree_work(&a, &b);
      tgiTreeLaw law = tgt_law(&a, &b, f, 0.5);
      double gap = carried(&a, form == 1 ? NULL : &b, &law, force, w);
      least[form] = fmin(least[form], gap);
      most[form] = fmax(most[form], gap);
      free(w);
      tgt_body_free(&a);
      tgt_body_free(&b);
    }
  print_message("gaps: plank on plank %.3g to %.3g, on a plane %.3g to %.3g, publication's form %.3g to %.3g\n", least[0], most[0], least[1], most[1],
                least[2], most[2]);
  check_true(most[0] < 1.5 * least[0], "plank on plank: %.3g to %.3g", least[0], most[0]);
  check_true(most[1] < 1.5 * least[1], "plank on a plane: %.3g to %.3g", least[1], most[1]);
  check_true(most[2] > 5 * least[2], "publication's form: %.3g to %.3g", least[2], most[2]);
}

// worst of energy and force of the moment form against the sum over all pairs, from `from` times the sum of the radii on
static void against_brute(Body *a, Body *b, double from, double worst[2]) {
  Approach p = {a, b, tgt_law(a, b, TGI_TREE_MOMENT, 0.5), tgt_tree_work(a, b), {0}, {0.3, 0.2, 0.1}, {2.0 / 7, 3.0 / 7, 6.0 / 7}};
  worst[0] = worst[1] = 0;
  for (double d = from; d < 20; d *= 1.3) {
    tgiPairSum s[2];
    double r = d * (size_of(a) + size_of(b)), miss = 0, size = 0;
    p.law.brute = false;
    if (!approach(&p, r, &s[0])) continue;
    p.law.brute = true;
    assert_true(approach(&p, r, &s[1]));
    for (int i = 3; i < 6; i++) {
      miss += pow(s[0].g[i] - s[1].g[i], 2);
      size += pow(s[1].g[i], 2);
    }
    worst[0] = fmax(worst[0], fabs(s[0].P / s[1].P - 1));
    worst[1] = fmax(worst[1], sqrt(miss / size));
  }
  free(p.w);
}

static void test_near_brute(void **state) {
  (void)state;
  double worst[2], most[2] = {0, 0};
  Body a, b;
  tgt_body_primitive(&a, TG_GEOM_SPHERE, 0.1, 0, 0, 0.02, TGI_TREE_MOMENT);
  tgt_body_primitive(&b, TG_GEOM_SPHERE, 0.1, 0, 0, 0.02, TGI_TREE_MOMENT);
  against_brute(&a, &b, 1.1, worst);   // a gap of a fifth of the radius
  print_message("against all pairs: balls %.3g of the energy, %.3g of the force", worst[0], worst[1]);
  check_true(worst[0] < 0.1 && worst[1] < 0.22, "balls: energy %.3g, force %.3g", worst[0], worst[1]);
  tgt_body_free(&a);
  tgt_body_free(&b);
  for (int sa = 0; sa < PLATE; sa++)
    for (int sb = sa; sb < PLATE; sb++) {
      make(&a, sa, TGI_TREE_MOMENT);
      make(&b, sb, TGI_TREE_MOMENT);
      against_brute(&a, &b, 0.9, worst);
      most[0] = fmax(most[0], worst[0]);
      most[1] = fmax(most[1], worst[1]);
      tgt_body_free(&a);
      tgt_body_free(&b);
    }
  print_message(", all shapes %.3g, %.3g\n", most[0], most[1]);
  check_true(most[0] < 0.2 && most[1] < 0.6, "energy %.3g, force %.3g", most[0], most[1]);
}
#endif

// a half-space is a triangle whose corners are far away: their separating planes and second derivatives agree as it grows
static void test_half_space_limit(void **state) {
  (void)state;
  tgtRandom r = {7};
  for (int k = 0; k < 100; k++) {
    tgReal x[18], z[3];
    tgiHeightPair h;
    tgiPair p;
    double far = 1e5, c = sqrt(0.75);
    for (int i = 0; i < 9; i++) x[i] = i % 3 == 2 ? pow(10, tgt_uniform(&r, -3, 0)) : tgt_uniform(&r, -0.5, 0.5);
    double corner[9] = {far, 0, 0, -far / 2, c * far, 0, -far / 2, -c * far, 0};
    for (int i = 0; i < 9; i++) x[9 + i] = corner[i];
    for (int i = 0; i < 3; i++) z[i] = x[3 * i + 2];
    assert_true(tgi_height_pair(z, &h) && tgi_pair_solve(x, false, &p));
    check_close(h.S, p.S, 1e-4 * tgRe(p.S));
    tgReal g = 0, H = 0;
    for (int i = 0; i < 9; i++) {
      g += i < 3 ? h.d[i] : 0;
      H += h.D[i];
    }
    check_close(g, p.g[5], 1e-4 * fabs(tgRe(g)));
    check_close(H, p.H[TGI_LOWER(5, 5)], 1e-3 * tgRe(H));
  }
}

// below every node of a tree before a plane: the children's cluster values, and the triangles' own, are not below the node's
static void test_half_space_bound(void **state) {
  (void)state;
  tgtRandom r = {8};
  for (int form = 0; form < 2; form++)
    for (int shape = 0; shape < SHAPES; shape++) {
      Body a;
      make(&a, shape, form ? TGI_TREE_PAPER : TGI_TREE_MOMENT);
      for (int k = 0; k < 50; k++) {
        tgReal x[3] = {0, 0, 0}, R[9], f[3], below, s[3];
        double w[3] = {tgt_normal(&r), tgt_normal(&r), tgt_normal(&r)}, base = form ? 12 : 0;
        tgt_rotation(w, R);
        tgt_body_move(&a, x, R);
        double low = INFINITY;
        for (int i = 0; i < a.surface.nvert; i++) low = fmin(low, tgRe(a.plane.vert[3 * i + 2]));
        tgReal up = -low + pow(10, tgt_uniform(&r, -4, 1));
        for (int n = 0; n < a.tree.nnode; n++) {
          const tgReal *y = a.plane.node + 8 * n;
          if (form == 1 && tgRe(up + y[2]) < tgRe(y[TGI_NODE_R])) continue;
          tgi_law_height(y[TGI_NODE_W], base, up + y[2], f);
          if (a.tree.tri[n] >= 0) {
            tgReal z[3];
            tgiHeightPair h;
            for (int i = 0; i < 3; i++) z[i] = up + a.plane.vert[3 * a.surface.face[3 * a.tree.tri[n] + i] + 2];
            assert_true(tgi_height_pair(z, &h));
            tgi_law_pair(y[TGI_NODE_W], base, h.S, s);
            below = s[0];
          } else {
            below = 0;
            for (int c = 0; c < 2; c++) {
              const tgReal *e = a.plane.node + 8 * a.tree.child[2 * n + c];
              tgi_law_height(e[TGI_NODE_W], base, up + e[2], s);
              below += s[0];
            }
          }
          check_true(tgRe(below) >= tgRe(f[0]) * (1 - 1e-13), "%s, node %d: %.17g below %.17g", shape_name[shape], n, tgRe(below), tgRe(f[0]));
        }
      }
      tgt_body_free(&a);
    }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_twin), cmocka_unit_test(test_full_lists), cmocka_unit_test(test_press), cmocka_unit_test(test_half_space_limit), cmocka_unit_test(test_half_space_bound),
#ifdef TG_COMPLEX
      cmocka_unit_test(test_derivatives),
      cmocka_unit_test(test_half_space_derivatives), cmocka_unit_test(test_half_space_numbers),
#else
      cmocka_unit_test(test_smooth), cmocka_unit_test(test_one_sided_smooth), cmocka_unit_test(test_pushes), cmocka_unit_test(test_mesh_independent),
      cmocka_unit_test(test_near_brute),
#endif
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
