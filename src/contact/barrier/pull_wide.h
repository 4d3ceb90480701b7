// pull_wide.h: the adjoint of the forces of clusters and blends (tree_pull.c) eight at a time. The kernel (pull_kernel.c) is compiled for vectors of 2, 4
// and 8 like tree_kernel.c; in the complex build the same is done column by column.
#ifndef TG_CONTACT_BARRIER_PULL_WIDE_H
#define TG_CONTACT_BARRIER_PULL_WIDE_H

#include "contact/barrier/press.h"
#include "contact/barrier/tree_wide.h"

/// Eight clusters, or blends over them, one a column, the first `count` in use. Of what a term is in: its share of the total, `inner`, and what T weighs
/// its value by, `lift`.
typedef struct tgiPullBlock {
  int a[TGI_TREE_LANES], b[TGI_TREE_LANES], count;
  const tgiPatchWeight *of[TGI_TREE_LANES];
  tgReal inner[TGI_TREE_LANES], lift[TGI_TREE_LANES];
  tgReal phi[3][TGI_TREE_LANES];     ///< as in tgiTreeBlock; of a cluster 1, 0, 0
  tgReal below[TGI_TREE_LANES];      ///< value under a blend
  tgReal other[TGI_TREE_LANES];      ///< slope of T in the squared distance besides
  tgReal out[TGI_TREE_LANES];
  tgReal twist[6][TGI_TREE_LANES];   ///< adds up, by columns
} tgiPullBlock;

/// out: what T weighs the value under a blend by, over mu, the share and the slope of Phi. a, b, of are in.
void tgi_pull_values(const tgiTreeFrame *f, const tgiTreePull *p, tgiPullBlock *b);
/// twist += the derivative of T in the pose of A, through these terms. out: what T weighs their share by.
void tgi_pull_terms(const tgiTreeFrame *f, const tgiTreePull *p, tgiPullBlock *b);

#if !defined(TG_COMPLEX)
void tgi_pull_values_2(const tgiTreeFrame *f, const tgiTreePull *p, tgiPullBlock *b);
void tgi_pull_terms_2(const tgiTreeFrame *f, const tgiTreePull *p, tgiPullBlock *b);
void tgi_pull_values_4(const tgiTreeFrame *f, const tgiTreePull *p, tgiPullBlock *b);
void tgi_pull_terms_4(const tgiTreeFrame *f, const tgiTreePull *p, tgiPullBlock *b);
void tgi_pull_values_8(const tgiTreeFrame *f, const tgiTreePull *p, tgiPullBlock *b);
void tgi_pull_terms_8(const tgiTreeFrame *f, const tgiTreePull *p, tgiPullBlock *b);
#endif

#endif
