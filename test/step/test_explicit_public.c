// test_explicit_public.c: advice on the step's size against motions a little under and over it, for every integrator;
// inverse dynamics with contact against the acceleration that its force gives; what is refused.
#include <math.h>

#include "contact/softmin/soft_scene.h"
#include "step/explicit.h"
#include "support/tree.h"
#include "tangere/grad.h"
#include "tangere/rollout.h"

// a ball pressed far into a plane: its spring is then linear, k for the weight of 1 kg a mm deep
static const char *const ball =
    "<mujoco><option gravity='0 0 -2000'/><worldbody><geom type='plane' size='1 1 1' condim='1'/>"
    "<body pos='0 0 .1'><joint type='slide' axis='0 0 1'/><geom type='sphere' size='.1' mass='2' condim='1'/></body></worldbody></mujoco>";

static Rig make(tgIntegrator integrator, double dissipation_speed) {
  tgSoftminOptions o = tg_softmin_default();
  o.spacing = 0.05;
  o.stiffness = 20000;
  o.eps2 = o.eps3 = 0.001;
  o.integrator = integrator;
  o.dissipation_speed = dissipation_speed;
  return rig_of_text(ball, "softmin", &o.of);
}

// largest deviation from the rest depth in the last of n steps, over that in the first ones
static double grows(Rig *r, double h, int n) {
  double rest = -2000 * 2 / 20000.0, first = 0, last = 0;
  tg_sim_reset(r->s);
  r->s->qpos[0] += rest + 1e-3;
  for (int k = 0; k < n; k++) {
    if (tg_sim_step(r->s, h, NULL) != TG_OK) return INFINITY;
    double off = fabs(r->s->qpos[0] - rest);
    if (!(off < 0.1)) return INFINITY;
    if (k < 20) first = fmax(first, off);
    if (k >= n - 20) last = fmax(last, off);
  }
  return last / first;
}

static void test_advice(void **state) {
  (void)state;
  static const tgIntegrator kinds[] = {TG_INTEGRATOR_EULER, TG_INTEGRATOR_RK4};
  for (int i = 0; i < 2; i++) {
    Rig r = make(kinds[i], 1e8);
    tgStepAdvice a;
    grows(&r, 1e-4, 30);
    assert_int_equal(tg_sim_step_advice(r.s, &a), TG_OK);
    double omega = sqrt(20000 / 2.0), limit = i == 0 ? 2 / omega : 2 * sqrt(2) / omega;
    check_true(fabs(a.h - limit) < 1e-4 * limit, "advice %.8g, wanted %.8g (%s)", a.h, limit, a.reason);
    check_true(fabs(a.frequency - omega) < 1e-6 * omega && strstr(a.reason, "geom") != NULL, "%g: %s", a.frequency, a.reason);
    double under = grows(&r, 0.97 * a.h, 3000), over = grows(&r, 1.03 * a.h, 3000);
    check_true(under < 1.5, "a step of 0.97 of the advice grows by %g", under);
    check_true(over > 10, "a step of 1.03 of the advice grows by %g", over);
    drop(&r);
  }
}

// each step's own advice: that of tg_sim_step_advice at its start, counted over a rollout, and no bit of the motion changes
static void test_watch(void **state) {
  (void)state;
  enum { T = 40 };
  for (int i = 0; i < 2; i++) {
    tgSoftminOptions o = soft_options();
    o.integrator = i == 0 ? TG_INTEGRATOR_EULER : TG_INTEGRATOR_RK4;
    Rig r = rig_of_text(soft_heap_small, "softmin", &o.of), plain = rig_of_text(soft_heap_small, "softmin", &o.of);
    const double h = 1.5e-3;
    int longer = 0;
    double least = INFINITY;
    tgStepInfo info;
    tg_sim_watch_stability(r.s, true);
    tg_sim_reset(r.s);
    for (int t = 0; t < T; t++) {
      tgStepAdvice a;
      assert_int_equal(tg_sim_step_advice(r.s, &a), TG_OK);
      assert_int_equal(tg_sim_step(r.s, h, &info), TG_OK);
      assert_true(info.stable_step == a.h && info.unstable == (h > a.h) && isfinite(a.h));
      longer += info.unstable;
      least = fmin(least, a.h);
      assert_int_equal(tg_sim_step(plain.s, h, &info), TG_OK);
      assert_true(info.stable_step == INFINITY && !info.unstable);
    }
    assert_memory_equal(r.s->qpos, plain.s->qpos, (size_t)r.m->nq * sizeof(double));
    assert_memory_equal(r.s->qvel, plain.s->qvel, (size_t)r.m->nv * sizeof(double));
    tgRolloutOptions ro = tg_rollout_default();
    ro.steps = T;
    ro.h = h;
    tgRollout *rollout = tg_rollout_create(r.m, r.c, &ro, NULL);
    tgRolloutRun run = {.q0 = NULL};
    tgRolloutResult result;
    assert_int_equal(tg_rollout_run(rollout, &run, &result), TG_OK);
    assert_true(result.unstable == 0 && result.stable_step == INFINITY);
    tg_sim_watch_stability(tg_rollout_sim(rollout), true);
    assert_int_equal(tg_rollout_run(rollout, &run, &result), TG_OK);
    check_true(result.unstable == longer && result.stable_step == least, "%d of %d steps, least %g; one by one %d, %g",
               result.unstable, T, result.stable_step, longer, least);
    // at a tenth of the least none is too long, at ten times each
    tgStepInfo short_step, long_step;
    assert_int_equal(tg_sim_step(r.s, 0.1 * least, &short_step), TG_OK);
    assert_int_equal(tg_sim_step(r.s, 10 * short_step.stable_step, &long_step), TG_OK);
    assert_true(!short_step.unstable && long_step.unstable);
    tg_rollout_free(rollout);
    drop(&r);
    drop(&plain);
  }
  Rig other = rig_of_text(soft_heap_small, "lcp", NULL);
  tgStepInfo info;
  tg_sim_watch_stability(other.s, true);
  assert_int_equal(tg_sim_step(other.s, 1e-3, &info), TG_OK);
  assert_true(info.stable_step == INFINITY && !info.unstable);
  drop(&other);
}

// A derivative of a step that is longer than it is stable is not called exact, watched or not: by what acts at its start, not by what may.
static void test_label(void **state) {
  (void)state;
  static const char *const xml =
      "<mujoco><worldbody><geom name=\"floor\" type=\"plane\" size=\"5 5 1\"/><body pos=\"0 0 0.1\"><freejoint/>"
      "<geom name=\"ball\" size=\"0.1\" mass=\"1\"/></body></worldbody></mujoco>";
  for (int i = 0; i < 2; i++) {
    tgSoftminOptions o = tg_softmin_default();
    o.integrator = i == 0 ? TG_INTEGRATOR_EULER : TG_INTEGRATOR_RK4;
    Rig r = rig_of_text(xml, "softmin", &o.of);
    tgStepAdvice a;
    assert_int_equal(tg_sim_step_advice(r.s, &a), TG_OK);
    for (int longer = 0; longer < 2; longer++)
      for (int high = 0; high < 2; high++) {
        tgReal w[6] = {1, 2, 3, 4, 5, 6}, g[2][12], D[12 * 12];
        tgGradInfo info;
        bool told = longer && !high;
        tg_sim_reset(r.s);
        tg_sim_qpos(r.s)[2] = high ? 0.5 : 0.0999;
        assert_int_equal(tg_sim_step(r.s, (longer ? 8 : 0.5) * a.h, NULL), TG_OK);
        for (int k = 0; k < 2; k++) {
          assert_int_equal(tg_sim_step_vjp(r.s, w, w, g[k], g[k] + 6, NULL, NULL, &info), TG_OK);
          check_true(info.label == (told ? TG_GRAD_UNSTABLE : TG_GRAD_EXACT) && (strstr(info.reason, "ball") != NULL) == told,
                     "%d %d %d: label %d, '%s'", i, longer, high, info.label, info.reason);
        }
        assert_memory_equal(g[0], g[1], sizeof g[0]);
        assert_int_equal(tg_sim_step_jacobian(r.s, D, &info), TG_OK);
        assert_int_equal(info.label, told ? TG_GRAD_UNSTABLE : TG_GRAD_EXACT);
      }
    drop(&r);
  }
}

// formulas against the spectral radius of one step of the mode
static double radius(tgIntegrator k, double h, double w2, double b) {
  double A[4] = {0, 1, -w2, -b}, R[4], P[4] = {1, 0, 0, 1};
  if (k == TG_INTEGRATOR_EULER) {
    R[2] = -h * w2, R[3] = 1 - h * b, R[0] = 1 + h * R[2], R[1] = h * R[3];
  } else {
    int order = k == TG_INTEGRATOR_RK4 ? 4 : 1;
    double factor = 1;
    memcpy(R, P, sizeof R);
    for (int n = 1; n <= order; n++) {
      double Q[4] = {P[0] * A[0] + P[1] * A[2], P[0] * A[1] + P[1] * A[3], P[2] * A[0] + P[3] * A[2], P[2] * A[1] + P[3] * A[3]};
      memcpy(P, Q, sizeof P);
      factor *= h / n;
      for (int i = 0; i < 4; i++) R[i] += factor * P[i];
    }
  }
  double tr = R[0] + R[3], det = R[0] * R[3] - R[1] * R[2], d = tr * tr / 4 - det;
  return d < 0 ? sqrt(det) : fabs(tr) / 2 + sqrt(d);
}

static void test_modes(void **state) {
  (void)state;
  static const double damping[] = {0, 0.1, 0.7, 1.9, 2.1, 5, 40};
  for (int k = 0; k < 3; k++)
    for (size_t i = 0; i < sizeof damping / sizeof *damping; i++) {
      double w = 300, b = damping[i] * w, h = tgi_explicit_stable_step((tgIntegrator)k, w * w, b);
      if (h == 0) {
        assert_true(k == TG_INTEGRATOR_EXPLICIT && b == 0);
        continue;
      }
      check_true(radius((tgIntegrator)k, 0.999 * h, w * w, b) <= 1 + 1e-12,
                 "integrator %d, damping %g: unstable under %g", k, damping[i], h);
      check_true(radius((tgIntegrator)k, 1.001 * h, w * w, b) > 1, "integrator %d, damping %g: stable over %g", k, damping[i], h);
    }
  assert_true(isinf(tgi_explicit_stable_step(TG_INTEGRATOR_EULER, 0, 0)));
  assert_true(fabs(tgi_explicit_stable_step(TG_INTEGRATOR_EULER, 0, 100) - 0.02) < 1e-15);
}

// qfrc_applied = tau - passive - actuators makes the acceleration again
static void test_inverse(void **state) {
  (void)state;
  static const char *const text[] = {soft_heap_small, soft_arm};
  for (int scene = 0; scene < 2; scene++) {
    tgSoftminOptions o = soft_options();
    o.integrator = TG_INTEGRATOR_EXPLICIT;
    Rig r = rig_of_text(text[scene], "softmin", &o.of);
    tgtRandom random = {.s = (uint64_t)scene};
    int nv = r.m->nv;
    double a[64], tau[64], v[64];
    soft_state(r.s, &random, 0);
    memset(r.s->qfrc_applied, 0, (size_t)nv * sizeof(double));
    tgt_random_vector(&random, nv, a);
    assert_int_equal(tg_sim_inverse_contact(r.s, a, tau), TG_OK);
    for (int d = 0; d < nv; d++) r.s->qfrc_applied[d] = tau[d] - r.s->qfrc_actuator[d] - r.s->qfrc_passive[d];
    memcpy(v, r.s->qvel, (size_t)nv * sizeof *v);
    assert_int_equal(tg_sim_step(r.s, 0.01, NULL), TG_OK);
    double most = 1;
    for (int d = 0; d < nv; d++) most = fmax(most, fabs(tau[d]));
    for (int d = 0; d < nv; d++)
      check_true(fabs((r.s->qvel[d] - v[d]) / 0.01 - a[d]) < 1e-10 * most, "dof %d: %.12g, wanted %.12g", d,
                 (r.s->qvel[d] - v[d]) / 0.01, a[d]);
    drop(&r);
  }
}

// the gradient check takes force models
static void test_gradient_check(void **state) {
  (void)state;
  tgSoftminOptions o = soft_options();
  Rig r = rig_of_text(soft_heap_small, "softmin", &o.of);
  tgtRandom random = {.s = 3};
  tgGradCheckOptions c = tg_grad_check_default();
  tgGradCheck check = {.pass = true};
  c.h = 0.001;
  soft_state(r.s, &random, 0);
  assert_int_equal(tg_grad_check_step(r.s, &c, &check), TG_OK);
  assert_int_equal(tg_grad_check_parameters(r.s, &c, &check), TG_OK);
  for (int i = 0; i < check.nblock; i++)
    check_true(check.block[i].pass, "%s: %g > %g (%s)", check.block[i].name, check.block[i].error,
               check.block[i].tolerance, check.block[i].col_name);
  drop(&r);
}

static void test_refused(void **state) {
  (void)state;
  Rig r = rig_of_text(ball, "lcp", NULL);
  tgStepAdvice a;
  double x = 0;
  assert_int_equal(tg_sim_step_advice(r.s, &a), TG_ERR_UNSUPPORTED);
  assert_int_equal(tg_sim_inverse_contact(r.s, &x, &x), TG_ERR_UNSUPPORTED);
  assert_int_equal(tg_sim_inverse_contact(r.s, NULL, &x), TG_ERR_ARG);
  assert_int_equal(tg_sim_inverse_contact(r.s, &x, NULL), TG_ERR_ARG);
  assert_int_equal(tg_sim_inverse_contact(NULL, &x, &x), TG_ERR_ARG);
  drop(&r);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_advice), cmocka_unit_test(test_watch), cmocka_unit_test(test_label),
                                     cmocka_unit_test(test_modes), cmocka_unit_test(test_inverse),
                                     cmocka_unit_test(test_gradient_check), cmocka_unit_test(test_refused)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
