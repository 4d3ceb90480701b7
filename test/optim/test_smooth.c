// test_smooth.c: smoothed gradients against estimates made one by one and against the integral that they estimate; the gradient
// bundle, what it leaps over and what it does not.
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

// A small ball falls beside the edge of a table: its last height jumps where it just misses, but for the width of the ball.
static const char *const table =
    "<mujoco><option timestep='0.01'/><worldbody><geom name='floor' type='plane' size='5 5 1' friction='0'/>"
    "<geom name='table' type='box' size='1 1 0.2' pos='-1 0 0.2' friction='0'/>"
    "<body name='ball' pos='0 0 0.5'><joint name='x' type='slide' axis='1 0 0'/><joint name='z' type='slide' axis='0 0 1'/>"
    "<geom name='ball' type='sphere' size='0.0001' mass='1' friction='0'/></body></worldbody></mujoco>";
#define TABLE(optimizer)                                                                                         \
  "model: m.xml\ncontact: lcp\nhorizon: {steps: 60}\ninitial: [{joint: x, part: position, low: -0.9, high: 0.9}]\n" \
  "losses:\n- {term: joint_position, name: z, target: [-0.5], weight: 20}\n"                                       \
  "- {term: joint_position, name: x, target: [0.3], weight: 0.5}\n"                                               \
  "optimizer: {iterations: 60, " optimizer "}\n"

// d/dx E L(c(x + w)) = E L(c(x + w)) w / sigma^2, over a fine grid of w
static double integral(const tgTask *t, double x, double sigma) {
  enum { POINTS = 4001 };
  double sum = 0, norm = 0, low, high;
  tg_task_box(t, &low, &high);
  tgEvaluator *e = tg_evaluator_create(t, 0, NULL);
  for (int i = 0; i < POINTS; i++) {
    double u = 12.0 * i / (POINTS - 1) - 6, density = exp(-0.5 * u * u), f, at = fmin(fmax(x + sigma * u, low), high);
    assert_int_equal(tg_evaluate(e, &at, &f, NULL, NULL, NULL, NULL, NULL), TG_OK);
    sum += density * f * u / sigma;
    norm += density;
  }
  tg_evaluator_free(e);
  return sum / norm;
}

static tgSmoothed smoothed(const tgTask *t, const double *x, tgSmoothOrder order, int samples, double sigma, int threads, double *g) {
  tgSmoothOptions o = tg_smooth_default();
  tgSmoothed s;
  tgError error = {0};
  o.order = order;
  o.samples = samples;
  o.sigma = sigma;
  o.seed = 5;
  o.threads = threads;
  tgStatus st = tg_task_smoothed(t, x, &o, NULL, g, &s, &error);
  check_true(st == TG_OK, "%s", error.text);
  return s;
}

// by losses and mixed: within their errors of the integral, also over a jump and at the box; by gradients alone: not over the jump, of
// which no gradient knows
static void the_integral(void **state) {
  (void)state;
  tgTask *t = tgt_task(table, TABLE("method: adam"));
  static const double at[] = {-0.05, -0.4, 0.85};
  for (int k = 0; k < 3; k++) {
    double want = integral(t, at[k], 0.05), first, zeroth, mixed;
    tgSmoothed a = smoothed(t, &at[k], TG_SMOOTH_FIRST, 400, 0.05, 0, &first);
    tgSmoothed b = smoothed(t, &at[k], TG_SMOOTH_ZEROTH, 400, 0.05, 0, &zeroth);
    tgSmoothed c = smoothed(t, &at[k], TG_SMOOTH_MIXED, 400, 0.05, 0, &mixed);
    check_close(zeroth, want, 4 * b.error / 0.05);
    check_close(mixed, want, 4 * c.error / 0.05);
    assert_int_equal(a.grad.label, TG_GRAD_SMOOTHED);
    check_true(b.error > 0 && b.error < 0.2 * 0.05 * fabs(want) + 0.05, "%g: error %g of %g", at[k], b.error, want);
    if (k == 0) {
      // ten and more errors off, and hardly taken
      check_true(fabs(first - want) > 10 * (a.error + b.error) / 0.05, "first %g, integral %g", first, want);
      check_true(c.share < 0.3, "share %g", c.share);
    } else {
      check_close(first, want, 4 * a.error / 0.05 + 1e-9);
      check_true(c.share > 0.5 && c.error < b.error, "share %g, errors %g and %g", c.share, c.error, b.error);
    }
    check_true(c.used == 400 && c.simulations == 401, "%d used", c.used);
  }
  tg_task_free(t);
}

// every number again from single evaluations, for a box that some samples leave; the same bits over any number of threads
static void by_hand(void **state) {
  (void)state;
  enum { N = 2, M = 9 };
  tgTask *t = tgt_task(sled, SLED(", low: -4, high: 0.6", "x", "1.5", "iterations: 2"));
  const double x[N] = {0.55, -1}, sigma[N] = {0.05 * 4.6, 0.05 * 4.6};
  double y[M][N], w[M][N], g[M][N], f[M], mean = 0, first[N] = {0}, zeroth[N] = {0}, v1 = 0, v0 = 0, apart = 0, f0;
  tgEvaluator *e = tg_evaluator_create(t, 0, NULL);
  assert_int_equal(tg_evaluate(e, x, &f0, NULL, NULL, NULL, NULL, NULL), TG_OK);
  int held = 0;
  for (int i = 0; i < M; i++) {
    for (int k = 0; k < N; k++) {
      w[i][k] = sigma[k] * tg_random_normal(5, 3, (uint64_t)(i * N + k));
      y[i][k] = fmin(fmax(x[k] + w[i][k], -4), 0.6);
    }
    assert_int_equal(tg_evaluate(e, y[i], &f[i], g[i], NULL, NULL, NULL, NULL), TG_OK);
    for (int k = 0; k < N; k++)
      if (y[i][k] != x[k] + w[i][k]) g[i][k] = 0, held++;
    mean += f[i] / M;
  }
  assert_true(held > 0);
  for (int i = 0; i < M; i++)
    for (int k = 0; k < N; k++) {
      first[k] += g[i][k] / M;
      zeroth[k] += (f[i] - mean) * w[i][k] / (sigma[k] * sigma[k] * (M - 1));
    }
  for (int k = 0; k < N; k++) {
    for (int i = 0; i < M; i++) {
      v1 += pow(sigma[k] * (g[i][k] - first[k]), 2) / (M * (M - 1));
      v0 += pow((f[i] - mean) * w[i][k] / sigma[k] - sigma[k] * zeroth[k], 2) / (M * (M - 1));
    }
    apart += pow(sigma[k] * (first[k] - zeroth[k]), 2);
  }
  double share = v0 / (v0 + v1) * fmin(1, 9 * (v0 + v1) / apart), got[2][N], mixed[2][N];
  for (int threads = 1; threads < 3; threads++) {
    tgSmoothed a = smoothed(t, x, TG_SMOOTH_FIRST, M, 0, threads, got[0]);
    for (int k = 0; k < N; k++) check_close(got[0][k], first[k], 1e-13 * fabs(first[k]));
    check_close(a.error, sqrt(v1), 1e-12 * sqrt(v1));
    a = smoothed(t, x, TG_SMOOTH_ZEROTH, M, 0, threads, got[0]);
    for (int k = 0; k < N; k++) check_close(got[0][k], zeroth[k], 1e-12 * fabs(zeroth[k]));
    check_close(a.error, sqrt(v0), 1e-12 * sqrt(v0));
    a = smoothed(t, x, TG_SMOOTH_MIXED, M, 0, threads, mixed[threads - 1]);
    for (int k = 0; k < N; k++) check_close(mixed[threads - 1][k], share * first[k] + (1 - share) * zeroth[k], 1e-12);
    check_close(a.share, share, 1e-12);
    check_close(a.mean, mean, 1e-13 * mean);
    check_close(a.loss, f0, 0);
    assert_int_equal(a.grad.label, TG_GRAD_SMOOTHED);
  }
  assert_memory_equal(mixed[0], mixed[1], sizeof mixed[0]);
  tg_evaluator_free(e);
  tg_task_free(t);
}

// the ball lies on the table, and no gradient leads off it; the smoothed loss does
static void it_leads_over_the_edge(void **state) {
  (void)state;
  static const char *const text[] = {TABLE("method: adam, rate: 0.03"),
                                     TABLE("method: adam, rate: 0.03, smoothing: first, sigma: 0.1, population: 24"),
                                     TABLE("method: adam, rate: 0.03, smoothing: mixed, sigma: 0.1, population: 24")};
  double best[3];
  for (int k = 0; k < 3; k++) {
    tgTask *t = tgt_task(table, text[k]);
    double x = -0.05;
    tgOptimizeOptions o = tg_optimize_default();
    o.start = &x;
    o.threads = 2;
    tgOptimum *got = tgt_optimize(t, &o);
    best[k] = got->best[0];
    check_true(k == 0 || got->grad.label >= TG_GRAD_SMOOTHED, "%s", got->grad.reason);
    check_true(got->simulations == got->evaluations * (k == 0 ? 1 : 25), "%ld of %ld", got->simulations, got->evaluations);
    tg_optimum_free(got);
    tg_task_free(t);
  }
  check_true(best[2] > 0, "smoothed: %g (plain %g, by gradients %g)", best[2], best[0], best[1]);
}

static void refused(void **state) {
  (void)state;
  tgTask *t = tgt_task(table, TABLE("method: lbfgs, smoothing: mixed"));
  tgOptimum *o = tg_optimize(t, NULL);
  check_true(o->status == TG_ERR_UNSUPPORTED && strstr(o->error.text, "smoothing") != NULL, "%s", o->error.text);
  tg_optimum_free(o);
  const struct { tgSmoothOptions o; const char *says; } bad[] = {
      {{.size = 3, .order = TG_SMOOTH_MIXED, .samples = 4}, "tg_smooth_default"},
      {{.size = sizeof(tgSmoothOptions), .order = TG_SMOOTH_NONE, .samples = 4}, "order"},
      {{.size = sizeof(tgSmoothOptions), .order = TG_SMOOTH_MIXED, .samples = 1}, "2 to"},
      {{.size = sizeof(tgSmoothOptions), .order = TG_SMOOTH_FIRST, .samples = 0}, "1 to"},
      {{.size = sizeof(tgSmoothOptions), .order = TG_SMOOTH_FIRST, .samples = 4, .sigma = -1}, "sigma"},
  };
  double x = 0, g = 7;
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    tgSmoothed s;
    tgError error = {0};
    tgStatus st = tg_task_smoothed(t, &x, &bad[i].o, NULL, &g, &s, &error);
    check_true(st == TG_ERR_ARG && strstr(error.text, bad[i].says) != NULL, "%s", error.text);
  }
  assert_true(g == 7);
  volatile int cancel = 1;
  tgSmoothed s;
  assert_int_equal(tg_task_smoothed(t, &x, NULL, &cancel, &g, &s, NULL), TG_CANCELLED);
  tg_task_free(t);
  tgError error = {0};
  assert_null(tgt_task_try(table, TABLE("method: adam, smoothing: zeroth, population: 1"), &error));
  check_true(strstr(error.text, "population of 2") != NULL, "%s", error.text);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(the_step_is_that_of_the_mean), cmocka_unit_test(it_sees_as_far_as_its_spread),
                                     cmocka_unit_test(a_spread_is_asked_for), cmocka_unit_test(the_integral), cmocka_unit_test(by_hand),
                                     cmocka_unit_test(it_leads_over_the_edge), cmocka_unit_test(refused)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
