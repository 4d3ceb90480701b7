// decompose.h: cutting a mesh into convex pieces, by CoACD where it is built in.
#ifndef TG_GEOM_DECOMPOSE_H
#define TG_GEOM_DECOMPOSE_H

#include "geom/pieces.h"

/// Name and version of the library that cuts, "" when none is built in.
const char *tgi_decomposer(void);

/// How far the hull of a piece may be from the mesh, and its range: CoACD's concavity, about a distance in a mesh scaled to the
/// box -1..1.
#define TGI_DECOMPOSE_THRESHOLD 0.05
#define TGI_DECOMPOSE_LEAST 0.01
#define TGI_DECOMPOSE_MOST 1.0

/// Cuts a mesh of nvert x 3 vertices and nface x 3 indices. The library runs in a process of its own, one thread, so that its
/// failures are errors here and the same mesh gives the same pieces; this takes seconds to minutes. Its files are not our
/// concern, it writes none. The texts speak of "it", the mesh. TG_ERR_UNSUPPORTED: no library built in; TG_ERR_FILE: the library
/// cannot be loaded; TG_ERR_INVALID: it finds no pieces or fails; TG_ERR_LIMIT: ten minutes of processor time, too many
/// pieces; TG_ERR_MEMORY.
tgStatus tgi_decompose(const double *vert, int nvert, const int *face, int nface, double threshold, const tgAllocator *allocator,
                       tgPieces *pieces, tgError *error);

/// Box about the mesh in which its pieces must lie: its own and a tenth of its diagonal on each side (remeshing moves vertices).
void tgi_decompose_box(const double *vert, int nvert, double low[3], double high[3]);

#endif
