// test_crossing.c: edges that cross where faces beside them lie nearly on each other: all the places where these touch next are points,
// against closed forms and against lines through both bodies; their derivatives.
#include <stdlib.h>

#include "coll/coll_deriv.h"
#include "coll/features/pair.h"

// Two bars across each other: B along x at the origin, A along y on it, turned a little.
static const double BAR_A[3] = {0.015, 0.06, 0.02}, BAR_B[3] = {0.06, 0.02, 0.02};
static void bars(tgtShape *a, tgtShape *b, double tilt_x, double tilt_y, double yaw, double lift) {
  tgt_set_box(b, BAR_B[0], BAR_B[1], BAR_B[2], 0, 0, 0);
  tgt_set_box(a, BAR_A[0], BAR_A[1], BAR_A[2], 0.004, -0.003, 0);
  tgt_turn(a, 1, 0, 0, tilt_x);
  tgt_turn(a, 0, 1, 0, tilt_y);
  tgt_turn(a, 0, 0, 1, yaw);
  a->pos[2] = BAR_A[2] + BAR_B[2] + lift;
}

static bool is_crossing(const tgContactPoint *c) { return c->feature >> 27 == TGI_KIND_CROSS; }

static int ascending(const void *x, const void *y) {
  double a = *(const double *)x, b = *(const double *)y;
  return (a > b) - (a < b);
}

// x in the body's frame
static void to_frame(const tgtShape *s, const double *x, double *y) {
  for (int i = 0; i < 3; i++) {
    y[i] = 0;
    for (int k = 0; k < 3; k++) y[i] += tgRe(s->mat[3 * k + i]) * (x[k] - tgRe(s->pos[k]));
  }
}

// n of the two lines of edges, up
static void common_normal(const tgtShape *a, double *n) {
  double u[3] = {tgRe(a->mat[1]), tgRe(a->mat[4]), tgRe(a->mat[7])}, length = hypot(u[1], u[2]);   // u x e_x
  n[0] = 0;
  n[1] = -u[2] / length;
  n[2] = u[1] / length;
  if (n[2] < 0)
    for (int i = 0; i < 3; i++) n[i] = -n[i];
}

// Gaps of the four crossings along the normal of the face that looks most along n: of B's top, or of A's lower side. Returns its cosine.
static double crossing_gaps(const tgtShape *a, double gap[4]) {
  double n[3], along_a = 0;
  common_normal(a, n);
  for (int i = 0; i < 3; i++) along_a += n[i] * tgRe(a->mat[3 * i + 2]);
  bool by_b = n[2] >= along_a;
  for (int k = 0; k < 4; k++) {
    double side_a = k % 2 ? BAR_A[0] : -BAR_A[0], side_b = k / 2 ? BAR_B[1] : -BAR_B[1], x[3], y[3], d[3];
    if (by_b) {
      for (int i = 0; i < 3; i++) {
        x[i] = tgRe(a->pos[i] + a->mat[3 * i] * side_a - a->mat[3 * i + 2] * BAR_A[2]);
        d[i] = tgRe(a->mat[3 * i + 1]);
      }
      gap[k] = x[2] + d[2] * (side_b - x[1]) / d[1] - BAR_B[2];
    } else {
      double at[3] = {0, side_b, BAR_B[2]}, on[3] = {1, side_b, BAR_B[2]};
      to_frame(a, at, x);
      to_frame(a, on, y);
      for (int i = 0; i < 3; i++) d[i] = y[i] - x[i];
      gap[k] = -BAR_A[2] - (x[2] + d[2] * (side_a - x[0]) / d[0]);
    }
  }
  qsort(gap, 4, sizeof *gap, ascending);
  return by_b ? n[2] : along_a;
}

// The edges that cross lowest are the contact, along their common normal, and the three other places where faces' edges cross are points.
static void bars_across(void **state) {
  (void)state;
  tgtRandom r = {.s = 3};
  int crossings = 0;
  for (int trial = 0; trial < 2000; trial++) {
    tgtShape a, b;
    tgContactPoint c[TG_PAIR_POINTS];
    int32_t memory[TG_PAIR_MEMORY] = {0};
    double gap[4], found[TG_PAIR_POINTS], margin = 0.01;
    bars(&a, &b, tgt_uniform(&r, -0.2, 0.2), tgt_uniform(&r, -0.2, 0.2), tgt_uniform(&r, -0.4, 0.4), tgt_uniform(&r, -5e-3, 5e-3));
    double along = crossing_gaps(&a, gap);
    int count = tgt_collide(&a, &b, margin, TG_COLLIDE_POINTS, memory, c, NULL), expected = 0;
    if (count == 0 || !is_crossing(&c[0])) continue;
    crossings++;
    check_close(c[0].gap, gap[0] * along, 1e-12);
    for (int k = 1; k < 4; k++) expected += gap[k] <= margin;
    check_true(count == 1 + expected, "trial %d: %d points, %d within the margin", trial, count, 1 + expected);
    for (int k = 1; k < count; k++) found[k] = tgRe(c[k].gap);
    qsort(found + 1, (size_t)count - 1, sizeof *found, ascending);
    for (int k = 1; k < count; k++) check_close(found[k], gap[k], 1e-12);
    for (int k = 0; k < count; k++) assert_false(c[k].tie);
  }
  check_true(crossings > 500, "%d poses with edges across", crossings);
}

// Whichever of the crossings is the lowest, the points are at the same places: a bar that rocks from one to the other keeps them all.
static void rocks(void **state) {
  (void)state;
  tgContactPoint c[2][TG_PAIR_POINTS];
  int32_t memory[TG_PAIR_MEMORY] = {0};
  for (int k = 0; k < 2; k++) {
    tgtShape a, b;
    bars(&a, &b, k == 0 ? 0.02 : -0.02, 0.05, 0.3, 1e-3);
    assert_int_equal(tgt_collide(&a, &b, 0.01, TG_COLLIDE_POINTS, memory, c[k], NULL), 4);
    assert_true(is_crossing(&c[k][0]));
  }
  for (int i = 0; i < 4; i++) {
    double nearest = INFINITY;
    for (int k = 0; k < 4; k++) {
      double d = 0;
      for (int x = 0; x < 3; x++) d = fmax(d, fabs(tgRe(c[0][i].p[x] - c[1][k].p[x])));
      nearest = fmin(nearest, d);
    }
    check_true(nearest < 2e-3, "a point moves by %g", nearest);
  }
  assert_true(c[0][0].feature != c[1][0].feature);
}

// where the line p + t n is within a box: false, nowhere; a line in a side is within it
static bool within_box(const tgtShape *s, const double *p, const double *n, double *low, double *high) {
  double x[3], y[3], q[3];
  for (int i = 0; i < 3; i++) q[i] = p[i] + n[i];
  to_frame(s, p, x);
  to_frame(s, q, y);
  *low = -INFINITY;
  *high = INFINITY;
  for (int i = 0; i < 3; i++) {
    double half = tgRe(s->size[i]), d = y[i] - x[i];
    if (fabs(d) < 1e-9) {
      if (fabs(x[i]) > half + 1e-9) return false;
      continue;
    }
    *low = fmax(*low, (d > 0 ? -half - x[i] : half - x[i]) / d);
    *high = fmin(*high, (d > 0 ? half - x[i] : -half - x[i]) / d);
  }
  return *low <= *high + 1e-9;
}

// how far A is above B along the line; INFINITY: it does not go through both
static double above(const tgtShape *a, const tgtShape *b, const double *p, const double *n) {
  double low[2], high[2];
  return within_box(a, p, n, &low[0], &high[0]) && within_box(b, p, n, &low[1], &high[1]) ? low[0] - high[1] : INFINITY;
}

// two boxes of random sizes, one on the other's top, aside, turned by up to 0.3 rad out of the plane
static void random_boxes(tgtRandom *r, tgtShape *a, tgtShape *b) {
  for (int k = 0; k < 2; k++)
    tgt_set_box(k == 0 ? a : b, tgt_uniform(r, 0.02, 0.1), tgt_uniform(r, 0.02, 0.1), tgt_uniform(r, 0.02, 0.1), 0, 0, 0);
  tgt_turn(a, tgt_uniform(r, -1, 1), tgt_uniform(r, -1, 1), 0.01, tgt_uniform(r, -0.3, 0.3));
  tgt_turn(a, 0, 0, 1, tgt_uniform(r, -3, 3));
  for (int i = 0; i < 2; i++) a->pos[i] = tgt_uniform(r, -0.1, 0.1);
  a->pos[2] = a->size[2] + b->size[2] + tgt_uniform(r, -2e-3, 8e-3);
}

// The gap of a point of a face is what a line along the face's normal through it leaves between the bodies; no such line beside it leaves
// less than the least of all points does.
static void lines(void **state) {
  (void)state;
  tgtRandom r = {.s = 8};
  int several = 0, checked = 0, looked = 0;
  for (int trial = 0; trial < 4000; trial++) {
    tgtShape a, b;
    tgContactPoint c[TG_PAIR_POINTS];
    int32_t memory[TG_PAIR_MEMORY] = {0};
    random_boxes(&r, &a, &b);
    int count = tgt_collide(&a, &b, 4e-3, TG_COLLIDE_POINTS, memory, c, NULL);
    if (count < 2 || !is_crossing(&c[0])) continue;
    several++;
    for (int k = 1; k < count; k++) {
      double n[3], p[3], gap = tgRe(c[k].gap);
      for (int i = 0; i < 3; i++) {
        n[i] = tgRe(c[k].n[i]);
        p[i] = tgRe(c[k].p[i]);
      }
      double at = above(&a, &b, p, n);
      check_true(at < INFINITY && fabs(at - gap) < 1e-9, "trial %d: point %d has a gap of %.12g, its line %.12g", trial, k, gap, at);
      check_true(gap >= tgRe(c[0].gap) - 1e-4, "trial %d: point %d is at %g, deeper than %g", trial, k, gap, tgRe(c[0].gap));
      checked++;
      for (int t = 0; t < 20; t++) {
        double q[3];
        for (int i = 0; i < 3; i++) q[i] = p[i] + tgt_uniform(&r, -0.02, 0.02);
        double beside = above(&a, &b, q, n);
        looked += beside < INFINITY;
        // the crossing's own gap is along a normal that is up to 20 degrees off
        double least = tgRe(c[0].gap), bound = least < 0 ? least / 0.94 : least;
        check_true(beside >= bound - 1e-9, "trial %d: a line leaves %g, the points at least %g", trial, beside, bound);
      }
    }
  }
  print_message("%d poses, %d points, %d lines\n", several, checked, looked);
  check_true(several > 300 && checked > 500 && looked > 2000, "%d poses, %d points, %d lines", several, checked, looked);
}

// a box, a prism or a capsule that comes down across an edge of a box
static void random_across(tgtRandom *r, int kind, tgtShape *a, tgtShape *b) {
  random_boxes(r, a, b);
  if (kind == 1) {
    a->type = TG_GEOM_MESH;
    a->hull = &tgt_mesh[tgt_next(r) % TGT_MESHES]->hull;
    for (int i = 0; i < 3; i++) a->size[i] *= 2;
  }
  if (kind != 2) return;
  double lean = tgt_uniform(r, -0.2, 0.2), reach = tgt_uniform(r, 0.05, 0.15);
  tgt_set_capsule(a, 0.02, reach, tgRe(b->size[0]) * (tgt_uniform(r, 0, 1) < 0.5 ? 1 : -1), 0, 0, 0);
  tgt_turn(a, 0, 1, 0, lean);
  tgt_turn(a, 0, 0, 1, tgt_uniform(r, -0.5, 0.5));
  a->pos[2] = b->size[2] + 0.02 + tgt_uniform(r, -2e-3, 2e-3);
}

static void derivatives(void **state) {
  (void)state;
  static const char *const what[3] = {"box", "mesh", "capsule"};
  for (int kind = 0; kind < 3; kind++) {
    tgtRandom r = {.s = 21 + (uint64_t)kind};
    int done = 0, aside = 0;
    double worst = 0;
    for (int trial = 0; trial < 20000 && done < 60; trial++) {
      tgtShape a, b;
      tgContactPoint c[TG_PAIR_POINTS];
      int32_t memory[TG_PAIR_MEMORY] = {0}, frozen[TG_PAIR_MEMORY];
      const double margin = 4e-3;
      random_across(&r, kind, &a, &b);
      int count = tgt_collide(&a, &b, margin, TG_COLLIDE_POINTS, memory, c, NULL);
      if (count < 2 || !is_crossing(&c[0])) continue;
      memcpy(frozen, memory, sizeof frozen);
      count = tgt_collide(&a, &b, margin, TG_COLLIDE_SIZE, memory, c, NULL);
      bool tie = false;
      for (int k = 0; k < count; k++) tie = tie || c[k].tie;
      if (tie || count < 2 || !is_crossing(&c[0])) continue;
      if (tgt_derivative_error(&a, &b, frozen, margin, count, c, &worst)) aside++;
      else done++;
    }
    print_message("%s: %d poses, %d set aside, worst %.2g\n", what[kind], done, aside, worst);
    check_true(done >= 30 && worst <= tgt_derivative_tolerance, "%s: %d poses, error %g", what[kind], done, worst);
  }
}

// Where the points beside a crossing come, as faces turn to within 20 degrees of it, its derivative is one-sided on either side.
static void comes_and_goes(void **state) {
  (void)state;
  tgContactPoint c[TG_PAIR_POINTS];
  double with = 0.3, without = 0.4;
  for (int k = 0; k < 60; k++) {
    tgtShape a, b;
    int32_t memory[TG_PAIR_MEMORY] = {0};
    double tilt = 0.5 * (with + without);
    bars(&a, &b, tilt, tilt, 0, 0.02);
    int count = tgt_collide(&a, &b, 0.1, TG_COLLIDE_POINTS, memory, c, NULL);
    check_true(count > 0 && is_crossing(&c[0]), "tilt %g: %d points", tilt, count);
    if (k == 3) assert_false(c[0].tie);
    *(count > 1 ? &with : &without) = tilt;
  }
  for (int side = 0; side < 2; side++) {
    tgtShape a, b;
    int32_t memory[TG_PAIR_MEMORY] = {0};
    double tilt = side == 0 ? with - 1e-10 : without + 1e-10;
    bars(&a, &b, tilt, tilt, 0, 0.02);
    int count = tgt_collide(&a, &b, 0.1, TG_COLLIDE_POINTS, memory, c, NULL);
    check_true((side == 0) == (count > 1), "side %d: %d points", side, count);
    assert_true(c[0].tie);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(bars_across), cmocka_unit_test(rocks), cmocka_unit_test(lines),
                                     cmocka_unit_test(derivatives), cmocka_unit_test(comes_and_goes)};
  return cmocka_run_group_tests(tests, tgt_build_meshes, tgt_free_meshes);
}
