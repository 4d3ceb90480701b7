// smooth.c: see smooth.h. The smoothed loss is S(x) = E L(c(x + w)), w_k ~ N(0, sigma_k^2), c into the box. Its gradient is estimated from
// the same m motions in two ways: by their gradients, a mean [bundled], and by their losses, a covariance,
//
//   g1 = 1/m sum_i dL(c(x + w_i))/dx,   g0 = 1/(m - 1) sum_i (L_i - mean L) w_i / sigma^2,
//
// and mixed, a g1 + (1 - a) g0, [mixedorder]. Both are unbiased where L is continuous; where it jumps, g1 does not see the jump.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/layout.h"
#include "base/memory.h"
#include "base/random.h"
#include "base/status.h"
#include "optim/optimize.h"
#include "optim/smooth.h"
#include "rollout/rollout.h"

// share of a variable's box that is one sigma where none is given
#define SPREAD 0.05
// g1 and g0 are taken to contradict each other beyond so many standard errors
#define CONTRADICTION 3.0

struct tgSmoother {
  const tgTask *task;
  tgAllocator alloc;
  const double *low, *high;
  tgSmoothOptions o;
  int size, n;
  double *sigma;                     // n
  double *w, *x, *g;                 // size x n: perturbations; where they lead (one more: x itself); gradients there
  double *loss;                      // size
  double *first, *zeroth;            // n: the two estimates
  int *used;                         // size: the members whose motion went well, *out->used of them
  tgRolloutRun *run;                 // size + 1: the last is x itself
  tgRolloutResult *result;
  tgEvaluator **evaluator;
  tgBatch *batch;
};

static void place(tgSmoother *s, tgLayout *l) {
  size_t n = (size_t)s->n, size = (size_t)s->size;
  s->sigma = tgi_place(l, n, sizeof *s->sigma);
  s->w = tgi_place(l, tgi_size_mul(size, n), sizeof *s->w);
  s->x = tgi_place(l, tgi_size_mul(size + 1, n), sizeof *s->x);
  s->g = tgi_place(l, tgi_size_mul(size, n), sizeof *s->g);
  s->loss = tgi_place(l, size, sizeof *s->loss);
  s->first = tgi_place(l, n, sizeof *s->first);
  s->zeroth = tgi_place(l, n, sizeof *s->zeroth);
  s->used = tgi_place(l, size, sizeof *s->used);
  s->run = tgi_place(l, size + 1, sizeof *s->run);
  s->result = tgi_place(l, size + 1, sizeof *s->result);
  s->evaluator = tgi_place(l, size + 1, sizeof *s->evaluator);
}

// a variable without a box has no spread of its own
static tgStatus draw(tgSmoother *s, tgError *error) {
  for (int k = 0; k < s->n; k++) {
    s->sigma[k] = s->o.sigma > 0 ? s->o.sigma : SPREAD * (s->high[k] - s->low[k]);
    if (!isfinite(s->sigma[k]))
      return tgi_error(error, TG_ERR_INVALID,
                       "a smoothed gradient needs a spread: give sigma, or low and high to every variable (variable %d has none)", k);
    for (int i = 0; i < s->size; i++) {
      size_t at = (size_t)i * (size_t)s->n + (size_t)k;
      s->w[at] = s->sigma[k] * tg_random_normal(s->o.seed, 3, at);
    }
  }
  return TG_OK;
}

static tgStatus make(tgSmoother *s, tgError *error) {
  for (int i = 0; i <= s->size; i++)
    if ((s->evaluator[i] = tgi_evaluator_create(s->task, false, 0, error)) == NULL) return TG_ERR_MEMORY;
  tgRolloutOptions o = tg_task_rollout_options(s->task);
  o.tape_bytes = s->o.tape_bytes;
  s->batch = tg_batch_create(s->task->model, s->task->contact, &o, s->o.threads, error);
  return s->batch == NULL ? TG_ERR_MEMORY : draw(s, error);
}

tgSmoother *tgi_smoother_create(const tgTask *task, const double *low, const double *high, const tgSmoothOptions *o,
                                const tgAllocator *alloc, tgError *error) {
  tgSmoother head = {.task = task, .alloc = *alloc, .low = low, .high = high, .o = *o, .size = o->samples, .n = task->n}, *s;
  tgLayout l = {.base = NULL};
  tgi_place(&l, 1, sizeof head);
  place(&head, &l);
  char *block = alloc->alloc(alloc->ctx, l.used);
  if (block == NULL) {
    tgi_error(error, TG_ERR_MEMORY, "out of memory for a smoothed gradient of %d samples", head.size);
    return NULL;
  }
  memset(block, 0, l.used);
  l = (tgLayout){.base = block};
  s = tgi_place(&l, 1, sizeof *s);
  *s = (tgSmoother){.task = task, .alloc = *alloc, .low = low, .high = high, .o = *o, .size = o->samples, .n = task->n};
  place(s, &l);
  if (make(s, error) == TG_OK) return s;
  tgi_smoother_free(s);
  return NULL;
}

void tgi_smoother_free(tgSmoother *s) {
  if (s == NULL) return;
  for (int i = 0; i <= s->size; i++) tg_evaluator_free(s->evaluator[i]);
  tg_batch_free(s->batch);
  s->alloc.free(s->alloc.ctx, s);
}

// what a member's outcome means: TG_OK, a motion that went wrong (error says how), or an error that ends the whole
static tgStatus outcome(const tgSmoother *s, int i, tgError *error) {
  tgStatus st = s->result[i].status;
  if (st != TG_OK && st != TG_CANCELLED && error != NULL) *error = s->result[i].error;
  return st;
}

// all motions; the members that went well are listed
static tgStatus roll(tgSmoother *s, const double *x, const volatile int *cancel, tgSmoothed *out, tgError *error) {
  size_t n = (size_t)s->n;
  for (int i = 0; i <= s->size; i++) {
    double *at = s->x + (size_t)i * n;
    for (size_t k = 0; k < n; k++) at[k] = i < s->size ? fmin(fmax(x[k] + s->w[(size_t)i * n + k], s->low[k]), s->high[k]) : x[k];
    tg_evaluator_run(s->evaluator[i], at, &s->run[i]);
    if (i < s->size && s->o.order != TG_SMOOTH_ZEROTH) tgi_evaluator_want_gradient(s->evaluator[i], &s->run[i]);
    s->run[i].cancel = cancel;
  }
  tgStatus st = tg_batch_run(s->batch, s->size + 1, s->run, s->result);
  if (st != TG_OK) return st == TG_CANCELLED ? st : tgi_error(error, st, "the motions of a smoothed gradient: %s", tg_status_text(st));
  for (int i = 0; i < s->size; i++) {
    if ((st = outcome(s, i, error)) != TG_OK && !tgi_opt_numerical(st)) return st;
    if (st != TG_OK) continue;
    s->used[out->used++] = i;
    s->loss[i] = s->result[i].loss;
    out->mean += s->loss[i];
    tgi_grad_worst(&out->grad, &s->result[i].grad);
  }
  out->mean = out->used > 0 ? out->mean / out->used : NAN;
  return TG_OK;
}

// Mean of the gradients, of L(c(.)): a variable that the box holds moves nothing. Returns the square of its standard error, in units
// of sigma.
static double first_order(tgSmoother *s, const double *x, const tgSmoothed *out) {
  size_t n = (size_t)s->n;
  double m = out->used, sum = 0;
  memset(s->first, 0, n * sizeof *s->first);
  for (int j = 0; j < out->used; j++) {
    size_t at = (size_t)s->used[j] * n;
    tgi_evaluator_chain(s->evaluator[s->used[j]], s->x + at, s->g + at);
    for (size_t k = 0; k < n; k++) {
      if (s->x[at + k] != x[k] + s->w[at + k]) s->g[at + k] = 0;
      s->first[k] += s->g[at + k] / m;
    }
  }
  for (int j = 0; j < out->used; j++)
    for (size_t k = 0; k < n; k++) {
      double d = s->sigma[k] * (s->g[(size_t)s->used[j] * n + k] - s->first[k]);
      sum += d * d;
    }
  return m > 1 ? sum / (m * (m - 1)) : INFINITY;
}

// the covariance of losses and perturbations; returns the same
static double zeroth_order(tgSmoother *s, const tgSmoothed *out) {
  size_t n = (size_t)s->n;
  double m = out->used, sum = 0;
  memset(s->zeroth, 0, n * sizeof *s->zeroth);
  if (out->used < 2) return INFINITY;
  for (int j = 0; j < out->used; j++) {
    int i = s->used[j];
    for (size_t k = 0; k < n && s->sigma[k] > 0; k++)
      s->zeroth[k] += (s->loss[i] - out->mean) * s->w[(size_t)i * n + k] / (s->sigma[k] * s->sigma[k] * (m - 1));
  }
  for (int j = 0; j < out->used; j++) {
    int i = s->used[j];
    for (size_t k = 0; k < n && s->sigma[k] > 0; k++) {
      double d = (s->loss[i] - out->mean) * s->w[(size_t)i * n + k] / s->sigma[k] - s->sigma[k] * s->zeroth[k];
      sum += d * d;
    }
  }
  return sum / (m * (m - 1));
}

// The share of g1 with the least variance, v0 and v1 those of the two. Where the two are further apart than their errors allow there
// is a jump that g1 does not see: then it is less by the square of the excess, so that what it puts in falls as it is more wrong.
// *bias: that, bounded.
static double share(const tgSmoother *s, double v1, double v0, double *bias) {
  double apart = 0, most = CONTRADICTION * CONTRADICTION * (v0 + v1);
  for (int k = 0; k < s->n; k++) {
    double d = s->sigma[k] * (s->first[k] - s->zeroth[k]);
    apart += d * d;
  }
  *bias = 0;
  if (!(v0 + v1 > 0) || !isfinite(v0)) return 1;
  double a = isfinite(v1) ? v0 / (v0 + v1) : 0;
  if (!(apart > most)) return a;
  a *= most / apart;
  *bias = a * sqrt(apart);
  return a;
}

static void mix(tgSmoother *s, const double *x, double *g, tgSmoothed *out) {
  double v1 = s->o.order != TG_SMOOTH_ZEROTH ? first_order(s, x, out) : 0, v0 = s->o.order != TG_SMOOTH_FIRST ? zeroth_order(s, out) : 0;
  double bias = 0, a = out->share = s->o.order == TG_SMOOTH_MIXED ? share(s, v1, v0, &bias) : s->o.order == TG_SMOOTH_FIRST;
  for (int k = 0; k < s->n; k++) g[k] = a * s->first[k] + (1 - a) * s->zeroth[k];
  // the two are of the same motions: their errors may add
  out->error = bias + (a > 0 ? a * sqrt(v1) : 0) + (a < 1 ? (1 - a) * sqrt(v0) : 0);
  if (out->grad.label > TG_GRAD_SMOOTHED) return;
  out->grad.label = TG_GRAD_SMOOTHED;
  snprintf(out->grad.reason, sizeof out->grad.reason, "mean over %d normal perturbations of the variables", out->used);
}

tgStatus tgi_smoother_run(tgSmoother *s, const double *x, const volatile int *cancel, double *g, tgSmoothed *out, double *distance,
                          tgError *error) {
  *out = (tgSmoothed){.loss = INFINITY, .simulations = s->size + 1, .grad = {.converged = true, .first_step = -1}};
  *distance = INFINITY;
  tgStatus st = roll(s, x, cancel, out, error);
  if (st != TG_OK) return st;
  if ((st = outcome(s, s->size, error)) == TG_OK && out->used < (s->o.order == TG_SMOOTH_FIRST ? 1 : 2)) st = outcome(s, 0, error);
  if (st != TG_OK) return st;
  if (error != NULL) *error = (tgError){0};
  mix(s, x, g, out);
  out->loss = s->result[s->size].loss;
  *distance = tgi_evaluator_distance(s->evaluator[s->size]);
  return TG_OK;
}

tgSmoothOptions tg_smooth_default(void) {
  return (tgSmoothOptions){.size = sizeof(tgSmoothOptions), .order = TG_SMOOTH_MIXED, .samples = 16};
}

tgStatus tg_task_smoothed(const tgTask *task, const double *x, const tgSmoothOptions *options, const volatile int *cancel, double *g,
                          tgSmoothed *smoothed, tgError *error) {
  tgSmoothOptions o = options != NULL ? *options : tg_smooth_default();
  if (task == NULL || x == NULL || g == NULL || smoothed == NULL)
    return tgi_error(error, TG_ERR_ARG, "a task, x, g and a result are wanted");
  if (o.size != sizeof o) return tgi_error(error, TG_ERR_ARG, "options of a smoothed gradient must come from tg_smooth_default");
  if (o.order < TG_SMOOTH_FIRST || o.order > TG_SMOOTH_MIXED || !(o.sigma >= 0) || !isfinite(o.sigma))
    return tgi_error(error, TG_ERR_ARG, "a smoothed gradient has order first, zeroth or mixed and a finite sigma from 0, not %d and %g",
                     (int)o.order, o.sigma);
  int least = o.order == TG_SMOOTH_FIRST ? 1 : 2;
  if (o.samples < least || o.samples > 1000000)
    return tgi_error(error, TG_ERR_ARG, "a smoothed gradient takes %d to 1000000 samples, not %d", least, o.samples);
  double *box = task->alloc.alloc(task->alloc.ctx, 2 * (size_t)task->n * sizeof *box), distance;
  if (box == NULL) return tgi_error(error, TG_ERR_MEMORY, "out of memory for a smoothed gradient");
  tg_task_box(task, box, box + task->n);
  tgError said = {0};
  tgSmoother *s = tgi_smoother_create(task, box, box + task->n, &o, &task->alloc, &said);
  tgStatus st = s != NULL ? tgi_smoother_run(s, x, cancel, g, smoothed, &distance, &said) : said.status;
  tgi_smoother_free(s);
  task->alloc.free(task->alloc.ctx, box);
  if (error != NULL) *error = said;
  return st;
}
