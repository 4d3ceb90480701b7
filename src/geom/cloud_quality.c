// cloud_quality.c: see cloud_quality.h.
#include "geom/cloud_quality.h"

#include <stdlib.h>

#include "geom/cloud_mesh.h"

#define SAME_WAY 0.5                      // cosine of normals that face the same way
#define CREASE_COSINE 0.86602540378443865

static void real3(const tgReal *x, double *y) {
  for (int i = 0; i < 3; i++) y[i] = tgRe(x[i]);
}

// mean, deviation, least and most of n numbers
static void statistics(const double *x, int n, double *mean, double *deviation, double *least, double *most) {
  double sum = 0, squares = 0;
  *least = INFINITY;
  *most = 0;
  for (int i = 0; i < n; i++) {
    sum += x[i];
    *least = fmin(*least, x[i]);
    *most = fmax(*most, x[i]);
  }
  *mean = n > 0 ? sum / n : 0;
  for (int i = 0; i < n; i++) squares += (x[i] - *mean) * (x[i] - *mean);
  *deviation = n > 0 ? sqrt(squares / n) : 0;
  if (n == 0) *least = 0;
}

// distance to the nearest point within two spacings that faces the same way, infinite when there is none
static double nearest(const tgCloud *c, const tgiCells *cells, int i) {
  double best = 2 * c->spacing, x[3], n[3];
  bool found = false;
  real3(c->p + 3 * (size_t)i, x);
  real3(c->normal + 3 * (size_t)i, n);
  for (int k = 0; k < 27; k++)
    for (int j = tgi_cells_about(cells, x, k); j >= 0; j = cells->next[j]) {
      double y[3], m[3];
      real3(c->p + 3 * (size_t)j, y);
      real3(c->normal + 3 * (size_t)j, m);
      if (j == i || tgi_d3_dot(n, m) < SAME_WAY || tgi_d3_distance(x, y) > best) continue;
      best = tgi_d3_distance(x, y);
      found = true;
    }
  return found ? best : INFINITY;
}

static tgStatus neighbours(const tgCloud *c, tgiBlocks *blocks, tgCloudQuality *q) {
  tgiCells cells;
  double *d = tgi_blocks_take(blocks, (size_t)c->n, sizeof *d);
  if (d == NULL || !tgi_cells_make(&cells, 2 * c->spacing, c->n, blocks)) return TG_ERR_MEMORY;
  int n = 0;
  for (int i = 0; i < c->n; i++) {
    double x[3];
    real3(c->p + 3 * (size_t)i, x);
    tgi_cells_add(&cells, x, i);
  }
  for (int i = 0; i < c->n; i++) {
    double near = nearest(c, &cells, i) / c->spacing;
    if (isfinite(near)) d[n++] = near;
    else q->nalone++;
  }
  statistics(d, n, &q->near_mean, &q->near_deviation, &q->near_least, &q->near_most);
  for (int i = 0; i < c->n; i++) d[i] = c->area[i] / (c->spacing * c->spacing);
  statistics(d, c->n, &q->area_mean, &q->area_deviation, &q->area_least, &q->area_most);
  return TG_OK;
}

typedef struct Edge {
  int a, b, patch;
} Edge;

static int by_vertices(const void *p, const void *q) {
  const Edge *s = p, *t = q;
  if (s->a != t->a) return s->a < t->a ? -1 : 1;
  if (s->b != t->b) return s->b < t->b ? -1 : 1;
  return (s->patch > t->patch) - (s->patch < t->patch);
}

// distance of point i to the line through vertices a and b
static double from_line(const tgCloud *c, int i, int a, int b) {
  double x[3], y[3], z[3], e[3], d[3], across[3];
  real3(c->p + 3 * (size_t)i, x);
  real3(c->vert + 3 * (size_t)a, y);
  real3(c->vert + 3 * (size_t)b, z);
  tgi_d3_sub(e, z, y);
  tgi_d3_sub(d, x, y);
  tgi_d3_cross(across, d, e);
  return tgi_d3_norm(across) / tgi_d3_norm(e);
}

// the edge's two patches, where it is a crease
static void count_crease(const tgCloud *c, const Edge *e, double *length, double *inset, tgCloudQuality *q) {
  double n[3], m[3], y[3], z[3];
  real3(c->normal + 3 * (size_t)e[0].patch, n);
  real3(c->normal + 3 * (size_t)e[1].patch, m);
  if (tgi_d3_dot(n, m) >= CREASE_COSINE) return;
  real3(c->vert + 3 * (size_t)e->a, y);
  real3(c->vert + 3 * (size_t)e->b, z);
  double l = tgi_d3_distance(y, z), d0 = from_line(c, e[0].patch, e->a, e->b) / c->spacing,
         d1 = from_line(c, e[1].patch, e->a, e->b) / c->spacing;
  q->ncrease++;
  *length += l;
  *inset += 0.5 * l * (d0 + d1);
  q->crease_error += 0.5 * l * fabs(d0 - d1);
  q->crease_worst = fmax(q->crease_worst, 0.5 * fabs(d0 - d1));
}

static tgStatus creases(const tgCloud *c, tgiBlocks *blocks, tgCloudQuality *q) {
  int count = c->corner_at[c->n];
  double length = 0, inset = 0;
  Edge *edge = tgi_blocks_take(blocks, (size_t)count, sizeof *edge);
  if (edge == NULL) return TG_ERR_MEMORY;
  for (int i = 0; i < c->n; i++)
    for (int k = c->corner_at[i]; k < c->corner_at[i + 1]; k++) {
      int a = c->corner[k], b = c->corner[k + 1 < c->corner_at[i + 1] ? k + 1 : c->corner_at[i]];
      edge[k] = (Edge){a < b ? a : b, a < b ? b : a, i};
    }
  qsort(edge, (size_t)count, sizeof *edge, by_vertices);
  for (int k = 0; k + 1 < count; k++)
    if (edge[k].a == edge[k + 1].a && edge[k].b == edge[k + 1].b && edge[k].a != edge[k].b) count_crease(c, edge + k, &length, &inset, q);
  if (length > 0) {
    q->crease_inset = inset / length;
    q->crease_error /= length;
  }
  return TG_OK;
}

tgStatus tgi_cloud_quality(const tgCloud *cloud, const tgAllocator *allocator, tgCloudQuality *quality) {
  *quality = (tgCloudQuality){0};
  if (cloud->flat) return TG_OK;
  tgiBlocks blocks = {.alloc = tgi_allocator(allocator)};
  tgStatus st = neighbours(cloud, &blocks, quality);
  if (st >= 0) st = creases(cloud, &blocks, quality);
  tgi_blocks_free(&blocks);
  return st;
}
