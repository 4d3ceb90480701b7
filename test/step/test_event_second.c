// test_event_second.c: second derivatives of steps and motions of `toi` with impacts, against differences of the adjoint.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "step/toi_rig.h"
#include "support/rig.h"
#include "support/tree.h"
#include "tangere/grad.h"
#include "tangere/param.h"
#include "tangere/second.h"
#include "tangere/step.h"

// Of steps with impacts: products with Hessians against differences of the adjoint, and their symmetry.
static void test_second_step(void **state) {
  (void)state;
  Rig r = toi(FLOOR_AND_BALLS, 0.5);
  int checked = 0;
  for (int t = 0; t < 40; t++) {
    tgStepInfo info;
    char *before = malloc(tg_sim_snapshot_size(r.s) + 1);
    tg_sim_save(r.s, before);
    assert_int_equal(tg_sim_step_growing(r.s, 0.01, &info), TG_OK);
    if (info.nimpact > 0 && checked < 4) {
      tgGradCheck check = {0};
      tgGradCheckOptions o = tg_grad_check_default();
      o.h = 0.01;
      assert_int_equal(tg_sim_restore(r.s, before), TG_OK);
      check_true(tg_grad_check_second(r.s, &o, &check) == TG_OK, "%s", tg_sim_error(r.s)->text);
      for (int i = 0; i < check.nblock; i++)
        check_true(check.block[i].pass, "step %d: %s: %g", t, check.block[i].name, check.block[i].error);
      checked++;
      assert_int_equal(tg_sim_step_growing(r.s, 0.01, &info), TG_OK);
    }
    free(before);
  }
  assert_int_equal(checked, 4);
  drop(&r);
}

// the height of the second body at the end, squared
static tgStatus height(void *ctx, tgSim *sim, int t, int steps, tgReal *value, tgReal *gq, tgReal *gv, tgReal *gu) {
  (void)ctx;
  (void)gv;
  (void)gu;
  if (t < steps) return TG_OK;
  *value = sim->qpos[9] * sim->qpos[9];
  if (gq != NULL) gq[8] = 2 * sim->qpos[9];
  return TG_OK;
}

static tgStatus height_hvp(void *ctx, tgSim *sim, int t, int steps, const tgReal *dq, const tgReal *dv, const tgReal *du, tgReal *hq,
                           tgReal *hv, tgReal *hu) {
  (void)ctx;
  (void)sim;
  (void)dv;
  (void)du;
  (void)hv;
  (void)hu;
  if (t == steps) hq[8] = 2 * dq[8];
  return TG_OK;
}

static tgStatus bouncing(void *ctx, tgSim *sim) {
  int rows, cols;
  tgReal *e = tg_sim_param(sim, "geom_restitution", &rows, &cols);
  (void)ctx;
  for (int i = 0; i < rows * cols; i++) e[i] = 0.5;
  return TG_OK;
}

enum { SECOND = 40 };
static tgGradLabel gradient_along(tgRollout *rollout, const tgReal *q0, const tgReal *v0, const tgReal *dv, double x, tgReal g[12],
                                  int *impacts) {
  tgReal v[12];
  tgRolloutResult result;
  for (int d = 0; d < 12; d++) v[d] = v0[d] + x * dv[d];
  tgStepInfo info[SECOND];
  tgRolloutRun run = {.q0 = q0, .v0 = v, .loss = height, .setup = bouncing, .dv0 = g, .info = info};
  check_true(tg_rollout_run(rollout, &run, &result) == TG_OK, "%s", result.error.text);
  for (int t = 0; t < SECOND; t++) *impacts += info[t].nimpact;
  return result.grad.label;
}

// Of motions through several impacts, whose steps remember what the ones before held; labelled as their gradients are.
static void test_second_motion(void **state) {
  (void)state;
  static const double step[4] = {-2e-6, -1e-6, 1e-6, 2e-6};
  static const tgReal odd[12] = {0.3, 0, -1, 0, 1, 0, 0, 0.1, -2, 1, 0.5, 0.2};   // of one side: a contact appears as it meets
  Rig r = toi(FLOOR_AND_BALLS, 0.5);
  tgError e = {0};
  tgtRandom random = {.s = 3};
  int exact = 0, impacts = 0;
  tgRolloutOptions o = tg_rollout_default();
  o.h = 0.01;
  o.steps = SECOND;
  tgSecond *second = tg_second_create(r.m, r.c, &o, &e);
  check_true(second != NULL, "%s", e.text);
  tgRollout *rollout = tg_rollout_create(r.m, r.c, &o, &e);
  for (int k = 0; k < 10; k++) {
    tgReal v0[12], dv[12], hv[12], g[4][12];
    double worst = 0, most = 0;
    tgRolloutResult result;
    tgRolloutRun run = {.q0 = r.s->qpos, .v0 = v0, .loss = height, .setup = bouncing};
    tgSecondRun along = {.dv0 = dv, .hv0 = hv, .loss_hvp = height_hvp};
    tgt_random_vector(&random, 12, v0);
    tgt_random_vector(&random, 12, dv);
    if (k == 0) memcpy(v0, odd, sizeof odd);
    check_true(tg_rollout_hvp(second, &run, &along, &result) == TG_OK, "%s", result.error.text);
    assert_int_equal(gradient_along(rollout, r.s->qpos, v0, dv, 0, g[0], &impacts), result.grad.label);
    tgRolloutResult rates;
    assert_int_equal(tg_rollout_jvp(second, &run, &along, &rates), TG_OK);
    assert_int_equal(rates.grad.label, result.grad.label);
    for (int i = 0; i < 4; i++) gradient_along(rollout, r.s->qpos, v0, dv, step[i], g[i], &impacts);
    for (int d = 0; d < 12; d++) {
      double truth = tgRe(8 * (g[2][d] - g[1][d]) - (g[3][d] - g[0][d])) / (12 * step[2]);
      worst = fmax(worst, fabs(tgRe(hv[d]) - truth));
      most = fmax(most, fabs(truth));
    }
    if (result.grad.label != TG_GRAD_EXACT) continue;
    exact++;
    check_true(most > 0.01 && worst < 1e-6 * most, "motion %d: second derivatives to %g, off by %g", k, most, worst);
  }
  check_true(exact >= 5 && exact < 10 && impacts >= 100, "%d motions are exact, %d impacts in fifty", exact, impacts);
  tg_rollout_free(rollout);
  tg_second_free(second);
  drop(&r);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_second_step), cmocka_unit_test(test_second_motion)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
