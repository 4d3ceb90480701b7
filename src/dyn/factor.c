// factor.c: factorisation A = L' D L of a matrix with the sparsity of the mass matrix, in tree order. See dynamics.h.
//
// Based on: [RBDA 6.5]. A_ij is not zero only when one of i, j is on the other's way to the root; eliminating from the leaves
// fills nothing in, so L has the same pattern. Only entries (i, ancestor of i) of the arrays are read or written.
// The way to the root is walked by runs of neighbouring dofs (dof_run), so that the inner loops are over contiguous numbers.
//
// Solves with many columns take eight at a time. They are compiled for wider vectors too and chosen by what the processor has; no
// operation is fused or reordered, so all give the same bits.
#include "dyn/dynamics.h"

// y[lo..hi] -= f x[lo..hi] along the way from dof i to the root
static inline void subtract_way(const tgModel *m, int i, tgReal f, const tgReal *x, tgReal *y) {
  for (int j = i; j >= 0;) {
    int lo = m->dof_run[j];
    for (int k = lo; k <= j; k++) y[k] -= f * x[k];
    j = m->dof_parent[lo];
  }
}

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
      subtract_way(m, i, f, Lk, L + i * nv);
      Lk[i] = f;
    }
  }
  return true;
}

void tgi_factor_solve(const tgModel *m, const tgReal *L, tgReal *x) {
  int nv = m->nv;
  for (int i = nv - 1; i >= 0; i--)  // x <- L'^-1 x
    if (m->dof_parent[i] >= 0) subtract_way(m, m->dof_parent[i], x[i], L + i * nv, x);
  for (int i = 0; i < nv; i++) {  // x <- L^-1 D^-1 x
    x[i] /= L[i * nv + i];
    for (int j = m->dof_parent[i]; j >= 0; j = m->dof_parent[j]) x[i] -= L[i * nv + j] * x[j];
  }
}

enum { WIDE = 8 };

// eight neighbouring columns of X (row stride n)
static inline __attribute__((always_inline)) void solve_block(const tgModel *m, const tgReal *L, int n, tgReal *X) {
  int nv = m->nv;
  for (int i = nv - 1; i >= 0; i--) {
    tgReal x[WIDE];
    for (int c = 0; c < WIDE; c++) x[c] = X[i * n + c];
    for (int j = m->dof_parent[i]; j >= 0; j = m->dof_parent[m->dof_run[j]])
      for (int k = m->dof_run[j]; k <= j; k++) {
        tgReal f = L[i * nv + k], *y = X + k * n;
        for (int c = 0; c < WIDE; c++) y[c] -= f * x[c];
      }
  }
  for (int i = 0; i < nv; i++) {
    tgReal x[WIDE], d = 1 / L[i * nv + i];
    for (int c = 0; c < WIDE; c++) x[c] = X[i * n + c] * d;
    for (int j = m->dof_parent[i]; j >= 0; j = m->dof_parent[m->dof_run[j]])
      for (int k = m->dof_run[j]; k <= j; k++) {
        tgReal f = L[i * nv + k];
        const tgReal *y = X + k * n;
        for (int c = 0; c < WIDE; c++) x[c] -= f * y[c];
      }
    for (int c = 0; c < WIDE; c++) X[i * n + c] = x[c];
  }
}

// what does not fill eight columns: at most seven, the same operations one column at a time
static void solve_column(const tgModel *m, const tgReal *L, int n, tgReal *X) {
  int nv = m->nv;
  for (int i = nv - 1; i >= 0; i--)
    for (int j = m->dof_parent[i]; j >= 0; j = m->dof_parent[m->dof_run[j]])
      for (int k = m->dof_run[j]; k <= j; k++) X[k * n] -= L[i * nv + k] * X[i * n];
  for (int i = 0; i < nv; i++) {
    tgReal x = X[i * n] * (1 / L[i * nv + i]);
    for (int j = m->dof_parent[i]; j >= 0; j = m->dof_parent[m->dof_run[j]])
      for (int k = m->dof_run[j]; k <= j; k++) x -= L[i * nv + k] * X[k * n];
    X[i * n] = x;
  }
}

static void solve_blocks(const tgModel *m, const tgReal *L, int n, int blocks, tgReal *X) {
  for (int b = 0; b < blocks; b++) solve_block(m, L, n, X + WIDE * b);
}

#if defined(__x86_64__) && defined(__GNUC__) && !defined(TG_COMPLEX)
#define TG_HAVE_AVX2 1
__attribute__((target("avx2"))) static void solve_blocks_avx2(const tgModel *m, const tgReal *L, int n, int blocks, tgReal *X) {
  for (int b = 0; b < blocks; b++) solve_block(m, L, n, X + WIDE * b);
}
#endif

void tgi_factor_solve_rows(const tgModel *m, const tgReal *L, int n, tgReal *X) {
  int blocks = n / WIDE;
#ifdef TG_HAVE_AVX2
  if (__builtin_cpu_supports("avx2")) solve_blocks_avx2(m, L, n, blocks, X);
  else solve_blocks(m, L, n, blocks, X);
#else
  solve_blocks(m, L, n, blocks, X);
#endif
  for (int c = WIDE * blocks; c < n; c++) solve_column(m, L, n, X + c);
}
