// distance.h: the barrier of IPC: the squared distance of a point and a triangle, or of two edges, by the features that are closest, with
// derivatives. [math/barrier Distance barrier]
//
//   P = m b(D),  b(D) = -(D/D0 - 1)^2 log(D/D0) below D0 = d0^2, else 0; everywhere (97): b(D) = -log(D/D0)                            (96)
// m is 1 of a point and a triangle, and of two edges
//   m = t (2 - t),  t = |u x v|^2/(1e-3 |u|^2 |v|^2) below 1, else 1                                                                 (98)
// u and v along the edges, at rest in what the threshold has, which a rigid body's are. P has one derivative everywhere apart, and its
// second jumps where the closest features change: that is what it is here to show.
//
// Four points, x: the point and the triangle's three, or the ends of the first edge and of the second. Derivatives are in the twelve
// coordinates.
#ifndef TG_CONTACT_BARRIER_PAIR_DISTANCE_H
#define TG_CONTACT_BARRIER_PAIR_DISTANCE_H

#include "math/real.h"

/// Where four points are closest: the difference r = sum weight_k x_k of the two closest points, D = |r|^2. Free are nfree of the numbers
/// that say where they are on their features: weight changes by slide[i], r by e[i]; inverse is that of the 2x2 matrix e_i.e_j.
typedef struct tgiFeatures {
  tgReal D, r[3], weight[4];
  int nfree;
  double slide[2][4];
  tgReal e[2][3], inverse[4];
} tgiFeatures;

/// Of a point and a triangle; of two edges. Triangles and edges without size have the distance of what they are.
void tgi_distance_of_point(const tgReal x[12], tgiFeatures *c);
void tgi_distance_of_edges(const tgReal x[12], tgiFeatures *c);
/// First and second derivatives of D (rows). H may be NULL.
void tgi_features_derivatives(const tgiFeatures *c, tgReal g[12], tgReal H[144]);
/// Rates of the weights while the points move by dx.
void tgi_features_rate(const tgiFeatures *c, const tgReal dx[12], tgReal dweight[4]);

/// Reach d0, and whether the barrier does not end there.
typedef struct tgiDistanceLaw { double reach; bool everywhere; } tgiDistanceLaw;
/// b and two derivatives in D.
void tgi_distance_barrier(tgReal D, const tgiDistanceLaw *law, tgReal b[3]);

/// Part of |u|^2 |v|^2 below which |u x v|^2 takes from the barrier of two edges.
#define TGI_MOLLIFIER 1e-3
static inline tgReal tgi_mollifier_threshold(tgReal uu, tgReal vv) { return TGI_MOLLIFIER * uu * vv; }
/// m and two derivatives in c = |u x v|^2; and what m and the first change by with the threshold.
typedef struct tgiMollifier { tgReal m, m1, m2, by_threshold, m1_by_threshold; } tgiMollifier;
tgiMollifier tgi_mollifier(tgReal c, tgReal threshold);

/// P of four points with its derivatives at a held threshold.
typedef struct tgiStencil {
  tgReal P, g[12], H[144];
  tgiFeatures features;
  tgReal b[3], m, m_g[12];     ///< b(D), and the mollifier with its derivatives
  tgReal P_by_threshold, g_by_threshold[12], m_by_threshold;
} tgiStencil;
/// false: P is 0 with its derivatives. second: H, else left alone.
/// Rate of the threshold of two edges while their ends move by dx.
tgReal tgi_mollifier_threshold_rate(const tgReal x[12], const tgReal dx[12]);
bool tgi_stencil(const tgReal x[12], bool edges, const tgiDistanceLaw *law, bool second, tgiStencil *s);
/// Is P without a mollifier's part there, as of all but nearly parallel edges?
bool tgi_stencil_plain(const tgReal x[12], bool edges);
/// Are other features as close, within 1e-9, or does the mollifier end there, so that the second derivative of P is one-sided?
bool tgi_stencil_tie(const tgReal x[12], bool edges, const tgiFeatures *c);

#endif
