// test_public.c: what the public headers declare and no other test calls.
#include <string.h>

#include "support/rig.h"
#include "tangere/optim.h"

// world, a hinge, a free body with a site; a fixed tendon over the hinge
static tgDesc *scene(void) {
  static const double vert[] = {0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1};
  static const int face[] = {0, 2, 1, 0, 1, 3, 0, 3, 2, 1, 2, 3};
  tgDesc *d = tg_desc_create(NULL);
  int arm = tg_desc_add_body(d, 0, "arm"), drone = tg_desc_add_body(d, 0, "drone");
  int hinge = tg_desc_add_joint(d, arm, TG_JOINT_HINGE, "elbow");
  tg_desc_add_joint(d, drone, TG_JOINT_FREE, "root");
  d->body[arm].has_inertial = d->body[drone].has_inertial = true;
  d->body[arm].mass = d->body[drone].mass = 2;
  for (int k = 0; k < 3; k++) d->body[arm].inertia[k] = d->body[drone].inertia[k] = 0.5;
  tg_desc_add_site(d, drone, "nose");
  tg_desc_add_mesh(d, "tetra", vert, 4, face, 4);
  double coef = 3;
  tg_desc_add_tendon(d, "rope", &hinge, &coef, 1);
  d->option.gravity[2] = 0;
  return d;
}

static void test_find(void **state) {
  (void)state;
  tgDesc *d = scene();
  assert_int_equal(tg_desc_find_body(d, "drone"), 2);
  assert_int_equal(tg_desc_find_body(d, "world"), 0);
  assert_int_equal(tg_desc_find_joint(d, "root"), 1);
  assert_int_equal(tg_desc_find_site(d, "nose"), 0);
  assert_int_equal(tg_desc_find_mesh(d, "tetra"), 0);
  assert_int_equal(tg_desc_find_tendon(d, "rope"), 0);
  assert_int_equal(tg_desc_find_body(d, "nose"), -1);
  assert_int_equal(tg_desc_find_tendon(d, "elbow"), -1);
  tg_desc_free(d);
}

static void test_joint(void **state) {
  (void)state;
  tgDesc *d = scene();
  tgError e = {0};
  tgModel *m = tg_model_compile(d, NULL, &e);
  check_true(m != NULL, "%s", e.text);
  tgJointType type;
  int body, q, v;
  assert_int_equal(tg_model_joint(m, 1, &type, &body, &q, &v), TG_OK);
  assert_true(type == TG_JOINT_FREE && body == 2 && q == 1 && v == 1);
  assert_int_equal(tg_model_joint(m, 0, &type, NULL, NULL, NULL), TG_OK);
  assert_int_equal(type, TG_JOINT_HINGE);
  assert_int_equal(tg_model_joint(m, 2, &type, &body, &q, &v), TG_ERR_ARG);
  assert_int_equal(tg_model_joint(m, -1, &type, &body, &q, &v), TG_ERR_ARG);
  tg_model_free(m);
  tg_desc_free(d);
}

// without gravity, h f / inertia is all that one step from rest gives; tg_sim_reset takes the force away
static void test_applied_force(void **state) {
  (void)state;
  tgDesc *d = scene();
  tgError e = {0};
  tgModel *m = tg_model_compile(d, NULL, &e);
  tgSim *s = tg_sim_create(m, NULL, NULL, &e);
  check_true(s != NULL, "%s", e.text);
  tg_sim_qfrc_applied(s)[0] = 3;
  tg_sim_qfrc_applied(s)[2] = -8;   // of the free joint: along the world's y
  assert_int_equal(tg_sim_step(s, 0.01, NULL), TG_OK);
  check_close(tg_sim_qvel(s)[0], 0.01 * 3 / 0.5, 1e-15);
  check_close(tg_sim_qvel(s)[2], 0.01 * -8 / 2, 1e-15);
  tg_sim_reset(s);
  check_close(tg_sim_qfrc_applied(s)[0], 0, 0);
  check_close(tg_sim_qfrc_applied(s)[2], 0, 0);
  tg_sim_free(s);
  tg_model_free(m);
  tg_desc_free(d);
}

// a rollout holds its tape and little more
static void test_bytes(void **state) {
  (void)state;
  tgDesc *d = scene();
  tgError e = {0};
  tgModel *m = tg_model_compile(d, NULL, &e);
  tgRolloutOptions o = tg_rollout_default();
  o.steps = 50;
  o.tape_bytes = 20000;
  tgRollout *r = tg_rollout_create(m, NULL, &o, &e);
  check_true(r != NULL, "%s", e.text);
  size_t bytes = tg_rollout_bytes(r);
  check_true(bytes > 20000 && bytes < 24000, "%zu bytes", bytes);
  tg_rollout_free(r);
  tg_model_free(m);
  tg_desc_free(d);
}

static void test_terms(void **state) {
  (void)state;
  tgError e = {0};
  tgTask *t = tg_task_load(TG_SOURCE_DIR "/models/half_cheetah_reach.yaml", NULL, &e);
  check_true(t != NULL, "%s", e.text);
  tgEvaluator *v = tg_evaluator_create(t, 0, &e);
  check_true(v != NULL, "%s", e.text);
  int n = tg_evaluator_terms(v);
  check_true(n > 0 && tg_evaluator_term(v, n - 1, NULL, NULL) != NULL && tg_evaluator_term(v, n, NULL, NULL) == NULL, "%d terms", n);
  tg_evaluator_free(v);
  tg_task_free(t);
}

// Every parameter with a derivative can be written, and a step reads what is written; but the size of the steps, which each call is given.
static void test_step_size(void **state) {
  (void)state;
  tgError e = {0};
  tgDesc *d = scene();
  tgModel *m = tg_model_compile(d, NULL, &e);
  check_true(m != NULL, "%s", e.text);
  tgSim *s = tg_sim_create(m, NULL, NULL, &e);
  bool listed = false;
  for (int i = 0; tg_param_name(i) != NULL; i++) {
    bool size = strcmp(tg_param_name(i), "opt_timestep") == 0;
    int rows = -1, cols = -1;
    tgReal *p = tg_sim_param(s, tg_param_name(i), &rows, &cols);
    listed = listed || size;
    check_true(size ? p == NULL && rows == -1 && cols == -1 : rows >= 0 && cols > 0, "%s: %d x %d", tg_param_name(i), rows, cols);
  }
  assert_true(listed);
  tg_sim_free(s);
  tg_model_free(m);
  tg_desc_free(d);
}

// A state that ran away is to blame for a mass matrix without a factor, not bodies, under every stepper: a cart with
// an arm that is 1e9 m away.
static void test_ran_away(void **state) {
  (void)state;
  static const char arm[] = "<mujoco><worldbody><body name='cart'><joint name='rail' type='slide' axis='1 0 0'/><geom size='.1' mass='1'/>"
                            "<body name='arm' pos='0 0 1'><joint name='elbow' axis='0 1 0'/><joint axis='1 0 0'/>"
                            "<geom type='capsule' size='.01 .1' mass='.01'/>"
                            "</body></body></worldbody></mujoco>";
  static const char *const words[] = {"lcp", "barrier", "softmin"};
  for (int w = 0; w < 3; w++) {
    Rig r = rig_of_text(arm, words[w], NULL);
    tg_sim_qpos(r.s)[0] = 1e9;
    assert_int_equal(tg_sim_step(r.s, 0.01, NULL), TG_ERR_INVALID);
    check_true(strstr(tg_sim_error(r.s)->text, "ran away") != NULL && strstr(tg_sim_error(r.s)->text, "'cart'") != NULL,
               "%s: %s", words[w], tg_sim_error(r.s)->text);
    // at home, without a body's mass and inertia
    tg_sim_reset(r.s);
    int body = tg_model_find(r.m, TG_THING_BODY, "arm"), rows, cols;
    tgReal *mass = tg_sim_param(r.s, "body_mass", NULL, NULL), *inertia = tg_sim_param(r.s, "body_inertia", &rows, &cols);
    mass[body] = 0;
    for (int i = 0; i < cols; i++) inertia[body * cols + i] = 0;
    assert_int_equal(tg_sim_step(r.s, 0.01, NULL), TG_ERR_INVALID);
    check_true(strstr(tg_sim_error(r.s)->text, "without mass") != NULL, "%s: %s", words[w], tg_sim_error(r.s)->text);
    drop(&r);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_find), cmocka_unit_test(test_joint), cmocka_unit_test(test_applied_force),
                                     cmocka_unit_test(test_bytes), cmocka_unit_test(test_terms), cmocka_unit_test(test_step_size),
                                     cmocka_unit_test(test_ran_away)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
