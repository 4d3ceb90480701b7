// test_pair.c: the force of one pair: derivatives in poses, velocities, points, normals and numbers by complex
// step and Ridders, touching and far, in both forms; action and reaction; turning a pair as a whole; a sphere on a
// plane against the law alone.
#include <stdlib.h>
#include <string.h>

#include "contact/softmin/pair.h"
#include "geom/cloud.h"
#include "math/quat.h"
#include "math/spatial.h"
#include "support/deriv.h"

#ifdef TG_COMPLEX
static const double tolerance = 1e-12;
#else
static const double tolerance = 1e-6;
#endif
enum { TRIALS = 8 };

// two clouds with frames and velocities: x, R, V of each; nx: numbers that a derivative moves
typedef struct Case {
  tgiSoftPair p;
  tgCloud cloud[2];
  tgReal x[2][3], R[2][9], V[2][6], *points[2], *normals[2], Z[12], *work;
} Case;

static void wire(Case *c) {
  for (int i = 0; i < 2; i++) {
    tgiSoftSide *s = &c->p.side[i];
    s->surface.n = c->cloud[i].n;
    s->surface.p = c->points[i];
    s->surface.normal = c->normals[i];
    s->x = c->x[i];
    s->R = c->R[i];
    s->V = c->V[i];
    s->flat = c->cloud[i].flat;
  }
}

// gap: about, between the two
static void make_case(Case *c, tgtRandom *r, bool paper, int kind, double gap) {
  static const double size[3] = {0.1, 0.08, 0.06};
  const tgGeomType type[4][2] = {{TG_GEOM_BOX, TG_GEOM_SPHERE}, {TG_GEOM_PLANE, TG_GEOM_CAPSULE},
                                 {TG_GEOM_ELLIPSOID, TG_GEOM_BOX}, {TG_GEOM_CYLINDER, TG_GEOM_PLANE}};
  *c = (Case){.p = {.law = {.k = 1000, .eps = 0.004, .v_d = 0.3, .v_s = 0.1, .mu = 0.6, .paper = paper}, .eps2 = 0.005}};
  for (int i = 0; i < 2; i++) {
    tgReal q[4], w[3];
    tgError e;
    check_true(tgi_cloud_primitive(type[kind][i], size, 0.07, NULL, &c->cloud[i], &e) == TG_OK, "%s", e.text);
    size_t n = 3 * (size_t)c->cloud[i].n * sizeof(tgReal);
    c->points[i] = malloc(n);
    c->normals[i] = malloc(n);
    memcpy(c->points[i], c->cloud[i].p, n);
    memcpy(c->normals[i], c->cloud[i].normal, n);
    for (int k = 0; k < 3; k++) {
      c->x[i][k] = tgt_uniform(r, -0.02, 0.02);
      w[k] = tgt_uniform(r, -0.3, 0.3);
    }
    c->x[i][2] += i == 0 ? 0 : (type[kind][1] == TG_GEOM_PLANE ? -1 : 1) * (gap + (kind == 0 || kind == 2 ? 0.14 : 0.06));
    tgi_quat_exp(q, w);
    tgi_quat_to_mat(c->R[i], q);
    for (int k = 0; k < 6; k++) c->V[i][k] = tgt_uniform(r, -0.5, 0.5);
    c->p.side[i].surface.eps1 = 0.003 + 0.001 * i;
    if (type[kind][i] == TG_GEOM_SPHERE && !paper) c->p.side[i].surface.ball = size[0];
  }
  for (int k = 0; k < 12; k++) c->Z[k] = tgt_normal(r);
  wire(c);
  c->work = malloc(sizeof(tgReal) * (size_t)(c->p.side[0].surface.n + c->p.side[1].surface.n + 1));
}

static void free_case(Case *c) {
  for (int i = 0; i < 2; i++) {
    tgi_cloud_free(&c->cloud[i]);
    free(c->points[i]);
    free(c->normals[i]);
  }
  free(c->work);
}

// ---- poses and velocities: x = (xi1, xi2, V1, V2) ----

static tgStatus moved(void *ctx, const tgReal *x, tgReal *w) {
  Case c = *(Case *)ctx;
  for (int i = 0; i < 2; i++) {
    tgReal q[4], R[9], A[9], t[3];
    tgi_quat_exp(q, x + 6 * i);
    tgi_quat_to_mat(R, q);
    tgi_m3_mul(A, R, c.R[i]);
    tgi_m3_copy(c.R[i], A);
    // exp of a twist at the origin, to first order in its translation, which is all that a derivative at 0 sees
    tgi_m3_mulv(t, R, c.x[i]);
    tgi_v3_add(c.x[i], t, x + 6 * i + 3);
    for (int k = 0; k < 6; k++) c.V[i][k] += x[12 + 6 * i + k];
  }
  wire(&c);
  tgPairTerm f;
  tgi_soft_pair_plain(&c.p, false, c.work, &f);
  memcpy(w, f.w, sizeof f.w);
  return TG_OK;
}

static void test_motion(void **state) {
  (void)state;
  for (int trial = 0; trial < TRIALS * 4; trial++) {
    Case c;
    tgtRandom r = {.s = (uint64_t)trial};
    tgReal zero[24] = {0}, D[12 * 24];
    make_case(&c, &r, trial % 2 == 1, trial / 2 % 4, trial % 3 == 0 ? -0.02 : trial % 3 == 1 ? 0.01 : 0.1);
    tgPairTerm f;
    tgi_soft_pair_plain(&c.p, true, c.work, &f);
    for (int i = 0; i < 12; i++)
      for (int j = 0; j < 12; j++) {
        D[24 * i + j] = f.X[12 * i + j];
        D[24 * i + 12 + j] = f.Y[12 * i + j];
      }
    static const int cols[2] = {12, 12};
    tgtDeriv d = {.name = "wrench", .nx = 24, .ny = 12, .map = moved, .ctx = &c, .tol = tolerance, .step = 1e-4, .cols = cols, .ncols = 2};
    tgt_check_jacobian(&d, zero, D);
    free_case(&c);
  }
}

// ---- points, normals and numbers ----

enum { NUMBERS = 10 };
typedef struct Moved { Case *c; int n; } Moved;

static tgReal *number(Case *c, int i) {
  tgReal *const at[NUMBERS] = {&c->p.law.k, &c->p.law.eps, &c->p.law.v_d, &c->p.law.v_s, &c->p.law.mu, &c->p.eps2,
                               &c->p.side[0].surface.eps1, &c->p.side[1].surface.eps1, &c->p.side[0].surface.ball,
                               &c->p.side[1].surface.ball};
  return at[i];
}

// x: changes of numbers, then of points and normals of either surface, in units of their size
static tgStatus changed(void *ctx, const tgReal *x, tgReal *y) {
  Case *c = ((Moved *)ctx)->c;
  const tgReal *at = x + NUMBERS;
  tgiSoftPair as_was = c->p;
  for (int i = 0; i < NUMBERS; i++) *number(c, i) *= 1 + x[i];
  for (int i = 0; i < 2; i++)
    for (int k = 0; k < 3 * c->cloud[i].n; k++) {
      c->points[i][k] = c->cloud[i].p[k] + 0.01 * *at++;
      c->normals[i][k] = c->cloud[i].normal[k] + *at++;
    }
  tgPairTerm f;
  tgi_soft_pair_plain(&c->p, false, c->work, &f);
  *y = 0;
  for (int i = 0; i < 12; i++) *y += c->Z[i] * f.w[i];
  c->p = as_was;
  return TG_OK;
}

static void test_numbers(void **state) {
  (void)state;
  for (int trial = 0; trial < TRIALS; trial++) {
    Case c;
    tgtRandom r = {.s = (uint64_t)(50 + trial)};
    make_case(&c, &r, trial % 2 == 1, trial / 2 % 4, trial < 4 ? -0.015 : 0.02);
    int n = NUMBERS + 6 * (c.cloud[0].n + c.cloud[1].n), at = NUMBERS;
    tgReal *zero = calloc((size_t)n, sizeof *zero), *g = calloc((size_t)n, sizeof *g), *bars = calloc((size_t)n, sizeof *bars);
    tgiSoftPairBar bar = {.eps2 = 0};
    bar.p[0] = bars;
    bar.normal[0] = bar.p[0] + 3 * c.cloud[0].n;
    bar.p[1] = bar.normal[0] + 3 * c.cloud[0].n;
    bar.normal[1] = bar.p[1] + 3 * c.cloud[1].n;
    tgi_soft_pair_vjp(&c.p, c.Z, c.work, &bar);
    const tgReal numbers[NUMBERS] = {bar.law.k, bar.law.eps, bar.law.v_d, bar.law.v_s, bar.law.mu, bar.eps2,
                                     bar.eps1[0], bar.eps1[1], bar.ball[0], bar.ball[1]};
    for (int i = 0; i < NUMBERS; i++) g[i] = numbers[i] * *number(&c, i);
    for (int i = 0; i < 2; i++)
      for (int k = 0; k < 3 * c.cloud[i].n; k++) {
        g[at++] = 0.01 * bar.p[i][k];
        g[at++] = bar.normal[i][k];
      }
    Moved m = {.c = &c, .n = n};
    const int cols[2] = {NUMBERS, n - NUMBERS};
    tgtDeriv d = {.name = "numbers", .nx = n, .ny = 1, .map = changed, .ctx = &m, .tol = 10 * tolerance, .step = 1e-3,
                  .cols = cols, .ncols = 2};
    tgt_check_jacobian(&d, zero, g);
    free(zero);
    free(g);
    free(bars);
    free_case(&c);
  }
}

// ---- one point and the law ----

typedef struct Meeting { const tgiSoftSurface *surface; const tgiSoftLaw *law; } Meeting;

static tgStatus point_map(void *ctx, const tgReal *x, tgReal *y) {
  const Meeting *c = ctx;
  tgiSoftPoint f;
  tgi_soft_point(c->surface, c->law, x, x + 3, x + 6, false, &f);
  y[0] = f.phi;
  tgi_v3_copy(y + 1, f.F);
  tgi_v3_copy(y + 4, f.T);
  return TG_OK;
}

static void test_point(void **state) {
  (void)state;
  for (int trial = 0; trial < 2 * TRIALS; trial++) {
    Case c;
    tgtRandom r = {.s = (uint64_t)(90 + trial)};
    // boxes and ellipsoids, then spheres, which in the consistent form are exact
    make_case(&c, &r, trial % 2 == 1, trial < TRIALS ? 2 * (trial / 2 % 2) : 0, 0);
    const tgiSoftSurface *surface = &c.p.side[trial < TRIALS ? 0 : 1].surface;
    Meeting meeting = {surface, &c.p.law};
    tgReal x[9], D[7 * 9], y[7], w[7], bar_y[9];
    for (int i = 0; i < 9; i++) x[i] = tgt_uniform(&r, -0.12, 0.12) * (i < 3 ? 1 : 4);
    tgiSoftPoint f;
    tgi_soft_point(surface, &c.p.law, x, x + 3, x + 6, true, &f);
    for (int j = 0; j < 9; j++) {
      D[j] = j < 3 ? f.g[j] : 0;
      for (int i = 0; i < 3; i++) {
        D[9 * (1 + i) + j] = (j < 3 ? f.Fy : j < 6 ? f.Fu : f.Fw)[3 * i + j % 3];
        D[9 * (4 + i) + j] = (j < 3 ? f.Ty : j < 6 ? f.Tu : f.Tw)[3 * i + j % 3];
      }
    }
    tgtDeriv d = {.name = "point", .nx = 9, .ny = 7, .map = point_map, .ctx = &meeting, .tol = 10 * tolerance, .step = 1e-4};
    tgt_check_jacobian(&d, x, D);
    // adjoint: A (F . zeta - T . eta) + B phi
    tgReal zeta[3], eta[3], A = 0.7, B = -1.3, eps1 = 0, ball = 0;
    for (int i = 0; i < 3; i++) zeta[i] = tgt_normal(&r), eta[i] = tgt_normal(&r);
    tgiSoftLawBar law = {.k = 0};
    tgiSoftPointBar bar = {.eps1 = &eps1, .ball = &ball, .law = &law};
    tgi_soft_point_vjp(surface, &c.p.law, x, x + 3, x + 6, zeta, eta, A, B, &bar);
    w[0] = B;
    for (int i = 0; i < 3; i++) w[1 + i] = A * zeta[i], w[4 + i] = -A * eta[i];
    for (int j = 0; j < 6; j++) {
      bar_y[j] = 0;
      for (int i = 0; i < 7; i++) bar_y[j] += w[i] * D[9 * i + j];
      tgReal ours = j < 3 ? bar.y[j] : bar.u[j - 3];
      check_true(fabs(tgRe(ours - bar_y[j])) <= 1e-11 * (1 + fabs(tgRe(bar_y[j]))), "adjoint %d: %.15g, Jacobian %.15g",
                 j, tgRe(ours), tgRe(bar_y[j]));
    }
    assert_int_equal(point_map(&meeting, x, y), TG_OK);
    free_case(&c);
  }
}

typedef struct Law { tgiSoftLaw law; tgReal zeta[3]; } Law;

// x: s, n, u; the force
static tgStatus law_map(void *ctx, const tgReal *x, tgReal *y) {
  const Law *l = ctx;
  tgiSoftForce f;
  tgi_soft_force(&l->law, x[0], x + 1, x + 4, &f);
  tgi_v3_copy(y, f.lambda);
  return TG_OK;
}

// both sides of contact and of closing, and beyond where dissipation ends
static void test_law(void **state) {
  (void)state;
  static const double height[] = {-0.05, -1e-4, 0, 1e-4, 0.02, 1}, speed[] = {-2, -1e-3, 0.1, 0.59, 0.7};
  for (int i = 0; i < 60; i++) {
    tgtRandom r = {.s = (uint64_t)i};
    Law l = {.law = {.k = 500, .eps = 0.003, .v_d = 0.3, .v_s = 0.1, .mu = 0.8, .paper = i >= 30}};
    tgReal x[7] = {height[i % 6]}, D[21], Ds[3], Du[9];
    for (int k = 0; k < 3; k++) x[1 + k] = tgt_normal(&r), l.zeta[k] = tgt_normal(&r);
    tgi_v3_unit(x + 1, x + 1);
    for (int k = 0; k < 3; k++) x[4 + k] = tgt_normal(&r);
    tgReal un = tgi_v3_dot(x + 4, x + 1);
    for (int k = 0; k < 3; k++) x[4 + k] += (speed[i % 5] - un) * x[1 + k];
    tgiSoftForce f;
    tgi_soft_force(&l.law, x[0], x + 1, x + 4, &f);
    tgi_soft_force_d(&l.law, &f, x + 1, Ds, Du);
    tgiSoftBar bar;
    tgiSoftLawBar law = {.k = 0};
    tgi_soft_force_vjp(&l.law, &f, x[0], x + 1, x + 4, l.zeta, 1, &bar, &law);
    for (int k = 0; k < 3; k++) {
      D[7 * k] = Ds[k];
      for (int j = 0; j < 3; j++) D[7 * k + 4 + j] = Du[3 * k + j];
    }
    // derivatives in n are the adjoint's alone
    for (int k = 0; k < 3; k++)
      for (int j = 0; j < 3; j++) {
        tgReal e[3] = {0};
        tgiSoftBar row;
        tgiSoftLawBar none = {.k = 0};
        e[k] = 1;
        tgi_soft_force_vjp(&l.law, &f, x[0], x + 1, x + 4, e, 1, &row, &none);
        D[7 * k + 1 + j] = row.n[j];
        check_true(fabs(tgRe(row.u[j] - Du[3 * k + j])) <= 1e-10 * (1 + fabs(tgRe(Du[3 * k + j]))), "speed %d %d", k, j);
        check_true(fabs(tgRe(row.s - Ds[k])) <= 1e-10 * (1 + fabs(tgRe(Ds[k]))), "height %d", k);
      }
    tgtDeriv d = {.name = "law", .nx = 7, .ny = 3, .map = law_map, .ctx = &l, .tol = tolerance, .step = 1e-5};
    tgt_check_jacobian(&d, x, D);
  }
}

// ---- balance ----

static void test_balance(void **state) {
  (void)state;
  for (int trial = 0; trial < TRIALS * 4; trial++) {
    Case c;
    tgtRandom r = {.s = (uint64_t)(200 + trial)};
    make_case(&c, &r, false, trial % 4, trial % 3 == 0 ? 0.05 : -0.02);
    tgPairTerm f;
    tgi_soft_pair_plain(&c.p, false, c.work, &f);
    for (int i = 0; i < 6; i++)
      check_true(fabs(tgRe(f.w[i] + f.w[6 + i])) <= 1e-12 * fabs(tgRe(f.w[i])), "wrench %d: %g and %g", i, tgRe(f.w[i]), tgRe(f.w[6 + i]));
    assert_true(tgRe(tgi_v3_dot(f.w + 3, f.w + 3)) > 0);
    // the publication's lever leaves a moment where points do not lie on the line of the force, and no force
    c.p.law.paper = true;
    tgi_soft_pair_plain(&c.p, false, c.work, &f);
    for (int i = 3; i < 6; i++) check_true(fabs(tgRe(f.w[i] + f.w[6 + i])) <= 1e-12 * fabs(tgRe(f.w[i])), "force %d", i);
    free_case(&c);
  }
}

// one point over a plane at height s, sliding with u: lambda of the law, whatever the other points do far above
static void test_plane(void **state) {
  (void)state;
  tgReal p[6] = {0, 0, 0, 0, 0, 1}, n[6] = {0, 0, -1, 0, 0, 1}, origin[3] = {0}, up[3] = {0, 0, 1},
         x[3] = {0.3, -0.2, -0.004}, R[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1}, V[6] = {0}, U[6] = {0, 0, 0, 0.2, 0.1, -0.06},
         work[4];
  tgiSoftPair pair = {.law = {.k = 1000, .eps = 0.002, .v_d = 0.3, .v_s = 0.1, .mu = 0.5}, .eps2 = 1e-3};
  pair.side[0] = (tgiSoftSide){.surface = {.n = 1, .p = origin, .normal = up, .eps1 = 1}, .x = origin, .R = R, .V = V, .flat = true};
  pair.side[1] = (tgiSoftSide){.surface = {.n = 2, .p = p, .normal = n, .eps1 = 1}, .x = x, .R = R, .V = U};
  tgPairTerm f;
  assert_true(fabs(tgi_soft_pair_plain(&pair, false, work, &f) + 0.004) < 1e-15);
  double normal = 1000 * 0.002 * log1p(exp(2)) * (1 + 0.06 / 0.3), slide = hypot(0.2, 0.1),
         friction = 0.5 * normal * slide / hypot(slide, 0.1);
  check_true(fabs(tgRe(f.w[11]) - normal) < 1e-12 * normal, "normal force %.15g, wanted %.15g", tgRe(f.w[11]), normal);
  check_true(fabs(tgRe(f.w[9]) + friction * 0.2 / slide) < 1e-12 * friction, "friction %.15g", tgRe(f.w[9]));
  // moment about the world origin of a force at (0.3, -0.2, -0.004)
  double moment = 0.3 * -friction * 0.1 / slide + 0.2 * -friction * 0.2 / slide;
  check_true(fabs(tgRe(f.w[8]) - moment) < 1e-12, "moment %.15g, wanted %.15g", tgRe(f.w[8]), moment);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_law), cmocka_unit_test(test_point),
                                     cmocka_unit_test(test_motion), cmocka_unit_test(test_numbers),
                                     cmocka_unit_test(test_balance), cmocka_unit_test(test_plane)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
