// pair.h: what the pair routines of the narrow phase share.
#ifndef TG_COLL_FEATURES_PAIR_H
#define TG_COLL_FEATURES_PAIR_H

#include "coll/features/feature.h"
#include "math/d3.h"

/// One pair at work. Each routine takes A and B in the caller's order and returns its count of points.
typedef struct tgiPair {
  const tgShape *A, *B;
  double margin, fine;      ///< fine: see tgi_collide
  tgCollide want;
  int32_t *memory;
  tgContactPoint *out;
  double distance;          ///< set by the routine
} tgiPair;

#define TGI_TIE 1e-9        ///< a switch of features within this, relative to the sizes of the pair, is a tie
#define TGI_COINCIDE 1e-12  ///< closest points nearer than this, relative, define no direction
#define TGI_PARALLEL 1e-12  ///< squared sine below which two lines count as parallel

enum { TGI_KIND_CORES = 1, TGI_KIND_CROSS, TGI_KIND_FACE_POINT, TGI_KIND_FACE_EDGE, TGI_KIND_FACE_CORNER,
       TGI_KIND_SMOOTH, TGI_KIND_FACE_CROSSING, TGI_KIND_A = 8 };   // added when the reference face is A's
enum { TGI_FEATURES = 1 << 27, TGI_CURVED_FEATURES = 64 };   // numbers for pairs of features of one kind; for those of a curved body
enum { TGI_FEATURE_KIND = 27, TGI_FEATURE_J = 0x1fff };   // where the kind begins; the largest j
/// Number of a feature pair; unique while i < 16384 and j < 8192.
static inline int tgi_feature(int kind, int i, int j) { return kind << TGI_FEATURE_KIND | (i & 0x3fff) << 13 | (j & TGI_FEATURE_J); }

/// Real parts, where features are chosen. Segment x + s u, s in [0, 1]; a point when line is false.
typedef struct tgiSegment {
  double x[3], u[3];
  bool line;
} tgiSegment;

/// Closest points of two segments: where they lie (start, end, inside), parameters, distance.
typedef struct tgiClosest {
  int at_a, at_b;
  double s, t, distance;
  bool tie;
} tgiClosest;

/// tol: distance within which a switch is a tie.
tgiClosest tgi_closest_segments(const tgiSegment *a, const tgiSegment *b, double tol);
/// Closest point of a segment to x: fills at_b, t, distance, tie.
tgiClosest tgi_closest_point(const double *x, const tgiSegment *b, double tol);

/// The core of a sphere or capsule, in world axes.
tgiSegment tgi_round_segment(const tgShape *S);
/// A direction carried by S that is well away from the axis u (NULL: any).
void tgi_any_normal(double *n, const tgShape *S, const double *u);

int tgi_pair_plane_round(tgiPair *P);
int tgi_pair_round_round(tgiPair *P);
int tgi_pair_plane_hull(tgiPair *P);
/// A plane against a cylinder or ellipsoid.
int tgi_pair_plane_curved(tgiPair *P);
/// A polytope, cylinder or ellipsoid against another or a sphere or capsule.
int tgi_pair_convex(tgiPair *P);

/// Two lines or points of cores apart by `distance` in bodies of size `scale`: the sharpest of the equivalent normals.
void tgi_emit_cores(tgiPair *P, const tgiCore *A, const tgiCore *B, double distance, double scale);

#endif
