// replay_rollout.c: see tangere/replay.h.
#include "tangere/replay.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/status.h"
#include "output/replay_signals.h"
#include "rollout/rollout.h"

// what a run is recorded into
typedef struct Record {
  tgRecorder recorder;
  double *u;   // T x nu
} Record;

// a loss that is 0 and looks on: at t < T the sim shows state t with the controls and forces of step t
static tgStatus look(void *ctx, tgSim *sim, int t, int steps, tgReal *value, tgReal *gq, tgReal *gv, tgReal *gu) {
  Record *r = ctx;
  size_t nu = (size_t)sim->model->nu;
  (void)value, (void)gq, (void)gv, (void)gu;
  // a run that starts over, for want of room, begins at 0 again
  if (t == 0) tg_recorder_clear(&r->recorder);
  if (t < steps) memcpy(r->u + (size_t)t * nu, sim->ctrl, nu * sizeof(double));
  return tg_recorder_add(&r->recorder, sim, t < steps);
}

static tgStatus record(tgRollout *rollout, const tgRolloutRun *run, Record *r, double *q, double *v, tgError *error) {
  tgRolloutResult result;
  tgRolloutRun one = {.q0 = run->q0, .v0 = run->v0, .u = run->u, .policy = run->policy, .policy_ctx = run->policy_ctx, .setup = run->setup,
                      .setup_ctx = run->setup_ctx, .cancel = run->cancel, .loss = look, .loss_ctx = r, .q = q, .v = v};
  tgStatus st = tg_rollout_run(rollout, &one, &result);
  if (st != TG_OK && error != NULL) *error = result.error;
  return st;
}

// rows (v, act) of a rollout as two arrays
static void split(const tgModel *m, size_t n, const double *rows, double *v, double *act) {
  size_t nv = (size_t)m->nv, na = (size_t)m->na;
  for (size_t t = 0; t < n; t++) {
    memcpy(v + t * nv, rows + t * (nv + na), nv * sizeof *v);
    if (na > 0) memcpy(act + t * na, rows + t * (nv + na) + nv, na * sizeof *v);
  }
}

static tgStatus write_run(tgSim *sim, const tgTrajectory *stored, double h, const char *title, const char *viewer,
                          const char *path, tgError *error) {
  tgReplayModel store = {0};
  tgReplayShapes shapes = {0};
  tgReplayShown shown = {0};
  tgReplayRun run = {0};
  tgReplayDef def = {.title = title, .nmodel = 1, .model = &shapes, .nrun = 1, .run = &run, .ntrajectory = 1,
                     .trajectory = &shown.trajectory};
  tgStatus st = tgi_replay_model(&sim->m, NULL, &store, &shapes);   // with the sizes that the run had
  if (st == TG_OK) st = tgi_replay_show(sim, stored, "rollout", NAN, h, &shown, error);
  if (st == TG_OK) st = tgi_replay_write(&def, viewer, path, error);
  tgi_replay_shown_free(&shown);
  tgi_replay_model_free(&store);
  return st;
}

tgStatus tg_replay_rollout(tgRollout *rollout, const tgRolloutRun *run, const char *title, const char *viewer,
                           const char *path, tgError *error) {
  if (rollout == NULL || run == NULL || path == NULL) return tgi_error(error, TG_ERR_ARG, "no rollout, no run or no path given");
  tgSim *sim = tg_rollout_sim(rollout);
  const tgModel *m = sim->model;
  size_t n = (size_t)tgi_rollout_steps(rollout) + 1;
  size_t nq = (size_t)m->nq, nv = (size_t)m->nv, nw = (size_t)tgi_nw(m);
  double *q = malloc((n * (nq + 2 * nw + (size_t)m->nu) + 1) * sizeof *q);
  if (q == NULL) return tgi_error(error, TG_ERR_MEMORY, "out of memory for a replay of %zu states", n);
  double *rows = q + n * nq, *v = rows + n * nw, *act = v + n * nv;
  Record r = {.u = v + n * nw};
  tgi_recorder_init(&r.recorder, m, NULL);
  tgStatus st = record(rollout, run, &r, q, rows, error);
  if (st == TG_OK) {
    split(m, n, rows, v, act);
    tgTrajectory stored = {.steps = (int)n - 1, .q = q, .v = v, .u = r.u, .act = act};
    tg_recorder_contacts(&r.recorder, &stored);
    st = write_run(sim, &stored, tgi_rollout_timestep(rollout), title, viewer, path, error);
  }
  tgi_recorder_free(&r.recorder);
  free(q);
  return st;
}
