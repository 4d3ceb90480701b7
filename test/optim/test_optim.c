// test_optim.c: tasks, their gradient, optimisers, resuming from the journal.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "support/check.h"
#include "support/locale.h"
#include "tangere/optim.h"

static const char *const reach = TG_SOURCE_DIR "/models/half_cheetah_reach.yaml";

static tgTask *load(const char *text) {
  tgError e = {0};
  tgTask *t = tg_task_load_text(text, strlen(text), TG_SOURCE_DIR "/models", NULL, &e);
  check_true(t != NULL, "%s", e.text);
  return t;
}

#define HEAD "model: half_cheetah.xml\ncontact: lcp\n"
#define REST                                                                          \
  "losses:\n- {term: body_position, name: head, target: [0.5, 0, 1], weight: 1}\n"    \
  "- {term: control, weight: 1.0e-5}\n- {term: velocity, weight: 1.0e-4, at: all}\n"  \
  "- {term: joint_velocity, name: bfoot, weight: 1.0e-3}\n"                           \
  "optimizer: {method: adam, iterations: 12, rate: 3}\n"

// gradient of a task at its start against Richardson-extrapolated differences along each variable
static void check_task_gradient(const char *text, int want_n, double h0) {
  tgTask *t = load(text);
  int n = tg_task_size(t);
  assert_int_equal(n, want_n);
  tgEvaluator *e = tg_evaluator_create(t, 0, NULL);
  double *x = calloc((size_t)n, sizeof *x), *g = calloc((size_t)n, sizeof *g), f, scale = 0;
  tg_task_start(t, 0, x);
  assert_int_equal(tg_evaluate(e, x, &f, g, NULL, NULL, NULL, NULL), TG_OK);
  for (int i = 0; i < n; i++) scale = fmax(scale, fabs(g[i]));
  for (int i = 0; i < n; i++) {
    double d[2], keep = x[i], start = i < 18 ? h0 : 1e-5;
    for (int k = 0; k < 2; k++) {
      double h = start / (1 << k), up, down;
      x[i] = keep + h;
      assert_int_equal(tg_evaluate(e, x, &up, NULL, NULL, NULL, NULL, NULL), TG_OK);
      x[i] = keep - h;
      assert_int_equal(tg_evaluate(e, x, &down, NULL, NULL, NULL, NULL, NULL), TG_OK);
      d[k] = (up - down) / (2 * h);
    }
    x[i] = keep;
    check_close((4 * d[1] - d[0]) / 3, g[i], 1e-6 * scale);
  }
  free(x);
  free(g);
  tg_evaluator_free(e);
  tg_task_free(t);
}

// every loss kind; controls in blocks, initial position and velocity
static void test_gradient(void **state) {
  (void)state;
  check_task_gradient(HEAD "horizon: {steps: 60, timestep: 0.002}\nstart: {joints: [{joint: root_z, position: [-0.05]}]}\n"
                           "controls: {every: 20, start: 3}\n"
                           "initial: [{joint: root_y, part: position}, {joint: root_z, part: velocity}]\n" REST, 3 * 6 + 2, 1e-3);
}

// sums of sines: offset, amplitude, frequency and phase of each control
static void test_sines(void **state) {
  (void)state;
  check_task_gradient(HEAD "horizon: {steps: 60, timestep: 0.002}\n"
                           "controls: {basis: sines, terms: 2, start: 1, amplitude: 4, frequency: 3}\n" REST, 6 * 7, 1e-5);
}

// ---- gradients of another contact model ----

// a rod that stands before a box and does not touch it, nor the box the floor, on which it would land flat (a surrogate by itself)
#define PUSH(contact, more)                                                                                                     \
  "model: push.xml\ncontact: " contact "\n" more "horizon: {steps: 2, timestep: 0.01}\ncontrols: {}\neffort: off\n"          \
  "losses: [{term: body_com, name: box, target: [0.8, 0, 0], axes: xy, weight: 1}]\noptimizer: {method: adam, iterations: 1}\n"

// loss and largest entry of the gradient at the start
static double largest(const tgTask *t, double *loss, tgGradInfo *info) {
  tgRolloutResult result;
  tgEvaluator *e = tg_evaluator_create(t, 0, NULL);
  int n = tg_task_size(t);
  double *x = calloc(2 * (size_t)n, sizeof *x), most = 0;
  tg_task_start(t, 0, x);
  check_true(tg_evaluate(e, x, loss, x + n, NULL, NULL, NULL, &result) == TG_OK, "%s", result.error.text);
  for (int i = 0; i < n; i++) most = fmax(most, fabs(x[n + i]));
  *info = result.grad;
  free(x);
  tg_evaluator_free(e);
  return most;
}

static double option(const tgContact *c, const char *name) { return tg_contact_get(tg_contact_options(c), name); }

static void test_gradient_of_another_model(void **state) {
  (void)state;
  tgTask *plain = load(PUSH("lcp", "")), *t = load(PUSH("lcp", "gradient: barrier\n"));
  double loss[2];
  tgGradInfo info;
  assert_null(tg_task_gradient_contact(plain));
  assert_true(largest(plain, &loss[0], &info) == 0 && info.label != TG_GRAD_SURROGATE);
  assert_true(largest(t, &loss[1], &info) > 0 && info.label == TG_GRAD_SURROGATE);
  assert_true(loss[0] == loss[1]);
  // by name, and under another contact model
  tgError e = {0};
  assert_int_equal(tg_task_gradient(plain, "softmin", &e), TG_OK);
  assert_string_equal(tg_contact_word(tg_task_gradient_contact(plain)), "softmin");
  assert_int_equal(tg_task_override(t, "softmin", NULL, 0, &e), TG_OK);
  assert_string_equal(tg_contact_word(tg_task_gradient_contact(t)), "barrier");
  assert_int_equal(tg_task_gradient(t, "barier", &e), TG_ERR_INVALID);
  check_true(strstr(e.text, "barier") != NULL, "%s", e.text);
  assert_string_equal(tg_contact_word(tg_task_gradient_contact(t)), "barrier");
  tg_task_free(plain);
  tg_task_free(t);
}

// options of the task are for both contact models, those beside `model` for the gradient's alone
static void test_options_of_gradients(void **state) {
  (void)state;
  tgTask *t = load(PUSH("barrier", "options: {weight: 1.0e-5, long_range: off}\ngradient: {model: barrier, long_range: both}\n"));
  const tgContact *g = tg_task_gradient_contact(t), *c = tg_task_contact(t);
  assert_true(option(c, "weight") == 1e-5 && option(g, "weight") == 1e-5);
  assert_true(option(c, "long_range") == 1 && option(g, "long_range") == 0);
  assert_true(option(g, "widen") == 0);
  tgError e = {0};
  assert_int_equal(tg_task_contact_option(t, "weight", "2e-5", &e), TG_OK);
  assert_true(option(tg_task_gradient_contact(t), "weight") == 2e-5);
  // resting bodies touch under lcp
  assert_int_equal(tg_task_override(t, "lcp", NULL, 0, &e), TG_OK);
  assert_true(option(tg_task_gradient_contact(t), "widen") > 0);
  tg_task_free(t);
}

// zero controls to the target by gradient; the ablation without contact gradients is worse with as many simulations
static void test_reach(void **state) {
  (void)state;
  double loss[2];
  for (int zero = 0; zero < 2; zero++) {
    tgError e = {0};
    tgTask *t = tg_task_load(reach, NULL, &e);
    check_true(t != NULL, "%s", e.text);
    if (zero) assert_int_equal(tg_task_zero_contact_gradient(t, &e), TG_OK);
    assert_int_equal(tg_task_override(t, NULL, NULL, 60, &e), TG_OK);
    tgOptimum *o = tg_optimize(t, NULL);
    check_true(o->status == TG_OK, "%s", o->error.text);
    if (!zero) assert_true(o->met);
    if (zero) assert_int_equal(o->grad.label, TG_GRAD_SURROGATE);
    loss[zero] = o->best_loss;
    tg_optimum_free(o);
    tg_task_free(t);
  }
  check_true(loss[1] >= 5 * loss[0], "without contact gradients %g, with them %g", loss[1], loss[0]);
}

// a cancelled run taken up again ends with the bits of an unbroken one, for every method
static void stop_after(void *ctx, const tgProgress *p) {
  if (p->iteration == 4 && !p->replayed) *(volatile int *)ctx = 1;
}
static void test_resume(void **state) {
  (void)state;
  for (int method = 0; tg_methods(method) != NULL; method++) {
    if (strcmp(tg_methods(method), "ddp") == 0) continue;   // not under this contact model; test_receding takes it up
    tgTask *t = load(HEAD "horizon: {steps: 40, timestep: 0.002}\ncontrols: {every: 10, low: -20, high: 20}\n" REST);
    tgError e = {0};
    assert_int_equal(tg_task_override(t, NULL, tg_methods(method), 9, &e), TG_OK);
    tgOptimizeOptions o = tg_optimize_default();
    o.seed = 5;
    o.threads = 2;
    tgOptimum *whole = tg_optimize(t, &o);
    check_true(whole->status == TG_OK, "%s: %s", tg_methods(method), whole->error.text);
    char path[] = "/tmp/tangere-journal-XXXXXX";
    int fd = mkstemp(path);
    close(fd);
    volatile int cancel = 0;
    o.journal = path;
    o.cancel = &cancel;
    o.progress = stop_after;
    o.progress_ctx = (void *)(uintptr_t)&cancel;
    tgOptimum *part = tg_optimize(t, &o);
    assert_int_equal(part->status, TG_CANCELLED);
    check_true(part->iterations < whole->iterations || whole->iterations <= 4, "%s was not cut", tg_methods(method));
    cancel = 0;
    o.progress = NULL;
    o.resume = true;
    tgOptimum *rest = tg_optimize(t, &o);
    assert_int_equal(rest->status, TG_OK);
    assert_int_equal(rest->iterations, whole->iterations);
    assert_memory_equal(rest->best, whole->best, (size_t)whole->n * sizeof(double));
    assert_memory_equal(rest->curve_loss, whole->curve_loss, (size_t)whole->ncurve * sizeof(double));
    o.seed = 6;  // another problem's journal is refused
    tgOptimum *other = tg_optimize(t, &o);
    assert_int_equal(other->status, TG_ERR_INVALID);
    tg_optimum_free(other);
    tg_optimum_free(rest);
    tg_optimum_free(part);
    tg_optimum_free(whole);
    tg_task_free(t);
    unlink(path);
  }
}

// a journal holds losses of one problem: whatever else a loss depends on makes it another's
static void test_other_problems(void **state) {
  (void)state;
#define CONTROLS "horizon: {steps: 4}\ncontrols: {every: 2}\n"
#define LOSSES(body, when) "losses: [{term: body_position, name: " body ", target: [0.5, 0, 1], weight: 1, at: " when "}]\n"
#define METHOD "optimizer: {method: adam, iterations: 2}\n"
  static const char *const text[] = {
      HEAD CONTROLS LOSSES("head", "end") METHOD,
      HEAD CONTROLS LOSSES("bthigh", "end") METHOD,
      HEAD CONTROLS LOSSES("head", "all") METHOD,
      HEAD "options: {erp: 0.1}\n" CONTROLS LOSSES("head", "end") METHOD,
      HEAD "options: {explicit_damping: true}\n" CONTROLS LOSSES("head", "end") METHOD,
      HEAD "start: {joints: [{joint: bfoot, velocity: [1]}]}\n" CONTROLS LOSSES("head", "end") METHOD,
      HEAD CONTROLS LOSSES("head", "end") METHOD,   // with the ablation
  };
  enum { N = sizeof text / sizeof *text };
  char path[] = "/tmp/tangere-journal-XXXXXX";
  close(mkstemp(path));
  tgOptimizeOptions o = tg_optimize_default();
  o.journal = path;
  for (int i = 0; i < N; i++) {
    tgTask *t = load(text[i]);
    tgError e = {0};
    if (i == N - 1) assert_int_equal(tg_task_zero_contact_gradient(t, &e), TG_OK);
    tgOptimum *r = tg_optimize(t, &o);
    check_true(r->status == (i == 0 ? TG_OK : TG_ERR_INVALID), "problem %d: %d %s", i, r->status, r->error.text);
    tg_optimum_free(r);
    tg_task_free(t);
    o.resume = true;
  }
  unlink(path);
  tgTask *t = load(text[0]);
  o.size = 8;
  tgOptimum *r = tg_optimize(t, &o);
  check_true(r->status == TG_ERR_ARG && strstr(r->error.text, "tg_optimize_default") != NULL, "%s", r->error.text);
  tg_optimum_free(r);
  tg_task_free(t);
}

// What ends a plan is of the problem where a motion goes on from plans; where there is one plan, a run that ends elsewhere takes the same
// way.
static void test_other_ends(void **state) {
  (void)state;
#define MANY "receding: {horizon: 4, apply: 2}\n"
#define ENDS(what) "optimizer: {method: adam, iterations: " what "}\n"
#define SEEK "search: {method: random, iterations: 1, population: 2, plans: 1}\n"
  static const char *const end[] = {ENDS("2"), ENDS("3"), ENDS("2, stop_loss: 1.0e-9"), ENDS("2, stop_distance: 1.0e-9"),
                                    ENDS("2") SEEK "success: {distance: 0.1}\n", ENDS("2") SEEK "success: {distance: 0.2}\n",
                                    ENDS("2") SEEK "success: {distance: 0.1, loss: 2}\n"};
  enum { N = sizeof end / sizeof *end };
  char path[] = "/tmp/tangere-journal-XXXXXX", text[1000];
  close(mkstemp(path));
  for (int k = 0; k < 4 + N; k++) {
    bool plans = k >= 4, search = k >= 8;
    int from = search ? 4 : 0, to = plans ? k - 4 : k;
    tgOptimizeOptions o = tg_optimize_default();
    tgOptimum *run[3];   // to the one end, taken up to the other, the other alone
    for (int j = 0; j < 3; j++) {
      const char *at = end[j == 0 ? from : to];
      snprintf(text, sizeof text, "%s%s%s", HEAD "effort: off\n" CONTROLS LOSSES("head", "end"), at, plans ? MANY : "");
      tgTask *t = load(text);
      o.journal = j < 2 ? path : NULL;
      o.overwrite = j == 0;
      o.resume = j == 1;
      run[j] = tg_optimize(t, &o);
      tg_task_free(t);
    }
    bool refused = plans && from != to;
    check_true(run[1]->status == (refused ? TG_ERR_INVALID : TG_OK), "%d after %d: %s", to, from, run[1]->error.text);
    size_t bytes = (size_t)run[2]->n * sizeof(double);
    assert_true(refused || (run[1]->ncurve == run[2]->ncurve && memcmp(run[1]->best, run[2]->best, bytes) == 0));
    for (int j = 0; j < 3; j++) tg_optimum_free(run[j]);
  }
  unlink(path);
}

// a task file means the same where 1/2 is written 0,5
static void test_comma_locale(void **state) {
  (void)state;
  if (!tgt_comma_locale()) {
    print_message("no locale with a decimal comma: apt-get install locales\n");
    skip();
  }
  tgTask *t = load(HEAD "horizon: {steps: 4, timestep: 0.00225}\ncontrols: {start: 0.25}\neffort: 0.001\n" REST);
  double x[64], target[3];
  check_true(tg_task_timestep(t) == 0.00225, "time step %g", tg_task_timestep(t));
  assert_true(tg_task_size(t) <= 64);
  tg_task_start(t, 0, x);
  check_true(x[0] == 0.25, "start %g", x[0]);
  assert_non_null(tg_task_target(t, 0, target, NULL));
  check_true(target[0] == 0.5, "target %g", target[0]);
  tg_task_free(t);
  check_true(localeconv()->decimal_point[0] == ',', "the caller's locale is changed");
  setlocale(LC_NUMERIC, "C");
}

// wrong task files: status, and a text that names what is wrong
static void test_bad_tasks(void **state) {
  (void)state;
#define GOOD HEAD "horizon: {steps: 4}\ncontrols: {}\n"
  static const char *const bad[][2] = {
      {"", "empty"},
      {"model: [", ""},
      {HEAD "horizon: {steps: 4}\ncontrols: {evry: 2}\n" REST, "evry"},
      {"contact: lcp\nhorizon: {steps: 4}\n" REST, "model"},
      {HEAD "horizon: {steps: 0}\ncontrols: {}\n" REST, "steps is 0"},
      {HEAD "horizon: {steps: 4}\n" REST, "nothing to decide"},
      {"model: half_cheetah.xml\ncontact: lpc\nhorizon: {steps: 4}\ncontrols: {}\n" REST, "lpc"},
      {"model: nowhere.xml\ncontact: lcp\nhorizon: {steps: 4}\ncontrols: {}\n" REST, "nowhere.xml"},
      {"model: ../../../../../../../../../../../../etc/passwd\ncontact: lcp\nhorizon: {steps: 4}\ncontrols: {}\n" REST, "not well-formed"},
      {GOOD "losses: [{term: body_position, name: haed, target: [0, 0, 0], weight: 1}]\n"
            "optimizer: {method: adam, iterations: 1}\n", "haed"},
      {GOOD "losses: [{term: body_position, name: head, target: [0, 0], weight: 1}]\n"
            "optimizer: {method: adam, iterations: 1}\n", "target of 3"},
      {GOOD "losses: [{term: body_position, name: head, target: [0, 0, 0], weight: .nan}]\noptimizer: {method: adam, iterations: 1}\n", ""},
      {GOOD "losses: [{term: control, weight: -1}]\noptimizer: {method: adam, iterations: 1}\n", "negative"},
      {GOOD "losses: [{term: control, weight: 1}]\noptimizer: {method: newton, iterations: 1}\n", "method"},
      {GOOD "losses: [{term: control, weight: 1}]\noptimizer: {method: adam, iterations: 0}\n", "iterations"},
      {HEAD "horizon: {steps: 4}\ncontrols: {terms: 2}\n" REST, "basis: sines"},
      {HEAD "horizon: {steps: 4}\ncontrols: {low: 2, high: 1}\n" REST, "above high"},
      {HEAD "horizon: {steps: 4}\nstart: {keyframe: home}\ncontrols: {}\n" REST, "home"},
      {HEAD "horizon: {steps: 4}\nstart: {joints: [{joint: root_w, position: [0]}]}\ncontrols: {}\n" REST, "root_w"},
      {HEAD "horizon: {steps: 4}\nstart: {joints: [{joint: root_x, position: [0, 1]}]}\ncontrols: {}\n" REST, "1 coordinates"},
      {HEAD "horizon: {steps: 4}\nstart: {joints: [{joint: root_x, velocity: [0, 1]}]}\ncontrols: {}\n" REST, "1 velocities"},
      {HEAD "horizon: {steps: 4}\nstart: {joints: [{joint: root_x, position: [inf]}]}\ncontrols: {}\n" REST, "coordinate 0"},
      {HEAD "horizon: {steps: 4}\nstart: {joints: [{joint: root_x, velocity: [nan]}]}\ncontrols: {}\n" REST, "velocity 0"},
      {HEAD "horizon: {steps: 4}\ninitial: [{joint: root_w, part: position}]\n" REST, "root_w"},
      {HEAD "horizon: {steps: 4}\ninitial: [{joint: root_x, part: position, low: nan}]\n" REST, "not a number"},
      {HEAD "horizon: {steps: 4}\ninitial: [{joint: root_x, part: position, entries: [1]}]\n" REST, "entries 0 to 0"},
      {HEAD "horizon: {steps: 4}\ninitial: [{joint: root_x, part: position}, {joint: root_x, part: position}]\n" REST, "twice"},
      {HEAD "options: {form: spheres}\nhorizon: {steps: 4}\ncontrols: {}\n" REST, "form"},
      {HEAD "horizon: {steps: 4}\ncontrols: {high: nan}\n" REST, "not a number"},
      {HEAD "horizon: {steps: 4}\ncontrols: {start: nan}\n" REST, "'nan' is neither a finite number"},
      {HEAD "horizon: {steps: 4}\ncontrols: {start_noise: -1}\n" REST, "start_noise -1"},
      {HEAD "horizon: {steps: 4, timestep: nan}\ncontrols: {}\n" REST, "timestep"},
      {HEAD "horizon: {steps: 4}\ncontrols: {every: -1}\n" REST, "every is -1"},
      {"restitution: [{geom: nobody, value: 0.5}]\n" GOOD REST, "nobody"},
      {"success: {loss: -1}\n" GOOD REST, "success: loss -1"},
      {"success: {distance: nan}\n" GOOD REST, "distance nan"},
      {"success: {distance: 0.1}\n" GOOD "losses: [{term: pose, weight: 1}]\noptimizer: {method: adam, iterations: 1}\n",
       "success: distance is that of position terms"},
      {"verify: {distance: 0.1}\n" GOOD "losses: [{term: pose, weight: 1}]\noptimizer: {method: adam, iterations: 1}\n",
       "verify: distance is that of position terms"},
      {GOOD "losses: [{term: control, weight: nan}]\noptimizer: {method: adam, iterations: 1}\n", "weight nan"},
      {GOOD "losses: [{term: body_position, name: head, target: [0, nan, 0], weight: 1}]\n"
            "optimizer: {method: adam, iterations: 1}\n", "not finite"},
      {GOOD "losses: [{term: body_position, name: head, target: [0, 0, 0], axes: xw, weight: 1}]\n"
            "optimizer: {method: adam, iterations: 1}\n", "axes"},
      {GOOD "losses: [{term: velocity, name: head, weight: 1}]\noptimizer: {method: adam, iterations: 1}\n", "no joint 'head'"},
      {GOOD "losses: [{term: control, weight: 1}]\noptimizer: {method: adam, iterations: 1, rate: nan}\n", "rate"},
      {GOOD "losses: [{term: control, weight: 1}]\noptimizer: {method: adam, iterations: 1, beta1: 1}\n", "beta1"},
      {GOOD "losses: [{term: control, weight: 1}]\noptimizer: {method: cem, iterations: 1, population: -1}\n", "population"},
      {GOOD "losses: [{term: control, weight: 1}]\noptimizer: {method: cem, iterations: 1, population: 2, elites: 3}\n", "3 elites"},
      {GOOD "losses: [{term: control, weight: 1}]\noptimizer: {method: adam, iterations: 1, gradient: aware}\n", "aware_gradient: true"},
      {PUSH("lcp", "gradient: barier\n"), "barier"},
      {PUSH("lcp", "gradient: {weight: 1}\n"), "give `model`"},
      {PUSH("lcp", "gradient: [barrier]\n"), "a mapping of names to values is expected, in gradient (line: 3"},
      {PUSH("lcp", "gradient: {model: barrier, wieght: 1}\n"), "did you mean weight?"},
      {PUSH("lcp", "options: {long_range: backward}\n"), "is gone; give long_range: off"},
      {PUSH("lcp", "options: {aware_gradient: true}\ngradient: barrier\n"), "cannot be complementarity-aware"},
      {PUSH("barrier", "parameters: [{name: contact.weight}]\ngradient: barrier\n"),
       "contact.weight is a number of the step's contact model"},
  };
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    tgError e = {0};
    tgTask *t = tg_task_load_text(bad[i][0], strlen(bad[i][0]), TG_SOURCE_DIR "/models", NULL, &e);
    check_true(t == NULL, "accepted: %s", bad[i][0]);
    check_true(e.status < 0 && strstr(e.text, bad[i][1]) != NULL, "'%s' does not say '%s'", e.text, bad[i][1]);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_gradient), cmocka_unit_test(test_sines),
                                     cmocka_unit_test(test_reach), cmocka_unit_test(test_resume),
                                     cmocka_unit_test(test_gradient_of_another_model),
                                     cmocka_unit_test(test_options_of_gradients), cmocka_unit_test(test_bad_tasks),
                                     cmocka_unit_test(test_other_problems),
                                     cmocka_unit_test(test_other_ends), cmocka_unit_test(test_comma_locale)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
