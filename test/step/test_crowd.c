// test_crowd.c: what a step of the rule `closing` stops without an impact of its own: many that meet at many times, and islands of many
// rows; what bounces, meets at few times or lies elsewhere has its impact all the same.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/sim.h"
#include "support/check.h"
#include "support/deriv.h"
#include "support/rig.h"
#include "support/tree.h"
#include "tangere/grad.h"
#include "tangere/lcp.h"
#include "tangere/step.h"

#define H 0.01
#define RADIUS 0.05
#define MU 0.3

// balls that slide along x and z above a floor, without weight, and what is put behind them
static Rig balls_and(int n, const char *more) {
  static char text[1 << 17];
  int used = snprintf(text, sizeof text, "<mujoco><option gravity=\"0 0 0\"/><worldbody>"
                      "<geom type=\"plane\" size=\"9 9 1\" friction=\"%g\"/>", MU);
  for (int k = 0; k < n; k++)
    used += snprintf(text + used, sizeof text - (size_t)used,
                     "<body pos=\"0 %d %g\"><joint type=\"slide\" axis=\"1 0 0\"/><joint type=\"slide\" axis=\"0 0 1\"/>"
                     "<geom size=\"%g\" mass=\"%g\" friction=\"%g\"/></body>", k, RADIUS, RADIUS, 1 + 0.1 * k, MU);
  snprintf(text + used, sizeof text - (size_t)used, "%s</worldbody></mujoco>", more);
  tgLcpOptions o = tg_lcp_default();
  o.contact_rule = TG_RULE_CLOSING;
  return rig_of_text(text, "lcp", &o.of);
}

static Rig row_of_balls(int n) { return balls_and(n, ""); }

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

// A step of more than 150 rows has impacts in proportion fewer: 8 * 150/198 = 6 beside 60 balls that lie on the floor.
static void test_fewer_times(void **state) {
  (void)state;
  enum { LIE = 60 };
  for (int n = 6; n < 8; n++) {
    Rig r = row_of_balls(LIE + n);
    for (int k = LIE; k < LIE + n; k++) throw_ball(r.s, k, (0.2 + 0.06 * (k - LIE)) * H * (1 + 0.05 * k));
    tgStepInfo info = stepped(r.s);
    assert_int_equal(info.nrow, 3 * (LIE + n));
    assert_int_equal(info.nimpact, n == 6 ? n : 0);
    assert_int_equal(info.ncrowded, n == 6 ? 0 : n);
    for (int k = LIE; k < LIE + n; k++) check_landed(r.s, k, (0.2 + 0.06 * (k - LIE)) * H * (1 + 0.05 * k), 1 + 0.05 * k);
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

// far off, a ball without friction, `above` a slope of 45 degrees and `beside` a wall; y: where across them
typedef struct Corner { double above, beside, y; } Corner;
static int add_corner(const Corner *c, char *text, size_t size) {
  double back = (RADIUS + c->above + 0.1) / sqrt(2);
  return snprintf(text, size,
                  "<geom type=\"box\" size=\".5 .5 .1\" pos=\"%.17g %g %.17g\" zaxis=\"1 0 1\" friction=\"0\"/>"
                  "<geom type=\"box\" size=\".1 .5 .5\" pos=\"%.17g %g 2\" friction=\"0\"/>"
                  "<body pos=\"20 %g 2\"><joint name=\"x%g\" type=\"slide\" axis=\"1 0 0\"/><joint type=\"slide\" axis=\"0 0 1\"/>"
                  "<geom size=\"%g\" mass=\"1\" friction=\"0\"/></body>", 20 - back, c->y, 2 - back,
                  20 + RADIUS + c->beside + 0.1, c->y, c->y, c->y, RADIUS);
}

// a plate on a floor, balls that lie on it, one that falls on it, and one that falls beside it
static Rig plate(double dense, const Corner *corner) {
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
  if (corner != NULL) used += add_corner(corner, text + used, sizeof text - (size_t)used);
  snprintf(text + used, sizeof text - (size_t)used, "</worldbody></mujoco>");
  Rig r = rig_of_text(text, "lcp", &o.of);
  if (dense > 0) r.s->dense_rows = 1 << 20;
  tgReal *v = tg_sim_qvel(r.s);
  for (int k = 0; k < BALLS; k++) v[1 + 2 * k] = k % 3 == 0 ? 0.5 : 0;
  v[1 + 2 * FALLING + 1] = v[1 + 2 * ALONE + 1] = -1;
  return r;
}

// The one that falls on the plate is stopped with all that lies there, over the step, and so is the one beside it, as an impact of its own
// would have all of them solved anew. With its matrix the island has the same step.
static void test_islands(void **state) {
  (void)state;
  Rig r[2] = {plate(0, NULL), plate(1, NULL)};
  tgReal g[2][2 * (1 + 2 * BALLS)], z[2 * (1 + 2 * BALLS)];
  int nv = tg_model_nv(r[0].m);
  for (int i = 0; i < 2 * nv; i++) z[i] = sin(1 + 3 * (double)i);
  for (int k = 0; k < 2; k++) {
    tgStepInfo info = stepped(r[k].s);
    assert_true(info.nrow > TGI_CROWD);
    assert_int_equal(info.nimpact, 0);
    assert_int_equal(info.ncrowded, 2);
    for (int b = FALLING; b < BALLS; b++) check_close(tgRe(tg_sim_qvel(r[k].s)[1 + 2 * b + 1]), 0, 1e-9);
    check_close(tgRe(tg_sim_qpos(r[k].s)[1 + 2 * ALONE + 1]), -0.006, 1e-9);
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

// What bounces beside so many has its impact, at its own time.
static void test_bounce_beside(void **state) {
  (void)state;
  const double e = 0.5, fall = 0.006, g = 9.81, t = (sqrt(1 + 4 * g * fall) - 1) / (2 * g);   // t (1 + g t) = fall
  Rig r = plate(0, NULL);
  int rows, cols;
  tg_sim_param(r.s, "geom_restitution", &rows, &cols)[2 + ALONE] = e;
  tgStepInfo info = stepped(r.s);
  assert_true(info.nrow > TGI_CROWD);
  assert_int_equal(info.nimpact, 1);
  assert_int_equal(info.ncrowded, 1);
  // a flow that nothing touches goes at the velocity of its end
  check_close(tgRe(tg_sim_qvel(r.s)[1 + 2 * ALONE + 1]), e * (1 + g * t) - g * (H - t), 1e-9);
  check_close(tgRe(tg_sim_qvel(r.s)[1 + 2 * FALLING + 1]), 0, 1e-9);
  drop(&r);
}

// a step of h in which the ball in the corner, of dofs from `dof` on, falls at 2 m/s beside so many; v, q: its state after it; how many
// contacts it is turned into
static int fall(tgSim *s, int dof, double h, double v[2], double q[2]) {
  tgStepInfo info;
  tg_sim_qvel(s)[dof + 1] = -2;
  check_true(tg_sim_step_growing(s, h, &info) == TG_OK, "%s", tg_sim_error(s)->text);
  assert_true(info.nrow > TGI_CROWD);
  assert_int_equal(info.nimpact, 0);
  for (int k = 0; k < 2; k++) {
    v[k] = tgRe(tg_sim_qvel(s)[dof + k]);
    q[k] = tgRe(tg_sim_qpos(s)[dof + k]);
  }
  return s->nlate;
}

static int fall_in_corner(const Corner *c, double h, double v[2], double q[2]) {
  Rig r = plate(0, c);
  int turned = fall(r.s, 1 + 2 * BALLS, h, v, q);
  drop(&r);
  return turned;
}

// It falls on the slope, which turns it into the wall, from which its free motion keeps clear: both hold it, the step over, at the place
// where both end touched.
static void test_turned(void **state) {
  (void)state;
  const Corner c = {.above = 0.004, .beside = 0.0006};
  double v[2], q[2];
  assert_int_equal(fall_in_corner(&c, H / 2, v, q), 1);
  check_close(v[0], 0, 1e-9);
  check_close(v[1], 0, 1e-9);
  check_close(q[0], c.beside, 1e-9);
  check_close(q[1], -c.above * sqrt(2) - c.beside, 1e-9);
}

// Beside so many rows that nothing has an impact, though no island has many, what slopes turn balls into is held likewise, all forty walls.
static void test_turned_beside(void **state) {
  (void)state;
  enum { LIE = 400, CORNERS = 40 };
  static char text[CORNERS * 500];
  int used = 0;
  double v[2], q[2];
  const double above = 0.004, beside = 0.0006;
  for (int k = 0; k < CORNERS; k++)
    used += add_corner(&(Corner){.above = above, .beside = beside, .y = 2 * k}, text + used, sizeof text - (size_t)used);
  Rig r = balls_and(LIE, text);
  for (int k = 1; k < CORNERS; k++) tg_sim_qvel(r.s)[2 * (LIE + k) + 1] = -2;
  assert_int_equal(fall(r.s, 2 * LIE, H / 2, v, q), CORNERS);
  assert_int_equal(r.s->npart, 1);
  for (int k = 0; k < 2; k++) check_close(v[k], 0, 1e-9);
  for (int k = LIE; k < LIE + CORNERS; k++) {
    check_close(tgRe(tg_sim_qpos(r.s)[2 * k]), beside, 1e-9);
    check_close(tgRe(tg_sim_qpos(r.s)[2 * k + 1]), -above * sqrt(2) - beside, 1e-9);
  }
  drop(&r);
}

// links that end in the floor in one flow of 4 ms from `thrown`, their coordinates and velocities, so that it is halved
static const char *const links =
    "<body pos='9 0 .5'><joint type='slide' axis='1 0 0'/><joint type='slide' axis='0 0 1'/><joint type='hinge' axis='0 -1 0'/>"
    "<geom type='capsule' size='.03' fromto='0 0 0 0 0 -.2' density='1000' friction='.5'/>"
    "<body pos='0 0 -.2'><joint type='hinge' axis='0 -1 0'/>"
    "<geom type='capsule' size='.03' fromto='0 0 0 0 0 -.2' density='1000' friction='.5'/>"
    "<body pos='0 0 -.2'><joint type='hinge' axis='0 -1 0'/>"
    "<geom type='capsule' size='.03' fromto='0 0 0 0 0 -.2' density='1000' friction='.5'/></body></body></body>";
static const double thrown[2][5] = {{0, 0.07104, -0.5421, -0.01502, 0.5368}, {2.767, -2.665, 48.21, 51.06, 54.83}};

// In a step of 4 ms, beside 400 balls that lie, two in corners, of which a slope turns the one to a wall `near`, the other to one at `far`;
// x: where that one ends, and its velocity.
static void fall_two(double near, double far, const char *more, bool halved, double x[4]) {
  enum { LIE = 400, DOF = 2 * LIE };
  char text[8192];
  int used = add_corner(&(Corner){.above = 0.001, .beside = near, .y = 4}, text, sizeof text);
  used += add_corner(&(Corner){.above = 0.001, .beside = far}, text + used, sizeof text - (size_t)used);
  snprintf(text + used, sizeof text - (size_t)used, "%s", more);
  Rig r = balls_and(LIE, text);
  double v[2], q[2];
  for (int d = 0; halved && d < 5; d++) {
    tg_sim_qpos(r.s)[DOF + 4 + d] = thrown[0][d];
    tg_sim_qvel(r.s)[DOF + 4 + d] = thrown[1][d];
  }
  for (int k = 0; k < tg_model_nu(r.m); k++) tg_sim_ctrl(r.s)[k] = 1;
  tg_sim_qvel(r.s)[DOF + 3] = -2;
  int turned = fall(r.s, DOF, 0.004, v, q);
  assert_int_equal(turned, near < 1);
  assert_int_equal(r.s->npart, halved ? 2 : 1);
  if (near < 1) check_close(q[0], near, 1e-9);
  for (int k = 0; k < 2; k++) {
    x[k] = tgRe(tg_sim_qpos(r.s)[DOF + 2 + k]);
    x[2 + k] = tgRe(tg_sim_qvel(r.s)[DOF + 2 + k]);
  }
  drop(&r);
}

// What a flow that was refused turned a body into is not held in the shorter one, which does not come to it, but in the next, which does.
static void test_turned_refused(void **state) {
  (void)state;
  double x[4];
  const double far = 0.0025;
  fall_two(0.0006, far, links, true, x);
  check_close(x[0], far, 1e-9);
  check_close(x[1], -0.001 * sqrt(2) - far, 1e-9);
}

// Nor is what a flow was turned into with an actuator at the end of its range, which that leaves as the slope gives the ball its speed.
static void test_turned_servo(void **state) {
  (void)state;
  static const char *const servo =
      "</worldbody><actuator><general joint=\"x0\" gainprm=\"1e4\" biastype=\"affine\" biasprm=\"0 0 -1e4\" forcelimited=\"true\" "
      "forcerange=\"-180 180\"/></actuator><worldbody>";
  double x[4], alone[4];
  fall_two(0.0006, 0.005, servo, false, x);
  fall_two(1, 0.005, servo, false, alone);
  check_close(x[2], 1, 1e-6);
  for (int k = 0; k < 4; k++) check_close(x[k], alone[k], 1e-9);
}

// A pinned step has the rows that it had, and is not made again for one that it lacks: of a wall where a pushed ball comes to touch it.
static void test_turned_pinned(void **state) {
  (void)state;
  tgLcpOptions o = tg_lcp_default();
  o.contact_rule = TG_RULE_CLOSING;
  Rig r = rig_of_text("<mujoco><option gravity='0 0 0'/><worldbody><geom type='box' size='.1 1 1' pos='.258 0 0'/>"
                      "<body><joint name='a' type='slide' axis='1 0 0'/><geom size='.05' mass='1'/></body>"
                      "<body pos='.1 0 0'><joint type='slide' axis='1 0 0'/><geom size='.05' mass='1'/></body>"
                      "</worldbody><actuator><motor joint='a' ctrllimited='false'/></actuator></mujoco>", "lcp", &o.of);
  for (int k = 0; k < 2; k++) {
    for (int d = 0; d < 2; d++) tg_sim_qpos(r.s)[d] = tg_sim_qvel(r.s)[d] = 0;
    tg_sim_ctrl(r.s)[0] = 1000;
    assert_int_equal(tg_sim_step_growing(r.s, 0.004, NULL), TG_OK);
    check_close(tgRe(tg_sim_qpos(r.s)[1]), 0.008, 1e-9);
    assert_int_equal(r.s->nlate, k);
    r.s->pinned = true;
  }
  drop(&r);
}

// A step of 4 ms, 0.001 t along a direction from a state, weighed.
typedef struct Along {
  tgSim *s;
  int nv;
  tgReal *state, *t, *w;   // 2 nv each: coordinates, all of which slide or turn about an axis, and velocities
} Along;

static tgStatus step_along(void *ctx, const tgReal *x, tgReal *y) {
  const Along *a = ctx;
  tg_sim_reset(a->s);
  for (int d = 0; d < 2 * a->nv; d++)
    (d < a->nv ? tg_sim_qpos(a->s) + d : tg_sim_qvel(a->s) + d - a->nv)[0] = a->state[d] + 1e-3 * x[0] * a->t[d];
  TG_TRY(tg_sim_step_growing(a->s, 0.004, NULL));
  y[0] = 0;
  for (int d = 0; d < a->nv; d++) y[0] += a->w[d] * tg_sim_qpos(a->s)[d] + a->w[a->nv + d] * tg_sim_qvel(a->s)[d];
  return TG_OK;
}

// A step of more than 1,200 rows has no impact, and where it is made in shorter flows these have none, though fewer meet in each: in the
// first half of this one 1,197 rows at most, one of them of a ball that closes fast. Adjoints make each flow again by the same rule.
static void test_shares(void **state) {
  (void)state;
  enum { LIE = 394, LATE = 8, ALL = LIE + 1 + LATE };
  const double h = 0.004;
  Rig r = balls_and(ALL, links);
  Along a = {.s = r.s, .nv = tg_model_nv(r.m)};
  a.state = calloc(8 * (size_t)a.nv, sizeof *a.state);
  a.t = a.state + 2 * a.nv;
  a.w = a.t + 2 * a.nv;
  tgReal *g = a.w + 2 * a.nv, x = 0, y;
  for (int k = LIE; k < ALL; k++) {
    a.state[2 * k + 1] = h * (k == LIE ? 0.3 : 0.8);
    a.state[a.nv + 2 * k] = 2;
    a.state[a.nv + 2 * k + 1] = -1;
  }
  for (int d = 0; d < 5; d++)
    for (int k = 0; k < 2; k++) a.state[k * a.nv + 2 * ALL + d] = thrown[k][d];
  tgtRandom random = {.s = 5};
  tgt_random_vector(&random, 2 * a.nv, a.w);
  tgt_random_vector(&random, 2 * a.nv, a.t);
  for (int d = 0; d < 2 * LIE; d++) a.t[d] = a.t[a.nv + d] = 0;   // what lies on the floor touches it
  assert_int_equal(step_along(&a, &x, &y), TG_OK);
  assert_true(r.s->npart > 1 && r.s->first_rows > 1200);
  assert_int_equal(r.s->info.nimpact, 0);
  for (int k = LIE; k < ALL; k++) {
    check_close(tgRe(tg_sim_qvel(r.s)[2 * k]), 2 - MU, 1e-12);
    check_close(tgRe(tg_sim_qpos(r.s)[2 * k]), 2 * h - MU * (h - tgRe(a.state[2 * k + 1])), 1e-12);
  }
  tgReal slope = 0;
  assert_int_equal(tg_sim_step_vjp(r.s, a.w, a.w + a.nv, g, g + a.nv, NULL, NULL, NULL), TG_OK);
  for (int d = 0; d < 2 * a.nv; d++) slope += 1e-3 * g[d] * a.t[d];
  tgtDeriv d = {.name = "along", .nx = 1, .ny = 1, .map = step_along, .ctx = &a, .tol = 1e-6, .numeric = true, .step = 1e-3};
  tgt_check_jacobian(&d, &x, &slope);
  free(a.state);
  drop(&r);
}

// It meets the slope late in the step and does not come to the wall, whereto the velocity that it has then would have taken it in a whole
// step: it goes on along the slope.
static void test_turned_late(void **state) {
  (void)state;
  const double h = H / 2, along = (2 + 9.81 * h) / 2;   // of its velocity, in x and in -z
  const Corner c[2] = {{.above = 0.0065, .beside = 0.0009}, {.above = 0.004, .beside = 0.003}};
  for (int k = 0; k < 2; k++) {
    double v[2], q[2], down = c[k].above / sqrt(2);
    assert_int_equal(fall_in_corner(&c[k], h, v, q), 0);
    check_close(v[0], along, 1e-9);
    check_close(v[1], -along, 1e-9);
    check_close(q[0], h * along - down, 1e-9);
    check_close(q[1], -h * along - down, 1e-9);
    assert_true(q[0] < c[k].beside && h * along > c[k].beside);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_times), cmocka_unit_test(test_fewer_times), cmocka_unit_test(test_bounce),
                                     cmocka_unit_test(test_islands), cmocka_unit_test(test_bounce_beside),
                                     cmocka_unit_test(test_turned), cmocka_unit_test(test_turned_late),
                                     cmocka_unit_test(test_turned_beside),
                                     cmocka_unit_test(test_turned_refused), cmocka_unit_test(test_turned_servo),
                                     cmocka_unit_test(test_turned_pinned), cmocka_unit_test(test_shares)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
