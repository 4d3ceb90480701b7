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
static inline void subtract_way(const tgModel *m, int i, tgReal f, const tgReal *restrict x, tgReal *restrict y) {
  for (int j = i; j >= 0;) {
    int lo = m->dof_run[j], k = lo;
    for (; k + 3 <= j; k += 4)
      for (int c = 0; c < 4; c++) y[k + c] -= f * x[k + c];
    for (; k <= j; k++) y[k] -= f * x[k];
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
    tgReal r = 1 / D;
    for (int i = parent[k]; i >= 0; i = parent[i]) {
      tgReal f = Lk[i] * r;
      subtract_way(m, i, f, Lk, L + i * nv);
      Lk[i] = f;
    }
  }
  return true;
}

void tgi_factor_solve(const tgModel *m, const tgReal *L, tgReal *x) { tgi_factor_solve_range(m, L, 0, m->nv, x); }

void tgi_factor_solve_range(const tgModel *m, const tgReal *L, int from, int to, tgReal *x) {
  int nv = m->nv;
  for (int i = to - 1; i >= from; i--)  // x <- L'^-1 x
    if (m->dof_parent[i] >= 0) subtract_way(m, m->dof_parent[i], x[i], L + i * nv, x);
  for (int i = from; i < to; i++) {  // x <- L^-1 D^-1 x
    x[i] /= L[i * nv + i];
    for (int j = m->dof_parent[i]; j >= 0; j = m->dof_parent[j]) x[i] -= L[i * nv + j] * x[j];
  }
}

enum { WIDE = 8 };

#define INLINE static inline __attribute__((always_inline))

// rows first .. nv-1 of eight neighbouring columns: x <- L^-1 D^-1 x, rows above being done
INLINE void forward_block(const tgModel *m, const tgReal *L, int first, int n, tgReal *X) {
  int nv = m->nv;
  for (int i = first; i < nv; i++) {
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

// rows last .. first: x <- L'^-1 x, as far as it reaches rows from first on
INLINE void backward_block(const tgModel *m, const tgReal *L, int first, int last, int n, tgReal *X) {
  int nv = m->nv;
  for (int i = last; i >= first; i--) {
    tgReal x[WIDE];
    for (int c = 0; c < WIDE; c++) x[c] = X[i * n + c];
    for (int j = m->dof_parent[i]; j >= first; j = m->dof_parent[m->dof_run[j]])
      for (int k = m->dof_run[j] > first ? m->dof_run[j] : first; k <= j; k++) {
        tgReal f = L[i * nv + k], *y = X + k * n;
        for (int c = 0; c < WIDE; c++) y[c] -= f * x[c];
      }
  }
}

// eight neighbouring columns of X (row stride n)
INLINE void solve_block(const tgModel *m, const tgReal *L, int n, tgReal *X) {
  backward_block(m, L, 0, m->nv - 1, n, X);
  forward_block(m, L, 0, n, X);
}

// columns at .. at + 7 of the inverse; rows above are known from its symmetry
INLINE void inverse_block(const tgModel *m, const tgReal *L, int at, tgReal *X) {
  int nv = m->nv;
  for (int k = 0; k < at; k++)
    for (int c = 0; c < WIDE; c++) X[k * nv + at + c] = X[(at + c) * nv + k];
  for (int i = at; i < nv; i++)
    for (int c = 0; c < WIDE; c++) X[i * nv + at + c] = i == at + c;
  backward_block(m, L, at, at + WIDE - 1, nv, X + at);
  forward_block(m, L, at, nv, X + at);
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
static void inverse_blocks(const tgModel *m, const tgReal *L, int blocks, tgReal *X) {
  for (int b = 0; b < blocks; b++) inverse_block(m, L, WIDE * b, X);
}

#if defined(__x86_64__) && defined(__GNUC__) && !defined(TG_COMPLEX)
#define WIDER(function, call)                                           \
  if (__builtin_cpu_supports("avx2")) function##_avx2 call; else function call
__attribute__((target("avx2"))) static void solve_blocks_avx2(const tgModel *m, const tgReal *L, int n, int blocks, tgReal *X) {
  for (int b = 0; b < blocks; b++) solve_block(m, L, n, X + WIDE * b);
}
__attribute__((target("avx2"))) static void inverse_blocks_avx2(const tgModel *m, const tgReal *L, int blocks, tgReal *X) {
  for (int b = 0; b < blocks; b++) inverse_block(m, L, WIDE * b, X);
}
#else
#define WIDER(function, call) function call
#endif

void tgi_factor_solve_rows(const tgModel *m, const tgReal *L, int n, tgReal *X) {
  int blocks = n / WIDE;
  WIDER(solve_blocks, (m, L, n, blocks, X));
  for (int c = WIDE * blocks; c < n; c++) solve_column(m, L, n, X + c);
}

void tgi_factor_inverse(const tgModel *m, const tgReal *L, tgReal *X) {
  int nv = m->nv, blocks = nv / WIDE;
  WIDER(inverse_blocks, (m, L, blocks, X));
  for (int c = WIDE * blocks; c < nv; c++) {
    for (int i = 0; i < nv; i++) X[i * nv + c] = i == c;
    solve_column(m, L, nv, X + c);
  }
}
