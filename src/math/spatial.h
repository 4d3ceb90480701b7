// spatial.h: Plucker vectors, rotation first, all in world axes at the world origin.
//
// Based on: [RBDA 2].
// motion m = (w; v), v the velocity of the body point now at the origin; force f = (n; f), n about the origin.
#ifndef TG_MATH_SPATIAL_H
#define TG_MATH_SPATIAL_H

#include "math/vec3.h"

static inline void tgi_sp_zero(tgReal *r) { for (int i = 0; i < 6; i++) r[i] = 0; }
static inline void tgi_sp_copy(tgReal *r, const tgReal *a) { for (int i = 0; i < 6; i++) r[i] = a[i]; }
static inline void tgi_sp_add(tgReal *r, const tgReal *a, const tgReal *b) {
  for (int i = 0; i < 6; i++) r[i] = a[i] + b[i];
}
static inline void tgi_sp_sub(tgReal *r, const tgReal *a, const tgReal *b) {
  for (int i = 0; i < 6; i++) r[i] = a[i] - b[i];
}
// r += s a
static inline void tgi_sp_axpy(tgReal *r, tgReal s, const tgReal *a) {
  for (int i = 0; i < 6; i++) r[i] += s * a[i];
}
static inline tgReal tgi_sp_dot(const tgReal *a, const tgReal *b) {
  return tgi_v3_dot(a, b) + tgi_v3_dot(a + 3, b + 3);
}
// motion cross motion: r = a x b = (aw x bw; aw x bv + av x bw); r may be a or b  [RBDA (2.33)]
static inline void tgi_sp_cross_m(tgReal *r, const tgReal *a, const tgReal *b) {
  tgReal t[3], u[3], w[3];
  tgi_v3_cross(w, a, b);
  tgi_v3_cross(t, a, b + 3);
  tgi_v3_cross(u, a + 3, b);
  tgi_v3_copy(r, w);
  tgi_v3_add(r + 3, t, u);
}
// motion cross force: r = a x* f = (aw x n + av x f; aw x f); r may be a or f  [RBDA (2.34)]
static inline void tgi_sp_cross_f(tgReal *r, const tgReal *a, const tgReal *f) {
  tgReal t[3], u[3], w[3];
  tgi_v3_cross(t, a, f);
  tgi_v3_cross(u, a + 3, f + 3);
  tgi_v3_cross(w, a, f + 3);
  tgi_v3_add(r, t, u);
  tgi_v3_copy(r + 3, w);
}
// force screw of direction d at point p: (p x d; d)
static inline void tgi_sp_screw(tgReal *r, const tgReal *p, const tgReal *d) {
  tgi_v3_cross(r, p, d);
  tgi_v3_copy(r + 3, d);
}
// velocity of the material point now at p: v + w x p
static inline void tgi_sp_point_velocity(tgReal *r, const tgReal *m, const tgReal *p) {
  tgi_v3_cross(r, m, p);
  for (int i = 0; i < 3; i++) r[i] += m[3 + i];
}

/// Spatial inertia about the world origin, 10 numbers linear in the body's mass, m c and inertia:
/// m, h = m c (3, world), I about the origin (xx yy zz xy xz yz, world).
enum { TG_INERTIA_SIZE = 10 };
/// Of a body with centre of mass c (world), I about the origin = R J R' + m (|c|^2 1 - c c'), h = m c, with J about the centre of mass in
/// body axes (xx yy zz xy xz yz).
static inline void tgi_sp_inertia(tgReal *r, tgReal mass, const tgReal *c, const tgReal *J, const tgReal *R) {
  tgReal full[9] = {J[0], J[3], J[4], J[3], J[1], J[5], J[4], J[5], J[2]}, t[9], W[9];
  tgReal cc = tgi_v3_dot(c, c);
  tgi_m3_mul(t, R, full);
  tgi_m3_mult(W, t, R);
  r[0] = mass;
  tgi_v3_scale(r + 1, c, mass);
  for (int i = 0; i < 3; i++) r[4 + i] = W[4 * i] + mass * (cc - c[i] * c[i]);
  r[7] = W[1] - mass * c[0] * c[1];
  r[8] = W[2] - mass * c[0] * c[2];
  r[9] = W[5] - mass * c[1] * c[2];
}
/// r = I m, momentum of motion m: n = I w + h x v, f = m v - h x w  [RBDA (2.63)]. r must not be m.
static inline void tgi_sp_inertia_mul(tgReal *r, const tgReal *I10, const tgReal *m) {
  const tgReal *h = I10 + 1, *i = I10 + 4, *w = m, *v = m + 3;
  tgReal hv[3], hw[3];
  tgi_v3_cross(hv, h, v);
  tgi_v3_cross(hw, h, w);
  r[0] = i[0] * w[0] + i[3] * w[1] + i[4] * w[2] + hv[0];
  r[1] = i[3] * w[0] + i[1] * w[1] + i[5] * w[2] + hv[1];
  r[2] = i[4] * w[0] + i[5] * w[1] + i[2] * w[2] + hv[2];
  for (int k = 0; k < 3; k++) r[3 + k] = I10[0] * v[k] - hw[k];
}

#endif
