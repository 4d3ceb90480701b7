// test_activation.c: tasks on a robot with activations: the gradient in the decision variables, and every method.
#include "sim/sim.h"
#include "support/task.h"
#include "tangere/grad.h"

// A mass on a rail, pulled through a filter that starts wound up, and a pendulum with a servo through an exact filter.
static const char model[] =
    "<mujoco><option gravity='0 0 -9.81' timestep='0.02'/><worldbody>"
    "<body name='car'><joint name='rail' type='slide' axis='1 0 0' damping='.3'/><geom size='.1' mass='1'/>"
    "<body name='bob' pos='0 0 -.4'><joint name='pin' axis='0 1 0' pos='0 0 .4' damping='.05'/><geom size='.05' mass='.3'/></body></body>"
    "</worldbody><actuator><general name='pull' joint='rail' dyntype='filter' dynprm='.1' gainprm='4'/>"
    "<position name='hold' joint='pin' kp='1' timeconst='.05'/></actuator>"
    "<keyframe><key name='wound' act='.5 -.2'/></keyframe></mujoco>";

static tgTask *task(const char *method, const char *more) {
  char text[1400];
  bool twice = strcmp(method, "ddp") == 0, shooting = strcmp(method, "shooting") == 0;
  snprintf(text, sizeof text,
           "model: m.xml\nhorizon: {steps: 40, timestep: 0.02}\ncontact: %s\nstart: {keyframe: wound}\n"
           "controls: {every: 4, low: -2, high: 2}\n"
           "losses:\n  - {term: joint_position, name: rail, target: [0.6], weight: 20}\n"
           "  - {term: velocity, weight: 1}\n  - {term: control, weight: 0.05, at: all}\n"
           "optimizer: {method: %s, iterations: %d%s}\n%s", twice ? "softmin" : "lcp", method, strcmp(method, "adam") == 0 ? 300 : 60,
           shooting ? ", shot: 10" : "", more);
  return tgt_task(model, text);
}

static void test_gradient(void **state) {
  (void)state;
  tgTask *t = task("lbfgs", "initial:\n  - {joint: rail, part: velocity, low: -1, high: 1}\n  - {actuator: hold, part: activation}\n");
  tgError e = {0};
  tgEvaluator *v = tg_evaluator_create(t, 0, &e);
  check_true(v != NULL, "%s", e.text);
  int n = tg_task_size(t);
  double *x = calloc(4 * (size_t)n, sizeof *x), *g = x + n, *moved = g + n, loss, up, down;
  double v0[4], path[41 * 4];
  for (int i = 0; i < n; i++) x[i] = 0.4 * sin(i);
  tg_task_expand(t, x, NULL, v0, NULL);
  check_close(v0[0], x[n - 2], 0);
  check_close(v0[2], 0.5, 0);
  check_close(v0[3], x[n - 1], 0);
  tg_task_start(t, 0, x);
  check_close(x[n - 2], 0, 0);
  check_close(x[n - 1], -0.2, 0);
  for (int i = 0; i < n; i++) x[i] = 0.4 * sin(i);
  assert_int_equal(tg_evaluate(v, x, &loss, g, NULL, path, NULL, NULL), TG_OK);
  check_close(path[2], 0.5, 0);
  double u0 = x[0];
  check_close(path[4 + 2], 0.5 + 0.2 * (u0 - 0.5), 1e-15);   // h/tau = 0.2
  for (int i = 0; i < n; i++) {
    memcpy(moved, x, (size_t)n * sizeof *x);
    moved[i] = x[i] + 1e-5;
    assert_int_equal(tg_evaluate(v, moved, &up, NULL, NULL, NULL, NULL, NULL), TG_OK);
    moved[i] = x[i] - 1e-5;
    assert_int_equal(tg_evaluate(v, moved, &down, NULL, NULL, NULL, NULL, NULL), TG_OK);
    check_close(g[i], (up - down) / 2e-5, 1e-7 * fmax(1, fabs(g[i])));
  }
  tgRolloutRun run;
  tgGradCheck check = {0};
  tg_evaluator_run(v, x, &run);
  assert_int_equal(tg_grad_check_rollout(tg_evaluator_rollout(v), &run, NULL, &check), TG_OK);
  assert_true(check.pass);
  free(x);
  tg_evaluator_free(v);
  tg_task_free(t);
}

// Every method lowers the loss; those of second order find the same minimum.
static void check_methods(const char *more) {
  double least = INFINITY;
  tgOptimizeOptions o = tg_optimize_default();
  for (int pass = 0; pass < 2; pass++)
    for (int k = 0; tg_methods(k) != NULL; k++) {
      const char *method = tg_methods(k);
      bool second = strcmp(method, "lbfgs") == 0 || strcmp(method, "ilqr") == 0 || strcmp(method, "gauss_newton") == 0 ||
                    strcmp(method, "ddp") == 0 || strcmp(method, "shooting") == 0;
      tgTask *t = task(method, more);
      tgOptimum *best = tgt_optimize(t, &o);
      check_true(best->best_loss < 0.9 * best->first_loss, "%s: from %g to %g", method, best->first_loss, best->best_loss);
      if (pass == 0) least = fmin(least, best->best_loss);
      else if (second) check_true(best->best_loss < 1.02 * least + 1e-6, "%s: %g, least %g", method, best->best_loss, least);
      tg_optimum_free(best);
      tg_task_free(t);
    }
}

static void test_methods(void **state) {
  (void)state;
  check_methods("");
}

// The first activation decided with the controls, within its limits: better than where the file has it.
static void test_initial(void **state) {
  (void)state;
  check_methods("initial: [{actuator: pull, part: activation, low: -0.6, high: 0.6}]\n");
  tgTask *t = task("gauss_newton", "initial: [{actuator: pull, part: activation, low: -0.6, high: 0.6}]\n");
  tgTask *fixed = task("gauss_newton", "");
  tgOptimum *best = tgt_optimize(t, NULL), *kept = tgt_optimize(fixed, NULL);
  check_true(fabs(best->best[best->n - 1]) <= 0.6, "%g", best->best[best->n - 1]);
  check_true(best->best_loss < 0.99 * kept->best_loss, "decided %g, kept %g", best->best_loss, kept->best_loss);
  tg_optimum_free(best);
  tg_optimum_free(kept);
  tg_task_free(t);
  tg_task_free(fixed);
}

static const char with_motor[] =
    "<mujoco><worldbody><body><joint name='rail' type='slide'/><geom size='.1' mass='1'/></body></worldbody><actuator>"
    "<general name='pull' joint='rail' dyntype='filter'/><motor name='plain' joint='rail'/></actuator></mujoco>";

static void test_refused(void **state) {
  (void)state;
  static const struct { const char *item, *why; } bad[] = {
      {"{actuator: pull, part: velocity}", "actuator 'pull': its part is activation"},
      {"{actuator: push, part: activation}", "no actuator 'push'"},
      {"{joint: rail, actuator: pull, part: activation}", "in one item"},
      {"{joint: rail, part: activation}", "an item names a joint with its position or velocity, or an actuator"},
      {"{part: activation}", "an item names a joint"},
      {"{actuator: pull, part: activation, entries: [0]}", "one number"},
      {"{actuator: pull, part: activation, low: 1, high: 0}", "low 1 is above high 0"},
      {"{actuator: pull, part: activation}, {actuator: pull, part: activation}", "given twice"},
      {"{actuator: plain, part: activation}", "has no activation"}};
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    char text[600];
    tgError e = {0};
    snprintf(text, sizeof text, "model: m.xml\nhorizon: {steps: 4, timestep: 0.02}\ncontact: lcp\ninitial: [%s]\n"
             "losses: [{term: velocity, weight: 1}]\noptimizer: {method: adam, iterations: 1}\n", bad[i].item);
    tgTask *t = tgt_task_try(with_motor, text, &e);
    check_true(t == NULL, "taken: %s", bad[i].item);
    check_true(strstr(e.text, bad[i].why) != NULL, "'%s' is not in: %s", bad[i].why, e.text);
  }
}

// A receding horizon plans each window from the state, activations too, that the motion has come to: with windows to the
// end and nothing that disturbs it, what is done is what the plan over all of it does.
static void test_receding(void **state) {
  (void)state;
  tgOptimizeOptions o = tg_optimize_default();
  tgTask *whole = task("ilqr", ""), *windows = task("ilqr", "receding: {horizon: 40, apply: 12}\n");
  tgOptimum *a = tgt_optimize(whole, &o), *b = tgt_optimize(windows, &o);
  check_true(fabs(b->best_loss - a->best_loss) < 1e-3 * a->best_loss, "whole %g, in windows %g", a->best_loss, b->best_loss);
  tg_optimum_free(a);
  tg_optimum_free(b);
  tg_task_free(whole);
  tg_task_free(windows);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_gradient), cmocka_unit_test(test_methods), cmocka_unit_test(test_initial),
                                     cmocka_unit_test(test_refused), cmocka_unit_test(test_receding)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
