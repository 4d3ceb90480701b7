// yaml.c: see yaml.h. libcyaml checks the schema and reports where a file departs from it.
#include "optim/yaml.h"

#include <locale.h>
#include <stdio.h>
#include <string.h>

#include "base/status.h"

// libcyaml says what is wrong first, then a backtrace whose first place is the innermost
typedef struct Log { char what[400], where[200]; int line, column; } Log;

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
  } else if (log->what[0] == '\0' && strncmp(start, "Backtrace", 9) != 0) {
    snprintf(log->what, sizeof log->what, "%s", start);
  }
}

static cyaml_config_t config(Log *log) {
  return (cyaml_config_t){.log_fn = log_line, .log_ctx = log, .log_level = CYAML_LOG_ERROR, .mem_fn = cyaml_mem,
                          .flags = CYAML_CFG_NO_ALIAS};
}

tgStatus tgi_yaml_parse(const char *text, size_t bytes, const char *file, const cyaml_schema_value_t *schema, void **out, tgError *error) {
  Log log = {.what = ""};
  cyaml_config_t c = config(&log);
  *out = NULL;
  // libcyaml reads numbers in the thread's locale; a file has decimal points in all of them
  locale_t plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);
  if (plain == (locale_t)0) return tgi_error(error, TG_ERR_MEMORY, "%s: out of memory", file);
  locale_t before = uselocale(plain);
  cyaml_err_t rc = bytes == 0 ? CYAML_ERR_LIBYAML_PARSER
                              : cyaml_load_data((const uint8_t *)text, bytes, &c, schema, out, NULL);
  uselocale(before);
  freelocale(plain);
  if (rc == CYAML_OK && *out != NULL) return TG_OK;
  if (error != NULL) {
    *error = (tgError){.line = log.line, .column = log.column};
    snprintf(error->file, sizeof error->file, "%s", file);
    snprintf(error->element, sizeof error->element, "%.95s", log.where);
  }
  return tgi_error(error, rc == CYAML_ERR_OOM ? TG_ERR_MEMORY : TG_ERR_PARSE, "%s: %s%s%s", file,
                   log.what[0] != '\0' ? log.what : bytes == 0 ? "the file is empty" : cyaml_strerror(rc),
                   log.where[0] != '\0' ? ", " : "", log.where);
}

void tgi_yaml_free(const cyaml_schema_value_t *schema, void *data) {
  Log log = {.what = ""};
  cyaml_config_t c = config(&log);
  if (data != NULL) cyaml_free(&c, schema, data, 0);
}
