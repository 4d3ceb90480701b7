// arrays.c: see arrays.h.
#include "sim/arrays.h"

#include <string.h>

static size_t item_bytes(const tgiArray *a) { return a->scalar == TG_SCALAR_REAL ? sizeof(tgReal) : sizeof(int); }

static void *address(const void *part, const tgiArray *a) {
  void *p;
  memcpy(&p, (const char *)part + a->at, sizeof p);
  return p;
}

void tgi_arrays_place(tgLayout *l, void *part, const tgiArray *list, int n) {
  for (int i = 0; i < n; i++) {
    void *p = tgi_place(l, tgi_size_mul((size_t)list[i].rows, (size_t)list[i].cols), item_bytes(&list[i]));
    if (part != NULL) memcpy((char *)part + list[i].at, &p, sizeof p);
  }
}

void tgi_arrays_copy(void *to, const void *from, const tgiArray *list, int n) {
  for (int i = 0; i < n; i++) {
    size_t numbers = (size_t)list[i].rows * (size_t)list[i].cols;
    if (numbers > 0) memcpy(address(to, &list[i]), address(from, &list[i]), numbers * item_bytes(&list[i]));
  }
}

tgField tgi_arrays_field(const void *part, const tgiArray *list, int n, int i) {
  if (i < 0 || i >= n) return (tgField){.name = NULL};
  const tgiArray *a = &list[i];
  return (tgField){.name = a->name, .scalar = a->scalar, .rows = a->rows, .cols = a->cols, .unit = a->unit,
                   .producer = a->producer, .text = a->text, .data = address(part, a)};
}
