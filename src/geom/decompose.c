// decompose.c: the one file that knows CoACD (see docs/decisions/0005).
//
// The library may throw, assert or run out of memory, each of which would end the caller's process. So it is loaded and run in
// a child, which sends its pieces through a pipe in the form of pieces.h and is not trusted more than a file is.
#include "geom/decompose.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/status.h"

void tgi_decompose_box(const double *vert, int nvert, double low[3], double high[3]) {
  double diagonal = 0;
  for (int k = 0; k < 3; k++) {
    low[k] = INFINITY;
    high[k] = -INFINITY;
    for (int i = 0; i < nvert; i++) {
      low[k] = fmin(low[k], vert[3 * i + k]);
      high[k] = fmax(high[k], vert[3 * i + k]);
    }
    diagonal += (high[k] - low[k]) * (high[k] - low[k]);
  }
  for (int k = 0; k < 3; k++) {
    low[k] -= 0.1 * sqrt(diagonal);
    high[k] += 0.1 * sqrt(diagonal);
  }
}

#ifndef TG_COACD_LIBRARY

const char *tgi_decomposer(void) { return ""; }

tgStatus tgi_decompose(const double *vert, int nvert, const int *face, int nface, double threshold, const tgAllocator *allocator,
                       tgPieces *pieces, tgError *error) {
  (void)vert, (void)nvert, (void)face, (void)nface, (void)threshold, (void)allocator;
  *pieces = (tgPieces){0};
  return tgi_error(error, TG_ERR_UNSUPPORTED, "this build has no library for convex decomposition; install coacd (docs/mjcf.md) and build again");
}

#else

const char *tgi_decomposer(void) { return "CoACD " TG_COACD_VERSION; }

// ---- CoACD's C interface, as version 1.0.14 has it ----

typedef struct CoacdMesh { double *vert; uint64_t nvert; int *face; uint64_t nface; } CoacdMesh;
typedef struct CoacdArray { CoacdMesh *mesh; uint64_t n; } CoacdArray;
typedef CoacdArray CoacdRun(const CoacdMesh *input, double threshold, int max_pieces, int preprocess, int preprocess_resolution,
                            int sample_resolution, int mcts_nodes, int mcts_iterations, int mcts_depth, bool pca, bool merge,
                            bool decimate, int max_vertices, bool extrude, double extrude_margin, int shape, unsigned seed,
                            bool real_metric);
typedef void CoacdLogLevel(const char *level);

// exit codes of the child
enum { CHILD_OK, CHILD_NO_LIBRARY = 11, CHILD_NO_PIECES, CHILD_MEMORY, CHILD_PIPE };
enum { CPU_SECONDS = 600 };

static CoacdArray call_library(CoacdRun *run, const double *vert, int nvert, const int *face, int nface, double threshold) {
  CoacdMesh mesh = {(double *)(uintptr_t)vert, (uint64_t)nvert, (int *)(uintptr_t)face, (uint64_t)nface};
  // its own defaults, with a fixed seed: all pieces that it takes, remesh only what is not closed, merge, no decimation
  return run(&mesh, threshold, -1, 0, 50, 2000, 20, 150, 3, false, true, false, 256, false, 0.01, 0, 0, false);
}

static bool write_all(int fd, const char *bytes, size_t size) {
  while (size > 0) {
    ssize_t n = write(fd, bytes, size);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    bytes += n;
    size -= (size_t)n;
  }
  return true;
}

static int send_pieces(int fd, const CoacdArray *found) {
  tgPieces p;
  uint32_t count[TGI_PIECES_MOST];
  int n = 0;
  for (uint64_t i = 0; i < found->n; i++) {
    if (found->mesh[i].nvert < 4) continue;          // no volume
    if (n == TGI_PIECES_MOST || found->mesh[i].nvert > TGI_PIECE_VERTICES_MOST) return CHILD_NO_PIECES;
    count[n++] = (uint32_t)found->mesh[i].nvert;
  }
  if (n == 0) return CHILD_NO_PIECES;
  if (tgi_pieces_create(&p, n, count, NULL, NULL) < 0) return CHILD_MEMORY;
  double *to = p.vert;
  for (uint64_t i = 0; i < found->n; i++) {
    if (found->mesh[i].nvert < 4) continue;
    memcpy(to, found->mesh[i].vert, 3 * found->mesh[i].nvert * sizeof *to);
    to += 3 * found->mesh[i].nvert;
  }
  size_t size = tgi_pieces_size(&p);
  char *bytes = malloc(size);
  if (bytes == NULL) return CHILD_MEMORY;
  tgi_pieces_encode(&p, 0, bytes);
  return write_all(fd, bytes, size) ? CHILD_OK : CHILD_PIPE;
}

// quiet, one thread, default signals, gone with its parent, ten minutes at most
static void settle_child(void) {
  struct rlimit cpu = {CPU_SECONDS, CPU_SECONDS}, none = {0, 0};
  int nowhere = open("/dev/null", O_RDWR);
  for (int fd = 0; fd < 3 && nowhere >= 0; fd++) dup2(nowhere, fd);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  setrlimit(RLIMIT_CPU, &cpu);
  setrlimit(RLIMIT_CORE, &none);
  for (int s = 1; s < NSIG; s++) signal(s, SIG_DFL);
  sigset_t all;
  sigemptyset(&all);
  sigprocmask(SIG_SETMASK, &all, NULL);
  setenv("OMP_NUM_THREADS", "1", 1);
}

static int child(int fd, const double *vert, int nvert, const int *face, int nface, double threshold) {
  settle_child();
  void *library = dlopen(TG_COACD_LIBRARY, RTLD_NOW | RTLD_LOCAL);
  if (library == NULL) return CHILD_NO_LIBRARY;
  void *run = dlsym(library, "CoACD_run"), *level = dlsym(library, "CoACD_setLogLevel");
  if (run == NULL || level == NULL) return CHILD_NO_LIBRARY;
  ((CoacdLogLevel *)(uintptr_t)level)("off");
  CoacdArray found = call_library((CoacdRun *)(uintptr_t)run, vert, nvert, face, nface, threshold);
  return send_pieces(fd, &found);
}

// ---- the parent ----

// all that comes until the other end closes
static tgStatus receive(int fd, const tgAllocator *a, char **bytes, size_t *size, tgError *error) {
  size_t room = 0, most = (size_t)1 << 30;
  *bytes = NULL;
  *size = 0;
  for (;;) {
    if (*size == room) {
      room = room == 0 ? 65536 : 2 * room;
      char *more = room <= most ? a->realloc(a->ctx, *bytes, room) : NULL;
      if (more == NULL) return tgi_error(error, TG_ERR_MEMORY, "out of memory for %zu bytes of convex pieces", room);
      *bytes = more;
    }
    ssize_t n = read(fd, *bytes + *size, room - *size);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return tgi_error(error, TG_ERR_INTERNAL, "the pipe from the decomposition cannot be read (error %d)", errno);
    if (n == 0) return TG_OK;
    *size += (size_t)n;
  }
}

static tgStatus judge(int state, tgError *error) {
  if (WIFSIGNALED(state) && (WTERMSIG(state) == SIGXCPU || WTERMSIG(state) == SIGKILL))
    return tgi_error(error, TG_ERR_LIMIT, "%s was stopped: it may use %d s of processor time and what memory there is; cut it into "
                     "convex pieces by hand, or simplify it", tgi_decomposer(), CPU_SECONDS);
  if (WIFSIGNALED(state))
    return tgi_error(error, TG_ERR_INVALID, "%s failed on it (signal %d); check that it is closed and does not cut itself", tgi_decomposer(),
                     WTERMSIG(state));
  switch (WEXITSTATUS(state)) {
    case CHILD_OK: return TG_OK;
    case CHILD_NO_LIBRARY: return tgi_error(error, TG_ERR_FILE, "%s cannot be loaded from %s", tgi_decomposer(), TG_COACD_LIBRARY);
    case CHILD_NO_PIECES: return tgi_error(error, TG_ERR_INVALID, "%s finds no convex pieces, or more than %d", tgi_decomposer(), TGI_PIECES_MOST);
    case CHILD_MEMORY: return tgi_error(error, TG_ERR_MEMORY, "out of memory for its convex pieces");
    default: return tgi_error(error, TG_ERR_INVALID, "%s failed on it (exit code %d)", tgi_decomposer(), WEXITSTATUS(state));
  }
}

tgStatus tgi_decompose(const double *vert, int nvert, const int *face, int nface, double threshold, const tgAllocator *allocator,
                       tgPieces *pieces, tgError *error) {
  tgAllocator a = tgi_allocator(allocator);
  double low[3], high[3];
  char *bytes;
  size_t size;
  int end[2], state = 0;
  *pieces = (tgPieces){0};
  if (pipe2(end, O_CLOEXEC) != 0) return tgi_error(error, TG_ERR_LIMIT, "no pipe for the decomposition (error %d)", errno);
  pid_t pid = fork();
  if (pid == 0) _exit(child(end[1], vert, nvert, face, nface, threshold));
  close(end[1]);
  if (pid < 0) {
    close(end[0]);
    return tgi_error(error, TG_ERR_LIMIT, "no process for the decomposition (error %d)", errno);
  }
  tgStatus status = receive(end[0], &a, &bytes, &size, error);
  close(end[0]);                       // a child that still writes fails, and ends
  pid_t gone;
  while ((gone = waitpid(pid, &state, 0)) < 0 && errno == EINTR) {}
  // where the program ignores SIGCHLD there is no state to be had: what came says it all
  if (status == TG_OK && gone == pid) status = judge(state, error);
  tgi_decompose_box(vert, nvert, low, high);
  if (status == TG_OK) {
    tgError why = {0};
    status = tgi_pieces_decode(bytes, size, 0, low, high, &a, pieces, &why);
    if (status < 0) tgi_error(error, status = status == TG_ERR_PARSE ? TG_ERR_INVALID : status, "what %s made of it cannot be used: %s", tgi_decomposer(), why.text);
  }
  a.free(a.ctx, bytes);
  return status;
}

#endif
