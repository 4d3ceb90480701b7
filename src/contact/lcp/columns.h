// columns.h: the derivative of a class solve for many vectors at once.
#ifndef TG_CONTACT_LCP_COLUMNS_H
#define TG_CONTACT_LCP_COLUMNS_H

#include "contact/lcp/solve.h"

/// Reals and ints of work that tgi_lcp_derivative_columns needs for nk held rows of that rank and n vectors.
static inline size_t tgi_lcp_columns_reals(int nk, int rank, int n) {
  return (size_t)rank * ((size_t)nk + (size_t)rank + (size_t)n) + (size_t)nk;
}
static inline size_t tgi_lcp_columns_ints(int nk) { return 2 * (size_t)nk; }

/// n vectors (a multiple of 4) over all rows of the problem, the numbers of row a at X + at[a]: tgi_lcp_derivative without t, then
/// tgi_lcp_expand. live: the rows in which the result may differ from 0; returns their number. At deficient rank the solution of
/// Q df_K = -r has zeros in as many rows as it can where the null part of f_K moves nothing, else it is the least-norm one.
int tgi_lcp_derivative_columns(const tgiLcp *s, bool least, int n, const int *at, tgReal *X, int *live, tgReal *work, int *iwork);

#endif
