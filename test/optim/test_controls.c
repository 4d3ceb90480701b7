// test_controls.c: controls from decision variables, and the adjoint of that map.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "optim/controls.h"
#include "support/deriv.h"
#include "support/task.h"

enum { STEPS = 12 };

static tgStatus map(void *ctx, const tgReal *x, tgReal *y) {
  tgi_controls_expand(ctx, x, y);
  return TG_OK;
}

// rows of du/dx, each the adjoint of one control at one step, against differences
static void check(const char *controls, int want_n) {
  char text[600];
  snprintf(text, sizeof text,
           "model: half_cheetah.xml\ncontact: lcp\nhorizon: {steps: %d, timestep: 0.01}\ncontrols: %s\n"
           "losses: [{term: control, weight: 1}]\noptimizer: {method: adam, iterations: 1}\n", STEPS, controls);
  tgError e = {0};
  tgTask *t = tg_task_load_text(text, strlen(text), TG_SOURCE_DIR "/models", NULL, &e);
  check_true(t != NULL, "%s", e.text);
  int n = tgi_controls_count(t), ny = STEPS * t->model->nu;
  assert_int_equal(n, want_n);
  double *x = calloc((size_t)n, sizeof *x), *w = calloc((size_t)ny, sizeof *w), *D = calloc((size_t)ny * (size_t)n, sizeof *D);
  tgtRandom rng = {5};
  for (int i = 0; i < n; i++) x[i] = tgt_uniform(&rng, -3, 3);
  for (int r = 0; r < ny; r++) {
    w[r] = 1;
    tgi_controls_vjp(t, x, w, D + r * n);
    w[r] = 0;
  }
  // the rows of one step, over the variables that act in it and over all
  double *J = calloc((size_t)t->model->nu * (size_t)n, sizeof *J);
  for (int s = 0; s < STEPS; s++)
    for (int all = 0; all < 2; all++) {
      int count = n, first = all ? 0 : tgi_controls_range(t, s, s + 1, &count);
      tgi_controls_jacobian(t, x, s, first, count, J);
      for (int k = 0; k < t->model->nu; k++)
        for (int i = 0; i < n; i++)
          check_close(i >= first && i < first + count ? J[k * count + i - first] : 0, D[(s * t->model->nu + k) * n + i], 1e-14);
    }
  free(J);
  tgtDeriv d = {.name = controls, .nx = n, .ny = ny, .map = map, .ctx = t, .tol = 1e-9};
  tgt_check_jacobian(&d, x, D);
  free(x);
  free(w);
  free(D);
  tg_task_free(t);
}

// 12 steps in blocks of 5: the last is shorter
static void blocks(void **state) {
  (void)state;
  check("{every: 5}", 3 * 6);
}

// an offset, then amplitude, frequency and phase of each term
static void sines(void **state) {
  (void)state;
  check("{basis: sines, terms: 2}", 7 * 6);
  // they start as harmonics of the frequency, 1 Hz where none is given
  for (int k = 0; k < 2; k++) {
    char text[400];
    snprintf(text, sizeof text, "model: m.xml\ncontact: lcp\nhorizon: {steps: 2}\n"
             "controls: {basis: sines, terms: 2, start: 0.5, amplitude: 0.25%s}\n"
             "losses: [{term: control, weight: 1}]\noptimizer: {method: adam, iterations: 1}\n", k == 0 ? "" : ", frequency: 3");
    tgTask *t = tgt_task("<mujoco><worldbody><body><joint name='x' type='slide'/><geom size='.1'/></body></worldbody>"
                         "<actuator><motor joint='x'/></actuator></mujoco>", text);
    const double f = k == 0 ? 1 : 3, want[7] = {0.5, 0.25, f, 0, 0.25, 2 * f, 0};
    double x[7];
    assert_int_equal(tg_task_size(t), 7);
    tg_task_start(t, 0, x);
    for (int i = 0; i < 7; i++) check_close(x[i], want[i], 0);
    tg_task_free(t);
  }
}

// a box that meets the actuator's range in one point is that point; one apart from it stays
static void box_within_the_range(void **state) {
  (void)state;
  static const struct { const char *box; double low, high; } given[] = {
      {"low: -3, high: 0.5", -1, 0.5}, {"low: 1, high: 3", 1, 1}, {"low: -4, high: -1", -1, -1},
      {"low: 2, high: 3", 2, 3}, {"low: -3, high: -2", -3, -2}};
  for (size_t i = 0; i < sizeof given / sizeof *given; i++) {
    char text[400];
    snprintf(text, sizeof text, "model: m.xml\ncontact: lcp\nhorizon: {steps: 2}\ncontrols: {every: 2, %s}\n"
             "losses: [{term: control, weight: 1}]\noptimizer: {method: adam, iterations: 1}\n", given[i].box);
    tgTask *t = tgt_task("<mujoco><worldbody><body><joint name='x' type='slide'/><geom size='.1'/></body></worldbody>"
                         "<actuator><motor joint='x' ctrlrange='-1 1' ctrllimited='true'/></actuator></mujoco>", text);
    double low, high;
    assert_int_equal(tg_task_size(t), 1);
    tg_task_box(t, &low, &high);
    check_true(low == given[i].low && high == given[i].high, "%s: %g to %g", given[i].box, low, high);
    tg_task_free(t);
  }
}

// ---- where controls start ----

// Joints drawn at .3 rad and .2 m, with every kind of actuator on them, and a keyframe elsewhere.
static const char *const moved =
    "<mujoco><compiler angle='radian'/><worldbody><body><joint name='a' type='hinge' axis='0 1 0' ref='0.3'/><geom size='0.1'/>"
    "<body pos='0 0 1'><joint name='b' type='slide' axis='1 0 0' ref='0.2'/><geom size='0.1'/></body></body></worldbody>"
    "<tendon><fixed name='both'><joint joint='a' coef='2'/><joint joint='b' coef='-1'/></fixed></tendon>"
    "<actuator><motor joint='a' gear='3'/><position joint='a' kp='40' kv='2'/><position joint='b' kp='7' gear='5'/>"
    "<velocity joint='b' kv='3'/><position tendon='both' kp='11'/><intvelocity joint='a' kp='9'/>"
    "<general joint='b' gaintype='affine' gainprm='2 0.5 0' biastype='affine' biasprm='1 -4 0'/>"
    "<general joint='b' dyntype='filter' dynprm='0.1' gainprm='6' biastype='affine' biasprm='0 -6 0'/>"
    "<general joint='a' biastype='affine' biasprm='0.1 0 0'/></actuator>"
    "<keyframe><key name='home' qpos='0.1 -0.1' ctrl='1 2 3 4 5 6 7 8 9'/></keyframe></mujoco>";
enum { KINDS = 9 };

static void starts(const char *start, const char *controls, const double *want) {
  char text[500];
  double x[2 * KINDS];
  snprintf(text, sizeof text, "model: m.xml\ncontact: lcp\nhorizon: {steps: 2, timestep: 0.01}\n%scontrols: %s\n"
           "losses: [{term: control, weight: 1}]\noptimizer: {method: adam, iterations: 1}\n", start, controls);
  tgTask *t = tgt_task(moved, text);
  assert_int_equal(tg_task_size(t), 2 * KINDS);
  tg_task_start(t, 0, x);
  for (int i = 0; i < 2 * KINDS; i++) check_close(x[i], want[i % KINDS], 1e-15);
  tg_task_free(t);
}

// The control that a servo would need to exert no force there; those of a keyframe; a number; what is none of them.
static void at_the_pose(void **state) {
  (void)state;
  static const double drawn[KINDS] = {0, 0.3, 5 * 0.2, 0, 2 * 0.3 - 0.2, 0, -(1 - 4 * 0.2) / (2 + 0.5 * 0.2), 0.2, 0},
                      set[KINDS] = {0, 0.1, 5 * 0.6, 0, 2 * 0.1 - 0.6, 0, -(1 - 4 * 0.6) / (2 + 0.5 * 0.6), 0.6, 0},
                      key[KINDS] = {1, 2, 3, 4, 5, 6, 7, 8, 9}, number[KINDS] = {0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5};
  starts("", "{}", drawn);
  starts("", "{start: pose}", drawn);
  starts("", "{start: 0.5}", number);
  starts("start: {keyframe: home, joints: [{joint: b, position: [0.6]}]}\n", "{}", set);
  starts("start: {keyframe: home}\n", "{start: keyframe}", key);
  static const char *const wrong[] = {"keyframe", "poze", "1x", ".inf"};
  for (int i = 0; i < 4; i++) {
    char text[400];
    snprintf(text, sizeof text, "model: m.xml\ncontact: lcp\nhorizon: {steps: 2}\ncontrols: {start: %s}\n"
             "losses: [{term: control, weight: 1}]\noptimizer: {method: adam, iterations: 1}\n", wrong[i]);
    tgt_task_refused(moved, text, i == 0 ? "the task's start names none" : "neither a finite number nor pose nor keyframe");
  }
}

// the offsets of sums of sines start there too, and follow a start that is moved inside its range
static void offsets_follow_the_start(void **state) {
  (void)state;
  static const char *const limited =
      "<mujoco><compiler angle='radian'/><worldbody><body><joint name='a' type='slide' axis='1 0 0' range='0 2'/><geom size='0.1'/></body>"
      "</worldbody><actuator><position joint='a' kp='3'/></actuator></mujoco>";
  tgError e = {0};
  double x[4];
  tgTask *t = tgt_task(limited, "model: m.xml\ncontact: lcp\nhorizon: {steps: 2}\ncontrols: {basis: sines, amplitude: 0.5}\n"
                                "start: {inside: 0.1}\nlosses: [{term: control, weight: 1}]\noptimizer: {method: adam, iterations: 1}\n");
  tg_task_start(t, 0, x);
  check_close(x[0], 0.2, 1e-15);
  check_close(x[1], 0.5, 0);
  assert_int_equal(tg_task_inside(t, 0.25, &e), TG_OK);
  tg_task_start(t, 0, x);
  check_close(x[0], 0.5, 1e-15);
  tg_task_free(t);
}

// where none is decided, servos hold the pose of the start, at every step and in every replay
static void none_decided(void **state) {
  (void)state;
  static const double set[KINDS] = {0, 0.1, 5 * 0.6, 0, 2 * 0.1 - 0.6, 0, -(1 - 4 * 0.6) / (2 + 0.5 * 0.6), 0.6, 0};
  tgError e = {0};
  double x[1] = {0.7}, u[2 * KINDS];
  tgTask *t = tgt_task(moved, "model: m.xml\ncontact: lcp\nhorizon: {steps: 2, timestep: 0.01}\n"
                              "start: {keyframe: home, joints: [{joint: b, position: [0.6]}]}\n"
                              "initial: [{joint: a, part: velocity}]\nrefine: [{timestep: 0.005}]\n"
                              "losses: [{term: velocity, weight: 1}]\noptimizer: {method: adam, iterations: 1}\n");
  assert_int_equal(tg_task_size(t), 1);
  tg_task_expand(t, x, NULL, NULL, u);
  for (int i = 0; i < 2 * KINDS; i++) check_close(u[i], set[i % KINDS], 1e-15);
  tgTask *stage = tg_task_stage(t, 1, &e);
  assert_non_null(stage);
  double fine[4 * KINDS];
  tg_task_expand(stage, x, NULL, NULL, fine);
  for (int i = 0; i < 4 * KINDS; i++) check_close(fine[i], set[i % KINDS], 1e-15);
  tg_task_free(stage);
  tg_task_free(t);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(none_decided), cmocka_unit_test(blocks), cmocka_unit_test(sines),
                                     cmocka_unit_test(box_within_the_range), cmocka_unit_test(at_the_pose),
                                     cmocka_unit_test(offsets_follow_the_start)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
