// throw.c: a ball is thrown so that, after it has landed and rolled, it lies at a target. Gradient descent on the throw.
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <tangere/rollout.h>

static const double target[2] = {1.5, -0.4};

// L = squared distance from the target at the end
static tgStatus miss(void *ctx, tgSim *sim, int t, int steps, double *value, double *gq, double *gv, double *gu) {
  (void)ctx, (void)gv, (void)gu;
  if (t < steps) return TG_OK;
  for (int i = 0; i < 2; i++) {
    double d = tg_sim_qpos(sim)[i] - target[i];
    *value += d * d;
    if (gq != NULL) gq[i] = 2 * d;
  }
  return TG_OK;
}

int main(int argc, char **argv) {
  tgError error = {0};
  tgModel *model = tg_model_load(argc > 1 ? argv[1] : "samples/ball.xml", NULL, &error);
  if (model == NULL) return fprintf(stderr, "%s\n", error.text), 2;
  tgContact *contact = tg_contact_create(model, "lcp", NULL, &error);
  tgRolloutOptions options = tg_rollout_default();
  options.steps = 80;
  tgRollout *rollout = tg_rollout_create(model, contact, &options, &error);
  if (rollout == NULL) return fprintf(stderr, "%s\n", error.text), 2;

  double q0[7], v0[6] = {0.5, 0, 2.5, 0, 0, 0}, g[6];
  memcpy(q0, tg_sim_qpos(tg_rollout_sim(rollout)), sizeof q0);
  q0[2] = 0.5;
  tgRolloutRun run = {.q0 = q0, .v0 = v0, .loss = miss, .dv0 = g};
  tgRolloutResult result = {0};
  for (int i = 0; i < 60; i++) {
    if (tg_rollout_run(rollout, &run, &result) != TG_OK) return fprintf(stderr, "%s\n", result.error.text), 4;
    if (i % 10 == 0) printf("throw %2d: misses by %.4f m\n", i, sqrt(result.loss));
    if (result.loss < 1e-8) break;
    for (int k = 0; k < 3; k++) v0[k] -= 0.5 * g[k];
  }
  printf("thrown at (%.3f, %.3f, %.3f) m/s it misses by %.5f m\n", v0[0], v0[1], v0[2], sqrt(result.loss));
  tg_rollout_free(rollout);
  tg_contact_free(contact);
  tg_model_free(model);
  return result.loss < 1e-6 ? 0 : 1;
}
