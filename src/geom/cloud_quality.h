// cloud_quality.h: how even a cloud is, and how well it keeps to its creases.
#ifndef TG_GEOM_CLOUD_QUALITY_H
#define TG_GEOM_CLOUD_QUALITY_H

#include "geom/cloud.h"
#include "tangere/geometry.h"

/// TG_ERR_MEMORY. A plane has none: all zero.
tgStatus tgi_cloud_quality(const tgCloud *cloud, const tgAllocator *allocator, tgCloudQuality *quality);

#endif
