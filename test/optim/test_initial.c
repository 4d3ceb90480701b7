// test_initial.c: decided initial states of every joint type: what they do to q0, and the gradient through them.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "support/check.h"
#include "tangere/optim.h"

static const char *const model =
    "<mujoco><option timestep='0.01'/><worldbody>"
    "<body name='free' pos='0 0 2'><freejoint name='root'/><geom type='box' size='0.1 0.2 0.3'/>"
    "<site name='horn' pos='0.3 0.1 0.2'/></body>"
    "<body name='arm' pos='2 0 2'><joint name='shoulder' type='ball'/><geom type='capsule' size='0.05 0.3' pos='0 0 -0.3'/>"
    "<site name='tip' pos='0.1 0 -0.6'/><body name='hand' pos='0 0 -0.6'><joint name='wrist' axis='0 1 0' stiffness='2' springref='0.4'/>"
    "<geom type='sphere' size='0.1' pos='0.1 0 0'/></body></body></worldbody></mujoco>";
static const char *const task =
    "model: m.xml\ncontact: lcp\nhorizon: {steps: 5}\nstart: {joints: [{joint: root, position: [0, 0, 2, 0.8, 0, 0.6, 0]}]}\n"
    "initial: [{joint: root, part: position}, {joint: shoulder, part: position}, {joint: wrist, part: position},\n"
    "          {joint: root, part: velocity}, {joint: shoulder, part: velocity}]\n"
    "losses:\n- {term: site_position, name: horn, target: [1, 1, 1], weight: 1, at: all}\n"
    "- {term: site_position, name: tip, target: [1, 1, 1], weight: 1}\n- {term: body_com, name: hand, target: [0, 1, 0], weight: 1}\n"
    "- {term: joint_position, name: wrist, target: [0.3], weight: 2}\n- {term: velocity, weight: 0.1}\n"
    "optimizer: {method: adam, iterations: 1}\n";

static tgTask *load(const char *text) {
  char folder[] = "/tmp/tangere-initial-XXXXXX", path[64];
  assert_non_null(mkdtemp(folder));
  snprintf(path, sizeof path, "%s/m.xml", folder);
  FILE *f = fopen(path, "w");
  assert_non_null(f);
  fputs(model, f);
  fclose(f);
  tgError e = {0};
  tgTask *t = tg_task_load_text(text, strlen(text), folder, NULL, &e);
  check_true(t != NULL, "%s", e.text);
  unlink(path);
  rmdir(folder);
  return t;
}

enum { N = 6 + 3 + 1 + 6 + 3 };

// q0 = start (+) x: positions move in the world, rotations turn about the body's own axes
static void positions_are_steps_from_the_start(void **state) {
  (void)state;
  tgTask *t = load(task);
  assert_int_equal(tg_task_size(t), N);
  double x[N] = {0}, q[12], v[10];
  x[0] = 0.5;                    // free: along x
  x[5] = TG_PI / 2;              // free: a quarter turn about its own z
  x[6] = TG_PI;                  // ball: half a turn about x
  x[9] = 0.25;
  x[10 + 2] = -3;
  x[16 + 1] = 4;
  tg_task_expand(t, x, q, v, NULL);
  double r = sqrt(0.5);
  // (0.8, 0, 0.6, 0) times (r, 0, 0, r), by hand
  const double want[12] = {0.5, 0, 2, 0.8 * r, 0.6 * r, 0.6 * r, 0.8 * r, 0, 1, 0, 0, 0.25};
  for (int i = 0; i < 12; i++) check_close(q[i], want[i], 1e-15);
  for (int i = 0; i < 10; i++) check_close(v[i], i == 2 ? -3 : i == 7 ? 4 : 0, 0);
  tg_task_free(t);
}

static void check_gradient(const tgTask *t, double *x) {
  int n = tg_task_size(t);
  tgEvaluator *e = tg_evaluator_create(t, 0, NULL);
  double g[N], f, scale = 0;
  assert_int_equal(tg_evaluate(e, x, &f, g, NULL, NULL, NULL, NULL), TG_OK);
  for (int i = 0; i < n; i++) scale = fmax(scale, fabs(g[i]));
  for (int i = 0; i < n; i++) {
    double d[2], keep = x[i];
    for (int k = 0; k < 2; k++) {
      double h = 1e-3 / (1 << k), up, down;
      x[i] = keep + h;
      assert_int_equal(tg_evaluate(e, x, &up, NULL, NULL, NULL, NULL, NULL), TG_OK);
      x[i] = keep - h;
      assert_int_equal(tg_evaluate(e, x, &down, NULL, NULL, NULL, NULL, NULL), TG_OK);
      d[k] = (up - down) / (2 * h);
    }
    x[i] = keep;
    check_close((4 * d[1] - d[0]) / 3, g[i], 1e-9 * scale);
  }
  tg_evaluator_free(e);
}

// at random variables, the gradient against Richardson-extrapolated differences along each
static void gradients_go_through_rotations(void **state) {
  (void)state;
  tgTask *t = load(task);
  tgtRandom random = {7};
  for (int trial = 0; trial < 5; trial++) {
    double x[N];
    for (int i = 0; i < N; i++) x[i] = tgt_uniform(&random, -0.7, 0.7);
    check_gradient(t, x);
  }
  tg_task_free(t);
}

// some entries of a joint: a horizontal place and speed, a turn about one axis, entries of a turn apart and in any
// order; the gradient goes through
static void entries(void **state) {
  (void)state;
  char text[2000];
  snprintf(text, sizeof text, "%s", task);
  char *from = strstr(text, "initial:"), rest[1200];
  snprintf(rest, sizeof rest, "%s", strstr(text, "losses:"));
  sprintf(from, "initial: [{joint: root, part: position, entries: [0, 1], low: -1, high: 2}, {joint: shoulder, part: "
                "position, entries: [2]},\n"
                "          {joint: root, part: velocity, entries: [1, 0]}, {joint: root, part: position, entries: [5, "
                "3]}, {joint: shoulder, part: position, entries: [0]}]\n%s", rest);
  tgTask *t = load(text);
  assert_int_equal(tg_task_size(t), 8);
  double x[8] = {0.5, -0.25, 0.3, 7, 8, 0.2, -0.4, 0.6}, q[12], v[10],
         step[10] = {0.5, -0.25, 0, -0.4, 0, 0.2, 0.6, 0, 0.3, 0}, q0[12], want[12];
  double zero[8] = {0};
  tg_task_expand(t, zero, q0, v, NULL);
  for (int i = 0; i < 10; i++) check_close(v[i], 0, 0);
  tg_task_expand(t, x, q, v, NULL);
  tg_model_integrate(tg_task_model(t), q0, step, want);
  for (int i = 0; i < 12; i++) check_close(q[i], want[i], 1e-15);
  for (int i = 0; i < 10; i++) check_close(v[i], i == 1 ? 7 : i == 0 ? 8 : 0, 0);
  check_gradient(t, x);
  tg_task_free(t);
}

// the value is the sum of the terms times their weights, and the distances are those at the end
static void terms_add_up(void **state) {
  (void)state;
  tgTask *t = load(task);
  tgEvaluator *e = tg_evaluator_create(t, 0, NULL);
  double x[N] = {0.1, -0.2, 0.3, 0.4}, f, sum = 0, value, distance, target[3];
  static const double weight[] = {1, 1, 1, 2, 0.1};
  static const int carrier[] = {1, 2, 3, -1, -1};
  int body;
  assert_int_equal(tg_evaluate(e, x, &f, NULL, NULL, NULL, NULL, NULL), TG_OK);
  assert_int_equal(tg_evaluator_terms(e), 5);
  for (int i = 0; i < 5; i++) {
    assert_non_null(tg_evaluator_term(e, i, &value, &distance));
    sum += weight[i] * value;
    assert_non_null(tg_task_target(t, i, target, &body));
    assert_int_equal(body, carrier[i]);
    if (i == 1 || i == 2) check_close(distance * distance, value, 1e-14 * value);
    if (i > 2) assert_true(isnan(distance) && isnan(target[0]));
  }
  check_close(sum, f, 1e-14 * f);
  assert_null(tg_evaluator_term(e, 5, NULL, NULL));
  assert_null(tg_task_target(t, 5, target, NULL));
  tg_evaluator_free(e);
  tg_task_free(t);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(positions_are_steps_from_the_start), cmocka_unit_test(gradients_go_through_rotations),
                                     cmocka_unit_test(terms_add_up),
                                     cmocka_unit_test(entries)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
