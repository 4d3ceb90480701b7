// test_surface.c: surfaces and trees of a whole model: which geoms have them, which share, what is refused and how it is named.
#include "coll/surfaces/surface.h"

#include <string.h>

#include "support/alloc.h"
#include "test/support/check.h"

static tgModel *compile(tgDesc *d) {
  tgError e = {0};
  tgModel *m = tg_model_compile(d, NULL, &e);
  check_true(m != NULL, "%s", e.text);
  tg_desc_free(d);
  return m;
}

static int add_geom(tgDesc *d, int body, tgGeomType type, double a, double b, double c, const char *name) {
  int g = tg_desc_add_geom(d, body, type, name);
  d->geom[g].size[0] = a;
  d->geom[g].size[1] = b;
  d->geom[g].size[2] = c;
  return g;
}

static int add_mesh_geom(tgDesc *d, int body, int mesh, const char *name) {
  int g = add_geom(d, body, TG_GEOM_MESH, 0, 0, 0, name);
  d->geom[g].mesh = mesh;
  d->geom[g].density = 0;
  return g;
}

static int add_body(tgDesc *d, const char *name) {
  int b = tg_desc_add_body(d, 0, name);
  tg_desc_add_joint(d, b, TG_JOINT_FREE, NULL);
  return b;
}

static int geom_named(const tgModel *m, const char *name) {
  int g = tg_model_find(m, TG_THING_GEOM, name);
  assert_true(g >= 0);
  return g;
}

static const double tetra[] = {0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1};
static const int tetra_face[] = {0, 2, 1, 0, 1, 3, 0, 3, 2, 1, 2, 3};

static void test_shapes(void **state) {
  (void)state;
  tgDesc *d = tg_desc_create(NULL);
  add_geom(d, 0, TG_GEOM_PLANE, 0, 0, 0, "floor");
  int mesh = tg_desc_add_mesh(d, "tetra", tetra, 4, tetra_face, 4), points = tg_desc_add_mesh(d, "points", tetra, 4, NULL, 0);
  for (int i = 0; i < 2; i++) {
    int b = add_body(d, NULL);
    add_geom(d, b, TG_GEOM_SPHERE, i + 1, 0, 0, i == 0 ? "ball" : "large ball");
    add_geom(d, b, TG_GEOM_BOX, 1, 2, 3, i == 0 ? "box" : "same box");
    add_mesh_geom(d, b, mesh, i == 0 ? "mesh" : "same mesh");
  }
  int b = add_body(d, NULL);
  add_geom(d, b, TG_GEOM_BOX, 1, 2, 4, "other box");
  int picture = add_geom(d, b, TG_GEOM_BOX, 1, 2, 3, "picture");
  d->geom[picture].visual_only = true;
  add_mesh_geom(d, b, points, "hull");
  tgModel *m = compile(d);
  tgiShapes k;
  tgError e = {0};
  check_true(tgi_shapes_make(m, TGI_CHORD, false, &k, &e) >= 0, "%s", e.text);
  assert_int_equal(k.nsurface, 5);
  assert_null(k.surface[geom_named(m, "floor")]);
  assert_null(k.surface[geom_named(m, "picture")]);
  assert_ptr_equal(k.surface[geom_named(m, "ball")], k.surface[geom_named(m, "large ball")]);
  assert_ptr_equal(k.tree[geom_named(m, "box")], k.tree[geom_named(m, "same box")]);
  assert_ptr_equal(k.surface[geom_named(m, "mesh")], k.surface[geom_named(m, "same mesh")]);
  assert_ptr_not_equal(k.surface[geom_named(m, "box")], k.surface[geom_named(m, "other box")]);
  assert_int_equal(k.surface[geom_named(m, "mesh")]->nface, 4);
  assert_int_equal(k.surface[geom_named(m, "hull")]->nface, 4);
  for (int g = 0; g < m->ngeom; g++) assert_int_equal(k.surface[g] == NULL, k.tree[g] == NULL);
  tgi_shapes_free(&k);
  tg_model_free(m);
}

// an open mesh with a hole keeps its own faces, not its hull's; a mesh of nothing but degenerate faces is named
static void test_true_mesh(void **state) {
  (void)state;
  static const int flat[] = {0, 0, 1, 1, 2, 2};
  for (int i = 0; i < 2; i++) {
    tgDesc *d = tg_desc_create(NULL);
    add_geom(d, 0, TG_GEOM_BOX, 1, 1, 1, "table");
    int mesh = tg_desc_add_mesh(d, "cup", tetra, 4, i == 0 ? tetra_face : flat, i == 0 ? 3 : 2), b = add_body(d, "thing");
    add_mesh_geom(d, b, mesh, "bowl");
    d->body[b].mass = 1;
    d->body[b].has_inertial = true;
    for (int j = 0; j < 3; j++) d->body[b].inertia[j] = 1;
    tgModel *m = compile(d);
    tgiShapes k;
    tgError e = {0};
    tgStatus st = tgi_shapes_make(m, TGI_CHORD, false, &k, &e);
    if (i == 0) {
      check_true(st >= 0, "%s", e.text);
      assert_int_equal(k.surface[geom_named(m, "bowl")]->nface, 3);
      tgi_shapes_free(&k);
    } else {
      assert_int_equal(st, TG_ERR_INVALID);
      check_true(strstr(e.text, "bowl") != NULL && strstr(e.text, "degenerate") != NULL, "'%s'", e.text);
    }
    tg_model_free(m);
  }
}

// every allocation fails once: nothing is left behind
static void test_memory(void **state) {
  (void)state;
  tgtAlloc a;
  tgDesc *d = tg_desc_create(NULL);
  int mesh = tg_desc_add_mesh(d, "tetra", tetra, 4, tetra_face, 4),
      points = tg_desc_add_mesh(d, "points", tetra, 4, NULL, 0), b = add_body(d, NULL);
  add_geom(d, 0, TG_GEOM_SPHERE, 1, 0, 0, "ball");
  add_geom(d, 0, TG_GEOM_CYLINDER, 1, 1, 0, "can");
  add_geom(d, b, TG_GEOM_CAPSULE, 1, 1, 0, "pill");
  add_mesh_geom(d, b, mesh, "mesh");
  add_mesh_geom(d, b, points, "hull");
  tgt_alloc_init(&a);
  tgModel *m = tg_model_compile(d, &a.hooks, NULL);
  assert_non_null(m);
  tg_desc_free(d);
  tgStatus st = TG_ERR_MEMORY;
  long blocks = a.blocks, k = 0;
  while (st < 0) {
    tgiShapes shapes;
    tgError e = {0};
    a.calls = 0;
    a.fail_at = ++k;
    st = tgi_shapes_make(m, TGI_CHORD, false, &shapes, &e);
    check_true(st >= 0 || st == TG_ERR_MEMORY, "%s", e.text);
    check_true(st >= 0 || e.text[0] != '\0', "allocation %ld has no text", k);
    tgi_shapes_free(&shapes);
    assert_int_equal(a.blocks, blocks);
  }
  check_true(k > 20, "only %ld allocations", k);
  tg_model_free(m);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_shapes), cmocka_unit_test(test_true_mesh), cmocka_unit_test(test_memory)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
