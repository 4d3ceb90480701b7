// reduce.c: tg_desc_reduce: mesh geoms collide as a mesh of few triangles, chosen by meshoptimizer (geom/simplify.h), and how far that is
// from theirs is measured here.
//
// A geom keeps its mesh, mass and looks and loses its contacts; a geom of the same body with the reduced mesh has them and weighs nothing.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/status.h"
#include "coll/reduce.h"
#include "coll/surfaces/distance_grid.h"
#include "geom/simplify.h"
#include "tangere/geometry.h"

enum { LEAST = 4, COLLISION_GROUP = 3 };     // MuJoCo's habit: group 3 is for collision, not drawn

typedef struct Reduce {
  tgDesc *desc;
  int budget;
  tgAllocator alloc;
  tgError *error;
} Reduce;

static tgStatus memory(const Reduce *r) { return tgi_error(r->error, TG_ERR_MEMORY, "out of memory for the reduced meshes"); }
static tgStatus noted(const Reduce *r, int note) { return note >= 0 ? TG_OK : memory(r); }

// its name, or that of its file without the folders; a URDF's mesh is named by its path
static const char *mesh_label(const tgMeshDesc *m) {
  const char *name = m->name != NULL ? m->name : m->file != NULL ? m->file : "without name", *slash = strrchr(name, '/');
  return slash != NULL && slash[1] != '\0' ? slash + 1 : name;
}

static tgiFaces faces_of(const tgMeshDesc *m) { return (tgiFaces){m->vert, m->nvert, m->face, m->nface}; }

// ---- a mesh ----

// the triangles with only the vertices that they use; *to owns its arrays
typedef struct Kept { double *vert; int *face; int nvert, nface; } Kept;

static void forget(const Reduce *r, Kept *k) {
  r->alloc.free(r->alloc.ctx, k->vert);
  r->alloc.free(r->alloc.ctx, k->face);
  *k = (Kept){0};
}

static void renumber(const tgMeshDesc *m, int *number, Kept *k) {
  k->nvert = 0;
  for (int i = 0; i < m->nvert; i++) number[i] = -1;
  for (int c = 0; c < 3 * k->nface; c++) {
    int v = k->face[c];
    if (number[v] < 0) {
      memcpy(k->vert + 3 * (size_t)k->nvert, m->vert + 3 * (size_t)v, 3 * sizeof *k->vert);
      number[v] = k->nvert++;
    }
    k->face[c] = number[v];
  }
}

static tgStatus simplify(const Reduce *r, const tgMeshDesc *m, int budget, Kept *k) {
  tgError why = {0};
  *k = (Kept){0};
  k->face = r->alloc.alloc(r->alloc.ctx, tgi_size_mul(3 * (size_t)m->nface, sizeof *k->face));
  k->vert = r->alloc.alloc(r->alloc.ctx, tgi_size_mul(3 * (size_t)m->nvert, sizeof *k->vert));
  int *number = r->alloc.alloc(r->alloc.ctx, tgi_size_mul((size_t)m->nvert, sizeof *number));
  bool room = k->face != NULL && k->vert != NULL && number != NULL;
  tgStatus status = room ? tgi_simplify(m->vert, m->nvert, m->face, m->nface, budget, &r->alloc, k->face, &k->nface, &why) : TG_ERR_MEMORY;
  if (status == TG_OK) renumber(m, number, k);
  r->alloc.free(r->alloc.ctx, number);
  if (status == TG_OK || status == TG_ERR_INVALID) return status;
  forget(r, k);
  return status == TG_ERR_MEMORY ? memory(r) : tgi_error(r->error, status, "mesh %s cannot be reduced: %s", mesh_label(m), why.text);
}

// The mesh of about the budget, or of twice as often as it takes for a closed one to stay closed; k->nface 0: it stays whole.
static tgStatus choose(const Reduce *r, const tgMeshDesc *m, const tgiTopology *before, tgiTopology *after, Kept *k) {
  for (int budget = r->budget; budget < m->nface; budget *= 2) {
    tgStatus status = simplify(r, m, budget, k);
    if (status < 0 && status != TG_ERR_INVALID) return status;
    if (status == TG_OK && k->nface < m->nface) {
      tgiFaces faces = {k->vert, k->nvert, k->face, k->nface};
      if (tgi_reduce_topology(&faces, &r->alloc, after) < 0) return forget(r, k), memory(r);
      if (after->nopen + after->nodd == 0 || before->nopen + before->nodd > 0) return TG_OK;
    }
    forget(r, k);
    if (budget > m->nface / 2) break;
  }
  return TG_OK;
}

// is it the border of a solid?
static tgStatus is_solid(const Reduce *r, const tgiFaces *m, bool *solid) {
  tgiSurface surface;
  tgError why = {0};
  *solid = false;
  tgStatus status = tgi_surface_mesh(m->vert, m->nvert, m->face, m->nface, &r->alloc, &surface, &why);
  if (status < 0) return status == TG_ERR_MEMORY ? memory(r) : TG_OK;
  double *vert = r->alloc.alloc(r->alloc.ctx, tgi_size_mul(3 * (size_t)surface.nvert, sizeof *vert));
  status = TG_ERR_MEMORY;
  if (vert != NULL) {
    tgi_surface_place(&surface, (tgReal[3]){1, 1, 1}, vert);
    status = tgi_surface_check_solid(&surface, vert, &r->alloc, &why);
    *solid = status == TG_OK;
  }
  r->alloc.free(r->alloc.ctx, vert);
  tgi_surface_free(&surface);
  return status == TG_ERR_MEMORY ? memory(r) : TG_OK;
}

static void append(char *text, size_t size, const char *format, int a, int b) {
  size_t used = strlen(text);
  if (used < size) snprintf(text + used, size - used, format, a, b);
}

// what is lost, in words
static tgStatus losses(const Reduce *r, const tgMeshDesc *m, const Kept *k, const tgiTopology *before, const tgiTopology *after, char *text,
                       size_t size) {
  tgiFaces was = faces_of(m), is = {k->vert, k->nvert, k->face, k->nface};
  bool solid, still = true;
  text[0] = '\0';
  if (k->nface > r->budget)
    append(text, size, "; the budget of %d is not reached without turning triangles over or opening it", r->budget, 0);
  if (after->parts < before->parts)
    append(text, size, "; %d of its %d separate parts are lost", before->parts - after->parts, before->parts);
  if (before->holes >= 0 && after->holes >= 0 && after->holes < before->holes)
    append(text, size, "; %d of its %d holes are lost", before->holes - after->holes, before->holes);
  TG_TRY(is_solid(r, &was, &solid));
  if (solid) TG_TRY(is_solid(r, &is, &still));
  if (after->npinched > before->npinched)
    append(text, size, "; %d edges have more than two faces: holes or thin walls are lost there", after->npinched, 0);
  else if (!still)
    append(text, size, "; it meets itself, walls or gaps are thinner than that", 0, 0);
  return TG_OK;
}

// desc->mesh[mesh] reduced: *made is the number of the new mesh, -1: it stays as it is
static tgStatus reduce_mesh(const Reduce *r, int mesh, int *made) {
  tgDesc *d = r->desc;
  const tgMeshDesc *m = &d->mesh[mesh];
  tgiFaces was = faces_of(m);
  tgiTopology before, after;
  tgiFarthest far;
  Kept k;
  char name[256], lost[400];
  *made = -1;
  if (tgi_reduce_topology(&was, &r->alloc, &before) < 0) return memory(r);
  TG_TRY(choose(r, m, &before, &after, &k));
  if (k.nface == 0)
    return noted(r, tg_desc_add_note(d, TG_NOTE_WARNING, m->source,
                                     "mesh %s collides with all its %d triangles: with fewer it would not stay closed",
                                     mesh_label(m), m->nface));
  tgiFaces is = {k.vert, k.nvert, k.face, k.nface};
  tgStatus status = tgi_reduce_distance(&was, &is, &r->alloc, &far) < 0 ? memory(r) : TG_OK;
  if (status == TG_OK) status = losses(r, m, &k, &before, &after, lost, sizeof lost);
  if (status == TG_OK)
    status = noted(r, tg_desc_add_note(d, TG_NOTE_WARNING, m->source,
                                       "mesh %s of %d triangles collides as %d: at most %.2g m off, "
                                       "the farthest at (%.4g %.4g %.4g) of %s%s",
                                       mesh_label(m), m->nface, k.nface, far.most, far.at[0], far.at[1], far.at[2],
                                       far.after ? "the fewer" : "the mesh", lost));
  if (status == TG_OK) {
    snprintf(name, sizeof name, "%.200s/reduced", m->name != NULL ? m->name : "mesh");
    tgSource source = m->source;
    *made = tg_desc_add_mesh(d, name, k.vert, k.nvert, k.face, k.nface);
    if (*made < 0) status = memory(r);
    else d->mesh[*made].source = source;
  }
  forget(r, &k);
  return status;
}

// ---- geoms and pairs ----

// a geom with mesh `mesh` takes over what touches `geom`
static tgStatus stand_in(const Reduce *r, int geom, int mesh) {
  tgDesc *d = r->desc;
  char name[256] = "";
  tgGeomDesc g = d->geom[geom];
  if (g.name != NULL && g.name[0] != '\0') snprintf(name, sizeof name, "%.200s/reduced", g.name);
  int i = tg_desc_add_geom(d, g.body, TG_GEOM_MESH, name[0] != '\0' ? name : NULL);
  if (i < 0) return memory(r);
  g.name = d->geom[i].name;
  g.mesh = mesh;
  g.mass = g.density = 0;
  g.group = COLLISION_GROUP;
  d->geom[i] = g;
  d->geom[geom].contype = d->geom[geom].conaffinity = 0;
  for (int p = 0; p < d->npair; p++) {
    if (d->pair[p].geom1 == geom) d->pair[p].geom1 = i;
    if (d->pair[p].geom2 == geom) d->pair[p].geom2 = i;
  }
  return TG_OK;
}

static bool paired(const tgDesc *d, int geom) {
  for (int p = 0; p < d->npair; p++)
    if (d->pair[p].geom1 == geom || d->pair[p].geom2 == geom) return true;
  return false;
}

// made: by mesh of the desc as given, the mesh that stands in for it; -1: it stays, -2: not looked at yet
static tgStatus run(const Reduce *r, int *made) {
  tgDesc *d = r->desc;
  int ngeom = d->ngeom;
  for (int m = 0; m < d->nmesh; m++) made[m] = -2;
  for (int g = 0; g < ngeom; g++) {
    const tgGeomDesc *geom = &d->geom[g];
    int mesh = geom->mesh;
    if (geom->type != TG_GEOM_MESH || geom->visual_only || (geom->contype == 0 && geom->conaffinity == 0 && !paired(d, g))) continue;
    if (d->mesh[mesh].nface <= r->budget) continue;
    if (made[mesh] == -2) TG_TRY(reduce_mesh(r, mesh, &made[mesh]));
    if (made[mesh] >= 0) TG_TRY(stand_in(r, g, made[mesh]));
  }
  return TG_OK;
}

static tgStatus check(const tgDesc *d, tgError *error) {
  for (int g = 0; g < d->ngeom; g++)
    if (d->geom[g].type == TG_GEOM_MESH && (d->geom[g].mesh < 0 || d->geom[g].mesh >= d->nmesh))
      return tgi_error(error, TG_ERR_ARG, "geom %d: mesh %d does not exist", g, d->geom[g].mesh);
  for (int m = 0; m < d->nmesh; m++) {
    const tgMeshDesc *mesh = &d->mesh[m];
    for (int k = 0; k < 3 * mesh->nface; k++)
      if (mesh->face[k] < 0 || mesh->face[k] >= mesh->nvert)
        return tgi_error(error, TG_ERR_ARG, "mesh %s: face %d uses vertex %d of %d", mesh_label(mesh), k / 3, mesh->face[k], mesh->nvert);
    for (int k = 0; k < 3 * mesh->nvert; k++)
      if (!isfinite(mesh->vert[k])) return tgi_error(error, TG_ERR_NOT_FINITE, "mesh %s: vertex %d is not finite", mesh_label(mesh), k / 3);
  }
  return TG_OK;
}

const char *tg_reducer(void) { return tgi_simplifier(); }

tgStatus tg_desc_reduce(tgDesc *desc, int triangles, tgError *error) {
  if (error != NULL) *error = (tgError){0};
  if (desc == NULL) return tgi_error(error, TG_ERR_ARG, "no description given");
  if (triangles < LEAST) return tgi_error(error, TG_ERR_ARG, "contact triangles %d: a mesh needs %d at least", triangles, LEAST);
  TG_TRY(check(desc, error));
  Reduce r = {.desc = desc, .budget = triangles, .alloc = tgi_allocator(NULL), .error = error};
  int *made = r.alloc.alloc(r.alloc.ctx, tgi_size_mul((size_t)desc->nmesh + 1, sizeof *made));
  if (made == NULL) return memory(&r);
  tgStatus status = run(&r, made);
  r.alloc.free(r.alloc.ctx, made);
  return status;
}
