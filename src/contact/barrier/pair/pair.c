// pair.c: best plane between two triangles by Newton steps on the sphere, one pair at a time. See pair.h; pair_kernel.c does it on vectors.
#include "contact/barrier/pair/pair.h"
#include <string.h>

#include "contact/barrier/pair/plane.h"
#include "contact/barrier/pair/start.h"
#include "math/vec3.h"

enum { MOST_STEPS = 100, MOST_HALVINGS = 40 };

// margins and S; the least margin
static double look(tgiPlane *p, tgReal *S) {
  double least = tgi_plane_margins(p);
  *S = 0;
  for (int k = 0; k < 6; k++) *S += 1 / p->m[k];
  return least;
}

// 1/m^2, 2/m^3 and the diagonal variables, for u <- (u + tau1 t1 + tau2 t2)/|.|                                   [math/barrier (25), (26)]
static void factor(tgiPlane *p, tgReal S) {
  tgReal t[2][3];
  const tgReal own[2] = {S, S};  // the sphere's curvature
  for (int k = 0; k < 6; k++) {
    tgReal i = 1 / p->m[k];
    p->y[k] = i * i;
    p->z[k] = 2 * i * p->y[k];
  }
  tgi_plane_tangents(p->n, t);
  tgi_plane_factor(p, 2, t, own);
}

// The third derivative's answer to Newton's step w: with it steps converge cubically.                            [math/barrier Newton on the sphere]
static void bend(const tgiPlane *p, const tgReal w[TGI_PLANE_VARIABLES], tgReal b[TGI_PLANE_VARIABLES]) {
  for (int v = 0; v < p->nvar; v++) b[v] = 0;
  for (int k = 0; k < 6; k++) {
    tgReal rate = w[0] * p->c[0][k] + w[1] * p->c[1][k] + w[2] * p->c[2][k], q = rate / p->m[k], f = 3 * tgi_plane_side(k) * p->y[k] * q * q;
    for (int v = 0; v < p->nvar; v++) b[v] += f * p->c[v][k];
  }
  for (int v = 0; v < p->nvar; v++) b[v] /= p->K[v];
}

// from (u, delta) along a parabola
typedef struct Step { tgReal u[3], delta, du[2][3], ddelta[2]; } Step;

static void prepare(const tgiPlane *p, const tgReal w[TGI_PLANE_VARIABLES], const tgReal b[TGI_PLANE_VARIABLES], Step *s) {
  tgi_v3_copy(s->u, p->n);
  s->delta = p->d;
  tgi_plane_change(p, w, s->du[0], &s->ddelta[0]);
  tgi_plane_change(p, b, s->du[1], &s->ddelta[1]);
}
static void go(tgiPlane *p, const Step *s, double alpha) {
  for (int i = 0; i < 3; i++) p->n[i] = s->u[i] + alpha * (s->du[0][i] + alpha * s->du[1][i]);
  tgReal n = 1 / tgi_v3_norm(p->n);
  tgi_v3_scale(p->n, p->n, n);
  p->d = (s->delta + alpha * (s->ddelta[0] + alpha * s->ddelta[1])) * n;
}

// false: does not converge
static bool descend(tgiPlane *p, tgReal *S, int *steps) {
  double least = look(p, S);
  for (*steps = 1; *steps <= MOST_STEPS; ++*steps) {
    tgReal w[TGI_PLANE_VARIABLES], b[TGI_PLANE_VARIABLES], all[TGI_PLANE_VARIABLES];
    Step s;
    factor(p, *S);
    double lambda2 = tgRe(tgi_plane_newton(p, w, NULL)), from = tgRe(*S), eta = tgi_plane_noise(p, least);
    bool last = lambda2 <= fmax(TGI_PAIR_TOLERANCE, eta * eta) * from;
    bend(p, w, b);
    for (int v = 0; v < p->nvar; v++) all[v] = w[v] + b[v];
    double alpha = fmin(1, tgi_plane_room(p, all));
    prepare(p, w, b, &s);
    for (int halving = 0;; halving++, alpha *= 0.5) {
      go(p, &s, alpha);
      least = look(p, S);
      if (least > 0 && (last || tgRe(*S) <= from * (1 + eta) - TGI_PAIR_ARMIJO * alpha * lambda2)) break;
      if (halving == MOST_HALVINGS) return false;
    }
    if (last) return tgi_plane_noise(p, least) <= TGI_PAIR_TOUCHING;
  }
  return false;
}

#ifdef TG_COMPLEX
// full steps bring the imaginary parts to where the real parts are
static void polish(tgiPlane *p, tgReal *S) {
  for (int pass = 0; pass < 2; pass++) {
    tgReal w[TGI_PLANE_VARIABLES], none[TGI_PLANE_VARIABLES] = {0};
    Step s;
    factor(p, *S);
    tgi_plane_newton(p, w, NULL);
    prepare(p, w, none, &s);
    go(p, &s, 1);
    look(p, S);
  }
}
#endif

static bool start(tgiPlane *p, bool warm, const tgiPair *r) {
  if (warm && tgRe(tgi_v3_dot(r->u, r->u)) > 0.25) {
    tgReal u[3], length = tgi_v3_unit(u, r->u);
    tgi_plane_set(p, u, r->delta / length);
    if (tgi_plane_margins(p) > TGI_PAIR_SIGNIFICANT * p->size) return true;
  }
  return tgi_plane_start(p);
}

bool tgi_pair_solve(const tgReal x[18], bool warm, tgiPair *r) {
  tgiPlane p;
  int steps = 0;
  tgReal S = 0;
  tgi_plane_place(&p, x);
  if (!start(&p, warm, r) || !descend(&p, &S, &steps)) {
    memset(r, 0, sizeof *r);
    r->S = INFINITY;
    r->iterations = steps;
    return false;
  }
#ifdef TG_COMPLEX
  polish(&p, &S);
#endif
  factor(&p, S);
  r->S = S;
  r->iterations = steps;
  tgi_plane_get(&p, r->u, &r->delta);
  tgi_plane_derivatives(&p, r->g, r->H);
  return true;
}

static void at(tgiPlane *p, const tgReal x[18], const tgiPair *r) {
  tgReal S;
  tgi_plane_place(p, x);
  tgi_plane_set(p, r->u, r->delta);
  look(p, &S);
  factor(p, S);
}

void tgi_pair_force(const tgReal x[18], const tgiPair *r, tgiPairForce *f) {
  tgiPlane p;
  at(&p, x, r);
  tgi_plane_force(&p, f);
}

void tgi_pair_rate_d(const tgReal x[18], const tgiPair *r, const tgReal dx[18], tgReal *dS, tgReal dg[6], tgiPairForce *df) {
  tgiPlane p;
  at(&p, x, r);
  tgi_plane_rate(&p, dx, dS, dg, df);
}

void tgi_pair_force_d(const tgReal x[18], const tgiPair *r, tgiPairForce df[6]) {
  tgiPlane p;
  at(&p, x, r);
  tgi_plane_force_rates(&p, x, df);
}

void tgi_pair_force_vjp(const tgReal x[18], const tgiPair *r, const tgiPairForce *bar, tgReal twist[6]) {
  tgiPlane p;
  at(&p, x, r);
  tgi_plane_force_weighed(&p, x, bar, twist);
}
