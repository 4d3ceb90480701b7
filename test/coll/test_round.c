// test_round.c: sphere, capsule and plane: closest points by an independent way, named cases.
#include "coll/coll_support.h"

// distance of two segments by projected gradient, an independent way: minimise |a + s u - b - t w|^2 over the unit square
static double segment_oracle(const double *a, const double *u, const double *b, const double *w) {
  double r[3], uu = 0, ww = 0, s = 0.5, t = 0.5, d = 0;
  for (int i = 0; i < 3; i++) { uu += u[i] * u[i]; ww += w[i] * w[i]; }
  for (int it = 0; it < 20000; it++) {
    double gs = 0, gt = 0;
    d = 0;
    for (int i = 0; i < 3; i++) {
      r[i] = a[i] + s * u[i] - b[i] - t * w[i];
      d += r[i] * r[i];
      gs += r[i] * u[i];
      gt -= r[i] * w[i];
    }
    s = fmin(fmax(s - gs / (uu + ww + 1e-9), 0), 1);
    t = fmin(fmax(t - gt / (uu + ww + 1e-9), 0), 1);
  }
  return sqrt(d);
}

static void capsule_gap(void **state) {
  (void)state;
  tgtRandom r = {14};
  for (int trial = 0; trial < 100; trial++) {
    tgtShape s[2];
    double x[2][3], u[2][3], dist;
    for (int k = 0; k < 2; k++) {
      tgt_make_shape(&s[k], 2, &r);
      tgt_random_pose(&r, &s[k], 0.6);
      for (int i = 0; i < 3; i++) {
        double h = tgRe(s[k].size[1] * s[k].mat[3 * i + 2]);
        x[k][i] = tgRe(s[k].pos[i]) - h;
        u[k][i] = 2 * h;
      }
    }
    int32_t memory[TG_PAIR_MEMORY] = {0};
    tgContactPoint c[TG_PAIR_POINTS];
    int n = tgt_collide(&s[0], &s[1], 10, TG_COLLIDE_POSE, memory, c, &dist);
    assert_int_equal(n, 1);
    check_close(dist + tgRe(s[0].size[0] + s[1].size[0]), segment_oracle(x[0], u[0], x[1], u[1]), 1e-6);
    check_close(dist, c[0].gap, 1e-14);
    for (int k = 0; k < 6; k++) {  // envelope: d gap = n.(w cross p + v) for A
      tgReal e[6] = {0}, v[3];
      e[k] = 1;
      tgi_sp_point_velocity(v, e, c[0].p);
      check_close(tgi_v3_dot(c[0].n, v), c[0].D[6][k], 1e-12);
      check_close(-tgi_v3_dot(c[0].n, v), c[0].D[6][6 + k], 1e-12);
    }
  }
}

// crossing (X), end against side (T), corner (L): known points
static void capsule_capsule(void **state) {
  (void)state;
  tgtShape a, b;
  tgContactPoint c[TG_PAIR_POINTS];
  int32_t memory[TG_PAIR_MEMORY] = {0};
  tgt_set_capsule(&b, 0.1, 0.5, 0, 0, 0, 0);
  tgt_set_capsule(&a, 0.2, 0.5, 0.1, 0, 0.29, 1);                             // X
  assert_int_equal(tgt_collide(&a, &b, 0, TG_COLLIDE_POSE, memory, c, NULL), 1);
  check_close(c[0].gap, -0.01, 1e-15);
  check_close(c[0].n[2], 1, 1e-15);
  check_close(c[0].p[0], 0.1, 1e-15);
  check_close(c[0].p[2], 0.29 / 3, 1e-15);
  tgt_set_capsule(&a, 0.2, 0.5, 0.1, 0, 0.79, 2);                             // T
  assert_int_equal(tgt_collide(&a, &b, 0, TG_COLLIDE_POSE, memory, c, NULL), 1);
  check_close(c[0].gap, -0.01, 1e-15);
  check_close(c[0].n[2], 1, 1e-15);
  tgt_set_capsule(&a, 0.2, 0.5, 0.6, 0, 0.6, 2);                              // L: ends (0.5,0,0) and (0.6,0,0.1)
  assert_int_equal(tgt_collide(&a, &b, 0, TG_COLLIDE_POSE, memory, c, NULL), 1);
  check_close(c[0].gap, 0.1 * sqrt(2) - 0.3, 1e-15);
  check_close(c[0].n[0], sqrt(0.5), 1e-15);
  check_close(c[0].n[2], sqrt(0.5), 1e-15);
  assert_false(c[0].tie);
}

// nothing has a direction here: a unit normal all the same, called a tie, finite derivatives, the same each time
static void coincident(void **state) {
  (void)state;
  tgtShape s[3], b;
  tgContactPoint c[TG_PAIR_POINTS], d[TG_PAIR_POINTS];
  memset(s, 0, sizeof s);
  s[0].type = TG_GEOM_SPHERE;
  s[0].size[0] = 0.3;
  tgi_m3_identity(s[0].mat);
  tgt_set_capsule(&s[1], 0.1, 0.4, 0, 0, 0, 0);
  tgt_set_capsule(&s[2], 0.2, 0.4, 0, 0, 0, 1);
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < 3; j++) {
      int32_t memory[TG_PAIR_MEMORY] = {0};
      b = s[j];
      assert_int_equal(tgt_collide(&s[i], &b, 0, TG_COLLIDE_POSE, memory, c, NULL), 1);
      assert_int_equal(tgt_collide(&s[i], &b, 0, TG_COLLIDE_POSE, memory, d, NULL), 1);
      assert_memory_equal(c[0].D, d[0].D, sizeof c[0].D);
      check_true(c[0].tie, "coincident %d %d is a tie", i, j);
      check_close(tgi_v3_norm(c[0].n), 1, 1e-14);
      check_close(c[0].gap, -tgRe(s[i].size[0] + s[j].size[0]), 1e-14);
      for (int k = 0; k < 7 * 12; k++) assert_true(tgFinite((&c[0].D[0][0])[k]));
    }
}

// two ends on a plane, in the order start, end, each with its own depth; a plane has no end
static void plane_capsule(void **state) {
  (void)state;
  tgtShape plane, a;
  tgContactPoint c[TG_PAIR_POINTS];
  int32_t memory[TG_PAIR_MEMORY] = {0};
  double dist;
  memset(&plane, 0, sizeof plane);
  plane.type = TG_GEOM_PLANE;
  tgi_m3_identity(plane.mat);
  tgt_set_capsule(&a, 0.1, 0.5, 1e6, 0, 0.1, 0);
  assert_int_equal(tgt_collide(&a, &plane, 0, TG_COLLIDE_POSE, memory, c, &dist), 2);
  check_close(c[0].p[0], 1e6 - 0.5, 1e-9);
  check_close(c[1].p[0], 1e6 + 0.5, 1e-9);
  check_close(c[0].n[2], 1, 0);
  check_close(dist, 0, 1e-15);
  a.pos[2] = -1e3;                                 // deep is still a contact
  assert_int_equal(tgt_collide(&plane, &a, 0, TG_COLLIDE_POSE, memory, c, &dist), 2);
  check_close(c[0].gap, -1000.1, 1e-9);
  check_close(c[0].n[2], -1, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(capsule_gap), cmocka_unit_test(capsule_capsule), cmocka_unit_test(coincident),
                                     cmocka_unit_test(plane_capsule)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
