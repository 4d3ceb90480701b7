// test_starts.c: several starts are as many runs, of which the best is taken; over threads and taken up again to the same bits.
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

static void refuses(void **state) {
  (void)state;
  tgError e = {0};
  assert_null(tgt_task_try(model, TASK("adam", ", starts: -1"), &e));
  check_true(strstr(e.text, "starts is -1") != NULL, "%s", e.text);
  assert_null(tgt_task_try(model, "model: m.xml\ncontact: lcp\nhorizon: {steps: 6}\ncontrols: {}\nlosses: [{term: control, weight: 1}]\n"
                                  "optimizer: {method: adam, iterations: 1, starts: 2}\n", &e));
  check_true(strstr(e.text, "give controls a start_noise") != NULL, "%s", e.text);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(is_the_best_of_single_runs), cmocka_unit_test(resumes_to_the_same_bits),
                                     cmocka_unit_test(reached_before_small), cmocka_unit_test(a_journal_of_another_run_is_told),
                                     cmocka_unit_test(shooting_starts), cmocka_unit_test(refuses)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
