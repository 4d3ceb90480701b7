// test_step_gradient.c: whole steps under the barrier with friction: the adjoint and the dense Jacobian in (q, v), and
// dL/dp of every parameter, against complex steps (real build: differences) of the step itself.
#include <stdio.h>

#include "contact/contact.h"
#include "step/param_check.h"
#include "support/deriv.h"
#include "support/rig.h"
#include "tangere/barrier.h"

#ifdef TG_COMPLEX
static const double tolerance = 1e-7;
#else
static const double tolerance = 1e-5;
#endif
static const double h = 0.01;
enum { BODIES = 2, NQ = 7 * BODIES, NV = 6 * BODIES };

static int add_box(tgDesc *d, int body, double x, double y, double z, double mu) {
  int g = tg_desc_add_geom(d, body, TG_GEOM_BOX, NULL);
  d->geom[g].size[0] = x;
  d->geom[g].size[1] = y;
  d->geom[g].size[2] = z;
  d->geom[g].friction[0] = mu;
  d->geom[g].mass = 0.3;
  return g;
}

static int add_round(tgDesc *d, int body, tgGeomType type, double r, double half, double mu) {
  int g = tg_desc_add_geom(d, body, type, NULL);
  d->geom[g].size[0] = r;
  d->geom[g].size[1] = half;
  d->geom[g].friction[0] = mu;
  d->geom[g].mass = 0.3;
  return g;
}

// what lies on the floor and what leans over it
typedef enum Pair { BOXES, BALL_ON_CAPSULE, CAPSULE_ON_BOX, EGG_ON_BOX, EGG_ON_EGG, PAIRS } Pair;
static Pair pair_made = BOXES;

// a box on the floor and another that leans over it, or rounded shapes, geoms off their bodies' frames
static Rig make(const char *word, const tgContactOptions *o) {
  tgDesc *d = tg_desc_create(NULL);
  int g = tg_desc_add_geom(d, 0, TG_GEOM_PLANE, NULL);
  d->geom[g].size[2] = 1;
  d->geom[g].friction[0] = 0.5;
  const double q[4] = {0.9, 0.3, -0.3, 0.1};  // of length 1
  for (int k = 0; k < BODIES; k++) {
    int b = tg_desc_add_body(d, 0, NULL);
    tg_desc_add_joint(d, b, TG_JOINT_FREE, NULL);
    if (pair_made == BALL_ON_CAPSULE) {
      g = k == 0 ? add_round(d, b, TG_GEOM_CAPSULE, 0.05, 0.12, 0.6) : add_round(d, b, TG_GEOM_SPHERE, 0.04, 0, 0.3);
      if (k == 0) memcpy(d->geom[g].quat, (double[4]){0.5, 0.5, 0.5, 0.5}, sizeof d->geom[g].quat);
    } else if ((pair_made == EGG_ON_BOX && k == 1) || pair_made == EGG_ON_EGG) {
      g = add_round(d, b, TG_GEOM_ELLIPSOID, k == 0 ? 0.1 : 0.07, k == 0 ? 0.12 : 0.05, k == 0 ? 0.6 : 0.3);
      d->geom[g].size[2] = k == 0 ? 0.05 : 0.04;
    } else if (pair_made == CAPSULE_ON_BOX && k == 1) {
      g = add_round(d, b, TG_GEOM_CAPSULE, 0.04, 0.06, 0.3);
    } else {
      g = k == 0 ? add_box(d, b, 0.1, 0.12, 0.05, 0.6) : add_box(d, b, 0.07, 0.05, 0.04, 0.3);
    }
    d->geom[g].pos[0] = 0.02 * k;
    if (k == 1) for (int i = 0; i < 4; i++) d->geom[g].quat[i] = q[i];
  }
  return rig_of_desc(d, word, o);
}

typedef struct Map { tgSim *s; tgReal q1[NQ]; } Map;

static void set(tgSim *s, const tgReal *x) {
  memcpy(s->qpos, x, NQ * sizeof *x);
  memcpy(s->qvel, x + NQ, NV * sizeof *x);
}
static tgStatus step(void *ctx, const tgReal *x, tgReal *y) {
  Map *m = ctx;
  set(m->s, x);
  TG_TRY(tg_sim_step(m->s, h, NULL));
  tg_model_difference(m->s->model, m->q1, m->s->qpos, y);
  memcpy(y + NV, m->s->qvel, NV * sizeof *y);
  return TG_OK;
}
static void retract(void *ctx, const tgReal *x, const tgReal *d, tgReal *out) {
  tg_model_integrate(((Map *)ctx)->s->model, x, d, out);
  for (int i = 0; i < NV; i++) out[NQ + i] = x[NQ + i] + d[NV + i];
}

static void check_state(tgSim *s, const tgReal *x, tgtRandom *r, const char *name) {
  Map m = {.s = s};
  tgReal D[4 * NV * NV], w[2 * NV], dq[NV] = {0}, dv[NV] = {0}, v[2 * NV], row[2 * NV];
  tgGradInfo info;
  set(s, x);
  assert_int_equal(tg_sim_step_growing(s, h, NULL), TG_OK);
  memcpy(m.q1, s->qpos, sizeof m.q1);
  assert_int_equal(tg_sim_step_jacobian(s, D, &info), TG_OK);
  tgt_random_vector(r, 2 * NV, w);
  assert_int_equal(tg_sim_step_vjp(s, w, w + NV, dq, dv, NULL, NULL, &info), TG_OK);
  memcpy(row, dq, sizeof dq);
  memcpy(row + NV, dv, sizeof dv);
  tgt_random_vector(r, 2 * NV, v);
  tgt_check_adjoint(D, 2 * NV, 2 * NV, w, v, row);
  const int blocks[] = {NV, NV};
  tgtDeriv d = {.name = name, .nx = NQ + NV, .nt = 2 * NV, .ny = 2 * NV, .map = step, .retract = retract, .ctx = &m,
                .tol = tolerance, .step = 1e-6, .rows = blocks, .nrows = 2, .cols = blocks, .ncols = 2};
  tgt_check_jacobian(&d, x, D);
}

// dL/dp of what friction and the barrier depend on
static void check_numbers(tgSim *s, const tgReal *x, tgtRandom *r, const char *name, tgtParamSeen *seen) {
  static const char *const names[] = {"geom_friction", "geom_pos", "geom_quat", "geom_size", "opt_timestep",
                                      "opt_gravity", "contact.weight", "contact.slip_speed", "contact.rounding"};
  enum { NAMES = sizeof names / sizeof *names };
  int n = strcmp(s->contact_model->kind->word, "barrier") == 0 ? NAMES : NAMES - 1;   // the last is of that alone
  tgReal w[2 * NV], q1[NQ];
  tgError e = {0};
  tgParamGrad *p = tg_param_grad_create_contact(s->contact_model, names, n, NULL, &e);
  check_true(p != NULL, "%s", e.text);
  set(s, x);
  assert_int_equal(tg_sim_step_growing(s, h, NULL), TG_OK);
  memcpy(q1, s->qpos, sizeof q1);
  tgt_random_vector(r, 2 * NV, w);
  tgStatus status;
  while ((status = tg_sim_step_vjp(s, w, w + NV, NULL, NULL, NULL, p, NULL)) == TG_ERR_CAPACITY) {
    assert_int_equal(tg_sim_grow(s), TG_OK);
    set(s, x);
    assert_int_equal(tg_sim_step_growing(s, h, NULL), TG_OK);
    tg_param_grad_clear(p);
  }
  assert_int_equal(status, TG_OK);
  for (int k = 0; tgt_param_name(s, k) != NULL; k++) {
    tgtParamCtx c = {.s = s, .h = h, .q = x, .w = x + NQ, .q1 = q1};
    tgt_check_param(&c, k, w, p, r, tolerance, 1e-3, name, seen);
  }
  tg_param_grad_free(p);
}

// from x for n steps; what is asked for is checked at the last of them
static void follow(const char *word, const tgContactOptions *o, const tgReal *x, int n, const char *what, tgtParamSeen *seen) {
  tgtRandom r = {31};
  Rig rig = make(word, o);
  tgSim *s = rig.s;
  tgReal at[NQ + NV];
  set(s, x);
  for (int k = 0; k < n; k++) {
    memcpy(at, s->qpos, NQ * sizeof *x);
    memcpy(at + NQ, s->qvel, NV * sizeof *x);
    tgStatus status = tg_sim_step_growing(s, h, NULL);
    check_true(status == TG_OK, "%s, step %d: %s", what, k, s->error.text);
  }
  check_state(s, at, &r, what);
#ifdef TG_COMPLEX
  check_numbers(s, at, &r, what, seen);
#else
  (void)check_numbers, (void)seen;
#endif
  drop(&rig);
}

static void gradients(void **state) {
  (void)state;
  tgtParamSeen seen = {.width = 1e-5};   // at 1e-6 the differences in the step size are off by 1e-6 of rounding
  // one box slides on the floor, the other falls on it, and both turn
  const tgReal fast[NQ + NV] = {0, 0, 0.055, 1, 0, 0, 0, 0, 0.02, 0.2, 1, 0, 0, 0, 0.3, -0.2, -0.1, 0, 0, 0.5, 0, 0, -0.3, 0.5, 1, 0};
  const tgReal slow[NQ + NV] = {0, 0, 0.053, 1, 0, 0, 0, 0, 0.02, 0.2, 1, 0, 0, 0, 0.02, -0.01, 0, 0, 0, 0.05};
  tgBarrierOptions o = tg_barrier_default();
  o.weight = 1e-5;
  follow("barrier", &o.of, fast, 1, "falling", &seen);
  follow("barrier", &o.of, fast, 8, "landing", &seen);
  follow("barrier", &o.of, fast, 16, "sliding", &seen);
  o.friction = TG_FRICTION_PLANE;
  o.slip_speed = 1e-2;
  follow("barrier", &o.of, slow, 4, "between planes", &seen);
  tgAnyContactOptions local = options_of("sdrs", "weight=0.1");
  follow("sdrs", &local.of, fast, 12, "local", &seen);
  local = options_of("ipc", "weight=1e-3");
  follow("ipc", &local.of, fast, 12, "distances", &seen);
  // cores with a radius: of both, and of one of them before triangles
  tgAnyContactOptions round = options_of("barrier", "weight=1e-7 geom_form=rounded");
  for (pair_made = BALL_ON_CAPSULE; pair_made < PAIRS; pair_made++) {
    follow("barrier", &round.of, fast, 1, "rounded, falling", &seen);
    follow("barrier", &round.of, fast, 10, "rounded, landing", &seen);
    follow("barrier", &round.of, fast, 24, "rounded, rolling", &seen);
  }
  round = options_of("barrier", "resting_gap=1e-4 geom_form=rounded");
  pair_made = CAPSULE_ON_BOX;
  follow("barrier", &round.of, fast, 24, "by a resting gap", &seen);
  round = options_of("barrier", "resting_share=1e-3 geom_form=rounded");
  follow("barrier", &round.of, fast, 12, "by a resting share", &seen);
  round = options_of("barrier", "weight=1e-2 geom_form=rounded long_range=off");
  for (pair_made = BALL_ON_CAPSULE; pair_made < PAIRS; pair_made++)
    follow("barrier", &round.of, fast, 12, "rounded, near", &seen);
  // edges with a radius, of both, and of the one before a capsule
  round = options_of("barrier", "weight=1e-6 rounding=8e-3");
  tgAnyContactOptions plane = options_of("barrier", "weight=1e-5 rounding=8e-3 friction=plane slip_speed=1e-2"),
                      near = options_of("barrier", "weight=1e-2 rounding=8e-3 long_range=off");
  pair_made = BOXES;
  follow("barrier", &round.of, fast, 8, "rounded edges, landing", &seen);
  follow("barrier", &round.of, fast, 16, "rounded edges, sliding", &seen);
  follow("barrier", &plane.of, slow, 4, "rounded edges, without planes", &seen);
  follow("barrier", &near.of, fast, 12, "rounded edges, near", &seen);
  pair_made = CAPSULE_ON_BOX;
  follow("barrier", &round.of, fast, 24, "rounded edges under a capsule", &seen);
  pair_made = BOXES;
  Rig rig = make("barrier", &o.of);
  const char *name;
  for (int k = 0; (name = tgt_param_name(rig.s, k)) != NULL; k++)
    if (seen.acts[k] > 0) print_message("%s: acts in %d states, off by %.1e\n", name, seen.acts[k], seen.worst[k]);
  drop(&rig);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(gradients)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
