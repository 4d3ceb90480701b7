// damped_drop.c: DA-R1 and DA-R2 of [damped]: where a dropped particle ends, by the height that it falls from, under both rules and every
// law; how far bodies of proxies roll.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "repro/damped.h"

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
  return tgi_damped_roll(r, &run, x);
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
  tgCut c = {.n = HEIGHTS};
  tgContactLaw law;
  char note[160];
  if (!tgi_damped_open(&scene, "damped_drop.xml", d->settings, drop_h, DROP_STEPS, &r)) return false;
  bool good = tg_contact_law(scene.contact, 0, drop_h, &law);
  for (int i = 0; i < HEIGHTS && good; i++) {
    double error = 0;
    c.p[i] = 0.3 + 0.001 * i;
    good = fall(r, c.p[i], &c.x[i], &c.g[i]);
    if (good && i % 10 == 0 && fabs(c.g[i]) <= 10) good = tgi_difference_error(end_of_fall, r, c.p[i], c.g[i], &error);
    *worst = fmax(*worst, error);
  }
  tgi_damped_close(&scene, r);
  if (!good) return false;
  snprintf(note, sizeof note, "of x after 1 s over heights of 0.3 to 0.6 m; strength %.4g, damping time %.4g s", law.strength,
           law.damping_time);
  tgi_damped_row(run, d->name, "tv_m", tgi_cut_variation(&c), "m", note);
  tgi_damped_row(run, d->name, "sign_changes", tgi_cut_sign_changes(&c), "",
                 "of dx/dheight in 300 intervals, where it is more than rounding");
  tgi_damped_row(run, d->name, "max_gradient", tgi_cut_steepest(&c), "", "largest |dx/dheight|");
  return true;
}

// how high it comes again after its first millimetres, as a share of the height: least and largest of 21 drops
static bool rebound(const char *rule, double *least, double *most) {
  char settings[120];
  tgScene scene;
  tgRollout *r;
  double *q = malloc((REBOUND_STEPS + 1) * sizeof *q), unused;
  snprintf(settings, sizeof settings, "resting_gap=.001 damping_ratio=0 rule=%s", rule);
  if (q == NULL || !tgi_damped_open(&scene, "damped_drop.xml", settings, 1e-3, REBOUND_STEPS, &r)) {
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
    good = tgi_damped_roll(r, &run, &unused);
    for (int t = 0; t <= REBOUND_STEPS && good; t++) {
      met = met || q[t] < 0.01;
      if (met) top = fmax(top, q[t]);
    }
    *least = fmin(*least, top / height);
    *most = fmax(*most, top / height);
  }
  tgi_damped_close(&scene, r);
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
  if (which == 2 && tgi_damped_open(&scene, "damped_roll.xml", "", 0.01, ROLL_STEPS, &r)) {
    if (proxies_of(&scene, which, k)) n = k->n;
    tgi_damped_close(&scene, r);
  }
  snprintf(settings, sizeof settings, "law=penalty onset=%g stiffness=%.17g damping_ratio=0 damping_time=%g slip_speed=1e-3 rule=midpoint "
           "mesh=points", SPRING_ONSET, SPRING * n, damper ? 0 : time);
  if (!tgi_damped_open(&scene, "damped_roll.xml", settings, 0.01, ROLL_STEPS, &r)) {
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
  tgi_damped_close(&scene, r);
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
