// optimize.c: runs a task's method and keeps the account of it.
#include "optim/optimize.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "tangere/base.h"
#include "base/layout.h"
#include "math/isa.h"
#include "optim/controls.h"
#include "optim/ensemble.h"
#include "optim/parameters.h"
#include "optim/verify.h"
#include "rollout/rollout.h"

double tgi_opt_now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

tgOptimizeOptions tg_optimize_default(void) { return (tgOptimizeOptions){.size = sizeof(tgOptimizeOptions)}; }

bool tgi_opt_numerical(tgStatus st) { return st == TG_NOT_CONVERGED || st == TG_ERR_NOT_FINITE || st == TG_ERR_INVALID; }

static void keep_best(tgOptRun *r, const double *x, const tgEvaluation *e) {
  tgOptimum *out = r->out;
  if (!(e->loss < out->best_loss)) return;
  out->best_loss = e->loss;
  r->best_distance = e->distance;
  memcpy(out->best, x, (size_t)out->n * sizeof *x);
}

void tgi_opt_note(tgOptRun *r, const double *x, const tgEvaluation *e) {
  tgOptimum *out = r->out;
  out->evaluations++;
  out->simulations++;
  if (e->status != TG_OK) return;
  if (out->evaluations == 1 || !isfinite(out->first_loss)) {
    out->first_loss = e->loss;
    memcpy(out->first, x, (size_t)out->n * sizeof *x);
  }
  keep_best(r, x, e);
}

tgStatus tgi_opt_roll(tgOptRun *r, const double *x, const tgRollAsk *ask, double *f, tgRolloutResult *result) {
  tgOptimum *out = r->out;
  tgStatus st = tgi_evaluator_roll(r->evaluator, ask, f, result);
  if (st != TG_OK && !tgi_opt_numerical(st)) {
    if (st != TG_CANCELLED) out->error = result->error;
    return st;
  }
  if (st != TG_OK) *f = INFINITY;
  if (st == TG_OK && ask->expansion != NULL) tgi_grad_worst(&out->grad, &result->grad);
  tgEvaluation e = {.status = st, .loss = *f, .distance = st == TG_OK ? tgi_evaluator_distance(r->evaluator) : INFINITY};
  tgi_opt_note(r, x, &e);
  return st;
}

// saved: the method's numbers, those named here, x, the best
enum { SAVED_EVALUATIONS, SAVED_INDEFINITE, SAVED_DONE, SAVED_LOSS, SAVED_DISTANCE, SAVED };
_Static_assert((int)SAVED == (int)TG_OPT_SAVED, "room for what is saved");

static int saved_count(const tgOptRun *r, const tgOptIterates *m) { return m->count + SAVED + 2 * r->out->n; }

static tgStatus record(tgOptRun *r, const tgOptIterates *m, const double *x, double f, bool done) {
  tgOptimum *out = r->out;
  size_t bytes = (size_t)out->n * sizeof *x;
  tgEvaluation e = {.status = TG_OK, .label = (int32_t)out->grad.label, .loss = f, .distance = INFINITY};
  double *saved = m->saved + m->count;
  memcpy(m->saved, m->state, (size_t)m->count * sizeof *m->saved);
  saved[SAVED_EVALUATIONS] = (double)out->evaluations;
  saved[SAVED_INDEFINITE] = out->indefinite;
  saved[SAVED_DONE] = done;
  saved[SAVED_LOSS] = out->best_loss;
  saved[SAVED_DISTANCE] = r->best_distance;
  memcpy(saved + SAVED, x, bytes);
  memcpy(saved + SAVED + out->n, out->best, bytes);
  return tgi_journal_add(r->journal, m->from, out->n, &e, m->saved, saved_count(r, m), out);
}

// the recorded iteration from x, if there is one
static bool replay(tgOptRun *r, const tgOptIterates *m, double *x, double *f, bool *done) {
  tgEvaluation e;
  tgOptimum *out = r->out;
  size_t bytes = (size_t)out->n * sizeof *x;
  const double *saved = m->saved + m->count;
  r->from_journal = tgi_journal_next(r->journal, x, out->n, &e, m->saved, saved_count(r, m), out);
  if (!r->from_journal) return false;
  memcpy(m->state, m->saved, (size_t)m->count * sizeof *m->saved);
  out->evaluations = out->simulations = (long)saved[SAVED_EVALUATIONS];
  out->indefinite = (int)saved[SAVED_INDEFINITE];
  *done = saved[SAVED_DONE] != 0;
  out->best_loss = saved[SAVED_LOSS];
  r->best_distance = saved[SAVED_DISTANCE];
  memcpy(x, saved + SAVED, bytes);
  memcpy(out->best, saved + SAVED + out->n, bytes);
  *f = e.loss;
  return true;
}

tgStatus tgi_opt_iterate(tgOptRun *r, const tgOptIterates *m, double *x) {
  double f;
  TG_TRY_OUTCOME(tgi_opt_eval(r, x, &f, NULL));
  for (bool done = false; !done && r->out->iterations < r->task->optimizer.iterations;) {
    memcpy(m->from, x, (size_t)r->out->n * sizeof *x);
    if (!replay(r, m, x, &f, &done)) {
      TG_TRY_OUTCOME(m->iterate(m->ctx, x, &f, &done));
      TG_TRY_OUTCOME(record(r, m, x, f, done));
    }
    if (tgi_opt_iteration(r, f)) break;
  }
  return TG_OK;
}

tgStatus tgi_opt_eval(tgOptRun *r, const double *x, double *f, double *g) {
  tgEvaluation e = {0};
  r->from_journal = tgi_journal_next(r->journal, x, r->out->n, &e, g, g != NULL ? r->out->n : 0, r->out);
  if (!r->from_journal) {
    tgRolloutResult result;
    tgStatus st = tg_evaluate(r->evaluator, x, f, g, NULL, NULL, r->o->cancel, &result);
    if (st == TG_OK && r->ensemble != NULL) st = tgi_ensemble_mean(r->ensemble, x, r->o->cancel, f, g, &result.grad, &result.error);
    if (st == TG_CANCELLED || (st < 0 && st != TG_ERR_NOT_FINITE && st != TG_ERR_INVALID)) {
      if (st < 0) r->out->error = result.error;
      return st;
    }
    e = (tgEvaluation){.status = st, .label = g != NULL ? (int32_t)result.grad.label : 0, .loss = st == TG_OK ? *f : INFINITY,
                       .distance = st == TG_OK ? tgi_evaluator_distance(r->evaluator) : INFINITY};
    if (st != TG_OK) r->out->error = result.error;
    if (g != NULL && (st == TG_OK || result.grad.label != TG_GRAD_EXACT)) tgi_grad_worst(&r->out->grad, &result.grad);
    tgStatus written = tgi_journal_add(r->journal, x, r->out->n, &e, g, g != NULL && st == TG_OK ? r->out->n : 0, r->out);
    if (written < 0) return written;
  }
  tgi_opt_note(r, x, &e);
  if (r->ensemble != NULL) r->out->simulations += tgi_ensemble_size(r->task);
  *f = e.loss;
  return (tgStatus)e.status;
}

bool tgi_opt_iteration(tgOptRun *r, double f) {
  tgOptimum *out = r->out;
  out->curve_iteration[out->ncurve] = out->iterations;
  out->curve_loss[out->ncurve] = f;
  out->curve_stage[out->ncurve] = r->stage;
  out->curve_best[out->ncurve++] = out->best_loss;
  out->iterations++;
  double t = tgi_opt_now();
  if (!r->from_journal && r->live_iterations++ == 0) r->live_began = t;
  int left = r->task->optimizer.iterations - out->iterations, lived = r->live_iterations - 1;
  tgProgress p = {.stage = r->stage, .stages = r->stages, .iteration = out->iterations, .iterations = r->task->optimizer.iterations,
                  .evaluations = out->evaluations, .loss = f,
                  .best = out->best_loss, .seconds = t - r->began, .window = r->task->yaml->receding != NULL, .replayed = r->from_journal,
                  .so_far = out,
                  .seconds_left = lived > 0 ? (t - r->live_began) / lived * left : -1};
  if (r->o->progress != NULL) r->o->progress(r->o->progress_ctx, &p);
  return tgi_task_stops(r->task, out->best_loss, r->best_distance) || (r->until > 0 && t >= r->until);
}

void tgi_opt_clamp(const tgOptRun *r, double *x) {
  for (int i = 0; i < r->task->n; i++) x[i] = fmin(fmax(x[i], r->low[i]), r->high[i]);
}

uint64_t tgi_model_key(uint64_t h, const tgModel *m) {
  for (int i = 0; i < tg_model_field_count(m); i++) {
    tgField f = tg_model_field(m, i);
    size_t n = (size_t)f.rows * (size_t)f.cols;
    if (n > 0) h = tg_hash(h, f.data, n * (f.scalar == TG_SCALAR_REAL ? sizeof(tgReal) : sizeof(int)));
  }
  return h;
}

static uint64_t losses_key(uint64_t h, const tgTask *t) {
  for (int i = 0; i < t->nterm; i++) {
    const tgTerm *e = &t->term[i];
    int ints[] = {(int)e->kind, (int)e->when, e->index, e->other, e->step, e->axis[0], e->axis[1], e->axis[2]};
    h = tg_hash(h, ints, sizeof ints);
    if (e->kind == TG_TERM_POSE) h = tg_hash(h, e->reference, (size_t)t->model->nq * sizeof *e->reference);
    h = tg_hash(h, e->target, sizeof e->target);
    h = tg_hash(h, &e->weight, sizeof e->weight);
    h = tg_hash(h, &e->tolerance, sizeof e->tolerance);
  }
  return h;
}

uint64_t tgi_contact_key(uint64_t h, const tgContact *contact) {
  const char *word = tg_contact_word(contact);
  h = tg_hash(h, word, strlen(word));
  for (int i = 0; tg_contact_option(word, i).name != NULL; i++) {
    tgOption o = tg_contact_option(word, i);
    if (o.neutral) continue;
    double value = tg_contact_get(tg_contact_options(contact), o.name);
    h = tg_hash(tg_hash(h, o.name, strlen(o.name)), &value, sizeof value);
  }
  return h;
}

static uint64_t method_key(uint64_t h, const YamlOptimizer *o) {
  int ints[] = {(int)o->method, o->population, o->elites, o->keep, o->memory, o->shot, (int)o->smoothing, o->patience, o->plans};
  double reals[] = {o->rate, o->decay, o->beta1, o->beta2, o->sigma, o->correlation, o->momentum, o->tolerance};
  return tg_hash(tg_hash(h, ints, sizeof ints), reals, sizeof reals);
}

// What ends the plans of a receding horizon and begins its searches: the motion that is done goes on from there.
static uint64_t plans_key(uint64_t h, const tgTask *t) {
  const YamlReceding *y = t->yaml->receding;
  const YamlSuccess *s = t->yaml->success;
  int ints[] = {y->horizon, y->apply, y->hold, y->aim, t->optimizer.iterations, t->search.plans, t->search.iterations};
  double reals[] = {t->stop_loss, t->stop_distance};
  h = tg_hash(tg_hash(h, ints, sizeof ints), reals, sizeof reals);
  if (s != NULL) h = tg_hash(h, &s->distance, sizeof s->distance);
  return s != NULL && s->loss != NULL ? tg_hash(h, s->loss, sizeof *s->loss) : h;
}

// what must be equal for a journal to be taken up, beside where it starts: all that a loss and its gradient depend on at given decision
// variables, and how far these may go
static uint64_t problem_key(const tgTask *t, const tgOptRun *r) {
  uint64_t h = tg_hash(TG_HASH_START, &r->o->seed, sizeof r->o->seed);
  const YamlControls none = {0}, *u = t->yaml->controls != NULL ? t->yaml->controls : &none;
  int ints[] = {t->n, t->steps, t->ncontrol, t->nterm, t->nstate, (int)u->basis, u->every, u->terms};
  double reals[] = {t->h, u->amplitude, u->frequency};
  h = tg_hash(h, TG_VERSION_TEXT, sizeof TG_VERSION_TEXT);
  const char *isa = tgi_isa_name(tgi_isa());   // other vectors, other roundings
  h = tg_hash(h, isa, strlen(isa));
  h = tg_hash(h, ints, sizeof ints);
  h = tg_hash(h, reals, sizeof reals);
  h = method_key(h, &t->optimizer);
  if (t->search.plans > 0) h = method_key(h, &t->search);
  h = tgi_contact_key(h, t->contact);
  if (t->gradient != NULL) h = tgi_contact_key(h, t->gradient);
  h = tg_hash(h, t->q0, (size_t)t->model->nq * sizeof *t->q0);
  h = tg_hash(h, t->v0, (size_t)tgi_nw(t->model) * sizeof *t->v0);
  const double *const vectors[] = {r->low, r->high};
  for (int i = 0; i < 2; i++) h = tg_hash(h, vectors[i], (size_t)t->n * sizeof(double));
  for (int i = 0; i < t->ninitial; i++) {
    int var[] = {t->initial[i].dof, t->initial[i].velocity};
    h = tg_hash(h, var, sizeof var);
  }
  for (int i = 0; i < t->nstate; i++) {
    int var[] = {t->state[i].dof, t->state[i].velocity};
    double box[] = {t->state[i].low, t->state[i].high};
    h = tg_hash(tg_hash(h, var, sizeof var), box, sizeof box);
  }
  if (t->yaml->receding != NULL) h = plans_key(h, t);
  for (int i = 0; i < t->nparam; i++) h = tg_hash(h, t->param[i].label, strlen(t->param[i].label));
  h = tgi_ensemble_key(h, r->ensemble);
  return losses_key(tgi_model_key(h, t->model), t);
}

tgStatus tgi_opt_run_method(tgOptRun *r, double *x, double *work) {
  switch (r->task->optimizer.method) {
    case TG_METHOD_LBFGS: return tgi_opt_lbfgs(r, x);
    case TG_METHOD_RANDOM:
    case TG_METHOD_CEM: return tgi_opt_sampling(r, x);
    case TG_METHOD_ILQR:
    case TG_METHOD_DDP: return tgi_opt_ilqr(r, x);
    case TG_METHOD_GAUSS_NEWTON: return tgi_opt_gauss_newton(r, x);
    case TG_METHOD_SHOOTING: return tgi_opt_shooting(r, x);
    default: return tgi_opt_first_order(r, x, work);
  }
}

// the outcome, then the work arrays of the run, in one block that is freed with the outcome
typedef struct Owned { tgOptimum optimum; tgAllocator alloc; } Owned;

static void place(const tgTask *task, tgLayout *l, tgOptimum *out, tgOptRun *r, double **x, double **work) {
  size_t n = (size_t)task->n, nc = (size_t)task->optimizer.iterations + 1;
  double **arrays[] = {&out->first, &out->best, &out->curve_iteration, &out->curve_loss, &out->curve_best, &out->curve_stage, x, work,
                       &r->low, &r->high};
  size_t counts[] = {n, n, nc, nc, nc, nc, n, 4 * n, n, n};
  for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) *arrays[i] = tgi_place(l, counts[i], sizeof(double));
}

tgOptimum *tgi_optimum_make(const tgTask *task, tgOptRun *r, double **x, double **work) {
  tgLayout l = {.base = NULL};
  tgOptimum count;
  tgi_place(&l, 1, sizeof(Owned));
  place(task, &l, &count, r, x, work);
  char *block = task->alloc.alloc(task->alloc.ctx, l.used);
  if (block == NULL) return NULL;
  memset(block, 0, l.used);
  l = (tgLayout){.base = block};
  Owned *owned = tgi_place(&l, 1, sizeof *owned);
  *owned = (Owned){.optimum = {.n = task->n, .first_loss = NAN, .best_loss = INFINITY, .grad = {.converged = true, .first_step = -1}},
                   .alloc = task->alloc};
  place(task, &l, &owned->optimum, r, x, work);
  return &owned->optimum;
}

void tg_optimum_free(tgOptimum *optimum) {
  if (optimum == NULL) return;
  Owned *owned = (Owned *)optimum;
  tgAllocator a = owned->alloc;
  a.free(a.ctx, owned);
}

tgStatus tgi_opt_refuse(const tgTask *t, tgError *error) {
  tgMethod method = t->optimizer.method;
  bool by_state = method == TG_METHOD_ILQR || method == TG_METHOD_DDP || method == TG_METHOD_SHOOTING || method == TG_METHOD_GAUSS_NEWTON;
  if (t->optimizer.smoothing != TG_SMOOTH_NONE && method != TG_METHOD_ADAM && method != TG_METHOD_DESCENT && method != TG_METHOD_BUNDLE)
    return tgi_error(error, TG_ERR_UNSUPPORTED,
                     "method %s does not take a smoothed gradient (optimizer: smoothing); adam and descent do", tg_task_method(t));
  if (t->stage != NULL) TG_TRY(tgi_ensemble_check(t, method, t->optimizer.smoothing, error));
  if (t->nstate > 0 && method != TG_METHOD_SHOOTING)
    return tgi_error(error, TG_ERR_UNSUPPORTED, "method %s does not take bounds on states (states:); shooting does", tg_task_method(t));
  if (by_state && tg_contact_get(tg_contact_options(t->contact), "aware_gradient") > 0)
    return tgi_error(error, TG_ERR_UNSUPPORTED,
                     "method %s takes the step's Jacobians, which are exact; aware_gradient is for methods that take "
                     "adjoints, as adam and lbfgs", tg_task_method(t));
  for (int i = 0; by_state && i < t->nterm; i++)
    if (t->term[i].when == TG_TERM_LEAST)
      return tgi_error(error, TG_ERR_UNSUPPORTED,
                       "method %s does not take %s: the least of the motion is a term for adam, descent, lbfgs, random and cem",
                       tg_task_method(t), t->term[i].label);
  if (t->nparam > 0 && by_state)
    return tgi_error(error, TG_ERR_UNSUPPORTED,
                     "method %s decides controls and the initial state, not parameters; adam, lbfgs and others do",
                     tg_task_method(t));
  if (t->search.plans == 0) return TG_OK;
  tgTask searching = *t;
  searching.optimizer = t->search;
  searching.search.plans = 0;
  return tgi_opt_refuse(&searching, error);
}

static tgStatus run(tgOptRun *r, const tgTask *task, double *x, double *work) {
  tgOptimum *out = r->out;
  tg_task_box(task, r->low, r->high);
  if (r->o->start != NULL) memcpy(x, r->o->start, (size_t)out->n * sizeof *x);
  else tg_task_start(task, r->o->seed, x);
  tgi_opt_clamp(r, x);
  memcpy(out->first, x, (size_t)out->n * sizeof *x);
  memcpy(out->best, x, (size_t)out->n * sizeof *x);
  if (tgi_ensemble_size(task) > 0) {
    r->ensemble = tgi_ensemble_create(task, r->o->tape_bytes, &out->error);
    if (r->ensemble == NULL) return out->error.status;
  }
  tgJournalKey key = {.problem = problem_key(task, r), .start = tg_hash(TG_HASH_START, x, (size_t)task->n * sizeof *x),
                      .follows = r->stage > 0};
  r->journal = tgi_journal_open(r->o->journal, r->o->resume, r->o->overwrite, &key, task->n, &r->alloc, &out->error);
  if (r->journal != NULL) r->evaluator = tg_evaluator_create(task, r->o->tape_bytes, &out->error);
  if (r->evaluator == NULL) return out->error.status;
  return task->yaml->receding != NULL ? tgi_opt_receding(r, task, x) : tgi_opt_run_method(r, x, work);
}

// the best is replayed, where there is a criterion to hold it to; a run that was cut off has no time for that
static void verify(const tgTask *task, const tgOptimizeOptions *o, tgOptimum *out) {
  out->verification = (tgVerification){.broken = -1};
  out->reached = out->met;
  bool asked = !o->unverified && (task->yaml->success != NULL || task->yaml->verify != NULL);
  if (!asked || out->status != TG_OK || !isfinite(out->best_loss)) return;
  tgStatus st = tg_verify(task, out->best, o->cancel, &out->verification, &out->error);
  if (st != TG_OK) out->status = st;
  out->reached = out->met && st == TG_OK && out->verification.broken < 0;
}

tgOptimum *tgi_optimize(const tgTask *task, const tgOptimizeOptions *options, int stage) {
  tgTask outer = *task;
  tgOptRun r = {.task = &outer, .o = options, .alloc = task->alloc, .began = tgi_opt_now(), .best_distance = INFINITY, .stage = stage,
                .stages = (int)task->yaml->nrefine};
  double *x, *work;
  // with a receding horizon an iteration is a window
  if (task->yaml->receding != NULL) outer.optimizer.iterations = tgi_receding_windows(task);
  tgOptimum *out = tgi_optimum_make(&outer, &r, &x, &work);
  if (out == NULL) return NULL;
  r.out = out;
  if (r.o->size != sizeof *r.o)
    out->status = tgi_error(&out->error, TG_ERR_ARG, "tgOptimizeOptions must come from tg_optimize_default of this version");
  else out->status = tgi_opt_refuse(task, &out->error);
  if (out->status != TG_OK) return out;
  out->status = run(&r, task, x, work);
  tg_evaluator_free(r.evaluator);
  tgi_ensemble_free(r.ensemble);
  tgi_journal_close(r.journal);
  out->met = isfinite(out->best_loss) && tgi_task_met(task, out->best_loss, r.best_distance);
  out->stage = stage;
  verify(task, options, out);
  out->seconds = tgi_opt_now() - r.began;
  return out;
}
