// cloud_geom.h: clouds of a model's geoms.
#ifndef TG_COLL_CLOUDS_CLOUD_GEOM_H
#define TG_COLL_CLOUDS_CLOUD_GEOM_H

#include "geom/cloud.h"
#include "model/model.h"

/// Cloud of geom g of the model at its own sizes, points about `spacing` [m] apart: of a mesh its faces as they are,
/// which must be a closed surface (of a mesh of points alone: its hull's). Statuses of tgi_cloud_primitive and
/// tgi_cloud_mesh, with a sentence that names geom and mesh.
tgStatus tgi_cloud_of_geom(const tgModel *m, int g, double spacing, const tgAllocator *allocator, tgCloud *cloud, tgError *error);

#endif
