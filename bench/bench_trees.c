// bench_trees.c: energy of random trees under random torques: who ends, and what is gained beyond the work of the actuators.
// usage: bench_trees [--seeds N] [--torques SEED] [--h S] [--torque TAU]
//                    [--damping D] [--fixed] [--contact 0|1] [--gyroscopic WORD] [--model WORD]
//
// Trees of test/support/random_tree.h above a plane, the first link on a free joint (--fixed: on a hinge); links meet the plane and
// links that are no neighbours; a new normal torque on every hinge each 0.05 s, 5 s. Of each tree: gained, the largest rise of its
// energy, from any step to any later one, above the work of torques between them, as a share of the work of torques that drove
// it on. Without --contact both with and without. With contacts also what these gain: the same of the sum of what each step gains more
// than a step without contacts from the same state, with velocities half a step on (Gain), less the push_energy that it tells.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/random_tree.h"
#include "tangere/desc.h"
#include "tangere/lcp.h"
#include "tangere/step.h"

typedef struct Options {
  int seeds, torques, contact, steps;
  double h, torque, damping;
  bool fixed;
  const char *gyroscopic, *model;
} Options;
typedef struct Run { int steps; double gained, by_contacts, driven, fastest; char error[640]; } Run;

static tgModel *make(const Options *o, int seed, bool contact, tgError *e) {
  char text[TGT_TREE_TEXT];
  tgt_random_tree(seed, o->fixed, o->damping, contact ? TGT_TREE_MEETS : TGT_TREE_APART, text);
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

// Something that sinks and rises: how far it has risen from its least so far, at most.
typedef struct Rise { double least, most; } Rise;
static void rise(Rise *r, double x) {
  r->least = fmin(r->least, x);
  r->most = fmax(r->most, x - r->least);
}

// F (nv): tau and the weight at the sim's pose. v (nv): qvel.
static void forces(tgSim *s, double *F, double *v) {
  int nv = tg_model_nv(tg_sim_model(s));
  memcpy(v, tg_sim_qvel(s), (size_t)nv * sizeof *v);
  memset(tg_sim_qvel(s), 0, (size_t)nv * sizeof *v);
  double *none = calloc((size_t)nv, sizeof *none);
  tg_sim_inverse(s, none, F);   // what holds it still
  free(none);
  memcpy(tg_sim_qvel(s), v, (size_t)nv * sizeof *v);
  for (int d = 0; d < nv; d++) F[d] = tg_sim_qfrc_applied(s)[d] - F[d];
}

typedef struct Gain { double energy, even, driven; } Gain;

// A step of a sim: how much energy it gains above the work of tau on the joints from `first` on, and what these drive. even: velocities of
// a symplectic step are half a step behind its places, so that what falls from rest seems to lose energy that what is held does not; the
// gain of the energy with velocities half a step on. way: work, 3 nv.
static bool gain(tgSim *s, double h, int first, const double *q, double *M, double *way, Gain *g, tgStepInfo *info) {
  const tgModel *m = tg_sim_model(s);
  int nv = tg_model_nv(m);
  double *F = way + nv, *v = F + nv;
  *g = (Gain){.energy = -energy(m, s, M)};
  forces(s, F, v);
  if (tg_sim_step_growing(s, h, info) != TG_OK) return false;
  const double *tau = tg_sim_qfrc_applied(s);   // a step that grows moves the sim's arrays
  tg_model_difference(m, q, tg_sim_qpos(s), way);
  g->energy += energy(m, s, M);
  for (int d = first; d < nv; d++) {
    g->energy -= tau[d] * way[d];
    g->driven += fmax(0, tau[d] * way[d]);
  }
  g->even = g->energy;
  for (int d = 0; d < nv; d++) g->even += h / 2 * F[d] * (tg_sim_qvel(s)[d] - v[d]);
  return true;
}

// free: a sim of the same tree without contacts, NULL: the tree has none
static void drive(const Options *o, tgSim *s, tgSim *free_sim, int seed, Run *run) {
  const tgModel *m = tg_sim_model(s);
  int nv = tg_model_nv(m), nq = tg_model_nq(m), first = o->fixed ? 0 : 6, hold = (int)fmax(1, round(0.05 / o->h));
  double *M = calloc((size_t)(nv * nv + nq + 3 * nv), sizeof *M), *q = M + nv * nv, *way = q + nq, own = 0, more = 0;
  tgtRandom r = {.s = (uint64_t)(o->torques + seed)};
  Rise all = {0, 0}, contacts = {0, 0};
  for (run->steps = 0; run->steps < o->steps && run->fastest < 1e5; run->steps++) {
    Gain with, without = {0};
    tgStepInfo info;
    double *tau = tg_sim_qfrc_applied(s);   // a step that grows moves it
    for (int d = first; d < nv && run->steps % hold == 0; d++) tau[d] = o->torque * tgt_normal(&r);
    memcpy(q, tg_sim_qpos(s), (size_t)nq * sizeof *q);
    if (free_sim != NULL) {
      memcpy(tg_sim_qpos(free_sim), q, (size_t)nq * sizeof *q);
      memcpy(tg_sim_qvel(free_sim), tg_sim_qvel(s), (size_t)nv * sizeof *q);
      memcpy(tg_sim_qfrc_applied(free_sim), tau, (size_t)nv * sizeof *q);
      if (!gain(free_sim, o->h, first, q, M, way, &without, &info)) break;
    }
    if (!gain(s, o->h, first, q, M, way, &with, &info)) break;
    run->driven += with.driven;
    rise(&all, own += with.energy);
    rise(&contacts, more += with.even - without.even - info.push_energy);
    for (int d = 0; d < nv; d++) run->fastest = fmax(run->fastest, fabs(tg_sim_qvel(s)[d]));
  }
  run->gained = all.most;
  run->by_contacts = contacts.most;
  if (run->steps < o->steps) snprintf(run->error, sizeof run->error, "%s", tg_sim_error(s)->text);
  free(M);
}

static tgSim *make_sim(const Options *o, int seed, bool contact, tgModel **m, tgContact **c) {
  tgError e = {0};
  tgAnyContactOptions options;
  tg_contact_default(o->model, &options.of, sizeof options);
  tgStatus status = tg_contact_set(&options.of, "gyroscopic", o->gyroscopic, &e);
  *m = status == TG_OK ? make(o, seed, contact, &e) : NULL;
  *c = *m != NULL ? tg_contact_create(*m, o->model, &options.of, &e) : NULL;
  tgSim *s = *c != NULL ? tg_sim_create(*m, *c, NULL, &e) : NULL;
  if (s == NULL) fprintf(stderr, "%s\n", e.text);
  return s;
}

static bool trial(const Options *o, int seed, bool contact, Run *run) {
  tgModel *m[2] = {NULL};
  tgContact *c[2] = {NULL};
  tgSim *s = make_sim(o, seed, contact, &m[0], &c[0]), *without = contact ? make_sim(o, seed, false, &m[1], &c[1]) : NULL;
  bool good = s != NULL && (without != NULL || !contact);
  *run = (Run){.steps = 0};
  if (good) drive(o, s, without, seed, run);
  tg_sim_free(s);
  tg_sim_free(without);
  for (int i = 0; i < 2; i++) {
    tg_contact_free(c[i]);
    tg_model_free(m[i]);
  }
  return good;
}

// all trees; gained and driven, one for each
static bool trees(const Options *o, bool contact, Run *run) {
  int ended = 0;
  double worst = 0, mean = 0, by_contacts = 0, fastest = 0;
  for (int i = 0; i < o->seeds; i++) {
    if (!trial(o, i, contact, &run[i])) return false;
    if (run[i].steps < o->steps) {
      ended++;
      printf("  tree %d ends at step %d: %s\n", i, run[i].steps, run[i].error);
    }
    worst = fmax(worst, run[i].gained / run[i].driven);
    mean += run[i].gained / run[i].driven / o->seeds;
    by_contacts = fmax(by_contacts, run[i].by_contacts / run[i].driven);
    fastest = fmax(fastest, run[i].fastest);
  }
  printf("contacts %s: %d of %d end; gained at most %.3g %%, in the mean %.3g %% of the work that drives; fastest rate %.0f rad/s\n",
         contact ? "on" : "off", ended, o->seeds, 100 * worst, 100 * mean, fastest);
  if (contact) printf("by contacts at most %.3g %%\n", 100 * by_contacts);
  return true;
}

int main(int argc, char **argv) {
  Options o = {.seeds = 30, .torques = 1000, .contact = -1, .h = 0.005, .torque = 1, .gyroscopic = "bounded", .model = "lcp"};
  for (int i = 1; i < argc; i++) {
    const char *a = argv[i], *x = i + 1 < argc ? argv[i + 1] : "";
    if (strcmp(a, "--fixed") == 0) { o.fixed = true; continue; }
    if (strcmp(a, "--seeds") == 0) o.seeds = atoi(x);
    else if (strcmp(a, "--torques") == 0) o.torques = atoi(x);
    else if (strcmp(a, "--h") == 0) o.h = atof(x);
    else if (strcmp(a, "--torque") == 0) o.torque = atof(x);
    else if (strcmp(a, "--damping") == 0) o.damping = atof(x);
    else if (strcmp(a, "--contact") == 0) o.contact = atoi(x);
    else if (strcmp(a, "--gyroscopic") == 0) o.gyroscopic = x;
    else if (strcmp(a, "--model") == 0) o.model = x;
    else return fprintf(stderr, "unknown option %s\n", a), 2;
    i++;
  }
  o.steps = (int)round(5 / o.h);
  Run *run = calloc((size_t)o.seeds, sizeof *run);
  bool good = run != NULL;
  for (int contact = 0; contact < 2 && good; contact++)
    if (o.contact < 0 || o.contact == contact) good = trees(&o, contact, run);
  free(run);
  return good ? 0 : 1;
}
