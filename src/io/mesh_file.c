// mesh_file.c: see mesh_file.h.
#include "io/mesh_file.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/memory.h"
#include "base/status.h"
#include "geom/mesh_check.h"
#include "io/mesh_raw.h"
#include "io/number.h"

static bool ends_in(const char *name, const char *suffix) {
  size_t n = strlen(name), m = strlen(suffix);
  return n >= m && strcasecmp(name + n - m, suffix) == 0;
}

static bool begins(const char *p, const char *end, const char *word) {
  size_t n = strlen(word);
  return (size_t)(end - p) >= n && strncasecmp(p, word, n) == 0;
}

// by what the bytes say; the name decides only between a damaged STL and a damaged OBJ
tgStatus tgi_mesh_parse(const char *name, const char *data, size_t size, tgRawMesh *raw, tgError *error) {
  const char *end = data + size, *p = tgi_skip_space(data, end);
  if (size == 0) return tgi_error(error, TG_ERR_PARSE, "the file is empty");
  if (ends_in(name, ".msh")) return tgi_msh_parse(data, size, raw, error);
  if (tgi_stl_is_binary(data, size)) return tgi_stl_parse(data, size, raw, error);
  if (size >= 2 && (unsigned char)data[0] == 0x1f && (unsigned char)data[1] == 0x8b)
    return tgi_error(error, TG_ERR_UNSUPPORTED, "the file is compressed; unpack it");
  if (p < end && *p == '<')
    return tgi_dae_parse(data, size, raw, error);
  if (begins(p, end, "ply\n") || begins(p, end, "ply\r") || begins(p, end, "off\n") || begins(p, end, "off\r") ||
      begins(p, end, "glTF"))
    return tgi_error(error, TG_ERR_UNSUPPORTED, "a format that is not read here; convert it to OBJ or STL");
  bool solid = begins(p, end, "solid") && (end - p == 5 || tgi_skip_space(p + 5, end) > p + 5);
  if (solid || ends_in(name, ".stl")) return tgi_stl_parse(data, size, raw, error);
  return tgi_obj_parse(data, size, raw, error);
}

// options.repair: neighbours are made to agree and closed pieces to enclose positive volume; what is one-sided stays
static tgStatus repair(tgDesc *desc, const tgFile *file, tgRawMesh *raw, tgError *error) {
  int nflip;
  tgSource source = {.file = tg_desc_add_file(desc, file->path)};
  tgError why = {0};
  tgStatus status = tgi_mesh_orient(raw->vert, raw->nvert, raw->face, raw->nface, &raw->alloc, &nflip, &why);
  if (status == TG_ERR_MEMORY) return tgi_error(error, status, "out of memory for the mesh");
  int at = 0;
  if (status < 0)
    at = tg_desc_add_note(desc, TG_NOTE_WARNING, source, "mesh %s is not repaired: %s", file->path, why.text);
  else if (nflip > 0)
    at = tg_desc_add_note(desc, TG_NOTE_WARNING, source, "mesh %s: %d of %d faces turned over (repair)", file->path,
                          nflip, raw->nface);
  return at < 0 || source.file < 0 ? tgi_error(error, TG_ERR_MEMORY, "out of memory for the mesh") : TG_OK;
}

static tgStatus note(tgDesc *desc, const tgFile *file, const tgRawMesh *raw, tgError *error) {
  tgSource source = {.file = tg_desc_add_file(desc, file->path)};
  const char *text[3] = {"face(s) without area dropped", "polygon(s) not planar, triangulated as they lie",
                         "polygon(s) cross themselves, triangulated as fans"};
  int count[3] = {raw->nzero, raw->nbent, raw->ntangled};
  for (int k = 0; k < 3; k++)
    if (count[k] > 0 &&
        tg_desc_add_note(desc, TG_NOTE_WARNING, source, "mesh %s: %d %s", file->path, count[k], text[k]) < 0)
      return tgi_error(error, TG_ERR_MEMORY, "out of memory for the mesh");
  return source.file < 0 ? tgi_error(error, TG_ERR_MEMORY, "out of memory for the mesh") : TG_OK;
}

tgStatus tgi_mesh_read_root(tgDesc *desc, tgFileSet *files, int root, const char *path, const double scale[3], tgMeshDesc *mesh,
                            tgError *error) {
  tgFile file;
  tgRawMesh raw;
  tgError why = {0};
  TG_TRY(tgi_file_open(files, root, path, &file, error));
  tgi_raw_init(&raw, tgi_files_options(files)->allocator);
  tgStatus status = tgi_mesh_parse(path, file.data, file.size, &raw, &why);
  if (status == TG_OK) status = tgi_raw_tidy(&raw, scale, &why);
  if (status == TG_OK && tgi_files_options(files)->repair) status = repair(desc, &file, &raw, &why);
  if (status == TG_OK) status = note(desc, &file, &raw, &why);
  if (status == TG_OK) {
    mesh->nvert = raw.nvert;
    mesh->nface = raw.nface;
    mesh->vert = tg_desc_bytes(desc, raw.vert, 3 * (size_t)raw.nvert * sizeof(double));
    mesh->face = tg_desc_bytes(desc, raw.face, 3 * (size_t)raw.nface * sizeof(int));
    mesh->file = tg_desc_string(desc, file.path);
    if (mesh->vert == NULL || mesh->face == NULL || mesh->file == NULL)
      status = tgi_error(&why, TG_ERR_MEMORY, "out of memory for the mesh");
  }
  if (status < 0) {
    tgi_error(error, status, "%s: %s", file.path, why.text);
    if (error != NULL) {
      error->line = why.line;
      snprintf(error->file, sizeof error->file, "%.*s", (int)sizeof error->file - 1, file.path);
    }
  }
  tgi_raw_free(&raw);
  tgi_file_close(files, &file);
  return status;
}

tgStatus tgi_mesh_read(tgDesc *desc, tgFileSet *files, const char *path, const double scale[3], tgMeshDesc *mesh, tgError *error) {
  return tgi_mesh_read_root(desc, files, -1, path, scale, mesh, error);
}

typedef struct Size {
  double diagonal;
  int mesh;
} Size;

static int compare_size(const void *x, const void *y) {
  const Size *a = x, *b = y;
  return a->diagonal != b->diagonal ? (a->diagonal < b->diagonal ? -1 : 1) : (a->mesh > b->mesh) - (a->mesh < b->mesh);
}

static tgStatus odd_size(tgDesc *desc, const tgMeshDesc *m, double diagonal, double usual) {
  bool large = diagonal > usual;
  int at = tg_desc_add_note(desc, TG_NOTE_WARNING, m->source,
                            "mesh %.200s is %.3g m across, over 1000 times %s than the others (%.3g m)%s",
                            m->path != NULL   ? m->path
                            : m->name != NULL ? m->name
                                              : "",
                            diagonal, large ? "larger" : "smaller", usual,
                            large ? ": it looks like millimetres, give it scale 0.001" : "; check its scale");
  return at < 0 ? TG_ERR_MEMORY : TG_OK;
}

// the farthest that a body is from the body that carries it, in the file's pose
static double farthest_apart(const tgDesc *desc) {
  double most = 0;
  for (int b = 0; b < desc->nbody; b++) {
    const double *x = desc->body[b].pos;
    if (desc->body[b].parent >= 0) most = fmax(most, sqrt(x[0] * x[0] + x[1] * x[1] + x[2] * x[2]));
  }
  return most;
}

// Are all meshes of a robot in millimetres? None of them is the odd one then, and its bodies lie too near to each other for them. size:
// sorted; those of bodies alone count, as what is fixed to the world may be a landscape.
static tgStatus compare_with_bodies(tgDesc *desc, const Size *size, int n) {
  static const double odd = 100;   // links are about as long as their joints are apart; a thousand of that in millimetres
  double apart = farthest_apart(desc);
  int carried = 0, middle = -1;
  for (int pass = 0, seen = 0; pass < 2; pass++)
    for (int k = 0; k < n; k++) {
      bool used = false;
      for (int g = 0; g < desc->ngeom && !used; g++) used = desc->geom[g].mesh == size[k].mesh && desc->geom[g].body >= 0;
      if (!used) continue;
      if (pass == 0) carried++;
      else if (seen++ == (carried - 1) / 2) middle = k;
    }
  if (middle < 0 || apart == 0 || size[middle].diagonal <= odd * apart) return TG_OK;
  const tgMeshDesc *m = &desc->mesh[size[middle].mesh];
  int at = tg_desc_add_note(desc, TG_NOTE_WARNING, m->source,
                            "mesh %.200s is %.3g m across, and so is half of those that bodies carry or more, over %g times as far as "
                            "bodies are from each other (%.3g m): it looks like millimetres, give these meshes scale 0.001",
                            m->path != NULL ? m->path : m->name != NULL ? m->name : "", size[middle].diagonal, odd, apart);
  return at < 0 ? TG_ERR_MEMORY : TG_OK;
}

tgStatus tgi_mesh_compare_sizes(tgDesc *desc, const tgAllocator *allocator, tgError *error) {
  tgAllocator a = tgi_allocator(allocator);
  int n = 0;
  Size *size = a.alloc(a.ctx, ((size_t)desc->nmesh + 1) * sizeof *size);
  tgStatus status = size != NULL ? TG_OK : TG_ERR_MEMORY;
  for (int k = 0; k < desc->nmesh && status == TG_OK; k++) {
    double d;
    if (desc->mesh[k].nvert < 1) continue;
    tgi_points_extent(desc->mesh[k].vert, desc->mesh[k].nvert, &d);
    if (d > 0) size[n++] = (Size){d, k};
  }
  if (n >= 2) qsort(size, (size_t)n, sizeof *size, compare_size);
  // of two, the larger is the odd one: metres are the rule
  double usual = n >= 2 ? size[(n - 1) / 2].diagonal : 0;
  for (int k = 0; k < n && n >= 2 && status == TG_OK; k++)
    if (size[k].diagonal > 1000 * usual || size[k].diagonal < usual / 1000)
      status = odd_size(desc, &desc->mesh[size[k].mesh], size[k].diagonal, usual);
  if (status == TG_OK) status = compare_with_bodies(desc, size, n);
  a.free(a.ctx, size);
  return status < 0 ? tgi_error(error, status, "out of memory for the sizes of %d meshes", desc->nmesh) : TG_OK;
}
