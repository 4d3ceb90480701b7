// handling.c: TO-R5, a pancake that a spatula throws and turns over, and TO-R6, a peg that finds its hole, of the examples of [toi]:
// controls by gradient descent through impacts, friction and what comes loose, with nothing that overlaps.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "repro/experiments.h"
#include "tangere/force.h"
#include "tangere/geometry.h"

// what a motion came to
typedef struct Told {
  long intersections;   // over its poses: states, and those told between them
  int poses, impacts, stalled;
  double *end;          // nq: its last pose
} Told;

enum { WITHIN = 200 };  // poses between two states that are looked at

// the poses between the last two states, then the state, at *poses of q, which has room for all
static void add_poses(tgSim *sim, size_t nq, double *q, int *poses) {
  double time[WITHIN];
  int n = tg_sim_poses_within(sim, time, q + (size_t)*poses * nq, WITHIN);
  *poses += n < 0 ? 0 : n < WITHIN ? n : WITHIN;
  memcpy(q + (size_t)(*poses)++ * nq, tg_sim_qpos(sim), nq * sizeof *q);
}

// The task's motion at x in that scene, which is of the task's model or of one of the same joints. False: reason printed.
static bool follow(const tgTask *task, const double *x, tgScene *k, Told *told) {
  size_t nq = (size_t)tg_model_nq(k->model), nu = (size_t)tg_model_nu(k->model);
  int steps = tg_task_steps(task);
  double *u = calloc((size_t)steps * nu + 1, sizeof *u), *q = calloc(((size_t)steps * (WITHIN + 1) + 1) * nq, sizeof *q);
  bool good = u != NULL && q != NULL && told->end != NULL && tgi_cli_task_start(task, x, k->sim, u);
  k->h = tg_task_timestep(task);
  if (good) memcpy(q, tg_sim_qpos(k->sim), nq * sizeof *q);
  told->poses = 1;
  for (int t = 0; t < steps && good && !tgi_cli_interrupted; t++) {
    tgStepInfo info;
    memcpy(tg_sim_ctrl(k->sim), u + (size_t)t * nu, nu * sizeof *u);
    good = tgi_scene_step(k, &info) == TG_OK;
    if (!good) tgi_cli_say("step %d: %s", t, tg_sim_error(k->sim)->text);
    told->impacts += info.nimpact;
    told->stalled += info.nstalled;
    if (good) add_poses(k->sim, nq, q, &told->poses);
  }
  if (good) memcpy(told->end, tg_sim_qpos(k->sim), nq * sizeof *q);
  told->intersections = good ? tg_intersections_of_motion(k->model, q, told->poses - 1) : -1;
  free(u);
  free(q);
  return told->intersections >= 0;
}

static bool follow_file(const tgTask *task, const double *x, const char *file, Told *told) {
  tgScene k;
  if (!tgi_scene_open_under(&k, file, "toi", NULL)) return false;
  *told = (Told){.end = calloc((size_t)tg_model_nq(k.model) + 1, sizeof *told->end)};
  bool good = follow(task, x, &k, told);
  tgi_scene_close(&k);
  return good;
}

static void row(tgRun *run, const char *scene, const char *name, double value, const char *note) {
  char full[200];
  snprintf(full, sizeof full, "%s.%s", scene, name);
  tgi_run_row(run, full, value, "%s", note);
}

static void report(tgRun *run, const char *scene, const char *name, double value, const char *unit, const char *note) {
  char full[200];
  snprintf(full, sizeof full, "%s.%s", scene, name);
  tgi_run_report(run, full, value, unit, NAN, note);
}

static void motion_rows(tgRun *run, const char *scene, const Told *told) {
  char note[120];
  snprintf(note, sizeof note, "pairs of geoms with a point in common, exact, at %d poses: states, and where pieces of steps end",
           told->poses);
  row(run, scene, "intersections", (double)told->intersections, note);
  snprintf(note, sizeof note, "islands held where they were, of %d impacts", told->impacts);
  row(run, scene, "stalled", told->stalled, note);
}

// the motion found, and how it holds in shorter steps and under `lcp`
static bool task_rows(tgRun *run, const char *scene, const tgTask *task, const tgOptimum *best) {
  char note[120];
  snprintf(note, sizeof note, "the first is %.4g", best->first_loss);
  row(run, scene, "final_loss", best->best_loss, note);
  row(run, scene, "evaluations", (double)best->simulations, "of loss and gradient");
  report(run, scene, "seconds", best->seconds, "s", "of the optimisation");
  return tgi_run_verify(run, scene, task, best->best);
}

typedef bool (*MoreRows)(tgRun *run, const tgTask *task, const tgOptimum *best, const Told *told);

static bool reproduce(tgRun *run, const char *scene, const char *task_file, const char *model_file, MoreRows more) {
  tgTask *task = NULL;
  tgOptimum *best = tgi_run_task(run, &(tgTaskRun){.file = task_file}, &task);
  Told told = {0};
  bool good = best != NULL && !tgi_cli_interrupted && follow_file(task, best->best, model_file, &told);
  if (good) motion_rows(run, scene, &told);
  good = good && task_rows(run, scene, task, best) && more(run, task, best, &told) && tgi_run_leave_task(run, scene, task, best);
  free(told.end);
  tg_optimum_free(best);
  tg_task_free(task);
  return good || (best != NULL && tgi_cli_interrupted);
}

// ---- the pancake ----

enum { PANCAKE = 3 };   // where its free joint begins, behind the spatula's three joints

static bool pancake_rows(tgRun *run, const tgTask *task, const tgOptimum *best, const Told *told) {
  (void)task;
  (void)best;
  const double *q = told->end + PANCAKE;
  double up = 1 - 2 * (q[4] * q[4] + q[5] * q[5]);
  report(run, "pancake", "turned_deg", acos(fmin(fmax(up, -1), 1)) * 180 / 3.14159265358979324, "deg", "160 are asked");
  report(run, "pancake", "height_m", q[2], "m", "0.3 m are asked; it lay at 0.207 m");
  return true;
}

bool tgi_reproduce_pancake(tgRun *run) { return reproduce(run, "pancake", "pancake.yaml", "pancake.xml", pancake_rows); }

// ---- the peg ----

// the motion found for four boxes about the hole, with the block as one mesh
static bool mesh_rows(tgRun *run, const tgTask *task, const tgOptimum *best, const Told *told) {
  Told mesh = {0};
  report(run, "peg", "depth_m", -told->end[1] - 0.02, "m", "of the lower end in the hole; 0.04 m are asked");
  bool good = follow_file(task, best->best, "peg_mesh.xml", &mesh);
  if (good) {
    motion_rows(run, "peg_mesh", &mesh);
    report(run, "peg_mesh", "apart_m", hypot(mesh.end[0] - told->end[0], mesh.end[1] - told->end[1]), "m",
           "of the ends of the two motions");
  }
  free(mesh.end);
  return good;
}

bool tgi_reproduce_peg(tgRun *run) { return reproduce(run, "peg", "peg.yaml", "peg.xml", mesh_rows); }
