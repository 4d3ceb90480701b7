// option.c: see option.h.
#include "sim/option.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/status.h"
#include "io/number.h"

_Static_assert(sizeof(tgOptionType) == sizeof(int), "words of options are kept as integers");

static const tgiOption *line_named(const tgiOptionList *list, const char *name) {
  for (int i = 0; i < list->n; i++)
    if (strcmp(list->option[i].is.name, name) == 0) return &list->option[i];
  return NULL;
}

const tgiOption *tgi_option_named(const tgiOptionList *list, const char *name) {
  const tgiOption *o = line_named(list, name);
  if (o == NULL || o->former) return NULL;
  return o->now != NULL ? line_named(list, o->now) : o;
}

const char *tgi_option_now(const tgiOptionList *list, const char *old) {
  const tgiOption *o = line_named(list, old);
  return o != NULL && o->former ? o->now : NULL;
}

// place of the last word
static int last_word(const char *words) {
  int n = 0;
  for (const char *c = words; *c != '\0'; c++) n += *c == ' ';
  return n;
}

tgOption tgi_option_public(const tgiOptionList *list, const tgiOption *option) {
  tgOption o = option->is;
  if (o.type == TG_OPTION_WORD) o.most = last_word(o.words);
  for (int i = 0; i < list->n; i++) {
    const tgiOption *other = &list->option[i];
    if (other->now != NULL && !other->former && strcmp(other->now, o.name) == 0) o.alias = other->is.name;
  }
  return o;
}

double tgi_option_get(const tgiOption *option, const void *options) {
  const char *at = (const char *)options + option->at;
  double number;
  int integer;
  bool boolean;
  switch (option->is.type) {
    case TG_OPTION_NUMBER: memcpy(&number, at, sizeof number); return number;
    case TG_OPTION_BOOLEAN: memcpy(&boolean, at, sizeof boolean); return boolean;
    case TG_OPTION_INTEGER:
    case TG_OPTION_WORD: memcpy(&integer, at, sizeof integer); return integer;
  }
  return NAN;
}

static void put(const tgiOption *option, void *options, double value) {
  char *at = (char *)options + option->at;
  bool boolean = value != 0;
  bool whole = option->is.type == TG_OPTION_INTEGER || option->is.type == TG_OPTION_WORD;
  int integer = whole ? (int)value : 0;  // a number may lie beyond what an int holds
  switch (option->is.type) {
    case TG_OPTION_NUMBER: memcpy(at, &value, sizeof value); return;
    case TG_OPTION_BOOLEAN: memcpy(at, &boolean, sizeof boolean); return;
    case TG_OPTION_INTEGER:
    case TG_OPTION_WORD: memcpy(at, &integer, sizeof integer); return;
  }
}

// place of `text` among the words; -1: it is none of them
static int word_at(const char *words, const char *text) {
  size_t n = strlen(text);
  int at = 0;
  for (const char *w = words; n > 0 && w != NULL; at++) {
    const char *end = strchr(w, ' ');
    if (strcspn(w, " ") == n && strncmp(w, text, n) == 0) return at;
    w = end != NULL ? end + 1 : NULL;
  }
  return -1;
}

static bool number_of(const char *text, double *x) {
  const char *end = text + strlen(text);
  return tgi_number(text, end, x) == end && isfinite(*x);
}

static bool value_of(const tgOption *o, const char *text, double *x) {
  switch (o->type) {
    case TG_OPTION_NUMBER: return number_of(text, x);
    case TG_OPTION_INTEGER: return number_of(text, x) && *x == floor(*x) && fabs(*x) <= 1e9;
    case TG_OPTION_BOOLEAN:
      *x = strcmp(text, "true") == 0;
      return *x != 0 || strcmp(text, "false") == 0;
    case TG_OPTION_WORD:
      *x = word_at(o->words, text);
      return *x >= 0;
  }
  return false;
}

static const char *takes(const tgOption *o, char *text, size_t size) {
  static const char *const kind[] = {"a number", "an integer", "true or false", "one of "};
  size_t used = (size_t)snprintf(text, size, "%s", kind[o->type]);
  for (const char *c = o->type == TG_OPTION_WORD ? o->words : ""; *c != '\0' && used < size; c++)
    used += (size_t)snprintf(text + used, size - used, *c == ' ' ? ", " : "%c", *c);
  return text;
}

static tgStatus refuse(const tgiOptionList *list, const tgOption *o, const char *text, tgError *error) {
  char what[200], pair[160];
  snprintf(pair, sizeof pair, "%s: %s", o->name, text);
  const char *instead = tgi_option_now(list, pair);
  if (instead != NULL) return tgi_error(error, TG_ERR_ARG, "Contact option %s is gone; give %s.", pair, instead);
  return tgi_error(error, TG_ERR_ARG, "Contact option %s takes %s, not '%.60s'.", o->name, takes(o, what, sizeof what), text);
}

tgStatus tgi_option_read(const tgiOptionList *list, const tgiOption *option, void *options, const char *text, tgError *error) {
  double value;
  if (!value_of(&option->is, text, &value)) return refuse(list, &option->is, text, error);
  put(option, options, value);
  return TG_OK;
}

void tgi_options_default(const tgiOptionList *list, void *options) {
  for (int i = 0; i < list->n; i++)
    if (list->option[i].now == NULL) put(&list->option[i], options, list->option[i].is.value);
}

tgStatus tgi_options_check(const tgiOptionList *list, const char *word, const void *options, tgError *error) {
  for (int i = 0; i < list->n; i++) {
    if (list->option[i].now != NULL) continue;
    tgOption o = tgi_option_public(list, &list->option[i]);
    double value = tgi_option_get(&list->option[i], options);
    if (!(value >= o.least && value <= o.most))
      return tgi_error(error, TG_ERR_ARG, "Contact option %s of '%s' is %g; give %g to %g.", o.name, word, value, o.least, o.most);
  }
  return TG_OK;
}
