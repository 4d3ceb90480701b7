// test_param_ends.c: friction, dry friction and restitution at 0, the end of their range, where lcp switches something on: the
// derivative on the allowed side, known in closed form and labelled one-sided, under both rules; exact a little above; what is
// smooth at 0, and the laws, whose friction has no kink there, stay exact.
#include <math.h>

#include "contact/zoo.h"
#include "step/param_check.h"
#include "support/rig.h"
#include "tangere/lcp.h"
#include "tangere/param.h"
#include "tangere/step.h"

static const double h = 0.01, g = 9.81;
static const char *const ball =
    "<mujoco><option gravity=\"0 0 -9.81\"/><worldbody><geom name=\"floor\" type=\"plane\" size=\"5 5 1\" friction=\"0\" condim=\"1\"/>"
    "<body pos=\"0 0 0.1\"><freejoint/><geom name=\"ball\" size=\"0.1\" mass=\"2\" friction=\"0\" condim=\"%d\"/></body></worldbody>"
    "</mujoco>";
static const char *const slider =
    "<mujoco><option gravity=\"0 0 0\"/><worldbody><body><joint name=\"x\" type=\"slide\" axis=\"1 0 0\" damping=\"0\" armature=\"0\"/>"
    "<geom size=\"0.1\" mass=\"2\"/></body></worldbody></mujoco>";

static Rig rig(const char *xml, int condim, tgContactRule rule) {
  char text[1000];
  tgLcpOptions o = tg_lcp_default();
  o.contact_rule = rule;
  snprintf(text, sizeof text, xml, condim);
  return rig_of_text(text, "lcp", &o.of);
}

// d(v'_dof)/d(sum of all entries of the parameter)
static double slope(Rig *r, const char *name, int dof, tgGradInfo *info) {
  tgError e;
  int rows, cols;
  double sum = 0;
  tgParamGrad *p = tg_param_grad_create(r->m, &name, 1, NULL, &e);
  tgReal w[8] = {0}, *x = tg_param_grad_field(p, name, &rows, &cols);
  w[dof] = 1;
  assert_int_equal(tg_sim_step_vjp(r->s, NULL, w, NULL, NULL, NULL, p, info), TG_OK);
  for (int i = 0; i < rows * cols; i++) sum += tgRe(x[i]);
  tg_param_grad_free(p);
  return sum;
}

static void step(Rig *r) {
  tgStatus status = tg_sim_step_growing(r->s, h, NULL);
  check_true(status == TG_OK, "%s", tg_sim_error(r->s)->text);
}

// A ball that spins on its point loses mu_t m g h / I of its turning.
static void test_torsion(void **state) {
  (void)state;
  for (int rule = 0; rule < 2; rule++)
    for (int way = -1; way <= 1; way++) {
      Rig r = rig(ball, 4, (tgContactRule)rule);
      tgGradInfo info;
      for (int i = 0; i < 4; i++) tg_sim_param(r.s, "geom_spinfriction", NULL, NULL)[i] = 0;
      tg_sim_qvel(r.s)[5] = 2 * way;
      step(&r);
      check_close(slope(&r, "geom_spinfriction", 5, &info), -way * g * h / (0.4 * 0.01), 1e-8);
      assert_int_equal(info.label, TG_GRAD_ONE_SIDED);
      drop(&r);
    }
}

// A ball that slides loses mu g h, of its speed and, at its edge, of its turning. At rest, or without friction rows, nothing changes.
static void test_friction(void **state) {
  (void)state;
  for (int rule = 0; rule < 2; rule++)
    for (int way = -1; way <= 1; way++)
      for (int condim = 1; condim <= 3; condim += 2) {
        Rig r = rig(ball, condim, (tgContactRule)rule);
        tgGradInfo info;
        tg_sim_qvel(r.s)[0] = 2 * way;
        step(&r);
        check_close(slope(&r, "geom_friction", 0, &info), condim == 1 ? 0 : -way * g * h, 1e-9);
        assert_int_equal(info.label, condim == 1 ? TG_GRAD_EXACT : TG_GRAD_ONE_SIDED);
        if (condim > 1) check_true(strstr(info.reason, "friction is 0") != NULL && strstr(info.reason, "ball") != NULL, "%s", info.reason);
        // f acts 0.1 m below the centre, I = 2/5 m r^2
        check_close(slope(&r, "geom_friction", 4, &info), condim == 1 ? 0 : way * g * h * 0.1 / (0.4 * 0.01), 1e-9);
        // a little above the end
        tg_sim_reset(r.s);
        tg_sim_qvel(r.s)[0] = 2 * way;
        tg_sim_param(r.s, "geom_friction", NULL, NULL)[1] = 1e-3;
        step(&r);
        check_close(slope(&r, "geom_friction", 0, &info), condim == 1 ? 0 : -way * g * h, 1e-9);
        assert_int_equal(info.label, TG_GRAD_EXACT);
        drop(&r);
      }
}

// the coefficient of one tangent alone, of a pair of its own: rows are there, that of 0 with no room
static void test_one_tangent(void **state) {
  (void)state;
  for (int rule = 0; rule < 2; rule++) {
    char xml[1000];
    snprintf(xml, sizeof xml, "%.*s<contact><pair geom1=\"floor\" geom2=\"ball\" friction=\"0.3 0\"/></contact></mujoco>",
             (int)(strlen(ball) - strlen("</mujoco>")), ball);
    Rig r = rig(xml, 3, (tgContactRule)rule);
    tgGradInfo info;
    tg_sim_qvel(r.s)[0] = 2;
    tg_sim_qvel(r.s)[1] = 3;
    step(&r);
    // t1 is world x where the normal is up, t2 world y: both slide
    check_close(slope(&r, "pair_friction", 0, &info), -g * h, 1e-9);
    check_close(slope(&r, "pair_friction", 1, &info), -g * h, 1e-9);
    check_true(info.label == TG_GRAD_ONE_SIDED && strstr(info.reason, "friction is 0") != NULL, "%s", info.reason);
    drop(&r);
  }
}

static void test_dry_friction(void **state) {
  (void)state;
  for (int rule = 0; rule < 2; rule++)
    for (int way = -1; way <= 1; way++) {
      Rig r = rig(slider, 0, (tgContactRule)rule);
      tgGradInfo info;
      tg_sim_qvel(r.s)[0] = way;
      step(&r);
      check_close(slope(&r, "dof_frictionloss", 0, &info), -way * h / 2, 1e-12);
      assert_int_equal(info.label, TG_GRAD_ONE_SIDED);
      check_true(strstr(info.reason, "dry friction is 0") != NULL && strstr(info.reason, "'x'") != NULL, "%s", info.reason);
      check_close(slope(&r, "dof_damping", 0, &info), -way * h / 2, 1e-12);
      assert_int_equal(info.label, TG_GRAD_EXACT);
      slope(&r, "dof_armature", 0, &info);
      assert_int_equal(info.label, TG_GRAD_EXACT);
      tg_sim_reset(r.s);
      tg_sim_qvel(r.s)[0] = way;
      tg_sim_param(r.s, "dof_frictionloss", NULL, NULL)[0] = 1e-3;
      step(&r);
      check_close(slope(&r, "dof_frictionloss", 0, &info), -way * h / 2, 1e-12);
      assert_int_equal(info.label, TG_GRAD_EXACT);
      drop(&r);
    }
}

// A ball that lands at speed v leaves at e v. Where gravity takes that back in the rest of the step, and where it lands too slowly to
// bounce, e changes nothing.
static void test_restitution(void **state) {
  (void)state;
  for (int rule = 0; rule < 2; rule++)
    for (int fast = 0; fast < 2; fast++)
      for (int heavy = 0; heavy < 2; heavy++) {
        Rig r = rig(ball, 3, (tgContactRule)rule);
        tgGradInfo info;
        double v = fast ? 2 : 5e-4, free_speed = v + (heavy ? g * h : 0);
        if (!heavy) tg_sim_param(r.s, "opt_gravity", NULL, NULL)[2] = 0;
        if (rule == TG_RULE_CLOSING) tg_sim_qpos(r.s)[2] = 0.1 + 0.5 * h * v;
        tg_sim_qvel(r.s)[2] = -v;
        step(&r);
        double at_end = slope(&r, "geom_restitution", 2, &info);
        bool bounces = rule == TG_RULE_TOUCHING ? fast || heavy : fast && !heavy;
        check_close(at_end, bounces ? free_speed : 0, 1e-9);
        if (fast || bounces) assert_int_equal(info.label, TG_GRAD_ONE_SIDED);
        if (!fast && heavy && !bounces) assert_int_equal(info.label, TG_GRAD_EXACT);
        drop(&r);
      }
}

// the laws' friction goes on smoothly at 0
static void test_laws(void **state) {
  (void)state;
  static const char *const word[4] = {"softmin", "barrier", "sdrs", "ipc"};
  for (int k = 0; k < 4; k++) {
    char text[1000];
    snprintf(text, sizeof text, ball, 3);
    Rig r = rig_of_text(text, word[k], NULL);
    tgGradInfo info;
    tgReal start[7];
    tg_sim_qpos(r.s)[2] = k == 0 ? 0.0995 : 0.1005;
    tg_sim_qvel(r.s)[0] = 2;
    memcpy(start, tg_sim_qpos(r.s), sizeof start);
    double at[2], v[2];
    for (int above = 0; above < 2; above++) {
      tg_sim_reset(r.s);
      memcpy(tg_sim_qpos(r.s), start, sizeof start);
      tg_sim_qvel(r.s)[0] = 2;
      tg_sim_param(r.s, "geom_friction", NULL, NULL)[1] = 0.1 * above;
      tgStatus status = tg_sim_step_growing(r.s, 1e-3, NULL);
      check_true(status == TG_OK, "%s: %s", word[k], tg_sim_error(r.s)->text);
      v[above] = tgRe(tg_sim_qvel(r.s)[0]);
      at[above] = slope(&r, "geom_friction", 0, &info);
      if (above) assert_int_equal(info.label, TG_GRAD_EXACT);
    }
    check_true(at[0] < 0, "%s: %g", word[k], at[0]);
    check_close(at[0], (v[1] - v[0]) / 0.1, 1e-2 * fabs(at[0]));
    check_close(at[1], at[0], 1e-2 * fabs(at[0]));
    drop(&r);
  }
}

// every pair of shapes with no friction and no dry friction at all, sliding every way: against differences of the engine
static void test_zoo(void **state) {
  (void)state;
  tgtParamSeen seen = {0};
#ifdef TG_COMPLEX
  double tolerance = 1e-8, floor_ = 1e-4;
#else
  double tolerance = 1e-5, floor_ = 1e-2;
#endif
  for (int rule = 0; rule < 2; rule++)
    for (int pair = 0; pair < TGT_ZOO_PAIRS; pair++) {
      tgLcpOptions o = tg_lcp_default();
      o.contact_rule = (tgContactRule)rule;
      tgtZoo z = tgt_zoo(pair, 40, &o.of, 0);
      tgtRandom r = {.s = 100u * (unsigned)pair};
      char what[64];
      int rows;
      snprintf(what, sizeof what, "pair %d rule %d", pair, rule);
      tgt_zoo_state(&z, &r, false, 0.05, 0.002);
      tgReal *mu = tg_sim_param(z.s, "geom_friction", &rows, NULL);
      for (int i = 0; i < rows; i++) mu[i] = 0;
      tgReal *loss = tg_sim_param(z.s, "ten_frictionloss", &rows, NULL);
      for (int i = 0; i < rows; i++) loss[i] = 0;
      assert_true(tgt_check_params(z.s, 0.004, &r, tolerance, floor_, what, &seen));
      tgt_zoo_free(&z);
    }
  for (int k = 0; tg_param_name(k) != NULL; k++)
    if (seen.ends[k] > 0) print_message("%s at 0 acts in %d of %d states\n", tg_param_name(k), seen.ends[k], seen.states);
  for (int k = 0; tg_param_name(k) != NULL; k++)
    if (strstr(tg_param_name(k), "geom_friction") != NULL || strstr(tg_param_name(k), "frictionloss") != NULL)
      check_true(2 * seen.ends[k] > seen.states, "%s at 0 acts in %d of %d states", tg_param_name(k), seen.ends[k], seen.states);
  check_true(4 * seen.tied <= seen.states, "%d comparisons spoilt by ties", seen.tied);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_friction), cmocka_unit_test(test_torsion), cmocka_unit_test(test_one_tangent),
                                     cmocka_unit_test(test_dry_friction), cmocka_unit_test(test_restitution), cmocka_unit_test(test_laws),
                                     cmocka_unit_test(test_zoo)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
