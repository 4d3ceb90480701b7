// lanes.h: vectors of TGI_WIDTH reals for kernels that are compiled once for each width (1, 2, 4, 8). Included by kernels only.
//
// Arithmetic is the compiler's own on vectors; here is what it does not have: masks, choice, least and largest, roots,
// rows to columns. Of width 1 a vector is a tgReal: the plain twin of the others, and in the complex build (TG_COMPLEX)
// the only width, so that a complex step goes through the kernel itself. Comparisons are of real parts.
#ifndef TG_MATH_LANES_H
#define TG_MATH_LANES_H

#include <stdbool.h>
#include <stdint.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "math/real.h"

#ifndef TGI_WIDTH
#define TGI_WIDTH 1
#endif
#define TGI_LANE static inline __attribute__((always_inline))

// what a kernel is called in this width: name_1, name_2, name_4 or name_8, as TGI_ISA_CALL of isa.h has it
#define TGI_NAMED_(name, width) name##_##width
#define TGI_NAMED(name, width) TGI_NAMED_(name, width)
#define KERNEL(name) TGI_NAMED(name, TGI_WIDTH)

#if defined(TGI_LANES_SINGLE)
// In single precision, from and to arrays of double: as many lanes as vectors of that size hold, TGI_SINGLE of them. For guesses that
// something in double precision goes on from; of widths above 1 alone.
#define TGI_SINGLE (2 * TGI_WIDTH)
typedef float Lane;
typedef float V __attribute__((vector_size(4 * TGI_SINGLE)));
typedef double Wide __attribute__((vector_size(8 * TGI_SINGLE)));
typedef double Anywhere __attribute__((vector_size(8 * TGI_SINGLE), aligned(8), may_alias));
TGI_LANE V v_all(double x) { return (float)x - (V){0}; }
TGI_LANE V v_load(const double *x) { return __builtin_convertvector(*(const Anywhere *)x, V); }
TGI_LANE void v_store(double *x, V a) { *(Anywhere *)x = __builtin_convertvector(a, Wide); }
#if TGI_SINGLE == 16 && defined(__AVX512F__)
typedef __mmask16 Mask;
TGI_LANE Mask v_less(V a, V b) { return _mm512_cmp_ps_mask(a, b, _CMP_LT_OQ); }
TGI_LANE V v_pick(Mask m, V a, V b) { return _mm512_mask_blend_ps(m, b, a); }
TGI_LANE V v_min(V a, V b) { return _mm512_min_ps(a, b); }
TGI_LANE V v_max(V a, V b) { return _mm512_max_ps(a, b); }
TGI_LANE V v_sqrt(V a) { return _mm512_sqrt_ps(a); }
TGI_LANE V v_abs(V a) { return _mm512_abs_ps(a); }
TGI_LANE Mask m_and(Mask a, Mask b) { return a & b; }
TGI_LANE Mask m_or(Mask a, Mask b) { return a | b; }
TGI_LANE Mask m_not(Mask a) { return (Mask)~a; }
TGI_LANE Mask m_from(unsigned bits) { return (Mask)bits; }
TGI_LANE unsigned m_bits(Mask m) { return m; }
#elif TGI_SINGLE == 8 && defined(__AVX2__)
typedef __m256 Mask;
TGI_LANE Mask v_less(V a, V b) { return _mm256_cmp_ps(a, b, _CMP_LT_OQ); }
TGI_LANE V v_pick(Mask m, V a, V b) { return _mm256_blendv_ps(b, a, m); }
TGI_LANE V v_min(V a, V b) { return _mm256_min_ps(a, b); }
TGI_LANE V v_max(V a, V b) { return _mm256_max_ps(a, b); }
TGI_LANE V v_sqrt(V a) { return _mm256_sqrt_ps(a); }
TGI_LANE V v_abs(V a) { return _mm256_andnot_ps(_mm256_set1_ps(-0.0f), a); }
TGI_LANE Mask m_and(Mask a, Mask b) { return _mm256_and_ps(a, b); }
TGI_LANE Mask m_or(Mask a, Mask b) { return _mm256_or_ps(a, b); }
TGI_LANE Mask m_not(Mask a) { return _mm256_xor_ps(a, _mm256_castsi256_ps(_mm256_set1_epi32(-1))); }
TGI_LANE Mask m_from(unsigned bits) {
  __m256i bit = _mm256_set_epi32(128, 64, 32, 16, 8, 4, 2, 1);
  return _mm256_castsi256_ps(_mm256_cmpeq_epi32(_mm256_and_si256(_mm256_set1_epi32((int)bits), bit), bit));
}
TGI_LANE unsigned m_bits(Mask m) { return (unsigned)_mm256_movemask_ps(m); }
#else
typedef int32_t Mask __attribute__((vector_size(4 * TGI_SINGLE)));
TGI_LANE Mask v_less(V a, V b) { return a < b; }
TGI_LANE V v_pick(Mask m, V a, V b) { return (V)((m & (Mask)a) | (~m & (Mask)b)); }
TGI_LANE V v_abs(V a) { return (V)((Mask)a & INT32_MAX); }
TGI_LANE V v_min(V a, V b) { return v_pick(a < b, a, b); }
TGI_LANE V v_max(V a, V b) { return v_pick(a > b, a, b); }
TGI_LANE V v_sqrt(V a) {
  V r;
  for (int l = 0; l < TGI_SINGLE; l++) r[l] = sqrtf(a[l]);
  return r;
}
TGI_LANE Mask m_and(Mask a, Mask b) { return a & b; }
TGI_LANE Mask m_or(Mask a, Mask b) { return a | b; }
TGI_LANE Mask m_not(Mask a) { return ~a; }
TGI_LANE Mask m_from(unsigned bits) {
  Mask m = {0};
  for (int l = 0; l < TGI_SINGLE; l++) m[l] = -(int32_t)(bits >> l & 1);
  return m;
}
TGI_LANE unsigned m_bits(Mask m) {
  unsigned bits = 0;
  for (int l = 0; l < TGI_SINGLE; l++) bits |= (unsigned)(m[l] & 1) << l;
  return bits;
}
#endif
#elif TGI_WIDTH == 1
// a kernel that searches among real numbers in either build defines TGI_LANES_REAL before it includes this
#ifdef TGI_LANES_REAL
typedef double Lane;
TGI_LANE double lane_re(Lane a) { return a; }
TGI_LANE Lane lane_sqrt(Lane a) { return sqrt(a); }
#else
typedef tgReal Lane;
TGI_LANE double lane_re(Lane a) { return tgRe(a); }
TGI_LANE Lane lane_sqrt(Lane a) { return tgSqrt(a); }
#endif
typedef Lane V;
typedef bool Mask;
TGI_LANE V v_load(const Lane *x) { return *x; }
TGI_LANE V v_load_real(const tgReal *x) { return tgRe(*x); }
TGI_LANE void v_store(Lane *x, V a) { *x = a; }
TGI_LANE V v_all(Lane x) { return x; }
TGI_LANE Lane v_lane(V a, int l) { return (void)l, a; }
TGI_LANE Mask v_less(V a, V b) { return lane_re(a) < lane_re(b); }
TGI_LANE V v_pick(Mask m, V a, V b) { return m ? a : b; }
TGI_LANE V v_min(V a, V b) { return v_pick(v_less(a, b), a, b); }
TGI_LANE V v_max(V a, V b) { return v_pick(v_less(b, a), a, b); }
TGI_LANE V v_sqrt(V a) { return lane_sqrt(a); }
TGI_LANE V v_abs(V a) { return lane_re(a) < 0 ? -a : a; }
TGI_LANE Mask m_and(Mask a, Mask b) { return a && b; }
TGI_LANE Mask m_or(Mask a, Mask b) { return a || b; }
TGI_LANE Mask m_not(Mask a) { return !a; }
TGI_LANE Mask m_from(unsigned bits) { return bits & 1; }
TGI_LANE unsigned m_bits(Mask m) { return m; }
TGI_LANE void v_turn(V r[1]) { (void)r; }
#else

typedef double Lane;
typedef double V __attribute__((vector_size(8 * TGI_WIDTH)));
typedef double Anywhere __attribute__((vector_size(8 * TGI_WIDTH), aligned(8), may_alias));

TGI_LANE V v_load(const double *x) { return *(const Anywhere *)x; }
TGI_LANE V v_load_real(const double *x) { return v_load(x); }
TGI_LANE void v_store(double *x, V a) { *(Anywhere *)x = a; }
TGI_LANE V v_all(double x) { return x - (V){0}; }
TGI_LANE double v_lane(V a, int l) { return a[l]; }

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
  Mask m = {0};
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

// rows to columns: lane j of r[i] and lane i of r[j] change places
#if defined(TGI_LANES_SINGLE)
#elif TGI_WIDTH == 8 && defined(__AVX512F__)
TGI_LANE void v_turn(V r[8]) {
  V t[8];
  for (int i = 0; i < 8; i += 2) {
    t[i] = _mm512_unpacklo_pd(r[i], r[i + 1]);
    t[i + 1] = _mm512_unpackhi_pd(r[i], r[i + 1]);
  }
  // quarter L of t[2 k + p] is column 2 L + p of rows 2 k, 2 k + 1
  for (int p = 0; p < 2; p++) {
    V a = _mm512_shuffle_f64x2(t[p], t[2 + p], 0x88), b = _mm512_shuffle_f64x2(t[4 + p], t[6 + p], 0x88);
    V c = _mm512_shuffle_f64x2(t[p], t[2 + p], 0xdd), d = _mm512_shuffle_f64x2(t[4 + p], t[6 + p], 0xdd);
    r[p] = _mm512_shuffle_f64x2(a, b, 0x88);
    r[2 + p] = _mm512_shuffle_f64x2(c, d, 0x88);
    r[4 + p] = _mm512_shuffle_f64x2(a, b, 0xdd);
    r[6 + p] = _mm512_shuffle_f64x2(c, d, 0xdd);
  }
}
#elif TGI_WIDTH == 4 && defined(__AVX2__)
TGI_LANE void v_turn(V r[4]) {
  V a = _mm256_unpacklo_pd(r[0], r[1]), b = _mm256_unpackhi_pd(r[0], r[1]), c = _mm256_unpacklo_pd(r[2], r[3]),
    d = _mm256_unpackhi_pd(r[2], r[3]);
  r[0] = _mm256_permute2f128_pd(a, c, 0x20);
  r[1] = _mm256_permute2f128_pd(b, d, 0x20);
  r[2] = _mm256_permute2f128_pd(a, c, 0x31);
  r[3] = _mm256_permute2f128_pd(b, d, 0x31);
}
#else
TGI_LANE void v_turn(V r[TGI_WIDTH]) {
  for (int i = 0; i < TGI_WIDTH; i++)
    for (int j = 0; j < i; j++) {
      double t = r[i][j];
      r[i][j] = r[j][i];
      r[j][i] = t;
    }
}
#endif

#endif   // of more than one

/// The nearest integers, of numbers below 2^51.
#if defined(TGI_LANES_SINGLE)
#elif TGI_WIDTH == 1
TGI_LANE V v_round(V a) { return rint(lane_re(a)); }
#else
TGI_LANE V v_round(V a) {
  V k = a + 0x1.8p52;   // leaves the nearest integer in the last bits
  return k - 0x1.8p52;
}
#endif

TGI_LANE bool m_any(Mask m) { return m_bits(m) != 0; }
TGI_LANE V v_dot(const V *a, const V *b) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }
TGI_LANE void v_cross(V *r, const V *a, const V *b) {
  r[0] = a[1] * b[2] - a[2] * b[1];
  r[1] = a[2] * b[0] - a[0] * b[2];
  r[2] = a[0] * b[1] - a[1] * b[0];
}

#endif
