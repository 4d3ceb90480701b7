// test_explicit.c: the step of force models: Jacobian and adjoint in state, controls and parameters for every
// integrator, against complex step and Ridders, on random states that touch, are apart and are beyond limits; the
// order of the integrators.
#include <stdlib.h>

#include "kin/kinematics.h"
#include "contact/softmin/soft_scene.h"
#include "step/explicit.h"
#include "step/param_check.h"

static const double h = 0.001;

typedef struct Variant { const char *name; tgIntegrator integrator; tgForceForm form; bool explicit_damping, by_old; } Variant;
static const Variant variant[] = {
    {"euler", TG_INTEGRATOR_EULER, TG_FORCE_CONSISTENT, false, false}, {"euler, paper", TG_INTEGRATOR_EULER, TG_FORCE_PAPER, true, false},
    {"euler by old velocity", TG_INTEGRATOR_EULER, TG_FORCE_CONSISTENT, false, true},
    {"explicit", TG_INTEGRATOR_EXPLICIT, TG_FORCE_CONSISTENT, false, false}, {"rk4", TG_INTEGRATOR_RK4, TG_FORCE_CONSISTENT, false, false},
    {"rk4, paper", TG_INTEGRATOR_RK4, TG_FORCE_PAPER, false, false}};
enum { VARIANTS = sizeof variant / sizeof *variant };

#ifdef TG_COMPLEX
static const double tolerance = 1e-10;
enum { STATES = 2, FIRST = VARIANTS };
#else
static const double tolerance = 1e-6;
enum { STATES = 1, FIRST = 1 };   // Ridders' differences take the time of many steps
#endif

static Rig make(const char *text, const Variant *v) {
  tgSoftminOptions o = soft_options();
  o.integrator = v->integrator;
  o.form = v->form;
  o.explicit_damping = v->explicit_damping;
  o.symplectic = !v->by_old;
  return rig_of_text(text, "softmin", &o.of);
}

typedef struct Map { tgSim *s; tgReal q1[128]; } Map;

static tgStatus map(void *ctx, const tgReal *x, tgReal *y) {
  Map *k = ctx;
  tgSim *s = k->s;
  const tgModel *m = &s->m;
  memcpy(s->qpos, x, (size_t)m->nq * sizeof *x);
  memcpy(s->qvel, x + m->nq, (size_t)m->nv * sizeof *x);
  memcpy(s->ctrl, x + m->nq + m->nv, (size_t)m->nu * sizeof *x);
  tgStatus status = tg_sim_step(s, h, NULL);
  if (status != TG_OK) return status;
  tg_model_difference(s->model, k->q1, s->qpos, y);
  memcpy(y + m->nv, s->qvel, (size_t)m->nv * sizeof *y);
  return TG_OK;
}

static void retract(void *ctx, const tgReal *x, const tgReal *d, tgReal *out) {
  const tgModel *m = &((Map *)ctx)->s->m;
  tg_model_integrate(m, x, d, out);
  for (int i = 0; i < m->nv + m->nu; i++) out[m->nq + i] = x[m->nq + i] + d[m->nv + i];
}

static void check_step(tgSim *s, const char *name, tgtRandom *r) {
  const tgModel *m = &s->m;
  int nv = m->nv, nu = m->nu, nt = 2 * nv + nu, nx = m->nq + nv + nu, rows[2] = {nv, nv}, cols[3] = {nv, nv, nu};
  Map k = {.s = s};
  tgGradInfo info;
  tgReal x[256], *D = malloc(sizeof(tgReal) * (size_t)(2 * nv * nt + 2 * nv + 2 * nt)), *g = D + 2 * nv * nt,
         *out = g + 2 * nv, *probe = out + nt;
  memcpy(x, s->qpos, (size_t)m->nq * sizeof *x);
  memcpy(x + m->nq, s->qvel, (size_t)nv * sizeof *x);
  memcpy(x + m->nq + nv, s->ctrl, (size_t)nu * sizeof *x);
  assert_int_equal(tg_sim_step(s, h, NULL), TG_OK);
  memcpy(k.q1, s->qpos, (size_t)m->nq * sizeof *x);
  check_true(tg_sim_step_jacobian(s, D, &info) == TG_OK, "%s", s->error.text);
  // some of the random states are pressed in too deep for a step of this length
  check_true(info.label == TG_GRAD_EXACT || info.label == TG_GRAD_UNSTABLE, "%s: label %d: %s", name, info.label, info.reason);
  for (int trial = 0; trial < 3; trial++) {
    tgt_random_vector(r, 2 * nv, g);
    tgt_random_vector(r, nt, probe);
    assert_int_equal(tg_sim_step_vjp(s, g, g + nv, out, out + nv, out + 2 * nv, NULL, NULL), TG_OK);
    tgt_check_adjoint(D, 2 * nv, nt, g, probe, out);
  }
  tgtDeriv d = {.name = name, .nx = nx, .nt = nt, .ny = 2 * nv, .map = map, .retract = retract, .ctx = &k, .tol = tolerance, .step = 1e-4,
                .rows = rows, .nrows = 2, .cols = cols, .ncols = nu > 0 ? 3 : 2};
  tgt_check_jacobian(&d, x, D);
  free(D);
}

static void test_state(void **state) {
  (void)state;
  const char *const text[] = {soft_heap, soft_arm, soft_tied};
  for (int v = 0; v < FIRST; v++)
    for (int scene = 0; scene < 3; scene++) {
      Rig rig = make(text[scene], &variant[v]);
      tgtRandom r = {.s = (uint64_t)(10 * v + scene)};
      for (int k = 0; k < STATES; k++) {
        soft_state(rig.s, &r, k % 2 == 0 ? 0 : 0.02);
        check_step(rig.s, variant[v].name, &r);
      }
      drop(&rig);
    }
}

static void test_parameters(void **state) {
  (void)state;
  const char *const text[] = {soft_heap, soft_arm, soft_tied};
  tgtParamSeen seen = {0};
  for (int v = 0; v < FIRST; v++)
    for (int scene = v == 0 ? 0 : v % 3; scene < (v == 0 ? 3 : v % 3 + 1); scene++) {
      Rig rig = make(text[scene], &variant[v]);
      tgtRandom r = {.s = (uint64_t)(100 + 10 * v + scene)};
      soft_state(rig.s, &r, v % 2 == 0 ? 0 : 0.005);
      tgt_unequal(rig.s);
      assert_true(tgt_check_params(rig.s, h, &r, tolerance, 1e-3, variant[v].name, &seen));
      drop(&rig);
    }
  Rig any = make(soft_heap_small, &variant[0]);
  for (int k = 0; tgt_param_name(any.s, k) != NULL; k++)
    if (seen.acts[k] > 0) print_message("%-26s worst %.2g in %d\n", tgt_param_name(any.s, k), seen.worst[k], seen.acts[k]);
  static const char *const must[] = {"body_mass", "body_com", "body_inertia", "body_pos", "body_quat", "jnt_pos",
                                     "jnt_axis", "jnt_range", "jnt_stiffness", "dof_damping", "dof_armature",
                                     "dof_frictionloss", "geom_size", "geom_pos", "geom_quat", "geom_friction",
                                     "act_gain", "act_gear", "ten_stiffness", "ten_damping", "ten_frictionloss",
                                     "opt_gravity", "opt_timestep", "contact.slip_speed", "contact.limit_frequency",
                                     "contact.limit_range", "contact.equality_frequency", "eq_anchor", "eq_anchor2",
                                     "eq_relpos", "eq_polycoef", "ten_range", "act_forcerange", "jnt_actfrcrange",
                                     "contact.stiffness", "contact.eps1", "contact.eps2", "contact.eps3",
                                     "contact.dissipation_speed"};
  for (size_t i = 0; i < sizeof must / sizeof *must; i++) {
    bool acts = false;
    for (int k = 0; tgt_param_name(any.s, k) != NULL; k++)
      acts = acts || (strcmp(tgt_param_name(any.s, k), must[i]) == 0 && seen.acts[k] > 0);
    check_true(acts, "%s never acts", must[i]);
  }
  drop(&any);
}

// ---- pieces ----

typedef struct Joints { tgSim *s; } Joints;

// x: q, v; the forces of limits and dry friction
static tgStatus joint_map(void *ctx, const tgReal *x, tgReal *y) {
  tgSim *s = ((Joints *)ctx)->s;
  for (int d = 0; d < s->m.nv; d++) y[d] = 0;
  tgi_kinematics(&s->m, x, &s->start);
  tgi_joint_forces(s, &s->start, x + s->m.nq, y);
  return TG_OK;
}
static void joint_retract(void *ctx, const tgReal *x, const tgReal *d, tgReal *out) {
  const tgModel *m = &((Joints *)ctx)->s->m;
  tg_model_integrate(m, x, d, out);
  for (int i = 0; i < m->nv; i++) out[m->nq + i] = x[m->nq + i] + d[m->nv + i];
}

static void check_joints(const char *text) {
  Rig rig = make(text, &variant[0]);
  tgSim *s = rig.s;
  int nv = s->m.nv, nq = s->m.nq, beyond = 0;
  tgtRandom r = {.s = 5};
  for (int k = 0; k < 12; k++) {
    tgReal x[128], Dq[400] = {0}, Dv[400] = {0}, D[800], force[64], w[64], gq[64] = {0}, gv[64] = {0}, probe[64], out[64];
    soft_state(s, &r, 0);
    memcpy(x, s->qpos, (size_t)nq * sizeof *x);
    memcpy(x + nq, s->qvel, (size_t)nv * sizeof *x);
    tgi_kinematics(&s->m, x, &s->start);
    tgi_joint_forces_d(s, &s->start, x + nq, Dq, Dv);
    for (int i = 0; i < nv; i++)
      for (int j = 0; j < nv; j++) {
        D[2 * nv * i + j] = Dq[nv * i + j];
        D[2 * nv * i + nv + j] = Dv[nv * i + j];
        beyond += tgRe(Dq[nv * i + j]) != 0;
      }
    Joints ctx = {s};
    static const double ridders = 1e-4;
    tgtDeriv d = {.name = "joints", .nx = nq + nv, .nt = 2 * nv, .ny = nv, .map = joint_map, .retract = joint_retract,
                  .ctx = &ctx, .tol = tolerance, .step = ridders};
    tgt_check_jacobian(&d, x, D);
    assert_int_equal(joint_map(&ctx, x, force), TG_OK);
    tgt_random_vector(&r, nv, w);
    tgt_random_vector(&r, 2 * nv, probe);
    tgi_joint_forces_vjp(s, &s->start, x + nq, w, gq, gv, NULL);
    memcpy(out, gq, (size_t)nv * sizeof *out);
    memcpy(out + nv, gv, (size_t)nv * sizeof *out);
    tgt_check_adjoint(D, nv, 2 * nv, w, probe, out);
  }
  assert_true(beyond > 20);
  drop(&rig);
}

static void test_joints(void **state) {
  (void)state;
  check_joints(soft_arm);
  check_joints(soft_tied);
}

// rate of the chart: x = (w, v)
static tgStatus rate_map(void *ctx, const tgReal *x, tgReal *y) {
  const tgModel *m = &((Joints *)ctx)->s->m;
  tgi_explicit_rate(m, x, x + m->nv, y);
  return TG_OK;
}

static void test_rate(void **state) {
  (void)state;
  Rig rig = make(soft_arm, &variant[0]);
  const tgModel *m = &rig.s->m;
  int nv = m->nv;
  for (int k = 0; k < 6; k++) {
    tgReal x[64], one[2 * 400] = {0}, D[800], w[64], gw[64] = {0}, gv[64] = {0}, out[64], probe[64];
    tgtRandom r = {.s = (uint64_t)k};
    for (int i = 0; i < 2 * nv; i++) x[i] = k == 0 && i < nv ? 0 : tgt_uniform(&r, -1, 1);
    // columns w, v
    for (int i = 0; i < nv; i++) one[2 * nv * i + i] = one[2 * nv * nv + 2 * nv * i + nv + i] = 1;
    tgi_explicit_rate_jacobian(m, x, x + nv, 2 * nv, one, one + 2 * nv * nv, D);
    Joints ctx = {rig.s};
    tgtDeriv d = {.name = "rate", .nx = 2 * nv, .ny = nv, .map = rate_map, .ctx = &ctx, .tol = tolerance, .step = 1e-3};
    tgt_check_jacobian(&d, x, D);
    tgt_random_vector(&r, nv, w);
    tgt_random_vector(&r, 2 * nv, probe);
    tgi_explicit_rate_vjp(m, x, x + nv, w, gw, gv);
    memcpy(out, gw, (size_t)nv * sizeof *out);
    memcpy(out + nv, gv, (size_t)nv * sizeof *out);
    tgt_check_adjoint(D, nv, 2 * nv, w, probe, out);
  }
  drop(&rig);
}

// the stepper's own derivatives are those of the public calls
static void test_pieces(void **state) {
  (void)state;
  Rig rig = make(soft_heap, &variant[4]);
  tgtRandom r = {.s = 9};
  tgSim *s = rig.s;
  int nv = s->m.nv, nt = 2 * nv + s->m.nu, clamps = 0;
  tgReal *D = malloc(sizeof(tgReal) * (size_t)(4 * nv * nt)), g[128], a[128] = {0}, b[128];
  soft_state(s, &r, 0);
  assert_int_equal(tg_sim_step(s, h, NULL), TG_OK);
  assert_int_equal(tg_sim_step_jacobian(s, D, NULL), TG_OK);
  assert_int_equal(tgi_stack_reserve_dense(s), TG_OK);
  assert_int_equal(tgi_explicit_jacobian(s, D + 2 * nv * nt, &clamps), TG_OK);
  assert_memory_equal(D, D + 2 * nv * nt, sizeof(tgReal) * (size_t)(2 * nv * nt));
  tgt_random_vector(&r, 2 * nv, g);
  assert_int_equal(tgi_explicit_vjp(s, g, g + nv, a, a + nv, NULL, NULL, &clamps), TG_OK);
  assert_int_equal(tg_sim_step_vjp(s, g, g + nv, b, b + nv, NULL, NULL, NULL), TG_OK);
  assert_memory_equal(a, b, sizeof(tgReal) * (size_t)(2 * nv));
  free(D);
  drop(&rig);
}

// ---- the contact model's own numbers ----

typedef struct Number { tgSim *s; const char *name; tgReal q[64], v[64], q1[64], nominal; } Number;

static tgStatus number_map(void *ctx, const tgReal *x, tgReal *y) {
  Number *k = ctx;
  tgSim *s = k->s;
  const tgModel *m = &s->m;
  memcpy(s->qpos, k->q, (size_t)m->nq * sizeof *y);
  memcpy(s->qvel, k->v, (size_t)m->nv * sizeof *y);
  *tg_sim_param(s, k->name, NULL, NULL) = k->nominal * (1 + x[0]);
  tgStatus status = tg_sim_step(s, h, NULL);
  *tg_sim_param(s, k->name, NULL, NULL) = k->nominal;
  tg_model_difference(s->model, k->q1, s->qpos, y);
  memcpy(y + m->nv, s->qvel, (size_t)m->nv * sizeof *y);
  return status;
}

// eps3 under a stiffness that follows from it, and the stiffness itself, refused by name
static void test_derived_stiffness(void **state) {
  (void)state;
  tgSoftminOptions o = soft_options();
  o.stiffness = 0;
  Rig rig = rig_of_text(soft_heap, "softmin", &o.of);
  tgtRandom r = {.s = 77};
  Number k = {.s = rig.s, .name = "contact.eps3"};
  tgError e;
  int nv = rig.m->nv;
  tgReal D[128], zero = 0;
  soft_state(rig.s, &r, 0);
  memcpy(k.q, rig.s->qpos, (size_t)rig.m->nq * sizeof zero);
  memcpy(k.v, rig.s->qvel, (size_t)nv * sizeof zero);
  k.nominal = *tg_sim_param(rig.s, k.name, NULL, NULL);
  assert_int_equal(tg_sim_step(rig.s, h, NULL), TG_OK);
  memcpy(k.q1, rig.s->qpos, (size_t)rig.m->nq * sizeof zero);
  tgParamGrad *p = tg_param_grad_create_contact(rig.c, &k.name, 1, NULL, &e);
  check_true(p != NULL, "%s", e.text);
  check_true(tg_sim_step_param_jacobian(rig.s, p, D, NULL) == TG_OK, "%s", rig.s->error.text);
  for (int i = 0; i < 2 * nv; i++) D[i] *= k.nominal;
  tgtDeriv d = {.name = "eps3", .nx = 1, .ny = 2 * nv, .map = number_map, .ctx = &k, .tol = tolerance, .step = 1e-4};
  tgt_check_jacobian(&d, &zero, D);
  tg_param_grad_free(p);
  const char *const stiffness = "contact.stiffness";
  p = tg_param_grad_create_contact(rig.c, &stiffness, 1, NULL, &e);
  assert_int_equal(tg_sim_step(rig.s, h, NULL), TG_OK);
  assert_int_equal(tg_sim_step_vjp(rig.s, D, D + nv, NULL, NULL, NULL, p, NULL), TG_ERR_UNSUPPORTED);
  check_true(strstr(rig.s->error.text, stiffness) != NULL, "'%s'", rig.s->error.text);
  tg_param_grad_free(p);
  drop(&rig);
}

#ifndef TG_COMPLEX
// error against the same motion in steps eight times finer, for h and h/2
static double order(tgIntegrator integrator, double coarse) {
  double error[2], q[3][64], v[3][64];
  for (int k = 0; k < 3; k++) {
    Variant x = {"", integrator, TG_FORCE_CONSISTENT, false, false};
    Rig rig = make(soft_heap, &x);
    tgtRandom r = {.s = 4};
    // speeds of turning, and soft contacts
    soft_state(rig.s, &r, 0);
    for (int d = 0; d < rig.m->nv; d++) rig.s->qvel[d] *= 6;
    int steps = k == 0 ? 8 : k == 1 ? 16 : 128;
    for (int i = 0; i < steps; i++) assert_int_equal(tg_sim_step(rig.s, 8 * coarse / steps, NULL), TG_OK);
    memcpy(q[k], rig.s->qpos, (size_t)rig.m->nq * sizeof(double));
    memcpy(v[k], rig.s->qvel, (size_t)rig.m->nv * sizeof(double));
    if (k == 2)
      for (int a = 0; a < 2; a++) {
        double d[64];
        error[a] = 0;
        tg_model_difference(rig.m, q[2], q[a], d);
        for (int i = 0; i < rig.m->nv; i++) error[a] = fmax(error[a], fmax(fabs(d[i]), fabs(v[a][i] - v[2][i])));
      }
    drop(&rig);
  }
  print_message("integrator %d: errors %.3g, %.3g\n", (int)integrator, error[0], error[1]);
  return log2(error[0] / error[1]);
}

static void test_order(void **state) {
  (void)state;
  double euler = order(TG_INTEGRATOR_EULER, 1e-5), plain = order(TG_INTEGRATOR_EXPLICIT, 1e-5), rk4 = order(TG_INTEGRATOR_RK4, 5e-5);
  check_true(fabs(euler - 1) < 0.25, "Euler is of order %.2f", euler);
  check_true(fabs(plain - 1) < 0.25, "explicit Euler is of order %.2f", plain);
  check_true(fabs(rk4 - 4) < 0.4, "Runge-Kutta is of order %.2f", rk4);
}
#endif

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_joints), cmocka_unit_test(test_rate), cmocka_unit_test(test_pieces), cmocka_unit_test(test_state),
      cmocka_unit_test(test_parameters), cmocka_unit_test(test_derived_stiffness),
#ifndef TG_COMPLEX
      cmocka_unit_test(test_order),
#endif
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
