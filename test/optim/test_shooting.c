// test_shooting.c: multiple shooting: its sparse Jacobian against differences, its optimum against those of other methods, bounds on
// states, contact.
#include "optim/shooting.h"
#include "support/deriv.h"
#include "support/task.h"

// ---- the program ----

// a free body on a hinge, a ball joint and a slide, with motors: every kind of coordinate
static const char *const mixed =
    "<mujoco><option timestep='0.02'/><worldbody>"
    "<body name='free' pos='0 0 2'><freejoint name='root'/><geom type='box' size='0.1 0.2 0.3'/>"
    "<body name='fin' pos='0.2 0.1 0'><joint name='hinge' axis='0 1 1'/><geom type='box' size='0.1 0.1 0.2' pos='0.1 0 0.1'/></body></body>"
    "<body name='arm' pos='3 0 2'><joint name='shoulder' type='ball' damping='0.2'/><geom type='capsule' size='0.05 0.3' pos='0 0 -0.3'/>"
    "<body name='hand' pos='0 0 -0.6'><joint name='reach' type='slide' axis='1 0 0.5'/>"
    "<geom type='sphere' size='0.1' pos='0.1 0 0'/></body></body></worldbody>"
    "<actuator><motor joint='root' gear='1 0 0 0 2 1'/><motor joint='hinge'/><motor joint='shoulder' gear='1 2 -1'/></actuator></mujoco>";
#define MIXED(controls)                                                                                                       \
  "model: m.xml\ncontact: lcp\nhorizon: {steps: 10}\ncontrols: {" controls "}\n"                                               \
  "initial: [{joint: root, part: position}, {joint: shoulder, part: velocity}, {joint: shoulder, part: position}]\n"          \
  "losses:\n- {term: body_orientation, name: fin, target: [0.5, 0.5, 0.5, 0.5], weight: 2}\n"                                  \
  "- {term: body_position, name: hand, target: [1, 1, 1], weight: 1, at: all}\n- {term: pose, time: 0.08, weight: 1}\n"      \
  "- {term: velocity, weight: 0.1, at: all}\n- {term: control, weight: 0.1}\n"                                                \
  "optimizer: {method: shooting, iterations: 5, shot: 4}\n"

// what tg_optimize gives a method, by hand
typedef struct Bench { tgOptRun r; tgOptimum out; tgOptimizeOptions o; double *box; } Bench;
static void bench_make(Bench *b, const tgTask *t) {
  int n = tg_task_size(t);
  memset(b, 0, sizeof *b);
  b->o = tg_optimize_default();
  b->box = calloc((size_t)(4 * n), sizeof(double));
  b->out = (tgOptimum){.n = n, .first = b->box + 2 * n, .best = b->box + 3 * n, .first_loss = NAN, .best_loss = INFINITY};
  b->r = (tgOptRun){.task = t, .o = &b->o, .alloc = t->alloc, .out = &b->out, .low = b->box, .high = b->box + n};
  for (int i = 0; i < n; i++) {
    b->r.low[i] = i % 3 == 0 ? -2 : -INFINITY;   // some are scaled
    b->r.high[i] = i % 3 == 0 ? 2 : INFINITY;
  }
  b->r.journal = tgi_journal_open(NULL, false, false, NULL, n, &b->r.alloc, NULL);
  b->r.evaluator = tg_evaluator_create(t, 0, NULL);
}
static void bench_drop(Bench *b) {
  tg_evaluator_free(b->r.evaluator);
  tgi_journal_close(b->r.journal);
  free(b->box);
}

// loss and constraints together
static tgStatus program(void *ctx, const tgReal *x, tgReal *y) {
  tgNlp *p = ctx;
  return p->value(p->ctx, x, y, y + 1) ? TG_OK : TG_NOT_CONVERGED;
}

static void check_program(const char *text) {
  tgTask *t = tgt_task(mixed, text);
  Bench b;
  bench_make(&b, t);
  tgStatus st;
  int n0 = tg_task_size(t);
  double *x = calloc((size_t)n0, sizeof *x), f, f0;
  tgtRandom rng = {9};
  for (int i = 0; i < n0; i++) x[i] = tgt_uniform(&rng, -1, 1);
  tgShooting *s = tgi_shooting_create(&b.r, x, &st);
  check_true(s != NULL, "%s", b.out.error.text);
  tgNlp *p = tgi_shooting_nlp(s);
  size_t n = (size_t)p->n, m = (size_t)p->m;
  assert_int_equal(p->m, 2 * 2 * 11);   // three shots of 4, 4 and 2 steps
  double *c = calloc(m, sizeof *c), *g = calloc(n * (m + 1), sizeof *g), *values = calloc((size_t)p->njacobian, sizeof *values);
  // at the start the shots are joined and their losses add up to that of one rollout
  assert_true(p->value(p->ctx, p->x, &f, c));
  assert_int_equal(tg_evaluate(b.r.evaluator, x, &f0, NULL, NULL, NULL, NULL, NULL), TG_OK);
  check_close(f, f0, 1e-12 * f0);
  for (size_t i = 0; i < m; i++) check_close(c[i], 0, 1e-12);
  // away from it: Jacobian against differences
  for (size_t i = 0; i < n; i++) p->x[i] += tgt_uniform(&rng, -0.4, 0.4);
  int *row = calloc((size_t)p->njacobian, sizeof *row), *column = calloc((size_t)p->njacobian, sizeof *column);
  p->structure(p->ctx, row, column);
  assert_true(p->derivative(p->ctx, p->x, g, values));
  for (int k = 0; k < p->njacobian; k++) {
    assert_true(row[k] >= 0 && row[k] < p->m && column[k] >= 0 && column[k] < p->n);
    g[(size_t)(1 + row[k]) * n + (size_t)column[k]] += values[k];
  }
  int rows[] = {1, (int)m};
  tgtDeriv d = {.name = "shooting", .nx = p->n, .ny = p->m + 1, .map = program, .ctx = p, .tol = 1e-8, .rows = rows,
                .nrows = 2, .step = 1e-2};
  tgt_check_jacobian(&d, p->x, g);
  free(row);
  free(column);
  free(c);
  free(g);
  free(values);
  free(x);
  tgi_shooting_free(s);
  bench_drop(&b);
  tg_task_free(t);
}

// The label, its reason and its step are those of the gradient of the whole motion, in whichever shot the step lies: a motor at its clamp.
static void the_label_is_of_the_motion(void **state) {
  (void)state;
  static const char *const clamped =
      "<mujoco><option timestep='0.1' gravity='0 0 0'/><worldbody><body name='sled'><joint name='x' type='slide' axis='1 0 0'/>"
      "<geom type='sphere' size='0.1' mass='2'/></body></worldbody><actuator><motor name='pull' joint='x' ctrllimited='true' "
      "ctrlrange='-2 2' forcelimited='true' forcerange='-1 1'/></actuator></mujoco>";
  tgTask *t = tgt_task(clamped, "model: m.xml\ncontact: lcp\nhorizon: {steps: 10}\ncontrols: {every: 1, start: 0.5}\n"
                                "losses:\n- {term: joint_position, name: x, weight: 7}\n"
                                "optimizer: {method: shooting, shot: 4, iterations: 5}\n");
  for (int at = 1; at < 10; at += 4) {   // a shot each
    Bench b;
    bench_make(&b, t);
    for (int i = 0; i < 10; i++) b.r.low[i] = -INFINITY, b.r.high[i] = INFINITY;
    tgStatus st;
    double x[10], g[10], f;
    for (int i = 0; i < 10; i++) x[i] = i == at ? 1 : 0.25;
    tgRolloutResult whole;
    assert_int_equal(tg_evaluate(b.r.evaluator, x, &f, g, NULL, NULL, NULL, &whole), TG_OK);
    check_true(whole.grad.label == TG_GRAD_ONE_SIDED && whole.grad.first_step == at, "label %d in step %d: %s", (int)whole.grad.label,
               whole.grad.first_step, whole.grad.reason);
    tgShooting *s = tgi_shooting_create(&b.r, x, &st);
    check_true(s != NULL, "%s", b.out.error.text);
    tgNlp *p = tgi_shooting_nlp(s);
    double *d = calloc((size_t)(p->n + p->njacobian), sizeof *d);
    assert_true(p->derivative(p->ctx, p->x, d, d + p->n));
    check_true(b.out.grad.label == whole.grad.label && b.out.grad.first_step == at, "label %d in step %d, not %d", (int)b.out.grad.label,
               b.out.grad.first_step, at);
    assert_string_equal(b.out.grad.reason, whole.grad.reason);
    free(d);
    tgi_shooting_free(s);
    bench_drop(&b);
  }
  tg_task_free(t);
}

static void the_program_s_derivatives(void **state) {
  (void)state;
  check_program(MIXED("every: 3"));   // blocks that reach over the ends of shots
  check_program(MIXED("basis: sines, terms: 1, amplitude: 0.5, frequency: 2"));
}

// ---- optima ----

static const char *const sled =
    "<mujoco><option timestep='0.1' gravity='0 0 0'/><worldbody><body name='sled'><joint name='x' type='slide' axis='1 0 0'/>"
    "<geom type='sphere' size='0.1' mass='2'/></body></worldbody><actuator><motor joint='x' gear='3'/></actuator></mujoco>";
#define SLED(controls, more, optimizer)                                                                                             \
  "model: m.xml\ncontact: lcp\nhorizon: {steps: 20}\nstart: {joints: [{joint: x, position: [1], velocity: [-2]}]}\n"                \
  "controls: {start: 0.5" controls "}\n" more "losses:\n- {term: joint_position, name: x, weight: 7}\n- {term: velocity, weight: 3}\n" \
  "- {term: joint_position, name: x, weight: 4, at: all}\n- {term: control, weight: 0.6}\noptimizer: {iterations: 200, " optimizer "}\n"

// with limits and decided initial values, against iLQR, whose optimum is checked by itself
static void same_optimum_as_ilqr(void **state) {
  (void)state;
  static const char *const more[] = {"", "initial: [{joint: x, part: velocity, low: -3, high: -0.5}]\n"};
  for (int k = 0; k < 2; k++) {
    char text[2][1000];
    tgOptimum *o[2];
    for (int method = 0; method < 2; method++) {
      tgError e = {0};
      snprintf(text[method], sizeof text[method], SLED(", every: 3, low: -0.5, high: 0.7", "%s", "shot: 5, method: shooting"), more[k]);
      tgTask *t = tgt_task(sled, text[method]);
      if (method == 1) assert_int_equal(tg_task_override(t, NULL, "ilqr", 0, &e), TG_OK);
      o[method] = tgt_optimize(t, NULL);
      check_true(o[method]->error.text[0] == '\0', "%s", o[method]->error.text);
      tg_task_free(t);
    }
    check_close(o[0]->best_loss, o[1]->best_loss, 1e-7 * o[1]->best_loss);
    for (int i = 0; i < o[0]->n; i++) check_close(o[0]->best[i], o[1]->best[i], 1e-4);
    tg_optimum_free(o[0]);
    tg_optimum_free(o[1]);
  }
}

// a bound on a state holds where shots meet, and binds; other methods refuse it by name
static void states_are_bounded(void **state) {
  (void)state;
#define BOUND "states: [{joint: x, part: velocity, low: -1.2}, {joint: x, part: position, low: 0.3}]\n"
  tgTask *t = tgt_task(sled, SLED("", BOUND, "shot: 2, method: shooting"));
  tgOptimum *o = tgt_optimize(t, NULL);
  check_true(o->error.text[0] == '\0', "%s", o->error.text);
  tgEvaluator *e = tg_evaluator_create(t, 0, NULL);
  double q[21], v[21], f, least_q = INFINITY, least_v = INFINITY;
  assert_int_equal(tg_evaluate(e, o->best, &f, NULL, q, v, NULL, NULL), TG_OK);
  for (int i = 2; i < 20; i += 2) {
    least_q = fmin(least_q, q[i]);
    least_v = fmin(least_v, v[i]);
  }
  check_close(least_q, 0.3, 1e-6);
  check_close(least_v, -1.2, 1e-6);
  tg_evaluator_free(e);
  tg_optimum_free(o);
  tgError error = {0};
  assert_int_equal(tg_task_override(t, NULL, "adam", 0, &error), TG_OK);
  o = tg_optimize(t, NULL);
  check_true(o->status == TG_ERR_UNSUPPORTED && strstr(o->error.text, "adam") != NULL, "%s", o->error.text);
  tg_optimum_free(o);
  tg_task_free(t);
  t = tgt_task_try(mixed, "model: m.xml\ncontact: lcp\nhorizon: {steps: 4}\ncontrols: {}\nstates: [{joint: root, part: position, low: 0}]\n"
                          "losses: [{term: control, weight: 1}]\noptimizer: {method: shooting, iterations: 1}\n", &error);
  check_true(t == NULL && strstr(error.text, "'root' is not a hinge or slide") != NULL, "%s", error.text);
}

// a program that has no solution says how it ended, and the best iterate stands
static void what_cannot_be_joined_is_said(void **state) {
  (void)state;
  tgTask *t = tgt_task(sled, SLED(", low: -0.01, high: 0.01",
                                  "states: [{joint: x, part: velocity, low: -0.1, high: 0.1}]\n",
                                  "shot: 5, method: shooting"));
  tgOptimum *o = tgt_optimize(t, NULL);
  check_true(strstr(o->error.text, "Ipopt ended") != NULL, "it says '%s'", o->error.text);
  assert_true(isfinite(o->best_loss));
  tg_optimum_free(o);
  tg_task_free(t);
}

// the catapult's box reaches its target, thrown through contact
static void through_contact(void **state) {
  (void)state;
  tgError e = {0};
  tgTask *t = tg_task_load(TG_SOURCE_DIR "/models/catapult_target.yaml", NULL, &e);
  check_true(t != NULL, "%s", e.text);
  tgOptimum *o = tgt_optimize(t, NULL);
  check_true(o->met && o->best_loss <= 1e-6 && o->first_loss > 1, "loss %g -> %g", o->first_loss, o->best_loss);
  tg_optimum_free(o);
  tg_task_free(t);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(the_program_s_derivatives), cmocka_unit_test(the_label_is_of_the_motion),
                                     cmocka_unit_test(same_optimum_as_ilqr),
                                     cmocka_unit_test(states_are_bounded), cmocka_unit_test(what_cannot_be_joined_is_said),
                                     cmocka_unit_test(through_contact)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
