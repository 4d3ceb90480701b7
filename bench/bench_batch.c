// bench_batch.c: 64 rollouts of the half-cheetah with gradients on one and on two threads: time, ratio, and whether the bits agree.
//
//   bench_batch [--json] [MODEL]     MODEL: models/half_cheetah.xml of the source by default
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tangere/base.h"
#include "tangere/rollout.h"

enum { ROLLOUTS = 64, STEPS = 400, REPEATS = 5, MAX_DOFS = 64 };

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

// L = |v|^2 at the end: cheap, so that steps are what is measured
static tgStatus end_speed(void *ctx, tgSim *sim, int t, int steps, tgReal *value, tgReal *gq, tgReal *gv, tgReal *gu) {
  (void)ctx, (void)gq, (void)gu;
  int nv = tg_model_nv(tg_sim_model(sim));
  for (int i = 0; i < nv && t == steps; i++) {
    tgReal v = tg_sim_qvel(sim)[i];
    *value += v * v;
    if (gv != NULL) gv[i] = 2 * v;
  }
  return TG_OK;
}

typedef struct Work {
  tgRolloutRun run[ROLLOUTS];
  tgRolloutResult result[ROLLOUTS];
  tgReal *u, *du, *dv0;
  size_t nu, nv;
} Work;

static void fill(Work *w) {
  for (int i = 0; i < ROLLOUTS; i++) {
    tgReal *u = w->u + (size_t)i * STEPS * w->nu;
    for (size_t k = 0; k < STEPS * w->nu; k++) u[k] = 20 * tg_random_normal(1, (uint64_t)i, k / (8 * w->nu) * w->nu + k % w->nu);
    w->run[i] = (tgRolloutRun){.u = u, .loss = end_speed, .du = w->du + (size_t)i * STEPS * w->nu, .dv0 = w->dv0 + (size_t)i * w->nv};
  }
}

// best seconds of one batch; *hash of losses and gradients, 0 when a rollout failed
static double measure(const tgModel *m, const tgContact *c, int threads, Work *w, uint64_t *hash) {
  tgRolloutOptions o = tg_rollout_default();
  o.steps = STEPS;
  tgBatch *b = tg_batch_create(m, c, &o, threads, NULL);
  if (b == NULL) return 0;
  double best = 1e300;
  for (int r = 0; r <= REPEATS; r++) {
    double t = now();
    tg_batch_run(b, ROLLOUTS, w->run, w->result);
    t = now() - t;
    // the first run starts the threads and lets capacity grow
    if (r > 0 && t < best) best = t;
  }
  tg_batch_free(b);
  *hash = tg_hash(TG_HASH_START, w->du, ROLLOUTS * STEPS * w->nu * sizeof *w->du);
  *hash = tg_hash(*hash, w->dv0, ROLLOUTS * w->nv * sizeof *w->dv0);
  for (int i = 0; i < ROLLOUTS; i++) {
    if (w->result[i].status != TG_OK) {
      fprintf(stderr, "rollout %d: %s\n", i, w->result[i].error.text);
      *hash = 0;
    } else {
      *hash = *hash == 0 ? 0 : tg_hash(*hash, &w->result[i].loss, sizeof(tgReal));
    }
  }
  return best;
}

int main(int argc, char **argv) {
  bool json = argc > 1 && strcmp(argv[1], "--json") == 0;
  const char *path = argc > 1 + json ? argv[1 + json] : TG_SOURCE_DIR "/models/half_cheetah.xml";
  tgError error = {0};
  tgModel *m = tg_model_load(path, NULL, &error);
  tgContact *c = m != NULL ? tg_contact_create(m, "lcp", NULL, &error) : NULL;
  Work *w = calloc(1, sizeof *w);
  if (c == NULL || w == NULL || tg_model_nv(m) > MAX_DOFS) {
    fprintf(stderr, "%s\n", error.text);
    return 2;
  }
  w->nu = (size_t)tg_model_nu(m);
  w->nv = (size_t)tg_model_nv(m);
  w->u = calloc(ROLLOUTS * (2 * STEPS * w->nu + w->nv) + 1, sizeof *w->u);
  if (w->u == NULL) return 4;
  w->du = w->u + ROLLOUTS * STEPS * w->nu;
  w->dv0 = w->du + ROLLOUTS * STEPS * w->nu;
  fill(w);
  uint64_t hash[2];
  double seconds[2];
  for (int n = 1; n <= 2; n++) seconds[n - 1] = measure(m, c, n, w, &hash[n - 1]);
  bool same = hash[0] != 0 && hash[0] == hash[1];
  double us = 1e6 * seconds[0] / (ROLLOUTS * STEPS);
  if (json)
    printf("{\"id\": \"batch\", \"rows\": [{\"name\": \"64 cheetah rollouts with gradients, two threads against one\", "
           "\"ours\": %.6g, \"theirs\": %.6g, "
           "\"ratio\": %.4g, \"us_per_step\": %.4g, \"same_bits\": %s}]}\n",
           seconds[1], seconds[0], seconds[0] / seconds[1], us, same ? "true" : "false");
  else
    printf("64 rollouts of %d steps with gradients: one thread %.1f ms (%.2f us a step), two threads %.1f ms, %.2f "
           "times as fast, bits %s\n", STEPS, 1e3 * seconds[0], us, 1e3 * seconds[1], seconds[0] / seconds[1],
           same ? "the same" : "DIFFERENT");
  free(w->u);
  free(w);
  tg_contact_free(c);
  tg_model_free(m);
  return same ? 0 : 3;
}
