// receding.c: receding horizon around any method: plan over a window from the present state, do the first steps of the plan, shift the rest
// as the next window's start, and so on to the end of the task. What is returned are the controls that were done.
#include <math.h>
#include <string.h>

#include "optim/controls.h"
#include "optim/window.h"
#include "rollout/rollout.h"
#include "sim/sim.h"

typedef struct Receding {
  tgOptRun *r;
  const tgTask *task;
  int horizon, apply, every, nu;
  tgSim *sim;                    // the motion that is done
  double *start;                 // the file's start
  tgWindow window;
} Receding;

int tgi_receding_windows(const tgTask *t) {
  const YamlReceding *y = t->yaml->receding;
  return (t->steps + y->apply - 1) / y->apply;
}

static tgStatus make(Receding *s, tgOptRun *r, const tgTask *task) {
  const YamlReceding *y = task->yaml->receding;
  *s = (Receding){.r = r, .task = task, .horizon = y->horizon, .apply = y->apply, .every = tgi_controls_every(task), .nu = task->model->nu};
  if (!tgi_window_make(&s->window, task, &r->alloc) ||
      (s->start = r->alloc.alloc(r->alloc.ctx, (size_t)task->n * sizeof *s->start)) == NULL)
    return tgi_error(&r->out->error, TG_ERR_MEMORY, "out of memory for a receding horizon of %d steps", s->horizon);
  s->sim = tg_sim_create(task->model, task->contact, &r->alloc, &r->out->error);
  if (s->sim == NULL) return r->out->error.status;
  tg_sim_watch_cancel(s->sim, r->o->cancel);
  memcpy(s->sim->qpos, task->q0, (size_t)task->model->nq * sizeof *task->q0);
  tgi_sim_put_w(s->sim, task->v0);
  return TG_OK;
}

// the window of `steps` steps from step `from` and where the motion stands there
static void open_window(Receding *s, int from, int steps) {
  tgi_window_open(&s->window, from, steps);
  memcpy(s->window.q, s->sim->qpos, (size_t)s->task->model->nq * sizeof *s->window.q);
  tgi_sim_take_w(s->sim, s->window.v);
}

static tgStatus plan(Receding *s, const tgOptimizeOptions *o) {
  tgOptimum *out = s->r->out, *w = &s->window.out;
  tgStatus st = tgi_window_plan(&s->window, s->r, o);
  out->evaluations += w->evaluations;
  out->simulations += w->simulations;
  if (w->grad.first_step >= 0) w->grad.first_step += s->window.task.offset;   // a window counts its steps from its own start
  tgi_grad_worst(&out->grad, &w->grad);
  if (st != TG_OK && st != TG_CANCELLED) out->error = w->error;
  return st;
}

// does `steps` steps of the plan
static tgStatus execute(Receding *s, int from, int steps) {
  for (int t = 0; t < steps; t++) {
    memcpy(s->sim->ctrl, s->window.plan + t / s->every * s->nu, (size_t)s->nu * sizeof *s->window.plan);
    tgStatus st = tg_sim_step_growing(s->sim, s->task->h, NULL);
    if (st == TG_CANCELLED) return st;
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
  memcpy(out->best + at, s->window.plan, (size_t)s->window.task.n * sizeof *x);
  out->best_loss = s->window.out.best_loss;
}

static tgStatus run(Receding *s, double *x) {
  tgOptRun *r = s->r;
  tgOptimizeOptions quiet = *r->o;
  double f;
  quiet.progress = NULL;
  memcpy(s->start, x, (size_t)s->task->n * sizeof *x);
  memcpy(s->window.plan, x, (size_t)s->task->n * sizeof *x);
  tgStatus st = tgi_opt_eval(r, x, &f, NULL);
  if (st != TG_OK && !tgi_opt_numerical(st)) return st;
  r->out->error = (tgError){0};
  for (int t = 0; t < s->task->steps; t += s->apply) {
    int left = s->task->steps - t, steps = left < s->horizon ? left : s->horizon, done = left < s->apply ? left : s->apply;
    int at = t / s->every * s->nu, moved = (done + s->every - 1) / s->every * s->nu, kept = s->window.task.n;
    if (t > 0) {
      // shift: what is left of the last plan, then the file's start, or the last control again
      int shift = s->apply / s->every * s->nu;
      memmove(s->window.plan, s->window.plan + shift, (size_t)(kept - shift) * sizeof *x);
      memcpy(s->window.plan + kept - shift, s->start + at + kept - shift, (size_t)(s->task->n - at - (kept - shift)) * sizeof *x);
      for (int i = kept - shift; s->task->yaml->receding->hold && i < s->task->n - at; i++)
        s->window.plan[i] = i < s->nu ? x[at - s->nu + i] : s->window.plan[i - s->nu];
    }
    open_window(s, t, steps);
    TG_TRY_OUTCOME(plan(s, &quiet));
    memcpy(x + at, s->window.plan, (size_t)moved * sizeof *x);
    leave(s, x, t);
    TG_TRY_OUTCOME(execute(s, t, done));
    tgi_opt_iteration(r, s->window.out.best_loss);
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
  tgi_window_free(&s.window);
  r->alloc.free(r->alloc.ctx, s.start);
  return st;
}
