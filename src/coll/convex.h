// convex.h: convex cores (point, segment, polytope) in one working frame, separating axes between two of them.
//
// Based on: [math/collision Choice]; [Gregorius] for the edge test on the Gauss map. Everything here is double and only chooses features; contacts follow in closed form (rule.h).
// The working frame is the geom frame of Y, which is always a polytope; X may be a point, a segment or a polytope.
#ifndef TG_COLL_CONVEX_H
#define TG_COLL_CONVEX_H

#include "coll/pair.h"

/// One core. h NULL: the point or segment seg (one or two vertices, no faces) with radius r around it.
typedef struct tgiConvex {
  const tgShape *S;
  const tgHull *h;
  tgiSegment seg;
  int nvert, nedge, nface;
  double R[9], t[3];        ///< geom frame to working frame
  bool home;                ///< Y: they are the identity
  double r, radius;         ///< radius around the core; size of the core with it, for tolerances
  bool is_a;
} tgiConvex;

/// X and Y of a pair in the working frame; at least one shape has a hull.
void tgi_convex_pair(const tgiPair *P, tgiConvex *X, tgiConvex *Y);

void tgi_convex_vertex(const tgiConvex *C, int v, double *x);
/// End vertices, and for a polytope the normals of the two faces, of edge e. left and right may be NULL.
void tgi_convex_edge(const tgiConvex *C, int e, tgiSegment *g, double *left, double *right);
/// Outward unit normal of face f; returns its offset: n.x = offset on the face.
double tgi_convex_face(const tgiConvex *C, int f, double *n);
/// Least n.x over the vertices, and a vertex that has it. The search on large polytopes starts at vertex `from`.
double tgi_convex_support_from(const tgiConvex *C, const double *n, int from, int *arg);
static inline double tgi_convex_support(const tgiConvex *C, const double *n, int *arg) {
  return tgi_convex_support_from(C, n, 0, arg);
}

/// The best axis of one class: largest separation, its feature(s), the runner-up's separation.
typedef struct tgiAxis {
  int i, j;                 ///< face; or edge of X, edge of Y. -1: none
  double s, second;
  double side;              ///< edges: side * (u cross w) points from Y to X
} tgiAxis;

/// Separation of the other core V from face f of F.
double tgi_face_separation(const tgiConvex *F, int f, const tgiConvex *V);
/// A selection of edges and faces of a polytope; edge NULL: all of them.
typedef struct tgiPart {
  const int *edge, *face;
  int nedge, nface;
} tgiPart;

/// Face of F's part with the largest separation; stops at the first that exceeds limit.
tgiAxis tgi_best_face(const tgiConvex *F, const tgiPart *part, const tgiConvex *V, double limit);
/// Edge pair of the parts with the largest separation among those that make a face of the Minkowski difference.
tgiAxis tgi_best_edges(const tgiConvex *X, const tgiPart *px, const tgiConvex *Y, const tgiPart *py, double limit);
/// The same for one given pair; i is -1 when it makes no face.
tgiAxis tgi_edge_axis(const tgiConvex *X, int ex, const tgiConvex *Y, int ey);
/// Closest points of cores that are apart and meet in no face's interior: the nearest pair of edges (or the point of X)
/// of the parts.
tgiClosest tgi_closest_edges(const tgiConvex *X, const tgiPart *px, const tgiConvex *Y, const tgiPart *py, double tol,
                             int *ex, int *ey);

#endif
