// mjcf_replicate.c: replicate elements are written out: each copy of the content stands in a `replica` element, whose kind is the
// index of its place in tgMjcf.replica.
//
// Copy i is turned by euler * i and moved by p(i), p(0) = 0, p(i+1) = p(i) + R(i) offset. Names get sep and i appended, i with
// as many digits as the last one has. Inner elements are written out first, so their numbers come first in names.
#include <stdio.h>
#include <string.h>

#include "base/status.h"
#include "io/mjcf.h"

static tgStatus no_room(tgMjcf *m, const tgXmlNode *node) {
  if (m->xml->nelement < m->xml->max_element) return tgi_mjcf_memory(m);
  return tgi_xml_error(m->xml, node, m->error, TG_ERR_LIMIT,
                       "its copies make more elements than max_elements = %d allows; raise it if that is meant",
                       m->xml->max_element);
}

// name + sep + number
static const char *numbered(tgMjcf *m, const char *name, const char *sep, int i, int digits) {
  char number[16];
  int n = snprintf(number, sizeof number, "%0*d", digits, i);
  size_t a = strlen(name), b = strlen(sep);
  char *p = tgi_xml_bytes(m->xml, a + b + (size_t)n + 1);
  if (p == NULL) return NULL;
  memcpy(p, name, a);
  memcpy(p + a, sep, b);
  memcpy(p + a + b, number, (size_t)n + 1);
  return p;
}

typedef struct Copy { const char *sep; int i, digits; } Copy;

static tgStatus copy_node(tgMjcf *m, const tgXmlNode *node, const Copy *c, tgXmlNode **out) {
  tgXmlNode *to = tgi_xml_new(m->xml, node->name, node->source);
  if (to == NULL) return no_room(m, node);
  to->text = node->text;
  to->kind = node->kind;
  tgXmlAttr **link = &to->attr;
  for (const tgXmlAttr *a = node->attr; a != NULL; a = a->next) {
    tgXmlAttr *b = tgi_xml_bytes(m->xml, sizeof *b);
    if (b == NULL) return tgi_mjcf_memory(m);
    *b = (tgXmlAttr){.name = a->name, .value = a->value, .source = a->source};
    if (strcmp(a->name, "name") == 0 && a->value[0] != 0) b->value = numbered(m, a->value, c->sep, c->i, c->digits);
    if (b->value == NULL) return tgi_mjcf_memory(m);
    *link = b;
    link = &b->next;
  }
  *out = to;
  return TG_OK;
}

// the content of `node` under `to`, element by element in document order
static tgStatus copy_content(tgMjcf *m, const tgXmlNode *node, tgXmlNode *to, const Copy *c) {
  const tgXmlNode *from = tgi_xml_walk(node, node);
  tgXmlNode *above = to;                       // the copy of from's parent
  for (; from != NULL;) {
    tgXmlNode *fresh = NULL;
    TG_TRY(copy_node(m, from, c, &fresh));
    tgi_xml_append(above, fresh);
    const tgXmlNode *next = tgi_xml_walk(node, from);
    above = fresh;
    for (const tgXmlNode *p = from; next != NULL && p != next->parent; p = p->parent) above = above->parent;
    from = next;
  }
  return TG_OK;
}

static tgStatus keep_place(tgMjcf *m, const tgPlace *place, int *index) {
  int n = m->nreplica;
  if (n == 0 || (n >= 16 && (n & (n - 1)) == 0)) {
    tgPlace *grown = tgi_xml_bytes(m->xml, (n == 0 ? 16 : 2 * (size_t)n) * sizeof *grown);
    if (grown == NULL) return tgi_mjcf_memory(m);
    if (n > 0) memcpy(grown, m->replica, (size_t)n * sizeof *grown);
    m->replica = grown;
  }
  m->replica[n] = *place;
  *index = m->nreplica++;
  return TG_OK;
}

static tgStatus expand(tgMjcf *m, tgXmlNode *node) {
  tgEl el = {.node = node};
  const char *sep = tgi_xml_get(node, "sep");
  int count = tgi_el_int(el, "count", -1);
  if (count < 0) return tgi_xml_error(m->xml, node, m->error, TG_ERR_INVALID, "needs count=\"...\", 0 or more");
  char last[16];
  Copy c = {.sep = sep != NULL ? sep : "", .digits = snprintf(last, sizeof last, "%d", count > 0 ? count - 1 : 0)};
  tgXmlNode content = *node;
  tgPlace place = {.quat = {1, 0, 0, 0}};
  double offset[3] = {0}, euler[3] = {0}, step[3];
  tgi_el_numbers(el, "offset", 3, offset);
  tgi_el_numbers(el, "euler", 3, euler);
  node->name = "replicated";
  node->child = node->last = NULL;
  for (c.i = 0; c.i < count; c.i++) {
    for (int k = 0; k < 3; k++) step[k] = c.i * euler[k];
    tgi_mjcf_euler(m, place.quat, step);
    tgXmlNode *replica = tgi_xml_new(m->xml, "replica", node->source);
    if (replica == NULL) return no_room(m, node);
    TG_TRY(keep_place(m, &place, &replica->kind));
    tgi_place_rotate(step, place.quat, offset);
    for (int k = 0; k < 3; k++) place.pos[k] += step[k];
    tgi_xml_append(node, replica);
    for (tgXmlNode *k = content.child; k != NULL; k = k->next) k->parent = &content;
    TG_TRY(copy_content(m, &content, replica, &c));
  }
  return TG_OK;
}

// one more level for each replicate above: depth of every element anew
static void set_depths(tgXmlNode *root) {
  for (tgXmlNode *n = tgi_xml_walk(root, root); n != NULL; n = tgi_xml_walk(root, n)) n->depth = n->parent->depth + 1;
}

tgStatus tgi_mjcf_replicate(tgMjcf *m) {
  for (tgXmlNode *w = tgi_xml_child(m->root, "worldbody"); w != NULL; w = tgi_xml_next(w, "worldbody")) {
    size_t count = 0;
    for (tgXmlNode *n = tgi_xml_walk(w, w); n != NULL; n = tgi_xml_walk(w, n)) count += strcmp(n->name, "replicate") == 0;
    if (count == 0) continue;
    tgXmlNode **list = tgi_xml_bytes(m->xml, count * sizeof *list);
    if (list == NULL) return tgi_mjcf_memory(m);
    size_t k = 0;
    for (tgXmlNode *n = tgi_xml_walk(w, w); n != NULL; n = tgi_xml_walk(w, n))
      if (strcmp(n->name, "replicate") == 0) list[k++] = n;
    while (k > 0) TG_TRY(expand(m, list[--k]));    // from the last in document order on: what is inside comes first
    set_depths(w);
  }
  return TG_OK;
}
