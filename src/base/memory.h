// memory.h: the default allocator and overflow-checked sizes.
#ifndef TG_BASE_MEMORY_H
#define TG_BASE_MEMORY_H

#include "tangere/base.h"

/// The given allocator, or malloc's when it is NULL.
tgAllocator tgi_allocator(const tgAllocator *allocator);

/// a*b, SIZE_MAX on overflow (which no allocation satisfies).
static inline size_t tgi_size_mul(size_t a, size_t b) { return b != 0 && a > SIZE_MAX / b ? SIZE_MAX : a * b; }

#endif
