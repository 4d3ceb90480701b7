// test_redundant_ties.c: rows without a force that follow from those that hold are no switch; ties among redundant rows stay ties.
//
// Bodies on more points than they need, at rest or about to tilt, slide, lift or swing: the label against derivatives from both sides.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "contact/lcp/solve.h"
#include "step/label_check.h"
#include "support/rig.h"

static const double h = 0.005;
enum { CASES = 40 };
static const tgContactRule rules[2] = {TG_RULE_TOUCHING, TG_RULE_CLOSING};

// A plate of 2 x 4 kg on `feet` balls that stand in two lines, its centre of mass aside of their middle by (x, y).
static Rig plate(int feet, double mu, double x, double y, const char *more, tgContactRule rule) {
  char xml[4000], *at = xml;
  tgLcpOptions o = tg_lcp_default();
  o.contact_rule = rule;
  at += sprintf(at, "<mujoco><compiler autolimits=\"true\"/><default><geom friction=\"%.17g\"/></default><worldbody>"
                "<geom name=\"floor\" type=\"plane\" size=\"5 5 1\"/>%s<body name=\"plate\" pos=\"0 0 .1\"><freejoint/>"
                "<inertial pos=\"%.17g %.17g .1\" mass=\"2\" diaginertia=\".02 .03 .04\"/>", mu, more, x, y);
  for (int i = 0; i < feet; i++)
    at += sprintf(at, "<geom type=\"sphere\" size=\".1\" pos=\"%.17g %.17g 0\"/>", 0.3 * (i / 2) - 0.15 * (feet / 2 - 1),
                  i % 2 ? 0.2 : -0.2);
  sprintf(at, "</body></worldbody></mujoco>");
  return rig_of_text(xml, "lcp", &o.of);
}

// at its start; islands go without their matrix, as those of many rows do
static void leave_matrix(tgSim *s) {
  s->dense_rows = 1;
  assert_int_equal(tg_sim_step_growing(s, h, NULL), TG_OK);   // which makes room for their factors
  tg_sim_reset(s);
}

// Six feet, the centre of mass well inside but so far aside that forces of least norm would pull somewhere: one of the feet is left without
// a force. Nothing depends on which, with the matrix of the island or without.
static void test_resting(void **state) {
  (void)state;
  for (int rule = 0; rule < 4; rule++) {
    tgtRandom r = {.s = 11 + (unsigned)rule};
    tgtLabels t = {0};
    int idle = 0;
    for (int k = 0; k < CASES; k++) {
      double x = (k % 2 ? 1 : -1) * tgt_uniform(&r, 0.2, 0.26), mu = k % 4 < 2 ? 0 : tgt_uniform(&r, 0.3, 0.9);
      Rig p = plate(6, mu, x, tgt_uniform(&r, -0.15, 0.15), "", rules[rule % 2]);
      if (rule >= 2) leave_matrix(p.s);
      p.s->qvel[0] = p.s->qvel[5] = mu == 0 ? tgt_uniform(&r, -0.3, 0.3) : 0;   // it slides where nothing holds it
      tgt_judge(p.s, h, "plate", k, &t);
      assert_int_equal(tg_sim_step(p.s, h, NULL), TG_OK);
      for (int i = 0; i < p.s->nrow; i++) idle += p.s->rows->kind[i] == TG_ROW_NORMAL && tgRe(p.s->rows->f[i]) == 0;
      drop(&p);
    }
    print_message("resting%s: %d states, %d feet without a force, %d with a kink, %d called exact\n",
                  rule < 2 ? "" : " without a matrix", t.states, idle, t.kinks, t.exact);
    check_true(rule >= 2 || idle >= CASES, "only %d feet without a force", idle);
    assert_int_equal(t.kinks, 0);
    check_true(t.exact == CASES, "%d of %d called exact", t.exact, CASES);
  }
}

// Feet that slide each another way: how redundant normals share the weight moves the plate, and is smooth. All of them stay redundant.
// The plate is turned, as tangents of feet that stand in line with an axis of friction are redundant in that pose alone.
static void test_spinning(void **state) {
  (void)state;
  for (int rule = 0; rule < 2; rule++) {
    tgtRandom r = {.s = 5 + (unsigned)rule};
    tgtLabels t = {0};
    for (int k = 0; k < CASES; k++) {
      Rig p = plate(6, tgt_uniform(&r, 0.1, 0.4), tgt_uniform(&r, -0.1, 0.1), tgt_uniform(&r, -0.05, 0.05), "", rules[rule]);
      double turned = tgt_uniform(&r, 0.2, 1.3);
      p.s->qpos[3] = cos(turned / 2);
      p.s->qpos[6] = sin(turned / 2);
      for (int d = 0; d < 2; d++) p.s->qvel[d] = tgt_uniform(&r, -0.5, 0.5);
      p.s->qvel[5] = tgt_uniform(&r, 2, 4);
      tgt_judge(p.s, h, "spinning plate", k, &t);
      tgStepInfo info;
      assert_int_equal(tg_sim_step(p.s, h, &info), TG_OK);
      check_true(info.rank_deficient, "plate %d: rank %d", k, info.rank);
      drop(&p);
    }
    print_message("spinning: %d states, %d with a kink, %d called exact\n", t.states, t.kinks, t.exact);
    assert_int_equal(t.kinks, 0);
    check_true(t.exact == CASES, "%d of %d called exact", t.exact, CASES);
  }
}

// A hinge that an equality holds at the end of its range: the limit has no force.
static void test_limit_beside_an_equality(void **state) {
  (void)state;
  static const char xml[] =
      "<mujoco><compiler autolimits=\"true\" angle=\"radian\"/><worldbody><body><joint name=\"a\" axis=\"0 1 0\" range=\"0 .5\"/>"
      "<geom type=\"capsule\" size=\".03\" fromto=\"0 0 0 .4 0 0\"/><body pos=\".4 0 0\"><joint name=\"b\" axis=\"0 1 0\"/>"
      "<geom type=\"capsule\" size=\".03\" fromto=\"0 0 0 .3 0 0\"/></body></body></worldbody>"
      "<equality><joint joint1=\"a\"/></equality></mujoco>";
  for (int rule = 0; rule < 4; rule++) {
    tgLcpOptions o = tg_lcp_default();
    tgtLabels t = {0};
    tgGradInfo info;
    tgReal D[2 * 2 * 2 * 2];
    o.contact_rule = rules[rule % 2];
    Rig p = rig_of_text(xml, "lcp", &o.of);
    if (rule >= 2) leave_matrix(p.s);
    p.s->qvel[1] = 0.7;
    assert_int_equal(tg_sim_step(p.s, h, NULL), TG_OK);
    assert_int_equal(p.s->nrow, 2);
    assert_int_equal(tg_sim_step_jacobian(p.s, D, &info), TG_OK);
    if (rule < 2) assert_int_equal(p.s->rows->class[1], TGI_LCP_N);
    check_true(info.label == TG_GRAD_EXACT, "limit beside an equality: %s", info.reason);
    tgt_judge(p.s, h, "limit", rule, &t);
    assert_int_equal(t.kinks, 0);
    drop(&p);
  }
}

enum { TILT, PIVOT, STOP, WALL, LIFT, TIES };
static const char *const name[TIES] = {"about to tilt", "on its pivot", "just stops", "beside a wall", "about to lift"};

// A plate on six feet on a tie. TILT: the centre of mass is over the line of the last two. PIVOT: a push up at the other end, till only
// the last two press. STOP, SPIN: friction just stops it, STOP along both axes of feet. WALL: friction holds it, a wall is in touch
// without a force. LIFT: pulled up with its weight.
static Rig tie(int kind, tgContactRule rule, bool matrix, tgtRandom *r) {
  double mu = kind == STOP ? tgt_uniform(r, 0.2, 0.5) : tgt_uniform(r, 0.8, 1), g = 9.81;
  static const char wall[] = "<geom type=\"plane\" size=\"5 5 1\" pos=\".4 0 0\" zaxis=\"-1 0 0\"/>";
  double aside = kind == TILT ? 0.3 : kind == PIVOT ? tgt_uniform(r, -0.2, 0.1) : kind == STOP ? -0.2 : tgt_uniform(r, 0.2, 0.26);
  Rig p = plate(6, kind == LIFT ? 0 : mu, aside, kind == STOP ? 0 : tgt_uniform(r, -0.1, 0.1), kind == WALL ? wall : "", rule);
  tgSim *s = p.s;
  if (!matrix) leave_matrix(s);
  double x = tgRe(s->m.body_com[3]), y = tgRe(s->m.body_com[4]);
  if (kind == PIVOT) s->qfrc_applied[4] = 2 * g * (0.3 - x);   // about y: what lifts the end at -x
  if (kind == STOP) s->qvel[0] = mu * g * h;
  if (kind == LIFT) {
    s->qfrc_applied[2] = 2 * g;
    s->qfrc_applied[3] = 2 * g * y;
    s->qfrc_applied[4] = -2 * g * x;
  }
  return p;
}

static void test_ties(void **state) {
  (void)state;
  for (int kind = 0; kind < 4 * TIES; kind++) {
    tgtRandom r = {.s = 77 + (unsigned)kind};
    tgtLabels t = {0};
    bool closing = kind / TIES % 2 == 1, matrix = kind < 2 * TIES;
    for (int k = 0; k < CASES; k++) {
      Rig p = tie(kind % TIES, rules[closing], matrix, &r);
      tgt_judge(p.s, h, name[kind % TIES], k, &t);
      drop(&p);
    }
    print_message("%-30s %d states, %d with a kink, %d called exact%s%s\n", name[kind % TIES], t.states, t.kinks, t.exact,
                  closing ? ", closing" : "", matrix ? "" : ", without a matrix");
    check_true(2 * t.kinks >= t.states, "%s: only %d of %d states show their kink", name[kind % TIES], t.kinks, t.states);
  }
}

// A ball of 1 kg in the corner of a floor and a wall, pushed against the wall and down.
static Rig corner(double mu, double push, double down, tgContactRule rule) {
  char xml[1000];
  tgLcpOptions o = tg_lcp_default();
  o.contact_rule = rule;
  sprintf(xml, "<mujoco><default><geom friction=\"%.17g\"/></default><worldbody><geom type=\"plane\" size=\"5 5 1\"/>"
          "<geom type=\"plane\" size=\"5 5 1\" pos=\".1 0 0\" zaxis=\"-1 0 0\"/><body name=\"ball\" pos=\"0 0 .1\"><freejoint/>"
          "<geom type=\"sphere\" size=\".1\" mass=\"1\"/></body></worldbody></mujoco>", mu);
  Rig p = rig_of_text(xml, "lcp", &o.of);
  p.s->qfrc_applied[0] = push;
  p.s->qfrc_applied[2] = -down;
  return p;
}

// It sticks to both, and their friction holds what the other's normals close. With friction to spare, lifted by any little it is held by
// one of them alone. With less, the wall's friction is at its bound, and goes from one end to the other as the ball rolls on the floor or
// away from it: forces jump, its motion is smooth. Any that are called exact are.
static void test_corner(void **state) {
  (void)state;
  static const char *const kind[] = {"friction to spare", "at the bound", "any"};
  for (int rule = 0; rule < 6; rule++) {
    tgtRandom r = {.s = 31 + (unsigned)rule};
    tgtLabels t = {0};
    int sort = rule / 2;
    for (int k = 0; k < CASES; k++) {
      double mu = sort == 0 ? tgt_uniform(&r, 1.3, 2) : sort == 1 ? tgt_uniform(&r, 0.4, 0.9) : tgt_uniform(&r, 0.1, 1.4);
      double push = sort < 2 ? tgt_uniform(&r, 5, 12) : tgt_uniform(&r, 0.1, 60);
      double down = sort < 2 ? 0 : tgt_uniform(&r, -8, 30);
      Rig p = corner(mu, push, down, rules[rule % 2]);
      tgt_judge(p.s, h, "corner", k, &t);
      drop(&p);
    }
    print_message("corner, %-18s %d states, %d with a kink, %d called exact\n", kind[sort], t.states, t.kinks, t.exact);
    if (sort == 0) assert_int_equal(t.kinks, CASES);
    if (sort == 1) assert_int_equal(t.kinks, 0);
    if (sort == 1) check_true(2 * t.exact >= CASES, "only %d of %d called exact", t.exact, CASES);
  }
}

int main(int argc, char **argv) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_resting), cmocka_unit_test(test_spinning),
                                     cmocka_unit_test(test_limit_beside_an_equality), cmocka_unit_test(test_ties),
                                     cmocka_unit_test(test_corner)};
  if (argc > 1) cmocka_set_test_filter(argv[1]);
  return cmocka_run_group_tests(tests, NULL, NULL);
}
