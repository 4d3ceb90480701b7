// test_batch.c: rollouts over threads: the same bits for any number of threads and any repetition, failures kept apart, forks refused.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tangere/base.h"
#include "base/random.h"
#include "support/reach.h"
#include "support/robots.h"

enum { N = 48, T = 25 };

// N rollouts of the runner with inputs of their own
typedef struct Many {
  tgModel *m;
  tgContact *c;
  int nq, nv, nu;
  tgReal *block;
  size_t stride;            // reals of one rollout
  tgRolloutRun runs[N];
  tgRolloutResult results[N];
  tgtReach reach;
  bool touched;             // the loss is of contacts too
} Many;

// of every field of every contact, by weights of their own
static tgStatus in_contacts(void *ctx, tgSim *sim, int t, int steps, tgContactGrad *grad, int n) {
  (void)ctx; (void)steps;
  tgContactInfo c;
  int i = 0;
  for (int at = 0; tg_sim_next_contact(sim, &at, &c); i++)
    for (int k = 0; k < 3; k++) {
      grad[i].force[k] = 1e-3 * c.force[k] + 1e-2 * k;
      grad[i].world[k] = 1e-2 / (1 + t + k);
      grad[i].torque[k] = 0.1 * i;
      grad[i].point[k] = 0.3 - 0.1 * k;
    }
  return i == n ? TG_OK : TG_ERR_STATE;
}

static void fill(Many *b) {
  size_t nq = (size_t)b->nq, nv = (size_t)b->nv, nu = (size_t)b->nu * T;
  for (int i = 0; i < N; i++) {
    tgReal *p = b->block + (size_t)i * b->stride;
    memset(p, 0, b->stride * sizeof(tgReal));
    tgRolloutRun *r = &b->runs[i];
    *r = (tgRolloutRun){.q0 = p, .v0 = p + nq, .u = p + nq + nv, .loss = tgt_reach, .loss_ctx = &b->reach};
    if (b->touched) r->loss_contacts = in_contacts;
    r->dq0 = p + nq + nv + nu;
    r->dv0 = r->dq0 + nv;
    r->du = r->dv0 + nv;
    r->q = r->du + nu;
    r->v = r->q + nq * (T + 1);
    // near the pose of the file, which for the free joint lies on the quaternion's sphere
    tgReal d[32];
    for (size_t k = 0; k < nv; k++) d[k] = 0.1 * tg_random_normal(5, (uint64_t)i, k);
    tg_model_integrate(b->m, tg_model_field_named(b->m, "qpos0").data, d, p);
    for (size_t k = 0; k < nv; k++) p[nq + k] = 0.3 * tg_random_normal(7, (uint64_t)i, k);
    for (size_t k = 0; k < nu; k++) p[nq + nv + k] = tg_random_normal(6, (uint64_t)i, k);
  }
}

static Many *many(tgModel *m) {
  Many *b = calloc(1, sizeof *b);
  assert_non_null(b);
  b->m = m;
  b->c = tgt_contact(b->m);
  b->nq = tg_model_nq(b->m);
  b->nv = tg_model_nv(b->m);
  b->nu = tg_model_nu(b->m);
  b->stride = (size_t)(b->nq + 3 * b->nv + 2 * T * b->nu + (T + 1) * (b->nq + b->nv));
  b->block = malloc(N * b->stride * sizeof(tgReal));
  assert_non_null(b->block);
  b->reach = (tgtReach){.body = 1, .target = {1, 0, 1}, .running = 1, .final = 10, .speed = 1e-3, .control = 1e-3};
  fill(b);
  return b;
}

static void drop(Many *b) {
  free(b->block);
  tg_contact_free(b->c);
  tg_model_free(b->m);
  free(b);
}

static tgBatch *batch_of(const Many *b, int threads, size_t tape) {
  tgRolloutOptions o = tg_rollout_default();
  tgError error = {0};
  o.steps = T;
  o.tape_bytes = tape;
  tgBatch *batch = tg_batch_create(b->m, b->c, &o, threads, &error);
  if (batch == NULL) fail_msg("%s", error.text);
  return batch;
}

// trajectory, loss and gradient of one rollout
static uint64_t hash_of(const Many *b, int i) {
  const tgReal *p = b->block + (size_t)i * b->stride;
  uint64_t h = tg_hash(TG_HASH_START, p, b->stride * sizeof(tgReal));
  return tg_hash(h, &b->results[i].loss, sizeof(tgReal));
}

// each alone, in an object of its own
static void alone(Many *b, uint64_t hash[N]) {
  tgRolloutOptions o = tg_rollout_default();
  o.steps = T;
  for (int i = 0; i < N; i++) {
    tgRollout *r = tg_rollout_create(b->m, b->c, &o, NULL);
    check_true(tg_rollout_run(r, &b->runs[i], &b->results[i]) == TG_OK, "rollout %d: %s", i, b->results[i].error.text);
    hash[i] = hash_of(b, i);
    tg_rollout_free(r);
  }
}

static void bits_do_not_depend_on_threads(tgModel *m, bool touched) {
  Many *b = many(m);
  uint64_t golden[N];
  alone(b, golden);
  if (touched) {
    uint64_t without[N];
    int other = 0;
    memcpy(without, golden, sizeof without);
    b->touched = true;
    fill(b);
    alone(b, golden);
    for (int i = 0; i < N; i++) other += golden[i] != without[i];
    check_true(other > N / 2, "the loss of %d of %d rollouts is of contacts", other, N);
  }
  assert_true(golden[0] != golden[1]);
  static const int threads[] = {8, 2, 3, 4, 1};
  for (int k = 0; k < tgt_cases(5, 3); k++) {
    tgBatch *batch = batch_of(b, threads[k], k % 2 == 0 ? 0 : 12000);
    assert_int_equal(tg_batch_threads(batch), threads[k]);
    for (int repeat = 0; repeat < tgt_cases(3, 2); repeat++) {
      fill(b);
      memset(b->results, 0, sizeof b->results);
      assert_int_equal(tg_batch_run(batch, N, b->runs, b->results), TG_OK);
      for (int i = 0; i < N; i++)
        check_true(b->results[i].status == TG_OK && hash_of(b, i) == golden[i], "rollout %d differs on %d threads: %s", i, threads[k],
                   b->results[i].error.text);
    }
    tg_batch_free(batch);
  }
  drop(b);
}

static void runner_bits(void **state) {
  (void)state;
  bits_do_not_depend_on_threads(tgt_runner(), false);
}
static void ball_bits(void **state) {
  (void)state;
  bits_do_not_depend_on_threads(tgt_ball(), false);
}
static void box_bits(void **state) {
  (void)state;
  bits_do_not_depend_on_threads(tgt_box(), false);
}
static void runner_contacts_bits(void **state) {
  (void)state;
  bits_do_not_depend_on_threads(tgt_runner(), true);
}
static void box_contacts_bits(void **state) {
  (void)state;
  bits_do_not_depend_on_threads(tgt_box(), true);
}

// a loss of contacts that fails is its run's alone
static tgStatus no_loss(void *ctx, tgSim *sim, int t, int steps, tgContactGrad *grad, int n) {
  (void)ctx; (void)sim; (void)t; (void)steps; (void)grad; (void)n;
  return TG_ERR_STATE;
}

static void a_loss_of_contacts_fails_alone(void **state) {
  (void)state;
  Many *b = many(tgt_box());
  uint64_t golden[N];
  b->touched = true;
  fill(b);
  alone(b, golden);
  fill(b);
  for (int i = 1; i < N; i += 4) b->runs[i].loss_contacts = no_loss;
  tgBatch *batch = batch_of(b, 3, 0);
  assert_int_equal(tg_batch_run(batch, N, b->runs, b->results), TG_OK);
  int failed = 0;
  for (int i = 0; i < N; i++) {
    bool mine = b->results[i].status == TG_ERR_STATE && strstr(b->results[i].error.text, "its part in the contacts") != NULL;
    failed += mine;
    check_true(b->runs[i].loss_contacts == no_loss ? mine || b->results[i].status == TG_OK : hash_of(b, i) == golden[i],
               "rollout %d: %s", i, b->results[i].error.text);
  }
  assert_true(failed > 0);
  tg_batch_free(batch);
  drop(b);
}

static tgStatus heavy(void *ctx, tgSim *sim) {
  tgReal *mass = tg_sim_param(sim, "body_mass", NULL, NULL);
  mass[1] *= *(const double *)ctx;
  return TG_OK;
}

static void failures_stay_apart(void **state) {
  (void)state;
  Many *b = many(tgt_runner());
  uint64_t golden[N];
  tgBatch *batch = batch_of(b, 4, 0);
  assert_int_equal(tg_batch_run(batch, N, b->runs, b->results), TG_OK);
  for (int i = 0; i < N; i++) golden[i] = hash_of(b, i);
  fill(b);
  double factor = 2;
  int one = 1;
  for (int i = 3; i < N; i += 8) {
    tgReal *u = (tgReal *)(uintptr_t)b->runs[i].u;
    u[(i % T) * b->nu + 1] = NAN;
  }
  for (int i = 5; i < N; i += 8) {
    b->runs[i].setup = heavy;
    b->runs[i].setup_ctx = &factor;
  }
  b->runs[6].cancel = &one;
  assert_int_equal(tg_batch_run(batch, N, b->runs, b->results), TG_OK);
  for (int i = 0; i < N; i++) {
    char step[32];
    snprintf(step, sizeof step, "step %d of", i % T);
    if (i % 8 == 3) {
      assert_int_equal(b->results[i].status, TG_ERR_NOT_FINITE);
      check_true(strstr(b->results[i].error.text, step) != NULL, "%s", b->results[i].error.text);
    } else if (i == 6) {
      assert_int_equal(b->results[i].status, TG_CANCELLED);
    } else {
      assert_int_equal(b->results[i].status, TG_OK);
      // changed parameters change the result, and do not leak into others
      assert_int_equal(hash_of(b, i) == golden[i], i % 8 != 5);
    }
  }
  tg_batch_free(batch);
  drop(b);
}

static void forks_and_misuse_get_a_status(void **state) {
  (void)state;
  Many *b = many(tgt_runner());
  tgBatch *batch = batch_of(b, 2, 0);
  assert_int_equal(tg_batch_run(batch, 0, NULL, NULL), TG_OK);
  assert_int_equal(tg_batch_run(batch, 1, NULL, b->results), TG_ERR_ARG);
  pid_t child = fork();
  if (child == 0) {
    bool ok = tg_batch_run(batch, N, b->runs, b->results) == TG_ERR_STATE;
    tg_batch_free(batch);
    _exit(ok ? 0 : 1);
  }
  int status = 0;
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  tg_batch_free(batch);
  tgError error = {0};
  assert_null(tg_batch_create(b->m, b->c, NULL, -1, &error));
  assert_int_equal(error.status, TG_ERR_ARG);
  batch = tg_batch_create(b->m, b->c, NULL, 0, &error);
  assert_non_null(batch);
  assert_true(tg_batch_threads(batch) >= 1);
  tg_batch_free(batch);
  tg_batch_free(NULL);
  drop(b);
}

// ---- one sim, several threads ----

typedef struct Shared { tgSim *sim; int ok, refused, other; } Shared;
static void *hammer(void *arg) {
  Shared *h = arg;
  tgReal g[32] = {0};
  for (int i = 0; i < 4000; i++) {
    tgStatus status = i % 3 == 0 ? tg_sim_step(h->sim, 1e-4, NULL) : i % 3 == 1 ? tg_sim_forward(h->sim)
                      : tg_sim_step_vjp(h->sim, g, g, g, g, g, NULL, NULL);
    // a derivative after the other thread's forward call is refused with the same status
    if (status == TG_OK) h->ok++;
    else if (status == TG_ERR_STATE) h->refused++;
    else h->other++;
  }
  return NULL;
}

static void a_shared_sim_is_refused(void **state) {
  (void)state;
  tgModel *m = tgt_runner();
  tgContact *c = tgt_contact(m);
  tgSim *sim = tg_sim_create(m, c, NULL, NULL);
  tgReal D[18 * 24], g[32] = {0};
  assert_int_equal(tg_sim_step(sim, 0.01, NULL), TG_OK);
  sim->busy = 1;
  assert_int_equal(tg_sim_step(sim, 0.01, NULL), TG_ERR_STATE);
  assert_int_equal(tg_sim_forward(sim), TG_ERR_STATE);
  assert_int_equal(tg_sim_step_vjp(sim, g, g, g, g, g, NULL, NULL), TG_ERR_STATE);
  assert_int_equal(tg_sim_step_jacobian(sim, D, NULL), TG_ERR_STATE);
  sim->busy = 0;
  assert_int_equal(tg_sim_step_jacobian(sim, D, NULL), TG_OK);
  Shared h[3] = {{.sim = sim}, {.sim = sim}, {.sim = sim}};
  pthread_t thread[3];
  for (int i = 0; i < 3; i++) assert_int_equal(pthread_create(&thread[i], NULL, hammer, &h[i]), 0);
  for (int i = 0; i < 3; i++) pthread_join(thread[i], NULL);
  for (int i = 0; i < 3; i++) check_true(h[i].other == 0, "thread %d: %d ok, %d refused, %d others", i, h[i].ok, h[i].refused, h[i].other);
  // how many get through is the scheduler's affair: a thread that is put to sleep inside a call shuts the others out
  assert_true(h[0].ok + h[1].ok + h[2].ok > 0);
  assert_int_equal(tg_sim_step(sim, 1e-4, NULL), TG_OK);   // and the sim is free afterwards
  tg_sim_free(sim);
  tg_contact_free(c);
  tg_model_free(m);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(runner_bits),
    cmocka_unit_test(ball_bits),
    cmocka_unit_test(box_bits),
    cmocka_unit_test(runner_contacts_bits),
    cmocka_unit_test(box_contacts_bits),
    cmocka_unit_test(a_loss_of_contacts_fails_alone),
    cmocka_unit_test(failures_stay_apart),
    cmocka_unit_test(forks_and_misuse_get_a_status),
    cmocka_unit_test(a_shared_sim_is_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
