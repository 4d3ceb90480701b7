// test_sensors.c: derivatives of every kind of sensor by differences, cutoffs, accelerations of a step, refusals. Values are compared with
// MuJoCo's in test/peer/test_mujoco_sensors.py.
#include <stdlib.h>

#include "support/deriv.h"
#include "support/rig.h"
#include "support/tree.h"
#include "sensor/sensor.h"
#include "tangere/sensor.h"
#include "tangere/step.h"

#ifdef TG_COMPLEX
static const double tolerance = 1e-11;
#else
static const double tolerance = 2e-7;
#endif
enum { MANY = 512 };

// a floating base with a ball, a slide and two hinges on it, one of them with a limit that is overstepped
#define SCENE \
  "<mujoco><option gravity='1 -2 -9'/><worldbody>" \
  "<site name='w' pos='.3 .1 .5' quat='.8 .2 .1 .5'/><geom name='g0' type='sphere' size='.1' pos='1 1 1' quat='.5 .5 .1 .3'/>" \
  "<body name='a' pos='0 0 1'><freejoint/><inertial pos='.1 .02 .03' mass='2' fullinertia='.3 .4 .5 .02 .03 .01'/>" \
  "<site name='s' pos='.1 .2 -.1' euler='10 20 30'/>" \
  "<body name='b' pos='.2 0 .1' euler='20 0 40'><joint name='ball' type='ball' pos='.05 0 0'/>" \
  "<geom name='g1' type='box' size='.1 .2 .1' pos='0 .1 .1' euler='0 30 0' density='400'/>" \
  "<body name='c' pos='0 .3 0'><joint name='slide' type='slide' axis='1 1 0'/><joint name='hinge' axis='0 1 1' range='20 50'/>" \
  "<geom type='capsule' size='.05 .2' density='600'/><site name='t' pos='.1 0 .3' euler='40 0 10'/>" \
  "<body name='d' pos='.3 0 0'><joint name='last' axis='1 0 0' actuatorfrcrange='-100 100'/><geom size='.1' pos='.1 .2 0'/></body>" \
  "</body></body></body></worldbody>" \
  "<tendon><fixed name='ten' limited='true' range='3 5'><joint joint='hinge' coef='1.5'/><joint joint='last' coef='-.7'/></fixed>" \
  "</tendon>" \
  "<actuator><general name='m0' joint='hinge' gear='2' gaintype='affine' gainprm='1 .3 .2' biastype='affine' biasprm='.1 -2 -.4'/>" \
  "<general name='m1' joint='ball' gear='1 2 3' biastype='affine' biasprm='.1 -2 -.4' dyntype='filter' dynprm='.3'/>" \
  "<position name='m2' tendon='ten' kp='3'/><motor name='m3' joint='last' gear='3'/></actuator><sensor>" \
  "<jointpos joint='slide'/><jointvel joint='hinge'/><jointlimitpos joint='hinge'/><jointlimitvel joint='hinge'/>" \
  "<jointactuatorfrc joint='last'/><jointactuatorfrc joint='hinge'/><ballquat joint='ball'/><ballangvel joint='ball'/>" \
  "<tendonpos tendon='ten'/><tendonvel tendon='ten'/><tendonlimitpos tendon='ten'/><tendonlimitvel tendon='ten'/>" \
  "<tendonactuatorfrc tendon='ten'/><actuatorpos actuator='m1'/><actuatorpos actuator='m2'/><actuatorvel actuator='m1'/>" \
  "<actuatorvel actuator='m2'/><actuatorfrc actuator='m0'/><actuatorfrc actuator='m1'/><actuatorfrc actuator='m2'/>" \
  "<accelerometer name='acc' site='t'/><accelerometer site='s'/><velocimeter site='t'/><gyro site='t'/>" \
  "<subtreecom body='a'/><subtreelinvel body='b'/><subtreeangmom body='b'/><subtreeangmom body='world'/>" \
  FRAMES("body", "c", "framepos", "site", "s") FRAMES("xbody", "d", "framequat", "xbody", "b") \
  FRAMES("site", "t", "framexaxis", "geom", "g1") FRAMES("geom", "g1", "frameyaxis", "site", "w") \
  FRAMES("site", "t", "framezaxis", "xbody", "a") FRAMES("body", "d", "framelinvel", "site", "s") \
  FRAMES("site", "t", "frameangvel", "geom", "g1") \
  "<framelinacc objtype='body' objname='d'/><framelinacc objtype='site' objname='t'/><frameangacc objtype='geom' objname='g1'/>" \
  "<framepos objtype='xbody' objname='d' cutoff='.3' name='cut'/></sensor></mujoco>"
#define FRAMES(kind, name, word, ref, refname) \
  "<" word " objtype='" kind "' objname='" name "'/>" \
  "<" word " objtype='" kind "' objname='" name "' reftype='" ref "' refname='" refname "'/>"

typedef struct Ctx { tgSim *s; const tgReal *qacc; } Ctx;

static tgStatus of_q(void *ctx, const tgReal *x, tgReal *y) {
  const Ctx *c = ctx;
  tg_sim_set_state(c->s, x, NULL);
  return tg_sim_sensors(c->s, c->qacc, y);
}
static tgStatus of_v(void *ctx, const tgReal *x, tgReal *y) {
  const Ctx *c = ctx;
  tg_sim_set_state(c->s, NULL, x);
  return tg_sim_sensors(c->s, c->qacc, y);
}
static tgStatus of_u(void *ctx, const tgReal *x, tgReal *y) {
  const Ctx *c = ctx;
  for (int i = 0; i < c->s->m.nu; i++) c->s->ctrl[i] = x[i];
  return tg_sim_sensors(c->s, c->qacc, y);
}
static tgStatus of_a(void *ctx, const tgReal *x, tgReal *y) { return tg_sim_sensors(((Ctx *)ctx)->s, x, y); }
static void retract(void *ctx, const tgReal *x, const tgReal *d, tgReal *out) {
  tg_model_integrate(((Ctx *)ctx)->s->model, x, d, out);
}

static void test_derivatives(void **state) {
  (void)state;
  Rig r = rig_of_text(SCENE, NULL, NULL);
  tgSim *s = r.s;
  tgtRandom random = {3};
  int nv = s->m.nv, nw = nv + s->m.na, nu = s->m.nu, n = tg_model_nsensordata(r.m);
  size_t N = (size_t)n;
  tgReal q[32], w[32], u[8], a[32];
  tgReal *Dq = calloc(N * 32, sizeof *Dq), *Dv = calloc(N * 32, sizeof *Dv), *Du = calloc(N * 8, sizeof *Du);
  tgReal *Da = calloc(N * 32, sizeof *Da);
  assert_true(n > 100 && n < MANY && nw == nv + 1 && Dq != NULL && Dv != NULL && Du != NULL && Da != NULL);
  for (int trial = 0; trial < 4; trial++) {
    Ctx c = {.s = s, .qacc = a};
    tgt_random_state(s, &random, false);
    s->act[0] = 0.3 + 0.2 * trial;
    tgt_random_vector(&random, nv, a);
    tg_sim_state(s, q, w);
    for (int i = 0; i < nu; i++) u[i] = s->ctrl[i];
    assert_int_equal(tg_sim_sensors_d(s, a, Dq, Dv, Du, Da), TG_OK);
    tgtDeriv d = {.name = "d/dq", .nx = s->m.nq, .nt = nv, .ny = n, .map = of_q, .retract = retract, .ctx = &c, .tol = tolerance,
                  .step = 1e-4};
    tgt_check_jacobian(&d, q, Dq);
    tg_sim_set_state(s, q, w);
    d = (tgtDeriv){.name = "d/d(v, act)", .nx = nw, .ny = n, .map = of_v, .ctx = &c, .tol = tolerance};
    tgt_check_jacobian(&d, w, Dv);
    tg_sim_set_state(s, q, w);
    d = (tgtDeriv){.name = "d/du", .nx = nu, .ny = n, .map = of_u, .ctx = &c, .tol = tolerance};
    tgt_check_jacobian(&d, u, Du);
    of_u(&c, u, (tgReal[MANY]){0});
    d = (tgtDeriv){.name = "d/dqacc", .nx = nv, .ny = n, .map = of_a, .ctx = &c, .tol = tolerance};
    tgt_check_jacobian(&d, a, Da);
  }
  free(Dq);
  free(Dv);
  free(Du);
  free(Da);
  drop(&r);
}

// each kind of sensor is in the scene
static void test_every_kind(void **state) {
  (void)state;
  Rig r = rig_of_text(SCENE, NULL, NULL);
  int seen[TG_SENSOR_COUNT] = {0}, end = 0;
  for (int i = 0; i < tg_model_count(r.m, TG_THING_SENSOR); i++) {
    tgSensorType type;
    int adr, width;
    assert_int_equal(tg_model_sensor(r.m, i, &type, &adr, &width), TG_OK);
    assert_int_equal(adr, end);
    assert_int_equal(width, tg_sensor_width(type));
    end += width;
    seen[type]++;
  }
  assert_int_equal(end, tg_model_nsensordata(r.m));
  for (int k = 0; k < TG_SENSOR_TOUCH; k++) check_true(seen[k] > 0, "no %s", tg_sensor_word((tgSensorType)k));
  assert_null(tg_sensor_word(TG_SENSOR_COUNT));
  assert_int_equal(tg_model_sensor(r.m, 1000, NULL, NULL, NULL), TG_ERR_ARG);
  drop(&r);
}

static void test_cutoff(void **state) {
  (void)state;
  Rig r = rig_of_text(SCENE, NULL, NULL);
  tgReal a[32] = {0}, y[MANY], D[MANY * 32];
  int adr;
  tg_model_sensor(r.m, tg_model_find(r.m, TG_THING_SENSOR, "cut"), NULL, &adr, NULL);
  assert_int_equal(tg_sim_sensors(r.s, a, y), TG_OK);
  assert_int_equal(tg_sim_sensors_d(r.s, a, D, NULL, NULL, NULL), TG_OK);
  assert_true(tgRe(y[adr + 2]) == 0.3);   // it is a metre up
  for (int j = 0; j < r.s->m.nv; j++) assert_true(tgZero(D[(adr + 2) * r.s->m.nv + j]));
  drop(&r);
}

// Accelerations of a step, which stays differentiable; and what cannot be told.
static void test_of_a_step(void **state) {
  (void)state;
  Rig r = rig_of_text(SCENE, NULL, NULL);
  int nv = r.s->m.nv;
  tgReal y[MANY], z[MANY], a[32], before[32], one[64] = {0}, two[64] = {0}, gq[32] = {1}, gv[32] = {1};
  assert_int_equal(tg_sim_sensors(r.s, NULL, y), TG_ERR_STATE);
  check_true(strstr(tg_sim_error(r.s)->text, "sensor 'acc'") != NULL, "%s", tg_sim_error(r.s)->text);
  for (int d = 0; d < nv; d++) before[d] = r.s->qvel[d];
  assert_int_equal(tg_sim_step(r.s, 0.01, NULL), TG_OK);
  assert_int_equal(tg_sim_step_vjp(r.s, gq, gv, one, one + 32, NULL, NULL, NULL), TG_OK);
  assert_int_equal(tg_sim_sensors(r.s, NULL, y), TG_OK);
  for (int d = 0; d < nv; d++) a[d] = (r.s->qvel[d] - before[d]) / 0.01;
  assert_int_equal(tg_sim_sensors(r.s, a, z), TG_OK);
  tgt_check_near(y, z, tg_model_nsensordata(r.m), 1e-12);
  assert_int_equal(tg_sim_step_vjp(r.s, gq, gv, two, two + 32, NULL, NULL, NULL), TG_OK);
  tgt_check_near(one, two, 64, 0);
  r.s->qvel[0] += 1e-9;   // another state: the step's accelerations are not its own
  assert_int_equal(tg_sim_sensors(r.s, NULL, y), TG_ERR_STATE);
  check_true(strstr(tg_sim_error(r.s)->text, "its state unchanged") != NULL, "%s", tg_sim_error(r.s)->text);
  assert_int_equal(tg_sim_sensors(r.s, a, z), TG_OK);
  a[0] = NAN;
  assert_int_equal(tg_sim_sensors(r.s, a, z), TG_ERR_NOT_FINITE);
  r.s->qpos[0] = NAN;
  assert_int_equal(tg_sim_sensors(r.s, NULL, z), TG_ERR_NOT_FINITE);
  drop(&r);
}

// a block of 2 kg stands on the floor and is pulled along it: its corners share its weight
static void test_touch(void **state) {
  (void)state;
  Rig r = rig_of_text(
      "<mujoco><option gravity='0 0 -10'/><worldbody><geom type='plane' size='3 3 1'/><body name='b' pos='0 0 .1'><freejoint/>"
      "<geom type='box' size='.3 .2 .1' mass='2'/><site name='all' type='box' size='.4 .3 .2'/><site name='none' pos='0 0 .3' size='.15'/>"
      "<site name='c0' pos='.3 .2 -.2' size='.05'/><site name='c1' pos='.3 -.2 -.2' type='cylinder' size='.05 .05'/>"
      "<site name='c2' pos='-.3 .2 -.2' type='capsule' size='.05 .05'/>"
      "<site name='c3' pos='-.3 -.2 -.2' type='ellipsoid' size='.05 .06 .07'/>"
      "</body></worldbody><sensor><touch site='all'/><touch site='none'/><touch site='c0'/><touch site='c1'/><touch site='c2'/>"
      "<touch site='c3'/><touch site='all' cutoff='3'/><force site='all'/><torque site='all'/></sensor></mujoco>", "lcp", NULL);
  tgReal y[16], D[16 * 6];
  assert_int_equal(tg_sim_sensors(r.s, NULL, y), TG_OK);
  for (int k = 0; k < 13; k++) assert_true(isnan(tgRe(y[k])));   // no step yet; a cutoff leaves it so
  for (int t = 0; t < 200; t++) assert_int_equal(tg_sim_step_growing(r.s, 0.005, NULL), TG_OK);
  assert_int_equal(tg_sim_sensors(r.s, NULL, y), TG_OK);
  check_close(y[0], 20, 1e-8);
  check_close(y[1], 0, 0);
  check_close(y[2] + y[3] + y[4] + y[5], 20, 1e-8);
  for (int k = 2; k < 6; k++) assert_true(tgRe(y[k]) > 0);
  check_close(y[6], 3, 0);
  for (int k = 7; k < 13; k++) check_close(y[k], 0, 1e-8);   // nothing holds a free body
  assert_int_equal(tg_sim_sensors_d(r.s, NULL, D, NULL, NULL, NULL), TG_OK);
  assert_true(isnan(tgRe(D[0])));
  const tgReal up = r.s->qpos[2];
  r.s->qpos[2] += 1;   // lifted: the step's forces are not those of this state; put back, they are
  assert_int_equal(tg_sim_sensors(r.s, NULL, y), TG_OK);
  for (int k = 0; k < 13; k++) assert_true(isnan(tgRe(y[k])));
  r.s->qpos[2] = up;
  assert_int_equal(tg_sim_sensors(r.s, NULL, y), TG_OK);
  check_close(y[0], 20, 1e-8);
  drop(&r);
}

static double inside(int type, const double z[3], const double x[3]) {
  double r = hypot(x[0], x[1]);
  switch (type) {
    case TG_GEOM_SPHERE: return hypot(r, x[2]) / z[0];
    case TG_GEOM_CYLINDER: return fmax(r / z[0], fabs(x[2]) / z[1]);
    case TG_GEOM_CAPSULE: return hypot(r, fmax(0, fabs(x[2]) - z[1])) / z[0];
    case TG_GEOM_BOX: return fmax(fabs(x[0]) / z[0], fmax(fabs(x[1]) / z[1], fabs(x[2]) / z[2]));
    default: return sqrt(x[0] * x[0] / z[0] / z[0] + x[1] * x[1] / z[1] / z[1] + x[2] * x[2] / z[2] / z[2]);
  }
}

// half lines against points along them
static void test_half_lines(void **state) {
  (void)state;
  static const int type[] = {TG_GEOM_SPHERE, TG_GEOM_CAPSULE, TG_GEOM_ELLIPSOID, TG_GEOM_CYLINDER, TG_GEOM_BOX};
  tgtRandom r = {11};
  int met[2] = {0};
  for (int trial = 0; trial < 4000; trial++) {
    const double z[3] = {tgt_uniform(&r, 0.2, 1), tgt_uniform(&r, 0.2, 1), tgt_uniform(&r, 0.2, 1)};
    double p[3], d[3], best = INFINITY;
    for (int k = 0; k < 3; k++) {
      p[k] = tgt_uniform(&r, -2, 2);
      d[k] = trial % 4 == k ? 0 : tgt_uniform(&r, -1, 1);
    }
    double length = sqrt(d[0] * d[0] + d[1] * d[1] + d[2] * d[2]);
    for (int i = 0; i <= 1000; i++) {
      double x[3];
      for (int k = 0; k < 3; k++) x[k] = p[k] + 0.006 * i * d[k] / length;
      best = fmin(best, inside(type[trial % 5], z, x));
    }
    if (fabs(best - 1) < 0.02) continue;
    bool meets = tgi_meets_shape(type[trial % 5], z, p, d);
    check_true(meets == (best < 1), "trial %d, shape %d: %g", trial, type[trial % 5], best);
    met[meets]++;
  }
  check_true(met[0] > 500 && met[1] > 200, "%d missed, %d met", met[0], met[1]);
}

static void refused(tgDesc *d, tgSensorType type, int object, tgFrameKind frame, const char *text) {
  tgError e = {0};
  int i = tg_desc_add_sensor(d, type, object, "bad");
  if (frame != TG_FRAME_NONE) d->sensor[i].frame = frame;
  assert_null(tg_model_compile(d, NULL, &e));
  check_true(strstr(e.text, "sensor 'bad'") != NULL && strstr(e.text, text) != NULL, "%s", e.text);
  d->nsensor--;
}

static void test_refusals(void **state) {
  (void)state;
  tgDesc *d = tg_desc_create(NULL);
  int b = tg_desc_add_body(d, 0, "b");
  d->body[b].has_inertial = true;
  d->body[b].mass = 1;
  for (int k = 0; k < 3; k++) d->body[b].inertia[k] = 1;
  tg_desc_add_joint(d, b, TG_JOINT_BALL, "j");
  refused(d, TG_SENSOR_JOINTPOS, 0, TG_FRAME_NONE, "hinge or slide");
  refused(d, TG_SENSOR_BALLQUAT, 1, TG_FRAME_NONE, "does not exist");
  refused(d, TG_SENSOR_GYRO, 0, TG_FRAME_NONE, "does not exist");
  refused(d, TG_SENSOR_FRAMEQUAT, 1, TG_FRAME_COM, "xbody");
  refused(d, TG_SENSOR_FRAMEPOS, 2, TG_FRAME_BODY, "does not exist");
  refused(d, TG_SENSOR_COUNT, 0, TG_FRAME_NONE, "unknown type");
  int i = tg_desc_add_sensor(d, TG_SENSOR_FRAMELINACC, b, "acc");
  d->sensor[i].ref_frame = TG_FRAME_BODY;
  d->sensor[i].ref = 0;
  assert_null(tg_model_compile(d, NULL, NULL));
  tg_desc_free(d);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_derivatives), cmocka_unit_test(test_every_kind), cmocka_unit_test(test_cutoff),
                                     cmocka_unit_test(test_of_a_step), cmocka_unit_test(test_touch),
                                     cmocka_unit_test(test_half_lines), cmocka_unit_test(test_refusals)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
