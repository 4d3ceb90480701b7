// names.c: see names.h. Open addressing with linear probing, FNV-1a, at most half full.
#include "io/names.h"

#include <string.h>

#include "base/memory.h"
#include "io/xml.h"

typedef struct Entry {
  const char *name;              // NULL: free
  tgNameKind kind;
  int index;
  tgSource source;
} Entry;

struct tgNames {
  tgAllocator alloc;
  Entry *entry;
  size_t size, count;            // size: a power of two
};

tgNames *tgi_names_create(const tgAllocator *allocator) {
  tgAllocator a = tgi_allocator(allocator);
  tgNames *names = a.alloc(a.ctx, sizeof *names);
  if (names != NULL) *names = (tgNames){.alloc = a};
  return names;
}

void tgi_names_free(tgNames *names) {
  if (names == NULL) return;
  tgAllocator a = names->alloc;
  a.free(a.ctx, names->entry);
  a.free(a.ctx, names);
}

static size_t hash(tgNameKind kind, const char *name) {
  uint64_t h = 14695981039346656037u ^ (uint64_t)kind;
  for (const char *p = name; *p != 0; p++) h = (h ^ (unsigned char)*p) * 1099511628211u;
  return (size_t)(h ^ (h >> 32));
}

// the entry that has the name, or the free one where it belongs; size must not be 0
static Entry *slot(const tgNames *names, tgNameKind kind, const char *name) {
  for (size_t i = hash(kind, name);; i++) {
    Entry *e = &names->entry[i & (names->size - 1)];
    if (e->name == NULL || (e->kind == kind && strcmp(e->name, name) == 0)) return e;
  }
}

static bool grow(tgNames *names) {
  tgNames bigger = *names;
  bigger.size = names->size == 0 ? 64 : 2 * names->size;
  size_t bytes = tgi_size_mul(bigger.size, sizeof *bigger.entry);
  bigger.entry = names->alloc.alloc(names->alloc.ctx, bytes);
  if (bigger.entry == NULL) return false;
  memset(bigger.entry, 0, bytes);
  for (size_t i = 0; i < names->size; i++)
    if (names->entry[i].name != NULL) *slot(&bigger, names->entry[i].kind, names->entry[i].name) = names->entry[i];
  names->alloc.free(names->alloc.ctx, names->entry);
  *names = bigger;
  return true;
}

int tgi_names_add(tgNames *names, tgNameKind kind, const char *name, int index, tgSource source, tgSource *first) {
  if (2 * (names->count + 1) > names->size && !grow(names)) return -2;
  Entry *e = slot(names, kind, name);
  if (e->name != NULL) {
    if (first != NULL) *first = e->source;
    return e->index;
  }
  *e = (Entry){.name = name, .kind = kind, .index = index, .source = source};
  names->count++;
  return -1;
}

int tgi_names_find(const tgNames *names, tgNameKind kind, const char *name) {
  if (names->size == 0) return -1;
  const Entry *e = slot(names, kind, name);
  return e->name != NULL ? e->index : -1;
}

void tgi_names_renumber(tgNames *names, tgNameKind kind, const int *where) {
  for (size_t i = 0; i < names->size; i++) {
    Entry *e = &names->entry[i];
    if (e->name != NULL && e->kind == kind) e->index = where[e->index];
  }
}

const char *tgi_names_nearest(const tgNames *names, tgNameKind kind, const char *name) {
  // the first of the nearest in table order; the table's order depends only on the names
  const char *best = NULL;
  for (size_t i = 0; i < names->size; i++) {
    const Entry *e = &names->entry[i];
    if (e->name == NULL || e->kind != kind) continue;
    const char *pair[2] = {best != NULL ? best : e->name, e->name};
    best = tgi_nearest_word(name, pair, 2);
  }
  return best;
}

const char *tgi_name_kind_text(tgNameKind kind) {
  static const char *const text[TG_NAME_KINDS] = {"body", "joint", "geom", "site", "mesh", "material", "actuator",
                                                  "tendon", "equality", "pair", "exclude", "keyframe", "default class", "sensor",
                                                  "height field"};
  return text[kind];
}
