// malloc_count.c: takes the place of malloc in the whole process, the C library included, and counts.
//
// glibc lets a program define these; its own versions stay reachable as __libc_*. Under a sanitizer they are left alone.
#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "support/alloc.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define TAKEN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer)
#define TAKEN 1
#endif
#endif

static atomic_long count;

long tgt_malloc_count(void) { return count; }

#ifdef TAKEN
bool tgt_malloc_counted(void) { return false; }
#else
bool tgt_malloc_counted(void) { return true; }

void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t n, size_t bytes);
void *__libc_realloc(void *block, size_t bytes);
void *__libc_memalign(size_t alignment, size_t bytes);

void *malloc(size_t bytes) {
  count++;
  return __libc_malloc(bytes);
}
void *calloc(size_t n, size_t bytes) {
  count++;
  return __libc_calloc(n, bytes);
}
void *realloc(void *block, size_t bytes) {
  count++;
  return __libc_realloc(block, bytes);
}
void *aligned_alloc(size_t alignment, size_t bytes) {
  count++;
  return __libc_memalign(alignment, bytes);
}
int posix_memalign(void **block, size_t alignment, size_t bytes) {
  count++;
  *block = __libc_memalign(alignment, bytes);
  return *block != NULL ? 0 : ENOMEM;
}
#endif
