// spec_yaml.c: the schema of specifications.
#include "base/status.h"
#include "optim/yaml.h"
#include "shard/spec.h"

static const cyaml_strval_t job_words[] = {{"optimize", TG_JOB_OPTIMIZE}, {"rollouts", TG_JOB_ROLLOUTS}, {"gradient", TG_JOB_GRADIENT}};
static const cyaml_strval_t how_words[] = {{"grid", TG_HOW_GRID}, {"list", TG_HOW_LIST}, {"random", TG_HOW_RANDOM}};
static const cyaml_strval_t draw_words[] = {{"uniform", TG_DRAW_UNIFORM}, {"log", TG_DRAW_LOG}};
#define COUNT(a) ((uint32_t)(sizeof(a) / sizeof *(a)))

static const cyaml_schema_value_t word = {CYAML_VALUE_STRING(CYAML_FLAG_POINTER, char, 1, 63)};
static const cyaml_schema_field_t vary_fields[] = {
    CYAML_FIELD_STRING_PTR("parameter", CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL, YamlVary, parameter, 1, 63),
    CYAML_FIELD_STRING_PTR("of", CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL, YamlVary, of, 1, 63),
    CYAML_FIELD_STRING_PTR("option", CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL, YamlVary, option, 1, 63),
    CYAML_FIELD_STRING_PTR("task", CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL, YamlVary, task, 1, 63),
    CYAML_FIELD_INT_PTR("entry", CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL, YamlVary, entry),
    CYAML_FIELD_SEQUENCE_COUNT("values", CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL, YamlVary, values, nvalues, &word, 1, 1000000),
    CYAML_FIELD_FLOAT_PTR("low", CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL, YamlVary, low),
    CYAML_FIELD_FLOAT_PTR("high", CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL, YamlVary, high),
    CYAML_FIELD_ENUM("draw", CYAML_FLAG_STRICT | CYAML_FLAG_OPTIONAL, YamlVary, draw, draw_words, COUNT(draw_words)),
    CYAML_FIELD_END};
static const cyaml_schema_value_t vary_value = {CYAML_VALUE_MAPPING(CYAML_FLAG_DEFAULT, YamlVary, vary_fields)};
static const cyaml_schema_field_t spec_fields[] = {
    CYAML_FIELD_STRING_PTR("task", CYAML_FLAG_POINTER, YamlSpec, task, 1, 1000),
    CYAML_FIELD_ENUM("job", CYAML_FLAG_STRICT, YamlSpec, job, job_words, COUNT(job_words)),
    CYAML_FIELD_INT("seeds", CYAML_FLAG_OPTIONAL, YamlSpec, seeds),
    CYAML_FIELD_UINT("seed", CYAML_FLAG_OPTIONAL, YamlSpec, seed),
    CYAML_FIELD_ENUM("how", CYAML_FLAG_STRICT | CYAML_FLAG_OPTIONAL, YamlSpec, how, how_words, COUNT(how_words)),
    CYAML_FIELD_INT("samples", CYAML_FLAG_OPTIONAL, YamlSpec, samples),
    CYAML_FIELD_SEQUENCE_COUNT("vary", CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL, YamlSpec, vary, nvary, &vary_value, 0, 100),
    CYAML_FIELD_INT("group", CYAML_FLAG_OPTIONAL, YamlSpec, group),
    CYAML_FIELD_STRING_PTR("variables", CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL, YamlSpec, variables, 1, 1000),
    CYAML_FIELD_BOOL("trajectory", CYAML_FLAG_OPTIONAL, YamlSpec, trajectory),
    CYAML_FIELD_END};
static const cyaml_schema_value_t spec_schema = {CYAML_VALUE_MAPPING(CYAML_FLAG_POINTER, YamlSpec, spec_fields)};

tgStatus tgi_spec_yaml(const char *text, size_t bytes, const char *file, YamlSpec **out, tgError *error) {
  return tgi_yaml_parse(text, bytes, file, &spec_schema, (void **)out, error);
}

void tgi_spec_yaml_free(YamlSpec *yaml) { tgi_yaml_free(&spec_schema, yaml); }

const char *tgi_job_word(tgJob job) { return job_words[job].str; }

tgStatus tgi_spec_find_key(const char *text, size_t bytes, const char *file, const char *key, bool *found, tgError *error) {
  yaml_parser_t parser;
  yaml_event_t event = {0};
  *found = false;
  if (!yaml_parser_initialize(&parser)) return tgi_error(error, TG_ERR_MEMORY, "%s: out of memory", file);
  yaml_parser_set_input_string(&parser, (const unsigned char *)text, bytes);
  *found = tgi_yaml_find(&parser, &event, key);
  bool is_short = parser.error == YAML_MEMORY_ERROR;
  yaml_event_delete(&event);
  yaml_parser_delete(&parser);
  return is_short ? tgi_error(error, TG_ERR_MEMORY, "%s: out of memory", file) : TG_OK;
}
