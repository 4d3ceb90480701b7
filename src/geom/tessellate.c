// tessellate.c: see tessellate.h. Round shapes are stacks of rings about z, zipped from bottom to top.
#include "geom/tessellate.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "math/vec3.h"

enum { ROWS_MOST = 64, RINGS_MOST = 512 };
#define LARGEST 1e100  // of a coordinate, and of 1/edge: areas and their sums stay doubles

// ---- memory ----

// sizes are checked by the callers: at most 2^31 faces
static tgStatus allocate(tgiSurface *s, int nvert, int nface, const tgAllocator *allocator) {
  *s = (tgiSurface){.nvert = nvert, .nface = nface, .alloc = tgi_allocator(allocator)};
  size_t coef = tgi_size_mul((size_t)nvert, 9 * sizeof *s->coef), index = tgi_size_mul((size_t)nface, 4 * sizeof *s->face);
  if (index > SIZE_MAX - coef || (s->coef = s->alloc.alloc(s->alloc.ctx, coef + index)) == NULL) return TG_ERR_MEMORY;
  memset(s->coef, 0, coef);
  s->face = (int *)(void *)((char *)s->coef + coef);
  s->origin = s->face + 3 * (size_t)nface;
  for (int f = 0; f < nface; f++) s->origin[f] = f;
  return TG_OK;
}

void tgi_surface_free(tgiSurface *s) {
  if (s == NULL || s->coef == NULL) return;
  s->alloc.free(s->alloc.ctx, s->coef);
  s->alloc.free(s->alloc.ctx, s->inwards);
  s->coef = s->inwards = NULL;
}

// ---- rings ----

// One ring of n vertices; vertex i at the angle a = 2 pi (i + phase)/n is (x.size cos a, y.size sin a, z.size). n 1: a point on the axis.
typedef struct Ring {
  int n;
  double phase, x[3], y[3], z[3];
} Ring;

typedef struct Stack {
  int n;
  Ring ring[RINGS_MOST];
} Stack;

static void push(Stack *k, Ring r) {
  if (k->n < RINGS_MOST) k->ring[k->n++] = r;
}

// faces between two neighbouring rings: each has one for every edge of either
static int faces_between(const Ring *a, const Ring *b) { return (a->n > 1 ? a->n : 0) + (b->n > 1 ? b->n : 0); }

static void put_ring(const Ring *r, double *coef) {
  for (int i = 0; i < r->n; i++) {
    double angle = 2 * TG_PI * (i + r->phase) / r->n, c = r->n > 1 ? cos(angle) : 0, s = r->n > 1 ? sin(angle) : 0;
    for (int j = 0; j < 3; j++) {
      coef[9 * i + j] = c * r->x[j];
      coef[9 * i + 3 + j] = s * r->y[j];
      coef[9 * i + 6 + j] = r->z[j];
    }
  }
}

// Triangles between ring a, vertices from va on, and the ring b above it: outward is tangent x (b - a). The shorter diagonal by angle.
static int *zip(const Ring *a, int va, const Ring *b, int vb, int *face) {
  for (int i = 0, j = 0; i < (a->n > 1 ? a->n : 0) || j < (b->n > 1 ? b->n : 0);) {
    double here_a = (i + a->phase) / a->n, next_a = (i + 1 + a->phase) / a->n;
    double here_b = (j + b->phase) / b->n, next_b = (j + 1 + b->phase) / b->n;
    bool more_a = a->n > 1 && i < a->n, more_b = b->n > 1 && j < b->n;
    bool step_a = more_a && (!more_b || fabs(next_a - here_b) <= fabs(next_b - here_a) + 1e-12);
    face[0] = va + i % a->n;
    face[1] = step_a ? va + (i + 1) % a->n : vb + (j + 1) % b->n;
    face[2] = vb + j % b->n;
    if (step_a) i++;
    else j++;
    face += 3;
  }
  return face;
}

static tgStatus build(const Stack *k, const tgAllocator *allocator, tgiSurface *s) {
  int nvert = 0, nface = 0;
  for (int i = 0; i < k->n; i++) {
    nvert += k->ring[i].n;
    if (i > 0) nface += faces_between(&k->ring[i - 1], &k->ring[i]);
  }
  TG_TRY(allocate(s, nvert, nface, allocator));
  int *face = s->face;
  for (int i = 0, at = 0; i < k->n; at += k->ring[i].n, i++) {
    put_ring(&k->ring[i], s->coef + 9 * at);
    if (i > 0) face = zip(&k->ring[i - 1], at - k->ring[i - 1].n, &k->ring[i], at, face);
  }
  return TG_OK;
}

// ---- shapes ----

// rows along a straight side of length `length` whose rings have edges `edge`: at most twice as long as wide
static int side_rows(double length, double edge) {
  double rows = ceil(length / (2 * edge));
  return rows < 1 ? 1 : rows > (double)ROWS_MOST ? ROWS_MOST : (int)rows;
}

// Rings of the unit sphere with edges of about `edge`, at equal steps of latitude, an even number of them. size: of a capsule its straight
// side's rows stand between the hemispheres.
static void sphere_rings(tgGeomType type, const double size[3], double edge, Stack *k) {
  int half = (int)ceil(TG_PI / (sqrt(3) * edge)), rows = 0, at = 0;
  int equator = (int)ceil(2 * TG_PI / edge);
  if (type == TG_GEOM_CAPSULE) rows = side_rows(2 * size[1], 2 * TG_PI * size[0] / equator);
  k->n = 0;
  for (int i = -half; i <= half; i++) {
    bool pole = i == -half || i == half;
    double latitude = 0.5 * TG_PI * i / half, c = pole ? 0 : cos(latitude), s = pole ? (i > 0 ? 1 : -1) : sin(latitude);
    int n = (int)ceil(2 * TG_PI * c / edge);
    Ring r = {.n = pole ? 1 : n < 4 ? 4 : n};
    r.x[0] = c;
    r.y[type == TG_GEOM_ELLIPSOID ? 1 : 0] = c;
    r.z[type == TG_GEOM_ELLIPSOID ? 2 : 0] = s;
    for (int j = 0; j <= (i == 0 ? rows : 0); j++) {
      if (type == TG_GEOM_CAPSULE) r.z[1] = i < 0 ? -1 : i > 0 ? 1 : 2.0 * j / rows - 1;
      r.phase = at++ % 2 == 0 ? 0 : 0.5;
      push(k, r);
    }
  }
}

// largest depth of a face of the inscribed unit sphere
static double sphere_depth(const tgiSurface *s) {
  const tgReal unit[3] = {1, 1, 1};
  double depth = 0;
  for (int f = 0; f < s->nface; f++) {
    tgReal v[3][3], a[3], b[3], n[3];
    for (int c = 0; c < 3; c++)
      for (int i = 0; i < 3; i++) {
        const double *row = s->coef + 9 * s->face[3 * f + c] + 3 * i;
        v[c][i] = row[0] * unit[0] + row[1] * unit[1] + row[2] * unit[2];
      }
    tgi_v3_sub(a, v[1], v[0]);
    tgi_v3_sub(b, v[2], v[0]);
    tgi_v3_cross(n, a, b);
    tgi_v3_unit(n, n);
    depth = fmax(depth, 1 - tgRe(tgi_v3_dot(n, v[0])));
  }
  return depth;
}

// longest edge with which the sphere keeps to the chord: circumradius edge/sqrt 3 of a regular triangle is the
// bound, uneven rings need less
static tgStatus sphere_edge(double chord, const tgAllocator *allocator, Stack *k, double *edge) {
  const double unit[3] = {1, 1, 1};
  tgiSurface s;
  double depth = INFINITY;
  for (*edge = sqrt(3) * acos(1 - chord); depth > chord; *edge *= 0.98) {
    sphere_rings(TG_GEOM_SPHERE, unit, *edge, k);
    if (k->n == RINGS_MOST) return TG_ERR_ARG;
    TG_TRY(build(k, allocator, &s));
    depth = sphere_depth(&s);
    tgi_surface_free(&s);
  }
  *edge /= 0.98;
  return TG_OK;
}

static tgStatus round_rings(tgGeomType type, const double size[3], double chord, const tgAllocator *allocator, Stack *k) {
  double edge;
  TG_TRY(sphere_edge(chord, allocator, k, &edge));
  sphere_rings(type, size, edge, k);
  return TG_OK;
}

// sides of a cylinder, 3 2^p
static int cylinder_sides(double chord) {
  int side = 12;
  while (1 - cos(TG_PI / side) > chord) side *= 2;
  return side;
}

// caps are rings of halved numbers down to 6 and a point in the middle
static void cylinder_rings(const double size[3], double chord, Stack *k) {
  int side = cylinder_sides(chord);
  int rows = side_rows(2 * size[1], 2 * TG_PI * size[0] / side);
  k->n = 0;
  push(k, (Ring){.n = 1, .z = {0, -1, 0}});
  for (int n = 6; n < side; n *= 2) push(k, (Ring){.n = n, .x = {1.2 * n / side, 0, 0}, .y = {1.2 * n / side, 0, 0}, .z = {0, -1, 0}});
  for (int i = 0; i <= rows; i++) push(k, (Ring){.n = side, .x = {1, 0, 0}, .y = {1, 0, 0}, .z = {0, 2.0 * i / rows - 1, 0}});
  for (int n = side / 2; n >= 6; n /= 2) push(k, (Ring){.n = n, .x = {1.2 * n / side, 0, 0}, .y = {1.2 * n / side, 0, 0}, .z = {0, 1, 0}});
  push(k, (Ring){.n = 1, .z = {0, 1, 0}});
}

// vertex k: bit i of k is the side along axis i
static tgStatus box(const tgAllocator *allocator, tgiSurface *s) {
  static const int face[12][3] = {{0, 4, 6}, {0, 6, 2}, {1, 3, 7}, {1, 7, 5}, {0, 1, 5}, {0, 5, 4},
                                  {2, 6, 7}, {2, 7, 3}, {0, 2, 3}, {0, 3, 1}, {4, 5, 7}, {4, 7, 6}};
  TG_TRY(allocate(s, 8, 12, allocator));
  memcpy(s->face, face, sizeof face);
  for (int k = 0; k < 8; k++)
    for (int i = 0; i < 3; i++) s->coef[9 * k + 4 * i] = k >> i & 1 ? 1 : -1;
  s->rounds = true;
  for (int i = 0; i < 3; i++) s->shrink[i] = 1;
  return TG_OK;
}

tgStatus tgi_surface_primitive(tgGeomType type, const double size[3], double chord, const tgAllocator *allocator, tgiSurface *surface) {
  *surface = (tgiSurface){0};
  if (!(chord > 0 && chord < 0.3)) return TG_ERR_ARG;
  int nsize = type == TG_GEOM_SPHERE ? 1 : type == TG_GEOM_CAPSULE || type == TG_GEOM_CYLINDER ? 2 : 3;
  for (int j = 0; j < nsize; j++)
    if (!(size[j] > 0)) return TG_ERR_ARG;
  if (type == TG_GEOM_BOX) return box(allocator, surface);
  if (type == TG_GEOM_PLANE || type == TG_GEOM_MESH) return TG_ERR_ARG;
  tgAllocator alloc = tgi_allocator(allocator);
  Stack *k = alloc.alloc(alloc.ctx, sizeof *k);
  if (k == NULL) return TG_ERR_MEMORY;
  tgStatus st = TG_OK;
  if (type == TG_GEOM_CYLINDER) cylinder_rings(size, chord, k);
  else st = round_rings(type, size, chord, &alloc, k);
  if (st >= 0) st = k->n < RINGS_MOST ? build(k, &alloc, surface) : TG_ERR_ARG;
  if (st >= 0 && type == TG_GEOM_CYLINDER) {   // the middle of a side is at cos(pi/n) of the radius
    surface->rounds = true;
    surface->shrink[0] = 1 / cos(TG_PI / cylinder_sides(chord));
    surface->shrink[1] = 1;
  }
  alloc.free(alloc.ctx, k);
  return st;
}

// ---- cores ----

tgStatus tgi_surface_core(tgGeomType type, const double size[3], const tgAllocator *allocator, tgiSurface *s) {
  bool segment = type == TG_GEOM_CAPSULE, oval = type == TG_GEOM_ELLIPSOID;
  *s = (tgiSurface){0};
  if ((type != TG_GEOM_SPHERE && !segment && !oval) || !(size[0] > 0) || ((segment || oval) && !(size[1] > 0)) || (oval && !(size[2] > 0)))
    return TG_ERR_ARG;
  TG_TRY(allocate(s, segment ? 2 : oval ? 4 : 1, 1, allocator));
  s->core = true;
  s->segment = segment;
  s->oval = oval;
  s->radius[0] = oval ? 0 : 1;
  for (int k = 0; k < 3 && oval; k++) s->coef[9 * (k + 1) + 4 * k] = 1;   // axis k by size k
  for (int k = 0; k < s->nvert && segment; k++) s->coef[9 * k + 6 + 1] = k == 0 ? -1 : 1;   // z of the ends by the half length
  for (int k = 0; k < 3; k++) s->face[k] = k == 0 || !segment ? 0 : 1;
  return TG_OK;
}

tgReal tgi_surface_radius(const tgiSurface *s, const tgReal size[3]) {
  return s->radius[0] * size[0] + s->radius[1] * size[1] + s->radius[2] * size[2];
}

// ---- meshes ----

typedef struct Place {
  double x[3];
  int i;
} Place;

static int by_place(const void *p, const void *q) {
  const Place *a = p, *b = q;
  for (int i = 0; i < 3; i++)
    if (a->x[i] != b->x[i]) return a->x[i] < b->x[i] ? -1 : 1;
  return (a->i > b->i) - (a->i < b->i);
}

// same[i] = first vertex at the place of vertex i
static void weld(const double *vert, int nvert, Place *place, int *same) {
  for (int i = 0; i < nvert; i++) {
    memcpy(place[i].x, vert + 3 * (size_t)i, sizeof place[i].x);
    place[i].i = i;
  }
  if (nvert > 0) qsort(place, (size_t)nvert, sizeof *place, by_place);
  for (int k = 0, first = 0; k < nvert; k++) {
    if (k > 0)
      for (int i = 0; i < 3; i++)
        if (place[k].x[i] != place[k - 1].x[i]) first = k;
    same[place[k].i] = place[first].i;
  }
}

static tgStatus check_mesh(const double *vert, int nvert, const int *face, int nface, tgError *error) {
  if (nface <= 0) return tgi_error(error, TG_ERR_INVALID, "it has no faces");
  for (int k = 0; k < 3 * nface; k++)
    if (face[k] < 0 || face[k] >= nvert)
      return tgi_error(error, TG_ERR_INVALID, "its face %d names vertex %d of %d", k / 3, face[k], nvert);
  for (size_t k = 0; k < 3 * (size_t)nvert; k++)
    if (!isfinite(vert[k])) return tgi_error(error, TG_ERR_NOT_FINITE, "its vertex %d is not finite", (int)(k / 3));
    else if (fabs(vert[k]) > LARGEST) return tgi_error(error, TG_ERR_LIMIT, "its vertex %d is farther away than %g", (int)(k / 3), LARGEST);
  return TG_OK;
}

tgStatus tgi_mesh_weld(const double *vert, int nvert, const int *face, int nface, const tgAllocator *allocator, int *same, tgError *error) {
  TG_TRY(check_mesh(vert, nvert, face, nface, error));
  tgAllocator alloc = tgi_allocator(allocator);
  Place *place = alloc.alloc(alloc.ctx, tgi_size_mul((size_t)nvert, sizeof *place));
  if (place == NULL) return TG_ERR_MEMORY;
  weld(vert, nvert, place, same);
  alloc.free(alloc.ctx, place);
  return TG_OK;
}

// height over the longest edge at most TGI_SLIVER of it, or so small that its area is no double
static bool degenerate(const double *vert, const int v[3]) {
  double e[3][3], scale = 0, n[3], longest = 0;
  for (int c = 0; c < 3; c++)
    for (int i = 0; i < 3; i++) {
      e[c][i] = vert[3 * (size_t)v[(c + 1) % 3] + i] - vert[3 * (size_t)v[c] + i];
      scale = fmax(scale, fabs(e[c][i]));
    }
  if (v[0] == v[1] || v[1] == v[2] || v[2] == v[0] || scale < 1 / LARGEST) return true;
  for (int c = 0; c < 3; c++) {
    for (int i = 0; i < 3; i++) e[c][i] /= scale;
    longest = fmax(longest, e[c][0] * e[c][0] + e[c][1] * e[c][1] + e[c][2] * e[c][2]);
  }
  for (int i = 0; i < 3; i++) {
    int j = (i + 1) % 3, k = (i + 2) % 3;
    n[i] = e[0][j] * e[1][k] - e[0][k] * e[1][j];
  }
  return sqrt(n[0] * n[0] + n[1] * n[1] + n[2] * n[2]) <= TGI_SLIVER * longest;
}

int tgi_surface_degenerate(const double *vert, const int *face, int nface, int *first) {
  int n = 0, at = -1;
  for (int f = 0; f < nface; f++)
    if (degenerate(vert, face + 3 * (size_t)f) && n++ == 0) at = f;
  if (first != NULL) *first = at;
  return n;
}

// keeps the faces that are not degenerate and numbers their vertices by first use; number[i] is -1 for the others
static void keep_faces(const double *vert, const int *face, int nface, const int *same, int *number, tgiSurface *s) {
  s->nvert = s->nface = 0;
  for (int f = 0; f < nface; f++) {
    int v[3];
    for (int c = 0; c < 3; c++) v[c] = same[face[3 * f + c]];
    if (degenerate(vert, v)) continue;
    for (int c = 0; c < 3; c++) {
      if (number[v[c]] < 0) {
        for (int i = 0; i < 3; i++) s->coef[9 * (size_t)s->nvert + 4 * (size_t)i] = vert[3 * (size_t)v[c] + i];
        number[v[c]] = s->nvert++;
      }
      s->face[3 * s->nface + c] = number[v[c]];
    }
    s->origin[s->nface++] = f;
  }
  s->ndropped = nface - s->nface;
}

tgStatus tgi_surface_mesh(const double *vert, int nvert, const int *face, int nface, const tgAllocator *allocator, tgiSurface *surface,
                          tgError *error) {
  *surface = (tgiSurface){0};
  if (nface > INT32_MAX / 8) return tgi_error(error, TG_ERR_LIMIT, "it has %d faces, more than %d", nface, INT32_MAX / 8);
  TG_TRY(check_mesh(vert, nvert, face, nface, error));
  tgAllocator alloc = tgi_allocator(allocator);
  Place *place = alloc.alloc(alloc.ctx, tgi_size_mul((size_t)nvert, sizeof *place + 2 * sizeof(int)));
  if (place == NULL || allocate(surface, nvert, nface, &alloc) < 0) {
    alloc.free(alloc.ctx, place);
    return tgi_error(error, TG_ERR_MEMORY, "out of memory for its %d faces", nface);
  }
  int *same = (int *)(void *)(place + nvert), *number = same + nvert;
  weld(vert, nvert, place, same);
  for (int i = 0; i < nvert; i++) number[i] = -1;
  keep_faces(vert, face, nface, same, number, surface);
  alloc.free(alloc.ctx, place);
  surface->rounds = true;
  if (surface->nface > 0) return TG_OK;
  tgi_surface_free(surface);
  return tgi_error(error, TG_ERR_INVALID, "all of its %d faces are degenerate", nface);
}

// ---- vertices ----

void tgi_surface_place(const tgiSurface *s, const tgReal size[3], tgReal *vert) {
  for (size_t k = 0; k < 3 * (size_t)s->nvert; k++) {
    const double *c = s->coef + 3 * k;
    vert[k] = c[0] * size[0] + c[1] * size[1] + c[2] * size[2];
  }
}

void tgi_surface_place_rounded(const tgiSurface *s, const tgReal size[3], tgReal rounding, tgReal *vert) {
  tgReal less[3];
  for (int j = 0; j < 3; j++) less[j] = size[j] - rounding * s->shrink[j];
  tgi_surface_place(s, less, vert);
}

void tgi_surface_place_rounded_d(const tgiSurface *s, tgReal *dvert) {
  const tgReal rate[3] = {-s->shrink[0], -s->shrink[1], -s->shrink[2]};
  tgi_surface_place(s, rate, dvert);
}

void tgi_surface_place_d(const tgiSurface *s, int j, tgReal *dvert) {
  for (size_t k = 0; k < 3 * (size_t)s->nvert; k++) dvert[k] = s->coef[3 * k + (size_t)j];
}
