// tessellate.c: see tessellate.h.
#include "support/tessellate.h"

#include <stdint.h>

#include "base/memory.h"
#include "geom/hull_assemble.h"

static bool positive(const double *x, int n) {
  for (int i = 0; i < n; i++)
    if (!(x[i] > 0) || !isfinite(x[i])) return false;
  return true;
}

static tgStatus finished(tgHullOwned **hull) {
  tgStatus status = tgi_hull_check(&(*hull)->hull, NULL, 0, NULL);
  if (status < 0) {
    tgi_hull_free(*hull);
    *hull = NULL;
  }
  return status;
}

// rings of nside vertices between two ends, each a pole (one vertex) or, for prisms, a polygon cap
typedef struct Rings {
  int nside, nring, nvert, nface, nloop;
  bool poles;
  double *vert;
  int *adr, *loop;
} Rings;

static bool rings_allocate(Rings *r, const tgAllocator *alloc) {
  size_t s = (size_t)r->nside, m = (size_t)r->nring;
  size_t nvert = s * m + (r->poles ? 2 : 0);
  size_t nface = s * (m - 1) + (r->poles ? 2 * s : 2), nloop = 4 * s * (m - 1) + (r->poles ? 6 * s : 2 * s);
  if (nloop > INT32_MAX / 2) return false;
  r->nvert = (int)nvert;
  r->nface = (int)nface;
  r->nloop = (int)nloop;
  char *block = alloc->alloc(alloc->ctx, 3 * nvert * sizeof(double) + (nface + 1 + nloop) * sizeof(int));
  if (block == NULL) return false;
  r->vert = (double *)(void *)block;
  r->adr = (int *)(void *)(block + 3 * nvert * sizeof(double));
  r->loop = r->adr + nface + 1;
  return true;
}

// ring 0 is the lowest; vertex i of ring k is k nside + i; the poles come last: below, above
static void rings_faces(Rings *r) {
  int s = r->nside, below = s * r->nring, above = below + 1, at = 0, f = 0;
  r->adr[0] = 0;
  for (int k = 0; k + 1 < r->nring; k++)
    for (int i = 0; i < s; i++) {
      int a = k * s + i, b = k * s + (i + 1) % s, quad[4] = {a, b, b + s, a + s};
      for (int c = 0; c < 4; c++) r->loop[at++] = quad[c];
      r->adr[++f] = at;
    }
  for (int end = 0; end < 2; end++) {
    int ring = end == 0 ? 0 : s * (r->nring - 1);
    for (int i = 0; i < s; i++) {
      int a = ring + i, b = ring + (i + 1) % s;
      if (r->poles) {
        int tri[3] = {end == 0 ? b : a, end == 0 ? a : b, end == 0 ? below : above};
        for (int c = 0; c < 3; c++) r->loop[at++] = tri[c];
        r->adr[++f] = at;
      } else {
        r->loop[at++] = end == 0 ? ring + s - 1 - i : a;
      }
    }
    if (!r->poles) r->adr[++f] = at;
  }
}

static tgStatus rings_finish(Rings *r, const tgAllocator *allocator, tgHullOwned **hull) {
  tgAllocator alloc = tgi_allocator(allocator);
  rings_faces(r);
  tgStatus status = tgi_hull_assemble(r->vert, r->nvert, r->adr, r->loop, r->nface, allocator, hull, NULL);
  alloc.free(alloc.ctx, r->vert);
  return status == TG_OK ? finished(hull) : status;
}

tgStatus tgt_hull_box(const double half[3], const tgAllocator *allocator, tgHullOwned **hull) {
  // bit i of a vertex: + along axis i; loops counter-clockwise from outside
  static const int adr[7] = {0, 4, 8, 12, 16, 20, 24};
  static const int loop[24] = {0, 4, 6, 2, 1, 3, 7, 5, 0, 1, 5, 4, 2, 6, 7, 3, 0, 2, 3, 1, 4, 5, 7, 6};
  double vert[24];
  *hull = NULL;
  if (!positive(half, 3)) return TG_ERR_ARG;
  for (int v = 0; v < 8; v++)
    for (int i = 0; i < 3; i++) vert[3 * v + i] = v >> i & 1 ? half[i] : -half[i];
  tgStatus status = tgi_hull_assemble(vert, 8, adr, loop, 6, allocator, hull, NULL);
  return status == TG_OK ? finished(hull) : status;
}

tgStatus tgt_hull_cylinder(double radius, double half, int nside, const tgAllocator *allocator, tgHullOwned **hull) {
  double size[2] = {radius, half};
  tgAllocator alloc = tgi_allocator(allocator);
  Rings r = {.nside = nside, .nring = 2, .poles = false};
  *hull = NULL;
  if (!positive(size, 2) || nside < 3) return TG_ERR_ARG;
  if (!rings_allocate(&r, &alloc)) return TG_ERR_MEMORY;
  for (int v = 0; v < r.nvert; v++) {
    double angle = 2 * TG_PI * (v % nside) / nside;
    r.vert[3 * v] = radius * cos(angle);
    r.vert[3 * v + 1] = radius * sin(angle);
    r.vert[3 * v + 2] = v < nside ? -half : half;
  }
  return rings_finish(&r, allocator, hull);
}

tgStatus tgt_hull_ellipsoid(const double semi[3], int nring, int nside, const tgAllocator *allocator,
                            tgHullOwned **hull) {
  tgAllocator alloc = tgi_allocator(allocator);
  Rings r = {.nside = nside, .nring = nring, .poles = true};
  *hull = NULL;
  if (!positive(semi, 3) || nside < 3 || nring < 1) return TG_ERR_ARG;
  if (!rings_allocate(&r, &alloc)) return TG_ERR_MEMORY;
  for (int v = 0; v < nside * nring; v++) {
    double angle = 2 * TG_PI * (v % nside) / nside, latitude = TG_PI * ((v / nside + 1.0) / (nring + 1) - 0.5);
    r.vert[3 * v] = semi[0] * cos(latitude) * cos(angle);
    r.vert[3 * v + 1] = semi[1] * cos(latitude) * sin(angle);
    r.vert[3 * v + 2] = semi[2] * sin(latitude);
  }
  for (int end = 0; end < 2; end++) {
    double *pole = r.vert + 3 * (nside * nring + end);
    pole[0] = pole[1] = 0;
    pole[2] = end == 0 ? -semi[2] : semi[2];
  }
  return rings_finish(&r, allocator, hull);
}
