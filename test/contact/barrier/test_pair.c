// test_pair.c: the triangle pair against closed forms, an independent formulation in twice the digits, and differences.
#include "contact/barrier/pair/pair.h"
#include <float.h>
#include <string.h>

#include "contact/barrier/pair_rates.h"
#include "contact/barrier/quad.h"

// x of A <- exp(xi) x to second order in xi
static void twist_a(const tgReal x[18], const tgReal xi[6], tgReal y[18]) {
  memcpy(y, x, 18 * sizeof *y);
  for (int k = 0; k < 9; k += 3) {
    tgReal d[3], dd[3];
    tgi_v3_cross(d, xi, x + k);
    tgi_v3_axpy(d, 1, xi + 3);
    tgi_v3_cross(dd, xi, d);
    for (int i = 0; i < 3; i++) y[k + i] = x[k + i] + d[i] + 0.5 * dd[i];
  }
}

// what one edge length of error by rounding makes of derivatives at this gap
static double accuracy(double gap) { return 1e-12 + 3e-15 / gap; }

static void outputs(const tgReal x[18], const tgiPairCores *cores, tgtOutputs *o) {
  tgiPair r;
  assert_true(tgi_pair_solve(x, cores, false, &r));
  o->value = r.S;
  memcpy(o->g, r.g, sizeof o->g);
  tgi_pair_force(x, cores, &r, &o->f);
}

#ifdef TG_COMPLEX
static const double gaps[] = {3, 1e-1, 1e-3, 1e-6}, more = 1;
#else
static const double gaps[] = {3, 1e-1, 1e-2}, more = 1e4;  // differences: 1e-13 of the solve over a step of 1e-3
#endif
enum { GAPS = sizeof gaps / sizeof *gaps };

// gradient, Hessian and the force's Jacobian for twists of A; any field for the rates
static void test_derivatives(void **state) {
  (void)state;
  tgtRandom rng = {11};
  for (int trial = 0; trial < 20; trial++)
    for (int kind = 0; kind < PAIR_KINDS; kind++)
      for (int level = 0; level < GAPS; level++) {
        double gap = gaps[level], X[18];
        tgReal x[18], D[36], S[36], J[36];
        tgtOutputs d;
        tgiPair r;
        tgiPairForce df[6], one;
        const double size[2] = {1, tgt_uniform(&rng, 0.5, 2)};
        const tgiPairCores cores = cores_make(&rng, kind, gap, size, 0.5, X);
        double near = gap / (1 + largest(cores.radius, 2)), tol = more * accuracy(near);
        widen(X, x);
        assert_true(tgi_pair_solve(x, &cores, false, &r));
        tgi_pair_force_d(x, &cores, &r, df);
        for (int j = 0; j < 6; j++) {
          tgReal xi[6] = {0};
          xi[j] = 1;
          tgiPairField twist = twist_field(x, xi);
          along(outputs, x, &cores, &twist, 5e-4 * fmin(gap, 1), &d);
          compare("g", kind, gap, &r.g[j], &d.value, 1, largest(r.g, 6), tol);
          for (int i = 0; i < 6; i++) D[6 * i + j] = d.g[i];
          compare("force_d N", kind, gap, &df[j].N, &d.f.N, 1, largest(r.H, 21), tol);
          compare("force_d u", kind, gap, df[j].u, d.f.u, 3, 1 / gap, tol);
          compare("force_d a", kind, gap, df[j].a, d.f.a, 3, 1 / gap, tol);
          compare("force_d b", kind, gap, df[j].b, d.f.b, 3, 1 / gap, tol);
          if (cores.segment[0]) compare("force_d share", kind, gap, df[j].share, d.f.share, 2, 1 / gap, tol);
        }
        tgReal weighed[6] = {0}, want[6], bar[10];
        double most = 0;
        for (int i = 0; i < 10; i++) bar[i] = tgt_normal(&rng);
        tgiPairForce weight = {.N = bar[0], .u = {bar[1], bar[2], bar[3]}, .a = {bar[4], bar[5], bar[6]}, .b = {bar[7], bar[8], bar[9]}};
        tgi_pair_force_vjp(x, &cores, &r, &weight, weighed);
        for (int j = 0; j < 6; j++) {
          const tgReal *part = &df[j].N;
          want[j] = 0;
          for (int i = 0; i < 10; i++) {
            want[j] += bar[i] * part[i];
            most = fmax(most, fabs(tgRe(bar[i] * part[i])));
          }
        }
        // formed apart from the rates: each has the rounding of its own margins
        compare("force_vjp", kind, gap, weighed, want, 6, most, accuracy(near));
        for (int i = 0; i < 6; i++)
          for (int j = 0; j < 6; j++) {
            S[6 * i + j] = 0.5 * (D[6 * i + j] + D[6 * j + i]);
            J[6 * i + j] = r.H[i >= j ? TGI_LOWER(i, j) : TGI_LOWER(j, i)];
          }
        compare("H", kind, gap, J, S, 36, largest(J, 36), tol);
        tgReal dS, dg[6];
        tgiPairField field = field_make(&rng, X);
        along(outputs, x, &cores, &field, 5e-4 * fmin(gap, 1), &d);
        tgi_pair_rate_d(x, &cores, &r, &field, &dS, dg, &one);
        tol *= 3 * fmax(largest(field.x, 18), largest(field.radius, 2));
        compare("rate S", kind, gap, &dS, &d.value, 1, largest(r.g, 6), tol);
        compare("rate g", kind, gap, dg, d.g, 6, largest(r.H, 21), tol);
        compare("rate N", kind, gap, &one.N, &d.f.N, 1, largest(r.H, 21), tol);
        compare("rate u", kind, gap, one.u, d.f.u, 3, 1 / gap, tol);
        compare("rate a", kind, gap, one.a, d.f.a, 3, 1 / gap, tol);
        compare("rate b", kind, gap, one.b, d.f.b, 3, 1 / gap, tol);
        if (cores.segment[0]) compare("rate share", kind, gap, one.share, d.f.share, 2, 1 / gap, tol);
      }
}

// the value along exp(xi) agrees with the expansion to third order
static void test_expansion(void **state) {
  (void)state;
  tgtRandom rng = {12};
  for (int kind = 0; kind < PAIR_KINDS; kind++) {
    double X[18], error[2];
    tgReal x[18], y[18], xi[6];
    tgiPair r, moved;
    pair_make(&rng, kind, 0.5, (const double[]){1, 1}, 1, 1, X);
    widen(X, x);
    assert_true(tgi_pair_solve(x, NULL, false, &r));
    for (int level = 0; level < 2; level++) {
      double h = level == 0 ? 4e-3 : 2e-3;
      tgtRandom same = {77 + (uint64_t)kind};
      for (int i = 0; i < 6; i++) xi[i] = h * tgt_uniform(&same, -1, 1);
      twist_a(x, xi, y);
      assert_true(tgi_pair_solve(y, NULL, true, &(tgiPair){.S = 0}) && tgi_pair_solve(y, NULL, false, &moved));
      tgReal expected = r.S;
      for (int i = 0; i < 6; i++) {
        expected += r.g[i] * xi[i];
        for (int j = 0; j < 6; j++) expected += 0.5 * xi[i] * xi[j] * r.H[i >= j ? TGI_LOWER(i, j) : TGI_LOWER(j, i)];
      }
      error[level] = fabs(tgRe(moved.S - expected));
    }
    check_true(error[1] <= 0.2 * error[0] + 1e-11, "%s: remainder %g then %g", pair_kind[kind], error[0], error[1]);
  }
}

// 12/S* over the gap, small against the triangles, when what is nearest is nearest at its middle                [math/barrier (24)]
static void test_limits(void **state) {
  (void)state;
  const double q = sqrt(0.75), gap = 1e-6;
  const struct { const char *name; double x[18], ratio; } cases[] = {
      {"face-face", {1, 0, gap, -0.5, q, gap, -0.5, -q, gap, -1, 0, 0, 0.5, -q, 0, 0.5, q, 0}, 1},
      {"edge-edge", {1, 0, gap, -1, 0, gap, 0, 0, 1, 0, 1, 0, 0, -1, 0, 0, 0, -1}, 1.5},
      {"vertex-face", {0, 0, gap, 1, 0, 1, -1, 1, 1, 1, 0, 0, -0.5, q, 0, -0.5, -q, 0}, 12 / (4 + 2 * sqrt(3))},
      {"vertex-vertex", {0, 0, gap, 1, 0, 1, -1, 1, 1, 0, 0, 0, 1, 1, -1, 0, -1, -1}, 3},
  };
  for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
    tgReal x[18];
    tgiPair r;
    widen(cases[k].x, x);
    assert_true(tgi_pair_solve(x, NULL, false, &r));
    check_close(12 / r.S / gap, cases[k].ratio, 1e-3 * cases[k].ratio);
  }
}

// No plane has less than S*: for weights w >= 0 that sum to 1 over A and over B, sum c/m >= (sum sqrt(c w))^2/(|a - b| - r), a and b the
// weighted means, r the sum of the radii, and at the best plane w = c m^-2/N makes both equal. So the pair proves its own value, here at
// every kind of pair, and with it 12/S* between the gap and 3 gaps.                                               [math/barrier (23), (92)]
static void check_certificate(const double X[18], const tgiPairCores *cores, double gap) {
  double sum[2] = {0, 0}, root = 0, d[3] = {0, 0, 0}, y[6], size, radii = tgRe(cores->radius[0] + cores->radius[1]);
  tgReal x[18];
  tgiPair r;
  widen(X, x);
  size = fmax(largest(x, 18), radii);
  check_true(tgi_pair_solve(x, cores, false, &r), "gap %g, size %g, radii %g: given up", gap, size, radii);
  for (int k = 0; k < 6; k++) {
    double m = (k < 3 ? 1 : -1) * tgRe(tgi_v3_dot(r.u, x + 3 * k) + r.delta) - radii / 2;
    check_true(m > 0, "vertex %d is on the wrong side", k);
    y[k] = (!cores->segment[k / 3] ? 1 : k % 3 < 2 ? 1.5 : 0) / (m * m);
    sum[k / 3] += y[k];
  }
  for (int k = 0; k < 6; k++) {
    root += sqrt((!cores->segment[k / 3] ? 1 : k % 3 < 2 ? 1.5 : 0) * y[k] / sum[k / 3]);
    for (int i = 0; i < 3; i++) d[i] += (k < 3 ? 1 : -1) * y[k] / sum[k / 3] * (X[3 * k + i]);
  }
  double far = sqrt(d[0] * d[0] + d[1] * d[1] + d[2] * d[2]), bound = root * root / (far - radii), error = 1 - bound / tgRe(r.S);
  double drift = 1e-16 * pow(size / gap, 2);  // of a - b along the plane, of the gap, by rounding of the weights
  if (drift > 0.1) return;
  check_true(fabs(error) <= 1e-13 + 3e-15 * size / gap + 30 * drift * drift,
             "gap %g, size %g: S = %.17g, bound %.17g", gap, size, tgRe(r.S), bound);
}

static void test_certificate(void **state) {
  (void)state;
  tgtRandom rng = {17};
  for (int trial = 0; trial < 3000; trial++) {
    const tgiPairCores none = {.radius = {0, 0}};
    double X[18], gap = pair_any(&rng, X);
    check_certificate(X, &none, gap);
    double at = pow(10, tgt_uniform(&rng, -9, 3)), size[2] = {1, pow(10, tgt_uniform(&rng, -1, 1))};
    const tgiPairCores cores = cores_make(&rng, (int)(tgt_next(&rng) % PAIR_KINDS), at, size, 0.5, X);
    check_certificate(X, &cores, at);
  }
}

// Balls: 12/S* is their gap, in closed form; a ball before a capsule at a share of its length, capsules, a ball before a triangle's face
// and corner: limits as the gap goes to 0.                                                           [math/barrier Rounded primitives]
static void test_core_limits(void **state) {
  (void)state;
  const double q = sqrt(0.75), r = 0.1, gap = 1e-9, d = 2 * r + gap;
  const struct { const char *name; double x[18]; bool segment[2]; double ratio, tol; } cases[] = {
      {"balls", {0, 0, d, 0, 0, d, 0, 0, d}, {false, false}, 1, 1e-6},
      {"ball, middle of a capsule", {0, 0, d, 0, 0, d, 0, 0, d, -1, 0, 0, 1, 0, 0, 1, 0, 0}, {false, true}, 1, 1e-4},
      {"ball, end of a capsule", {1, 0, d, 1, 0, d, 1, 0, d, -1, 0, 0, 1, 0, 0, 1, 0, 0}, {false, true},
       12 / pow(sqrt(3) + sqrt(1.5), 2), 1e-3},
      {"capsules side by side", {-1, 0, d, 1, 0, d, 1, 0, d, -1, 0, 0, 1, 0, 0, 1, 0, 0}, {true, true}, 1, 1e-4},
      {"crossed capsules", {0, -1, d, 0, 1, d, 0, 1, d, -1, 0, 0, 1, 0, 0, 1, 0, 0}, {true, true}, 1, 1e-4},
      {"capsules end to end", {0, 0, d, 0, 0, d + 1, 0, 0, d + 1, 0, 0, 0, 0, 0, -1, 0, 0, -1}, {true, true}, 2, 1e-3},
      {"ball, a triangle's face", {0, 0, d, 0, 0, d, 0, 0, d, 1, 0, 0, -0.5, q, 0, -0.5, -q, 0}, {false, false}, 1, 1e-4},
      {"ball, a triangle's corner", {1, 0, d, 1, 0, d, 1, 0, d, 1, 0, 0, -0.5, q, 0, -0.5, -q, 0}, {false, false},
       12 / pow(1 + sqrt(3), 2), 1e-3},
  };
  for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
    const tgiPairCores cores = {.radius = {r, r}, .segment = {cases[k].segment[0], cases[k].segment[1]}};
    tgReal x[18];
    tgiPair p;
    widen(cases[k].x, x);
    assert_true(tgi_pair_solve(x, &cores, false, &p));
    check_true(fabs(tgRe(12 / p.S / gap) / cases[k].ratio - 1) <= cases[k].tol, "%s: %.9g, not %.9g", cases[k].name,
               tgRe(12 / p.S / gap), cases[k].ratio);
  }
}

// lengths times f: S over f, the plane the same; steps the same
static void test_scale(void **state) {
  (void)state;
  tgtRandom rng = {14};
  for (int trial = 0; trial < 300; trial++) {
    double X[18];
    tgReal x[18], y[18];
    tgiPair r, s;
    pair_any(&rng, X);
    widen(X, x);
    for (int power = -10; power <= 10; power += 20) {
      double f = ldexp(1, power);
      for (int k = 0; k < 18; k++) y[k] = f * x[k];
      assert_true(tgi_pair_solve(x, NULL, false, &r) && tgi_pair_solve(y, NULL, false, &s));
      assert_int_equal(r.iterations, s.iterations);
      check_close(s.S * f, r.S, 0);
      for (int i = 0; i < 3; i++) check_close(s.u[i], r.u[i], 0);
    }
  }
}

static void test_touching(void **state) {
  (void)state;
  tgtRandom rng = {15};
  for (int trial = 0; trial < 300; trial++)
    for (int kind = 0; kind < APART; kind++)
      for (int depth = 0; depth < 3; depth++) {
        double X[18], size = pow(10, tgt_uniform(&rng, -3, 3)), gap = -size * (depth == 0 ? 0 : depth == 1 ? 1e-9 : 1e-3);
        tgReal x[18];
        tgiPair r;
        bool flat = kind >= FLAT_VERTEX_EDGE && kind != BOX_FACES;
        // these pass by
        if (kind == VERTEX_VERTEX || ((kind == FACE_FACE || kind == BOX_FACES) && depth > 0) || (kind == VERTEX_EDGE && depth > 0))
          continue;
        if (depth == 0 && !flat && kind != EDGE_EDGE) continue;
        pair_make(&rng, kind, gap, (const double[]){size, size}, 1, 0, X);
        widen(X, x);
        check_true(!tgi_pair_solve(x, NULL, false, &r) || 12 / tgRe(r.S) < 1e-12 * size, "%s at gap %g of %g: S = %g", pair_kind[kind], gap,
                   size, tgRe(r.S));
      }
}

// a warm start changes nothing but the steps
static void test_warm(void **state) {
  (void)state;
  tgtRandom rng = {16};
  long cold = 0, warm = 0;
  for (int trial = 0; trial < 500; trial++) {
    double X[18], gap = pair_any(&rng, X), scale;
    tgReal x[18];
    tgiPair r, s;
    widen(X, x);
    scale = largest(x, 18);
    assert_true(tgi_pair_solve(x, NULL, false, &r));
    s = r;
    assert_true(tgi_pair_solve(x, NULL, true, &s));
    check_close(s.S / r.S, 1, 1e-13 + 1e-14 * scale / gap);
    cold += r.iterations;
    warm += s.iterations;
    for (int i = 0; i < 3; i++) s.u[i] = 0;
    assert_true(tgi_pair_solve(x, NULL, true, &s));  // a useless plane is not used
    assert_int_equal(s.iterations, r.iterations);
  }
  check_true(10 * warm <= 6 * cold, "%ld steps warm, %ld cold", warm, cold);
}

#ifndef TG_COMPLEX
// value, force, torque and Hessian against twice the digits, to a few times the rounding of the vertices over the gap
static void test_quad(void **state) {
  (void)state;
  tgtRandom rng = {18};
  for (int trial = 0; trial < 600; trial++) {
    double x[18], gap = pair_any(&rng, x), size = largest(x, 18), limit = 1e-13 + 2.2e-16 * size / gap;
    tgiPair r, q;
    assert_true(tgi_pair_solve(x, NULL, false, &r));
    quad_reference(x, &r, &q);
    double force = largest(q.g + 3, 3);
    compare("S", 0, gap, &r.S, &q.S, 1, q.S, 3 * limit);
    compare("force", 0, gap, r.g + 3, q.g + 3, 3, force, 20 * limit);
    compare("torque", 0, gap, r.g, q.g, 3, force * size, 20 * limit);
    compare("Hessian", 0, gap, r.H, q.H, 21, largest(q.H, 21), 100 * limit);
  }
}
#endif

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_derivatives), cmocka_unit_test(test_expansion), cmocka_unit_test(test_limits),
      cmocka_unit_test(test_scale),       cmocka_unit_test(test_touching),  cmocka_unit_test(test_warm),
      cmocka_unit_test(test_certificate), cmocka_unit_test(test_core_limits),
#ifndef TG_COMPLEX
      cmocka_unit_test(test_quad),
#endif
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
