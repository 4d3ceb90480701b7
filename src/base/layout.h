// layout.h: places arrays in one block. One function per object calls these twice: with base NULL to count bytes, then
// with the block to place; so counting and placing cannot disagree.
#ifndef TG_BASE_LAYOUT_H
#define TG_BASE_LAYOUT_H

#include "base/memory.h"
#include "base/red_zone.h"

typedef struct tgLayout {
  char *base;    // NULL: only count
  size_t used;   // bytes so far, SIZE_MAX after an overflow
} tgLayout;

/// Room for n elements of `size` bytes, 64-byte aligned. NULL while counting. What is behind them is no one's (red_zone.h).
static inline void *tgi_place(tgLayout *l, size_t n, size_t size) {
  size_t bytes = tgi_size_mul(n, size), at = l->used;
  if (bytes > SIZE_MAX / 4 || at > SIZE_MAX / 4) {
    l->used = SIZE_MAX / 2;
    return NULL;
  }
  l->used = (at + bytes + TGI_RED_ZONE + 63) / 64 * 64;
  if (l->base == NULL) return NULL;
  tgi_not_red(l->base + at, bytes);   // where another layout was before
  tgi_red(l->base + at + bytes, l->used - at - bytes);
  return l->base + at;
}

#endif
