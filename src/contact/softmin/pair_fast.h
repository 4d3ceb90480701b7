// pair_fast.h: the pair of pair.h over the points that count, by trees over both surfaces.
//
// Based on: [softmin] eqs. (8)-(23); [math/softmin Pruning]. Two sums are cut off, each with a proof.
// (a) A point y against a surface: points i with d_i - d_min > eps1 ln(n E/(eps3 tau)), E the surface's extent, weigh
// less than tau eps3/E together
//     (ssdf_tree.h). As |s_i - s_j| <= E, phi changes by less than 2 tau eps3,
//       and F by less than 2 tau k eps3 times the dissipation's and friction's
//     factor, k eps3 being about the force at touch.
// (b) The points of both surfaces: W_f = exp(-Phi_f/eps2)/sum <= exp(-(Phi_f - Phi_min)/eps2), so those with
// Phi_f > Phi_min + eps2 ln(n/tau) weigh less
//     than tau together: they change the mean w by less than 2 tau max|w_f|.
// For (b) no height is formed at most points: where every plane that counts for any point of a node is beneath all of
// its box, phi, a mean of the heights over these planes, is at least the least of them (tgi_ssdf_above). What may count
// is listed once for many poses (plan.h). A step can be no larger than these tails where what counts changes.
#ifndef TG_CONTACT_SOFTMIN_PAIR_FAST_H
#define TG_CONTACT_SOFTMIN_PAIR_FAST_H

#include "contact/softmin/plan.h"

/// As tgi_soft_pair_plain, but for tails of tau; plan: what is kept from pose to pose, made anew where it does not
/// hold. On vectors, but for the publication's form. Where all planes that count are out of reach of the push there is
/// no force, and what is returned is eps3 ln(1/tau), which no height is below.
double tgi_soft_pair_fast(const tgiSoftPair *p, const tgiSoftIndex index[2], double tau, bool d, tgiSoftPlan *plan, tgPairTerm *out);
/// The same on an instruction set (isa.h).
double tgi_soft_pair_fast_on(int isa, const tgiSoftPair *p, const tgiSoftIndex index[2], double tau, bool d,
                             tgiSoftPlan *plan, tgPairTerm *out);

/// As tgi_soft_pair_vjp, over the points that count, for tails as of derivatives.
void tgi_soft_pair_fast_vjp(const tgiSoftPair *p, const tgiSoftIndex index[2], double tau, const tgReal Z[12],
                            tgiSoftPlan *plan, tgiSoftPairBar *bar);

#endif
