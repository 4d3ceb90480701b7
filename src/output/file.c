// file.c: a file of bytes, whole or not at all. See tangere/data.h.
#include "base/atomic_file.h"
#include "base/status.h"
#include "tangere/data.h"

tgStatus tg_file_write(const char *path, const void *data, size_t bytes, tgError *error) {
  if (path == NULL || (data == NULL && bytes > 0)) return tgi_error(error, TG_ERR_ARG, "no path, or no bytes to write there");
  tgAtomicFile file;
  TG_TRY(tgi_atomic_open(&file, path, error));
  if (bytes > 0) fwrite(data, 1, bytes, file.stream);   // commit sees whether it failed
  return tgi_atomic_commit(&file, error);
}
