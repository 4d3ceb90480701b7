// cloud_quality.h: how even a cloud is, and how well it keeps to its creases.
#ifndef TG_GEOM_CLOUD_QUALITY_H
#define TG_GEOM_CLOUD_QUALITY_H

#include "geom/cloud.h"

/// Lengths are over the spacing asked for, areas over its square.
typedef struct tgCloudQuality {
  double near_mean, near_deviation, near_least, near_most;  ///< distance to the nearest neighbour that faces the same way (within 60 degrees)
  int nalone;                                               ///< points that have none within two spacings; not counted above
  double area_mean, area_deviation, area_least, area_most;  ///< of the patches
  int ncrease;                                              ///< edges of patches where normals turn by more than 30 degrees
  double crease_inset;                                      ///< mean distance of the points on their two sides to them
  double crease_error, crease_worst;  ///< half the difference of the two distances, mean by length and worst: so far the cloud's edge is off
} tgCloudQuality;

/// TG_ERR_MEMORY. A plane has none: all zero.
tgStatus tgi_cloud_quality(const tgCloud *cloud, const tgAllocator *allocator, tgCloudQuality *quality);

#endif
