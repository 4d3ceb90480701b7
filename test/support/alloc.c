// alloc.c: see alloc.h. A header of 16 bytes before each block holds its size.
#include "support/alloc.h"

#include <stdlib.h>
#include <string.h>

enum { HEAD = 16 };

static void *take(void *ctx, size_t bytes) {
  tgtAlloc *a = ctx;
  a->calls++;
  if (a->fail_at > 0 && (a->calls == a->fail_at || (a->sticky && a->calls > a->fail_at))) return NULL;
  char *p = bytes < SIZE_MAX - HEAD ? malloc(bytes + HEAD) : NULL;
  if (p == NULL) return NULL;
  memcpy(p, &bytes, sizeof bytes);
  // what the engine does not set itself must not look like zeros
  memset(p + HEAD, 0xA5, bytes);
  a->live += bytes;
  a->blocks++;
  if (a->live > a->peak) a->peak = a->live;
  return p + HEAD;
}

static void give(void *ctx, void *block) {
  tgtAlloc *a = ctx;
  if (block == NULL) return;
  char *p = (char *)block - HEAD;
  size_t bytes;
  memcpy(&bytes, p, sizeof bytes);
  a->live -= bytes;
  a->blocks--;
  free(p);
}

static void *retake(void *ctx, void *block, size_t bytes) {
  size_t old = 0;
  void *p = take(ctx, bytes);
  if (p == NULL || block == NULL) return p;
  memcpy(&old, (char *)block - HEAD, sizeof old);
  memcpy(p, block, old < bytes ? old : bytes);
  give(ctx, block);
  return p;
}

void tgt_alloc_init(tgtAlloc *a) {
  memset(a, 0, sizeof *a);
  a->hooks = (tgAllocator){.ctx = a, .alloc = take, .realloc = retake, .free = give};
}
