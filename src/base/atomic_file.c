// atomic_file.c: temporary file, fsync, rename, fsync of the directory. A process that is killed leaves its temporary file, whose name says
// whose it is: the next that writes the same file on the same machine takes it away. Whoever writes one holds a lock of it until it is
// renamed, since in containers of one name the same number may be another process, or none.
#include "base/atomic_file.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file_status.h"
#include "base/status.h"

enum { TRIES = 1000, HOST = 40, LOOKED = 256 };  // temporary names tried; bytes of the machine's name; entries looked at for leftovers

// text of errno, from the thread's own copy
static const char *reason(char *buffer, size_t size) { return tgi_file_reason(errno, buffer, size); }

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

// of this machine, as it may stand in a file's name
static void host_name(char name[HOST]) {
  if (gethostname(name, HOST) != 0) name[0] = '\0';
  name[HOST - 1] = '\0';
  for (char *at = name; *at != '\0'; at++)
    if (!isalnum((unsigned char)*at)) *at = '_';
}

// The process that `name` is the temporary file of, which begins with `prefix`; 0: it is none.
static pid_t owner_of(const char *name, const char *prefix) {
  size_t n = strlen(prefix);
  char *end;
  if (strncmp(name, prefix, n) != 0 || !isdigit((unsigned char)name[n])) return 0;
  long pid = strtol(name + n, &end, 10);
  return *end == '-' && pid > 0 && pid <= INT_MAX ? (pid_t)pid : 0;
}

// Locks a new temporary file; false: somebody took it for a leftover before. File systems without locks lock nothing.
static bool hold(int fd) {
  struct stat info;
  while (flock(fd, LOCK_EX) != 0 && errno == EINTR) {}
  errno = EEXIST;
  return fstat(fd, &info) != 0 || info.st_nlink > 0;
}

// Removes a temporary file that nobody holds.
static void remove_left(const char *name) {
  int fd = open(name, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0) unlink(name);
  if (fd >= 0) close(fd);
}

// Temporary files of this one that processes of this machine have left which are no more. In a folder of many files some may stay.
static void clear_leftovers(const char *path, const char *host) {
  char name[PATH_MAX], prefix[NAME_MAX + 1];
  const char *slash = strrchr(path, '/'), *base = slash != NULL ? slash + 1 : path;
  size_t n = (size_t)(base - path);
  if (n + NAME_MAX + 2 > sizeof name || snprintf(prefix, sizeof prefix, "%s.tmp-%s-", base, host) >= (int)sizeof prefix) return;
  memcpy(name, path, n);
  name[n] = '\0';
  DIR *folder = opendir(n > 0 ? name : ".");
  if (folder == NULL) return;
  const struct dirent *entry;
  for (int i = 0; i < LOOKED && (entry = readdir(folder)) != NULL; i++) {
    pid_t owner = owner_of(entry->d_name, prefix);
    if (owner == 0 || kill(owner, 0) == 0 || errno != ESRCH) continue;
    snprintf(name + n, sizeof name - n, "%s", entry->d_name);
    remove_left(name);
  }
  closedir(folder);
}

tgStatus tgi_atomic_open(tgAtomicFile *file, const char *path, tgError *error) {
  char why[128], host[HOST];
  memset(file, 0, sizeof *file);
  if (path == NULL || path[0] == '\0') return tgi_error(error, TG_ERR_ARG, "the output file has an empty name");
  TG_TRY(resolve(path, &file->path, error));
  host_name(host);
  clear_leftovers(file->path, host);
  size_t size = strlen(file->path) + 48 + HOST;
  file->tmp = malloc(size);
  if (file->tmp == NULL) {
    tgi_atomic_discard(file);
    return tgi_error(error, TG_ERR_MEMORY, "out of memory for the path of %s", path);
  }
  int fd = -1;
  for (int i = 0; i < TRIES && fd < 0; i++) {
    snprintf(file->tmp, size, "%s.tmp-%s-%ld-%d", file->path, host, (long)getpid(), i);
    fd = open(file->tmp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd < 0 && errno != EEXIST) break;
    if (fd >= 0 && !hold(fd)) {
      close(fd);
      fd = -1;
    }
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

// flushes the folder of a file to the disk
static bool sync_folder(const char *path) {
  char folder[PATH_MAX];
  const char *slash = strrchr(path, '/');
  size_t n = slash == NULL ? 0 : (size_t)(slash - path) + 1;
  if (n >= sizeof folder) return false;
  memcpy(folder, path, n);
  folder[n] = '\0';
  int fd = open(n == 0 ? "." : folder, O_RDONLY | O_CLOEXEC | O_DIRECTORY);
  if (fd < 0) return false;
  bool ok = fsync(fd) == 0;
  int why = errno;
  bool closed = close(fd) == 0;
  if (!ok) errno = why;
  return closed && ok;
}

// errno says why not. A write that failed before now has left its mark, and what is tried again tells why.
static bool flush(FILE *stream) {
  bool failed = ferror(stream) != 0;
  if (failed) errno = 0;
  bool ok = fflush(stream) == 0 && !failed && fsync(fileno(stream)) == 0;
  if (errno == 0) errno = EIO;
  return ok;
}

tgStatus tgi_atomic_commit(tgAtomicFile *file, tgError *error) {
  char why[128];
  if (file->tmp == NULL) return tgi_error(error, TG_ERR_STATE, "commit of an output file that is not open");
  if (!flush(file->stream) || rename(file->tmp, file->path) != 0) {
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
  if (file->tmp != NULL) unlink(file->tmp);
  if (file->stream != NULL) fclose(file->stream);   // what was flushed is on the disk: to close it changes nothing
  free(file->tmp);
  free(file->path);
  memset(file, 0, sizeof *file);
}
