// gather.c: BA-R5, a rod pushes ten cubes together, and ten others apart by their kind, by gradient through a potential that never ends:
// [barrier] Section 6, figure 8, appendix A.6.2, table 3.
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "repro/barrier.h"

#define FINE 0.001   // step of the replay in hard contact [s]
enum { ENOUGH = 8 };   // cubes home in open loop with which no loop is closed

// the terms whose body is home in the coordinates q: in the plane within its tolerance of its target
static int home(const tgTask *task, const double *q) {
  const tgModel *m = tg_task_model(task);
  const int *first = tg_model_field_named(m, "body_jntadr").data, *qpos = tg_model_field_named(m, "jnt_qadr").data;
  tgTaskTerm term;
  int n = 0;
  for (int i = 0; tg_task_term(task, i, &term); i++) {
    const double *at = q + qpos[first[term.body]];
    n += hypot(at[0] - term.target[0], at[1] - term.target[1]) <= term.tolerance;
  }
  return n;
}

// at the end of the motion of x; -1: reason printed
static int home_at_end(const tgTask *task, const double *x) {
  tgError error = {0};
  tgCliTrajectory t = {.label = "best"};
  int n = -1;
  if (tgi_cli_record_task(task, x, &t, &error) == TG_OK) n = home(task, t.q + (size_t)t.steps * (size_t)tg_model_nq(tg_task_model(task)));
  else tgi_cli_error("reproduce", &error);
  tgi_cli_trajectory_free(&t);
  return n;
}

// ---- the same task in hard contact ----

// A world of fine steps of `lcp`, and what steers it: the motion found as it is, or a controller that begins with that motion.
typedef struct World { tgScene scene; const tgTask *task; const double *u; tgController *controller; } World;

// the controls from step t of the task on
static bool steer(World *w, int t, tgError *error) {
  size_t nu = (size_t)tg_model_nu(w->scene.model);
  double h = tg_task_timestep(w->task), time = t * h;
  int every = w->controller != NULL ? (int)lround(tg_controller_interval(w->controller) / h) : 1;
  tgSim *s = w->scene.sim;
  if (w->controller == NULL) {
    memcpy(tg_sim_ctrl(s), w->u + (size_t)t * nu, nu * sizeof *w->u);
    return true;
  }
  if (t % every == 0 && tg_controller_plan(w->controller, time, tg_sim_qpos(s), tg_sim_qvel(s), &tgi_cli_interrupted, error) != TG_OK)
    return false;
  return tg_controller_control(w->controller, time, tg_sim_ctrl(s), error) == TG_OK;
}

// how many cubes are home at its end; -1: reason printed
static int drive(World *w) {
  tgError error = {0};
  int within = (int)lround(tg_task_timestep(w->task) / FINE);
  bool good = true;
  for (int t = 0; t < tg_task_steps(w->task) && good; t++) {
    tgStepInfo info;
    good = steer(w, t, &error);
    for (int k = 0; k < within && good; k++)
      if (tgi_scene_step(&w->scene, &info) < TG_OK) {
        error = *tg_sim_error(w->scene.sim);
        good = false;
      }
  }
  if (!good && !tgi_cli_interrupted) tgi_cli_error("reproduce", &error);
  return good ? home(w->task, tg_sim_qpos(w->scene.sim)) : -1;
}

// closed: planned anew in windows of the task from the states that come, beginning with x
static int under_lcp(const tgTask *task, const double *x, const char *model, bool closed) {
  World w = {.task = task};
  tgError error = {0};
  int steps = tg_task_steps(task), n = -1;
  if (!tgi_scene_open_under(&w.scene, model, "lcp", NULL)) return -1;
  w.scene.h = FINE;
  double *u = calloc((size_t)steps * (size_t)tg_model_nu(w.scene.model) + 1, sizeof *u);
  bool good = u != NULL && tgi_cli_task_start(task, x, w.scene.sim, u);
  w.u = u;
  if (good && closed) {
    tgControllerOptions o = tg_controller_default();
    o.threads = 1;
    o.separate = true;   // bodies of `lcp` rest in each other by what is round-off to it
    w.controller = tg_controller_create(task, &o, &error);
    good = w.controller != NULL && tg_controller_give(w.controller, 0, tg_task_timestep(task), steps, u, &error) == TG_OK;
    if (!good) tgi_cli_error("reproduce", &error);
  }
  if (good) n = drive(&w);
  tg_controller_free(w.controller);
  tgi_scene_close(&w.scene);
  free(u);
  return n;
}

// ---- rows ----

static const struct { const char *name, *task, *model; } gather = {"gather", "gather.yaml", "gather.xml"},
                                                         sorted = {"sort", "sort.yaml", "sort.xml"};

bool tgi_gather_solve(tgRun *run, const char *name, tgBarrierRun *r, long *touching) {
  char row[60];
  if (run->folder != NULL) snprintf(r->how.journal, sizeof r->how.journal, "%s/%s.journal", run->folder, name);
  double began = (double)clock() / CLOCKS_PER_SEC;
  if (!tgi_barrier_runs(run, r, 1)) return false;
  double spent = (double)clock() / CLOCKS_PER_SEC - began;
  if (tgi_cli_interrupted) return true;
  const tgOptimum *o = r->optimum;
  int before = home_at_end(r->task, o->first), after = home_at_end(r->task, o->best);
  if (before < 0 || after < 0) return false;
  snprintf(row, sizeof row, "%s.solved", name);
  tgi_run_row(run, row, after,
              "of 10, %d at the start; the farthest is %.3g m from its target; %d of %d windows were planned, %ld simulations",
              before, tgi_cli_distance(r->task, o->best), o->iterations, tg_task_windows(r->task), o->simulations);
  snprintf(row, sizeof row, "%s.seconds", name);
  tgi_run_any(run, row, spent, "s", NAN, "on one core, of this process: less where an interrupted run was taken up");
  *touching += tgi_barrier_touching(r->task, o->best);
  return tgi_run_leave_task(run, name, r->task, o);
}

static bool verify(tgRun *run, const tgTask *task, const double *x) {
  static const char *const row = "gather.verify.lcp.within";
  int open = under_lcp(task, x, gather.model, false);
  bool again = open >= 0 && open < ENOUGH && !tgi_cli_interrupted;
  int closed = again ? under_lcp(task, x, gather.model, true) : open;
  if (tgi_cli_interrupted || open < 0 || closed < 0) return tgi_cli_interrupted;
  if (!again) tgi_run_row(run, row, open, "cubes home, in open loop: the controls as they were found, in steps of 1 ms");
  else tgi_run_row(run, row, closed, "cubes home, in closed loop: planned anew from states of `lcp`, in steps of 1 ms; %d in open", open);
  return true;
}

static bool local(tgRun *run, double seconds) {
  tgBarrierTask how = {.file = gather.task, .contact = "sdrs", .seconds = seconds};
  tgBarrierRun runs[TG_BARRIER_RATES];
  char shown[200];
  int most = 0;
  if (!tgi_barrier_rates(&how, runs)) return false;
  bool good = tgi_barrier_runs(run, runs, TG_BARRIER_RATES);
  tgi_barrier_best(runs, shown, sizeof shown, NULL);
  for (int k = 0; k < TG_BARRIER_RATES && good && !tgi_cli_interrupted; k++) {
    int n = home_at_end(runs[k].task, runs[k].optimum->best);
    good = n >= 0;
    most = n > most ? n : most;
  }
  if (good && !tgi_cli_interrupted)
    tgi_run_row(run, "local.gather.solved", most, "best of three rates, final over first loss: %s", shown);
  tgi_barrier_free(runs, TG_BARRIER_RATES);
  return good;
}

bool tgi_reproduce_gather(tgRun *run) {
  tgBarrierRun both[2] = {{.how = {.file = gather.task}}, {.how = {.file = sorted.task}}};
  long touching = 0;
  bool good = tgi_gather_solve(run, gather.name, &both[0], &touching);
  if (good && !tgi_cli_interrupted) good = verify(run, both[0].task, both[0].optimum->best);
  if (good && !tgi_cli_interrupted) good = local(run, run->cli->full ? 0 : 60);
  if (good && !tgi_cli_interrupted) good = tgi_gather_solve(run, sorted.name, &both[1], &touching);
  if (good && !tgi_cli_interrupted) {
    tgi_run_row(run, "intersections", (double)touching, "pairs of geoms over all states of both motions, by exact predicates");
    good = tgi_gather_draw(run, both);
  }
  tgi_barrier_free(both, 2);
  return good;
}
