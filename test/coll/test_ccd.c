// test_ccd.c: distance of triangles against the conditions of optimality; first contact of moving features against roots of a cubic.
#include <stdlib.h>
#include <string.h>

#include "coll/surfaces/ccd.h"
#include "coll/surfaces/exact.h"
#include "coll/surfaces/triangle.h"
#include "support/check.h"

static double dot(const double *a, const double *b) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }

// ---- distance

// how far x lies from the triangle
static double outside(const double *T, const double *x) {
  tgiNearby r = tgi_point_triangle(x, T);
  return r.distance;
}

// a and b are closest exactly when no vertex lies nearer along n = (a - b)/d: returns how much nearer one lies
static double slack(const double *A, int na, const double *B, int nb, const tgiNearby *r) {
  double n[3], worst = 0;
  for (int i = 0; i < 3; i++) n[i] = (r->a[i] - r->b[i]) / r->distance;
  for (int k = 0; k < na; k++) worst = fmax(worst, dot(n, r->a) - dot(n, A + 3 * k));
  for (int k = 0; k < nb; k++) worst = fmax(worst, dot(n, B + 3 * k) - dot(n, r->b));
  return worst;
}

// shape 0: any; 1: parallel faces; 2: coplanar; 3: slivers; 4: a segment; 5: a point
static void random_triangle(tgtRandom *r, int shape, double *T) {
  for (int i = 0; i < 9; i++) T[i] = tgt_normal(r);
  if (shape == 1 || shape == 2) T[2] = T[5] = T[8] = shape == 2 ? 0 : tgt_uniform(r, -0.5, 0.5);
  for (int i = 0; i < 3; i++) {
    if (shape == 3) T[6 + i] = 0.3 * T[i] + 0.7 * T[3 + i] + 1e-6 * T[6 + i];
    if (shape == 4) T[6 + i] = 0.25 * T[i] + 0.75 * T[3 + i];
    if (shape == 5) T[3 + i] = T[6 + i] = T[i];
  }
}

static void distances(void **state) {
  (void)state;
  tgtRandom r = {1};
  int apart = 0, met = 0;
  double worst = 0;
  int trials = tgt_cases(60000, 6000);
  for (int trial = 0; trial < trials; trial++) {
    double A[9], B[9], shift[3];
    random_triangle(&r, trial % 6, A);
    random_triangle(&r, trial / 6 % 6, B);
    double far = trial % 2 ? 1 : 0;
    for (int i = 0; i < 3; i++) shift[i] = far * tgt_normal(&r) * (trial % 4 == 1 ? 3 : 1);
    if (trial % 6 == 2 && trial / 6 % 6 == 2) shift[2] = 0;
    for (int i = 0; i < 9; i++) B[i] += shift[i % 3];
    tgiNearby c = tgi_triangle_triangle(A, B), d = tgi_triangle_triangle(B, A);
    check_close(c.distance, d.distance, 1e-12);
    check_true(outside(A, c.a) < 1e-9 && outside(B, c.b) < 1e-9, "trial %d: points outside", trial);
    bool meet = tgi_exact_triangles(A, B);
    if (meet) {
      check_true(c.distance < 1e-9, "trial %d: they meet, distance %g", trial, c.distance);
      met++;
      continue;
    }
    check_true(c.distance > 0, "trial %d: apart", trial);
    if (c.distance < 1e-6) continue;
    double s = slack(A, 3, B, 3, &c);
    worst = fmax(worst, s);
    check_true(s < 1e-8, "trial %d (shapes %d %d): %g nearer than %g", trial, trial % 6, trial / 6 % 6, s, c.distance);
    apart++;
  }
  print_message("%d apart, %d meet, slack at most %.2g\n", apart, met, worst);
  check_true(apart > trials / 3 && met > trials / 20, "%d apart, %d meet", apart, met);
}

static void segments(void **state) {
  (void)state;
  tgtRandom r = {2};
  for (int trial = 0; trial < tgt_cases(20000, 2000); trial++) {
    double a[6], b[6];
    for (int i = 0; i < 6; i++) {
      a[i] = tgt_normal(&r);
      b[i] = tgt_normal(&r);
    }
    double tilt = trial % 3 == 0 ? 1e-7 : trial % 3 == 1 ? 0 : 1;   // nearly parallel, parallel
    if (trial % 4)
      for (int i = 0; i < 3; i++) b[3 + i] = b[i] + 0.7 * (a[3 + i] - a[i]) + tilt * b[3 + i];
    tgiNearby c = tgi_segment_segment(a, b);
    check_true(slack(a, 2, b, 2, &c) < 1e-9, "trial %d: %g", trial, slack(a, 2, b, 2, &c));
  }
}

// ---- first contact: roots of the cubic volume in quadruple precision, by its extrema and bisection

#ifdef __x86_64__
__extension__ typedef __float128 real;
#else
typedef long double real;   // has 113 bits elsewhere
#endif

// by one step of Newton's method
static real root_of(real x) {
  real s = (real)sqrtl((long double)x);
  return s > 0 ? (s + x / s) / 2 : s;
}
typedef struct Cubic { real c[4]; } Cubic;

static real at(const Cubic *p, real t) { return ((p->c[3] * t + p->c[2]) * t + p->c[1]) * t + p->c[0]; }

static void cross_l(const real *a, const real *b, real *r) {
  for (int i = 0; i < 3; i++) r[i] = a[(i + 1) % 3] * b[(i + 2) % 3] - a[(i + 2) % 3] * b[(i + 1) % 3];
}

// volume of p0, p1, p2 (moving differences): coefficients of det(u0 + t u1, v0 + t v1, w0 + t w1)
static Cubic volume(real D[3][2][3]) {
  Cubic p = {{0}};
  for (int i = 0; i < 2; i++)
    for (int j = 0; j < 2; j++)
      for (int k = 0; k < 2; k++) {
        real c[3];
        cross_l(D[1][j], D[2][k], c);
        p.c[i + j + k] += D[0][i][0] * c[0] + D[0][i][1] * c[1] + D[0][i][2] * c[2];
      }
  return p;
}

// roots in [0, 1] where the sign changes, ascending
static int roots(const Cubic *p, real *root) {
  real stop[4] = {0, 1, 1, 1};
  int n = 1, found = 0;
  real a = 3 * p->c[3], b = 2 * p->c[2], c = p->c[1], disc = b * b - 4 * a * c;
  if (disc > 0) {
    real q = -0.5 * (b + (b < 0 ? -1 : 1) * root_of(disc)), x[2] = {q / a, c / q};
    if (x[0] > x[1]) {
      real y = x[0];
      x[0] = x[1];
      x[1] = y;
    }
    for (int i = 0; i < 2; i++)
      if (x[i] > 0 && x[i] < 1) stop[n++] = x[i];
  }
  stop[n++] = 1;
  for (int i = 0; i + 1 < n; i++) {
    real lo = stop[i], hi = stop[i + 1];
    bool up = at(p, hi) > 0;
    if ((at(p, lo) > 0) == up) continue;
    for (int k = 0; k < 120; k++) {
      real mid = 0.5 * (lo + hi);
      if ((at(p, mid) > 0) == up) hi = mid;
      else lo = mid;
    }
    root[found++] = 0.5 * (lo + hi);
  }
  return found;
}

// Least barycentric coordinate of the vertex in the face (na 1), or the least of s, 1 - s, t, 1 - t of the crossing of the edges (na 2), at
// a root.
static real margin(const double *x0, const double *x1, int na, real t) {
  real x[4][3], e[3], f[3], n[3], r[3], c[3], least = 1;
  for (int k = 0; k < 4; k++)
    for (int i = 0; i < 3; i++) x[k][i] = (real)x0[3 * k + i] + t * ((real)x1[3 * k + i] - (real)x0[3 * k + i]);
  if (na == 1) {
    for (int i = 0; i < 3; i++) {
      e[i] = x[2][i] - x[1][i];
      f[i] = x[3][i] - x[1][i];
    }
    cross_l(e, f, n);
    real nn = n[0] * n[0] + n[1] * n[1] + n[2] * n[2];
    for (int k = 0; k < 3; k++) {
      const real *u = x[1 + (k + 1) % 3], *v = x[1 + (k + 2) % 3];
      for (int i = 0; i < 3; i++) {
        e[i] = v[i] - u[i];
        r[i] = x[0][i] - u[i];
      }
      cross_l(e, r, c);
      real w = (c[0] * n[0] + c[1] * n[1] + c[2] * n[2]) / nn;
      if (w < least) least = w;
    }
    return least;
  }
  for (int i = 0; i < 3; i++) {
    e[i] = x[1][i] - x[0][i];
    f[i] = x[3][i] - x[2][i];
    r[i] = x[2][i] - x[0][i];
  }
  cross_l(e, f, n);
  real nn = n[0] * n[0] + n[1] * n[1] + n[2] * n[2];
  for (int k = 0; k < 2; k++) {
    cross_l(r, k == 0 ? f : e, c);
    real s = (c[0] * n[0] + c[1] * n[1] + c[2] * n[2]) / nn;
    if (s < least) least = s;
    if (1 - s < least) least = 1 - s;
  }
  return least;
}

// first contact: 2 none, -1 not sure (it happens at the border of a feature, or the volume has a root without a change of sign nearby)
static real first_contact(const double *x0, const double *x1, int na) {
  real D[3][2][3], root[3];
  for (int i = 0; i < 3; i++)
    for (int s = 0; s < 2; s++) {
      const double *x = s == 0 ? x0 : x1;
      if (na == 1) {
        for (int k = 0; k < 3; k++) D[k][s][i] = (real)x[3 * (k + 1) + i] - x[i];
      } else {
        D[0][s][i] = (real)x[3 + i] - x[i];
        D[1][s][i] = (real)x[9 + i] - x[6 + i];
        D[2][s][i] = (real)x[6 + i] - x[i];
      }
    }
  for (int k = 0; k < 3; k++)
    for (int i = 0; i < 3; i++) D[k][1][i] -= D[k][0][i];
  Cubic p = volume(D);
  int n = roots(&p, root);
  for (int k = 0; k < n; k++) {
    real m = margin(x0, x1, na, root[k]);
    if (m > 1e-9) return root[k];
    if (m > -1e-9) return -1;
  }
  return 2;
}

static double gap_at(const double *x0, const double *x1, int na, double t) {
  double x[12];
  for (int i = 0; i < 12; i++) x[i] = x0[i] + t * (x1[i] - x0[i]);
  return na == 1 ? tgi_point_triangle(x, x + 3).distance : tgi_segment_segment(x, x + 6).distance;
}

// Vertices at random; with `aim` they meet at a random time: x(t*) has the features crossing. thin: slivers; fast: motions of 1000 times
// the size.
static void random_motion(tgtRandom *r, int na, bool aim, bool thin, bool fast, double *x0, double *x1) {
  double x[12], v[12], t = tgt_uniform(r, 0.01, 0.99), scale = pow(10, tgt_uniform(r, -3, 3));
  for (int i = 0; i < 12; i++) {
    x[i] = tgt_normal(r);
    v[i] = tgt_normal(r) * (fast ? 1000 : pow(10, tgt_uniform(r, -3, 1)));
  }
  if (thin)
    for (int i = 0; i < 3; i++) x[9 + i] = (na == 1 ? 0.5 * (x[3 + i] + x[6 + i]) : x[6 + i]) + 1e-4 * x[9 + i];
  if (aim) {
    double w = tgt_uniform(r, 0, 1), u = tgt_uniform(r, 0, 1 - w), s = tgt_uniform(r, 0, 1);
    for (int i = 0; i < 3; i++) {
      if (na == 1) x[i] = x[3 + i] + w * (x[6 + i] - x[3 + i]) + u * (x[9 + i] - x[3 + i]);
      else x[3 + i] = x[i] + (x[6 + i] + w * (x[9 + i] - x[6 + i]) - x[i]) / fmax(s, 0.05);
    }
  }
  for (int i = 0; i < 12; i++) {
    x0[i] = scale * (x[i] - t * v[i]);
    x1[i] = scale * (x[i] + (1 - t) * v[i]);
  }
}

static void motions(int na, int all) {
  int trials = tgt_cases(all, 200);
  tgtRandom r = {40 + (uint64_t)na};
  int hits = 0, misses = 0, near = 0, unsure = 0, most = 0;
  double late = 0, total = 0;
  for (int trial = 0; trial < trials; trial++) {
    double x0[12], x1[12], size = 0;
    random_motion(&r, na, trial % 2, trial % 3 == 0, trial % 5 == 0, x0, x1);
    for (int i = 0; i < 12; i++) size = fmax(size, fmax(fabs(x0[i]), fabs(x1[i])));
    double tol = 1e-9 * size;
    real first = first_contact(x0, x1, na);
    tgiCcd c = tgi_ccd(x0, x1, na, 4 - na, 0, tol);
    if (c.rounds > most) most = c.rounds;
    total += c.rounds;
    check_true(c.rounds < TGI_CCD_ROUNDS, "trial %d: rounds ran out at %g, distance %g of %g", trial, c.t, c.distance, size);
    if (first < 0) {
      unsure++;
      continue;
    }
    if (first <= 1) {
      check_true(c.hit, "trial %d: missed a contact at %.12g", trial, (double)first);
      check_true((real)c.t <= first + 1e-12, "trial %d: %.15g is after the contact at %.15g", trial, c.t, (double)first);
      late = fmax(late, (double)(first - (real)c.t));
      hits++;
    }
    if (c.hit) check_true(gap_at(x0, x1, na, c.t) <= tol * 1.001, "trial %d: %g at %g", trial, gap_at(x0, x1, na, c.t), c.t);
    if (first > 1 && c.hit) near++;
    if (!c.hit) {
      misses++;
      for (int k = 0; k <= 100; k++) check_true(gap_at(x0, x1, na, 0.01 * k) >= 0.49 * tol, "trial %d: touching at %g", trial, 0.01 * k);
    }
  }
  print_message("%d hits, %d misses, %d near, %d at a border; rounds %.2f on average, %d at most; at most %.2g before the contact\n", hits,
                misses, near, unsure, total / trials, most, late);
  check_true(hits > trials / 3 && misses > trials / 5 && unsure < trials / 50 && near < trials / 50, "cases");
}

static void vertex_face(void **state) {
  (void)state;
  motions(1, 40000);
}
static void edge_edge(void **state) {
  (void)state;
  motions(2, 40000);
}

// a wall 1 mm thin, hit at 100 m/s in one step of 10 ms: stopped before it, whatever lies behind
static void thin_wall(void **state) {
  (void)state;
  double x0[18] = {-0.5, 0, 0, -0.5, 0.01, 0, -0.5, 0, 0.01, 0, -1, -1, 0, 2, -1, 0, -1, 2}, x1[18];
  memcpy(x1, x0, sizeof x1);
  for (int k = 0; k < 3; k++) x1[3 * k] += 1;
  tgiCcd c = tgi_ccd(x0, x1, 3, 3, 1e-4, 1e-9);
  check_true(c.hit, "went through");
  check_close(c.t, 0.5 - 1e-4, 1e-8);
  // slides along the wall at 1 um for a metre: no contact, and few rounds
  for (int k = 0; k < 3; k++) {
    x0[3 * k] = -1e-6;
    x1[3 * k] = -1e-6;
    x1[3 * k + 1] += 1;
  }
  c = tgi_ccd(x0, x1, 3, 3, 5e-7, 1e-8);
  check_true(!c.hit && c.rounds <= 2, "%d rounds", c.rounds);
}

// triangles against their 15 pairs of features
static void triangle_pairs(void **state) {
  (void)state;
  tgtRandom r = {50};
  int hits = 0, most = 0;
  int trials = tgt_cases(3000, 300);
  for (int trial = 0; trial < trials; trial++) {
    double x0[18], x1[18], y0[12], y1[12], first = 2, tol = 1e-8;
    for (int i = 0; i < 18; i++) {
      x0[i] = tgt_normal(&r) + (i < 9 ? 3 : 0);
      x1[i] = tgt_normal(&r) - (i < 9 ? 3 : 0);
    }
    if (tgi_triangle_triangle(x0, x0 + 9).distance < 1e-3) continue;
    tgiCcd c = tgi_ccd(x0, x1, 3, 3, 0, tol);
    if (c.rounds > most) most = c.rounds;
    for (int k = 0; k < 15; k++) {
      for (int s = 0; s < 2; s++) {
        const double *x = s == 0 ? x0 : x1;
        double *y = s == 0 ? y0 : y1;
        if (k < 6) {
          memcpy(y, x + 3 * k, 3 * sizeof *y);
          memcpy(y + 3, x + (k < 3 ? 9 : 0), 9 * sizeof *y);
        } else {
          int e = (k - 6) / 3, f = (k - 6) % 3;
          memcpy(y, x + 3 * e, 3 * sizeof *y);
          memcpy(y + 3, x + 3 * ((e + 1) % 3), 3 * sizeof *y);
          memcpy(y + 6, x + 9 + 3 * f, 3 * sizeof *y);
          memcpy(y + 9, x + 9 + 3 * ((f + 1) % 3), 3 * sizeof *y);
        }
      }
      tgiCcd f = tgi_ccd(y0, y1, k < 6 ? 1 : 2, k < 6 ? 3 : 2, 0, tol);
      if (f.hit) first = fmin(first, f.t);
    }
    check_true(c.hit == (first <= 1), "trial %d: %d, features %g", trial, c.hit, first);
    if (c.hit) check_close(c.t, first, 1e-6);
    hits += c.hit;
  }
  print_message("%d hits, %d rounds at most\n", hits, most);
  check_true(hits > trials / 6, "%d", hits);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(distances),  cmocka_unit_test(segments),  cmocka_unit_test(vertex_face),
                                     cmocka_unit_test(edge_edge), cmocka_unit_test(thin_wall), cmocka_unit_test(triangle_pairs)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
