// hull_assemble.h: a polytope from its vertices and face loops (private to geom/).
#ifndef TG_GEOM_HULL_ASSEMBLE_H
#define TG_GEOM_HULL_ASSEMBLE_H

#include "geom/hull.h"

/// Fills edges, adjacency, planes and radius. Loops run counter-clockwise from outside. TG_ERR_INTERNAL when an edge
/// is not run exactly once each way; TG_ERR_MEMORY. Not checked further: see tgi_hull_check.
tgStatus tgi_hull_assemble(const double *vert, int nvert, const int *face_adr, const int *face_vert, int nface,
                           const tgAllocator *allocator, tgHullOwned **hull, tgError *error);

#endif
