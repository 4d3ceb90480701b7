// test_begin.c: what starts a step in one sum over the pairs of geoms, their values and the points of friction, against
// each made by itself: the same bits when summed again and for any number of threads, and the points of the plain walk.
#include <stdlib.h>
#include <string.h>

#include "math/quat.h"
#include "test/contact/barrier/rubbing.h"

typedef struct Kept { tgiBarrierPair *pair; tgiFrictionPoint *point; int *npoint, *first, npair; } Kept;

static void *copy(const void *from, size_t bytes) {
  void *to = malloc(bytes);
  return to != NULL ? memcpy(to, from, bytes) : NULL;
}

static Kept keep(const tgSim *s) {
  const tgiBarrier *k = tgi_barrier(s);
  const tgiBarrierWork *w = s->solver;
  const tgiLaggedPoints *start = &w->lagged.start;
  return (Kept){.pair = copy(w->sums.pair, (size_t)k->npair * sizeof *w->sums.pair),
                .point = copy(start->point, (size_t)start->used * sizeof *start->point),
                .npoint = copy(start->npoint, (size_t)k->npair * sizeof(int)),
                .first = copy(start->first, (size_t)k->npair * sizeof(int)), .npair = k->npair};
}

static void let_go(Kept *k) {
  free(k->pair);
  free(k->point);
  free(k->npoint);
  free(k->first);
}

static void check_bits(const tgSim *s, const Kept *kept) {
  const tgiBarrierWork *w = s->solver;
  for (int i = 0; i < kept->npair; i++) {
    const tgiLaggedPoints *start = &w->lagged.start;
    assert_memory_equal(&w->sums.pair[i].sum, &kept->pair[i].sum, sizeof w->sums.pair[i].sum);
    assert_int_equal(start->npoint[i], kept->npoint[i]);
    assert_memory_equal(start->point + start->first[i], kept->point + kept->first[i], (size_t)kept->npoint[i] * sizeof *kept->point);
  }
}

static void summed_again(void **state) {
  (void)state;
  for (int form = TG_HIERARCHY_MOMENT; form <= TG_HIERARCHY_PAPER; form++) {
    Rig r = rubbing((tgHierarchy)form, 1);
    Kept kept = keep(r.s);
    tgi_barrier_work(r.s)->sums.current = false;
    tgi_barrier_pairs(r.s, &r.s->start, false);
    check_bits(r.s, &kept);
    let_go(&kept);
    drop(&r);
  }
}

static void threads(void **state) {
  (void)state;
  Rig one = rubbing(TG_HIERARCHY_MOMENT, 1);
  Kept kept = keep(one.s);
  for (int n = 2; n <= 3; n++) {
    Rig r = rubbing(TG_HIERARCHY_MOMENT, n);
    check_bits(r.s, &kept);
    drop(&r);
  }
  let_go(&kept);
  drop(&one);
}

#ifndef TG_COMPLEX
enum { STEPS = 24 };

static void run(tgSim *s, const double *q, const double *v, bool gradient, double *out) {
  int nq = s->m.nq, nv = s->m.nv;
  double *g = calloc((size_t)(4 * nv), sizeof *g);
  memcpy(tg_sim_qpos(s), q, (size_t)nq * sizeof *q);
  memcpy(tg_sim_qvel(s), v, (size_t)nv * sizeof *v);
  check_true(tg_sim_step(s, 0.01, NULL) == TG_OK, "%s", tg_sim_error(s)->text);
  for (int i = 0; i < 2 * nv; i++) g[i] = 1 + 0.1 * i;
  if (gradient) assert_int_equal(tg_sim_step_vjp(s, g, g + nv, g + 2 * nv, g + 3 * nv, NULL, NULL, NULL), TG_OK);
  memcpy(out, tg_sim_qpos(s), (size_t)nq * sizeof *out);
  memcpy(out + nq, tg_sim_qvel(s), (size_t)nv * sizeof *out);
  memcpy(out + nq + nv, g + 2 * nv, (size_t)(2 * nv) * sizeof *out);
  free(g);
}

// what is changed between steps, after which nothing of the evaluation before may be taken
static void change(tgSim *s, int step) {
  if (step == 8) tg_sim_param(s, "contact.weight", NULL, NULL)[0] *= 1.5;
  if (step == 12) tg_sim_param(s, "geom_size", NULL, NULL)[3 * 2] *= 0.99;
  if (step == 16) tg_sim_param(s, "geom_friction", NULL, NULL)[2] *= 0.5;
}

// a step starts with the sums and the forces that the one before has left, and has the bits of one that has to make them
static void left_by_the_step_before(void **state) {
  (void)state;
  for (int form = TG_HIERARCHY_MOMENT; form <= TG_HIERARCHY_PAPER; form++) {
    Rig r = rubbing((tgHierarchy)form, 1);
    int nq = r.m->nq, nv = r.m->nv, n = nq + 3 * nv, left = 0;
    double *at = calloc((size_t)n, sizeof *at), *out = calloc((size_t)(2 * n), sizeof *out);
    memcpy(at, tg_sim_qpos(r.s), (size_t)nq * sizeof *at);
    for (int i = 0; i < nv; i++) at[nq + i] = 0.1 * (i % 3 - 1);
    for (int k = 0; k < STEPS; k++) {
      tgError e = {0};
      tgSim *fresh = tg_sim_create(r.m, r.c, NULL, &e);
      for (int j = 0; j <= k; j++) change(fresh, j);
      change(r.s, k);
      if (k == 20) at[0] += 1e-3;
      run(fresh, at, at + nq, k % 3 == 0, out);
      run(r.s, at, at + nq, k % 3 == 0, out + n);
      assert_memory_equal(out, out + n, (size_t)n * sizeof *out);
      memcpy(at, out, (size_t)(nq + nv) * sizeof *at);
      left += tgi_barrier_work(r.s)->lagged.ahead.made;
      tg_sim_free(fresh);
    }
    assert_true(left > STEPS / 2);
    free(at);
    free(out);
    drop(&r);
  }
}
#endif

static tgiRigid pose_of(const tgSim *s, int g) {
  tgiRigid P;
  for (int i = 0; i < 9; i++) P.R[i] = tgRe(s->start.geom_xmat[9 * g + i]);
  for (int i = 0; i < 3; i++) P.p[i] = tgRe(s->start.geom_xpos[3 * g + i]);
  return P;
}

static double distance(const tgSim *s, const tgiGeomPair *g) {
  const tgiBarrierWork *w = s->solver;
  tgiRigid A = pose_of(s, g->A), B = pose_of(s, g->B);
  tgiPlane plane = {.p = {B.p[0], B.p[1], B.p[2]}, .n = {B.R[2], B.R[5], B.R[8]}};
  return g->plane ? tgi_solid_height(&w->solid[g->A], &A, &plane, INFINITY)
         : tgi_solid_distance(&w->solid[g->A], &A, &w->solid[g->B], &B, INFINITY);
}

// the sums' bounds of distances, which the step trusts, and how near they come
static void bounds(void **state) {
  (void)state;
  tgtRandom random = {31};
  for (int form = TG_HIERARCHY_MOMENT; form <= TG_HIERARCHY_PAPER; form++) {
    Rig r = rubbing((tgHierarchy)form, 1);
    const tgiBarrierWork *w = tgi_barrier_work(r.s);
    int free = 0, pairs = 0;
    double share = 0;
    for (int trial = 0; trial < 300; trial++) {
      double spread = pow(10, tgt_uniform(&random, -4, 0));
      tgReal q[64];
      memcpy(q, r.s->qpos, (size_t)r.m->nq * sizeof *q);
      for (int b = 0; b < r.m->njnt; b++) {
        tgReal *x = q + r.m->jnt_qadr[b];
        for (int i = 0; i < 7; i++) x[i] += spread * tgt_normal(&random);
        if (tgRe(x[2]) < 0.2) x[2] = 0.2 + tgt_uniform(&random, 0, 0.2);
        tgi_quat_normalize(x + 3);
      }
      tgi_kinematics(&r.s->m, q, &r.s->start);
      tgi_barrier_pairs(r.s, &r.s->start, false);
      for (int i = 0; i < tgi_barrier(r.s)->npair; i++) {
        const tgiGeomPair *g = &tgi_barrier(r.s)->pair[i];
        if (!w->sums.pair[i].separated) continue;
        double d = distance(r.s, g), bound = w->sums.pair[i].clear.all;
        check_true(bound > 0 && bound <= d * (1 + 1e-9) + 1e-15,
                   "pair %d form %d: %.17g apart, the sums say at least %.17g", i, form, d, bound);
        share += bound / d;
        pairs++;
      }
      free++;
    }
    print_message("form %d: %d pairs, bounds are %.2f of the distances\n", form, pairs, share / pairs);
    assert_true(free == 300 && pairs > 1000);
    drop(&r);
  }
}

typedef struct Points { tgiFrictionPoint p[256]; int n; } Points;

static void collect(void *ctx, const tgiFrictionPoint *p, const tgiFrictionPoint *dp) {
  Points *c = ctx;
  (void)dp;
  assert_true(c->n < 256);
  c->p[c->n++] = *p;
}

static void check_point(const tgiFrictionPoint *a, const tgiFrictionPoint *b, double most) {
  check_close(tgRe(a->N), tgRe(b->N), 1e-10 * most);
  for (int i = 0; i < 3; i++) {
    check_close(tgRe(a->N * a->a[i]), tgRe(b->N * b->a[i]), 1e-10 * most);
    check_close(tgRe(a->N * a->b[i]), tgRe(b->N * b->b[i]), 1e-10 * most);
  }
  for (int i = 0; i < 6; i++) check_close(tgRe(a->N * a->Q[i]), tgRe(b->N * b->Q[i]), 1e-10 * most);
}

static void plain_walk(void **state) {
  (void)state;
  for (int form = TG_HIERARCHY_MOMENT; form <= TG_HIERARCHY_PAPER; form++) {
    Rig r = rubbing((tgHierarchy)form, 1);
    const tgiBarrier *k = tgi_barrier(r.s);
    const tgiLagged *lagged = &tgi_barrier_work(r.s)->lagged;
    int rubbing = 0;
    for (int i = 0; i < k->npair; i++) {
      tgReal n[3];
      tgiForceSum sum;
      Points c = {.n = 0};
      tgiForceTask t = tgi_lagged_task(r.s, &k->pair[i], lagged->geom, n);
      t.ctx = &c;
      t.point = collect;
      assert_true(tgi_tree_force(&t, &sum));
      assert_int_equal(c.n, lagged->start.npoint[i]);
      double most = 0;
      for (int j = 0; j < c.n; j++) most = fmax(most, tgRe(c.p[j].N));
      for (int j = 0; j < c.n; j++) check_point(&lagged->start.point[lagged->start.first[i] + j], &c.p[j], most);
      rubbing += c.n > 0;
    }
    // the far sphere does not
    assert_true(rubbing > 3 && rubbing < k->npair);
    drop(&r);
  }
}

// without room for friction's points, then for the pairs that have any, then for the terms a step changes nothing and
// says how many there are; given all of these it gives the bits that it has with room to spare
static void without_room(void **state) {
  (void)state;
  Rig r = rubbing(TG_HIERARCHY_MOMENT, 2);
  tgSim *s = tg_sim_create(r.m, r.c, NULL, NULL);
  assert_non_null(s);
  assert_int_equal(tg_sim_step(r.s, 0.01, NULL), TG_OK);
  const tgiLagged *lagged = &tgi_barrier_work(r.s)->lagged;
  const int need[3] = {lagged->start.used, lagged->nacting, r.s->nterm};
  int *cap[3] = {&s->cap.npoint, &s->cap.nfriction, &s->cap.nterm};
  int *wanted[3] = {&s->wanted.npoint, &s->wanted.nfriction, &s->wanted.nterm};
  for (int i = 0; i < 3; i++) *cap[i] = *wanted[i] = need[i] - 1;
  for (int i = 0; i < 3; i++) {
    assert_int_equal(tg_sim_step(s, 0.01, NULL), TG_ERR_CAPACITY);
    assert_int_equal(*wanted[i], need[i]);
    assert_memory_equal(s->qpos, r.m->qpos0, (size_t)r.m->nq * sizeof *s->qpos);
    assert_int_equal(tgi_sim_grow(s), TG_OK);
  }
  assert_int_equal(tg_sim_step(s, 0.01, NULL), TG_OK);
  assert_memory_equal(s->qpos, r.s->qpos, (size_t)r.m->nq * sizeof *s->qpos);
  assert_memory_equal(s->qvel, r.s->qvel, (size_t)r.m->nv * sizeof *s->qvel);
  tg_sim_free(s);
  drop(&r);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(without_room),
      cmocka_unit_test(summed_again),
      cmocka_unit_test(threads),
      cmocka_unit_test(bounds),
      cmocka_unit_test(plain_walk),
#ifndef TG_COMPLEX
      cmocka_unit_test(left_by_the_step_before),
#endif
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
