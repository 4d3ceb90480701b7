// pattern.h: a symmetric matrix some of whose blocks are 0, and its factor A = U' D U, with room for what is not 0.
//
// Unknowns come in blocks, each of them full; where two blocks are coupled their block of the matrix is full too,
// elsewhere it is 0. Blocks are eliminated in the order of least degree, of least number among equals: a function of
// the couplings alone, whatever was there before. Each block has a panel with a row for each of its unknowns: its own
// columns, then those of blocks later in the order with which it is coupled or becomes so (fill-in). Where panels would
// hold a good part of the whole the matrix is one dense square instead, with the kernels of math/ldl.h. No exchanges of
// pivots: positive definite matrices only.
#ifndef TG_MATH_PATTERN_H
#define TG_MATH_PATTERN_H

#include <stdint.h>

#include "base/layout.h"
#include "math/real.h"

typedef struct tgiPattern {
  int n, nblock;
  size_t size, most;        // numbers of a matrix of this pattern, and those for which there is room
  bool dense;               // n x n, row-major; else panels
  bool panels;              // never dense; set by the caller after tgi_pattern_place
  // the unknowns, fixed
  int *block, *local;       // n: block of an unknown, its place in it
  int *first, *member;      // nblock + 1, n: unknowns of a block
  // the couplings at hand
  int *order, *place;       // nblock: blocks in their order, and where each stands there
  size_t *panel;            // nblock: first number of a block's panel
  int *width;               // nblock: of its panel; its degree while the order is made
  size_t *begin;            // nblock + 1: first entry in `next` by place in the order
  int *next, *column;       // blocks coupled with a block and later, in their order, and the column where each begins in its panel
  size_t nnext, room;       // of those: how many there are, and room for them
  uint64_t *coupled;        // nblock bits a block: coupled, of the blocks that are left
  int *least;               // a tournament of the blocks that are left, by degree
  struct tgiRun *run;       // nblock: of one update
  double *lost;             // n: what elimination has taken from each pivot
  int *swapped;             // 2 n: rows and columns of a block that is inverted
  tgReal *line;             // 4 n: unknowns of a panel at hand
} tgiPattern;

/// Arrays for n unknowns in nblock blocks of `least` or more, for matrices of at most `most` numbers; counts when l->base is NULL.
void tgi_pattern_place(tgiPattern *p, int n, int nblock, int least, size_t most, tgLayout *l);
/// All unknowns are one block, dense; takes no memory.
tgiPattern tgi_pattern_dense(int n);
/// Blocks of the unknowns: of[i], 0 .. nblock - 1.
void tgi_pattern_blocks(tgiPattern *p, const int *of);
/// Nothing is coupled; then one coupling after the other, in any order; then the order of elimination and the size. A block coupled with
/// itself is none. close is false where the size is more than there is room for.
void tgi_pattern_open(tgiPattern *p);
void tgi_pattern_couple(tgiPattern *p, int a, int b);
bool tgi_pattern_close(tgiPattern *p);

/// Of panels, see tgi_pattern_entry.
size_t tgi_pattern_at(const tgiPattern *p, int i, int j);
/// Where entry (i, j) of a matrix stands, which is where (j, i) does when they are of two blocks and in panels.
static inline tgReal *tgi_pattern_entry(const tgiPattern *p, tgReal *A, int i, int j) {
  return A + (p->dense ? (size_t)i * (size_t)p->n + (size_t)j : tgi_pattern_at(p, i, j));
}
/// A matrix to be written.
typedef struct tgiPatterned { const tgiPattern *p; tgReal *A; } tgiPatterned;
/// Adds x to the entries (i, j) and (j, i).
static inline void tgi_pattern_add(const tgiPatterned *H, int i, int j, tgReal x) {
  *tgi_pattern_entry(H->p, H->A, i, j) += x;
  if (H->p->dense || H->p->block[i] == H->p->block[j]) *tgi_pattern_entry(H->p, H->A, j, i) += x;
}
/// Adds x to entry (i, j), for callers that add as much to (j, i): where both are one number one of the two calls does it.
static inline void tgi_pattern_put(const tgiPatterned *H, int i, int j, tgReal x) {
  const tgiPattern *p = H->p;
  if (p->dense || p->place[p->block[i]] <= p->place[p->block[j]]) *tgi_pattern_entry(p, H->A, i, j) += x;
}

/// y = A x.
void tgi_pattern_mul(const tgiPattern *p, const tgReal *A, const tgReal *x, tgReal *y);
/// U from A, which may be U; false: a pivot is not positive beyond round-off, U is undefined. As tgi_ldl_factor, and the solves likewise.
bool tgi_pattern_factor(const tgiPattern *p, const tgReal *A, tgReal *U);
void tgi_pattern_solve(const tgiPattern *p, const tgReal *U, tgReal *x);
void tgi_pattern_solve_rows(const tgiPattern *p, const tgReal *U, int columns, tgReal *X);

/// The same of A that is not symmetric, its couplings are. U: the upper triangle of A in the panels' order, L: that of its transpose, both
/// become factors; of panels alone. false: a block is singular to round-off. Pivots are exchanged within blocks, not among them: who solves
/// checks what comes out. negative: is the determinant?
bool tgi_pattern_factor_both(const tgiPattern *p, tgReal *L, tgReal *U, bool *negative);
/// A block of such an A: where its first number stands, numbers from one row of the panel to the next, and whether it is in U, in L.
typedef struct tgiPatternBlock { int row, column; size_t at, stride; bool upper, lower; } tgiPatternBlock;
tgiPatternBlock tgi_pattern_block(const tgiPattern *p, int row, int column);
/// Adds x to entry (i, j) of such an A: to U, and blocks of the diagonal to L too, transposed; or, below them, to L, transposed. last:
/// the block where the last entry went, of neighbours the next one too; {.row = -1} at first.
static inline void tgi_pattern_put_both(const tgiPattern *p, tgiPatternBlock *last, tgReal *L, tgReal *U, int i, int j, tgReal x) {
  if (p->block[i] != last->row || p->block[j] != last->column) *last = tgi_pattern_block(p, p->block[i], p->block[j]);
  size_t r = (size_t)p->local[i], c = (size_t)p->local[j];
  if (last->upper) U[last->at + r * last->stride + c] += x;
  if (last->lower) L[last->at + c * last->stride + r] += x;
}
/// Nine entries at once, x by rows: (i, j) to (i + 2, j + 2), whose rows are neighbours in one block of unknowns, and whose columns.
static inline void tgi_pattern_put_block_both(const tgiPattern *p, tgiPatternBlock *last, tgReal *L, tgReal *U, int i, int j,
                                              const tgReal x[9]) {
  if (p->block[i] != last->row || p->block[j] != last->column) *last = tgi_pattern_block(p, p->block[i], p->block[j]);
  tgReal *u = U + last->at + (size_t)p->local[i] * last->stride + p->local[j];
  tgReal *l = L + last->at + (size_t)p->local[j] * last->stride + p->local[i];
  for (size_t r = 0; r < 3 && last->upper; r++)
    for (size_t c = 0; c < 3; c++) u[r * last->stride + c] += x[3 * r + c];
  for (size_t c = 0; c < 3 && last->lower; c++)
    for (size_t r = 0; r < 3; r++) l[c * last->stride + r] += x[3 * r + c];
}
/// y = A x, of A as tgi_pattern_put_both makes it; with L and U exchanged y = A' x.
void tgi_pattern_mul_both(const tgiPattern *p, const tgReal *L, const tgReal *U, const tgReal *x, tgReal *y);
/// x <- A^-1 x or A^-T x.
void tgi_pattern_solve_both(const tgiPattern *p, const tgReal *L, const tgReal *U, tgReal *x, bool transposed);

#endif
