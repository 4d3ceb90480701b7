// test_servo.c: actuators taken at the end of a step: closed forms, which are held at a range, derivatives in all of the
// state, controls and parameters under every rule, labels at the ends of ranges, steps on a tape, and no gain that makes
// a step unstable.
#include <stdlib.h>
#include <string.h>

#include "contact/contact.h"
#include "dyn/forces.h"
#include "model/blocks.h"
#include "support/verify.h"
#include "step/label_check.h"
#include "step/param_check.h"
#include "step/step.h"
#include "step/whole_check.h"
#include "support/rig.h"
#include "tangere/lcp.h"

// A ball on the floor that carries an arm of three hinges and a ball joint: servos on each, forces with ranges, alone and
// summed, a gain that depends on its input, tendons along the arm and across to a second one, a damper on
// the free joint.
static const char arm_scene[] =
    "<mujoco><option timestep='0.004'/><worldbody><geom name='floor' type='plane' size='5 5 .1'/>"
    "<body name='base' pos='0 0 .0999'><freejoint name='root'/><geom size='.1' density='9000'/>"
    "<body name='l1' pos='0 0 .12'><joint name='h1' axis='0 1 0' damping='.02'/>"
    "<geom type='capsule' size='.03' fromto='0 0 0 .15 0 .1' density='9000' contype='0' conaffinity='0'/>"
    "<body name='l2' pos='.15 0 .1'><joint name='h2' axis='1 0 .3' stiffness='.3'/>"
    "<geom type='capsule' size='.03' fromto='0 0 0 0 .15 .1' density='9000' contype='0' conaffinity='0'/>"
    "<body name='l3' pos='0 .15 .1'><joint name='h3' axis='.2 1 0' actuatorfrcrange='-.6 .9'/>"
    "<geom type='capsule' size='.03' fromto='0 0 0 .1 0 .1' density='9000' contype='0' conaffinity='0'/>"
    "<body name='tip' pos='.1 0 .1'><joint name='b' type='ball'/>"
    "<geom type='box' size='.05 .03 .04' density='9000' contype='0' conaffinity='0'/></body></body></body>"
    "<body name='r1' pos='0 .1 .1'><joint name='h4' axis='1 .2 0'/>"
    "<geom type='capsule' size='.03' fromto='0 0 0 0 .15 .1' density='9000' contype='0' conaffinity='0'/>"
    "<body name='r2' pos='0 .15 .1'><joint name='h5' type='slide' axis='0 1 0'/>"
    "<geom type='capsule' size='.03' fromto='0 0 0 0 .1 0' density='9000' contype='0' conaffinity='0'/>"
    "</body></body></body></body></worldbody>"
    "<tendon><fixed name='across'><joint joint='h2' coef='.5'/><joint joint='h5' coef='.8'/></fixed>"
    "<fixed name='t'><joint joint='h1' coef='.7'/><joint joint='h2' coef='-.4'/></fixed></tendon>"
    "<actuator><position name='p1' joint='h1' kp='40' kv='2' forcerange='-1.5 2'/>"
    "<general name='g2' joint='h2' gaintype='affine' gainprm='9 -6 -.8' biastype='affine' biasprm='.1 -12 -.7' ctrlrange='-.8 .8'/>"
    "<position name='p3' joint='h3' kp='15' kv='.4' gear='1.3'/><velocity name='v3' joint='h3' kv='.8' forcerange='-.5 .5'/>"
    "<position name='pb' joint='b' kp='6' kv='.2' gear='.3 1 -.5 0 0 0' forcerange='-.8 .8'/>"
    "<position name='pt' tendon='t' kp='30' kv='1' gear='.8' forcerange='-4 4'/>"
    "<general name='pa' tendon='across' gaintype='affine' gainprm='60 -10 -1' biastype='affine' biasprm='0 -50 -2'"
    " forcerange='-9 9'/>"
    "<velocity name='vr' joint='root' kv='2' gear='0 0 0 .2 0 1'/></actuator></mujoco>";

enum { STATES = 6 };
static const char *const rules[] = {"", "contact_rule=closing", "symplectic=false", "explicit_damping=true", "servos=explicit"};

static Rig arm(const char *settings) {
  tgAnyContactOptions o = options_of("lcp", settings);
  return rig_of_text(arm_scene, "lcp", &o.of);
}

static void arm_state(tgSim *s, tgtRandom *r) {
  tgReal step[14];
  tg_sim_reset(s);
  assert_int_equal(s->m.nv, 14);
  for (int i = 0; i < s->m.nv; i++) step[i] = i < 3 ? 0 : tgt_uniform(r, -0.2, 0.2);
  tg_model_integrate(s->model, s->qpos, step, s->qpos);
  for (int i = 0; i < s->m.nv; i++) s->qvel[i] = i == 2 ? 0 : tgt_uniform(r, -0.8, 0.8);
  for (int i = 0; i < s->m.nu; i++) s->ctrl[i] = tgt_uniform(r, -1, 1);
}

// ---- values ----

// I (v' - v) = h (kp (u - q - h v') - kv v')
static void test_closed_form(void **state) {
  (void)state;
  Rig r = rig_of_text("<mujoco><worldbody><body><joint name='j' axis='0 0 1'/><inertial pos='0 0 0' mass='1' diaginertia='.3 .3 .3'/>"
                      "</body></worldbody><actuator><position joint='j' kp='2000' kv='200'/></actuator></mujoco>", "lcp", NULL);
  double q = 0.4, v = -0.7, u = 0.1, dt = 0.002, I = 0.3;
  for (int k = 0; k < 50; k++) {
    r.s->qpos[0] = q;
    r.s->qvel[0] = v;
    r.s->ctrl[0] = u;
    assert_int_equal(tg_sim_step(r.s, dt, NULL), TG_OK);
    v = (I * v + dt * 2000 * (u - q)) / (I + dt * 200 + dt * dt * 2000);
    q += dt * v;
    check_close(r.s->qvel[0], v, 1e-12);
    check_close(r.s->qpos[0], q, 1e-13);
  }
  drop(&r);
}

// the balance with forces of the law at the step's end, each within its range (support/verify.h); all ways of being held occur
static void test_held(void **state) {
  (void)state;
  int seen[4] = {0}, sums[3] = {0};
  for (int rule = 0; rule < 5; rule++) {
    if (rule == 1) continue;   // whose rows are elsewhere
    Rig r = arm(rules[rule]);
    for (int k = 0; k < 40; k++) {
      tgtRandom random = {.s = (uint64_t)(100 * rule + k)};
      arm_state(r.s, &random);
      assert_int_equal(tg_sim_step_growing(r.s, h, NULL), TG_OK);
      tgt_check_step(r.s, 1e-9);
      for (int i = 0; i < r.m->nu && rule < 4; i++) seen[1 + r.s->act_hold[i]]++;
      for (int j = 0; j < r.m->njnt && rule < 4; j++) sums[1 + r.s->jnt_hold[j]]++;
    }
    drop(&r);
  }
  for (int i = 0; i < 3; i++) check_true(seen[i] > 0 && sums[i] > 0, "held %d: %d forces, %d sums", i - 1, seen[i], sums[i]);
}

// Gains of 1 to 1e8, steps of 1e-4 to 0.1 s: the energy of a hinge and its servo never grows; with a force range, it is at rest at last.
static void test_any_gain(void **state) {
  (void)state;
  for (double kp = 1; kp <= 1e8; kp *= 10)
    for (double kv = 0; kv <= 1e8; kv = kv == 0 ? 1 : kv * 100)
      for (double dt = 1e-4; dt < 0.2; dt *= 10) {
        char text[512];
        snprintf(text, sizeof text, "<mujoco><option gravity='0 0 0'/><worldbody><body><joint name='j' axis='0 0 1'/>"
                 "<inertial pos='.1 0 0' mass='1' diaginertia='.01 .01 .01'/></body></worldbody><actuator>"
                 "<position joint='j' kp='%g' kv='%g' %s/></actuator></mujoco>", kp, kv, dt > 0.01 ? "forcerange='-50 50'" : "");
        Rig r = rig_of_text(text, "lcp", NULL);
        r.s->qpos[0] = 0.3;
        r.s->qvel[0] = 2;
        double before = INFINITY, start = 0;
        for (int k = 0; k < 100; k++) {
          double v = tgRe(r.s->qvel[0]), q = tgRe(r.s->qpos[0]), energy = 0.5 * 0.02 * v * v + 0.5 * kp * q * q;
          if (k == 0) start = energy;
          if (dt < 0.01) check_true(energy <= before * (1 + 1e-12) + 1e-15, "kp %g, kv %g, %g s: %g after %g", kp, kv, dt, energy, before);
          else check_true(energy <= start * (1 + 1e-9) + 50 * 0.5, "kp %g, kv %g, %g s: %g after %g", kp, kv, dt, energy, start);
          before = energy;
          assert_int_equal(tg_sim_step(r.s, dt, NULL), TG_OK);
        }
        drop(&r);
      }
}

// ---- derivatives ----

static void test_derivatives(void **state) {
  (void)state;
  for (int rule = 0; rule < 5; rule++) {
    Rig r = arm(rules[rule]);
    for (int k = 0; k < STATES; k++) {
      tgtRandom random = {.s = (uint64_t)(31 * rule + k)};
      arm_state(r.s, &random);
      tgt_check_whole_step(r.s, rules[rule], &random);
    }
    drop(&r);
  }
}

static void test_parameters(void **state) {
  (void)state;
  static const char *const wanted[] = {"act_gain",      "act_bias",        "act_gear",    "act_forcerange",
                                       "act_ctrlrange", "jnt_actfrcrange", "opt_timestep"};
  tgtParamSeen seen = {0};
  for (int rule = 0; rule < 4; rule++) {
    Rig r = arm(rules[rule]);
    for (int k = 0; k < STATES; k++) {
      tgtRandom random = {.s = (uint64_t)(57 * rule + k)};
      arm_state(r.s, &random);
      tgt_unequal(r.s);
      assert_true(tgt_check_params(r.s, h, &random, tolerance, tolerance == 1e-8 ? 1e-4 : 1e-2, rules[rule], &seen));
    }
    drop(&r);
  }
  for (int k = 0; tg_param_name(k) != NULL; k++)
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
      if (strcmp(tg_param_name(k), wanted[i]) == 0) check_true(seen.acts[k] > 0, "%s moves nothing", wanted[i]);
}

// x' W y by its gains, gear, input and step, against the matrix itself
typedef struct Weights { tgSim *s; const tgReal *x, *y; } Weights;

static tgStatus weights(void *ctx, const tgReal *at, tgReal *out) {
  Weights *k = ctx;
  tgSim *s = k->s;
  int n = 0;
  for (int i = 0; i < 3 * s->m.nu; i++) tg_sim_param(s, "act_gain", NULL, NULL)[i] = at[n++];
  for (int i = 0; i < 3 * s->m.nu; i++) tg_sim_param(s, "act_bias", NULL, NULL)[i] = at[n++];
  for (int i = 0; i < 6 * s->m.nu; i++) tg_sim_param(s, "act_gear", NULL, NULL)[i] = at[n++];
  for (int i = 0; i < s->m.nu; i++) s->ctrl[i] = at[n++];
  memset(s->Mh, 0, (size_t)s->m.nM * sizeof *s->Mh);
  tgi_servo_matrix(s, at[n]);
  *out = tgi_block_form(&s->m, k->x, s->Mh, k->y);
  return TG_OK;
}

static void test_matrix(void **state) {
  (void)state;
  Rig r = arm("");
  tgtRandom random = {.s = 5};
  arm_state(r.s, &random);
  assert_int_equal(tg_sim_step_growing(r.s, h, NULL), TG_OK);
  int nu = r.m->nu, n = 13 * nu + 1;
  tgReal x[14], y[14], at[128] = {0}, D[128] = {0}, gu[16] = {0}, dt = 0;
  tgtDeriv d = {.name = "servo matrix", .nx = n, .ny = 1, .map = weights, .ctx = &(Weights){r.s, x, y}, .tol = 1e-8, .step = 1e-4};
  assert_true(n <= 128);
  tgt_random_vector(&random, 14, x);
  tgt_random_vector(&random, 14, y);
  memcpy(at, r.s->m.act_gain, 3 * (size_t)nu * sizeof *at);
  memcpy(at + 3 * nu, r.s->m.act_bias, 3 * (size_t)nu * sizeof *at);
  memcpy(at + 6 * nu, r.s->m.act_gear, 6 * (size_t)nu * sizeof *at);
  for (int i = 0; i < nu; i++) at[12 * nu + i] = r.s->ctrl[i] = 0.3 + 0.05 * i;
  at[13 * nu] = h;
  tgParamGrad *p = tg_param_grad_create(r.m, (const char *[]){"act_gain", "act_bias", "act_gear"}, 3, NULL, NULL);
  assert_non_null(p);
  tgi_servo_matrix_vjp(r.s, h, x, y, gu, p, &dt);
  memcpy(D, tg_param_grad_field(p, "act_gain", NULL, NULL), 3 * (size_t)nu * sizeof *D);
  memcpy(D + 3 * nu, tg_param_grad_field(p, "act_bias", NULL, NULL), 3 * (size_t)nu * sizeof *D);
  memcpy(D + 6 * nu, tg_param_grad_field(p, "act_gear", NULL, NULL), 6 * (size_t)nu * sizeof *D);
  memcpy(D + 12 * nu, gu, (size_t)nu * sizeof *D);
  D[13 * nu] = dt;
  tgt_check_jacobian(&d, at, D);
  tg_param_grad_free(p);
  drop(&r);
}

// a box on its face, whose contacts are redundant, with a servo whose stiffness the control sets
static const char box_scene[] =
    "<mujoco><worldbody><geom name='floor' type='plane' size='5 5 .1'/><body name='box' pos='0 0 .0999'><freejoint/>"
    "<geom type='box' size='.2 .15 .1' density='500'/><body pos='0 0 .1'><joint name='j' axis='0 1 0'/>"
    "<geom type='capsule' size='.03' fromto='0 0 0 .1 0 .2' density='9000' contype='0' conaffinity='0'/></body></body></worldbody>"
    "<actuator><general joint='j' gaintype='affine' gainprm='3 -20 -3' biastype='affine' biasprm='0 -20 -1'/></actuator></mujoco>";

static void test_redundant(void **state) {
  (void)state;
  tgtParamSeen seen = {0};
  for (int rule = 0; rule < 2; rule++) {
    tgAnyContactOptions o = options_of("lcp", rules[rule]);
    Rig r = rig_of_text(box_scene, "lcp", &o.of);
    for (int k = 0; k < 2; k++) {
      tgtRandom random = {.s = (uint64_t)(7 * rule + k)};
      tg_sim_reset(r.s);
      r.s->qpos[7] = 0.2;
      r.s->qvel[6] = 0.4 - k;
      r.s->ctrl[0] = 0.7;
      tgt_unequal(r.s);
      tgt_check_whole_step(r.s, "box", &random);
      assert_true(tgt_check_params(r.s, h, &random, tolerance, tolerance == 1e-8 ? 1e-4 : 1e-2, "box", &seen));
      assert_true(r.s->info.rank_deficient > 0);
    }
    drop(&r);
  }
}

// ---- labels, tapes ----

// Where the force at the end is the end of its range, exactly: one-sided, with a kink that differences see. Apart from there exact.
static void test_label(void **state) {
  (void)state;
  const char *range[2] = {"forcerange='-3 3'", "forcerange='-30 30'"}, *sum[2] = {"", "actuatorfrcrange='-3 3'"};
  for (int k = 0; k < 2; k++) {
    char text[600];
    snprintf(text, sizeof text, "<mujoco><worldbody><body><joint name='j' axis='0 0 1' %s/>"
             "<inertial pos='0 0 0' mass='1' diaginertia='.3 .3 .3'/></body></worldbody>"
             "<actuator><position joint='j' kp='400' kv='20' %s/></actuator></mujoco>", sum[k], range[k]);
    Rig r = rig_of_text(text, "lcp", NULL);
    double q = 0.2, v = -0.1, end = v + h * 3 / 0.3, at = q + h * end + (3 + 20 * end) / 400;
    for (int side = -1; side < 2; side++) {
      tgGradInfo info;
      tgReal g = 1;
      r.s->qpos[0] = q;
      r.s->qvel[0] = v;
      r.s->ctrl[0] = at + 1e-3 * side;
      double kink;
      assert_int_equal(tgt_jump(r.s, h, tgt_tie_size, 0, NULL, &kink), TG_OK);
      assert_int_equal(tg_sim_step(r.s, h, NULL), TG_OK);
      assert_int_equal(tg_sim_step_vjp(r.s, NULL, &g, NULL, NULL, NULL, NULL, &info), TG_OK);
      if (side != 0) assert_int_equal(k == 0 ? r.s->act_hold[0] : r.s->jnt_hold[0], side > 0);
      assert_int_equal(info.label, side == 0 ? TG_GRAD_ONE_SIDED : TG_GRAD_EXACT);
      check_true(side == 0 ? kink > 0.05 : kink < 1e-4, "side %d: left and right differ by %g", side, kink);
    }
    drop(&r);
  }
}

// The same in the flow before an impact: a ball meets the floor within the step, beside a hinge whose force is at its end there.
static void test_label_before_impact(void **state) {
  (void)state;
  tgAnyContactOptions o = options_of("lcp", "contact_rule=closing");
  Rig r = rig_of_text("<mujoco><worldbody><geom type='plane' size='5 5 .1'/><body pos='0 0 .104'><joint type='slide' axis='0 0 1'/>"
                      "<geom size='.1' mass='1'/></body><body pos='0 0 2'><joint name='j' axis='0 0 1'/>"
                      "<inertial pos='0 0 0' mass='1' diaginertia='.3 .3 .3'/></body></worldbody>"
                      "<actuator><position joint='j' kp='400' kv='20' forcerange='-3 3'/></actuator></mujoco>", "lcp", &o.of);
  double t = (sqrt(4 + 4 * 9.81 * 0.004) - 2) / (2 * 9.81), q = 0.2, v = -0.1, end = v + t * 3 / 0.3,
         at = q + t * end + (3 + 20 * end) / 400;
  for (int side = -1; side < 2; side++) {
    tgGradInfo info;
    tgReal g[2] = {1, 1};
    tg_sim_reset(r.s);
    r.s->qpos[1] = q;
    r.s->qvel[0] = -2;
    r.s->qvel[1] = v;
    r.s->ctrl[0] = at + 1e-3 * side;
    assert_int_equal(tg_sim_step_growing(r.s, h, NULL), TG_OK);
    assert_int_equal(r.s->info.nimpact, 1);
    assert_int_equal(tg_sim_step_vjp(r.s, NULL, g, NULL, NULL, NULL, NULL, &info), TG_OK);
    check_true(info.label == (side == 0 ? TG_GRAD_ONE_SIDED : TG_GRAD_EXACT), "side %d: label %d, %s", side, (int)info.label, info.reason);
  }
  drop(&r);
}

// a step made again from its record has the same bits, what was held included
static void test_record(void **state) {
  (void)state;
  int held = 0;
  for (int rule = 0; rule < 2; rule++) {
    Rig r = arm(rules[rule]);
    tgSim *s = r.s;
    tg_sim_freeze_memory(s, true);
    for (int k = 0; k < 20; k++) {
      tgtRandom random = {.s = (uint64_t)(11 * rule + k)};
      tgReal q[16], v[16], end[16];
      int hold[16];
      bool solved;
      arm_state(s, &random);
      memcpy(q, s->qpos, (size_t)s->m.nq * sizeof *q);
      memcpy(v, s->qvel, (size_t)s->m.nv * sizeof *v);
      assert_int_equal(tg_sim_step_growing(s, h, NULL), TG_OK);
      void *record = malloc(tgi_step_record_bytes(s));
      tgi_step_record(s, record);
      memcpy(end, s->end.vel, (size_t)s->m.nv * sizeof *end);
      for (int i = 0; i < s->m.nu; i++) {
        hold[i] = s->act_hold[i];
        held += abs(hold[i]) == 1;
        s->act_hold[i] = TGI_HOLD_NOT;
      }
      memcpy(s->qpos, q, (size_t)s->m.nq * sizeof *q);
      memcpy(s->qvel, v, (size_t)s->m.nv * sizeof *v);
      assert_int_equal(tgi_step_revisit(s, h, record, &solved), TG_OK);
      assert_false(solved);
      assert_memory_equal(end, s->end.vel, (size_t)s->m.nv * sizeof *end);
      assert_memory_equal(hold, s->act_hold, (size_t)s->m.nu * sizeof *hold);
      free(record);
    }
    drop(&r);
  }
  assert_true(held > 10);
}

// A tendon across trees, or on a joint whose sum of forces is limited, is taken at the start; within a tree it is not.
static void test_tendons(void **state) {
  (void)state;
  static const char *const limit[2] = {"", "actuatorfrcrange='-9 9'"}, *end[2] = {"</body>", ""}, *close[2] = {"", "</body>"};
  for (int one = 0; one < 2; one++)
    for (int sum = 0; sum < 2; sum++) {
      char text[900];
      snprintf(text, sizeof text, "<mujoco><worldbody><body><joint name='a' axis='0 0 1' %s/>"
               "<inertial pos='.1 0 0' mass='1' diaginertia='.3 .3 .3'/>%s<body><joint name='b' axis='0 0 1'/>"
               "<inertial pos='.1 0 0' mass='1' diaginertia='.3 .3 .3'/></body>%s</worldbody>"
               "<tendon><fixed name='t'><joint joint='a' coef='1'/><joint joint='b' coef='1'/></fixed></tendon>"
               "<actuator><position tendon='t' kp='3'/></actuator></mujoco>", limit[sum], end[one], close[one]);
      Rig r = rig_of_text(text, "lcp", NULL);
      assert_int_equal(tg_sim_step(r.s, h, NULL), TG_OK);
      assert_int_equal(r.s->act_hold[0], one == 1 && sum == 0 ? TGI_HOLD_NOT : TGI_HOLD_START);
      drop(&r);
    }
}

// Gains that drive an actuator away from where it is are smooth at 0; beyond half of what the mass resists they are taken at the start.
static void test_driving(void **state) {
  (void)state;
  Rig r = rig_of_text("<mujoco><worldbody><body><joint name='j' axis='0 0 1'/><inertial pos='0 0 0' mass='1' diaginertia='.3 .3 .3'/>"
                      "</body></worldbody><actuator><motor joint='j'/></actuator></mujoco>", "lcp", NULL);
  const double gain[5] = {-1, 0, 1, 30, 50}, I = 0.3, v = 2, f = 5;
  for (int k = 0; k < 5; k++) {
    r.s->qpos[0] = 0;
    r.s->qvel[0] = v;
    r.s->ctrl[0] = f;
    tg_sim_param(r.s, "act_bias", NULL, NULL)[2] = gain[k];
    assert_int_equal(tg_sim_step(r.s, h, NULL), TG_OK);
    bool start = 2 * h * gain[k] > I;
    assert_int_equal(r.s->act_hold[0], start ? TGI_HOLD_START : TGI_HOLD_NOT);
    check_close(r.s->qvel[0], start ? v + h * (f + gain[k] * v) / I : (I * v + h * f) / (I - h * gain[k]), 1e-13);
  }
  drop(&r);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_closed_form), cmocka_unit_test(test_held),       cmocka_unit_test(test_any_gain),
      cmocka_unit_test(test_derivatives), cmocka_unit_test(test_parameters), cmocka_unit_test(test_redundant),
      cmocka_unit_test(test_matrix),
      cmocka_unit_test(test_label),       cmocka_unit_test(test_record),
      cmocka_unit_test(test_label_before_impact),     cmocka_unit_test(test_driving),
      cmocka_unit_test(test_tendons),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
