// controller.c: a task's horizon that moves with the world: a plan from the state that was measured, warm-started from the plan before.
//
// A plan is a window of the task (window.h). Without terms at a time the task begins anew at each plan; with such a term its clock
// counts, and the last windows end with the task.
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "optim/controls.h"
#include "optim/window.h"

struct tgController {
  tgAllocator alloc;
  tgTask task;                // the caller's, with the controller's iterations
  tgControllerOptions o;
  int horizon, every;         // steps of a window, and for which a control is held
  bool clock;                 // a term looks at a time
  tgJournal *journal;         // that holds nothing
  tgWindow window;
  double *start;              // n: the file's start
  double *u;                  // horizon x nu, of the last plan
  tgPlan given;               // the caller's motion, at which plans start where the last one does not reach; steps 0: none
  double *given_u;
  tgSim *sim;                 // in which a measured state is moved apart; NULL: that is not asked for
  int nseparated;             // of the state measured last, and the largest overlap
  double separated;
  tgPlan plan;                // steps 0: none yet
};

tgControllerOptions tg_controller_default(void) { return (tgControllerOptions){.size = sizeof(tgControllerOptions)}; }

static tgStatus check(const tgTask *task, const tgControllerOptions *o, tgError *error) {
  if (o->size != sizeof *o)
    return tgi_error(error, TG_ERR_ARG, "tgControllerOptions must come from tg_controller_default of this version");
  if (o->iterations < 0 || !(o->seconds >= 0) || !isfinite(o->seconds))
    return tgi_error(error, TG_ERR_ARG, "a controller's iterations, %d, and seconds, %g, must not be negative", o->iterations, o->seconds);
  if (task->ncontrol == 0 || task->n != task->ncontrol || tgi_controls_sines(task))
    return tgi_error(error, TG_ERR_UNSUPPORTED, "a controller decides controls with basis: steps, and nothing else");
  return tgi_opt_refuse(task, error);
}

static tgStatus make(tgController *c, tgError *error) {
  const tgTask *t = &c->task;
  const YamlReceding *y = t->yaml->receding;
  size_t n = (size_t)t->n, nu = (size_t)t->model->nu;
  c->every = tgi_controls_every(t);
  c->horizon = y != NULL && y->horizon < t->steps ? y->horizon : t->steps;
  for (int i = 0; i < t->nterm; i++) c->clock = c->clock || t->term[i].when == TG_TERM_TIME;
  if (!tgi_window_make(&c->window, t, &c->alloc) ||
      (c->start = c->alloc.alloc(c->alloc.ctx, (n + (size_t)c->horizon * nu) * sizeof *c->start)) == NULL)
    return tgi_error(error, TG_ERR_MEMORY, "out of memory for a controller with a horizon of %d steps", c->horizon);
  c->u = c->start + n;
  tg_task_start(t, c->o.seed, c->start);
  if (c->o.separate && (c->sim = tg_sim_create(t->model, t->contact, &c->alloc, error)) == NULL) return TG_ERR_MEMORY;
  c->journal = tgi_journal_open(NULL, false, false, NULL, t->n, &c->alloc, error);
  return c->journal == NULL ? TG_ERR_MEMORY : TG_OK;
}

tgController *tg_controller_create(const tgTask *task, const tgControllerOptions *options, tgError *error) {
  tgControllerOptions o = options != NULL ? *options : tg_controller_default();
  if (task == NULL) {
    tgi_error(error, TG_ERR_ARG, "tg_controller_create needs a task");
    return NULL;
  }
  if (check(task, &o, error) != TG_OK) return NULL;
  tgController *c = task->alloc.alloc(task->alloc.ctx, sizeof *c);
  if (c == NULL) {
    tgi_error(error, TG_ERR_MEMORY, "out of memory for a controller");
    return NULL;
  }
  *c = (tgController){.alloc = task->alloc, .task = *task, .o = o};
  if (o.iterations > 0) c->task.optimizer.iterations = o.iterations;
  if (make(c, error) == TG_OK) return c;
  tg_controller_free(c);
  return NULL;
}

void tg_controller_free(tgController *c) {
  if (c == NULL) return;
  tgAllocator a = c->alloc;
  tgi_journal_close(c->journal);
  if (c->window.block != NULL) tgi_window_free(&c->window);
  tg_sim_free(c->sim);
  a.free(a.ctx, c->start);
  a.free(a.ctx, c->given_u);
  a.free(a.ctx, c);
}

// the controls of a plan at `time`: its last ones beyond its end
static const double *planned(const tgPlan *p, double time) {
  double k = floor((time - p->time) / p->h + 1e-9);
  int step = k <= 0 ? 0 : k >= p->steps ? p->steps - 1 : (int)k;
  return p->u + (size_t)step * (size_t)p->nu;
}

static bool reaches(const tgPlan *p, double time) { return p->steps > 0 && time >= p->time && time - p->time < p->steps * p->h; }

// Where the plan starts: what is left of the last one, then the motion that was given; where neither reaches, the last controls held
// where the task fills so, else the file's start.
static void warm_start(tgController *c, double time, int from, double *x) {
  size_t nu = (size_t)c->task.model->nu, begin = (size_t)(c->clock ? from / c->every : 0);
  double block = c->every * c->task.h;
  const tgPlan *held = c->task.yaml->receding == NULL || !c->task.yaml->receding->hold ? NULL : c->plan.steps > 0 ? &c->plan : &c->given;
  for (size_t b = 0; b * nu < (size_t)c->window.task.n; b++) {
    double at = time + ((double)b + 0.5) * block;
    size_t file = (begin + b) * nu + nu <= (size_t)c->task.n ? (begin + b) * nu : (size_t)c->task.n - nu;
    const tgPlan *from_plan = reaches(&c->plan, at) ? &c->plan : reaches(&c->given, at) ? &c->given : held;
    bool any = from_plan != NULL && from_plan->steps > 0 && at >= from_plan->time;
    memcpy(x + b * nu, any ? planned(from_plan, at) : c->start + file, nu * sizeof *x);
  }
}

static tgStatus place(const tgController *c, double time, int *from, int *steps, tgError *error) {
  *from = 0;
  *steps = c->horizon;
  if (!isfinite(time)) return tgi_error(error, TG_ERR_ARG, "tg_controller_plan: the time is not finite");
  if (!c->clock) return TG_OK;
  double k = floor(time / c->task.h + 1e-9);
  if (k < 0 || k >= c->task.steps)
    return tgi_error(error, TG_ERR_INVALID, "%g s is not within the task's %g s, to which its terms at a time belong", time,
                     c->task.steps * c->task.h);
  *from = (int)k;
  if (c->task.steps - *from < *steps) *steps = c->task.steps - *from;
  return TG_OK;
}

static void take_plan(tgController *c, double time) {
  const tgWindow *w = &c->window;
  const tgOptimum *out = &w->out;
  tgi_controls_expand(&w->task, w->plan, c->u);
  c->plan = (tgPlan){.time = time, .steps = w->task.steps, .nu = c->task.model->nu, .h = c->task.h, .u = c->u,
                     .first_loss = out->first_loss, .loss = out->best_loss, .distance = w->run.best_distance,
                     .iterations = out->iterations, .simulations = out->simulations, .grad = out->grad,
                     .searched = w->searched, .unsearched = w->unsearched,
                     .nseparated = c->nseparated, .separated = c->separated, .seconds = tgi_opt_now() - w->run.began};
}

// the measured state, with bodies apart where that is asked for
static tgStatus take_state(tgController *c, const double *q, const double *v, tgError *error) {
  enum { TOLD = 64 };
  tgSeparated pair[TOLD];
  size_t nq = (size_t)c->task.model->nq * sizeof *q;
  memcpy(c->window.v, v, (size_t)tgi_nw(c->task.model) * sizeof *v);
  memcpy(c->window.q, q, nq);
  c->nseparated = 0;
  c->separated = 0;
  if (c->sim == NULL) return TG_OK;
  tg_sim_set_state(c->sim, q, v);
  int count = tg_sim_separate(c->sim, -1, pair, TOLD);
  if (count < 0 && error != NULL) *error = *tg_sim_error(c->sim);
  if (count < 0) return (tgStatus)count;
  memcpy(c->window.q, tg_sim_qpos(c->sim), nq);
  c->nseparated = count;
  for (int i = 0; i < count && i < TOLD; i++) c->separated = fmax(c->separated, -pair[i].before);
  return TG_OK;
}

tgStatus tg_controller_plan(tgController *c, double time, const double *q, const double *v, const volatile int *cancel, tgError *error) {
  int from, steps;
  if (c == NULL || q == NULL || v == NULL) return tgi_error(error, TG_ERR_ARG, "tg_controller_plan needs a controller and a state");
  TG_TRY(place(c, time, &from, &steps, error));
  tgOptimizeOptions o = tg_optimize_default();
  o.seed = c->o.seed;
  o.threads = c->o.threads;
  o.tape_bytes = c->o.tape_bytes;
  o.cancel = cancel;
  tgOptRun r = {.journal = c->journal, .began = tgi_opt_now()};
  if (c->o.seconds > 0) r.until = r.began + c->o.seconds;
  tgi_window_open(&c->window, from, steps);
  TG_TRY(take_state(c, q, v, error));
  warm_start(c, time, from, c->window.plan);
  tgStatus st = tgi_window_plan(&c->window, &r, &o);
  // methods that sample end well where every motion failed
  if (st == TG_OK && !isfinite(c->window.out.best_loss))
    st = c->window.out.error.status < 0 ? c->window.out.error.status
                                        : tgi_error(&c->window.out.error, TG_NOT_CONVERGED, "no motion of a plan at %g s ends", time);
  if (st == TG_OK) take_plan(c, time);
  else if (error != NULL) *error = c->window.out.error;
  return st;
}

tgStatus tg_controller_control(const tgController *c, double time, double *u, tgError *error) {
  if (c == NULL || u == NULL) return tgi_error(error, TG_ERR_ARG, "tg_controller_control needs a controller and a place for the controls");
  if (!isfinite(time)) return tgi_error(error, TG_ERR_ARG, "tg_controller_control: the time is not finite");
  if (c->plan.steps == 0) return tgi_error(error, TG_ERR_INVALID, "the controller has no plan yet: call tg_controller_plan");
  memcpy(u, planned(&c->plan, time), (size_t)c->task.model->nu * sizeof *u);
  return TG_OK;
}

tgStatus tg_controller_give(tgController *c, double time, double h, int steps, const double *u, tgError *error) {
  if (c == NULL || (u == NULL && steps > 0)) return tgi_error(error, TG_ERR_ARG, "tg_controller_give needs a controller and controls");
  if (!isfinite(time) || !(h > 0) || !isfinite(h) || steps < 0)
    return tgi_error(error, TG_ERR_ARG, "tg_controller_give: %d steps of %g s from %g s are no motion", steps, h, time);
  size_t count = (size_t)steps * (size_t)c->task.model->nu;
  for (size_t i = 0; i < count; i++)
    if (!isfinite(u[i])) return tgi_error(error, TG_ERR_ARG, "tg_controller_give: control %zu of step %zu is not finite",
                                          i % (size_t)c->task.model->nu, i / (size_t)c->task.model->nu);
  double *copy = count > 0 ? c->alloc.alloc(c->alloc.ctx, count * sizeof *copy) : NULL;
  if (count > 0 && copy == NULL) return tgi_error(error, TG_ERR_MEMORY, "out of memory for a motion of %d steps", steps);
  if (count > 0) memcpy(copy, u, count * sizeof *copy);
  c->alloc.free(c->alloc.ctx, c->given_u);
  c->given_u = copy;
  c->given = (tgPlan){.time = time, .steps = steps, .nu = c->task.model->nu, .h = h, .u = copy};
  c->plan.steps = 0;
  tgi_window_forget(&c->window);
  return TG_OK;
}

const tgPlan *tg_controller_last(const tgController *c) { return c != NULL && c->plan.steps > 0 ? &c->plan : NULL; }

double tg_controller_interval(const tgController *c) {
  if (c == NULL) return 0;
  return (c->task.yaml->receding != NULL ? c->task.yaml->receding->apply : c->every) * c->task.h;
}
