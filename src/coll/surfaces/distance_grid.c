// distance_grid.c: see distance_grid.h.
//
// Distances by a tree of boxes around the faces, from one node to the next, whose nearest face is a first guess. A node's
// sign is that of its neighbours where their distances together exceed the way between: no surface can cross it. Where none is, it is the
// side of the nearest face, or, at an edge or a corner, the winding number's.
#include "coll/surfaces/distance_grid.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "coll/surfaces/exact.h"
#include "coll/surfaces/triangle.h"
#include "geom/sphere_tree.h"
#include "math/d3.h"

enum { MOST_NODES = 400 * 400 * 400, STACK = 256 };

// a surface with what finds its nearest face
typedef struct Solid {
  const tgiSurface *surface;
  const tgAllocator *alloc;
  tgiTree tree;
  double *box;              // of the faces under a node: low and high ends
  const double *vert;
  tgiExactSurface exact;
} Solid;

static void corners(const Solid *k, int f, double x[9]) {
  for (int i = 0; i < 9; i++) x[i] = k->vert[3 * k->surface->face[3 * f + i / 3] + i % 3];
}

// square of the distance to a node's box
static double outside(const Solid *k, int node, const double p[3]) {
  const double *low = k->box + 6 * node, *high = low + 3;
  double sum = 0;
  for (int c = 0; c < 3; c++) {
    double d = fmax(0, fmax(low[c] - p[c], p[c] - high[c]));
    sum += d * d;
  }
  return sum;
}

static void make_boxes(Solid *k) {
  for (int node = k->tree.nnode - 1; node >= 0; node--) {   // children come after their parent
    double *low = k->box + 6 * node, *high = low + 3, x[9];
    for (int c = 0; c < 3; c++) {
      if (k->tree.tri[node] >= 0) {
        corners(k, k->tree.tri[node], x);
        low[c] = fmin(x[c], fmin(x[3 + c], x[6 + c]));
        high[c] = fmax(x[c], fmax(x[3 + c], x[6 + c]));
      } else {
        const double *a = k->box + 6 * k->tree.child[2 * node], *b = k->box + 6 * k->tree.child[2 * node + 1];
        low[c] = fmin(a[c], b[c]);
        high[c] = fmax(a[3 + c], b[3 + c]);
      }
    }
  }
}

static void look_at(const Solid *k, const double p[3], int f, int *face, tgiNearby *near) {
  double x[9];
  corners(k, f, x);
  tgiNearby at = tgi_point_triangle(p, x);
  if (!(at.distance < near->distance)) return;
  *near = at;
  *face = f;
}

// the nearest face; *near as of it. guess: a face that may be near, -1: none is known
static int nearest(const Solid *k, const double p[3], int guess, tgiNearby *near) {
  struct { int node; double square; } stack[STACK];
  int top = 0, face = -1;
  near->distance = INFINITY;
  if (guess >= 0) look_at(k, p, guess, &face, near);
  stack[top].node = 0;
  stack[top++].square = outside(k, 0, p);
  while (top > 0) {
    int node = stack[--top].node;
    if (stack[top].square > near->distance * near->distance) continue;
    if (k->tree.tri[node] >= 0) {
      look_at(k, p, k->tree.tri[node], &face, near);
      continue;
    }
    const int *child = k->tree.child + 2 * node;
    double far[2] = {outside(k, child[0], p), outside(k, child[1], p)};
    for (int i = 0; i < 2; i++) {   // the nearer on top
      int c = (far[0] <= far[1]) == (i == 0);
      stack[top].node = child[c];
      stack[top++].square = far[c];
    }
  }
  return face;
}

static void close_solid(Solid *k) {
  if (k->exact.face != NULL) tgi_exact_free(&k->exact);
  if (k->tree.child != NULL) tgi_tree_free(&k->tree);
  k->alloc->free(k->alloc->ctx, k->box);
}

static tgStatus open_solid(const tgiSurface *surface, const double *vert, const double size[3], const tgAllocator *a, Solid *k) {
  *k = (Solid){.surface = surface, .alloc = a, .vert = vert};
  TG_TRY(tgi_tree_make(surface, size, a, &k->tree));
  k->box = a->alloc(a->ctx, tgi_size_mul(6 * (size_t)k->tree.nnode, sizeof *k->box));
  if (k->box == NULL) return TG_ERR_MEMORY;
  make_boxes(k);
  TG_TRY(tgi_exact_make(vert, surface->nvert, surface->face, surface->nface, a, &k->exact));
  tgi_exact_pose(&k->exact, vert);
  return TG_OK;
}

// ---- the grid ----

static size_t count(const tgiDistanceGrid *g) { return (size_t)g->n[0] * (size_t)g->n[1] * (size_t)g->n[2]; }
static size_t index_of(const tgiDistanceGrid *g, int i, int j, int k) {
  return ((size_t)i * (size_t)g->n[1] + (size_t)j) * (size_t)g->n[2] + (size_t)k;
}
static void node_of(const tgiDistanceGrid *g, size_t at, int i[3]) {
  i[2] = (int)(at % (size_t)g->n[2]);
  i[1] = (int)(at / (size_t)g->n[2] % (size_t)g->n[1]);
  i[0] = (int)(at / (size_t)g->n[2] / (size_t)g->n[1]);
}
static void place_of(const tgiDistanceGrid *g, const int i[3], double p[3]) {
  for (int c = 0; c < 3; c++) p[c] = g->low[c] + g->spacing * i[c];
}

size_t tgi_distance_grid_bytes(const tgiDistanceGrid *g) { return count(g) * sizeof *g->coef; }

void tgi_distance_grid_box(const tgiDistanceGrid *g, double low[3], double high[3]) {
  for (int c = 0; c < 3; c++) {
    low[c] = g->low[c] + (TGI_GRID_MARGIN - TGI_GRID_GOOD) * g->spacing;
    high[c] = g->low[c] + (g->n[c] - 1 - (TGI_GRID_MARGIN - TGI_GRID_GOOD)) * g->spacing;
  }
}

static bool lay_out(const double *vert, int nvert, int cells, tgiDistanceGrid *g) {
  double low[3] = {INFINITY, INFINITY, INFINITY}, high[3] = {-INFINITY, -INFINITY, -INFINITY}, longest = 0, nodes = 1;
  for (int i = 0; i < 3 * nvert; i++) {
    low[i % 3] = fmin(low[i % 3], vert[i]);
    high[i % 3] = fmax(high[i % 3], vert[i]);
  }
  for (int c = 0; c < 3; c++) longest = fmax(longest, high[c] - low[c]);
  g->spacing = longest / cells;
  for (int c = 0; c < 3; c++) {
    int inner = (int)ceil((high[c] - low[c]) / g->spacing - 1e-9);
    g->n[c] = inner + 1 + 2 * TGI_GRID_MARGIN;
    g->low[c] = (low[c] + high[c] - inner * g->spacing) / 2 - (double)TGI_GRID_MARGIN * g->spacing;
    nodes *= g->n[c];
  }
  return nodes <= (double)MOST_NODES;
}

static void distances(const Solid *k, tgiDistanceGrid *g) {
  int face = -1;
  for (size_t at = 0; at < count(g); at++) {
    int i[3];
    double p[3];
    tgiNearby near;
    node_of(g, at, i);
    place_of(g, i, p);
    face = nearest(k, p, face, &near);
    g->coef[at] = near.distance;
  }
}

static bool inside(const Solid *k, const double p[3]) {
  tgiNearby near;
  int f = nearest(k, p, -1, &near);
  if (near.feature_b != TGI_FACE) return tgi_surface_winding(&k->exact, p) > 0.5;
  double x[9], u[3], v[3], n[3], d[3];
  corners(k, f, x);
  tgi_d3_sub(u, x + 3, x);
  tgi_d3_sub(v, x + 6, x);
  tgi_d3_cross(n, u, v);
  tgi_d3_sub(d, p, near.b);
  return tgi_d3_dot(n, d) < 0;
}

// signs of all nodes that can be told from the first of the list, which has its own
static void spread(const tgiDistanceGrid *g, signed char *sign, size_t *list, size_t first) {
  size_t n = 0;
  list[n++] = first;
  while (n > 0) {
    size_t at = list[--n];
    int i[3];
    node_of(g, at, i);
    for (int d = 0; d < 27; d++) {
      int step[3] = {d / 9 - 1, d / 3 % 3 - 1, d % 3 - 1}, j[3];
      bool there = true;
      for (int c = 0; c < 3; c++) {
        j[c] = i[c] + step[c];
        there = there && j[c] >= 0 && j[c] < g->n[c];
      }
      if (!there) continue;
      size_t to = index_of(g, j[0], j[1], j[2]);
      double way = g->spacing * sqrt(step[0] * step[0] + step[1] * step[1] + step[2] * step[2]);
      if (sign[to] != 0 || g->coef[at] + g->coef[to] <= way * (1 + 1e-9)) continue;
      sign[to] = sign[at];
      list[n++] = to;
    }
  }
}

static tgStatus signs(const Solid *k, tgiDistanceGrid *g) {
  size_t n = count(g);
  signed char *sign = k->alloc->alloc(k->alloc->ctx, n);
  size_t *list = k->alloc->alloc(k->alloc->ctx, tgi_size_mul(n, sizeof *list));
  tgStatus status = sign != NULL && list != NULL ? TG_OK : TG_ERR_MEMORY;
  if (status == TG_OK) {
    memset(sign, 0, n);
    for (size_t at = 0; at < n; at++) {
      int i[3];
      double p[3];
      if (sign[at] != 0) continue;
      node_of(g, at, i);
      place_of(g, i, p);
      sign[at] = at > 0 && inside(k, p) ? -1 : 1;
      spread(g, sign, list, at);
    }
    for (size_t at = 0; at < n; at++) {
      g->coef[at] *= sign[at];
      g->depth = fmax(g->depth, -g->coef[at]);
    }
  }
  k->alloc->free(k->alloc->ctx, sign);
  k->alloc->free(k->alloc->ctx, list);
  return status;
}

// c_(i-1) + 4 c_i + c_(i+1) = 6 f_i, and no curvature at the ends, where c is f
static void filter_line(double *c, size_t stride, int n, double *work) {
  work[1] = 0;
  for (int i = 1; i + 1 < n; i++) {
    double pivot = 4 - work[i];
    work[i + 1] = 1 / pivot;
    c[stride * (size_t)i] = (6 * c[stride * (size_t)i] - c[stride * (size_t)(i - 1)]) / pivot;
  }
  for (int i = n - 2; i > 0; i--) c[stride * (size_t)i] -= work[i + 1] * c[stride * (size_t)(i + 1)];
}

static tgStatus filter(const tgAllocator *a, tgiDistanceGrid *g) {
  int most = 0;
  for (int c = 0; c < 3; c++) most = g->n[c] > most ? g->n[c] : most;
  double *work = a->alloc(a->ctx, ((size_t)most + 1) * sizeof *work);
  if (work == NULL) return TG_ERR_MEMORY;
  for (int c = 0; c < 3; c++) {
    size_t stride = c == 0 ? (size_t)g->n[1] * (size_t)g->n[2] : c == 1 ? (size_t)g->n[2] : 1;
    for (size_t at = 0; at < count(g); at++)
      if (at / stride % (size_t)g->n[c] == 0) filter_line(g->coef + at, stride, g->n[c], work);
  }
  a->free(a->ctx, work);
  return TG_OK;
}

// A derivative along an axis is a mean of neighbours' differences.
static double steepest(const tgiDistanceGrid *g) {
  double sum = 0;
  for (int c = 0; c < 3; c++) {
    size_t stride = c == 0 ? (size_t)g->n[1] * (size_t)g->n[2] : c == 1 ? (size_t)g->n[2] : 1;
    double most = 0;
    for (size_t at = 0; at < count(g); at++)
      if (at / stride % (size_t)g->n[c] > 0) most = fmax(most, fabs(g->coef[at] - g->coef[at - stride]) / g->spacing);
    sum += most * most;
  }
  return sqrt(sum);
}

// on the surface, and amid the cells that are near it
static double error_of(const Solid *k, const tgiDistanceGrid *g) {
  double most = 0;
  int face = -1;
  for (size_t at = 0; at < count(g); at++) {
    int i[3];
    double p[3];
    tgReal x[3], value;
    tgiNearby near;
    bool good = true;
    node_of(g, at, i);
    place_of(g, i, p);
    for (int c = 0; c < 3; c++) {
      x[c] = p[c] += g->spacing / 2;
      good = good && i[c] > 0 && i[c] < g->n[c] - 2;
    }
    if (!good) continue;
    tgi_distance_grid_at(g, x, 0, &value, NULL, NULL);
    if (fabs(tgRe(value)) > g->spacing) continue;
    face = nearest(k, p, face, &near);
    most = fmax(most, fabs(fabs(tgRe(value)) - near.distance));
  }
  for (int f = 0; f < k->surface->nface; f++) {
    double x[9];
    corners(k, f, x);
    for (int at = 1; at < 8; at++) {   // a bit for each corner that takes part
      int n = (at & 1) + (at >> 1 & 1) + (at >> 2 & 1);
      tgReal p[3] = {0}, value;
      for (int i = 0; i < 9; i++)
        if (at >> (i / 3) & 1) p[i % 3] += x[i] / n;
      tgi_distance_grid_at(g, p, 0, &value, NULL, NULL);
      most = fmax(most, fabs(tgRe(value)));
    }
  }
  return most;
}

static tgStatus make(const Solid *k, int cells, tgiDistanceGrid *g, tgError *error) {
  if (!lay_out(k->vert, k->surface->nvert, cells, g))
    return tgi_error(error, TG_ERR_LIMIT, "its grid would have %d x %d x %d nodes", g->n[0], g->n[1], g->n[2]);
  g->coef = g->alloc.alloc(g->alloc.ctx, tgi_distance_grid_bytes(g));
  if (g->coef == NULL) return TG_ERR_MEMORY;
  distances(k, g);
  TG_TRY(signs(k, g));
  TG_TRY(filter(k->alloc, g));
  g->steepest = steepest(g);
  g->error = error_of(k, g);
  return TG_OK;
}

tgStatus tgi_distance_grid_make(const tgiSurface *surface, const double size[3], int cells, const tgAllocator *a, tgiDistanceGrid *grid,
                                tgError *error) {
  Solid k = {.alloc = a};
  size_t n = 3 * (size_t)surface->nvert;
  double *vert = a->alloc(a->ctx, tgi_size_mul(n + 1, sizeof *vert));
  *grid = (tgiDistanceGrid){.alloc = *a};
  if (vert == NULL) return tgi_error(error, TG_ERR_MEMORY, "out of memory for its %d vertices", surface->nvert);
  for (size_t i = 0; i < n; i++) {
    const double *c = surface->coef + 3 * i;
    vert[i] = c[0] * size[0] + c[1] * size[1] + c[2] * size[2];
  }
  tgStatus status = tgi_surface_check_solid(surface, vert, a, error);
  if (status == TG_OK) status = open_solid(surface, vert, size, a, &k);
  if (status == TG_OK) status = make(&k, cells, grid, error);
  if (status == TG_ERR_MEMORY) tgi_error(error, status, "out of memory for the grid of its distances");
  close_solid(&k);
  a->free(a->ctx, vert);
  if (status != TG_OK) tgi_distance_grid_free(grid);
  return status;
}

void tgi_distance_grid_free(tgiDistanceGrid *grid) {
  if (grid->coef != NULL) grid->alloc.free(grid->alloc.ctx, grid->coef);
  grid->coef = NULL;
}

// ---- its values ----

// the four splines that are not 0 at u cells past a node, and their derivatives in the place
static void weights(tgReal u, double spacing, tgReal w[3][4]) {
  tgReal v = 1 - u;
  w[0][0] = v * v * v / 6;
  w[0][1] = 2.0 / 3 - u * u + u * u * u / 2;
  w[0][2] = 2.0 / 3 - v * v + v * v * v / 2;
  w[0][3] = u * u * u / 6;
  w[1][0] = -v * v / 2 / spacing;
  w[1][1] = (1.5 * u * u - 2 * u) / spacing;
  w[1][2] = (2 * v - 1.5 * v * v) / spacing;
  w[1][3] = u * u / 2 / spacing;
  w[2][0] = v / (spacing * spacing);
  w[2][1] = (3 * u - 2) / (spacing * spacing);
  w[2][2] = (3 * v - 2) / (spacing * spacing);
  w[2][3] = u / (spacing * spacing);
}

void tgi_distance_grid_at(const tgiDistanceGrid *g, const tgReal x[3], int order, tgReal *f, tgReal d[3], tgReal dd[6]) {
  static const int axes[10][3] = {{0, 0, 0}, {1, 0, 0}, {0, 1, 0}, {0, 0, 1},
                                  {2, 0, 0}, {1, 1, 0}, {0, 2, 0}, {1, 0, 1}, {0, 1, 1}, {0, 0, 2}};
  tgReal w[3][3][4], sum[10] = {0};
  int first[3], many = order == 0 ? 1 : order == 1 ? 4 : 10;
  for (int c = 0; c < 3; c++) {
    tgReal t = (x[c] - g->low[c]) / g->spacing;
    double cell = fmin(fmax(floor(tgRe(t)), 1), g->n[c] - 3);
    first[c] = (int)cell - 1;
    weights(t - cell, g->spacing, w[c]);
  }
  for (int i = 0; i < 4; i++)
    for (int j = 0; j < 4; j++) {
      const double *line = g->coef + index_of(g, first[0] + i, first[1] + j, first[2]);
      tgReal z[3];
      for (int r = 0; r <= order; r++) z[r] = line[0] * w[2][r][0] + line[1] * w[2][r][1] + line[2] * w[2][r][2] + line[3] * w[2][r][3];
      for (int r = 0; r < many; r++) sum[r] += w[0][axes[r][0]][i] * w[1][axes[r][1]][j] * z[axes[r][2]];
    }
  *f = sum[0];
  for (int c = 0; c < 3 && order > 0; c++) d[c] = sum[1 + c];
  for (int c = 0; c < 6 && order > 1; c++) dd[c] = sum[4 + c];
}
