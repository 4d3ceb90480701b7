// law.h: force of one oriented point of a surface on a point that meets it: stiffness, dissipation, friction, in closed form.
//
// Based on: [softmin] eqs. (14)-(20), [math/softmin Law]. With s the height over the point's plane, n its normal, u the
// velocity against the surface,
//   lambda = c d (n - mu tau/rho),   c = k eps log(1 + exp(-s/eps)),   tau = u - (u.n) n,   rho = sqrt(v_s^2 + |tau|^2),   d = D(u.n/v_d).
// D(x) is 1 - x while closing (x <= 0) and 0 from x = 2 on; between, (1 - x/2)^3 (1 + x/2), which is C2 at both ends.
// The publication has (x - 2)^2/4 there, whose second derivative jumps.
#ifndef TG_CONTACT_SOFTMIN_LAW_H
#define TG_CONTACT_SOFTMIN_LAW_H

#include "math/onset.h"
#include "math/vec3.h"

typedef struct tgiSoftLaw {
  tgReal k, eps;      ///< stiffness [N/m], width of its onset [m]
  tgReal v_d, v_s;    ///< speeds of dissipation and of the onset of friction [m/s]
  tgReal mu;          ///< friction
  bool paper;         ///< the publication's dissipation, and its lever (point.h)
} tgiSoftLaw;

/// c and dc/ds.
static inline tgReal tgi_soft_push(const tgiSoftLaw *l, tgReal s, tgReal *slope) {
  bool inside = tgRe(s) < 0;
  tgReal e = tgExp((inside ? s : -s) / l->eps), log1p = tgLog1p(e);
  *slope = -l->k * (inside ? 1 / (1 + e) : e / (1 + e));
  return l->k * (inside ? l->eps * log1p - s : l->eps * log1p);
}

/// D and dD/dx.
static inline tgReal tgi_soft_dissipation(bool paper, tgReal x, tgReal *slope) {
  if (!paper || tgRe(x) <= 0 || tgRe(x) >= 2) return tgi_dissipation(x, slope);
  *slope = x / 2 - 1;
  return (1 - x / 2) * (1 - x / 2);
}

/// A force with what it is made of.
typedef struct tgiSoftForce {
  tgReal lambda[3];
  tgReal c, c_s, d, d_x;        ///< push and its slope in s, dissipation and its slope
  tgReal un, tau[3], rho, m[3]; ///< m = n - mu tau/rho
} tgiSoftForce;

static inline void tgi_soft_force(const tgiSoftLaw *l, tgReal s, const tgReal n[3], const tgReal u[3], tgiSoftForce *f) {
  f->c = tgi_soft_push(l, s, &f->c_s);
  f->un = tgi_v3_dot(u, n);
  f->d = tgi_soft_dissipation(l->paper, f->un / l->v_d, &f->d_x);
  for (int i = 0; i < 3; i++) f->tau[i] = u[i] - f->un * n[i];
  f->rho = tgSqrt(l->v_s * l->v_s + tgi_v3_dot(f->tau, f->tau));
  for (int i = 0; i < 3; i++) {
    f->m[i] = n[i] - l->mu * f->tau[i] / f->rho;
    f->lambda[i] = f->c * f->d * f->m[i];
  }
}

/// dlambda/ds (3) at held n, and dlambda/du (3x3).
static inline void tgi_soft_force_d(const tgiSoftLaw *l, const tgiSoftForce *f, const tgReal n[3], tgReal Ds[3], tgReal Du[9]) {
  tgReal push = f->c * f->d * l->mu / f->rho, t2 = 1 / (f->rho * f->rho);
  for (int i = 0; i < 3; i++) Ds[i] = f->c_s * f->d * f->m[i];
  // (1 - tau tau'/rho^2)(1 - n n') = 1 - n n' - tau tau'/rho^2, tau . n being 0
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < 3; j++)
      Du[3 * i + j] = f->c * f->d_x / l->v_d * f->m[i] * n[j] - push * ((i == j) - n[i] * n[j] - t2 * f->tau[i] * f->tau[j]);
}

/// out = dlambda where the normal turns by dn at held height; dn . n = 0.
static inline void tgi_soft_force_turn(const tgiSoftLaw *l, const tgiSoftForce *f, const tgReal u[3], const tgReal n[3],
                                       const tgReal dn[3], tgReal out[3]) {
  tgReal dun = tgi_v3_dot(u, dn), slope = f->c * f->d_x / l->v_d * dun, N = f->c * f->d, t = 0, dtau[3];
  for (int i = 0; i < 3; i++) {
    dtau[i] = -dun * n[i] - f->un * dn[i];
    t += f->tau[i] * dtau[i];
  }
  for (int i = 0; i < 3; i++)
    out[i] = slope * f->m[i] + N * (dn[i] - l->mu * (dtau[i] - f->tau[i] * t / (f->rho * f->rho)) / f->rho);
}

/// Adjoint of zeta . lambda times `by`: of the height at held n, of the normal at held height, of the velocity, of
/// the numbers; n, u added to.
typedef struct tgiSoftBar { tgReal s, n[3], u[3]; } tgiSoftBar;
typedef struct tgiSoftLawBar { tgReal k, eps, v_d, v_s, mu; } tgiSoftLawBar;

static inline void tgi_soft_force_vjp(const tgiSoftLaw *l, const tgiSoftForce *f, tgReal s, const tgReal n[3],
                                      const tgReal u[3], const tgReal zeta[3], tgReal by, tgiSoftBar *bar,
                                      tgiSoftLawBar *law) {
  tgReal N = f->c * f->d, a = tgi_v3_dot(n, zeta), b = tgi_v3_dot(f->tau, zeta), part = by * (a - l->mu * b / f->rho);
  tgReal cbar = part * f->d, xbar = part * f->c * f->d_x, abar = by * N, bbar = -by * N * l->mu / f->rho,
         rbar = by * N * l->mu * b / (f->rho * f->rho);
  tgReal tbar[3], unbar;
  for (int i = 0; i < 3; i++) tbar[i] = bbar * zeta[i] + rbar * f->tau[i] / f->rho;
  unbar = xbar / l->v_d - tgi_v3_dot(tbar, n);
  for (int i = 0; i < 3; i++) {
    bar->n[i] = abar * zeta[i] - f->un * tbar[i] + unbar * u[i];
    bar->u[i] = tbar[i] + unbar * n[i];
  }
  bar->s = cbar * f->c_s;
  law->k += cbar * f->c / l->k;
  law->eps += cbar * (f->c - f->c_s * s) / l->eps;
  law->v_d -= xbar * f->un / (l->v_d * l->v_d);
  law->v_s += rbar * l->v_s / f->rho;
  law->mu -= by * N * b / f->rho;
}

#endif
