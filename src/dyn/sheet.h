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

/// A triangle (n 3) or an edge with both its triangles (n 4), where its vertices are and how they move, world.
typedef struct tgiPatch { int flex, at, n; const int *vert; tgReal x[12], v[12]; } tgiPatch;
static const tgiPatch tgi_no_patch = {.flex = -1};

/// Some sheet resists something.
bool tgi_has_sheet(const tgModel *m);
/// The patch after *patch at the pose and its velocities; false: there is none. The first after tgi_no_patch.
bool tgi_next_patch(const tgSim *s, const tgPose *pose, tgiPatch *patch);
/// f (3 n) = forces on its vertices.
void tgi_patch_force(const tgSim *s, const tgiPatch *patch, tgReal *f);
/// gx, gv (3 n) = the gradient of y . f in places and velocities of the vertices; p (may be NULL) += that in the sheet's numbers.
void tgi_patch_vjp(const tgSim *s, const tgiPatch *patch, const tgReal *y, tgReal *gx, tgReal *gv, tgParamGrad *p);
/// Energy.
tgReal tgi_patch_energy(const tgSim *s, const tgiPatch *patch);

#endif
