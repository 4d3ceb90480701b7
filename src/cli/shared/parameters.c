// parameters.c: the model parameters that a run decided, kept in its run.json, and put into the simulation that shows it.
#include <math.h>
#include <string.h>

#include "cli/shared/program.h"

static const char KEY[] = "model_parameters";

void tgi_cli_keep_parameters(const tgTask *task, const tgOptimum *o, json_t *run) {
  json_t *list = json_array();
  for (int i = 0, at, entry; tg_task_parameter(task, i, &at) != NULL; i++) {
    const char *array = tg_task_parameter_array(task, i, &entry);
    if (tg_model_field_named(tg_task_model(task), array).data == NULL) continue;   // a number of the contact model moves no pose
    json_array_append_new(list, json_pack("{s:s, s:i, s:f, s:f}", "array", array, "entry", entry, "first", o->first[at],
                                          "best", o->best[at]));
  }
  if (json_array_size(list) > 0) json_object_set(run, KEY, list);
  json_decref(list);
}

tgStatus tgi_cli_set_parameters(const json_t *run, const char *label, tgSim *sim, tgError *error) {
  const json_t *list = json_object_get(run, KEY), *one;
  size_t i;
  label = strcmp(label, "first") == 0 ? label : "best";   // replays are of the best
  json_array_foreach(list, i, one) {
    const char *name = json_string_value(json_object_get(one, "array"));
    const json_t *value = json_object_get(one, label), *entry = json_object_get(one, "entry");
    int rows = 0, cols = 0;
    tgReal *x = name != NULL ? tg_sim_param(sim, name, &rows, &cols) : NULL;
    json_int_t at = json_is_integer(entry) ? json_integer_value(entry) : -1;
    if (x == NULL || at < 0 || at >= (json_int_t)rows * cols || !json_is_number(value))
      return tgi_cli_fail(error, TG_ERR_PARSE, "run.json: entry %zu of %s is none of the model's, or has no number '%s'", i, KEY, label);
    x[at] = json_number_value(value);
  }
  return TG_OK;
}
