// mesh_raw.c: growing, triangulating and tidying what the mesh readers find. See mesh_raw.h.
#include "io/mesh_raw.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/status.h"

// corners of a face that is not convex, and corner comparisons spent on it, per corner squared
enum { POLYGON_MAX = 10000, EFFORT = 16 };

tgStatus tgi_line_error(tgError *error, tgStatus status, int line, const char *format, ...) {
  char text[500];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  tgi_error(error, status, "line %d: %s", line, text);
  if (error != NULL) error->line = line;
  return status;
}

tgStatus tgi_check_coordinate(double x, int line, tgError *error) {
  if (!isfinite(x)) return tgi_line_error(error, TG_ERR_NOT_FINITE, line, "a coordinate is not finite");
  if (fabs(x) > TGI_MESH_LARGEST)
    return tgi_line_error(error, TG_ERR_INVALID, line, "coordinate %g is larger than %g", x, TGI_MESH_LARGEST);
  return TG_OK;
}

// ---- growing ----

void tgi_raw_init(tgRawMesh *raw, const tgAllocator *allocator) {
  *raw = (tgRawMesh){.alloc = tgi_allocator(allocator)};
}

void tgi_raw_free(tgRawMesh *raw) {
  raw->alloc.free(raw->alloc.ctx, raw->vert);
  raw->alloc.free(raw->alloc.ctx, raw->face);
  raw->vert = NULL;
  raw->face = NULL;
}

static tgStatus grow(tgRawMesh *raw, void **array, int *cap, size_t want, size_t element, tgError *error) {
  if (want <= (size_t)*cap) return TG_OK;
  if (want > INT32_MAX / 3) return tgi_error(error, TG_ERR_LIMIT, "more vertices or faces than 2^31/3");
  void *p = raw->alloc.realloc(raw->alloc.ctx, *array, want * element);
  if (p == NULL) return tgi_error(error, TG_ERR_MEMORY, "out of memory for a mesh of %zu vertices or faces", want);
  *array = p;
  *cap = (int)want;
  return TG_OK;
}

tgStatus tgi_raw_reserve(tgRawMesh *raw, size_t nvert, size_t nface, tgError *error) {
  TG_TRY(grow(raw, (void **)&raw->vert, &raw->capvert, nvert, 3 * sizeof(double), error));
  return grow(raw, (void **)&raw->face, &raw->capface, nface, 3 * sizeof(int), error);
}

tgStatus tgi_raw_vert(tgRawMesh *raw, const double x[3], tgError *error) {
  if (raw->nvert == raw->capvert)
    TG_TRY(grow(raw, (void **)&raw->vert, &raw->capvert, 2 * (size_t)raw->nvert + 8, 3 * sizeof(double), error));
  for (int i = 0; i < 3; i++) raw->vert[3 * (size_t)raw->nvert + i] = x[i] + 0.0; // -0 becomes 0
  raw->nvert++;
  return TG_OK;
}

tgStatus tgi_raw_face(tgRawMesh *raw, int a, int b, int c, tgError *error) {
  if (raw->nface == raw->capface)
    TG_TRY(grow(raw, (void **)&raw->face, &raw->capface, 2 * (size_t)raw->nface + 8, 3 * sizeof(int), error));
  int *f = raw->face + 3 * (size_t)raw->nface++;
  f[0] = a;
  f[1] = b;
  f[2] = c;
  return TG_OK;
}

// ---- polygons ----

typedef struct Polygon {
  const int *loop;
  int n, u, v; // u, v: the axes of the plane that it is seen in
  double sign; // of the third axis
  const double *vert;
  int *next, *prev;
  long long effort;
} Polygon;

// twice the area of a, b, c seen along the normal
static double turn(const Polygon *p, int a, int b, int c) {
  const double *A = p->vert + 3 * (size_t)p->loop[a], *B = p->vert + 3 * (size_t)p->loop[b],
               *C = p->vert + 3 * (size_t)p->loop[c];
  return p->sign * ((B[p->u] - A[p->u]) * (C[p->v] - A[p->v]) - (B[p->v] - A[p->v]) * (C[p->u] - A[p->u]));
}

static void newell(const Polygon *p, double n[3]) {
  const double *o = p->vert + 3 * (size_t)p->loop[0];
  n[0] = n[1] = n[2] = 0;
  for (int k = 1; k + 1 < p->n; k++) {
    double a[3], b[3];
    for (int i = 0; i < 3; i++) {
      a[i] = p->vert[3 * (size_t)p->loop[k] + i] - o[i];
      b[i] = p->vert[3 * (size_t)p->loop[k + 1] + i] - o[i];
    }
    n[0] += a[1] * b[2] - a[2] * b[1];
    n[1] += a[2] * b[0] - a[0] * b[2];
    n[2] += a[0] * b[1] - a[1] * b[0];
  }
}

typedef enum Shape { SHAPE_PLANE, SHAPE_BENT, SHAPE_NO_NORMAL } Shape;

// farthest from the plane through the first corner, against the farthest from that corner; no normal: its loops cancel
static Shape shape(const Polygon *p, const double n[3]) {
  double length = sqrt(n[0] * n[0] + n[1] * n[1] + n[2] * n[2]), off = 0, size = 0;
  const double *o = p->vert + 3 * (size_t)p->loop[0];
  for (int k = 1; k < p->n; k++) {
    const double *x = p->vert + 3 * (size_t)p->loop[k];
    double d[3] = {x[0] - o[0], x[1] - o[1], x[2] - o[2]};
    off = fmax(off, fabs(d[0] * n[0] + d[1] * n[1] + d[2] * n[2]));
    size = fmax(size, sqrt(d[0] * d[0] + d[1] * d[1] + d[2] * d[2]));
  }
  if (!(length > 1e-12 * size * size)) return SHAPE_NO_NORMAL;
  return off > 1e-4 * size * length ? SHAPE_BENT : SHAPE_PLANE;
}

// seen along the largest component of the normal
static void project(Polygon *p, const double n[3]) {
  double a[3] = {fabs(n[0]), fabs(n[1]), fabs(n[2])};
  int w = a[0] >= a[1] && a[0] >= a[2] ? 0 : a[1] >= a[2] ? 1 : 2;
  p->u = (w + 1) % 3;
  p->v = (w + 2) % 3;
  p->sign = n[w] < 0 ? -1 : 1;
}

// convex at every corner and once round: the fan from its first corner then covers it once
static bool is_convex(const Polygon *p) {
  for (int k = 0; k < p->n; k++)
    if (turn(p, k, (k + 1) % p->n, (k + 2) % p->n) < 0) return false;
  for (int k = 1; k + 1 < p->n; k++)
    if (turn(p, 0, k, k + 1) < 0) return false;
  return true;
}

// corner b can be cut off: convex, and no other corner in the triangle (corners at its own vertices do not count)
static bool is_ear(Polygon *p, int b) {
  int a = p->prev[b], c = p->next[b];
  if (!(turn(p, a, b, c) > 0)) return false;
  for (int k = p->next[c]; k != a; k = p->next[k]) {
    int id = p->loop[k];
    p->effort++;
    if (id == p->loop[a] || id == p->loop[b] || id == p->loop[c]) continue;
    if (turn(p, a, b, k) >= 0 && turn(p, b, c, k) >= 0 && turn(p, c, a, k) >= 0) return false;
  }
  return true;
}

static tgStatus fan(tgRawMesh *raw, const Polygon *p, int start, int left, tgError *error) {
  int b = p->next[start];
  for (int k = 2; k < left; k++, b = p->next[b])
    TG_TRY(tgi_raw_face(raw, p->loop[start], p->loop[b], p->loop[p->next[b]], error));
  return TG_OK;
}

// cuts ears one after another; a round without one means that the polygon crosses itself
static tgStatus clip(tgRawMesh *raw, Polygon *p, tgError *error) {
  int left = p->n, at = 0, idle = 0;
  while (left > 3 && idle < left) {
    if (!is_ear(p, at)) {
      at = p->next[at];
      idle++;
      if (p->effort > EFFORT * (long long)p->n * p->n)
        return tgi_error(error, TG_ERR_LIMIT, "a face of %d corners is too intricate; triangulate it", p->n);
      continue;
    }
    int a = p->prev[at], c = p->next[at];
    TG_TRY(tgi_raw_face(raw, p->loop[a], p->loop[at], p->loop[c], error));
    p->next[a] = c;
    p->prev[c] = a;
    at = p->next[c];
    left--;
    idle = 0;
  }
  raw->ntangled += left > 3 || turn(p, p->prev[at], at, p->next[at]) < 0;
  return fan(raw, p, at, left, error);
}

tgStatus tgi_raw_polygon(tgRawMesh *raw, const int *loop, int n, tgError *error) {
  if (n == 3) return tgi_raw_face(raw, loop[0], loop[1], loop[2], error);
  Polygon p = {.loop = loop, .n = n, .vert = raw->vert};
  double normal[3];
  newell(&p, normal);
  project(&p, normal);
  Shape form = shape(&p, normal);
  raw->nbent += form == SHAPE_BENT;
  raw->ntangled += form == SHAPE_NO_NORMAL;
  if (form == SHAPE_NO_NORMAL || is_convex(&p)) {
    for (int k = 1; k + 1 < n; k++) TG_TRY(tgi_raw_face(raw, loop[0], loop[k], loop[k + 1], error));
    return TG_OK;
  }
  if (n > POLYGON_MAX)
    return tgi_error(error, TG_ERR_LIMIT, "a face that is not convex has %d corners, more than %d; split it", n,
                     POLYGON_MAX);
  p.next = raw->alloc.alloc(raw->alloc.ctx, 2 * (size_t)n * sizeof(int));
  if (p.next == NULL) return tgi_error(error, TG_ERR_MEMORY, "out of memory for a face of %d corners", n);
  p.prev = p.next + n;
  for (int k = 0; k < n; k++) {
    p.next[k] = (k + 1) % n;
    p.prev[k] = (k + n - 1) % n;
  }
  tgStatus status = clip(raw, &p, error);
  raw->alloc.free(raw->alloc.ctx, p.next);
  return status;
}

// ---- tidying ----

static uint64_t hash3(const double *x) {
  uint64_t h = 0x9E3779B97F4A7C15u, b;
  for (int i = 0; i < 3; i++) {
    memcpy(&b, &x[i], sizeof b);
    h = (h ^ b) * 0xBF58476D1CE4E5B9u;
    h ^= h >> 29;
  }
  return h;
}

// number[v]: the first vertex equal to v, through an open hash table
static tgStatus merge(tgRawMesh *raw, int *number, tgError *error) {
  size_t cap = 16;
  while (cap < 2 * (size_t)raw->nvert) cap *= 2;
  int *table = raw->alloc.alloc(raw->alloc.ctx, cap * sizeof *table);
  if (table == NULL) return tgi_error(error, TG_ERR_MEMORY, "out of memory for a mesh of %d vertices", raw->nvert);
  for (size_t i = 0; i < cap; i++) table[i] = -1;
  for (int v = 0; v < raw->nvert; v++) {
    const double *x = raw->vert + 3 * (size_t)v;
    size_t at = hash3(x) & (cap - 1);
    while (table[at] >= 0 && memcmp(raw->vert + 3 * (size_t)table[at], x, 3 * sizeof *x) != 0)
      at = (at + 1) & (cap - 1);
    if (table[at] < 0) table[at] = v;
    number[v] = table[at];
  }
  raw->alloc.free(raw->alloc.ctx, table);
  return TG_OK;
}

static bool no_area(const tgRawMesh *raw, const int *f) {
  if (f[0] == f[1] || f[1] == f[2] || f[2] == f[0]) return true;
  double e[3][3], longest = 0;
  for (int c = 0; c < 3; c++) {
    double d = 0;
    for (int i = 0; i < 3; i++) {
      e[c][i] = raw->vert[3 * (size_t)f[(c + 1) % 3] + i] - raw->vert[3 * (size_t)f[c] + i];
      d += e[c][i] * e[c][i];
    }
    longest = fmax(longest, d);
  }
  double n[3] = {e[0][1] * e[1][2] - e[0][2] * e[1][1], e[0][2] * e[1][0] - e[0][0] * e[1][2],
                 e[0][0] * e[1][1] - e[0][1] * e[1][0]};
  return !(sqrt(n[0] * n[0] + n[1] * n[1] + n[2] * n[2]) > 1e-12 * longest);
}

static void keep_faces(tgRawMesh *raw, const int *number, bool mirror) {
  int n = 0;
  for (int f = 0; f < raw->nface; f++) {
    const int *old = raw->face + 3 * (size_t)f;
    int t[3] = {number[old[0]], number[old[mirror ? 2 : 1]], number[old[mirror ? 1 : 2]]};
    if (no_area(raw, t)) continue;
    memcpy(raw->face + 3 * (size_t)n++, t, sizeof t);
  }
  raw->nzero = raw->nface - n;
  raw->nface = n;
}

// keeps the vertices that faces have, in their order
static void keep_vertices(tgRawMesh *raw, int *number) {
  int n = 0;
  for (int v = 0; v < raw->nvert; v++) number[v] = -1;
  for (size_t k = 0; k < 3 * (size_t)raw->nface; k++) number[raw->face[k]] = 0;
  for (int v = 0; v < raw->nvert; v++)
    if (number[v] == 0) {
      memmove(raw->vert + 3 * (size_t)n, raw->vert + 3 * (size_t)v, 3 * sizeof(double));
      number[v] = n++;
    }
  for (size_t k = 0; k < 3 * (size_t)raw->nface; k++) raw->face[k] = number[raw->face[k]];
  raw->nvert = n;
}

tgStatus tgi_raw_tidy(tgRawMesh *raw, const double scale[3], tgError *error) {
  for (int i = 0; i < 3; i++)
    if (!isfinite(scale[i]) || scale[i] == 0)
      return tgi_error(error, TG_ERR_INVALID, "scale %g %g %g: each must be finite and not zero", scale[0], scale[1],
                       scale[2]);
  for (size_t k = 0; k < 3 * (size_t)raw->nvert; k++) {
    raw->vert[k] = raw->vert[k] * scale[k % 3] + 0.0;
    if (!(fabs(raw->vert[k]) <= TGI_MESH_LARGEST))
      return tgi_error(error, TG_ERR_INVALID, "vertex %zu: coordinate %g after scaling is larger than %g", k / 3,
                       raw->vert[k], TGI_MESH_LARGEST);
  }
  if (raw->nface == 0) return tgi_error(error, TG_ERR_INVALID, "the mesh has no faces");
  int *number = raw->alloc.alloc(raw->alloc.ctx, ((size_t)raw->nvert + 1) * sizeof *number);
  if (number == NULL) return tgi_error(error, TG_ERR_MEMORY, "out of memory for a mesh of %d vertices", raw->nvert);
  tgStatus status = merge(raw, number, error);
  if (status == TG_OK) {
    keep_faces(raw, number, scale[0] * scale[1] * scale[2] < 0);
    keep_vertices(raw, number);
    if (raw->nface == 0)
      status = tgi_error(error, TG_ERR_INVALID, "the mesh has no face with area (%d faces have none)", raw->nzero);
  }
  raw->alloc.free(raw->alloc.ctx, number);
  return status;
}
