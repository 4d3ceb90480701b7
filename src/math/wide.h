// wide.h: kernels compiled for two instruction sets, and the vectors of four reals that they compute with.
//
// A hot file (TG_HOT in src/CMakeLists.txt) is compiled for the baseline and, on x86-64, again for 256-bit vectors (AVX2); calls take what
// the processor has. No operation is fused or reordered between the two, so both give the same bits.
#ifndef TG_MATH_WIDE_H
#define TG_MATH_WIDE_H

#include "math/real.h"

#if defined(__x86_64__) && defined(__GNUC__) && !defined(TG_COMPLEX)
#define TGI_HAS_V3 __builtin_cpu_supports("avx2")
/// TGI_KERNEL(type, name, (parameters), (arguments)) in a header declares `name` and the two that it chooses from.
#define TGI_KERNEL(type, name, parameters, arguments) \
  type name##_v1 parameters;                          \
  type name##_v3 parameters;                          \
  static inline type name parameters {                \
    if (TGI_HAS_V3) return name##_v3 arguments;       \
    return name##_v1 arguments;                       \
  }
#else
#define TGI_KERNEL(type, name, parameters, arguments) \
  type name##_v1 parameters;                          \
  static inline type name parameters { return name##_v1 arguments; }
#endif

/// The name under which a hot file defines a kernel.
#ifdef TG_ISA_V3
#define TGI_ISA(name) name##_v3
#else
#define TGI_ISA(name) name##_v1
#endif

#define TGI_INLINE static inline __attribute__((always_inline))

/// Four reals, anywhere in memory. real: their real parts; add, sub(tract): a += f x, a -= f x; products: a += x y, elements apart.
enum { TGI_LANES = 4 };
#ifdef TG_COMPLEX
typedef struct tgVec { tgReal x[TGI_LANES]; } tgVec;
TGI_INLINE void tgi_vec_set(tgVec *a, tgReal x) { for (int c = 0; c < TGI_LANES; c++) a->x[c] = x; }
TGI_INLINE void tgi_vec_load(tgVec *a, const tgReal *x) { for (int c = 0; c < TGI_LANES; c++) a->x[c] = x[c]; }
TGI_INLINE void tgi_vec_store(const tgVec *a, tgReal *x) { for (int c = 0; c < TGI_LANES; c++) x[c] = a->x[c]; }
TGI_INLINE void tgi_vec_real(tgVec *a) { for (int c = 0; c < TGI_LANES; c++) a->x[c] = tgRe(a->x[c]); }
TGI_INLINE void tgi_vec_mul(tgVec *a, tgReal f) { for (int c = 0; c < TGI_LANES; c++) a->x[c] *= f; }
TGI_INLINE void tgi_vec_divide(tgVec *a, tgReal d) { for (int c = 0; c < TGI_LANES; c++) a->x[c] /= d; }
TGI_INLINE void tgi_vec_add(tgVec *a, tgReal f, const tgReal *x) { for (int c = 0; c < TGI_LANES; c++) a->x[c] += f * x[c]; }
TGI_INLINE void tgi_vec_subtract(tgVec *a, tgReal f, const tgVec *x) { for (int c = 0; c < TGI_LANES; c++) a->x[c] -= f * x->x[c]; }
TGI_INLINE void tgi_vec_products(tgVec *a, const tgVec *x, const tgVec *y) {
  for (int c = 0; c < TGI_LANES; c++) a->x[c] += x->x[c] * y->x[c];
}
#else
typedef double tgVec __attribute__((vector_size(32), aligned(8), may_alias));
TGI_INLINE void tgi_vec_set(tgVec *a, tgReal x) { *a = (tgVec){x, x, x, x}; }
TGI_INLINE void tgi_vec_load(tgVec *a, const tgReal *x) { *a = *(const tgVec *)x; }
TGI_INLINE void tgi_vec_store(const tgVec *a, tgReal *x) { *(tgVec *)x = *a; }
TGI_INLINE void tgi_vec_real(tgVec *a) { (void)a; }
TGI_INLINE void tgi_vec_mul(tgVec *a, tgReal f) { *a *= (tgVec){f, f, f, f}; }
TGI_INLINE void tgi_vec_divide(tgVec *a, tgReal d) { *a /= (tgVec){d, d, d, d}; }
TGI_INLINE void tgi_vec_add(tgVec *a, tgReal f, const tgReal *x) { *a += (tgVec){f, f, f, f} * *(const tgVec *)x; }
TGI_INLINE void tgi_vec_subtract(tgVec *a, tgReal f, const tgVec *x) { *a -= (tgVec){f, f, f, f} * *x; }
TGI_INLINE void tgi_vec_products(tgVec *a, const tgVec *x, const tgVec *y) { *a += *x * *y; }
#endif
TGI_INLINE void tgi_vec_sub(tgVec *a, tgReal f, const tgReal *x) {
  tgVec v;
  tgi_vec_load(&v, x);
  tgi_vec_subtract(a, f, &v);
}
/// a += x y of numbers in memory.
TGI_INLINE void tgi_vec_dot(tgVec *a, const tgReal *x, const tgReal *y) {
  tgVec v, w;
  tgi_vec_load(&v, x);
  tgi_vec_load(&w, y);
  tgi_vec_products(a, &v, &w);
}
/// (a0 + a1) + (a2 + a3).
TGI_INLINE tgReal tgi_vec_total(const tgVec *a) {
  tgReal t[TGI_LANES];
  tgi_vec_store(a, t);
  return (t[0] + t[1]) + (t[2] + t[3]);
}

/// The first n of a's four (all when n is larger) to x.
TGI_INLINE void tgi_vec_put(const tgVec *a, int n, tgReal *x) {
  tgReal t[TGI_LANES];
  if (n >= TGI_LANES) {
    tgi_vec_store(a, x);
    return;
  }
  tgi_vec_store(a, t);
  for (int c = 0; c < n; c++) x[c] = t[c];
}

#endif
