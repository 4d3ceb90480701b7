// ccd.h: continuous collision: when do two features whose vertices move along straight lines first come as near as a gap?
//
// Based on: [math/collision Continuous]; additive conservative advancement [ACCD], sharpened by planes that are held fixed.
#ifndef TG_COLL_SURFACES_CCD_H
#define TG_COLL_SURFACES_CCD_H

#include "tangere/base.h"

/// What the search found.
typedef struct tgiCcd {
  bool hit;            ///< the distance falls to gap + tol, or the rounds ran out (rounds = TGI_CCD_ROUNDS)
  double t;            ///< until this time in [0, 1] the distance is at least gap; 1 without a hit. Of a hit: it is at most gap + tol there
  double distance;     ///< at the last round
  double n[3];         ///< unit, from the second to the first, of the last round; 0 where they meet
  int rounds;
} tgiCcd;
enum { TGI_CCD_ROUNDS = 500 };

/// Vertices x(t) = x0 + t (x1 - x0), t in [0, 1]; tol > 0, at least 1e-14 of the largest coordinate, gap >= 0. A distance that falls to the
/// gap is never missed; one that stays above gap + tol is no hit; between the two, either.
/// The first na vertices are those of one feature, the next nb of the other: vertex and face (1, 3), edge and edge (2,
/// 2), triangle and triangle (3, 3).
tgiCcd tgi_ccd(const double *x0, const double *x1, int na, int nb, double gap, double tol);

#endif
