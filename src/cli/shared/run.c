// run.c: a trajectory recorded, and the folder that a run leaves.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/shared/program.h"
#include "tangere/sensor.h"

void tgi_cli_trajectory_free(tgCliTrajectory *t) {
  tg_recorder_free(t->recorder);
  t->recorder = NULL;
  tgi_cli_gradient_free(t);
  free(t->q);
  free(t->v);
  free(t->act);
  free(t->u);
  free(t->sensor);
}

// (steps + 1) x n doubles, at least one
static double *table(int steps, int n) { return calloc(((size_t)steps + 1) * (size_t)n + 1, sizeof(double)); }

static bool make_tables(const tgModel *m, int steps, tgCliTrajectory *out) {
  out->recorder = tg_recorder_create(m, NULL, NULL);
  out->q = table(steps, tg_model_nq(m));
  out->v = table(steps, tg_model_nv(m));
  out->act = table(steps, tg_model_na(m));
  out->u = table(steps, tg_model_nu(m));
  out->sensor = out->reads ? table(steps, tg_model_nsensordata(m)) : NULL;
  if (out->recorder != NULL && out->q != NULL && out->v != NULL && out->act != NULL && out->u != NULL &&
      (!out->reads || out->sensor != NULL))
    return true;
  tgi_cli_trajectory_free(out);
  out->q = out->v = out->act = out->u = out->sensor = NULL;
  return false;
}

// the state of the sim is row t
static void keep_state(tgSim *sim, size_t t, tgCliTrajectory *out) {
  const tgModel *m = tg_sim_model(sim);
  size_t nq = (size_t)tg_model_nq(m), nv = (size_t)tg_model_nv(m), na = (size_t)tg_model_na(m);
  memcpy(out->q + t * nq, tg_sim_qpos(sim), nq * sizeof(double));
  memcpy(out->v + t * nv, tg_sim_qvel(sim), nv * sizeof(double));
  memcpy(out->act + t * na, tg_sim_act(sim), na * sizeof(double));
}

// what the step that was made last met
static void count_events(const tgStepInfo *info, tgCliTrajectory *out) {
  out->held += info->nleft > 0;
  out->impacts += info->nimpact;
  out->least = fmin(out->least, info->least_distance);
  out->stable = fmin(out->stable, info->stable_step);
  out->unstable += info->unstable;
  out->ambiguous += info->nambiguous > 0;
  if (!info->burst || out->bursts++ > 0) return;
  out->burst = out->steps;
  out->burst1 = info->burst1;
  out->burst2 = info->burst2;
}

// the deepest contact of the first step that has one deeper than it pushes out; what else a push leaves is of limits and equalities
static void keep_deepest(const tgSim *sim, const tgStepInfo *info, tgCliTrajectory *out) {
  tgContactInfo c;
  if (info->ncut == 0 || out->depth > 0) return;
  for (int at = 0; tg_sim_next_contact(sim, &at, &c);) {
    if (!(-c.distance > fmax(out->depth, out->pushed))) continue;
    out->depth = -c.distance;
    out->deep = out->steps;
    out->deep1 = c.geom1;
    out->deep2 = c.geom2;
  }
}

// the sim's error, with the step and its time ahead of it
static tgStatus step_error(const tgSim *sim, tgStatus status, double h, int step, tgError *error) {
  const tgError *own = tg_sim_error(sim);
  char why[640];
  snprintf(why, sizeof why, "step %d (t = %g s): %.580s", step, step * h, own->text[0] != '\0' ? own->text : tg_status_text(status));
  *error = *own;
  error->status = status;
  memcpy(error->text, why, sizeof error->text);
  return status;
}

tgStatus tgi_cli_record(tgSim *sim, const double *u, int steps, double h, const volatile int *cancel, tgCliTrajectory *out,
                        tgError *error) {
  const tgModel *m = tg_sim_model(sim);
  size_t nu = (size_t)tg_model_nu(m);
  out->least = out->stable = INFINITY;
  if (!make_tables(m, steps, out)) {
    snprintf(error->text, sizeof error->text, "out of memory for %d steps", steps);
    return error->status = TG_ERR_MEMORY;
  }
  tg_sim_watch_cancel(sim, cancel);
  for (out->steps = 0; out->steps < steps; out->steps++) {
    size_t t = (size_t)out->steps;
    if (u != NULL) memcpy(tg_sim_ctrl(sim), u + t * nu, nu * sizeof *u);
    keep_state(sim, t, out);
    memcpy(out->u + t * nu, tg_sim_ctrl(sim), nu * sizeof(double));
    if (cancel != NULL && *cancel != 0) return TG_CANCELLED;
    tgStepInfo info;
    tgStatus st = tg_sim_step_growing(sim, h, &info);
    if (st == TG_OK) {
      count_events(&info, out);
      keep_deepest(sim, &info, out);
    }
    if (st == TG_OK && out->reads) st = tg_sim_sensors(sim, NULL, out->sensor + t * (size_t)tg_model_nsensordata(m));
    if (st == TG_OK) st = tg_recorder_add(out->recorder, sim, true);
    if (st != TG_OK) return step_error(sim, st, h, out->steps, error);
  }
  keep_state(sim, (size_t)steps, out);
  tgStatus st = tg_sim_forward(sim);
  if (st == TG_OK && tg_recorder_add(out->recorder, sim, false) == TG_OK) return TG_OK;
  *error = *tg_sim_error(sim);
  return error->status = st != TG_OK ? st : TG_ERR_MEMORY;
}

enum { RUNS = 2 + TG_VERIFY_ROWS };   // first, best, and its replays

static tgTrajectory stored(const tgCliTrajectory *t) {
  tgTrajectory out = {.steps = t->steps, .q = t->q, .v = t->v, .act = t->act, .u = t->u, .grad_q = t->grad_q, .grad_v = t->grad_v,
                      .grad_act = t->grad_act, .grad_u = t->grad_u, .push = t->push, .push_at = t->push_at};
  tg_recorder_contacts(t->recorder, &out);
  return out;
}

// How far the gradients at the first and the best iterate foretell the loss: places on the curve, and losses. Returns how many.
static int trust_bands(const tgOptimum *o, double band[6]) {
  const tgTrustAt *const at[] = {&o->trust_first, &o->trust_best};
  int n = 0;
  for (int i = 0; i < 2; i++) {
    const tgTrust *t = &at[i]->trust;
    double change = t->range * t->slope;
    if (!at[i]->told || !isfinite(t->loss - change) || !isfinite(t->loss + change)) continue;
    band[3 * n] = at[i]->iteration;
    band[3 * n + 1] = t->loss - change;
    band[3 * n++ + 2] = t->loss + change;
  }
  return n;
}

// all that replay.html can be made from again: runs with their contacts and gradients, loss, targets
static tgStatus write_npz(const tgCliRun *run, const char *path, tgError *error) {
  enum { MORE = 7 };
  tgNpzArray array[RUNS * TG_TRAJECTORY_ARRAYS + MORE];
  char name[RUNS * TG_TRAJECTORY_ARRAYS][TG_TRAJECTORY_NAME];
  double target[3 * 16], band[6];
  int n = 0;
  for (int i = 0; i < run->ntrajectory && i < RUNS; i++) {
    const tgCliTrajectory *t = &run->trajectory[i];
    tgTrajectory kept = stored(t);
    n += tg_trajectory_arrays(run->model, &kept, run->ntrajectory == 1 ? NULL : t->label, array + n, name + n);
  }
  const tgCliTrajectory *first = &run->trajectory[0];
  if (run->ntrajectory == 1 && first->sensor != NULL)
    array[n++] = (tgNpzArray){.name = "sensor", .type = TG_NPZ_F8, .ndim = 2, .data = first->sensor,
                              .shape = {(size_t)first->steps, (size_t)tg_model_nsensordata(run->model)}};
  array[n++] = (tgNpzArray){.name = "timestep", .type = TG_NPZ_F8, .ndim = 0, .data = &run->h};
  if (run->optimum != NULL) {
    const tgOptimum *o = run->optimum;
    array[n++] = (tgNpzArray){.name = "variables", .type = TG_NPZ_F8, .ndim = 1, .shape = {(size_t)o->n}, .data = o->best};
    array[n++] = (tgNpzArray){.name = "loss_iteration", .type = TG_NPZ_F8, .ndim = 1, .shape = {(size_t)o->ncurve},
                              .data = o->curve_iteration};
    array[n++] = (tgNpzArray){.name = "loss", .type = TG_NPZ_F8, .ndim = 1, .shape = {(size_t)o->ncurve}, .data = o->curve_loss};
    array[n++] = (tgNpzArray){.name = "loss_stage", .type = TG_NPZ_F8, .ndim = 1, .shape = {(size_t)o->ncurve}, .data = o->curve_stage};
    int nband = trust_bands(o, band);
    if (nband > 0) array[n++] = (tgNpzArray){.name = "trust_band", .type = TG_NPZ_F8, .ndim = 2, .shape = {(size_t)nband, 3}, .data = band};
  }
  int ntarget = run->nmarker < 16 ? run->nmarker : 16;
  for (int i = 0; i < ntarget; i++) memcpy(target + 3 * i, run->marker[i].pos, sizeof run->marker[i].pos);
  if (ntarget > 0) array[n++] = (tgNpzArray){.name = "target", .type = TG_NPZ_F8, .ndim = 2, .shape = {(size_t)ntarget, 3}, .data = target};
  return tg_npz_write(path, array, n, error);
}

// "time", then the numbers of each sensor, by its name or place
static void name_sensors(const tgModel *m, char (*label)[96]) {
  snprintf(label[0], sizeof label[0], "time");
  for (int i = 0, adr, n; tg_model_sensor(m, i, NULL, &adr, &n) == TG_OK; i++)
    for (int k = 0; k < n; k++) {
      const char *own = tg_model_name(m, TG_THING_SENSOR, i);
      char stem[80];
      if (own != NULL && own[0] != '\0') snprintf(stem, sizeof stem, "%.70s", own);
      else snprintf(stem, sizeof stem, "sensor%d", i);
      if (n > 1) snprintf(label[1 + adr + k], sizeof label[0], "%s[%d]", stem, k);
      else snprintf(label[1 + adr + k], sizeof label[0], "%s", stem);
    }
}

static tgStatus write_sensors(const tgCliRun *run, const tgCliTrajectory *t, const char *path, tgError *error) {
  int width = tg_model_nsensordata(run->model), columns = 1 + width;
  char(*label)[96] = malloc((size_t)columns * sizeof *label);
  const char **name = malloc((size_t)columns * sizeof *name);
  double *rows = malloc(((size_t)t->steps * (size_t)columns + 1) * sizeof *rows);
  tgStatus st = label != NULL && name != NULL && rows != NULL ? TG_OK : tgi_cli_fail(error, TG_ERR_MEMORY, "out of memory for %s", path);
  if (st == TG_OK) {
    name_sensors(run->model, label);
    for (int k = 0; k < columns; k++) name[k] = label[k];
    for (int i = 0; i < t->steps; i++) {
      rows[(size_t)i * (size_t)columns] = (i + 1) * run->h;
      memcpy(rows + (size_t)i * (size_t)columns + 1, t->sensor + (size_t)i * (size_t)width, (size_t)width * sizeof *rows);
    }
    st = tg_csv_write(path, columns, name, t->steps, rows, error);
  }
  free(label);
  free(name);
  free(rows);
  return st;
}

static tgStatus write_loss(const tgOptimum *o, const char *path, tgError *error) {
  static const char *const name[] = {"iteration", "loss", "best", "stage"};
  enum { COLUMNS = sizeof name / sizeof *name };
  double *rows = malloc(((size_t)o->ncurve * COLUMNS + 1) * sizeof *rows);
  if (rows == NULL) return tgi_cli_fail(error, TG_ERR_MEMORY, "out of memory for %s", path);
  for (int i = 0; i < o->ncurve; i++) {
    double row[COLUMNS] = {o->curve_iteration[i], o->curve_loss[i], o->curve_best[i], o->curve_stage[i]};
    memcpy(rows + COLUMNS * i, row, sizeof row);
  }
  tgStatus st = tg_csv_write(path, COLUMNS, name, o->ncurve, rows, error);
  free(rows);
  return st;
}

static tgStatus write_replay(const tgCliRun *run, const char *path, tgError *error) {
  tgTrajectory kept[RUNS];
  double band[6];
  tgReplayInfo info = {.nfigure = run->nfigure, .figure = run->figure, .nmarker = run->nmarker, .marker = run->marker, .track = run->track};
  if (run->optimum != NULL) {
    info.nloss = run->optimum->ncurve;
    info.loss_x = run->optimum->curve_iteration;
    info.loss_y = run->optimum->curve_loss;
    info.loss_label = "loss";
    info.loss_stage = run->optimum->curve_stage;
    info.nband = trust_bands(run->optimum, band);
    info.band = band;
  }
  tgSim *sim = tg_sim_create(run->model, NULL, NULL, error);
  tgReplay *page = sim != NULL ? tg_replay_create(run->title, error) : NULL;
  tgStatus st = page != NULL ? tg_replay_add_run(page, &info, error) : TG_ERR_MEMORY;
  for (int i = 0; st == TG_OK && i < run->ntrajectory && i < RUNS; i++) {
    const tgCliTrajectory *t = &run->trajectory[i];
    kept[i] = stored(t);
    st = tgi_cli_set_parameters(run->json, t->label, sim, error);
    if (st == TG_OK) st = tg_replay_add_motion(page, sim, &kept[i], t->label, t->iteration, run->h, error);
  }
  if (st == TG_OK) st = tg_replay_write(page, NULL, path, error);
  tg_replay_free(page);
  tg_sim_free(sim);
  return st;
}

// the page last: where the viewer is missing, all that `tangere replay` needs to make it later is there
int tgi_cli_write_run(const tgCliRun *run) {
  tgError error = {0};
  char path[1100];
  int made = tgi_cli_make_folder(run->folder);
  if (made != TG_EXIT_OK) return made;
  snprintf(path, sizeof path, "%s/trajectory.npz", run->folder);
  tgStatus st = write_npz(run, path, &error);
  if (st == TG_OK && run->optimum != NULL) {
    snprintf(path, sizeof path, "%s/loss.csv", run->folder);
    st = write_loss(run->optimum, path, &error);
  }
  if (st == TG_OK && run->ntrajectory == 1 && run->trajectory[0].sensor != NULL) {
    snprintf(path, sizeof path, "%s/sensors.csv", run->folder);
    st = write_sensors(run, &run->trajectory[0], path, &error);
  }
  if (st == TG_OK && (run->json != NULL || tgi_cli_json_is_short())) {
    snprintf(path, sizeof path, "%s/run.json", run->folder);
    st = tgi_cli_write_json(path, run->json, 2, &error);
  }
  if (st == TG_OK && run->replay) {
    snprintf(path, sizeof path, "%s/replay.html", run->folder);
    st = write_replay(run, path, &error);
  }
  if (st == TG_OK) return TG_EXIT_OK;
  error.status = st;
  tgi_cli_error("write", &error);
  return TG_EXIT_FAULT;
}
