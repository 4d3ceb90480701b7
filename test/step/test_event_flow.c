// test_event_flow.c: the contact model `toi` between impacts and up to them: orders of the motion and of its derivative, energy of what
// swings, tumbles and spins, and springs too stiff for the step.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "step/toi_rig.h"
#include "tangere/grad.h"
#include "tangere/step.h"
#include "tangere/toi.h"

#define WORLD(gravity, what) "<mujoco><option gravity=\"0 0 " gravity "\"/><worldbody>" what "</worldbody></mujoco>"
#define ROD(from, to) "<geom type=\"capsule\" size=\".02\" fromto=\"" from " " to "\" mass=\"1\" contype=\"0\" conaffinity=\"0\"/>"
#define ARM "<body pos=\"0 0 2\"><joint name=\"a\" axis=\"0 1 0\"/>" ROD("0 0 0", ".5 0 0")
static const char *const smooth[] = {
    WORLD("-9.81", ARM "</body>"),
    WORLD("-9.81", ARM "<body pos=\".5 0 0\"><joint axis=\"0 1 0\" damping=\".1\" stiffness=\"2\"/>"
                       ROD("0 0 0", ".4 0 0") "</body></body>"),
    WORLD("0", "<body pos=\"0 0 2\"><freejoint/><geom type=\"box\" size=\".1 .2 .05\" mass=\"1\"/></body>"),
    WORLD("-9.81", "<body pos=\"0 0 2\"><joint type=\"ball\" damping=\".02\" stiffness=\".5\"/>" ROD("0 0 0", ".5 .1 0") "</body>"),
    "<mujoco><option gravity=\"0 0 -9.81\"/><worldbody>" ARM "<body pos=\".5 0 0\"><joint name=\"b\" axis=\"0 1 .3\"/>"
    ROD("0 0 0", ".4 0 0") "</body></body></worldbody><tendon><fixed name=\"t\" damping=\".3\" stiffness=\"1\">"
    "<joint joint=\"a\" coef=\"1\"/><joint joint=\"b\" coef=\"-.5\"/></fixed></tendon>"
    "<actuator><position joint=\"a\" kp=\"40\" kv=\"2\"/></actuator></mujoco>"};

// where and how fast the scene is after n steps of T/n in all; jacobian (2 nv x 2 nv; NULL: not wanted): its derivative in where it began
static int run_smooth(const char *xml, double restitution, double T, int n, double out[13], double *jacobian) {
  Rig r = toi(xml, restitution);
  int nq = r.m->nq, nv = r.m->nv, nc = 2 * nv + r.m->nu;
  tgReal D[12 * 16];
  double old[144];
  for (int d = 0; d < nv; d++) r.s->qvel[d] = 0.5 + 0.7 * d;
  for (int i = 0; i < 4 * nv * nv && jacobian != NULL; i++) jacobian[i] = i % (2 * nv + 1) == 0;
  for (int t = 0; t < n; t++) {
    check_true(tg_sim_step_growing(r.s, T / n, NULL) == TG_OK, "%s", tg_sim_error(r.s)->text);
    if (jacobian == NULL) continue;
    assert_int_equal(tg_sim_step_jacobian(r.s, D, NULL), TG_OK);
    memcpy(old, jacobian, (size_t)(4 * nv * nv) * sizeof *old);
    for (int i = 0; i < 2 * nv; i++)
      for (int j = 0; j < 2 * nv; j++) {
        jacobian[2 * nv * i + j] = 0;
        for (int k = 0; k < 2 * nv; k++) jacobian[2 * nv * i + j] += tgRe(D[i * nc + k]) * old[2 * nv * k + j];
      }
  }
  for (int i = 0; i < nq + nv; i++) out[i] = tgRe(i < nq ? r.s->qpos[i] : r.s->qvel[i - nq]);
  drop(&r);
  return nq + nv;
}

static double farthest(const double *a, const double *b, int n) {
  double most = 0;
  for (int i = 0; i < n; i++) most = fmax(most, fabs(a[i] - b[i]));
  return most;
}

// Between impacts steps are of second order: of arms, what tumbles, springs, dampers, tendons and servos.
static void test_order(void **state) {
  (void)state;
  for (int k = 0; k < 5; k++) {
    double truth[13], end[13], error[2];
    int n = run_smooth(smooth[k], 0.7, 0.5, 50 * 64, truth, NULL);
    for (int i = 0; i < 2; i++) {
      run_smooth(smooth[k], 0.7, 0.5, 50 << i, end, NULL);
      error[i] = farthest(end, truth, n);
    }
    check_true(error[0] > 1e-6 && error[0] / error[1] > 3.7 && error[0] / error[1] < 4.4, "scene %d: errors %g, %g", k, error[0], error[1]);
  }
}

// A pendulum that hits a wall, by its restitution: its end and the derivative of that in the start are of second order, by slopes over six
// step sizes, as where in a step it meets has a part of the error. What is cut where it meets, with forces of the middle of what it did not
// fly, has a derivative of order 1.
static void test_order_of_impact(void **state) {
  (void)state;
  static const char *const pendulum =
      WORLD("-9.81", "<geom type=\"plane\" size=\"5 5 1\" pos=\"-.3 0 0\" euler=\"0 90 0\"/><body pos=\"0 0 2\">"
            "<joint axis=\"0 1 0\"/><geom size=\".05\" pos=\".5 0 0\" mass=\"1\"/></body>");
  static const double restitution[] = {0, 0.5, 1};
  enum { SIZES = 6 };
  for (int k = 0; k < 3; k++) {
    double truth[13], end[13], D0[4], D[4], slope[2] = {0};
    run_smooth(pendulum, restitution[k], 0.8, 80 * 256, truth, D0);
    check_true(truth[1] < 0, "it has not come back: %g", truth[1]);
    for (int i = 0; i < SIZES; i++) {
      double at = i - 0.5 * (SIZES - 1);   // by least squares of logarithms
      run_smooth(pendulum, restitution[k], 0.8, 80 << i, end, D);
      slope[0] -= at * log2(farthest(end, truth, 2)) / 17.5;
      slope[1] -= at * log2(farthest(D, D0, 4)) / 17.5;
    }
    print_message("restitution %g: order %.2f, of the derivative %.2f\n", restitution[k], slope[0], slope[1]);
    check_true(slope[0] > 1.9 && slope[0] < 2.4, "order %g", slope[0]);
    check_true(slope[1] > 1.9, "order of the derivative %g", slope[1]);
  }
}

// ---- with held rows ----

static const double gap = 1e-6;

// A bead that slides in a vertical circle: out of a bowl's wall (side 1) or down a dome (side -1), its angle from there, x, and its rate
// after T; by 4,000 steps of Runge and Kutta of x'' = -side (g/r) sin x - mu sign(x') max(0, x'^2 + side (g/r) cos x).
static void slide(double side, double r, double mu, double T, double x[2]) {
  enum { STEPS = 4000 };
  static const double g = 9.81, part[] = {0, 0.5, 0.5, 1}, weight[] = {1, 2, 2, 1};
  double h = T / STEPS;
  for (int i = 0; i < STEPS; i++) {
    double k[2] = {0}, sum[2] = {0};
    for (int stage = 0; stage < 4; stage++) {
      double at = x[0] + part[stage] * h * k[0], rate = x[1] + part[stage] * h * k[1];
      double presses = side * rate * rate + g / r * cos(at);
      check_true(presses > 0, "it leaves at %g", at);
      k[0] = rate;
      k[1] = -side * g / r * sin(at) - mu * presses * (rate > 0 ? 1 : rate < 0 ? -1 : 0);
      for (int c = 0; c < 2; c++) sum[c] += weight[stage] * k[c];
    }
    for (int c = 0; c < 2; c++) x[c] += h / 6 * sum[c];
  }
}

// where and how fast the scene is after n steps of T/n from its first velocities
static int run_held(const char *xml, const double *v, double T, int steps, double out[8]) {
  Rig r = toi(xml, 0);
  int n = r.m->nv;
  for (int d = 0; d < n; d++) r.s->qvel[d] = v[d];
  for (int t = 0; t < steps; t++)
    check_true(tg_sim_step_growing(r.s, T / steps, NULL) == TG_OK, "%s", tg_sim_error(r.s)->text);
  for (int d = 0; d < n; d++) {
    out[d] = tgRe(r.s->qpos[d]);
    out[n + d] = tgRe(r.s->qvel[d]);
  }
  drop(&r);
  return 2 * n;
}

// of errors at steps of T/n, T/2n, T/4n and T/8n, by least squares of logarithms
enum { HALVES = 4 };
static void check_second_order(const char *what, const double error[HALVES]) {
  double slope = 0;
  for (int i = 0; i < HALVES; i++) slope -= (i - 1.5) * log2(error[i]) / 5;
  print_message("%s: errors %.2g, %.2g, %.2g, %.2g, order %.2f\n", what, error[0], error[1], error[2], error[3], slope);
  check_true(slope > 1.9 && slope < 2.4, "%s: order %g", what, slope);
}

// Beads on circles against their own equation: in a bowl, which is the end of a rope's range, from 57 degrees up, and on a dome with
// friction. x: the angle from the lowest point or the highest one, and its rate.
static void check_bead(const char *what, const char *xml, double side, double r, double mu, double x[2], double T, int steps) {
  double angle = x[0], rate = x[1], end[8], error[HALVES], start[2] = {r * sin(angle), -side * r * cos(angle)};
  double v[2] = {r * cos(angle) * rate, side * r * sin(angle) * rate};
  slide(side, r, mu, T, x);
  double truth[4] = {r * sin(x[0]), -side * r * cos(x[0]), r * cos(x[0]) * x[1], side * r * sin(x[0]) * x[1]};
  for (int i = 0; i < HALVES; i++) {
    run_held(xml, v, T, steps << i, end);
    for (int c = 0; c < 2; c++) end[c] += start[c];
    error[i] = farthest(end, truth, 4);
  }
  check_second_order(what, error);
}

static const char *const drags =
    "<mujoco><option gravity=\"0 0 -9.81\"/><worldbody><geom type=\"plane\" size=\"5 5 1\" friction=\".2\"/><body pos=\"0 0 .5\">"
    "<joint axis=\"0 1 0\"/>" ROD("0 0 0", ".4 0 0") "<body pos=\".4 0 0\"><joint axis=\"0 1 0\"/>" ROD("0 0 0", ".3 0 -.46")
    "<geom size=\".02\" pos=\".3 0 -.479999\" mass=\".1\" friction=\".2\"/></body></body></worldbody></mujoco>";

// Flows with held rows are of second order too. Of an arm that drags a ball with friction the truth is what its steps go to.
static void test_order_held(void **state) {
  (void)state;
  char xml[1200];
  double angle = 1;
  snprintf(xml, sizeof xml, "<mujoco><option gravity=\"0 0 -9.81\"/><worldbody><site name=\"o\"/>"
           "<body pos=\"%.17g 0 %.17g\"><joint type=\"slide\" axis=\"1 0 0\"/><joint type=\"slide\" axis=\"0 0 1\"/>"
           "<geom size=\".1\" mass=\"2\" contype=\"0\" conaffinity=\"0\"/><site name=\"b\"/></body></worldbody>"
           "<tendon><spatial limited=\"true\" range=\"0 1\"><site site=\"o\"/><site site=\"b\"/></spatial></tendon></mujoco>",
           (1 - gap) * sin(angle), -(1 - gap) * cos(angle));
  check_bead("a bead in a bowl", xml, 1, 1 - gap, 0, (double[]){angle, 0}, 0.9, 100);
  static const double friction[] = {0, 0.2};
  for (int k = 0; k < 2; k++) {
    angle = 0.35;
    snprintf(xml, sizeof xml, "<mujoco><option gravity=\"0 0 -9.81\"/><worldbody><geom size=\".9\" friction=\"%g\"/>"
             "<body pos=\"%.17g 0 %.17g\"><joint type=\"slide\" axis=\"1 0 0\"/><joint type=\"slide\" axis=\"0 0 1\"/>"
             "<geom size=\".1\" mass=\"2\" friction=\"%g\"/></body></worldbody></mujoco>",
             friction[k], (1 + gap) * sin(angle), (1 + gap) * cos(angle), friction[k]);
    check_bead(k == 0 ? "a bead on a dome" : "the same with friction", xml, -1, 1 + gap, friction[k], (double[]){angle, 0.6},
               k == 0 ? 0.28 : 0.45, 25);
  }
  double v[2] = {1, 0}, end[HALVES + 2][8], error[HALVES];
  int n = 0;
  for (int i = 0; i < HALVES + 2; i++) n = run_held(drags, v, 0.1, 25 << i, end[i]);
  for (int d = 0; d < n; d++) end[HALVES + 1][d] += (end[HALVES + 1][d] - end[HALVES][d]) / 3;   // of second order, to the limit
  for (int i = 0; i < HALVES; i++) error[i] = farthest(end[i], end[HALVES + 1], n);
  check_second_order("an arm that drags its tip", error);
}

static void test_pendulum_energy(void **state) {
  (void)state;
  Rig r = toi(smooth[0], 0);
  double before = whole_energy(r.s), lowest = 9.81 * 0.25;   // of the swing's depth
  for (int t = 0; t < 2000; t++) assert_int_equal(tg_sim_step_growing(r.s, 0.01, NULL), TG_OK);
  check_close(whole_energy(r.s) / lowest, before / lowest, 1e-3);
  drop(&r);
}

// A brick that turns about its middle axis, which is not stable, by 0.1 and 0.3 rad a step.
static void test_tumbling_energy(void **state) {
  (void)state;
  for (int k = 0; k < 2; k++) {
    Rig r = toi(smooth[2], 0);
    double w = k == 0 ? 10 : 30, first, before;
    r.s->qvel[3] = w;
    r.s->qvel[4] = r.s->qvel[5] = 0.05 * w;
    first = before = whole_energy(r.s);
    for (int t = 0; t < 500; t++) {
      assert_int_equal(tg_sim_step_growing(r.s, 0.01, NULL), TG_OK);
      double now = whole_energy(r.s);
      check_true(fabs(now - before) < (k == 0 ? 1e-5 : 1e-3) * first, "step %d: %g J of %g J", t, now - before, first);
      before = now;
    }
    check_true(fabs(before - first) < 0.02 * first, "%g J of %g J", before, first);
    drop(&r);
  }
}

// However fast it turns, its energy stays between those that its angular momentum allows about its axes.
static void test_spinning(void **state) {
  (void)state;
  static const double rate[] = {80, 120, 200, 300, 3000, 1e5};
  for (int k = 0; k < 6; k++) {
    Rig r = toi(smooth[2], 0);
    const tgReal *J = r.s->m.body_inertia + 6;
    double least = fmin(tgRe(J[0]), fmin(tgRe(J[1]), tgRe(J[2]))), most = fmax(tgRe(J[0]), fmax(tgRe(J[1]), tgRe(J[2])));
    r.s->qvel[3] = 0.3 * rate[k];
    r.s->qvel[4] = rate[k];
    r.s->qvel[5] = 0.2 * rate[k];
    double first = whole_energy(r.s);
    for (int t = 0; t < 1000; t++) {
      assert_int_equal(tg_sim_step_growing(r.s, 0.01, NULL), TG_OK);
      double now = whole_energy(r.s);
      check_true(now < first * most / least * (1 + 1e-6), "%g rad/s, step %d: %g J of %g J", rate[k], t, now, first);
    }
    drop(&r);
  }
}

// Springs and dampers that are far too stiff for the step let nothing grow, in flows of any length.
static void test_stiff(void **state) {
  (void)state;
  static const char *const stiff[] = {"<position joint=\"a\" kp=\"1e6\"/>", "<velocity joint=\"a\" kv=\"1e4\"/>",
                                      "<position joint=\"a\" kp=\"1e6\" kv=\"30\"/>"};
  for (int k = 0; k < 3; k++) {
    char xml[2000];
    snprintf(xml, sizeof xml, "<mujoco><option gravity=\"0 0 0\"/><worldbody>" ARM "</body></worldbody><actuator>%s</actuator></mujoco>",
             stiff[k]);
    Rig r = toi(xml, 0);
    double most = 0;
    r.s->qvel[0] = 1;
    for (int t = 0; t < 2000; t++) {
      assert_int_equal(tg_sim_step_growing(r.s, t % 3 == 0 ? 0.01 : t % 3 == 1 ? 0.0037 : 0.02, NULL), TG_OK);
      most = fmax(most, fabs(tgRe(r.s->qvel[0])));
    }
    check_true(most <= 1 + 1e-9, "servo %d: %g rad/s of 1", k, most);
    drop(&r);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_order), cmocka_unit_test(test_order_of_impact), cmocka_unit_test(test_order_held),
      cmocka_unit_test(test_pendulum_energy),
      cmocka_unit_test(test_tumbling_energy), cmocka_unit_test(test_spinning), cmocka_unit_test(test_stiff)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
