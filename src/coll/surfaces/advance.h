// advance.h: how far along a step of the coordinates no two surfaces touch.
//
// Based on: [math/collision Step]. The path is q (+) alpha d, alpha in [0, 1]; every joint moves at constant rate along it.
#ifndef TG_COLL_SURFACES_ADVANCE_H
#define TG_COLL_SURFACES_ADVANCE_H

#include "coll/surfaces/sweep.h"
#include "sim/sim.h"

/// Pairs of geoms that must not touch, and what is known of their distances. The arrays are the caller's.
typedef struct tgiAdvance {
  int npair;
  const int *geom1, *geom2;          ///< npair: geoms of the sim's model; one of them may be a plane
  const tgiSolid *solid;             ///< ngeom, with the sim's numbers; surface NULL: a plane, or in no pair
  double sunk;                       ///< how far half-spaces lie under their planes [m]
  double *bound;                     ///< npair: kept from call to call: at q the pair is at least that far apart
  tgReal *q;                         ///< nq
  const double *apart;               ///< npair: distances at least at the q of the next call, from elsewhere; NULL: none are known
  bool known;                        ///< bound and q hold; set to false when a step begins, the state or a size changes
  int rounds, queries, sweeps;       ///< of the last call: rounds, and pairs whose distance or motion was looked into
  bool plain;                        ///< speed bounds alone, all distances anew: the twin for tests
} tgiAdvance;
enum { TGI_ADVANCE_ROUNDS = 20 };

/// Largest fraction found, in (0, 1], of the tangent step d from the pose `from` (not s->trial), at q, up to which
/// every pair keeps a tenth of its distance at q (of a pair that was out of reach then, at the round that looked at
/// it); 0 when a pair touches already. What is remembered changes the time, not the
/// result. s->trial is undefined afterwards. Scratch from the sim's stack: TG_ERR_CAPACITY when short.
tgStatus tgi_advance(tgSim *s, tgiAdvance *a, const tgPose *from, const tgReal *d, double *fraction);

/// For each geom (reach: ngeom) how far it reaches along the whole step: a pair is as if it were not there, to the bit,
/// where more is left between the spheres around its surfaces (the roots of their trees) than both reach together. A
/// half-space that stands still reaches nowhere; of one that moves it is INFINITY.
void tgi_advance_reach(tgSim *s, const tgiAdvance *a, const tgPose *from, const tgReal *d, double *reach);

#endif
