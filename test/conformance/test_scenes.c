// test_scenes.c: every conformance scene, lying in every way, in every variant, under both update rules (the explicit
// one without error correction): the Jacobian and the adjoint of the step, in all parameters too (complex build), and
// the numbers of the contact problem computed again.
// Argument: a part of the name of the scenes to run.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "conformance/scenes.h"
#include "contact/islands.h"
#include "step/gradient_check.h"
#include "step/param_check.h"
#include "support/verify.h"
#include "tangere/lcp.h"

static const char *only = "";

// ---- the contact problem again, from material points and a dense factor ----

// L L' = A in place (n x n), then x = A^-1 x
static void cholesky(double *A, int n) {
  for (int j = 0; j < n; j++)
    for (int i = j; i < n; i++) {
      double sum = A[i * n + j];
      for (int k = 0; k < j; k++) sum -= A[i * n + k] * A[j * n + k];
      A[i * n + j] = i == j ? sqrt(sum) : sum / A[j * n + j];
    }
}
static void cholesky_solve(const double *A, int n, double *x) {
  for (int i = 0; i < n; i++) {
    for (int k = 0; k < i; k++) x[i] -= A[i * n + k] * x[k];
    x[i] /= A[i * n + i];
  }
  for (int i = n - 1; i >= 0; i--) {
    for (int k = i + 1; k < n; k++) x[i] -= A[k * n + i] * x[k];
    x[i] /= A[i * n + i];
  }
}

// entry of A: zero between islands
static tgReal matrix_entry(const tgSim *s, int i, int k) { return s->rows->island[i] == s->rows->island[k] ? *tgi_row_A(s, i, k) : 0; }

typedef struct Problem { double A, b, w; } Problem;

// Worst relative errors of row_A, row_b, row_w after a step: A = J Mh^-1 J', b = J vhat + bias, w = A f + b
static Problem problem(tgSim *s) {
  const tgModel *m = &s->m;
  int nv = m->nv, n = s->nrow;
  bool implicit = !tgi_impulse_options(s)->explicit_damping;
  double *M = calloc((size_t)(nv * nv + nv + 3 * n * (nv + n + 3) + 1), sizeof *M), *vhat = M + nv * nv, *X = vhat + nv,
         *J = X + n * nv, *A = J + n * nv, *b = A + n * n, *w = b + n;
  tgReal *r = calloc((size_t)nv + 1, sizeof *r);
  for (int i = 0; i < nv; i++)
    for (int j = m->dof_tree[2 * i]; j < m->dof_tree[2 * i + 1]; j++) M[i * nv + j] = tgRe(tgi_block_row(m, s->M, i)[j]);
  for (int i = 0; i < nv; i++) {
    double K = implicit ? tgRe(m->jnt_stiffness[m->dof_jnt[i]]) : 0, D = implicit ? tgRe(m->dof_damping[i]) : 0;
    M[i * nv + i] += s->h * D + s->h * s->h * K;
    vhat[i] = s->h * (tgRe(s->tau[i]) - tgRe(s->bias[i]) - s->h * K * tgRe(s->start.vel[i]));
  }
  cholesky(M, nv);
  cholesky_solve(M, nv, vhat);
  for (int i = 0; i < nv; i++) vhat[i] += tgRe(s->start.vel[i]);
  for (int i = 0; i < n; i++) {
    const tgContactRow *c = &s->contact[s->rows->owner[i]];
    bool contact = s->rows->kind[i] == TG_ROW_NORMAL || s->rows->kind[i] == TG_ROW_TANGENT;
    if (contact) tgt_contact_row(s, c, s->rows->part[i], r);
    else tgt_other_row(s, i, r);
    for (int d = 0; d < nv; d++) X[i * nv + d] = J[i * nv + d] = tgRe(r[d]);
    cholesky_solve(M, nv, X + i * nv);
    double e = tgRe(s->rows->bounce[i]);
    for (int d = 0; d < nv; d++) b[i] += (1 + e) * J[i * nv + d] * vhat[d];
    if (!contact || (s->rows->part[i] == 0 && e == 0)) b[i] += tgt_bias(s, i, tgRe(contact ? c->gap : s->rows->gap[i]), 0, 0);
  }
  for (int i = 0; i < n; i++)
    for (int k = 0; k < n; k++)
      for (int d = 0; d < nv; d++) A[i * n + k] += J[i * nv + d] * X[k * nv + d];
  Problem p = {0};
  double largest = 1e-12;
  for (int i = 0; i < n; i++) largest = fmax(largest, A[i * n + i]);
  for (int i = 0; i < n; i++) {
    for (int k = 0; k < n; k++) p.A = fmax(p.A, fabs(tgRe(matrix_entry(s, i, k)) - A[i * n + k]) / largest);
    w[i] = b[i];
    for (int k = 0; k < n; k++) w[i] += A[i * n + k] * tgRe(s->rows->f[k]);
  }
  double scale = 1e-12, size = 1e-12;
  for (int i = 0; i < n; i++) scale = fmax(scale, fabs(b[i]));
  for (int i = 0; i < nv; i++) size = fmax(size, fabs(vhat[i]));
  scale = fmax(scale, size);
  for (int i = 0; i < n; i++) {
    p.b = fmax(p.b, fabs(b[i] - tgRe(s->rows->b[i])) / scale);
    p.w = fmax(p.w, fabs(w[i] - tgRe(s->rows->w[i])) / scale);
  }
  free(r);
  free(M);
  return p;
}

// ---- one scene ----

typedef struct Tally { Count count; tgtParamSeen params; Problem worst; int runs; } Tally;

static void run(const tgtConformScene *scene, const tgtConformVariant *v, bool symplectic, Tally *t) {
  static const char *const tilts[TGT_TILTS] = {"y up", "z up", "oblique"};
  tgtConform c;
  char name[160];
  snprintf(name, sizeof name, "%s (%s%s%s%s%s%s)", scene->name, tilts[v->tilt], v->reversed ? ", reversed" : "",
           v->self ? ", one tree" : "", v->slip ? ", slipping" : "", v->passive ? ", springs" : "",
           symplectic ? "" : ", explicit rule");
  tgModel *m = tgt_conform_build(scene, v, &c);
  tgLcpOptions o = tg_lcp_default();
  o.contact_rule = TG_RULE_TOUCHING;   // of the tests that these are
  o.symplectic = symplectic;
  o.explicit_damping = !symplectic;
  o.erp = symplectic ? c.erp : 0;
  tgContact *contact = tg_contact_create(m, "lcp", &o.of, NULL);
  tgSim *s = contact != NULL ? tg_sim_create(m, contact, NULL, NULL) : NULL;
  assert_non_null(s);
  int failed = t->count.failed;
  tgt_conform_state(&c, s);
  check_state(s, name, 0, c.h, &t->count);
  check_true(t->count.failed == failed, "%s was not solved", name);
  // where every stencil of differences meets a switch, one side of each column is free of it
  check_true(t->count.aside == t->count.onesided, "%s: the active set changes to both sides", name);
  tgt_conform_state(&c, s);
  assert_int_equal(tg_sim_step(s, c.h, NULL), TG_OK);
  Problem p = problem(s);
  check_true(p.A <= 1e-12 && p.b <= 1e-12 && p.w <= 1e-9, "%s: A, b, w off by %.2g, %.2g, %.2g", name, p.A, p.b, p.w);
  tgt_check_step(s, 1e-9);
  t->worst = (Problem){fmax(t->worst.A, p.A), fmax(t->worst.b, p.b), fmax(t->worst.w, p.w)};
  t->runs++;
#ifdef TG_COMPLEX
  // Every parameter of the model, entry by entry; of the many variants of a pair, and of the few of what is large, in every third. Not by
  // differences: these scenes rest on flat faces, and any parameter tips them off.
  tgtRandom r = {.s = (uint64_t)t->runs};
  tgt_conform_state(&c, s);
  tgt_unequal(s);
  bool few = scene->kind == TGT_CONFORM_PAIR || scene->kind == TGT_CONFORM_LARGE;
  if (!few || t->runs % 3 == 0) assert_true(tgt_check_params(s, c.h, &r, tolerance, zero_block, name, &t->params));
#endif
  tg_sim_free(s);
  tg_contact_free(contact);
  tg_model_free(m);
  tg_desc_free(c.d);
}

static void check_scene(const tgtConformScene *scene) {
  Tally t = {0};
  for (int tilt = 0; tilt < TGT_TILTS; tilt++)
    for (int bits = 0; bits < (scene->kind == TGT_CONFORM_PAIR ? 32 : 4); bits++) {
      if (scene->kind == TGT_CONFORM_LARGE && bits != tilt % 2) continue;
      tgtConformVariant v = {.tilt = (tgtTilt)tilt, .passive = bits & 2, .reversed = bits & 4, .self = bits & 8, .slip = bits & 16};
      run(scene, &v, bits & 1, &t);
    }
  const Count *c = &t.count;
  double params = 0;
  int moved = 0;
  for (int k = 0; tg_param_name(k) != NULL; k++) {
    params = fmax(params, t.params.worst[k]);
    moved += t.params.acts[k] > 0;
  }
  print_message("%-44s %2d runs: touch %2d stick %2d slip %2d redundant %2d; gradient %.1g adjoint %.1g A %.1g b %.1g "
                "w %.1g; %d parameters act, %.1g, "
                "%d set aside\n", scene->name, t.runs, c->active, c->stick, c->slip, c->deficient, c->worst, c->dot,
                t.worst.A, t.worst.b, t.worst.w, moved, params,
                t.params.aside);
  check_true(t.params.aside <= t.runs, "%s: %d comparisons of parameters set aside", scene->name, t.params.aside);
  // an arm that moves off the wall presses only while its overlap is being removed
  bool touches = scene->kind != TGT_CONFORM_APART;
  check_true(touches ? 2 * c->active >= t.runs : c->active == 0, "%s: %d of %d runs touch", scene->name, c->active, t.runs);
}

static void check_table(const tgtConformScene *table) {
  for (; table->name != NULL; table++)
    if (strstr(table->name, only) != NULL) check_scene(table);
}

static void test_blocks(void **state) { (void)state; check_table(tgt_conform_blocks); }
static void test_robots(void **state) { (void)state; check_table(tgt_conform_robots); }
static void test_files(void **state) { (void)state; check_table(tgt_conform_files); }
static void test_pairs(void **state) { (void)state; check_table(tgt_conform_pairs); }

int main(int argc, char **argv) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_blocks), cmocka_unit_test(test_robots),
                                     cmocka_unit_test(test_pairs), cmocka_unit_test(test_files)};
  if (argc > 1) only = argv[1];
  return cmocka_run_group_tests(tests, NULL, NULL);
}
