// plane.h: a plane between two triangles whose vertices it repels, and the derivatives of what that costs at the best plane: what the pair
// of long reach (pair.c) and that of short reach (pair_local.c) have in common. [math/barrier Derivatives]
//
// Vertex k has the margin m_k = s_k (n.x_k + d) - r |n|, r half the radii of both, and costs c_k f(m_k), c_k as in pair.h; y = -c f',
// z = c f''. The plane's variables are diagonal
// for the Hessian of the cost: changes w_v move the plane by (sum w_v dn_v, sum w_v dd_v) and vertex k's margin by s_k
// sum w_v c_vk, with curvatures K_v that are sums of positive terms.
#ifndef TG_CONTACT_BARRIER_PAIR_PLANE_H
#define TG_CONTACT_BARRIER_PAIR_PLANE_H

#include "contact/barrier/pair/pair.h"

enum { TGI_PLANE_VARIABLES = 4 };

/// Positions are relative to `centre`, that of the smaller triangle, which is the first: sums over it lose least.
typedef struct tgiPlane {
  tgReal centre[3], x[6][3];      ///< x: of an ellipsoid the point whose normal is the plane's, once there are margins
  bool swapped;                   ///< the first triangle is B
  bool point, points;             ///< the first, both are points, not ellipsoids: the three margins of a side are one
  double size;                    ///< largest coordinate in absolute value
  tgReal n[3], d;                 ///< the plane, positive on the first triangle
  tgReal radius[2], round;        ///< around the first and the second; half their sum
  double times[6];                ///< c_k
  bool oval[2];                   ///< is the first, the second an ellipsoid
  tgReal core[2][3], axes[2][9];  ///< its centre and semi-axes
  tgReal h[2], e[2][3];           ///< its support along n/|n|, and the unit vector that axes make of that
  tgReal m[6], y[6], z[6];
  int nvar;                       ///< variables; 0 is a shift of d alone
  tgReal c[TGI_PLANE_VARIABLES][6], dn[TGI_PLANE_VARIABLES][3], dd[TGI_PLANE_VARIABLES], K[TGI_PLANE_VARIABLES];
} tgiPlane;

static inline double tgi_plane_side(int k) { return k < 3 ? 1 : -1; }

/// Takes the vertices (cores: as in pair.h); the plane is set by tgi_plane_set or _start.
void tgi_plane_place(tgiPlane *p, const tgReal x[18], const tgiPairCores *cores);
/// The plane u, delta about the pivot, positive on A; and back.
void tgi_plane_set(tgiPlane *p, const tgReal u[3], tgReal delta);
void tgi_plane_get(const tgiPlane *p, tgReal u[3], tgReal *delta);
/// The widest slab of pair_kernel.c or, of a point, that half-way to what is closest to it; false: none.
bool tgi_plane_start(tgiPlane *p);
/// Margins; returns the least.
double tgi_plane_margins(tgiPlane *p);
/// Two tangents t[0], t[1] of the unit sphere at u. [DuffBasis]
void tgi_plane_tangents(const tgReal u[3], tgReal t[2][3]);

/// The diagonal variables for y, z and a cost of n itself with curvature own[i] along the `count` orthonormal directions dir[i].
void tgi_plane_factor(tgiPlane *p, int count, const tgReal dir[][3], const tgReal own[]);
/// Newton's step for the slope `slope` that n itself has along dir[i] (NULL: none); returns its squared length in the Hessian.
tgReal tgi_plane_newton(const tgiPlane *p, tgReal w[TGI_PLANE_VARIABLES], const tgReal slope[3]);
void tgi_plane_change(const tgiPlane *p, const tgReal w[TGI_PLANE_VARIABLES], tgReal dn[3], tgReal *dd);
/// Longest step along w that leaves a tenth of every margin.
double tgi_plane_room(const tgiPlane *p, const tgReal w[TGI_PLANE_VARIABLES]);
/// Rounding of the cost, of the cost, at the least margin.
double tgi_plane_noise(const tgiPlane *p, double least);

/// First and second derivatives for a twist of A.
void tgi_plane_derivatives(const tgiPlane *p, tgReal g[6], tgReal H[21]);
void tgi_plane_force(const tgiPlane *p, tgiPairForce *f);
/// Rates along a field; outputs may be NULL.
void tgi_plane_rate(const tgiPlane *p, const tgiPairField *field, tgReal *dS, tgReal dg[6], tgiPairForce *df);
/// Rates of the force for the unit twists of A; x: the vertices about the pivot.
void tgi_plane_force_rates(const tgiPlane *p, const tgReal x[18], tgiPairForce df[6]);

#endif
