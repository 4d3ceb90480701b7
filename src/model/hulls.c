// hulls.c: convex hulls of the meshes that may touch.
#include <math.h>

#include "base/status.h"
#include "geom/mesh_check.h"
#include "geom/tessellate.h"
#include "model/compile.h"

// an open or inconsistently wound mesh still has a hull; what its own surface would give is not to be trusted
static tgStatus border_note(tgCompile *c, const tgGeomDesc *g, const tgMeshDesc *mesh, const char *label) {
  tgMeshCheck check;
  if (tgi_mesh_check(mesh->vert, mesh->nvert, mesh->face, mesh->nface, &c->alloc, &check) < 0)
    return tgi_error(c->error, TG_ERR_MEMORY, "out of memory for the edges of a mesh");
  const char *name = mesh->name == NULL ? "" : mesh->name;
  int first, ndegenerate = tgi_surface_degenerate(mesh->vert, mesh->face, mesh->nface, &first);
  if (ndegenerate > 0)
    TG_TRY(tgi_compile_noted(c, tg_desc_add_note(c->desc, TG_NOTE_SKIPPED, g->source,
                                                 "%s: mesh '%s' has %d degenerate faces, the first is %d; contact "
                                                 "between triangles leaves them out", label, name, ndegenerate,
                                                 first)));
  if (check.nopen > 0)
    TG_TRY(tgi_compile_noted(c, tg_desc_add_note(c->desc, TG_NOTE_WARNING, g->source,
                     "%s: mesh '%s' is open: %d edges in %d pieces of border, the first between vertices %d and %d of face %d; "
                     "its convex hull collides", label, name, check.nopen, check.nloop, check.open_edge[0], check.open_edge[1],
                     check.open_face)));
  if (check.nwinding > 0)
    TG_TRY(tgi_compile_noted(c, tg_desc_add_note(c->desc, TG_NOTE_WARNING, g->source,
                     "%s: mesh '%s' is wound inconsistently at %d edges, the first between vertices %d and %d; its convex hull collides",
                     label, name, check.nwinding, check.winding_edge[0], check.winding_edge[1])));
  if (check.nopen == 0 && check.nwinding == 0 && check.volume < 0)
    TG_TRY(tgi_compile_noted(c, tg_desc_add_note(c->desc, TG_NOTE_WARNING, g->source,
                                                 "%s: mesh '%s' is inside out; its convex hull collides", label,
                                                 name)));
  return TG_OK;
}

static tgStatus mesh_hull(tgCompile *c, int geom, tgHullOwned **hull) {
  const tgGeomDesc *g = &c->desc->geom[geom];
  const tgMeshDesc *mesh = &c->desc->mesh[g->mesh];
  char label[128];
  tgError why = {0};
  tgi_desc_label("geom", g->name, geom, label, sizeof label);
  tgStatus st = tgi_hull_from_points(mesh->vert, mesh->nvert, &c->alloc, hull, &why);
  if (st < 0)
    return tgi_compile_error(c, st, g->source, label, "mesh '%s' has no convex hull to collide with: %s",
                             mesh->name == NULL ? "" : mesh->name, why.text);
  double concavity = tgi_hull_concavity(&(*hull)->hull, mesh->vert, mesh->nvert, mesh->face, mesh->nface);
  if (concavity > TGI_HULL_CONCAVE)
    TG_TRY(tgi_compile_noted(c, tg_desc_add_note(c->desc, TG_NOTE_WARNING, g->source,
                                                 "%s: mesh '%s' is not convex; under lcp its convex hull collides instead "
                                                 "(%.0f %% more volume); decompose (tangere: --decompose) cuts it into "
                                                 "pieces", label, mesh->name == NULL ? "" : mesh->name,
                                                 100 * concavity)));
  return border_note(c, g, mesh, label);
}

// the hull of a geom's mesh, which other geoms of that mesh share
static tgStatus geom_hull(tgCompile *c, int geom, int *of_mesh) {
  int mesh = c->desc->geom[geom].mesh;
  tgHullOwned *hull = NULL;
  tgStatus st = of_mesh[mesh] >= 0 ? TG_OK : mesh_hull(c, geom, &hull);
  if (hull != NULL) {
    of_mesh[mesh] = c->nhull;
    c->hull[c->nhull++] = hull;  // freed with c, whatever else went wrong
  }
  if (st == TG_ERR_MEMORY) return tgi_error(c->error, st, "out of memory for the convex hull of geom %d", geom);
  c->geom_hull[geom] = of_mesh[mesh];
  return st < 0 ? st : TG_OK;
}

tgStatus tgi_compile_hulls(tgCompile *c) {
  int ngeom = c->desc->ngeom, nmesh = c->desc->nmesh;
  int *touches = c->alloc.alloc(c->alloc.ctx, ((size_t)ngeom + (size_t)nmesh + 1) * sizeof *touches);
  if (touches == NULL) return tgi_error(c->error, TG_ERR_MEMORY, "out of memory for the hulls of %d geoms", ngeom);
  int *of_mesh = touches + ngeom;
  for (int g = 0; g < ngeom; g++) touches[g] = 0;
  for (int i = 0; i < nmesh; i++) of_mesh[i] = -1;
  for (int p = 0; p < c->npair; p++) touches[c->pair[p][0]] = touches[c->pair[p][1]] = 1;
  tgStatus st = TG_OK;
  for (int g = 0; g < ngeom; g++) c->geom_hull[g] = -1;
  for (int g = 0; g < ngeom && st == TG_OK; g++)
    if (c->desc->geom[g].type == TG_GEOM_MESH && touches[c->geom_to[g]]) st = geom_hull(c, g, of_mesh);
  c->alloc.free(c->alloc.ctx, touches);
  return st;
}

double tgi_geom_radius(const tgCompile *c, int geom) {
  const tgGeomDesc *g = &c->desc->geom[geom];
  const double *s = g->size;
  switch (g->type) {
    case TG_GEOM_PLANE: return 0;
    case TG_GEOM_SPHERE: return s[0];
    case TG_GEOM_CAPSULE: return s[0] + s[1];
    case TG_GEOM_CYLINDER: return sqrt(s[0] * s[0] + s[1] * s[1]);
    case TG_GEOM_ELLIPSOID: return fmax(s[0], fmax(s[1], s[2]));
    case TG_GEOM_BOX: return sqrt(s[0] * s[0] + s[1] * s[1] + s[2] * s[2]);
    case TG_GEOM_MESH: break;
  }
  const tgMeshDesc *mesh = &c->desc->mesh[g->mesh];
  double r = 0;
  for (int i = 0; i < mesh->nvert; i++) {
    const double *v = mesh->vert + 3 * i;
    r = fmax(r, v[0] * v[0] + v[1] * v[1] + v[2] * v[2]);
  }
  return sqrt(r);
}
