// hull.h: convex polytopes: vertices, edges and planar polygon faces with their adjacency.
//
// The one form in which convex meshes and boxes reach collision. Built once
// (qhull, result checked by us), const afterwards; arrays belong to the model's block or to tgHullOwned.
#ifndef TG_GEOM_HULL_H
#define TG_GEOM_HULL_H

#include "math/real.h"

/// Polytope in the geom's frame. Faces are maximal planar polygons (coplanar triangles merged).
typedef struct tgHull {
  int nvert, nedge, nface;
  const tgReal *vert;       ///< nvert x 3
  const int *edge;          ///< nedge x 4: v0, v1, left face (v0->v1 runs counter-clockwise in it), right face
  const int *face_adr;      ///< nface + 1: where face f's loop starts in face_vert and face_edge
  const int *face_vert;     ///< loops, counter-clockwise seen from outside
  const int *face_edge;     ///< edge from face_vert[k] to its successor in the loop
  const tgReal *face_plane; ///< nface x 4: outward unit normal, offset: n.x = offset on the face
  const int *vert_adr;      ///< nvert + 1: where vertex v's neighbours start in vert_next
  const int *vert_next;     ///< neighbouring vertices
  double radius;            ///< largest |vertex|
  double box[2][3];         ///< least and largest of the vertices along each axis; of hulls that are made here
} tgHull;

/// Vertices of a face lie within this part of the hull's size of its plane, and so do points that count as inside.
/// Facets of a mesh whose normals differ by no more than its coordinates' rounding (6 digits) are thereby one face.
#define TGI_HULL_TOLERANCE 1e-5

/// A mesh whose hull has more volume by this part of its own counts as concave.
#define TGI_HULL_CONCAVE 0.01

/// A hull with its memory, in one block: counts of its arrays are nvert x 3, nedge x 4, nface + 1, 2 nedge, 2 nedge,
/// nface x 4, nvert + 1, 2 nedge, in the order of tgHull.
typedef struct tgHullOwned {
  tgHull hull;
  tgAllocator alloc;
} tgHullOwned;

/// Convex hull of npoint x 3 points. TG_ERR_INVALID: fewer than 4, coincident, collinear or flat (the text says which);
/// TG_ERR_NOT_FINITE; TG_ERR_MEMORY; TG_ERR_INTERNAL when the result fails our own check. Same points, same bits.
/// The texts speak of "it", the mesh.
tgStatus tgi_hull_from_points(const double *point, int npoint, const tgAllocator *allocator, tgHullOwned **hull,
                              tgError *error);
void tgi_hull_free(tgHullOwned *hull);
/// Hull volume over mesh volume minus 1: 0 when the mesh is convex, or its own volume means nothing (open mesh, <= 0).
double tgi_hull_concavity(const tgHull *hull, const double *vert, int nvert, const int *face, int nface);
double tgi_hull_volume(const tgHull *hull);

/// Writes the 8 x 3 vertices and 6 x 4 planes of a box: bit 0, 1, 2 of a vertex's index is its side along x, y, z;
/// faces are -x +x -y +y -z +z. Linear in half, so its derivative is the same call. Returns the radius.
double tgi_hull_box_fill(tgReal *vert, tgReal *face_plane, const tgReal half[3]);

/// The hull under the scale `scale` (positive) about the frame's axes: x = S x0, n = unit(S^-1 n0). vert and plane are
/// the caller's, nvert x 3 and nface x 4; adjacency is shared with `unit`.
tgHull tgi_hull_scale(const tgHull *unit, const tgReal scale[3], tgReal *vert, tgReal *plane);

/// Vertices may lie off the plane of their own face of more than three corners by this part of the hull's size:
/// collisions do not tell features apart that differ by less. Off other faces' planes TGI_HULL_TOLERANCE holds.
#define TGI_HULL_BENT 1e-4

/// Why moved vertices make no hull: `vertex` lies above face `face` by `by`; by 0: the face has no area.
typedef struct tgHullFault { int vertex, face; double by; } tgHullFault;

/// The hull with other vertices (nvert x 3), faces and edges as they are: planes that fit the corners go to
/// plane (nface x 4). False when that is not convex: a vertex is above the plane of a face next to it, or off
/// that of its own, by more than
/// the tolerances and what `like` has. `moved` shares the adjacency of `like`.
bool tgi_hull_move(const tgHull *like, const tgReal *vert, tgReal *plane, tgHull *moved, tgHullFault *fault);

/// Checks a hull by itself: Euler's formula, mutual edges and loops, unit outward normals, convex across every edge,
/// vertices on their faces, and the given points (may be NULL) inside. TG_ERR_INTERNAL with what failed.
tgStatus tgi_hull_check(const tgHull *hull, const double *point, int npoint, tgError *error);

#endif
