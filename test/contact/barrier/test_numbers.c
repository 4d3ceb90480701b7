// test_numbers.c: the barrier's own numbers (mu, slip_speed, limit_range, far_strength, rounding) as parameters: of a step against complex
// steps (real build: Ridders), of its dense derivative, of a rollout; each simulation with its own; what has no
// derivative refused by name.
#include <stdio.h>

#include "step/param_check.h"
#include "support/deriv.h"
#include "support/rig.h"
#include "tangere/barrier.h"
#include "tangere/rollout.h"

static const double h = 0.01;
enum { NUMBERS = 6, ROLL_STEPS = 6 };
static const char *const names[NUMBERS] = {"contact.weight", "contact.slip_speed", "contact.limit_range", "contact.equality_opening",
                                           "contact.far_strength", "contact.rounding"};
// the last two are of `barrier` alone
static int numbers_of(const char *word) { return strcmp(word, "barrier") == 0 ? NUMBERS : NUMBERS - 2; }

// a hinged arm close to its limit, with dry friction, pushes a box that slides on the floor; a weight hangs on an equality
static const char *const xml =
    "<mujoco><compiler angle='radian'/><option timestep='0.01'/><worldbody><geom type='plane' size='5 5 1' friction='0.4'/>"
    "<body pos='0 0 0.2'><joint name='turn' axis='0 0 1' range='-0.5 0.6' limited='true' frictionloss='0.02' damping='0.1'/>"
    "<geom type='box' size='0.2 0.02 0.02' pos='0.2 0 0' friction='0.3'/></body>"
    "<body pos='0.3 0.13 0.17'><freejoint/><geom type='box' size='0.1 0.09 0.15' friction='0.6'/></body>"
    "<body pos='2 0 1'><joint name='hung' type='slide' axis='0 0 1'/>"
    "<inertial pos='0 0 0' mass='1' diaginertia='1 1 1'/></body></worldbody>"
    "<equality><joint joint1='hung'/></equality><actuator><motor name='m' joint='turn'/></actuator></mujoco>";

static Rig make(const char *word) {
  tgAnyContactOptions o = options_of(word, strcmp(word, "barrier") != 0 ? "weight=0.05 slip_speed=1e-2 equality_opening=1e-2"
                                                                     : "weight=1e-4 slip_speed=1e-2 equality_opening=1e-2 far_strength=3 "
                                                                       "rounding=4e-3");
  return rig_of_text(xml, word, &o.of);
}

// pressed and sliding, the hinge near its limit
static void start(tgSim *s) {
  const tgReal q[8] = {0.565, 0.24578, 0.02322, 0.158, 0.96036, 0.01, 0, 0.27876}, v[7] = {-0.1, 0.1, 0.5, 0.02, 0.1, 0, -0.2};
  memcpy(s->qpos, q, sizeof q);
  memcpy(s->qvel, v, sizeof v);
  s->ctrl[0] = -1;
}

typedef struct Map { tgSim *s; int n; tgReal q0[16], v0[16], q1[16]; } Map;

static tgStatus step(void *ctx, const tgReal *x, tgReal *y) {
  Map *m = ctx;
  tgSim *s = m->s;
  int nv = s->m.nv;
  for (int k = 0; k < m->n; k++) *tg_sim_param(s, names[k], NULL, NULL) = tgExp(x[k]);
  memcpy(s->qpos, m->q0, sizeof(tgReal) * (size_t)s->m.nq);
  memcpy(s->qvel, m->v0, sizeof(tgReal) * (size_t)nv);
  TG_TRY(tg_sim_step_growing(s, h, NULL));
  tg_model_difference(s->model, m->q1, s->qpos, y);
  memcpy(y + nv, s->qvel, sizeof(tgReal) * (size_t)nv);
  return TG_OK;
}

// d(q', v')/d(log of the numbers), so that they count alike; all of them, and the adjoint the same
static void check_step(const char *word) {
  Rig r = make(word);
  tgSim *s = r.s;
  int nv = s->m.nv, ny = 2 * nv, n = numbers_of(word), size;
  tgReal D[64 * NUMBERS], x[NUMBERS], w[64];
  Map m = {.s = s, .n = n};
  tgtRandom random = {7};
  tgGradInfo info;
  tgError e = {0};
  start(s);
  for (int k = 0; k < 3; k++) {
    memcpy(m.q0, s->qpos, sizeof(tgReal) * (size_t)s->m.nq);
    memcpy(m.v0, s->qvel, sizeof(tgReal) * (size_t)nv);
    tgStatus status = tg_sim_step_growing(s, h, NULL);
    check_true(status == TG_OK, "%s: %s", word, s->error.text);
  }
  memcpy(m.q1, s->qpos, sizeof(tgReal) * (size_t)s->m.nq);
  tgParamGrad *p = tg_param_grad_create_contact(r.c, names, n, NULL, &e);
  check_true(p != NULL, "%s", e.text);
  tgStatus status = tg_sim_step_param_jacobian(s, p, D, &info);
  check_true(status == TG_OK, "%s: %s", word, s->error.text);
  check_true(info.label == TG_GRAD_EXACT, "%s", info.reason);
  tg_param_grad_clear(p);
  tgt_random_vector(&random, ny, w);
  assert_int_equal(tg_sim_step_vjp(s, w, w + nv, NULL, NULL, NULL, p, &info), TG_OK);
  const tgReal *g = tg_param_grad_values(p, &size);
  assert_int_equal(size, n);
  const tgReal probe[NUMBERS] = {1e-4, 0.7, -1.3, 0.4, 0.2, -0.6};
  tgt_check_adjoint(D, ny, n, w, probe, g);
  for (int k = 0; k < n; k++) {
    double most = 0;
    x[k] = tgLog(*tg_sim_param(s, names[k], NULL, NULL));
    for (int i = 0; i < ny; i++) most = fmax(most, fabs(tgRe(D[i * n + k] *= tgExp(x[k]))));
    check_true(most > 1e-6, "%s: %s does nothing", word, names[k]);
  }
  const int rows[] = {nv, nv}, cols[] = {1, 1, 1, 1, 1, 1};
#ifdef TG_COMPLEX
  const double tolerance = 1e-7;
#else
  const double tolerance = 1e-5;
#endif
  tgtDeriv d = {.name = word, .nx = n, .ny = ny, .map = step, .ctx = &m, .tol = tolerance, .step = 1e-2,
                .rows = rows, .nrows = 2, .cols = cols, .ncols = n};
  tgt_check_jacobian(&d, x, D);
  tg_param_grad_free(p);
  drop(&r);
}

static void of_a_step(void **state) {
  (void)state;
  check_step("barrier");
  check_step("sdrs");
  check_step("ipc");
}

// ---- rollout: L of the last state ----

typedef struct Roll { tgRollout *r; tgReal q0[16], v0[16], u[ROLL_STEPS], number[NUMBERS]; double loss; } Roll;

static tgStatus set_numbers(void *ctx, tgSim *s) {
  const Roll *m = ctx;
  for (int k = 0; k < NUMBERS; k++) *tg_sim_param(s, names[k], NULL, NULL) = m->number[k];
  return TG_OK;
}

static tgStatus loss(void *ctx, tgSim *s, int t, int steps, tgReal *value, tgReal *gq, tgReal *gv, tgReal *gu) {
  (void)ctx, (void)gq, (void)gu;
  if (t < steps) return TG_OK;
  for (int d = 0; d < s->m.nv; d++) {
    *value += s->qvel[d] * s->qvel[d] * (d + 1);
    if (gv != NULL) gv[d] = 2 * (d + 1) * s->qvel[d];
  }
  return TG_OK;
}

static tgStatus loss_of_numbers(void *ctx, const tgReal *x, tgReal *y) {
  Roll *m = ctx;
  tgRolloutResult result;
  for (int k = 0; k < NUMBERS; k++) m->number[k] = tgExp(x[k]);
  tgRolloutRun run = {.q0 = m->q0, .v0 = m->v0, .u = m->u, .loss = loss, .setup = set_numbers, .setup_ctx = m};
  tgStatus status = tg_rollout_run(m->r, &run, &result);
  *y = result.loss;
  return status;
}

static void of_a_rollout(void **state) {
  (void)state;
  Rig r = make("barrier"), other = make("barrier");
  tgError e = {0};
  tgRolloutOptions o = tg_rollout_default();
  o.steps = ROLL_STEPS;
  Roll m = {.r = tg_rollout_create(r.m, r.c, &o, &e)};
  check_true(m.r != NULL, "%s", e.text);
  start(r.s);
  memcpy(m.q0, r.s->qpos, sizeof(tgReal) * (size_t)r.m->nq);
  memcpy(m.v0, r.s->qvel, sizeof(tgReal) * (size_t)r.m->nv);
  tgReal x[NUMBERS], g[NUMBERS];
  for (int k = 0; k < NUMBERS; k++) x[k] = tgLog(*tg_sim_param(r.s, names[k], NULL, NULL));
  for (int k = 0; k < ROLL_STEPS; k++) m.u[k] = -0.5;
  tgParamGrad *p = tg_param_grad_create_contact(r.c, names, NUMBERS, NULL, &e),
              *foreign = tg_param_grad_create_contact(other.c, names, NUMBERS, NULL, &e);
  assert_true(p != NULL && foreign != NULL);
  tgRolloutRun run = {.q0 = m.q0, .v0 = m.v0, .u = m.u, .loss = loss, .loss_param = tg_loss_without_parameters, .dp = foreign};
  tgRolloutResult result;
  assert_int_equal(tg_rollout_run(m.r, &run, &result), TG_ERR_ARG);
  run.dp = p;
  tgStatus status = tg_rollout_run(m.r, &run, &result);
  check_true(status == TG_OK, "%s", result.error.text);
  for (int k = 0; k < NUMBERS; k++) g[k] = tg_param_grad_values(p, NULL)[k] * tgExp(x[k]);
#ifdef TG_COMPLEX
  const double tolerance = 1e-7;
#else
  const double tolerance = 1e-5;
#endif
  const int cols[] = {1, 1, 1, 1, 1, 1};
  tgtDeriv d = {.name = "rollout", .nx = NUMBERS, .ny = 1, .map = loss_of_numbers, .ctx = &m, .tol = tolerance,
                .step = 1e-3, .cols = cols, .ncols = NUMBERS};
  tgt_check_jacobian(&d, x, g);
  tg_param_grad_free(p);
  tg_param_grad_free(foreign);
  tg_rollout_free(m.r);
  drop(&r);
  drop(&other);
}

// ---- each simulation its own ----

static void of_each_simulation(void **state) {
  (void)state;
  Rig r = make("barrier");
  tgBarrierOptions o = tg_barrier_default();
  o.weight = 3e-3;
  o.slip_speed = 1e-2;
  o.equality_opening = 1e-2;
  o.far_strength = 5;
  o.rounding = 1e-2;
  Rig made = rig_of_text(xml, "barrier", &o.of);
  tgSim *second = tg_sim_create(r.m, r.c, NULL, NULL);
  int rows, cols;
  tgReal *mu = tg_sim_param(second, "contact.weight", &rows, &cols), before[16];
  assert_true(mu != NULL && rows == 1 && cols == 1);
  assert_null(tg_sim_param(second, "contact.eps", NULL, NULL));
  assert_null(tg_sim_param(second, "contact.erp", NULL, NULL));
  *mu = 3e-3;
  *tg_sim_param(second, "contact.far_strength", NULL, NULL) = 5;
  *tg_sim_param(second, "contact.rounding", NULL, NULL) = 1e-2;
  // room made anew keeps it
  assert_int_equal(tg_sim_reserve(second, 200, 10), TG_OK);
  mu = tg_sim_param(second, "contact.weight", NULL, NULL);
  assert_true(tgRe(*mu) == 3e-3 && tgRe(*tg_sim_param(r.s, "contact.weight", NULL, NULL)) == 1e-4);
  // the step is that of a contact model made with it, to the bit
  start(second);
  start(made.s);
  start(r.s);
  for (int k = 0; k < 3; k++) {
    assert_int_equal(tg_sim_step_growing(second, h, NULL), TG_OK);
    assert_int_equal(tg_sim_step_growing(made.s, h, NULL), TG_OK);
    assert_int_equal(tg_sim_step_growing(r.s, h, NULL), TG_OK);
  }
  assert_memory_equal(second->qpos, made.s->qpos, sizeof(tgReal) * (size_t)r.m->nq);
  assert_memory_not_equal(second->qpos, r.s->qpos, sizeof(tgReal) * (size_t)r.m->nq);
  // outside its range: named, and nothing moves
  memcpy(before, second->qpos, sizeof(tgReal) * (size_t)r.m->nq);
  *mu = -1;
  assert_int_equal(tg_sim_step(second, h, NULL), TG_ERR_ARG);
  check_true(strstr(second->error.text, "contact.weight") != NULL && strstr(second->error.text, "-1") != NULL, "%s", second->error.text);
  *mu = NAN;
  assert_int_equal(tg_sim_step(second, h, NULL), TG_ERR_NOT_FINITE);
  assert_memory_equal(second->qpos, before, sizeof(tgReal) * (size_t)r.m->nq);
  tg_sim_reset(second);
  assert_true(tgRe(*mu) == 1e-4);
  tg_sim_free(second);
  drop(&r);
  drop(&made);
}

// ---- what has no derivative ----

static void refused(const tgContact *c, const char *name, tgStatus status, const char *text) {
  tgError e = {0};
  assert_null(tg_param_grad_create_contact(c, &name, 1, NULL, &e));
  check_true(e.status == status && strstr(e.text, name) != NULL && strstr(e.text, text) != NULL, "%s: %d %s", name, e.status, e.text);
}

static void without_derivative(void **state) {
  (void)state;
  Rig r = make("barrier");
  tgError e = {0};
  tgContact *lcp = tg_contact_create(r.m, "lcp", NULL, &e);
  const char *mu = "contact.weight";
  refused(r.c, "contact.eps", TG_ERR_UNSUPPORTED, "barrier");
  refused(r.c, "contact.stiffness", TG_ERR_ARG, "contact.slip_speed");
  refused(lcp, "contact.erp", TG_ERR_UNSUPPORTED, "lcp");
  refused(lcp, "contact.restitution_speed", TG_ERR_UNSUPPORTED, "lcp");
  refused(lcp, "contact.weight", TG_ERR_ARG, "lcp");
  assert_null(tg_contact_param_name(lcp, 0));
  assert_null(tg_param_grad_create(r.m, &mu, 1, NULL, &e));
  check_true(strstr(e.text, "tg_param_grad_create_contact") != NULL, "%s", e.text);
  // all of them: the model's, then the contact model's
  tgParamGrad *all = tg_param_grad_create_contact(r.c, NULL, 0, NULL, &e), *model = tg_param_grad_create(r.m, NULL, 0, NULL, &e);
  int n, nmodel, listed = 0;
  tg_param_grad_values(all, &n);
  tg_param_grad_values(model, &nmodel);
  while (tg_contact_param_name(r.c, listed) != NULL) listed++;
  assert_true(listed == NUMBERS && n == nmodel + NUMBERS && tg_param_grad_field(all, mu, NULL, NULL) != NULL);
  assert_null(tg_param_grad_field(model, mu, NULL, NULL));
  tg_param_grad_free(all);
  tg_param_grad_free(model);
  tg_contact_free(lcp);
  drop(&r);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(of_a_step), cmocka_unit_test(of_a_rollout), cmocka_unit_test(of_each_simulation),
                                     cmocka_unit_test(without_derivative)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
