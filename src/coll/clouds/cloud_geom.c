// cloud_geom.c: see cloud_geom.h.
#include "coll/clouds/cloud_geom.h"

#include "base/memory.h"
#include "coll/surfaces/surface.h"

// vertices of the model are reals of either build
static double *plain(const tgReal *from, size_t n, const tgAllocator *alloc) {
  double *to = alloc->alloc(alloc->ctx, tgi_size_mul(n + 1, sizeof *to));
  for (size_t k = 0; k < n && to != NULL; k++) to[k] = tgRe(from[k]);
  return to;
}

static tgStatus of_mesh(const tgModel *m, int g, const double scale[3], double spacing, const tgAllocator *alloc,
                        tgCloud *cloud, tgError *error) {
  int mesh = m->geom_mesh[g], nvert = m->mesh_vertnum[mesh];
  double *vert = plain(m->mesh_vert + 3 * (size_t)m->mesh_vertadr[mesh], 3 * (size_t)nvert, alloc);
  if (vert == NULL) return tgi_error(error, TG_ERR_MEMORY, "out of memory for its %d vertices", nvert);
  const int *face = m->mesh_face + 3 * (size_t)m->mesh_faceadr[mesh];
  tgStatus st = tgi_cloud_mesh(vert, nvert, face, m->mesh_facenum[mesh], scale, spacing, false, alloc, cloud, error);
  alloc->free(alloc->ctx, vert);
  return st;
}

// the hull of a mesh of points, at scale 1 as vertices of its surface
static tgStatus of_hull(const tgModel *m, int g, const double scale[3], double spacing, const tgAllocator *alloc,
                        tgCloud *cloud, tgError *error) {
  static const tgReal one[3] = {1, 1, 1};
  tgiSurface s;
  TG_TRY(tgi_surface_of_geom(m, g, TGI_CHORD, &s, error));
  tgReal *at = alloc->alloc(alloc->ctx, tgi_size_mul((size_t)s.nvert, 3 * sizeof *at));
  if (at != NULL) tgi_surface_place(&s, one, at);
  double *vert = at != NULL ? plain(at, 3 * (size_t)s.nvert, alloc) : NULL;
  tgStatus st = vert != NULL ? tgi_cloud_mesh(vert, s.nvert, s.face, s.nface, scale, spacing, false, alloc, cloud, error)
                             : tgi_error(error, TG_ERR_MEMORY, "out of memory for its hull");
  alloc->free(alloc->ctx, at);
  alloc->free(alloc->ctx, vert);
  tgi_surface_free(&s);
  return st;
}

tgStatus tgi_cloud_of_geom(const tgModel *m, int g, double spacing, const tgAllocator *allocator, tgCloud *cloud, tgError *error) {
  tgAllocator alloc = tgi_allocator(allocator);
  tgError why = {.status = TG_OK};
  char geom[160], mesh[160];
  double size[3];
  *cloud = (tgCloud){0};
  for (int j = 0; j < 3; j++) size[j] = tgRe(tgi_surface_size(m, g)[j]);
  if (m->geom_type[g] != TG_GEOM_MESH) {
    tgStatus st = tgi_cloud_primitive((tgGeomType)m->geom_type[g], size, spacing, &alloc, cloud, &why);
    if (st >= 0) return st;
    return tgi_error(error, st, "%s has no points to collide with: %s.", tgi_model_label(m, TG_THING_GEOM, g, geom, sizeof geom), why.text);
  }
  bool points = m->mesh_facenum[m->geom_mesh[g]] == 0 && m->geom_hull[g] >= 0;
  tgStatus st = points ? of_hull(m, g, size, spacing, &alloc, cloud, &why) : of_mesh(m, g, size, spacing, &alloc, cloud, &why);
  if (st >= 0) return st;
  return tgi_error(error, st, "The mesh of %s (%s) has no points to collide with: %s.",
                   tgi_model_label(m, TG_THING_GEOM, g, geom, sizeof geom),
                   tgi_model_label(m, TG_THING_MESH, m->geom_mesh[g], mesh, sizeof mesh), why.text);
}
