// kinematics.h: q -> frames, motion axes and Jacobians.
//
// Everything is in world axes; spatial vectors are taken at the world origin. A dof's axis S_d depends on q through the
// dofs before it and, inside a rotation group (ball, free), through the group itself, whose axes turn with the body:
//   dS_k/dq_j = S_j x S_k  for j on the way to the root of k, or in k's own group.
#ifndef TG_KIN_KINEMATICS_H
#define TG_KIN_KINEMATICS_H

#include "math/spatial.h"
#include "math/wide.h"
#include "sim/param.h"
#include "sim/sim.h"

/// The pose at coordinates q (nq; normalises nothing, reads quaternions as q/|q|): q, body, geom and site frames,
/// centres of mass, S, ST, tendon lengths.
TGI_KERNEL(void, tgi_kinematics, (const tgModel *m, const tgReal *q, tgPose *pose), (m, q, pose))
/// The same without the frames of geoms and without ST: what energies are of.
TGI_KERNEL(void, tgi_kinematics_bodies, (const tgModel *m, const tgReal *q, tgPose *pose), (m, q, pose))

/// Of that what geom g is placed by, where pose->q has the coordinates of the joints on its body's way from body `stop`, which is on it
/// and whose frame the pose has: the frames and axes from there to the geom's body, and the geom's frame.
TGI_KERNEL(void, tgi_kinematics_geom, (const tgModel *m, int g, int stop, tgPose *pose), (m, g, stop, pose))

/// row (nv) = screw' J_body: adds sign * S_d . screw for every dof d that moves the body; screw = (p x d; d) at the world origin.
void tgi_add_row(const tgSim *s, const tgPose *pose, int body, const tgReal screw[6], tgReal sign, tgReal *row);

/// Spatial velocity of a body for generalised velocity v (nv).
void tgi_body_velocity(const tgSim *s, const tgPose *pose, int body, const tgReal *v, tgReal V[6]);
/// Those of all bodies, V (nbody x 6).
void tgi_body_velocities(const tgModel *m, const tgPose *pose, const tgReal *v, tgReal *V);

/// row (nv) += sign * d/dq_j [ screw . V_body(q, v) ] with the screw fixed in the world, for fixed v:
/// dV_body/dq_j = S_j x (V_body - Vp_j), Vp_j the velocity before j's group. Any v, not only v0.
void tgi_add_row_d(const tgSim *s, const tgPose *pose, int body, const tgReal screw[6], const tgReal *v, tgReal sign, tgReal *row);

/// Twist of a body per dof: column j of d(pose)/dq_j is S_j for the dofs on its way to the root, else 0. True when dof j moves body.
bool tgi_dof_moves(const tgModel *m, int dof, int body);

/// 6 x nv Jacobian (rows: angular 3, linear 3) of the material point p of a body.
void tgi_point_jacobian(const tgSim *s, const tgPose *pose, int body, const tgReal p[3], tgReal *J);

/// Carries the adjoints of axes (p->S) and poses (p->X) at the pose to body_pos, body_quat, jnt_pos and
/// jnt_axis, adding; then sets both to zero. gq (nv, may be NULL) += their part in the coordinates.
void tgi_place_vjp(const tgSim *s, const tgPose *pose, tgParamGrad *p, tgReal *gq);
/// g4 += the gradient in a unit quaternion q, along its sphere, of what changes by g . delta when q turns to q (1, delta/2).
void tgi_quat_gradient(const tgReal *q, const tgReal *g, tgReal *g4);

/// out (nv x n, row-major) = d(q (+) w)/dq Xq + d(q (+) w)/dw Xw, tangent coordinates (tg_model_integrate; the blocks depend on w
/// alone: 1, and for rotations exp(-[w]) and Jr(w)). Xq or Xw (nv x n) may be NULL: that part is zero. out must not be Xw; n = 1: vectors.
void tgi_integrate_jacobian(const tgModel *m, const tgReal *w, int n, const tgReal *Xq, const tgReal *Xw, tgReal *out);
/// Of joint j alone: of q (+) dv, and out = d(q (+) w)/dw x in its dofs.
void tgi_integrate_joint(const tgModel *m, int j, const tgReal *q, const tgReal *dv, tgReal *out);
void tgi_integrate_joint_rate(const tgModel *m, int j, const tgReal *w, const tgReal *x, tgReal *out);
/// The blocks themselves, of d(q (+) w)/dq and d(q (+) w)/dw (nv x 3): row d of its group's 3x3, a dof outside a rotation
/// has 1 in the first place alone.
void tgi_integrate_blocks(const tgModel *m, const tgReal *w, tgReal *Bq, tgReal *Bw);
/// The same where Xq is 1 in the first nv columns, 0 elsewhere, and Xw = h Y; Y NULL: h in the next nv columns. span
/// (nv x 2): the dofs from .. to - 1 in whose columns, of q and of v, row d of Y may be other than 0, besides those
/// from 2 nv on; out is zero elsewhere already.
void tgi_integrate_own_jacobian(const tgModel *m, const tgReal *w, tgReal h, int n, const tgReal *Y, const int *span, tgReal *out);
/// Adjoint: gq += (d/dq)' g, gw += (d/dw)' g (nv each); either may be NULL. g must be neither of them.
void tgi_integrate_vjp(const tgModel *m, const tgReal *w, const tgReal *g, tgReal *gq, tgReal *gw);

#endif
