// held.h: private to contact/lcp: some rows of an island by themselves, as if all of them held, for what its labels ask.
//
// With a matrix they are factorised (solve.h). Without one they are solved for by conjugate gradients on A_KK = J_K Mh^-1 J_K', scaled by
// its diagonal: a product goes through the rows, of which each acts on two bodies, and a right side J_K x of any velocity x is consistent
// however many of the rows are redundant, so that the forces found act as J_K' c, which is all that is asked.   [GolubVanLoan 11.3]
#ifndef TG_CONTACT_LCP_HELD_H
#define TG_CONTACT_LCP_HELD_H

#include "contact/lcp/work.h"

typedef struct tgiHeld {
  const tgSim *s;
  const int *row;         ///< of the island
  const tgiLcp *factors;  ///< NULL: there is no matrix
  int n, nk;              ///< rows of the island, and of them chosen
  const int *k, *kpos;    ///< nk: the places of those in the island; n: positions in k, -1: not chosen
  int *own;               ///< room of k and kpos
  tgReal *x;              ///< nv: work
  tgReal *c[4];           ///< rows each: work
} tgiHeld;

/// Room on the stack of s. TG_ERR_CAPACITY, without a message: there is none.
tgStatus tgi_held_room(tgSim *s, tgiHeld *h);
/// The rows of the island that are chosen (n). False: there is no factorisation of them. Valid until the island's next solve.
bool tgi_held_choose(tgiHeld *h, int island, const int8_t *chosen);
/// f (nk) <- A_KK^+ f, f = J_K x of some x. False: it was not found.
bool tgi_held_solve(const tgiHeld *h, tgReal *f);

#endif
