// random.h: random numbers by counter: number `index` of `stream` under `seed`, with no state to keep or to lose.
//
// Based on: [Philox], Philox 4x32 with 10 rounds. Any order of calls, any
// number of threads and any resumption give the same numbers.
#ifndef TG_BASE_RANDOM_H
#define TG_BASE_RANDOM_H

#include "tangere/base.h"

/// The four 32-bit words of one block: counter (4 words), key (2 words).
void tgi_philox(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4]);

/// 64 random bits.
uint64_t tgi_random_bits(uint64_t seed, uint64_t stream, uint64_t index);

#endif
