// stack.c: BA-R1, book stacking: twenty planks at the greatest overhang that the stack can carry, under the barrier
// at several mu. [barrier] Section 6, figure 4 and table 2; beyond it, the moment form, planks of 512 triangles,
// and planks that may turn.
//
// The paper does not say how its planks are held. The resultant of the top interface lies 2 mm from an edge of a face 2
// m long, and a barrier moves it there only by tilting, so planks that may turn lean and fall at the mu where the
// paper's stand; its table is one of planks that do not turn. The main rows are of such, on three slides each; rows
// `FORM.free.` are of free ones.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "repro/barrier.h"
#include "repro/planks.h"

// A stack sinks until it is at rest, in so many steps at most, and is let go for ten seconds. Free planks then still
// lean: they do so by steps from rest before they are let go. Fine ones are let go for two seconds (--full: ten).
enum { SINKING = 300, LEANING = 30, STEPS = 250, FEW_STEPS = 50 };

// a plank that is farther than this from where it was let go, or turned more, has left the stack [m, rad]
static const double far = 0.02, turned = 0.02;
// a stack is at rest when the forces on each plank balance to this many mu [N]: a hundredth of the least force that is sought
static const double balance = 20;
// What friction holds creeps at a share of the slip speed, in ten seconds by less than 0.1 mm at this one [m/s]. The
// rows `creeping` have the default.
static const double slip = 1e-5;

typedef struct Stack {
  tgPlanks planks;
  double rest[TG_PLANKS];        // heights at rest [m]
  double margin, force_error, imbalance;   // there
  double stable, most, moved, seconds; // most: let go for so long at most [s]; moved: farthest from where it was let go [m]
  long touching;
  tgCliTrajectory t;
} Stack;

// false: said why
static bool open(tgPlanks *p) {
  char path[1024];
  tgError error = {0};
  if (!tgi_models_file("planks.xml", path, sizeof path)) return false;
  if (tgi_planks_open(p, path, &error)) return true;
  tgi_cli_error("reproduce", &error);
  return false;
}

static void stack_close(Stack *s) {
  tgi_cli_trajectory_free(&s->t);
  tgi_planks_close(&s->planks);
}

static void measure_rest(Stack *s, const tgPlanks *p) {
  double x[3], turn[4], sum = 0;
  for (int b = 0; b < TG_PLANKS; b++) {
    tgi_planks_pose(p, tg_sim_qpos(p->sim), b, x, turn);
    s->rest[b] = x[2];
    if (b > 0) sum += s->rest[b] - s->rest[b - 1] - tgi_plank_height;
  }
  int top = TG_PLANKS - 1;
  s->margin = sum / top;
  s->force_error = fabs(tgi_planks_push(p, top, top - 1) - tgi_planks_weight(p, top));
}

// on slides that let it only sink, from about the gaps at rest: a face carries what lies on it at a gap that falls
// with the root of the load
static bool settle(Stack *s) {
  tgPlanks p = s->planks;
  p.hold = TG_PLANKS_SINK;
  double z[TG_PLANKS], top = 0;
  for (int b = 0; b < TG_PLANKS; b++) {
    top += 3.5e-3 * sqrt(p.mu / 1e-7 / (TG_PLANKS - b)) + tgi_plank_height;
    z[b] = top - tgi_plank_height / 2;
  }
  bool good = open(&p);
  if (good) {
    tgi_planks_lift(&p, z);
    good = tgi_planks_sink(&p, balance * p.mu, SINKING, &s->imbalance) == TG_OK;
    if (good) measure_rest(s, &p);
    else tgi_cli_say("settling: %s", tg_sim_error(p.sim)->text);
  }
  tgi_planks_close(&p);
  return good;
}

// has a plank left the stack since q0? *moved (raised): the farthest so far
static bool left(const tgPlanks *p, const double *q0, const double *q, double *moved) {
  bool gone = false;
  for (int b = 0; b < TG_PLANKS; b++) {
    double x0[3], x[3], turn0[4], turn[4], dot = 0;
    tgi_planks_pose(p, q0, b, x0, turn0);
    tgi_planks_pose(p, q, b, x, turn);
    double d = hypot(hypot(x[0] - x0[0], x[1] - x0[1]), x[2] - x0[2]);
    for (int k = 0; k < 4; k++) dot += turn0[k] * turn[k];
    *moved = fmax(*moved, d);
    gone = gone || !(d <= far) || !(2 * acos(fmin(1, fabs(dot))) <= turned);
  }
  return gone;
}

// seconds that all planks were in the stack
static double stable_seconds(const Stack *s, double *moved) {
  const tgModel *m = s->planks.model;
  int t = 0;
  *moved = 0;
  while (t < s->t.steps && !left(&s->planks, s->t.q, s->t.q + (t + 1) * tg_model_nq(m), moved)) t++;
  return t * tg_model_timestep(m);
}

// from the state that the sim is in: steps until a plank leaves the stack, most at most; back there, at rest
static tgStatus steps_until(Stack *s, int most, int *steps) {
  tgSim *sim = s->planks.sim;
  double q0[7 * TG_PLANKS], moved = 0;
  size_t bytes = (size_t)tg_model_nq(s->planks.model) * sizeof *q0;
  tgStatus st = TG_OK;
  memcpy(q0, tg_sim_qpos(sim), bytes);
  for (*steps = 0; *steps < most && st == TG_OK && !tgi_cli_interrupted && !left(&s->planks, q0, tg_sim_qpos(sim), &moved); ++*steps)
    st = tg_sim_step_growing(sim, tg_model_timestep(s->planks.model), NULL);
  tg_sim_reset(sim);
  memcpy(tg_sim_qpos(sim), q0, bytes);
  return st;
}

static tgStatus let_go(Stack *s, int steps, tgError *error) {
  tgSim *sim = s->planks.sim;
  double h = tg_model_timestep(s->planks.model);
  bool turns = s->planks.hold == TG_PLANKS_FREE;
  tgStatus st = TG_OK;
  tgi_planks_lift(&s->planks, s->rest);
  for (int k = 0; k < LEANING && turns && st == TG_OK && !tgi_cli_interrupted; k++) {
    st = tg_sim_step_growing(sim, h, NULL);
    memset(tg_sim_qvel(sim), 0, (size_t)tg_model_nv(s->planks.model) * sizeof(double));
  }
  if (turns && st == TG_OK) st = steps_until(s, steps, &steps);   // a heap takes long
  return st == TG_OK ? tgi_cli_record(sim, NULL, steps, h, &tgi_cli_interrupted, &s->t, error) : st;
}

static bool measure(tgRun *run, Stack *s, const char *label) {
  tgError error = {0};
  double began = tgi_cli_now();
  if (!settle(s) || !open(&s->planks)) return false;
  s->t = (tgCliTrajectory){.label = label, .iteration = NAN};
  bool few = s->planks.cells != NULL && !run->cli->full;
  s->most = (few ? FEW_STEPS : STEPS) * tg_model_timestep(s->planks.model);
  tgStatus st = let_go(s, few ? FEW_STEPS : STEPS, &error);
  s->seconds = tgi_cli_now() - began;
  if (st != TG_OK) {
    tgi_cli_say("%s: %s", label, error.text[0] != '\0' ? error.text : tg_sim_error(s->planks.sim)->text);
    return false;
  }
  s->stable = stable_seconds(s, &s->moved);
  s->touching = tg_intersections_of_motion(s->planks.model, s->t.q, s->t.steps);
  tgi_run_progress(run, label, 1, 1, began);
  return s->touching >= 0;
}

// slope of log margin over log mu, least squares over all mu
static double exponent(const double *mu, const double *margin, int n) {
  double k = 0, x = 0, y = 0, xx = 0, xy = 0;
  for (int i = 0; i < n; i++) {
    if (!(margin[i] > 0)) continue;
    double a = log(mu[i]), b = log(margin[i]);
    k++, x += a, y += b, xx += a * a, xy += a * b;
  }
  return (k * xy - x * y) / (k * xx - x * x);
}

enum { MUS = 6, SEVEN = 2 };
static const double mus[MUS] = {1e-5, 1e-6, 1e-7, 1e-8, 1e-9, 1e-10};
static const char *const mu_word[MUS] = {"mu1e-5", "mu1e-6", "mu1e-7", "mu1e-8", "mu1e-9", "mu1e-10"};
// the paper has no row of 1e-9
static const double paper_margin[MUS] = {1.82e-2, 5.67e-3, 1.47e-3, 4.12e-4, NAN, 3.13e-5},
                    paper_force[MUS] = {6.38e-3, 6.40e-4, 6.42e-5, 6.42e-6, NAN, 6.42e-8};

// a row of the experiment's bands, or one that is only reported
static void row(tgRun *run, const char *label, const char *what, double value, const char *unit, double paper, const char *note) {
  char name[80];
  snprintf(name, sizeof name, "%s.%s", label, what);
  tgi_run_any(run, name, value, unit, paper, note);
}

static void row_stable(tgRun *run, const Stack *s, const char *label) {
  const tgPlanks *p = &s->planks;
  bool turns = p->hold == TG_PLANKS_FREE;
  char note[300];
  snprintf(note, sizeof note, "%s%s; until one has moved 2 cm%s, of %g s; the farthest moved %.2g m; %.3g s of work",
           turns ? "free planks" : "planks on three slides, which cannot turn",
           p->slip > 0 ? "" : ", friction's slip speed 1 mm/s", turns ? " or turned by 1.1 degrees" : "", s->most,
           s->moved, s->seconds);
  row(run, label, "stable_s", s->stable, "s", NAN, note);
}

static void rows_rest(tgRun *run, const Stack *s, const char *label, double margin, double force) {
  char note[300];
  snprintf(note, sizeof note, "mean of 19 interfaces at rest, where forces and weight of each plank balance to %.1g N", s->imbalance);
  row(run, label, "margin_m", s->margin, "m", margin, note);
  snprintf(note, sizeof note,
           "at rest: upward force on the top plank by the next, against its weight of 1.57 N; %.4g mu",
           s->force_error / s->planks.mu);
  row(run, label, "force_error_N", s->force_error, "N", force, note);
}

// one stack after another: what they need, add up and leave for the picture
typedef struct Series { tgRun *run; long touching; bool good; tgPlanksPicture picture; } Series;

static void keep_side(const Stack *s, double seconds, tgPlanksPlace place[TG_PLANKS]) {
  const tgModel *m = s->planks.model;
  const double *q = s->t.q + lround(seconds / tg_model_timestep(m)) * tg_model_nq(m);
  for (int b = 0; b < TG_PLANKS; b++) {
    double x[3], turn[4];
    tgi_planks_pose(&s->planks, q, b, x, turn);
    place[b] = (tgPlanksPlace){x[0], x[2], 2 * atan2(turn[2], turn[0])};
  }
}

static bool leave(Series *series, Stack *s, const char *label) {
  tgPlanksPicture *p = &series->picture;
  if (strcmp(label, "paper.mu1e-7") == 0) keep_side(s, s->stable, p->stands);
  if (strcmp(label, "paper.free.mu1e-7") == 0) keep_side(s, p->fell = s->stable, p->falls);
  return tgi_run_leave(series->run, label, label, s->planks.model, tg_model_timestep(s->planks.model), &s->t, 1, NULL, 0);
}

// Runs the stack for rows named after form, kind ("" or as ".free") and mu. margin (may be NULL): where the mean margin
// goes, for rows of the state at rest.
static void run_one(Series *series, tgPlanks planks, const char *kind, int k, double *margin) {
  bool paper = planks.form == TG_HIERARCHY_PAPER;
  char label[60];
  if (!series->good || tgi_cli_interrupted) return;
  snprintf(label, sizeof label, "%s%s.%s", paper ? "paper" : "moment", kind, mu_word[k]);
  planks.mu = mus[k];
  Stack s = {.planks = planks};
  series->good = measure(series->run, &s, label);
  if (series->good) {
    series->touching += s.touching;
    row_stable(series->run, &s, label);
    bool known = paper && planks.cells == NULL;
    if (margin != NULL) rows_rest(series->run, &s, label, known ? paper_margin[k] : NAN, known ? paper_force[k] : NAN);
    if (margin != NULL) *margin = s.margin;
    if (k == SEVEN) series->good = leave(series, &s, label);
  }
  stack_close(&s);
}

bool tgi_reproduce_stack(tgRun *run) {
  static const int fine[3] = {8, 8, 4};   // 512 triangles
  static const tgHierarchy forms[2] = {TG_HIERARCHY_PAPER, TG_HIERARCHY_MOMENT};
  double margin[2][MUS], refined;
  Series series = {.run = run, .good = true,
                   .picture = {.n = MUS, .mu = mus, .published = paper_margin, .paper = margin[0],
                               .moment = margin[1]}};
  for (int f = 0; f < 2; f++)
    for (int k = 0; k < MUS; k++)
      run_one(&series, (tgPlanks){.form = forms[f], .hold = TG_PLANKS_SLIDE, .slip = slip}, "", k, &margin[f][k]);
  for (int f = run->cli->full ? 0 : 1; f < 2; f++)
    run_one(&series, (tgPlanks){.form = forms[f], .hold = TG_PLANKS_SLIDE, .slip = slip, .cells = fine}, ".512", SEVEN, &refined);
  run_one(&series, (tgPlanks){.form = TG_HIERARCHY_PAPER, .hold = TG_PLANKS_SLIDE}, ".creeping", SEVEN, NULL);
  for (int f = 0; f < 2; f++)
    for (int k = 0; k < MUS; k++) run_one(&series, (tgPlanks){.form = forms[f], .hold = TG_PLANKS_FREE, .slip = slip}, ".free", k, NULL);
  if (!series.good || tgi_cli_interrupted) return series.good;
  tgi_run_row(run, "paper.margin_exponent", exponent(mus, margin[0], MUS), "least squares over all mu");
  tgi_run_row(run, "moment.mu1e-7.refined_margin_ratio_error", fabs(refined / margin[1][SEVEN] - 1),
              "512 triangles a plank: %.4g m, 12: %.4g m", refined, margin[1][SEVEN]);
  tgi_run_row(run, "intersections", (double)series.touching, "pairs of geoms over all states, by exact predicates");
  return tgi_planks_draw(run, &series.picture);
}
