// bundle.c: first-order gradient bundle [bundled]: g = 1/N sum_i dL/dx(x + w_i), w_i ~ N(0, sigma^2). The w_i are drawn once (common random
// numbers), so that the bundle is the gradient of one function, and the loss that is shown is that of x itself.
#include <math.h>
#include <string.h>

#include "base/layout.h"
#include "base/random.h"
#include "optim/optimize.h"

// share of a variable's box that is one sigma where the file gives none
#define SPREAD 0.05

struct tgBundle {
  tgOptRun *r;
  int size, n;
  double *w, *x, *g;               // size x n: perturbations, where they lead; a gradient (n)
  tgRolloutRun *run;               // size + 1: the last is x itself
  tgRolloutResult *result;
  tgEvaluator **evaluator;
  tgBatch *batch;
};

static void place(tgBundle *b, tgLayout *l) {
  size_t n = (size_t)b->n, size = (size_t)b->size + 1;
  b->w = tgi_place(l, tgi_size_mul(size, n), sizeof *b->w);
  b->x = tgi_place(l, tgi_size_mul(size, n), sizeof *b->x);
  b->g = tgi_place(l, n, sizeof *b->g);
  b->run = tgi_place(l, size, sizeof *b->run);
  b->result = tgi_place(l, size, sizeof *b->result);
  b->evaluator = tgi_place(l, size, sizeof *b->evaluator);
}

// the perturbations; a variable without a box has no spread of its own
static tgStatus draw(tgBundle *b) {
  const tgOptRun *r = b->r;
  double sigma = r->task->optimizer.sigma;
  for (int k = 0; k < b->n; k++) {
    double span = r->high[k] - r->low[k], s = sigma > 0 ? sigma : SPREAD * span;
    if (!isfinite(s))
      return tgi_error(&r->out->error, TG_ERR_INVALID,
                       "method bundle needs a spread: give optimizer: sigma, or low and high to every variable (variable %d has none)", k);
    for (int i = 0; i < b->size; i++) {
      size_t at = (size_t)i * (size_t)b->n + (size_t)k;
      b->w[at] = s * tg_random_normal(r->o->seed, 3, at);
    }
  }
  return TG_OK;
}

static tgStatus make(tgBundle *b) {
  tgOptRun *r = b->r;
  for (int i = 0; i <= b->size; i++)
    if ((b->evaluator[i] = tgi_evaluator_create(r->task, false, 0, &r->out->error)) == NULL) return r->out->error.status;
  tgRolloutOptions o = tg_task_rollout_options(r->task);
  o.tape_bytes = r->o->tape_bytes;
  b->batch = tg_batch_create(r->task->model, r->task->contact, &o, r->o->threads, &r->out->error);
  return b->batch == NULL ? r->out->error.status : draw(b);
}

tgBundle *tgi_bundle_create(tgOptRun *r) {
  tgBundle head = {.r = r, .size = r->task->optimizer.population, .n = r->task->n}, *b;
  tgLayout l = {.base = NULL};
  tgi_place(&l, 1, sizeof head);
  place(&head, &l);
  char *block = r->alloc.alloc(r->alloc.ctx, l.used);
  if (block == NULL) {
    tgi_error(&r->out->error, TG_ERR_MEMORY, "out of memory for a bundle of %d", head.size);
    return NULL;
  }
  memset(block, 0, l.used);
  l = (tgLayout){.base = block};
  b = tgi_place(&l, 1, sizeof *b);
  *b = (tgBundle){.r = r, .size = head.size, .n = head.n};
  place(b, &l);
  if (make(b) == TG_OK) return b;
  tgi_bundle_free(b);
  return NULL;
}

void tgi_bundle_free(tgBundle *b) {
  if (b == NULL) return;
  for (int i = 0; i <= b->size; i++) tg_evaluator_free(b->evaluator[i]);
  tg_batch_free(b->batch);
  b->r->alloc.free(b->r->alloc.ctx, b);
}

// what a member's outcome means: TG_OK, a motion that went wrong (r->out->error says how), or an error that ends the method
static tgStatus outcome(tgBundle *b, int i) {
  tgStatus st = b->result[i].status;
  if (st != TG_OK && st != TG_CANCELLED) b->r->out->error = b->result[i].error;
  return st;
}

// mean over the members whose motion went well; *used of them
static tgStatus mean(tgBundle *b, double *g, int *used) {
  *used = 0;
  memset(g, 0, (size_t)b->n * sizeof *g);
  for (int i = 0; i < b->size; i++) {
    tgStatus st = outcome(b, i);
    if (st != TG_OK && !tgi_opt_numerical(st)) return st;
    if (st != TG_OK) continue;
    tgi_evaluator_chain(b->evaluator[i], b->x + (size_t)i * (size_t)b->n, b->g);
    for (int k = 0; k < b->n; k++) g[k] += b->g[k];
    ++*used;
  }
  for (int k = 0; k < b->n && *used > 0; k++) g[k] /= *used;
  return TG_OK;
}

static tgStatus compute(tgBundle *b, const double *x, tgEvaluation *e, double *g) {
  tgOptRun *r = b->r;
  int used;
  for (int i = 0; i <= b->size; i++) {
    double *at = b->x + (size_t)i * (size_t)b->n;
    for (int k = 0; k < b->n; k++)
      at[k] = i < b->size ? fmin(fmax(x[k] + b->w[(size_t)i * (size_t)b->n + (size_t)k], r->low[k]), r->high[k]) : x[k];
    tg_evaluator_run(b->evaluator[i], at, &b->run[i]);
    if (i < b->size) tgi_evaluator_want_gradient(b->evaluator[i], &b->run[i]);
    b->run[i].cancel = r->o->cancel;
  }
  TG_TRY_OUTCOME(tg_batch_run(b->batch, b->size + 1, b->run, b->result));
  TG_TRY_OUTCOME(mean(b, g, &used));
  tgStatus st = outcome(b, b->size);
  if (st != TG_OK && !tgi_opt_numerical(st)) return st;
  if (st == TG_OK && used == 0) st = outcome(b, 0);
  else if (st == TG_OK) r->out->error = (tgError){0};
  tgGradLabel label = TG_GRAD_EXACT;
  for (int i = 0; i < b->size; i++)
    if (b->result[i].status == TG_OK && b->result[i].grad.label > label) label = b->result[i].grad.label;
  *e = (tgEvaluation){.status = st, .label = (int32_t)label, .loss = st == TG_OK ? b->result[b->size].loss : INFINITY,
                      .distance = st == TG_OK ? tgi_evaluator_distance(b->evaluator[b->size]) : INFINITY};
  return tgi_journal_add(r->journal, x, b->n, e, g, st == TG_OK ? b->n : 0, r->out);
}

tgStatus tgi_bundle_eval(tgBundle *b, const double *x, double *f, double *g) {
  tgOptRun *r = b->r;
  tgEvaluation e = {0};
  r->from_journal = tgi_journal_next(r->journal, x, b->n, &e, g, b->n, r->out);
  if (!r->from_journal) TG_TRY_OUTCOME(compute(b, x, &e, g));
  tgi_opt_note(r, x, &e);
  r->out->simulations += b->size;
  *f = e.loss;
  return (tgStatus)e.status;
}
