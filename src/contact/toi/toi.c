// toi.c: the contact model `toi`: the rows and the solver of `lcp`, taken at the times of impact by the event stepper.
//
// Based on: [toi]; [math/toi].
#include "tangere/toi.h"

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

// Meshes collide as their convex hulls: one that is not convex would be stopped before its surface.
static tgStatus check_mesh(const tgModel *m, int g, tgError *error) {
  char label[96];
  int hull = m->geom_hull[g];
  if (m->geom_type[g] != TG_GEOM_MESH || hull < 0) return TG_OK;
  double own = mesh_volume(m, m->hull_mesh[hull]), whole = tgi_hull_volume(&m->hull[hull]);
  double concavity = own > 0 && whole > own ? whole / own - 1 : 0;   // of an open mesh nothing is known
  if (concavity <= TGI_HULL_CONCAVE) return TG_OK;
  return tgi_error(error, TG_ERR_UNSUPPORTED,
                   "%s is a mesh that is not convex (its hull has %.0f %% more volume), which contact model 'toi' cannot keep from "
                   "intersecting yet; cut it into convex pieces (--decompose).",
                   tgi_model_label(m, TG_THING_GEOM, g, label, sizeof label), 100 * concavity);
}

static tgStatus prepare(tgContact *c, tgError *error) {
  for (int g = 0; g < c->model->ngeom; g++) TG_TRY(check_mesh(c->model, g, error));
  c->scratch = 32 * (size_t)c->model->npair + 512 * (size_t)c->model->ngeom;   // the search for the first contact
  return TG_OK;
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
    .nonsmooth = tgi_lcp_nonsmooth,
    .touches = tgi_touches_summed,
    .touch = tgi_touch_summed,
    .rows = &tgi_lcp_rows,
};
