// test_barrier_tasks.c: the gradient of the barrier paper's tasks: adjoints at random controls, where bodies meet and where they stay far apart, against Ridders'
// differences of whole motions along random directions.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "grad/numdiff.h"
#include "optim/task.h"
#include "support/check.h"

typedef struct Case {
  const char *file;
  int steps;
  double spread[2], tol;           // of the variables: near (bodies meet), far
  double step;                     // of differences, near
  bool (*start)(tgTask *task, bool near);
} Case;

// the rod beside the box, or a metre off
static bool push_start(tgTask *t, bool near) {
  t->q0[tg_model_find(t->model, TG_THING_JOINT, "rod_x")] = near ? -0.27 : 0.7;
  return true;
}
// the cue ball a hand's breadth from the rack and fast, or where it starts
static bool billiards_start(tgTask *t, bool near) {
  int cue = tg_model_find(t->model, TG_THING_JOINT, "cue");
  if (near) {
    t->q0[t->model->jnt_qadr[cue]] = -0.4;
    t->v0[t->model->jnt_vadr[cue]] = 4;
  }
  return true;
}
static bool ant_start(tgTask *t, bool near) {
  if (near) t->q0[t->model->jnt_qadr[tg_model_find(t->model, TG_THING_JOINT, "ant_x")]] = 0.18;
  return true;
}

static const Case cases[] = {
    {TG_SOURCE_DIR "/models/push.yaml", 24, {0.2, 0.2}, 1e-6, 1e-3, push_start},
    // within some 1e-6 of a state fast balls may go to another minimum of a step: a jump that differences must not step over
    {TG_SOURCE_DIR "/models/billiards.yaml", 12, {0.02, 0.2}, 1e-6, 1e-7, billiards_start},
    {TG_SOURCE_DIR "/models/ant_push.yaml", 24, {0.3, 0.3}, 1e-6, 1e-3, ant_start},
};

static tgStatus value(void *ctx, const tgReal *x, tgReal *y) { return tg_evaluate(ctx, x, y, NULL, NULL, NULL, NULL, NULL); }

// one centimetre beside the body's start, so that the loss is small and differences of it are not lost in its last digits
static void aim(const tgTask *t, tgTerm *term) {
  const tgModel *m = t->model;
  term->tolerance = 0;
  for (int j = 0; j < m->njnt; j++)
    for (int k = 0; m->jnt_body[j] == term->index && k < 2; k++) term->target[k] = t->q0[m->jnt_qadr[j] + k] + 0.01 * (k == 0);
}

static void check_case(const Case *c, bool near, int trials) {
  tgError e = {0};
  tgTask *t = tg_task_load(c->file, NULL, &e);
  check_true(t != NULL, "%s", e.text);
  assert_true(c->start(t, near));
  t->yaml->receding = NULL;        // the one window, whole
  assert_int_equal(tgi_task_retime(t, c->steps, t->h, &e), TG_OK);
  for (int i = 0; i < t->nterm; i++) aim(t, &t->term[i]);
  int n = tg_task_size(t);
  tgEvaluator *eval = tg_evaluator_create(t, 0, &e);
  check_true(eval != NULL, "%s", e.text);
  tgiNumDiff d = {.nx = n, .nt = n, .ny = 1, .map = value, .ctx = eval, .step = near ? c->step : 0.05};
  double *x = calloc((size_t)n, sizeof *x), *g = calloc((size_t)n, sizeof *g), *dir = calloc((size_t)n, sizeof *dir), *work = calloc(tgi_numdiff_work(&d), sizeof *work);
  tgtRandom rng = {17};
  double worst = 0;
  for (int k = 0; k < trials; k++) {
    double f, D, error, slope = 0, size = 0, len = 0;
    tg_task_start(t, 0, x);
    for (int i = 0; i < n; i++) {
      x[i] += c->spread[near ? 0 : 1] * tgt_uniform(&rng, -1, 1);
      dir[i] = tgt_uniform(&rng, -1, 1);
      len += dir[i] * dir[i];
    }
    assert_int_equal(tg_evaluate(eval, x, &f, g, NULL, NULL, NULL, NULL), TG_OK);
    for (int i = 0; i < n; i++) {
      dir[i] /= sqrt(len);
      slope += g[i] * dir[i];
      size += g[i] * g[i];
    }
    assert_int_equal(tgi_numdiff(&d, x, dir, TGI_SIDE_BOTH, &D, &error, work), TG_OK);
    // of the gradient's typical component, or of what the differences know
    double scale = fmax(fabs(D), sqrt(size / n));
    worst = fmax(worst, fabs(slope - D) / scale);
    check_true(fabs(slope - D) <= c->tol * scale + 2 * error, "%s %s, trial %d: adjoint %.12g, differences %.12g (+- %.2g), scale %.3g", c->file, near ? "near" : "far", k, slope, D,
               error, scale);
    assert_true(error <= 1e-3 * scale || !near);
  }
  print_message("%s %s: worst %.2g\n", strrchr(c->file, '/') + 1, near ? "near" : "far", worst);
  free(x);
  free(g);
  free(dir);
  free(work);
  tg_evaluator_free(eval);
  tg_task_free(t);
}

static int trials = 2;
static void adjoints_are_derivatives(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    for (int near = 1; near >= 0; near--) check_case(&cases[i], near, trials);
}

int main(int argc, char **argv) {
  if (argc > 1) trials = atoi(argv[1]);
  const struct CMUnitTest tests[] = {cmocka_unit_test(adjoints_are_derivatives)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
