// test_parameters.c: model parameters as decision variables: the gradient through every term, what is refused, and values found again
// from a motion whose closed form is known.
#include "optim/task.h"
#include "support/deriv.h"
#include "support/task.h"

static tgStatus value(void *ctx, const tgReal *x, tgReal *y) { return tg_evaluate(ctx, x, y, NULL, NULL, NULL, NULL, NULL); }

// a leg that strikes the ground, its placement, sizes, inertia and motor decided, under every term that looks at frames
static void gradient_through_every_term(void **state) {
  (void)state;
  static const char *const model =
      "<mujoco><option timestep='0.01'/><worldbody><geom name='floor' type='plane' size='5 5 1' friction='0.4'/>"
      "<geom name='post' type='box' pos='0.9 0.1 0.4' size='0.1 0.05 0.2' contype='0' conaffinity='0'/>"
      "<body name='hip' pos='0 0 0.632'><joint name='fall' type='slide' axis='0 0 1'/><joint name='run' type='slide' axis='1 0 0'/>"
      "<geom type='box' size='0.1 0.1 0.05' contype='0' conaffinity='0'/><body name='thigh' pos='0.02 0 -0.05'>"
      "<joint name='hip' axis='0 1 0' pos='0 0 0.01'/>"
      "<geom type='capsule' fromto='0 0 0 0.1 0 -0.25' size='0.03' contype='0' conaffinity='0'/>"
      "<body name='shin' pos='0.1 0 -0.25'><joint name='knee' axis='0 1 0'/>"
      "<geom name='shin' type='capsule' fromto='0 0 0 -0.1 0 -0.25' size='0.03' contype='0' conaffinity='0'/>"
      "<geom name='foot' type='sphere' pos='-0.1 0 -0.27' size='0.05' friction='0.7'/>"
      "<site name='heel' pos='-0.12 0 -0.3'/></body></body></body></worldbody>"
      "<actuator><motor name='m' joint='knee' gear='2'/></actuator></mujoco>";
  static const char *const task =
      "model: m.xml\ncontact: lcp\nhorizon: {steps: 14}\nstart: {joints: [{joint: fall, velocity: [-2]}, {joint: run, velocity: [4]}]}\n"
      "controls: {every: 5, start: 0.5}\n"
      "parameters:\n- {name: body_mass, of: shin}\n- {name: body_com, of: thigh}\n"
      "- {name: body_pos, of: shin, low: -1}\n- {name: jnt_pos, of: hip}\n"
      "- {name: geom_size, of: foot, entry: 0}\n- {name: geom_friction, of: foot}\n- {name: dof_damping, of: knee}\n"
      "- {name: act_gain, of: m, entry: 0}\n"
      "- {name: opt_gravity, entry: 2}\n- {name: geom_pos, of: post}\n- {name: geom_size, of: post, entry: 2}\n"
      "losses:\n- {term: body_position, name: shin, target: [1, 0, 0], weight: 1}\n"
      "- {term: site_position, name: heel, target: [0, 0, 1], weight: 2, at: all}\n"
      "- {term: body_com, name: thigh, target: [0, 1, 1], weight: 1}\n- {term: body_velocity, name: shin, weight: 0.3, at: all}\n"
      "- {term: height, name: hip, weight: 1}\n- {term: body_orientation, name: shin, target: [1, 0, 0.2, 0], weight: 1}\n"
      "- {term: joint_position, name: knee, target: [1], weight: 1}\n- {term: control, weight: 0.1}\n"
      "- {term: gap, geoms: [shin, post], weight: 2, at: least}\n- {term: gap, geoms: [post, foot], target: [1], weight: 1}\n"
      "optimizer: {method: adam, iterations: 1}\n";
  tgError e = {0};
  tgTask *t = tgt_task(model, task);
  enum { CONTROLS = 3, N = CONTROLS + 1 + 3 + 3 + 3 + 1 + 1 + 1 + 1 + 1 + 3 + 1 };
  assert_int_equal(tg_task_size(t), N);
  int at;
  assert_string_equal(tg_task_parameter(t, 2, &at), "body_com[1] of thigh");
  assert_int_equal(at, CONTROLS + 2);
  assert_null(tg_task_parameter(t, N - CONTROLS, NULL));
  double x[N], g[N], loss;
  tgRolloutResult result;
  tg_task_start(t, 0, x);
  tgEvaluator *evaluator = tg_evaluator_create(t, 0, &e);
  assert_non_null(evaluator);
  assert_int_equal(tg_evaluate(evaluator, x, &loss, g, NULL, NULL, NULL, &result), TG_OK);
  check_true(result.grad.label == TG_GRAD_EXACT, "%s", result.grad.reason);
  check_true(result.least_distance < 1e-3, "the foot stays %g m above the ground", result.least_distance);
  tgtDeriv d = {.name = "loss", .nx = N, .ny = 1, .map = value, .ctx = evaluator, .tol = 1e-6, .step = 1e-7};
  tgt_check_jacobian(&d, x, g);
  for (int i = 0; i < N; i++)
    check_true(g[i] != 0 || i == CONTROLS + 2 || i == CONTROLS + 5 || i == CONTROLS + 8, "entry %d does nothing", i);
  tg_evaluator_free(evaluator);
  tg_task_free(t);
}

static void recover(const char *model, const char *task, double truth, double tolerance) {
  tgTask *t = tgt_task(model, task);
  tgOptimum *o = tgt_optimize(t, NULL);
  int at;
  const char *label = tg_task_parameter(t, 0, &at);
  print_message("%s: %.15g, off by %.2g in %d iterations\n", label, o->best[at], o->best[at] - truth, o->iterations);
  check_true(fabs(o->best[at] - truth) <= tolerance, "%s is %.15g, should be %.15g", label, o->best[at], truth);
  tg_optimum_free(o);
  tg_task_free(t);
}

// a 1 kg box pushed by 0.1 N for 12 steps of 0.1 s goes x = h^2 F/m 12 13/2 [lcp]
static void mass_is_found_again(void **state) {
  (void)state;
  char task[800];
  double truth = 2.5;
  snprintf(task, sizeof task,
           "model: m.xml\ncontact: lcp\nhorizon: {steps: 12, timestep: 0.1}\nparameters: [{name: body_mass, of: box, low: 0.1, high: 10}]\n"
           "losses: [{term: joint_position, name: x, target: [%.17g], weight: 1.0e8}]\n"
           "optimizer: {method: lbfgs, iterations: 60, tolerance: 1.0e-30}\n",
           0.1 * 0.1 * 0.1 / truth * 78);
  recover("<mujoco><option gravity='0 0 0'/><worldbody><body name='box'><joint name='x' type='slide' axis='1 0 0'/>"
          "<geom type='box' size='.5 .5 .5' mass='1'/></body></worldbody><actuator>"
          "<general joint='x' biastype='affine' biasprm='0.1 0 0'/></actuator></mujoco>",
          task, truth, 1e-9);
}

// a block that slides at 2 m/s loses mu g h each step: x after n of them = n v0 h - mu g h^2 n (n + 1)/2
static void friction_is_found_again(void **state) {
  (void)state;
  char task[800];
  double truth = 0.23, h = 0.01;
  int n = 50;
  snprintf(task, sizeof task,
           "model: m.xml\ncontact: lcp\nhorizon: {steps: %d, timestep: %g}\nstart: {joints: [{joint: x, velocity: [2]}]}\n"
           "parameters: [{name: geom_friction, of: block, start: 0.1}]\n"
           "losses: [{term: joint_position, name: x, target: [%.17g], weight: 1.0e4}]\n"
           "optimizer: {method: lbfgs, iterations: 60, tolerance: 1.0e-30}\n",
           n, h, n * 2 * h - truth * 9.81 * h * h * n * (n + 1) / 2);
  recover("<mujoco><worldbody><geom type='plane' size='5 5 1' friction='0.01'/><body pos='0 0 0.1'>"
          "<joint name='x' type='slide' axis='1 0 0'/>"
          "<joint type='slide' axis='0 0 1'/><geom name='block' type='box' size='.1 .1 .1' friction='0.5'/></body></worldbody></mujoco>",
          task, truth, 1e-9);
}

// a pyramid that hangs on a slide, its tip down, comes to rest where the tip touches: the tip's height follows from where it rests
static void vertex_is_found_again(void **state) {
  (void)state;
  static const char *const model =
      "<mujoco><option timestep='0.005'/><asset><mesh name='top' vertex='-.1 -.1 0  .1 -.1 0  .1 .1 0  -.1 .1 0  .02 .01 -.2'"
      " face='0 1 2  0 2 3  1 0 4  2 1 4  3 2 4  0 3 4'/></asset><worldbody><geom type='plane' size='5 5 1'/><body name='b' pos='0 0 0'>"
      "<joint name='z' type='slide' axis='0 0 1'/><inertial pos='0 0 0' mass='1' diaginertia='1 1 1'/>"
      "<geom name='g' type='mesh' mesh='top'/></body></worldbody></mujoco>";
  static const char *const task =
      "model: m.xml\ncontact: lcp\nhorizon: {steps: 100}\nstart: {joints: [{joint: z, position: [0.3]}]}\n"
      "parameters: [{name: hull_vert, of: %s, entry: 14}]\n"
      "losses: [{term: body_position, name: b, target: [0, 0, 0.26], weight: 1.0e4}]\n"
      "optimizer: {method: lbfgs, iterations: 60, tolerance: 1.0e-30}\n";
  for (int k = 0; k < 2; k++) {
    char text[800];
    tgError e = {0};
    snprintf(text, sizeof text, task, k == 0 ? "top" : "g");
    tgTask *t = tgt_task_try(model, text, &e);
    check_true(t != NULL, "%s", e.text);
    assert_string_equal(tg_task_parameter(t, 0, NULL), k == 0 ? "hull_vert[14] of top" : "hull_vert[14] of g");
    tg_task_free(t);
    recover(model, text, -0.26, 1e-7);
  }
}

// all vertices of a sheet, or one by its number in the sheet; young, thickness and poisson have bounds
static void sheets_are_decided(void **state) {
  (void)state;
  static const char *const model =
      "<mujoco><worldbody><flexcomp name='a' type='grid' dim='2' count='2 2 1' spacing='.1 .1 .1' pos='0 0 1'>"
      "<contact selfcollide='none'/><elasticity young='9' poisson='.2' thickness='.01' elastic2d='both'/></flexcomp>"
      "<flexcomp name='c' type='grid' dim='2' count='3 2 1' spacing='.1 .1 .1' pos='1 0 1'>"
      "<contact selfcollide='none'/><elasticity young='9' poisson='.2' thickness='.01' elastic2d='both'/></flexcomp></worldbody></mujoco>";
  static const struct { const char *text, *label; int count; } tries[] = {
      {"{name: flex_rest, of: a}", "flex_rest[0] of a", 12}, {"{name: flex_rest, of: c}", "flex_rest[0] of c", 18},
      {"{name: flex_rest, of: c, entry: 17}", "flex_rest[17] of c", 1}, {"{name: flex_young, of: c, start: 0}", "flex_young of c", 1}};
  static const struct { const char *text, *said; } wrong[] = {
      {"{name: flex_rest, of: c, entry: 18}", "has entries 0 to 17, not 18"}, {"{name: flex_young, of: c, start: -1}", "starts at -1"},
      {"{name: flex_thickness, of: c, start: -1}", "starts at -1"}, {"{name: flex_poisson, of: c, start: 0.5}", "starts at 0.5"}};
  static const char *const task = "model: m.xml\ncontact: lcp\nhorizon: {steps: 1, timestep: 1.0e-4}\nparameters: [%s]\n"
                                  "losses: [{term: body_position, name: a_0, target: [0, 0, 1], weight: 1}]\n"
                                  "optimizer: {method: adam, iterations: 1}\n";
  char text[600];
  for (int k = 0; k < 4; k++) {
    tgError e = {0};
    snprintf(text, sizeof text, task, tries[k].text);
    tgTask *t = tgt_task_try(model, text, &e);
    check_true(t != NULL, "%s", e.text);
    assert_string_equal(tg_task_parameter(t, 0, NULL), tries[k].label);
    check_true(tg_task_parameter(t, tries[k].count - 1, NULL) != NULL && tg_task_parameter(t, tries[k].count, NULL) == NULL,
               "%s: not %d numbers", tries[k].text, tries[k].count);
    tg_task_free(t);
    snprintf(text, sizeof text, task, wrong[k].text);
    check_true(tgt_task_try(model, text, &e) == NULL && strstr(e.text, wrong[k].said) != NULL, "%s: %s", wrong[k].text, e.text);
  }
}

// a mass that comes to rest on the limit of its slide, at half of where that begins to push: mu b'(1/2)/width = m g,
// b'(1/2) = -(1 + 3 log 2) [math/joints (2)]
static void weight_of_the_barrier_is_found_again(void **state) {
  (void)state;
  static const char *const model =
      "<mujoco><worldbody><body name='b'><joint name='z' type='slide' axis='0 0 1' range='0 1' limited='true' damping='40'/>"
      "<geom type='box' size='.1 .1 .1' mass='2'/></body></worldbody></mujoco>";
  static const char *const task =
      "model: m.xml\ncontact: barrier\noptions: {weight: 0.3}\nhorizon: {steps: 100, timestep: 0.02}\n"
      "start: {joints: [{joint: z, position: [0.1]}]}\n"
      "parameters: [{name: contact.weight%s}]\nlosses: [{term: joint_position, name: z, target: [0.05], weight: 1.0e4}]\n"
      "optimizer: {method: lbfgs, iterations: 60, tolerance: 1.0e-30}\n";
  char text[800];
  snprintf(text, sizeof text, task, "");
  recover(model, text, 2 * 9.81 * 0.1 / (1 + 3 * log(2)), 1e-8);
  // it starts where the options say, unless the file does; another contact model has to have it
  for (int given = 0; given < 2; given++) {
    double x[1];
    tgError e = {0};
    snprintf(text, sizeof text, task, given ? ", start: 0.5, high: 2" : "");
    tgTask *t = tgt_task(model, text);
    assert_string_equal(tg_task_parameter(t, 0, NULL), "contact.weight");
    assert_int_equal(tg_task_contact_option(t, "mu", "0.7", &e), TG_OK);
    tg_task_start(t, 0, x);
    check_close(x[0], given ? 0.5 : 0.7, 0);
    assert_true(tg_task_override(t, "lcp", NULL, 0, &e) < 0);
    check_true(strstr(e.text, "'lcp' has no parameter 'contact.weight'") != NULL, "%s", e.text);
    assert_string_equal(tg_contact_word(tg_task_contact(t)), "barrier");
    tg_task_free(t);
  }
}

static void refused_in(const char *model, const char *parameters, const char *method, const char *text) {
  char task[600];
  tgError e = {0};
  snprintf(task, sizeof task, "model: m.xml\ncontact: lcp\nhorizon: {steps: 2}\nparameters: [%s]\nlosses: [{term: velocity, weight: 1}]\n"
           "optimizer: {method: %s, iterations: 1}\n", parameters, method);
  tgTask *t = tgt_task_try(model, task, &e);
  if (t != NULL) {
    tgOptimum *o = tg_optimize(t, NULL);
    e = o->error;
    tg_optimum_free(o);
  }
  tg_task_free(t);
  check_true(strstr(e.text, text) != NULL, "'%s' does not say '%s'", e.text, text);
}

static void refused(const char *parameters, const char *method, const char *text) {
  refused_in("<mujoco><worldbody><body name='b'><joint name='j' type='slide'/><geom size='.1'/></body></worldbody>"
             "</mujoco>", parameters, method, text);
}

static void what_cannot_be_decided_is_refused(void **state) {
  (void)state;
  refused("{name: body_weight, of: b}", "adam", "no parameter 'body_weight'");
  refused("{name: qpos0, of: b}", "adam", "'qpos0'");
  refused("{name: body_quat, of: b}", "adam", "body_quat cannot be decided");
  refused("{name: body_mass}", "adam", "needs of:");
  refused("{name: body_mass, of: c}", "adam", "nothing called 'c'");
  refused("{name: opt_gravity, of: b}", "adam", "leave out of:");
  refused("{name: body_com, of: b, entry: 3}", "adam", "entries 0 to 2");
  refused("{name: body_mass, of: b}, {name: body_mass, of: b}", "adam", "decided twice");
  refused("{name: body_mass, of: b, start: -1}", "adam", "not within");
  refused("{name: body_mass, of: b}", "ilqr", "method ilqr");
  refused("{name: contact.weight}", "adam", "'lcp' has no parameter 'contact.weight'");
  refused("{name: contact.erp}", "adam", "'contact.erp'");
  refused("{name: hull_vert, of: b}", "adam", "nothing called 'b' collides as a mesh");
  // a mesh of which pieces collide, as a decomposition leaves it; a vertex that is no corner
  static const char *const cut =
      "<mujoco><asset><mesh name='rock' vertex='0 0 0 1 0 0 0 1 0 0 0 1 .1 .1 .1'/></asset><worldbody>"
      "<geom type='plane' size='1 1 1'/><body name='b'><joint type='slide'/>"
      "<inertial pos='0 0 0' mass='1' diaginertia='1 1 1'/><geom name='stone' type='mesh' mesh='rock' contype='0' conaffinity='0'/>"
      "<geom name='stone/piece0' type='mesh' mesh='rock'/></body></worldbody></mujoco>";
  refused_in(cut, "{name: geom_scale, of: stone}", "adam", "name its convex pieces, stone/piece0 and so on");
  refused_in(cut, "{name: hull_vert, of: stone/piece0, entry: 12}", "adam", "no corner of the hull of stone/piece0 is entry 12");
  refused_in(cut, "{name: hull_vert, of: stone}", "adam", "name its convex pieces");
}

// a number may be set to the least that it may be, and to none below
static void numbers_that_are_set(void **state) {
  (void)state;
  tgTask *t = tgt_task("<mujoco><worldbody><body name='b'><joint name='x' type='slide'/><geom name='g' size='.1'/></body></worldbody>"
                       "</mujoco>",
                       "model: m.xml\ncontact: lcp\nhorizon: {steps: 2}\ninitial: [{joint: x, part: velocity}]\n"
                       "losses: [{term: velocity, weight: 1}]\noptimizer: {method: adam, iterations: 1}\n");
  static const struct { const char *name, *of; double value; tgStatus status; } set[] = {
      {"geom_friction", "g", 0, TG_OK},      {"geom_friction", "g", -1e-9, TG_ERR_INVALID}, {"dof_damping", "x", 0, TG_OK},
      {"body_mass", "b", 0, TG_ERR_INVALID}, {"body_mass", "b", 1e-9, TG_OK},               {"dof_damping", "x", NAN, TG_ERR_INVALID}};
  for (size_t i = 0; i < sizeof set / sizeof *set; i++) {
    tgError e = {0};
    tgStatus status = tgi_task_set_number(t, set[i].name, set[i].of, -1, set[i].value, &e);
    check_true((status == TG_OK) == (set[i].status == TG_OK), "%s = %g: status %d, '%s'", set[i].name, set[i].value, status, e.text);
    if (status != TG_OK) check_true(strstr(e.text, "cannot be") != NULL, "'%s'", e.text);
  }
  tg_task_free(t);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(gradient_through_every_term), cmocka_unit_test(mass_is_found_again),
                                     cmocka_unit_test(friction_is_found_again), cmocka_unit_test(vertex_is_found_again),
                                     cmocka_unit_test(sheets_are_decided),
                                     cmocka_unit_test(weight_of_the_barrier_is_found_again),
                                     cmocka_unit_test(what_cannot_be_decided_is_refused),
                                     cmocka_unit_test(numbers_that_are_set)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
