// test_public.c: forward dynamics and its derivatives through the public calls, invariants of motion, closed forms, refusals.
#include <string.h>

#include "dyn/dynamics.h"
#include "math/quat.h"
#include "support/deriv.h"
#include "support/tree.h"

#ifdef TG_COMPLEX
static const double tolerance = 1e-11;
#else
static const double tolerance = 2e-7;
#endif
enum { NMAX = 128 };

typedef struct Ctx { tgSim *s; tgReal tau[NMAX]; int body; } Ctx;

static tgReal *matrix(int rows, int cols) { return test_calloc((size_t)rows * (size_t)cols + 1, sizeof(tgReal)); }
static void set(tgReal *to, const tgReal *from, int n) {
  for (int i = 0; i < n; i++) to[i] = from[i];
}
static void retract(void *ctx, const tgReal *x, const tgReal *d, tgReal *out) {
  tg_model_integrate(((Ctx *)ctx)->s->model, x, d, out);
}
static tgStatus of_q(void *ctx, const tgReal *x, tgReal *y) {
  Ctx *c = ctx;
  tgReal keep[NMAX];
  set(keep, c->s->qpos, c->s->m.nq);
  set(c->s->qpos, x, c->s->m.nq);
  tgStatus status = tg_sim_acceleration(c->s, c->tau, y);
  set(c->s->qpos, keep, c->s->m.nq);
  return status;
}
static tgStatus of_v(void *ctx, const tgReal *x, tgReal *y) {
  Ctx *c = ctx;
  tgReal keep[NMAX];
  set(keep, c->s->qvel, c->s->m.nv);
  set(c->s->qvel, x, c->s->m.nv);
  tgStatus status = tg_sim_acceleration(c->s, c->tau, y);
  set(c->s->qvel, keep, c->s->m.nv);
  return status;
}
static tgStatus of_tau(void *ctx, const tgReal *x, tgReal *y) { return tg_sim_acceleration(((Ctx *)ctx)->s, x, y); }
static tgStatus of_mass(void *ctx, const tgReal *x, tgReal *y) {
  Ctx *c = ctx;
  tgSim *s = c->s;
  int rows, cols, b = c->body;
  tgReal *mass = tg_sim_param(s, "body_mass", &rows, &cols), *com = tg_sim_param(s, "body_com", &rows, &cols);
  // x = (m, m com): the inertia about the body's origin is held, so that about the centre of mass gives way
  tgReal *J = tg_sim_param(s, "body_inertia", &rows, &cols) + 6 * b, keep[10], c0[3], c1[3];
  set(keep, mass + b, 1);
  set(keep + 1, com + 3 * b, 3);
  set(keep + 4, J, 6);
  set(c0, com + 3 * b, 3);
  for (int i = 0; i < 3; i++) c1[i] = x[1 + i] / x[0];
  static const int row[6] = {0, 1, 2, 0, 0, 1}, col[6] = {0, 1, 2, 1, 2, 2};
  for (int k = 0; k < 6; k++) {
    int i = row[k], j = col[k];
    J[k] += mass[b] * ((i == j ? tgi_v3_dot(c0, c0) : 0) - c0[i] * c0[j]) - x[0] * ((i == j ? tgi_v3_dot(c1, c1) : 0) - c1[i] * c1[j]);
  }
  mass[b] = x[0];
  set(com + 3 * b, c1, 3);
  tgStatus status = tg_sim_acceleration(s, c->tau, y);
  set(mass + b, keep, 1);
  set(com + 3 * b, keep + 1, 3);
  set(J, keep + 4, 6);
  return status;
}

static void test_forward_derivatives(void **state) {
  (void)state;
  for (int k = 0; k < 20; k++) {
    tgModel *m = tgt_random_tree((uint64_t)k + 10, 3 + k % 6, (k % 2 == 0 ? TGT_TREE_FREE : 0) | TGT_TREE_PASSIVE);
    tgSim *s = tgt_sim(m);
    Ctx c = {.s = s, .body = 1 + k % 3};
    tgtRandom r = {(uint64_t)k};
    int nv = m->nv, np = 10 * m->nbody;
    tgReal *Dq = matrix(nv, nv), *Dv = matrix(nv, nv), *Dt = matrix(nv, nv), *Dp = matrix(nv, np), x[4], a[NMAX], tau[NMAX];
    tgt_random_state(s, &r, k % 4 == 0);
    tgt_random_vector(&r, nv, c.tau);
    assert_int_equal(tg_sim_acceleration_d(s, c.tau, Dq, Dv, Dt, Dp), TG_OK);
    assert_int_equal(tg_sim_acceleration(s, c.tau, a), TG_OK);
    assert_int_equal(tg_sim_inverse(s, a, tau), TG_OK);
    tgt_check_near(tau, c.tau, nv, 1e-11);
    tgtDeriv d = {.name = "da/dq", .nx = m->nq, .nt = nv, .ny = nv, .map = of_q, .retract = retract, .ctx = &c,
                  .tol = tolerance, .step = 1e-4};
    tgt_check_jacobian(&d, s->qpos, Dq);
    d = (tgtDeriv){.name = "da/dv", .nx = nv, .ny = nv, .map = of_v, .ctx = &c, .tol = tolerance};
    tgt_check_jacobian(&d, s->qvel, Dv);
    d = (tgtDeriv){.name = "da/dtau", .nx = nv, .ny = nv, .map = of_tau, .ctx = &c, .tol = tolerance};
    tgt_check_jacobian(&d, c.tau, Dt);
    // mass and m com of one body
    tgReal *B = matrix(nv, 4);
    for (int i = 0; i < nv; i++)
      for (int j = 0; j < 4; j++) B[4 * i + j] = Dp[i * np + 10 * c.body + j];
    x[0] = m->body_mass[c.body];
    for (int i = 0; i < 3; i++) x[1 + i] = x[0] * m->body_com[3 * c.body + i];
    d = (tgtDeriv){.name = "da/d(m, m com)", .nx = 4, .ny = nv, .map = of_mass, .ctx = &c, .tol = tolerance, .step = 1e-4};
    if (m->body_lastdof[c.body] >= 0) tgt_check_jacobian(&d, x, B);
    test_free(B);
    test_free(Dq);
    test_free(Dv);
    test_free(Dt);
    test_free(Dp);
    tg_sim_free(s);
    tg_model_free(m);
  }
}

static tgStatus inverse_of_q(void *ctx, const tgReal *x, tgReal *y) {
  Ctx *c = ctx;
  tgReal keep[NMAX];
  set(keep, c->s->qpos, c->s->m.nq);
  set(c->s->qpos, x, c->s->m.nq);
  tgStatus status = tg_sim_inverse(c->s, c->tau, y);
  set(c->s->qpos, keep, c->s->m.nq);
  return status;
}
static tgStatus inverse_of_v(void *ctx, const tgReal *x, tgReal *y) {
  Ctx *c = ctx;
  tgReal keep[NMAX];
  set(keep, c->s->qvel, c->s->m.nv);
  set(c->s->qvel, x, c->s->m.nv);
  tgStatus status = tg_sim_inverse(c->s, c->tau, y);
  set(c->s->qvel, keep, c->s->m.nv);
  return status;
}

// tg_sim_inverse_d and the Jacobian call on the state as it is, no stage called before
static void test_inverse_calls(void **state) {
  (void)state;
  for (int k = 0; k < 6; k++) {
    tgModel *m = tgt_random_tree((uint64_t)k + 50, 5, k % 2 == 0 ? TGT_TREE_FREE : 0);
    tgSim *s = tgt_sim(m);
    Ctx c = {.s = s};
    tgtRandom r = {(uint64_t)k};
    int nv = m->nv, np = 10 * m->nbody;
    tgReal *Dq = matrix(nv, nv), *Dv = matrix(nv, nv), *Y = matrix(nv, np), *J = matrix(6, nv), p[3] = {0.3, -0.2, 0.9}, V[6], w[3];
    tgt_random_state(s, &r, false);
    tgt_random_vector(&r, nv, c.tau);
    assert_int_equal(tg_sim_inverse_d(s, c.tau, Dq, Dv, Y), TG_OK);
    tgtDeriv d = {.name = "dtau/dq", .nx = m->nq, .nt = nv, .ny = nv, .map = inverse_of_q, .retract = retract, .ctx = &c, .tol = tolerance};
    tgt_check_jacobian(&d, s->qpos, Dq);
    d = (tgtDeriv){.name = "dtau/dv", .nx = nv, .ny = nv, .map = inverse_of_v, .ctx = &c, .tol = tolerance};
    tgt_check_jacobian(&d, s->qvel, Dv);
    // J v is the velocity of the point
    int body = m->nbody - 1;
    assert_int_equal(tg_sim_jacobian(s, body, p, J), TG_OK);
    tgi_body_velocity(s, &s->start, body, s->qvel, V);
    tgi_sp_point_velocity(w, V, p);
    for (int i = 0; i < 3; i++) {
      tgReal angular = 0, linear = 0;
      for (int j = 0; j < nv; j++) {
        angular += J[i * nv + j] * s->qvel[j];
        linear += J[(3 + i) * nv + j] * s->qvel[j];
      }
      check_close(angular, V[i], 1e-13);
      check_close(linear, w[i], 1e-13);
    }
    test_free(Dq);
    test_free(Dv);
    test_free(Y);
    test_free(J);
    tg_sim_free(s);
    tg_model_free(m);
  }
}

// kinetic energy by bodies; d(kinetic)/dt = v . tau without gravity, along a path whose acceleration is a
static tgReal kinetic(const tgSim *s) {
  tgReal e = 0;
  for (int b = 1; b < s->m.nbody; b++) {
    tgReal h[6];
    tgi_sp_inertia_mul(h, s->start.cinert + 10 * b, s->start.V + 6 * b);
    e += tgi_sp_dot(h, s->start.V + 6 * b) / 2;
  }
  return e;
}
typedef struct Path { tgSim *s; tgReal q[NMAX], v[NMAX], a[NMAX]; } Path;
// x = t: q (+) (v t + a t^2/2), v + a t, right to first order in t
static tgStatus along(void *ctx, const tgReal *x, tgReal *y) {
  Path *p = ctx;
  tgSim *s = p->s;
  tgReal dq[NMAX], q[NMAX], v[NMAX];
  for (int i = 0; i < s->m.nv; i++) {
    dq[i] = p->v[i] * x[0] + p->a[i] * x[0] * x[0] / 2;
    v[i] = p->v[i] + p->a[i] * x[0];
  }
  tg_model_integrate(s->model, p->q, dq, q);
  tgt_prepare(s, q, v);
  y[0] = kinetic(s);
  // momentum about the world origin
  tgi_sp_zero(y + 1);
  for (int b = 1; b < s->m.nbody; b++) {
    tgReal h[6];
    tgi_sp_inertia_mul(h, s->start.cinert + 10 * b, s->start.V + 6 * b);
    tgi_sp_add(y + 1, y + 1, h);
  }
  return TG_OK;
}

static void test_power_and_momentum(void **state) {
  (void)state;
  for (int k = 0; k < 20; k++) {
    tgModel *m = tgt_random_tree((uint64_t)k + 30, 7, TGT_TREE_FREE);
    tgSim *s = tgt_sim(m);
    Path p = {.s = s};
    tgtRandom r = {(uint64_t)k};
    int nv = m->nv, rows, cols;
    tgReal tau[NMAX], D[7] = {0}, t = 0, y[7], Mv = 0;
    for (int i = 0; i < 3; i++) tg_sim_param(s, "opt_gravity", &rows, &cols)[i] = 0;
    tgt_random_state(s, &r, false);
    tgt_random_vector(&r, nv, tau);
    for (int i = 0; i < 6; i++) tau[i] = 0;  // nothing pushes the whole
    assert_int_equal(tg_sim_acceleration(s, tau, p.a), TG_OK);
    set(p.q, s->qpos, m->nq);
    set(p.v, s->qvel, nv);
    for (int i = 0; i < nv; i++) D[0] += s->qvel[i] * tau[i];
    tgtDeriv d = {.name = "power, change of momentum", .nx = 1, .ny = 7, .map = along, .ctx = &p, .tol = tolerance, .step = 1e-4};
    tgt_check_jacobian(&d, &t, D);
    // v' M v / 2 = kinetic energy
    along(&p, &t, y);
    tgi_mass_matrix(s, &s->start);
    Mv = tgi_block_form(&s->m, s->qvel, s->M, s->qvel) / 2;
    check_close(Mv, y[0], 1e-12 * (1 + tgRe(y[0])));
    tg_sim_free(s);
    tg_model_free(m);
  }
}

static tgModel *one_body(tgJointType type, double mass, const double com[3], const double inertia[3], const double axis[3]) {
  tgDesc *d = tg_desc_create(NULL);
  int b = tg_desc_add_body(d, 0, "only");
  d->body[b].has_inertial = true;
  d->body[b].mass = mass;
  for (int i = 0; i < 3; i++) {
    d->body[b].com[i] = com[i];
    d->body[b].inertia[i] = inertia[i];
  }
  int j = tg_desc_add_joint(d, b, type, NULL);
  for (int i = 0; i < 3; i++) d->joint[j].axis[i] = axis[i];
  tgError error;
  tgModel *m = tg_model_compile(d, NULL, &error);
  check_true(m != NULL, "%s", error.text);
  tg_desc_free(d);
  return m;
}

// a = -m g l sin q/(I + m l^2)
static void test_pendulum(void **state) {
  (void)state;
  tgModel *m = one_body(TG_JOINT_HINGE, 2, (double[]){0, 0, -0.7}, (double[]){0.3, 0.4, 0.2}, (double[]){0, 1, 0});
  tgSim *s = tgt_sim(m);
  for (int k = -6; k <= 6; k++) {
    tgReal tau = 0.3, a;
    s->qpos[0] = 0.5 * k;
    s->qvel[0] = k;
    assert_int_equal(tg_sim_acceleration(s, &tau, &a), TG_OK);
    check_close(a, (0.3 - 2 * 9.81 * 0.7 * sin(0.5 * k)) / (0.4 + 2 * 0.49), 1e-14);
  }
  tg_sim_free(s);
  tg_model_free(m);
}

// symmetric top on a ball joint, tilted by theta, spin w3, in steady precession W: the rates it needs are constant, so in body axes
// that turn with the precession alone dw/dt is known: I1 W^2 cos(theta) - I3 w3 W + m g l = 0  [Goldstein 5.7]
static void test_top(void **state) {
  (void)state;
  double I1 = 0.05, I3 = 0.02, mass = 1.5, l = 0.3, theta = 0.6, W = 2.5;
  double I1o = I1 + mass * l * l, w3 = (I1o * W * W * cos(theta) + mass * 9.81 * l) / (I3 * W), spin = w3 - W * cos(theta);
  tgModel *m = one_body(TG_JOINT_BALL, mass, (double[]){0, 0, l}, (double[]){I1, I1, I3}, (double[]){0, 0, 1});
  tgSim *s = tgt_sim(m);
  for (int k = 0; k < 5; k++) {
    double phi = 0.9 * k, psi = 1.7 * k, wb[3], ab[3];
    tgReal Rz[4], Rx[4], Rp[4], q[4], z[3] = {0, 0, 1}, x[3] = {1, 0, 0}, a[3], zero[3] = {0, 0, 0};
    tgi_quat_axis_angle(Rz, z, phi);
    tgi_quat_axis_angle(Rx, x, theta);
    tgi_quat_axis_angle(Rp, z, psi);
    tgi_quat_mul(q, Rz, Rx);
    tgi_quat_mul(q, q, Rp);
    // body rates of Euler angles z-x-z, and their time derivatives at constant phi', psi'
    wb[0] = W * sin(theta) * sin(psi);
    wb[1] = W * sin(theta) * cos(psi);
    wb[2] = w3;
    ab[0] = W * sin(theta) * cos(psi) * spin;
    ab[1] = -W * sin(theta) * sin(psi) * spin;
    ab[2] = 0;
    set(s->qpos, q, 4);
    for (int i = 0; i < 3; i++) s->qvel[i] = wb[i];
    assert_int_equal(tg_sim_acceleration(s, zero, a), TG_OK);
    for (int i = 0; i < 3; i++) check_close(a[i], ab[i], 1e-11);
  }
  tg_sim_free(s);
  tg_model_free(m);
}

// free body with its centre of mass off the frame: the centre falls freely, Euler's equations hold about it
static void test_free_body(void **state) {
  (void)state;
  double com[3] = {0.2, -0.1, 0.3}, I[3] = {0.4, 0.5, 0.7};
  tgModel *m = one_body(TG_JOINT_FREE, 2, com, I, (double[]){0, 0, 1});
  tgSim *s = tgt_sim(m);
  tgtRandom r = {9};
  tgt_random_state(s, &r, false);
  tgReal zero[6] = {0}, a[6], w[3], wd[3], c[3] = {com[0], com[1], com[2]}, t[3], u[3], acc[3];
  assert_int_equal(tg_sim_acceleration(s, zero, a), TG_OK);
  set(w, s->qvel + 3, 3);
  for (int i = 0; i < 3; i++) wd[i] = (I[(i + 1) % 3] - I[(i + 2) % 3]) / I[i] * w[(i + 1) % 3] * w[(i + 2) % 3];
  tgt_check_near(a + 3, wd, 3, 1e-13);
  tgi_v3_cross(t, wd, c);
  tgi_v3_cross(u, w, c);
  tgi_v3_cross(u, w, u);
  tgi_v3_add(t, t, u);
  tgi_m3_mulv(acc, s->start.xmat + 9, t);
  tgi_v3_add(acc, acc, a);
  tgReal g[3] = {0, 0, -9.81};
  tgt_check_near(acc, g, 3, 1e-13);
  tg_sim_free(s);
  tg_model_free(m);
}

static void test_refusals(void **state) {
  (void)state;
  tgModel *m = one_body(TG_JOINT_HINGE, 2, (double[]){0, 0, 0}, (double[]){0.3, 0.4, 0.2}, (double[]){0, 1, 0});
  tgSim *s = tgt_sim(m);
  tgReal x = 0, J[6], p[3] = {0, 0, 0};
  int rows, cols;
  s->qvel[0] = NAN;
  assert_int_equal(tg_sim_forward(s), TG_ERR_NOT_FINITE);
  check_true(strstr(tg_sim_error(s)->text, "qvel") != NULL && strstr(tg_sim_error(s)->text, "only") != NULL, "%s", tg_sim_error(s)->text);
  s->qvel[0] = 0;
  assert_int_equal(tg_sim_forward(s), TG_OK);
  assert_int_equal(tg_sim_jacobian(s, 2, p, J), TG_ERR_ARG);
  assert_int_equal(tg_sim_jacobian(s, 1, p, J), TG_OK);
  x = NAN;
  assert_int_equal(tg_sim_inverse(s, &x, J), TG_ERR_NOT_FINITE);
  // a body made weightless by its sim's parameters
  x = 0;
  tg_sim_param(s, "body_mass", &rows, &cols)[1] = 0;
  for (int i = 0; i < 6; i++) tg_sim_param(s, "body_inertia", &rows, &cols)[6 + i] = 0;
  assert_int_equal(tg_sim_acceleration(s, &x, J), TG_ERR_INVALID);
  check_true(strstr(tg_sim_error(s)->text, "positive definite") != NULL, "%s", tg_sim_error(s)->text);
  tg_sim_free(s);
  tg_model_free(m);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_forward_derivatives), cmocka_unit_test(test_inverse_calls),
                                     cmocka_unit_test(test_power_and_momentum),
                                     cmocka_unit_test(test_pendulum), cmocka_unit_test(test_top), cmocka_unit_test(test_free_body),
                                     cmocka_unit_test(test_refusals)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
