// tree_wide.c: which kernel works on a block of pairs of nodes. See tree_wide.h.
#include "contact/barrier/tree/tree_wide.h"

// columns that are not in use become copies of the first, with no share
static void fill(tgiTreeBlock *b, tgiTreeForces *forces) {
  for (int l = b->count; l < TGI_TREE_LANES; l++) {
    b->a[l] = b->a[0];
    b->b[l] = b->b[0];
    b->below[l] = b->below[0];
    b->to[l] = b->spare;
    b->inner[l] = b->phi[0][l] = b->phi[1][l] = b->phi[2][l] = 0;
    if (forces != NULL) forces->to[l] = forces->to[0];
  }
}

void tgi_tree_visit(const tgiTreeFrame *f, tgiTreeLook *b) {
  unsigned used = (1u << b->count) - 1;
  for (int l = b->count; l % TGI_TREE_LANES != 0; l++) {
    b->a[l] = b->a[0];
    b->b[l] = b->b[0];
  }
  TGI_ISA_CALL(tgi_isa(), tgi_tree_visit, (f, b));
  b->far &= used;
  b->between &= used;
}
void tgi_tree_far(const tgiTreeFrame *f, tgiTreeBlock *b, tgiTreeSum *sum, tgiTreeForces *forces) {
  if (b->count < TGI_TREE_LANES) fill(b, forces);
  TGI_ISA_CALL(tgi_isa(), tgi_tree_far, (f, b, sum, forces));
}
void tgi_tree_close(const tgiTreeFrame *f, tgiTreeBlock *b, tgiTreeSum *sum, tgiTreeForces *forces) {
  if (b->count < TGI_TREE_LANES) fill(b, forces);
  TGI_ISA_CALL(tgi_isa(), tgi_tree_close, (f, b, sum, forces));
}
void tgi_tree_leaves(const tgiTreeFrame *f, const tgiPairBlock *p, const tgReal weight[TGI_TREE_LANES], tgiTreeBlock *b, tgiTreeSum *sum,
                     tgiTreeForces *forces) {
  if (b->count < TGI_TREE_LANES) fill(b, forces);
  TGI_ISA_CALL(tgi_isa(), tgi_tree_leaves, (f, p, weight, b, sum, forces));
}
