// simplify.c: the one file that knows meshoptimizer (docs/decisions/0041-meshes-to-a-budget.md).
#include "geom/simplify.h"

#ifndef TG_MESHOPT

const char *tgi_simplifier(void) { return ""; }

tgStatus tgi_simplify(const double *vert, int nvert, const int *face, int nface, int budget, const tgAllocator *allocator,
                      int *out, int *nout, tgError *error) {
  (void)vert, (void)nvert, (void)face, (void)nface, (void)budget, (void)allocator, (void)out;
  *nout = 0;
  return tgi_error(error, TG_ERR_UNSUPPORTED,
                   "this build has no library that reduces meshes; install libmeshoptimizer-dev (docs/mjcf.md) and build again");
}

#else

#include <math.h>
#include <string.h>

#include <meshoptimizer.h>

#include "base/memory.h"
#include "geom/tessellate.h"

#define TGI_TEXT(x) #x
#define TGI_TEXT_OF(x) TGI_TEXT(x)

const char *tgi_simplifier(void) { return "meshoptimizer " TGI_TEXT_OF(MESHOPTIMIZER_VERSION); }

typedef struct Room {
  double *rounded;          // nvert x 3: vertices as floats, in a box of size 1 about 0
  float *place;             // the same
  int *same, *number, *of;  // nvert: the first vertex at the place; which of the library's it is, -1: none; whose those are
  unsigned *in, *kept;      // 3 nface: corners
} Room;

static tgStatus take(const tgAllocator *a, int nvert, int nface, Room *r) {
  r->rounded = a->alloc(a->ctx, tgi_size_mul(3 * (size_t)nvert, sizeof *r->rounded));
  r->place = a->alloc(a->ctx, tgi_size_mul(3 * (size_t)nvert, sizeof *r->place));
  r->same = a->alloc(a->ctx, tgi_size_mul(3 * (size_t)nvert, sizeof *r->same));
  r->in = a->alloc(a->ctx, tgi_size_mul(3 * (size_t)nface, sizeof *r->in));
  r->kept = a->alloc(a->ctx, tgi_size_mul(3 * (size_t)nface, sizeof *r->kept));
  if (r->same != NULL) {
    r->number = r->same + nvert;
    r->of = r->number + nvert;
  }
  return r->rounded != NULL && r->place != NULL && r->same != NULL && r->in != NULL && r->kept != NULL ? TG_OK : TG_ERR_MEMORY;
}

static void give(const tgAllocator *a, Room *r) {
  a->free(a->ctx, r->rounded);
  a->free(a->ctx, r->place);
  a->free(a->ctx, r->same);
  a->free(a->ctx, r->in);
  a->free(a->ctx, r->kept);
}

static void round_places(const double *vert, int nvert, Room *r) {
  double low[3], high[3], size = 0;
  for (int k = 0; k < 3; k++) {
    low[k] = high[k] = vert[k];
    for (int i = 1; i < nvert; i++) {
      low[k] = fmin(low[k], vert[3 * (size_t)i + (size_t)k]);
      high[k] = fmax(high[k], vert[3 * (size_t)i + (size_t)k]);
    }
    size = fmax(size, high[k] - low[k]);
  }
  for (size_t i = 0; i < 3 * (size_t)nvert; i++) {
    r->place[i] = size > 0 ? (float)((vert[i] - (low[i % 3] + high[i % 3]) / 2) / size) : 0;
    r->rounded[i] = (double)r->place[i];
  }
}

// The faces that are left with the first vertex at each place, and no other vertices: one that no face has would count as a seam there.
static size_t number(int nvert, const int *face, int nface, Room *r, size_t *used) {
  size_t n = 0;
  *used = 0;
  for (int i = 0; i < nvert; i++) r->number[i] = -1;
  for (size_t f = 0; f < (size_t)nface; f++) {
    int c[3];
    for (int k = 0; k < 3; k++) c[k] = r->same[face[3 * f + (size_t)k]];
    if (c[0] == c[1] || c[1] == c[2] || c[2] == c[0]) continue;
    for (int k = 0; k < 3; k++) {
      if (r->number[c[k]] < 0) {
        r->of[*used] = c[k];
        r->number[c[k]] = (int)(*used)++;
      }
      r->in[n++] = (unsigned)r->number[c[k]];
    }
  }
  // in place: rounded has them all
  for (size_t i = 0; i < *used; i++)
    for (size_t k = 0; k < 3; k++) r->place[3 * i + k] = (float)r->rounded[3 * (size_t)r->of[i] + k];
  return n;
}

tgStatus tgi_simplify(const double *vert, int nvert, const int *face, int nface, int budget, const tgAllocator *allocator,
                      int *out, int *nout, tgError *error) {
  tgAllocator a = tgi_allocator(allocator);
  Room r = {0};
  *nout = 0;
  if (nface < 1) return tgi_error(error, TG_ERR_INVALID, "it has no triangle");
  tgStatus status = take(&a, nvert, nface, &r);
  if (status == TG_OK) {
    round_places(vert, nvert, &r);
    status = tgi_mesh_weld(r.rounded, nvert, face, nface, &a, r.same, error);
  }
  if (status == TG_OK) {
    size_t used, n = number(nvert, face, nface, &r, &used);
    // The error allowed is the mesh's size: the budget alone ends the collapses. The library asserts that there are so many.
    size_t kept = n, goal = 3 * (size_t)budget;
    if (goal < n) kept = meshopt_simplify(r.kept, r.in, n, r.place, used, 3 * sizeof(float), goal, 1.0f, 0, NULL);
    else memcpy(r.kept, r.in, n * sizeof *r.in);
    for (size_t i = 0; i < kept; i++) out[i] = r.of[r.kept[i]];
    *nout = (int)(kept / 3);
    if (*nout == 0) status = tgi_error(error, TG_ERR_INVALID, "no triangle of it is left of %d", nface);
  }
  give(&a, &r);
  if (status == TG_ERR_MEMORY) return tgi_error(error, status, "out of memory for its %d triangles", nface);
  return status;
}

#endif
