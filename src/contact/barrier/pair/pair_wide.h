// pair_wide.h: the pairs of pair.h sixteen at a time, on the widest vectors that the processor has. [math/barrier Triangle pair]
//
// The kernel (pair_kernel.c) is compiled for one pair (plain, and complex in the complex build) and for vectors of 2
// (baseline), 4 (AVX2 with FMA) and 8 (AVX-512). A pair's result has the same bits in every column and beside every
// other pair; between the widths results differ by rounding.
#ifndef TG_CONTACT_BARRIER_PAIR_PAIR_WIDE_H
#define TG_CONTACT_BARRIER_PAIR_PAIR_WIDE_H

#include "contact/barrier/pair/pair.h"
#include "math/isa.h"

enum { TGI_PAIR_LANES = 16 };

/// Sixteen pairs, what a vector of singles holds (pair_guess_kernel.c), one a column; fields as in tgiPair. Aligned to 64 bytes it is a
/// little faster.
typedef struct tgiPairBlock {
  tgReal x[18][TGI_PAIR_LANES];                       ///< in: the vertices; columns from count on are overwritten
  tgReal radius[2][TGI_PAIR_LANES], segment[2][TGI_PAIR_LANES];   ///< in, likewise: as in tgiPairCores; 1: a segment, else 0
  tgReal axes[2][9][TGI_PAIR_LANES];                  ///< in where oval, likewise: of a column without an ellipsoid there 0
  tgReal u[3][TGI_PAIR_LANES], delta[TGI_PAIR_LANES]; ///< in where warm, out
  tgReal S[TGI_PAIR_LANES], g[6][TGI_PAIR_LANES], H[21][TGI_PAIR_LANES];  ///< out; for a pair that touches S is INFINITY, all else 0
  int steps[TGI_PAIR_LANES];                          ///< out: Newton steps
  int count;                                          ///< in: columns in use, the first 1 to all
  bool oval;                                          ///< in: some column has an ellipsoid
  unsigned warm;                                      ///< in: bit l set: column l starts from its plane where that separates
  unsigned separated;                                     ///< out: bit l set: column l does not touch; none beyond count
} tgiPairBlock;

/// Sixteen of tgiPairForce, one a column.
typedef struct tgiPairForces { tgReal N[TGI_PAIR_LANES], u[3][TGI_PAIR_LANES], a[3][TGI_PAIR_LANES], b[3][TGI_PAIR_LANES]; } tgiPairForces;

/// Solves the block, on the instruction set that the process takes.
void tgi_pair_block(tgiPairBlock *b);

/// The same on one of the instruction sets of isa.h.
void tgi_pair_block_on(int isa, tgiPairBlock *b);

/// The forces of a solved block, as tgi_pair_force; and what tgi_pair_force_vjp adds to `twist`. Columns of pairs
/// that touch hold no meaning.
void tgi_pair_block_force(const tgiPairBlock *b, tgiPairForces *f);
void tgi_pair_block_force_vjp(const tgiPairBlock *b, const tgiPairForces *bar, tgReal twist[6][TGI_PAIR_LANES]);
void tgi_pair_block_force_on(int isa, const tgiPairBlock *b, tgiPairForces *f);
void tgi_pair_block_force_vjp_on(int isa, const tgiPairBlock *b, const tgiPairForces *bar, tgReal twist[6][TGI_PAIR_LANES]);

#endif
