// simplify.c: the one file that knows meshoptimizer (docs/decisions/0039-meshes-to-a-budget.md).
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
  int *same;                // nvert: the first vertex at the place
  unsigned *in, *kept;      // 3 nface: corners
} Room;

static tgStatus take(const tgAllocator *a, int nvert, int nface, Room *r) {
  r->rounded = a->alloc(a->ctx, tgi_size_mul(3 * (size_t)nvert, sizeof *r->rounded));
  r->place = a->alloc(a->ctx, tgi_size_mul(3 * (size_t)nvert, sizeof *r->place));
  r->same = a->alloc(a->ctx, tgi_size_mul((size_t)nvert, sizeof *r->same));
  r->in = a->alloc(a->ctx, tgi_size_mul(3 * (size_t)nface, sizeof *r->in));
  r->kept = a->alloc(a->ctx, tgi_size_mul(3 * (size_t)nface, sizeof *r->kept));
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

tgStatus tgi_simplify(const double *vert, int nvert, const int *face, int nface, int budget, const tgAllocator *allocator,
                      int *out, int *nout, tgError *error) {
  tgAllocator a = tgi_allocator(allocator);
  Room r = {0};
  size_t n = 0;
  *nout = 0;
  if (nface < 1) return tgi_error(error, TG_ERR_INVALID, "it has no triangle");
  tgStatus status = take(&a, nvert, nface, &r);
  if (status == TG_OK) {
    round_places(vert, nvert, &r);
    status = tgi_mesh_weld(r.rounded, nvert, face, nface, &a, r.same, error);
  }
  if (status == TG_OK) {
    for (size_t f = 0; f < (size_t)nface; f++) {
      unsigned c[3];
      for (int k = 0; k < 3; k++) c[k] = (unsigned)r.same[face[3 * f + (size_t)k]];
      if (c[0] == c[1] || c[1] == c[2] || c[2] == c[0]) continue;
      memcpy(r.in + 3 * n++, c, sizeof c);
    }
    // the error allowed is the mesh's size: the budget alone ends the collapses
    size_t kept = meshopt_simplify(r.kept, r.in, 3 * n, r.place, (size_t)nvert, 3 * sizeof(float), 3 * (size_t)budget, 1.0f, 0, NULL);
    for (size_t i = 0; i < kept; i++) out[i] = (int)r.kept[i];
    *nout = (int)(kept / 3);
    if (*nout == 0) status = tgi_error(error, TG_ERR_INVALID, "no triangle of it is left of %d", nface);
  }
  give(&a, &r);
  if (status == TG_ERR_MEMORY) return tgi_error(error, status, "out of memory for its %d triangles", nface);
  return status;
}

#endif
