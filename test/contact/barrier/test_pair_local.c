// test_pair_local.c: the pair of short reach against differences, its reach and its growth at contact.
#include "contact/barrier/pair/pair_local.h"
#include <stdio.h>
#include <string.h>

#include "contact/barrier/pair/plane.h"
#include "contact/barrier/pair_rates.h"

static const double X0 = 0.1;

static void outputs(const tgReal x[18], const tgiPairCores *cores, tgtOutputs *o) {
  tgiPairLocal r;
  assert_true(tgi_pair_local_solve(x, cores, X0, false, &r));
  o->value = r.P;
  memcpy(o->g, r.g, sizeof o->g);
  tgi_pair_local_force(x, cores, X0, &r, &o->f);
}

static void check_derivatives(int kind, double gap, const double X[18], const tgiPairCores *cores, tgtRandom *rng, double tol) {
  tgReal x[18], D[36], S[36], J[36], dP, dg[6];
  double step = 1e-4 * gap;
  tgtOutputs d;
  tgiPairLocal r;
  tgiPairForce df[6], one;
  widen(X, x);
  assert_true(tgi_pair_local_solve(x, cores, X0, false, &r));
  assert_true(tgRe(r.P) > 0);
  tgi_pair_local_force_d(x, cores, X0, &r, df);
  double g = largest(r.g, 6), H = largest(r.H, 21);
  for (int j = 0; j < 6; j++) {
    tgReal xi[6] = {0};
    xi[j] = 1;
    tgiPairField twist = twist_field(x, xi);
    along(outputs, x, cores, &twist, step, &d);
    compare("g", kind, gap, &r.g[j], &d.value, 1, g, tol);
    for (int i = 0; i < 6; i++) D[6 * i + j] = d.g[i];
    compare("force_d N", kind, gap, &df[j].N, &d.f.N, 1, H, tol);
    compare("force_d u", kind, gap, df[j].u, d.f.u, 3, 1 / gap, tol);
    compare("force_d a", kind, gap, df[j].a, d.f.a, 3, 1 / gap, tol);
    compare("force_d b", kind, gap, df[j].b, d.f.b, 3, 1 / gap, tol);
  }
  for (int i = 0; i < 6; i++)
    for (int j = 0; j < 6; j++) {
      S[6 * i + j] = 0.5 * (D[6 * i + j] + D[6 * j + i]);
      J[6 * i + j] = r.H[i >= j ? TGI_LOWER(i, j) : TGI_LOWER(j, i)];
    }
  compare("H", kind, gap, J, S, 36, H, tol);
  tgiPairField field = field_make(rng, X);
  along(outputs, x, cores, &field, step, &d);
  tgi_pair_local_rate_d(x, cores, X0, &r, &field, &dP, dg, &one);
  compare("rate P", kind, gap, &dP, &d.value, 1, g, 4 * tol);
  compare("rate g", kind, gap, dg, d.g, 6, H, 4 * tol);
  compare("rate N", kind, gap, &one.N, &d.f.N, 1, H, 4 * tol);
  compare("rate u", kind, gap, one.u, d.f.u, 3, 1 / gap, 4 * tol);
  compare("rate a", kind, gap, one.a, d.f.a, 3, 1 / gap, 4 * tol);
  compare("rate b", kind, gap, one.b, d.f.b, 3, 1 / gap, 4 * tol);
}

static bool in_reach(const double X[18], const tgiPairCores *cores) {
  tgReal x[18];
  tgiPairLocal r;
  widen(X, x);
  assert_true(tgi_pair_local_solve(x, cores, X0, false, &r));
  return tgRe(r.P) > 1e-6;
}

static void test_derivatives(void **state) {
  (void)state;
#ifdef TG_COMPLEX
  static const double gaps[] = {0.19, 0.1, 1e-2, 1e-4, 1e-6};
  const double more = 1;
#else
  static const double gaps[] = {0.1, 1e-2};
  const double more = 1e5;  // differences: 1e-13 of the solve over a step of 1e-4 of the gap
#endif
  tgtRandom rng = {41};
  for (int trial = 0; trial < 20; trial++)
    for (int kind = 0; kind < APART; kind++)
      for (size_t level = 0; level < sizeof gaps / sizeof *gaps; level++) {
        double X[18];
        const tgiPairCores cores = cores_make(&rng, kind, gaps[level], (const double[]){1, tgt_uniform(&rng, 0.5, 2)}, 0.5, X);
        if (!in_reach(X, &cores)) continue;   // a core that lost a corner may be farther away
        check_derivatives(kind, gaps[level], X, &cores, &rng, more * (1e-11 + 1e-14 / gaps[level]));
      }
}

// zero from the gap 2 x0/(1 - x0) on, and there with two derivatives: P, g and H go to zero with the third, second and first power
static void test_reach(void **state) {
  (void)state;
  tgtRandom rng = {42};
  const double reach = 2 * X0 / (1 - X0);
  for (int kind = 0; kind < APART; kind++)
    for (int trial = 0; trial < 20; trial++) {
      tgtRandom same = rng;
      double P[2], g[2], H[2];
      for (int level = 0; level < 5; level++) {
        double X[18], gap = reach * (level == 0 ? 1 - 2e-3 : level == 1 ? 1 - 1e-3 : level == 2 ? 1 + 1e-9 : level == 3 ? 1.01 : 30);
        tgReal x[18];
        tgiPairLocal r;
        tgiPairForce f, df[6];
        same = rng;
        pair_make(&same, kind, gap, (const double[]){1, 1}, 1, 0, X);
        widen(X, x);
        assert_true(tgi_pair_local_solve(x, NULL, X0, false, &r));
        tgi_pair_local_force(x, NULL, X0, &r, &f);
        tgi_pair_local_force_d(x, NULL, X0, &r, df);
        if (level >= 2) {
          check_true(tgRe(r.P) == 0 && largest(r.g, 6) == 0 && largest(r.H, 21) == 0, "%s gap %g: P = %g", pair_kind[kind], gap, tgRe(r.P));
          assert_true(tgRe(f.N) == 0 && tgRe(df[4].N) == 0 && tgRe(df[4].a[1]) == 0);
          continue;
        }
        P[level] = tgRe(r.P);
        g[level] = largest(r.g, 6);
        H[level] = largest(r.H, 21);
        check_true(P[level] > 0 && tgRe(f.N) > 0, "%s gap %g: P = %g", pair_kind[kind], gap, P[level]);
      }
      check_close(log2(P[0] / P[1]), 3, 0.1);
      check_close(log2(g[0] / g[1]), 2, 0.1);
      check_close(log2(H[0] / H[1]), 1, 0.1);
      rng = same;
    }
}

// pairs of all kinds: solved or out of reach, never given up; touching pairs are told; a warm start finds the same
static void test_all(void **state) {
  (void)state;
  tgtRandom rng = {43};
  long cold = 0, warm = 0, near = 0;
  int most = 0;
  for (int trial = 0; trial < 20000; trial++) {
    double X[18], gap = pair_any(&rng, X), size, x0 = pow(10, tgt_uniform(&rng, -2, -0.5));
    tgReal x[18];
    tgiPairLocal r, s;
    widen(X, x);
    size = largest(x, 18);
    check_true(tgi_pair_local_solve(x, NULL, x0, false, &r), "gap %g size %g x0 %g: given up after %d steps", gap, size, x0, r.iterations);
    if (gap > 2 * x0 / (1 - x0) * (1 + 1e-9)) assert_true(tgRe(r.P) == 0 || gap > 1e3 * x0);
    if (tgRe(r.P) == 0) continue;
    s = r;
    assert_true(tgi_pair_local_solve(x, NULL, x0, true, &s));
    double noise = 1e-11 + 1e-12 * size / gap;
    if (noise < 1e-3) check_close(s.P / r.P, 1, noise);
    near++;
    cold += r.iterations;
    warm += s.iterations;
    if (r.iterations > most) most = r.iterations;
    for (int i = 9; i < 18; i++) x[i] = x[i - 9];
    assert_false(tgi_pair_local_solve(x, NULL, x0, false, &s));
    assert_true(isinf(tgRe(s.P)) && tgRe(s.g[0]) == 0);
  }
  printf("%ld pairs in reach: steps %.2f cold (most %d), %.2f warm\n", near, (double)cold / (double)near, most,
         (double)warm / (double)near);
  check_true(2 * warm <= cold, "%ld steps warm, %ld cold", warm, cold);
}

// A point before a triangle, and two points: the start between the closest points is all but as wide as that of the search over features,
// or wider, and both come to the same.
static void test_points(void **state) {
  (void)state;
  tgtRandom rng = {44};
  int near = 0;
  for (int trial = 0; trial < 20000; trial++) {
    double X[18], gap = pair_any(&rng, X);
    int both = trial % 2, whole = trial / 2 % 2;
    tgReal x[18];
    tgiPlane quick, plain;
    tgiPairLocal r, s;
    widen(X, x);
    for (int i = 0; i < 18; i++)
      if (both || i / 9 != whole) x[i] = x[i - i % 9 + i % 3];
    tgi_plane_place(&quick, x, NULL);
    plain = quick;
    assert_true(quick.point && quick.points == (both == 1));
    plain.point = plain.points = false;
    assert_true(tgi_plane_start(&quick) && tgi_plane_start(&plain));
    double least = tgi_plane_margins(&quick), noise = 1e-11 + 1e-12 * quick.size / gap;
    check_true(tgi_plane_margins(&plain) <= least * (1.001 + noise), "gap %g: %g, by features %g", gap, least, tgi_plane_margins(&plain));
    assert_true(tgi_pair_local_solve(x, NULL, X0, false, &r));
    if (tgRe(r.P) == 0 || noise > 1e-3) continue;
    near++;
    tgi_v3_scale(plain.n, plain.n, 1 - X0 / 2);
    plain.d *= 1 - X0 / 2;
    tgi_plane_get(&plain, s.n, &s.d);
    assert_true(tgi_pair_local_solve(x, NULL, X0, true, &s));
    check_close(s.P / r.P, 1, noise);
  }
  check_true(near > 1000, "%d pairs in reach", near);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_derivatives), cmocka_unit_test(test_reach), cmocka_unit_test(test_all),
                                     cmocka_unit_test(test_points)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
