// test_contacts_d.c: the derivative of every contact of a sim in the twists of its two geoms, through the broad phase and the memory;
// tangents of a normal, at random normals and at those where their axis changes.
#include <stdlib.h>
#include <string.h>

#include "contact/zoo.h"
#include "math/quat.h"

#ifdef TG_COMPLEX
static const double tolerance = 1e-11;
#else
static const double tolerance = 1e-6;
#endif

typedef struct Ctx { tgSim *s; const tgReal *q; int ncon; } Ctx;

// x: twists of geoms 0 and 1 in world axes at the world origin, the turn before the shift; y: p, n, gap of every contact
static tgStatus features_map(void *ctx, const tgReal *x, tgReal *y) {
  Ctx *c = ctx;
  tgSim *s = c->s;
  tgi_kinematics(&s->m, c->q, &s->start);
  for (int g = 0; g < 2; g++) {
    tgReal w[3], quat[4], R[9], M[9], p[3];
    for (int i = 0; i < 3; i++) w[i] = x[6 * g + i];
    tgi_quat_exp(quat, w);
    tgi_quat_to_mat(R, quat);
    tgi_m3_mul(M, R, s->start.geom_xmat + 9 * g);
    tgi_m3_copy(s->start.geom_xmat + 9 * g, M);
    tgi_m3_mulv(p, R, s->start.geom_xpos + 3 * g);
    tgi_v3_add(s->start.geom_xpos + 3 * g, p, x + 6 * g + 3);
  }
  tgStatus status = tgi_contacts(s, &s->start, NULL);
  if (status != TG_OK) return status;
  if (s->ncon != c->ncon) return TG_ERR_INVALID;
  for (int k = 0; k < s->ncon; k++)
    for (int i = 0; i < 7; i++) y[7 * k + i] = i < 3 ? s->contact[k].p[i] : i < 6 ? s->contact[k].n[i - 3] : s->contact[k].gap;
  return TG_OK;
}

static void test_features(void **state) {
  (void)state;
  for (int pair = 0; pair < TGT_ZOO_PAIRS; pair++)
    for (int k = 0; k < 12; k++) {
      char name[64];
      snprintf(name, sizeof name, "pair %d state %d", pair, k);
      tgtZoo z = tgt_zoo(pair, (uint64_t)k, NULL, 0);
      tgSim *s = z.s;
      tgtRandom r = {.s = 500u * (unsigned)pair + (unsigned)k};
      tgt_zoo_state(&z, &r, k % 3 == 2, 0.7, k % 2 == 0 ? 0.01 : 1e-4);
      s->h = 0.004;
      for (int d = 0; d < z.m->nv; d++) s->vhat[d] = 0;
      check_true(tgt_zoo_rows(s, s->qpos) == TG_OK, "%s", s->error.text);
      // with the memory of this pose, as in the middle of a roll-out
      if (k % 4 > 1) {
        for (int i = 0; i < s->nrow; i++) s->rows->class[i] = 0;
        tgi_contacts_remember(s);
        assert_int_equal(tgt_zoo_rows(s, s->qpos), TG_OK);
      }
      int n = s->ncon, active = 0;
      for (int i = 0; i < n; i++) active += s->contact[i].row >= 0;
      check_true(active > 0, "%s: no contact", name);
      tgReal *D = malloc(sizeof(tgReal) * 7 * 12 * (size_t)n), x[12] = {0};
      for (int i = 0; i < n; i++) s->contact[i].D[0][0] = 1e30;
      tgi_contacts_d(s, &s->start);
      for (int i = 0; i < n; i++)
        for (int row = 0; row < 7; row++)
          for (int j = 0; j < 12; j++) {
            int side = (j < 6) == (s->contact[i].geom1 == 0) ? 0 : 6;
            D[(7 * i + row) * 12 + j] = s->contact[i].D[row][side + j % 6];
          }
      Ctx c = {.s = s, .q = s->qpos, .ncon = n};
      tgtDeriv d = {.name = name, .nx = 12, .ny = 7 * n, .map = features_map, .ctx = &c, .tol = tolerance, .step = 1e-5};
      tgt_check_jacobian(&d, x, D);
      free(D);
      tgt_zoo_free(&z);
    }
}

// sizes (a mesh's scale) of geoms 0 and 1 as the sim holds them
static tgReal *sizes(tgSim *s, int g) {
  return tg_sim_param(s, s->m.geom_type[g] == TG_GEOM_MESH ? "geom_scale" : "geom_size", NULL, NULL) + 3 * g;
}
static tgStatus sizes_map(void *ctx, const tgReal *x, tgReal *y) {
  Ctx *c = ctx;
  tgSim *s = c->s;
  for (int k = 0; k < 6; k++) sizes(s, k / 3)[k % 3] = x[k];
  tgStatus status = tgi_contacts(s, &s->start, NULL);
  if (status != TG_OK) return status;
  if (s->ncon != c->ncon) return TG_ERR_INVALID;
  for (int k = 0; k < s->ncon; k++)
    for (int i = 0; i < 7; i++) y[7 * k + i] = i < 3 ? s->contact[k].p[i] : i < 6 ? s->contact[k].n[i - 3] : s->contact[k].gap;
  return TG_OK;
}

// the sizes that a sim holds act, and Ds is their derivative
static void test_sizes(void **state) {
  (void)state;
  for (int pair = 0; pair < TGT_ZOO_PAIRS; pair++)
    for (int k = 0; k < 6; k++) {
      char name[64];
      snprintf(name, sizeof name, "sizes of pair %d state %d", pair, k);
      tgtZoo z = tgt_zoo(pair, (uint64_t)k, NULL, 0);
      tgSim *s = z.s;
      tgtRandom r = {.s = 700u * (unsigned)pair + (unsigned)k};
      tgt_zoo_state(&z, &r, false, 0.7, 0.01);
      tgReal x[6], D[7 * TG_PAIR_POINTS * 6];
      for (int i = 0; i < 6; i++) {
        tgReal *size = sizes(s, i / 3) + i % 3;
        if (s->m.geom_type[i / 3] == TG_GEOM_MESH) *size = 1 + 1e-3 * (i + 1);  // overlapping still
        x[i] = *size;
      }
      tgi_kinematics(&s->m, s->qpos, &s->start);
      assert_int_equal(tgi_contacts(s, &s->start, NULL), TG_OK);
      tgContactPoint point[TG_PAIR_POINTS];
      int n = s->ncon, swapped = n > 0 && s->contact[0].geom1 == 1;
      check_true(n > 0, "%s: no contact", name);
      assert_int_equal(tgi_contacts_pair_d(s, &s->start, 0, TG_COLLIDE_SIZE, point), n);
      for (int i = 0; i < n; i++)
        for (int row = 0; row < 7; row++)
          for (int j = 0; j < 6; j++) D[(7 * i + row) * 6 + j] = point[i].Ds[row][swapped ? (j + 3) % 6 : j];
      Ctx c = {.s = s, .q = s->qpos, .ncon = n};
      tgtDeriv d = {.name = name, .nx = 6, .ny = 7 * n, .map = sizes_map, .ctx = &c, .tol = tolerance, .step = 1e-5};
      tgt_check_jacobian(&d, x, D);
      sizes(s, 0)[0] = -1;
      if (s->m.geom_type[0] != TG_GEOM_PLANE) {
        assert_int_equal(tgi_contacts(s, &s->start, NULL), TG_ERR_INVALID);
        check_true(strstr(s->error.text, "has to be positive") != NULL, "%s", s->error.text);
      }
      tgt_zoo_free(&z);
    }
}

// a geom that grows is found by the broad phase
static void test_grown(void **state) {
  (void)state;
  tgtZoo z = tgt_zoo(4, 0, NULL, 0);
  tgtRandom r = {.s = 1};
  tgt_zoo_state(&z, &r, false, 0.7, -0.05);            // two spheres, 0.05 apart
  tgi_kinematics(&z.s->m, z.s->qpos, &z.s->start);
  assert_int_equal(tgi_contacts(z.s, &z.s->start, NULL), TG_OK);
  assert_int_equal(z.s->ncon, 0);
  sizes(z.s, 0)[0] += 0.06;
  assert_int_equal(tgi_contacts(z.s, &z.s->start, NULL), TG_OK);
  assert_int_equal(z.s->ncon, 1);
  tgt_zoo_free(&z);
}

// contacts without rows are left alone, and a second call does no work
static void test_once(void **state) {
  (void)state;
  tgtZoo z = tgt_zoo(4, 3, NULL, 0);
  tgtRandom r = {.s = 5};
  tgt_zoo_state(&z, &r, false, 0.7, -5e-4);
  z.s->h = 0.004;
  assert_int_equal(tgt_zoo_rows(z.s, z.s->qpos), TG_OK);
  assert_int_equal(z.s->ncon, 1);
  assert_int_equal(z.s->contact[0].row, -1);
  z.s->contact[0].D[2][3] = 17;
  tgi_contacts_d(z.s, &z.s->start);
  check_close(z.s->contact[0].D[2][3], 17, 0);
  tgt_zoo_state(&z, &r, false, 0.7, 5e-4);
  assert_int_equal(tgt_zoo_rows(z.s, z.s->qpos), TG_OK);
  assert_true(z.s->contact[0].row >= 0);
  tgi_contacts_d(z.s, &z.s->start);
  z.s->contact[0].D[2][3] = 17;
  tgi_contacts_d(z.s, &z.s->start);
  check_close(z.s->contact[0].D[2][3], 17, 0);
  tgt_zoo_free(&z);
}

static tgStatus tangents_map(void *ctx, const tgReal *x, tgReal *y) {
  tgi_tangents(x, *(const int *)ctx, y, y + 3);
  return TG_OK;
}

static void test_tangents(void **state) {
  (void)state;
  tgtRandom r = {.s = 3};
  for (int k = 0; k < 300; k++) {
    tgContactRow c = {.axis = k % 3};
    double n[3];
    tgt_zoo_unit(&r, n, 3);
    // normals along an axis: across it, the singular one is its own axis, which contacts never choose (|k.n| < 0.95)
    if (k % 10 == 0)
      for (int i = 0; i < 3; i++) n[i] = i == (c.axis + 1) % 3 ? (k % 20 == 0 ? 1 : -1) : 0;
    if (k % 10 == 1) {
      n[c.axis] = k % 20 == 1 ? 0.95 : -0.95;
      double rest = sqrt(1 - 0.95 * 0.95) / hypot(n[(c.axis + 1) % 3], n[(c.axis + 2) % 3]);
      n[(c.axis + 1) % 3] *= rest;
      n[(c.axis + 2) % 3] *= rest;
    }
    if (fabs(n[c.axis]) > 0.96) continue;
    for (int i = 0; i < 3; i++) c.n[i] = n[i];
    tgi_tangents(c.n, c.axis, c.t1, c.t2);
    // n, t1, t2 are a right-handed frame
    tgReal x[3];
    tgi_v3_cross(x, c.t1, c.t2);
    for (int i = 0; i < 3; i++) check_close(x[i], c.n[i], 1e-14);
    check_true(tgRe(c.t1[c.axis]) > 0, "t1 points away from its axis");

    tgReal D[18], w[6], v[3], g[3] = {1, 2, 3};
    for (int j = 0; j < 3; j++) {
      tgReal e[3] = {j == 0, j == 1, j == 2}, d1[3], d2[3];
      tgi_tangents_d(&c, e, d1, d2);
      for (int i = 0; i < 3; i++) {
        D[3 * i + j] = d1[i];
        D[3 * (3 + i) + j] = d2[i];
      }
    }
    tgtDeriv d = {.name = "tangents", .nx = 3, .ny = 6, .map = tangents_map, .ctx = &c.axis, .tol = tolerance};
    tgt_check_jacobian(&d, c.n, D);
    tgt_random_vector(&r, 6, w);
    tgt_random_vector(&r, 3, v);
    tgi_tangents_vjp(&c, w, w + 3, g);
    for (int i = 0; i < 3; i++) g[i] -= i + 1;
    tgt_check_adjoint(D, 6, 3, w, v, g);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_features), cmocka_unit_test(test_sizes), cmocka_unit_test(test_grown),
                                     cmocka_unit_test(test_once), cmocka_unit_test(test_tangents)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
