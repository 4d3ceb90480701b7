// friction_twist.h: points under twists at the world origin, as both forms of friction use them.
#ifndef TG_CONTACT_BARRIER_FRICTION_FRICTION_TWIST_H
#define TG_CONTACT_BARRIER_FRICTION_FRICTION_TWIST_H

#include "contact/barrier/friction/friction.h"

/// By how much the material point that was at p at the start has moved.
static inline void tgi_friction_moved(tgReal r[3], const tgiFrictionMotion *m, const tgReal p[3]) {
  tgReal c[3];
  tgi_v3_sub(c, p, m->from);
  tgi_m3_mulv(r, m->E, c);
  tgi_v3_add(r, r, m->d);
}

/// Velocity of a point x under unit twist j (angular; linear).
static inline void tgi_friction_velocity(tgReal r[3], int j, const tgReal x[3]) {
  tgReal e[3] = {0};
  e[j % 3] = 1;
  if (j < 3) tgi_v3_cross(r, e, x); else tgi_v3_copy(r, e);
}

/// w (6) += sign (x cross f; f).
static inline void tgi_friction_wrench(tgReal *w, const tgReal x[3], double sign, const tgReal f[3]) {
  tgReal t[3];
  tgi_v3_cross(t, x, f);
  tgi_v3_axpy(w, sign, t);
  tgi_v3_axpy(w + 3, sign, f);
}

/// Rate of a symmetric Q (full) under unit twist j: W Q - Q W, W the cross matrix of the rotation; as xx yy zz xy xz yz.
static inline void tgi_friction_turned(tgReal d[6], int j, const tgReal Q[9]) {
  tgReal W[9] = {0}, A[9];
  if (j < 3) {
    int k = (j + 1) % 3, l = (j + 2) % 3;
    W[3 * l + k] = 1;
    W[3 * k + l] = -1;
  }
  tgi_m3_mul(A, W, Q);
  // Q W = -(W Q)', W being antisymmetric
  for (int i = 0; i < 3; i++) d[i] = 2 * A[4 * i];
  d[3] = A[1] + A[3];
  d[4] = A[2] + A[6];
  d[5] = A[5] + A[7];
}

/// T (6x6 block in rows of 12) += sign times the second-order part of f . exp(xi) x: f . (w cross (w cross x + v)) = xi' (block) xi.
static inline void tgi_friction_curvature(tgReal *T, const tgReal x[3], double sign, const tgReal f[3]) {
  tgReal fx = tgi_v3_dot(f, x), h = 0.5 * sign;
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < 3; j++) T[12 * i + j] += h * (f[i] * x[j] + x[i] * f[j]) - (i == j ? sign * fx : 0);
  // f . (w cross v) = -w' [f] v, half of it on each side of the diagonal
  for (int i = 0; i < 3; i++) {
    int j = (i + 1) % 3, k = (i + 2) % 3;
    T[12 * i + 3 + j] += h * f[k];
    T[12 * (3 + j) + i] += h * f[k];
    T[12 * j + 3 + i] -= h * f[k];
    T[12 * (3 + i) + j] -= h * f[k];
  }
}

/// H += (T + T')/2.
static inline void tgi_friction_symmetric(tgReal H[144], const tgReal T[144]) {
  for (int i = 0; i < 12; i++)
    for (int j = 0; j < 12; j++) H[12 * i + j] += 0.5 * (T[12 * i + j] + T[12 * j + i]);
}

#endif
