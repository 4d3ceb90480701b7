// convex.c: tg_desc_decompose: mesh geoms that are not convex collide as the convex pieces of their mesh, which are kept in files.
//
// A geom keeps its mesh, mass and looks and loses its contacts; its pieces have them, weigh nothing, and are geoms of the same
// body, which never touch each other. A piece's frame is at the middle of its box, so that its bounding sphere is small.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/atomic_file.h"
#include "tangere/base.h"
#include "base/memory.h"
#include "base/status.h"
#include "geom/decompose.h"
#include "geom/hull.h"
#include "geom/mesh_check.h"
#include "io/file.h"
#include "io/mjcf.h"
#include "tangere/desc.h"

enum { PATH_SIZE = 1400, COLLISION_GROUP = 3 };     // MuJoCo's habit: group 3 is for collision, not drawn

typedef struct Convex {
  tgDesc *desc;
  const tgLoadOptions *options;
  tgAllocator alloc;
  tgError *error;
  int *mesh_first, *mesh_count;        // by mesh of the desc as given: its pieces among the meshes; count 0: it stays whole
  int *geom_first;                     // by geom as given: its pieces among the geoms; -1: it stays
  double (*middle)[3];                 // by piece: where its frame is in the frame of its mesh
  int nmiddle, room;
} Convex;

static tgStatus memory(const Convex *c) { return tgi_error(c->error, TG_ERR_MEMORY, "out of memory for the convex pieces of meshes"); }

static const char *mesh_label(const tgMeshDesc *m) { return m->file != NULL ? m->file : m->name != NULL ? m->name : "without name"; }

static tgStatus noted(const Convex *c, int note) { return note >= 0 ? TG_OK : memory(c); }

// ---- the files that keep pieces ----

static uint64_t key_of(const tgMeshDesc *m, double threshold) {
  const char *tool = tgi_decomposer();
  uint64_t h = tg_hash(TG_HASH_START, tool, strlen(tool) + 1);
  h = tg_hash(h, &threshold, sizeof threshold);
  h = tg_hash(h, &m->nvert, sizeof m->nvert);
  h = tg_hash(h, &m->nface, sizeof m->nface);
  h = tg_hash(h, m->vert, 3 * (size_t)m->nvert * sizeof *m->vert);
  return tg_hash(h, m->face, 3 * (size_t)m->nface * sizeof *m->face);
}

// beside the mesh (0) or in the cache folder (1); false: there is no such place
static bool cache_path(const Convex *c, const tgMeshDesc *m, uint64_t key, int place, char *path, size_t size) {
  char name[PATH_SIZE];
  const char *slash = m->file != NULL ? strrchr(m->file, '/') : NULL;
  const char *base = m->file == NULL ? "mesh" : slash != NULL ? slash + 1 : m->file;
  if (place == 0 && m->file == NULL) return false;
  if (place == 1 && c->options->cache_directory == NULL) return false;
  int n = snprintf(name, sizeof name, "%s.%016llx.pieces", place == 0 ? m->file : base, (unsigned long long)key);
  return n > 0 && (size_t)n < sizeof name && tgi_path_join(path, size, place == 0 ? NULL : c->options->cache_directory, name);
}

// *found false: no such file, or none to be used, which a note says
static tgStatus read_cache(const Convex *c, const tgMeshDesc *m, uint64_t key, const char *path, tgPieces *pieces, bool *found) {
  tgLoadOptions o = *c->options;
  tgError why = {0}, absent = {0};
  tgFile file;
  double low[3], high[3];
  o.nasset_root = o.npackage = 0;
  *found = false;
  tgFileSet *files = tgi_files_for_model(path, &o, &absent);
  const char *slash = strrchr(path, '/');
  if (files != NULL && tgi_file_open(files, 0, slash != NULL ? slash + 1 : path, &file, &absent) == TG_OK) {
    tgi_decompose_box(m->vert, m->nvert, low, high);
    tgStatus status = tgi_pieces_decode(file.data, file.size, key, low, high, &c->alloc, pieces, &why);
    *found = status == TG_OK;
    tgi_file_close(files, &file);
  }
  tgi_files_free(files);
  if (why.status == TG_ERR_MEMORY || absent.status == TG_ERR_MEMORY) return memory(c);
  if (why.status == TG_OK) return TG_OK;
  return noted(c, tg_desc_add_note(c->desc, TG_NOTE_WARNING, m->source, "%s is not used, %s; the pieces are made anew", path, why.text));
}

static tgStatus write_file(const char *path, const char *bytes, size_t size, tgError *why) {
  tgAtomicFile file;
  TG_TRY(tgi_atomic_open(&file, path, why));
  if (fwrite(bytes, 1, size, file.stream) == size) return tgi_atomic_commit(&file, why);
  tgi_atomic_discard(&file);
  return tgi_error(why, TG_ERR_FILE, "%s cannot be written", path);
}

static tgStatus write_cache(const Convex *c, const tgMeshDesc *m, uint64_t key, const tgPieces *pieces) {
  char path[PATH_SIZE];
  tgError why = {.text = "there is no file beside which to keep them, nor a cache folder"};
  size_t size = tgi_pieces_size(pieces);
  char *bytes = c->alloc.alloc(c->alloc.ctx, size);
  if (bytes == NULL) return memory(c);
  tgi_pieces_encode(pieces, key, bytes);
  tgStatus status = TG_ERR_FILE;
  for (int place = 0; place < 2 && status < 0; place++)
    if (cache_path(c, m, key, place, path, sizeof path)) status = write_file(path, bytes, size, &why);
  c->alloc.free(c->alloc.ctx, bytes);
  if (status == TG_OK) return TG_OK;
  return noted(c, tg_desc_add_note(c->desc, TG_NOTE_WARNING, m->source, "the convex pieces of mesh %s are not kept for the next time: %s",
                                   mesh_label(m), why.text));
}

static tgStatus find_pieces(const Convex *c, const tgMeshDesc *m, tgPieces *pieces) {
  char path[PATH_SIZE];
  bool found = false;
  tgError why = {0};
  uint64_t key = key_of(m, c->options->decompose_threshold);
  for (int place = 0; place < 2 && !found; place++)
    if (cache_path(c, m, key, place, path, sizeof path)) TG_TRY(read_cache(c, m, key, path, pieces, &found));
  if (found) return TG_OK;
  tgStatus status = tgi_decompose(m->vert, m->nvert, m->face, m->nface, c->options->decompose_threshold, &c->alloc, pieces, &why);
  if (status < 0) return tgi_error(c->error, status, "mesh %s cannot be cut into convex pieces: %s", mesh_label(m), why.text);
  status = write_cache(c, m, key, pieces);
  if (status < 0) tgi_pieces_free(pieces);
  return status;
}

// ---- meshes ----

// whether the mesh is other than its hull: by volume, or not to be told because the surface is open or wound both ways
static tgStatus is_concave(const Convex *c, const tgMeshDesc *m, bool *concave) {
  tgHullOwned *hull;
  tgMeshCheck check;
  *concave = false;
  if (m->nface == 0) return TG_OK;                                       // points alone are their hull
  tgStatus status = tgi_hull_from_points(m->vert, m->nvert, &c->alloc, &hull, NULL);
  if (status == TG_ERR_MEMORY) return memory(c);
  if (status < 0) return TG_OK;                                          // compiling says why it has no hull
  *concave = tgi_hull_concavity(&hull->hull, m->vert, m->nvert, m->face, m->nface) > TGI_HULL_CONCAVE;
  tgi_hull_free(hull);
  if (tgi_mesh_check(m->vert, m->nvert, m->face, m->nface, &c->alloc, &check) < 0) return memory(c);
  *concave = *concave || check.nopen > 0 || check.nwinding > 0 || check.volume <= 0;
  return TG_OK;
}

static bool middle_room(Convex *c) {
  if (c->nmiddle < c->room) return true;
  int room = c->room == 0 ? 64 : 2 * c->room;
  void *p = c->alloc.realloc(c->alloc.ctx, c->middle, (size_t)room * sizeof *c->middle);
  if (p == NULL) return false;
  c->middle = p;
  c->room = room;
  return true;
}

// a hull's faces as triangles, fans about their first vertex
static tgStatus hull_mesh(Convex *c, const tgHull *h, const char *name, tgSource source) {
  int ntriangle = 0, at = 0;
  double low[3], high[3], *middle = c->middle[c->nmiddle];
  for (int f = 0; f < h->nface; f++) ntriangle += h->face_adr[f + 1] - h->face_adr[f] - 2;
  int *face = c->alloc.alloc(c->alloc.ctx, 3 * (size_t)ntriangle * sizeof *face);
  double *vert = c->alloc.alloc(c->alloc.ctx, 3 * (size_t)h->nvert * sizeof *vert);
  int index = -1;
  if (face != NULL && vert != NULL) {
    for (int f = 0; f < h->nface; f++)
      for (int k = h->face_adr[f] + 1; k + 1 < h->face_adr[f + 1]; k++, at += 3)
        memcpy(face + at, (int[3]){h->face_vert[h->face_adr[f]], h->face_vert[k], h->face_vert[k + 1]}, 3 * sizeof *face);
    for (int k = 0; k < 3; k++) low[k] = high[k] = tgRe(h->vert[k]);
    for (int i = 0; i < 3 * h->nvert; i++) {
      low[i % 3] = fmin(low[i % 3], tgRe(h->vert[i]));
      high[i % 3] = fmax(high[i % 3], tgRe(h->vert[i]));
    }
    for (int k = 0; k < 3; k++) middle[k] = (low[k] + high[k]) / 2;
    for (int i = 0; i < 3 * h->nvert; i++) vert[i] = tgRe(h->vert[i]) - middle[i % 3];
    index = tg_desc_add_mesh(c->desc, name, vert, h->nvert, face, ntriangle);
  }
  c->alloc.free(c->alloc.ctx, face);
  c->alloc.free(c->alloc.ctx, vert);
  if (index < 0) return memory(c);
  c->desc->mesh[index].source = source;
  c->nmiddle++;
  return TG_OK;
}

// the pieces as meshes of the desc; those without volume are left out, and the count of them is noted
static tgStatus add_meshes(Convex *c, int mesh, const tgPieces *p) {
  int flat = 0;
  c->mesh_first[mesh] = c->desc->nmesh;
  for (int i = 0; i < p->npiece; i++) {
    tgHullOwned *hull;
    char name[256];
    const tgMeshDesc *m = &c->desc->mesh[mesh];
    tgSource source = m->source;
    if (c->desc->nmesh >= c->options->max_elements)
      return tgi_error(c->error, TG_ERR_LIMIT, "mesh %s has %d convex pieces; with them there are more than max_elements = %d meshes",
                       mesh_label(m), p->npiece, c->options->max_elements);
    tgStatus status = tgi_hull_from_points(p->vert + 3 * p->adr[i], p->adr[i + 1] - p->adr[i], &c->alloc, &hull, NULL);
    if (status == TG_ERR_MEMORY) return memory(c);
    if (status < 0) {
      flat++;
      continue;
    }
    snprintf(name, sizeof name, "%.200s/piece%d", m->name != NULL ? m->name : "mesh", c->mesh_count[mesh]);
    status = middle_room(c) ? hull_mesh(c, &hull->hull, name, source) : memory(c);
    tgi_hull_free(hull);
    TG_TRY(status);
    c->mesh_count[mesh]++;
  }
  const tgMeshDesc *m = &c->desc->mesh[mesh];
  if (c->mesh_count[mesh] == 0)
    return tgi_error(c->error, TG_ERR_INVALID,
                     "mesh %s cannot be cut into convex pieces: all %d that were found are flat", mesh_label(m),
                     p->npiece);
  if (flat == 0) return TG_OK;
  return noted(c, tg_desc_add_note(c->desc, TG_NOTE_WARNING, m->source, "mesh %s: %d of %d convex pieces have no volume and are left out",
                                   mesh_label(m), flat, p->npiece));
}

static tgStatus cut_mesh(Convex *c, int mesh) {
  tgPieces pieces;
  bool concave;
  c->mesh_first[mesh] = c->desc->nmesh;
  TG_TRY(is_concave(c, &c->desc->mesh[mesh], &concave));
  if (!concave) return TG_OK;
  TG_TRY(find_pieces(c, &c->desc->mesh[mesh], &pieces));
  tgStatus status = add_meshes(c, mesh, &pieces);
  tgi_pieces_free(&pieces);
  return status;
}

// ---- geoms and pairs ----

// piece k of a geom: same body, contacts and friction; no mass
static tgStatus add_geom(Convex *c, int geom, int k) {
  char name[256];
  tgGeomDesc g = c->desc->geom[geom];
  int mesh = c->mesh_first[g.mesh] + k;
  bool named = g.name != NULL && g.name[0] != '\0';
  if (named) snprintf(name, sizeof name, "%.200s/piece%d", g.name, k);
  int i = tg_desc_add_geom(c->desc, g.body, TG_GEOM_MESH, named ? name : NULL);
  if (i < 0) return memory(c);
  double shift[3];
  tgi_place_rotate(shift, g.quat, c->middle[mesh - (c->desc->nmesh - c->nmiddle)]);
  for (int n = 0; n < 3; n++) g.pos[n] += shift[n];
  g.name = c->desc->geom[i].name;
  g.mesh = mesh;
  g.mass = g.density = 0;
  g.group = COLLISION_GROUP;
  c->desc->geom[i] = g;
  return TG_OK;
}

static tgStatus cut_geom(Convex *c, int geom) {
  int n = c->mesh_count[c->desc->geom[geom].mesh];
  c->geom_first[geom] = c->desc->ngeom;
  for (int k = 0; k < n; k++) TG_TRY(add_geom(c, geom, k));
  tgGeomDesc *g = &c->desc->geom[geom];
  g->contype = g->conaffinity = 0;
  return noted(c, tg_desc_add_note(c->desc, TG_NOTE_WARNING, g->source, "geom %s: mesh %s is not convex; %d convex pieces of it collide",
                                   g->name != NULL ? g->name : "without name", mesh_label(&c->desc->mesh[g->mesh]), n));
}

static int pieces_of(const Convex *c, int geom) { return c->geom_first[geom] < 0 ? 1 : c->mesh_count[c->desc->geom[geom].mesh]; }
static int piece_of(const Convex *c, int geom, int k) { return c->geom_first[geom] < 0 ? geom : c->geom_first[geom] + k; }

// an explicit pair becomes one for each two pieces
static tgStatus cut_pair(Convex *c, int pair) {
  tgPairDesc like = c->desc->pair[pair];
  int n1 = pieces_of(c, like.geom1), n2 = pieces_of(c, like.geom2);
  for (int k = 0; k < n1 * n2; k++) {
    int i = k == 0 ? pair : tg_desc_add_pair(c->desc, 0, 0, like.name);
    if (i < 0) return memory(c);
    const char *name = c->desc->pair[i].name;
    c->desc->pair[i] = like;
    c->desc->pair[i].name = name;
    c->desc->pair[i].geom1 = piece_of(c, like.geom1, k / n2);
    c->desc->pair[i].geom2 = piece_of(c, like.geom2, k % n2);
  }
  return TG_OK;
}

static tgStatus run(Convex *c, const bool *paired) {
  tgDesc *d = c->desc;
  int ngeom = d->ngeom, npair = d->npair;
  for (int g = 0; g < ngeom; g++) c->geom_first[g] = -1;
  for (int g = 0; g < ngeom; g++) {
    const tgGeomDesc *geom = &d->geom[g];
    if (geom->type != TG_GEOM_MESH || (geom->contype == 0 && geom->conaffinity == 0 && !paired[g])) continue;
    if (c->mesh_first[geom->mesh] < 0) TG_TRY(cut_mesh(c, geom->mesh));
    if (c->mesh_count[d->geom[g].mesh] > 0) c->geom_first[g] = 0;
  }
  for (int g = 0; g < ngeom; g++)
    if (c->geom_first[g] == 0) TG_TRY(cut_geom(c, g));
  for (int p = 0; p < npair; p++) TG_TRY(cut_pair(c, p));
  return TG_OK;
}

static tgStatus check(const tgDesc *d, const tgLoadOptions *o, tgError *error) {
  if (!(o->decompose_threshold >= TGI_DECOMPOSE_LEAST && o->decompose_threshold <= TGI_DECOMPOSE_MOST))
    return tgi_error(error, TG_ERR_ARG, "decompose_threshold is %g; give a number from %g to %g",
                     o->decompose_threshold, TGI_DECOMPOSE_LEAST, TGI_DECOMPOSE_MOST);
  for (int g = 0; g < d->ngeom; g++)
    if (d->geom[g].type == TG_GEOM_MESH && (d->geom[g].mesh < 0 || d->geom[g].mesh >= d->nmesh))
      return tgi_error(error, TG_ERR_ARG, "geom %d: mesh %d does not exist", g, d->geom[g].mesh);
  for (int p = 0; p < d->npair; p++)
    if (d->pair[p].geom1 < 0 || d->pair[p].geom1 >= d->ngeom || d->pair[p].geom2 < 0 || d->pair[p].geom2 >= d->ngeom)
      return tgi_error(error, TG_ERR_ARG, "pair %d does not name two geoms", p);
  for (int m = 0; m < d->nmesh; m++)
    for (int k = 0; k < 3 * d->mesh[m].nface; k++)
      if (d->mesh[m].face[k] < 0 || d->mesh[m].face[k] >= d->mesh[m].nvert)
        return tgi_error(error, TG_ERR_ARG, "mesh %s: face %d uses vertex %d of %d", mesh_label(&d->mesh[m]), k / 3,
                         d->mesh[m].face[k], d->mesh[m].nvert);
  return TG_OK;
}

const char *tg_decomposer(void) { return tgi_decomposer(); }

tgStatus tg_desc_decompose(tgDesc *desc, const tgLoadOptions *options, tgError *error) {
  tgLoadOptions o = options != NULL ? *options : tg_load_default();
  if (error != NULL) *error = (tgError){0};
  if (desc == NULL) return tgi_error(error, TG_ERR_ARG, "no description given");
  if (o.size != sizeof o) return tgi_error(error, TG_ERR_ARG, "tgLoadOptions must come from tg_load_default of this version");
  TG_TRY(check(desc, &o, error));
  tgAllocator a = tgi_allocator(o.allocator);
  Convex c = {.desc = desc, .options = &o, .alloc = a, .error = error};
  size_t nmesh = (size_t)desc->nmesh, ngeom = (size_t)desc->ngeom;
  int *work = a.alloc(a.ctx, (2 * nmesh + ngeom + 1) * sizeof *work);
  bool *paired = a.alloc(a.ctx, ngeom + 1);
  tgStatus status = work == NULL || paired == NULL ? memory(&c) : TG_OK;
  if (status == TG_OK) {
    c.mesh_first = work;
    c.mesh_count = work + nmesh;
    c.geom_first = work + 2 * nmesh;
    memset(paired, 0, ngeom + 1);
    for (size_t m = 0; m < nmesh; m++) {
      c.mesh_first[m] = -1;
      c.mesh_count[m] = 0;
    }
    for (int p = 0; p < desc->npair; p++) paired[desc->pair[p].geom1] = paired[desc->pair[p].geom2] = true;
    status = run(&c, paired);
  }
  a.free(a.ctx, c.middle);
  a.free(a.ctx, paired);
  a.free(a.ctx, work);
  return status;
}
