// test_task_change.c: a task looked at and changed by a program: loss terms, horizon, rate, where the optimiser starts.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/check.h"
#include "support/task.h"
#include "tangere/optim.h"

static const char *const file = TG_SOURCE_DIR "/models/push.yaml";

static tgTask *load(const char *path) {
  tgError e = {0};
  tgTask *t = tg_task_load(path, NULL, &e);
  check_true(t != NULL, "%s", e.text);
  return t;
}

// the loss of a term is its distance from the target that was set last, times its weight
static void terms_are_changed(void **state) {
  (void)state;
  tgTask *t = load(TG_SOURCE_DIR "/models/billiards_small.yaml");
  tgTaskTerm term;
  tgError e = {0};
  assert_true(tg_task_term(t, 0, &term));
  assert_false(tg_task_term(t, -1, &term) || tg_task_term(t, 100, &term));
  assert_true(tg_task_term(t, 0, &term) && strcmp(term.kind, "body_com") == 0 && term.ntarget == 3 &&
              strstr(term.label, "body_com") == term.label);
  int body = term.body;
  double target[3];
  term.body = body == 2 ? 3 : 2;
  term.target[0] = 1.25;
  term.target[1] = -0.5;
  term.weight = 3;
  term.tolerance = 0.125;
  assert_int_equal(tg_task_set_term(t, 0, &term, &e), TG_OK);
  tgTaskTerm now;
  assert_true(tg_task_term(t, 0, &now));
  assert_true(now.body == term.body && now.weight == 3 && now.tolerance == 0.125);
  char label[80];
  snprintf(label, sizeof label, "body_com %s", tg_model_name(tg_task_model(t), TG_THING_BODY, term.body));
  assert_string_equal(now.label, label);
  assert_string_equal(tg_task_target(t, 0, target, &body), label);
  assert_true(body == term.body && target[0] == 1.25 && target[1] == -0.5);
  // refused, and nothing changed
  const tgTaskTerm kept = now;
  for (int k = 0; k < 4; k++) {
    term = kept;
    if (k == 0) term.target[1] = NAN;
    if (k == 1) term.weight = -1;
    if (k == 2) term.tolerance = -1;
    if (k == 3) term.body = 10000;
    e = (tgError){0};
    assert_int_equal(tg_task_set_term(t, 0, &term, &e), TG_ERR_ARG);
    assert_true(e.text[0] != '\0');
    assert_true(tg_task_term(t, 0, &now) && memcmp(now.target, kept.target, sizeof kept.target) == 0 &&
                now.weight == kept.weight && now.body == kept.body);
  }
  assert_int_equal(tg_task_set_term(t, 100, &kept, &e), TG_ERR_ARG);
  tg_task_free(t);
}

// a target that is set counts: the loss at the end is the weighted square of the distance from it
static void a_new_target_counts(void **state) {
  (void)state;
  tgTask *t = load(TG_SOURCE_DIR "/models/two_balls.yaml");
  tgError e = {0};
  tgEvaluator *eval = tg_evaluator_create(t, 0, &e);
  check_true(eval != NULL, "%s", e.text);
  double *x = calloc((size_t)tg_task_size(t) + 1, sizeof *x), loss[2], value, distance;
  tg_task_start(t, 0, x);
  tgTaskTerm term;
  int i = 0;
  while (tg_task_term(t, i, &term) && strstr(term.kind, "position") == NULL) i++;
  assert_true(tg_task_term(t, i, &term));
  for (int k = 0; k < 2; k++) {
    term.target[0] += 0.5 * k;
    assert_int_equal(tg_task_set_term(t, i, &term, &e), TG_OK);
    assert_int_equal(tg_evaluate(eval, x, &loss[k], NULL, NULL, NULL, NULL, NULL), TG_OK);
  }
  assert_true(loss[0] != loss[1]);
  assert_non_null(tg_evaluator_term(eval, i, &value, &distance));
  tg_evaluator_free(eval);
  free(x);
  tg_task_free(t);
}

static void horizon_and_rate(void **state) {
  (void)state;
  tgTask *t = load(file);
  tgError e = {0};
  int steps = tg_task_steps(t), windows = tg_task_windows(t);
  double h = tg_task_timestep(t), rate = tg_task_rate(t);
  assert_true(windows > 1 && rate > 0 && tg_task_population(t) > 0);
  assert_int_equal(tg_task_set_horizon(t, 2 * steps, h / 2, &e), TG_OK);
  assert_true(tg_task_steps(t) == 2 * steps && tg_task_timestep(t) == h / 2 && tg_task_windows(t) == windows);   // the same seconds
  tgRolloutOptions o = tg_task_rollout_options(t);
  assert_true(o.steps == 2 * steps && o.h == h / 2);
  assert_int_equal(tg_task_set_horizon(t, 0, h, &e), TG_ERR_ARG);
  assert_int_equal(tg_task_set_horizon(t, 10, -h, &e), TG_ERR_ARG);
  assert_int_equal(tg_task_set_rate(t, 2 * rate, &e), TG_OK);
  check_close(tg_task_rate(t), 2 * rate, 0);
  assert_int_equal(tg_task_set_rate(t, 0, &e), TG_ERR_ARG);
  check_close(tg_task_rate(t), 2 * rate, 0);
  tg_task_free(t);
}

// the optimiser begins where it is told to, and the parameter that is decided has a name and an entry
static void starts_and_parameters(void **state) {
  (void)state;
  tgTask *t = load(TG_SOURCE_DIR "/models/slide_block_identify.yaml");
  tgError e = {0};
  double *x = calloc((size_t)tg_task_size(t) + 1, sizeof *x);
  int at, entry;
  tg_task_start(t, 0, x);
  assert_non_null(tg_task_parameter(t, 0, &at));
  const char *array = tg_task_parameter_array(t, 0, &entry);
  tgSim *s = tg_sim_create(tg_task_model(t), tg_task_contact(t), NULL, &e);
  int rows, cols;
  double *value = tg_sim_param(s, array, &rows, &cols);
  assert_true(value != NULL && entry >= 0 && entry < rows * cols);
  x[at] *= 1.25;
  assert_int_equal(tg_task_set_parameters(t, x, s), TG_OK);
  check_close(value[entry], x[at], 0);
  assert_int_equal(tg_task_set_parameters(NULL, x, s), TG_ERR_ARG);
  assert_int_equal(tg_task_set_parameters(t, NULL, s), TG_ERR_ARG);
  assert_int_equal(tg_task_set_parameters(t, x, NULL), TG_ERR_ARG);
  assert_null(tg_task_parameter_array(t, 100, &entry));
  assert_int_equal(tg_task_override(t, NULL, NULL, 1, &e), TG_OK);
  tgOptimizeOptions o = tg_optimize_default();
  o.start = x;
  tgOptimum *best = tg_optimize(t, &o);
  assert_non_null(best);
  for (int i = 0; i < best->n; i++) check_close(best->first[i], x[i], 0);
  tg_optimum_free(best);
  tg_sim_free(s);
  free(x);
  tg_task_free(t);
}

// A joint that is drawn at the end of its range, where no step under the barrier starts, another that is well inside.
static void starts_inside_limits(void **state) {
  (void)state;
  static const char *const model =
      "<mujoco><compiler angle='radian'/><worldbody><body><joint name='a' type='slide' axis='1 0 0' range='0 2'/>"
      "<geom size='0.1' mass='1'/>"
      "<body pos='0 0 1'><joint name='b' type='hinge' axis='0 1 0' range='-1 1'/><geom size='0.1' mass='1'/></body>"
      "</body></worldbody></mujoco>";
  static const char *const text =
      "model: m.xml\ncontact: barrier\nhorizon: {steps: 1, timestep: 0.01}\nstart: {joints: [{joint: b, position: [0.3]}]%s}\n"
      "initial: [{joint: a, part: velocity}]\nlosses: [{term: joint_position, name: a, weight: 1}]\n"
      "optimizer: {method: adam, iterations: 1}\n";
  tgError e = {0};
  double q[2], x[1] = {0}, loss;
  tgRolloutResult result;
  for (int k = 0; k < 2; k++) {
    char task[600];
    snprintf(task, sizeof task, text, k == 1 ? ", inside: 0.1" : "");
    tgTask *t = tgt_task(model, task);
    tgEvaluator *run = tg_evaluator_create(t, 0, &e);
    assert_non_null(run);
    assert_int_equal(tg_evaluate(run, x, &loss, NULL, NULL, NULL, NULL, &result), k == 1 ? TG_OK : TG_ERR_INVALID);
    check_true(k == 1 || strstr(result.error.text, "inside: 0.05") != NULL, "%s", result.error.text);
    tg_evaluator_free(run);
    assert_int_equal(tg_task_inside(t, 0.25, &e), TG_OK);
    tg_task_expand(t, x, q, NULL, NULL);
    check_close(q[0], 0.5, 0);
    check_close(q[1], 0.3, 0);
    assert_int_equal(tg_task_inside(t, 0.6, &e), TG_ERR_ARG);
    assert_int_equal(tg_task_inside(NULL, 0.1, &e), TG_ERR_ARG);
    tg_task_free(t);
  }
}

// an evaluator that only makes runs: a batch of it gives the loss that an evaluation gives
static void runs_for_a_batch(void **state) {
  (void)state;
  tgTask *t = load(TG_SOURCE_DIR "/models/two_balls.yaml");
  tgError e = {0};
  tgEvaluator *runs = tg_evaluator_create_runs(t, &e), *own = tg_evaluator_create(t, 0, &e);
  tgRolloutOptions o = tg_task_rollout_options(t);
  tgBatch *batch = tg_batch_create(tg_task_model(t), tg_task_contact(t), &o, 1, &e);
  check_true(runs != NULL && own != NULL && batch != NULL, "%s", e.text);
  double *x = calloc((size_t)tg_task_size(t) + 1, sizeof *x), loss;
  tg_task_start(t, 3, x);
  tgRolloutRun run;
  tgRolloutResult result;
  assert_int_equal(tg_evaluator_run(runs, x, &run), TG_OK);
  assert_int_equal(tg_batch_run(batch, 1, &run, &result), TG_OK);
  assert_int_equal(tg_evaluate(own, x, &loss, NULL, NULL, NULL, NULL, NULL), TG_OK);
  check_close(result.loss, loss, 0);
  assert_int_equal(tg_evaluate(runs, x, &loss, NULL, NULL, NULL, NULL, NULL), TG_ERR_ARG);
  free(x);
  tg_batch_free(batch);
  tg_evaluator_free(runs);
  tg_evaluator_free(own);
  tg_task_free(t);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(terms_are_changed), cmocka_unit_test(a_new_target_counts),
                                     cmocka_unit_test(horizon_and_rate), cmocka_unit_test(starts_and_parameters),
                                     cmocka_unit_test(starts_inside_limits), cmocka_unit_test(runs_for_a_batch)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
