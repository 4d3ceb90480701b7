// ldl_wide.c: see ldl_wide.h. Four rows less multiples of four pivots' at a time, so that an entry is fetched once for
// four pivots, a pivot's once for four rows. Every entry goes through the operations of the plain factorisation in
// their order, none fused: what differs is only which entry is next.
#include "math/ldl_wide.h"

enum { BLOCK = TGI_LANES };

// y_j <- y_j - f_p x_pj, p = 0, 1, .. in order; x_p is row p of x
TGI_INLINE void subtract(size_t n, const tgReal *f, const tgReal *x, size_t ld, tgReal *y, const int rows) {
  size_t j = 0;
  for (; j + TGI_LANES <= n; j += TGI_LANES) {
    tgVec v;
    tgi_vec_load(&v, y + j);
    for (int p = 0; p < rows; p++) tgi_vec_sub(&v, f[p], x + ld * (size_t)p + j);
    tgi_vec_store(&v, y + j);
  }
  for (; j < n; j++)
    for (int p = 0; p < rows; p++) y[j] -= f[p] * x[ld * (size_t)p + j];
}

// The same for four rows y from their diagonal on; f[r][p] of row r.
TGI_INLINE void subtract_block(size_t n, tgReal f[BLOCK][BLOCK], const tgReal *x, size_t ld, tgReal *y) {
  size_t j = BLOCK;
  for (size_t r = 0; r < BLOCK; r++)
    for (size_t c = r; c < BLOCK; c++)
      for (size_t p = 0; p < BLOCK; p++) y[ld * r + c] -= f[r][p] * x[ld * p + c];
  for (; j + TGI_LANES <= n; j += TGI_LANES)
    for (size_t r = 0; r < BLOCK; r++) {
      tgVec v;
      tgi_vec_load(&v, y + ld * r + j);
      for (size_t p = 0; p < BLOCK; p++) tgi_vec_sub(&v, f[r][p], x + ld * p + j);
      tgi_vec_store(&v, y + ld * r + j);
    }
  for (; j < n; j++)
    for (size_t r = 0; r < BLOCK; r++)
      for (size_t p = 0; p < BLOCK; p++) y[ld * r + j] -= f[r][p] * x[ld * p + j];
}

// sums of what was taken from the diagonal in columns k .. k + count - 1, by the rows above k
static void taken(size_t N, const tgReal *U, size_t k, int count, tgReal sum[BLOCK]) {
  tgVec s;
  tgi_vec_set(&s, 0);
  for (size_t i = 0; i < k && count == BLOCK; i++) {
    tgVec u, du;
    tgi_vec_load(&u, U + i * N + k);
    du = u;
    tgi_vec_mul(&du, U[i * N + i]);
    tgi_vec_products(&s, &du, &u);
  }
  tgi_vec_store(&s, sum);
  for (size_t i = 0; i < k && count < BLOCK; i++)
    for (int p = 0; p < count; p++) sum[p] += U[i * N + i] * U[i * N + k + (size_t)p] * U[i * N + k + (size_t)p];
}

// Row p of the block x is brought up to date with those above it in the block, whose entries above its diagonal are
// divided by their pivots; its pivot to d. n: columns of x, the first `count` of them those of the block's pivots.
TGI_INLINE bool pivot(size_t n, size_t count, tgReal *x, size_t ld, double began, tgReal d[BLOCK], const int p) {
  size_t c = (size_t)p;
  tgReal f[BLOCK], *row = x + c * ld;
  for (size_t i = 0; i < c; i++) f[i] = x[i * ld + c] / d[i];
  for (size_t i = 0; i < c; i++)
    for (size_t j = c; j < count; j++) row[j] -= f[i] * x[i * ld + j];
  subtract(n - count, f, x + count, ld, row + count, p);
  d[p] = row[c];
  for (size_t i = 0; i < c; i++) {
    x[i * ld + c] = f[i];
    began += tgRe(d[i]) * tgRe(f[i]) * tgRe(f[i]);
  }
  return tgRe(d[p]) > 2.2e-16 * (began + tgRe(d[p])) && tgFinite(d[p]);
}

// Rows k .. k + 3 or as many as there are, up to date but for each other, are brought so; to the right of their pivots'
// columns they are not yet divided.
static bool pivots(size_t N, tgReal *U, size_t k, tgReal d[BLOCK]) {
  size_t n = N - k;
  tgReal sum[BLOCK], *x = U + k * N + k;
  taken(N, U, k, n < BLOCK ? (int)n : BLOCK, sum);
  if (n >= BLOCK)
    return pivot(n, BLOCK, x, N, tgRe(sum[0]), d, 0) && pivot(n, BLOCK, x, N, tgRe(sum[1]), d, 1) &&
           pivot(n, BLOCK, x, N, tgRe(sum[2]), d, 2) && pivot(n, BLOCK, x, N, tgRe(sum[3]), d, 3);
  return (n < 1 || pivot(n, n, x, N, tgRe(sum[0]), d, 0)) && (n < 2 || pivot(n, n, x, N, tgRe(sum[1]), d, 1)) &&
         (n < 3 || pivot(n, n, x, N, tgRe(sum[2]), d, 2));
}

bool TGI_ISA(tgi_wide_ldl_factor)(int n, tgReal *U) {
  size_t N = (size_t)n, k = 0;
  tgReal d[BLOCK];
  for (; k + BLOCK <= N; k += BLOCK) {
    tgReal *x = U + k * N;
    size_t i = k + BLOCK;
    if (!pivots(N, U, k, d)) return false;
    for (; i + BLOCK <= N; i += BLOCK) {
      tgReal f[BLOCK][BLOCK];
      tgVec u[BLOCK];
      for (size_t p = 0; p < BLOCK; p++) {
        tgReal t[BLOCK];
        tgi_vec_load(&u[p], x + p * N + i);
        tgi_vec_divide(&u[p], d[p]);
        tgi_vec_store(&u[p], t);
        for (int r = 0; r < BLOCK; r++) f[r][p] = t[r];
      }
      subtract_block(N - i, f, x + i, N, U + i * N + i);
      for (size_t p = 0; p < BLOCK; p++) tgi_vec_store(&u[p], x + p * N + i);
    }
    for (; i < N; i++) {
      tgReal f[BLOCK];
      for (size_t p = 0; p < BLOCK; p++) f[p] = x[p * N + i] / d[p];
      subtract(N - i, f, x + i, N, U + i * N + i, BLOCK);
      for (size_t p = 0; p < BLOCK; p++) x[p * N + i] = f[p];
    }
  }
  return pivots(N, U, k, d);
}
