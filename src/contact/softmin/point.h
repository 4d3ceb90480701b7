// point.h: a point against the oriented points of a surface: soft height and contact force, with derivatives; plain sums over all points.
//
// Based on: [softmin] eqs. (8)-(9), (21)-(22), [math/softmin Pair]. All in the frame of the surface's geom. With r_i = p_i - y,
//   w_i ~ exp(-|r_i|^2/eps1), phi = sum w_i s_i, s_i = -n_i . r_i, F = sum w_i lambda_i;
//   d w_i/dy = (2/eps1) w_i (r_i - rbar), so that sums of w_i r_i are all that derivatives need besides those of lambda.
// A ball is its points' limit as they get dense and eps1 small, in closed form: with rho = sqrt(|y|^2 + tiny) all weight is on n = y/rho,
//   phi = rho - R, F = lambda(phi, n, u); tiny, (1e-8 R)^2, is below rounding at the surface and keeps numbers finite in the middle.
// In the publication's form the reaction acts at p_i, not at y: T = sum w_i r_i x lambda_i is what its moment has too
// much, and the surface's velocity is taken at p_i too: u_i = u - omega x r_i. The sign is that of a repulsion, which
// eq. (21) as printed has not.
#ifndef TG_CONTACT_SOFTMIN_POINT_H
#define TG_CONTACT_SOFTMIN_POINT_H

#include "contact/softmin/law.h"

/// Oriented points in the frame of their geom; a flat surface is the plane of its one point. ball: the radius of the
/// exact ball about the origin that stands for them where other points meet it, else 0; in the consistent form alone.
typedef struct tgiSoftSurface { int n; const tgReal *p, *normal; tgReal eps1, ball; } tgiSoftSurface;

/// Of a ball's radius squared: what keeps its middle smooth.
#define TGI_SOFT_MIDDLE 1e-16

/// phi and its gradient g; F on the point and T, with their derivatives in y, u and omega (rows: components).
typedef struct tgiSoftPoint { tgReal phi, g[3], F[3], T[3], Fy[9], Fu[9], Fw[9], Ty[9], Tu[9], Tw[9]; } tgiSoftPoint;

/// phi alone.
tgReal tgi_soft_height(const tgiSoftSurface *s, const tgReal y[3]);
/// Of a point at y that moves with u against the surface, which turns with omega. d: with derivatives, else phi, F and T alone.
void tgi_soft_point(const tgiSoftSurface *s, const tgiSoftLaw *law, const tgReal y[3], const tgReal u[3],
                    const tgReal omega[3], bool d, tgiSoftPoint *out);

/// Adjoint of L = A (F . zeta - T . eta) + B phi: what it is in the surface's points p and normals (3 n each,
/// added; both or neither), in its eps1, a ball's radius and the law's numbers (added), and in y and u
/// (written), with zeta held.
typedef struct tgiSoftPointBar { tgReal *p, *normal, *eps1, *ball; tgiSoftLawBar *law; tgReal y[3], u[3]; } tgiSoftPointBar;
void tgi_soft_point_vjp(const tgiSoftSurface *s, const tgiSoftLaw *law, const tgReal y[3], const tgReal u[3],
                        const tgReal omega[3], const tgReal zeta[3], const tgReal eta[3], tgReal A, tgReal B,
                        tgiSoftPointBar *bar);

#endif
