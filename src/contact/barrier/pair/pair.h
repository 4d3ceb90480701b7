// pair.h: the barrier between two triangles: its best separating plane, value and derivatives. [math/barrier Triangle pair]
//
// A plane u.x + delta = 0, |u| = 1, leaves vertex k the margin m_k = s_k (u.x_k + delta), s = 1 on A (k = 0..2) and -1 on B (k = 3..5).
//   S* = min over planes of sum 1/m_k                                                                                                (1)
// is smooth, positive, infinite exactly when the triangles touch, and scales like 1/length: 12/S* acts as their distance,
// gap <= 12/S* <= 3 gap. Solids that are all within a radius of a core are the same with
//   m_k = s_k (u.x_k + delta) - r_k,  S* = min sum c_k/m_k,  c = 3 | 3/2 3/2 | 1 1 1 of a point, a segment, a triangle            (90)
// whose corners are given as those of a triangle: three times the point; the segment's ends, the second again (c: 3/2 3/2 0).
// [math/barrier Rounded primitives] What a model makes of S*, its P(S*), is its own: grad P = P' g, Hess P = P' H + P'' g g'.
//
// All positions are relative to a pivot that the caller chooses (near the pair: rounding is 1e-16 of the distances from each other, and of
// the distances from the pivot in what the caller makes of the results). Derivatives are for a twist xi = (angular; linear) of A about the
// pivot, x <- exp(xi) x, with B held.
#ifndef TG_CONTACT_BARRIER_PAIR_PAIR_H
#define TG_CONTACT_BARRIER_PAIR_PAIR_H

#include "math/real.h"

/// Entry (i, j), j <= i, of a symmetric matrix kept as its lower triangle row by row.
#define TGI_LOWER(i, j) ((i) * ((i) + 1) / 2 + (j))

/// What the triangles are the cores of: radius around each, and whether one is a segment or the centre of an ellipsoid, whose semi-axes
/// are the rows of `axes` as vectors; its support h(u) = |axes u| comes off its own margins. Only the sum of the radii is in S*; between
/// the solids themselves the plane is at delta + (r_A - r_B)/2.
typedef struct tgiPairCores { tgReal radius[2]; bool segment[2], oval[2]; tgReal axes[2][9]; } tgiPairCores;
static inline bool tgi_pair_oval(const tgiPairCores *c) { return c != NULL && (c->oval[0] || c->oval[1]); }

/// One pair at its best plane.
typedef struct tgiPair {
  tgReal S;            ///< S*; INFINITY when they touch
  tgReal g[6];         ///< dS*/dxi
  tgReal H[21];        ///< S*(exp(xi)) = S* + g.xi + 1/2 xi' H xi + ..., lower triangle
  tgReal u[3], delta;  ///< the plane, relative to the pivot
  int iterations;      ///< Newton steps
} tgiPair;

/// Solves for the pair of triangles x (A's three vertices, then B's), with cores NULL themselves, here and below. warm: start from the
/// plane in *r where it separates.
/// False when the triangles touch: no plane keeps them apart by more than rounding. Then S is INFINITY, all else 0.
bool tgi_pair_solve(const tgReal x[18], const tgiPairCores *cores, bool warm, tgiPair *r);

/// What friction needs: the force of the pair as one force at one point of each triangle.
typedef struct tgiPairForce {
  tgReal N;            ///< sum of c_k/m_k^2 over A (equal over B): -dS* for a translation of A by u
  tgReal u[3];         ///< its direction on A
  tgReal a[3], b[3];   ///< means of the vertices of A and of B with weights c_k/m_k^2, a radius towards each other, relative to the pivot;
                       ///< of an ellipsoid where the plane's normal is its own
  tgReal share[2];     ///< of A's first two vertices in N, where A's core is a segment
} tgiPairForce;

/// The force at the plane of r.
void tgi_pair_force(const tgReal x[18], const tgiPairCores *cores, const tgiPair *r, tgiPairForce *f);

/// Velocities of the vertices of A and B, and rates of their radii and semi-axes.
typedef struct tgiPairField { tgReal x[18], radius[2], axes[2][9]; } tgiPairField;
/// Derivatives along a field, the plane following: of S* (dS), of g (dg) and of the force (df).
/// A rigid field gives dg = d g along it, whose part that is symmetric between two fields is H. Outputs may be NULL.
void tgi_pair_rate_d(const tgReal x[18], const tgiPairCores *cores, const tgiPair *r, const tgiPairField *field, tgReal *dS,
                     tgReal dg[6], tgiPairForce *df);

/// The force's derivative for the twist xi of A: column j is that of xi_j.
void tgi_pair_force_d(const tgReal x[18], const tgiPairCores *cores, const tgiPair *r, tgiPairForce df[6]);
/// Its adjoint, of pairs without ellipsoids: twist_j += sum of bar over the numbers of df[j]. Of r the plane alone is read.
void tgi_pair_force_vjp(const tgReal x[18], const tgiPairCores *cores, const tgiPair *r, const tgiPairForce *bar, tgReal twist[6]);

#endif
