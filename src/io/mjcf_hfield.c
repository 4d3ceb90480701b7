// mjcf_hfield.c: height fields as convex cells, which are meshes.
//
// A field of nrow x ncol heights spans -rx .. rx (columns) and -ry .. ry (rows) above a floor at -base; each square of four heights is two
// triangles that meet in the diagonal from its first row and column [mujoco computation, height fields]. What lies below them is cut into
// convex pieces without any change of the surface: squares of one plane are put together, largest first in the order of rows; a
// square that is folded upwards is one piece, one that is folded downwards two.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/status.h"
#include "io/mjcf.h"
#include "io/png.h"

enum { MOST_CELLS = 65536, MOST_SIDE = 4096 };

typedef struct Field {
  const tgXmlNode *node;
  int nrow, ncol;
  double size[4];              // rx, ry, elevation, base
  double *height;              // nrow x ncol, m; freed with the field, as a document may have many
  bool *taken;                 // (nrow - 1) x (ncol - 1) squares
  bool adds;                   // cells are added, not only counted
  int count;
} Field;

static double height(const Field *f, int r, int c) { return f->height[(size_t)r * (size_t)f->ncol + (size_t)c]; }

static tgStatus wrong(tgMjcf *m, const Field *f, const char *attribute, const char *text) {
  return tgi_xml_attr_error(m->xml, f->node, tgi_xml_attr(f->node, attribute), m->error, TG_ERR_INVALID, "%s", text);
}

static void *room(const tgMjcf *m, size_t bytes) { return m->xml->alloc.alloc(m->xml->alloc.ctx, bytes); }

// ---- numbers ----

static uint32_t read_u32(const char *p) {
  const unsigned char *b = (const unsigned char *)p;
  return (uint32_t)b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24;
}

// MuJoCo's own: int32 nrow, ncol, then float32 of each row from the lowest y
static tgStatus parse(tgMjcf *m, Field *f, const tgFile *file) {
  uint64_t nrow = file->size < 8 ? 0 : read_u32(file->data), ncol = file->size < 8 ? 0 : read_u32(file->data + 4);
  if (nrow < 2 || ncol < 2 || nrow > MOST_SIDE || ncol > MOST_SIDE || file->size != 8 + 4 * nrow * ncol)
    return tgi_xml_attr_error(m->xml, f->node, tgi_xml_attr(f->node, "file"), m->error, TG_ERR_PARSE,
                              "%.200s is no height field: %llu rows and %llu columns (2 to %d of each) do not fit its %zu bytes",
                              file->path, (unsigned long long)nrow, (unsigned long long)ncol, MOST_SIDE, file->size);
  f->nrow = (int)nrow;
  f->ncol = (int)ncol;
  f->height = room(m, (size_t)(nrow * ncol) * sizeof *f->height);
  if (f->height == NULL) return tgi_mjcf_memory(m);
  for (size_t i = 0; i < nrow * ncol; i++) {
    uint32_t bits = read_u32(file->data + 8 + 4 * i);
    float x;
    memcpy(&x, &bits, sizeof x);
    f->height[i] = (double)x;
  }
  return TG_OK;
}

// the first row of pixels lies at the highest y
static tgStatus parse_png(tgMjcf *m, Field *f, const tgFile *file) {
  unsigned char *pixel = NULL;
  tgError why = {0};
  const tgXmlAttr *at = tgi_xml_attr(f->node, "file");
  tgStatus status = tgi_png_heights(file->data, file->size, MOST_SIDE, &m->xml->alloc, &pixel, &f->nrow, &f->ncol, &why);
  if (status != TG_OK) return tgi_xml_attr_error(m->xml, f->node, at, m->error, status, "%.200s: %s", file->path, why.text);
  size_t ncol = (size_t)f->ncol, nrow = (size_t)f->nrow;
  f->height = room(m, nrow * ncol * sizeof *f->height);
  for (size_t r = 0; r < nrow && f->height != NULL; r++)
    for (size_t c = 0; c < ncol; c++) f->height[r * ncol + c] = pixel[(nrow - 1 - r) * ncol + c];
  m->xml->alloc.free(m->xml->alloc.ctx, pixel);
  return f->height != NULL ? TG_OK : tgi_mjcf_memory(m);
}

// by its name, or by what the element says of it
static bool is_png(const Field *f, const char *name) {
  const char *dot = strrchr(name, '.'), *type = tgi_xml_get(f->node, "content_type");
  if (type != NULL && *type != 0) return strcmp(type, "image/png") == 0;
  return dot != NULL && (strcmp(dot, ".png") == 0 || strcmp(dot, ".PNG") == 0);
}

// where meshes are looked for: below meshdir, or else below meshdir and the directory of the file that names it
static tgStatus open_file(tgMjcf *m, const Field *f, const char *name, tgFile *file, tgError *why) {
  const char *slash = strrchr(name, '/'), *own = tgi_mjcf_directory(m, f->node);
  char path[1024], beside[1024];
  tgError also;
  if (m->strippath && slash != NULL) name = slash + 1;
  if (!tgi_path_join(path, sizeof path, m->meshdir, name))
    return tgi_error(why, TG_ERR_FILE, "its path is longer than %zu bytes", sizeof path);
  tgStatus status = tgi_file_open(m->files, -1, path, file, why);
  if (status != TG_ERR_FILE || *own == 0 || !tgi_path_join(beside, sizeof beside, own, name) ||
      !tgi_path_join(path, sizeof path, m->meshdir, beside))
    return status;
  tgStatus second = tgi_file_open(m->files, -1, path, file, &also);
  if (second != TG_ERR_FILE) *why = also;
  return second == TG_ERR_FILE ? status : second;
}

static tgStatus from_file(tgMjcf *m, Field *f, const char *name) {
  tgFile file;
  tgError why = {0};
  if (m->files == NULL) return tgi_xml_error(m->xml, f->node, m->error, TG_ERR_FILE, "names a file; a document in memory has none");
  tgStatus status = open_file(m, f, name, &file, &why);
  if (status != TG_OK) return tgi_xml_attr_error(m->xml, f->node, tgi_xml_attr(f->node, "file"), m->error, status, "%s", why.text);
  status = is_png(f, name) ? parse_png(m, f, &file) : parse(m, f, &file);
  tgi_file_close(m->files, &file);
  return status;
}

// the first row that is written lies at the highest y
static tgStatus from_text(tgMjcf *m, Field *f) {
  double *given = NULL;
  int n = 0;
  f->nrow = tgi_el_int((tgEl){.node = f->node}, "nrow", 0);
  f->ncol = tgi_el_int((tgEl){.node = f->node}, "ncol", 0);
  if (f->nrow < 2 || f->ncol < 2 || f->nrow > MOST_SIDE || f->ncol > MOST_SIDE)
    return tgi_xml_error(m->xml, f->node, m->error, TG_ERR_INVALID, "needs file=\"...\", or nrow and ncol from 2 to %d", MOST_SIDE);
  TG_TRY(tgi_xml_array(m->xml, f->node, "elevation", &given, &n, m->error));
  size_t all = (size_t)f->nrow * (size_t)f->ncol;
  if (n > 0 && (size_t)n != all)
    return tgi_xml_attr_error(m->xml, f->node, tgi_xml_attr(f->node, "elevation"), m->error, TG_ERR_INVALID,
                              "elevation has %d numbers; nrow times ncol are %zu", n, all);
  if (n == 0) {   // flat: four heights are the same field
    f->nrow = f->ncol = 2;
    all = 4;
  }
  f->height = room(m, all * sizeof *f->height);
  if (f->height == NULL) return tgi_mjcf_memory(m);
  for (int r = 0; r < f->nrow; r++)
    for (int c = 0; c < f->ncol; c++)
      f->height[(size_t)r * (size_t)f->ncol + (size_t)c] = n > 0 ? given[(size_t)(f->nrow - 1 - r) * (size_t)f->ncol + (size_t)c] : 0;
  return TG_OK;
}

// from whatever they are to 0 .. the elevation
static tgStatus scale(tgMjcf *m, Field *f) {
  size_t all = (size_t)f->nrow * (size_t)f->ncol;
  double low = INFINITY, high = -INFINITY;
  for (size_t i = 0; i < all; i++) {
    if (!isfinite(f->height[i])) return tgi_xml_error(m->xml, f->node, m->error, TG_ERR_NOT_FINITE, "height %zu is not a finite number", i);
    low = fmin(low, f->height[i]);
    high = fmax(high, f->height[i]);
  }
  for (size_t i = 0; i < all; i++) f->height[i] = high > low ? f->size[2] * (f->height[i] - low) / (high - low) : 0;
  return TG_OK;
}

// ---- cells ----

static double x_of(const Field *f, int c) { return f->size[0] * (2.0 * c / (f->ncol - 1) - 1); }
static double y_of(const Field *f, int r) { return f->size[1] * (2.0 * r / (f->nrow - 1) - 1); }

// a piece above n points of the grid, counter-clockwise from above
static tgStatus add_cell(tgMjcf *m, Field *f, const char *name, int n, const int (*at)[2]) {
  double vert[24];
  int face[3 * 12], k = 0;
  char label[256];
  f->count++;
  if (!f->adds) return TG_OK;
  for (int i = 0; i < n; i++)
    for (int top = 0; top < 2; top++) {
      double *v = vert + 3 * (i + top * n);
      v[0] = x_of(f, at[i][1]);
      v[1] = y_of(f, at[i][0]);
      v[2] = top ? height(f, at[i][0], at[i][1]) : -f->size[3];
    }
  for (int i = 1; i + 1 < n; i++) {
    const int bottom[3] = {0, i + 1, i}, top[3] = {n, n + i, n + i + 1};   // of four the fold is from the first to the third
    memcpy(face + k, bottom, sizeof bottom);
    memcpy(face + k + 3, top, sizeof top);
    k += 6;
  }
  for (int i = 0; i < n; i++) {
    int next = (i + 1) % n;
    const int wall[6] = {i, next, n + next, i, n + next, n + i};
    memcpy(face + k, wall, sizeof wall);
    k += 6;
  }
  snprintf(label, sizeof label, "%.200s/cell%d", name, f->count - 1);
  int mesh = tg_desc_add_mesh(m->desc, label, vert, 2 * n, face, k / 3);
  if (mesh < 0) return tgi_mjcf_memory(m);
  m->desc->mesh[mesh].source = f->node->source;
  return tgi_mjcf_name(m, f->node, m->desc->mesh[mesh].name, TG_NAME_MESH, mesh);
}

static bool *taken(const Field *f, int r, int c) { return f->taken + (size_t)r * (size_t)(f->ncol - 1) + (size_t)c; }

// how far the square is from flat: above 0 it is folded upwards
static double fold(const Field *f, int r, int c) {
  return height(f, r, c) + height(f, r + 1, c + 1) - height(f, r + 1, c) - height(f, r, c + 1);
}

// the square (r, c) lies in the plane of the square (r0, c0), which is flat
static bool in_plane(const Field *f, int r0, int c0, int r, int c) {
  double h = height(f, r0, c0), by_r = height(f, r0 + 1, c0) - h, by_c = height(f, r0, c0 + 1) - h, off = 0;
  for (int i = 0; i < 2; i++)
    for (int k = 0; k < 2; k++) off = fmax(off, fabs(height(f, r + i, c + k) - h - by_r * (r + i - r0) - by_c * (c + k - c0)));
  return off <= 1e-12 * (f->size[2] + f->size[3]);
}

// the largest rectangle from a flat square on, first along its row
static tgStatus add_plane(tgMjcf *m, Field *f, const char *name, int r, int c) {
  int right = c + 1, up = r + 1;
  while (right < f->ncol - 1 && !*taken(f, r, right) && in_plane(f, r, c, r, right)) right++;
  for (bool whole = true; up < f->nrow - 1; up++) {
    for (int k = c; k < right && whole; k++) whole = !*taken(f, up, k) && in_plane(f, r, c, up, k);
    if (!whole) break;
  }
  for (int i = r; i < up; i++)
    for (int k = c; k < right; k++) *taken(f, i, k) = true;
  return add_cell(m, f, name, 4, (const int[4][2]){{r, c}, {r, right}, {up, right}, {up, c}});
}

static tgStatus add_square(tgMjcf *m, Field *f, const char *name, int r, int c) {
  *taken(f, r, c) = true;
  if (fold(f, r, c) > 0) return add_cell(m, f, name, 4, (const int[4][2]){{r, c}, {r, c + 1}, {r + 1, c + 1}, {r + 1, c}});
  TG_TRY(add_cell(m, f, name, 3, (const int[3][2]){{r, c}, {r, c + 1}, {r + 1, c + 1}}));
  return add_cell(m, f, name, 3, (const int[3][2]){{r, c}, {r + 1, c + 1}, {r + 1, c}});
}

static tgStatus cells(tgMjcf *m, Field *f, const char *name, bool adds) {
  f->adds = adds;
  f->count = 0;
  size_t squares = (size_t)(f->nrow - 1) * (size_t)(f->ncol - 1);
  if (f->taken == NULL) f->taken = room(m, squares * sizeof *f->taken);
  if (f->taken == NULL) return tgi_mjcf_memory(m);
  memset(f->taken, 0, squares * sizeof *f->taken);
  for (int r = 0; r < f->nrow - 1; r++)
    for (int c = 0; c < f->ncol - 1; c++) {
      if (*taken(f, r, c)) continue;
      if (in_plane(f, r, c, r, c)) TG_TRY(add_plane(m, f, name, r, c));
      else TG_TRY(add_square(m, f, name, r, c));
    }
  return TG_OK;
}

tgStatus tgi_mjcf_count_cells(tgMjcf *m, const tgXmlNode *node, int count) {
  if (m->xml->nelement > m->xml->max_element - count)
    return tgi_xml_error(m->xml, node, m->error, TG_ERR_LIMIT, "its %d convex cells make more elements than max_elements = %d allows; "
                         "raise it if that is meant", count, m->xml->max_element);
  m->xml->nelement += count;
  return TG_OK;
}

static tgStatus add_field(tgMjcf *m, Field *f, const char *name, const char *file) {
  if (file != NULL && *file != 0) TG_TRY(from_file(m, f, file));
  else TG_TRY(from_text(m, f));
  TG_TRY(scale(m, f));
  TG_TRY(cells(m, f, name, false));
  if (f->count > MOST_CELLS)
    return tgi_mjcf_unsupported(m, TG_DROP_HFIELD, f->node, NULL, "it has %d convex cells, and at most %d are supported; take fewer rows "
                                "and columns", f->count, MOST_CELLS);
  TG_TRY(tgi_mjcf_count_cells(m, f->node, f->count));
  int first = m->desc->nmesh;
  TG_TRY(cells(m, f, name, true));
  TG_TRY(tgi_mjcf_name(m, f->node, name, TG_NAME_HFIELD, first));
  int note = tg_desc_add_note(m->desc, TG_NOTE_WARNING, f->node->source, "height field '%.60s' has %d convex cell%s", name,
                              f->count, f->count == 1 ? "" : "s");
  return note < 0 ? tgi_mjcf_memory(m) : TG_OK;
}

static tgStatus read_field(tgMjcf *m, tgXmlNode *node) {
  Field f = {.node = node};
  const char *name = tgi_mjcf_own_name(node), *file = tgi_xml_get(node, "file");
  if (name == NULL && file != NULL) name = tgi_mjcf_stem(m, file);
  if (name == NULL) return tgi_xml_error(m->xml, node, m->error, TG_ERR_INVALID, "needs a name");
  if (tgi_el_numbers((tgEl){.node = node}, "size", 4, f.size) < 4)
    return tgi_xml_error(m->xml, node, m->error, TG_ERR_INVALID, "needs size=\"radius_x radius_y elevation base\"");
  for (int k = 0; k < 4; k++)
    if (!(f.size[k] > 0)) return wrong(m, &f, "size", "size needs four positive numbers");
  tgStatus status = add_field(m, &f, name, file);
  m->xml->alloc.free(m->xml->alloc.ctx, f.height);
  m->xml->alloc.free(m->xml->alloc.ctx, f.taken);
  return status;
}

tgStatus tgi_mjcf_hfields(tgMjcf *m) {
  for (const tgXmlNode *s = tgi_xml_child(m->root, "asset"); s != NULL; s = tgi_xml_next(s, "asset"))
    for (tgXmlNode *n = tgi_xml_child(s, "hfield"); n != NULL; n = tgi_xml_next(n, "hfield")) TG_TRY(read_field(m, n));
  return TG_OK;
}
