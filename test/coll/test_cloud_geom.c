// test_cloud_geom.c: clouds of a model's geoms: at their sizes and scales, of meshes and hulls, refused by names.
#include "coll/clouds/cloud_geom.h"

#include <string.h>

#include "support/alloc.h"
#include "support/check.h"

static const double tetra[] = {0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1};
static const int tetra_face[] = {0, 2, 1, 0, 1, 3, 0, 3, 2, 1, 2, 3};

static int add_geom(tgDesc *d, tgGeomType type, int mesh, const char *name) {
  int b = tg_desc_add_body(d, 0, NULL);
  tg_desc_add_joint(d, b, TG_JOINT_FREE, NULL);
  int g = tg_desc_add_geom(d, b, type, name);
  for (int i = 0; i < 3 && mesh < 0; i++) d->geom[g].size[i] = 0.1 * (i + 1);
  d->geom[g].mesh = mesh;
  d->body[b].has_inertial = true;
  d->body[b].mass = 1;
  for (int i = 0; i < 3; i++) d->body[b].inertia[i] = 1;
  return g;
}

static tgModel *some_model(void) {
  tgDesc *d = tg_desc_create(NULL);
  tgError e = {0};
  int mesh = tg_desc_add_mesh(d, "tetra", tetra, 4, tetra_face, 4), points = tg_desc_add_mesh(d, "points", tetra, 4, NULL, 0);
  int open = tg_desc_add_mesh(d, "cup", tetra, 4, tetra_face, 3);
  add_geom(d, TG_GEOM_BOX, -1, "box");
  add_geom(d, TG_GEOM_MESH, mesh, "tetra");
  add_geom(d, TG_GEOM_MESH, points, "hull");
  add_geom(d, TG_GEOM_MESH, open, "cup");
  tgModel *m = tg_model_compile(d, NULL, &e);
  check_true(m != NULL, "%s", e.text);
  tg_desc_free(d);
  return m;
}

static int find(const tgModel *m, const char *name) {
  int g = tg_model_find(m, TG_THING_GEOM, name);
  assert_true(g >= 0);
  return g;
}

static double area(const tgCloud *c) {
  double sum = 0;
  for (int i = 0; i < c->n; i++) sum += c->area[i];
  return sum;
}

static void test_areas(void **state) {
  (void)state;
  tgModel *m = some_model();
  tgCloud box, mesh, hull, scaled;
  tgError e = {0};
  double sides = 1.5 + 0.5 * sqrt(3);
  assert_int_equal(tgi_cloud_of_geom(m, find(m, "box"), 0.05, NULL, &box, &e), TG_OK);
  check_close(area(&box), 8 * (0.02 + 0.06 + 0.03), 1e-13);
  check_true(tgi_cloud_of_geom(m, find(m, "tetra"), 0.1, NULL, &mesh, &e) == TG_OK, "%s", e.text);
  check_close(area(&mesh), sides, 1e-12);
  check_true(tgi_cloud_of_geom(m, find(m, "hull"), 0.1, NULL, &hull, &e) == TG_OK, "%s", e.text);
  check_close(area(&hull), sides, 1e-12);
  tgModel twice = *m;
  tgReal scale[12];
  for (int k = 0; k < 12; k++) scale[k] = 2;
  twice.geom_scale = scale;
  assert_int_equal(tgi_cloud_of_geom(&twice, find(m, "tetra"), 0.1, NULL, &scaled, &e), TG_OK);
  check_close(area(&scaled), 4 * sides, 1e-12);
  assert_true(scaled.n > 3 * mesh.n);
  tgi_cloud_free(&box);
  tgi_cloud_free(&mesh);
  tgi_cloud_free(&hull);
  tgi_cloud_free(&scaled);
  tg_model_free(m);
}

static void test_refused(void **state) {
  (void)state;
  tgModel *m = some_model();
  tgCloud c;
  tgError e = {0};
  assert_int_equal(tgi_cloud_of_geom(m, find(m, "cup"), 0.1, NULL, &c, &e), TG_ERR_INVALID);
  // the open side is face 3 of the whole: 1 2 3
  assert_non_null(strstr(e.text, "geom 'cup' (mesh 'cup')"));
  assert_non_null(strstr(e.text, "the first between vertices 1 (1 0 0) and 2 (0 1 0) of face 0"));
  assert_int_equal(tgi_cloud_of_geom(m, find(m, "box"), 1e-5, NULL, &c, &e), TG_ERR_LIMIT);
  assert_non_null(strstr(e.text, "geom 'box'"));
  tg_model_free(m);
}

static void test_memory(void **state) {
  (void)state;
  tgModel *m = some_model();
  static const char *const names[] = {"box", "tetra", "hull"};
  for (int k = 0; k < 3; k++) {
    tgStatus st = TG_ERR_MEMORY;
    for (long fail = 1; st == TG_ERR_MEMORY; fail++) {
      tgtAlloc a;
      tgCloud c;
      tgt_alloc_init(&a);
      a.fail_at = fail;
      st = tgi_cloud_of_geom(m, find(m, names[k]), 0.5, &a.hooks, &c, NULL);
      tgi_cloud_free(&c);
      assert_int_equal(a.blocks, 0);
    }
    assert_int_equal(st, TG_OK);
  }
  tg_model_free(m);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_areas), cmocka_unit_test(test_refused), cmocka_unit_test(test_memory)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
