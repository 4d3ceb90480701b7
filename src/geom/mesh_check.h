// mesh_check.h: is a triangle soup a closed, consistently wound solid, and how flat is it.
//
// All tests are free of scale: lengths are compared with the diagonal of the bounding box, never with a constant.
#ifndef TG_GEOM_MESH_CHECK_H
#define TG_GEOM_MESH_CHECK_H

#include "tangere/desc.h"

/// Thickness, relative to the diagonal of the bounding box, below which points count as coincident, collinear,
/// coplanar.
#define TGI_FLAT 1e-6

typedef enum tgExtent { TG_EXTENT_POINT, TG_EXTENT_LINE, TG_EXTENT_PLANE, TG_EXTENT_SOLID } tgExtent;

/// Dimension that the points span. diagonal (may be NULL): of their bounding box.
tgExtent tgi_points_extent(const double *point, int npoint, double *diagonal);
/// "coincident", "collinear", "flat" or "solid".
const char *tgi_extent_word(tgExtent extent);

/// Findings about a mesh. An edge is a pair of vertices; `first` is the one with the least vertex numbers.
typedef struct tgMeshCheck {
  int nopen; ///< edges that only one face has
  int nloop; ///< connected pieces of the open border
  int open_edge[2], open_face;
  int nwinding; ///< edges that their two faces run through in the same direction
  int winding_edge[2], winding_face[2];
  int ncrowded; ///< edges of three or more faces
  int crowded_edge[2];
  tgExtent extent;
  double diagonal; ///< of the bounding box [m]
  double volume;   ///< signed [m^3]: negative when the faces of a closed mesh point inwards
  bool no_volume;  ///< |volume| <= 1e-12 diagonal^3
} tgMeshCheck;

/// Fills check. Faces must index below nvert. TG_ERR_MEMORY only.
tgStatus tgi_mesh_check(const double *vert, int nvert, const int *face, int nface, const tgAllocator *allocator,
                        tgMeshCheck *check);
/// TG_OK when a solid inertia can be had from the mesh, else TG_ERR_INVALID and a sentence about "it", the
/// mesh, with the first edge: open, crowded, wound inconsistently, inside out, flat or without volume.
tgStatus tgi_mesh_check_solid(const tgMeshCheck *check, tgError *error);
/// Turns faces over so that neighbours agree and every closed piece has positive volume. *nflip: how many.
/// TG_ERR_MEMORY; TG_ERR_INVALID when a piece cannot be oriented (a Moebius strip), which leaves the faces as they
/// were.
tgStatus tgi_mesh_orient(const double *vert, int nvert, int *face, int nface, const tgAllocator *allocator, int *nflip,
                         tgError *error);

#endif
