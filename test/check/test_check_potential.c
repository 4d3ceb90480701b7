// test_check_potential.c: the gradient check of steps under a contact potential, whose scales, gaps and slip speeds
// times h, are far below its widest stencil: what is right passes, what is wrong does not, and where no difference
// can be taken that is said.
#include <stdio.h>

#include "contact/contact.h"
#include "support/rig.h"
#include "tangere/barrier.h"
#include "tangere/grad.h"

static void print(const tgGradCheck *c) {
  for (int i = 0; i < c->nblock; i++)
    print_message("%-10s error %.2g tolerance %.2g %s%s %s\n", c->block[i].name, c->block[i].error,
                  c->block[i].tolerance, c->block[i].pass ? "" : "FAIL ", c->block[i].col_name, c->block[i].reason);
}

static tgGradCheck check_both(tgSim *s, double h) {
  tgGradCheckOptions o = tg_grad_check_default();
  tgGradCheck c;
  o.h = h;
  assert_int_equal(tg_grad_check_step(s, &o, &c), TG_OK);
  tgStatus status = tg_grad_check_parameters(s, &o, &c);
  check_true(status == TG_OK, "%s", tg_sim_error(s)->text);
  return c;
}

static const tgGradBlock *block(const tgGradCheck *c, const char *name) {
  for (int i = 0; i < c->nblock; i++)
    if (strcmp(c->block[i].name, name) == 0) return &c->block[i];
  fail_msg("no block %s", name);
  return NULL;
}

// two cubes at rest one on the other: friction changes over 1e-5 m, and its coefficient hardly acts
static void cubes_at_rest_pass(void **state) {
  (void)state;
  static const char xml[] = "<mujoco><worldbody><geom name='floor' type='plane' size='5 5 1'/>"
                            "<body pos='0 0 .102'><freejoint/><geom name='low' type='box' size='.1 .1 .1'/></body>"
                            "<body pos='.02 .01 .306'><freejoint/><geom name='high' type='box' size='.1 .1 .1'/></body>"
                            "</worldbody></mujoco>";
  for (int k = 0; k < 2; k++) {
    double h = k == 0 ? 0.01 : 0.002;
    Rig r = rig_of_text(xml, "barrier", NULL);
    for (int i = 0; i < 100; i++) assert_int_equal(tg_sim_step_growing(r.s, h, NULL), TG_OK);
    tgGradCheck c = check_both(r.s, h);
    if (!c.pass) print(&c);
    assert_true(c.pass && block(&c, "dq'/dq")->label == TG_GRAD_EXACT && block(&c, "dq'/dq")->spoiled == 0);
    // sizes and frictions of cubes are ties, and told as such
    assert_true(block(&c, "dL/dp")->label == TG_GRAD_ONE_SIDED);
    drop(&r);
  }
}

// a box this far above the floor, without weight
static Rig hovering(double gap, double mu) {
  char xml[400];
  tgBarrierOptions o = tg_barrier_default();
  o.weight = mu;
  snprintf(xml, sizeof xml, "<mujoco><option gravity='0 0 0'/><worldbody><geom name='floor' type='plane' size='5 5 1' friction='.4'/>"
           "<body pos='0 0 %.17g'><freejoint/><geom name='box' type='box' size='.13 .12 .1' friction='.7'/></body>"
           "</worldbody></mujoco>", 0.1 + gap);
  return rig_of_text(xml, "barrier", &o.of);
}

static void gaps_below_the_stencil_pass(void **state) {
  (void)state;
  static const double gap[] = {1e-4, 1e-5, 1e-6, 1e-7};
  for (int k = 0; k < 4; k++) {
    Rig r = hovering(gap[k], 1e-10);
    tgGradCheck c = check_both(r.s, 0.01);
    if (!c.pass) print(&c);
    check_true(c.pass && block(&c, "dq'/dq")->spoiled == 0 && block(&c, "dq'/dq")->label == TG_GRAD_EXACT, "gap %g", gap[k]);
    drop(&r);
  }
}

// a box at rest on a box, ever nearer as mu falls: rounded coordinates are ever more of a gap, and the dot test allows for that and no more
static void rest_at_small_gaps_passes(void **state) {
  (void)state;
  static const char xml[] = "<mujoco><worldbody><geom name='floor' type='box' size='.5 .5 .1' pos='0 0 -.1' friction='.5'/>"
                            "<body pos='.013 .02 .1001' euler='0 0 12'><freejoint/>"
                            "<geom name='box' type='box' size='.1 .1 .1' mass='1' friction='.5'/></body></worldbody></mujoco>";
  static const struct { double mu, gap, most; } row[] =
      {{1e-7, 1e-3, 1e-11}, {1e-13, 1e-6, 1e-9}, {1e-15, 1e-7, 1e-8}, {1e-17, 1e-8, 1e-7}};
  for (int k = 0; k < 4; k++) {
    tgBarrierOptions o = tg_barrier_default();
    o.weight = row[k].mu;
    Rig r = rig_of_text(xml, "barrier", &o.of);
    tgStepInfo info;
    for (int i = 0; i < 60; i++) assert_int_equal(tg_sim_step_growing(r.s, 0.01, &info), TG_OK);
    check_true(info.least_distance < row[k].gap, "gap %g", info.least_distance);
    tgGradCheckOptions g = tg_grad_check_default();
    tgGradCheck c;
    g.h = 0.01;
    assert_int_equal(tg_grad_check_step(r.s, &g, &c), TG_OK);
    const tgGradBlock *b = block(&c, "adjoint");
    if (!c.pass) print(&c);
    check_true(c.pass && b->tolerance >= 1e-11 && b->tolerance <= row[k].most, "mu %g: error %g, tolerance %g",
               row[k].mu, b->error, b->tolerance);
    drop(&r);
  }
}

// nearer than any stencil: the columns that would touch have one side at most, and the reason says why
static void nearer_than_any_stencil_is_said(void **state) {
  (void)state;
  Rig r = hovering(1e-11, 1e-22);
  tgGradCheckOptions o = tg_grad_check_default();
  tgGradCheck c;
  o.h = 0.01;
  assert_int_equal(tg_grad_check_step(r.s, &o, &c), TG_OK);
  const tgGradBlock *b = block(&c, "dq'/dq");
  check_true(b->spoiled > 0 && b->label == TG_GRAD_ONE_SIDED && strstr(b->reason, "no step of 1e-10") != NULL &&
             strstr(b->reason, "'floor'") != NULL, "%d %s", b->spoiled, b->reason);
  drop(&r);
}

// ---- a derivative in a number of the contact model that is wrong by a thousandth ----

static const tgLaw *right;

static tgStatus wrong_parameters(tgSim *s, const tgPose *pose, const tgReal *Z, int only, tgParamGrad *p) {
  TG_TRY(right->parameters(s, pose, Z, only, p));
  tgReal *mu = TG_NUMBER_GRAD(p, weight);
  if (mu != NULL) *mu *= 1.001;
  return TG_OK;
}

static void a_wrong_number_is_refused(void **state) {
  (void)state;
  for (int wrong = 0; wrong < 2; wrong++) {
    Rig r = hovering(1e-4, 1e-6);
    const tgContactModel *own = r.c->kind;
    tgContactModel kind = *own;
    tgLaw potential = *kind.law;
    right = own->law;
    potential.parameters = wrong ? wrong_parameters : right->parameters;
    kind.law = &potential;
    r.c->kind = &kind;
    tgGradCheckOptions o = tg_grad_check_default();
    tgGradCheck c = {.pass = true};
    assert_int_equal(tg_grad_check_parameters(r.s, &o, &c), TG_OK);
    const tgGradBlock *b = block(&c, "dL/dp");
    check_true(b->pass == !wrong && (!wrong || strcmp(b->col_name, "contact.weight") == 0), "%d: %s %g", wrong, b->col_name, b->error);
    r.c->kind = own;
    drop(&r);
  }
}

// ---- rollouts ----

// 1 + 1e4 z^2 of where a mass comes to rest on the limit of its slide, times `wrong`
static tgStatus rest(void *ctx, tgSim *s, int t, int steps, tgReal *value, tgReal *gq, tgReal *gv, tgReal *gu) {
  (void)gv, (void)gu;
  if (t < steps) return TG_OK;
  *value = 1 + 1e4 * s->qpos[0] * s->qpos[0];
  if (gq != NULL) gq[0] = 2e4 * s->qpos[0] * *(const double *)ctx;
  return TG_OK;
}

// After 100 damped steps nothing is left of where it began: a gradient of 1e-17 is as right as round-off can tell.
// After 2 it is not, and a thousandth too much is refused.
static void rollouts_that_forget_pass(void **state) {
  (void)state;
  static const char xml[] = "<mujoco><worldbody><body><joint type='slide' axis='0 0 1' range='0 1' limited='true' damping='40'/>"
                            "<geom type='box' size='.1 .1 .1' mass='2'/></body></worldbody></mujoco>";
  static const struct { int steps; double wrong; bool pass; } row[] = {{100, 1, true}, {2, 1, true}, {2, 1.001, false}};
  for (int k = 0; k < 3; k++) {
    tgBarrierOptions o = tg_barrier_default();
    o.weight = 0.3;
    Rig r = rig_of_text(xml, "barrier", &o.of);
    tgRolloutOptions ro = tg_rollout_default();
    ro.steps = row[k].steps;
    ro.h = 0.02;
    tgRollout *rollout = tg_rollout_create(r.m, r.c, &ro, NULL);
    double q = 0.1, wrong = row[k].wrong;
    tgRolloutRun run = {.q0 = &q, .loss = rest, .loss_ctx = &wrong};
    tgGradCheck c = {.pass = true};
    assert_int_equal(tg_grad_check_rollout(rollout, &run, NULL, &c), TG_OK);
    if (c.pass != row[k].pass) print(&c);
    check_true(c.pass == row[k].pass && block(&c, "rollout dq0")->pass == row[k].pass, "%d steps, times %g", row[k].steps, wrong);
    tg_rollout_free(rollout);
    drop(&r);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(cubes_at_rest_pass),
                                     cmocka_unit_test(gaps_below_the_stencil_pass),
                                     cmocka_unit_test(rest_at_small_gaps_passes),
                                     cmocka_unit_test(nearer_than_any_stencil_is_said),
                                     cmocka_unit_test(a_wrong_number_is_refused),
                                     cmocka_unit_test(rollouts_that_forget_pass)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
