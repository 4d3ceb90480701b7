// test_ldl.c: A = U' D U: against A itself and solutions of A x = b; the kernels against the textbook's loops, bit by bit.
#include <string.h>

#include "math/ldl.h"
#include "math/ldl_wide.h"
#include "support/check.h"

enum { MOST = 131 };

static const double untouched = 0x1.23456789abcdep+7;

// B' B/n of a random B with rows of sizes over four decades, plus `shift` on the diagonal: upper half, `untouched` below
static void fill(int n, double shift, tgtRandom *r, tgReal *A) {
  static double B[MOST * MOST];
  for (int i = 0; i < n; i++) {
    double size = pow(10, tgt_uniform(r, -2, 2));
    for (int j = 0; j < n; j++) B[i * n + j] = size * tgt_normal(r);
  }
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++) {
      double s = i == j ? shift : 0;
      for (int k = 0; k < n; k++) s += B[k * n + i] * B[k * n + j] / n;
      A[i * n + j] = j >= i ? s : untouched;
    }
}

// every size up to some blocks of four, then those about 96 (16 bodies) and the largest
static int after(int n) { return n < 21 || (n >= 94 && n < 100) ? n + 1 : n < 94 ? 94 : n + 31; }

static double entry(int n, const tgReal *A, int i, int j) { return tgRe(i <= j ? A[i * n + j] : A[j * n + i]); }

// U' D U is A and A x is b, to rounding of sums of n terms
static void test_factor(void **state) {
  (void)state;
  static tgReal A[MOST * MOST], U[MOST * MOST], X[MOST * 3];
  tgtRandom r = {41};
  for (int n = 1; n <= MOST; n = after(n)) {
    tgReal b[MOST * 3], x[MOST];
    fill(n, 1, &r, A);
    for (int i = 0; i < n * n; i++) U[i] = untouched;
    assert_true(tgi_ldl_factor(n, A, U));
    for (int i = 0; i < n; i++)
      for (int j = 0; j < n; j++) {
        if (j < i) {
          assert_true(tgRe(U[i * n + j]) == untouched);
          continue;
        }
        double sum = 0;
        for (int k = 0; k <= i; k++) sum += tgRe(U[k * n + k]) * (k < i ? tgRe(U[k * n + i]) : 1) * (k < j ? tgRe(U[k * n + j]) : 1);
        check_close(sum, A[i * n + j], 2.2e-16 * (n + 3) * sqrt(entry(n, A, i, i) * entry(n, A, j, j)));
      }
    for (int i = 0; i < 3 * n; i++) b[i] = X[i] = tgt_normal(&r);
    for (int i = 0; i < n; i++) x[i] = b[3 * i];
    tgi_ldl_solve(n, U, x);
    tgi_ldl_solve_rows(n, U, 3, X);
    for (int c = 0; c < 4; c++)
      for (int i = 0; i < n; i++) {
        double sum = 0, size = 0;
        for (int j = 0; j < n; j++) {
          double t = entry(n, A, i, j) * tgRe(c < 3 ? X[3 * j + c] : x[j]);
          sum += t;
          size += fabs(t);
        }
        check_close(sum, b[3 * i + c % 3], 1e-13 * n * (size + 1));
      }
    assert_true(tgi_ldl_factor(n, A, A));
    assert_memory_equal(A, U, (size_t)(n * n) * sizeof *A);
  }
}

// no pivot passes that is negative, not a number, or 0 because a row is the one before again, wherever it is
static void test_refused(void **state) {
  (void)state;
  static tgReal A[MOST * MOST], U[MOST * MOST];
  tgtRandom r = {42};
  for (int n = 1; n < 21; n++)
    for (int at = 0; at < n; at++)
      for (int kind = 0; kind < (at > 0 ? 3 : 2); kind++) {
        fill(n, 1, &r, A);
        if (kind == 0) A[at * n + at] = -1e-3;
        if (kind == 1) A[at * n + at] = (double)NAN;
        for (int j = 0; j < n && kind == 2; j++) A[j < at ? j * n + at : at * n + j] = entry(n, A, at - 1, j == at ? at - 1 : j);
        assert_false(tgi_ldl_factor(n, A, U));
      }
}

// 3/2 on the diagonal and once beside it, where e is added below: the pivot is e, of which 2.2e-16 of 3/2 may be rounding
static void test_threshold(void **state) {
  (void)state;
  tgReal A[21 * 21], U[21 * 21];
  for (int n = 2; n < 21; n++)
    for (int at = 1; at < n; at++) {
      for (int i = 0; i < n * n; i++) A[i] = i % (n + 1) == 0 ? 1.5 : 0;
      A[(at - 1) * n + at] = 1.5;
      A[at * n + at] = 1.5 + 0x1p-52;
      assert_false(tgi_ldl_factor(n, A, U));
      A[at * n + at] = 1.5 + 0x1p-51;
      assert_true(tgi_ldl_factor(n, A, U));
      assert_true(tgRe(U[at * n + at]) == 0x1p-51);
    }
}

#ifndef TG_COMPLEX
// right-looking, row by row
static bool plain_factor(int n, tgReal *U) {
  size_t N = (size_t)n;
  for (size_t k = 0; k < N; k++) {
    tgReal *row = U + k * N, pivot = row[k];
    // what cancelled in the pivot is some 2.2e-16 of the entry that it began as, U_kk + sum of D U^2
    double began = 0;
    for (size_t i = 0; i < k; i++) began += tgRe(U[i * N + i]) * tgRe(U[i * N + k]) * tgRe(U[i * N + k]);
    if (!(tgRe(pivot) > 2.2e-16 * (began + tgRe(pivot))) || !tgFinite(pivot)) return false;
    for (size_t i = k + 1; i < N; i++) {
      tgReal u = row[i] / pivot, *to = U + i * N;
      for (size_t j = i; j < N; j++) to[j] -= u * row[j];
    }
    for (size_t i = k + 1; i < N; i++) row[i] /= pivot;
  }
  return true;
}

typedef bool (*Kernel)(int n, double *U);

static void check_bits(Kernel wide) {
  static tgReal A[MOST * MOST], U[MOST * MOST], W[MOST * MOST];
  tgtRandom r = {43};
  int passed = 0, refused = 0;
  for (int trial = 0; trial < 20; trial++)
    for (int n = 1; n <= MOST; n = after(n)) {
      // from well conditioned to indefinite
      fill(n, trial < 10 ? 1 : -pow(10, tgt_uniform(&r, -9, 0)), &r, A);
      memcpy(U, A, sizeof A);
      memcpy(W, A, sizeof A);
      bool good = plain_factor(n, U);
      assert_int_equal(wide(n, W), good);
      if (good) assert_memory_equal(U, W, (size_t)(n * n) * sizeof *U);
      *(good ? &passed : &refused) += 1;
    }
  assert_true(passed > 200 && refused > 100);
}

static void test_bits(void **state) {
  (void)state;
  check_bits(tgi_wide_ldl_factor_v1);
#ifdef TGI_HAS_V3
  if (TGI_HAS_V3) check_bits(tgi_wide_ldl_factor_v3);
#endif
}
#endif

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_factor),
    cmocka_unit_test(test_refused),
    cmocka_unit_test(test_threshold),
#ifndef TG_COMPLEX
    cmocka_unit_test(test_bits),
#endif
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
