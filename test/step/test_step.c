// test_step.c: steps against closed forms; after every step the physics is verified from scratch.
#include <stdlib.h>
#include <string.h>

#include "contact/lcp/solve.h"
#include "scenes/scenes.h"
#include "scene_states.h"
#include "support/rig.h"
#include "support/verify.h"

static Rig rig(tgDesc *d, const tgContactOptions *o) { return rig_of_desc(d, "lcp", o); }

static void step(Rig *r, double h) {
  tgStepInfo info;
  tgStatus status = tg_sim_step(r->s, h, &info);
  check_true(status == TG_OK && info.converged, "status %d: %s", (int)status, tg_sim_error(r->s)->text);
  tgt_check_step(r->s, 1e-8);
}

static tgDesc *box_on_plane(double mu, double angle) {
  tgDesc *d = tg_desc_create(NULL);
  tgs_plane(d, mu);
  tgs_free_body(d, "box", (double[]){0, 0, 0.1}, TG_GEOM_BOX, (double[]){0.2, 0.2, 0.1}, 2, mu);
  // the plane is level; gravity leans
  d->option.gravity[0] = 10 * sin(angle);
  d->option.gravity[2] = -10 * cos(angle);
  return d;
}

static void test_free_fall(void **state) {
  (void)state;
  tgDesc *d = tg_desc_create(NULL);
  tgs_free_body(d, "ball", (double[]){0, 0, 1}, TG_GEOM_SPHERE, (double[]){0.1, 0, 0}, 1, 1);
  Rig r = rig(d, NULL);
  double h = 0.01, z = 1, v = 0;
  r.s->qvel[4] = 3;   // spin about its own axis of equal inertia stays
  for (int i = 0; i < 50; i++) {
    step(&r, h);
    v -= 9.81 * h;
    z += v * h;
  }
  check_close(r.s->qpos[2], z, 1e-12);
  check_close(r.s->qvel[2], v, 1e-12);
  check_close(r.s->qvel[4], 3, 1e-12);
  drop(&r);
}

static void test_explicit_update(void **state) {
  (void)state;
  tgLcpOptions o = tg_lcp_default();
  o.symplectic = false;
  tgDesc *d = tg_desc_create(NULL);
  tgs_free_body(d, "ball", (double[]){0, 0, 1}, TG_GEOM_SPHERE, (double[]){0.1, 0, 0}, 1, 1);
  Rig r = rig(d, &o.of);
  r.s->qvel[2] = 2;
  step(&r, 0.01);
  check_close(r.s->qpos[2], 1.02, 1e-14);
  check_close(r.s->qvel[2], 2 - 0.0981, 1e-14);
  drop(&r);
}

// a box sliding on a plane brakes with mu g along an axis, then rests
static void test_slide(void **state) {
  (void)state;
  Rig r = rig(box_on_plane(0.3, 0), NULL);
  double h = 0.005, v = 1;
  r.s->qvel[0] = 1;
  for (int i = 0; i < 100; i++) {
    step(&r, h);
    v = fmax(0, v - 0.3 * 10 * h);
    check_close(r.s->qvel[0], v, 1e-9);
    check_close(r.s->qvel[1], 0, 1e-9);
    for (int k = 3; k < 6; k++) check_close(r.s->qvel[k], 0, 1e-8);
  }
  drop(&r);
}

// below the friction angle it sticks, above it slides with g (sin - mu cos)
static void test_incline(void **state) {
  (void)state;
  for (int k = -1; k <= 1; k += 2) {
    double mu = 0.4, angle = atan(mu) + 0.02 * k, h = 0.01, v = 0;
    Rig r = rig(box_on_plane(mu, angle), NULL);
    for (int i = 0; i < 20; i++) {
      step(&r, h);
      v += k > 0 ? h * 10 * (sin(angle) - mu * cos(angle)) : 0;
      check_close(r.s->qvel[0], v, 1e-9);
    }
    drop(&r);
  }
}

// at rest on four corners: stays, and the least-norm impulses carry the weight in equal parts
static void test_rest(void **state) {
  (void)state;
  Rig r = rig(box_on_plane(0.5, 0), NULL);
  double h = 0.01;
  for (int i = 0; i < 50; i++) step(&r, h);
  check_close(r.s->qpos[2], 0.1, 1e-9);
  assert_int_equal(r.s->info.ncontact, 4);
  assert_true(r.s->info.rank_deficient);
  for (int i = 0; i < 4; i++) check_close(r.s->rows->f[r.s->contact[i].row], 2 * 10 * h / 4, 1e-9);
  for (int d = 0; d < 6; d++) check_close(r.s->qvel[d], 0, 1e-9);
  drop(&r);
}

static tgDesc *two_balls(double restitution, double m1, double m2) {
  tgDesc *d = tg_desc_create(NULL);
  tgs_free_body(d, "one", (double[]){0, 0, 0}, TG_GEOM_SPHERE, (double[]){0.1, 0, 0}, m1, 0);
  tgs_free_body(d, "two", (double[]){0.2 - 1e-9, 0, 0}, TG_GEOM_SPHERE, (double[]){0.1, 0, 0}, m2, 0);
  for (int g = 0; g < 2; g++) d->geom[g].restitution = restitution;
  d->option.gravity[2] = 0;
  return d;
}

// central impact: v1' = v1 - (1 + e) m2/(m1 + m2) (v1 - v2), v2' likewise
static void test_impact(void **state) {
  (void)state;
  for (int k = 0; k < 3; k++) {
    double e = 0.5 * k, m1 = 1, m2 = 3;
    tgLcpOptions o = tg_lcp_default();
    o.erp = 0;
    Rig r = rig(two_balls(e, m1, m2), &o.of);
    r.s->qvel[0] = 2;
    r.s->qvel[6] = -1;
    step(&r, 0.001);
    check_close(r.s->qvel[0], 2 - (1 + e) * m2 / (m1 + m2) * 3, 1e-12);
    check_close(r.s->qvel[6], -1 + (1 + e) * m1 / (m1 + m2) * 3, 1e-12);
    drop(&r);
  }
}

// equal balls exchange their velocities; so do the derivatives [math/lcp (13)]
static void test_bounce_gradient(void **state) {
  (void)state;
  tgLcpOptions o = tg_lcp_default();
  o.erp = 0;
  Rig r = rig(two_balls(1, 1, 1), &o.of);
  r.s->qvel[0] = 1;
  step(&r, 0.001);
  double g[24] = {0}, dq[12], dv[12];
  g[12 + 6] = 1;   // of the second ball's speed
  assert_int_equal(tg_sim_step_vjp(r.s, g, g + 12, dq, dv, NULL, NULL, NULL), TG_OK);
  check_close(dv[0], 1, 1e-9);
  check_close(dv[6], 0, 1e-9);
  drop(&r);
}

// a rod that falls about +y until its limit stops it
static void fall_on_limit(tgContactRule rule) {
  tgDesc *d = tg_desc_create(NULL);
  int b = tg_desc_add_body(d, 0, "rod"), j = tg_desc_add_joint(d, b, TG_JOINT_HINGE, "pin");
  int g = tg_desc_add_geom(d, b, TG_GEOM_SPHERE, "bob");
  d->geom[g].size[0] = 0.05;
  d->geom[g].pos[0] = 0.5;
  d->joint[j].axis[1] = 1;
  d->joint[j].axis[2] = 0;
  d->joint[j].limited = TG_LIMITED_YES;
  d->joint[j].range[0] = -1;
  d->joint[j].range[1] = 0.3;
  Rig r = rig_ruled(d, rule);
  double h = 0.002, deepest = 0;
  for (int i = 0; i < 1000; i++) {
    step(&r, h);
    deepest = fmax(deepest, r.s->qpos[0] - 0.3);
  }
  // it enters by one step's way at most, then is pushed back; by `closing` it does not
  if (rule == TG_RULE_TOUCHING) check_true(deepest > 0 && deepest < 0.02, "deepest %g", deepest);
  else check_true(deepest < 1e-9, "deepest %g", deepest);
  check_close(r.s->qpos[0], 0.3, 1e-6);
  check_close(r.s->qvel[0], 0, 1e-6);
  drop(&r);
}
static void test_limit(void **state) {
  (void)state;
  fall_on_limit(TG_RULE_TOUCHING);
  fall_on_limit(TG_RULE_CLOSING);
}

// dry friction holds a load below it and brakes above it with the difference
static void test_dry_friction(void **state) {
  (void)state;
  for (int k = -1; k <= 1; k += 2) {
    tgDesc *d = tg_desc_create(NULL);
    int b = tg_desc_add_body(d, 0, "cart"), j = tg_desc_add_joint(d, b, TG_JOINT_SLIDE, "rail");
    int g = tg_desc_add_geom(d, b, TG_GEOM_SPHERE, NULL);
    d->geom[g].size[0] = 0.1;
    d->geom[g].mass = 2;
    d->joint[j].axis[0] = 1;
    d->joint[j].axis[2] = 0;
    d->joint[j].frictionloss = 5;
    Rig r = rig(d, NULL);
    double h = 0.01, v = 0;
    r.s->qfrc_applied[0] = 5 + k;
    for (int i = 0; i < 30; i++) {
      step(&r, h);
      v += k > 0 ? h * 0.5 : 0;
      check_close(r.s->qvel[0], v, 1e-12);
    }
    drop(&r);
  }
}

static tgDesc *rod(bool hinged) {
  tgDesc *d = tg_desc_create(NULL);
  int b = tg_desc_add_body(d, 0, "rod");
  int j = tg_desc_add_joint(d, b, hinged ? TG_JOINT_HINGE : TG_JOINT_FREE, "root");
  int g = tg_desc_add_geom(d, b, TG_GEOM_CAPSULE, NULL);
  d->geom[g].size[0] = 0.05;
  d->geom[g].size[1] = 0.3;
  d->geom[g].quat[0] = d->geom[g].quat[2] = sqrt(0.5);
  d->geom[g].pos[0] = 0.3;
  d->geom[g].mass = 1;
  d->joint[j].axis[1] = hinged ? 1 : 0;
  d->joint[j].axis[2] = hinged ? 0 : 1;
  if (!hinged) {
    int e = tg_desc_add_equality(d, TG_EQ_CONNECT, b, 0, "pivot");
    d->equality[e].anchor[0] = 0;
  }
  return d;
}

// a rod connected to the world at a point swings as one on a hinge
static void test_connect(void **state) {
  (void)state;
  double angle[2][2];
  for (int k = 0; k < 2; k++) {
    double h = k == 0 ? 0.002 : 0.0005, worst = 0;
    Rig a = rig(rod(true), NULL), b = rig(rod(false), NULL);
    for (int i = 0; i < (int)(0.4 / h + 0.5); i++) {
      step(&a, h);
      step(&b, h);
      for (int x = 0; x < 3; x++) worst = fmax(worst, fabs(b.s->qpos[x]));
    }
    angle[k][0] = a.s->qpos[0];
    angle[k][1] = 2 * atan2(b.s->qpos[5], b.s->qpos[3]);
    check_true(worst < 3 * h * h * 9.81, "the pivot leaves its place by %g", worst);
    drop(&a);
    drop(&b);
  }
  for (int k = 0; k < 2; k++) check_close(angle[k][1], angle[k][0], 1e-9);
}

// a welded box stays, though gravity and a torque pull
static void test_weld(void **state) {
  (void)state;
  tgDesc *d = tg_desc_create(NULL);
  int b = tgs_free_body(d, "box", (double[]){0.3, 0.2, 1}, TG_GEOM_BOX, (double[]){0.1, 0.2, 0.1}, 2, 1);
  tg_desc_add_equality(d, TG_EQ_WELD, b, 0, "glue");
  Rig r = rig(d, NULL);
  r.s->qfrc_applied[3] = 4;
  for (int i = 0; i < 100; i++) step(&r, 0.005);
  for (int k = 0; k < 7; k++) check_close(r.s->qpos[k], r.m->qpos0[k], 1e-9);
  // disturbed, it comes back at the rate of erp
  tgReal w[6] = {0.01, 0, 0, 0, 0.02, 0};
  tg_model_integrate(r.m, r.s->qpos, w, r.s->qpos);
  for (int i = 0; i < 200; i++) step(&r, 0.005);
  for (int k = 0; k < 7; k++) check_close(r.s->qpos[k], r.m->qpos0[k], 1e-9);
  drop(&r);
}

// the cheetah dropped on the floor: verified at every step, comes to rest inside its limits
static void test_scenes(void **state) {
  (void)state;
  for (int scene = 0; scene < TGS_COUNT; scene++) {
    Rig r = rig(tgs_desc((tgsScene)scene), NULL);
    assert_int_equal(tgt_scene_state(r.s, (tgsScene)scene, 1, 0.004), TG_OK);
    for (int i = 0; i < 150; i++) {
      tgStepInfo info;
      tgStatus status = tg_sim_step(r.s, 0.004, &info);
      if (status == TG_ERR_CAPACITY) {
        assert_int_equal(tg_sim_reserve(r.s, r.s->wanted.ncon, r.s->wanted.nrow), TG_OK);
        status = tg_sim_step(r.s, 0.004, &info);
      }
      check_true(status == TG_OK, "%s step %d: %s", tgs_name((tgsScene)scene), i, tg_sim_error(r.s)->text);
      tgt_check_step(r.s, 1e-7);
    }
    drop(&r);
  }
}

static void expect_named(Rig *r, tgStatus want, const char *word) {
  tgReal q[100], v[100];
  memcpy(q, r->s->qpos, (size_t)r->m->nq * sizeof *q);
  memcpy(v, r->s->qvel, (size_t)r->m->nv * sizeof *v);
  assert_int_equal(tg_sim_step(r->s, 0.01, NULL), want);
  check_true(strstr(tg_sim_error(r->s)->text, word) != NULL, "'%s' does not name '%s'", tg_sim_error(r->s)->text, word);
  assert_memory_equal(q, r->s->qpos, (size_t)r->m->nq * sizeof *q);
  assert_memory_equal(v, r->s->qvel, (size_t)r->m->nv * sizeof *v);
}

static void test_bad_numbers(void **state) {
  (void)state;
  Rig r = rig(tgs_desc(TGS_CHEETAH), NULL);
  r.s->qpos[4] = NAN;
  expect_named(&r, TG_ERR_NOT_FINITE, "bshin");
  tg_sim_reset(r.s);
  r.s->qvel[5] = INFINITY;
  expect_named(&r, TG_ERR_NOT_FINITE, "bfoot");
  tg_sim_reset(r.s);
  r.s->ctrl[1] = NAN;
  expect_named(&r, TG_ERR_NOT_FINITE, "bshin");
  tg_sim_reset(r.s);
  int rows, cols;
  tg_sim_param(r.s, "body_mass", &rows, &cols)[6] = NAN;
  expect_named(&r, TG_ERR_NOT_FINITE, "fthigh");
  tg_sim_reset(r.s);
  tg_sim_param(r.s, "dof_damping", &rows, &cols)[3] = NAN;
  expect_named(&r, TG_ERR_NOT_FINITE, "bthigh");
  tg_sim_reset(r.s);
  assert_int_equal(tg_sim_step(r.s, -1, NULL), TG_ERR_ARG);
  assert_int_equal(tg_sim_step(r.s, NAN, NULL), TG_ERR_ARG);
  assert_int_equal(tg_sim_step_jacobian(r.s, (tgReal[1000]){0}, NULL), TG_ERR_STATE);
  drop(&r);
}

// more contacts than room: nothing changes, what is wanted is enough
static void test_capacity(void **state) {
  (void)state;
  tgDesc *d = tg_desc_create(NULL);
  tgs_plane(d, 0.5);
  for (int i = 0; i < 12; i++) {
    char name[16] = {(char)('a' + i), '\0'};
    tgs_free_body(d, name, (double[]){0.5 * i, 0, 0.0999}, TG_GEOM_BOX, (double[]){0.1, 0.1, 0.1}, 1, 0.5);
  }
  for (int g = 1; g < d->ngeom; g++) d->geom[g].restitution = 0.5;
  Rig r = rig_ruled(d, TG_RULE_TOUCHING);
  int ncon, nrow, nv = r.m->nv;
  for (int i = 0; i < 12; i++) r.s->qvel[6 * i + 2] = -1;
  expect_named(&r, TG_ERR_CAPACITY, "48");
  tg_sim_wanted(r.s, &ncon, &nrow);
  assert_int_equal(ncon, 48);
  assert_int_equal(tg_sim_reserve(r.s, ncon, nrow), TG_OK);
  step(&r, 0.01);
  assert_int_equal(r.s->info.ncontact, 48);
  for (int i = 0; i < 12; i++) check_close(r.s->qvel[6 * i + 2], 0.5 * (1 + 9.81 * 0.01), 1e-9);
  // and there is room for the derivatives, bounces and redundant rows included
  tgReal *D = malloc(sizeof(tgReal) * (size_t)(4 * nv * nv + 4 * nv)), *g = D + 4 * nv * nv;
  for (int i = 0; i < 2 * nv; i++) g[i] = 1;
  assert_int_equal(tg_sim_step_jacobian(r.s, D, NULL), TG_OK);
  assert_int_equal(tg_sim_step_vjp(r.s, g, g + nv, g + 2 * nv, g + 3 * nv, NULL, NULL, NULL), TG_OK);
  free(D);
  drop(&r);
}

// two equalities that ask for different things cannot both hold: said so, by name, with nothing changed
static void test_impossible(void **state) {
  (void)state;
  tgDesc *d = tg_desc_create(NULL);
  int b = tg_desc_add_body(d, 0, "cart"), j = tg_desc_add_joint(d, b, TG_JOINT_SLIDE, "rail");
  int g = tg_desc_add_geom(d, b, TG_GEOM_SPHERE, NULL);
  d->geom[g].size[0] = 0.1;
  d->joint[j].axis[0] = 1;
  d->joint[j].axis[2] = 0;
  for (int k = 0; k < 2; k++) {
    int e = tg_desc_add_equality(d, TG_EQ_JOINT, j, -1, k == 0 ? "here" : "there");
    d->equality[e].polycoef[0] = 0.1 * k;
    d->equality[e].polycoef[1] = 0;
  }
  tgLcpOptions o = tg_lcp_default();
  o.unsolved = TG_UNSOLVED_STOP;
  Rig r = rig(d, &o.of);
  r.s->qvel[0] = 0.3;
  expect_named(&r, TG_NOT_CONVERGED, "here");
  tgStepInfo info;
  assert_int_equal(tg_sim_step(r.s, 0.01, &info), TG_NOT_CONVERGED);
  assert_false(info.converged);
  assert_int_equal(info.body1, b);
  assert_int_equal(tg_sim_step_vjp(r.s, r.s->start.vel, r.s->start.vel, r.s->end.vel, NULL, NULL, NULL, NULL), TG_ERR_STATE);
  drop(&r);
}

int main(int argc, char **argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_free_fall), cmocka_unit_test(test_explicit_update), cmocka_unit_test(test_slide),
      cmocka_unit_test(test_incline), cmocka_unit_test(test_rest), cmocka_unit_test(test_impact),
      cmocka_unit_test(test_bounce_gradient), cmocka_unit_test(test_limit), cmocka_unit_test(test_dry_friction),
      cmocka_unit_test(test_connect), cmocka_unit_test(test_weld), cmocka_unit_test(test_scenes),
      cmocka_unit_test(test_bad_numbers), cmocka_unit_test(test_capacity), cmocka_unit_test(test_impossible)};
  if (argc > 1) cmocka_set_test_filter(argv[1]);
  return cmocka_run_group_tests(tests, NULL, NULL);
}
