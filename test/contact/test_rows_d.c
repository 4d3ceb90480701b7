// test_rows_d.c: the derivatives of constraint rows, apart from the step: d(J u)/dq, dgap/dq and d(J' f)/dq by complex step (Ridders in
// the real build), their adjoints by the dot test. On trees that meet every kind of row, at random states and at singular ones.
#include <stdlib.h>
#include <string.h>

#include "contact/zoo.h"
#include "step/impulse.h"
#include "sim/row.h"

#ifdef TG_COMPLEX
static const double tolerance = 1e-11;
#else
static const double tolerance = 1e-6;
#endif

enum { ROWS = 64, STATES = 6 };

typedef struct Ctx { tgSim *s; int nrow; const tgReal *u, *f, *wrench; } Ctx;

static void retract(void *ctx, const tgReal *x, const tgReal *d, tgReal *out) {
  tg_model_integrate(((Ctx *)ctx)->s->model, x, d, out);
}
static tgStatus rows_at(Ctx *c, const tgReal *x) {
  tgStatus status = tgt_zoo_rows(c->s, x);
  // the rows at a neighbour are those of the nominal state
  return status == TG_OK && c->s->nrow != c->nrow ? TG_ERR_INVALID : status;
}
static tgStatus speed_map(void *ctx, const tgReal *x, tgReal *y) {
  Ctx *c = ctx;
  TG_TRY(rows_at(c, x));
  for (int i = 0; i < c->nrow; i++) {
    y[i] = tgi_row_dot(c->s, c->s->rows->J, i, c->u);
  }
  return TG_OK;
}
static tgStatus gap_map(void *ctx, const tgReal *x, tgReal *y) {
  Ctx *c = ctx;
  TG_TRY(rows_at(c, x));
  for (int i = 0; i < c->nrow; i++) y[i] = c->s->rows->gap[i];
  return TG_OK;
}
// J' f less what the wrenches of the nominal state give, held fixed in the world
static tgStatus force_map(void *ctx, const tgReal *x, tgReal *y) {
  Ctx *c = ctx;
  const tgModel *m = &c->s->m;
  TG_TRY(rows_at(c, x));
  for (int d = 0; d < m->nv; d++) y[d] = 0;
  for (int i = 0; i < c->nrow; i++) tgi_row_add(c->s, c->s->rows->J, i, c->f[i], y);
  for (int b = 1; b < m->nbody; b++) tgi_add_row(c->s, &c->s->start, b, c->wrench + 6 * b, -1, y);
  return TG_OK;
}

typedef struct Seen { int contact, tangent, spin, roll, limit, ball, tendon, friction, weld, connect, joint; } Seen;
static void count(const tgSim *s, Seen *k) {
  for (int i = 0; i < s->nrow; i++) {
    int owner = s->rows->owner[i], part = s->rows->part[i];
    bool limit = s->rows->kind[i] == TG_ROW_LIMIT, equality = s->rows->kind[i] == TG_ROW_EQUALITY;
    k->contact += s->rows->kind[i] == TG_ROW_NORMAL;
    k->tangent += s->rows->kind[i] == TG_ROW_TANGENT && part < 3;
    k->spin += s->rows->kind[i] == TG_ROW_TANGENT && part == 3;
    k->roll += s->rows->kind[i] == TG_ROW_TANGENT && part > 3;
    k->ball += limit && part < 2 && s->m.jnt_type[owner] == TG_JOINT_BALL;
    k->limit += limit && part < 2 && s->m.jnt_type[owner] != TG_JOINT_BALL;
    k->tendon += limit && part >= 2;
    k->friction += s->rows->kind[i] == TG_ROW_FRICTION;
    k->weld += equality && s->m.eq_type[owner] == TG_EQ_WELD;
    k->connect += equality && s->m.eq_type[owner] == TG_EQ_CONNECT;
    k->joint += equality && s->m.eq_type[owner] == TG_EQ_JOINT;
  }
}

// of each row that pushes, by itself, what u gives to its speed along u; D: d(J u)/dq of all rows
static void check_bends(tgSim *s, const tgReal *u, const tgReal *D, const char *name) {
  for (int i = 0; i < s->nrow; i++) {
    tgReal rate, expected = 0, size = 0;
    if (!tgi_row_pushes(s, i)) continue;
    for (int d = 0; d < s->m.nv; d++) {
      tgReal x = D[i * s->m.nv + d] * u[d];
      expected += x;
      size += fabs(tgRe(x));
    }
    assert_true(tgi_row_bend(s, &s->start, i, u, &rate));
    check_true(fabs(tgRe(rate - expected)) <= 1e-12 * (1 + tgRe(size)), "%s: row %d bends by %g, not %g", name, i, tgRe(rate),
               tgRe(expected));
  }
}

// all six functions at the present state; the work arrays hold ROWS rows
static void check_rows(tgSim *s, const char *name, tgtRandom *r, Seen *seen) {
  const tgModel *m = &s->m;
  int nv = m->nv, n;
  tgReal *D = malloc(sizeof(tgReal) * ROWS * (size_t)nv), *q = malloc(sizeof(tgReal) * (size_t)m->nq),
         *wrench = malloc(sizeof(tgReal) * 6 * (size_t)m->nbody);
  tgReal u[TGT_ZOO_NV], v[TGT_ZOO_NV], g[TGT_ZOO_NV], f[ROWS], y[ROWS], F[TGT_ZOO_NV * TGT_ZOO_NV];
  memcpy(q, s->qpos, sizeof(tgReal) * (size_t)m->nq);
  s->h = 0.004;
  for (int d = 0; d < nv; d++) s->vhat[d] = 0;
  check_true(tgt_zoo_rows(s, q) == TG_OK, "%s: %s", name, s->error.text);
  n = s->nrow;
  assert_true(n <= ROWS);
  count(s, seen);
  tgt_random_vector(r, nv, u);
  tgt_random_vector(r, nv, v);
  tgt_random_vector(r, n, f);
  tgt_random_vector(r, n, y);
  Ctx c = {.s = s, .nrow = n, .u = u, .f = f, .wrench = wrench};
  tgtDeriv d = {.name = name, .nx = m->nq, .nt = nv, .ny = n, .map = speed_map, .retract = retract, .ctx = &c,
                .tol = tolerance, .step = 1e-4};

  const tgiPlaces *to = tgi_places_dense(s);
  int at[ROWS];
  for (int i = 0; i < n; i++) at[i] = i * nv;
  memset(D, 0, sizeof(tgReal) * (size_t)(n * nv));
  assert_int_equal(tgi_rows_jacobian(s, &s->start, u, NULL, to, at, D), TG_OK);
  tgt_check_jacobian(&d, q, D);
  tgt_zoo_rows(s, q);
  // the adjoints add to what is there
  for (int i = 0; i < nv; i++) g[i] = i;
  tgi_rows_vjp(s, &s->start, y, u, g, NULL);
  for (int i = 0; i < nv; i++) g[i] -= i;
  tgt_check_adjoint(D, n, nv, y, v, g);
  check_bends(s, u, D, name);

  memset(D, 0, sizeof(tgReal) * (size_t)(n * nv));
  assert_int_equal(tgi_rows_gap_jacobian(s, &s->start, NULL, tgi_places_dense(s), at, D), TG_OK);
  d.map = gap_map;
  tgt_check_jacobian(&d, q, D);
  tgt_zoo_rows(s, q);
  for (int i = 0; i < nv; i++) g[i] = i;
  tgi_rows_gap_vjp(s, &s->start, y, g, NULL);
  for (int i = 0; i < nv; i++) g[i] -= i;
  tgt_check_adjoint(D, n, nv, y, v, g);

  // a sum of both, and of a product with another velocity
  assert_int_equal(tgi_rows_jacobian(s, &s->start, u, NULL, to, at, D), TG_OK);
  assert_int_equal(tgi_rows_jacobian(s, &s->start, v, NULL, to, at, D), TG_OK);
  for (int i = 0; i < nv; i++) g[i] = i;
  tgi_rows_sum_vjp(s, &s->start, 2, (tgiRowProduct[]){{y, u}, {y, v}}, y, NULL, g, NULL);
  for (int i = 0; i < nv; i++) g[i] -= i;
  tgt_check_adjoint(D, n, nv, y, v, g);

  tgi_rows_wrench(s, &s->start, f, wrench);
  for (int i = 0; i < nv * nv; i++) F[i] = i;
  tgi_rows_force_jacobian(s, &s->start, f, tgi_places_dense(s), F);
  for (int i = 0; i < nv * nv; i++) F[i] -= i;
  d.map = force_map;
  d.ny = nv;
  tgt_check_jacobian(&d, q, F);
  free(D);
  free(q);
  free(wrench);
}

// random states, and the drawn pose, where angles and errors of equalities are zero
static void test_random(void **state) {
  (void)state;
  Seen seen = {0};
  for (int pair = 0; pair < TGT_ZOO_PAIRS; pair++) {
    int before = seen.contact;
    for (int k = 0; k < STATES; k++) {
      char name[64];
      snprintf(name, sizeof name, "pair %d state %d", pair, k);
      tgtZoo z = tgt_zoo(pair, (uint64_t)k, NULL, 0);
      tgtRandom r = {.s = 1000u * (unsigned)pair + (unsigned)k};
      tgt_zoo_state(&z, &r, k % 3 == 2, k % 2 == 0 ? 0.7 : 0.05, 0.01);
      check_rows(z.s, name, &r, &seen);
      tgt_zoo_free(&z);
    }
    check_true(seen.contact - before >= STATES, "pair %d: %d contacts in %d states", pair, seen.contact - before, STATES);
  }
  print_message("rows met: %d normals, %d tangents, %d torsional, %d rolling, limits of %d scalar joints, %d balls, %d tendons, "
                "%d dry friction, rows of weld %d, connect %d, joint %d\n", seen.contact, seen.tangent, seen.spin, seen.roll, seen.limit,
                seen.ball, seen.tendon, seen.friction, seen.weld, seen.connect, seen.joint);
  assert_true(seen.tangent == 2 * seen.contact);
  assert_true(seen.spin > 40 && seen.roll > 40);
  assert_true(seen.limit > 40 && seen.ball > 20 && seen.tendon > 20 && seen.friction > 40);
  assert_true(seen.weld == 6 * TGT_ZOO_PAIRS * STATES && seen.connect == seen.weld && seen.joint == seen.weld / 3);
}

// connects and welds whose anchors are about that far apart
static void test_errors(void **state) {
  (void)state;
  static const double error[] = {1e-5, 1e-3, 1e-1};
  Seen seen = {0};
  for (int k = 0; k < 12; k++) {
    tgtZoo z = tgt_zoo(k, (uint64_t)k + 7, NULL, 0);
    tgtRandom r = {.s = 50u + (unsigned)k};
    tgt_zoo_state(&z, &r, false, error[k % 3], 0.01);
    check_rows(z.s, "error", &r, &seen);
    tgt_zoo_free(&z);
  }
  assert_true(seen.weld == 72 && seen.connect == 72);
}

// turns of a ball joint just above zero, up to and beyond a half turn, and the same between the bodies of a weld: the rotation vector
// near zero comes from its series, and from beyond a half turn from the other sheet of the quaternion
static void test_turns(void **state) {
  (void)state;
  static const double angle[] = {0.02001, 0.5, 3.0, 3.1415, 3.2, 6.2};
  Seen seen = {0};
  tgtZoo z = tgt_zoo(4, 1, NULL, 0);
  const tgModel *m = z.m;
  for (size_t k = 0; k < sizeof angle / sizeof *angle; k++)
    for (int j = 0; j < m->njnt; j++) {
      if (m->jnt_type[j] != TG_JOINT_BALL || !m->jnt_limited[j]) continue;
      tgtRandom r = {.s = k};
      double axis[3];
      tgReal w[TGT_ZOO_NV] = {0};
      tgt_zoo_state(&z, &r, true, 0, 0.01);
      tgt_zoo_unit(&r, axis, 3);
      for (int i = 0; i < 3; i++) w[m->jnt_vadr[j] + i] = angle[k] * axis[i];
      tg_model_integrate(m, z.s->qpos, w, z.s->qpos);
      check_rows(z.s, "turn", &r, &seen);
    }
  assert_true(seen.ball >= (int)(sizeof angle / sizeof *angle) && seen.weld > 0);
  tgt_zoo_free(&z);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_random), cmocka_unit_test(test_errors), cmocka_unit_test(test_turns)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
