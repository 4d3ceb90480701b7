// smooth.c: see smooth.h.
//
// The support map of a curve in direction d, from its support function h, even and of degree one:
//   circle    h = rho |P d|, P = 1 - a a':   y = rho e, e = unit(P d),   dy/dd = rho f f'/|P d|, f = a x e
//   ellipsoid h = |E R'd|:                   y = Q d/h, Q = R E^2 R',    dy/dd = (Q - y y')/h
#include "coll/features/smooth.h"

#include <string.h>

#include "coll/features/rate.h"
#include "math/dense.h"

// ---- features

static void start(tgiSmooth *K, const tgShape *S, bool is_a, tgiCurve curve) {
  K->curve = curve;
  K->core.r = 0;
  K->core.part = 0;
  K->core.is_a = is_a;
  K->core.line = false;
  K->core.round = curve == TGI_CURVE_ELLIPSOID;
  tgi_v3_copy(K->core.x, S->pos);
  tgi_m3_copy(K->axes, S->mat);
  tgi_v3_copy(K->semi, S->size);
  memset(&K->core.size, 0, sizeof K->core.size);
}
static void along_axis(tgReal *x, const tgShape *S, tgReal s) {
  for (int i = 0; i < 3; i++) x[i] += s * S->mat[3 * i + 2];
}

void tgi_cylinder_rim(tgiSmooth *K, const tgShape *S, bool is_a, int cap, tgCollide want) {
  double sign = cap == 0 ? -1 : 1;
  start(K, S, is_a, TGI_CURVE_CIRCLE);
  along_axis(K->core.x, S, sign * S->size[1]);
  if (want >= TG_COLLIDE_SIZE) along_axis(K->core.size.x[1], S, sign);
}
static void axis_line(tgiSmooth *K, const tgShape *S) {
  K->core.line = true;
  tgi_v3_zero(K->core.u);
  along_axis(K->core.u, S, S->size[1]);
  along_axis(K->core.size.u[1], S, 1);
}
void tgi_cylinder_side(tgiSmooth *K, const tgShape *S, bool is_a, tgCollide want) {
  (void)want;
  start(K, S, is_a, TGI_CURVE_NONE);
  axis_line(K, S);
  K->core.r = S->size[0];
  K->core.size.r[0] = 1;
}
void tgi_cylinder_lines(tgiSmooth *K, const tgShape *S, bool is_a, tgCollide want) {
  (void)want;
  start(K, S, is_a, TGI_CURVE_CIRCLE);
  axis_line(K, S);
}
void tgi_ellipsoid_surface(tgiSmooth *K, const tgShape *S, bool is_a, tgCollide want) {
  (void)want;
  start(K, S, is_a, TGI_CURVE_ELLIPSOID);
}

// ---- support map

// y(d), dy/dd (3x3 row-major, symmetric; may be NULL); d need not be a unit vector
static void support(const tgiSmooth *K, const tgReal *d, tgReal *y, tgReal *H) {
  if (H != NULL) memset(H, 0, 9 * sizeof *H);
  if (K->curve == TGI_CURVE_NONE) {
    tgi_v3_zero(y);
  } else if (K->curve == TGI_CURVE_CIRCLE) {
    tgReal w[3], f[3];
    tgi_m3_tmulv(w, K->axes, d);                     // P d by its parts along the circle's own axes: exact for d near a
    tgReal len = tgSqrt(w[0] * w[0] + w[1] * w[1]), c = tgRe(len) > 0 ? w[0] / len : 0, s = tgRe(len) > 0 ? w[1] / len : 0;
    for (int i = 0; i < 3; i++) {
      y[i] = K->semi[0] * (c * K->axes[3 * i] + s * K->axes[3 * i + 1]);
      f[i] = c * K->axes[3 * i + 1] - s * K->axes[3 * i];
    }
    for (int i = 0; i < 9 && H != NULL; i++) H[i] = K->semi[0] / len * f[i / 3] * f[i % 3];
  } else {
    tgReal w[3], v[3], h;
    tgi_m3_tmulv(w, K->axes, d);
    for (int i = 0; i < 3; i++) v[i] = K->semi[i] * w[i];
    h = tgi_v3_norm(v);
    for (int i = 0; i < 3; i++) v[i] *= K->semi[i] / h;
    tgi_m3_mulv(y, K->axes, v);
    if (H == NULL) return;
    for (int i = 0; i < 3; i++)
      for (int j = 0; j < 3; j++) {
        tgReal q = 0;
        for (int k = 0; k < 3; k++) q += K->axes[3 * i + k] * K->semi[k] * K->semi[k] * K->axes[3 * j + k];
        H[3 * i + j] = (q - y[i] * y[j]) / h;
      }
  }
}

// rate of y(d) in column k with d held in the world
static void support_rate(const tgiSmooth *K, const tgReal *d, const tgReal *y, const tgReal *H, int k, tgReal *dy) {
  tgReal wd[3], Hd[3];
  int size = tgi_rate_size(K->core.is_a, k);
  tgi_v3_zero(dy);
  if (K->curve == TGI_CURVE_NONE) return;
  if (k < TGI_TWIST && K->core.is_a) {
    tgi_rate_dir(dy, y, k);                          // y turns with the body, which sees d turn back
    tgi_rate_dir(wd, d, k);
    tgi_m3_mulv(Hd, H, wd);
    tgi_v3_sub(dy, dy, Hd);
  } else if (size >= 0 && K->curve == TGI_CURVE_CIRCLE) {
    if (size == 0) tgi_v3_scale(dy, y, 1 / K->semi[0]);
  } else if (size >= 0) {
    // y_j = e_j^2 w_j/h, w = R'd:  dy_j/de_i = 2 e_i w_i [i=j]/h - y_j e_i w_i^2/h^2
    tgReal w[3], v[3], h;
    tgi_m3_tmulv(w, K->axes, d);
    for (int i = 0; i < 3; i++) v[i] = K->semi[i] * w[i];
    h = tgi_v3_norm(v);
    tgReal ew = K->semi[size] * w[size];
    for (int i = 0; i < 3; i++) dy[i] = 2 * ew / h * K->axes[3 * i + size] - y[i] * ew * w[size] / (h * h);
  }
}

// ---- the stationary normal

// a(n) - b(n) at n, curvature of both
typedef struct Spread { tgReal ya[3], yb[3], Ha[9], Hb[9], r[3]; } Spread;
static void spread(Spread *q, const tgiSmooth *A, const tgiSmooth *B, const tgReal *n) {
  tgReal m[3];
  tgi_v3_scale(m, n, -1);
  support(A, m, q->ya, q->Ha);
  support(B, n, q->yb, q->Hb);
  for (int i = 0; i < 3; i++) q->r[i] = A->core.x[i] + q->ya[i] - B->core.x[i] - q->yb[i];
}

// n made normal to the lines; parameters of the closest points for the start
static bool begin(tgiStationary *z, const tgiSmooth *A, const tgiSmooth *B, const double *n) {
  const tgReal *u = A->core.u, *w = B->core.u;
  bool a = A->core.line, b = B->core.line;
  Spread q;
  for (int i = 0; i < 3; i++) z->n[i] = n[i];
  z->s = z->t = 0;
  if (a && b) {
    tgReal N[3];
    tgi_v3_cross(N, u, w);
    double side = tgRe(tgi_v3_dot(N, z->n)) < 0 ? -1 : 1;
    tgi_v3_scale(z->n, N, side);
  } else if (a || b) {
    const tgReal *v = a ? u : w;
    tgi_v3_axpy(z->n, -tgi_v3_dot(v, z->n) / tgi_v3_dot(v, v), v);
  }
  if (!(tgRe(tgi_v3_unit(z->n, z->n)) > 0)) return false;
  spread(&q, A, B, z->n);
  tgReal uu = a ? tgi_v3_dot(u, u) : 1, ww = b ? tgi_v3_dot(w, w) : 1, uw = a && b ? tgi_v3_dot(u, w) : 0;
  tgReal g1 = a ? tgi_v3_dot(u, q.r) : 0, g2 = b ? tgi_v3_dot(w, q.r) : 0, det = uu * ww - uw * uw;
  if (!(tgRe(det) > 1e-12 * tgRe(uu * ww))) return false;          // parallel lines have no one normal
  if (a) z->s = (uw * g2 - ww * g1) / det;
  if (b) z->t = (uu * g2 - uw * g1) / det;
  z->g = tgi_v3_dot(z->n, q.r);
  return true;
}

// matrix and residual at z; unknowns n, g, s, t (s, t where there are lines)
static void assemble(tgiStationary *z, const tgiSmooth *A, const tgiSmooth *B, const Spread *q, tgReal *F) {
  int m = 4, ja = A->core.line ? m++ : -1, jb = B->core.line ? m++ : -1;
  z->size = m;
  memset(z->J, 0, sizeof z->J);
  for (int i = 0; i < 3; i++) {
    for (int j = 0; j < 3; j++) z->J[i + m * j] = -q->Ha[3 * i + j] - q->Hb[3 * i + j];
    z->J[i + m * i] -= z->g;
    z->J[i + m * 3] = -z->n[i];
    z->J[3 + m * i] = z->n[i];
    F[i] = q->r[i] - z->g * z->n[i];
  }
  F[3] = (tgi_v3_dot(z->n, z->n) - 1) / 2;
  const tgiSmooth *K[2] = {A, B};
  for (int e = 0; e < 2; e++) {
    int j = e == 0 ? ja : jb;
    double sign = e == 0 ? 1 : -1;
    tgReal at = e == 0 ? z->s : z->t;
    if (j < 0) continue;
    for (int i = 0; i < 3; i++) {
      z->J[i + m * j] = sign * K[e]->core.u[i];
      z->J[j + m * i] = K[e]->core.u[i];
      F[i] += sign * at * K[e]->core.u[i];
    }
    F[j] = tgi_v3_dot(K[e]->core.u, z->n);
  }
}

static void advance(tgiStationary *z, const tgReal *d, double part, bool a, bool b) {
  for (int i = 0; i < 3; i++) z->n[i] -= part * d[i];
  z->g -= part * d[3];
  if (a) z->s -= part * d[4];
  if (b) z->t -= part * d[z->size - 1];
}

bool tgi_smooth_solve(tgiStationary *z, const tgiSmooth *A, const tgiSmooth *B, const double *n) {
  enum { STEPS = 14 };
  Spread q;
  tgReal F[6], from[3];
  double dn = INFINITY;
  bool near = false, settled = false;
  if (!begin(z, A, B, n)) return false;
  tgi_v3_copy(from, z->n);
  for (int step = 0; step < STEPS && !settled; step++) {
    spread(&q, A, B, z->n);
    assemble(z, A, B, &q, F);
    if (!tgi_small_lu_factor(z->size, z->J, z->piv)) return false;
    tgi_lu_solve(z->size, z->J, z->piv, F, false);
    dn = 0;
    for (int i = 0; i < 3; i++) dn += fabs(tgRe(F[i]));
    if (!isfinite(dn)) return false;
    // quadratic: the step after one of 1e-8 starts at the root to round-off, and makes imaginary parts exact in the complex build
    settled = near;
    near = dn < 1e-8;
    advance(z, F, dn > 0.3 ? 0.3 / dn : 1, A->core.line, B->core.line);
    if (dn > 0.3) tgi_v3_unit(z->n, z->n);
    if (tgRe(tgi_v3_dot(z->n, from)) < 0.5) return false;
  }
  if (!settled || !(dn < 1e-10)) return false;       // no root near here, or one of a singular system
  spread(&q, A, B, z->n);
  assemble(z, A, B, &q, F);
  return tgi_small_lu_factor(z->size, z->J, z->piv);
}

bool tgi_smooth_is_maximum(const tgiStationary *z, const tgiSmooth *A, const tgiSmooth *B) {
  Spread q;
  double T[2][3], n[3], M[2][2], g = tgRe(z->g);
  if (g > 0 || (A->core.line && B->core.line)) return true;
  spread(&q, A, B, z->n);
  for (int i = 0; i < 3; i++) n[i] = tgRe(z->n[i]);
  // directions in which n can turn: all normal to it, or normal to the line too
  const tgReal *u = A->core.line ? A->core.u : B->core.line ? B->core.u : NULL;
  double v[3] = {0, 0, 0};
  if (u != NULL) for (int i = 0; i < 3; i++) v[i] = tgRe(u[i]);
  else v[fabs(n[0]) < 0.6 ? 0 : 1] = 1;
  for (int k = 0; k < 2; k++) {
    const double *w = k == 0 ? v : T[0];
    for (int i = 0; i < 3; i++) T[k][i] = n[(i + 1) % 3] * w[(i + 2) % 3] - n[(i + 2) % 3] * w[(i + 1) % 3];
    double len = sqrt(T[k][0] * T[k][0] + T[k][1] * T[k][1] + T[k][2] * T[k][2]);
    for (int i = 0; i < 3; i++) T[k][i] /= len;
  }
  for (int k = 0; k < 2; k++)
    for (int l = 0; l < 2; l++) {
      M[k][l] = k == l ? g : 0;
      for (int i = 0; i < 9; i++) M[k][l] += T[k][i / 3] * tgRe(q.Ha[i] + q.Hb[i]) * T[l][i % 3];
    }
  if (u != NULL) return M[0][0] > 0;
  return M[0][0] + M[1][1] > 0 && M[0][0] * M[1][1] > M[0][1] * M[1][0];
}

// ---- contact

// p = (a - ra n) (1 - weight) + (b + rb n) weight
static double weight_of_b(const tgiSmooth *A, const tgiSmooth *B) {
  return A->core.round == B->core.round ? 0.5 : A->core.round ? 0 : 1;
}

void tgi_rule_smooth(tgContactPoint *c, const tgiSmooth *A, const tgiSmooth *B, const tgiStationary *z, tgCollide want) {
  Spread q;
  tgReal m[3], a[3], b[3];
  const tgReal *n = z->n, ra = A->core.r, rb = B->core.r;
  double lambda = weight_of_b(A, B);
  spread(&q, A, B, n);
  tgi_v3_scale(m, n, -1);
  tgi_v3_add(a, A->core.x, q.ya);
  tgi_v3_add(b, B->core.x, q.yb);
  if (A->core.line) tgi_v3_axpy(a, z->s, A->core.u);
  if (B->core.line) tgi_v3_axpy(b, z->t, B->core.u);
  tgi_v3_copy(c->n, n);
  c->gap = z->g - ra - rb;
  tgi_rate_parts(c, &A->core, &B->core, NULL, NULL);
  for (int i = 0; i < 3; i++) c->p[i] = (1 - lambda) * (a[i] - ra * n[i]) + lambda * (b[i] + rb * n[i]);
  for (int k = 0; want && k < tgi_rate_columns(want); k++) {
    tgReal da[3], du[3], db[3], dw[3], dya[3], dyb[3], F[6], Ha[3], Hb[3], dp[3];
    tgReal dra = tgi_rate_core(da, du, &A->core, k), drb = tgi_rate_core(db, dw, &B->core, k);
    support_rate(A, m, q.ya, q.Ha, k, dya);
    support_rate(B, n, q.yb, q.Hb, k, dyb);
    for (int i = 0; i < 3; i++) {
      da[i] += dya[i] + (A->core.line ? z->s * du[i] : 0);
      db[i] += dyb[i] + (B->core.line ? z->t * dw[i] : 0);
      F[i] = db[i] - da[i];
    }
    F[3] = 0;
    if (A->core.line) F[4] = -tgi_v3_dot(du, n);
    if (B->core.line) F[z->size - 1] = -tgi_v3_dot(dw, n);
    tgi_lu_solve(z->size, z->J, z->piv, F, false);           // F: dn, dg, ds, dt
    tgi_m3_mulv(Ha, q.Ha, F);
    tgi_m3_mulv(Hb, q.Hb, F);
    for (int i = 0; i < 3; i++) {
      da[i] += (A->core.line ? F[4] * A->core.u[i] : 0) - Ha[i];
      db[i] += (B->core.line ? F[z->size - 1] * B->core.u[i] : 0) + Hb[i];
      dp[i] = (1 - lambda) * (da[i] - ra * F[i] - dra * n[i]) + lambda * (db[i] + rb * F[i] + drb * n[i]);
    }
    tgi_rate_store(c, k, dp, F, F[3] - dra - drb);
  }
}

// ---- over a face

void tgi_rule_face_support(tgContactPoint *c, const tgiFace *F, const tgiSmooth *K, tgCollide want) {
  tgReal d[3], x[3], y[3], H[9];
  tgi_v3_scale(d, F->n, -1);
  support(K, d, y, H);
  tgi_v3_add(x, K->core.x, y);
  tgi_rate_on_face(c, F, x, K->core.r);
  tgi_rate_parts(c, &K->core, NULL, F, NULL);
  for (int k = 0; want && k < tgi_rate_columns(want); k++) {
    tgReal ds[3], dn[3], dx[3], du[3], dy[3], Hn[3];
    tgi_rate_face(ds, dn, F, k);
    tgReal dr = tgi_rate_core(dx, du, &K->core, k);
    support_rate(K, d, y, H, k, dy);
    tgi_m3_mulv(Hn, H, dn);
    for (int i = 0; i < 3; i++) dx[i] += dy[i] - Hn[i];
    tgi_rate_store_on_face(c, F, k, x, K->core.r, ds, dn, dx, dr);
  }
}

// point of the curve at tau and the way it goes on; y, H: of a line's curve along d
static void on_curve(const tgiSmooth *K, const tgReal *y, tgReal tau, tgReal *x, tgReal *ahead) {
  tgi_v3_copy(x, K->core.x);
  if (K->core.line) {
    tgi_v3_add(x, x, y);
    tgi_v3_axpy(x, tau, K->core.u);
    tgi_v3_copy(ahead, K->core.u);
    return;
  }
  tgReal c = K->semi[0] * tgCos(tau), s = K->semi[0] * tgSin(tau);
  for (int i = 0; i < 3; i++) {
    x[i] += c * K->axes[3 * i] + s * K->axes[3 * i + 1];
    ahead[i] = c * K->axes[3 * i + 1] - s * K->axes[3 * i];
  }
}

// value of the bound's function at x and its gradient m:  (g x n).(x - e),  or half of |P (x - e)|^2 - r^2
static tgReal bound_at(const tgiBound *b, const tgReal *n, const tgReal *x, tgReal *m) {
  tgReal y[3];
  tgi_v3_sub(y, x, b->line.x);
  if (!b->lateral) {
    tgi_v3_cross(m, b->line.u, n);
    return tgi_v3_dot(m, y);
  }
  const tgReal *u = b->line.u;
  tgi_v3_copy(m, y);
  tgi_v3_axpy(m, -tgi_v3_dot(u, y) / tgi_v3_dot(u, u), u);
  return (tgi_v3_dot(m, m) - b->line.r * b->line.r) / 2;
}
// its rate at a point held in the world
static tgReal bound_rate(const tgiBound *b, const tgReal *n, const tgReal *dn, const tgReal *x, const tgReal *m, int k) {
  tgReal de[3], dg[3], y[3], v[3];
  tgReal dr = tgi_rate_core(de, dg, &b->line, k);
  tgi_v3_sub(y, x, b->line.x);
  if (b->lateral) {
    // m is normal to u, so that only the turn of u counts: d|P y|^2/2 = -m.de - (u.y)(m.du)/u.u
    const tgReal *u = b->line.u;
    return -tgi_v3_dot(m, de) - tgi_v3_dot(u, y) / tgi_v3_dot(u, u) * tgi_v3_dot(m, dg) - b->line.r * dr;
  }
  tgi_v3_cross(v, dg, n);
  tgReal rate = tgi_v3_dot(v, y) - tgi_v3_dot(m, de);
  tgi_v3_cross(v, b->line.u, dn);
  return rate + tgi_v3_dot(v, y);
}

void tgi_rule_face_crossing(tgContactPoint *c, const tgiFace *F, const tgiBound *bound, const tgiSmooth *K, double tau0,
                            tgCollide want) {
  tgReal d[3], y[3] = {0}, H[9] = {0}, x[3], ahead[3], m[3], tau = tau0;
  tgi_v3_scale(d, F->n, -1);
  if (K->core.line) support(K, d, y, H);
  for (int step = 0; step < 4; step++) {
    on_curve(K, y, tau, x, ahead);
    tgReal value = bound_at(bound, F->n, x, m);
    tau -= value / tgi_v3_dot(m, ahead);
  }
  on_curve(K, y, tau, x, ahead);
  bound_at(bound, F->n, x, m);
  tgReal along = tgi_v3_dot(m, ahead);
  tgi_rate_on_face(c, F, x, K->core.r);
  tgi_rate_parts(c, &bound->line, &K->core, F, NULL);
  for (int k = 0; want && k < tgi_rate_columns(want); k++) {
    tgReal ds[3], dn[3], dx[3], du[3], dy[3], Hn[3];
    tgi_rate_face(ds, dn, F, k);
    tgReal dr = tgi_rate_core(dx, du, &K->core, k);
    if (K->core.line) {
      support_rate(K, d, y, H, k, dy);
      tgi_m3_mulv(Hn, H, dn);
      for (int i = 0; i < 3; i++) dx[i] += tau * du[i] + dy[i] - Hn[i];
    } else {
      tgi_v3_sub(dy, x, K->core.x);                  // a rim: its points move with the body and with the radius
      if (k < TGI_TWIST && K->core.is_a) {
        tgi_rate_dir(du, dy, k);
        tgi_v3_add(dx, dx, du);
      }
      if (tgi_rate_size(K->core.is_a, k) == 0) tgi_v3_axpy(dx, 1 / K->semi[0], dy);
    }
    tgReal slide = -(tgi_v3_dot(m, dx) + bound_rate(bound, F->n, dn, x, m, k)) / along;
    tgi_v3_axpy(dx, slide, ahead);
    tgi_rate_store_on_face(c, F, k, x, K->core.r, ds, dn, dx, dr);
  }
}
