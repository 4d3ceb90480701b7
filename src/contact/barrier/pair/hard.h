// hard.h: the leaves of two surfaces, or of one before a half-space, that harden most: few of them make a Newton step's parabola wrong.
// Some of each pair of geoms are kept, and of all others the hardest of all pairs together. [math/barrier Minimisation]
#ifndef TG_CONTACT_BARRIER_PAIR_HARD_H
#define TG_CONTACT_BARRIER_PAIR_HARD_H

#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "math/real.h"

/// Leaves a of A and b of B (a half-space: 0) of a pair of geoms, about how far apart; growth: what they are chosen by; share of their
/// value in the sum; of two triangles the plane between them, from A's origin.
typedef struct tgiHardLeaf { int pair, a, b; float gap; double growth; tgReal share, u[3], delta; } tgiHardLeaf;

/// Those of one pair of geoms: its own, which are `own`, then those that are kept because they are among the hardest of all.
typedef struct tgiHardLeaves { int n, own; tgiHardLeaf *at; } tgiHardLeaves;

enum { TGI_HARD_POWERS = 2200, TGI_HARD_ZERO = 1100 };

/// What the sums of one thread note: of the pair that it sums the `few` hardest in `own`, a heap once these are all, no leaf growing more
/// than the two at twice its place and one or two on; those that are not, of all its pairs, in `at`, with room for twice as many as may be
/// kept, and how many have each power of two. Below the power `least`, of which `floor` is the first growth, none can be kept. Pairs come
/// in ascending order; before each its number, its weight `times` and `own` are set.
typedef struct tgiHardLog {
  tgiHardLeaves own;
  int few, n, keep, least, pair, read, count[TGI_HARD_POWERS];
  double times, floor;
  tgiHardLeaf *at;
} tgiHardLog;

/// Of a leaf with the weight w and sum S of its pair: their values go like S for a gap of 12/S.
static inline double tgi_hard_growth(const tgiHardLog *h, tgReal share, tgReal w, tgReal S) {
  return h->times * tgRe(share * w * S * S * S);
}

// ilogb, which is a call
static inline int tgi_hard_power(double growth) {
  uint64_t bits;
  memcpy(&bits, &growth, sizeof bits);
  return growth >= DBL_MIN && growth < INFINITY ? TGI_HARD_ZERO + (int)(bits >> 52) - 1023 : 0;
}

/// May one that grows so be kept?
static inline bool tgi_hard_wanted(const tgiHardLog *h, double growth) {
  if (h->own.n < h->few || (h->few > 0 && growth > h->own.at[0].growth)) return true;
  return h->keep > 0 && growth >= h->floor;
}

/// The least power of which, and of those above, there are `most` leaves at most; *left: how many more of the power below make them `most`.
int tgi_hard_least(const int count[TGI_HARD_POWERS], long most, long *left);

void tgi_hard_begin(tgiHardLog *h);

/// Notes one that is wanted.
void tgi_hard_note(tgiHardLog *h, const tgiHardLeaf *leaf);

/// The leaves of n pairs to `at`, one pair's after the other's: their own, where to[i] has them, and the `keep` hardest of all others that
/// the logs have; of one power of two the first pairs'. Which these are, and in which order, does not depend on what thread summed a pair.
void tgi_hard_gather(tgiHardLog *const *log, int nlog, tgiHardLeaves *to, int n, tgiHardLeaf *at);

/// Leaves out those as far apart, and of those that are not a pair's own all but the hardest, so that `most` stay if there are not
/// more of pairs' own. Returns how many stay.
long tgi_hard_within(tgiHardLeaves *h, int n, double gap, long most);

#endif
