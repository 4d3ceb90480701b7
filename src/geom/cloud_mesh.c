// cloud_mesh.c: meshes become clouds: is it a closed surface, then sites beside its creases, sites all over, their patches.
#include "geom/cloud_mesh.h"

#include <stdio.h>
#include <string.h>

#include "geom/mesh_check.h"
#include "geom/tessellate.h"

#define FARTHEST 1e12  // of a vertex, in spacings: below, cells of points are told apart

// an edge with what a user needs to find it
typedef struct Edge {
  char text[200];
} Edge;

static Edge describe(const double *vert, const int edge[2]) {
  const double *a = vert + 3 * (size_t)edge[0], *b = vert + 3 * (size_t)edge[1];
  Edge e;
  snprintf(e.text, sizeof e.text, "vertices %d (%g %g %g) and %d (%g %g %g)", edge[0], a[0], a[1], a[2], edge[1], b[0], b[1], b[2]);
  return e;
}

static tgStatus refuse(const tgMeshCheck *c, const double *vert, tgError *error) {
  if (c->nopen > 0)
    return tgi_error(error, TG_ERR_INVALID,
                     "it is not closed: %d open edges in %d pieces of border, the first between %s of face %d; close "
                     "it", c->nopen, c->nloop, describe(vert, c->open_edge).text, c->open_face);
  if (c->ncrowded > 0)
    return tgi_error(error, TG_ERR_INVALID,
                     "it has %d edges of three or more faces that bound no solid, the first between %s; remove inner "
                     "faces", c->ncrowded, describe(vert, c->crowded_edge).text);
  if (c->nwinding > 0)
    return tgi_error(error, TG_ERR_INVALID,
                     "it is wound inconsistently at %d edges, the first between %s of faces %d and %d; turn the faces "
                     "over or repair it", c->nwinding, describe(vert, c->winding_edge).text, c->winding_face[0],
                     c->winding_face[1]);
  if (c->extent != TG_EXTENT_SOLID || c->no_volume)
    return tgi_error(error, TG_ERR_INVALID, "it is %s and encloses no volume", tgi_extent_word(c->extent));
  if (c->volume < 0)
    return tgi_error(error, TG_ERR_INVALID,
                     "it is inside out: its faces point inwards (volume %g m^3); reverse them or repair it", c->volume);
  return TG_OK;
}

// faces by welded vertices, without those that have a vertex twice; from: their numbers in the mesh
static int weld_faces(const int *face, int nface, const int *same, int *welded, int *from) {
  int n = 0;
  for (int f = 0; f < nface; f++) {
    int v[3];
    for (int c = 0; c < 3; c++) v[c] = same[face[3 * (size_t)f + c]];
    if (v[0] == v[1] || v[1] == v[2] || v[2] == v[0]) continue;
    memcpy(welded + 3 * (size_t)n, v, sizeof v);
    from[n++] = f;
  }
  return n;
}

// what is wrong with the surface, in vertices and faces of the mesh as it was given
static tgStatus look(const double *vert, int nvert, const int *face, int n, const int *from, const tgAllocator *alloc,
                     tgMeshCheck *c, tgError *error) {
  TG_TRY(tgi_mesh_check(vert, nvert, face, n, alloc, c));
  if (n == 0) return tgi_error(error, TG_ERR_INVALID, "none of its faces has three vertices at different places");
  c->open_face = from[c->open_face];
  for (int i = 0; i < 2; i++) c->winding_face[i] = from[c->winding_face[i]];
  return TG_OK;
}

// the closed surface at the (absolute) scale: vertices and welded faces
typedef struct Solid {
  int n, nflip, *face, *from;
  double *vert, area;
} Solid;

static tgStatus take_solid(const double *vert, int nvert, const int *face, int nface, const double scale[3],
                           bool repair, tgiBlocks *blocks, Solid *s, tgError *error) {
  int *same = tgi_blocks_take(blocks, (size_t)nvert, sizeof *same);
  s->face = tgi_blocks_take(blocks, 3 * (size_t)nface, sizeof *s->face);
  s->from = tgi_blocks_take(blocks, (size_t)nface, sizeof *s->from);
  s->vert = tgi_blocks_take(blocks, 3 * (size_t)nvert, sizeof *s->vert);
  if (same == NULL || s->face == NULL || s->from == NULL || s->vert == NULL) return TG_ERR_MEMORY;
  TG_TRY(tgi_mesh_weld(vert, nvert, face, nface, &blocks->alloc, same, error));
  s->n = weld_faces(face, nface, same, s->face, s->from);
  tgMeshCheck check;
  TG_TRY(look(vert, nvert, s->face, s->n, s->from, &blocks->alloc, &check, error));
  if (repair && check.nopen == 0 && check.ncrowded == 0 && (check.nwinding > 0 || check.volume < 0)) {
    TG_TRY(tgi_mesh_orient(vert, nvert, s->face, s->n, &blocks->alloc, &s->nflip, error));
    TG_TRY(look(vert, nvert, s->face, s->n, s->from, &blocks->alloc, &check, error));
  }
  TG_TRY(refuse(&check, vert, error));
  for (size_t k = 0; k < 3 * (size_t)nvert; k++) s->vert[k] = fabs(scale[k % 3]) * vert[k];
  tgi_blocks_give(blocks, same);
  return TG_OK;
}

static tgStatus check_spacing(const Solid *s, int nvert, double spacing, tgError *error) {
  double area = 0;
  for (int f = 0; f < s->n; f++) {
    const int *v = s->face + 3 * (size_t)f;
    double a[3], b[3], n[3];
    tgi_d3_sub(a, s->vert + 3 * (size_t)v[1], s->vert + 3 * (size_t)v[0]);
    tgi_d3_sub(b, s->vert + 3 * (size_t)v[2], s->vert + 3 * (size_t)v[0]);
    tgi_d3_cross(n, a, b);
    area += 0.5 * tgi_d3_norm(n);
  }
  for (size_t k = 0; k < 3 * (size_t)nvert; k++)
    if (!(fabs(s->vert[k]) < FARTHEST * spacing))
      return tgi_error(error, TG_ERR_LIMIT, "its vertex %d is more than %g spacings of %g m from its origin",
                       (int)(k / 3), FARTHEST, spacing);
  return tgi_cloud_fits(area / spacing / spacing, spacing, error);
}

static tgStatus make(const double *vert, int nvert, const int *face, int nface, const double scale[3], double spacing,
                     bool repair, tgiBlocks *blocks, tgCloud *cloud, tgError *error) {
  Solid solid = {0};
  tgiFine fine;
  tgiSites sites = {0};
  TG_TRY(take_solid(vert, nvert, face, nface, scale, repair, blocks, &solid, error));
  TG_TRY(check_spacing(&solid, nvert, spacing, error));
  TG_TRY(tgi_fine_make(solid.vert, nvert, solid.face, solid.n, spacing, blocks, &fine, error));
  int *owner = tgi_blocks_take(blocks, (size_t)fine.nface, sizeof *owner);
  if (owner == NULL) return TG_ERR_MEMORY;
  TG_TRY(tgi_sites_beside_creases(&fine, blocks, &sites, error));
  TG_TRY(tgi_sites_spread(&fine, blocks, &sites, owner, error));
  TG_TRY(tgi_cloud_assemble(&fine, &sites, owner, blocks, cloud));
  cloud->nflip = solid.nflip;
  return TG_OK;
}

// from the scale it was made at to scale 1: places by S^-1, vector areas by cof(S)^-1
static void to_unit(const double scale[3], tgCloud *cloud) {
  double s[3] = {fabs(scale[0]), fabs(scale[1]), fabs(scale[2])};
  for (int k = 0; k < 3 * cloud->n; k++) {
    cloud->unit[k] /= s[k % 3];
    cloud->extent[k] /= s[(k + 1) % 3] * s[(k + 2) % 3];
  }
  for (int k = 0; k < 3 * cloud->nvert; k++) cloud->vert_unit[k] /= s[k % 3];
}

tgStatus tgi_cloud_mesh(const double *vert, int nvert, const int *face, int nface, const double scale[3], double spacing, bool repair,
                        const tgAllocator *allocator, tgCloud *cloud, tgError *error) {
  *cloud = (tgCloud){0};
  TG_TRY(tgi_cloud_spacing(spacing, error));
  for (int i = 0; i < 3; i++)
    if (!(scale[i] != 0 && isfinite(scale[i])))
      return tgi_error(error, TG_ERR_ARG, "its scale %d is %g, not finite and other than 0", i, scale[i]);
  tgiBlocks blocks = {.alloc = tgi_allocator(allocator)};
  tgStatus st = make(vert, nvert, face, nface, scale, spacing, repair, &blocks, cloud, error);
  tgi_blocks_free(&blocks);
  if (st == TG_ERR_MEMORY) tgi_error(error, st, "out of memory for its points");
  if (st < 0) return st;
  to_unit(scale, cloud);
  tgReal sizes[3] = {scale[0], scale[1], scale[2]};
  return tgi_cloud_resize(cloud, sizes);
}
