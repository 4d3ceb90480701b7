// test_spin.c: torsional and rolling friction (condim 4 and 6) against closed forms: a ball that spins on its point stops at the rate that
// the couple mu_t N gives, one that rolls at that of mu_r N, and both then stay; without them neither does.
#include <math.h>
#include <stdio.h>

#include "support/rig.h"
#include "support/verify.h"
#include "tangere/force.h"
#include "tangere/lcp.h"
#include "tangere/step.h"

static const double h = 0.01, g = 9.81, mass = 2, radius = 0.1, spin = 0.004, roll = 0.002;

static const char *scene(int condim) {
  static char text[600];
  snprintf(text, sizeof text,
           "<mujoco><option gravity=\"0 0 -9.81\"/><worldbody><geom type=\"plane\" size=\"5 5 1\" condim=\"1\" friction=\"0 0 0\"/>"
           "<body pos=\"0 0 .1\"><freejoint/><geom size=\".1\" mass=\"2\" condim=\"%d\" friction=\"1 .004 .002\"/></body></worldbody>"
           "</mujoco>",
           condim);
  return text;
}

static Rig ball(const char *word, int condim) {
  tgLcpOptions touching = tg_lcp_default();
  touching.contact_rule = TG_RULE_TOUCHING;
  bool lcp = strcmp(word, "toi") != 0;
  Rig r = rig_of_text(scene(condim), lcp ? "lcp" : word, strcmp(word, "touching") == 0 ? &touching.of : NULL);
  if (!lcp) r.s->qpos[2] += 1e-6;   // contact.gap, where what rests is
  return r;
}

static void step(Rig *r) {
  tgStatus status = tg_sim_step_growing(r->s, h, NULL);
  check_true(status == TG_OK, "%s", tg_sim_error(r->s)->text);
  if (tgRe(r->s->clearance) == 0 && r->s->npart <= 1) tgt_check_step(r->s, 1e-8);   // which knows steps of lcp in one part
}

// the only contact's couple on the ball, about the point
static void couple(const Rig *r, double out[3]) {
  tgContactInfo c;
  int at = 0;
  assert_true(tg_sim_next_contact(r->s, &at, &c));
  for (int k = 0; k < 3; k++) out[k] = (c.body2 == 1 ? 1 : -1) * c.torque[k];
  check_close(fabs(c.force[0]), mass * g, 1e-5);
  assert_false(tg_sim_next_contact(r->s, &at, &c));
}

static const char *const words[] = {"closing", "touching", "toi"};

static void test_spin(void **state) {
  (void)state;
  double rate = spin * g / (0.4 * radius * radius), torque[3];
  for (int k = 0; k < 3; k++)
    for (int condim = 3; condim <= 6; condim += condim == 3 ? 1 : 2) {
      Rig r = ball(words[k], condim);
      tgReal *v = tg_sim_qvel(r.s);
      v[5] = 3;
      for (int t = 1; t <= 60; t++) {
        double left = condim == 3 ? 3 : fmax(0, 3 - rate * h * t);
        step(&r);
        check_close(tgRe(v[5]), left, 1e-6);
        couple(&r, torque);
        if (condim == 3) check_close(torque[2], 0, 0);
        else if (left > 0) check_close(torque[2], -spin * mass * g, 1e-6);
      }
      for (int d = 0; d < 5; d++) check_close(tgRe(v[d]), 0, 1e-6);
      drop(&r);
    }
}

// (I + m r^2) w' = -mu_r m g
static void test_roll(void **state) {
  (void)state;
  double rate = roll * g / (1.4 * radius), torque[3];
  for (int k = 0; k < 3; k++)
    for (int condim = 4; condim <= 6; condim += 2) {
      Rig r = ball(words[k], condim);
      tgReal *v = tg_sim_qvel(r.s);
      v[0] = 0.1;
      v[4] = 1;
      for (int t = 1; t <= 100; t++) {
        double left = condim == 4 ? 0.1 : fmax(0, 0.1 - rate * h * t);
        step(&r);
        check_close(tgRe(v[0]), left, 1e-6);
        check_close(tgRe(v[4]), left / radius, 1e-5);
        couple(&r, torque);
        check_close(torque[1], condim == 4 || left == 0 ? 0 : -roll * mass * g, left > 0 ? 1e-6 : roll * mass * g);
      }
      drop(&r);
    }
}

// laws say that they leave it out
static void test_left_out(void **state) {
  (void)state;
  static const char *const laws[] = {"barrier", "softmin", "damped"};
  for (int k = 0; k < 3; k++)
    for (int condim = 3; condim <= 6; condim += 3) {
      Rig r = rig_of_text(scene(condim), laws[k], NULL);
      bool told = false;
      for (int i = 0; tg_contact_warning(r.c, i) != NULL; i++) told = told || strstr(tg_contact_warning(r.c, i), "torsional") != NULL;
      assert_int_equal(told, condim == 6);
      drop(&r);
    }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_spin), cmocka_unit_test(test_roll), cmocka_unit_test(test_left_out)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
