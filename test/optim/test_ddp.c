// test_ddp.c: iLQR with the second derivatives of the dynamics: quadratic convergence where iLQR's is linear, the same
// minimum, limits on controls, and what happens where the control's Hessian is not positive definite.
#include "support/task.h"

// a pendulum that is to reach what it cannot: the losses stay large, and what iLQR leaves out counts
static const char *const pendulum =
    "<mujoco><option timestep='0.02'/><compiler angle='radian'/><worldbody><body name='arm'><joint name='x' axis='0 1 0' damping='0.05'/>"
    "<geom type='capsule' fromto='0 0 0 0 0 -0.5' size='0.05' mass='1'/><body name='fore' pos='0 0 -.5'>"
    "<joint name='y' axis='0 1 0' damping='0.05'/>"
    "<geom type='capsule' fromto='0 0 0 0 0 -0.4' size='0.04' mass='0.7'/></body></body></worldbody><actuator>"
    "<motor joint='x' gear='2'/></actuator></mujoco>";
#define SWING(method, iterations, limits) \
  "model: m.xml\ncontact: softmin\nhorizon: {steps: 40}\n" \
  "controls: {start: 0.3" limits "}\nlosses:\n- {term: joint_position, name: x, weight: 3, target: [2.5]}\n" \
  "- {term: joint_position, name: y, weight: 3, target: [-2]}\n- {term: velocity, weight: 0.3}\n- {term: control, weight: 0.5}\n" \
  "optimizer: {method: " method ", iterations: " iterations ", tolerance: 1.0e-15}\n"

static tgOptimum *swing(const char *text) {
  tgTask *t = tgt_task(pendulum, text);
  tgOptimum *o = tgt_optimize(t, NULL);
  tg_task_free(t);
  return o;
}

// order of convergence of |x_k - x*| is not kept by the optimiser; losses are: f_k - f* falls as the square of that
static void converges_quadratically(void **state) {
  (void)state;
  tgOptimum *ddp = swing(SWING("ddp", "60", "")), *ilqr = swing(SWING("ilqr", "400", ""));
  print_message("ddp %d iterations to %.15g, ilqr %d to %.15g\n", ddp->iterations, ddp->best_loss, ilqr->iterations, ilqr->best_loss);
  check_true(fabs(ddp->best_loss - ilqr->best_loss) <= 1e-9 * ddp->best_loss, "minima %.15g and %.15g", ddp->best_loss, ilqr->best_loss);
  double least = fmin(ddp->best_loss, ilqr->best_loss), order = INFINITY, rate = 0;
  int orders = 0, rates = 0;
  // losses above the floor of rounding; e_{k+1} ~ e_k^2 for one, e_{k+1} ~ r e_k for the other
  for (int k = 0; k + 1 < ddp->ncurve; k++) {
    double a = ddp->curve_best[k] - least, b = ddp->curve_best[k + 1] - least;
    print_message("ddp %2d: %.3g\n", k, a);
    if (a > 0.1 || b < 1e-11) continue;
    order = fmin(order, log(b) / log(a));
    orders++;
  }
  for (int k = 0; k + 1 < ilqr->ncurve; k++) {
    double a = ilqr->curve_best[k] - least, b = ilqr->curve_best[k + 1] - least;
    if (a > 1e-4 || b < 1e-10) continue;
    rate += b / a;
    rates++;
  }
  print_message("order of ddp %.2f in %d steps; ratio of ilqr %.3f over %d\n", order, orders, rates > 0 ? rate / rates : 0, rates);
  check_true(orders > 1 && order > 1.8, "order %.2f in %d steps", order, orders);
  check_true(rates > 3 && rate / rates > 0.05, "iLQR falls by %.3f in %d steps", rates > 0 ? rate / rates : 0, rates);
  check_true(ddp->iterations < ilqr->iterations, "%d and %d iterations", ddp->iterations, ilqr->iterations);
  tg_optimum_free(ddp);
  tg_optimum_free(ilqr);
}

static void stays_in_limits(void **state) {
  (void)state;
  tgOptimum *ddp = swing(SWING("ddp", "80", ", low: -0.8, high: 0.9")), *ilqr = swing(SWING("ilqr", "300", ", low: -0.8, high: 0.9"));
  int held = 0;
  for (int i = 0; i < ddp->n; i++) {
    check_true(ddp->best[i] >= -0.8 && ddp->best[i] <= 0.9, "control %d is %g", i, ddp->best[i]);
    held += ddp->best[i] == -0.8 || ddp->best[i] == 0.9;
  }
  assert_true(held > 0);
  check_true(ddp->best_loss <= ilqr->best_loss * (1 + 1e-6), "%.12g and %.12g", ddp->best_loss, ilqr->best_loss);
  tg_optimum_free(ddp);
  tg_optimum_free(ilqr);
}

// without a cost of controls and far from the target the true Hessian is not positive definite: counted, and overcome
static void says_where_it_is_not_convex(void **state) {
  (void)state;
  tgOptimum *o = swing("model: m.xml\ncontact: softmin\nhorizon: {steps: 90}\n"
                       "start: {joints: [{joint: x, position: [2], velocity: [1]}]}\ncontrols: {start: 1.5}\nlosses:\n"
                       "- {term: joint_position, name: x, weight: 1, target: [6]}\n"
                       "- {term: joint_position, name: y, weight: 5, target: [-6]}\n"
                       "- {term: control, weight: 1.0e-3}\noptimizer: {method: ddp, iterations: 60}\n");
  print_message("%d of %d iterations not positive definite; loss %.6g -> %.6g\n", o->indefinite, o->iterations,
                o->first_loss, o->best_loss);
  assert_true(o->indefinite > 0 && o->indefinite <= o->iterations);
  assert_true(o->best_loss < 0.9 * o->first_loss);
  tg_optimum_free(o);
}

static void refuses_other_contact_models(void **state) {
  (void)state;
  tgTask *t = tgt_task(pendulum, SWING("ddp", "3", ""));
  tgError e;
  assert_int_equal(tg_task_override(t, "lcp", NULL, 0, &e), TG_OK);
  tgOptimum *o = tg_optimize(t, NULL);
  assert_int_equal(o->status, TG_ERR_UNSUPPORTED);
  check_true(strstr(o->error.text, "lcp") != NULL, "'%s'", o->error.text);
  tg_optimum_free(o);
  tg_task_free(t);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(converges_quadratically), cmocka_unit_test(stays_in_limits),
                                     cmocka_unit_test(says_where_it_is_not_convex),
                                     cmocka_unit_test(refuses_other_contact_models)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
