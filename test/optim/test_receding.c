// test_receding.c: a receding horizon: equal to one plan where windows reach to the end, what is returned is what
// was done, resuming, contact.
#include "optim/aim.h"
#include "support/task.h"

static const char *const sled =
    "<mujoco><option timestep='0.1' gravity='0 0 0'/><worldbody><body name='sled'><joint name='x' type='slide' axis='1 0 0'/>"
    "<geom type='sphere' size='0.1' mass='2'/></body></worldbody><actuator><motor joint='x' gear='3'/></actuator></mujoco>";
#define SLED(controls, more)                                                                                                    \
  "model: m.xml\ncontact: lcp\nhorizon: {steps: 24}\nstart: {joints: [{joint: x, position: [1], velocity: [-2]}]}\n"             \
  "controls: {start: 0.5" controls "}\nlosses:\n- {term: joint_position, name: x, weight: 7}\n- {term: velocity, weight: 3}\n"  \
  "- {term: joint_position, name: x, weight: 4, at: all}\n- {term: joint_position, name: x, target: [0.4], time: 1.1, weight: 5}\n" \
  "- {term: control, weight: 0.6}\noptimizer: {method: ilqr, iterations: 20}\n" more

// nothing disturbs the motion, and every window sees the rest of it: what is done is the one optimal plan, in every method that finds it
static void the_whole_horizon_is_the_open_loop(void **state) {
  (void)state;
  static const char *const method[] = {"ilqr", "gauss_newton"};
  for (int k = 0; k < 2; k++) {
    tgError error = {0};
    tgTask *open = tgt_task(sled, SLED(", every: 3, low: -0.5, high: 0.7", ""));
    tgTask *receding = tgt_task(sled, SLED(", every: 3, low: -0.5, high: 0.7", "receding: {horizon: 24, apply: 6}\n"));
    assert_int_equal(tg_task_override(open, NULL, method[k], 0, &error), TG_OK);
    assert_int_equal(tg_task_override(receding, NULL, method[k], 0, &error), TG_OK);
    tgOptimum *a = tgt_optimize(open, NULL), *b = tgt_optimize(receding, NULL);
    assert_int_equal(b->iterations, 4);
    assert_int_equal(b->n, a->n);
    check_close(b->best_loss, a->best_loss, 1e-9 * a->best_loss);
    for (int i = 0; i < a->n; i++) check_close(b->best[i], a->best[i], 1e-8);
    tg_optimum_free(a);
    tg_optimum_free(b);
    tg_task_free(open);
    tg_task_free(receding);
  }
}

// a plan that stops short of the end costs more than the whole, and less than doing nothing about it
static void a_short_horizon_costs_more(void **state) {
  (void)state;
  double loss[2];
  static const char *const more[] = {"", "receding: {horizon: 6, apply: 2}\n"};
  for (int k = 0; k < 2; k++) {
    char text[1200];
    snprintf(text, sizeof text, SLED("", "%s"), more[k]);
    tgTask *t = tgt_task(sled, text);
    tgOptimum *o = tgt_optimize(t, NULL);
    double f;
    tgEvaluator *e = tg_evaluator_create(t, 0, NULL);
    assert_int_equal(tg_evaluate(e, o->best, &f, NULL, NULL, NULL, NULL, NULL), TG_OK);
    check_close(f, o->best_loss, 0);   // the loss is that of the motion that was done
    assert_true(f < o->first_loss);
    loss[k] = f;
    tg_evaluator_free(e);
    tg_optimum_free(o);
    tg_task_free(t);
  }
  check_true(loss[1] > loss[0] * (1 + 1e-6), "short %g, whole %g", loss[1], loss[0]);
}

// one iteration of a first-order method evaluates its start and stops: what is done is the start of each window, which
// with fill: hold repeats the last control of the window before
static void the_last_control_is_held(void **state) {
  (void)state;
  static const char *const more[] = {"receding: {horizon: 6, apply: 6}\n",
                                     "receding: {horizon: 6, apply: 6, fill: hold}\n",
                                     "receding: {horizon: 6, apply: 2, fill: hold}\n"};
  for (int k = 0; k < 3; k++) {
    char text[1200];
    snprintf(text, sizeof text, SLED("", "%s"), more[k]);
    tgTask *t = tgt_task(sled, text);
    tgError error = {0};
    assert_int_equal(tg_task_override(t, NULL, "descent", 2, &error), TG_OK);
    tgOptimum *o = tgt_optimize(t, NULL);
    // the second iterate is a step along the gradient, and the better one, so windows differ; held controls carry it on
    bool moved = o->best[0] != 0.5, carried = fabs(o->best[23] - 0.5) > fabs(o->best[5] - 0.5);
    check_true(moved && (k == 0 || carried), "case %d: %g, then %g", k, o->best[5], o->best[23]);
    tg_optimum_free(o);
    tg_task_free(t);
  }
}

// cut in the middle and taken up, for every method: the same bits
static void stop_after(void *ctx, const tgProgress *p) {
  if (p->iteration == 2 && !p->replayed) *(volatile int *)ctx = 1;
}
static void resumes_to_the_same_bits(void **state) {
  (void)state;
  for (int k = 0; tg_methods(k) != NULL; k++) {
    tgError error = {0};
    tgTask *t = tgt_task(sled, SLED(", every: 2, low: -2, high: 2", "receding: {horizon: 10, apply: 6}\n"));
    assert_int_equal(tg_task_override(t, tgt_contact_for(tg_methods(k)), tg_methods(k), 4, &error), TG_OK);
    char path[] = "/tmp/tangere-journal-XXXXXX";
    close(mkstemp(path));
    volatile int cancel = 0;
    tgOptimizeOptions o = tg_optimize_default();
    o.seed = 2;
    o.threads = 1;
    tgOptimum *whole = tgt_optimize(t, &o);
    o.journal = path;
    o.cancel = &cancel;
    o.progress = stop_after;
    o.progress_ctx = (void *)(uintptr_t)&cancel;
    tgOptimum *part = tg_optimize(t, &o);
    check_true(part->status == TG_CANCELLED && part->iterations == 2, "%s: %d windows, %d %s", tg_methods(k),
               part->iterations, part->status, part->error.text);
    // what a cancelled run leaves begins with what was done
    assert_memory_equal(part->best, whole->best, 6 * sizeof(double));
    cancel = 0;
    o.progress = NULL;
    o.resume = true;
    tgOptimum *rest = tgt_optimize(t, &o);
    assert_memory_equal(rest->best, whole->best, (size_t)whole->n * sizeof(double));
    check_true(rest->best_loss == whole->best_loss && rest->iterations == whole->iterations && rest->evaluations == whole->evaluations,
               "%s: %.17g and %.17g, %ld and %ld", tg_methods(k), rest->best_loss, whole->best_loss, rest->evaluations, whole->evaluations);
    tg_optimum_free(rest);
    tg_optimum_free(part);
    tg_optimum_free(whole);
    tg_task_free(t);
    unlink(path);
  }
}

// A box falls flat on the floor beside the sled, in a later window: the label's step is that of the motion.
static void the_label_s_step_is_of_the_motion(void **state) {
  (void)state;
  tgTask *t = tgt_task("<mujoco><option timestep='0.1'/><worldbody><geom type='plane' size='9 9 1'/>"
                       "<body pos='0 0 3'><joint name='x' type='slide' axis='1 0 0'/><geom type='sphere' size='0.1' mass='2'/></body>"
                       "<body pos='0 4 5'><freejoint/><geom type='box' size='0.1 0.1 0.1' mass='1'/></body></worldbody>"
                       "<actuator><motor joint='x' gear='3'/></actuator></mujoco>",
                       SLED("", "receding: {horizon: 6, apply: 6}\n"));
  tgError error = {0};
  assert_int_equal(tg_task_override(t, NULL, "adam", 2, &error), TG_OK);
  tgEvaluator *e = tg_evaluator_create(t, 0, NULL);
  double x[24] = {0}, g[24], f;
  tgRolloutResult whole;
  assert_int_equal(tg_evaluate(e, x, &f, g, NULL, NULL, NULL, &whole), TG_OK);
  check_true(whole.grad.label != TG_GRAD_EXACT && whole.grad.first_step > 6, "label %d in step %d", (int)whole.grad.label,
             whole.grad.first_step);
  tgOptimum *o = tgt_optimize(t, NULL);
  check_true(o->grad.label == whole.grad.label && o->grad.first_step == whole.grad.first_step, "label %d in step %d: %s; %d in step %d: %s",
             (int)o->grad.label, o->grad.first_step, o->grad.reason, (int)whole.grad.label, whole.grad.first_step, whole.grad.reason);
  tg_optimum_free(o);
  tg_evaluator_free(e);
  tg_task_free(t);
}

// a hand pushes a box over the floor to its place, looking half a second ahead
static void through_contact(void **state) {
  (void)state;
  tgTask *t = tgt_task("<mujoco><option timestep='0.01'/><worldbody><geom name='floor' type='plane' size='5 5 1' friction='0.4'/>"
                       "<body name='hand' pos='-0.2 0 0.12'><joint name='reach' type='slide' axis='1 0 0' damping='1'/>"
                       "<geom type='sphere' size='0.1' mass='1'/></body>"
                       "<body name='box' pos='0 0 0.1'><joint name='x' type='slide' axis='1 0 0'/>"
                       "<joint name='z' type='slide' axis='0 0 1'/>"
                       "<geom name='box' type='box' size='0.1 0.1 0.1' mass='2' friction='0.4'/></body></worldbody>"
                       "<actuator><motor joint='reach'/></actuator></mujoco>",
                       "model: m.xml\ncontact: lcp\nhorizon: {steps: 150}\ncontrols: {every: 5, start: 12, low: -60, high: 60}\n"
                       "losses:\n- {term: body_position, name: box, target: [0.5, 0, 0], axes: x, weight: 1}\n"
                       "- {term: velocity, weight: 1.0e-4}\n"
                       "- {term: control, weight: 1.0e-7}\noptimizer: {method: ilqr, iterations: 15}\n"
                       "receding: {horizon: 50, apply: 10}\nsuccess: {distance: 0.02}\n");
  tgOptimum *o = tgt_optimize(t, NULL);
  check_true(o->met && o->first_loss > 1e-2, "loss %g -> %g", o->first_loss, o->best_loss);
  tg_optimum_free(o);
  tg_task_free(t);
}

// ---- one thing after another ----

// two carts on their own slides, the third on its mark; damped, so that what is left alone stays
static const char *const carts =
    "<mujoco><option timestep='0.1' gravity='0 0 0'/><default><joint type='slide' axis='1 0 0' damping='2'/>"
    "<geom type='sphere' size='0.1' mass='1'/></default><worldbody>"
    "<body name='far' pos='2 0 0'><joint name='far'/><geom/></body><body name='near' pos='1 1 0'><joint name='near'/><geom/></body>"
    "<body name='there' pos='0.1 2 0'><joint name='there'/><geom/></body></worldbody>"
    "<actuator><motor joint='far'/><motor joint='near'/><motor joint='there'/></actuator></mujoco>";
#define CART(name) "- {term: body_com, name: " name ", target: [0, 0, 0], axes: x, tolerance: 0.2, weight: 1, at: all}\n"
#define CARTS(more)                                                                                                        \
  "model: m.xml\ncontact: lcp\nhorizon: {steps: 96}\ncontrols: {low: -4, high: 4}\nlosses:\n" CART("far") CART("near")   \
  CART("there") "effort: off\noptimizer: {method: adam, iterations: 25, rate: 0.2}\nsuccess: {distance: 0.2}\n"          \
  "receding: {horizon: 8, apply: 4, fill: hold" more "}\n"
static const double aim_starts[3] = {2, 1, 0.1};

// The nearer cart comes home first, and the other's motor rests meanwhile to the bit; without an aim both come at once.
static void one_comes_home_after_another(void **state) {
  (void)state;
  for (int aim = 0; aim < 2; aim++) {
    tgTask *t = tgt_task(carts, aim ? CARTS(", aim: nearest") : CARTS(""));
    tgOptimum *o = tgt_optimize(t, NULL);
    check_true(o->met, "aim %d: loss %g", aim, o->best_loss);
    int first = 0;
    while (first < o->n / 3 && o->best[3 * first] == 0) first++;
    check_true(o->best[1] < 0 && (aim ? first >= 8 && first < 60 : first == 0), "aim %d: the far one is driven from step %d", aim, first);
    for (int k = 0; k < o->n / 3; k++) assert_true(o->best[3 * k + 2] == 0);
    tg_optimum_free(o);
    tg_task_free(t);
  }
}

// Which terms a window has, by where the carts are: of those that are not home the nearest alone, closer than it has to be; it stays that
// until it is well within, also where another has come nearer; what is home counts as it is; and when all are, as the task has them.
static void what_a_window_aims_at(void **state) {
  (void)state;
  static const struct { double q[3]; int at; bool counts[3]; } seen[] = {
      {{2, 1, 0.1}, 1, {false, true, true}},         {{0.21, 1, 0.1}, 1, {false, true, true}},
      {{0.21, 0.19, 0.1}, 1, {false, true, true}},   {{0.21, 0.16, 0.1}, 0, {true, true, true}},
      {{0.25, 0.22, 0.1}, 0, {true, false, true}},   {{0.1, 0.22, 0.3}, 1, {true, true, false}},
      {{0.1, 0.1, 0.3}, 2, {true, true, true}},      {{0.1, 0.1, 0.1}, -1, {true, true, true}},
  };
  tgTask *t = tgt_task(carts, CARTS(", aim: nearest"));
  tgAim aim;
  assert_true(tgi_aim_make(&aim, t, &t->alloc));
  int before = -1;
  for (size_t i = 0; i < sizeof seen / sizeof *seen; i++) {
    double q[3];
    for (int k = 0; k < 3; k++) q[k] = seen[i].q[k] - aim_starts[k];   // from where the slides are drawn
    bool other = tgi_aim_take(&aim, t, q);
    check_true(aim.at == seen[i].at && other == (aim.at != before), "state %zu: aims at %d", i, aim.at);
    before = aim.at;
    for (int k = 0; k < 3; k++) {
      check_true(aim.term[k].weight == seen[i].counts[k], "state %zu: term %d weighs %g", i, k, aim.term[k].weight);
      check_close(aim.term[k].tolerance, k == aim.at ? 0.14 : 0.2, 1e-15);
    }
  }
  // what no longer weighs anything is not waited for
  static const double q[2][3] = {{-2, -1, 0.2}, {-1, 0, 0.2}};   // from where the slides are drawn
  tgTaskTerm term;
  tgError e = {0};
  assert_true(tgi_aim_take(&aim, t, q[0]) && aim.at == 2);
  assert_true(tg_task_term(t, 2, &term));
  term.weight = 0;
  assert_int_equal(tg_task_set_term(t, 2, &term, &e), TG_OK);
  assert_true(tgi_aim_take(&aim, t, q[1]) && aim.at == 0 && aim.term[0].weight == 1);
  tgi_aim_free(&aim);
  tg_task_free(t);
}

static void refusals(void **state) {
  (void)state;
  static const char *const bad[][2] = {
      {SLED(", every: 3", "receding: {horizon: 10, apply: 5}\n"), "multiples of the 3 steps"},
      {SLED("", "receding: {horizon: 4, apply: 5}\n"), "not the longer"},
      {SLED("", "receding: {horizon: 4, apply: 0}\n"), "apply 0"},
      {SLED(", basis: sines", "receding: {horizon: 4, apply: 2}\n"), "basis: steps"},
      {SLED("", "receding: {horizon: 4, apply: 2}\ninitial: [{joint: x, part: velocity}]\n"), "nothing else"},
      {SLED("", "receding: {horizon: 4, apply: 2, aim: nearest}\n"), "0 of the losses are of a position"},
      {SLED("", "receding: {horizon: 4, apply: 2, aim: farthest}\n"), "there are all, nearest"},
  };
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    tgError e = {0};
    tgTask *t = tgt_task_try(sled, bad[i][0], &e);
    check_true(t == NULL && strstr(e.text, bad[i][1]) != NULL, "case %zu: '%s'", i, e.text);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(the_whole_horizon_is_the_open_loop),
                                     cmocka_unit_test(a_short_horizon_costs_more),
                                     cmocka_unit_test(the_last_control_is_held),
                                     cmocka_unit_test(resumes_to_the_same_bits),
                                     cmocka_unit_test(the_label_s_step_is_of_the_motion), cmocka_unit_test(through_contact),
                                     cmocka_unit_test(one_comes_home_after_another), cmocka_unit_test(what_a_window_aims_at),
                                     cmocka_unit_test(refusals)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
