// yaml.c: see yaml.h. libcyaml checks the schema and reports where a file departs from it.
#include "optim/yaml.h"

#include <errno.h>
#include <limits.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/nearest.h"
#include "base/status.h"

enum { DEEPEST = 8, WORDS_MOST = 64 };

// libcyaml says what is wrong first, then a backtrace whose first place is the innermost
typedef struct Log {
  const cyaml_schema_value_t *schema;
  char what[400], where[200], field[DEEPEST][64];
  int line, column, depth;
  bool tab;   // one in front of what a line says
} Log;

static void log_line(cyaml_log_t level, void *ctx, const char *format, va_list args) {
  Log *log = ctx;
  char text[400];
  if (level < CYAML_LOG_ERROR) return;
  vsnprintf(text, sizeof text, format, args);
  size_t n = strlen(text);
  while (n > 0 && (text[n - 1] == '\n' || text[n - 1] == ' ')) text[--n] = '\0';
  const char *start = text + strspn(text, " ");
  if (strncmp(start, "Load: ", 6) == 0) start += 6;
  const char *at = strstr(start, "(line: ");
  if (at != NULL) {
    if (log->line == 0) sscanf(at, "(line: %d, column: %d)", &log->line, &log->column);
    if (log->where[0] == '\0') snprintf(log->where, sizeof log->where, "%.*s", (int)(at - start), start);
    if (log->depth < DEEPEST && sscanf(start, "in mapping field '%63[^']'", log->field[log->depth]) == 1) log->depth++;
  } else if (log->what[0] == '\0' && strncmp(start, "Backtrace", 9) != 0) {
    snprintf(log->what, sizeof log->what, "%s", start);
  }
}

static const cyaml_schema_field_t *field_named(const cyaml_schema_value_t *in, const char *name) {
  if (in->type != CYAML_MAPPING) return NULL;
  for (const cyaml_schema_field_t *f = in->mapping.fields; f->key != NULL; f++)
    if (strcmp(f->key, name) == 0) return f;
  return NULL;
}

// the schema of a place that the backtrace names, `level` 0 the innermost; NULL where it leads out of the schema
static const cyaml_schema_value_t *place_of(const Log *log, int level) {
  const cyaml_schema_value_t *at = log->schema;
  for (int i = log->depth; i-- > level;) {
    const cyaml_schema_field_t *f = field_named(at, log->field[i]);
    if (f == NULL) return NULL;
    at = &f->value;
    while (at->type == CYAML_SEQUENCE || at->type == CYAML_SEQUENCE_FIXED) at = at->sequence.entry;
  }
  return at;
}

// keys of a mapping, words of an enumeration
static int words_of(const cyaml_schema_value_t *at, const char *word[WORDS_MOST]) {
  int n = 0;
  if (at != NULL && at->type == CYAML_MAPPING)
    for (const cyaml_schema_field_t *f = at->mapping.fields; f->key != NULL && n < WORDS_MOST; f++) word[n++] = f->key;
  if (at != NULL && at->type == CYAML_ENUM)
    for (uint32_t i = 0; i < at->enumeration.count && n < WORDS_MOST; i++) word[n++] = at->enumeration.strings[i].str;
  return n;
}

// "; did you mean WORD?", else all that there are
static void suggest(const char *given, const cyaml_schema_value_t *at, char *text, size_t size) {
  const char *word[WORDS_MOST] = {NULL};
  int n = words_of(at, word);
  const char *near = tgi_nearest_word(given, word, n);
  if (near != NULL || n == 0) {
    snprintf(text, size, "%s%s%s", near != NULL ? "; did you mean " : "", near != NULL ? near : "", near != NULL ? "?" : "");
    return;
  }
  size_t used = (size_t)snprintf(text, size, "; there are");
  for (int i = 0; i < n && used < size; i++) used += (size_t)snprintf(text + used, size - used, "%s %s", i > 0 ? "," : "", word[i]);
}

// YAML's kinds of values, in libcyaml's words for what it wants and what it found
static const char *kind_of(const char *event) {
  static const struct { const char *event, *kind; } known[] = {
      {"SEQUENCE", "a list"}, {"MAPPING", "keys with values"}, {"SCALAR", "a single value"}, {"STRING", "a text"}, {"FLOAT", "a number"},
      {"INT", "a whole number"}, {"ENUM", "a word"}};
  for (size_t i = 0; i < sizeof known / sizeof *known; i++)
    if (strncmp(event, known[i].event, strlen(known[i].event)) == 0) return known[i].kind;
  return NULL;
}

// What is wrong, in the words of the file: libcyaml's where there is no better.
static void explain(const Log *log, char *text, size_t size) {
  char given[100], wanted[32], found[32], hint[500] = "";
  const char *field = log->depth > 0 ? log->field[0] : "";
  const cyaml_schema_value_t *place = place_of(log, 0);
  if (sscanf(log->what, "Unexpected key: %99[^\n]", given) == 1) {
    suggest(given, place, hint, sizeof hint);
    snprintf(text, size, "%s%sthere is no key '%s'%s", field, field[0] != '\0' ? ": " : "", given, hint);
  } else if (sscanf(log->what, "Invalid ENUM value: %99[^\n]", given) == 1) {
    suggest(given, place, hint, sizeof hint);
    snprintf(text, size, "%s: there is no '%s'%s", field, given, hint);
  } else if (sscanf(log->what, "Invalid INT value: '%99[^']", given) == 1) {
    snprintf(text, size, "%s: '%s' is no whole number", field, given);
  } else if (sscanf(log->what, "Invalid FLOAT value: %99[^\n]", given) == 1) {
    snprintf(text, size, "%s: '%s' is no number", field, given);
  } else if (sscanf(log->what, "Missing required mapping field: %99[^\n]", given) == 1) {
    // the backtrace begins with the last key that was read: the mapping is the innermost that has the one that is missing
    int level = 0;
    while (level < log->depth && ((place = place_of(log, level)) == NULL || field_named(place, given) == NULL)) level++;
    field = level < log->depth ? log->field[level] : "";
    snprintf(text, size, "%s%sthe key '%s' is missing", field, field[0] != '\0' ? ": " : "", given);
  } else if (sscanf(log->what, "Mapping field already seen: %99[^\n ]", given) == 1) {
    snprintf(text, size, "the key '%s' is there twice", given);
  } else if (strncmp(log->what, "STRING length < 1", 17) == 0) {
    snprintf(text, size, "%s: a value is missing", field);
  } else if (log->tab) {
    snprintf(text, size, "a tab is in front of what the line says; YAML takes spaces there alone");
  } else if (sscanf(log->what, "Expecting %31[A-Z_], got event: %31s", wanted, found) == 2 && kind_of(wanted) != NULL &&
             kind_of(found) != NULL) {
    snprintf(text, size, "%s: %s is needed, not %s", field[0] != '\0' ? field : "the file", kind_of(wanted), kind_of(found));
  } else {
    snprintf(text, size, "%s%s%s", log->what, log->where[0] != '\0' ? ", " : "", log->where);
  }
}

static cyaml_config_t config(Log *log) {
  return (cyaml_config_t){.log_fn = log_line, .log_ctx = log, .log_level = CYAML_LOG_ERROR, .mem_fn = cyaml_mem,
                          .flags = CYAML_CFG_NO_ALIAS};
}

// libcyaml tells the place of what it read before an unexpected key: that of the key itself, the next of its name.
static void place_of_key(const char *text, size_t bytes, Log *log) {
  char given[100];
  if (sscanf(log->what, "Unexpected key: %99[^\n]", given) != 1 || log->line < 1) return;
  size_t n = strlen(given), i = 0, from = 0;
  int line = 1;
  for (; i < bytes && line < log->line; i++)
    if (text[i] == '\n') line++, from = i + 1;
  for (; i + n < bytes; i++) {
    if (text[i] == '\n') line++, from = i + 1;
    bool alone = i == 0 || strchr(" \t\n{,-", text[i - 1]) != NULL;
    if (!alone || memcmp(text + i, given, n) != 0 || text[i + n] != ':') continue;
    log->line = line;
    log->column = (int)(i - from) + 1;
    return;
  }
}

// libyaml tells of a tab before a line's words as of a character, and libcyaml the place of what it read before.
static void place_of_tab(const char *text, size_t bytes, Log *log) {
  if (strstr(log->what, "cannot start any token") == NULL) return;
  int line = 1;
  for (size_t i = 0; i < bytes; line++) {
    size_t from = i;
    while (i < bytes && text[i] == ' ') i++;
    if (i < bytes && text[i] == '\t' && line >= log->line) {
      *log = (Log){.schema = log->schema, .line = line, .column = (int)(i - from) + 1, .tab = true};
      return;
    }
    while (i < bytes && text[i] != '\n') i++;
    i++;
  }
}

// ---- values that libcyaml takes without having read them whole: 4e2 as 4, 20x as 20, 8.5 as 8, any word but false as true ----

typedef struct Values { yaml_document_t document; char said[300]; yaml_mark_t at; } Values;

// a whole number, be it 400, 4e2 or 400.0, as the command line takes it
static bool is_whole_number(const char *text, bool negative, double *value) {
  const char *digits = text + (*text == '-' || *text == '+');
  char *end;
  errno = 0;
  *value = strtod(text, &end);
  bool plain = *digits >= '0' && *digits <= '9' && strspn(digits, "0123456789.eE+-") == strlen(digits);
  bool octal = *digits == '0' && digits[1] >= '0' && digits[1] <= '9';   // 010 is 8 to some readers and 10 to others
  return plain && !octal && *end == '\0' && errno == 0 && *value == floor(*value) && *value >= (negative ? INT_MIN : 0) &&
         *value <= (negative ? INT_MAX : UINT_MAX);
}

static bool is_number(const char *text) {
  char *end;
  (void)strtod(text, &end);
  return end != text && *end == '\0';
}

// libcyaml's own words for false, and true
static bool is_truth(const char *text) {
  static const char *const word[] = {"true", "false", "yes", "no"};
  for (size_t i = 0; i < sizeof word / sizeof *word; i++)
    if (strcmp(text, word[i]) == 0) return true;
  return false;
}

// into what libcyaml has read from its first digits on
static void put_whole_number(double value, uint32_t bytes, void *to) {
  int64_t wide = (int64_t)value;
  int32_t narrow = (int32_t)(uint32_t)wide;
  memcpy(to, bytes == sizeof wide ? (void *)&wide : &narrow, bytes);
}

static bool scalar_is_read(Values *v, const yaml_node_t *node, const cyaml_schema_value_t *schema, const char *key, void *read) {
  const char *text = (const char *)node->data.scalar.value, *wanted = NULL;
  double whole;
  if (schema->type == CYAML_INT || schema->type == CYAML_UINT) {
    if (is_whole_number(text, schema->type == CYAML_INT, &whole)) put_whole_number(whole, schema->data_size, read);
    else wanted = "is no whole number";
  }
  if (schema->type == CYAML_FLOAT && !is_number(text)) wanted = "is no number";
  if (schema->type == CYAML_BOOL && !is_truth(text)) wanted = "is neither true nor false";
  if (wanted == NULL) return true;
  snprintf(v->said, sizeof v->said, "%s: '%.100s' %s", key, text, wanted);
  v->at = node->start_mark;
  return false;
}

// all values below a node of the document, which has the schema's form, as `read` has what was read of it
static bool values_are_read(Values *v, int at, const cyaml_schema_value_t *schema, const char *key, char *read) {
  const yaml_node_t *node = yaml_document_get_node(&v->document, at);
  if (node == NULL) return true;
  if ((schema->flags & CYAML_FLAG_POINTER) != 0) {
    void *pointed;
    memcpy(&pointed, read, sizeof pointed);
    read = pointed;
  }
  if (node->type == YAML_SCALAR_NODE) return scalar_is_read(v, node, schema, key, read);
  if (node->type == YAML_SEQUENCE_NODE && (schema->type == CYAML_SEQUENCE || schema->type == CYAML_SEQUENCE_FIXED)) {
    const cyaml_schema_value_t *entry = schema->sequence.entry;
    size_t bytes = (entry->flags & CYAML_FLAG_POINTER) != 0 ? sizeof read : entry->data_size;
    for (const yaml_node_item_t *item = node->data.sequence.items.start; item < node->data.sequence.items.top; item++, read += bytes)
      if (!values_are_read(v, *item, entry, key, read)) return false;
  } else if (node->type == YAML_MAPPING_NODE) {
    for (const yaml_node_pair_t *pair = node->data.mapping.pairs.start; pair < node->data.mapping.pairs.top; pair++) {
      const yaml_node_t *name = yaml_document_get_node(&v->document, pair->key);
      const cyaml_schema_field_t *f =
          name != NULL && name->type == YAML_SCALAR_NODE ? field_named(schema, (const char *)name->data.scalar.value) : NULL;
      if (f != NULL && !values_are_read(v, pair->value, &f->value, f->key, read + f->data_offset)) return false;
    }
  }
  return true;
}

// of a text that libcyaml has taken, and made `data` of
static tgStatus check_values(const char *text, size_t bytes, const char *file, const cyaml_schema_value_t *schema, void *data,
                             tgError *error) {
  yaml_parser_t parser;
  Values v = {.said = ""};
  if (!yaml_parser_initialize(&parser)) return tgi_error(error, TG_ERR_MEMORY, "%s: out of memory", file);
  yaml_parser_set_input_string(&parser, (const unsigned char *)text, bytes);
  bool loaded = yaml_parser_load(&parser, &v.document) != 0;
  if (loaded) values_are_read(&v, 1, schema, "the file", (char *)&data);
  if (loaded) yaml_document_delete(&v.document);
  yaml_parser_delete(&parser);
  if (!loaded) return tgi_error(error, TG_ERR_MEMORY, "%s: out of memory", file);
  if (v.said[0] == '\0') return TG_OK;
  if (error != NULL) {
    *error = (tgError){.line = (int)v.at.line + 1, .column = (int)v.at.column + 1};
    snprintf(error->file, sizeof error->file, "%s", file);
  }
  return tgi_error(error, TG_ERR_PARSE, "%s", v.said);
}

tgStatus tgi_yaml_parse(const char *text, size_t bytes, const char *file, const cyaml_schema_value_t *schema, void **out, tgError *error) {
  Log log = {.schema = schema};
  cyaml_config_t c = config(&log);
  *out = NULL;
  // libcyaml reads numbers in the thread's locale; a file has decimal points in all of them
  locale_t plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);
  if (plain == (locale_t)0) return tgi_error(error, TG_ERR_MEMORY, "%s: out of memory", file);
  locale_t before = uselocale(plain);
  cyaml_err_t rc = bytes == 0 ? CYAML_ERR_LIBYAML_PARSER
                              : cyaml_load_data((const uint8_t *)text, bytes, &c, schema, out, NULL);
  bool taken = rc == CYAML_OK && *out != NULL;
  tgStatus values = taken ? check_values(text, bytes, file, schema, *out, error) : TG_OK;
  uselocale(before);
  freelocale(plain);
  if (taken && values != TG_OK) {
    cyaml_free(&c, schema, *out, 0);
    *out = NULL;
  }
  if (taken) return values;
  place_of_key(text, bytes, &log);
  place_of_tab(text, bytes, &log);
  if (error != NULL) {
    *error = (tgError){.line = log.line, .column = log.column};
    snprintf(error->file, sizeof error->file, "%s", file);
    snprintf(error->element, sizeof error->element, "%.95s", log.where);
  }
  // libyaml names what is wrong with a text; it has no name for memory that it did not get
  if (rc == CYAML_ERR_OOM || rc == CYAML_ERR_LIBYAML_PARSER_INIT || strncmp(log.what, "libyaml: (null)", 15) == 0)
    return tgi_error(error, TG_ERR_MEMORY, "%s: out of memory", file);
  char said[700] = "";
  if (log.what[0] != '\0' || log.tab) explain(&log, said, sizeof said);
  return tgi_error(error, TG_ERR_PARSE, "%s", said[0] != '\0' ? said : bytes == 0 ? "the file is empty" : cyaml_strerror(rc));
}

void tgi_yaml_free(const cyaml_schema_value_t *schema, void *data) {
  Log log = {.schema = schema};
  cyaml_config_t c = config(&log);
  if (data != NULL) cyaml_free(&c, schema, data, 0);
}

// depth counts mappings and sequences; keys and values of the mapping at depth 1 take turns
static bool find(yaml_parser_t *parser, yaml_event_t *event, const char *key, int depth) {
  int turn = 0;
  for (;;) {
    yaml_event_delete(event);
    if (!yaml_parser_parse(parser, event) || event->type == YAML_STREAM_END_EVENT) return false;
    bool opens = event->type == YAML_MAPPING_START_EVENT || event->type == YAML_SEQUENCE_START_EVENT;
    bool closes = event->type == YAML_MAPPING_END_EVENT || event->type == YAML_SEQUENCE_END_EVENT;
    bool scalar = event->type == YAML_SCALAR_EVENT;
    bool item = depth == 1 && (opens || scalar || event->type == YAML_ALIAS_EVENT);
    if (item && turn % 2 == 0 && scalar && key != NULL && strcmp((const char *)event->data.scalar.value, key) == 0) break;
    turn += item;
    depth += opens - closes;
    if (closes && depth == 0) return false;
  }
  yaml_event_delete(event);
  return yaml_parser_parse(parser, event) != 0;
}

bool tgi_yaml_find(yaml_parser_t *parser, yaml_event_t *event, const char *key) { return find(parser, event, key, 0); }
bool tgi_yaml_find_in(yaml_parser_t *parser, yaml_event_t *event, const char *key) { return find(parser, event, key, 1); }

// the parser goes on to an item of the list that *event is the start of
static bool find_item(yaml_parser_t *parser, yaml_event_t *event, int item) {
  for (int i = 0; i <= item; i++) {
    if (event->type != (i == 0 ? YAML_SEQUENCE_START_EVENT : YAML_MAPPING_START_EVENT)) return false;
    if (i > 0) tgi_yaml_find_in(parser, event, NULL);
    yaml_event_delete(event);
    if (!yaml_parser_parse(parser, event)) return false;
  }
  return true;
}

bool tgi_yaml_place(const char *text, size_t bytes, const char *key, int item, int *line, int *column) {
  yaml_parser_t parser;
  yaml_event_t event = {.type = YAML_NO_EVENT};
  if (!yaml_parser_initialize(&parser)) return false;
  yaml_parser_set_input_string(&parser, (const unsigned char *)text, bytes);
  bool found = tgi_yaml_find(&parser, &event, key) && (item < 0 || find_item(&parser, &event, item));
  *line = (int)event.start_mark.line + 1;
  *column = (int)event.start_mark.column + 1;
  yaml_event_delete(&event);
  yaml_parser_delete(&parser);
  return found;
}
