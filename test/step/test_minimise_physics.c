// test_minimise_physics.c: the step of potential models as physics: against impulses as the step size falls,
// momentum, limits, dry friction, spin; what it refuses and how it fails; same bits; the gradient of rollouts
// and the checks of gradients.
#include <stdlib.h>

#include "step/made_up.h"
#include "support/deriv.h"
#include "tangere/grad.h"
#include "tangere/rollout.h"

static tgModel *compile(tgDesc *d) {
  tgError e = {0};
  tgModel *m = tg_model_compile(d, NULL, &e);
  check_true(m != NULL, "%s", e.text);
  tg_desc_free(d);
  return m;
}

static tgSim *sim_of(const tgModel *m, const tgContact *c) {
  tgError e = {0};
  tgSim *s = tg_sim_create(m, c, NULL, &e);
  check_true(s != NULL, "%s", e.text);
  return s;
}

static int add_link(tgDesc *d, int parent, double z) {
  int b = tg_desc_add_body(d, parent, NULL);
  tgBodyDesc *body = &d->body[b];
  body->has_inertial = true;
  body->mass = 1.3;
  body->inertia[0] = 0.02;
  body->inertia[1] = 0.03;
  body->inertia[2] = 0.04;
  body->pos[2] = parent == 0 ? 0 : z;
  body->com[2] = z / 2;
  return b;
}

// a chain: ball, hinge, slide and hinge, with springs and dampers
static tgModel *chain(double frictionloss) {
  tgDesc *d = tg_desc_create(NULL);
  int a = add_link(d, 0, -0.4), b = add_link(d, a, -0.4), c = add_link(d, b, -0.3);
  static const tgJointType type[4] = {TG_JOINT_BALL, TG_JOINT_HINGE, TG_JOINT_SLIDE, TG_JOINT_HINGE};
  const int body[4] = {a, b, b, c};
  for (int i = 0; i < 4; i++) {
    int j = tg_desc_add_joint(d, body[i], type[i], NULL);
    d->joint[j].axis[0] = i == 3 ? 0.6 : 1;
    d->joint[j].axis[1] = i == 3 ? 0.8 : 0;
    d->joint[j].axis[2] = 0;
    d->joint[j].damping = 0.05;
    d->joint[j].armature = 0.01;
    d->joint[j].stiffness = type[i] == TG_JOINT_SLIDE ? 40 : 0.5;
    d->joint[j].frictionloss = frictionloss;
  }
  return compile(d);
}

static tgModel *free_body(double gravity) {
  tgDesc *d = tg_desc_create(NULL);
  int b = add_link(d, 0, -0.4);
  tg_desc_add_joint(d, b, TG_JOINT_FREE, NULL);
  d->option.gravity[2] = gravity;
  return compile(d);
}

static void start(tgSim *s) {
  const tgModel *m = &s->m;
  tgReal step[16] = {0.3, -0.2, 0.5, 0.4, 0.02, -0.3, 0.1};
  tg_sim_reset(s);
  tg_model_integrate(m, s->qpos, step, s->qpos);
  for (int d = 0; d < m->nv; d++) s->qvel[d] = 0.7 * step[m->nv - 1 - d];
}

static void run(tgSim *s, double h, double seconds) {
  start(s);
  for (int k = 0; k < (int)lround(seconds / h); k++) {
    tgStatus status = tg_sim_step(s, h, NULL);
    check_true(status == TG_OK, "step %d: %s", k, s->error.text);
  }
}

// both steps are of first order: their difference halves with h
static void test_as_impulses(void **state) {
  (void)state;
  for (int k = 0; k < 2; k++) {
    tgModel *m = k == 0 ? chain(0) : free_body(-9.81);
    tgContact potential = made_contact(m, false), *lcp = tg_contact_create(m, "lcp", NULL, NULL);
    tgSim *a = sim_of(m, &potential), *b = sim_of(m, lcp);
    double last = 0;
    for (int level = 0; level < 4; level++) {
      double h = 4e-3 / (1 << level), worst = 0;
      tgReal difference[16];
      run(a, h, 0.4);
      run(b, h, 0.4);
      tg_model_difference(m, a->qpos, b->qpos, difference);
      for (int d = 0; d < m->nv; d++) worst = fmax(worst, fabs(tgRe(difference[d])) + fabs(tgRe(a->qvel[d] - b->qvel[d])));
      if (level > 0) check_true(worst < 0.56 * last && worst > 0.44 * last, "model %d: %.3g after %.3g", k, worst, last);
      last = worst;
    }
    assert_true(last < 2e-2);
    tg_sim_free(a);
    tg_sim_free(b);
    tg_contact_free(lcp);
    tg_model_free(m);
  }
}

// without forces the momentum of the discrete step, m (c' - c)/h, stays to round-off, and with them changes by exactly h F
static void test_momentum(void **state) {
  (void)state;
  for (int k = 0; k < 2; k++) {
    double h = 0.01, gravity = k == 0 ? 0 : -9.81;
    tgModel *m = free_body(gravity);
    tgContact c = made_contact(m, false);
    tgSim *s = sim_of(m, &c);
    start(s);
    for (int i = 0; i < 3; i++) s->qvel[3 + i] = 2 - i;
    tgReal w[6], back[7], com[2][3], before[3];
    for (int step = 0; step < 50; step++) {
      for (int d = 0; d < 6; d++) w[d] = -h * s->qvel[d];
      tg_model_integrate(m, s->qpos, w, back);
      tgi_kinematics(&s->m, back, &s->start);
      tgi_v3_copy(com[0], s->start.xcom + 3);
      tgi_kinematics(&s->m, s->qpos, &s->start);
      tgi_v3_copy(com[1], s->start.xcom + 3);
      for (int i = 0; i < 3 && step > 0; i++)
        check_true(fabs(tgRe(com[1][i] - com[0][i]) / h - tgRe(before[i]) - (i == 2 ? h * gravity : 0)) < 1e-12, "step %d", step);
      for (int i = 0; i < 3; i++) before[i] = (com[1][i] - com[0][i]) / h;
      assert_int_equal(tg_sim_step(s, h, NULL), TG_OK);
    }
    tg_sim_free(s);
    tg_model_free(m);
  }
}

// about a principal axis the angle of a step is atan(sin t/(2 - cos t)) after t  [math/barrier Step]
static void test_spin(void **state) {
  (void)state;
  tgModel *m = free_body(0);
  tgContact c = made_contact(m, false);
  tgSim *s = sim_of(m, &c);
  double h = 0.02, t = 0.6;
  // about the centre of mass, which then stays
  s->qvel[5] = t / h;
  for (int k = 0; k < 5; k++) {
    assert_int_equal(tg_sim_step(s, h, NULL), TG_OK);
    t = atan2(sin(t), 2 - cos(t));
    check_true(fabs(tgRe(s->qvel[5]) * h - t) < 1e-12, "%.17g, %.17g", tgRe(s->qvel[5]) * h, t);
  }
  tg_sim_free(s);
  tg_model_free(m);
}

// a hinge falls on its limit and comes to rest before it; the force there holds the weight
static void test_limit(void **state) {
  (void)state;
  tgDesc *d = tg_desc_create(NULL);
  int b = add_link(d, 0, -0.4), j = tg_desc_add_joint(d, b, TG_JOINT_HINGE, NULL);
  d->joint[j].axis[0] = 1;
  d->joint[j].axis[2] = 0;
  d->joint[j].limited = TG_LIMITED_YES;
  d->joint[j].range[0] = 0.4;
  d->joint[j].range[1] = 1.4;
  tgModel *m = compile(d);
  tgContact c = made_contact(m, false);
  tgSim *s = sim_of(m, &c);
  s->qpos[0] = 1.2;
  s->qvel[0] = -9;
  for (int k = 0; k < 400; k++) {
    tgStatus status = tg_sim_step(s, 0.01, NULL);
    check_true(status == TG_OK, "%s", s->error.text);
    assert_true(tgRe(s->qpos[0]) > 0.4 && tgRe(s->qpos[0]) < 1.4);
  }
  // mu b'(x)/width = torque of the weight, 1.3 g 0.2 sin q
  double gap = tgRe(s->qpos[0]) - 0.4, width = 0.1, x = gap / width, l = log(x), y = x - 1,
         mu = tgRe(*tg_sim_param(s, "contact.weight", NULL, NULL));
  double push = -mu / width * (-2 * y * l / x + (l - 1) * y * y / (x * x)), weight = 1.3 * 9.81 * 0.2 * sin(tgRe(s->qpos[0]));
  check_true(fabs(push - weight) < 1e-6 * weight, "gap %g: %g, weight %g", gap, push, weight);
  // outside it is refused by name, and the state stays
  s->qpos[0] = 0.3;
  assert_int_equal(tg_sim_step(s, 0.01, NULL), TG_ERR_INVALID);
  assert_non_null(strstr(tg_sim_error(s)->text, "lower limit"));
  assert_true(tgRe(s->qpos[0]) == 0.3);
  tg_sim_free(s);
  tg_model_free(m);
}

// dry friction: a slide under less force than it can hold creeps at V = eps r/sqrt(1 - r^2), under more it goes with the difference
static void test_dry_friction(void **state) {
  (void)state;
  tgDesc *d = tg_desc_create(NULL);
  int b = add_link(d, 0, -0.4), j = tg_desc_add_joint(d, b, TG_JOINT_SLIDE, NULL);
  d->joint[j].axis[0] = 1;
  d->joint[j].axis[2] = 0;
  d->joint[j].frictionloss = 2;
  tgModel *m = compile(d);
  tgContact c = made_contact(m, false);
  tgSim *s = sim_of(m, &c);
  s->qfrc_applied[0] = 1.2;
  for (int k = 0; k < 300; k++) assert_int_equal(tg_sim_step(s, 0.01, NULL), TG_OK);
  double r = 0.6, creep = tgRe(*tg_sim_param(s, "contact.slip_speed", NULL, NULL)) * r / sqrt(1 - r * r);
  check_true(fabs(tgRe(s->qvel[0]) - creep) < 1e-9, "%g, %g", tgRe(s->qvel[0]), creep);
  s->qvel[0] = 0;
  s->qfrc_applied[0] = 4.6;
  for (int k = 0; k < 100; k++) assert_int_equal(tg_sim_step(s, 0.01, NULL), TG_OK);
  check_true(fabs(tgRe(s->qvel[0]) - (4.6 - 2) / 1.3) < 1e-3, "%g", tgRe(s->qvel[0]));
  tg_sim_free(s);
  tg_model_free(m);
}

// what has no energy, by name
static void test_refused(void **state) {
  (void)state;
  static const char *const names[2] = {"knee", "medium"};
  for (int k = 0; k < 2; k++) {
    tgDesc *d = tg_desc_create(NULL);
    int b = add_link(d, 0, -0.4), j = tg_desc_add_joint(d, b, TG_JOINT_HINGE, "knee");
    double coef = 1;
    int t = tg_desc_add_tendon(d, "rope", &j, &coef, 1);
    d->joint[j].actfrclimited = k == 0 ? TG_LIMITED_YES : TG_LIMITED_NO;
    d->joint[j].actfrcrange[0] = -1;
    d->joint[j].actfrcrange[1] = 1;
    tg_desc_add_actuator(d, TG_TRN_TENDON, t, "pull");
    if (k == 1) d->option.density = 1.2;
    tgModel *m = compile(d);
    tgError e = {0};
    assert_int_equal(tgi_minimise_supports(m, &e), TG_ERR_UNSUPPORTED);
    check_true(strstr(e.text, names[k]) != NULL, "%s", e.text);
    assert_true(k == 1 || strstr(e.text, "pull") != NULL);
    tg_model_free(m);
  }
}

// a body without mass on a joint: named, state unchanged
static void test_singular(void **state) {
  (void)state;
  tgModel *m = chain(0);
  tgContact c = made_contact(m, false);
  tgSim *s = sim_of(m, &c);
  start(s);
  tgReal q[16];
  memcpy(q, s->qpos, (size_t)m->nq * sizeof *q);
  for (int b = 0; b < m->nbody; b++) {
    tg_sim_param(s, "body_mass", NULL, NULL)[b] = 0;
    for (int i = 0; i < 6; i++) tg_sim_param(s, "body_inertia", NULL, NULL)[6 * b + i] = 0;
  }
  for (int i = 0; i < m->nv; i++)
    tg_sim_param(s, "dof_armature", NULL, NULL)[i] = tg_sim_param(s, "dof_damping", NULL, NULL)[i] = 0;
  for (int i = 0; i < m->njnt; i++) tg_sim_param(s, "jnt_stiffness", NULL, NULL)[i] = 0;
  assert_int_equal(tg_sim_step(s, 0.01, NULL), TG_ERR_INVALID);
  assert_memory_equal(q, s->qpos, (size_t)m->nq * sizeof *q);
  tg_sim_free(s);
  tg_model_free(m);
}

// a body on a ball joint that topples onto the limit of its angle, with a barrier so weak that Newton steps go past it, stays inside
static void test_ball_limit(void **state) {
  (void)state;
  tgDesc *d = tg_desc_create(NULL);
  int b = tg_desc_add_body(d, 0, NULL), g = tg_desc_add_geom(d, b, TG_GEOM_BOX, NULL), j = tg_desc_add_joint(d, b, TG_JOINT_BALL, NULL);
  d->joint[j].range[1] = 0.5;
  d->joint[j].limited = true;
  for (int i = 0; i < 3; i++) d->geom[g].size[i] = 0.02 + 0.01 * i;
  d->geom[g].pos[2] = 0.05;
  tgError e = {0};
  tgModel *m = tg_model_compile(d, NULL, &e);
  tg_desc_free(d);
  check_true(m != NULL && m->jnt_limited[0], "%s", e.text);
  tgContact c = made_contact(m, false);
  tgSim *s = sim_of(m, &c);
  s->qpos[0] = cos(0.225);
  s->qpos[1] = sin(0.225);
  double most = 0;
  for (int k = 0; k < 60; k++) {
    tgStatus status = tg_sim_step(s, 0.01, NULL);
    check_true(status == TG_OK, "step %d: %s", k, s->error.text);
    most = fmax(most, 2 * atan2(sqrt(tgRe(s->qpos[1] * s->qpos[1] + s->qpos[2] * s->qpos[2])), tgRe(s->qpos[0])));
  }
  check_true(most > 0.49 && most < 0.5, "%g rad", most);
  tg_sim_free(s);
  tg_model_free(m);
}

// a bound that lets nothing move: the step fails, names a body and leaves the state
static tgStatus stuck(tgSim *s, const tgPose *q, const tgReal *d, double *fraction) {
  (void)s; (void)q; (void)d;
  *fraction = 1e-9;
  return TG_OK;
}
static void test_not_converged(void **state) {
  (void)state;
  tgModel *m = chain(0);
  tgContact c = made_contact(m, false);
  tgLaw potential = free_potential;
  potential.step_bound = stuck;
  tgContactModel kind = free_kind;
  kind.law = &potential;
  c.kind = &kind;
  tgSim *s = sim_of(m, &c);
  start(s);
  tgReal q[16];
  memcpy(q, s->qpos, (size_t)m->nq * sizeof *q);
  tgStepInfo info;
  assert_int_equal(tg_sim_step(s, 0.01, &info), TG_NOT_CONVERGED);
  assert_false(info.converged);
  assert_true(info.body1 > 0);
  assert_non_null(strstr(tg_sim_error(s)->text, "body"));
  assert_memory_equal(q, s->qpos, (size_t)m->nq * sizeof *q);
  assert_int_equal(tg_sim_step_vjp(s, NULL, NULL, NULL, NULL, NULL, NULL, NULL), TG_ERR_STATE);
  tg_sim_free(s);
  tg_model_free(m);
}

// a motor that pushes away from the middle more than inertia holds: at rest in the middle the energy has no minimum, and the label says so
static void test_no_minimum(void **state) {
  (void)state;
  tgDesc *d = tg_desc_create(NULL);
  int b = add_link(d, 0, -0.4), j = tg_desc_add_joint(d, b, TG_JOINT_SLIDE, NULL), a = tg_desc_add_actuator(d, TG_TRN_JOINT, j, NULL);
  d->actuator[a].gear[0] = 1;
  d->actuator[a].bias[1] = 2 * 1.3 / (0.01 * 0.01);
  d->joint[j].axis[0] = 1;
  d->joint[j].axis[2] = 0;
  tgModel *m = compile(d);
  tgContact c = made_contact(m, false);
  tgSim *s = sim_of(m, &c);
  assert_int_equal(tg_sim_step(s, 0.01, NULL), TG_OK);
  tgReal g[2] = {1, 1}, dq[1], dv[1];
  tgGradInfo info;
  assert_int_equal(tg_sim_step_vjp(s, g, g + 1, dq, dv, NULL, NULL, &info), TG_OK);
  assert_int_equal(info.label, TG_GRAD_SURROGATE);
  assert_non_null(strstr(info.reason, "no strict minimum"));
  tg_sim_free(s);
  tg_model_free(m);
}

static void test_same_bits(void **state) {
  (void)state;
  tgModel *m = tgt_random_tree(7, 6, TGT_TREE_FREE | TGT_TREE_PASSIVE | TGT_TREE_ENERGY);
  tgContact c = made_contact(m, true);
  tgSim *a = sim_of(m, &c), *b = sim_of(m, &c);
  for (int k = 0; k < 20; k++) {
    assert_int_equal(tg_sim_step(a, 0.01, NULL), TG_OK);
    // the other is put into the same state each time, after a step from elsewhere
    tgReal *bytes = malloc(tg_sim_snapshot_size(a));
    tg_sim_reset(b);
    assert_int_equal(tg_sim_step(b, 0.02, NULL), TG_OK);
    tg_sim_save(a, bytes);
    assert_int_equal(tg_sim_restore(b, bytes), TG_OK);
    assert_int_equal(tg_sim_step(a, 0.01, NULL), TG_OK);
    assert_int_equal(tg_sim_step(b, 0.01, NULL), TG_OK);
    assert_memory_equal(a->qpos, b->qpos, (size_t)m->nq * sizeof(tgReal));
    assert_memory_equal(a->qvel, b->qvel, (size_t)m->nv * sizeof(tgReal));
    free(bytes);
  }
  tg_sim_free(a);
  tg_sim_free(b);
  tg_model_free(m);
}

// a step that fails, here of a body without inertia, leaves nothing that the next one could find
static void test_after_failure(void **state) {
  (void)state;
  tgDesc *d = tg_desc_create(NULL);
  assert_non_null(d);
  int link = add_link(d, 0, 0);
  tg_desc_add_joint(d, link, TG_JOINT_FREE, NULL);
  tgModel *m = compile(d);
  tgContact c = made_contact(m, false);
  tgSim *a = sim_of(m, &c), *b = sim_of(m, &c);
  tgReal *inertia = tg_sim_param(a, "body_inertia", NULL, NULL), kept[12];
  memcpy(kept, inertia, sizeof kept);
  for (int i = 6; i < 12; i++) inertia[i] = -1;
  for (int i = 0; i < 3; i++) a->qvel[3 + i] = b->qvel[3 + i] = 3 - i;
  assert_int_equal(tg_sim_step(a, 0.01, NULL), TG_ERR_INVALID);
  memcpy(tg_sim_param(a, "body_inertia", NULL, NULL), kept, sizeof kept);
  for (int k = 0; k < 3; k++) {
    tgStatus status = tg_sim_step(a, 0.01, NULL);
    check_true(status == TG_OK, "%s", a->error.text);
    assert_int_equal(tg_sim_step(b, 0.01, NULL), TG_OK);
    assert_memory_equal(a->qpos, b->qpos, (size_t)m->nq * sizeof(tgReal));
    assert_memory_equal(a->qvel, b->qvel, (size_t)m->nv * sizeof(tgReal));
  }
  tg_sim_free(a);
  tg_sim_free(b);
  tg_model_free(m);
}

// the checks that users have, as they find a potential model
static void test_grad_check(void **state) {
  (void)state;
  tgModel *m = tgt_random_tree(9, 5, TGT_TREE_FREE | TGT_TREE_PASSIVE | TGT_TREE_ACTUATED | TGT_TREE_ENERGY);
  tgContact c = made_contact(m, true);
  tgSim *s = sim_of(m, &c);
  tgtRandom r = {.s = 3};
  tgReal step[64];
  for (int d = 0; d < m->nv; d++) step[d] = tgt_uniform(&r, -0.3, 0.3);
  tg_model_integrate(m, s->qpos, step, s->qpos);
  for (int d = 0; d < m->nv; d++) s->qvel[d] = tgt_uniform(&r, -0.5, 0.5);
  tgGradCheckOptions o = tg_grad_check_default();
  o.h = 0.01;
  tgGradCheck check = {0};
  tgStatus status = tg_grad_check_step(s, &o, &check);
  check_true(status == TG_OK, "%s", s->error.text);
  for (int i = 0; i < check.nblock; i++)
    check_true(check.block[i].pass, "%s: %.3g (%s)", check.block[i].name, check.block[i].error, check.block[i].reason);
  check = (tgGradCheck){0};
  status = tg_grad_check_parameters(s, &o, &check);
  check_true(status == TG_OK, "%s", s->error.text);
  for (int i = 0; i < check.nblock; i++)
    check_true(check.block[i].pass, "%s: %.3g (%s)", check.block[i].name, check.block[i].error, check.block[i].reason);
  tg_sim_free(s);
  tg_model_free(m);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_as_impulses), cmocka_unit_test(test_momentum),
                                     cmocka_unit_test(test_spin), cmocka_unit_test(test_limit),
                                     cmocka_unit_test(test_dry_friction), cmocka_unit_test(test_refused),
                                     cmocka_unit_test(test_singular), cmocka_unit_test(test_ball_limit),
                                     cmocka_unit_test(test_not_converged), cmocka_unit_test(test_no_minimum),
                                     cmocka_unit_test(test_same_bits), cmocka_unit_test(test_after_failure),
                                     cmocka_unit_test(test_grad_check)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
