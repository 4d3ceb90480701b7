// test_soft_detection.c: the lcp model on soft contact points: bodies rest and slide as they should, a step's physics holds, its derivatives agree with
// differences; what cannot be is refused by name.
#include <stdlib.h>
#include <string.h>

#include "support/robots.h"
#include "support/verify.h"
#include "tangere/desc.h"
#include "tangere/grad.h"

static tgContact *soft(const tgModel *m, double spacing) {
  tgContactOptions o = tg_contact_default();
  tgError error = {0};
  assert_int_equal(tg_contact_set(&o, "detection", "soft", &error), TG_OK);
  o.spacing = spacing;
  tgContact *c = tg_contact_create(m, "lcp", &o, &error);
  if (c == NULL) fail_msg("%s", error.text);
  return c;
}

typedef struct Run { tgModel *m; tgContact *c; tgSim *s; } Run;
static Run start(tgModel *m, double spacing) {
  Run r = {.m = m, .c = soft(m, spacing)};
  tgError error = {0};
  r.s = tg_sim_create(m, r.c, NULL, &error);
  if (r.s == NULL) fail_msg("%s", error.text);
  return r;
}
static void end(Run *r) {
  tg_sim_free(r->s);
  tg_contact_free(r->c);
  tg_model_free(r->m);
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
  Run r = start(tgt_box(), 0.04);
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
  end(&r);
}

static void check_gradient(tgSim *s) {
  tgGradCheckOptions o = tg_grad_check_default();
  tgGradCheck check = {0};
  o.h = 0.005;
  assert_int_equal(tg_grad_check_step(s, &o, &check), TG_OK);
  for (int i = 0; i < check.nblock; i++)
    check_true(check.block[i].pass, "%s: error %g, entry %s %s is %g, differences give %g", check.block[i].name, check.block[i].error, check.block[i].row_name,
               check.block[i].col_name, check.block[i].ours, check.block[i].reference);
}

static void test_gradients(void **state) {
  (void)state;
  tgtRandom g = {.s = 61};
  for (int k = 0; k < 2; k++) {
    Run r = start(k == 0 ? tgt_box() : tgt_ball(), k == 0 ? 0.05 : 0.03);
    tgReal *q = tg_sim_qpos(r.s), *v = tg_sim_qvel(r.s);
    int nv = tg_model_nv(r.m), rows = 0;
    for (int i = 0; i < 4; i++) {
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
    check_true(rows > 10, "no contact in what was checked: %d rows", rows);
    end(&r);
  }
}

// towards the exact gap as points get closer
static void test_fineness(void **state) {
  (void)state;
  double gap[2];
  for (int k = 0; k < 2; k++) {
    Run r = start(tgt_ball(), k == 0 ? 0.04 : 0.013);
    tg_sim_qpos(r.s)[2] = 0.099;
    assert_int_equal(tg_sim_step_growing(r.s, 0.001, NULL), TG_OK);
    gap[k] = INFINITY;
    for (int i = 0; i < r.s->ncon; i++) gap[k] = fmin(gap[k], tgRe(r.s->contact[i].gap));
    end(&r);
  }
  check_true(fabs(gap[1] + 0.001) < 1e-3 && fabs(gap[1] + 0.001) < fabs(gap[0] + 0.001), "gaps %g and %g, exactly -0.001", gap[0], gap[1]);
}

static void test_refused(void **state) {
  (void)state;
  Run r = start(tgt_box(), 0.05);
  tgError error = {0};
  tgGradCheckOptions o = tg_grad_check_default();
  tgGradCheck check = {0};
  tg_sim_qpos(r.s)[2] = 0.098;
  // all parameters at once: sizes have no derivative
  assert_int_equal(tg_grad_check_parameters(r.s, &o, &check), TG_OK);
  check_true(strstr(check.block[0].reason, "geom_size") != NULL || !check.block[0].pass, "sizes pass: %s", check.block[0].reason);
  end(&r);
  tgContactOptions c = tg_contact_default();
  assert_int_equal(tg_contact_set(&c, "detection", "hard", &error), TG_ERR_ARG);
  check_true(strstr(error.text, "soft") != NULL, "%s", error.text);
  tgDesc *d = tg_desc_create(NULL);
  static const double vert[12] = {0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1};
  static const int face[12] = {0, 2, 1, 0, 1, 3, 0, 3, 2, 1, 2, 3};
  tg_desc_add_geom(d, 0, TG_GEOM_PLANE, "floor");
  int b = tg_desc_add_body(d, 0, "rock"), mesh = tg_desc_add_mesh(d, "tetra", vert, 4, face, 4);
  tg_desc_add_joint(d, b, TG_JOINT_FREE, "root");
  int g = tg_desc_add_geom(d, b, TG_GEOM_MESH, "rock_skin");
  d->geom[g].mesh = mesh;
  tgModel *m = tg_model_compile(d, NULL, &error);
  if (m == NULL) fail_msg("%s", error.text);
  tg_desc_free(d);
  c = tg_contact_default();
  c.detection = TG_DETECTION_SOFT;
  assert_null(tg_contact_create(m, "lcp", &c, &error));
  assert_int_equal(error.status, TG_ERR_UNSUPPORTED);
  check_true(strstr(error.text, "rock_skin") != NULL, "%s", error.text);
  tg_model_free(m);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_box), cmocka_unit_test(test_gradients), cmocka_unit_test(test_fineness), cmocka_unit_test(test_refused)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
