// prepare.c: what the `barrier` model keeps of a model's geometry, and its workspace in a simulation.
#include <limits.h>
#include <math.h>
#include <string.h>

#include "base/layout.h"
#include "contact/barrier/barrier.h"
#include "contact/barrier/halfspace/halfspace.h"
#include "contact/barrier/pair/law.h"
#include "contact/barrier/pair/pair_local.h"
#include "contact/barrier/prepare.h"
#include "tangere/sdrs.h"

static bool is_plane(const tgModel *m, int g) { return m->geom_type[g] == TG_GEOM_PLANE; }

static tgiBarrier *data_of(tgContact *c) { return c->data; }

// pairs of the model between bodies that can move against each other
static bool wanted(const tgModel *m, int p) {
  int a = m->geom_body[m->pair_geom1[p]], b = m->geom_body[m->pair_geom2[p]];
  return m->body_weld[a] != m->body_weld[b] && !(is_plane(m, m->pair_geom1[p]) && is_plane(m, m->pair_geom2[p]));
}

// Terms by their two bodies, hashed, while pairs are added: 1 + term at a place, 0: none. Twice as many places as pairs, or more.
typedef struct TermTable { int *term; size_t mask; } TermTable;

static bool make_table(const tgiBarrier *k, int npair, TermTable *t) {
  size_t n = 2;
  while (n < 2 * (size_t)npair) n *= 2;
  *t = (TermTable){k->alloc.alloc(k->alloc.ctx, tgi_size_mul(n, sizeof *t->term)), n - 1};
  if (t->term != NULL) memset(t->term, 0, n * sizeof *t->term);
  return t->term != NULL;
}

static int term_of(tgiBarrier *k, const TermTable *table, int body1, int body2) {
  size_t at = ((uint64_t)body1 * 0x9E3779B97F4A7C15u + (uint64_t)body2 * 0xC2B2AE3D27D4EB4Fu) >> 20 & table->mask;
  for (; table->term[at] > 0; at = (at + 1) & table->mask) {
    int t = table->term[at] - 1;
    if (k->body[t][0] == body1 && k->body[t][1] == body2) return t;
  }
  k->body[k->nterm][0] = body1;
  k->body[k->nterm][1] = body2;
  table->term[at] = ++k->nterm;
  return k->nterm - 1;
}

static bool is_local(const tgContact *c) { return c->kind == &tgi_sdrs_model; }

// the options of `barrier`, which those of `sdrs` are a few of
static tgBarrierOptions options_of(const tgContact *c) {
  tgBarrierOptions o;
  if (!is_local(c)) {
    memcpy(&o, c->options, sizeof o);
    return o;
  }
  tgSdrsOptions own;
  memcpy(&own, c->options, sizeof own);
  o = tg_barrier_default();
  o.long_range = TG_LONG_RANGE_OFF;
  o.local_range = own.local_range;
  o.threads = own.threads;
  return o;
}

static tgiTreeLaw law_of(const tgBarrierOptions *o) {
  bool near_only = o->long_range != TG_LONG_RANGE_BOTH;
  return (tgiTreeLaw){.eps = o->eps, .base = o->hierarchy == TG_HIERARCHY_PAPER ? 12 : 0,
                      .brute = o->hierarchy == TG_HIERARCHY_BRUTE, .local = near_only ? o->local_range : 0};
}

static tgiWorldTree nominal_of(const tgiBarrier *k, int g) {
  return (tgiWorldTree){.surface = k->shapes.surface[g], .tree = k->shapes.tree[g], .nominal = k->nominal[g]};
}

static void add_pair(const tgContact *c, tgiBarrier *k, const TermTable *terms, int p) {
  const tgModel *m = c->model;
  int a = m->pair_geom1[p], b = m->pair_geom2[p], body1 = m->body_weld[m->geom_body[a]], body2 = m->body_weld[m->geom_body[b]];
  bool swap = is_plane(m, a) || (!is_plane(m, b) && k->nominal[b][0] < k->nominal[a][0]);
  k->geom1[k->npair] = swap ? b : a;
  k->geom2[k->npair] = swap ? a : b;
  tgiGeomPair *g = &k->pair[k->npair++];
  *g = (tgiGeomPair){.A = swap ? b : a, .B = swap ? a : b, .pair = p, .plane = is_plane(m, a) || is_plane(m, b),
                     .law = law_of(&k->options)};
  k->npoint = k->npoint < INT_MAX - k->npatch[g->A] ? k->npoint + k->npatch[g->A] : INT_MAX;
  bool turned = body1 > body2;
  g->term = term_of(k, terms, turned ? body2 : body1, turned ? body1 : body2);
  g->swapped = swap != turned;
  int depth = k->shapes.tree[g->A]->depth + (g->plane ? 0 : k->shapes.tree[g->B]->depth);
  if (depth > k->depth) k->depth = depth;
  int faces = k->shapes.surface[g->A]->nface;
  if (g->plane) {
    k->before_plane[g->A] = true;
    if (faces > k->faces) k->faces = faces;
  }
  if (g->plane || is_local(c) || k->options.hierarchy != TG_HIERARCHY_MOMENT) return;
  tgiWorldTree A = nominal_of(k, g->A), B = nominal_of(k, g->B);
  g->law.one_sided[0] = tgi_one_sided(&A, &B);
  g->law.one_sided[1] = tgi_one_sided(&B, &A);
}

// radii at the sizes of the model; geoms share them with their trees' first geom when the sizes are the same
static tgStatus nominal_radii(const tgContact *c, tgiBarrier *k, int g, tgError *error) {
  const tgiSurface *surface = k->shapes.surface[g];
  const tgiTree *tree = k->shapes.tree[g];
  size_t n = (size_t)tree->nnode;
  tgReal *memory = k->alloc.alloc(k->alloc.ctx, tgi_size_mul(tgi_tree_reals(surface, tree), sizeof *memory));
  k->nominal[g] = k->alloc.alloc(k->alloc.ctx, n * sizeof(double));
  k->patch[g] = k->alloc.alloc(k->alloc.ctx, n * sizeof(int));
  bool room = memory != NULL && k->nominal[g] != NULL && k->patch[g] != NULL;
  if (room) {
    tgiTreeNumbers numbers = tgi_tree_place(surface, tree, memory);
    tgi_tree_numbers(surface, tree, k->form, TGI_CLIMB_DEFAULT, tgi_surface_size(c->model, g), &numbers);
    for (size_t i = 0; i < n; i++) k->nominal[g][i] = tgRe(numbers.radius[i]);
    k->npatch[g] = tgi_force_patches(tree, k->nominal[g], TGI_FRICTION_PATCH * k->nominal[g][0], k->patch[g]);
    if (k->npatch[g] > k->most_patches) k->most_patches = k->npatch[g];
  }
  k->alloc.free(k->alloc.ctx, memory);
  return room ? TG_OK : tgi_error(error, TG_ERR_MEMORY, "Out of memory for the trees of %d geoms.", c->model->ngeom);
}

static tgStatus make_arrays(tgContact *c, tgiBarrier *k, tgError *error) {
  size_t ngeom = (size_t)c->model->ngeom + 1, npair = (size_t)c->model->npair + 1;
  k->nominal = k->alloc.alloc(k->alloc.ctx, tgi_size_mul(ngeom, sizeof *k->nominal));
  k->patch = k->alloc.alloc(k->alloc.ctx, tgi_size_mul(ngeom, sizeof *k->patch));
  k->npatch = k->alloc.alloc(k->alloc.ctx, tgi_size_mul(ngeom, sizeof *k->npatch));
  k->before_plane = k->alloc.alloc(k->alloc.ctx, ngeom * sizeof *k->before_plane);
  k->pair = k->alloc.alloc(k->alloc.ctx, tgi_size_mul(npair, sizeof *k->pair));
  k->body = k->alloc.alloc(k->alloc.ctx, tgi_size_mul(npair, sizeof *k->body));
  k->geom1 = k->alloc.alloc(k->alloc.ctx, tgi_size_mul(npair, 2 * sizeof *k->geom1));
  if (k->nominal != NULL) memset(k->nominal, 0, ngeom * sizeof *k->nominal);
  if (k->patch != NULL) memset(k->patch, 0, ngeom * sizeof *k->patch);
  if (k->nominal == NULL || k->patch == NULL || k->npatch == NULL || k->before_plane == NULL || k->pair == NULL ||
      k->body == NULL || k->geom1 == NULL)
    return tgi_error(error, TG_ERR_MEMORY, "Out of memory for %d pairs of geoms.", c->model->npair);
  memset(k->before_plane, 0, ngeom * sizeof *k->before_plane);
  k->geom2 = k->geom1 + npair;
  return TG_OK;
}

// what parameters.c takes for the two geoms of a pair
static size_t pair_scratch(const tgiBarrier *k, const tgiGeomPair *g) {
  size_t reals = 0;
  for (int side = 0; side < 2; side++) {
    int geom = side == 0 ? g->A : g->B;
    const tgiSurface *surface = k->shapes.surface[geom];
    const tgiTree *tree = k->shapes.tree[geom];
    if (tree != NULL) reals += 2 * tgi_tree_reals(surface, tree) + 3 * tgi_world_tree_reals(surface, tree) + 64;
  }
  return reals * sizeof(tgReal);
}

static size_t scratch(const tgModel *m, const tgiBarrier *k) {
  size_t most = 0;
  for (int i = 0; i < k->npair; i++) {
    size_t n = pair_scratch(k, &k->pair[i]);
    if (n > most) most = n;
  }
  return most + (12 * ((size_t)m->ngeom + (size_t)m->nbody) + 64) * sizeof(tgReal);
}

// surfaces may lie deep enough in their geoms for gaps to be seen as much wider as the options say
static tgStatus sink(const tgContact *c, tgiBarrier *k, tgError *error) {
  const tgModel *m = c->model;
  int thinnest = -1;
  double widen = tg_contact_get(c->options, "widen");
  k->sunk = widen / 2;
  k->most_sunk = INFINITY;
  if (!(k->sunk > 0)) return TG_OK;
  for (int g = 0; g < m->ngeom; g++) {
    double most = k->shapes.surface[g] != NULL ? tgi_shape_half_width(m, &k->shapes, g) / 2 : INFINITY;
    if (!(most < k->most_sunk)) continue;
    k->most_sunk = most;
    thinnest = g;
  }
  if (k->sunk < k->most_sunk) return tgi_shapes_inwards(m, &k->shapes, error);
  char label[160];
  return tgi_error(error, TG_ERR_ARG, "Contact option widen is %g, and %s is %.3g m thin; give less than half of that.", widen,
                   tgi_model_label(m, TG_THING_GEOM, thinnest, label, sizeof label), 4 * k->most_sunk);
}

static tgStatus fill(tgContact *c, tgiBarrier *k, tgError *error) {
  const tgModel *m = c->model;
  TG_TRY(tgi_shapes_make(m, TGI_CHORD, &k->shapes, error));
  TG_TRY(sink(c, k, error));
  TG_TRY(make_arrays(c, k, error));
  TG_TRY(tgi_lagged_supports(m, error));
  for (int g = 0; g < m->ngeom; g++)
    if (k->shapes.tree[g] != NULL) TG_TRY(nominal_radii(c, k, g, error));
  TermTable terms;
  if (!make_table(k, m->npair, &terms)) return tgi_error(error, TG_ERR_MEMORY, "Out of memory for %d pairs of geoms.", m->npair);
  for (int p = 0; p < m->npair; p++)
    if (wanted(m, p)) add_pair(c, k, &terms, p);
  k->alloc.free(k->alloc.ctx, terms.term);
  c->scratch = scratch(m, k);
  if (k->options.threads < 2) return TG_OK;
  k->pool = tgi_pool_create(k->options.threads, &k->alloc);
  return k->pool != NULL ? TG_OK : tgi_error(error, TG_ERR_MEMORY, "Out of memory for %d threads.", k->options.threads);
}

// force between a plane and a surface of weight 1 flat before it at the gap z, over the model's weight
static double force_at(const tgContact *c, double z) {
  tgBarrierOptions o = options_of(c);
  double local = law_of(&o).local;
  tgReal f[3];
  if (local > 0) tgi_local_barrier(z, local, f);
  else tgi_law_height(1, 0, z, f);
  return -tgRe(f[1]);
}

double tgi_barrier_resting_gap(const tgContact *c) {
  enum { HALVINGS = 200 };
  const tgModel *m = c->model;
  const tgiBarrier *k = c->data;
  double mass = INFINITY, half = INFINITY, low = 0, high = 1;
  for (int i = 0; i < k->npair; i++)
    for (int side = 0; side < 2; side++) {
      int g = side == 0 ? k->pair[i].A : k->pair[i].B;
      mass = fmin(mass, tgi_tree_mass(m, m->geom_body[g]));
      if (k->shapes.surface[g] != NULL) half = fmin(half, tgi_shape_half_width(m, &k->shapes, g));
    }
  if (!(mass > 0 && mass < INFINITY)) return 0;
  for (int i = 0; i < HALVINGS; i++) {
    double z = (low + high) / 2;
    bool carried = tg_contact_get(c->options, "weight") * force_at(c, z) > mass * TG_STANDARD_GRAVITY;
    if (carried) low = z;
    else high = z;
  }
  return fmin(low, half / 2);
}

// where terms of clusters and of triangles are blended over too short a way, the force has minima [math/barrier Hierarchy]
static void warn_of_blend(tgContact *c, const tgBarrierOptions *o) {
  const double least = 0.4;
  bool blends = o->hierarchy != TG_HIERARCHY_BRUTE && law_of(o).local == 0;
  if (blends && o->eps < least)
    tgi_contact_warn(c, "Contact option eps is %g: below %g the force has minima in distance, in which bodies can be "
                        "caught.", o->eps, least);
}

tgStatus tgi_barrier_prepare(tgContact *c, tgError *error) {
  tgiBarrier *k = c->alloc.alloc(c->alloc.ctx, sizeof *k);
  if (k == NULL) return tgi_error(error, TG_ERR_MEMORY, "Out of memory for the contact model.");
  *k = (tgiBarrier){.alloc = c->alloc, .options = options_of(c)};
  k->form = k->options.hierarchy == TG_HIERARCHY_PAPER ? TGI_TREE_PAPER : TGI_TREE_MOMENT;
  c->data = k;
  warn_of_blend(c, &k->options);
  return fill(c, k, error);
}

void tgi_barrier_release(tgContact *c) {
  tgiBarrier *k = data_of(c);
  if (k == NULL) return;
  tgAllocator a = k->alloc;
  tgi_pool_free(k->pool);
  for (int g = 0; k->nominal != NULL && g < c->model->ngeom; g++) a.free(a.ctx, k->nominal[g]);
  for (int g = 0; k->patch != NULL && g < c->model->ngeom; g++) a.free(a.ctx, k->patch[g]);
  a.free(a.ctx, k->nominal);
  a.free(a.ctx, k->patch);
  a.free(a.ctx, k->npatch);
  a.free(a.ctx, k->before_plane);
  a.free(a.ctx, k->pair);
  a.free(a.ctx, k->body);
  a.free(a.ctx, k->geom1);
  tgi_shapes_free(&k->shapes);
  a.free(a.ctx, k);
  c->data = NULL;
}

enum { FIRST_TERMS = 2048 };   // for which there is room at first

int tgi_barrier_terms(const tgContact *c) {
  int n = ((const tgiBarrier *)c->data)->nterm;
  return n < FIRST_TERMS ? n : FIRST_TERMS;
}

// ---- workspace ----

// numbers of a tree that stand beside those of another, whose vertices and areas they share
static void place_plane(tgLayout *l, const tgiTree *t, tgiTreeNumbers *n) {
  size_t k = (size_t)t->nnode;
  n->centre = tgi_place(l, 3 * k, sizeof *n->centre);
  n->radius = tgi_place(l, k, sizeof *n->radius);
  n->weight = tgi_place(l, k, sizeof *n->weight);
  n->moment = tgi_place(l, k, sizeof *n->moment);
}

static void place_geom(tgLayout *l, const tgiBarrier *k, int g, tgiBarrierGeom *geom) {
  const tgiSurface *surface = k->shapes.surface[g];
  const tgiTree *tree = k->shapes.tree[g];
  if (tree == NULL) return;
  tgReal *numbers = tgi_place(l, tgi_tree_reals(surface, tree), sizeof *numbers);
  tgReal *world = tgi_place(l, tgi_world_tree_reals(surface, tree), sizeof *world);
  if (geom != NULL) {
    geom->numbers = tgi_tree_place(surface, tree, numbers);
    tgi_world_tree_place(surface, tree, world, &geom->world);
    geom->world.nominal = k->nominal[g];
  }
  if (!k->before_plane[g]) return;
  tgiTreeNumbers plane;
  place_plane(l, tree, &plane);
  world = tgi_place(l, tgi_world_tree_reals(surface, tree), sizeof *world);
  if (geom != NULL) {
    geom->plane_numbers = plane;
    tgi_world_tree_place(surface, tree, world, &geom->plane);
    geom->plane.nominal = k->nominal[g];
  }
}

static tgiBarrierSums place_sums(tgLayout *l, const tgiBarrier *k, size_t ngeom) {
  tgiBarrierSums s = {.current = false};
  s.pair = tgi_place(l, (size_t)k->npair, sizeof *s.pair);
  s.frame = tgi_place(l, 12 * ngeom, sizeof *s.frame);
  return s;
}

static void place(const tgContact *c, const tgCapacity *z, tgLayout *l, tgiBarrierWork **work) {
  const tgiBarrier *k = c->data;
  size_t ngeom = (size_t)c->model->ngeom, nthread = (size_t)k->options.threads;
  tgiBarrierWork *w = tgi_place(l, 1, sizeof *w);
  tgiBarrierGeom *geom = tgi_place(l, ngeom, sizeof *geom);
  tgiBarrierSums sums = place_sums(l, k, ngeom), start = place_sums(l, k, ngeom);
  tgiTreeWork **tree = tgi_place(l, nthread, sizeof(tgiTreeWork *));
  tgiHeightWork **height = tgi_place(l, nthread, sizeof(tgiHeightWork *));
  for (int g = 0; g < c->model->ngeom; g++) place_geom(l, k, g, geom != NULL ? geom + g : NULL);
  tgiSolid *solid = tgi_place(l, ngeom, sizeof *solid);
  double *bound = tgi_place(l, (size_t)k->npair, sizeof *bound), *apart = tgi_place(l, (size_t)k->npair, sizeof *apart);
  tgReal *q = tgi_place(l, (size_t)c->model->nq, sizeof *q);
  int *slot = tgi_place(l, (size_t)k->nterm, sizeof *slot);
  for (size_t t = 0; t < nthread; t++) {
    void *memory = tgi_place(l, tgi_tree_work_bytes(k->depth), 1);
    if (memory != NULL) tree[t] = tgi_tree_work_place(memory, k->depth);
    memory = tgi_place(l, tgi_height_work_bytes(k->faces), 1);
    if (memory != NULL) height[t] = tgi_height_work_place(memory, k->faces);
  }
  tgiLagged lagged;
  tgi_lagged_place(l, c, z, &lagged);
  *work = w;
  if (w == NULL) return;
  for (size_t g = 0; g < ngeom; g++)
    solid[g] = (tgiSolid){.surface = k->shapes.surface[g], .tree = k->shapes.tree[g], .number = &geom[g].numbers};
  *w = (tgiBarrierWork){.home = l->base, .nthread = (int)nthread, .sunk = k->sunk, .geom = geom, .sums = sums,
                        .start = start, .tree = tree, .height = height, .solid = solid, .apart = apart,
                        .slot = slot, .lagged = lagged};
  w->advance = (tgiAdvance){.npair = k->npair, .geom1 = k->geom1, .geom2 = k->geom2, .solid = solid, .sunk = k->sunk,
                            .bound = bound, .q = q};
}

size_t tgi_barrier_bytes(const tgContact *c, const tgCapacity *z) {
  tgLayout l = {.base = NULL};
  tgiBarrierWork *w;
  place(c, z, &l, &w);
  return l.used;
}

tgiBarrierWork *tgi_barrier_work(tgSim *s) {
  tgiBarrierWork *w = s->solver;
  if (w->home == s->solver) return w;
  tgLayout l = {.base = s->solver};
  place(s->contact_model, &s->cap, &l, &w);
  for (int g = 0; g < s->m.ngeom; g++) w->geom[g].made = false;
  return w;
}
