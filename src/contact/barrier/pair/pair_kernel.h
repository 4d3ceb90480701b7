// pair_kernel.h: the kernels of pair_wide.h, one for each width of vectors.
#ifndef TG_CONTACT_BARRIER_PAIR_PAIR_KERNEL_H
#define TG_CONTACT_BARRIER_PAIR_PAIR_KERNEL_H

#include "contact/barrier/pair/pair_wide.h"

/// All eight columns; bits of `apart` are added.
void tgi_pair_kernel_2(tgiPairBlock *b);
void tgi_pair_kernel_4(tgiPairBlock *b);
void tgi_pair_kernel_8(tgiPairBlock *b);
/// Of solved pairs: forces, and their weighed rates.
void tgi_pair_force_kernel_2(const tgiPairBlock *b, tgiPairForces *f);
void tgi_pair_force_kernel_4(const tgiPairBlock *b, tgiPairForces *f);
void tgi_pair_force_kernel_8(const tgiPairBlock *b, tgiPairForces *f);
void tgi_pair_weigh_kernel_2(const tgiPairBlock *b, const tgiPairForces *bar, double twist[6][TGI_PAIR_LANES]);
void tgi_pair_weigh_kernel_4(const tgiPairBlock *b, const tgiPairForces *bar, double twist[6][TGI_PAIR_LANES]);
void tgi_pair_weigh_kernel_8(const tgiPairBlock *b, const tgiPairForces *bar, double twist[6][TGI_PAIR_LANES]);

#endif
