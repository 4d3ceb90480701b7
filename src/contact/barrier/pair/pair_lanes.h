// pair_lanes.h: the plane between two triangles on vectors, one pair of triangles a lane. Included by kernels only.
#ifndef TG_CONTACT_BARRIER_PAIR_PAIR_LANES_H
#define TG_CONTACT_BARRIER_PAIR_PAIR_LANES_H

#include "contact/barrier/pair/pair_wide.h"
#include "math/lanes.h"

// The plane of plane.h with |n| = 1; vertices and what is linear in them (a, b) are multiplied by their side, p_k = s_k (x_k - centre).
typedef struct Plane {
  V p[6][3], centre[3], size, area;  // area: product of the extents of both triangles
  Mask swapped;
  V round, times[2], third[2];      // half the sum of the radii; c of the first two and of the third corner of either
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
    p->centre[i] = (first[0] + first[1] + first[2]) * (1.0 / 3);
    for (int k = 0; k < 3; k++) {
      p->p[k][i] = first[k] - p->centre[i];
      p->p[3 + k][i] = p->centre[i] - second[k];
      p->size = v_max(p->size, v_max(v_abs(p->p[k][i]), v_abs(p->p[3 + k][i])));
    }
  }
}

// what turns round with the order of the triangles
TGI_LANE V turned(const Plane *p, V a) { return v_pick(p->swapped, -a, a); }

// All margins positive. A division costs as much as the rest of a vertex, so two vertices share one; a margin of 0
// makes S no number, which is not below.
TGI_LANE Mask look(Plane *p) {
  for (int k = 0; k < 6; k += 2) {
    V m0 = v_dot(p->u, p->p[k]) + sided(k, p->delta) - p->round, m1 = v_dot(p->u, p->p[k + 1]) + sided(k + 1, p->delta) - p->round,
      both = 1.0 / (m0 * m1);
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
  return m_and(v_less(v_all(0), least), v_less(p->S, v_all(1e300)));
}

TGI_LANE void tangents(Plane *p) {
  const V *u = p->u;
  V s = v_pick(v_less(u[2], v_all(0)), v_all(-1), v_all(1)), f = -1.0 / (s + u[2]), g = u[0] * u[1] * f;
  p->t1[0] = 1.0 + s * u[0] * u[0] * f;
  p->t1[1] = s * g;
  p->t1[2] = -s * u[0];
  p->t2[0] = g;
  p->t2[1] = s + u[1] * u[1] * f;
  p->t2[2] = -u[1];
}

TGI_LANE void factor(Plane *p) {
  V sa = v_all(0), sb = v_all(0), ab = v_all(0), za[6];
  tangents(p);
  p->Z = v_all(0);
  p->own = p->S;
  for (int k = 0; k < 6; k++) {
    V i = p->inv[k], y = times(p, k) * i * i, z = 2.0 * i * y, a = v_dot(p->t1, p->p[k]), b = v_dot(p->t2, p->p[k]);
    p->y[k] = y;
    p->z[k] = z;
    p->a[k] = a;
    p->b[k] = b;
    p->own += p->round * y;
    p->Z += z;
    sa += sided(k, z) * a;
    sb += sided(k, z) * b;
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
  p->per[0] = 1.0 / p->K0;
  p->shear = ab * p->per[0];
  p->K1 = p->own * (1.0 + p->shear * p->shear);
  for (int k = 0; k < 6; k++) {
    p->b[k] -= p->shear * p->a[k];
    p->K1 += p->z[k] * p->b[k] * p->b[k];
  }
  p->per[1] = 1.0 / p->K1;
}

#endif
