// pair_wide.c: which kernel solves a block of pairs. See pair_wide.h.
#include "contact/barrier/pair/pair_wide.h"

#include "contact/barrier/pair/pair_kernel.h"

// columns that are not in use become copies of the first
static void fill(tgiPairBlock *b) {
  for (int l = b->count; l < TGI_PAIR_LANES; l++) {
    for (int i = 0; i < 18; i++) b->x[i][l] = b->x[i][0];
    for (int half = 0; half < 2; half++) {
      b->radius[half][l] = b->radius[half][0];
      b->segment[half][l] = b->segment[half][0];
      for (int i = 0; i < 9 && b->oval; i++) b->axes[half][i][l] = b->axes[half][i][0];
    }
    for (int i = 0; i < 3; i++) b->u[i][l] = b->u[i][0];
    b->delta[l] = b->delta[0];
    b->warm |= (b->warm & 1) << l;
  }
}

// both sides of the first column, of which the others are of a kind, are points or segments, which need no search
static bool thin(const tgiPairBlock *b) {
  bool both = true;
  for (int half = 0; half < 2; half++) {
    const tgReal(*x)[TGI_PAIR_LANES] = b->x + 9 * half;
    bool point = true;
    for (int i = 0; i < 3; i++) point = point && tgZero(x[i][0] - x[3 + i][0]) && tgZero(x[i][0] - x[6 + i][0]);
    both = both && (point || !tgZero(b->segment[half][0]));
  }
  return both;
}

void tgi_pair_block_on(int isa, tgiPairBlock *b) {
  fill(b);
  b->separated = 0;
  if (!b->oval && !thin(b)) TGI_ISA_CALL(isa, tgi_pair_guess_kernel, (b));
  TGI_ISA_CALL(isa, tgi_pair_kernel, (b));
  b->separated &= (1u << b->count) - 1;
}

void tgi_pair_block_force_on(int isa, const tgiPairBlock *b, tgiPairForces *f) { TGI_ISA_CALL(isa, tgi_pair_force_kernel, (b, f)); }

void tgi_pair_block_force_vjp_on(int isa, const tgiPairBlock *b, const tgiPairForces *bar, tgReal twist[6][TGI_PAIR_LANES]) {
  TGI_ISA_CALL(isa, tgi_pair_weigh_kernel, (b, bar, twist));
}

void tgi_pair_block(tgiPairBlock *b) { tgi_pair_block_on(tgi_isa(), b); }
void tgi_pair_block_force(const tgiPairBlock *b, tgiPairForces *f) { tgi_pair_block_force_on(tgi_isa(), b, f); }
void tgi_pair_block_force_vjp(const tgiPairBlock *b, const tgiPairForces *bar, tgReal twist[6][TGI_PAIR_LANES]) {
  tgi_pair_block_force_vjp_on(tgi_isa(), b, bar, twist);
}
