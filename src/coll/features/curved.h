// curved.h: the best contact of two bodies, at least one curved, in which neither touches with a face.
#ifndef TG_COLL_FEATURES_CURVED_H
#define TG_COLL_FEATURES_CURVED_H

#include "coll/features/convex.h"
#include "coll/features/smooth.h"

/// Features fx of X and fy of Y, stationary and within their ranges; or, with found false, where there are none so good, a
/// direction (working frame, from Y to X) along which the bodies are `held` apart, -infinity when none was looked for. Numbers:
/// sphere or capsule TGI_AT_*; cylinder: rims 0 (-z) and 1, side 2; ellipsoid 0; polytope: vertex, or number of vertices + edge.
typedef struct tgiSmoothPair {
  bool found, tie;
  int fx, fy;
  double gap, held, direction[3];
  tgiSmooth A, B;
  tgiStationary z;
} tgiSmoothPair;

/// What the search needs beside the bodies.
typedef struct tgiSearch {
  const tgiPair *P;
  const tgiConvex *X, *Y;
  double tol, h;              ///< tie, hysteresis
  int mem_x, mem_y;           ///< remembered features, -1: none
  const double *face;         ///< direction (from Y to X) and gap of a face's contact that there already is; NULL, -infinity
  double face_gap;
} tgiSearch;

/// Depth of the cores below which only one direction needs to be tried: 0 for a point or segment, whose distance has one
/// least value while it is apart; else a tenth of the thinner body's half width.
double tgi_shallow(const tgiConvex *X, const tgiConvex *Y);
/// How many features a body has.
int tgi_smooth_features(const tgiConvex *C);

/// The largest separation over the features near the directions that the search finds; the remembered pair when it is within h of
/// it. *bound: a separation that some direction leaves.
void tgi_smooth_search(const tgiSearch *S, tgiSmoothPair *best, double *bound);

#endif
