// bench_rollout.c: what a gradient costs: a rollout with a full tape and its backward sweep over the same rollout without either.
// usage: bench_rollout [--json] [SCENE]
//
// Both are timed in turn, as the thread's time on a core, and the least of the repeats is taken of each.
// SCENE: humanoid, rack, cheetah, billiards or cloud.
//   humanoid  models/humanoid33.xml on both feet, 24 contacts, under `lcp`
//   rack      a rack of 6,272 triangles and its cue ball at 2 m/s, friction 0.3, under `barrier`
//   cheetah   models/half_cheetah.xml, which falls on its feet, under `toi`
//   billiards models/billiards_shot.xml, the last ball at 2 m/s, under `toi`
//   cloud     models/soft_push.xml, under `softmin`
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/clock.h"
#include "bench/last_speeds.h"
#include "bench/rack.h"
#include "tangere/rollout.h"

#define HUMANOID_STEP 1e-3   // [s]

typedef struct Scene {
  const char *name, *word;
  double h;
  int steps, repeats;
  tgModel *(*make)(tgError *error);
  void (*start)(const tgModel *m, double *q, double *v);
} Scene;

static tgModel *humanoid(tgError *error) { return tg_model_load(TG_SOURCE_DIR "/models/humanoid33.xml", NULL, error); }
static tgModel *cloud(tgError *error) { return tg_model_load(TG_SOURCE_DIR "/models/soft_push.xml", NULL, error); }
static tgModel *cheetah(tgError *error) { return tg_model_load(TG_SOURCE_DIR "/models/half_cheetah.xml", NULL, error); }
static tgModel *shot_model(tgError *error) { return tg_model_load(TG_SOURCE_DIR "/models/billiards_shot.xml", NULL, error); }
static tgModel *rack(tgError *error) {
  (void)error;
  return tgb_rack(7, 0);
}

// where it has come down on its feet: from the keyframe it is thrown out of the ground first
static void landed(const tgModel *m, double *q, double *v) {
  tgContact *c = tg_contact_create(m, "lcp", NULL, NULL);
  tgSim *s = tg_sim_create(m, c, NULL, NULL);
  tg_sim_reset_key(s, tg_model_find(m, TG_THING_KEY, "sunk"));
  for (int t = 0; t < 50; t++) tg_sim_step_growing(s, HUMANOID_STEP, NULL);
  memcpy(q, tg_sim_qpos(s), (size_t)tg_model_nq(m) * sizeof *q);
  memcpy(v, tg_sim_qvel(s), (size_t)tg_model_nv(m) * sizeof *v);
  tg_sim_free(s);
  tg_contact_free(c);
}
static void shot(const tgModel *m, double *q, double *v) {
  (void)q;
  v[tg_model_nv(m) - 6] = 2;
}
static void rest(const tgModel *m, double *q, double *v) {
  (void)m;
  (void)q;
  (void)v;
}

static const Scene scenes[] = {
    {"humanoid", "lcp", HUMANOID_STEP, 50, 40, humanoid, landed},
    {"rack", "barrier", 0.01, 10, 5, rack, shot},
    {"cheetah", "toi", 0.005, 100, 10, cheetah, rest},
    {"billiards", "toi", 0.01, 50, 10, shot_model, shot},
    {"cloud", "softmin", 0, 20, 5, cloud, rest},
};

typedef struct Timed { double forward, both, contacts; tgRolloutResult result; } Timed;

static bool measure(const Scene *x, tgRollout *r, int nv, tgRolloutRun run, double *gradient, Timed *out) {
  *out = (Timed){.forward = INFINITY, .both = INFINITY};
  tgStepInfo *info = calloc((size_t)x->steps, sizeof *info);
  bool good = info != NULL;
  run.info = info;
  for (int k = 0; good && k < 2 * x->repeats; k++) {
    bool backward = k % 2 == 1;
    run.dq0 = backward ? gradient : NULL;
    run.dv0 = backward ? gradient + nv : NULL;
    double began = tgb_core();
    good = tg_rollout_run(r, &run, &out->result) == TG_OK;
    double *least = backward ? &out->both : &out->forward;
    *least = fmin(*least, tgb_core() - began);
  }
  for (int t = 0; good && t < x->steps; t++) out->contacts += (double)info[t].ncontact / x->steps;
  free(info);
  return good;
}

static bool bench(const Scene *x, bool json, bool first) {
  tgError e = {0};
  Timed time = {0};
  tgModel *m = x->make(&e);
  tgContact *c = m != NULL ? tg_contact_create(m, x->word, NULL, &e) : NULL;
  tgRolloutOptions o = tg_rollout_default();
  o.steps = x->steps;
  o.h = x->h;
  tgRollout *r = c != NULL ? tg_rollout_create(m, c, &o, &e) : NULL;
  bool good = r != NULL;
  if (good) {
    int nq = tg_model_nq(m), nv = tg_model_nv(m);
    double *q = calloc((size_t)(nq + 3 * nv), sizeof *q), *v = q + nq;
    memcpy(q, tg_sim_qpos(tg_rollout_sim(r)), (size_t)nq * sizeof *q);
    x->start(m, q, v);
    good = measure(x, r, nv, (tgRolloutRun){.q0 = q, .v0 = v, .loss = tgb_last_speeds, .loss_ctx = &nv}, v + nv, &time);
    e = time.result.error;
    free(q);
  }
  if (!good) fprintf(stderr, "%s: %s\n", x->name, e.text);
  double ratio = time.both / time.forward, step = 1e6 * time.forward / x->steps;
  if (good && json)
    printf("%s{\"name\": \"gradient over forward rollout, %s under %s\", \"ours\": %.4g, \"forward_us\": %.6g}",
           first ? "" : ",\n  ", x->name, x->word, ratio, step);
  else if (good)
    printf("%-9s %-8s %3d steps, %4.1f contacts: a step %9.1f us, with its gradient %9.1f us, ratio %.2f; %ld steps "
           "solved, %ld from a tape of %zu bytes each\n", x->name, x->word, x->steps, time.contacts, step,
           1e6 * time.both / x->steps, ratio, time.result.forward_steps, time.result.revisited_steps,
           tg_rollout_least_bytes(r));
  tg_rollout_free(r);
  tg_contact_free(c);
  tg_model_free(m);
  return good;
}

int main(int argc, char **argv) {
  bool json = argc > 1 && strcmp(argv[1], "--json") == 0, good = true, first = true;
  const char *only = argc > 1 + json ? argv[1 + json] : NULL;
  if (json) printf("{\"id\": \"rollout\", \"rows\": [");
  for (size_t i = 0; i < sizeof scenes / sizeof *scenes; i++) {
    if (only != NULL && strcmp(only, scenes[i].name) != 0) continue;
    good = bench(&scenes[i], json, first) && good;
    first = false;
  }
  if (json) printf("]}\n");
  return good ? 0 : 1;
}
