// tessellate.h: polytopes: boxes, and inscribed in cylinders and ellipsoids.
#ifndef TG_TEST_TESSELLATE_H
#define TG_TEST_TESSELLATE_H

#include "geom/hull.h"

/// All: TG_ERR_ARG for sizes that are not positive or too few sides; TG_ERR_MEMORY.
/// Box of half sizes `half`: 8 vertices, 12 edges, 6 faces in the order of tgi_hull_box_fill.
tgStatus tgt_hull_box(const double half[3], const tgAllocator *allocator, tgHullOwned **hull);
/// Cylinder about z, inscribed prism of nside >= 3 sides: lies inside, at most r (1 - cos(pi/nside)) below the surface.
tgStatus tgt_hull_cylinder(double radius, double half, int nside, const tgAllocator *allocator, tgHullOwned **hull);
/// Ellipsoid, inscribed: 2 poles on z and nring >= 1 rings of nside >= 3 vertices at equal steps of latitude. Of a unit
/// sphere, faces lie at most 1 - cos(pi/nside) cos(pi/(2 (nring + 1))) below the surface; times the largest semi-axis.
tgStatus tgt_hull_ellipsoid(const double semi[3], int nring, int nside, const tgAllocator *allocator,
                            tgHullOwned **hull);

#endif
