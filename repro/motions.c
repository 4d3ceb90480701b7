// motions.c: LC-R4, motions through contact found by gradient: catapult, jump-worm and humanoid of [lcp].
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "repro/experiments.h"

// z of the lowest corner of a box geom where the sim is
static double lowest_corner(const tgModel *m, const tgSim *sim, int geom) {
  const double *size = tgi_cli_reals(m, "geom_size", NULL) + 3 * geom;
  const double *at = (const double *)tg_sim_field_named(sim, "geom_xpos").data + 3 * geom,
               *R = (const double *)tg_sim_field_named(sim, "geom_xmat").data + 9 * geom;
  double z = at[2];
  for (int i = 0; i < 3; i++) z -= fabs(R[6 + i]) * size[i];
  return z;
}

// greatest height over the motion of the lowest sole, and in *at the step of it; NAN: a state that is none
static double clearance(const tgModel *m, const tgCliTrajectory *t, int *at) {
  const int *type = tgi_cli_ints(m, "geom_type", NULL), *bits = tgi_cli_ints(m, "geom_contype", NULL);
  size_t nq = (size_t)tg_model_nq(m);
  double best = -INFINITY;
  tgSim *sim = tg_sim_create(m, NULL, NULL, NULL);
  for (int f = 0; f <= t->steps; f++) {
    double low = INFINITY;
    if (sim != NULL) memcpy(tg_sim_qpos(sim), t->q + (size_t)f * nq, nq * sizeof(double));
    if (sim == NULL || tg_sim_forward(sim) != TG_OK) {
      best = NAN;
      break;
    }
    for (int g = 0; g < tg_model_count(m, TG_THING_GEOM); g++)
      if (type[g] == TG_GEOM_BOX && bits[g] != 0) low = fmin(low, lowest_corner(m, sim, g));
    if (low > best) *at = f;
    best = fmax(best, low);
  }
  tg_sim_free(sim);
  return best;
}

static bool catapult(tgRun *run) {
  // L-BFGS with few iterations from many starts: from one start in three it ends on the target, from the others in a
  // motion that no longer touches the box
  tgTaskRun how = {.file = "catapult.yaml"};
  tgTask *task = NULL;
  int used;
  tgOptimum *o = tgi_run_starts(run, &how, run->cli->full ? 40 : 20, 1e-8, &used, &task);
  bool done = o != NULL;
  if (done) {
    tgi_run_row(run, "catapult.miss_m", tgi_cli_distance(task, o->best, NULL),
                "L-BFGS, start %d of at most 20, %ld simulations in %.2g s", used, o->simulations, o->seconds);
    done = tgi_run_leave_task(run, "catapult", task, o);
    tg_task_free(task);
  }
  tg_optimum_free(o);
  return done;
}

static bool jump_worm(tgRun *run) {
  tgTaskRun how = {.file = "jump_worm.yaml"};
  tgTask *task = NULL;
  tgError error = {0};
  int used;
  // (1 - 0.3)^2: the target is 1 m above the start
  tgOptimum *o = tgi_run_starts(run, &how, run->cli->full ? 16 : 8, run->cli->full ? 0 : 0.49, &used, &task);
  if (o == NULL) return false;
  tgCliTrajectory t = {.label = "best"};
  bool done = tgi_cli_record_task(task, o->best, NULL, &t, &error) == TG_OK;
  if (done) {
    const double *end = t.q + t.steps * tg_model_nq(tg_task_model(task));
    tgi_run_row(run, "jumpworm.rise_m", end[1],
                "root above its start after %d steps (the start hangs 0.13 m above where it would stand); Adam, %d "
                "starts, %ld simulations in %.2g s", t.steps, used, o->simulations, o->seconds);
    done = tgi_run_leave_task(run, "jump_worm", task, o);
  } else tgi_cli_error("reproduce", &error);
  tgi_cli_trajectory_free(&t);
  tg_optimum_free(o);
  tg_task_free(task);
  return done;
}

static bool humanoid(tgRun *run) {
  tgTaskRun how = {.file = "humanoid_jump.yaml", .iterations = run->cli->full ? 300 : 0};
  tgTask *task = NULL;
  tgError error = {0};
  tgOptimum *o = tgi_run_task(run, &how, &task);
  if (o == NULL) return false;
  tgCliTrajectory first = {.label = "first"}, best = {.label = "best"};
  tgStatus a = tgi_cli_record_task(task, o->first, NULL, &first, &error), b = tgi_cli_record_task(task, o->best, NULL, &best, &error);
  bool done = a == TG_OK && b == TG_OK;
  const tgModel *m = tg_task_model(task);
  if (done) {
    int at = 0, unused;
    double h = tg_task_timestep(task), c = clearance(m, &best, &at);
    tgi_run_row(run, "humanoid.clearance_m", c,
                "lowest corner of all soles, %.2f s after the start; loss %.3g to %.3g in %d iterations, %.3g s",
                at * h, o->first_loss, o->best_loss, o->iterations, o->seconds);
    tgi_run_report(run, "humanoid.first_clearance_m", clearance(m, &first, &unused), "m", NAN,
                   "of the first iterate, which only stands up at once");
    // a rollout that ends in a failed step is not counted as an iteration
    tgi_run_row(run, "humanoid.failed_lcp", (double)(o->evaluations - o->iterations),
                "of %ld steps of the optimisation; every step of the motion that is left was solved",
                o->evaluations * tg_task_steps(task));
    done = tgi_run_leave_task(run, "humanoid_jump", task, o);
  } else tgi_cli_error("reproduce", &error);
  tgi_cli_trajectory_free(&first);
  tgi_cli_trajectory_free(&best);
  tg_optimum_free(o);
  tg_task_free(task);
  return done;
}

bool tgi_reproduce_motions(tgRun *run) {
  static bool (*const part[3])(tgRun *) = {catapult, jump_worm, humanoid};
  bool good = true;
  for (int i = 0; i < 3 && !tgi_cli_interrupted; i++) {
    good = part[i](run) && good;
    tgi_run_progress(run, "motions", i + 1, 3, run->began);
  }
  return good;
}
