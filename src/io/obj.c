// obj.c: Wavefront OBJ: vertices and faces. Bounded: nothing is read past the given end.
#include <stdlib.h>
#include <string.h>

#include "base/status.h"
#include "io/mesh_raw.h"
#include "io/number.h"

typedef struct Scan {
  const char *p, *end;
  int line;
} Scan;

typedef struct Obj {
  Scan s;
  tgRawMesh *raw;
  int *corner; // of the face at work
  int ncorner, capcorner;
  int highest, highest_line; // largest index so far, and where: a face may come before its vertices
  int *pending;              // faces that do: start in `late`, corners, line
  int npending, cappending;
  int *late;
  int nlate, caplate;
  tgError *error;
} Obj;

// what has no effect on the triangles; "surf" does and is refused
static const char *const passed_over[] = {
    "vt",     "vn",     "vp",     "g",    "o",     "s",        "mg",       "l",          "p",         "usemtl",
    "mtllib", "usemap", "maplib", "lod",  "bevel", "c_interp", "d_interp", "shadow_obj", "trace_obj", "ctech",
    "stech",  "cstype", "deg",    "bmat", "step",  "curv",     "curv2",    "parm",       "trim",      "hole",
    "scrv",   "sp",     "end",    "con",  "res",   "bzp",      "bsp",      "cdc",        "cdp"};

static bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\v' || c == '\f'; }
static bool is_end(const Scan *s) { return s->p >= s->end || *s->p == '\n' || *s->p == '\r' || *s->p == '#'; }

// blanks and continued lines
static void skip_blank(Scan *s) {
  for (;;) {
    if (s->p < s->end && is_blank(*s->p)) {
      s->p++;
    } else if (s->end - s->p >= 2 && s->p[0] == '\\' && s->p[1] == '\n') {
      s->p += 2;
      s->line++;
    } else if (s->end - s->p >= 3 && s->p[0] == '\\' && s->p[1] == '\r' && s->p[2] == '\n') {
      s->p += 3;
      s->line++;
    } else {
      return;
    }
  }
}

// to the start of the next line, over continued ones; "\r", "\n" and "\r\n" end a line
static void next_line(Scan *s) {
  while (s->p < s->end && *s->p != '\n' && *s->p != '\r') {
    if (*s->p == '\\') {
      const char *before = s->p;
      skip_blank(s);
      if (s->p != before) continue;
    }
    s->p++;
  }
  if (s->p >= s->end) return;
  s->p += s->end - s->p >= 2 && s->p[0] == '\r' && s->p[1] == '\n' ? 2 : 1;
  s->line++;
}

static int token_length(const Scan *s) {
  int n = 0;
  while (s->p + n < s->end && n < 40 && !is_blank(s->p[n]) && s->p[n] != '\n' && s->p[n] != '\r') n++;
  return n;
}

static bool token_is(const Scan *s, int n, const char *word) {
  return strlen(word) == (size_t)n && memcmp(s->p, word, (size_t)n) == 0;
}

static bool ends_token(const Scan *s, const char *p) {
  return p >= s->end || is_blank(*p) || *p == '\n' || *p == '\r' || *p == '#' || *p == '\\';
}

// x y z [w] or x y z r g b; only the first three count
static tgStatus vertex(Obj *o) {
  Scan *s = &o->s;
  double x[8];
  int n = 0;
  for (skip_blank(s); !is_end(s); skip_blank(s)) {
    double y;
    const char *next = tgi_number(s->p, s->end, &y);
    if (next == NULL || !ends_token(s, next))
      return tgi_line_error(o->error, TG_ERR_PARSE, s->line, "'%.*s' is not a number", token_length(s), s->p);
    if (n < 3) TG_TRY(tgi_check_coordinate(y, s->line, o->error));
    if (n == 8) return tgi_line_error(o->error, TG_ERR_PARSE, s->line, "a vertex has more than 8 numbers");
    x[n++] = y;
    s->p = next;
  }
  if (n < 3) return tgi_line_error(o->error, TG_ERR_PARSE, s->line, "a vertex needs 3 coordinates, has %d", n);
  return tgi_raw_vert(o->raw, x, o->error);
}

static tgStatus grow(Obj *o, int **array, int *cap, int n, int more) {
  if (n <= *cap - more) return TG_OK;
  if (n > INT32_MAX / 2 - 64 - more) return tgi_line_error(o->error, TG_ERR_LIMIT, o->s.line, "too many corners");
  int want = 2 * n + 16 + more;
  int *p = o->raw->alloc.realloc(o->raw->alloc.ctx, *array, (size_t)want * sizeof *p);
  if (p == NULL) return tgi_error(o->error, TG_ERR_MEMORY, "out of memory for the corners of its faces");
  *array = p;
  *cap = want;
  return TG_OK;
}

// one index of a corner: k-th of v/vt/vn. A negative one counts back from the newest.
static tgStatus read_index(Obj *o, int k, int *value) {
  Scan *s = &o->s;
  int i;
  const char *next = tgi_integer(s->p, s->end, &i);
  if (next == NULL)
    return tgi_line_error(o->error, TG_ERR_PARSE, s->line, "'%.*s' is not an index (or too large for one)",
                          token_length(s), s->p);
  if (i == 0) return tgi_line_error(o->error, TG_ERR_INVALID, s->line, "index 0: indices of an OBJ start at 1");
  s->p = next;
  if (k > 0) return TG_OK; // texture and normal are not used
  if (i < 0 && i < -o->raw->nvert)
    return tgi_line_error(o->error, TG_ERR_INVALID, s->line, "relative index %d, but only %d vertices come before it",
                          i, o->raw->nvert);
  *value = i < 0 ? o->raw->nvert + i : i - 1;
  if (*value >= o->highest) {
    o->highest = *value + 1;
    o->highest_line = s->line;
  }
  return TG_OK;
}

static tgStatus corner(Obj *o) {
  Scan *s = &o->s;
  int v = 0;
  TG_TRY(read_index(o, 0, &v));
  for (int k = 1; k < 3 && s->p < s->end && *s->p == '/'; k++) {
    s->p++;
    if (k == 1 && s->p < s->end && *s->p == '/') continue; // v//vn
    if (ends_token(s, s->p) && k == 1) break;              // "v/" as some exporters write
    TG_TRY(read_index(o, k, &v));
  }
  if (!ends_token(s, s->p))
    return tgi_line_error(o->error, TG_ERR_PARSE, s->line, "'%.*s' does not end a corner (v, v/vt, v//vn or v/vt/vn)",
                          token_length(s), s->p);
  TG_TRY(grow(o, &o->corner, &o->capcorner, o->ncorner, 1));
  o->corner[o->ncorner++] = v;
  return TG_OK;
}

// kept until all vertices are known
static tgStatus postpone(Obj *o, int line) {
  TG_TRY(grow(o, &o->late, &o->caplate, o->nlate, o->ncorner));
  TG_TRY(grow(o, &o->pending, &o->cappending, o->npending, 3));
  int entry[3] = {o->nlate, o->ncorner, line};
  memcpy(o->pending + o->npending, entry, sizeof entry);
  o->npending += 3;
  memcpy(o->late + o->nlate, o->corner, (size_t)o->ncorner * sizeof(int));
  o->nlate += o->ncorner;
  return TG_OK;
}

static tgStatus polygon(Obj *o, const int *loop, int n, int line) {
  tgError why = {0};
  tgStatus status = tgi_raw_polygon(o->raw, loop, n, &why);
  return status < 0 ? tgi_line_error(o->error, status, line, "%s", why.text) : TG_OK;
}

static tgStatus face(Obj *o) {
  Scan *s = &o->s;
  int line = s->line, highest = 0;
  o->ncorner = 0;
  for (skip_blank(s); !is_end(s); skip_blank(s)) {
    TG_TRY(corner(o));
    if (o->corner[o->ncorner - 1] >= highest) highest = o->corner[o->ncorner - 1] + 1;
  }
  if (o->ncorner < 3)
    return tgi_line_error(o->error, TG_ERR_INVALID, line, "a face needs at least 3 corners, has %d", o->ncorner);
  return highest > o->raw->nvert ? postpone(o, line) : polygon(o, o->corner, o->ncorner, line);
}

static tgStatus statement(Obj *o) {
  Scan *s = &o->s;
  int n = token_length(s);
  if (token_is(s, n, "v")) {
    s->p += n;
    return vertex(o);
  }
  if (token_is(s, n, "f") || token_is(s, n, "fo")) {
    s->p += n;
    return face(o);
  }
  for (size_t k = 0; k < sizeof passed_over / sizeof *passed_over; k++)
    if (token_is(s, n, passed_over[k])) return TG_OK;
  if (token_is(s, n, "surf"))
    return tgi_line_error(o->error, TG_ERR_UNSUPPORTED, s->line, "free-form surface: export it as polygons");
  return tgi_line_error(o->error, TG_ERR_PARSE, s->line, "'%.*s' begins no line of an OBJ file", n, s->p);
}

static tgStatus parse(Obj *o) {
  Scan *s = &o->s;
  if (s->end - s->p >= 3 && memcmp(s->p, "\xEF\xBB\xBF", 3) == 0) s->p += 3;
  while (s->p < s->end) {
    skip_blank(s);
    if (!is_end(s)) TG_TRY(statement(o));
    next_line(s);
  }
  if (o->highest > o->raw->nvert)
    return tgi_line_error(o->error, TG_ERR_INVALID, o->highest_line, "index %d, but the file has %d vertices",
                          o->highest, o->raw->nvert);
  for (int k = 0; k < o->npending; k += 3)
    TG_TRY(polygon(o, o->late + o->pending[k], o->pending[k + 1], o->pending[k + 2]));
  return TG_OK;
}

tgStatus tgi_obj_parse(const char *data, size_t size, tgRawMesh *raw, tgError *error) {
  const char *nul = size > 0 ? memchr(data, 0, size) : NULL;
  if (nul != NULL) {
    int line = 1;
    for (const char *p = data; p < nul; p++) line += *p == '\n';
    return tgi_line_error(error, TG_ERR_PARSE, line, "a zero byte: this is not the text of an OBJ file");
  }
  Obj o = {.s = {.p = data, .end = data + size, .line = 1}, .raw = raw, .error = error};
  tgStatus status = parse(&o);
  raw->alloc.free(raw->alloc.ctx, o.corner);
  raw->alloc.free(raw->alloc.ctx, o.pending);
  raw->alloc.free(raw->alloc.ctx, o.late);
  return status;
}
