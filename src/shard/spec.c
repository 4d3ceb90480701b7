// spec.c: see spec.h. Point p has seed number p mod seeds of combination p / seeds, so that what is written first in a file changes last.
#include "shard/spec.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/status.h"
#include "io/number.h"
#include "tangere/shard.h"

#define FAIL(...) return tgi_error(error, TG_ERR_INVALID, __VA_ARGS__)
enum { MOST_POINTS = 1000000000 };

static tgStatus read_numbers(tgVary *v, const char *file, tgError *error) {
  const YamlVary *y = v->yaml;
  v->number = calloc(y->nvalues + 1, sizeof *v->number);
  if (v->number == NULL) return tgi_error(error, TG_ERR_MEMORY, "%s: out of memory", file);
  for (unsigned i = 0; i < y->nvalues; i++) {
    const char *end = y->values[i] + strlen(y->values[i]);
    if (tgi_number(y->values[i], end, &v->number[i]) != end || !isfinite(v->number[i]))
      FAIL("%s: vary: %s: '%s' is not a finite number", file, v->label, y->values[i]);
  }
  return TG_OK;
}

static void label(tgVary *v) {
  const YamlVary *y = v->yaml;
  char entry[24] = "";
  if (y->entry != NULL) snprintf(entry, sizeof entry, "[%d]", *y->entry);
  if (y->parameter != NULL)
    snprintf(v->label, sizeof v->label, "%s%s%s%s", y->parameter, entry, y->of != NULL ? " of " : "", y->of != NULL ? y->of : "");
  else snprintf(v->label, sizeof v->label, "%s %s", y->option != NULL ? "option" : "task", y->option != NULL ? y->option : y->task);
  for (char *c = v->label; *c != '\0'; c++)
    if (*c == '/' || *c == '\\' || (unsigned char)*c < ' ') *c = '_';   // names of arrays in .npz
}

static tgStatus check_vary(const tgSpec *s, tgVary *v, const char *file, tgError *error) {
  const YamlVary *y = v->yaml;
  if ((y->parameter != NULL) + (y->option != NULL) + (y->task != NULL) != 1)
    FAIL("%s: vary: each entry has one of parameter, option and task", file);
  label(v);
  for (const tgVary *before = s->vary; before < v; before++)
    if (strcmp(before->label, v->label) == 0) FAIL("%s: vary: %s is varied twice", file, v->label);
  if (y->parameter == NULL && (y->of != NULL || y->entry != NULL)) FAIL("%s: vary: %s has no `of` and no `entry`", file, v->label);
  bool words = y->task != NULL && strcmp(y->task, "iterations") != 0;
  if (words && strcmp(y->task, "contact") != 0 && strcmp(y->task, "method") != 0)
    FAIL("%s: vary: task: '%s'; known are contact, method and iterations", file, y->task);
  if (y->nvalues > 0) {
    if (y->low != NULL || y->high != NULL) FAIL("%s: vary: %s has values, or low and high, not both", file, v->label);
    return y->parameter != NULL || (y->task != NULL && !words) ? read_numbers(v, file, error) : TG_OK;
  }
  if (y->task != NULL) FAIL("%s: vary: %s needs values", file, v->label);
  if (s->yaml->how != TG_HOW_RANDOM || y->low == NULL || y->high == NULL)
    FAIL("%s: vary: %s needs values (or, with how: random, low and high)", file, v->label);
  if (!isfinite(*y->low) || !isfinite(*y->high) || !(*y->low <= *y->high) || (y->draw == TG_DRAW_LOG && !(*y->low > 0)))
    FAIL("%s: vary: %s: low %g and high %g make no range%s", file, v->label, *y->low, *y->high,
         y->draw == TG_DRAW_LOG ? " of positive numbers" : "");
  return TG_OK;
}

// how many combinations the things that vary have; beyond what is allowed: more than that
static tgStatus count_combinations(tgSpec *s, const char *file, tgError *error) {
  const YamlSpec *y = s->yaml;
  s->combinations = 1;
  if (y->how == TG_HOW_RANDOM) {
    if (y->samples < 1) FAIL("%s: how: random needs samples, at least 1", file);
    s->combinations = y->samples;
  } else if (y->samples != 0) FAIL("%s: samples: only how: random has them", file);
  for (unsigned k = 0; k < y->nvary && y->how != TG_HOW_RANDOM; k++) {
    int64_t n = y->vary[k].nvalues;
    if (y->how == TG_HOW_GRID && s->combinations <= MOST_POINTS) s->combinations *= n;
    if (y->how == TG_HOW_LIST && k > 0 && n != s->combinations)
      FAIL("%s: how: list takes lists of equal length; %s has %lld values, %s %lld", file, s->vary[k].label, (long long)n,
           s->vary[0].label, (long long)s->combinations);
    if (y->how == TG_HOW_LIST) s->combinations = n;
  }
  return TG_OK;
}

static tgStatus check(tgSpec *s, const char *file, tgError *error) {
  YamlSpec *y = s->yaml;
  for (unsigned k = 0; k < y->nvary; k++) {
    s->vary[k].yaml = &y->vary[k];
    TG_TRY(check_vary(s, &s->vary[k], file, error));
  }
  TG_TRY(count_combinations(s, file, error));
  if (y->trajectory && y->job != TG_JOB_ROLLOUTS) FAIL("%s: trajectory: only job: rollouts writes trajectories", file);
  if (y->seeds < 1) FAIL("%s: seeds is %d: the specification makes no shard; at least 1", file, y->seeds);
  if (y->group < 1) FAIL("%s: group is %d: the specification makes no shard; at least 1", file, y->group);
  s->points = s->combinations > MOST_POINTS ? s->combinations : s->combinations * y->seeds;
  int64_t shards = (s->points - 1) / y->group + 1;
  if (s->points > MOST_POINTS || shards > TG_SHARD_MOST)
    return tgi_error(error, TG_ERR_LIMIT,
                     "%s: %lld points in %lld shards; at most %d points in %d shards: a larger group makes fewer shards", file,
                     (long long)s->points, (long long)shards, MOST_POINTS, TG_SHARD_MOST);
  s->shards = (int)shards;
  return TG_OK;
}

// what the file leaves out is 0 here, and so is what it says is 0
static tgStatus fill_in(const char *text, size_t bytes, const char *file, YamlSpec *yaml, tgError *error) {
  bool seeds, seed, group;
  TG_TRY(tgi_spec_find_key(text, bytes, file, "seeds", &seeds, error));
  TG_TRY(tgi_spec_find_key(text, bytes, file, "seed", &seed, error));
  TG_TRY(tgi_spec_find_key(text, bytes, file, "group", &group, error));
  if (!seeds) yaml->seeds = 1;
  if (!seed) yaml->seed = 1;
  if (!group) yaml->group = 1;
  return TG_OK;
}

tgStatus tgi_spec_parse(const char *text, size_t bytes, const char *file, tgSpec *s, tgError *error) {
  *s = (tgSpec){.yaml = NULL};
  tgStatus st = tgi_spec_yaml(text, bytes, file, &s->yaml, error);
  if (st != TG_OK) return st;
  st = fill_in(text, bytes, file, s->yaml, error);
  if (st == TG_OK) s->vary = calloc(s->yaml->nvary + 1, sizeof *s->vary);
  if (st == TG_OK) st = s->vary == NULL ? tgi_error(error, TG_ERR_MEMORY, "%s: out of memory", file) : check(s, file, error);
  if (st != TG_OK) {
    if (error != NULL && error->file[0] == '\0') snprintf(error->file, sizeof error->file, "%s", file);
    tgi_spec_free(s);
  }
  return st;
}

void tgi_spec_free(tgSpec *s) {
  for (unsigned k = 0; s->vary != NULL && k < s->yaml->nvary; k++) free(s->vary[k].number);
  free(s->vary);
  if (s->yaml != NULL) tgi_spec_yaml_free(s->yaml);
  *s = (tgSpec){.yaml = NULL};
}

int64_t tgi_spec_first(const tgSpec *s, int shard) {
  int64_t first = (int64_t)shard * s->yaml->group;
  return first < s->points ? first : s->points;
}

uint64_t tgi_spec_seed(const tgSpec *s, int64_t point) { return s->yaml->seed + (uint64_t)(point % s->yaml->seeds); }

// which of the values of vary[k] a combination has
static unsigned which(const tgSpec *s, int k, int64_t combination) {
  const YamlSpec *y = s->yaml;
  if (y->how == TG_HOW_LIST) return (unsigned)combination;
  if (y->how == TG_HOW_RANDOM)
    return (unsigned)(tg_random_uniform(y->seed, (uint64_t)k, (uint64_t)combination) * y->vary[k].nvalues);
  for (unsigned j = y->nvary - 1; j > (unsigned)k; j--) combination /= y->vary[j].nvalues;
  return (unsigned)(combination % y->vary[k].nvalues);
}

double tgi_spec_value(const tgSpec *s, int k, int64_t point, char *text, size_t size) {
  const tgVary *v = &s->vary[k];
  const YamlVary *y = v->yaml;
  int64_t combination = point / s->yaml->seeds;
  double value;
  if (y->nvalues > 0) {
    unsigned i = which(s, k, combination);
    const char *word = y->values[i], *end = word + strlen(word);
    snprintf(text, size, "%s", word);
    if (v->number != NULL) return v->number[i];
    return tgi_number(word, end, &value) == end ? value : i;   // a word: which of them it is
  }
  double u = tg_random_uniform(s->yaml->seed, (uint64_t)k, (uint64_t)combination);
  // neither quotient nor difference of the bounds: each may overflow
  value = y->draw == TG_DRAW_LOG ? exp((1 - u) * log(*y->low) + u * log(*y->high)) : (1 - u) * *y->low + u * *y->high;
  value = fmin(fmax(value, *y->low), *y->high);
  snprintf(text, size, "%.17g", value);
  return value;
}
