// coll_deriv.h: D and Ds of a pair against complex steps, else Ridders' differences.
#ifndef TG_TEST_COLL_DERIV_H
#define TG_TEST_COLL_DERIV_H

#include "coll/coll_support.h"

// the seven numbers of one point
static inline void tgt_seven(tgReal *y, const tgContactPoint *c) {
  tgi_v3_copy(y, c->p);
  tgi_v3_copy(y + 3, c->n);
  y[6] = c->gap;
}
static inline tgReal tgt_derivative(const tgContactPoint *c, int i, int k) { return k < 12 ? c->D[i][k] : c->Ds[i][k - 12]; }
enum { TGT_COLUMNS = 18 };
// the pair displaced along twist component k (0..5 A, 6..11 B) or size k - 12 (0..2 A, 3..5 B)
static inline int tgt_displaced(const tgtShape *a, const tgtShape *b, int k, tgReal h, const int32_t *memory, double margin,
                     tgContactPoint *out) {
  tgtShape x = *a, y = *b;
  double m[6] = {0};
  int32_t mem[TG_PAIR_MEMORY];
  memcpy(mem, memory, sizeof mem);
  m[k % 6] = 1;
  if (k < 12) tgt_move(k < 6 ? &x : &y, m, h);
  else (k < 15 ? &x : &y)->size[k % 3] += h;
  return tgt_collide(&x, &y, margin, TG_COLLIDE_POINTS, mem, out, NULL);
}

// a block's error is max |dD| / max |D|; the unit columns of p make the latter at least 1 but for rounding
static inline double tgt_largest(const tgContactPoint *c) {
  double m = 1;
  for (int i = 0; i < 7 * 12; i++) m = fmax(m, fabs(tgRe(c->D[i / 12][i % 12])));
  return m;
}

#ifdef TG_COMPLEX
// imaginary parts of a step 1e-30 i: exact to rounding; no point is set aside
static inline int tgt_derivative_error(const tgtShape *a, const tgtShape *b, const int32_t *memory, double margin, int count,
                            const tgContactPoint *c, double *worst) {
  tgContactPoint d[TG_PAIR_POINTS];
  for (int k = 0; k < TGT_COLUMNS; k++) {
    int n = tgt_displaced(a, b, k, CMPLX(0, 1e-30), memory, margin, d);
    assert_int_equal(n, count);
    for (int j = 0; j < n; j++) {
      tgReal y[7];
      assert_int_equal(d[j].feature, c[j].feature);
      tgt_seven(y, &d[j]);
      for (int i = 0; i < 7; i++) {
        double e = fabs(tgIm(y[i]) / 1e-30 - tgRe(tgt_derivative(&c[j], i, k))) / tgt_largest(&c[j]);
        if (!(e <= *worst)) *worst = e;
      }
    }
  }
  return 0;
}
static const double tgt_derivative_tolerance = 1e-10;
#else
// Ridders: extrapolated central differences from h 2e-4 down, less where D is large, as near the poles of unit(a - b),
// whose distance is the radius of convergence; 1 when the features change inside the stencil
static inline int tgt_ridders(const tgtShape *a, const tgtShape *b, int k, const int32_t *memory, double margin, int count,
                   const tgContactPoint *c, double *worst) {
  enum { ROWS = 7 };
  double T[ROWS][TG_PAIR_POINTS][7], best[TG_PAIR_POINTS][7], err[TG_PAIR_POINTS][7], h = 2e-4;
  for (int j = 0; j < count; j++) h = fmin(h, 2e-3 / tgt_largest(&c[j]));
  tgContactPoint plus[TG_PAIR_POINTS], minus[TG_PAIR_POINTS];
  for (int row = 0; row < ROWS; row++, h /= 2) {
    if (tgt_displaced(a, b, k, h, memory, margin, plus) != count) return 1;
    if (tgt_displaced(a, b, k, -h, memory, margin, minus) != count) return 1;
    for (int j = 0; j < count; j++) {
      tgReal yp[7], ym[7];
      if (plus[j].feature != c[j].feature || minus[j].feature != c[j].feature) return 1;
      tgt_seven(yp, &plus[j]);
      tgt_seven(ym, &minus[j]);
      for (int i = 0; i < 7; i++) {
        double x = (yp[i] - ym[i]) / (2 * h), f = 4;
        if (row == 0) { best[j][i] = x; err[j][i] = INFINITY; }
        for (int s = 0; s < row; s++, f *= 4) {         // T(row, s+1) from T(row, s) and T(row-1, s)
          double y = (f * x - T[s][j][i]) / (f - 1), e = fmax(fabs(y - x), fabs(y - T[s][j][i]));
          T[s][j][i] = x;
          x = y;
          if (e < err[j][i]) { err[j][i] = e; best[j][i] = y; }
        }
        T[row][j][i] = x;
      }
    }
  }
  for (int j = 0; j < count; j++)
    for (int i = 0; i < 7; i++) {
      double e = fabs(best[j][i] - tgt_derivative(&c[j], i, k)) / tgt_largest(&c[j]);
      if (!(e <= *worst)) *worst = e;
    }
  return 0;
}
static inline int tgt_derivative_error(const tgtShape *a, const tgtShape *b, const int32_t *memory, double margin, int count,
                            const tgContactPoint *c, double *worst) {
  for (int k = 0; k < TGT_COLUMNS; k++)
    if (tgt_ridders(a, b, k, memory, margin, count, c, worst)) return 1;
  return 0;
}
static const double tgt_derivative_tolerance = 1e-7;
#endif


#endif
