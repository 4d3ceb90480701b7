// lanes.h: vectors of TGI_WIDTH doubles for kernels that are compiled once for each width (2, 4, 8). Included by kernels only.
//
// Arithmetic is the compiler's own on vectors; here is what it does not have: masks, choice, least and largest, roots.
#ifndef TG_MATH_LANES_H
#define TG_MATH_LANES_H

#include <math.h>
#include <stdint.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#ifndef TGI_WIDTH
#define TGI_WIDTH 2
#endif
#define TGI_LANE static inline __attribute__((always_inline))

typedef double V __attribute__((vector_size(8 * TGI_WIDTH)));
typedef double Anywhere __attribute__((vector_size(8 * TGI_WIDTH), aligned(8), may_alias));

TGI_LANE V v_load(const double *x) { return *(const Anywhere *)x; }
TGI_LANE void v_store(double *x, V a) { *(Anywhere *)x = a; }
TGI_LANE V v_all(double x) { return x - (V){0}; }

#if TGI_WIDTH == 8 && defined(__AVX512F__)
typedef __mmask8 Mask;
TGI_LANE Mask v_less(V a, V b) { return _mm512_cmp_pd_mask(a, b, _CMP_LT_OQ); }
TGI_LANE V v_pick(Mask m, V a, V b) { return _mm512_mask_blend_pd(m, b, a); }
TGI_LANE V v_min(V a, V b) { return _mm512_min_pd(a, b); }
TGI_LANE V v_max(V a, V b) { return _mm512_max_pd(a, b); }
TGI_LANE V v_sqrt(V a) { return _mm512_sqrt_pd(a); }
TGI_LANE V v_abs(V a) { return _mm512_abs_pd(a); }
TGI_LANE Mask m_and(Mask a, Mask b) { return a & b; }
TGI_LANE Mask m_or(Mask a, Mask b) { return a | b; }
TGI_LANE Mask m_not(Mask a) { return (Mask)~a; }
TGI_LANE Mask m_from(unsigned bits) { return (Mask)bits; }
TGI_LANE unsigned m_bits(Mask m) { return m; }
#elif TGI_WIDTH == 4 && defined(__AVX2__)
typedef __m256d Mask;
TGI_LANE Mask v_less(V a, V b) { return _mm256_cmp_pd(a, b, _CMP_LT_OQ); }
TGI_LANE V v_pick(Mask m, V a, V b) { return _mm256_blendv_pd(b, a, m); }
TGI_LANE V v_min(V a, V b) { return _mm256_min_pd(a, b); }
TGI_LANE V v_max(V a, V b) { return _mm256_max_pd(a, b); }
TGI_LANE V v_sqrt(V a) { return _mm256_sqrt_pd(a); }
TGI_LANE V v_abs(V a) { return _mm256_andnot_pd(_mm256_set1_pd(-0.0), a); }
TGI_LANE Mask m_and(Mask a, Mask b) { return _mm256_and_pd(a, b); }
TGI_LANE Mask m_or(Mask a, Mask b) { return _mm256_or_pd(a, b); }
TGI_LANE Mask m_not(Mask a) { return _mm256_xor_pd(a, _mm256_castsi256_pd(_mm256_set1_epi64x(-1))); }
TGI_LANE Mask m_from(unsigned bits) {
  __m256i bit = _mm256_set_epi64x(8, 4, 2, 1);
  return _mm256_castsi256_pd(_mm256_cmpeq_epi64(_mm256_and_si256(_mm256_set1_epi64x(bits), bit), bit));
}
TGI_LANE unsigned m_bits(Mask m) { return (unsigned)_mm256_movemask_pd(m); }
#else
typedef int64_t Mask __attribute__((vector_size(8 * TGI_WIDTH)));
TGI_LANE Mask v_less(V a, V b) { return a < b; }
TGI_LANE V v_pick(Mask m, V a, V b) { return (V)((m & (Mask)a) | (~m & (Mask)b)); }
TGI_LANE V v_abs(V a) { return (V)((Mask)a & INT64_MAX); }
TGI_LANE Mask m_and(Mask a, Mask b) { return a & b; }
TGI_LANE Mask m_or(Mask a, Mask b) { return a | b; }
TGI_LANE Mask m_not(Mask a) { return ~a; }
TGI_LANE Mask m_from(unsigned bits) {
  Mask m;
  for (int l = 0; l < TGI_WIDTH; l++) m[l] = -(int64_t)(bits >> l & 1);
  return m;
}
#if TGI_WIDTH == 2 && defined(__SSE2__)
TGI_LANE V v_min(V a, V b) { return _mm_min_pd(a, b); }
TGI_LANE V v_max(V a, V b) { return _mm_max_pd(a, b); }
TGI_LANE V v_sqrt(V a) { return _mm_sqrt_pd(a); }
TGI_LANE unsigned m_bits(Mask m) { return (unsigned)_mm_movemask_pd((V)m); }
#else
TGI_LANE V v_min(V a, V b) { return v_pick(a < b, a, b); }
TGI_LANE V v_max(V a, V b) { return v_pick(a > b, a, b); }
TGI_LANE V v_sqrt(V a) {
  V r;
  for (int l = 0; l < TGI_WIDTH; l++) r[l] = sqrt(a[l]);
  return r;
}
TGI_LANE unsigned m_bits(Mask m) {
  unsigned bits = 0;
  for (int l = 0; l < TGI_WIDTH; l++) bits |= (unsigned)(m[l] & 1) << l;
  return bits;
}
#endif
#endif

TGI_LANE bool m_any(Mask m) { return m_bits(m) != 0; }
TGI_LANE V v_dot(const V *a, const V *b) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }
TGI_LANE void v_cross(V *r, const V *a, const V *b) {
  r[0] = a[1] * b[2] - a[2] * b[1];
  r[1] = a[2] * b[0] - a[0] * b[2];
  r[2] = a[0] * b[1] - a[1] * b[0];
}

#endif
