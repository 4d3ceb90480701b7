// exact.h: do two triangles, or two surfaces, have a point in common? Decided without rounding error.
//
// Based on: [math/collision Intersection]; floating filters and sums of floating-point numbers as exact reals: [Shewchuk].
// It shares no code with the solvers, so that it can judge them: plain arrays, its own boxes, its own predicates.
// Exact where numbers are 0 or within 1e-90 .. 1e90 in magnitude; a number that is not finite counts as touching.
#ifndef TG_COLL_SURFACES_EXACT_H
#define TG_COLL_SURFACES_EXACT_H

#include "tangere/base.h"

/// Sign of the determinant (a - d, b - d, c - d): 1 when d is below the plane of a, b, c, these counter-clockwise seen from above; 0 in the
/// plane.
int tgi_exact_orient3(const double *a, const double *b, const double *c, const double *d);
/// Sign of the determinant (a - c, b - c) of the coordinates u and v of points: 1 when a, b, c turn counter-clockwise.
int tgi_exact_orient2(const double *a, const double *b, const double *c, int u, int v);

/// Do the closed triangles (9 numbers each, vertex by vertex) have a common point? Coplanar ones, and ones that are a segment or a point,
/// included.
bool tgi_exact_triangles(const double a[9], const double b[9]);

/// The surface of one body for many tests: faces and a tree of boxes around them. Vertices are given anew for every pose.
typedef struct tgiExactSurface {
  int nvert, nface, nnode;
  const double *vert;       ///< nvert x 3, the caller's, of the last tgi_exact_pose
  int *face;                ///< nface x 3
  int *order, *node;        ///< faces in tree order; node: first, count, second child (its first child comes next; 0: a leaf)
  double *box;              ///< nnode x 6: low, high
  tgAllocator alloc;
} tgiExactSurface;

/// Tree over the faces (copied) as they lie at vert. Faces that are a segment or a point are kept: they touch what touches them.
/// TG_ERR_MEMORY.
tgStatus tgi_exact_make(const double *vert, int nvert, const int *face, int nface, const tgAllocator *allocator, tgiExactSurface *surface);
void tgi_exact_free(tgiExactSurface *surface);
/// The surface with its vertices at vert (world axes), which must stay until the next call.
void tgi_exact_pose(tgiExactSurface *surface, const double *vert);

/// First pair of faces (of a, of b) found to have a common point, in a fixed order; false: the surfaces are apart. pair may be NULL.
/// Of a surface with itself, a == b, those of its faces that share no corner.
bool tgi_exact_surfaces(const tgiExactSurface *a, const tgiExactSurface *b, int pair[2]);
/// A vertex of a face of a with n.(x - p) <= 0, the half-space being below the plane through p with normal n; -1: none.
int tgi_exact_half_space(const tgiExactSurface *a, const double p[3], const double n[3]);
/// How often the surface winds about the point, by solid angles, to rounding: 1 inside a closed one whose faces point outwards, 0 outside.
/// This tells a body that is wholly inside another, where no faces meet. Not exact near the surface.
double tgi_surface_winding(const tgiExactSurface *a, const double p[3]);

#endif
