// test_barrier.c: the `barrier` model in a simulation: terms of bodies against complex steps of their poses, threads,
// sizes as parameters, errors.
#include <stdio.h>
#include <string.h>

#include "contact/barrier/barrier.h"
#include "kin/kinematics.h"
#include "math/spatial.h"
#include "support/rig.h"
#include "tangere/barrier.h"

static Rig rig(const char *xml, const tgContactOptions *o) {
  char text[4000];
  snprintf(text, sizeof text, "<mujoco><worldbody>%s</worldbody></mujoco>", xml);
  Rig r = rig_of_text(text, "barrier", o);
  // friction has its own tests; here geoms are moved without their bodies
  tgReal *friction = tg_sim_param(r.s, "geom_friction", NULL, NULL);
  for (int g = 0; g < r.s->m.ngeom; g++) friction[g] = 0;
  return r;
}
static const tgLaw *model(void) { return tgi_barrier_model.law; }

// two bodies of two geoms each, one of them offset, over a plane that is tilted
#define SCENE \
  "<geom name='floor' type='plane' size='1 1 1' euler='5 10 0'/>" \
  "<body name='a' pos='0 0 0.9' euler='20 30 40'><freejoint/><geom name='box' type='box' size='.1 .2 .15'/>" \
  "<geom name='bar' type='box' size='.1 .05 .02' pos='.3 0 0'/></body>" \
  "<body name='b' pos='.35 .35 .6' euler='50 -30 10'><freejoint/><geom name='rod' type='box' size='.02 .03 .2'/>" \
  "<geom name='can' type='box' size='.1 .1 .1' pos='0 .3 0'/></body>"

static void evaluate(Rig *r) {
  assert_int_equal(model()->evaluate(r->s, &r->s->start, TG_LAW_ENERGY | TG_LAW_POSE), TG_OK);
  check_true(isfinite(tgRe(r->s->energy)), "touching");
}

static void start(Rig *r) {
  tgi_kinematics(&r->s->m, r->s->qpos, &r->s->start);
  tgStatus st = model()->begin(r->s, 0.01);
  check_true(st == TG_OK, "%s", r->s->error.text);
  evaluate(r);
}

#ifdef TG_COMPLEX
// turns the geoms of the bodies of one rigid group by e xi (imaginary)
static void nudge(tgSim *s, int body, int k, double e) {
  tgReal xi[6] = {0}, t[3];
  xi[k] = CMPLX(0, e);
  for (int g = 0; g < s->m.ngeom; g++) {
    if (s->m.body_weld[s->m.geom_body[g]] != body) continue;
    tgReal *x = s->start.geom_xpos + 3 * g, *R = s->start.geom_xmat + 9 * g;
    tgi_v3_cross(t, xi, x);
    for (int i = 0; i < 3; i++) x[i] += t[i] + xi[3 + i];
    for (int j = 0; j < 3; j++) {
      tgReal c[3];
      tgi_m3_col(c, R, j);
      tgi_v3_cross(t, xi, c);
      for (int i = 0; i < 3; i++) R[3 * i + j] += t[i];
    }
  }
}

static void restore(tgSim *s, const tgReal *x, const tgReal *R) {
  memcpy(s->start.geom_xpos, x, 3 * (size_t)s->m.ngeom * sizeof *x);
  memcpy(s->start.geom_xmat, R, 9 * (size_t)s->m.ngeom * sizeof *R);
}

// w is minus the derivative of the energy, X the derivative of w
static void check_term(Rig *r, int n) {
  const double e = 1e-30;
  tgSim *s = r->s;
  static tgPairTerm t;
  static tgReal x[60], R[180], D[12][12], g[12];
  memcpy(x, s->start.geom_xpos, 3 * (size_t)s->m.ngeom * sizeof *x);
  memcpy(R, s->start.geom_xmat, 9 * (size_t)s->m.ngeom * sizeof *R);
  t = s->term[n];
  for (int k = 0; k < 12; k++) {
    nudge(s, k < 6 ? t.body1 : t.body2, k % 6, e);
    evaluate(r);
    g[k] = tgIm(s->term[n].energy) / e;
    for (int i = 0; i < 12; i++) D[i][k] = tgIm(s->term[n].w[i]) / e;
    restore(s, x, R);
  }
  double most[2] = {0, 0};
  for (int i = 0; i < 12; i++) {
    most[0] = fmax(most[0], fabs(tgRe(g[i])));
    for (int k = 0; k < 12; k++) most[1] = fmax(most[1], fabs(tgRe(D[i][k])));
  }
  for (int i = 0; i < 12; i++) {
    check_close(t.w[i], -g[i], 1e-10 * most[0]);
    for (int k = 0; k < 12; k++) check_close(t.X[12 * i + k], D[i][k], 1e-9 * most[1]);
  }
}

static void test_terms(void **state) {
  (void)state;
  for (int hierarchy = TG_HIERARCHY_MOMENT; hierarchy <= TG_HIERARCHY_BRUTE; hierarchy++) {
    tgBarrierOptions o = tg_barrier_default();
    o.hierarchy = (tgHierarchy)hierarchy;
    o.weight = 0.3;
    Rig r = rig(SCENE, &o.of);
    start(&r);
    assert_int_equal(r.s->nterm, 3);
    for (int n = 0; n < r.s->nterm; n++) check_term(&r, n);
    drop(&r);
  }
}
#endif

// energies of all terms, gradients, second derivatives as one list of bytes
static void same_terms(const Rig *a, const Rig *b) {
  assert_int_equal(a->s->nterm, b->s->nterm);
  assert_memory_equal(&a->s->energy, &b->s->energy, sizeof a->s->energy);
  for (int t = 0; t < a->s->nterm; t++) assert_memory_equal(&a->s->term[t], &b->s->term[t], sizeof(tgPairTerm));
}

// moves the geoms of the second body
static void shift(Rig *r, double d) {
  for (int g = 0; g < r->m->ngeom; g++)
    for (int i = 0; i < 3 && r->m->geom_body[g] == 2; i++) r->s->start.geom_xpos[3 * g + i] += d * (i + 1);
}

static void test_threads(void **state) {
  (void)state;
  tgBarrierOptions o = tg_barrier_default();
  Rig one = rig(SCENE, &o.of);
  start(&one);
  shift(&one, 0.002);
  evaluate(&one);
  for (o.threads = 2; o.threads <= 3; o.threads++) {
    Rig r = rig(SCENE, &o.of);
    start(&r);
    shift(&r, 0.002);
    evaluate(&r);
    same_terms(&one, &r);
    drop(&r);
  }
  drop(&one);
}

// a sim whose sizes were changed is as one of a model with these sizes, but for where it is one-sided, which the model's sizes decide
static void test_sizes(void **state) {
  (void)state;
  static const char *const scene = "<body pos='0 0 1'><freejoint/><geom type='sphere' size='%g'/></body>"
                                   "<body pos='.25 0 1'><freejoint/><geom type='capsule' size='.1 .2'/></body>"
                                   "<geom type='plane' size='1 1 1' pos='0 0 .6'/>";
  char xml[2][400];
  snprintf(xml[0], sizeof xml[0], scene, 0.08);
  snprintf(xml[1], sizeof xml[1], scene, 0.12);
  Rig a = rig(xml[0], NULL), b = rig(xml[1], NULL);
  tgReal *size = tg_sim_param(a.s, "geom_size", NULL, NULL);
  start(&a);
  start(&b);
  double before = tgRe(a.s->energy);
  check_true(fabs(before - tgRe(b.s->energy)) > 1e-3 * tgRe(b.s->energy), "%g, %g", before, tgRe(b.s->energy));
  for (int g = 0; g < a.m->ngeom; g++)
    if (a.m->geom_type[g] == TG_GEOM_SPHERE) size[3 * g] = 0.12;
  start(&a);
  // before the plane the sum is the same; between the bodies it depends on where it is one-sided
  for (int t = 0; t < b.s->nterm; t++)
    check_close(a.s->term[t].energy, b.s->term[t].energy, (a.s->term[t].body1 == 0 ? 1e-9 : 0.03) * tgRe(b.s->term[t].energy));
  drop(&a);
  drop(&b);
}

#define APART \
  "<geom type='plane' size='1 1 1' condim='1'/><body pos='0 0 .105'><freejoint/><geom type='box' size='.1 .1 .1' condim='1'/></body>" \
  "<body pos='.7 .1 .2' euler='10 20 30'><freejoint/><geom type='box' size='.1 .1 .1' condim='1'/></body>"

// off: only near, so bodies that are apart have nothing to do with each other, in the terms and in a step
static void test_long_range(void **state) {
  (void)state;
  tgBarrierOptions o = tg_barrier_default();
  o.weight = 1e-3;
  for (int k = 0; k < 2; k++) {
    o.long_range = k == 0 ? TG_LONG_RANGE_BOTH : TG_LONG_RANGE_OFF;
    Rig r = rig(APART, &o.of);
    start(&r);
    for (int t = 0; t < r.s->nterm; t++)
      for (int i = 0; i < 144 && r.s->term[t].body1 > 0; i += 13) assert_true((tgRe(r.s->term[t].X[i]) != 0) == (k == 0));
    tgReal D[24 * 24];
    tgGradInfo info;
    double most = 0;
    check_true(tg_sim_step(r.s, 0.01, NULL) == TG_OK, "%s", tg_sim_error(r.s)->text);
    assert_int_equal(tg_sim_step_jacobian(r.s, D, &info), TG_OK);
    for (int i = 12; i < 18; i++)
      for (int j = 6; j < 12; j++) most = fmax(most, fabs(tgRe(D[24 * i + j])));
    assert_int_equal(info.label, TG_GRAD_EXACT);
    check_true(k == 1 ? most == 0 : most > 1e-9, "coupling %.3g", most);
    drop(&r);
  }
}

static void check_error(const char *xml, const char *a, const char *b, const char *c) {
  Rig r = rig(xml, NULL);
  tgi_kinematics(&r.s->m, r.s->qpos, &r.s->start);
  assert_int_equal(model()->begin(r.s, 0.01), TG_ERR_INVALID);
  const char *text = r.s->error.text;
  check_true(strstr(text, a) != NULL && strstr(text, b) != NULL && strstr(text, c) != NULL, "'%s'", text);
  drop(&r);
}

static void test_touching(void **state) {
  (void)state;
  check_error("<body pos='0 0 1'><freejoint/><geom name='one' type='box' size='.1 .1 .1'/></body>"
              "<body pos='.195 0 1.02'><freejoint/><geom name='two' type='box' size='.1 .1 .1'/></body>", "'one'", "'two'", " m deep");
  check_error("<geom name='floor' type='plane' size='1 1 1'/><body pos='0 0 .09'><freejoint/>"
              "<geom name='one' type='box' size='.1 .1 .1'/></body>", "'floor'", "'one'", " 0.01 m");
  check_error("<body pos='0 0 1'><freejoint/><geom name='small' type='sphere' size='.1'/></body>"
              "<body pos='.1 0 1'><freejoint/><geom name='large' type='box' size='1 1 1'/></body>", "'small'", "'large'", "inside");
}

// at the height of its half side, which rounding makes touch or not: said to be rounding, with what to do about it
static void test_touching_to_rounding(void **state) {
  (void)state;
  check_error("<geom name='floor' type='plane' size='1 1 1'/><body pos='0 0 .1'><freejoint/>"
              "<geom name='one' type='box' size='.1 .1 .1'/></body>", "'one'", "rounding", "part them");
}

// a blend below 0.4 is taken, with a warning; where nothing is blended there is none
static void test_warnings(void **state) {
  (void)state;
  static const struct { const char *word, *settings; bool warned; } row[] = {
      {"barrier", "eps=0.39", true},
      {"barrier", "eps=0.1 hierarchy=paper", true},
      {"barrier", "eps=0.4", false},
      {"barrier", "eps=0.1 hierarchy=brute", false},
      {"barrier", "eps=0.1 long_range=off", false},
      {"sdrs", "eps=0.1", false},
      {"lcp", "eps=0.1", false}};
  for (size_t k = 0; k < sizeof row / sizeof *row; k++) {
    tgAnyContactOptions o = options_of(row[k].word, row[k].settings);
    Rig r = rig_of_text("<mujoco><worldbody>" SCENE "</worldbody></mujoco>", row[k].word, &o.of);
    const char *text = tg_contact_warning(r.c, 0);
    check_true((text != NULL) == row[k].warned, "row %zu: %s", k, text != NULL ? text : "no warning");
    check_true(text == NULL || (strstr(text, "eps") != NULL && strstr(text, "0.4") != NULL &&
                                tg_contact_warning(r.c, 1) == NULL), "%s", text);
    assert_null(tg_contact_warning(r.c, -1));
    drop(&r);
  }
}

// of a size whose areas are 0 the weights of the moment form are no numbers: refused by name (found by fuzz_step, which read a
// vertex before the first)
static void test_specks(void **state) {
  (void)state;
  static const char *const form[] = {"hierarchy=moment", "long_range=off"};
  Rig r = rig_of_text("<mujoco><worldbody><body pos='0 0 1'><freejoint/><geom size='.1' mass='1'/></body>"
                      "<geom name='speck' type='box' size='1e-200 1e-200 1e-200'/></worldbody></mujoco>", "lcp", NULL);
  for (size_t k = 0; k < sizeof form / sizeof *form; k++) {
    tgAnyContactOptions o = options_of("barrier", form[k]);
    tgError e = {0};
    tgContact *c = tg_contact_create(r.m, "barrier", &o.of, &e);
    check_true(c == NULL && e.status == TG_ERR_INVALID && strstr(e.text, "'speck'") != NULL, "%s: '%s'", form[k], e.text);
  }
  drop(&r);
}

// surfaces are the meshes' own: vertices of hulls, numbers of other models, are refused and not passed over
static void test_hull_vertices(void **state) {
  (void)state;
  static const char xml[] = "<mujoco><asset><mesh name='wedge' vertex='0 0 0 .2 0 0 0 .2 0 0 0 .2'/></asset><worldbody>"
                            "<body pos='0 0 1'><freejoint/><geom name='wedge' type='mesh' mesh='wedge'/></body>"
                            "<geom name='floor' type='plane' size='1 1 1'/></worldbody></mujoco>";
  tgError e = {0};
  Rig r = rig_of_text(xml, "barrier", NULL);
  const char *names[] = {"hull_vert"};
  tgParamGrad *p = tg_param_grad_create(r.m, names, 1, NULL, &e);
  assert_int_equal(tg_sim_step(r.s, 0.01, NULL), TG_OK);
  assert_int_equal(tg_sim_step_vjp(r.s, NULL, NULL, NULL, NULL, NULL, p, NULL), TG_ERR_UNSUPPORTED);
  check_true(strstr(tg_sim_error(r.s)->text, "hull_vert") != NULL, "'%s'", tg_sim_error(r.s)->text);
  tgReal *vert = tg_sim_param(r.s, "hull_vert", NULL, NULL);
  assert_int_equal(tg_sim_step(r.s, 0.01, NULL), TG_OK);
  vert[0] -= 1e-3;
  assert_int_equal(tg_sim_step(r.s, 0.01, NULL), TG_ERR_UNSUPPORTED);
  check_true(strstr(tg_sim_error(r.s)->text, "hull_vert") != NULL, "'%s'", tg_sim_error(r.s)->text);
  tg_param_grad_free(p);
  drop(&r);
}

// the larger friction of a pair counts: where both are equal the derivative is one-sided, and says so
static void test_friction_ties(void **state) {
  (void)state;
  const char *names[] = {"geom_friction"};
  for (int k = 0; k < 2; k++) {
    tgError e = {0};
    Rig r = rig("<geom name='floor' type='plane' size='1 1 1'/><body pos='0 0 .102'><freejoint/>"
                "<geom name='box' type='box' size='.1 .1 .1'/></body>", NULL);
    tgReal *friction = tg_sim_param(r.s, "geom_friction", NULL, NULL);
    friction[0] = 0.5;
    friction[1] = k == 0 ? 0.5 : 0.4;
    tgParamGrad *p = tg_param_grad_create(r.m, names, 1, NULL, &e);
    tgGradInfo info = {0};
    assert_int_equal(tg_sim_step(r.s, 0.01, NULL), TG_OK);
    assert_int_equal(tg_sim_step_vjp(r.s, NULL, NULL, NULL, NULL, NULL, p, &info), TG_OK);
    assert_int_equal(info.label, k == 0 ? TG_GRAD_ONE_SIDED : TG_GRAD_EXACT);
    check_true(k == 1 || (strstr(info.reason, "'floor'") != NULL && strstr(info.reason, "friction") != NULL), "'%s'", info.reason);
    tg_param_grad_free(p);
    drop(&r);
  }
}

// the spheres of a cube's triangles have two farthest corners: its sizes one by one have one-sided derivatives;
// those of other boxes are exact
static void test_size_ties(void **state) {
  (void)state;
  const char *names[] = {"geom_size"};
  for (int k = 0; k < 2; k++) {
    tgError e = {0};
    Rig r = rig(k == 0 ? "<geom name='floor' type='plane' size='1 1 1'/><body pos='0 0 .102'><freejoint/>"
                         "<geom name='box' type='box' size='.1 .1 .1'/></body>"
                       : "<geom name='floor' type='plane' size='1 1 1'/><body pos='0 0 .102'><freejoint/>"
                         "<geom name='box' type='box' size='.13 .12 .1'/></body>", NULL);
    tgParamGrad *p = tg_param_grad_create(r.m, names, 1, NULL, &e);
    tgGradInfo info = {0};
    assert_int_equal(tg_sim_step(r.s, 0.01, NULL), TG_OK);
    assert_int_equal(tg_sim_step_vjp(r.s, NULL, NULL, NULL, NULL, NULL, p, &info), TG_OK);
    assert_int_equal(info.label, k == 0 ? TG_GRAD_ONE_SIDED : TG_GRAD_EXACT);
    check_true(k == 1 || strstr(info.reason, "'box'") != NULL, "'%s'", info.reason);
    tg_param_grad_free(p);
    drop(&r);
  }
}

static void test_options(void **state) {
  (void)state;
  Rig r = rig(SCENE, NULL);
  for (int k = 0; k < 3; k++) {
    tgError e = {0};
    tgBarrierOptions o = tg_barrier_default();
    if (k == 0) o.eps = 0;
    if (k == 1) o.weight = -1;
    if (k == 2) o.threads = 0;
    assert_null(tg_contact_create(r.m, "barrier", &o.of, &e));
    check_true(strstr(e.text, k == 0 ? "eps" : k == 1 ? "weight" : "threads") != NULL, "'%s'", e.text);
  }
  drop(&r);
}

int main(void) {
  const struct CMUnitTest tests[] = {
#ifdef TG_COMPLEX
      cmocka_unit_test(test_terms),
#endif
      cmocka_unit_test(test_threads), cmocka_unit_test(test_sizes), cmocka_unit_test(test_touching),
      cmocka_unit_test(test_long_range), cmocka_unit_test(test_options),
      cmocka_unit_test(test_touching_to_rounding), cmocka_unit_test(test_warnings),
                                     cmocka_unit_test(test_hull_vertices), cmocka_unit_test(test_friction_ties),
                                     cmocka_unit_test(test_size_ties), cmocka_unit_test(test_specks),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
