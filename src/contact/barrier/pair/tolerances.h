// tolerances.h: constants that the solves of pairs share. [math/barrier Triangle pair]
#ifndef TG_CONTACT_BARRIER_PAIR_TOLERANCES_H
#define TG_CONTACT_BARRIER_PAIR_TOLERANCES_H

#include <float.h>

/// Newton's decrement, of S, at which a step that converges cubically is the last.
#define TGI_PAIR_TOLERANCE 1e-10
/// Error of a margin by rounding, of the largest coordinate; noise = this * size / least margin.
#define TGI_PAIR_NOISE (8 * DBL_EPSILON)
/// Noise from which on two triangles touch.
#define TGI_PAIR_TOUCHING 1e-2
#define TGI_PAIR_ARMIJO 1e-4
/// Share of a margin that one step may use up.
#define TGI_PAIR_ROOM 0.9
/// Newton's decrement, of S, below which ellipsoids grow.
#define TGI_PAIR_CENTRED 0.1
/// Separation, of the largest coordinate, that is not rounding: for the first 12 candidates and for all.
#define TGI_PAIR_SIGNIFICANT 1e-12
#define TGI_PAIR_SIGNIFICANT_ALL 1.4e-14

#endif
