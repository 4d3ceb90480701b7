// bench_events.c: a step of `toi` beside one of `lcp` by both of its rules, each along its own motion from the same start, in one run.
// usage: bench_events [SCENE]; bench_events SCENE RUNS tells too how often each kind of step was called, for a counter of instructions
//
//   cheetah    models/half_cheetah.xml, which falls on its feet and lies down
//   runs       the same, driven by controls that swing at 1 to 6 Hz
//   humanoid   models/humanoid33.xml, which falls from its standing pose
//   stack      three boxes that fall on each other, 1 mm each
//   ten        ten boxes, likewise
//   balls      27 balls of restitution 0, which fall in three layers
//   ball       one ball of restitution 0.5, dropped
//   bowling    ten pins of six convex pieces each and a ball at 10 m/s, restitution 0.65, 0.5 s: the scene of TO-R4
// Steps of `toi` are quiet, or have impacts. Of each step the least time of several runs counts, as the thread's time on a core. Targets:
// a quiet step within 1.5 of the mean of `lcp`; an impact, by what steps with impacts take over quiet ones, within 2; the adjoint of a step
// (tg_sim_step_vjp, right after it) within 2 mean steps of `lcp` a piece.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/clock.h"
#include "repro/bowling.h"
#include "scenes/scenes.h"
#include "step/event.h"   // private: pieces are counted
#include "tangere/desc.h"
#include "tangere/grad.h"
#include "tangere/lcp.h"
#include "tangere/step.h"
#include "tangere/toi.h"

enum { LAWS = 3 };
static int runs = 6;
static bool counted;

typedef struct Scene {
  const char *name;
  tgModel *(*make)(tgError *e);
  double h, e, lift, drive;
  int steps;
  double bowl;        // speed of a ball that rolls [m/s]
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
static tgModel *bowling(tgError *e) {
  char *xml = tgi_bowling(false, 1e-6);
  tgDesc *d = xml != NULL ? tg_desc_load_memory("bowling.xml", xml, strlen(xml), NULL, e) : NULL;
  free(xml);
  return d != NULL ? tgs_compile(d, e) : NULL;
}
static const Scene scenes[] = {{"cheetah", cheetah, 0.005, 0, 0, 0, 100, 0},
                               {"runs", cheetah, 0.005, 0, 0, 0.7, 300, 0},
                               {"humanoid", humanoid, 0.002, 0, 0.01, 0, 200, 0},
                               {"stack", stack, 0.005, 0, 0, 0, 200, 0},
                               {"ten", ten, 0.005, 0, 0, 0, 200, 0},
                               {"balls", balls, 0.005, 0, 0, 0, 100, 0},
                               {"ball", ball, 0.005, 0.5, 0, 0, 200, 0},
                               {"bowling", bowling, 0.01, 0.65, 0, 0, 50, 10}};

enum { TOUCHING, CLOSING, TOI };

// of the quiet steps of `toi`, or of those with impacts
typedef struct Sum { int steps, impacts, pieces, looks; double time, adjoint; } Sum;

typedef struct Motion {
  tgContact *contact;
  tgSim *sim;
  double *least, *adjoint;   // of each step, and of its adjoint [s]
  bool *meets;        // steps of the first run that have impacts
  double *bar;        // 4 nv + nu: dL/dq', dL/dv', and what they are in q, v, u
  int stalled;
  Sum quiet, rest;
} Motion;

static bool begin(const tgModel *m, const Scene *x, int law, Motion *o) {
  tgLcpOptions lcp = tg_lcp_default();
  lcp.contact_rule = law == TOUCHING ? TG_RULE_TOUCHING : TG_RULE_CLOSING;
  *o = (Motion){.contact = tg_contact_create(m, law == TOI ? "toi" : "lcp", law == TOI ? NULL : &lcp.of, NULL),
                .least = calloc((size_t)x->steps, sizeof *o->least), .adjoint = calloc((size_t)x->steps, sizeof *o->adjoint),
                .meets = calloc((size_t)x->steps, sizeof *o->meets),
                .bar = calloc((size_t)(4 * m->nv + m->nu + 1), sizeof *o->bar)};
  o->sim = o->contact != NULL ? tg_sim_create(m, o->contact, NULL, NULL) : NULL;
  if (o->sim == NULL || o->least == NULL || o->adjoint == NULL || o->meets == NULL || o->bar == NULL)
    return false;
  for (int d = 0; d < 2 * m->nv; d++) o->bar[d] = cos(d);
  int rows, cols;
  double *e = tg_sim_param(o->sim, "geom_restitution", &rows, &cols);
  for (int i = 0; i < rows * cols; i++) e[i] = x->e;
  return true;
}

static void add(const tgStepInfo *info, double time, double adjoint, Motion *o) {
  const tgiEvents *e = tgi_events(o->sim);
  Sum *sum = info->nimpact == 0 ? &o->quiet : &o->rest;
  sum->steps++;
  sum->time += time;
  sum->adjoint += adjoint;
  sum->impacts += info->nimpact;
  sum->pieces += e->n;
  sum->looks += e->looks;
  o->stalled += info->nstalled;
}

// of the last step, t
static bool adjoint_of(int t, bool first, Motion *o) {
  int nv = o->sim->m.nv;
  double *q = o->bar + 2 * nv, *v = q + nv, *u = v + nv;
  memset(q, 0, (size_t)(2 * nv + o->sim->m.nu) * sizeof *q);
  double began = tgb_core();
  if (tg_sim_step_vjp(o->sim, o->bar, o->bar + nv, q, v, u, NULL, NULL) < 0) return false;
  double spent = tgb_core() - began;
  o->adjoint[t] = first ? spent : fmin(o->adjoint[t], spent);
  return true;
}

// Steps after the first run, each kind by a function of its own, of which callgrind tells the instructions.
static long ncalls[4];
#define STEP(name, which)                                                                        \
  __attribute__((noinline)) static tgStatus name(tgSim *s, double h, tgStepInfo *info) { \
    tgStatus status = tg_sim_step_growing(s, h, info);                                           \
    ncalls[which]++;                                                                             \
    return status;                                                                               \
  }
STEP(step_touching, 0)
STEP(step_closing, 1)
STEP(step_quiet, 2)
STEP(step_impacts, 3)
#undef STEP

static tgStatus step_of(int law, bool meets, tgSim *s, double h, tgStepInfo *info) {
  if (law == TOUCHING) return step_touching(s, h, info);
  if (law == CLOSING) return step_closing(s, h, info);
  return meets ? step_impacts(s, h, info) : step_quiet(s, h, info);
}

// What a run is for: the first and the last of those that time steps, and those that time adjoints, which would disturb the steps.
typedef struct Pass { bool first, last, adjoint; } Pass;

static bool run(const Scene *x, Pass pass, int law, Motion *o) {
  bool pieces = strcmp(o->sim->stepper->name, tgi_event.name) == 0;
  tg_sim_reset(o->sim);
  if (x->lift > 0) tg_sim_qpos(o->sim)[2] += x->lift;
  if (x->bowl > 0) {
    tg_sim_qvel(o->sim)[TGI_BALL] = x->bowl;
    tg_sim_qvel(o->sim)[TGI_BALL + 4] = x->bowl / tgi_ball_radius;
  }
  for (int t = 0; t < x->steps; t++) {
    tgStepInfo info;
    for (int i = 0; i < o->sim->m.nu; i++) tg_sim_ctrl(o->sim)[i] = x->drive * sin(0.03 * (1 + i) * t + i);
    double began = tgb_core();
    tgStatus status = pass.first ? tg_sim_step_growing(o->sim, x->h, &info) : step_of(law, o->meets[t], o->sim, x->h, &info);
    if (status < 0) return false;
    double spent = tgb_core() - began;
    o->meets[t] = info.nimpact > 0;
    if (pass.adjoint && !adjoint_of(t, pass.first, o)) return false;
    if (pass.adjoint) continue;
    o->least[t] = pass.first ? spent : fmin(o->least[t], spent);
    if (!pass.last) continue;
    if (pieces) add(&info, o->least[t], o->adjoint[t], o);
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
  printf(";  %4d impacts in %3d steps: %7.1f us each, x %5.1f and %4.1f, %.1f pieces, %.0f looks a step;", r->impacts,
         r->steps, 1e6 * impact, impact / lcp[0], impact / lcp[1], r->pieces / fmax(r->steps, 1), r->looks / fmax(r->steps, 1));
  double adjoint = (q->adjoint + r->adjoint) / fmax(q->pieces + r->pieces, 1);
  printf("  adjoint %7.1f us a quiet step, %7.1f us a piece, x %4.1f;  %d stalled\n", 1e6 * q->adjoint / fmax(q->steps, 1), 1e6 * adjoint,
         adjoint / lcp[1], o[TOI].stalled);
}

static bool bench(const Scene *x) {
  tgError e = {0};
  Motion o[LAWS] = {{0}};
  tgModel *m = x->make(&e);
  bool good = m != NULL;
  for (int law = 0; good && law < LAWS; law++) good = begin(m, x, law, &o[law]);
  for (int k = 0; good && k < runs; k++) good = run(x, (Pass){.first = k == 0, .adjoint = true}, TOI, &o[TOI]);
  for (int k = 0; good && k < runs * LAWS; k++) {   // the laws take turns
    Motion *at = &o[k % LAWS];
    good = run(x, (Pass){.first = k < LAWS, .last = k >= (runs - 1) * LAWS}, k % LAWS, at);
    if (!good) e = *tg_sim_error(at->sim);
  }
  if (good) show(x, o);
  else fprintf(stderr, "%s: %s\n", x->name, e.text);
  if (good && counted)
    printf("calls of step_touching %ld, step_closing %ld, step_quiet %ld, step_impacts %ld; a run: %d impacts, %d and %d pieces\n",
           ncalls[0], ncalls[1], ncalls[2], ncalls[3], o[TOI].rest.impacts, o[TOI].rest.pieces, o[TOI].quiet.pieces);
  for (int law = 0; law < LAWS; law++) {
    tg_sim_free(o[law].sim);
    tg_contact_free(o[law].contact);
    free(o[law].least);
    free(o[law].adjoint);
    free(o[law].meets);
    free(o[law].bar);
  }
  tg_model_free(m);
  return good;
}

int main(int argc, char **argv) {
  bool good = true;
  counted = argc > 2;
  if (counted) runs = atoi(argv[2]);
  for (size_t i = 0; i < sizeof scenes / sizeof *scenes; i++)
    if (argc < 2 || strcmp(argv[1], scenes[i].name) == 0) good = bench(&scenes[i]) && good;
  return good ? 0 : 1;
}
