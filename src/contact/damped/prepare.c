// prepare.c: what the model keeps of a model's geometry, and its workspace in a simulation.
#include <stdio.h>
#include <string.h>

#include "base/layout.h"
#include "coll/surfaces/surface.h"
#include "contact/damped/damped.h"
#include "model/source.h"

#define RESTING_SHARE 1e-3   // of a geom's radius
#define LEAST_REACH 4.0      // resting gaps: the law is whole to half of it
#define COARSE 0.05          // error of a field over the depth to which it is trusted: what boxes' rounded edges have

static bool is_plane(const tgModel *m, int g) { return m->geom_type[g] == TG_GEOM_PLANE; }

static void sizes(const tgModel *m, int g, double size[3]) {
  for (int i = 0; i < 3; i++) size[i] = tgRe(tgi_surface_size(m, g)[i]);
}

// ---- meshes ----

static bool is_mesh(const tgModel *m, int g) { return m->geom_type[g] == TG_GEOM_MESH; }
static bool gridded(const tgContact *c, int g) { return is_mesh(c->model, g) && tgi_damped_options(c)->mesh != TG_DAMPED_MESH_POINTS; }

bool tgi_damped_first_of_grid(const tgContact *c, int g) {
  const tgiDamped *k = c->data;
  for (int i = 0; i < g; i++)
    if (k->mesh[i] == k->mesh[g]) return false;
  return k->mesh[g] != NULL;
}

static void warn_coarse(tgContact *c, int g, const tgiDistanceGrid *grid) {
  char label[128];
  if (grid->error <= COARSE * grid->depth || !tgi_damped_first_of_grid(c, g)) return;
  tgi_contact_warn(c, "%.60s: its field of %d x %d x %d distances %.3g m apart (%.2g MB) is off by up to %.3g m on its surface. Take more "
                   "mesh_cells.", tgi_model_label(c->model, TG_THING_GEOM, g, label, sizeof label), grid->n[0], grid->n[1], grid->n[2],
                   grid->spacing, 1e-6 * (double)tgi_distance_grid_bytes(grid), grid->error);
}

static void release_mesh(tgiKept *kept, const tgAllocator *a) {
  tgiMeshField *mesh = (tgiMeshField *)kept;
  tgi_distance_grid_free(&mesh->grid);
  tgi_proxies_free(a, &mesh->proxies);
  a->free(a->ctx, mesh);
}

static tgStatus mesh_error(const tgContact *c, int g, tgStatus status, const char *why, tgError *error) {
  char geom[160], mesh[160];
  const tgModel *m = c->model;
  return tgi_error(error, status, "The mesh of %s, %s, has no field: %s. Mend the mesh, or take the option `mesh: hull`.",
                   tgi_model_label_source(m, TG_THING_GEOM, g, geom, sizeof geom),
                   tgi_model_label_source(m, TG_THING_MESH, m->geom_mesh[g], mesh, sizeof mesh), why);
}

// the field and, of its surface, the proxies of a mesh
static tgStatus make_mesh(const tgContact *c, int g, const double scale[3], tgiMeshField *mesh, tgError *error) {
  const tgModel *m = c->model;
  const tgAllocator *a = &m->keep->alloc;
  const tgDampedOptions *o = tgi_damped_options(c);
  tgiSurface surface;
  tgError why = {.status = TG_OK};
  bool hull = o->mesh == TG_DAMPED_MESH_HULL;
  TG_TRY(hull ? tgi_surface_of_hull(m, g, &surface, error) : tgi_surface_of_geom(m, g, 0, &surface, error));
  tgStatus status = tgi_distance_grid_make(&surface, scale, o->mesh_cells, a, &mesh->grid, &why);
  if (status == TG_OK && !hull) status = tgi_proxies_make(m, g, false, 0, &surface, a, &mesh->proxies);
  tgi_surface_free(&surface);
  return status == TG_OK ? TG_OK : mesh_error(c, g, status, why.status != TG_OK ? why.text : "out of memory for its proxies", error);
}

// ---- sides ----

static const tgiMeshField *mesh_of(tgContact *c, tgiDamped *k, int g, tgError *error) {
  static const char kind[] = "damped mesh";
  const tgModel *m = c->model;
  const tgAllocator *a = &m->keep->alloc;
  const tgDampedOptions *o = tgi_damped_options(c);
  double scale[3];
  if (k->mesh[g] != NULL) return k->mesh[g];
  sizes(m, g, scale);
  double key[TGI_KEPT_KEY] = {m->geom_mesh[g], scale[0], scale[1], scale[2], o->mesh_cells, o->mesh};
  tgiMeshField *mesh = (tgiMeshField *)tgi_model_kept(m, kind, key);
  if (mesh == NULL) {
    mesh = a->alloc(a->ctx, sizeof *mesh);
    if (mesh == NULL) {
      mesh_error(c, g, TG_ERR_MEMORY, "out of memory", error);
      return NULL;
    }
    *mesh = (tgiMeshField){.kept = {.kind = kind, .release = release_mesh}};
    memcpy(mesh->kept.key, key, sizeof key);
    if (make_mesh(c, g, scale, mesh, error) < 0) {
      release_mesh(&mesh->kept, a);
      return NULL;
    }
    mesh = (tgiMeshField *)tgi_model_keep(m, &mesh->kept);
  }
  k->mesh[g] = mesh;
  warn_coarse(c, g, &mesh->grid);
  return mesh;
}

static const tgiProxies *proxies_of(tgContact *c, tgiDamped *k, int g, bool before_planes, tgError *error) {
  const tgModel *m = c->model;
  if (gridded(c, g) && !before_planes) {
    const tgiMeshField *mesh = mesh_of(c, k, g, error);
    if (mesh == NULL) return NULL;
    if (mesh->proxies.n > 0) return &mesh->proxies;
  }
  tgiProxies *p = &k->proxies[2 * g + !before_planes];
  if (p->n > 0 || tgi_proxies_make(m, g, before_planes, tgi_damped_options(c)->spacing, NULL, &c->alloc, p) == TG_OK) return p;
  tgi_error(error, TG_ERR_MEMORY, "Out of memory for the proxies of %d geoms.", m->ngeom);
  return NULL;
}

// the proxies of a geom in the field of the other, where these have any
static tgStatus add_side(tgContact *c, tgiDamped *k, tgiDampedPair *pair, bool second, tgError *error) {
  const tgModel *m = c->model;
  int of = pair->geom[second], in = pair->geom[!second];
  double size[3];
  const tgiMeshField *mesh = NULL;
  if (is_mesh(m, in) && (!gridded(c, in) || is_plane(m, of))) return TG_OK;
  const tgiProxies *p = proxies_of(c, k, of, is_plane(m, in), error);
  if (p == NULL) return error->status;
  if (p->n == 0) return TG_OK;
  if (is_mesh(m, in)) {
    mesh = mesh_of(c, k, in, error);
    if (mesh == NULL) return error->status;
    k->gridded = in;
  }
  sizes(m, in, size);
  const tgiDistanceGrid *grid = mesh != NULL ? &mesh->grid : NULL;
  k->side[k->nside++] = (tgiDampedSide){.of = of, .in = in, .second = second, .first = k->nproxy, .share = 1, .proxies = p,
                                        .hollow = tgi_damped_options(c)->hollow && m->geom_type[in] != TG_GEOM_ELLIPSOID &&
                                                  !is_plane(m, in),
                                        .depth = tgi_field_depth((tgGeomType)m->geom_type[in], size, grid),
                                        .field = tgi_field_make((tgGeomType)m->geom_type[in], size, grid)};
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

// of the geom's tree; a sheet's vertex that moves by itself carries itself alone, whatever carries the sheet
static double weighs(const tgModel *m, int g) {
  int b = m->geom_body[g];
  bool own = m->geom_flex[g] >= 0 && m->body_dofnum[b] > 0;
  return own ? tgRe(m->body_mass[b]) : tgi_tree_mass(m, b);
}

static tgStatus add_pair(tgContact *c, tgiDamped *k, int p, tgError *error) {
  const tgModel *m = c->model;
  char a[128], b[128];
  tgiDampedPair *pair = &k->pair[k->npair++];
  *pair = (tgiDampedPair){.pair = p, .geom = {m->pair_geom1[p], m->pair_geom2[p]}, .side = k->nside};
  TG_TRY(tgi_pair_one_friction(m, p, error));
  pair->mass = fmin(weighs(m, pair->geom[0]), weighs(m, pair->geom[1]));
  pair->gap = RESTING_SHARE * radius(m, pair->geom);
  for (int second = 0; second < 2; second++) TG_TRY(add_side(c, k, pair, second, error));
  for (int i = 0; i < pair->nside; i++) k->side[pair->side + i].share = 1.0 / pair->nside;
  double given = tgi_damped_options(c)->resting_gap, gap = given > 0 ? given : pair->gap, reach = tgi_damped_options(c)->reach;
  k->least_gap = fmin(k->least_gap, tgi_damped_rests(tgi_damped_options(c)->law) * gap);
  if (reach > 0 && reach < LEAST_REACH * gap)
    return tgi_error(error, TG_ERR_INVALID, "reach is %g m, less than %g resting gaps of %s and %s (%.3g m): they would not rest there. "
                     "Take more, or a smaller resting_gap.", reach, LEAST_REACH,
                     tgi_model_label(m, TG_THING_GEOM, pair->geom[0], a, sizeof a),
                     tgi_model_label(m, TG_THING_GEOM, pair->geom[1], b, sizeof b), gap);
  if (pair->nside > 0) return TG_OK;
  return tgi_error(error, TG_ERR_UNSUPPORTED, "%s and %s may touch, and neither has a field, which meshes have not under the option "
                   "`mesh: points`. Take another, primitive shapes for one of them, or exclude the pair.",
                   tgi_model_label(m, TG_THING_GEOM, pair->geom[0], a, sizeof a),
                   tgi_model_label(m, TG_THING_GEOM, pair->geom[1], b, sizeof b));
}

tgStatus tgi_damped_prepare(tgContact *c, tgError *error) {
  const tgModel *m = c->model;
  tgError own = {.status = TG_OK};
  if (error == NULL) error = &own;
  tgiDamped *k = c->alloc.alloc(c->alloc.ctx, sizeof *k);
  if (k == NULL) return tgi_error(error, TG_ERR_MEMORY, "Out of memory for the contact model.");
  *k = (tgiDamped){.alloc = c->alloc, .least_gap = INFINITY, .gridded = -1};
  c->data = k;
  size_t pairs = (size_t)m->npair + 1, geoms = 2 * (size_t)m->ngeom + 1;
  k->pair = c->alloc.alloc(c->alloc.ctx, tgi_size_mul(pairs, sizeof *k->pair));
  k->side = c->alloc.alloc(c->alloc.ctx, tgi_size_mul(2 * pairs, sizeof *k->side));
  k->proxies = c->alloc.alloc(c->alloc.ctx, tgi_size_mul(geoms, sizeof *k->proxies));
  k->mesh = c->alloc.alloc(c->alloc.ctx, tgi_size_mul(geoms, sizeof *k->mesh));
  // cleared before anything can be missing, since release frees what proxies hold
  if (k->proxies != NULL) memset(k->proxies, 0, geoms * sizeof *k->proxies);
  for (size_t i = 0; k->mesh != NULL && i < geoms; i++) k->mesh[i] = NULL;
  if (k->pair == NULL || k->side == NULL || k->proxies == NULL || k->mesh == NULL)
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
  a.free(a.ctx, k->mesh);
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
  tgiSideState *side = tgi_place(l, (size_t)k->nside + 1, sizeof *side);
  int *pair = tgi_place(l, (size_t)k->npair + 1, sizeof *pair);
  tgiProxyState *state = tgi_place(l, (size_t)k->nproxy + 1, sizeof *state);
  tgiDampedNumbers *numbers = tgi_place(l, (size_t)k->npair + 1, sizeof *numbers);
  double *centre = tgi_place(l, TGI_DAMPED_CENTRE * (size_t)k->npair + 1, sizeof *centre);
  *work = w;
  if (w != NULL) *w = (tgiDampedWork){.home = l->base, .side = side, .pair = pair, .state = state, .numbers = numbers, .centre = centre};
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
