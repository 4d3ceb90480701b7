// data.c: tangere convert MODEL (all arrays of the compiled model) and tangere replay FOLDER (replay.html again).
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "output/npz.h"
#include "output/trajectory.h"
#include "sim/sim.h"

static json_t *names(const tgModel *m, tgKindOfThing kind) {
  json_t *list = json_array();
  for (int i = 0; i < tg_model_count(m, kind); i++) json_array_append_new(list, json_string(tg_model_name(m, kind, i)));
  return list;
}

static json_t *model_json(const tgCli *cli, const tgModel *m) {
  json_t *j = json_pack("{s:s, s:o, s:i, s:i, s:i, s:o, s:o, s:o, s:o}", "version", tg_version(), "model", tgi_cli_input(cli->file), "nq",
                        tg_model_nq(m), "nv", tg_model_nv(m), "nu", tg_model_nu(m), "bodies", names(m, TG_THING_BODY), "joints",
                        names(m, TG_THING_JOINT), "geoms", names(m, TG_THING_GEOM), "actuators", names(m, TG_THING_ACTUATOR));
  json_t *fields = json_object();
  for (int i = 0; i < tg_model_field_count(m); i++) {
    tgField f = tg_model_field(m, i);
    json_t *data = json_array();
    for (int k = 0; k < f.rows * f.cols; k++)
      json_array_append_new(data, f.scalar == TG_SCALAR_INT ? json_integer(((const int *)f.data)[k]) : json_real(((const double *)f.data)[k]));
    json_object_set_new(fields, f.name, json_pack("{s:[i,i], s:s, s:s, s:o}", "shape", f.rows, f.cols, "unit", f.unit, "text", f.text, "data", data));
  }
  json_object_set_new(j, "fields", fields);
  return j;
}

static tgStatus model_npz(const tgModel *m, const char *path, tgError *error) {
  int n = tg_model_field_count(m);
  tgNpzArray *array = calloc((size_t)n + 1, sizeof *array);
  if (array == NULL) return TG_ERR_MEMORY;
  for (int i = 0; i < n; i++) {
    tgField f = tg_model_field(m, i);
    array[i] = (tgNpzArray){.name = f.name, .type = f.scalar == TG_SCALAR_INT ? TG_NPZ_I4 : TG_NPZ_F8, .ndim = 2,
                            .shape = {(size_t)f.rows, (size_t)f.cols}, .data = f.data};
  }
  tgStatus st = tgi_npz_write(path, array, n, error);
  free(array);
  return st;
}

int tgi_cli_convert(const tgCli *cli) {
  tgError error = {0};
  tgModel *m = tgi_cli_load_model(cli, cli->file);
  if (m == NULL) return TG_EXIT_INPUT;
  int code = TG_EXIT_OK;
  const char *dot = cli->out != NULL ? strrchr(cli->out, '.') : NULL;
  if (dot != NULL && strcmp(dot, ".npz") == 0) {
    error.status = model_npz(m, cli->out, &error);
    if (error.status != TG_OK) code = tgi_cli_error("convert", &error);
  } else if (cli->out != NULL && (dot == NULL || strcmp(dot, ".json") != 0)) {
    tgi_cli_say("tangere convert: --out takes a name that ends in .json or .npz, not '%s'", cli->out);
    code = TG_EXIT_USAGE;
  } else if (cli->out != NULL) {
    json_t *j = model_json(cli, m);
    if (json_dump_file(j, cli->out, JSON_INDENT(1) | JSON_REAL_PRECISION(17) | JSON_PRESERVE_ORDER) != 0) {
      tgi_cli_say("tangere convert: %s cannot be written", cli->out);
      code = TG_EXIT_FAULT;
    }
    json_decref(j);
  }
  if (code == TG_EXIT_OK && cli->json) code = tgi_cli_print_json(model_json(cli, m), code);
  if (code == TG_EXIT_OK)
    tgi_cli_say("%s: %d bodies, %d joints, %d geoms, nq %d, nv %d, nu %d", cli->file, m->nbody, m->njnt, m->ngeom, m->nq, m->nv, m->nu);
  tg_model_free(m);
  return code;
}

// poses of the bodies from stored coordinates, contacts as stored
static tgStatus frames(tgSim *sim, const tgTrajectory *stored, tgRecorder *r) {
  size_t nq = (size_t)tg_model_nq(tg_sim_model(sim));
  for (size_t i = 0; i <= (size_t)stored->steps; i++) {
    memcpy(tg_sim_qpos(sim), stored->q + i * nq, nq * sizeof(double));
    tgStatus st = tg_sim_forward(sim);
    if (st == TG_OK) st = tgi_recorder_add(r, sim, false);
    if (st != TG_OK) return st;
  }
  return TG_OK;
}

enum { KEPT_FIGURES = 4, KEPT_TARGETS = 16, KEPT_RUNS = 3 };

// what a replay is made from again
typedef struct Kept {
  tgReplayModel store;
  tgRecorder recorder[KEPT_RUNS];
  tgReplayTrajectory shown[KEPT_RUNS];
  tgReplayMarker marker[KEPT_TARGETS];
  tgReplayFigure figure[KEPT_FIGURES];
  tgReplayDef def;
} Kept;

static tgStatus keep_runs(const tgCli *cli, const tgModel *m, const tgNpz *npz, Kept *k, tgError *error) {
  static const char *const label[KEPT_RUNS] = {"", "first", "best"};
  const tgNpzArray *h = tgi_npz_get(npz, cli->file, "timestep", TG_NPZ_F8, 0, NULL, error);
  if (h == NULL) return TG_ERR_PARSE;
  tgSim *sim = tg_sim_create(m, NULL, NULL, error);
  tgStatus st = sim == NULL ? TG_ERR_MEMORY : TG_OK;
  for (int i = 0; i < KEPT_RUNS && st == TG_OK; i++) {
    tgTrajectory stored;
    if (!tgi_trajectory_has(npz, label[i])) continue;
    tgRecorder *r = &k->recorder[i];
    tgi_recorder_init(r, m, NULL);
    st = tgi_trajectory_find(npz, cli->file, m, label[i], &stored, error);
    if (st == TG_OK && (st = frames(sim, &stored, r)) != TG_OK) *error = *tg_sim_error(sim);
    if (st != TG_OK) break;
    tgReplayTrajectory *t = &k->shown[k->def.ntrajectory++];
    *t = tgi_recorder_trajectory(r, i == 0 ? "simulation" : label[i], NAN, *(const double *)h->data, 2000);
    t->contact_offset = stored.contact_offset;
    t->contact_pos = stored.contact_pos;
    t->contact_force = stored.contact_force;
  }
  tg_sim_free(sim);
  return st;
}

// the iterates' places on the curve: the first, and the least finite loss
static void keep_loss(const tgNpz *npz, Kept *k) {
  const size_t any[] = {SIZE_MAX};
  const tgNpzArray *x = tgi_npz_get(npz, "", "loss_iteration", TG_NPZ_F8, 1, any, NULL);
  const tgNpzArray *y = x == NULL ? NULL : tgi_npz_get(npz, "", "loss", TG_NPZ_F8, 1, x->shape, NULL);
  if (y == NULL || x->shape[0] == 0 || x->shape[0] > INT_MAX) return;
  const double *loss = y->data, *iteration = x->data;
  k->def.nloss = (int)x->shape[0];
  k->def.loss_x = iteration;
  k->def.loss_y = loss;
  k->def.loss_label = "loss";
  if (k->def.ntrajectory != 2) return;
  k->shown[0].iteration = iteration[0];
  k->shown[1].iteration = iteration[tgi_cli_least(loss, k->def.nloss)];
}

static void keep_targets(const tgNpz *npz, Kept *k) {
  const size_t shape[] = {SIZE_MAX, 3};
  const tgNpzArray *target = tgi_npz_get(npz, "", "target", TG_NPZ_F8, 2, shape, NULL);
  for (size_t i = 0; target != NULL && i < target->shape[0] && i < KEPT_TARGETS; i++) {
    tgReplayMarker *mark = &k->marker[k->def.nmarker++];
    *mark = (tgReplayMarker){.name = "target", .rgba = TG_CLI_TARGET_COLOR};
    memcpy(mark->pos, (const double *)target->data + 3 * i, sizeof mark->pos);
  }
}

static void keep_figures(const json_t *run, Kept *k) {
  static const char *const key[KEPT_FIGURES] = {"first_loss", "best_loss", "simulations", "distance_m"};
  static const char *const name[KEPT_FIGURES] = {"loss, first", "loss, best", "simulations", "distance [m]"};
  for (int i = 0; i < KEPT_FIGURES; i++) {
    const json_t *value = json_object_get(run, key[i]);
    if (json_is_number(value)) k->figure[k->def.nfigure++] = (tgReplayFigure){.name = name[i], .value = json_number_value(value)};
  }
}

static int rebuild(const tgCli *cli, const tgModel *m, const tgNpz *npz, const json_t *run) {
  tgError error = {0};
  Kept k = {0};
  const char *task = json_string_value(json_object_get(json_object_get(run, "task"), "path"));
  const char *model = json_string_value(json_object_get(json_object_get(run, "model"), "path"));
  k.def = (tgReplayDef){.title = tgi_cli_base_name(task != NULL ? task : model), .trajectory = k.shown, .marker = k.marker, .figure = k.figure};
  tgStatus st = tgi_replay_model(m, NULL, &k.store, &k.def);
  if (st == TG_OK) st = keep_runs(cli, m, npz, &k, &error);
  if (st == TG_OK) {
    keep_loss(npz, &k);
    keep_targets(npz, &k);
    keep_figures(run, &k);
    int track = tg_model_find(m, TG_THING_BODY, json_string_value(json_object_get(run, "track_body")));
    k.def.track = track > 0 ? track : 0;
  }
  char path[1100];
  if (cli->out != NULL) snprintf(path, sizeof path, "%s", cli->out);
  else snprintf(path, sizeof path, "%s/replay.html", cli->file);
  if (st == TG_OK) st = tgi_replay_write(&k.def, NULL, path, &error);
  if (st == TG_OK) tgi_cli_say("wrote %s", path);
  else if (error.text[0] == '\0') snprintf(error.text, sizeof error.text, "%s", tg_status_text(st));
  error.status = st;
  for (int i = 0; i < KEPT_RUNS; i++) tgi_recorder_free(&k.recorder[i]);
  tgi_replay_model_free(&k.store);
  return st == TG_OK ? TG_EXIT_OK : tgi_cli_error("replay", &error);
}

int tgi_cli_replay(const tgCli *cli) {
  tgError error = {0};
  char path[1100];
  json_error_t why;
  snprintf(path, sizeof path, "%s/run.json", cli->file);
  json_t *run = json_load_file(path, JSON_REJECT_DUPLICATES, &why);
  const char *model_path = run != NULL ? json_string_value(json_object_get(json_object_get(run, "model"), "path")) : NULL;
  if (model_path == NULL) {
    tgi_cli_say("tangere replay: %s: %s; give the folder that simulate or optimize wrote", path, run != NULL ? "it names no model" : why.text);
    json_decref(run);
    return TG_EXIT_INPUT;
  }
  tgNpz npz;
  snprintf(path, sizeof path, "%s/trajectory.npz", cli->file);
  tgModel *m = tgi_cli_load_model(cli, model_path);
  int code = TG_EXIT_INPUT;
  if (m != NULL) {
    error.status = tgi_npz_read(path, 0, NULL, &npz, &error);
    if (error.status != TG_OK) code = tgi_cli_error("replay", &error);
    else {
      code = rebuild(cli, m, &npz, run);
      tgi_npz_free(&npz);
    }
  }
  tg_model_free(m);
  json_decref(run);
  return code;
}
