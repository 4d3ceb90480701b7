// test_aware.c: the complementarity-aware gradient: where it steps in, what it then is, and that it leaves everything else alone.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "contact/contact.h"
#include "scenes/scenes.h"
#include "step/scene_states.h"
#include "support/rig.h"
#include "tangere/optim.h"
#include "tangere/rollout.h"

static tgLcpOptions options(bool aware, bool symplectic) {
  tgLcpOptions o = tg_lcp_default();
  o.aware_gradient = aware;
  o.symplectic = symplectic;
  return o;
}

static Rig rig(tgModel *m, bool aware, bool symplectic) {
  tgLcpOptions o = options(aware, symplectic);
  return rig_of_model(m, "lcp", &o.of, NULL);
}

// the model is another's too
static void drop_alone(Rig *r) {
  r->m = NULL;
  drop(r);
}

// A ball on a vertical rail at height z, with a motor of gear 1
static void ball(tgDesc *d, const char *name, double x, double z, double radius, double mass) {
  int b = tg_desc_add_body(d, 0, name), j = tg_desc_add_joint(d, b, TG_JOINT_SLIDE, name), g = tg_desc_add_geom(d, b, TG_GEOM_SPHERE, name);
  d->body[b].pos[0] = x;
  d->body[b].pos[2] = z;
  d->geom[g].size[0] = radius;
  d->geom[g].mass = mass;
  d->geom[g].friction[0] = 0;
  tg_desc_add_actuator(d, TG_TRN_JOINT, j, name);
}

static void floor_at(tgDesc *d, double z) {
  int g = tgs_plane(d, 0);
  d->geom[g].pos[2] = z;
}

static tgModel *compiled(tgDesc *d, double gravity) {
  d->option.gravity[0] = d->option.gravity[1] = 0;
  d->option.gravity[2] = gravity;
  tgError e = {0};
  tgModel *m = tgs_compile(d, &e);
  if (m == NULL) fail_msg("%s", e.text);
  return m;
}

// Two chained adjoints of one step, dL/dq' = -0.1 in each: (dv, du) after the second
static void chained(Rig *r, double h, tgReal *dv, tgReal *du, tgGradInfo *info) {
  const tgReal gq = -0.1;
  tgReal gv = 0, dq;
  assert_int_equal(tg_sim_step(r->s, h, NULL), TG_OK);
  for (int k = 0; k < 2; k++) {
    assert_int_equal(tg_sim_step_vjp(r->s, &gq, &gv, &dq, dv, du, NULL, info), TG_OK);
    gv = *dv;
  }
}

// A ball pressed on the ground that the loss wants higher, position by the old velocity. Plain: the first adjoint passes through the
// position alone, the second stops at the contact. Aware: the contact opens, and with it -0.1 h more reaches v, -0.1 h^2 the force.
static void test_ground(void **state) {
  (void)state;
  const double h = 1e-3;
  tgDesc *d = tg_desc_create(NULL);
  floor_at(d, 0.5);
  ball(d, "ball", 0, 1 - 1e-4, 0.5, 1);
  tgModel *m = compiled(d, 0);
  for (int aware = 0; aware < 2; aware++) {
    Rig r = rig(m, aware, false);
    tgReal dv, du;
    tgGradInfo info;
    r.s->qvel[0] = -1e-4;
    chained(&r, h, &dv, &du, &info);
    check_close(dv, aware ? -0.2 * h : -0.1 * h, 1e-18);
    check_close(du, aware ? -0.1 * h * h : 0, 1e-20);
    assert_int_equal(info.label, aware ? TG_GRAD_SURROGATE : TG_GRAD_EXACT);
    if (aware) assert_non_null(strstr(info.reason, "'ball'"));
    // Jacobians are the plain ones, and leave the adjoint as it is
    static const char *const name[] = {"body_mass"};
    tgReal D[4 * 2], again;
    tgGradInfo plain;
    tgParamGrad *p = tg_param_grad_create(m, name, 1, NULL, NULL);
    assert_true(p != NULL && m->nv == 1);
    assert_int_equal(tg_sim_step_param_jacobian(r.s, p, D, &plain), TG_OK);
    assert_int_equal(plain.label, TG_GRAD_EXACT);
    tg_param_grad_free(p);
    chained(&r, h, &again, &du, &info);
    assert_int_equal(info.label, aware ? TG_GRAD_SURROGATE : TG_GRAD_EXACT);
    drop_alone(&r);
  }
  tg_model_free(m);
}

// A ball pressed on a paddle of the same mass that lies on nothing: they move together, so the loss on the ball's
// velocity reaches the paddle's by half, and nothing is stuck: aware and plain are the same bits.
static void test_paddle(void **state) {
  (void)state;
  const double h = 1e-3;
  tgDesc *d = tg_desc_create(NULL);
  ball(d, "ball", 0, 1 - 1e-4, 0.5, 1);
  ball(d, "paddle", 0, 0, 0.5, 1);
  tgModel *m = compiled(d, 0);
  for (int aware = 0; aware < 2; aware++) {
    Rig r = rig(m, aware, false);
    tgReal gv[2] = {-0.1, 0}, dq[2], dv[2], du[2];
    tgGradInfo info;
    r.s->qvel[0] = -1e-4;
    assert_int_equal(tg_sim_step(r.s, h, NULL), TG_OK);
    assert_int_equal(tg_sim_step_vjp(r.s, NULL, gv, dq, dv, du, NULL, &info), TG_OK);
    for (int i = 0; i < 2; i++) {
      check_close(dv[i], -0.05, 1e-15);
      check_close(du[i], -0.05 * h, 1e-18);
    }
    assert_int_equal(info.label, TG_GRAD_EXACT);
    drop_alone(&r);
  }
  tg_model_free(m);
}

// Three balls apart: one rests and is wanted higher, one rests and is wanted lower, one flies. Only the first is
// taken otherwise, and its gradient is that of free flight; the others keep theirs, to the bit; the classes, and so
// the Jacobian, are as before.
static void test_islands_apart(void **state) {
  (void)state;
  const double h = 1e-3, gz[3] = {-1, 1, -1};
  tgDesc *d = tg_desc_create(NULL);
  floor_at(d, 0);
  for (int i = 0; i < 3; i++) ball(d, i == 0 ? "up" : i == 1 ? "down" : "free", i, i < 2 ? 0.3 - 1e-5 : 2, 0.3, 0.5 + i);
  tgModel *m = compiled(d, -9.81);
  Rig plain = rig(m, false, true), aware = rig(m, true, true);
  tgSim *flight = tg_sim_create(m, NULL, NULL, NULL);
  tgReal x[3][9], D[3][54];
  tgSim *const sims[3] = {plain.s, aware.s, flight};
  tgGradInfo info[3], info_D[3];
  for (int k = 0; k < 3; k++) {
    tgReal gv[3];
    for (int i = 0; i < 3; i++) gv[i] = gz[i];
    assert_int_equal(tg_sim_step(sims[k], h, NULL), TG_OK);
    assert_int_equal(tg_sim_step_vjp(sims[k], gv, gv, x[k], x[k] + 3, x[k] + 6, NULL, &info[k]), TG_OK);
    assert_int_equal(tg_sim_step_jacobian(sims[k], D[k], &info_D[k]), TG_OK);
  }
  for (int i = 0; i < 9; i++) {
    if (i % 3 == 0) check_close(x[1][i], x[2][i], 1e-15);
    else check_close(x[1][i], x[0][i], 0);
  }
  check_close(x[0][6], 0, 0);
  check_close(x[0][7], 0, 0);
  check_true(tgRe(x[1][6]) < -1e-4, "the loss does not reach the ball's motor: %.3g", tgRe(x[1][6]));
  assert_int_equal(info[1].label, TG_GRAD_SURROGATE);
  assert_non_null(strstr(info[1].reason, "'up'"));
  assert_int_equal(info_D[1].label, TG_GRAD_EXACT);
  assert_memory_equal(D[0], D[1], sizeof D[0]);
  assert_memory_equal(plain.s->rows->class, aware.s->rows->class, (size_t)plain.s->nrow * sizeof(int));
  tg_sim_free(flight);
  drop_alone(&plain);
  drop(&aware);
}

// Wherever nothing is stuck the aware gradient is the plain one, to the bit, on all scenes; where it is not, it says so.
static void test_leaves_alone(void **state) {
  (void)state;
  const double h = 0.002;
  int same = 0, otherwise = 0;
  for (int scene = 0; scene < TGS_COUNT; scene++) {
    tgModel *m = tgs_model((tgsScene)scene, NULL);
    Rig plain = rig(m, false, true), aware = rig(m, true, true);
    int nv = m->nv, n = 2 * nv + m->nu;
    tgReal *g = malloc(sizeof *g * (size_t)(2 * nv + 2 * n)), *x = g + 2 * nv, *y = x + n;
    for (int k = 0; k < 12; k++) {
      tgtRandom r = {.s = (unsigned)k};
      tgGradInfo info;
      if (tgt_scene_state(plain.s, (tgsScene)scene, k, h) != TG_OK || tgt_scene_state(aware.s, (tgsScene)scene, k, h) != TG_OK) continue;
      if (tg_sim_step(plain.s, h, NULL) != TG_OK || tg_sim_step(aware.s, h, NULL) != TG_OK) continue;
      for (int i = 0; i < 2 * nv; i++) g[i] = tgt_normal(&r);
      assert_int_equal(tg_sim_step_vjp(plain.s, g, g + nv, x, x + nv, x + 2 * nv, NULL, NULL), TG_OK);
      assert_int_equal(tg_sim_step_vjp(aware.s, g, g + nv, y, y + nv, y + 2 * nv, NULL, &info), TG_OK);
      if (info.label == TG_GRAD_SURROGATE) otherwise++;
      else assert_memory_equal(x, y, (size_t)n * sizeof *x);
      same += info.label != TG_GRAD_SURROGATE;
    }
    free(g);
    drop_alone(&plain);
    drop(&aware);
  }
  print_message("aware: %d states as plain, %d otherwise\n", same, otherwise);
  check_true(same > 50, "only %d states", same);
}

// ---- take-off [lcp Fig. 8] ----

enum { STEPS = 500 };

static tgStatus height(void *ctx, tgSim *s, int t, int steps, tgReal *value, tgReal *gq, tgReal *gv, tgReal *gu) {
  (void)ctx;
  (void)gv;
  (void)gu;
  if (t < steps) return TG_OK;
  tgReal off = 5 - (0.8 - 1e-4) - s->qpos[0];
  *value = off * off;
  if (gq != NULL) gq[0] = -2 * off;
  return TG_OK;
}

// Gradient descent at rate 10 on 500 forces within +-10 N, from rest on the ground: the last loss; `still`: no number
// of any gradient was ever not zero
static double take_off(bool aware, bool *still) {
  tgDesc *d = tg_desc_create(NULL);
  floor_at(d, 0.5);
  ball(d, "drone", 0, 0.8 - 1e-4, 0.3, 0.1);
  tgModel *m = compiled(d, -9.81);
  tgLcpOptions o = options(aware, true);
  o.contact_rule = TG_RULE_TOUCHING;
  o.erp = 0;   // it stays 0.1 mm deep, as in the paper's engine: pushed out, it would leave the ground by itself
  tgContact *c = tg_contact_create(m, "lcp", &o.of, NULL);
  tgRolloutOptions ro = tg_rollout_default();
  ro.steps = STEPS;
  ro.h = 1e-3;
  tgRollout *r = tg_rollout_create(m, c, &ro, NULL);
  assert_non_null(r);
  tgReal u[STEPS] = {0}, du[STEPS], v0 = -1e-4;
  double loss = 0;
  *still = true;
  for (int i = 0; i <= 65; i++) {
    tgRolloutRun run = {.v0 = &v0, .u = u, .loss = height, .du = du};
    tgRolloutResult result;
    if (tg_rollout_run(r, &run, &result) != TG_OK) fail_msg("%s", result.error.text);
    loss = tgRe(result.loss);
    if (i == 0) assert_int_equal(result.grad.label == TG_GRAD_SURROGATE, aware);
    if (loss < 1e-3) break;
    for (int t = 0; t < STEPS; t++) {
      *still = *still && tgRe(du[t]) == 0;
      double next = tgRe(u[t]) - 10 * tgRe(du[t]);
      u[t] = next > 10 ? 10 : next < -10 ? -10 : next;
    }
  }
  tg_rollout_free(r);
  tg_contact_free(c);
  tg_model_free(m);
  return loss;
}

// The plain gradient is exactly zero and stays so; the aware one takes off within 4 iterations. From there the problem is quadratic, its
// distance shrinks by 1 - 20 sum (h^2 (T - t)/m)^2 = 0.916 an iteration at this rate: 59 of them to 1e-3 m^2.
static void test_take_off(void **state) {
  (void)state;
  bool still;
  double loss = take_off(false, &still);
  check_true(still && loss > 17, "plain: loss %.3g, still %d", loss, still);
  loss = take_off(true, &still);
  check_true(!still && loss < 1e-3, "aware: loss %.3g", loss);
}

// From a task file: the same drone, with the option and without it
static void test_task_file(void **state) {
  (void)state;
  for (int aware = 0; aware < 2; aware++) {
    char text[500];
    snprintf(text, sizeof text,
             "model: drone.xml\ncontact: lcp\noptions: {erp: 0%s}\nhorizon: {steps: 60, timestep: 0.001}\nstart: {keyframe: start}\n"
             "controls: {basis: steps}\neffort: off\nlosses: [{term: body_position, name: drone, target: [0, 0, 5], axes: z, weight: 1}]\n"
             "optimizer: {method: descent, rate: 10, iterations: 3}\n", aware ? ", aware_gradient: true" : "");
    tgError e = {0};
    tgTask *t = tg_task_load_text(text, strlen(text), TG_SOURCE_DIR "/models", NULL, &e);
    check_true(t != NULL, "%s", e.text);
    tgEvaluator *v = tg_evaluator_create(t, 0, NULL);
    int n = tg_task_size(t);
    double *x = calloc((size_t)(2 * n), sizeof *x), *g = x + n, loss;
    tgRolloutResult result;
    tg_task_start(t, 0, x);
    assert_int_equal(tg_evaluate(v, x, &loss, g, NULL, NULL, NULL, &result), TG_OK);
    for (int i = 0; i < n; i++) check_true(aware ? g[i] < 0 : g[i] == 0, "control %d: %.3g", i, g[i]);
    assert_int_equal(result.grad.label == TG_GRAD_SURROGATE, aware);
    free(x);
    tg_evaluator_free(v);
    tg_task_free(t);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_ground), cmocka_unit_test(test_paddle), cmocka_unit_test(test_islands_apart),
                                     cmocka_unit_test(test_leaves_alone), cmocka_unit_test(test_take_off),
                                     cmocka_unit_test(test_task_file)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
