// test_curved.c: cylinders and ellipsoids: named cases, an ellipsoid of equal axes against a sphere, optimality of the closest points,
// tilts through the manifold's switch, aligned and concentric poses.
#include "coll/coll_brute.h"
#include "coll/coll_deriv.h"

static void set_curved(tgtShape *s, tgGeomType type, double a, double b, double c, double x, double y, double z) {
  tgt_set_box(s, a, b, c, x, y, z);
  s->type = type;
}
static void set_cylinder(tgtShape *s, double r, double h, double x, double y, double z) {
  set_curved(s, TG_GEOM_CYLINDER, r, h, 0, x, y, z);
}
static void set_plane(tgtShape *s) {
  memset(s, 0, sizeof *s);
  tgi_m3_identity(s->mat);
}
static double least_gap(const tgContactPoint *c, int n) {
  double g = INFINITY;
  for (int j = 0; j < n; j++) g = fmin(g, tgRe(c[j].gap));
  return g;
}
// derivatives in poses and sizes at this pose, with the memory that it sets
static void check_derivatives(const tgtShape *a, const tgtShape *b, const char *what) {
  int32_t memory[TG_PAIR_MEMORY] = {0}, frozen[TG_PAIR_MEMORY];
  tgContactPoint c[TG_PAIR_POINTS];
  double e = 0;
  tgt_collide(a, b, 0.05, TG_COLLIDE_POINTS, memory, c, NULL);
  memcpy(frozen, memory, sizeof frozen);
  int n = tgt_collide(a, b, 0.05, TG_COLLIDE_SIZE, memory, c, NULL);
  check_true(n > 0, "%s: no contact", what);
  if (tgt_derivative_error(a, b, frozen, 0.05, n, c, &e)) return;      // the stencil leaves the manifold's mode
  check_true(e <= tgt_derivative_tolerance, "%s: derivative error %g", what, e);
}

// standing: four points of the rim; leaning: its lowest point, exactly; lying: the ends of a line
static void on_plane(void **state) {
  (void)state;
  tgtShape plane, a;
  tgContactPoint c[TG_PAIR_POINTS];
  set_plane(&plane);
  set_cylinder(&a, 0.3, 0.5, 1, 2, 0.49);
  assert_int_equal(tgt_fresh(&a, &plane, c), 4);
  for (int j = 0; j < 4; j++) {
    check_close(c[j].gap, -0.01, 1e-15);
    check_close(hypot(tgRe(c[j].p[0]) - 1, tgRe(c[j].p[1]) - 2), 0.3, 1e-15);
    check_close(c[j].p[2], -0.01, 1e-15);
    assert_false(c[j].tie);
  }
  for (int k = 0; k < 9; k++) {
    static const double tilt[9] = {1e-7, 1.9e-4, 2.1e-4, 1e-3, 0.03, 0.5, 0.8, 1.2, TG_PI / 2};
    set_cylinder(&a, 0.3, 0.5, 1, 2, 0);
    tgt_turn(&a, 0.6, 0.8, 0, tilt[k]);
    double depth = 0.3 * sin(tilt[k]) + 0.5 * cos(tilt[k]);
    a.pos[2] = depth - 0.001;
    int n = tgt_fresh(&a, &plane, c);
    check_true(n >= 1, "tilt %g: %d points", tilt[k], n);
    // below 2e-4 the four points stand for the rim
    check_close(least_gap(c, n), -0.001, tilt[k] < 2e-4 ? 0.3 * 0.3 * 2e-4 : 1e-14);
    check_derivatives(&a, &plane, "on a plane");
    check_derivatives(&plane, &a, "under a plane");
    if (k == 8) {
      assert_int_equal(n, 2);
      for (int j = 0; j < 2; j++) check_close(hypot(tgRe(c[j].p[0]) - 1, tgRe(c[j].p[1]) - 2), 0.5, 1e-14);
    }
  }
  set_curved(&a, TG_GEOM_ELLIPSOID, 0.1, 0.2, 0.3, 1, 2, 0.29);
  assert_int_equal(tgt_fresh(&a, &plane, c), 1);
  check_close(c[0].gap, -0.01, 1e-15);
  a.pos[2] = -5;                                     // deep is still a contact
  assert_int_equal(tgt_fresh(&plane, &a, c), 1);
  check_close(c[0].gap, -5.3, 1e-14);
}

// at rest the tilt and the gaps are round-off of either sign: the same four points each time
static void resting_foot(void **state) {
  (void)state;
  tgtRandom r = {16};
  int first[4] = {0};
  for (int trial = 0; trial < 60; trial++) {
    tgtShape a, b;
    tgContactPoint c[TG_PAIR_POINTS];
    int32_t memory[TG_PAIR_MEMORY] = {0};
    set_cylinder(&a, 0.05, 0.02, 0.3 + tgt_normal(&r) * 1e-3, 0.2, 0.02 + tgt_normal(&r) * 1e-10);
    tgt_turn(&a, tgt_normal(&r), tgt_normal(&r), 0, 1e-9);
    tgt_turn(&a, 0, 0, 1, tgt_normal(&r));
    tgt_set_box(&b, 1, 1, 0.5, 0, 0, -0.5);
    if (trial < 30) set_plane(&b);
    assert_int_equal(tgt_collide(&a, &b, 1e-3, TG_COLLIDE_POINTS, memory, c, NULL), 4);
    for (int j = 0; j < 4; j++) {
      if (trial % 30 == 0) first[j] = c[j].feature;
      assert_int_equal(c[j].feature, first[j]);
      check_close(c[j].gap, 0, 1e-9);
    }
  }
}

// on a box: within its face, over an edge, over a corner, on a face smaller than the cap, lying, lying over an edge, across an edge
static void on_box(void **state) {
  (void)state;
  tgtShape a, b;
  tgContactPoint c[TG_PAIR_POINTS];
  tgt_set_box(&b, 1, 1, 0.5, 0, 0, 0);
  set_cylinder(&a, 0.3, 0.2, 0.1, 0.2, 0.69);
  assert_int_equal(tgt_fresh(&a, &b, c), 4);
  check_derivatives(&a, &b, "on a face");
  set_cylinder(&a, 0.3, 0.2, 0.9, 0.2, 0.69);        // reaches 0.2 over the edge x = 1: three rim points, two crossings
  assert_int_equal(tgt_fresh(&a, &b, c), 5);
  int crossings = 0;
  for (int j = 0; j < 5; j++) {
    check_close(c[j].gap, -0.01, 1e-15);
    check_close(c[j].n[2], 1, 1e-15);
    check_close(hypot(tgRe(c[j].p[0]) - 0.9, tgRe(c[j].p[1]) - 0.2), 0.3, 1e-14);
    crossings += fabs(tgRe(c[j].p[0]) - 1) < 1e-14;
  }
  assert_int_equal(crossings, 2);
  check_derivatives(&a, &b, "over an edge");
  set_cylinder(&a, 0.3, 0.2, 0.95, 0.95, 0.69);      // two rim points, a crossing of each edge, the corner
  assert_int_equal(tgt_fresh(&a, &b, c), 5);
  check_derivatives(&a, &b, "over a corner");
  tgt_turn(&a, 1, 1, 0, 0.01);
  check_derivatives(&b, &a, "over a corner, leaning");
  set_cylinder(&a, 3, 0.2, 0.95, 0.95, 0.69);        // the face within the cap: its corners
  int n = tgt_fresh(&a, &b, c);
  assert_int_equal(n, 4);
  for (int j = 0; j < 4; j++) check_close(fabs(tgRe(c[j].p[0])), 1, 1e-14);
  check_derivatives(&a, &b, "on a small face");
  set_cylinder(&a, 0.3, 0.4, 0.1, 0.2, 0.79);        // lying along x
  tgt_turn(&a, 0, 1, 0, TG_PI / 2);
  assert_int_equal(tgt_fresh(&a, &b, c), 2);
  for (int j = 0; j < 2; j++) check_close(fabs(tgRe(c[j].p[0]) - 0.1), 0.4, 1e-14);
  check_derivatives(&a, &b, "lying");
  a.pos[0] = 0.9;                                    // one end, one crossing of x = 1
  assert_int_equal(tgt_fresh(&a, &b, c), 2);
  check_close(c[0].p[0] + c[1].p[0], 0.5 + 1, 1e-14);
  check_derivatives(&a, &b, "lying over an edge");
  set_cylinder(&a, 0.3, 0.4, 1, 0, 0.5);             // across the edge x = 1, z = 0.5, turned against it
  tgt_turn(&a, 0, 1, 0, -TG_PI / 4);
  a.pos[0] += 0.29 * sqrt(0.5);
  a.pos[2] += 0.29 * sqrt(0.5);
  assert_int_equal(tgt_fresh(&a, &b, c), 1);
  check_close(c[0].gap, -0.01, 1e-14);
  check_close(c[0].n[0], sqrt(0.5), 1e-14);
  check_derivatives(&a, &b, "across an edge");
}

// a box's corner and edge down into a cap; into the side
static void box_on_cylinder(void **state) {
  (void)state;
  tgtShape a, b;
  tgContactPoint c[TG_PAIR_POINTS];
  set_cylinder(&b, 1, 0.5, 0, 0, 0);
  tgt_set_box(&a, 0.2, 0.2, 0.2, 0.1, 0.05, 0.5 + 0.2 * sqrt(3) - 0.01);
  tgt_turn(&a, 1, 0, 0, TG_PI / 4);
  tgt_turn(&a, 0, 1, 0, atan(sqrt(0.5)));
  assert_int_equal(tgt_fresh(&a, &b, c), 1);
  check_close(c[0].gap, -0.01, 1e-14);
  check_close(c[0].n[2], 1, 1e-14);
  check_derivatives(&a, &b, "corner on a cap");
  tgt_set_box(&a, 0.2, 1.5, 0.2, 0.6, 0, 0.5 + 0.2 * sqrt(2) - 0.01);
  tgt_turn(&a, 0, 1, 0, TG_PI / 4);                  // an edge along y at x = 0.6: over the cap for |y| < 0.8
  assert_int_equal(tgt_fresh(&a, &b, c), 2);
  for (int j = 0; j < 2; j++) {
    check_close(c[j].gap, -0.01, 1e-14);
    check_close(fabs(tgRe(c[j].p[1])), 0.8, 1e-13);
  }
  check_derivatives(&a, &b, "edge on a cap");
  tgt_set_box(&a, 0.2, 0.2, 0.2, 1.2 * sqrt(1) - 0.01, 0, 0.1);
  int n = tgt_fresh(&a, &b, c);                      // a face against the side: a line of it, between the face's ends
  assert_int_equal(n, 2);
  for (int j = 0; j < 2; j++) {
    check_close(c[j].gap, -0.01, 1e-14);
    check_close(fabs(tgRe(c[j].p[2]) - 0.1), 0.2, 1e-14);
  }
  check_derivatives(&a, &b, "face on the side");
}

// stacked: within, the same, side by side with two crossings; crossed sides; parallel sides; end against side
static void cylinders(void **state) {
  (void)state;
  tgtShape a, b;
  tgContactPoint c[TG_PAIR_POINTS];
  set_cylinder(&b, 0.5, 0.2, 0, 0, 0);
  set_cylinder(&a, 0.2, 0.2, 0.1, 0, 0.39);
  tgt_turn(&a, 0, 0, 1, 0.3);
  assert_int_equal(tgt_fresh(&a, &b, c), 4);
  for (int j = 0; j < 4; j++) check_close(c[j].gap, -0.01, 1e-15);
  check_derivatives(&a, &b, "cap within cap");
  set_cylinder(&a, 0.5, 0.2, 0.6, 0.1, 0.39);
  int n = tgt_fresh(&a, &b, c), on_both = 0;
  check_true(n >= 3, "%d points", n);
  for (int j = 0; j < n; j++) {
    double ra = hypot(tgRe(c[j].p[0]) - 0.6, tgRe(c[j].p[1]) - 0.1), rb = hypot(tgRe(c[j].p[0]), tgRe(c[j].p[1]));
    check_close(c[j].gap, -0.01, 1e-14);
    check_true(ra < 0.5 + 1e-12 && rb < 0.5 + 1e-12, "point %d is over both caps: %g %g", j, ra, rb);
    on_both += fabs(ra - 0.5) < 1e-12 && fabs(rb - 0.5) < 1e-12;
  }
  assert_int_equal(on_both, 2);
  check_derivatives(&a, &b, "cap beside cap");
  tgt_turn(&a, 1, 2, 0, 0.02);
  check_derivatives(&a, &b, "cap beside cap, leaning");
  set_cylinder(&a, 0.3, 2, 0.05, 0.1, 0.49);         // lying along y on the cap: a line across it
  tgt_turn(&a, 1, 0, 0, TG_PI / 2);
  assert_int_equal(tgt_fresh(&a, &b, c), 2);
  for (int j = 0; j < 2; j++) check_close(hypot(tgRe(c[j].p[0]), tgRe(c[j].p[1])), 0.5, 1e-14);
  check_derivatives(&a, &b, "side on a cap");
  set_cylinder(&b, 0.5, 2, 0, 0, 0);
  set_cylinder(&a, 0.3, 2, 0.79, 0.1, 0.2);          // crossed at right angles
  tgt_turn(&a, 1, 0, 0, TG_PI / 2);
  assert_int_equal(tgt_fresh(&a, &b, c), 1);
  check_close(c[0].gap, -0.01, 1e-14);
  check_close(c[0].n[0], 1, 1e-14);
  check_close(c[0].p[0], 0.495, 1e-14);
  check_derivatives(&a, &b, "crossed sides");
  set_cylinder(&a, 0.3, 1, 0.79, 0, 0.2);            // parallel: touching along a line, one point, a tie
  n = tgt_fresh(&a, &b, c);
  check_true(n >= 1, "parallel sides: %d points", n);
  check_close(c[0].gap, -0.01, 1e-12);
  check_close(c[0].n[0], 1, 1e-12);
  set_cylinder(&a, 0.3, 1, 1.49, 0, 0.2);            // an end against the side: the side's line over the cap
  tgt_turn(&a, 0, 1, 0, TG_PI / 2);
  n = tgt_fresh(&a, &b, c);
  check_close(least_gap(c, n), -0.01, 1e-14);
  for (int j = 0; j < n; j++) check_close(c[j].n[0], 1, 1e-14);
}

// sphere and capsule against cap, rim, side and from within; lying on a cap
static void round_on_cylinder(void **state) {
  (void)state;
  tgtShape a, b;
  tgContactPoint c[TG_PAIR_POINTS];
  set_cylinder(&b, 0.5, 0.4, 0, 0, 0);
  static const struct { double at[3], gap, n[3]; } known[] = {
    {{0.1, 0.2, 0.69}, -0.01, {0, 0, 1}}, {{0.79, 0, 0.1}, -0.01, {1, 0, 0}}, {{0.5 + 0.18, 0, 0.4 + 0.24 - 0.01}, 0, {0, 0, 0}},
    {{0.1, 0, 0.35}, -0.35, {0, 0, 1}}, {{0.45, 0, 0.1}, -0.35, {1, 0, 0}}, {{0, 0, -0.3}, -0.4, {0, 0, -1}}};
  for (int k = 0; k < 6; k++) {
    tgt_set_sphere(&a, 0.3, known[k].at[0], known[k].at[1], known[k].at[2]);
    assert_int_equal(tgt_fresh(&a, &b, c), 1);
    double d = hypot(0.18, 0.23);
    check_close(c[0].gap, k == 2 ? d - 0.3 : known[k].gap, 1e-14);
    for (int i = 0; i < 3; i++) check_close(c[0].n[i], k == 2 ? (i == 0 ? 0.18 : i == 2 ? 0.23 : 0) / d : known[k].n[i], 1e-13);
    // p is on the sphere
    for (int i = 0; i < 3; i++) check_close(c[0].p[i], known[k].at[i] - 0.3 * tgRe(c[0].n[i]), 1e-13);
    assert_false(c[0].tie);
  }
  tgt_set_capsule(&a, 0.1, 0.2, 0.1, 0, 0.49, 1);    // lying within the cap: both ends; across it: both crossings
  assert_int_equal(tgt_fresh(&a, &b, c), 2);
  check_derivatives(&a, &b, "capsule on a cap");
  tgt_set_capsule(&a, 0.1, 0.9, 0.3, 0, 0.49, 1);
  assert_int_equal(tgt_fresh(&a, &b, c), 2);
  for (int j = 0; j < 2; j++) check_close(fabs(tgRe(c[j].p[1])), 0.4, 1e-14);
  check_derivatives(&a, &b, "capsule across a cap");
  tgt_set_capsule(&a, 0.1, 0.9, 0.59, 0, 0, 1);      // across the side
  assert_int_equal(tgt_fresh(&a, &b, c), 1);
  check_close(c[0].gap, -0.01, 1e-14);
  check_derivatives(&a, &b, "capsule across the side");
}

// an ellipsoid of equal axes is a sphere: the same normal, gap and their derivatives against every other shape
static void ellipsoid_as_sphere(void **state) {
  (void)state;
  tgtRandom r = {21};
  int compared = 0;
  for (int kind = 0; kind < TGT_KINDS; kind++)
    for (int trial = 0; trial < 150; trial++) {
      tgtShape ball, egg, other;
      tgContactPoint c[TG_PAIR_POINTS], d[TG_PAIR_POINTS];
      tgt_make_shape(&ball, 1, &r);
      tgt_make_shape(&other, kind, &r);
      tgt_place_pair(&ball, &other, &r, trial % 3 < 2);
      egg = ball;
      egg.type = TG_GEOM_ELLIPSOID;
      for (int i = 0; i < 3; i++) egg.size[i] = ball.size[0];
      int32_t m1[TG_PAIR_MEMORY] = {0}, m2[TG_PAIR_MEMORY] = {0};
      double d1, d2;
      int n = tgt_collide(&ball, &other, 0.05, TG_COLLIDE_SIZE, m1, c, &d1);
      int m = tgt_collide(&egg, &other, 0.05, TG_COLLIDE_SIZE, m2, d, &d2);
      check_true(n == m, "%s %d: %d and %d points, at %g and %g", tgt_kind_name[kind], trial, n, m, d1, d2);
      if (n != 1 || c[0].tie) continue;
      // within the hysteresis of a tie the two may choose apart
      if (fabs(tgRe(c[0].gap - d[0].gap)) > 1e-9 && fabs(tgRe(c[0].gap - d[0].gap)) < 1e-4) continue;
      compared++;
      check_close(c[0].gap, d[0].gap, 1e-12);
      for (int i = 0; i < 3; i++) check_close(c[0].n[i], d[0].n[i], 1e-10);
      for (int i = 3; i < 7; i++) {
        for (int k = 0; k < 12; k++) check_close(c[0].D[i][k], d[0].D[i][k], 1e-8 * tgt_largest(&c[0]));
        tgReal size = d[0].Ds[i][0] + d[0].Ds[i][1] + d[0].Ds[i][2];
        check_close(c[0].Ds[i][0], size, 1e-8 * tgt_largest(&c[0]));
        for (int k = 3; k < 6; k++) check_close(c[0].Ds[i][k], d[0].Ds[i][k], 1e-8 * tgt_largest(&c[0]));
      }
    }
  check_true(compared > 600, "%d compared", compared);
}

// closest points of two ellipsoids lie on both surfaces and n is normal to both, to round-off
static void ellipsoids(void **state) {
  (void)state;
  tgtRandom r = {22};
  double worst = 0;
  for (int trial = 0; trial < 400; trial++) {
    tgtShape s[2];
    tgContactPoint c[TG_PAIR_POINTS];
    int32_t memory[TG_PAIR_MEMORY] = {0};
    for (int k = 0; k < 2; k++) {
      tgt_make_shape(&s[k], 6, &r);
      if (trial % 4 == 0) s[k].size[0] *= 0.1;       // flat ones too
    }
    tgt_place_pair(&s[0], &s[1], &r, trial % 2 == 0);
    if (tgt_collide(&s[0], &s[1], 1, TG_COLLIDE_POINTS, memory, c, NULL) != 1) continue;
    for (int k = 0; k < 2; k++) {
      double y[3] = {0}, q = 0, g[3] = {0}, len = 0, sign = k == 0 ? 1 : -1;
      for (int j = 0; j < 3; j++) {
        for (int i = 0; i < 3; i++)
          y[j] += tgRe(s[k].mat[3 * i + j]) * tgRe(c[0].p[i] + sign * 0.5 * c[0].gap * c[0].n[i] - s[k].pos[i]);
        double e = tgRe(s[k].size[j]);
        q += y[j] * y[j] / (e * e);
        for (int i = 0; i < 3; i++) g[i] += tgRe(s[k].mat[3 * i + j]) * y[j] / (e * e);
      }
      for (int i = 0; i < 3; i++) len += g[i] * g[i];
      worst = fmax(worst, fabs(q - 1));
      for (int i = 0; i < 3; i++) worst = fmax(worst, fabs(-sign * g[i] / sqrt(len) - tgRe(c[0].n[i])));
    }
  }
  check_true(worst < 1e-11, "worst residual %g", worst);
}

// the sphere's centre between cap and side: the remembered feature stays through a near-tie and gives way beyond it
static void memory_holds(void **state) {
  (void)state;
  tgtShape a, b;
  tgContactPoint c[TG_PAIR_POINTS];
  for (int k = -1; k <= 1; k += 2) {
    int32_t memory[TG_PAIR_MEMORY] = {0};
    set_cylinder(&b, 0.5, 0.4, 0, 0, 0);
    tgt_set_sphere(&a, 0.3, 0.4, 0, 0.3 + k * 1e-3);
    assert_int_equal(tgt_collide(&a, &b, 0, TG_COLLIDE_POINTS, memory, c, NULL), 1);
    int axis = k > 0 ? 2 : 0;
    check_close(c[0].n[axis], 1, 1e-13);
    a.pos[2] = 0.3 - k * 1e-6;
    assert_int_equal(tgt_collide(&a, &b, 0, TG_COLLIDE_POINTS, memory, c, NULL), 1);
    check_close(c[0].n[axis], 1, 1e-13);
    a.pos[2] = 0.3 - k * 1e-3;
    assert_int_equal(tgt_collide(&a, &b, 0, TG_COLLIDE_POINTS, memory, c, NULL), 1);
    check_close(c[0].n[2 - axis], 1, 1e-13);
  }
  int32_t junk[TG_PAIR_MEMORY] = {-1000000, -1000000};
  assert_int_equal(tgt_collide(&a, &b, 0, TG_COLLIDE_POINTS, junk, c, NULL), 1);
}

// poses on a lattice, turned by multiples of 45 degrees: aligned, touching, concentric and parallel at every turn. Nothing
// that overlaps is missed, normals are unit, all numbers finite, the depth is that of the best direction of a sweep.
static void lattice(void **state) {
  (void)state;
  enum { SWEEP = 1000 };
  tgtRandom r = {17};
  static double dir[SWEEP + 26][3];
  int overlapping = 0, sweep = 0;
  for (int k = 0; k < SWEEP; k++, sweep++) {
    double z = 1 - (2 * k + 1.0) / SWEEP, w = sqrt(1 - z * z), t = 2.399963229728653 * k;
    dir[k][0] = w * cos(t);
    dir[k][1] = w * sin(t);
    dir[k][2] = z;
  }
  for (int k = 0; k < 27; k++) {
    double x = k % 3 - 1, y = k / 3 % 3 - 1, z = k / 9 - 1, len = sqrt(x * x + y * y + z * z);
    if (len == 0) continue;
    dir[sweep][0] = x / len;
    dir[sweep][1] = y / len;
    dir[sweep++][2] = z / len;
  }
  int trials = tgt_cases(6000, 600);
  for (int trial = 0; trial < trials; trial++) {
    static tgtCore A, B;
    tgtShape s[2];
    tgContactPoint c[TG_PAIR_POINTS];
    int32_t memory[TG_PAIR_MEMORY] = {0};
    double dist, n[3] = {0}, top = -INFINITY;
    for (int k = 0; k < 2; k++) {
      static const tgGeomType type[5] = {TG_GEOM_CYLINDER, TG_GEOM_ELLIPSOID, TG_GEOM_BOX, TG_GEOM_SPHERE, TG_GEOM_CAPSULE};
      int kind = (int)(tgt_next(&r) % (k == 0 ? 2 : 5));
      set_curved(&s[k], type[kind], 0.5, 0.5, tgt_next(&r) % 2 ? 0.5 : 0.25, 0, 0, 0);
      for (int i = 0; i < 3; i++) {
        s[k].pos[i] = 0.25 * (double)(tgt_next(&r) % 5);
        if (tgt_next(&r) % 2) tgt_turn(&s[k], i == 0, i == 1, i == 2, TG_PI / 4 * (double)(tgt_next(&r) % 8));
      }
    }
    int swapped = tgt_next(&r) % 2;
    const tgtShape *a = &s[swapped], *b = &s[1 - swapped];
    tgt_core(&A, a);
    tgt_core(&B, b);
    int count = tgt_collide(a, b, 0, TG_COLLIDE_SIZE, memory, c, &dist);
    for (int k = 0; k < sweep; k++) {
      double one = tgt_separation(&A, &B, dir[k]);
      if (one > top) { top = one; memcpy(n, dir[k], sizeof n); }
    }
    top = tgt_climb(&A, &B, n, top, 0.1, 500, &r);
    if (top < -1e-5) {
      overlapping++;
      check_true(count > 0, "trial %d: types %d %d: overlap %g without a contact", trial, (int)a->type, (int)b->type, top);
      check_true(dist >= top - 1e-4, "trial %d: types %d %d: %g, an axis gives %g", trial, (int)a->type, (int)b->type, dist, top);
    } else if (top > 1e-9) {
      check_true(count == 0, "trial %d: types %d %d: apart by %g and in contact, at %g", trial, (int)a->type, (int)b->type, top, dist);
    }
    for (int j = 0; j < count; j++) {
      check_close(tgi_v3_norm(c[j].n), 1, 1e-13);
      for (int i = 0; i < 3; i++) n[i] = tgRe(c[j].n[i]);
      for (int k = 0; k < 7 * 12; k++) assert_true(tgFinite((&c[j].D[0][0])[k]));
      for (int k = 0; k < 7 * 6; k++) assert_true(tgFinite((&c[j].Ds[0][0])[k]));
    }
    if (count > 0) {
      check_close(least_gap(c, count), dist, 1e-4);
      check_close(tgt_separation(&A, &B, n), dist, 1e-4);
    }
  }
  check_true(overlapping > trials / 2, "%d overlap", overlapping);
}

// random pairs at any depth: the separation is the largest of a sweep refined by climbing from its best direction
static void deepest(void **state) {
  (void)state;
  tgtRandom r = {23};
  int exact = 0, all = 0;
  for (int trial = 0; trial < tgt_cases(3000, 300); trial++) {
    static tgtCore A, B;
    tgtShape a, b;
    tgContactPoint c[TG_PAIR_POINTS];
    int32_t memory[TG_PAIR_MEMORY] = {0};
    double dist, best[3] = {0}, top = -INFINITY;
    int ka = 5 + trial % 2, kb = 1 + trial / 2 % 6;
    tgt_make_shape(&a, ka, &r);
    tgt_make_shape(&b, kb, &r);
    tgt_place_pair(&a, &b, &r, false);
    for (int i = 0; i < 3; i++) a.pos[i] = b.pos[i] + tgt_uniform(&r, -0.2, 0.2);
    tgt_core(&A, &a);
    tgt_core(&B, &b);
    int count = tgt_collide(&a, &b, 0, TG_COLLIDE_POINTS, memory, c, &dist);
    for (int k = 0; k < 500; k++) {
      double n[3], len = 0;
      for (int i = 0; i < 3; i++) {
        n[i] = tgt_normal(&r);
        len += n[i] * n[i];
      }
      for (int i = 0; i < 3; i++) n[i] /= sqrt(len);
      double s = tgt_separation(&A, &B, n);
      if (s > top) { top = s; memcpy(best, n, sizeof best); }
    }
    top = tgt_climb(&A, &B, best, top, 0.3, 1000, &r);
    if (top < 0) check_true(count > 0, "trial %d: %s-%s overlap %g without a contact", trial, tgt_kind_name[ka], tgt_kind_name[kb], top);
    if (count == 0) continue;
    all++;
    exact += dist >= top - 1e-9;
    check_true(dist >= top - 1e-4, "trial %d: %s-%s depth %g, a climb finds %g", trial, tgt_kind_name[ka], tgt_kind_name[kb], dist, top);
  }
  print_message("as good as a climb in %d of %d\n", exact, all);
  check_true(exact >= 0.99 * all, "exact %d of %d", exact, all);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(on_plane), cmocka_unit_test(resting_foot), cmocka_unit_test(on_box), cmocka_unit_test(box_on_cylinder),
    cmocka_unit_test(cylinders), cmocka_unit_test(round_on_cylinder), cmocka_unit_test(ellipsoid_as_sphere), cmocka_unit_test(ellipsoids),
    cmocka_unit_test(memory_holds), cmocka_unit_test(lattice), cmocka_unit_test(deepest),
  };
  return cmocka_run_group_tests(tests, tgt_build_meshes, tgt_free_meshes);
}
