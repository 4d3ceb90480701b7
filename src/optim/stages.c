// stages.c: what tg_optimize does around single runs: several starts, of which the best goes on, the stages of a refinement, and attempts
// at all of this.
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/threads.h"
#include "optim/lock.h"
#include "optim/optimize.h"
#include "optim/verify.h"
#include "optim/view.h"
#include "rollout/rollout.h"

// ---- starts ----

enum { JOURNAL = 1200 };   // room for a path: one that the lock takes (tgi_run_lock), with what is put behind it here

typedef struct Starts Starts;

// one start: that of seed + index
typedef struct Start {
  Starts *all;
  int index;
  char journal[JOURNAL];
  tgOptimum *out;
} Start;

struct Starts {
  const tgTask *task;
  const tgOptimizeOptions *o;
  int n, workers;
  pthread_mutex_t lock;   // of the caller's progress
  Start *start;
};

static void progress(void *ctx, const tgProgress *p) {
  Start *s = ctx;
  tgProgress own = *p;
  own.start = s->index;
  own.starts = s->all->n;
  pthread_mutex_lock(&s->all->lock);
  s->all->o->progress(s->all->o->progress_ctx, &own);
  pthread_mutex_unlock(&s->all->lock);
}

static void run_start(void *ctx, int worker, int item) {
  Starts *all = ctx;
  (void)worker;
  Start *s = &all->start[item];
  tgOptimizeOptions o = *all->o;
  *s = (Start){.all = all, .index = item};
  o.seed += (uint64_t)item;
  if (all->workers > 1) o.threads = 1;
  if (o.progress != NULL) o.progress = progress, o.progress_ctx = s;
  if (o.journal != NULL && item > 0) snprintf(s->journal, sizeof s->journal, "%.1150s.start%d", o.journal, item), o.journal = s->journal;
  s->out = tgi_optimize(all->task, &o, 0);
}

// it could not be run, as where its journal is another's; a motion that failed is a result
static bool not_run(const tgOptimum *o) { return o->status < 0 && (!tgi_opt_numerical(o->status) || o->evaluations == 0); }

// Which motion holds better: there is one, it is reached, is met, has less left in its worst replay. 1: a, -1: b, 0: neither.
static int holds_better(const tgTask *task, const tgOptimum *a, const tgOptimum *b) {
  if (isfinite(a->best_loss) != isfinite(b->best_loss)) return isfinite(a->best_loss) ? 1 : -1;
  if (a->reached != b->reached) return a->reached ? 1 : -1;
  if (a->met != b->met) return a->met ? 1 : -1;
  double left = tgi_verify_worst(task, &a->verification), other = tgi_verify_worst(task, &b->verification);
  return (left < other) - (left > other);
}

// the greatest loss of a motion and of the replays that it must hold in; infinite where one of these ends early
static double worst_loss(const tgOptimum *o) {
  double worst = o->best_loss;
  for (int i = 0; i < o->verification.n; i++) {
    const tgVerifyRow *r = &o->verification.row[i];
    if (r->required) worst = isfinite(r->loss) ? fmax(worst, r->loss) : INFINITY;
  }
  return worst;
}

// a is better than b: it came to its end, holds better. Of two that are not met the loss tells which is nearer to what the method looked
// for: what is left at the end need not count yet (a loss with a `stage`), so distances do not.
static bool better_start(const tgTask *task, const tgOptimum *a, const tgOptimum *b) {
  if ((a->status == TG_OK) != (b->status == TG_OK)) return a->status == TG_OK;
  double left = worst_loss(a), other = worst_loss(b);
  bool missed = isfinite(a->best_loss) && isfinite(b->best_loss) && !a->met && !b->met;
  if (missed && left != other) return left < other;
  int which = missed ? 0 : holds_better(task, a, b);
  return which != 0 ? which > 0 : a->best_loss < b->best_loss;
}

// The best of them, with the account of all; where one could not be run, that one, which says why. NULL: no memory.
static tgOptimum *choose(Starts *all) {
  tgOptimum *best = NULL, *refused = NULL;
  long evaluations = 0, simulations = 0;
  tgStatus cut = TG_OK;
  bool lacking = false;
  for (int i = 0; i < all->n; i++) {
    tgOptimum *one = all->start[i].out;
    lacking = lacking || one == NULL;
    if (one == NULL) continue;
    one->start = i;
    evaluations += one->evaluations;
    simulations += one->simulations;
    if (one->status == TG_CANCELLED) cut = TG_CANCELLED;
    if (refused == NULL && not_run(one)) refused = one;
    if (best == NULL || better_start(all->task, one, best)) best = one;
  }
  if (refused != NULL) best = refused;
  for (int i = 0; i < all->n; i++)
    if (lacking || all->start[i].out != best) tg_optimum_free(all->start[i].out);
  if (lacking || best == NULL) return NULL;
  best->evaluations = evaluations;
  best->simulations = simulations;
  if (cut != TG_OK && refused == NULL) best->status = cut;
  return best;
}

static tgOptimum *from_starts(const tgTask *task, const tgOptimizeOptions *o) {
  int cores = o->threads > 0 ? o->threads : tgi_cores();
  Starts all = {.task = task, .o = o, .n = tg_task_starts(task)};
  if (all.n == 1 || o->start != NULL || o->size != sizeof *o) return tgi_optimize(task, o, 0);
  double began = tgi_opt_now();
  all.workers = cores < all.n ? cores : all.n;
  if (task->optimizer.method == TG_METHOD_SHOOTING) all.workers = 1;   // Ipopt's linear solver keeps a state of the whole process
  all.start = task->alloc.alloc(task->alloc.ctx, (size_t)all.n * sizeof *all.start);
  tgiPool *pool = all.start != NULL ? tgi_pool_create(all.workers, &task->alloc) : NULL;
  tgOptimum *best = NULL;
  if (pool != NULL && pthread_mutex_init(&all.lock, NULL) == 0) {
    if (tgi_pool_run(pool, all.n, run_start, &all) == TG_OK) best = choose(&all);
    pthread_mutex_destroy(&all.lock);
  }
  tgi_pool_free(pool);
  task->alloc.free(task->alloc.ctx, all.start);
  if (best != NULL) best->seconds = tgi_opt_now() - began;
  return best;
}

// ---- stages ----

static void append_curve(tgOptimum *to, const tgOptimum *from) {
  for (int i = 0; i < from->ncurve; i++, to->ncurve++) {
    to->curve_iteration[to->ncurve] = to->ncurve;
    to->curve_loss[to->ncurve] = from->curve_loss[i];
    to->curve_best[to->ncurve] = from->curve_best[i];
    to->curve_stage[to->ncurve] = from->curve_stage[i];
  }
}

// Both stages as one outcome, which has the better motion, the account of both, and the status of the later. Frees them. NULL: no memory.
static tgOptimum *join(const tgTask *task, tgOptimum *before, tgOptimum *after) {
  tgTask sized = *task;
  double *x, *work;
  tgOptRun r = {.task = &sized};
  sized.optimizer.iterations = before->ncurve + after->ncurve;
  tgOptimum *out = tgi_optimum_make(&sized, &r, &x, &work);
  if (out != NULL) {
    const tgOptimum *better = after->status == TG_OK && holds_better(task, after, before) >= 0 ? after : before;
    tgOptimum arrays = *out;
    *out = *better;
    out->first = arrays.first, out->best = arrays.best;
    out->curve_iteration = arrays.curve_iteration, out->curve_loss = arrays.curve_loss, out->curve_best = arrays.curve_best;
    out->curve_stage = arrays.curve_stage;
    out->ncurve = 0;
    memcpy(out->first, before->first, (size_t)out->n * sizeof *x);
    memcpy(out->best, better->best, (size_t)out->n * sizeof *x);
    append_curve(out, before);
    append_curve(out, after);
    out->status = after->status == TG_CANCELLED ? TG_CANCELLED : TG_OK;
    out->error = after->status != TG_OK && after->status != TG_CANCELLED ? after->error : better->error;
    out->start = before->start;
    out->first_loss = before->first_loss;
    out->iterations = before->iterations + after->iterations;
    out->evaluations = before->evaluations + after->evaluations;
    out->simulations = before->simulations + after->simulations;
    out->indefinite = before->indefinite + after->indefinite;
    out->seconds = before->seconds + after->seconds;
    out->grad = before->grad;
    tgi_grad_worst(&out->grad, &after->grad);
  }
  tg_optimum_free(before);
  tg_optimum_free(after);
  return out;
}

// stage k from the best so far, of which it becomes part. Its journal stands beside that of the task's own stage.
static tgOptimum *refine(const tgTask *task, int k, const tgOptimizeOptions *options, tgOptimum *out) {
  tgOptimizeOptions o = *options;
  char journal[JOURNAL];
  o.start = out->best;
  if (o.journal != NULL) snprintf(journal, sizeof journal, "%.1150s.%d", o.journal, k), o.journal = journal;
  tgTask *stage = tgi_task_stage(task, k, &out->error);
  if (stage == NULL) {
    out->status = out->error.status;
    return out;
  }
  tgOptimum *after = tgi_optimize(stage, &o, k);
  tg_task_free(stage);
  if (after == NULL) {
    out->status = tgi_error(&out->error, TG_ERR_MEMORY, "out of memory for stage %d", k);
    return out;
  }
  if (not_run(after)) {
    out->status = after->status;
    out->error = after->error;
    tg_optimum_free(after);
    return out;
  }
  return join(task, out, after);
}

// an outcome of a run that could not begin. NULL: no memory.
static tgOptimum *refused(const tgTask *task, const tgError *error) {
  tgOptRun r = {.task = task};
  double *x, *work;
  tgOptimum *out = tgi_optimum_make(task, &r, &x, &work);
  if (out == NULL) return NULL;
  out->status = error->status;
  out->error = *error;
  out->verification.broken = -1;
  return out;
}

// One attempt: the starts, and the stages of refinement. *ended: it was cut off or could not be run, and there is nothing to try again.
static tgOptimum *all_stages(const tgTask *task, const tgOptimizeOptions *o, bool *ended) {
  tgOptimum *out = from_starts(task, o);
  *ended = out == NULL || out->status == TG_CANCELLED || not_run(out);
  // a motion that holds needs no more stages
  for (int k = 1; out != NULL && k <= tg_task_stages(task); k++) {
    if (out->status != TG_OK || o->unrefined || o->unverified || (out->reached && out->verification.n > 0)) break;
    out = refine(task, k, o, out);
    *ended = out == NULL || out->status != TG_OK;
  }
  return out;
}

// ---- attempts ----

// an attempt, which its progress tells
typedef struct Attempt { const tgOptimizeOptions *o; int index, of; } Attempt;

static void attempt_progress(void *ctx, const tgProgress *p) {
  const Attempt *a = ctx;
  tgProgress own = *p;
  own.attempt = a->index;
  own.attempts = a->of;
  a->o->progress(a->o->progress_ctx, &own);
}

// of two motions: that which holds better; where neither does, in one stage, the smaller loss
static bool later_is_better(const tgTask *task, const tgOptimum *before, const tgOptimum *after) {
  int which = holds_better(task, after, before);
  return which > 0 || (which == 0 && after->stage == before->stage && after->best_loss < before->best_loss);
}

// the better of two, which has the account of both; frees the other
static tgOptimum *better_attempt(const tgTask *task, tgOptimum *before, tgOptimum *after, bool ended) {
  bool ok = after->status == TG_OK || after->status == TG_CANCELLED, was = before->status == TG_OK;
  bool refused = ended && after->status != TG_CANCELLED;
  bool later = refused || (ok != was ? ok : later_is_better(task, before, after));
  tgOptimum *better = later ? after : before, *other = later ? before : after;
  tgStatus cut = after->status == TG_CANCELLED ? TG_CANCELLED : better->status;
  better->status = cut;
  better->evaluations += other->evaluations;
  better->simulations += other->simulations;
  better->seconds += other->seconds;
  tg_optimum_free(other);
  return better;
}

// attempts one after another, each with seeds and journals of its own, until one is reached
static tgOptimum *from_attempts(const tgTask *task, const tgOptimizeOptions *options) {
  bool single = options->size != sizeof *options || options->start != NULL || options->unrefined || options->unverified, ended = false;
  int n = single ? 1 : tg_task_attempts(task);
  tgOptimum *best = NULL;
  for (int k = 0; k < n && !ended && (best == NULL || !best->reached); k++) {
    tgOptimizeOptions o = *options;
    Attempt attempt = {.o = options, .index = k, .of = n};
    char journal[JOURNAL];
    o.seed += (uint64_t)k * (uint64_t)tg_task_starts(task);
    if (o.progress != NULL && n > 1) o.progress = attempt_progress, o.progress_ctx = &attempt;
    if (o.journal != NULL && k > 0) snprintf(journal, sizeof journal, "%.1100s.attempt%d", options->journal, k), o.journal = journal;
    tgOptimum *one = all_stages(task, &o, &ended);
    if (one != NULL) one->attempt = k;
    if (one == NULL || best == NULL) {
      tg_optimum_free(best);
      best = one;
    } else best = better_attempt(task, best, one, ended);
  }
  return best;
}

// ---- trust ----

// Trust at x of the task as it is there. A motion that ends early has none, nor has one whose gradient the contact model of a stage that
// does without refuses.
static tgStatus trust_at(const tgTask *task, const double *x, const tgOptimizeOptions *o, tgTrustAt *at, tgError *error) {
  tgTrustOptions how = tg_trust_default();
  how.quick = true;
  how.seed = o->seed;
  tgEvaluator *e = tg_evaluator_create(task, o->tape_bytes, error);
  if (e == NULL) return TG_ERR_MEMORY;
  tgStatus st = tg_evaluator_trust(e, x, &how, o->cancel, &at->trust, error);
  tg_evaluator_free(e);
  at->told = st == TG_OK;
  return tgi_opt_numerical(st) || st == TG_ERR_UNSUPPORTED ? TG_OK : st;
}

// the last place on the curve of its stage that has the least loss of the motion that is kept; of windows, whose losses are of their plans,
// the last
static double place_of_best(const tgOptimum *o) {
  int last = -1;
  for (int i = o->ncurve - 1; i >= 0; i--) {
    if (o->curve_stage[i] != o->stage) continue;
    if (last < 0) last = i;
    if (o->curve_loss[i] == o->best_loss) return o->curve_iteration[i];
  }
  return last >= 0 ? o->curve_iteration[last] : 0;
}

// of a run that came to its end: a function of what it found alone, so that one that was taken up tells the same
static void tell_trust(const tgTask *task, const tgOptimizeOptions *o, tgOptimum *out) {
  tgError error = {0};
  tgTask *stage = out->stage > 0 ? tgi_task_stage(task, out->stage, &error) : NULL;
  tgStatus st = out->stage > 0 && stage == NULL ? error.status : trust_at(task, out->first, o, &out->trust_first, &error);
  out->trust_best.iteration = place_of_best(out);
  if (st == TG_OK) st = trust_at(stage != NULL ? stage : task, out->best, o, &out->trust_best, &error);
  tg_task_free(stage);
  if (st == TG_OK) return;
  out->status = st;
  if (st != TG_CANCELLED) out->error = error;
}

// A run that overwrites another takes its journals of starts, stages and attempts away; one that is refused takes nothing.
static tgStatus clear_parts(const tgTask *task, const tgOptimizeOptions *o, tgError *error) {
  tgError refusal = {0};
  bool overwrites = o->size == sizeof *o && o->journal != NULL && o->overwrite && !o->resume;
  return overwrites && tgi_opt_refuse(task, &refusal) == TG_OK ? tgi_journal_clear_parts(o->journal, error) : TG_OK;
}

tgOptimum *tg_optimize(const tgTask *task, const tgOptimizeOptions *options) {
  if (task == NULL) return NULL;
  tgOptimizeOptions standard = tg_optimize_default();
  const tgOptimizeOptions *o = options != NULL ? options : &standard;
  tgError error = {0};
  tgRunLock lock;
  if (tgi_run_lock(&lock, o->size == sizeof *o ? o->journal : NULL, &error) != TG_OK) return refused(task, &error);
  if (clear_parts(task, o, &error) != TG_OK) {
    tgi_run_unlock(&lock);
    return refused(task, &error);
  }
  tgOptimum *out = from_attempts(task, o);
  if (out != NULL && out->status == TG_OK && o->trust && isfinite(out->best_loss)) tell_trust(task, o, out);
  tgi_run_unlock(&lock);
  return out;
}

int tg_task_stages(const tgTask *task) { return task != NULL && task->view_of == NULL ? (int)task->yaml->nrefine : 0; }

tgTask *tg_task_stage(const tgTask *task, int k, tgError *error) {
  if (task != NULL && k >= 1 && k <= tg_task_stages(task)) return tgi_task_stage(task, k, error);
  tgi_error(error, TG_ERR_ARG, "the task has %d stages of refinement after its own, not %d", tg_task_stages(task), k);
  return NULL;
}
