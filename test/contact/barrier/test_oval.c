// test_oval.c: the pair solve with ellipsoids: value in closed form, derivatives, every width of vectors; none given up, nor of other
// cores.
// Arguments: test_oval [pairs]
#include <stdio.h>
#include <stdlib.h>

#include "contact/barrier/ovals.h"
#include "contact/barrier/pair/height.h"
#include "contact/barrier/pair/pair_local.h"
#include "contact/barrier/pair/pair_wide.h"

static long pairs = 3000;
static const double X0 = 0.1;

static bool local;   // which of the two reaches

static void outputs(const tgReal x[18], const tgiPairCores *cores, tgtOutputs *o) {
  if (local) {
    tgiPairLocal r;
    assert_true(tgi_pair_local_solve(x, cores, X0, false, &r));
    o->value = r.P;
    memcpy(o->g, r.g, sizeof o->g);
    tgi_pair_local_force(x, cores, X0, &r, &o->f);
    return;
  }
  tgiPair r;
  assert_true(tgi_pair_solve(x, cores, false, &r));
  o->value = r.S;
  memcpy(o->g, r.g, sizeof o->g);
  tgi_pair_force(x, cores, &r, &o->f);
}

// value, g, H, force rates along the twists of A, and all rates along a field, of either reach
typedef struct Analytic { tgReal value, g[6], H[21]; tgiPairForce df[6], one; tgReal dS, dg[6]; } Analytic;

static bool analytic(const tgReal x[18], const tgiPairCores *cores, const tgiPairField *field, Analytic *a) {
  if (local) {
    tgiPairLocal r;
    assert_true(tgi_pair_local_solve(x, cores, X0, false, &r));
    a->value = r.P;
    memcpy(a->g, r.g, sizeof a->g);
    memcpy(a->H, r.H, sizeof a->H);
    tgi_pair_local_force_d(x, cores, X0, &r, a->df);
    tgi_pair_local_rate_d(x, cores, X0, &r, field, &a->dS, a->dg, &a->one);
    return tgRe(r.P) > 1e-6;
  }
  tgiPair r;
  assert_true(tgi_pair_solve(x, cores, false, &r));
  a->value = r.S;
  memcpy(a->g, r.g, sizeof a->g);
  memcpy(a->H, r.H, sizeof a->H);
  tgi_pair_force_d(x, cores, &r, a->df);
  tgi_pair_rate_d(x, cores, &r, field, &a->dS, a->dg, &a->one);
  return true;
}

static void check_derivatives(tgtRandom *rng, double gap, double least, double tol) {
  double X[18];
  tgReal x[18], D[36], S[36], J[36];
  tgtOutputs d;
  Analytic a;
  const tgiPairCores cores = ovals_make(rng, gap, (const double[]){1, tgt_uniform(rng, 0.5, 2)}, least, X);
  const tgiPairField field = field_make(rng, X);
  widen(X, x);
  if (!analytic(x, &cores, &field, &a)) return;
  double step = local ? 1e-4 * gap : 5e-4 * fmin(gap, 1), g = largest(a.g, 6), H = largest(a.H, 21);
  for (int j = 0; j < 6; j++) {
    tgReal xi[6] = {0};
    xi[j] = 1;
    tgiPairField twist = twist_field_of(x, &cores, xi);
    along(outputs, x, &cores, &twist, step, &d);
    compare("g", 0, gap, &a.g[j], &d.value, 1, g, tol);
    for (int i = 0; i < 6; i++) D[6 * i + j] = d.g[i];
    compare("force_d N", 0, gap, &a.df[j].N, &d.f.N, 1, H, tol);
    compare("force_d u", 0, gap, a.df[j].u, d.f.u, 3, 1 / gap, tol);
    compare("force_d a", 0, gap, a.df[j].a, d.f.a, 3, 1 / gap, tol);
    compare("force_d b", 0, gap, a.df[j].b, d.f.b, 3, 1 / gap, tol);
  }
  for (int i = 0; i < 6; i++)
    for (int j = 0; j < 6; j++) {
      S[6 * i + j] = 0.5 * (D[6 * i + j] + D[6 * j + i]);
      J[6 * i + j] = a.H[i >= j ? TGI_LOWER(i, j) : TGI_LOWER(j, i)];
    }
  compare("H", 0, gap, J, S, 36, H, tol);
  along(outputs, x, &cores, &field, step, &d);
  tol *= 10;
  compare("rate S", 0, gap, &a.dS, &d.value, 1, g, tol);
  compare("rate g", 0, gap, a.dg, d.g, 6, H, tol);
  compare("rate N", 0, gap, &a.one.N, &d.f.N, 1, H, tol);
  compare("rate u", 0, gap, a.one.u, d.f.u, 3, 1 / gap, tol);
  compare("rate a", 0, gap, a.one.a, d.f.a, 3, 1 / gap, tol);
  compare("rate b", 0, gap, a.one.b, d.f.b, 3, 1 / gap, tol);
}

// gradient, Hessian, the force's rates for twists of A, and all along any field of centres, corners, radii and semi-axes
static void test_derivatives(void **state) {
  (void)state;
#ifdef TG_COMPLEX
  static const double gaps[] = {3, 0.15, 1e-2, 1e-4, 1e-6};
  const double more = 1;
#else
  static const double gaps[] = {3, 0.1, 1e-2};
  const double more = 1e4;   // differences
#endif
  for (int reach = 0; reach < 2; reach++) {
    tgtRandom rng = {51};
    local = reach == 1;
    for (int trial = 0; trial < 60; trial++)
      for (size_t k = 0; k < sizeof gaps / sizeof *gaps; k++) {
        if (local && gaps[k] > 2 * X0) continue;
        check_derivatives(&rng, gaps[k], 0.2, more * (local ? 1e-11 + 1e-14 / gaps[k] : 3e-12 + 1e-14 / gaps[k]));
      }
  }
  local = false;
}

// above a half-space: the height, its second derivative in turns and the lowest point's rate, by differences of fourth order
static void test_height(void **state) {
  (void)state;
  tgtRandom rng = {56};
  static const double at[4] = {-2, -1, 1, 2}, weight[4] = {1.0 / 12, -2.0 / 3, 2.0 / 3, -1.0 / 12};
  const double step = 1e-3;
  for (int trial = 0; trial < 200; trial++) {
    double R[9], N[9];
    tgReal axes[9], n[3], daxes[9], rate[3], got[3], low[3], want[3] = {0, 0, 0}, G[6] = {0}, turn[3];
    oval_directions(&rng, R);
    oval_directions(&rng, N);
    for (int i = 0; i < 9; i++) axes[i] = pow(0.2, tgt_uniform(&rng, 0, 1)) * R[i];
    for (int i = 0; i < 3; i++) {
      n[i] = N[i];
      turn[i] = tgt_normal(&rng);
    }
    for (int i = 0; i < 9; i += 3) tgi_v3_cross(daxes + i, turn, axes + i);
    tgi_oval_point_d(axes, daxes, n, got);
    for (int j = 0; j < 4; j++) {
      tgReal moved[9], point[3];
      for (int i = 0; i < 9; i++) moved[i] = axes[i] + at[j] * step * daxes[i];
      tgi_oval_point(moved, n, point);
      for (int i = 0; i < 3; i++) want[i] += weight[j] / step * point[i];
    }
    for (int i = 0; i < 3; i++) check_close(got[i], want[i], 1e-7);
    // dh = n.(rate of the point); with the point turned along it is turn.(low x n), of which the turn of the support is the rest
    tgi_oval_point(axes, n, low);
    tgi_oval_turn(axes, n, 1, G);
    tgi_v3_cross(rate, turn, low);
    tgReal second = 0, bend = 0, d[3];
    for (int i = 0; i < 3; i++)
      for (int j = 0; j < 3; j++) second += turn[i] * turn[j] * G[i >= j ? TGI_LOWER(i, j) : TGI_LOWER(j, i)];
    tgi_v3_sub(d, rate, got);
    tgReal across[3];
    tgi_v3_cross(across, turn, n);
    bend = -tgi_v3_dot(across, d);   // rate of the point = turn x low - (Hess h)(turn x n)
    check_close(second, bend, 1e-12 * (1 + fabs(tgRe(bend))));
  }
}

// two ellipsoids, and one and a point: 12/S* is the distance
static void test_distance(void **state) {
  (void)state;
  tgtRandom rng = {52};
  for (int trial = 0; trial < 2000; trial++) {
    double X[18], gap = pow(10, tgt_uniform(&rng, -6, 2));
    tgReal x[18];
    tgiPair r;
    const tgiPairCores cores = ovals_make(&rng, gap, (const double[]){1, pow(10, tgt_uniform(&rng, -1, 1))}, 0.1, X);
    widen(X, x);
    assert_true(tgi_pair_solve(x, &cores, false, &r));
    double D = tgRe(12 / r.S), size = largest(x, 18);
    bool points = true;
    for (int half = 0; half < 2; half++) points = points && memcmp(X + 9 * half, X + 9 * half + 6, 3 * sizeof *X) == 0;
    check_true(D >= gap * (1 - 1e-12) - 1e-14 * size && D <= 3 * gap * (1 + 1e-12) + 1e-14 * size, "gap %g: D %g", gap, D);
    if (points) check_close(D, gap, 1e-12 * gap + 3e-15 * size);
  }
}

static double extent_of(const tgiPairCores *c, const double X[18]) {
  double m = 0;
  for (int k = 0; k < 18; k++) m = fmax(m, fmax(fabs(X[k]), c->oval[k / 9] ? fabs(tgRe(c->axes[k / 9][k % 9])) : 0));
  return fmax(m, fmax(tgRe(c->radius[0]), tgRe(c->radius[1])));
}

// gaps of 1e-9 to 1e3 of the size, semi-axes to a thousandth of the largest: none is given up, and none that overlaps is parted
static void test_all(void **state) {
  (void)state;
  tgtRandom rng = {53};
  long steps = 0, failed = 0;
  int most = 0, over[4] = {0};
  for (long trial = 0; trial < pairs; trial++) {
    double X[18], gap = pow(10, tgt_uniform(&rng, -9, 3)), size[2] = {1, pow(10, tgt_uniform(&rng, -1, 1))};
    tgReal x[18];
    tgiPair r;
    tgiPairLocal near;
    const tgiPairCores cores = ovals_make(&rng, gap, size, pow(10, tgt_uniform(&rng, -3, 0)), X);
    widen(X, x);
    if (!tgi_pair_solve(x, &cores, false, &r)) {
      failed += gap > 1e-12 * extent_of(&cores, X);
      continue;
    }
    steps += r.iterations;
    if (r.iterations > most) most = r.iterations;
    for (int k = 0; k < 4; k++) over[k] += r.iterations > 10 * (k + 1);
    if (trial % 10 == 0) check_true(tgi_pair_local_solve(x, &cores, X0, false, &near), "short reach, gap %g: given up", gap);
    if (trial % 10 != 1) continue;
    const tgiPairCores deep = ovals_make(&rng, -pow(10, tgt_uniform(&rng, -6, -3)), size, 0.3, X);
    widen(X, x);
    check_true(!tgi_pair_solve(x, &deep, false, &r), "solids that overlap are parted: S = %g", tgRe(r.S));
  }
  printf("%ld pairs with ellipsoids: %ld failures, Newton steps mean %.2f, most %d; over 10, 20, 30, 40: %d, %d, %d, %d\n", pairs, failed,
         (double)steps / (double)pairs, most, over[0], over[1], over[2], over[3]);
  assert_int_equal(failed, 0);
}

// points, segments and triangles with radii of 0 or 1e-2 to 3 of their size, gaps of 1e-9 to 1e3
static void test_cores(void **state) {
  (void)state;
  tgtRandom rng = {55};
  long failed = 0, steps = 0;
  int most = 0;
  for (long trial = 0; trial < pairs; trial++) {
    double X[18], gap = pow(10, tgt_uniform(&rng, -9, 3)), size[2] = {1, pow(10, tgt_uniform(&rng, -1, 1))};
    tgReal x[18];
    tgiPair r;
    const tgiPairCores cores = cores_make(&rng, (int)(tgt_next(&rng) % PAIR_KINDS), gap, size, 0.5, X);
    widen(X, x);
    failed += !tgi_pair_solve(x, &cores, false, &r);
    steps += r.iterations;
    if (r.iterations > most) most = r.iterations;
  }
  printf("%ld pairs of cores with radii: %ld failures, Newton steps mean %.2f, most %d\n", pairs, failed, (double)steps / (double)pairs,
         most);
  assert_int_equal(failed, 0);
}

#ifndef TG_COMPLEX
static void put(tgiPairBlock *b, int l, const double X[18], const tgiPairCores *c) {
  for (int i = 0; i < 18; i++) {
    b->x[i][l] = X[i];
    b->axes[i / 9][i % 9][l] = c->oval[i / 9] ? c->axes[i / 9][i % 9] : 0;
  }
  for (int half = 0; half < 2; half++) {
    b->radius[half][l] = c->radius[half];
    b->segment[half][l] = c->segment[half];
  }
}

static double apart(const tgReal *a, const tgReal *b, int n) {
  double m = 0;
  for (int k = 0; k < n; k++) m = fmax(m, fabs(tgRe(a[k] - b[k])));
  return m;
}

// every width that the machine has against one pair at a time, values, derivatives and forces
static void test_wide(void **state) {
  (void)state;
  static tgiPairBlock b;
  for (int isa = 0; isa < tgi_isas(); isa++) {
    tgtRandom rng = {54};
    if (!tgi_isa_present(isa)) continue;
    for (int trial = 0; trial < 300; trial++) {
      double X[TGI_PAIR_LANES][18], gap[TGI_PAIR_LANES];
      tgiPairCores cores[TGI_PAIR_LANES];
      tgiPairForces f;
      for (int l = 0; l < TGI_PAIR_LANES; l++) {
        gap[l] = pow(10, tgt_uniform(&rng, -5, 1));
        cores[l] = ovals_make(&rng, gap[l], (const double[]){1, tgt_uniform(&rng, 0.2, 5)}, 0.1, X[l]);
        put(&b, l, X[l], &cores[l]);
      }
      b.count = TGI_PAIR_LANES;
      b.warm = 0;
      b.oval = true;
      tgi_pair_block_on(isa, &b);
      assert_int_equal(b.separated, (1u << TGI_PAIR_LANES) - 1);
      tgi_pair_block_force_on(isa, &b, &f);
      for (int l = 0; l < TGI_PAIR_LANES; l++) {
        tgReal x[18], g[6], H[21];
        tgiPair r;
        tgiPairForce one;
        widen(X[l], x);
        assert_true(tgi_pair_solve(x, &cores[l], false, &r));
        tgi_pair_force(x, &cores[l], &r, &one);
        for (int i = 0; i < 6; i++) g[i] = b.g[i][l];
        for (int i = 0; i < 21; i++) H[i] = b.H[i][l];
        double size = extent_of(&cores[l], X[l]), tol = 1e-12 + 1e-14 * size / gap[l], scale = largest(r.g, 6) * (1 + size);
        const char *name = tgi_isa_name(isa);
        check_true(fabs(b.S[l] - r.S) <= tol * r.S, "%s gap %g: S %.17g, plain %.17g", name, gap[l], b.S[l], r.S);
        check_true(apart(g, r.g, 6) <= 10 * tol * scale, "%s gap %g: gradient differs by %g", name, gap[l], apart(g, r.g, 6) / scale);
        check_true(apart(H, r.H, 21) <= 30 * tol * largest(r.H, 21), "%s gap %g: H differs by %g", name, gap[l], apart(H, r.H, 21));
        tgReal at[6] = {f.a[0][l], f.a[1][l], f.a[2][l], f.b[0][l], f.b[1][l], f.b[2][l]};
        double off = fmax(apart(at, one.a, 3), apart(at + 3, one.b, 3));
        check_true(off <= 100 * tol * size, "%s gap %g: points differ by %g", name, gap[l], off);
      }
    }
  }
}
#endif

int main(int argc, char **argv) {
  if (argc > 1) pairs = strtol(argv[1], NULL, 10);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_distance), cmocka_unit_test(test_height), cmocka_unit_test(test_all), cmocka_unit_test(test_cores),
      cmocka_unit_test(test_derivatives),
#ifndef TG_COMPLEX
      cmocka_unit_test(test_wide),
#endif
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
