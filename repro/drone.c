// drone.c: LC-R3, a drone that rests on the ground takes off: the exact gradient is zero, the complementarity-aware one
// leads away. [lcp], figure 8.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "repro/experiments.h"

enum { ITERATIONS = 50 };

// gradient descent from zero controls, one rate
typedef struct Descent {
  double rate, loss, largest;            // final loss; largest control met
  int iterations;
  double at[ITERATIONS + 1], curve[ITERATIONS + 1], least[ITERATIONS + 1], stage[ITERATIONS + 1];   // stage: 0 throughout
  double *x, *first;                     // the task's variables, and those of the start
} Descent;

static tgStatus descend(const tgTask *task, Descent *d) {
  tgError error = {0};
  tgEvaluator *e = tg_evaluator_create(task, 0, &error);
  int n = tg_task_size(task);
  double *g = calloc((size_t)n + 1, sizeof *g);
  tgStatus st = e != NULL && g != NULL ? TG_OK : TG_ERR_MEMORY;
  tg_task_start(task, 0, d->x);
  memcpy(d->first, d->x, (size_t)n * sizeof *g);
  for (d->iterations = 0; st == TG_OK; d->iterations++) {
    tgRolloutResult result;
    st = tg_evaluate(e, d->x, &d->loss, g, NULL, NULL, &tgi_cli_interrupted, &result);
    d->at[d->iterations] = d->iterations;
    d->curve[d->iterations] = d->loss;
    d->least[d->iterations] = d->iterations > 0 ? fmin(d->loss, d->least[d->iterations - 1]) : d->loss;
    if (st != TG_OK || d->loss <= 1e-3 || d->iterations == ITERATIONS) break;
    for (int i = 0; i < n; i++) {
      d->x[i] = fmin(fmax(d->x[i] - d->rate * g[i], -10), 10);   // its motor pushes with at most 10 N
      d->largest = fmax(d->largest, fabs(d->x[i]));
    }
  }
  free(g);
  tg_evaluator_free(e);
  return st;
}

static bool leave(tgRun *run, const tgTask *task, const Descent *d) {
  tgOptimum o = {.iterations = d->iterations, .evaluations = d->iterations + 1, .simulations = d->iterations + 1, .first_loss = d->curve[0],
                 .best_loss = d->loss, .n = tg_task_size(task), .first = d->first, .best = d->x, .ncurve = d->iterations + 1,
                 .curve_iteration = (double *)d->at, .curve_loss = (double *)d->curve, .curve_best = (double *)d->least,
                 .curve_stage = (double *)d->stage};
  return tgi_run_leave_task(run, "drone", task, &o);
}

// the best of three rates: the paper's 10, half and twice that
static tgStatus best_of_rates(const tgTask *task, Descent *best, char *shown, size_t size) {
  size_t used = 0, n = (size_t)tg_task_size(task);
  tgStatus st = TG_OK;
  *best = (Descent){.loss = INFINITY};
  double largest = 0;
  for (int k = 0; k < 3 && st == TG_OK; k++) {
    Descent d = {.rate = k == 0 ? 5 : k == 1 ? 10 : 20, .x = calloc(2 * n, sizeof(double))};
    if (d.x == NULL) return TG_ERR_MEMORY;
    d.first = d.x + n;
    st = descend(task, &d);
    used += (size_t)snprintf(shown + used, size - used, "%srate %g: loss %.3g after %d iterations", k > 0 ? "; " : "",
                             d.rate, d.loss, d.iterations);
    largest = fmax(largest, d.largest);
    bool better = st == TG_OK && (d.loss <= 1e-3 && best->loss <= 1e-3 ? d.iterations < best->iterations : d.loss < best->loss);
    free(better ? best->x : d.x);
    if (better) *best = d;
  }
  best->largest = largest;
  return st;
}

bool tgi_reproduce_drone(tgRun *run) {
  static const char *const file[2] = {"drone.yaml", "drone_aware.yaml"};
  bool good = true;
  for (int k = 0; k < 2 && good && !tgi_cli_interrupted; k++) {
    char path[1024], shown[200];
    tgError error = {0};
    Descent d = {.x = NULL};
    tgTask *task = tgi_models_file(file[k], path, sizeof path) ? tg_task_load(path, NULL, &error) : NULL;
    tgStatus st = task != NULL ? best_of_rates(task, &d, shown, sizeof shown) : TG_ERR_FILE;
    good = st == TG_OK;
    if (!good && st != TG_CANCELLED) tgi_cli_say("%s: %s", file[k], error.text[0] != '\0' ? error.text : tg_status_text(st));
    if (good && k == 0) tgi_run_row(run, "plain.max_abs_control", d.largest, "exact gradient; %s", shown);
    if (good && k == 1) {
      tgi_run_row(run, "aware.final_loss", d.loss, "complementarity-aware gradient; %s; the paper's rate is 10", shown);
      tgi_run_row(run, "aware.iterations", d.iterations, "at rate %g, to a loss of 1e-3 or the end at %d", d.rate, ITERATIONS);
      good = leave(run, task, &d);
    }
    free(d.x);
    tg_task_free(task);
    tgi_run_progress(run, "gradients", k + 1, 2, run->began);
  }
  return good;
}
