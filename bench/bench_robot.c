// bench_robot.c: dynamics, its derivatives and whole steps of robots read from files.
//
//   bench_robot [--contact] [--state STATE | --key NAME] [--h H] FILE...        FILE: MJCF or URDF
//
// STATE: text, qpos and qvel one after the other; NAME: a keyframe of the file; else random states (uniform angles of
// +-0.5 rad about qpos0, velocities of +-0.5).
// One JSON object: rows of {name: "WHAT FILE", ours: ns}. Each figure is a mean over the states of the least of 15 means of 8 calls:
//   rnea, crba, rnea_d, forward_d   with the kinematics each (and velocities, inertias), as libraries that take q, v, a do it;
//   step, step_jacobian, step_vjp   tg_sim_step; that and tg_sim_step_jacobian;
//     the adjoint alone. Without --contact no contact model is bound:
//                                   neither contacts nor limits, smooth dynamics alone.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/clock.h"
#include "dyn/dynamics.h"   // private: kernels are timed one by one
#include "support/check.h"
#include "tangere/base.h"

enum { STATES = 32 };

typedef enum Work { RNEA, CRBA, RNEA_D, FORWARD_D, STEP, STEP_JACOBIAN, STEP_VJP, WORK_COUNT } Work;
static const char *const work_name[WORK_COUNT] = {"rnea", "crba", "rnea_d", "forward_d", "step", "step_jacobian", "step_vjp"};

typedef struct Bench {
  tgSim *s;
  double h, *q, *v, *a, *D;
} Bench;

static bool step(Bench *b) {
  tgSim *s = b->s;
  memcpy(s->qpos, b->q, (size_t)s->m.nq * sizeof(double));
  memcpy(s->qvel, b->v, (size_t)s->m.nv * sizeof(double));
  return tg_sim_step(s, b->h, NULL) == TG_OK;
}

static bool call(Bench *b, Work w) {
  tgSim *s = b->s;
  size_t n = (size_t)s->m.nv * (size_t)s->m.nv, nv = (size_t)s->m.nv;
  if (w == STEP) return step(b);
  if (w == STEP_JACOBIAN) return step(b) && tg_sim_step_jacobian(s, b->D, NULL) == TG_OK;
  if (w == STEP_VJP) return tg_sim_step_vjp(s, b->a, b->a, b->D, b->D + nv, b->D + 2 * nv, NULL, NULL) == TG_OK;
  if (w == FORWARD_D) {
    memcpy(s->qpos, b->q, (size_t)s->m.nq * sizeof(double));
    memcpy(s->qvel, b->v, nv * sizeof(double));
    return tg_sim_acceleration_d(s, b->a, b->D, b->D + n, b->D + 2 * n, NULL) == TG_OK;
  }
  tgi_kinematics(&s->m, b->q, &s->start);
  tgi_inertias(s, &s->start);
  if (w == CRBA) {
    tgi_mass_matrix(s, &s->start);
    return true;
  }
  tgi_velocities(s, &s->start, b->v);
  if (w == RNEA_D) return tgi_inverse_d(s, &s->start, b->a, NULL, b->D, b->D + n) == TG_OK;
  tgi_inverse(s, &s->start, b->a, NULL, b->D);
  return true;
}

static void random_state(Bench *b, tgtRandom *r) {
  const tgModel *m = &b->s->m;
  for (int d = 0; d < m->nv; d++) b->a[d] = tgt_uniform(r, -0.5, 0.5);
  tg_model_integrate(b->s->model, m->qpos0, b->a, b->q);
  for (int d = 0; d < m->nv; d++) {
    b->v[d] = tgt_uniform(r, -0.5, 0.5);
    b->a[d] = tgt_uniform(r, -0.5, 0.5);
  }
}

static bool key_state(Bench *b, const char *name) {
  const tgModel *m = &b->s->m;
  int key = tg_model_find(b->s->model, TG_THING_KEY, name);
  if (key < 0 || tg_sim_reset_key(b->s, key) != TG_OK) return false;
  memcpy(b->q, b->s->qpos, (size_t)m->nq * sizeof(double));
  memcpy(b->v, b->s->qvel, (size_t)m->nv * sizeof(double));
  for (int d = 0; d < m->nv; d++) b->a[d] = 0.1;
  return true;
}

static bool read_state(Bench *b, const char *path) {
  const tgModel *m = &b->s->m;
  FILE *f = fopen(path, "r");
  bool good = f != NULL;
  for (int i = 0; good && i < m->nq; i++) good = fscanf(f, "%lf", &b->q[i]) == 1;
  for (int i = 0; good && i < m->nv; i++) good = fscanf(f, "%lf", &b->v[i]) == 1;
  for (int d = 0; d < m->nv; d++) b->a[d] = 0.1;
  if (f != NULL) fclose(f);
  return good;
}

// mean over the states in nanoseconds, negative when a call failed
static double measure(Bench *b, Work w, bool one) {
  tgtRandom r = {3};
  double sum = 0;
  int states = one ? 1 : STATES;
  for (int k = 0; k < states; k++) {
    if (!one) random_state(b, &r);
    tg_sim_freeze_memory(b->s, false);
    // its contacts and their classes are then known: a warm step
    for (int i = 0; i < 2; i++)
      if (!step(b) && (tgi_sim_grow(b->s) != TG_OK || !step(b))) return -1;
    tg_sim_freeze_memory(b->s, true);
    double ns = tgb_least(b, w);
    if (ns < 0) return -1;
    sum += ns;
  }
  return sum / states;
}

static bool run(const char *path, const char *state, const char *key, bool contact, double h, bool first) {
  tgError e = {0};
  tgModel *m = tg_model_load(path, NULL, &e);
  tgContact *c = m != NULL && contact ? tg_contact_create(m, "lcp", NULL, &e) : NULL;
  tgSim *s = m != NULL && (c != NULL) == contact ? tg_sim_create(m, c, NULL, &e) : NULL;
  bool good = s != NULL;
  if (good) {
    size_t nv = (size_t)m->nv, nq = (size_t)m->nq, nt = 2 * nv + (size_t)m->nu;
    Bench b = {.s = s, .h = h};
    b.q = calloc(nq + 2 * nv + 4 * nv * nt + 3 * nv * nv + nt + 64, sizeof(double));
    b.v = b.q + nq;
    b.a = b.v + nv;
    b.D = b.a + nv;
    good = state != NULL ? read_state(&b, state) : key == NULL || key_state(&b, key);
    for (int w = 0; good && w < WORK_COUNT; w++) {
      double ns = measure(&b, (Work)w, state != NULL || key != NULL);
      good = ns > 0;
      if (good)
        printf("%s{\"name\": \"%s %s\", \"ours\": %.1f, \"dof\": %d, \"contacts\": %d}", first && w == 0 ? "" : ",\n  ",
               work_name[w], path, ns, m->nv, s->info.ncontact);
    }
    if (!good) fprintf(stderr, "%s: %s\n", path, s->error.text);
    free(b.q);
  } else {
    fprintf(stderr, "%s: %s\n", path, e.text);
  }
  tg_sim_free(s);
  tg_contact_free(c);
  tg_model_free(m);
  return good;
}

int main(int argc, char **argv) {
  bool contact = false, good = true, first = true;
  double h = 0.002;
  const char *state = NULL, *key = NULL;
  printf("{\"rows\": [");
  for (int i = 1; i < argc; i++) {
    if (strcmp(argv[i], "--contact") == 0) contact = true;
    else if (strcmp(argv[i], "--state") == 0 && i + 1 < argc) state = argv[++i];
    else if (strcmp(argv[i], "--key") == 0 && i + 1 < argc) key = argv[++i];
    else if (strcmp(argv[i], "--h") == 0 && i + 1 < argc) h = atof(argv[++i]);
    else {
      bool done = run(argv[i], state, key, contact, h, first);
      first = first && !done;
      good = done && good;
    }
  }
  printf("]}\n");
  return good ? 0 : 4;
}
