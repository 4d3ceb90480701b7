// test_crowd.c: what a step of the rule `closing` stops without an impact of its own: many that meet at many times, and islands of many
// rows; what bounces, meets at few times or lies elsewhere has its impact all the same.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/sim.h"
#include "support/check.h"
#include "support/rig.h"
#include "tangere/grad.h"
#include "tangere/lcp.h"
#include "tangere/step.h"

#define H 0.01
#define RADIUS 0.05
#define MU 0.3

// balls that slide along x and z above a floor, without weight
static Rig row_of_balls(int n) {
  char text[8192];
  int used = snprintf(text, sizeof text, "<mujoco><option gravity=\"0 0 0\"/><worldbody>"
                      "<geom type=\"plane\" size=\"9 9 1\" friction=\"%g\"/>", MU);
  for (int k = 0; k < n; k++)
    used += snprintf(text + used, sizeof text - (size_t)used,
                     "<body pos=\"0 %d %g\"><joint type=\"slide\" axis=\"1 0 0\"/><joint type=\"slide\" axis=\"0 0 1\"/>"
                     "<geom size=\"%g\" mass=\"%g\" friction=\"%g\"/></body>", k, RADIUS, RADIUS, 1 + 0.1 * k, MU);
  snprintf(text + used, sizeof text - (size_t)used, "</worldbody></mujoco>");
  tgLcpOptions o = tg_lcp_default();
  o.contact_rule = TG_RULE_CLOSING;
  return rig_of_text(text, "lcp", &o.of);
}

// ball k is `gap` above the floor, and falls at 1 m/s and more, sideways at 2 m/s
static void throw_ball(tgSim *s, int k, double gap) {
  tg_sim_qpos(s)[2 * k + 1] = gap;
  tg_sim_qvel(s)[2 * k] = 2;
  tg_sim_qvel(s)[2 * k + 1] = -1 - 0.05 * k;
}

static tgStepInfo stepped(tgSim *s) {
  tgStepInfo info;
  check_true(tg_sim_step_growing(s, H, &info) == TG_OK, "%s", tg_sim_error(s)->text);
  return info;
}

// It slides all the way: with its impact at the time t = gap/speed as without, v_x' = 2 - mu speed, x' = 2 h - mu speed (h - t).
static void check_landed(tgSim *s, int k, double gap, double speed) {
  check_close(tgRe(tg_sim_qpos(s)[2 * k + 1]), 0, 1e-12);
  check_close(tgRe(tg_sim_qvel(s)[2 * k + 1]), 0, 1e-12);
  check_close(tgRe(tg_sim_qvel(s)[2 * k]), 2 - MU * speed, 1e-12);
  check_close(tgRe(tg_sim_qpos(s)[2 * k]), 2 * H - MU * speed * (H - gap / speed), 1e-12);
}

static void check_gradient(tgSim *s) {
  tgGradCheck check;
  tgGradCheckOptions o = tg_grad_check_default();
  o.h = H;
  assert_int_equal(tg_grad_check_step(s, &o, &check), TG_OK);
  for (int b = 0; b < check.nblock; b++) check_true(check.block[b].pass, "%s: %g", check.block[b].name, check.block[b].error);
}

// As many times as there are impacts in a step, one more, and as many balls at one time.
static void test_times(void **state) {
  (void)state;
  for (int n = TGI_IMPACTS; n <= TGI_IMPACTS + 2; n++) {
    Rig r = row_of_balls(n);
    for (int k = 0; k < n; k++) throw_ball(r.s, k, (0.2 + 0.06 * k) * H * (1 + 0.05 * k));
    check_gradient(r.s);
    tgStepInfo info = stepped(r.s);
    assert_int_equal(info.nimpact, n > TGI_IMPACTS ? 0 : n);
    assert_int_equal(info.ncrowded, n > TGI_IMPACTS ? n : 0);
    for (int k = 0; k < n; k++) check_landed(r.s, k, (0.2 + 0.06 * k) * H * (1 + 0.05 * k), 1 + 0.05 * k);
    tg_sim_reset(r.s);
    for (int k = 0; k < n; k++) throw_ball(r.s, k, 0.5 * H * (1 + 0.05 * k));
    info = stepped(r.s);
    assert_int_equal(info.nimpact, 1);
    assert_int_equal(info.ncrowded, 0);
    drop(&r);
  }
}

// The first meet as they come until the one that bounces has met, then as many as there are impacts left; the others are stopped and told.
static void test_bounce(void **state) {
  (void)state;
  enum { N = TGI_IMPACTS + 2 };
  Rig r = row_of_balls(N);
  int rows, cols;
  tgReal *e = tg_sim_param(r.s, "geom_restitution", &rows, &cols);
  e[1 + 5] = 0.5;   // of ball 5
  for (int k = 0; k < N; k++) throw_ball(r.s, k, (0.2 + 0.06 * k) * H * (1 + 0.05 * k));
  tgStepInfo info = stepped(r.s);
  check_close(tgRe(tg_sim_qvel(r.s)[2 * 5 + 1]), 0.5 * (1 + 0.05 * 5), 1e-12);
  assert_int_equal(info.nimpact, TGI_IMPACTS);
  assert_int_equal(info.ncrowded, 2);
  drop(&r);
}

enum { LYING = 52, FALLING = LYING, ALONE = LYING + 1, BALLS = LYING + 2 };

// a plate on a floor, balls that lie on it, one that falls on it, and one that falls beside it
static Rig plate(double dense) {
  static char text[32768];
  tgLcpOptions o = tg_lcp_default();
  o.contact_rule = TG_RULE_CLOSING;
  int used = snprintf(text, sizeof text, "<mujoco><worldbody><geom type=\"plane\" size=\"9 9 1\" friction=\".5\"/><body pos=\"0 0 .1\">"
                      "<joint type=\"slide\" axis=\"0 0 1\"/><geom type=\"box\" size=\"3 3 .1\" mass=\"5\" friction=\".5\"/></body>");
  for (int k = 0; k < BALLS; k++)
    used += snprintf(text + used, sizeof text - (size_t)used,
                     "<body pos=\"%g %g %g\"><joint type=\"slide\" axis=\"1 0 0\"/><joint type=\"slide\" axis=\"0 0 1\"/>"
                     "<geom size=\"%g\" mass=\"1\" friction=\".5\"/></body>", k == ALONE ? 6 : -2.8 + 0.8 * (k % 8), -2.8 + 0.8 * (k / 8),
                     (k == ALONE ? 0 : 0.2) + RADIUS + (k < LYING ? 0 : k == FALLING ? 0.004 : 0.006), RADIUS);
  snprintf(text + used, sizeof text - (size_t)used, "</worldbody></mujoco>");
  Rig r = rig_of_text(text, "lcp", &o.of);
  if (dense > 0) r.s->dense_rows = 1 << 20;
  tgReal *v = tg_sim_qvel(r.s);
  for (int k = 0; k < BALLS; k++) v[1 + 2 * k] = k % 3 == 0 ? 0.5 : 0;
  v[1 + 2 * FALLING + 1] = v[1 + 2 * ALONE + 1] = -1;
  return r;
}

// The one that falls on the plate is stopped with all that lies there, over the step; the one beside it at its own time. With its matrix
// the island has the same step.
static void test_islands(void **state) {
  (void)state;
  Rig r[2] = {plate(0), plate(1)};
  tgReal g[2][2 * (1 + 2 * BALLS)], z[2 * (1 + 2 * BALLS)];
  int nv = tg_model_nv(r[0].m);
  for (int i = 0; i < 2 * nv; i++) z[i] = sin(1 + 3 * (double)i);
  for (int k = 0; k < 2; k++) {
    tgStepInfo info = stepped(r[k].s);
    assert_true(info.nrow > TGI_CROWD);
    assert_int_equal(info.nimpact, 1);
    assert_int_equal(info.ncrowded, 1);
    for (int b = FALLING; b < BALLS; b++) check_close(tgRe(tg_sim_qvel(r[k].s)[1 + 2 * b + 1]), 0, 1e-9);
    check_close(tgRe(tg_sim_qpos(r[k].s)[1 + 2 * FALLING + 1]), -0.004, 1e-9);
    assert_int_equal(tg_sim_step_vjp(r[k].s, z, z + nv, g[k], g[k] + nv, NULL, NULL, NULL), TG_OK);
  }
  for (int d = 0; d < nv; d++) {
    check_close(tgRe(tg_sim_qvel(r[0].s)[d]), tgRe(tg_sim_qvel(r[1].s)[d]), 1e-9);
    check_close(tgRe(tg_sim_qpos(r[0].s)[d]), tgRe(tg_sim_qpos(r[1].s)[d]), 1e-9);
  }
  for (int i = 0; i < 2 * nv; i++) check_close(tgRe(g[0][i]), tgRe(g[1][i]), 1e-7);
  drop(&r[0]);
  drop(&r[1]);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_times), cmocka_unit_test(test_bounce), cmocka_unit_test(test_islands)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
