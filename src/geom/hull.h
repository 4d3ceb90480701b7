// hull.h: convex polytopes: vertices, edges and planar polygon faces with their adjacency.
//
// The one form in which convex meshes, boxes and tessellated cylinders and ellipsoids reach collision. Built once
// (qhull, result checked by us), const afterwards; arrays belong to the model's block or to tgHullOwned.
#ifndef TG_GEOM_HULL_H
#define TG_GEOM_HULL_H

#include "math/real.h"

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

#endif
