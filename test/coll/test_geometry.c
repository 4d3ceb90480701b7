// test_geometry.c: intersections of geoms, point clouds of surfaces and soft signed distances, as a program asks for
// them (tangere/geometry.h).
#include <string.h>

#include "support/check.h"
#include "tangere/geometry.h"

// two boxes and a floor at depths on both sides of touching, and boxes that may not touch
static void intersections_are_counted(void **state) {
  (void)state;
  static const char text[] =
      "<mujoco><worldbody><geom name='floor' type='plane' size='1 1 1'/>"
      "<body name='a' pos='0 0 1'><freejoint/><geom type='box' size='0.5 0.5 0.5'/></body>"
      "<body name='b' pos='0 0 3'><freejoint/><geom type='box' size='0.5 0.5 0.5'/></body>"
      "<body name='c' pos='0 0 1'><freejoint/><geom type='box' size='0.5 0.5 0.5' contype='0' conaffinity='0'/></body>"
      "</worldbody></mujoco>";
  tgError e = {0};
  tgDesc *d = tg_desc_load_memory("scene", text, sizeof text - 1, NULL, &e);
  tgModel *m = d != NULL ? tg_model_compile(d, NULL, &e) : NULL;
  check_true(m != NULL, "%s", e.text);
  tgIntersections *t = tg_intersections_create(m, &e);
  assert_non_null(t);
  static const struct { double za, zb; int want; } at[] = {{1, 3, 0}, {0.5, 3, 1}, {0.5 + 1e-15, 3, 0}, {1, 2, 1},
                                                           {1, 2 + 1e-15, 0}, {1, 1.9, 1}, {0.25, 0.75, 2},
                                                           {0.2, 0.2, 3}};
  int pairs[3][2];
  double q[8 * 21], *sum = q;
  long want = 0;
  tgSim *s = tg_sim_create(m, NULL, NULL, NULL);
  for (int i = 0; i < 8; i++) {
    double *x = tg_sim_qpos(s);
    x[2] = at[i].za;
    x[9] = at[i].zb;
    x[7] = i == 7 ? 0.1 : 0;
    assert_int_equal(tg_sim_forward(s), TG_OK);
    assert_int_equal(tg_intersections_count(t, s, pairs, 3), at[i].want);
    // the pairs that are counted are named: geom 0 is the floor, 1 and 2 the boxes
    for (int k = 0; k < at[i].want; k++) assert_true(pairs[k][0] >= 0 && pairs[k][1] <= 2 && pairs[k][0] != pairs[k][1]);
    if (i == 1) assert_true(pairs[0][0] + pairs[0][1] == 1);
    memcpy(sum + 21 * i, x, 21 * sizeof *x);
    want += at[i].want;
  }
  assert_int_equal(tg_intersections_of_motion(m, q, 7), want);
  tg_sim_free(s);
  tg_intersections_free(t);
  tg_model_free(m);
  tg_desc_free(d);
}

// a box inside a larger one, where no faces meet, and beside it
static void one_inside_the_other(void **state) {
  (void)state;
  static const char text[] =
      "<mujoco><worldbody><body><freejoint/><geom type='box' size='0.5 0.5 0.5'/></body><body><freejoint/>"
      "<geom type='box' size='0.1 0.1 0.1'/></body></worldbody></mujoco>";
  tgError e = {0};
  tgDesc *d = tg_desc_load_memory("scene", text, sizeof text - 1, NULL, &e);
  tgModel *m = tg_model_compile(d, NULL, &e);
  check_true(m != NULL, "%s", e.text);
  tgIntersections *t = tg_intersections_create(m, &e);
  tgSim *s = tg_sim_create(m, NULL, NULL, &e);
  static const struct { double x, y; int want; } at[] = {{0, 0, 1}, {0.3, -0.3, 1}, {0.45, 0, 1}, {0.61, 0, 0}, {0.61, 0.61, 0}};
  for (size_t i = 0; i < sizeof at / sizeof *at; i++) {
    tg_sim_qpos(s)[7] = at[i].x;
    tg_sim_qpos(s)[8] = at[i].y;
    assert_int_equal(tg_sim_forward(s), TG_OK);
    assert_int_equal(tg_intersections_count(t, s, NULL, 0), at[i].want);
  }
  tg_sim_free(s);
  tg_intersections_free(t);
  tg_model_free(m);
  tg_desc_free(d);
}

// A mesh of two tetrahedra, and a box into which only the second goes; wound either way.
static void a_part_inside_the_other(void **state) {
  (void)state;
  static const char text[] =
      "<mujoco><asset><mesh name='two' inertia='shell' vertex='-2 0 0 -1.9 0 0 -2 .1 0 -2 0 .1 0 0 0 .1 0 0 0 .1 0 0 0 .1' "
      "face='0 2 1 0 1 3 0 3 2 1 2 3 4 6 5 4 5 7 4 7 6 5 6 7'/>"
      "<mesh name='aout' vertex='-.5 -.5 -.5 3 -.5 -.5 -.5 3 -.5 -.5 -.5 3' face='0 2 1 0 1 3 0 3 2 1 2 3'/>"
      "<mesh name='turn' inertia='shell' vertex='-.5 -.5 -.5 3 -.5 -.5 -.5 3 -.5 -.5 -.5 3' face='0 1 2 0 3 1 0 2 3 1 3 2'/></asset>"
      "<worldbody><body><freejoint/><geom type='mesh' mesh='two'/></body>"
      "<body><freejoint/><geom type='mesh' mesh='MESH'/></body></worldbody></mujoco>";
  for (int k = 0; k < 2; k++) {
    char xml[sizeof text];
    memcpy(xml, text, sizeof text);
    memcpy(strstr(xml, "MESH"), k == 0 ? "aout" : "turn", 4);
    tgError e = {0};
    tgDesc *d = tg_desc_load_memory("scene", xml, strlen(xml), NULL, &e);
    check_true(d != NULL, "%s", e.text);
    tgModel *m = tg_model_compile(d, NULL, &e);
    check_true(m != NULL, "%s", e.text);
    tgIntersections *t = tg_intersections_create(m, &e);
    tgSim *s = tg_sim_create(m, NULL, NULL, &e);
    static const struct { double x; int want; } at[] = {{0, 1}, {-1, 1}, {-3, 1}, {9, 0}, {1, 0}, {-2.3, 1}, {-4.5, 0}};
    for (size_t i = 0; i < sizeof at / sizeof *at; i++) {
      tg_sim_qpos(s)[0] = -at[i].x;
      assert_int_equal(tg_sim_forward(s), TG_OK);
      check_true(tg_intersections_count(t, s, NULL, 0) == at[i].want, "way %d, %g", k, at[i].x);
    }
    tg_sim_free(s);
    tg_intersections_free(t);
    tg_model_free(m);
    tg_desc_free(d);
  }
}

// a box that a simulation makes larger reaches the floor: sizes are the simulation's
static void sizes_are_those_of_the_sim(void **state) {
  (void)state;
  static const char text[] =
      "<mujoco><worldbody><geom type='plane' size='1 1 1'/><body pos='0 0 1'><freejoint/>"
      "<geom type='box' size='0.5 0.5 0.5'/></body></worldbody></mujoco>";
  tgError e = {0};
  tgDesc *d = tg_desc_load_memory("scene", text, sizeof text - 1, NULL, &e);
  tgModel *m = tg_model_compile(d, NULL, &e);
  check_true(m != NULL, "%s", e.text);
  tgIntersections *t = tg_intersections_create(m, &e);
  tgSim *s = tg_sim_create(m, NULL, NULL, &e);
  assert_int_equal(tg_sim_forward(s), TG_OK);
  assert_int_equal(tg_intersections_count(t, s, NULL, 0), 0);
  tg_sim_param(s, "geom_size", NULL, NULL)[5] = 1.01;
  assert_int_equal(tg_sim_forward(s), TG_OK);
  assert_int_equal(tg_intersections_count(t, s, NULL, 0), 1);
  tg_sim_free(s);
  tg_intersections_free(t);
  tg_model_free(m);
  tg_desc_free(d);
}

// a tetrahedron's patches cover it once, and its points are even; a mesh with a hole is refused by its edge
static void clouds_cover_their_surface(void **state) {
  (void)state;
  static const double vert[12] = {0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1}, half[3] = {0.5, 0.4, 0.3};
  static const int face[12] = {0, 2, 1, 0, 1, 3, 0, 3, 2, 1, 2, 3};
  tgError e = {0};
  tgPointCloud *mesh = tg_point_cloud_mesh(vert, 4, face, 4, 0.1, &e), *box = tg_point_cloud_primitive(TG_GEOM_BOX, half, 0.1, &e);
  check_true(mesh != NULL && box != NULL, "%s", e.text);
  const double want[2] = {1.5 + sqrt(3) / 2, 8 * (0.5 * 0.4 + 0.4 * 0.3 + 0.3 * 0.5)};
  for (int k = 0; k < 2; k++) {
    tgPoints p = tg_point_cloud_points(k == 0 ? mesh : box);
    double area = 0;
    for (int i = 0; i < p.n; i++) area += p.area[i];
    check_close(area, want[k], 1e-10);
    assert_true(p.n > 0.5 * area / 0.01 && p.n < 2 * area / 0.01);
    assert_int_equal(p.corner_at[0], 0);
    for (int i = 0; i < p.corner_at[p.n]; i++) assert_true(p.corner[i] >= 0 && p.corner[i] < p.nvert);
    tgCloudQuality q;
    assert_int_equal(tg_point_cloud_quality(k == 0 ? mesh : box, &q), TG_OK);
    check_true(q.near_mean > 0.7 && q.near_mean < 1.3 && q.area_mean > 0.5 && q.area_mean < 1.5,
               "spacing %g, area %g of what was asked", q.near_mean, q.area_mean);
    // of 1.2 m times 4 on each side of the box, in patches of about a spacing, points in pairs about half of one from it
    if (k == 1) check_true(q.ncrease > 48 && q.ncrease < 200 && q.crease_inset > 0.3 && q.crease_inset < 0.7 && q.crease_worst < 1e-9,
                           "%d creases, %g from them, uneven by %g", q.ncrease, q.crease_inset, q.crease_worst);
  }
  assert_null(tg_point_cloud_mesh(vert, 4, face, 3, 0.1, &e));
  assert_int_equal(e.status, TG_ERR_INVALID);
  tg_point_cloud_free(mesh);
  tg_point_cloud_free(box);
}

// of one point it is the distance from its plane; of a dense ball the distance from that less eps/(2 R); gradient
// and Hessian by differences
static void soft_distances(void **state) {
  (void)state;
  const double p[3] = {1, 2, 3}, n[3] = {0, 0.6, 0.8}, x[3] = {1.3, 2.5, 2.8}, radius[3] = {0.5, 0, 0}, eps = 1e-3;
  check_close(tg_soft_distance(1, p, n, 0.1, x, NULL, NULL), 0.6 * 0.5 - 0.8 * 0.2, 1e-15);
  tgPointCloud *ball = tg_point_cloud_primitive(TG_GEOM_SPHERE, radius, 0.02, NULL);
  tgPoints c = tg_point_cloud_points(ball);
  const double at[3] = {0.3, 0.2, 0.37};
  double g[3], H[9], r = sqrt(0.09 + 0.04 + 0.37 * 0.37), h = 1e-5;
  double phi = tg_soft_distance(c.n, c.position, c.normal, eps, at, g, H);
  check_close(phi, r - 0.5 - eps / (2 * 0.5), 1e-4);
  for (int k = 0; k < 3; k++) {
    double up[3] = {at[0], at[1], at[2]}, down[3] = {at[0], at[1], at[2]}, gu[3], gd[3];
    up[k] += h;
    down[k] -= h;
    double a = tg_soft_distance(c.n, c.position, c.normal, eps, up, gu, NULL),
           b = tg_soft_distance(c.n, c.position, c.normal, eps, down, gd, NULL);
    check_close(g[k], (a - b) / (2 * h), 1e-7);
    for (int j = 0; j < 3; j++) check_close(H[3 * k + j], (gu[j] - gd[j]) / (2 * h), 1e-4);
  }
  tg_point_cloud_free(ball);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(intersections_are_counted),
                                     cmocka_unit_test(one_inside_the_other),
                                     cmocka_unit_test(a_part_inside_the_other),
                                     cmocka_unit_test(sizes_are_those_of_the_sim),
                                     cmocka_unit_test(clouds_cover_their_surface), cmocka_unit_test(soft_distances)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
