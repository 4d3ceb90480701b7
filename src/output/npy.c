// npy.c: NumPy's array head.
// Based on the format of [NEP1]: "\x93NUMPY", major, minor, header length (2 bytes little-endian in
// version 1, 4 in 2 and 3), then the dictionary, spaces, a line feed.
#include "output/npy.h"

#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/status.h"

static const char MAGIC[6] = "\x93NUMPY";

// by tgNpzType
static const char *const DESCR[] = {"<f8", "<i4", "<i8", "|u1"};
static const size_t ITEM[] = {8, 4, 8, 1};

size_t tgi_npz_item(tgNpzType type) { return ITEM[type]; }

size_t tgi_npz_count(const tgNpzArray *array) {
  size_t n = 1;
  bool empty = false;
  // a zero anywhere makes it empty, whatever the other sizes multiply to
  for (int k = 0; k < array->ndim; k++) {
    empty = empty || array->shape[k] == 0;
    n = tgi_size_mul(n, array->shape[k]);
  }
  return empty ? 0 : n;
}

size_t tgi_npy_format(char head[TG_NPY_HEAD], const tgNpzArray *array) {
  char shape[256] = "";
  size_t n = 0;
  for (int k = 0; k < array->ndim; k++)
    n += (size_t)snprintf(shape + n, sizeof shape - n, "%s%zu", k > 0 ? ", " : "", array->shape[k]);
  // a tuple of one keeps its comma
  int length = snprintf(head + 10, TG_NPY_HEAD - 10, "{'descr': '%s', 'fortran_order': False, 'shape': (%s%s), }",
                        DESCR[array->type], shape, array->ndim == 1 ? "," : "");
  size_t used = 10 + (size_t)length + 1;
  size_t padded = (used + 63) / 64 * 64;
  memset(head + 10 + length, ' ', padded - used);
  head[padded - 1] = '\n';
  memcpy(head, MAGIC, sizeof MAGIC);
  head[6] = 1;
  head[7] = 0;
  head[8] = (char)((padded - 10) & 0xFF);
  head[9] = (char)((padded - 10) >> 8);
  return padded;
}

// reading the dictionary, never past end
typedef struct Cursor { const char *at, *end; } Cursor;

static void skip(Cursor *c) {
  while (c->at < c->end && (*c->at == ' ' || *c->at == '\t' || *c->at == '\n' || *c->at == '\r')) c->at++;
}

static bool take(Cursor *c, char sign) {
  skip(c);
  if (c->at >= c->end || *c->at != sign) return false;
  c->at++;
  return true;
}

// the quoted text at c without escapes: its start and length
static bool take_text(Cursor *c, const char **text, size_t *length) {
  skip(c);
  if (c->at >= c->end || (*c->at != '\'' && *c->at != '"')) return false;
  char quote = *c->at++;
  *text = c->at;
  while (c->at < c->end && *c->at != quote && *c->at != '\\' && *c->at >= ' ') c->at++;
  if (c->at >= c->end || *c->at != quote) return false;
  *length = (size_t)(c->at++ - *text);
  return true;
}

static bool take_word(Cursor *c, const char *word) {
  skip(c);
  size_t n = strlen(word);
  if ((size_t)(c->end - c->at) < n || memcmp(c->at, word, n) != 0) return false;
  c->at += n;
  return true;
}

// a decimal that fits in size_t, without sign or leading zeros
static bool take_size(Cursor *c, size_t *value) {
  skip(c);
  const char *from = c->at;
  *value = 0;
  for (; c->at < c->end && *c->at >= '0' && *c->at <= '9'; c->at++) {
    size_t digit = (size_t)(*c->at - '0');
    if (*value > (SIZE_MAX - digit) / 10) return false;
    *value = *value * 10 + digit;
  }
  return c->at > from && (*from != '0' || c->at == from + 1);
}

// "(", sizes with commas between and perhaps after, ")"; a tuple of one needs its comma
static bool take_shape(Cursor *c, tgNpzArray *array) {
  array->ndim = 0;
  if (!take(c, '(')) return false;
  bool comma = true;
  while (!take(c, ')')) {
    if (!comma || array->ndim == TG_NPZ_MAX_DIM || !take_size(c, &array->shape[array->ndim])) return false;
    array->ndim++;
    comma = take(c, ',');
  }
  return array->ndim != 1 || comma;
}

static tgStatus take_descr(Cursor *c, const char *what, tgNpzArray *array, tgError *error) {
  const char *text;
  size_t n;
  if (!take_text(c, &text, &n))
    return tgi_error(error, TG_ERR_UNSUPPORTED, "%s: records are not read; store plain arrays", what);
  for (int k = 0; k < 4; k++) {
    if (n != 3 || memcmp(text, DESCR[k], 3) != 0) continue;
    array->type = (tgNpzType)k;
    return TG_OK;
  }
  return tgi_error(error, TG_ERR_UNSUPPORTED,
                   "%s: elements of type '%.*s' are not read; convert to float64, int32, int64 or uint8, little-endian",
                   what, n < 16 ? (int)n : 16, text);
}

static tgStatus take_entry(Cursor *c, const char *what, tgNpzArray *array, unsigned *seen, tgError *error) {
  static const char *const key[] = {"descr", "fortran_order", "shape"};
  const char *text;
  size_t n;
  if (!take_text(c, &text, &n) || !take(c, ':')) return tgi_error(error, TG_ERR_PARSE, "%s: malformed header", what);
  unsigned k = 0;
  while (k < 3 && (n != strlen(key[k]) || memcmp(text, key[k], n) != 0)) k++;
  if (k == 3 || (*seen & 1u << k) != 0)
    return tgi_error(error, TG_ERR_PARSE, "%s: header has the key '%.*s' %s", what, n < 32 ? (int)n : 32, text,
                     k == 3 ? "that no array has" : "twice");
  *seen |= 1u << k;
  if (k == 0) return take_descr(c, what, array, error);
  if (k == 1 && take_word(c, "True"))
    return tgi_error(error, TG_ERR_UNSUPPORTED, "%s is in Fortran order; store numpy.ascontiguousarray of it", what);
  if (k == 1 && !take_word(c, "False"))
    return tgi_error(error, TG_ERR_PARSE, "%s: fortran_order is neither True nor False", what);
  if (k == 2 && !take_shape(c, array))
    return tgi_error(error, TG_ERR_PARSE, "%s: the shape is not a tuple of at most %d sizes", what, TG_NPZ_MAX_DIM);
  return TG_OK;
}

tgStatus tgi_npy_parse(const char *what, const uint8_t *bytes, size_t size, tgNpzArray *array, size_t *offset,
                       tgError *error) {
  if (size < 10 || memcmp(bytes, MAGIC, sizeof MAGIC) != 0)
    return tgi_error(error, TG_ERR_PARSE, "%s is no NumPy array (its first bytes differ)", what);
  if (bytes[6] < 1 || bytes[6] > 3 || bytes[7] != 0)
    return tgi_error(error, TG_ERR_UNSUPPORTED, "%s has format version %d.%d; 1.0 to 3.0 are read", what, bytes[6], bytes[7]);
  size_t start = bytes[6] == 1 ? 10 : 12;
  size_t length = (size_t)bytes[8] | (size_t)bytes[9] << 8;
  if (bytes[6] > 1 && size >= 12) length |= (size_t)bytes[10] << 16 | (size_t)bytes[11] << 24;
  if (size < start || length > size - start)
    return tgi_error(error, TG_ERR_PARSE, "%s ends inside its header", what);

  Cursor c = {(const char *)bytes + start, (const char *)bytes + start + length};
  unsigned seen = 0;
  if (!take(&c, '{')) return tgi_error(error, TG_ERR_PARSE, "%s: malformed header", what);
  bool comma = true;
  while (!take(&c, '}')) {
    if (!comma) return tgi_error(error, TG_ERR_PARSE, "%s: malformed header", what);
    TG_TRY(take_entry(&c, what, array, &seen, error));
    comma = take(&c, ',');
  }
  skip(&c);
  if (seen != 7 || c.at != c.end)
    return tgi_error(error, TG_ERR_PARSE, "%s: the header %s", what, seen != 7 ? "lacks a key" : "goes on after its end");
  *offset = start + length;
  return TG_OK;
}
