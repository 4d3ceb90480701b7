// jacobians.c: LC-R1, the five Jacobians of one step in four scenes: time, and error against differences. Figures of
// [lcp], tables II and III.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "repro/experiments.h"
#include "tangere/lcp.h"

typedef struct Case {
  const char *name, *file, *key;
  double central[5], ridders[5];      // the paper's times by block [us]: dq'/dq, dv'/dq, dq'/dv, dv'/dv, dv'/dtau
} Case;
static const Case cases[] = {
    {"atlas", "humanoid33.xml", "sunk", {160e3, 161e3, 107.2e3, 160e3, 161e3}, {581e3, 581e3, 304e3, 487e3, 524e3}},
    {"cheetah", "half_cheetah.xml", "bench", {1690, 1874, 1228, 1980, 1870}, {3170, 7920, 2420, 5630, 5750}},
    {"jumpworm", "jump_worm.xml", "bench", {732, 836, 532, 872, 851}, {1580, 2840, 810, 2170, 2310}},
    {"catapult", "catapult.xml", "bench", {845, 972, 574, 1010, 960}, {1790, 3710, 958, 2720, 2850}},
};

// a step from a state at rest that is made again and again
typedef struct Step {
  tgScene *scene;
  int nq, nv, nu, nt;
  double *x0, *D;                     // state and controls; a Jacobian
} Step;

static void put(Step *s, const double *x) {
  memcpy(tg_sim_qpos(s->scene->sim), x, (size_t)s->nq * sizeof *x);
  memcpy(tg_sim_qvel(s->scene->sim), x + s->nq, (size_t)s->nv * sizeof *x);
  memcpy(tg_sim_ctrl(s->scene->sim), x + s->nq + s->nv, (size_t)s->nu * sizeof *x);
}

static bool make(Step *s, tgScene *scene) {
  int nq = tg_model_nq(scene->model), nv = tg_model_nv(scene->model), nu = tg_model_nu(scene->model);
  *s = (Step){.scene = scene, .nq = nq, .nv = nv, .nu = nu, .nt = 2 * nv + nu};
  s->x0 = calloc((size_t)(nq + nv + nu), sizeof(double));
  s->D = calloc((size_t)(2 * nv) * (size_t)s->nt, sizeof(double));
  if (s->x0 == NULL || s->D == NULL) return false;
  memcpy(s->x0, tg_sim_qpos(scene->sim), (size_t)nq * sizeof(double));
  memcpy(s->x0 + nq, tg_sim_qvel(scene->sim), (size_t)nv * sizeof(double));
  return true;
}

// the state again, with the memory of a step from it: what a step in the middle of a motion finds
static tgStatus warm(Step *s, tgStepInfo *info) {
  put(s, s->x0);
  tgStatus st = tgi_scene_step(s->scene, info);
  put(s, s->x0);
  return st;
}

// times of the columns q, v and u by differences [us], least of `repeats`: Ridders' (step 1e-4, as in the paper) or central ones (1e-7)
static tgStatus time_differences(Step *s, tgDifference method, int repeats, double us[3]) {
  int first[4] = {0, s->nv, 2 * s->nv, s->nt};
  tgDifferenceOptions o = tg_difference_default();
  o.method = method;
  o.h = s->scene->h;
  for (int part = 0; part < 3; part++) us[part] = INFINITY;
  for (int r = 0; r < repeats && !tgi_cli_interrupted; r++)
    for (int part = 0; part < 3; part++) {
      double began = tgi_cli_now();
      o.first = first[part];
      o.count = first[part + 1] - first[part];
      tgStatus st = tg_grad_differences(s->scene->sim, &o, s->D);
      if (st != TG_OK) return st;
      us[part] = fmin(us[part], 1e6 * (tgi_cli_now() - began));
    }
  return TG_OK;
}

// medians of the warm step and of its Jacobian [us]
static tgStatus time_ours(Step *s, int repeats, double *step, double *jacobian, tgStepInfo *info) {
  double *t = malloc((size_t)repeats * 2 * sizeof *t);
  tgStatus st = t != NULL ? TG_OK : TG_ERR_MEMORY;
  int n = 0;
  for (; n < repeats && st == TG_OK && !tgi_cli_interrupted; n++) {
    put(s, s->x0);
    double a = tgi_cli_now();
    st = tg_sim_step(s->scene->sim, s->scene->h, info);
    double b = tgi_cli_now();
    if (st == TG_OK) st = tg_sim_step_jacobian(s->scene->sim, s->D, NULL);
    t[n] = 1e6 * (b - a);
    t[repeats + n] = 1e6 * (tgi_cli_now() - b);
  }
  *step = n > 0 ? tgi_median(t, n) : NAN;
  *jacobian = n > 0 ? tgi_median(t + repeats, n) : NAN;
  free(t);
  return st;
}

static void row(tgRun *run, const Case *c, const char *what, double value, const char *note) {
  char name[80];
  snprintf(name, sizeof name, "%s.%s", c->name, what);
  tgi_run_row(run, name, value, "%s", note);
}

// each Jacobian apart: its error, and what differences of its columns cost beside the paper's
static void report_blocks(tgRun *run, const Case *c, const tgGradCheck *check, const double central[3], const double ridders[3]) {
  static const struct { const char *name, *block; int part; } blocks[5] = {
      {"qq", "dq'/dq", 0}, {"vq", "dv'/dq", 0}, {"qv", "dq'/dv", 1}, {"vv", "dv'/dv", 1}, {"vu", "dv'/du", 2}};
  double worst = 0;
  int spoiled = 0;
  for (int k = 0; k < 5; k++) {
    char name[80];
    for (int i = 0; i < check->nblock; i++) {
      const tgGradBlock *b = &check->block[i];
      if (strcmp(b->name, blocks[k].block) != 0) continue;
      worst = b->error <= worst ? worst : b->error;
      spoiled += b->spoiled;
      snprintf(name, sizeof name, "%s.%s.rel_error", c->name, blocks[k].name);
      tgi_run_report(run, name, b->error, "", NAN, b->spoiled > 0 ? b->reason : "");
    }
    snprintf(name, sizeof name, "%s.%s.central_us", c->name, blocks[k].name);
    tgi_run_report(run, name, central[blocks[k].part], "us", c->central[k], "");
    snprintf(name, sizeof name, "%s.%s.ridders_us", c->name, blocks[k].name);
    tgi_run_report(run, name, ridders[blocks[k].part], "us", c->ridders[k], "");
  }
  char note[120] = "worst of the five blocks";
  if (spoiled > 0) snprintf(note, sizeof note, "worst of the five blocks; %d columns cross a switch and are compared one-sided", spoiled);
  row(run, c, "max_rel_error", worst, note);
}

static tgStatus measure(tgRun *run, const Case *c, Step *s) {
  tgStepInfo info;
  tgGradCheckOptions o = tg_grad_check_default();
  tgGradCheck check = {.pass = true};
  char note[200];
  double step, jacobian, central[3], ridders[3];
  tgStatus st = warm(s, &info);
  if (st == TG_OK) st = time_ours(s, run->cli->full ? 20000 : s->nv > 20 ? 2000 : 5000, &step, &jacobian, &info);
  if (st != TG_OK) return st;
  snprintf(note, sizeof note, "all five at once; %d dofs, %d controls, %d contacts, %d rows%s", s->nv, s->nu, info.ncontact, info.nrow,
           info.rank_deficient ? ", redundant" : "");
  row(run, c, "jacobians_us", jacobian, note);
  row(run, c, "step_us", step, info.stage == 1 ? "warm: the classes of the step before hold"
      : "the classes of the step before did not hold");
  row(run, c, "jacobians_per_step", jacobian / step, "");
  tg_sim_freeze_memory(s->scene->sim, true);
  st = time_differences(s, TG_DIFFERENCE_CENTRAL, 5, central);
  if (st == TG_OK) st = time_differences(s, TG_DIFFERENCE_RIDDERS, 3, ridders);
  tg_sim_freeze_memory(s->scene->sim, false);
  put(s, s->x0);
  if (st == TG_OK) st = tg_grad_check_step(s->scene->sim, &o, &check);
  if (st != TG_OK) return st;
  // as the paper does, each of the five Jacobians by itself: columns of q and of v are needed twice
  row(run, c, "central_ratio", (2 * central[0] + 2 * central[1] + central[2]) / jacobian,
      "central differences, each block by itself, over ours");
  row(run, c, "ridders_ratio", (2 * ridders[0] + 2 * ridders[1] + ridders[2]) / jacobian, "Ridders, each block by itself, over ours");
  report_blocks(run, c, &check, central, ridders);
  return TG_OK;
}

bool tgi_reproduce_jacobians(tgRun *run) {
  int n = (int)(sizeof cases / sizeof *cases);
  bool good = true;
  tgLcpOptions o = tg_lcp_default();
  o.contact_rule = TG_RULE_TOUCHING;   // the paper's, whose times these are
  for (int i = 0; i < n && !tgi_cli_interrupted; i++) {
    tgScene scene;
    Step s = {.scene = NULL};
    if (!tgi_scene_open(&scene, cases[i].file, &o.of)) return false;
    int key = tg_model_find(scene.model, TG_THING_KEY, cases[i].key);
    tgStatus st = tg_sim_reset_key(scene.sim, key);
    if (st == TG_OK && !make(&s, &scene)) st = TG_ERR_MEMORY;
    if (st == TG_OK) st = measure(run, &cases[i], &s);
    if (st != TG_OK) {
      tgi_cli_say("%s: %s", cases[i].file, tg_sim_error(scene.sim)->text[0] != '\0' ? tg_sim_error(scene.sim)->text : tg_status_text(st));
      good = false;
    }
    free(s.x0);
    free(s.D);
    tgi_scene_close(&scene);
    tgi_run_progress(run, "scenes", i + 1, n, run->began);
  }
  return good;
}
