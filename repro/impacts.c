// impacts.c: X-8, value and gradient of motions with impacts as the step shrinks, against closed forms; of a biped's step and a cube's
// toss against their own limits, and the toss against the limit of `toi`.
//
// Each motion is run at 1e-2, 1e-3 and 1e-4 s from four starts that differ by quarters of what moves in a step, as an
// error may depend on where in the step an impact falls; the worst counts.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "repro/experiments.h"
#include "tangere/lcp.h"
#include "tangere/rollout.h"

enum { SIZES = 3, PHASES = 4, TOSSES = 20, TOSS_DOFS = 6, MOST_DOFS = 7 };
static const double size[SIZES] = {1e-2, 1e-3, 1e-4};
static const double gravity = 9.81, mu = 0.5;
// errors below this are rounding, of an order that nobody can tell [m, 1]
static const double rounds = 1e-9;
// step of the limit of a motion that has no closed form [s]: a tenth of the finest
static const double limit_size = 1e-5;

// ---- a motion: the end's coordinate `to` and its derivative in coordinate `from` of the start ----

typedef struct Truth { double value, slope; } Truth;
typedef struct Case {
  const char *name, *file, *key;
  double duration;
  int from, to;
  double speed;                                  // by which an impact moves with the start [m/s]
  Truth (*truth)(const double *q, const double *v, double e, double T);   // NULL: its own limit, and the gradient as a whole
} Case;

// (1 + e)/2 of the speed goes to the second ball
static Truth balls(const double *q, const double *v, double e, double T) {
  double share = (1 + e) / 2, meet = (0.3 + q[1] - q[0]) / v[0];
  return (Truth){q[1] + share * v[0] * (T - meet), share};
}

static Truth drop(const double *q, const double *v, double e, double T) {
  double meet = sqrt(2 * q[1] / gravity), fast = gravity * meet, left = T - meet, up = e * fast;
  (void)v;
  if (e == 0) return (Truth){0, 0};   // it stays on the floor
  return (Truth){up * left - gravity * left * left / 2, e * left * gravity / fast - (up - gravity * left) / fast};
}

// friction takes mu of the normal impulse from the speed at once, and what is left by sliding
static Truth slide(const double *q, const double *v, double e, double T) {
  double meet = sqrt(2 * q[1] / gravity), fast = gravity * meet, left = v[0] - mu * fast;
  (void)e;
  (void)T;
  return (Truth){q[0] + v[0] * meet + left * left / (2 * mu * gravity), v[0] / fast - left / fast};
}

typedef struct End { int coordinate; } End;
static tgStatus end(void *ctx, tgSim *sim, int t, int steps, tgReal *value, tgReal *gq, tgReal *gv, tgReal *gu) {
  const End *to = ctx;
  (void)gv;
  (void)gu;
  if (t < steps) return TG_OK;
  *value = tg_sim_qpos(sim)[to->coordinate];
  if (gq != NULL) gq[to->coordinate] = 1;
  return TG_OK;
}

static tgStatus bouncing(void *ctx, tgSim *sim) {
  int rows, cols;
  double *e = tg_sim_param(sim, "geom_restitution", &rows, &cols);
  for (int i = 0; i < rows * cols; i++) e[i] = *(const double *)ctx;
  return TG_OK;
}

// value and gradient in (q0, v0), g (2 nv), with the controls that the scene's sim holds
static tgStatus move(const tgScene *scene, const double *q, const double *v, double e, double h, double T, int to,
                     double *value, double *g) {
  tgError error = {0};
  size_t nu = (size_t)tg_model_nu(scene->model), steps = (size_t)lround(T / h);
  double *u = calloc(steps * nu + 1, sizeof *u);
  if (u == NULL) return TG_ERR_MEMORY;
  for (size_t t = 0; t < steps && nu > 0; t++) memcpy(u + t * nu, tg_sim_ctrl(scene->sim), nu * sizeof *u);
  tgRolloutOptions o = tg_rollout_default();
  tgRolloutResult result;
  End coordinate = {to};
  o.h = h;
  o.steps = (int)steps;
  tgRollout *r = tg_rollout_create(scene->model, scene->contact, &o, &error);
  tgRolloutRun run = {.q0 = q, .v0 = v, .u = nu > 0 ? u : NULL, .loss = end, .loss_ctx = &coordinate, .setup = bouncing, .setup_ctx = &e,
                      .dq0 = g, .dv0 = g + tg_model_nv(scene->model), .cancel = &tgi_cli_interrupted};
  tgStatus status = r != NULL ? tg_rollout_run(r, &run, &result) : error.status;
  if (status != TG_OK && status != TG_CANCELLED) tgi_cli_say("step size %g s: %s", h, r != NULL ? result.error.text : error.text);
  *value = status == TG_OK ? result.loss : NAN;
  tg_rollout_free(r);
  free(u);
  return status;
}

static double distance(const double *a, const double *b, int n) {
  double sum = 0;
  for (int i = 0; i < n; i++) sum += (a[i] - b[i]) * (a[i] - b[i]);
  return sqrt(sum);
}

static const Case cases[] = {
    {"balls", "impact_balls.xml", "start", 0.8, 0, 1, 1, balls},
    {"floor", "impact_floor.xml", "drop", 0.6, 1, 1, 3, drop},
    {"sliding", "impact_floor.xml", "slide", 0.6, 1, 0, 3, slide},
    {"biped", "impact_biped.xml", "step", 0.45, 1, 0, 0.4, NULL},   // both feet land, the second at 0.36 s
};

// worst errors of value and slope at each step size
static tgStatus errors(const tgScene *scene, const Case *c, double e, double value[SIZES], double slope[SIZES]) {
  static const double none[2 * MOST_DOFS] = {0};
  int n = 2 * tg_model_nv(scene->model);
  double q[MOST_DOFS], v[MOST_DOFS], g[2 * MOST_DOFS], limit[2 * MOST_DOFS], at, to;
  for (int i = 0; i < SIZES; i++) {
    value[i] = slope[i] = 0;
    for (int k = 0; k < PHASES; k++) {
      tg_sim_reset_key(scene->sim, tg_model_find(scene->model, TG_THING_KEY, c->key));
      memcpy(q, tg_sim_qpos(scene->sim), (size_t)n / 2 * sizeof *q);
      memcpy(v, tg_sim_qvel(scene->sim), (size_t)n / 2 * sizeof *v);
      q[c->from] += (k + 0.3) / PHASES * size[i] * c->speed;
      tgStatus status = move(scene, q, v, e, size[i], c->duration, c->to, &at, g);
      if (status != TG_OK) return status;
      if (c->truth != NULL) {
        Truth t = c->truth(q, v, e, c->duration);
        value[i] = fmax(value[i], fabs(at - t.value));
        slope[i] = fmax(slope[i], fabs(g[c->from] - t.slope));
        continue;
      }
      status = move(scene, q, v, e, limit_size, c->duration, c->to, &to, limit);
      if (status != TG_OK) return status;
      value[i] = fmax(value[i], fabs(at - to));
      slope[i] = fmax(slope[i], distance(g, limit, n) / distance(limit, none, n));
    }
  }
  return TG_OK;
}

// slope of log error over log h by least squares; errors of rounding count as that
static double order(const double *error) {
  double mean = 0, sum = 0;
  for (int i = 0; i < SIZES; i++) mean += log10(fmax(error[i], rounds)) / SIZES;
  for (int i = 0; i < SIZES; i++) sum += (1 - i) * (log10(fmax(error[i], rounds)) - mean);
  return sum / 2;
}

// of the order where it can be told; rounding throughout has any
static double least_order(double least, const double *error) {
  return error[0] <= rounds && error[SIZES - 1] <= rounds ? least : fmin(least, order(error));
}

static tgLcpOptions by_rule(tgContactRule rule) {
  tgLcpOptions o = tg_lcp_default();
  o.contact_rule = rule;
  return o;
}

static bool converges(tgRun *run, const Case *c, tgContactRule rule, const double *restitution, int n) {
  tgScene scene;
  double least = INFINITY;
  char shown[400], name[64], note[520];
  size_t used = 0;
  tgLcpOptions o = by_rule(rule);
  bool closing = rule == TG_RULE_CLOSING;
  if (!tgi_scene_open_under(&scene, c->file, "lcp", &o.of)) return false;
  tgStatus status = TG_OK;
  for (int i = 0; i < n && status == TG_OK; i++) {
    double value[SIZES], slope[SIZES];
    status = errors(&scene, c, restitution[i], value, slope);
    if (status != TG_OK) break;
    least = least_order(least_order(least, value), slope);
    used += (size_t)snprintf(shown + used, sizeof shown - used, "%se %g: value %.1e %.1e %.1e, gradient %.1e %.1e %.1e",
                             i > 0 ? "; " : "", restitution[i], value[0], value[1], value[2], slope[0], slope[1],
                             slope[2]);
    if (strcmp(c->name, "balls") != 0 || !closing) continue;
    snprintf(name, sizeof name, "lcp.balls.e%g.gradient_error", restitution[i]);
    tgi_run_row(run, name, slope[1], "of d x2/d x1 = %g, at 1 ms, worst of %d starts", (1 + restitution[i]) / 2, PHASES);
  }
  // rounding throughout has any order
  double told = isfinite(least) ? least : 1;
  snprintf(name, sizeof name, closing ? "lcp.%s.order" : "lcp.touching.%s.order", c->name);
  snprintf(note, sizeof note, "least of value and gradient%s; errors at 1e-2, 1e-3, 1e-4 s: %s",
           isfinite(least) ? "" : ", all rounding", shown);
  if (status == TG_OK && closing) tgi_run_row(run, name, told, "%s", note);
  if (status == TG_OK && !closing) tgi_run_report(run, name, told, "", NAN, note);
  tgi_scene_close(&scene);
  return status == TG_OK;
}

// every impact at its own time: right at every step size
static bool exact_balls(tgRun *run, const double *restitution, int n) {
  tgScene scene;
  char name[64];
  if (!tgi_scene_open_under(&scene, cases[0].file, "toi", NULL)) return false;
  tgStatus status = TG_OK;
  for (int i = 0; i < n && status == TG_OK; i++) {
    double value[SIZES], slope[SIZES];
    status = errors(&scene, &cases[0], restitution[i], value, slope);
    if (status != TG_OK) break;
    snprintf(name, sizeof name, "toi.balls.e%g.gradient_error", restitution[i]);
    tgi_run_row(run, name, fmax(slope[0], fmax(slope[1], slope[2])), "of d x2/d x1 = %g, worst of %d starts at 1e-2, 1e-3, 1e-4 s each",
                (1 + restitution[i]) / 2, PHASES);
  }
  tgi_scene_close(&scene);
  return status == TG_OK;
}

// ---- the toss ----

// false: said why
static bool leave(tgRun *run, const tgScene *scene) {
  tgCliTrajectory t = {.label = "toss", .iteration = NAN};
  tgError error = {0};
  tg_sim_reset_key(scene->sim, 0);
  tgStatus status = tgi_cli_record(scene->sim, NULL, 1000, 1e-3, &tgi_cli_interrupted, &t, &error);
  if (status != TG_OK) tgi_cli_error("toss", &error);
  bool good = status == TG_OK && tgi_run_leave(run, "toss", "the first toss at 1 ms", scene->model, 1e-3, &t, 1, NULL, 0);
  tgi_cli_trajectory_free(&t);
  return good;
}

// errors of the gradient of the cube's final x at 1 ms, over that extrapolated from 0.2 and 0.1 ms, and over that of `judge` at 0.1 ms
static tgStatus toss(const tgScene *scene, const tgScene *judge, int key, double *error, double *judged) {
  static const double h[3] = {1e-3, 2e-4, 1e-4}, none[2 * TOSS_DOFS] = {0};
  double q[7], v[TOSS_DOFS], g[3][2 * TOSS_DOFS], limit[2 * TOSS_DOFS], value;
  tg_sim_reset_key(scene->sim, key);
  memcpy(q, tg_sim_qpos(scene->sim), sizeof q);
  memcpy(v, tg_sim_qvel(scene->sim), sizeof v);
  for (int i = 0; i < 3; i++) {
    tgStatus status = move(scene, q, v, 0, h[i], 1, 0, &value, g[i]);
    if (status != TG_OK) return status;
  }
  tgStatus status = move(judge, q, v, 0, h[2], 1, 0, &value, limit);
  if (status != TG_OK) return status;
  *judged = distance(g[0], limit, 2 * TOSS_DOFS) / distance(limit, none, 2 * TOSS_DOFS);
  for (int i = 0; i < 2 * TOSS_DOFS; i++) g[2][i] = 2 * g[2][i] - g[1][i];
  *error = distance(g[0], g[2], 2 * TOSS_DOFS) / distance(g[2], none, 2 * TOSS_DOFS);
  return TG_OK;
}

static bool tosses(tgRun *run) {
  tgScene scene, judge;
  double error[TOSSES], judged[TOSSES];
  tgStatus status = TG_OK;
  tgLcpOptions o = by_rule(TG_RULE_CLOSING);
  if (!tgi_scene_open_under(&scene, "impact_toss.xml", "lcp", &o.of)) return false;
  if (!tgi_scene_open_under(&judge, "impact_toss.xml", "toi", NULL)) {
    tgi_scene_close(&scene);
    return false;
  }
  double began = tgi_cli_now();
  for (int i = 0; i < TOSSES && status == TG_OK; i++) {
    status = toss(&scene, &judge, i, &error[i], &judged[i]);
    tgi_run_progress(run, "tosses", i + 1, TOSSES, began);
  }
  if (status == TG_OK) {
    double median = tgi_median(error, TOSSES);
    tgi_run_row(run, "lcp.toss.median_error", median,
                "of %d, gradient of the place at 1 s in the start at 1 ms, over its limit by extrapolation from 0.2 "
                "and 0.1 ms; least %.2g, most %.2g", TOSSES, error[0], error[TOSSES - 1]);
    median = tgi_median(judged, TOSSES);
    tgi_run_row(run, "lcp.toss.toi_median_error", median, "the same over the gradient under `toi` at 0.1 ms; least %.2g, most %.2g",
                judged[0], judged[TOSSES - 1]);
  }
  bool good = status == TG_OK && leave(run, &scene);
  tgi_scene_close(&judge);
  tgi_scene_close(&scene);
  return good;
}

// ---- the other contact models ----

// they have no restitution, and forces of finite width: the limit is their own
static bool others(tgRun *run) {
  for (int w = 0; tg_contact_words(w) != NULL; w++) {
    tgScene scene;
    tgMotionCheck check;
    tgMotionCheckOptions o = tg_motion_check_default();
    char name[64], note[400];
    const char *word = tg_contact_words(w);
    if (strcmp(word, "lcp") == 0 || strcmp(word, "sdrs") == 0) continue;   // sdrs: a minute a motion, for spheres of triangles
    if (!tgi_scene_open_under(&scene, "impact_balls.xml", word, NULL)) return false;
    tg_sim_reset_key(scene.sim, 0);
    o.h = 1e-3;
    o.steps = 800;
    o.cancel = &tgi_cli_interrupted;
    tgStatus status = tg_grad_check_motion(scene.sim, &o, &check);
    if (status != TG_OK && status != TG_CANCELLED) tgi_cli_say("%s: %s", word, tg_sim_error(scene.sim)->text);
    snprintf(name, sizeof name, "%s.balls.order", word);
    snprintf(note, sizeof note, "of the gradient's changes, 1 ms halved three times; value %.2f, growth %.2f%s%.200s",
             check.value_order, check.growth, check.pass ? "" : "; ", check.reason);
    if (status == TG_OK) tgi_run_report(run, name, check.gradient_order, "", NAN, note);
    tgi_scene_close(&scene);
    if (status != TG_OK) return false;
  }
  return true;
}

bool tgi_reproduce_impacts(tgRun *run) {
  static const double e[4][4] = {{0, 0.1, 0.3, 0.9}, {0, 0.5}, {0}, {0}};
  static const int n[4] = {4, 2, 1, 1};
  bool good = true;
  for (int rule = TG_RULE_CLOSING; rule >= TG_RULE_TOUCHING; rule--)
    for (int i = 0; i < 4 && good; i++) good = converges(run, &cases[i], (tgContactRule)rule, e[i], n[i]);
  return good && exact_balls(run, e[0], n[0]) && tosses(run) && others(run);
}
