// convex.h: convex cores (point, segment, polytope, cylinder, ellipsoid, half-space) in one working frame, separating axes
// between two of them.
//
// Based on: [math/collision Choice]; [Gregorius] for the edge test on the Gauss map. Everything here is double and only chooses
// features; contacts follow from those (rule.h, smooth.h).
// The working frame is the geom frame of Y, which is never a point or segment; of a pair Y is the later in the order
// point or segment, ellipsoid, cylinder, polytope, plane.
#ifndef TG_COLL_FEATURES_CONVEX_H
#define TG_COLL_FEATURES_CONVEX_H

#include "coll/features/pair.h"

typedef enum tgiConvexKind { TGI_CONVEX_ROUND, TGI_CONVEX_ELLIPSOID, TGI_CONVEX_CYLINDER, TGI_CONVEX_HULL, TGI_CONVEX_PLANE } tgiConvexKind;

/// One core. Round: the point or segment seg (one or two vertices, no faces) with radius r around it. A cylinder has two faces, its
/// caps (-z, +z), a plane one.
typedef struct tgiConvex {
  const tgShape *S;
  tgiConvexKind kind;
  const tgHull *h;          ///< of a polytope, else NULL
  tgiSegment seg;
  double size[3];
  int nvert, nedge, nface;
  double R[9], t[3];        ///< geom frame to working frame
  bool home;                ///< Y: they are the identity
  double r, radius;         ///< radius around the core; size of the core with it, for tolerances
  double flat;              ///< of a cylinder: sine of the tilt below which four points stand for a cap's rim
  double inner;             ///< half of a curved body's least width; infinite for others
  bool is_a;
} tgiConvex;

/// X and Y of a pair in the working frame; at least one shape is neither sphere nor capsule.
void tgi_convex_pair(const tgiPair *P, tgiConvex *X, tgiConvex *Y);

void tgi_convex_vertex(const tgiConvex *C, int v, double *x);
/// End vertices, and for a polytope the normals of the two faces, of edge e. left and right may be NULL.
void tgi_convex_edge(const tgiConvex *C, int e, tgiSegment *g, double *left, double *right);
/// Outward unit normal of face f; returns its offset: n.x = offset on the face.
double tgi_convex_face(const tgiConvex *C, int f, double *n);
/// The edge of two neighbouring vertices of a hull.
int tgi_edge_between(const tgHull *h, int v, int w);
/// Least n.x over the core, and a vertex that has it (0 where there are none). The search on large polytopes starts at vertex
/// `from`.
double tgi_convex_support_from(const tgiConvex *C, const double *n, int from, int *arg);
static inline double tgi_convex_support(const tgiConvex *C, const double *n, int *arg) {
  return tgi_convex_support_from(C, n, 0, arg);
}

/// A point of the core with the least n.x; a cylinder or ellipsoid shrunk about its centre. from: as above, and where it ends.
void tgi_convex_lowest(const tgiConvex *C, const double *n, double shrink, int *from, double *x);

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
