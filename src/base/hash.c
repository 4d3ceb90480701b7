// hash.c: see hash.h. Fowler, Noll, Vo: h = (h xor byte) * prime.
#include "base/hash.h"

uint64_t tgi_hash(uint64_t hash, const void *data, size_t bytes) {
  const unsigned char *p = data;
  for (size_t i = 0; i < bytes; i++) hash = (hash ^ p[i]) * 0x100000001B3u;
  return hash;
}
