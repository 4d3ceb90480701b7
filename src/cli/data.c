// data.c: tangere convert MODEL (all arrays of the compiled model) and tangere replay FOLDER (replay.html again).
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "output/npz.h"
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
  if (code == TG_EXIT_OK && cli->json) tgi_cli_print_json(model_json(cli, m));
  if (code == TG_EXIT_OK)
    tgi_cli_say("%s: %d bodies, %d joints, %d geoms, nq %d, nv %d, nu %d", cli->file, m->nbody, m->njnt, m->ngeom, m->nq, m->nv, m->nu);
  tg_model_free(m);
  return code;
}

// frames from stored coordinates; contact forces are not stored, so the replay shows none
static tgStatus frames(tgSim *sim, const tgNpzArray *q, tgCliTrajectory *t) {
  tgi_recorder_init(&t->recorder, tg_sim_model(sim), NULL);
  size_t nq = (size_t)tg_model_nq(tg_sim_model(sim));
  for (size_t i = 0; i < q->shape[0]; i++) {
    memcpy(tg_sim_qpos(sim), (const double *)q->data + i * nq, nq * sizeof(double));
    tgStatus st = tg_sim_forward(sim);
    if (st == TG_OK) st = tgi_recorder_add(&t->recorder, sim, false);
    if (st != TG_OK) return st;
  }
  return TG_OK;
}

static int rebuild(const tgCli *cli, const tgModel *m, const tgNpz *npz, json_t *run) {
  tgError error = {0};
  static const char *const wanted[] = {"qpos", "qpos_first", "qpos_best"}, *const label[] = {"simulation", "first", "best"};
  const tgNpzArray *h = tgi_npz_find(npz, "timestep");
  tgCliTrajectory t[3] = {0};
  tgReplayTrajectory shown[3];
  tgReplayModel store;
  tgReplayDef def = {.title = tgi_cli_base_name(cli->file), .trajectory = shown};
  tgSim *sim = tg_sim_create(m, NULL, NULL, &error);
  tgStatus st = sim == NULL || tgi_replay_model(m, NULL, &store, &def) != TG_OK ? TG_ERR_MEMORY : TG_OK;
  (void)run;
  for (int k = 0; k < 3 && st == TG_OK; k++) {
    size_t shape[2] = {SIZE_MAX, (size_t)m->nq};
    if (tgi_npz_find(npz, wanted[k]) == NULL) continue;
    const tgNpzArray *q = tgi_npz_get(npz, cli->file, wanted[k], TG_NPZ_F8, 2, shape, &error);
    st = q == NULL ? TG_ERR_PARSE : frames(sim, q, &t[k]);
    if (st == TG_OK) shown[def.ntrajectory++] = tgi_recorder_trajectory(&t[k].recorder, label[k], NAN, h != NULL ? *(const double *)h->data : 1, 2000);
  }
  char path[1100];
  if (cli->out != NULL) snprintf(path, sizeof path, "%s", cli->out);
  else snprintf(path, sizeof path, "%s/replay.html", cli->file);
  if (st == TG_OK) st = tgi_replay_write(&def, NULL, path, &error);
  if (st == TG_OK) tgi_cli_say("wrote %s", path);
  else if (error.text[0] == '\0') snprintf(error.text, sizeof error.text, "%s", sim != NULL ? tg_sim_error(sim)->text : tg_status_text(st));
  error.status = st;
  for (int k = 0; k < 3; k++)
    if (t[k].recorder.body_pos != NULL) tgi_recorder_free(&t[k].recorder);
  if (sim != NULL && def.ngeom > 0) tgi_replay_model_free(&store);
  tg_sim_free(sim);
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
    tgi_cli_say("tangere replay: %s:%d: %s; give the folder that simulate or optimize wrote", path, run != NULL ? 0 : why.line,
                run != NULL ? "it names no model" : why.text);
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
