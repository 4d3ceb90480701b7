// hull_points.c: the convex hull of points, by qhull. See hull.h.
//
// qhull sees the points moved to their bounding box's centre and scaled to a diagonal of 1, so that its thresholds mean
// the same at every size. It merges facets that are coplanar up to rounding; each of its facets becomes one polygon.
// Its structures are only read after it has returned, since its functions leave by longjmp or exit. What it gives is
// checked by tgi_hull_check; when that fails, a more careful run follows.
#include <libqhull_r/libqhull_r.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/status.h"
#include "geom/hull.h"
#include "geom/hull_assemble.h"
#include "geom/mesh_check.h"

// the facets as loops over input points; then over used vertices
typedef struct Loops {
  int nface, nloop, nvert;
  int *adr, *loop;
  int *next;   // npoint x 2: neighbours within the facet at work; -1 none
  int *number; // npoint: index among the used ones
  double *vert;
} Loops;

static int point_id(const qhT *qh, const vertexT *vertex) { return (int)((vertex->point - qh->first_point) / 3); }

static bool join(Loops *l, int a, int b) {
  for (int s = 0; s < 2; s++) {
    int *n = l->next + 2 * (size_t)(s == 0 ? a : b), other = s == 0 ? b : a;
    if (n[0] < 0)
      n[0] = other;
    else if (n[1] < 0)
      n[1] = other;
    else
      return false;
  }
  return true;
}

// follows the neighbours from `start` back to it; false when that is not one cycle of `count` edges
static bool walk(Loops *l, int start, int count, int room) {
  int at = l->nloop, v = start, from = -1;
  if (count < 3 || count > room - at) return false;
  for (int k = 0; k < count; k++) {
    const int *n = l->next + 2 * (size_t)v;
    if (n[0] < 0 || n[1] < 0) return false;
    l->loop[at + k] = v;
    int to = n[0] == from ? n[1] : n[0];
    if (k == 0) to = n[0];
    from = v;
    v = to;
    if (v == start && k + 1 < count) return false;
  }
  if (v != start) return false;
  for (int k = 0; k < count; k++) l->next[2 * (size_t)l->loop[at + k]] = l->next[2 * (size_t)l->loop[at + k] + 1] = -1;
  l->nloop += count;
  l->adr[++l->nface] = l->nloop;
  return true;
}

// counter-clockwise from outside: the area vector agrees with the facet's normal
static void turn_out(Loops *l, const double *point, const double *normal) {
  int *loop = l->loop + l->adr[l->nface - 1], n = l->adr[l->nface] - l->adr[l->nface - 1];
  double sum = 0;
  const double *o = point + 3 * (size_t)loop[0];
  for (int k = 1; k + 1 < n; k++) {
    const double *p = point + 3 * (size_t)loop[k], *q = point + 3 * (size_t)loop[k + 1];
    double a[3] = {p[0] - o[0], p[1] - o[1], p[2] - o[2]}, b[3] = {q[0] - o[0], q[1] - o[1], q[2] - o[2]};
    sum += normal[0] * (a[1] * b[2] - a[2] * b[1]) + normal[1] * (a[2] * b[0] - a[0] * b[2]) +
           normal[2] * (a[0] * b[1] - a[1] * b[0]);
  }
  if (sum >= 0) return;
  for (int i = 0, j = n - 1; i < j; i++, j--) {
    int t = loop[i];
    loop[i] = loop[j];
    loop[j] = t;
  }
}

static bool read_facet(const qhT *qh, facetT *facet, const double *point, Loops *l, int room) {
  vertexT *vertex, **vertexp;
  ridgeT *ridge, **ridgep;
  int count = 0, start = -1;
  if (facet->simplicial) {
    int id[3], n = 0;
    FOREACHvertex_(facet->vertices) {
      if (n < 3) id[n] = point_id(qh, vertex);
      n++;
    }
    if (n != 3) return false;
    for (int i = 0; i < 3; i++)
      if (!join(l, id[i], id[(i + 1) % 3])) return false;
    count = 3;
    start = id[0];
  } else {
    FOREACHridge_(facet->ridges) {
      int id[2], n = 0;
      FOREACHvertex_(ridge->vertices) {
        if (n < 2) id[n] = point_id(qh, vertex);
        n++;
      }
      if (n != 2 || !join(l, id[0], id[1])) return false;
      start = id[0];
      count++;
    }
  }
  if (start < 0 || !walk(l, start, count, room)) return false;
  turn_out(l, point, facet->normal);
  return true;
}

static void count_facets(qhT *qh, int *nface, int *nloop) {
  facetT *facet;
  vertexT *vertex, **vertexp;
  *nface = *nloop = 0;
  FORALLfacets {
    FOREACHvertex_(facet->vertices) { (*nloop)++; }
    (*nface)++;
  }
}

// numbers the used points in their order, renames the loops and starts each at its least vertex
static void renumber(Loops *l, const double *point, int npoint) {
  for (int p = 0; p < npoint; p++) l->number[p] = -1;
  for (int k = 0; k < l->nloop; k++) l->number[l->loop[k]] = 0;
  for (int p = 0; p < npoint; p++)
    if (l->number[p] == 0) {
      memcpy(l->vert + 3 * (size_t)l->nvert, point + 3 * (size_t)p, 3 * sizeof(double));
      l->number[p] = l->nvert++;
    }
  // the others follow: they are to lie inside
  for (int p = 0, at = l->nvert; p < npoint; p++)
    if (l->number[p] < 0) memcpy(l->vert + 3 * (size_t)at++, point + 3 * (size_t)p, 3 * sizeof(double));
  for (int f = 0; f < l->nface; f++) {
    int *loop = l->loop + l->adr[f], n = l->adr[f + 1] - l->adr[f], least = 0;
    for (int k = 0; k < n; k++) {
      loop[k] = l->number[loop[k]];
      if (loop[k] < loop[least]) least = k;
    }
    for (int *first = loop, *middle = loop + least, *next = middle; first != next;) { // rotate in place
      int t = *first;
      *first++ = *next;
      *next++ = t;
      if (next == loop + n)
        next = middle;
      else if (first == middle)
        middle = next;
    }
  }
}

// qhull's result as a checked hull over the original points
static tgStatus extract(qhT *qh, const double *scaled, const double *point, int npoint, const tgAllocator *allocator,
                        tgHullOwned **hull, tgError *error) {
  tgAllocator alloc = tgi_allocator(allocator);
  facetT *facet;
  int nface, nloop;
  count_facets(qh, &nface, &nloop);
  size_t ints = (size_t)nface + 1 + (size_t)nloop + 3 * (size_t)npoint;
  char *block = alloc.alloc(alloc.ctx, 3 * (size_t)npoint * sizeof(double) + ints * sizeof(int));
  if (block == NULL)
    return tgi_error(error, TG_ERR_MEMORY, "it needs more memory than there is for a hull of %d points", npoint);
  Loops l = {.vert = (double *)(void *)block};
  l.adr = (int *)(void *)(block + 3 * (size_t)npoint * sizeof(double));
  l.loop = l.adr + nface + 1;
  l.next = l.loop + nloop;
  l.number = l.next + 2 * (size_t)npoint;
  l.adr[0] = 0;
  for (size_t i = 0; i < 2 * (size_t)npoint; i++) l.next[i] = -1;
  bool good = true;
  FORALLfacets {
    if (good) good = read_facet(qh, facet, scaled, &l, nloop);
  }
  tgStatus status;
  if (good) {
    renumber(&l, point, npoint);
    status = tgi_hull_assemble(l.vert, l.nvert, l.adr, l.loop, l.nface, allocator, hull, error);
  } else {
    status = tgi_error(error, TG_ERR_INTERNAL, "its hull has a facet that is not one loop");
  }
  if (status == TG_OK) status = tgi_hull_check(&(*hull)->hull, l.vert + 3 * (size_t)l.nvert, npoint - l.nvert, error);
  alloc.free(alloc.ctx, block);
  if (status < 0) {
    tgi_hull_free(*hull);
    *hull = NULL;
  }
  return status;
}

// one run of qhull; its messages go to a buffer that nobody sees
static tgStatus attempt(const char *options, double *scaled, const double *point, int npoint,
                        const tgAllocator *allocator, tgHullOwned **hull, tgError *error) {
  char log[512], command[64];
  FILE *sink = fmemopen(log, sizeof log, "w");
  if (sink == NULL) return tgi_error(error, TG_ERR_MEMORY, "it needs more memory than there is for qhull");
  qhT qh_record, *qh = &qh_record;
  int left, total;
  snprintf(command, sizeof command, "%s", options);
  qh_zero(qh, sink);
  int code = qh_new_qhull(qh, 3, npoint, scaled, 0, command, NULL, sink);
  tgStatus status;
  if (code == 0)
    status = extract(qh, scaled, point, npoint, allocator, hull, error);
  else
    status = tgi_error(error, code == qh_ERRmem ? TG_ERR_MEMORY : TG_ERR_INTERNAL,
                       "it has no hull of its %d points (qhull code %d)", npoint, code);
  qh_freeqhull(qh, !qh_ALL);
  qh_memfreeshort(qh, &left, &total);
  fclose(sink);
  return status;
}

static tgStatus judge(const double *point, int npoint, double *diagonal, tgError *error) {
  for (size_t i = 0; i < 3 * (size_t)npoint; i++)
    if (!isfinite(point[i]))
      return tgi_error(error, TG_ERR_NOT_FINITE, "it has a coordinate (%zu of point %zu) that is not finite", i % 3,
                       i / 3);
  tgExtent extent = tgi_points_extent(point, npoint, diagonal);
  if (npoint < 4 || extent != TG_EXTENT_SOLID)
    return tgi_error(error, TG_ERR_INVALID,
                     "it has %d points that are %s within %g of their bounding box and bound no solid", npoint,
                     npoint < 4 && extent == TG_EXTENT_SOLID ? "flat" : tgi_extent_word(extent), TGI_FLAT);
  return TG_OK;
}

// Facets that are coplanar up to 1e-6 of the size become one. qhull's time for that grows with the square of their
// number, and a hull of so many facets is a round body, whose facets are not to be merged. Where merging does not work out the hull
// stays as it is; where there is no memory for it that is an error, or the same points would have two hulls.
static tgStatus merge_facets(double *scaled, const double *point, int npoint, const tgAllocator *allocator, tgHullOwned **hull,
                             tgError *error) {
  enum { MOST = 8192 };
  tgHullOwned *merged = NULL;
  tgError why = {0};
  if ((*hull)->hull.nface > MOST) return TG_OK;
  tgStatus status = attempt("qhull Pp C-0 C1e-6", scaled, point, npoint, allocator, &merged, &why);
  if (status < 0 && status != TG_ERR_MEMORY) return TG_OK;
  tgi_hull_free(*hull);
  *hull = merged;
  return status < 0 ? tgi_error(error, status, "%s", why.text) : TG_OK;
}

tgStatus tgi_hull_from_points(const double *point, int npoint, const tgAllocator *allocator, tgHullOwned **hull,
                              tgError *error) {
  // facets coplanar up to rounding are one; triangles where that goes wrong
  static const char *const options[] = {"qhull Pp C-0", "qhull Pp Qt"};
  tgAllocator alloc = tgi_allocator(allocator);
  double diagonal;
  *hull = NULL;
  TG_TRY(judge(point, npoint, &diagonal, error));
  double *scaled = alloc.alloc(alloc.ctx, tgi_size_mul(3 * (size_t)npoint, sizeof *scaled));
  if (scaled == NULL)
    return tgi_error(error, TG_ERR_MEMORY, "it needs more memory than there is for a hull of %d points", npoint);
  for (int i = 0; i < 3; i++) {
    double lo = point[i], hi = lo;
    for (int k = 1; k < npoint; k++) {
      lo = fmin(lo, point[3 * (size_t)k + i]);
      hi = fmax(hi, point[3 * (size_t)k + i]);
    }
    double middle = lo + (hi - lo) / 2;
    for (int k = 0; k < npoint; k++) scaled[3 * (size_t)k + i] = (point[3 * (size_t)k + i] - middle) / diagonal;
  }
  tgStatus status = TG_ERR_INTERNAL;
  for (size_t k = 0; k < sizeof options / sizeof *options && status == TG_ERR_INTERNAL; k++)
    status = attempt(options[k], scaled, point, npoint, allocator, hull, error);
  if (status == TG_OK) status = merge_facets(scaled, point, npoint, allocator, hull, error);
  alloc.free(alloc.ctx, scaled);
  if (status != TG_ERR_INTERNAL) return status;
  // slivers of clusters that nearly coincide: neither way of merging facets gives a polytope to rounding
  char why[200];
  snprintf(why, sizeof why, "%.199s", error != NULL ? error->text : "");
  return tgi_error(error, TG_ERR_INVALID, "its points are too nearly flat or coincident for a hull that holds to rounding (%s)", why);
}
