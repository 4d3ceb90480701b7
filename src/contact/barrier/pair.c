// pair.c: best plane between two triangles by Newton steps on the sphere, one pair at a time. See pair.h; pair_wide.c does it on vectors.
#include "contact/barrier/pair.h"
#include <float.h>
#include <string.h>

#include "contact/barrier/start.h"
#include "math/vec3.h"

enum { MOST_STEPS = 100, MOST_HALVINGS = 40 };

// A plane for a pair, what it leaves of the problem, and the factors of its Hessian. Positions are relative to `centre`.
// K, the Hessian for (tau1, tau2, delta) with u <- (u + tau1 t1 + tau2 t2)/|.|, is never formed: in the variables
//   tau = tau1 + shear tau2,   tau2,   e = delta + mean1 tau1 + mean2 tau2
// it is diagonal, (K0, K1, Z), and every entry is a sum of positive terms.                                   [math/barrier (25), (26)]
typedef struct Plane {
  tgReal centre[3], x[6][3];        // of the first triangle, which is the smaller one: sums over it lose least
  bool swapped;                     // it is B
  double size;                      // largest coordinate in absolute value
  tgReal u[3], delta, t1[3], t2[3];
  tgReal m[6], y[6], z[6];          // margins, 1/m^2, 2/m^3
  tgReal a[6], b[6];                // of x.t1 and x.t2: less the weighted mean, then b less its part along a
  tgReal S, Z, K0, K1, shear, mean[2];
} Plane;

static double side(int k) { return k < 3 ? 1 : -1; }

static double extent(const tgReal x[9]) {
  double e = 0;
  for (int i = 3; i < 9; i++) e = fmax(e, fabs(tgRe(x[i] - x[i % 3])));
  return e;
}

// vertex k of the plane's order in the caller's; the sign of what turns round with the order
static int user(const Plane *p, int k) { return p->swapped ? (k + 3) % 6 : k; }
static double sign(const Plane *p) { return p->swapped ? -1 : 1; }

static void place(Plane *p, const tgReal x[18]) {
  p->swapped = extent(x + 9) < extent(x);
  p->size = 0;
  for (int k = 0; k < 6; k++) tgi_v3_copy(p->x[k], x + 3 * user(p, k));
  for (int i = 0; i < 3; i++) p->centre[i] = (p->x[0][i] + p->x[1][i] + p->x[2][i]) / 3;
  for (int k = 0; k < 6; k++)
    for (int i = 0; i < 3; i++) {
      p->x[k][i] -= p->centre[i];
      p->size = fmax(p->size, fabs(tgRe(p->x[k][i])));
    }
}

// margins and S at (u, delta); the least margin
static double look(Plane *p) {
  double least = INFINITY;
  p->S = 0;
  for (int k = 0; k < 6; k++) {
    p->m[k] = side(k) * (tgi_v3_dot(p->u, p->x[k]) + p->delta);
    p->S += 1 / p->m[k];
    double m = tgRe(p->m[k]);
    if (!(m >= least)) least = m;
  }
  return least;
}

// two tangents, without a branch that loses accuracy [DuffBasis]
static void tangents(Plane *p) {
  const tgReal *u = p->u;
  double s = copysign(1, tgRe(u[2]));
  tgReal f = -1 / (s + u[2]), g = u[0] * u[1] * f;
  tgi_v3_set(p->t1, 1 + s * u[0] * u[0] * f, s * g, -s * u[0]);
  tgi_v3_set(p->t2, g, s + u[1] * u[1] * f, -u[1]);
}

// the factors at (u, delta) after look
static void factor(Plane *p) {
  tgReal sa = 0, sb = 0, ab = 0;
  tangents(p);
  p->Z = 0;
  for (int k = 0; k < 6; k++) {
    tgReal i = 1 / p->m[k];
    p->y[k] = i * i;
    p->z[k] = 2 * i * p->y[k];
    p->a[k] = tgi_v3_dot(p->t1, p->x[k]);
    p->b[k] = tgi_v3_dot(p->t2, p->x[k]);
    p->Z += p->z[k];
    sa += p->z[k] * p->a[k];
    sb += p->z[k] * p->b[k];
  }
  p->mean[0] = sa / p->Z;
  p->mean[1] = sb / p->Z;
  p->K0 = p->S;
  for (int k = 0; k < 6; k++) {
    p->a[k] -= p->mean[0];
    p->b[k] -= p->mean[1];
    p->K0 += p->z[k] * p->a[k] * p->a[k];
    ab += p->z[k] * p->a[k] * p->b[k];
  }
  p->shear = ab / p->K0;
  p->K1 = p->S * (1 + p->shear * p->shear);
  for (int k = 0; k < 6; k++) {
    p->b[k] -= p->shear * p->a[k];
    p->K1 += p->z[k] * p->b[k] * p->b[k];
  }
}

// change of the plane for changes (tau, tau2, e) of the diagonal variables
static void plane_change(const Plane *p, const tgReal w[3], tgReal du[3], tgReal *ddelta) {
  tgReal tau1 = w[0] - p->shear * w[1];
  for (int i = 0; i < 3; i++) du[i] = tau1 * p->t1[i] + w[1] * p->t2[i];
  *ddelta = w[2] - p->mean[0] * tau1 - p->mean[1] * w[1];
}

// Newton's direction in the diagonal variables; returns its squared length in K
static tgReal newton(const Plane *p, tgReal w[3]) {
  tgReal g[3] = {0, 0, 0};
  for (int k = 0; k < 6; k++) {
    tgReal f = side(k) * p->y[k];
    g[0] += f * p->a[k];
    g[1] += f * p->b[k];
    g[2] += f;
  }
  w[0] = g[0] / p->K0;
  w[1] = g[1] / p->K1;
  w[2] = g[2] / p->Z;
  return g[0] * w[0] + g[1] * w[1] + g[2] * w[2];
}

static void moved(Plane *p, const tgReal u[3], tgReal delta, const tgReal du[3], tgReal ddelta, tgReal alpha) {
  for (int i = 0; i < 3; i++) p->u[i] = u[i] + alpha * du[i];
  tgReal n = 1 / tgi_v3_norm(p->u);
  tgi_v3_scale(p->u, p->u, n);
  p->delta = (delta + alpha * ddelta) * n;
}

// longest step that leaves a tenth of every margin
static double room(const Plane *p, const tgReal w[3]) {
  double worst = 0;
  for (int k = 0; k < 6; k++) {
    double rate = side(k) * tgRe(p->a[k] * w[0] + p->b[k] * w[1] + w[2]);
    worst = fmax(worst, -rate / tgRe(p->m[k]));
  }
  return TGI_PAIR_ROOM / fmax(worst, DBL_MIN);
}

static double noise(const Plane *p, double least) { return TGI_PAIR_NOISE * p->size / least; }

// Newton steps on 1/S, which is concave: those on S, made longer by 1/(1 - 2 lambda^2/S). false: does not converge
static bool descend(Plane *p, int *steps) {
  double least = look(p);
  for (*steps = 1; *steps <= MOST_STEPS; ++*steps) {
    tgReal w[3], du[3], ddelta, u[3], delta = p->delta;
    factor(p);
    double lambda2 = tgRe(newton(p, w)), S = tgRe(p->S), eta = noise(p, least);
    bool last = lambda2 <= fmax(TGI_PAIR_TOLERANCE, eta * eta) * S;
    double alpha = fmin(1 / fmax(1 - 2 * lambda2 / S, 0.01), room(p, w));
    plane_change(p, w, du, &ddelta);
    tgi_v3_copy(u, p->u);
    for (int halving = 0;; halving++, alpha *= 0.5) {
      moved(p, u, delta, du, ddelta, alpha);
      least = look(p);
      if (least > 0 && (last || tgRe(p->S) <= S * (1 + eta) - TGI_PAIR_ARMIJO * alpha * lambda2)) break;
      if (halving == MOST_HALVINGS) return false;
    }
    if (last) return noise(p, least) <= TGI_PAIR_TOUCHING;
  }
  return false;
}

#ifdef TG_COMPLEX
// full steps bring the imaginary parts to where the real parts are
static void polish(Plane *p) {
  for (int pass = 0; pass < 2; pass++) {
    tgReal w[3], du[3], ddelta, u[3];
    factor(p);
    newton(p, w);
    plane_change(p, w, du, &ddelta);
    tgi_v3_copy(u, p->u);
    moved(p, u, p->delta, du, ddelta, 1);
    look(p);
  }
}
#endif

static void start_from(Plane *p, const tgReal u[3], tgReal delta) {
  tgReal n = sign(p) / tgi_v3_norm(u);
  tgi_v3_scale(p->u, u, n);
  p->delta = delta * n + tgi_v3_dot(p->u, p->centre);
}

static bool start(Plane *p, bool warm, const tgiPair *r) {
  double x[18], u[3], delta;
  if (warm && tgRe(tgi_v3_dot(r->u, r->u)) > 0.25) {
    start_from(p, r->u, r->delta);
    if (look(p) > TGI_PAIR_SIGNIFICANT * p->size) return true;
  }
  for (int k = 0; k < 18; k++) x[k] = tgRe(p->x[k / 3][k % 3]);
  if (!tgi_pair_start(x, p->size, u, &delta)) return false;
  for (int i = 0; i < 3; i++) p->u[i] = u[i];
  p->delta = delta;
  return true;
}

// ---- derivatives. Sums over A only; mix[v] = d(dS/dw_v)/dxi for the diagonal variables v, about the centre, then about the pivot

static void add_wrench(tgReal f[6], const tgReal x[3], const tgReal v[3], tgReal scale) {
  tgReal t[3];
  tgi_v3_cross(t, x, v);
  tgi_v3_axpy(f, scale, t);
  tgi_v3_axpy(f + 3, scale, v);
}
static void to_pivot(const Plane *p, tgReal f[6]) {
  tgReal t[3];
  tgi_v3_cross(t, p->centre, f + 3);
  tgi_v3_axpy(f, 1, t);
}

static void mixed(const Plane *p, tgReal mix[3][6]) {
  tgReal t2[3];
  memset(mix, 0, 3 * sizeof mix[0]);
  for (int i = 0; i < 3; i++) t2[i] = p->t2[i] - p->shear * p->t1[i];
  for (int k = 0; k < 3; k++) {
    add_wrench(mix[0], p->x[k], p->u, p->z[k] * p->a[k]);
    add_wrench(mix[0], p->x[k], p->t1, -p->y[k]);
    add_wrench(mix[1], p->x[k], p->u, p->z[k] * p->b[k]);
    add_wrench(mix[1], p->x[k], t2, -p->y[k]);
    add_wrench(mix[2], p->x[k], p->u, p->z[k]);
  }
  for (int v = 0; v < 3; v++) to_pivot(p, mix[v]);
}

static void add_square(tgReal H[21], const tgReal f[6], tgReal scale) {
  for (int i = 0; i < 6; i++)
    for (int j = 0; j <= i; j++) H[TGI_LOWER(i, j)] += scale * f[i] * f[j];
}

// explicit curvature less A's part of -mix[2] mix[2]'/Z: vertices move by 1/2 w x (w x x + v), and A's z-weighted moments about its own mean
static void own_curvature(const Plane *p, const tgReal M[3], tgReal Y, tgReal ZA, tgReal H[21]) {
  tgReal mean[3] = {0, 0, 0}, Mu = tgi_v3_dot(M, p->u);
  for (int k = 0; k < 3; k++) tgi_v3_axpy(mean, p->z[k] / ZA, p->x[k]);
  for (int k = 0; k < 3; k++) {
    tgReal f[6] = {0}, x[3];
    tgi_v3_sub(x, p->x[k], mean);
    tgi_v3_cross(f, x, p->u);
    add_square(H, f, p->z[k]);
  }
  for (int i = 0; i < 3; i++) {
    for (int j = 0; j <= i; j++) H[TGI_LOWER(i, j)] += (i == j ? Mu : 0) - 0.5 * (M[i] * p->u[j] + M[j] * p->u[i]);
    int j = (i + 1) % 3, k = (i + 2) % 3;  // the block of w and v is Y/2 [u], [u]_jk = -u_i
    H[TGI_LOWER(3 + k, j)] -= 0.5 * Y * p->u[i];
    H[TGI_LOWER(3 + j, k)] += 0.5 * Y * p->u[i];
  }
}

static void derivatives(const Plane *p, tgReal g[6], tgReal H[21]) {
  tgReal mix[3][6], Y = 0, ZA = 0, ZB = p->z[3] + p->z[4] + p->z[5], M[3] = {0, 0, 0};
  memset(g, 0, 6 * sizeof *g);
  memset(H, 0, 21 * sizeof *H);
  for (int k = 0; k < 3; k++) {
    Y += p->y[k];
    ZA += p->z[k];
    tgi_v3_axpy(M, p->y[k], p->x[k]);
  }
  tgi_v3_axpy(M, Y, p->centre);
  tgi_v3_cross(g, p->u, M);
  tgi_v3_axpy(g + 3, -Y, p->u);
  mixed(p, mix);
  own_curvature(p, M, Y, ZA, H);
  add_square(H, mix[2], ZB / (ZA * p->Z));
  add_square(H, mix[0], -1 / p->K0);
  add_square(H, mix[1], -1 / p->K1);
}

bool tgi_pair_solve(const tgReal x[18], bool warm, tgiPair *r) {
  Plane p;
  int steps = 0;
  place(&p, x);
  bool apart = start(&p, warm, r) && descend(&p, &steps);
  if (!apart) {
    memset(r, 0, sizeof *r);
    r->S = INFINITY;
    r->iterations = steps;
    return false;
  }
#ifdef TG_COMPLEX
  polish(&p);
#endif
  factor(&p);
  r->S = p.S;
  tgi_v3_scale(r->u, p.u, sign(&p));
  r->delta = sign(&p) * (p.delta - tgi_v3_dot(p.u, p.centre));
  r->iterations = steps;
  derivatives(&p, r->g, r->H);
  for (int i = 0; i < 6; i++) r->g[i] *= sign(&p);  // a twist of B is the opposite twist of A
  return true;
}

// ---- the force and its rates

static void at_plane(Plane *p, const tgReal x[18], const tgiPair *r) {
  place(p, x);
  start_from(p, r->u, r->delta);
  look(p);
  factor(p);
}

static void force(const Plane *p, tgiPairForce *f) {
  tgReal sum[2] = {0, 0}, *point[2] = {p->swapped ? f->b : f->a, p->swapped ? f->a : f->b};
  tgi_v3_scale(f->u, p->u, sign(p));
  for (int half = 0; half < 2; half++) {
    tgi_v3_zero(point[half]);
    for (int k = 3 * half; k < 3 * half + 3; k++) {
      sum[half] += p->y[k];
      tgi_v3_axpy(point[half], p->y[k], p->x[k]);
    }
    tgi_v3_scale(point[half], point[half], 1 / sum[half]);
    tgi_v3_axpy(point[half], 1, p->centre);
  }
  f->N = sum[0];  // = sum[1]
}

void tgi_pair_force(const tgReal x[18], const tgiPair *r, tgiPairForce *f) {
  Plane p;
  at_plane(&p, x, r);
  force(&p, f);
}

// how the plane follows the field: w in the diagonal variables; dm, change of the margins in all
static void follow(const Plane *p, const tgReal dx[18], tgReal w[3], tgReal dm[6]) {
  tgReal g[3] = {0, 0, 0};
  for (int k = 0; k < 6; k++) {
    const tgReal *d = dx + 3 * user(p, k);
    tgReal rise = tgi_v3_dot(p->u, d), d1 = tgi_v3_dot(p->t1, d), d2 = tgi_v3_dot(p->t2, d) - p->shear * d1;
    double s = side(k);
    dm[k] = s * rise;
    g[0] += p->z[k] * rise * p->a[k] - s * p->y[k] * d1;
    g[1] += p->z[k] * rise * p->b[k] - s * p->y[k] * d2;
    g[2] += p->z[k] * rise;
  }
  w[0] = -g[0] / p->K0;
  w[1] = -g[1] / p->K1;
  w[2] = -g[2] / p->Z;
  for (int k = 0; k < 6; k++) dm[k] += side(k) * (p->a[k] * w[0] + p->b[k] * w[1] + w[2]);
}

static void force_rate(const Plane *p, const tgiPairForce *f, const tgReal dx[18], const tgReal w[3], const tgReal dm[6], tgiPairForce *df) {
  const tgReal *point[2] = {p->swapped ? f->b : f->a, p->swapped ? f->a : f->b};
  tgReal *dpoint[2] = {p->swapped ? df->b : df->a, p->swapped ? df->a : df->b}, ddelta;
  plane_change(p, w, df->u, &ddelta);
  tgi_v3_scale(df->u, df->u, sign(p));
  for (int half = 0; half < 2; half++) {
    tgReal N = 0, dN = 0;
    tgi_v3_zero(dpoint[half]);
    for (int k = 3 * half; k < 3 * half + 3; k++) {
      tgReal dy = -p->z[k] * dm[k];
      N += p->y[k];
      dN += dy;
      for (int i = 0; i < 3; i++)  // the mean moves with the changes of the weights about the mean itself
        dpoint[half][i] += dy * (p->x[k][i] + p->centre[i] - point[half][i]) + p->y[k] * dx[3 * user(p, k) + i];
    }
    tgi_v3_scale(dpoint[half], dpoint[half], 1 / N);
    if (half == 0) df->N = dN;
  }
}

void tgi_pair_rate_d(const tgReal x[18], const tgiPair *r, const tgReal dx[18], tgReal *dS, tgReal dg[6], tgiPairForce *df) {
  Plane p;
  tgReal w[3], dm[6];
  at_plane(&p, x, r);
  follow(&p, dx, w, dm);
  if (dS != NULL) {
    *dS = 0;
    for (int k = 0; k < 6; k++) *dS -= side(k) * p.y[k] * tgi_v3_dot(p.u, dx + 3 * user(&p, k));
  }
  if (dg != NULL) {
    tgReal du[3], ddelta;
    plane_change(&p, w, du, &ddelta);
    for (int i = 0; i < 6; i++) dg[i] = 0;
    for (int k = 0; k < 3; k++) {  // g = -sum y (x x u; u)
      tgReal at[3], turn[3];
      for (int i = 0; i < 3; i++) at[i] = p.x[k][i] + p.centre[i];
      add_wrench(dg, at, p.u, p.z[k] * dm[k]);
      add_wrench(dg, at, du, -p.y[k]);
      tgi_v3_cross(turn, dx + 3 * user(&p, k), p.u);
      tgi_v3_axpy(dg, -p.y[k], turn);
    }
    for (int i = 0; i < 6; i++) dg[i] *= sign(&p);
  }
  if (df != NULL) {
    tgiPairForce f;
    force(&p, &f);
    force_rate(&p, &f, dx, w, dm, df);
  }
}

void tgi_pair_force_d(const tgReal x[18], const tgiPair *r, tgiPairForce df[6]) {
  Plane p;
  tgiPairForce f;
  at_plane(&p, x, r);
  force(&p, &f);
  for (int j = 0; j < 6; j++) {
    tgReal dx[18] = {0}, w[3], dm[6], axis[3] = {0, 0, 0};
    axis[j % 3] = 1;
    for (int k = 0; k < 3; k++) {
      if (j < 3) tgi_v3_cross(dx + 3 * k, axis, x + 3 * k);
      else tgi_v3_copy(dx + 3 * k, axis);
    }
    follow(&p, dx, w, dm);
    force_rate(&p, &f, dx, w, dm, &df[j]);
  }
}
