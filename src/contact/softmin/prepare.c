// prepare.c: what the `softmin` model keeps of a model's geometry, and its workspace in a simulation.
#include <string.h>

#include "base/layout.h"
#include "coll/clouds/cloud_geom.h"
#include "contact/softmin/softmin.h"

#define FINENESS 4.0        // points along the least half length of a geom, or the radius of a curved one
#define MOST_POINTS 1000.0  // about, of a geom whose spacing is not given

static bool is_plane(const tgModel *m, int g) { return m->geom_type[g] == TG_GEOM_PLANE; }

// half lengths of the bounding box of a mesh's vertices at the geom's scale
static void mesh_half_lengths(const tgModel *m, int g, double half[3]) {
  const tgReal *vert = m->mesh_vert + 3 * (size_t)m->mesh_vertadr[m->geom_mesh[g]];
  for (int i = 0; i < 3; i++) {
    double low = INFINITY, high = -INFINITY;
    for (int k = 0; k < m->mesh_vertnum[m->geom_mesh[g]]; k++) {
      low = fmin(low, tgRe(vert[3 * k + i]));
      high = fmax(high, tgRe(vert[3 * k + i]));
    }
    half[i] = 0.5 * (high - low) * fabs(tgRe(m->geom_scale[3 * g + i]));
  }
}

// half lengths of a geom's bounding box, in its frame
static void half_lengths(const tgModel *m, int g, double half[3]) {
  for (int i = 0; i < 3; i++) half[i] = tgRe(m->geom_size[3 * g + i]);
  switch (m->geom_type[g]) {
    case TG_GEOM_SPHERE: half[1] = half[2] = half[0]; break;
    case TG_GEOM_CAPSULE: half[2] = half[1] + half[0]; half[1] = half[0]; break;
    case TG_GEOM_CYLINDER: half[2] = half[1]; half[1] = half[0]; break;
    case TG_GEOM_MESH: mesh_half_lengths(m, g, half); break;
    default: break;
  }
}

// area of a geom's bounding box, or about that of what fills it
static double area_of(const tgModel *m, int g, const double half[3]) {
  double area = 0;
  for (int i = 0; i < 3; i++) area += 8 * half[i] * half[(i + 1) % 3];
  bool round = m->geom_type[g] == TG_GEOM_SPHERE || m->geom_type[g] == TG_GEOM_ELLIPSOID || m->geom_type[g] == TG_GEOM_CAPSULE;
  return round ? TG_PI / 6 * area : area;
}

// of the least curved surface that a geom has; infinite where all are flat, or of a mesh
static double radius_of(const tgModel *m, int g, const double half[3]) {
  switch (m->geom_type[g]) {
    case TG_GEOM_SPHERE:
    case TG_GEOM_CAPSULE:
    case TG_GEOM_CYLINDER: return half[0];
    case TG_GEOM_ELLIPSOID: return fmin(half[0], fmin(half[1], half[2]));
    default: return INFINITY;
  }
}

static double spacing_of(const tgContact *c, int g) {
  double half[3], least;
  half_lengths(c->model, g, half);
  least = fmin(half[0], fmin(half[1], half[2]));
  if (tgi_softmin_options(c)->points > 0)
    return fmin(sqrt(area_of(c->model, g, half) / tgi_softmin_options(c)->points), radius_of(c->model, g, half) / FINENESS);
  if (tgi_softmin_options(c)->spacing > 0) return tgi_softmin_options(c)->spacing;
  return fmax(least / FINENESS, sqrt(8 * (half[0] * half[1] + half[1] * half[2] + half[2] * half[0]) / MOST_POINTS));
}

// is geom g no plane, and in a pair with another that is none?
static bool meets_points(const tgiSoftmin *k, int g) {
  for (int i = 0; i < k->npair; i++)
    for (int side = 0; side < 2; side++)
      if (k->pair[i].geom[side] == g && !k->cloud[g].flat && !k->cloud[k->pair[i].geom[1 - side]].flat) return true;
  return false;
}

// Options under which another surface's points are pulled at the corners of geom g, or meet facets instead of its
// curves. Measured for boxes: no pull where sqrt(eps1) is half their least half length, pulls where it is all of
// it. [math/softmin Numbers]
static void warn_of_width(tgContact *c, int g, double spacing) {
  const tgModel *m = c->model;
  double half[3], width = tgi_softmin_options(c)->eps1 > 0 ? sqrt(tgi_softmin_options(c)->eps1) : spacing;
  char label[128];
  if (m->geom_type[g] == TG_GEOM_SPHERE && tgi_softmin_options(c)->form != TG_FORCE_PAPER) return;
  half_lengths(m, g, half);
  double least = fmin(half[0], fmin(half[1], half[2]));
  tgi_model_label(m, TG_THING_GEOM, g, label, 60);
  if (width > 0.5 * least)
    tgi_contact_warn(c, "%.60s: sqrt(eps1) is %.3g m (eps1 0: the spacing), more than half its least half length; its "
                        "corners may pull. Take finer points.", label, width);
  else if (spacing > 2 * width && m->geom_type[g] != TG_GEOM_BOX)
    tgi_contact_warn(c, "%.60s: its points are %.3g m apart, more than 2 sqrt(eps1); where it is curved its surface is "
                        "one of facets.", label, spacing);
}

static tgStatus make_cloud(const tgContact *c, int g, tgCloud *cloud, tgError *error) {
  return tgi_cloud_of_geom(c->model, g, is_plane(c->model, g) ? 1 : spacing_of(c, g), &c->alloc, cloud, error);
}

static tgStatus add_pair(tgContact *c, tgiSoftmin *k, int p, tgError *error) {
  const tgModel *m = c->model;
  tgiSoftGeoms *g = &k->pair[k->npair];
  int points = 0;
  *g = (tgiSoftGeoms){.pair = p, .geom = {m->pair_geom1[p], m->pair_geom2[p]}, .mass = INFINITY, .spacing = INFINITY};
  TG_TRY(tgi_pair_one_friction(m, p, error));
  for (int i = 0; i < 2; i++) {
    tgCloud *cloud = &k->cloud[g->geom[i]];
    if (cloud->n == 0) {
      TG_TRY(make_cloud(c, g->geom[i], cloud, error));
      if (tgi_ssdf_tree_make(cloud->n, cloud->p, cloud->normal, &c->alloc, &k->tree[g->geom[i]]) < 0)
        return tgi_error(error, TG_ERR_MEMORY, "Out of memory for the tree of %d points.", cloud->n);
    }
    g->mass = fmin(g->mass, tgi_tree_mass(m, m->geom_body[g->geom[i]]));
    if (!cloud->flat) g->spacing = fmin(g->spacing, cloud->spacing);
    points += cloud->n;
  }
  if (points > k->most_points) k->most_points = points;
  k->npair++;
  return TG_OK;
}

tgStatus tgi_softmin_prepare(tgContact *c, tgError *error) {
  const tgModel *m = c->model;
  tgiSoftmin *k = c->alloc.alloc(c->alloc.ctx, sizeof *k);
  if (k == NULL) return tgi_error(error, TG_ERR_MEMORY, "Out of memory for the contact model.");
  *k = (tgiSoftmin){.alloc = c->alloc};
  c->data = k;
  k->pair = c->alloc.alloc(c->alloc.ctx, tgi_size_mul((size_t)m->npair + 1, sizeof *k->pair));
  k->cloud = c->alloc.alloc(c->alloc.ctx, tgi_size_mul((size_t)m->ngeom + 1, sizeof *k->cloud));
  k->tree = c->alloc.alloc(c->alloc.ctx, tgi_size_mul((size_t)m->ngeom + 1, sizeof *k->tree));
  // what is there is cleared before anything can be missing, since release frees what they hold
  if (k->cloud != NULL) memset(k->cloud, 0, ((size_t)m->ngeom + 1) * sizeof *k->cloud);
  if (k->tree != NULL) memset(k->tree, 0, ((size_t)m->ngeom + 1) * sizeof *k->tree);
  if (k->pair == NULL || k->cloud == NULL || k->tree == NULL)
    return tgi_error(error, TG_ERR_MEMORY, "Out of memory for %d pairs of geoms.", m->npair);
  for (int p = 0; p < m->npair; p++)
    if (tgi_pair_moves(m, p)) TG_TRY(add_pair(c, k, p, error));
  for (int g = 0; g < m->ngeom; g++)
    if (meets_points(k, g)) warn_of_width(c, g, k->cloud[g].spacing);
  c->scratch = (6 * (size_t)k->most_points + 256) * sizeof(tgReal);
  return TG_OK;
}

void tgi_softmin_release(tgContact *c) {
  tgiSoftmin *k = c->data;
  if (k == NULL) return;
  tgAllocator a = k->alloc;
  for (int g = 0; k->cloud != NULL && g < c->model->ngeom; g++)
    if (k->cloud[g].n > 0) tgi_cloud_free(&k->cloud[g]);
  for (int g = 0; k->tree != NULL && g < c->model->ngeom; g++) tgi_ssdf_tree_free(&k->tree[g]);
  a.free(a.ctx, k->tree);
  a.free(a.ctx, k->cloud);
  a.free(a.ctx, k->pair);
  a.free(a.ctx, k);
  c->data = NULL;
}

// ---- workspace ----

// of the largest trees
static tgiSoftPlanWork *place_plan_work(const tgContact *c, tgLayout *l) {
  const tgiSoftmin *k = c->data;
  int nblock = 0, npoint = 0;
  for (int g = 0; g < c->model->ngeom; g++) {
    nblock = k->tree[g].nblock > nblock ? k->tree[g].nblock : nblock;
    npoint = k->tree[g].n > npoint ? k->tree[g].n : npoint;
  }
  return tgi_soft_plan_work(nblock, npoint, l);
}

static void place(const tgContact *c, tgLayout *l, tgiSoftminWork **work) {
  const tgiSoftmin *k = c->data;
  tgiSoftminWork *w = tgi_place(l, 1, sizeof *w);
  tgiSoftPoints *geom = tgi_place(l, (size_t)c->model->ngeom, sizeof *geom);
  tgReal *numbers = tgi_place(l, (size_t)k->most_points, sizeof *numbers);
  double *height = tgi_place(l, (size_t)k->npair, sizeof *height);
  tgiSoftPlan *plan = tgi_place(l, (size_t)k->npair, sizeof *plan);
  const tgiSoftPlanWork *plan_work = place_plan_work(c, l);
  for (int i = 0; i < k->npair; i++)
    tgi_soft_plan_place(plan != NULL ? &plan[i] : NULL, &k->tree[k->pair[i].geom[0]], &k->tree[k->pair[i].geom[1]], plan_work, l);
  for (int g = 0; g < c->model->ngeom; g++) {
    size_t n = 3 * (size_t)k->cloud[g].n;
    tgReal *p = tgi_place(l, n, sizeof *p), *normal = tgi_place(l, n, sizeof *normal);
    tgiSsdfNode *node = tgi_place(l, (size_t)k->tree[g].nnode, sizeof *node);
    tgiSsdfBlock *block = tgi_place(l, (size_t)k->tree[g].nblock, sizeof *block);
    if (geom != NULL) geom[g] = (tgiSoftPoints){.made = false, .p = p, .normal = normal, .numbers = {node, block}};
    tgi_soft_grid_place(geom != NULL ? &geom[g].grid : NULL, &k->cloud[g], l);
  }
  *work = w;
  if (w != NULL) *w = (tgiSoftminWork){.home = l->base, .geom = geom, .work = numbers, .plan = plan, .height = height};
}

size_t tgi_softmin_bytes(const tgContact *c, const tgCapacity *z) {
  (void)z;
  tgLayout l = {.base = NULL};
  tgiSoftminWork *w;
  place(c, &l, &w);
  return l.used;
}

tgiSoftminWork *tgi_softmin_work(tgSim *s) {
  tgiSoftminWork *w = s->solver;
  if (w->home == s->solver) return w;
  tgLayout l = {.base = s->solver};
  place(s->contact_model, &l, &w);
  return w;
}
