// test_soft_topk.c: soft choice of the largest scores: masses, the sharp limit, ties, leaning, derivatives.
#include "coll/clouds/soft_topk.h"

#include <string.h>

#include "support/deriv.h"

enum { V = 12, K = 4 };
static const double sorted[K] = {4, 3, 2, 1};

typedef struct Choice { tgiTopk t; tgReal y[3 * V]; } Choice;

static Choice some(tgtRandom *r, double width, const double *lean) {
  Choice c = {.t = {.V = V, .K = K, .anchor = sorted, .lean = lean, .width = width}};
  for (int i = 0; i < 3 * V; i++) c.y[i] = tgt_uniform(r, -1, 1);
  return c;
}

static tgStatus means(void *ctx, const tgReal *z, tgReal *out) {
  Choice *c = ctx;
  tgReal g[K], R[V * K];
  c->t.score = z;
  if (!tgi_topk_solve(&c->t, g, R)) return TG_NOT_CONVERGED;
  tgi_topk_means(&c->t, R, c->y, out);
  return TG_OK;
}

static void check_masses(const tgiTopk *t) {
  tgReal g[K], R[V * K];
  assert_true(tgi_topk_solve(t, g, R));
  for (int k = 0; k < K; k++) {
    double mass = 0;
    for (int v = 0; v < V; v++) {
      double x = tgRe(R[K * v + k]);
      check_true(x >= 0 && x <= 1 + 1e-12, "share %g", x);
      mass += x;
    }
    check_close(mass, 1, 1e-11);
  }
}

static void check_derivative(Choice *c, const tgReal *z) {
  tgReal g[K], R[V * K], J[3 * K * V];
  c->t.score = z;
  check_masses(&c->t);
  assert_true(tgi_topk_solve(&c->t, g, R));
  tgi_topk_jacobian(&c->t, R, c->y, J);
#ifdef TG_COMPLEX
  double tol = 1e-9;
#else
  double tol = 1e-6;
#endif
  tgtDeriv d = {.name = "points in scores", .nx = V, .ny = 3 * K, .map = means, .ctx = c, .tol = tol, .step = 0.02 * c->t.width};
  tgt_check_jacobian(&d, z, J);
}

// columns pick the scores in their order
static void test_sharp(void **state) {
  (void)state;
  tgtRandom r = {.s = 41};
  for (int n = 0; n < 20; n++) {
    int order[V];
    tgReal z[V], c[3 * K];
    Choice x = some(&r, 2e-3, NULL);
    for (int v = 0; v < V; v++) order[v] = v;
    for (int v = V - 1; v > 0; v--) {
      int w = (int)(tgt_next(&r) % (uint64_t)(v + 1)), t = order[v];
      order[v] = order[w];
      order[w] = t;
    }
    for (int v = 0; v < V; v++) z[order[v]] = 1 - (v + 0.3 * tgt_uniform(&r, 0, 1)) / V;   // order[0] is the largest
    assert_int_equal(means(&x, z, c), TG_OK);
    for (int k = 0; k < K; k++)
      for (int i = 0; i < 3; i++) check_close(c[3 * k + i], x.y[3 * order[k] + i], 1e-9);
  }
}

static void test_derivatives(void **state) {
  (void)state;
  tgtRandom r = {.s = 42};
  double lean[V * K];
  for (int i = 0; i < V * K; i++) lean[i] = tgt_uniform(&r, -0.3, 0.3);
  for (int n = 0; n < 40; n++) {
    tgReal z[V];
    Choice c = some(&r, pow(10, tgt_uniform(&r, -1.5, 0.5)), n % 2 ? lean : NULL);
    for (int v = 0; v < V; v++) z[v] = tgt_uniform(&r, 0, 1);
    check_derivative(&c, z);
  }
}

// all scores alike, some alike, nothing but zeros
static void test_ties(void **state) {
  (void)state;
  tgtRandom r = {.s = 43};
  double lean[V * K] = {0};
  for (int k = 0; k < K; k++) lean[K * (2 * k) + k] = 0.2;
  for (int n = 0; n < 12; n++) {
    tgReal z[V], c[3 * K], g[K], R[V * K];
    Choice x = some(&r, n % 2 ? 0.3 : 0.05, n % 4 > 1 ? lean : NULL);
    for (int v = 0; v < V; v++) z[v] = n < 4 ? 1 : n < 8 ? v < 6 : 0;
    check_derivative(&x, z);
    if (x.t.lean != NULL) continue;
    // equal scores have equal shares
    assert_int_equal(means(&x, z, c), TG_OK);
    assert_true(tgi_topk_solve(&x.t, g, R));
    for (int v = 0; v < V; v++)
      for (int w = 0; w < v; w++)
        for (int k = 0; k < K && tgRe(z[v]) == tgRe(z[w]); k++) check_close(R[K * v + k], R[K * w + k], 1e-13);
  }
}

// of equal scores each column takes the one that leans to it
static void test_lean(void **state) {
  (void)state;
  tgtRandom r = {.s = 44};
  static const double level[K] = {1, 1, 1, 1};
  double lean[V * K] = {0};
  tgReal z[V], c[3 * K];
  for (int k = 0; k < K; k++) lean[K * (2 * k) + k] = 0.3;
  Choice x = some(&r, 0.004, lean);
  x.t.anchor = level;
  for (int v = 0; v < V; v++) z[v] = v < 8;
  assert_int_equal(means(&x, z, c), TG_OK);
  for (int k = 0; k < K; k++)
    for (int i = 0; i < 3; i++) check_close(c[3 * k + i], x.y[3 * (2 * k) + i], 1e-9);
  x.t.width = 0.1;
  check_derivative(&x, z);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_sharp), cmocka_unit_test(test_derivatives),
                                     cmocka_unit_test(test_ties), cmocka_unit_test(test_lean)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
