// test_motion.c: the check of a motion's gradient: what converges passes, what belongs to the step alone is told.
#include <math.h>

#include "support/rig.h"
#include "tangere/grad.h"
#include "tangere/lcp.h"

static Rig rig_of(const char *text, const char *word) {
  tgAnyContactOptions o = options_of(word, "");
  return rig_of_text(text, word, &o.of);
}

static Rig rig_of_rule(const char *text, tgContactRule rule) {
  tgLcpOptions o = tg_lcp_default();
  o.contact_rule = rule;
  return rig_of_text(text, "lcp", &o.of);
}

static void show(const char *what, const tgMotionCheck *k) {
  print_message("%s: pass %d, value %d order %.2f, gradient %d order %.2f, growth %.2f, %s, holds to %g; %s\n", what,
                k->pass, k->value, k->value_order, k->gradient, k->gradient_order, k->growth, k->entry_name,
                k->holds_to, k->reason);
  for (int i = 0; i < k->nrow; i++)
    print_message("  h %-9.3g L %-12.8g change %-9.2g |g| %-11.6g change %-9.2g entry %-11.6g label %d\n", k->row[i].h,
                  k->row[i].value, k->row[i].value_change, k->row[i].gradient, k->row[i].gradient_change,
                  k->row[i].entry, k->row[i].label);
  for (int i = 0; i < k->nwidth; i++)
    print_message("  width %.0e error %-9.3g ours %-10.6g reference %.6g\n", k->width[i].width, k->width[i].error,
                  k->width[i].ours, k->width[i].reference);
}

static tgMotionCheck run(Rig *r, double h, int steps) {
  tgMotionCheckOptions o = tg_motion_check_default();
  tgMotionCheck k;
  o.h = h;
  o.steps = steps;
  tgStatus status = tg_grad_check_motion(r->s, &o, &k);
  check_true(status == TG_OK, "%s", tg_sim_error(r->s)->text);
  return k;
}

// two links, a free body, a ball joint and a motor: nothing collides; second order under toi, whose flows have the forces of their middle,
// first order elsewhere
static const char flight[] =
    "<mujoco><option timestep='.01'/><worldbody>"
    "<body><joint name='a' axis='0 1 0'/><geom type='capsule' fromto='0 0 0 .3 0 0' size='.02' contype='0' conaffinity='0'/>"
    "<body pos='.3 0 0'><joint name='b' axis='0 1 0' damping='.01'/>"
    "<geom type='capsule' fromto='0 0 0 .2 0 0' size='.02' contype='0' conaffinity='0'/></body></body>"
    "<body pos='2 0 0'><freejoint name='f'/><geom type='box' size='.1 .2 .3' contype='0' conaffinity='0'/></body>"
    "<body pos='-2 0 0'><joint name='c' type='ball'/><geom type='box' size='.1 .2 .3' contype='0' conaffinity='0'/></body></worldbody>"
    "<actuator><motor joint='b'/></actuator></mujoco>";

static void smooth_motions_pass(void **state) {
  (void)state;
  for (int w = 0; tg_contact_words(w) != NULL; w++) {
    Rig r = rig_of(flight, tg_contact_words(w));
    for (int i = 0; i < 11; i++) tg_sim_qvel(r.s)[i] = sin(1 + i);
    tg_sim_ctrl(r.s)[0] = 0.03;
    double before = tg_sim_qpos(r.s)[0];
    tgMotionCheck k = run(&r, 0.002, 100);
    if (!k.pass) show(tg_contact_words(w), &k);
    check_true(k.pass, "%s: %s", tg_contact_words(w), k.reason);
    double order = strcmp(tg_contact_words(w), "toi") == 0 ? 2 : 1;
    check_true(k.value_order > order - 0.2 && k.value_order < order + 0.3 && k.gradient_order > order - 0.2 &&
               k.gradient_order < order + 0.3, "%s: orders %g and %g", tg_contact_words(w), k.value_order, k.gradient_order);
    check_true(fabs(k.growth) < 0.1 && k.holds_to >= 1e-3, "growth %g, holds to %g", k.growth, k.holds_to);
    assert_true(tg_sim_qpos(r.s)[0] == before);
    drop(&r);
  }
}

// Two equal balls on a line, one of which comes at 1 m/s: under every contact model the motion is smooth or its verdict
// says what is wrong. Truth: dx2/dx1 = (1 + e)/2.
static const char balls[] =
    "<mujoco><option timestep='.01' gravity='0 0 0'/><worldbody>"
    "<body pos='0 0 0'><joint name='x1' type='slide' axis='1 0 0'/><geom name='one' size='.1' mass='1'/></body>"
    "<body pos='.413 0 0'><joint name='x2' type='slide' axis='1 0 0'/><geom name='two' size='.1' mass='1'/></body></worldbody></mujoco>";

static void an_impact_inside_a_step_is_told(void **state) {
  (void)state;
  for (int w = 0; tg_contact_words(w) != NULL; w++) {
    if (strcmp(tg_contact_words(w), "sdrs") == 0) continue;   // a minute for these two spheres of triangles
    bool rows = strcmp(tg_contact_words(w), "lcp") == 0;
    Rig r = rows ? rig_of_rule(balls, TG_RULE_TOUCHING) : rig_of(balls, tg_contact_words(w));
    tg_sim_qvel(r.s)[0] = 1;
    tgMotionCheck k = run(&r, 0.01, 50);
    check_true(k.pass == (k.reason[0] == '\0'), "%s: %s", tg_contact_words(w), k.reason);
    check_true(k.width[1].error < 1e-6, "%s: each step's derivative is right: %g", tg_contact_words(w), k.width[1].error);
    if (rows) {
      assert_false(k.pass);
      assert_int_equal(k.gradient, TG_GROWS);
      check_true(k.growth > 0.8 && k.growth < 1.2, "growth %g", k.growth);
      check_true(k.row[3].label == TG_GRAD_EXACT, "label %d", k.row[3].label);
      check_true(k.holds_to == 1e-3, "the step's own slope within the way of one step, not beyond: holds to %g", k.holds_to);
      check_true(strstr(k.reason, "grows as h^-") != NULL, "%s", k.reason);
    } else {
      // smooth forces know when in the motion they act, or, where the impact is shorter than the steps (barrier), the verdict says that
      // neither value nor gradient converges
      check_true(k.gradient != TG_GROWS, "%s: %s", tg_contact_words(w), k.reason);
      bool told = !k.pass && strstr(k.reason, "does not converge") != NULL;
      check_true(fabs(k.row[3].entry) < 2 || told, "%s: %s", tg_contact_words(w), k.reason);
    }
    drop(&r);
  }
}

// By `closing` it is right, at every step size.
static void an_impact_at_its_own_time_is_right(void **state) {
  (void)state;
  Rig r = rig_of_rule(balls, TG_RULE_CLOSING);
  tg_sim_qvel(r.s)[0] = 1;
  tgMotionCheck k = run(&r, 0.01, 50);
  check_true(k.pass && k.gradient != TG_GROWS, "%s", k.reason);
  for (int i = 0; i < 4; i++) check_close(k.row[i].entry, k.row[0].entry, 1e-6);
  drop(&r);
}

// A force model with a step longer than its contacts are stable.
static void an_unstable_step_is_told(void **state) {
  (void)state;
  Rig r = rig_of("<mujoco><option timestep='.05'/><worldbody><geom type='plane' size='1 1 .1'/><body pos='0 0 .1'>"
                 "<joint type='slide' axis='0 0 1'/>"
                 "<geom size='.1' mass='.05'/></body></worldbody></mujoco>",
                 "softmin");
  tgMotionCheck k = run(&r, 0.05, 20);
  assert_false(k.pass);
  check_true(strstr(k.reason, "longer than they are stable") != NULL, "%s", k.reason);
  drop(&r);
}

// controls that are given are held over their steps at every step size
static void controls_are_held(void **state) {
  (void)state;
  enum { STEPS = 30 };
  tgReal u[STEPS];
  Rig r = rig_of(flight, "lcp");
  for (int t = 0; t < STEPS; t++) u[t] = 0.03 * sin(0.3 * t);
  tgMotionCheckOptions o = tg_motion_check_default();
  tgMotionCheck k;
  o.steps = STEPS;
  o.u = u;
  assert_int_equal(tg_grad_check_motion(r.s, &o, &k), TG_OK);
  if (!k.pass) show("controls", &k);
  check_true(k.pass && k.gradient_order > 0.8, "%s", k.reason);
  drop(&r);
}

// Two motors of one joint have the gradient of one that is sqrt(2) times as strong: each has its own entry.
static void motors_have_entries_of_their_own(void **state) {
  (void)state;
  static const char *const motor[] = {"<motor joint='j'/><motor joint='j'/>", "<motor joint='j' gear='1.4142135623730951'/>"};
  double size[2];
  for (int k = 0; k < 2; k++) {
    char text[512];
    snprintf(text, sizeof text, "<mujoco><worldbody><body><joint name='j' type='slide'/><geom size='.1' mass='1'/></body></worldbody>"
             "<actuator>%s</actuator></mujoco>", motor[k]);
    Rig r = rig_of(text, "lcp");
    size[k] = run(&r, 0.5, 2).row[0].gradient;
    drop(&r);
  }
  check_close(size[0], size[1], 1e-12 * size[1]);
}

static void bad_input_is_refused(void **state) {
  (void)state;
  Rig r = rig_of(flight, "lcp");
  tgMotionCheck k;
  tgMotionCheckOptions o = tg_motion_check_default();
  o.steps = 0;
  assert_int_equal(tg_grad_check_motion(r.s, &o, &k), TG_ERR_ARG);
  o = tg_motion_check_default();
  o.halvings = 9;
  assert_int_equal(tg_grad_check_motion(r.s, &o, &k), TG_ERR_ARG);
  o = tg_motion_check_default();
  o.h = -1;
  assert_int_equal(tg_grad_check_motion(r.s, &o, &k), TG_ERR_ARG);
  assert_int_equal(tg_grad_check_motion(NULL, NULL, &k), TG_ERR_ARG);
  int stop = 1;
  o = tg_motion_check_default();
  o.cancel = &stop;
  assert_int_equal(tg_grad_check_motion(r.s, &o, &k), TG_CANCELLED);
  tg_sim_qvel(r.s)[0] = NAN;
  assert_true(tg_grad_check_motion(r.s, NULL, &k) < 0);
  check_true(strstr(tg_sim_error(r.s)->text, "step size") != NULL, "%s", tg_sim_error(r.s)->text);
  drop(&r);
}

// An arm of two servos, one of which is faster than the step: it converges, and at so long a step three halvings do not show it.
static void what_comes_nearer_is_halved_on(void **state) {
  (void)state;
  Rig r = rig_of("<mujoco><option timestep='.01'/><default><position kp='60' kv='3'/></default><worldbody><body>"
                 "<joint name='a' axis='0 0 1'/><geom type='capsule' fromto='0 0 0 .3 0 0' size='.025' mass='1'/><body pos='.3 0 0'>"
                 "<joint name='b' axis='0 0 1'/><geom type='capsule' fromto='0 0 0 .25 0 0' size='.02' mass='.7'/>"
                 "<geom type='capsule' fromto='.25 0 0 .25 0 -.06' size='.015' mass='.1'/></body></body></worldbody>"
                 "<actuator><position joint='a'/><position joint='b'/></actuator></mujoco>", "lcp");
  tgMotionCheck k = run(&r, 0.01, 60);
  if (!k.pass) show("arm", &k);
  check_true(k.pass && k.nrow > 4 && k.nrow <= 6 && k.gradient_order >= 0.5, "%d rows: %s", k.nrow, k.reason);
  tgMotionCheck fine = run(&r, 0.00125, 480);
  check_true(fine.pass && fine.nrow == 4 && fine.gradient_order > 0.8, "order %g: %s", fine.gradient_order, fine.reason);
  drop(&r);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(smooth_motions_pass),
                                     cmocka_unit_test(an_impact_inside_a_step_is_told),
                                     cmocka_unit_test(an_impact_at_its_own_time_is_right),
                                     cmocka_unit_test(an_unstable_step_is_told), cmocka_unit_test(controls_are_held),
                                     cmocka_unit_test(motors_have_entries_of_their_own),
                                     cmocka_unit_test(what_comes_nearer_is_halved_on), cmocka_unit_test(bad_input_is_refused)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
