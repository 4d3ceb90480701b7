// status.c: texts of the status codes and the error record.
#include "base/status.h"

#include <stdarg.h>
#include <stdio.h>

const char *tg_status_text(tgStatus status) {
  switch (status) {
#define X(name, value, text) case name: return text;
    TG_STATUS_LIST(X)
#undef X
  }
  return "unknown status";
}

const char *tg_version(void) { return TG_VERSION_TEXT; }

tgStatus tgi_error(tgError *error, tgStatus status, const char *format, ...) {
  if (error == NULL) return status;
  error->status = status;
  va_list args;
  va_start(args, format);
  vsnprintf(error->text, sizeof error->text, format, args);
  va_end(args);
  return status;
}
