// gradient.c: the loss's gradient along a task's trajectory, for the replay.
#include <stdlib.h>
#include <string.h>

#include "cli/shared/program.h"

static tgStatus room(tgCliTrajectory *t, const tgModel *m) {
  size_t n = (size_t)t->steps + 1, nv = (size_t)tg_model_nv(m), na = (size_t)tg_model_na(m), nu = (size_t)tg_model_nu(m),
         nbody = (size_t)tg_model_count(m, TG_THING_BODY);
  t->grad_q = calloc(n * nv + 1, sizeof(double));
  t->grad_v = calloc(n * nv + 1, sizeof(double));
  t->grad_act = calloc(n * na + 1, sizeof(double));
  t->grad_u = calloc(n * nu + 1, sizeof(double));
  t->push = calloc(n * nbody * 3 + 1, sizeof(double));
  t->push_at = calloc(n * nbody * 3 + 1, sizeof(double));
  bool all = t->grad_q != NULL && t->grad_v != NULL && t->grad_act != NULL && t->grad_u != NULL && t->push != NULL && t->push_at != NULL;
  return all ? TG_OK : TG_ERR_MEMORY;
}

void tgi_cli_gradient_free(tgCliTrajectory *t) {
  free(t->grad_q);
  free(t->grad_v);
  free(t->grad_act);
  free(t->grad_u);
  free(t->push);
  free(t->push_at);
  t->grad_q = t->grad_v = t->grad_act = t->grad_u = t->push = t->push_at = NULL;
}

// the gradient in a push on each body, state by state
static tgStatus pushes(const tgTask *task, const double *x, const volatile int *cancel, tgCliTrajectory *t, tgError *error) {
  const tgModel *m = tg_task_model(task);
  size_t nq = (size_t)tg_model_nq(m), nv = (size_t)tg_model_nv(m), nb = 3 * (size_t)tg_model_count(m, TG_THING_BODY);
  tgSim *sim = tg_sim_create(m, NULL, NULL, error);
  tgStatus st = sim == NULL ? TG_ERR_MEMORY : tg_task_set_parameters(task, x, sim);
  for (size_t i = 0; st == TG_OK && i <= (size_t)t->steps; i++) {
    memcpy(tg_sim_qpos(sim), t->q + i * nq, nq * sizeof(double));
    memcpy(tg_sim_qvel(sim), t->v + i * nv, nv * sizeof(double));
    st = tg_sim_impulse_gradient(sim, t->grad_v + i * nv, t->push + i * nb, t->push_at + i * nb);
    if (st != TG_OK) *error = *tg_sim_error(sim);
    else if (cancel != NULL && *cancel != 0) st = TG_CANCELLED;
  }
  tg_sim_free(sim);
  return st;
}

// rows (v, act) as two arrays
static void split(const tgModel *m, const double *rows, tgCliTrajectory *t) {
  size_t nv = (size_t)tg_model_nv(m), na = (size_t)tg_model_na(m);
  for (size_t i = 0; i <= (size_t)t->steps; i++) {
    memcpy(t->grad_v + i * nv, rows + i * (nv + na), nv * sizeof *rows);
    memcpy(t->grad_act + i * na, rows + i * (nv + na) + nv, na * sizeof *rows);
  }
}

tgStatus tgi_cli_record_gradient(const tgTask *task, const double *x, const volatile int *cancel, tgCliTrajectory *t, tgError *error) {
  const tgModel *m = tg_task_model(task);
  tgRolloutResult result = {0};
  tgRolloutRun run = {0};
  double *rows = calloc(((size_t)t->steps + 1) * (size_t)(tg_model_nv(m) + tg_model_na(m)) + 1, sizeof *rows);
  tgStatus st = room(t, m);
  if (rows == NULL) st = TG_ERR_MEMORY;
  tgEvaluator *e = st == TG_OK ? tg_evaluator_create(task, 0, error) : NULL;
  if (st == TG_OK && e == NULL) st = error->status;
  if (st == TG_OK) st = tg_evaluator_run(e, x, &run);
  if (st == TG_OK) {
    run.sq = t->grad_q;
    run.sv = rows;
    run.du = t->grad_u;
    run.dp = NULL;
    run.cancel = cancel;
    st = tg_rollout_run(tg_evaluator_rollout(e), &run, &result);
    if (st != TG_OK) *error = result.error;
  }
  tg_evaluator_free(e);
  if (st == TG_OK) split(m, rows, t);
  free(rows);
  if (st == TG_OK) st = pushes(task, x, cancel, t, error);
  if (st != TG_OK) tgi_cli_gradient_free(t);
  return st;
}
