// inwards.c: how a surface moves inwards along its faces' normals. See tessellate.h.
//
// The move d of a vertex is to have n_f . d = -1 for every face f at it. Weighted by the faces' angles a_f there, which
// do not depend on how a flat side is
// cut into triangles, least squares give  (A + RIDGE tr(A)/3 1) d = -sum a_f n_f,  A = sum a_f n_f n_f'.
// The ridge leaves d without a part along directions that no face constrains, and bounds it on a knife's edge.
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "geom/tessellate.h"
#include "math/dense.h"
#include "math/vec3.h"

#define RIDGE 1e-3

// of the faces at one vertex: lower and upper half of A, and sum a_f n_f
typedef struct Corner { double A[9], b[3]; } Corner;

static void edge_of(const double *vert, int from, int to, double e[3]) {
  for (int i = 0; i < 3; i++) e[i] = vert[3 * (size_t)to + (size_t)i] - vert[3 * (size_t)from + (size_t)i];
}

static void cross_of(const double a[3], const double b[3], double c[3]) {
  for (int i = 0; i < 3; i++) c[i] = a[(i + 1) % 3] * b[(i + 2) % 3] - a[(i + 2) % 3] * b[(i + 1) % 3];
}

static double dot_of(const double a[3], const double b[3]) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }

static void add_face(const double *vert, const int *face, Corner *corner) {
  for (int k = 0; k < 3; k++) {
    double u[3], v[3], n[3];
    edge_of(vert, face[k], face[(k + 1) % 3], u);
    edge_of(vert, face[k], face[(k + 2) % 3], v);
    cross_of(u, v, n);
    double length = sqrt(dot_of(n, n)), angle = atan2(length, dot_of(u, v));
    if (!(length > 0)) continue;
    Corner *c = &corner[face[k]];
    for (int i = 0; i < 3; i++) {
      c->b[i] += angle * n[i] / length;
      for (int j = 0; j < 3; j++) c->A[3 * i + j] += angle * n[i] * n[j] / (length * length);
    }
  }
}

static void solve(Corner *c, double d[3]) {
  double ridge = RIDGE * (c->A[0] + c->A[4] + c->A[8]) / 3;
  for (int i = 0; i < 3; i++) {
    c->A[4 * i] += ridge;
    d[i] = -c->b[i];
  }
  if (!(ridge > 0) || !tgi_solve_real(3, c->A, d)) d[0] = d[1] = d[2] = 0;
  double length = sqrt(dot_of(d, d));
  for (int i = 0; i < 3 && length > TGI_INWARDS_MOST; i++) d[i] *= TGI_INWARDS_MOST / length;
}

tgStatus tgi_surface_inwards(tgiSurface *s, const double size[3]) {
  size_t n = (size_t)s->nvert;
  tgReal z[3] = {size[0], size[1], size[2]};
  double *move = s->alloc.alloc(s->alloc.ctx, tgi_size_mul(n, 3 * sizeof *move));
  Corner *corner = s->alloc.alloc(s->alloc.ctx, tgi_size_mul(n, sizeof *corner + 3 * (sizeof(tgReal) + sizeof(double))));
  if (move == NULL || corner == NULL) {
    s->alloc.free(s->alloc.ctx, move);
    s->alloc.free(s->alloc.ctx, corner);
    return TG_ERR_MEMORY;
  }
  tgReal *place = (tgReal *)(void *)(corner + n);
  double *vert = (double *)(void *)(place + 3 * n);
  memset(corner, 0, n * sizeof *corner);
  tgi_surface_place(s, z, place);
  for (size_t k = 0; k < 3 * n; k++) vert[k] = tgRe(place[k]);
  for (int f = 0; f < s->nface; f++) add_face(vert, s->face + 3 * (size_t)f, corner);
  for (size_t k = 0; k < n; k++) solve(&corner[k], move + 3 * k);
  s->alloc.free(s->alloc.ctx, corner);
  s->inwards = move;
  return TG_OK;
}
