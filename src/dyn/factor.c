// factor.c: factorisation A = L' D L of a matrix with the sparsity of the mass matrix, in tree order. See dynamics.h.
//
// Based on: [RBDA 6.5]. A_ij is not zero only when one of i, j is on the other's way to the root; eliminating from the leaves
// fills nothing in, so L has the same pattern. Only entries (i, ancestor of i) of the arrays are read or written.
#include "dyn/dynamics.h"

bool tgi_factor(const tgModel *m, const tgReal *A, tgReal *L) {
  int nv = m->nv;
  const int *parent = m->dof_parent;
  for (int i = 0; i < nv; i++)
    for (int j = i; j >= 0; j = parent[j]) L[i * nv + j] = A[i * nv + j];
  for (int k = nv - 1; k >= 0; k--) {
    tgReal *Lk = L + k * nv, D = Lk[k];
    if (!(tgRe(D) > 0) || !tgFinite(D)) return false;
    for (int i = parent[k]; i >= 0; i = parent[i]) {
      tgReal f = Lk[i] / D;
      for (int j = i; j >= 0; j = parent[j]) L[i * nv + j] -= f * Lk[j];
      Lk[i] = f;
    }
  }
  return true;
}

void tgi_factor_solve(const tgModel *m, const tgReal *L, tgReal *x) {
  int nv = m->nv;
  for (int i = nv - 1; i >= 0; i--)  // x <- L'^-1 x
    for (int j = m->dof_parent[i]; j >= 0; j = m->dof_parent[j]) x[j] -= L[i * nv + j] * x[i];
  for (int i = 0; i < nv; i++) {  // x <- L^-1 D^-1 x
    x[i] /= L[i * nv + i];
    for (int j = m->dof_parent[i]; j >= 0; j = m->dof_parent[j]) x[i] -= L[i * nv + j] * x[j];
  }
}

enum { WIDE = 8 };

// columns c to c + WIDE - 1 of X: a fixed width that compilers turn into vector instructions; the order of operations on each column is
// that of tgi_factor_solve but for the reciprocal of D, so the same bits on every machine
static void solve_block(const tgModel *m, const tgReal *L, int n, tgReal *restrict X) {
  int nv = m->nv;
  const int *parent = m->dof_parent;
  for (int i = nv - 1; i >= 0; i--) {
    tgReal x[WIDE];
    for (int c = 0; c < WIDE; c++) x[c] = X[i * n + c];
    for (int j = parent[i]; j >= 0; j = parent[j]) {
      tgReal f = L[i * nv + j], *restrict y = X + j * n;
      for (int c = 0; c < WIDE; c++) y[c] -= f * x[c];
    }
  }
  for (int i = 0; i < nv; i++) {
    tgReal x[WIDE], d = 1 / L[i * nv + i];
    for (int c = 0; c < WIDE; c++) x[c] = X[i * n + c] * d;
    for (int j = parent[i]; j >= 0; j = parent[j]) {
      tgReal f = L[i * nv + j];
      const tgReal *y = X + j * n;
      for (int c = 0; c < WIDE; c++) x[c] -= f * y[c];
    }
    for (int c = 0; c < WIDE; c++) X[i * n + c] = x[c];
  }
}

static void solve_column(const tgModel *m, const tgReal *L, int n, tgReal *X) {
  int nv = m->nv;
  const int *parent = m->dof_parent;
  for (int i = nv - 1; i >= 0; i--)
    for (int j = parent[i]; j >= 0; j = parent[j]) X[j * n] -= L[i * nv + j] * X[i * n];
  for (int i = 0; i < nv; i++) {
    tgReal x = X[i * n] * (1 / L[i * nv + i]);
    for (int j = parent[i]; j >= 0; j = parent[j]) x -= L[i * nv + j] * X[j * n];
    X[i * n] = x;
  }
}

void tgi_factor_solve_rows(const tgModel *m, const tgReal *L, int n, tgReal *X) {
  int c = 0;
  for (; c + WIDE <= n; c += WIDE) solve_block(m, L, n, X + c);
  for (; c < n; c++) solve_column(m, L, n, X + c);
}
