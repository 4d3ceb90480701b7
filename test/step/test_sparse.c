// test_sparse.c: steps whose second derivative is stored by the blocks that are coupled, against the same with one
// dense matrix: the step, its adjoint and its Jacobian. The pattern is that of what touches now, whatever did before;
// where there is no room the simulation grows.
#include <stdlib.h>

#include "step/minimise_coupling.h"
#include "support/deriv.h"
#include "support/rig.h"

enum { PILES = 9, LEAVES = 7 };   // piles; the body that leaves one
static const double half = 0.05, h = 0.004;

static int add_box(tgDesc *d, double x, double y, double z) {
  int b = tg_desc_add_body(d, 0, NULL), g = tg_desc_add_geom(d, b, TG_GEOM_BOX, NULL);
  tg_desc_add_joint(d, b, TG_JOINT_FREE, NULL);
  memcpy(d->geom[g].size, (double[]){half, half, half}, sizeof d->geom[g].size);
  memcpy(d->body[b].pos, (double[]){x, y, z}, sizeof d->body[b].pos);
  return b;
}

// joint of a link that hangs from `parent`
static int add_link(tgDesc *d, int *parent, double x) {
  int b = tg_desc_add_body(d, *parent, NULL), g = tg_desc_add_geom(d, b, TG_GEOM_SPHERE, NULL);
  int j = tg_desc_add_joint(d, b, TG_JOINT_HINGE, NULL);
  memcpy(d->body[b].pos, (double[]){x, 1, *parent == 0 ? 0.5 : -0.2}, sizeof d->body[b].pos);
  memcpy(d->joint[j].axis, (double[]){0, 1, 0}, sizeof d->joint[j].axis);
  d->geom[g].size[0] = half;
  d->geom[g].pos[2] = -0.1;
  if (*parent != 0) d->body[b].pos[1] = 0;
  *parent = b;
  return j;
}

// Boxes in piles of one, two and three, apart but for one beside a pile, which leaves it; feet of two others are pinned
// to each other. Two arms that one tendon passes, and two that an equality of joints ties.
static tgDesc *scene(void) {
  tgDesc *d = tg_desc_create(NULL);
  int ground = tg_desc_add_geom(d, 0, TG_GEOM_PLANE, NULL), foot[PILES], joint[4];
  d->geom[ground].size[0] = d->geom[ground].size[1] = 10;
  for (int k = 0; k < PILES; k++)
    for (int i = 0; i <= k % 3; i++) {
      int b = add_box(d, k == 3 ? 0.6 + 2.02 * half : 0.3 * k, 0.1 * half * i, 1.02 * half + 2.02 * half * i);
      if (i == 0) foot[k] = b;
    }
  for (int k = 0; k < 4; k++) {
    int body = 0;
    joint[k] = add_link(d, &body, 0.4 * k);
    add_link(d, &body, 0);
  }
  int t = tg_desc_add_tendon(d, NULL, (int[]){joint[0], joint[1]}, (double[]){1, -1}, 2);
  int e = tg_desc_add_equality(d, TG_EQ_CONNECT, foot[6], foot[7], NULL);
  d->tendon[t].stiffness = 3;
  memcpy(d->equality[e].anchor, (double[]){0.15, 0, 0}, sizeof d->equality[e].anchor);
  tg_desc_add_equality(d, TG_EQ_JOINT, joint[2], joint[3], NULL);
  d->equality[e + 1].polycoef[1] = 1;
  return d;
}

static void throw_all(tgSim *s, tgtRandom *r, double speed) {
  for (int i = 0; i < s->m.nv; i++) {
    s->qvel[i] = speed * tgt_normal(r);
#ifdef TG_COMPLEX
    s->qvel[i] += CMPLX(0, 1e-30 * tgRe(tgt_normal(r)));
#endif
  }
}

static void take_state(tgSim *to, const tgSim *from) {
  memcpy(to->qpos, from->qpos, (size_t)to->m.nq * sizeof *to->qpos);
  memcpy(to->qvel, from->qvel, (size_t)to->m.nv * sizeof *to->qvel);
}

static void grown_step(tgSim *s) {
  tgStatus status = tg_sim_step_growing(s, h, NULL);
  check_true(status == TG_OK, "%s", s->error.text);
}

// both parts, each against the largest of its own
static void check_alike(const tgReal *x, const tgReal *y, int n, double tolerance) {
  double real = 0, imaginary = 0;
  for (int i = 0; i < n; i++) {
    real = fmax(real, fabs(tgRe(y[i])));
    imaginary = fmax(imaginary, fabs(tgIm(y[i])));
  }
  for (int i = 0; i < n; i++) {
    check_close(x[i], y[i], tolerance * real);
    check_close(tgIm(x[i]), tgIm(y[i]), tolerance * imaginary);
  }
}

// the last step of both, its adjoint and its Jacobian
static void check_step(tgSim *s, tgSim *dense, tgtRandom *r) {
  int nv = s->m.nv, size = 2 * nv * 2 * nv;
  tgReal *D = malloc(sizeof *D * (size_t)(2 * size + 6 * nv)), *E = D + size, *g = E + size, *x = g + 2 * nv, *y = x + 2 * nv;
  check_alike(s->end.q, dense->end.q, s->m.nq, 1e-10);
  check_alike(s->end.vel, dense->end.vel, nv, 1e-8);
  assert_int_equal(tg_sim_step_jacobian(s, D, NULL), TG_OK);
  assert_int_equal(tg_sim_step_jacobian(dense, E, NULL), TG_OK);
  check_alike(D, E, size, 1e-7);
  for (int i = 0; i < 2 * nv; i++) g[i] = tgt_normal(r);
  assert_int_equal(tg_sim_step_vjp(s, g, g + nv, x, x + nv, NULL, NULL, NULL), TG_OK);
  assert_int_equal(tg_sim_step_vjp(dense, g, g + nv, y, y + nv, NULL, NULL, NULL), TG_OK);
  check_alike(x, y, 2 * nv, 1e-7);
  free(D);
}

static void test_against_dense(void **state) {
  (void)state;
  tgAnyContactOptions o = options_of("barrier", "long_range=off");
  Rig rig = rig_of_desc(scene(), "barrier", &o.of);
  tgSim *dense = tg_sim_create(rig.m, rig.c, NULL, NULL), *s = rig.s;
  assert_non_null(dense);
  dense->one_island = true;
  size_t least = SIZE_MAX, most = 0;
  tgtRandom r = {.s = 8};
  for (int i = 0; i < 12; i++) {
    if (i % 6 == 0) throw_all(s, &r, i == 0 ? 0.02 : 0.1);
    if (i % 6 == 0) s->qvel[s->m.body_dofadr[LEAVES]] = 5;
    take_state(dense, s);
    grown_step(s);
    grown_step(dense);
    const tgiPattern *p = &tgi_minimise_own(s)->pattern;
    assert_false(p->dense);
    assert_true(tgi_minimise_own(dense)->pattern.dense);
    assert_int_equal(tgi_minimise_own(dense)->pattern.size, s->m.nv * s->m.nv);
    least = p->size < least ? p->size : least;
    most = p->size > most ? p->size : most;
    if (i % 3 == 2) check_step(s, dense, &r);
  }
  check_true(least < most, "the pattern is always of %zu numbers", most);
  tg_sim_free(dense);
  drop(&rig);
}

// Spheres on the ground, two of each row near each other, a chain of links among them.
static tgDesc *field(void) {
  tgDesc *d = tg_desc_create(NULL);
  int ground = tg_desc_add_geom(d, 0, TG_GEOM_PLANE, NULL), body = 0;
  d->geom[ground].size[0] = d->geom[ground].size[1] = 10;
  for (int k = 0; k < 36; k++) {
    int b = tg_desc_add_body(d, 0, NULL), g = tg_desc_add_geom(d, b, TG_GEOM_SPHERE, NULL);
    tg_desc_add_joint(d, b, TG_JOINT_FREE, NULL);
    d->geom[g].size[0] = half;
    memcpy(d->body[b].pos, (double[]){3 * half * (k % 6) - (k % 6 == 5 ? 0.95 * half : 0), 3 * half * (k / 6), 1.03 * half},
           sizeof d->body[b].pos);
  }
  for (int k = 0; k < 2; k++) add_link(d, &body, -0.3);
  return d;
}

// Where all bodies feel each other, the couplings that are weak are left out of the matrix; the step and its derivatives
// are those of all. With a potential that is strong against inertia, none is left out.
static void test_left_out(void **state) {
  (void)state;
  static const char *const settings[] = {"long_range=both weight=1e-5", "long_range=both", "long_range=both weight=1e-2"};
#ifdef TG_COMPLEX
  enum { SETTINGS = 1 };   // what is left out does not depend on the kind of numbers
#else
  enum { SETTINGS = 3 };
#endif
  int left[3] = {0}, steps = tgt_cases(3, 2);
  for (int i = 0; i < SETTINGS; i++) {
    tgAnyContactOptions o = options_of("barrier", settings[i]);
    Rig rig = rig_of_desc(field(), "barrier", &o.of);
    tgSim *dense = tg_sim_create(rig.m, rig.c, NULL, NULL), *s = rig.s;
    tgtRandom r = {.s = 5};
    dense->one_island = true;
    for (int k = 0; k < steps; k++) {
      if (k == 0) throw_all(s, &r, i == 0 ? 2 : 0.05);
      take_state(dense, s);
      grown_step(s);
      grown_step(dense);
      assert_true(tgi_minimise_own(dense)->pattern.dense && !tgi_minimise_own(dense)->left_out);
      assert_true(tgi_minimise_own(s)->left_out == !tgi_minimise_own(s)->pattern.dense);
      int out = 0;
      for (int t = 0; t < s->nterm; t++) out += s->term[t].left_out;
      if (tgi_minimise_own(s)->left_out) assert_true(out > 100 && out < s->nterm);
      else assert_int_equal(out, 0);
      left[i] += out;
      print_message("%s: %d of %d terms are left out\n", settings[i], out, s->nterm);
      if (k == steps - 1) check_step(s, dense, &r);
    }
    tg_sim_free(dense);
    drop(&rig);
  }
  assert_true(left[0] > 0 && (SETTINGS == 1 || left[1] > 0) && left[2] == 0);
}

// couplings that are left out though they are strong: the series says so, in a step and in derivatives; asked for the
// whole matrix none is left out
static void test_slow(void **state) {
  (void)state;
  tgAnyContactOptions o = options_of("barrier", "long_range=both geom_form=mesh");   // those of balls all but end where they are near
  Rig rig = rig_of_desc(field(), "barrier", &o.of);
  tgSim *s = rig.s;
  size_t nv = (size_t)s->m.nv;
  tgReal *x = calloc(nv, sizeof *x);
  int out = 0;
  bool slow = true;
  grown_step(s);
  assert_true(tgi_minimise_own(s)->left_out);
  x[0] = 1;
  assert_int_equal(tgi_coupling_solve_step(s, x, &slow), TG_OK);
  assert_false(slow);
  for (int t = 0; t < s->nterm; t++)
    for (int i = 0; i < 144 && s->term[t].left_out; i++) s->term[t].X[i] *= 1e6;
  memset(x, 0, nv * sizeof *x);
  x[0] = 1;
  assert_int_equal(tgi_coupling_solve_step(s, x, &slow), TG_OK);
  assert_true(slow);
  memset(x, 0, nv * sizeof *x);
  x[0] = 1;
  assert_int_equal(tgi_coupling_solve(s, x), TG_NOT_CONVERGED);
  assert_int_equal(tgi_coupling_find(s, h, true), TG_OK);
  assert_true(tgi_minimise_own(s)->pattern.dense && !tgi_minimise_own(s)->left_out);
  for (int t = 0; t < s->nterm; t++) out += s->term[t].left_out;
  assert_int_equal(out, 0);
  free(x);
  drop(&rig);
}

// the same bits as a simulation that has seen nothing else
static void test_no_history(void **state) {
  (void)state;
  tgAnyContactOptions o = options_of("barrier", "long_range=off");
  Rig rig = rig_of_desc(scene(), "barrier", &o.of);
  tgSim *fresh = tg_sim_create(rig.m, rig.c, NULL, NULL), *s = rig.s;
  tgtRandom r = {.s = 11};
  throw_all(s, &r, 0.5);
  for (int i = 0; i < 15; i++) grown_step(s);
  tg_sim_reset(s);
  throw_all(s, &r, 0.02);
  take_state(fresh, s);
  grown_step(s);
  grown_step(fresh);
  const tgiMinimise *a = tgi_minimise_own(s), *b = tgi_minimise_own(fresh);
  assert_int_equal(a->pattern.size, b->pattern.size);
  assert_memory_equal(a->step_L, b->step_L, a->pattern.size * sizeof *a->step_L);
  assert_memory_equal(s->qpos, fresh->qpos, (size_t)s->m.nq * sizeof *s->qpos);
  assert_memory_equal(s->qvel, fresh->qvel, (size_t)s->m.nv * sizeof *s->qvel);
  tg_sim_free(fresh);
  drop(&rig);
}

// more dofs than those whose matrix has room whatever acts: a step without room changes nothing and says what it needs
static void test_grows(void **state) {
  (void)state;
  tgAnyContactOptions o = options_of("barrier", "long_range=off");
  tgDesc *d = tg_desc_create(NULL);
  for (int k = 0; k < 90; k++) add_box(d, 0.5 * (k % 10), 0.5 * (k / 10), 1);
  Rig rig = rig_of_desc(d, "barrier", &o.of);
  tgSim *s = rig.s;
  size_t square = (size_t)s->m.nv * (size_t)s->m.nv;
  assert_true(s->cap.nH < square);
  assert_int_equal(tg_sim_step(s, h, NULL), TG_OK);
  assert_int_equal(tgi_minimise_own(s)->pattern.size, 36 * 90);
  tgReal z = s->qpos[2];
  s->one_island = true;
  assert_int_equal(tg_sim_step(s, h, NULL), TG_ERR_CAPACITY);
  assert_true(s->qpos[2] == z && s->wanted.nH == square);
  assert_int_equal(tg_sim_grow(s), TG_OK);
  assert_int_equal(tg_sim_step(s, h, NULL), TG_OK);
  assert_true(tgi_minimise_own(s)->pattern.dense);
  drop(&rig);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_against_dense), cmocka_unit_test(test_left_out),
                                     cmocka_unit_test(test_slow), cmocka_unit_test(test_no_history), cmocka_unit_test(test_grows)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
