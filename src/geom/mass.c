// mass.c: mass properties. Meshes by signed tetrahedra over the faces (divergence theorem), shells by triangles.
#include "geom/mass.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/status.h"
#include "geom/hull.h"
#include "math/real.h"

static void diagonal(tgMassProps *p, double volume, double xx, double yy, double zz) {
  *p = (tgMassProps){.volume = volume, .inertia = {volume * xx, volume * yy, volume * zz}};
}

// surface of a capsule and a cylinder as sums of their parts (thin sheets, unit area density)
static void shell_of_revolution(tgGeomType type, double r, double half, tgMassProps *p) {
  double side = 4 * TG_PI * r * half, L = 2 * half;
  double Iz = side * r * r, Ix = side * (r * r / 2 + L * L / 12), area = side;
  if (type == TG_GEOM_CYLINDER) {
    double cap = 2 * TG_PI * r * r;
    area += cap;
    Iz += cap * r * r / 2;
    Ix += cap * (r * r / 4 + half * half);
  } else {
    // two hemispherical shells, each of mass 2 pi r^2, com r/2 above its circle: I about its circle's centre 2/3 m r^2
    double cap = 4 * TG_PI * r * r;
    area += cap;
    Iz += cap * 2 * r * r / 3;
    Ix += cap * (2 * r * r / 3 - r * r / 4 + (half + r / 2) * (half + r / 2));
  }
  *p = (tgMassProps){.volume = area, .inertia = {Ix, Ix, Iz}};
}

static void box_shell(const double *s, tgMassProps *p) {
  double I[3] = {0}, area = 0;
  for (int k = 0; k < 3; k++) {  // the two faces across axis k
    double a = s[(k + 1) % 3], b = s[(k + 2) % 3], m = 8 * a * b, d = s[k];
    area += m;
    I[k] += m * (a * a + b * b) / 3;
    I[(k + 1) % 3] += m * (b * b / 3 + d * d);
    I[(k + 2) % 3] += m * (a * a / 3 + d * d);
  }
  *p = (tgMassProps){.volume = area, .inertia = {I[0], I[1], I[2]}};
}

// thin homogeneous sheet on an ellipsoid: three-point Gauss cells in height, trapezium (spectral) in longitude
static void ellipsoid_shell(const double *s, tgMassProps *p) {
  enum { CELLS = 64, SECTORS = 128 };
  static const double node[3] = {-0.7745966692414834, 0, 0.7745966692414834}, weight[3] = {5 / 9.0, 8 / 9.0, 5 / 9.0};
  double sum[4] = {0};
  for (int i = 0; i < 3 * CELLS; i++)
    for (int j = 0; j < SECTORS; j++) {
      double z = -1 + (i / 3 + 0.5 + 0.5 * node[i % 3]) * 2 / CELLS, c = sqrt(1 - z * z), v = j * 2 * TG_PI / SECTORS;
      double x[3] = {s[0] * c * cos(v), s[1] * c * sin(v), s[2] * z};
      double n[3] = {s[1] * s[2] * c * cos(v), s[0] * s[2] * c * sin(v), s[0] * s[1] * z};
      double dA = sqrt(n[0] * n[0] + n[1] * n[1] + n[2] * n[2]) * weight[i % 3] / CELLS * 2 * TG_PI / SECTORS;
      sum[0] += dA;
      for (int k = 0; k < 3; k++) sum[k + 1] += dA * x[k] * x[k];
    }
  *p = (tgMassProps){.volume = sum[0], .inertia = {sum[2] + sum[3], sum[1] + sum[3], sum[1] + sum[2]}};
}

tgStatus tgi_mass_primitive(tgGeomType type, const double size[3], bool shell, tgMassProps *out) {
  double a = size[0], b = size[1], c = size[2];
  switch (type) {
    case TG_GEOM_SPHERE:
      if (shell) diagonal(out, 4 * TG_PI * a * a, 2 * a * a / 3, 2 * a * a / 3, 2 * a * a / 3);
      else diagonal(out, 4 * TG_PI * a * a * a / 3, 0.4 * a * a, 0.4 * a * a, 0.4 * a * a);
      return TG_OK;
    case TG_GEOM_CYLINDER:
      if (shell) shell_of_revolution(type, a, b, out);
      else diagonal(out, 2 * TG_PI * a * a * b, a * a / 4 + b * b / 3, a * a / 4 + b * b / 3, a * a / 2);
      return TG_OK;
    case TG_GEOM_CAPSULE: {
      if (shell) {
        shell_of_revolution(type, a, b, out);
        return TG_OK;
      }
      // cylinder plus two hemispheres: ball inertia shifted by half + 3r/8 from its own com, 83/320 m r^2 across
      double cyl = 2 * TG_PI * a * a * b, ball = 4 * TG_PI * a * a * a / 3, d = b + 3 * a / 8;
      double Ix = cyl * (a * a / 4 + b * b / 3) + ball * (83 * a * a / 320 + d * d);
      *out = (tgMassProps){.volume = cyl + ball, .inertia = {Ix, Ix, cyl * a * a / 2 + ball * 0.4 * a * a}};
      return TG_OK;
    }
    case TG_GEOM_ELLIPSOID:
      if (shell) ellipsoid_shell(size, out);
      else diagonal(out, 4 * TG_PI * a * b * c / 3, (b * b + c * c) / 5, (a * a + c * c) / 5, (a * a + b * b) / 5);
      return TG_OK;
    case TG_GEOM_BOX:
      if (shell) box_shell(size, out);
      else diagonal(out, 8 * a * b * c, (b * b + c * c) / 3, (a * a + c * c) / 3, (a * a + b * b) / 3);
      return TG_OK;
    default: return TG_ERR_ARG;
  }
}

typedef struct DirectedEdge { int lo, hi, sign, face; } DirectedEdge;

static int by_edge(const void *x, const void *y) {
  const DirectedEdge *a = x, *b = y;
  if (a->lo != b->lo) return a->lo < b->lo ? -1 : 1;
  if (a->hi != b->hi) return a->hi < b->hi ? -1 : 1;
  return (a->face > b->face) - (a->face < b->face);
}

// every edge must be used once in each direction: else the surface is open, not a manifold, or wound both ways
static tgStatus check_closed(const int *face, int nface, const tgAllocator *alloc, tgError *error) {
  size_t n = 3 * (size_t)nface;
  DirectedEdge *e = alloc->alloc(alloc->ctx, tgi_size_mul(n + 1, sizeof *e));
  if (e == NULL) return tgi_error(error, TG_ERR_MEMORY, "out of memory for %d faces", nface);
  for (int f = 0; f < nface; f++)
    for (int k = 0; k < 3; k++) {
      int a = face[3 * f + k], b = face[3 * f + (k + 1) % 3];
      e[3 * f + k] = (DirectedEdge){a < b ? a : b, a < b ? b : a, a < b ? 1 : -1, f};
    }
  qsort(e, n, sizeof *e, by_edge);
  int open = 0, wound = 0;
  const DirectedEdge *first = NULL;
  for (size_t i = 0, j; i < n; i = j) {
    int sum = 0;
    for (j = i; j < n && e[j].lo == e[i].lo && e[j].hi == e[i].hi; j++) sum += e[j].sign;
    bool single = (j - i) % 2 == 1;
    if (!single && sum == 0) continue;
    open += single;
    wound += !single;
    if (first == NULL) first = &e[i];
  }
  tgStatus st = TG_OK;
  if (open > 0)
    st = tgi_error(error, TG_ERR_INVALID, "the surface is open: %d boundary edges, the first between vertices %d and %d of face %d; "
                   "close it, or use inertia=\"shell\" or \"convex\"", open, first->lo, first->hi, first->face);
  else if (wound > 0)
    st = tgi_error(error, TG_ERR_INVALID, "faces are wound inconsistently at %d edges, the first between vertices %d and %d of face %d; "
                   "orient the faces, or use inertia=\"convex\" or \"legacy\"", wound, first->lo, first->hi, first->face);
  alloc->free(alloc->ctx, e);
  return st;
}

// sums over the tetrahedra (o, a, b, c): volume, first moments, second moments xx yy zz xy xz yz about o
static void tetrahedra(const double *vert, const int *face, int nface, const double o[3], bool unsigned_volume, double sum[10]) {
  memset(sum, 0, 10 * sizeof *sum);
  for (int f = 0; f < nface; f++) {
    double p[3][3], total[3] = {0};
    for (int k = 0; k < 3; k++)
      for (int i = 0; i < 3; i++) {
        p[k][i] = vert[3 * face[3 * f + k] + i] - o[i];
        total[i] += p[k][i];
      }
    double det = p[0][0] * (p[1][1] * p[2][2] - p[1][2] * p[2][1]) - p[0][1] * (p[1][0] * p[2][2] - p[1][2] * p[2][0]) +
                 p[0][2] * (p[1][0] * p[2][1] - p[1][1] * p[2][0]);
    double v = (unsigned_volume ? fabs(det) : det) / 6;
    static const int row[6] = {0, 1, 2, 0, 0, 1}, col[6] = {0, 1, 2, 1, 2, 2};
    sum[0] += v;
    for (int i = 0; i < 3; i++) sum[1 + i] += v * total[i] / 4;
    for (int k = 0; k < 6; k++) {
      double s = total[row[k]] * total[col[k]];
      for (int i = 0; i < 3; i++) s += p[i][row[k]] * p[i][col[k]];
      sum[4 + k] += v * s / 20;
    }
  }
}

static void triangles(const double *vert, const int *face, int nface, const double o[3], double sum[10]) {
  memset(sum, 0, 10 * sizeof *sum);
  for (int f = 0; f < nface; f++) {
    double p[3][3], total[3] = {0}, u[3], w[3];
    for (int k = 0; k < 3; k++)
      for (int i = 0; i < 3; i++) {
        p[k][i] = vert[3 * face[3 * f + k] + i] - o[i];
        total[i] += p[k][i];
      }
    for (int i = 0; i < 3; i++) { u[i] = p[1][i] - p[0][i]; w[i] = p[2][i] - p[0][i]; }
    double n[3] = {u[1] * w[2] - u[2] * w[1], u[2] * w[0] - u[0] * w[2], u[0] * w[1] - u[1] * w[0]};
    double area = 0.5 * sqrt(n[0] * n[0] + n[1] * n[1] + n[2] * n[2]);
    static const int row[6] = {0, 1, 2, 0, 0, 1}, col[6] = {0, 1, 2, 1, 2, 2};
    sum[0] += area;
    for (int i = 0; i < 3; i++) sum[1 + i] += area * total[i] / 3;
    for (int k = 0; k < 6; k++) {
      double s = total[row[k]] * total[col[k]];
      for (int i = 0; i < 3; i++) s += p[i][row[k]] * p[i][col[k]];
      sum[4 + k] += area * s / 12;
    }
  }
}

// moments about o to volume, com and inertia about the com
static void from_sums(const double sum[10], const double o[3], tgMassProps *out) {
  double c[3], S[6];
  static const int row[6] = {0, 1, 2, 0, 0, 1}, col[6] = {0, 1, 2, 1, 2, 2};
  out->volume = sum[0];
  for (int i = 0; i < 3; i++) c[i] = sum[1 + i] / sum[0];
  for (int k = 0; k < 6; k++) S[k] = sum[4 + k] - sum[0] * c[row[k]] * c[col[k]];
  for (int i = 0; i < 3; i++) out->com[i] = o[i] + c[i];
  double tr = S[0] + S[1] + S[2];
  for (int k = 0; k < 3; k++) out->inertia[k] = tr - S[k];
  for (int k = 3; k < 6; k++) out->inertia[k] = -S[k];
}

static tgStatus hull_mass(const double *vert, int nvert, const tgAllocator *alloc, tgMassProps *out, tgError *error) {
  tgHullOwned *h;
  tgStatus st = tgi_hull_from_points(vert, nvert, alloc, &h, error);
  if (st < 0) return st;
  double sum[10], all[10] = {0}, o[3] = {vert[0], vert[1], vert[2]};
  for (int f = 0; f < h->hull.nface; f++) {  // each face as a fan
    const int *loop = h->hull.face_vert + h->hull.face_adr[f];
    for (int k = 1; k + 1 < h->hull.face_adr[f + 1] - h->hull.face_adr[f]; k++) {
      double p[9];
      const int at[3] = {loop[0], loop[k], loop[k + 1]}, tri[3] = {0, 1, 2};
      for (int i = 0; i < 9; i++) p[i] = tgRe(h->hull.vert[3 * at[i / 3] + i % 3]);
      tetrahedra(p, tri, 1, o, false, sum);
      for (int i = 0; i < 10; i++) all[i] += sum[i];
    }
  }
  from_sums(all, o, out);
  tgi_hull_free(h);
  return TG_OK;
}

tgStatus tgi_mass_mesh(const double *vert, int nvert, const int *face, int nface, tgMassKind kind, const tgAllocator *alloc,
                       tgMassProps *out, tgError *error) {
  if (nvert < 3 || nface < 1) return tgi_error(error, TG_ERR_INVALID, "it has %d vertices and %d faces", nvert, nface);
  if (kind == TG_MASS_CONVEX) return hull_mass(vert, nvert, alloc, out, error);
  double lo[3], hi[3], o[3], sum[10], size3 = 1;
  for (int i = 0; i < 3; i++) {
    lo[i] = hi[i] = vert[i];
    for (int v = 1; v < nvert; v++) {
      lo[i] = fmin(lo[i], vert[3 * v + i]);
      hi[i] = fmax(hi[i], vert[3 * v + i]);
    }
    o[i] = (lo[i] + hi[i]) / 2;
    size3 *= fmax(hi[i] - lo[i], 1e-300);
  }
  if (kind == TG_MASS_SHELL || kind == TG_MASS_LEGACY) {
    triangles(vert, face, nface, o, sum);
    if (!(sum[0] > 0)) return tgi_error(error, TG_ERR_INVALID, "all its faces have zero area");
    if (kind == TG_MASS_LEGACY) {  // unsigned tetrahedra about the area centroid
      for (int i = 0; i < 3; i++) o[i] += sum[1 + i] / sum[0];
      tetrahedra(vert, face, nface, o, true, sum);
    }
    from_sums(sum, o, out);
    return TG_OK;
  }
  tgStatus st = check_closed(face, nface, alloc, error);
  if (st < 0) return st;
  tetrahedra(vert, face, nface, o, false, sum);
  if (!(fabs(sum[0]) > 1e-9 * size3)) return tgi_error(error, TG_ERR_INVALID, "it encloses no volume (flat); use inertia=\"shell\"");
  if (sum[0] < 0) return tgi_error(error, TG_ERR_INVALID, "it is inside out (signed volume %g); flip its faces", sum[0]);
  from_sums(sum, o, out);
  return TG_OK;
}
