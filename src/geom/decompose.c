// decompose.c: the one file that knows CoACD (see docs/decisions/0005).
//
// The library may throw, assert or run out of memory, each of which would end the caller's process. So it is loaded and run in
// a child, which sends its pieces through a pipe in the form of pieces.h and is not trusted more than a file is.
#include "geom/decompose.h"

#include <dlfcn.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/child.h"
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
  return tgi_error(error, TG_ERR_UNSUPPORTED,
                   "this build has no library for convex decomposition; install coacd (docs/mjcf.md) and build again, for "
                   "Python by pip install of the source archive (docs/python.md)");
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
enum { CHILD_OK, CHILD_NO_LIBRARY = TGI_CHILD_OWN, CHILD_NO_PIECES, CHILD_MEMORY };
enum { CPU_SECONDS = 600 };

typedef struct Job { const double *vert; int nvert; const int *face; int nface; double threshold; } Job;

static CoacdArray call_library(CoacdRun *run, const Job *job) {
  CoacdMesh mesh = {(double *)(uintptr_t)job->vert, (uint64_t)job->nvert, (int *)(uintptr_t)job->face, (uint64_t)job->nface};
  // its own defaults, with a fixed seed: all pieces that it takes, remesh only what is not closed, merge, no decimation
  return run(&mesh, job->threshold, -1, 0, 50, 2000, 20, 150, 3, false, true, false, 256, false, 0.01, 0, 0, false);
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
  return tgi_child_send(fd, bytes, size);
}

static int cut(const void *ctx, int fd) {
  const Job *job = ctx;
  void *library = dlopen(TG_COACD_LIBRARY, RTLD_NOW | RTLD_LOCAL);
  if (library == NULL) return CHILD_NO_LIBRARY;
  void *run = dlsym(library, "CoACD_run"), *level = dlsym(library, "CoACD_setLogLevel");
  if (run == NULL || level == NULL) return CHILD_NO_LIBRARY;
  ((CoacdLogLevel *)(uintptr_t)level)("off");
  CoacdArray found = call_library((CoacdRun *)(uintptr_t)run, job);
  return send_pieces(fd, &found);
}

// ---- the parent ----

// code as tgi_child_run gives it
static tgStatus judge(int code, tgError *error) {
  if (code == -SIGXCPU || code == -SIGKILL)
    return tgi_error(error, TG_ERR_LIMIT, "%s was stopped: it may use %d s of processor time and what memory there is; cut it into "
                     "convex pieces by hand, or simplify it", tgi_decomposer(), CPU_SECONDS);
  if (code < 0)
    return tgi_error(error, TG_ERR_INVALID,
                     "%s failed on it (signal %d); check that it is closed and does not cut itself", tgi_decomposer(),
                     -code);
  switch (code) {
    case CHILD_OK: return TG_OK;
    case CHILD_NO_LIBRARY: return tgi_error(error, TG_ERR_FILE, "%s cannot be loaded from %s", tgi_decomposer(), TG_COACD_LIBRARY);
    case CHILD_NO_PIECES:
      return tgi_error(error, TG_ERR_INVALID, "%s finds no convex pieces, or more than %d", tgi_decomposer(), TGI_PIECES_MOST);
    case CHILD_MEMORY: return tgi_error(error, TG_ERR_MEMORY, "out of memory for its convex pieces");
    default: return tgi_error(error, TG_ERR_INVALID, "%s failed on it (exit code %d)", tgi_decomposer(), code);
  }
}

tgStatus tgi_decompose(const double *vert, int nvert, const int *face, int nface, double threshold, const tgAllocator *allocator,
                       tgPieces *pieces, tgError *error) {
  tgAllocator a = tgi_allocator(allocator);
  Job job = {vert, nvert, face, nface, threshold};
  double low[3], high[3];
  char *bytes;
  size_t size;
  int code;
  *pieces = (tgPieces){0};
  tgStatus status = tgi_child_run(cut, &job, CPU_SECONDS, false, &a, &bytes, &size, &code, error);
  if (status == TG_OK) status = judge(code, error);
  tgi_decompose_box(vert, nvert, low, high);
  if (status == TG_OK) {
    tgError why = {0};
    status = tgi_pieces_decode(bytes, size, 0, low, high, &a, pieces, &why);
    if (status == TG_ERR_PARSE) status = TG_ERR_INVALID;
    if (status < 0) tgi_error(error, status, "what %s made of it cannot be used: %s", tgi_decomposer(), why.text);
  }
  a.free(a.ctx, bytes);
  return status;
}

#endif
