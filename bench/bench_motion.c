// bench_motion.c: how long the steps of a motion under `lcp` take, and which stage of the row solver answers them.
//
//   bench_motion [--steps N] [--h H] [--controls SIZE] [--ground] [--below] FILE...        FILE: MJCF or URDF
//
// From the pose of the file (its first keyframe where it has one), N steps (300) of the file's size (or H); controls uniform
// in +-SIZE (0), a new draw every 25 steps. --ground: a plane at 0; --below: one under the lowest point, overlapping links
// excluded.
// One JSON object: rows of {name, dof, steps made, microseconds of a step: mean, median and worst; most rows and contacts in
// a step; iterations in all; steps by stage: 0 nothing to solve, 1 warm, 2 pivoting, 3 Lemke, 4 Lemke shifted, 5 sweeps; not:
// steps not solved; left: overlaps left as they are; residual: the worst}.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/clock.h"
#include "support/check.h"
#include "tangere/contact.h"
#include "tangere/desc.h"
#include "tangere/step.h"

enum { STAGES = 16 };
typedef struct Setup { int steps; double h, controls; bool ground, below; } Setup;
typedef struct Tally {
  int steps, stage[STAGES], unsolved, rows, contacts, left;
  long iterations;
  double *time, sum, residual;
} Tally;

static int by_size(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static tgModel *load(const char *path, const Setup *w, tgError *e) {
  tgLoadOptions o = tg_load_default();
  o.lenient = true;
  o.drop = (1u << TG_DROP_COUNT) - 1;
  o.ground = w->ground;
  tgDesc *d = tg_desc_load(path, &o, e);
  if (d != NULL && w->below && (tg_desc_ground_below(d, 1e-3, e) < 0 || tg_desc_exclude_overlapping(d, 1e-3, e) < 0)) {
    tg_desc_free(d);
    return NULL;
  }
  tgModel *m = d != NULL ? tg_model_compile(d, NULL, e) : NULL;
  tg_desc_free(d);
  return m;
}

static void move(tgSim *s, double h, const Setup *w, Tally *t) {
  tgtRandom r = {5};
  int nu = tg_model_nu(tg_sim_model(s));
  for (int k = 0; k < w->steps; k++) {
    tgStepInfo info = {0};
    for (int u = 0; k % 25 == 0 && u < nu; u++) tg_sim_ctrl(s)[u] = w->controls * tgt_uniform(&r, -1, 1);
    double start = tgb_core();
    tgStatus status = tg_sim_step_growing(s, h, &info);
    t->time[t->steps] = tgb_core() - start;
    t->sum += t->time[t->steps];
    t->rows = info.nrow > t->rows ? info.nrow : t->rows;
    t->contacts = info.ncontact > t->contacts ? info.ncontact : t->contacts;
    t->iterations += info.iterations;
    t->left += info.nleft;
    t->residual = fmax(t->residual, info.residual);
    t->steps++;
    if (status == TG_NOT_CONVERGED) t->unsolved++;
    else t->stage[info.stage]++;
    if (status == TG_OK) continue;
    fprintf(stderr, "step %d: %s\n", k, tg_sim_error(s)->text);
    return;
  }
}

static bool run(const char *path, const Setup *w, bool first) {
  tgError e = {0};
  tgModel *m = load(path, w, &e);
  tgContact *c = m != NULL ? tg_contact_create(m, "lcp", NULL, &e) : NULL;
  tgSim *s = c != NULL ? tg_sim_create(m, c, NULL, &e) : NULL;
  Tally t = {.time = calloc((size_t)w->steps + 1, sizeof(double))};
  if (s != NULL && t.time != NULL) {
    if (tg_model_count(m, TG_THING_KEY) > 0) tg_sim_reset_key(s, 0);
    move(s, w->h > 0 ? w->h : tg_model_timestep(m), w, &t);
    qsort(t.time, (size_t)t.steps, sizeof(double), by_size);
    printf("%s{\"name\": \"%s\", \"dof\": %d, \"steps\": %d, ", first ? "" : ",\n  ", path, tg_model_nv(m), t.steps);
    printf("\"mean\": %.1f, \"median\": %.1f, ", 1e6 * t.sum / t.steps, 1e6 * t.time[t.steps / 2]);
    printf("\"worst\": %.1f, ", 1e6 * t.time[t.steps - 1]);
    printf("\"rows\": %d, \"contacts\": %d, \"iterations\": %ld, \"stages\": [%d, %d, %d, %d, %d, %d], ", t.rows, t.contacts, t.iterations,
           t.stage[0], t.stage[1], t.stage[2], t.stage[3], t.stage[4], t.stage[5]);
    printf("\"not\": %d, \"left\": %d, \"residual\": %.2g}", t.unsolved, t.left, t.residual);
    fflush(stdout);
  } else {
    fprintf(stderr, "%s: %s\n", path, e.text);
  }
  bool good = s != NULL;
  free(t.time);
  tg_sim_free(s);
  tg_contact_free(c);
  tg_model_free(m);
  return good;
}

int main(int argc, char **argv) {
  Setup w = {.steps = 300};
  bool first = true;
  printf("{\"rows\": [");
  for (int i = 1; i < argc; i++) {
    if (strcmp(argv[i], "--ground") == 0) w.ground = true;
    else if (strcmp(argv[i], "--below") == 0) w.below = true;
    else if (strcmp(argv[i], "--steps") == 0 && i + 1 < argc) w.steps = atoi(argv[++i]);
    else if (strcmp(argv[i], "--h") == 0 && i + 1 < argc) w.h = atof(argv[++i]);
    else if (strcmp(argv[i], "--controls") == 0 && i + 1 < argc) w.controls = atof(argv[++i]);
    else first = !run(argv[i], &w, first) && first;
  }
  printf("]}\n");
  return 0;
}
