// test_foreign.c: forward with one contact model, gradient of another: the other's own steps by hand, the label, gaps
// that are seen wider, pairs that it cannot have so near, a push from afar, and what is refused.
#include <stdlib.h>

#include "support/rig.h"
#include "tangere/barrier.h"
#include "tangere/grad.h"
#include "tangere/second.h"

// a finger on a slide before a block that stands on the ground, `apart` away
#define TABLE(apart, height, extra) \
  "<mujoco><option timestep='.01'/><worldbody><geom name='ground' type='plane' size='2 2 1' friction='.3'/>" \
  "<body name='block' pos='0 0 " height "'><freejoint/><geom name='brick' type='box' size='.1 .1 .1' mass='1' friction='.3'/></body>" \
  "<body name='finger' pos='" apart " 0 .1'><joint name='push' type='slide' axis='1 0 0' damping='1'/>" \
  "<geom name='tip' type='box' size='.04 .08 .05' mass='.5' friction='0'/></body>" extra "</worldbody>" \
  "<actuator><motor name='motor' joint='push'/></actuator></mujoco>"
enum { NV = 7, NQ = 8, STEPS = 40 };

typedef struct Table {
  tgModel *m;
  tgContact *forward, *gradient;
  tgRollout *r;
  tgReal q[(STEPS + 1) * NQ], v[(STEPS + 1) * NV], u[STEPS], dq0[NV], dv0[NV], du[STEPS];
} Table;

static tgContact *gradient_of(const tgModel *m, const tgContact *forward, const char *word) {
  tgError e = {0};
  tgContact *c = tg_contact_create_gradient(m, forward, word, NULL, &e);
  check_true(c != NULL, "%s", e.text);
  return c;
}

static void rollout_of(Table *t, size_t tape) {
  tgError e = {0};
  tgRolloutOptions o = tg_rollout_default();
  o.steps = STEPS;
  o.tape_bytes = tape;
  o.gradient_contact = t->gradient;
  tg_rollout_free(t->r);
  t->r = tg_rollout_create(t->m, t->forward, &o, &e);
  check_true(t->r != NULL, "%s", e.text);
}

// word NULL: the gradient of the step itself
static Table table(const char *xml, const char *forward, const char *gradient) {
  Rig rig = rig_of_text(xml, forward, NULL);
  Table t = {.m = rig.m, .forward = rig.c};
  tg_sim_free(rig.s);
  if (gradient != NULL) t.gradient = gradient_of(t.m, t.forward, gradient);
  rollout_of(&t, 0);
  return t;
}

static void clear(Table *t) {
  tg_rollout_free(t->r);
  tg_contact_free(t->gradient);
  tg_contact_free(t->forward);
  tg_model_free(t->m);
}

// half the square of how far the block is from x = 0.5 at the end
static tgStatus far(void *ctx, tgSim *s, int t, int steps, tgReal *value, tgReal *gq, tgReal *gv, tgReal *gu) {
  (void)ctx, (void)gv, (void)gu;
  tgReal miss = tg_sim_qpos(s)[0] - 0.5;
  if (t < steps) return TG_OK;
  *value = miss * miss / 2;
  if (gq != NULL) gq[0] = miss;
  return TG_OK;
}

static tgStatus run(Table *t, tgRolloutResult *result) {
  tgRolloutRun run = {.u = t->u, .loss = far, .q = t->q, .v = t->v, .dq0 = t->dq0, .dv0 = t->dv0, .du = t->du};
  return tg_rollout_run(t->r, &run, result);
}

static void run_well(Table *t, tgRolloutResult *result) {
  tgStatus status = run(t, result);
  check_true(status == TG_OK, "%s", result->error.text);
}

static void push(Table *t) {
  for (int i = 0; i < STEPS; i++) t->u[i] = 6 + 2 * sin(0.3 * i);
}

// the adjoint over single steps of a simulation of the gradient's contact model, put to every state by hand
static void adjoint_by_hand(const Table *t, tgReal a[2 * NV], tgReal du[STEPS]) {
  tgSim *s = tg_sim_create(t->m, t->gradient, NULL, NULL);
  memset(a, 0, 2 * NV * sizeof *a);
  a[0] = t->q[STEPS * NQ] - 0.5;
  for (int i = STEPS - 1; i >= 0; i--) {
    tgReal b[2 * NV];
    tg_sim_reset(s);
    memcpy(tg_sim_qpos(s), t->q + i * NQ, NQ * sizeof(tgReal));
    memcpy(tg_sim_qvel(s), t->v + i * NV, NV * sizeof(tgReal));
    tg_sim_ctrl(s)[0] = t->u[i];
    check_true(tg_sim_step(s, 0.01, NULL) == TG_OK, "step %d: %s", i, tg_sim_error(s)->text);
    assert_int_equal(tg_sim_step_vjp(s, a, a + NV, b, b + NV, du + i, NULL, NULL), TG_OK);
    memcpy(a, b, sizeof b);
  }
  tg_sim_free(s);
}

static void check_by_hand(const char *xml, const char *forward, const char *gradient) {
  Table t = table(xml, forward, gradient);
  tgRolloutResult result;
  tgReal a[2 * NV], du[STEPS];
  push(&t);
  run_well(&t, &result);
  adjoint_by_hand(&t, a, du);
  double most = 0;
  for (int i = 0; i < STEPS; i++) most = fmax(most, fabs(tgRe(du[i])));
  check_true(most > 1e-6, "%s by %s: the gradient is as good as zero, %g", forward, gradient, most);
  for (int i = 0; i < STEPS; i++) check_close(t.du[i], du[i], 1e-11 * most);
  for (int i = 0; i < NV; i++) {
    check_close(t.dq0[i], a[i], 1e-11 * (1 + fabs(tgRe(a[i]))));
    check_close(t.dv0[i], a[NV + i], 1e-11 * (1 + fabs(tgRe(a[NV + i]))));
  }
  assert_int_equal(result.grad.label, TG_GRAD_SURROGATE);
  assert_int_equal(result.grad.first_step, 0);
  check_true(strstr(result.grad.reason, gradient) != NULL && strstr(result.grad.reason, forward) != NULL, "%s", result.grad.reason);
  clear(&t);
}

static void gradient_is_the_other_models_own_steps(void **state) {
  (void)state;
  // pushed from touch, so that bodies are never farther in each other than gaps are wider
  check_by_hand(TABLE("-.14", ".1", ""), "lcp", "barrier");
  check_by_hand(TABLE("-.14", ".1", ""), "lcp", "sdrs");
  check_by_hand(TABLE("-.16", ".1", ""), "lcp", "softmin");
  check_by_hand(TABLE("-.14", ".1", ""), "lcp", "damped");
  check_by_hand(TABLE("-.141", ".1", ""), "softmin", "lcp");
}

// a ball in the block's place: one point a contact. On a face `lcp` may carry a block by several sets of corners; which
// one, its memory says, and a gradient's step has none
#define ROLL(apart) \
  "<mujoco><option timestep='.01'/><worldbody><geom type='plane' size='2 2 1' friction='.3'/>" \
  "<body pos='0 0 .1'><freejoint/><geom size='.1' mass='1' friction='.3'/></body>" \
  "<body pos='" apart " 0 .1'><joint name='push' type='slide' axis='1 0 0' damping='1'/>" \
                      "<geom type='box' size='.04 .08 .05' mass='.5' friction='0'/></body>" \
  "</worldbody><actuator><motor joint='push'/></actuator></mujoco>"

// a gradient of the same contact model with the same options is the ordinary one
static void check_same(const char *xml, const char *word) {
  Table plain = table(xml, word, NULL), by = table(xml, word, word);
  tgRolloutResult result;
  double most = 0;
  push(&plain);
  push(&by);
  run_well(&plain, &result);
  run_well(&by, &result);
  assert_memory_equal(plain.q, by.q, sizeof by.q);
  for (int i = 0; i < STEPS; i++) most = fmax(most, fabs(tgRe(plain.du[i])));
  check_true(most > 1e-6, "%s: the gradient is as good as zero, %g", word, most);
  for (int i = 0; i < STEPS; i++) check_close(by.du[i], plain.du[i], 1e-12 * most);
  for (int i = 0; i < NV; i++) {
    check_close(by.dq0[i], plain.dq0[i], 1e-12 * (1 + fabs(tgRe(plain.dq0[i]))));
    check_close(by.dv0[i], plain.dv0[i], 1e-12 * (1 + fabs(tgRe(plain.dv0[i]))));
  }
  check_true(strstr(result.grad.reason, "wider") == NULL, "%s", result.grad.reason);
  clear(&plain);
  clear(&by);
}

static void the_same_model_gives_the_same_gradient(void **state) {
  (void)state;
  check_same(ROLL("-.14"), "lcp");
  check_same(TABLE("-.141", ".1", ""), "softmin");
  check_same(TABLE("-.142", ".103", ""), "barrier");
  check_same(TABLE("-.142", ".103", ""), "sdrs");
}

// The finger comes in so fast that it is farther in the block than gaps are wider: they are seen wider still. The
// motion is the forward model's to the bit, and the budget of the tape changes none of the gradient's
static void motion_and_budget(void **state) {
  (void)state;
  Table plain = table(TABLE("-.16", ".1", ""), "lcp", NULL), by = table(TABLE("-.16", ".1", ""), "lcp", "barrier");
  tgRolloutResult result;
  tgReal kept[STEPS];
  push(&plain);
  push(&by);
  run_well(&plain, &result);
  run_well(&by, &result);
  assert_memory_equal(plain.q, by.q, sizeof by.q);
  assert_memory_equal(plain.v, by.v, sizeof by.v);
  memcpy(kept, by.du, sizeof kept);
  rollout_of(&by, tg_rollout_least_bytes(by.r));
  run_well(&by, &result);
  assert_true(result.slots == 1);
  assert_memory_equal(kept, by.du, sizeof kept);
  // and so does a run before it that went elsewhere
  for (int i = 0; i < STEPS; i++) by.u[i] = -3;
  run_well(&by, &result);
  push(&by);
  run_well(&by, &result);
  assert_memory_equal(kept, by.du, sizeof kept);
  clear(&plain);
  clear(&by);
}

static void jacobians_are_the_other_models(void **state) {
  (void)state;
  Table t = table(TABLE("-.1401", ".1", ""), "lcp", "barrier");
  enum { NC = 2 * NV + 1, BLOCK = 2 * NV * NC };
  tgReal *D = malloc(STEPS * BLOCK * sizeof *D), own[BLOCK];
  tgRolloutRun run = {.u = t.u, .q = t.q, .v = t.v, .D = D};
  tgRolloutResult result;
  push(&t);
  assert_int_equal(tg_rollout_run(t.r, &run, &result), TG_OK);
  assert_int_equal(result.grad.label, TG_GRAD_SURROGATE);
  tgSim *s = tg_sim_create(t.m, t.gradient, NULL, NULL);
  for (int i = 0; i < STEPS; i += 13) {
    tg_sim_reset(s);
    memcpy(tg_sim_qpos(s), t.q + i * NQ, NQ * sizeof(tgReal));
    memcpy(tg_sim_qvel(s), t.v + i * NV, NV * sizeof(tgReal));
    tg_sim_ctrl(s)[0] = t.u[i];
    assert_int_equal(tg_sim_step(s, 0.01, NULL), TG_OK);
    assert_int_equal(tg_sim_step_jacobian(s, own, NULL), TG_OK);
    for (int k = 0; k < BLOCK; k++) check_close(D[i * BLOCK + k], own[k], 1e-11 * (1 + fabs(tgRe(own[k]))));
  }
  free(D);
  // who cancels the step cancels the other model's too, which is solved for its derivative
  tgSim *ours = tg_sim_create(t.m, t.forward, NULL, NULL);
  volatile int flag = 1;
  assert_int_equal(tg_sim_step(ours, 0.01, NULL), TG_OK);
  tg_sim_watch_cancel(ours, &flag);
  tgReal *one = malloc(BLOCK * sizeof *one);
  assert_int_equal(tg_sim_step_jacobian_by(ours, s, one, NULL), TG_CANCELLED);
  flag = 0;
  assert_int_equal(tg_sim_step_jacobian_by(ours, s, one, NULL), TG_OK);
  flag = 1;
  assert_int_equal(tg_sim_step(s, 0.01, NULL), TG_OK);
  free(one);
  tg_sim_free(ours);
  tg_sim_free(s);
  clear(&t);
}

// a block that turns in the air, near the ground: its coordinates are no tangents, and what carries over from one
// contact model to the other must be those
#define TURN \
  "<mujoco><worldbody><geom type='plane' size='2 2 1' friction='.3'/><body name='block' pos='0 0 .19' euler='31 22 13'><freejoint/>" \
  "<geom type='box' size='.1 .12 .08' mass='1' friction='.3'/></body><body pos='.6 0 .3'>" \
  "<joint type='slide' axis='1 0 0'/><geom type='box' size='.05 .05 .05'/>" \
  "</body></worldbody></mujoco>"

// Jacobian and adjoint at the states of `forward` against differences of the other model's step, which know nothing of `forward`
static void check_differences(const char *forward, const char *word) {
  enum { NC = 2 * NV, BLOCK = 2 * NV * NC };
  Rig rig = rig_of_text(TURN, forward, NULL);
  tgContact *by = gradient_of(rig.m, rig.c, word);
  tgSim *second = tg_sim_create(rig.m, by, NULL, NULL), *alone = tg_sim_create(rig.m, by, NULL, NULL);
  static const double v[NV] = {0.3, -0.2, -0.4, 2, -3, 1, 0.5};
  for (int i = 0; i < NV; i++) tg_sim_qvel(rig.s)[i] = v[i];
  for (int k = 0; k < 4; k++) {
    tgReal D[BLOCK], R[BLOCK], w[2 * NV], row[2 * NV];
    memcpy(tg_sim_qpos(alone), tg_sim_qpos(rig.s), NQ * sizeof(tgReal));
    memcpy(tg_sim_qvel(alone), tg_sim_qvel(rig.s), NV * sizeof(tgReal));
    tgDifferenceOptions o = tg_difference_default();
    o.h = 0.004;
    assert_int_equal(tg_grad_differences(alone, &o, R), TG_OK);
    assert_int_equal(tg_sim_step(rig.s, 0.004, NULL), TG_OK);
    check_true(tg_sim_step_jacobian_by(rig.s, second, D, NULL) == TG_OK, "%s", tg_sim_error(rig.s)->text);
    double most = 0;
    for (int i = 0; i < BLOCK; i++) most = fmax(most, fabs(tgRe(R[i])));
    for (int i = 0; i < BLOCK; i++) check_close(D[i], R[i], 1e-7 * most);
    for (int i = 0; i < 2 * NV; i++) w[i] = sin(1 + 3 * i);
    assert_int_equal(tg_sim_step_vjp_by(rig.s, second, w, w + NV, row, row + NV, NULL, NULL, NULL), TG_OK);
    for (int j = 0; j < NC; j++) {
      tgReal want = 0;
      for (int i = 0; i < 2 * NV; i++) want += w[i] * R[i * NC + j];
      check_close(row[j], want, 1e-7 * 2 * NV * most);
    }
  }
  tg_sim_free(second);
  tg_sim_free(alone);
  tg_contact_free(by);
  drop(&rig);
}

static void differences_of_the_other_models_step(void **state) {
  (void)state;
  check_differences("lcp", "barrier");
  check_differences("lcp", "softmin");
  check_differences("lcp", "damped");
  check_differences("toi", "damped");
  check_differences("softmin", "sdrs");
  check_differences("barrier", "softmin");
}

// ---- gaps that are seen wider ----

// resting bodies touch under lcp, so gaps are wider by the resting gap of the model; where they do not, gaps stay
static void gaps_are_wider_where_bodies_touch(void **state) {
  (void)state;
  Rig rig = rig_of_text(TABLE("-.3", ".1", ""), "lcp", NULL), near = rig_of_text(TABLE("-.3", ".1", ""), "sdrs", NULL);
  tgContact *by = gradient_of(rig.m, rig.c, "barrier"), *kept = gradient_of(near.m, near.c, "barrier"),
            *push = gradient_of(rig.m, rig.c, "softmin");
  double gap = tg_contact_resting_gap(by);
  // the finger, 0.5 kg:  1e-6 12 (z^-2 + z^-1.5) = 0.5 g
  check_close(12e-6 * (pow(gap, -2) + pow(gap, -1.5)), 0.5 * 9.80665, 1e-9);
  assert_true(tg_contact_resting_gap(rig.c) == 0 && tg_contact_resting_gap(push) == 0);
  tgSim *sim[2] = {tg_sim_create(rig.m, by, NULL, NULL), tg_sim_create(near.m, kept, NULL, NULL)};
  // the block stands on the ground: the one takes that, the other does not, and says who touches
  assert_int_equal(tg_sim_step(sim[0], 1e-4, NULL), TG_OK);
  assert_int_equal(tg_sim_step(sim[1], 1e-4, NULL), TG_ERR_INVALID);
  check_true(strstr(tg_sim_error(sim[1])->text, "brick") != NULL &&
             strstr(tg_sim_error(sim[1])->text, "ground") != NULL, "%s", tg_sim_error(sim[1])->text);
  tg_sim_free(sim[0]);
  tg_sim_free(sim[1]);
  tg_contact_free(by);
  tg_contact_free(kept);
  tg_contact_free(push);
  drop(&rig);
  drop(&near);
}

// height of the block's centre after it has come to rest
static double resting_height(double widen) {
  tgBarrierOptions o = tg_barrier_default();
  o.widen = widen;
  Rig rig = rig_of_text("<mujoco><worldbody><geom type='plane' size='2 2 1'/><body pos='0 0 .103'>"
                        "<joint type='slide' axis='0 0 1' damping='30'/>"
                        "<geom type='box' size='.1 .1 .1' mass='1'/></body></worldbody></mujoco>", "barrier", &o.of);
  for (int k = 0; k < 300; k++) assert_int_equal(tg_sim_step(rig.s, 0.02, NULL), TG_OK);
  double height = 0.103 + tgRe(tg_sim_qpos(rig.s)[0]);
  drop(&rig);
  return height;
}

static void bodies_rest_lower_by_what_gaps_are_wider(void **state) {
  (void)state;
  const double widen = 5e-4;
  double height = resting_height(0);
  assert_true(height > 0.1 + widen);
  check_close(height - resting_height(widen), widen, 0.02 * widen);
}

// a step with wider gaps is differentiated exactly, in the state and in the sizes
static void wider_steps_have_their_derivatives(void **state) {
  (void)state;
  tgBarrierOptions o = tg_barrier_default();
  o.widen = 2e-3;
  Rig rig = rig_of_text(TABLE("-.1405", ".1",
                              "<body name='ball' pos='.3 .02 .0995'><freejoint/>"
                              "<geom name='orb' type='sphere' size='.1' mass='.7'/></body>"), "barrier", &o.of);
  tgReal *v = tg_sim_qvel(rig.s);
  for (int i = 0; i < tg_model_nv(rig.m); i++) v[i] = 0.05 * sin(1 + 2 * i);
  tgGradCheckOptions check = tg_grad_check_default();
  tgGradCheck got = {0};
  assert_int_equal(tg_grad_check_step(rig.s, &check, &got), TG_OK);
  assert_int_equal(tg_grad_check_parameters(rig.s, &check, &got), TG_OK);
  for (int i = 0; i < got.nblock; i++)
    check_true(got.block[i].pass, "%s: %g, %s", got.block[i].name, got.block[i].error, got.block[i].row_name);
  drop(&rig);
}

// ---- pairs that stay too near ----

static void pairs_that_stay_too_near_are_named(void **state) {
  (void)state;
  // the finger starts 6 cm inside the block, more than surfaces of the finger can be deeper
  Table t = table(TABLE("-.08", ".1", ""), "lcp", "barrier");
  tgRolloutResult result;
  assert_int_equal(run(&t, &result), TG_ERR_INVALID);
  const char *text = result.error.text;
  check_true(strstr(text, "gradient of step") != NULL && strstr(text, "'barrier'") != NULL &&
             strstr(text, "tip") != NULL && strstr(text, "brick") != NULL, "%s", text);
  clear(&t);
}

static void thin_geoms_are_named(void **state) {
  (void)state;
  tgBarrierOptions o = tg_barrier_default();
  tgError e = {0};
  o.widen = 0.05;
  Rig rig = rig_of_text(TABLE("-.3", ".1", ""), "lcp", NULL);
  assert_null(tg_contact_create(rig.m, "barrier", &o.of, &e));
  check_true(strstr(e.text, "tip") != NULL && strstr(e.text, "widen") != NULL, "%s", e.text);
  drop(&rig);
}

// ---- a push from afar ----

// before the finger touches, no control matters to the block under lcp: its gradient is zero and a descent stays where
// it is; the barrier's points the way
static void push_from_afar(void **state) {
  (void)state;
  Table plain = table(TABLE("-.3", ".1", ""), "lcp", NULL), by = table(TABLE("-.3", ".1", ""), "lcp", "barrier");
  tgRolloutResult result;
  run_well(&plain, &result);
  for (int i = 0; i < STEPS; i++) assert_true(tgRe(plain.du[i]) == 0);
  double first = tgRe(result.loss), best = first;
  for (int k = 0; k < 60 && best > 0.8 * first; k++) {
    double length = 0;
    run_well(&by, &result);
    best = fmin(best, tgRe(result.loss));
    for (int i = 0; i < STEPS; i++) length += tgRe(by.du[i] * by.du[i]);
    assert_true(length > 0);
    for (int i = 0; i < STEPS; i++) by.u[i] -= 3 * by.du[i] / sqrt(length);
  }
  check_true(best < 0.8 * first, "loss %g -> %g", first, best);
  clear(&plain);
  clear(&by);
}

// the step has the barrier of short reach, the gradient the long range too, which couples bodies that are apart
static void long_range_in_the_gradient_only(void **state) {
  (void)state;
  tgBarrierOptions o = tg_barrier_default();
  o.long_range = TG_LONG_RANGE_OFF;
  Rig rig = rig_of_text(TABLE("-.3", ".1", ""), "lcp", NULL);
  tgError e = {0};
  Table t = {.m = rig.m, .forward = tg_contact_create(rig.m, "barrier", &o.of, &e)};
  check_true(t.forward != NULL, "%s", e.text);
  t.gradient = gradient_of(t.m, t.forward, "barrier");
  tgReal q0[NQ];
  memcpy(q0, tg_sim_qpos(rig.s), sizeof q0);
  q0[2] += 2e-3;
  for (int k = 0; k < 2; k++) {
    tgContact *both = t.gradient;
    if (k == 0) t.gradient = NULL;
    rollout_of(&t, 0);
    t.gradient = both;
    tgRolloutResult result;
    tgRolloutRun run = {.q0 = q0, .u = t.u, .loss = far, .du = t.du};
    check_true(tg_rollout_run(t.r, &run, &result) == TG_OK, "%s", result.error.text);
    assert_int_equal(result.grad.label, k == 0 ? TG_GRAD_EXACT : TG_GRAD_SURROGATE);
    assert_true((tgRe(t.du[0]) != 0) == (k == 1));
    check_true(k == 0 || strstr(result.grad.reason, "wider") == NULL, "%s", result.grad.reason);
  }
  tg_sim_free(rig.s);
  tg_contact_free(rig.c);
  clear(&t);
}

// ---- what is refused ----

static void bad_combinations_are_refused(void **state) {
  (void)state;
  Rig a = rig_of_text(TABLE("-.3", ".1", ""), "lcp", NULL), b = rig_of_text(TABLE("-.4", ".1", ""), "barrier", NULL);
  tgError e = {0};
  tgRolloutOptions o = tg_rollout_default();
  o.gradient_contact = b.c;
  assert_null(tg_rollout_create(a.m, a.c, &o, &e));
  check_true(strstr(e.text, "gradient_contact") != NULL && strstr(e.text, "another model") != NULL, "%s", e.text);
  assert_null(tg_contact_create_gradient(a.m, b.c, "barrier", NULL, &e));
  check_true(strstr(e.text, "another model") != NULL, "%s", e.text);
  assert_null(tg_contact_create_gradient(a.m, a.c, "barier", NULL, &e));
  check_true(strstr(e.text, "barier") != NULL, "%s", e.text);
  tgContact *by = gradient_of(a.m, a.c, "barrier"), *twice = gradient_of(a.m, a.c, "softmin");
  o.gradient_contact = by;
  assert_null(tg_second_create(a.m, twice, &o, &e));
  check_true(strstr(e.text, "gradient_contact") != NULL, "%s", e.text);
  // single steps
  tgReal g[2 * NV] = {1}, out[2 * NV], D[2 * NV * (2 * NV + 1)];
  tgGradInfo info;
  tgSim *other = tg_sim_create(a.m, by, NULL, NULL);
  assert_int_equal(tg_sim_step_vjp_by(a.s, other, g, g + NV, out, out + NV, NULL, NULL, &info), TG_ERR_STATE);
  assert_int_equal(tg_sim_step(a.s, 0.01, NULL), TG_OK);
  assert_int_equal(tg_sim_step_vjp_by(NULL, other, g, g + NV, out, out + NV, NULL, NULL, &info), TG_ERR_ARG);
  assert_int_equal(tg_sim_step_vjp_by(a.s, NULL, g, g + NV, out, out + NV, NULL, NULL, &info), TG_ERR_ARG);
  assert_int_equal(tg_sim_step_jacobian_by(a.s, other, NULL, &info), TG_ERR_ARG);
  assert_int_equal(tg_sim_step_vjp_by(a.s, b.s, g, g + NV, out, out + NV, NULL, NULL, &info), TG_ERR_ARG);
  check_true(strstr(tg_sim_error(a.s)->text, "same model") != NULL, "%s", tg_sim_error(a.s)->text);
  assert_int_equal(tg_sim_step_jacobian_by(a.s, b.s, D, &info), TG_ERR_ARG);
  // numbers of the step's contact model are none of the gradient's
  static const char *const mine[] = {"contact.weight"};
  tgParamGrad *dp = tg_param_grad_create_contact(by, mine, 1, NULL, &e);
  check_true(dp != NULL, "%s", e.text);
  assert_int_equal(tg_sim_step_vjp_by(a.s, other, g, g + NV, out, out + NV, NULL, dp, &info), TG_OK);
  assert_int_equal(info.label, TG_GRAD_SURROGATE);
  tgSim *third = tg_sim_create(a.m, twice, NULL, NULL);
  assert_int_equal(tg_sim_step_vjp_by(a.s, third, g, g + NV, out, out + NV, NULL, dp, &info), TG_ERR_ARG);
  tg_param_grad_free(dp);
  tg_sim_free(third);
  tg_sim_free(other);
  tg_contact_free(by);
  tg_contact_free(twice);
  drop(&a);
  drop(&b);
}

// parameters of the sim, not of the model, are those of the gradient's step
static void parameters_are_the_sims(void **state) {
  (void)state;
  Rig a = rig_of_text(TABLE("-.3", ".1", ""), "lcp", NULL);
  tgContact *by = gradient_of(a.m, a.c, "barrier");
  tgSim *other = tg_sim_create(a.m, by, NULL, NULL);
  tgReal g[2 * NV] = {0}, du[2];
  g[2 * NV - 1] = 1;
  for (int k = 0; k < 2; k++) {
    int finger = tg_model_find(a.m, TG_THING_BODY, "finger");
    tg_sim_reset(a.s);
    tg_sim_param(a.s, "body_mass", NULL, NULL)[finger] = k == 0 ? 0.5 : 50;
    assert_int_equal(tg_sim_step(a.s, 0.01, NULL), TG_OK);
    assert_int_equal(tg_sim_step_vjp_by(a.s, other, NULL, g + NV, NULL, NULL, &du[k], NULL, NULL), TG_OK);
  }
  check_true(tgRe(du[0]) > 50 * tgRe(du[1]) && tgRe(du[1]) > 0, "%g, %g", tgRe(du[0]), tgRe(du[1]));
  tg_sim_free(other);
  tg_contact_free(by);
  drop(&a);
}

// a batch has them as a rollout has
static void batches_take_it(void **state) {
  (void)state;
  Table t = table(TABLE("-.16", ".1", ""), "lcp", "barrier");
  tgRolloutOptions o = tg_rollout_default();
  tgError e = {0};
  tgRolloutResult result;
  tgReal du[STEPS];
  push(&t);
  run_well(&t, &result);
  o.steps = STEPS;
  o.gradient_contact = t.gradient;
  tgBatch *batch = tg_batch_create(t.m, t.forward, &o, 2, &e);
  check_true(batch != NULL, "%s", e.text);
  tgRolloutRun run = {.u = t.u, .loss = far, .du = du};
  assert_int_equal(tg_batch_run(batch, 1, &run, &result), TG_OK);
  assert_int_equal(result.grad.label, TG_GRAD_SURROGATE);
  assert_memory_equal(du, t.du, sizeof du);
  tg_batch_free(batch);
  clear(&t);
}

int main(void) {
  const struct CMUnitTest tests[] = { cmocka_unit_test(gradient_is_the_other_models_own_steps),
                                      cmocka_unit_test(the_same_model_gives_the_same_gradient),
                                      cmocka_unit_test(motion_and_budget),
                                      cmocka_unit_test(jacobians_are_the_other_models),
                                      cmocka_unit_test(differences_of_the_other_models_step),
                                      cmocka_unit_test(gaps_are_wider_where_bodies_touch),
                                      cmocka_unit_test(bodies_rest_lower_by_what_gaps_are_wider),
                                      cmocka_unit_test(wider_steps_have_their_derivatives),
                                      cmocka_unit_test(pairs_that_stay_too_near_are_named),
                                      cmocka_unit_test(thin_geoms_are_named), cmocka_unit_test(push_from_afar),
                                      cmocka_unit_test(long_range_in_the_gradient_only),
                                      cmocka_unit_test(bad_combinations_are_refused),
                                      cmocka_unit_test(parameters_are_the_sims), cmocka_unit_test(batches_take_it)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
