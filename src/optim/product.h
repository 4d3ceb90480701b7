// product.h: products of the row-major matrices that optimisers make, many of whose entries are 0.
#ifndef TG_OPTIM_PRODUCT_H
#define TG_OPTIM_PRODUCT_H

#include <stddef.h>

/// C (m x n) += A' B, A k x m, B k x n, each with its leading dimension.
static inline void tgi_add_atb(int k, int m, int n, const double *A, int lda, const double *B, int ldb, double *C, int ldc) {
  for (int r = 0; r < k; r++)
    for (int i = 0; i < m; i++) {
      double a = A[(size_t)r * (size_t)lda + (size_t)i];
      if (a == 0) continue;
      const double *b = B + (size_t)r * (size_t)ldb;
      double *c = C + (size_t)i * (size_t)ldc;
      for (int j = 0; j < n; j++) c[j] += a * b[j];
    }
}

/// C (m x n) += A B, A m x k, B k x n.
static inline void tgi_add_ab(int m, int k, int n, const double *A, int lda, const double *B, int ldb, double *C, int ldc) {
  for (int i = 0; i < m; i++)
    for (int r = 0; r < k; r++) {
      double a = A[(size_t)i * (size_t)lda + (size_t)r];
      if (a == 0) continue;
      const double *b = B + (size_t)r * (size_t)ldb;
      double *c = C + (size_t)i * (size_t)ldc;
      for (int j = 0; j < n; j++) c[j] += a * b[j];
    }
}

#endif
