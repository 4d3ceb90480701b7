// friction.h: friction of two bodies as an energy of where they come to rest after a step. [math/barrier Friction]
//
// Frozen at the start of the step is one normal force N n for each term of the potential, pushing material point a of
// body 1 and b of body 2 apart along n. Neighbouring forces are gathered to one friction point:
//   N = sum N_k,  a = sum N_k a_k/N,  b = sum N_k b_k/N,  Q = 1 - sum N_k n_k n_k'/N                                        (61)
// so that the friction of a contact does not depend on how many terms its normal force is made of. With the displacements of the two
// material points over the step,
//   V = (da - db)/h,  s = sqrt(V'QV + eps^2),  D = lambda h N (s - eps)                                                    (62)
// The force on body 1 is -lambda N QV/s: lambda N against the sliding, but for speeds near and below eps, the slip speed.
#ifndef TG_CONTACT_BARRIER_FRICTION_FRICTION_H
#define TG_CONTACT_BARRIER_FRICTION_FRICTION_H

#include "math/vec3.h"

/// Row and column of the entries of a symmetric 3x3 kept as xx yy zz xy xz yz.
static const int tgi_friction_row[6] = {0, 1, 2, 0, 0, 1}, tgi_friction_col[6] = {0, 1, 2, 1, 2, 2};

/// One normal force of size N at the start of the step, world axes and origin; |n| = 1, its sense does not matter.
typedef struct tgiFrictionForce { tgReal N, n[3], a[3], b[3]; } tgiFrictionForce;

/// Sums over the forces of one friction point: N, N a, N b, N n n' (xx yy zz xy xz yz).
typedef struct tgiFrictionSum { tgReal N, a[3], b[3], M[6]; } tgiFrictionSum;

/// One friction point (61); Q as M above.
typedef struct tgiFrictionPoint { tgReal N, a[3], b[3], Q[6]; } tgiFrictionPoint;

/// Sums over the forces of a pair of geoms: N, and N of those that act nearby, phi(d) N. [math/barrier Friction, Reach]
typedef struct tgiFrictionShare { tgReal all, near; } tgiFrictionShare;

/// Coefficient, step size, slip speed.
typedef struct tgiFrictionLaw { tgReal lambda, h, eps; } tgiFrictionLaw;

/// Motion of a body over the step: a point at p at the start has moved by E (p - from) + d. Of a body at rest it is 0 without rounding.
typedef struct tgiFrictionMotion { tgReal E[9], from[3], d[3]; } tgiFrictionMotion;

/// s += f, and with it the derivatives along nd directions: d[j] += that of df[j].
void tgi_friction_add(tgiFrictionSum *s, const tgiFrictionForce *f);
void tgi_friction_add_d(int nd, tgiFrictionSum *d, const tgiFrictionForce *f, const tgiFrictionForce *df);

/// s += a force of size N across the distance d, of which what is nearer than range/2 counts as near, what is farther than range does not.
void tgi_friction_share(tgiFrictionShare *s, double range, tgReal N, tgReal d);
/// The same for its rates dN[j], dd[j].
void tgi_friction_share_d(int nd, tgiFrictionShare *ds, double range, tgReal N, tgReal d, const tgReal *dN, const tgReal *dd);
/// Factor of all friction of the pair: 0 where nothing is near, 1 from where half of the force is; df: its nd rates. Without any force 0.
tgReal tgi_friction_factor(const tgiFrictionShare *s, int nd, const tgiFrictionShare *ds, tgReal *df);

/// The point of a sum; false, *p undefined, when its force is 0.
bool tgi_friction_point(const tgiFrictionSum *s, tgiFrictionPoint *p);
/// Derivatives of the point *p of *s.
void tgi_friction_point_d(const tgiFrictionSum *s, const tgiFrictionPoint *p, int nd, const tgiFrictionSum *ds, tgiFrictionPoint *dp);

/// Frame x0, R0 (row-major) at the start and x, R now.
void tgi_friction_motion(const tgReal *x0, const tgReal *R0, const tgReal *x, const tgReal *R, tgiFrictionMotion *m);

/// Energy of n points, D of (62), summed. g (12) and H (144, symmetric) += its derivatives in the twists of bodies 1
/// and 2 now, world origin, as in tgPairTerm; both may be NULL.
tgReal tgi_friction_energy(int n, const tgiFrictionPoint *p, const tgiFrictionLaw *law, const tgiFrictionMotion m[2], tgReal *g, tgReal *H);

/// B (144) += the derivative of one point's g in the twists of bodies 1 and 2 at the start of the step, poses now held.
/// dp: derivatives of the point in the twist of body 1 at the start (world origin, body 2 held).
void tgi_friction_mixed(const tgiFrictionPoint *p, const tgiFrictionPoint dp[6], const tgiFrictionLaw *law, const tgiFrictionMotion m[2],
                        tgReal B[144]);

/// The adjoint for Z (12), twists that weigh g: bar, what Z . g weighs the point's numbers by when they change with the
/// pose of body 1 at the start, and in out (12) += B' Z all the rest: with dp as in tgi_friction_mixed and c_j = sum of
/// bar over dp[j], B' Z = out + (c; -c).
void tgi_friction_mixed_vjp(const tgiFrictionPoint *p, const tgiFrictionLaw *law, const tgiFrictionMotion m[2], const tgReal Z[12],
                            tgiFrictionPoint *bar, tgReal out[12]);

/// dg (12) = rate of one point's g when the point changes by dp and its anchors slip over the bodies by dp->a and dp->b, all poses held.
void tgi_friction_rate(const tgiFrictionPoint *p, const tgiFrictionPoint *dp, const tgiFrictionLaw *law,
                       const tgiFrictionMotion m[2], tgReal dg[12]);
/// The same in the step size.
void tgi_friction_step_rate(const tgiFrictionPoint *p, const tgiFrictionLaw *law, const tgiFrictionMotion m[2], tgReal dg[12]);

/// The publication's form for one pair of triangles: a massless plane between them slides at the velocity w that costs least,
///   v_k = P (x_k - x_k0)/h,  P = 1 - n n',  D = lambda h min over w of sum f_k (sqrt(|v_k - w|^2 + eps^2) - eps)          (67)
/// f_k the force on vertex k (three of body 1, three of body 2) at the start, x its place then. Its two sides slide on the plane, so that
/// friction takes hold at 2 eps.
typedef struct tgiFrictionPlane { tgReal f[6], x[18], n[3]; } tgiFrictionPlane;
tgReal tgi_friction_plane_energy(int n, const tgiFrictionPlane *p, const tgiFrictionLaw *law,
                                 const tgiFrictionMotion m[2], tgReal *g, tgReal *H);
/// dp: derivatives of f and n in the twist of body 1 at the start; dp.x is not read, the vertices being material points.
void tgi_friction_plane_mixed(const tgiFrictionPlane *p, const tgiFrictionPlane dp[6], const tgiFrictionLaw *law,
                              const tgiFrictionMotion m[2], tgReal B[144]);

/// As above; the vertices slip over the bodies by dp->x.
void tgi_friction_plane_rate(const tgiFrictionPlane *p, const tgiFrictionPlane *dp, const tgiFrictionLaw *law, const tgiFrictionMotion m[2],
                             tgReal dg[12]);
void tgi_friction_plane_step_rate(const tgiFrictionPlane *p, const tgiFrictionLaw *law, const tgiFrictionMotion m[2], tgReal dg[12]);

#endif
