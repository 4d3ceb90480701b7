// push_gradient.c: beyond SM-R3, the goals of the pushed T found from nothing by gradient on `softmin`
// (models/push_t.yaml): of random motions of the finger about the T those of least loss are followed by Gauss-Newton,
// with a wide onset of contact first and narrower ones up to the task's. A hard blow answers to a change of the onset
// by another motion altogether, so speeds cost until the last.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "repro/push_t.h"

enum { GOAL_SECONDS = 90, SAMPLES = 192, STARTS = 8, STAGES = 6, VIA = 4, ITERATIONS = 25, LAST_ITERATIONS = 50 };
static const double onset_of[STAGES] = {2.4, 2, 1.7, 1.4, 1.2, 1};   // eps2 and eps3 over the task's
static const double last_speed = 0.01;                           // weight of speeds at the last
static const double enough = 3, last_enough = 0.1, lost = 20;    // a stage ends at such a loss: a centimetre and five
                                                                 // degrees make 2; a start is given up above the last
static const double near_cm = 1, near_deg = 5, about = 0.2;      // a goal is found within these, as in the search; via
                                                                 // points are so far from the T at most [m]

typedef struct Found { bool found; double dx, turn, seconds; long simulations; int starts; double *x; } Found;
typedef struct Start { double loss, *x; } Start;

static bool aim(tgTask *t, const double goal[3]) {
  tgError error = {0};
  tgTaskTerm e;
  tgStatus st = TG_OK;
  for (int i = 0; st == TG_OK && tg_task_term(t, i, &e); i++) {
    if (strcmp(e.kind, "body_position") == 0) memcpy(e.target, goal, 2 * sizeof *goal);
    if (strcmp(e.kind, "body_orientation") == 0) memcpy(e.target, (double[4]){cos(goal[2] / 2), 0, 0, sin(goal[2] / 2)}, 4 * sizeof *goal);
    st = tg_task_set_term(t, i, &e, &error);
  }
  return st == TG_OK || (tgi_cli_error("reproduce", &error), false);
}

// Targets about the T, from where the finger stands through VIA random places, at rest in each: between two of
// them half a wave of a cosine.
static void draw(const tgPushGoals *s, uint64_t seed, uint64_t stream, int n, double *x) {
  const double *finger = tgi_cli_reals(s->model, "body_pos", NULL) + 3 * tg_model_find(s->model, TG_THING_BODY, "finger");
  double via[VIA + 1][2] = {{0, 0}};
  for (int k = 1; k <= VIA; k++)
    for (int i = 0; i < 2; i++) via[k][i] = about * (2 * tg_random_uniform(seed, stream, (uint64_t)(2 * k + i)) - 1) - finger[i];
  for (int t = 0; t < n / 2; t++) {
    double at = (t + 0.5) * 2 * VIA / n, blend = 0.5 - 0.5 * cos(M_PI * (at - floor(at)));
    int k = (int)at;
    for (int i = 0; i < 2; i++) x[2 * t + i] = via[k][i] + blend * (via[k + 1][i] - via[k][i]);
  }
}

static int by_loss(const void *a, const void *b) {
  double x = ((const Start *)a)->loss, y = ((const Start *)b)->loss;
  return (x > y) - (x < y);
}

static void speed(tgTask *t, double weight) {
  tgTaskTerm e;
  for (int i = 0; tg_task_term(t, i, &e); i++) {
    if (strcmp(e.kind, "velocity") != 0) continue;
    e.weight = weight;
    tg_task_set_term(t, i, &e, NULL);
  }
}

static double speed_of(const tgTask *t) {
  tgTaskTerm e;
  for (int i = 0; tg_task_term(t, i, &e); i++)
    if (strcmp(e.kind, "velocity") == 0) return e.weight;
  return 0;
}

// eps2 and eps3 of the task are those of the last stage
static bool onset(tgTask *t, double last, double by) {
  tgError error = {0};
  if (tgi_task_number(t, "eps2", by * last, &error) == TG_OK && tgi_task_number(t, "eps3", by * last, &error) == TG_OK) return true;
  return tgi_cli_error("reproduce", &error), false;
}

// random motions, the nearest first
static bool sample(const tgPushGoals *s, tgTask *t, double last, uint64_t seed, Start *start, Found *f) {
  tgError error = {0};
  tgEvaluator *e = onset(t, last, onset_of[0]) ? tg_evaluator_create(t, 0, &error) : NULL;
  if (e == NULL) return tgi_cli_error("reproduce", &error), false;
  for (int k = 0; k < SAMPLES; k++) {
    draw(s, seed, (uint64_t)k, tg_task_size(t), start[k].x);
    if (tg_evaluate(e, start[k].x, &start[k].loss, NULL, NULL, NULL, &tgi_cli_interrupted, NULL) != TG_OK) start[k].loss = INFINITY;
  }
  f->simulations += SAMPLES;
  tg_evaluator_free(e);
  qsort(start, SAMPLES, sizeof *start, by_loss);
  return !tgi_cli_interrupted;
}

// stops a stage that has come near enough
typedef struct Watch { double enough; volatile int stop; } Watch;
static void watch(void *ctx, const tgProgress *p) {
  Watch *w = ctx;
  if (p->best < w->enough || tgi_cli_interrupted) w->stop = 1;
}

// one onset, from x and to x; false: it came to nothing
static bool follow(tgTask *t, double *x, bool last, Found *f) {
  tgOptimizeOptions o = tg_optimize_default();
  o.unverified = true;   // the criterion is the paper\'s, of its own step
  Watch w = {.enough = last ? last_enough : enough};
  o.cancel = &w.stop;
  o.progress = watch;
  o.progress_ctx = &w;
  o.threads = 1;
  o.start = x;
  tg_task_override(t, NULL, NULL, last ? LAST_ITERATIONS : ITERATIONS, NULL);
  tgOptimum *best = tg_optimize(t, &o);
  bool good = best != NULL && best->status >= 0 && best->best_loss < lost && !tgi_cli_interrupted;
  if (good) memcpy(x, best->best, (size_t)tg_task_size(t) * sizeof *x);
  if (best != NULL) f->simulations += best->simulations;
  tg_optimum_free(best);
  return good;
}

// x is left where the last stage ends
static bool descend(tgTask *t, double width, double *x, Found *f) {
  double weight = speed_of(t);
  bool good = true;
  for (int k = 0; k < STAGES && good; k++) {
    bool last = k == STAGES - 1;
    speed(t, last ? last_speed : weight);
    good = onset(t, width, onset_of[k]) && follow(t, x, last, f);
  }
  speed(t, weight);
  return good;
}

static void judge(const tgTask *t, const double *x, const double goal[3], Found *f) {
  tgError error = {0};
  tgCliTrajectory c = {.label = "found"};
  double pose[3], turn;
  if (tgi_cli_record_task(t, x, NULL, &c, &error) == TG_OK) {
    tgi_push_pose(c.q + (size_t)c.steps * (size_t)tg_model_nq(tg_task_model(t)), pose);
    double dx = tgi_push_apart(pose, goal, &turn);
    if (hypot(dx / near_cm, turn / near_deg) < hypot(f->dx / near_cm, f->turn / near_deg)) {
      f->dx = dx;
      f->turn = turn;
      memcpy(f->x, x, (size_t)tg_task_size(t) * sizeof *x);
    }
    f->found = f->found || (dx <= near_cm && turn <= near_deg);
  }
  tgi_cli_trajectory_free(&c);
}

static bool find(tgRun *run, const tgPushGoals *s, tgTask *t, double width, int k, Found *f) {
  size_t n = (size_t)tg_task_size(t);
  Start start[SAMPLES];
  double began = tgi_cli_now(), *x = malloc(SAMPLES * n * sizeof *x);
  for (int i = 0; i < SAMPLES; i++) start[i].x = x + (size_t)i * n;
  f->dx = f->turn = INFINITY;
  bool good = x != NULL && aim(t, s->goal + 3 * k) && sample(s, t, width, (uint64_t)k + 1, start, f);
  double until = run->cli->full ? INFINITY : began + GOAL_SECONDS;
  for (; f->starts < STARTS && good && !f->found && !tgi_cli_interrupted && tgi_cli_now() < until; f->starts++) {
    if (descend(t, width, start[f->starts].x, f)) judge(t, start[f->starts].x, s->goal + 3 * k, f);
    tgi_cli_say("SM-R3 goal %d, start %d: %.2g cm and %.2g deg from it, %ld simulations", k, f->starts, f->dx, f->turn, f->simulations);
  }
  f->seconds = tgi_cli_now() - began;
  free(x);
  return good;
}

// targets at the hold of models/push_t.npz, for tools/push_t.py replay
static bool keep(tgRun *run, const tgPushGoals *s, const tgTask *t, const Found *f) {
  char path[1200];
  tgError error = {0};
  int nhold = (int)lround(tg_task_steps(t) * tg_task_timestep(t) / *s->hold), each = tg_task_steps(t) / (tg_task_size(t) / 2);
  double *u = calloc(TG_PUSH_GOALS * 2 * (size_t)nhold, sizeof *u);
  if (run->folder == NULL || u == NULL) return free(u), run->folder == NULL;
  for (int k = 0; k < TG_PUSH_GOALS; k++)
    for (int i = 0; i < nhold; i++)
      memcpy(u + 2 * (size_t)(k * nhold + i), f[k].x + 2 * (size_t)((int)(i * *s->hold / tg_task_timestep(t) + 0.5) / each), 2 * sizeof *u);
  snprintf(path, sizeof path, "%s/found.npz", run->folder);
  const tgNpzArray a = {.name = "u", .type = TG_NPZ_F8, .ndim = 3, .shape = {TG_PUSH_GOALS, (size_t)nhold, 2}, .data = u};
  bool good = tg_npz_write(path, &a, 1, &error) == TG_OK;
  if (good) json_array_append_new(run->left, json_string(path));
  else tgi_cli_error("reproduce", &error);
  free(u);
  return good;
}

static bool find_all(tgRun *run, const tgPushGoals *s, tgTask *t, double *x) {
  Found f[TG_PUSH_GOALS] = {{.found = false}};
  double seconds = 0;
  long simulations = 0;
  double width = tg_contact_get(tg_contact_options(tg_task_contact(t)), "eps3");
  int found = 0;
  char note[560] = "";
  for (int k = 0; k < TG_PUSH_GOALS; k++) {
    f[k].x = x + (size_t)(k * tg_task_size(t));
    if (!find(run, s, t, width, k, &f[k])) return false;
    found += f[k].found;
    seconds += f[k].seconds;
    simulations += f[k].simulations;
    snprintf(note + strlen(note), sizeof note - strlen(note), "%sgoal %d: %.2f cm, %.1f deg, %ld simulations, %.3g s",
             k > 0 ? "; " : "", k, f[k].dx, f[k].turn, f[k].simulations, f[k].seconds);
  }
  tgi_run_row(run, "goals_found_by_gradient", found, "%s", note);
  tgi_run_report(run, "gradient.simulations", (double)simulations, "", NAN, "of all goals, random motions counted");
  tgi_run_report(run, "gradient.seconds", seconds, "s", NAN, "of all goals");
  tgi_run_report(run, "search.simulations", s->searched, "", NAN, "of the search in MuJoCo, of all goals (models/push_t.npz)");
  return keep(run, s, t, f);
}

bool tgi_push_by_gradient(tgRun *run, const tgPushGoals *s) {
  tgTask *t = tgi_models_task("push_t.yaml");
  double *x = t != NULL ? calloc((size_t)(TG_PUSH_GOALS * tg_task_size(t)), sizeof *x) : NULL;
  bool good = x != NULL && find_all(run, s, t, x);
  free(x);
  tg_task_free(t);
  return good;
}
