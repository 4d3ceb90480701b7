// test_soft_detection.c: the lcp model on soft contact points: bodies rest and slide as they should, a step's physics
// holds, its derivatives agree with differences; what cannot be is refused by name.
#include <stdlib.h>
#include <string.h>

#include "coll/clouds/soft_contacts.h"
#include "support/rig.h"
#include "support/robots.h"
#include "support/verify.h"
#include "tangere/grad.h"

static Rig start(tgModel *m, double spacing) {
  tgLcpOptions o = tg_lcp_default();
  tgError error = {0};
  assert_int_equal(tg_contact_set(&o.of, "detection", "soft", &error), TG_OK);
  o.spacing = spacing;
  return rig_of_model(m, "lcp", &o.of, &error);
}

static void steps(tgSim *s, int n, bool verify) {
  for (int i = 0; i < n; i++) {
    if (tg_sim_step_growing(s, 0.005, NULL) != TG_OK) fail_msg("step %d: %s", i, tg_sim_error(s)->text);
    if (verify) tgt_check_step(s, 1e-7);
  }
}

// a box dropped flat and then pushed: it comes to rest on its face, slides under a push above friction, stays below it
static void test_box(void **state) {
  (void)state;
  Rig r = start(tgt_box(), 0.04);
  tgReal *q = tg_sim_qpos(r.s), *u = tg_sim_ctrl(r.s);
  q[2] = 0.103;
  steps(r.s, 200, true);
  check_close(q[2], 0.1, 0.004);
  check_true(fabs(tgRe(q[3])) > 1 - 1e-4, "it has tipped over: %g", tgRe(q[3]));
  double x = tgRe(q[0]);
  u[0] = 0.5 * 0.8 * 9.81;
  steps(r.s, 100, true);
  check_close(q[0], x, 1e-3);
  u[0] = 1.5 * 0.8 * 9.81;
  steps(r.s, 100, true);
  // a = (1.5 - 1) mu g for half a second
  check_close(q[0] - x, 0.5 * 0.5 * 0.8 * 9.81 * 0.25, 0.05);
  drop(&r);
}

static void check_gradient(tgSim *s) {
  tgGradCheckOptions o = tg_grad_check_default();
  tgGradCheck check = {0};
  o.h = 0.005;
  assert_int_equal(tg_grad_check_step(s, &o, &check), TG_OK);
  for (int i = 0; i < check.nblock; i++)
    check_true(check.block[i].pass, "%s: error %g, entry %s %s is %g, differences give %g", check.block[i].name,
               check.block[i].error, check.block[i].row_name, check.block[i].col_name, check.block[i].ours,
               check.block[i].reference);
}

static void test_gradients(void **state) {
  (void)state;
  tgtRandom g = {.s = 61};
  for (int k = 0; k < 2; k++) {
    Rig r = start(k == 0 ? tgt_box() : tgt_ball(), k == 0 ? 0.05 : 0.03);
    tgReal *q = tg_sim_qpos(r.s), *v = tg_sim_qvel(r.s);
    int nv = tg_model_nv(r.m), rows = 0, every = 4 / tgt_cases(4, 2);
    for (int i = 0; i < 4; i += every) {
      tg_sim_reset(r.s);
      q[2] = k == 0 ? 0.098 : 0.09;
      if (i > 1) {
        // tilted a little: one edge down
        q[3] = cos(0.05);
        q[4] = sin(0.05);
      }
      for (int d = 0; d < nv; d++) v[d] = tgt_uniform(&g, -0.3, 0.3);
      v[2] -= 0.5;
      check_gradient(r.s);
      assert_int_equal(tg_sim_step_growing(r.s, 0.005, NULL), TG_OK);
      rows += r.s->nrow;
    }
    check_true(rows > 10 / every, "no contact in what was checked: %d rows", rows);
    drop(&r);
  }
}

// towards the exact gap as points get closer
static void test_fineness(void **state) {
  (void)state;
  double gap[2];
  for (int k = 0; k < 2; k++) {
    Rig r = start(tgt_ball(), k == 0 ? 0.04 : 0.013);
    tg_sim_qpos(r.s)[2] = 0.099;
    assert_int_equal(tg_sim_step_growing(r.s, 0.001, NULL), TG_OK);
    gap[k] = INFINITY;
    for (int i = 0; i < r.s->ncon; i++) gap[k] = fmin(gap[k], tgRe(r.s->contact[i].gap));
    drop(&r);
  }
  check_true(fabs(gap[1] + 0.001) < 1e-3 && fabs(gap[1] + 0.001) < fabs(gap[0] + 0.001), "gaps %g and %g, exactly -0.001", gap[0], gap[1]);
}

// ---- meshes ----

// a box of twice those half lengths
static int add_mesh_box(tgDesc *d, int body, const double half[3]) {
  static const int face[36] = {0, 2, 1, 1, 2, 3, 4, 5, 6, 5, 7, 6, 0, 1, 4, 1, 5, 4, 2, 6, 3, 3, 6, 7, 0, 4, 2, 2, 4, 6, 1, 3, 5, 3, 7, 5};
  double vert[24];
  for (int k = 0; k < 8; k++)
    for (int i = 0; i < 3; i++) vert[3 * k + i] = (k >> i & 1 ? 2 : -2) * half[i];
  int g = tg_desc_add_geom(d, body, TG_GEOM_MESH, "crate");
  d->geom[g].mesh = tg_desc_add_mesh(d, "crate", vert, 8, face, 12);
  return g;
}

static tgModel *crate(bool mesh) {
  static const double half[3] = {0.15, 0.1, 0.1};
  tgError e = {0};
  tgDesc *d = tg_desc_create(NULL);
  int floor = tg_desc_add_geom(d, 0, TG_GEOM_PLANE, "floor"), b = tg_desc_add_body(d, 0, "crate"), g;
  tg_desc_add_joint(d, b, TG_JOINT_FREE, "root");
  if (mesh) g = add_mesh_box(d, b, half);
  else {
    g = tg_desc_add_geom(d, b, TG_GEOM_BOX, "crate");
    memcpy(d->geom[g].size, half, sizeof half);
  }
  d->geom[floor].friction[0] = d->geom[g].friction[0] = 0.6;
  d->body[b].has_inertial = true;
  d->body[b].mass = 2;
  for (int i = 0; i < 3; i++) d->body[b].inertia[i] = 0.02;
  tgModel *m = tg_model_compile(d, NULL, &e);
  tg_desc_free(d);
  if (m == NULL) fail_msg("%s", e.text);
  return m;
}

// the mesh of a box rests and stays where the box does, with the physics of each step as it should be and derivatives
// that agree with differences
static void test_mesh(void **state) {
  (void)state;
  double rest[2];
  for (int mesh = 0; mesh < 2; mesh++) {
    Rig r = start(crate(mesh), mesh ? 0.1 : 0.05);
    tgReal *q = tg_sim_qpos(r.s), *v = tg_sim_qvel(r.s);
    // twice as large as it is to be: the simulation's own scale brings it, its points and their spacing down
    for (int i = 0; i < 3 && mesh; i++) tg_sim_param(r.s, "geom_scale", NULL, NULL)[3 * 1 + i] = 0.5;
    q[2] = 0.104;
    steps(r.s, 200, true);
    rest[mesh] = tgRe(q[2]);
    check_true(fabs(tgRe(q[3])) > 1 - 1e-4, "mesh %d has tipped over: %g", mesh, tgRe(q[3]));
    tgtRandom g = {.s = 62};
    for (int k = 0; k < tgt_cases(3, 1); k++) {
      tg_sim_reset(r.s);
      q[2] = 0.097;
      q[3] = cos(0.03 * k);
      q[4] = sin(0.03 * k);
      for (int d = 0; d < 6; d++) v[d] = tgt_uniform(&g, -0.3, 0.3);
      v[2] -= 0.5;
      check_gradient(r.s);
      assert_int_equal(tg_sim_step_growing(r.s, 0.005, NULL), TG_OK);
      check_true(r.s->nrow > 0, "no contact in what was checked");
    }
    drop(&r);
  }
  check_close(rest[0], rest[1], 0.004);
}

// a ball in a trough, whose hull is a block that the ball would be deep in: it rests on the floor of the trough
static void test_concave(void **state) {
  (void)state;
  // profile in (y, z), counter-clockwise; extruded along x from -0.5 to 0.5
  static const double profile[8][2] = {{-.4, 0}, {.4, 0}, {.4, .5}, {.2, .5}, {.2, .1}, {-.2, .1}, {-.2, .5}, {-.4, .5}};
  static const int cap[6][3] = {{0, 5, 7}, {5, 6, 7}, {0, 1, 4}, {0, 4, 5}, {1, 2, 3}, {1, 3, 4}};
  double vert[48];
  int face[28 * 3], n = 0;
  for (int k = 0; k < 8; k++)
    for (int side = 0; side < 2; side++) {
      double *x = vert + 3 * (8 * side + k);
      x[0] = side ? 0.5 : -0.5;
      x[1] = profile[k][0];
      x[2] = profile[k][1];
    }
  for (int k = 0; k < 6; k++)
    for (int side = 0; side < 2; side++) {
      // seen from +x the profile is counter-clockwise in (y, z)
      face[n++] = 8 * side + cap[k][0];
      face[n++] = 8 * side + cap[k][side ? 1 : 2];
      face[n++] = 8 * side + cap[k][side ? 2 : 1];
    }
  for (int k = 0; k < 8; k++) {
    int next = (k + 1) % 8, quad[6] = {k, next, 8 + next, k, 8 + next, 8 + k};
    for (int i = 0; i < 6; i++) face[n++] = quad[i];
  }
  assert_int_equal(n, 28 * 3);
  tgError e = {0};
  tgDesc *d = tg_desc_create(NULL);
  int mesh = tg_desc_add_mesh(d, "trough", vert, 16, face, 28), g = tg_desc_add_geom(d, 0, TG_GEOM_MESH, "trough");
  d->geom[g].mesh = mesh;
  int b = tg_desc_add_body(d, 0, "ball"), ball;
  tg_desc_add_joint(d, b, TG_JOINT_FREE, "root");
  ball = tg_desc_add_geom(d, b, TG_GEOM_SPHERE, "ball");
  d->geom[ball].size[0] = 0.12;
  d->geom[ball].mass = 1;
  tgModel *m = tg_model_compile(d, NULL, &e);
  tg_desc_free(d);
  if (m == NULL) fail_msg("%s", e.text);
  Rig r = start(m, 0.05);
  tgReal *q = tg_sim_qpos(r.s);
  q[2] = 0.35;   // inside the hull, in the air
  tgStepInfo info;
  assert_int_equal(tg_sim_step_growing(r.s, 0.002, &info), TG_OK);
  check_true(info.ncontact == 0, "%d contacts in the air above the trough's floor", info.ncontact);
  steps(r.s, 150, true);
  check_close(q[2], 0.1 + 0.12, 0.012);
  check_true(fabs(tgRe(q[1])) < 0.05, "it has moved aside by %g", tgRe(q[1]));
  drop(&r);
}

// A pair takes no more of a sim's scratch than the contact model asks for; where less is there it says so, however much less.
static void test_scratch(void **state) {
  (void)state;
  for (int k = 0; k < 3; k++) {
    Rig r = start(k == 0 ? tgt_box() : k == 1 ? tgt_ball() : crate(true), k == 1 ? 0.02 : 0.05);
    tgContactPoint out[TG_PAIR_POINTS];
    double distance;
    r.s->qpos[2] = 0.09;
    steps(r.s, 1, false);
    r.s->stack_high = 0;
    int count = tgi_soft_collide(r.s, &r.s->start, 0, 0.01, true, out, &distance);
    size_t whole = r.s->cap.stack, need = r.s->stack_high;
    check_true(count > 0 && need > 0 && need <= r.c->soft->scratch, "%d points take %zu bytes, %zu are asked for", count, need,
               r.c->soft->scratch);
    for (size_t room = 0; room < need; room += 64) {
      r.s->cap.stack = room;
      assert_int_equal(tgi_soft_collide(r.s, &r.s->start, 0, 0.01, true, out, &distance), TG_ERR_CAPACITY);
    }
    r.s->cap.stack = need;
    assert_int_equal(tgi_soft_collide(r.s, &r.s->start, 0, 0.01, true, out, &distance), count);
    r.s->cap.stack = whole;
    drop(&r);
  }
}

static void test_refused(void **state) {
  (void)state;
  Rig r = start(tgt_box(), 0.05);
  tgError error = {0};
  tgGradCheckOptions o = tg_grad_check_default();
  tgGradCheck check = {0};
  tg_sim_qpos(r.s)[2] = 0.098;
  // all parameters at once: sizes have no derivative
  assert_int_equal(tg_grad_check_parameters(r.s, &o, &check), TG_OK);
  check_true(strstr(check.block[0].reason, "geom_size") != NULL || !check.block[0].pass, "sizes pass: %s", check.block[0].reason);
  drop(&r);
  tgLcpOptions c = tg_lcp_default();
  assert_int_equal(tg_contact_set(&c.of, "detection", "hard", &error), TG_ERR_ARG);
  check_true(strstr(error.text, "soft") != NULL, "%s", error.text);
  tgDesc *d = tg_desc_create(NULL);
  static const double vert[12] = {0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1};
  static const int face[9] = {0, 2, 1, 0, 1, 3, 0, 3, 2};   // open: the fourth is missing
  tg_desc_add_geom(d, 0, TG_GEOM_PLANE, "floor");
  int b = tg_desc_add_body(d, 0, "rock"), mesh = tg_desc_add_mesh(d, "tetra", vert, 4, face, 3);
  tg_desc_add_joint(d, b, TG_JOINT_FREE, "root");
  int g = tg_desc_add_geom(d, b, TG_GEOM_MESH, "rock_skin");
  d->geom[g].mesh = mesh;
  d->body[b].has_inertial = true;
  d->body[b].mass = d->body[b].inertia[0] = d->body[b].inertia[1] = d->body[b].inertia[2] = 1;
  tgModel *m = tg_model_compile(d, NULL, &error);
  if (m == NULL) fail_msg("%s", error.text);
  tg_desc_free(d);
  c = tg_lcp_default();
  c.detection = TG_DETECTION_SOFT;
  assert_null(tg_contact_create(m, "lcp", &c.of, &error));
  check_true(strstr(error.text, "rock_skin") != NULL && strstr(error.text, "tetra") != NULL &&
             strstr(error.text, "edge") != NULL, "%s", error.text);
  tg_model_free(m);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_box), cmocka_unit_test(test_gradients),
                                     cmocka_unit_test(test_fineness), cmocka_unit_test(test_mesh),
                                     cmocka_unit_test(test_concave), cmocka_unit_test(test_refused), cmocka_unit_test(test_scratch)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
