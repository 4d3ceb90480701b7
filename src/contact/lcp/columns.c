// columns.c: see columns.h. Vectors are the columns of a row-major block, so that each operation on rows runs over all of them.
//
// Of a deficient Q = L C' (nk x nk, rank r), L = U R, x = C_1'^-1 R^-1 U' r in the rows of the pivots (C_1: those rows of C), 0 elsewhere,
// solves Q x = r as far as it can be solved, as the least-norm x does.   [GolubVanLoan 5.5]
#include "contact/lcp/columns.h"

#include "contact/lcp/scratch.h"
#include "math/combine.h"

// Pivots of C_1 at least, relative to the largest: digits that the solution loses.
#define BASIS_CUT 1e-6
// Velocities of two solutions, relative to the largest.
#define ALIKE 1e-12

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

// M = C_1', r x r, C_1 the rows of C = V T at the pivots. V: work, nk x r
static void basis_matrix(const tgiLcp *s, tgReal *V, tgReal *M) {
  const tgiLowRank *d = &s->low;
  int nk = s->nk, r = s->rank;
  tgi_reflectors_columns(nk, r, d->c, d->ctau, V);
  for (int j = 0; j < r; j++) {
    tgReal *m = M + (size_t)r * j, *v = V + s->lu_piv[j];
    for (int c = 0; c < r; c++) {
      m[c] = 0;
      for (int k = 0; k <= c; k++) m[c] += v[(size_t)nk * k] * d->c[k + (size_t)nk * c];
    }
  }
}

// rows of x (r x width) <- R^-1 x
static void coordinates_solve(const tgiLcp *s, const int *place, int width, tgReal *x, tgReal *w) {
  const tgiLowRank *d = &s->low;
  int nk = s->nk, r = s->rank;
  for (int i = r - 1; i >= 0; i--) {
    tgReal *to = x + place[i], by = 1 / d->l[i + (size_t)nk * i];
    for (int k = i + 1; k < r; k++) w[k] = -d->l[i + (size_t)nk * k];
    tgi_combine(r - 1 - i, w + i + 1, place + i + 1, x, width, to);
    for (int c = 0; c < width; c++) to[c] *= by;
  }
}

// Of the solution with zeros outside the pivots' rows: its factors and work arrays.
typedef struct Basis {
  int *place, *piv, *row;   // of numbers of the rows of K in X; exchanges of M; of the rows of x
  tgReal *U, *M, *x, *w;    // nk x r, r x r, r x n, nk
  tgReal *probe;            // nk x TGI_LCP_PROBE
} Basis;

static Basis open_basis(const tgiLcp *s, int n, tgReal *work, int *iwork) {
  size_t nk = (size_t)s->nk, r = (size_t)s->rank;
  Basis b = {.place = iwork, .piv = iwork + nk, .row = iwork + 2 * nk, .U = work};
  b.M = b.U + nk * r;
  b.x = b.M + r * r;
  b.w = b.x + r * (size_t)n;
  b.probe = b.w + nk;
  return b;
}

// False: C_1 determines no solution well.
static bool factor_basis(const tgiLcp *s, const Basis *b) {
  int nk = s->nk, r = s->rank;
  double least = INFINITY, most = 0;
  basis_matrix(s, b->U, b->M);
  if (!tgi_lu_factor(r, b->M, b->piv)) return false;
  for (int a = 0; a < r; a++) {
    double size = fabs(tgRe(b->M[(size_t)(r + 1) * (size_t)a]));
    least = fmin(least, size);
    most = fmax(most, size);
  }
  if (s->low.c != s->low.l) tgi_reflectors_columns(nk, r, s->low.l, s->low.ltau, b->U);   // else basis_matrix has left them there
  return least > BASIS_CUT * most;
}

// rows b->place of X (nk x n) <- the solution. R and C_1 one after the other: each has the square root of the condition of their product.
static void solve_basis(const tgiLcp *s, const Basis *b, int n, tgReal *X) {
  int nk = s->nk, r = s->rank;
  for (int c = 0; c < r * n; c++) b->x[c] = 0;
  for (int a = 0; a < r; a++) {
    b->row[a] = a * n;
    tgi_combine(nk, b->U + (size_t)nk * a, b->place, X, n, b->x + b->row[a]);
  }
  for (int i = 0; i < nk; i++)
    for (int c = 0; c < n; c++) X[b->place[i] + c] = 0;
  coordinates_solve(s, b->row, n, b->x, b->w);
  for (int a = 0; a < r; a++) swap_rows(b->x, b->row[a], b->row[b->piv[a]], n);
  triangular_solves(r, b->M, r, b->row, n, b->x, b->w);
  for (int a = 0; a < r; a++)
    for (int c = 0; c < n; c++) X[b->place[s->lu_piv[a]] + c] = b->x[b->row[a] + c];
}

// Does the solution move what the least-norm one moves? What balances within the rank's cut alone has a small action of its own, and the
// step is that of least norm. A sum of the columns by chance stands for all.
static bool moves_alike(const tgiLcp *s, const Basis *b, int n, const int *at, const tgReal *X, const tgiLcpMotion *motion) {
  tgiLcpScratch *c = s->scratch;
  int nk = s->nk;
  for (int i = 0; i < nk; i++) {
    b->place[i] = i * TGI_LCP_PROBE;
    for (int k = 0; k < TGI_LCP_PROBE; k++) b->probe[i * TGI_LCP_PROBE + k] = 0;
    for (int k = 0; k < n; k++) b->probe[i * TGI_LCP_PROBE] += (tgi_lcp_chance(0, k) - 1) * X[at[s->k[i]] + k];
    c->x[i] = b->probe[i * TGI_LCP_PROBE];
  }
  tgi_lcp_apply(s, c->x, c->x);
  tgi_lcp_expand(s, c->x, c->ftmp);
  solve_basis(s, b, TGI_LCP_PROBE, b->probe);
  for (int i = 0; i < nk; i++) c->x[i] = b->probe[i * TGI_LCP_PROBE];
  tgi_lcp_expand(s, c->x, c->wtmp);
  return motion->apart(motion->ctx, c->ftmp, c->wtmp) <= ALIKE;
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

int tgi_lcp_derivative_columns(const tgiLcp *s, const tgiLcpMotion *motion, int n, const int *at, tgReal *X, int *live, tgReal *work,
                               int *iwork) {
  bool basis = motion != NULL && s->deficient && s->problem->sparse == NULL && s->factored_low && tgi_lcp_null_action(s) < TGI_LCP_NULL;
  if (s->nk > 0) {
    Basis b = open_basis(s, n, work, iwork);
    basis = basis && factor_basis(s, &b) && moves_alike(s, &b, n, at, X, motion);
    for (int i = 0; basis && i < s->nk; i++) b.place[i] = at[s->k[i]];
    if (basis) solve_basis(s, &b, n, X);
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
