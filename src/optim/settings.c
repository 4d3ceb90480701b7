// settings.c: see settings.h. The mapping is read by events of libyaml.
#include "optim/settings.h"

#include <stdio.h>
#include <string.h>
#include <yaml.h>

#include "base/memory.h"
#include "base/status.h"
#include "optim/yaml.h"

tgStatus tgi_settings_add(tgSettings *s, const char *name, const char *value, int line, int column, tgError *error) {
  tgSetting add = {.line = line, .column = column};
  if (strlen(name) >= sizeof add.name || strlen(value) >= sizeof add.value)
    return tgi_error(error, TG_ERR_ARG, "Contact option %.60s: '%.60s' is too long.", name, value);
  strcpy(add.name, name);
  strcpy(add.value, value);
  tgSetting *more = s->alloc.alloc(s->alloc.ctx, tgi_size_mul((size_t)s->n + 1, sizeof *more));
  if (more == NULL) return tgi_error(error, TG_ERR_MEMORY, "out of memory for the options of a contact model");
  for (int i = 0; i < s->n; i++) more[i] = s->setting[i];
  more[s->n++] = add;
  s->alloc.free(s->alloc.ctx, s->setting);
  s->setting = more;
  return TG_OK;
}

tgStatus tgi_settings_append(tgSettings *s, const tgSettings *more, tgError *error) {
  for (int i = 0; i < more->n; i++) {
    const tgSetting *p = &more->setting[i];
    TG_TRY(tgi_settings_add(s, p->name, p->value, p->line, p->column, error));
  }
  return TG_OK;
}

void tgi_settings_free(tgSettings *s) {
  s->alloc.free(s->alloc.ctx, s->setting);
  s->setting = NULL;
  s->n = 0;
}

bool tgi_settings_take(tgSettings *s, const char *name, char value[64]) {
  for (int i = 0; i < s->n; i++) {
    if (strcmp(s->setting[i].name, name) != 0) continue;
    strcpy(value, s->setting[i].value);
    s->n--;
    for (int k = i; k < s->n; k++) s->setting[k] = s->setting[k + 1];
    return true;
  }
  return false;
}

static tgStatus offer_all(const tgSettings *s, tgAnyContactOptions *options, tgError *error) {
  for (int i = 0; i < s->n; i++) {
    const tgSetting *p = &s->setting[i];
    tgStatus st = tg_contact_offer(&options->of, p->name, p->value, NULL, error);
    if (st != TG_OK && error != NULL && p->line > 0) {
      error->line = p->line;
      error->column = p->column;
    }
    if (st != TG_OK) return st;
  }
  return TG_OK;
}

tgStatus tgi_settings_apply(const tgSettings *s, const tgSettings *more, const char *word, tgAnyContactOptions *options, tgError *error) {
  tg_contact_default(word, &options->of, sizeof *options);
  if (options->of.word == NULL) return TG_OK;   // which tg_contact_create says better
  TG_TRY(offer_all(s, options, error));
  return more != NULL ? offer_all(more, options, error) : TG_OK;
}

// ---- from a file ----

typedef struct Reader {
  yaml_parser_t parser;
  yaml_event_t event;      // the present one
  const char *file, *key, *word;
  tgSettings *settings;
  tgError *error;
} Reader;

static bool next(Reader *r) {
  yaml_event_delete(&r->event);
  return yaml_parser_parse(&r->parser, &r->event) != 0;
}

static tgStatus wrong(const Reader *r, const char *what) {
  int line = (int)r->event.start_mark.line + 1, column = (int)r->event.start_mark.column + 1;
  if (r->error != NULL) {
    *r->error = (tgError){.line = line, .column = column};
    snprintf(r->error->element, sizeof r->error->element, "%s", r->key);
    snprintf(r->error->file, sizeof r->error->file, "%s", r->file);
  }
  return tgi_error(r->error, TG_ERR_PARSE, "%s: %s, in %s (line: %d, column: %d)", r->file, what, r->key, line, column);
}

static const char *scalar(const Reader *r) { return r->event.type == YAML_SCALAR_EVENT ? (const char *)r->event.data.scalar.value : NULL; }

// the present scalar is the value of `name`
static tgStatus add(const Reader *r, const char *name, yaml_mark_t at) {
  return tgi_settings_add(r->settings, name, scalar(r), (int)at.line + 1, (int)at.column + 1, r->error);
}

// one pair, at its name
static tgStatus read_pair(Reader *r) {
  char name[sizeof r->settings->setting->name];
  yaml_mark_t mark = r->event.start_mark;
  if (scalar(r) == NULL || strlen(scalar(r)) >= sizeof name) return wrong(r, "an option's name is expected");
  strcpy(name, scalar(r));
  for (int i = 0; i < r->settings->n; i++)
    if (strcmp(r->settings->setting[i].name, name) == 0) return wrong(r, "this option was given before");
  if (!next(r) || scalar(r) == NULL) return wrong(r, "an option's value is expected");
  return add(r, name, mark);
}

static tgStatus read_mapping(Reader *r) {
  if (r->word != NULL && scalar(r) != NULL) return add(r, r->word, r->event.start_mark);
  if (r->event.type != YAML_MAPPING_START_EVENT) return wrong(r, "a mapping of names to values is expected");
  while (next(r)) {
    if (r->event.type == YAML_MAPPING_END_EVENT) return TG_OK;
    tgStatus st = read_pair(r);
    if (st != TG_OK) return st;
  }
  return wrong(r, "the mapping does not end");
}

// reads on to where the settings are: the value of r->key in the file, or in item k of its list `refine`. False: there are none.
static bool find(Reader *r, int k) {
  if (k < 0) return tgi_yaml_find(&r->parser, &r->event, r->key);
  if (!tgi_yaml_find(&r->parser, &r->event, "refine")) return false;
  for (int i = 0; i < k; i++) {
    if (!next(r)) return false;
    tgi_yaml_find_in(&r->parser, &r->event, NULL);
  }
  return next(r) && tgi_yaml_find_in(&r->parser, &r->event, r->key);
}

static tgStatus read(Reader r, int k, const char *text, size_t bytes) {
  if (!yaml_parser_initialize(&r.parser)) return tgi_error(r.error, TG_ERR_MEMORY, "%s: out of memory", r.file);
  yaml_parser_set_input_string(&r.parser, (const unsigned char *)text, bytes);
  tgStatus st = find(&r, k) ? read_mapping(&r) : TG_OK;
  if (r.parser.error == YAML_MEMORY_ERROR) st = tgi_error(r.error, TG_ERR_MEMORY, "%s: out of memory", r.file);
  yaml_event_delete(&r.event);
  yaml_parser_delete(&r.parser);
  return st;
}

tgStatus tgi_settings_read(tgSettings *s, const char *key, const char *word, const char *text, size_t bytes,
                           const char *file, tgError *error) {
  return read((Reader){.file = file, .key = key, .word = word, .settings = s, .error = error}, -1, text, bytes);
}

tgStatus tgi_settings_read_stage(tgSettings *s, int k, const char *text, size_t bytes, const char *file, tgError *error) {
  return read((Reader){.file = file, .key = "options", .settings = s, .error = error}, k, text, bytes);
}
