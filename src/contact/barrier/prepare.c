// prepare.c: what the `barrier` model keeps of a model's geometry, and its workspace in a simulation.
#include <limits.h>
#include <math.h>
#include <string.h>

#include "base/layout.h"
#include "coll/broad.h"
#include "contact/barrier/barrier.h"
#include "contact/barrier/halfspace/halfspace.h"
#include "contact/barrier/pair/law.h"
#include "contact/barrier/prepare.h"
#include "contact/barrier/resting.h"
#include "contact/barrier/tree/distance_sites.h"
#include "contact/barrier/tree/local_sum.h"

static tgiBarrier *data_of(tgContact *c) { return c->data; }

static bool is_ipc(const tgContact *c) { return c->kind == &tgi_ipc_model; }

// the options of `barrier`, which those of `sdrs` and `ipc` are a few of
static tgBarrierOptions options_of(const tgContact *c) {
  tgBarrierOptions o = tg_barrier_default();
  if (c->kind == &tgi_barrier_model) {
    memcpy(&o, c->options, sizeof o);
    return o;
  }
  o.geom_form = TG_GEOM_FORM_MESH;   // the publications'
  o.rounding = 0;
  o.long_range = is_ipc(c) && (int)tg_contact_get(c->options, "long_range") == TG_LONG_RANGE_BOTH ? TG_LONG_RANGE_BOTH : TG_LONG_RANGE_OFF;
  if (is_ipc(c)) o.hierarchy = TG_HIERARCHY_PAPER;   // weights 1
  o.local_range = tg_contact_get(c->options, "local_range");
  o.threads = (int)tg_contact_get(c->options, "threads");
  return o;
}

static tgiTreeLaw law_of(const tgContact *c, const tgBarrierOptions *o) {
  bool near_only = o->long_range != TG_LONG_RANGE_BOTH;
  if (is_ipc(c)) return (tgiTreeLaw){.local = o->local_range, .distances = true, .everywhere = !near_only};
  return (tgiTreeLaw){.eps = o->eps, .base = o->hierarchy == TG_HIERARCHY_PAPER ? 12 : 0, .more = o->far_strength - 1,
                      .brute = o->hierarchy == TG_HIERARCHY_BRUTE, .local = near_only ? o->local_range : 0};
}

// what parameters.c takes for the two geoms of a pair
static size_t pair_scratch(const tgiBarrier *k, const tgiGeomPair *g) {
  size_t reals = 0;
  for (int side = 0; side < 2; side++) {
    int geom = side == 0 ? g->A : g->B;
    const tgiSurface *surface = k->shapes.surface[geom];
    const tgiTree *tree = k->shapes.tree[geom];
    if (tree != NULL) reals += 4 * tgi_tree_reals(surface, tree) + 4 * tgi_world_tree_reals(surface, tree) + 128;   // sizes, and rounding
  }
  return reals * sizeof(tgReal);
}

// what the pair makes the model keep, and a simulation have room for
static void note_pair(tgiBarrier *k, const tgiGeomPair *g, size_t *scratch) {
  const tgiTree *A = k->shapes.tree[g->A], *B = g->plane ? NULL : k->shapes.tree[g->B];
  size_t most = pair_scratch(k, g);
  if (most > *scratch) *scratch = most;
  k->npair++;
  k->paired[g->A] = k->paired[g->B] = true;
  k->npoint = k->npoint < INT_MAX - k->npatch[g->A] ? k->npoint + k->npatch[g->A] : INT_MAX;
  int depth = A->depth + (B != NULL ? B->depth : 0), faces = k->shapes.surface[g->A]->nface;
  if (depth > k->depth) k->depth = depth;
  if (!g->plane) return;
  k->before_plane[g->A] = true;
  if (faces > k->faces) k->faces = faces;
}

// radii at the sizes of the model; geoms share them with their trees' first geom when the sizes are the same
static tgStatus nominal_radii(const tgContact *c, tgiBarrier *k, int g, tgError *error) {
  const tgiSurface *surface = k->shapes.surface[g];
  const tgiTree *tree = k->shapes.tree[g];
  size_t n = (size_t)tree->nnode;
  tgReal *memory = k->alloc.alloc(k->alloc.ctx, tgi_size_mul(tgi_tree_reals(surface, tree), sizeof *memory));
  k->nominal[g] = k->alloc.alloc(k->alloc.ctx, n * sizeof(double));
  k->patch[g] = k->alloc.alloc(k->alloc.ctx, n * sizeof(int));
  bool room = memory != NULL && k->nominal[g] != NULL && k->patch[g] != NULL, finite = true;
  if (room) {
    tgiTreeNumbers numbers = tgi_tree_place(surface, tree, memory);
    tgi_tree_numbers_at(surface, tree, k->form, TGI_CLIMB_DEFAULT, tgi_surface_size(c->model, g), 0, k->options.rounding, &numbers);
    for (size_t i = 0; i < n; i++) {
      k->nominal[g][i] = tgRe(numbers.radius[i]);
      finite = finite && isfinite(k->nominal[g][i]);
    }
    if (finite) k->npatch[g] = tgi_force_patches(surface, tree, k->nominal[g], TGI_FRICTION_PATCH * k->nominal[g][0], k->patch[g]);
    if (k->npatch[g] > k->most_patches) k->most_patches = k->npatch[g];
  }
  k->alloc.free(k->alloc.ctx, memory);
  char label[160];
  if (room && !finite)
    return tgi_error(error, TG_ERR_INVALID, "%s is of a size whose triangles have no areas in numbers of 64 bits.",
                     tgi_model_label(c->model, TG_THING_GEOM, g, label, sizeof label));
  return room ? TG_OK : tgi_error(error, TG_ERR_MEMORY, "Out of memory for the trees of %d geoms.", c->model->ngeom);
}

// the bits of a geom's faces, where distances are summed
static tgStatus make_owners(tgiBarrier *k, int g, tgError *error) {
  const tgiSurface *surface = k->shapes.surface[g];
  if (!k->law.distances) return TG_OK;
  k->owned[g] = k->alloc.alloc(k->alloc.ctx, (size_t)surface->nface + 1);
  if (k->owned[g] != NULL && tgi_distance_owners(surface, &k->alloc, k->owned[g]) == TG_OK) return TG_OK;
  return tgi_error(error, TG_ERR_MEMORY, "Out of memory for the edges of %d faces.", surface->nface);
}

static tgStatus make_arrays(tgContact *c, tgiBarrier *k, tgError *error) {
  size_t ngeom = (size_t)c->model->ngeom + 1;
  k->nominal = k->alloc.alloc(k->alloc.ctx, tgi_size_mul(ngeom, sizeof *k->nominal));
  k->patch = k->alloc.alloc(k->alloc.ctx, tgi_size_mul(ngeom, sizeof *k->patch));
  k->owned = k->alloc.alloc(k->alloc.ctx, tgi_size_mul(ngeom, sizeof *k->owned));
  k->npatch = k->alloc.alloc(k->alloc.ctx, tgi_size_mul(ngeom, sizeof *k->npatch));
  k->before_plane = k->alloc.alloc(k->alloc.ctx, tgi_size_mul(ngeom, 2 * sizeof *k->before_plane));
  if (k->nominal != NULL) memset(k->nominal, 0, ngeom * sizeof *k->nominal);
  if (k->patch != NULL) memset(k->patch, 0, ngeom * sizeof *k->patch);
  if (k->owned != NULL) memset(k->owned, 0, ngeom * sizeof *k->owned);
  if (k->nominal == NULL || k->patch == NULL || k->owned == NULL || k->npatch == NULL || k->before_plane == NULL)
    return tgi_error(error, TG_ERR_MEMORY, "Out of memory for %d geoms.", c->model->ngeom);
  memset(k->before_plane, 0, 2 * ngeom * sizeof *k->before_plane);
  k->paired = k->before_plane + ngeom;
  return TG_OK;
}

// Pairs of a potential that is 0 from a distance on are found where they are near, and else listed here.
static bool lists_pairs(const tgModel *m, const tgiBarrier *k) { return !(k->law.local > 0) || k->law.everywhere || !tgi_broad_pays(m); }

static tgStatus list_pairs(tgContact *c, tgiBarrier *k, size_t *scratch, tgError *error) {
  const tgModel *m = c->model;
  bool list = lists_pairs(m, k);
  size_t room = list ? (size_t)m->npair + 1 : 0;
  if (list) {
    k->pair = k->alloc.alloc(k->alloc.ctx, tgi_size_mul(room, sizeof *k->pair));
    k->geom1 = k->alloc.alloc(k->alloc.ctx, tgi_size_mul(room, 2 * sizeof *k->geom1));
    if (k->pair == NULL || k->geom1 == NULL) return tgi_error(error, TG_ERR_MEMORY, "Out of memory for %d pairs of geoms.", m->npair);
    k->geom2 = k->geom1 + room;
  }
  for (int p = 0; p < m->npair; p++) {
    tgiGeomPair g;
    if (!tgi_near_pair(k, m, p, &g)) continue;
    if (list) {
      k->pair[k->npair] = g;
      k->geom1[k->npair] = g.A;
      k->geom2[k->npair] = g.B;
    }
    note_pair(k, &g, scratch);
  }
  return TG_OK;
}

// ---- weights from a resting gap ----

// force between a plane and a surface of weight 1 flat before it at the gap z, over the model's weight
static double force_at(const tgContact *c, double z) {
  tgBarrierOptions o = options_of(c);
  const tgiTreeLaw law = law_of(c, &o);
  tgReal f[3];
  if (law.local > 0) tgi_local_height(z, &law, f);
  else tgi_law_height(1, 0, law.more, z, f);
  return -tgRe(f[1]);
}

// to[b]: of a body and what is fixed to it the largest geom's diameter, that of its tree's root; 0 of what does not move
static void body_sizes(const tgModel *m, const tgiBarrier *k, double *to) {
  for (int b = 0; b < m->nbody; b++) to[b] = 0;
  for (int g = 0; g < m->ngeom; g++) {
    double *of = &to[m->body_weld[m->geom_body[g]]];
    if (k->paired[g] && k->nominal[g] != NULL) *of = fmax(*of, 2 * k->nominal[g][0]);
  }
  to[0] = 0;
}

// pairs of the same surfaces at the same gap; balls of every size share one
static bool same_force(const tgiBarrier *k, const tgModel *m, const tgiGeomPair *a, const tgiGeomPair *b) {
  const tgiShapes *s = &k->shapes;
  bool ball = m->geom_type[a->A] == TG_GEOM_SPHERE || (!a->plane && m->geom_type[a->B] == TG_GEOM_SPHERE);
  return !ball && a->plane == b->plane && s->surface[a->A] == s->surface[b->A] && (a->plane || s->surface[a->B] == s->surface[b->B]);
}

enum { KNOWN = 64 };
typedef struct Weighing {
  double *times, *size;        // of pairs; of bodies
  tgiGeomPair of[KNOWN];       // pairs whose forces are known
  double known[KNOWN], gap[KNOWN];
  int n;
} Weighing;

// the pair's force of weight 1 at its gap; TG_ERR_MEMORY
static tgStatus force_of(const tgContact *c, const tgiBarrier *k, const tgiGeomPair *g, double gap, Weighing *w, double *force) {
  const tgModel *m = c->model;
  for (int i = 0; i < w->n; i++)
    if (w->gap[i] == gap && same_force(k, m, g, &w->of[i])) {
      *force = w->known[i];
      return TG_OK;
    }
  TG_TRY(tgi_resting_force(m, k, g, gap, force));
  if (!(*force > 0)) *force = force_at(c, gap);
  if (w->n == KNOWN) return TG_OK;
  w->of[w->n] = *g;
  w->gap[w->n] = gap;
  w->known[w->n++] = *force;
  return TG_OK;
}

static tgStatus beyond_reach(const tgModel *m, const tgiBarrier *k, const tgiGeomPair *g, double gap, tgError *error) {
  char a[160], b[160];
  const char *option = k->options.resting_gap > 0 ? "resting_gap" : "resting_share";
  tgi_model_label(m, TG_THING_GEOM, g->A, a, sizeof a);
  tgi_model_label(m, TG_THING_GEOM, g->B, b, sizeof b);
  return tgi_error(error, TG_ERR_ARG, "By contact option %s %s and %s rest %g m apart, and without a long range the potential ends at "
                   "local_range, %g; give less.", option, a, b, gap, k->law.local);
}

// Weight of the lighter tree over the force of its side; where sides have no such pose that of weight 1 counts.
static tgStatus weigh(const tgContact *c, tgiBarrier *k, const tgiGeomPair *g, Weighing *w, double *times, tgError *error) {
  const tgModel *m = c->model;
  int a = m->geom_body[g->A], b = m->geom_body[g->B];
  double mass = fmin(tgi_tree_mass(m, a), tgi_tree_mass(m, b)), gap = k->options.resting_gap, force;
  if (!(gap > 0)) gap = k->options.resting_share * fmax(w->size[m->body_weld[a]], w->size[m->body_weld[b]]);
  if (!(mass > 0 && mass < INFINITY && gap > 0)) return TG_OK;
  if (k->law.local > 0 && gap >= k->law.local) return beyond_reach(m, k, g, gap, error);
  if (force_of(c, k, g, gap, w, &force) < 0) return tgi_error(error, TG_ERR_MEMORY, "Out of memory for the weights of %d pairs.", m->npair);
  *times = mass * TG_STANDARD_GRAVITY / force / tg_barrier_default().weight;
  k->least_gap = fmin(k->least_gap, gap);
  return TG_OK;
}

static tgStatus weigh_pairs(tgContact *c, tgiBarrier *k, tgError *error) {
  const tgModel *m = c->model;
  size_t npair = (size_t)m->npair + 1;
  Weighing w = {.n = 0};
  tgStatus status = TG_OK;
  if (!(k->options.resting_gap > 0 || k->options.resting_share > 0)) return TG_OK;
  if (k->options.resting_gap > 0 && k->options.resting_share > 0)
    return tgi_error(error, TG_ERR_ARG, "Contact options resting_gap, %g, and resting_share, %g, both say how far apart bodies rest; "
                     "give one.", k->options.resting_gap, k->options.resting_share);
  k->times = k->alloc.alloc(k->alloc.ctx, tgi_size_mul(npair, sizeof *k->times));
  w.size = k->alloc.alloc(k->alloc.ctx, tgi_size_mul((size_t)m->nbody, sizeof *w.size));
  if (k->times == NULL || w.size == NULL) status = tgi_error(error, TG_ERR_MEMORY, "Out of memory for the weights of %d pairs.", m->npair);
  else body_sizes(m, k, w.size);
  for (size_t p = 0; status == TG_OK && p < npair; p++) k->times[p] = 1;
  for (int p = 0; status == TG_OK && p < m->npair; p++) {
    tgiGeomPair g;
    if (tgi_near_pair(k, m, p, &g)) status = weigh(c, k, &g, &w, &k->times[p], error);
  }
  k->alloc.free(k->alloc.ctx, w.size);
  for (int i = 0; status == TG_OK && k->pair != NULL && i < k->npair; i++) k->pair[i].times = k->times[k->pair[i].pair];
  return status;
}

// no more terms than pairs of bodies that have a geom
static int most_terms(const tgModel *m, int npair) {
  size_t n = 0;
  for (int b = 0; b < m->nbody; b++) n += m->body_weld[b] == b;
  size_t pairs = n * (n - 1) / 2;
  return pairs < (size_t)npair ? (int)pairs : npair;
}

// of what rounds: its sides stay where they are; else it is thicker by the radius
static bool shrinks(const tgiSurface *s) { return s->shrink[1] > 0; }

// surfaces may lie deep enough in their geoms for gaps to be seen as much wider as the options say
static tgStatus sink(const tgContact *c, tgiBarrier *k, tgError *error) {
  const tgModel *m = c->model;
  int thinnest = -1;
  double widen = tg_contact_get(c->options, "widen");
  k->sunk = widen / 2;
  k->most_sunk = INFINITY;
  if (!(k->sunk > 0)) return TG_OK;
  for (int g = 0; g < m->ngeom; g++) {
    const tgiSurface *surface = k->shapes.surface[g];
    double most = INFINITY;   // of what is inside the radius of its edges
    if (surface != NULL) most = (tgi_shape_half_width(m, &k->shapes, g) - (shrinks(surface) ? k->options.rounding : 0)) / 2;
    if (!(most < k->most_sunk)) continue;
    k->most_sunk = most;
    thinnest = g;
  }
  if (k->sunk < k->most_sunk) return tgi_shapes_inwards(m, &k->shapes, error);
  char label[160];
  return tgi_error(error, TG_ERR_ARG, "Contact option widen is %g, and %s is %.3g m thin; give less than half of that.", widen,
                   tgi_model_label(m, TG_THING_GEOM, thinnest, label, sizeof label), 4 * k->most_sunk);
}

// what is rounded keeps something inside
static tgStatus check_rounding(const tgContact *c, const tgiBarrier *k, tgError *error) {
  for (int g = 0; g < c->model->ngeom && k->options.rounding > 0; g++)
    TG_TRY(tgi_shape_check_rounding(c->model, &k->shapes, g, k->options.rounding, TG_ERR_ARG, error));
  return TG_OK;
}

static tgStatus fill(tgContact *c, tgiBarrier *k, tgError *error) {
  const tgModel *m = c->model;
  TG_TRY(tgi_shapes_make(m, TGI_CHORD, k->options.geom_form == TG_GEOM_FORM_ROUNDED, &k->shapes, error));
  TG_TRY(check_rounding(c, k, error));
  TG_TRY(sink(c, k, error));
  TG_TRY(make_arrays(c, k, error));
  TG_TRY(tgi_lagged_supports(m, error));
  for (int g = 0; g < m->ngeom; g++)
    if (k->shapes.tree[g] != NULL) {
      TG_TRY(nominal_radii(c, k, g, error));
      TG_TRY(make_owners(k, g, error));
    }
  size_t scratch = 0;
  TG_TRY(list_pairs(c, k, &scratch, error));
  TG_TRY(weigh_pairs(c, k, error));
  k->nterm = most_terms(m, k->npair);
  c->scratch = scratch + (32 * ((size_t)m->ngeom + (size_t)m->nbody) + 64) * sizeof(tgReal);
  if (k->options.threads < 2) return TG_OK;
  k->pool = tgi_pool_create(k->options.threads, &k->alloc);
  return k->pool != NULL ? TG_OK : tgi_error(error, TG_ERR_MEMORY, "Out of memory for %d threads.", k->options.threads);
}

double tgi_barrier_thicker(const tgContact *c, const tgSim *s, int geom) {
  const tgiBarrier *k = c->data;
  const tgiSurface *surface = k->shapes.surface[geom];
  if (surface == NULL || !surface->rounds || shrinks(surface)) return 0;
  return s != NULL ? tgRe(tgi_barrier_rounding(s)) : k->options.rounding;
}

double tgi_barrier_resting_gap(const tgContact *c) {
  enum { HALVINGS = 200 };
  const tgModel *m = c->model;
  const tgiBarrier *k = c->data;
  double mass = INFINITY, half = INFINITY, low = 0, high = 1;
  if (k->least_gap < INFINITY) return k->least_gap;
  for (int g = 0; g < m->ngeom; g++) {
    if (!k->paired[g]) continue;
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
  bool blends = o->hierarchy != TG_HIERARCHY_BRUTE && law_of(c, o).local == 0;
  if (blends && o->eps < least)
    tgi_contact_warn(c, "Contact option eps is %g: below %g the force has minima in distance, in which bodies can be "
                        "caught.", o->eps, least);
}

tgStatus tgi_barrier_prepare(tgContact *c, tgError *error) {
  tgiBarrier *k = c->alloc.alloc(c->alloc.ctx, sizeof *k);
  if (k == NULL) return tgi_error(error, TG_ERR_MEMORY, "Out of memory for the contact model.");
  *k = (tgiBarrier){.alloc = c->alloc, .options = options_of(c), .least_gap = INFINITY};
  k->law = law_of(c, &k->options);
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
  for (int g = 0; k->owned != NULL && g < c->model->ngeom; g++) a.free(a.ctx, k->owned[g]);
  a.free(a.ctx, k->owned);
  a.free(a.ctx, k->nominal);
  a.free(a.ctx, k->patch);
  a.free(a.ctx, k->npatch);
  a.free(a.ctx, k->before_plane);
  a.free(a.ctx, k->pair);
  a.free(a.ctx, k->times);
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

// leaves that may be foreseen as they are: so many of each pair, and of all others so many times the number of faces
enum { HARD = 32, HARD_FACE = 4 };

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
    geom->world.owned = k->owned[g];
  }
  if (!k->before_plane[g]) return;
  tgiTreeNumbers plane;
  place_plane(l, tree, &plane);
  world = tgi_place(l, tgi_world_tree_reals(surface, tree), sizeof *world);
  if (geom != NULL) {
    geom->plane_numbers = plane;
    tgi_world_tree_place(surface, tree, world, &geom->plane);
    geom->plane.nominal = k->nominal[g];
    geom->plane.owned = k->owned[g];
  }
}

// *few: how many are kept of each pair. Returns how many of all besides. None where sums are local, or all surfaces of one leaf.
static size_t hard_room(const tgModel *m, const tgiBarrier *k, size_t *few) {
  size_t most = 1, faces = 0;
  for (int g = 0; g < m->ngeom; g++) {
    if (k->shapes.tree[g] == NULL) continue;
    size_t n = (size_t)k->shapes.tree[g]->nface;
    if (n > most) most = n;
    faces += n;
  }
  *few = k->law.local > 0 || most == 1 ? 0 : most * most < HARD ? most * most : HARD;
  return *few < HARD ? 0 : HARD_FACE * faces;   // of fewer there are no others
}

static tgiBarrierSums place_sums(tgLayout *l, const tgModel *m, const tgiBarrier *k, int room) {
  tgiBarrierSums s = {.current = false};
  tgi_near_place(l, m, k, room, &s.near);
  s.pair = tgi_place(l, (size_t)room, sizeof *s.pair);
  size_t few, all = hard_room(m, k, &few);
  s.hard = tgi_place(l, (size_t)room, sizeof *s.hard);
  s.leaf = tgi_place(l, few * (size_t)room + all, sizeof *s.leaf);
  s.frame = tgi_place(l, 12 * (size_t)m->ngeom, sizeof *s.frame);
  return s;
}

// twice as many places as there can be terms, or more
static tgiTermTable place_terms(tgLayout *l, size_t nterm) {
  size_t n = 2;
  while (n < 2 * nterm) n *= 2;
  tgiTermTable t = {.mask = n - 1};
  t.at = tgi_place(l, n, sizeof *t.at);
  return t;
}

static int least(int a, int b) { return a < b ? a : b; }

static void place(const tgContact *c, const tgCapacity *z, tgLayout *l, tgiBarrierWork **work) {
  const tgiBarrier *k = c->data;
  size_t ngeom = (size_t)c->model->ngeom, nthread = (size_t)k->options.threads;
  tgiBarrierWork *w = tgi_place(l, 1, sizeof *w);
  tgiBarrierGeom *geom = tgi_place(l, ngeom, sizeof *geom);
  int room = k->pair != NULL ? k->npair : least(k->npair, z->nnear);
  size_t few, all = hard_room(c->model, k, &few);
  tgiBarrierSums sums = place_sums(l, c->model, k, room), start = place_sums(l, c->model, k, room);
  tgiForeseen foreseen = {.made = false};
  foreseen.rest = tgi_place(l, (size_t)room, sizeof *foreseen.rest);
  foreseen.sum = tgi_place(l, (size_t)room, sizeof *foreseen.sum);
  foreseen.separated = tgi_place(l, (size_t)room, sizeof *foreseen.separated);
  tgiTreeWork **tree = tgi_place(l, nthread, sizeof(tgiTreeWork *));
  tgiHeightWork **height = tgi_place(l, nthread, sizeof(tgiHeightWork *));
  tgiHardLog **log = tgi_place(l, nthread, sizeof(tgiHardLog *));
  tgiHardLeaf *own = tgi_place(l, few * (size_t)room, sizeof *own);
  for (int g = 0; g < c->model->ngeom; g++) place_geom(l, k, g, geom != NULL ? geom + g : NULL);
  tgiSolid *solid = tgi_place(l, ngeom, sizeof *solid);
  tgiNearStep step;
  tgi_near_step_place(l, k, room, &step);
  double *apart = tgi_place(l, (size_t)room, sizeof *apart);
  tgReal *q = tgi_place(l, (size_t)c->model->nq, sizeof *q), *frame = tgi_place(l, 12 * ngeom, sizeof *frame);
  for (size_t t = 0; t < nthread; t++) {
    void *memory = tgi_place(l, tgi_tree_work_bytes(k->depth), 1);
    if (memory != NULL) tree[t] = tgi_tree_work_place(memory, k->depth);
    memory = tgi_place(l, tgi_height_work_bytes(k->faces), 1);
    if (memory != NULL) height[t] = tgi_height_work_place(memory, k->faces);
    tgiHardLog *notes = tgi_place(l, 1, sizeof *notes);
    tgiHardLeaf *leaf = tgi_place(l, 2 * all, sizeof *leaf);
    if (notes == NULL) continue;
    *notes = (tgiHardLog){.few = (int)few, .keep = (int)all, .at = leaf};
    log[t] = notes;
  }
  tgiLagged lagged;
  tgi_lagged_place(l, c, z, room, &lagged);
  tgiTermTable term = place_terms(l, (size_t)least(k->nterm, least(INT_MAX - lagged.most_acting, room) + lagged.most_acting));
  *work = w;
  if (w == NULL) return;
  for (size_t g = 0; g < ngeom; g++)
    solid[g] = (tgiSolid){.surface = k->shapes.surface[g], .tree = k->shapes.tree[g], .number = &geom[g].numbers};
  *w = (tgiBarrierWork){.home = l->base, .nthread = (int)nthread, .sunk = k->sunk, .geom = geom, .sums = sums,
                        .start = start, .foreseen = foreseen, .tree = tree, .height = height, .log = log, .own = own, .solid = solid,
                        .frame = frame, .step = step, .apart = apart, .term = term, .lagged = lagged};
  w->advance = (tgiAdvance){.npair = step.n, .geom1 = k->geom1, .geom2 = k->geom2, .solid = solid, .sunk = k->sunk,
                            .bound = step.bound, .q = q};
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
