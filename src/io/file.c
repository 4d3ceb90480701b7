// file.c: see file.h. The kernel resolves every path below a directory handle, so no check here can be raced by a
// rename; our own walk of the path serves only where openat2 is missing.
#include "io/file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/file_status.h"
#include "base/status.h"

enum { ROOT_MAX = 256, PATH_SIZE = 4096 };

typedef struct Root {
  int fd;
  char *name;                    // as given
  char *absolute;                // without links, no '/' at the end (root directory: empty)
} Root;

struct tgFileSet {
  tgAllocator alloc;
  tgLoadOptions options;
  Root root[ROOT_MAX];
  int nroot, npackage;           // package i is root package_root[i]
  int package_root[ROOT_MAX];
  size_t total;
  bool walk;                     // openat2 is not available
  bool may_climb;                // tgi_files_allow_above
  int above;                     // the root that was added for it, 0: none
};

static char *copy(tgFileSet *files, const char *text) {
  size_t n = strlen(text) + 1;
  char *p = files->alloc.alloc(files->alloc.ctx, n);
  if (p != NULL) memcpy(p, text, n);
  return p;
}

static tgFileSet *create(const tgLoadOptions *options) {
  tgAllocator a = tgi_allocator(options != NULL ? options->allocator : NULL);
  tgFileSet *files = a.alloc(a.ctx, sizeof *files);
  if (files == NULL) return NULL;
  memset(files, 0, sizeof *files);
  files->alloc = a;
  files->options = options != NULL ? *options : tg_load_default();
  return files;
}

void tgi_files_free(tgFileSet *files) {
  if (files == NULL) return;
  for (int i = 0; i < files->nroot; i++) {
    close(files->root[i].fd);
    files->alloc.free(files->alloc.ctx, files->root[i].name);
    files->alloc.free(files->alloc.ctx, files->root[i].absolute);
  }
  files->alloc.free(files->alloc.ctx, files);
}

const tgLoadOptions *tgi_files_options(const tgFileSet *files) { return &files->options; }

void tgi_files_walk_only(tgFileSet *files) { files->walk = true; }

int tgi_files_add_root(tgFileSet *files, const char *directory, tgError *error) {
  if (files->nroot == ROOT_MAX) {
    tgi_error(error, TG_ERR_LIMIT, "more than %d directories given to load from", ROOT_MAX);
    return -1;
  }
  int fd = open(directory, O_PATH | O_DIRECTORY | O_CLOEXEC);
  char absolute[PATH_MAX];
  if (fd < 0 || realpath(directory, absolute) == NULL) {
    tgi_error(error, tgi_file_status(errno), "directory %s: %s", directory, strerror(errno));
    if (fd >= 0) close(fd);
    return -1;
  }
  if (strcmp(absolute, "/") == 0) absolute[0] = 0;
  Root root = {.fd = fd, .name = copy(files, directory), .absolute = copy(files, absolute)};
  if (root.name == NULL || root.absolute == NULL) {
    files->alloc.free(files->alloc.ctx, root.name);
    files->alloc.free(files->alloc.ctx, root.absolute);
    close(fd);
    tgi_error(error, TG_ERR_MEMORY, "out of memory for directory %s", directory);
    return -1;
  }
  files->root[files->nroot] = root;
  return files->nroot++;
}

void tgi_files_allow_above(tgFileSet *files) { files->may_climb = files->nroot > 0 && files->options.nasset_root == 0; }

const char *tgi_files_above(const tgFileSet *files) { return files->above > 0 ? files->root[files->above].absolute : NULL; }

static tgStatus add_given_roots(tgFileSet *files, tgError *error) {
  const tgLoadOptions *o = &files->options;
  for (int i = 0; i < o->nasset_root; i++)
    if (tgi_files_add_root(files, o->asset_root[i], error) < 0) return TG_ERR_FILE;
  for (int i = 0; i < o->npackage; i++) {
    int root = tgi_files_add_root(files, o->package_path[i], error);
    if (root < 0) return TG_ERR_FILE;
    files->package_root[files->npackage++] = root;
  }
  return TG_OK;
}

tgFileSet *tgi_files_in_memory(const tgLoadOptions *options, tgError *error) {
  tgFileSet *files = create(options);
  if (files == NULL) tgi_error(error, TG_ERR_MEMORY, "out of memory for the directories that files may come from");
  else if (add_given_roots(files, error) < 0) {
    tgi_files_free(files);
    files = NULL;
  }
  return files;
}

tgFileSet *tgi_files_for_model(const char *path, const tgLoadOptions *options, tgError *error) {
  tgFileSet *files = create(options);
  if (files == NULL) {
    tgi_error(error, TG_ERR_MEMORY, "out of memory for %s", path);
    return NULL;
  }
  char directory[PATH_SIZE];
  const char *slash = strrchr(path, '/');
  size_t n = slash == NULL ? 0 : (size_t)(slash - path);
  if (n + 2 > sizeof directory) {
    tgi_error(error, TG_ERR_FILE, "the path of the model is longer than %d bytes", PATH_SIZE);
    tgi_files_free(files);
    return NULL;
  }
  memcpy(directory, path, n);
  directory[n] = 0;
  if (n == 0) strcpy(directory, slash == NULL ? "." : "/");
  if (tgi_files_add_root(files, directory, error) < 0 || add_given_roots(files, error) < 0) {
    tgi_files_free(files);
    return NULL;
  }
  return files;
}

const char *tgi_files_root(const tgFileSet *files, int i) {
  return i >= 0 && i < files->nroot ? files->root[i].name : NULL;
}

int tgi_files_package(const tgFileSet *files, const char *name) {
  for (int i = 0; i < files->npackage; i++)
    if (strcmp(files->options.package_name[i], name) == 0) return files->package_root[i];
  return -1;
}

bool tgi_path_join(char *out, size_t size, const char *directory, const char *path) {
  bool alone = directory == NULL || directory[0] == 0 || path[0] == '/';
  bool slash = !alone && directory[strlen(directory) - 1] == '/';
  int n = alone ? snprintf(out, size, "%s", path) : snprintf(out, size, "%s%s%s", directory, slash ? "" : "/", path);
  return n >= 0 && (size_t)n < size;
}

// removes ".", ".." and doubled slashes; false when ".." climbs past the start or the result does not fit
static bool normalize(char *out, size_t size, const char *path) {
  size_t n = 0;
  for (const char *p = path; *p != 0;) {
    while (*p == '/') p++;
    size_t m = strcspn(p, "/");
    bool up = m == 2 && p[0] == '.' && p[1] == '.';
    if (up && n == 0) return false;
    if (up) {
      while (n > 0 && out[n - 1] != '/') n--;
      if (n > 0) n--;
    } else if (m > 0 && !(m == 1 && p[0] == '.')) {
      if (n + m + 2 > size) return false;
      if (n > 0) out[n++] = '/';
      memcpy(out + n, p, m);
      n += m;
    }
    p += m;
  }
  out[n] = 0;
  return n > 0;
}

// opens `path` below fd one component at a time, following no link
static int open_walk(int fd, const char *path) {
  char clean[PATH_SIZE];
  if (!normalize(clean, sizeof clean, path)) {
    errno = EXDEV;
    return -1;
  }
  int at = fd;
  for (char *p = clean;;) {
    char *slash = strchr(p, '/');
    if (slash != NULL) *slash = 0;
    int flags = slash != NULL ? O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC
                              : O_RDONLY | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW | O_CLOEXEC;
    int next = openat(at, p, flags);
    int kept = errno;
    if (at != fd) close(at);
    errno = kept;
    if (next < 0 || slash == NULL) return next;
    at = next;
    p = slash + 1;
  }
}

static int open_beneath(tgFileSet *files, int fd, const char *path) {
  if (!files->walk) {
    struct open_how how = {.flags = O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC,
                           .resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS};
    for (int attempt = 0; attempt < 8; attempt++) {   // EAGAIN: a rename was going on
      long r = syscall(SYS_openat2, fd, path, &how, sizeof how);
      if (r >= 0) return (int)r;
      if (errno != EAGAIN && errno != EINTR) break;
    }
    if (errno != ENOSYS && errno != EPERM) return -1;
    files->walk = true;
  }
  return open_walk(fd, path);
}

// the part of an absolute, cleaned path below the root; NULL when it is not below it
static const char *below(const Root *root, const char *absolute) {
  size_t n = strlen(root->absolute);
  return strncmp(absolute, root->absolute, n) == 0 && absolute[n] == '/' && absolute[n + 1] != 0 ? absolute + n + 1
                                                                                                 : NULL;
}

// what is tried in one root: the path itself, or, when it is absolute or climbs out of its own root, the place that
// it means if that lies below this root
static int open_in(tgFileSet *files, const Root *root, const char *path, const char *meant, char *found, size_t size) {
  const char *rest = meant != NULL ? below(root, meant) : NULL;
  int fd = -1;
  errno = path[0] == '/' ? EXDEV : ENOENT;
  if (path[0] != '/') {
    fd = open_beneath(files, root->fd, path);
    tgi_path_join(found, size, root->name, path);
  }
  if (fd < 0 && rest != NULL && (path[0] == '/' || errno == EXDEV || errno == ENOENT)) {
    fd = open_beneath(files, root->fd, rest);
    tgi_path_join(found, size, root->name, rest);
  }
  return fd;
}

// reads exactly the size that the file had when it was opened; growing or shrinking meanwhile is an error
static bool begins(const tgFile *file, const char *with, size_t n) { return file->size >= n && memcmp(file->data, with, n) == 0; }

// what a file is that no reader takes, with the cure; NULL: none of these
static const char *what_it_is(const tgFile *file) {
  static const struct { const char *with; size_t n; const char *text; } known[] = {
      {"version https://git-lfs", 23, "a pointer of Git LFS, not the file itself; `git lfs pull` fetches that"},
      {"#usda ", 6, "a USD file; export the model as MJCF or URDF"},
      {"PXR-USDC", 8, "a USD file; export the model as MJCF or URDF"},
      {"\x31\xd4\0\0", 4, "a model that MuJoCo has compiled (.mjb); load the XML that it was made of, or what mj_saveLastXML writes"},
      {"PK\3\4", 4, "a zip archive; unpack it first"},
      {"\x1f\x8b", 2, "compressed; unpack it first"},
      {"<!DOCTYPE html", 14, "a web page; download the file that it shows"},
      {"<!doctype html", 14, "a web page; download the file that it shows"}};
  for (size_t i = 0; i < sizeof known / sizeof *known; i++)
    if (begins(file, known[i].with, known[i].n)) return known[i].text;
  return NULL;
}

static tgStatus read_all(tgFileSet *files, int fd, tgFile *file, tgError *error) {
  struct stat st;
  if (fstat(fd, &st) != 0) return tgi_error(error, tgi_file_status(errno), "%s: %s", file->path, strerror(errno));
  if (!S_ISREG(st.st_mode)) {
    const char *what = S_ISDIR(st.st_mode) ? "a directory" : S_ISFIFO(st.st_mode) ? "a pipe" : "a device or socket";
    return tgi_error(error, TG_ERR_FILE, "%s is %s, not a regular file", file->path, what);
  }
  size_t size = (size_t)st.st_size;
  if (size > files->options.max_file_bytes)
    return tgi_error(error, TG_ERR_LIMIT, "%s has %zu bytes, more than max_file_bytes = %zu; raise it if that is meant",
                     file->path, size, files->options.max_file_bytes);
  if (size > files->options.max_total_bytes - files->total)
    return tgi_error(error, TG_ERR_LIMIT, "with %s the files of this model exceed max_total_bytes = %zu; raise it if "
                     "that is meant", file->path, files->options.max_total_bytes);
  char *data = files->alloc.alloc(files->alloc.ctx, size + 1);
  if (data == NULL) return tgi_error(error, TG_ERR_MEMORY, "out of memory for %s (%zu bytes)", file->path, size);
  size_t n = 0;
  ssize_t got = 0;
  while (n <= size) {                       // one byte more than expected shows a file that grew
    got = read(fd, data + n, size + 1 - n);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    n += (size_t)got;
  }
  if (got < 0 || n != size) {
    int why = errno;
    files->alloc.free(files->alloc.ctx, data);
    return got < 0 ? tgi_error(error, tgi_file_status(why), "%s: %s", file->path, strerror(why))
                   : tgi_error(error, TG_ERR_FILE, "%s changed its size while it was read; repeat", file->path);
  }
  data[size] = 0;
  files->total += size;
  file->data = data;
  file->size = size;
  file->dev = (uint64_t)st.st_dev;
  file->ino = (uint64_t)st.st_ino;
  return TG_OK;
}

// links: the path itself stays within its root, so that what leads out of it is a symbolic link
static tgStatus not_found(const tgFileSet *files, int root, const char *path, int reason, bool links, tgError *error) {
  char places[400];
  size_t n = 0;
  places[0] = 0;
  for (int i = 0; i < files->nroot && n < sizeof places; i++) {
    if (root >= 0 && i != root) continue;
    int m = snprintf(places + n, sizeof places - n, "%s%s", n > 0 ? ", " : "", files->root[i].name);
    n += m > 0 ? (size_t)m : 0;
  }
  if (reason == EXDEV && links)
    return tgi_error(error, TG_ERR_FILE, "%s goes through a symbolic link that leads outside the directory that it is in (%s); name the "
                     "file that it leads to", path, places);
  if (reason == EXDEV)
    return tgi_error(error, TG_ERR_FILE, "%s leads outside the directories that files may come from (%s); add an asset "
                     "root that holds it", path, places);
  if (reason == ELOOP)
    return tgi_error(error, TG_ERR_FILE, "%s goes through a symbolic link that may not be followed (below %s); name the "
                     "real file", path, places);
  return tgi_error(error, tgi_file_status(reason), "%s: %s (searched %s)", path, strerror(reason), n > 0 ? places : "nowhere: no "
                   "directory is given");
}

// the home directory or one above it, "/", or one directly below that
static bool is_wide(const char *directory) {
  char home[PATH_MAX];
  const char *given = secure_getenv("HOME");
  size_t n = strlen(directory);
  if (n == 0 || strchr(directory + 1, '/') == NULL) return true;
  return given != NULL && realpath(given, home) != NULL && strncmp(home, directory, n) == 0 && (home[n] == 0 || home[n] == '/');
}

// Adds the nearest directory above the model's that `meant`, an absolute path without "..", lies below. False: none may be added, or
// one is there, which then tells the reason why it has no such file.
static bool look_above(tgFileSet *files, const char *meant, int *reason) {
  char up[PATH_MAX];
  if (!files->may_climb || below(&files->root[0], meant) != NULL) return false;   // a link leads out, not the path
  if (files->above > 0 && below(&files->root[files->above], meant) != NULL) {
    *reason = ENOENT;
    return false;
  }
  snprintf(up, sizeof up, "%s", files->root[0].absolute);
  for (int level = 0; level < TGI_FILES_ABOVE; level++) {
    char *slash = strrchr(up, '/');
    if (slash == NULL) return false;
    *slash = 0;
    if (is_wide(up)) return false;
    size_t n = strlen(up);
    if (strncmp(meant, up, n) != 0 || meant[n] != '/') continue;
    int root = tgi_files_add_root(files, up, &(tgError){0});
    if (root > 0) files->above = root;   // farther up than one before it, which does not hold what is asked for
    return root > 0;
  }
  return false;
}

// Opens the first root's file that there is; *reason: why there is none. meant: where the path points when taken from its own
// root, NULL: nowhere.
static int open_first(tgFileSet *files, int root, const char *path, const char *meant, tgFile *file, int *reason) {
  *reason = ENOENT;
  for (int i = 0; i < files->nroot; i++) {
    if (root >= 0 && i != root) continue;
    int fd = open_in(files, &files->root[i], path, meant, file->path, sizeof file->path);
    if (fd >= 0) return fd;
    if (*reason == ENOENT || errno == EXDEV) *reason = errno;
  }
  return -1;
}

tgStatus tgi_file_open(tgFileSet *files, int root, const char *path, tgFile *file, tgError *error) {
  *file = (tgFile){0};
  char joined[PATH_SIZE], clean[PATH_SIZE];
  if (strlen(path) >= PATH_SIZE / 2) return tgi_error(error, TG_ERR_FILE, "path of %zu bytes", strlen(path));
  if (path[0] == 0) return tgi_error(error, TG_ERR_FILE, "empty file name");
  if (path[0] == '/' && !files->options.allow_absolute)
    return tgi_error(error, TG_ERR_FILE, "absolute path %s refused: name the file relative to the model, or set "
                     "allow_absolute and an asset root above it", path);
  const Root *own = files->nroot > 0 ? &files->root[root > 0 ? root : 0] : NULL;
  clean[0] = '/';
  bool meant = own != NULL && tgi_path_join(joined, sizeof joined, own->absolute[0] != 0 ? own->absolute : "/", path) &&
               normalize(clean + 1, sizeof clean - 1, joined);
  int reason, fd = open_first(files, root, path, meant ? clean : NULL, file, &reason);
  bool climbs = fd < 0 && reason == EXDEV && root < 0 && meant && path[0] != '/';
  if (climbs && look_above(files, clean, &reason)) fd = open_first(files, root, path, clean, file, &reason);
  if (fd < 0) return not_found(files, root, path, reason, meant && below(own, clean) != NULL, error);
  tgStatus status = read_all(files, fd, file, error);
  close(fd);
  const char *what = status == TG_OK ? what_it_is(file) : NULL;
  if (what == NULL) return status;
  tgi_error(error, TG_ERR_PARSE, "%s is %s", file->path, what);
  tgi_file_close(files, file);
  return TG_ERR_PARSE;
}

void tgi_file_close(tgFileSet *files, tgFile *file) {
  files->alloc.free(files->alloc.ctx, file->data);
  *file = (tgFile){0};
}
