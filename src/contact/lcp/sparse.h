// sparse.h: private to contact/lcp: an island whose matrix A = J Mh^-1 J' is not formed, and the factorisation of its class solve.
//
// Based on: the matrix inversion lemma [GolubVanLoan 2.1]; [math/lcp (20)]. With s a small share of A's diagonal, alike for all rows,
//   (Q + s)^-1 r = (r - J_K H^-1 J' P r/s)/s,   H = Mh + J' P J_K/s,
// and H couples what rows join: it is factorised by its pattern (math/pattern.h). Q^# r is what x = (Q + s)^-1 y leaves least of r with,
// y from the space of r and its images under Q (Q + s)^-1 (math/krylov.h), which has next to all of its eigenvalues at 1 or 0: a few
// vectors do, though rows that slide make H unsymmetric and its factors, without exchanges among blocks, inexact. Where none slides Q^# is
// Q's pseudo-inverse; else its group inverse, which gives the same velocities where the conditions have but one.
#ifndef TG_CONTACT_LCP_SPARSE_H
#define TG_CONTACT_LCP_SPARSE_H

#include "contact/lcp/solve.h"
#include "math/krylov.h"
#include "math/pattern.h"

/// The rows of an island by the sets of dofs on which they act, blocks 0, 1 .. with neighbouring dofs, numbered within the island.
struct tgiLcpSparse {
  int nd;                  ///< dofs
  int width;               ///< numbers of a row at most
  int *block;              ///< n x 2: blocks on which a row acts, -1: none
  int *row;                ///< n: row i has its numbers from J + row[i] width on, those of the first block, then those of the second
  const tgReal *J, *MiJ;   ///< MiJ: rows of J Mh^-1
  tgReal *diagonal;        ///< n: of A
  const tgReal *M;         ///< the step matrix
  int *at;                 ///< nd x 3: entry (i, j) of Mh is M[at + j], j from the second to before the third
  tgiPattern pattern;      ///< of H, with all rows
  tgReal *dof[5];          ///< nd each: work
  tgReal *own[8];          ///< n each: work
  double *krylov;          ///< (TGI_KRYLOV + 3) n
  double *krylov_dof;      ///< (TGI_KRYLOV + 3) nd
  tgReal *hung;        ///< n x width: rows h
};

/// x (nd) = sum of f_i times row i of J or of MiJ; J_i x.
void tgi_sparse_sum(const tgiLcpSparse *a, int n, const tgReal *J, const tgReal *f, tgReal *x);
tgReal tgi_sparse_dot(const tgiLcpSparse *a, int i, const tgReal *x);
/// A, n x n.
void tgi_sparse_form(const tgiLcpSparse *a, int n, tgReal *A);
/// y = Mh x.
void tgi_sparse_mass(const tgiLcpSparse *a, const tgReal *x, tgReal *y);
/// Mh + sum over the rows of weight_i h_i' J_i, h_i = J_i + sum of slope_k J_k over the friction k on it, factorised into L and U
/// (math/pattern.h); negative: its determinant is. Not sloped: without slopes, into U alone. False: it is singular.
bool tgi_sparse_matrix(const tgiLcpProblem *p, const tgReal *weight, const tgReal *slope, bool sloped, tgReal *L, tgReal *U,
                       bool *negative);
/// y = the sloped one, which was factorised last, times x; u (n) = J x on the way.
void tgi_sparse_product(const tgiLcpProblem *p, const tgReal *x, tgReal *u, tgReal *y);
/// x with that x = r, and u (n) = J x.
void tgi_sparse_product_solve(const tgiLcpProblem *p, const tgReal *L, const tgReal *U, const tgReal *r, tgReal *x, tgReal *u);
/// H of s->k and s->cls. False: it is singular. Q's rank, which costs as much as a solve, is what the second one finds.
bool tgi_sparse_open(tgiLcp *s);
void tgi_sparse_probe(tgiLcp *s);
/// x <- Q^# x or with the transpose, nk numbers. False: no better than to 1e-9.
bool tgi_sparse_solve(const tgiLcp *s, tgReal *x, bool transposed);
/// r <- the solution of Q x = r whose part in the null space of Q is that of s->anchor.
void tgi_sparse_solve_anchored(const tgiLcp *s, tgReal *r);
/// r <- x with (Q + s) x = r.
void tgi_sparse_solve_shifted(const tgiLcp *s, tgReal *r);
/// v (n) += A f; fk (nk) -= A_K: f0, f0 (n) the forces of rows that are not in K.
void tgi_sparse_respond(const tgiLcpSparse *a, int n, const tgReal *f, tgReal *v);
void tgi_sparse_fixed(const tgiLcp *s, const tgReal *f0, tgReal *fk);
/// x <- x - Q^# Q x.
void tgi_sparse_project(const tgiLcp *s, tgReal *x);

#endif
