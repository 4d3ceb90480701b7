// test_controller.c: a controller in a loop with the simulator of its own plans does what the receding horizon of tg_optimize does, to the
// bit; its clock, its budget, the search where its plans stall, what it refuses, and a plan that fails.
#include "support/task.h"
#include "tangere/step.h"

static const char *const sled =
    "<mujoco><option timestep='0.1' gravity='0 0 0'/><worldbody><body name='sled'><joint name='x' type='slide' axis='1 0 0'/>"
    "<geom type='sphere' size='0.1' mass='2'/></body></worldbody><actuator><motor joint='x' gear='3'/></actuator></mujoco>";
#define TASK(timed, more)                                                                                                       \
  "model: m.xml\ncontact: lcp\nhorizon: {steps: 24}\nstart: {joints: [{joint: x, position: [1], velocity: [-2]}]}\n"             \
  "controls: {start: 0.5, every: 2, low: -2, high: 2, start_noise: 0.1}\nlosses:\n- {term: joint_position, name: x, weight: 7}\n" \
  "- {term: velocity, weight: 3}\n- {term: joint_position, name: x, weight: 4, at: all}\n" timed                                 \
  "- {term: control, weight: 0.6}\noptimizer: {method: ilqr, iterations: 4}\n" more
#define TIMED "- {term: joint_position, name: x, target: [0.4], time: 1.1, weight: 5}\n"

// the controls of a loop over `steps` steps with the task's own simulator, planned when the controller means to
static void loop(const tgTask *t, tgController *c, int steps, double *u) {
  tgSim *s = tg_sim_create(tg_task_model(t), tg_task_contact(t), NULL, NULL);
  double h = tg_task_timestep(t), q[8], v[8], due = 0;
  tgError e = {0};
  tg_task_start(t, 0, u);
  tg_task_expand(t, u, q, v, NULL);
  tg_sim_set_state(s, q, v);
  for (int k = 0; k < steps; k++) {
    if (k * h >= due - 1e-9) {
      check_true(tg_controller_plan(c, k * h, tg_sim_qpos(s), tg_sim_qvel(s), NULL, &e) == TG_OK, "step %d: %s", k, e.text);
      due = k * h + tg_controller_interval(c);
    }
    assert_int_equal(tg_controller_control(c, k * h, u + k, &e), TG_OK);
    tg_sim_ctrl(s)[0] = u[k];
    assert_int_equal(tg_sim_step_growing(s, h, NULL), TG_OK);
  }
  tg_sim_free(s);
}

// The outcome of tg_optimize, whose first n controls are those of a controller in its loop to the bit; *left: steps of its last plan.
static tgOptimum *done_alike(tgTask *t, const char *what, uint64_t seed, int n, int *left) {
  tgError e = {0};
  tgOptimizeOptions o = tg_optimize_default();
  tgControllerOptions co = tg_controller_default();
  o.seed = co.seed = seed;
  o.threads = co.threads = 1;
  tgOptimum *whole = tgt_optimize(t, &o);
  tgController *c = tg_controller_create(t, &co, &e);
  check_true(c != NULL, "%s", e.text);
  double u[40], want[40];
  loop(t, c, n, u);
  tg_task_expand(t, whole->best, NULL, NULL, want);
  for (int i = 0; i < n; i++) check_true(memcmp(u + i, want + i, sizeof *u) == 0, "%s: step %d: %.17g and %.17g", what, i, u[i], want[i]);
  *left = tg_controller_last(c)->steps;
  tg_controller_free(c);
  return whole;
}

// with a term at a time its clock is the task's, and windows end with it: what is done is what tg_optimize does, in every method
static void is_the_receding_horizon(void **state) {
  (void)state;
  static const char *const fill[] = {"", ", fill: hold"};
  for (int k = 0; tg_methods(k) != NULL; k++) {
    char text[1400];
    snprintf(text, sizeof text, TASK(TIMED, "receding: {horizon: 10, apply: 6%s}\n"), fill[k % 2]);
    tgTask *t = tgt_task(sled, text);
    tgError e = {0};
    assert_int_equal(tg_task_override(t, tgt_contact_for(tg_methods(k)), tg_methods(k), 4, &e), TG_OK);
    int left;
    tgOptimum *whole = done_alike(t, tg_methods(k), 3, 24, &left);
    assert_int_equal(left, 6);
    tg_optimum_free(whole);
    tg_task_free(t);
  }
}

// ---- the search where plans stall ----

// A pusher that does not touch its ball: the place of the ball has no slope in the pusher's force.
static const char *const pushed =
    "<mujoco><option timestep='0.05' gravity='0 0 0'/><worldbody><body><joint name='x' type='slide' axis='1 0 0'/>"
    "<geom type='sphere' size='0.1' mass='1'/></body>"
    "<body name='ball' pos='0.4 0 0'><joint name='ball' type='slide' axis='1 0 0' damping='2'/>"
    "<geom type='sphere' size='0.1' mass='1'/></body></worldbody><actuator><motor joint='x'/></actuator></mujoco>";
#define PUSH PUSH_TO("")
#define PUSH_TO(also)                                                                                 \
  "model: m.xml\ncontact: lcp\nhorizon: {steps: 40}\ncontrols: {every: 4, low: -4, high: 4}\n"        \
  "losses: [{term: joint_position, name: ball, target: [0.5], weight: 1}" also "]\nsuccess: {loss: 0.0025}\n" \
  "optimizer: {method: adam, iterations: 5, rate: 0.1, stop_loss: 0.01}\n"
#define RECEDING "receding: {horizon: 40, apply: 4}\n"
#define SEARCH(plans, more) "search: {method: cem, iterations: 4, population: 12, sigma: 2, correlation: 0.8, plans: " plans more "}\n"

// so many plans from the task's start, the last of them; u (40): its controls
static tgPlan planned(const char *text, uint64_t seed, int threads, int plans, double *u) {
  tgTask *t = tgt_task(pushed, text);
  tgControllerOptions o = tg_controller_default();
  tgError e = {0};
  o.seed = seed;
  o.threads = threads;
  tgController *c = tg_controller_create(t, &o, &e);
  check_true(c != NULL, "%s", e.text);
  double q[2] = {0}, v[2] = {0};
  for (int k = 0; k < plans; k++) check_true(tg_controller_plan(c, 0, q, v, NULL, &e) == TG_OK, "%s", e.text);
  tgPlan p = *tg_controller_last(c);
  memcpy(u, p.u, 40 * sizeof *u);
  tg_controller_free(c);
  tg_task_free(t);
  return p;
}

// Plans have no slope until one is searched for; which is done after so many as the task says, from the state that was measured, and its
// loss is that of its controls.
static void searches_where_plans_stall(void **state) {
  (void)state;
  double u[40], other[40], x[10], f, cold = 0.5 * 0.5;
  tgPlan p = planned(PUSH RECEDING, 0, 1, 3, u);
  check_true(p.loss == cold && p.searched == 0 && isnan(p.unsearched), "loss %g", p.loss);
  p = planned(PUSH RECEDING SEARCH("2", ""), 0, 1, 1, u);
  check_true(p.loss == cold && p.searched == 0, "loss %g, searched %d", p.loss, p.searched);
  p = planned(PUSH RECEDING SEARCH("2", ""), 0, 1, 2, u);
  check_true(p.loss < 0.5 * cold && p.searched > 0 && p.unsearched == cold, "loss %g, %g before", p.loss, p.unsearched);
  assert_true(p.iterations > p.searched && p.simulations >= 12 * p.searched);
  tgTask *t = tgt_task(pushed, PUSH);
  tgEvaluator *judge = tg_evaluator_create(t, 0, NULL);
  for (int b = 0; b < 10; b++) x[b] = u[4 * b];
  assert_int_equal(tg_evaluate(judge, x, &f, NULL, NULL, NULL, NULL, NULL), TG_OK);
  check_close(p.loss, f, 1e-12);
  tg_evaluator_free(judge);
  tg_task_free(t);
  // the same bits for any number of threads, other noise for another seed
  planned(PUSH RECEDING SEARCH("2", ""), 0, 2, 2, other);
  assert_memory_equal(u, other, sizeof u);
  planned(PUSH RECEDING SEARCH("2", ""), 1, 1, 2, other);
  assert_true(memcmp(u, other, sizeof u) != 0);
  // one that finds nothing better leaves the plan; a plan that is as good as the task asks has none
  p = planned(PUSH RECEDING SEARCH("1", ", elites: 1"), 0, 1, 1, u);
  double found = p.loss;
  p = planned(PUSH RECEDING "search: {method: random, iterations: 1, population: 1, plans: 1}\n", 0, 1, 1, u);
  check_true(found < cold && p.loss == cold && p.searched == 1 && p.unsearched == cold, "%g and %g", found, p.loss);
  p = planned("model: m.xml\ncontact: lcp\nhorizon: {steps: 40}\ncontrols: {every: 4}\nsuccess: {loss: 0.3}\n"
              "losses: [{term: joint_position, name: ball, target: [0.5], weight: 1}]\noptimizer: {method: adam, iterations: 1}\n"
              RECEDING SEARCH("1", ""), 0, 1, 1, u);
  check_true(p.searched == 0 && p.loss == cold, "searched %d, loss %g, distance %g", p.searched, p.loss, p.distance);
  // nor does a loss below 0 that stays come nearer
  p = planned("model: m.xml\ncontact: lcp\nhorizon: {steps: 40}\ncontrols: {every: 4}\nsuccess: {loss: -3}\n"
              "losses: [{term: height, name: ball, target: [-1], weight: 1}]\noptimizer: {method: adam, iterations: 1}\n"
              RECEDING SEARCH("2", ""), 0, 1, 2, u);
  check_true(p.searched > 0 && p.loss < 0 && p.loss == p.unsearched, "searched %d, loss %g", p.searched, p.loss);
}

// `stop_distance` ends a plan where the ball is near enough, whatever the loss; such a plan does not fall short.
static void stops_at_a_distance(void **state) {
  (void)state;
#define NEAR(stop) "model: m.xml\ncontact: lcp\nhorizon: {steps: 40}\ncontrols: {every: 4, low: -4, high: 4, start: 1}\n" \
  "losses: [{term: body_position, name: ball, target: [0.9, 0, 0], weight: 1}, {term: control, weight: 0.01}]\n" \
  "optimizer: {method: adam, iterations: 60, rate: 0.05, " stop "}\n" RECEDING SEARCH("1", "")
  double u[40];
  tgPlan p = planned(NEAR("stop_distance: 0.05"), 0, 1, 1, u);
  check_true(p.distance <= 0.05 && p.iterations < 60 && p.searched == 0, "%g m left, %d iterations, %d searched", p.distance, p.iterations,
             p.searched);
  tgPlan more = planned(NEAR("stop_distance: 0.05, stop_loss: 1"), 0, 1, 1, u);
  check_true(more.iterations <= p.iterations && more.loss <= 1 && more.searched == 0, "loss %g, %d iterations", more.loss, more.iterations);
  p = planned(NEAR("stop_distance: 0"), 0, 1, 1, u);
  check_true(p.distance > 0 && p.iterations > 60 && p.searched > 0, "%g m left, %d iterations", p.distance, p.iterations);
  tgt_task_refused(pushed, NEAR("stop_distance: -1"), "stop_distance is -1");
  tgt_task_refused(pushed, "model: m.xml\ncontact: lcp\nhorizon: {steps: 40}\ncontrols: {}\n"
                   "losses: [{term: joint_position, name: ball, weight: 1}]\n"
                   "optimizer: {method: adam, iterations: 5, stop_distance: 1}\n", "of which losses have none");
  tgt_task_refused(pushed, PUSH RECEDING SEARCH("1", ", stop_distance: 1"), "belong to `optimizer`");
}

// over a task's receding horizon the same search is done, to the bit
static void receding_horizons_search(void **state) {
  (void)state;
  // a term at a time: windows end with the task
  tgTask *t = tgt_task(pushed, PUSH_TO(", {term: joint_position, name: ball, target: [0.5], at: time, time: 2, weight: 1}")
                      RECEDING SEARCH("2", ""));
  int left;
  tgOptimum *whole = done_alike(t, "search", tg_optimize_default().seed, 40, &left);
  check_true(whole->best_loss < 0.1, "loss %g", whole->best_loss);
  tg_optimum_free(whole);
  tg_task_free(t);
  static const struct { const char *text, *says; } bad[] = {
      {PUSH SEARCH("1", ""), "give `receding`"},
      {PUSH RECEDING SEARCH("-1", ""), "plans is -1"},
      {PUSH RECEDING SEARCH("1", ", starts: 2"), "belong to `optimizer`"},
      {PUSH RECEDING SEARCH("1", ", elites: 13"), "search: 13 elites of a population of 12"},
      {PUSH RECEDING "search: {method: cem, iterations: 0}\n", "search: iterations is 0"},
      {"model: m.xml\ncontact: lcp\nhorizon: {steps: 40}\ncontrols: {every: 4}\nlosses: [{term: joint_position, name: ball, weight: 1}]\n"
       "optimizer: {method: adam, iterations: 1}\n" RECEDING SEARCH("1", ""), "what a plan should promise"},
      {"model: m.xml\ncontact: lcp\nhorizon: {steps: 40}\ncontrols: {every: 4}\nlosses: [{term: joint_position, name: ball, weight: 1}]\n"
       "optimizer: {method: adam, iterations: 1, plans: 2}\n", "plans belongs to `search`"}};
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) tgt_task_refused(pushed, bad[i].text, bad[i].says);
}

// without one each plan is the task anew, for ever: after a long time the sled stands where the plans of the task stand
static void goes_on(void **state) {
  (void)state;
  tgTask *t = tgt_task(sled, TASK("", "receding: {horizon: 10, apply: 2}\n"));
  tgError e = {0};
  tgController *c = tg_controller_create(t, NULL, &e);
  static double u[300];
  loop(t, c, 300, u);
  const tgPlan *p = tg_controller_last(c);
  assert_int_equal(p->steps, 10);
  check_close(p->time, 29.8, 1e-9);
  check_true(fabs(u[299]) < 1e-6 && p->loss < 1e-10, "%g, loss %g", u[299], p->loss);
  // beyond the plan its last controls, before it its first
  double at[3];
  assert_int_equal(tg_controller_control(c, 1e3, at, &e), TG_OK);
  assert_int_equal(tg_controller_control(c, 0, at + 1, &e), TG_OK);
  assert_true(at[0] == p->u[9] && at[1] == p->u[0]);
  tg_controller_free(c);
  tg_task_free(t);
}

// a plan is taken up at the time that has passed, in whole controls or not
static void starts_from_the_plan_before(void **state) {
  (void)state;
  tgTask *t = tgt_task(sled, TASK("", ""));
  tgError e = {0};
  tgControllerOptions o = tg_controller_default();
  o.iterations = 40;
  tgController *c = tg_controller_create(t, &o, &e);
  double q = 1, v = -2, f;
  assert_int_equal(tg_controller_plan(c, 5, &q, &v, NULL, &e), TG_OK);
  double cold = tg_controller_last(c)->first_loss, u[24], x[12];
  memcpy(u, tg_controller_last(c)->u, sizeof u);
  // the plan, from its third control on, then the file's start; judged by the evaluator
  q = 0.3, v = 0.1;
  tgTask *moved = tgt_task(sled, "model: m.xml\ncontact: lcp\nhorizon: {steps: 24}\n"
                                 "start: {joints: [{joint: x, position: [0.3], velocity: [0.1]}]}\ncontrols: {start: 0.5, every: 2}\n"
                                 "losses:\n- {term: joint_position, name: x, weight: 7}\n- {term: velocity, weight: 3}\n"
                                 "- {term: joint_position, name: x, weight: 4, at: all}\n- {term: control, weight: 0.6}\n"
                                 "optimizer: {method: ilqr, iterations: 4}\n");
  for (int b = 0; b < 12; b++) x[b] = b + 2 < 12 ? u[2 * (b + 2)] : 0.5;
  tgEvaluator *judge = tg_evaluator_create(moved, 0, &e);
  assert_int_equal(tg_evaluate(judge, x, &f, NULL, NULL, NULL, NULL, NULL), TG_OK);
  assert_int_equal(tg_controller_plan(c, 5.43, &q, &v, NULL, &e), TG_OK);
  check_close(tg_controller_last(c)->first_loss, f, 1e-12 * f);
  assert_true(tg_controller_last(c)->loss <= f && cold > 0);
  tg_evaluator_free(judge);
  tg_controller_free(c);
  tg_task_free(moved);
  tg_task_free(t);
}

// the loss of the whole horizon with controls of 0.2 s, by the evaluator
static double judged(const double *x) {
  tgTask *t = tgt_task(sled, TASK("", ""));
  tgError e = {0};
  double f = NAN;
  tgEvaluator *judge = tg_evaluator_create(t, 0, &e);
  assert_int_equal(tg_evaluate(judge, x, &f, NULL, NULL, NULL, NULL, NULL), TG_OK);
  tg_evaluator_free(judge);
  tg_task_free(t);
  return f;
}

// A motion that is given, in steps of its own, is where plans start: its control at the middle of each of theirs, then the file's start.
// The plan before goes first where it reaches.
static void starts_from_a_given_motion(void **state) {
  (void)state;
  tgTask *t = tgt_task(sled, TASK("", ""));
  tgError e = {0};
  tgController *c = tg_controller_create(t, NULL, &e);
  double given[60], q = 1, v = -2, x[12], f;
  for (int i = 0; i < 60; i++) given[i] = 0.02 * i - 0.3;
  assert_int_equal(tg_controller_give(c, 3, 0.05, 18, given, &e), TG_OK);
  assert_int_equal(tg_controller_control(c, 3, x, &e), TG_ERR_INVALID);   // it is no plan
  // middles at 3.2, 3.4, 3.6, 3.8, in steps 4, 8, 12, 16 of those given; 4.0 is beyond 3.9
  for (int b = 0; b < 12; b++) x[b] = b < 4 ? given[4 * (b + 1)] : 0.5;
  for (int k = 0; k < 2; k++) {                                           // given again, what was planned is forgotten
    assert_int_equal(tg_controller_give(c, 3, 0.05, 18, given, &e), TG_OK);
    assert_int_equal(tg_controller_plan(c, 3.1, &q, &v, NULL, &e), TG_OK);
    f = judged(x);
    check_close(tg_controller_last(c)->first_loss, f, 1e-12 * f);
  }
  // it lasts longer than the plan before it, 2.4 s: the window's last control, at 5.6 s, is its
  assert_int_equal(tg_controller_give(c, 3, 0.05, 60, given, &e), TG_OK);
  assert_int_equal(tg_controller_plan(c, 3.1, &q, &v, NULL, &e), TG_OK);
  for (int b = 0; b < 11; b++) x[b] = tg_controller_last(c)->u[2 * (b + 1)];
  x[11] = given[52];
  assert_int_equal(tg_controller_plan(c, 3.3, &q, &v, NULL, &e), TG_OK);
  f = judged(x);
  check_close(tg_controller_last(c)->first_loss, f, 1e-12 * f);
  given[7] = NAN;
  assert_int_equal(tg_controller_give(c, 3, 0.05, 18, given, &e), TG_ERR_ARG);
  check_true(strstr(e.text, "control 0 of step 7") != NULL, "%s", e.text);
  assert_int_equal(tg_controller_give(c, 3, 0, 18, given, &e), TG_ERR_ARG);
  assert_int_equal(tg_controller_give(c, 3, 0.05, 18, NULL, &e), TG_ERR_ARG);
  tg_controller_free(c);
  tg_task_free(t);
}

// no iteration begins after the budget; the one that is under way counts
static void keeps_its_budget(void **state) {
  (void)state;
  tgTask *t = tgt_task(sled, TASK("", ""));
  tgError e = {0};
  assert_int_equal(tg_task_override(t, NULL, "adam", 1000, &e), TG_OK);
  tgControllerOptions o = tg_controller_default();
  o.seconds = 1e-9;
  tgController *c = tg_controller_create(t, &o, &e);
  double q = 1, v = -2;
  assert_int_equal(tg_controller_plan(c, 0, &q, &v, NULL, &e), TG_OK);
  assert_int_equal(tg_controller_last(c)->iterations, 1);
  tg_controller_free(c);
  tg_task_free(t);
}

// A measured state in which the sled is in a wall: `toi` refuses it, unless the controller separates. The task's own start likewise.
static void moves_apart(void **state) {
  (void)state;
  static const char *const walled =
      "<mujoco><option timestep='0.1' gravity='0 0 0'/><worldbody><geom name='wall' type='box' pos='-0.2 0 0' size='0.1 1 1'/>"
      "<body name='sled'><joint name='x' type='slide' axis='1 0 0'/><geom type='sphere' size='0.1' mass='2'/></body></worldbody>"
      "<actuator><motor joint='x' gear='3'/></actuator></mujoco>";
  tgTask *t = tgt_task(walled, TASK("", ""));
  tgError e = {0};
  assert_int_equal(tg_task_override(t, "toi", NULL, 0, &e), TG_OK);
  tgControllerOptions o = tg_controller_default();
  double q = -1e-6, v = 0;
  for (int k = 0; k < 2; k++) {
    o.separate = k == 1;
    tgController *c = tg_controller_create(t, &o, &e);
    check_true(c != NULL, "%s", e.text);
    tgStatus status = tg_controller_plan(c, 0, &q, &v, NULL, &e);
    assert_int_equal(status, k == 1 ? TG_OK : TG_ERR_INVALID);
    check_true(k == 1 || strstr(e.text, "--separate") != NULL, "%s", e.text);
    if (k == 1) check_close(tg_controller_last(c)->separated, 1e-6, 1e-12);
    if (k == 1) assert_int_equal(tg_controller_last(c)->nseparated, 1);
    q = -1e-6;
    tg_controller_free(c);
  }
  tg_task_free(t);
  t = tgt_task(walled, "model: m.xml\ncontact: lcp\nhorizon: {steps: 2}\nstart: {joints: [{joint: x, position: [-0.05]}], separate: -1}\n"
                       "controls: {start: 0}\nlosses: [{term: joint_position, name: x, weight: 1}]\n"
                       "optimizer: {method: adam, iterations: 1}\n");
  double x[2], start;
  int count;
  tg_task_start(t, 0, x);
  tg_task_expand(t, x, &start, NULL, NULL);
  check_close(start, 0, 1e-7);
  assert_int_equal(tg_task_override(t, "toi", NULL, 0, &e), TG_OK);   // which asks for a gap
  tg_task_expand(t, x, &start, NULL, NULL);
  check_close(start, 1e-6, 1e-8);
  assert_non_null(tg_task_separated(t, &count));
  assert_int_equal(count, 1);
  assert_int_equal(tg_task_separate(t, 1e-3, &e), TG_OK);
  tg_task_expand(t, x, &start, NULL, NULL);
  check_close(start, 1e-3, 1e-5);
  tg_task_free(t);
}

// a state that is none, a time past the task's end, a cancelled plan: each is told, and the plan before stands
static void tells_what_fails(void **state) {
  (void)state;
  tgTask *t = tgt_task(sled, TASK(TIMED, ""));
  tgError e = {0};
  tgController *c = tg_controller_create(t, NULL, &e);
  double q = 1, v = -2, u, bad = NAN;
  volatile int cancel = 1;
  assert_null(tg_controller_last(c));
  assert_int_equal(tg_controller_control(c, 0, &u, &e), TG_ERR_INVALID);
  check_true(strstr(e.text, "no plan yet") != NULL, "%s", e.text);
  assert_int_equal(tg_controller_plan(c, 0, &q, &v, NULL, &e), TG_OK);
  double loss = tg_controller_last(c)->loss;
  assert_true(tg_controller_plan(c, 0.2, &bad, &v, NULL, &e) < 0 && e.text[0] != '\0');
  assert_int_equal(tg_controller_control(c, NAN, &u, &e), TG_ERR_ARG);
  assert_int_equal(tg_controller_plan(c, 2.4, &q, &v, NULL, &e), TG_ERR_INVALID);
  check_true(strstr(e.text, "not within the task's 2.4 s") != NULL, "%s", e.text);
  assert_int_equal(tg_controller_plan(c, NAN, &q, &v, NULL, &e), TG_ERR_ARG);
  assert_int_equal(tg_controller_plan(c, 0.2, &q, &v, &cancel, &e), TG_CANCELLED);
  assert_true(tg_controller_last(c)->loss == loss && tg_controller_last(c)->time == 0);
  tg_controller_free(c);
  tg_task_free(t);
  // where all members of a population fail there is no plan
  t = tgt_task(sled, TASK("", ""));
  assert_int_equal(tg_task_override(t, NULL, "cem", 2, &e), TG_OK);
  c = tg_controller_create(t, NULL, &e);
  check_true(tg_controller_plan(c, 0, &bad, &v, NULL, &e) != TG_OK && tg_controller_last(c) == NULL, "%s", e.text);
  tg_controller_free(c);
  tg_task_free(t);
  t = tgt_task(sled, TASK("", "initial: [{joint: x, part: velocity}]\n"));
  assert_null(tg_controller_create(t, NULL, &e));
  check_true(strstr(e.text, "decides controls with basis: steps, and nothing else") != NULL, "%s", e.text);
  tg_task_free(t);
  tgControllerOptions o = tg_controller_default();
  o.seconds = -1;
  t = tgt_task(sled, TASK("", ""));
  assert_null(tg_controller_create(t, &o, &e));
  check_true(strstr(e.text, "seconds, -1") != NULL, "%s", e.text);
  tg_task_free(t);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(is_the_receding_horizon), cmocka_unit_test(goes_on),
                                     cmocka_unit_test(starts_from_the_plan_before),
                                     cmocka_unit_test(starts_from_a_given_motion), cmocka_unit_test(keeps_its_budget),
                                     cmocka_unit_test(searches_where_plans_stall), cmocka_unit_test(stops_at_a_distance),
                                     cmocka_unit_test(receding_horizons_search),
                                     cmocka_unit_test(moves_apart), cmocka_unit_test(tells_what_fails)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
