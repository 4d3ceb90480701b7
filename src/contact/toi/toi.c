// toi.c: the contact model `toi`: the rows and the solver of `lcp`, taken at the times of impact by the event stepper.
//
// Based on: [toi]; [math/toi].
#include "tangere/toi.h"

#include <string.h>

#include "base/memory.h"
#include "coll/surfaces/exact.h"
#include "coll/surfaces/facets.h"
#include "contact/contact.h"
#include "contact/rows.h"
#include "geom/hull.h"
#include "geom/mesh_check.h"

// The faces of a mesh that collides as it is may cross each other: it does so by all of them, and no inside is told from another.
static tgStatus tell_crossing(tgContact *c, const char *label, const double *vert, int nvert, const int *face, int nface) {
  tgiExactSurface surface;
  int pair[2];
  tgStatus status = tgi_exact_make(vert, nvert, face, nface, &c->alloc, &surface);
  if (status != TG_OK) return status;
  if (tgi_exact_surfaces(&surface, &surface, pair))
    tgi_contact_warn(c, "%.60s: its mesh intersects itself, by faces %d and %d first; it collides by all of its faces", label, pair[0],
                     pair[1]);
  tgi_exact_free(&surface);
  return TG_OK;
}

// Of a mesh that is open, or wound inconsistently, the inside is not known: it collides as its hull, as one does of which more than two
// faces share an edge.
static tgStatus look_at_mesh(tgContact *c, int g, const double *vert, bool *concave) {
  const tgModel *m = c->model;
  int hull = m->geom_hull[g], mesh = m->hull_mesh[hull], nvert = m->mesh_vertnum[mesh], nface = m->mesh_facenum[mesh];
  const int *face = m->mesh_face + 3 * m->mesh_faceadr[mesh];
  char label[96];
  tgMeshCheck check;
  TG_TRY(tgi_mesh_check(vert, nvert, face, nface, &c->alloc, &check));
  bool closed = check.nopen == 0 && check.nwinding == 0 && check.volume > 0,
       other = closed && tgi_hull_volume(&m->hull[hull]) > (1 + TGI_HULL_CONCAVE) * check.volume;
  *concave = other && check.ncrowded == 0;
  if (!other) return TG_OK;
  tgi_model_label(m, TG_THING_GEOM, g, label, sizeof label);
  if (*concave) return tell_crossing(c, label, vert, nvert, face, nface);
  tgi_contact_warn(c, "%.60s: %d edges of its mesh have more than two faces, the first between vertices %d and %d; its convex hull "
                   "collides", label, check.ncrowded, check.crowded_edge[0], check.crowded_edge[1]);
  return TG_OK;
}

static tgStatus is_concave(tgContact *c, int g, bool *concave) {
  const tgModel *m = c->model;
  int hull = m->geom_hull[g];
  *concave = false;
  if (m->geom_type[g] != TG_GEOM_MESH || hull < 0) return TG_OK;
  int mesh = m->hull_mesh[hull], nvert = m->mesh_vertnum[mesh];
  double *vert = c->alloc.alloc(c->alloc.ctx, tgi_size_mul(3 * (size_t)nvert + 1, sizeof *vert));
  if (vert == NULL) return TG_ERR_MEMORY;
  for (int i = 0; i < 3 * nvert; i++) vert[i] = tgRe(m->mesh_vert[3 * m->mesh_vertadr[mesh] + i]);
  tgStatus status = look_at_mesh(c, g, vert, concave);
  c->alloc.free(c->alloc.ctx, vert);
  return status;
}

static tgStatus make_facets(tgContact *c, tgError *error) {
  const tgModel *m = c->model;
  bool any = false, *concave = c->alloc.alloc(c->alloc.ctx, (size_t)m->ngeom + 1);
  tgStatus status = concave != NULL ? TG_OK : TG_ERR_MEMORY;
  for (int g = 0; g < m->ngeom && status == TG_OK; g++) {
    status = is_concave(c, g, &concave[g]);
    any = any || concave[g];
  }
  if (status != TG_OK) tgi_error(error, status, "Out of memory for the meshes of %d geoms.", m->ngeom);
  else if (any) status = tgi_facets_make(m, concave, &c->facets, error);
  c->list_bytes = tgi_face_lists_bytes(c->facets);
  c->alloc.free(c->alloc.ctx, concave);
  return status;
}

static tgStatus prepare(tgContact *c, tgError *error) {
  c->scratch = 32 * (size_t)c->model->npair + 512 * (size_t)c->model->ngeom;   // the search for the first contact
  TG_TRY(tgi_lcp_cones_supported(c, error));
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
    .rigid = true,
    .two_problems = true,
    .solver_bytes = tgi_lcp_solver_bytes,
    .prepare = prepare,
    .release = release,
    .differentiable = differentiable,
    .nonsmooth = tgi_lcp_nonsmooth,
    .touches = tgi_touches_summed,
    .touch = tgi_touch_summed,
    .doubts = tgi_lcp_doubts,
    .rows = &tgi_lcp_rows,
};
