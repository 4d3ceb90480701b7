// alloc.h: an allocator that counts, measures and fails on demand, and a count of every malloc of the process.
#ifndef TG_TEST_ALLOC_H
#define TG_TEST_ALLOC_H

#include "tangere/base.h"

typedef struct tgtAlloc {
  tgAllocator hooks;     ///< give &a.hooks to the engine
  long calls;            ///< allocations asked for
  long fail_at;          ///< this one fails, and all later ones when sticky; counted from 1, 0: none
  bool sticky;
  size_t live, peak;     ///< bytes in use, and at most
  long blocks;           ///< blocks not yet freed
} tgtAlloc;

/// Sets up *a; it must stay where it is.
void tgt_alloc_init(tgtAlloc *a);

/// malloc, calloc, realloc, posix_memalign and aligned_alloc calls of the whole process so far, libraries included. Only in programs
/// that link support/malloc_count.c; false from tgt_malloc_counted when a sanitizer has taken malloc for itself.
long tgt_malloc_count(void);
bool tgt_malloc_counted(void);

#endif
