// reduce_distance.c: the farthest that two surfaces are from each other. See reduce.h.
//
// The distance to one triangle is convex, so over a piece of a triangle it is largest at a corner of the piece; and the distance
// to the surface is at most that to any of its triangles, and at most that of the piece's middle and the way from there. Pieces
// whose bound is more than the farthest point found yet are cut in four.
#include <math.h>
#include <string.h>

#include "coll/reduce.h"
#include "coll/surfaces/exact.h"
#include "coll/surfaces/triangle.h"
#include "math/d3.h"

#define RELATIVE 0.01   // by which a bound may be over the farthest point found, of it
#define ABSOLUTE 1e-3   // and of the size of the meshes

typedef struct Search {
  const tgiExactSurface *to;
  double slack;          // ABSOLUTE in m
  double best, at[3];    // the farthest point found
  double most;           // bound
} Search;

static double to_box(const double box[6], const double p[3]) {
  double sum = 0;
  for (int i = 0; i < 3; i++) {
    double d = fmax(0, fmax(box[i] - p[i], p[i] - box[3 + i]));
    sum += d * d;
  }
  return sqrt(sum);
}

static void corners(const tgiExactSurface *s, int f, double x[9]) {
  for (int i = 0; i < 3; i++) memcpy(x + 3 * i, s->vert + 3 * (size_t)s->face[3 * f + i], 3 * sizeof *x);
}

// the nearest face below node k, if one is nearer than *least
static void nearest_of(const tgiExactSurface *s, int k, const double p[3], double *least, int *face) {
  const int *node = s->node + 3 * k;
  if (to_box(s->box + 6 * k, p) >= *least) return;
  for (int i = 0; node[2] == 0 && i < node[1]; i++) {
    double x[9], d;
    corners(s, s->order[node[0] + i], x);
    d = tgi_point_triangle(p, x).distance;
    if (d >= *least) continue;
    *least = d;
    *face = s->order[node[0] + i];
  }
  if (node[2] == 0) return;
  bool second = to_box(s->box + 6 * node[2], p) < to_box(s->box + 6 * (k + 1), p);
  nearest_of(s, second ? node[2] : k + 1, p, least, face);
  nearest_of(s, second ? k + 1 : node[2], p, least, face);
}

static double nearest(const tgiExactSurface *s, const double p[3], int *face) {
  double least = INFINITY;
  *face = -1;
  nearest_of(s, 0, p, &least, face);
  return least;
}

static void look_at(Search *s, const double p[3], double distance) {
  if (distance <= s->best) return;
  s->best = distance;
  memcpy(s->at, p, sizeof s->at);
}

static double bound(const Search *s, const double x[9], const double middle[3], double distance, int face) {
  double b[9], way = 0, most = 0;
  corners(s->to, face, b);
  for (int i = 0; i < 3; i++) {
    way = fmax(way, tgi_d3_distance(middle, x + 3 * i));
    most = fmax(most, tgi_point_triangle(x + 3 * i, b).distance);
  }
  return fmin(most, distance + way);
}

static void search(Search *s, const double x[9]) {
  double middle[3], edge[9];
  int face;
  for (int i = 0; i < 3; i++) middle[i] = (x[i] + x[3 + i] + x[6 + i]) / 3;
  double distance = nearest(s->to, middle, &face), most = bound(s, x, middle, distance, face);
  look_at(s, middle, distance);
  if (most <= s->best * (1 + RELATIVE) + s->slack) {
    s->most = fmax(s->most, most);
    return;
  }
  for (int i = 0; i < 9; i++) edge[i] = (x[i] + x[(i + 3) % 9]) / 2;   // amid the edge from corner i/3
  for (int c = 0; c < 3; c++) {
    double part[9];
    memcpy(part, x + 3 * c, 3 * sizeof *part);
    memcpy(part + 3, edge + 3 * c, 3 * sizeof *part);
    memcpy(part + 6, edge + 3 * ((c + 2) % 3), 3 * sizeof *part);
    search(s, part);
  }
  search(s, edge);
}

// of `from`, the farthest from `to`
static void one_way(const tgiExactSurface *from, const tgiExactSurface *to, Search *s) {
  s->to = to;
  for (int f = 0; f < from->nface; f++)
    for (int c = 0; c < 3; c++) {
      int face;
      const double *p = from->vert + 3 * (size_t)from->face[3 * f + c];
      look_at(s, p, nearest(to, p, &face));
    }
  for (int f = 0; f < from->nface; f++) {
    double x[9];
    corners(from, f, x);
    search(s, x);
  }
}

static double size_of(const double box[6]) {
  double d[3];
  for (int i = 0; i < 3; i++) d[i] = box[3 + i] - box[i];
  return tgi_d3_norm(d);
}

tgStatus tgi_reduce_distance(const tgiFaces *before, const tgiFaces *after, const tgAllocator *allocator, tgiFarthest *farthest) {
  tgiExactSurface a, b = {0};
  *farthest = (tgiFarthest){0};
  if (tgi_exact_make(before->vert, before->nvert, before->face, before->nface, allocator, &a) < 0) return TG_ERR_MEMORY;
  if (tgi_exact_make(after->vert, after->nvert, after->face, after->nface, allocator, &b) < 0) {
    tgi_exact_free(&a);
    return TG_ERR_MEMORY;
  }
  Search s = {.slack = ABSOLUTE * size_of(a.box)};
  one_way(&a, &b, &s);
  double first = s.best;
  one_way(&b, &a, &s);
  farthest->most = fmax(s.most, s.best);
  farthest->after = s.best > first;
  memcpy(farthest->at, s.at, sizeof s.at);
  tgi_exact_free(&a);
  tgi_exact_free(&b);
  return TG_OK;
}
