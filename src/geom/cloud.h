// cloud.h: area-oriented point clouds of geoms: points on the surface with outward normals, spaced alike, kept off creases and corners.
//
// Based on: [softmin III]. A signed distance by soft minimum is right at a crease when the points on its two sides are
// equally far from it, for then the bisector of nearest points is that of the crease; a point on an edge or corner is
// an artefact [math/softmin Clouds]. A cloud belongs to sizes, which are parameters: point i keeps to the same place
// u_i of the unit shape (unit sphere, box and cylinder of half lengths 1, the mesh at scale 1), with the vector area
// a_i there, and for other sizes
//   p = S u + s size_1 e_z,  normal = N/|N|,  area = |N|,  N = cof(S) a,  S = diag(size[axis_0], size[axis_1], size[axis_2])
// where axis and s are those of the part of the shape: a capsule's caps scale with the radius and shift (s = -1, 1) with the half length.
#ifndef TG_GEOM_CLOUD_H
#define TG_GEOM_CLOUD_H

#include "base/status.h"
#include "math/real.h"
#include "tangere/desc.h"

/// Most points of a cloud.
#define TGI_CLOUD_MOST (1 << 22)

/// A geom's cloud in the geom's frame [m]. Each point has a patch of the surface; patches cover it once and are polygons of vertices.
typedef struct tgCloud {
  tgGeomType type;
  bool flat;                ///< plane: n is 1, the origin with normal +z; the half-space z <= 0 is solid; no patch
  int n;
  int nflip;                ///< faces of the mesh that were turned over, which was asked for
  double spacing;           ///< asked for [m]
  int grid[3];              ///< of a box: points along each axis, where they are at the same places on all sides that it runs along; else 0
  double first[3];          ///< the first of these places, in half lengths; the others follow evenly, up to -first
  tgReal size[3];           ///< sizes (tgGeomDesc.size), or the scale of a mesh, of the numbers below
  tgReal *p, *normal;       ///< n x 3: points, outward unit normals
  double *area;             ///< n: of the patches [m^2]; infinite for a plane
  int nvert;
  tgReal *vert;             ///< nvert x 3: corners of patches
  int *corner_at, *corner;  ///< n + 1; patch i has the vertices corner[corner_at[i]] .. corner[corner_at[i + 1] - 1],
                            ///< counter-clockwise from outside
  double *unit, *extent;    ///< n x 3: u, a
  double *vert_unit;        ///< nvert x 3: u
  unsigned char *part, *vert_part;
  void *block;
  tgAllocator alloc;
} tgCloud;

/// Cloud of a primitive (a plane too, not a mesh), points about `spacing` [m] apart. Areas sum to the surface's:
/// exactly (to rounding) but for the ellipsoid, where quadrature of its cells leaves below 1e-6 of it. TG_ERR_ARG: a
/// size or the spacing is not positive and finite;
/// TG_ERR_LIMIT: more than TGI_CLOUD_MOST points; TG_ERR_MEMORY. The sentence is about "it", the geom.
tgStatus tgi_cloud_primitive(tgGeomType type, const double size[3], double spacing, const tgAllocator *allocator,
                             tgCloud *cloud, tgError *error);

/// Cloud of a closed mesh, non-convex, in several pieces and with holes (vertices at one place are one). Creases are
/// edges that turn by more than 30 degrees: points on their sides are in pairs at equal distances, points elsewhere
/// even (Lloyd's steps), all on the mesh. A patch is what is nearest to its point without crossing a crease; normals
/// are the mean of its faces by area, areas sum to the mesh's. A patch's polygon has the same corners as its
/// neighbours'. scale: the sizes of the geom; points are about `spacing` apart in it.
/// repair: faces are turned over where that makes the mesh consistent and outward (nflip); holes are never closed.
/// TG_ERR_INVALID with a sentence about "it" that names the first bad edge by vertices and places: open, of
/// three or more faces, wound inconsistently; or inside out, without volume, a face that names no vertex.
/// TG_ERR_ARG, TG_ERR_LIMIT (too many points, or far from the origin), TG_ERR_NOT_FINITE, TG_ERR_MEMORY. The
/// same mesh gives the same bits.
tgStatus tgi_cloud_mesh(const double *vert, int nvert, const int *face, int nface, const double scale[3], double spacing, bool repair,
                        const tgAllocator *allocator, tgCloud *cloud, tgError *error);
void tgi_cloud_free(tgCloud *cloud);

/// Points, normals and vertices (each may be NULL) for other sizes, linear in them but for the normals. A size that
/// is used must not be 0, where normals have no limit (positive for primitives); a mesh that a negative scale
/// mirrors keeps outward normals.
void tgi_cloud_place(const tgCloud *cloud, const tgReal size[3], tgReal *p, tgReal *normal, tgReal *vert);
/// Adjoint of tgi_cloud_place at `size`: size_bar += dp' p_bar + dnormal' normal_bar + dvert' vert_bar (each may be NULL).
void tgi_cloud_place_vjp(const tgCloud *cloud, const tgReal size[3], const tgReal *p_bar, const tgReal *normal_bar, const tgReal *vert_bar,
                         tgReal size_bar[3]);
/// The cloud itself for other sizes, areas too. TG_ERR_ARG: a size that is used is 0, not finite, or of a primitive and
/// negative; nothing changes.
tgStatus tgi_cloud_resize(tgCloud *cloud, const tgReal size[3]);

#endif
