// damped.c: DA-R1 to DA-R4 of [damped]: where a dropped particle ends, by the height that it falls from, under both rules and every
// law; how far bodies of proxies roll; a box that a moving floor flips; a ball in a hollow sphere.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "repro/experiments.h"
#include "repro/landscape.h"
#include "tangere/damped.h"
#include "tangere/rollout.h"

// ---- an outcome over a parameter ----

enum { MOST = TG_LANDSCAPE_MOST };
typedef struct Cut { int n; double p[MOST], x[MOST], g[MOST]; } Cut;

// one of the cuts in a picture
typedef struct Drawn { int of; const char *name, *color; } Drawn;

static bool draw(tgRun *run, const char *file, const char *variable, const Cut *cut, const Drawn *drawn, size_t n, double steepest) {
  tgLandscape l[8];   // no picture has more
  for (size_t k = 0; k < n; k++) {
    const Cut *c = &cut[drawn[k].of];
    l[k] = (tgLandscape){.name = drawn[k].name, .color = drawn[k].color, .n = c->n, .p = c->p, .x = c->x, .g = c->g};
  }
  return tgi_landscape_draw(run, file, variable, l, (int)n, steepest);
}

static double variation(const Cut *c) {
  double sum = 0;
  for (int i = 1; i < c->n; i++) sum += fabs(c->x[i] - c->x[i - 1]);
  return sum;
}

#define FLAT 1e-9   // of a slope: below it is rounding

static int sign_changes(const Cut *c) {
  int n = 0;
  double last = 0;
  for (int i = 0; i < c->n; i++) {
    if (fabs(c->g[i]) < FLAT) continue;
    n += c->g[i] * last < 0;
    last = c->g[i];
  }
  return n;
}

static double steepest(const Cut *c) {
  double most = 0;
  for (int i = 0; i < c->n; i++) most = fmax(most, fabs(c->g[i]));
  return most;
}

static double range(const Cut *c) {
  double low = INFINITY, high = -INFINITY;
  for (int i = 0; i < c->n; i++) {
    low = fmin(low, c->x[i]);
    high = fmax(high, c->x[i]);
  }
  return high - low;
}

// largest difference of the values from the trapezoid sums of their slopes
static double rebuilt_error(const Cut *c) {
  double sum = c->x[0], most = 0;
  for (int i = 1; i < c->n; i++) {
    sum += (c->g[i] + c->g[i - 1]) / 2 * (c->p[i] - c->p[i - 1]);
    most = fmax(most, fabs(sum - c->x[i]));
  }
  return most;
}

enum { WIDTHS = 10, SIDE = 4 };
// least difference of g, over widths of 1e-3 to 3e-8, from differences of eighth order of value(ctx, x)
static bool difference_error(bool (*value)(void *ctx, double x, double *out), void *ctx, double x, double g, double *error) {
  static const double share[SIDE] = {4.0 / 5, -1.0 / 5, 4.0 / 105, -1.0 / 280};
  *error = INFINITY;
  for (int k = 0; k < WIDTHS; k++) {
    double w = 1e-3 * pow(10, -0.5 * k), slope = 0, up, down;
    for (int i = 0; i < SIDE; i++) {
      if (!value(ctx, x + (i + 1) * w, &up) || !value(ctx, x - (i + 1) * w, &down)) return false;
      slope += share[i] * (up - down) / w;
    }
    *error = fmin(*error, fabs(slope - g));
  }
  return true;
}

// ---- scenes ----

// settings "name=value name=value" into the options of `damped`
static bool options(const char *settings, tgAnyContactOptions *o) {
  char name[64], value[64];
  int used;
  tgError error = {0};
  if (tg_contact_default("damped", &o->of, sizeof *o) != TG_OK) return false;
  for (const char *at = settings; sscanf(at, " %63[^=]=%63s%n", name, value, &used) == 2; at += used)
    if (tg_contact_set(&o->of, name, value, &error) != TG_OK) {
      tgi_cli_error("reproduce", &error);
      return false;
    }
  return true;
}

static bool open_scene(tgScene *s, const char *file, const char *settings, double h, int steps, tgRollout **rollout) {
  tgAnyContactOptions o;
  tgError error = {0};
  tgRolloutOptions r = tg_rollout_default();
  *s = (tgScene){.model = NULL};
  *rollout = NULL;
  if (!options(settings, &o) || !tgi_scene_open_under(s, file, "damped", &o.of)) return false;
  r.h = h;
  r.steps = steps;
  *rollout = tg_rollout_create(s->model, s->contact, &r, &error);
  if (*rollout != NULL) return true;
  tgi_cli_error("reproduce", &error);
  tgi_scene_close(s);
  return false;
}

static void close_scene(tgScene *s, tgRollout *rollout) {
  tg_rollout_free(rollout);
  tgi_scene_close(s);
}

static bool roll(tgRollout *r, const tgRolloutRun *run, double *value) {
  tgRolloutResult result;
  tgStatus status = tg_rollout_run(r, run, &result);
  *value = result.loss;
  if (status != TG_OK && status != TG_CANCELLED) tgi_cli_say("%s", result.error.text);
  return status == TG_OK;
}

// the row NAME.WHAT, or WHAT where the name is empty
static void row(tgRun *run, const char *name, const char *what, double value, const char *unit, const char *note) {
  char full[96];
  snprintf(full, sizeof full, "%s%s%s", name, name[0] != '\0' ? "." : "", what);
  tgi_run_any(run, full, value, unit, NAN, note);
}

// Where contacts are found by distance, a body that is far at the start of a step may go through the other in it, and the next step has no
// solution: that motion is left out. *good: nothing else is wrong.
static bool left_out(bool found, bool *good) {
  bool out = found && !*good && !tgi_cli_interrupted;
  *good = *good || out;
  return out;
}

// ---- DA-R1 ----

enum { HEIGHTS = 301, DROP_STEPS = 100, DROPS = 21, REBOUND_STEPS = 1500 };
static const double drop_h = 0.01;

static tgStatus end_height(void *ctx, tgSim *sim, int t, int steps, tgReal *value, tgReal *gq, tgReal *gv, tgReal *gu) {
  (void)ctx;
  (void)gv;
  (void)gu;
  if (t < steps) return TG_OK;
  *value = tg_sim_qpos(sim)[0];
  if (gq != NULL) gq[0] = 1;
  return TG_OK;
}

static bool fall(tgRollout *r, double height, double *x, double *g) {
  tgRolloutRun run = {.q0 = &height, .loss = end_height, .dq0 = g, .cancel = &tgi_cli_interrupted};
  return roll(r, &run, x);
}

static bool end_of_fall(void *ctx, double height, double *x) { return fall(ctx, height, x, NULL); }

typedef struct Drop { const char *name, *settings; } Drop;
// amplitude of `perturbed` 0.01 J, with 1 kg; of `barrier` 300 N/m below 5 cm; damping over the step is times/0.01 s
#define PERTURBED "law=perturbed damping_ratio=0 resting_gap=0.0010197162129779283 "
#define BARRIER "law=barrier damping_ratio=0 onset=0.05 resting_gap=0.030263761903033523 "
static const Drop drops[] = {
    {"midpoint.alpha0", PERTURBED "rule=midpoint"},
    {"midpoint.alpha0.3", PERTURBED "rule=midpoint damping_time=0.003"},
    {"midpoint.alpha1.5", PERTURBED "rule=midpoint damping_time=0.015"},
    {"midpoint.alpha9", PERTURBED "rule=midpoint damping_time=0.09"},
    {"end.alpha0", PERTURBED "rule=end"},
    {"penalty_1e3.midpoint.alpha0", "law=penalty damping_ratio=0 onset=1e-3 stiffness=1e3 rule=midpoint"},
    {"penalty_1e4.midpoint.alpha0", "law=penalty damping_ratio=0 onset=1e-3 stiffness=1e4 rule=midpoint"},
    {"penalty_1e5.midpoint.alpha0", "law=penalty damping_ratio=0 onset=1e-3 stiffness=1e5 rule=midpoint"},
    {"penalty_1e4.midpoint.alpha1.5", "law=penalty damping_ratio=0 onset=1e-3 stiffness=1e4 rule=midpoint damping_time=0.015"},
    {"penalty_1e5.midpoint.alpha1.5", "law=penalty damping_ratio=0 onset=1e-3 stiffness=1e5 rule=midpoint damping_time=0.015"},
    {"penalty_1e5.end.alpha0", "law=penalty damping_ratio=0 onset=1e-3 stiffness=1e5 rule=end"},
    {"barrier.midpoint.alpha0", BARRIER "rule=midpoint"},
    {"barrier.midpoint.alpha1.5", BARRIER "rule=midpoint damping_time=0.015"},
    {"barrier.end.alpha0", BARRIER "rule=end"},
};

// *worst: of gradients of at most 10, every tenth, against differences
static bool drop_case(tgRun *run, const Drop *d, double *worst) {
  tgScene scene;
  tgRollout *r;
  Cut c = {.n = HEIGHTS};
  tgContactLaw law;
  char note[160];
  if (!open_scene(&scene, "damped_drop.xml", d->settings, drop_h, DROP_STEPS, &r)) return false;
  bool good = tg_contact_law(scene.contact, 0, drop_h, &law);
  for (int i = 0; i < HEIGHTS && good; i++) {
    double error = 0;
    c.p[i] = 0.3 + 0.001 * i;
    good = fall(r, c.p[i], &c.x[i], &c.g[i]);
    if (good && i % 10 == 0 && fabs(c.g[i]) <= 10) good = difference_error(end_of_fall, r, c.p[i], c.g[i], &error);
    *worst = fmax(*worst, error);
  }
  close_scene(&scene, r);
  if (!good) return false;
  snprintf(note, sizeof note, "of x after 1 s over heights of 0.3 to 0.6 m; strength %.4g, damping time %.4g s", law.strength,
           law.damping_time);
  row(run, d->name, "tv_m", variation(&c), "m", note);
  row(run, d->name, "sign_changes", sign_changes(&c), "", "of dx/dheight in 300 intervals, where it is more than rounding");
  row(run, d->name, "max_gradient", steepest(&c), "", "largest |dx/dheight|");
  return true;
}

// how high it comes again after its first millimetres, as a share of the height: least and largest of 21 drops
static bool rebound(const char *rule, double *least, double *most) {
  char settings[120];
  tgScene scene;
  tgRollout *r;
  double *q = malloc((REBOUND_STEPS + 1) * sizeof *q), unused;
  snprintf(settings, sizeof settings, "resting_gap=.001 damping_ratio=0 rule=%s", rule);
  if (q == NULL || !open_scene(&scene, "damped_drop.xml", settings, 1e-3, REBOUND_STEPS, &r)) {
    free(q);
    return false;
  }
  bool good = true;
  *least = INFINITY;
  *most = 0;
  for (int i = 0; i < DROPS && good; i++) {
    double height = 0.45 + 0.005 * i, top = 0;
    bool met = false;
    tgRolloutRun run = {.q0 = &height, .q = q, .cancel = &tgi_cli_interrupted};
    good = roll(r, &run, &unused);
    for (int t = 0; t <= REBOUND_STEPS && good; t++) {
      met = met || q[t] < 0.01;
      if (met) top = fmax(top, q[t]);
    }
    *least = fmin(*least, top / height);
    *most = fmax(*most, top / height);
  }
  close_scene(&scene, r);
  free(q);
  return good;
}

bool tgi_reproduce_drop(tgRun *run) {
  double rings = 0, worst = 0, least, most;
  for (size_t i = 0; i < sizeof drops / sizeof *drops; i++)
    if (!drop_case(run, &drops[i], i == 0 ? &rings : &worst)) return false;
  tgi_run_row(run, "adjoint_error", worst, "every tenth height of all rows but midpoint.alpha0 where |dx/dheight| <= 10, against "
              "differences of eighth order");
  tgi_run_report(run, "midpoint.alpha0.adjoint_error", rings, "", NAN, "the same of midpoint.alpha0, whose slope goes from 0 to 4e4 and "
                 "back within millimetres: differences have no more digits");
  if (!rebound("midpoint", &least, &most)) return false;
  tgi_run_row(run, "rebound.midpoint.spread", most - least, "of %d drops of 0.45 to 0.55 m by steps of 1 ms: heights come to again, as a "
              "share, %.3f to %.3f", DROPS, least, most);
  if (!rebound("end", &least, &most)) return false;
  tgi_run_row(run, "rebound.end.most", most, "of the same drops; 1 cm, where one counts as landed, is a share of 0.022");
  return true;
}

// ---- DA-R2 ----

enum { ROLL_STEPS = 120, POINTS = 42, MOST_POINTS = 1000 };
// 1000 N/m a proxy, of 1 kg: `stiffness` is that of all
#define SPRING 1000.0
#define SPRING_ONSET 1e-3
#define CRITICAL 0.063   // s, 2 sqrt(m/k)
static const char *const rolling[] = {"ball", "points", "rabbit"};
static const char *const rolling_name[] = {"radius", "points", "rabbit"};

// A body of proxies on the floor: its geom, and they in its frame.
typedef struct Rolling { int body, geom, n; double place[3 * MOST_POINTS]; } Rolling;

// The ball's is its middle, the 42's are as the engine puts them, the rabbit's the corners of its convex hull.
static bool proxies_of(tgScene *scene, int which, Rolling *k) {
  int rows, cols;
  const double *vert = tg_sim_param(scene->sim, "hull_vert", &rows, &cols);
  *k = (Rolling){.body = which + 1, .geom = tg_model_find(scene->model, TG_THING_GEOM, rolling[which]),
                 .n = which == 0 ? 1 : which == 1 ? POINTS : rows};
  if (vert == NULL || k->n > MOST_POINTS) return false;
  for (int i = 0; i < k->n && which == 1; i++) {
    double z = 1 - (2.0 * i + 1) / (double)POINTS, r = sqrt(1 - z * z), turn = 2.39996322972865332 * i;
    const double u[3] = {0.1 * r * cos(turn), 0.1 * r * sin(turn), 0.1 * z};
    memcpy(k->place + 3 * i, u, sizeof u);
  }
  if (which == 2) memcpy(k->place, vert, 3 * (size_t)k->n * sizeof *vert);
  return true;
}

static void place_of(tgSim *sim, const Rolling *k, int i, double x[3]) {
  const double *at = (const double *)tg_sim_field_named(sim, "geom_xpos").data + 3 * k->geom,
               *R = (const double *)tg_sim_field_named(sim, "geom_xmat").data + 9 * k->geom, *r = k->place + 3 * i;
  for (int c = 0; c < 3; c++) x[c] = at[c] + R[3 * c] * r[0] + R[3 * c + 1] * r[1] + R[3 * c + 2] * r[2];
}

// The damper that the damped gap is compared with: at each proxy a force against its speed along the normal at the start of the step,
// critical for its spring, as far as that is engaged.
static bool damp(tgSim *sim, const Rolling *k) {
  enum { DOFS = 18 };
  double J[6 * DOFS], *force = tg_sim_qfrc_applied(sim);
  const double *v = tg_sim_qvel(sim), *up = J + 5 * DOFS;
  memset(force, 0, DOFS * sizeof *force);
  if (tg_sim_forward(sim) != TG_OK) return false;
  for (int i = 0; i < k->n; i++) {
    double x[3], speed = 0;
    place_of(sim, k, i, x);
    if (tg_sim_jacobian(sim, k->body, x, J) != TG_OK) return false;
    for (int d = 0; d < DOFS; d++) speed += up[d] * v[d];
    double engaged = (1 - x[2] / sqrt(x[2] * x[2] + SPRING_ONSET * SPRING_ONSET)) / 2;
    for (int d = 0; d < DOFS; d++) force[d] -= SPRING * CRITICAL * engaged * speed * up[d];
  }
  return true;
}

// its lowest proxy is on the floor; it moves by 1 m/s, and turns by 10 rad/s
static bool start_rolling(tgSim *sim, const Rolling *k) {
  double low = INFINITY, *q, *v = tg_sim_qvel(sim);
  tg_sim_reset(sim);
  if (tg_sim_forward(sim) != TG_OK) return false;
  for (int i = 0; i < k->n; i++) {
    double x[3];
    place_of(sim, k, i, x);
    low = fmin(low, x[2]);
  }
  q = tg_sim_qpos(sim) + 7 * (k->body - 1);
  if (k->n != 1 && k->n != POINTS) q[2] -= low;   // balls stand on their radius
  v[6 * (k->body - 1)] = 1;
  v[6 * (k->body - 1) + 4] = 10;
  return true;
}

// how far a body comes, and its spin at the end; with the damped gap, or with the damper
static bool roll_case(int which, double time, bool damper, double *way, double *spin) {
  char settings[200];
  tgScene scene;
  tgRollout *r;
  Rolling *k = malloc(sizeof *k);
  int n = which == 0 ? 1 : POINTS;
  if (k == NULL) return false;
  // the rabbit's proxies are as many as its hull has corners
  if (which == 2 && open_scene(&scene, "damped_roll.xml", "", 0.01, ROLL_STEPS, &r)) {
    if (proxies_of(&scene, which, k)) n = k->n;
    close_scene(&scene, r);
  }
  snprintf(settings, sizeof settings, "law=penalty onset=%g stiffness=%.17g damping_ratio=0 damping_time=%g slip_speed=1e-3 rule=midpoint "
           "mesh=points", SPRING_ONSET, SPRING * n, damper ? 0 : time);
  if (!open_scene(&scene, "damped_roll.xml", settings, 0.01, ROLL_STEPS, &r)) {
    free(k);
    return false;
  }
  bool good = proxies_of(&scene, which, k) && start_rolling(scene.sim, k);
  const double *q = tg_sim_qpos(scene.sim) + 7 * (which), *w = tg_sim_qvel(scene.sim) + 6 * which + 3;
  double from = q[0];
  for (int t = 0; t < ROLL_STEPS && good; t++)
    good = (!damper || damp(scene.sim, k)) && tg_sim_step(scene.sim, 0.01, NULL) == TG_OK && !tgi_cli_interrupted;
  if (!good) tgi_cli_say("%s", tg_sim_error(scene.sim)->text);
  *way = q[0] - from;
  *spin = sqrt(w[0] * w[0] + w[1] * w[1] + w[2] * w[2]);
  close_scene(&scene, r);
  free(k);
  return good;
}

bool tgi_reproduce_roll(tgRun *run) {
  static const double times[] = {0, 0.015, CRITICAL, CRITICAL};
  static const char *const called[] = {"tau0", "tau15", "tau63", "damper63"};
  for (int i = 0; i < 3; i++) {
    double way[4];
    char name[64], note[200];
    for (int k = 0; k < 4; k++) {
      double spin;
      if (k == 3 && i == 0) continue;   // it rolls on one point, which has no speed along the normal
      if (!roll_case(i, times[k], k == 3, &way[k], &spin)) return false;
      snprintf(name, sizeof name, "%s.%s.distance_m", rolling_name[i], called[k]);
      snprintf(note, sizeof note, "in 1.2 s from 1 m/s and 10 rad/s; spin at the end %.7g rad/s", spin);
      tgi_run_any(run, name, way[k], "m", NAN, note);
    }
    if (i == 0)
      tgi_run_row(run, "radius.error_m", fmax(fmax(fabs(way[0] - 1.2), fabs(way[1] - 1.2)), fabs(way[2] - 1.2)), "against 1.2 m, worst of "
                  "three damping times");
    if (i != 1) continue;
    tgi_run_row(run, "points.tau15.over_explicit", way[1] / way[3], "ways of the damped gap at 15 ms and of the damper, the figure's "
                "comparison");
    tgi_run_report(run, "points.tau63.over_explicit", way[2] / way[3], "", NAN, "the same at one damping time");
  }
  return true;
}

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
  if (!roll(r, &run, cost)) return false;
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

static bool flip_case(tgRun *run, const Flip *f, Cut *cut, double *worst) {
  tgScene scene;
  tgRollout *r;
  Cut c = {.n = 0};
  tgStepInfo info[FLIP_STEPS];
  bool found = strstr(f->settings, "near=") != NULL;
  double iterations = 0, fastest = INFINITY;
  if (!open_scene(&scene, "damped_flip.xml", f->settings, flip_h, FLIP_STEPS, &r)) return false;
  bool good = true;
  for (int i = 0; i < TILTS && good; i++) {
    int k = c.n;
    c.p[k] = 0.1 + 0.7 * i / (TILTS - 1);
    double began = tgi_core_now();
    good = flip(r, f, c.p[k], &c.x[k], &c.g[k], info);
    if (left_out(found, &good)) continue;
    c.n++;
    fastest = fmin(fastest, (tgi_core_now() - began) / (double)FLIP_STEPS);
    for (int t = 0; t < FLIP_STEPS && good; t++) iterations += info[t].iterations;
    if (!good || found || fabs(c.g[k]) > 10 || i % 10 != 5) continue;
    double error;
    good = difference_error(cost_of_flip, &(Flipped){r, f}, c.p[k], c.g[k], &error);
    *worst = fmax(*worst, error);
  }
  close_scene(&scene, r);
  if (!good) return false;
  *cut = c;
  if (found) row(run, f->name, "unsolved", TILTS - c.n, "", "motions of 31 with a step that has no solution, left out of the rest");
  row(run, f->name, "tv_over_range", variation(&c) / range(&c), "", "of the cost over tilts of 0.1 to 0.8 rad, 31 of them");
  row(run, f->name, "sign_changes", sign_changes(&c), "", "of d cost/d tilt");
  row(run, f->name, "max_gradient", steepest(&c), "1/rad", "largest |d cost/d tilt|");
  row(run, f->name, "rebuilt_error", rebuilt_error(&c) / range(&c), "", "of the cost by trapezoid sums of its gradient, over its range");
  row(run, f->name, "range", range(&c), "", "of the cost");
  row(run, f->name, "iterations", iterations / (FLIP_STEPS * c.n), "", "of a step's solve, in the mean");
  row(run, f->name, "step_us", 1e6 * fastest, "us", "a step with its gradient, of the fastest motion, the processor's time");
  return true;
}

// the paper's choice, its ablations, and the rule `end`
static bool draw_flips(tgRun *run, const Cut *cut) {
  static const Drawn drawn[] = {
      {6, "midpoint, no damping (model 2)", "#e0a030"}, {8, "midpoint, no damping, within 2 cm (model 1)", "#8c564b"},
      {7, "penalty, midpoint (model 3)", "#999999"},    {0, "midpoint, damped over 9 steps (the paper's)", "#c0392b"},
      {3, "end, damped over 2 steps", "#2a8a3a"},       {2, "end, no damping", "#1f6fb2"}};
  return draw(run, "flip.svg", "the floor's tilt, 0.1 to 0.8 rad", cut, drawn, sizeof drawn / sizeof *drawn, 10);
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
  if (!open_scene(&scene, "damped_flip.xml", f->settings, flip_h, FLIP_STEPS, &r)) return false;
  bool good = true;
  k.r = r;
  for (int i = 0; i < TURNS && good; i++) {
    double way[2] = {turn_starts[i][0], turn_starts[i][1]};
    good = move_floor(r, f, turn_cost, way, &from, NULL, NULL) && tgi_descend(&d, way, &to, &n);
    solved += good && to <= turn_enough;
    tries += n;
    least = fmin(least, from);
  }
  close_scene(&scene, r);
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
  Cut *cut = calloc(FLIPS, sizeof *cut);
  bool good = cut != NULL;
  for (int i = 0; i < FLIPS && good; i++) good = flip_case(run, &flips[i], &cut[i], i < 5 ? &worst : &rings);
  if (good) {
    tgi_run_row(run, "gradient_error", worst, "every tenth tilt of the first five, where |d cost/d tilt| <= 10, against "
                "differences of eighth order");
    tgi_run_row(run, "max_gradient_ratio", steepest(&cut[6]) / steepest(&cut[0]), "of undamped over paper");
    tgi_run_row(run, "end.tv_over_range", fmax(variation(&cut[2]) / range(&cut[2]), variation(&cut[3]) / range(&cut[3])),
                "the worse of end.alpha0 and end.alpha2");
    tgi_run_row(run, "end.rebuilt_error", fmax(rebuilt_error(&cut[2]) / range(&cut[2]), rebuilt_error(&cut[3]) / range(&cut[3])),
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
  if (!roll(k->r, &run, cost)) return false;
  if (slope == NULL) return true;
  *slope = 0.5 * dv[6 * body + 1];
  for (int i = 0; i < 3; i++) *slope += dq[6 * body + i] * by[i];
  return true;
}

static bool cost_in_bowl(void *ctx, double p, double *cost) { return roll_in_bowl(ctx, p, cost, NULL); }

static bool bowl_case(tgRun *run, const Bowl *b, bool ablation, Cut *cut, double *worst) {
  tgScene scene;
  Rolled k = {.body = b->body};
  Cut c = {.n = 0};
  if (!open_scene(&scene, "damped_bowl.xml", b->settings, 0.01, BOWL_STEPS, &k.r)) return false;
  bool good = true;
  for (int i = 0; i < STARTS && good; i++) {
    double error = 0;
    int n = c.n;
    c.p[n] = -1 + 2.0 * i / (STARTS - 1);
    good = roll_in_bowl(&k, c.p[n], &c.x[n], &c.g[n]);
    if (left_out(ablation, &good)) continue;
    c.n++;
    if (good && b->body == 0 && !ablation && i % 10 == 5) good = difference_error(cost_in_bowl, &k, c.p[n], c.g[n], &error);
    *worst = fmax(*worst, error);
  }
  close_scene(&scene, k.r);
  if (!good) return false;
  *cut = c;
  if (ablation) row(run, b->name, "unsolved", STARTS - c.n, "", "motions of 31 with a step that has no solution, left out of the rest");
  row(run, b->name, "rebuilt_error", rebuilt_error(&c) / range(&c), "", "of the cost by trapezoid sums of its gradient, over its range");
  row(run, b->name, "tv_over_range", variation(&c) / range(&c), "", "of the cost over 31 starts");
  row(run, b->name, "max_gradient", steepest(&c), "", "largest |d cost/d start|");
  row(run, b->name, "range", range(&c), "m^2", "of the cost");
  return true;
}

static bool draw_bowls(tgRun *run, const Cut *cut) {
  static const Drawn drawn[] = {
      {6, "42 proxies, those within 5 mm alone", "#8c564b"}, {5, "without the normal's derivative", "#e0a030"},
      {3, "42 proxies", "#c0392b"},                          {2, "one proxy, rule end", "#2a8a3a"},
      {0, "one proxy, midpoint", "#1f6fb2"}};
  return draw(run, "bowl.svg", "the start, -1 to 1", cut, drawn, sizeof drawn / sizeof *drawn, 3);
}

bool tgi_reproduce_bowl(tgRun *run) {
  double worst = 0;
  Cut *cut = calloc(BOWLS, sizeof *cut);
  bool good = cut != NULL;
  for (int i = 0; i < BOWLS && good; i++) good = bowl_case(run, &bowls[i], i >= TRUE_BOWLS, &cut[i], &worst);
  if (good) {
    tgi_run_row(run, "gradient_error", worst, "every tenth start of the ball of one proxy, against differences of eighth order");
    tgi_run_row(run, "detection_ratio", rebuilt_error(&cut[6]) / range(&cut[6]) / (rebuilt_error(&cut[3]) / range(&cut[3])),
                "rebuilt error of detection over that of points");
    good = draw_bowls(run, cut);
  }
  free(cut);
  return good;
}
