// test_damped.c: what the model makes of a scene: fields of meshes kept with the model, the numbers that forces go by, and parameters
// that have no derivative.
#include <stdlib.h>

#include "base/memory.h"
#include "base/threads.h"
#include "contact/damped/damped.h"
#include "sim/param.h"
#include "support/rig.h"

// two geoms of one mesh and scale, one of another scale
static const char *const meshes =
    "<mujoco><asset><mesh name='m' vertex='-.1 -.08 -.05 .1 -.08 -.05 .1 .08 -.05 -.1 .08 -.05 -.03 -.05 .06 .05 .02 .07'/>"
    "<mesh name='n' vertex='-.1 -.08 -.05 .1 -.08 -.05 .1 .08 -.05 -.1 .08 -.05 -.03 -.05 .06 .05 .02 .07' scale='2 2 2'/></asset>"
    "<worldbody><geom type='plane' size='5 5 .1'/><geom name='a' type='mesh' mesh='m' pos='0 0 .3'/>"
    "<body pos='0 0 1'><freejoint/><geom name='b' type='mesh' mesh='m'/></body>"
    "<body pos='0 0 2'><freejoint/><geom name='c' type='mesh' mesh='n'/></body>"
    "<body pos='0 1 2'><freejoint/><geom name='d' size='.1'/></body></worldbody></mujoco>";

static const tgiMeshField *field_of(const tgContact *c, const char *name) {
  return ((const tgiDamped *)c->data)->mesh[tg_model_find(c->model, TG_THING_GEOM, name)];
}

static tgContact *make(const tgModel *m, const char *settings) {
  tgAnyContactOptions o = options_of("damped", settings);
  tgError e = {0};
  tgContact *c = tg_contact_create(m, "damped", &o.of, &e);
  check_true(c != NULL, "%s", e.text);
  return c;
}

// One field for all geoms and contact models that want the same; another for other cells. It is what a model of its own makes.
static void test_kept(void **state) {
  (void)state;
  Rig rig = rig_of_text(meshes, "damped", NULL), own = rig_of_text(meshes, "damped", NULL);
  tgContact *same = make(rig.m, "law=penalty spacing=.03"), *other = make(rig.m, "mesh_cells=12"), *hull = make(rig.m, "mesh=hull");
  assert_ptr_equal(field_of(rig.c, "a"), field_of(rig.c, "b"));
  assert_ptr_not_equal(field_of(rig.c, "a"), field_of(rig.c, "c"));
  assert_ptr_equal(field_of(rig.c, "a"), field_of(same, "a"));
  assert_ptr_equal(field_of(rig.c, "c"), field_of(same, "c"));
  assert_ptr_not_equal(field_of(rig.c, "a"), field_of(other, "a"));
  assert_ptr_not_equal(field_of(rig.c, "a"), field_of(hull, "a"));
  assert_int_equal(field_of(hull, "a")->proxies.n, 0);
  // kept beyond who made it
  const tgiMeshField *kept = field_of(rig.c, "a");
  tg_contact_free(same);
  same = make(rig.m, "");
  assert_ptr_equal(field_of(same, "a"), kept);
  const tgiMeshField *fresh = field_of(own.c, "a");
  assert_ptr_not_equal(fresh, kept);
  assert_int_equal(tgi_distance_grid_bytes(&fresh->grid), tgi_distance_grid_bytes(&kept->grid));
  assert_memory_equal(fresh->grid.coef, kept->grid.coef, tgi_distance_grid_bytes(&kept->grid));
  tg_contact_free(same);
  tg_contact_free(other);
  tg_contact_free(hull);
  drop(&rig);
  drop(&own);
}

enum { THREADS = 4, MADE = 12 };
typedef struct Many { const tgModel *m; tgContact *c[MADE]; } Many;

static void make_one(void *ctx, int worker, int i) {
  (void)worker;
  Many *k = ctx;
  k->c[i] = tg_contact_create(k->m, "damped", NULL, NULL);
}

// threads that make contact models of one model at once have one field
static void test_threads(void **state) {
  (void)state;
  Rig rig = rig_of_text(meshes, "lcp", NULL);
  tgAllocator a = tgi_allocator(NULL);
  tgiPool *pool = tgi_pool_create(THREADS, &a);
  Many k = {.m = rig.m};
  assert_int_equal(tgi_pool_run(pool, MADE, make_one, &k), TG_OK);
  for (int i = 0; i < MADE; i++) {
    assert_non_null(k.c[i]);
    assert_ptr_equal(field_of(k.c[i], "a"), field_of(k.c[0], "b"));
    assert_ptr_equal(field_of(k.c[i], "c"), field_of(k.c[0], "c"));
  }
  for (int i = 0; i < MADE; i++) tg_contact_free(k.c[i]);
  tgi_pool_free(pool);
  drop(&rig);
}

// grids are told once each, with the memory that they take
static void test_grids(void **state) {
  (void)state;
  Rig rig = rig_of_text(meshes, "damped", NULL);
  tgContactGrid g[3];
  assert_true(tg_contact_grid(rig.c, 0, &g[0]) && tg_contact_grid(rig.c, 1, &g[1]));
  assert_false(tg_contact_grid(rig.c, 2, &g[2]));
  assert_int_equal(g[0].geom, tg_model_find(rig.m, TG_THING_GEOM, "a"));
  assert_int_equal(g[1].geom, tg_model_find(rig.m, TG_THING_GEOM, "c"));
  // 32 cells of 0.2 m and of 0.4 m
  for (int i = 0; i < 2; i++) {
    check_close(g[i].spacing, (i + 1) * 0.2 / 32, 1e-12);
    assert_int_equal(g[i].nodes[0], 32 + 1 + 2 * TGI_GRID_MARGIN);
    assert_int_equal(g[i].bytes, 8 * (size_t)g[i].nodes[0] * (size_t)g[i].nodes[1] * (size_t)g[i].nodes[2]);
    check_true(g[i].error > 0 && g[i].error < g[i].spacing, "%g", g[i].error);
    check_true(g[i].depth > 0.02 && g[i].depth < 0.1 * (i + 1), "%g", g[i].depth);
  }
  drop(&rig);
  rig = rig_of_text(meshes, "lcp", NULL);
  assert_false(tg_contact_grid(rig.c, 0, &g[0]));
  drop(&rig);
}

// sigma, k and tau of a ball on a plane, by [math/damped Laws]
static void test_laws(void **state) {
  (void)state;
  static const char *const ball =
      "<mujoco><worldbody><geom type='plane' size='5 5 .1'/><body pos='0 0 1'><freejoint/><geom size='.1' mass='2'/></body></worldbody>"
      "</mujoco>";
  const double N = 2 * 9.80665, gap = 0.002, h = 0.01, tau = 2 * sqrt(gap / 9.80665);
  static const char *const settings[] = {"resting_gap=.002", "resting_gap=.002 rule=midpoint damping_ratio=.5",
                                         "resting_gap=.002 law=penalty", "law=penalty resting_gap=.002 stiffness=800",
                                         "resting_gap=.002 damping_time=.3"};
  const double strength[] = {N * gap, N * gap, N / gap, 800, N * gap}, stiffness[] = {N / gap, N / gap, NAN, NAN, N / gap},
               time[] = {tau, 0.5 * tau - h / 2, tau, 2 * sqrt(2 / 800.0), 0.3};
  for (int i = 0; i < 5; i++) {
    tgAnyContactOptions o = options_of("damped", settings[i]);
    Rig rig = rig_of_text(ball, "damped", &o.of);
    tgContactLaw x;
    assert_true(tg_contact_law(rig.c, 0, h, &x));
    check_close(x.weight, N, 1e-12);
    check_close(x.resting_gap, gap, 1e-12);
    check_close(x.strength, strength[i], 1e-12);
    if (!isnan(stiffness[i])) check_close(x.stiffness, stiffness[i], 1e-12);
    check_close(x.damping_time, time[i], 1e-12);
    assert_false(tg_contact_law(rig.c, 1, h, &x));
    drop(&rig);
  }
  Rig rig = rig_of_text(ball, "lcp", NULL);
  tgContactLaw x;
  assert_false(tg_contact_law(rig.c, 0, h, &x));
  drop(&rig);
}

static bool left_out(const tgParamGrad *p, const char *name, tgError *why) {
  const char *is;
  for (int i = 0; (is = tg_param_grad_left_out(p, i, why)) != NULL; i++)
    if (strcmp(is, name) == 0) return true;
  return false;
}

// A request for all has what has a derivative, as each of them by itself; what has none is told, with the reason.
static void test_all_parameters(void **state) {
  (void)state;
  static const struct { const char *settings; bool vert, gap; } cases[] = {
      {"", false, false}, {"resting_gap=.001 onset=.001 stiffness=1", false, true}};
  for (int i = 0; i < 2; i++) {
    tgAnyContactOptions o = options_of("damped", cases[i].settings);
    Rig rig = rig_of_text(meshes, "damped", &o.of);
    tgError e = {0};
    tgParamGrad *all = tg_param_grad_create_contact(rig.c, NULL, 0, NULL, &e);
    check_true(all != NULL, "%s", e.text);
    assert_int_equal(left_out(all, "contact.resting_gap", &e), !cases[i].gap);
    if (!cases[i].gap) check_true(strstr(e.text, "contact.resting_gap is 0") != NULL, "'%s'", e.text);
    assert_true(left_out(all, "hull_vert", &e));
    check_true(strstr(e.text, "grid") != NULL, "'%s'", e.text);
    assert_null(tg_param_grad_field(all, "hull_vert", NULL, NULL));
    assert_false(left_out(all, "geom_scale", &e));
    tgReal g[64];
    int nv = rig.m->nv, rows, cols, asked = 0;
    for (int k = 0; k < 2 * nv; k++) g[k] = sin(k + 1);
    check_true(tg_sim_step(rig.s, 0.01, NULL) == TG_OK, "%s", rig.s->error.text);
    check_true(tg_sim_step_vjp(rig.s, g, g + nv, NULL, NULL, NULL, all, NULL) == TG_OK, "%s", rig.s->error.text);
    for (int k = 0; tgi_param_name(rig.c, k) != NULL; k++) {
      const char *name = tgi_param_name(rig.c, k);
      tgParamGrad *one = tg_param_grad_create_contact(rig.c, &name, 1, NULL, &e);
      assert_null(tg_param_grad_left_out(one, 0, NULL));
      tgStatus status = tg_sim_step_vjp(rig.s, g, g + nv, NULL, NULL, NULL, one, NULL);
      const tgReal *a = tg_param_grad_field(one, name, &rows, &cols), *b = tg_param_grad_field(all, name, NULL, NULL);
      assert_int_equal(status, b != NULL ? TG_OK : TG_ERR_UNSUPPORTED);
      for (int n = 0; b != NULL && n < rows * cols; n++) check_close(b[n], a[n], 1e-12);
      asked += b != NULL;
      tg_param_grad_free(one);
    }
    check_true(asked > 20, "%d", asked);
    tg_param_grad_free(all);
    drop(&rig);
  }
  // without a grid vertices have one
  tgAnyContactOptions o = options_of("damped", "");
  Rig rig = rig_of_text("<mujoco><asset><mesh name='m' vertex='-.1 -.1 0 .1 -.1 0 0 .1 0 0 0 .1'/></asset><worldbody>"
                        "<geom type='plane' size='1 1 1'/><body pos='0 0 1'><freejoint/><geom type='mesh' mesh='m'/></body></worldbody>"
                        "</mujoco>", "damped", &o.of);
  tgParamGrad *all = tg_param_grad_create_contact(rig.c, NULL, 0, NULL, NULL);
  assert_non_null(tg_param_grad_field(all, "hull_vert", NULL, NULL));
  assert_false(left_out(all, "hull_vert", NULL));
  tg_param_grad_free(all);
  drop(&rig);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_kept), cmocka_unit_test(test_threads), cmocka_unit_test(test_grids),
                                     cmocka_unit_test(test_laws), cmocka_unit_test(test_all_parameters)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
