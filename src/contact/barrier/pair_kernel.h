// pair_kernel.h: the kernels of pair_wide.h, one for each width of vectors.
#ifndef TG_CONTACT_BARRIER_PAIR_KERNEL_H
#define TG_CONTACT_BARRIER_PAIR_KERNEL_H

#include "contact/barrier/pair_wide.h"

/// All eight columns; bits of `apart` are added.
void tgi_pair_kernel_2(tgiPairBlock *b);
void tgi_pair_kernel_4(tgiPairBlock *b);
void tgi_pair_kernel_8(tgiPairBlock *b);

#endif
