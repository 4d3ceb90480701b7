// test_site.c: actuators that push at sites, and spatial tendons: derivatives of their forces and of steps with them by differences,
// adjoints, closed forms, refusals. Lengths, speeds and forces are compared with MuJoCo's in test/peer/test_mujoco_sensors.py.
#include <string.h>

#include "dyn/forces.h"
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

// Tendons from the world over a tree with a ball, a slide and a hinge to another tree, one of them with pulleys: springs with a dead band,
// dampers, dry friction, limits that act and that do not, actuators.
#define STRANDS \
  "<mujoco><option timestep='.005' gravity='0 0 -3'/><worldbody><site name='w' pos='.3 .1 .5' quat='.8 .2 .1 .5'/>" \
  "<site name='x' pos='-.4 .2 .9'/><geom name='floor' type='plane' size='1 1 1'/>" \
  "<body name='a' pos='0 0 FALL'><freejoint/><geom size='.2' mass='2'/>" \
  "<site name='s' pos='.1 .2 -.1'/><body name='b' pos='.2 0 .1' euler='20 0 40'>" \
  "<joint name='ball' type='ball' pos='.05 0 0' damping='.02'/><geom type='capsule' size='.05 .1' pos='0 .1 .1' mass='.5'/>" \
  "<body name='c' pos='0 .3 0'><joint name='slide' type='slide' axis='1 1 0' damping='.5'/>" \
  "<joint name='hinge' axis='0 1 1' actuatorfrcrange='-50 50' damping='.02'/><geom size='.05' pos='.1 0 .2' mass='.4'/>" \
  "<site name='t' pos='.1 0 .3'/>" \
  "</body></body></body><body name='e' pos='1 .5 FALL'><joint name='swing' axis='1 2 0' pos='0 0 .3' damping='.02' stiffness='2'/>" \
  "<geom size='.1' mass='.6'/><site name='u' pos='.1 .1 -.1'/></body></worldbody><tendon>" \
  "<spatial name='rope' stiffness='6' damping='.5' springlength='.3 .5' limited='HAS' range='.1 2.985' frictionloss='.05'>" \
  "<site site='w'/><site site='s'/><site site='t'/></spatial>" \
  "<spatial name='tackle' stiffness='2' damping='.3' limited='HAS' range='.2 40'><pulley divisor='.7'/><site site='x'/><site site='s'/>" \
  "<pulley divisor='2'/><site site='s'/><site site='u'/><site site='t'/></spatial>" \
  "<spatial name='loose' limited='HAS' range='.98 1.24'><site site='u'/><site site='t'/></spatial></tendon><actuator>" \
  "<position tendon='rope' gear='.8' kp='3' kv='.4'/><general tendon='tackle' gear='1.5' gaintype='affine' gainprm='1 .3 .2' " \
  "biastype='affine' biasprm='.1 -2 -.4' forcerange='-16 16'/></actuator></mujoco>"

// An arm of two hinges that hangs in a rope, whose upper limit acts.
#define SWING \
  "<mujoco><option timestep='.005'/><worldbody><site name='w' pos='.3 .1 1.5'/><body pos='0 0 1'><joint axis='0 1 0' damping='.1'/>" \
  "<joint axis='1 0 0' damping='.1'/><geom size='.1' pos='.2 0 -.2' mass='3'/><site name='s' pos='.3 .05 -.2'/></body></worldbody>" \
  "<tendon><spatial name='rope' stiffness='6' damping='.3' springlength='.2' limited='HAS' range='.1 .72' frictionloss='.05'>" \
  "<site site='w'/><site site='s'/></spatial></tendon><actuator><position tendon='rope' gear='.8' kp='3' kv='.4'/></actuator></mujoco>"

typedef struct Ctx { tgSim *s; } Ctx;

// every `what` in the text becomes `word`
static void put(char text[4096], const char *what, const char *word) {
  static char from[4096];
  snprintf(from, sizeof from, "%s", text);
  int n = 0;
  const char *at = from;
  for (const char *next; (next = strstr(at, what)) != NULL; at = next + strlen(what))
    n += snprintf(text + n, 4096 - (size_t)n, "%.*s%s", (int)(next - at), at, word);
  snprintf(text + n, 4096 - (size_t)n, "%s", at);
}
// with the heights of bodies that may fall, and tendons that have limits or not
static const char *placed_limits(const char *from, const char *height, const char *limits) {
  static char text[4096];
  snprintf(text, sizeof text, "%s", from);
  put(text, "FALL", height);
  put(text, "HAS", limits);
  return text;
}
static const char *placed(const char *from, const char *height) { return placed_limits(from, height, "true"); }
static const char *scene(const char *height) { return placed(SCENE, height); }

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

// bound: largest force of the last actuator
static void check_forces(const char *text, double bound) {
  Rig r = rig_of_text(text, NULL, NULL);
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
    held += fabs(tgRe(s->act_force[nu - 1])) == bound;
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

static void test_forces(void **state) {
  (void)state;
  check_forces(scene("3"), 0.1);
  check_forces(placed(STRANDS, "3"), 16);
}

// ---- strands by themselves: of tendon t, with a force f0 + a (length - length0) + b (rate - rate0) along it ----

typedef struct Along { tgSim *s; int t; tgReal v[NMAX], length, rate; } Along;

static tgStatus length_of(void *ctx, const tgReal *x, tgReal *y) {
  Along *a = ctx;
  tgi_kinematics(&a->s->m, x, &a->s->start);
  y[0] = tgi_strands_length(&a->s->m, &a->s->start, a->t);
  return TG_OK;
}
static tgStatus rate_of(void *ctx, const tgReal *x, tgReal *y) {
  Along *a = ctx;
  tgi_kinematics(&a->s->m, x, &a->s->start);
  y[0] = tgi_strands_rate(a->s, &a->s->start, a->t, a->v);
  return TG_OK;
}
static tgStatus force_of(void *ctx, const tgReal *x, tgReal *y) {
  Along *a = ctx;
  tgReal length, rate;
  length_of(ctx, x, &length);
  rate_of(ctx, x, &rate);
  for (int d = 0; d < a->s->m.nv; d++) y[d] = 0;
  tgi_strands_row(a->s, &a->s->start, a->t, 2 + 0.3 * (length - a->length) + 0.7 * (rate - a->rate), y);
  return TG_OK;
}
static void add_entry(void *to, int i, int j, tgReal by_q, tgReal by_v) {
  (void)by_v;
  ((tgReal *)to)[i * NMAX + j] += by_q;
}
static void along_retract(void *ctx, const tgReal *x, const tgReal *d, tgReal *out) {
  tg_model_integrate(((Along *)ctx)->s->model, x, d, out);
}

static void test_strands(void **state) {
  (void)state;
  Rig r = rig_of_text(placed(STRANDS, "3"), NULL, NULL);
  tgSim *s = r.s;
  tgtRandom random = {11};
  int nv = s->m.nv;
  for (int t = 0; t < s->m.ntendon; t++) {
    Along a = {.s = s, .t = t};
    tgReal J[NMAX] = {0}, turn[NMAX] = {0}, D[NMAX * NMAX] = {0}, dense[NMAX * NMAX], sum;
    tgt_random_state(s, &random, false);
    tgt_random_vector(&random, nv, a.v);
    length_of(&a, s->qpos, &a.length);
    rate_of(&a, s->qpos, &a.rate);
    tgi_strands_row(s, &s->start, t, 1, J);
    tgi_strands_vjp(s, &s->start, t, a.v, 1, 0, turn, NULL);
    tgi_strands_force_d(&s->m, &s->start, t, a.v, 2, 0.3, 0.7, &(tgiEntries){.add = add_entry, .to = D});
    for (int i = 0; i < nv; i++) {
      check_close(tgi_strands_moment(&s->m, &s->start, t, i), J[i], 1e-13);
      sum = 0;
      for (int k = 0; k < nv; k++) sum += a.v[k] * tgi_strands_curve(&s->m, &s->start, t, k, i);
      check_close(sum, turn[i], 1e-13);
      for (int k = 0; k < nv; k++) dense[i * nv + k] = D[i * NMAX + k];
    }
    tgtDeriv d = {.name = "length", .nx = s->m.nq, .nt = nv, .ny = 1, .map = length_of, .retract = along_retract, .ctx = &a,
                  .tol = tolerance, .step = 1e-4};
    tgt_check_jacobian(&d, s->qpos, J);
    d.name = "rate";
    d.map = rate_of;
    tgt_check_jacobian(&d, s->qpos, turn);
    d.name = "force along";
    d.map = force_of;
    d.ny = nv;
    tgt_check_jacobian(&d, s->qpos, dense);
  }
  drop(&r);
}

// without springlength a tendon's spring rests where the joints' springs do
static void test_rest(void **state) {
  (void)state;
  char text[4096];
  snprintf(text, sizeof text, "%s", placed(STRANDS, "3"));
  put(text, "type='slide'", "type='slide' ref='.02' springref='.09'");
  put(text, "name='hinge'", "name='hinge' pos='.1 0 .05' springref='25'");
  put(text, "name='swing'", "name='swing' ref='-10' springref='30'");
  Rig r = rig_of_text(text, NULL, NULL);
  for (int t = 1; t < 3; t++) {
    tgi_kinematics(&r.s->m, r.m->qpos0, &r.s->start);
    double drawn = tgRe(r.s->start.ten_length[t]);
    tgi_kinematics(&r.s->m, r.m->qpos_spring, &r.s->start);
    check_true(fabs(tgRe(r.s->start.ten_length[t]) - drawn) > 1e-3, "tendon %d rests as it is drawn", t);
    for (int k = 0; k < 2; k++) check_close(r.m->ten_lengthspring[2 * t + k], r.s->start.ten_length[t], 1e-12);
  }
  drop(&r);
}

// Two weights of 3 and 1 on a rope over a pulley of the world, of which one branch counts half: the rope's length is y_1 + y_2/2 and does
// not grow, so that y_2 moves twice as far as y_1: (m_1 + 4 m_2) a_1 = (m_1 - 2 m_2) g, and its tension is m_1 (g - a_1).
static void test_tackle(void **state) {
  (void)state;
  Rig r = rig_of_text("<mujoco><option gravity='0 0 -10'/><worldbody><site name='w'/><site name='x' pos='1 0 0'/>"
                      "<body pos='0 0 -2'><joint type='slide' axis='0 0 1'/><geom size='.1' mass='3'/><site name='s'/></body>"
                      "<body pos='1 0 -2'><joint type='slide' axis='0 0 1'/><geom size='.1' mass='1'/><site name='t'/></body></worldbody>"
                      "<tendon><spatial name='rope' limited='true' range='0 3'><site site='w'/><site site='s'/><pulley divisor='2'/>"
                      "<site site='x'/><site site='t'/></spatial></tendon></mujoco>", "lcp", NULL);
  static const double h = 1e-3;
  for (int k = 0; k < 50; k++) assert_int_equal(tg_sim_step(r.s, h, NULL), TG_OK);
  double a = (3 - 2 * 1) / (3 + 4 * 1.0) * 10;
  check_close(r.s->qvel[0], -a * 50 * h, 1e-10);
  check_close(r.s->qvel[1], 2 * a * 50 * h, 1e-10);
  check_close(r.s->rows->f[0], 3 * (10 - a) * h, 1e-10);
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
static void check_steps(const char *text, const char *word, const char *height, bool parameters) {
  Rig r = rig_of_text(placed_limits(text, height, strcmp(word, "toi") == 0 ? "false" : "true"), word, NULL);
  tgGradCheckOptions c = tg_grad_check_default();
  tgGradCheck check = {.pass = true};
  for (int i = 0; i < r.s->m.nu; i++) r.s->ctrl[i] = 0.3 - 0.2 * i;
  for (int t = 0; t < 20; t++)
    check_true(tg_sim_step_growing(r.s, 0.005, NULL) == TG_OK, "%s at %s: %s", word, height, tg_sim_error(r.s)->text);
  assert_int_equal(tg_grad_check_step(r.s, &c, &check), TG_OK);
  if (parameters) assert_int_equal(tg_grad_check_parameters(r.s, &c, &check), TG_OK);
  for (int i = 0; i < check.nblock; i++)
    check_true(check.block[i].pass, "%s at %s: %s: %g > %g (%s)", word, height, check.block[i].name, check.block[i].error,
               check.block[i].tolerance, check.block[i].col_name);
  drop(&r);
}

// in the air and on the floor; a damped step of many dofs is dear, and its parameters are looked at in a scene of two
static void test_steps(void **state) {
  (void)state;
  static const char *const word[] = {"lcp", "toi", "damped", "softmin"};
  for (int k = 0; k < tgt_cases(4, 1); k++) {
    check_steps(SCENE, word[k], "3", true);
    check_steps(STRANDS, word[k], "3", k != 2);
    if (k == 2) check_steps(SWING, word[k], "", true);
    if (k < 3) check_steps(SCENE, word[k], ".21", true);
    if (k < 2) check_steps(STRANDS, word[k], ".21", true);
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
  refused(placed(STRANDS, "3"), "barrier", "tendon 'rope' runs from site to site");
  refused("<mujoco><worldbody><body name='a'><joint/><geom size='1'/><site name='s'/></body><body name='b'><joint/><geom size='1'/>"
          "<site name='t'/></body></worldbody><actuator><motor name='m' site='s' refsite='t'/></actuator></mujoco>", NULL,
          "actuator 'm': neither of its two sites is carried");
  refused("<mujoco><worldbody><body name='a'><joint/><geom size='1'/><site name='s'/></body></worldbody>"
          "<actuator><position name='m' site='s' dampratio='1'/></actuator></mujoco>", NULL, "damping ratio");
#define ROPE(joint, tendon, rest)                                                                                             \
  "<mujoco><worldbody><site name='w'/><body pos='0 0 1'>" joint "<geom size='.1'/><site name='s'/></body></worldbody><tendon>" \
  "<spatial name='t'" tendon "</spatial></tendon>" rest "</mujoco>"
#define W "<site site='w'/>"
#define S "<site site='s'/>"
  refused(ROPE("<joint/>", ">" S, ""), NULL, "tendon 't': place 0 of its path is a site alone; a branch needs two");
  refused(ROPE("<joint/>", ">" W S S, ""), NULL, "place 2 of its path is the site before it again");
  refused(ROPE("<joint/>", ">" W S "<pulley divisor='2'/>", ""), NULL, "its pulley 2 is not followed by a site");
  refused(ROPE("", ">" W S, ""), NULL, "no joint moves its sites against each other");
  refused(ROPE("<joint/><site name='r' pos='0 0 1'/>", ">" S "<site site='r'/>", ""), NULL, "no joint moves its sites against each other");
  refused(ROPE("<joint/>", " armature='1'>" W S, ""), NULL, "tendon armature is not supported");
  refused(ROPE("<joint/>", ">" W S, "<equality><tendon tendon1='t'/></equality>"), NULL, "ties a spatial tendon");
  refused(ROPE("<joint/>", ">" W S, "<actuator><position tendon='t' dampratio='1'/></actuator>"), NULL,
          "damping ratio is not supported at a spatial tendon");
}

// by code: a tendon of nothing
static void test_nothing(void **state) {
  (void)state;
  tgError e = {0};
  tgDesc *d = tg_desc_create(NULL);
  assert_int_equal(tg_desc_add_spatial_tendon(d, "t", NULL, NULL, 0), 0);
  assert_null(tg_model_compile(d, NULL, &e));
  check_true(strstr(e.text, "tendon 't': it runs over nothing") != NULL, "%s", e.text);
  tg_desc_free(d);
}

// A rod hangs below the site that its rope runs from, so that the rope has no Jacobian at qpos0: its limit's stiffness goes by what an end
// of it meets across, the rod's inertia about its hinge over the square of 0.5 m. It swings, and the limit stops it near 1.45 m.
static void test_limit_through_an_axis(void **state) {
  (void)state;
  static const char *const word[] = {"damped", "softmin"};
  static const double inertia = 0.4 * 0.01 + 0.09, range = 1.45;
  for (int k = 0; k < 2; k++) {
    Rig r = rig_of_text("<mujoco><option gravity='0 0 0'/><worldbody><site name='w' pos='0 0 2'/><body pos='0 0 1'>"
                        "<joint axis='0 1 0'/><geom size='.1' pos='0 0 -.3' mass='1'/><site name='s' pos='0 0 -.5'/></body></worldbody>"
                        "<tendon><spatial limited='true' range='1 1.45'><site site='w'/><site site='s'/></spatial></tendon></mujoco>",
                        word[k], NULL);
    check_close(r.c->limit_inertia[1], inertia / 0.25, 1e-12);
    r.s->qpos[0] = 1.5;
    r.s->qvel[0] = -2;
    double most = 0, energy = inertia * 4 / 2;
    for (int t = 0; t < 1000; t++) {
      check_true(tg_sim_step_growing(r.s, 1e-3, NULL) == TG_OK, "%s: %s", word[k], tg_sim_error(r.s)->text);
      double q = r.s->qpos[0];
      most = fmax(most, sqrt(1.25 + cos(q)));
      check_true(inertia * r.s->qvel[0] * r.s->qvel[0] / 2 < 1.01 * energy, "%s: speed %g", word[k], r.s->qvel[0]);
    }
    check_true(most > range && most < range + 0.05, "%s: %g long", word[k], most);
    drop(&r);
  }
}

// two sites in one place: there is no derivative, and the label says so
static void test_no_length(void **state) {
  (void)state;
  static const char *const word[] = {"lcp", "damped"};
  for (int k = 0; k < 2; k++) {
    Rig r = rig_of_text("<mujoco><worldbody><site name='w' pos='0 0 1'/><body pos='0 0 1'><freejoint/><geom size='.1'/><site name='s'/>"
                        "</body></worldbody><tendon><spatial name='rope' stiffness='5'><site site='w'/><site site='s'/></spatial></tendon>"
                        "</mujoco>", word[k], NULL);
    tgReal D[12 * 12];
    tgGradInfo info;
    for (int t = 0; t < 2; t++) {   // it falls away from there
      assert_int_equal(tg_sim_step_growing(r.s, 0.01, NULL), TG_OK);
      assert_int_equal(tg_sim_step_jacobian(r.s, D, &info), TG_OK);
      assert_int_equal(info.label, t == 0 ? TG_GRAD_SURROGATE : TG_GRAD_EXACT);
      check_true((strstr(info.reason, "tendon 'rope'") != NULL) == (t == 0), "%s: %s", word[k], info.reason);
    }
    drop(&r);
  }
}
#endif

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_forces), cmocka_unit_test(test_thrust), cmocka_unit_test(test_strands),
      cmocka_unit_test(test_rest), cmocka_unit_test(test_tackle),
#ifndef TG_COMPLEX
      cmocka_unit_test(test_steps), cmocka_unit_test(test_refusals), cmocka_unit_test(test_nothing),
      cmocka_unit_test(test_limit_through_an_axis), cmocka_unit_test(test_no_length),
#endif
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
