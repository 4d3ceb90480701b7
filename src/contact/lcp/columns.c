// columns.c: see columns.h. Vectors are the columns of a row-major block, so that each operation on rows runs over all of them.
//
// Of a deficient Q (nk x nk, rank r) the complete orthogonal decomposition Q Pi = Q1 [W; 0], W = [U, ..] has U
// triangular, r x r: x = U^-1 Q1_r' r in
// the first r columns, 0 elsewhere, solves Q x = r as far as it can be solved, as the least-norm x does.   [GolubVanLoan 5.5]
#include "contact/lcp/columns.h"

#include "contact/lcp/scratch.h"
#include "math/combine.h"

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

// Y (nk x r, column-major) = U^-1 Q1_r', transposed
static void basis_inverse(const tgiLcp *s, tgReal *Y) {
  int nk = s->nk, r = s->rank;
  const tgReal *qr = s->cod.qr;
  for (int j = r - 1; j >= 0; j--) {   // Q1's reflectors 1 - tau u u', u_j = 1, on unit vectors
    for (int i = 0; i < nk; i++) Y[i + (size_t)nk * j] = i == j;
    const tgReal *u = qr + (size_t)nk * j;
    for (int c = j; c < r; c++) {
      tgReal *y = Y + (size_t)nk * c, sum = y[j];
      for (int i = j + 1; i < nk; i++) sum += u[i] * y[i];
      sum *= s->cod.tau[j];
      y[j] -= sum;
      for (int i = j + 1; i < nk; i++) y[i] -= u[i] * sum;
    }
  }
  for (int b = r - 1; b >= 0; b--) {
    tgReal *y = Y + (size_t)nk * b, d = 1 / qr[b + (size_t)nk * b];
    for (int i = 0; i < nk; i++) y[i] *= d;
    for (int a = 0; a < b; a++)
      for (int i = 0; i < nk; i++) Y[i + (size_t)nk * a] -= qr[a + (size_t)nk * b] * y[i];
  }
}

// the solution with zeros outside the first r columns
static void solve_basis(const tgiLcp *s, int n, const int *at, tgReal *X, tgReal *work, int *iwork) {
  int nk = s->nk, r = s->rank;
  tgReal *Y = work, *x = work + (size_t)nk * (size_t)r;
  basis_inverse(s, Y);
  for (int i = 0; i < nk; i++) iwork[i] = at[s->k[i]];
  for (int c = 0; c < r * n; c++) x[c] = 0;
  for (int a = 0; a < r; a++) tgi_combine(nk, Y + (size_t)nk * a, iwork, X, n, x + (size_t)a * (size_t)n);
  for (int i = 0; i < nk; i++)
    for (int c = 0; c < n; c++) X[iwork[i] + c] = 0;
  for (int a = 0; a < r; a++)
    for (int c = 0; c < n; c++) X[iwork[s->cod.piv[a]] + c] = x[(size_t)a * (size_t)n + (size_t)c];
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

int tgi_lcp_derivative_columns(const tgiLcp *s, int n, const int *at, tgReal *X, int *live, tgReal *work, int *iwork) {
  bool basis = s->deficient && tgi_lcp_null_action(s) < TGI_LCP_NULL;
  if (s->nk > 0) {
    if (!s->deficient) solve_full(s, n, at, X, work, iwork);
    else if (basis) solve_basis(s, n, at, X, work, iwork);
    else solve_least_norm(s, n, at, X, work);
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
