// test_equality.c: what connects and welds do to a mechanism that nothing else holds: whatever their error, their forces are equal and
// opposite at one point, so that they give it neither momentum nor a turn.
#include <math.h>
#include <string.h>

#include "base/random.h"
#include "joint/joint.h"
#include "kin/kinematics.h"
#include "sim/row.h"
#include "step/step.h"
#include "support/rig.h"
#include "tangere/step.h"

static const double h = 0.004;
enum { STATES = 6, DOFS = 16, PLACES = 19 };

// a base with an arm on a hinge and one on a ball joint, whose ends a body that floats is pinned and welded to
static const char *const mechanism =
    "<mujoco><option gravity='0 0 0'/><default><geom contype='0' conaffinity='0'/></default><worldbody>"
    "<body pos='.2 -.1 .5' euler='20 10 5'><freejoint/><geom type='box' size='.1 .06 .04' mass='1'/>"
    "<body name='arm' pos='.1 0 0'><joint axis='0 1 .2'/><geom type='capsule' size='.02' fromto='0 0 0 .3 .02 -.1' mass='.3'/></body>"
    "<body name='other' pos='-.1 0 0'><joint type='ball'/><geom type='capsule' size='.02' fromto='0 0 0 -.1 .2 .1' mass='.4'/></body>"
    "</body><body name='float' pos='.6 0 .4' euler='0 40 10'><freejoint/><geom type='box' size='.05 .1 .08' pos='.02 0 .01' mass='.7'/>"
    "</body></worldbody><equality><connect body1='arm' body2='float' anchor='.3 .02 -.1'/>"
    "<weld body1='other' body2='float' anchor='.05 .02 .03'/></equality></mujoco>";

typedef struct Momentum { double linear[3], angular[3], size; } Momentum;   // about the world's origin; size: the sum of what is summed

// By each body's mass, centre of mass, inertia in its own axes and velocity.
static Momentum momentum(tgSim *s, const tgReal *q, const tgReal *u) {
  const tgModel *m = &s->m;
  Momentum sum = {0};
  tgi_kinematics(m, q, &s->trial);
  for (int b = 1; b < m->nbody; b++) {
    const tgReal *I = m->body_inertia + 6 * b, *R = s->trial.xmat + 9 * b, *c = s->trial.xcom + 3 * b;
    tgReal full[9] = {I[0], I[3], I[4], I[3], I[1], I[5], I[4], I[5], I[2]}, V[6], v[3], p[3], w[3], L[3], x[3];
    tgi_body_velocity(s, &s->trial, b, u, V);
    tgi_sp_point_velocity(v, V, c);
    tgi_v3_scale(p, v, m->body_mass[b]);
    tgi_m3_tmulv(w, R, V);
    tgi_m3_mulv(x, full, w);
    tgi_m3_mulv(L, R, x);
    tgi_v3_cross(x, c, p);
    for (int i = 0; i < 3; i++) {
      sum.linear[i] += tgRe(p[i]);
      sum.angular[i] += tgRe(L[i] + x[i]);
      sum.size += fabs(tgRe(p[i])) + fabs(tgRe(L[i])) + fabs(tgRe(x[i]));
    }
  }
  return sum;
}

static Rig made(const char *word, const char *settings) {
  tgAnyContactOptions o = options_of(word, settings);
  return rig_of_text(mechanism, word, &o.of);
}

// A state about the drawn one, where anchors meet: off by about that error.
static void draw(tgSim *s, tgtRandom *r, double error, double speed, tgReal *q) {
  const tgModel *m = &s->m;
  tgReal w[DOFS];
  assert_true(m->nv == DOFS && m->nq == PLACES);
  tg_sim_reset(s);
  for (int d = 0; d < m->nv; d++) {
    w[d] = error * tgt_uniform(r, -1, 1);
    s->qvel[d] = speed * tgt_uniform(r, -1, 1);
  }
  tg_model_integrate(m, s->qpos, w, q);
  memcpy(s->qpos, q, (size_t)m->nq * sizeof *q);
}

static void expect_none(const Momentum *k, const char *what, double error) {
  check_true(k->size > 0, "%s: errors of %g move nothing", what, error);
  for (int i = 0; i < 3; i++)
    check_true(fabs(k->linear[i]) <= 1e-12 * k->size && fabs(k->angular[i]) <= 1e-12 * k->size,
               "%s, errors of %g: momentum %g, angular %g of %g", what, error, k->linear[i], k->angular[i], k->size);
}

static const double errors[] = {1e-5, 1e-3, 1e-1};

// From rest, what errors are moved apart by has no momentum, as velocity and as a move of positions.
static void test_push_has_no_momentum(void **state) {
  (void)state;
  static const char *const kind[3][2] = {{"lcp", "contact_rule=touching"}, {"lcp", "contact_rule=closing"}, {"toi", ""}};
  for (int k = 0; k < 3; k++) {
    Rig r = made(kind[k][0], kind[k][1]);
    tgtRandom rnd = {.s = 5};
    for (int trial = 0; trial < 3 * STATES; trial++) {
      tgReal q[PLACES];
      tgStepInfo info;
      draw(r.s, &rnd, errors[trial % 3], 0, q);
      assert_int_equal(tg_sim_step_growing(r.s, h, &info), TG_OK);
      assert_true(info.converged);
      Momentum sum = momentum(r.s, q, k == 0 ? r.s->qvel : r.s->rows->mean);
      expect_none(&sum, k == 0 ? "velocity" : "positions", errors[trial % 3]);
    }
    drop(&r);
  }
}

// Of a motion, the impulses by which velocities differ from those of the free motion.
static void test_impulses_have_no_momentum(void **state) {
  (void)state;
  Rig r = made("lcp", "contact_rule=touching");
  tgtRandom rnd = {.s = 7};
  for (int trial = 0; trial < 3 * STATES; trial++) {
    tgReal q[PLACES], u[DOFS];
    draw(r.s, &rnd, errors[trial % 3], 3, q);
    assert_int_equal(tg_sim_step_growing(r.s, h, NULL), TG_OK);
    for (int d = 0; d < DOFS; d++) u[d] = r.s->qvel[d] - r.s->vhat[d];
    Momentum sum = momentum(r.s, q, u);
    expect_none(&sum, "impulses", errors[trial % 3]);
  }
  drop(&r);
}

// A mechanism that turns as one rigid thing, its errors with it, is no motion of its equalities.
static void test_turn_of_the_whole(void **state) {
  (void)state;
  Rig r = made("lcp", "contact_rule=touching");
  tgtRandom rnd = {.s = 9};
  for (int trial = 0; trial < 3 * STATES; trial++) {
    const tgModel *m = &r.s->m;
    tgReal q[PLACES], u[DOFS] = {0}, V[6];
    draw(r.s, &rnd, errors[trial % 3], 0, q);
    assert_int_equal(tg_sim_step_growing(r.s, h, NULL), TG_OK);
    tgi_kinematics(m, q, &r.s->trial);
    for (int i = 0; i < 6; i++) V[i] = tgt_uniform(&rnd, -1, 1);
    for (int j = 0; j < m->njnt; j++) {
      if (m->jnt_type[j] != TG_JOINT_FREE) continue;
      int d = m->jnt_vadr[j], b = m->jnt_body[j];
      tgi_sp_point_velocity(u + d, V, r.s->trial.xpos + 3 * b);
      tgi_m3_tmulv(u + d + 3, r.s->trial.xmat + 9 * b, V);
    }
    for (int b = 1; b < m->nbody; b++) {
      tgReal of[6];
      tgi_body_velocity(r.s, &r.s->trial, b, u, of);
      for (int i = 0; i < 6; i++) check_close(tgRe(of[i]), tgRe(V[i]), 1e-13);
    }
    assert_true(r.s->nrow == 9);
    for (int i = 0; i < r.s->nrow; i++) check_close(tgRe(tgi_row_dot(r.s, r.s->rows->J, i, u)), 0, 1e-13);
  }
  drop(&r);
}

// Errors are still removed: at `closing` and `toi` within a step up to the second order, at `touching` by a share.
static void test_errors_are_removed(void **state) {
  (void)state;
  static const char *const kind[3][2] = {{"lcp", "contact_rule=touching"}, {"lcp", "contact_rule=closing"}, {"toi", ""}};
  for (int k = 0; k < 3; k++) {
    Rig r = made(kind[k][0], kind[k][1]);
    tgtRandom rnd = {.s = 11};
    tgReal q[PLACES];
    double worst = 0;
    draw(r.s, &rnd, 0.03, 0, q);
    for (int t = 0; t < 200; t++) assert_int_equal(tg_sim_step_growing(r.s, h, NULL), TG_OK);
    tgi_kinematics(&r.s->m, r.s->qpos, &r.s->start);
    for (int e = 0; e < r.m->neq; e++) {
      tgiBond b;
      tgi_bond(r.s, &r.s->start, e, &b);
      for (int i = 0; i < 3; i++) worst = fmax(worst, fmax(fabs(tgRe(b.pa[i] - b.pb[i])), fabs(tgRe(b.theta[i]))));
    }
    check_true(worst < 1e-5, "%s %s: still off by %g", kind[k][0], kind[k][1], worst);
    drop(&r);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_push_has_no_momentum), cmocka_unit_test(test_impulses_have_no_momentum),
                                     cmocka_unit_test(test_turn_of_the_whole), cmocka_unit_test(test_errors_are_removed)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
