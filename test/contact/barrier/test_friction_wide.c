// test_friction_wide.c: sums over friction points, every width that the machine has against their definition; a point's
// share has the same bits in every lane.
#include <stdio.h>
#include <string.h>

#include "contact/barrier/friction/friction_twist.h"
#include "contact/barrier/friction/friction_wide.h"
#include "math/quat.h"
#include "support/check.h"

enum { POINTS = 70 };

typedef struct Scene {
  int n;
  tgiFrictionPoint p[POINTS];   // those beyond n are not numbers
  tgiFrictionLaw law;
  tgiFrictionMotion m[2];
} Scene;

// turned and moved over the step by about `move`, both bodies alike but for a share `apart` of it
static void random_motions(tgtRandom *r, double move, double apart, tgiFrictionMotion m[2]) {
  tgReal common[6];
  for (int i = 0; i < 6; i++) common[i] = move * tgt_normal(r);
  for (int b = 0; b < 2; b++) {
    tgReal x0[3], x[3], q[4], w[3], R0[9], R[9], E[9];
    for (int i = 0; i < 3; i++) w[i] = tgt_normal(r);
    tgi_quat_exp(q, w);
    tgi_quat_to_mat(R0, q);
    for (int i = 0; i < 3; i++) w[i] = common[i] + apart * move * tgt_normal(r);
    tgi_quat_exp(q, w);
    tgi_quat_to_mat(E, q);
    tgi_m3_mul(R, E, R0);
    for (int i = 0; i < 3; i++) {
      x0[i] = tgt_normal(r);
      x[i] = x0[i] + common[3 + i] + apart * move * tgt_normal(r);
    }
    tgi_friction_motion(x0, R0, x, R, &m[b]);
  }
}

// of one or two forces of sizes over six decades; every fifth has none
static void random_point(tgtRandom *r, tgiFrictionPoint *p) {
  tgiFrictionSum sum = {0};
  for (int k = 0; k < 1 + (int)(tgt_next(r) % 2); k++) {
    tgiFrictionForce f;
    tgReal n[3] = {tgt_normal(r), tgt_normal(r), tgt_normal(r)};
    f.N = pow(10, tgt_uniform(r, -5, 1));
    tgi_v3_unit(f.n, n);
    for (int i = 0; i < 3; i++) {
      f.a[i] = tgt_normal(r);
      f.b[i] = f.a[i] + 0.1 * tgt_normal(r);
    }
    tgi_friction_add(&sum, &f);
  }
  assert_true(tgi_friction_point(&sum, p));
  if (tgt_next(r) % 5 == 0) p->N = 0;
}

static void random_scene(tgtRandom *r, int n, double move, double apart, Scene *s) {
  s->n = n;
  s->law = (tgiFrictionLaw){.lambda = tgt_uniform(r, 0.1, 1), .h = 0.01, .eps = 1e-3};
  random_motions(r, move, apart, s->m);
  for (int k = 0; k < POINTS; k++) {
    random_point(r, &s->p[k]);
    if (k >= n) memset(&s->p[k], 0xff, sizeof s->p[k]);
  }
}

static double size(const tgReal x[3]) { return sqrt(tgRe(tgi_v3_dot(x, x))); }

// what rounding of the sums is a share of: lambda h N s, lambda N, lambda N/(h s) of each point, times what is lost to
// cancellation where its bodies move by more than it slips, or apart
typedef struct Scale { double energy, force, stiffness, lever; } Scale;

static Scale scale_of(const Scene *s) {
  Scale c = {0};
  for (int k = 0; k < s->n; k++) {
    const tgiFrictionPoint *p = &s->p[k];
    double moved = 0, lever = 1;
    tgReal d[2][3];
    for (int b = 0; b < 2; b++) {
      tgReal to[3];
      tgi_v3_sub(to, b == 0 ? p->a : p->b, s->m[b].from);
      tgi_m3_mulv(d[b], s->m[b].E, to);
      for (int i = 0; i < 9; i++) moved += fabs(tgRe(s->m[b].E[i])) * size(to);
      tgi_v3_add(d[b], d[b], s->m[b].d);
      moved += size(s->m[b].d);
      lever = fmax(lever, size(b == 0 ? p->a : p->b) + size(d[b]));
    }
    tgReal v[3], Qv[3];
    for (int i = 0; i < 3; i++) v[i] = (d[0][i] - d[1][i]) / s->law.h;
    const tgReal Q[9] = {p->Q[0], p->Q[3], p->Q[4], p->Q[3], p->Q[1], p->Q[5], p->Q[4], p->Q[5], p->Q[2]};
    tgi_m3_mulv(Qv, Q, v);
    double slip = sqrt(fmax(0, tgRe(tgi_v3_dot(v, Qv))) + tgRe(s->law.eps * s->law.eps)), across = size(v) / slip;
    double force = tgRe(s->law.lambda * p->N) * (1 + moved / (tgRe(s->law.h) * slip) + across * across);
    c.energy += force * tgRe(s->law.h) * slip;
    c.force += force;
    c.stiffness += force / (tgRe(s->law.h) * slip);
    c.lever = fmax(c.lever, lever);
  }
  return c;
}

static double distance(const tgReal *a, const tgReal *b, int n) {
  double most = 0;
  for (int i = 0; i < n; i++) {
    if (!isfinite(tgRe(a[i] - b[i]))) return INFINITY;
    most = fmax(most, fabs(tgRe(a[i] - b[i])));
  }
  return most;
}

// ---- the sums by their definition, a point at a time ----

static void full(const tgReal M[6], tgReal X[9]) {
  for (int i = 0; i < 6; i++) X[3 * tgi_friction_row[i] + tgi_friction_col[i]] = X[3 * tgi_friction_col[i] + tgi_friction_row[i]] = M[i];
}
// X [x]': x cross each row of X
static void by_cross(const tgReal X[9], const tgReal x[3], tgReal out[9]) {
  for (int i = 0; i < 3; i++) tgi_v3_cross(out + 3 * i, x, X + 3 * i);
}
static void transposed_by_cross(const tgReal X[9], const tgReal x[3], tgReal out[9]) {
  const tgReal T[9] = {X[0], X[3], X[6], X[1], X[4], X[7], X[2], X[5], X[8]};
  by_cross(T, x, out);
}
static void add(tgReal *to, const tgReal *x, int n) {
  for (int i = 0; i < n; i++) to[i] += x[i];
}
static void add_symmetric(tgReal to[6], const tgReal X[9]) {
  for (int i = 0; i < 6; i++) to[i] += X[3 * tgi_friction_row[i] + tgi_friction_col[i]];
}

static void one_by_one(const Scene *s, tgiFrictionTotal *t) {
  *t = (tgiFrictionTotal){.energy = 0};
  for (int k = 0; k < s->n; k++) {
    const tgiFrictionPoint *p = &s->p[k];
    tgReal da[3], db[3], x[3], y[3], V[3], QV[3], Q[9], K[9], KA[9], KB[9], X[9];
    tgi_friction_moved(da, &s->m[0], p->a);
    tgi_friction_moved(db, &s->m[1], p->b);
    tgi_v3_add(x, p->a, da);
    tgi_v3_add(y, p->b, db);
    for (int i = 0; i < 3; i++) V[i] = (da[i] - db[i]) / s->law.h;
    full(p->Q, Q);
    tgi_m3_mulv(QV, Q, V);
    tgReal speed = tgSqrt(tgi_v3_dot(V, QV) + s->law.eps * s->law.eps), scale = s->law.lambda * p->N / speed;
    t->energy += s->law.lambda * s->law.h * p->N * tgi_v3_dot(V, QV) / (speed + s->law.eps);
    for (int i = 0; i < 9; i++) {
      K[i] = scale / s->law.h * (Q[i] - QV[i / 3] * QV[i % 3] / (speed * speed));
      t->fx[i] += scale * QV[i / 3] * x[i % 3];
      t->fy[i] += scale * QV[i / 3] * y[i % 3];
    }
    for (int i = 0; i < 3; i++) t->f[i] += scale * QV[i];
    by_cross(K, x, KA);
    by_cross(K, y, KB);
    add_symmetric(t->K, K);
    add(t->KA, KA, 9);
    add(t->KB, KB, 9);
    transposed_by_cross(KA, x, X);
    add_symmetric(t->AKA, X);
    transposed_by_cross(KA, y, X);
    add(t->AKB, X, 9);
    transposed_by_cross(KB, y, X);
    add_symmetric(t->BKB, X);
  }
}

#define NEAR(member, count, bound) \
  check_true(distance(a.member, b.member, count) <= 2e-15 * (bound), "%s, %d points: " #member " differs by %g of %g", name, s->n, \
             distance(a.member, b.member, count), bound)

static void compare(const char *name, int isa, const Scene *s) {
  tgiFrictionTotal a, b;
  Scale c = scale_of(s);
  double l = c.lever;
  memset(&a, 0xff, sizeof a);
  tgi_friction_total_on(isa, s->n, s->p, &s->law, s->m, &a);
  one_by_one(s, &b);
  check_true(fabs(tgRe(a.energy - b.energy)) <= 2e-15 * c.energy, "%s, %d points: energy %.17g, plain %.17g", name,
             s->n, tgRe(a.energy), tgRe(b.energy));
  NEAR(f, 3, c.force);
  NEAR(fx, 9, c.force * l);
  NEAR(fy, 9, c.force * l);
  NEAR(K, 6, c.stiffness);
  NEAR(KA, 9, c.stiffness * l);
  NEAR(KB, 9, c.stiffness * l);
  NEAR(AKA, 6, c.stiffness * l * l);
  NEAR(AKB, 9, c.stiffness * l * l);
  NEAR(BKB, 6, c.stiffness * l * l);
  for (int i = 0; i < 5; i++) assert_true(tgRe(a.spare[i]) == 0 && tgRe(b.spare[i]) == 0);
}

static void each_isa(void (*check)(int isa, const char *name)) {
  for (int isa = 0; isa < tgi_isas(); isa++)
    if (tgi_isa_present(isa)) check(isa, tgi_isa_name(isa));
}

// moves far below, about and far above the slip speed times the step; all counts of points up to some blocks of the widest
static void check_plain(int isa, const char *name) {
  static const double move[] = {0, 1e-9, 1e-6, 1e-5, 1e-4, 1e-2, 0.3}, apart[] = {1, 1e-3};
  tgtRandom r = {31};
  for (int n = 0; n <= POINTS; n += n < 20 ? 1 : 7)
    for (size_t i = 0; i < sizeof move / sizeof *move; i++)
      for (int k = 0; k < 2; k++) {
        Scene s;
        random_scene(&r, n, move[i], apart[k], &s);
        compare(name, isa, &s);
      }
}
static void test_plain(void **state) {
  (void)state;
  each_isa(check_plain);
}

// a point alone, and in any place among others that have no force: the same bits
static void check_lanes(int isa, const char *name) {
  (void)name;
  tgtRandom r = {32};
  for (int trial = 0; trial < 300; trial++) {
    Scene s;
    tgiFrictionTotal alone, beside;
    random_scene(&r, 1 + (int)(tgt_next(&r) % 20), 1e-5, 1, &s);
    int at = (int)(tgt_next(&r) % (uint64_t)s.n);
    for (int k = 0; k < s.n; k++) s.p[k].N = k == at ? 2 : 0;
    tgi_friction_total_on(isa, 1, s.p + at, &s.law, s.m, &alone);
    tgi_friction_total_on(isa, s.n, s.p, &s.law, s.m, &beside);
    assert_true(tgRe(alone.energy) > 0);
    assert_memory_equal(&alone, &beside, sizeof alone);
  }
}
static void test_lanes(void **state) {
  (void)state;
  each_isa(check_lanes);
}

// bodies that have not moved: no energy and no force, without rounding
static void check_rest(int isa, const char *name) {
  (void)name;
  tgtRandom r = {33};
  Scene s;
  tgiFrictionTotal t;
  random_scene(&r, 21, 0, 1, &s);
  for (int b = 0; b < 2; b++) s.m[b] = (tgiFrictionMotion){.from = {1, 2, 3}};
  tgi_friction_total_on(isa, s.n, s.p, &s.law, s.m, &t);
  assert_true(tgRe(t.energy) == 0 && tgRe(t.K[0]) > 0);
  for (int i = 0; i < 9; i++) assert_true(tgRe(t.f[i % 3]) == 0 && tgRe(t.fx[i]) == 0 && tgRe(t.fy[i]) == 0);
}
static void test_rest(void **state) {
  (void)state;
  each_isa(check_rest);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_plain), cmocka_unit_test(test_lanes), cmocka_unit_test(test_rest)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
