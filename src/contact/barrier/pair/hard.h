// hard.h: the leaves of two surfaces, or of one before a half-space, that harden most: few of them make a Newton step's parabola wrong.
// [math/barrier Minimisation]
#ifndef TG_CONTACT_BARRIER_PAIR_HARD_H
#define TG_CONTACT_BARRIER_PAIR_HARD_H

#include "math/real.h"

/// Leaves a of A and b of B (a half-space: 0), about how far apart; share of their value in the sum; growth: what they are chosen by.
typedef struct tgiHardLeaf { int a, b; tgReal share; double gap, growth; } tgiHardLeaf;

/// The hardest of them, in no order; n 0 before the first. least: place of the one that the next harder takes, once there is no more room.
typedef struct tgiHardLeaves { int n, room, least; tgiHardLeaf *at; } tgiHardLeaves;

/// Leaves out those that are farther apart. Returns how many stay.
static inline int tgi_hard_within(tgiHardLeaves *h, double gap) {
  int n = 0;
  for (int i = 0; i < h->n; i++)
    if (h->at[i].gap < gap) h->at[n++] = h->at[i];
  return h->n = n;
}

/// Notes a leaf with the weight w and sum S of its pair where it is among the hardest: their values go like S for a gap of 12/S.
static inline void tgi_hard_note(tgiHardLeaves *h, int a, int b, tgReal share, tgReal w, tgReal S) {
  const tgiHardLeaf leaf = {.a = a, .b = b, .share = share, .gap = 12 / tgRe(S), .growth = tgRe(share * w * S * S * S)};
  if (h->n == h->room) {
    if (h->room == 0 || !(leaf.growth > h->at[h->least].growth)) return;
    h->at[h->least] = leaf;
  } else {
    h->at[h->n++] = leaf;
  }
  if (h->n < h->room) return;
  h->least = 0;
  for (int i = 1; i < h->n; i++)
    if (h->at[i].growth < h->at[h->least].growth) h->least = i;
}

#endif
