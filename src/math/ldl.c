// ldl.c: see ldl.h.
#include "math/ldl.h"

#include <string.h>

#include "math/ldl_wide.h"

bool tgi_ldl_factor(int n, const tgReal *A, tgReal *U) {
  size_t N = (size_t)n;
  for (size_t i = 0; i < N && A != U; i++) memcpy(U + i * N + i, A + i * N + i, (N - i) * sizeof *U);
  return tgi_wide_ldl_factor(n, U);
}

void tgi_ldl_solve(int n, const tgReal *U, tgReal *x) {
  for (int k = 0; k < n; k++)
    for (int i = k + 1; i < n; i++) x[i] -= U[(size_t)n * (size_t)k + (size_t)i] * x[k];
  for (int k = 0; k < n; k++) x[k] /= U[(size_t)n * (size_t)k + (size_t)k];
  for (int k = n - 1; k >= 0; k--) {
    tgReal sum = x[k];
    for (int i = k + 1; i < n; i++) sum -= U[(size_t)n * (size_t)k + (size_t)i] * x[i];
    x[k] = sum;
  }
}

static void subtract_row(int columns, tgReal f, const tgReal *from, tgReal *to) {
  for (int c = 0; c < columns; c++) to[c] -= f * from[c];
}

void tgi_ldl_solve_rows(int n, const tgReal *U, int columns, tgReal *X) {
  size_t N = (size_t)n, C = (size_t)columns;
  for (size_t k = 0; k < N; k++)
    for (size_t i = k + 1; i < N; i++) subtract_row(columns, U[N * k + i], X + C * k, X + C * i);
  for (size_t k = N; k-- > 0;) {
    tgReal *row = X + C * k;
    for (int c = 0; c < columns; c++) row[c] /= U[N * k + k];
    for (size_t i = k + 1; i < N; i++) subtract_row(columns, U[N * k + i], X + C * i, row);
  }
}
