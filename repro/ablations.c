// ablations.c: BA-R9, what each property of the barrier is worth: its second derivative against that of IPC, Push with a potential that has
// none, Push with one that ends, and what a frame costs. [barrier] figures 12 and 13, appendices A.4 and A.6.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "repro/barrier.h"

// ---- second derivatives along a path: a point at (x, 1) past the edge from (1, 0) to (2, 0), x from 0 to 3 [m] ----

enum { POINTS = 601, MODELS = 2, CELLS = 60, HALVINGS = 10 };
static const double path_end = 3;
static const char *const word[MODELS] = {"barrier", "ipc"};

typedef struct Path { tgScene scene; tgStatus status; } Path;

static double slope_at(Path *p, double x) {
  double g[1] = {0};
  *tg_sim_qpos(p->scene.sim) = x;
  tgStatus st = tg_sim_contact_potential(p->scene.sim, NULL, g);
  if (st != TG_OK) p->status = st;
  return g[0];
}

// second derivative right of x less that left of it, from slopes h away; what a third derivative adds goes with h and is taken off
static double jump_at(Path *p, double x, double h) {
  double f[5];
  for (int i = 0; i < 5; i++) f[i] = slope_at(p, x + (i - 2) * h / 2);
  return 2 * (f[3] - 2 * f[2] + f[1]) / (h / 2) - (f[4] - 2 * f[2] + f[0]) / h;
}

// the cell about *x is narrowed to where slopes bend most, and judged at the width of its last halving
static double look_into(Path *p, double *x, double cell) {
  double h = cell / 2;
  for (int k = 0; k < HALVINGS; k++, h /= 2) {
    double most = -1, best = *x;
    for (int i = -2; i <= 2; i++) {
      double y = *x + i * h / 2, bend = fabs(slope_at(p, y + h / 2) - 2 * slope_at(p, y) + slope_at(p, y - h / 2));
      if (bend <= most) continue;
      most = bend;
      best = y;
    }
    *x = best;
  }
  double worst = 0;
  for (int i = -4; i <= 4; i++) worst = fmax(worst, fabs(jump_at(p, *x + i * h / 4, cell / 64)));
  return worst;
}

// largest jump over the largest second derivative; curve: second derivatives over that
static double jump_of(Path *p, double curve[POINTS], double *where) {
  const double step = path_end / (POINTS - 1), near = 1e-4;
  double most = 0, worst = 0;
  for (int i = 0; i < POINTS; i++) {
    double x = i * step;
    curve[i] = (slope_at(p, x + near) - slope_at(p, x - near)) / (2 * near);
    most = fmax(most, fabs(curve[i]));
  }
  for (int i = 0; i < POINTS; i++) curve[i] /= most;
  for (int i = 0; i < CELLS && p->status == TG_OK; i++) {
    double cell = path_end / CELLS, x = (i + 0.5) * cell, found = look_into(p, &x, cell);
    if (found <= worst) continue;
    worst = found;
    *where = x;
  }
  return worst / most;
}

static bool jumps(tgRun *run, double curve[MODELS][POINTS]) {
  for (int k = 0; k < MODELS; k++) {
    tgAnyContactOptions o;
    tgError error = {0};
    Path p = {.status = TG_OK};
    double where = 0;
    char name[60];
    tg_contact_default(word[k], &o.of, sizeof o);
    tgStatus st = tg_contact_set(&o.of, "long_range", "both", &error);
    if (st == TG_OK) st = tg_contact_set(&o.of, "weight", "1", &error);
    if (st != TG_OK) return tgi_cli_error("reproduce", &error), false;
    if (!tgi_scene_open_under(&p.scene, "point_and_edge.xml", word[k], &o.of)) return false;
    double found = jump_of(&p, curve[k], &where);
    if (p.status != TG_OK) tgi_cli_error("reproduce", tg_sim_error(p.scene.sim));
    tgi_scene_close(&p.scene);
    if (p.status != TG_OK) return false;
    snprintf(name, sizeof name, "%s.second_derivative_jump", word[k]);
    tgi_run_row(run, name, found, "of its largest, at x = %.4f m; the edge goes from 1 to 2", where);
  }
  return true;
}

// ---- Push ----

enum { RUNS = 4, RATES = TG_BARRIER_RATES };
// what is run, under which row; `both`: with the potential that does not end
static const struct Variant { const char *row, *contact; bool both; const char *color; } variant[RUNS] = {
    {"barrier.final_over_first", NULL, false, "#1f6fb2"},
    {"ipc_global.final_over_first", "ipc", true, "#c0392b"},
    {"ipc.final_over_first", "ipc", false, "#8c564b"},
    {"local.final_over_first", "sdrs", false, "#c79a2b"}};

static bool everywhere(tgTask *task, void *ctx) {
  tgError error = {0};
  (void)ctx;
  if (tg_task_contact_option(task, "long_range", "both", &error) == TG_OK) return true;
  tgi_cli_error("reproduce", &error);
  return false;
}

// the box's way to its target over a motion found, in metres from it; its frame is in its middle
typedef struct Way { double *distance; int n; } Way;

static bool way_of(const tgBarrierRun *r, Way *way) {
  tgCliTrajectory t = {.label = "best"};
  tgError error = {0};
  tgTaskTerm term;
  const tgModel *m = tg_task_model(r->task);
  bool good = tgi_cli_record_task(r->task, r->optimum->best, NULL, &t, &error) == TG_OK && tg_task_term(r->task, 0, &term);
  tgSim *sim = good ? tg_sim_create(m, NULL, NULL, &error) : NULL;
  way->distance = sim != NULL ? malloc(((size_t)t.steps + 1) * sizeof *way->distance) : NULL;
  for (int k = 0; k <= t.steps && way->distance != NULL; k++) {
    memcpy(tg_sim_qpos(sim), t.q + (size_t)k * (size_t)tg_model_nq(m), (size_t)tg_model_nq(m) * sizeof *t.q);
    tg_sim_forward(sim);
    const double *at = (const double *)tg_sim_field_named(sim, "xpos").data + 3 * term.body;
    way->distance[k] = hypot(at[0] - term.target[0], at[1] - term.target[1]);
    way->n = k + 1;
  }
  if (way->distance == NULL && error.text[0] != '\0') tgi_cli_error("reproduce", &error);
  tg_sim_free(sim);
  tgi_cli_trajectory_free(&t);
  return way->distance != NULL;
}

static bool push(tgRun *run, const struct Variant *v, Way *way) {
  tgBarrierTask how = {.file = "push.yaml", .contact = v->contact, .prepare = v->both ? everywhere : NULL};
  if (v->contact != NULL && !run->cli->full) how.seconds = 60;
  tgBarrierRun runs[RATES] = {{.how = how}};
  int n = v->contact == NULL ? 1 : RATES, best = 0;   // the paper's own at its rate, others at the best of three
  char shown[200] = "at the paper's rate";
  if (n > 1 && !tgi_barrier_rates(&how, runs)) return false;
  bool good = tgi_barrier_runs(run, runs, n);
  if (good && !tgi_cli_interrupted) {
    double least = runs[0].optimum->best_loss / runs[0].optimum->first_loss;
    for (int i = 1; i < n; i++)
      if (runs[i].optimum->best_loss < runs[best].optimum->best_loss) best = i;
    if (n > 1) least = tgi_barrier_best(runs, shown, sizeof shown, NULL);
    tgi_run_row(run, v->row, least, "Push: %s; of the best %d of %d windows were done in the time", shown, runs[best].optimum->iterations,
                tg_task_windows(runs[best].task));
    good = way_of(&runs[best], way);
  }
  tgi_barrier_free(runs, n);
  return good;
}

// ---- the picture ----

enum { W = 420, H = 260, LEFT = 60, TOP = 40, GAP = 70 };

static void curve_of(FILE *f, const char *color, const double *y, int n, double least, double most) {
  fprintf(f, "<polyline fill='none' stroke='%s' stroke-width='1.5' points='", color);
  for (int i = 0; i < n; i++)
    fprintf(f, "%.2f,%.2f ", (double)W * i / (n - 1), H * (most - fmin(most, fmax(least, y[i]))) / (most - least));
  fprintf(f, "'/>\n");
}

static void panel(FILE *f, int place, const char *title, const char *from, const char *to, const char *low, const char *high) {
  fprintf(f, "<g transform='translate(%d %d)'>\n<text x='0' y='-12'>%s</text>\n"
             "<rect width='%d' height='%d' fill='none' stroke='#999'/>\n<text x='0' y='%d'>%s</text>"
             "<text x='%d' y='%d' text-anchor='end'>%s</text>\n<text x='-6' y='%d' text-anchor='end'>%s</text>"
             "<text x='-6' y='10' text-anchor='end'>%s</text>\n",
          LEFT + place * (W + GAP), TOP, title, W, H, H + 18, from, W, H + 18, to, H, low, high);
}

static bool draw(tgRun *run, double curve[MODELS][POINTS], const Way way[RUNS]) {
  char path[1200];
  if (run->folder == NULL) return true;
  snprintf(path, sizeof path, "%s/ablations.svg", run->folder);
  FILE *f = fopen(path, "w");
  if (f == NULL) return tgi_cli_say("tangere reproduce: %s cannot be written", path), false;
  fprintf(f, "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 %d %d' font-family='sans-serif' font-size='13'>\n"
             "<rect width='100%%' height='100%%' fill='white'/>\n", LEFT + 2 * W + GAP + 20, TOP + H + 30);
  panel(f, 0, "second derivative of the potential over its largest: <tspan fill='#c0392b'>ipc</tspan>, "
              "<tspan fill='#1f6fb2'>barrier</tspan>", "x = 0", "3 m", "-1", "1");
  curve_of(f, "#1f6fb2", curve[0], POINTS, -1, 1);
  curve_of(f, "#c0392b", curve[1], POINTS, -1, 1);
  fprintf(f, "</g>\n");
  panel(f, 1, "the box's way to its target: <tspan fill='#1f6fb2'>barrier</tspan>, <tspan fill='#c0392b'>ipc everywhere</tspan>, "
              "<tspan fill='#8c564b'>ipc</tspan>, <tspan fill='#c79a2b'>sdrs</tspan>", "t = 0", "8 s", "0", "1 m");
  for (int k = RUNS - 1; k >= 0; k--) curve_of(f, variant[k].color, way[k].distance, way[k].n, 0, 1);
  fprintf(f, "</g>\n");
  return tgi_run_picture(run, f, path);
}

// ---- cost: the scene of BA-R3, one model beside the other ----

static bool frames(tgRun *run) {
  static const int frequency[2] = {2, 7};
  // under both a ball rests 0.24 mm above the floor
  static const char *const who[2] = {"ipc", "barrier"}, *const weight[2] = {"2.6e-4", "1e-7"};
  int n = run->cli->full ? 40 : 10;
  long touching = 0;
  for (int i = 0; i < 2 && !tgi_cli_interrupted; i++)
    for (int k = 0; k < 2; k++) {
      tgFrameCost c;
      char name[60], note[200];
      if (!tgi_frame_cost(frequency[i], who[k], weight[k], k == 0 ? NULL : "paper", n, &c)) return false;
      snprintf(name, sizeof name, i == 0 ? "%s.frame_ms" : "%s.frame_ms.6272", who[k]);
      snprintf(note, sizeof note,
               "%d triangles, mean of %d frames; step %.3g, gradient %.3g ms; worst frame %.3g ms; %.3g Newton iterations; on the core",
               128 * frequency[i] * frequency[i], n, c.step, c.mean - c.step, c.worst, c.newton);
      tgi_run_any(run, name, c.mean, "ms", k == 0 ? 500 : NAN, note);
      touching += c.touching;
    }
  tgi_run_report(run, "intersections", (double)touching, "", NAN, "pairs of geoms over all frames of both, by exact predicates");
  return true;
}

bool tgi_reproduce_ablations(tgRun *run) {
  static double curve[MODELS][POINTS];
  Way way[RUNS] = {{.n = 0}};
  bool good = jumps(run, curve) && frames(run);
  for (int k = 0; k < RUNS && good && !tgi_cli_interrupted; k++) good = push(run, &variant[k], &way[k]);
  if (good && !tgi_cli_interrupted) good = draw(run, curve, way);
  for (int k = 0; k < RUNS; k++) free(way[k].distance);
  return good;
}
