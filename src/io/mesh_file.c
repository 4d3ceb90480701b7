// mesh_file.c: see mesh_file.h.
#include "io/mesh_file.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/status.h"
#include "io/mesh_raw.h"
#include "io/number.h"

static bool ends_in(const char *name, const char *suffix) {
  size_t n = strlen(name), m = strlen(suffix);
  return n >= m && strcasecmp(name + n - m, suffix) == 0;
}

bool tgi_mesh_is_dae(const char *path) { return ends_in(path, ".dae"); }

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
  if (p < end && *p == '<') return tgi_error(error, TG_ERR_UNSUPPORTED, "an XML format (COLLADA?); convert it to OBJ or STL");
  if (begins(p, end, "ply\n") || begins(p, end, "ply\r") || begins(p, end, "off\n") || begins(p, end, "off\r") ||
      begins(p, end, "glTF"))
    return tgi_error(error, TG_ERR_UNSUPPORTED, "a format that is not read here; convert it to OBJ or STL");
  bool solid = begins(p, end, "solid") && (end - p == 5 || tgi_skip_space(p + 5, end) > p + 5);
  if (solid || ends_in(name, ".stl")) return tgi_stl_parse(data, size, raw, error);
  return tgi_obj_parse(data, size, raw, error);
}

static tgStatus note(tgDesc *desc, const tgFile *file, const tgRawMesh *raw, tgError *error) {
  tgSource source = {.file = tg_desc_add_file(desc, file->path)};
  const char *text[3] = {"face(s) without area dropped", "polygon(s) not planar, triangulated as they lie",
                         "polygon(s) cross themselves, triangulated as fans"};
  int count[3] = {raw->nzero, raw->nbent, raw->ntangled};
  for (int k = 0; k < 3; k++)
    if (count[k] > 0 && tg_desc_add_note(desc, TG_NOTE_WARNING, source, "mesh %s: %d %s", file->path, count[k], text[k]) < 0)
      return tgi_error(error, TG_ERR_MEMORY, "out of memory");
  return source.file < 0 ? tgi_error(error, TG_ERR_MEMORY, "out of memory") : TG_OK;
}

tgStatus tgi_mesh_read_root(tgDesc *desc, tgFileSet *files, int root, const char *path, const double scale[3], int *nvert,
                            double **vert, int *nface, int **face, tgError *error) {
  tgFile file;
  tgRawMesh raw;
  tgError why = {0};
  TG_TRY(tgi_file_open(files, root, path, &file, error));
  tgAllocator alloc = tgi_files_allocator(files);
  tgi_raw_init(&raw, &alloc);
  tgStatus status = tgi_mesh_parse(path, file.data, file.size, &raw, &why);
  if (status == TG_OK) status = tgi_raw_tidy(&raw, scale, &why);
  if (status == TG_OK) status = note(desc, &file, &raw, &why);
  if (status == TG_OK) {
    *nvert = raw.nvert;
    *nface = raw.nface;
    *vert = tg_desc_bytes(desc, raw.vert, 3 * (size_t)raw.nvert * sizeof(double));
    *face = tg_desc_bytes(desc, raw.face, 3 * (size_t)raw.nface * sizeof(int));
    if (*vert == NULL || *face == NULL) status = tgi_error(&why, TG_ERR_MEMORY, "out of memory");
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

tgStatus tgi_mesh_read(tgDesc *desc, tgFileSet *files, const char *path, const double scale[3], int *nvert, double **vert,
                       int *nface, int **face, tgError *error) {
  return tgi_mesh_read_root(desc, files, -1, path, scale, nvert, vert, nface, face, error);
}
