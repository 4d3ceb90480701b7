// prepare.c: what the model keeps of a model's geometry, and its workspace in a simulation.
#include <stdio.h>
#include <string.h>

#include "base/layout.h"
#include "contact/damped/damped.h"

#define RESTING_SHARE 1e-3   // of a geom's radius

static bool is_plane(const tgModel *m, int g) { return m->geom_type[g] == TG_GEOM_PLANE; }

static const tgiProxies *proxies_of(tgContact *c, tgiDamped *k, int g, bool before_planes) {
  tgiProxies *p = &k->proxies[2 * g + !before_planes];
  if (p->n > 0) return p;
  return tgi_proxies_make(c->model, g, before_planes, tgi_damped_options(c)->spacing, &c->alloc, p) == TG_OK ? p : NULL;
}

static void sizes(const tgModel *m, int g, double size[3]) {
  for (int i = 0; i < 3; i++) size[i] = tgRe(m->geom_size[3 * g + i]);
}

// the proxies of a geom in the field of the other, where these have any
static tgStatus add_side(tgContact *c, tgiDamped *k, tgiDampedPair *pair, bool second, tgError *error) {
  const tgModel *m = c->model;
  int of = pair->geom[second], in = pair->geom[!second];
  double size[3];
  if (!tgi_field_is((tgGeomType)m->geom_type[in])) return TG_OK;
  const tgiProxies *p = proxies_of(c, k, of, is_plane(m, in));
  if (p == NULL) return tgi_error(error, TG_ERR_MEMORY, "Out of memory for the proxies of %d geoms.", m->ngeom);
  if (p->n == 0) return TG_OK;
  sizes(m, in, size);
  k->side[k->nside++] = (tgiDampedSide){.of = of, .in = in, .second = second, .first = k->nproxy, .share = 1, .proxies = p,
                                        .depth = tgi_field_depth((tgGeomType)m->geom_type[in], size),
                                        .field = tgi_field_make((tgGeomType)m->geom_type[in], size)};
  k->nproxy += p->n;
  pair->nside++;
  return TG_OK;
}

// the smaller geom's radius; planes have none
static double radius(const tgModel *m, const int geom[2]) {
  double r = INFINITY;
  for (int i = 0; i < 2; i++)
    if (!is_plane(m, geom[i])) r = fmin(r, tgRe(m->geom_rbound[geom[i]]));
  return r;
}

static tgStatus add_pair(tgContact *c, tgiDamped *k, int p, tgError *error) {
  const tgModel *m = c->model;
  char a[128], b[128];
  tgiDampedPair *pair = &k->pair[k->npair++];
  *pair = (tgiDampedPair){.pair = p, .geom = {m->pair_geom1[p], m->pair_geom2[p]}, .side = k->nside};
  TG_TRY(tgi_pair_one_friction(m, p, error));
  pair->mass = fmin(tgi_tree_mass(m, m->geom_body[pair->geom[0]]), tgi_tree_mass(m, m->geom_body[pair->geom[1]]));
  pair->gap = RESTING_SHARE * radius(m, pair->geom);
  for (int second = 0; second < 2; second++) TG_TRY(add_side(c, k, pair, second, error));
  for (int i = 0; i < pair->nside; i++) k->side[pair->side + i].share = 1.0 / pair->nside;
  double given = tgi_damped_options(c)->resting_gap;
  k->least_gap = fmin(k->least_gap, given > 0 ? given : pair->gap);
  if (pair->nside > 0) return TG_OK;
  return tgi_error(error, TG_ERR_UNSUPPORTED, "%s and %s may touch, and neither has a field: this contact model has none of meshes. "
                   "Take primitive shapes for one of them, or exclude the pair.",
                   tgi_model_label(m, TG_THING_GEOM, pair->geom[0], a, sizeof a),
                   tgi_model_label(m, TG_THING_GEOM, pair->geom[1], b, sizeof b));
}

tgStatus tgi_damped_prepare(tgContact *c, tgError *error) {
  const tgModel *m = c->model;
  tgiDamped *k = c->alloc.alloc(c->alloc.ctx, sizeof *k);
  if (k == NULL) return tgi_error(error, TG_ERR_MEMORY, "Out of memory for the contact model.");
  *k = (tgiDamped){.alloc = c->alloc, .least_gap = INFINITY};
  c->data = k;
  size_t pairs = (size_t)m->npair + 1, geoms = 2 * (size_t)m->ngeom + 1;
  k->pair = c->alloc.alloc(c->alloc.ctx, tgi_size_mul(pairs, sizeof *k->pair));
  k->side = c->alloc.alloc(c->alloc.ctx, tgi_size_mul(2 * pairs, sizeof *k->side));
  k->proxies = c->alloc.alloc(c->alloc.ctx, tgi_size_mul(geoms, sizeof *k->proxies));
  // cleared before anything can be missing, since release frees what they hold
  if (k->proxies != NULL) memset(k->proxies, 0, geoms * sizeof *k->proxies);
  if (k->pair == NULL || k->side == NULL || k->proxies == NULL)
    return tgi_error(error, TG_ERR_MEMORY, "Out of memory for %d pairs of geoms.", m->npair);
  for (int p = 0; p < m->npair; p++)
    if (tgi_pair_moves(m, p)) TG_TRY(add_pair(c, k, p, error));
  return TG_OK;
}

void tgi_damped_release(tgContact *c) {
  tgiDamped *k = c->data;
  if (k == NULL) return;
  tgAllocator a = k->alloc;
  for (int i = 0; k->proxies != NULL && i < 2 * c->model->ngeom; i++) tgi_proxies_free(&a, &k->proxies[i]);
  a.free(a.ctx, k->proxies);
  a.free(a.ctx, k->side);
  a.free(a.ctx, k->pair);
  a.free(a.ctx, k);
  c->data = NULL;
}

// ---- workspace ----

static void place(const tgContact *c, tgLayout *l, tgiDampedWork **work) {
  const tgiDamped *k = c->data;
  tgiDampedWork *w = tgi_place(l, 1, sizeof *w);
  tgiProxyState *state = tgi_place(l, (size_t)k->nproxy + 1, sizeof *state);
  tgiDampedNumbers *numbers = tgi_place(l, (size_t)k->npair + 1, sizeof *numbers);
  double *centre = tgi_place(l, 6 * (size_t)k->npair + 1, sizeof *centre);
  *work = w;
  if (w != NULL) *w = (tgiDampedWork){.home = l->base, .state = state, .numbers = numbers, .centre = centre};
}

size_t tgi_damped_bytes(const tgContact *c, const tgCapacity *z) {
  (void)z;
  tgLayout l = {.base = NULL};
  tgiDampedWork *w;
  place(c, &l, &w);
  return l.used;
}

tgiDampedWork *tgi_damped_work(tgSim *s) {
  tgiDampedWork *w = s->solver;
  if (w->home == s->solver) return w;
  tgLayout l = {.base = s->solver};
  place(s->contact_model, &l, &w);
  return w;
}
