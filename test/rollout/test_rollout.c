// test_rollout.c: a rollout is the steps done by hand; its gradient against the complex step (or Ridders); the same bits from any budget,
// any capacity and any history; what stops it is named.
#include <stdlib.h>
#include <string.h>

#include "support/deriv.h"
#include "support/reach.h"
#include "support/robots.h"

// A runner that falls on its feet and pushes itself off.
typedef struct Scene {
  tgModel *m;
  tgContact *c;
  tgRollout *r;
  int steps, nq, nv, nu;
  tgReal *q0, *v0, *u, *dq0, *dv0, *du;
  tgtReach reach;
} Scene;

static Scene make(tgModel *m, int steps, size_t tape) {
  Scene s = {.m = m, .c = tgt_contact(m), .steps = steps, .nq = tg_model_nq(m), .nv = tg_model_nv(m), .nu = tg_model_nu(m)};
  tgRolloutOptions o = tg_rollout_default();
  tgError error = {0};
  o.steps = steps;
  o.tape_bytes = tape;
  s.r = tg_rollout_create(m, s.c, &o, &error);
  if (s.r == NULL) fail_msg("%s", error.text);
  size_t nu = (size_t)(steps * s.nu), n = (size_t)(s.nq + 3 * s.nv) + 2 * nu;
  s.q0 = calloc(n, sizeof(tgReal));
  assert_non_null(s.q0);
  s.v0 = s.q0 + s.nq;
  s.u = s.v0 + s.nv;
  s.dq0 = s.u + nu;
  s.dv0 = s.dq0 + s.nv;
  s.du = s.dv0 + s.nv;
  memcpy(s.q0, tg_sim_qpos(tg_rollout_sim(s.r)), (size_t)s.nq * sizeof(tgReal));
  tgtRandom rng = {11};
  for (int i = 0; i < s.nv; i++) s.v0[i] = tgt_uniform(&rng, -0.2, 0.2);
  for (int t = 0; t < steps; t++)
    for (int k = 0; k < s.nu; k++) s.u[t * s.nu + k] = 0.6 * sin(0.3 * t + k) + tgt_uniform(&rng, -0.05, 0.05);
  s.reach = (tgtReach){.body = 1, .target = {0.4, 0.1, 0.9}, .running = 0.3, .final = 5, .speed = 1e-3, .control = 1e-2};
  return s;
}

static void drop(Scene *s) {
  free(s->q0);
  tg_rollout_free(s->r);
  tg_contact_free(s->c);
  tg_model_free(s->m);
}

static tgRolloutRun inputs(Scene *s) {
  return (tgRolloutRun){.q0 = s->q0, .v0 = s->v0, .u = s->u, .loss = tgt_reach, .loss_ctx = &s->reach};
}

static tgRolloutRun with_gradient(Scene *s) {
  tgRolloutRun run = inputs(s);
  run.dq0 = s->dq0;
  run.dv0 = s->dv0;
  run.du = s->du;
  return run;
}

static void succeed(tgRollout *r, const tgRolloutRun *run, tgRolloutResult *result) {
  tgStatus status = tg_rollout_run(r, run, result);
  if (status != TG_OK) fail_msg("status %d: %s", status, result->error.text);
}

// loss and gradient as bytes
static size_t outcome(const Scene *s, const tgRolloutResult *result, tgReal *out) {
  size_t n = (size_t)(2 * s->nv + s->steps * s->nu);
  out[0] = result->loss;
  memcpy(out + 1, s->dq0, n * sizeof(tgReal));
  return (n + 1) * sizeof(tgReal);
}

static void rollout_is_the_steps_by_hand(void **state) {
  (void)state;
  Scene s = make(tgt_runner(), 60, 0);
  tgReal *q = calloc((size_t)(61 * (s.nq + s.nv)), sizeof(tgReal)), *v = q + 61 * s.nq;
  tgStepInfo info[60];
  tgRolloutRun run = inputs(&s);
  tgRolloutResult result;
  run.q = q;
  run.v = v;
  run.info = info;
  succeed(s.r, &run, &result);
  tgSim *sim = tg_sim_create(s.m, s.c, NULL, NULL);
  memcpy(tg_sim_qpos(sim), s.q0, (size_t)s.nq * sizeof(tgReal));
  memcpy(tg_sim_qvel(sim), s.v0, (size_t)s.nv * sizeof(tgReal));
  int contacts = 0;
  tgReal loss = 0, term;
  for (int t = 0; t <= 60; t++) {
    assert_memory_equal(tg_sim_qpos(sim), q + t * s.nq, (size_t)s.nq * sizeof(tgReal));
    assert_memory_equal(tg_sim_qvel(sim), v + t * s.nv, (size_t)s.nv * sizeof(tgReal));
    assert_int_equal(tg_sim_forward(sim), TG_OK);
    if (t < 60) memcpy(tg_sim_ctrl(sim), s.u + t * s.nu, (size_t)s.nu * sizeof(tgReal));
    term = 0;
    tgt_reach(&s.reach, sim, t, 60, &term, NULL, NULL, NULL);
    loss += term;
    if (t == 60) break;
    tgStepInfo one;
    assert_int_equal(tg_sim_step(sim, tg_model_timestep(s.m), &one), TG_OK);
    assert_int_equal(one.nrow, info[t].nrow);
    contacts += one.ncontact;
  }
  check_true(contacts > 20, "the scene should be in contact, %d contact points in all", contacts);
  check_close(result.loss, loss, 1e-13 * fabs(tgRe(loss)));
  assert_int_equal(result.steps, 60);
  tg_sim_free(sim);
  free(q);
  drop(&s);
}

// ---- gradient ----

static tgStatus loss_at(void *ctx, const tgReal *x, tgReal *y) {
  Scene *s = ctx;
  tgRolloutRun run = inputs(s);
  tgRolloutResult result;
  run.q0 = x;
  run.v0 = x + s->nq;
  run.u = x + s->nq + s->nv;
  tgStatus status = tg_rollout_run(s->r, &run, &result);
  y[0] = result.loss;
  return status;
}

static void move(void *ctx, const tgReal *x, const tgReal *d, tgReal *out) {
  Scene *s = ctx;
  tg_model_integrate(s->m, x, d, out);
  for (int i = 0; i < s->nv + s->steps * s->nu; i++) out[s->nq + i] = x[s->nq + i] + d[s->nv + i];
}

static void check_gradient(tgModel *m, int steps, int least_contacts, const tgReal *tilt) {
  Scene s = make(m, steps, 0);
  if (tilt != NULL) tg_model_integrate(m, s.q0, tilt, s.q0);
  tgRolloutRun run = with_gradient(&s);
  tgRolloutResult result;
  tgStepInfo *info = calloc((size_t)steps, sizeof *info);
  run.info = info;
  succeed(s.r, &run, &result);
  int contacts = 0;
  for (int t = 0; t < steps; t++) contacts += info[t].ncontact;
  check_true(contacts >= least_contacts, "%d contact points in all", contacts);
  check_true(result.grad.label == TG_GRAD_EXACT, "step %d: %s", result.grad.first_step, result.grad.reason);
  assert_true(result.grad.converged);
  int cols[3] = {s.nv, s.nv, steps * s.nu};
  tgtDeriv d = {.name = "rollout", .nx = s.nq + s.nv + steps * s.nu, .nt = 2 * s.nv + steps * s.nu, .ny = 1, .map = loss_at,
                .retract = move, .ctx = &s, .cols = cols, .ncols = 3, .step = 1e-5};
#ifdef TG_COMPLEX
  d.tol = 1e-8;
#else
  d.tol = 1e-6;
#endif
  tgt_check_jacobian(&d, s.q0, s.dq0);
  free(info);
  drop(&s);
}

// ---- parameters ----

typedef struct Moved { Scene *s; const char *name; tgReal entry[1024]; int n; } Moved;

static tgStatus set_parameter(void *ctx, tgSim *sim) {
  const Moved *k = ctx;
  tgReal *p = tg_sim_param(sim, k->name, NULL, NULL);
  memcpy(p, k->entry, (size_t)k->n * sizeof *p);
  return TG_OK;
}
static tgStatus loss_of_parameter(void *ctx, const tgReal *x, tgReal *y) {
  Moved *k = ctx;
  tgRolloutRun run = inputs(k->s);
  tgRolloutResult result;
  run.setup = set_parameter;
  run.setup_ctx = k;
  memcpy(k->entry, x, (size_t)k->n * sizeof *x);
  tgStatus status = tg_rollout_run(k->s->r, &run, &result);
  y[0] = result.loss;
  return status;
}

// every entry of some parameters over a rollout in contact, those that move the loss's own point among them
static void parameter_gradient_is_right(void **state) {
  (void)state;
  static const char *const names[] = {"body_mass", "body_com", "body_inertia", "dof_damping", "dof_armature",
                                      "jnt_stiffness", "opt_gravity", "geom_size", "geom_pos", "geom_friction",
                                      "body_pos", "jnt_pos", "act_gain", "qpos_spring"};
  enum { N = sizeof names / sizeof *names };
  Scene s = make(tgt_runner(), 30, 0);
  tgRolloutRun run = with_gradient(&s);
  tgRolloutResult result;
  tgError e;
  tgParamGrad *p = tg_param_grad_create(s.m, names, N, NULL, &e);
  check_true(p != NULL, "%s", e.text);
  // of two equal frictions the larger counts: no derivative
  for (int g = 0; g < s.m->ngeom; g++) tg_sim_param(tg_rollout_sim(s.r), "geom_friction", NULL, NULL)[g] *= 1 + 0.05 * g;
  run.dp = p;
  assert_int_equal(tg_rollout_run(s.r, &run, &result), TG_ERR_ARG);
  assert_non_null(strstr(result.error.text, "loss_param"));
  run.loss_param = tgt_reach_param;
  for (int again = 0; again < 2; again++) succeed(s.r, &run, &result);   // what an earlier run left is overwritten
  for (int k = 0; k < N; k++) {
    int rows, cols;
    tgReal *g = tg_param_grad_field(p, names[k], &rows, &cols);
    Moved moved = {.s = &s, .name = names[k], .n = rows * cols};
    assert_true(moved.n <= 1024);
    if (moved.n == 0) continue;
    tgReal nominal[1024];
    memcpy(nominal, tg_sim_param(tg_rollout_sim(s.r), names[k], NULL, NULL), (size_t)moved.n * sizeof *nominal);
    tgtDeriv d = {.name = names[k], .nx = moved.n, .ny = 1, .map = loss_of_parameter, .ctx = &moved, .step = 1e-6};
#ifdef TG_COMPLEX
    d.tol = 1e-8;
#else
    d.tol = 1e-5;
#endif
    tgt_check_jacobian(&d, nominal, g);
    assert_int_equal(loss_of_parameter(&moved, nominal, &(tgReal){0}), TG_OK);
  }
  tg_param_grad_free(p);
  drop(&s);
}

static void gradient_of_runner_is_right(void **state) {
  (void)state;
  check_gradient(tgt_runner(), 30, 10, NULL);
}
static void gradient_of_ball_is_right(void **state) {
  (void)state;
  check_gradient(tgt_ball(), 50, 10, NULL);
}
static void gradient_of_box_is_right(void **state) {
  (void)state;
  // a pose in which no two corners do the same: on an even box ties are many, and labelled
  const tgReal tilt[6] = {0, 0, -5e-4, 0.013, -0.008, 0.2};
  check_gradient(tgt_box(), 12, 12, tilt);
}

// ---- budget, history, capacity ----

static void every_budget_gives_the_same_bits(void **state) {
  (void)state;
  enum { T = 37 };
  Scene s = make(tgt_runner(), T, 0);
  tgRolloutRun run = with_gradient(&s);
  tgRolloutResult result;
  static tgReal full[1024], less[1024];
  succeed(s.r, &run, &result);
  assert_int_equal(result.slots, T);
  assert_int_equal(result.forward_steps, T);
  assert_int_equal(result.revisited_steps, T);
  size_t bytes = outcome(&s, &result, full), one = tg_rollout_least_bytes(s.r);
  check_true(bytes <= sizeof full, "%zu", bytes);
  drop(&s);
  const int slots[] = {1, 2, 3, 4, 5, 8, 13, 21, 36};
  for (size_t i = 0; i < sizeof slots / sizeof *slots; i++) {
    s = make(tgt_runner(), T, one * (size_t)slots[i] + one - 1);
    run = with_gradient(&s);
    succeed(s.r, &run, &result);
    outcome(&s, &result, less);
    assert_int_equal(result.slots, slots[i]);
    assert_memory_equal(full, less, bytes);
    // the first step's record is always there
    if (slots[i] == 1) assert_int_equal(result.forward_steps, T + T * (T + 1) / 2 - 1);
    check_true(result.revisited_steps >= slots[i], "%ld steps from %d records", result.revisited_steps, slots[i]);
    drop(&s);
  }
  s = make(tgt_runner(), T, one - 1);
  run = with_gradient(&s);
  assert_int_equal(tg_rollout_run(s.r, &run, &result), TG_ERR_CAPACITY);
  check_true(strstr(result.error.text, "at least") != NULL, "%s", result.error.text);
  run = inputs(&s);
  succeed(s.r, &run, &result);
  drop(&s);
}

static void repeated_and_grown_runs_give_the_same_bits(void **state) {
  (void)state;
  Scene s = make(tgt_runner(), 40, 0);
  tgRolloutRun run = with_gradient(&s);
  tgRolloutResult result;
  static tgReal first[1024], again[1024];
  succeed(s.r, &run, &result);
  size_t bytes = outcome(&s, &result, first);
  s.v0[0] += 1;
  succeed(s.r, &run, &result);
  outcome(&s, &result, again);
  assert_true(memcmp(first, again, bytes) != 0);
  s.v0[0] -= 1;
  // a fresh object with hardly any room: it grows on the way
  for (int tape = 0; tape < 2; tape++) {
    Scene g = make(tgt_runner(), 40, tape == 0 ? 0 : 30000);
    tgSim *sim = tg_rollout_sim(g.r);
    sim->cap.ncon = sim->cap.npairmem = 1;
    sim->cap.nrow = 3;
    run = with_gradient(&g);
    succeed(g.r, &run, &result);
    check_true(sim->cap.ncon > 1 && result.forward_steps > 40, "should have grown: %d contacts, %ld steps",
               sim->cap.ncon, result.forward_steps);
    outcome(&g, &result, again);
    memcpy(s.v0, g.v0, (size_t)s.nv * sizeof(tgReal));
    assert_memory_equal(first, again, bytes);
    drop(&g);
  }
  drop(&s);
}

static void snapshot_restores_the_bits(void **state) {
  (void)state;
  Scene s = make(tgt_runner(), 1, 0);
  tgSim *sim = tg_rollout_sim(s.r);
  void *shot = malloc(tg_sim_snapshot_size(sim));
  tgReal end[2][32];
  for (int pass = 0; pass < 2; pass++) {
    if (pass == 1) assert_int_equal(tg_sim_restore(sim, shot), TG_OK);
    for (int t = pass == 0 ? 0 : 40; t < 80; t++) {
      if (pass == 0 && t == 40) tg_sim_save(sim, shot);
      for (int k = 0; k < s.nu; k++) tg_sim_ctrl(sim)[k] = 0.7 * cos(0.2 * t + k);
      assert_int_equal(tg_sim_step(sim, 0.01, NULL), TG_OK);
    }
    memcpy(end[pass], tg_sim_qpos(sim), (size_t)s.nq * sizeof(tgReal));
    memcpy(end[pass] + s.nq, tg_sim_qvel(sim), (size_t)s.nv * sizeof(tgReal));
  }
  assert_memory_equal(end[0], end[1], (size_t)(s.nq + s.nv) * sizeof(tgReal));
  free(shot);
  drop(&s);
}

static void loss_is_asked_as_promised(void **state) {
  (void)state;
  Scene s = make(tgt_ball(), 12, 0);
  tgRolloutRun run = inputs(&s);
  tgRolloutResult result;
  s.reach.count = true;
  succeed(s.r, &run, &result);
  assert_int_equal(s.reach.calls, 13);
  assert_int_equal(s.reach.derivative_calls, 0);
  run = with_gradient(&s);
  s.reach.calls = 0;
  succeed(s.r, &run, &result);
  assert_int_equal(s.reach.calls, 25);
  assert_int_equal(s.reach.derivative_calls, 13);
  // without a loss the gradient is zero
  run.loss = NULL;
  s.dv0[0] = 7;
  succeed(s.r, &run, &result);
  assert_true(result.loss == 0 && s.dv0[0] == 0);
  drop(&s);
}

// ---- what stops a rollout ----

static void stopped(Scene *s, tgStatus want, const char *part1, const char *part2) {
  tgRolloutRun run = with_gradient(s);
  tgRolloutResult result;
  tgStatus status = tg_rollout_run(s->r, &run, &result);
  check_true(status == want && result.status == want, "status %d, expected %d: %s", status, want, result.error.text);
  check_true(strstr(result.error.text, part1) != NULL && strstr(result.error.text, part2) != NULL, "'%s' should name '%s' and '%s'",
             result.error.text, part1, part2);
  check_true(isnan(tgRe(result.loss)), "a failed rollout must not show a loss");
}

static void nan_is_named(void **state) {
  (void)state;
  Scene s = make(tgt_runner(), 20, 0);
  tgReal keep = s.u[7 * s.nu + 2];
  s.u[7 * s.nu + 2] = NAN;
  stopped(&s, TG_ERR_NOT_FINITE, "step 7 of 20", "bfoot");
  s.u[7 * s.nu + 2] = INFINITY;
  stopped(&s, TG_ERR_NOT_FINITE, "step 7 of 20", "bfoot");
  s.u[7 * s.nu + 2] = keep;
  keep = s.q0[4];
  s.q0[4] = NAN;
  stopped(&s, TG_ERR_NOT_FINITE, "step 0 of 20", "bshin");
  s.q0[4] = keep;
  keep = s.v0[8];
  s.v0[8] = -INFINITY;
  stopped(&s, TG_ERR_NOT_FINITE, "step 0 of 20", "ffoot");
  s.v0[8] = keep;
  static const struct { const char *param; int index; const char *name; } drill[] = {
    {"body_mass", 2, "bthigh"}, {"body_inertia", 6 * 3 + 1, "bshin"}, {"body_com", 3 * 5, "fthigh"}, {"dof_damping", 5, "bfoot"},
    {"jnt_axis", 3 * 6 + 1, "fthigh"}, {"geom_friction", 0, "floor"}, {"act_gear", 6 * 4, "fshin"},
  };
  for (size_t i = 0; i < sizeof drill / sizeof *drill; i++) {
    tgReal *p = tg_sim_param(tg_rollout_sim(s.r), drill[i].param, NULL, NULL);
    assert_non_null(p);
    keep = p[drill[i].index];
    p[drill[i].index] = NAN;
    stopped(&s, TG_ERR_NOT_FINITE, "step 0 of 20", drill[i].name);
    p[drill[i].index] = keep;
  }
  // and it runs again as if nothing had been
  tgRolloutRun run = with_gradient(&s);
  tgRolloutResult result;
  succeed(s.r, &run, &result);
  drop(&s);
}

// NaN and infinity in every parameter there is, one entry at a time: the first step names it, or it has no part in physics
static void drill(tgModel *m, int *named, int *idle) {
  enum { T = 6 };
  Scene s = make(m, T, 0);
  tgRolloutRun run = inputs(&s);
  tgRolloutResult result;
  tgReal end[2][64];
  size_t bytes = (size_t)(s.nq + s.nv) * sizeof(tgReal);
  run.q0 = run.v0 = NULL;
  run.loss = NULL;
  tgSim *sim = tg_rollout_sim(s.r);
  for (int f = -1; f < tg_model_field_count(m); f++) {
    const char *name = f >= 0 ? tg_model_field(m, f).name : "";
    int rows = 0, cols = 0;
    tgReal *p = f >= 0 ? tg_sim_param(sim, name, &rows, &cols) : NULL;
    for (int i = f < 0 ? -1 : 0; i < rows * cols; i++) {
      tgReal keep = i >= 0 ? p[i] : 0;
      if (i >= 0) p[i] = NAN;
      tgStatus status = tg_rollout_run(s.r, &run, &result);
      if (i >= 0) p[i] = keep;
      if (status == TG_OK) {
        memcpy(end[f >= 0], sim->qpos, (size_t)s.nq * sizeof(tgReal));
        memcpy(end[f >= 0] + s.nq, sim->qvel, (size_t)s.nv * sizeof(tgReal));
        check_true(f < 0 || memcmp(end[0], end[1], bytes) == 0, "%s[%d] is NaN: no error, another result", name, i);
        *idle += f >= 0;
        continue;
      }
      // qpos0 is also the start of this run, and its error is then the state's
      bool tells = strstr(result.error.text, name) != NULL || strcmp(name, "qpos0") == 0;
      check_true(status == TG_ERR_NOT_FINITE && strstr(result.error.text, "step 0 of 6") != NULL && tells, "%s[%d]: status %d: %s", name, i,
                 status, result.error.text);
      (*named)++;
    }
  }
  drop(&s);
}

static void nan_in_any_parameter_is_named(void **state) {
  (void)state;
  int named = 0, idle = 0;
  drill(tgt_runner(), &named, &idle);
  drill(tgt_box(), &named, &idle);
  check_true(named >= 200, "%d entries named, %d without effect", named, idle);
}

static tgStatus stop_at_five(void *ctx, tgSim *sim, int t, int steps, tgReal *value, tgReal *gq, tgReal *gv, tgReal *gu) {
  (void)sim; (void)steps; (void)value; (void)gq; (void)gv; (void)gu;
  if (t == 4) *(int *)ctx = 1;
  return TG_OK;
}

static void cancel_stops_before_the_next_step(void **state) {
  (void)state;
  Scene s = make(tgt_runner(), 20, 0);
  int flag = 0;
  tgRolloutRun run = inputs(&s);
  tgRolloutResult result;
  run.loss = stop_at_five;
  run.loss_ctx = &flag;
  run.cancel = &flag;
  assert_int_equal(tg_rollout_run(s.r, &run, &result), TG_CANCELLED);
  assert_int_equal(result.steps, 5);
  drop(&s);
}

typedef struct Again { tgRollout *r; const tgRolloutRun *run; tgStatus got; } Again;
static tgStatus run_again(void *ctx, tgSim *sim, int t, int steps, tgReal *value, tgReal *gq, tgReal *gv, tgReal *gu) {
  Again *a = ctx;
  tgRolloutResult result;
  (void)sim; (void)t; (void)steps; (void)value; (void)gq; (void)gv; (void)gu;
  a->got = tg_rollout_run(a->r, a->run, &result);
  return TG_OK;
}
static tgStatus bad_value(void *ctx, tgSim *sim, int t, int steps, tgReal *value, tgReal *gq, tgReal *gv, tgReal *gu) {
  (void)ctx; (void)sim; (void)steps; (void)gv; (void)gu;
  if (t == 3 && gq == NULL) *value = NAN;
  return TG_OK;
}
static tgStatus bad_derivative(void *ctx, tgSim *sim, int t, int steps, tgReal *value, tgReal *gq, tgReal *gv, tgReal *gu) {
  (void)ctx; (void)sim; (void)steps; (void)value; (void)gq; (void)gu;
  if (t == 3 && gv != NULL) gv[1] = INFINITY;
  return TG_OK;
}

static void misuse_is_refused(void **state) {
  (void)state;
  Scene s = make(tgt_ball(), 6, 0);
  tgRolloutRun run = inputs(&s);
  tgRolloutResult result;
  Again again = {s.r, &run, TG_OK};
  run.loss = run_again;
  run.loss_ctx = &again;
  succeed(s.r, &run, &result);
  assert_int_equal(again.got, TG_ERR_STATE);
  run = with_gradient(&s);
  run.loss = bad_value;
  assert_int_equal(tg_rollout_run(s.r, &run, &result), TG_ERR_NOT_FINITE);
  check_true(strstr(result.error.text, "loss term 3 of 6") != NULL, "%s", result.error.text);
  run.loss = bad_derivative;
  assert_int_equal(tg_rollout_run(s.r, &run, &result), TG_ERR_NOT_FINITE);
  check_true(strstr(result.error.text, "loss term 3 of 6") != NULL, "%s", result.error.text);
  tgError error = {0};
  tgRolloutOptions o = tg_rollout_default();
  o.steps = 0;
  assert_null(tg_rollout_create(s.m, s.c, &o, &error));
  assert_int_equal(error.status, TG_ERR_ARG);
  o = tg_rollout_default();
  o.size = 3;
  assert_null(tg_rollout_create(s.m, s.c, &o, NULL));
  o = tg_rollout_default();
  o.h = NAN;
  assert_null(tg_rollout_create(s.m, s.c, &o, NULL));
  drop(&s);
}

// feedback: the controls of a run, given by a policy that looks at the state, lead to the same bits
typedef struct Echo { const tgReal *u, *q; int nu, nq, seen; bool same; } Echo;
static void echo(void *ctx, const tgSim *sim, int t, tgReal *u) {
  Echo *e = ctx;
  e->seen++;
  e->same = e->same && memcmp(sim->qpos, e->q + t * e->nq, (size_t)e->nq * sizeof(tgReal)) == 0;
  memcpy(u, e->u + t * e->nu, (size_t)e->nu * sizeof(tgReal));
}

static void a_policy_sees_each_state(void **state) {
  (void)state;
  enum { T = 40 };
  Scene s = make(tgt_runner(), T, 0);
  tgReal *q = calloc((size_t)(2 * (T + 1) * s.nq), sizeof(tgReal)), *p = q + (T + 1) * s.nq;
  tgRolloutRun run = inputs(&s);
  tgRolloutResult a, b;
  run.q = q;
  succeed(s.r, &run, &a);
  Echo e = {.u = s.u, .q = q, .nu = s.nu, .nq = s.nq, .same = true};
  run.q = p;
  run.u = NULL;
  run.policy = echo;
  run.policy_ctx = &e;
  succeed(s.r, &run, &b);
  assert_true(e.same && e.seen >= T);
  assert_memory_equal(p, q, (size_t)((T + 1) * s.nq) * sizeof(tgReal));
  assert_memory_equal(&a.loss, &b.loss, sizeof a.loss);
  run.du = s.du;
  assert_int_equal(tg_rollout_run(s.r, &run, &b), TG_ERR_ARG);
  free(q);
  drop(&s);
}

// the Jacobians of a run are those of its steps: chained backwards they give the adjoint's gradient
static void jacobians_chain_to_the_gradient(void **state) {
  (void)state;
  enum { T = 40 };
  Scene s = make(tgt_runner(), T, 0);
  int nv = s.nv, nx = 2 * nv, nz = nx + s.nu;
  tgReal *D = calloc((size_t)(T * nx * nz + 2 * nx + 2 * (T + 1) * nv), sizeof(tgReal)), *a = D + T * nx * nz,
         *b = a + nx, *sq = b + nx, *sv = sq + (T + 1) * nv;
  s.reach = (tgtReach){.body = 1, .target = {0.4, 0.1, 0.9}, .final = 5};
  tgRolloutRun run = with_gradient(&s);
  tgRolloutResult result, plain;
  run.D = D;
  run.sq = sq;
  run.sv = sv;
  succeed(s.r, &run, &result);
  run.sq = run.sv = NULL;
  run.dq0 = run.dv0 = run.du = NULL;
  succeed(s.r, &run, &plain);
  assert_true(result.grad.label == plain.grad.label && result.grad.ties == plain.grad.ties &&
              result.grad.first_step == plain.grad.first_step);
  // a_T is the gradient of the loss at the end, where the sim stands; a_t = D_t' a_{t+1}
  assert_int_equal(tgt_reach(&s.reach, tg_rollout_sim(s.r), T, T, &result.loss, a, a + nv, NULL), TG_OK);
  for (int t = T - 1; t >= 0; t--) {
    // the gradient in state t + 1
    for (int c = 0; c < nv; c++) {
      check_close(sq[(t + 1) * nv + c], a[c], 1e-9);
      check_close(sv[(t + 1) * nv + c], a[nv + c], 1e-9);
    }
    const tgReal *Dt = D + t * nx * nz;
    for (int c = 0; c < s.nu; c++) {
      tgReal g = 0;
      for (int r = 0; r < nx; r++) g += Dt[r * nz + nx + c] * a[r];
      check_close(g, s.du[t * s.nu + c], 1e-9);
    }
    for (int c = 0; c < nx; c++) {
      b[c] = 0;
      for (int r = 0; r < nx; r++) b[c] += Dt[r * nz + c] * a[r];
    }
    memcpy(a, b, (size_t)nx * sizeof(tgReal));
  }
  for (int c = 0; c < nv; c++) {
    check_close(a[c], s.dq0[c], 1e-9);
    check_close(a[nv + c], s.dv0[c], 1e-9);
    assert_memory_equal(&sq[c], &s.dq0[c], sizeof(tgReal));
    assert_memory_equal(&sv[c], &s.dv0[c], sizeof(tgReal));
  }
  free(D);
  drop(&s);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(rollout_is_the_steps_by_hand), cmocka_unit_test(parameter_gradient_is_right),
    cmocka_unit_test(gradient_of_runner_is_right),
    cmocka_unit_test(gradient_of_ball_is_right), cmocka_unit_test(gradient_of_box_is_right),
    cmocka_unit_test(every_budget_gives_the_same_bits), cmocka_unit_test(repeated_and_grown_runs_give_the_same_bits),
    cmocka_unit_test(snapshot_restores_the_bits), cmocka_unit_test(loss_is_asked_as_promised),
    cmocka_unit_test(nan_is_named), cmocka_unit_test(nan_in_any_parameter_is_named),
    cmocka_unit_test(a_policy_sees_each_state), cmocka_unit_test(jacobians_chain_to_the_gradient),
    cmocka_unit_test(cancel_stops_before_the_next_step), cmocka_unit_test(misuse_is_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
