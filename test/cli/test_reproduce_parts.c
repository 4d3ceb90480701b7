// test_reproduce_parts.c: what the experiments are made of: meshes of any fineness, the stack of planks, steepest descent.
#include <math.h>
#include <string.h>

#include "repro/barrier.h"
#include "repro/planks.h"
#include "sim/sim.h"
#include "support/check.h"
#include "tangere/model.h"

// closed, wound outwards, as many faces as asked for: every edge once in each direction, and the volume that it should have
static void check_closed(const tgMeshDesc *m, int nface, double volume, double tol) {
  assert_int_equal(m->nface, nface);
  assert_int_equal(m->nvert, nface / 2 + 2);   // Euler
  double six = 0;
  for (int f = 0; f < m->nface; f++) {
    const int *t = m->face + 3 * f;
    const double *a = m->vert + 3 * t[0], *b = m->vert + 3 * t[1], *c = m->vert + 3 * t[2];
    six += a[0] * (b[1] * c[2] - b[2] * c[1]) + a[1] * (b[2] * c[0] - b[0] * c[2]) + a[2] * (b[0] * c[1] - b[1] * c[0]);
    for (int k = 0; k < 3; k++) {
      int from = t[k], to = t[(k + 1) % 3], there = 0, back = 0;
      for (int g = 0; g < 3 * m->nface; g++) {
        int u = m->face[g], v = m->face[g - g % 3 + (g % 3 + 1) % 3];
        there += u == from && v == to;
        back += u == to && v == from;
      }
      assert_true(there == 1 && back == 1);
    }
  }
  check_close(six / 6, volume, tol * volume);
}

static void meshes_are_closed(void **state) {
  (void)state;
  tgDesc *d = tg_desc_create(NULL);
  static const double point[3] = {0, 0, 0};
  static const int none[3] = {0, 0, 0};
  int mesh = tg_desc_add_mesh(d, "m", point, 1, none, 1);
  for (int f = 1; f <= 7; f++) {
    assert_true(tgi_mesh_ball(d, mesh, 0.5, f));
    // inscribed: the error of the volume falls with the square of the edges
    check_closed(&d->mesh[mesh], 8 * f * f, 4 * TG_PI / 3 * 0.125, f == 1 ? 0.7 : 2.0 / (f * f));
    double low = 0;
    for (int i = 0; i < d->mesh[mesh].nvert; i++) {
      const double *x = d->mesh[mesh].vert + 3 * i;
      check_close(x[0] * x[0] + x[1] * x[1] + x[2] * x[2], 0.25, 1e-15);
      low = fmin(low, x[2]);
    }
    assert_true(f % 3 == 0 || low > -0.5 + 1e-9);   // it lies on a face, not on a corner, where the face's middle is one
  }
  static const int cells[][3] = {{1, 1, 1}, {8, 8, 4}, {1, 2, 3}};
  for (int i = 0; i < 3; i++) {
    const int *n = cells[i];
    assert_true(tgi_mesh_box(d, mesh, (const double[3]){1, 0.2, 0.1}, n));
    check_closed(&d->mesh[mesh], 4 * (n[0] * n[1] + n[1] * n[2] + n[2] * n[0]), 8 * 0.02, 1e-14);
  }
  for (int level = 0; level <= 2; level++) {
    mesh = tgi_mesh_icosphere(d, level == 0 ? "i0" : level == 1 ? "i1" : "i2", 0.5, level);
    assert_true(mesh >= 0);
    if (level == 0) check_closed(&d->mesh[mesh], 20, 5 * (3 + sqrt(5)) / 12 * pow(0.5 / sin(2 * TG_PI / 5), 3), 1e-14);
    else check_closed(&d->mesh[mesh], 20 << 2 * level, 4 * TG_PI / 3 * 0.125, 0.6 / (1 << 2 * level));
    for (int i = 0; i < d->mesh[mesh].nvert; i++) {
      const double *x = d->mesh[mesh].vert + 3 * i;
      check_close(x[0] * x[0] + x[1] * x[1] + x[2] * x[2], 0.25, 1e-15);
    }
  }
  tg_desc_free(d);
}

// a narrow bowl about (1, -2); values beyond x = 3 cannot be had
static bool bowl(void *ctx, const double *x, double *loss, double *g) {
  int *values = ctx;
  double a = x[0] - 1, b = x[1] + 2;
  *loss = a * a + 25 * b * b;
  g[0] = 2 * a;
  g[1] = 50 * b;
  (*values)++;
  return x[0] <= 3;
}

static void descent_goes_down(void **state) {
  (void)state;
  int values = 0, tries = 0;
  double x[2] = {2, 0}, loss;
  tgDescent d = {.n = 2, .tries = 400, .longest = 0.5, .shortest = 1e-12, .enough = 1e-10, .value = bowl, .ctx = &values};
  assert_true(tgi_descend(&d, x, &loss, &tries));
  assert_true(loss <= 1e-10 && tries < 400 && tries == values);
  check_close(x[0], 1, 1e-4);
  check_close(x[1], -2, 1e-4);
  d.tries = 3;   // as few as are allowed: still better than the start
  values = 0;
  x[0] = 2;
  x[1] = 0;
  assert_true(tgi_descend(&d, x, &loss, &tries) && tries == 3 && values == 3 && loss < 101);
  x[0] = 1;
  x[1] = -2;   // no slope: it stays
  assert_true(tgi_descend(&d, x, &loss, &tries) && loss == 0 && tries == 1);
  x[0] = 4;   // what cannot be had ends it
  assert_false(tgi_descend(&d, x, &loss, &tries));
}

// the models' own meshes are those of the generators at the fineness that the files have: in another order, so by their vertices
static void check_same_points(const char *file, bool ball) {
  tgError e = {0};
  tgDesc *d = tg_desc_load(file, NULL, &e);
  check_true(d != NULL, "%s", e.text);
  int n = d->mesh[0].nvert;
  double *kept = malloc((size_t)n * 3 * sizeof *kept);
  memcpy(kept, d->mesh[0].vert, (size_t)n * 3 * sizeof *kept);
  assert_true(ball ? tgi_mesh_ball(d, 0, 0.1, 2) : tgi_mesh_box(d, 0, (const double[3]){1, 0.2, 0.1}, (const int[3]){1, 1, 1}));
  assert_int_equal(d->mesh[0].nvert, n);
  for (int i = 0; i < n; i++) {
    double least = INFINITY;
    for (int k = 0; k < n; k++) {
      const double *x = kept + 3 * i, *y = d->mesh[0].vert + 3 * k;
      least = fmin(least, hypot(hypot(x[0] - y[0], x[1] - y[1]), x[2] - y[2]));
    }
    check_close(least, 0, 1e-12);
  }
  free(kept);
  tg_desc_free(d);
}
static void files_have_the_same_meshes(void **state) {
  (void)state;
  check_same_points(TG_SOURCE_DIR "/models/billiards.xml", true);
  check_same_points(TG_SOURCE_DIR "/models/planks.xml", false);
}

static const char planks_file[] = TG_SOURCE_DIR "/models/planks.xml";

static void lift_apart(tgPlanks *p, double gap) {
  double z[TG_PLANKS];
  for (int b = 0; b < TG_PLANKS; b++) z[b] = 0.1 + b * tgi_plank_height + (b + 1) * gap;
  tgi_planks_lift(p, z);
}

// held planks are where the file draws them, move along the axes they have, and never turn, nor do steps under
// friction, weight and pushes turn them
static void planks_are_held(void **state) {
  (void)state;
  tgError e = {0};
  tgPlanks p[3];
  static const int ndof[3] = {1, 3, 6};
  for (int hold = 0; hold < 3; hold++) {
    p[hold] = (tgPlanks){.mu = 1e-7, .form = TG_HIERARCHY_PAPER, .hold = (tgPlankHold)hold};
    check_true(tgi_planks_open(&p[hold], planks_file, &e), "%s", e.text);
    assert_int_equal(tg_model_nv(p[hold].model), TG_PLANKS * ndof[hold]);
    lift_apart(&p[hold], 1e-3);
  }
  for (int b = 0; b < TG_PLANKS; b++) {
    double x[3][3], turn[3][4];
    for (int hold = 0; hold < 3; hold++) tgi_planks_pose(&p[hold], tg_sim_qpos(p[hold].sim), b, x[hold], turn[hold]);
    for (int i = 0; i < 3; i++) {
      check_close(x[0][i], x[2][i], 1e-15);
      check_close(x[1][i], x[2][i], 1e-15);
    }
  }
  tgSim *s = p[TG_PLANKS_SLIDE].sim;
  for (int i = 0; i < 3; i++) tg_sim_qvel(s)[3 * 7 + i] = 0.01;
  for (int k = 0; k < 5; k++) assert_int_equal(tg_sim_step_growing(s, 0.04, NULL), TG_OK);
  assert_int_equal(tg_sim_forward(s), TG_OK);
  double moved = 0;
  for (int b = 0; b < TG_PLANKS; b++) {
    double x[3], turn[4];
    tgi_planks_pose(&p[TG_PLANKS_SLIDE], tg_sim_qpos(s), b, x, turn);
    for (int i = 0; i < 3; i++) {
      check_close(s->start.xpos[3 * (b + 1) + i], x[i], 1e-15);
      moved = fmax(moved, fabs(tg_sim_qpos(s)[3 * b + i]));
    }
    for (int i = 0; i < 4; i++) assert_true(s->start.xquat[4 * (b + 1) + i] == turn[i] && turn[i] == (i == 0));
  }
  assert_true(moved > 1e-4);
  for (int hold = 0; hold < 3; hold++) tgi_planks_close(&p[hold]);
}

// at rest the floor carries the weight of all, pushes between planks cancel, and gaps grow upwards as loads fall
static void planks_come_to_rest(void **state) {
  (void)state;
  for (int form = 0; form < 2; form++) {
    tgError e = {0};
    tgPlanks p = {.mu = 1e-7, .form = form ? TG_HIERARCHY_PAPER : TG_HIERARCHY_MOMENT, .hold = TG_PLANKS_SINK};
    double imbalance, x[3], turn[4], below = -0.1, gap = 0, floor = 0, weight = TG_PLANKS * 0.16 * 9.81;
    check_true(tgi_planks_open(&p, planks_file, &e), "%s", e.text);
    lift_apart(&p, 1e-3);
    assert_int_equal(tgi_planks_sink(&p, 20 * p.mu, 1, &imbalance), TG_OK);
    assert_true(imbalance > 1e4 * p.mu);   // not yet
    assert_int_equal(tgi_planks_sink(&p, 20 * p.mu, 100, &imbalance), TG_OK);
    assert_true(imbalance <= 20 * p.mu);
    for (int b = 0; b < TG_PLANKS; b++) {
      floor += tgi_planks_push(&p, b, -1);
      for (int c = 0; c < b; c++) check_close(tgi_planks_push(&p, b, c), -tgi_planks_push(&p, c, b), 1e-12 * weight);
      tgi_planks_pose(&p, tg_sim_qpos(p.sim), b, x, turn);
      assert_true(x[2] - tgi_plank_height - below > gap);
      gap = x[2] - tgi_plank_height - below;
      below = x[2];
    }
    check_close(floor, weight, TG_PLANKS * 20 * p.mu);
    assert_true(gap < 5e-3);
    tgi_planks_close(&p);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(meshes_are_closed), cmocka_unit_test(descent_goes_down),
                                     cmocka_unit_test(files_have_the_same_meshes),
                                     cmocka_unit_test(planks_are_held), cmocka_unit_test(planks_come_to_rest)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
