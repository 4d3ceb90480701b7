// data.c: tangere convert MODEL (all arrays of the compiled model).
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"

static json_t *names(const tgModel *m, tgKindOfThing kind) {
  json_t *list = json_array();
  for (int i = 0; i < tg_model_count(m, kind); i++) json_array_append_new(list, json_string(tg_model_name(m, kind, i)));
  return list;
}

static json_t *model_json(const tgCli *cli, const tgModel *m) {
  json_t *j = json_pack("{s:s, s:o, s:i, s:i, s:i, s:i, s:o, s:o, s:o, s:o}", "version", tg_version(), "model",
                        tgi_cli_input(cli->file), "nq", tg_model_nq(m), "nv", tg_model_nv(m), "nu", tg_model_nu(m), "na",
                        tg_model_na(m), "bodies", names(m, TG_THING_BODY), "joints", names(m, TG_THING_JOINT), "geoms",
                        names(m, TG_THING_GEOM), "actuators", names(m, TG_THING_ACTUATOR));
  json_t *fields = json_object();
  for (int i = 0; i < tg_model_field_count(m); i++) {
    tgField f = tg_model_field(m, i);
    json_t *data = json_array();
    for (int k = 0; k < f.rows * f.cols; k++)
      json_array_append_new(data, f.scalar == TG_SCALAR_INT ? json_integer(((const int *)f.data)[k])
                            : json_real(((const double *)f.data)[k]));
    json_object_set_new(fields, f.name,
                        json_pack("{s:[i,i], s:s, s:s, s:o}", "shape", f.rows, f.cols, "unit", f.unit, "text", f.text,
                                  "data", data));
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
  tgStatus st = tg_npz_write(path, array, n, error);
  free(array);
  return st;
}

// into the file that --out names; where that cannot be is bad input, as a folder that cannot be made is
static int write_model(const tgCli *cli, const tgModel *m, bool npz) {
  tgError error = {0};
  json_t *j = npz ? NULL : model_json(cli, m);
  tgStatus st = npz ? model_npz(m, cli->out, &error) : tgi_cli_write_json(cli->out, j, 1, &error);
  json_decref(j);
  error.status = st;
  return st == TG_OK ? TG_EXIT_OK : tgi_cli_error("convert", &error);
}

int tgi_cli_convert(const tgCli *cli) {
  int code = TG_EXIT_OK;
  const char *dot = cli->out != NULL ? strrchr(cli->out, '.') : NULL;
  bool npz = dot != NULL && strcmp(dot, ".npz") == 0;
  if (cli->out != NULL && !npz && (dot == NULL || strcmp(dot, ".json") != 0)) {
    tgi_cli_say("tangere convert: --out takes a name that ends in .json or .npz, not '%s'", cli->out);
    return TG_EXIT_USAGE;
  }
  tgModel *m = tgi_cli_load_model(cli, cli->file, &code);
  if (m == NULL) return code;
  code = tgi_cli_make_folder_of(cli->out);
  if (cli->out != NULL && code == TG_EXIT_OK) code = write_model(cli, m, npz);
  if (code == TG_EXIT_OK && cli->json) code = tgi_cli_print_json(model_json(cli, m), code);
  if (code == TG_EXIT_OK)
    tgi_cli_say("%s: %d bodies, %d joints, %d geoms, nq %d, nv %d, na %d, nu %d", cli->file, tg_model_count(m, TG_THING_BODY),
                tg_model_count(m, TG_THING_JOINT), tg_model_count(m, TG_THING_GEOM), tg_model_nq(m), tg_model_nv(m),
                tg_model_na(m), tg_model_nu(m));
  tg_model_free(m);
  return code;
}
