// ldl.h: factorisation A = U' D U of a dense symmetric matrix, without exchanges: positive definite ones only.
//
// Row-major; unit upper U above the diagonal, D on it. Deterministic, and analytic in the complex build.
#ifndef TG_MATH_LDL_H
#define TG_MATH_LDL_H

#include "math/real.h"

/// U (n x n, its upper half written) from A (its upper half read), which may be U. False: a pivot is not positive beyond round-off,
/// U is undefined.
bool tgi_ldl_factor(int n, const tgReal *A, tgReal *U);
/// x <- A^-1 x.
void tgi_ldl_solve(int n, const tgReal *U, tgReal *x);
/// The same for the columns of X (n x columns, row-major).
void tgi_ldl_solve_rows(int n, const tgReal *U, int columns, tgReal *X);

#endif
