// test_explicit_points.c: the adjoint of a step in single points of a surface, their positions and normals, by moving
// each of a few in turn: complex step in the complex build, Ridders else; through every integrator, both forms of the
// force and a mesh; what has no points.
#include <stdlib.h>

#include "contact/softmin/soft_scene.h"
#include "contact/softmin/softmin.h"
#include "support/tree.h"
#include "tangere/step.h"

#ifdef TG_COMPLEX
static const double tolerance = 1e-10;
#else
static const double tolerance = 1e-7;
#endif
static const double h = 0.001;
enum { PROBES = 12 };

static const char *const soft_block =
    "<mujoco><asset><mesh name='wedge' vertex='0 0 0 .2 0 0 0 .2 0 .2 .2 0 0 0 .15 .2 0 .15 0 .2 .1 .2 .2 .1' face='0 "
    "2 1 1 2 3 4 5 6 5 7 6 0 1 4 1 5 4 2 6 3 3 6 7 0 4 2 2 4 6 1 3 5 3 7 5'/>"
    "</asset><worldbody><geom type='box' size='.5 .5 .1' pos='0 0 -.1' friction='.5'/>"
    "<body pos='-.1 -.1 -.005'><freejoint/><geom type='mesh' mesh='wedge' mass='1' friction='.4'/></body></worldbody></mujoco>";

typedef struct Probe { Rig *rig; const tgReal *q, *v, *q1; tgReal *number; tgReal nominal; } Probe;

static tgStatus step_with(void *ctx, const tgReal *x, tgReal *y) {
  Probe *k = ctx;
  tgSim *s = k->rig->s;
  memcpy(s->qpos, k->q, (size_t)s->m.nq * sizeof(tgReal));
  memcpy(s->qvel, k->v, (size_t)s->m.nv * sizeof(tgReal));
  *k->number = k->nominal + x[0];
  tgStatus status = tg_sim_step(s, h, NULL);
  *k->number = k->nominal;
  if (status != TG_OK) return status;
  tg_model_difference(s->model, k->q1, s->qpos, y);
  memcpy(y + s->m.nv, s->qvel, (size_t)s->m.nv * sizeof(tgReal));
  return TG_OK;
}

// of dL/dnumber for the number of a point that weighs most, and others
static void check_geom(Rig *rig, int geom, tgtRandom *r, const char *name, double *worst, int *acts) {
  tgSim *s = rig->s;
  int nv = s->m.nv, n = tg_sim_geom_points(s, geom, NULL, NULL);
  assert_true(n > 4);
  tgReal *q = malloc(sizeof *q * (size_t)(2 * s->m.nq + 5 * nv + 6 * n)), *v = q + s->m.nq, *q1 = v + nv,
         *g = q1 + s->m.nq, *d[2] = {g + 2 * nv, g + 2 * nv + 3 * n};
  memcpy(q, s->qpos, (size_t)s->m.nq * sizeof *q);
  memcpy(v, s->qvel, (size_t)nv * sizeof *q);
  tgt_random_vector(r, 2 * nv, g);
  assert_int_equal(tg_sim_step(s, h, NULL), TG_OK);
  memcpy(q1, s->qpos, (size_t)s->m.nq * sizeof *q);
  check_true(tg_sim_step_points_vjp(s, g, g + nv, geom, d[0], d[1]) == TG_OK, "%s: %s", name, tg_sim_error(s)->text);
  for (int kind = 0; kind < 2; kind++) {
    double most = 0;
    int at = 0;
    for (int i = 0; i < 3 * n; i++)
      if (fabs(tgRe(d[kind][i])) > most) most = fabs(tgRe(d[kind][i])), at = i;
    *acts += most > 1e-9;
    for (int k = 0; k < PROBES; k++) {
      int i = k < 3 ? at / 3 * 3 + k : (int)(tgt_next(r) % (uint64_t)(3 * n));
      const tgReal *where[2];
      tg_sim_geom_points(s, geom, &where[0], &where[1]);
      Probe p = {.rig = rig, .q = q, .v = v, .q1 = q1, .number = (tgReal *)(uintptr_t)&where[kind][i], .nominal = where[kind][i]};
      tgiNumDiff diff = {.nx = 1, .nt = 1, .ny = 2 * nv, .map = step_with, .ctx = &p, .step = 1e-4, .analytic = true};
      tgReal *work = malloc(sizeof *work * tgi_numdiff_work(&diff)), zero = 0, one = 1;
      double *D = malloc(sizeof *D * 4 * (size_t)nv), want = 0, doubt = 0;
      assert_int_equal(tgi_numdiff(&diff, &zero, &one, TGI_SIDE_BOTH, D, D + 2 * nv, work), TG_OK);
      for (int j = 0; j < 2 * nv; j++) want += tgRe(g[j]) * D[j], doubt += fabs(tgRe(g[j])) * D[2 * nv + j];
      double off = fmax(0, fabs(want - tgRe(d[kind][i])) - doubt);
      check_true(off <= tolerance * most, "%s: geom %d, %s %d: %.12g, differences %.12g of %.3g", name, geom,
                 kind ? "normal" : "position", i, tgRe(d[kind][i]), want, most);
      *worst = fmax(*worst, most > 0 ? off / most : 0);
      free(work);
      free(D);
    }
  }
  memcpy(s->qpos, q, (size_t)s->m.nq * sizeof *q);
  memcpy(s->qvel, v, (size_t)nv * sizeof *q);
  free(q);
}

static void test_points(void **state) {
  (void)state;
  static const struct { const char *name, *text; tgIntegrator integrator; bool paper; } cases[] = {
      {"heap, euler", soft_heap_small, TG_INTEGRATOR_EULER, false}, {"heap, rk4", soft_heap_small, TG_INTEGRATOR_RK4, false},
      {"heap, explicit, paper", soft_heap_small, TG_INTEGRATOR_EXPLICIT, true}, {"mesh", soft_block, TG_INTEGRATOR_EULER, false}};
  for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
    tgSoftminOptions o = soft_options();
    o.prune = 0;     // points are moved under the engine's feet, which a search over them would not notice
    o.integrator = cases[k].integrator;
    o.form = cases[k].paper ? TG_FORCE_PAPER : TG_FORCE_CONSISTENT;
    Rig rig = rig_of_text(cases[k].text, "softmin", &o.of);
    tgtRandom r = {.s = 70 + k};
    double worst = 0;
    int acts = 0, geoms = 0;
    soft_state(rig.s, &r, 0);
    for (int g = 0; g < rig.s->m.ngeom; g++) {
      if (rig.s->m.geom_type[g] == TG_GEOM_PLANE) continue;
      check_geom(&rig, g, &r, cases[k].name, &worst, &acts);
      geoms++;
    }
    print_message("%-24s %d geoms, worst %.2g\n", cases[k].name, geoms, worst);
    check_true(acts >= geoms, "%s: %d of %d act", cases[k].name, acts, 2 * geoms);
    drop(&rig);
  }
}

static void test_refused(void **state) {
  (void)state;
  tgReal g[64] = {0};
  Rig rig = rig_of_text(soft_heap_small, "softmin", NULL);
  assert_int_equal(tg_sim_geom_points(rig.s, -1, NULL, NULL), 0);
  assert_int_equal(tg_sim_geom_points(rig.s, 99, NULL, NULL), 0);
  assert_int_equal(tg_sim_step_points_vjp(rig.s, g, g, 99, NULL, NULL), TG_ERR_ARG);
  assert_int_equal(tg_sim_step_points_vjp(rig.s, g, g, 1, NULL, NULL), TG_ERR_STATE);
  drop(&rig);
#ifndef TG_COMPLEX
  rig = rig_of_text(soft_heap_small, "lcp", NULL);
  assert_int_equal(tg_sim_geom_points(rig.s, 1, NULL, NULL), 0);
  assert_int_equal(tg_sim_step(rig.s, h, NULL), TG_OK);
  assert_int_equal(tg_sim_step_points_vjp(rig.s, g, g, 1, NULL, NULL), TG_ERR_UNSUPPORTED);
  check_true(strstr(tg_sim_error(rig.s)->text, "geom") != NULL, "'%s'", tg_sim_error(rig.s)->text);
  drop(&rig);
#endif
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_points), cmocka_unit_test(test_refused)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
