// factor.c: factorisation A = L' D L of a matrix with the sparsity of the mass matrix, in tree order. See dynamics.h.
//
// Based on: [RBDA 6.5]. A_ij is not zero only when one of i, j is on the other's way to the root; eliminating from
// the leaves fills nothing in, so L has the same pattern. The way is that of elimination (dof_elim): the kinematic one,
// but where an actuated tendon couples branches, which then lie on one way. Only entries (i, j on the way of i) of the
// arrays, stored by trees (model/blocks.h), are read or written. The way is walked by runs of neighbouring dofs
// (dof_elimrun), so that the inner loops are over contiguous numbers. Solves with many columns take sixteen, eight or
// four neighbouring ones at a time.
#include "dyn/dynamics.h"

// y[lo..hi] -= f x[lo..hi] along the way from dof i to the root
TGI_INLINE void subtract_way(const tgModel *m, int i, tgReal f, const tgReal *restrict x, tgReal *restrict y) {
  for (int j = i; j >= 0;) {
    int lo = m->dof_elimrun[j], k = lo;
    for (; k + TGI_LANES - 1 <= j; k += TGI_LANES) {
      tgVec v;
      tgi_vec_load(&v, y + k);
      tgi_vec_sub(&v, f, x + k);
      tgi_vec_store(&v, y + k);
    }
    for (; k <= j; k++) y[k] -= f * x[k];
    j = m->dof_elim[lo];
  }
}

// y -= f_0 x_0 + .. + f_3 x_3 along the same way, x_a rows of L from x upwards
TGI_INLINE void subtract_way_4(const tgModel *m, int i, const tgReal f[4], const tgReal *restrict x, int stride, tgReal *restrict y) {
  for (int j = i; j >= 0;) {
    int lo = m->dof_elimrun[j], k = lo;
    for (; k + TGI_LANES - 1 <= j; k += TGI_LANES) {
      tgVec v;
      tgi_vec_load(&v, y + k);
      for (int a = 0; a < 4; a++) tgi_vec_sub(&v, f[a], x - a * stride + k);
      tgi_vec_store(&v, y + k);
    }
    for (; k <= j; k++)
      for (int a = 0; a < 4; a++) y[k] -= f[a] * x[k - a * stride];
    j = m->dof_elim[lo];
  }
}

// takes row k out of the rows from parent[k] to `stop` (a dof on the way, or -1 for all), on all their entries
static void eliminate(const tgModel *m, tgReal *L, int k, int stop, tgReal r) {
  tgReal *Lk = L + m->dof_block[k];
  for (int i = m->dof_elim[k]; i > stop; i = m->dof_elim[i]) {
    tgReal f = Lk[i] * r;
    subtract_way(m, i, f, Lk, L + m->dof_block[i]);
    Lk[i] = f;
  }
}

// takes rows k .. k - 3 of a run out of all above them, which all four share
static void eliminate_4(const tgModel *m, tgReal *L, int k, const tgReal r[4]) {
  int stride = tgi_block_stride(m, k);
  tgReal *Lk = L + m->dof_block[k];
  for (int i = m->dof_elim[k - 3]; i >= 0; i = m->dof_elim[i]) {
    tgReal f[4];
    for (int a = 0; a < 4; a++) f[a] = Lk[i - a * stride] * r[a];
    subtract_way_4(m, i, f, Lk, stride, L + m->dof_block[i]);
    for (int a = 0; a < 4; a++) Lk[i - a * stride] = f[a];
  }
}

bool TGI_ISA(tgi_factor)(const tgModel *m, const tgReal *A, tgReal *L) {
  int nv = m->nv;
  for (int i = 0; i < nv; i++)
    for (int j = i; j >= 0; j = m->dof_elim[m->dof_elimrun[j]])
      for (int k = m->dof_elimrun[j]; k <= j; k++) L[m->dof_block[i] + k] = A[m->dof_block[i] + k];
  for (int k = nv - 1; k >= 0;) {
    bool four = k - m->dof_elimrun[k] >= 3;
    tgReal r[4];
    for (int a = 0; a < (four ? 4 : 1); a++) {
      tgReal D = *tgi_block_diagonal(m, L, k - a);
      if (!(tgRe(D) > 0) || !tgFinite(D)) return false;
      r[a] = 1 / D;
      eliminate(m, L, k - a, four ? k - 4 : -1, r[a]);
    }
    if (four) eliminate_4(m, L, k, r);
    k -= four ? 4 : 1;
  }
  return true;
}

// x <- L^-1 D^-1 x; several sums, so that one need not wait for the other
static void forward(const tgModel *m, const tgReal *L, int from, int to, tgReal *x) {
  for (int i = from; i < to; i++) {
    const tgReal *Li = tgi_block_row(m, L, i);
    tgReal sum[TGI_LANES] = {0, 0, 0, 0}, rest = x[i] / Li[i];
    for (int j = m->dof_elim[i]; j >= 0;) {
      int lo = m->dof_elimrun[j], k = lo;
      for (; k + TGI_LANES - 1 <= j; k += TGI_LANES)
        for (int c = 0; c < TGI_LANES; c++) sum[c] += Li[k + c] * x[k + c];
      for (; k <= j; k++) rest -= Li[k] * x[k];
      j = m->dof_elim[lo];
    }
    x[i] = rest - ((sum[0] + sum[1]) + (sum[2] + sum[3]));
  }
}

void TGI_ISA(tgi_factor_solve_range)(const tgModel *m, const tgReal *L, int from, int to, tgReal *x) {
  for (int i = to - 1; i >= from; i--)  // x <- L'^-1 x
    if (m->dof_elim[i] >= 0) subtract_way(m, m->dof_elim[i], x[i], tgi_block_row(m, L, i), x);
  forward(m, L, from, to, x);
}

void TGI_ISA(tgi_factor_solve)(const tgModel *m, const tgReal *L, tgReal *x) { TGI_ISA(tgi_factor_solve_range)(m, L, 0, m->nv, x); }

// W (a multiple of TGI_LANES) neighbouring columns of X, row stride n: rows first .. nv-1 of x <- L^-1 D^-1 x, rows above being done
TGI_INLINE void forward_block(const tgModel *m, const tgReal *L, int first, int n, tgReal *X, const int W) {
  int nv = m->nv;
  for (int i = first; i < nv; i++) {
    tgVec x[4];
    const tgReal *Li = tgi_block_row(m, L, i);
    tgReal d = 1 / Li[i];
    for (int c = 0; c < W / TGI_LANES; c++) {
      tgi_vec_load(&x[c], X + i * n + TGI_LANES * c);
      tgi_vec_mul(&x[c], d);
    }
    for (int j = m->dof_elim[i]; j >= 0; j = m->dof_elim[m->dof_elimrun[j]])
      for (int k = m->dof_elimrun[j]; k <= j; k++)
        for (int c = 0; c < W / TGI_LANES; c++) tgi_vec_sub(&x[c], Li[k], X + k * n + TGI_LANES * c);
    for (int c = 0; c < W / TGI_LANES; c++) tgi_vec_store(&x[c], X + i * n + TGI_LANES * c);
  }
}

// rows last .. first: x <- L'^-1 x, as far as it reaches rows from first on
TGI_INLINE void backward_block(const tgModel *m, const tgReal *L, int first, int last, int n, tgReal *X, const int W) {
  for (int i = last; i >= first; i--) {
    const tgReal *x = X + i * n, *Li = tgi_block_row(m, L, i);
    for (int j = m->dof_elim[i]; j >= first; j = m->dof_elim[m->dof_elimrun[j]])
      for (int k = m->dof_elimrun[j] > first ? m->dof_elimrun[j] : first; k <= j; k++)
        for (int c = 0; c < W / TGI_LANES; c++) {
          tgVec y;
          tgi_vec_load(&y, X + k * n + TGI_LANES * c);
          tgi_vec_sub(&y, Li[k], x + TGI_LANES * c);
          tgi_vec_store(&y, X + k * n + TGI_LANES * c);
        }
  }
}

// one column, the same operations: what does not fill four
static void solve_column(const tgModel *m, const tgReal *L, int n, tgReal *X) {
  int nv = m->nv;
  for (int i = nv - 1; i >= 0; i--)
    for (int j = m->dof_elim[i]; j >= 0; j = m->dof_elim[j]) X[j * n] -= tgi_block_row(m, L, i)[j] * X[i * n];
  for (int i = 0; i < nv; i++) {
    const tgReal *Li = tgi_block_row(m, L, i);
    tgReal x = X[i * n] * (1 / Li[i]);
    for (int j = m->dof_elim[i]; j >= 0; j = m->dof_elim[m->dof_elimrun[j]])
      for (int k = m->dof_elimrun[j]; k <= j; k++) x -= Li[k] * X[k * n];
    X[i * n] = x;
  }
}

TGI_INLINE void solve_block(const tgModel *m, const tgReal *L, int n, tgReal *X, const int W) {
  backward_block(m, L, 0, m->nv - 1, n, X, W);
  forward_block(m, L, 0, n, X, W);
}

void TGI_ISA(tgi_factor_solve_rows)(const tgModel *m, const tgReal *L, int n, tgReal *X) {
  int c = 0;
  for (; c + 16 <= n; c += 16) solve_block(m, L, n, X + c, 16);
  for (; c + 8 <= n; c += 8) solve_block(m, L, n, X + c, 8);
  for (; c + 4 <= n; c += 4) solve_block(m, L, n, X + c, 4);
  for (; c < n; c++) solve_column(m, L, n, X + c);
}

// W neighbouring columns of rows that lie anywhere
TGI_INLINE void solve_block_at(const tgModel *m, const tgReal *L, int count, const int *dof, const int *row, tgReal *X, const int W) {
  for (int a = count - 1; a >= 0; a--) {
    int i = dof[a];
    const tgReal *x = X + row[i], *Li = tgi_block_row(m, L, i);
    for (int j = m->dof_elim[i]; j >= 0; j = m->dof_elim[j])
      for (int c = 0; c < W / TGI_LANES; c++) {
        tgVec y;
        tgi_vec_load(&y, X + row[j] + TGI_LANES * c);
        tgi_vec_sub(&y, Li[j], x + TGI_LANES * c);
        tgi_vec_store(&y, X + row[j] + TGI_LANES * c);
      }
  }
  for (int a = 0; a < count; a++) {
    int i = dof[a];
    tgVec x[4];
    const tgReal *Li = tgi_block_row(m, L, i);
    tgReal d = 1 / Li[i];
    for (int c = 0; c < W / TGI_LANES; c++) {
      tgi_vec_load(&x[c], X + row[i] + TGI_LANES * c);
      tgi_vec_mul(&x[c], d);
    }
    for (int j = m->dof_elim[i]; j >= 0; j = m->dof_elim[j])
      for (int c = 0; c < W / TGI_LANES; c++) tgi_vec_sub(&x[c], Li[j], X + row[j] + TGI_LANES * c);
    for (int c = 0; c < W / TGI_LANES; c++) tgi_vec_store(&x[c], X + row[i] + TGI_LANES * c);
  }
}

void TGI_ISA(tgi_factor_solve_rows_at)(const tgModel *m, const tgReal *L, int count, const int *dof, const int *row, int n, tgReal *X) {
  int c = 0;
  for (; c + 16 <= n; c += 16) solve_block_at(m, L, count, dof, row, X + c, 16);
  for (; c + 8 <= n; c += 8) solve_block_at(m, L, count, dof, row, X + c, 8);
  for (; c + 4 <= n; c += 4) solve_block_at(m, L, count, dof, row, X + c, 4);
}

// columns at .. at + W - 1 of the inverse; rows above are known from its symmetry
TGI_INLINE void inverse_block(const tgModel *m, const tgReal *L, int at, tgReal *X, const int W) {
  int nv = m->nv;
  for (int k = 0; k < at; k++)
    for (int c = 0; c < W; c++) X[k * nv + at + c] = X[(at + c) * nv + k];
  for (int i = at; i < nv; i++)
    for (int c = 0; c < W; c++) X[i * nv + at + c] = i == at + c;
  backward_block(m, L, at, at + W - 1, nv, X + at, W);
  forward_block(m, L, at, nv, X + at, W);
}

void TGI_ISA(tgi_factor_inverse)(const tgModel *m, const tgReal *L, tgReal *X) {
  int nv = m->nv, c = 0;
  for (; c + 8 <= nv; c += 8) inverse_block(m, L, c, X, 8);
  for (; c + 4 <= nv; c += 4) inverse_block(m, L, c, X, 4);
  for (; c < nv; c++) {
    for (int i = 0; i < nv; i++) X[i * nv + c] = i == c;
    solve_column(m, L, nv, X + c);
  }
}
