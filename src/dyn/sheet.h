// sheet.h: forces of thin sheets, patch by patch: triangles that resist strain, edges between two of them that resist bending.
//
// Based on: [math/cloth]; the energies are those of MuJoCo's flex of dimension 2.
//   triangle  e = (a.a - A.A, b.b - B.B, a.b - A.B)/2 of its sides a, b and A, B at rest, e' its rate;
//             E = e'H e/2, H = area thickness young/(1 - poisson^2) (poisson tr tr' + (1 - poisson) Q), of A and B alone;
//             stress s = H (e + damping e'), the forces -de's;
//   edge      E = k |sum c_i x_i|^2/2 + b [x1 - x0, x2 - x0, x3 - x0], k, c, b of the shape at rest; b is 0 where that is flat;
//             damping acts by k (sum c_i x_i)' alone.
#ifndef TG_DYN_SHEET_H
#define TG_DYN_SHEET_H

#include "sim/param.h"

/// Of a triangle: sides at rest, G = (A.A, B.B, A.B), p, r, q of its inverse, H; now: sides, their rates, e, e', and the sum in s.
typedef struct tgiTriangle {
  tgReal A[3], B[3], G[3], p, r, q, det, scale, nu, young, H[9];
  tgReal a[3], b[3], da[3], db[3], e[3], rate[3], sum[3], s[3];
} tgiTriangle;
/// Of an edge: sides at rest, e the edge; their products, twice the triangles' areas, c, k and b, of unit modulus; now: sum c_i (x_i + ..).
typedef struct tgiEdge { tgReal e[3], f[3], g[3], L2, ef, eg, fg, ff, gg, n1, n2, sum, cross, det, stiff, c[4], k, b, u[3]; } tgiEdge;
/// A triangle (n 3) or an edge with both its triangles (n 4), where its vertices are and how they move, world; and what follows.
typedef struct tgiPatch {
  int flex, at, n;
  const int *vert;
  tgReal x[12], v[12];
  union { tgiTriangle triangle; tgiEdge edge; } is;
} tgiPatch;
static const tgiPatch tgi_no_patch = {.flex = -1};

/// Some sheet resists something.
bool tgi_has_sheet(const tgModel *m);
/// The patch after *patch at the pose and its velocities; false: there is none. The first after tgi_no_patch.
bool tgi_next_patch(const tgSim *s, const tgPose *pose, tgiPatch *patch);
/// What follows from x and v; tgi_next_patch does it.
void tgi_patch_update(const tgSim *s, tgiPatch *patch);
/// f (3 n) = forces on its vertices.
void tgi_patch_force(const tgSim *s, const tgiPatch *patch, tgReal *f);
/// gx, gv (3 n) = the gradient of y . f in places and velocities of the vertices; p (may be NULL) += that in the sheet's numbers.
void tgi_patch_vjp(const tgSim *s, const tgiPatch *patch, const tgReal *y, tgReal *gx, tgReal *gv, tgParamGrad *p);
/// K, C (3 n x 3 n, row-major) = the derivatives of the forces in places and velocities of the vertices.
void tgi_patch_derivative(const tgSim *s, const tgiPatch *patch, tgReal *K, tgReal *C);
/// Energy.
tgReal tgi_patch_energy(const tgSim *s, const tgiPatch *patch);

#endif
