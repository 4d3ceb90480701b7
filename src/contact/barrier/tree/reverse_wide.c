// reverse_wide.c: which kernel works on a block of terms. See reverse_wide.h.
#include "contact/barrier/tree/reverse_wide.h"

// columns that are not in use become copies of the first that nothing weighs
static void fill(tgiReverseBlock *b) {
  for (int l = b->count; l < TGI_TREE_LANES; l++) {
    b->a[l] = b->a[0];
    b->b[l] = b->b[0];
    b->of[l] = b->of[0];
    b->inner[l] = b->value_bar[l] = b->below[l] = b->other[l] = b->phi[0][l] = b->phi[1][l] = b->phi[2][l] = 0;
  }
}

void tgi_reverse_values(const tgiTreeFrame *f, const tgiForceReverse *p, tgiReverseBlock *b) {
  fill(b);
  TGI_ISA_CALL(tgi_isa(), tgi_reverse_values, (f, p, b));
}

void tgi_reverse_terms(const tgiTreeFrame *f, const tgiForceReverse *p, tgiReverseBlock *b) {
  fill(b);
  TGI_ISA_CALL(tgi_isa(), tgi_reverse_terms, (f, p, b));
}
