// fuzz_step.c: a model, a contact model, a start and controls out of bytes: compiled, stepped and differentiated. What comes to its end is
// finite and says of its gradient what its steps say; what does not has a status and a reason; and once more it is the same, to the bit.
#include "fuzz_step.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { T = 5 };

static tgStatus loss(void *ctx, tgSim *sim, int t, int steps, tgReal *value, tgReal *gq, tgReal *gv, tgReal *gu) {
  int nv = tg_model_nv(tg_sim_model(sim));
  (void)ctx, (void)gu, (void)gq;
  if (t < steps) return TG_OK;
  for (int d = 0; d < nv; d++) {
    *value += 0.5 * tg_sim_qvel(sim)[d] * tg_sim_qvel(sim)[d];
    if (gv != NULL) gv[d] = tg_sim_qvel(sim)[d];
  }
  return TG_OK;
}

static void run(Bytes *b, const tgModel *m, const tgContact *c) {
  tgRolloutOptions o = tg_rollout_default();
  tgError error = {0};
  o.steps = T;
  tgRollout *r = tg_rollout_create(m, c, &o, &error);
  if (r == NULL) {
    tgt_check_status(error.status, error.text);
    return;
  }
  size_t nq = (size_t)tg_model_nq(m), nv = (size_t)tg_model_nv(m), nw = nv + (size_t)tg_model_na(m), nu = (size_t)tg_model_nu(m);
  size_t n = nq + nw + T * nu + (T + 1) * (nq + nw) + nv + nw + T * nu;
  double *x = calloc(2 * n + 1, sizeof *x);
  if (x == NULL) abort();
  memcpy(x, tg_sim_qpos(tg_rollout_sim(r)), nq * sizeof *x);
  if (tgt_pick(b, 4) == 3) for (size_t i = 0; i < nq; i++) x[i] += .1 * tgt_number(b);
  for (size_t i = 0; i < nw + T * nu; i++) x[nq + i] = tgt_number(b);
  memcpy(x + n, x, n * sizeof *x);
  tgRolloutResult result[2];
  tgStepInfo info[2][T];
  memset(info, 0, sizeof info);
  for (int k = 0; k < 2; k++) {
    double *at = x + (size_t)k * n, *q = at + nq + nw + T * nu, *v = q + (T + 1) * nq, *dq0 = v + (T + 1) * nw;
    tgRolloutRun go = {.q0 = at, .v0 = at + nq, .u = at + nq + nw, .q = q, .v = v, .loss = loss, .info = info[k], .dq0 = dq0,
                       .dv0 = dq0 + nv, .du = dq0 + nv + nw};
    tgStatus st = tg_rollout_run(r, &go, &result[k]);
    tgt_check_status(st, result[k].error.text);
    if (st != TG_OK) continue;
    bool all = true;
    for (int t = 0; t < T; t++) all = all && info[k][t].converged;
    if (result[k].grad.converged != all || !isfinite(result[k].loss) || !tgt_all_finite(q, n - (nq + nw + T * nu))) abort();
    if (!all && result[k].grad.label < TG_GRAD_SURROGATE) abort();
  }
  if (result[0].status != result[1].status || (result[0].status == TG_OK && memcmp(x, x + n, n * sizeof *x) != 0)) abort();
  free(x);
  tg_rollout_free(r);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  Bytes b = {data, data + size};
  tgModel *m = tgt_made_model(&b);
  if (m == NULL) return 0;
  tgContact *c = tgt_made_contact(&b, m);
  if (c != NULL) run(&b, m, c);
  tg_contact_free(c);
  tg_model_free(m);
  return 0;
}
