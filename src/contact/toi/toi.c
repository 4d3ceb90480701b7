// toi.c: the contact model `toi`: the rows and the solver of `lcp`, taken at the times of impact by the event stepper.
//
// Based on: [toi]; [math/toi].
#include "tangere/toi.h"

#include <string.h>

#include "coll/surfaces/facets.h"
#include "contact/rows.h"
#include "geom/hull.h"
#include "math/vec3.h"

// of a closed mesh, by tetrahedra from the origin
static double mesh_volume(const tgModel *m, int mesh) {
  const tgReal *vert = m->mesh_vert + 3 * m->mesh_vertadr[mesh];
  const int *face = m->mesh_face + 3 * m->mesh_faceadr[mesh];
  double sum = 0;
  for (int f = 0; f < m->mesh_facenum[mesh]; f++) {
    tgReal x[3];
    tgi_v3_cross(x, vert + 3 * face[3 * f], vert + 3 * face[3 * f + 1]);
    sum += tgRe(tgi_v3_dot(x, vert + 3 * face[3 * f + 2]));
  }
  return sum / 6;
}

// Of an open mesh nothing is known: it collides as its hull.
static bool is_concave(const tgModel *m, int g) {
  int hull = m->geom_hull[g];
  if (m->geom_type[g] != TG_GEOM_MESH || hull < 0) return false;
  double own = mesh_volume(m, m->hull_mesh[hull]), whole = tgi_hull_volume(&m->hull[hull]);
  return own > 0 && whole > (1 + TGI_HULL_CONCAVE) * own;
}

static tgStatus make_facets(tgContact *c, tgError *error) {
  const tgModel *m = c->model;
  bool any = false, *concave = c->alloc.alloc(c->alloc.ctx, (size_t)m->ngeom + 1);
  if (concave == NULL) return tgi_error(error, TG_ERR_MEMORY, "Out of memory for the meshes of %d geoms.", m->ngeom);
  for (int g = 0; g < m->ngeom; g++) any = (concave[g] = is_concave(m, g)) || any;
  tgStatus status = any ? tgi_facets_make(m, concave, &c->facets, error) : TG_OK;
  c->alloc.free(c->alloc.ctx, concave);
  return status;
}

static tgStatus prepare(tgContact *c, tgError *error) {
  c->scratch = 32 * (size_t)c->model->npair + 512 * (size_t)c->model->ngeom;   // the search for the first contact
  return make_facets(c, error);
}

static void release(tgContact *c) { tgi_facets_free(c->facets); }

// Faces of meshes that touch as they are go by the meshes, not by the vertices of hulls.
static tgStatus differentiable(const tgContact *c, const char *name, tgError *error) {
  if (c->facets == NULL || strcmp(name, "hull_vert") != 0) return TG_OK;
  return tgi_error(error, TG_ERR_UNSUPPORTED, "hull_vert has no derivative where meshes that are not convex touch as they are.");
}

#define TOI(kind, ...) TGI_OPTION_##kind(tgToiOptions, __VA_ARGS__)
static const tgiOption option[] = {TG_TOI_OPTIONS(TOI) TG_TOI_IMPULSE_OPTIONS(TOI)};

const tgContactModel tgi_toi_model = {
    .word = "toi",
    .stepper = "event",
    .options = TGI_OPTION_LIST(option, tgToiOptions),
    .intersection_free = true,
    .two_problems = true,
    .solver_bytes = tgi_lcp_solver_bytes,
    .prepare = prepare,
    .release = release,
    .differentiable = differentiable,
    .nonsmooth = tgi_lcp_nonsmooth,
    .touches = tgi_touches_summed,
    .touch = tgi_touch_summed,
    .rows = &tgi_lcp_rows,
};
