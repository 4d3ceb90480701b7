// tolerances.h: constants that the solves of pairs share. [math/barrier Triangle pair]
#ifndef TG_CONTACT_BARRIER_PAIR_TOLERANCES_H
#define TG_CONTACT_BARRIER_PAIR_TOLERANCES_H

#include <float.h>

#ifdef TGI_LANES_SINGLE   // a guess in single precision
#define TGI_PAIR_TOLERANCE 1e-4
#define TGI_PAIR_NOISE (8 * FLT_EPSILON)
#define TGI_PAIR_SIGNIFICANT 1e-4
#define TGI_PAIR_TINY 1e-30
#define TGI_PAIR_HUGE 1e30
enum { TGI_PAIR_MOST_STEPS = 6, TGI_PAIR_MOST_HALVINGS = 6 };
#else
/// Newton's decrement, of S, at which a step that converges cubically is the last.
#define TGI_PAIR_TOLERANCE 1e-11
/// Error of a margin by rounding, of the largest coordinate; noise = this * size / least margin.
#define TGI_PAIR_NOISE (8 * DBL_EPSILON)
/// Separation, of the largest coordinate, that is not rounding: for the first 12 candidates and, below, for all.
#define TGI_PAIR_SIGNIFICANT 1e-12
/// What is divided by is no less; what S is below.
#define TGI_PAIR_TINY DBL_MIN
#define TGI_PAIR_HUGE 1e300
enum { TGI_PAIR_MOST_STEPS = 100, TGI_PAIR_MOST_HALVINGS = 40 };
#endif
/// Noise from which on two triangles touch.
#define TGI_PAIR_TOUCHING 1e-2
#define TGI_PAIR_ARMIJO 1e-4
/// Share of a margin that one step may use up.
#define TGI_PAIR_ROOM 0.9
/// Newton's decrement, of S, below which ellipsoids grow.
#define TGI_PAIR_CENTRED 0.1
#define TGI_PAIR_SIGNIFICANT_ALL 1.4e-14

#endif
