// test_event_second.c: second derivatives of steps and motions of `toi` with impacts, against differences of the adjoint.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "rollout/charts.h"
#include "step/event_scenes.h"
#include "step/toi_rig.h"
#include "support/deriv.h"
#include "support/rig.h"
#include "support/tree.h"
#include "tangere/grad.h"
#include "tangere/param.h"
#include "tangere/second.h"
#include "tangere/step.h"

// Of steps with impacts: products with Hessians against differences of the adjoint, and their symmetry.
static void test_second_step(void **state) {
  (void)state;
  Rig r = toi(FLOOR_AND_BALLS, 0.5);
  int checked = 0;
  for (int t = 0; t < 40; t++) {
    tgStepInfo info;
    char *before = malloc(tg_sim_snapshot_size(r.s) + 1);
    tg_sim_save(r.s, before);
    assert_int_equal(tg_sim_step_growing(r.s, 0.01, &info), TG_OK);
    if (info.nimpact > 0 && checked < 4) {
      tgGradCheck check = {0};
      tgGradCheckOptions o = tg_grad_check_default();
      o.h = 0.01;
      assert_int_equal(tg_sim_restore(r.s, before), TG_OK);
      check_true(tg_grad_check_second(r.s, &o, &check) == TG_OK, "%s", tg_sim_error(r.s)->text);
      for (int i = 0; i < check.nblock; i++)
        check_true(check.block[i].pass, "step %d: %s: %g", t, check.block[i].name, check.block[i].error);
      checked++;
      assert_int_equal(tg_sim_step_growing(r.s, 0.01, &info), TG_OK);
    }
    free(before);
  }
  assert_int_equal(checked, 4);
  drop(&r);
}

// What meets where edges cross slides along both: products with Hessians are symmetric, and were not by 2e-5 where the twin came to the
// time of the meeting by the rate of the contact's row.
static void test_second_crossing(void **state) {
  (void)state;
  enum { N = 12 };
  static const double q[] = STEP_AND_DRUM_Q, v[] = STEP_AND_DRUM_V;
  Rig r = rig_of_text(step_and_drum, "toi", NULL);
  tgError e = {0};
  tgStepInfo info;
  tgtRandom rnd = {.s = 4};
  tgSecond *second = tg_second_create(r.s->model, r.c, NULL, &e);
  check_true(second != NULL, "%s", e.text);
  reset(r.s);
  for (int i = 0; i < 7; i++) r.s->qpos[i] = q[i];
  for (int d = 0; d < 6; d++) r.s->qvel[d] = v[d];
  assert_int_equal(tg_sim_step_growing(r.s, 0.05, &info), TG_OK);
  assert_true(info.nimpact >= 10);
  for (int k = 0; k < 3; k++) {
    tgReal g[N], a[N], b[N], Ha[N], Hb[N];
    double ba = 0, ab = 0;
    tgt_random_vector(&rnd, N, g);
    tgt_random_vector(&rnd, N, a);
    tgt_random_vector(&rnd, N, b);
    assert_int_equal(tg_step_hvp(second, r.s, g, a, Ha, NULL), TG_OK);
    assert_int_equal(tg_step_hvp(second, r.s, g, b, Hb, NULL), TG_OK);
    for (int i = 0; i < N; i++) {
      ba += tgRe(b[i] * Ha[i]);
      ab += tgRe(a[i] * Hb[i]);
    }
    check_close(ba, ab, 1e-10 * fabs(ab));
  }
  tg_second_free(second);
  drop(&r);
}

// the height of the second body at the end, squared
static tgStatus height(void *ctx, tgSim *sim, int t, int steps, tgReal *value, tgReal *gq, tgReal *gv, tgReal *gu) {
  (void)ctx;
  (void)gv;
  (void)gu;
  if (t < steps) return TG_OK;
  *value = sim->qpos[9] * sim->qpos[9];
  if (gq != NULL) gq[8] = 2 * sim->qpos[9];
  return TG_OK;
}

static tgStatus height_hvp(void *ctx, tgSim *sim, int t, int steps, const tgReal *dq, const tgReal *dv, const tgReal *du, tgReal *hq,
                           tgReal *hv, tgReal *hu) {
  (void)ctx;
  (void)sim;
  (void)dv;
  (void)du;
  (void)hv;
  (void)hu;
  if (t == steps) hq[8] = 2 * dq[8];
  return TG_OK;
}

static tgStatus bouncing(void *ctx, tgSim *sim) {
  int rows, cols;
  tgReal *e = tg_sim_param(sim, "geom_restitution", &rows, &cols);
  (void)ctx;
  for (int i = 0; i < rows * cols; i++) e[i] = 0.5;
  return TG_OK;
}

enum { SECOND = 40 };
static tgGradLabel gradient_along(tgRollout *rollout, const tgReal *q0, const tgReal *v0, const tgReal *dv, double x, tgReal g[12],
                                  int *impacts) {
  tgReal v[12];
  tgRolloutResult result;
  for (int d = 0; d < 12; d++) v[d] = v0[d] + x * dv[d];
  tgStepInfo info[SECOND];
  tgRolloutRun run = {.q0 = q0, .v0 = v, .loss = height, .setup = bouncing, .dv0 = g, .info = info};
  check_true(tg_rollout_run(rollout, &run, &result) == TG_OK, "%s", result.error.text);
  for (int t = 0; t < SECOND; t++) *impacts += info[t].nimpact;
  return result.grad.label;
}

// Of motions through several impacts, whose steps remember what the ones before held; labelled as their gradients are.
static void test_second_motion(void **state) {
  (void)state;
  static const double step[4] = {-2e-6, -1e-6, 1e-6, 2e-6};
  static const tgReal odd[12] = {0.3, 0, -1, 0, 1, 0, 0, 0.1, -2, 1, 0.5, 0.2};   // of one side: a contact appears as it meets
  Rig r = toi(FLOOR_AND_BALLS, 0.5);
  tgError e = {0};
  tgtRandom random = {.s = 3};
  int exact = 0, impacts = 0;
  tgRolloutOptions o = tg_rollout_default();
  o.h = 0.01;
  o.steps = SECOND;
  tgSecond *second = tg_second_create(r.m, r.c, &o, &e);
  check_true(second != NULL, "%s", e.text);
  tgRollout *rollout = tg_rollout_create(r.m, r.c, &o, &e);
  for (int k = 0; k < 10; k++) {
    tgReal v0[12], dv[12], hv[12], g[4][12];
    double worst = 0, most = 0;
    tgRolloutResult result;
    tgRolloutRun run = {.q0 = r.s->qpos, .v0 = v0, .loss = height, .setup = bouncing};
    tgSecondRun along = {.dv0 = dv, .hv0 = hv, .loss_hvp = height_hvp};
    tgt_random_vector(&random, 12, v0);
    tgt_random_vector(&random, 12, dv);
    if (k == 0) memcpy(v0, odd, sizeof odd);
    check_true(tg_rollout_hvp(second, &run, &along, &result) == TG_OK, "%s", result.error.text);
    assert_int_equal(gradient_along(rollout, r.s->qpos, v0, dv, 0, g[0], &impacts), result.grad.label);
    tgRolloutResult rates;
    assert_int_equal(tg_rollout_jvp(second, &run, &along, &rates), TG_OK);
    assert_int_equal(rates.grad.label, result.grad.label);
    for (int i = 0; i < 4; i++) gradient_along(rollout, r.s->qpos, v0, dv, step[i], g[i], &impacts);
    for (int d = 0; d < 12; d++) {
      double truth = tgRe(8 * (g[2][d] - g[1][d]) - (g[3][d] - g[0][d])) / (12 * step[2]);
      worst = fmax(worst, fabs(tgRe(hv[d]) - truth));
      most = fmax(most, fabs(truth));
    }
    if (result.grad.label != TG_GRAD_EXACT) continue;
    exact++;
    check_true(most > 0.01 && worst < 1e-6 * most, "motion %d: second derivatives to %g, off by %g", k, most, worst);
  }
  check_true(exact >= 5 && exact < 10 && impacts >= 100, "%d motions are exact, %d impacts in fifty", exact, impacts);
  tg_rollout_free(rollout);
  tg_second_free(second);
  drop(&r);
}

// ---- random steps of arms, hulls and meshes ----

static const char *const number[] = {"body_mass", "geom_size", "geom_friction", "geom_restitution", "opt_gravity", "geom_pos",
                                     "dof_damping", "contact.gap"};
enum { NUMBERS = 8, NUMBER_MOST = 300, OUT = 3 * EVENT_MOST + NUMBER_MOST };

// The gradient of g . (q', v') on a line through a state, its controls and numbers, each group of it by its own size.
typedef struct Line {
  Rig *r;
  double h, g[2 * EVENT_MOST], q1[EVENT_MOST], x0[3 * EVENT_MOST], d[3 * EVENT_MOST], dp[NUMBER_MOST], size[OUT];
  tgParamGrad *p;
} Line;

static void move_numbers(const Line *l, double x) {
  int at = 0;
  for (int k = 0; k < NUMBERS; k++) {
    int rows, cols;
    tgReal *p = tg_sim_param(l->r->s, number[k], &rows, &cols);
    for (int i = 0; i < rows * cols; i++) p[i] += x * l->dp[at++];
  }
}

static tgStatus gradient_on(void *ctx, const tgReal *x, tgReal *out) {
  Line *l = ctx;
  tgSim *s = l->r->s;
  const tgModel *m = &s->m;
  int nv = m->nv, nx = 2 * nv + m->nu, np;
  double d[3 * EVENT_MOST], w[EVENT_MOST], g[2 * EVENT_MOST];
  for (int i = 0; i < nx; i++) d[i] = x[0] * l->d[i];
  set_moved(s, l->x0, d);
  move_numbers(l, x[0]);
  tgStatus status = tg_sim_step(s, l->h, NULL);
  if (status == TG_OK) {
    tg_model_difference(m, l->q1, s->qpos, w);
    memcpy(g, l->g, 2 * (size_t)nv * sizeof *g);
    through_charts(m, 1, w, g);
    tg_param_grad_clear(l->p);
    status = tg_sim_step_vjp(s, g, g + nv, out, out + nv, out + 2 * nv, l->p, NULL);
  }
  move_numbers(l, -x[0]);
  if (status != TG_OK) return status;
  through_charts(m, 0, d, out);
  const double *p = tg_param_grad_values(l->p, &np);
  memcpy(out + nx, p, (size_t)np * sizeof *p);
  for (int i = 0; i < nx + np; i++) out[i] /= l->size[i];
  return TG_OK;
}

// sizes of the groups of a product: places, velocities, controls, each array of numbers; none is less than 1e-4 of the largest of all
static void sizes_of(Line *l, const double *H) {
  const tgModel *m = &l->r->s->m;
  int end[3 + NUMBERS] = {m->nv, 2 * m->nv, 2 * m->nv + m->nu}, n = 3;
  double most = 0;
  for (int k = 0; k < NUMBERS; k++, n++) {
    int rows, cols;
    tg_param_grad_field(l->p, number[k], &rows, &cols);
    end[n] = end[n - 1] + rows * cols;
  }
  for (int i = 0; i < end[n - 1]; i++) most = fmax(most, fabs(H[i]));
  for (int k = 0, i = 0; k < n; k++) {
    double size = 1e-4 * most;
    for (int j = i; j < end[k]; j++) size = fmax(size, fabs(H[j]));
    for (; i < end[k]; i++) l->size[i] = size > 0 ? size : 1;
  }
}

// How far the product of such a step with the Hessian is from differences of the adjoint, the best of several widths; < 0: it is not exact.
static double error_of_product(Line *l, tgSecond *second, tgtRandom *rnd, char message[256]) {
  tgSim *s = l->r->s;
  const tgModel *m = &s->m;
  int nv = m->nv, nx = 2 * nv + m->nu, np;
  double H[OUT], again[OUT], least = INFINITY;
  tgGradInfo info;
  tg_param_grad_values(l->p, &np);
  state_vector(s, l->x0);
  tgt_random_vector(rnd, nx, l->d);
  tgt_random_vector(rnd, np, l->dp);
  tgt_random_vector(rnd, 2 * nv, l->g);
  for (int i = 0; i < nx; i++) l->d[i] *= 0.1;
  for (int i = 0; i < np; i++) l->dp[i] *= i == np - 1 ? 1e-6 : 0.01;
  tg_sim_freeze_memory(s, true);
  check_true(tg_sim_step(s, l->h, NULL) == TG_OK, "%s", tg_sim_error(s)->text);
  memcpy(l->q1, s->qpos, (size_t)m->nq * sizeof *s->qpos);
  check_true(tg_step_hvp_parameters(second, s, l->g, l->d, l->dp, H, H + nx, NULL) == TG_OK, "%s", tg_sim_error(s)->text);
  // the step's own gradient in between makes no difference
  check_true(tg_sim_step_vjp(s, l->g, l->g + nv, NULL, NULL, NULL, NULL, &info) == TG_OK, "%s", tg_sim_error(s)->text);
  check_true(tg_step_hvp_parameters(second, s, l->g, l->d, l->dp, again, again + nx, NULL) == TG_OK, "%s", tg_sim_error(s)->text);
  assert_memory_equal(H, again, (size_t)(nx + np) * sizeof *H);
  sizes_of(l, H);
  for (int i = 0; i < nx + np; i++) H[i] /= l->size[i];
  tgtDeriv d = {.name = "product", .nx = 1, .ny = nx + np, .map = gradient_on, .ctx = l};
  for (d.step = 1e-2; d.step > 1e-6 && least > 1e-8 && info.label == TG_GRAD_EXACT; d.step /= 8) {
    char text[256];
    double error = tgt_jacobian_error(&d, &(tgReal){0}, H, text).error;
    if (!(error < least)) continue;
    least = error;
    memcpy(message, text, sizeof text);
  }
  tg_sim_freeze_memory(s, false);
  return info.label == TG_GRAD_EXACT ? least : -1;
}

static void check_products(const char *xml, double speed, double h, int count) {
  tgError e = {0};
  Rig r = rig_of_text(xml, "toi", NULL);
  tgtRandom rnd = {.s = 23};
  Line l = {.r = &r, .h = h, .p = tg_param_grad_create_contact(r.c, number, NUMBERS, NULL, &e)};
  tgSecond *second = tg_second_create(r.m, r.c, NULL, &e);
  check_true(l.p != NULL && second != NULL && tg_second_choose(second, number, NUMBERS, &e) == TG_OK, "%s", e.text);
  int np, exact = 0;
  double worst = 0;
  tg_param_grad_values(l.p, &np);
  assert_true(np <= NUMBER_MOST);
  for (int made = 0, tries = 0; made < count && tries < 400 * count; tries++) {
    char message[256] = "";
    if (!draw(r.s, &rnd, speed, h)) continue;
    double error = error_of_product(&l, second, &rnd, message);
    made++;
    if (error < 0) continue;
    exact++;
    worst = fmax(worst, error);
    check_true(error < 1e-6, "step %d: off by %.3g: %s", made, error, message);
  }
  print_message("%d steps, %d exact, worst %.2g\n", count, exact, worst);
  check_true(exact > count / 2, "%d of %d are exact", exact, count);
  tg_param_grad_free(l.p);
  tg_second_free(second);
  drop(&r);
}

// In space, with friction, in the state, controls and numbers at once: arms with ball joints, hulls, drums, servos, joints that follow each
// other and meshes that are not convex, with a ball, a rod and a box.
static void test_second_random(void **state) {
  (void)state;
  int count = tgt_cases(6, 3);
  check_products(space, 5, 0.1, count);
  check_products(hulls, 5, 0.05, count);
  check_products(drums, 5, 0.05, count);
  check_products(turning, 4, 0.04, count);
  check_products(coupled, 5, 0.05, 6);   // the time of a meeting goes with its flow's length by .9 and more in one of them
  for (int k = 0; k < 4; k++) check_products(hollow[k], 5, 0.04, tgt_cases(3, 2));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_second_step), cmocka_unit_test(test_second_crossing), cmocka_unit_test(test_second_motion),
      cmocka_unit_test(test_second_random)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
