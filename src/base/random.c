// random.c: see random.h.
#include "base/random.h"

#include <math.h>

// one round: the two multiplied words give their high halves to the others, keyed
static void round_(uint32_t c[4], const uint32_t k[2]) {
  uint64_t a = (uint64_t)0xD2511F53u * c[0], b = (uint64_t)0xCD9E8D57u * c[2];
  uint32_t c1 = c[1], c3 = c[3];
  c[0] = (uint32_t)(b >> 32) ^ c1 ^ k[0];
  c[1] = (uint32_t)b;
  c[2] = (uint32_t)(a >> 32) ^ c3 ^ k[1];
  c[3] = (uint32_t)a;
}

void tgi_philox(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4]) {
  uint32_t k[2] = {key[0], key[1]};
  for (int i = 0; i < 4; i++) out[i] = counter[i];
  for (int r = 0; r < 10; r++) {
    round_(out, k);
    // Weyl sequence: golden ratio and sqrt(3) - 1
    k[0] += 0x9E3779B9u;
    k[1] += 0xBB67AE85u;
  }
}

static void block(uint64_t seed, uint64_t stream, uint64_t index, uint64_t out[2]) {
  uint32_t counter[4] = {(uint32_t)index, (uint32_t)(index >> 32), (uint32_t)stream, (uint32_t)(stream >> 32)};
  uint32_t key[2] = {(uint32_t)seed, (uint32_t)(seed >> 32)}, w[4];
  tgi_philox(counter, key, w);
  out[0] = (uint64_t)w[1] << 32 | w[0];
  out[1] = (uint64_t)w[3] << 32 | w[2];
}

uint64_t tgi_random_bits(uint64_t seed, uint64_t stream, uint64_t index) {
  uint64_t w[2];
  block(seed, stream, index, w);
  return w[0];
}

double tg_random_uniform(uint64_t seed, uint64_t stream, uint64_t index) {
  return (double)(tgi_random_bits(seed, stream, index) >> 11) * 0x1p-53;
}

double tg_random_normal(uint64_t seed, uint64_t stream, uint64_t index) {
  uint64_t w[2];
  block(seed, stream, index, w);
  // (0, 1], so that the logarithm is finite
  double u = (double)((w[0] >> 11) + 1) * 0x1p-53, v = (double)(w[1] >> 11) * 0x1p-53;
  return sqrt(-2 * log(u)) * cos(6.283185307179586477 * v);
}
