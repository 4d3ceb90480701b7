// test_tree_pair.c: the recursion over two sphere trees against a plain twin, and its forces for friction against those
// of the walk that has their rates.
#include "contact/barrier/pair/law.h"
#include "contact/barrier/tree/tree_force.h"
#include "test/contact/barrier/shapes.h"

// ---- a plain twin: every frame has its own value, gradient and second derivatives; nothing is listed or weighted going down ----

typedef struct Twin {
  const tgiWorldTree *A, *B;
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
      s->H[n] = A->H[n] + F->P * (C->H[n] - A->H[n]) + F->H[n] * (C->P - A->P) + F->g[i] * (C->g[j] - A->g[j]) +
                F->g[j] * (C->g[i] - A->g[i]);
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
  const tgiWorldTree *p = side ? t->B : t->A;
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
  tgiPairCores cores = {.radius = {t->A->round, t->B->round}};
  if (la && lb) {
    twin_corners(t, 0, a, x);
    twin_corners(t, 1, b, x + 9);
    if (!tgi_pair_solve(x, &cores, false, &p)) return false;
    tgi_law_pair(ww, t->law.base, t->law.more, p.S, f);
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
  cores.radius[side] = 0;
  if (!tgi_pair_solve(x, &cores, false, &p) || tgRe(12 / p.S) <= tgRe(d1)) return twin_children(t, a, b, true, s);
  tgiPairSum A, C, F;
  tgReal D = 12 / p.S;
  tgi_law_point(ww, t->law.base, t->law.more, p.S, TGI_ONE_SIDED * TGI_ONE_SIDED * point[TGI_NODE_M], f);
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
  tgReal moment = (t->law.one_sided[0] ? k : 1) * x[TGI_NODE_M] + (t->law.one_sided[1] ? k : 1) * yb[TGI_NODE_M];
  tgi_law_cluster(ww, t->law.base, t->law.more, q + moment, f);
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

static bool twin(const tgtBody *a, const tgtBody *b, const tgiTreeLaw *law, tgiPairSum *s, double *bound) {
  Twin t = {.A = &a->world, .B = &b->world, .law = *law, .bound = INFINITY};
  tgi_v3_sub(t.shift, t.B->origin, t.A->origin);
  bool separated = twin_node(&t, 0, 0, false, s);
  if (bound != NULL) *bound = fmin(*bound, t.bound);
  return separated;
}

// every pair of shapes, both forms, eps, over distances: batches against the twin, and the lower bound in every blend of the twin
static void twins(double rounding) {
  tgtRandom r = {1};
  tgt_rounding = rounding;
  int met = 0;
  for (int form = 0; form < 2; form++)
    for (int sa = 0; sa < TGT_SHAPES; sa++)
      for (int sb = sa; sb < TGT_SHAPES; sb++) {
        tgtBody a, b;
        double bound = INFINITY;
        tgt_shape(&a, sa, form ? TGI_TREE_PAPER : TGI_TREE_MOMENT);
        tgt_shape(&b, sb, form ? TGI_TREE_PAPER : TGI_TREE_MOMENT);
        tgiTreeWork *w = tgt_tree_work(&a, &b);
        for (int k = 0; k < 6; k++) {
          tgiTreeLaw law = tgt_law(&a, &b, form ? TGI_TREE_PAPER : TGI_TREE_MOMENT, k % 2 ? 0.1 : 0.5);
          law.more = k % 3 == 1 ? 30 : 0;
          tgiPairSum s, t;
          int face[2];
          tgt_scatter(&r, &a, &b, tgt_uniform(&r, 0.2, 3));
          bool separated = tgi_tree_pair(&a.world, &b.world, &law, w, &s, face, NULL, NULL);
          assert_int_equal(separated, twin(&a, &b, &law, &t, &bound));
          if (!separated) continue;
          met++;
          tgt_near_sum(&s, &t, 1e-11, tgt_shape_name[sb]);
        }
        check_true(bound > -1e-13, "%s and %s: a cluster is above its parts by %.3g", tgt_shape_name[sa], tgt_shape_name[sb], -bound);
        free(w);
        tgt_body_free(&a);
        tgt_body_free(&b);
      }
  check_true(met > 100, "%d poses apart", met);
  tgt_rounding = 0;
}
static void test_twin(void **state) {
  (void)state;
  twins(0);
  twins(0.02);   // faces with a radius around them
}

// so many blends that the lists run full and are emptied on the way, of spheres and of one-sided nodes
static void test_full_lists(void **state) {
  (void)state;
  for (int k = 0; k < 2; k++) {
    tgtBody a, b;
    tgReal x[3] = {k ? 0.6 : 0.29, 0.01, k ? 0.203 : 0.02}, zero[3] = {0, 0, 0}, R[9], I[9];
    double turn[3] = {0.1, 0.2, 0.3}, none[3] = {0, 0, 0};
    tgt_body_torus(&a, 0.1, 0.04, 48, 24, TGI_TREE_MOMENT);
    if (k) tgt_shape(&b, TGT_PLATE, TGI_TREE_MOMENT);
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
    assert_true(tgi_tree_pair(&a.world, &b.world, &law, w, &s, face, NULL, &count));
    check_true(count.blends > (k ? 400 : 3000), "%ld blends", count.blends);
    assert_true(twin(&a, &b, &law, &t, NULL));
    tgt_near_sum(&s, &t, 1e-11, "full lists");
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

static void press(double rounding) {
  tgtRandom r = {9};
  tgt_rounding = rounding;
  int met = 0, some = 0;
  for (int sa = 0; sa < TGT_SHAPES; sa++)
    for (int sb = sa; sb < TGT_SHAPES; sb++) {
      tgtBody a, b;
      tgt_shape(&a, sa, TGI_TREE_MOMENT);
      tgt_shape(&b, sb, TGI_TREE_MOMENT);
      int *patch = malloc((size_t)a.tree.nnode * sizeof *patch);
      int n = tgi_force_patches(&a.surface, &a.tree, a.nominal, 0.25 * a.nominal[0], patch);
      tgiFrictionSum *sum[2];
      for (int i = 0; i < 2; i++) sum[i] = calloc((size_t)n, sizeof *sum[i]);
      tgiTreeWork *w = tgt_tree_work(&a, &b);
      tgiTreeLaw law = tgt_law(&a, &b, TGI_TREE_MOMENT, 0.5);
      law.more = 2;
      for (int k = 0; k < 4; k++) {
        tgiPairSum s;
        tgiForceSum fs;
        int face[2];
        tgt_scatter(&r, &a, &b, tgt_uniform(&r, 0.2, 1.5));
        tgiFrictionShare share = {.all = 0};
        tgReal total = 0;
        double range = 4 * a.nominal[0];
        tgiForceScatter scatter = {.mu = 0.3, .range = range, .patch = patch, .sum = sum[0], .share = &share};
        tgiForceTask task = {.A = &a.world, .B = &b.world, .law = law, .mu = 0.3, .range = range, .patch = patch,
                             .npatch = n, .room = sum[1], .ctx = &total, .point = total_point};
        memset(sum[0], 0, (size_t)n * sizeof *sum[0]);
        tgi_tree_work_scatter(w, &scatter);
        bool separated = tgi_tree_pair(&a.world, &b.world, &law, w, &s, face, NULL, NULL);
        tgi_tree_work_scatter(w, NULL);
        if (!separated) continue;
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
  tgt_rounding = 0;
}
static void test_press(void **state) {
  (void)state;
  press(0);
}
static void test_press_rounded(void **state) {
  (void)state;
  press(0.02);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_twin), cmocka_unit_test(test_full_lists), cmocka_unit_test(test_press),
                                     cmocka_unit_test(test_press_rounded)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
