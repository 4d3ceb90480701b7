// pair_local.h: the pair of triangles with a barrier of short reach, as in SDRS: zero where a slab of that width parts them.
// [math/barrier Short reach]
//
//   P = min over n, d of b(1 - |n|) + sum c_k b(m_k),  m_k = s_k (n.x_k + d) - r_k |n|,  b(x) = -(x - x0)^2 log(x/x0)/x below x0, else 0
// is twice differentiable everywhere apart, infinite when the triangles touch, and 0 from the gap 2 x0/(1 - x0) on.
// Conventions as in pair.h.
#ifndef TG_CONTACT_BARRIER_PAIR_PAIR_LOCAL_H
#define TG_CONTACT_BARRIER_PAIR_PAIR_LOCAL_H

#include "contact/barrier/pair/pair.h"

/// b(x) = -(x - x0)^2 log(x/x0)/x below x0, else 0: value and two derivatives, x > 0.
void tgi_local_barrier(tgReal x, double x0, tgReal b[3]);

/// Gap from which on two triangles cost nothing.
static inline double tgi_local_reach(double x0) { return 2 * x0/(1 - x0); }

/// One pair at its best plane.
typedef struct tgiPairLocal {
  tgReal P;            ///< INFINITY when they touch
  tgReal g[6], H[21];  ///< derivatives for a twist of A, as in tgiPair
  tgReal n[3], d;      ///< the plane, |n| < 1, relative to the pivot; where P is 0 one that shows it
  int iterations;      ///< Newton steps
} tgiPairLocal;

/// Solves for the pair of triangles x with support x0, 0 < x0 < 1. warm: start from the plane in *r where it separates.
/// False when the triangles touch: then P is INFINITY, all else 0.
bool tgi_pair_local_solve(const tgReal x[18], const tgiPairCores *cores, double x0, bool warm, tgiPairLocal *r);

/// Force and rates as in pair.h, dP in place of dS. Where P is 0 so is N, the points are the centroids, and all rates are 0.
void tgi_pair_local_force(const tgReal x[18], const tgiPairCores *cores, double x0, const tgiPairLocal *r, tgiPairForce *f);
void tgi_pair_local_rate_d(const tgReal x[18], const tgiPairCores *cores, double x0, const tgiPairLocal *r, const tgiPairField *field,
                           tgReal *dP, tgReal dg[6], tgiPairForce *df);
void tgi_pair_local_force_d(const tgReal x[18], const tgiPairCores *cores, double x0, const tgiPairLocal *r, tgiPairForce df[6]);

#endif
