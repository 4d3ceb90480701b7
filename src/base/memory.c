// memory.c: see memory.h.
#include "base/memory.h"

#include <stdlib.h>

static void *std_alloc(void *ctx, size_t bytes) { (void)ctx; return malloc(bytes); }
static void *std_realloc(void *ctx, void *block, size_t bytes) { (void)ctx; return realloc(block, bytes); }
static void std_free(void *ctx, void *block) { (void)ctx; free(block); }

tgAllocator tgi_allocator(const tgAllocator *allocator) {
  if (allocator != NULL) return *allocator;
  return (tgAllocator){.alloc = std_alloc, .realloc = std_realloc, .free = std_free};
}
