// pair_plain.c: a pair of surfaces by plain sums over all of their points, and its adjoint. See pair.h.
#include "contact/softmin/pair.h"

#include <string.h>

#include "math/spatial.h"

static int tested(const tgiSoftPair *p, int o) { return p->side[1 - o].flat ? 0 : p->side[1 - o].surface.n; }

void tgi_soft_pair_place(const tgiSoftPair *p, int o, int f, tgReal z[3], tgReal y[3]) {
  const tgiSoftSide *P = &p->side[1 - o], *O = &p->side[o];
  tgReal a[3], b[3];
  tgi_m3_mulv(a, P->R, P->surface.p + 3 * f);
  tgi_v3_add(z, a, P->x);
  tgi_v3_sub(b, P->x, O->x);
  tgi_v3_add(a, a, b);
  tgi_m3_tmulv(y, O->R, a);
}

// velocity of the point against the surface o and o's turning, in o's frame
static void motion(const tgiSoftPair *p, int o, const tgReal z[3], tgReal u[3], tgReal omega[3]) {
  const tgiSoftSide *P = &p->side[1 - o], *O = &p->side[o];
  tgReal V[6], a[3];
  tgi_sp_sub(V, P->V, O->V);
  tgi_sp_point_velocity(a, V, z);
  tgi_m3_tmulv(u, O->R, a);
  tgi_m3_tmulv(omega, O->R, O->V);
}

// W of all points into work, those against the first surface before those against the second; returns the least height
static double weights(const tgiSoftPair *p, tgReal *work, tgReal *total) {
  double least = INFINITY;
  tgReal z[3], y[3], *at = work;
  for (int o = 0; o < 2; o++)
    for (int f = 0; f < tested(p, o); f++) {
      tgi_soft_pair_place(p, o, f, z, y);
      *at = tgi_soft_height(&p->side[o].surface, y);
      least = fmin(least, tgRe(*at++));
    }
  *total = 0;
  for (tgReal *i = work; i < at; i++) *total += tgExp((least - *i) / p->eps2);
  return least;
}

double tgi_soft_pair_plain(const tgiSoftPair *p, bool d, tgReal *work, tgPairTerm *out) {
  tgReal total, z[3], y[3], u[3], omega[3], *at = work;
  double least = weights(p, work, &total);
  tgiSoftSum sum[2];
  memset(sum, 0, sizeof sum);
  for (int o = 0; o < 2; o++)
    for (int f = 0; f < tested(p, o); f++) {
      tgiSoftPoint x;
      tgReal W = tgExp((least - *at++) / p->eps2) / total;
      if (tgZero(W)) continue;
      tgi_soft_pair_place(p, o, f, z, y);
      motion(p, o, z, u, omega);
      tgi_soft_point(&p->side[o].surface, &p->law, y, u, omega, d, &x);
      tgi_soft_point_turn(p->side[o].R, p->law.paper, d, &x);
      tgi_soft_sum_add(&sum[o], W, z, p->side[1 - o].V, p->side[o].V, &x, p->law.paper, d);
    }
  tgi_soft_sum_finish(sum, p->side[0].V, p->side[1].V, p->eps2, d, out);
  return least;
}

void tgi_soft_pair_closest(const tgiSoftPair *p, double z[3], double n[3]) {
  double least = INFINITY;
  tgReal at[3], y[3], zero[3] = {0};
  int best[2] = {0, 0};
  for (int o = 0; o < 2; o++)
    for (int f = 0; f < tested(p, o); f++) {
      tgi_soft_pair_place(p, o, f, at, y);
      double height = tgRe(tgi_soft_height(&p->side[o].surface, y));
      if (height >= least) continue;
      least = height;
      best[0] = o;
      best[1] = f;
    }
  tgiSoftPoint x;
  tgi_soft_pair_place(p, best[0], best[1], at, y);
  tgi_soft_point(&p->side[best[0]].surface, &p->law, y, zero, zero, true, &x);
  tgi_soft_point_turn(p->side[best[0]].R, p->law.paper, true, &x);
  tgi_v3_unit(x.g, x.g);
  for (int i = 0; i < 3; i++) {
    z[i] = tgRe(at[i]);
    n[i] = (best[0] == 0 ? 1 : -1) * tgRe(x.g[i]);
  }
}

// ---- adjoint ----

// velocities of the point at z under the twists Z, and the turning of o's, in o's frame; spin: of P against o, world
static void twist_at(const tgiSoftPair *p, int o, const tgReal Z[12], const tgReal z[3], tgReal zeta[3], tgReal eta[3], tgReal spin[3]) {
  tgReal R[6], a[3];
  tgi_sp_sub(R, Z + 6 * (1 - o), Z + 6 * o);
  tgi_sp_point_velocity(a, R, z);
  tgi_m3_tmulv(zeta, p->side[o].R, a);
  tgi_m3_tmulv(eta, p->side[o].R, Z + 6 * o);
  tgi_v3_copy(spin, R);
}

void tgi_soft_pair_point_back(const tgiSoftPair *p, int o, int f, tgReal A, tgReal B, const tgReal Z[12], tgiSoftPairBar *bar) {
  const tgiSoftSide *P = &p->side[1 - o], *O = &p->side[o];
  tgReal z[3], y[3], u[3], omega[3], zeta[3], eta[3], spin[3], zbar[3], ubar[3], t[3], turn[3];
  tgiSoftPoint x;
  tgiSoftPointBar b = {.p = bar->p[o], .normal = bar->normal[o], .eps1 = &bar->eps1[o], .ball = &bar->ball[o], .law = &bar->law};
  tgi_soft_pair_place(p, o, f, z, y);
  motion(p, o, z, u, omega);
  twist_at(p, o, Z, z, zeta, eta, spin);
  tgi_soft_point_vjp(&O->surface, &p->law, y, u, omega, zeta, eta, A, B, &b);
  if (bar->p[1 - o] == NULL) return;
  tgi_soft_point(&O->surface, &p->law, y, u, omega, false, &x);
  tgi_soft_point_turn(O->R, p->law.paper, false, &x);
  // the point moves by dz: y with it, zeta by spin x dz, u by the bodies' relative turning x dz
  tgi_m3_mulv(zbar, O->R, b.y);
  tgi_m3_mulv(ubar, O->R, b.u);
  tgi_v3_cross(t, x.F, spin);
  tgi_v3_axpy(zbar, A, t);
  tgi_v3_sub(turn, P->V, O->V);
  tgi_v3_cross(t, ubar, turn);
  tgi_v3_add(zbar, zbar, t);
  tgi_m3_tmulv(t, P->R, zbar);
  tgi_v3_add(bar->p[1 - o] + 3 * f, bar->p[1 - o] + 3 * f, t);
}

tgReal tgi_soft_pair_value(const tgiSoftPair *p, int o, int f, const tgReal Z[12]) {
  tgReal z[3], y[3], u[3], omega[3], zeta[3], eta[3], spin[3];
  tgiSoftPoint x;
  tgi_soft_pair_place(p, o, f, z, y);
  motion(p, o, z, u, omega);
  twist_at(p, o, Z, z, zeta, eta, spin);
  tgi_soft_point(&p->side[o].surface, &p->law, y, u, omega, false, &x);
  return tgi_v3_dot(x.F, zeta) - tgi_v3_dot(x.T, eta);
}

void tgi_soft_pair_vjp(const tgiSoftPair *p, const tgReal Z[12], tgReal *work, tgiSoftPairBar *bar) {
  tgReal total, mean = 0, *at = work;
  double least = weights(p, work, &total);
  for (int o = 0; o < 2; o++)
    for (int f = 0; f < tested(p, o); f++, at++) {
      tgReal W = tgExp((least - *at) / p->eps2) / total;
      if (!tgZero(W)) mean += W * tgi_soft_pair_value(p, o, f, Z);
    }
  at = work;
  for (int o = 0; o < 2; o++)
    for (int f = 0; f < tested(p, o); f++, at++) {
      tgReal W = tgExp((least - *at) / p->eps2) / total;
      if (tgZero(W)) continue;
      tgReal over = W * (tgi_soft_pair_value(p, o, f, Z) - mean) / p->eps2;
      bar->eps2 += over * *at / p->eps2;
      tgi_soft_pair_point_back(p, o, f, W, -over, Z, bar);
    }
}
