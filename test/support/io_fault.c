// io_fault.c: a library to preload, under which the n-th file operation of a program fails.
//
// Only operations on files below TANGERE_IO_ROOT count, so neither the loader's nor an interpreter's own files do. Streams
// of stdio are opened over these operations, so that their buffers read and write through them as well.
//
//   TANGERE_IO_ROOT    a folder, absolute
//   TANGERE_IO_LOG     a file elsewhere: a line "n operation path" for each operation that counts, a line "failed n" for each that failed
//   TANGERE_IO_FAULT   "n:WHAT:times": from the n-th on (the first is 1) so many fail, 0: all. WHAT: EIO, ENOSPC, EINTR, or SHORT, where
//                      a read or a write moves one byte only, which is no failure
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { FDS = 4096 };

static struct {
  char root[PATH_MAX];
  size_t nroot;
  int log;
  long at, times;
  int error;                 // -1: short
  _Atomic long count;
  _Atomic bool ours[FDS];    // open files below the root
} state = {.log = -1};

static pthread_once_t once = PTHREAD_ONCE_INIT;

static void start(void) {
  const char *root = getenv("TANGERE_IO_ROOT"), *log = getenv("TANGERE_IO_LOG"), *fault = getenv("TANGERE_IO_FAULT");
  char what[16] = "";
  if (root != NULL) state.nroot = strlen(strncpy(state.root, root, sizeof state.root - 1));
  if (fault != NULL && sscanf(fault, "%ld:%15[A-Z]:%ld", &state.at, what, &state.times) != 3) abort();
  state.error = strcmp(what, "EIO") == 0 ? EIO : strcmp(what, "ENOSPC") == 0 ? ENOSPC : strcmp(what, "EINTR") == 0 ? EINTR : -1;
  if (log != NULL) state.log = (int)syscall(SYS_openat, AT_FDCWD, log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
}

static void say(const char *format, ...) {
  char line[PATH_MAX + 64];
  va_list args;
  if (state.log < 0) return;
  va_start(args, format);
  int n = vsnprintf(line, sizeof line, format, args);
  va_end(args);
  if (n > 0) syscall(SYS_write, state.log, line, n < (int)sizeof line ? (size_t)n : sizeof line);
}

// whether the operation counts; *fails: how
static bool counted(const char *operation, const char *path, int *fails) {
  pthread_once(&once, start);
  *fails = 0;
  if (state.nroot == 0 || path == NULL || strncmp(path, state.root, state.nroot) != 0) return false;
  long n = ++state.count;
  say("%ld %s %s\n", n, operation, path);
  bool now = state.at > 0 && n >= state.at && (state.times == 0 || n < state.at + state.times);
  if (now) say("failed %ld\n", n);
  if (now) *fails = state.error;
  return true;
}

// absolute, without "." and "..", which the file need not have
static const char *absolute(int folder, const char *path, char *out, size_t size) {
  char at[PATH_MAX] = "", link[40], both[2 * PATH_MAX];
  if (path == NULL) return NULL;
  if (path[0] != '/' && folder == AT_FDCWD && getcwd(at, sizeof at) == NULL) return NULL;
  if (path[0] != '/' && folder != AT_FDCWD) {
    snprintf(link, sizeof link, "/proc/self/fd/%d", folder);
    ssize_t n = readlink(link, at, sizeof at - 1);
    at[n > 0 ? n : 0] = '\0';
  }
  snprintf(both, sizeof both, "%s/%s", path[0] == '/' ? "" : at, path);
  size_t n = 0;
  for (char *rest = both, *part; (part = strtok_r(rest, "/", &rest)) != NULL;) {
    if (strcmp(part, ".") == 0) continue;
    if (strcmp(part, "..") == 0) {
      while (n > 0 && out[n - 1] != '/') n--;
      if (n > 0) n--;
      continue;
    }
    int more = snprintf(out + n, size - n, "/%s", part);
    if (more < 0 || (size_t)more >= size - n) return NULL;
    n += (size_t)more;
  }
  out[n] = '\0';
  return out;
}

static const char *name_of(int fd, char *out, size_t size) {
  char link[40];
  if (fd < 0 || fd >= FDS || !state.ours[fd]) return NULL;
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t n = readlink(link, out, size - 1);
  if (n <= 0) return NULL;
  out[n] = '\0';
  return out;
}

// 0, or the error that the operation on this file fails with
static bool fails_path(const char *operation, int folder, const char *path) {
  char name[PATH_MAX];
  int how;
  if (!counted(operation, absolute(folder, path, name, sizeof name), &how) || how <= 0) return false;
  errno = how;
  return true;
}

// what is left of `size` bytes: fewer when short; -1: fails
static long fails_fd(const char *operation, int fd, size_t size) {
  char name[PATH_MAX];
  int how;
  if (!counted(operation, name_of(fd, name, sizeof name), &how) || how == 0) return (long)size;
  if (how < 0) return size > 1 ? 1 : (long)size;
  errno = how;
  return -1;
}

static int opened(int fd, int folder, const char *path) {
  char name[PATH_MAX];
  const char *whole = fd >= 0 && fd < FDS ? absolute(folder, path, name, sizeof name) : NULL;
  if (fd >= 0 && fd < FDS) state.ours[fd] = whole != NULL && state.nroot > 0 && strncmp(whole, state.root, state.nroot) == 0;
  return fd;
}

static int raw_openat(int folder, const char *path, int flags, mode_t mode) {
  if (fails_path((flags & (O_CREAT | O_TRUNC)) != 0 || (flags & O_ACCMODE) != O_RDONLY ? "create" : "open", folder, path)) return -1;
  return opened((int)syscall(SYS_openat, folder, path, flags, mode), folder, path);
}

#define MODE(flags, mode)                                       \
  mode_t mode = 0;                                              \
  if (((flags) & (O_CREAT | O_TMPFILE)) != 0) {                 \
    va_list args;                                               \
    va_start(args, flags);                                      \
    mode = (mode_t)va_arg(args, unsigned);                      \
    va_end(args);                                               \
  }

int open(const char *path, int flags, ...) { MODE(flags, mode) return raw_openat(AT_FDCWD, path, flags, mode); }
int open64(const char *path, int flags, ...) { MODE(flags, mode) return raw_openat(AT_FDCWD, path, flags, mode); }
int openat(int folder, const char *path, int flags, ...) { MODE(flags, mode) return raw_openat(folder, path, flags, mode); }
int openat64(int folder, const char *path, int flags, ...) { MODE(flags, mode) return raw_openat(folder, path, flags, mode); }
int __open_2(const char *path, int flags);
int __open_2(const char *path, int flags) { return raw_openat(AT_FDCWD, path, flags, 0); }
int __open64_2(const char *path, int flags);
int __open64_2(const char *path, int flags) { return raw_openat(AT_FDCWD, path, flags, 0); }

// only what opens a file by openat2 is looked at
long syscall(long number, ...) {
  static long (*next)(long, ...);
  long a[6];
  va_list args;
  va_start(args, number);
  for (int i = 0; i < 6; i++) a[i] = va_arg(args, long);
  va_end(args);
  if (next == NULL) next = (long (*)(long, ...))dlsym(RTLD_NEXT, "syscall");
  if (number != SYS_openat2) return next(number, a[0], a[1], a[2], a[3], a[4], a[5]);
  const char *path = (const char *)a[1];
  if (fails_path("open", (int)a[0], path)) return -1;
  return opened((int)next(number, a[0], a[1], a[2], a[3], a[4], a[5]), (int)a[0], path);
}

ssize_t read(int fd, void *data, size_t size) {
  long n = fails_fd("read", fd, size);
  return n < 0 ? -1 : (ssize_t)syscall(SYS_read, fd, data, (size_t)n);
}
ssize_t __read_chk(int fd, void *data, size_t size, size_t room);
ssize_t __read_chk(int fd, void *data, size_t size, size_t room) {
  if (size > room) abort();
  return read(fd, data, size);
}
ssize_t write(int fd, const void *data, size_t size) {
  long n = fails_fd("write", fd, size);
  return n < 0 ? -1 : (ssize_t)syscall(SYS_write, fd, data, (size_t)n);
}
ssize_t pread(int fd, void *data, size_t size, off_t at) {
  long n = fails_fd("read", fd, size);
  return n < 0 ? -1 : (ssize_t)syscall(SYS_pread64, fd, data, (size_t)n, at);
}
ssize_t pread64(int fd, void *data, size_t size, off_t at) { return pread(fd, data, size, at); }
ssize_t pwrite(int fd, const void *data, size_t size, off_t at) {
  long n = fails_fd("write", fd, size);
  return n < 0 ? -1 : (ssize_t)syscall(SYS_pwrite64, fd, data, (size_t)n, at);
}
ssize_t pwrite64(int fd, const void *data, size_t size, off_t at) { return pwrite(fd, data, size, at); }
int fsync(int fd) { return fails_fd("fsync", fd, 0) < 0 ? -1 : (int)syscall(SYS_fsync, fd); }
int fdatasync(int fd) { return fails_fd("fsync", fd, 0) < 0 ? -1 : (int)syscall(SYS_fdatasync, fd); }
int ftruncate(int fd, off_t size) { return fails_fd("truncate", fd, 0) < 0 ? -1 : (int)syscall(SYS_ftruncate, fd, size); }
int ftruncate64(int fd, off_t size) { return ftruncate(fd, size); }
int flock(int fd, int how) { return fails_fd("lock", fd, 0) < 0 ? -1 : (int)syscall(SYS_flock, fd, how); }
int fstat(int fd, struct stat *at) { return fails_fd("stat", fd, 0) < 0 ? -1 : (int)syscall(SYS_fstat, fd, at); }
int fstat64(int fd, struct stat64 *at) { return fails_fd("stat", fd, 0) < 0 ? -1 : (int)syscall(SYS_fstat, fd, at); }

// the file is closed in any case, as Linux does
int close(int fd) {
  bool fails = fails_fd("close", fd, 0) < 0;
  int why = errno;
  if (fd >= 0 && fd < FDS) state.ours[fd] = false;
  if (fd == state.log && fd >= 0) return 0;
  int done = (int)syscall(SYS_close, fd);
  if (fails) errno = why;
  return fails ? -1 : done;
}

int stat(const char *path, struct stat *at) {
  return fails_path("stat", AT_FDCWD, path) ? -1 : (int)syscall(SYS_newfstatat, AT_FDCWD, path, at, 0);
}
int stat64(const char *path, struct stat64 *at) {
  return fails_path("stat", AT_FDCWD, path) ? -1 : (int)syscall(SYS_newfstatat, AT_FDCWD, path, at, 0);
}
int lstat(const char *path, struct stat *at) {
  return fails_path("stat", AT_FDCWD, path) ? -1 : (int)syscall(SYS_newfstatat, AT_FDCWD, path, at, AT_SYMLINK_NOFOLLOW);
}
int lstat64(const char *path, struct stat64 *at) {
  return fails_path("stat", AT_FDCWD, path) ? -1 : (int)syscall(SYS_newfstatat, AT_FDCWD, path, at, AT_SYMLINK_NOFOLLOW);
}
int access(const char *path, int how) {
  return fails_path("stat", AT_FDCWD, path) ? -1 : (int)syscall(SYS_faccessat, AT_FDCWD, path, how);
}
int mkdir(const char *path, mode_t mode) {
  return fails_path("mkdir", AT_FDCWD, path) ? -1 : (int)syscall(SYS_mkdirat, AT_FDCWD, path, mode);
}
int unlink(const char *path) {
  return fails_path("unlink", AT_FDCWD, path) ? -1 : (int)syscall(SYS_unlinkat, AT_FDCWD, path, 0);
}
int rename(const char *from, const char *to) {
  return fails_path("rename", AT_FDCWD, to) ? -1 : (int)syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0);
}

DIR *opendir(const char *path) {
  static DIR *(*next)(const char *);
  if (next == NULL) next = (DIR * (*)(const char *))dlsym(RTLD_NEXT, "opendir");
  DIR *dir = fails_path("open", AT_FDCWD, path) ? NULL : next(path);
  if (dir != NULL) opened(dirfd(dir), AT_FDCWD, path);
  return dir;
}
struct dirent *readdir(DIR *dir) {
  static struct dirent *(*next)(DIR *);
  if (next == NULL) next = (struct dirent * (*)(DIR *))dlsym(RTLD_NEXT, "readdir");
  return fails_fd("read", dirfd(dir), 1) < 0 ? NULL : next(dir);
}

// --- streams

typedef struct Stream { int fd; FILE *file; struct Stream *next; } Stream;
static Stream *streams;
static pthread_mutex_t streams_lock = PTHREAD_MUTEX_INITIALIZER;

static ssize_t stream_read(void *cookie, char *data, size_t size) { return read(((Stream *)cookie)->fd, data, size); }
// 0 tells of an error; errno says which
static ssize_t stream_write(void *cookie, const char *data, size_t size) {
  size_t done = 0;
  while (done < size) {
    ssize_t n = write(((Stream *)cookie)->fd, data + done, size - done);
    if (n <= 0) break;      // as glibc's own streams, which take up after a short write and end at an error, EINTR too
    done += (size_t)n;
  }
  return (ssize_t)done;
}
static int stream_seek(void *cookie, off64_t *at, int whence) {
  off64_t now = lseek64(((Stream *)cookie)->fd, *at, whence);
  if (now < 0) return -1;
  *at = now;
  return 0;
}
static int stream_close(void *cookie) {
  Stream *s = cookie;
  pthread_mutex_lock(&streams_lock);
  for (Stream **p = &streams; *p != NULL; p = &(*p)->next)
    if (*p == s) {
      *p = s->next;
      break;
    }
  pthread_mutex_unlock(&streams_lock);
  int done = close(s->fd);
  int why = errno;
  free(s);
  errno = why;
  return done;
}

static FILE *stream_over(int fd, const char *mode) {
  Stream *s = malloc(sizeof *s);
  if (s == NULL) return NULL;
  *s = (Stream){.fd = fd};
  s->file = fopencookie(s, mode, (cookie_io_functions_t){.read = stream_read, .write = stream_write, .seek = stream_seek,
                                                         .close = stream_close});
  if (s->file == NULL) {
    free(s);
    return NULL;
  }
  pthread_mutex_lock(&streams_lock);
  s->next = streams;
  streams = s;
  pthread_mutex_unlock(&streams_lock);
  return s->file;
}

static bool is_below(const char *path) {
  char name[PATH_MAX];
  pthread_once(&once, start);
  const char *whole = state.nroot > 0 ? absolute(AT_FDCWD, path, name, sizeof name) : NULL;
  return whole != NULL && strncmp(whole, state.root, state.nroot) == 0;
}

FILE *fopen(const char *path, const char *mode) {
  static FILE *(*next)(const char *, const char *);
  if (next == NULL) next = (FILE * (*)(const char *, const char *))dlsym(RTLD_NEXT, "fopen");
  if (!is_below(path)) return next(path, mode);
  bool both = strchr(mode, '+') != NULL;
  int flags = mode[0] == 'r' ? (both ? O_RDWR : O_RDONLY) : (both ? O_RDWR : O_WRONLY) | O_CREAT | (mode[0] == 'w' ? O_TRUNC : O_APPEND);
  int fd = raw_openat(AT_FDCWD, path, flags | (strchr(mode, 'e') != NULL ? O_CLOEXEC : 0), 0666);
  if (fd < 0) return NULL;
  FILE *file = stream_over(fd, mode);
  if (file == NULL) close(fd);
  return file;
}
FILE *fopen64(const char *path, const char *mode) { return fopen(path, mode); }

FILE *fdopen(int fd, const char *mode) {
  static FILE *(*next)(int, const char *);
  if (next == NULL) next = (FILE * (*)(int, const char *))dlsym(RTLD_NEXT, "fdopen");
  return fd >= 0 && fd < FDS && state.ours[fd] ? stream_over(fd, mode) : next(fd, mode);
}

int fileno(FILE *file) {
  static int (*next)(FILE *);
  if (next == NULL) next = (int (*)(FILE *))dlsym(RTLD_NEXT, "fileno");
  int fd = -1;
  pthread_mutex_lock(&streams_lock);
  for (Stream *s = streams; s != NULL; s = s->next)
    if (s->file == file) fd = s->fd;
  pthread_mutex_unlock(&streams_lock);
  return fd >= 0 ? fd : next(file);
}
