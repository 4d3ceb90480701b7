// folder.c: see folder.h.
#include "base/folder.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file_status.h"
#include "base/status.h"

// errno says why not
static bool make_one(const char *path) {
  struct stat st;
  if (mkdir(path, 0777) == 0) return true;
  if (errno != EEXIST) return false;
  if (stat(path, &st) == 0 && S_ISDIR(st.st_mode)) return true;
  errno = ENOTDIR;
  return false;
}

tgStatus tgi_make_folder(const char *path, tgError *error) {
  char part[1200];
  size_t n = strlen(path);
  if (n == 0 || n >= sizeof part) return tgi_error(error, TG_ERR_FILE, "'%s' is no folder name", path);
  if (make_one(path)) return TG_OK;   // where those above are there, which is nearly always
  for (size_t i = 1; i <= n; i++) {
    if (path[i] != '/' && path[i] != '\0') continue;
    memcpy(part, path, i);
    part[i] = '\0';
    if (!make_one(part)) {
      int why = errno;
      return tgi_error(error, tgi_file_status(why), "the folder %s cannot be made: %s", part, strerror(why));
    }
  }
  return TG_OK;
}
