// test_pair_fast.c: pairs over the points that count against plain sums over all points, on every instruction set and
// point by point; drifting pairs; what is far away; what is everywhere equally near; boxes by their grids; memory.
#include "contact/softmin/pair_fast.h"

#include <stdlib.h>
#include <string.h>

#include "coll/ssdf_clouds.h"
#include "math/isa.h"
#include "math/quat.h"

#define TAU 1e-13
#ifdef TG_COMPLEX
enum { TANGENTS = 1 };
#else
enum { TANGENTS = 0 };
#endif

typedef struct Body {
  tgtCloud c;
  tgiSsdfTree tree;
  tgiSsdfNumbers numbers;
  double eps1, ball;
  bool flat;
  void *grids;
  tgiSoftGrid grid;
} Body;

static Body body(tgtCloud c, double spacing) {
  Body b = {.c = c, .eps1 = spacing * spacing};
  assert_int_equal(tgi_ssdf_tree_make(c.n, c.p, c.normal, NULL, &b.tree), TG_OK);
  b.numbers.node = calloc((size_t)b.tree.nnode, sizeof *b.numbers.node);
  b.numbers.block = calloc((size_t)b.tree.nblock, sizeof *b.numbers.block);
  assert_true(b.numbers.node != NULL && b.numbers.block != NULL);
  tgi_ssdf_tree_numbers(&b.tree, c.p, c.normal, &b.numbers);
  return b;
}
static void body_free(Body *b) {
  tgt_cloud_free(&b->c);
  tgi_ssdf_tree_free(&b->tree);
  free(b->numbers.node);
  free(b->numbers.block);
  free(b->grids);
}

// the engine's own cloud of a box, whose places along the axes its grids are made of; compared with plain sums over its points
static Body gridded(const double half[3], double spacing, double eps1) {
  tgCloud cloud;
  tgLayout l = {.base = NULL};
  assert_int_equal(tgi_cloud_primitive(TG_GEOM_BOX, half, spacing, NULL, &cloud, NULL), TG_OK);
  tgtCloud c = tgt_cloud(cloud.n);
  memcpy(c.p, cloud.p, 3 * (size_t)c.n * sizeof *c.p);
  memcpy(c.normal, cloud.normal, 3 * (size_t)c.n * sizeof *c.normal);
  Body b = body(c, sqrt(eps1));
  tgi_soft_grid_place(NULL, &cloud, &l);
  l = (tgLayout){.base = b.grids = calloc(1, l.used)};
  assert_non_null(b.grids);
  tgi_soft_grid_place(&b.grid, &cloud, &l);
  tgi_soft_grid_set(&b.grid, &cloud, cloud.size, b.eps1);
  tgi_cloud_free(&cloud);
  return b;
}

// SOLID: an exact ball. GRID, PLATE, NARROW: boxes by their grids, the plate one point thick and under a wide kernel
enum { BOX, BALL, TORUS, SOLID, PLANE, GRID, PLATE, NARROW, BODIES };
static Body make(int which) {
  double half[3] = {0.1, 0.06, 0.03};
  if (which == GRID) return gridded(half, 0.01, 1e-4);
  if (which == PLATE) return gridded((double[]){0.1, 0.06, 0.004}, 0.011, 7e-4);
  if (which == NARROW) return gridded((double[]){0.05, 0.07, 0.03}, 0.012, 4e-6);
  if (which == BOX) return body(tgt_cloud_box(half, 0.01), 0.01);
  if (which == BALL) return body(tgt_cloud_sphere(60, 0.012), 0.0055);
  if (which == TORUS) return body(tgt_cloud_torus(0.08, 0.03, 0.012), 0.012);
  if (which == SOLID) {
    Body b = body(tgt_cloud_sphere(200, 0.03), 0.0055);
    b.ball = 0.03;
    return b;
  }
  tgtCloud c = tgt_cloud(1);
  c.normal[2] = 1;
  Body b = body(c, 1);
  b.flat = true;
  return b;
}

#define INDEX_OF(b) {&(b).tree, (b).numbers, (b).grids != NULL ? &(b).grid : NULL}
#define INDEX(s) (tgiSoftIndex[]){INDEX_OF((s)->b[0]), INDEX_OF((s)->b[1])}

typedef struct Scene { Body b[2]; tgReal x[2][3], R[2][9], V[2][6]; tgiSoftPair p; void *work; tgiSoftPlan plan; tgReal *plain; } Scene;

static tgiSoftPlanWork *plan_work(const tgiSsdfTree *a, const tgiSsdfTree *b, tgLayout *l) {
  return tgi_soft_plan_work(a->nblock > b->nblock ? a->nblock : b->nblock, a->n > b->n ? a->n : b->n, l);
}

static size_t plan_bytes(const tgiSsdfTree *a, const tgiSsdfTree *b) {
  tgLayout l = {.base = NULL};
  tgi_soft_plan_place(NULL, a, b, plan_work(a, b, &l), &l);
  return l.used;
}
static void *plan_make(tgiSoftPlan *plan, const tgiSsdfTree *a, const tgiSsdfTree *b) {
  tgLayout l = {.base = aligned_alloc(64, (plan_bytes(a, b) + 63) / 64 * 64)};
  assert_non_null(l.base);
  const tgiSoftPlanWork *work = plan_work(a, b, &l);
  tgi_soft_plan_place(plan, a, b, work, &l);
  return l.base;
}

static void scene_start(Scene *s, int a, int b) {
  *s = (Scene){.b = {make(a), make(b)}};
  s->work = plan_make(&s->plan, &s->b[0].tree, &s->b[1].tree);
  s->plain = calloc((size_t)s->b[0].c.n + (size_t)s->b[1].c.n, sizeof *s->plain);
  assert_true(s->work != NULL && s->plain != NULL);
}
static void scene_end(Scene *s) {
  body_free(&s->b[0]);
  body_free(&s->b[1]);
  free(s->work);
  free(s->plain);
}

static void turn(tgtRandom *r, tgReal R[9]) {
  tgReal q[4], n = 0;
  for (int i = 0; i < 4; i++) {
    q[i] = tgt_normal(r);
    n += q[i] * q[i];
  }
  for (int i = 0; i < 4; i++) q[i] /= tgSqrt(n);
  tgi_quat_to_mat(R, q);
}

// a point of each surface about `gap` apart, normals against each other within a tilt, at random velocities
static void meet(Scene *s, tgtRandom *r, double gap, double tilt) {
  const Body *A = &s->b[0], *B = &s->b[1];
  int i = (int)(tgt_next(r) % (uint64_t)A->c.n), j = (int)(tgt_next(r) % (uint64_t)B->c.n);
  tgReal nA[3], nB[3], axis[3], q[4], M[9], T[9], pA[3], pB[3];
  turn(r, s->R[0]);
  turn(r, s->R[1]);
  tgi_m3_mulv(nA, s->R[0], A->c.normal + 3 * i);
  tgi_m3_mulv(nB, s->R[1], B->c.normal + 3 * j);
  // turns B so that nB becomes -nA, about
  tgi_v3_cross(axis, nB, nA);
  double sine = tgRe(tgi_v3_norm(axis)), angle = atan2(sine, tgRe(tgi_v3_dot(nB, nA))) + TG_PI;
  for (int k = 0; k < 3; k++) axis[k] = axis[k] / sine * angle + tilt * tgt_normal(r);
  tgi_quat_exp(q, axis);
  tgi_quat_to_mat(M, q);
  tgi_m3_mul(T, M, s->R[1]);
  tgi_m3_copy(s->R[1], T);
  tgi_m3_mulv(pA, s->R[0], A->c.p + 3 * i);
  tgi_m3_mulv(pB, s->R[1], B->c.p + 3 * j);
  for (int k = 0; k < 3; k++) {
    s->x[0][k] = tgt_uniform(r, -1, 1);
    s->x[1][k] = s->x[0][k] + pA[k] + gap * nA[k] - pB[k];
  }
  for (int k = 0; k < 12; k++) s->V[k / 6][k % 6] = tgt_uniform(r, -0.3, 0.3);
}

static void set_pair(Scene *s, bool paper) {
  s->p = (tgiSoftPair){.law = {.k = 4000, .eps = 3e-4, .v_d = 0.1, .v_s = 0.01, .mu = 0.5, .paper = paper}, .eps2 = 5e-4};
  for (int k = 0; k < 2; k++)
    s->p.side[k] = (tgiSoftSide){.surface = {s->b[k].c.n, s->b[k].c.p, s->b[k].c.normal, s->b[k].eps1, s->b[k].ball},
                                 .x = s->x[k], .R = s->R[k], .V = s->V[k], .flat = s->b[k].flat};
}

static double largest(const tgReal *a, int n) {
  double most = 0;
  for (int i = 0; i < n; i++) most = fmax(most, fabs(tgRe(a[i])));
  return most;
}

// values, and in the complex build the tangents that they carry, each to the largest of its kind
static void compare(const char *what, const tgReal *a, const tgReal *b, int n, double scale, double tol) {
  double tangent = scale * 1e-20;
  for (int i = 0; i < n; i++) tangent = fmax(tangent, fabs(tgIm(b[i])));
  for (int i = 0; i < n; i++)
    check_true(fabs(tgRe(a[i] - b[i])) <= tol * scale && fabs(tgIm(a[i] - b[i])) <= tol * tangent,
               "%s %d: %.17g %+.17g i, plainly %.17g %+.17g i of %.3g, %.3g", what, i, tgRe(a[i]), tgIm(a[i]),
               tgRe(b[i]), tgIm(b[i]), scale, tangent);
}

static const int pairs[][2] = {{BOX, PLANE}, {PLANE, TORUS}, {BOX, BALL}, {BALL, TORUS}, {BOX, BOX}, {TORUS, BOX},
                               {BALL, BALL}, {BALL, PLANE},
                              {BOX, SOLID}, {SOLID, TORUS}, {SOLID, SOLID}, {PLANE, SOLID},
                              {GRID, PLANE}, {GRID, BALL}, {GRID, GRID}, {TORUS, GRID}, {PLATE, BALL}, {BALL, NARROW}, {SOLID, PLATE}};
enum { PAIRS = sizeof pairs / sizeof *pairs };

static void check(Scene *s, bool d) {
  tgPairTerm plain, fast;
  double touch = tgRe(s->p.law.k * s->p.law.eps);   // force at touch; lever arms are below 2 m
  double height = tgi_soft_pair_plain(&s->p, d, s->plain, &plain);
  double scale = fmax(largest(plain.w, 12), touch);
  for (int isa = 0; isa < tgi_isas(); isa++) {
    if (!tgi_isa_present(isa)) continue;
    memset(&fast, 0xff, sizeof fast);
    double got = tgi_soft_pair_fast_on(isa, &s->p, INDEX(s), TAU, d, &s->plan, &fast);
    check_true(got <= height + 1e-12, "least height %g, plainly %g", got, height);
    compare(tgi_isa_name(isa), fast.w, plain.w, 12, scale, 1e-10);
    if (d) {
      compare("X", fast.X, plain.X, 144, fmax(largest(plain.X, 144), scale), 1e-10);
      compare("Y", fast.Y, plain.Y, 144, fmax(largest(plain.Y, 144), scale), 1e-10);
    }
    if (got < -tgRe(s->p.law.eps) * log(TAU)) check_close(got, height, 1e-12);
  }
}

static void test_twin(void **state) {
  (void)state;
  tgtRandom r = {.s = 31};
  int poses = tgt_cases(8, 4);
  for (int k = 0; k < PAIRS; k++) {
    Scene s;
    scene_start(&s, pairs[k][0], pairs[k][1]);
    for (int i = 0; i < poses; i++) {
      meet(&s, &r, i < 2 ? 0 : tgt_uniform(&r, -0.004, 0.004), i % 2 ? 0.3 : 0);
#ifdef TG_COMPLEX
      // a tangent of everything: a twist of each body and of its velocity
      for (int b = 0; b < 2; b++)
        for (int c = 0; c < 3; c++) {
          tgReal w[3] = {tgt_normal(&r) * CMPLX(0, 1e-20), tgt_normal(&r) * CMPLX(0, 1e-20),
                         tgt_normal(&r) * CMPLX(0, 1e-20)}, q[4], M[9], T[9];
          tgi_quat_exp(q, w);
          tgi_quat_to_mat(M, q);
          tgi_m3_mul(T, M, s.R[b]);
          tgi_m3_copy(s.R[b], T);
          s.x[b][c] += CMPLX(0, 1e-21 * tgt_normal(&r));
          s.V[b][c] += CMPLX(0, 1e-20 * tgt_normal(&r));
        }
#endif
      set_pair(&s, i == poses - 1);
      check(&s, i % 4 == 0 || i == poses - 1);
    }
    scene_end(&s);
  }
}

// what the adjoint gives in points, normals and numbers, over the points that count and over all
static void test_adjoint(void **state) {
  (void)state;
  tgtRandom r = {.s = 36};
  for (int k = 0; k < PAIRS; k++) {
    Scene s;
    scene_start(&s, pairs[k][0], pairs[k][1]);
    int n[2] = {3 * s.b[0].c.n, 3 * s.b[1].c.n}, all = 2 * (n[0] + n[1]);
    tgReal *bars = calloc(2 * (size_t)all, sizeof *bars), Z[12];
    for (int i = 3 - tgt_cases(3, 2); i < 3; i++) {
      tgiSoftPairBar bar[2] = {{.eps2 = 0}, {.eps2 = 0}};
      memset(bars, 0, 2 * (size_t)all * sizeof *bars);
      for (int c = 0; c < 12; c++) Z[c] = tgt_normal(&r);
      for (int b = 0; b < 2; b++) {
        bar[b].p[0] = bars + b * all;
        bar[b].p[1] = bar[b].p[0] + n[0];
        bar[b].normal[0] = bar[b].p[1] + n[1];
        bar[b].normal[1] = bar[b].normal[0] + n[0];
      }
      meet(&s, &r, tgt_uniform(&r, -0.003, 0.001), 0.3);
      set_pair(&s, i == 2);
      tgi_soft_pair_vjp(&s.p, Z, s.plain, &bar[0]);
      tgi_soft_pair_fast_vjp(&s.p, INDEX(&s), TAU, Z, &s.plan, &bar[1]);
      compare("points and normals", bar[1].p[0], bar[0].p[0], all, fmax(largest(bar[0].p[0], all), 1), 1e-10);
      for (int b = 0; b < 2; b++) {
        compare("eps1", &bar[1].eps1[b], &bar[0].eps1[b], 1, fmax(largest(&bar[0].eps1[b], 1), 1e4), 1e-10);
        compare("ball", &bar[1].ball[b], &bar[0].ball[b], 1, fmax(largest(&bar[0].ball[b], 1), 1e4), 1e-10);
      }
      compare("eps2", &bar[1].eps2, &bar[0].eps2, 1, fmax(largest(&bar[0].eps2, 1), 1e4), 1e-10);
      const tgReal *law = &bar[1].law.k, *plain = &bar[0].law.k;
      for (int c = 0; c < 5; c++) compare("law", law + c, plain + c, 1, fmax(largest(plain + c, 1), 1), 1e-10);
    }
    free(bars);
    scene_end(&s);
  }
}

// a pair drifts and turns: lists kept on the way give what lists made at each pose give, to the bit, and what all points give
// (which is dear, and seen at fewer of the steps where fewer cases are asked for)
static void test_drift(void **state) {
  (void)state;
  enum { STEPS = TANGENTS ? 8 : 40 };
  int every = STEPS / tgt_cases(STEPS, STEPS / 4);
  tgtRandom r = {.s = 35};
  for (int k = 0; k < PAIRS; k++) {
    Scene s;
    tgiSoftPlan fresh;
    tgPairTerm kept, anew, plain;
    int made = 0;
    scene_start(&s, pairs[k][0], pairs[k][1]);
    void *room = plan_make(&fresh, &s.b[0].tree, &s.b[1].tree);
    meet(&s, &r, 0.004, 0.3);
    for (int i = 0; i < STEPS; i++) {
      bool d = i % 4 == 1;
      tgReal w[3], q[4], M[9], T[9];
      tgiSoftPose before[2] = {s.plan.list[0].made, s.plan.list[1].made};
      // from some step on far, from some on near again
      for (int c = 0; c < 3; c++) {
        s.x[1][c] += 3e-4 * tgt_normal(&r) + (i == 20 ? 0.02 : i == 30 ? -0.02 : 0);
        w[c] = 2e-3 * tgt_normal(&r);
      }
      tgi_quat_exp(q, w);
      tgi_quat_to_mat(M, q);
      tgi_m3_mul(T, M, s.R[1]);
      tgi_m3_copy(s.R[1], T);
      set_pair(&s, false);
      double height = tgi_soft_pair_fast(&s.p, INDEX(&s), TAU, d, &s.plan, &kept);
      made += memcmp(&before[0], &s.plan.list[0].made, sizeof *before) != 0 ||
              memcmp(&before[1], &s.plan.list[1].made, sizeof *before) != 0;
      tgi_soft_plan_forget(&fresh);
      double again = tgi_soft_pair_fast(&s.p, INDEX(&s), TAU, d, &fresh, &anew);
      check_true(memcmp(kept.w, anew.w, sizeof kept.w) == 0 && memcmp(&height, &again, sizeof height) == 0,
                 "pair %d, step %d: bits of w depend on the lists: %g, %g", k, i, height, again);
      if (d)
        check_true(memcmp(kept.X, anew.X, sizeof kept.X) == 0 && memcmp(kept.Y, anew.Y, sizeof kept.Y) == 0,
                   "pair %d, step %d: bits of X or Y", k, i);
      if (i % every != 0) continue;
      tgi_soft_pair_plain(&s.p, false, s.plain, &plain);
      compare("w", kept.w, plain.w, 12, fmax(largest(plain.w, 12), tgRe(s.p.law.k * s.p.law.eps)), 1e-10);
    }
    check_true(TANGENTS || made < STEPS, "pair %d: lists are made at every pose", k);
    free(room);
    scene_end(&s);
  }
}

// beyond the reach of the push: left out where every plane that counts is proved to be far, as for two balls
static void test_afar(void **state) {
  (void)state;
  tgtRandom r = {.s = 32};
  for (int k = 2; k < 7; k++) {
    Scene s;
    tgPairTerm plain, fast;
    scene_start(&s, pairs[k][0], pairs[k][1]);
    for (int i = 0; i < 3; i++) {
      meet(&s, &r, 0, 0);
      for (int c = 0; c < 3; c++) s.x[1][c] = s.x[0][c] + (c == i ? 0.4 + i : 0);
      set_pair(&s, false);
      double height = tgi_soft_pair_plain(&s.p, true, s.plain, &plain), touch = tgRe(s.p.law.k * s.p.law.eps);
      double least = tgi_soft_pair_fast(&s.p, INDEX(&s), TAU, true, &s.plan, &fast);
      check_true(height >= least - 1e-12, "height %g, said to be %g or above", height, least);
      compare("w", fast.w, plain.w, 12, touch, 8 * TAU);   // moments at arms below 4 m
      if (k < 6) continue;
      check_true(least < 0.02, "two balls are summed though far");
      for (int c = 0; c < 12; c++) check_true(tgZero(fast.w[c]), "pushed");
      for (int c = 0; c < 144; c++) check_true(tgZero(fast.X[c]) && tgZero(fast.Y[c]), "pushed");
    }
    scene_end(&s);
  }
}

// a ball in the middle of a sphere: every point of the sphere is as near as any other, none can be left out
static void test_middle(void **state) {
  (void)state;
  Scene s;
  tgtRandom r = {.s = 33};
  scene_start(&s, BALL, BALL);
  body_free(&s.b[1]);
  free(s.work);
  free(s.plain);
  s.b[1] = body(tgt_cloud_sphere(700, 0.1), 0.013);
  s.work = plan_make(&s.plan, &s.b[0].tree, &s.b[1].tree);
  s.plain = calloc((size_t)s.b[0].c.n + (size_t)s.b[1].c.n, sizeof *s.plain);
  assert_true(s.work != NULL && s.plain != NULL);
  meet(&s, &r, 0, 0);
  memcpy(s.x[1], s.x[0], sizeof s.x[0]);
  set_pair(&s, false);
  check(&s, true);
  scene_end(&s);
}

// a place that is no number gives forces that are none, and ends
static void test_not_finite(void **state) {
  (void)state;
  tgtRandom r = {.s = 34};
  for (int k = 0; k < PAIRS; k++) {
    Scene s;
    tgPairTerm fast;
    scene_start(&s, pairs[k][0], pairs[k][1]);
    meet(&s, &r, 0, 0);
    s.x[1][2] = NAN;
    set_pair(&s, false);
    tgi_soft_pair_fast(&s.p, INDEX(&s), TAU, k % 2 == 0, &s.plan, &fast);
    check_true(!tgFinite(fast.w[5]), "pair %d: a force of %g", k, tgRe(fast.w[5]));
    scene_end(&s);
  }
}

// work grows as points do
static void test_memory(void **state) {
  (void)state;
  Body a = body(tgt_cloud_sphere(2000, 0.1), 0.01), b = body(tgt_cloud_sphere(20000, 0.1), 0.01);
  double small = (double)plan_bytes(&a.tree, &a.tree), large = (double)plan_bytes(&b.tree, &b.tree);
  check_true(large < 10.1 * small && large < 400.0 * 20000, "%g and %g bytes", small, large);
  body_free(&a);
  body_free(&b);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_twin), cmocka_unit_test(test_drift),
                                     cmocka_unit_test(test_adjoint), cmocka_unit_test(test_afar),
                                     cmocka_unit_test(test_middle), cmocka_unit_test(test_not_finite),
                                     cmocka_unit_test(test_memory)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
