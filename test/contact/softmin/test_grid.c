// test_grid.c: a simulation's boxes by their grids follow their sizes and eps1: a step over the points that count
// against one over all; spacings, and what is said of them.
#include <stdlib.h>

#include "contact/softmin/softmin.h"
#include "support/rig.h"
#include "tangere/softmin.h"
#include "tangere/step.h"

static const char *const scene =
    "<mujoco><option timestep='0.001'/><worldbody><geom type='plane' size='5 5 .1' friction='.5'/>"
    "<body pos='0 0 .0302'><freejoint/><geom type='box' size='.1 .05 .03' mass='1' friction='.4'/></body>"
    "<body pos='.09 .058 .0775'><freejoint/><geom type='sphere' size='.02' mass='.2'/></body>"
    "<body pos='-.116 .058 .05' euler='10 20 30'><freejoint/><geom type='box' size='.02 .03 .04' mass='.3'/></body></worldbody></mujoco>";

enum { BOX = 1, SMALL = 3 };

// what is set at one moment: sizes of the two boxes, and the width
typedef struct Moment { double size[2][3], eps1; } Moment;
static const Moment moment[] = {
    {{{0.1, 0.05, 0.03}, {0.02, 0.03, 0.04}}, 1e-4},  {{{0.1, 0.05, 0.03}, {0.02, 0.03, 0.04}}, 4e-5},
    {{{0.104, 0.05, 0.0305}, {0.02, 0.03, 0.04}}, 4e-5},
    {{{0.104, 0.05, 0.0305}, {0.021, 0.031, 0.038}}, 2e-4}, {{{0.1, 0.05, 0.03}, {0.02, 0.03, 0.04}}, 1e-4},
};

static void set(tgSim *s, const Moment *at) {
  tg_sim_reset(s);
  tgReal *size = tg_sim_param(s, "geom_size", NULL, NULL);
  for (int k = 0; k < 3; k++) {
    size[3 * BOX + k] = at->size[0][k];
    size[3 * SMALL + k] = at->size[1][k];
  }
  *tg_sim_param(s, "contact.eps1", NULL, NULL) = at->eps1;
}

static void test_follows(void **state) {
  (void)state;
  tgSoftminOptions o = tg_softmin_default();
  o.spacing = 0.01;
  o.eps2 = o.eps3 = 5e-4;
  Rig fast = rig_of_text(scene, "softmin", &o.of);
  o.prune = 0;
  Rig all = rig_of_text(scene, "softmin", &o.of);
  assert_true(tgi_softmin(fast.s)->cloud[BOX].grid[0] == 20 && tgi_softmin(fast.s)->cloud[2].grid[0] == 0);
  double before = 0;
  for (size_t i = 0; i < sizeof moment / sizeof *moment; i++) {
    double most = 0, moved = 0;
    set(fast.s, &moment[i]);
    set(all.s, &moment[i]);
    assert_int_equal(tg_sim_step(fast.s, 0.001, NULL), TG_OK);
    assert_int_equal(tg_sim_step(all.s, 0.001, NULL), TG_OK);
    const tgReal *v = tg_sim_qvel(fast.s), *w = tg_sim_qvel(all.s);
    for (int d = 0; d < 18; d++) {
      most = fmax(most, fabs(w[d]));
      check_true(fabs(v[d] - w[d]) <= 1e-10 * fmax(1, fabs(w[d])),
                 "moment %zu, velocity %d: %.17g, over all points %.17g", i, d, v[d], w[d]);
      moved += w[d] * w[d];
    }
    check_true(most > 1e-3 && moved != before, "moment %zu is no other than the one before", i);
    before = moved;
  }
  drop(&fast);
  drop(&all);
}

// points: flat faces have so many, a ball more, a quarter of its radius apart
static void test_points(void **state) {
  (void)state;
  tgSoftminOptions o = tg_softmin_default();
  o.points = 10;
  Rig r = rig_of_text(scene, "softmin", &o.of);
  const tgCloud *cloud = tgi_softmin(r.s)->cloud;
  check_close(cloud[2].spacing, 0.02 / 4, 1e-12);
  check_true(cloud[BOX].n < 20 && cloud[2].n > 150, "%d and %d points", cloud[BOX].n, cloud[2].n);
  drop(&r);
}

// a kernel as wide as a box pulls at its corners, which is said; one of its spacing by default is not
static void test_warnings(void **state) {
  (void)state;
  static const struct { double spacing, eps1; const char *warned; } row[] =
      {{0, 0, NULL}, {0.01, 0, NULL}, {0.03, 0, "half length"}, {0.01, 9e-4, "half length"}, {0.03, 2.5e-5, NULL}};
  for (size_t k = 0; k < sizeof row / sizeof *row; k++) {
    tgSoftminOptions o = tg_softmin_default();
    o.spacing = row[k].spacing;
    o.eps1 = row[k].eps1;
    Rig r = rig_of_text(scene, "softmin", &o.of);
    const char *text = tg_contact_warning(r.c, 0);
    check_true((text != NULL) == (row[k].warned != NULL), "row %zu: %s", k, text != NULL ? text : "no warning");
    check_true(text == NULL || strstr(text, row[k].warned) != NULL, "row %zu: %s", k, text);
    drop(&r);
  }
  static const char *const capsule =
      "<mujoco><worldbody><geom type='capsule' size='.05 .1'/><body pos='0 0 .2'><freejoint/><geom size='.03'/></body>"
      "</worldbody></mujoco>";
  tgSoftminOptions o = tg_softmin_default();
  o.spacing = 0.02;
  o.eps1 = 2.5e-5;
  Rig r = rig_of_text(capsule, "softmin", &o.of);
  check_true(tg_contact_warning(r.c, 0) != NULL && strstr(tg_contact_warning(r.c, 0), "facets") != NULL, "a capsule of facets is not told");
  drop(&r);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_follows), cmocka_unit_test(test_points), cmocka_unit_test(test_warnings)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
