// test_soft_field.c: separation field and distribution, soft distance, vertex weights and soft contact points of pairs
// of geoms: definitions, limits, derivatives in the twists of both, at random poses and where faces lie on each other.
#include "coll/clouds/soft_field.h"

#include <stdlib.h>
#include <string.h>

#include "math/quat.h"
#include "support/deriv.h"

#ifdef TG_COMPLEX
static const double tolerance = 1e-9;
#else
static const double tolerance = 2e-6;
#endif

typedef struct Pair { tgCloud cloud[2]; tgiSoftCloud soft[2]; tgReal x[2][3], R[2][9]; void *work; double eps2, spacing; } Pair;

static void start(Pair *p, tgGeomType a, const double *sa, tgGeomType b, const double *sb, double spacing) {
  memset(p, 0, sizeof *p);
  p->spacing = spacing;
  p->eps2 = spacing / 10;
  assert_int_equal(tgi_cloud_primitive(a, sa, spacing, NULL, &p->cloud[0], NULL), TG_OK);
  assert_int_equal(tgi_cloud_primitive(b, sb, b == TG_GEOM_PLANE ? 1 : spacing, NULL, &p->cloud[1], NULL), TG_OK);
  p->work = aligned_alloc(64, (tgi_soft_points_work(&p->cloud[0], &p->cloud[1]) + 63) / 64 * 64);
  assert_non_null(p->work);
  for (int k = 0; k < 2; k++) {
    tgCloud *c = &p->cloud[k];
    tgi_m3_identity(p->R[k]);
    p->soft[k] = (tgiSoftCloud){c, c->p, c->normal, c->vert, p->x[k], p->R[k], c->spacing * c->spacing};
  }
}
static void end(Pair *p) {
  tgi_cloud_free(&p->cloud[0]);
  tgi_cloud_free(&p->cloud[1]);
  free(p->work);
}

static void turn(tgtRandom *r, double by, tgReal R[9]) {
  tgReal q[4], w[3] = {by * tgt_normal(r), by * tgt_normal(r), by * tgt_normal(r)};
  tgi_quat_exp(q, w);
  tgi_quat_to_mat(R, q);
}

// poses of both moved by twists (angular; linear) at the world origin: turned, then shifted
static Pair moved(const Pair *p, const tgReal xi[12]) {
  Pair q = *p;
  for (int k = 0; k < 2; k++) {
    tgReal quat[4], M[9];
    tgi_quat_exp(quat, xi + 6 * k);
    tgi_quat_to_mat(M, quat);
    tgi_m3_mul(q.R[k], M, p->R[k]);
    tgi_m3_mulv(q.x[k], M, p->x[k]);
    tgi_v3_add(q.x[k], q.x[k], xi + 6 * k + 3);
  }
  return q;
}
static void rebind(Pair *p) {
  for (int k = 0; k < 2; k++) {
    p->soft[k].x = p->x[k];
    p->soft[k].R = p->R[k];
  }
}

static tgStatus points_map(void *ctx, const tgReal *xi, tgReal *y) {
  Pair p = moved(ctx, xi);
  tgContactPoint out[TG_PAIR_POINTS];
  rebind(&p);
  int n = tgi_soft_points(&p.soft[0], &p.soft[1], p.eps2, INFINITY, false, p.work, out);
  if (n < 0) return TG_ERR_INVALID;
  for (int i = 0; i < n; i++)
    for (int k = 0; k < 7; k++) y[7 * i + k] = k < 3 ? out[i].p[k] : k < 6 ? out[i].n[k - 3] : out[i].gap;
  return TG_OK;
}

static void check_points(Pair *p) {
  tgContactPoint out[TG_PAIR_POINTS];
  tgReal D[7 * TG_PAIR_POINTS * 12], xi[12] = {0};
  int n = tgi_soft_points(&p->soft[0], &p->soft[1], p->eps2, INFINITY, true, p->work, out);
  assert_int_equal(n, p->cloud[1].flat ? 4 : 8);
  for (int i = 0; i < n; i++) memcpy(D + 84 * i, out[i].D, sizeof out[i].D);
  // places, normals and gaps apart
  int rows[24];
  for (int i = 0; i < n; i++) {
    rows[3 * i] = rows[3 * i + 1] = 3;
    rows[3 * i + 2] = 1;
  }
  tgtDeriv d = {.name = "soft contact points", .nx = 12, .ny = 7 * n, .map = points_map, .ctx = p, .tol = tolerance,
                .step = 0.1 * p->eps2, .rows = rows, .nrows = 3 * n};
  tgt_check_jacobian(&d, xi, D);
}

static const double box[3] = {0.1, 0.08, 0.05}, ball[3] = {0.06, 0, 0}, capsule[3] = {0.04, 0.07, 0}, plane[3] = {0, 0, 0};

static void test_random(void **state) {
  (void)state;
  tgtRandom r = {.s = 51};
  const struct { tgGeomType a; const double *sa; tgGeomType b; const double *sb; } pair[] = {
      {TG_GEOM_BOX, box, TG_GEOM_SPHERE, ball}, {TG_GEOM_BOX, box, TG_GEOM_BOX, box}, {TG_GEOM_CAPSULE, capsule, TG_GEOM_PLANE, plane}};
  for (int k = 0; k < 3; k++) {
    Pair p;
    start(&p, pair[k].a, pair[k].sa, pair[k].b, pair[k].sb, 0.03);
    for (int i = 0; i < 3; i++) {
      turn(&r, 1, p.R[0]);
      if (k < 2) turn(&r, 1, p.R[1]);
      for (int c = 0; c < 3; c++) p.x[0][c] = tgt_uniform(&r, -0.05, 0.05) + (c == 2) * 0.13;
      rebind(&p);
      check_points(&p);
    }
    end(&p);
  }
}

// a box on a plane, on a box, across another's edge: many scores are equal; its four points are near the corners of the common patch
static void test_faces(void **state) {
  (void)state;
  Pair p;
  tgContactPoint out[TG_PAIR_POINTS];
  start(&p, TG_GEOM_BOX, box, TG_GEOM_PLANE, plane, 0.02);
  p.x[0][2] = box[2] - 1e-4;
  rebind(&p);
  check_points(&p);
  assert_int_equal(tgi_soft_points(&p.soft[0], &p.soft[1], p.eps2, 1e-3, false, p.work, out), 4);
  int quadrants = 0;
  for (int i = 0; i < 4; i++) {
    check_close(out[i].gap, -1e-4, 2e-4);
    check_close(out[i].n[2], 1, 1e-12);
    check_true(fabs(tgRe(out[i].p[0])) > 0.6 * box[0] && fabs(tgRe(out[i].p[1])) > 0.6 * box[1], "at %g %g",
               tgRe(out[i].p[0]), tgRe(out[i].p[1]));
    quadrants |= 1 << (2 * (tgRe(out[i].p[0]) > 0) + (tgRe(out[i].p[1]) > 0));
  }
  assert_int_equal(quadrants, 15);
  assert_int_equal(tgi_soft_points(&p.soft[0], &p.soft[1], p.eps2, -1, false, p.work, out), 0);
  end(&p);
  start(&p, TG_GEOM_BOX, box, TG_GEOM_BOX, box, 0.04);
  for (int k = 0; k < 2; k++) {
    tgi_v3_set(p.x[0], k * 0.1, 0, 2 * box[2] + 1e-3);
    rebind(&p);
    check_points(&p);
  }
  end(&p);
}

typedef struct Fields { Pair *p; int n; } Fields;
// soft distance and vertex weights of both bodies' points in the twist of the first
static tgStatus distance_map(void *ctx, const tgReal *xi, tgReal *y) {
  Fields *f = ctx;
  tgReal all[12] = {0}, *phi = calloc((size_t)f->n, sizeof *phi), *W = calloc((size_t)f->n, sizeof *W);
  assert_true(phi != NULL && W != NULL);
  memcpy(all, xi, 6 * sizeof *xi);
  Pair p = moved(f->p, all);
  rebind(&p);
  tgi_soft_phi(&p.soft[0], &p.soft[1], phi, NULL);
  y[0] = tgi_soft_distribution(f->n, phi, p.eps2, 0, NULL, W, NULL, NULL);
  tgi_soft_vertices(&p.cloud[0], 0, W, NULL, y + 1, NULL);
  free(phi);
  free(W);
  return TG_OK;
}

static void test_distance(void **state) {
  (void)state;
  tgtRandom r = {.s = 52};
  Pair p;
  start(&p, TG_GEOM_SPHERE, ball, TG_GEOM_PLANE, plane, 0.02);
  int n = p.cloud[0].n, nv = p.cloud[0].nvert, rows[2] = {1, nv};
  tgReal *phi = calloc((size_t)n, sizeof *phi), *dphi = calloc(6 * (size_t)n, sizeof *dphi),
         *W = calloc((size_t)n, sizeof *W), *dW = calloc(6 * (size_t)n, sizeof *dW);
  tgReal *D = calloc(6 * ((size_t)nv + 1), sizeof *D), *z = calloc((size_t)nv, sizeof *z);
  assert_true(phi && dphi && W && dW && D && z);
  for (int i = 0; i < 4; i++) {
    double total = 0, least = INFINITY, zs = 0, corners = 0;
    turn(&r, 1, p.R[0]);
    tgi_v3_set(p.x[0], tgt_uniform(&r, -1, 1), tgt_uniform(&r, -1, 1), tgt_uniform(&r, 0.02, 0.1));
    rebind(&p);
    tgi_soft_phi(&p.soft[0], &p.soft[1], phi, dphi);
    tgReal d = tgi_soft_distribution(n, phi, p.eps2, 6, dphi, W, dW, D);
    for (int f = 0; f < n; f++) {
      tgReal y[3];
      tgi_m3_mulv(y, p.R[0], p.cloud[0].p + 3 * f);
      check_close(phi[f], y[2] + p.x[0][2], 1e-15);
      total += tgRe(W[f]);
      least = fmin(least, tgRe(phi[f]));
      corners += tgRe(W[f]) * (p.cloud[0].corner_at[f + 1] - p.cloud[0].corner_at[f]);
    }
    check_close(total, 1, 1e-14);
    check_true(tgRe(d) >= least && tgRe(d) <= least + p.eps2 * log(n), "soft distance %g, least %g", tgRe(d), least);
    tgi_soft_vertices(&p.cloud[0], 6, W, dW, z, D + 6);
    for (int v = 0; v < nv; v++) zs += tgRe(z[v]);
    check_close(zs, corners, 1e-13);
    Fields f = {&p, n};
    tgReal xi[6] = {0};
    tgtDeriv deriv = {.name = "soft distance and vertex weights", .nx = 6, .ny = 1 + nv, .map = distance_map, .ctx = &f, .tol = tolerance,
                      .step = 0.1 * p.eps2, .rows = rows, .nrows = 2};
    tgt_check_jacobian(&deriv, xi, D);
  }
  free(phi);
  free(dphi);
  free(W);
  free(dW);
  free(D);
  free(z);
  end(&p);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_random), cmocka_unit_test(test_faces), cmocka_unit_test(test_distance)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
