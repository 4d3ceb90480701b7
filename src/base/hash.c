// hash.c: see tangere/base.h. Fowler, Noll, Vo: h = (h xor byte) * prime.
#include "tangere/base.h"

uint64_t tg_hash(uint64_t hash, const void *data, size_t bytes) {
  const unsigned char *p = data;
  if (p == NULL) return hash;
  for (size_t i = 0; i < bytes; i++) hash = (hash ^ p[i]) * 0x100000001B3u;
  return hash;
}
