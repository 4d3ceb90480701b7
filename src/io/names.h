// names.h: the names of a model file, unique per kind: a hash table from (kind, name) to an index and its place.
#ifndef TG_IO_NAMES_H
#define TG_IO_NAMES_H

#include "tangere/desc.h"

typedef enum tgNameKind {
  TG_NAME_BODY, TG_NAME_JOINT, TG_NAME_GEOM, TG_NAME_SITE, TG_NAME_MESH, TG_NAME_MATERIAL, TG_NAME_ACTUATOR,
  TG_NAME_TENDON, TG_NAME_EQUALITY, TG_NAME_PAIR, TG_NAME_EXCLUDE, TG_NAME_KEY, TG_NAME_CLASS, TG_NAME_SENSOR,
  TG_NAME_HFIELD, TG_NAME_KINDS
} tgNameKind;

typedef struct tgNames tgNames;

tgNames *tgi_names_create(const tgAllocator *allocator);
void tgi_names_free(tgNames *names);
/// Adds a name (kept by pointer: it must outlive the table). Returns -1 when it is new, the index that has it when it is
/// taken (where it was given: *first, may be NULL), -2 when memory is short.
int tgi_names_add(tgNames *names, tgNameKind kind, const char *name, int index, tgSource source, tgSource *first);
/// Index of a name, -1 when it is unknown.
int tgi_names_find(const tgNames *names, tgNameKind kind, const char *name);
/// Replaces every index i of that kind by where[i].
void tgi_names_renumber(tgNames *names, tgNameKind kind, const int *where);
/// The known name of that kind that is nearest to an unknown one, NULL when none is near.
const char *tgi_names_nearest(const tgNames *names, tgNameKind kind, const char *name);
/// "body", "joint" and so on.
const char *tgi_name_kind_text(tgNameKind kind);

#endif
