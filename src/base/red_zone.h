// red_zone.h: bytes of a block that are no array's now. Under the address sanitizer an access to them ends the program; elsewhere nothing
// is done. To the sanitizer a block is one piece, in which one entry too many would be the next array's first, and scratch that was given
// back can be read. An allocator other than malloc's has to take the mark away from what it hands out again.
#ifndef TG_BASE_RED_ZONE_H
#define TG_BASE_RED_ZONE_H

#include <stddef.h>

#if defined(__SANITIZE_ADDRESS__)
#define TGI_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define TGI_SANITIZED 1
#endif
#endif

#ifdef TGI_SANITIZED
#include <sanitizer/asan_interface.h>
enum { TGI_RED_ZONE = 64 };   // bytes behind each array of a block
static inline void tgi_red(const void *at, size_t bytes) { __asan_poison_memory_region(at, bytes); }
static inline void tgi_not_red(const void *at, size_t bytes) { __asan_unpoison_memory_region(at, bytes); }
#else
enum { TGI_RED_ZONE = 0 };
static inline void tgi_red(const void *at, size_t bytes) { (void)at, (void)bytes; }
static inline void tgi_not_red(const void *at, size_t bytes) { (void)at, (void)bytes; }
#endif

#endif
