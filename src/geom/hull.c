// hull.c: convex polytopes from points. qhull finds triangles; we merge coplanar ones to polygons, build the adjacency
// and check the result ourselves.
#include "geom/hull.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <libqhull_r/qhull_ra.h>

#include "base/layout.h"
#include "base/status.h"

// triangles whose vertices lie this close to a seed's plane (relative to size) are one face: float32 meshes carry 1e-7
static const double COPLANAR = 1e-6;

typedef struct Work {
  tgAllocator alloc;
  const double *point;
  int npoint;
  double size;              // largest extent of the points
  double inside[3];         // a point in the interior
  int ntri; int (*tri)[3];  // outward counter-clockwise, point indices
  int *owner;               // face of each triangle
  int nface, nloop;
  int *face_adr, *face_vert;  // loops of point indices
  int *rank;                // point -> hull vertex, -1
  int nvert;
} Work;

static void plane_of(const double *a, const double *b, const double *c, double n[3]) {
  double u[3], w[3];
  for (int i = 0; i < 3; i++) { u[i] = b[i] - a[i]; w[i] = c[i] - a[i]; }
  n[0] = u[1] * w[2] - u[2] * w[1];
  n[1] = u[2] * w[0] - u[0] * w[2];
  n[2] = u[0] * w[1] - u[1] * w[0];
}
static double dot(const double *a, const double *b) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }
static double norm2(const tgReal *v) { return tgRe(v[0]) * tgRe(v[0]) + tgRe(v[1]) * tgRe(v[1]) + tgRe(v[2]) * tgRe(v[2]); }
static const double *at(const Work *w, int i) { return w->point + 3 * i; }

// is there volume? four points that span it, else the dimension is told
static tgStatus check_span(Work *w, tgError *why) {
  int far[4] = {0, 0, 0, 0};
  double best = 0, n[3], lo[3], hi[3];
  for (int k = 0; k < 3; k++) lo[k] = hi[k] = w->point[k];
  for (int i = 0; i < w->npoint; i++)
    for (int k = 0; k < 3; k++) {
      lo[k] = fmin(lo[k], at(w, i)[k]);
      hi[k] = fmax(hi[k], at(w, i)[k]);
    }
  w->size = fmax(hi[0] - lo[0], fmax(hi[1] - lo[1], hi[2] - lo[2]));
  for (int i = 0; i < w->npoint; i++) {
    double d = 0;
    for (int k = 0; k < 3; k++) d += (at(w, i)[k] - at(w, 0)[k]) * (at(w, i)[k] - at(w, 0)[k]);
    if (d > best) { best = d; far[1] = i; }
  }
  if (!(best > 0)) return tgi_error(why, TG_ERR_INVALID, "all its points coincide");
  double span = sqrt(best), area = 0, height = 0;
  for (int i = 0; i < w->npoint; i++) {
    plane_of(at(w, 0), at(w, far[1]), at(w, i), n);
    if (dot(n, n) > area) { area = dot(n, n); far[2] = i; }
  }
  area = sqrt(area);
  if (area < 1e-7 * span * span) return tgi_error(why, TG_ERR_INVALID, "its points lie on a line");
  plane_of(at(w, 0), at(w, far[1]), at(w, far[2]), n);
  for (int i = 0; i < w->npoint; i++) {
    double d[3] = {at(w, i)[0] - at(w, 0)[0], at(w, i)[1] - at(w, 0)[1], at(w, i)[2] - at(w, 0)[2]};
    double h = fabs(dot(n, d)) / area;
    if (h > height) { height = h; far[3] = i; }
  }
  if (height < 1e-6 * span) return tgi_error(why, TG_ERR_INVALID, "it is flat: its points lie in a plane");
  for (int k = 0; k < 3; k++) w->inside[k] = (at(w, 0)[k] + at(w, far[1])[k] + at(w, far[2])[k] + at(w, far[3])[k]) / 4;
  return TG_OK;
}

static void orient(const Work *w, int t[3]) {
  double n[3], d[3];
  plane_of(at(w, t[0]), at(w, t[1]), at(w, t[2]), n);
  for (int k = 0; k < 3; k++) d[k] = at(w, t[0])[k] - w->inside[k];
  if (dot(n, d) < 0) {
    int x = t[1];
    t[1] = t[2];
    t[2] = x;
  }
}

static tgStatus run_qhull(Work *w, tgError *why) {
  FILE *quiet = fopen("/dev/null", "w");
  if (quiet == NULL) return tgi_error(why, TG_ERR_INTERNAL, "no stream for qhull's messages");
  qhT state, *qh = &state;
  qh_zero(qh, quiet);
  char command[] = "qhull Qt Pp";
  int rc = qh_new_qhull(qh, 3, w->npoint, (double *)(uintptr_t)w->point, False, command, quiet, quiet);
  tgStatus st = rc == 0 ? TG_OK : tgi_error(why, TG_ERR_INVALID, "qhull cannot make a hull of its %d points (code %d)", w->npoint, rc);
  if (st == TG_OK) {
    facetT *facet;
    vertexT *vertex, **vertexp;
    w->tri = w->alloc.alloc(w->alloc.ctx, tgi_size_mul((size_t)qh->num_facets + 1, sizeof *w->tri));
    if (w->tri == NULL) st = tgi_error(why, TG_ERR_MEMORY, "out of memory for %d facets", qh->num_facets);
    else FORALLfacets {
      int k = 0, t[3] = {0};
      FOREACHvertex_(facet->vertices) if (k < 3) t[k++] = qh_pointid(qh, vertex->point);
      if (k < 3) continue;
      orient(w, t);
      memcpy(w->tri[w->ntri++], t, sizeof t);
    }
  }
  qh_freeqhull(qh, qh_ALL);
  int curlong, totlong;
  qh_memfreeshort(qh, &curlong, &totlong);
  fclose(quiet);
  return st;
}

typedef struct HalfEdge { int from, to, tri; } HalfEdge;
static int by_ends(const void *x, const void *y) {
  const HalfEdge *a = x, *b = y;
  return a->from != b->from ? (a->from < b->from ? -1 : 1) : (a->to > b->to) - (a->to < b->to);
}
static const HalfEdge *find_half(const HalfEdge *e, int n, int from, int to) {
  HalfEdge key = {from, to, 0};
  return bsearch(&key, e, (size_t)n, sizeof *e, by_ends);
}

static bool near_plane(const Work *w, const double n[3], const double *p, const int t[3]) {
  for (int k = 0; k < 3; k++) {
    double d[3] = {at(w, t[k])[0] - p[0], at(w, t[k])[1] - p[1], at(w, t[k])[2] - p[2]};
    if (fabs(dot(n, d)) > COPLANAR * w->size) return false;
  }
  double m[3];
  plane_of(at(w, t[0]), at(w, t[1]), at(w, t[2]), m);
  return dot(m, n) >= 0;
}

static int by_area(const void *x, const void *y) {
  const double *a = x, *b = y;
  return a[0] != b[0] ? (a[0] > b[0] ? -1 : 1) : (a[1] > b[1]) - (a[1] < b[1]);
}

// floods from the largest triangle: neighbours in the seed's plane join its face
static void merge_coplanar(Work *w, const HalfEdge *half, double (*seed)[2], int *queue) {
  for (int t = 0; t < w->ntri; t++) {
    double n[3];
    plane_of(at(w, w->tri[t][0]), at(w, w->tri[t][1]), at(w, w->tri[t][2]), n);
    seed[t][0] = dot(n, n);
    seed[t][1] = t;
    w->owner[t] = -1;
  }
  qsort(seed, (size_t)w->ntri, sizeof *seed, by_area);
  for (int s = 0; s < w->ntri; s++) {
    int first = (int)seed[s][1], head = 0, tail = 0;
    if (w->owner[first] >= 0) continue;
    double n[3], len;
    plane_of(at(w, w->tri[first][0]), at(w, w->tri[first][1]), at(w, w->tri[first][2]), n);
    len = sqrt(dot(n, n));
    for (int k = 0; k < 3; k++) n[k] = len > 0 ? n[k] / len : 0;
    w->owner[first] = w->nface;
    queue[tail++] = first;
    while (head < tail) {
      const int *t = w->tri[queue[head++]];
      for (int k = 0; k < 3; k++) {
        const HalfEdge *e = find_half(half, 3 * w->ntri, t[(k + 1) % 3], t[k]);
        if (e == NULL || w->owner[e->tri] >= 0 || !near_plane(w, n, at(w, w->tri[first][0]), w->tri[e->tri])) continue;
        w->owner[e->tri] = w->nface;
        queue[tail++] = e->tri;
      }
    }
    w->nface++;
  }
}

// boundary of each face as one loop: half-edges whose other side is another face; next[] chains them by their start
static tgStatus make_loops(Work *w, const HalfEdge *half, int *next, tgError *why) {
  w->nloop = 0;
  for (int f = 0; f < w->nface; f++) {
    int start = -1, count = 0;
    for (int t = 0; t < w->ntri; t++) {
      if (w->owner[t] != f) continue;
      for (int k = 0; k < 3; k++) {
        int a = w->tri[t][k], b = w->tri[t][(k + 1) % 3];
        const HalfEdge *e = find_half(half, 3 * w->ntri, b, a);
        if (e == NULL) return tgi_error(why, TG_ERR_INTERNAL, "qhull's hull is not closed at points %d and %d", a, b);
        if (w->owner[e->tri] == f) continue;
        next[a] = b;
        start = a;
        count++;
      }
    }
    w->face_adr[f] = w->nloop;
    int v = start, walked = 0;
    do {
      w->face_vert[w->nloop++] = v;
      v = next[v];
      walked++;
    } while (v != start && walked < count);
    if (v != start || walked != count || count < 3) return tgi_error(why, TG_ERR_INTERNAL, "a face of its hull has no simple outline");
  }
  w->face_adr[w->nface] = w->nloop;
  return TG_OK;
}

// points on an edge between two corners belong to two faces only: they are left out
static void drop_straight_points(Work *w, int *uses) {
  memset(uses, 0, (size_t)w->npoint * sizeof *uses);
  for (int i = 0; i < w->nloop; i++) uses[w->face_vert[i]]++;
  int n = 0, begin = 0;
  for (int f = 0; f < w->nface; f++) {
    int end = w->face_adr[f + 1];
    w->face_adr[f] = n;
    for (int i = begin; i < end; i++)
      if (uses[w->face_vert[i]] > 2) w->face_vert[n++] = w->face_vert[i];
    begin = end;
  }
  w->face_adr[w->nface] = w->nloop = n;
  w->nvert = 0;
  for (int i = 0; i < w->npoint; i++) w->rank[i] = uses[i] > 2 ? w->nvert++ : -1;
}

static void place_hull(tgHullOwned *h, tgLayout *l, const Work *w) {
  size_t ne = (size_t)w->nloop / 2, nl = (size_t)w->nloop, nf = (size_t)w->nface, nv = (size_t)w->nvert;
  tgHull *p = &h->hull;
  p->nvert = w->nvert;
  p->nedge = (int)ne;
  p->nface = w->nface;
  p->vert = tgi_place(l, 3 * nv, sizeof(tgReal));
  p->edge = tgi_place(l, 4 * ne, sizeof(int));
  p->face_adr = tgi_place(l, nf + 1, sizeof(int));
  p->face_vert = tgi_place(l, nl, sizeof(int));
  p->face_edge = tgi_place(l, nl, sizeof(int));
  p->face_plane = tgi_place(l, 4 * nf, sizeof(tgReal));
  p->vert_adr = tgi_place(l, nv + 1, sizeof(int));
  p->vert_next = tgi_place(l, 2 * ne, sizeof(int));
}

#define MUT(T, p) ((T *)(uintptr_t)(p))

// edges numbered by their first appearance in the loops; false when an edge has no opposite
static bool fill_edges(tgHull *h, const Work *w, HalfEdge *half) {
  int *edge = MUT(int, h->edge), *face_edge = MUT(int, h->face_edge), n = 0;
  for (int f = 0; f < h->nface; f++)
    for (int i = h->face_adr[f]; i < h->face_adr[f + 1]; i++) {
      int j = i + 1 < h->face_adr[f + 1] ? i + 1 : h->face_adr[f];
      half[i] = (HalfEdge){h->face_vert[i], h->face_vert[j], i};
    }
  qsort(half, (size_t)w->nloop, sizeof *half, by_ends);
  for (int i = 0; i < w->nloop; i++) face_edge[i] = -1;
  for (int f = 0; f < h->nface; f++)
    for (int i = h->face_adr[f]; i < h->face_adr[f + 1]; i++) {
      int j = i + 1 < h->face_adr[f + 1] ? i + 1 : h->face_adr[f], g = 0;
      if (face_edge[i] >= 0) continue;
      const HalfEdge *e = find_half(half, w->nloop, h->face_vert[j], h->face_vert[i]);
      if (e == NULL || 2 * n + 2 > w->nloop) return false;
      while (h->face_adr[g + 1] <= e->tri) g++;
      int row[4] = {h->face_vert[i], h->face_vert[j], f, g};
      memcpy(edge + 4 * n, row, sizeof row);
      face_edge[i] = face_edge[e->tri] = n++;
    }
  return n == h->nedge;
}

static void fill_neighbours(tgHull *h) {
  int *adr = MUT(int, h->vert_adr), *next = MUT(int, h->vert_next);
  memset(adr, 0, ((size_t)h->nvert + 1) * sizeof *adr);
  for (int e = 0; e < h->nedge; e++)
    for (int k = 0; k < 2; k++) adr[h->edge[4 * e + k] + 1]++;
  for (int v = 0; v < h->nvert; v++) adr[v + 1] += adr[v];
  for (int e = 0; e < h->nedge; e++)
    for (int k = 0; k < 2; k++) next[adr[h->edge[4 * e + k]]++] = h->edge[4 * e + 1 - k];
  for (int v = h->nvert; v > 0; v--) adr[v] = adr[v - 1];
  adr[0] = 0;
}

// Newell's normal; the offset is the support, so that every vertex is inside or on the face
static void fill_planes(tgHull *h) {
  tgReal *plane = MUT(tgReal, h->face_plane);
  double r2 = 0;
  for (int f = 0; f < h->nface; f++) {
    double n[3] = {0}, off = -INFINITY;
    for (int i = h->face_adr[f]; i < h->face_adr[f + 1]; i++) {
      int j = i + 1 < h->face_adr[f + 1] ? i + 1 : h->face_adr[f], o = h->face_vert[h->face_adr[f]];
      double a[3], b[3];
      for (int k = 0; k < 3; k++) {
        a[k] = tgRe(h->vert[3 * h->face_vert[i] + k] - h->vert[3 * o + k]);
        b[k] = tgRe(h->vert[3 * h->face_vert[j] + k] - h->vert[3 * o + k]);
      }
      n[0] += a[1] * b[2] - a[2] * b[1];
      n[1] += a[2] * b[0] - a[0] * b[2];
      n[2] += a[0] * b[1] - a[1] * b[0];
    }
    double len = sqrt(dot(n, n));
    for (int k = 0; k < 3; k++) plane[4 * f + k] = n[k] /= len;
    for (int i = h->face_adr[f]; i < h->face_adr[f + 1]; i++) {
      const tgReal *v = h->vert + 3 * h->face_vert[i];
      off = fmax(off, n[0] * tgRe(v[0]) + n[1] * tgRe(v[1]) + n[2] * tgRe(v[2]));
    }
    plane[4 * f + 3] = off;
  }
  for (int v = 0; v < h->nvert; v++) r2 = fmax(r2, norm2(h->vert + 3 * v));
  h->radius = sqrt(r2);
}

// Euler's formula, and every given point behind every face
static tgStatus check_hull(const tgHull *h, const Work *w, tgError *why) {
  if (h->nvert - h->nedge + h->nface != 2)
    return tgi_error(why, TG_ERR_INTERNAL, "its hull has %d vertices, %d edges, %d faces, which no polytope has", h->nvert, h->nedge, h->nface);
  for (int f = 0; f < h->nface; f++)
    for (int i = 0; i < w->npoint; i++) {
      double d = -tgRe(h->face_plane[4 * f + 3]);
      for (int k = 0; k < 3; k++) d += tgRe(h->face_plane[4 * f + k]) * at(w, i)[k];
      if (d > 10 * COPLANAR * w->size) return tgi_error(why, TG_ERR_INTERNAL, "point %d lies %g m outside its hull", i, d);
    }
  return TG_OK;
}

static tgStatus build(Work *w, tgHullOwned **out, tgError *why) {
  tgLayout l = {.base = NULL};
  tgHullOwned count;
  tgi_place(&l, 1, sizeof **out);
  place_hull(&count, &l, w);
  HalfEdge *half = w->alloc.alloc(w->alloc.ctx, tgi_size_mul((size_t)w->nloop + 1, sizeof *half));
  char *block = w->alloc.alloc(w->alloc.ctx, l.used + 64);
  if (block == NULL || half == NULL) {
    w->alloc.free(w->alloc.ctx, half);
    w->alloc.free(w->alloc.ctx, block);
    return tgi_error(why, TG_ERR_MEMORY, "out of memory for a hull of %d vertices", w->nvert);
  }
  l = (tgLayout){.base = block};
  tgHullOwned *h = tgi_place(&l, 1, sizeof *h);
  *h = (tgHullOwned){.alloc = w->alloc};
  place_hull(h, &l, w);
  for (int i = 0; i < w->npoint; i++)
    if (w->rank[i] >= 0)
      for (int k = 0; k < 3; k++) MUT(tgReal, h->hull.vert)[3 * w->rank[i] + k] = at(w, i)[k];
  memcpy(MUT(int, h->hull.face_adr), w->face_adr, ((size_t)w->nface + 1) * sizeof(int));
  for (int i = 0; i < w->nloop; i++) MUT(int, h->hull.face_vert)[i] = w->rank[w->face_vert[i]];
  bool closed = fill_edges(&h->hull, w, half);
  w->alloc.free(w->alloc.ctx, half);
  fill_neighbours(&h->hull);
  fill_planes(&h->hull);
  tgStatus st = closed ? check_hull(&h->hull, w, why) : tgi_error(why, TG_ERR_INTERNAL, "the edges of its hull do not match");
  if (st < 0) tgi_hull_free(h);
  else *out = h;
  return st;
}

static tgStatus merge_and_build(Work *w, tgHullOwned **out, tgError *why) {
  size_t nt = (size_t)w->ntri, np = (size_t)w->npoint;
  tgLayout l = {.base = NULL};
  HalfEdge *half = NULL;
  double (*seed)[2] = NULL;
  int *queue = NULL, *scratch = NULL;
  char *block = NULL;
  for (int pass = 0; pass < 2; pass++) {
    half = tgi_place(&l, 3 * nt, sizeof *half);
    seed = tgi_place(&l, nt, sizeof *seed);
    queue = tgi_place(&l, nt, sizeof *queue);
    scratch = tgi_place(&l, np, sizeof *scratch);
    w->owner = tgi_place(&l, nt, sizeof *w->owner);
    w->face_adr = tgi_place(&l, nt + 1, sizeof *w->face_adr);
    w->face_vert = tgi_place(&l, 3 * nt, sizeof *w->face_vert);
    w->rank = tgi_place(&l, np, sizeof *w->rank);
    if (pass == 0) {
      block = w->alloc.alloc(w->alloc.ctx, l.used + 64);
      if (block == NULL) return tgi_error(why, TG_ERR_MEMORY, "out of memory for a hull of %d points", w->npoint);
      l = (tgLayout){.base = block};
    }
  }
  for (int t = 0; t < w->ntri; t++)
    for (int k = 0; k < 3; k++) half[3 * t + k] = (HalfEdge){w->tri[t][k], w->tri[t][(k + 1) % 3], t};
  qsort(half, 3 * nt, sizeof *half, by_ends);
  merge_coplanar(w, half, seed, queue);
  tgStatus st = make_loops(w, half, scratch, why);
  if (st == TG_OK) {
    drop_straight_points(w, scratch);
    st = build(w, out, why);
  }
  w->alloc.free(w->alloc.ctx, block);
  return st;
}

tgStatus tgi_hull_from_points(const double *point, int npoint, const tgAllocator *alloc, tgHullOwned **out, tgError *why) {
  Work w = {.alloc = tgi_allocator(alloc), .point = point, .npoint = npoint};
  if (npoint < 4) return tgi_error(why, TG_ERR_INVALID, "it has %d points; a hull needs four", npoint);
  tgStatus st = check_span(&w, why);
  if (st == TG_OK) st = run_qhull(&w, why);
  if (st == TG_OK) st = merge_and_build(&w, out, why);
  w.alloc.free(w.alloc.ctx, w.tri);
  return st;
}

tgStatus tgi_hull_box(const double half[3], const tgAllocator *alloc, tgHullOwned **out) {
  double p[24];
  for (int i = 0; i < 8; i++)
    for (int k = 0; k < 3; k++) p[3 * i + k] = (i >> k & 1) ? half[k] : -half[k];
  return tgi_hull_from_points(p, 8, alloc, out, NULL);
}

tgStatus tgi_hull_cylinder(double radius, double half_length, int sides, const tgAllocator *alloc, tgHullOwned **out) {
  tgAllocator a = tgi_allocator(alloc);
  double *p = sides < 3 ? NULL : a.alloc(a.ctx, tgi_size_mul(6 * (size_t)sides, sizeof *p));
  if (p == NULL) return sides < 3 ? TG_ERR_ARG : TG_ERR_MEMORY;
  for (int i = 0; i < 2 * sides; i++) {
    double angle = 2 * TG_PI * (i / 2) / sides;
    p[3 * i] = radius * cos(angle);
    p[3 * i + 1] = radius * sin(angle);
    p[3 * i + 2] = i % 2 == 0 ? -half_length : half_length;
  }
  tgStatus st = tgi_hull_from_points(p, 2 * sides, alloc, out, NULL);
  a.free(a.ctx, p);
  return st;
}

tgStatus tgi_hull_ellipsoid(const double semi[3], int rings, int sectors, const tgAllocator *alloc, tgHullOwned **out) {
  if (rings < 1 || sectors < 3) return TG_ERR_ARG;
  tgAllocator a = tgi_allocator(alloc);
  int n = rings * sectors + 2;
  double *p = a.alloc(a.ctx, tgi_size_mul(3 * (size_t)n, sizeof *p));
  if (p == NULL) return TG_ERR_MEMORY;
  for (int i = 0; i < n - 2; i++) {
    double lat = TG_PI * ((i / sectors + 1.0) / (rings + 1) - 0.5), lon = 2 * TG_PI * (i % sectors) / sectors;
    p[3 * i] = semi[0] * cos(lat) * cos(lon);
    p[3 * i + 1] = semi[1] * cos(lat) * sin(lon);
    p[3 * i + 2] = semi[2] * sin(lat);
  }
  double poles[6] = {0, 0, -semi[2], 0, 0, semi[2]};
  memcpy(p + 3 * (n - 2), poles, sizeof poles);
  tgStatus st = tgi_hull_from_points(p, n, alloc, out, NULL);
  a.free(a.ctx, p);
  return st;
}

void tgi_hull_free(tgHullOwned *hull) {
  if (hull == NULL) return;
  tgAllocator a = hull->alloc;
  a.free(a.ctx, hull);
}

// six times the signed volume of the tetrahedron (o, a, b, c)
static double volume6(const double *o, const double *a, const double *b, const double *c) {
  double n[3], d[3] = {o[0] - a[0], o[1] - a[1], o[2] - a[2]};
  plane_of(a, b, c, n);
  return -dot(n, d);
}

double tgi_hull_concavity(const tgHull *hull, const double *vert, int nvert, const int *face, int nface) {
  double mesh = 0, all = 0;
  if (nvert < 1) return 0;
  for (int f = 0; f < nface; f++)
    mesh += volume6(vert, vert + 3 * face[3 * f], vert + 3 * face[3 * f + 1], vert + 3 * face[3 * f + 2]);
  for (int f = 0; f < hull->nface; f++) {
    const int *loop = hull->face_vert + hull->face_adr[f];
    for (int k = 1; k + 1 < hull->face_adr[f + 1] - hull->face_adr[f]; k++) {
      double p[9];
      const int corner[3] = {loop[0], loop[k], loop[k + 1]};
      for (int i = 0; i < 9; i++) p[i] = tgRe(hull->vert[3 * corner[i / 3] + i % 3]);
      all += volume6(vert, p, p + 3, p + 6);
    }
  }
  return mesh > 0 && all > mesh ? all / mesh - 1 : 0;
}
