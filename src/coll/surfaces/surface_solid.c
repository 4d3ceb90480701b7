// surface_solid.c: is a surface the border of a solid? See distance_grid.h.
#include <math.h>
#include <stdlib.h>

#include "coll/surfaces/distance_grid.h"
#include "coll/surfaces/exact.h"
#include "geom/mesh_check.h"
#include "math/d3.h"

static void corners(const double *vert, const int *face, double x[9]) {
  for (int i = 0; i < 9; i++) x[i] = vert[3 * face[i / 3] + i % 3];
}

// which corners of a are corners of b; same[i]: that of b, or -1
static int common(const int *a, const int *b, int same[3]) {
  int n = 0;
  for (int i = 0; i < 3; i++) {
    same[i] = -1;
    for (int j = 0; j < 3; j++)
      if (a[i] == b[j]) same[i] = j;
    n += same[i] >= 0;
  }
  return n;
}

// does the edge of a across its corner i meet b?
static bool edge_meets(const double *vert, const int *a, int i, const int *b) {
  int edge[3] = {a[(i + 1) % 3], a[(i + 2) % 3], a[(i + 2) % 3]};
  double x[9], y[9];
  corners(vert, edge, x);
  corners(vert, b, y);
  return tgi_exact_triangles(x, y);
}

// folded onto each other about the common edge: in one plane, and on the same side of it
static bool folded(const double *vert, const int *a, const int same[3], const int *b) {
  int i = same[0] < 0 ? 0 : same[1] < 0 ? 1 : 2, j = 3 - same[(i + 1) % 3] - same[(i + 2) % 3];
  const double *p = vert + 3 * a[(i + 1) % 3], *q = vert + 3 * a[(i + 2) % 3], *x = vert + 3 * a[i], *y = vert + 3 * b[j];
  double e[3], u[3], v[3], m[3], n[3];
  if (tgi_exact_orient3(p, q, x, y) != 0) return false;
  tgi_d3_sub(e, q, p);
  tgi_d3_sub(u, x, p);
  tgi_d3_sub(v, y, p);
  tgi_d3_cross(m, e, u);
  tgi_d3_cross(n, e, v);
  return tgi_d3_dot(m, n) > 0;
}

// have two faces more in common than their common corners?
static bool faces_meet(const double *vert, const int *a, const int *b) {
  int same[3], of_b[3], n = common(a, b, same);
  double x[9], y[9];
  if (n == 3) return true;
  if (n == 2) return folded(vert, a, same, b);
  if (n == 1) {
    common(b, a, of_b);
    for (int i = 0; i < 3; i++)
      if ((same[i] >= 0 && edge_meets(vert, a, i, b)) || (of_b[i] >= 0 && edge_meets(vert, b, i, a))) return true;
    return false;
  }
  corners(vert, a, x);
  corners(vert, b, y);
  return tgi_exact_triangles(x, y);
}

// faces by the low ends of their boxes along x: those that follow one until its high end are all that it may meet
typedef struct Span { double low[3], high[3]; int face; } Span;

static int by_low(const void *a, const void *b) {
  const Span *x = a, *y = b;
  return x->low[0] < y->low[0] ? -1 : x->low[0] > y->low[0] ? 1 : x->face - y->face;
}

static bool apart(const Span *a, const Span *b) {
  return a->high[1] < b->low[1] || b->high[1] < a->low[1] || a->high[2] < b->low[2] || b->high[2] < a->low[2];
}

static tgStatus check_apart(const tgiSurface *s, const double *vert, const tgAllocator *a, tgError *error) {
  Span *span = a->alloc(a->ctx, ((size_t)s->nface + 1) * sizeof *span);
  if (span == NULL) return tgi_error(error, TG_ERR_MEMORY, "out of memory for its %d faces", s->nface);
  for (int f = 0; f < s->nface; f++) {
    double x[9];
    corners(vert, s->face + 3 * f, x);
    span[f].face = f;
    for (int c = 0; c < 3; c++) {
      span[f].low[c] = fmin(x[c], fmin(x[3 + c], x[6 + c]));
      span[f].high[c] = fmax(x[c], fmax(x[3 + c], x[6 + c]));
    }
  }
  qsort(span, (size_t)s->nface, sizeof *span, by_low);
  tgStatus status = TG_OK;
  for (int i = 0; i < s->nface && status == TG_OK; i++)
    for (int j = i + 1; j < s->nface && span[j].low[0] <= span[i].high[0] && status == TG_OK; j++) {
      int f = span[i].face, g = span[j].face;
      if (apart(&span[i], &span[j]) || !faces_meet(vert, s->face + 3 * f, s->face + 3 * g)) continue;
      status = tgi_error(error, TG_ERR_INVALID, "it meets itself at faces %d and %d", s->origin[f], s->origin[g]);
    }
  a->free(a->ctx, span);
  return status;
}

tgStatus tgi_surface_check_solid(const tgiSurface *s, const double *vert, const tgAllocator *a, tgError *error) {
  tgMeshCheck check;
  if (tgi_mesh_check(vert, s->nvert, s->face, s->nface, a, &check) < 0)
    return tgi_error(error, TG_ERR_MEMORY, "out of memory for its %d faces", s->nface);
  TG_TRY(tgi_mesh_check_solid(&check, error));
  return check_apart(s, vert, a, error);
}
