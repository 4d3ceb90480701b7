// damped_flip.c: DA-R3 and DA-R4 of [damped]: a box that a moving floor flips; a ball in a hollow sphere.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "repro/damped.h"

static const char unsolved[] = "motions of 31 with a step that has no solution, left out of the rest";
static const char rebuilt[] = "of the cost by trapezoid sums of its gradient, over its range";

static double variation_over_range(const tgCut *c) { return tgi_cut_variation(c) / tgi_cut_range(c); }

// ---- DA-R3 ----

enum { FLIP_STEPS = 80, TILTS = 31 };
static const double flip_h = 0.01, lift = 0.25;

typedef struct Flip { const char *name, *settings; double friction; } Flip;
// amplitude 9.81e-3 J; of `penalty` 1e4 N/m a corner
#define FLIPPED "law=perturbed slip_speed=1e-3 damping_ratio=0 resting_gap=0.0010003416 "
static const Flip flips[] = {
    {"paper", FLIPPED "rule=midpoint damping_time=0.09", 0.5},
    {"end.alpha9", FLIPPED "rule=end damping_time=0.09", 0.5},
    {"end.alpha0", FLIPPED "rule=end", 0.5},
    {"end.alpha2", FLIPPED "rule=end damping_time=0.02", 0.5},
    {"end.alpha2.mu0.3", FLIPPED "rule=end damping_time=0.02", 0.3},
    {"midpoint.alpha2", FLIPPED "rule=midpoint damping_time=0.02", 0.5},
    {"undamped", FLIPPED "rule=midpoint", 0.5},
    {"penalty", "law=penalty slip_speed=1e-3 damping_ratio=0 onset=1e-3 stiffness=8e4 rule=midpoint", 0.5},
    {"detection", FLIPPED "rule=midpoint near=0.02", 0.5},
};
enum { FLIPS = sizeof flips / sizeof *flips };

// up in 0.2 s and down in 0.2 s
static double course(double t) {
  double x = fmax(0, fmin(1, t < 0.2 ? t / 0.2 : (0.4 - t) / 0.2));
  return x * x * x * (10 - 15 * x + 6 * x * x);
}

// where the servos pull in step t, so that the floor is on its course after it: to there, or by the rule of the middle to the mean
static double target(int t, bool middle) {
  return middle ? (course(flip_h * t) + course(flip_h * (t + 1))) / 2 : course(flip_h * (t + 1));
}

// |p - p_0|^2 + 0.01 |R - R_0|^2/2 of the box, whose quaternion is 1 at first
static tgStatus flip_cost(void *ctx, tgSim *sim, int t, int steps, tgReal *value, tgReal *gq, tgReal *gv, tgReal *gu) {
  static const double start[3] = {0.3, 0, 0.101};
  const tgReal *p = tg_sim_qpos(sim) + 2, *q = p + 3;
  (void)ctx;
  (void)gv;
  (void)gu;
  if (t < steps) return TG_OK;
  *value = 0.01 * 4 * (1 - q[0] * q[0]);
  for (int i = 0; i < 3; i++) {
    *value += (p[i] - start[i]) * (p[i] - start[i]);
    if (gq == NULL) continue;
    gq[2 + i] = 2 * (p[i] - start[i]);
    gq[5 + i] = 0.01 * 4 * q[0] * q[1 + i];
  }
  return TG_OK;
}

static tgStatus flip_friction(void *ctx, tgSim *sim) {
  int rows, cols;
  double *mu = tg_sim_param(sim, "geom_friction", &rows, &cols);
  for (int i = 0; i < rows; i++) mu[i * cols] = *(const double *)ctx;
  return TG_OK;
}

// way: lift and tilt; slope (2) and info (FLIP_STEPS) may be NULL
static bool move_floor(tgRollout *r, const Flip *f, tgLossFn loss, const double way[2], double *cost, double *slope, tgStepInfo *info) {
  double u[2 * FLIP_STEPS], du[2 * FLIP_STEPS], friction = f->friction;
  bool middle = strstr(f->settings, "rule=midpoint") != NULL;
  for (int t = 0; t < 2 * FLIP_STEPS; t++) u[t] = way[t % 2] * target(t / 2, middle);
  tgRolloutRun run = {.u = u, .loss = loss, .setup = flip_friction, .setup_ctx = &friction, .du = slope != NULL ? du : NULL,
                      .info = info, .cancel = &tgi_cli_interrupted};
  if (!tgi_damped_roll(r, &run, cost)) return false;
  if (slope != NULL) slope[0] = slope[1] = 0;
  for (int t = 0; t < 2 * FLIP_STEPS && slope != NULL; t++) slope[t % 2] += du[t] * target(t / 2, middle);
  return true;
}

// info (FLIP_STEPS) and slope may be NULL
static bool flip(tgRollout *r, const Flip *f, double tilt, double *cost, double *slope, tgStepInfo *info) {
  double both[2];
  if (!move_floor(r, f, flip_cost, (double[2]){lift, tilt}, cost, slope != NULL ? both : NULL, info)) return false;
  if (slope != NULL) *slope = both[1];
  return true;
}

typedef struct Flipped { tgRollout *r; const Flip *f; } Flipped;
static bool cost_of_flip(void *ctx, double tilt, double *cost) {
  const Flipped *k = ctx;
  return flip(k->r, k->f, tilt, cost, NULL, NULL);
}

static bool flip_case(tgRun *run, const Flip *f, tgCut *cut, double *worst) {
  tgScene scene;
  tgRollout *r;
  tgCut c = {.n = 0};
  tgStepInfo info[FLIP_STEPS];
  bool found = strstr(f->settings, "near=") != NULL;
  double iterations = 0, fastest = INFINITY;
  if (!tgi_damped_open(&scene, "damped_flip.xml", f->settings, flip_h, FLIP_STEPS, &r)) return false;
  bool good = true;
  for (int i = 0; i < TILTS && good; i++) {
    int k = c.n;
    c.p[k] = 0.1 + 0.7 * i / (TILTS - 1);
    double began = tgi_core_now();
    good = flip(r, f, c.p[k], &c.x[k], &c.g[k], info);
    if (tgi_damped_left_out(found, &good)) continue;
    c.n++;
    fastest = fmin(fastest, (tgi_core_now() - began) / (double)FLIP_STEPS);
    for (int t = 0; t < FLIP_STEPS && good; t++) iterations += info[t].iterations;
    if (!good || found || fabs(c.g[k]) > 10 || i % 10 != 5) continue;
    double error;
    good = tgi_difference_error(cost_of_flip, &(Flipped){r, f}, c.p[k], c.g[k], &error);
    *worst = fmax(*worst, error);
  }
  tgi_damped_close(&scene, r);
  if (!good) return false;
  *cut = c;
  if (found) tgi_damped_row(run, f->name, "unsolved", TILTS - c.n, "", unsolved);
  tgi_damped_row(run, f->name, "tv_over_range", variation_over_range(&c), "", "of the cost over tilts of 0.1 to 0.8 rad, 31 of them");
  tgi_damped_row(run, f->name, "sign_changes", tgi_cut_sign_changes(&c), "", "of d cost/d tilt");
  tgi_damped_row(run, f->name, "max_gradient", tgi_cut_steepest(&c), "1/rad", "largest |d cost/d tilt|");
  tgi_damped_row(run, f->name, "rebuilt_error", tgi_cut_rebuilt_error(&c), "", rebuilt);
  tgi_damped_row(run, f->name, "range", tgi_cut_range(&c), "", "of the cost");
  tgi_damped_row(run, f->name, "iterations", iterations / (FLIP_STEPS * c.n), "", "of a step's solve, in the mean");
  tgi_damped_row(run, f->name, "step_us", 1e6 * fastest, "us", "a step with its gradient, of the fastest motion, the processor's time");
  return true;
}

// the paper's choice, its ablations, and the rule `end`
static bool draw_flips(tgRun *run, const tgCut *cut) {
  static const tgDrawn drawn[] = {
      {6, "midpoint, no damping (model 2)", "#e0a030"}, {8, "midpoint, no damping, within 2 cm (model 1)", "#8c564b"},
      {7, "penalty, midpoint (model 3)", "#999999"},    {0, "midpoint, damped over 9 steps (the paper's)", "#c0392b"},
      {3, "end, damped over 2 steps", "#2a8a3a"},       {2, "end, no damping", "#1f6fb2"}};
  return tgi_cut_draw(run, "flip.svg", "the floor's tilt, 0.1 to 0.8 rad", cut, drawn, sizeof drawn / sizeof *drawn, 10);
}

// ---- DA-R3: a flip that is found ----

enum { TURN_TRIES = 200 };
static const double turn_enough = 3e-4;   // 2 degrees off
static const double turn_starts[][2] = {{0.1, 0.1}, {0.1, 0.2}, {0.1, 0.3}, {0.2, 0.1}, {0.25, 0.1}, {0.15, 0.15}};
enum { TURNS = sizeof turn_starts / sizeof *turn_starts };

// 1 - (q . g)^2 of the box's quaternion and that of a quarter turn about y: sin^2 of half the angle between them
static tgStatus turn_cost(void *ctx, tgSim *sim, int t, int steps, tgReal *value, tgReal *gq, tgReal *gv, tgReal *gu) {
  static const double c = 0.70710678118654752;   // g = (c, 0, c, 0)
  const tgReal *q = tg_sim_qpos(sim) + 5;
  (void)ctx;
  (void)gv;
  (void)gu;
  if (t < steps) return TG_OK;
  tgReal d = c * (q[0] + q[2]);
  const tgReal by[3] = {c / 2 * (q[3] - q[1]), c / 2 * (q[0] - q[2]), -c / 2 * (q[1] + q[3])};   // of d, in a turn in the box's frame
  *value = 1 - d * d;
  for (int i = 0; i < 3 && gq != NULL; i++) gq[5 + i] = -2 * d * by[i];
  return TG_OK;
}

static bool turn_value(void *ctx, const double *way, double *cost, double *g) {
  const Flipped *k = ctx;
  return move_floor(k->r, k->f, turn_cost, way, cost, g, NULL);
}

// from how many starts that do not turn the box a quarter turn is found
static bool turn_row(tgRun *run, const char *name, const Flip *f, bool band) {
  tgScene scene;
  tgRollout *r;
  char note[200], full[64];
  int solved = 0, tries = 0, n;
  double least = INFINITY, from, to;
  Flipped k = {.f = f};
  tgDescent d = {.n = 2, .tries = TURN_TRIES, .longest = 0.05, .shortest = 1e-6, .enough = turn_enough, .value = turn_value, .ctx = &k};
  if (!tgi_damped_open(&scene, "damped_flip.xml", f->settings, flip_h, FLIP_STEPS, &r)) return false;
  bool good = true;
  k.r = r;
  for (int i = 0; i < TURNS && good; i++) {
    double way[2] = {turn_starts[i][0], turn_starts[i][1]};
    good = move_floor(r, f, turn_cost, way, &from, NULL, NULL) && tgi_descend(&d, way, &to, &n);
    solved += good && to <= turn_enough;
    tries += n;
    least = fmin(least, from);
  }
  tgi_damped_close(&scene, r);
  if (!good) return false;
  snprintf(note, sizeof note, "of %d starts of lift and tilt that leave the box on its side, costs %.2f or more: a quarter turn "
           "to 2 degrees, by descent along the gradient, %d motions in all", TURNS, least, tries);
  snprintf(full, sizeof full, "%sflip.solved", name);
  if (band) tgi_run_row(run, full, solved, "%s", note);
  else tgi_run_report(run, full, solved, "", NAN, note);
  return true;
}

bool tgi_reproduce_flip(tgRun *run) {
  double worst = 0, rings = 0;
  tgCut *cut = calloc(FLIPS, sizeof *cut);
  bool good = cut != NULL;
  for (int i = 0; i < FLIPS && good; i++) good = flip_case(run, &flips[i], &cut[i], i < 5 ? &worst : &rings);
  if (good) {
    tgi_run_row(run, "gradient_error", worst, "every tenth tilt of the first five, where |d cost/d tilt| <= 10, against "
                "differences of eighth order");
    tgi_run_row(run, "max_gradient_ratio", tgi_cut_steepest(&cut[6]) / tgi_cut_steepest(&cut[0]), "of undamped over paper");
    tgi_run_row(run, "end.tv_over_range", fmax(variation_over_range(&cut[2]), variation_over_range(&cut[3])),
                "the worse of end.alpha0 and end.alpha2");
    tgi_run_row(run, "end.rebuilt_error", fmax(tgi_cut_rebuilt_error(&cut[2]), tgi_cut_rebuilt_error(&cut[3])),
                "the worse of end.alpha0 and end.alpha2");
    good = turn_row(run, "", &flips[0], true) && turn_row(run, "end.alpha2.", &flips[3], false) &&
           turn_row(run, "undamped.", &flips[6], false) && draw_flips(run, cut);
  }
  free(cut);
  return good;
}

// ---- DA-R4 ----

enum { BOWL_STEPS = 100, STARTS = 31, BOWL_Q = 14, BOWL_V = 12 };

typedef struct Bowl { const char *name, *settings; int body; } Bowl;
// amplitude 9.81e-3 J a proxy: `resting_gap` is that of all
#define IN_BOWL "law=perturbed hollow=true slip_speed=1e-3 damping_ratio=0 resting_gap="
#define ONE "0.0010003416 "
#define ALL "0.0420143472 "
static const Bowl bowls[] = {
    {"", IN_BOWL ONE "rule=midpoint damping_time=0.0025", 0},
    {"undamped", IN_BOWL ONE "rule=midpoint", 0},
    {"end", IN_BOWL ONE "rule=end damping_time=0.0025", 0},
    {"points", IN_BOWL ALL "rule=midpoint damping_time=0.0025", 1},
    {"points.end", IN_BOWL ALL "rule=end damping_time=0.0025", 1},
    {"no_frame_derivative", IN_BOWL ONE "rule=midpoint damping_time=0.0025 held_normals=true", 0},
    {"detection", IN_BOWL ALL "rule=midpoint damping_time=0.0025 near=0.005", 1},
};
enum { BOWLS = sizeof bowls / sizeof *bowls, TRUE_BOWLS = 5 };   // the rest are ablations

// squared distance of a body from a point
static tgStatus bowl_cost(void *ctx, tgSim *sim, int t, int steps, tgReal *value, tgReal *gq, tgReal *gv, tgReal *gu) {
  static const double goal[3] = {-0.4, 0.3, -0.75};
  int body = *(const int *)ctx;
  const tgReal *p = tg_sim_qpos(sim) + 7 * body;
  (void)gv;
  (void)gu;
  if (t < steps) return TG_OK;
  for (int i = 0; i < 3; i++) {
    *value += (p[i] - goal[i]) * (p[i] - goal[i]);
    if (gq != NULL) gq[6 * body + i] = 2 * (p[i] - goal[i]);
  }
  return TG_OK;
}

typedef struct Rolled { tgRollout *r; int body; } Rolled;

// start p, -1 to 1: 2 mm off the wall at two angles, with a speed; slope may be NULL
static bool roll_in_bowl(const Rolled *k, double p, double *cost, double *slope) {
  double q[BOWL_Q] = {0, 0, -0.898, 1, 0, 0, 0, 0, 0, -0.898, 1, 0, 0, 0}, v[BOWL_V] = {0}, dq[BOWL_V], dv[BOWL_V];
  double a = 0.6 + 0.4 * p, b = 0.3 * p, r = 1 - 0.1 - 0.002, sa = sin(a), ca = cos(a), sb = sin(b), cb = cos(b);
  const double at[3] = {r * sa * cb, r * sa * sb, -r * ca};
  const double by[3] = {r * (0.4 * ca * cb - 0.3 * sa * sb), r * (0.4 * ca * sb + 0.3 * sa * cb), r * 0.4 * sa};
  int body = k->body;
  memcpy(q + 7 * body, at, sizeof at);
  v[6 * body + 1] = 0.5 + 0.5 * p;
  tgRolloutRun run = {.q0 = q, .v0 = v, .loss = bowl_cost, .loss_ctx = &body, .dq0 = slope != NULL ? dq : NULL,
                      .dv0 = slope != NULL ? dv : NULL, .cancel = &tgi_cli_interrupted};
  if (!tgi_damped_roll(k->r, &run, cost)) return false;
  if (slope == NULL) return true;
  *slope = 0.5 * dv[6 * body + 1];
  for (int i = 0; i < 3; i++) *slope += dq[6 * body + i] * by[i];
  return true;
}

static bool cost_in_bowl(void *ctx, double p, double *cost) { return roll_in_bowl(ctx, p, cost, NULL); }

static bool bowl_case(tgRun *run, const Bowl *b, bool ablation, tgCut *cut, double *worst) {
  tgScene scene;
  Rolled k = {.body = b->body};
  tgCut c = {.n = 0};
  if (!tgi_damped_open(&scene, "damped_bowl.xml", b->settings, 0.01, BOWL_STEPS, &k.r)) return false;
  bool good = true;
  for (int i = 0; i < STARTS && good; i++) {
    double error = 0;
    int n = c.n;
    c.p[n] = -1 + 2.0 * i / (STARTS - 1);
    good = roll_in_bowl(&k, c.p[n], &c.x[n], &c.g[n]);
    if (tgi_damped_left_out(ablation, &good)) continue;
    c.n++;
    if (good && b->body == 0 && !ablation && i % 10 == 5) good = tgi_difference_error(cost_in_bowl, &k, c.p[n], c.g[n], &error);
    *worst = fmax(*worst, error);
  }
  tgi_damped_close(&scene, k.r);
  if (!good) return false;
  *cut = c;
  if (ablation) tgi_damped_row(run, b->name, "unsolved", STARTS - c.n, "", unsolved);
  tgi_damped_row(run, b->name, "rebuilt_error", tgi_cut_rebuilt_error(&c), "", rebuilt);
  tgi_damped_row(run, b->name, "tv_over_range", variation_over_range(&c), "", "of the cost over 31 starts");
  tgi_damped_row(run, b->name, "max_gradient", tgi_cut_steepest(&c), "", "largest |d cost/d start|");
  tgi_damped_row(run, b->name, "range", tgi_cut_range(&c), "m^2", "of the cost");
  return true;
}

static bool draw_bowls(tgRun *run, const tgCut *cut) {
  static const tgDrawn drawn[] = {
      {6, "42 proxies, those within 5 mm alone", "#8c564b"}, {5, "without the normal's derivative", "#e0a030"},
      {3, "42 proxies", "#c0392b"},                          {2, "one proxy, rule end", "#2a8a3a"},
      {0, "one proxy, midpoint", "#1f6fb2"}};
  return tgi_cut_draw(run, "bowl.svg", "the start, -1 to 1", cut, drawn, sizeof drawn / sizeof *drawn, 3);
}

bool tgi_reproduce_bowl(tgRun *run) {
  double worst = 0;
  tgCut *cut = calloc(BOWLS, sizeof *cut);
  bool good = cut != NULL;
  for (int i = 0; i < BOWLS && good; i++) good = bowl_case(run, &bowls[i], i >= TRUE_BOWLS, &cut[i], &worst);
  if (good) {
    tgi_run_row(run, "gradient_error", worst, "every tenth start of the ball of one proxy, against differences of eighth order");
    tgi_run_row(run, "detection_ratio", tgi_cut_rebuilt_error(&cut[6]) / tgi_cut_rebuilt_error(&cut[3]),
                "rebuilt error of detection over that of points");
    good = draw_bowls(run, cut);
  }
  free(cut);
  return good;
}
