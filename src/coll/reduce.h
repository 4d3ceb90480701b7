// reduce.h: how far a mesh with fewer triangles is from the one that it was made of, and what it has lost.
#ifndef TG_COLL_REDUCE_H
#define TG_COLL_REDUCE_H

#include "tangere/desc.h"

/// A mesh as it is given: vertices, and triangles counter-clockwise from outside.
typedef struct tgiFaces { const double *vert; int nvert; const int *face; int nface; } tgiFaces;

/// The farthest that a point of one surface lies from the other, both ways: no point lies farther than `most`, and that at `at`
/// lies at most 1 % of that or 1e-4 of the mesh's size nearer. after: it is a point of the second.
typedef struct tgiFarthest { double most, at[3]; bool after; } tgiFarthest;
/// TG_ERR_MEMORY. Both have a triangle.
tgStatus tgi_reduce_distance(const tgiFaces *before, const tgiFaces *after, const tgAllocator *allocator, tgiFarthest *farthest);

/// What a mesh is by its edges and corners: parts that hang together; through holes of a closed mesh, -1 where it is open
/// or has edges of another number of faces than two; edges of one face and of an odd way round.
typedef struct tgiTopology { int parts, holes, nopen, npinched, nodd; } tgiTopology;
/// Vertices at one place are one. TG_ERR_MEMORY.
tgStatus tgi_reduce_topology(const tgiFaces *mesh, const tgAllocator *allocator, tgiTopology *topology);

#endif
