// quat.h: unit quaternions (w, x, y, z) and rotations, MuJoCo's convention: R(q) maps body to world axes,
// the tangent of a rotation is in body axes: R <- R exp([w]).
#ifndef TG_MATH_QUAT_H
#define TG_MATH_QUAT_H

#include "math/vec3.h"

/// r = a b (apply b first). r may be a or b.
static inline void tgi_quat_mul(tgReal *r, const tgReal *a, const tgReal *b) {
  tgReal w = a[0] * b[0] - a[1] * b[1] - a[2] * b[2] - a[3] * b[3];
  tgReal x = a[0] * b[1] + a[1] * b[0] + a[2] * b[3] - a[3] * b[2];
  tgReal y = a[0] * b[2] - a[1] * b[3] + a[2] * b[0] + a[3] * b[1];
  tgReal z = a[0] * b[3] + a[1] * b[2] - a[2] * b[1] + a[3] * b[0];
  r[0] = w; r[1] = x; r[2] = y; r[3] = z;
}
/// R (row-major 3x3) of a unit quaternion.
static inline void tgi_quat_to_mat(tgReal *R, const tgReal *q) {
  tgReal w = q[0], x = q[1], y = q[2], z = q[3];
  R[0] = w * w + x * x - y * y - z * z; R[1] = 2 * (x * y - w * z); R[2] = 2 * (x * z + w * y);
  R[3] = 2 * (x * y + w * z); R[4] = w * w - x * x + y * y - z * z; R[5] = 2 * (y * z - w * x);
  R[6] = 2 * (x * z - w * y); R[7] = 2 * (y * z + w * x); R[8] = w * w - x * x - y * y + z * z;
}
/// r = R(q) v = v + 2 w (u x v) + 2 u x (u x v). r must not be v.
static inline void tgi_quat_rotate(tgReal *r, const tgReal *q, const tgReal *v) {
  tgReal t[3], c[3];
  tgi_v3_cross(t, q + 1, v);
  tgi_v3_scale(t, t, 2);
  tgi_v3_cross(c, q + 1, t);
  for (int i = 0; i < 3; i++) r[i] = v[i] + q[0] * t[i] + c[i];
}
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
/// out_i = p' (dJr^-1/dw_i) y.
void tgi_so3_jr_inv_d(tgReal *out, const tgReal *w, const tgReal *p, const tgReal *y);

#endif
