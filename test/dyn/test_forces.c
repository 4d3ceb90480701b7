// test_forces.c: actuator and passive forces: derivatives by complex step, adjoints by dot test, closed forms, clamps and ties.
#include <string.h>

#include "dyn/dynamics.h"
#include "dyn/sheet.h"
#include "math/quat.h"
#include "support/deriv.h"
#include "support/tree.h"
#include "tangere/contact.h"

#ifdef TG_COMPLEX
static const double tolerance = 1e-11;
#else
static const double tolerance = 2e-7;
#endif
enum { NMAX = 128 };

typedef struct Ctx { tgSim *s; } Ctx;

static void retract(void *ctx, const tgReal *x, const tgReal *d, tgReal *out) {
  tg_model_integrate(((Ctx *)ctx)->s->model, x, d, out);
}

static tgStatus forces(tgSim *s, const tgReal *q, const tgReal *v, tgReal *y) {
  tgt_prepare(s, q, v);
  tgi_actuation(s, &s->start);
  tgi_passive(s, &s->start);
  for (int i = 0; i < s->m.nv; i++) y[i] = s->qfrc_actuator[i] + s->qfrc_passive[i];
  return TG_OK;
}
static tgStatus of_q(void *ctx, const tgReal *x, tgReal *y) { return forces(((Ctx *)ctx)->s, x, ((Ctx *)ctx)->s->qvel, y); }
static tgStatus of_v(void *ctx, const tgReal *x, tgReal *y) { return forces(((Ctx *)ctx)->s, ((Ctx *)ctx)->s->qpos, x, y); }
static tgStatus of_u(void *ctx, const tgReal *x, tgReal *y) {
  tgSim *s = ((Ctx *)ctx)->s;
  for (int i = 0; i < s->m.nu; i++) s->ctrl[i] = x[i];
  return forces(s, s->qpos, s->qvel, y);
}

static tgReal *matrix(int rows, int cols) { return test_calloc((size_t)rows * (size_t)cols + 1, sizeof(tgReal)); }

static void check_model(tgModel *m, int k, bool flat) {
  tgSim *s = tgt_sim(m);
  Ctx c = {s};
  tgtRandom r = {(uint64_t)k + 500};
  int nv = m->nv, nu = m->nu, clamps = 0;
  tgReal *Dq = matrix(nv, nv), *Dv = matrix(nv, nv), *Du = matrix(nv, nu), u[NMAX];
  tgReal w[NMAX], v[NMAX], gq[NMAX] = {0}, gv[NMAX] = {0}, gu[NMAX] = {0};
  tgt_random_state(s, &r, flat);
  for (int i = 0; i < nu; i++) u[i] = s->ctrl[i];
  tgt_prepare(s, s->qpos, s->qvel);
  assert_int_equal(tgi_forces_d(s, &s->start, Dq, Dv, Du, &clamps), TG_OK);
  assert_int_equal(clamps, 0);
  tgt_random_vector(&r, nv, w);
  tgt_random_vector(&r, nv, v);
  assert_int_equal(tgi_forces_vjp(s, &s->start, NULL, w, gq, gv, gu, NULL, &clamps), TG_OK);
  tgt_check_adjoint(Dq, nv, nv, w, v, gq);
  tgt_check_adjoint(Dv, nv, nv, w, v, gv);
  if (nu > 0) tgt_check_adjoint(Du, nv, nu, w, v, gu);
  tgReal pq[NMAX] = {0}, pv[NMAX] = {0}, pu[NMAX] = {0};   // both parts one after the other
  assert_int_equal(tgi_actuation_vjp(s, &s->start, NULL, w, pq, pv, pu, NULL, &clamps), TG_OK);
  assert_int_equal(tgi_passive_vjp(s, &s->start, w, pq, pv, NULL, &clamps), TG_OK);
  tgt_check_adjoint(Dq, nv, nv, w, v, pq);
  tgt_check_adjoint(Dv, nv, nv, w, v, pv);
  if (nu > 0) tgt_check_adjoint(Du, nv, nu, w, v, pu);
  tgtDeriv d = {.name = "d force/dq", .nx = m->nq, .nt = nv, .ny = nv, .map = of_q, .retract = retract, .ctx = &c,
                .tol = tolerance, .step = 1e-4};
  tgt_check_jacobian(&d, s->qpos, Dq);
  d = (tgtDeriv){.name = "d force/dv", .nx = nv, .ny = nv, .map = of_v, .ctx = &c, .tol = tolerance, .step = 1e-4};
  tgt_check_jacobian(&d, s->qvel, Dv);
  d = (tgtDeriv){.name = "d force/du", .nx = nu, .ny = nv, .map = of_u, .ctx = &c, .tol = tolerance, .step = 1e-4};
  if (nu > 0) tgt_check_jacobian(&d, u, Du);
  test_free(Dq);
  test_free(Dv);
  test_free(Du);
  tg_sim_free(s);
  tg_model_free(m);
}

static void check_tree(int k, int flags, bool flat) { check_model(tgt_random_tree((uint64_t)k, 3 + k % 8, flags), k, flat); }

typedef struct PatchCtx { const tgSim *s; tgiPatch patch; tgReal y[12]; } PatchCtx;

// y . f, of places and velocities
static tgStatus of_patch(void *ctx, const tgReal *x, tgReal *out) {
  PatchCtx *c = ctx;
  tgReal f[12];
  for (int i = 0; i < 3 * c->patch.n; i++) {
    c->patch.x[i] = x[i];
    c->patch.v[i] = x[12 + i];
  }
  tgi_patch_update(c->s, &c->patch);
  tgi_patch_force(c->s, &c->patch, f);
  out[0] = 0;
  for (int i = 0; i < 3 * c->patch.n; i++) out[0] += c->y[i] * f[i];
  return TG_OK;
}

static tgStatus energy_of_patch(void *ctx, const tgReal *x, tgReal *out) {
  PatchCtx *c = ctx;
  for (int i = 0; i < 3 * c->patch.n; i++) c->patch.x[i] = x[i];
  tgi_patch_update(c->s, &c->patch);
  out[0] = tgi_patch_energy(c->s, &c->patch);
  return TG_OK;
}

// sheets flat and curved at rest, pinned to a body that flies and turns, and to a link of it
static const char sheets_text[] =
    "<mujoco><compiler angle='radian'/><worldbody><body pos='0 0 1'><freejoint/><geom size='.1' mass='1'/>"
    "<flexcomp name='a' type='direct' dim='2' mass='.3' point='0 0 .05  .2 0 0  0 .21 .01  -.22 .01 0  .01 -.2 -.03' "
    "element='0 1 2 0 2 3 0 3 4 0 4 1'><elasticity young='30' poisson='.3' thickness='.04' damping='.02' elastic2d='both'/><pin id='3'/>"
    "</flexcomp><body pos='.5 0 0'><joint type='ball'/><geom size='.1' mass='.5'/>"
    "<flexcomp name='b' type='grid' dim='2' count='3 2 1' spacing='.2 .2 .2' mass='.2' euler='.1 .2 .3'>"
    "<elasticity young='20' poisson='.2' thickness='.05' damping='.1' elastic2d='both'/><pin id='0 1'/></flexcomp></body></body>"
    "</worldbody></mujoco>";

static tgModel *sheets_model(void) {
  tgError e = {0};
  tgDesc *d = tg_desc_load_memory("sheets", sheets_text, sizeof sheets_text - 1, NULL, &e);
  check_true(d != NULL, "%s", e.text);
  tgModel *m = tg_model_compile(d, NULL, &e);
  check_true(m != NULL, "%s", e.text);
  tg_desc_free(d);
  return m;
}

static void test_sheets(void **state) {
  (void)state;
  for (int k = 0; k < 6; k++) check_model(sheets_model(), k, false);
}

// sheets that are none, each named with what is wrong; and a contact model that minimises an energy without theirs
static void test_refused_sheets(void **state) {
  (void)state;
  static const double pos[15] = {0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 2, 0, 0};
  static const struct { int elem[9], n; double poisson, thickness; const char *text; } bad[] = {
      {{0, 1, 4}, 1, 0.3, 1, "triangle 0 of vertices 0 1 4 has no area"},
      {{0, 1, 2, 0, 1, 3, 1, 0, 2}, 3, 0.3, 1, "share the edge"},
      {{0, 1, 5}, 1, 0.3, 1, "uses vertex 5 of 5"}, {{0, 1, 2}, 1, 0.5, 1, "poisson 0.5"}, {{0, 1, 2}, 1, 0.3, 0, "thickness 0"}};
  const int body[5] = {0};
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    tgError e = {0};
    tgDesc *d = tg_desc_create(NULL);
    int f = tg_desc_add_flex(d, "cloth", body, pos, 5, bad[i].elem, bad[i].n);
    d->flex[f].poisson = bad[i].poisson;
    d->flex[f].thickness = bad[i].thickness;
    assert_null(tg_model_compile(d, NULL, &e));
    check_true(strstr(e.text, "flex 'cloth'") != NULL && strstr(e.text, bad[i].text) != NULL, "%s", e.text);
    tg_desc_free(d);
  }
  tgModel *m = sheets_model();
  tgError e = {0};
  assert_null(tg_contact_create(m, "sdrs", NULL, &e));
  check_true(e.status == TG_ERR_UNSUPPORTED && strstr(e.text, "flex 'a'") != NULL, "%s", e.text);
  tg_model_free(m);
}

// each triangle and edge by itself: adjoint, and the force as the energy's gradient; a turning sheet is not damped
static void test_patches(void **state) {
  (void)state;
  tgModel *m = sheets_model();
  tgSim *s = tgt_sim(m);
  tgtRandom r = {.s = 8};
  int patches = 0;
  tgt_random_state(s, &r, false);
  tgt_prepare(s, s->qpos, s->qvel);
  for (tgiPatch k = tgi_no_patch; tgi_next_patch(s, &s->start, &k); patches++) {
    PatchCtx c = {.s = s, .patch = k};
    tgReal D[24] = {0}, x[24] = {0}, f[12], turned[12], w[3];
    for (int i = 0; i < 12; i++) {
      c.y[i] = tgt_normal(&r);
      x[i] = k.x[i];
      x[12 + i] = k.v[i];
    }
    tgi_patch_vjp(s, &k, c.y, D, D + 12, NULL);
    tgtDeriv d = {.name = "y . force of a patch", .nx = 24, .ny = 1, .map = of_patch, .ctx = &c, .tol = tolerance, .step = 1e-3};
    tgt_check_jacobian(&d, x, D);
    // at rest in velocity, then with that of a turn
    for (int i = 0; i < 12; i++) k.v[i] = 0;
    tgi_patch_update(s, &k);
    tgi_patch_force(s, &k, f);
    for (int i = 0; i < 12; i++) D[i] = i < 3 * k.n ? -f[i] : 0;
    d = (tgtDeriv){.name = "energy of a patch", .nx = 12, .ny = 1, .map = energy_of_patch, .ctx = &c, .tol = tolerance, .step = 1e-3};
    tgt_check_jacobian(&d, x, D);
    tgt_random_vector(&r, 3, w);
    for (int i = 0; i < k.n && k.n == 3; i++) tgi_v3_cross(k.v + 3 * i, w, k.x + 3 * i);
    tgi_patch_update(s, &k);
    tgi_patch_force(s, &k, turned);
    for (int i = 0; i < 3 * k.n; i++) check_close(turned[i], f[i], 1e-12);
  }
  assert_int_equal(patches, 4 + 4 + 4 + 3);
  tg_sim_free(s);
  tg_model_free(m);
}

static void test_derivatives(void **state) {
  (void)state;
  for (int k = 0; k < 24; k++) {
    int base = k % 2 == 0 ? TGT_TREE_FREE : 0;
    check_tree(k, base | TGT_TREE_PASSIVE, k % 4 == 0);
    check_tree(k, base | TGT_TREE_PASSIVE | TGT_TREE_ACTUATED, k % 4 == 1);
    check_tree(k, base | TGT_TREE_FLUID, k % 4 == 2);
    check_tree(k, base | TGT_TREE_PASSIVE | TGT_TREE_ACTUATED | TGT_TREE_FLUID, false);
  }
}

// one slider with a motor: gain, clamps, and what a tie counts
static void test_clamps(void **state) {
  (void)state;
  tgDesc *d = tg_desc_create(NULL);
  int b = tg_desc_add_body(d, 0, NULL);
  d->body[b].has_inertial = true;
  d->body[b].mass = d->body[b].inertia[0] = d->body[b].inertia[1] = d->body[b].inertia[2] = 1;
  int j = tg_desc_add_joint(d, b, TG_JOINT_SLIDE, NULL), a = tg_desc_add_actuator(d, TG_TRN_JOINT, j, NULL);
  d->joint[j].actfrclimited = TG_LIMITED_YES;
  d->joint[j].actfrcrange[0] = -5;
  d->joint[j].actfrcrange[1] = 5;
  d->actuator[a] = (tgActuatorDesc){.transmission = TG_TRN_JOINT, .target = j, .gear = {2}, .gain = {3},
                                    .bias = {0, -1, -0.5}, .ctrllimited = true, .ctrlrange = {-1, 1},
                                    .source = d->actuator[a].source};
  tgError error;
  tgModel *m = tg_model_compile(d, NULL, &error);
  check_true(m != NULL, "%s", error.text);
  tgSim *s = tgt_sim(m);
  // u, q, v -> force, du, dq, dv, clamps; length = 2 q, force = 3 u - 2 q - 0.5 * 2 v, qfrc = 2 force within +-5
  const double cases[][8] = {{0.5, 0, 0, 3, 6, -4, -2, 0}, {2, 0.3, 0.2, 2 * (3 - 0.6 - 0.2), 0, -4, -2, 0},
                             {1, 0.3, 0.2, 2 * (3 - 0.6 - 0.2), 6, -4, -2, 1},
                             {0.9, -0.5, 0, 5, 0, 0, 0, 0}, {0.5, 0, -1, 5, 6, -4, -2, 1}};
  for (int k = 0; k < 5; k++) {
    const double *x = cases[k];
    tgReal q = x[1], v = x[2], Dq, Dv, Du;
    int clamps = 0;
    s->ctrl[0] = x[0];
    tgt_prepare(s, &q, &v);
    tgi_actuation(s, &s->start);
    assert_int_equal(tgi_forces_d(s, &s->start, &Dq, &Dv, &Du, &clamps), TG_OK);
    check_close(s->qfrc_actuator[0], x[3], 1e-15);
    check_close(Du, x[4], 1e-15);
    check_close(Dq, x[5], 1e-15);
    check_close(Dv, x[6], 1e-15);
    assert_int_equal(clamps, (int)x[7]);
  }
  tg_sim_free(s);
  tg_model_free(m);
  tg_desc_free(d);
}

// a free body sinking and spinning in a medium: the box model's own formulas; weight compensated
static void test_fluid_box(void **state) {
  (void)state;
  tgDesc *d = tg_desc_create(NULL);
  int b = tg_desc_add_body(d, 0, NULL);
  double side[3] = {0.4, 0.2, 0.1}, mass = 3, rho = 20, eta = 0.7;
  d->body[b].has_inertial = true;
  d->body[b].mass = mass;
  for (int i = 0; i < 3; i++) {
    double p = side[(i + 1) % 3], q = side[(i + 2) % 3];
    d->body[b].inertia[i] = mass * (p * p + q * q) / 12;
  }
  d->body[b].gravcomp = 1;
  tg_desc_add_joint(d, b, TG_JOINT_FREE, NULL);
  d->option.density = rho;
  d->option.viscosity = eta;
  tgError error;
  tgModel *m = tg_model_compile(d, NULL, &error);
  check_true(m != NULL, "%s", error.text);
  tgSim *s = tgt_sim(m);
  tgReal v[6] = {0.5, -0.8, 0.3, 1, -2, 3}, q[7] = {1, 2, 3, 1, 0, 0, 0}, w[3] = {0.3, -1.2, 0.8};
  tgi_quat_exp(q + 3, w);
  tgt_prepare(s, q, v);
  tgi_passive(s, &s->start);
  double dm = (side[0] + side[1] + side[2]) / 3;
  tgReal y[3], R[9], f[3], F[3];
  tgi_quat_to_mat(R, q + 3);
  tgi_m3_tmulv(y, R, v);
  for (int k = 0; k < 3; k++) {
    double p = side[(k + 1) % 3], r = side[(k + 2) % 3];
    f[k] = -3 * TG_PI * dm * eta * y[k] - rho / 2 * p * r * tgAbs(y[k]) * y[k];
    tgReal wk = v[3 + k];
    check_close(s->qfrc_passive[3 + k],
                -TG_PI * dm * dm * dm * eta * wk - rho / 64 * side[k] * (pow(p, 4) + pow(r, 4)) * tgAbs(wk) * wk, 1e-13);
  }
  tgi_m3_mulv(F, R, f);
  F[2] += mass * 9.81;
  for (int k = 0; k < 3; k++) check_close(s->qfrc_passive[k], F[k], 1e-12);
  tg_sim_free(s);
  tg_model_free(m);
  tg_desc_free(d);
}

// springs do as much work as their energy falls: power = -d(energy)/dt along a random velocity, all kinds of joint
static tgReal spring_energy(const tgSim *s, const tgReal *q) {
  const tgModel *m = &s->m;
  tgReal e = 0, w[NMAX];
  tg_model_difference(m, m->qpos_spring, q, w);
  for (int d = 0; d < m->nv; d++) e += m->jnt_stiffness[m->dof_jnt[d]] * w[d] * w[d] / 2;
  for (int t = 0; t < m->ntendon; t++) {
    tgReal l = 0, lo = m->ten_lengthspring[2 * t], hi = m->ten_lengthspring[2 * t + 1];
    for (int k = m->ten_adr[t]; k < m->ten_adr[t] + m->ten_num[t]; k++) l += m->wrap_coef[k] * q[m->jnt_qadr[m->wrap_jnt[k]]];
    tgReal x = tgRe(l) > tgRe(hi) ? l - hi : tgRe(l) < tgRe(lo) ? l - lo : 0;
    e += m->ten_stiffness[t] * x * x / 2;
  }
  // gravity compensation: a lighter weight
  for (int b = 1; b < m->nbody; b++)
    e += m->body_gravcomp[b] * m->body_mass[b] * tgi_v3_dot(m->opt_gravity, s->start.xcom + 3 * b);
  return e;
}
static tgStatus energy_map(void *ctx, const tgReal *x, tgReal *y) {
  tgSim *s = ((Ctx *)ctx)->s;
  tgi_kinematics(&s->m, x, &s->start);
  y[0] = spring_energy(s, x);
  return TG_OK;
}
static void test_potential(void **state) {
  (void)state;
  for (int k = 0; k < 20; k++) {
    tgModel *m = tgt_random_tree((uint64_t)k + 70, 6, (k % 2 == 0 ? TGT_TREE_FREE : 0) | TGT_TREE_PASSIVE);
    tgSim *s = tgt_sim(m);
    Ctx c = {s};
    tgtRandom r = {(uint64_t)k};
    tgReal zero[NMAX] = {0}, f[NMAX];
    tgt_random_state(s, &r, false);
    tgt_prepare(s, s->qpos, zero);
    tgi_passive(s, &s->start);
    for (int d = 0; d < m->nv; d++) f[d] = -s->qfrc_passive[d];
    tgtDeriv d = {.name = "force of a potential", .nx = m->nq, .nt = m->nv, .ny = 1, .map = energy_map, .retract = retract, .ctx = &c,
                  .tol = tolerance, .step = 1e-4};
    tgt_check_jacobian(&d, s->qpos, f);
    tg_sim_free(s);
    tg_model_free(m);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_derivatives), cmocka_unit_test(test_sheets), cmocka_unit_test(test_patches),
                                     cmocka_unit_test(test_refused_sheets),
                                     cmocka_unit_test(test_clamps), cmocka_unit_test(test_fluid_box),
                                     cmocka_unit_test(test_potential)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
