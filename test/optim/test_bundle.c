// test_bundle.c: the gradient bundle against the mean of gradients taken one by one; members that fail; what it leaps
// over and what it does not.
#include <math.h>

#include "base/random.h"
#include "support/task.h"

static const char *const sled =
    "<mujoco><option timestep='0.1' gravity='0 0 0'/><worldbody><body name='sled'><joint name='x' type='slide' axis='1 0 0'/>"
    "<geom type='sphere' size='0.1' mass='2'/></body>"
    "<body name='block' pos='2 0 0'><joint name='y' type='slide' axis='1 0 0'/><geom type='sphere' size='0.1' mass='2'/></body></worldbody>"
    "<actuator><motor joint='x'/></actuator></mujoco>";
#define SLED(controls, name, target, rest)                                                                  \
  "model: m.xml\ncontact: lcp\nhorizon: {steps: 10}\ncontrols: {every: 5" controls "}\n"                     \
  "losses: [{term: joint_position, name: " name ", target: [" target "], weight: 3}]\noptimizer: {method: bundle, " rest "}\n"

// one step of Adam with beta1 = beta2 = 0 is one of sign: with the paper's means the second moment is the square, so
// the step tells the gradient's sign only; the loss after one step of a known length tells more. Here the gradient
// itself, from the same draws, by hand.
static void the_step_is_that_of_the_mean(void **state) {
  (void)state;
  enum { N = 2, MEMBERS = 7 };
  tgTask *t = tgt_task(sled, SLED(", low: -4, high: 6", "x", "1.5", "iterations: 2, rate: 0.125, population: 7, beta1: 0.3, beta2: 0.5"));
  tgOptimizeOptions o = tg_optimize_default();
  o.seed = 9;
  o.threads = 2;
  tgOptimum *got = tgt_optimize(t, &o);
  tgEvaluator *e = tg_evaluator_create(t, 0, NULL);
  double mean[N] = {0}, x[N] = {0}, f0, f1;
  for (int i = 0; i < MEMBERS; i++) {
    double y[N], g[N], f;
    for (int k = 0; k < N; k++) y[k] = 0.5 * tg_random_normal(9, 3, (uint64_t)(i * N + k));   // 5 % of 10
    assert_int_equal(tg_evaluate(e, y, &f, g, NULL, NULL, NULL, NULL), TG_OK);
    for (int k = 0; k < N; k++) mean[k] += g[k] / MEMBERS;
  }
  assert_int_equal(tg_evaluate(e, x, &f0, NULL, NULL, NULL, NULL, NULL), TG_OK);
  // the first step of Adam: its moments corrected are the gradient and its square
  for (int k = 0; k < N; k++) x[k] -= 0.125 * mean[k] / (fabs(mean[k]) + 1e-8);
  assert_int_equal(tg_evaluate(e, x, &f1, NULL, NULL, NULL, NULL, NULL), TG_OK);
  check_close(got->first_loss, f0, 0);
  check_close(got->best_loss, f1, 1e-14 * f1);
  assert_int_equal(got->iterations, 2);
  assert_int_equal(got->evaluations, 2);
  assert_int_equal(got->simulations, 2 * (MEMBERS + 1));
  tg_evaluator_free(e);
  tg_optimum_free(got);
  tg_task_free(t);
}

// the block is 2 m away and nothing touches it unless a sample gets there: no gradient at the start, one in the
// bundle if its spread is wide
static void it_sees_as_far_as_its_spread(void **state) {
  (void)state;
  static const char *const text[] = {
      SLED(", low: -40, high: 40", "y", "3", "iterations: 12, rate: 2, sigma: 0.1"),
      SLED(", low: -40, high: 40", "y", "3", "iterations: 12, rate: 2, sigma: 20"),
  };
  for (int k = 0; k < 2; k++) {
    tgTask *t = tgt_task(sled, text[k]);
    tgOptimizeOptions o = tg_optimize_default();
    o.seed = 1;
    tgOptimum *got = tgt_optimize(t, &o);
    check_true((got->best_loss < 0.9 * got->first_loss) == (k == 1), "spread %d: %g to %g", k, got->first_loss, got->best_loss);
    tg_optimum_free(got);
    tg_task_free(t);
  }
}

// without a spread there is no bundle, and that is said
static void a_spread_is_asked_for(void **state) {
  (void)state;
  tgTask *t = tgt_task(sled, SLED("", "x", "1", "iterations: 2"));
  tgOptimum *o = tg_optimize(t, NULL);
  assert_non_null(o);
  check_true(o->status == TG_ERR_INVALID && strstr(o->error.text, "needs a spread") != NULL, "%s", o->error.text);
  tg_optimum_free(o);
  tg_task_free(t);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(the_step_is_that_of_the_mean), cmocka_unit_test(it_sees_as_far_as_its_spread),
                                     cmocka_unit_test(a_spread_is_asked_for)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
