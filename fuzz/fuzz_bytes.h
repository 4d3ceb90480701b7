// fuzz_bytes.h: decisions out of bytes: what a structured target makes of its input. Past the end all bytes are 0.
#ifndef TG_FUZZ_BYTES_H
#define TG_FUZZ_BYTES_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>

typedef struct Bytes { const uint8_t *at, *end; } Bytes;

static inline int tgt_byte(Bytes *b) { return b->at < b->end ? *b->at++ : 0; }
/// 0 .. n - 1
static inline int tgt_pick(Bytes *b, int n) { return tgt_byte(b) % n; }

/// An ordinary number in [-1, 1), or one byte in four a number that breaks things.
static inline double tgt_number(Bytes *b) {
  static const double odd[] = {0, -0.0, 1, -1, 1e-3, -1e-3, 1e-9, 1e3, -1e6, 1e12, 1e-12, 1e-300, 1e300, -1e300, 5e-324, 3.14159265358979,
                               NAN, INFINITY, -INFINITY, 1e154};
  int kind = tgt_byte(b);
  if (kind % 4 == 3) return odd[kind / 4 % (int)(sizeof odd / sizeof *odd)];
  return (tgt_byte(b) + 256 * tgt_byte(b)) / 32768.0 - 1;
}
/// Above 0 and ordinary, seven times in eight.
static inline double tgt_size(Bytes *b, double typical) {
  int kind = tgt_byte(b);
  if (kind % 8 == 7) return tgt_number(b);
  return typical * exp2((kind / 8 - 16) / 8.0);
}

#endif
