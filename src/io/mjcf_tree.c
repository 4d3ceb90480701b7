// mjcf_tree.c: include files and default classes.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/status.h"
#include "io/mjcf.h"
#include "io/number.h"

enum { INCLUDE_DEPTH = 64, INCLUDE_FILES = 1024 };

// ---- include ----

// A file that was read, and how deep in a chain of includes. The content of an include element is put in its place,
// so a chain cannot be seen in the tree: `level` of a file index tells it.
typedef struct tgMjcfFile {
  uint64_t dev, ino;
  int file, level;
  tgSource source;                  // the include element that brought it
  const char *directory;            // where it lies, from the main file's directory
} Included;

static tgStatus check_include(tgMjcf *m, const tgXmlNode *node, const char **path) {
  *path = tgi_xml_get(node, "file");
  if (node->child != NULL)
    return tgi_xml_error(m->xml, node, m->error, TG_ERR_PARSE, "has children; an include element stands alone");
  if (*path == NULL || **path == 0)
    return tgi_xml_error(m->xml, node, m->error, TG_ERR_PARSE, "needs file=\"...\"");
  for (const tgXmlAttr *a = node->attr; a != NULL; a = a->next)
    if (strcmp(a->name, "file") != 0)
      TG_TRY(tgi_mjcf_unknown(m, TG_DROP_UNKNOWN, node, a, "unknown attribute %.60s; only file is known", a->name));
  return TG_OK;
}

static tgStatus refuse_repeated(tgMjcf *m, const tgXmlNode *node, const tgFile *file) {
  const Included *list = m->file;
  for (int i = 0; i < m->nfile; i++) {
    if (list[i].dev != file->dev || list[i].ino != file->ino) continue;
    if (list[i].source.file < 0)
      return tgi_xml_error(m->xml, node, m->error, TG_ERR_INVALID, "%s includes itself; break the cycle", file->path);
    return tgi_xml_error(m->xml, node, m->error, TG_ERR_INVALID, "%s is already included at %s:%d; include it once",
                         file->path, m->desc->file[list[i].source.file], list[i].source.line);
  }
  return TG_OK;
}

const char *tgi_mjcf_directory(const tgMjcf *m, const tgXmlNode *node) {
  for (int i = 0; i < m->nfile; i++)
    if (m->file[i].file == node->source.file) return m->file[i].directory;
  return "";
}

// the file from the main file's directory or else from that of the file with the include element
static tgStatus open_include(tgMjcf *m, const tgXmlNode *node, const char *path, tgFile *file, const char **directory) {
  tgError why = {0}, also;
  char beside[1024];
  const char *own = tgi_mjcf_directory(m, node), *used = path;
  tgStatus status = tgi_file_open(m->files, -1, path, file, &why);
  if (status == TG_ERR_FILE && *own != 0 && tgi_path_join(beside, sizeof beside, own, path)) {
    used = beside;
    status = tgi_file_open(m->files, -1, beside, file, &also);
  }
  if (status < 0) return tgi_xml_error(m->xml, node, m->error, why.status, "%s", why.text);
  const char *slash = strrchr(used, '/');
  *directory = tgi_xml_string(m->xml, used, slash != NULL ? (size_t)(slash - used) : 0);
  if (*directory != NULL) return TG_OK;
  tgi_file_close(m->files, file);
  return tgi_mjcf_memory(m);
}

// reads the file of one include element and puts the content of its root in the element's place
static tgStatus expand(tgMjcf *m, tgXmlNode *node) {
  const char *path, *directory;
  TG_TRY(check_include(m, node, &path));
  int level = 0;
  for (int i = 0; i < m->nfile; i++)
    if (m->file[i].file == node->source.file) level = m->file[i].level;
  if (level + 1 > INCLUDE_DEPTH || m->nfile == INCLUDE_FILES)
    return tgi_xml_error(m->xml, node, m->error, TG_ERR_LIMIT, "more than %d files included, or more than %d deep",
                         INCLUDE_FILES, INCLUDE_DEPTH);
  tgFile file;
  TG_TRY(open_include(m, node, path, &file, &directory));
  tgXmlNode *top = NULL;
  tgStatus status = refuse_repeated(m, node, &file);
  if (status == TG_OK)
    status = tgi_xml_parse(m->xml, file.path, file.data, file.size, node->depth - 2, &top, m->error);
  if (status == TG_OK)
    m->file[m->nfile++] = (Included){file.dev, file.ino, top->source.file, level + 1, node->source, directory};
  tgi_file_close(m->files, &file);
  TG_TRY(status);
  for (tgXmlNode *c = top->child; c != NULL; c = c->next) c->parent = node->parent;
  // the include element becomes a link to what follows: its content, then its next sibling
  tgXmlNode *parent = node->parent, **link = &parent->child;
  while (*link != node) link = &(*link)->next;
  if (top->child == NULL) {
    *link = node->next;
    if (parent->last == node) {
      parent->last = parent->child;
      while (parent->last != NULL && parent->last->next != NULL) parent->last = parent->last->next;
    }
  } else {
    *link = top->child;
    top->last->next = node->next;
    if (parent->last == node) parent->last = top->last;
  }
  return TG_OK;
}

tgStatus tgi_mjcf_include(tgMjcf *m, const tgFile *main_file) {
  m->file = tgi_xml_bytes(m->xml, (INCLUDE_FILES + 1) * sizeof *m->file);
  if (m->file == NULL) return tgi_mjcf_memory(m);
  if (main_file != NULL)
    m->file[m->nfile++] = (Included){main_file->dev, main_file->ino, m->root->source.file, 0, {.file = -1}, ""};
  // visiting a node looks at its children, so that what an include brings is looked at too
  for (tgXmlNode *node = m->root; node != NULL; node = tgi_xml_walk(m->root, node)) {
    for (tgXmlNode *c = tgi_xml_child(node, "include"); c != NULL; c = tgi_xml_child(node, "include"))
      TG_TRY(expand(m, c));
  }
  return TG_OK;
}

// ---- default classes ----

static tgStatus add_class(tgMjcf *m, const char *name, int parent, const tgXmlNode *node, int *index) {
  if (m->ncls == m->capcls) {
    int cap = m->capcls == 0 ? 16 : 2 * m->capcls;
    tgMjcfClass *grown = tgi_xml_bytes(m->xml, (size_t)cap * sizeof *grown);
    if (grown == NULL) return tgi_mjcf_memory(m);
    if (m->ncls > 0) memcpy(grown, m->cls, (size_t)m->ncls * sizeof *grown);
    m->cls = grown;
    m->capcls = cap;
  }
  *index = m->ncls++;
  if (parent >= 0) m->cls[*index] = m->cls[parent];
  else m->cls[*index] = (tgMjcfClass){.act = tgi_mjcf_act_initial()};
  m->cls[*index].name = name;
  m->cls[*index].parent = parent;
  m->cls[*index].node = node;
  return node != NULL ? tgi_mjcf_name(m, node, name, TG_NAME_CLASS, *index) : TG_OK;
}

// "0.1" over "1 2 3" is "0.1 2 3": numbers that a class does not give stay those of its parent
static const char *merge_numbers(tgMjcf *m, const char *own, const char *under) {
  const char *o = own, *oe = own + strlen(own), *u = under, *ue = under + strlen(under);
  for (o = tgi_skip_space(o, oe); o < oe; o = tgi_skip_space(o, oe)) {
    while (o < oe && tgi_skip_space(o, oe) == o) o++;
    u = tgi_skip_space(u, ue);
    while (u < ue && tgi_skip_space(u, ue) == u) u++;
  }
  u = tgi_skip_space(u, ue);
  if (u == ue) return own;
  size_t n = strlen(own) + (size_t)(ue - u) + 2;
  char *joined = tgi_xml_bytes(m->xml, n);
  if (joined != NULL) snprintf(joined, n, "%s %s", own, u);
  return joined;
}

static bool is_orientation(const char *name) {
  static const char *const form[] = {"quat", "axisangle", "euler", "xyaxes", "zaxis"};
  for (size_t i = 0; i < sizeof form / sizeof *form; i++)
    if (strcmp(form[i], name) == 0) return true;
  return false;
}

// *list becomes the element's attributes followed by those of *list that they do not replace
static tgStatus overlay(tgMjcf *m, const tgXmlNode *node, const tgXmlAttr **list) {
  const tgXmlAttr *under = *list;
  tgXmlAttr *head = NULL, **tail = &head;
  bool turned = false;
  for (const tgXmlAttr *a = node->attr; a != NULL; a = a->next) {
    tgXmlAttr *copy = tgi_xml_bytes(m->xml, sizeof *copy);
    if (copy == NULL) return tgi_mjcf_memory(m);
    *copy = *a;
    copy->next = NULL;
    turned = turned || is_orientation(a->name);
    if (tgi_mjcf_partial(node->name, a->name))
      for (const tgXmlAttr *b = under; b != NULL; b = b->next)
        if (strcmp(b->name, a->name) == 0) copy->value = merge_numbers(m, a->value, b->value);
    if (copy->value == NULL) return tgi_mjcf_memory(m);
    *tail = copy;
    tail = &copy->next;
  }
  for (const tgXmlAttr *b = under; b != NULL; b = b->next) {
    if (tgi_xml_attr(node, b->name) != NULL || (turned && is_orientation(b->name))) continue;
    tgXmlAttr *copy = tgi_xml_bytes(m->xml, sizeof *copy);
    if (copy == NULL) return tgi_mjcf_memory(m);
    *copy = *b;
    copy->next = NULL;
    *tail = copy;
    tail = &copy->next;
  }
  *list = head;
  return TG_OK;
}

// takes in what one default element says about each kind; its nested classes come later, when this one is whole
static tgStatus fill_class(tgMjcf *m, tgXmlNode *node, int index) {
  node->kind = index;
  for (tgXmlNode *c = node->child; c != NULL; c = c->next) {
    if (strcmp(c->name, "default") == 0) continue;
    const tgXmlAttr *a = tgi_xml_attr(c, "name");
    if (a == NULL) a = tgi_xml_attr(c, "class");
    if (a != NULL) TG_TRY(tgi_mjcf_unknown(m, TGI_LENIENT, c, a, "%s is not allowed in a default class; remove it", a->name));
    int kind = tgi_mjcf_kind(c->name);
    if (kind >= 0) TG_TRY(overlay(m, c, &m->cls[index].attr[kind]));
    else TG_TRY(tgi_mjcf_act_default(m, c, &m->cls[index].act));
  }
  return TG_OK;
}

// a nested default element makes a class with its parent's settings
static tgStatus nested_class(tgMjcf *m, tgXmlNode *node, int *index) {
  const char *name = tgi_xml_get(node, "class");
  if (name == NULL || *name == 0)
    return tgi_xml_error(m->xml, node, m->error, TG_ERR_INVALID, "a nested default needs class=\"...\"");
  return add_class(m, name, node->parent->kind, node, index);
}

tgStatus tgi_mjcf_defaults(tgMjcf *m) {
  int index;
  TG_TRY(add_class(m, "main", -1, NULL, &index));
  if (tgi_names_add(m->names, TG_NAME_CLASS, "main", 0, m->root->source, NULL) == -2) return tgi_mjcf_memory(m);
  // all top-level sections make up main, before any class inherits from it
  for (tgXmlNode *top = tgi_xml_child(m->root, "default"); top != NULL; top = tgi_xml_next(top, "default")) {
    const tgXmlAttr *a = tgi_xml_attr(top, "class");
    if (a != NULL && strcmp(a->value, "main") != 0)
      return tgi_xml_attr_error(m->xml, top, a, m->error, TG_ERR_INVALID, "the top-level class is called main; nest "
                                "<default class=\"%.60s\"> inside it", a->value);
    TG_TRY(fill_class(m, top, 0));
  }
  for (tgXmlNode *top = tgi_xml_child(m->root, "default"); top != NULL; top = tgi_xml_next(top, "default"))
    for (tgXmlNode *node = top; node != NULL; node = tgi_xml_walk(top, node)) {
      if (node == top || strcmp(node->name, "default") != 0) continue;
      TG_TRY(nested_class(m, node, &index));
      TG_TRY(fill_class(m, node, index));
    }
  return TG_OK;
}

tgStatus tgi_mjcf_class(tgMjcf *m, const tgXmlNode *node, const char *attribute, int fallback, int *index) {
  const tgXmlAttr *a = tgi_xml_attr(node, attribute);
  m->at = node;                   // where every reader of an element begins
  *index = fallback;
  if (a == NULL) return TG_OK;
  *index = tgi_names_find(m->names, TG_NAME_CLASS, a->value);
  if (*index >= 0) return TG_OK;
  const char *near = tgi_names_nearest(m->names, TG_NAME_CLASS, a->value);
  return tgi_xml_attr_error(m->xml, node, a, m->error, TG_ERR_INVALID, "there is no default class '%.60s'%s%.60s%s",
                            a->value, near != NULL ? "; did you mean " : "; define it in a default section",
                            near != NULL ? near : "", near != NULL ? "?" : "");
}

// ---- attributes with their defaults ----

tgEl tgi_mjcf_el(const tgMjcf *m, const tgXmlNode *node, const char *kind, int index) {
  int k = tgi_mjcf_kind(kind);
  return (tgEl){.node = node, .base = k >= 0 ? m->cls[index].attr[k] : NULL};
}

static const tgXmlAttr *in_base(tgEl el, const char *name) {
  for (const tgXmlAttr *a = el.base; a != NULL; a = a->next)
    if (strcmp(a->name, name) == 0) return a;
  return NULL;
}

const tgXmlAttr *tgi_el_attr(tgEl el, const char *name) {
  const tgXmlAttr *a = tgi_xml_attr(el.node, name);
  return a != NULL ? a : in_base(el, name);
}

const char *tgi_el_get(tgEl el, const char *name) {
  const tgXmlAttr *a = tgi_el_attr(el, name);
  return a != NULL ? a->value : NULL;
}

static int read_into(const tgXmlAttr *a, int max, double *value) {
  if (a == NULL) return 0;
  const char *end = a->value + strlen(a->value), *s = tgi_skip_space(a->value, end);
  int n = 0;
  while (s != NULL && s < end && n < max) {
    s = tgi_number(s, end, &value[n]);
    if (s == NULL) break;
    n++;
    s = tgi_skip_space(s, end);
  }
  return n;
}

int tgi_el_numbers(tgEl el, const char *name, int max, double *value) {
  int base = read_into(in_base(el, name), max, value);
  int own = read_into(tgi_xml_attr(el.node, name), max, value);
  return own > base ? own : base;
}

double tgi_el_number(tgEl el, const char *name, double absent) {
  tgi_el_numbers(el, name, 1, &absent);
  return absent;
}

int tgi_el_int(tgEl el, const char *name, int absent) {
  const char *text = tgi_el_get(el, name);
  if (text == NULL) return absent;
  const char *end = text + strlen(text);
  int x = absent;
  tgi_integer(tgi_skip_space(text, end), end, &x);
  return x;
}

bool tgi_el_bool(tgEl el, const char *name, bool absent) {
  const char *text = tgi_el_get(el, name);
  return text == NULL ? absent : strcmp(text, "true") == 0;
}

int tgi_el_tri(tgEl el, const char *name) {
  const char *text = tgi_el_get(el, name);
  return text == NULL || strcmp(text, "auto") == 0 ? 2 : strcmp(text, "true") == 0;
}

tgStatus tgi_mjcf_limited(const tgMjcf *m, tgEl el, const char *what, const char *range_name, int tri,
                          const double range[2], bool *limited) {
  bool given = range[0] != 0 || range[1] != 0;
  *limited = tri == 1 || (tri == 2 && given);
  if (tri == 2 && given && !m->autolimits)
    return tgi_xml_attr_error(m->xml, el.node, tgi_el_attr(el, range_name), m->error, TG_ERR_INVALID,
                              "has %s but not %s, and autolimits is false; set %s to true or false", range_name, what,
                              what);
  if (*limited && !(range[0] < range[1]))
    return tgi_xml_attr_error(m->xml, el.node, tgi_el_attr(el, range_name), m->error, TG_ERR_INVALID,
                              "%s is %g to %g; the first number must be the smaller", range_name, range[0], range[1]);
  return TG_OK;
}
