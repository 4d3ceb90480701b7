// facets.c: see facets.h.
#include "coll/surfaces/facets.h"

#include <stdlib.h>
#include <string.h>

#include "base/layout.h"
#include "base/memory.h"
#include "coll/features/pair.h"
#include "coll/surfaces/surface.h"
#include "coll/surfaces/triangle.h"
#include "math/d3.h"

static const double flat = 1e-9;   // of the size: faces this near a plane are in it

// ---- edges, planes, ridges ----

typedef struct Half { int low, high, face, side; } Half;

static int by_ends(const void *x, const void *y) {
  const Half *a = x, *b = y;
  if (a->low != b->low) return a->low < b->low ? -1 : 1;
  if (a->high != b->high) return a->high < b->high ? -1 : 1;
  return a->face != b->face ? (a->face < b->face ? -1 : 1) : a->side - b->side;
}

static bool turns(const tgiFacets *f, const Half *h) { return f->face[3 * h->face + h->side] != h->low; }

// an edge of two faces, or of one
static void add_edge(tgiFacets *f, const Half *a, const Half *b) {
  int e = f->nedge++, *to = f->edge + 4 * e;
  to[0] = f->face[3 * a->face + a->side];
  to[1] = f->face[3 * a->face + (a->side + 1) % 3];
  to[2] = a->face;
  to[3] = b != NULL ? b->face : -1;
  f->side[3 * a->face + a->side] = e;
  if (b != NULL) f->side[3 * b->face + b->side] = e;
}

// each pair of faces that run oppositely along the same two vertices has an edge, what is left has one of its own
static bool make_edges(tgiFacets *f, const tgAllocator *alloc) {
  int n = 3 * f->nface;
  Half *h = alloc->alloc(alloc->ctx, tgi_size_mul((size_t)n + 1, sizeof *h));
  if (h == NULL) return false;
  for (int i = 0; i < n; i++) {
    int a = f->face[i], b = f->face[i - i % 3 + (i + 1) % 3];
    h[i] = (Half){a < b ? a : b, a < b ? b : a, i / 3, i % 3};
  }
  qsort(h, (size_t)n, sizeof *h, by_ends);
  for (int i = 0; i < n; i++) {
    bool two = i + 1 < n && h[i].low == h[i + 1].low && h[i].high == h[i + 1].high && turns(f, &h[i]) != turns(f, &h[i + 1]);
    add_edge(f, &h[i], two ? &h[i + 1] : NULL);
    i += two;
  }
  alloc->free(alloc->ctx, h);
  return true;
}

static void unit_corners(const tgiFacets *f, int face, double x[9]) {
  for (int i = 0; i < 9; i++) x[i] = f->vert[3 * f->face[3 * face + i / 3] + i % 3];
}

void tgi_facet_normal(const double x[9], double n[3]) {
  double a[3], b[3];
  tgi_d3_sub(a, x + 3, x);
  tgi_d3_sub(b, x + 6, x);
  tgi_d3_cross(n, a, b);
  tgi_d3_unit(n, n);
}

static bool in_plane(const tgiFacets *f, int face, const double n[3], const double at[3], double tol) {
  double x[9], m[3], d[3];
  unit_corners(f, face, x);
  tgi_facet_normal(x, m);
  for (int k = 0; k < 3; k++) {
    tgi_d3_sub(d, x + 3 * k, at);
    if (fabs(tgi_d3_dot(d, n)) > tol) return false;
  }
  return tgi_d3_dot(m, n) > 0;
}

// every face gets the plane of the first that it hangs together with and lies in the plane of; f->order is a list meanwhile
static void make_planes(tgiFacets *f, double tol) {
  for (int i = 0; i < f->nface; i++) f->plane[i] = -1;
  for (int first = 0; first < f->nface; first++) {
    double x[9], n[3];
    if (f->plane[first] >= 0) continue;
    unit_corners(f, first, x);
    tgi_facet_normal(x, n);
    f->plane[first] = f->order[0] = first;
    for (int i = 0, listed = 1; i < listed; i++)
      for (int k = 0; k < 3; k++) {
        const int *e = f->edge + 4 * f->side[3 * f->order[i] + k];
        int next = e[2] == f->order[i] ? e[3] : e[2];
        if (next < 0 || f->plane[next] >= 0 || !in_plane(f, next, n, x, tol)) continue;
        f->plane[next] = first;
        f->order[listed++] = next;
      }
  }
}

// Faces bend outwards where the one is below the other; the border of an open mesh counts as bent.
static void make_ridges(tgiFacets *f) {
  for (int e = 0; e < f->nedge; e++) {
    const int *at = f->edge + 4 * e;
    double x[9], y[9], n[3], m[3], u[3], c[3];
    f->ridge[e] = at[3] < 0;
    if (at[3] < 0 || f->plane[at[2]] == f->plane[at[3]]) continue;
    unit_corners(f, at[2], x);
    unit_corners(f, at[3], y);
    tgi_facet_normal(x, n);
    tgi_facet_normal(y, m);
    tgi_d3_sub(u, f->vert + 3 * at[1], f->vert + 3 * at[0]);
    tgi_d3_cross(c, n, m);
    f->ridge[e] = tgi_d3_dot(c, u) > 0;
  }
}

static void make_ends(tgiFacets *f) {
  memset(f->vert_adr, 0, ((size_t)f->nvert + 1) * sizeof *f->vert_adr);
  for (int k = 0; k < 2 * f->nedge; k++) f->vert_adr[f->edge[4 * (k / 2) + k % 2] + 1]++;
  for (int v = 0; v < f->nvert; v++) f->vert_adr[v + 1] += f->vert_adr[v];
  for (int k = 2 * f->nedge - 1; k >= 0; k--) f->vert_edge[--f->vert_adr[f->edge[4 * (k / 2) + k % 2] + 1]] = k / 2;
  // each start has come down to that of its own vertex
  for (int v = 0; v < f->nvert; v++) f->vert_adr[v] = f->vert_adr[v + 1];
  f->vert_adr[f->nvert] = 2 * f->nedge;
}

// ---- the tree ----

typedef struct Keyed { double key; int face; } Keyed;

static int by_key(const void *x, const void *y) {
  const Keyed *a = x, *b = y;
  return a->key != b->key ? (a->key < b->key ? -1 : 1) : a->face - b->face;
}

// the tree over order[from .. to - 1] from node at; the next free node
static int make_tree(tgiFacets *f, Keyed *key, int from, int to, int at) {
  tgiFacetNode *node = f->node + at;
  double low[3] = {INFINITY, INFINITY, INFINITY}, high[3] = {-INFINITY, -INFINITY, -INFINITY};
  for (int i = 3 * from; i < 3 * to; i++)
    for (int c = 0; c < 3; c++) {
      double x = f->vert[3 * f->face[3 * f->order[i / 3] + i % 3] + c];
      low[c] = fmin(low[c], x);
      high[c] = fmax(high[c], x);
    }
  int axis = 0;
  for (int c = 0; c < 3; c++) {
    node->mid[c] = 0.5 * (low[c] + high[c]);
    node->half[c] = 0.5 * (high[c] - low[c]);
    if (node->half[c] > node->half[axis]) axis = c;
  }
  node->face = to - from == 1 ? f->order[from] : -1;
  node->second = 0;
  if (node->face >= 0) return at + 1;
  for (int i = from; i < to; i++) {
    const int *v = f->face + 3 * f->order[i];
    key[i] = (Keyed){f->vert[3 * v[0] + axis] + f->vert[3 * v[1] + axis] + f->vert[3 * v[2] + axis], f->order[i]};
  }
  qsort(key + from, (size_t)(to - from), sizeof *key, by_key);
  for (int i = from; i < to; i++) f->order[i] = key[i].face;
  int middle = from + (to - from) / 2, second = make_tree(f, key, from, middle, at + 1);
  f->node[at].second = second;
  return make_tree(f, key, middle, to, second);
}

// ---- making ----

// the arrays in one block, for the counts that are there
static void place_arrays(tgiFacets *f, tgLayout *l, int edges) {
  size_t nvert = (size_t)f->nvert, nface = (size_t)f->nface, nedge = (size_t)edges;
  f->vert = tgi_place(l, 3 * nvert, sizeof *f->vert);
  f->node = tgi_place(l, 2 * nface, sizeof *f->node);
  f->face = tgi_place(l, 3 * nface, sizeof *f->face);
  f->side = tgi_place(l, 3 * nface, sizeof *f->side);
  f->plane = tgi_place(l, nface, sizeof *f->plane);
  f->order = tgi_place(l, nface, sizeof *f->order);
  f->edge = tgi_place(l, 4 * nedge, sizeof *f->edge);
  f->ridge = tgi_place(l, nedge, sizeof *f->ridge);
  f->vert_adr = tgi_place(l, nvert + 1, sizeof *f->vert_adr);
  f->vert_edge = tgi_place(l, 2 * nedge, sizeof *f->vert_edge);
}

// edges: room for so many. NULL: no memory.
static tgiFacets *take(tgiFacets counts, int edges, const tgAllocator *alloc) {
  tgLayout l = {0};
  tgiFacets *f = tgi_place(&l, 1, sizeof *f);
  place_arrays(&counts, &l, edges);
  l = (tgLayout){.base = alloc->alloc(alloc->ctx, l.used + 64)};
  if (l.base == NULL) return NULL;
  f = tgi_place(&l, 1, sizeof *f);
  *f = counts;
  place_arrays(f, &l, edges);
  return f;
}

static void grow_tree(tgiFacets *f, Keyed *key) {
  for (int i = 0; i < f->nface; i++) f->order[i] = i;
  make_tree(f, key, 0, f->nface, 0);
}

// of a closed or open surface, whose vertices are sizes times their coefficients
static tgStatus of_surface(const tgiSurface *s, const tgAllocator *alloc, tgiFacets **out) {
  tgiFacets *f = take((tgiFacets){.nvert = s->nvert, .nface = s->nface}, 3 * s->nface, alloc);
  Keyed *key = alloc->alloc(alloc->ctx, tgi_size_mul((size_t)s->nface + 1, sizeof *key));
  double size = 0;
  *out = f;
  if (f != NULL && key != NULL) {
    for (int i = 0; i < 3 * s->nvert; i++) {
      f->vert[i] = s->coef[9 * (i / 3) + 4 * (i % 3)];
      size = fmax(size, fabs(f->vert[i]));
    }
    memcpy(f->face, s->face, 3 * (size_t)s->nface * sizeof *f->face);
    if (!make_edges(f, alloc)) f->nedge = 0;
    if (f->nedge > 0) {
      make_planes(f, flat * size);
      make_ridges(f);
      make_ends(f);
      grow_tree(f, key);
    }
  }
  bool made = f != NULL && key != NULL && f->nedge > 0;
  alloc->free(alloc->ctx, key);
  return made ? TG_OK : TG_ERR_MEMORY;
}

// the core of a ball, or of a capsule, whose ends are at half lengths along z; a centre
static tgStatus of_core(tgGeomType type, const tgAllocator *alloc, tgiFacets **out) {
  static const double end[6] = {0, 0, -1, 0, 0, 1};
  Keyed key[1];
  bool capsule = type == TG_GEOM_CAPSULE, curved = type == TG_GEOM_CYLINDER || type == TG_GEOM_ELLIPSOID;
  tgiFacets *f = *out = take((tgiFacets){.nvert = capsule ? 2 : 1, .nface = 1, .round = true, .curved = curved}, 1, alloc);
  if (f == NULL) return TG_ERR_MEMORY;
  for (int i = 0; i < 3 * f->nvert; i++) f->vert[i] = capsule ? end[i] : 0;
  for (int k = 0; k < 3; k++) {
    f->face[k] = capsule && k > 0;
    f->side[k] = 0;
  }
  f->plane[0] = 0;
  f->nedge = capsule;
  for (int k = 0; k < 4; k++) f->edge[k] = k == 1 ? 1 : k == 0 ? 0 : -1;
  f->ridge[0] = true;
  make_ends(f);
  grow_tree(f, key);
  return TG_OK;
}

// of a cylinder or an ellipsoid there are no more features that touch
static double numbers_of(const tgiFacets *f, bool with_faces) {
  return f->curved ? TGI_CURVED_FEATURES : tgi_facet_numbers(f) + (with_faces ? f->nface : 0);
}

// pairs of their vertices, edges and faces have a number each
static tgStatus check_numbers(const tgModel *m, const tgiFacetTable *t, int a, int b, tgError *error) {
  char one[128], two[128];
  bool curved = t->of[a]->curved || t->of[b]->curved;
  if (numbers_of(t->of[a], curved) * numbers_of(t->of[b], curved) < (double)TGI_FEATURES) return TG_OK;
  return tgi_error(error, TG_ERR_UNSUPPORTED,
                   "%s and %s have %d and %d faces, and one of them is not convex: pairs of their features are more than the %d that "
                   "contacts tell apart; reduce a mesh, or cut it into convex pieces (--decompose).",
                   tgi_model_label(m, TG_THING_GEOM, a, one, sizeof one), tgi_model_label(m, TG_THING_GEOM, b, two, sizeof two),
                   t->of[a]->nface, t->of[b]->nface, (int)TGI_FEATURES);
}

static tgStatus of_geom(const tgModel *m, int g, bool concave, const tgAllocator *alloc, tgiFacets **out, tgError *error) {
  tgGeomType type = (tgGeomType)m->geom_type[g];
  char label[128];
  tgStatus status;
  tgi_model_label(m, TG_THING_GEOM, g, label, sizeof label);
  if (type != TG_GEOM_MESH && type != TG_GEOM_BOX) {
    status = of_core(type, alloc, out);
  } else {
    tgiSurface surface;
    bool hull = type == TG_GEOM_MESH && !concave && m->geom_hull[g] >= 0;
    TG_TRY(hull ? tgi_surface_of_hull(m, g, &surface, error) : tgi_surface_of_geom(m, g, TGI_CHORD, &surface, error));
    status = of_surface(&surface, alloc, out);
    tgi_surface_free(&surface);
  }
  return status < 0 ? tgi_error(error, status, "Out of memory for the faces of %s.", label) : TG_OK;
}

static bool same_facets(const tgModel *m, int a, int b) {
  return m->geom_type[a] == m->geom_type[b] && (m->geom_type[a] != TG_GEOM_MESH || m->geom_mesh[a] == m->geom_mesh[b]);
}

static tgStatus add_geom(const tgModel *m, int g, tgiFacetTable *t, tgError *error) {
  if (t->of[g] != NULL) return TG_OK;
  for (int b = 0; b < m->ngeom; b++)
    if (t->of[b] != NULL && same_facets(m, g, b)) {
      t->of[g] = t->of[b];
      return TG_OK;
    }
  return of_geom(m, g, t->concave[g], &t->alloc, &t->of[g], error);
}

// a pair of geoms for which there are or must be facets
static bool touch_by_facets(const tgiFacetTable *t, const tgModel *m, int a, int b) {
  return (t->concave[a] || t->concave[b]) && m->geom_type[a] != TG_GEOM_PLANE && m->geom_type[b] != TG_GEOM_PLANE;
}

bool tgi_facets_two(const tgiFacetTable *t, const tgModel *m, int a, int b) {
  return t != NULL && t->of[a] != NULL && t->of[b] != NULL && touch_by_facets(t, m, a, b);
}

bool tgi_facets_pair(const tgiFacetTable *t, const tgModel *m, int pair) {
  return t != NULL && touch_by_facets(t, m, m->pair_geom1[pair], m->pair_geom2[pair]);
}

tgStatus tgi_facets_make(const tgModel *m, const bool *concave, tgiFacetTable **table, tgError *error) {
  tgAllocator alloc = m->alloc;
  size_t n = (size_t)m->ngeom;
  tgiFacetTable *t = *table = alloc.alloc(alloc.ctx, sizeof *t + tgi_size_mul(n, sizeof *t->of + sizeof *t->concave));
  tgStatus status = TG_OK;
  if (t == NULL) return tgi_error(error, TG_ERR_MEMORY, "Out of memory for the faces of %d geoms.", m->ngeom);
  *t = (tgiFacetTable){.ngeom = m->ngeom, .alloc = alloc, .of = (tgiFacets **)(void *)(t + 1)};
  t->concave = (bool *)(t->of + n);
  for (int g = 0; g < m->ngeom; g++) {
    t->of[g] = NULL;
    t->concave[g] = concave[g];
  }
  for (int p = 0; p < m->npair && status == TG_OK; p++) {
    if (!tgi_facets_pair(t, m, p)) continue;
    t->npair++;
    status = add_geom(m, m->pair_geom1[p], t, error);
    if (status == TG_OK) status = add_geom(m, m->pair_geom2[p], t, error);
    if (status == TG_OK) status = check_numbers(m, t, m->pair_geom1[p], m->pair_geom2[p], error);
  }
  if (status == TG_OK) return TG_OK;
  tgi_facets_free(t);
  *table = NULL;
  return status;
}

void tgi_facets_free(tgiFacetTable *t) {
  if (t == NULL) return;
  for (int g = 0; g < t->ngeom; g++) {
    bool shared = false;
    for (int b = 0; b < g; b++) shared = shared || t->of[b] == t->of[g];
    if (!shared) t->alloc.free(t->alloc.ctx, t->of[g]);
  }
  t->alloc.free(t->alloc.ctx, t);
}

// ---- at a place ----

void tgi_facets_place(tgiFacetBody *b, const tgiFacetTable *t, const tgModel *m, const tgPose *pose, int g) {
  tgGeomType type = (tgGeomType)m->geom_type[g];
  const tgReal *size = tgi_surface_size(m, g);
  *b = (tgiFacetBody){.f = t->of[g], .shape = {.type = type, .size = size}};
  b->shape.pos = pose->geom_xpos + 3 * g;
  b->shape.mat = pose->geom_xmat + 9 * g;
  if (b->f->round && !b->f->curved) b->r = tgRe(size[0]);
  if (b->f->curved) b->reach = sqrt(pow(tgRe(size[0]), 2) + pow(tgRe(size[1]), 2) + (type == TG_GEOM_CYLINDER ? 0 : pow(tgRe(size[2]), 2)));
  for (int i = 0; i < 3; i++) {
    b->size[i] = b->f->round ? (i == 2 && type == TG_GEOM_CAPSULE ? tgRe(size[1]) : 0) : tgRe(size[i]);
    b->p[i] = tgRe(b->shape.pos[i]);
  }
  for (int k = 0; k < 9; k++) b->M[k] = tgRe(b->shape.mat[k]) * b->size[k % 3];
}

static void to_world(const tgiFacetBody *b, const double *v, double x[3]) {
  for (int i = 0; i < 3; i++) x[i] = b->M[3 * i] * v[0] + b->M[3 * i + 1] * v[1] + b->M[3 * i + 2] * v[2] + b->p[i];
}

void tgi_facet_vertex(const tgiFacetBody *b, int vertex, double x[3]) { to_world(b, b->f->vert + 3 * vertex, x); }

void tgi_facet_corners(const tgiFacetBody *b, int face, double x[9]) {
  for (int k = 0; k < 3; k++) tgi_facet_vertex(b, b->f->face[3 * face + k], x + 3 * k);
}
