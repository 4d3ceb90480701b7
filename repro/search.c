// search.c: LC-R2, gradient methods against stochastic search on the same task: wall clock to the same loss. [lcp], figure 7.
#include <math.h>
#include <stdlib.h>

#include "repro/experiments.h"

typedef struct Duel {
  const char *name, *file, *method, *word, *search;   // method NULL: the file's; word: of the ratio's name
  int starts;
  double enough;                                      // loss that ends the starts
} Duel;
static const Duel duels[] = {
    {"cartpole", "cartpole.yaml", NULL, "ddp", "cartpole_search.yaml", 1, 0},
    {"double_cartpole", "double_cartpole.yaml", NULL, "ddp", "double_cartpole_search.yaml", 8, 1e-6},
    {"catapult", "catapult_target.yaml", NULL, "shooting", "catapult_search.yaml", 1, 0},
};

// seconds of the search to a loss of at most `loss`, or of the whole search when it does not get there
static double search(tgRun *run, const Duel *d, double loss, double cap, double *best, long *simulations) {
  tgTaskRun how = {.file = d->search, .seconds = cap, .loss = loss};
  tgOptimum *o = tgi_run_task(run, &how, NULL);
  double seconds = o != NULL ? o->seconds : NAN;
  *best = o != NULL ? o->best_loss : NAN;
  *simulations = o != NULL ? o->simulations : 0;
  tg_optimum_free(o);
  return seconds;
}

static void end_rows(tgRun *run, const Duel *d, const tgTask *task, const tgOptimum *o) {
  tgError error = {0};
  tgCliTrajectory t = {.label = "best"};
  if (tgi_cli_record_task(task, o->best, NULL, &t, &error) != TG_OK) {
    tgi_cli_error("reproduce", &error);
    tgi_cli_trajectory_free(&t);
    return;
  }
  const double *q = t.q + t.steps * tg_model_nq(tg_task_model(task));
  if (d == &duels[0])
    tgi_run_row(run, "cartpole.ddp_abs_x", fabs(q[0]),
                "after %d steps, pole at %.2g rad; iLQR, loss %.2g after %d iterations in %.2g s", t.steps, q[1],
                o->best_loss, o->iterations, o->seconds);
  else if (d == &duels[1])
    tgi_run_row(run, "double_cartpole.ddp_abs_angle", fmax(fabs(q[1]), fabs(q[1] + q[2])),
                "larger of the two poles after %d steps, cart at %.2g m; iLQR, loss %.2g after %d iterations in %.2g s",
                t.steps, q[0], o->best_loss, o->iterations, o->seconds);
  else tgi_run_row(run, "catapult.shooting_loss", o->best_loss, "multiple shooting, %d iterations in %.2g s", o->iterations, o->seconds);
  tgi_cli_trajectory_free(&t);
}

static bool duel(tgRun *run, const Duel *d) {
  tgTaskRun how = {.file = d->file, .method = d->method};
  tgTask *task = NULL;
  int used;
  double began = tgi_cli_now(), best;
  long simulations;
  tgOptimum *o = tgi_run_starts(run, &how, d->starts, d->enough, &used, &task);
  double ours = tgi_cli_now() - began;              // all starts, loading included
  if (o == NULL) return false;
  end_rows(run, d, task, o);
  bool done = tgi_run_leave_task(run, d->name, task, o);
  double cap = run->cli->full ? 300 : 100, theirs = search(run, d, o->best_loss > 1e-6 ? o->best_loss : 1e-6, cap, &best, &simulations);
  char name[80];
  snprintf(name, sizeof name, "%s.search_over_%s_seconds", d->name, d->word);
  bool reached = best <= fmax(o->best_loss, 1e-6);
  if (!tgi_cli_interrupted)
    tgi_run_row(run, name, theirs / ours,
                "%s%.3g s of the search (%ld simulations, loss %.2g) over %.2g s of ours (%d starts, loss %.2g)%s",
                reached ? "" : "at least: ", theirs, simulations, best, ours, used, o->best_loss,
                reached ? "" : "; it was stopped there, short of a loss of 1e-6");
  tg_optimum_free(o);
  tg_task_free(task);
  return done;
}

bool tgi_reproduce_search(tgRun *run) {
  int n = (int)(sizeof duels / sizeof *duels);
  bool good = true;
  for (int i = 0; i < n && !tgi_cli_interrupted; i++) {
    good = duel(run, &duels[i]) && good;
    tgi_run_progress(run, "tasks", i + 1, n, run->began);
  }
  return good;
}
