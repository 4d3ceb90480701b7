// test_inverse.c: inverse dynamics, mass matrix, factor and their derivatives on random trees: complex step, dot tests, identities.
#include "dyn/dynamics.h"
#include "support/deriv.h"
#include "support/tree.h"

#ifdef TG_COMPLEX
static const double tolerance = 1e-11;
#else
static const double tolerance = 1e-7;
#endif
enum { NMAX = 128 };

typedef struct Ctx { tgSim *s; tgReal a[NMAX], xfrc[6 * NMAX], *param; bool forces; } Ctx;

static void retract(void *ctx, const tgReal *x, const tgReal *d, tgReal *out) {
  tg_model_integrate(((Ctx *)ctx)->s->model, x, d, out);
}
static tgStatus of_q(void *ctx, const tgReal *x, tgReal *y) {
  Ctx *c = ctx;
  tgt_prepare(c->s, x, c->s->qvel);
  tgi_inverse(c->s, &c->s->start, c->a, c->forces ? c->xfrc : NULL, y);
  return TG_OK;
}
static tgStatus of_v(void *ctx, const tgReal *x, tgReal *y) {
  Ctx *c = ctx;
  tgt_prepare(c->s, c->s->qpos, x);
  tgi_inverse(c->s, &c->s->start, c->a, c->forces ? c->xfrc : NULL, y);
  return TG_OK;
}

static tgModel *tree(int k) { return tgt_random_tree((uint64_t)k, 3 + k % 8, (k % 2 == 0 ? TGT_TREE_FREE : 0) | TGT_TREE_PASSIVE); }

static tgReal *matrix(int rows, int cols) { return test_calloc((size_t)rows * (size_t)cols + 1, sizeof(tgReal)); }

static void test_derivatives(void **state) {
  (void)state;
  for (int k = 0; k < 30; k++) {
    tgModel *m = tree(k);
    tgSim *s = tgt_sim(m);
    Ctx c = {.s = s, .forces = k % 3 == 1};
    tgtRandom r = {(uint64_t)k + 1000};
    int nv = m->nv;
    tgReal *Dq = matrix(nv, nv), *Dv = matrix(nv, nv), w[NMAX], v[NMAX], gq[NMAX] = {0}, gv[NMAX] = {0};
    tgt_random_state(s, &r, k % 4 == 0);
    tgt_random_vector(&r, nv, c.a);
    tgt_random_vector(&r, 6 * m->nbody, c.xfrc);
    const tgReal *xfrc = c.forces ? c.xfrc : NULL;
    tgt_prepare(s, s->qpos, s->qvel);
    assert_int_equal(tgi_inverse_d(s, &s->start, c.a, xfrc, Dq, Dv), TG_OK);
    // adjoint first: it uses the same prepared quantities
    tgt_random_vector(&r, nv, w);
    tgt_random_vector(&r, nv, v);
    assert_int_equal(tgi_inverse_vjp(s, &s->start, c.a, xfrc, w, gq, gv, NULL), TG_OK);
    tgt_check_adjoint(Dq, nv, nv, w, v, gq);
    tgt_check_adjoint(Dv, nv, nv, w, v, gv);
    assert_int_equal(s->stack_used, 0);
    tgtDeriv dq = {.name = "d tau/dq", .nx = m->nq, .nt = nv, .ny = nv, .map = of_q, .retract = retract, .ctx = &c, .tol = tolerance};
    tgtDeriv dv = {.name = "d tau/dv", .nx = nv, .ny = nv, .map = of_v, .ctx = &c, .tol = tolerance};
    tgt_check_jacobian(&dq, s->qpos, Dq);
    tgt_check_jacobian(&dv, s->qvel, Dv);
    test_free(Dq);
    test_free(Dv);
    tg_sim_free(s);
    tg_model_free(m);
  }
}

// x' M y: what inverse dynamics has of its accelerations
static void test_mass_form(void **state) {
  (void)state;
  for (int k = 0; k < 30; k++) {
    tgModel *m = tree(k);
    tgSim *s = tgt_sim(m);
    tgtRandom r = {(uint64_t)k + 1500};
    int nv = m->nv;
    tgReal x[NMAX], y[NMAX], zero[NMAX] = {0}, minus[NMAX], plain[NMAX] = {0}, g[NMAX] = {0};
    tgt_random_state(s, &r, k % 4 == 0);
    tgt_random_vector(&r, nv, x);
    tgt_random_vector(&r, nv, y);
    for (int d = 0; d < nv; d++) minus[d] = -x[d];
    tgt_prepare(s, s->qpos, s->qvel);
    assert_int_equal(tgi_inverse_vjp(s, &s->start, y, NULL, x, plain, NULL, NULL), TG_OK);
    assert_int_equal(tgi_inverse_vjp(s, &s->start, zero, NULL, minus, plain, NULL, NULL), TG_OK);
    assert_int_equal(tgi_mass_vjp(s, &s->start, x, y, g, NULL), TG_OK);
    tgt_check_near(g, plain, nv, 1e-11);
    assert_int_equal(s->stack_used, 0);
    tg_sim_free(s);
    tg_model_free(m);
  }
}

// columns of M are inverse dynamics at unit accelerations minus bias; L' D L = M; its solve inverts
static void test_mass_matrix(void **state) {
  (void)state;
  for (int k = 0; k < 30; k++) {
    tgModel *m = tree(k);
    tgSim *s = tgt_sim(m);
    tgtRandom r = {(uint64_t)k + 2000};
    int nv = m->nv;
    tgReal a[NMAX], tau[NMAX], *X = matrix(nv, nv), *M = matrix(nv, nv);
    tgt_random_state(s, &r, k % 4 == 0);
    tgt_prepare(s, s->qpos, s->qvel);
    tgi_mass_matrix(s, &s->start);
    tgi_bias(s, &s->start);
    assert_int_equal(tg_sim_dense(s, "M", M, NULL, NULL), TG_OK);
    for (int j = 0; j < nv; j++) {
      for (int i = 0; i < nv; i++) a[i] = i == j;
      tgi_inverse(s, &s->start, a, NULL, tau);
      for (int i = 0; i < nv; i++) check_close(tau[i] - s->bias[i], M[i * nv + j], 1e-12 * (1 + fabs(tgRe(tau[i]))));
    }
    assert_true(tgi_factor(m, s->M, s->L));
    for (int i = 0; i < nv * nv; i++) X[i] = M[i];
    tgi_factor_solve_rows(m, s->L, nv, X);
    for (int i = 0; i < nv * nv; i++) check_close(X[i], i % (nv + 1) == 0, 1e-10);
    tgReal *R = matrix(nv, nv);
    tgi_factor_inverse(m, s->L, X);
    for (int i = 0; i < nv; i++)
      for (int j = 0; j < nv; j++)
        for (int l = 0; l < nv; l++) R[i * nv + j] += M[i * nv + l] * X[l * nv + j];
    for (int i = 0; i < nv * nv; i++) check_close(R[i], i % (nv + 1) == 0, 1e-10);
    test_free(R);
    tgt_random_vector(&r, nv, a);
    for (int i = 0; i < nv; i++) {
      tau[i] = 0;
      for (int j = 0; j < nv; j++) tau[i] += M[i * nv + j] * a[j];
    }
    tgi_factor_solve(m, s->L, tau);
    tgt_check_near(tau, a, nv, 1e-10);
    // not positive definite: refused
    *tgi_block_diagonal(m, s->M, nv - 1) = -1;
    assert_false(tgi_factor(m, s->M, s->L));
    test_free(X);
    test_free(M);
    tg_sim_free(s);
    tg_model_free(m);
  }
}

#ifdef TGI_HAS_V3
// every kernel of both instruction sets on the same state: kinematics to derivatives
static void all_kernels(tgSim *s, const tgReal *q, const tgReal *v, bool wide, tgReal *out) {
  int nv = s->m.nv, nn = nv * nv;
  const tgiPlaces *to = tgi_places_dense(s);
  for (int i = 0; i < 5 * nn; i++) out[i] = 0;
#define BOTH(name, ...) (wide ? name##_v3(__VA_ARGS__) : name##_v1(__VA_ARGS__))
  BOTH(tgi_kinematics, &s->m, q, &s->start);
  BOTH(tgi_inertias, s, &s->start);
  BOTH(tgi_velocities, s, &s->start, v);
  BOTH(tgi_mass_matrix, s, &s->start);
  BOTH(tgi_bias, s, &s->start);
  BOTH(tgi_inverse, s, &s->start, v, NULL, out);
  BOTH(tgi_step_matrix, s, 0.01, true);
  assert_true(BOTH(tgi_factor, &s->m, s->Mh, s->L));
  assert_int_equal(BOTH(tgi_inverse_d_into, s, &s->start, v, NULL, 1.5, to, out + nn, out + 2 * nn), TG_OK);
  BOTH(tgi_factor_solve_rows, &s->m, s->L, nv, out + nn);
  BOTH(tgi_factor_inverse, &s->m, s->L, out + 3 * nn);
  for (int d = 0; d < nv; d++) out[4 * nn + d] = s->bias[d];
  BOTH(tgi_factor_solve, &s->m, s->L, out + 4 * nn);
#undef BOTH
}

static void test_instruction_sets(void **state) {
  (void)state;
  if (!TGI_HAS_V3) skip();
  for (int k = 0; k < 30; k++) {
    tgModel *m = tree(k);
    tgSim *s = tgt_sim(m);
    tgtRandom r = {(uint64_t)k + 2700};
    int nv = m->nv;
    tgReal *a = matrix(5 * nv, nv), *b = matrix(5 * nv, nv);
    tgt_random_state(s, &r, false);
    tgt_prepare(s, s->qpos, s->qvel);
    all_kernels(s, s->qpos, s->qvel, false, a);
    all_kernels(s, s->qpos, s->qvel, true, b);
    assert_memory_equal(a, b, (size_t)(5 * nv * nv) * sizeof *a);
    test_free(a);
    test_free(b);
    tg_sim_free(s);
    tg_model_free(m);
  }
}
#endif

// eight columns at a time in wide vectors give the bits of one at a time
static void test_solve_bits(void **state) {
  (void)state;
  for (int k = 0; k < 8; k++) {
    tgModel *m = tgt_random_tree((uint64_t)k, 12, TGT_TREE_FREE | TGT_TREE_PASSIVE);
    tgSim *s = tgt_sim(m);
    tgtRandom r = {(uint64_t)k + 2500};
    int nv = m->nv, n = nv + 3;
    tgReal *X = matrix(nv, n), *x = matrix(nv, 1), *B = matrix(nv, n);
    tgt_random_state(s, &r, false);
    tgt_prepare(s, s->qpos, s->qvel);
    tgi_mass_matrix(s, &s->start);
    assert_true(tgi_factor(m, s->M, s->L));
    tgt_random_vector(&r, nv * n, B);
    for (int i = 0; i < nv * n; i++) X[i] = B[i];
    tgi_factor_solve_rows(m, s->L, n, X);
    for (int c = 0; c < n; c++) {
      for (int i = 0; i < nv; i++) x[i] = B[i * n + c];
      tgi_factor_solve_rows(m, s->L, 1, x);
      for (int i = 0; i < nv; i++)
        check_true(tgRe(x[i]) == tgRe(X[i * n + c]), "row %d column %d: %a and %a", i, c, tgRe(x[i]), tgRe(X[i * n + c]));
    }
    test_free(X);
    test_free(x);
    test_free(B);
    tg_sim_free(s);
    tg_model_free(m);
  }
}

// parameters as the regressor counts them, of every body
static void parameters(const tgModel *m, tgReal *pi) {
  for (int b = 0; b < m->nbody; b++) {
    const tgReal *c = m->body_com + 3 * b, *J = m->body_inertia + 6 * b;
    tgReal mass = b == 0 ? 0 : m->body_mass[b], *p = pi + 10 * b, cc = tgi_v3_dot(c, c);
    p[0] = mass;
    for (int i = 0; i < 3; i++) {
      p[1 + i] = mass * c[i];
      p[4 + i] = J[i] + mass * (cc - c[i] * c[i]);
    }
    p[7] = J[3] - mass * c[0] * c[1];
    p[8] = J[4] - mass * c[0] * c[2];
    p[9] = J[5] - mass * c[1] * c[2];
  }
}

// tau = Y pi + armature a
static void test_regressor(void **state) {
  (void)state;
  for (int k = 0; k < 20; k++) {
    tgModel *m = tree(k);
    tgSim *s = tgt_sim(m);
    tgtRandom r = {(uint64_t)k + 3000};
    int nv = m->nv, np = 10 * m->nbody;
    tgReal a[NMAX], tau[NMAX], y[NMAX], *Y = matrix(nv, np), *pi = matrix(np, 1);
    tgt_random_state(s, &r, k % 4 == 0);
    tgt_random_vector(&r, nv, a);
    tgt_prepare(s, s->qpos, s->qvel);
    tgi_inverse(s, &s->start, a, NULL, tau);
    assert_int_equal(tgi_regressor(s, &s->start, a, Y), TG_OK);
    parameters(&s->m, pi);
    for (int i = 0; i < nv; i++) {
      y[i] = m->dof_armature[i] * a[i];
      for (int j = 0; j < np; j++) y[i] += Y[i * np + j] * pi[j];
    }
    tgt_check_near(y, tau, nv, 1e-12);
    test_free(Y);
    test_free(pi);
    tg_sim_free(s);
    tg_model_free(m);
  }
}

// x = mass, com, inertia (10 numbers) of every body, as the sim's own parameters
static tgStatus of_parameters(void *ctx, const tgReal *x, tgReal *y) {
  Ctx *c = ctx;
  tgSim *s = c->s;
  int rows, cols;
  tgReal *mass = tg_sim_param(s, "body_mass", &rows, &cols), *com = tg_sim_param(s, "body_com", &rows, &cols);
  tgReal *inertia = tg_sim_param(s, "body_inertia", &rows, &cols);
  for (int b = 1; b < s->m.nbody; b++) {
    const tgReal *p = x + 10 * b;
    mass[b] = p[0];
    for (int i = 0; i < 3; i++) com[3 * b + i] = p[1 + i];
    for (int i = 0; i < 6; i++) inertia[6 * b + i] = p[4 + i];
  }
  tgt_prepare(s, s->qpos, s->qvel);
  tgi_inverse(s, &s->start, c->a, NULL, y);
  return TG_OK;
}

// Y dpi = d tau in mass, com and inertia, through the chain rule of parameters()
static void test_regressor_chain(void **state) {
  (void)state;
  for (int k = 0; k < 6; k++) {
    tgModel *m = tree(k);
    tgSim *s = tgt_sim(m);
    Ctx c = {.s = s};
    tgtRandom r = {(uint64_t)k + 4000};
    int nv = m->nv, np = 10 * m->nbody;
    tgReal *Y = matrix(nv, np), *D = matrix(nv, np), *x = matrix(np, 1);
    tgt_random_state(s, &r, false);
    tgt_random_vector(&r, nv, c.a);
    tgt_prepare(s, s->qpos, s->qvel);
    assert_int_equal(tgi_regressor(s, &s->start, c.a, Y), TG_OK);
    for (int b = 1; b < m->nbody; b++) {
      tgReal *p = x + 10 * b;
      p[0] = m->body_mass[b];
      for (int i = 0; i < 3; i++) p[1 + i] = m->body_com[3 * b + i];
      for (int i = 0; i < 6; i++) p[4 + i] = m->body_inertia[6 * b + i];
      for (int d = 0; d < nv; d++) {
        const tgReal *y = Y + d * np + 10 * b, *e = p + 1;
        tgReal *o = D + d * np + 10 * b, cc = tgi_v3_dot(e, e), out[3];
        // h = m c, I_o = J + m (c.c 1 - c c')
        o[0] = y[0] + tgi_v3_dot(y + 1, e) - y[7] * e[0] * e[1] - y[8] * e[0] * e[2] - y[9] * e[1] * e[2];
        for (int i = 0; i < 3; i++) o[0] += y[4 + i] * (cc - e[i] * e[i]);
        out[0] = 2 * e[0] * (y[5] + y[6]) - y[7] * e[1] - y[8] * e[2];
        out[1] = 2 * e[1] * (y[4] + y[6]) - y[7] * e[0] - y[9] * e[2];
        out[2] = 2 * e[2] * (y[4] + y[5]) - y[8] * e[0] - y[9] * e[1];
        for (int i = 0; i < 3; i++) o[1 + i] = p[0] * (y[1 + i] + out[i]);
        for (int i = 0; i < 6; i++) o[4 + i] = y[4 + i];
      }
    }
    tgtDeriv d = {.name = "d tau/d(mass, com, inertia)", .nx = np, .ny = nv, .map = of_parameters, .ctx = &c, .tol = tolerance};
    tgt_check_jacobian(&d, x, D);
    test_free(Y);
    test_free(D);
    test_free(x);
    tg_sim_free(s);
    tg_model_free(m);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_derivatives), cmocka_unit_test(test_mass_form),
                                     cmocka_unit_test(test_mass_matrix), cmocka_unit_test(test_solve_bits),
#ifdef TGI_HAS_V3
                                     cmocka_unit_test(test_instruction_sets),
#endif
                                     cmocka_unit_test(test_regressor), cmocka_unit_test(test_regressor_chain)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
