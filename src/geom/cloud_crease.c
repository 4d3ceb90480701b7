// cloud_crease.c: sites beside the creases of a mesh.
//
// Creases are followed from corner to corner and divided into equal parts of about the spacing. In the middle of each
// part every face beside the crease gets a site at one distance from it: half the spacing, or where the surface between
// two creases is narrow half of what its rows are apart.
#include <stdlib.h>
#include <string.h>

#include "geom/cloud_mesh.h"

#define TURN_COSINE 0.70710678118654752  // a crease that turns by more than 45 degrees has a corner there
#define WIDE 4.5                         // from this width in spacings on, half a spacing is near enough to a row's half
#define CLOSE 0.55                       // sites nearer than this part of the spacing become one

// one side of a crease edge: face 3 f + edge c, between vertices a < b
typedef struct Side {
  int a, b, half;
} Side;

typedef struct Creases {
  const tgiFine *fine;
  int nside, nedge;
  Side *side;      // sorted, so that those of an edge follow each other
  int *first;      // nedge + 1: of the sides of an edge
  int *at, *edge;  // edges about vertex v: edge[at[v]] .. edge[at[v + 1] - 1]
  bool *seen;      // nedge
  int *chain;      // nedge: edges of the chain in hand, in order
  bool *forth;     // nedge: the chain runs from a to b
} Creases;

static int by_edge(const void *p, const void *q) {
  const Side *s = p, *t = q;
  if (s->a != t->a) return s->a < t->a ? -1 : 1;
  if (s->b != t->b) return s->b < t->b ? -1 : 1;
  return (s->half > t->half) - (s->half < t->half);
}

static bool take_sides(Creases *c, tgiBlocks *blocks) {
  const tgiFine *fine = c->fine;
  for (size_t e = 0; e < 3 * (size_t)fine->nface; e++) c->nside += fine->next[e] < 0;
  c->side = tgi_blocks_take(blocks, (size_t)c->nside, sizeof *c->side);
  c->first = tgi_blocks_take(blocks, (size_t)c->nside + 1, sizeof *c->first);
  c->at = tgi_blocks_take(blocks, (size_t)fine->nvert + 2, sizeof *c->at);
  c->edge = tgi_blocks_take(blocks, 2 * (size_t)c->nside, sizeof *c->edge);
  c->seen = tgi_blocks_take(blocks, (size_t)c->nside, sizeof *c->seen);
  c->chain = tgi_blocks_take(blocks, (size_t)c->nside, sizeof *c->chain);
  c->forth = tgi_blocks_take(blocks, (size_t)c->nside, sizeof *c->forth);
  if (c->side == NULL || c->first == NULL || c->at == NULL || c->edge == NULL) return false;
  if (c->seen == NULL || c->chain == NULL || c->forth == NULL) return false;
  for (int e = 0, n = 0; e < 3 * fine->nface; e++) {
    if (fine->next[e] >= 0) continue;
    int a = fine->face[e], b = fine->face[e - e % 3 + (e + 1) % 3];
    c->side[n++] = (Side){a < b ? a : b, a < b ? b : a, e};
  }
  qsort(c->side, (size_t)c->nside, sizeof *c->side, by_edge);
  return true;
}

// edges of the sides, and edges about each vertex
static void number_edges(Creases *c) {
  for (int i = 0; i < c->nside; i++)
    if (i == 0 || c->side[i].a != c->side[i - 1].a || c->side[i].b != c->side[i - 1].b) c->first[c->nedge++] = i;
  c->first[c->nedge] = c->nside;
  for (int e = 0; e < c->nedge; e++) {
    c->at[c->side[c->first[e]].a + 2]++;
    c->at[c->side[c->first[e]].b + 2]++;
  }
  for (int v = 0; v < c->fine->nvert; v++) c->at[v + 2] += c->at[v + 1];
  for (int e = 0; e < c->nedge; e++) {
    c->edge[c->at[c->side[c->first[e]].a + 1]++] = e;
    c->edge[c->at[c->side[c->first[e]].b + 1]++] = e;
  }
}

static const Side *of_edge(const Creases *c, int e) { return &c->side[c->first[e]]; }

static void edge_direction(const Creases *c, int e, int from, double *d) {
  const Side *s = of_edge(c, e);
  int to = s->a == from ? s->b : s->a;
  double v[3];
  tgi_d3_sub(v, c->fine->vert + 3 * (size_t)to, c->fine->vert + 3 * (size_t)from);
  tgi_d3_unit(d, v);
}

// a vertex where chains end: not two crease edges, or two that do not go straight on
static bool is_corner(const Creases *c, int v) {
  double d[2][3];
  if (c->at[v + 1] - c->at[v] != 2) return true;
  for (int i = 0; i < 2; i++) edge_direction(c, c->edge[c->at[v] + i], v, d[i]);
  return -tgi_d3_dot(d[0], d[1]) < TURN_COSINE;
}

// follows the crease from vertex v along edge e up to a corner, or round to where it began; returns how many edges
static int follow(Creases *c, int v, int e) {
  int n = 0;
  for (;;) {
    const Side *s = of_edge(c, e);
    c->seen[e] = true;
    c->chain[n] = e;
    c->forth[n++] = s->a == v;
    v = s->a == v ? s->b : s->a;
    if (is_corner(c, v)) return n;
    int i = c->at[v];
    e = c->edge[i] == e ? c->edge[i + 1] : c->edge[i];
    if (c->seen[e]) return n;
  }
}

static double edge_length(const Creases *c, int e) {
  return tgi_d3_distance(c->fine->vert + 3 * (size_t)of_edge(c, e)->a, c->fine->vert + 3 * (size_t)of_edge(c, e)->b);
}

// is a site of the same segment, facing the same way, nearer than `least`
static bool crowded(const tgiFine *fine, const tgiSites *sites, const tgiCells *cells, const double x[3], int face, double least) {
  for (int k = 0; k < 27; k++)
    for (int i = tgi_cells_about(cells, x, k); i >= 0; i = cells->next[i]) {
      int g = sites->site[i].face;
      if (fine->segment[g] == fine->segment[face] && tgi_d3_distance(sites->site[i].x, x) < least &&
          tgi_d3_dot(fine->normal + 3 * (size_t)g, fine->normal + 3 * (size_t)face) > 0)
        return true;
    }
  return false;
}

// Distance from the crease at the point x of edge e: with m = round(w/spacing) rows on the width w of a side, w/(2 m).
// A side with one row leaves no choice; among others it is the mean, half the spacing where they are wide.
static double inset_at(const Creases *c, int e, const double x[3]) {
  double l = c->fine->spacing, sum = 0, most = INFINITY;
  for (int k = c->first[e]; k < c->first[e + 1]; k++) {
    double y[3] = {x[0], x[1], x[2]};
    int face = c->side[k].half / 3;
    double width = tgi_fine_walk(c->fine, &face, c->side[k].half % 3, y, WIDE * l), rows = fmax(1, round(width / l));
    if (rows == 1) most = fmin(most, 0.5 * width);
    sum += width < WIDE * l ? 0.5 * width / rows : 0.5 * l;
  }
  return isfinite(most) ? most : sum / (c->first[e + 1] - c->first[e]);
}

// sites on all sides of edge e, beside its point at the part t from a to b
static tgStatus place_beside(const Creases *c, int e, double t, tgiCells *cells, tgiBlocks *blocks, tgiSites *sites) {
  const tgiFine *fine = c->fine;
  double x[3];
  const double *a = fine->vert + 3 * (size_t)of_edge(c, e)->a, *b = fine->vert + 3 * (size_t)of_edge(c, e)->b;
  for (int i = 0; i < 3; i++) x[i] = (1 - t) * a[i] + t * b[i];
  double inset = inset_at(c, e, x);
  for (int k = c->first[e]; k < c->first[e + 1]; k++) {
    double y[3] = {x[0], x[1], x[2]};
    int face = c->side[k].half / 3;
    tgi_fine_walk(fine, &face, c->side[k].half % 3, y, inset);
    if (crowded(fine, sites, cells, y, face, CLOSE * fine->spacing)) continue;
    if (sites->n == cells->most || !tgi_sites_add(sites, blocks, y, face, true)) return TG_ERR_MEMORY;
    tgi_cells_add(cells, y, sites->n - 1);
  }
  return TG_OK;
}

static tgStatus place_chain(const Creases *c, int n, bool closed, tgiCells *cells, tgiBlocks *blocks, tgiSites *sites) {
  double length = 0, before = 0;
  for (int k = 0; k < n; k++) length += edge_length(c, c->chain[k]);
  double parts = fmax(closed ? 3 : 1, round(length / c->fine->spacing));
  int k = 0;
  for (double i = 0; i < parts; i++) {
    double want = (i + 0.5) / parts * length;
    while (k + 1 < n && before + edge_length(c, c->chain[k]) < want) before += edge_length(c, c->chain[k++]);
    double t = fmin(1, (want - before) / edge_length(c, c->chain[k]));
    TG_TRY(place_beside(c, c->chain[k], c->forth[k] ? t : 1 - t, cells, blocks, sites));
  }
  return TG_OK;
}

// most sites that there can be: a part is at least half as long as the spacing, or is the only one (of three) of its chain
static double most_sites(const Creases *c) {
  double length = 0;
  for (int e = 0; e < c->nedge; e++) length += edge_length(c, e) * (c->first[e + 1] - c->first[e]);
  return 2 * length / c->fine->spacing + 3.0 * c->nside;
}

tgStatus tgi_sites_beside_creases(const tgiFine *fine, tgiBlocks *blocks, tgiSites *sites, tgError *error) {
  Creases c = {.fine = fine};
  tgiCells cells;
  if (!take_sides(&c, blocks)) return TG_ERR_MEMORY;
  number_edges(&c);
  // fine edges are shorter than the spacing, so a chain has at most about as many parts as edges
  int most = (int)fmin(most_sites(&c), INT32_MAX / 2);
  if (!tgi_cells_make(&cells, fine->spacing, most, blocks)) return TG_ERR_MEMORY;
  tgStatus st = TG_OK;
  for (int pass = 0; pass < 2 && st == TG_OK; pass++)  // from corners, then what has none
    for (int e = 0; e < c.nedge && st == TG_OK; e++)
      for (int end = 0; end < 2 && st == TG_OK; end++) {
        int v = end == 0 ? of_edge(&c, e)->a : of_edge(&c, e)->b;
        if (c.seen[e] || (pass == 0 && !is_corner(&c, v))) continue;
        st = place_chain(&c, follow(&c, v, e), pass == 1, &cells, blocks, sites);
        if (sites->n >= TGI_CLOUD_MOST) return tgi_cloud_fits(sites->n + 1.0, fine->spacing, error);
      }
  void *done[] = {c.side, c.first, c.at, c.edge, c.seen, c.chain, c.forth, cells.head, cells.next};
  for (size_t i = 0; i < sizeof done / sizeof *done; i++) tgi_blocks_give(blocks, done[i]);
  return st;
}
