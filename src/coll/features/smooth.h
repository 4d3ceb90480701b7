// smooth.h: contact of features without a fixed normal where at least one is curved: circles and ellipsoids through their support
// maps, points and lines beside them; and points where a curve leaves the outline of a reference face.
//
// Based on: [math/collision Curved shapes].
#ifndef TG_COLL_FEATURES_SMOOTH_H
#define TG_COLL_FEATURES_SMOOTH_H

#include "coll/features/feature.h"

typedef enum tgiCurve { TGI_CURVE_NONE, TGI_CURVE_CIRCLE, TGI_CURVE_ELLIPSOID } tgiCurve;

/// All points core + c, c of a circle or ellipsoid about 0: a rim (point + circle), a cylinder's side seen along one direction
/// (line + circle), an ellipsoid (point + ellipsoid), or the core alone.
typedef struct tgiSmooth {
  tgiCore core;
  tgiCurve curve;
  tgReal axes[9];           ///< columns: axes of the circle (the last its normal) or ellipsoid in the world
  tgReal semi[3];           ///< circle: radius first; ellipsoid: semi-axes
} tgiSmooth;

/// Rim of cap 0 (-z) or 1, the side as line and radius, the side as lines of its surface; an ellipsoid.
void tgi_cylinder_rim(tgiSmooth *K, const tgShape *S, bool is_a, int cap, tgCollide want);
void tgi_cylinder_side(tgiSmooth *K, const tgShape *S, bool is_a, tgCollide want);
void tgi_cylinder_lines(tgiSmooth *K, const tgShape *S, bool is_a, tgCollide want);
void tgi_ellipsoid_surface(tgiSmooth *K, const tgShape *S, bool is_a, tgCollide want);

/// Stationary separation along n of A's and B's features: a(n) + s u - b(n) - t w = g n, |n| = 1, u.n = w.n = 0.
typedef struct tgiStationary {
  tgReal n[3], g, s, t;     ///< g: of the cores with their curves, without radii
  tgReal J[36];             ///< the system's matrix there, 4 + number of lines square, column-major, factored
  int piv[6], size;
} tgiStationary;

/// Newton's method from the normal n (real). False when it does not settle or the system is singular.
bool tgi_smooth_solve(tgiStationary *z, const tgiSmooth *A, const tgiSmooth *B, const double *n);
/// Whether the separation is a maximum there: where the features overlap, their curvature has to outweigh the depth.
bool tgi_smooth_is_maximum(const tgiStationary *z, const tgiSmooth *A, const tgiSmooth *B);
/// The contact. p lies on the surface of the round body, half-way between two round or two other bodies.
void tgi_rule_smooth(tgContactPoint *c, const tgiSmooth *A, const tgiSmooth *B, const tgiStationary *z, tgCollide want);

/// The lowest point of K over a face of the other body.
void tgi_rule_face_support(tgContactPoint *c, const tgiFace *F, const tgiSmooth *K, tgCollide want);

/// The outline of a reference face of one body: the plane through an edge and the face's normal, or a cylinder's side.
typedef struct tgiBound {
  bool lateral;
  tgiCore line;             ///< the edge; the cylinder's axis with its radius
} tgiBound;
/// Where curve K passes the bound of face F, near parameter tau: of a line, or, where K is a circle alone, the angle.
void tgi_rule_face_crossing(tgContactPoint *c, const tgiFace *F, const tgiBound *bound, const tgiSmooth *K, double tau,
                            tgCollide want);

#endif
