// height.h: a triangle or a point above a plane: what a pair of triangles becomes where the corners of one are far
// away. [math/barrier Half-space]
//
// The separating plane is parallel to the plane, at a height t between it and the triangle with vertices at the heights z_k:
//   S* = min over t of sum_k c_k/(z_k - t) + 3/t                                                                                     (51)
// z_k less the radius of a core, c_k its multiplicities (pair.h), else 1.
#ifndef TG_CONTACT_BARRIER_PAIR_HEIGHT_H
#define TG_CONTACT_BARRIER_PAIR_HEIGHT_H

#include "math/real.h"

/// c of corner k.
static inline double tgi_height_times(bool segment, int k) { return !segment ? 1 : k < 2 ? 1.5 : 0; }

/// Three heights above the plane (segment: of a core that is one): S*, dS*/dz_k and second derivatives (rows), the height t of the
/// separating plane. false: a height <= 0.
typedef struct tgiHeightPair { tgReal S, t, d[3], D[9]; } tgiHeightPair;
bool tgi_height_pair(const tgReal z[3], bool segment, tgiHeightPair *r);

/// The point of an ellipsoid about the origin whose normal is n, a unit vector, its semi-axes the rows of `axes`; the part of the second
/// derivative of a height above a plane with normal n, in a turn of the ellipsoid, that is its own: -(n x b)(n x b)'/h summed (lower
/// triangle, added to G times c); and the point's rate with those of the axes, daxes.
void tgi_oval_point(const tgReal axes[9], const tgReal n[3], tgReal at[3]);
void tgi_oval_turn(const tgReal axes[9], const tgReal n[3], tgReal c, tgReal G[6]);
void tgi_oval_point_d(const tgReal axes[9], const tgReal daxes[9], const tgReal n[3], tgReal dat[3]);

/// Height n.x of a point x above the plane through the origin, with its derivatives in a twist (lower triangle G).
tgReal tgi_height(const tgReal n[3], const tgReal x[3], tgReal v[6], tgReal G[21]);

#endif
