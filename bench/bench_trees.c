// bench_trees.c: energy of random trees under random torques: who ends, and what is gained beyond the work of the actuators.
// usage: bench_trees [--seeds N] [--h S] [--torque TAU] [--damping D] [--fixed] [--contact 0|1] [--gyroscopic WORD] [--model WORD]
//
// Trees of test/support/random_tree.h above a plane, the first link on a free joint (--fixed: on a hinge); links meet the plane and
// links that are no neighbours; a new normal torque on every hinge each 0.05 s, 1,000 steps. Of each tree: gained, the largest rise of its
// energy, from any step to any later one, above the work of torques between them, as a share of the work of torques that drove
// it on. Without --contact both with and without.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/random_tree.h"
#include "tangere/desc.h"
#include "tangere/lcp.h"
#include "tangere/step.h"

enum { STEPS = 1000 };

typedef struct Options { int seeds, contact; double h, torque, damping; bool fixed; const char *gyroscopic, *model; } Options;
typedef struct Run { int steps; double gained, driven, fastest; char error[640]; } Run;

static tgModel *make(const Options *o, int seed, bool contact, tgError *e) {
  char text[TGT_TREE_TEXT];
  tgt_random_tree(seed, o->fixed, o->damping, contact, text);
  tgDesc *d = tg_desc_load_memory("tree.xml", text, strlen(text), NULL, e);
  tgModel *m = d != NULL ? tg_model_compile(d, NULL, e) : NULL;
  tg_desc_free(d);
  return m;
}

// v' M v/2 - sum of m g . x
static double energy(const tgModel *m, tgSim *s, double *M) {
  int nv = tg_model_nv(m), rows, cols;
  double sum = 0;
  tg_sim_forward(s);
  tg_sim_dense(s, "M", M, &rows, &cols);
  const double *v = tg_sim_qvel(s), *x = tg_sim_field_named(s, "xcom").data, *mass = tg_model_field_named(m, "body_mass").data;
  for (int i = 0; i < nv; i++)
    for (int k = 0; k < nv; k++) sum += v[i] * M[i * nv + k] * v[k] / 2;
  for (int b = 1; b < tg_model_count(m, TG_THING_BODY); b++) sum += 9.81 * mass[b] * x[3 * b + 2];
  return sum;
}

static void drive(const Options *o, const tgModel *m, tgSim *s, int seed, Run *run) {
  int nv = tg_model_nv(m), nq = tg_model_nq(m), first = o->fixed ? 0 : 6, hold = (int)fmax(1, round(0.05 / o->h));
  double *M = calloc((size_t)(nv * nv + nq + nv), sizeof *M), *q = M + nv * nv, *way = q + nq, least, work = 0;
  double *tau = tg_sim_qfrc_applied(s);
  tgtRandom r = {.s = 1000 + (uint64_t)seed};
  least = energy(m, s, M);
  for (run->steps = 0; run->steps < STEPS; run->steps++) {
    for (int d = first; d < nv && run->steps % hold == 0; d++) tau[d] = o->torque * tgt_normal(&r);
    memcpy(q, tg_sim_qpos(s), (size_t)nq * sizeof *q);
    if (tg_sim_step_growing(s, o->h, NULL) != TG_OK) break;
    tg_model_difference(m, q, tg_sim_qpos(s), way);
    for (int d = first; d < nv; d++) {
      work += tau[d] * way[d];
      run->driven += fmax(0, tau[d] * way[d]);
    }
    for (int d = 0; d < nv; d++) run->fastest = fmax(run->fastest, fabs(tg_sim_qvel(s)[d]));
    double own = energy(m, s, M) - work;
    least = fmin(least, own);
    run->gained = fmax(run->gained, own - least);
    if (!(run->fastest < 1e5)) break;
  }
  if (run->steps < STEPS) snprintf(run->error, sizeof run->error, "%s", tg_sim_error(s)->text);
  free(M);
}

static bool trial(const Options *o, int seed, bool contact, Run *run) {
  tgError e = {0};
  tgAnyContactOptions options;
  *run = (Run){.steps = 0};
  tg_contact_default(o->model, &options.of, sizeof options);
  if (tg_contact_set(&options.of, "gyroscopic", o->gyroscopic, &e) != TG_OK) fprintf(stderr, "%s\n", e.text);
  tgModel *m = make(o, seed, contact, &e);
  tgContact *c = m != NULL ? tg_contact_create(m, o->model, &options.of, &e) : NULL;
  tgSim *s = c != NULL ? tg_sim_create(m, c, NULL, &e) : NULL;
  if (s != NULL) drive(o, m, s, seed, run);
  else fprintf(stderr, "%s\n", e.text);
  tg_sim_free(s);
  tg_contact_free(c);
  tg_model_free(m);
  return s != NULL;
}

// all trees; gained and driven, one for each
static bool trees(const Options *o, bool contact, Run *run) {
  int ended = 0;
  double worst = 0, fastest = 0;
  for (int i = 0; i < o->seeds; i++) {
    if (!trial(o, i, contact, &run[i])) return false;
    if (run[i].steps < STEPS) {
      ended++;
      printf("  tree %d ends at step %d: %s\n", i, run[i].steps, run[i].error);
    }
    worst = fmax(worst, run[i].gained / run[i].driven);
    fastest = fmax(fastest, run[i].fastest);
  }
  printf("contacts %s: %d of %d end; gained at most %.3g %% of the work that drives; fastest rate %.0f rad/s\n",
         contact ? "on" : "off", ended, o->seeds, 100 * worst, fastest);
  return true;
}

int main(int argc, char **argv) {
  Options o = {.seeds = 30, .contact = -1, .h = 0.005, .torque = 1, .gyroscopic = "bounded", .model = "lcp"};
  for (int i = 1; i < argc; i++) {
    const char *a = argv[i], *x = i + 1 < argc ? argv[i + 1] : "";
    if (strcmp(a, "--fixed") == 0) { o.fixed = true; continue; }
    if (strcmp(a, "--seeds") == 0) o.seeds = atoi(x);
    else if (strcmp(a, "--h") == 0) o.h = atof(x);
    else if (strcmp(a, "--torque") == 0) o.torque = atof(x);
    else if (strcmp(a, "--damping") == 0) o.damping = atof(x);
    else if (strcmp(a, "--contact") == 0) o.contact = atoi(x);
    else if (strcmp(a, "--gyroscopic") == 0) o.gyroscopic = x;
    else if (strcmp(a, "--model") == 0) o.model = x;
    else return fprintf(stderr, "unknown option %s\n", a), 2;
    i++;
  }
  Run *run = calloc(2 * (size_t)o.seeds, sizeof *run);
  bool good = run != NULL;
  for (int contact = 0; contact < 2 && good; contact++)
    if (o.contact < 0 || o.contact == contact) good = trees(&o, contact, run + contact * o.seeds);
  double more = -INFINITY;
  for (int i = 0; i < o.seeds && good && o.contact < 0; i++) {
    const Run *off = &run[i], *on = &run[o.seeds + i];
    more = fmax(more, on->gained / on->driven - off->gained / off->driven);
  }
  if (good && o.contact < 0) printf("gained with contacts less without: at most %.3g %% of the work that drives\n", 100 * more);
  free(run);
  return good ? 0 : 1;
}
