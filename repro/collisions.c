// collisions.c: TO-R4, what collides and passes through nothing: cubes, bowling, thin walls and a ball that bounces, of [toi] under `toi`.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "repro/bowling.h"
#include "repro/experiments.h"
#include "tangere/desc.h"
#include "tangere/geometry.h"

static const double gap = 1e-6;   // the default of `toi`

// ---- scenes of their own ----

// xml under `toi`, restitution e of all geoms. False: reason printed
static bool open_text(const char *xml, double e, tgScene *k) {
  tgError error = {0};
  int rows, cols;
  tgDesc *d = tg_desc_load_memory("scene.xml", xml, strlen(xml), NULL, &error);
  *k = (tgScene){.model = d != NULL ? tg_model_compile(d, NULL, &error) : NULL};
  tg_desc_free(d);
  if (k->model != NULL) k->contact = tg_contact_create(k->model, "toi", NULL, &error);
  if (k->contact != NULL) k->sim = tg_sim_create(k->model, k->contact, NULL, &error);
  if (k->sim == NULL) {
    tgi_cli_say("%s", error.text);
    tgi_scene_close(k);
    return false;
  }
  double *at = tg_sim_param(k->sim, "geom_restitution", &rows, &cols);
  for (int i = 0; i < rows * cols; i++) at[i] = e;
  return true;
}

// a motion of `steps` steps from the sim's state
typedef struct Motion {
  double *q, *v;             // (steps + 1) x nq, nv
  int *impact;               // steps
  int steps, nq, nv, impacts, stalled;
} Motion;

static void motion_free(Motion *o) {
  free(o->q);
  free(o->v);
  free(o->impact);
}

static bool move(tgScene *k, int steps, Motion *o) {
  *o = (Motion){.steps = steps, .nq = tg_model_nq(k->model), .nv = tg_model_nv(k->model)};
  o->q = calloc((size_t)(steps + 1) * (size_t)o->nq, sizeof *o->q);
  o->v = calloc((size_t)(steps + 1) * (size_t)o->nv, sizeof *o->v);
  o->impact = calloc((size_t)steps + 1, sizeof *o->impact);
  if (o->q == NULL || o->v == NULL || o->impact == NULL) return false;
  for (int t = 0;; t++) {
    tgStepInfo info;
    memcpy(o->q + t * o->nq, tg_sim_qpos(k->sim), (size_t)o->nq * sizeof *o->q);
    memcpy(o->v + t * o->nv, tg_sim_qvel(k->sim), (size_t)o->nv * sizeof *o->v);
    if (t == steps || tgi_cli_interrupted) return t == steps;
    tgStatus status = tgi_scene_step(k, &info);
    if (status != TG_OK) {
      tgi_cli_say("step %d: %s", t, tg_sim_error(k->sim)->text);
      return false;
    }
    o->impact[t] = info.nimpact;
    o->impacts += info.nimpact;
    o->stalled += info.nstalled;
  }
}

// ---- cubes ----

// The first cube, braked by a = mu g, meets the second after t: 0.5 - gap = 2 t - a t^2/2; half of its speed goes on, both come to rest.
static bool cube_rows(tgRun *run) {
  enum { STEPS = 150 };
  static const double a = 1.44;
  tgScene k;
  Motion o;
  if (!tgi_scene_open_under(&k, "cubes.xml", "toi", NULL)) return false;
  tg_sim_reset_key(k.sim, tg_model_find(k.model, TG_THING_KEY, "start"));
  tg_sim_qpos(k.sim)[2] += gap;   // as the file has them they touch the table
  tg_sim_qpos(k.sim)[9] += gap;
  bool good = move(&k, STEPS, &o);
  if (good) {
    const double *end = o.q + STEPS * o.nq, *v = o.v + 28 * o.nv;
    double meet = (2 - sqrt(4 - 2 * a * (0.5 - gap))) / a, truth = 2 - a * meet - 2 * a * (0.28 - meet);
    double over = end[7] - end[0] - 0.2;
    tgi_run_row(run, "cubes.first_x_error", fabs(end[0] - 0.722222), "at rest, against 0.722222 m");
    tgi_run_row(run, "cubes.second_x_error", fabs(end[7] - 0.922222), "against 0.922222 m");
    tgi_run_row(run, "cubes.distance_over", over, "of the centres at rest, over 0.2 m; they meet at 1e-6 m");
    tgi_run_row(run, "cubes.overlap", fmax(0, -over), "of the cubes at rest");
    tgi_run_row(run, "cubes.momentum_error", fabs(v[0] + v[6] - truth) / truth, "at 0.28 s, against friction alone; they meet at %.6f s",
                meet);
    good = tg_intersections_of_motion(k.model, o.q, STEPS) == 0;
    if (!good) tgi_cli_say("cubes and table have points in common");
  }
  motion_free(&o);
  tgi_scene_close(&k);
  return good;
}

// ---- what is thin and fast, and what bounces ----

#define STILL "<mujoco><option gravity=\"0 0 0\"/><worldbody>"
#define FREE "<freejoint/>"
#define END "</worldbody></mujoco>"
#define WALL "<geom type=\"box\" size=\".0005 1 1\"/>"

// passed: on the far side of what is 1 mm thin after three steps of 10 ms
static bool wall_rows(tgRun *run) {
  static const char *const xml[] = {
      STILL WALL "<body pos=\"-.7 0 0\">" FREE "<geom size=\".05\" mass=\"1\"/></body>" END,
      STILL WALL "<body pos=\"-.7 0 0\" euler=\"0 0 45\">" FREE "<geom type=\"box\" size=\".05 .05 .05\" mass=\"1\"/>"
                 "</body>" END,
      STILL "<geom type=\"box\" size=\".0005 .0005 .1\" pos=\".6 .6 0\"/><body><joint axis=\"0 0 1\"/>"
            "<geom type=\"capsule\" size=\".01\" fromto=\".05 0 0 1 0 0\" mass=\"1\"/></body>" END};
  static const double speed[] = {100, 100, 200}, far[] = {0, 0, 0.7854}, e = 0.7;
  int passed = 0;
  double error = 0;
  for (int i = 0; i < 3; i++) {
    tgScene k;
    Motion o;
    if (!open_text(xml[i], e, &k)) return false;
    k.h = 0.01;
    tg_sim_qvel(k.sim)[0] = speed[i];
    bool good = move(&k, 3, &o);
    for (int t = 1; good && t <= o.steps; t++) passed += o.q[t * o.nq] > far[i];
    if (good) error = fmax(error, fabs(o.v[o.nv * (i < 2 ? 3 : 1)] / speed[i] + e));
    motion_free(&o);
    tgi_scene_close(&k);
    if (!good) return false;
  }
  tgi_run_row(run, "wall.passed", passed,
              "of a ball and a box's edge at 100 m/s against a wall, a rod at 200 rad/s against a post, 1 mm thin: steps behind it");
  tgi_run_row(run, "wall.restitution_error", error, "of the speed, over that before, against 0.7");
  return true;
}

// An elastic ball over 6 s, and d v/d v0 of a step in which it bounces.
static bool drop_rows(tgRun *run) {
  static const char *const xml = "<mujoco><option gravity=\"0 0 -9.81\"/><worldbody><geom type=\"plane\" size=\"5 5 1\"/>"
                                 "<body pos=\"0 0 .55\">" FREE "<geom size=\".1\" mass=\"1\"/></body>" END;
  tgScene k;
  Motion o;
  if (!open_text(xml, 1, &k)) return false;
  k.h = 0.01;
  double gz[6] = {0, 0, 1}, zero[6] = {0}, aq[6] = {0}, av[6] = {0};
  bool good = move(&k, 600, &o);
  if (good) {
    const double *q = o.q + 600 * o.nq, *v = o.v + 600 * o.nv;
    tgi_run_row(run, "drop.energy_error", fabs((9.81 * q[2] + 0.5 * v[2] * v[2]) / (9.81 * 0.55) - 1),
                "after 6 s and %d impacts, over that at the start", o.impacts);
    double *x = tg_sim_qpos(k.sim);
    memcpy(x, o.q, (size_t)o.nq * sizeof *x);
    x[2] = 0.11;
    memset(tg_sim_qvel(k.sim), 0, (size_t)o.nv * sizeof *x);
    tg_sim_qvel(k.sim)[2] = -3;
    tgStepInfo info;
    good = tgi_scene_step(&k, &info) == TG_OK && tg_sim_step_vjp(k.sim, zero, gz, aq, av, NULL, NULL, NULL) == TG_OK;
    // it lands at w = sqrt(v0^2 + 2 g s) after (w + v0)/g, and ends at 2 w + v0 - g h
    double w = sqrt(9 + 2 * 9.81 * (0.01 - gap)), slope = 1 - 2 * 3 / w;
    if (good) tgi_run_row(run, "drop.slope_error", fabs(av[2] - slope), "d v/d v0 of a step with a bounce, against %.6f", slope);
  }
  motion_free(&o);
  tgi_scene_close(&k);
  return good;
}

// ---- bowling ----

enum { BOWLS = 100 };
static const double bowl_step = 0.01;

static bool open_bowling(double speed, bool whole, tgScene *k) {
  char *xml = tgi_bowling(whole, gap);
  bool good = xml != NULL && open_text(xml, 0.65, k);
  free(xml);
  if (!good) return false;
  k->h = bowl_step;
  tg_sim_qvel(k->sim)[TGI_BALL] = speed;
  tg_sim_qvel(k->sim)[TGI_BALL + 4] = speed / tgi_ball_radius;
  return true;
}

static double bowling_energy(const Motion *o, int t, const tgPin *pin) {
  double sum = 0;
  for (int b = 0; b <= TGI_PINS; b++) {
    const double *q = o->q + t * o->nq + 7 * b, *v = o->v + t * o->nv + 6 * b;
    bool is_pin = b < TGI_PINS;
    double m = is_pin ? tgi_pin_mass : tgi_ball_mass, ball = 0.4 * tgi_ball_radius * tgi_ball_radius;
    double across = is_pin ? pin->across : ball, along = is_pin ? pin->along : ball;
    sum += m * (9.81 * q[2] + 0.5 * (v[0] * v[0] + v[1] * v[1] + v[2] * v[2] + across * (v[3] * v[3] + v[4] * v[4]) + along * v[5] * v[5]));
  }
  return sum;
}

// the most that a body turns in the step from t on [rad]
static double turn_of(const Motion *o, int t) {
  double most = 0;
  for (int b = 0; b <= TGI_PINS; b++) {
    const double *w = o->v + (t + 1) * o->nv + 6 * b + 3;
    most = fmax(most, bowl_step * sqrt(w[0] * w[0] + w[1] * w[1] + w[2] * w[2]));
  }
  return most;
}

// pins that lean by more than 45 degrees
static int pins_down(const Motion *o, int t) {
  int down = 0;
  for (int b = 0; b < TGI_PINS; b++) {
    const double *r = o->q + t * o->nq + 7 * b + 3;
    down += 1 - 2 * (r[1] * r[1] + r[2] * r[2]) < sqrt(0.5);
  }
  return down;
}

static bool bowling_rows(tgRun *run, const char *name, double speed, bool mesh) {
  tgPin pin = tgi_pin();
  tgScene k;
  Motion o;
  char row[64], note[160];
  double rise = 0, turn = 0, began = tgi_cli_now();
  if (!open_bowling(speed, mesh, &k)) return false;
  bool good = move(&k, BOWLS, &o);
  double spent = tgi_cli_now() - began;
  if (good) {
    double whole = bowling_energy(&o, 0, &pin), quiet = 0;
    for (int t = 0; t < BOWLS; t++) {
      double more = bowling_energy(&o, t + 1, &pin) - bowling_energy(&o, t, &pin);
      rise = fmax(rise, more);
      turn = fmax(turn, turn_of(&o, t));
      if (o.impact[t] == 0) quiet = fmax(quiet, more);
    }
    snprintf(row, sizeof row, "%s.intersections", name);
    tgi_run_row(run, row, (double)tg_intersections_of_motion(k.model, o.q, BOWLS),
                "pairs of geoms with a point in common, exact, at the ends of %d steps", BOWLS);
    snprintf(row, sizeof row, "%s.stalled", name);
    tgi_run_row(run, row, o.stalled, "islands held where they were, of %d impacts", o.impacts);
    snprintf(row, sizeof row, "%s.energy_rise", name);
    tgi_run_row(run, row, rise / whole,
                "most in a step, over %.4g J at the start; %.2g in steps without impacts; a body turns by %.2g rad in a step at most",
                whole, quiet / whole, turn);
    snprintf(row, sizeof row, "%s.pins_down", name);
    snprintf(note, sizeof note, "after 0.3 s; %d after 1 s", pins_down(&o, BOWLS));
    tgi_run_row(run, row, pins_down(&o, 30), "%s", note);
    snprintf(row, sizeof row, "%s.seconds", name);
    tgi_run_report(run, row, spent, "s", NAN, "of a second in 100 steps");
  }
  motion_free(&o);
  tgi_scene_close(&k);
  return good;
}

bool tgi_reproduce_collisions(tgRun *run) {
  return cube_rows(run) && wall_rows(run) && drop_rows(run) && bowling_rows(run, "bowling", 10, false) &&
         bowling_rows(run, "bowling30", 30, false) && bowling_rows(run, "bowling_mesh", 10, true);
}
