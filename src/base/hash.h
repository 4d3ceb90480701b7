// hash.h: 64-bit hash of bytes, to compare runs and to name inputs. Not for adversaries.
#ifndef TG_BASE_HASH_H
#define TG_BASE_HASH_H

#include "tangere/base.h"

/// Value to start from.
#define TGI_HASH_START 0xCBF29CE484222325u

/// Continues `hash` over `bytes` bytes, one at a time: the split into calls does not matter.  FNV-1a
uint64_t tgi_hash(uint64_t hash, const void *data, size_t bytes);

#endif
