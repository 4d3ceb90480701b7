// hull.c: assembles polytopes from vertices and face loops, checks them; boxes. See hull.h.
#include "geom/hull.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/status.h"
#include "geom/hull_assemble.h"
#include "geom/mass.h"
#include "math/vec3.h"

// ---- assembly ----

// writable views of a hull's arrays
typedef struct Arrays {
  tgReal *vert, *plane;
  int *edge, *face_adr, *face_vert, *face_edge, *vert_adr, *vert_next;
} Arrays;

static tgHullOwned *allocate(int nvert, int nedge, int nface, const tgAllocator *allocator, Arrays *a) {
  tgAllocator alloc = tgi_allocator(allocator);
  size_t nv = (size_t)nvert, ne = (size_t)nedge, nf = (size_t)nface;
  size_t head = (sizeof(tgHullOwned) + 31) / 32 * 32;
  size_t real = 3 * nv + 4 * nf, whole = 10 * ne + nf + nv + 2;
  char *block = alloc.alloc(alloc.ctx, head + real * sizeof(tgReal) + whole * sizeof(int));
  if (block == NULL) return NULL;
  a->vert = (tgReal *)(void *)(block + head);
  a->plane = a->vert + 3 * nv;
  a->edge = (int *)(void *)(a->plane + 4 * nf);
  a->face_adr = a->edge + 4 * ne;
  a->face_vert = a->face_adr + nf + 1;
  a->face_edge = a->face_vert + 2 * ne;
  a->vert_adr = a->face_edge + 2 * ne;
  a->vert_next = a->vert_adr + nv + 1;
  tgHullOwned *owned = (tgHullOwned *)(void *)block;
  *owned = (tgHullOwned){.hull = {.nvert = nvert,
                                  .nedge = nedge,
                                  .nface = nface,
                                  .vert = a->vert,
                                  .edge = a->edge,
                                  .face_adr = a->face_adr,
                                  .face_vert = a->face_vert,
                                  .face_edge = a->face_edge,
                                  .face_plane = a->plane,
                                  .vert_adr = a->vert_adr,
                                  .vert_next = a->vert_next},
                         .alloc = alloc};
  return owned;
}

void tgi_hull_free(tgHullOwned *hull) {
  if (hull == NULL) return;
  tgAllocator alloc = hull->alloc;
  alloc.free(alloc.ctx, hull);
}

// place k of face f in face_vert, running from `from` to `to`; low < high are the same two
typedef struct Half {
  int low, high, from, face, place;
} Half;

static int compare_half(const void *x, const void *y) {
  const Half *p = x, *q = y;
  if (p->low != q->low) return p->low < q->low ? -1 : 1;
  if (p->high != q->high) return p->high < q->high ? -1 : 1;
  return p->place < q->place ? -1 : p->place > q->place;
}

// pairs the half edges: each edge must be run once each way; edges in the order of (v0, v1), v0 < v1, by which collisions find them
static bool pair_edges(const tgHull *h, Arrays *a, Half *half) {
  int n = h->face_adr[h->nface];
  for (int f = 0; f < h->nface; f++)
    for (int k = h->face_adr[f], end = h->face_adr[f + 1]; k < end; k++) {
      int i = h->face_vert[k], j = h->face_vert[k + 1 < end ? k + 1 : h->face_adr[f]];
      half[k] = (Half){.low = i < j ? i : j, .high = i < j ? j : i, .from = i, .face = f, .place = k};
    }
  qsort(half, (size_t)n, sizeof *half, compare_half);
  for (int e = 0; 2 * e < n; e++) {
    const Half *p = half + 2 * e, *q = p + 1;
    bool repeated = e > 0 && p->low == p[-1].low && p->high == p[-1].high;
    if (p->low != q->low || p->high != q->high || p->low == p->high || p->from == q->from || repeated) return false;
    const Half *left = p->from == p->low ? p : q, *right = left == p ? q : p;
    int edge[4] = {p->low, p->high, left->face, right->face};
    memcpy(a->edge + 4 * (size_t)e, edge, sizeof edge);
    a->face_edge[p->place] = e;
    a->face_edge[q->place] = e;
  }
  return true;
}

// neighbours in the order of the edges, so ascending per vertex side
static void link_vertices(const tgHull *h, Arrays *a) {
  memset(a->vert_adr, 0, ((size_t)h->nvert + 1) * sizeof(int));
  for (int e = 0; e < 2 * h->nedge; e++) a->vert_adr[h->edge[4 * (size_t)(e / 2) + e % 2] + 1]++;
  for (int v = 0; v < h->nvert; v++) a->vert_adr[v + 1] += a->vert_adr[v];
  for (int e = 0; e < h->nedge; e++)
    for (int s = 0; s < 2; s++)
      a->vert_next[a->vert_adr[h->edge[4 * (size_t)e + s]]++] = h->edge[4 * (size_t)e + 1 - s];
  for (int v = h->nvert; v > 0; v--) a->vert_adr[v] = a->vert_adr[v - 1];
  a->vert_adr[0] = 0;
}

// Newell: the area vector of the loop about its own mean; the plane goes through the mean. Returns twice the area.
static double fit_plane(const tgHull *h, int f, tgReal *plane) {
  tgReal mean[3] = {0, 0, 0}, n[3] = {0, 0, 0};
  int adr = h->face_adr[f], len = h->face_adr[f + 1] - adr;
  for (int k = 0; k < len; k++) tgi_v3_axpy(mean, 1.0 / len, h->vert + 3 * (size_t)h->face_vert[adr + k]);
  for (int k = 0; k < len; k++) {
    tgReal p[3], q[3], c[3];
    tgi_v3_sub(p, h->vert + 3 * (size_t)h->face_vert[adr + k], mean);
    tgi_v3_sub(q, h->vert + 3 * (size_t)h->face_vert[adr + (k + 1) % len], mean);
    tgi_v3_cross(c, p, q);
    tgi_v3_add(n, n, c);
  }
  double area = tgRe(tgi_v3_unit(plane, n));
  plane[3] = tgi_v3_dot(plane, mean);
  return area;
}

static void fit_box(tgHull *h) {
  for (int i = 0; i < 3; i++) {
    h->box[0][i] = INFINITY;
    h->box[1][i] = -INFINITY;
    for (int v = 0; v < h->nvert; v++) {
      h->box[0][i] = fmin(h->box[0][i], tgRe(h->vert[3 * (size_t)v + i]));
      h->box[1][i] = fmax(h->box[1][i], tgRe(h->vert[3 * (size_t)v + i]));
    }
  }
}

tgStatus tgi_hull_assemble(const double *vert, int nvert, const int *face_adr, const int *face_vert, int nface,
                           const tgAllocator *allocator, tgHullOwned **out, tgError *error) {
  tgAllocator alloc = tgi_allocator(allocator);
  int n = face_adr[nface];
  Arrays a = {0};
  *out = NULL;
  tgHullOwned *owned = allocate(nvert, (n + 1) / 2, nface, allocator, &a);
  Half *half = alloc.alloc(alloc.ctx, tgi_size_mul((size_t)n + 1, sizeof *half));
  if (owned == NULL || half == NULL) {
    alloc.free(alloc.ctx, half);
    tgi_hull_free(owned);
    return tgi_error(error, TG_ERR_MEMORY, "it needs more memory than there is for a hull of %d vertices", nvert);
  }
  tgHull *h = &owned->hull;
  for (size_t i = 0; i < 3 * (size_t)nvert; i++) a.vert[i] = vert[i];
  memcpy(a.face_adr, face_adr, ((size_t)nface + 1) * sizeof(int));
  memcpy(a.face_vert, face_vert, (size_t)n * sizeof(int));
  bool paired = n % 2 == 0 && pair_edges(h, &a, half);
  alloc.free(alloc.ctx, half);
  if (!paired) {
    tgi_hull_free(owned);
    return tgi_error(error, TG_ERR_INTERNAL, "its hull is wrong: the faces do not close");
  }
  link_vertices(h, &a);
  for (int f = 0; f < nface; f++) fit_plane(h, f, a.plane + 4 * (size_t)f);
  for (int v = 0; v < nvert; v++) h->radius = fmax(h->radius, tgRe(tgi_v3_norm(a.vert + 3 * (size_t)v)));
  fit_box(h);
  *out = owned;
  return TG_OK;
}

// ---- check ----

static double plane_distance(const tgHull *h, int f, const double *x) {
  const tgReal *p = h->face_plane + 4 * (size_t)f;
  return tgRe(p[0]) * x[0] + tgRe(p[1]) * x[1] + tgRe(p[2]) * x[2] - tgRe(p[3]);
}

static void face_mean(const tgHull *h, int f, double mean[3]) {
  int adr = h->face_adr[f], len = h->face_adr[f + 1] - adr;
  mean[0] = mean[1] = mean[2] = 0;
  for (int k = 0; k < len; k++)
    for (int i = 0; i < 3; i++) mean[i] += tgRe(h->vert[3 * (size_t)h->face_vert[adr + k] + i]) / len;
}

static void hull_mean(const tgHull *h, double mean[3], double *size) {
  double lo[3], hi[3];
  for (int i = 0; i < 3; i++) {
    mean[i] = 0;
    lo[i] = HUGE_VAL;
    hi[i] = -HUGE_VAL;
    for (int v = 0; v < h->nvert; v++) {
      double x = tgRe(h->vert[3 * (size_t)v + i]);
      mean[i] += x / h->nvert;
      lo[i] = fmin(lo[i], x);
      hi[i] = fmax(hi[i], x);
    }
  }
  *size =
      sqrt((hi[0] - lo[0]) * (hi[0] - lo[0]) + (hi[1] - lo[1]) * (hi[1] - lo[1]) + (hi[2] - lo[2]) * (hi[2] - lo[2]));
}

static tgStatus check_face(const tgHull *h, int f, const double centre[3], double tol, tgError *error) {
  const tgReal *p = h->face_plane + 4 * (size_t)f;
  double length = tgRe(p[0]) * tgRe(p[0]) + tgRe(p[1]) * tgRe(p[1]) + tgRe(p[2]) * tgRe(p[2]);
  if (h->face_adr[f + 1] - h->face_adr[f] < 3)
    return tgi_error(error, TG_ERR_INTERNAL, "its hull is wrong: face %d has fewer than 3 vertices", f);
  if (!(fabs(length - 1) < 1e-12))
    return tgi_error(error, TG_ERR_INTERNAL, "its hull is wrong: face %d has no normal", f);
  if (!(plane_distance(h, f, centre) < 0))
    return tgi_error(error, TG_ERR_INTERNAL, "its hull is wrong: the normal of face %d points inwards", f);
  for (int k = h->face_adr[f]; k < h->face_adr[f + 1]; k++) {
    double x[3];
    for (int i = 0; i < 3; i++) x[i] = tgRe(h->vert[3 * (size_t)h->face_vert[k] + i]);
    if (!(fabs(plane_distance(h, f, x)) <= tol))
      return tgi_error(error, TG_ERR_INTERNAL, "its hull is wrong: face %d is not planar", f);
    const int *e = h->edge + 4 * (size_t)h->face_edge[k];
    if (e[0] == h->face_vert[k] ? e[2] != f : e[1] != h->face_vert[k] || e[3] != f)
      return tgi_error(error, TG_ERR_INTERNAL, "its hull is wrong: face %d and edge %d disagree", f, h->face_edge[k]);
  }
  return TG_OK;
}

// 1 on the face, growing outwards, linear in x
static double polar(const tgHull *h, int f, const double centre[3], const double *x) {
  return 1 - plane_distance(h, f, x) / plane_distance(h, f, centre);
}

// Over faces, (n.(x - c))/(d - n.c) is linear on the polar dual about c: no better neighbour means no better face.
static int farthest_face(const tgHull *h, const double centre[3], const double *x, int f) {
  double best = polar(h, f, centre, x);
  for (;;) {
    int next = f;
    for (int k = h->face_adr[f]; k < h->face_adr[f + 1]; k++) {
      const int *e = h->edge + 4 * (size_t)h->face_edge[k];
      int g = e[2] == f ? e[3] : e[2];
      double value = polar(h, g, centre, x);
      if (value > best) {
        best = value;
        next = g;
      }
    }
    if (next == f) return f;
    f = next;
  }
}

tgStatus tgi_hull_check(const tgHull *h, const double *point, int npoint, tgError *error) {
  double centre[3], size;
  hull_mean(h, centre, &size);
  double tol = TGI_HULL_TOLERANCE * size;
  if (h->nvert < 4 || h->nvert - h->nedge + h->nface != 2)
    return tgi_error(error, TG_ERR_INTERNAL, "its hull is wrong: %d vertices - %d edges + %d faces is not 2", h->nvert,
                     h->nedge, h->nface);
  for (int f = 0; f < h->nface; f++) TG_TRY(check_face(h, f, centre, tol, error));
  for (int v = 0; v < h->nvert; v++)
    if (h->vert_adr[v + 1] - h->vert_adr[v] < 3)
      return tgi_error(error, TG_ERR_INTERNAL, "its hull is wrong: vertex %d has fewer than 3 edges", v);
  for (int e = 0; e < h->nedge; e++) {
    const int *edge = h->edge + 4 * (size_t)e;
    double left[3], right[3];
    face_mean(h, edge[2], left);
    face_mean(h, edge[3], right);
    if (!(plane_distance(h, edge[2], right) <= tol) || !(plane_distance(h, edge[3], left) <= tol))
      return tgi_error(error, TG_ERR_INTERNAL, "its hull is wrong: not convex across edge %d", e);
  }
  for (int k = 0, f = 0; point != NULL && k < npoint; k++) {
    f = farthest_face(h, centre, point + 3 * (size_t)k, f);
    if (!(plane_distance(h, f, point + 3 * (size_t)k) <= tol))
      return tgi_error(error, TG_ERR_INTERNAL, "its hull is wrong: point %d lies outside face %d", k, f);
  }
  return TG_OK;
}

// ---- moved vertices ----

static double corner_distance(const tgHull *h, int f, int v) {
  double x[3];
  for (int i = 0; i < 3; i++) x[i] = tgRe(h->vert[3 * (size_t)v + i]);
  return plane_distance(h, f, x);
}

// whether corner v lies off face f no farther than tol beyond where it lies in `like`
static bool near(const tgHull *h, const tgHull *like, int f, int v, double sign, double tol, tgHullFault *fault) {
  double by = sign * corner_distance(h, f, v);
  if (by <= tol || by <= tol + sign * corner_distance(like, f, v)) return true;
  *fault = (tgHullFault){v, f, sign * by};
  return false;
}

// corners of face g, but for edge e's, below the plane of face f
static bool below(const tgHull *h, const tgHull *like, int e, int f, int g, double tol, tgHullFault *fault) {
  const int *edge = h->edge + 4 * (size_t)e;
  for (int k = h->face_adr[g]; k < h->face_adr[g + 1]; k++) {
    int v = h->face_vert[k];
    if (v != edge[0] && v != edge[1] && !near(h, like, f, v, 1, tol, fault)) return false;
  }
  return true;
}

bool tgi_hull_move(const tgHull *like, const tgReal *vert, tgReal *plane, tgHull *moved, tgHullFault *fault) {
  tgHull *h = moved;
  double mean[3], size, r2 = 0;
  *h = *like;
  h->vert = vert;
  h->face_plane = plane;
  hull_mean(h, mean, &size);
  for (int v = 0; v < h->nvert; v++) {
    double x2 = 0;
    for (int i = 0; i < 3; i++) x2 += tgRe(vert[3 * (size_t)v + i]) * tgRe(vert[3 * (size_t)v + i]);
    r2 = fmax(r2, x2);
  }
  h->radius = sqrt(r2);
  fit_box(h);
  for (int f = 0; f < h->nface; f++) {
    *fault = (tgHullFault){h->face_vert[h->face_adr[f]], f, 0};
    if (!(fit_plane(h, f, plane + 4 * (size_t)f) > 1e-12 * size * size)) return false;
    for (int k = h->face_adr[f]; k < h->face_adr[f + 1]; k++)
      for (int sign = -1; sign < 2; sign += 2)
        if (!near(h, like, f, h->face_vert[k], sign, TGI_HULL_BENT * size, fault)) return false;
  }
  for (int e = 0; e < h->nedge; e++)
    for (int s = 2; s < 4; s++)
      if (!below(h, like, e, h->edge[4 * (size_t)e + s], h->edge[4 * (size_t)e + 5 - s], TGI_HULL_TOLERANCE * size, fault)) return false;
  return true;
}

double tgi_hull_box_fill(tgReal *vert, tgReal *plane, const tgReal half[3]) {
  for (int v = 0; v < 8; v++)
    for (int i = 0; i < 3; i++) vert[3 * v + i] = v >> i & 1 ? half[i] : -half[i];
  for (int f = 0; f < 6; f++) {
    tgi_v3_zero(plane + 4 * f);
    plane[4 * f + f / 2] = f % 2 == 1 ? 1 : -1;
    plane[4 * f + 3] = half[f / 2];
  }
  return tgRe(tgi_v3_norm(half));
}

tgHull tgi_hull_scale(const tgHull *unit, const tgReal scale[3], tgReal *vert, tgReal *plane) {
  tgHull h = *unit;
  double r2 = 0;
  for (int v = 0; v < h.nvert; v++) {
    double x2 = 0;
    for (int i = 0; i < 3; i++) {
      vert[3 * v + i] = scale[i] * unit->vert[3 * v + i];
      x2 += tgRe(vert[3 * v + i]) * tgRe(vert[3 * v + i]);
    }
    r2 = fmax(r2, x2);
  }
  for (int f = 0; f < h.nface; f++) {
    tgReal n[3];
    for (int i = 0; i < 3; i++) n[i] = unit->face_plane[4 * f + i] / scale[i];
    // n0.x0 = (S^-1 n0).(S x0)
    plane[4 * f + 3] = unit->face_plane[4 * f + 3] / tgi_v3_unit(plane + 4 * f, n);
  }
  h.vert = vert;
  h.face_plane = plane;
  h.radius = sqrt(r2);
  for (int i = 0; i < 3; i++)
    for (int side = 0; side < 2; side++) h.box[side][i] = tgRe(scale[i]) * unit->box[side][i];
  return h;
}

// fans of the faces about the first vertex
double tgi_hull_volume(const tgHull *h) {
  double sum = 0, o[3] = {tgRe(h->vert[0]), tgRe(h->vert[1]), tgRe(h->vert[2])};
  for (int f = 0; f < h->nface; f++) {
    const int *loop = h->face_vert + h->face_adr[f];
    for (int k = 1; k + 1 < h->face_adr[f + 1] - h->face_adr[f]; k++) {
      const int id[3] = {loop[0], loop[k], loop[k + 1]};
      double v[3][3];
      for (int c = 0; c < 3; c++)
        for (int i = 0; i < 3; i++) v[c][i] = tgRe(h->vert[3 * (size_t)id[c] + i]) - o[i];
      sum += v[0][0] * (v[1][1] * v[2][2] - v[1][2] * v[2][1]) + v[0][1] * (v[1][2] * v[2][0] - v[1][0] * v[2][2]) +
             v[0][2] * (v[1][0] * v[2][1] - v[1][1] * v[2][0]);
    }
  }
  return sum / 6;
}

double tgi_hull_concavity(const tgHull *hull, const double *vert, int nvert, const int *face, int nface) {
  double mesh = tgi_mesh_volume(vert, nvert, face, nface), whole = tgi_hull_volume(hull);
  return mesh > 0 && whole > mesh ? whole / mesh - 1 : 0;
}
