// test_exact.c: intersection of triangles and surfaces against separating axes in whole numbers.
//
// The other method: two convex sets of whole points are apart exactly when some axis from a complete list (edges, differences of vertices,
// their cross products, and products of those with them again) has a gap; 128-bit integers hold every number exactly.
#include <stdlib.h>
#include <string.h>

#include "coll/surfaces/exact.h"
#include "support/check.h"

__extension__ typedef __int128 wide;
typedef struct Vector { int64_t x[3]; } Vector;

static int64_t sub(const Vector *a, const Vector *b, int i) { return a->x[i] - b->x[i]; }

static bool gap(const wide n[3], const Vector *A, const Vector *B) {
  wide low[2], high[2];
  for (int s = 0; s < 2; s++)
    for (int k = 0; k < 3; k++) {
      const Vector *p = (s == 0 ? A : B) + k;
      wide d = n[0] * p->x[0] + n[1] * p->x[1] + n[2] * p->x[2];
      if (k == 0 || d < low[s]) low[s] = d;
      if (k == 0 || d > high[s]) high[s] = d;
    }
  return high[0] < low[1] || high[1] < low[0];
}

static void cross(const wide a[3], const wide b[3], wide r[3]) {
  for (int i = 0; i < 3; i++) r[i] = a[(i + 1) % 3] * b[(i + 2) % 3] - a[(i + 2) % 3] * b[(i + 1) % 3];
}

// coordinates within 2^22
static bool meet(const Vector *A, const Vector *B) {
  wide d[15][3];
  for (int i = 0; i < 3; i++)
    for (int c = 0; c < 3; c++) {
      d[i][c] = sub(A + (i + 1) % 3, A + i, c);
      d[3 + i][c] = sub(B + (i + 1) % 3, B + i, c);
      for (int j = 0; j < 3; j++) d[6 + 3 * i + j][c] = sub(A + i, B + j, c);
    }
  for (int i = 0; i < 15; i++)
    if (gap(d[i], A, B)) return false;
  for (int i = 0; i < 15; i++)
    for (int j = 0; j < i; j++) {
      wide n[3], m[3];
      cross(d[i], d[j], n);
      if (gap(n, A, B)) return false;
      if (n[0] == 0 && n[1] == 0 && n[2] == 0) continue;
      for (int k = 0; k < 15; k++) {
        cross(n, d[k], m);
        if (gap(m, A, B)) return false;
      }
    }
  return true;
}

static void to_double(const Vector *T, double scale, double *x) {
  for (int i = 0; i < 9; i++) x[i] = (double)T[i / 3].x[i % 3] * scale;
}

static void compare(const Vector *A, const Vector *B, double scale, int *met) {
  double a[9], b[9];
  to_double(A, scale, a);
  to_double(B, scale, b);
  bool m = meet(A, B);
  for (int turn = 0; turn < 3; turn++) {   // any order of the vertices, either triangle first
    double t[3];
    memcpy(t, a, sizeof t);
    memmove(a, a + 3, 6 * sizeof *a);
    memcpy(a + 6, t, sizeof t);
    check_true(tgi_exact_triangles(a, b) == m && tgi_exact_triangles(b, a) == m, "expected %d", m);
  }
  *met += m;
}

static int64_t whole(tgtRandom *r, int64_t n) { return (int64_t)(tgt_next(r) % (uint64_t)(2 * n + 1)) - n; }

// few positions: coplanar, shared vertices, touching edges, segments and points come up all the time
static void small_grids(void **state) {
  (void)state;
  tgtRandom r = {5};
  int met = 0;
  int trials = tgt_cases(30000, 3000);
  for (int trial = 0; trial < trials; trial++) {
    int64_t n = 1 + trial % 4, flat = trial % 3;
    Vector T[6];
    for (int k = 0; k < 6; k++)
      for (int i = 0; i < 3; i++) T[k].x[i] = i < (int)flat ? 0 : whole(&r, n);
    compare(T, T + 3, 0.125 * (1 + trial % 7), &met);
    compare(T, T + 3, 0x1p-40, &met);
  }
  print_message("%d of %d meet\n", met, 2 * trials);
  check_true(met > trials / 3 && met < trials * 11 / 6, "%d", met);
}

// p = a + (s (b - a) + t (c - a))/d, rounded to whole numbers: nearly, seldom exactly, in the plane
static Vector near_plane(const Vector *T, int64_t s, int64_t t, int64_t d) {
  Vector p;
  for (int i = 0; i < 3; i++) p.x[i] = T[0].x[i] + (int64_t)(((wide)s * sub(T + 1, T, i) + (wide)t * sub(T + 2, T, i)) / d);
  return p;
}

// a vertex, an edge or the whole triangle within one part in 2^22 of the other's plane, edge or vertex
static void nearly_degenerate(void **state) {
  (void)state;
  tgtRandom r = {6};
  int met = 0, count = 0;
  int trials = tgt_cases(30000, 3000);
  for (int trial = 0; trial < trials; trial++) {
    const int64_t n = 1 << 20, d = 1 << 10;
    Vector A[3], B[3];
    for (int k = 0; k < 3; k++)
      for (int i = 0; i < 3; i++) {
        A[k].x[i] = whole(&r, n);
        B[k].x[i] = whole(&r, n);
      }
    for (int k = 0; k <= trial % 3; k++) {
      int64_t s = whole(&r, d), t = whole(&r, d);
      if (trial % 2) t = 0;           // on an edge's line
      if (trial % 5 == 0) s = d - t;  // on the third edge's
      B[k] = near_plane(A, s, t, d);
    }
    if (trial % 7 == 0) B[0] = A[trial % 3];
    compare(A, B, 0x1p-20, &met);
    count++;
  }
  print_message("%d of %d meet\n", met, count);
  check_true(met > count / 20 && met < count - count / 20, "%d", met);
}

// a point of a triangle's plane, exact in doubles, and the same point moved by one unit in the last place: the sign is the normal's
static void last_place(void **state) {
  (void)state;
  tgtRandom r = {7};
  for (int trial = 0; trial < tgt_cases(20000, 2000); trial++) {
    double x[4][3], n[3];
    for (int k = 0; k < 2; k++)
      for (int i = 0; i < 3; i++) x[k][i] = tgt_uniform(&r, 1, 2);
    // d = a + b - c - ... exact: with c = 2 a - b + e, all within [1, 4) on a grid of 2^-50
    for (int k = 0; k < 2; k++)
      for (int i = 0; i < 3; i++) x[k][i] = floor(x[k][i] * 0x1p50) * 0x1p-50;
    for (int i = 0; i < 3; i++) {
      x[2][i] = floor(tgt_uniform(&r, 1, 2) * 0x1p50) * 0x1p-50;
      x[3][i] = x[0][i] + x[1][i] - x[2][i];
    }
    double u[3], v[3];
    for (int i = 0; i < 3; i++) {
      u[i] = x[0][i] - x[2][i];
      v[i] = x[1][i] - x[2][i];
    }
    for (int i = 0; i < 3; i++) n[i] = u[(i + 1) % 3] * v[(i + 2) % 3] - u[(i + 2) % 3] * v[(i + 1) % 3];
    check_true(tgi_exact_orient3(x[0], x[1], x[2], x[3]) == 0, "trial %d: in the plane", trial);
    int axis = trial % 3;
    if (fabs(n[axis]) < 1e-6) continue;
    double moved[3];
    memcpy(moved, x[3], sizeof moved);
    moved[axis] = nextafter(moved[axis], trial % 2 ? 100.0 : -100.0);
    // det(a - d, b - d, c - d) falls as d moves along (a - c) x (b - c)
    int expected = (n[axis] > 0) == (trial % 2) ? -1 : 1;
    check_true(tgi_exact_orient3(x[0], x[1], x[2], moved) == expected, "trial %d", trial);
    double p[3] = {x[2][0], x[2][1], x[2][2]};
    check_true(tgi_exact_orient2(x[0], x[1], p, 0, 1) == (n[2] > 0) - (n[2] < 0) || fabs(n[2]) < 1e-12, "turn");
  }
}

// ---- surfaces

enum { N = 12 };
typedef struct Torus { double vert[3 * N * N]; int face[6 * N * N]; } Torus;
static void torus(Torus *t, double R, double r) {
  for (int i = 0; i < N; i++)
    for (int j = 0; j < N; j++) {
      double a = 2 * TG_PI * i / N, b = 2 * TG_PI * j / N, *x = t->vert + 3 * (N * i + j);
      x[0] = (R + r * cos(b)) * cos(a);
      x[1] = (R + r * cos(b)) * sin(a);
      x[2] = r * sin(b);
      int q[4] = {N * i + j, N * ((i + 1) % N) + j, N * ((i + 1) % N) + (j + 1) % N, N * i + (j + 1) % N};
      int f[6] = {q[0], q[1], q[2], q[0], q[2], q[3]};
      memcpy(t->face + 6 * (N * i + j), f, sizeof f);
    }
}

static void surfaces(void **state) {
  (void)state;
  tgtRandom r = {8};
  Torus *t = test_malloc(sizeof *t), *u = test_malloc(sizeof *u);
  torus(t, 1, 0.3);
  *u = *t;
  tgiExactSurface A, B;
  assert_int_equal(tgi_exact_make(t->vert, N * N, t->face, 2 * N * N, NULL, &A), TG_OK);
  assert_int_equal(tgi_exact_make(u->vert, N * N, u->face, 2 * N * N, NULL, &B), TG_OK);
  int met = 0;
  for (int trial = 0; trial < 60; trial++) {
    double w[3], a[3], shift[3];
    for (int i = 0; i < 3; i++) {
      w[i] = tgt_normal(&r);
      shift[i] = tgt_uniform(&r, -1.2, 1.2);
    }
    double n = sqrt(w[0] * w[0] + w[1] * w[1] + w[2] * w[2]), angle = tgt_uniform(&r, 0, 3);
    for (int k = 0; k < N * N; k++) {
      const double *x = t->vert + 3 * k;
      double dot = (w[0] * x[0] + w[1] * x[1] + w[2] * x[2]) / n;
      for (int i = 0; i < 3; i++) {
        int j = (i + 1) % 3, l = (i + 2) % 3;
        a[i] = x[i] * cos(angle) + (w[j] * x[l] - w[l] * x[j]) / n * sin(angle) + w[i] / n * dot * (1 - cos(angle));
      }
      for (int i = 0; i < 3; i++) u->vert[3 * k + i] = a[i] + shift[i];
    }
    tgi_exact_pose(&B, u->vert);
    bool brute = false;
    int pair[2];
    for (int f = 0; f < 2 * N * N; f++)
      for (int g = 0; g < 2 * N * N && !brute; g++) {
        double x[9], y[9];
        for (int i = 0; i < 9; i++) {
          x[i] = t->vert[3 * t->face[3 * f + i / 3] + i % 3];
          y[i] = u->vert[3 * u->face[3 * g + i / 3] + i % 3];
        }
        brute = tgi_exact_triangles(x, y);
      }
    check_true(tgi_exact_surfaces(&A, &B, pair) == brute, "trial %d: expected %d", trial, brute);
    check_true((pair[0] >= 0) == brute, "pair");
    met += brute;
  }
  check_true(met > 5 && met < 55, "%d", met);
  double inside[3] = {1, 0, 0.01}, hole[3] = {0.01, 0, 0}, up[3] = {0, 0, 1}, low[3] = {0, 0, -0.3}, below[3] = {0, 0, -0.4};
  check_close(tgi_surface_winding(&A, inside), 1, 1e-12);
  check_close(tgi_surface_winding(&A, hole), 0, 1e-12);
  check_true(tgi_exact_half_space(&A, below, up) == -1 && tgi_exact_half_space(&A, low, up) >= 0, "half-space");
  u->vert[5] = NAN;
  tgi_exact_pose(&B, u->vert);
  check_true(tgi_exact_surfaces(&A, &B, NULL), "a number that is not finite must count as touching");
  tgi_exact_free(&A);
  tgi_exact_free(&B);
  test_free(t);
  test_free(u);
}

// Of a torus that is pressed flat until it crosses itself: whether faces without a common corner meet, as every two of them say.
static void of_itself(void **state) {
  (void)state;
  Torus *t = test_malloc(sizeof *t);
  torus(t, 1, 0.3);
  tgiExactSurface A;
  assert_int_equal(tgi_exact_make(t->vert, N * N, t->face, 2 * N * N, NULL, &A), TG_OK);
  int met = 0;
  for (int k = 0; k < 12; k++) {
    double deep = 0.1 * k;
    torus(t, 1, 0.3);
    for (int v = 0; v < N * N; v++)
      if (t->vert[3 * v] > 0.8) t->vert[3 * v + 2] *= 1 - deep;
    t->vert[2] -= deep;
    tgi_exact_pose(&A, t->vert);
    bool brute = false;
    int pair[2];
    for (int f = 0; f < 2 * N * N; f++)
      for (int g = f + 1; g < 2 * N * N && !brute; g++) {
        double x[9], y[9];
        bool common = false;
        for (int i = 0; i < 9; i++) common = common || t->face[3 * f + i / 3] == t->face[3 * g + i % 3];
        for (int i = 0; i < 9; i++) {
          x[i] = t->vert[3 * t->face[3 * f + i / 3] + i % 3];
          y[i] = t->vert[3 * t->face[3 * g + i / 3] + i % 3];
        }
        brute = !common && tgi_exact_triangles(x, y);
      }
    check_true(tgi_exact_surfaces(&A, &A, pair) == brute, "press %d: expected %d", k, brute);
    check_true((pair[0] >= 0) == brute && (!brute || pair[0] < pair[1]), "pair %d, %d", pair[0], pair[1]);
    met += brute;
  }
  check_true(met > 0 && met < 12, "%d", met);
  tgi_exact_free(&A);
  test_free(t);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(small_grids), cmocka_unit_test(nearly_degenerate), cmocka_unit_test(last_place),
                                     cmocka_unit_test(surfaces), cmocka_unit_test(of_itself)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
