// window.c: see window.h.
#include "optim/window.h"

#include <math.h>
#include <string.h>

#include "base/layout.h"
#include "optim/controls.h"
#include "optim/verify.h"

static const double NEARER = 0.1;   // share of its loss by which a plan must be better than those before it that fell short

static void place(tgWindow *w, tgLayout *l) {
  const tgModel *m = w->whole->model;
  int own = w->whole->optimizer.iterations, search = w->whole->search.iterations, most = own > search ? own : search;
  size_t n = (size_t)w->whole->n, nc = (size_t)most + 1;
  double **arrays[] = {&w->q, &w->v, &w->plan, &w->out.first, &w->out.best, &w->out.curve_iteration, &w->out.curve_loss,
                       &w->out.curve_best, &w->out.curve_stage, &w->run.low, &w->run.high, &w->work};
  size_t sizes[] = {(size_t)m->nq, (size_t)tgi_nw(m), n, n, n, nc, nc, nc, nc, n, n, 4 * n};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) *arrays[i] = tgi_place(l, sizes[i], sizeof(double));
}

bool tgi_window_make(tgWindow *w, const tgTask *whole, const tgAllocator *alloc) {
  *w = (tgWindow){.whole = whole, .alloc = *alloc};
  tgLayout l = {.base = NULL};
  place(w, &l);
  w->block = alloc->alloc(alloc->ctx, l.used);
  if (w->block == NULL) return false;
  memset(w->block, 0, l.used);
  l = (tgLayout){.base = w->block};
  place(w, &l);
  return whole->yaml->receding == NULL || !whole->yaml->receding->aim || tgi_aim_make(&w->aim, whole, alloc);
}

void tgi_window_free(tgWindow *w) {
  tgi_aim_free(&w->aim);
  w->alloc.free(w->alloc.ctx, w->block);
}

void tgi_window_open(tgWindow *w, int from, int steps) {
  tgOptimum was = w->out;
  tgTask *t = &w->task;
  *t = *w->whole;
  t->q0 = w->q;
  t->v0 = w->v;
  t->steps = steps;
  t->offset = from;
  t->end = from + steps;
  t->n = t->ncontrol = tgi_controls_count(t);
  w->out = (tgOptimum){.n = t->n, .first = was.first, .best = was.best, .curve_iteration = was.curve_iteration,
                       .curve_loss = was.curve_loss, .curve_best = was.curve_best, .curve_stage = was.curve_stage, .first_loss = NAN,
                       .best_loss = INFINITY,
                       .grad = {.converged = true, .first_step = -1}};
  w->searched = 0;
  w->unsearched = NAN;
}

void tgi_window_forget(tgWindow *w) {
  w->stalled = w->searches = 0;
  w->aim.at = -1;
}

// It promises less than it should: it does not end at `stop_loss` or `stop_distance`, or, without both, does not meet the criterion.
static bool falls_short(const tgWindow *w) {
  const tgTask *t = w->whole;
  double loss = w->out.best_loss, distance = w->run.best_distance;
  return tgi_task_can_stop(t) ? !tgi_task_stops(t, loss, distance) : !tgi_task_met(t, loss, distance);
}

static bool stalls(tgWindow *w) {
  if (w->whole->search.plans == 0) return false;
  bool nearer = w->stalled == 0 || w->out.best_loss < w->least - NEARER * fabs(w->least);   // a wanted height has losses below 0
  w->stalled = !falls_short(w) ? 0 : nearer ? 1 : w->stalled + 1;
  if (nearer) w->least = w->out.best_loss;
  return w->stalled >= w->whole->search.plans;
}

// From the best of the task's own method, each time with other noise; what is better is kept. Where its motions fail the plan stands.
static tgStatus search(tgWindow *w, const tgOptimizeOptions *o) {
  tgOptimum *out = &w->out;
  tgOptimizeOptions own = *o;
  int done = out->iterations;
  own.seed += (uint64_t)++w->searches;
  w->stalled = 0;
  w->unsearched = out->best_loss;
  w->run.o = &own;
  w->task.optimizer = w->whole->search;
  out->iterations = out->ncurve = 0;
  memcpy(w->plan, out->best, (size_t)w->task.n * sizeof *w->plan);
  tgStatus st = tgi_opt_run_method(&w->run, w->plan, w->work);
  w->run.o = o;
  w->searched = out->iterations;
  out->iterations += done;
  return tgi_opt_numerical(st) ? TG_OK : st;
}

tgStatus tgi_window_plan(tgWindow *w, tgOptRun *r, const tgOptimizeOptions *o) {
  tgOptRun *s = &w->run;
  *s = (tgOptRun){.task = &w->task, .o = o, .alloc = w->alloc, .journal = r->journal, .out = &w->out, .began = r->began,
                  .until = r->until, .best_distance = INFINITY, .low = s->low, .high = s->high};
  if (w->aim.term != NULL) {
    if (tgi_aim_take(&w->aim, w->whole, w->q)) w->stalled = 0;   // losses of different aims do not compare
    w->task.term = w->aim.term;
  }
  tgi_controls_box(&w->task, s->low, s->high);
  tgi_opt_clamp(s, w->plan);
  memcpy(w->out.best, w->plan, (size_t)w->task.n * sizeof *w->plan);
  s->evaluator = tg_evaluator_create(&w->task, o->tape_bytes, &w->out.error);
  tgStatus st = s->evaluator == NULL ? w->out.error.status : tgi_opt_run_method(s, w->plan, w->work);
  bool late = s->until > 0 && tgi_opt_now() >= s->until;
  if (st == TG_OK && stalls(w) && !late) st = search(w, o);
  tg_evaluator_free(s->evaluator);
  r->from_journal = s->from_journal;
  if (st == TG_OK) memcpy(w->plan, w->out.best, (size_t)w->task.n * sizeof *w->plan);
  return st;
}
