// test_entries.c: entries of parameters by the names of task files, against what the file says; each entry belongs to one element.
#include <math.h>
#include <string.h>

#include "model/model.h"
#include "support/check.h"
#include "tangere/optim.h"
#include "tangere/param.h"

// the mesh's vertex 2 is inside, so that its hull has corners 0, 1, 3, 4 alone
static const char *const text =
    "<mujoco><asset><mesh name='tet' vertex='0 0 0 1 0 0 .2 .2 .2 0 1 0 0 0 1'/></asset><worldbody>"
    "<geom name='floor' type='plane' size='5 5 1'/>"
    "<body name='a' pos='0 0 1'><freejoint name='root'/><geom name='ga' type='box' size='.1 .2 .3' mass='1'/><site name='s'/></body>"
    "<body name='c' pos='2 0 1'><joint name='ball' type='ball'/><geom name='gc' type='sphere' size='.1' mass='1'/></body>"
    "<body name='d' pos='3 0 1'><joint name='rail' type='slide'/><geom name='gd' type='mesh' mesh='tet' mass='1'/></body>"
    "<flexcomp name='one' type='grid' dim='2' count='2 2 1' spacing='.1 .1 .1' pos='0 0 2'><contact selfcollide='none'/></flexcomp>"
    "<flexcomp name='two' type='grid' dim='2' count='3 2 1' spacing='.1 .1 .1' pos='1 0 2'><contact selfcollide='none'/></flexcomp>"
    "</worldbody><tendon><fixed name='t'><joint joint='rail' coef='2'/></fixed></tendon>"
    "<equality><joint name='e' joint1='rail'/></equality><actuator><motor name='m' joint='rail'/></actuator></mujoco>";

static tgModel *model(void) {
  tgError e = {0};
  tgDesc *d = tg_desc_load_memory("m.xml", text, strlen(text), NULL, &e);
  tgModel *m = tg_model_compile(d, NULL, &e);
  check_true(m != NULL, "%s", e.text);
  tg_desc_free(d);
  return m;
}

// a vertex of a mesh by its number in the file, of a sheet by that in the sheet, of a joint its dofs one after the other
static void entries_are_those_of_the_file(void **state) {
  (void)state;
  tgModel *m = model();
  const double *vert = tg_model_field_named(m, "hull_vert").data;
  static const struct { int entry; double is; } corner[] = {{3, 1}, {10, 1}, {14, 1}, {0, 0}, {9, 0}};
  int at[64], number[64], dof = -1;
  for (int k = 0; k < 5; k++)
    for (int by = 0; by < 2; by++) {
      assert_int_equal(tg_model_entries(m, "hull_vert", by == 0 ? "tet" : "gd", corner[k].entry, at, number, 64, NULL), 1);
      check_true(vert[at[0]] == corner[k].is && number[0] == corner[k].entry, "entry %d is %g", corner[k].entry, vert[at[0]]);
    }
  tg_model_joint(m, tg_model_find(m, TG_THING_JOINT, "ball"), NULL, NULL, NULL, &dof);
  assert_int_equal(tg_model_entries(m, "dof_damping", "ball", 2, at, NULL, 64, NULL), 1);
  assert_int_equal(at[0], dof + 2);
  assert_int_equal(tg_model_entries(m, "geom_size", "ga", 1, at, NULL, 64, NULL), 1);
  assert_true(((const double *)tg_model_field_named(m, "geom_size").data)[at[0]] == 0.2);
  assert_int_equal(tg_model_entries(m, "flex_rest", "two", 17, at, number, 64, NULL), 1);
  assert_int_equal(at[0], 12 + 17);
  assert_int_equal(tg_model_entries(m, "opt_gravity", NULL, 2, at, NULL, 64, NULL), 1);
  assert_int_equal(at[0], 2);
  assert_int_equal(tg_model_entries(m, "opt_gravity", NULL, -1, at, NULL, 1, NULL), 3);   // what there is no room for is counted
  tg_model_free(m);
}

// All parameters: an element's entries one by one are its entries, and those of all elements are the array, each place once.
static void each_place_is_one_elements(void **state) {
  (void)state;
  tgModel *m = model();
  const char *name;
  for (int p = 0; (name = tg_param_name(p)) != NULL; p++) {
    tgField f = tg_model_field_named(m, name);
    tgKindOfThing kind;
    char seen[512] = {0};
    int at[512], number[512], one, things = 1, first = 0;
    bool named = tgi_model_rows_kind(name, &kind);
    check_true(f.data != NULL && f.rows * f.cols <= 512, "%s", name);
    if (named) things = tg_model_count(m, kind);
    for (int i = 0; i < things; i++) {
      const char *of = named ? tg_model_name(m, kind, i) : NULL;
      if (of != NULL && of[0] == '\0') for (int r = 0; r < f.rows; r++)   // nameless: out of reach
        if (tgi_model_row_thing(m, name, r) == i) memset(seen + r * f.cols, 1, (size_t)f.cols);
      if (of != NULL && of[0] == '\0') continue;
      int n = tg_model_entries(m, name, of, -1, at, number, 512, NULL);
      for (int k = 0; k < n; k++) {
        check_true(!seen[at[k]]++, "%s: place %d is two elements'", name, at[k]);
        assert_int_equal(tg_model_entries(m, name, of, number[k], &one, NULL, 1, NULL), 1);
        assert_int_equal(one, at[k]);
      }
      if (n > 0) first++;
    }
    for (int k = 0; k < f.rows * f.cols; k++)
      check_true(seen[k] || strcmp(name, "geom_scale") == 0, "%s: place %d is nobody's", name, k);
    check_true(first > 0 || f.rows == 0 || strncmp(name, "pair_", 5) == 0, "%s: no element has any", name);
  }
  tg_model_free(m);
}

static void what_is_not_there_is_told(void **state) {
  (void)state;
  tgModel *m = model();
  static const struct { const char *name, *of; int entry; const char *said; } wrong[] = {
      {"no_such", NULL, -1, "no parameter 'no_such'"}, {"body_mass", NULL, -1, "body_mass needs of:"},
      {"opt_gravity", "a", -1, "leave out of: a"}, {"body_mass", "b", -1, "nothing called 'b' that has a body_mass; there are 'world'"},
      {"body_mass", "a", 1, "has entries 0 to 0, not 1"}, {"dof_damping", "root", 6, "has entries 0 to 5, not 6"},
      {"hull_vert", "ga", -1, "nothing called 'ga' collides as a mesh"}, {"hull_vert", "tet", 6, "no corner of the hull of tet is entry 6"},
      {"geom_scale", "ga", -1, "nothing called 'ga' collides as a mesh"}, {"flex_rest", "two", 18, "has entries 0 to 17, not 18"}};
  for (size_t k = 0; k < sizeof wrong / sizeof *wrong; k++) {
    tgError e = {0};
    assert_int_equal(tg_model_entries(m, wrong[k].name, wrong[k].of, wrong[k].entry, NULL, NULL, 0, &e), -1);
    check_true(e.status == TG_ERR_ARG && strstr(e.text, wrong[k].said) != NULL, "'%s' for '%s'", e.text, wrong[k].said);
  }
  tg_model_free(m);
}

static void ranges(void **state) {
  (void)state;
  static const struct { const char *name; double start, low, high; } want[] = {
      {"body_mass", -2, 2e-6, INFINITY}, {"geom_friction", 1, 0, INFINITY}, {"dof_frictionloss", 1, 0, INFINITY},
      {"flex_poisson", 0, -0.99, 0.49}, {"body_ipos", 1, -INFINITY, INFINITY}, {"flex_thickness", 1, 1e-6, INFINITY}};
  double range[2];
  for (size_t k = 0; k < sizeof want / sizeof *want; k++) {
    tg_param_range(want[k].name, want[k].start, range);
    check_true(range[0] == want[k].low && range[1] == want[k].high, "%s: %g to %g", want[k].name, range[0], range[1]);
  }
  tg_param_range("geom_size", 0, range);
  assert_true(range[0] > 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(entries_are_those_of_the_file), cmocka_unit_test(each_place_is_one_elements),
                                     cmocka_unit_test(what_is_not_there_is_told), cmocka_unit_test(ranges)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
