// reverse_wide.h: the adjoint of the forces of clusters and blends (tree_reverse.c) a block at a time. The kernel
// (reverse_kernel.c) is compiled for every width of lanes.h like tree_kernel.c.
#ifndef TG_CONTACT_BARRIER_TREE_REVERSE_WIDE_H
#define TG_CONTACT_BARRIER_TREE_REVERSE_WIDE_H

#include "contact/barrier/tree/scatter.h"
#include "contact/barrier/tree/tree_wide.h"

/// Clusters, or blends over them, one a column, the first `count` in use. Of what a term is in: its share of the
/// total, `inner`, and what T weighs its value by, `value_bar`.
typedef struct tgiReverseBlock {
  int a[TGI_TREE_LANES], b[TGI_TREE_LANES], count;
  const tgiPatchWeight *of[TGI_TREE_LANES];
  tgReal inner[TGI_TREE_LANES], value_bar[TGI_TREE_LANES];
  tgReal phi[3][TGI_TREE_LANES];     ///< as in tgiTreeBlock; of a cluster 1, 0, 0
  tgReal below[TGI_TREE_LANES];      ///< value under a blend
  tgReal other[TGI_TREE_LANES];      ///< slope of T in the squared distance besides
  tgReal out[TGI_TREE_LANES];
  tgReal twist[6][TGI_TREE_LANES];   ///< adds up, by columns
} tgiReverseBlock;

/// out: what T weighs the value under a blend by, over mu, the share and the slope of Phi. a, b, of are in.
void tgi_reverse_values(const tgiTreeFrame *f, const tgiForceReverse *p, tgiReverseBlock *b);
/// twist += the derivative of T in the pose of A, through these terms. out: what T weighs their share by.
void tgi_reverse_terms(const tgiTreeFrame *f, const tgiForceReverse *p, tgiReverseBlock *b);

TGI_ISA_DECLARE(tgi_reverse_values, (const tgiTreeFrame *f, const tgiForceReverse *p, tgiReverseBlock *b))
TGI_ISA_DECLARE(tgi_reverse_terms, (const tgiTreeFrame *f, const tgiForceReverse *p, tgiReverseBlock *b))

#endif
