// term.c: from the second derivative of an energy to that of its force. See sim.h.
//
// E(exp(eta) exp(xi) T) has xi' H eta + g . [eta, xi]/2 as its part in both, H symmetric, so
// dw_i/dxi_j = -(H_ij + g . [e_i, e_j]/2) where both move one body.
#include "sim/sim.h"

void tgi_term_turn(tgPairTerm *t) {
  for (int body = 0; body < 2; body++) {
    const tgReal *w = t->w + 6 * body;
    tgReal *X = t->X + 78 * body;
    for (int i = 0; i < 3; i++) {
      int j = (i + 1) % 3, k = (i + 2) % 3;   // [e_j, e_k] = e_i, of turns; of a turn and a shift the shift
      tgReal turn = w[i] / 2, shift = w[3 + i] / 2;
      X[12 * j + k] += turn;
      X[12 * k + j] -= turn;
      X[12 * j + 3 + k] += shift;
      X[12 * (3 + j) + k] += shift;
      X[12 * k + 3 + j] -= shift;
      X[12 * (3 + k) + j] -= shift;
    }
  }
}
