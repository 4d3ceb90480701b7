// blocks.h: matrices over the dofs that couple no two kinematic trees, stored tree by tree.
//
// A kinematic tree is all that one dof without a parent carries. Each has a square block, row-major, as wide as the
// range of its dofs, which are neighbours where bodies come in depth-first order. Entry (i, j) of two dofs of one tree
// is at dof_block[i] + j, so that a row is walked by dofs as in a dense matrix; entries of dofs on different branches,
// and of other trees' dofs in the range, are 0. Between two trees nothing is stored.
#ifndef TG_MODEL_BLOCKS_H
#define TG_MODEL_BLOCKS_H

#include "model/model.h"

/// Row of dof i: B_ij is at [j] for the dofs j of its tree.
static inline const tgReal *tgi_block_row(const tgModel *m, const tgReal *B, int i) { return B + m->dof_block[i]; }
/// Numbers from a row of dof d's block to the next.
static inline int tgi_block_stride(const tgModel *m, int d) { return m->dof_tree[2 * d + 1] - m->dof_tree[2 * d]; }
/// Entry of the diagonal.
static inline tgReal *tgi_block_diagonal(const tgModel *m, tgReal *B, int d) { return B + m->dof_block[d] + d; }
/// dense (nv x nv, row-major) += f B.
static inline void tgi_block_add(const tgModel *m, tgReal f, const tgReal *B, tgReal *dense) {
  for (int i = 0; i < m->nv; i++)
    for (int j = m->dof_tree[2 * i]; j < m->dof_tree[2 * i + 1]; j++)
      dense[(size_t)i * (size_t)m->nv + (size_t)j] += f * tgi_block_row(m, B, i)[j];
}
/// x' B y.
static inline tgReal tgi_block_form(const tgModel *m, const tgReal *x, const tgReal *B, const tgReal *y) {
  tgReal sum = 0;
  for (int i = 0; i < m->nv; i++)
    for (int j = m->dof_tree[2 * i]; j < m->dof_tree[2 * i + 1]; j++) sum += x[i] * tgi_block_row(m, B, i)[j] * y[j];
  return sum;
}

#endif
