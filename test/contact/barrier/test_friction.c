// test_friction.c: the energies of friction on forces made up here: derivatives in the poses now and at the start, limits, laws of motion.
#include <stdio.h>
#include <string.h>

#include "contact/barrier/friction/friction.h"
#include "math/quat.h"
#include "support/deriv.h"

enum { FORCES = 5 };

// two bodies, each now and at the start, and forces between them that follow the poses at the start: force k acts between point c1 of
// body 1 and point c2 of body 2 like 1/D^2 along their line, at points away from both
typedef struct Scene {
  tgReal x0[2][3], R0[2][9], x[2][3], R[2][9];
  tgReal c[2][FORCES][3], vertex[6][3];
  int nforce;
  bool plane;
  tgiFrictionLaw law;
} Scene;

static void random_rotation(tgtRandom *r, tgReal R[9], double size) {
  tgReal w[3], q[4];
  for (int i = 0; i < 3; i++) w[i] = size * tgt_normal(r);
  tgi_quat_exp(q, w);
  tgi_quat_to_mat(R, q);
}

// pose <- exp(xi) pose, right to first order in v
static void twist(const tgReal *xi, tgReal x[3], tgReal R[9]) {
  tgReal q[4], E[9], t[9], y[3];
  tgi_quat_exp(q, xi);
  tgi_quat_to_mat(E, q);
  tgi_m3_mul(t, E, R);
  tgi_m3_copy(R, t);
  tgi_m3_mulv(y, E, x);
  tgi_v3_add(x, y, xi + 3);
}

// move: size of the motion over the step
static Scene random_scene(tgtRandom *r, double move, int nforce, bool plane) {
  Scene s = {.nforce = nforce, .plane = plane, .law = {.lambda = 0.7, .h = 0.01, .eps = 1e-3}};
  for (int b = 0; b < 2; b++) {
    random_rotation(r, s.R0[b], 1);
    for (int i = 0; i < 3; i++) s.x0[b][i] = tgt_normal(r) + (b == 0 ? 2 : 0);
    tgReal xi[6];
    for (int i = 0; i < 6; i++) xi[i] = move * tgt_normal(r);
    memcpy(s.x[b], s.x0[b], sizeof s.x[b]);
    memcpy(s.R[b], s.R0[b], sizeof s.R[b]);
    twist(xi, s.x[b], s.R[b]);
    for (int k = 0; k < FORCES; k++)
      for (int i = 0; i < 3; i++) s.c[b][k][i] = 0.3 * tgt_normal(r);
    for (int k = 3 * b; k < 3 * b + 3; k++)
      for (int i = 0; i < 3; i++) s.vertex[k][i] = 0.3 * tgt_normal(r);
  }
  return s;
}

static void place(tgReal r[3], const tgReal x[3], const tgReal R[9], const tgReal c[3]) {
  tgi_m3_mulv(r, R, c);
  tgi_v3_add(r, r, x);
}

// force k; df: derivatives in the twist of body 1
static void force_of(const Scene *s, int k, tgiFrictionForce *f, tgiFrictionForce df[6]) {
  tgReal p[3], q[3], e[3];
  place(p, s->x0[0], s->R0[0], s->c[0][k]);
  place(q, s->x0[1], s->R0[1], s->c[1][k]);
  tgi_v3_sub(e, p, q);
  tgReal D = tgi_v3_unit(f->n, e);
  f->N = 3 / (D * D);
  for (int i = 0; i < 3; i++) {
    f->a[i] = p[i] - e[i] / 3;
    f->b[i] = q[i] + e[i] / 4;
  }
  for (int j = 0; j < 6; j++) {
    tgReal d[3] = {0}, axis[3] = {0};
    axis[j % 3] = 1;
    if (j < 3) tgi_v3_cross(d, axis, p); else tgi_v3_copy(d, axis);
    tgReal dD = tgi_v3_dot(d, f->n);
    df[j].N = -6 * dD / (D * D * D);
    for (int i = 0; i < 3; i++) {
      df[j].n[i] = (d[i] - f->n[i] * dD) / D;
      df[j].a[i] = d[i] - d[i] / 3;
      df[j].b[i] = d[i] / 4;
    }
  }
}

static bool point_of(const Scene *s, tgiFrictionPoint *p, tgiFrictionPoint dp[6]) {
  tgiFrictionSum sum = {0}, dsum[6] = {{0}};
  for (int k = 0; k < s->nforce; k++) {
    tgiFrictionForce f, df[6];
    force_of(s, k, &f, df);
    tgi_friction_add(&sum, &f);
    tgi_friction_add_d(6, dsum, &f, df);
  }
  if (!tgi_friction_point(&sum, p)) return false;
  tgi_friction_point_d(&sum, p, 6, dsum, dp);
  return true;
}

static void plane_of(const Scene *s, tgiFrictionPlane *p, tgiFrictionPlane dp[6]) {
  for (int k = 0; k < 6; k++) {
    tgiFrictionForce f, df[6];
    place(p->x + 3 * k, s->x0[k / 3], s->R0[k / 3], s->vertex[k]);
    force_of(s, k % FORCES, &f, df);
    p->f[k] = f.N * (k + 1);
    for (int j = 0; j < 6; j++) dp[j].f[k] = df[j].N * (k + 1);
    if (k > 0) continue;
    tgi_v3_copy(p->n, f.n);
    for (int j = 0; j < 6; j++) tgi_v3_copy(dp[j].n, df[j].n);
  }
}

// value, g, H, B; the last three may be NULL
static tgReal evaluate(const Scene *s, tgReal *g, tgReal *H, tgReal *B) {
  tgiFrictionMotion m[2];
  for (int b = 0; b < 2; b++) tgi_friction_motion(s->x0[b], s->R0[b], s->x[b], s->R[b], &m[b]);
  if (s->plane) {
    tgiFrictionPlane p, dp[6];
    plane_of(s, &p, dp);
    if (B != NULL) tgi_friction_plane_mixed(&p, dp, &s->law, m, B);
    return tgi_friction_plane_energy(1, &p, &s->law, m, g, H);
  }
  tgiFrictionPoint p, dp[6];
  assert_true(point_of(s, &p, dp));
  if (B != NULL) tgi_friction_mixed(&p, dp, &s->law, m, B);
  return tgi_friction_energy(1, &p, &s->law, m, g, H);
}

typedef struct Map { Scene scene; bool start, gradient; } Map;

static tgStatus map(void *ctx, const tgReal *z, tgReal *y) {
  const Map *m = (const Map *)ctx;
  Scene s = m->scene;
  for (int b = 0; b < 2; b++) {
    if (m->start) twist(z + 6 * b, s.x0[b], s.R0[b]);
    else twist(z + 6 * b, s.x[b], s.R[b]);
  }
  tgReal g[12] = {0}, energy = evaluate(&s, g, NULL, NULL);
  if (m->gradient) memcpy(y, g, sizeof g); else y[0] = energy;
  return TG_OK;
}

#ifdef TG_COMPLEX
static const double tolerance = 2e-11;
#else
static const double tolerance = 2e-6;
#endif

#ifdef TG_COMPLEX
static double size_of(const tgReal *A, int n) {
  double most = 0;
  for (int i = 0; i < n; i++) most = fmax(most, fabs(tgRe(A[i])));
  return most;
}
#endif

#define CLOSE(x, y, tol) check_true(fabs(tgRe((x) - (y))) <= (tol), "%.17g is not %.17g, to %.3g", tgRe(x), tgRe(y), tol)

// the adjoint of B, part by part, against B of a point
static void check_product(const Scene *s, const tgReal B[144]) {
  tgtRandom r = {17};
  tgReal Z[12], out[12] = {0};
  tgiFrictionPoint p, dp[6], bar;
  tgiFrictionMotion m[2];
  double most = 0;
  for (int b = 0; b < 2; b++) tgi_friction_motion(s->x0[b], s->R0[b], s->x[b], s->R[b], &m[b]);
  for (int i = 0; i < 12; i++) Z[i] = tgt_normal(&r);
  assert_true(point_of(s, &p, dp));
  tgi_friction_mixed_vjp(&p, &s->law, m, Z, &bar, out);
  for (int i = 0; i < 144; i++) most = fmax(most, fabs(tgRe(B[i])));
  for (int j = 0; j < 6; j++) {
    tgReal c = bar.N * dp[j].N + tgi_v3_dot(bar.a, dp[j].a) + tgi_v3_dot(bar.b, dp[j].b), want[2] = {0, 0};
    for (int i = 0; i < 6; i++) c += bar.Q[i] * dp[j].Q[i];
    for (int i = 0; i < 12; i++)
      for (int side = 0; side < 2; side++) want[side] += Z[i] * B[12 * i + 6 * side + j];
    CLOSE(out[j] + c, want[0], 1e-11 * most);
    CLOSE(out[6 + j] - c, want[1], 1e-11 * most);
  }
}

static void check_scene(const Scene *s, bool rest, const char *name) {
  const tgReal at[12] = {0};
  tgReal g[12] = {0}, H[144] = {0}, B[144] = {0};
  evaluate(s, g, H, B);
  Map m = {.scene = *s};
  // differences see speeds in units of eps
  double step = 1e-3 * tgRe(s->law.eps * s->law.h);
  tgtDeriv d = {.name = name, .nx = 12, .ny = 1, .map = map, .ctx = &m, .tol = tolerance, .step = step};
  if (rest) for (int i = 0; i < 12; i++) assert_true(tgRe(g[i]) == 0);
  else tgt_check_jacobian(&d, at, g);
  m.gradient = true;
  d.ny = 12;
  m.start = true;
  if (!s->plane) check_product(s, B);
  tgt_check_jacobian(&d, at, B);
  // the derivative of g along twists is H and an antisymmetric part
  m.start = false;
  for (int i = 0; i < 12; i++)
    for (int j = 0; j < 12; j++) assert_true(tgRe(H[12 * i + j]) == tgRe(H[12 * j + i]));
#ifdef TG_COMPLEX
  tgReal D[144];
  for (int j = 0; j < 12; j++) {
    tgReal z[12] = {0}, y[12];
    z[j] = CMPLX(0, 1e-30);
    map(&m, z, y);
    for (int i = 0; i < 12; i++) D[12 * i + j] = tgIm(y[i]) / 1e-30;
  }
  double size = size_of(D, 144);
  for (int i = 0; i < 12; i++)
    for (int j = 0; j < 12; j++) check_close(H[12 * i + j], 0.5 * (D[12 * i + j] + D[12 * j + i]), tolerance * size);
#endif
}

// moves far below, about and far above the slip speed times the step
static const double moves[] = {0, 1e-10, 1e-8, 1e-5, 1e-4, 1e-2, 0.3};

static void derivatives(void **state) {
  (void)state;
  tgtRandom r = {11};
  for (int plane = 0; plane < 2; plane++)
    for (size_t i = 0; i < sizeof moves / sizeof *moves; i++)
      for (int n = 1; n <= FORCES; n += 4) {
#ifndef TG_COMPLEX
        // 1e4 slip speeds: the plane's second derivatives change over 1e-4 of the speed, too little for differences
        if (plane && moves[i] > 0.1) continue;
#endif
        char name[80];
        snprintf(name, sizeof name, "%s, move %g, %d forces", plane ? "plane" : "slip", moves[i], n);
        Scene s = random_scene(&r, moves[i], n, plane != 0);
        check_scene(&s, moves[i] == 0, name);
      }
}

// z: numbers of the point or plane themselves, which slip over the bodies, then the step size
typedef struct RateMap { Scene scene; tgiFrictionPoint p; tgiFrictionPlane q; } RateMap;
enum { POINT_REALS = 13, PLANE_REALS = 27 };
_Static_assert(sizeof(tgiFrictionPoint) == POINT_REALS * sizeof(tgReal) &&
               sizeof(tgiFrictionPlane) == PLANE_REALS * sizeof(tgReal), "reals only");

static tgStatus rate_map(void *ctx, const tgReal *z, tgReal *y) {
  const RateMap *r = (const RateMap *)ctx;
  const Scene *s = &r->scene;
  tgiFrictionMotion m[2];
  tgReal g[12] = {0};
  for (int b = 0; b < 2; b++) tgi_friction_motion(s->x0[b], s->R0[b], s->x[b], s->R[b], &m[b]);
  tgiFrictionLaw law = s->law;
  law.h = z[s->plane ? PLANE_REALS : POINT_REALS];
  if (s->plane) tgi_friction_plane_energy(1, (const tgiFrictionPlane *)z, &law, m, g, NULL);
  else tgi_friction_energy(1, (const tgiFrictionPoint *)z, &law, m, g, NULL);
  memcpy(y, g, sizeof g);
  return TG_OK;
}

static void rates(void **state) {
  (void)state;
  tgtRandom random = {14};
  for (int plane = 0; plane < 2; plane++)
    for (int k = 0; k < 3; k++) {
      int n = plane ? PLANE_REALS : POINT_REALS;
      RateMap r = {.scene = random_scene(&random, (double[]){1e-5, 1e-4, 1e-2}[k], FORCES, plane != 0)};
      const Scene *s = &r.scene;
      tgiFrictionPoint dp[6];
      tgiFrictionPlane dq[6];
      tgReal z[PLANE_REALS + 1], D[12 * (PLANE_REALS + 1)], dg[12];
      tgiFrictionMotion m[2];
      for (int b = 0; b < 2; b++) tgi_friction_motion(s->x0[b], s->R0[b], s->x[b], s->R[b], &m[b]);
      assert_true(point_of(s, &r.p, dp));
      plane_of(s, &r.q, dq);
      memcpy(z, plane ? (void *)&r.q : (void *)&r.p, (size_t)n * sizeof *z);
      z[n] = s->law.h;
      for (int j = 0; j <= n; j++) {
        tgReal d[PLANE_REALS] = {0};
        if (j < n) d[j] = 1;
        if (plane && j < n) tgi_friction_plane_rate(&r.q, (const tgiFrictionPlane *)d, &s->law, m, dg);
        else if (plane) tgi_friction_plane_step_rate(&r.q, &s->law, m, dg);
        else if (j < n) tgi_friction_rate(&r.p, (const tgiFrictionPoint *)d, &s->law, m, dg);
        else tgi_friction_step_rate(&r.p, &s->law, m, dg);
        for (int i = 0; i < 12; i++) D[(n + 1) * i + j] = dg[i];
      }
      tgtDeriv d = {.name = plane ? "plane's numbers" : "point's numbers", .nx = n + 1, .ny = 12, .map = rate_map,
                    .ctx = &r, .tol = tolerance, .step = 1e-5};
      tgt_check_jacobian(&d, z, D);
    }
}

// the same motion of both bodies costs nothing, and a slide far above the slip speed costs lambda N per metre
static void limits(void **state) {
  (void)state;
  tgtRandom r = {12};
  for (int plane = 0; plane < 2; plane++) {
    Scene s = random_scene(&r, 0, 1, plane != 0);
    tgReal shift[6] = {0, 0, 0, 0.2, -0.1, 0.3};
    for (int b = 0; b < 2; b++) twist(shift, s.x[b], s.R[b]);
    check_close(evaluate(&s, NULL, NULL, NULL), 0, 1e-16);

    s = random_scene(&r, 0, 1, plane != 0);
    tgiFrictionForce f, df[6];
    force_of(&s, 0, &f, df);
    tgiFrictionPlane p, dp[6];
    plane_of(&s, &p, dp);
    // equal forces on both triangles, of N in all, as a pair in equilibrium has them
    tgReal t[3], any[3] = {0.3, -0.8, 0.5}, g[12] = {0};
    tgi_v3_cross(t, f.n, any);
    tgi_v3_unit(t, t);
    for (int i = 0; i < 3; i++) s.x[0][i] += 0.5 * t[i];
    if (plane) {
      tgiFrictionMotion m[2];
      for (int b = 0; b < 2; b++) tgi_friction_motion(s.x0[b], s.R0[b], s.x[b], s.R[b], &m[b]);
      for (int k = 0; k < 6; k++) p.f[k] = f.N / 3;
      tgi_friction_plane_energy(1, &p, &s.law, m, g, NULL);
    } else evaluate(&s, g, NULL, NULL);
    tgReal limit = s.law.lambda * f.N;
    check_close(tgi_v3_dot(g + 3, t), limit, 1e-8 * tgRe(limit));
    for (int i = 0; i < 3; i++) check_close(g[3 + i] + g[9 + i], 0, 1e-12 * tgRe(limit));
  }
}

// sum f (|v - w|^2 + eps^2)^1/2 - eps, and w moved by one step of Weiszfeld's method, which never climbs
static double cost_at(const tgiFrictionPlane *p, const double v[18], double eps, double w[3]) {
  double cost = 0, sum = 0, to[3] = {0};
  for (int k = 0; k < 6; k++) {
    double e = 0, f = tgRe(p->f[k]);
    for (int i = 0; i < 3; i++) e += (v[3 * k + i] - w[i]) * (v[3 * k + i] - w[i]);
    double slip = sqrt(e + eps * eps);
    cost += f * e / (slip + eps);
    sum += f / slip;
    for (int i = 0; i < 3; i++) to[i] += f / slip * v[3 * k + i];
  }
  for (int i = 0; i < 3; i++) w[i] = to[i] / sum;
  return cost;
}

// the plane's velocity is the cheapest: no other costs less, from each vertex' velocity down Weiszfeld's method; for
// forces and speeds of all sizes
static void cheapest(void **state) {
  (void)state;
  tgtRandom r = {14};
  const tgReal I[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1}, none[3] = {0, 0, 0};
  const tgiFrictionLaw law = {.lambda = 1, .h = 0.01, .eps = 1e-3};
  for (int trial = 0; trial < 2000; trial++) {
    tgiFrictionPlane p;
    tgiFrictionMotion m[2];
    tgReal n[3] = {tgt_normal(&r), tgt_normal(&r), tgt_normal(&r)};
    double v[18], least = INFINITY, speed = pow(10, tgt_uniform(&r, -5, 1));
    tgi_v3_unit(p.n, n);
    for (int b = 0; b < 2; b++) {
      tgReal R[9], x[3];
      random_rotation(&r, R, (double)law.h * speed * pow(10, tgt_uniform(&r, -2, 1)));
      for (int i = 0; i < 3; i++) x[i] = law.h * speed * tgt_normal(&r);
      tgi_friction_motion(none, I, x, R, &m[b]);
      for (int k = 3 * b; k < 3 * b + 3; k++) {
        tgReal now[3];
        p.f[k] = pow(10, tgt_uniform(&r, trial % 2 == 0 ? -1 : -5, 0));
        for (int i = 0; i < 3; i++) p.x[3 * k + i] = tgt_uniform(&r, -1, 1);
        tgi_m3_mulv(now, R, p.x + 3 * k);
        for (int i = 0; i < 3; i++) now[i] = (now[i] + x[i] - p.x[3 * k + i]) / law.h;
        tgReal across = tgi_v3_dot(now, p.n);
        for (int i = 0; i < 3; i++) v[3 * k + i] = tgRe(now[i] - across * p.n[i]);
      }
    }
    double energy = tgRe(tgi_friction_plane_energy(1, &p, &law, m, NULL, NULL));
    for (int k = 0; k < 6; k++) {
      double w[3] = {v[3 * k], v[3 * k + 1], v[3 * k + 2]};
      for (int i = 0; i < 100; i++) least = fmin(least, tgRe(law.h) * cost_at(&p, v, tgRe(law.eps), w));
    }
    // to the rounding of places that are 1 m from the origin, over h
    check_true(energy <= least * (1 + 1e-9) + 1e-15, "trial %d: costs %.12g, and %.12g is possible", trial, energy, least);
  }
}

// forces gathered to one point, normals equal, give the same force as each by itself
static void gathering(void **state) {
  (void)state;
  tgtRandom r = {13};
  Scene s = random_scene(&r, 0, 1, false);
  tgiFrictionForce f, df[6];
  force_of(&s, 0, &f, df);
  for (int i = 0; i < 3; i++) s.x[0][i] += 1e-5 * (i + 1);
  tgiFrictionMotion m[2];
  for (int b = 0; b < 2; b++) tgi_friction_motion(s.x0[b], s.R0[b], s.x[b], s.R[b], &m[b]);
  tgiFrictionSum one = {0}, sum = {0};
  tgReal N = 0, g1[12] = {0}, gn[12] = {0};
  for (int k = 0; k < 7; k++) {
    tgiFrictionForce part = f;
    part.N = 0.1 + k;
    N += part.N;
    tgi_friction_add(&sum, &part);
  }
  f.N = N;
  tgi_friction_add(&one, &f);
  tgiFrictionPoint p;
  assert_true(tgi_friction_point(&one, &p));
  tgi_friction_energy(1, &p, &s.law, m, g1, NULL);
  assert_true(tgi_friction_point(&sum, &p));
  tgi_friction_energy(1, &p, &s.law, m, gn, NULL);
  for (int i = 0; i < 12; i++) check_close(g1[i], gn[i], 1e-12 * tgRe(N));
  assert_false(tgi_friction_point(&(tgiFrictionSum){0}, &p));
}

// ---- the factor of what is nearby ----

static const double range = 0.1;

// z: sizes and distances of the forces; y: the two sums, the factor
static tgStatus factor_map(void *ctx, const tgReal *z, tgReal *y) {
  tgiFrictionShare s = {.all = 0};
  (void)ctx;
  for (int k = 0; k < FORCES; k++) tgi_friction_share(&s, range, z[k], z[FORCES + k]);
  y[0] = s.all;
  y[1] = s.near;
  y[2] = tgi_friction_factor(&s, 0, NULL, NULL);
  return TG_OK;
}

// forces at all distances; the far ones grow from trial to trial, so that the share of the near ones goes through all it can be
static void reach(void **state) {
  (void)state;
  tgtRandom r = {31};
  int some = 0, none = 0, whole = 0;
  for (int trial = 0; trial < 60; trial++) {
    tgReal z[2 * FORCES], y[3], D[3][2 * FORCES], df[2 * FORCES];
    tgiFrictionShare s = {.all = 0}, ds[2 * FORCES] = {{0}};
    for (int k = 0; k < FORCES; k++) {
      z[k] = tgt_uniform(&r, 0.5, 1) * (k > 1 ? pow(2, trial % 10 - 5) : 1);
      z[FORCES + k] = trial % 6 == 5 ? 1.1 * range : range * (k > 1 ? tgt_uniform(&r, 0.9, 3) : tgt_uniform(&r, 0.1, 1));
    }
    for (int k = 0; k < FORCES; k++) {
      tgReal dN[2 * FORCES] = {0}, dd[2 * FORCES] = {0};
      dN[k] = dd[FORCES + k] = 1;
      tgi_friction_share(&s, range, z[k], z[FORCES + k]);
      tgi_friction_share_d(2 * FORCES, ds, range, z[k], z[FORCES + k], dN, dd);
    }
    tgReal f = tgi_friction_factor(&s, 2 * FORCES, ds, df);
    for (int j = 0; j < 2 * FORCES; j++) {
      D[0][j] = ds[j].all;
      D[1][j] = ds[j].near;
      D[2][j] = df[j];
    }
    int rows[] = {1, 1, 1};
    tgtDeriv d = {.name = "factor", .nx = 2 * FORCES, .ny = 3, .map = factor_map, .tol = tolerance, .step = 1e-4, .rows = rows, .nrows = 3};
    tgt_check_jacobian(&d, z, D[0]);
    assert_int_equal(factor_map(NULL, z, y), TG_OK);
    double share = tgRe(s.near) / tgRe(s.all), v = tgRe(f);
    check_close(y[2], f, 0);
    check_true(v >= share - 1e-15 && v <= 1 && (share < 0.5 || v == 1) && (share > 0 || v == 0), "factor %g of the share %g", v, share);
    none += v == 0;
    whole += v == 1;
    some += v > 0 && v < 1;
  }
  check_true(none >= 10 && whole > 5 && some > 20, "%d without, %d with all, %d with some", none, whole, some);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(derivatives), cmocka_unit_test(rates), cmocka_unit_test(limits),
                                     cmocka_unit_test(cheapest), cmocka_unit_test(gathering), cmocka_unit_test(reach)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
