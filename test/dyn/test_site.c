// test_site.c: actuators that push at sites: derivatives of their forces and of steps with them by differences, adjoints, closed forms,
// refusals. Lengths, speeds and forces are compared with MuJoCo's in test/peer/test_mujoco_sensors.py.
#include <string.h>

#include "dyn/dynamics.h"
#include "support/deriv.h"
#include "support/rig.h"
#include "support/tree.h"
#include "tangere/grad.h"
#include "tangere/step.h"

#ifdef TG_COMPLEX
static const double tolerance = 1e-11;
#else
static const double tolerance = 2e-7;
#endif
enum { NMAX = 32 };

// one on a floating body, servos against a site of the world and of a body that carries it, one against a site that it carries
#define SCENE \
  "<mujoco><option timestep='.005' gravity='0 0 -3'/><worldbody><site name='w' pos='.3 .1 .5' quat='.8 .2 .1 .5'/>" \
  "<geom name='floor' type='plane' size='1 1 1'/><body name='a' pos='0 0 FALL'><freejoint/><geom size='.2' mass='2'/>" \
  "<site name='s' pos='.1 .2 -.1' euler='10 20 30'/><body name='b' pos='.2 0 .1' euler='20 0 40'>" \
  "<joint name='ball' type='ball' pos='.05 0 0'/><geom type='capsule' size='.05 .1' pos='0 .1 .1' mass='.5'/>" \
  "<body name='c' pos='0 .3 0'><joint name='slide' type='slide' axis='1 1 0'/>" \
  "<joint name='hinge' axis='0 1 1' actuatorfrcrange='-50 50'/><geom size='.05' mass='.4'/><site name='t' pos='.1 0 .3' euler='40 0 10'/>" \
  "</body></body></body></worldbody><actuator><motor site='s' gear='1 2 3 .1 .2 .3'/>" \
  "<general site='t' refsite='w' gear='.4 .5 1 0 .2 .1' gaintype='affine' gainprm='1 .3 .2' biastype='affine' biasprm='.1 -2 -.4'/>" \
  "<position site='t' refsite='s' gear='0 0 0 1 0 .5' kp='2' kv='.3'/><position site='s' refsite='t' gear='0 1 0' kp='3'/>" \
  "<general site='t' gear='0 0 1' biastype='affine' biasprm='0 0 -.2' forcerange='-.1 .1'/></actuator></mujoco>"

typedef struct Ctx { tgSim *s; } Ctx;

static const char *scene(const char *height) {
  static char text[4096];
  const char *fall = strstr(SCENE, "FALL");
  snprintf(text, sizeof text, "%.*s%s%s", (int)(fall - SCENE), SCENE, height, fall + 4);
  return text;
}

static void retract(void *ctx, const tgReal *x, const tgReal *d, tgReal *out) {
  tg_model_integrate(((Ctx *)ctx)->s->model, x, d, out);
}
static tgStatus forces(tgSim *s, const tgReal *q, const tgReal *v, tgReal *y) {
  tgt_prepare(s, q, v);
  tgi_actuation(s, &s->start);
  for (int i = 0; i < s->m.nv; i++) y[i] = s->qfrc_actuator[i];
  return TG_OK;
}
static tgStatus of_q(void *ctx, const tgReal *x, tgReal *y) { return forces(((Ctx *)ctx)->s, x, ((Ctx *)ctx)->s->qvel, y); }
static tgStatus of_v(void *ctx, const tgReal *x, tgReal *y) { return forces(((Ctx *)ctx)->s, ((Ctx *)ctx)->s->qpos, x, y); }
static tgStatus of_u(void *ctx, const tgReal *x, tgReal *y) {
  tgSim *s = ((Ctx *)ctx)->s;
  for (int i = 0; i < s->m.nu; i++) s->ctrl[i] = x[i];
  return forces(s, s->qpos, s->qvel, y);
}

static void test_forces(void **state) {
  (void)state;
  Rig r = rig_of_text(scene("3"), NULL, NULL);
  tgSim *s = r.s;
  Ctx c = {s};
  tgtRandom random = {7};
  int nv = s->m.nv, nu = s->m.nu, held = 0;
  for (int trial = 0; trial < 6; trial++) {
    tgReal Dq[NMAX * NMAX], Dv[NMAX * NMAX], Du[NMAX * NMAX], w[NMAX], v[NMAX], u[NMAX], gq[NMAX] = {0}, gv[NMAX] = {0}, gu[NMAX] = {0};
    int clamps = 0;
    tgt_random_state(s, &random, false);
    for (int i = 0; i < nu; i++) u[i] = s->ctrl[i];
    tgt_prepare(s, s->qpos, s->qvel);
    tgi_actuation(s, &s->start);
    held += fabs(tgRe(s->act_force[nu - 1])) == 0.1;
    assert_int_equal(tgi_forces_d(s, &s->start, Dq, Dv, Du, &clamps), TG_OK);
    tgt_random_vector(&random, nv, w);
    tgt_random_vector(&random, nv, v);
    assert_int_equal(tgi_forces_vjp(s, &s->start, NULL, w, gq, gv, gu, NULL, &clamps), TG_OK);
    tgt_check_adjoint(Dq, nv, nv, w, v, gq);
    tgt_check_adjoint(Dv, nv, nv, w, v, gv);
    tgt_check_adjoint(Du, nv, nu, w, v, gu);
    tgtDeriv d = {.name = "df/dq", .nx = s->m.nq, .nt = nv, .ny = nv, .map = of_q, .retract = retract, .ctx = &c, .tol = tolerance,
                  .step = 1e-4};
    tgt_check_jacobian(&d, s->qpos, Dq);
    d = (tgtDeriv){.name = "df/dv", .nx = nv, .ny = nv, .map = of_v, .ctx = &c, .tol = tolerance};
    tgt_check_jacobian(&d, s->qvel, Dv);
    d = (tgtDeriv){.name = "df/du", .nx = nu, .ny = nv, .map = of_u, .ctx = &c, .tol = tolerance};
    tgt_check_jacobian(&d, u, Du);
  }
  assert_true(held > 0 && held < 6);   // the last one's range held it and did not
  drop(&r);
}

// an unsteady force along a site's axis alone: a free body accelerates by R F/m
static void test_thrust(void **state) {
  (void)state;
  Rig r = rig_of_text("<mujoco><option gravity='0 0 0'/><worldbody><body quat='1 0 1 0'><freejoint/><geom size='.1' mass='2'/>"
                      "<site name='s' quat='1 1 0 0'/></body></worldbody><actuator><motor site='s' gear='0 0 4'/></actuator></mujoco>",
                      "lcp", NULL);
  r.s->ctrl[0] = 3;
  assert_int_equal(tg_sim_step(r.s, 0.01, NULL), TG_OK);
  // z of the site is -y of the body and of the world
  check_close(r.s->qvel[0], 0, 1e-15);
  check_close(r.s->qvel[1], -3 * 4 / 2.0 * 0.01, 1e-14);
  check_close(r.s->qvel[2], 0, 1e-15);
  drop(&r);
}

#ifndef TG_COMPLEX
static void check_steps(const char *word, const char *height) {
  Rig r = rig_of_text(scene(height), word, NULL);
  tgGradCheckOptions c = tg_grad_check_default();
  tgGradCheck check = {.pass = true};
  for (int i = 0; i < r.s->m.nu; i++) r.s->ctrl[i] = 0.3 - 0.2 * i;
  for (int t = 0; t < 20; t++)
    check_true(tg_sim_step_growing(r.s, 0.005, NULL) == TG_OK, "%s at %s: %s", word, height, tg_sim_error(r.s)->text);
  assert_int_equal(tg_grad_check_step(r.s, &c, &check), TG_OK);
  assert_int_equal(tg_grad_check_parameters(r.s, &c, &check), TG_OK);
  for (int i = 0; i < check.nblock; i++)
    check_true(check.block[i].pass, "%s at %s: %s: %g > %g (%s)", word, height, check.block[i].name, check.block[i].error,
               check.block[i].tolerance, check.block[i].col_name);
  drop(&r);
}

// in the air and on the floor
static void test_steps(void **state) {
  (void)state;
  static const char *const word[] = {"lcp", "toi", "damped", "softmin"};
  for (int k = 0; k < 4; k++) {
    check_steps(word[k], "3");
    if (k < 3) check_steps(word[k], ".21");
  }
}

static void refused(const char *xml, const char *word, const char *text) {
  tgError e = {0};
  tgDesc *d = tg_desc_load_memory("scene.xml", xml, strlen(xml), NULL, &e);
  check_true(d != NULL, "%s", e.text);
  tgModel *m = tg_model_compile(d, NULL, &e);
  tgContact *c = m != NULL && word != NULL ? tg_contact_create(m, word, NULL, &e) : NULL;
  assert_null(c);
  check_true(strstr(e.text, text) != NULL, "%s", e.text);
  tg_model_free(m);
  tg_desc_free(d);
}

static void test_refusals(void **state) {
  (void)state;
  refused(scene("3"), "barrier", "actuator 0 pushes at a site");
  refused("<mujoco><worldbody><body name='a'><joint/><geom size='1'/><site name='s'/></body><body name='b'><joint/><geom size='1'/>"
          "<site name='t'/></body></worldbody><actuator><motor name='m' site='s' refsite='t'/></actuator></mujoco>", NULL,
          "actuator 'm': neither of its two sites is carried");
  refused("<mujoco><worldbody><body name='a'><joint/><geom size='1'/><site name='s'/></body></worldbody>"
          "<actuator><position name='m' site='s' dampratio='1'/></actuator></mujoco>", NULL, "damping ratio");
}
#endif

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_forces), cmocka_unit_test(test_thrust),
#ifndef TG_COMPLEX
      cmocka_unit_test(test_steps), cmocka_unit_test(test_refusals),
#endif
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
