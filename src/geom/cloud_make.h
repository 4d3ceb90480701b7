// cloud_make.h: what the makers of clouds share.
#ifndef TG_GEOM_CLOUD_MAKE_H
#define TG_GEOM_CLOUD_MAKE_H

#include "geom/cloud.h"

/// Parts of shapes, whose sizes scale their three axes and shift them.
typedef enum tgiCloudPart { TGI_PART_BODY, TGI_PART_BALL, TGI_PART_TUBE, TGI_PART_LOW, TGI_PART_HIGH } tgiCloudPart;

/// Room for n points, nvert vertices and ncorner corners of patches; numbers are zero, part TGI_PART_BODY. TG_ERR_MEMORY.
tgStatus tgi_cloud_room(tgGeomType type, double spacing, int n, int nvert, int ncorner, const tgAllocator *allocator, tgCloud *cloud);
/// TG_OK when a spacing is positive, finite and within what areas of doubles allow, else TG_ERR_ARG.
tgStatus tgi_cloud_spacing(double spacing, tgError *error);
/// TG_OK when `points` (a count, or more than an int holds) is at most TGI_CLOUD_MOST, else TG_ERR_LIMIT.
tgStatus tgi_cloud_fits(double points, double spacing, tgError *error);

tgStatus tgi_cloud_box(const double half[3], double spacing, const tgAllocator *allocator, tgCloud *cloud, tgError *error);
/// sphere, capsule, cylinder, ellipsoid
tgStatus tgi_cloud_round(tgGeomType type, const double size[3], double spacing, const tgAllocator *allocator,
                         tgCloud *cloud, tgError *error);

#endif
