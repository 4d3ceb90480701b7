// franka.c: BA-R7, Franka-Push: an arm of seven degrees of freedom with the meshes of a package pushes a mesh: cost of a frame, its
// gradient against differences, and plans that it finds. [barrier] appendix A.6.5 and figure 15.
#include <glob.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "repro/barrier.h"
#include "tangere/barrier.h"
#include "tangere/rollout.h"

enum { FRAMES = 50, CHECKS = 3 };

// the folder of the Python package pybullet_data in the project's virtual environment
static bool package_folder(char *path, size_t size) {
  char exe[900], pattern[1000];
  tgi_cli_own_folder(exe, sizeof exe);
  snprintf(pattern, sizeof pattern, "%s/../venv/lib/python3*/site-packages/pybullet_data", exe);
  glob_t found;
  bool there = glob(pattern, 0, NULL, &found) == 0 && found.gl_pathc > 0;
  if (there) snprintf(path, size, "%s", found.gl_pathv[0]);
  globfree(&found);
  if (!there)
    tgi_cli_say("BA-R7: the Python package pybullet_data is not in build/venv, where its meshes come from; `make setup-test` installs it");
  return there;
}

static bool open(tgScene *s) {
  char path[1024], package[1100];
  tgError error = {0};
  *s = (tgScene){.model = NULL};
  if (!tgi_models_file("franka_push.xml", path, sizeof path) || !package_folder(package, sizeof package)) return false;
  const char *root[1] = {package};
  tgLoadOptions load = tg_load_default();
  load.asset_root = root;
  load.nasset_root = 1;
  tgBarrierOptions o = tg_barrier_default();
  o.weight = 1e-7;
  s->model = tg_model_load(path, &load, &error);
  s->contact = s->model != NULL ? tg_contact_create(s->model, "barrier", &o.of, &error) : NULL;
  s->sim = s->contact != NULL ? tg_sim_create(s->model, s->contact, NULL, &error) : NULL;
  if (s->sim == NULL) tgi_cli_error("reproduce", &error);
  else tg_sim_reset_key(s->sim, 0);
  s->h = s->model != NULL ? tg_model_timestep(s->model) : 0;
  return s->sim != NULL;
}

typedef struct Push { double mean, worst, backward, error, adjoint; int checks, failed; bool good; } Push;

// the gradient of the step from where the sim stands, which is put back
static void check(tgScene *s, Push *p) {
  tgGradCheck c = {.pass = false};
  p->checks++;
  tgStatus st = tg_grad_check_step(s->sim, NULL, &c);
  for (int i = 0; i < c.nblock && st == TG_OK; i++) {
    double *worst = strcmp(c.block[i].name, "adjoint") == 0 ? &p->adjoint : &p->error;
    *worst = fmax(*worst, c.block[i].error);
  }
  p->failed += st != TG_OK || !c.pass;
}

// the base turns through the object's place; u (FRAMES x nu) is what was asked of the servos
static void push(tgScene *s, double *u, Push *p) {
  const tgModel *m = s->model;
  const double *key = tgi_cli_reals(m, "key_ctrl", NULL);
  size_t nv = (size_t)tg_model_nv(m), nu = (size_t)tg_model_nu(m);
  double *g = calloc(4 * nv + 1, sizeof *g);
  p->good = g != NULL;
  for (size_t i = 0; i < 2 * nv && p->good; i++) g[i] = 1;
  for (int k = 0; k < FRAMES && p->good && !tgi_cli_interrupted; k++) {
    double *row = u + (size_t)k * nu;
    memcpy(row, key, nu * sizeof *row);
    row[0] += 0.9 * (k + 1) / FRAMES;
    memcpy(tg_sim_ctrl(s->sim), row, nu * sizeof *row);
    if (k % 20 == 5) check(s, p);
    double began = tgi_core_now();
    p->good = tgi_scene_step(s, NULL) == TG_OK;
    double middle = tgi_core_now();
    p->good = p->good && tg_sim_step_vjp(s->sim, g, g + nv, g + 2 * nv, g + 3 * nv, NULL, NULL, NULL) == TG_OK;
    double ms = 1e3 * (tgi_core_now() - began);
    p->mean += ms / FRAMES;
    p->backward += 1e3 * (tgi_core_now() - middle) / FRAMES;
    p->worst = fmax(p->worst, ms);
    if (k % 10 == 9) tgi_cli_say("BA-R7 frame %d of %d", k + 1, FRAMES);
  }
  if (!p->good) tgi_cli_say("franka_push.xml: %s", tg_sim_error(s->sim)->text);
  free(g);
}

// ---- the push as an optimisation ----

enum { SERVOS = 7, PUSH_TRIES = 30, GOALS = 2, OBJECT = 7 };   // where the object's free joint begins
static const double goals[GOALS][2] = {{0.54, 0.1}, {0.5, 0.1}}, home = 0.02;   // 10 cm aside; and 4 cm nearer [m]
// the keyframes that plans for them start from, at which the servos hold the arm
static const int starts[GOALS] = {0, 1};

static tgStatus from_goal(void *ctx, tgSim *sim, int t, int steps, tgReal *value, tgReal *gq, tgReal *gv, tgReal *gu) {
  const double *goal = ctx;
  (void)gv;
  (void)gu;
  for (int i = 0; i < 2 && t == steps; i++) {
    tgReal d = tg_sim_qpos(sim)[OBJECT + i] - goal[i];
    *value += d * d;
    if (gq != NULL) gq[OBJECT + i] = 2 * d;
  }
  return TG_OK;
}

typedef struct Plan { tgScene *s; tgRollout *r; tgRun *run; double began, goal[2]; const double *q0, *ctrl; int done; } Plan;

// x: how far each servo goes from where it starts, at an even speed
static void expand(const Plan *k, const double *x, double *u) {
  for (int t = 0; t < FRAMES; t++)
    for (int i = 0; i < SERVOS; i++) u[t * SERVOS + i] = k->ctrl[i] + x[i] * (t + 1) / FRAMES;
}

static bool plan_value(void *ctx, const double *x, double *loss, double *g) {
  Plan *k = ctx;
  double u[FRAMES * SERVOS], du[FRAMES * SERVOS];
  tgRolloutResult result;
  expand(k, x, u);
  tgRolloutRun run = {.q0 = k->q0, .u = u, .loss = from_goal, .loss_ctx = k->goal, .du = du,
                      .cancel = &tgi_cli_interrupted};
  tgStatus status = tg_rollout_run(k->r, &run, &result);
  *loss = result.loss;
  if (status != TG_OK && status != TG_CANCELLED) tgi_cli_say("franka_push.xml: %s", result.error.text);
  if (status != TG_OK) return false;
  for (int i = 0; i < SERVOS; i++) {
    g[i] = 0;
    for (int t = 0; t < FRAMES; t++) g[i] += du[t * SERVOS + i] * (t + 1) / FRAMES;
  }
  tgi_run_progress(k->run, "motions", ++k->done, GOALS * PUSH_TRIES, k->began);
  return true;
}

// Adam's method, whose step in each variable does not shrink where the slope jumps; x: the best
static bool adam(Plan *k, double *x, double *loss) {
  static const double rate = 0.03, mean = 0.9, square = 0.999, tiny = 1e-8;
  double at[SERVOS] = {0}, g[SERVOS], m[SERVOS] = {0}, s[SERVOS] = {0}, value;
  *loss = INFINITY;
  for (int t = 1; t <= PUSH_TRIES && *loss > home * home; t++) {
    if (!plan_value(k, at, &value, g)) return false;
    if (value < *loss) memcpy(x, at, sizeof at);
    *loss = fmin(*loss, value);
    for (int i = 0; i < SERVOS; i++) {
      m[i] = mean * m[i] + (1 - mean) * g[i];
      s[i] = square * s[i] + (1 - square) * g[i] * g[i];
      at[i] -= rate * m[i] / (1 - pow(mean, t)) / (sqrt(s[i] / (1 - pow(square, t))) + tiny);
    }
  }
  return true;
}

// To both goals, from an arm that its servos hold where it is and that touches nothing; u: the plan of the last that is reached, else of
// the first; *from: the keyframe that it starts from.
static bool plan(tgRun *run, tgScene *s, double *u, int *from) {
  tgError error = {0};
  tgRolloutOptions o = tg_rollout_default();
  Plan k = {.s = s, .run = run, .began = tgi_cli_now()};
  double x[SERVOS], loss, left[GOALS];
  int solved = 0;
  o.h = s->h;
  o.steps = FRAMES;
  k.r = tg_rollout_create(s->model, s->contact, &o, &error);
  if (k.r == NULL) return tgi_cli_error("reproduce", &error), false;
  bool good = true;
  for (int i = 0; i < GOALS && good; i++) {
    memcpy(k.goal, goals[i], sizeof k.goal);
    k.q0 = tgi_cli_reals(s->model, "key_qpos", NULL) + (size_t)starts[i] * (size_t)tg_model_nq(s->model);
    k.ctrl = tgi_cli_reals(s->model, "key_ctrl", NULL) + (size_t)starts[i] * (size_t)tg_model_nu(s->model);
    good = adam(&k, x, &loss);
    left[i] = sqrt(loss);
    if (good && (left[i] <= home || i == 0)) {
      expand(&k, x, u);
      *from = starts[i];
    }
    solved += good && left[i] <= home;
  }
  tg_rollout_free(k.r);
  if (good)
    tgi_run_row(run, "franka.solved", solved,
                "of %d goals; the object ends %.3g m from one 10 cm aside and %.3g m from one 4 cm nearer to the arm too, 2 cm allowed; "
                "seven servos, each at an even speed, by Adam from an arm at rest out of contact, for the second with the hand 12 mm "
                "farther out; %d motions with gradient, %.0f s", GOALS, left[0], left[1], k.done, tgi_cli_now() - k.began);
  return good;
}

// what the plan's motion and the sweep's touch; leaves both
static bool found(tgRun *run, tgScene *s, const double *u, int from, const tgCliTrajectory *sweep, long *touching) {
  tgCliTrajectory both[2] = {{.label = "found", .iteration = NAN}, *sweep};
  tgError error = {0};
  tg_sim_reset_key(s->sim, from);
  bool good = tgi_cli_record(s->sim, u, FRAMES, s->h, &tgi_cli_interrupted, &both[0], &error) == TG_OK;
  if (!good) tgi_cli_error("reproduce", &error);
  for (int i = 0; i < 2 && good; i++) *touching += tg_intersections_of_motion(s->model, both[i].q, FRAMES);
  good = good && tgi_run_leave(run, "push", "an arm pushes a mesh", s->model, s->h, both, 2, NULL, 0);
  tgi_cli_trajectory_free(&both[0]);
  return good;
}

bool tgi_franka(tgRun *run, long *touching) {
  tgScene s;
  Push p = {.mean = 0};
  tgError error = {0};
  if (!open(&s)) {
    tgi_scene_close(&s);
    return false;
  }
  double *u = calloc((size_t)FRAMES * (size_t)tg_model_nu(s.model) + 1, sizeof *u);
  if (u != NULL) push(&s, u, &p);
  tgCliTrajectory t = {.label = "push", .iteration = NAN};
  if (p.good && !tgi_cli_interrupted) {
    tg_sim_reset_key(s.sim, 0);
    p.good = tgi_cli_record(s.sim, u, FRAMES, s.h, &tgi_cli_interrupted, &t, &error) == TG_OK;
  }
  if (p.good && !tgi_cli_interrupted) {
    const double *first = t.q + 7, *last = t.q + FRAMES * tg_model_nq(s.model) + 7;
    int triangles, from = 0;
    tgi_cli_ints(s.model, "mesh_face", &triangles);
    char note[200];
    snprintf(note, sizeof note,
             "mean of %d frames, step and gradient, time on the core; gradient %.3g ms; %d triangles; the paper's "
             "scene has 14343", FRAMES, p.backward, triangles);
    tgi_run_report(run, "franka.frame_ms", p.mean, "ms", 7830, note);
    tgi_run_report(run, "franka.worst_over_mean", p.worst / p.mean, "", NAN, "over the frames");
    tgi_run_report(run, "franka.moved_m", hypot(last[0] - first[0], last[1] - first[1]), "m", NAN, "the object, over the floor");
    snprintf(note, sizeof note,
             "largest block error of the step's Jacobian against extrapolated differences, %d frames; %d did not pass",
             p.checks, p.failed);
    tgi_run_row(run, "franka.gradient_error", p.error, "%s", note);
    tgi_run_row(run, "franka.adjoint_error", p.adjoint, "of the step's adjoint against that Jacobian, dot test");
    p.good = plan(run, &s, u, &from) && found(run, &s, u, from, &t, touching);
  }
  tgi_cli_trajectory_free(&t);
  free(u);
  tgi_scene_close(&s);
  return p.good;
}
