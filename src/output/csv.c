// csv.c: see tangere/data.h; quoting as RFC 4180, lines end in a line feed.
#include "tangere/data.h"

#include <string.h>

#include "base/status.h"
#include "base/atomic_file.h"
#include "output/emit.h"

static void put_name(FILE *out, const char *name) {
  if (strpbrk(name, ",\"\r\n") == NULL) {
    fputs(name, out);
    return;
  }
  fputc('"', out);
  for (; *name != '\0'; name++) {
    if (*name == '"') fputc('"', out);
    fputc(*name, out);
  }
  fputc('"', out);
}

tgStatus tg_csv_write(const char *path, int ncolumn, const char *const *name, int nrow, const double *data,
                       tgError *error) {
  if (path == NULL || ncolumn < 1 || nrow < 0 || name == NULL || (data == NULL && nrow > 0))
    return tgi_error(error, TG_ERR_ARG, "a table needs at least one column and its data");
  tgAtomicFile file;
  TG_TRY(tgi_atomic_open(&file, path, error));
  for (int k = 0; k < ncolumn; k++) {
    put_name(file.stream, name[k]);
    fputc(k + 1 < ncolumn ? ',' : '\n', file.stream);
  }
  char text[TG_NUMBER_TEXT];
  for (int i = 0; i < nrow; i++) {
    for (int k = 0; k < ncolumn; k++) {
      fputs(tgi_format_number(text, data[(size_t)i * (size_t)ncolumn + (size_t)k]), file.stream);
      fputc(k + 1 < ncolumn ? ',' : '\n', file.stream);
    }
  }
  return tgi_atomic_commit(&file, error);
}
