// reach.c: see reach.h.
#include "support/reach.h"

enum { MAX_DOFS = 64 };

tgStatus tgt_reach(void *ctx, tgSim *sim, int t, int steps, tgReal *value, tgReal *gq, tgReal *gv, tgReal *gu) {
  tgtReach *r = ctx;
  const tgModel *m = tg_sim_model(sim);
  int nv = tg_model_nv(m), nu = tg_model_nu(m);
  double w = t == steps ? r->final : r->running;
  if (r->count) r->calls++;
  if (r->count && gq != NULL) r->derivative_calls++;
  tgReal d[3], J[6 * MAX_DOFS];
  const tgReal *x = &sim->start.xpos[3 * r->body];
  for (int i = 0; i < 3; i++) {
    d[i] = x[i] - r->target[i];
    *value += w * d[i] * d[i];
  }
  for (int i = 0; i < nv; i++) *value += r->speed * sim->qvel[i] * sim->qvel[i];
  if (t < steps)
    for (int i = 0; i < nu; i++) *value += r->control * sim->ctrl[i] * sim->ctrl[i];
  if (gq == NULL) return TG_OK;
  if (nv > MAX_DOFS) return TG_ERR_LIMIT;
  tgStatus status = tg_sim_jacobian(sim, r->body, x, J);
  if (status != TG_OK) return status;
  for (int j = 0; j < nv; j++) {
    gv[j] += 2 * r->speed * sim->qvel[j];
    for (int i = 0; i < 3; i++) gq[j] += 2 * w * d[i] * J[(3 + i) * nv + j];
  }
  if (gu != NULL)
    for (int i = 0; i < nu; i++) gu[i] += 2 * r->control * sim->ctrl[i];
  return TG_OK;
}

tgStatus tgt_reach_param(void *ctx, tgSim *sim, int t, int steps, tgParamGrad *dp) {
  const tgtReach *r = ctx;
  double w = t == steps ? r->final : r->running;
  tgReal g[3], x[3];
  for (int i = 0; i < 3; i++) {
    x[i] = sim->start.xpos[3 * r->body + i];
    g[i] = 2 * w * (x[i] - r->target[i]);
  }
  return tg_sim_point_param_vjp(sim, r->body, x, g, dp);
}
