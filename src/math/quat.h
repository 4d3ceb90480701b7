// quat.h: unit quaternions (w, x, y, z) and rotations, MuJoCo's convention: R(q) maps body to world axes,
// the tangent of a rotation is in body axes: R <- R exp([w]).
#ifndef TG_MATH_QUAT_H
#define TG_MATH_QUAT_H

#include "math/vec3.h"

/// r = a b (apply b first). r may be a or b.
void tgi_quat_mul(tgReal *r, const tgReal *a, const tgReal *b);
/// R (row-major 3x3) of a unit quaternion.
void tgi_quat_to_mat(tgReal *R, const tgReal *q);
/// Unit quaternion (w >= 0) of a rotation matrix.
void tgi_mat_to_quat(tgReal *q, const tgReal *R);
/// r = R(q) v. r must not be v.
void tgi_quat_rotate(tgReal *r, const tgReal *q, const tgReal *v);
/// Scales q to unit length, returns the length it had; the identity when that is 0.
tgReal tgi_quat_normalize(tgReal *q);
/// Quaternion of the rotation by |w| about w [rad]. Smooth at w = 0.
void tgi_quat_exp(tgReal *q, const tgReal *w);
/// Rotation vector of a unit quaternion, shortest way round (|w| <= pi).
void tgi_quat_log(tgReal *w, const tgReal *q);
/// Quaternion of the rotation by `angle` about the unit axis.
void tgi_quat_axis_angle(tgReal *q, const tgReal *axis, tgReal angle);

/// Right Jacobian of SO(3): exp(w + dw) = exp(w) exp(Jr(w) dw). Row-major 3x3.  Jr(0) = 1.
void tgi_so3_jr(tgReal *J, const tgReal *w);
/// Inverse of the right Jacobian, |w| < 2 pi.
void tgi_so3_jr_inv(tgReal *J, const tgReal *w);

#endif
