// push.c: BA-R4 and BA-R8, a rod goes round a box and pushes it to its target, planned over a receding
// horizon; under several steps and mu. BA-R6, an ant pushes a box. [barrier] Section 6, figures 7 and 9,
// appendix A.6.2, tables 3, 4 and 5.
#include <math.h>
#include <string.h>

#include "repro/barrier.h"

static bool baseline(tgRun *run, const char *file, const char *contact, const char *method, const char *row, bool solved, double seconds) {
  tgBarrierTask how = {.file = file, .contact = contact, .method = method, .seconds = seconds};
  tgBarrierRun runs[TG_BARRIER_RATES];
  char shown[200];
  bool reached;
  if (!tgi_barrier_rates(&how, runs)) return false;
  tgi_barrier_runs(run, runs, TG_BARRIER_RATES);
  double best = tgi_barrier_best(runs, shown, sizeof shown, &reached);
  if (!tgi_cli_interrupted) tgi_run_row(run, row, solved ? reached : best, "best of three rates, final over first loss: %s", shown);
  tgi_barrier_free(runs, TG_BARRIER_RATES);
  return true;
}

// the paper's motion, found and judged by its own step; false: reason printed
static bool solve(tgRun *run, const tgBarrierTask *how, const char *name, double first_distance) {
  tgBarrierRun r = {.how = *how};
  bool good = tgi_barrier_runs(run, &r, 1);
  const tgOptimum *o = r.optimum;
  if (good && !tgi_cli_interrupted) {
    double distance = tgi_cli_distance(r.task, o->best, NULL);
    tgi_run_row(run, "paper.solved", o->met,
                "box %.3g m from its target at the end, %.3g m at the start; loss %.4g to %.4g", distance,
                first_distance, o->first_loss, o->best_loss);
    tgi_run_row(run, "paper.seconds", o->seconds, "%d %s, %ld simulations, one core", o->iterations,
                tg_task_windows(r.task) > 0 ? "windows" : "iterations", o->simulations);
    tgi_run_row(run, "final_over_first", o->best_loss / o->first_loss, "loss of the paper's motion");
    tgi_run_row(run, "intersections", (double)tgi_barrier_touching(r.task, o->best),
                "pairs of geoms over all states of the paper's motion, by exact predicates");
    good = tgi_run_verify(run, "paper", r.task, o->best) && tgi_run_leave_task(run, name, r.task, o);
  }
  tgi_barrier_free(&r, 1);
  return good;
}

// The same with stages that make it a motion of hard contact, held to its replays: what the paper's motion, which belongs to its
// step, is not.
static bool solve_held(tgRun *run, const char *file) {
  tgTask *task = NULL;
  tgOptimum *o = tgi_run_task(run, &(tgTaskRun){.file = file, .held = true}, &task);
  bool good = o != NULL;
  if (good && !tgi_cli_interrupted) {
    tgi_run_row(run, "solved", o->met && o->reached,
                "%s: stages of refinement in hard contact, every replay holds that is asked for; %ld simulations", file, o->simulations);
    tgi_run_row(run, "seconds", o->seconds, "one core");
    tgi_run_verification(run, NULL, &o->verification);
    tgi_run_report(run, "verify.mujoco.error_m", NAN, "m", NAN, "by tools/reproductions.py, with the Python package: python -m "
                   "tangere.mujoco on the folder that this leaves");
    good = tgi_run_leave_task(run, "held", task, o);
  }
  tg_optimum_free(o);
  tg_task_free(task);
  return good || (o != NULL && tgi_cli_interrupted);
}

enum { VARIANTS = 10 };
// how many of ten layouts of a push end in a motion that every replay holds
static bool variants(tgRun *run) {
  char file[64], which[80] = "";
  int held = 0;
  double seconds = 0, began = tgi_cli_now();
  for (int i = 1; i <= VARIANTS; i++) {
    tgTask *task = NULL;
    snprintf(file, sizeof file, "tasks/pushes/%d.yaml", i);
    tgOptimum *o = tgi_run_task(run, &(tgTaskRun){.file = file, .held = true, .seed = (uint64_t)i}, &task);
    if (o == NULL) return false;
    bool good = o->met && o->reached;
    held += good;
    if (!good) snprintf(which + strlen(which), sizeof which - strlen(which), " %d", i);
    seconds += o->seconds;
    tg_optimum_free(o);
    tg_task_free(task);
    if (tgi_cli_interrupted) return true;
    tgi_run_progress(run, "layouts", i, VARIANTS, began);
  }
  tgi_run_row(run, "variants_held", held,
              "of %d layouts, models/tasks/pushes: ranges of +-2.5 m, targets behind, beside and to 2.8 m away, turned, a box ten times "
              "heavier, one that is not convex; %.0f s in all; not held:%s", VARIANTS, seconds, which[0] != '\0' ? which : " none");
  return true;
}

bool tgi_reproduce_push(tgRun *run) {
  tgBarrierTask how = {.file = "push.yaml"};
  double seconds = run->cli->full ? 0 : 60;
  return solve(run, &how, "push", 0.8) && solve_held(run, "push_demo.yaml") && variants(run) &&
         baseline(run, how.file, "sdrs", NULL, "local.solved", true, seconds) &&
         baseline(run, how.file, "lcp", NULL, "lcp.solved", true, seconds) &&
         baseline(run, how.file, "sdrs", "bundle", "bundle.solved", true, seconds);
}

bool tgi_reproduce_ant(tgRun *run) {
  tgBarrierTask how = {.file = "ant_push.yaml"};
  double seconds = run->cli->full ? 0 : 60;
  return solve(run, &how, "ant_push", 0.3) && solve_held(run, "ant_push_held.yaml") &&
         baseline(run, how.file, "sdrs", NULL, "local.final_over_first", false, seconds) &&
         baseline(run, how.file, "lcp", NULL, "lcp.final_over_first", false, seconds);
}

enum { SWEEP = 4 };
static const double steps[SWEEP] = {0.01, 0.02, 0.04, 0.08}, mus[SWEEP] = {1e-6, 1e-7, 1e-8, 1e-10};
// tables 4 and 5: seconds to convergence on the authors' machine
static const double paper_step[SWEEP] = {5.76, 3.28, 2.96, 2.80}, paper_mu[SWEEP] = {3.20, 3.28, 3.24, 4.80};

bool tgi_reproduce_sweep(tgRun *run) {
  tgBarrierRun runs[2 * SWEEP];
  const char *file = run->cli->full ? "push.yaml" : "push_demo.yaml";   // ten minutes allow the shorter form
  for (int k = 0; k < SWEEP; k++) {
    // the paper's table 4 holds mu at 1e-7, its table 5 the step at 0.04 s
    runs[k] = (tgBarrierRun){.how = {.file = file, .mu = 1e-7, .timestep = steps[k]}};
    runs[SWEEP + k] = (tgBarrierRun){.how = {.file = file, .mu = mus[k], .timestep = 0.04}};
  }
  bool good = tgi_barrier_runs(run, runs, 2 * SWEEP);
  int solved[2] = {0, 0};
  long touching = 0;
  char name[60], note[200];
  for (int k = 0; k < 2 * SWEEP && !tgi_cli_interrupted; k++) {
    const tgOptimum *o = runs[k].optimum;
    if (o == NULL) continue;
    bool reached = o->met && o->status == TG_OK;
    solved[k / SWEEP] += reached;
    if (isfinite(o->best_loss)) touching += tgi_barrier_touching(runs[k].task, o->best);
    if (k < SWEEP) snprintf(name, sizeof name, "dt%g.seconds", steps[k]);
    else snprintf(name, sizeof name, "mu%g.seconds", mus[k - SWEEP]);
    snprintf(note, sizeof note,
             "%s; final over first loss %.3g; whole optimisation (the paper: to convergence, on other hardware)",
             reached ? "reached" : "missed", o->best_loss / o->first_loss);
    tgi_run_report(run, name, o->seconds, "s", k < SWEEP ? paper_step[k] : paper_mu[k - SWEEP], note);
  }
  if (!tgi_cli_interrupted) {
    tgi_run_row(run, "solved_of_dt", solved[0], "of %d steps, mu 1e-7", SWEEP);
    tgi_run_row(run, "solved_of_mu", solved[1], "of %d mu, step 0.04 s", SWEEP);
    tgi_run_row(run, "intersections", (double)touching, "pairs of geoms over all states of the motions found, by exact predicates");
  }
  tgi_barrier_free(runs, 2 * SWEEP);
  return good;
}
