// bench_pile.c: steps of `lcp` of bodies that fall into a heap, read from a file that bench/pile.py writes.
// usage: bench_pile FILE STEPS H RULE [SECONDS]
//
// RULE: touching or closing; SECONDS on the core after which it ends. A JSON list with a row for each third of the steps: steps done, means
// of a step and of its adjoint (of every 20th step) and the longest step [ms], steps that failed, that fell back, that left overlaps as
// they are, impacts, the most energy that a step added beyond what it reports (tgStepInfo.push_energy, energy_gained), all of it [J],
// bytes of the process at most, at the end rows and the deepest overlap [m], how many steps each stage of the solver (tgStepInfo.stage)
// answered, and how many adjoints were exact, one-sided, and less.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "bench/clock.h"
#include "coll/contacts.h"   // private: overlaps at the end
#include "contact/contact.h"   // rows of a step
#include "step/impulse.h"
#include "tangere/base.h"
#include "tangere/desc.h"
#include "tangere/lcp.h"
#include "tangere/step.h"

typedef struct Third {
  double ms, worst, adjoint, gain, gains;
  int steps, failed, fallback, left, impacts, adjoints, stage[6], label[3];
} Third;

// Kinetic energy and that of weight, of free bodies with their centre of mass at their origin.
static double energy(tgSim *s) {
  double sum = tgi_kinetic_energy(s, s->qvel);
  for (int b = 1; b < s->m.nbody; b++)
    for (int d = 0; d < 3; d++) sum -= s->m.body_mass[b] * s->m.opt_gravity[d] * s->qpos[7 * (b - 1) + d];
  return sum;
}

static void adjoint(tgSim *s, double *g, int nv, Third *t) {
  double start = tgb_core();
  tgGradInfo info;
  if (tg_sim_step_vjp(s, g, g, g + nv, g + 2 * nv, NULL, NULL, &info) != TG_OK) return;
  t->adjoint += 1e3 * (tgb_core() - start);
  t->adjoints++;
  t->label[info.label == TG_GRAD_EXACT ? 0 : info.label == TG_GRAD_ONE_SIDED ? 1 : 2]++;
}

// of where the bodies are, which may have more contacts than the steps before needed room for
static double deepest(tgSim *s) {
  double least = 0;
  int rows = s->nrow;
  tgStatus status = tg_sim_forward(s);
  if (status == TG_OK) status = tgi_contacts(s, &s->start, &least);
  while (status == TG_ERR_CAPACITY && tg_sim_grow(s) == TG_OK) {
    status = tg_sim_forward(s);
    if (status == TG_OK) status = tgi_contacts(s, &s->start, &least);
  }
  if (status != TG_OK) {
    fprintf(stderr, "overlap: %s\n", tg_sim_error(s)->text);
    exit(1);
  }
  s->nrow = rows;
  return fmax(0, -least);
}

static void show(tgSim *s, const Third *t, bool last) {
  struct rusage use;
  getrusage(RUSAGE_SELF, &use);
  printf("{\"steps\": %d, \"ms\": %.4f, \"worst\": %.3f, \"adjoint\": %.4f, \"failed\": %d, \"fallback\": %d, \"left\": %d, ", t->steps,
         t->ms / fmax(1, t->steps), t->worst, t->adjoint / fmax(1, t->adjoints), t->failed, t->fallback, t->left);
  printf("\"impacts\": %d, \"labels\": [%d, %d, %d], ", t->impacts, t->label[0], t->label[1], t->label[2]);
  printf("\"gain\": %.3g, \"gains\": %.3g, \"bytes\": %zu, \"rows\": %d, \"overlap\": %.3g, ", t->gain, t->gains,
         (size_t)use.ru_maxrss << 10, s->nrow, deepest(s));
  printf("\"stages\": [%d, %d, %d, %d, %d, %d]}%s", t->stage[0], t->stage[1], t->stage[2], t->stage[3], t->stage[4], t->stage[5],
         last ? "" : ",\n ");
  fflush(stdout);
}

int main(int argc, char **argv) {
  if (argc < 5) return 2;
  tgError e = {0};
  tgLcpOptions o = tg_lcp_default();
  int steps = atoi(argv[2]);
  double h = atof(argv[3]), most = argc > 5 ? atof(argv[5]) : INFINITY, used = 0;
  o.contact_rule = strcmp(argv[4], "closing") == 0 ? TG_RULE_CLOSING : TG_RULE_TOUCHING;
  tgModel *m = tg_model_load(argv[1], NULL, &e);
  tgContact *c = m != NULL ? tg_contact_create(m, "lcp", &o.of, &e) : NULL;
  tgSim *s = c != NULL ? tg_sim_create(m, c, NULL, &e) : NULL;
  if (s == NULL) {
    fprintf(stderr, "%s\n", e.text);
    return 1;
  }
  int nv = tg_model_nv(m);
  double *g = calloc(3 * (size_t)nv, sizeof *g);
  for (int i = 0; i < nv; i++) g[i] = 1;
  printf("[");
  for (int third = 0; third < 3; third++) {
    Third t = {0};
    for (int i = 0; i < steps / 3 && used < most; i++) {
      tgStepInfo info;
      double before = i + third > 0 ? energy(s) : INFINITY;   // the masses are those of a step
      double start = tgb_core();
      tgStatus status = tg_sim_step_growing(s, h, &info);
      double ms = 1e3 * (tgb_core() - start);
      t.ms += ms;
      t.steps++;
      used += 1e-3 * ms;
      t.worst = fmax(t.worst, ms);
      t.failed += status != TG_OK;
      t.fallback += info.fallback != 0;
      t.left += info.nleft > 0;
      t.impacts += info.nimpact;
      double gain = energy(s) - before - info.push_energy - info.energy_gained;
      t.gain = fmax(t.gain, gain);
      t.gains += fmax(0, gain);
      t.stage[info.stage]++;
      if (status != TG_OK && t.failed == 1) fprintf(stderr, "%s\n", tg_sim_error(s)->text);
      if (status == TG_OK && i % 20 == 19) adjoint(s, g, nv, &t);
    }
    show(s, &t, third == 2);
  }
  printf("]\n");
  free(g);
  tg_sim_free(s);
  tg_contact_free(c);
  tg_model_free(m);
  return 0;
}
