// tessellate.h: closed triangle surfaces of primitives and cleaned ones of meshes, with vertices linear in the sizes.
//
// Barrier contact sees a geom as triangles. The sizes of geoms are parameters, so a vertex is kept as the matrix that maps the three sizes
// to it, and faces never change: x_i = sum_j coef[9 k + 3 i + j] size_j  [math/barrier Surfaces].
#ifndef TG_GEOM_TESSELLATE_H
#define TG_GEOM_TESSELLATE_H

#include "base/status.h"
#include "math/real.h"
#include "tangere/desc.h"

/// Triangles in the geom frame, counter-clockwise seen from outside where there is an outside. Every vertex is used by a face,
/// but for an ellipsoid's semi-axes.
typedef struct tgiSurface {
  int nvert, nface;
  int ndropped;             ///< degenerate faces of the mesh that were left out
  double *coef;             ///< nvert x 3 x 3; size is tgGeomDesc.size of a primitive, the scale of a mesh
  double *inwards;          ///< nvert x 3: how vertices move where the surface lies a unit of length deeper
                            ///< (tgi_surface_inwards); NULL: not wanted
  int *face;                ///< nface x 3
  bool core;                ///< the faces are the core of a solid: it is all that is within their radius (tgi_surface_core)
  bool segment;             ///< of a core: the third corner of its face is the second again
  bool oval;                ///< of a core: an ellipsoid around the point of its face; the ends of its semi-axes are vertices 1 to 3, of
                            ///< no face
  double radius[3];         ///< of a core: the radius around it is the sum of radius[j] size[j]
  bool rounds;              ///< takes a radius around its faces that is asked for: a box, a cylinder, a mesh
  double shrink[3];         ///< by how much sizes are less then, over the radius, so that flat sides stay where they are; 0 of a mesh
  int *origin;              ///< nface: face of the mesh as it was given; of a primitive its own number
  tgAllocator alloc;
} tgiSurface;

/// Largest depth of a face under the true surface, relative to the largest size.
#define TGI_CHORD 0.01

/// A face counts as degenerate when its height is at most this part of its longest edge (or it is shorter than 1e-100);
/// thicker slivers are kept.
#define TGI_SLIVER 1e-9

/// Inscribed surface of a primitive (not plane, not mesh). size (positive) chooses only how many rows a long side gets, so that triangles
/// stay regular. chord in (0, 0.3). TG_ERR_ARG, TG_ERR_MEMORY.
tgStatus tgi_surface_primitive(tgGeomType type, const double size[3], double chord, const tgAllocator *allocator, tgiSurface *surface);

/// The primitive itself, as a core with a radius around it: of a sphere its centre, of a capsule its axis. One face, whose
/// corners coincide as far as the core has fewer than three. An ellipsoid's is its centre too, with its semi-axes in place of a radius.
/// TG_ERR_ARG: another type, or a size that is not positive.
/// [math/barrier Rounded primitives]
tgStatus tgi_surface_core(tgGeomType type, const double size[3], const tgAllocator *allocator, tgiSurface *surface);
/// Radius around the core for the sizes `size`; of a surface without one 0.
tgReal tgi_surface_radius(const tgiSurface *surface, const tgReal size[3]);

/// The mesh as it is, open or closed, non-convex; vertices at the same place become one, degenerate faces go.
/// TG_ERR_INVALID with a sentence about "it", the mesh: no face is left, or a face names no vertex; TG_ERR_NOT_FINITE;
/// TG_ERR_LIMIT beyond 1e100; TG_ERR_MEMORY.
tgStatus tgi_surface_mesh(const double *vert, int nvert, const int *face, int nface, const tgAllocator *allocator, tgiSurface *surface,
                          tgError *error);
/// same[i]: the first vertex at the place of vertex i. Refuses what tgi_surface_mesh refuses of faces and vertices.
tgStatus tgi_mesh_weld(const double *vert, int nvert, const int *face, int nface, const tgAllocator *allocator, int *same, tgError *error);
void tgi_surface_free(tgiSurface *surface);
/// How many faces of a mesh are degenerate; *first (may be NULL): the first, -1 when none is. Faces must index vertices.
int tgi_surface_degenerate(const double *vert, const int *face, int nface, int *first);

/// Makes `inwards`: each vertex moves so that the faces around it, which are as at the sizes `size`, lie deeper by 1,
/// by least squares where no move does that for all of them, and at most by TGI_INWARDS_MOST. TG_ERR_MEMORY.
tgStatus tgi_surface_inwards(tgiSurface *surface, const double size[3]);
#define TGI_INWARDS_MOST 3.0

/// Vertices (nvert x 3) for the sizes `size`, and their derivative in size j: dvert.
void tgi_surface_place(const tgiSurface *surface, const tgReal size[3], tgReal *vert);
void tgi_surface_place_d(const tgiSurface *surface, int j, tgReal *dvert);
/// The same of a surface that has the radius `rounding` around its faces, and the derivative in that. The radius itself is `rounding`
/// where the surface rounds. [math/barrier Rounded primitives]
void tgi_surface_place_rounded(const tgiSurface *surface, const tgReal size[3], tgReal rounding, tgReal *vert);
void tgi_surface_place_rounded_d(const tgiSurface *surface, tgReal *dvert);

#endif
