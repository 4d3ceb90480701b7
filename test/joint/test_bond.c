// test_bond.c: connects and welds between two bodies at random poses: energy, gradient and second derivative in
// twists, force with its derivatives in poses and velocities, action and reaction, dissipation, parameters; by
// complex step and by Ridders.
#include "joint/joint.h"
#include "math/quat.h"
#include "support/deriv.h"
#include "support/rig.h"

#ifdef TG_COMPLEX
static const double tolerance = 1e-12;
#else
static const double tolerance = 1e-6;
#endif
enum { TRIALS = 12, BONDS = 3 };

static const char *const scene =
    "<mujoco><worldbody><body name='a' pos='.3 .1 0'><freejoint/><geom type='box' size='.1 .2 .3'/></body>"
    "<body name='b' pos='0 0 .5'><freejoint/>"
    "<geom type='box' size='.2 .1 .1'/></body></worldbody><equality><connect body1='a' body2='b' anchor='.1 .2 .3'/>"
    "<weld body1='a' body2='b' anchor='.1 -.2 .3'/>"
    "<weld body1='b' anchor='0 .1 .2'/></equality></mujoco>";

static Rig make(const char *word) {
  tgAnyContactOptions o = options_of(word, "equality_opening=0.05 equality_frequency=30 spacing=0.2");
  Rig r = rig_of_text(scene, word, &o.of);
  assert_int_equal(r.m->neq, BONDS);
  return r;
}

// random poses and velocities; the turns of welds from small ones on
static void place(tgSim *s, tgtRandom *r, int trial) {
  tgReal w[12];
  for (int i = 0; i < 12; i++) {
    w[i] = tgt_uniform(r, -1, 1) * (trial % 3 == 0 ? 1e-3 : 1);
    s->qvel[i] = tgt_uniform(r, -1, 1);
  }
  tg_model_integrate(&s->m, s->m.qpos0, w, s->qpos);
  assert_int_equal(tg_sim_forward(s), TG_OK);
}

// ---- poses moved by twists ----

typedef struct Poses { tgSim *s; int eq; tgReal xpos[9], xmat[27], xquat[12], V[18]; } Poses;

static void keep(Poses *k, tgSim *s, int eq) {
  *k = (Poses){.s = s, .eq = eq};
  memcpy(k->xpos, s->start.xpos, sizeof k->xpos);
  memcpy(k->xmat, s->start.xmat, sizeof k->xmat);
  memcpy(k->xquat, s->start.xquat, sizeof k->xquat);
  memcpy(k->V, s->start.V, sizeof k->V);
}

static void restore(const Poses *k) {
  memcpy(k->s->start.xpos, k->xpos, sizeof k->xpos);
  memcpy(k->s->start.xmat, k->xmat, sizeof k->xmat);
  memcpy(k->s->start.xquat, k->xquat, sizeof k->xquat);
  memcpy(k->s->start.V, k->V, sizeof k->V);
}

// pose of a body <- exp(xi) pose
static void move(const Poses *k, int b, const tgReal *xi) {
  tgReal e[4], R[9], J[9], minus[3], x[3], t[3];
  if (b == 0) return;
  tgi_quat_exp(e, xi);
  tgi_quat_to_mat(R, e);
  tgi_v3_scale(minus, xi, -1);
  tgi_so3_jr(J, minus);
  tgi_m3_mulv(x, R, k->xpos + 3 * b);
  tgi_m3_mulv(t, J, xi + 3);
  tgi_v3_add(k->s->start.xpos + 3 * b, x, t);
  tgi_m3_mul(k->s->start.xmat + 9 * b, R, k->xmat + 9 * b);
  tgi_quat_mul(k->s->start.xquat + 4 * b, e, k->xquat + 4 * b);
}

static void move_both(const Poses *k, const tgReal *x) {
  move(k, k->s->m.eq_a[k->eq], x);
  move(k, k->s->m.eq_b[k->eq], x + 6);
}

static tgStatus energy(void *ctx, const tgReal *x, tgReal *y) {
  Poses *k = ctx;
  tgPairTerm t;
  move_both(k, x);
  tgi_bond_term(k->s, &k->s->start, k->eq, &t);
  *y = t.energy;
  restore(k);
  return TG_OK;
}

static tgStatus gradient(void *ctx, const tgReal *x, tgReal *y) {
  Poses *k = ctx;
  tgPairTerm t;
  move_both(k, x);
  tgi_bond_term(k->s, &k->s->start, k->eq, &t);
  memcpy(y, t.w, sizeof t.w);
  restore(k);
  return TG_OK;
}

// X is the derivative of the wrenches in twists.
static void check_second(Poses *k, const tgPairTerm *t) {
  tgReal zero[12] = {0}, work[600], D[144];
  double column[24], worst = 0, largest = 0;
  for (int j = 0; j < 12; j++) {
    tgReal e[12] = {0};
    tgiNumDiff n = {.nx = 12, .ny = 12, .nt = 12, .map = gradient, .ctx = k, .step = 1e-3, .analytic = true};
    assert_true(tgi_numdiff_work(&n) <= 600);
    e[j] = 1;
    assert_int_equal(tgi_numdiff(&n, zero, e, TGI_SIDE_BOTH, column, column + 12, work), TG_OK);
    for (int i = 0; i < 12; i++) D[12 * i + j] = column[i];
  }
  bool world = k->s->m.eq_b[k->eq] == 0;
  for (int i = 0; i < 12; i++)
    for (int j = 0; j < 12; j++) {
      if (world && (i >= 6 || j >= 6)) continue;
      largest = fmax(largest, fabs(tgRe(t->X[12 * i + j])));
      worst = fmax(worst, fabs(tgRe(t->X[12 * i + j] - D[12 * i + j])));
    }
  check_true(worst <= tolerance * largest, "second derivative off by %.3g of %.3g", worst, largest);
}

static void test_energy(void **state) {
  (void)state;
  Rig rig = make("barrier");
  tgtRandom r = {.s = 3};
  for (int trial = 0; trial < TRIALS; trial++) {
    place(rig.s, &r, trial);
    for (int eq = 0; eq < BONDS; eq++) {
      Poses k;
      tgPairTerm t;
      tgReal zero[12] = {0};
      keep(&k, rig.s, eq);
      tgi_bond_term(rig.s, &rig.s->start, eq, &t);
      if (rig.s->m.eq_b[eq] == 0)
        for (int i = 6; i < 12; i++) t.w[i] = 0;   // the world is not moved
      tgtDeriv d = {.name = "energy", .nx = 12, .ny = 1, .map = energy, .ctx = &k, .tol = tolerance};
      tgReal slope[12];
      for (int i = 0; i < 12; i++) slope[i] = -t.w[i];
      tgt_check_jacobian(&d, zero, slope);
      check_second(&k, &t);
    }
  }
  drop(&rig);
}

// ---- force ----

// x: twist of the poses, then velocities
static tgStatus force(void *ctx, const tgReal *x, tgReal *y) {
  Poses *k = ctx;
  tgPairTerm f;
  const int body[2] = {k->s->m.eq_a[k->eq], k->s->m.eq_b[k->eq]};
  move_both(k, x);
  for (int side = 0; side < 2; side++)
    for (int i = 0; i < 6 && body[side] > 0; i++) k->s->start.V[6 * body[side] + i] += x[12 + 6 * side + i];
  tgi_bond_force(k->s, &k->s->start, k->eq, &f);
  memcpy(y, f.w, sizeof f.w);
  restore(k);
  return TG_OK;
}

static void test_explicit(void **state) {
  (void)state;
  Rig rig = make("softmin");
  tgtRandom r = {.s = 4};
  for (int trial = 0; trial < TRIALS; trial++) {
    place(rig.s, &r, trial);
    for (int eq = 0; eq < BONDS; eq++) {
      Poses k;
      tgPairTerm f, still;
      tgReal zero[24] = {0}, D[288];
      const int body[2] = {rig.s->m.eq_a[eq], rig.s->m.eq_b[eq]};
      keep(&k, rig.s, eq);
      tgi_bond_force(rig.s, &rig.s->start, eq, &f);
      for (int row = 0; row < 12; row++)
        for (int c = 0; c < 24; c++) D[24 * row + c] = body[c % 12 / 6] == 0 ? 0 : c < 12 ? f.X[12 * row + c] : f.Y[12 * row + c - 12];
      tgtDeriv d = {.name = "force", .nx = 24, .ny = 12, .map = force, .ctx = &k, .tol = tolerance};
      tgt_check_jacobian(&d, zero, D);
      for (int i = 0; i < 6; i++) assert_true(tgRe(f.w[i] + f.w[6 + i]) == 0);
      // what the velocities add takes energy
      for (int i = 0; i < 18; i++) rig.s->start.V[i] = 0;
      tgi_bond_force(rig.s, &rig.s->start, eq, &still);
      restore(&k);
      double power = 0;
      for (int i = 0; i < 12; i++) power += tgRe((f.w[i] - still.w[i]) * rig.s->start.V[6 * body[i / 6] + i % 6]);
      check_true(power < 0, "the dampers give %g W", power);
    }
  }
  drop(&rig);
}

// ---- parameters ----

typedef struct Param { tgSim *s; int eq; bool energy; const char *name; tgReal Z[12], *nominal; const tgReal *dir; int n; } Param;

static tgStatus product(void *ctx, const tgReal *x, tgReal *y) {
  Param *k = ctx;
  tgReal *value = tg_sim_param(k->s, k->name, NULL, NULL);
  const tgReal *w;
  tgPairTerm t;
  tgPairTerm f;
  for (int i = 0; i < k->n; i++) value[i] = k->nominal[i] + x[0] * k->dir[i];
  if (k->energy) tgi_bond_term(k->s, &k->s->start, k->eq, &t);
  else tgi_bond_force(k->s, &k->s->start, k->eq, &f);
  w = k->energy ? t.w : f.w;
  *y = 0;
  for (int i = 0; i < 12; i++) *y += (k->energy ? -w[i] : w[i]) * k->Z[i];   // of an energy: of its gradient
  for (int i = 0; i < k->n; i++) value[i] = k->nominal[i];
  return TG_OK;
}

static void check_parameter(Rig *rig, bool energy, int eq, const char *name, tgtRandom *r, int *acts) {
  tgReal nominal[16], dir[16], zero = 0, ours = 0;
  int rows, cols;
  tgReal *value = tg_sim_param(rig->s, name, &rows, &cols);
  Param k = {.s = rig->s, .eq = eq, .energy = energy, .name = name, .nominal = nominal, .dir = dir, .n = rows * cols};
  assert_true(k.n <= 16);
  for (int i = 0; i < k.n; i++) {
    nominal[i] = value[i];
    dir[i] = k.n == 1 ? value[i] : tgt_uniform(r, -1, 1);
  }
  for (int i = 0; i < 12; i++) k.Z[i] = tgt_uniform(r, -1, 1);
  if (rig->s->m.eq_b[eq] == 0)
    for (int i = 6; i < 12; i++) k.Z[i] = 0;
  tgParamGrad *p = tg_param_grad_create_contact(rig->c, &name, 1, NULL, NULL);
  if (k.energy) tgi_bond_term_parameters(rig->s, &rig->s->start, eq, k.Z, k.Z + 6, p);
  else tgi_bond_force_parameters(rig->s, &rig->s->start, eq, k.Z, k.Z + 6, p);
  for (int i = 0; i < k.n; i++) ours += tg_param_grad_values(p, NULL)[i] * dir[i];
  tgtDeriv d = {.name = name, .nx = 1, .ny = 1, .map = product, .ctx = &k, .tol = 10 * tolerance};
  tgt_check_jacobian(&d, &zero, &ours);
  *acts += fabs(tgRe(ours)) > 1e-6;
  tg_param_grad_free(p);
}

static void test_parameters(void **state) {
  (void)state;
  static const char *const words[2] = {"barrier", "softmin"};
  for (int w = 0; w < 2; w++) {
    const char *const names[4] = {"eq_anchor", "eq_anchor2", "eq_relpos",
                                  w == 0 ? "contact.equality_opening" : "contact.equality_frequency"};
    Rig rig = make(words[w]);
    tgtRandom r = {.s = 5};
    for (int n = 0; n < 4; n++) {
      int acts = 0;
      for (int trial = 0; trial < TRIALS; trial++) {
        place(rig.s, &r, trial);
        for (int eq = 0; eq < BONDS; eq++) check_parameter(&rig, w == 0, eq, names[n], &r, &acts);
      }
      check_true(acts >= TRIALS, "%s acts %d times", names[n], acts);
    }
    drop(&rig);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_energy), cmocka_unit_test(test_explicit), cmocka_unit_test(test_parameters)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
