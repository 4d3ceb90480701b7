// vec3.h: 3-vectors and 3x3 matrices (row-major). Norms are sqrt(x.x) without conjugation, so analytic.
#ifndef TG_MATH_VEC3_H
#define TG_MATH_VEC3_H

#include "math/real.h"

static inline void tgi_v3_set(tgReal *r, tgReal x, tgReal y, tgReal z) { r[0] = x; r[1] = y; r[2] = z; }
static inline void tgi_v3_zero(tgReal *r) { r[0] = r[1] = r[2] = 0; }
static inline void tgi_v3_copy(tgReal *r, const tgReal *a) { r[0] = a[0]; r[1] = a[1]; r[2] = a[2]; }
static inline void tgi_v3_add(tgReal *r, const tgReal *a, const tgReal *b) {
  for (int i = 0; i < 3; i++) r[i] = a[i] + b[i];
}
static inline void tgi_v3_sub(tgReal *r, const tgReal *a, const tgReal *b) {
  for (int i = 0; i < 3; i++) r[i] = a[i] - b[i];
}
static inline void tgi_v3_scale(tgReal *r, const tgReal *a, tgReal s) {
  for (int i = 0; i < 3; i++) r[i] = a[i] * s;
}
// r += s a
static inline void tgi_v3_axpy(tgReal *r, tgReal s, const tgReal *a) {
  for (int i = 0; i < 3; i++) r[i] += s * a[i];
}
static inline tgReal tgi_v3_dot(const tgReal *a, const tgReal *b) {
  return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}
static inline tgReal tgi_v3_norm(const tgReal *a) { return tgSqrt(tgi_v3_dot(a, a)); }
// r = a x b; r may be a or b
static inline void tgi_v3_cross(tgReal *r, const tgReal *a, const tgReal *b) {
  tgReal x = a[1] * b[2] - a[2] * b[1], y = a[2] * b[0] - a[0] * b[2], z = a[0] * b[1] - a[1] * b[0];
  r[0] = x; r[1] = y; r[2] = z;
}
// r = a/|a|, returns |a|; r = 0 when |a| = 0
static inline tgReal tgi_v3_unit(tgReal *r, const tgReal *a) {
  tgReal n = tgi_v3_norm(a);
  if (tgRe(n) > 0) tgi_v3_scale(r, a, 1 / n); else tgi_v3_zero(r);
  return n;
}

static inline void tgi_m3_copy(tgReal *r, const tgReal *A) { for (int i = 0; i < 9; i++) r[i] = A[i]; }
static inline void tgi_m3_identity(tgReal *r) { for (int i = 0; i < 9; i++) r[i] = i % 4 == 0 ? 1 : 0; }
// r = A x; r must not be x
static inline void tgi_m3_mulv(tgReal *r, const tgReal *A, const tgReal *x) {
  for (int i = 0; i < 3; i++) r[i] = A[3 * i] * x[0] + A[3 * i + 1] * x[1] + A[3 * i + 2] * x[2];
}
// r = A' x; r must not be x
static inline void tgi_m3_tmulv(tgReal *r, const tgReal *A, const tgReal *x) {
  for (int i = 0; i < 3; i++) r[i] = A[i] * x[0] + A[3 + i] * x[1] + A[6 + i] * x[2];
}
// r = A B; r must be neither
static inline void tgi_m3_mul(tgReal *r, const tgReal *A, const tgReal *B) {
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < 3; j++)
      r[3 * i + j] = A[3 * i] * B[j] + A[3 * i + 1] * B[3 + j] + A[3 * i + 2] * B[6 + j];
}
// r = A B'; r must be neither
static inline void tgi_m3_mult(tgReal *r, const tgReal *A, const tgReal *B) {
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < 3; j++)
      r[3 * i + j] = A[3 * i] * B[3 * j] + A[3 * i + 1] * B[3 * j + 1] + A[3 * i + 2] * B[3 * j + 2];
}
// column j of A
static inline void tgi_m3_col(tgReal *r, const tgReal *A, int j) {
  for (int i = 0; i < 3; i++) r[i] = A[3 * i + j];
}

#endif
