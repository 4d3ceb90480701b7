// test_separate.c: bodies that overlap moved apart: by the least motion where that is known, under every contact model; and a cage.
#include <math.h>
#include <string.h>

#include "sim/sim.h"
#include "support/rig.h"
#include "tangere/step.h"

#define WORLD(bodies) "<mujoco><worldbody>" bodies "</worldbody></mujoco>"
#define FLOOR "<geom name='floor' type='plane' size='5 5 1'/>"
#define BOX(name, z, mass) "<body pos='0 0 " z "'><freejoint/><geom name='" name "' type='box' size='.1 .1 .1' mass='" mass "'/></body>"
static const char *const words[] = {"lcp", "toi", "barrier", "sdrs", "ipc", "softmin", "damped"};
enum { WORDS = sizeof words / sizeof *words, ROOM = 32 };

// what a gap may be missed by: gaps of less than nothing are those that touch
static double missed(double gap) { return gap > 0 ? 1e-3 * gap : 1e-8; }

static int separate(Rig *r, double gap, tgSeparated *pair) {
  int n = tg_sim_separate(r->s, gap, pair, ROOM);
  check_true(n >= 0 && n <= ROOM, "%d: %s", n, tg_sim_error(r->s)->text);
  return n;
}

// two boxes in free space: their ways are against their masses
static void test_two(void **state) {
  (void)state;
  const double gap = 1e-4, way = .05 + gap;
  Rig r = rig_of_text(WORLD(BOX("light", "0", "1") BOX("heavy", ".15", "3")), "lcp", NULL);
  tgSeparated pair[ROOM];
  assert_int_equal(separate(&r, gap, pair), 1);
  check_close(pair[0].before, -.05, 1e-12);
  check_close(pair[0].after, gap, missed(gap));
  check_close(pair[0].moved1, .75 * way, 1e-7);
  check_close(pair[0].moved2, .25 * way, 1e-7);
  check_close(r.s->qpos[2], -.75 * way, 1e-7);
  check_close(r.s->qpos[9], .15 + .25 * way, 1e-7);
  for (int i = 0; i < 2; i++) check_close(r.s->qpos[i], 0, 1e-7);
  assert_int_equal(separate(&r, gap, pair), 0);   // and then stay
  drop(&r);
}

// a stack that is in the floor and in itself: nothing goes down, whatever the masses
static void test_stack(void **state) {
  (void)state;
  for (int w = 0; w < WORDS; w++) {
    const double gap = 1e-5;
    Rig r = rig_of_text(WORLD(FLOOR BOX("a", ".09", "3") BOX("b", ".28", "1") BOX("c", ".4799", "2")), words[w], NULL);
    tgSeparated pair[ROOM];
    r.s->qvel[0] = 0.5;
    assert_int_equal(separate(&r, gap, pair), 3);
    assert_string_equal(tg_model_name(r.m, TG_THING_GEOM, pair[0].geom1), "floor");
    check_close(pair[0].before, -.01, 1e-12);
    check_close(pair[0].moved1, 0, 0);
    check_close(pair[1].before, -.01, 1e-12);
    check_close(pair[2].before, -1e-4, 1e-12);
    for (int k = 0; k < 3; k++) {
      check_close(r.s->qpos[7 * k + 2], .1 + .2 * k + (k + 1) * gap, 1e-7);
      check_close(r.s->qpos[7 * k], 0, 1e-7);
      check_close(r.s->qpos[7 * k + 3], 1, 1e-12);
    }
    check_close(r.s->qvel[0], 0.5, 0);
    drop(&r);
  }
}

// what each model asks for itself; a step then starts where one was refused
static void test_robot_in_floor(void **state) {
  (void)state;
  for (int w = 0; w < WORDS; w++) {
    tgError e = {0};
    tgModel *m = tg_model_load(TG_SOURCE_DIR "/models/half_cheetah.xml", NULL, &e);
    Rig r = rig_of_model(m, words[w], NULL, &e);
    tgSeparated pair[ROOM];
    bool refuses = tg_contact_intersection_free(words[w]);
    r.s->qpos[1] = -.62;
    tgStatus before = tg_sim_step_growing(r.s, .002, NULL);
    check_true(!refuses || before == TG_ERR_INVALID, "%s: %d", words[w], before);
    check_true(!refuses || strstr(tg_sim_error(r.s)->text, "separate") != NULL, "%s", tg_sim_error(r.s)->text);
    tg_sim_reset(r.s);
    r.s->qpos[1] = -.62;
    check_true(separate(&r, -1, pair) > 0, "%s: nothing was apart", words[w]);
    check_true(pair[0].after > 0 || !refuses, "%s: %g", words[w], pair[0].after);
    check_true(tg_sim_step_growing(r.s, .002, NULL) == TG_OK, "%s: %s", words[w], tg_sim_error(r.s)->text);
    drop(&r);
  }
}

// an arm of one hinge, whose only way is known; its limit is kept
static void test_joints(void **state) {
  (void)state;
  static const char *const arm =
      WORLD(FLOOR "<body pos='0 0 .3'><joint name='j' type='hinge' axis='0 1 0' range='-170 170'/>"
                  "<geom type='sphere' size='.05' pos='.5 0 0' mass='1'/></body>");
  Rig r = rig_of_text(arm, "toi", NULL);
  tgSeparated pair[ROOM];
  r.s->qpos[0] = .8;   // its ball is at .3 - .5 sin(.8) = -.059
  assert_int_equal(separate(&r, 1e-4, pair), 1);
  check_close(r.s->qpos[0], asin((.25 - 1e-4) / .5), 1e-6);
  drop(&r);
  static const char *const two =   // of two on slides the upper one is at its end: the lower one goes all the way
      "<mujoco><compiler autolimits='true'/><worldbody>"
      "<body><joint type='slide' axis='0 0 1'/><geom size='.1' mass='1'/></body>"
      "<body pos='0 0 .15'><joint type='slide' axis='0 0 1' range='-1 .01'/><geom size='.1' mass='1'/></body></worldbody></mujoco>";
  r = rig_of_text(two, "toi", NULL);
  assert_int_equal(separate(&r, 1e-4, pair), 1);
  check_close(r.s->qpos[1], .01, 1e-8);
  check_close(r.s->qpos[0], -.04 - 1e-4, 1e-7);
  drop(&r);
}

// what is fast to something else goes with it
static void test_equality(void **state) {
  (void)state;
  static const char *const text =
      "<mujoco><worldbody>" FLOOR BOX("a", ".09", "1")
      "<body name='b' pos='.5 0 .5'><freejoint/><geom size='.1' mass='1'/></body>"
      "<body name='c' pos='.5 0 .8'><freejoint/><geom size='.1' mass='1'/></body>"
      "<body name='d' pos='.5 0 .09'><freejoint/><geom size='.1' mass='1'/></body>"
      "</worldbody><equality><weld body1='b' body2='d'/></equality></mujoco>";
  Rig r = rig_of_text(text, "lcp", NULL);
  tgSeparated pair[ROOM];
  assert_int_equal(separate(&r, 0, pair), 2);
  check_close(r.s->qpos[2], .1, 1e-7);
  check_close(r.s->qpos[9], .51, 1e-7);
  check_close(r.s->qpos[16], .8, 0);       // nothing has to do with it
  check_close(r.s->qpos[23], .1, 1e-7);
  drop(&r);
}

// A ball in the inner corner of a bracket: out of both faces, and not out of the hull.
static void test_concave(void **state) {
  (void)state;
  static const char *const text =
      "<mujoco><asset><mesh name='bracket' vertex='-.1 -.08 -.1 .1 -.08 -.1 .1 -.08 0 0 -.08 0 0 -.08 .1 -.1 -.08 .1 "
      "-.1 .08 -.1 .1 .08 -.1 .1 .08 0 0 .08 0 0 .08 .1 -.1 .08 .1' face='0 1 2 0 2 3 0 3 4 0 4 5 6 8 7 6 9 8 6 10 9 6 11 10 "
      "0 7 1 0 6 7 1 8 2 1 7 8 2 9 3 2 8 9 3 10 4 3 9 10 4 11 5 4 10 11 5 6 0 5 11 6'/></asset><worldbody>"
      "<geom type='mesh' mesh='bracket'/><body><freejoint/><geom type='GEOM' size='.045 .045 .045' mass='1'/></body></worldbody></mujoco>";
  for (int k = 0; k < 4; k++) {
    char xml[1500];
    snprintf(xml, sizeof xml, "%s", text);
    char *at = strstr(xml, "GEOM");
    snprintf(xml, sizeof xml, "%.*s%s%s", (int)(at - xml), text, k % 2 == 0 ? "sphere" : "box", text + (at - xml) + 4);
    Rig r = rig_of_text(xml, k < 2 ? "toi" : "barrier", NULL);
    tgSeparated pair[ROOM];
    r.s->qpos[0] = .043;
    r.s->qpos[2] = .044;
    assert_int_equal(separate(&r, 1e-5, pair), 1);
    double more = k % 2 == 0 ? 1e-7 : 5e-4;   // a box has one contact a round there, so that its way is not the least
    check_close(r.s->qpos[0], .045 + 1e-5, more);
    check_close(r.s->qpos[2], .045 + 1e-5, more);
    assert_int_equal(separate(&r, 1e-5, pair), 0);
    drop(&r);
  }
}

// A turret a hair above a hull, on a hinge that cannot lift it: left so, while the hull comes out of the floor.
static void test_beside_a_hinge(void **state) {
  (void)state;
  static const char *const text =
      WORLD(FLOOR "<body pos='0 0 .09'><freejoint/><geom name='hull' type='box' size='.1 .1 .1' mass='1'/>"
                  "<body pos='0 0 .1'><joint type='hinge' axis='0 0 1' armature='.01'/>"
                  "<geom type='sphere' size='.01' pos='.3 0 .5' mass='.1'/><body><joint type='hinge' axis='0 0 1'/>"
                  "<geom name='turret' type='box' pos='0 0 .05001' size='.05 .05 .05' mass='.2'/></body></body></body>");
  for (int w = 0; w < 3; w++) {
    Rig r = rig_of_text(text, words[w], NULL);
    tgSeparated pair[ROOM];
    assert_int_equal(separate(&r, 1e-4, pair), 2);
    check_close(pair[0].before, -.01, 1e-9);
    check_close(pair[0].after, 1e-4, 1e-7);
    check_close(pair[1].before, 1e-5, 1e-9);
    check_close(pair[1].after, 1e-5, 1e-9);
    check_close(r.s->qpos[2], .1 + 1e-4, 1e-6);
    drop(&r);
  }
  // into each other they cannot stay
  char deep[1200];
  snprintf(deep, sizeof deep, "%s", text);
  memcpy(strstr(deep, ".05001"), ".04900", 6);
  for (int w = 0; w < 3; w++) {
    Rig r = rig_of_text(deep, words[w], NULL);
    assert_int_equal(tg_sim_separate(r.s, 1e-4, NULL, 0), TG_ERR_INVALID);
    check_true(strstr(tg_sim_error(r.s)->text, "cannot be moved apart") != NULL, "%s", tg_sim_error(r.s)->text);
    check_close(r.s->qpos[2], .09, 0);
    drop(&r);
  }
}

// In a cage that is too small there is no way: named, and nothing moved.
static void test_cage(void **state) {
  (void)state;
  static const char *const cage =
      WORLD("<geom name='left' type='box' pos='-.3 0 0' size='.21 1 1'/><geom name='right' type='box' pos='.3 0 0' size='.21 1 1'/>"
            "<geom name='front' type='box' pos='0 -.3 0' size='1 .21 1'/><geom name='back' type='box' pos='0 .3 0' size='1 .21 1'/>"
            "<geom name='top' type='box' pos='0 0 .3' size='1 1 .21'/><geom name='bottom' type='box' pos='0 0 -.3' size='1 1 .21'/>"
            "<body name='bird'><freejoint/><geom name='bird' type='sphere' size='.1' mass='1'/></body>");
  for (int w = 0; w < WORDS; w++) {
    Rig r = rig_of_text(cage, words[w], NULL);
    tgReal q[7];
    memcpy(q, r.s->qpos, sizeof q);
    int status = tg_sim_separate(r.s, 1e-4, NULL, 0);
    check_true(status == TG_ERR_INVALID, "%s: %d", words[w], status);
    const char *why = tg_sim_error(r.s)->text;
    check_true(strstr(why, "'bird'") != NULL && strstr(why, "cannot be moved apart") != NULL, "%s: %s", words[w], why);
    assert_memory_equal(q, r.s->qpos, sizeof q);
    drop(&r);
  }
}

static void test_nothing_to_do(void **state) {
  (void)state;
  Rig r = rig_of_text(WORLD(FLOOR BOX("a", ".100001", "1")), "toi", NULL);
  tgReal z = r.s->qpos[2];
  assert_int_equal(tg_sim_separate(r.s, -1, NULL, 0), 0);
  check_close(r.s->qpos[2], z, 0);
  assert_int_equal(tg_sim_separate(r.s, -1, NULL, 1), TG_ERR_ARG);
  assert_int_equal(tg_sim_separate(r.s, NAN, NULL, 0), TG_ERR_ARG);
  r.s->qpos[2] = NAN;
  assert_int_equal(tg_sim_separate(r.s, -1, NULL, 0), TG_ERR_NOT_FINITE);
  drop(&r);
  r = rig_of_text(WORLD(FLOOR BOX("a", "0", "1")), NULL, NULL);
  assert_int_equal(tg_sim_separate(r.s, -1, NULL, 0), 0);   // nothing touches
  drop(&r);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_two), cmocka_unit_test(test_stack), cmocka_unit_test(test_robot_in_floor), cmocka_unit_test(test_joints),
      cmocka_unit_test(test_equality), cmocka_unit_test(test_concave), cmocka_unit_test(test_cage), cmocka_unit_test(test_beside_a_hinge),
      cmocka_unit_test(test_nothing_to_do),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
