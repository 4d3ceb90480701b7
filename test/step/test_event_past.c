// test_event_past.c: what a caller's state has where no motion leads, under `toi`: joints past the end of their range and loops that are
// open. They are brought back, and nothing gets a speed by that.
#include <math.h>
#include <string.h>

#include "step/toi_rig.h"
#include "step/whole_check.h"
#include "support/tree.h"
#include "tangere/grad.h"
#include "tangere/step.h"

// The outer link of two lies past the end of its range by much or little, which weight presses it against: it is at the end after the
// step and has got no speed by that, and how far past it was changes nothing.
static void test_past_a_limit(void **state) {
  (void)state;
  static const char *const links =
      "<mujoco><compiler angle=\"radian\"/><default><geom size=\".05\" mass=\"1\" contype=\"0\" conaffinity=\"0\"/></default><worldbody>"
      "<body>"
      "<joint axis=\"0 1 0\"/><geom pos=\".2 0 0\"/><body pos=\".2 0 0\"><joint axis=\"0 1 0\" limited=\"true\" range=\"-.2 .3\"/>"
      "<geom pos=\"-.2 0 0\"/></body></body></worldbody></mujoco>";
  static const double past[] = {1e-9, 9.99e-7, 1.001e-6, 1e-4, 0.03};
  for (int i = 0; i < 5; i++) {
    Rig r = toi(links, 0);
    tgReal gq[2] = {0, 1}, dq[2] = {0}, dv[2] = {0};
    tgGradInfo info;
    tgStepInfo step;
    r.s->qpos[1] = -0.2 - past[i];
    assert_int_equal(tg_sim_step(r.s, 0.01, &step), TG_OK);
    check_close(tgRe(r.s->qpos[1]), 1e-9 - 0.2, 1e-14);
    check_close(tgRe(r.s->qvel[1]), 0, 1e-12);
    assert_int_equal(step.nleft, 0);
    assert_int_equal(tg_sim_step_vjp(r.s, gq, NULL, dq, dv, NULL, NULL, &info), TG_OK);
    assert_int_equal(info.label, TG_GRAD_EXACT);
    check_close(tgRe(dq[1]), 0, 1e-12);
    drop(&r);
  }
}

// A leg, or two, on a ball that nothing holds: where bringing a joint back in one step had a part in forces by velocity, the ball had
// 0.01 m over the step's length of speed.
#define LEG(x, range)                                                                                                    \
  "<body pos=\"" x " 0 0\"><joint axis=\"0 1 0\" range=\"" range "\" limited=\"true\"/>"                                    \
  "<geom type=\"capsule\" fromto=\"0 0 0 " x " .05 .1\" size=\".05\" mass=\".5\"/></body>"
#define FREE(legs)                                                                                                               \
  "<mujoco><compiler angle=\"radian\"/><option gravity=\"0 0 0\"/><default><geom contype=\"0\" conaffinity=\"0\"/></default>"   \
  "<worldbody><body><freejoint/><geom size=\".2\" mass=\"1\"/>" legs "</body></worldbody></mujoco>"

static void test_at_rest(void **state) {
  (void)state;
  static const char *const scene[] = {FREE(LEG(".4", ".5 1.2")), FREE(LEG(".4", ".5 1.2") LEG("-.4", "-1.2 -.3"))};
  static const double step[] = {1e-2, 1e-3, 1e-4};
  for (int k = 0; k < 2; k++)
    for (int i = 0; i < 3; i++) {
      Rig r = toi(scene[k], 0);
      assert_int_equal(tg_sim_step(r.s, step[i], NULL), TG_OK);
      check_close(tgRe(r.s->qpos[7]), 0.5 + 1e-9, 1e-12);
      for (int d = 0; d < r.m->nv; d++) check_close(tgRe(r.s->qvel[d]), 0, 1e-12);
      drop(&r);
    }
}

// The joint of the first leg comes back by itself, as the second leg's is brought back: both are at the end of their range, and what
// moves keeps its velocity but for forces of h.
static void test_on_its_way(void **state) {
  (void)state;
  static const double step[] = {1e-2, 1e-3, 1e-4};
  for (int i = 0; i < 3; i++) {
    Rig r = toi(FREE(LEG(".4", ".5 1.2") LEG("-.4", "-1.2 -.3")), 0);
    tgReal before[8];
    for (int d = 0; d < 8; d++) before[d] = r.s->qvel[d] = d == 6 ? 0.05 : d == 7 ? -0.02 : 0.1 * (d % 3);
    assert_int_equal(tg_sim_step(r.s, step[i], NULL), TG_OK);
    check_close(tgRe(r.s->qpos[7]), 0.5 + 1e-9, 1e-12);
    check_close(tgRe(r.s->qpos[8]), -0.3 - 1e-9, 1e-12);
    for (int d = 0; d < 8; d++) check_close(tgRe(r.s->qvel[d]), tgRe(before[d]), 0.2 * step[i]);
    drop(&r);
  }
}

// A ball joint at the end of its range, or nearer to it than it is met: it is brought to the gap, as what is past the end is. How far that
// is counts for how fast it may go, not how far past the end it is.
static void test_ball_within_the_gap(void **state) {
  (void)state;
  static const char *const joint =
      "<mujoco><compiler angle=\"radian\"/><option gravity=\"0 0 0\"/><worldbody><body><joint type=\"ball\" limited=\"true\" "
      "range=\"0 .5\"/><geom size=\".1\" mass=\"1\" contype=\"0\" conaffinity=\"0\"/></body></worldbody></mujoco>";
  static const double gap[] = {1e-6, 1e-4, 1e-3}, inside[] = {-1e-4, -1.001e-6, -1e-9, 0, 5e-10, 5e-7};
  for (int k = 0; k < 3; k++)
    for (int i = 0; i < 6; i++) {
      char text[40];
      snprintf(text, sizeof text, "gap=%g", gap[k]);
      tgAnyContactOptions o = options_of("toi", text);
      Rig r = rig_of_text(joint, "toi", &o.of);
      tgStepInfo step;
      r.s->qpos[0] = cos((0.5 - inside[i]) / 2);
      r.s->qpos[2] = sin((0.5 - inside[i]) / 2);
      assert_int_equal(tg_sim_step(r.s, 0.004, &step), TG_OK);
      check_true(step.nleft == 0 && step.nstalled == 0, "gap %g, %g inside: %d left", gap[k], inside[i], step.nleft);
      check_close(2 * atan2(tgRe(r.s->qpos[2]), tgRe(r.s->qpos[0])), 0.5 - gap[k], 1e-13);
      for (int d = 0; d < 3; d++) check_close(tgRe(r.s->qvel[d]), 0, 1e-12);
      drop(&r);
    }
}

static void test_derivative(void **state) {
  (void)state;
  tgtRandom random = {.s = 31};
  for (int k = 0; k < 4; k++) {
    Rig r = toi(FREE(LEG(".4", ".5 1.2") LEG("-.4", "-1.2 -.3")), 0.3);
    for (int d = 0; d < 8; d++) r.s->qvel[d] = d == 6 ? 0.5 : d == 7 ? (k % 2 == 0 ? -0.2 : 0.4) : 0.1 * tgt_normal(&random);
    r.s->qpos[7] = k < 2 ? 0 : 0.499;
    tgt_check_whole_step(r.s, "a joint past its range", &random);
    drop(&r);
  }
}

#define BAR(name, at, to)                                            \
  "<body name=\"" name "\" pos=\"" at "\"><joint axis=\"0 1 0\"/>"     \
  "<geom type=\"capsule\" fromto=\"0 0 0 " to "\" size=\".02\" mass=\".5\"/>"
// four bars on a base that nothing holds; the last joint, at x, opens the loop by 0.3 x
static const char *const loop =
    "<mujoco><compiler angle=\"radian\"/><option gravity=\"0 0 0\"/><default><geom contype=\"0\" conaffinity=\"0\"/></default>"
    "<worldbody><body><freejoint/><geom type=\"capsule\" fromto=\"0 0 0 .4 0 0\" size=\".02\" mass=\"1\"/>"
    BAR("b", ".4 0 0", "0 0 .3") BAR("c", "0 0 .3", "-.4 0 0") "</body></body>" BAR("d", "0 0 0", "0 0 .3") "</body></body></worldbody>"
    "<equality><connect body1=\"d\" body2=\"c\" anchor=\"0 0 .3\"/></equality></mujoco>";

static double open_by(tgSim *s) {
  tgiBond k;
  tgReal r[3];
  tgi_kinematics(&s->m, s->qpos, &s->trial);
  tgi_bond(s, &s->trial, 0, &k);
  tgi_v3_sub(r, k.pa, k.pb);
  return sqrt(tgRe(tgi_v3_dot(r, r)));
}

// A wide error is removed at .5 to 1 m/s, and gives no speed. One that a step removes turns bars of 0.3 m by up to h / 0.3, and half of
// the 1 m/s of the way with them.
static void test_open_loop(void **state) {
  (void)state;
  static const double step[] = {1e-2, 1e-3, 1e-4};
  for (int i = 0; i < 3; i++) {
    Rig r = toi(loop, 0);
    r.s->qpos[9] = 0.1;
    double wide = open_by(r.s);
    check_true(wide > 0.029, "%g", wide);
    for (int k = 0; k < 5; k++) {
      assert_int_equal(tg_sim_step(r.s, step[i], NULL), TG_OK);
      double left = open_by(r.s), removed = wide - left;
      check_true(left < 1e-5 || (removed > 0.45 * step[i] && removed < 1.05 * step[i]), "%g of %g left", left, wide);
      for (int d = 0; d < r.m->nv; d++) check_close(tgRe(r.s->qvel[d]), 0, left > step[i] ? 1e-12 : 2 * step[i]);
      wide = left;
    }
    drop(&r);
  }
}

static void test_open_derivative(void **state) {
  (void)state;
  static const double by[] = {1e-4, 1e-2, 0.0125, 0.1, -0.3};   // 4 mm are removed in one step
  tgtRandom random = {.s = 32};
  for (int k = 0; k < 5; k++) {
    Rig r = toi(loop, 0);
    tgt_random_vector(&random, r.m->nv, r.s->qvel);
    r.s->qpos[9] = by[k];
    tgt_check_whole_step(r.s, "an open loop", &random);
    drop(&r);
  }
}

// A rod held at its end turns about it: where rows ahead tell of the error, that of v alone is 1/2 w^2 s, but there is none to remove. Its
// energy is kept.
static void test_closed_and_fast(void **state) {
  (void)state;
  static const char *const rod =
      "<mujoco><option gravity=\"0 0 0\"/><worldbody><body name=\"rod\" pos=\"1 0 0\"><freejoint/>"
      "<geom type=\"capsule\" size=\".05\" fromto=\"-1 0 0 1 0 0\" mass=\"1\"/></body></worldbody>"
      "<equality><connect body1=\"rod\" anchor=\"-1 0 0\"/></equality></mujoco>";
  Rig r = toi(rod, 0);
  tgStepInfo step;
  r.s->qvel[1] = r.s->qvel[5] = 30;
  double before = whole_energy(r.s);
  for (int k = 0; k < 50; k++) {
    assert_int_equal(tg_sim_step(r.s, 0.004, &step), TG_OK);
    assert_int_equal(step.ncut, 0);
    check_true(open_by(r.s) < 1e-5, "%g", open_by(r.s));
  }
  check_true(fabs(whole_energy(r.s) - before) < 3e-3 * before, "%g of %g J", whole_energy(r.s), before);
  drop(&r);
}

// A leg that is brought back pushes a box, and that another: nothing has a speed after it, however short the step.
static void test_pushes_others(void **state) {
  (void)state;
  static const char *const scene =
      "<mujoco><compiler angle=\"radian\"/><option gravity=\"0 0 0\"/><worldbody><body pos=\"0 0 1\"><freejoint/>"
      "<geom size=\".1\" mass=\"1\" contype=\"0\" conaffinity=\"0\"/><body pos=\".2 0 0\">"
      "<joint axis=\"0 1 0\" range=\".5 1.2\" limited=\"true\"/>"
      "<geom type=\"capsule\" fromto=\"0 0 0 .3 0 0\" size=\".05\" mass=\".5\"/></body></body>"
      "<body pos=\".5 .03 .8995\"><freejoint/><geom type=\"box\" size=\".1 .07 .05\" mass=\".4\"/></body>"
      "<body pos=\".5 .06 .799\"><freejoint/><geom type=\"box\" size=\".1 .07 .05\" mass=\".4\"/></body></worldbody></mujoco>";
  static const double step[] = {1e-2, 1e-3, 1e-4};
  for (int i = 0; i < 3; i++) {
    Rig r = toi(scene, 0);
    assert_int_equal(tg_sim_step_growing(r.s, step[i], NULL), TG_OK);
    check_true(tgRe(r.s->qpos[7]) > 0.02, "%g", tgRe(r.s->qpos[7]));
    for (int d = 0; d < r.m->nv; d++) check_close(tgRe(r.s->qvel[d]), 0, 1e-9);
    drop(&r);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_past_a_limit), cmocka_unit_test(test_at_rest), cmocka_unit_test(test_on_its_way),
                                     cmocka_unit_test(test_ball_within_the_gap), cmocka_unit_test(test_derivative),
                                     cmocka_unit_test(test_open_loop),
                                     cmocka_unit_test(test_open_derivative), cmocka_unit_test(test_closed_and_fast),
                                     cmocka_unit_test(test_pushes_others)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
