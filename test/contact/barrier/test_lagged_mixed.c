// test_lagged_mixed.c: the product of friction's derivatives in the poses at the start of a step with twists, made
// by weights taken back through the sums, against that of the matrix, made by rates along each twist; for any number
// of threads the same bits.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/deriv.h"
#include "tangere/barrier.h"
#include "test/contact/barrier/rubbing.h"

enum { BODIES = 5, NZ = 6 * BODIES };

// bodies move, as in a step, and the terms are those there
static void go(tgSim *s, tgtRandom *r, tgReal Z[NZ]) {
  for (int i = 0; i < s->m.nv; i++) s->qvel[i] = 2e-3 * tgt_normal(r);
  tgReal *q = s->end.q;
  tg_model_integrate(&s->m, s->qpos, s->qvel, q);
  tgi_kinematics(&s->m, q, &s->start);
  assert_int_equal(s->contact_model->kind->law->evaluate(s, &s->start, TG_LAW_ENERGY | TG_LAW_POSE), TG_OK);
  for (int i = 0; i < NZ; i++) Z[i] = tgt_normal(r);
}

static void check_matrix(tgSim *s, uint64_t seed) {
  tgtRandom random = {seed};
  tgReal Z[NZ], out[NZ] = {0}, want[NZ] = {0};
  double most = 0;
  assert_true(s->m.nbody <= BODIES);
  go(s, &random, Z);
  assert_int_equal(tgi_lagged_mixed(s, &s->start), TG_OK);
  for (int t = 0; t < s->nterm; t++) {
    const int body[2] = {s->term[t].body1, s->term[t].body2};
    for (int i = 0; i < 12; i++)
      for (int j = 0; j < 12; j++) want[6 * body[j / 6] + j % 6] += Z[6 * body[i / 6] + i % 6] * s->term[t].B[12 * i + j];
  }
  for (int i = 0; i < NZ; i++) most = fmax(most, fabs(tgRe(want[i])));
  assert_true(most > 0);
  assert_int_equal(tgi_lagged_mixed_vjp(s, &s->start, Z, out), TG_OK);
  for (int i = 0; i < NZ; i++) check_close(out[i], want[i], 1e-11 * most);
}

static void matrix(void **state) {
  (void)state;
  for (int form = TG_HIERARCHY_MOMENT; form <= TG_HIERARCHY_PAPER; form++)
    for (int trial = 0; trial < 3; trial++) {
      Rig r = rubbing((tgHierarchy)form, 1);
      assert_int_equal(r.s->m.nbody, BODIES);
      check_matrix(r.s, (uint64_t)(20 + trial));
      drop(&r);
    }
}

// balls of which a part of the force alone is near, clusters of theirs too: friction goes with that part
static void far_balls(void **state) {
  (void)state;
  for (int form = TG_HIERARCHY_MOMENT; form <= TG_HIERARCHY_PAPER; form++)
    for (int trial = 0; trial < 3; trial++) {
      char scene[400];
      snprintf(scene, sizeof scene,
               "<mujoco><worldbody><body><freejoint/><geom size='.1'/></body><body pos='%g .01 .02'><freejoint/>"
               "<geom size='.08' friction='.4'/></body>"
               "</worldbody></mujoco>", 0.235 + 0.01 * trial);
      tgBarrierOptions o = tg_barrier_default();
      o.hierarchy = (tgHierarchy)form;
      o.geom_form = TG_GEOM_FORM_MESH;
      Rig r = rig_of_text(scene, "barrier", &o.of);
      r.s->h = 0.01;
      tgi_kinematics(&r.s->m, r.s->qpos, &r.s->start);
      check_true(r.s->contact_model->kind->law->begin(r.s, 0.01) == TG_OK, "%s", r.s->error.text);
      const tgiFrictionShare *share = tgi_barrier_work(r.s)->lagged.start.share;
      check_true(tgRe(share->near) > 0 && tgRe(share->near) < 0.5 * tgRe(share->all), "%g of %g near", tgRe(share->near), tgRe(share->all));
      check_matrix(r.s, (uint64_t)(30 + trial));
      drop(&r);
    }
}

static void threads(void **state) {
  (void)state;
  tgReal out[3][NZ];
  for (int n = 1; n <= 3; n++) {
    tgtRandom random = {7};
    Rig r = rubbing(TG_HIERARCHY_MOMENT, n);
    tgReal Z[NZ];
    go(r.s, &random, Z);
    memset(out[n - 1], 0, sizeof out[n - 1]);
    assert_int_equal(tgi_lagged_mixed_vjp(r.s, &r.s->start, Z, out[n - 1]), TG_OK);
    assert_memory_equal(out[n - 1], out[0], sizeof out[0]);
    drop(&r);
  }
}

// one-sided pairs, blends of them and pairs of triangles are all met
static void kinds(void **state) {
  (void)state;
  Rig r = rubbing(TG_HIERARCHY_MOMENT, 1);
  const tgiBarrierWork *w = r.s->solver;
  long points = 0, leaves = 0, blends = 0;
  for (int i = 0; i < tgi_barrier(r.s)->npair; i++) {
    if (tgi_lagged_acting(r.s, &tgi_barrier(r.s)->pair[i]) < 0 || tgi_barrier(r.s)->pair[i].plane) continue;
    points += w->sums.pair[i].count.points;
    leaves += w->sums.pair[i].count.leaves;
    blends += w->sums.pair[i].count.blends;
  }
  print_message("%ld one-sided pairs, %ld of triangles, %ld blends\n", points, leaves, blends);
  assert_true(points > 20 && leaves > 100 && blends > 20);
  drop(&r);
}

// ---- coefficients of pairs of their own ----

enum { BALLS = 3 };

// speeds after a step, by the coefficients
static tgStatus slowed(void *ctx, const tgReal *x, tgReal *y) {
  tgSim *s = ctx;
  tg_sim_reset(s);
  for (int k = 0; k < BALLS; k++) {
    tg_sim_param(s, "pair_friction", NULL, NULL)[2 * k] = x[k];
    s->qvel[2 * k] = 0.5;
  }
  tgStatus status = tg_sim_step(s, 0.01, NULL);
  for (int k = 0; k < BALLS; k++) y[k] = s->qvel[2 * k];
  return status;
}

// each has the derivative of the step in it, and none in the others
static void own_pairs(void **state) {
  (void)state;
  static const char scene[] =
      "<mujoco><default><geom size='.1' mass='1'/><joint type='slide'/></default><worldbody><geom name='floor' type='plane' size='1 1 1'/>"
      "<body pos='0 0 .1005'><joint axis='1 0 0'/><joint axis='0 0 1'/><geom name='a'/></body>"
      "<body pos='0 1 .1005'><joint axis='1 0 0'/><joint axis='0 0 1'/><geom name='b'/></body>"
      "<body pos='0 2 .1005'><joint axis='1 0 0'/><joint axis='0 0 1'/><geom name='c'/></body></worldbody>"
      "<contact><pair geom1='floor' geom2='a'/><pair geom1='floor' geom2='b'/><pair geom1='floor' geom2='c'/></contact></mujoco>";
  static const char *const name[] = {"pair_friction"};
  Rig r = rig_of_text(scene, "barrier", NULL);
  tgParamGrad *p = tg_param_grad_create(r.m, name, 1, NULL, NULL);
  assert_non_null(p);
  tgReal x[BALLS] = {0.2, 0.3, 0.4}, y[BALLS], D[BALLS * BALLS], g[2][2 * BALLS];
  assert_int_equal(slowed(r.s, x, y), TG_OK);
  for (int i = 0; i < BALLS; i++) {
    memset(g, 0, sizeof g);
    g[1][2 * i] = 1;
    tg_param_grad_clear(p);
    assert_int_equal(tg_sim_step_vjp(r.s, g[0], g[1], NULL, NULL, NULL, p, NULL), TG_OK);
    for (int j = 0; j < BALLS; j++) D[BALLS * i + j] = tg_param_grad_field(p, "pair_friction", NULL, NULL)[2 * j];
    check_true(tgRe(D[BALLS * i + i]) < -1e-3, "ball %d: %g", i, tgRe(D[BALLS * i + i]));
  }
  tgtDeriv d = {.name = "pair_friction", .nx = BALLS, .ny = BALLS, .map = slowed, .ctx = r.s, .tol = 1e-7};
  tgt_check_jacobian(&d, x, D);
  tg_param_grad_free(p);
  drop(&r);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(matrix), cmocka_unit_test(far_balls), cmocka_unit_test(threads),
                                     cmocka_unit_test(kinds), cmocka_unit_test(own_pairs)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
