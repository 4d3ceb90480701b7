// pair_kernel.h: the kernels of pair_wide.h, one for each width of vectors.
#ifndef TG_CONTACT_BARRIER_PAIR_PAIR_KERNEL_H
#define TG_CONTACT_BARRIER_PAIR_PAIR_KERNEL_H

#include "contact/barrier/pair/pair_wide.h"

/// The columns in use, at most all; bits of `separated` are added.
TGI_ISA_DECLARE(tgi_pair_kernel, (tgiPairBlock *b))
/// Planes of the columns that are not warm, which become so, where single precision finds one; of width 1 nothing. No ellipsoids.
TGI_ISA_DECLARE(tgi_pair_guess_kernel, (tgiPairBlock *b))
/// Of solved pairs: forces, and their weighed rates.
TGI_ISA_DECLARE(tgi_pair_force_kernel, (const tgiPairBlock *b, tgiPairForces *f))
TGI_ISA_DECLARE(tgi_pair_weigh_kernel, (const tgiPairBlock *b, const tgiPairForces *bar, tgReal twist[6][TGI_PAIR_LANES]))
/// The plane that a solve of the triangles x (as in pair.h), with half the sum of their radii, starts from without a warm one; with
/// ellipsoids (axes of both, 2 x 9; NULL: none) the one that it ends at. false: none separates them by more than rounding.
bool tgi_pair_start(const tgReal x[18], double round, const tgReal *axes, tgReal u[3], tgReal *delta);

#endif
