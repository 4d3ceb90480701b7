// minimise_param.c: see minimise_param.h.
//
// Based on: [math/barrier Gradient]. Each line is z . (the derivative of one part of dL/dq' in a number), read off the energies of
// objective.h. Where bodies and joints are placed: the poses and axes at q1, q0 and a step before each have their adjoint, which
// tgi_place_vjp carries to the parameters that place them.
#include "step/minimise_param.h"

#include "dyn/forces.h"
#include "math/quat.h"
#include "step/minimise.h"

// mass, centre, inertia, weight and h of one body whose points move with Z
static void inertial(const tgSim *s, int b, const tgReal *Z, tgParamGrad *p) {
  const tgModel *m = &s->m;
  const tgReal *R = s->end.xmat + 9 * b, *g = m->opt_gravity;
  tgReal A[9], a[3], u[3], x[3], y[3], turned[9], Q[9], T[9], Sigma[9], mass = m->body_mass[b],
         light = 1 - m->body_gravcomp[b], hh = s->h * s->h;
  tgi_second_difference(s, &s->end, b, A, a);
  tgi_sp_point_velocity(u, Z, s->end.xcom + 3 * b);
  for (int k = 0; k < 3; k++) {
    tgi_m3_col(x, R, k);
    tgi_v3_cross(y, Z, x);
    for (int i = 0; i < 3; i++) turned[3 * i + k] = y[i];
  }
  // Q = A' [w] R/h^2, to which Sigma is dual
  for (int i = 0; i < 3; i++)
    for (int k = 0; k < 3; k++) Q[3 * i + k] = (A[i] * turned[k] + A[3 + i] * turned[3 + k] + A[6 + i] * turned[6 + k]) / hh;
  tgReal inertial = tgi_v3_dot(a, u) / hh, fall = tgi_v3_dot(g, u);
  if (p->body_mass != NULL) p->body_mass[b] += inertial - light * fall;
  if (p->body_gravcomp != NULL) p->body_gravcomp[b] += mass * fall;
  if (p->opt_gravity != NULL) tgi_v3_axpy(p->opt_gravity, -light * mass, u);
  if (p->body_com != NULL) {
    for (int i = 0; i < 3; i++) x[i] = mass * (a[i] / hh - light * g[i]);
    tgi_m3_tmulv(y, turned, x);
    tgi_v3_add(p->body_com + 3 * b, p->body_com + 3 * b, y);
    tgi_m3_tmulv(y, A, u);
    tgi_v3_axpy(p->body_com + 3 * b, mass / hh, y);
  }
  if (p->body_inertia != NULL) {
    tgReal *I = p->body_inertia + 6 * b, half = (Q[0] + Q[4] + Q[8]) / 2;
    for (int i = 0; i < 3; i++) I[i] += half - Q[4 * i];
    I[3] -= Q[1] + Q[3];
    I[4] -= Q[2] + Q[6];
    I[5] -= Q[5] + Q[7];
  }
  if (p->opt_timestep == NULL) return;
  tgi_spread(s, b, Sigma);
  tgReal sum = mass * inertial;
  tgi_m3_mul(T, Q, Sigma);
  sum += T[0] + T[4] + T[8];
  p->opt_timestep[0] -= 2 / s->h * sum;
}

// what E(exp(xi) T) = E + w . xi + xi' K xi/2 costs by a turn of T itself: d(w . Z) = (K Z) . xi + w . (Z x xi)/2
static void turned(const tgReal *KZ, const tgReal *Z, const tgReal *w, tgReal *X) {
  tgReal t[6];
  tgi_sp_cross_f(t, Z, w);
  for (int i = 0; i < 6; i++) X[i] += KZ[i] - t[i] / 2;
}

// of a pair of bodies; sum: wrenches on the bodies
static void pair_pose(const tgiAdjoint *a, const tgPairTerm *t, tgReal *sum, tgParamGrad *p) {
  const tgReal *Z[2] = {a->Z + 6 * t->body1, a->Z + 6 * t->body2};
  tgReal HZ[12], g[12];
  for (int r = 0; r < 12; r++) g[r] = -t->w[r];
  for (int r = 0; r < 12; r++) {
    HZ[r] = 0;
    for (int c = 0; c < 12; c++) HZ[r] += tgi_term_stiffness(t, r, c) * Z[c / 6][c % 6];
  }
  turned(HZ, Z[0], g, p->X + 6 * t->body1);
  turned(HZ + 6, Z[1], g + 6, p->X + 6 * t->body2);
  tgi_sp_axpy(sum + 6 * t->body1, 1, g);
  tgi_sp_axpy(sum + 6 * t->body2, 1, g + 6);
}

static tgStatus new_poses(tgSim *s, const tgiAdjoint *a, tgParamGrad *p) {
  const tgModel *m = &s->m;
  tgReal *sum = a->o.wrench, w[6], K[36], KZ[6];
  for (int i = 0; i < 6 * m->nbody; i++) sum[i] = 0;
  for (int b = 1; b < m->nbody; b++) {
    if (m->body_lastdof[b] < 0) continue;
    const tgReal *Z = a->Z + 6 * b;
    tgi_body_terms(s, &s->end, b, s->h, w, K);
    for (int r = 0; r < 6; r++) {
      KZ[r] = 0;
      for (int c = 0; c < 6; c++) KZ[r] += K[6 * r + c] * Z[c];
    }
    turned(KZ, Z, w, p->X + 6 * b);
    tgi_sp_axpy(sum + 6 * b, 1, w);
  }
  for (int i = 0; i < s->nterm; i++) pair_pose(a, &s->term[i], sum, p);
  for (int e = 0; e < m->neq; e++) {
    tgPairTerm bond;
    if (!tgi_is_bound(m, e)) continue;
    tgi_bond_term(s, &s->end, e, &bond);
    pair_pose(a, &bond, sum, p);
  }
  for (int b = m->nbody - 1; b > 0; b--) tgi_sp_axpy(sum + 6 * m->body_parent[b], 1, sum + 6 * b);
  for (int d = 0; d < m->nv; d++) tgi_sp_axpy(p->S + 6 * d, a->z[d], sum + 6 * m->dof_body[d]);
  tgi_place_vjp(s, &s->end, p, NULL);
  return TG_OK;
}

static tgStatus places(tgSim *s, const tgiAdjoint *a, tgParamGrad *p) {
  TG_TRY(new_poses(s, a, p));
  for (int k = 0; k < 2; k++) {
    for (int i = 0; i < 6 * s->m.nbody; i++) p->X[i] += a->old[k][i];
    tgi_place_vjp(s, tgi_old_pose(s, k), p, NULL);
  }
  return TG_OK;
}

tgStatus tgi_minimise_parameters(tgSim *s, tgiAdjoint *a, tgParamGrad *p) {
  const tgModel *m = &s->m;
  for (int b = 1; b < m->nbody; b++)
    if (m->body_lastdof[b] >= 0) inertial(s, b, a->Z + 6 * b, p);
  tgi_joint_energy_parameters(s, &s->end, &a->o.joints, a->z, a->zeta, p);
  for (int e = 0; e < m->neq; e++)
    if (tgi_is_bound(m, e)) tgi_bond_term_parameters(s, &s->end, e, a->Z + 6 * m->eq_a[e], a->Z + 6 * m->eq_b[e], p);
  TG_TRY(s->contact_model->kind->law->parameters(s, &s->end, a->back, -1, p));
  return p->places ? places(s, a, p) : TG_OK;
}
