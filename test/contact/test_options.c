// test_options.c: the lists of options that contact models own, by name, by struct and as parameters.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "contact/contact.h"
#include "support/check.h"
#include "support/rig.h"
#include "tangere/barrier.h"
#include "tangere/lcp.h"
#include "tangere/param.h"
#include "tangere/sdrs.h"
#include "tangere/softmin.h"

static const char scene[] = "<mujoco><worldbody><geom name='floor' type='plane' size='1 1 1'/>"
                            "<body pos='0 0 1'><freejoint/><geom name='ball' size='.1'/></body></worldbody></mujoco>";

// ---- the lists themselves ----

static void check_option(const char *word, const tgOption *o, const tgAnyContactOptions *defaults) {
  char parameter[80];
  snprintf(parameter, sizeof parameter, "contact.%s", o->name);
  check_true(o->text[0] != '\0' && o->unit != NULL, "%s.%s has no text or unit", word, o->name);
  check_true(o->least <= o->value && o->value <= o->most, "%s.%s: the default is outside the range", word, o->name);
  check_true((o->words != NULL) == (o->type == TG_OPTION_WORD), "%s.%s: words", word, o->name);
  check_true(o->parameter == NULL || (o->type == TG_OPTION_NUMBER && strcmp(o->parameter, parameter) == 0),
             "%s.%s: parameter", word, o->name);
  check_true(tg_contact_get(&defaults->of, o->name) == o->value, "%s.%s: the default is not in the struct", word, o->name);
  check_true(strcmp(tg_contact_option_named(word, o->name).name, o->name) == 0, "%s.%s is not found", word, o->name);
}

static void test_lists(void **state) {
  (void)state;
  for (int w = 0; tg_contact_words(w) != NULL; w++) {
    const char *word = tg_contact_words(w);
    tgAnyContactOptions defaults;
    int n = 0;
    assert_int_equal(tg_contact_default(word, &defaults.of, sizeof defaults), TG_OK);
    for (; tg_contact_option(word, n).name != NULL; n++) {
      tgOption o = tg_contact_option(word, n);
      check_option(word, &o, &defaults);
      for (int i = 0; i < n; i++) assert_string_not_equal(tg_contact_option(word, i).name, o.name);
    }
    check_true(n > 0 && tg_contact_option(word, -1).name == NULL, "%s has no options", word);
    check_true(tgi_contact_table(w)->options.bytes <= sizeof(tgAnyContactOptions), "the options of %s need more room than there is", word);
  }
  assert_null(tg_contact_option("glue", 0).name);
}

// one idea, one name: what two models call the same is the same
static void test_names(void **state) {
  (void)state;
  for (int a = 0; tg_contact_words(a) != NULL; a++)
    for (int b = 0; b < a; b++)
      for (int i = 0; tg_contact_option(tg_contact_words(a), i).name != NULL; i++) {
        tgOption x = tg_contact_option(tg_contact_words(a), i), y = tg_contact_option_named(tg_contact_words(b), x.name);
        if (y.name == NULL) continue;
        check_true(x.type == y.type && strcmp(x.unit, y.unit) == 0, "%s is another thing for '%s' than for '%s'",
                   x.name, tg_contact_words(a), tg_contact_words(b));
        check_true((x.words == NULL) || strcmp(x.words, y.words) == 0, "%s has other words for '%s'", x.name, tg_contact_words(a));
        check_true((x.alias == NULL) == (y.alias == NULL), "%s has another alias for '%s'", x.name, tg_contact_words(a));
      }
}

// the structs of all models of a kind of step begin alike
#define IMPULSE(kind, ...) TGI_OPTION_##kind(tgImpulseOptions, __VA_ARGS__)
#define MINIMISE(kind, ...) TGI_OPTION_##kind(tgMinimiseOptions, __VA_ARGS__)
#define EXPLICIT(kind, ...) TGI_OPTION_##kind(tgExplicitOptions, __VA_ARGS__)
#define MIDPOINT(kind, ...) TGI_OPTION_##kind(tgMidpointOptions, __VA_ARGS__)
static const tgiOption impulse[] = {TG_IMPULSE_OPTIONS(IMPULSE)}, minimise[] = {TG_MINIMISE_OPTIONS(MINIMISE)},
                       explicit[] = {TG_EXPLICIT_OPTIONS(EXPLICIT)}, midpoint[] = {TG_MIDPOINT_OPTIONS(MIDPOINT)};
static const tgiOptionList impulse_list = TGI_OPTION_LIST(impulse, tgImpulseOptions),
                           minimise_list = TGI_OPTION_LIST(minimise, tgMinimiseOptions),
                           explicit_list = TGI_OPTION_LIST(explicit, tgExplicitOptions),
                           midpoint_list = TGI_OPTION_LIST(midpoint, tgMidpointOptions);

static void test_places(void **state) {
  (void)state;
  for (int w = 0; tgi_contact_table(w) != NULL; w++) {
    const tgContactModel *kind = tgi_contact_table(w);
    const tgiOptionList *shared = kind->rows != NULL ? &impulse_list
                                  : strcmp(kind->stepper, "minimise") == 0 ? &minimise_list
                                  : strcmp(kind->stepper, "midpoint") == 0 ? &midpoint_list : &explicit_list;
    for (int i = 0; i < shared->n; i++) {
      const tgiOption *own = tgi_option_named(&kind->options, shared->option[i].is.name);
      // between events some options mean nothing: those that there are have their places
      if (shared->option[i].now == NULL && (own != NULL || strcmp(kind->stepper, "event") != 0))
        check_true(own != NULL && own->at == shared->option[i].at, "%s.%s", kind->word, shared->option[i].is.name);
    }
  }
}

// ---- by name and by struct ----

// text of a value other than the default
static const char *another(const tgOption *o, double *value, char *text, size_t size) {
  *value = o->value == o->most ? o->least : o->type == TG_OPTION_NUMBER ? 0.5 * (o->value + fmin(o->most, 1e3)) : o->value + 1;
  if (o->type == TG_OPTION_BOOLEAN) snprintf(text, size, "%s", *value != 0 ? "true" : "false");
  else if (o->type == TG_OPTION_WORD) {
    const char *w = o->words;
    for (int i = 0; i < (int)*value; i++) w = strchr(w, ' ') + 1;
    snprintf(text, size, "%.*s", (int)strcspn(w, " "), w);
  } else snprintf(text, size, "%.17g", *value);
  return text;
}

static void test_set(void **state) {
  (void)state;
  for (int w = 0; tg_contact_words(w) != NULL; w++)
    for (int i = 0; tg_contact_option(tg_contact_words(w), i).name != NULL; i++) {
      tgOption o = tg_contact_option(tg_contact_words(w), i);
      tgAnyContactOptions any;
      tgError e = {0};
      char text[64];
      double value;
      tg_contact_default(tg_contact_words(w), &any.of, sizeof any);
      check_true(tg_contact_set(&any.of, o.name, another(&o, &value, text, sizeof text), &e) == TG_OK, "%s", e.text);
      check_true(tg_contact_get(&any.of, o.name) == value && value != o.value, "%s.%s: %g, set to %s",
                 tg_contact_words(w), o.name, tg_contact_get(&any.of, o.name), text);
      for (int k = 0; tg_contact_option(tg_contact_words(w), k).name != NULL; k++) {
        tgOption other = tg_contact_option(tg_contact_words(w), k);
        check_true(k == i || tg_contact_get(&any.of, other.name) == other.value, "%s sets %s too", o.name, other.name);
      }
    }
}

static void test_structs(void **state) {
  (void)state;
  tgBarrierOptions b = tg_barrier_default();
  tgError e = {0};
  assert_int_equal(tg_contact_set(&b.of, "mu", "0.25", &e), TG_OK);
  assert_int_equal(tg_contact_set(&b.of, "friction", "plane", &e), TG_OK);
  assert_int_equal(tg_contact_set(&b.of, "threads", "3", &e), TG_OK);
  assert_true(b.weight == 0.25 && b.friction == TG_FRICTION_PLANE && b.threads == 3 && b.hierarchy == TG_HIERARCHY_MOMENT);
  tgLcpOptions l = tg_lcp_default();
  l.erp = 0.5;
  l.symplectic = false;
  l.detection = TG_DETECTION_SOFT;
  assert_true(tg_contact_get(&l.of, "erp") == 0.5 && tg_contact_get(&l.of, "symplectic") == 0 && tg_contact_get(&l.of, "detection") == 1);
  assert_true(isnan(tg_contact_get(&l.of, "weight")));
  // numbers are kept whatever their size, as no integer could; creation judges their range
  assert_int_equal(tg_contact_set(&l.of, "push_speed", "1e42", &e), TG_OK);
  assert_true(l.push_speed == 1e42);
  l.push_speed = 1;
  // friction takes hold at speeds of its own in either model
  assert_true(tg_sdrs_default().slip_speed == 1e-3 && tg_softmin_default().slip_speed == 0.05);
  // what a contact model was made with
  l.detection = TG_DETECTION_FEATURES;
  Rig r = rig_of_text(scene, "lcp", &l.of);
  assert_true(tg_contact_get(tg_contact_options(r.c), "erp") == 0.5);
  tgContact *same = tg_contact_create(r.m, "lcp", tg_contact_options(r.c), &e);
  assert_true(same != NULL && tg_contact_get(tg_contact_options(same), "erp") == 0.5);
  tg_contact_free(same);
  drop(&r);
}

// ---- what is refused ----

static void refused(const char *word, const char *name, const char *value, const char *says) {
  tgAnyContactOptions any, before;
  tgError e = {0};
  tg_contact_default(word, &any.of, sizeof any);
  before = any;
  check_true(tg_contact_set(&any.of, name, value, &e) == TG_ERR_ARG && strstr(e.text, says) != NULL,
             "%s %s: '%s' does not say '%s'", word, name, e.text, says);
  assert_memory_equal(&any, &before, sizeof any);
}

static void test_refused(void **state) {
  (void)state;
  refused("softmin", "stiction_speed", "1", "Contact option stiction_speed is now called slip_speed.");
  refused("barrier", "form", "paper", "Contact option form is now called hierarchy.");
  refused("lcp", "stiction_speed", "1", "is now called slip_speed");
  refused("lcp", "epr", "1", "did you mean erp?");
  refused("barrier", "slipspeed", "1", "did you mean slip_speed?");
  refused("lcp", "weight", "1", "The contact model 'lcp' has no option weight; 'barrier'");
  refused("lcp", "mu", "1", "have it.");
  refused("sdrs", "hierarchy", "paper", "'barrier' has it.");
  refused("lcp", "viscosity", "1", "'lcp' has erp, restitution_speed");
  refused("lcp", "erp", "much", "Contact option erp takes a number, not 'much'.");
  refused("lcp", "erp", "nan", "takes a number");
  refused("lcp", "erp", "1 m", "takes a number");
  refused("lcp", "symplectic", "yes", "takes true or false");
  refused("barrier", "threads", "1.5", "takes an integer");
  refused("barrier", "threads", "1e42", "takes an integer");
  refused("barrier", "hierarchy", "fine", "takes one of moment, paper, brute, not 'fine'");
  refused("barrier", "long_range", "backward",
          "Contact option long_range: backward is gone; give long_range: off, and take the gradient from");
  refused("barrier", "hierarchy", "mom", "takes one of");
  refused("barrier", "hierarchy", "", "takes one of");
}

static void offered(const char *word, const char *name, const char *value, bool taken, const char *says) {
  tgAnyContactOptions any;
  tgError e = {0};
  bool got = !taken;
  tg_contact_default(word, &any.of, sizeof any);
  tgStatus status = tg_contact_offer(&any.of, name, value, &got, &e);
  check_true(status == (says == NULL ? TG_OK : TG_ERR_ARG), "%s %s=%s: %s", word, name, value, e.text);
  if (says == NULL) check_true(got == taken, "%s %s: taken %d", word, name, got);
  else check_true(strstr(e.text, says) != NULL, "'%s' does not say '%s'", e.text, says);
}

static void test_offered(void **state) {
  (void)state;
  offered("lcp", "erp", "0.5", true, NULL);
  offered("lcp", "mu", "1e-3", false, NULL);
  offered("lcp", "form", "paper", false, NULL);
  offered("barrier", "form", "paper", false, "is now called hierarchy");
  offered("lcp", "form", "fine", false, "takes one of consistent, paper");
  offered("lcp", "stiction_speed", "1", false, "is now called slip_speed");
  offered("lcp", "wieght", "1", false, "did you mean weight?");
  offered("barrier", "softmin.slip_speed", "1", false, NULL);
  offered("softmin", "softmin.slip_speed", "1", true, NULL);
  offered("barrier", "softmin.slip_sped", "1", false, "did you mean slip_speed?");
  offered("barrier", "softmin.weight", "1", false, "'softmin' has no option weight");
  offered("barrier", "glue.weight", "1", false, "no contact model is called 'glue'");
}

// options of another model, of a program that was compiled with another struct, and of none
static void test_guard(void **state) {
  (void)state;
  tgError e = {0};
  Rig r = rig_of_text(scene, "lcp", NULL);
  tgBarrierOptions b = tg_barrier_default();
  assert_null(tg_contact_create(r.m, "lcp", &b.of, &e));
  check_true(strstr(e.text, "of the contact model 'barrier', not of 'lcp'") != NULL, "%s", e.text);
  tgContactOptions bare = {.size = sizeof bare, .word = "lcp"};
  assert_null(tg_contact_create(r.m, "lcp", &bare, &e));
  check_true(strstr(e.text, "tg_contact_default of this version") != NULL, "%s", e.text);
  struct { tgLcpOptions o; double more; } longer;   // a later version's
  assert_int_equal(tg_contact_default("lcp", &longer.o.of, sizeof longer), TG_ERR_ARG);
  assert_null(tg_contact_create(r.m, "lcp", &longer.o.of, &e));
  check_true(strstr(e.text, "tg_contact_default of this version") != NULL, "%s", e.text);
  assert_int_equal(tg_contact_set(&longer.o.of, "erp", "0.1", &e), TG_ERR_ARG);
  assert_int_equal(tg_contact_default("glue", &longer.o.of, sizeof longer), TG_ERR_ARG);
  tgAnyContactOptions any = options_of("lcp", "erp=1.5");
  assert_null(tg_contact_create(r.m, "lcp", &any.of, &e));
  check_true(strstr(e.text, "Contact option erp of 'lcp' is 1.5; give 0 to 1.") != NULL, "%s", e.text);
  tgLcpOptions l = tg_lcp_default();
  l.detection = (tgDetection)7;
  assert_null(tg_contact_create(r.m, "lcp", &l.of, &e));
  check_true(strstr(e.text, "detection") != NULL, "%s", e.text);
  drop(&r);
}

// ---- parameters ----

static void no_parameter(const tgContact *c, const char *name, const char *says) {
  tgError e = {0};
  assert_null(tg_param_grad_create_contact(c, &name, 1, NULL, &e));
  check_true(strstr(e.text, says) != NULL, "'%s' does not say '%s'", e.text, says);
}

static void test_parameters(void **state) {
  (void)state;
  tgError e = {0};
  Rig r = rig_of_text(scene, "barrier", NULL), soft = rig_of_text(scene, "softmin", NULL);
  const char *const by_alias[] = {"contact.mu"}, *const twice[] = {"contact.mu", "contact.weight"};
  assert_true(tg_sim_param(r.s, "contact.weight", NULL, NULL) != NULL);
  assert_ptr_equal(tg_sim_param(r.s, "contact.mu", NULL, NULL), tg_sim_param(r.s, "contact.weight", NULL, NULL));
  tgParamGrad *p = tg_param_grad_create_contact(r.c, by_alias, 1, NULL, &e);
  check_true(p != NULL, "%s", e.text);
  assert_true(tg_param_grad_field(p, "contact.weight", NULL, NULL) != NULL);
  assert_ptr_equal(tg_param_grad_field(p, "contact.mu", NULL, NULL), tg_param_grad_field(p, "contact.weight", NULL, NULL));
  tg_param_grad_free(p);
  assert_null(tg_param_grad_create_contact(r.c, twice, 2, NULL, &e));
  check_true(strstr(e.text, "named twice") != NULL, "%s", e.text);
  no_parameter(soft.c, "contact.stiction_speed", "'contact.stiction_speed' is now called 'contact.slip_speed'");
  no_parameter(r.c, "contact.eps", "has no derivative");
  no_parameter(r.c, "jnt_stifness", "has no parameter 'jnt_stifness'; did you mean jnt_stiffness?");
  no_parameter(r.c, "colour", "tg_param_name, in Python param_names, lists");
  no_parameter(r.c, "contact.stiffness", "has no parameter 'contact.stiffness'");
  assert_null(tg_sim_param(soft.s, "contact.mu", NULL, NULL));
  drop(&r);
  drop(&soft);
}

// vertices have a derivative where the hull is the mesh, and none where faces of a mesh that is not convex touch as they are
static void test_parameters_of_meshes(void **state) {
  (void)state;
  static const char *const face[] = {"0 2 1 0 1 3 0 3 2 1 2 3", "0 2 1 0 1 3 0 3 2 1 2 4 2 3 4 3 1 4"};
  for (int dented = 0; dented < 2; dented++) {
    char xml[700];
    snprintf(xml, sizeof xml,
             "<mujoco><asset><mesh name='t' vertex='0 0 0 1 0 0 0 1 0 0 0 1 .2 .2 .2' face='%s'/></asset><worldbody>"
             "<geom type='plane' size='5 5 1'/>"
             "<body pos='0 0 .001'><freejoint/><geom type='mesh' mesh='t'/></body></worldbody></mujoco>", face[dented]);
    Rig r = rig_of_text(xml, "toi", NULL);
    const char *const names[] = {"hull_vert"};
    tgError e = {0};
    tgParamGrad *all = tg_param_grad_create_contact(r.c, NULL, 0, NULL, &e), *p = tg_param_grad_create_contact(r.c, names, 1, NULL, &e);
    check_true(all != NULL && p != NULL, "%s", e.text);
    bool left_out = false;
    for (int i = 0; tg_param_grad_left_out(all, i, &e) != NULL; i++)
      left_out = left_out || (strcmp(tg_param_grad_left_out(all, i, &e), "hull_vert") == 0 && strstr(e.text, "not convex") != NULL);
    check_true(left_out == (dented == 1), "mesh %d: '%s'", dented, e.text);
    assert_int_equal(tg_param_grad_field(all, "hull_vert", NULL, NULL) == NULL, dented);
    // asked for by name, of a step in which it lies on the floor
    tgReal gq[6] = {0, 0, 1}, gv[6] = {0, 0, 1}, aq[6], av[6];
    for (int k = 0; k < 20; k++) check_true(tg_sim_step(r.s, 0.005, NULL) >= 0, "%s", tg_sim_error(r.s)->text);
    tgStatus st = tg_sim_step_vjp(r.s, gq, gv, aq, av, NULL, p, NULL);
    check_true(st == (dented ? TG_ERR_UNSUPPORTED : TG_OK), "mesh %d: %s: '%s'", dented, tg_status_text(st), tg_sim_error(r.s)->text);
    tg_param_grad_free(all);
    tg_param_grad_free(p);
    drop(&r);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_lists),   cmocka_unit_test(test_names),   cmocka_unit_test(test_places),
                                     cmocka_unit_test(test_set),     cmocka_unit_test(test_structs), cmocka_unit_test(test_refused),
                                     cmocka_unit_test(test_offered), cmocka_unit_test(test_guard),   cmocka_unit_test(test_parameters),
                                     cmocka_unit_test(test_parameters_of_meshes)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
