// test_gauss_newton.c: forward sensitivities against the adjoint and against differences; Gauss-Newton on problems with known answers.
#include "optim/sensitivity.h"
#include "support/task.h"

// gradient and Gauss-Newton Hessian of a task at x in the order (initial, controls)
static void by_sensitivity(const tgTask *t, tgEvaluator *e, const double *x, double *g, double *H) {
  const tgModel *m = t->model;
  size_t n = (size_t)t->n, nx = 2 * (size_t)m->nv, nz = nx + (size_t)m->nu, T = (size_t)t->steps;
  tgExpansion w = {.D = calloc(T * nx * nz, 8), .g = calloc((T + 1) * nz, 8), .H = calloc((T + 1) * nz * nz, 8)};
  double *q0 = calloc((size_t)m->nq, 8), *v0 = calloc((size_t)m->nv + 1, 8), *u = calloc(T * (size_t)m->nu + 1, 8), f;
  double *work = calloc((size_t)m->nv * (1 + 2 * (size_t)t->ninitial), 8);
  tg_task_expand(t, x, q0, v0, u);
  tgRollAsk ask = {.q0 = q0, .v0 = v0, .u = u, .expansion = &w};
  tgRolloutResult result;
  assert_int_equal(tgi_evaluator_roll(e, &ask, &f, &result), TG_OK);
  tgSensitivity s = {.nx = (int)nx, .nu = m->nu, .nstate = t->ninitial, .ncontrol = t->ncontrol};
  tgLayout l = {.base = NULL};
  tgi_sensitivity_place(&s, t->n, &l);
  void *block = calloc(1, l.used);
  l = (tgLayout){.base = block};
  tgi_sensitivity_place(&s, t->n, &l);
  tgi_sensitivity_initial(t, x, s.S, t->n, work);
  memset(g, 0, n * sizeof *g);
  memset(H, 0, n * n * sizeof *H);
  tgi_sensitivity_run(&s, t, x, 0, t->steps, &w, g, H);
  void *all[] = {w.D, w.g, w.H, q0, v0, u, work, block};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) free(all[i]);
}

// through contact, controls in blocks or as sines, initial positions and velocities: the gradient is the adjoint's
static void gradient_is_the_adjoint_s(void **state) {
  (void)state;
  static const char *const controls[] = {"every: 20, start: 3", "basis: sines, terms: 2, start: 1, amplitude: 4, frequency: 3"};
  for (int k = 0; k < 2; k++) {
    char text[1200];
    snprintf(text, sizeof text,
             "model: half_cheetah.xml\ncontact: lcp\nhorizon: {steps: 60, timestep: 0.002}\n"
             "start: {joints: [{joint: root_z, position: [-0.05]}]}\n"
             "controls: {%s}\ninitial: [{joint: root_y, part: position}, {joint: root_z, part: velocity}]\nlosses:\n"
             "- {term: body_position, name: head, target: [0.5, 0, 1], weight: 1}\n- {term: control, weight: 1.0e-5}\n"
             "- {term: velocity, weight: 1.0e-4, at: all}\n- {term: height, name: head, weight: 0.3}\n"
             "optimizer: {method: gauss_newton, iterations: 1}\n", controls[k]);
    tgError error = {0};
    tgTask *t = tg_task_load_text(text, strlen(text), TG_SOURCE_DIR "/models", NULL, &error);
    check_true(t != NULL, "%s", error.text);
    size_t n = (size_t)tg_task_size(t);
    tgEvaluator *e = tg_evaluator_create(t, 0, NULL);
    double *x = calloc(n, 8), *want = calloc(n, 8), *g = calloc(n, 8), *H = calloc(n * n, 8), f, scale = 0;
    tgtRandom rng = {6};
    tg_task_start(t, 0, x);
    for (size_t i = 0; i < n; i++) x[i] += tgt_uniform(&rng, -0.05, 0.05);
    assert_int_equal(tg_evaluate(e, x, &f, want, NULL, NULL, NULL, NULL), TG_OK);
    by_sensitivity(t, e, x, g, H);
    for (size_t i = 0; i < n; i++) scale = fmax(scale, fabs(want[i]));
    for (size_t i = 0; i < n; i++) check_close(g[i < n - 2 ? i + 2 : i - (n - 2)], want[i], 1e-10 * scale);
    // the Hessian: symmetric and positive semidefinite along random directions
    for (size_t i = 0; i < n; i++)
      for (size_t j = 0; j < i; j++) check_close(H[i * n + j], H[j * n + i], 1e-12 * (fabs(H[i * n + i]) + fabs(H[j * n + j])));
    for (int trial = 0; trial < 50; trial++) {
      double dHd = 0, d[64];
      assert_true(n <= 64);
      for (size_t i = 0; i < n; i++) d[i] = tgt_normal(&rng);
      for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++) dHd += d[i] * H[i * n + j] * d[j];
      assert_true(dHd >= 0);
    }
    free(x);
    free(want);
    free(g);
    free(H);
    tg_evaluator_free(e);
    tg_task_free(t);
  }
}

static const char *const sled =
    "<mujoco><option timestep='0.1' gravity='0 0 0'/><worldbody><body name='sled'><joint name='x' type='slide' axis='1 0 0'/>"
    "<geom type='sphere' size='0.1' mass='2'/></body></worldbody><actuator><motor joint='x' gear='3'/></actuator></mujoco>";
#define SLED(controls)                                                                                                           \
  "model: m.xml\ncontact: lcp\nhorizon: {steps: 20}\nstart: {joints: [{joint: x, position: [1], velocity: [-2]}]}\n"              \
  "controls: {start: 0.5" controls "}\ninitial: [{joint: x, part: velocity, low: -1.2, high: -0.5}]\n"                              \
  "losses:\n- {term: joint_position, name: x, weight: 7}\n- {term: velocity, weight: 3}\n"                                        \
  "- {term: joint_position, name: x, weight: 4, at: all}\n- {term: control, weight: 0.6}\n" \
  "optimizer: {method: gauss_newton, iterations: 20}\n"

// where everything is linear the Gauss-Newton Hessian is the Hessian (here by differences of the gradient), and one step is enough
static void linear_in_one_iteration(void **state) {
  (void)state;
  tgTask *t = tgt_task(sled, SLED(", every: 3"));
  enum { N = 8 };
  assert_int_equal(tg_task_size(t), N);
  tgEvaluator *e = tg_evaluator_create(t, 0, NULL);
  double x[N] = {0}, g[N], H[N * N], up[N], down[N], f;
  by_sensitivity(t, e, x, g, H);
  for (int i = 0; i < N; i++) {
    x[i] = 1;
    assert_int_equal(tg_evaluate(e, x, &f, up, NULL, NULL, NULL, NULL), TG_OK);
    x[i] = -1;
    assert_int_equal(tg_evaluate(e, x, &f, down, NULL, NULL, NULL, NULL), TG_OK);
    x[i] = 0;
    for (int j = 0; j < N; j++) check_close(H[(j < N - 1 ? j + 1 : 0) * N + (i < N - 1 ? i + 1 : 0)], (up[j] - down[j]) / 2, 1e-10);
  }
  tgOptimum *o = tgt_optimize(t, NULL);
  assert_true(o->ncurve <= 2);
  check_close(o->curve_loss[0], o->best_loss, 1e-14 * o->best_loss);
  // the optimum in the box: gradient zero, or pressing against a bound
  int held = 0;
  assert_int_equal(tg_evaluate(e, o->best, &f, g, NULL, NULL, NULL, NULL), TG_OK);
  for (int i = 0; i < N; i++) {
    if (i == N - 1 && o->best[i] == -1.2 && g[i] > 0) held++;
    else check_close(g[i], 0, 1e-9);
  }
  assert_int_equal(held, 1);
  // the same as iLQR's
  tgError error = {0};
  assert_int_equal(tg_task_override(t, NULL, "ilqr", 0, &error), TG_OK);
  tgOptimum *other = tgt_optimize(t, NULL);
  check_close(other->best_loss, o->best_loss, 1e-10 * o->best_loss);
  tg_optimum_free(other);
  tg_optimum_free(o);
  tg_evaluator_free(e);
  tg_task_free(t);
}

// a hand pushes a box over the floor, with friction at both: the box stops at its target to the last digits in few iterations, as
// Gauss-Newton converges where the residual vanishes
static void a_box_is_pushed_to_its_place(void **state) {
  (void)state;
  tgTask *t = tgt_task("<mujoco><option timestep='0.01'/><worldbody><geom name='floor' type='plane' size='5 5 1' friction='0.4'/>"
                       "<body name='hand' pos='-0.2 0 0.12'><joint name='reach' type='slide' axis='1 0 0'/>"
                       "<geom type='sphere' size='0.1' mass='1'/></body>"
                       "<body name='box' pos='0 0 0.1'><joint name='x' type='slide' axis='1 0 0'/>"
                       "<joint name='z' type='slide' axis='0 0 1'/>"
                       "<geom name='box' type='box' size='0.1 0.1 0.1' mass='2' friction='0.4'/></body></worldbody>"
                       "<actuator><motor joint='reach'/></actuator></mujoco>",
                       "model: m.xml\ncontact: lcp\nhorizon: {steps: 60}\ncontrols: {every: 15, start: 12, low: -60, high: 60}\n"
                       "losses:\n- {term: body_position, name: box, target: [0.3, 0, 0], axes: x, weight: 1}\n"
                       "- {term: body_position, name: box, target: [0.15, 0, 0], axes: x, time: 0.4, weight: 1}\n"
                       "effort: off\noptimizer: {method: gauss_newton, iterations: 12}\nsuccess: {distance: 1.0e-9}\n");
  tgOptimum *o = tgt_optimize(t, NULL);
  check_true(o->met && o->first_loss > 1e-3, "loss %g -> %g in %d", o->first_loss, o->best_loss, o->iterations);
  tg_optimum_free(o);
  tg_task_free(t);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(gradient_is_the_adjoint_s), cmocka_unit_test(linear_in_one_iteration),
                                     cmocka_unit_test(a_box_is_pushed_to_its_place)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
