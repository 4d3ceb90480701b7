// dense.c: LU, condition estimate, complete orthogonal decomposition and factors of low rank.
//
// Based on: [GolubVanLoan 3.4, 4.2.8, 5.4]; condition estimate of [Hager] and [Higham].
#include "math/dense.h"

#include "math/combine.h"
#include "math/dense_wide.h"

// ---- small systems, and solves with a single vector, which gain nothing from more than plain loops ----

bool tgi_small_lu_factor(int n, tgReal *a, int *piv) {
  bool ok = true;
  for (int k = 0; k < n; k++) {
    int best = k;
    for (int i = k + 1; i < n; i++)
      if (fabs(tgRe(a[i + (size_t)n * k])) > fabs(tgRe(a[best + (size_t)n * k]))) best = i;
    piv[k] = best;
    tgReal pivot = a[best + (size_t)n * k];
    if (tgRe(pivot) == 0 || !tgFinite(pivot)) { ok = false; continue; }
    for (int j = 0; best != k && j < n; j++) {
      tgReal t = a[k + (size_t)n * j];
      a[k + (size_t)n * j] = a[best + (size_t)n * j];
      a[best + (size_t)n * j] = t;
    }
    for (int i = k + 1; i < n; i++) a[i + (size_t)n * k] /= pivot;
    for (int j = k + 1; j < n; j++) {
      tgReal u = a[k + (size_t)n * j];
      for (int i = k + 1; i < n; i++) a[i + (size_t)n * j] -= a[i + (size_t)n * k] * u;
    }
  }
  return ok;
}

static void swap(tgReal *x, int i, int j) {
  tgReal t = x[i];
  x[i] = x[j];
  x[j] = t;
}

// x <- U^-1 x or U^-T x, U the upper triangle of r (leading dimension ld)
static void upper_solve(int n, const tgReal *r, int ld, tgReal *x, bool transposed) {
  if (transposed)
    for (int i = 0; i < n; i++) {
      for (int k = 0; k < i; k++) x[i] -= r[k + (size_t)ld * i] * x[k];
      x[i] /= r[i + (size_t)ld * i];
    }
  else
    for (int k = n - 1; k >= 0; k--) {   // by columns, as they lie
      x[k] /= r[k + (size_t)ld * k];
      for (int i = 0; i < k; i++) x[i] -= r[i + (size_t)ld * k] * x[k];
    }
}

void tgi_lu_solve(int n, const tgReal *lu, const int *piv, tgReal *x, bool transposed) {
  if (!transposed) {
    for (int i = 0; i < n; i++) swap(x, i, piv[i]);
    for (int k = 0; k < n; k++)
      for (int i = k + 1; i < n; i++) x[i] -= lu[i + (size_t)n * k] * x[k];
    upper_solve(n, lu, n, x, false);
  } else {
    upper_solve(n, lu, n, x, true);
    for (int k = n - 1; k >= 0; k--)
      for (int i = k + 1; i < n; i++) x[k] -= lu[i + (size_t)n * k] * x[i];
    for (int i = n - 1; i >= 0; i--) swap(x, i, piv[i]);
  }
}

// row i of X less the sum of a[k] times row k, from <= k < to
static void subtract_rows(int from, int to, const tgReal *a, int ld, int i, tgReal *X, tgReal *w, int *at) {
  for (int k = from; k < to; k++) {
    w[k - from] = -a[k];
    at[k - from] = ld * k;
  }
  tgi_combine(to - from, w, at, X, ld, X + (size_t)ld * i);
}

void tgi_lu_solve_rows(int n, const tgReal *lu, const int *piv, int ld, tgReal *X, tgReal *w, int *at) {
  for (int i = 0; i < n; i++) {
    const tgReal *a = lu + (size_t)n * i;
    subtract_rows(0, i, a, ld, i, X, w, at);
    for (int c = 0; c < ld; c++) X[(size_t)ld * i + c] /= a[i];
  }
  for (int i = n - 1; i >= 0; i--) subtract_rows(i + 1, n, lu + (size_t)n * i, ld, i, X, w, at);
  for (int i = n - 1; i >= 0; i--)
    for (int c = 0; c < ld && piv[i] != i; c++) swap(X + c, ld * i, ld * piv[i]);
}

static void reflect_apply(int m, const tgReal *u, tgReal tau, tgReal *x) {
  tgReal s = x[0];
  for (int i = 1; i < m; i++) s += u[i] * x[i];
  s *= tau;
  x[0] -= s;
  for (int i = 1; i < m; i++) x[i] -= s * u[i];
}

// x <- Q^T x (forward) or Q x of the first k reflectors
static void apply_q(int n, int k, const tgReal *qr, const tgReal *tau, tgReal *x, bool transposed) {
  for (int c = 0; c < k; c++) {
    int j = transposed ? c : k - 1 - c;
    reflect_apply(n - j, qr + j + (size_t)n * j, tau[j], x + j);
  }
}

// W^T into d->w, n x rank: the first rank rows of the triangular factor, transposed
static void transpose_top(tgiCod *d) {
  int n = d->n;
  for (int r = 0; r < d->rank; r++)
    for (int j = 0; j < n; j++) d->w[j + (size_t)n * r] = j < r ? 0 : d->qr[r + (size_t)n * j];
}

// Pi and Pi^T through the head of the workspace
static void permute(const tgiCod *d, tgReal *x, bool transposed) {
  for (int i = 0; i < d->n; i++) d->work[i] = x[i];
  for (int i = 0; i < d->n; i++) {
    if (transposed) x[i] = d->work[d->piv[i]];
    else x[d->piv[i]] = d->work[i];
  }
}

// A^+ = Pi Q2_r R2^{-T} Q1_r^T,  A^{+T} = Q1_r R2^{-1} Q2_r^T Pi^T
void tgi_cod_solve(const tgiCod *d, tgReal *x, bool transposed) {
  int n = d->n, r = d->rank;
  if (!transposed) {
    apply_q(n, r, d->qr, d->tau, x, true);
    upper_solve(r, d->w, n, x, true);
    for (int i = r; i < n; i++) x[i] = 0;
    apply_q(n, r, d->w, d->wtau, x, false);
    permute(d, x, false);
  } else {
    permute(d, x, true);
    apply_q(n, r, d->w, d->wtau, x, true);
    upper_solve(r, d->w, n, x, false);
    for (int i = r; i < n; i++) x[i] = 0;
    apply_q(n, r, d->qr, d->tau, x, false);
  }
}

// I - A^+ A = Pi (1 - Q2_r Q2_r^T) Pi^T: keep the last n - r coordinates in the basis Q2
void tgi_cod_project(const tgiCod *d, tgReal *x) {
  permute(d, x, true);
  apply_q(d->n, d->rank, d->w, d->wtau, x, true);
  for (int i = 0; i < d->rank; i++) x[i] = 0;
  apply_q(d->n, d->rank, d->w, d->wtau, x, false);
  permute(d, x, false);
}

static double sum_abs(int n, const tgReal *x) {
  double s = 0;
  for (int i = 0; i < n; i++) s += fabs(tgRe(x[i]));
  return s;
}

// Hager: maximise |A^-1 x|_1 over |x|_1 = 1 by walking to the vertex that the gradient A^-T sign(A^-1 x) points at.
// Contact sets are symmetric, and their null vectors then often orthogonal to (1, ..., 1): the start is uneven,
// Higham's alternating vector is tried too, and |A^-1| >= 1/|u_nn| bounds all (the last row of A^-1 is that of L^-1 P
// over u_nn).
double tgi_lu_rcond(int n, const tgReal *lu, const int *piv, double norm, tgReal *work) {
  tgReal *x = work, *g = work + n;
  if (n == 0 || !(norm > 0)) return 0;
  double best = 0, last_pivot = fabs(tgRe(lu[(size_t)n * n - 1])), total = 0;
  int last = -1;
  for (int i = 0; i < n; i++) {
    double golden = 0.6180339887498949 * (i + 1);
    x[i] = 0.5 + (golden - floor(golden));
    total += tgRe(x[i]);
  }
  for (int i = 0; i < n; i++) x[i] /= total;
  for (int round = 0; round < 5; round++) {
    tgi_lu_solve(n, lu, piv, x, false);
    double size = sum_abs(n, x);
    if (!isfinite(size)) return 0;
    if (!(size > best)) break;
    best = size;
    for (int i = 0; i < n; i++) g[i] = tgRe(x[i]) >= 0 ? 1 : -1;
    tgi_lu_solve(n, lu, piv, g, true);
    int at = 0;
    for (int i = 1; i < n; i++)
      if (fabs(tgRe(g[i])) > fabs(tgRe(g[at]))) at = i;
    if (at == last) break;
    last = at;
    for (int i = 0; i < n; i++) x[i] = i == at;
  }
  for (int i = 0; i < n; i++) x[i] = (i % 2 == 0 ? 1 : -1) * (1 + (n > 1 ? (double)i / (n - 1) : 0));
  tgi_lu_solve(n, lu, piv, x, false);
  best = fmax(best, 2 * sum_abs(n, x) / (3 * n));
  if (!(last_pivot > 0) || !isfinite(best)) return 0;
  return 1 / (fmax(best, 1 / last_pivot) * norm);
}

// start + |a| . y
static double add_sizes(double start, int n, const tgReal *a, const tgReal *y) {
  for (int i = 0; i < n; i++) start += fabs(tgRe(a[i])) * tgRe(y[i]);
  return start;
}

// |A^-1|_1 is at most |U^-1|_1 |L^-1|_1, and the inverse of a triangle with all signs against its diagonal is the largest: of that
// column sums are one substitution each.   [GolubVanLoan 3.5]
static double inverse_at_most(int n, const tgReal *lu, tgReal *y) {
  double lower = 0, upper = 0;
  for (int j = n - 1; j >= 0; j--) {
    y[j] = add_sizes(1, n - 1 - j, lu + (size_t)n * j + j + 1, y + j + 1);
    if (!isfinite(tgRe(y[j]))) return INFINITY;
    lower = fmax(lower, tgRe(y[j]));
  }
  for (int j = 0; j < n; j++) {
    y[j] = add_sizes(1, j, lu + (size_t)n * j, y) / fabs(tgRe(lu[(size_t)n * j + j]));
    if (!isfinite(tgRe(y[j]))) return INFINITY;
    upper = fmax(upper, tgRe(y[j]));
  }
  return lower * upper;
}

bool tgi_lu_rcond_above(int n, const tgReal *lu, const int *piv, double norm, double least, tgReal *work) {
  static const double rounded = 2;   // the estimate is at most the norm of the inverse, but for rounding
  if (n > 0 && norm > 0 && rounded * least * norm * inverse_at_most(n, lu, work) < 1) return true;
  return tgi_lu_rcond(n, lu, piv, norm, work) > least;
}

// ---- what gains from vectors ----

bool tgi_lu_factor(int n, tgReal *a, int *piv) { return tgi_wide_lu_factor(n, a, piv); }

void tgi_cod_factor(tgiCod *d, double cut) {
  d->rank = tgi_wide_qr_pivoted(d->n, d->qr, d->tau, d->piv, cut, d->work);
  transpose_top(d);
  tgi_wide_qr(d->n, d->rank, d->w, d->wtau);
}

// ---- low rank ----

// x (n), column j of l before it is scaled, less what the columns before have of it; p: its pivot
static void subtract_columns(int n, int j, int p, const tgReal *l, tgReal *x, tgReal *w, int *at) {
  int whole = n - n % TGI_LANES;
  for (int c = 0; c < j; c++) {
    w[c] = -l[p + (size_t)n * c];
    at[c] = n * c;
  }
  tgi_combine(j, w, at, l, whole, x);
  for (int i = whole; i < n; i++)
    for (int c = 0; c < j; c++) x[i] += w[c] * l[i + (size_t)n * c];
}

int tgi_semidefinite_factor(int n, const tgReal *A, int nk, const int *k, double cut, tgReal *l, int *piv, tgReal *work, int *iwork) {
  tgReal *left = work + nk;   // of the diagonal
  double first = 0;
  for (int a = 0; a < nk; a++) {
    left[a] = tgRe(A[(size_t)(n + 1) * k[a]]);
    first = fmax(first, tgRe(left[a]));
  }
  for (int j = 0; j < nk; j++) {
    int p = 0;
    for (int a = 1; a < nk; a++)
      if (tgRe(left[a]) > tgRe(left[p])) p = a;
    if (!(tgRe(left[p]) > cut * first)) return j;
    const tgReal *row = A + (size_t)n * k[p];   // A is symmetric: its rows are its columns
    tgReal *x = l + (size_t)nk * j;
    for (int a = 0; a < nk; a++) x[a] = row[k[a]];
    subtract_columns(nk, j, p, l, x, work, iwork);
    if (!(tgRe(x[p]) > cut * first)) return j;
    tgReal scale = 1 / tgSqrt(x[p]);
    for (int a = 0; a < nk; a++) x[a] *= scale;
    for (int c = 0; c < j; c++) x[piv[c]] = 0;
    for (int a = 0; a < nk; a++) left[a] -= tgRe(x[a]) * tgRe(x[a]);
    left[p] = -INFINITY;
    piv[j] = p;
  }
  return nk;
}

void tgi_low_rank_open(const tgiLowRank *d) { tgi_wide_qr(d->n, d->rank, d->l, d->ltau); }

void tgi_low_rank_coordinates(const tgiLowRank *d, tgReal *x) {
  apply_q(d->n, d->rank, d->l, d->ltau, x, true);
  upper_solve(d->rank, d->l, d->n, x, false);
}

bool tgi_low_rank_close(const tgiLowRank *d, double cut) {
  if (d->c == d->l || d->rank == 0) return true;
  tgi_wide_qr(d->n, d->rank, d->c, d->ctau);
  double most = 0, least = INFINITY;
  for (int k = 0; k < d->rank; k++) {
    size_t kk = (size_t)(d->n + 1) * (size_t)k;
    double size = fabs(tgRe(d->l[kk])) * fabs(tgRe(d->c[kk]));
    most = fmax(most, size);
    least = fmin(least, size);
  }
  return least > cut * most;
}

// V T^-T R^-1 U^T, the transpose with the two in each other's place
void tgi_low_rank_solve(const tgiLowRank *d, tgReal *x, bool transposed) {
  int n = d->n, r = d->rank;
  const tgReal *from = transposed ? d->c : d->l, *to = transposed ? d->l : d->c;
  apply_q(n, r, from, transposed ? d->ctau : d->ltau, x, true);
  upper_solve(r, from, n, x, false);
  upper_solve(r, to, n, x, true);
  for (int i = r; i < n; i++) x[i] = 0;
  apply_q(n, r, to, transposed ? d->ltau : d->ctau, x, false);
}

void tgi_low_rank_project(const tgiLowRank *d, tgReal *x) {
  apply_q(d->n, d->rank, d->c, d->ctau, x, true);
  for (int i = 0; i < d->rank; i++) x[i] = 0;
  apply_q(d->n, d->rank, d->c, d->ctau, x, false);
}

void tgi_reflectors_columns(int n, int rank, const tgReal *u, const tgReal *tau, tgReal *U) {
  for (int j = rank - 1; j >= 0; j--) {
    for (int i = 0; i < n; i++) U[i + (size_t)n * j] = i == j;
    for (int c = j; c < rank; c++) reflect_apply(n - j, u + (size_t)(n + 1) * j, tau[j], U + j + (size_t)n * c);
  }
}

// ---- real numbers in both builds ----

// An elimination of its own: in the complex build the others are of complex numbers. It needs no list of exchanges
// and stops at the first pivot that is too small, which candidates of a pivoting method often have.

static bool eliminate(int n, double *a, double *x, double tiny) {
  for (int k = 0; k < n; k++) {
    int best = k;
    for (int i = k + 1; i < n; i++)
      if (fabs(a[i + (size_t)n * k]) > fabs(a[best + (size_t)n * k])) best = i;
    if (!(fabs(a[best + (size_t)n * k]) > tiny)) return false;
    if (best != k) {
      for (int j = k; j < n; j++) {
        double t = a[k + (size_t)n * j];
        a[k + (size_t)n * j] = a[best + (size_t)n * j];
        a[best + (size_t)n * j] = t;
      }
      double t = x[k];
      x[k] = x[best];
      x[best] = t;
    }
    double inverse = 1 / a[k + (size_t)n * k];
    for (int i = k + 1; i < n; i++) a[i + (size_t)n * k] *= inverse;
    for (int j = k + 1; j < n; j++) {
      double u = a[k + (size_t)n * j];
      for (int i = k + 1; i < n; i++) a[i + (size_t)n * j] -= a[i + (size_t)n * k] * u;
    }
    for (int i = k + 1; i < n; i++) x[i] -= a[i + (size_t)n * k] * x[k];
  }
  for (int k = n - 1; k >= 0; k--) {
    x[k] /= a[k + (size_t)n * k];
    for (int i = 0; i < k; i++) x[i] -= a[i + (size_t)n * k] * x[k];
  }
  return true;
}

bool tgi_solve_real(int n, double *a, double *x) {
  double most = 0;
  for (size_t i = 0; i < (size_t)n * n; i++) most = fmax(most, fabs(a[i]));
  return eliminate(n, a, x, 1e-11 * most);
}
