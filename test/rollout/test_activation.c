// test_activation.c: activations through rollouts: rows of a trajectory, the gradient in the first activations under
// every stepper and at every budget, gradients of another contact model, second derivatives, batches.
#include <stdlib.h>

#include "step/activated.h"
#include "support/deriv.h"
#include "tangere/second.h"

#ifdef TG_COMPLEX
static const double tolerance = 1e-9;
#else
static const double tolerance = 1e-5;
#endif
enum { T = 6 };

// ---- a loss of all of the state and of the controls ----

static tgReal weight(int t, int i) { return 0.3 + 0.1 * ((3 * t + 7 * i) % 11); }

static tgStatus loss(void *ctx, tgSim *s, int t, int steps, tgReal *value, tgReal *gq, tgReal *gv, tgReal *gu) {
  (void)ctx;
  const tgModel *m = &s->m;
  tgReal w[32];
  tgi_sim_take_w(s, w);
  for (int i = 0; i < m->nv; i++) {
    *value += weight(t, i) * s->qpos[i] * s->qpos[i] / 2;
    if (gq != NULL) gq[i] = weight(t, i) * s->qpos[i];
  }
  for (int i = 0; i < tgi_nw(m); i++) {
    *value += weight(t, i + 20) * w[i] * w[i] / 2;
    if (gv != NULL) gv[i] = weight(t, i + 20) * w[i];
  }
  for (int i = 0; i < m->nu && t < steps; i++) {
    *value += weight(t, i + 40) * s->ctrl[i] * s->ctrl[i] / 2;
    if (gu != NULL) gu[i] = weight(t, i + 40) * s->ctrl[i];
  }
  return TG_OK;
}

// ---- a rollout as a map of x = (q0, w0, u) to its loss; joints are hinges and slides, so tangents add ----

typedef struct Motion {
  tgRollout *r;
  int nv, nw, nu, nx;
  tgReal x[128], g[128];        // where, and the gradient
  tgReal q[16 * (T + 1)], w[32 * (T + 1)];
  tgRolloutResult result;
} Motion;

static tgRolloutRun run_of(const Motion *k, const tgReal *x) {
  return (tgRolloutRun){.q0 = x, .v0 = x + k->nv, .u = x + k->nv + k->nw, .loss = loss};
}

static tgStatus value(void *ctx, const tgReal *x, tgReal *y) {
  Motion *k = ctx;
  tgRolloutRun run = run_of(k, x);
  tgStatus status = tg_rollout_run(k->r, &run, &k->result);
  *y = k->result.loss;
  return status;
}

static void gradient(Motion *k, const char *name) {
  tgRolloutRun run = run_of(k, k->x);
  run.q = k->q;
  run.v = k->w;
  run.dq0 = k->g;
  run.dv0 = k->g + k->nv;
  run.du = k->g + k->nv + k->nw;
  check_true(tg_rollout_run(k->r, &run, &k->result) == TG_OK, "%s: %s", name, k->result.error.text);
}

static Motion motion(const Rig *rig, size_t tape_bytes, const tgContact *by) {
  tgRolloutOptions o = tg_rollout_default();
  tgError e = {0};
  o.steps = T;
  o.tape_bytes = tape_bytes;
  o.gradient_contact = by;
  const tgModel *m = rig->m;
  Motion k = {.r = tg_rollout_create(m, rig->c, &o, &e), .nv = m->nv, .nw = tgi_nw(m), .nu = m->nu};
  check_true(k.r != NULL, "%s", e.text);
  assert_int_equal(m->nq, m->nv);
  k.nx = k.nv + k.nw + T * k.nu;
  assert_true(k.nx <= 128 && k.nv <= 16 && k.nw <= 32);
  tgtRandom random = {.s = 11};
  activated_state(rig->s, &random);
  memcpy(k.x, rig->s->qpos, (size_t)k.nv * sizeof *k.x);
  tgi_sim_take_w(rig->s, k.x + k.nv);
  for (int i = 0; i < T * k.nu; i++) k.x[k.nv + k.nw + i] = tgt_uniform(&random, -0.8, 0.8);
  return k;
}

static void test_gradient(void **state) {
  (void)state;
  for (int v = 0; v < VARIANTS; v++) {
    const char *name = activated_variant[v].name;
    Rig rig = activated(v);
    Motion k = motion(&rig, 0, NULL);
    gradient(&k, name);
    tgtDeriv d = {.name = name, .nx = k.nx, .ny = 1, .map = value, .ctx = &k, .tol = tolerance, .step = 1e-4};
    tgt_check_jacobian(&d, k.x, k.g);
    // the rows are the states of steps made one by one
    tgReal w[32];
    memcpy(rig.s->qpos, k.x, (size_t)k.nv * sizeof *k.x);
    tgi_sim_put_w(rig.s, k.x + k.nv);
    for (int t = 0; t <= T; t++) {
      tgi_sim_take_w(rig.s, w);
      assert_memory_equal(w, k.w + t * k.nw, (size_t)k.nw * sizeof *w);
      assert_memory_equal(rig.s->qpos, k.q + t * k.nv, (size_t)k.nv * sizeof *w);
      if (t == T) continue;
      memcpy(rig.s->ctrl, k.x + k.nv + k.nw + t * k.nu, (size_t)k.nu * sizeof *w);
      assert_int_equal(tg_sim_step_growing(rig.s, tg_model_timestep(rig.m), NULL), TG_OK);
    }
    tg_rollout_free(k.r);
    drop(&rig);
  }
}

// The same bits from the tape and from steps made again.
static void test_budget(void **state) {
  (void)state;
  for (int v = 0; v < VARIANTS; v++) {
    Rig rig = activated(v);
    Motion all = motion(&rig, 0, NULL);
    Motion one = motion(&rig, tg_rollout_least_bytes(all.r), NULL);
    gradient(&all, "all");
    gradient(&one, "one");
    assert_true(one.result.forward_steps > all.result.forward_steps);
    assert_memory_equal(one.g, all.g, (size_t)all.nx * sizeof *all.g);
    tg_rollout_free(all.r);
    tg_rollout_free(one.r);
    drop(&rig);
  }
}

// A rollout's Jacobians are those of its steps, of all of the state.
static void test_jacobians(void **state) {
  (void)state;
  Rig rig = activated(0);
  Motion k = motion(&rig, 0, NULL);
  int ny = k.nv + k.nw, nx = ny + k.nu;
  size_t block = (size_t)ny * (size_t)nx;
  tgReal *D = malloc(sizeof *D * block * (T + 1)), *one = D + T * block;
  tgRolloutRun run = run_of(&k, k.x);
  run.D = D;
  assert_int_equal(tg_rollout_run(k.r, &run, &k.result), TG_OK);
  memcpy(rig.s->qpos, k.x, (size_t)k.nv * sizeof *k.x);
  tgi_sim_put_w(rig.s, k.x + k.nv);
  for (int t = 0; t < T; t++) {
    memcpy(rig.s->ctrl, k.x + k.nv + k.nw + t * k.nu, (size_t)k.nu * sizeof *k.x);
    assert_int_equal(tg_sim_step_growing(rig.s, tg_model_timestep(rig.m), NULL), TG_OK);
    assert_int_equal(tg_sim_step_jacobian(rig.s, one, NULL), TG_OK);
    assert_memory_equal(D + (size_t)t * block, one, block * sizeof *D);
  }
  free(D);
  tg_rollout_free(k.r);
  drop(&rig);
}

// Steps of lcp, derivatives of softmin's: each is that of softmin's own step from the same (q, v, act).
static void test_foreign(void **state) {
  (void)state;
  Rig rig = activated(0);
  tgAnyContactOptions o = options_of("softmin", SOFT);
  tgError e = {0};
  tgContact *by = tg_contact_create_gradient(rig.m, rig.c, "softmin", &o.of, &e);
  check_true(by != NULL, "%s", e.text);
  Motion k = motion(&rig, 0, by);
  gradient(&k, "lcp by softmin");
  assert_int_equal(k.result.grad.label, TG_GRAD_SURROGATE);
  // by hand: adjoints of softmin's steps at the rows of the trajectory
  tgSim *s = tg_sim_create(rig.m, by, NULL, &e);
  double h = tg_model_timestep(rig.m);
  tgReal a[64], b[64], g[64];
  for (int t = T; t >= 0; t--) {
    memcpy(s->qpos, k.q + t * k.nv, (size_t)k.nv * sizeof *a);
    tgi_sim_put_w(s, k.w + t * k.nw);
    tgReal unused = 0;
    for (int i = 0; i < 64; i++) g[i] = 0;
    if (t < T) {
      memcpy(s->ctrl, k.x + k.nv + k.nw + t * k.nu, (size_t)k.nu * sizeof *a);
      s->visiting = true;
      assert_int_equal(tg_sim_step_growing(s, h, NULL), TG_OK);
      assert_int_equal(tg_sim_step_vjp(s, a, a + k.nv, b, b + k.nv, b + k.nv + k.nw, NULL, NULL), TG_OK);
      memcpy(s->qpos, k.q + t * k.nv, (size_t)k.nv * sizeof *a);
      tgi_sim_put_w(s, k.w + t * k.nw);
    }
    assert_int_equal(loss(NULL, s, t, T, &unused, g, g + k.nv, t < T ? g + k.nv + k.nw : NULL), TG_OK);
    for (int i = 0; i < k.nv + k.nw + k.nu; i++) a[i] = g[i] + (t < T ? b[i] : 0);
    for (int i = 0; i < k.nu && t < T; i++)
      check_close(tgRe(a[k.nv + k.nw + i]), tgRe(k.g[k.nv + k.nw + t * k.nu + i]), 1e-12);
  }
  for (int i = 0; i < k.nv + k.nw; i++) check_close(tgRe(a[i]), tgRe(k.g[i]), 1e-12);
  tg_sim_free(s);
  tg_rollout_free(k.r);
  tg_contact_free(by);
  drop(&rig);
}

#ifndef TG_COMPLEX
// ---- second derivatives ----

static tgStatus loss_hvp(void *ctx, tgSim *s, int t, int steps, const tgReal *dq, const tgReal *dv, const tgReal *du, tgReal *hq,
                         tgReal *hv, tgReal *hu) {
  (void)ctx;
  for (int i = 0; i < s->m.nv; i++) hq[i] = weight(t, i) * dq[i];
  for (int i = 0; i < tgi_nw(&s->m); i++) hv[i] = weight(t, i + 20) * dv[i];
  for (int i = 0; i < s->m.nu && t < steps; i++) hu[i] = weight(t, i + 40) * du[i];
  return TG_OK;
}

static tgStatus gradient_at(void *ctx, const tgReal *x, tgReal *y) {
  Motion *k = ctx;
  tgRolloutRun run = run_of(k, x);
  run.dq0 = y;
  run.dv0 = y + k->nv;
  run.du = y + k->nv + k->nw;
  return tg_rollout_run(k->r, &run, &k->result);
}

// end of the motion, (q, w)
static tgStatus end_at(void *ctx, const tgReal *x, tgReal *y) {
  Motion *k = ctx;
  tgRolloutRun run = run_of(k, x);
  run.q = k->q;
  run.v = k->w;
  tgStatus status = tg_rollout_run(k->r, &run, &k->result);
  memcpy(y, k->q + T * k->nv, (size_t)k->nv * sizeof *y);
  memcpy(y + k->nv, k->w + T * k->nw, (size_t)k->nw * sizeof *y);
  return status;
}

static void test_second(void **state) {
  (void)state;
  for (int v = SOFTMIN; v < BARRIER; v++) {
    Rig rig = activated(v);
    Motion k = motion(&rig, 0, NULL);
    tgRolloutOptions o = tg_rollout_default();
    tgError e = {0};
    o.steps = T;
    tgSecond *second = tg_second_create(rig.m, rig.c, &o, &e);
    check_true(second != NULL, "%s", e.text);
    size_t n = (size_t)k.nx, ny = (size_t)(k.nv + k.nw);
    double *H = malloc(sizeof *H * (n * n + ny * n + 2 * n)), *J = H + n * n, *d = J + ny * n, *out = d + n;
    double jq[16 * (T + 1)], jw[32 * (T + 1)];
    for (int j = 0; j < k.nx; j++) {
      for (int i = 0; i < k.nx; i++) d[i] = i == j;
      tgRolloutRun run = run_of(&k, k.x);
      tgSecondRun s = {.dq0 = d, .dv0 = d + k.nv, .du = d + ny, .jq = jq, .jv = jw, .hq0 = out, .hv0 = out + k.nv, .hu = out + ny,
                       .loss_hvp = loss_hvp};
      check_true(tg_rollout_hvp(second, &run, &s, &k.result) == TG_OK, "%s", k.result.error.text);
      for (int i = 0; i < k.nx; i++) H[i * k.nx + j] = out[i];
      for (int i = 0; i < k.nv; i++) J[i * k.nx + j] = jq[T * k.nv + i];
      for (int i = 0; i < k.nw; i++) J[(k.nv + i) * k.nx + j] = jw[T * k.nw + i];
    }
    tgtDeriv of_gradient = {.name = "hvp", .nx = k.nx, .ny = k.nx, .map = gradient_at, .ctx = &k, .tol = 1e-6, .step = 1e-4};
    tgt_check_jacobian(&of_gradient, k.x, H);
    tgtDeriv of_end = {.name = "jvp", .nx = k.nx, .ny = (int)ny, .map = end_at, .ctx = &k, .tol = 1e-6, .step = 1e-4};
    tgt_check_jacobian(&of_end, k.x, J);
    free(H);
    tg_second_free(second);
    tg_rollout_free(k.r);
    drop(&rig);
  }
}

// A step's: the derivative of its Jacobian, contracted, is the product; and symmetric, as all tangents here add.
static void test_second_step(void **state) {
  (void)state;
  Rig rig = activated(SOFTMIN);
  tgError e = {0};
  tgtRandom random = {.s = 3};
  tgSecond *second = tg_second_create(rig.m, rig.c, NULL, &e);
  int nv = rig.m->nv, nw = tgi_nw(rig.m), ny = nv + nw, nx = ny + rig.m->nu;
  double *H = malloc(sizeof *H * (size_t)(ny * nx * nx)), g[64], d[64], hvp[64], jvp[64], *D = malloc(sizeof *D * (size_t)(ny * nx));
  activated_state(rig.s, &random);
  assert_int_equal(tg_sim_step_growing(rig.s, 0.004, NULL), TG_OK);
  assert_int_equal(tg_sim_step_jacobian(rig.s, D, NULL), TG_OK);
  assert_int_equal(tg_step_hessian(second, rig.s, H, NULL), TG_OK);
  tgt_random_vector(&random, ny, g);
  tgt_random_vector(&random, nx, d);
  assert_int_equal(tg_step_hvp(second, rig.s, g, d, hvp, jvp), TG_OK);
  double largest = 0;
  for (int i = 0; i < nx; i++) {
    double sum = 0, size = 0;
    for (int k = 0; k < ny; k++)
      for (int j = 0; j < nx; j++) {
        double entry = H[(k * nx + i) * nx + j];
        check_close(entry, H[(k * nx + j) * nx + i], 1e-9 * fmax(1, fabs(entry)));
        sum += g[k] * entry * d[j];
        size += fabs(g[k] * entry * d[j]);
      }
    check_close(hvp[i], sum, 1e-11 * fmax(1, size));
    largest = fmax(largest, fabs(hvp[i]));
  }
  assert_true(largest > 0.1);
  for (int k = 0; k < ny; k++) {
    double sum = 0;
    for (int j = 0; j < nx; j++) sum += D[k * nx + j] * d[j];
    check_close(jvp[k], sum, 1e-11);
  }
  free(H);
  free(D);
  tg_second_free(second);
  drop(&rig);
}

// ---- batches ----

static void test_batch(void **state) {
  (void)state;
  enum { RUNS = 5 };
  Rig rig = activated(0);
  Motion k = motion(&rig, 0, NULL);
  tgRolloutOptions o = tg_rollout_default();
  tgError e = {0};
  o.steps = T;
  tgBatch *batch = tg_batch_create(rig.m, rig.c, &o, 2, &e);
  check_true(batch != NULL, "%s", e.text);
  tgRolloutRun runs[RUNS];
  tgRolloutResult results[RUNS];
  double x[RUNS][128], g[RUNS][128];
  for (int i = 0; i < RUNS; i++) {
    memcpy(x[i], k.x, sizeof k.x);
    x[i][2 * k.nv + i] += 0.1;
    runs[i] = run_of(&k, x[i]);
    runs[i].dq0 = g[i];
    runs[i].dv0 = g[i] + k.nv;
    runs[i].du = g[i] + k.nv + k.nw;
  }
  assert_int_equal(tg_batch_run(batch, RUNS, runs, results), TG_OK);
  for (int i = 0; i < RUNS; i++) {
    assert_int_equal(results[i].status, TG_OK);
    memcpy(k.x, x[i], sizeof k.x);
    gradient(&k, "alone");
    assert_memory_equal(g[i], k.g, (size_t)k.nx * sizeof *k.g);
  }
  tg_batch_free(batch);
  tg_rollout_free(k.r);
  drop(&rig);
}

// Models of a batch share their state: which actuators have an activation too.
static void test_variants(void **state) {
  (void)state;
  static const char text[] = "<mujoco><worldbody><body><joint name='j' type='slide'/><geom size='.1'/></body></worldbody>"
                             "<actuator><general name='a' joint='j' dyntype='%s'/></actuator></mujoco>";
  char xml[2][400];
  tgError e = {0};
  Rig rig[2];
  for (int i = 0; i < 2; i++) {
    snprintf(xml[i], sizeof xml[i], text, i == 0 ? "filter" : "none");
    rig[i] = rig_of_text(xml[i], "lcp", NULL);
  }
  const tgModel *models[2] = {rig[0].m, rig[1].m};
  const tgContact *contacts[2] = {rig[0].c, rig[1].c};
  assert_null(tg_batch_create_variants(2, models, contacts, NULL, 1, &e));
  assert_int_equal(e.status, TG_ERR_ARG);
  check_true(strstr(e.text, "actuator 'a'") != NULL && strstr(e.text, "activation") != NULL, "%s", e.text);
  drop(&rig[0]);
  drop(&rig[1]);
}
#endif

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_gradient), cmocka_unit_test(test_budget), cmocka_unit_test(test_jacobians), cmocka_unit_test(test_foreign),
#ifndef TG_COMPLEX
      cmocka_unit_test(test_second), cmocka_unit_test(test_second_step), cmocka_unit_test(test_batch), cmocka_unit_test(test_variants),
#endif
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
