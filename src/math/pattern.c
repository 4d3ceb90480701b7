// pattern.c: see pattern.h. Elimination on bits: a block that goes couples all blocks that it was coupled with.
#include "math/pattern.h"

#include <assert.h>
#include <string.h>

#include "base/memory.h"
#include "math/ldl.h"
#include "math/pattern_wide.h"

enum { WORD = 64 };
#define ROUND 2.2e-16

static size_t words(const tgiPattern *p) { return ((size_t)p->nblock + WORD - 1) / WORD; }
static size_t square(const tgiPattern *p) { return (size_t)p->n * (size_t)p->n; }
// Panels of so many numbers take longer than the square, as measured: from 1/4 of it on, sooner where blocks are small and loops short.
static bool better_dense(const tgiPattern *p, size_t numbers) {
  if (p->panels) return false;
  double short_loops = (double)p->nblock / p->n;
  return 4 * (1 + 3 * short_loops * short_loops) * (double)numbers > (double)square(p);
}

static int unknowns(const tgiPattern *p, int block) { return p->first[block + 1] - p->first[block]; }

void tgi_pattern_place(tgiPattern *p, int n, int nblock, int least, size_t most, tgLayout *l) {
  // each entry of `next` stands for a block of the matrix
  size_t N = (size_t)n, P = (size_t)nblock, pairs = P > 0 ? P * (P - 1) / 2 : 0, fit = P > 0 ? most / ((size_t)least * (size_t)least) : 0;
  size_t room = pairs < fit ? pairs : fit;
  *p = (tgiPattern){.n = n, .nblock = nblock, .most = most, .room = room, .dense = true, .size = tgi_size_mul(N, N)};
  p->block = tgi_place(l, N, sizeof *p->block);
  p->local = tgi_place(l, N, sizeof *p->local);
  p->first = tgi_place(l, P + 1, sizeof *p->first);
  p->member = tgi_place(l, N, sizeof *p->member);
  p->order = tgi_place(l, P, sizeof *p->order);
  p->place = tgi_place(l, P, sizeof *p->place);
  p->panel = tgi_place(l, P, sizeof *p->panel);
  p->width = tgi_place(l, P, sizeof *p->width);
  p->begin = tgi_place(l, P + 1, sizeof *p->begin);
  p->next = tgi_place(l, room, sizeof *p->next);
  p->column = tgi_place(l, room, sizeof *p->column);
  p->coupled = tgi_place(l, tgi_size_mul(P, words(p)), sizeof *p->coupled);
  p->least = tgi_place(l, 2 * P, sizeof *p->least);
  p->run = tgi_place(l, P, sizeof *p->run);
  p->lost = tgi_place(l, N, sizeof *p->lost);
  p->swapped = tgi_place(l, 2 * N, sizeof *p->swapped);
  p->line = tgi_place(l, 4 * N, sizeof *p->line);
}

tgiPattern tgi_pattern_dense(int n) { return (tgiPattern){.n = n, .nblock = 1, .dense = true, .size = (size_t)n * (size_t)n}; }

void tgi_pattern_blocks(tgiPattern *p, const int *of) {
  memset(p->first, 0, ((size_t)p->nblock + 1) * sizeof *p->first);
  for (int i = 0; i < p->n; i++) {
    p->block[i] = of[i];
    p->local[i] = p->first[of[i] + 1]++;
  }
  for (int b = 0; b < p->nblock; b++) p->first[b + 1] += p->first[b];
  for (int i = 0; i < p->n; i++) p->member[p->first[of[i]] + p->local[i]] = i;
}

// ---- order ----

void tgi_pattern_open(tgiPattern *p) { memset(p->coupled, 0, (size_t)p->nblock * words(p) * sizeof *p->coupled); }

static uint64_t *word(tgiPattern *p, int a, int b) { return p->coupled + (size_t)a * words(p) + (size_t)(b / WORD); }
static void set_bit(tgiPattern *p, int a, int b) { *word(p, a, b) |= (uint64_t)1 << (b % WORD); }
static void clear_bit(tgiPattern *p, int a, int b) { *word(p, a, b) &= ~((uint64_t)1 << (b % WORD)); }

void tgi_pattern_couple(tgiPattern *p, int a, int b) {
  if (a == b) return;
  set_bit(p, a, b);
  set_bit(p, b, a);
}

// the next block after `block` (first: -1) that is coupled with a; -1: none
static int next_coupled(const tgiPattern *p, int a, int block) {
  const uint64_t *row = p->coupled + (size_t)a * words(p);
  size_t at = (size_t)(block + 1) / WORD;
  if (at >= words(p)) return -1;
  uint64_t left = row[at] & ~(uint64_t)0 << ((block + 1) % WORD);
  while (left == 0)
    if (++at == words(p)) return -1;
    else left = row[at];
  return (int)at * WORD + __builtin_ctzll(left);
}

static int degree(const tgiPattern *p, int block) {
  const uint64_t *row = p->coupled + (size_t)block * words(p);
  int count = 0;
  for (size_t i = 0; i < words(p); i++) count += __builtin_popcountll(row[i]);
  return count;
}

// the one of two blocks that goes first; -1: none
static int better(const tgiPattern *p, int a, int b) {
  if (a < 0 || b < 0) return a < 0 ? b : a;
  return p->width[a] != p->width[b] ? (p->width[a] < p->width[b] ? a : b) : a < b ? a : b;
}

// the degree of a block has changed, or the block is gone
static void renew(tgiPattern *p, int block, bool gone) {
  int k = p->nblock + block;
  p->least[k] = gone ? -1 : block;
  for (k /= 2; k > 0; k /= 2) p->least[k] = better(p, p->least[2 * k], p->least[2 * k + 1]);
}

// numbers of the panels without any fill-in
static size_t numbers(const tgiPattern *p) {
  size_t own = 0, shared = 0;
  for (int a = 0; a < p->nblock; a++) {
    size_t w = (size_t)unknowns(p, a);
    own += w * w;
    for (int b = next_coupled(p, a, -1); b >= 0; b = next_coupled(p, a, b)) shared += w * (size_t)unknowns(p, b);
  }
  return own + shared / 2;
}

static void start_order(tgiPattern *p) {
  p->nnext = p->size = 0;
  for (int b = 0; b < p->nblock; b++) {
    p->width[b] = degree(p, b);
    p->least[p->nblock + b] = b;
  }
  for (int k = p->nblock - 1; k > 0; k--) p->least[k] = better(p, p->least[2 * k], p->least[2 * k + 1]);
}

// takes a block out: what it is coupled with is listed, as far as there is room, and coupled with each other
static void eliminate(tgiPattern *p, int a, int at) {
  const uint64_t *row = p->coupled + (size_t)a * words(p);
  int m = unknowns(p, a);
  p->order[at] = a;
  p->place[a] = at;
  p->begin[at] = p->nnext;
  renew(p, a, true);
  for (int b = next_coupled(p, a, -1); b >= 0; b = next_coupled(p, a, b)) {
    uint64_t *to = p->coupled + (size_t)b * words(p);
    if (p->nnext < p->room) p->next[p->nnext] = b;
    p->nnext++;
    m += unknowns(p, b);
    for (size_t i = 0; i < words(p); i++) to[i] |= row[i];
    clear_bit(p, b, b);
    clear_bit(p, b, a);
    p->width[b] = degree(p, b);
    renew(p, b, false);
  }
  p->width[a] = m;
  p->panel[a] = p->size;
  p->size += (size_t)unknowns(p, a) * (size_t)m;
}

// next of the block at a place by their own places, and the columns where they begin
static void sort_next(tgiPattern *p, int at) {
  int *next = p->next, m = unknowns(p, p->order[at]);
  for (size_t i = p->begin[at] + 1; i < p->begin[at + 1]; i++)
    for (size_t k = i; k > p->begin[at] && p->place[next[k]] < p->place[next[k - 1]]; k--) {
      int t = next[k];
      next[k] = next[k - 1];
      next[k - 1] = t;
    }
  for (size_t k = p->begin[at]; k < p->begin[at + 1]; k++) {
    p->column[k] = m;
    m += unknowns(p, next[k]);
  }
}

bool tgi_pattern_close(tgiPattern *p) {
  p->dense = !p->panels && (p->nblock < 2 || better_dense(p, numbers(p)));
  if (!p->dense) start_order(p);
  for (int k = 0; k < p->nblock && !p->dense; k++) {
    eliminate(p, p->least[1], k);
    p->dense = better_dense(p, p->size);
  }
  if (p->dense) p->size = square(p);
  if (p->dense || p->size > p->most) return p->size <= p->most;
  p->begin[p->nblock] = p->nnext;
  for (int k = 0; k < p->nblock; k++) sort_next(p, k);
  return true;
}

// ---- numbers ----

// The entries of `next` of a block.
static size_t first_next(const tgiPattern *p, int a) { return p->begin[p->place[a]]; }
static size_t end_next(const tgiPattern *p, int a) { return p->begin[p->place[a] + 1]; }

// column where block b begins in the panel of block a, which is eliminated before it
static int column_of(const tgiPattern *p, int a, int b) {
  size_t low = first_next(p, a), high = end_next(p, a) - 1;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (p->place[p->next[middle]] < p->place[b]) low = middle + 1;
    else high = middle;
  }
  assert(p->next[low] == b);
  return p->column[low];
}

size_t tgi_pattern_at(const tgiPattern *p, int i, int j) {
  if (p->place[p->block[i]] > p->place[p->block[j]]) {
    int t = i;
    i = j;
    j = t;
  }
  int a = p->block[i], b = p->block[j];
  size_t at = (size_t)p->local[i] * (size_t)p->width[a] + (size_t)p->local[j];
  return p->panel[a] + at + (a == b ? 0 : (size_t)column_of(p, a, b));
}

static const tgReal *row_of(const tgiPattern *p, const tgReal *A, int a, int r) {
  return A + p->panel[a] + (size_t)r * (size_t)p->width[a];
}

tgiPatternBlock tgi_pattern_block(const tgiPattern *p, int row, int column) {
  bool upper = p->place[row] <= p->place[column];
  return (tgiPatternBlock){.row = row, .column = column, .upper = upper, .lower = !upper || row == column,
                           .at = tgi_pattern_at(p, p->member[p->first[row]], p->member[p->first[column]]),
                           .stride = (size_t)p->width[upper ? row : column]};
}

// y += the part of A x that the panel of a block holds; L: what holds its part below the diagonal, U where A is symmetric
static void multiply_panel(const tgiPattern *p, int a, const tgReal *L, const tgReal *U, const tgReal *x, tgReal *y) {
  const int *own = p->member + p->first[a];
  for (int r = 0; r < unknowns(p, a); r++) {
    const tgReal *row = row_of(p, U, a, r), *below = row_of(p, L, a, r);
    for (int c = 0; c < unknowns(p, a); c++) y[own[r]] += row[c] * x[own[c]];
    for (size_t k = first_next(p, a); k < end_next(p, a); k++) {
      const int *other = p->member + p->first[p->next[k]];
      for (int c = 0; c < unknowns(p, p->next[k]); c++) {
        y[own[r]] += row[p->column[k] + c] * x[other[c]];
        y[other[c]] += below[p->column[k] + c] * x[own[r]];
      }
    }
  }
}

void tgi_pattern_mul(const tgiPattern *p, const tgReal *A, const tgReal *x, tgReal *y) {
  size_t n = (size_t)p->n;
  for (size_t i = 0; i < n; i++) {
    y[i] = 0;
    for (size_t j = 0; p->dense && j < n; j++) y[i] += A[i * n + j] * x[j];
  }
  for (int a = 0; a < p->nblock && !p->dense; a++) multiply_panel(p, a, A, A, x, y);
}

void tgi_pattern_mul_both(const tgiPattern *p, const tgReal *L, const tgReal *U, const tgReal *x, tgReal *y) {
  for (int i = 0; i < p->n; i++) y[i] = 0;
  for (int a = 0; a < p->nblock; a++) multiply_panel(p, a, L, U, x, y);
}

static void subtract(int count, tgReal f, const tgReal *restrict from, tgReal *restrict to) {
  for (int c = 0; c < count; c++) to[c] -= f * from[c];
}

// the same of three rows, `stride` apart
static void subtract_3(int count, const tgReal f[3], const tgReal *restrict from, size_t stride, tgReal *restrict to) {
  const tgReal *second = from + stride, *third = second + stride;
  for (int c = 0; c < count; c++) to[c] -= f[0] * from[c] + f[1] * second[c] + f[2] * third[c];
}

// the columns of the panel of a from entry k of `next` on, where they are in the panel of that block; how many runs
static int runs(const tgiPattern *p, int a, size_t k) {
  int n = 0, b = p->next[k];
  size_t at = first_next(p, b);
  tgiRun *run = p->run;
  run[0] = (tgiRun){.from = p->column[k], .to = 0, .count = unknowns(p, b)};
  for (size_t l = k + 1; l < end_next(p, a); l++, at++) {
    while (p->next[at] != p->next[l]) at++;
    if (run[n].to + run[n].count == p->column[at]) run[n].count += unknowns(p, p->next[l]);
    else run[++n] = (tgiRun){.from = p->column[l], .to = p->column[at], .count = unknowns(p, p->next[l])};
  }
  return n + 1;
}

// the rows of block b, entry k of `next` of a, less what the rows of a, not yet divided by their pivots, have in them
static void update(const tgiPattern *p, int a, size_t k, tgReal *U) {
  int b = p->next[k], n = runs(p, a, k), from = p->column[k];
  double *lost = p->lost + p->first[b];
  size_t width = (size_t)p->width[a];
  for (int r = 0, together; r < unknowns(p, a); r += together) {
    const tgReal *row = row_of(p, U, a, r);
    together = r + 3 <= unknowns(p, a) ? 3 : 1;
    for (int i = 0; i < unknowns(p, b); i++) {
      tgReal u[3], *to = U + p->panel[b] + (size_t)i * (size_t)p->width[b];
      for (int q = 0; q < together; q++) {
        const tgReal *here = row + (size_t)q * width;
        u[q] = here[from + i] / here[r + q];
        lost[i] += fabs(tgRe(here[from + i]) * tgRe(u[q]));
      }
      for (int j = 0; j < n; j++) {
        int skip = j == 0 ? i : 0, count = p->run[j].count - skip;
        const tgReal *source = row + p->run[j].from + skip;
        if (together == 3) subtract_3(count, u, source, width, to + p->run[j].to + skip);
        else subtract(count, u[0], source, to + p->run[j].to + skip);
      }
    }
  }
}

// the rows after row r of a panel, less what that has in them
static void update_own(const tgiPattern *p, int a, int r, tgReal *U) {
  int m = p->width[a];
  const tgReal *row = row_of(p, U, a, r);
  double *lost = p->lost + p->first[a];
  for (int i = r + 1; i < unknowns(p, a); i++) {
    tgReal u = row[i] / row[r];
    lost[i] += fabs(tgRe(row[i]) * tgRe(u));
    subtract(m - i, u, row + i, U + p->panel[a] + (size_t)i * (size_t)m + i);
  }
}

// its rows, and what they take from those of later panels; false: a pivot is not positive beyond round-off
static bool factor_panel(const tgiPattern *p, int a, tgReal *U) {
  const double *lost = p->lost + p->first[a];
  for (int r = 0; r < unknowns(p, a); r++) {
    tgReal pivot = row_of(p, U, a, r)[r];
    // as in ldl.c: what cancelled in the pivot is some 2.2e-16 of the entry that it began as
    if (!(tgRe(pivot) > ROUND * (lost[r] + tgRe(pivot))) || !tgFinite(pivot)) return false;
    update_own(p, a, r, U);
  }
  for (size_t k = first_next(p, a); k < end_next(p, a); k++) update(p, a, k, U);
  for (int r = 0; r < unknowns(p, a); r++) {
    tgReal *row = U + p->panel[a] + (size_t)r * (size_t)p->width[a];
    for (int i = r + 1; i < p->width[a]; i++) row[i] /= row[r];
  }
  return true;
}


bool tgi_pattern_factor(const tgiPattern *p, const tgReal *A, tgReal *U) {
  if (p->dense) return tgi_ldl_factor(p->n, A, U);
  if (A != U) memcpy(U, A, p->size * sizeof *U);
  for (int i = 0; i < p->n; i++) p->lost[i] = 0;
  for (int k = 0; k < p->nblock; k++)
    if (!factor_panel(p, p->order[k], U)) return false;
  return true;
}

// the rows of X of the unknowns after row r of a panel, less U times that of r; or that of r less those (back)
static void sweep(const tgiPattern *p, int a, int r, const tgReal *U, int columns, tgReal *X, bool back) {
  const tgReal *row = row_of(p, U, a, r);
  const int *own = p->member + p->first[a];
  size_t C = (size_t)columns;
  tgReal *x = X + (size_t)own[r] * C;
  for (int c = r + 1; c < unknowns(p, a); c++) {
    tgReal *y = X + (size_t)own[c] * C;
    subtract(columns, row[c], back ? y : x, back ? x : y);
  }
  for (size_t k = first_next(p, a); k < end_next(p, a); k++) {
    const int *other = p->member + p->first[p->next[k]];
    for (int c = 0; c < unknowns(p, p->next[k]); c++) {
      tgReal *y = X + (size_t)other[c] * C;
      subtract(columns, row[p->column[k] + c], back ? y : x, back ? x : y);
    }
  }
}

// X <- A^-1 X, A = U' D U
static void solve_panels(const tgiPattern *p, const tgReal *U, int columns, tgReal *X) {
  for (int k = 0; k < p->nblock; k++)
    for (int r = 0; r < unknowns(p, p->order[k]); r++) sweep(p, p->order[k], r, U, columns, X, false);
  for (int k = p->nblock - 1; k >= 0; k--)
    for (int a = p->order[k], r = unknowns(p, a) - 1; r >= 0; r--) {
      tgReal *x = X + (size_t)p->member[p->first[a] + r] * (size_t)columns, pivot = row_of(p, U, a, r)[r];
      for (int c = 0; c < columns; c++) x[c] /= pivot;
      sweep(p, a, r, U, columns, X, true);
    }
}

void tgi_pattern_solve_rows(const tgiPattern *p, const tgReal *U, int columns, tgReal *X) {
  if (p->dense) tgi_ldl_solve_rows(p->n, U, columns, X);
  else solve_panels(p, U, columns, X);
}

void tgi_pattern_solve(const tgiPattern *p, const tgReal *U, tgReal *x) {
  if (p->dense) tgi_ldl_solve(p->n, U, x);
  else tgi_pattern_solve_rows(p, U, 1, x);
}

// ---- not symmetric ----

static void swap(tgReal *x, tgReal *y) {
  tgReal t = *x;
  *x = *y;
  *y = t;
}

TGI_INLINE void swap_rows(tgReal *A, int n, int m, int i, int j) {
  for (int c = 0; c < n && i != j; c++) swap(A + i * m + c, A + j * m + c);
}

TGI_INLINE void swap_columns(tgReal *A, int n, int m, int i, int j) {
  for (int r = 0; r < n && i != j; r++) swap(A + r * m + i, A + r * m + j);
}

// A (n x n, rows m apart) times scale_i scale_j
TGI_INLINE void scale_both(tgReal *A, int n, int m, const tgReal *scale) {
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++) A[i * m + j] *= scale[i] * scale[j];
}

// Powers of two by which the diagonal comes to about 1 where it is not 0, so that units of lengths and masses do not choose pivots.
TGI_INLINE void balance(const tgReal *A, int n, int m, tgReal *scale) {
  for (int i = 0; i < n; i++) {
    double own = fabs(tgRe(A[i * m + i]));
    int exponent = 0;
    if (own > 0 && isfinite(own)) frexp(own, &exponent);
    scale[i] = ldexp(1, -exponent / 2);
  }
}

// A (n x n, rows m apart) becomes its inverse, by the largest pivots first of what is balanced; swapped: 2 n, scale: n; *negative changes
// where its determinant is. False: what is left of it is 0 beyond round-off.
TGI_INLINE bool invert_of(const int n, tgReal *A, int m, int *swapped, tgReal *scale, bool *negative) {
  double most = 0;
  balance(A, n, m, scale);
  scale_both(A, n, m, scale);
  for (int k = 0; k < n; k++) {
    int row = k, column = k;
    for (int i = k; i < n; i++)
      for (int j = k; j < n; j++)
        if (fabs(tgRe(A[i * m + j])) > fabs(tgRe(A[row * m + column]))) {
          row = i;
          column = j;
        }
    tgReal pivot = A[row * m + column];
    most = fmax(most, fabs(tgRe(pivot)));
    if (!(fabs(tgRe(pivot)) > ROUND * most) || !tgFinite(pivot)) return false;
    *negative ^= (tgRe(pivot) < 0) ^ (row != k) ^ (column != k);
    swap_rows(A, n, m, k, swapped[2 * k] = row);
    swap_columns(A, n, m, k, swapped[2 * k + 1] = column);
    A[k * m + k] = 1;
    for (int c = 0; c < n; c++) A[k * m + c] /= pivot;
    for (int i = 0; i < n; i++) {
      tgReal e = A[i * m + k];
      if (i == k) continue;
      A[i * m + k] = 0;
      subtract(n, e, A + k * m, A + i * m);
    }
  }
  for (int k = n - 1; k >= 0; k--) {
    swap_rows(A, n, m, k, swapped[2 * k + 1]);
    swap_columns(A, n, m, k, swapped[2 * k]);
  }
  scale_both(A, n, m, scale);   // A^-1 = S (S A S)^-1 S
  return true;
}

static bool invert(tgReal *A, int n, int m, int *swapped, tgReal *scale, bool *negative) {
  enum { FREE_BODY = 6 };   // its loops are of known lengths
  return n == FREE_BODY ? invert_of(FREE_BODY, A, m, swapped, scale, negative) : invert_of(n, A, m, swapped, scale, negative);
}

// y = X x or X' x, X the n x n at the head of rows m apart
static void multiply_block(const tgReal *X, int n, int m, bool transposed, const tgReal *x, tgReal *y) {
  for (int r = 0; r < n; r++) {
    y[r] = 0;
    for (int c = 0; c < n; c++) y[r] += X[transposed ? c * m + r : r * m + c] * x[c];
  }
}

// the rows of block b of U, entry k of `next` of a, less L' U of the rows of a
static void update_both(const tgiPattern *p, int a, size_t k, int runs, const tgReal *L, tgReal *U) {
  int b = p->next[k];
  const tgiPanelUpdate u = {.n = unknowns(p, a), .m = p->width[a], .from = p->column[k], .rows = unknowns(p, b), .width = p->width[b],
                            .runs = runs, .run = p->run};
  tgi_panel_update(&u, L + p->panel[a], U + p->panel[a], U + p->panel[b], p->line);
}

// The panels of a block: with B its own block, B^-1 in U and behind it the columns as they are, in L those of B^-T L.
static bool factor_block(const tgiPattern *p, int a, tgReal *L, tgReal *U, bool *negative) {
  int n = unknowns(p, a), m = p->width[a];
  tgReal *B = U + p->panel[a], *S = L + p->panel[a];
  for (int r = 0; r < n; r++)
    for (int c = 0; c < r; c++) B[r * m + c] = S[c * m + r];
  if (!invert(B, n, m, p->swapped, p->line, negative)) return false;
  tgi_panel_multiply(n, m, B, S, p->line);
  for (size_t k = first_next(p, a); k < end_next(p, a); k++) {
    int count = runs(p, a, k);
    update_both(p, a, k, count, L, U);
    update_both(p, a, k, count, U, L);
  }
  return true;
}

bool tgi_pattern_factor_both(const tgiPattern *p, tgReal *L, tgReal *U, bool *negative) {
  assert(!p->dense && L != U);
  *negative = false;
  for (int k = 0; k < p->nblock; k++)
    if (!factor_block(p, p->order[k], L, U, negative)) return false;
  return true;
}

// The unknowns of block b into x, and back.
static void gather_block(const tgiPattern *p, int b, const tgReal *all, tgReal *x) {
  const int *of = p->member + p->first[b];
  int n = unknowns(p, b);
  for (int c = 0; c < n; c++) x[c] = all[of[c]];
}

static void scatter_block(const tgiPattern *p, int b, const tgReal *x, tgReal *all) {
  const int *of = p->member + p->first[b];
  int n = unknowns(p, b);
  for (int c = 0; c < n; c++) all[of[c]] = x[c];
}

// those of a panel's columns
static void gather(const tgiPattern *p, int a, const tgReal *all, tgReal *x) {
  gather_block(p, a, all, x);
  for (size_t k = first_next(p, a); k < end_next(p, a); k++) gather_block(p, p->next[k], all, x + p->column[k]);
}

static void scatter(const tgiPattern *p, int a, const tgReal *x, tgReal *all) {
  scatter_block(p, a, x, all);
  for (size_t k = first_next(p, a); k < end_next(p, a); k++) scatter_block(p, p->next[k], x + p->column[k], all);
}

// A = [1, 0; S', 1] [B, U; 0, A after the block]: down through the blocks, then up
void tgi_pattern_solve_both(const tgiPattern *p, const tgReal *L, const tgReal *U, tgReal *x, bool transposed) {
  for (int k = 0; k < p->nblock; k++) {
    int a = p->order[k], n = unknowns(p, a), m = p->width[a];
    const tgReal *B = U + p->panel[a], *by = transposed ? B : L + p->panel[a];
    tgReal *all = p->line, *y = all + m;
    gather(p, a, x, all);
    multiply_block(B, n, m, transposed, all, y);
    tgi_panel_down(n, m, by, transposed ? y : all, all);
    memcpy(all, y, (size_t)n * sizeof *y);
    scatter(p, a, all, x);
  }
  for (int k = p->nblock - 1; k >= 0; k--) {
    int a = p->order[k], n = unknowns(p, a), m = p->width[a];
    const tgReal *B = U + p->panel[a], *by = transposed ? L + p->panel[a] : B;
    tgReal *all = p->line, *y = all + m, *z = y + n;
    gather(p, a, x, all);
    tgi_panel_up(n, m, by, all, y);
    if (transposed) memcpy(z, y, (size_t)n * sizeof *z);
    else multiply_block(B, n, m, false, y, z);
    for (int r = 0; r < n; r++) x[p->member[p->first[a] + r]] -= z[r];
  }
}
