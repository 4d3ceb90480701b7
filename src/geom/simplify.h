// simplify.h: fewer triangles for a mesh, by meshoptimizer where it is built in.
#ifndef TG_GEOM_SIMPLIFY_H
#define TG_GEOM_SIMPLIFY_H

#include "base/status.h"
#include "tangere/desc.h"

/// Name and version of the library that reduces meshes, "" when none is built in.
const char *tgi_simplifier(void);

/// The mesh with about `budget` triangles: *out (nface x 3 room) gets those that are left, corners at vertices of the mesh, and
/// *nout how many they are. Edges collapse to one of their ends, the least moving of the surface first, and none that turns a
/// triangle over, so that more may be left than asked for. Vertices that are the same number as float relative to the mesh's size become
/// one. Same mesh, same triangles. Faces must index below nvert and vertices be finite. The texts speak of "it", the mesh.
/// TG_ERR_UNSUPPORTED: no library built in; TG_ERR_INVALID: no triangle is left; TG_ERR_MEMORY.
tgStatus tgi_simplify(const double *vert, int nvert, const int *face, int nface, int budget, const tgAllocator *allocator,
                      int *out, int *nout, tgError *error);

#endif
