// columns.c: see columns.h. Vectors are the columns of a row-major block, so that each operation on rows runs over all of them.
//
// Of a deficient Q = L C' (nk x nk, rank r), L = U R, x = (R C_1')^-1 U' r in the rows of the pivots (C_1: those rows of C), 0 elsewhere,
// solves Q x = r as far as it can be solved, as the least-norm x does.   [GolubVanLoan 5.5]
#include "contact/lcp/columns.h"

#include "contact/lcp/scratch.h"
#include "math/combine.h"

// Pivots of the basis at least, relative to the largest.
#define BASIS_CUT 1e-11

// rows order[0 .. n-1] of X: x <- U^-1 L^-1 x, L and U in lu (column-major, leading dimension ld, L's diagonal 1)
static void triangular_solves(int n, const tgReal *lu, int ld, const int *place, int width, tgReal *X, tgReal *w) {
  for (int i = 1; i < n; i++) {
    for (int k = 0; k < i; k++) w[k] = -lu[i + (size_t)ld * k];
    tgi_combine(i, w, place, X, width, X + place[i]);
  }
  for (int i = n - 1; i >= 0; i--) {
    for (int k = i + 1; k < n; k++) w[k] = -lu[i + (size_t)ld * k];
    tgReal *x = X + place[i], r = 1 / lu[i + (size_t)ld * i];
    tgi_combine(n - 1 - i, w + i + 1, place + i + 1, X, width, x);
    for (int c = 0; c < width; c++) x[c] *= r;
  }
}

static void swap_rows(tgReal *X, int a, int b, int width) {
  for (int c = 0; a != b && c < width; c++) {
    tgReal t = X[a + c];
    X[a + c] = X[b + c];
    X[b + c] = t;
  }
}

// rows of Y (nk x r, column-major) <- (x -> M^-1 x) of them, M = l u
static void solve_each_row(int nk, int r, const tgReal *lu, const int *piv, tgReal *Y) {
  for (int b = 0; b < r; b++) swap_rows(Y, nk * b, nk * piv[b], nk);
  for (int b = 0; b < r; b++)
    for (int a = b + 1; a < r; a++)
      for (int i = 0; i < nk; i++) Y[i + (size_t)nk * a] -= lu[a + (size_t)r * b] * Y[i + (size_t)nk * b];
  for (int b = r - 1; b >= 0; b--) {
    tgReal *y = Y + (size_t)nk * b, d = 1 / lu[b + (size_t)r * b];
    for (int i = 0; i < nk; i++) y[i] *= d;
    for (int a = 0; a < b; a++)
      for (int i = 0; i < nk; i++) Y[i + (size_t)nk * a] -= lu[a + (size_t)r * b] * y[i];
  }
}

// M = R C_1', r x r, C_1 the rows of C = V T at the pivots. V in the memory of Y.
static void basis_matrix(const tgiLcp *s, tgReal *V, tgReal *M) {
  const tgiLowRank *d = &s->low;
  int nk = s->nk, r = s->rank;
  tgi_reflectors_columns(nk, r, d->c, d->ctau, V);
  for (int j = 0; j < r; j++) {
    tgReal *m = M + (size_t)r * j, *v = V + s->lu_piv[j];   // (V T)_j., then R times it
    for (int c = r - 1; c >= 0; c--) {
      m[c] = 0;
      for (int k = 0; k <= c; k++) m[c] += v[(size_t)nk * k] * d->c[k + (size_t)nk * c];
    }
    for (int a = 0; a < r; a++) {
      tgReal sum = 0;
      for (int c = a; c < r; c++) sum += d->l[a + (size_t)nk * c] * m[c];
      m[a] = sum;
    }
  }
}

// the solution with zeros outside the pivots' rows; false: it is not well determined by them
static bool solve_basis(const tgiLcp *s, int n, const int *at, tgReal *X, tgReal *work, int *iwork) {
  int nk = s->nk, r = s->rank, *piv = iwork + nk;
  tgReal *Y = work, *M = work + (size_t)nk * (size_t)r, *x = M + (size_t)r * (size_t)r;
  basis_matrix(s, Y, M);
  double least = INFINITY, most = 0;
  if (!tgi_lu_factor(r, M, piv)) return false;
  for (int a = 0; a < r; a++) {
    double size = fabs(tgRe(M[(size_t)(r + 1) * (size_t)a]));
    least = fmin(least, size);
    most = fmax(most, size);
  }
  if (!(least > BASIS_CUT * most)) return false;
  if (s->low.c != s->low.l) tgi_reflectors_columns(nk, r, s->low.l, s->low.ltau, Y);   // else basis_matrix has left them there
  solve_each_row(nk, r, M, piv, Y);
  for (int i = 0; i < nk; i++) iwork[i] = at[s->k[i]];
  for (int c = 0; c < r * n; c++) x[c] = 0;
  for (int a = 0; a < r; a++) tgi_combine(nk, Y + (size_t)nk * a, iwork, X, n, x + (size_t)a * (size_t)n);
  for (int i = 0; i < nk; i++)
    for (int c = 0; c < n; c++) X[iwork[i] + c] = 0;
  for (int a = 0; a < r; a++)
    for (int c = 0; c < n; c++) X[iwork[s->lu_piv[a]] + c] = x[(size_t)a * (size_t)n + (size_t)c];
  return true;
}

static void solve_full(const tgiLcp *s, int n, const int *at, tgReal *X, tgReal *work, int *iwork) {
  int nk = s->nk;
  for (int i = 0; i < nk; i++) iwork[i] = at[s->k[i]];
  for (int i = 0; i < nk; i++) swap_rows(X, iwork[i], iwork[s->lu_piv[i]], n);
  triangular_solves(nk, s->lu, nk, iwork, n, X, work);
}

// the least-norm solution, one vector at a time
static void solve_least_norm(const tgiLcp *s, int n, const int *at, tgReal *X, tgReal *work) {
  for (int c = 0; c < n; c++) {
    for (int a = 0; a < s->nk; a++) work[a] = X[at[s->k[a]] + c];
    tgi_lcp_apply(s, work, work);
    for (int a = 0; a < s->nk; a++) X[at[s->k[a]] + c] = work[a];
  }
}

int tgi_lcp_derivative_columns(const tgiLcp *s, bool least, int n, const int *at, tgReal *X, int *live, tgReal *work, int *iwork) {
  bool basis = !least && s->deficient && s->problem->sparse == NULL && s->factored_low && tgi_lcp_null_action(s) < TGI_LCP_NULL;
  if (s->nk > 0) {
    basis = basis && solve_basis(s, n, at, X, work, iwork);
    if (!s->deficient && s->problem->sparse == NULL) solve_full(s, n, at, X, work, iwork);
    else if (!basis) solve_least_norm(s, n, at, X, work);
  }
  int count = 0;
  for (int i = 0; i < s->n; i++) {
    tgReal *x = X + at[i];
    if (s->kpos[i] >= 0) {
      for (int c = 0; c < n; c++) x[c] = -x[c];
      bool zero = basis && x[0] == 0;
      for (int c = 1; zero && c < n; c++) zero = x[c] == 0;
      if (!zero) live[count++] = i;
    } else {
      for (int c = 0; c < n; c++) x[c] = 0;
    }
  }
  for (int i = 0; i < s->n; i++) {
    tgReal e = tgi_lcp_slope(s, i);
    if (s->kpos[i] >= 0 || e == 0) continue;
    const tgReal *x = X + at[s->problem->parent[i]];
    for (int c = 0; c < n; c++) X[at[i] + c] = e * x[c];
    live[count++] = i;
  }
  return count;
}
