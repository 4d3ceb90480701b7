// test_force_calls.c: the calls that take derivatives of contact forces, each by itself: wrenches, axes, what is told and what is refused.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "contact/contact.h"
#include "step/event.h"
#include "step/explicit.h"
#include "step/forces.h"
#include "step/impulse.h"
#include "step/impulse_parts.h"
#include "step/midpoint.h"
#include "step/minimise.h"
#include "step/step.h"
#include "support/deriv.h"
#include "support/rig.h"
#include "tangere/force.h"
#include "tangere/param.h"
#include "tangere/step.h"

// of the wrench on a body about a point that is held, in world, torque and point
static tgStatus wrench_of(void *ctx, const tgReal *x, tgReal *y) {
  const int *body = ctx;
  static const double at[3] = {.3, -.2, .1};
  double w[6] = {0};
  tgContactInfo c = {.body1 = 1, .body2 = 2};
  for (int k = 0; k < 3; k++) {
    c.world[k] = tgRe(x[k]);
    c.torque[k] = tgRe(x[3 + k]);
    c.point[k] = tgRe(x[6 + k]);
  }
  tg_contact_add_wrench(&c, *body, at, w);
  for (int i = 0; i < 6; i++) y[i] = w[i];
  return TG_OK;
}

static void test_wrench(void **state) {
  (void)state;
  static const double at[3] = {.3, -.2, .1};
  static const tgReal x[9] = {3, -1, 5, .2, .4, -.3, .5, .1, -.6};
  for (int body = 1; body <= 2; body++) {
    tgReal J[54];
    tgContactInfo c = {.body1 = 1, .body2 = 2};
    for (int k = 0; k < 3; k++) {
      c.world[k] = tgRe(x[k]);
      c.torque[k] = tgRe(x[3 + k]);
      c.point[k] = tgRe(x[6 + k]);
    }
    for (int i = 0; i < 6; i++) {
      tgContactGrad g = {.force = {0}};
      double one[6] = {0};
      one[i] = 1;
      tg_contact_add_wrench_vjp(&c, body, at, one, &g);
      for (int k = 0; k < 3; k++) {
        J[9 * i + k] = g.world[k];
        J[9 * i + 3 + k] = g.torque[k];
        J[9 * i + 6 + k] = g.point[k];
        check_close(g.force[k], 0, 0);
      }
    }
    tgtDeriv d = {.name = "wrench", .nx = 9, .ny = 6, .map = wrench_of, .ctx = &body, .tol = 1e-9, .numeric = true};
    tgt_check_jacobian(&d, x, J);
  }
}

// What is told is the contact as its model gives it, in another order and along axes: `force` in the force, the point and the axes.
typedef struct Told { int geom1, geom2; bool tangent; } Told;

static void raw_of(const Told *t, const tgReal *x, tgContactInfo *c) {
  double axis[9] = {0}, length = 0, along = 0;
  for (int k = 0; k < 3; k++) length += tgRe(x[3 + k] * x[3 + k]);
  *c = (tgContactInfo){.geom1 = t->geom1, .geom2 = t->geom2};
  for (int k = 0; k < 3; k++) {
    c->world[k] = tgRe(x[k]);
    axis[k] = c->frame[k] = tgRe(x[3 + k]) / sqrt(length);
  }
  static const double other[3] = {.2, .5, .1};
  for (int k = 0; k < 3; k++) along += axis[k] * other[k];
  length = 0;
  for (int k = 0; k < 3; k++) length += pow(other[k] - along * axis[k], 2);
  for (int k = 0; k < 3 && t->tangent; k++) c->frame[3 + k] = (other[k] - along * axis[k]) / sqrt(length);
}

static tgStatus told_force(void *ctx, const tgReal *x, tgReal *y) {
  tgContactInfo c;
  raw_of(ctx, x, &c);
  tgi_touch_finish(&c);
  for (int k = 0; k < 3; k++) y[k] = c.force[k];
  return TG_OK;
}

// the axes of the contact in x, which tgi_touch_finish_vjp leaves to others
static tgStatus raw_axes(void *ctx, const tgReal *x, tgReal *y) {
  tgContactInfo c;
  raw_of(ctx, x, &c);
  for (int k = 0; k < 6; k++) y[k] = c.frame[k];
  return TG_OK;
}

static void test_told(void **state) {
  (void)state;
  static const tgReal x[6] = {3, -1, 5, .2, -.3, .6};
  for (int k = 0; k < 4; k++) {
    Told t = {k % 2, 1 - k % 2, k / 2};
    tgReal J[18], work[200];
    double A[6][6], error[6];
    tgContactInfo c;
    raw_of(&t, x, &c);
    tgiNumDiff axes = {.nx = 6, .nt = 6, .ny = 6, .map = raw_axes, .ctx = &t};
    assert_true(tgi_numdiff_work(&axes) <= 200);
    for (int d = 0; d < 6; d++) {
      tgReal one[6] = {0};
      one[d] = 1;
      assert_int_equal(tgi_numdiff(&axes, x, one, TGI_SIDE_BOTH, A[d], error, work), TG_OK);
    }
    for (int i = 0; i < 3; i++) {
      tgContactGrad g = {.force = {i == 0, i == 1, i == 2}};
      tgiTouchGrad out;
      tgi_touch_finish_vjp(&c, &g, &out);
      for (int d = 0; d < 6; d++) {
        J[6 * i + d] = d < 3 ? out.world[d] : 0;
        for (int j = 0; j < 3; j++) J[6 * i + d] += out.normal[j] * A[d][j] + out.tangent[j] * A[d][3 + j];
      }
    }
    tgtDeriv d = {.name = "told", .nx = 6, .ny = 3, .map = told_force, .ctx = &t, .tol = 1e-8, .numeric = true};
    tgt_check_jacobian(&d, x, J);
  }
}

// The calls by themselves: of a step of one part that for all parts, that for one, and the public one.
typedef tgStatus (*Touches)(tgSim *s, const tgiTouchGrad *g, tgReal *aq, tgReal *av, tgReal *du, tgParamGrad *p, int *clamps);

// the call of a stepper of laws by itself: the public one
static void law_call(const char *word, Touches call) {
  Rig r = rig(floor_of_law, word, "");
  tgReal out[2][12] = {{0}};
  tgContactGrad g = {.world = {1, 2, -1}, .torque = {.3, .2, .5}};
  tgContactInfo raw;
  tgiTouchGrad touch;
  int clamps = 0;
  for (int i = 0; i < 20; i++) assert_int_equal(tg_sim_step_growing(r.s, .002, NULL), TG_OK);
  assert_true(tg_sim_count_contacts(r.s) == 1 && r.s->contact_model->kind->touch(r.s, 0, &raw));
  tgi_touch_finish_vjp(&raw, &g, &touch);
  assert_int_equal(tg_sim_contacts_vjp(r.s, &g, 1, out[0], out[0] + 6, NULL, NULL, NULL), TG_OK);
  assert_int_equal(call(r.s, &touch, out[1], out[1] + 6, NULL, NULL, &clamps), TG_OK);
  for (int d = 0; d < 12; d++) check_close(tgRe(out[1][d]), tgRe(out[0][d]), 1e-12 * (1 + fabs(tgRe(out[0][d]))));
  drop(&r);
}

// What the axes alone weigh: of (force along the normal) - n0 . (force), n0 held, the gradient is that of the normal, w . dn/dx
static void test_axes_alone(void **state) {
  (void)state;
  char hill[400];
  snprintf(hill, sizeof hill, hill_of_law, 3);
  Rig r = rig(hill, "lcp", "contact_rule=touching");
  tgContactInfo c;
  tgReal dq[6], dv[6];
  int at = 0;
  double x[3], length = 0, along = 0;
  tg_sim_qpos(r.s)[2] -= .003;
  tg_sim_qvel(r.s)[0] = 2;
  for (int i = 0; i < 3; i++) {
    x[i] = tgRe(tg_sim_qpos(r.s)[i]) + (i == 2 ? .5 : 0);
    length += x[i] * x[i];
  }
  length = sqrt(length);
  assert_int_equal(tg_sim_step_growing(r.s, .002, NULL), TG_OK);
  assert_true(tg_sim_next_contact(r.s, &at, &c) && c.state == TG_CONTACT_SLIDING);
  tgContactGrad g = {.force = {1, 0, 0}, .world = {-c.frame[0], -c.frame[1], -c.frame[2]}};
  assert_int_equal(tg_sim_contacts_vjp(r.s, &g, 1, dq, dv, NULL, NULL, NULL), TG_OK);
  for (int i = 0; i < 3; i++) along += c.world[i] * x[i] / length;
  for (int i = 0; i < 3; i++) {
    check_close(tgRe(dq[i]), (c.world[i] - along * x[i] / length) / length, 1e-9 * (1 + fabs(along)));
    check_close(tgRe(dv[i]), 0, 1e-9);
  }
  check_true(fabs(tgRe(dq[0])) > 1, "friction is %g", c.force[1]);
  drop(&r);
}

// What a step tells of its contacts is the same after its derivatives are taken.
static void test_told_after(void **state) {
  (void)state;
  static const char *const word[] = {"lcp", "toi", "damped", "softmin", "barrier", "sdrs", "ipc"};
  char rough[400];
  snprintf(rough, sizeof rough, hill_of_law, 3);
  for (size_t k = 0; k < sizeof word / sizeof *word; k++) {
    Rig r = rig(rough, word[k], "");
    static const char *const some[] = {"geom_friction", "geom_size", "opt_timestep"};
    tgParamGrad *dp = tg_param_grad_create_contact(r.c, some, 3, NULL, NULL);
    tgContactInfo before[2], after[2];
    tgReal ones[6] = {1, 1, 1, 1, 1, 1}, out[12], D[12 * 12];
    tgContactGrad g[2] = {{.world = {1, 2, 3}}, {.world = {0}}};
    tg_sim_qvel(r.s)[0] = .3;
    tg_sim_qvel(r.s)[2] = -.5;
    int n = 0, at = 0;
    for (int i = 0; n == 0 && i < 20; i++) {
      assert_int_equal(tg_sim_step_growing(r.s, .001, NULL), TG_OK);
      n = tg_sim_count_contacts(r.s);
    }
    check_true(n == 1, "%s: %d contacts", word[k], n);
    memset(before, 0, sizeof before);
    assert_true(tg_sim_next_contact(r.s, &at, &before[0]));
    for (int way = 0; way < 3; way++) {
      tgStatus status = way == 0 ? tg_sim_step_vjp(r.s, ones, ones, out, out + 6, NULL, dp, NULL)
                                 : way == 1 ? tg_sim_step_jacobian(r.s, D, NULL)
                                            : tg_sim_contacts_vjp(r.s, g, n, out, out + 6, NULL, dp, NULL);
      check_true(status == TG_OK, "%s, %d: %s", word[k], way, tg_sim_error(r.s)->text);
      memset(after, 0, sizeof after);
      assert_true(tg_sim_next_contact(r.s, (at = 0, &at), &after[0]));
      for (int i = 0; i < 3; i++) {
        check_close(after[0].point[i], before[0].point[i], 1e-14);   // sums over points may be made anew, in another order
        check_close(after[0].world[i], before[0].world[i], 1e-12 * (1 + fabs(before[0].world[i])));
        check_close(after[0].torque[i], before[0].torque[i], 1e-12);
      }
      check_close(after[0].distance, before[0].distance, 1e-14);
    }
    tg_param_grad_free(dp);
    drop(&r);
  }
}

// Two geoms of one body beside a plane, under a law whose terms are of bodies: the wrench of both, of which the derivative in the height is
// that of m (v' - v)/h, and not that of one alone.
static void test_of_bodies(void **state) {
  (void)state;
  static const char text[] = "<mujoco><worldbody><geom type='plane' size='1 1 1'/><body pos='0 0 .102'><freejoint/>"
                             "<geom size='.1' mass='1' pos='.2 0 0'/><geom size='.1' mass='1' pos='-.2 0 0'/></body></worldbody></mujoco>";
  Rig r = rig(text, "barrier", "");
  for (int i = 0; i < 20; i++) assert_int_equal(tg_sim_step_growing(r.s, .002, NULL), TG_OK);
  tgContactInfo c[2];
  tgContactGrad g[2] = {{.force = {0}}, {.force = {0}}};
  int at = 0;
  assert_true(tg_sim_count_contacts(r.s) == 2);
  for (int i = 0; i < 2; i++) assert_true(tg_sim_next_contact(r.s, &at, &c[i]));
  static const double up[6] = {0, 0, 1, 0, 0, 0}, turn[6] = {0, 0, 1, .3, -.2, .1};
  tgReal dq[6], dv[6], D[12 * 12];
  for (int i = 0; i < 2; i++) tg_contact_add_wrench_vjp(&c[i], 1, NULL, up, &g[i]);
  assert_int_equal(tg_sim_contacts_vjp(r.s, g, 2, dq, dv, NULL, NULL, NULL), TG_OK);
  assert_int_equal(tg_sim_step_jacobian(r.s, D, NULL), TG_OK);
  for (int k = 0; k < 6; k++) {
    check_close(tgRe(dq[k]), 2 / .002 * tgRe(D[8 * 12 + k]), 1e-7 * (1 + fabs(tgRe(dq[2]))));
    check_close(tgRe(dv[k]), 2 / .002 * (tgRe(D[8 * 12 + 6 + k]) - (k == 2)), 1e-7 * (1 + fabs(tgRe(dv[2]))));
  }
  for (int i = 0; i < 2; i++) tg_contact_add_wrench_vjp(&c[i], 1, NULL, turn, &g[i]);
  assert_int_equal(tg_sim_contacts_vjp(r.s, g, 2, dq, dv, NULL, NULL, NULL), TG_OK);
  memset(&g[1], 0, sizeof g[1]);
  assert_int_equal(tg_sim_contacts_vjp(r.s, g, 2, dq, dv, NULL, NULL, NULL), TG_ERR_UNSUPPORTED);
  assert_non_null(strstr(tg_sim_error(r.s)->text, "other geoms"));
  drop(&r);
}

// what has no derivative is refused by name
static void test_refused(void **state) {
  (void)state;
  char rough[400];
  snprintf(rough, sizeof rough, hill_of_law, 3);
  tgContactGrad g = {.force = {1, 0, 0}};
  Rig r = rig(rough, "softmin", "");
  for (int i = 0; i < 20; i++) assert_int_equal(tg_sim_step_growing(r.s, .002, NULL), TG_OK);
  assert_int_equal(tg_sim_contacts_vjp(r.s, &g, 1, NULL, NULL, NULL, NULL, NULL), TG_ERR_UNSUPPORTED);
  assert_non_null(strstr(tg_sim_error(r.s)->text, "softmin"));
  assert_non_null(strstr(tg_sim_error(r.s)->text, "geom 0 of body 'world'"));
  drop(&r);
  static const char slippery[] = "<mujoco><worldbody><geom type='plane' size='1 1 1' friction='0'/><body pos='0 0 .1'><freejoint/>"
                                 "<geom size='.1' friction='0'/></body></worldbody></mujoco>";
  static const char *const mu[] = {"geom_friction"};
  r = rig(slippery, "lcp", "");
  tgParamGrad *dp = tg_param_grad_create_contact(r.c, mu, 1, NULL, NULL);
  assert_int_equal(tg_sim_step_growing(r.s, .002, NULL), TG_OK);
  assert_int_equal(tg_sim_contacts_vjp(r.s, &g, 1, NULL, NULL, NULL, NULL, NULL), TG_OK);
  assert_int_equal(tg_sim_contacts_vjp(r.s, &g, 1, NULL, NULL, NULL, dp, NULL), TG_ERR_UNSUPPORTED);
  assert_non_null(strstr(tg_sim_error(r.s)->text, "friction, which is 0"));
  tg_param_grad_free(dp);
  drop(&r);
  r = rig(rough, "softmin", "");
  for (int i = 0; i < 20; i++) assert_int_equal(tg_sim_step_growing(r.s, .002, NULL), TG_OK);
  g = (tgContactGrad){.point = {0, 0, 1}};
  assert_int_equal(tg_sim_contacts_vjp(r.s, &g, 1, NULL, NULL, NULL, NULL, NULL), TG_ERR_UNSUPPORTED);
  drop(&r);
}

static void test_calls(void **state) {
  (void)state;
  law_call("softmin", tgi_explicit_touches_vjp);
  law_call("damped", tgi_midpoint_touches_vjp);
  law_call("barrier", tgi_minimise_touches_vjp);
  Rig r = rig(ball, "lcp", "contact_rule=closing");
  tgReal out[4][12] = {{0}};
  int clamps = 0;
  tg_sim_qpos(r.s)[2] -= 1e-3;
  tg_sim_qvel(r.s)[0] = .1;
  assert_int_equal(tg_sim_step_growing(r.s, .01, NULL), TG_OK);
  assert_int_equal(tg_sim_count_contacts(r.s), 1);
  tgContactGrad g = {.force = {.3, -.2, .5}, .world = {1, 2, -1}, .point = {5, 3, 0}};
  tgContactInfo raw;
  tgiTouchGrad touch;
  assert_true(r.s->contact_model->kind->touch(r.s, 0, &raw));
  tgi_touch_finish_vjp(&raw, &g, &touch);
  assert_int_equal(tg_sim_contacts_vjp(r.s, &g, 1, out[0], out[0] + 6, NULL, NULL, NULL), TG_OK);
  assert_int_equal(tgi_step_touches_vjp(r.s, &touch, out[1], out[1] + 6, NULL, NULL, NULL), TG_OK);
  assert_int_equal(tgi_parts_touches_vjp(r.s, &touch, out[2], out[2] + 6, NULL, NULL, &clamps), TG_OK);
  tgiTouchSeeds seeds = {.grad = &touch, .share = 1};
  tgReal late = 0;
  tgiAdjoint o = {.gq = out[3], .gv = out[3] + 6, .dt = &late, .clamps = &clamps};
  assert_int_equal(tgi_part_touches_vjp(r.s, &seeds, &o), TG_OK);
  for (int k = 1; k < 4; k++)
    for (int d = 0; d < 12; d++) check_close(tgRe(out[k][d]), tgRe(out[0][d]), 1e-12 * (1 + fabs(tgRe(out[0][d]))));
  drop(&r);
  r = rig(ball, "toi", "");
  memset(out, 0, sizeof out);
  tg_sim_qvel(r.s)[0] = .1;
  tg_sim_qvel(r.s)[2] = -1;
  tg_sim_qpos(r.s)[2] += 1e-3;
  assert_int_equal(tg_sim_step_growing(r.s, .01, NULL), TG_OK);
  assert_true(r.s->contact_model->kind->touch(r.s, 0, &raw));
  tgi_touch_finish_vjp(&raw, &g, &touch);
  assert_int_equal(tg_sim_contacts_vjp(r.s, &g, 1, out[0], out[0] + 6, NULL, NULL, NULL), TG_OK);
  assert_int_equal(tgi_event_touches_vjp(r.s, &touch, out[1], out[1] + 6, NULL, NULL, &clamps), TG_OK);
  for (int d = 0; d < 12; d++) check_close(tgRe(out[1][d]), tgRe(out[0][d]), 1e-12 * (1 + fabs(tgRe(out[0][d]))));
  // refused: another number, no step, what holds forces constant
  assert_int_equal(tg_sim_contacts_vjp(r.s, &g, 0, out[0], NULL, NULL, NULL, NULL), TG_ERR_ARG);
  assert_int_equal(tg_sim_forward(r.s), TG_OK);
  assert_int_equal(tg_sim_contacts_vjp(r.s, &g, 0, out[0], NULL, NULL, NULL, NULL), TG_ERR_STATE);
  assert_int_equal(tg_sim_contacts_jacobian(r.s, out[0], NULL, NULL, NULL), TG_ERR_STATE);
  drop(&r);
  r = rig(ball, "lcp", "zero_contact_gradient=true");
  assert_int_equal(tg_sim_step_growing(r.s, .01, NULL), TG_OK);
  assert_int_equal(tg_sim_contacts_vjp(r.s, &g, 1, out[0], NULL, NULL, NULL, NULL), TG_ERR_UNSUPPORTED);
  assert_non_null(strstr(tg_sim_error(r.s)->text, "zero_contact_gradient"));
  drop(&r);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_refused), cmocka_unit_test(test_of_bodies), cmocka_unit_test(test_told_after),
      cmocka_unit_test(test_axes_alone), cmocka_unit_test(test_wrench), cmocka_unit_test(test_told),
      cmocka_unit_test(test_calls)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
