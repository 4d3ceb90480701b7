// columns.h: the derivative of a class solve for many vectors at once.
#ifndef TG_CONTACT_LCP_COLUMNS_H
#define TG_CONTACT_LCP_COLUMNS_H

#include "contact/lcp/solve.h"

enum { TGI_LCP_PROBE = 4 };   // numbers of a row of what one vector is tried in

/// Reals and ints of work that tgi_lcp_derivative_columns needs for nk held rows of that rank and n vectors.
static inline size_t tgi_lcp_columns_reals(int nk, int rank, int n) {
  return (size_t)rank * ((size_t)nk + (size_t)rank + (size_t)n) + (1 + TGI_LCP_PROBE) * (size_t)nk;
}
static inline size_t tgi_lcp_columns_ints(int nk) { return 3 * (size_t)nk; }

/// How far the motions are apart that forces f and g (of all rows; may be spoilt) make, over the first.
typedef struct tgiLcpMotion { double (*apart)(void *ctx, tgReal *f, tgReal *g); void *ctx; } tgiLcpMotion;

/// n vectors (a multiple of 4) over all rows of the problem, the numbers of row a at X + at[a]: tgi_lcp_derivative without t, then
/// tgi_lcp_expand. live: the rows in which the result may differ from 0; returns their number. At deficient rank the solution of
/// Q df_K = -r has zeros in as many rows as it can where it moves what the least-norm one moves, else it is that one; motion NULL: it is
/// that one.
int tgi_lcp_derivative_columns(const tgiLcp *s, const tgiLcpMotion *motion, int n, const int *at, tgReal *X, int *live, tgReal *work,
                               int *iwork);

#endif
