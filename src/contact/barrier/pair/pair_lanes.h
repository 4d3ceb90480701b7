// pair_lanes.h: the plane between two triangles on vectors, one pair of triangles a lane. Included by kernels only.
#ifndef TG_CONTACT_BARRIER_PAIR_PAIR_LANES_H
#define TG_CONTACT_BARRIER_PAIR_PAIR_LANES_H

#include "contact/barrier/pair/pair_wide.h"
#include "contact/barrier/pair/tolerances.h"
#include "math/lanes.h"

// The plane of plane.h with |n| = 1; vertices and what is linear in them (a, b) are multiplied by their side, p_k = s_k (x_k - centre).
typedef struct Plane {
  V p[6][3], centre[3], size, area;  // area: product of the extents of both triangles
  Mask swapped;
  V round, times[2], third[2];      // half the sum of the radii; c of the first two and of the third corner of either
  bool oval;
  V axes[2][9], grown;              // of ellipsoids: they and the radii are there as far as they have grown, see pair_kernel.c
  V ball, less[2], h[2], e[2][3], at[2][3];   // grown: round, what comes off the margins; support, with the unit vector that makes it
                                              // and the point that it is of (grown)
  V u[3], delta, t1[3], t2[3];
  V inv[6], most, y[6], z[6], a[6], b[6];  // 1/m, its largest
  V S, own,                        // own: curvature of S in the direction itself
     Z, K0, K1, shear, mean[2], per[3];  // per: 1/K0, 1/K1, 1/Z
} Plane;

TGI_LANE V sided(int k, V a) { return k < 3 ? a : -a; }
TGI_LANE V times(const Plane *p, int k) { return k % 3 < 2 ? p->times[k / 3] : p->third[k / 3]; }

// largest coordinate of the edges from the first vertex of a triangle
TGI_LANE V extent(V at[3][3]) {
  V e = v_all(0);
  for (int i = 0; i < 3; i++) e = v_max(e, v_max(v_abs(at[1][i] - at[0][i]), v_abs(at[2][i] - at[0][i])));
  return e;
}

// to be divided by; 1 where a is 0
TGI_LANE V some(V a) { return v_pick(v_less(v_all(0), a), a, v_all(1)); }

// support h = |L u| of an ellipsoid, L u = h e, and the point L'e; of one without size all 0
TGI_LANE V support(const V L[9], const V u[3], V e[3], V at[3]) {
  for (int i = 0; i < 3; i++) e[i] = v_dot(L + 3 * i, u);
  V h = v_sqrt(v_dot(e, e)), per = 1.0 / some(h);
  for (int i = 0; i < 3; i++) e[i] *= per;
  for (int i = 0; i < 3; i++) at[i] = e[0] * L[i] + e[1] * L[3 + i] + e[2] * L[6 + i];
  return h;
}

// at the plane's direction
TGI_LANE void supports(Plane *p) {
  p->ball = p->grown * p->round;
  for (int half = 0; half < 2; half++) {
    p->h[half] = support(p->axes[half], p->u, p->e[half], p->at[half]);
    p->less[half] = p->ball + p->grown * p->h[half];
    for (int i = 0; i < 3; i++) p->at[half][i] *= p->grown;
  }
}

// row i of (1 - e e') L, which is what bends the support along t, times t; Hess h = the squares of these over h
TGI_LANE V bow(const Plane *p, int half, int i, const V t[3]) {
  V at[3] = {p->at[half][0], p->at[half][1], p->at[half][2]};
  return v_dot(p->axes[half] + 3 * i, t) - p->e[half][i] * v_dot(at, t) / p->grown;
}
// 1/h, 0 where there is no ellipsoid
TGI_LANE V per_support(const Plane *p, int half) {
  return v_pick(v_less(v_all(0), p->h[half]), 1.0 / some(p->h[half]), v_all(0));
}

TGI_LANE void place_ovals(Plane *p, const tgiPairBlock *b, int lane) {
  for (int i = 0; i < 9; i++) {
    V a = v_load(b->axes[0][i] + lane), c = v_load(b->axes[1][i] + lane);
    p->axes[0][i] = v_pick(p->swapped, c, a);
    p->axes[1][i] = v_pick(p->swapped, a, c);
    p->size = v_max(p->size, v_max(v_abs(a), v_abs(c)));
  }
}

TGI_LANE void place(Plane *p, const tgiPairBlock *b, int lane) {
  const tgReal *x = b->x[0] + lane;
  V at[2][3][3];
  for (int k = 0; k < 6; k++)
    for (int i = 0; i < 3; i++) at[k / 3][k % 3][i] = v_load(x + TGI_PAIR_LANES * (3 * k + i));
  V reach[2] = {extent(at[0]), extent(at[1])};
  p->swapped = v_less(reach[1], reach[0]);
  p->area = reach[0] * reach[1];
  V radius[2] = {v_load(b->radius[0] + lane), v_load(b->radius[1] + lane)};
  V segment[2] = {v_load(b->segment[0] + lane), v_load(b->segment[1] + lane)};
  p->round = 0.5 * (radius[0] + radius[1]);
  p->size = p->round;
  for (int half = 0; half < 2; half++) {
    V is = v_pick(p->swapped, segment[1 - half], segment[half]);
    p->times[half] = 1.0 + 0.5 * is;
    p->third[half] = 1.0 - is;
  }
  for (int i = 0; i < 3; i++) {
    V first[3], second[3];
    for (int k = 0; k < 3; k++) {
      first[k] = v_pick(p->swapped, at[1][k][i], at[0][k][i]);
      second[k] = v_pick(p->swapped, at[0][k][i], at[1][k][i]);
    }
    p->centre[i] = (first[0] + first[1] + first[2]) * v_all(1.0 / 3);
    for (int k = 0; k < 3; k++) {
      p->p[k][i] = first[k] - p->centre[i];
      p->p[3 + k][i] = p->centre[i] - second[k];
      p->size = v_max(p->size, v_max(v_abs(p->p[k][i]), v_abs(p->p[3 + k][i])));
    }
  }
  p->oval = b->oval;
  p->grown = v_all(1);
  p->ball = p->less[0] = p->less[1] = p->round;
  if (p->oval) place_ovals(p, b, lane);
}

// what turns round with the order of the triangles
TGI_LANE V turned(const Plane *p, V a) { return v_pick(p->swapped, -a, a); }

// All margins positive. A division costs as much as the rest of a vertex, so two vertices share one; a margin of 0
// makes S no number, which is not below.
TGI_LANE Mask look(Plane *p) {
  if (p->oval) supports(p);
  for (int k = 0; k < 6; k += 2) {
    V m0 = v_dot(p->u, p->p[k]) + sided(k, p->delta) - p->less[k / 3],
      m1 = v_dot(p->u, p->p[k + 1]) + sided(k + 1, p->delta) - p->less[(k + 1) / 3], both = 1.0 / (m0 * m1);
    p->inv[k] = m1 * both;
    p->inv[k + 1] = m0 * both;
  }
  V least = p->inv[0];
  p->most = p->inv[0];
  p->S = times(p, 0) * p->inv[0];
  for (int k = 1; k < 6; k++) {
    least = v_min(least, p->inv[k]);
    p->most = v_max(p->most, p->inv[k]);
    p->S += times(p, k) * p->inv[k];
  }
  return m_and(v_less(v_all(0), least), v_less(p->S, v_all(TGI_PAIR_HUGE)));
}

TGI_LANE void tangents(Plane *p) {
  const V *u = p->u;
  V s = v_pick(v_less(u[2], v_all(0)), v_all(-1), v_all(1)), f = v_all(-1) / (s + u[2]), g = u[0] * u[1] * f;
  p->t1[0] = 1.0 + s * u[0] * u[0] * f;
  p->t1[1] = s * g;
  p->t1[2] = -s * u[0];
  p->t2[0] = g;
  p->t2[1] = s + u[1] * u[1] * f;
  p->t2[2] = -u[1];
}

TGI_LANE void factor(Plane *p) {
  V sa = v_all(0), sb = v_all(0), ab = v_all(0), za[6], along[2], bend[2] = {v_all(0), v_all(0)}, t1[2][3], t2[2][3];
  tangents(p);
  p->Z = v_all(0);
  p->own = p->S;
  along[0] = along[1] = v_all(0);
  for (int k = 0; k < 6; k++) {
    V i = p->inv[k], y = times(p, k) * i * i, z = 2.0 * i * y, a = v_dot(p->t1, p->p[k]), b = v_dot(p->t2, p->p[k]);
    p->y[k] = y;
    p->z[k] = z;
    p->a[k] = a;
    p->b[k] = b;
    p->own += p->ball * y;
    p->Z += z;
    sa += sided(k, z) * a;
    sb += sided(k, z) * b;
  }
  if (p->oval) {
    sa = sb = v_all(0);
    for (int k = 0; k < 6; k++) {
      p->a[k] -= v_dot(p->t1, p->at[k / 3]);
      p->b[k] -= v_dot(p->t2, p->at[k / 3]);
      sa += sided(k, p->z[k]) * p->a[k];
      sb += sided(k, p->z[k]) * p->b[k];
    }
    for (int half = 0; half < 2; half++) {
      bend[half] = p->grown * per_support(p, half) * (p->y[3 * half] + p->y[3 * half + 1] + p->y[3 * half + 2]);
      for (int i = 0; i < 3; i++) {
        t1[half][i] = bow(p, half, i, p->t1);
        t2[half][i] = bow(p, half, i, p->t2);
      }
      along[0] += bend[half] * v_dot(t1[half], t1[half]);
      along[1] += bend[half] * v_dot(t1[half], t2[half]);
    }
  }
  p->per[2] = 1.0 / p->Z;
  p->mean[0] = sa * p->per[2];
  p->mean[1] = sb * p->per[2];
  p->K0 = p->own;
  for (int k = 0; k < 6; k++) {
    p->a[k] -= sided(k, p->mean[0]);
    p->b[k] -= sided(k, p->mean[1]);
    za[k] = p->z[k] * p->a[k];
    p->K0 += za[k] * p->a[k];
    ab += za[k] * p->b[k];
  }
  if (p->oval) {
    p->K0 += along[0];
    ab += along[1];
  }
  p->per[0] = 1.0 / p->K0;
  p->shear = ab * p->per[0];
  p->K1 = p->own * (1.0 + p->shear * p->shear);
  for (int k = 0; k < 6; k++) {
    p->b[k] -= p->shear * p->a[k];
    p->K1 += p->z[k] * p->b[k] * p->b[k];
  }
  for (int i = 0; i < 6 && p->oval; i++) {
    V t = t2[i / 3][i % 3] - p->shear * t1[i / 3][i % 3];
    p->K1 += bend[i / 3] * t * t;
  }
  p->per[1] = 1.0 / p->K1;
}

#endif
