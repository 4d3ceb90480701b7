// table.c: see shards.h.
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "output/npy.h"
#include "shard/shards.h"

void *tgi_table_add(tgTable *t, const char *name, tgNpzType type, size_t rows, size_t width, size_t width2) {
  if (t->n == TGI_TABLE_MOST) return NULL;
  size_t numbers = tgi_size_mul(rows, tgi_size_mul(width > 0 ? width : 1, width2 > 0 ? width2 : 1));
  size_t bytes = tgi_size_mul(numbers, tgi_npz_item(type));
  void *data = bytes < SIZE_MAX ? calloc(bytes + 1, 1) : NULL;
  if (data == NULL) return NULL;
  tgNpzArray *a = &t->array[t->n];
  *a = (tgNpzArray){.name = t->name[t->n], .type = type, .ndim = 1 + (width > 0) + (width2 > 0), .shape = {rows, width, width2},
                    .data = data};
  size_t length = strlen(name);
  if (length >= sizeof t->name[0]) length = sizeof t->name[0] - 1;
  memcpy(t->name[t->n], name, length);
  t->name[t->n++][length] = '\0';
  return data;
}

void tgi_table_free(tgTable *t) {
  for (int i = 0; i < t->n; i++) free((void *)(uintptr_t)t->array[i].data);
  t->n = 0;
}

uint64_t tgi_arrays_bits(const tgNpzArray *array, int n) {
  uint64_t h = TG_HASH_START;
  for (int i = 0; i < n; i++) {
    const tgNpzArray *a = &array[i];
    uint64_t numbers = 1, head[2 + TG_NPZ_MAX_DIM] = {(uint64_t)a->type, (uint64_t)a->ndim};
    for (int k = 0; k < a->ndim; k++) numbers *= head[2 + k] = a->shape[k];
    h = tg_hash(tg_hash(h, a->name, strlen(a->name) + 1), head, sizeof head);
    if (numbers > 0) h = tg_hash(h, a->data, (size_t)numbers * tgi_npz_item(a->type));
  }
  return h;
}

bool tgi_array_of_points(const char *name) {
  return strcmp(name, TGI_KEY) != 0 && strcmp(name, TGI_ERRORS) != 0 && strncmp(name, TGI_SUM, sizeof TGI_SUM - 1) != 0;
}

bool tgi_array_of_states(const char *name) { return strcmp(name, "qpos") == 0 || strcmp(name, "qvel") == 0; }

// ---- sums in pairs ----

enum { LEVELS = 64 };

bool tgi_pair_sum_begin(tgPairSum *s, size_t n) {
  *s = (tgPairSum){.n = n, .level = calloc(n + 1, LEVELS * sizeof(double))};
  return s->level != NULL;
}

// bit k of the count: level k holds the sum of 2^k vectors, which waits for its neighbour
void tgi_pair_sum_add(tgPairSum *s, double *v) {
  int k = 0;
  for (; (s->count >> k & 1) != 0; k++) {
    const double *held = s->level + (size_t)k * s->n;
    for (size_t i = 0; i < s->n; i++) v[i] = held[i] + v[i];
  }
  memcpy(s->level + (size_t)k * s->n, v, s->n * sizeof *v);
  s->count++;
}

void tgi_pair_sum_end(tgPairSum *s, double *out) {
  memset(out, 0, s->n * sizeof *out);
  bool any = false;
  for (int k = 0; k < LEVELS - 1 && s->level != NULL; k++) {
    if ((s->count >> k & 1) == 0) continue;
    const double *held = s->level + (size_t)k * s->n;
    for (size_t i = 0; i < s->n; i++) out[i] = any ? held[i] + out[i] : held[i];
    any = true;
  }
  free(s->level);
  *s = (tgPairSum){.n = 0};
}
