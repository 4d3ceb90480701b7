// point.c: see point.h.
#include "contact/softmin/point.h"

#include <string.h>

// the sum of exp(-(|r_i|^2 - least)/eps1), least the smallest |r_i|^2
static tgReal normaliser(const tgiSoftSurface *s, const tgReal y[3], tgReal *least) {
  tgReal sum = 0, r[3];
  double best = INFINITY;
  for (int i = 0; i < s->n; i++) {
    tgi_v3_sub(r, s->p + 3 * i, y);
    double d = tgRe(tgi_v3_dot(r, r));
    if (d < best) best = d;
  }
  for (int i = 0; i < s->n; i++) {
    tgi_v3_sub(r, s->p + 3 * i, y);
    sum += tgExp((best - tgi_v3_dot(r, r)) / s->eps1);
  }
  *least = best;
  return sum;
}

// weight of point i and r = p_i - y
static tgReal weigh(const tgiSoftSurface *s, int i, const tgReal y[3], tgReal least, tgReal sum, tgReal r[3]) {
  tgi_v3_sub(r, s->p + 3 * i, y);
  return tgExp((least - tgi_v3_dot(r, r)) / s->eps1) / sum;
}

// ---- a ball ----

// rho and n at y
static tgReal ball_at(const tgiSoftSurface *s, const tgReal y[3], tgReal n[3]) {
  tgReal rho = tgSqrt(tgi_v3_dot(y, y) + TGI_SOFT_MIDDLE * s->ball * s->ball);
  tgi_v3_scale(n, y, 1 / rho);
  return rho;
}

static void ball_point(const tgiSoftSurface *s, const tgiSoftLaw *law, const tgReal y[3], const tgReal u[3], bool d, tgiSoftPoint *out) {
  tgReal n[3], rho = ball_at(s, y, n), Ds[3], Du[9];
  tgiSoftForce f;
  *out = (tgiSoftPoint){.phi = rho - s->ball};
  tgi_soft_force(law, out->phi, n, u, &f);
  tgi_v3_copy(out->F, f.lambda);
  if (!d) return;
  tgi_soft_force_d(law, &f, n, Ds, Du);
  tgi_v3_copy(out->g, n);
  memcpy(out->Fu, Du, sizeof Du);
  // normals turn with y: dn = (1 - n n') dy/rho
  for (int j = 0; j < 3; j++) {
    tgReal dn[3], t[3];
    for (int i = 0; i < 3; i++) dn[i] = ((i == j) - n[i] * n[j]) / rho;
    tgi_soft_force_turn(law, &f, u, n, dn, t);
    for (int i = 0; i < 3; i++) out->Fy[3 * i + j] = Ds[i] * n[j] + t[i];
  }
}

static void ball_vjp(const tgiSoftSurface *s, const tgiSoftLaw *law, const tgReal y[3], const tgReal u[3],
                     const tgReal zeta[3], tgReal A, tgReal B, tgiSoftPointBar *bar) {
  tgReal n[3], rho = ball_at(s, y, n);
  tgiSoftForce f;
  tgiSoftBar b;
  tgi_soft_force(law, rho - s->ball, n, u, &f);
  tgi_soft_force_vjp(law, &f, rho - s->ball, n, u, zeta, A, &b, bar->law);
  b.s += B;
  tgReal along = tgi_v3_dot(b.n, n);
  for (int k = 0; k < 3; k++) {
    bar->y[k] = b.s * n[k] + (b.n[k] - along * n[k]) / rho;
    bar->u[k] = b.u[k];
  }
  *bar->ball -= b.s;
}

// ---- a point ----

tgReal tgi_soft_height(const tgiSoftSurface *s, const tgReal y[3]) {
  tgReal n[3];
  if (tgRe(s->ball) > 0) return ball_at(s, y, n) - s->ball;
  tgReal least, sum = normaliser(s, y, &least), phi = 0, r[3];
  for (int i = 0; i < s->n; i++) phi -= weigh(s, i, y, least, sum, r) * tgi_v3_dot(s->normal + 3 * i, r);
  return phi;
}

// M += a x y'
static void add_outer(tgReal *M, tgReal a, const tgReal x[3], const tgReal y[3]) {
  for (int i = 0; i < 9; i++) M[i] += a * x[i / 3] * y[i % 3];
}

// column j of [x]
static void cross_column(const tgReal x[3], int j, tgReal c[3]) {
  tgReal e[3] = {0};
  e[j] = 1;
  tgi_v3_cross(c, x, e);
}

// of one point: dF, dT at held weights
static void add_terms(const tgiSoftLaw *law, tgReal w, const tgReal r[3], const tgReal n[3], const tgReal omega[3],
                      const tgiSoftForce *f, tgiSoftPoint *out) {
  tgReal Ds[3], Du[9], column[3], t[3], x[3];
  tgi_soft_force_d(law, f, n, Ds, Du);
  for (int j = 0; j < 3; j++) {
    // ds = n . dy, and with the lever at p_i: du = omega x dy, or domega x (-r)
    tgi_m3_col(column, Du, j);
    for (int i = 0; i < 3; i++) x[i] = Ds[i] * n[j];
    if (law->paper) {
      cross_column(omega, j, t);
      for (int i = 0; i < 3; i++) x[i] += Du[3 * i] * t[0] + Du[3 * i + 1] * t[1] + Du[3 * i + 2] * t[2];
    }
    for (int i = 0; i < 3; i++) {
      out->Fy[3 * i + j] += w * x[i];
      out->Fu[3 * i + j] += w * column[i];
    }
    if (!law->paper) continue;
    tgReal rx[3], ru[3], rw[3], turn[3], e[3];
    tgi_v3_cross(rx, r, x);
    cross_column(f->lambda, j, e);   // dr = -dy: -dy x lambda = lambda x dy
    tgi_v3_cross(ru, r, column);
    cross_column(r, j, t);           // r x domega
    for (int i = 0; i < 3; i++) turn[i] = Du[3 * i] * t[0] + Du[3 * i + 1] * t[1] + Du[3 * i + 2] * t[2];
    tgi_v3_cross(rw, r, turn);
    for (int i = 0; i < 3; i++) {
      out->Ty[3 * i + j] += w * (rx[i] + e[i]);
      out->Tu[3 * i + j] += w * ru[i];
      out->Fw[3 * i + j] += w * turn[i];
      out->Tw[3 * i + j] += w * rw[i];
    }
  }
}

static void velocity_at(const tgiSoftLaw *law, const tgReal u[3], const tgReal omega[3], const tgReal r[3], tgReal ui[3]) {
  tgi_v3_copy(ui, u);
  if (!law->paper) return;
  tgReal t[3];
  tgi_v3_cross(t, omega, r);
  tgi_v3_sub(ui, ui, t);
}

void tgi_soft_point(const tgiSoftSurface *s, const tgiSoftLaw *law, const tgReal y[3], const tgReal u[3],
                    const tgReal omega[3], bool d, tgiSoftPoint *out) {
  if (tgRe(s->ball) > 0) {
    ball_point(s, law, y, u, d, out);
    return;
  }
  tgReal least, sum = normaliser(s, y, &least), r[3], ui[3], T[3], mean[3] = {0}, two = 2 / s->eps1;
  *out = (tgiSoftPoint){.phi = 0};
  for (int i = 0; i < s->n; i++) {
    const tgReal *n = s->normal + 3 * i;
    tgReal w = weigh(s, i, y, least, sum, r), height = -tgi_v3_dot(n, r);
    if (tgZero(w)) continue;
    tgiSoftForce f;
    velocity_at(law, u, omega, r, ui);
    tgi_soft_force(law, height, n, ui, &f);
    tgi_v3_cross(T, r, f.lambda);
    out->phi += w * height;
    tgi_v3_axpy(out->F, w, f.lambda);
    if (law->paper) tgi_v3_axpy(out->T, w, T);
    if (!d) continue;
    tgi_v3_axpy(mean, w, r);
    for (int k = 0; k < 3; k++) out->g[k] += w * (n[k] + two * height * r[k]);
    add_outer(out->Fy, two * w, f.lambda, r);
    if (law->paper) add_outer(out->Ty, two * w, T, r);
    add_terms(law, w, r, n, omega, &f, out);
  }
  if (!d) return;
  tgi_v3_axpy(out->g, -two * out->phi, mean);
  add_outer(out->Fy, -two, out->F, mean);
  if (law->paper) add_outer(out->Ty, -two, out->T, mean);
}

// ---- adjoint ----

// what one point gives: its value in L and, times `by`, its adjoints at held weight
static tgReal one_point(const tgiSoftSurface *s, const tgiSoftLaw *law, int i, const tgReal r[3], const tgReal u[3], const tgReal omega[3],
                        const tgReal zeta[3], const tgReal eta[3], tgReal A, tgReal B, tgReal by, tgiSoftPointBar *bar) {
  const tgReal *n = s->normal + 3 * i;
  tgReal ui[3], t[3], z[3], rbar[3], height = -tgi_v3_dot(n, r);
  tgiSoftForce f;
  tgiSoftBar b;
  velocity_at(law, u, omega, r, ui);
  tgi_soft_force(law, height, n, ui, &f);
  tgi_v3_copy(z, zeta);
  if (law->paper) {
    tgi_v3_cross(t, eta, r);   // (r x lambda) . eta = lambda . (eta x r)
    tgi_v3_sub(z, z, t);
  }
  tgReal value = A * tgi_v3_dot(f.lambda, z) + B * height;
  if (bar == NULL) return value;
  tgi_soft_force_vjp(law, &f, height, n, ui, z, A * by, &b, bar->law);
  b.s += B * by;
  for (int k = 0; k < 3; k++) rbar[k] = -b.s * n[k];
  if (law->paper) {
    tgi_v3_cross(t, b.u, omega);
    tgi_v3_sub(rbar, rbar, t);
    tgi_v3_cross(t, f.lambda, eta);
    tgi_v3_axpy(rbar, -A * by, t);
  }
  for (int k = 0; k < 3; k++) {
    bar->y[k] -= rbar[k];
    bar->u[k] += b.u[k];
    if (bar->p == NULL) continue;
    bar->p[3 * i + k] += rbar[k];
    bar->normal[3 * i + k] += b.n[k] - b.s * r[k];
  }
  return value;
}

void tgi_soft_point_vjp(const tgiSoftSurface *s, const tgiSoftLaw *law, const tgReal y[3], const tgReal u[3],
                        const tgReal omega[3], const tgReal zeta[3], const tgReal eta[3], tgReal A, tgReal B,
                        tgiSoftPointBar *bar) {
  if (tgRe(s->ball) > 0) {
    ball_vjp(s, law, y, u, zeta, A, B, bar);
    return;
  }
  tgReal least, sum = normaliser(s, y, &least), mean = 0, r[3];
  tgi_v3_zero(bar->y);
  tgi_v3_zero(bar->u);
  for (int i = 0; i < s->n; i++) {
    tgReal w = weigh(s, i, y, least, sum, r);
    if (!tgZero(w)) mean += w * one_point(s, law, i, r, u, omega, zeta, eta, A, B, 1, NULL);
  }
  for (int i = 0; i < s->n; i++) {
    tgReal w = weigh(s, i, y, least, sum, r);
    if (tgZero(w)) continue;
    // the exponent -|r|^2/eps1 of the weight
    tgReal exponent = w * (one_point(s, law, i, r, u, omega, zeta, eta, A, B, w, bar) - mean);
    tgi_v3_axpy(bar->y, 2 * exponent / s->eps1, r);
    *bar->eps1 += exponent * tgi_v3_dot(r, r) / (s->eps1 * s->eps1);
    if (bar->p != NULL) tgi_v3_axpy(bar->p + 3 * i, -2 * exponent / s->eps1, r);
  }
}
