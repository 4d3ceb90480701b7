// hull.h: convex polytopes: vertices, edges and planar polygon faces with their adjacency.
//
// The one form in which convex meshes, boxes and tessellated cylinders and ellipsoids reach collision. Built once
// (qhull, result checked by us), const afterwards; arrays belong to the model's block or to tgHullOwned.
#ifndef TG_GEOM_HULL_H
#define TG_GEOM_HULL_H

#include "math/real.h"
#include "tangere/base.h"

/// Polytope in the geom's frame. Faces are maximal planar polygons (coplanar triangles merged).
typedef struct tgHull {
  int nvert, nedge, nface;
  const tgReal *vert;         ///< nvert x 3
  const int *edge;            ///< nedge x 4: v0, v1, left face (v0->v1 runs counter-clockwise in it), right face
  const int *face_adr;        ///< nface + 1: where face f's loop starts in face_vert and face_edge
  const int *face_vert;       ///< loops, counter-clockwise seen from outside
  const int *face_edge;       ///< edge from face_vert[k] to its successor in the loop
  const tgReal *face_plane;   ///< nface x 4: outward unit normal, offset: n.x = offset on the face
  const int *vert_adr;        ///< nvert + 1: where vertex v's neighbours start in vert_next
  const int *vert_next;       ///< neighbouring vertices
  double radius;              ///< largest |vertex|
} tgHull;

/// A hull with its own memory: one allocation.
typedef struct tgHullOwned {
  tgHull hull;
  tgAllocator alloc;
} tgHullOwned;

/// Hull of points (qhull, then checked: convex, closed, all points inside). TG_ERR_INVALID with why: fewer than four points, flat,
/// collinear, coincident. *out is freed with tgi_hull_free.
tgStatus tgi_hull_from_points(const double *point, int npoint, const tgAllocator *alloc, tgHullOwned **out, tgError *why);
/// Box of the given half sizes: 8 vertices, 12 edges, 6 faces.
tgStatus tgi_hull_box(const double half[3], const tgAllocator *alloc, tgHullOwned **out);
/// Prism inscribed in a cylinder about z; the chord error is radius (1 - cos(pi/sides)).
tgStatus tgi_hull_cylinder(double radius, double half_length, int sides, const tgAllocator *alloc, tgHullOwned **out);
/// Polytope inscribed in an ellipsoid: poles and `rings` circles of latitude of `sectors` points.
tgStatus tgi_hull_ellipsoid(const double semi[3], int rings, int sectors, const tgAllocator *alloc, tgHullOwned **out);
void tgi_hull_free(tgHullOwned *hull);
/// Hull volume over mesh volume minus 1; 0 when the mesh is convex or its own volume means nothing (open mesh).
double tgi_hull_concavity(const tgHull *hull, const double *vert, int nvert, const int *face, int nface);

#endif
