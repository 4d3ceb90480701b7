// test_starts.c: several starts are as many runs, of which the best is taken; attempts are as many optimisations, until one is reached.
// Over threads and taken up again to the same bits.
#include <math.h>

#include "support/task.h"

// a pendulum that is too weak to go straight up: what is found depends on the start
static const char *const model =
    "<mujoco><option timestep='0.02'/><worldbody><body name='rod'><joint name='pin' axis='0 1 0' damping='0.05'/>"
    "<geom type='capsule' fromto='0 0 0 0 0 -0.5' size='0.03' mass='1'/></body></worldbody>"
    "<actuator><motor joint='pin'/></actuator></mujoco>";
#define TASK(method, more)                                                                                                    \
  "model: m.xml\ncontact: lcp\nhorizon: {steps: 60}\ncontrols: {every: 6, start_noise: 2, low: -3, high: 3}\n"                \
  "losses:\n- {term: joint_position, name: pin, target: [2.5], weight: 1}\n- {term: control, weight: 1.0e-3}\n"               \
  "optimizer: {method: " method ", iterations: 6, rate: 0.3" more "}\n"

static void is_the_best_of_single_runs(void **state) {
  (void)state;
  tgTask *single = tgt_task(model, TASK("adam", "")), *several = tgt_task(model, TASK("adam", ", starts: 5"));
  assert_int_equal(tg_task_starts(single), 1);
  assert_int_equal(tg_task_starts(several), 5);
  double best = INFINITY;
  long simulations = 0;
  int at = -1;
  tgOptimum *one[5];
  for (int k = 0; k < 5; k++) {
    tgOptimizeOptions o = tg_optimize_default();
    o.seed = 3 + (uint64_t)k;
    one[k] = tgt_optimize(single, &o);
    simulations += one[k]->simulations;
    if (one[k]->best_loss < best) best = one[k]->best_loss, at = k;
  }
  assert_true(at > 0 && one[0]->best_loss > 1.001 * best);   // the start matters
  for (int threads = 1; threads <= 3; threads++) {
    tgOptimizeOptions o = tg_optimize_default();
    o.seed = 3;
    o.threads = threads;
    tgOptimum *found = tgt_optimize(several, &o);
    assert_int_equal(found->start, at);
    assert_int_equal(found->simulations, simulations);
    assert_memory_equal(found->best, one[at]->best, (size_t)found->n * sizeof *found->best);
    assert_true(found->best_loss == best && found->ncurve == one[at]->ncurve);
    tg_optimum_free(found);
  }
  for (int k = 0; k < 5; k++) tg_optimum_free(one[k]);
  tg_task_free(single);
  tg_task_free(several);
}

typedef struct Cut { volatile int cancel; int seen; bool order; } Cut;

static void stop_in_the_third(void *ctx, const tgProgress *p) {
  Cut *c = ctx;
  c->order = c->order && p->starts == 5 && p->start >= 0 && p->start < 5;
  if (p->start == 2 && p->iteration == 3) c->cancel = 1;
  c->seen++;
}

static void resumes_to_the_same_bits(void **state) {
  (void)state;
  tgTask *t = tgt_task(model, TASK("adam", ", starts: 5"));
  tgOptimizeOptions o = tg_optimize_default();
  o.threads = 1;
  tgOptimum *whole = tgt_optimize(t, &o);
  char path[] = "/tmp/tangere-starts-XXXXXX", other[64];
  close(mkstemp(path));
  Cut cut = {.order = true};
  o.journal = path;
  o.cancel = &cut.cancel;
  o.progress = stop_in_the_third;
  o.progress_ctx = &cut;
  tgOptimum *part = tg_optimize(t, &o);
  assert_int_equal(part->status, TG_CANCELLED);
  assert_true(cut.order && cut.seen == 6 + 6 + 3 && part->best_loss < INFINITY);
  cut.cancel = 0;
  o.progress = NULL;
  o.resume = true;
  tgOptimum *rest = tgt_optimize(t, &o);
  assert_true(rest->best_loss == whole->best_loss && rest->start == whole->start && rest->simulations == whole->simulations);
  assert_memory_equal(rest->best, whole->best, (size_t)whole->n * sizeof *whole->best);
  tg_optimum_free(rest);
  tg_optimum_free(part);
  tg_optimum_free(whole);
  tg_task_free(t);
  unlink(path);
  for (int k = 1; k < 5; k++) {
    snprintf(other, sizeof other, "%s.start%d", path, k);
    unlink(other);
  }
}

// held to replays: a start that is reached beats one with a smaller loss that is not; given variables are one start
static void reached_before_small(void **state) {
  (void)state;
  tgTask *t = tgt_task(model, TASK("adam", ", starts: 5") "success: {loss: 0.5}\nverify: {rows: [finer], loss: 0.5}\n");
  tgOptimum *found = tgt_optimize(t, NULL);
  assert_int_equal(found->verification.n, 1);
  assert_true(found->reached == (found->met && found->verification.row[0].verdict == TG_VERDICT_HOLDS));
  tgOptimizeOptions o = tg_optimize_default();
  o.start = found->best;
  tgOptimum *again = tgt_optimize(t, &o);
  assert_true(again->start == 0 && again->iterations <= 6 && memcmp(again->first, found->best, (size_t)again->n * sizeof(double)) == 0);
  tg_optimum_free(again);
  tg_optimum_free(found);
  tg_task_free(t);
}

// Of starts that all miss, the one that came nearest to what it looked for goes on, not the one that ends nearest to a place that does not
// count yet: `tip`, where it hangs, is what success asks for, and counts from stage 1 on.
static void missed_starts_by_loss(void **state) {
  (void)state;
  static const char *const task =
      "model: m.xml\ncontact: lcp\nhorizon: {steps: 60}\ncontrols: {every: 6, start_noise: 2, low: -3, high: 3}\n"
      "losses:\n- {term: joint_position, name: pin, target: [2.5], weight: 1}\n"
      "- {term: site_position, name: tip, target: [0, 0, -0.5], weight: 1, stage: 1}\n"
      "optimizer: {method: adam, iterations: 6, rate: 0.3%s}\nsuccess: {distance: 1.0e-6}\nverify: {rows: [finer]}\n"
      "refine: [{iterations: 1}]\n";
  char model_text[1024], text[2048];
  const char *geom = strstr(model, "<geom");
  snprintf(model_text, sizeof model_text, "%.*s<site name='tip' pos='0 0 -0.5'/>%s", (int)(geom - model), model, geom);
  snprintf(text, sizeof text, task, "");
  tgTask *single = tgt_task(model_text, text);
  snprintf(text, sizeof text, task, ", starts: 4");
  tgTask *several = tgt_task(model_text, text);
  double least = INFINITY, nearest = INFINITY;
  int by_loss = -1, by_distance = -1;
  for (int k = 0; k < 4; k++) {
    tgOptimizeOptions o = tg_optimize_default();
    o.seed = 3 + (uint64_t)k;
    o.unrefined = true;
    tgOptimum *one = tgt_optimize(single, &o);
    const tgVerifyRow *row = &one->verification.row[0];
    double loss = fmax(one->best_loss, row->loss);
    assert_true(!one->met && one->verification.n == 1);
    if (loss < least) least = loss, by_loss = k;
    if (row->distance < nearest) nearest = row->distance, by_distance = k;
    tg_optimum_free(one);
  }
  assert_int_not_equal(by_loss, by_distance);
  tgOptimizeOptions o = tg_optimize_default();
  o.seed = 3;
  o.unrefined = true;
  tgOptimum *found = tgt_optimize(several, &o);
  assert_int_equal(found->start, by_loss);
  tg_optimum_free(found);
  tg_task_free(single);
  tg_task_free(several);
}

// ---- attempts ----

enum { ATTEMPTS = 6 };
#define HELD(more, loss) TASK("adam", more) "success: {loss: " loss "}\nverify: {rows: [finer]}\n"

static tgOptimum *with_seed(const tgTask *t, uint64_t seed) {
  tgOptimizeOptions o = tg_optimize_default();
  o.seed = seed;
  return tgt_optimize(t, &o);
}

// the first of single runs, with seeds of their own, that is reached; where none is, the one that holds best
static void attempts_end_with_one_that_holds(void **state) {
  (void)state;
  for (int easy = 0; easy < 2; easy++) {
    tgTask *single = tgt_task(model, easy ? HELD(", starts: 2", "0.01") : HELD(", starts: 2", "1.0e-3"));
    tgTask *several = tgt_task(model, easy ? HELD(", starts: 2, attempts: 6", "0.01") : HELD(", starts: 2, attempts: 6", "1.0e-3"));
    assert_int_equal(tg_task_attempts(several), ATTEMPTS);
    tgOptimum *found = with_seed(several, 5), *best = NULL;
    long simulations = 0;
    int done = 0, at = 0;
    for (bool reached = false; done < ATTEMPTS && !reached; done++) {
      tgOptimum *one = with_seed(single, 5 + 2 * (uint64_t)done);
      simulations += one->simulations;
      reached = one->reached;
      bool better = best == NULL || reached || one->verification.row[0].loss < best->verification.row[0].loss;
      if (better) at = done;
      tg_optimum_free(better ? best : one);
      if (better) best = one;
    }
    assert_true(easy ? best->reached && at > 1 && done < ATTEMPTS : !best->reached && done == ATTEMPTS);
    assert_int_equal(found->attempt, at);
    assert_int_equal(found->start, best->start);
    assert_int_equal(found->simulations, simulations);
    assert_true(found->reached == best->reached && found->best_loss == best->best_loss);
    assert_memory_equal(found->best, best->best, (size_t)found->n * sizeof *found->best);
    tg_optimum_free(found);
    tg_optimum_free(best);
    tg_task_free(single);
    tg_task_free(several);
  }
}

// where no replay is asked for and none is met, the smallest loss
static void attempts_without_replays(void **state) {
  (void)state;
  enum { TRIED = 3 };
  tgTask *single = tgt_task(model, TASK("adam", "") "success: {loss: 1.0e-9}\nverify: {rows: [none]}\n");
  tgTask *several = tgt_task(model, TASK("adam", ", attempts: 3") "success: {loss: 1.0e-9}\nverify: {rows: [none]}\n");
  double least = INFINITY;
  int at = 0;
  for (int k = 0; k < TRIED; k++) {
    tgOptimum *one = with_seed(single, 6 + (uint64_t)k);
    assert_true(!one->met && one->verification.n == 0);
    if (one->best_loss < least) least = one->best_loss, at = k;
    tg_optimum_free(one);
  }
  tgOptimum *found = with_seed(several, 6);
  assert_true(at > 0);
  assert_int_equal(found->attempt, at);
  assert_true(found->best_loss == least);
  tg_optimum_free(found);
  tg_task_free(single);
  tg_task_free(several);
}

static void stop_in_the_second(void *ctx, const tgProgress *p) {
  Cut *c = ctx;
  c->order = c->order && p->attempts == ATTEMPTS && p->attempt >= 0 && p->attempt < ATTEMPTS;
  if (p->attempt == 1 && p->iteration == 3) c->cancel = 1;
  c->seen++;
}

static void attempts_resume_to_the_same_bits(void **state) {
  (void)state;
  tgTask *t = tgt_task(model, HELD(", attempts: 6", "1.0e-3"));
  tgOptimum *whole = tgt_optimize(t, NULL);
  char path[] = "/tmp/tangere-attempts-XXXXXX", other[64];
  close(mkstemp(path));
  Cut cut = {.order = true};
  tgOptimizeOptions o = tg_optimize_default();
  o.journal = path;
  o.cancel = &cut.cancel;
  o.progress = stop_in_the_second;
  o.progress_ctx = &cut;
  tgOptimum *part = tg_optimize(t, &o);
  assert_int_equal(part->status, TG_CANCELLED);
  assert_true(cut.order && cut.seen == 6 + 3 && part->best_loss < INFINITY);
  cut.cancel = 0;
  o.progress = NULL;
  o.resume = true;
  tgOptimum *rest = tgt_optimize(t, &o);
  assert_true(rest->best_loss == whole->best_loss && rest->attempt == whole->attempt && rest->simulations == whole->simulations);
  assert_memory_equal(rest->best, whole->best, (size_t)whole->n * sizeof *whole->best);
  tg_optimum_free(rest);
  tg_optimum_free(part);
  tg_optimum_free(whole);
  // a journal of another run beside it ends the attempts
  o.resume = false;
  o.overwrite = true;
  snprintf(other, sizeof other, "%s.attempt2", path);
  unlink(other);
  FILE *f = fopen(other, "w");
  for (int i = 0; i < 100; i++) fputs("another run ", f);
  fclose(f);
  o.overwrite = false;
  unlink(path);
  snprintf(other, sizeof other, "%s.attempt1", path);
  unlink(other);
  tgOptimum *told = tg_optimize(t, &o);
  check_true(told->status == TG_ERR_FILE && strstr(told->error.text, "attempt2") != NULL, "%s", told->error.text);
  tg_optimum_free(told);
  tg_task_free(t);
  unlink(path);
  for (int k = 1; k < ATTEMPTS; k++) {
    snprintf(other, sizeof other, "%s.attempt%d", path, k);
    unlink(other);
  }
}

// a start that cannot be run is told: nothing is written over, and nothing comes of the others
static void a_journal_of_another_run_is_told(void **state) {
  (void)state;
  tgTask *t = tgt_task(model, TASK("adam", ", starts: 3"));
  char path[] = "/tmp/tangere-starts-XXXXXX", other[64];
  close(mkstemp(path));
  snprintf(other, sizeof other, "%s.start2", path);
  FILE *f = fopen(other, "w");
  for (int i = 0; i < 100; i++) fputs("another run ", f);
  fclose(f);
  tgOptimizeOptions o = tg_optimize_default();
  o.threads = 2;
  o.journal = path;
  tgOptimum *found = tg_optimize(t, &o);
  bool told = found->status == TG_ERR_FILE && strstr(found->error.text, "start2") != NULL;
  check_true(told && found->iterations == 0, "%s", found->error.text);
  tg_optimum_free(found);
  tg_task_free(t);
  unlink(path);
  for (int k = 1; k < 3; k++) {
    snprintf(other, sizeof other, "%s.start%d", path, k);
    unlink(other);
  }
}

static void stop_at_once(void *ctx, const tgProgress *p) {
  Cut *c = ctx;
  (void)p;
  c->cancel = 1;
}

// The run that overwrites another takes the journals of that one's attempts away, and nothing else: cut off and taken up it finds none of
// them in its way.
static void what_is_overwritten_leaves_no_parts(void **state) {
  (void)state;
  tgTask *before = tgt_task(model, HELD(", attempts: 6", "1.0e-3")), *after = tgt_task(model, HELD(", attempts: 6, decay: 0.5", "1.0e-3"));
  char path[] = "/tmp/tangere-over-XXXXXX", part[64], kept[2][64];
  close(mkstemp(path));
  snprintf(part, sizeof part, "%s.attempt1", path);
  snprintf(kept[0], sizeof kept[0], "%s.attempt9", path);
  snprintf(kept[1], sizeof kept[1], "%s.attempt1.txt", path);
  tgOptimizeOptions o = tg_optimize_default();
  o.journal = path;
  tg_optimum_free(tgt_optimize(before, &o));
  assert_int_equal(access(part, F_OK), 0);
  FILE *f = fopen(kept[0], "w");   // no journal
  fputs("a note", f);
  fclose(f);
  assert_int_equal(link(part, kept[1]), 0);   // one by another name
  Cut cut = {.order = true};
  o.overwrite = true;
  // a run that is refused takes nothing away
  tgTask *refused = tgt_task(model, HELD(", attempts: 6, smoothing: zeroth", "1.0e-3"));
  assert_int_equal(tg_task_override(refused, NULL, "lbfgs", 0, NULL), TG_OK);
  tgOptimum *none = tg_optimize(refused, &o);
  assert_true(none->status == TG_ERR_UNSUPPORTED && access(part, F_OK) == 0);
  tg_optimum_free(none);
  tg_task_free(refused);
  o.cancel = &cut.cancel;
  o.progress = stop_at_once;
  o.progress_ctx = &cut;
  tgOptimum *cut_off = tg_optimize(after, &o);
  assert_int_equal(cut_off->status, TG_CANCELLED);
  assert_int_not_equal(access(part, F_OK), 0);
  for (int k = 0; k < 2; k++) assert_int_equal(access(kept[k], F_OK), 0);
  cut.cancel = 0;
  o.overwrite = false;
  o.resume = true;
  o.progress = NULL;
  tgOptimum *rest = tgt_optimize(after, &o), *whole = tgt_optimize(after, NULL);
  assert_true(rest->best_loss == whole->best_loss && rest->attempt == whole->attempt);
  tg_optimum_free(rest);
  tg_optimum_free(whole);
  tg_optimum_free(cut_off);
  tg_task_free(before);
  tg_task_free(after);
  for (int k = 0; k < 2; k++) unlink(kept[k]);
  unlink(path);
  for (int k = 1; k < ATTEMPTS; k++) {
    snprintf(part, sizeof part, "%s.attempt%d", path, k);
    unlink(part);
  }
}

// ---- patience ----

#define PATIENT(iterations, rate, more)                                                                                                \
  "model: m.xml\ncontact: lcp\nhorizon: {steps: 60}\ncontrols: {every: 6, start: 0.5, low: -3, high: 3}\n"                             \
  "losses:\n- {term: joint_position, name: pin, target: [2.5], weight: 1}\n- {term: control, weight: 1.0e-3}\n"                       \
  "optimizer: {method: adam, iterations: " iterations ", rate: " rate ", decay: 0.96" more "}\n"

// what follows a return is an optimisation of its own from the best, with half of the rate that it had come to
static void back_to_the_best(void **state) {
  (void)state;
  enum { PATIENCE = 4, ALL = 40 };
  tgTask *t = tgt_task(model, PATIENT("40", "2", ", patience: 4"));
  tgOptimum *whole = with_seed(t, 0);
  int least = 0, at = 1;   // at: the iteration that ends in the return
  for (; at < ALL - 10; at++) {
    if (whole->curve_loss[at] < whole->curve_loss[least]) least = at;
    if (at - least == PATIENCE) break;
  }
  assert_int_equal(at - least, PATIENCE);
  check_close(whole->curve_loss[at + 1], whole->curve_loss[least], 0);
  tgTask *plain = tgt_task(model, PATIENT("40", "2", ""));
  assert_int_equal(tg_task_override(plain, NULL, NULL, at + 1, NULL), TG_OK);
  tgOptimum *before = with_seed(plain, 0);
  assert_memory_equal(before->curve_loss, whole->curve_loss, (size_t)(at + 1) * sizeof(double));
  double rate = 2;
  for (int k = 0; k < at; k++) rate *= 0.96;
  assert_int_equal(tg_task_set_rate(plain, rate * (0.5 * 0.96), NULL), TG_OK);
  tgOptimizeOptions o = tg_optimize_default();
  o.start = before->best;
  tgOptimum *after = tgt_optimize(plain, &o);
  for (int k = 0; k < after->ncurve && k < PATIENCE; k++) check_close(after->curve_loss[k], whole->curve_loss[at + 1 + k], 0);
  assert_true(whole->best_loss < before->best_loss);
  tg_optimum_free(after);
  tg_optimum_free(before);
  tg_optimum_free(whole);
  tg_task_free(plain);
  tg_task_free(t);
}

// ---- what a search draws ----

enum { DRAWN = 12, SEARCHED = 9, CARTS = 2, LED = 8, KEPT = 2 };   // members, variables, actuators, of which controls, kept
static const double spread = 0.7, correlation = 0.6, momentum = 0.25;

static int by_loss(const void *a, const void *b) {
  const double *x = a, *y = b;
  return (x[SEARCHED] > y[SEARCHED]) - (x[SEARCHED] < y[SEARCHED]);
}

// one generation as docs/tasks.md tells it: the best of the one before, correlated noise about the mean, and mean and spread of the three
// best, partly as they were
static double generation(tgEvaluator *e, int g, double *mean, double *sigma, double kept[KEPT][SEARCHED + 1]) {
  double x[DRAWN][SEARCHED + 1];
  for (int i = 0; i < DRAWN; i++) {
    double z[SEARCHED];
    for (int k = 0; k < SEARCHED; k++) {
      double own = tg_random_normal(5, 2, (uint64_t)((g * DRAWN + i) * SEARCHED + k));
      bool led = k >= CARTS && k < LED;   // the start's velocity is not a control
      z[k] = led ? correlation * z[k - CARTS] + sqrt(1 - correlation * correlation) * own : own;
      x[i][k] = g > 0 && i < KEPT ? kept[i][k] : mean[k] + (g == 0 && i == 0 ? 0 : sigma[k] * z[k]);
    }
    assert_int_equal(tg_evaluate(e, x[i], &x[i][SEARCHED], NULL, NULL, NULL, NULL, NULL), TG_OK);
  }
  qsort(x, DRAWN, sizeof x[0], by_loss);
  memcpy(kept, x, KEPT * sizeof x[0]);
  for (int k = 0; k < SEARCHED; k++) {
    double m = (x[0][k] + x[1][k] + x[2][k]) / 3, var = 0;
    for (int i = 0; i < 3; i++) var += (x[i][k] - m) * (x[i][k] - m) / 3;
    mean[k] = momentum * mean[k] + (1 - momentum) * m;
    sigma[k] = fmax(momentum * sigma[k] + (1 - momentum) * sqrt(var), 0.01 * spread);
  }
  return x[0][SEARCHED];
}

static void search_as_documented(void **state) {
  (void)state;
  static const char *const carts =
      "<mujoco><option timestep='0.02'/><worldbody><body><joint name='a' type='slide' axis='1 0 0'/><geom size='0.1' mass='1'/></body>"
      "<body pos='0 2 0'><joint name='b' type='slide' axis='1 0 0'/><geom size='0.1' mass='2'/></body></worldbody>"
      "<actuator><motor joint='a'/><motor joint='b'/></actuator></mujoco>";
  tgTask *t = tgt_task(carts, "model: m.xml\ncontact: lcp\nhorizon: {steps: 40}\ncontrols: {every: 10}\n"
                              "initial: [{joint: b, part: velocity}]\n"
                              "losses:\n- {term: joint_position, name: a, target: [0.5], weight: 1}\n"
                              "- {term: joint_position, name: b, target: [-0.4], weight: 1}\n"
                              "optimizer: {method: cem, iterations: 6, population: 12, elites: 3, keep: 2, sigma: 0.7, correlation: 0.6, "
                              "momentum: 0.25}\n");
  assert_int_equal(tg_task_size(t), SEARCHED);
  tgOptimum *found = with_seed(t, 5);
  tgEvaluator *e = tg_evaluator_create(t, 0, NULL);
  double mean[SEARCHED], sigma[SEARCHED], kept[KEPT][SEARCHED + 1], best = INFINITY;
  tg_task_start(t, 5, mean);
  for (int k = 0; k < SEARCHED; k++) sigma[k] = spread;
  for (int g = 0; g < 6; g++) {
    double least = generation(e, g, mean, sigma, kept);
    check_close(found->curve_loss[g], least, 1e-9 * (1 + least));
    best = fmin(best, least);
  }
  check_close(found->best_loss, best, 1e-9);
  tg_evaluator_free(e);
  tg_optimum_free(found);
  tg_task_free(t);
}

// Ipopt's linear solver has one state for the process
static void shooting_starts(void **state) {
  (void)state;
  bool there = false;
  for (int k = 0; tg_methods(k) != NULL; k++) there = there || strcmp(tg_methods(k), "shooting") == 0;
  if (!there) return;
  tgTask *t = tgt_task(model, TASK("shooting", ", starts: 6"));
  tgOptimizeOptions o = tg_optimize_default();
  o.threads = 4;
  tgOptimum *found = tgt_optimize(t, &o);
  assert_true(isfinite(found->best_loss));
  tg_optimum_free(found);
  tg_task_free(t);
}

// without a gradient and without momentum nothing moves any more: the methods that only take steps end
static void ends_at_rest(void **state) {
  (void)state;
  static const char *const two = "<mujoco><worldbody><body><joint name='x' type='slide'/><geom size='.1' mass='1'/></body>"
                                 "<body pos='0 1 0'><joint name='y' type='slide'/><geom size='.1' mass='1'/></body></worldbody>"
                                 "<actuator><motor joint='x'/></actuator></mujoco>";
  tgTask *t = tgt_task(two, "model: m.xml\ncontact: lcp\nhorizon: {steps: 5}\ncontrols: {every: 5}\n"
                            "losses: [{term: joint_position, name: y, target: [1], weight: 1}]\n"
                            "effort: off\noptimizer: {method: adam, iterations: 9}\n");
  tgOptimum *found = tgt_optimize(t, NULL);
  assert_true(found->iterations == 1 && found->evaluations == 1 && found->best_loss == found->first_loss);
  tg_optimum_free(found);
  tg_task_free(t);
}

static void refuses(void **state) {
  (void)state;
  tgError e = {0};
  assert_null(tgt_task_try(model, TASK("adam", ", starts: -1"), &e));
  check_true(strstr(e.text, "starts is -1") != NULL, "%s", e.text);
  assert_null(tgt_task_try(model, "model: m.xml\ncontact: lcp\nhorizon: {steps: 6}\ncontrols: {}\nlosses: [{term: control, weight: 1}]\n"
                                  "optimizer: {method: adam, iterations: 1, starts: 2}\n", &e));
  check_true(strstr(e.text, "give controls a start_noise") != NULL, "%s", e.text);
  assert_null(tgt_task_try(model, TASK("adam", ", attempts: -1"), &e));
  check_true(strstr(e.text, "attempts is -1") != NULL, "%s", e.text);
  assert_null(tgt_task_try(model, TASK("cem", ", correlation: 1"), &e));
  check_true(strstr(e.text, "correlation 1") != NULL, "%s", e.text);
  assert_null(tgt_task_try(model, TASK("cem", ", momentum: -0.1"), &e));
  check_true(strstr(e.text, "momentum -0.1") != NULL, "%s", e.text);
  assert_null(tgt_task_try(model, TASK("cem", ", elites: 3, keep: 4"), &e));
  check_true(strstr(e.text, "keep is 4") != NULL, "%s", e.text);
  assert_null(tgt_task_try(model, TASK("adam", ", patience: -1"), &e));
  check_true(strstr(e.text, "patience must not be negative") != NULL, "%s", e.text);
  assert_null(tgt_task_try(model, TASK("adam", ", attempts: 2"), &e));
  check_true(strstr(e.text, "give `success` or `verify`") != NULL, "%s", e.text);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(is_the_best_of_single_runs), cmocka_unit_test(resumes_to_the_same_bits),
                                     cmocka_unit_test(reached_before_small),
                                     cmocka_unit_test(missed_starts_by_loss), cmocka_unit_test(attempts_end_with_one_that_holds),
                                     cmocka_unit_test(attempts_without_replays), cmocka_unit_test(attempts_resume_to_the_same_bits),
                                     cmocka_unit_test(back_to_the_best), cmocka_unit_test(search_as_documented),
                                     cmocka_unit_test(a_journal_of_another_run_is_told),
                                     cmocka_unit_test(what_is_overwritten_leaves_no_parts),
                                     cmocka_unit_test(shooting_starts), cmocka_unit_test(ends_at_rest), cmocka_unit_test(refuses)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
