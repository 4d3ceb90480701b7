// methods.c: Adam and gradient descent, random search and the cross-entropy method.
//
// Based on: [Adam]; the cross-entropy method [CEM] with noise that is correlated in time and momentum as in [iCEM].
#include <math.h>
#include <string.h>

#include "base/layout.h"
#include "base/random.h"
#include "optim/controls.h"
#include "optim/optimize.h"
#include "optim/smooth.h"
#include "rollout/rollout.h"

// a step whose rollout fails is halved towards the last good iterate, so often
enum { HALVINGS = 8 };

// m <- b1 m + (1 - b1) g, s <- b2 s + (1 - b2) g^2, x <- x - rate mhat/(sqrt(shat) + 1e-8)
static void adam_step(const YamlOptimizer *o, int n, int k, double rate, const double *g, double *m, double *s, double *x) {
  double c1 = 1 - pow(o->beta1, k + 1), c2 = 1 - pow(o->beta2, k + 1);
  for (int i = 0; i < n; i++) {
    m[i] = o->beta1 * m[i] + (1 - o->beta1) * g[i];
    s[i] = o->beta2 * s[i] + (1 - o->beta2) * g[i] * g[i];
    x[i] -= rate * (m[i] / c1) / (sqrt(s[i] / c2) + 1e-8);
  }
}

// no gradient and no momentum: the iterate stays where it is for good
static bool at_rest(int n, const double *g, const double *m) {
  for (int i = 0; i < n; i++)
    if (g[i] != 0 || m[i] != 0) return false;
  return true;
}

// Loss at x and gradient; with a smoother, that of the smoothed loss.
static tgStatus evaluate(tgOptRun *r, tgSmoother *smoother, const double *x, double *f, double *g) {
  if (smoother == NULL) return tgi_opt_eval(r, x, f, g);
  tgOptimum *out = r->out;
  tgEvaluation e = {0};
  r->from_journal = tgi_journal_next(r->journal, x, out->n, &e, g, out->n, out);
  if (!r->from_journal) {
    tgSmoothed s;
    double distance;
    tgStatus st = tgi_smoother_run(smoother, x, r->o->cancel, g, &s, &distance, &out->error);
    if (st != TG_OK && !tgi_opt_numerical(st)) return st;
    if (st == TG_OK) tgi_grad_worst(&out->grad, &s.grad);
    e = (tgEvaluation){.status = st, .label = st == TG_OK ? (int32_t)s.grad.label : 0, .loss = s.loss, .distance = distance};
    TG_TRY_OUTCOME(tgi_journal_add(r->journal, x, out->n, &e, g, st == TG_OK ? out->n : 0, out));
  }
  tgi_opt_note(r, x, &e);
  out->simulations += r->task->optimizer.population;
  *f = e.loss;
  return (tgStatus)e.status;
}

static tgStatus first_order(tgOptRun *r, tgSmoother *smoother, double *x, double *work) {
  const YamlOptimizer *o = &r->task->optimizer;
  int n = r->task->n;
  double *g = work, *m = work + n, *s = work + 2 * n, *good = work + 3 * n, rate = o->rate, least = INFINITY;
  int begun = 0, since = 0;   // iteration from which on momentum is counted; iterations since the least loss
  memcpy(good, x, (size_t)n * sizeof *x);
  memset(m, 0, 2 * (size_t)n * sizeof *m);   // and s; windows of a receding horizon share the work
  for (int k = 0; k < o->iterations; k++) {
    double f;
    tgStatus st = evaluate(r, smoother, x, &f, g);
    for (int tries = 0; tgi_opt_numerical(st) && k > 0 && tries < HALVINGS; tries++) {
      for (int i = 0; i < n; i++) x[i] = 0.5 * (x[i] + good[i]);
      st = evaluate(r, smoother, x, &f, g);
    }
    if (st != TG_OK) return st;
    memcpy(good, x, (size_t)n * sizeof *x);
    if (tgi_opt_iteration(r, f) || at_rest(n, g, m)) return TG_OK;
    since = f < least ? 0 : since + 1;
    least = fmin(f, least);
    if (o->patience > 0 && since >= o->patience) {
      // beyond an edge, as where a grip is lost, there is no slope that leads back
      memcpy(x, r->out->best, (size_t)n * sizeof *x);
      memset(m, 0, 2 * (size_t)n * sizeof *m);
      rate *= 0.5 * o->decay;
      begun = k + 1;
      since = 0;
      continue;
    }
    if (o->method != TG_METHOD_DESCENT) adam_step(o, n, k - begun, rate, g, m, s, x);
    else
      for (int i = 0; i < n; i++) x[i] -= rate * g[i];
    rate *= o->decay;
    tgi_opt_clamp(r, x);
  }
  return TG_OK;
}

tgStatus tgi_opt_first_order(tgOptRun *r, double *x, double *work) {
  const YamlOptimizer *o = &r->task->optimizer;
  tgSmoothOrder order = o->smoothing == TG_SMOOTH_NONE && o->method == TG_METHOD_BUNDLE ? TG_SMOOTH_FIRST : o->smoothing;
  if (order == TG_SMOOTH_NONE) return first_order(r, NULL, x, work);
  tgSmoothOptions options = {.size = sizeof options, .order = order, .samples = o->population, .sigma = o->sigma,
                             .seed = r->o->seed, .threads = r->o->threads, .tape_bytes = r->o->tape_bytes};
  tgSmoother *s = tgi_smoother_create(r->task, r->low, r->high, &options, &r->alloc, &r->out->error);
  tgStatus st = s != NULL ? first_order(r, s, x, work) : r->out->error.status;
  tgi_smoother_free(s);
  return st;
}

// a population and what evaluates it
typedef struct Swarm {
  int size, n, keep;
  double *x, *mean, *sigma, *noise;   // size x n; n; n; n
  double *kept;                    // keep x n: the best of the last generation
  tgEvaluation *e;                 // size
  tgRolloutRun *run;
  tgRolloutResult *result;
  tgEvaluator **evaluator;
  tgBatch *batch;
  int *order;
  void *block;
} Swarm;

static void swarm_place(Swarm *s, tgLayout *l) {
  size_t n = (size_t)s->n, size = (size_t)s->size;
  s->x = tgi_place(l, tgi_size_mul(size, n), sizeof *s->x);
  s->mean = tgi_place(l, n, sizeof *s->mean);
  s->sigma = tgi_place(l, n, sizeof *s->sigma);
  s->noise = tgi_place(l, n, sizeof *s->noise);
  s->kept = tgi_place(l, tgi_size_mul((size_t)s->keep, n), sizeof *s->kept);
  s->e = tgi_place(l, size, sizeof *s->e);
  s->run = tgi_place(l, size, sizeof *s->run);
  s->result = tgi_place(l, size, sizeof *s->result);
  s->evaluator = tgi_place(l, size, sizeof *s->evaluator);
  s->order = tgi_place(l, size, sizeof *s->order);
}

static void swarm_free(tgOptRun *r, Swarm *s) {
  for (int i = 0; s->block != NULL && i < s->size; i++) tg_evaluator_free(s->evaluator[i]);
  tg_batch_free(s->batch);
  r->alloc.free(r->alloc.ctx, s->block);
}

static tgStatus swarm_make(tgOptRun *r, Swarm *s) {
  *s = (Swarm){.size = r->task->optimizer.population, .n = r->task->n, .keep = r->task->optimizer.keep};
  tgLayout l = {.base = NULL};
  swarm_place(s, &l);
  s->block = r->alloc.alloc(r->alloc.ctx, l.used);
  if (s->block == NULL) return tgi_error(&r->out->error, TG_ERR_MEMORY, "out of memory for a population of %d", s->size);
  memset(s->block, 0, l.used);
  l = (tgLayout){.base = s->block};
  swarm_place(s, &l);
  for (int i = 0; i < s->size; i++)
    if ((s->evaluator[i] = tgi_evaluator_create(r->task, false, 0, &r->out->error)) == NULL) return r->out->error.status;
  tgRolloutOptions o = tg_task_rollout_options(r->task);
  o.tape_bytes = r->o->tape_bytes;
  s->batch = tg_batch_create(r->task->model, r->task->contact, &o, r->o->threads, &r->out->error);
  return s->batch == NULL ? r->out->error.status : TG_OK;
}

// members first .. size-1 that the journal does not know, over the threads; recorded in order
static tgStatus swarm_compute(tgOptRun *r, Swarm *s, int first) {
  int n = s->size - first;
  for (int i = 0; i < n; i++) {
    tg_evaluator_run(s->evaluator[first + i], s->x + (size_t)(first + i) * (size_t)s->n, &s->run[i]);
    s->run[i].cancel = r->o->cancel;
  }
  TG_TRY(tg_batch_run(s->batch, n, s->run, s->result));
  for (int i = 0; i < n; i++) {
    tgStatus st = s->result[i].status;
    if (st == TG_CANCELLED) return st;
    if (st != TG_OK) r->out->error = s->result[i].error;
    if (st != TG_OK && !tgi_opt_numerical(st)) return st;
    s->e[first + i] = (tgEvaluation){.status = st, .loss = st == TG_OK ? s->result[i].loss : INFINITY,
                                     .distance = st == TG_OK ? tgi_evaluator_distance(s->evaluator[first + i]) : INFINITY};
  }
  for (int i = first; i < s->size; i++)
    TG_TRY(tgi_journal_add(r->journal, s->x + (size_t)i * (size_t)s->n, s->n, &s->e[i], NULL, 0, r->out));
  return TG_OK;
}

static tgStatus swarm_evaluate(tgOptRun *r, Swarm *s) {
  int known = 0;
  while (known < s->size && tgi_journal_next(r->journal, s->x + (size_t)known * (size_t)s->n, s->n, &s->e[known], NULL, 0, r->out)) known++;
  r->from_journal = known == s->size;
  if (known < s->size) {
    tgStatus st = swarm_compute(r, s, known);
    if (st != TG_OK) return st;
  }
  for (int i = 0; i < s->size; i++) tgi_opt_note(r, s->x + (size_t)i * (size_t)s->n, &s->e[i]);
  return TG_OK;
}

// Standard normal noise. With a correlation c, of a control and the same actuator's before it: z_t = c z_(t-1) + sqrt(1 - c^2) n_t, so that
// a member goes off to one side for a while instead of trembling about the mean, as the coloured noise of [iCEM] does.
static void draw_noise(const tgOptRun *r, Swarm *s, uint64_t member) {
  const tgTask *t = r->task;
  double c = t->optimizer.correlation, rest = sqrt(1 - c * c);
  int nu = t->model->nu, chained = tgi_controls_sines(t) ? 0 : t->ncontrol;
  for (int k = 0; k < s->n; k++) {
    s->noise[k] = tg_random_normal(r->o->seed, 2, member * (uint64_t)s->n + (uint64_t)k);
    if (c > 0 && k >= nu && k < chained) s->noise[k] = c * s->noise[k - nu] + rest * s->noise[k];
  }
}

// Member 0 of generation 0 is the start itself; the first ones of later generations are the best of the one before, where such are kept.
// The rest are normal about the mean, in the box.
static void swarm_sample(tgOptRun *r, Swarm *s, int generation) {
  for (int i = 0; i < s->size; i++) {
    double *x = s->x + (size_t)i * (size_t)s->n;
    if (generation > 0 && i < s->keep) {
      memcpy(x, s->kept + (size_t)i * (size_t)s->n, (size_t)s->n * sizeof *x);
      continue;
    }
    draw_noise(r, s, (uint64_t)generation * (uint64_t)s->size + (uint64_t)i);
    for (int k = 0; k < s->n; k++) x[k] = s->mean[k] + (generation == 0 && i == 0 ? 0 : s->sigma[k] * s->noise[k]);
    tgi_opt_clamp(r, x);
  }
}

// indices by loss, ties by index: an insertion sort, populations are small
static void rank(const Swarm *s) {
  for (int i = 0; i < s->size; i++) {
    int k = i;
    for (; k > 0 && s->e[s->order[k - 1]].loss > s->e[i].loss; k--) s->order[k] = s->order[k - 1];
    s->order[k] = i;
  }
}

static void keep_best(Swarm *s) {
  size_t n = (size_t)s->n;
  for (int i = 0; i < s->keep; i++) memcpy(s->kept + (size_t)i * n, s->x + (size_t)s->order[i] * n, n * sizeof *s->kept);
}

// CEM: mean and spread of the elites, and of both the part `momentum` of what they were; the spread keeps a floor of 1 % of its start so
// that it does not collapse at once
static void refit(const YamlOptimizer *o, Swarm *s, double sigma0) {
  for (int k = 0; k < s->n; k++) {
    double mean = 0, var = 0;
    for (int i = 0; i < o->elites; i++) mean += s->x[(size_t)s->order[i] * (size_t)s->n + (size_t)k] / o->elites;
    for (int i = 0; i < o->elites; i++) {
      double d = s->x[(size_t)s->order[i] * (size_t)s->n + (size_t)k] - mean;
      var += d * d / o->elites;
    }
    s->mean[k] = o->momentum * s->mean[k] + (1 - o->momentum) * mean;
    s->sigma[k] = fmax(o->momentum * s->sigma[k] + (1 - o->momentum) * sqrt(var), 0.01 * sigma0);
  }
}

tgStatus tgi_opt_sampling(tgOptRun *r, double *x) {
  const YamlOptimizer *o = &r->task->optimizer;
  Swarm s;
  tgStatus st = swarm_make(r, &s);
  double span = r->high[0] - r->low[0], sigma0 = o->sigma > 0 ? o->sigma : isfinite(span) ? 0.1 * span : 1;
  for (int k = 0; st == TG_OK && k < s.n; k++) {
    s.mean[k] = x[k];
    s.sigma[k] = sigma0;
  }
  for (int generation = 0; st == TG_OK && generation < o->iterations; generation++) {
    swarm_sample(r, &s, generation);
    st = swarm_evaluate(r, &s);
    if (st != TG_OK) break;
    rank(&s);
    keep_best(&s);
    if (tgi_opt_iteration(r, s.e[s.order[0]].loss)) break;
    if (o->method == TG_METHOD_CEM) refit(o, &s, sigma0);
    else memcpy(s.mean, r->out->best, (size_t)s.n * sizeof *s.mean);
    for (int k = 0; k < s.n && o->method == TG_METHOD_RANDOM; k++) s.sigma[k] *= o->decay;
  }
  swarm_free(r, &s);
  return st;
}
