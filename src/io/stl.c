// stl.c: STL, binary and ASCII. Bounded: nothing is read past the given end, counts are held against the length before
// anything is allocated. Normals in the file are passed over: the winding decides.
#include <string.h>

#include "base/status.h"
#include "io/mesh_raw.h"
#include "io/number.h"

enum { HEAD = 84, RECORD = 50 };

// little-endian, whatever the machine is
static uint32_t read_u32(const unsigned char *p) {
  return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

static double read_f32(const unsigned char *p) {
  uint32_t bits = read_u32(p);
  float x;
  memcpy(&x, &bits, sizeof x);
  return x;
}

bool tgi_stl_is_binary(const char *data, size_t size) {
  return size >= HEAD && (size - HEAD) % RECORD == 0 &&
         (size - HEAD) / RECORD == read_u32((const unsigned char *)data + 80);
}

static tgStatus parse_binary(const char *data, size_t size, tgRawMesh *raw, tgError *error) {
  size_t n = (size - HEAD) / RECORD;
  TG_TRY(tgi_raw_reserve(raw, 3 * n, n, error));
  for (size_t k = 0; k < n; k++) {
    const unsigned char *p = (const unsigned char *)data + HEAD + RECORD * k + 12;
    for (int c = 0; c < 3; c++) {
      double x[3];
      for (int i = 0; i < 3; i++) {
        x[i] = read_f32(p + 12 * c + 4 * i);
        tgError why;
        tgStatus status = tgi_check_coordinate(x[i], 0, &why);
        if (status < 0)
          return tgi_error(error, status, "triangle %zu: coordinate %g is not finite or larger than %g", k, x[i],
                           TGI_MESH_LARGEST);
      }
      TG_TRY(tgi_raw_vert(raw, x, error));
    }
    TG_TRY(tgi_raw_face(raw, (int)(3 * k), (int)(3 * k) + 1, (int)(3 * k) + 2, error));
  }
  return TG_OK;
}

// ---- ASCII ----

typedef struct Scan {
  const char *p, *end;
  int line;
} Scan;

static bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

static void skip_space(Scan *s) {
  for (; s->p < s->end && is_space(*s->p); s->p++) s->line += *s->p == '\n';
}

static void skip_line(Scan *s) {
  while (s->p < s->end && *s->p != '\n') s->p++;
}

// takes `word` when it comes next, as a whole and in any case
static bool take(Scan *s, const char *word) {
  skip_space(s);
  const char *q = s->p;
  for (; *word != 0; word++, q++)
    if (q >= s->end || (*q | 0x20) != *word) return false;
  if (q < s->end && !is_space(*q)) return false;
  s->p = q;
  return true;
}

static int token_length(const Scan *s) {
  int n = 0;
  while (s->p + n < s->end && !is_space(s->p[n]) && n < 40) n++;
  return n;
}

static tgStatus expected(const Scan *s, const char *what, tgError *error) {
  if (s->p >= s->end)
    return tgi_line_error(error, TG_ERR_PARSE, s->line, "the file ends where '%s' is expected; it is truncated", what);
  return tgi_line_error(error, TG_ERR_PARSE, s->line, "'%.*s' where '%s' is expected", token_length(s), s->p, what);
}

static tgStatus need(Scan *s, const char *word, tgError *error) {
  return take(s, word) ? TG_OK : expected(s, word, error);
}

static tgStatus number(Scan *s, double *x, tgError *error) {
  skip_space(s);
  const char *next = tgi_number(s->p, s->end, x);
  if (next == NULL || (next < s->end && !is_space(*next))) return expected(s, "a number", error);
  s->p = next;
  return TG_OK;
}

static tgStatus facet(Scan *s, tgRawMesh *raw, tgError *error) {
  double x[3];
  TG_TRY(need(s, "normal", error));
  for (int i = 0; i < 3; i++) TG_TRY(number(s, &x[i], error)); // some writers print nan here
  TG_TRY(need(s, "outer", error));
  TG_TRY(need(s, "loop", error));
  for (int c = 0; c < 3; c++) {
    TG_TRY(need(s, "vertex", error));
    for (int i = 0; i < 3; i++) {
      TG_TRY(number(s, &x[i], error));
      TG_TRY(tgi_check_coordinate(x[i], s->line, error));
    }
    TG_TRY(tgi_raw_vert(raw, x, error));
  }
  TG_TRY(need(s, "endloop", error));
  TG_TRY(need(s, "endfacet", error));
  return tgi_raw_face(raw, raw->nvert - 3, raw->nvert - 2, raw->nvert - 1, error);
}

static tgStatus parse_ascii(const char *data, size_t size, tgRawMesh *raw, tgError *error) {
  Scan s = {.p = data, .end = data + size, .line = 1};
  TG_TRY(need(&s, "solid", error));
  do {
    skip_line(&s);
    while (take(&s, "facet")) TG_TRY(facet(&s, raw, error));
    TG_TRY(need(&s, "endsolid", error));
    skip_line(&s);
  } while (take(&s, "solid"));
  skip_space(&s);
  return s.p < s.end ? expected(&s, "the end or another solid", error) : TG_OK;
}

tgStatus tgi_stl_parse(const char *data, size_t size, tgRawMesh *raw, tgError *error) {
  if (tgi_stl_is_binary(data, size)) return parse_binary(data, size, raw, error);
  Scan s = {.p = data, .end = data + size};
  if (take(&s, "solid") && (size < HEAD || memchr(data, 0, size) == NULL)) return parse_ascii(data, size, raw, error);
  if (size < HEAD) return tgi_error(error, TG_ERR_PARSE, "%zu bytes are too few for a binary STL", size);
  uint32_t count = read_u32((const unsigned char *)data + 80);
  return tgi_error(error, TG_ERR_PARSE,
                   "the binary STL declares %u triangles (%llu bytes) but has %zu bytes; the file is truncated or has "
                   "something behind its triangles",
                   (unsigned)count, (unsigned long long)HEAD + (unsigned long long)RECORD * count, size);
}
