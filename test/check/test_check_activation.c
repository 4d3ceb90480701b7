// test_check_activation.c: the gradient checks of steps, parameters, rollouts, motions and second derivatives, and
// finite differences, on a robot with activations: they pass, and have blocks of their own for activations.
#include <stdlib.h>

#include "step/activated.h"
#include "tangere/grad.h"

static const tgGradBlock *block(const tgGradCheck *c, const char *name) {
  for (int i = 0; i < c->nblock; i++)
    if (strcmp(c->block[i].name, name) == 0) return &c->block[i];
  check_true(false, "no block %s", name);
  return &c->block[0];
}

static void expect_pass(const tgGradCheck *c, const char *name) {
  for (int i = 0; i < c->nblock; i++)
    check_true(c->block[i].pass, "%s: %s: %.3g > %.3g at %s, %s: %.12g, reference %.12g", name, c->block[i].name, c->block[i].error,
               c->block[i].tolerance, c->block[i].row_name, c->block[i].col_name, c->block[i].ours, c->block[i].reference);
  check_true(c->pass, "%s", name);
}

static void test_step(void **state) {
  (void)state;
  for (int v = 0; v < VARIANTS; v++) {
    Rig r = activated(v);
    tgtRandom random = {.s = (uint64_t)v};
    activated_state(r.s, &random);
    tgGradCheck check;
    check_true(tg_grad_check_step(r.s, NULL, &check) == TG_OK, "%s", tg_sim_error(r.s)->text);
    expect_pass(&check, activated_variant[v].name);
    assert_int_equal(check.nblock, 13);   // of three by four, and the adjoint
    assert_true(block(&check, "dact'/dact")->reference != 0 && block(&check, "dact'/du")->reference != 0);
    assert_true(block(&check, "dv'/dact")->reference != 0);
    assert_true(block(&check, "dact'/dv")->ours == 0);
    check_true(strstr(block(&check, "dact'/dact")->row_name, "actuator '") != NULL, "%s", block(&check, "dact'/dact")->row_name);
    drop(&r);
  }
}

// An activation at the end of its range: the column is compared one-sided, by name.
static void test_range(void **state) {
  (void)state;
  Rig r = activated(0);
  tgtRandom random = {.s = 1};
  activated_state(r.s, &random);
  r.s->act[1] = 1;
  r.s->ctrl[2] = 0;
  tgGradCheck check;
  assert_int_equal(tg_grad_check_step(r.s, NULL, &check), TG_OK);
  expect_pass(&check, "range");
  const tgGradBlock *b = block(&check, "dact'/dact");
  assert_int_equal(b->label, TG_GRAD_ONE_SIDED);
  assert_int_equal(b->spoiled, 1);
  check_true(strstr(b->reason, "activation range of actuator 'integrator'") != NULL, "%s", b->reason);
  drop(&r);
}

static void test_parameters(void **state) {
  (void)state;
  Rig r = activated(SOFTMIN);
  tgtRandom random = {.s = 4};
  activated_state(r.s, &random);
  tgt_random_vector(&random, r.m->na, r.s->act);
  tgGradCheck check = {0};
  check_true(tg_grad_check_parameters(r.s, NULL, &check) == TG_OK, "%s", tg_sim_error(r.s)->text);
  expect_pass(&check, "parameters");
  drop(&r);
}

static void test_second(void **state) {
  (void)state;
  Rig r = activated(SOFTMIN);
  tgtRandom random = {.s = 4};
  activated_state(r.s, &random);
  tgGradCheck check = {0};
  check_true(tg_grad_check_second(r.s, NULL, &check) == TG_OK, "%s", tg_sim_error(r.s)->text);
  expect_pass(&check, "second");
  assert_true(block(&check, "second dact")->reference != 0);
  drop(&r);
}

static void test_differences(void **state) {
  (void)state;
  Rig r = activated(0);
  tgtRandom random = {.s = 2};
  activated_state(r.s, &random);
  int nv = r.m->nv, ny = nv + tgi_nw(r.m), nx = ny + r.m->nu;
  tgReal *D = malloc(sizeof *D * 2 * (size_t)(ny * nx)), *E = D + ny * nx;
  tgReal before[32], after[32];
  tgi_sim_take_w(r.s, before);
  tg_sim_freeze_memory(r.s, true);
  for (int k = 0; k < 2; k++) {
    tgDifferenceOptions o = tg_difference_default();
    o.method = k == 0 ? TG_DIFFERENCE_RIDDERS : TG_DIFFERENCE_CENTRAL;
    assert_int_equal(tg_grad_differences(r.s, &o, E), TG_OK);
    tgi_sim_take_w(r.s, after);
    assert_memory_equal(before, after, (size_t)(ny - nv) * sizeof *after);
    void *snapshot = malloc(tg_sim_snapshot_size(r.s));
    tg_sim_save(r.s, snapshot);
    assert_int_equal(tg_sim_step_growing(r.s, tg_model_timestep(r.m), NULL), TG_OK);
    assert_int_equal(tg_sim_step_jacobian(r.s, D, NULL), TG_OK);
    assert_int_equal(tg_sim_restore(r.s, snapshot), TG_OK);
    free(snapshot);
    for (int i = 0; i < ny * nx; i++) check_close(tgRe(D[i]), tgRe(E[i]), 1e-6 * fmax(1, fabs(tgRe(D[i]))));
  }
  free(D);
  drop(&r);
}

// the sum of all activations at the end, and of squares of the velocities on the way
static tgStatus loss(void *ctx, tgSim *s, int t, int steps, tgReal *value, tgReal *gq, tgReal *gv, tgReal *gu) {
  (void)ctx;
  (void)gq;
  (void)gu;
  for (int i = 0; i < s->m.nv; i++) *value += s->qvel[i] * s->qvel[i] / 2;
  for (int i = 0; i < s->m.nv && gv != NULL; i++) gv[i] = s->qvel[i];
  for (int i = 0; i < s->m.na && t == steps; i++) *value += (i + 1) * s->act[i];
  for (int i = 0; i < s->m.na && t == steps && gv != NULL; i++) gv[s->m.nv + i] = i + 1;
  return TG_OK;
}

static void test_rollout(void **state) {
  (void)state;
  for (int v = 0; v < VARIANTS; v++) {
    Rig r = activated(v);
    tgtRandom random = {.s = (uint64_t)(60 + v)};
    activated_state(r.s, &random);
    // a remainder falls as a square where the force does not set in within the first tenth of the way that is looked at
    if (v >= SOFTMIN) r.s->qpos[1] += 0.3;
    tgRolloutOptions o = tg_rollout_default();
    tgError e = {0};
    o.steps = 5;
    tgRollout *rollout = tg_rollout_create(r.m, r.c, &o, &e);
    check_true(rollout != NULL, "%s", e.text);
    tgReal w[32], u[5 * 16];
    tgi_sim_take_w(r.s, w);
    for (int i = 0; i < o.steps * r.m->nu; i++) u[i] = tgt_uniform(&random, -0.8, 0.8);
    tgRolloutRun run = {.q0 = r.s->qpos, .v0 = w, .u = u, .loss = loss};
    tgGradCheck check = {0};
    check_true(tg_grad_check_rollout(rollout, &run, NULL, &check) == TG_OK, "%s", tg_sim_error(tg_rollout_sim(rollout))->text);
    expect_pass(&check, activated_variant[v].name);
    assert_true(block(&check, "rollout dact0")->reference != 0);
    tg_rollout_free(rollout);
    drop(&r);
  }
}

// A motor through a filter: value and gradient converge as the step shrinks, in the first activation too.
static void test_motion(void **state) {
  (void)state;
  Rig r = rig_of_text("<mujoco><option timestep='0.01'/><worldbody><body><joint type='slide' name='j' damping='.4'/>"
                      "<geom size='.1' mass='1'/></body></worldbody><actuator><general joint='j' dyntype='filterexact' dynprm='.2'/>"
                      "</actuator></mujoco>", "lcp", NULL);
  r.s->act[0] = 0.3;
  r.s->ctrl[0] = 1;
  tgMotionCheckOptions o = tg_motion_check_default();
  o.steps = 20;
  tgMotionCheck check;
  assert_int_equal(tg_grad_check_motion(r.s, &o, &check), TG_OK);
  check_true(check.pass, "%s", check.reason);
  check_true(check.holds_to > 1e-3, "holds to %g", check.holds_to);
  check_true(fabs(check.gradient_order - 1) < 0.2, "order %g", check.gradient_order);
  drop(&r);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_step), cmocka_unit_test(test_range), cmocka_unit_test(test_parameters),
                                     cmocka_unit_test(test_second), cmocka_unit_test(test_differences), cmocka_unit_test(test_rollout),
                                     cmocka_unit_test(test_motion)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
