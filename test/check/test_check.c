// test_check.c: the gradient check that users run: right gradients pass, wrong ones are refused, and what spoils an entry is named.
#include <stdlib.h>
#include <string.h>

#include "check/mode.h"
#include "sim/sim.h"
#include "support/reach.h"
#include "support/rig.h"
#include "support/robots.h"
#include "tangere/grad.h"
#include "tangere/param.h"

static void show(const tgGradCheck *c) {
  for (int i = 0; i < c->nblock; i++) {
    const tgGradBlock *b = &c->block[i];
    print_message("  %-14s %.2e of %.0e (reference %.0e) label %d %s, worst %s / %s: %.9g %.9g; %d spoiled; %s\n",
                  b->name, b->error, b->tolerance, b->estimate, b->label, b->pass ? "pass" : "FAIL", b->row_name,
                  b->col_name, b->ours, b->reference, b->spoiled, b->reason);
  }
}

static const tgGradBlock *block(const tgGradCheck *c, const char *name) {
  for (int i = 0; i < c->nblock; i++)
    if (strcmp(c->block[i].name, name) == 0) return &c->block[i];
  fail_msg("no block %s", name);
  return NULL;
}

static Rig world_ruled(tgModel *m, bool zero_contact_gradient, tgContactRule rule) {
  tgLcpOptions o = tg_lcp_default();
  o.zero_contact_gradient = zero_contact_gradient;
  o.contact_rule = rule;
  return rig_of_model(m, "lcp", &o.of, NULL);
}
static Rig world(tgModel *m, bool zero_contact_gradient) {
  return world_ruled(m, zero_contact_gradient, tg_lcp_default().contact_rule);
}

// the runner after `steps` steps under moderate controls
static void advance(tgSim *s, int steps) {
  for (int t = 0; t < steps; t++) {
    for (int k = 0; k < tg_model_nu(tg_sim_model(s)); k++) tg_sim_ctrl(s)[k] = 0.6 * sin(0.1 * t + k);
    tgStatus status = tg_sim_step(s, 0.01, NULL);
    if (status != TG_OK) fail_msg("step %d: %s", t, tg_sim_error(s)->text);
  }
}

// random poses near the ground, some steps on: contacts that stick, slide and part, limits, all in motion
static void right_gradients_pass(void **state) {
  (void)state;
  enum { STATES = 60 };
  Rig w = world(tgt_runner(), false);
  int exact = 0, contacts = 0;
  tgtRandom rng = {3};
  for (int n = 0; n < STATES; n++) {
    tg_sim_reset(w.s);
    for (int i = 0; i < 9; i++) {
      tg_sim_qpos(w.s)[i] = tgt_uniform(&rng, -0.3, 0.3);
      tg_sim_qvel(w.s)[i] = tgt_uniform(&rng, -1, 1);
    }
    tg_sim_qpos(w.s)[1] = tgt_uniform(&rng, -0.1, 0);
    tg_sim_qvel(w.s)[1] = -1;
    advance(w.s, n % 12);
    tgReal before[9];
    memcpy(before, tg_sim_qpos(w.s), sizeof before);
    tgGradCheck check;
    assert_int_equal(tg_grad_check_step(w.s, NULL, &check), TG_OK);
    assert_memory_equal(before, tg_sim_qpos(w.s), sizeof before);
    assert_int_equal(check.nblock, 7);
    tgReal masses[16];
    memcpy(masses, tg_sim_param(w.s, "body_mass", NULL, NULL), (size_t)w.m->nbody * sizeof *masses);
    assert_int_equal(tg_grad_check_parameters(w.s, NULL, &check), TG_OK);
    assert_int_equal(check.nblock, 8);
    assert_memory_equal(before, tg_sim_qpos(w.s), sizeof before);
    assert_memory_equal(masses, tg_sim_param(w.s, "body_mass", NULL, NULL), (size_t)w.m->nbody * sizeof *masses);
    if (!check.pass) show(&check);
    check_true(check.pass, "state %d", n);
    exact += block(&check, "dv'/dq")->label == TG_GRAD_EXACT;
    tgStepInfo info;
    assert_int_equal(tg_sim_step(w.s, 0.01, &info), TG_OK);
    contacts += info.ncontact > 0;
  }
  check_true(contacts >= STATES / 2, "%d of %d states in contact", contacts, STATES);
  check_true(exact >= STATES * 95 / 100, "%d of %d states exact", exact, STATES);
  drop(&w);
}

// In free fall from rest no velocity depends on the pose: dv'/dq is zero, its reference is round-off, and that is no error.
static void a_block_of_zeros_passes(void **state) {
  (void)state;
  static const char text[] =
      "<mujoco><worldbody><body><freejoint/><geom size='.1' pos='.03 .02 .01'/>"
      "<body pos='.3 0 .1'><joint axis='1 2 3'/><geom size='.07' pos='.2 .1 0' contype='0' conaffinity='0'/>"
      "<body pos='.2 .1 0'><joint axis='0 1 1'/><geom size='.05' pos='0 .1 .1' contype='0' conaffinity='0'/></body>"
      "</body></body></worldbody></mujoco>";
  tgDesc *d = tg_desc_load_memory("fall.xml", text, sizeof text - 1, NULL, NULL);
  assert_non_null(d);
  Rig w = world(tg_model_compile(d, NULL, NULL), false);
  tgGradCheck check;
  assert_int_equal(tg_grad_check_step(w.s, NULL, &check), TG_OK);
  const tgGradBlock *b = block(&check, "dv'/dq");
  check_true(fabs(b->ours) < 1e-12 && fabs(b->reference) < 1e-9, "%g, reference %g", b->ours, b->reference);
  if (!check.pass) show(&check);
  assert_true(check.pass);
  // over the floor that the zeros are measured by, what the differences leave open and their round-off are within the tolerance
  check_true(b->estimate <= tg_grad_check_default().tolerance, "the differences tell too little: %g", b->estimate);
  drop(&w);
  tg_desc_free(d);
}

// A small wheel turns the round-off of the forces on it into that of its speed, many times the round-off of the speed
// itself; no entry of dv'/dq is anything else here.
static void small_wheels_pass(void **state) {
  (void)state;
  static const char text[] =
      "<mujoco><worldbody><body quat='.9 .3 .2 .1'><freejoint/><inertial pos='.01 .02 .03' mass='40' diaginertia='2 3 4'/>"
      "<body pos='.3 .2 -.1'><joint axis='0 1 0'/><inertial pos='0 0 0' mass='.3' diaginertia='4e-7 5e-7 4e-7'/></body>"
      "<body pos='-.3 .2 -.1'><joint axis='.6 .8 0'/><inertial pos='0 0 0' mass='.3' diaginertia='4e-7 4e-7 4e-7'/>"
      "</body></body></worldbody></mujoco>";
  tgDesc *d = tg_desc_load_memory("car.xml", text, sizeof text - 1, NULL, NULL);
  assert_non_null(d);
  Rig w = world(tg_model_compile(d, NULL, NULL), false);
  for (int n = 0; n < 20; n++) {
    tgGradCheck check;
    tg_sim_reset(w.s);
    tg_sim_qpos(w.s)[0] = 0.1 * n;
    assert_int_equal(tg_grad_check_step(w.s, NULL, &check), TG_OK);
    if (!check.pass) show(&check);
    check_true(check.pass, "state %d", n);
  }
  drop(&w);
  tg_desc_free(d);
}

// Two boxes deep in each other, their corners on one line: other corners meet on the two sides of this state, with other forces.
static void a_switch_of_features_is_named(void **state) {
  (void)state;
  static const char text[] =
      "<mujoco><worldbody><body><joint type='slide' axis='0 1 0'/><joint axis='0 0 1' pos='-.1 0 0'/>"
      "<geom type='box' size='.015 .005 .01' mass='.1'/></body>"
      "<body pos='0 .008 .0001'><joint axis='0 0 1' pos='-.1 0 0'/><geom type='box' size='.015 .005 .01' mass='.1'/>"
      "</body></worldbody></mujoco>";
  tgDesc *d = tg_desc_load_memory("tips.xml", text, sizeof text - 1, NULL, NULL);
  assert_non_null(d);
  // by `closing` forces of the corners differ before their features do
  static const char *const reason[2] = {[TG_RULE_TOUCHING] = "features", [TG_RULE_CLOSING] = "geom 0 of body 1 and geom 1 of body 2"};
  for (int rule = 0; rule < 2; rule++) {
    Rig w = world_ruled(tg_model_compile(d, NULL, NULL), false, (tgContactRule)rule);
    tgGradCheck check;
    assert_int_equal(tg_grad_check_step(w.s, NULL, &check), TG_OK);
    if (!check.pass) show(&check);
    assert_true(check.pass);
    const tgGradBlock *b = block(&check, "dv'/dq");
    check_true(b->label == TG_GRAD_ONE_SIDED && strstr(b->reason, reason[rule]) != NULL, "label %d, '%s'", b->label, b->reason);
    drop(&w);
  }
  tg_desc_free(d);
}

// Drag goes with |v| v: at rest it has a derivative and no second one, which central differences alone would call an error of the first.
static void drag_at_rest_passes(void **state) {
  (void)state;
  static const char text[] =
      "<mujoco><option density='5000' gravity='0 0 0'/><worldbody><body><freejoint/><geom size='.1'/>"
      "<body pos='.2 0 0'><joint axis='0 1 0'/>"
      "<geom type='box' size='.01 .2 .3' contype='0' conaffinity='0' mass='.1'/></body></body></worldbody></mujoco>";
  tgDesc *d = tg_desc_load_memory("swim.xml", text, sizeof text - 1, NULL, NULL);
  assert_non_null(d);
  Rig w = world(tg_model_compile(d, NULL, NULL), false);
  tgGradCheck check;
  assert_int_equal(tg_grad_check_step(w.s, NULL, &check), TG_OK);
  if (!check.pass) show(&check);
  assert_true(check.pass);
  assert_int_equal(block(&check, "dv'/dv")->label, TG_GRAD_EXACT);
  drop(&w);
  tg_desc_free(d);
}

// the ablation leaves contact out of the gradient: a wrong derivative as far as the check is concerned
static void wrong_gradients_are_refused(void **state) {
  (void)state;
  Rig w = world(tgt_ball(), true);
  tg_sim_qpos(w.s)[2] = 0.099;
  tg_sim_qvel(w.s)[0] = 1;
  tg_sim_qvel(w.s)[2] = -0.5;
  tgGradCheck check;
  assert_int_equal(tg_grad_check_step(w.s, NULL, &check), TG_OK);
  assert_false(check.pass);
  const tgGradBlock *b = block(&check, "dv'/dv");
  assert_false(b->pass);
  assert_int_equal(b->label, TG_GRAD_SURROGATE);
  check_true(b->error > 0.1 && strstr(b->row_name, "root") != NULL, "error %g, row %s", b->error, b->row_name);
  check = (tgGradCheck){.pass = true};
  assert_int_equal(tg_grad_check_parameters(w.s, NULL, &check), TG_OK);
  b = block(&check, "dL/dp");
  assert_false(check.pass);
  check_true(b->error > 0.1, "error %g of %s", b->error, b->col_name);
  // in the air nothing is left out
  tg_sim_qpos(w.s)[2] = 1;
  assert_int_equal(tg_grad_check_step(w.s, NULL, &check), TG_OK);
  assert_int_equal(tg_grad_check_parameters(w.s, NULL, &check), TG_OK);
  if (!check.pass) show(&check);
  assert_true(check.pass);
  drop(&w);
}

static void the_contact_that_spoils_is_named(void **state) {
  (void)state;
  Rig w = world(tgt_ball(), false);
  // 1e-9 above the ground: no stencil avoids the touch
  tg_sim_qpos(w.s)[2] = 0.1 + 1e-9;
  tg_sim_qvel(w.s)[2] = -0.5;
  tgGradCheck check;
  assert_int_equal(tg_grad_check_step(w.s, NULL, &check), TG_OK);
  if (!check.pass) show(&check);
  assert_true(check.pass);
  const tgGradBlock *b = block(&check, "dv'/dq");
  assert_int_equal(b->label, TG_GRAD_ONE_SIDED);
  check_true(b->spoiled >= 1 && strstr(b->reason, "floor") != NULL && strstr(b->reason, "skin") != NULL, "reason '%s'", b->reason);
  assert_int_equal(block(&check, "dv'/du")->spoiled, 0);
  drop(&w);
}

static void the_clamp_that_spoils_is_named(void **state) {
  (void)state;
  Rig w = world(tgt_runner(), false);
  tg_sim_qpos(w.s)[1] = 1;
  tg_sim_ctrl(w.s)[4] = 1;
  tgGradCheck check;
  assert_int_equal(tg_grad_check_step(w.s, NULL, &check), TG_OK);
  if (!check.pass) show(&check);
  assert_true(check.pass);
  const tgGradBlock *b = block(&check, "dv'/du");
  assert_int_equal(b->label, TG_GRAD_ONE_SIDED);
  check_true(b->spoiled == 1 && strstr(b->reason, "fshin") != NULL, "%d spoiled, reason '%s'", b->spoiled, b->reason);
  drop(&w);
}

static void check_spoilt_limit(tgContactRule rule, double q, double speed) {
  Rig w = world_ruled(tgt_runner(), false, rule);
  tg_sim_qpos(w.s)[1] = 1;
  tg_sim_qpos(w.s)[8] = q;
  tg_sim_qvel(w.s)[8] = speed;
  tgGradCheck check;
  assert_int_equal(tg_grad_check_step(w.s, NULL, &check), TG_OK);
  if (!check.pass) show(&check);
  assert_true(check.pass);
  const tgGradBlock *b = block(&check, "dv'/dq");
  check_true(b->label == TG_GRAD_ONE_SIDED && strstr(b->reason, "ffoot") != NULL, "label %d, reason '%s'", b->label, b->reason);
  drop(&w);
}
// where limits act as they close only one that closes fast is a matter of sides
static void the_limit_that_spoils_is_named(void **state) {
  (void)state;
  check_spoilt_limit(TG_RULE_TOUCHING, 0.8 - 1e-10, 1);
  check_spoilt_limit(TG_RULE_CLOSING, 0.8, 20);
}

// Two hinges at rest on their limits, no gravity: a torque on either moves one off and presses the other, whichever its
// sign, so neither side is the Jacobian of the free arm; the step without both limits has it.
static void a_corner_of_ties_is_checked_by_its_active_set(void **state) {
  (void)state;
  tgDesc *d = tg_desc_create(NULL);
  for (int i = 0; i < 3; i++) d->option.gravity[i] = 0;
  int parent = 0;
  for (int k = 0; k < 2; k++) {
    int b = tg_desc_add_body(d, parent, k == 0 ? "upper" : "lower"),
        j = tg_desc_add_joint(d, b, TG_JOINT_HINGE, k == 0 ? "shoulder" : "elbow");
    d->body[b].pos[0] = k;
    d->body[b].has_inertial = true;
    d->body[b].mass = 1;
    d->body[b].com[0] = 0.5;
    for (int i = 0; i < 3; i++) d->body[b].inertia[i] = 0.1;
    d->joint[j].limited = TG_LIMITED_YES;
    d->joint[j].range[1] = 1;
    int a = tg_desc_add_actuator(d, TG_TRN_JOINT, j, k == 0 ? "shoulder" : "elbow");
    d->actuator[a].gear[0] = 1;
    parent = b;
  }
  tgError error = {0};
  tgModel *m = tg_model_compile(d, NULL, &error);
  if (m == NULL) fail_msg("%s", error.text);
  tg_desc_free(d);
  Rig w = world(m, false);
  tgGradCheck check;
  assert_int_equal(tg_grad_check_step(w.s, NULL, &check), TG_OK);
  if (!check.pass) show(&check);
  assert_true(check.pass);
  const tgGradBlock *b = block(&check, "dv'/du");
  check_true(b->label == TG_GRAD_ONE_SIDED && b->spoiled == 2 && strstr(b->reason, "limit of joint") != NULL,
             "label %d, %d spoiled, reason '%s'", b->label, b->spoiled, b->reason);
  drop(&w);
}

// Four limits hold with round-off forces: columns in which one side lets two go and the other side another two. The active set that the
// step chose decides; a gradient that leaves its forces out is refused there too.
static void legs_at_their_limits_in_free_fall(void **state) {
  (void)state;
  for (int run = 0; run < 4; run++) {
    int wrong = run % 2;
    Rig w = world_ruled(tgt_two_legs(), wrong == 1, run < 2 ? TG_RULE_TOUCHING : TG_RULE_CLOSING);
    int refused = 0;
    for (int k = 0; k < 12; k++) {
      tgGradCheck check;
      for (int i = 0; i < 5; i++) assert_int_equal(tg_sim_step(w.s, 0.01, NULL), TG_OK);
      assert_int_equal(tg_grad_check_step(w.s, NULL, &check), TG_OK);
      if (wrong == 0 && !check.pass) show(&check);
      if (wrong == 0) check_true(check.pass && block(&check, "dv'/dq")->label == TG_GRAD_ONE_SIDED, "after %d steps", 5 * (k + 1));
      refused += !check.pass;
    }
    if (wrong == 1) check_true(refused > 0, "a gradient without limits passed %d checks", 12 - refused);
    drop(&w);
  }
}

// A ball and a turning box that land within the step, after `steps` steps
static void land(tgSim *s, int steps) {
  static const double q[14] = {0, 0, .3501, 1, 0, 0, 0, 1, 0, .4, .9, .3, .2, .1}, v[12] = {1, .3, -1, .5, 2, 1, .5, .2, -1, 1, 2, 3};
  tg_sim_reset(s);
  for (int i = 0; i < 14; i++) tg_sim_qpos(s)[i] = q[i];
  for (int i = 0; i < 12; i++) tg_sim_qvel(s)[i] = v[i];
  assert_int_equal(tg_model_normalize(tg_sim_model(s), tg_sim_qpos(s), tg_sim_qpos(s)), TG_OK);
  for (int t = 0; t < steps; t++) assert_int_equal(tg_sim_step(s, 0.01, NULL), TG_OK);
}

// Steps with impacts have several parts, whose times move with every parameter: compared with the steps that the engine makes, right
// derivatives pass under both models that have such steps, and those that take contact forces for constant do not.
static void parameters_of_impacts_pass(void **state) {
  (void)state;
  static const char text[] =
      "<mujoco><option timestep='.01'/><worldbody><geom type='plane' size='5 5 .1' friction='.5'/>"
      "<body><freejoint/><geom type='sphere' size='.1' mass='1'/></body>"
      "<body><freejoint/><geom type='box' size='.1 .08 .06' mass='1'/></body></worldbody></mujoco>";
  static const char *const word[] = {"lcp", "toi"};
  for (int k = 0; k < 2; k++) {
    Rig w = rig_of_text(text, word[k], NULL);
    int impacts = 0;
    for (int steps = 10; steps < 24; steps++) {
      land(w.s, steps);
      tgGradCheck check = {.pass = true};
      assert_int_equal(tg_grad_check_parameters(w.s, NULL, &check), TG_OK);
      if (!check.pass) show(&check);
      check_true(check.pass, "under %s after %d steps", word[k], steps);
      assert_int_equal(tg_sim_step(w.s, 0.01, NULL), TG_OK);
      impacts += w.s->npart > 1;
    }
    check_true(impacts >= 3, "under %s %d steps with impacts", word[k], impacts);
    drop(&w);
  }
  tgAnyContactOptions o = options_of("lcp", "zero_contact_gradient=true");
  Rig w = rig_of_text(text, "lcp", &o.of);
  for (int steps = 14; steps < 16; steps++) {
    land(w.s, steps);
    tgGradCheck check = {.pass = true};
    assert_int_equal(tg_grad_check_parameters(w.s, NULL, &check), TG_OK);
    check_true(!check.pass && block(&check, "dL/dp")->error > 1e-3, "after %d steps %g", steps, block(&check, "dL/dp")->error);
    assert_int_equal(tg_sim_step(w.s, 0.01, NULL), TG_OK);
    assert_true(w.s->npart > 1);
  }
  drop(&w);
}

// A rope with a spring that rests at the start, as it does by default: both ends of its dead band together have a derivative, one alone has
// another on either side, and says so.
static void a_spring_at_rest_has_two_sides(void **state) {
  (void)state;
  static const char *const word[] = {"lcp", "toi", "barrier"};
  for (int k = 0; k < 3; k++) {
    Rig w = rig_of_text("<mujoco><option gravity='0 0 0'/><worldbody><body><joint name='z' type='slide' axis='0 0 1'/>"
                        "<geom size='.05' mass='1'/></body></worldbody><tendon><fixed name='rope' stiffness='100'>"
                        "<joint joint='z' coef='2'/></fixed></tendon></mujoco>", word[k], NULL);
    const char *name = "ten_lengthspring";
    tgParamGrad *p = tg_param_grad_create(w.m, &name, 1, NULL, NULL);
    tgGradCheck check = {.pass = true};
    tgReal gv = 1;
    tgGradInfo info;
    assert_int_equal(tg_grad_check_parameters(w.s, NULL, &check), TG_OK);
    if (!check.pass) show(&check);
    assert_true(check.pass);
    assert_int_equal(tg_sim_step(w.s, 0.01, NULL), TG_OK);
    assert_int_equal(tg_sim_step_vjp(w.s, NULL, &gv, NULL, NULL, NULL, p, &info), TG_OK);
    check_true(info.label == TG_GRAD_ONE_SIDED && strstr(info.reason, "rope") != NULL, "%s: %d, %s", word[k], (int)info.label, info.reason);
    assert_int_equal(tg_sim_step_vjp(w.s, NULL, &gv, NULL, NULL, NULL, NULL, &info), TG_OK);   // it is smooth in the length
    assert_int_equal(info.label, TG_GRAD_EXACT);
    tg_param_grad_free(p);
    drop(&w);
  }
}

// Contact forces that are held constant are never called exact, not where a step's last part has none: a box with a hinged arm that hits
// the floor with a corner and leaves it within the step.
static void constant_forces_of_an_impact_are_told(void **state) {
  (void)state;
  tgAnyContactOptions o = options_of("lcp", "zero_contact_gradient=true");
  Rig w = rig_of_text("<mujoco><option timestep='.01'/><worldbody><geom type='plane' size='5 5 .1' friction='.5'/>"
                      "<body pos='0 0 .3'><freejoint/><geom type='box' size='.1 .08 .06' mass='1'/>"
                      "<body pos='.12 0 0'><joint axis='0 1 0' range='-30 30' limited='true' damping='.01'/>"
                      "<geom type='capsule' fromto='0 0 0 .2 0 0' size='.03' mass='.3'/></body></body>"
                      "<body pos='0 0 .6'><freejoint/><geom type='sphere' size='.05' mass='.5'/></body></worldbody></mujoco>",
                      "lcp", &o.of);
  tgtRandom r = {100};
  int nv = w.s->m.nv, parts = 0, left = 0;
  tgReal *D = malloc(sizeof *D * (size_t)(4 * nv * nv));
  for (int d = 0; d < nv; d++) tg_sim_qvel(w.s)[d] = tgt_normal(&r);
  for (int t = 0; t < 40; t++) {
    tgGradInfo info;
    assert_int_equal(tg_sim_step_growing(w.s, 0.01, NULL), TG_OK);
    if (w.s->npart < 2) continue;
    parts++;
    left += w.s->nrow == 0;
    assert_int_equal(tg_sim_step_jacobian(w.s, D, &info), TG_OK);
    check_true(info.label == TG_GRAD_SURROGATE, "step %d with %d rows in its last part: %s", t, w.s->nrow, tg_grad_label_text(info.label));
  }
  check_true(parts > 1 && left > 0, "%d steps with impacts, %d that leave", parts, left);
  free(D);
  drop(&w);
}

// A flat box that lands on four corners at once: the turn of a geom or a body, however small, has them land one after another, and the
// velocity then jumps. Nothing is right for what jumps: that fails, and the switch is told.
static void a_jump_beside_an_impact_fails(void **state) {
  (void)state;
  Rig w = rig_of_text("<mujoco><option timestep='.01'/><worldbody><geom type='plane' size='5 5 .1' friction='.5'/>"
                      "<body pos='0 0 .3'><freejoint/><geom type='box' size='.1 .08 .06' mass='1'/></body></worldbody></mujoco>",
                      "toi", NULL);
  tg_sim_qvel(w.s)[0] = 0.4;
  for (int t = 0; t < 22; t++) assert_int_equal(tg_sim_step(w.s, 0.01, NULL), TG_OK);
  tgGradCheck check = {.pass = true};
  assert_int_equal(tg_grad_check_parameters(w.s, NULL, &check), TG_OK);
  const tgGradBlock *b = block(&check, "dL/dp");
  check_true(!check.pass && b->error > 1e-3, "error %g of %s: %g, reference %g", b->error, b->col_name, b->ours, b->reference);
  assert_true(b->spoiled > 0 && b->label >= TG_GRAD_ONE_SIDED && b->reason[0] != '\0');
  assert_int_equal(tg_sim_step(w.s, 0.01, NULL), TG_OK);
  assert_true(w.s->npart > 1);
  drop(&w);
}

// A loop that cannot close, as its last anchor is a millimetre beside the plane of its joints: no impulse does that, and the step has the
// least residual. A turn of an axis lets some of it close, which jumps. The pinned step knows of neither: the label is the step's own.
static void a_step_without_an_answer_is_a_surrogate(void **state) {
  (void)state;
  static const char text[] =
      "<mujoco><default><joint axis='0 1 0'/><geom type='capsule' size='.02' contype='0' conaffinity='0'/></default>"
      "<worldbody><site name='world' pos='0 0 .3'/><body><joint/><geom fromto='0 0 0 .3 0 0' mass='.5'/>"
      "<body pos='.3 0 0'><joint/><geom fromto='0 0 0 0 0 .3' mass='.4'/><body pos='0 0 .3'><joint/>"
      "<geom fromto='0 0 0 -.3 0 0' mass='.3'/><site name='end' pos='-.3 .001 0'/></body></body></body></worldbody>"
      "<equality><connect site1='end' site2='world'/></equality></mujoco>";
  static const char *const word[] = {"lcp", "toi"};
  for (int k = 0; k < 2; k++) {
    Rig w = rig_of_text(text, word[k], NULL);
    tgGradCheck check;
    assert_int_equal(tg_grad_check_step(w.s, NULL, &check), TG_OK);
    assert_int_equal(block(&check, "dv'/dq")->label, TG_GRAD_SURROGATE);
    assert_int_equal(tg_grad_check_parameters(w.s, NULL, &check), TG_OK);
    const tgGradBlock *b = block(&check, "dL/dp");
    check_true(!check.pass && b->error > 1e-3, "under %s: error %g of %s", word[k], b->error, b->col_name);
    check_true(b->label == TG_GRAD_SURROGATE && strstr(b->reason, "residual") != NULL, "under %s: %s, %s", word[k],
               tg_grad_label_text(b->label), b->reason);
    drop(&w);
  }
}

// Controls at an end of their ranges, several at once, with either side's end: the derivative is that of inside, in the controls and in the
// ranges, and differences of one side tell it as well as central ones; beside a body whose quaternion is another after each rounding.
static void ends_of_control_ranges_pass(void **state) {
  (void)state;
  static const char text[] =
      "<mujoco><worldbody><body pos='0 0 1'><joint name='a' axis='0 1 0'/><geom size='.1' pos='.3 0 0' mass='1'/>"
      "<body pos='.5 0 0'><joint name='b' axis='0 1 0'/><geom size='.1' pos='.2 0 0' mass='.01'/></body></body>"
      "<body pos='0 3 1' quat='.31 .53 -.72 .29'><freejoint/><geom size='.1'/></body></worldbody>"
      "<actuator><position joint='a' kp='20' ctrlrange='0 1'/><position joint='b' kp='3' ctrlrange='0 2'/>"
      "<motor joint='a' ctrlrange='-1 0'/><motor joint='b' ctrlrange='0 1' gear='.1'/></actuator></mujoco>";
  static const char *const word[] = {"lcp", "toi", "barrier", "damped"};
  for (int k = 0; k < 4; k++) {
    Rig w = rig_of_text(text, word[k], NULL);
    tgGradCheck check;
    tg_sim_qvel(w.s)[0] = 0.3;
    tg_sim_qvel(w.s)[1] = -0.7;
    assert_int_equal(tg_grad_check_step(w.s, NULL, &check), TG_OK);
    assert_int_equal(tg_grad_check_parameters(w.s, NULL, &check), TG_OK);
    if (!check.pass) show(&check);
    check_true(check.pass, "under %s", word[k]);
    const tgGradBlock *b = block(&check, "dv'/du");
    assert_int_equal(b->label, TG_GRAD_ONE_SIDED);
    check_true(b->error < 1e-7, "under %s: dv'/du is off by %g", word[k], b->error);
    drop(&w);
  }
}

// Under `toi` a ball at rest touches a wall without a force: a tie in the velocities' problem and in the positions', and neither side has
// the classes that the step has in both.
static void a_touch_without_a_force_is_checked_by_its_active_set(void **state) {
  (void)state;
  static const char text[] =
      "<mujoco><option timestep='.002'/><worldbody><geom type='plane' size='1 1 1'/><geom type='box' size='.1 1 1' pos='-.1 0 0'/>"
      "<body pos='.100001 0 .100001'><freejoint/><geom size='.1'/></body></worldbody></mujoco>";
  Rig w = rig_of_text(text, "toi", NULL);
  tgGradCheck check;
  for (int t = 0; t < 5; t++) assert_int_equal(tg_sim_step(w.s, 0.002, NULL), TG_OK);
  assert_int_equal(tg_grad_check_step(w.s, NULL, &check), TG_OK);
  if (!check.pass) show(&check);
  assert_int_equal(block(&check, "dv'/dv")->label, TG_GRAD_ONE_SIDED);
  assert_true(check.pass);
  drop(&w);
}

static void bad_states_are_an_error(void **state) {
  (void)state;
  Rig w = world(tgt_ball(), false);
  tgGradCheck check = {.pass = true};
  tg_sim_qvel(w.s)[1] = NAN;
  assert_int_equal(tg_grad_check_step(w.s, NULL, &check), TG_ERR_NOT_FINITE);
  assert_false(check.pass);
  tg_sim_qvel(w.s)[1] = 0;
  tgGradCheckOptions o = {0};
  assert_int_equal(tg_grad_check_step(w.s, &o, &check), TG_ERR_ARG);
  drop(&w);
}

// ---- rollouts ----

typedef struct Wrong { tgtReach reach; double factor; } Wrong;
static tgStatus wrong_loss(void *ctx, tgSim *sim, int t, int steps, tgReal *value, tgReal *gq, tgReal *gv, tgReal *gu) {
  Wrong *w = ctx;
  tgStatus status = tgt_reach(&w->reach, sim, t, steps, value, gq, gv, gu);
  if (gq != NULL && t == steps) gq[0] *= w->factor;
  return status;
}

// a caller that has had enough: no verdict, and everything as it was
static void a_check_can_be_cancelled(void **state) {
  (void)state;
  Rig w = world(tgt_runner(), false);
  tgGradCheckOptions o = tg_grad_check_default();
  tgGradCheck check;
  volatile int stop = 1;
  o.cancel = &stop;
  advance(w.s, 20);
  int nq = tg_model_nq(w.m), rows, cols;
  tgReal *before = malloc((size_t)nq * sizeof *before);
  memcpy(before, tg_sim_qpos(w.s), (size_t)nq * sizeof *before);
  assert_int_equal(tg_grad_check_step(w.s, &o, &check), TG_CANCELLED);
  assert_false(check.pass);
  assert_int_equal(tg_grad_check_parameters(w.s, &o, &check), TG_CANCELLED);
  assert_memory_equal(before, tg_sim_qpos(w.s), (size_t)nq * sizeof *before);
  const tgReal *size = tg_sim_param(w.s, "geom_size", &rows, &cols);
  assert_memory_equal(size, tg_model_field_named(w.m, "geom_size").data, (size_t)(rows * cols) * sizeof(tgReal));
  stop = 0;
  assert_int_equal(tg_grad_check_step(w.s, &o, &check), TG_OK);
  free(before);
  drop(&w);
}

static void check_rollout(tgModel *m, int steps, double factor, double drop_height, bool pass) {
  tgContact *c = tgt_contact(m);
  tgRolloutOptions o = tg_rollout_default();
  o.steps = steps;
  tgRollout *r = tg_rollout_create(m, c, &o, NULL);
  assert_non_null(r);
  int nu = tg_model_nu(m);
  tgReal *u = calloc((size_t)(steps * nu), sizeof *u);
  for (int i = 0; i < steps * nu; i++) u[i] = 0.5 * sin(0.37 * i);
  Wrong w = {{.body = 1, .target = {1, 0, 1}, .running = 0.2, .final = 3, .speed = 1e-2, .control = 1e-2}, factor};
  tgReal q0[16];
  memcpy(q0, tg_sim_qpos(tg_rollout_sim(r)), (size_t)tg_model_nq(m) * sizeof(tgReal));
  if (drop_height >= 0) q0[2] = 0.1 + drop_height;
  tgRolloutRun run = {.q0 = q0, .u = u, .loss = wrong_loss, .loss_ctx = &w};
  tgGradCheck check = {0};
  assert_int_equal(tg_grad_check_rollout(r, &run, NULL, &check), TG_OK);
  assert_int_equal(check.nblock, 4);
  if (check.pass != pass) show(&check);
  assert_int_equal(check.pass, pass);
  if (!pass) assert_false(block(&check, "rollout slope")->pass);
  free(u);
  tg_rollout_free(r);
  tg_contact_free(c);
  tg_model_free(m);
}

static void rollouts_pass(void **state) {
  (void)state;
  check_rollout(tgt_ball(), 60, 1, -1, true);
  check_rollout(tgt_runner(), 30, 1, -1, true);
}
// a ball that lies on the ground from the start: every run sits on the switch of its contact
static void resting_rollouts_are_checked_one_sided(void **state) {
  (void)state;
  check_rollout(tgt_ball(), 10, 1, 0, true);
  check_rollout(tgt_ball(), 10, 1.01, 0, false);
}
static void wrong_rollouts_are_refused(void **state) {
  (void)state;
  check_rollout(tgt_ball(), 60, 1.01, -1, false);
  check_rollout(tgt_runner(), 30, -1, -1, false);
}

// the start of every run lies on the end of a control's range: differences across it are none, those of one side are, and the step and the
// clamp are named
static void a_clamp_spoils_a_rollout(void **state) {
  (void)state;
  tgError e = {0};
  static const char cart[] =
      "<mujoco><option timestep='.01' gravity='0 0 0'/><worldbody><body name='cart'><joint name='rail' type='slide' axis='1 0 0'/>"
      "<geom size='.1' mass='1'/></body></worldbody><actuator><motor name='pull' joint='rail' ctrllimited='true' ctrlrange='-1 1'/>"
      "</actuator></mujoco>";
  Rig w = rig_of_text(cart, NULL, NULL);
  tgRolloutOptions o = tg_rollout_default();
  o.steps = 3;
  tgRollout *r = tg_rollout_create(w.m, NULL, &o, &e);
  check_true(r != NULL, "%s", e.text);
  tgReal u[3] = {0.5, 1, 0.25};
  Wrong loss = {{.body = 1, .target = {1, 0, 0}, .final = 3, .control = 1e-2}, 1};
  tgRolloutRun run = {.u = u, .loss = wrong_loss, .loss_ctx = &loss};
  tgGradCheck check = {0};
  assert_int_equal(tg_grad_check_rollout(r, &run, NULL, &check), TG_OK);
  const tgGradBlock *b = block(&check, "rollout du");
  if (!b->pass || b->spoiled == 0) show(&check);
  assert_true(b->pass && b->spoiled == 3 && b->label == TG_GRAD_ONE_SIDED);   // each of the three directions moves that control
  check_true(strstr(b->reason, "step 1: control range of actuator 'pull'") != NULL, "reason '%s'", b->reason);
  assert_int_equal(block(&check, "rollout dq0")->spoiled, 0);
  tg_rollout_free(r);
  drop(&w);
}

// |x| + (x - 1)^2 of the first joint at the end: `branch` is taken for the derivative of |x|, which `said` tells
typedef struct Kink { double branch; bool said; } Kink;
static tgStatus kinked_loss(void *ctx, tgSim *sim, int t, int steps, tgReal *value, tgReal *gq, tgReal *gv, tgReal *gu) {
  const Kink *k = ctx;
  (void)gv;
  (void)gu;
  double x = tgRe(tg_sim_qpos(sim)[0]);
  if (t != steps) return TG_OK;
  *value += fabs(x) + (x - 1) * (x - 1);
  if (gq != NULL) gq[0] += k->branch + 2 * (x - 1);
  return TG_OK;
}
static void kinked_choice(void *ctx, bool keep, tgGradInfo *grad) {
  const Kink *k = ctx;
  (void)keep;
  if (grad == NULL || !k->said) return;
  grad->label = TG_GRAD_ONE_SIDED;
  snprintf(grad->reason, sizeof grad->reason, "two branches");
}

// A loss at a kink: either side is right where the loss says that it is one of them, what lies between the two is none of them by its
// slope, and what lies outside is wrong throughout. Without that word the part fails, whatever its slope on one side.
static void a_kink_of_the_loss_has_two_sides(void **state) {
  (void)state;
  static const struct { Kink kink; bool parts, slope; } given[] = {
      {{1, true}, true, true}, {{-1, true}, true, true}, {{0.9, true}, true, false},
      {{1.01, true}, false, false}, {{1, false}, false, true}};
  static const char cart[] =
      "<mujoco><option timestep='.01' gravity='0 0 0'/><worldbody><body name='cart'><joint name='rail' type='slide' axis='1 0 0'/>"
      "<geom size='.1' mass='1'/></body></worldbody></mujoco>";
  Rig w = rig_of_text(cart, NULL, NULL);
  tgRolloutOptions o = tg_rollout_default();
  o.steps = 3;
  tgRollout *r = tg_rollout_create(w.m, NULL, &o, NULL);
  assert_non_null(r);
  for (size_t i = 0; i < sizeof given / sizeof *given; i++) {
    Kink kink = given[i].kink;
    tgRolloutRun run = {.loss = kinked_loss, .loss_ctx = &kink, .loss_choice = kinked_choice};
    tgGradCheck check = {0};
    assert_int_equal(tg_grad_check_rollout(r, &run, NULL, &check), TG_OK);
    const tgGradBlock *b = block(&check, "rollout dq0"), *slope = block(&check, "rollout slope");
    if (b->pass != given[i].parts || slope->pass != given[i].slope) show(&check);
    assert_int_equal(b->pass, given[i].parts);
    assert_int_equal(block(&check, "rollout dv0")->pass, given[i].parts);
    assert_int_equal(slope->pass, given[i].slope);
    if (kink.said) check_true(b->spoiled == 3 && strcmp(b->reason, "two branches") == 0, "spoiled %d, '%s'", b->spoiled, b->reason);
  }
  tg_rollout_free(r);
  drop(&w);
}

// what parts two modes, in words
static void differences_of_modes_are_named(void **state) {
  (void)state;
  static const char arm[] =
      "<mujoco><worldbody><geom name='floor' type='plane' size='1 1 1'/><body pos='0 0 1'><joint name='elbow' type='hinge' axis='0 1 0'/>"
      "<geom name='tip' size='.1'/></body><body pos='1 0 1'><joint name='rail' type='slide' axis='1 0 0'/><geom name='cart' size='.1'/>"
      "</body></worldbody><tendon><fixed name='cord'><joint joint='elbow' coef='1'/></fixed></tendon>"
      "<actuator><motor name='a' joint='elbow'/><motor name='b' joint='rail'/></actuator></mujoco>";
  Rig w = rig_of_text(arm, "lcp", NULL);
  enum { ACTS = 3 * 2, JOINTS = 2 };
  assert_int_equal(tgi_mode_clamps(w.m), ACTS + JOINTS + 1);
  int8_t clamp[2][ACTS + JOINTS + 1] = {{0}};
  tgiModeRow row[2][2] = {{{.kind = TG_ROW_NORMAL, .a = 0, .b = 1, .act = TGI_ACT_PRESSES}}};
  tgiMode from = {.nrow = 1, .row = row[0], .clamp = clamp[0]}, to = {.nrow = 1, .row = row[1], .clamp = clamp[1]};
  char text[200];
  memcpy(row[1], row[0], sizeof row[0]);
  assert_false(tgi_mode_difference(w.m, &from, &to, text, sizeof text));
  assert_string_equal(text, "");
  const struct { tgiModeRow a, b; const char *want; } rows[] = {
      {{.kind = TG_ROW_NORMAL, .a = 0, .b = 1}, {.kind = TG_ROW_NORMAL, .a = 0, .b = 1, .feature = 3},
       "contact of geom 'floor' and geom 'tip': other features meet"},
      {{.kind = TG_ROW_TANGENT, .a = 0, .b = 2, .act = TGI_ACT_HOLDS},
       {.kind = TG_ROW_TANGENT, .a = 0, .b = 2, .act = TGI_ACT_SLIDES_UP, .cls = 1},
       "contact of geom 'floor' and geom 'cart': "},
      {{.kind = TG_ROW_FRICTION, .a = 1, .act = TGI_ACT_HOLDS}, {.kind = TG_ROW_FRICTION, .a = 1, .act = TGI_ACT_SLIDES_DOWN, .cls = 1},
       "dry friction of joint 'rail': "},
      {{.kind = TG_ROW_FRICTION, .a = 0, .part = 1, .act = TGI_ACT_HOLDS}, {.kind = TG_ROW_FRICTION, .a = 0, .part = 1, .cls = 1},
       "dry friction of tendon 'cord': "},
      {{.kind = TG_ROW_LIMIT, .a = 1, .act = TGI_ACT_OTHERWISE}, {.kind = TG_ROW_LIMIT, .a = 1, .act = TGI_ACT_OTHERWISE, .cls = 2},
       "limit of joint 'rail': acts in another way"},
      {{.kind = TG_ROW_LIMIT, .a = 0, .part = 2, .act = TGI_ACT_OTHERWISE},
       {.kind = TG_ROW_LIMIT, .a = 0, .part = 2, .act = TGI_ACT_OTHERWISE, .cls = 2},
       "limit of tendon 'cord': acts in another way"}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    row[0][0] = rows[i].a;
    row[1][0] = rows[i].b;
    assert_true(tgi_mode_difference(w.m, &from, &to, text, sizeof text));
    check_true(strncmp(text, rows[i].want, strlen(rows[i].want)) == 0, "'%s', wanted '%s'", text, rows[i].want);
  }
  // one row more, first or last, is named as the one that begins or ends
  for (int more = 0; more < 2; more++) {
    row[0][0] = row[1][more] = rows[0].a;
    row[1][1 - more] = rows[4].a;
    to.nrow = 2;
    assert_true(tgi_mode_difference(w.m, &from, &to, text, sizeof text));
    check_true(more == 0 || strcmp(text, "limit of joint 'rail': begins to act") == 0, "'%s'", text);
    assert_true(tgi_mode_difference(w.m, &to, &from, text, sizeof text));
    check_true(more == 0 || strcmp(text, "limit of joint 'rail': lets go") == 0, "'%s'", text);
  }
  to.nrow = 1;
  row[1][0] = row[0][0];
  const char *const ranges[ACTS + JOINTS + 1] = {
      "control range of actuator 'a'", "control range of actuator 'b'", "force range of actuator 'a'",
      "force range of actuator 'b'", "activation range of actuator 'a'", "activation range of actuator 'b'",
      "actuator force range of joint 'elbow'", "actuator force range of joint 'rail'", "spring rest range of tendon 'cord'"};
  for (int i = 0; i < ACTS + JOINTS + 1; i++) {
    char want[200];
    snprintf(want, sizeof want, "%s: inside -> at its upper end", ranges[i]);
    clamp[1][i] = 1;
    assert_true(tgi_mode_difference(w.m, &from, &to, text, sizeof text));
    assert_string_equal(text, want);
    clamp[1][i] = 0;
  }
  to.rank = 2;
  assert_true(tgi_mode_difference(w.m, &from, &to, text, sizeof text));
  assert_string_equal(text, "redundant rows: 0 independent ones -> 2");
  drop(&w);
}

// What a mode has of a step: rows that act, of a contact with friction along one tangent alone not the other; and which end each force of
// motors is at.
static void modes_have_what_acts(void **state) {
  (void)state;
  static const char scene[] =
      "<mujoco><option timestep='.01'/><worldbody><geom name='floor' type='plane' size='1 1 1'/>"
      "<body pos='0 0 .1'><freejoint/><geom name='ball' size='.1' mass='1'/></body>"
      "<body pos='0 1 1'><joint type='slide' axis='1 0 0' actuatorfrcrange='-1 1' actuatorfrclimited='true'/><geom size='.1' mass='1'/>"
      "<body><joint name='y' type='slide' axis='0 1 0' actuatorfrcrange='-1 1' actuatorfrclimited='true'/><geom size='.1' mass='1'/></body>"
      "</body></worldbody><contact><pair geom1='floor' geom2='ball' friction='0.3 0'/></contact>"
      "<actuator><motor joint='y'/></actuator></mujoco>";
  tgAnyContactOptions o = options_of("lcp", "contact_rule=touching");
  Rig w = rig_of_text(scene, "lcp", &o.of);
  enum { CLAMPS = 3 + 3 };
  for (int force = -2; force <= 2; force++) {
    tgiModeRow row[8];
    int8_t clamp[CLAMPS];
    tgiMode mode = {.caprow = 8, .row = row, .clamp = clamp};
    tg_sim_reset(w.s);
    tg_sim_ctrl(w.s)[0] = 0.75 * force;
    assert_int_equal(tg_sim_step(w.s, 0.01, NULL), TG_OK);
    assert_int_equal(tgi_mode_clamps(w.m), CLAMPS);
    tgi_mode_capture(w.s, &mode);
    assert_int_equal(mode.nrow, 2);
    assert_true(row[0].kind == TG_ROW_NORMAL && row[0].act == TGI_ACT_PRESSES);
    assert_true(row[1].kind == TG_ROW_TANGENT && row[1].part == 1 && row[1].act == TGI_ACT_HOLDS);
    for (int i = 0; i < CLAMPS; i++) assert_int_equal(clamp[i], i == 5 ? (force == -2 ? -1 : force == 2 ? 1 : 0) : 0);
  }
  drop(&w);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(right_gradients_pass), cmocka_unit_test(a_block_of_zeros_passes), cmocka_unit_test(small_wheels_pass),
                                     cmocka_unit_test(a_switch_of_features_is_named),
                                     cmocka_unit_test(drag_at_rest_passes),
                                     cmocka_unit_test(wrong_gradients_are_refused),
    cmocka_unit_test(the_contact_that_spoils_is_named), cmocka_unit_test(the_clamp_that_spoils_is_named),
    cmocka_unit_test(the_limit_that_spoils_is_named), cmocka_unit_test(a_corner_of_ties_is_checked_by_its_active_set),
    cmocka_unit_test(legs_at_their_limits_in_free_fall),
    cmocka_unit_test(ends_of_control_ranges_pass), cmocka_unit_test(a_touch_without_a_force_is_checked_by_its_active_set),
    cmocka_unit_test(bad_states_are_an_error), cmocka_unit_test(a_check_can_be_cancelled),
    cmocka_unit_test(rollouts_pass), cmocka_unit_test(resting_rollouts_are_checked_one_sided),
    cmocka_unit_test(wrong_rollouts_are_refused),
    cmocka_unit_test(a_clamp_spoils_a_rollout), cmocka_unit_test(a_kink_of_the_loss_has_two_sides),
    cmocka_unit_test(differences_of_modes_are_named),
    cmocka_unit_test(modes_have_what_acts),
    cmocka_unit_test(parameters_of_impacts_pass),
    cmocka_unit_test(a_jump_beside_an_impact_fails),
    cmocka_unit_test(a_step_without_an_answer_is_a_surrogate),
    cmocka_unit_test(a_spring_at_rest_has_two_sides),
    cmocka_unit_test(constant_forces_of_an_impact_are_told),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
