// boxqp.h: a small dense quadratic program in a box, and the Cholesky factor behind it.
#ifndef TG_OPTIM_BOXQP_H
#define TG_OPTIM_BOXQP_H

#include <stdbool.h>

/// L L' = A in the lower triangle of a (n x n row-major, the upper is not read). False: not positive definite; a is spoilt.
bool tgi_chol_factor(int n, double *a);
/// x <- A^-1 x from the factor.
void tgi_chol_solve(int n, const double *l, double *x);

/// A box QP: min 1/2 x'Hx + g'x, low <= x <= high; the caller sets everything above the line.
typedef struct tgBoxQp {
  int n;
  const double *H, *g, *low, *high;   // H n x n symmetric
  double *x;                          // start, then solution
  double *work;                       // 4 n
  // what it leaves
  int nfree, *free;                   // indices of the entries that are not held by a bound, ascending; room for n
  double *L;                          // Cholesky factor of H over those, nfree x nfree; room for n x n
} tgBoxQp;

/// Projected Newton [boxddp III]. False when H is not positive definite over the entries that a bound does not hold, or so nearly so that
/// no step along the projected path lowers the value, or that a hundred of them do not come to its minimum.
bool tgi_box_qp(tgBoxQp *qp);

#endif
