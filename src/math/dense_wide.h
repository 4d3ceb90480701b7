// dense_wide.h: factorisations of dense.h for systems of up to a hundred rows or so, in vectors of four.
//
// In the complex build a vector is four numbers one after the other: products are without conjugation and decisions on
// real parts, so that derivatives pass through.
#ifndef TG_MATH_DENSE_WIDE_H
#define TG_MATH_DENSE_WIDE_H

#include "math/wide.h"

/// As tgi_lu_factor.
TGI_KERNEL(bool, tgi_wide_lu_factor, (int n, tgReal *a, int *piv), (n, a, piv))

/// A Pi = Q R of a, n x n, in at most n steps: reflectors below the diagonal and in tau, R above, column of
/// A in each place in piv. Returns the number of steps until the largest remaining column was below cut
/// times the first. norms: 2 n.
TGI_KERNEL(int, tgi_wide_qr_pivoted, (int n, tgReal *a, tgReal *tau, int *piv, double cut, tgReal *norms), (n, a, tau, piv, cut, norms))

/// A = Q R of a, n x r (r at most n).
TGI_KERNEL(void, tgi_wide_qr, (int n, int r, tgReal *a, tgReal *tau), (n, r, a, tau))

#endif
