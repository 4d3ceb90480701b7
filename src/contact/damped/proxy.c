// proxy.c: see proxy.h.
//
// Based on: [math/damped Proxies].
#include "contact/damped/proxy.h"

#include <string.h>

#include "base/memory.h"
#include "math/d3.h"

enum { RIM = 16, ELLIPSOID = 42, MOST_CELLS = 64 };
#define GOLDEN_ANGLE 2.39996322972865332

static bool room(const tgAllocator *a, int n, tgiProxies *p) {
  p->n = n;
  p->place = a->alloc(a->ctx, 3 * (size_t)n * sizeof *p->place);
  p->weight = a->alloc(a->ctx, (size_t)n * sizeof *p->weight);
  return p->place != NULL && p->weight != NULL;
}

static void put(tgiProxies *p, int i, double x, double y, double z, double weight) {
  p->place[3 * i] = x;
  p->place[3 * i + 1] = y;
  p->place[3 * i + 2] = z;
  p->weight[i] = weight;
}

static void normalise(tgiProxies *p) {
  double sum = 0;
  for (int i = 0; i < p->n; i++) sum += p->weight[i];
  for (int i = 0; i < p->n; i++) p->weight[i] /= sum;
}

// into how many parts a length is cut
static int cells(double length, double spacing, int otherwise) {
  if (!(spacing > 0)) return otherwise;
  double n = ceil(length / spacing - 1e-9);
  return n < 1 ? 1 : n > (double)MOST_CELLS ? MOST_CELLS : (int)n;
}

static void misses(tgiProxies *p, double surface, double edge) {
  p->missed = surface;
  p->missed_edge = edge;
}

// share of a cell that point i of n + 1 on a line stands for
static double share(int i, int n) { return i == 0 || i == n ? 0.5 : 1; }

static bool make_sphere(const tgAllocator *a, tgiProxies *p) {
  if (!room(a, 1, p)) return false;
  p->round = true;
  put(p, 0, 0, 0, 0, 1);
  return true;
}

static bool make_capsule(const double size[3], bool before_planes, double spacing, const tgAllocator *a, tgiProxies *p) {
  int n = before_planes ? 1 : cells(2 * size[1], spacing > 0 ? spacing : size[0] / 2, 1);
  if (n < 2 && !before_planes) n = 2;
  if (!room(a, n + 1, p)) return false;
  p->round = true;
  p->axis[2] = 1;
  for (int i = 0; i <= n; i++) put(p, i, 0, 0, -1 + 2.0 * i / n, share(i, n) * 2 * size[1] / n + (i == 0 || i == n ? size[0] : 0));
  double sag = before_planes ? 0 : hypot(size[0], size[1] / n) - size[0];   // midway between two balls
  misses(p, sag, sag);
  return true;
}

// points of a lattice over the faces; each stands for its shares of cells on the faces that it is on
static bool make_box(const double size[3], bool before_planes, double spacing, const tgAllocator *a, tgiProxies *p) {
  int n[3], at[3], count = 0;
  for (int k = 0; k < 3; k++) n[k] = before_planes ? 1 : cells(2 * size[k], spacing, 2);
  int inside = (n[0] - 1) * (n[1] - 1) * (n[2] - 1);
  if (!room(a, (n[0] + 1) * (n[1] + 1) * (n[2] + 1) - inside, p)) return false;
  p->axis[1] = 1;
  p->axis[2] = 2;
  for (at[0] = 0; at[0] <= n[0]; at[0]++)
    for (at[1] = 0; at[1] <= n[1]; at[1]++)
      for (at[2] = 0; at[2] <= n[2]; at[2]++) {
        double area = 0, x[3];
        for (int k = 0; k < 3; k++) {
          int i = (k + 1) % 3, j = (k + 2) % 3;
          x[k] = -1 + 2.0 * at[k] / n[k];
          if (at[k] == 0 || at[k] == n[k]) area += share(at[i], n[i]) * share(at[j], n[j]) * size[i] / n[i] * size[j] / n[j];
        }
        if (area > 0) put(p, count++, x[0], x[1], x[2], area);
      }
  for (int k = 0; k < 3 && !before_planes; k++) {   // the middles of cells, and of their sides
    int i = (k + 1) % 3;
    misses(p, fmax(p->missed, hypot(size[k] / n[k], size[i] / n[i])), fmax(p->missed_edge, size[k] / n[k]));
  }
  return true;
}

// rings on the side and, for others than planes, the middles of the ends, each for a quarter of its end
static bool make_cylinder(const double size[3], bool before_planes, double spacing, const tgAllocator *a, tgiProxies *p) {
  int around = cells(2 * TG_PI * size[0], spacing, RIM), along = before_planes ? 1 : cells(2 * size[1], spacing, 2), count = 0;
  if (around < 3) around = 3;
  if (!room(a, around * (along + 1) + (before_planes ? 0 : 2), p)) return false;
  p->axis[2] = 1;
  for (int j = 0; j <= along; j++) {
    double side = share(j, along) * 2 * TG_PI * size[0] * 2 * size[1] / along;
    if (j == 0 || j == along) side += 0.75 * TG_PI * size[0] * size[0];
    for (int i = 0; i < around; i++) {
      double angle = 2 * TG_PI * i / around;
      put(p, count++, cos(angle), sin(angle), -1 + 2.0 * j / along, side / around);
    }
  }
  for (int j = 0; j < 2 && !before_planes; j++) put(p, count++, 0, 0, j == 0 ? -1 : 1, 0.25 * TG_PI * size[0] * size[0]);
  // on the side the middle of a cell, on an end what is as far from two points of the rim as from its middle; a plane meets rims alone
  double half = TG_PI / around, side = hypot(2 * size[0] * sin(half / 2), size[1] / along), end = size[0] / (2 * cos(half));
  double missed = before_planes ? size[0] * (1 - cos(half)) : fmax(side, end);
  misses(p, missed, missed);
  return true;
}

// No point of the unit sphere is farther from the nearest of these: the largest such distance over a grid, and half a cell's diagonal.
static double farthest(const tgiProxies *p) {
  enum { BANDS = 48 };
  double most = 0, cell = TG_PI / (double)BANDS;
  for (int i = 0; i < BANDS; i++)
    for (int j = 0; j < 2 * BANDS; j++) {
      double along = cell * (i + 0.5), around = cell * (j + 0.5), least = INFINITY;
      const double u[3] = {sin(along) * cos(around), sin(along) * sin(around), cos(along)};
      for (int k = 0; k < p->n; k++) {
        double d[3];
        tgi_d3_sub(d, u, p->place + 3 * k);
        least = fmin(least, tgi_d3_dot(d, d));
      }
      most = fmax(most, least);
    }
  return sqrt(most) + cell / sqrt(2);
}

// a spiral of points at equal areas of the unit sphere, whose areas the semi-axes stretch
static bool make_ellipsoid(const double size[3], bool before_planes, double spacing, const tgAllocator *a, tgiProxies *p) {
  double mean = cbrt(size[0] * size[1] * size[2]), wanted = spacing > 0 ? 4 * TG_PI * mean * mean / (spacing * spacing) : (double)ELLIPSOID;
  int n = wanted < 12 ? 12 : wanted > 1000 ? 1000 : (int)wanted;
  if (!room(a, n, p)) return false;
  p->axis[1] = 1;
  p->axis[2] = 2;
  for (int i = 0; i < n; i++) {
    double z = 1 - (2.0 * i + 1) / n, r = sqrt(1 - z * z), u[3] = {r * cos(GOLDEN_ANGLE * i), r * sin(GOLDEN_ANGLE * i), z}, stretch = 0;
    for (int k = 0; k < 3; k++) stretch += u[k] * u[k] / (size[k] * size[k]);
    put(p, i, u[0], u[1], u[2], sqrt(stretch));
  }
  // before a plane with the normal A u/|A u| a point at the chord d from u misses |A u| d^2/2
  double d = farthest(p), missed = fmax(size[0], fmax(size[1], size[2])) * (before_planes ? d * d / 2 : d);
  misses(p, missed, missed);
  return true;
}

// No point of a triangle is farther from the nearest vertex than its longest side over the root of 3, which equal sides come to.
static void add_thirds(double x[3][3], const int v[3], tgiProxies *p) {
  double side[3][3], cross[3], longest = 0;
  for (int k = 0; k < 3; k++) {
    tgi_d3_sub(side[k], x[(k + 1) % 3], x[k]);
    longest = fmax(longest, tgi_d3_norm(side[k]));
  }
  tgi_d3_cross(cross, side[0], side[2]);
  for (int k = 0; k < 3; k++) p->weight[v[k]] += tgi_d3_norm(cross) / 6;
  misses(p, fmax(p->missed, longest / sqrt(3)), fmax(p->missed_edge, longest / 2));
}

// each vertex has a third of its triangles; where it lies is the diagonal of its coefficients
static bool make_surface(const tgiSurface *s, const double scale[3], const tgAllocator *a, tgiProxies *p) {
  if (!room(a, s->nvert, p)) return false;
  p->axis[1] = 1;
  p->axis[2] = 2;
  for (int i = 0; i < s->nvert; i++) put(p, i, s->coef[9 * i], s->coef[9 * i + 4], s->coef[9 * i + 8], 0);
  for (int f = 0; f < s->nface; f++) {
    const int *v = s->face + 3 * f;
    double x[3][3];
    for (int k = 0; k < 9; k++) x[k / 3][k % 3] = p->place[3 * v[k / 3] + k % 3] * scale[k % 3];
    add_thirds(x, v, p);
  }
  return true;
}

// each vertex has of a face's triangles, seen from its first corner, a third
static bool make_hull(const tgModel *m, int g, const tgAllocator *a, tgiProxies *p) {
  const tgHull *h = &m->hull[m->geom_hull[g]];
  p->axis[1] = 1;
  p->axis[2] = 2;
  p->n = h->nvert;
  p->weight = a->alloc(a->ctx, (size_t)h->nvert * sizeof *p->weight);
  if (p->weight == NULL) return false;
  memset(p->weight, 0, (size_t)h->nvert * sizeof *p->weight);
  for (int f = 0; f < h->nface; f++) {
    const int *corner = h->face_vert + h->face_adr[f];
    for (int i = 1; i + 1 < h->face_adr[f + 1] - h->face_adr[f]; i++) {
      int v[3] = {corner[0], corner[i], corner[i + 1]};
      double x[3][3];
      for (int k = 0; k < 9; k++) x[k / 3][k % 3] = tgRe(h->vert[3 * v[k / 3] + k % 3]) * tgRe(m->geom_scale[3 * g + k % 3]);
      add_thirds(x, v, p);
    }
  }
  return true;
}

tgStatus tgi_proxies_make(const tgModel *m, int g, bool before_planes, double spacing, const tgiSurface *surface, const tgAllocator *a,
                          tgiProxies *out) {
  const tgReal *given = (m->geom_type[g] == TG_GEOM_MESH ? m->geom_scale : m->geom_size) + 3 * g;
  double size[3] = {tgRe(given[0]), tgRe(given[1]), tgRe(given[2])};
  bool made = true;
  *out = (tgiProxies){.n = 0};
  switch ((tgGeomType)m->geom_type[g]) {
    case TG_GEOM_PLANE: return TG_OK;
    case TG_GEOM_SPHERE: made = make_sphere(a, out); break;
    case TG_GEOM_CAPSULE: made = make_capsule(size, before_planes, spacing, a, out); break;
    case TG_GEOM_BOX: made = make_box(size, before_planes, spacing, a, out); break;
    case TG_GEOM_CYLINDER: made = make_cylinder(size, before_planes, spacing, a, out); break;
    case TG_GEOM_ELLIPSOID: made = make_ellipsoid(size, before_planes, spacing, a, out); break;
    case TG_GEOM_MESH:
      if (surface != NULL && !before_planes) made = make_surface(surface, size, a, out);
      else made = m->geom_hull[g] < 0 || make_hull(m, g, a, out);
      break;
  }
  if (before_planes && m->geom_type[g] == TG_GEOM_MESH) misses(out, 0, 0);   // the lowest point of a hull is a vertex
  if (made && out->n > 0) normalise(out);
  return made ? TG_OK : TG_ERR_MEMORY;
}

void tgi_proxies_free(const tgAllocator *a, tgiProxies *p) {
  a->free(a->ctx, p->place);
  a->free(a->ctx, p->weight);
  *p = (tgiProxies){.n = 0};
}
