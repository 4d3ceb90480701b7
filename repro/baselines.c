// baselines.c: tasks of the barrier paper run as their file says, and by other models and methods at the best of three rates.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "repro/barrier.h"

// what the optimiser polls, and when that is to be set; lines of progress now and then
typedef struct Watch { const tgBarrierTask *how; const char *id; double began, last; volatile int stop; } Watch;

static void watch(void *ctx, const tgProgress *p) {
  Watch *w = ctx;
  const tgBarrierTask *h = w->how;
  double now = tgi_cli_now();
  char left[32];
  bool late = h->seconds > 0 && tgi_core_now() - w->began >= h->seconds;
  if (tgi_cli_interrupted || late || (h->loss > 0 && p->best <= h->loss)) w->stop = 1;
  if (now - w->last < 10 && !w->stop) return;
  w->last = now;
  tgi_cli_say("%s %s, seed %d: iteration %d of %d, loss %.4g, best %.4g, %s left", w->id,
              h->contact != NULL ? h->contact : h->file, (int)h->seed, p->iteration, p->iterations, p->loss, p->best,
              tgi_cli_duration(p->seconds_left, left, sizeof left));
}

// takes up what the journal has of this very run, or begins it anew
static tgOptimum *take_up(const tgTask *task, const char *journal, tgOptimizeOptions *o) {
  if (journal[0] == '\0') return tg_optimize(task, o);
  o->journal = journal;
  o->resume = true;
  tgOptimum *best = tg_optimize(task, o);
  if (best == NULL || best->status != TG_ERR_INVALID || best->iterations > 0) return best;
  tg_optimum_free(best);
  o->resume = false;
  o->overwrite = true;
  return tg_optimize(task, o);
}

static tgStatus adjust(tgTask *t, const tgBarrierTask *how, tgError *error) {
  double h = how->timestep > 0 ? how->timestep : tg_task_timestep(t);
  int steps = how->steps > 0 ? how->steps : (int)lround(tg_task_steps(t) * tg_task_timestep(t) / h);
  tgStatus st = tg_task_override(t, how->contact, how->method, how->iterations, error);
  if (st == TG_OK && how->rate > 0) st = tg_task_set_rate(t, how->rate, error);
  if (st == TG_OK && how->mu > 0) st = tgi_task_number(t, "weight", how->mu, error);
  if (st == TG_OK && (steps != tg_task_steps(t) || how->timestep > 0)) st = tg_task_set_horizon(t, steps, h, error);
  return st;
}

typedef struct Many { tgRun *run; tgBarrierRun *runs; } Many;

// item `i`, in a thread of its own
static void optimise(void *ctx, int i) {
  Many *m = ctx;
  tgBarrierRun *r = &m->runs[i];
  char path[1024];
  tgError error = {0};
  if (tgi_cli_interrupted || !tgi_models_file(r->how.file, path, sizeof path)) return;
  r->task = tg_task_load(path, NULL, &error);
  Watch w = {.how = &r->how, .id = m->run->experiment->id, .began = tgi_core_now(), .last = tgi_cli_now()};
  tgOptimizeOptions o = tg_optimize_default();
  o.unverified = true;   // the criterion is the paper\'s, of its own step
  o.seed = r->how.seed;
  o.threads = 1;
  o.progress = watch;
  o.progress_ctx = &w;
  o.cancel = &w.stop;
  if (r->task != NULL && adjust(r->task, &r->how, &error) == TG_OK && (r->how.prepare == NULL || r->how.prepare(r->task, r->how.ctx)))
    r->optimum = take_up(r->task, r->how.journal, &o);
  // a method that ends in a failed step still has a best iterate; anything else is a fault
  const tgOptimum *best = r->optimum;
  if (best != NULL && best->status < 0) tgi_cli_say("%s %s: %s", w.id, r->how.file, best->error.text);
  if (best == NULL && !tgi_cli_interrupted) tgi_cli_error("reproduce", &error);
  if (best != NULL)
    tgi_cli_say("%s %s under %s by %s, weight %g, step %g s, rate %g, seed %d: loss %.4g to %.4g, %s, %d iterations in "
                "%.3g s", w.id, r->how.file, tg_contact_word(tg_task_contact(r->task)), tg_task_method(r->task),
                tg_contact_get(tg_contact_options(tg_task_contact(r->task)), "weight"), tg_task_timestep(r->task),
                tg_task_rate(r->task), (int)r->how.seed, best->first_loss, best->best_loss,
                best->met ? "reached" : "missed", best->iterations, best->seconds);
}

bool tgi_barrier_runs(tgRun *run, tgBarrierRun *runs, int n) {
  Many m = {.run = run, .runs = runs};
  bool good = tgi_run_parallel(run, n, optimise, &m);
  for (int i = 0; i < n; i++) good = good && runs[i].optimum != NULL && isfinite(runs[i].optimum->best_loss);
  return good;
}

void tgi_barrier_free(tgBarrierRun *runs, int n) {
  for (int i = 0; i < n; i++) {
    tg_optimum_free(runs[i].optimum);
    tg_task_free(runs[i].task);
  }
}

bool tgi_barrier_rates(const tgBarrierTask *how, tgBarrierRun runs[TG_BARRIER_RATES]) {
  tgTask *file = tgi_models_task(how->file);
  if (file == NULL) return false;
  for (int k = 0; k < TG_BARRIER_RATES; k++) {
    runs[k] = (tgBarrierRun){.how = *how};
    runs[k].how.rate = tg_task_rate(file) * (k == 0 ? 1.0 / 3 : k == 1 ? 1 : 3);
  }
  tg_task_free(file);
  return true;
}

// loss of what a run came to, over that of its start; of a receding horizon that was cut short: of what was done and the rest of the plan
static double final_over_first(const tgBarrierRun *r) {
  const tgOptimum *o = r->optimum;
  double loss = o != NULL ? o->best_loss : NAN;
  if (o != NULL && o->status == TG_CANCELLED && tg_task_windows(r->task) > 0) {
    tgEvaluator *e = tg_evaluator_create(r->task, 0, NULL);
    if (e == NULL || tg_evaluate(e, o->best, &loss, NULL, NULL, NULL, NULL, NULL) != TG_OK) loss = NAN;
    tg_evaluator_free(e);
  }
  // at the target from the start: nothing to gain
  return o == NULL ? NAN : o->first_loss > 0 ? loss / o->first_loss : 1;
}

double tgi_barrier_best(const tgBarrierRun runs[TG_BARRIER_RATES], char *shown, size_t size, bool *reached) {
  double best = INFINITY;
  size_t used = 0;
  if (reached != NULL) *reached = false;
  for (int k = 0; k < TG_BARRIER_RATES; k++) {
    const tgOptimum *o = runs[k].optimum;
    double ratio = final_over_first(&runs[k]);
    if (used < size) used += (size_t)snprintf(shown + used, size - used, "%srate %.3g: %.4g", k > 0 ? "; " : "", runs[k].how.rate, ratio);
    best = fmin(best, ratio);
    if (reached != NULL && o != NULL) *reached = *reached || o->met;
  }
  return isfinite(best) ? best : NAN;
}

long tgi_barrier_touching(const tgTask *task, const double *x) {
  tgError error = {0};
  tgCliTrajectory t = {.label = "best"};
  long n = tgi_cli_record_task(task, x, NULL, &t, &error) == TG_OK ? tg_intersections_of_motion(tg_task_model(task), t.q, t.steps) : -1;
  if (n < 0 && error.text[0] != '\0') tgi_cli_error("reproduce", &error);
  tgi_cli_trajectory_free(&t);
  return n;
}
