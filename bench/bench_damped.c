// bench_damped.c: steps of `damped` of rigid bodies with their derivatives, beside those of `lcp` from the same states.
//
//   bench_damped [SCENE...]      default: all
//     flip      models/damped_flip.xml, DA-R3 `end.alpha2` at a tilt of 0.5: 80 steps of 10 ms, each with its adjoint
//     lies      a humanoid of capsules on a plane (21 hinges, free base), which fell for 1.5 s: 100 steps of 10 ms with their Jacobians
//     stands    the same from its own pose, on its feet at first: 40 steps
//     clear     the same from 1 m above that, its speed put back to none before every step: 40 steps
//
// A line: Newton steps a step; the largest velocity of a dof at the end [m/s or rad/s]; microseconds of the processor, of a step alone and
// with its derivative, under `damped` and under `lcp`, each the mean over the states of the least of 7; and the ratio of the two.
// Instructions in place of times:
//   valgrind --tool=callgrind --toggle-collect=tgb_damped --toggle-collect=tgb_lcp build/bin/bench_damped SCENE
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/clock.h"
#include "scenes/scenes.h"
#include "sim/sim.h"
#include "tangere/contact.h"
#include "tangere/damped.h"
#include "tangere/step.h"

enum { REPEATS = 7 };

typedef struct Scene { const char *name; int before, steps; double lift; bool flip; } Scene;
static const Scene scenes[] = {
    {"flip", 0, 80, 0, true}, {"lies", 150, 100, 0, false}, {"stands", 0, 40, 0, false}, {"clear", 0, 40, 1, false}};

// its feet are boxes; here they are capsules along their longest side
static tgModel *humanoid(tgError *e) {
  tgDesc *d = tgs_desc(TGS_HUMANOID);
  for (int g = 0; d != NULL && g < d->ngeom; g++) {
    double *size = d->geom[g].size, *quat = d->geom[g].quat;
    if (d->geom[g].type != TG_GEOM_BOX) continue;
    d->geom[g].type = TG_GEOM_CAPSULE;
    size[1] = size[0] - size[2];
    size[0] = size[2];
    quat[0] = quat[2] = sqrt(0.5);
    quat[1] = quat[3] = 0;
  }
  return tgs_compile(d, e);
}

typedef struct Work { tgSim *s; double h, *q, *v, *u, *D; bool adjoint; } Work;

static bool step(Work *w) {
  tgSim *s = w->s;
  memcpy(tg_sim_qpos(s), w->q, (size_t)s->m.nq * sizeof *w->q);
  memcpy(tg_sim_qvel(s), w->v, (size_t)s->m.nv * sizeof *w->v);
  memcpy(tg_sim_ctrl(s), w->u, (size_t)s->m.nu * sizeof *w->u);
  tgStatus status;
  while ((status = tg_sim_step(s, w->h, NULL)) == TG_ERR_CAPACITY && tg_sim_grow(s) == TG_OK) {}
  return status == TG_OK;
}

static bool derivative(Work *w) {
  tgSim *s = w->s;
  int nv = s->m.nv;
  double *D = w->D;
  if (!w->adjoint) return tg_sim_step_jacobian(s, D, NULL) == TG_OK;
  for (int d = 0; d < 2 * nv; d++) D[d] = cos(d);
  memset(D + 2 * nv, 0, (size_t)(2 * nv + s->m.nu) * sizeof *D);
  return tg_sim_step_vjp(s, D, D + nv, D + 2 * nv, D + 3 * nv, D + 4 * nv, NULL, NULL) == TG_OK;
}

// callgrind's handles, which compilers would make one of if they were alike
static volatile int last;
__attribute__((noinline)) bool tgb_damped(Work *w);
__attribute__((noinline)) bool tgb_lcp(Work *w);
bool tgb_damped(Work *w) {
  last = 0;
  return step(w) && derivative(w);
}
bool tgb_lcp(Work *w) {
  last = 1;
  return step(w) && derivative(w);
}

// microseconds, the least of several
static bool least(Work *w, bool lcp, double out[2]) {
  out[0] = out[1] = INFINITY;
  for (int k = 0; k < REPEATS; k++) {
    double start = tgb_core();
    if (!step(w)) return false;
    out[0] = fmin(out[0], 1e6 * (tgb_core() - start));
    start = tgb_core();
    if (!(lcp ? tgb_lcp(w) : tgb_damped(w))) return false;
    out[1] = fmin(out[1], 1e6 * (tgb_core() - start));
  }
  return true;
}

static double course(double t) {
  double x = fmax(0, fmin(1, t < 0.2 ? t / 0.2 : (0.4 - t) / 0.2));
  return x * x * x * (10 - 15 * x + 6 * x * x);
}

static bool motion(const Scene *x, Work *damped, Work *lcp) {
  double sum[2][2] = {{0}}, iterations = 0;
  tgSim *s = damped->s;
  size_t nq = (size_t)s->m.nq, nv = (size_t)s->m.nv;
  tg_sim_reset(s);
  memcpy(damped->q, tg_sim_qpos(s), nq * sizeof(double));
  memcpy(damped->v, tg_sim_qvel(s), nv * sizeof(double));
  if (!x->flip) damped->q[2] += x->lift;
  for (int t = 0; t < x->before + x->steps; t++) {
    double one[2];
    for (int i = 0; i < s->m.nu; i++) damped->u[i] = x->flip ? (i == 0 ? 0.25 : 0.5) * course(0.01 * (t + 1)) : 0;
    if (x->lift > 0) memset(damped->v, 0, nv * sizeof(double));
    for (int model = 0; model < 2 && t >= x->before; model++) {
      Work *w = model == 0 ? damped : lcp;
      if (w->s == NULL) continue;
      memcpy(w->q, damped->q, nq * sizeof(double));
      memcpy(w->v, damped->v, nv * sizeof(double));
      if (!least(w, model == 1, one)) return false;
      for (int k = 0; k < 2; k++) sum[model][k] += one[k] / x->steps;
    }
    if (t < x->before && !step(damped)) return false;
    iterations += t >= x->before ? (double)s->info.iterations / x->steps : 0;
    memcpy(damped->q, tg_sim_qpos(s), nq * sizeof(double));
    memcpy(damped->v, tg_sim_qvel(s), nv * sizeof(double));
  }
  double fastest = 0;
  for (size_t d = 0; d < nv; d++) fastest = fmax(fastest, fabs(damped->v[d]));
  printf("%-8s %3d dofs, %4.1f Newton steps, fastest at the end %.2g, damped %7.1f %7.1f us", x->name, s->m.nv, iterations, fastest,
         sum[0][0], sum[0][1]);
  if (lcp->s != NULL) printf(", lcp %7.1f %7.1f us, ratio %.2f", sum[1][0], sum[1][1], sum[0][1] / sum[1][1]);
  printf("\n");
  return true;
}

static bool open_work(const tgModel *m, const char *contact, const void *options, double h, bool adjoint, tgContact **c, Work *w,
                      tgError *e) {
  size_t nq = (size_t)m->nq, nv = (size_t)m->nv, nu = (size_t)m->nu;
  *c = tg_contact_create(m, contact, options, e);
  *w = (Work){.s = *c != NULL ? tg_sim_create(m, *c, NULL, e) : NULL, .h = h, .adjoint = adjoint};
  w->q = calloc(nq + nv + nu + 2 * nv * (2 * nv + nu) + 4 * nv + nu, sizeof(double));
  if (w->s == NULL || w->q == NULL) return false;
  w->v = w->q + nq;
  w->u = w->v + nv;
  w->D = w->u + nu;
  return true;
}

static bool run(const Scene *x) {
  tgError e = {0};
  tgDampedOptions o = tg_damped_default();
  tgContact *c[2] = {NULL};
  Work w[2] = {{.s = NULL}};
  if (x->flip) {
    o.slip_speed = 1e-3;
    o.damping_ratio = 0;
    o.damping_time = 0.02;
    o.resting_gap = 0.0010003416;
  }
  tgModel *m = x->flip ? tg_model_load(TG_SOURCE_DIR "/models/damped_flip.xml", NULL, &e) : humanoid(&e);
  bool good = m != NULL && open_work(m, "damped", &o, 0.01, x->flip, &c[0], &w[0], &e);
  good = good && (x->flip || open_work(m, "lcp", NULL, 0.01, false, &c[1], &w[1], &e));
  if (good && !motion(x, &w[0], &w[1])) {
    e = *tg_sim_error(w[w[1].s != NULL && tg_sim_error(w[1].s)->text[0] != '\0'].s);
    good = false;
  }
  if (!good) fprintf(stderr, "%s: %s\n", x->name, e.text);
  for (int i = 0; i < 2; i++) {
    free(w[i].q);
    tg_sim_free(w[i].s);
    tg_contact_free(c[i]);
  }
  tg_model_free(m);
  return good;
}

int main(int argc, char **argv) {
  bool good = true;
  for (size_t k = 0; k < sizeof scenes / sizeof *scenes; k++) {
    bool wanted = argc < 2;
    for (int i = 1; i < argc; i++) wanted = wanted || strcmp(argv[i], scenes[k].name) == 0;
    good = (!wanted || run(&scenes[k])) && good;
  }
  return good ? 0 : 4;
}
