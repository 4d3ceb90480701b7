// keep.c: what is made of a model once and kept with it.
//
// A list that grows at its head: who looks at it sees whole entries without a lock.
#include <string.h>

#include "model/model.h"

static tgiKept *alike(tgiKept *k, const tgiKept *end, const char *kind, const double key[TGI_KEPT_KEY]) {
  for (; k != end; k = k->next)
    if (strcmp(k->kind, kind) == 0 && memcmp(k->key, key, sizeof k->key) == 0) return k;
  return NULL;
}

tgiKept *tgi_model_kept(const tgModel *m, const char *kind, const double key[TGI_KEPT_KEY]) {
  return alike(__atomic_load_n(&m->keep->first, __ATOMIC_ACQUIRE), NULL, kind, key);
}

tgiKept *tgi_model_keep(const tgModel *m, tgiKept *made) {
  tgiKept *seen = NULL;
  for (made->next = __atomic_load_n(&m->keep->first, __ATOMIC_ACQUIRE);;) {
    tgiKept *other = alike(made->next, seen, made->kind, made->key);
    if (other != NULL) {
      made->release(made, &m->keep->alloc);
      return other;
    }
    seen = made->next;
    if (__atomic_compare_exchange_n(&m->keep->first, &made->next, made, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) return made;
  }
}

void tgi_model_keep_free(const tgModel *m) {
  while (m->keep->first != NULL) {
    tgiKept *k = m->keep->first;
    m->keep->first = k->next;
    k->release(k, &m->keep->alloc);
  }
}
