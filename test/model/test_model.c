// test_model.c: a model built in code: layout, filters, inertias, errors; a simulation of it: reset, snapshot, growth.
#include <stdlib.h>
#include <string.h>

#include "model/model.h"
#include "sim/sim.h"
#include "support/check.h"

static tgDesc *two_bodies(void) {
  tgDesc *d = tg_desc_create(NULL);
  int a = tg_desc_add_body(d, 0, "ball"), b = tg_desc_add_body(d, a, "arm"), c = tg_desc_add_body(d, b, "hand");
  tg_desc_add_joint(d, b, TG_JOINT_HINGE, "elbow");
  tg_desc_add_joint(d, a, TG_JOINT_FREE, "root");
  tg_desc_add_joint(d, c, TG_JOINT_BALL, "wrist");
  tg_desc_add_geom(d, 0, TG_GEOM_PLANE, "floor");
  for (int i = 1; i <= 3; i++) {
    int g = tg_desc_add_geom(d, i, TG_GEOM_SPHERE, NULL);
    d->geom[g].size[0] = 0.1 * i;
    d->geom[g].pos[0] = 0.05;
  }
  d->body[a].pos[2] = 1;
  d->body[b].pos[0] = 0.5;
  d->body[c].pos[0] = 0.5;
  tg_desc_add_actuator(d, TG_TRN_JOINT, 0, "motor");
  return d;
}

static void test_layout(void **state) {
  (void)state;
  tgDesc *d = two_bodies();
  tgError e = {0};
  tgModel *m = tg_model_compile(d, NULL, &e);
  check_true(m != NULL, "%s", e.text);
  assert_int_equal(m->nq, 7 + 1 + 4);
  assert_int_equal(m->nv, 6 + 1 + 3);
  // joints go by body, whatever the order in which they were added
  assert_string_equal(tg_model_name(m, TG_THING_JOINT, 0), "root");
  assert_string_equal(tg_model_name(m, TG_THING_JOINT, 1), "elbow");
  assert_int_equal(m->act_target[0], 1);
  assert_int_equal(m->jnt_qadr[2], 8);
  assert_int_equal(m->dof_parent[6], 5);
  assert_int_equal(m->dof_grpadr[8], 7);
  assert_int_equal(m->dof_grpnum[4], 3);
  check_close(m->qpos0[2], 1, 0);
  check_close(m->qpos0[8], 1, 0);
  // floor with each ball; ball with hand; neighbours are filtered
  assert_int_equal(m->npair, 4);
  double r = 0.2, mass = 1000 * 4 * TG_PI * r * r * r / 3;
  check_close(m->body_mass[2], mass, 1e-10);
  check_close(m->body_com[3 * 2], 0.05, 1e-15);
  check_close(m->body_inertia[6 * 2], 0.4 * mass * r * r, 1e-10);
  tg_model_free(m);
  tg_desc_free(d);
}

static void expect_error(tgDesc *d, const char *word) {
  tgError e = {0};
  tgModel *m = tg_model_compile(d, NULL, &e);
  check_true(m == NULL, "accepted although %s", word);
  check_true(strstr(e.text, word) != NULL, "'%s' does not say '%s'", e.text, word);
  tg_desc_free(d);
}

static void test_errors(void **state) {
  (void)state;
  tgDesc *d = two_bodies();
  d->joint[0].axis[2] = 0;
  expect_error(d, "axis is zero");
  d = two_bodies();
  d->geom[2].size[0] = -1;
  expect_error(d, "must be positive");
  d = two_bodies();
  d->body[3].has_inertial = true;
  d->body[3].mass = -1;
  expect_error(d, "body 'hand'");
  d = two_bodies();
  d->body[3].has_inertial = true;
  d->body[3].mass = 1;
  d->body[3].inertia[0] = 3;
  d->body[3].inertia[1] = d->body[3].inertia[2] = 1;
  expect_error(d, "principal moments");
  d = two_bodies();
  d->geom[3].density = 0;
  expect_error(d, "neither it nor anything it carries has mass");
  d = two_bodies();
  d->joint[0].limited = TG_LIMITED_YES;
  d->joint[0].range[0] = 2;
  d->joint[0].range[1] = 1;
  expect_error(d, "above its upper limit");
}

// what no loader makes and a program may
static void test_errors_of_programs(void **state) {
  (void)state;
  tgDesc *d = two_bodies();
  d->joint[0].type = (tgJointType)7;
  expect_error(d, "unknown joint type 7");
  d = two_bodies();
  d->joint[0].actfrclimited = TG_LIMITED_YES;
  d->joint[0].actfrcrange[0] = 1;
  expect_error(d, "actfrcrange 1 0");
  d = two_bodies();
  d->joint[0].type = TG_JOINT_BALL;
  d->joint[0].actfrclimited = TG_LIMITED_YES;
  expect_error(d, "hinge and slide joints only");
  d = two_bodies();
  d->geom[2].condim = 5;
  expect_error(d, "condim 5");
  d = two_bodies();
  d->joint[0].springdamper[0] = 1;
  expect_error(d, "springdamper 1 0");
  d = two_bodies();
  int servo = tg_desc_add_actuator(d, TG_TRN_JOINT, 0, NULL);
  d->actuator[servo].dampratio = 1;
  d->actuator[servo].gain[0] = -1;
  expect_error(d, "a damping ratio is for servos");
  d = two_bodies();
  servo = tg_desc_add_actuator(d, TG_TRN_JOINT, 0, NULL);
  d->actuator[servo].dampratio = -1;
  expect_error(d, "dampratio -1");
  d = two_bodies();
  int a = -1, b = -1;   // geoms of two bodies
  for (int i = 0; i < d->ngeom; i++)
    if (a < 0) a = i; else if (b < 0 && d->geom[i].body != d->geom[a].body) b = i;
  int p = tg_desc_add_pair(d, a, b, NULL);
  d->pair[p].friction[1] = -0.5;
  expect_error(d, "pair 0: friction -0.5");
  d = two_bodies();
  p = tg_desc_add_pair(d, a, b, NULL);
  d->pair[p].restitution = 2;
  expect_error(d, "pair 0: restitution 2");
  d = two_bodies();
  p = tg_desc_add_pair(d, a, b, NULL);
  d->pair[p].condim = 2;
  expect_error(d, "pair 0: condim 2");
  d = two_bodies();
  tg_desc_add_actuator(d, (tgTransmission)5, 0, NULL);
  expect_error(d, "unknown transmission 5");
  d = two_bodies();
  tg_desc_add_equality(d, (tgEqualityType)9, 1, 2, NULL);
  expect_error(d, "unknown equality type 9");
  d = two_bodies();
  static const double vert[] = {0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1};
  static const int face[] = {0, 2, 1, 0, 1, 3, 0, 3, 2, 1, 2, 3};
  int m = tg_desc_add_mesh(d, NULL, vert, 4, face, 4);
  d->mesh[m].inertia_kind = 4;
  expect_error(d, "unknown inertia_kind 4");
}

static void test_sim(void **state) {
  (void)state;
  tgDesc *d = two_bodies();
  tgModel *m = tg_model_compile(d, NULL, NULL);
  tgSim *s = tg_sim_create(m, NULL, NULL, NULL);
  assert_non_null(s);
  tg_sim_qpos(s)[0] = 0.25;
  tg_sim_qvel(s)[3] = -2;
  tg_sim_ctrl(s)[0] = 5;
  int rows, cols;
  tgReal *mass = tg_sim_param(s, "body_mass", &rows, &cols);
  assert_int_equal(rows, m->nbody);
  mass[1] = 9;
  check_true(tgRe(m->body_mass[1]) < 9, "the model's own mass changed");
  void *snap = malloc(tg_sim_snapshot_size(s));
  tg_sim_save(s, snap);
  assert_int_equal(tg_sim_reserve(s, 500, 1600), TG_OK);
  check_close(tg_sim_qpos(s)[0], 0.25, 0);
  check_close(tg_sim_param(s, "body_mass", NULL, NULL)[1], 9, 0);
  tg_sim_reset(s);
  check_close(tg_sim_qpos(s)[0], 0, 0);
  assert_int_equal(tg_sim_restore(s, snap), TG_OK);
  check_close(tg_sim_qpos(s)[0], 0.25, 0);
  check_close(tg_sim_qvel(s)[3], -2, 0);
  check_close(tg_sim_ctrl(s)[0], 5, 0);
  free(snap);
  // every field can be listed and found, with a unit string and a text
  for (int i = 0; i < tg_sim_field_count(s); i++) {
    tgField f = tg_sim_field(s, i);
    assert_non_null(f.unit);
    check_true(strlen(f.text) > 3 && strlen(f.producer) > 3, "field %s lacks a text", f.name);
    assert_ptr_equal(tg_sim_field_named(s, f.name).data, f.data);
  }
  tg_sim_free(s);
  tg_model_free(m);
  tg_desc_free(d);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_layout), cmocka_unit_test(test_errors),
                                     cmocka_unit_test(test_errors_of_programs), cmocka_unit_test(test_sim)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
