// test_memory.c: steps, gradients and rollouts allocate nothing; 100,000 steps of a runner with their adjoint fit in 8 MB; every
// allocation may fail.
#include <stdlib.h>
#include <string.h>

#include "sim/sim.h"
#include "support/alloc.h"
#include "support/reach.h"
#include "support/robots.h"
#include "tangere/grad.h"

static void counter_counts(void **state) {
  (void)state;
  if (!tgt_malloc_counted()) skip();
  long before = tgt_malloc_count();
  void *volatile p = malloc(10);
  p = realloc(p, 100000);
  free(p);
  p = calloc(3, 7);
  free(p);
  assert_int_equal(tgt_malloc_count() - before, 3);
}

// 10,000 steps, each with its adjoint, every tenth with its dense Jacobian, after a first pass that lets capacity grow
static void a_step_allocates_nothing(tgModel *m) {
  tgContact *c = tgt_contact(m);
  tgSim *sim = tg_sim_create(m, c, NULL, NULL);
  int nv = tg_model_nv(m), nu = tg_model_nu(m), contacts = 0;
  tgReal g[64], d[128], *D = malloc((size_t)(2 * nv * (2 * nv + nu)) * sizeof(tgReal));
  for (int i = 0; i < 2 * nv; i++) g[i] = 1;
  tgGradInfo grad;
  tgStepInfo info;
  long before = 0;
  for (int t = 0; t < 10000; t++) {
    if (t == 1000) before = tgt_malloc_count();
    for (int k = 0; k < nu; k++) tg_sim_ctrl(sim)[k] = 0.6 * sin(0.05 * t + k);
    tgStatus status = tg_sim_step(sim, 0.005, &info);
    for (; t < 1000 && status == TG_ERR_CAPACITY; status = tg_sim_step(sim, 0.005, &info)) {
      int ncon, nrow;
      tg_sim_wanted(sim, &ncon, &nrow);
      assert_int_equal(tg_sim_reserve(sim, ncon, nrow), TG_OK);
    }
    check_true(status == TG_OK, "step %d: %s", t, tg_sim_error(sim)->text);
    contacts += info.ncontact;
    assert_int_equal(tg_sim_step_vjp(sim, g, g + nv, d, d + nv, d + 2 * nv, NULL, &grad), TG_OK);
    if (t % 10 == 0) assert_int_equal(tg_sim_step_jacobian(sim, D, &grad), TG_OK);
  }
  assert_int_equal(tgt_malloc_count() - before, 0);
  check_true(contacts > 5000, "%d contact points in all", contacts);
  free(D);
  tg_sim_free(sim);
  tg_contact_free(c);
  tg_model_free(m);
}

static void runner_steps_allocate_nothing(void **state) {
  (void)state;
  if (!tgt_malloc_counted()) skip();
  a_step_allocates_nothing(tgt_runner());
}
static void box_steps_allocate_nothing(void **state) {
  (void)state;
  if (!tgt_malloc_counted()) skip();
  a_step_allocates_nothing(tgt_box());
}

static void rollouts_allocate_nothing(void **state) {
  (void)state;
  if (!tgt_malloc_counted()) skip();
  enum { T = 200 };
  tgModel *m = tgt_runner();
  tgContact *c = tgt_contact(m);
  tgRolloutOptions o = tg_rollout_default();
  o.steps = T;
  o.tape_bytes = 50000;
  tgRollout *r = tg_rollout_create(m, c, &o, NULL);
  static tgReal u[T * 6], du[T * 6], q0[9], v0[9];
  tgtReach reach = {.body = 1, .running = 1, .final = 1, .control = 1};
  tgRolloutRun run = {.u = u, .du = du, .dq0 = q0, .dv0 = v0, .loss = tgt_reach, .loss_ctx = &reach};
  tgRolloutResult result;
  for (int i = 0; i < T * 6; i++) u[i] = 0.5 * sin(0.1 * i);
  long before = tgt_malloc_count();
  for (int i = 0; i < 3; i++) assert_int_equal(tg_rollout_run(r, &run, &result), TG_OK);
  assert_int_equal(tgt_malloc_count() - before, 0);
  tg_rollout_free(r);
  // a batch: threads are made in the first run, nothing after
  enum { N = 8 };
  static tgReal dus[N][T * 6];
  tgRolloutRun runs[N];
  tgRolloutResult results[N];
  tgBatch *b = tg_batch_create(m, c, &o, 3, NULL);
  for (int i = 0; i < N; i++) {
    runs[i] = run;
    runs[i].dq0 = runs[i].dv0 = NULL;
    runs[i].du = dus[i];
  }
  assert_int_equal(tg_batch_run(b, N, runs, results), TG_OK);
  before = tgt_malloc_count();
  assert_int_equal(tg_batch_run(b, N, runs, results), TG_OK);
  assert_int_equal(tgt_malloc_count() - before, 0);
  tg_batch_free(b);
  tg_contact_free(c);
  tg_model_free(m);
}

// all that the library holds for it, the simulation included, stays below 8 MB; controls and their gradient are the caller's
static void a_long_rollout_fits_in_8_megabytes(void **state) {
  (void)state;
  // sanitizers are slow: there a shorter one in less
  const int steps = tgt_malloc_counted() ? 100000 : 5000;
  const size_t budget = tgt_malloc_counted() ? 8000000 : 2450000, sim = tgt_malloc_counted() ? 2000000 : 2300000;
  tgtAlloc a;
  tgt_alloc_init(&a);
  tgError error = {0};
  tgModel *m = tg_model_load(TG_SOURCE_DIR "/models/half_cheetah.xml", NULL, &error);
  if (m == NULL) fail_msg("%s", error.text);
  tgContact *c = tgt_contact(m);
  const size_t nu = (size_t)tg_model_nu(m), nv = (size_t)tg_model_nv(m);
  tgRolloutOptions o = tg_rollout_default();
  o.steps = steps;
  o.allocator = &a.hooks;
  o.tape_bytes = budget - sim;   // the simulation, twice while it grows; with red zones larger
  tgRollout *r = tg_rollout_create(m, c, &o, NULL);
  assert_non_null(r);
  size_t n = (size_t)steps * nu;
  tgReal *u = malloc(n * sizeof *u), *du = malloc(n * sizeof *du), dq0[32], dv0[32];
  check_true(nv <= 32, "%zu dofs", nv);
  assert_non_null(u);
  assert_non_null(du);
  for (size_t i = 0; i < n; i++) u[i] = 10 * sin(0.02 * (double)(i / nu) + (double)(i % nu));
  tgtReach reach = {.body = 1, .target = {1, 0, 0.7}, .running = 1e-3, .final = 1, .control = 1e-4};
  tgRolloutRun run = {.u = u, .du = du, .dq0 = dq0, .dv0 = dv0, .loss = tgt_reach, .loss_ctx = &reach};
  tgRolloutResult result;
  tgStatus status = tg_rollout_run(r, &run, &result);
  check_true(status == TG_OK, "%s", result.error.text);
  check_true(a.peak <= budget, "peak %zu bytes", a.peak);
  print_message("%d steps, %d slots, %ld steps computed (%.2f a step), peak %zu bytes, loss %.6g, label %d\n", steps, result.slots,
                result.forward_steps, (double)result.forward_steps / steps, a.peak, tgRe(result.loss), result.grad.label);
  tg_rollout_free(r);
  assert_int_equal(a.blocks, 0);
  free(u);
  free(du);
  tg_contact_free(c);
  tg_model_free(m);
}

// ---- every allocation fails once, and from then on ----

typedef struct World { tgDesc *d; tgModel *m; tgContact *c; tgSim *s; tgRollout *r; tgBatch *b; } World;

static void teardown(World *w) {
  tg_batch_free(w->b);
  tg_rollout_free(w->r);
  tg_sim_free(w->s);
  tg_contact_free(w->c);
  tg_model_free(w->m);
  tg_desc_free(w->d);
}

// a box on the ground with everything that allocates; false when something was refused, which must say out of memory
static bool build(World *w, const tgAllocator *hooks, tgError *error) {
  *w = (World){0};
  w->d = tg_desc_create(hooks);
  if (w->d == NULL) return false;
  int g = tg_desc_add_geom(w->d, 0, TG_GEOM_PLANE, "floor"), b = tg_desc_add_body(w->d, 0, "box");
  if (g < 0 || b < 0) return false;
  int j = tg_desc_add_joint(w->d, b, TG_JOINT_FREE, "root"), s = tg_desc_add_geom(w->d, b, TG_GEOM_BOX, "skin");
  if (j < 0 || s < 0) return false;
  for (int i = 0; i < 3; i++) w->d->geom[s].size[i] = 0.1;
  w->d->body[b].pos[2] = 0.0995;
  w->m = tg_model_compile(w->d, hooks, error);
  if (w->m == NULL) return false;
  w->c = tg_contact_create(w->m, "lcp", NULL, error);
  if (w->c == NULL) return false;
  w->s = tg_sim_create(w->m, w->c, hooks, error);
  if (w->s == NULL) return false;
  tgRolloutOptions o = tg_rollout_default();
  o.steps = 5;
  o.allocator = hooks;
  w->r = tg_rollout_create(w->m, w->c, &o, error);
  if (w->r == NULL) return false;
  w->b = tg_batch_create(w->m, w->c, &o, 2, error);
  if (w->b == NULL) return false;
  tgGradCheck check;
  tgStatus status = tg_grad_check_step(w->s, NULL, &check);
  if (status == TG_OK) status = tg_sim_reserve(w->s, 300, 900);
  if (status == TG_OK) return true;
  *error = *tg_sim_error(w->s);
  return false;
}

static void every_allocation_may_fail(void **state) {
  (void)state;
  tgtAlloc a;
  World w;
  tgError error;
  tgt_alloc_init(&a);
  assert_true(build(&w, &a.hooks, &error));
  teardown(&w);
  assert_int_equal(a.blocks, 0);
  long calls = a.calls;
  check_true(calls > 10, "%ld allocations", calls);
  for (int sticky = 0; sticky < 2; sticky++) {
    for (long k = 1; k <= calls; k++) {
      tgt_alloc_init(&a);
      a.fail_at = k;
      a.sticky = sticky;
      error = (tgError){.status = TG_ERR_MEMORY};
      bool built = build(&w, &a.hooks, &error);
      check_true(!built, "allocation %ld failed and nobody noticed", k);
      check_true(error.status == TG_ERR_MEMORY, "allocation %ld: status %d: %s", k, error.status, error.text);
      teardown(&w);
      check_true(a.blocks == 0, "allocation %ld: %ld blocks leaked", k, a.blocks);
    }
  }
}

// growth inside a run that cannot be had: a status that names the step, and the object runs again once memory is back
static void growth_may_fail(void **state) {
  (void)state;
  tgtAlloc a;
  tgModel *m = tgt_runner();
  tgContact *c = tgt_contact(m);
  tgRolloutOptions o = tg_rollout_default();
  o.steps = 40;
  o.allocator = &a.hooks;
  tgReal dq0[9];
  tgtReach reach = {.body = 1, .running = 1, .final = 1};
  tgRolloutRun run = {.loss = tgt_reach, .loss_ctx = &reach, .dq0 = dq0};
  tgRolloutResult result, want;
  for (long k = 1; k <= 2; k++) {
    tgt_alloc_init(&a);
    tgRollout *r = tg_rollout_create(m, c, &o, NULL);
    assert_int_equal(tg_rollout_run(r, &run, &want), TG_OK);
    tg_rollout_free(r);
    r = tg_rollout_create(m, c, &o, NULL);
    tgSim *sim = tg_rollout_sim(r);
    sim->cap.ncon = sim->cap.npairmem = 1;
    sim->cap.nrow = 2;
    // more than at first: snapshots get larger, and the tape has to be made anew, which is allocation 2
    sim->wanted.ncon = 64;
    a.fail_at = a.calls + k;
    a.sticky = true;
    tgStatus status = tg_rollout_run(r, &run, &result);
    check_true(status == TG_ERR_MEMORY, "allocation %ld: status %d, %d contacts of room", k, status, sim->cap.ncon);
    check_true(strstr(result.error.text, "room for step") != NULL, "%s", result.error.text);
    a.fail_at = 0;
    status = tg_rollout_run(r, &run, &result);
    check_true(status == TG_OK && result.loss == want.loss, "status %d: %s", status, result.error.text);
    tg_rollout_free(r);
    assert_int_equal(a.blocks, 0);
  }
  tg_contact_free(c);
  tg_model_free(m);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(counter_counts), cmocka_unit_test(runner_steps_allocate_nothing), cmocka_unit_test(box_steps_allocate_nothing),
    cmocka_unit_test(rollouts_allocate_nothing), cmocka_unit_test(a_long_rollout_fits_in_8_megabytes),
    cmocka_unit_test(every_allocation_may_fail), cmocka_unit_test(growth_may_fail),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
