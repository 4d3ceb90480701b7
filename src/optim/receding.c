// receding.c: receding horizon around any method: plan over a window from the present state, do the first steps of the plan, shift the rest
// as the next window's start, and so on to the end of the task. What is returned are the controls that were done.
//
// A window is a stretch of the task: running terms keep their share of the whole horizon, terms at the end look at the
// window's end, terms at a time count in the windows that hold it. So a window that reaches to the end of the task asks
// for what is left of the whole problem.
#include <math.h>
#include <string.h>

#include "base/layout.h"
#include "optim/controls.h"
#include "optim/optimize.h"
#include "sim/sim.h"

typedef struct Receding {
  tgOptRun *r;
  const tgTask *task;
  int horizon, apply, every, nu;
  tgSim *sim;                    // the motion that is done
  double *q, *v, *plan, *start;  // where it stands; the window's controls; the file's start
  tgTask window;
  tgOptimum out;                 // of a window
  tgOptRun sub;
  double *work;                  // 4 n
  void *block;
} Receding;

int tgi_receding_windows(const tgTask *t) {
  const YamlReceding *y = t->yaml->receding;
  return (t->steps + y->apply - 1) / y->apply;
}

static void place(Receding *s, tgLayout *l) {
  const tgModel *m = s->task->model;
  size_t n = (size_t)s->task->n, nc = (size_t)s->task->optimizer.iterations + 1;
  double **arrays[] = {&s->q, &s->v, &s->plan, &s->start, &s->out.first, &s->out.best, &s->out.curve_iteration, &s->out.curve_loss,
                       &s->out.curve_best, &s->sub.low, &s->sub.high, &s->work};
  size_t sizes[] = {(size_t)m->nq, (size_t)tgi_nw(m), n, n, n, n, nc, nc, nc, n, n, 4 * n};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) *arrays[i] = tgi_place(l, sizes[i], sizeof(double));
}

static tgStatus make(Receding *s, tgOptRun *r, const tgTask *task) {
  const YamlReceding *y = task->yaml->receding;
  *s = (Receding){.r = r, .task = task, .horizon = y->horizon, .apply = y->apply, .every = tgi_controls_every(task), .nu = task->model->nu};
  tgLayout l = {.base = NULL};
  place(s, &l);
  s->block = r->alloc.alloc(r->alloc.ctx, l.used);
  if (s->block == NULL) return tgi_error(&r->out->error, TG_ERR_MEMORY, "out of memory for a receding horizon of %d steps", s->horizon);
  memset(s->block, 0, l.used);
  l = (tgLayout){.base = s->block};
  place(s, &l);
  s->sim = tg_sim_create(task->model, task->contact, &r->alloc, &r->out->error);
  if (s->sim == NULL) return r->out->error.status;
  memcpy(s->sim->qpos, task->q0, (size_t)task->model->nq * sizeof *s->q);
  tgi_sim_put_w(s->sim, task->v0);
  return TG_OK;
}

// the window of `steps` steps from step `from`, its box and a clean account
static void open_window(Receding *s, int from, int steps) {
  tgTask *w = &s->window;
  double *const *arrays[] = {&s->out.first, &s->out.best, &s->out.curve_iteration, &s->out.curve_loss, &s->out.curve_best};
  double *keep[5];
  for (int i = 0; i < 5; i++) keep[i] = *arrays[i];
  memcpy(s->q, s->sim->qpos, (size_t)s->task->model->nq * sizeof *s->q);
  tgi_sim_take_w(s->sim, s->v);
  *w = *s->task;
  w->q0 = s->q;
  w->v0 = s->v;
  w->steps = steps;
  w->offset = from;
  w->end = from + steps;
  w->n = w->ncontrol = tgi_controls_count(w);
  s->out = (tgOptimum){.n = w->n, .first = keep[0], .best = keep[1], .curve_iteration = keep[2], .curve_loss = keep[3],
                       .curve_best = keep[4], .first_loss = NAN, .best_loss = INFINITY,
                       .grad = {.converged = true, .first_step = -1}};
}

static void take_account(Receding *s) {
  tgOptimum *out = s->r->out, *w = &s->out;
  out->evaluations += w->evaluations;
  out->simulations += w->simulations;
  if (w->grad.label > out->grad.label) out->grad = w->grad;
}

// plans over the window from s->plan, which becomes the best plan
static tgStatus plan(Receding *s, const tgOptimizeOptions *o) {
  tgOptRun *r = s->r;
  double *low = s->sub.low, *high = s->sub.high;
  s->sub = (tgOptRun){.task = &s->window, .o = o, .alloc = r->alloc, .journal = r->journal, .out = &s->out, .began = r->began,
                      .best_distance = INFINITY, .low = low, .high = high};
  tgi_controls_box(&s->window, low, high);
  tgi_opt_clamp(&s->sub, s->plan);
  s->sub.evaluator = tg_evaluator_create(&s->window, o->tape_bytes, &s->out.error);
  tgStatus st = s->sub.evaluator == NULL ? s->out.error.status : tgi_opt_run_method(&s->sub, s->plan, s->work);
  tg_evaluator_free(s->sub.evaluator);
  take_account(s);
  r->from_journal = s->sub.from_journal;
  if (st != TG_OK) {
    if (st != TG_CANCELLED) r->out->error = s->out.error;
    return st;
  }
  memcpy(s->plan, s->out.best, (size_t)s->window.n * sizeof *s->plan);
  return TG_OK;
}

// does `steps` steps of the plan
static tgStatus execute(Receding *s, int from, int steps) {
  for (int t = 0; t < steps; t++) {
    memcpy(s->sim->ctrl, s->plan + t / s->every * s->nu, (size_t)s->nu * sizeof *s->plan);
    tgStatus st = tg_sim_step_growing(s->sim, s->task->h, NULL);
    if (st != TG_OK)
      return tgi_error(&s->r->out->error, st, "step %d of the executed motion: %.500s", from + t, tg_sim_error(s->sim)->text);
  }
  return TG_OK;
}

// what a cancelled run leaves: the controls that were done, the rest of the plan, then the file's start
static void leave(Receding *s, const double *x, int from) {
  tgOptimum *out = s->r->out;
  int at = from / s->every * s->nu;
  memcpy(out->best, x, (size_t)at * sizeof *x);
  memcpy(out->best + at, s->plan, (size_t)s->window.n * sizeof *x);
  out->best_loss = s->out.best_loss;
}

static tgStatus run(Receding *s, double *x) {
  tgOptRun *r = s->r;
  tgOptimizeOptions quiet = *r->o;
  double f;
  quiet.progress = NULL;
  memcpy(s->start, x, (size_t)s->task->n * sizeof *x);
  memcpy(s->plan, x, (size_t)s->task->n * sizeof *x);
  tgStatus st = tgi_opt_eval(r, x, &f, NULL);
  if (st != TG_OK && !tgi_opt_numerical(st)) return st;
  r->out->error = (tgError){0};
  for (int t = 0; t < s->task->steps; t += s->apply) {
    int left = s->task->steps - t, steps = left < s->horizon ? left : s->horizon, done = left < s->apply ? left : s->apply;
    int at = t / s->every * s->nu, moved = (done + s->every - 1) / s->every * s->nu, kept = s->window.n;
    if (t > 0) {
      // shift: what is left of the last plan, then the file's start, or the last control again
      int shift = s->apply / s->every * s->nu;
      memmove(s->plan, s->plan + shift, (size_t)(kept - shift) * sizeof *x);
      memcpy(s->plan + kept - shift, s->start + at + kept - shift, (size_t)(s->task->n - at - (kept - shift)) * sizeof *x);
      for (int i = kept - shift; s->task->yaml->receding->hold && i < s->task->n - at; i++)
        s->plan[i] = i < s->nu ? x[at - s->nu + i] : s->plan[i - s->nu];
    }
    open_window(s, t, steps);
    TG_TRY_OUTCOME(plan(s, &quiet));
    memcpy(x + at, s->plan, (size_t)moved * sizeof *x);
    leave(s, x, t);
    TG_TRY_OUTCOME(execute(s, t, done));
    tgi_opt_iteration(r, s->out.best_loss);
  }
  // the account is of the motion that was done
  r->out->best_loss = INFINITY;
  r->best_distance = INFINITY;
  return tgi_opt_eval(r, x, &f, NULL);
}

tgStatus tgi_opt_receding(tgOptRun *r, const tgTask *task, double *x) {
  Receding s;
  tgStatus st = make(&s, r, task);
  if (st == TG_OK) st = run(&s, x);
  tg_sim_free(s.sim);
  r->alloc.free(r->alloc.ctx, s.block);
  return st;
}
