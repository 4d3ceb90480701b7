// test_physics.c: joints as physics, against what is known without the engine: what a weld opens by, what a motor with
// a range gives, a four-bar that a connect closes, its gradient against the rigid loop's, a joint that follows
// another, tendons at their limits.
#include <stdio.h>

#include "contact/contact.h"
#include "joint/joint.h"
#include "math/onset.h"
#include "support/deriv.h"
#include "support/rig.h"

static void run(tgSim *s, double h, int steps) {
  for (int k = 0; k < steps; k++) {
    tgStatus status = tg_sim_step(s, h, NULL);
    check_true(status == TG_OK, "step %d: %s", k, s->error.text);
  }
}

static bool minimises(int w) { return strcmp(tgi_contact_table(w)->stepper, "minimise") == 0; }
static bool by_forces(int w) {
  const char *stepper = tgi_contact_table(w)->stepper;
  return strcmp(stepper, "explicit") == 0 || strcmp(stepper, "midpoint") == 0;
}

// ---- what an equality opens by ----

// A body of 2 kg, its centre of mass r beside the anchor of a weld to the world.
static Rig welded(const char *word, double r, double opening) {
  char text[700], settings[64];
  snprintf(settings, sizeof settings, "equality_opening=%.17g", opening);
  tgAnyContactOptions o = options_of(word, settings);
  snprintf(text, sizeof text,
           "<mujoco><option gravity='0 0 -9.80665'/><worldbody><body name='b'><freejoint/>"
           "<inertial pos='%g 0 0' mass='2' diaginertia='.01 .02 .02'/>"
           "</body></worldbody><equality><weld body1='b'/></equality></mujoco>", r);
  return rig_of_text(text, word, &o.of);
}

static void test_opening(void **state) {
  (void)state;
  static const double opening[2] = {1e-5, 1e-3}, step[3] = {0.001, 0.005, 0.02};
  for (int w = 0; tg_contact_words(w) != NULL; w++)
    for (int i = 0; i < 2 && minimises(w); i++)
      for (int j = 0; j < 3; j++) {
        Rig r = welded(tg_contact_words(w), 0, opening[i]);
        run(r.s, step[j], 5000);   // the softest spring under the shortest steps swings longest
        check_true(fabs(r.s->qpos[2] + opening[i]) < 1e-6 * opening[i], "%s, h %g: opens by %.10g of %g",
                   tg_contact_words(w), step[j], -r.s->qpos[2], opening[i]);
        drop(&r);
      }
}

// r from the anchor the weight turns the weld by m g r/(k L^2), L the radius of gyration about the anchor: at the
// centre of mass that is opening r^2/L^2 more
static void test_turn(void **state) {
  (void)state;
  double r = 0.3, L2 = (0.01 + 0.02 + 0.02) / 2 / 2 + r * r, opening = 1e-6;
  for (int w = 0; tg_contact_words(w) != NULL; w++) {
    if (!minimises(w)) continue;
    Rig rig = welded(tg_contact_words(w), r, opening);
    run(rig.s, 0.01, 400);
    double angle = 2 * atan2(rig.s->qpos[5], rig.s->qpos[3]);
    check_true(fabs(rig.s->qpos[2] + opening) < 1e-4 * opening, "opens by %g", -rig.s->qpos[2]);
    check_true(fabs(angle - opening * r / L2) < 1e-4 * opening * r / L2, "turns by %g, not %g", angle, opening * r / L2);
    drop(&rig);
  }
}

// under forces the body hangs at g/omega^2, and comes to rest there without going past: the damping is critical
static void test_sag(void **state) {
  (void)state;
  for (int w = 0; tg_contact_words(w) != NULL; w++) {
    if (!by_forces(w)) continue;
    Rig r = welded(tg_contact_words(w), 0, 1);
    double sag = 9.80665 / (200.0 * 200.0), lowest = 0;
    for (int k = 0; k < 2000; k++) {
      run(r.s, 1e-4, 1);
      lowest = fmin(lowest, r.s->qpos[2]);
    }
    check_true(fabs(r.s->qpos[2] + sag) < 1e-9 && lowest > -sag - 1e-9, "hangs at %g, lowest %g, not %g", r.s->qpos[2], lowest, -sag);
    drop(&r);
  }
}

// ---- ranges of forces ----

// A slide of 2 kg under motors that ask for more than their ranges.
static const char *const driven =
    "<mujoco><option gravity='0 0 0'/><worldbody><body><joint name='j' type='slide' axis='1 0 0' %s/>"
    "<inertial pos='0 0 0' mass='2' diaginertia='1 1 1'/></body></worldbody>"
    "<actuator><motor joint='j' gear='3' forcelimited='true' forcerange='-1 .5'/>"
    "<motor joint='j' forcelimited='true' forcerange='-4 4'/></actuator></mujoco>";

static void test_motor(void **state) {
  (void)state;
  // what both give: 3 x 0.5 + 4; with a sum that is limited, its end
  static const char *const limit[2] = {"", "actuatorfrclimited='true' actuatorfrcrange='-2 2.5'"};
  static const double force[2] = {5.5, 2.5}, back[2] = {-7, -2};
  for (int w = 0; tg_contact_words(w) != NULL; w++)
    for (int k = 0; k < 2; k++) {
      char text[700];
      double h = 0.01;
      snprintf(text, sizeof text, driven, limit[k]);
      Rig r = rig_of_text(text, tg_contact_words(w), NULL);
      r.s->ctrl[0] = r.s->ctrl[1] = 100;
      run(r.s, h, 10);
      check_close(r.s->qvel[0], 10 * h * force[k] / 2, 1e-11);
      r.s->ctrl[0] = r.s->ctrl[1] = -100;
      run(r.s, h, 10);
      check_close(r.s->qvel[0], 10 * h * (force[k] + back[k]) / 2, 1e-11);
      drop(&r);
    }
}

// a servo that holds a weight beyond its range lets it go with the difference; within it, it holds it where k (u - q) = m g
static void test_servo(void **state) {
  (void)state;
  static const char *const text =
      "<mujoco><option gravity='0 0 -10'/><worldbody><body><joint name='j' type='slide' axis='0 0 1'/>"
      "<inertial pos='0 0 0' mass='2' diaginertia='1 1 1'/></body></worldbody>"
      "<actuator><general joint='j' biastype='affine' gainprm='400' biasprm='0 -400 -80' forcelimited='true' "
      "forcerange='-30 %d'/></actuator></mujoco>";
  for (int w = 0; tg_contact_words(w) != NULL; w++)
    for (int k = 0; k < 2; k++) {
      char full[700];
      int most = k == 0 ? 16 : 30;
      snprintf(full, sizeof full, text, most);
      Rig r = rig_of_text(full, tg_contact_words(w), NULL);
      run(r.s, 0.002, 1000);
      // pulled by -20 + 16 N; held with 20 N
      if (k == 0) check_true(fabs(r.s->qvel[0] + 2 * 2) < 0.3, "%s: %g m/s", tg_contact_words(w), r.s->qvel[0]);
      else check_true(fabs(r.s->qpos[0] + 20.0 / 400) < 1e-6, "%s: held at %g", tg_contact_words(w), r.s->qpos[0]);
      drop(&r);
    }
}

// at the end of a range the derivative is that of the inside, and said to be of one side
static void test_kink(void **state) {
  (void)state;
  for (int w = 0; tg_contact_words(w) != NULL; w++)
    for (int k = 0; k < 3; k++) {
      char text[700];
      tgReal D[10];
      tgGradInfo info;
      snprintf(text, sizeof text, driven, "");
      Rig r = rig_of_text(text, tg_contact_words(w), NULL);
      // below, at, and above the end of the second motor's range
      r.s->ctrl[1] = k == 0 ? 3.9 : k == 1 ? 4 : 4.1;
      run(r.s, 0.01, 1);
      assert_int_equal(tg_sim_step_jacobian(r.s, D, &info), TG_OK);
      check_close(D[7], k < 2 ? 0.01 / 2 : 0, 1e-13);
      assert_int_equal(info.label, k == 1 ? TG_GRAD_ONE_SIDED : TG_GRAD_EXACT);
      drop(&r);
    }
}

// ---- tendons and joints ----

// a slide on a tendon of twice its length falls onto the tendon's limit and stays within it; under forces it sinks in
// by the weight over the stiffness
static void test_tendon(void **state) {
  (void)state;
  static const char *const text =
      "<mujoco><option gravity='0 0 -9.80665'/><worldbody><body>"
      "<joint name='j' type='slide' axis='0 0 1' damping='40'/><inertial pos='0 0 0' mass='2' diaginertia='1 1 1'/></body>"
      "</worldbody><tendon><fixed name='t' limited='true' range='-.2 1'><joint joint='j' coef='2'/></fixed></tendon></mujoco>";
  for (int w = 0; tg_contact_words(w) != NULL; w++) {
    Rig r = rig_of_text(text, tg_contact_words(w), NULL);
    run(r.s, 0.002, 3000);
    double gap = 2 * r.s->qpos[0] + 0.2;
    if (minimises(w)) {
      // 2 mu b'(gap/width)/width = m g, the width a tenth of the range
      double width = 0.12, x = gap / width, l = log(x), y = x - 1, push = 2 * 1e-6 / width * (2 * y * l / x - (l - 1) * y * y / (x * x));
      check_true(gap > 0 && fabs(push - 2 * 9.80665) < 1e-4, "gap %g pushes with %g", gap, push);
    } else if (by_forces(w)) {
      // stiffness omega^2 I along the tendon, I = m/4: the depth less half the width carries the weight
      double stiffness = 200.0 * 200.0 * 2 / 4;
      tgReal slope[2];
      check_true(gap < 0 && fabs(2 * stiffness * tgi_ramp(-gap, 0.12, slope) - 2 * 9.80665) < 1e-4, "%g deep", -gap);
    } else {
      check_true(fabs(gap) < 1e-4, "gap %g", gap);
    }
    drop(&r);
  }
}

// a hinge follows another by a polynomial: the weight it carries opens that by its own torque over omega^2 I
static void test_follow(void **state) {
  (void)state;
  static const char *const text =
      "<mujoco><option gravity='0 0 -9.80665'/><worldbody><body><joint name='a' axis='0 1 0'/>"
      "<inertial pos='.5 0 0' mass='1' diaginertia='.01 .01 .01'/></body>"
      "<body><joint name='b' axis='0 1 0' stiffness='1e5' damping='1e3'/>"
      "<inertial pos='0 0 -.5' mass='1' diaginertia='.01 .01 .01'/></body></worldbody>"
      "<equality><joint joint1='a' joint2='b' polycoef='.3 2 .4 0 0'/></equality></mujoco>";
  for (int w = 0; tg_contact_words(w) != NULL; w++) {
    if (!minimises(w)) continue;
    tgAnyContactOptions o = options_of(tg_contact_words(w), "equality_opening=1e-6");
    Rig r = rig_of_text(text, tg_contact_words(w), &o.of);
    run(r.s, 0.01, 600);
    double a = r.s->qpos[0], b = r.s->qpos[1], error = a - (0.3 + 2 * b + 0.4 * b * b), inertia = 0.01 + 0.25,
           stiffness = 9.80665 / 1e-6 * inertia;
    check_true(fabs(error - 9.80665 * 0.5 * cos(a) / stiffness) < 1e-4 * fabs(error), "off by %g", error);
    drop(&r);
  }
}

// ---- a loop ----

// Two cranks of length l stand on the ground, d apart; the coupler hangs on the first and is connected to the end of
// the second: with d the coupler's length the cranks turn alike, the coupler does not, and the loop is a pendulum: (2
// I + m l^2) t'' = g (M l + m l) sin t, t from upright, I, M/2 those of a crank about its foot, m the coupler's mass.
static const double crank = 0.4, bar = 0.7, gravity = 9.81;
static Rig loop(const char *word, double bar_length, double opening) {
  char text[1200], settings[64];
  snprintf(settings, sizeof settings, "equality_opening=%.17g erp=0", opening);
  tgAnyContactOptions o = options_of(word, settings);
  snprintf(text, sizeof text,
           "<mujoco><option gravity='0 0 -%.17g'/><compiler angle='radian'/><worldbody>"
           "<body name='a'><joint axis='0 1 0'/><inertial pos='0 0 %.17g' mass='1' diaginertia='.02 .02 .02'/>"
           "<body name='c' pos='0 0 %.17g'><joint axis='0 1 0'/>"
           "<inertial pos='%.17g 0 0' mass='2' diaginertia='.05 .05 .05'/></body></body>"
           "<body name='b' pos='%.17g 0 0'><joint axis='0 1 0'/>"
           "<inertial pos='0 0 %.17g' mass='1' diaginertia='.02 .02 .02'/></body></worldbody>"
           "<equality><connect body1='c' body2='b' anchor='%.17g 0 0'/></equality></mujoco>",
           gravity, crank / 2, crank, bar_length / 2, bar_length, crank / 2, bar_length);
  return rig_of_text(text, word, &o.of);
}

// Of a loop with the ground d, crank l, coupler c and rocker r, feet level: the rocker's angle for the crank's, both
// from upright, by the circles about the two ends.
static double rocker_angle(double t, double d, double l, double c, double r) {
  double x = l * sin(t) - d, z = l * cos(t), s = x * x + z * z, along = (s + r * r - c * c) / (2 * s),
         aside = sqrt(r * r / s - along * along);
  return atan2(along * x + aside * z, along * z - aside * x);
}

// a crank of 0.2 m that goes all the way round, a rocker that swings
static void test_four_bar(void **state) {
  (void)state;
  static const char *const text =
      "<mujoco><option gravity='0 0 0'/><compiler angle='radian'/><worldbody><body name='a'><joint axis='0 1 0'/>"
      "<inertial pos='0 0 .1' mass='1' diaginertia='.02 .02 .02'/>"
      "<body name='c' pos='0 0 .2'><joint axis='0 1 0'/><inertial pos='.3 0 .1' mass='.5' diaginertia='.02 .02 .02'/></body></body>"
      "<body name='b' pos='.55 0 0'><joint axis='0 1 0'/><inertial pos='0 0 .2' mass='.5' diaginertia='.02 .02 .02'/></body></worldbody>"
      "<equality><connect body1='c' body2='b' anchor='.6 0 .25'/></equality></mujoco>";
  double rocker = hypot(0.05, 0.45), coupler = hypot(0.6, 0.25), start = atan2(0.05, 0.45), opening = 1e-7;
  for (int w = 0; tg_contact_words(w) != NULL; w++) {
    if (!minimises(w)) continue;
    tgAnyContactOptions o = options_of(tg_contact_words(w), "equality_opening=1e-7");
    Rig r = rig_of_text(text, tg_contact_words(w), &o.of);
    double worst = 0;
    r.s->qvel[0] = 6;
    for (int k = 0; k < 1000; k++) {
      run(r.s, 0.002, 1);
      worst = fmax(worst, fabs(r.s->qpos[2] + start - rocker_angle(r.s->qpos[0], 0.55, 0.2, coupler, rocker)));
    }
    check_true(r.s->qpos[0] > 6.3, "the crank turns by %g only", r.s->qpos[0]);
    check_true(worst < 30 * opening, "%s: the rocker is off by %g", tg_contact_words(w), worst);
    drop(&r);
  }
}

// d(t, t')/d(t, t') at the end along the loop's own motion, and of the pendulum that it is
static void loop_gradient(const char *word, double h, double seconds, double out[2]) {
  Rig r = loop(word, bar, 1e-10);
  // cranks turn by 1, the coupler against its crank by -1
  const double along[3] = {1, -1, 1};
  double x[6] = {0};
  tgReal D[36];
  for (int i = 0; i < 3; i++) {
    r.s->qpos[i] = 0.4 * along[i];
    r.s->qvel[i] = 0.5 * along[i];
    x[i] = along[i];
  }
  for (int k = 0; k < (int)lround(seconds / h); k++) {
    double y[6] = {0};
    run(r.s, h, 1);
    assert_int_equal(tg_sim_step_jacobian(r.s, D, NULL), TG_OK);
    for (int i = 0; i < 6; i++)
      for (int j = 0; j < 6; j++) y[i] += D[6 * i + j] * x[j];
    memcpy(x, y, sizeof x);
  }
  out[0] = x[0];
  out[1] = x[3];
  drop(&r);
}

static void pendulum_rate(const double *x, double *out) {
  double inertia = 2 * (0.02 + crank * crank / 4) + 2 * crank * crank, k = gravity * (crank + 2 * crank) / inertia;
  out[0] = x[1];
  out[1] = k * sin(x[0]);
  out[2] = x[3];
  out[3] = k * cos(x[0]) * x[2];
}

static void pendulum_gradient(double seconds, double out[2]) {
  enum { STEPS = 20000 };
  double x[4] = {0.4, 0.5, 1, 0}, h = seconds / STEPS, k[4][4], y[4];
  static const double at[4] = {0, 0.5, 0.5, 1}, share[4] = {1.0 / 6, 1.0 / 3, 1.0 / 3, 1.0 / 6};
  for (int n = 0; n < STEPS; n++) {
    for (int stage = 0; stage < 4; stage++) {
      for (int i = 0; i < 4; i++) y[i] = x[i] + (stage > 0 ? h * at[stage] * k[stage - 1][i] : 0);
      pendulum_rate(y, k[stage]);
    }
    for (int i = 0; i < 16; i++) x[i % 4] += h * share[i / 4] * k[i / 4][i % 4];
  }
  out[0] = x[2];
  out[1] = x[3];
}

static void test_loop_gradient(void **state) {
  (void)state;
  double seconds = 0.4, rigid[2], ours[2], error[3];
  pendulum_gradient(seconds, rigid);
  for (int w = 0; tg_contact_words(w) != NULL; w++) {
    if (!minimises(w)) continue;
    for (int k = 0; k < 3; k++) {
      loop_gradient(tg_contact_words(w), 0.004 / (1 << k), seconds, ours);
      error[k] = fmax(fabs(ours[0] - rigid[0]), fabs(ours[1] - rigid[1]) / 5) / fabs(rigid[0]);
    }
    print_message("%s: gradient of the loop off by %.3g, %.3g, %.3g of the rigid one's\n", tg_contact_words(w),
                  error[0], error[1], error[2]);
    for (int k = 1; k < 3; k++)
      check_true(error[k] < 0.58 * error[k - 1] && error[k] > 0.42 * error[k - 1], "%g after %g", error[k], error[k - 1]);
    assert_true(error[2] < 0.02);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_opening), cmocka_unit_test(test_turn),
                                       cmocka_unit_test(test_sag),      cmocka_unit_test(test_motor),
                                       cmocka_unit_test(test_servo),   cmocka_unit_test(test_kink),
                                         cmocka_unit_test(test_tendon),   cmocka_unit_test(test_follow),
                                         cmocka_unit_test(test_four_bar), cmocka_unit_test(test_loop_gradient)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
