// start.c: see start.h.
#include "contact/start.h"

#include "tangere/base.h"

// the name of a row of any kind, in whatever rows
static uint64_t name_of(const tgSim *s, int row) {
  const tgRows *r = s->rows;
  bool contact = r->kind[row] == TG_ROW_NORMAL || r->kind[row] == TG_ROW_TANGENT;
  const tgContactRow *c = contact ? &s->contact[r->owner[row]] : NULL;
  int name[4] = {r->kind[row], contact ? c->pair : r->owner[row], r->part[row], contact ? c->feature : 0};
  return tg_hash(TG_HASH_START, name, sizeof name);
}

void tgi_classes_note(const tgSim *s, tgiClasses *o) {
  o->n = s->nrow;
  for (int i = 0; i < s->nrow; i++) {
    o->name[i] = name_of(s, i);
    o->cls[i] = s->rows->class[i];
  }
}

void tgi_classes_start(tgSim *s, const tgiClasses *o) {
  int at = 0;   // rows are in about the same order
  if (s->pinned) return;
  for (int i = 0; i < s->nrow && o->n > 0; i++) {
    uint64_t name = name_of(s, i);
    for (int k = 0; k < o->n; k++, at = at + 1 < o->n ? at + 1 : 0) {
      if (o->name[at] != name) continue;
      if (o->cls[at] != 0) s->rows->class[i] = o->cls[at];
      break;
    }
  }
}
