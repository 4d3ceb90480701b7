// test_fallback.c: what a step goes on with where its contact solve has no answer, and that it says so; overlaps that are not pushed out
// because that would throw joints about.
#include <stdlib.h>
#include <string.h>

#include "contact/contact.h"
#include "step/step.h"
#include "support/random_tree.h"
#include "support/rig.h"
#include "tangere/lcp.h"
#include "tangere/step.h"

static const double h = 0.01, mu = 0.4, g0 = 9.81;

// a part that two equalities want at two places
static const char torn[] =
    "<mujoco><option gravity='0 0 0'/><worldbody><body name='cart'><joint name='rail' type='slide' axis='1 0 0'/>"
    "<geom size='.1' mass='1'/></body></worldbody><equality><joint joint1='rail' polycoef='0 0 0 0 0'/>"
    "<joint joint1='rail' polycoef='.1 0 0 0 0'/></equality></mujoco>";
// a ball that slides on the floor without turning
static const char slider[] =
    "<mujoco><worldbody><geom name='floor' type='plane' size='5 5 .1' friction='.4'/><body name='ball' pos='0 0 .1'>"
    "<joint type='slide' axis='1 0 0'/><joint type='slide' axis='0 0 1'/><geom size='.1' mass='2' friction='.4'/></body></worldbody>"
    "</mujoco>";
static Rig made(const char *text, const char *settings) {
  tgAnyContactOptions o = options_of("lcp", settings);
  return rig_of_text(text, "lcp", &o.of);
}

static void expect_told(Rig *r, const tgStepInfo *info, int fallback, const char *body) {
  tgGradInfo told;
  tgReal w[4] = {1, 1, 1, 1}, out[4];
  assert_int_equal(info->fallback, fallback);
  assert_int_equal(info->converged, fallback == 0);
  assert_true((info->nfallback > 0) == (fallback > 0));
  assert_int_equal(tg_sim_step_vjp(r->s, w, w, out, out, NULL, NULL, &told), TG_OK);
  assert_int_equal(told.converged, fallback == 0);
  if (fallback == 0) return;
  assert_int_equal(told.label, TG_GRAD_SURROGATE);
  check_true(strstr(told.reason, body) != NULL, "%s", told.reason);
  check_true(strstr(told.reason, fallback == 1 ? "less friction" : "least residual") != NULL, "%s", told.reason);
}

// no answer at all: the simulation goes on, and says so; `stop` ends it
static void test_torn(void **state) {
  (void)state;
  static const char *const rules[] = {"", "contact_rule=touching"};
  for (int k = 0; k < 2; k++) {
    Rig r = made(torn, rules[k]);
    tgStepInfo info;
    r.s->qvel[0] = 0.3;
    for (int t = 0; t < 100; t++) {
      assert_int_equal(tg_sim_step_growing(r.s, h, &info), TG_OK);
      check_true(fabs(tgRe(r.s->qpos[0])) < 1 && fabs(tgRe(r.s->qvel[0])) < 20, "at %g, %g m/s", tgRe(r.s->qpos[0]), tgRe(r.s->qvel[0]));
    }
    expect_told(&r, &info, 2, "cart");
    drop(&r);
  }
  Rig r = made(torn, "unsolved=stop");
  tgStepInfo info;
  assert_int_equal(tg_sim_step_growing(r.s, h, &info), TG_NOT_CONVERGED);
  assert_false(info.converged);
  drop(&r);
}

// tries that are refused: half the friction brakes half as much, a quarter, none; then the answer that there is
static void test_friction(void **state) {
  (void)state;
  static const char *const rules[] = {"", "contact_rule=touching"};
  static const double share[] = {1, 0.5, 0.25, 0, 1};
  for (int k = 0; k < 2; k++) {
    Rig r = made(slider, rules[k]);
    for (int refused = 0; refused < 5; refused++) {
      tgStepInfo info;
      tgReal D[16], end;
      bool solved;
      tg_sim_reset(r.s);
      r.s->qvel[0] = 2;
      r.s->refused_solves = refused == 4 ? 100 : refused;
      assert_int_equal(tg_sim_step_growing(r.s, h, &info), TG_OK);
      double expected = 2 - share[refused] * mu * g0 * h;
      check_close(tgRe(r.s->qvel[0]), expected, 1e-9);
      expect_told(&r, &info, refused == 0 ? 0 : refused == 4 ? 2 : 1, "ball");
      assert_int_equal(tg_sim_step_jacobian(r.s, D, NULL), TG_OK);
      check_close(tgRe(D[2 * 4 + 2]), 1, 1e-9);   // what slides keeps its changes of speed
      end = r.s->end.vel[0];
      void *record = malloc(tgi_step_record_bytes(r.s));
      tgi_step_record(r.s, record);
      tg_sim_reset(r.s);
      r.s->qvel[0] = 2;
      assert_int_equal(tgi_step_revisit(r.s, h, record, &solved), TG_OK);
      assert_true(!solved && memcmp(&end, &r.s->end.vel[0], sizeof end) == 0 && r.s->info.fallback == info.fallback);
      free(record);
    }
    drop(&r);
  }
}

// Equalities that contradict each other by next to nothing, in an island that has friction, behind one that is solved: the answer that
// misses by so little has all of its friction, and is told as none.
static void test_nearly(void **state) {
  (void)state;
  static const char nearly[] =
      "<mujoco><worldbody><geom name='floor' type='plane' size='5 5 .1' friction='.4'/>"
      "<body name='other' pos='0 3 .1'><joint type='slide' axis='1 0 0'/><joint type='slide' axis='0 0 1'/>"
      "<geom size='.1' mass='2' friction='.4'/></body>"
      "<body name='ball' pos='0 0 .1'><joint type='slide' axis='1 0 0'/><joint type='slide' axis='0 0 1'/>"
      "<geom size='.1' mass='2' friction='.4'/><body name='cart' pos='0 0 1'><joint name='rail' type='slide' axis='0 1 0'/>"
      "<geom size='.1' mass='1'/></body></body></worldbody>"
      "<equality><joint joint1='rail' polycoef='0 0 0 0 0'/><joint joint1='rail' polycoef='1e-8 0 0 0 0'/></equality></mujoco>";
  static const char *const rules[] = {"", "contact_rule=touching"};
  for (int k = 0; k < 2; k++) {
    Rig r = made(nearly, rules[k]);
    tgStepInfo info;
    tgGradInfo told;
    tgReal w[5] = {1, 1, 1, 1, 1}, out[5];
    r.s->qvel[0] = r.s->qvel[2] = 2;
    assert_int_equal(tg_sim_step_growing(r.s, h, &info), TG_OK);
    check_true(info.nisland == 2 && info.residual > 1e-8 && info.residual <= 1e-6, "%d islands, residual %g", info.nisland, info.residual);
    check_true(info.fallback == 2 && info.nfallback > 0 && !info.converged, "fallback %d, %d", info.fallback, info.nfallback);
    check_true(info.stage == 0, "stage %d of what has no answer", info.stage);
    check_close(tgRe(r.s->qvel[0]), 2 - mu * g0 * h, 1e-7);
    check_close(tgRe(r.s->qvel[2]), 2 - mu * g0 * h, 1e-7);
    assert_int_equal(tg_sim_step_vjp(r.s, w, w, out, out, NULL, NULL, &told), TG_OK);
    check_true(told.label == TG_GRAD_SURROGATE && !told.converged && strstr(told.reason, "least residual") != NULL, "%s", told.reason);
    drop(&r);
  }
}

// A loop of four bars in a plane that is `turn` degrees about x from that of x and z, closed by a point that is `off` metres beside the
// plane, which no joint can make up for but joint c, whose axis is turned out of the plane by `tilt`. That joint ends at 30 degrees,
// friction holds the joint b. free: its base falls onto a floor.
enum { LOOP = 1800 };
static void loop_text(double turn, double off, double tilt, bool free, char *text) {
  int size = snprintf(text, LOOP,
           "<mujoco><worldbody>%s euler='%g %s'>%s<body name='a'><joint name='a' axis='0 1 0' damping='.01'/>"
           "<geom type='capsule' fromto='0 0 0 0 0 -.12' size='.015' mass='.2'/><body name='b' pos='0 0 -.12'>"
           "<joint name='b' axis='0 1 0' frictionloss='.05'/><geom type='capsule' fromto='0 0 0 .3 0 0' size='.015' mass='.3'/>"
           "<site name='of_b' pos='.28 %.17g 0'/></body></body><body name='c' pos='.28 0 0'>"
           "<joint name='c' axis='%.17g 1 0' range='-30 30' limited='true'/>"
           "<geom type='capsule' fromto='0 0 0 0 0 -.12' size='.015' mass='.2'/>"
           "<site name='of_c' pos='0 .01 -.12'/></body></body></worldbody>"
           "<contact><exclude body1='a' body2='b'/><exclude body1='b' body2='c'/>%s</contact>"
           "<equality><connect site1='of_b' site2='of_c'/></equality><actuator><motor joint='a'/></actuator></mujoco>",
           free ? "<geom type='plane' pos='0 0 -.6' size='5 5 .1'/><body name='base' pos='0 0 -.35'" : "<body", turn, free ? "10 5" : "0 0",
           free ? "<freejoint/><geom size='.03' mass='.5'/>" : "", 0.01 + off, tilt,
           free ? "<exclude body1='base' body2='a'/><exclude body1='base' body2='c'/>" : "");
  assert_true(size < LOOP);
}

// What equalities cannot be given together hides nothing of the rest: limits hold, dry joints slide, and the motion is that of the loop
// that closes; the steps are told as before. A step that is put back has its bits.
static void test_loop_beside_its_plane(void **state) {
  (void)state;
  static const char *const rules[] = {"", "contact_rule=touching"};
  static const double offs[] = {1e-8, 1e-6, 1e-3};
  for (int k = 0; k < 2 * 2 * 3; k++) {
    char text[2][LOOP];
    double turn = k / 2 % 2 == 0 ? 0 : 35;
    loop_text(turn, 0, 0, false, text[0]);
    loop_text(turn, offs[k / 4], 0, false, text[1]);
    Rig closes = made(text[0], rules[k % 2]), misses = made(text[1], rules[k % 2]);
    tgStepInfo info;
    int told = 0;
    for (int t = 0; t < 60; t++) {
      closes.s->ctrl[0] = misses.s->ctrl[0] = t < 40 ? -1.5 : 1.5;
      assert_int_equal(tg_sim_step_growing(closes.s, 0.004, NULL), TG_OK);
      assert_int_equal(tg_sim_step_growing(misses.s, 0.004, &info), TG_OK);
      told += info.fallback == 2 && !info.converged;
      for (int d = 0; d < 3; d++)
        check_true(fabs(tgRe(closes.s->qpos[d] - misses.s->qpos[d])) < 1e-6, "%g m off, turned %g, %s, step %d: joint %d at %g for %g",
                   offs[k / 4], turn, rules[k % 2], t, d, tgRe(misses.s->qpos[d]), tgRe(closes.s->qpos[d]));
    }
    check_true(told > 50, "%d steps of 60 are told", told);
    expect_told(&misses, &info, 2, "c");
    tgReal q[3], v[3], end[3];
    bool solved;
    for (int d = 0; d < 3; d++) q[d] = misses.s->qpos[d], v[d] = misses.s->qvel[d];
    assert_int_equal(tg_sim_step_growing(misses.s, 0.004, NULL), TG_OK);
    memcpy(end, misses.s->end.vel, sizeof end);
    void *record = malloc(tgi_step_record_bytes(misses.s));
    tgi_step_record(misses.s, record);
    for (int d = 0; d < 3; d++) misses.s->qpos[d] = q[d], misses.s->qvel[d] = v[d];
    assert_int_equal(tgi_step_revisit(misses.s, 0.004, record, &solved), TG_OK);
    assert_true(!solved && memcmp(end, misses.s->end.vel, sizeof end) == 0);
    free(record);
    drop(&closes);
    drop(&misses);
  }
}

// The same of a loop that is thrown about and lies on a floor, by 1e-8 m. Where its rows across the plane all but follow from the others,
// as a joint is turned by 1e-6, the classes that miss an answer by next to nothing count, and no overlap or limit is left as it is in their
// place.
static void test_free_loop_beside_its_plane(void **state) {
  (void)state;
  static const double offs[] = {1e-8, 1e-6, 1e-6}, tilts[] = {0, 1e-6, 1e-6};
  int left = 0;
  for (int k = 0; k < 3; k++) {
    char text[2][LOOP];
    loop_text(20, 0, 0, true, text[0]);
    loop_text(20, offs[k], tilts[k], true, text[1]);
    const char *rule = k == 1 ? "contact_rule=touching" : "";
    Rig closes = made(text[0], rule), misses = made(text[1], rule);
    for (int t = 0; t < 100; t++) {
      tgStepInfo info;
      closes.s->ctrl[0] = misses.s->ctrl[0] = t < 60 ? -1.5 : 1.5;
      assert_int_equal(tg_sim_step_growing(closes.s, 0.004, NULL), TG_OK);
      assert_int_equal(tg_sim_step_growing(misses.s, 0.004, &info), TG_OK);
      assert_true(info.fallback == 2 && !info.converged && info.residual > 1e-8);
      left += info.nleft;
      for (int d = 0; d < closes.s->m.nq && k == 0; d++)
        check_true(fabs(tgRe(closes.s->qpos[d] - misses.s->qpos[d])) < 1e-4, "step %d: coordinate %d at %g for %g", t, d,
                   tgRe(misses.s->qpos[d]), tgRe(closes.s->qpos[d]));
    }
    drop(&closes);
    drop(&misses);
  }
  check_true(left < 10, "%d errors are left as they are", left);
}

// Of a base that falls freely, too, what stands across the plane moves nothing, however far it is off: forces that close a loop are equal
// and opposite at one point and cannot turn the whole. The base turned at 378 to 12,000 rad/s.
static void test_free_loop_does_not_spin(void **state) {
  (void)state;
  static const double offs[] = {1e-5, 1e-4, 1e-3};
  for (int k = 0; k < 6; k++) {
    char text[2][LOOP];
    bool closing = k % 2 == 1;
    loop_text(20, 0, 0, true, text[0]);
    loop_text(20, offs[k / 2], 0, true, text[1]);
    Rig closes = made(text[0], closing ? "" : "contact_rule=touching"), misses = made(text[1], closing ? "" : "contact_rule=touching");
    double turn = 0, other = 0;
    for (int t = 0; t < 100; t++) {
      closes.s->ctrl[0] = misses.s->ctrl[0] = t < 60 ? -1.5 : 1.5;
      assert_int_equal(tg_sim_step_growing(closes.s, 0.004, NULL), TG_OK);
      assert_int_equal(tg_sim_step_growing(misses.s, 0.004, NULL), TG_OK);
      for (int d = 3; d < 6; d++) {
        turn = fmax(turn, fabs(tgRe(misses.s->qvel[d])));
        other = fmax(other, fabs(tgRe(closes.s->qvel[d])));
      }
    }
    check_true(turn < 1.1 * other, "%g m off: turns at %g rad/s, where the loop closes at %g", offs[k / 2], turn, other);
    drop(&closes);
    drop(&misses);
  }
}

// Trees whose links begin in each other, which no hinge can undo: what cannot be pushed apart is left, and nothing is thrown.
static void test_knots(void **state) {
  (void)state;
  static const int seeds[] = {2, 9, 17, 20};
  int left = 0;
  for (int k = 0; k < 4; k++) {
    char text[TGT_TREE_TEXT];
    tgt_random_tree(seeds[k], false, 0.01, true, text);
    Rig r = made(text, "");
    for (int t = 0; t < 5; t++) {
      tgStepInfo info;
      check_true(tg_sim_step_growing(r.s, 0.005, &info) == TG_OK, "tree %d: %s", seeds[k], tg_sim_error(r.s)->text);
      left += info.nleft > 0;
      for (int i = 0; i < 3; i++) check_true(fabs(tgRe(r.s->qpos[i])) < 1, "tree %d, step %d: base at %g", seeds[k], t, tgRe(r.s->qpos[i]));
    }
    drop(&r);
  }
  check_true(left > 0, "nothing was left as it was");
}

// Of a tree with a contact through the hinges of two links errors are left in each step: no answer with them is searched for first.
static void test_left_unasked(void **state) {
  (void)state;
  char text[TGT_TREE_TEXT];
  int left = 0, iterations = 0;
  tgt_random_tree(12, false, 0.1, TGT_TREE_MEETS, text);
  Rig r = made(text, "");
  for (int t = 0; t < 30; t++) {
    tgStepInfo info;
    assert_int_equal(tg_sim_step_growing(r.s, 0.005, &info), TG_OK);
    left += info.nleft > 0;
    iterations += info.iterations;
  }
  check_true(left == 30 && iterations < 30 * 20, "errors left in %d steps of 30, %d iterations", left, iterations);
  drop(&r);
}

// The same where two welds hold the tree besides, 10 mm apart: one asks for rest, one for the push speed of 1 m/s, and they share
// it but for what rows of the second, which act 5 mm beside those of the first, turn.
static void test_left_unasked_torn(void **state) {
  (void)state;
  static const char welds[] = "<equality><weld body1='link0'/><weld body1='link0' relpose='.01 0 .5 1 0 0 0'/></equality></mujoco>";
  char *text = malloc(TGT_TREE_TEXT + sizeof welds);
  tgt_random_tree(12, false, 0.1, TGT_TREE_MEETS, text);
  strcpy(strstr(text, "</mujoco>"), welds);
  Rig r = made(text, "");
  tgStepInfo info;
  assert_int_equal(tg_sim_step_growing(r.s, 0.005, &info), TG_OK);
  assert_true(info.nleft > 0);
  assert_int_equal(info.fallback, 2);
  check_close(fabs(tgRe(r.s->qpos[0])), 0.5 * 1 * 0.005, 2e-4);
  drop(&r);
  free(text);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_torn), cmocka_unit_test(test_friction), cmocka_unit_test(test_nearly),
                                     cmocka_unit_test(test_loop_beside_its_plane),
                                     cmocka_unit_test(test_free_loop_beside_its_plane),
                                     cmocka_unit_test(test_free_loop_does_not_spin), cmocka_unit_test(test_knots),
                                     cmocka_unit_test(test_left_unasked), cmocka_unit_test(test_left_unasked_torn)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
