// test_hfield.c: height fields as convex cells: how many there are, what rests and slides on them, derivatives of
// steps. The surface is held against MuJoCo's rays in test/peer/test_mujoco_mjcf.py.
#include <string.h>

#include "dyn/dynamics.h"
#include "support/rig.h"
#include "tangere/desc.h"
#include "tangere/force.h"
#include "tangere/grad.h"
#include "tangere/step.h"

// a field of 2 m x 2 m above the floor z = -0.5, of heights up to 1 m, and what may fall on it
static const char *scene(int nrow, int ncol, const char *elevation, const char *bodies) {
  static char text[6000];
  snprintf(text, sizeof text, "<mujoco><option timestep='.005'/><asset>"
           "<hfield name='h' nrow='%d' ncol='%d' size='1 1 1 .5' elevation='%s'/></asset>"
           "<worldbody><geom name='g' type='hfield' hfield='h'/>%s</worldbody></mujoco>", nrow, ncol, elevation, bodies);
  return text;
}

static int cells(int nrow, int ncol, const char *elevation) {
  Rig r = rig_of_text(scene(nrow, ncol, elevation, ""), NULL, NULL);
  int n = r.s->m.ngeom;
  drop(&r);
  return n;
}

// the field comes of the geom's class, and weighs nothing by word, so that it may move
static void test_of_class(void **state) {
  (void)state;
  Rig r = rig_of_text("<mujoco><default><default class='c'><geom type='hfield' hfield='h' mass='0'/></default></default>"
                      "<asset><hfield name='h' nrow='3' ncol='3' size='1 1 1 .5' elevation='0 0 0 1 1 1 0 0 0'/></asset>"
                      "<worldbody><body><freejoint/><geom size='.1' mass='2'/><geom class='c'/></body></worldbody></mujoco>", NULL, NULL);
  assert_int_equal(r.s->m.ngeom, 3);
  check_close(r.s->m.body_mass[1], 2, 1e-15);
  drop(&r);
}

// each cell counts as an element, of the asset and of each geom: six elements and twice two cells
static void test_limit(void **state) {
  (void)state;
  const char *text = scene(3, 3, "0 0 0 1 1 1 0 0 0", "");
  tgLoadOptions o = tg_load_default();
  for (o.max_elements = 7; o.max_elements <= 10; o.max_elements++) {
    tgError e;
    tgDesc *d = tg_desc_load_memory("m.xml", text, strlen(text), &o, &e);
    assert_int_equal(e.status, o.max_elements < 10 ? TG_ERR_LIMIT : TG_OK);
    assert_true((d != NULL) == (o.max_elements == 10) && (d != NULL || strstr(e.text, "2 convex cells") != NULL));
    tg_desc_free(d);
  }
}

static void test_cells(void **state) {
  (void)state;
  assert_int_equal(cells(5, 7, ""), 1);                                      // flat
  assert_int_equal(cells(3, 4, "0 1 2 3 1 2 3 4 2 3 4 5"), 1);                // a slope
  assert_int_equal(cells(2, 2, "0 1 0 0"), 1);   // heights of rows from the highest y: the fold, to the corner that is up, is a ridge
  assert_int_equal(cells(2, 2, "1 0 0 0"), 2);   // across the corner that is up: a valley
  assert_int_equal(cells(3, 3, "0 0 0 1 1 1 0 0 0"), 2);                      // a roof
  assert_int_equal(cells(4, 3, "0 0 0 0 0 0 1 1 1 1 1 1"), 3);                // a step
}

// on a slope of 1 in 2 without friction, as on a plane there
static void test_slope(void **state) {
  (void)state;
  static const char ball[] = "<body pos='-.5 0 .9'><freejoint/><geom size='.1' condim='1'/></body>";
  Rig a = rig_of_text(scene(2, 3, "0 1 2 0 1 2", ball), "lcp", NULL);
  char plane[600];
  snprintf(plane, sizeof plane, "<mujoco><option timestep='.005'/><worldbody>"
           "<geom type='plane' size='9 9 9' zaxis='-1 0 2' pos='0 0 .5'/>%s"
           "</worldbody></mujoco>", ball);
  Rig b = rig_of_text(plane, "lcp", NULL);
  for (int k = 0; k < 100; k++) {
    assert_int_equal(tg_sim_step(a.s, 0.005, NULL), TG_OK);
    assert_int_equal(tg_sim_step(b.s, 0.005, NULL), TG_OK);
  }
  for (int i = 0; i < 3; i++) check_close(a.s->qpos[i], b.s->qpos[i], 1e-9);
  assert_true(tgRe(a.s->qvel[0]) < -0.5);
  drop(&a);
  drop(&b);
}

// a ball, a capsule and a box over cells of several kinds
static void check_steps(const char *word) {
  Rig r = rig_of_text(scene(3, 4, "0 .2 .1 0 .1 .4 .3 .2 0 .1 .5 .2",
                            "<body pos='-.5 .3 .85'><freejoint/><geom size='.15'/></body>"
                            "<body pos='.5 .35 1.2' euler='80 0 30'><freejoint/><geom type='capsule' size='.1 .15'/></body>"
                            "<body pos='.1 -.45 1.3' euler='5 10 0'><freejoint/><geom type='box' size='.1 .12 .08'/></body>"), word, NULL);
  tgGradCheckOptions c = tg_grad_check_default();
  tgGradCheck check = {.pass = true};
  int touches = 0;
  for (int t = 0; t < 60; t++) {
    check_true(tg_sim_step_growing(r.s, 0.005, NULL) == TG_OK, "%s: %s", word, tg_sim_error(r.s)->text);
    tgContactInfo info;
    for (int cursor = 0; tg_sim_next_contact(r.s, &cursor, &info);) touches++;
  }
  assert_true(touches > 0);
  assert_int_equal(tg_grad_check_step(r.s, &c, &check), TG_OK);
  for (int i = 0; i < check.nblock; i++)
    check_true(check.block[i].pass, "%s: %s: %g > %g (%s)", word, check.block[i].name, check.block[i].error, check.block[i].tolerance,
               check.block[i].col_name);
  drop(&r);
}

static void test_steps(void **state) {
  (void)state;
  check_steps("lcp");
  check_steps("toi");
  check_steps("damped");
}

// rough heights of an n x n field with spacing 0.1 m whose middle is the same for every n
static const char *rough(int n, const char *bodies, char *text, size_t size) {
  size_t used = (size_t)snprintf(text, size, "<mujoco><option timestep='.005'/><asset><hfield name='h' nrow='%d' ncol='%d' "
                                 "size='%.17g %.17g .1 .1' elevation='", n, n, 0.05 * (n - 1), 0.05 * (n - 1));
  for (int i = 0; i < n * n; i++) {
    int x = i % n - n / 2, y = i / n - n / 2;
    double h = x == 0 && y == 0 ? 0 : x == 1 && y == 1 ? 1 : 0.5 + 0.5 * sin(12.9898 * x + 78.233 * y);
    used += (size_t)snprintf(text + used, size - used, "%.6f ", h);
  }
  snprintf(text + used, size - used, "'/></asset><worldbody><geom name='g' type='hfield' hfield='h'/>%s</worldbody></mujoco>", bodies);
  return text;
}

// A field of 1,300 cells carries what lies on its middle as the middle alone does, cut out: far cells are only passed over.
static void test_large(void **state) {
  (void)state;
  enum { SIZE = 60000 };
  static char text[SIZE];
  static const char *const bodies = "<body pos='.03 .02 .25'><freejoint/><geom size='.08'/></body>"
                                    "<body pos='-.12 -.1 .3' euler='20 30 0'><freejoint/><geom type='box' size='.06 .05 .04'/></body>";
  Rig small = rig_of_text(rough(9, bodies, text, SIZE), "lcp", NULL), large = rig_of_text(rough(31, bodies, text, SIZE), "lcp", NULL);
  assert_true(large.s->m.ngeom > 1024);
  int touches = 0;
  tgContactInfo info;
  for (int t = 0; t < 80; t++) {
    assert_int_equal(tg_sim_step_growing(small.s, 0.005, NULL), TG_OK);
    assert_int_equal(tg_sim_step_growing(large.s, 0.005, NULL), TG_OK);
    for (int cursor = 0; tg_sim_next_contact(large.s, &cursor, &info);) touches++;
  }
  assert_true(touches > 40);
  for (int i = 0; i < 14; i++) check_close(large.s->qpos[i], small.s->qpos[i], 1e-9);
  drop(&small);
  drop(&large);
}

// more cells than there is room for are counted, not made
static void test_too_many(void **state) {
  (void)state;
  enum { SIDE = 212 };
  static char text[2 * SIDE * SIDE + 400];
  size_t used = (size_t)snprintf(text, sizeof text, "<mujoco><asset><hfield name='h' nrow='%d' ncol='%d' size='1 1 1 1' elevation='",
                                 SIDE, SIDE);
  for (int i = 0; i < SIDE * SIDE; i++) used += (size_t)snprintf(text + used, sizeof text - used, "%d ", (i % SIDE + i / SIDE) % 2);
  snprintf(text + used, sizeof text - used, "'/></asset></mujoco>");
  tgError e = {0};
  assert_null(tg_desc_load_memory("m.xml", text, strlen(text), NULL, &e));
  check_true(e.status == TG_ERR_UNSUPPORTED && strstr(e.text, "convex cells, and at most 65536 are supported") != NULL, "%s", e.text);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_cells), cmocka_unit_test(test_of_class), cmocka_unit_test(test_limit),
                                     cmocka_unit_test(test_slope), cmocka_unit_test(test_steps),
                                     cmocka_unit_test(test_large), cmocka_unit_test(test_too_many)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
