// test_near.c: a potential of short reach over the pairs of geoms that are near each other, against all of them: steps,
// step bounds, forces and derivatives to the bit; what a list has, what it may leave out, and what a step needs of room.
#include <stdlib.h>
#include <string.h>

#include "contact/barrier/barrier.h"
#include "kin/kinematics.h"
#include "support/deriv.h"
#include "support/rig.h"

enum { BODIES = 14, GEOMS = 3, STEPS = 8 };
static const double h = 0.01, side = 0.9;

static void add_geoms(tgDesc *d, tgtRandom *r, int body, double size) {
  static const tgGeomType type[GEOMS] = {TG_GEOM_BOX, TG_GEOM_SPHERE, TG_GEOM_BOX};
  for (int i = 0; i < GEOMS; i++) {
    int g = tg_desc_add_geom(d, body, type[i], NULL);
    for (int k = 0; k < 3; k++) {
      d->geom[g].size[k] = size * tgt_uniform(r, 0.8, 1.2);
      d->geom[g].pos[k] = k == i ? 1.2 * size : 0;
    }
    d->geom[g].friction[0] = 0.2 + 0.1 * (body % 4);
  }
}

// bodies of three geoms each, free in a box with a floor and a wall; one is a chain of three; some may not touch, and
// one pair has a friction of its own
static Rig scatter(const char *word, const char *settings, unsigned seed) {
  tgtRandom r = {seed};
  tgDesc *d = tg_desc_create(NULL);
  int parent = 0;
  tg_desc_add_geom(d, 0, TG_GEOM_PLANE, NULL);
  int wall = tg_desc_add_geom(d, 0, TG_GEOM_PLANE, NULL);
  memcpy(d->geom[wall].quat, (double[]){sqrt(0.5), 0, sqrt(0.5), 0}, sizeof d->geom[wall].quat);   // its normal is x
  d->geom[wall].pos[0] = -0.15;
  for (int k = 0; k < BODIES; k++) {
    int b = tg_desc_add_body(d, k == 1 || k == 2 ? parent : 0, NULL);
    int joint = tg_desc_add_joint(d, b, k == 1 || k == 2 ? TG_JOINT_HINGE : TG_JOINT_FREE, NULL);
    if (k == 1 || k == 2) memcpy(d->joint[joint].axis, (double[]){0, 1, 0}, sizeof d->joint[joint].axis);
    const double at[3] = {side / 3 * (k % 3), side / 3 * (k / 3 % 3), 0.066 + side / 3 * (k / 9)}, link[3] = {0.24, 0, 0};
    for (int i = 0; i < 3; i++) d->body[b].pos[i] = k == 1 || k == 2 ? link[i] : at[i] + (i < 2 ? tgt_uniform(&r, -0.02, 0.02) : 0);
    add_geoms(d, &r, b, 0.04);
    parent = b;
  }
  tg_desc_add_exclude(d, 5, 6);
  int pair = tg_desc_add_pair(d, 3, 20, NULL);
  d->pair[pair].friction[0] = 0.9;
  tgAnyContactOptions o = options_of(word, settings);
  return rig_of_desc(d, word, &o.of);
}

// towards the middle; every seventh coordinate as fast as it says
static void random_velocities(const Rig *r, tgtRandom *random, double fast) {
  for (int i = 0; i < r->m->nv; i++) r->s->qvel[i] = (i % 7 == 0 ? fast : 0.2) * tgt_normal(random);
  for (int j = 0; j < r->m->njnt; j++)
    for (int i = 0; i < 2 && r->m->jnt_type[j] == TG_JOINT_FREE; i++)
      r->s->qvel[r->m->jnt_vadr[j] + i] += 3 * (side / 3 - r->s->qpos[r->m->jnt_qadr[j] + i]);
}

static int near_of(const tgSim *s) { return ((const tgiBarrierWork *)s->solver)->sums.near.n; }

static void same_bits(const tgReal *a, const tgReal *b, int n) { assert_memory_equal(a, b, (size_t)n * sizeof *a); }

// those that there are, in their order
static void check_forces(const tgSim *a, const tgSim *b) {
  tgContactInfo f, g;
  memset(&f, 0, sizeof f);
  memset(&g, 0, sizeof g);
  int i = 0, j = 0;
  while (tg_sim_next_contact(a, &i, &f)) {
    assert_true(tg_sim_next_contact(b, &j, &g));
    assert_memory_equal(&f, &g, sizeof f);
  }
  assert_false(tg_sim_next_contact(b, &j, &g));
}

static void adjoint(Rig *r, tgtRandom *random, tgReal *out, tgParamGrad *p) {
  int nv = r->m->nv;
  tgReal *g = calloc((size_t)(2 * nv), sizeof *g);
  tgGradInfo info;
  tgStatus status;
  for (int i = 0; i < 2 * nv; i++) g[i] = tgt_normal(random);
  tg_param_grad_clear(p);
  status = tg_sim_step_vjp(r->s, g, g + nv, out, out + nv, NULL, p, &info);
  check_true(status == TG_OK, "%s", tg_sim_error(r->s)->text);
  free(g);
}

// sizes: those of geoms too, which take long
static void check_gradient(Rig *a, Rig *b, bool sizes, unsigned seed) {
  static const char *const names[] = {"geom_friction", "geom_pos", "geom_quat", "pair_friction", "opt_timestep", "body_mass",
                                      "contact.weight", "geom_size"};
  enum { NAMES = sizeof names / sizeof *names };
  int nv = a->m->nv, size;
  tgReal *out = calloc((size_t)(4 * nv), sizeof *out);
  Rig *both[2] = {a, b};
  tgParamGrad *p[2];
  tgError e = {0};
  for (int k = 0; k < 2; k++) {
    tgtRandom random = {seed};
    p[k] = tg_param_grad_create_contact(both[k]->c, names, sizes ? NAMES : NAMES - 1, NULL, &e);
    check_true(p[k] != NULL, "%s", e.text);
    adjoint(both[k], &random, out + 2 * k * nv, p[k]);
  }
  same_bits(out, out + 2 * nv, 2 * nv);
  const tgReal *x = tg_param_grad_values(p[0], &size), *y = tg_param_grad_values(p[1], &size);
  // of pairs that are not looked at zeros are added
  for (int i = 0; i < size; i++) assert_true(tgRe(x[i]) == tgRe(y[i]));
  for (int k = 0; k < 2; k++) tg_param_grad_free(p[k]);
  free(out);
}

static void check_jacobian(tgSim *a, tgSim *b) {
  size_t n = 4 * (size_t)a->m.nv * (size_t)a->m.nv;
  tgReal *D = malloc(2 * n * sizeof *D);
  assert_int_equal(tg_sim_step_jacobian(a, D, NULL), TG_OK);
  assert_int_equal(tg_sim_step_jacobian(b, D + n, NULL), TG_OK);
  assert_memory_equal(D, D + n, n * sizeof *D);
  free(D);
}

static void as_all_pairs(void **state) {
  (void)state;
  static const char *const model[][2] = {{"barrier", "long_range=off weight=1e-3"}, {"sdrs", "weight=1e-2"},
                                         {"barrier", "long_range=off weight=1e-3 local_range=0.008 widen=0.001 threads=2"},
                                         {"ipc", "weight=1e-3"}};
  int steps = 0, touching = 0, listed = 0;
  for (unsigned seed = 0; seed < 4; seed++) {
    const char *const *of = model[seed % 4];
    Rig near = scatter(of[0], of[1], 40 + seed), all = {.m = near.m, .c = near.c};
    all.s = tg_sim_create(near.m, near.c, NULL, NULL);
    assert_non_null(all.s);
    assert_true(tgi_barrier(near.s)->pair == NULL);
    all.s->all_pairs = true;
      tgtRandom random = {7 + seed};
    random_velocities(&near, &random, 1);
#ifdef TG_COMPLEX
    for (int i = 0; i < near.m->nv; i++) near.s->qvel[i] += CMPLX(0, 1e-20 * tgRe(tgt_normal(&random)));   // a derivative comes along
#endif
    memcpy(all.s->qpos, near.s->qpos, (size_t)near.m->nq * sizeof(tgReal));
    memcpy(all.s->qvel, near.s->qvel, (size_t)near.m->nv * sizeof(tgReal));
    for (int k = 0; k < STEPS; k++) {
      tgStepInfo info[2];
      check_true(tg_sim_step_growing(near.s, h, &info[0]) == TG_OK, "%s", tg_sim_error(near.s)->text);
      assert_int_equal(tg_sim_step_growing(all.s, h, &info[1]), TG_OK);
      same_bits(near.s->qpos, all.s->qpos, near.m->nq);
      same_bits(near.s->qvel, all.s->qvel, near.m->nv);
      assert_int_equal(info[0].iterations, info[1].iterations);
      assert_true(info[0].least_distance == info[1].least_distance);
      assert_int_equal(near.s->nterm, all.s->nterm);
      assert_int_equal(near_of(all.s), tgi_barrier(near.s)->npair);
      assert_true(3 * near_of(near.s) < near_of(all.s));
      check_forces(near.s, all.s);
      check_gradient(&near, &all, k == 6, 100 + seed);
      if (k == 4) check_jacobian(near.s, all.s);
      steps++;
      touching += near.s->nterm > 0;
      listed += near_of(near.s);
    }
    tg_sim_free(all.s);
    drop(&near);
  }
  print_message("%d steps, %d with forces; %d near pairs a step\n", steps, touching, listed / steps);
  assert_true(steps == 4 * STEPS && touching > STEPS);
}

// the share of the step that the law allows, growing where it has to
static double bound(tgSim *s, const tgReal *d) {
  const tgLaw *law = s->contact_model->kind->law;
  double share = -1;
  tgStatus status;
  do {
    tgi_kinematics(&s->m, s->qpos, &s->start);
    status = law->begin(s, h);
    if (status == TG_OK) status = law->step_bound(s, &s->start, d, &share);
  } while (status == TG_ERR_CAPACITY && tgi_sim_grow(s) == TG_OK);
  assert_int_equal(status, TG_OK);
  return share;
}

// no pair is missed that comes near on the way, by bodies that pass between others or turn several times; a second
// bound from the same pose, with what the first has found, has the bits of a first
static void step_bounds(void **state) {
  (void)state;
  Rig r = scatter("barrier", "long_range=off weight=1e-3", 5);
  tgSim *all = tg_sim_create(r.m, r.c, NULL, NULL);
  tgReal *d = malloc((size_t)r.m->nv * sizeof *d);
  int stopped = 0, few = 0;
  double share = -1;
  all->all_pairs = true;
  memcpy(all->qpos, r.s->qpos, (size_t)r.m->nq * sizeof(tgReal));
  for (int k = 0; k < 120; k++) {
    tgtRandom random = {17 + (unsigned)k};
    double far = pow(10, tgt_uniform(&random, -3, 0.5));
    for (int i = 0; i < r.m->nv; i++) d[i] = (k % 3 == 0 || i % 6 < 3 ? far : 0.1 * far) * tgt_normal(&random);
    double a = bound(r.s, d), b = bound(all, d);
    assert_true(a == b && a > 0);
    few += 2 * tgi_barrier_work(r.s)->step.n < tgi_barrier_work(all)->step.n;
    stopped += a < 1;
    for (int i = 0; i < r.m->nv; i++) d[i] *= 0.7 * a;
    assert_int_equal(r.s->contact_model->kind->law->step_bound(r.s, &r.s->start, d, &share), TG_OK);
    assert_true(share == bound(all, d));
  }
  print_message("%d of 120 steps are cut short, in %d few pairs are looked at\n", stopped, few);
  assert_true(stopped > 20 && stopped < 110 && few > 50);
  free(d);
  tg_sim_free(all);
  drop(&r);
}

// at a pose, the pairs whose spheres come within the reach are all there, in the order of the model's
static void lists(void **state) {
  (void)state;
  Rig r = scatter("barrier", "long_range=off weight=1e-3", 3);
  const tgiBarrier *k = tgi_barrier(r.s);
  int in = 0, out = 0;
  for (int trial = 0; trial < 40; trial++) {
    tgtRandom random = {5 + (unsigned)trial};
    for (int i = 0; i < r.m->njnt; i++)
      for (int j = 0; j < 3 && r.m->jnt_type[i] == TG_JOINT_FREE; j++) r.s->qpos[r.m->jnt_qadr[i] + j] = tgt_uniform(&random, 0, side);
    tgi_kinematics(&r.s->m, r.s->qpos, &r.s->start);
    tgStatus status = tgi_barrier_pairs(r.s, &r.s->start, false);
    if (status == TG_ERR_CAPACITY) {
      assert_int_equal(tgi_sim_grow(r.s), TG_OK);
      tgi_kinematics(&r.s->m, r.s->qpos, &r.s->start);
      status = tgi_barrier_pairs(r.s, &r.s->start, false);
    }
    assert_int_equal(status, TG_OK);
    const tgiNearPairs *near = &tgi_barrier_work(r.s)->sums.near;
    for (int p = 0, at = 0; p < r.m->npair; p++) {
      tgiGeomPair g;
      if (!tgi_near_pair(k, r.m, p, &g)) continue;
      bool listed = at < near->n && near->pair[at].pair == p;
      at += listed;
      in += listed;
      out += !listed;
      if (listed || g.plane) continue;
      double d[3], gap = 0;
      for (int i = 0; i < 3; i++) {
        d[i] = tgRe(r.s->start.geom_xpos[3 * g.A + i] - r.s->start.geom_xpos[3 * g.B + i]);
        gap += d[i] * d[i];
      }
      // spheres about the geoms' centres, which are those of their surfaces
      double both = tgRe(tgi_barrier_work(r.s)->geom[g.A].numbers.radius[0] + tgi_barrier_work(r.s)->geom[g.B].numbers.radius[0]);
      assert_true(sqrt(gap) - both > 2 * k->options.local_range);
    }
  }
  assert_true(in > 100 && out > 4 * in);
  drop(&r);
}

// bits of a step do not depend on where the sim was before
static void no_history(void **state) {
  (void)state;
  Rig r = scatter("barrier", "long_range=off weight=1e-3", 11), fresh = {.m = r.m, .c = r.c};
  tgtRandom random = {2};
  size_t nq = (size_t)r.m->nq, nv = (size_t)r.m->nv;
  tgReal *x = malloc((nq + nv) * sizeof *x);
  for (int k = 0; k < 6; k++) {
    random_velocities(&r, &random, k % 2 == 0 ? 1 : 20);
    memcpy(x, r.s->qpos, nq * sizeof *x);
    memcpy(x + nq, r.s->qvel, nv * sizeof *x);
    fresh.s = tg_sim_create(r.m, r.c, NULL, NULL);
    memcpy(fresh.s->qpos, x, nq * sizeof *x);
    memcpy(fresh.s->qvel, x + nq, nv * sizeof *x);
    assert_int_equal(tg_sim_step_growing(r.s, h, NULL), TG_OK);
    assert_int_equal(tg_sim_step_growing(fresh.s, h, NULL), TG_OK);
    assert_memory_equal(r.s->qpos, fresh.s->qpos, nq * sizeof *x);
    assert_memory_equal(r.s->qvel, fresh.s->qvel, nv * sizeof *x);
    check_gradient(&r, &fresh, k == 0, 9);
    tg_sim_free(fresh.s);
  }
  free(x);
  drop(&r);
}

// without room for the near pairs a step changes nothing and says how many there are; given it, it has the same bits
static void without_room(void **state) {
  (void)state;
  Rig r = scatter("barrier", "long_range=off weight=1e-3", 21);
  tgtRandom random = {3};
  random_velocities(&r, &random, 1);
  tgSim *s = tg_sim_create(r.m, r.c, NULL, NULL);
  memcpy(s->qpos, r.s->qpos, (size_t)r.m->nq * sizeof(tgReal));
  memcpy(s->qvel, r.s->qvel, (size_t)r.m->nv * sizeof(tgReal));
  s->cap.nnear = s->wanted.nnear = 1;
  assert_int_equal(tg_sim_step(s, h, NULL), TG_ERR_CAPACITY);
  assert_true(s->wanted.nnear > 1);
  same_bits(s->qpos, r.s->qpos, r.m->nq);
  assert_int_equal(tg_sim_step_growing(s, h, NULL), TG_OK);
  assert_int_equal(tg_sim_step_growing(r.s, h, NULL), TG_OK);
  same_bits(s->qpos, r.s->qpos, r.m->nq);
  same_bits(s->qvel, r.s->qvel, r.m->nv);
  tg_sim_free(s);
  drop(&r);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(as_all_pairs), cmocka_unit_test(step_bounds), cmocka_unit_test(lists),
                                     cmocka_unit_test(no_history), cmocka_unit_test(without_room)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
