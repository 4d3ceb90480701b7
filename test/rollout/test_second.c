// test_second.c: second derivatives of steps and rollouts by the twin in complex numbers, against Ridders'
// differences of the real gradient in exponential charts, which share no arithmetic with it; symmetry; no memory
// taken by calls; what is refused.
#include <stdlib.h>

#include "check/numdiff.h"
#include "contact/contact.h"
#include "contact/softmin/soft_scene.h"
#include "rollout/charts.h"
#include "step/table.h"
#include "support/alloc.h"
#include "support/tree.h"
#include "tangere/second.h"

static const double h = 0.001, tolerance = 1e-8;

static Rig make(const char *text, tgIntegrator integrator, bool paper) {
  tgSoftminOptions o = soft_options();
  o.integrator = integrator;
  o.form = paper ? TG_FORCE_PAPER : TG_FORCE_CONSISTENT;
  return rig_of_text(text, "softmin", &o.of);
}

// ---- the gradient of g . y in the chart at x, by real adjoints ----

typedef struct Chart { tgSim *s; const double *x, *q1, *g; } Chart;   // x: q, v, u

static tgStatus chart_gradient(void *ctx, const tgReal *d, tgReal *out) {
  Chart *c = ctx;
  const tgModel *m = &c->s->m;
  int nv = m->nv;
  double w[64], g[128];
  set_moved(c->s, c->x, d);
  tgStatus status = tg_sim_step(c->s, h, NULL);
  if (status != TG_OK) return status;
  tg_model_difference(m, c->q1, c->s->qpos, w);
  memcpy(g, c->g, 2 * (size_t)nv * sizeof *g);
  through_charts(m, 1, w, g);
  status = tg_sim_step_vjp(c->s, g, g + nv, out, out + nv, out + 2 * nv, NULL, NULL);
  through_charts(m, 0, d, out);
  return status;
}

static void check_step(Rig *rig, tgtRandom *r, const char *name) {
  tgSim *s = rig->s;
  const tgModel *m = &s->m;
  tgError e = {0};
  int nv = m->nv, nx = 2 * nv + m->nu;
  size_t n = (size_t)nx, ny = 2 * (size_t)nv;
  double x[192], q1[128], *H = malloc(sizeof *H * (ny * n * n + 2 * n * n + 6 * n)), *S = H + ny * n * n,
         *D = S + n * n, *g = D + n * n, *d = g + n, *hvp = d + n, *jvp = hvp + n, *zero = jvp + n;
  tgSecond *second = tg_second_create(rig->m, rig->c, NULL, &e);
  check_true(second != NULL, "%s", e.text);
  state_vector(s, x);
  assert_int_equal(tg_sim_step(s, h, NULL), TG_OK);
  memcpy(q1, s->qpos, (size_t)m->nq * sizeof *q1);
  tgt_random_vector(r, 2 * nv, g);
  memset(zero, 0, n * sizeof *zero);
  // columns by products, and the whole by the derivative of the Jacobian
  for (int j = 0; j < nx; j++) {
    for (int i = 0; i < nx; i++) d[i] = i == j;
    check_true(tg_step_hvp(second, s, g, d, hvp, jvp) == TG_OK, "%s", s->error.text);
    for (int i = 0; i < nx; i++) S[i * nx + j] = hvp[i];
  }
  double largest = 0, asymmetry = 0, apart = 0;
  check_true(tg_step_hessian(second, s, H, NULL) == TG_OK, "%s", s->error.text);
  for (int i = 0; i < nx; i++)
    for (int j = 0; j < nx; j++) {
      double sum = 0;
      for (size_t k = 0; k < ny; k++) sum += g[k] * H[(k * n + (size_t)i) * n + (size_t)j];
      apart = fmax(apart, fabs(sum - S[i * nx + j]));
      largest = fmax(largest, fabs(S[i * nx + j]));
      asymmetry = fmax(asymmetry, fabs(S[i * nx + j] - S[j * nx + i]));
    }
  check_true(asymmetry <= 1e-11 * largest, "%s: not symmetric by %.3g of %.3g", name, asymmetry, largest);
  check_true(apart <= 1e-11 * largest, "%s: tensor and products differ by %.3g of %.3g", name, apart, largest);
  // jvp against the real Jacobian
  double *J = malloc(sizeof *J * ny * n);
  assert_int_equal(tg_sim_step_jacobian(s, J, NULL), TG_OK);
  tgt_random_vector(r, nx, d);
  assert_int_equal(tg_step_hvp(second, s, NULL, d, NULL, jvp), TG_OK);
  for (size_t k = 0; k < ny; k++) {
    double sum = 0, scale = 1;
    for (size_t i = 0; i < n; i++) sum += J[k * n + i] * d[i], scale += fabs(J[k * n + i] * d[i]);
    check_true(fabs(sum - jvp[k]) <= 1e-11 * scale, "%s: tangent %zu: %.15g, Jacobian %.15g", name, k, jvp[k], sum);
  }
  free(J);
  Chart c = {.s = s, .x = x, .q1 = q1, .g = g};
  const int widths[3] = {nv, nv, m->nu};
  tgtDeriv diff = {.name = name, .nx = nx, .ny = nx, .map = chart_gradient, .ctx = &c, .tol = tolerance,
                   .numeric = true, .step = 2e-3, .rows = widths, .nrows = m->nu > 0 ? 3 : 2, .cols = NULL};
  tgt_check_jacobian(&diff, zero, S);
  tg_second_free(second);
  free(H);
}

static void test_step(void **state) {
  (void)state;
  static const struct { const char *name, *text; tgIntegrator integrator; bool paper; } cases[] = {
      {"heap, euler", soft_heap_small, TG_INTEGRATOR_EULER, false}, {"arm, euler", soft_arm, TG_INTEGRATOR_EULER, false},
      {"heap, rk4", soft_heap_small, TG_INTEGRATOR_RK4, false}, {"arm, explicit", soft_arm, TG_INTEGRATOR_EXPLICIT, false},
      {"heap, paper", soft_heap_small, TG_INTEGRATOR_EULER, true}};
  for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
    Rig rig = make(cases[k].text, cases[k].integrator, cases[k].paper);
    tgtRandom r = {.s = 30 + k};
    soft_state(rig.s, &r, 0);
    check_step(&rig, &r, cases[k].name);
    drop(&rig);
  }
}

// an implicit step, by both of its rules; wide enough for differences
static void test_residual_step(void **state) {
  (void)state;
  static const char *const settings[] = {"rule=end resting_gap=.05 slip_speed=2 spacing=.1",
                                         "rule=midpoint resting_gap=.05 slip_speed=2 spacing=.1",
                                         "rule=end resting_gap=.05 slip_speed=2 mesh=points"};
  static const char *const bodies =
      "<mujoco><worldbody><geom type='plane' size='5 5 .1' friction='0.7'/>"
      "<body pos='0 0 .2'><freejoint/><geom type='box' size='.06 .08 .1' density='4000' friction='.4' quat='.9 .1 .2 .3'/></body>"
      "<body pos='.2 .05 .2'><joint name='j' axis='0 1 0' damping='.1' stiffness='2'/>"
      "<geom type='capsule' size='.03 .08' density='4000' friction='.3'/></body></worldbody>"
      "<actuator><motor joint='j' gear='2'/></actuator></mujoco>";
  static const char *const mesh =
      "<mujoco><asset><mesh name='m' vertex='-.1 -.08 -.05 .1 -.08 -.05 .1 .08 -.05 -.1 .08 -.05 -.03 -.05 .06 .05 .02 .07'/></asset>"
      "<worldbody><geom type='plane' size='5 5 .1' friction='0.7'/>"
      "<body pos='0 0 .2'><freejoint/><geom type='mesh' mesh='m' density='4000' friction='.4' quat='.9 .1 .2 .3'/></body>"
      "<body pos='.05 .05 .45'><freejoint/><geom size='.1' density='2000' friction='.3'/></body></worldbody></mujoco>";
  for (int k = 0; k < 3; k++) {
    tgAnyContactOptions o = options_of("damped", settings[k]);
    Rig rig = rig_of_text(k < 2 ? bodies : mesh, "damped", &o.of);
    tgtRandom r = {.s = 60 + (uint64_t)k};
    for (int d = 0; d < rig.m->nv; d++) rig.s->qvel[d] = tgt_uniform(&r, -0.5, 0.5);
    check_step(&rig, &r, settings[k]);
    drop(&rig);
  }
}

// ---- rollouts ----

enum { T = 6 };

static int turns(const tgModel *m, int d) { return m->dof_grpnum[d] == 3; }
// of a dof that does not turn, else a constant
static double coordinate(const tgModel *m, const double *q, int d) {
  int j = m->dof_jnt[d];
  return turns(m, d) ? 0.1 * (d % 4) : q[m->jnt_qadr[j] + d - m->jnt_vadr[j]];
}

// cubes of distances of coordinates, squares of velocities and controls
static tgStatus loss(void *ctx, tgSim *s, int t, int steps, tgReal *value, tgReal *gq, tgReal *gv, tgReal *gu) {
  (void)ctx;
  double weight = t == steps ? 1 : 0.1 * t;
  for (int i = 0; i < s->m.nv; i++) {
    *value += 0.05 * s->qvel[i] * s->qvel[i];
    if (gv != NULL) gv[i] = 0.1 * s->qvel[i];
  }
  for (int i = 0; i < s->m.nv; i++) {
    double d = coordinate(&s->m, s->qpos, i) - 0.1 * (i % 4);
    *value += weight * d * d * d / 3;
    if (gq != NULL && turns(&s->m, i) == 0) gq[i] = weight * d * d;
  }
  for (int i = 0; i < s->m.nu && t < steps; i++) {
    *value += 0.01 * s->ctrl[i] * s->ctrl[i];
    if (gu != NULL) gu[i] = 0.02 * s->ctrl[i];
  }
  return TG_OK;
}
static tgStatus loss_hvp(void *ctx, tgSim *s, int t, int steps, const tgReal *dq, const tgReal *dv, const tgReal *du,
                         tgReal *hq, tgReal *hv, tgReal *hu) {
  (void)ctx;
  double weight = t == steps ? 1 : 0.1 * t;
  for (int i = 0; i < s->m.nv; i++) hv[i] = 0.1 * dv[i];
  for (int i = 0; i < s->m.nv; i++)
    if (turns(&s->m, i) == 0) hq[i] = 2 * weight * (coordinate(&s->m, s->qpos, i) - 0.1 * (i % 4)) * dq[i];
  for (int i = 0; i < s->m.nu && t < steps; i++) hu[i] = 0.02 * du[i];
  return TG_OK;
}

typedef struct Roll { tgRollout *r; const tgModel *m; const double *q0, *v0, *u, *dir; } Roll;

// x: place along the direction; the gradient in the chart at the nominal start
static tgStatus roll_gradient(void *ctx, const tgReal *x, tgReal *out) {
  Roll *k = ctx;
  const tgModel *m = k->m;
  int nv = m->nv, nu = m->nu;
  double q[64], v[64], u[T * 16], w[64];
  tgRolloutResult result;
  for (int i = 0; i < nv; i++) {
    w[i] = x[0] * k->dir[i];
    v[i] = k->v0[i] + x[0] * k->dir[nv + i];
  }
  for (int i = 0; i < T * nu; i++) u[i] = k->u[i] + x[0] * k->dir[2 * nv + i];
  tg_model_integrate(m, k->q0, w, q);
  tgRolloutRun run = {.q0 = q, .v0 = v, .u = u, .loss = loss, .dq0 = out, .dv0 = out + nv, .du = out + 2 * nv};
  tgStatus status = tg_rollout_run(k->r, &run, &result);
  through_charts(m, 0, w, out);
  return status;
}

static void test_rollout(void **state) {
  (void)state;
  static const char *const text[] = {soft_heap_small, soft_arm};
  for (int scene = 0; scene < 2; scene++) {
    Rig rig = make(text[scene], scene == 0 ? TG_INTEGRATOR_EULER : TG_INTEGRATOR_RK4, false);
    tgtRandom r = {.s = (uint64_t)(60 + scene)};
    tgError e = {0};
    const tgModel *m = rig.m;
    int nv = m->nv, nu = m->nu, n = 2 * nv + T * nu;
    double u[T * 16], dir[256], H[256], G[256], other[256], zero = 0;
    soft_state(rig.s, &r, 0);
    tgt_random_vector(&r, T * nu, u);
    tgt_random_vector(&r, n, dir);
    tgRolloutOptions o = tg_rollout_default();
    o.steps = T;
    o.h = h;
    tgSecond *second = tg_second_create(m, rig.c, &o, &e);
    check_true(second != NULL, "%s", e.text);
    tgRolloutRun run = {.q0 = rig.s->qpos, .v0 = rig.s->qvel, .u = u, .loss = loss, .dq0 = G, .dv0 = G + nv, .du = G + 2 * nv};
    tgSecondRun along = {.dq0 = dir, .dv0 = dir + nv, .du = dir + 2 * nv, .hq0 = H, .hv0 = H + nv, .hu = H + 2 * nv, .loss_hvp = loss_hvp};
    tgRolloutResult result;
    check_true(tg_rollout_hvp(second, &run, &along, &result) == TG_OK, "%s", result.error.text);
    Roll k = {.r = tg_rollout_create(m, rig.c, &o, &e), .m = m, .q0 = rig.s->qpos, .v0 = rig.s->qvel, .u = u, .dir = dir};
    assert_int_equal(roll_gradient(&k, &zero, other), TG_OK);
    double most = 0;
    for (int i = 0; i < n; i++) most = fmax(most, fabs(other[i]));
    for (int i = 0; i < n; i++) check_true(fabs(G[i] - other[i]) <= 1e-11 * most, "gradient %d: %.15g, %.15g", i, G[i], other[i]);
    tgtDeriv d = {.name = "rollout", .nx = 1, .ny = n, .map = roll_gradient, .ctx = &k, .tol = tolerance, .numeric = true, .step = 1e-3};
    tgt_check_jacobian(&d, &zero, H);
    // the tangent alone: q, v at the end
    double jq[(T + 1) * 64], jv[(T + 1) * 64];
    along.jq = jq;
    along.jv = jv;
    assert_int_equal(tg_rollout_jvp(second, &run, &along, &result), TG_OK);
    assert_memory_equal(jq, dir, (size_t)nv * sizeof *jq);
    tg_rollout_free(k.r);
    tg_second_free(second);
    drop(&rig);
  }
}

// ---- memory, and what is refused ----

static void test_memory(void **state) {
  (void)state;
  Rig rig = make(soft_arm, TG_INTEGRATOR_RK4, false);
  tgtRandom r = {.s = 8};
  tgRolloutOptions o = tg_rollout_default();
  o.steps = 3;
  o.h = h;
  tgSecond *second = tg_second_create(rig.m, rig.c, &o, NULL);
  int nv = rig.m->nv, nx = 2 * nv + rig.m->nu;
  double g[128], d[128], out[128];
  soft_state(rig.s, &r, 0);
  tgt_random_vector(&r, 2 * nv, g);
  tgt_random_vector(&r, nx, d);
  assert_int_equal(tg_step_hvp(second, rig.s, g, d, out, NULL), TG_ERR_STATE);
  assert_int_equal(tg_sim_step(rig.s, h, NULL), TG_OK);
  double *H = malloc(sizeof *H * (size_t)(2 * nv * nx * nx));
  tgSecondRun along = {.dv0 = d, .hv0 = out, .loss_hvp = loss_hvp};
  tgRolloutRun run = {.loss = loss};
  long before = tgt_malloc_count();
  assert_int_equal(tg_step_hvp(second, rig.s, g, d, out, NULL), TG_OK);
  volatile int cancel = 0;
  assert_int_equal(tg_step_hessian(second, rig.s, H, &cancel), TG_OK);
  assert_int_equal(tg_rollout_hvp(second, &run, &along, NULL), TG_OK);
  check_true(tgt_malloc_count() == before, "calls took memory %ld times", tgt_malloc_count() - before);
  // cancelled before its first column, it leaves what there is, and room for the next
  double kept = H[0] = 7;
  cancel = 1;
  assert_int_equal(tg_step_hessian(second, rig.s, H, &cancel), TG_CANCELLED);
  check_close(H[0], kept, 0);
  assert_int_equal(tg_step_hessian(second, rig.s, H, NULL), TG_OK);
  check_true(H[0] != kept, "the Hessian is not computed");
  free(H);
  along.loss_hvp = NULL;
  assert_int_equal(tg_rollout_hvp(second, &run, &along, NULL), TG_ERR_ARG);
  tg_second_free(second);
  drop(&rig);
  for (int w = 0; tg_contact_words(w) != NULL; w++) {
    tgError e = {0};
    if (tgi_stepper_named(tgi_contact_table(w)->stepper)->twice) continue;
    Rig other = rig_of_text(soft_heap_small, tg_contact_words(w), NULL);
    assert_null(tg_second_create(other.m, other.c, NULL, &e));
    assert_int_equal(e.status, TG_ERR_UNSUPPORTED);
    check_true(strstr(e.text, tg_contact_words(w)) != NULL, "'%s'", e.text);
    drop(&other);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_step), cmocka_unit_test(test_residual_step),
                                     cmocka_unit_test(test_rollout), cmocka_unit_test(test_memory)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
