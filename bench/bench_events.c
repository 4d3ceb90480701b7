// bench_events.c: a step of `toi` beside one of `lcp` by both of its rules, each along its own motion from the same start, in one run.
// usage: bench_events [SCENE]
//
//   cheetah    models/half_cheetah.xml, which falls on its feet and lies down
//   runs       the same, driven by controls that swing at 1 to 6 Hz
//   humanoid   models/humanoid33.xml, which falls from its standing pose
//   stack      three boxes that fall on each other, 1 mm each
//   ten        ten boxes, likewise
//   balls      27 balls of restitution 0, which fall in three layers
//   ball       one ball of restitution 0.5, dropped
// Steps of `toi` are quiet, or have impacts. Of each step the least time of several runs counts, as the thread's time on a core. Targets:
// a quiet step within 1.5 of the mean of `lcp`; an impact, by what steps with impacts take over quiet ones, within 2.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/clock.h"
#include "scenes/scenes.h"
#include "step/event.h"   // private: pieces are counted
#include "tangere/desc.h"
#include "tangere/lcp.h"
#include "tangere/step.h"
#include "tangere/toi.h"

enum { RUNS = 6, LAWS = 3 };

typedef struct Scene {
  const char *name;
  tgModel *(*make)(tgError *e);
  double h, e, lift, drive;
  int steps;
} Scene;

static tgModel *cheetah(tgError *e) { return tg_model_load(TG_SOURCE_DIR "/models/half_cheetah.xml", NULL, e); }
static tgModel *humanoid(tgError *e) { return tg_model_load(TG_SOURCE_DIR "/models/humanoid33.xml", NULL, e); }
static tgModel *boxes(int n, tgError *e) {
  tgDesc *d = tg_desc_create(NULL);
  tgs_plane(d, 0.6);
  for (int i = 0; i < n; i++)
    tgs_free_body(d, NULL, (double[]){0.06 * i / n, 0.03 * i / n, 0.101 + 0.202 * i}, TG_GEOM_BOX, (double[]){0.1, 0.1, 0.1}, 1, 0.6);
  return tgs_compile(d, e);
}
static tgModel *stack(tgError *e) { return boxes(3, e); }
static tgModel *ten(tgError *e) { return boxes(10, e); }
static tgModel *balls(tgError *e) {
  tgDesc *d = tg_desc_create(NULL);
  tgs_plane(d, 0.5);
  for (int i = 0; i < 27; i++)
    tgs_free_body(d, NULL, (double[]){0.21 * (i % 3) + 0.01 * (i / 9), 0.21 * (i / 3 % 3) + 0.013 * (i / 9), 0.11 + 0.21 * (i / 9)},
                  TG_GEOM_SPHERE, (double[3]){0.1}, 1, 0.5);
  return tgs_compile(d, e);
}
static tgModel *ball(tgError *e) {
  tgDesc *d = tg_desc_create(NULL);
  tgs_plane(d, 0.5);
  tgs_free_body(d, NULL, (double[]){0, 0, 0.3}, TG_GEOM_SPHERE, (double[3]){0.1}, 1, 0.5);
  return tgs_compile(d, e);
}
static const Scene scenes[] = {{"cheetah", cheetah, 0.005, 0, 0, 0, 100},
                               {"runs", cheetah, 0.005, 0, 0, 0.7, 300},
                               {"humanoid", humanoid, 0.002, 0, 0.01, 0, 200},
                               {"stack", stack, 0.005, 0, 0, 0, 200},
                               {"ten", ten, 0.005, 0, 0, 0, 200},
                               {"balls", balls, 0.005, 0, 0, 0, 100},
                               {"ball", ball, 0.005, 0.5, 0, 0, 200}};

enum { TOUCHING, CLOSING, TOI };

// of the quiet steps of `toi`, or of those with impacts
typedef struct Sum { int steps, impacts, pieces, looks; double time; } Sum;

typedef struct Motion {
  tgContact *contact;
  tgSim *sim;
  double *least;      // of each step [s]
  int stalled;
  Sum quiet, rest;
} Motion;

static bool begin(const tgModel *m, const Scene *x, int law, Motion *o) {
  tgLcpOptions lcp = tg_lcp_default();
  lcp.contact_rule = law == TOUCHING ? TG_RULE_TOUCHING : TG_RULE_CLOSING;
  *o = (Motion){.contact = tg_contact_create(m, law == TOI ? "toi" : "lcp", law == TOI ? NULL : &lcp.of, NULL),
                .least = calloc((size_t)x->steps, sizeof *o->least)};
  o->sim = o->contact != NULL ? tg_sim_create(m, o->contact, NULL, NULL) : NULL;
  if (o->sim == NULL || o->least == NULL) return false;
  int rows, cols;
  double *e = tg_sim_param(o->sim, "geom_restitution", &rows, &cols);
  for (int i = 0; i < rows * cols; i++) e[i] = x->e;
  return true;
}

static void add(const tgStepInfo *info, double time, Motion *o) {
  const tgiEvents *e = tgi_events(o->sim);
  Sum *sum = info->nimpact == 0 ? &o->quiet : &o->rest;
  sum->steps++;
  sum->time += time;
  sum->impacts += info->nimpact;
  sum->pieces += e->n;
  sum->looks += e->looks;
  o->stalled += info->nstalled;
}

static bool run(const Scene *x, bool first, bool last, Motion *o) {
  bool pieces = strcmp(o->sim->stepper->name, tgi_event.name) == 0;
  tg_sim_reset(o->sim);
  if (x->lift > 0) tg_sim_qpos(o->sim)[2] += x->lift;
  for (int t = 0; t < x->steps; t++) {
    tgStepInfo info;
    for (int i = 0; i < o->sim->m.nu; i++) tg_sim_ctrl(o->sim)[i] = x->drive * sin(0.03 * (1 + i) * t + i);
    double began = tgb_core();
    if (tg_sim_step_growing(o->sim, x->h, &info) < 0) return false;
    double spent = tgb_core() - began;
    o->least[t] = first ? spent : fmin(o->least[t], spent);
    if (!last) continue;
    if (pieces) add(&info, o->least[t], o);
    else o->quiet.time += o->least[t];
  }
  return true;
}

static void show(const Scene *x, const Motion *o) {
  const Sum *q = &o[TOI].quiet, *r = &o[TOI].rest;
  double lcp[2] = {o[0].quiet.time / x->steps, o[1].quiet.time / x->steps}, quiet = q->time / fmax(q->steps, 1),
         impact = (r->time - r->steps * quiet) / fmax(r->impacts, 1);
  printf("%-9s lcp %6.1f us, closing %6.1f;  toi, %3d quiet steps: %7.1f us, x %5.1f and %4.1f, %.1f pieces, %.0f looks", x->name,
         1e6 * lcp[0], 1e6 * lcp[1], q->steps, 1e6 * quiet, quiet / lcp[0], quiet / lcp[1], q->pieces / fmax(q->steps, 1),
         q->looks / fmax(q->steps, 1));
  printf(";  %4d impacts in %3d steps: %7.1f us each, x %5.1f and %4.1f, %.1f pieces, %.0f looks a step;  %d stalled\n", r->impacts,
         r->steps, 1e6 * impact, impact / lcp[0], impact / lcp[1], r->pieces / fmax(r->steps, 1), r->looks / fmax(r->steps, 1),
         o[TOI].stalled);
}

static bool bench(const Scene *x) {
  tgError e = {0};
  Motion o[LAWS] = {{0}};
  tgModel *m = x->make(&e);
  bool good = m != NULL;
  for (int law = 0; good && law < LAWS; law++) good = begin(m, x, law, &o[law]);
  for (int k = 0; good && k < RUNS * LAWS; k++) {   // the laws take turns
    Motion *at = &o[k % LAWS];
    good = run(x, k < LAWS, k >= (RUNS - 1) * LAWS, at);
    if (!good) e = *tg_sim_error(at->sim);
  }
  if (good) show(x, o);
  else fprintf(stderr, "%s: %s\n", x->name, e.text);
  for (int law = 0; law < LAWS; law++) {
    tg_sim_free(o[law].sim);
    tg_contact_free(o[law].contact);
    free(o[law].least);
  }
  tg_model_free(m);
  return good;
}

int main(int argc, char **argv) {
  bool good = true;
  for (size_t i = 0; i < sizeof scenes / sizeof *scenes; i++)
    if (argc < 2 || strcmp(argv[1], scenes[i].name) == 0) good = bench(&scenes[i]) && good;
  return good ? 0 : 1;
}
