// spec.h: a specification of shards: what the file says, and the points that it makes.
#ifndef TG_SHARD_SPEC_H
#define TG_SHARD_SPEC_H

#include "tangere/base.h"

typedef enum tgJob { TG_JOB_OPTIMIZE, TG_JOB_ROLLOUTS, TG_JOB_GRADIENT } tgJob;
typedef enum tgHow { TG_HOW_GRID, TG_HOW_LIST, TG_HOW_RANDOM } tgHow;
typedef enum tgDraw { TG_DRAW_UNIFORM, TG_DRAW_LOG } tgDraw;

// what the file says (filled by libcyaml; a pointer is NULL where the file is silent)
typedef struct YamlVary {
  char *parameter, *of, *option, *task;   // one of parameter, option and task
  int *entry;
  char **values; unsigned nvalues;
  double *low, *high;
  tgDraw draw;
} YamlVary;
typedef struct YamlSpec {
  char *task, *variables;
  tgJob job;
  tgHow how;
  int samples, seeds, group;
  uint64_t seed;
  YamlVary *vary; unsigned nvary;
  bool trajectory;
} YamlSpec;

/// One thing that varies, its label and, where its values are numbers, these.
typedef struct tgVary {
  const YamlVary *yaml;
  char label[160];
  double *number;           // nvalues, or NULL: words, or drawn between bounds
} tgVary;

typedef struct tgSpec {
  YamlSpec *yaml;
  tgVary *vary;             // yaml->nvary
  int64_t combinations, points;
  int shards;
} tgSpec;

/// Parses and checks; errors name file, line and field.
tgStatus tgi_spec_parse(const char *text, size_t bytes, const char *file, tgSpec *spec, tgError *error);
void tgi_spec_free(tgSpec *spec);
const char *tgi_job_word(tgJob job);
/// *found: the outermost mapping of the text has the key. TG_ERR_MEMORY.
tgStatus tgi_spec_find_key(const char *text, size_t bytes, const char *file, const char *key, bool *found, tgError *error);

/// First point of a shard; that of the number of shards is the number of points.
int64_t tgi_spec_first(const tgSpec *spec, int shard);
/// Seed of a point.
uint64_t tgi_spec_seed(const tgSpec *spec, int64_t point);
/// What vary[k] is at a point: a number, and its text as an option takes it (text: 64 bytes).
double tgi_spec_value(const tgSpec *spec, int k, int64_t point, char *text, size_t size);

/// libcyaml's part (spec_yaml.c).
tgStatus tgi_spec_yaml(const char *text, size_t bytes, const char *file, YamlSpec **out, tgError *error);
void tgi_spec_yaml_free(YamlSpec *yaml);

#endif
