// cloth.c: DA-R5 of [damped]: a cloth on the ground is pulled by two corners so that the two others come to a place; optimised under three
// ways of stepping, and each outcome graded by one reference.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "repro/experiments.h"

enum { SEEDS = 10, STEPS = 80, EVERY = 16, KNOTS = STEPS / EVERY, CONTROLS = 6, UNKNOWNS = KNOTS * CONTROLS, TEXT = 1200 };
enum { FINER = 10 };   // steps of the reference to one
static const double side = 0.3, step = 0.01, arc_time = 0.44;

typedef struct Way { const char *name, *options; } Way;
static const Way ways[] = {
    {"", "rule: midpoint, damping_time: 0.003"}, {"no_damping.", "rule: midpoint"}, {"end.", "rule: end"},
    {"no_set.", "rule: midpoint, damping_time: 0.003, near: 0.02"}};   // nodes within 2 cm of the ground alone
enum { PROPOSED, UNDAMPED, END, NO_SET, WAYS };

typedef struct Case {
  double own[WAYS][SEEDS], first[WAYS][SEEDS], reference[WAYS][SEEDS];
  bool failed;
} Case;

// in -1 .. 1, of a seed and a place
static double noise(int seed, int k) {
  uint64_t x = (uint64_t)(seed + 1) * 0x9e3779b97f4a7c15u + (uint64_t)(k + 1) * 0xbf58476d1ce4e5b9u;
  x = (x ^ x >> 31) * 0x94d049bb133111ebu;
  x ^= x >> 29;
  return (double)(x >> 11) / (double)(1ull << 52) - 1;
}

// the far corners are to be up to 6 cm from where they lie; in steps of 1/finer of a hundredth of a second
static tgTask *open_task(const char *settings, int seed, int finer) {
  char text[TEXT];
  tgError error = {0};
  double x = side + 0.06 * noise(seed, 0), y = 0.06 * noise(seed, 1);
  snprintf(text, sizeof text,
           "model: cloth_flip.xml\ncontact: damped\noptions: {resting_gap: 0.002, slip_speed: 0.01, damping_ratio: 0, %s}\n"
           "horizon: {steps: %d, timestep: %g}\ncontrols: {every: %d, low: -0.6, high: 0.9}\neffort: off\nlosses:\n"
           "  - {term: body_position, name: v_0_4, target: [%.6f, %.6f, 0.004], weight: 0.5}\n"
           "  - {term: body_position, name: v_4_4, target: [%.6f, %.6f, 0.004], weight: 0.5}\n"
           "optimizer: {method: lbfgs, iterations: 25}\n",
           settings, finer * STEPS,
           step / finer, finer * EVERY, x, y, x, y + side);
  tgTask *task = tg_task_load_text(text, strlen(text), "models", NULL, &error);
  if (task == NULL) tgi_cli_error("reproduce", &error);
  return task;
}

// an arc over the cloth, by seed a little higher or wider, then held
static double arc(int seed, int control, double t) {
  double s = fmin(1, t / arc_time), far = side * (1.5 + 0.2 * noise(seed, 2)), high = side * (0.8 + 0.2 * noise(seed, 3));
  return control % 3 == 0 ? far * s : control % 3 == 2 ? high * sin(3.14159265358979 * s) : 0;
}

// each decision variable at the arc's value where its control is first held
static void start(const tgTask *task, int seed, double x[UNKNOWNS]) {
  double *u = malloc(STEPS * CONTROLS * sizeof *u), at[UNKNOWNS] = {0};
  for (int i = 0; i < UNKNOWNS && u != NULL; i++) {
    int k = 0;
    at[i] = 0.5;
    tg_task_expand(task, at, NULL, NULL, u);
    at[i] = 0;
    while (k < STEPS * CONTROLS - 1 && u[k] == 0) k++;
    x[i] = arc(seed, k % CONTROLS, step * (k / CONTROLS + EVERY));
  }
  free(u);
}

// loss of the variables; NaN: the motion ends early
static double grade(tgTask *task, const double *x) {
  tgError error = {0};
  tgRolloutResult result;
  double loss = NAN;
  tgEvaluator *e = tg_evaluator_create(task, 0, &error);
  if (e != NULL && tg_evaluate(e, x, &loss, NULL, NULL, NULL, &tgi_cli_interrupted, &result) != TG_OK) loss = NAN;
  tg_evaluator_free(e);
  return loss;
}

static bool optimise(Case *c, int way, int seed) {
  double x[UNKNOWNS];
  tgError error = {0};
  tgTask *task = open_task(ways[way].options, seed, 1), *reference = open_task("rule: end", seed, FINER);
  bool good = task != NULL && reference != NULL && tg_task_size(task) == UNKNOWNS &&
              tg_task_size(reference) == UNKNOWNS;
  if (good) {
    tgOptimizeOptions o = tg_optimize_default();
    start(task, seed, x);
    o.start = x;
    o.unverified = true;
    o.cancel = &tgi_cli_interrupted;
    tgOptimum *best = tg_optimize(task, &o);
    good = best != NULL && best->status == TG_OK;
    if (good) {
      c->first[way][seed] = best->first_loss;
      c->own[way][seed] = best->best_loss;
      c->reference[way][seed] = grade(reference, best->best);
    } else if (best != NULL) {
      error = best->error;
    }
    tg_optimum_free(best);
  }
  if (!good && error.status != TG_OK) tgi_cli_say("%s, seed %d: %s", ways[way].name, seed, error.text);
  tg_task_free(task);
  tg_task_free(reference);
  return good;
}

// Where contacts are found by distance, vertices go through the ground in a step, and the next has no solution: those seeds have no cost.
static void work(void *ctx, int i) {
  Case *c = ctx;
  int way = i / SEEDS, seed = i % SEEDS;
  if (optimise(c, way, seed)) return;
  if (way != NO_SET || tgi_cli_interrupted) c->failed = true;
  c->first[way][seed] = c->own[way][seed] = c->reference[way][seed] = NAN;
}

// of the seeds that have a cost, also in `other` (NULL: of no account)
static double mean(const double *x, const double *other) {
  double sum = 0;
  int n = 0;
  for (int i = 0; i < SEEDS; i++) {
    if (isnan(x[i]) || (other != NULL && isnan(other[i]))) continue;
    sum += x[i];
    n++;
  }
  return sum / n;
}

static void report(tgRun *run, const char *name, const char *what, const double *x, const char *note) {
  char full[96];
  snprintf(full, sizeof full, "%s%s", name, what);
  tgi_run_any(run, full, mean(x, NULL), "m^2", NAN, note);
}

static void ratio(tgRun *run, const Case *c, const char *name, int over, int under, const char *note) {
  tgi_run_row(run, name, mean(c->own[over], c->own[under]) / mean(c->own[under], c->own[over]),
              "of mean costs, as they grade themselves: %s", note);
}

bool tgi_reproduce_cloth(tgRun *run) {
  static Case c;
  double began = tgi_cli_now();
  c = (Case){.failed = false};
  if (!tgi_run_parallel(run, WAYS * SEEDS, work, &c) || c.failed) return false;
  for (int w = 0; w < WAYS; w++) {
    report(run, ways[w].name, "start", c.first[w], "loss of the arcs, mean of 10 seeds: half the squared distances of two corners");
    report(run, ways[w].name, "mean_cost", c.own[w], "after 25 iterations of L-BFGS, as it grades itself");
    report(run, ways[w].name, "reference.mean_cost", c.reference[w], "of the same controls in steps of 1 ms, rule end, no damping");
  }
  ratio(run, &c, "no_damping.ratio", PROPOSED, UNDAMPED, "the paper's damped gap over none");
  int unsolved = 0;
  for (int i = 0; i < SEEDS; i++) unsolved += isnan(c.own[NO_SET][i]) != 0;
  tgi_run_report(run, "no_set.unsolved", unsolved, "", NAN,
                 "of 10 seeds, in whose first motion vertices go through the ground: they have no cost");
  ratio(run, &c, "no_set.ratio", PROPOSED, NO_SET, "all vertices in all steps over those within 2 cm, of the seeds that both have");
  ratio(run, &c, "end.ratio", END, PROPOSED, "rule end without damping over the paper's damped gap");
  tgi_run_row(run, "seconds", tgi_cli_now() - began, "%d optimisations and their replays", WAYS * SEEDS);
  return true;
}
