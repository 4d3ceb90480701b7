// bench_dynamics.c: time of dynamics, its derivatives and whole steps for contact-free chains of 5, 9, 18 and 32 hinges.
// Usage: bench_dynamics [--json]
//
// Every figure is a mean over 64 random states of the least of 15 means of 8 calls, one thread. What each call holds:
//   kinematics   frames and motion axes;            rnea   inertias, velocities and inverse dynamics after it;
//   crba         mass matrix and its factor;         rnea_d tgi_inverse_d (A, Ap, F anew, then d/dq and d/dv);
//   forward_d    tg_sim_acceleration_d from q, v, tau: everything above, M^-1 and the products with it;
//   step, step_jacobian   tg_sim_step; the same with tg_sim_step_jacobian.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "dyn/dynamics.h"   // private: kernels are timed one by one
#include "support/check.h"

enum { STATES = 64, BATCHES = 15, NMAX = 32 };

typedef enum Work { KINEMATICS, RNEA, CRBA, RNEA_D, FORWARD_D, STEP, STEP_JACOBIAN, WORK_COUNT } Work;
static const char *const work_name[WORK_COUNT] = {"kinematics", "rnea", "crba", "rnea_d", "forward_d", "step", "step_jacobian"};

typedef struct Bench {
  tgSim *s;
  double q[STATES][NMAX], v[STATES][NMAX], a[STATES][NMAX];
  double *D;  // 2 nv x 2 nv
} Bench;

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static tgModel *chain(int n) {
  tgDesc *d = tg_desc_create(NULL);
  if (d == NULL) return NULL;
  for (int i = 0; i < n; i++) {
    int b = tg_desc_add_body(d, i, NULL), j = tg_desc_add_joint(d, b, TG_JOINT_HINGE, NULL);
    tgBodyDesc *body = &d->body[b];
    body->pos[0] = i == 0 ? 0 : 0.3;
    body->has_inertial = true;
    body->mass = 1;
    body->com[0] = 0.15;
    body->inertia[0] = 0.002;
    body->inertia[1] = 0.008;
    body->inertia[2] = 0.009;
    for (int k = 0; k < 3; k++) d->joint[j].axis[k] = k == (i + 1) % 3;
  }
  tgModel *m = tg_model_compile(d, NULL, NULL);
  tg_desc_free(d);
  return m;
}

static void prepare(Bench *b, int k) {
  tgi_kinematics(&b->s->m, b->q[k], &b->s->start);
  tgi_inertias(b->s, &b->s->start);
  tgi_velocities(b->s, &b->s->start, b->v[k]);
}

// the timed call on state k; false when it failed
static bool call(Bench *b, Work w, int k) {
  tgSim *s = b->s;
  size_t n = (size_t)s->m.nv * (size_t)s->m.nv;
  switch (w) {
    case KINEMATICS: tgi_kinematics(&s->m, b->q[k], &s->start); return true;
    case RNEA:
      tgi_inertias(s, &s->start);
      tgi_velocities(s, &s->start, b->v[k]);
      tgi_inverse(s, &s->start, b->a[k], NULL, b->D);
      return true;
    case CRBA: tgi_mass_matrix(s, &s->start); return tgi_factor(&s->m, s->M, s->L);
    case RNEA_D: return tgi_inverse_d(s, &s->start, b->a[k], NULL, b->D, b->D + n) == TG_OK;
    default: break;
  }
  memcpy(s->qpos, b->q[k], (size_t)s->m.nq * sizeof(double));
  memcpy(s->qvel, b->v[k], (size_t)s->m.nv * sizeof(double));
  if (w == FORWARD_D) return tg_sim_acceleration_d(s, b->a[k], b->D, b->D + n, b->D + 2 * n, NULL) == TG_OK;
  if (tg_sim_step(s, 1e-3, NULL) != TG_OK) return false;
  return w == STEP || tg_sim_step_jacobian(s, b->D, NULL) == TG_OK;
}

// time of a call in nanoseconds, negative when one failed
static double measure(Bench *b, Work w) {
  double sum = 0;
  for (int k = 0; k < STATES; k++) {
    double best = 1e30;
    prepare(b, k);
    for (int batch = 0; batch < BATCHES; batch++) {
      double start = now();
      for (int r = 0; r < 8; r++)
        if (!call(b, w, k)) return -1;
      double spent = now() - start;
      if (spent < best) best = spent;
    }
    sum += best;
  }
  return 1e9 * sum / (8 * STATES);
}

static bool run(int n, bool json, bool first) {
  tgModel *m = chain(n);
  static const tgtRandom seed = {11};
  tgtRandom r = seed;
  Bench *b = calloc(1, sizeof *b);
  bool good = m != NULL && b != NULL;
  if (good) {
    b->s = tg_sim_create(m, NULL, NULL, NULL);
    b->D = calloc((size_t)(4 * n * n), sizeof(double));
    good = b->s != NULL && b->D != NULL;
  }
  for (int k = 0; good && k < STATES; k++)
    for (int i = 0; i < n; i++) {
      b->q[k][i] = tgt_normal(&r);
      b->v[k][i] = tgt_normal(&r);
      b->a[k][i] = tgt_normal(&r);
    }
  if (good && !json) printf("%4d", n);
  for (int w = 0; good && w < WORK_COUNT; w++) {
    double ns = measure(b, (Work)w);
    if (json) printf("%s{\"name\": \"%s %d\", \"ours\": %.1f, \"unit\": \"ns\"}", first && w == 0 ? "" : ",\n  ", work_name[w], n, ns);
    else printf(" %13.0f", ns);
    good = ns > 0;
  }
  if (!json) printf("\n");
  if (b != NULL) {
    tg_sim_free(b->s);
    free(b->D);
  }
  free(b);
  tg_model_free(m);
  return good;
}

int main(int argc, char **argv) {
  static const int sizes[4] = {5, 9, 18, 32};
  bool json = argc > 1 && strcmp(argv[1], "--json") == 0, good = true;
  if (json) printf("{\"rows\": [");
  else {
    printf("nanoseconds a call\n dof");
    for (int w = 0; w < WORK_COUNT; w++) printf(" %13s", work_name[w]);
    printf("\n");
  }
  for (int i = 0; i < 4; i++) good = run(sizes[i], json, i == 0) && good;
  if (json) printf("]}\n");
  return good ? 0 : 4;
}
