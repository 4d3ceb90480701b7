// sites.h: where the potential of two surfaces grows fastest: the few pairs of triangles, or triangles before a half-space, whose own
// second derivative is largest. [math/barrier Minimisation]
#ifndef TG_CONTACT_BARRIER_PAIR_SITES_H
#define TG_CONTACT_BARRIER_PAIR_SITES_H

#include "math/real.h"

enum { TGI_SITES = 8 };

/// Leaves a of A and b of B (a half-space: -1) with the plane between them about A's origin; share of P(S*) in the sum.
typedef struct tgiSite { int a, b; tgReal u[3], delta; double D, share, growth; } tgiSite;

/// The largest of them in no order; n 0 before the first.
typedef struct tgiSites { int n; tgiSite at[TGI_SITES]; } tgiSites;

/// Notes a site where it is among the largest.
static inline void tgi_sites_note(tgiSites *s, const tgiSite *site) {
  int to = s->n;
  if (to == TGI_SITES) {
    to = 0;
    for (int i = 1; i < TGI_SITES; i++)
      if (s->at[i].growth < s->at[to].growth) to = i;
    if (!(site->growth > s->at[to].growth)) return;
  } else s->n++;
  s->at[to] = *site;
}

#endif
