// soft_contacts.h: soft contact points (soft_field.h) of the pairs of a simulation, in place of the narrow phase's.
#ifndef TG_COLL_CLOUDS_SOFT_CONTACTS_H
#define TG_COLL_CLOUDS_SOFT_CONTACTS_H

#include "coll/clouds/soft_field.h"
#include "sim/sim.h"

/// Clouds of the geoms that are in pairs, at the model's sizes: const after creation. n of a cloud is 0 where the geom is in none.
typedef struct tgiSoftClouds {
  tgAllocator alloc;
  int ngeom;
  tgCloud *cloud;
  double eps1, eps2;        ///< as in the options; 0: spacing^2, spacing/20
  size_t scratch;           ///< bytes of a sim's stack that a pair needs
} tgiSoftClouds;

/// spacing: of points [m]; 0: a sixth of the geom's bounding radius. Statuses of tgi_cloud_of_geom: a mesh that is no
/// closed surface is named with its first bad edge; on failure nothing is left to free.
tgStatus tgi_soft_clouds_make(const tgModel *m, double spacing, double eps1, double eps2, const tgAllocator *allocator,
                              tgiSoftClouds **clouds, tgError *error);
void tgi_soft_clouds_free(tgiSoftClouds *clouds);

/// As tgi_collide (narrow.h) for a pair of the sim, d: with D. distance: least gap of the points, margin when there is
/// none. Negative with the error set: TG_ERR_CAPACITY, TG_ERR_LIMIT.
int tgi_soft_collide(tgSim *s, const tgPose *pose, int pair, double margin, bool d, tgContactPoint out[TG_PAIR_POINTS], double *distance);

#endif
