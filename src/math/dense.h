// dense.h: square dense systems: LU, its condition number, and what is behind a least-norm pseudo-inverse: the complete orthogonal
// decomposition and, where factors of low rank are known, theirs.
//
// Matrices are column-major, a[i + n j]. Workspace is the caller's. Factorisations are in vectors of four (dense_wide.h), small ones
// in plain loops. In the complex build they transpose without conjugating and decide on real parts, so that a derivative
// passes through. No library: see docs/decisions/0018-dense-factorisation.md.
#ifndef TG_MATH_DENSE_H
#define TG_MATH_DENSE_H

#include "math/real.h"

/// a <- P L U with row exchanges `piv` (n). False when a pivot is exactly zero or not finite (a is then spoilt).
bool tgi_lu_factor(int n, tgReal *a, int *piv);
/// The same for small systems.
bool tgi_small_lu_factor(int n, tgReal *a, int *piv);
/// x <- A^-1 x, or A^-T x.
void tgi_lu_solve(int n, const tgReal *lu, const int *piv, tgReal *x, bool transposed);
/// X <- A^-T X of many at once, X (n x ld, row-major), ld a multiple of 4; w, at: work, n.
void tgi_lu_solve_rows(int n, const tgReal *lu, const int *piv, int ld, tgReal *X, tgReal *w, int *at);
/// Estimate of 1/(|A|_1 |A^-1|_1) from the factors (Hager's method); norm = |A|_1, work: 2n. Seldom too large by more
/// than a factor of three.
double tgi_lu_rcond(int n, const tgReal *lu, const int *piv, double norm, tgReal *work);
/// tgi_lu_rcond > least, where a bound on the inverse of triangles says so without the estimate. work: the same.
bool tgi_lu_rcond_above(int n, const tgReal *lu, const int *piv, double norm, double least, tgReal *work);

/// A Pi = Q1 [W; 0], W^T = Q2 R2: A = Q1_r R2^T Q2_r^T Pi^T with r = rank. The caller sets the pointers and n.
typedef struct tgiCod {
  int n, rank;
  tgReal *qr, *tau;  ///< n x n and n: Q1's reflectors and W
  tgReal *w, *wtau;  ///< n x n and n: Q2's reflectors and R2
  int *piv;          ///< n: column of A in each place
  tgReal *work;      ///< TGI_COD_WORK(n)
} tgiCod;
#define TGI_COD_WORK(n) (2 * (size_t)(n))

/// Decomposes d->qr (A on entry). Columns whose rest is below cut times the first pivot do not count.
void tgi_cod_factor(tgiCod *d, double cut);
/// x <- A^+ x, or A^{+T} x.
void tgi_cod_solve(const tgiCod *d, tgReal *x, bool transposed);
/// x <- (I - A^+ A) x.
void tgi_cod_project(const tgiCod *d, tgReal *x);

/// L of A_KK = L L^T, K the rows k (nk of them) of A (n x n, symmetric, positive semidefinite): pivots until what is left of the diagonal
/// is at most cut of its largest. l: nk x the number of pivots, which is returned; column-major. piv: positions of the pivots in k.
/// work: 2 nk, iwork: nk.
int tgi_semidefinite_factor(int n, const tgReal *A, int nk, const int *k, double cut, tgReal *l, int *piv, tgReal *work, int *iwork);

/// Q = L C^T, L and C (n x rank) of full column rank: L = U R, C = V T, Q^+ = V T^-T R^-1 U^T. The caller sets n, rank and the pointers;
/// c == l, ctau == ltau: Q is symmetric.
typedef struct tgiLowRank {
  int n, rank;
  tgReal *l, *ltau;  ///< n x rank and rank: L, then U's reflectors and R
  tgReal *c, *ctau;  ///< C likewise
} tgiLowRank;

/// L in l becomes U R.
void tgi_low_rank_open(const tgiLowRank *d);
/// x_0 .. x_(rank - 1) <- R^-1 U^T x = L^+ x, after open.
void tgi_low_rank_coordinates(const tgiLowRank *d, tgReal *x);
/// C in c becomes V T, where it is not L. False where L C^T has less than that rank: a diagonal entry of T R is below cut of the largest.
bool tgi_low_rank_close(const tgiLowRank *d, double cut);
/// x <- Q^+ x, or Q^{+T} x.
void tgi_low_rank_solve(const tgiLowRank *d, tgReal *x, bool transposed);
/// x <- (I - Q^+ Q) x.
void tgi_low_rank_project(const tgiLowRank *d, tgReal *x);
/// U (n x rank, column-major) of reflectors u and tau: the first columns of their product.
void tgi_reflectors_columns(int n, int rank, const tgReal *u, const tgReal *tau, tgReal *U);

/// x <- A^-1 x for real numbers in both builds; a (spoilt) n x n. False when a pivot falls below
/// 1e-11 max|a|: singular for practical purposes.
bool tgi_solve_real(int n, double *a, double *x);

#endif
