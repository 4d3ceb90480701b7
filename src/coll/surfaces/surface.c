// surface.c: see surface.h.
#include "coll/surfaces/surface.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"

static const char *label_of(const tgModel *m, int g, char *text, size_t size) { return tgi_model_label(m, TG_THING_GEOM, g, text, size); }

static tgStatus memory(const tgModel *m, int g, tgError *error) {
  char label[160];
  return tgi_error(error, TG_ERR_MEMORY, "Out of memory for the surface of %s.", label_of(m, g, label, sizeof label));
}

static void sizes_of(const tgModel *m, int g, double size[3]) {
  for (int j = 0; j < 3; j++) size[j] = tgRe(tgi_surface_size(m, g)[j]);
}

// polygons of a hull as fans
static void hull_faces(const tgHull *h, double *vert, int *face) {
  for (int k = 0; k < 3 * h->nvert; k++) vert[k] = tgRe(h->vert[k]);
  for (int f = 0; f < h->nface; f++)
    for (int k = h->face_adr[f] + 2; k < h->face_adr[f + 1]; k++, face += 3) {
      face[0] = h->face_vert[h->face_adr[f]];
      face[1] = h->face_vert[k - 1];
      face[2] = h->face_vert[k];
    }
}

tgStatus tgi_surface_of_hull(const tgModel *m, int g, tgiSurface *surface, tgError *error) {
  const tgHull *h = &m->hull[m->geom_hull[g]];
  int nface = h->face_adr[h->nface] - 2 * h->nface;
  tgAllocator alloc = m->alloc;
  double *vert = alloc.alloc(alloc.ctx, tgi_size_mul((size_t)h->nvert, 3 * sizeof *vert) + tgi_size_mul((size_t)nface, 3 * sizeof(int)));
  if (vert == NULL) return memory(m, g, error);
  int *face = (int *)(void *)(vert + 3 * (size_t)h->nvert);
  hull_faces(h, vert, face);
  tgStatus st = tgi_surface_mesh(vert, h->nvert, face, nface, &alloc, surface, error);
  alloc.free(alloc.ctx, vert);
  return st;
}

// vertices of the model are reals of either build
static tgStatus surface_of_mesh(const tgModel *m, int g, tgiSurface *surface, tgError *error) {
  int mesh = m->geom_mesh[g];
  size_t nvert = (size_t)m->mesh_vertnum[mesh];
  const tgReal *from = m->mesh_vert + 3 * (size_t)m->mesh_vertadr[mesh];
  tgAllocator alloc = m->alloc;
  double *vert = alloc.alloc(alloc.ctx, tgi_size_mul(nvert + 1, 3 * sizeof *vert));
  if (vert == NULL) return memory(m, g, error);
  for (size_t k = 0; k < 3 * nvert; k++) vert[k] = tgRe(from[k]);
  tgStatus st = tgi_surface_mesh(vert, (int)nvert, m->mesh_face + 3 * (size_t)m->mesh_faceadr[mesh],
                                 m->mesh_facenum[mesh], &alloc, surface, error);
  alloc.free(alloc.ctx, vert);
  return st;
}

static tgStatus mesh_geom(const tgModel *m, int g, tgiSurface *surface, tgError *error) {
  char label[160], mesh[160];
  tgError why = {0};
  bool points = m->mesh_facenum[m->geom_mesh[g]] == 0 && m->geom_hull[g] >= 0;
  tgStatus st = points ? tgi_surface_of_hull(m, g, surface, &why) : surface_of_mesh(m, g, surface, &why);
  if (st >= 0) return st;
  return tgi_error(error, st, "The mesh of %s (%s) has no surface to collide with: %s.", label_of(m, g, label, sizeof label),
                   tgi_model_label(m, TG_THING_MESH, m->geom_mesh[g], mesh, sizeof mesh), why.text);
}

static bool has_core(const tgModel *m, int g) {
  return m->geom_type[g] == TG_GEOM_SPHERE || m->geom_type[g] == TG_GEOM_CAPSULE || m->geom_type[g] == TG_GEOM_ELLIPSOID;
}

// of a primitive; core: as one with a radius around it
static tgStatus primitive_geom(const tgModel *m, int g, double chord, bool core, tgiSurface *surface, tgError *error) {
  char label[160];
  double size[3];
  tgGeomType type = (tgGeomType)m->geom_type[g];
  sizes_of(m, g, size);
  tgStatus st = core ? tgi_surface_core(type, size, &m->alloc, surface) : tgi_surface_primitive(type, size, chord, &m->alloc, surface);
  if (st == TG_ERR_MEMORY) return memory(m, g, error);
  if (st < 0)
    return tgi_error(error, st, "The surface of %s cannot be made with sizes %g, %g, %g.",
                     label_of(m, g, label, sizeof label), size[0], size[1], size[2]);
  return st;
}

tgStatus tgi_surface_of_geom(const tgModel *m, int g, double chord, tgiSurface *surface, tgError *error) {
  *surface = (tgiSurface){0};
  if (m->geom_type[g] == TG_GEOM_MESH) return mesh_geom(m, g, surface, error);
  return primitive_geom(m, g, chord, false, surface, error);
}

// ---- all geoms of a model ----

static bool same_surface(const tgModel *m, int a, int b) {
  double x[3], y[3];
  if (m->geom_type[a] != m->geom_type[b]) return false;
  if (m->geom_type[a] == TG_GEOM_MESH && m->geom_mesh[a] != m->geom_mesh[b]) return false;
  if (m->geom_type[a] == TG_GEOM_SPHERE) return true;
  sizes_of(m, a, x);
  sizes_of(m, b, y);
  return x[0] == y[0] && x[1] == y[1] && x[2] == y[2];
}

static tgStatus add_geom(const tgModel *m, int g, double chord, bool cores, tgiShapes *k, tgError *error) {
  double size[3];
  char label[160];
  for (int b = 0; b < g; b++)
    if (k->surface[b] != NULL && same_surface(m, g, b)) {
      k->surface[g] = k->surface[b];
      k->tree[g] = k->tree[b];
      return TG_OK;
    }
  tgiSurface *surface = &k->surfaces[k->nsurface];
  if (cores && has_core(m, g)) TG_TRY(primitive_geom(m, g, chord, true, surface, error));
  else TG_TRY(tgi_surface_of_geom(m, g, chord, surface, error));
  sizes_of(m, g, size);
  tgiTree *tree = &k->trees[k->nsurface++];
  tgStatus st = tgi_tree_make(surface, size, &m->alloc, tree);
  if (st == TG_ERR_LIMIT)
    return tgi_error(error, st, "The surface of %s has too many faces, %d.", label_of(m, g, label, sizeof label), surface->nface);
  if (st < 0) return memory(m, g, error);
  k->surface[g] = surface;
  k->tree[g] = tree;
  return TG_OK;
}

static tgStatus add_all(const tgModel *m, double chord, bool cores, bool *touches, tgiShapes *k, tgError *error) {
  for (int p = 0; p < m->npair; p++) touches[m->pair_geom1[p]] = touches[m->pair_geom2[p]] = true;
  for (int g = 0; g < m->ngeom; g++)
    if (touches[g] && m->geom_type[g] != TG_GEOM_PLANE) TG_TRY(add_geom(m, g, chord, cores, k, error));
  return TG_OK;
}

tgStatus tgi_shapes_make(const tgModel *m, double chord, bool cores, tgiShapes *k, tgError *error) {
  size_t n = (size_t)m->ngeom, each = sizeof *k->surfaces + sizeof *k->trees + sizeof *k->surface + sizeof *k->tree + sizeof(bool);
  *k = (tgiShapes){.ngeom = m->ngeom, .alloc = m->alloc};
  k->surfaces = k->alloc.alloc(k->alloc.ctx, tgi_size_mul(n + 1, each));
  if (k->surfaces == NULL) return tgi_error(error, TG_ERR_MEMORY, "Out of memory for the surfaces of %d geoms.", m->ngeom);
  memset(k->surfaces, 0, (n + 1) * each);
  k->trees = (tgiTree *)(void *)(k->surfaces + n);
  k->surface = (const tgiSurface **)(void *)(k->trees + n);
  k->tree = (const tgiTree **)(void *)(k->surface + n);
  tgStatus st = add_all(m, chord, cores, (bool *)(k->tree + n), k, error);
  if (st < 0) tgi_shapes_free(k);
  return st;
}

// ---- moved inwards ----

// of the box around the vertices, in the geom's axes
static double half_box(const tgiSurface *s, const double size[3]) {
  double low[3] = {INFINITY, INFINITY, INFINITY}, high[3] = {-INFINITY, -INFINITY, -INFINITY}, least = INFINITY;
  for (size_t k = 0; k < (size_t)s->nvert; k++)
    for (size_t i = 0; i < 3; i++) {
      const double *c = s->coef + 9 * k + 3 * i;
      double x = c[0] * size[0] + c[1] * size[1] + c[2] * size[2];
      low[i] = fmin(low[i], x);
      high[i] = fmax(high[i], x);
    }
  // a flat mesh has no thickness that could be used up
  for (int i = 0; i < 3; i++)
    if (high[i] - low[i] > 1e-9 * size[i]) least = fmin(least, (high[i] - low[i]) / 2);
  return least;
}

double tgi_shape_half_width(const tgModel *m, const tgiShapes *k, int g) {
  double size[3];
  sizes_of(m, g, size);
  const tgiSurface *s = k->surface[g];
  double least = fmin(size[0], fmin(size[1], size[2]));
  if (s->oval) return least * least / fmax(size[0], fmax(size[1], size[2]));   // its least radius of curvature
  return s->core ? s->radius[0] * size[0] + s->radius[1] * size[1] + s->radius[2] * size[2] : half_box(s, size);
}

double tgi_shape_most_rounding(const tgModel *m, const tgiShapes *k, int g) {
  double size[3], most = INFINITY;
  const tgiSurface *s = k->surface[g];
  if (!s->rounds) return INFINITY;
  if (m->geom_type[g] == TG_GEOM_MESH) return tgi_shape_half_width(m, k, g);
  sizes_of(m, g, size);
  for (int j = 0; j < 3; j++)
    if (s->shrink[j] > 0) most = fmin(most, size[j] / s->shrink[j]);
  return most;
}

tgStatus tgi_shape_check_rounding(const tgModel *m, const tgiShapes *k, int g, double rounding, tgStatus refused, tgError *error) {
  double most = k->surface[g] != NULL ? tgi_shape_most_rounding(m, k, g) : INFINITY;
  char label[160];
  if (rounding < most) return TG_OK;
  return tgi_error(error, refused, "Contact option rounding is %g m, and %s has room for less than %.6g m, its half width; give less.",
                   rounding, label_of(m, g, label, sizeof label), most);
}

tgStatus tgi_shapes_inwards(const tgModel *m, tgiShapes *k, tgError *error) {
  for (int g = 0; g < m->ngeom; g++) {
    if (k->surface[g] == NULL || k->surface[g]->core || k->surface[g]->inwards != NULL) continue;
    double size[3];
    sizes_of(m, g, size);
    if (tgi_surface_inwards(&k->surfaces[k->surface[g] - k->surfaces], size) < 0) return memory(m, g, error);
  }
  return TG_OK;
}

void tgi_shapes_free(tgiShapes *k) {
  if (k == NULL || k->surfaces == NULL) return;
  for (int i = 0; i < k->nsurface; i++) {
    tgi_surface_free(&k->surfaces[i]);
    tgi_tree_free(&k->trees[i]);
  }
  k->alloc.free(k->alloc.ctx, k->surfaces);
  k->surfaces = NULL;
}
