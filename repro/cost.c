// cost.c: BA-R3, cost of a frame against resolution: 16 balls and a floor, 512 to 6272 triangles, the two forms
// of the hierarchy and brute force; a frame is a step with friction and its gradient. [barrier] Section 6,
// figure 6 and appendix A.6.5.
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "repro/barrier.h"
#include "tangere/barrier.h"

enum { FRAMES = 40, SIZES = 6 };
static const int frequency[SIZES] = {2, 3, 4, 5, 6, 7};

typedef struct Table { tgModel *model; tgContact *contact; tgSim *sim; double *g, low; } Table;

// seconds of this thread on a core, which other work on the machine does not lengthen much
double tgi_core_now(void) {
  struct timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static bool open(Table *t, int f, const char *word, const char *weight, const char *form) {
  char path[1024];
  tgError error = {0};
  tgAnyContactOptions o;
  tg_contact_default(word, &o.of, sizeof o);
  tgStatus st = tg_contact_set(&o.of, "weight", weight, &error);
  if (st == TG_OK && form != NULL) st = tg_contact_set(&o.of, "hierarchy", form, &error);
  if (st != TG_OK) return tgi_cli_error("reproduce", &error), false;
  *t = (Table){.model = NULL};
  if (!tgi_models_file("billiards.xml", path, sizeof path)) return false;
  tgDesc *desc = tg_desc_load(path, NULL, &error);
  if (desc != NULL && tgi_mesh_ball(desc, 0, 0.1, f)) {
    for (int i = 0; i < desc->mesh[0].nvert; i++) t->low = fmin(t->low, desc->mesh[0].vert[3 * i + 2]);
    t->model = tg_model_compile(desc, NULL, &error);
  }
  tg_desc_free(desc);
  t->contact = t->model != NULL ? tg_contact_create(t->model, word, &o.of, &error) : NULL;
  t->sim = t->contact != NULL ? tg_sim_create(t->model, t->contact, NULL, &error) : NULL;
  t->g = t->sim != NULL ? calloc(4 * (size_t)tg_model_nv(t->model) + 1, sizeof *t->g) : NULL;
  if (t->g == NULL) tgi_cli_error("reproduce", &error);
  return t->g != NULL;
}

static void table_close(Table *t) {
  free(t->g);
  tg_sim_free(t->sim);
  tg_contact_free(t->contact);
  tg_model_free(t->model);
}

// the cue ball breaks the rack at 2 m/s; every step is differentiated once, as the adjoint of a motion does
bool tgi_frame_cost(int f, const char *word, const char *weight, const char *form, int frames, tgFrameCost *c) {
  Table t;
  *c = (tgFrameCost){.frames = frames};
  bool good = open(&t, f, word, weight, form);
  tgIntersections *judge = good ? tg_intersections_create(t.model, NULL) : NULL;
  good = judge != NULL;
  size_t nv = good ? (size_t)tg_model_nv(t.model) : 0;
  if (good) {
    int cue = tg_model_find(t.model, TG_THING_JOINT, "cue"), at, speed;
    for (int b = 0; 7 * b < tg_model_nq(t.model); b++) tg_sim_qpos(t.sim)[7 * b + 2] = 0.005 - t.low;   // all joints are free
    tg_model_joint(t.model, cue, NULL, NULL, &at, &speed);
    tg_sim_qpos(t.sim)[at] += 0.6;   // a few frames from the rack
    tg_sim_qvel(t.sim)[speed] = 2;
    for (size_t i = 0; i < 2 * nv; i++) t.g[i] = 1;
  }
  for (int k = 0; k < frames && good && !tgi_cli_interrupted; k++) {
    tgStepInfo info;
    double began = tgi_core_now();
    good = tg_sim_step_growing(t.sim, tg_model_timestep(t.model), &info) == TG_OK;
    double middle = tgi_core_now();
    good = good && tg_sim_step_vjp(t.sim, t.g, t.g + nv, t.g + 2 * nv, t.g + 3 * nv, NULL, NULL, NULL) == TG_OK;
    double ms = 1e3 * (tgi_core_now() - began);
    c->mean += ms / frames;
    c->step += 1e3 * (middle - began) / frames;
    c->newton += (double)info.iterations / frames;
    c->worst = fmax(c->worst, ms);
    if (good && tg_sim_forward(t.sim) == TG_OK) c->touching += tg_intersections_count(judge, t.sim, NULL, 0);
  }
  if (!good && t.sim != NULL) tgi_cli_say("%d triangles: %s", 128 * f * f, tg_sim_error(t.sim)->text);
  tg_intersections_free(judge);
  table_close(&t);
  return good;
}

static double slope(const double *ms) {
  double x = 0, y = 0, xx = 0, xy = 0;
  for (int i = 0; i < SIZES; i++) {
    double a = log(128.0 * frequency[i] * frequency[i]), b = log(ms[i]);
    x += a, y += b, xx += a * a, xy += a * b;
  }
  return (SIZES * xy - x * y) / (SIZES * xx - x * x);
}

static void row(tgRun *run, const char *form, int f, const tgFrameCost *c, double paper) {
  char name[60], note[200];
  int triangles = 128 * f * f;
  snprintf(name, sizeof name, "%s.ms.%d", form, triangles);
  snprintf(note, sizeof note,
           "mean of %d frames; step %.3g, gradient %.3g ms; worst frame %.3g ms; %.3g Newton iterations; time on the "
           "core", c->frames, c->step, c->mean - c->step, c->worst, c->newton);
  tgi_run_any(run, name, c->mean, "ms", paper, note);
}

bool tgi_reproduce_cost(tgRun *run) {
  static const char *const word[2] = {"paper", "moment"};
  long touching = 0;
  tgFrameCost c;
  for (int form = 0; form < 2; form++) {
    double ms[SIZES];
    for (int i = 0; i < SIZES && !tgi_cli_interrupted; i++) {
      if (!tgi_frame_cost(frequency[i], "barrier", "1e-7", word[form], FRAMES, &c)) return false;
      ms[i] = c.mean;
      touching += c.touching;
      row(run, word[form], frequency[i], &c, NAN);
      tgi_run_progress(run, word[form], i + 1, SIZES, run->began);
      if (form != 0 || i < SIZES - 1) continue;
      tgi_run_row(run, "paper.worst_ms.6272", c.worst, "of %d frames", FRAMES);
      tgi_run_row(run, "paper.worst_over_mean.6272", c.worst / c.mean, "over %d frames", FRAMES);
    }
    char name[40];
    snprintf(name, sizeof name, "%s.exponent", word[form]);
    if (tgi_cli_interrupted) return true;
    if (form == 0) tgi_run_row(run, name, slope(ms), "of the mean frame over the number of triangles; the paper's own figures give 0.67");
    else tgi_run_report(run, name, slope(ms), "", NAN, "of the mean frame over the number of triangles");
  }
  int last = run->cli->full ? SIZES : 1;
  for (int i = 0; i < last && !tgi_cli_interrupted; i += SIZES - 1) {
    if (!tgi_frame_cost(frequency[i], "barrier", "1e-7", "brute", i == 0 ? FRAMES : 4, &c)) return false;
    row(run, "brute", frequency[i], &c, i == 0 ? 3350 : 604500);
  }
  tgi_run_report(run, "intersections", (double)touching, "", NAN, "pairs of geoms over all frames of both forms, by exact predicates");
  return true;
}
