// atomic_file.c: temporary file, fsync, rename, fsync of the directory.
#include "base/atomic_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file_status.h"
#include "base/status.h"

enum { TRIES = 1000 };  // temporary names tried: leftovers of killed runs with our process id

// text of errno, from the thread's own copy
static const char *reason(char *buffer, size_t size) { return strerror_r(errno, buffer, size); }

// *target = path with a final symbolic link followed, malloc'd. Refuses a target that is there but is no regular file.
static tgStatus resolve(const char *path, char **target, tgError *error) {
  char why[128];
  struct stat info;
  *target = NULL;
  if (lstat(path, &info) == 0 && S_ISLNK(info.st_mode)) {
    *target = realpath(path, NULL);
    if (*target == NULL)
      return tgi_error(error, tgi_file_status(errno), "%s: the link leads nowhere (%s); remove it", path, reason(why, sizeof why));
  }
  if (*target == NULL) *target = strdup(path);
  if (*target == NULL) return tgi_error(error, TG_ERR_MEMORY, "out of memory for the path of %s", path);
  if (stat(*target, &info) == 0 && !S_ISREG(info.st_mode)) {
    free(*target);
    *target = NULL;
    return tgi_error(error, TG_ERR_FILE, "%s is not a regular file, so it is not replaced; name another output", path);
  }
  return TG_OK;
}

tgStatus tgi_atomic_open(tgAtomicFile *file, const char *path, tgError *error) {
  char why[128];
  memset(file, 0, sizeof *file);
  if (path == NULL || path[0] == '\0') return tgi_error(error, TG_ERR_ARG, "the output file has an empty name");
  TG_TRY(resolve(path, &file->path, error));
  size_t size = strlen(file->path) + 48;
  file->tmp = malloc(size);
  if (file->tmp == NULL) {
    tgi_atomic_discard(file);
    return tgi_error(error, TG_ERR_MEMORY, "out of memory for the path of %s", path);
  }
  int fd = -1;
  for (int i = 0; i < TRIES && fd < 0; i++) {
    snprintf(file->tmp, size, "%s.tmp-%ld-%d", file->path, (long)getpid(), i);
    fd = open(file->tmp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd < 0 && errno != EEXIST) break;
  }
  file->stream = fd < 0 ? NULL : fdopen(fd, "wb");
  if (file->stream != NULL) return TG_OK;
  tgStatus status = tgi_error(error, tgi_file_status(errno), "%s cannot be written: %s", path, reason(why, sizeof why));
  if (fd >= 0) {
    close(fd);
    unlink(file->tmp);
  }
  free(file->tmp);
  file->tmp = NULL;
  tgi_atomic_discard(file);
  return status;
}

void tgi_atomic_close_stream(tgAtomicFile *file) {
  if (file->stream != NULL) fclose(file->stream);
  file->stream = NULL;
}

// flushes a file or directory to the disk by name
static bool sync_path(const char *path, int flags) {
  int fd = open(path, O_RDONLY | O_CLOEXEC | flags);
  if (fd < 0) return false;
  bool ok = fsync(fd) == 0;
  int why = errno;
  bool closed = close(fd) == 0;
  if (!ok) errno = why;
  return closed && ok;
}

static bool sync_folder(const char *path) {
  char folder[PATH_MAX];
  const char *slash = strrchr(path, '/');
  size_t n = slash == NULL ? 0 : (size_t)(slash - path) + 1;
  if (n >= sizeof folder) return false;
  memcpy(folder, path, n);
  folder[n] = '\0';
  return sync_path(n == 0 ? "." : folder, O_DIRECTORY);
}

// errno says why not. A write that failed before now has left its mark, and what is tried again tells why.
static bool flush_and_close(tgAtomicFile *file) {
  bool failed = ferror(file->stream) != 0;
  if (failed) errno = 0;
  bool ok = fflush(file->stream) == 0 && !failed && fsync(fileno(file->stream)) == 0;
  int why = errno != 0 ? errno : EIO;
  if (fclose(file->stream) != 0 && ok) {
    ok = false;
    why = errno;
  }
  file->stream = NULL;
  errno = why;
  return ok;
}

tgStatus tgi_atomic_commit(tgAtomicFile *file, tgError *error) {
  char why[128];
  if (file->tmp == NULL) return tgi_error(error, TG_ERR_STATE, "commit of an output file that is not open");
  bool ok = file->stream != NULL ? flush_and_close(file) : sync_path(file->tmp, 0);
  ok = ok && rename(file->tmp, file->path) == 0;
  if (!ok) {
    tgStatus status = tgi_error(error, tgi_file_status(errno), "%s cannot be written: %s", file->path, reason(why, sizeof why));
    tgi_atomic_discard(file);
    return status;
  }
  // the new name is there; that it outlives a power cut is up to the directory's own flush
  bool durable = sync_folder(file->path);
  tgStatus status = TG_OK;
  if (!durable)
    status = tgi_error(error, tgi_file_status(errno), "%s is written, but its directory cannot be flushed: %s", file->path,
                       reason(why, sizeof why));
  free(file->tmp);
  file->tmp = NULL;
  tgi_atomic_discard(file);
  return status;
}

void tgi_atomic_discard(tgAtomicFile *file) {
  tgi_atomic_close_stream(file);
  if (file->tmp != NULL) unlink(file->tmp);
  free(file->tmp);
  free(file->path);
  memset(file, 0, sizeof *file);
}
