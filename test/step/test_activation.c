// test_activation.c: activations of actuators as part of the state: values against closed forms, a step's Jacobian,
// adjoint and derivatives in parameters under every stepper and contact model, labels at the ends of ranges, snapshots,
// keyframes and what is refused.
#include <stdlib.h>

#include "dyn/dynamics.h"
#include "sim/sim.h"
#include "step/activated.h"
#include "step/param_check.h"
#include "step/whole_check.h"

// ---- derivatives ----

static void test_derivatives(void **state) {
  (void)state;
  for (int v = 0; v < VARIANTS; v++) {
    Rig r = activated(v);
    for (int k = 0; k < 2; k++) {
      tgtRandom random = {.s = (uint64_t)(31 * v + k)};
      activated_state(r.s, &random);
      tgt_check_whole_step(r.s, activated_variant[v].name, &random);
    }
    drop(&r);
  }
}

// activations alone: x = (act, u) to act'
static tgStatus advance(void *ctx, const tgReal *x, tgReal *y) {
  tgSim *s = ctx;
  memcpy(s->act0, x, (size_t)s->m.na * sizeof *x);
  memcpy(s->ctrl, x + s->m.na, (size_t)s->m.nu * sizeof *x);
  tgi_activation(s, h);
  memcpy(y, s->act1, (size_t)s->m.na * sizeof *y);
  return TG_OK;
}

// What a stepper gives in inputs goes to the activations and controls that they are, and nowhere else; the rows of
// activations are their own derivative.
static void test_alone(void **state) {
  (void)state;
  Rig r = activated(0);
  tgtRandom random = {.s = 8};
  activated_state(r.s, &random);
  const tgModel *m = &r.s->m;
  int nx = 2 * m->nv, na = m->na, nu = m->nu, narrow = nx + nu, wide = narrow + na;
  tgReal x[ACTIVATIONS + 16], row[16], rows[ACTIVATIONS * (ACTIVATIONS + 16)];
  tgReal *D = malloc(sizeof *D * (size_t)((nx + na) * wide + nx * narrow)), *given = D + (nx + na) * wide;
  tgt_random_vector(&random, nx * narrow, given);
  memcpy(D, given, (size_t)(nx * narrow) * sizeof *D);
  memcpy(x, r.s->act, (size_t)na * sizeof *x);
  memcpy(x + na, r.s->ctrl, (size_t)nu * sizeof *x);
  memcpy(r.s->act0, r.s->act, (size_t)na * sizeof *x);
  int clamps = 0;
  tgi_activation_jacobian(r.s, h, row, D, &clamps);
  assert_int_equal(clamps, 0);
  for (int i = 0; i < nx; i++)
    for (int j = 0; j < wide; j++) {
      const tgReal *from = given + i * narrow;
      tgReal want = j < nx ? from[j] : 0;
      for (int k = 0; k < nu; k++) {
        int at = m->act_adr[k] >= 0 ? nx + m->act_adr[k] : nx + na + k;
        if (at == j) want = from[nx + k];
      }
      assert_true(D[i * wide + j] == want);
    }
  for (int i = 0; i < na; i++)
    for (int j = 0; j < wide; j++) {
      if (j < nx) assert_true(D[(nx + i) * wide + j] == 0);
      else rows[i * (na + nu) + j - nx] = D[(nx + i) * wide + j];
    }
  tgtDeriv d = {.name = "activations", .nx = na + nu, .ny = na, .map = advance, .ctx = r.s, .tol = tolerance, .step = 1e-4};
  tgt_check_jacobian(&d, x, rows);
  tgReal g[ACTIVATIONS], input[16] = {0}, out[ACTIVATIONS + 16], probe[ACTIVATIONS + 16];
  tgt_random_vector(&random, na, g);
  tgt_random_vector(&random, na + nu, probe);
  advance(r.s, x, out);
  tgi_activation_vjp(r.s, h, g, input, out, out + na, NULL, NULL);
  tgt_check_adjoint(rows, na, na + nu, g, probe, out);
  tgt_random_vector(&random, nu, input);
  tgi_activation_vjp(r.s, h, NULL, input, out, out + na, NULL, NULL);
  for (int k = 0; k < nu; k++) {
    assert_true(out[na + k] == (m->act_adr[k] < 0 ? input[k] : 0));
    if (m->act_adr[k] >= 0) assert_true(out[m->act_adr[k]] == input[k]);
  }
  free(D);
  drop(&r);
}

static void test_parameters(void **state) {
  (void)state;
  tgtParamSeen seen = {0};
#ifdef TG_COMPLEX
  enum { CHECKED = VARIANTS };
#else
  enum { CHECKED = VARIANTS - 2 };   // a barrier's weight is smaller than the steps of differences
#endif
  for (int v = 0; v < CHECKED; v++) {
    Rig r = activated(v);
    tgtRandom random = {.s = (uint64_t)(7 * v + 3)};
    activated_state(r.s, &random);
    tgt_unequal(r.s);
    r.s->act[1] = 0.9999;   // held at the upper end of its range after the step
    r.s->ctrl[1] = 2.5;     // above ctrlrange
    r.s->ctrl[2] = 0.8;
    assert_true(tgt_check_params(r.s, h, &random, tolerance, 1e-2, activated_variant[v].name, &seen));
    drop(&r);
  }
  for (int k = 0; tg_param_name(k) != NULL; k++)
    if (strcmp(tg_param_name(k), "act_timeconst") == 0 || strcmp(tg_param_name(k), "act_actrange") == 0 ||
        strcmp(tg_param_name(k), "act_ctrlrange") == 0)
      check_true(seen.acts[k] == CHECKED, "%s moves something in %d of %d", tg_param_name(k), seen.acts[k], CHECKED);
}

// ---- values ----

// a mass on a rail, pulled by its activation; free of all else
static tgModel *mass(tgActivation activation, double tau, bool limited) {
  tgError e = {0};
  tgDesc *d = tg_desc_create(NULL);
  d->option.gravity[2] = 0;
  int body = tg_desc_add_body(d, 0, "mass"), joint = tg_desc_add_joint(d, body, TG_JOINT_SLIDE, "rail");
  d->body[body].has_inertial = true;
  d->body[body].mass = 2;
  for (int i = 0; i < 3; i++) d->body[body].inertia[i] = 1;
  int drive = tg_desc_add_actuator(d, TG_TRN_JOINT, joint, "drive");
  tgActuatorDesc *a = &d->actuator[drive];
  a->gain[0] = 3;
  a->ctrllimited = true;
  a->ctrlrange[0] = -1;
  a->ctrlrange[1] = 1;
  a->activation = activation;
  a->timeconst = tau;
  a->actlimited = limited;
  a->actrange[0] = -0.01;
  a->actrange[1] = 0.02;
  tgModel *m = tg_model_compile(d, NULL, &e);
  check_true(m != NULL, "%s", e.text);
  tg_desc_free(d);
  return m;
}

// Velocity after T steps is the sum of h (3/2) a_t over activations before each: forces are made with those.
static void check_motion(tgActivation activation, double tau, const double *expected, const double *u, int steps, bool limited) {
  tgModel *m = mass(activation, tau, limited);
  tgSim *s = tgt_sim(m);
  double v = 0;
  s->act[0] = expected[0];
  for (int t = 0; t < steps; t++) {
    s->ctrl[0] = u[t];
    assert_int_equal(tg_sim_step(s, h, NULL), TG_OK);
    v += h * 1.5 * expected[t];
    check_close(tgRe(s->act_force[0]), 3 * expected[t], 1e-13);
    check_close(tgRe(s->act[0]), expected[t + 1], 1e-13);
    check_close(tgRe(s->qvel[0]), v, 1e-13);
  }
  tg_sim_free(s);
  tg_model_free(m);
}

static void test_closed_forms(void **state) {
  (void)state;
  enum { T = 40 };
  double u[T], a[T + 1], tau = 0.03, sum = 0.1;
  for (int t = 0; t < T; t++) u[t] = 1.3 * sin(0.7 * t);
  a[0] = sum;
  for (int t = 0; t < T; t++) a[t + 1] = sum += h * fmin(1, fmax(-1, u[t]));
  check_motion(TG_ACT_INTEGRATOR, 1, a, u, T, false);
  for (int t = 0; t < T; t++) u[t] = 0.6;
  for (int t = 0; t <= T; t++) a[t] = 0.6 + (0.1 - 0.6) * pow(1 - h / tau, t);
  check_motion(TG_ACT_FILTER, tau, a, u, T, false);
  for (int t = 0; t <= T; t++) a[t] = 0.6 + (0.1 - 0.6) * exp(-t * h / tau);
  check_motion(TG_ACT_FILTER_EXACT, tau, a, u, T, false);
  // held at its range, and let go at once when the control turns
  for (int t = 0; t < T; t++) u[t] = t < 20 ? 1 : -1;
  for (int t = 0; t <= T; t++) a[t] = t <= 20 ? fmin(0.02, t * h) : fmax(-0.01, 0.02 - (t - 20) * h);
  check_motion(TG_ACT_INTEGRATOR, 1, a, u, T, true);
}

// Activations are no controls: their size is not limited by ctrlrange.
static void test_ctrlrange(void **state) {
  (void)state;
  tgModel *m = mass(TG_ACT_FILTER, 0.03, false);
  tgSim *s = tgt_sim(m);
  s->act[0] = 5;
  assert_int_equal(tg_sim_step(s, h, NULL), TG_OK);
  check_close(tgRe(s->act_force[0]), 15, 1e-14);
  check_close(tgRe(s->act[0]), 5 - 5 * h / 0.03, 1e-14);
  tg_sim_free(s);
  tg_model_free(m);
}

// ---- ends of ranges ----

static void test_labels(void **state) {
  (void)state;
  tgModel *m = mass(TG_ACT_INTEGRATOR, 1, true);
  tgSim *s = tgt_sim(m);
  // activation before, control, label and d(act')/d(act), d(act')/du
  const struct { double act, u; tgGradLabel label; double by_act, by_u; } at[] = {
      {0.01, 0.5, TG_GRAD_EXACT, 1, h},
      {0.019, 0.9, TG_GRAD_EXACT, 0, 0},            // held
      {0.02, 0, TG_GRAD_ONE_SIDED, 1, h},           // at its end
      {-0.01, 0, TG_GRAD_ONE_SIDED, 1, h},
      {0.01, 1, TG_GRAD_ONE_SIDED, 1, h},           // the control at its end
      {0.01, 1.5, TG_GRAD_EXACT, 1, 0}};            // the control beyond it
  for (size_t i = 0; i < sizeof at / sizeof *at; i++) {
    tgReal D[3 * 4], g[3] = {0, 0, 1}, out[4];
    tgGradInfo info;
    tg_sim_reset(s);
    s->act[0] = at[i].act;
    s->ctrl[0] = at[i].u;
    assert_int_equal(tg_sim_step(s, h, NULL), TG_OK);
    assert_int_equal(tg_sim_step_jacobian(s, D, &info), TG_OK);
    assert_int_equal(info.label, at[i].label);
    check_true((info.label == TG_GRAD_EXACT) == (info.reason[0] == '\0'), "state %zu: %s", i, info.reason);
    check_close(tgRe(D[2 * 4 + 2]), at[i].by_act, 1e-15);
    check_close(tgRe(D[2 * 4 + 3]), at[i].by_u, 1e-15);
    assert_int_equal(tg_sim_step_vjp(s, g, g + 1, out, out + 1, out + 3, NULL, &info), TG_OK);
    assert_int_equal(info.label, at[i].label);
    check_close(tgRe(out[2]), at[i].by_act, 1e-15);
    check_close(tgRe(out[3]), at[i].by_u, 1e-15);
  }
  tg_sim_free(s);
  tg_model_free(m);
}

// ---- state ----

static void test_snapshot(void **state) {
  (void)state;
  Rig r = activated(0);
  tgtRandom random = {.s = 5};
  activated_state(r.s, &random);
  tgReal before[ACTIVATIONS], after[2][ACTIVATIONS];
  memcpy(before, r.s->act, sizeof before);
  char *snapshot = malloc(tg_sim_snapshot_size(r.s));
  tg_sim_save(r.s, snapshot);
  for (int k = 0; k < 2; k++) {
    assert_int_equal(tg_sim_step_growing(r.s, h, NULL), TG_OK);
    memcpy(after[k], r.s->act, sizeof before);
    assert_int_equal(tg_sim_restore(r.s, snapshot), TG_OK);
    assert_memory_equal(before, r.s->act, sizeof before);
  }
  assert_memory_equal(after[0], after[1], sizeof before);
  assert_memory_not_equal(before, after[0], sizeof before);
  Rig other = rig_of_text("<mujoco><worldbody><body><joint type='slide'/><geom size='.1'/></body></worldbody></mujoco>", "lcp", NULL);
  assert_int_equal(tg_sim_restore(other.s, snapshot), TG_ERR_ARG);
  free(snapshot);
  assert_int_equal(tg_sim_reset_key(r.s, 0), TG_OK);
  for (int i = 0; i < ACTIVATIONS; i++) check_close(tgRe(r.s->act[i]), 0.1 * (i + 1), 1e-15);
  tg_sim_reset(r.s);
  for (int i = 0; i < ACTIVATIONS; i++) assert_true(tgRe(tg_sim_act(r.s)[i]) == 0);
  drop(&other);
  drop(&r);
}

// A state's fields are those of its activations before a step too.
static void test_forward(void **state) {
  (void)state;
  tgModel *m = mass(TG_ACT_FILTER, 0.03, false);
  tgSim *s = tgt_sim(m);
  s->act[0] = 0.25;
  assert_int_equal(tg_sim_forward(s), TG_OK);
  check_close(tgRe(s->act_force[0]), 0.75, 1e-15);
  tg_sim_free(s);
  tg_model_free(m);
}

// ---- what is refused ----

static void expect(tgSim *s, tgStatus status, const char *text) {
  assert_int_equal(tg_sim_step(s, h, NULL), status);
  check_true(strstr(tg_sim_error(s)->text, text) != NULL, "'%s' is not in: %s", text, tg_sim_error(s)->text);
}

static void test_refused_states(void **state) {
  (void)state;
  Rig r = activated(0);
  tgReal *tau = tg_sim_param(r.s, "act_timeconst", NULL, NULL);
  r.s->act[1] = NAN;
  expect(r.s, TG_ERR_NOT_FINITE, "act[1] of actuator 'integrator'");
  assert_int_equal(tg_sim_forward(r.s), TG_ERR_NOT_FINITE);
  r.s->act[1] = 0;
  tau[3] = 0;
  expect(r.s, TG_ERR_ARG, "act_timeconst of actuator 'exact' is 0");
  tau[3] = -1;
  expect(r.s, TG_ERR_ARG, "act_timeconst of actuator 'exact' is -1");
  tau[3] = NAN;
  expect(r.s, TG_ERR_NOT_FINITE, "act_timeconst");
  tau[3] = 0.03;
  assert_int_equal(tg_sim_step_growing(r.s, h, NULL), TG_OK);
  drop(&r);
}

static void refuse(tgDesc *d, const char *text) {
  tgError e = {0};
  tgModel *m = tg_model_compile(d, NULL, &e);
  check_true(m == NULL, "taken, not refused with '%s'", text);
  check_true(strstr(e.text, text) != NULL && strstr(e.text, "'drive'") != NULL, "'%s' is not in: %s", text, e.text);
}

static void test_refused_models(void **state) {
  (void)state;
  tgDesc *d = tg_desc_create(NULL);
  int body = tg_desc_add_body(d, 0, NULL), joint = tg_desc_add_joint(d, body, TG_JOINT_SLIDE, "rail");
  d->body[body].has_inertial = true;
  d->body[body].mass = d->body[body].inertia[0] = d->body[body].inertia[1] = d->body[body].inertia[2] = 1;
  int drive = tg_desc_add_actuator(d, TG_TRN_JOINT, joint, "drive");
  tgActuatorDesc *a = &d->actuator[drive];
  const double bad[] = {0, -0.1, NAN, INFINITY};
  for (int i = 0; i < 4; i++) {
    a->activation = i % 2 == 0 ? TG_ACT_FILTER : TG_ACT_FILTER_EXACT;
    a->timeconst = bad[i];
    refuse(d, "time constant");
  }
  a->timeconst = 1;
  a->activation = (tgActivation)9;
  refuse(d, "unknown activation 9");
  a->activation = TG_ACT_INTEGRATOR;
  a->actlimited = true;
  refuse(d, "actrange 0 0 is not increasing");
  a->activation = TG_ACT_NONE;
  a->actrange[1] = 1;
  refuse(d, "actrange is for actuators with an activation");
  a->actlimited = false;
  a->activation = TG_ACT_INTEGRATOR;
  const double act[2] = {1, 2};
  int key = tg_desc_add_key(d, "drive", NULL, 0, NULL, 0, NULL, 0);
  assert_true(tg_desc_key_activations(d, key, act, 2));
  refuse(d, "act has 2 numbers, the model needs 1");
  assert_false(tg_desc_key_activations(d, key + 1, act, 1));
  assert_false(tg_desc_key_activations(d, key, act, -1));
  assert_false(tg_desc_key_activations(NULL, key, act, 1));
  assert_true(tg_desc_key_activations(d, key, act, 1));
  tgError e = {0};
  tgModel *m = tg_model_compile(d, NULL, &e);
  check_true(m != NULL, "%s", e.text);
  tg_model_free(m);
  tg_desc_free(d);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_derivatives), cmocka_unit_test(test_alone), cmocka_unit_test(test_parameters),
      cmocka_unit_test(test_closed_forms),
      cmocka_unit_test(test_ctrlrange), cmocka_unit_test(test_labels), cmocka_unit_test(test_snapshot),
      cmocka_unit_test(test_forward), cmocka_unit_test(test_refused_states), cmocka_unit_test(test_refused_models)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
