// test_energy.c: the energy of joints that a step minimises, on random trees with every kind of joint, actuator, tendon
// and equality: gradient at q', what it changes by with the state at the start and the controls (dense and as an
// adjoint), and the work of motors with ranges against a plain sum; by complex step and by Ridders, with motors and
// sums on both sides of their clamps.
#include <stdlib.h>

#include "joint/joint.h"
#include "step/made_up.h"
#include "support/deriv.h"

#ifdef TG_COMPLEX
static const double tolerance = 1e-11;
#else
static const double tolerance = 1e-6;
#endif
static const double h = 0.01;
enum { TREES = 16, MOST = 128, FLAGS = TGT_TREE_PASSIVE | TGT_TREE_ACTUATED | TGT_TREE_ENERGY | TGT_TREE_TIED };

typedef struct Case { tgModel *m; tgContact contact; tgSim *s; tgiJointTerms t; tgReal q[MOST]; } Case;

static void make(Case *c, int k) {
  tgError e = {0};
  tgtRandom r = {.s = (uint64_t)(500 + k)};
  tgReal step[MOST];
  c->m = tgt_random_tree((uint64_t)(300 + k), 6, FLAGS | (k % 2 == 0 ? TGT_TREE_FREE : 0));
  c->contact = made_contact(c->m, false);
  made_options.equality_opening = 0.1;
  made_options.slip_speed = 0.3;
  check_true(tgi_joint_inertias(&c->contact, true, &e) == TG_OK, "%s", e.text);
  c->s = tg_sim_create(c->m, &c->contact, NULL, &e);
  check_true(c->s != NULL, "%s", e.text);
  const tgModel *m = &c->s->m;
  tgt_random_state(c->s, &r, true);
  for (int d = 0; d < m->nv; d++) step[d] = tgt_uniform(&r, -0.4, 0.4);
  tg_model_integrate(m, m->qpos0, step, c->s->start.q);
  memcpy(c->s->start.vel, c->s->qvel, (size_t)m->nv * sizeof *step);
  // fast: servos meet their ranges
  for (int d = 0; d < m->nv; d++) step[d] = tgt_uniform(&r, -0.03, 0.03);
  tg_model_integrate(m, c->s->start.q, step, c->q);
  tgi_kinematics(m, c->q, &c->s->end);
  assert_true(tgi_joint_take(c->s, h, &c->t));
}

static void unmake(Case *c) {
  tg_sim_free(c->s);
  c->contact.alloc.free(c->contact.alloc.ctx, c->contact.limit_inertia);
  tg_model_free(c->m);
}

// ---- at q' ----

static void retract_end(void *ctx, const tgReal *x, const tgReal *d, tgReal *out) { tg_model_integrate(&((Case *)ctx)->s->m, x, d, out); }

static tgStatus energy(void *ctx, const tgReal *q, tgReal *y) {
  Case *c = ctx;
  tgReal g[MOST] = {0};
  tgi_kinematics(&c->s->m, q, &c->s->end);
  tgi_joint_energy(c->s, &c->s->end, &c->t, g);
  *y = c->t.energy;
  return TG_OK;
}

static void test_gradient(void **state) {
  (void)state;
  for (int k = 0; k < TREES; k++) {
    Case c;
    make(&c, k);
    tgReal g[MOST] = {0};
    tgi_joint_energy(c.s, &c.s->end, &c.t, g);
    tgtDeriv d = {.name = "energy", .nx = c.m->nq, .nt = c.m->nv, .ny = 1, .map = energy, .retract = retract_end,
                  .ctx = &c, .tol = tolerance, .step = 1e-4};
    tgt_check_jacobian(&d, c.q, g);
    unmake(&c);
  }
}

// ---- by the start ----

static void set_start(Case *c, const tgReal *x) {
  const tgModel *m = &c->s->m;
  memcpy(c->s->start.q, x, (size_t)m->nq * sizeof *x);
  memcpy(c->s->start.vel, x + m->nq, (size_t)m->nv * sizeof *x);
  memcpy(c->s->ctrl, x + m->nq + m->nv, (size_t)m->nu * sizeof *x);
}
static tgStatus gradient(void *ctx, const tgReal *x, tgReal *y) {
  Case *c = ctx;
  set_start(c, x);
  for (int d = 0; d < c->m->nv; d++) y[d] = 0;
  tgi_joint_energy(c->s, &c->s->end, &c->t, y);
  return TG_OK;
}
static void retract_start(void *ctx, const tgReal *x, const tgReal *d, tgReal *out) {
  const tgModel *m = &((Case *)ctx)->s->m;
  tg_model_integrate(m, x, d, out);
  for (int i = 0; i < m->nv + m->nu; i++) out[m->nq + i] = x[m->nq + i] + d[m->nv + i];
}

typedef struct Seen { int held, free, sums_held, sums_free; } Seen;

static void count(Case *c, Seen *seen) {
  const tgModel *m = &c->s->m;
  for (int i = 0; i < tgi_line_count(m); i++) {
    tgReal lever;
    tgiLine l = tgi_line(c->s, &c->s->end, i, &c->t);
    for (int k = tgi_line_motor(m, i, -1, &lever); k >= 0; k = tgi_line_motor(m, i, k, &lever)) {
      tgActuatorState a;
      tgi_line_motor_state(c->s, i, k, lever, &l, &c->t, &a, NULL);
      if (m->act_forcelimited[k]) ++*(a.D_length == 0 && a.D_velocity == 0 ? &seen->held : &seen->free);
    }
    if (l.n > 0 && i >= m->nu + m->ntendon) ++*(tgi_line_sum_side(c->s, i, &l, &c->t, NULL) != 0 ? &seen->sums_held : &seen->sums_free);
  }
}

static void test_start(void **state) {
  (void)state;
  Seen seen = {0};
  for (int k = 0; k < TREES; k++) {
    Case c;
    make(&c, k);
    const tgModel *m = &c.s->m;
    int nv = m->nv, nt = 2 * nv + m->nu, clamps = 0;
    tgtRandom r = {.s = (uint64_t)k};
    tgReal x[3 * MOST], z[MOST], zeta[MOST], work[MOST], out[3 * MOST], v[3 * MOST], g[MOST], *B = calloc((size_t)(nv * nt), sizeof *B);
    memcpy(x, c.s->start.q, (size_t)m->nq * sizeof *x);
    memcpy(x + m->nq, c.s->start.vel, (size_t)nv * sizeof *x);
    memcpy(x + m->nq + nv, c.s->ctrl, (size_t)m->nu * sizeof *x);
    assert_int_equal(gradient(&c, x, g), TG_OK);
    count(&c, &seen);
    assert_int_equal(tgi_joint_start_jacobian(c.s, &c.s->end, &c.t, nt, B, &clamps), TG_OK);
    assert_int_equal(clamps, 0);
    for (int trial = 0; trial < 3; trial++) {
      tgt_random_vector(&r, nv, z);
      tgt_random_vector(&r, nt, v);
      for (int i = 0; i < nt; i++) out[i] = 0;
      tgi_joint_rotate(m, c.t.delta, z, false, zeta);
      assert_int_equal(tgi_joint_start_vjp(c.s, &c.s->end, &c.t, z, zeta, work, out, out + nv, out + 2 * nv, &clamps), TG_OK);
      tgt_check_adjoint(B, nv, nt, z, v, out);
    }
    const int cols[3] = {nv, nv, m->nu};
    tgtDeriv d = {.name = "start", .nx = m->nq + nv + m->nu, .nt = nt, .ny = nv, .map = gradient,
                  .retract = retract_start, .ctx = &c, .tol = tolerance, .step = 1e-5, .cols = cols, .ncols = 3};
    tgt_check_jacobian(&d, x, B);
    free(B);
    unmake(&c);
  }
  check_true(seen.held > 4 && seen.free > 4 && seen.sums_held > 4 && seen.sums_free > 4,
             "motors held %d, free %d; sums held %d, free %d", seen.held, seen.free, seen.sums_held, seen.sums_free);
}

#ifndef TG_COMPLEX
// minus the work of a line's motors, from one end to the other, is a plain sum over many points of their force
static void test_work(void **state) {
  (void)state;
  enum { POINTS = 20000 };
  int lines = 0;
  for (int k = 0; k < TREES; k++) {
    Case c;
    make(&c, k);
    const tgModel *m = &c.s->m;
    for (int i = 0; i < tgi_line_count(m); i++) {
      tgReal lever;
      double sum = 0, ends[2] = {-0.2, 0.2};
      tgiLine l[2];
      if (tgi_line_motor(m, i, -1, &lever) < 0) continue;
      // along the line's first dof
      for (int d = 0; d < m->nv; d++) c.t.delta[d] = 0;
      tgi_line(c.s, &c.s->end, i, &c.t);
      int dof = c.t.dof[0];
      double coef = c.t.coef[0], step = (ends[1] - ends[0]) / POINTS;
      for (int p = 0; p < POINTS; p++) {
        c.t.delta[dof] = ends[0] + (p + 0.5) * step;
        sum += tgi_line(c.s, &c.s->end, i, &c.t).slope * coef * step;
      }
      for (int e = 0; e < 2; e++) {
        c.t.delta[dof] = ends[e];
        l[e] = tgi_line(c.s, &c.s->end, i, &c.t);
      }
      double size = fabs(l[0].slope * coef) + fabs(l[1].slope * coef);
      check_true(fabs(l[1].energy - l[0].energy - sum) <= 1e-7 * size, "tree %d line %d: %.12g, a sum gives %.12g", k,
                 i, l[1].energy - l[0].energy, sum);
      lines++;
    }
    unmake(&c);
  }
  assert_true(lines > 5 * TREES);
}
#endif

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_gradient), cmocka_unit_test(test_start),
#ifndef TG_COMPLEX
      cmocka_unit_test(test_work),
#endif
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
