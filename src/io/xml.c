// xml.c: see xml.h.
#include "io/xml.h"

#include <expat.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/status.h"
#include "io/number.h"

enum { BLOCK_SIZE = 64 << 10, CHUNK = 16 << 20 };
// sizes above which a number is a mistake: a length in metres; anything else (damping of 1e11 locks a joint in practice)
static const double longest = 1e10, largest = 1e30;

typedef struct tgXmlBlock {
  struct tgXmlBlock *next;
  size_t used, size;
  max_align_t data[];
} Block;

void tgi_xml_init(tgXml *xml, tgDesc *desc, const tgLoadOptions *options) {
  tgLoadOptions o = options != NULL ? *options : tg_load_default();
  *xml = (tgXml){.desc = desc, .max_element = o.max_elements, .max_depth = o.max_depth,
                 .alloc = tgi_allocator(o.allocator)};
}

void tgi_xml_free(tgXml *xml) {
  for (Block *b = xml->block; b != NULL;) {
    Block *next = b->next;
    xml->alloc.free(xml->alloc.ctx, b);
    b = next;
  }
  xml->block = NULL;
  xml->root = NULL;
}

// from the newest block when it has room; what is large gets its own block behind it
static void *take(tgXml *xml, size_t bytes) {
  size_t step = sizeof(max_align_t);
  if (bytes > SIZE_MAX / 2) return NULL;
  bytes = (bytes + step - 1) / step * step;
  Block *b = xml->block;
  if (b == NULL || b->size - b->used < bytes) {
    size_t size = bytes > BLOCK_SIZE / 4 ? bytes : BLOCK_SIZE;
    Block *fresh = xml->alloc.alloc(xml->alloc.ctx, sizeof *fresh + size);
    if (fresh == NULL) return NULL;
    *fresh = (Block){.size = size};
    if (b != NULL && size == bytes) {
      fresh->next = b->next;
      b->next = fresh;
    } else {
      fresh->next = b;
      xml->block = fresh;
    }
    b = fresh;
  }
  void *p = (char *)b->data + b->used;
  b->used += bytes;
  return p;
}

char *tgi_xml_string(tgXml *xml, const char *text, size_t length) {
  char *p = take(xml, length + 1);
  if (p == NULL) return NULL;
  memcpy(p, text, length);
  p[length] = 0;
  return p;
}

void *tgi_xml_bytes(tgXml *xml, size_t bytes) { return take(xml, bytes); }

tgXmlNode *tgi_xml_new(tgXml *xml, const char *name, tgSource source) {
  if (xml->nelement >= xml->max_element) return NULL;
  tgXmlNode *node = take(xml, sizeof *node);
  char *copy = tgi_xml_string(xml, name, strlen(name));
  if (node == NULL || copy == NULL) return NULL;
  *node = (tgXmlNode){.name = copy, .source = source, .depth = 1};
  xml->nelement++;
  return node;
}

void tgi_xml_append(tgXmlNode *parent, tgXmlNode *child) {
  child->parent = parent;
  child->next = NULL;
  if (parent->last != NULL) parent->last->next = child;
  else parent->child = child;
  parent->last = child;
}

// ---- parsing ----

typedef struct Parse {
  tgXml *xml;
  XML_Parser parser;
  const char *data;
  size_t size;
  tgXmlNode *root, *at;          // at: the open element
  char *text;                    // character data of the open element so far
  size_t ntext, captext;
  int file, depth;
  tgStatus status;
  tgError *error;
} Parse;

static tgSource here(const Parse *p) {
  return (tgSource){.file = p->file, .line = (int)XML_GetCurrentLineNumber(p->parser),
                    .column = (int)XML_GetCurrentColumnNumber(p->parser) + 1};
}

static void place(const tgXml *xml, tgError *error, tgSource source) {
  if (error == NULL) return;
  error->line = source.line;
  error->column = source.column;
  error->file[0] = 0;
  if (source.file >= 0 && source.file < xml->desc->nfile)
    snprintf(error->file, sizeof error->file, "%s", xml->desc->file[source.file]);
}

static void stop(Parse *p, tgStatus status, const char *text) {
  if (p->status != TG_OK) return;
  p->status = tgi_error(p->error, status, "%s", text);
  place(p->xml, p->error, here(p));
  XML_StopParser(p->parser, XML_FALSE);
}

// keeps the first run of character data that is more than white space (later runs would only grow the copy)
static void flush_text(Parse *p) {
  const char *end = p->ntext > 0 ? p->text + p->ntext : NULL;
  if (end != NULL && p->at != NULL && p->at->text == NULL && tgi_skip_space(p->text, end) < end) {
    p->at->text = tgi_xml_string(p->xml, p->text, p->ntext);
    if (p->at->text == NULL) stop(p, TG_ERR_MEMORY, "out of memory for this document");
  }
  p->ntext = 0;
}

static void XMLCALL on_text(void *user, const XML_Char *s, int n) {
  Parse *p = user;
  if (p->status != TG_OK || n <= 0) return;
  if (p->ntext + (size_t)n > p->captext) {
    size_t cap = 2 * (p->ntext + (size_t)n) + 256;
    char *grown = p->xml->alloc.realloc(p->xml->alloc.ctx, p->text, cap);
    if (grown == NULL) {
      stop(p, TG_ERR_MEMORY, "out of memory for this document");
      return;
    }
    p->text = grown;
    p->captext = cap;
  }
  memcpy(p->text + p->ntext, s, (size_t)n);
  p->ntext += (size_t)n;
}

// Where each attribute of the tag at `here` stands: the tag is read again from the raw bytes, in which expat has
// already found it well-formed. In UTF-16 the bytes do not match and the place of the element is kept.
static void locate(const Parse *p, tgXmlNode *node) {
  XML_Index start = XML_GetCurrentByteIndex(p->parser);
  size_t n = strlen(node->name);
  if (start < 0 || (size_t)start + n + 1 >= p->size || p->data[start] != '<' ||
      strncmp(p->data + start + 1, node->name, n) != 0)
    return;
  const char *s = p->data + start + 1 + n, *end = p->data + p->size, *line = p->data + start - node->source.column;
  int number = node->source.line;
  for (tgXmlAttr *a = node->attr; a != NULL; a = a->next) {
    for (; s < end && (*s == ' ' || *s == '\t' || *s == '\r' || *s == '\n'); s++)
      if (*s == '\n') {
        number++;
        line = s;
      }
    a->source.line = number;
    a->source.column = (int)(s - line);
    while (s < end && *s != '"' && *s != '\'') s++;
    char quote = s < end ? *s : 0;
    for (s++; s < end && *s != quote; s++)
      if (*s == '\n') {
        number++;
        line = s;
      }
    s++;
  }
}

static void XMLCALL on_start(void *user, const XML_Char *name, const XML_Char **attrs) {
  Parse *p = user;
  if (p->status != TG_OK) return;
  flush_text(p);
  int depth = (p->at != NULL ? p->at->depth : p->depth) + 1;
  if (depth > p->xml->max_depth) {
    stop(p, TG_ERR_LIMIT, "elements are nested deeper than max_depth allows; raise it if that is meant");
    return;
  }
  if (p->xml->nelement >= p->xml->max_element) {
    stop(p, TG_ERR_LIMIT, "more elements than max_elements allows; raise it if that is meant");
    return;
  }
  tgXmlNode *node = tgi_xml_new(p->xml, name, here(p));
  if (node == NULL) {
    stop(p, TG_ERR_MEMORY, "out of memory for this document");
    return;
  }
  node->depth = depth;
  tgXmlAttr **tail = &node->attr;
  for (; attrs[0] != NULL; attrs += 2) {
    if (++p->xml->nattr > 8 * (size_t)p->xml->max_element) {
      stop(p, TG_ERR_LIMIT, "more attributes than eight times max_elements; raise it if that is meant");
      return;
    }
    tgXmlAttr *a = take(p->xml, sizeof *a);
    char *key = a != NULL ? tgi_xml_string(p->xml, attrs[0], strlen(attrs[0])) : NULL;
    char *value = key != NULL ? tgi_xml_string(p->xml, attrs[1], strlen(attrs[1])) : NULL;
    if (value == NULL) {
      stop(p, TG_ERR_MEMORY, "out of memory for this document");
      return;
    }
    *a = (tgXmlAttr){.name = key, .value = value, .source = node->source};
    *tail = a;
    tail = &a->next;
  }
  locate(p, node);
  if (p->at != NULL) tgi_xml_append(p->at, node);
  else p->root = node;
  p->at = node;
}

static void XMLCALL on_end(void *user, const XML_Char *name) {
  Parse *p = user;
  (void)name;
  if (p->status != TG_OK) return;
  flush_text(p);
  p->at = p->at->parent;
}

static void XMLCALL on_doctype(void *user, const XML_Char *name, const XML_Char *sysid, const XML_Char *pubid,
                               int internal) {
  (void)name, (void)sysid, (void)pubid, (void)internal;
  stop(user, TG_ERR_PARSE, "a DOCTYPE is refused: model files need none, and entities can be used to harm; remove it");
}

// what may help with a text that is no XML
static const char *cure(const Parse *p, enum XML_Error code) {
  const unsigned char *data = (const unsigned char *)p->data;
  XML_Index at = XML_GetCurrentByteIndex(p->parser);
  size_t first = 0;
  while (first < p->size && strchr(" \t\r\n", data[first]) != NULL) first++;
  if (p->size > 2 && data[0] == 0x1f && data[1] == 0x8b) return " (the file is compressed; unpack it first)";
  if (code == XML_ERROR_INVALID_TOKEN && at >= 0 && (size_t)at < p->size && data[at] >= 0x80)
    return " (a byte that is not UTF-8: save the file as UTF-8, or name its encoding in the first line, <?xml version=\"1.0\" "
           "encoding=\"ISO-8859-1\"?>)";
  if (first < p->size && data[first] != '<' && data[first] < 0x80)
    return " (a model file begins with '<'; a task file is for tangere optimize and tangere.Task)";
  return "";
}

static tgStatus run(Parse *p) {
  for (size_t at = 0; p->status == TG_OK;) {
    size_t n = p->size - at > CHUNK ? CHUNK : p->size - at;
    bool last = at + n == p->size;
    if (XML_Parse(p->parser, p->data + at, (int)n, last) != XML_STATUS_OK && p->status == TG_OK) {
      enum XML_Error code = XML_GetErrorCode(p->parser);
      bool memory = code == XML_ERROR_NO_MEMORY;
      p->status = tgi_error(p->error, memory ? TG_ERR_MEMORY : TG_ERR_PARSE, "not well-formed XML: %s%s",
                            XML_ErrorString(code), cure(p, code));
      place(p->xml, p->error, here(p));
    }
    if (last) break;
    at += n;
  }
  return p->status;
}

tgStatus tgi_xml_parse(tgXml *xml, const char *name, const char *data, size_t size, int depth, tgXmlNode **root,
                       tgError *error) {
  *root = NULL;
  int file = tg_desc_add_file(xml->desc, name);
  if (file < 0) return tgi_error(error, TG_ERR_MEMORY, "out of memory for %s", name);
  Parse p = {.xml = xml, .data = data, .size = size, .file = file, .depth = depth, .error = error};
  p.parser = XML_ParserCreate(NULL);
  if (p.parser == NULL) return tgi_error(error, TG_ERR_MEMORY, "out of memory for the parser of %s", name);
  XML_SetUserData(p.parser, &p);
  XML_SetElementHandler(p.parser, on_start, on_end);
  XML_SetCharacterDataHandler(p.parser, on_text);
  XML_SetStartDoctypeDeclHandler(p.parser, on_doctype);
  tgStatus status = size > 0 ? run(&p) : tgi_error(error, TG_ERR_PARSE, "the file is empty");
  if (size == 0) place(xml, error, (tgSource){.file = file});
  XML_ParserFree(p.parser);
  xml->alloc.free(xml->alloc.ctx, p.text);
  if (status == TG_OK) *root = p.root;
  return status;
}

tgStatus tgi_xml_memory(const tgXml *xml, const tgXmlNode *at, tgError *error) {
  if (at != NULL) return tgi_xml_error(xml, at, error, TG_ERR_MEMORY, "out of memory");
  const char *name = xml->desc->nfile > 0 ? xml->desc->file[0] : "a document";
  tgStatus status = tgi_error(error, TG_ERR_MEMORY, "out of memory for the elements of %s", name);
  place(xml, error, (tgSource){.file = xml->desc->nfile > 0 ? 0 : -1});
  return status;
}

// ---- reading the tree ----

const tgXmlAttr *tgi_xml_attr(const tgXmlNode *node, const char *name) {
  for (const tgXmlAttr *a = node->attr; a != NULL; a = a->next)
    if (strcmp(a->name, name) == 0) return a;
  return NULL;
}

const char *tgi_xml_get(const tgXmlNode *node, const char *name) {
  const tgXmlAttr *a = tgi_xml_attr(node, name);
  return a != NULL ? a->value : NULL;
}

static tgXmlNode *named(tgXmlNode *node, const char *name) {
  while (node != NULL && name != NULL && strcmp(node->name, name) != 0) node = node->next;
  return node;
}

tgXmlNode *tgi_xml_child(const tgXmlNode *node, const char *name) { return named(node->child, name); }
tgXmlNode *tgi_xml_next(const tgXmlNode *node, const char *name) { return named(node->next, name); }

tgXmlNode *tgi_xml_walk(const tgXmlNode *root, const tgXmlNode *node) {
  if (node->child != NULL) return node->child;
  while (node != root && node->next == NULL) node = node->parent;
  return node != root ? node->next : NULL;
}

static void describe(const tgXmlNode *node, tgError *error) {
  const char *name = tgi_xml_get(node, "name");
  if (name != NULL) snprintf(error->element, sizeof error->element, "%s \"%s\"", node->name, name);
  else snprintf(error->element, sizeof error->element, "%s", node->name);
}

static tgStatus fill(const tgXml *xml, const tgXmlNode *node, tgSource source, tgError *error, tgStatus status,
                     const char *format, va_list args) {
  if (error == NULL) return status;
  char text[sizeof error->text];
  vsnprintf(text, sizeof text, format, args);
  describe(node, error);
  place(xml, error, source);
  error->status = status;
  int n = snprintf(error->text, sizeof error->text, "%s: ", error->element);
  snprintf(error->text + n, sizeof error->text - (size_t)n, "%s", text);
  return status;
}

tgStatus tgi_xml_error(const tgXml *xml, const tgXmlNode *node, tgError *error, tgStatus status, const char *format,
                       ...) {
  va_list args;
  va_start(args, format);
  fill(xml, node, node->source, error, status, format, args);
  va_end(args);
  return status;
}

tgStatus tgi_xml_attr_error(const tgXml *xml, const tgXmlNode *node, const tgXmlAttr *attr, tgError *error,
                            tgStatus status, const char *format, ...) {
  va_list args;
  va_start(args, format);
  fill(xml, node, attr != NULL ? attr->source : node->source, error, status, format, args);
  va_end(args);
  return status;
}

static double limit(const char *name) {
  static const char *const lengths[] = {"pos", "size", "fromto", "vertex", "refpos", "anchor", "xyz", "length", "radius",
                                        "scale", "relpose", "qpos"};
  for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++)
    if (strcmp(name, lengths[i]) == 0) return longest;
  return largest;
}

// one number of an attribute at *s; judges it
static tgStatus read_number(const tgXml *xml, const tgXmlNode *node, const tgXmlAttr *a, const char **s,
                            const char *end, double *value, tgError *error) {
  const char *next = tgi_number(*s, end, value);
  if (next == NULL || (next < end && tgi_skip_space(next, end) == next)) {
    int n = 0;
    while (*s + n < end && n < 40 && tgi_skip_space(*s + n, end) == *s + n) n++;
    return tgi_xml_attr_error(xml, node, a, error, TG_ERR_PARSE, "%s: '%.*s' is not a number%s", a->name, n, *s,
                              memchr(*s, ',', (size_t)n) != NULL ? " (numbers are separated by spaces)" : "");
  }
  if (!isfinite(*value))
    return tgi_xml_attr_error(xml, node, a, error, TG_ERR_NOT_FINITE, "%s: '%.*s' is not finite; give a number",
                              a->name, (int)(next - *s < 40 ? next - *s : 40), *s);
  if (fabs(*value) > limit(a->name))
    return tgi_xml_attr_error(xml, node, a, error, TG_ERR_INVALID, "%s: %g is larger than %g in size", a->name, *value,
                              limit(a->name));
  *s = next;
  return TG_OK;
}

static tgStatus count_error(const tgXml *xml, const tgXmlNode *node, const tgXmlAttr *a, int min, int max, bool more,
                            int count, tgError *error) {
  if (min == max)
    return tgi_xml_attr_error(xml, node, a, error, TG_ERR_PARSE, "%s needs %d number%s, has %s%d", a->name, min,
                              min == 1 ? "" : "s", more ? "more than " : "", count);
  return tgi_xml_attr_error(xml, node, a, error, TG_ERR_PARSE, "%s needs %d to %d numbers, has %s%d", a->name, min, max,
                            more ? "more than " : "", count);
}

tgStatus tgi_xml_numbers(const tgXml *xml, const tgXmlNode *node, const char *name, int min, int max, double *value,
                         int *count, tgError *error) {
  if (count != NULL) *count = 0;
  const tgXmlAttr *a = tgi_xml_attr(node, name);
  if (a == NULL) return TG_OK;
  const char *s = a->value, *end = s + strlen(s);
  int n = 0;
  for (s = tgi_skip_space(s, end); s < end; s = tgi_skip_space(s, end)) {
    double x;
    TG_TRY(read_number(xml, node, a, &s, end, &x, error));
    if (n == max) return count_error(xml, node, a, min, max, true, n, error);
    value[n++] = x;
  }
  if (n < min) return count_error(xml, node, a, min, max, false, n, error);
  if (count != NULL) *count = n;
  return TG_OK;
}

tgStatus tgi_xml_array(tgXml *xml, const tgXmlNode *node, const char *name, double **value, int *count,
                       tgError *error) {
  *value = NULL;
  *count = 0;
  const tgXmlAttr *a = tgi_xml_attr(node, name);
  if (a == NULL) return TG_OK;
  const char *s = a->value, *end = s + strlen(s);
  size_t cap = ((size_t)(end - s) + 1) / 2 + 1;     // n numbers need 2n - 1 characters
  if (cap > INT32_MAX) return tgi_xml_attr_error(xml, node, a, error, TG_ERR_LIMIT, "%s is too long", a->name);
  *value = take(xml, tgi_size_mul(cap, sizeof **value));
  if (*value == NULL) return tgi_xml_attr_error(xml, node, a, error, TG_ERR_MEMORY, "out of memory for the numbers of %s", a->name);
  for (s = tgi_skip_space(s, end); s < end; s = tgi_skip_space(s, end))
    TG_TRY(read_number(xml, node, a, &s, end, &(*value)[(*count)++], error));
  return TG_OK;
}
