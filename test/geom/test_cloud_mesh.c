// test_cloud_mesh.c: clouds of meshes: on the mesh, evenly, one patch each, creases kept; bad meshes refused with their first bad edge.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "geom/cloud_quality.h"
#include "geom/solids.h"
#include "support/alloc.h"
#include "test/support/deriv.h"

// a T of 5 x 4 cubes two thick, and a plate of 7 x 5 with six holes
static const char tee[] = "XXXXX  X    X    X  XXXXX  X    X    X  ";
static const char plate[] = "XXXXXXXX X X XXXXXXXXX X X XXXXXXXX";

typedef struct Case {
  const char *name;
  tgtSolid solid;
  double spacing;
  int genus;
  double error, worst;   // bounds on the cloud's edge against creases, in spacings
} Case;

enum { NCASE = 8 };
static const double triangle[6] = {0, 0, 0.3, 0, 0, 0.2}, slab[8] = {0, 0, 0.4, 0, 0.4, 0.3, 0, 0.3};

static void make_cases(Case *k) {
  k[0] = (Case){"cube", tgt_solid_cubes(1, 1, 1, "X", 0.2), 0.02, 0, 1e-9, 1e-9};
  k[1] = (Case){"tee", tgt_solid_cubes(5, 4, 2, tee, 0.05), 0.01, 0, 0.01, 0.3};
  k[2] = (Case){"plate with six holes", tgt_solid_cubes(7, 5, 1, plate, 0.1), 0.03, 6, 0.02, 0.3};
  k[3] = (Case){"torus", tgt_solid_torus(0.2, 0.07, 48, 24), 0.02, 1, 1e-9, 1e-9};
  k[4] = (Case){"ball", tgt_solid_ball(0.1, 12), 0.012, 0, 1e-9, 1e-9};
  k[5] = (Case){"wedge", tgt_solid_prism(triangle, 3, 0.25), 0.02, 0, 0.03, 0.5};
  k[6] = (Case){"thin slab", tgt_solid_prism(slab, 4, 0.01), 0.03, 0, 0.03, 0.3};
  k[7] = (Case){"coarse tee", tgt_solid_cubes(5, 4, 2, tee, 0.05), 0.04, 0, 0.1, 0.5};
}

static void free_cases(Case *k) {
  for (int i = 0; i < NCASE; i++) tgt_solid_free(&k[i].solid);
}

static const double ones[3] = {1, 1, 1};

static tgStatus build(const tgtSolid *s, double spacing, bool repair, tgCloud *c, tgError *e) {
  return tgi_cloud_mesh(s->vert, s->nvert, s->face, s->nface, ones, spacing, repair, NULL, c, e);
}

static tgCloud make(const Case *k) {
  tgCloud c;
  tgError e = {0};
  check_true(build(&k->solid, k->spacing, false, &c, &e) == TG_OK, "%s: %s", k->name, e.text);
  return c;
}

static void sub(double *r, const double *a, const double *b) {
  for (int i = 0; i < 3; i++) r[i] = a[i] - b[i];
}
static double dot(const double *a, const double *b) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }
static void cross(double *r, const double *a, const double *b) {
  for (int i = 0; i < 3; i++) r[i] = a[(i + 1) % 3] * b[(i + 2) % 3] - a[(i + 2) % 3] * b[(i + 1) % 3];
}
static void real3(const tgReal *x, double *y) {
  for (int i = 0; i < 3; i++) y[i] = tgRe(x[i]);
}

// squared distance of x to a triangle by barycentric clamping on its plane and edges
static double to_triangle(const tgtSolid *s, int f, const double *x, double *normal) {
  double v[3][3], a[3], b[3], d[3], best = INFINITY;
  for (int c = 0; c < 3; c++) memcpy(v[c], s->vert + 3 * s->face[3 * f + c], sizeof v[c]);
  sub(a, v[1], v[0]);
  sub(b, v[2], v[0]);
  sub(d, x, v[0]);
  cross(normal, a, b);
  double aa = dot(a, a), ab = dot(a, b), bb = dot(b, b), da = dot(d, a), db = dot(d, b), det = aa * bb - ab * ab;
  double p = (bb * da - ab * db) / det, q = (aa * db - ab * da) / det;
  if (p >= 0 && q >= 0 && p + q <= 1) return dot(d, normal) * dot(d, normal) / dot(normal, normal);
  for (int c = 0; c < 3; c++) {
    double e[3], r[3];
    sub(e, v[(c + 1) % 3], v[c]);
    sub(r, x, v[c]);
    double t = fmin(1, fmax(0, dot(r, e) / dot(e, e)));
    for (int i = 0; i < 3; i++) r[i] -= t * e[i];
    best = fmin(best, dot(r, r));
  }
  return best;
}

// points lie on the mesh, normals are near that of the face below, areas sum to the mesh's
static void test_on_mesh(void **state) {
  (void)state;
  Case k[NCASE];
  make_cases(k);
  for (int m = 0; m < NCASE; m++) {
    tgCloud c = make(&k[m]);
    double sum = 0, area = 0, worst = 0, least = 1;
    for (int f = 0; f < k[m].solid.nface; f++) {
      double normal[3], x[3] = {0};
      to_triangle(&k[m].solid, f, x, normal);
      area += 0.5 * sqrt(dot(normal, normal));
    }
    for (int i = 0; i < c.n; i++) {
      double x[3], n[3], best = INFINITY, agree = -1;
      real3(c.p + 3 * i, x);
      real3(c.normal + 3 * i, n);
      check_close(dot(n, n), 1, 1e-14);
      for (int f = 0; f < k[m].solid.nface; f++) {
        double normal[3], d = to_triangle(&k[m].solid, f, x, normal);
        if (d < 1e-24) agree = fmax(agree, dot(n, normal) / sqrt(dot(normal, normal)));
        best = fmin(best, d);
      }
      worst = fmax(worst, sqrt(best));
      least = fmin(least, agree);
      sum += c.area[i];
    }
    check_true(worst < 1e-15, "%s: a point %g m off the mesh", k[m].name, worst);
    check_true(least > (m == 3 || m == 4 ? 0.98 : 1 - 1e-14), "%s: a normal with cosine %g to the face below", k[m].name, least);
    check_true(fabs(sum / area - 1) < 1e-12, "%s: areas sum to %.15g, the mesh has %.15g", k[m].name, sum, area);
    tgi_cloud_free(&c);
  }
  free_cases(k);
}

static int compare_edges(const void *p, const void *q) { return memcmp(p, q, 2 * sizeof(int)); }

// patches are polygons that form a closed surface of the mesh's genus
static void test_patches(void **state) {
  (void)state;
  Case k[NCASE];
  make_cases(k);
  for (int m = 0; m < NCASE; m++) {
    tgCloud c = make(&k[m]);
    int nedge = c.corner_at[c.n], (*edge)[2] = malloc((size_t)nedge * sizeof *edge);
    for (int i = 0; i < c.n; i++) {
      assert_true(c.corner_at[i + 1] - c.corner_at[i] >= 3);
      for (int j = c.corner_at[i]; j < c.corner_at[i + 1]; j++) {
        edge[j][0] = c.corner[j];
        edge[j][1] = c.corner[j + 1 < c.corner_at[i + 1] ? j + 1 : c.corner_at[i]];
      }
    }
    qsort(edge, (size_t)nedge, sizeof *edge, compare_edges);
    for (int j = 0; j < nedge; j++) {
      int back[2] = {edge[j][1], edge[j][0]};
      bool twice = j > 0 && compare_edges(edge[j], edge[j - 1]) == 0,
           met = bsearch(back, edge, (size_t)nedge, sizeof *edge, compare_edges) != NULL;
      check_true(!twice, "%s: two patches run from vertex %d to %d", k[m].name, edge[j][0], edge[j][1]);
      check_true(met, "%s: no patch beyond edge %d, %d", k[m].name, back[1], back[0]);
    }
    check_true(c.nvert - nedge / 2 + c.n == 2 - 2 * k[m].genus, "%s: Euler's number is %d", k[m].name, c.nvert - nedge / 2 + c.n);
    free(edge);
    tgi_cloud_free(&c);
  }
  free_cases(k);
}

static void test_quality(void **state) {
  (void)state;
  Case k[NCASE];
  make_cases(k);
  for (int m = 0; m < NCASE; m++) {
    tgCloud c = make(&k[m]);
    tgCloudQuality q;
    assert_int_equal(tgi_cloud_quality(&c, NULL, &q), TG_OK);
    printf("  %-20s %5d points, neighbours %.3f +- %.3f (%.2f to %.2f), areas %.3f +- %.3f, ", k[m].name, c.n,
           q.near_mean, q.near_deviation, q.near_least, q.near_most, q.area_mean, q.area_deviation);
    printf("creases %4d: inset %.3f, error %.4f, worst %.3f\n", q.ncrease, q.crease_inset, q.crease_error, q.crease_worst);
    check_true(q.near_mean > 0.85 && q.near_mean < 1.15, "%s: neighbours at %g of the spacing", k[m].name, q.near_mean);
    check_true(q.near_deviation < 0.15, "%s: neighbours' distances deviate by %g", k[m].name, q.near_deviation);
    check_true(q.crease_error <= k[m].error && q.crease_worst <= k[m].worst, "%s: the edge misses creases by %g, at worst %g", k[m].name,
               q.crease_error, q.crease_worst);
    tgi_cloud_free(&c);
  }
  free_cases(k);
}

static bool same_bits(const tgCloud *a, const tgCloud *b) {
  if (a->n != b->n || a->nvert != b->nvert) return false;
  return memcmp(a->p, b->p, 3 * (size_t)a->n * sizeof *a->p) == 0 && memcmp(a->normal, b->normal, 3 * (size_t)a->n * sizeof *a->p) == 0 &&
         memcmp(a->corner, b->corner, (size_t)a->corner_at[a->n] * sizeof *a->corner) == 0;
}

static void test_repeats(void **state) {
  (void)state;
  Case k[NCASE];
  make_cases(k);
  for (int m = 5; m < NCASE; m++) {
    tgCloud a = make(&k[m]), b = make(&k[m]);
    assert_true(same_bits(&a, &b));
    tgi_cloud_free(&a);
    tgi_cloud_free(&b);
  }
  free_cases(k);
}

// ---- bad meshes ----

static void expect(const tgtSolid *s, bool repair, tgStatus status, const char *words) {
  tgCloud c;
  tgError e = {0};
  tgStatus st = build(s, 0.05, repair, &c, &e);
  check_true(st == status, "status %d instead of %d: %s", st, status, e.text);
  check_true(words == NULL || strstr(e.text, words) != NULL, "\"%s\" not in: %s", words, e.text);
  tgi_cloud_free(&c);
}

static void turn(tgtSolid *s, int f) {
  int t = s->face[3 * f + 1];
  s->face[3 * f + 1] = s->face[3 * f + 2];
  s->face[3 * f + 2] = t;
}

static void test_refused(void **state) {
  (void)state;
  tgtSolid s = tgt_solid_cubes(1, 1, 1, "X", 0.2);
  tgCloud good, repaired;
  tgError e = {0};
  assert_int_equal(build(&s, 0.05, false, &good, &e), TG_OK);
  s.nface--;
  expect(&s, false, TG_ERR_INVALID,
         "3 open edges in 1 pieces of border, the first between vertices 4 (0 0 0.2) and 6 (0 0.2 0.2) of face 0");
  expect(&s, true, TG_ERR_INVALID, "not closed");
  s.nface++;
  turn(&s, 7);
  expect(&s, false, TG_ERR_INVALID, "wound inconsistently at 3 edges");
  assert_int_equal(build(&s, 0.05, true, &repaired, &e), TG_OK);
  assert_int_equal(repaired.nflip, 1);
  assert_true(repaired.n == good.n);
  tgi_cloud_free(&repaired);
  turn(&s, 7);
  for (int f = 0; f < s.nface; f++) turn(&s, f);
  expect(&s, false, TG_ERR_INVALID, "inside out");
  assert_int_equal(build(&s, 0.05, true, &repaired, &e), TG_OK);
  assert_true(repaired.nflip == s.nface);
  for (int i = 0; i < repaired.n; i++) {  // outward again
    double x[3], n[3];
    real3(repaired.p + 3 * i, x);
    real3(repaired.normal + 3 * i, n);
    for (int j = 0; j < 3; j++) x[j] -= 0.1;
    assert_true(dot(x, n) > 0);
  }
  tgi_cloud_free(&repaired);
  s.face[4] = 99;
  expect(&s, true, TG_ERR_INVALID, "face 1 names vertex 99 of 8");
  tgi_cloud_free(&good);
  tgt_solid_free(&s);
}

// a wall inside: its edges have three faces; two cubes that share an edge bound a solid and pass
static void test_crowded(void **state) {
  (void)state;
  tgtSolid s = tgt_solid_cubes(2, 1, 1, "XX", 0.1);
  int wall[6] = {1, 4, 10, 1, 10, 7};
  s.face = realloc(s.face, (3 * (size_t)s.nface + 6) * sizeof *s.face);
  memcpy(s.face + 3 * s.nface, wall, sizeof wall);
  s.nface += 2;
  expect(&s, true, TG_ERR_INVALID, "edges of three or more faces");
  tgt_solid_free(&s);
  s = tgt_solid_cubes(2, 2, 1, "X  X", 0.1);
  expect(&s, false, TG_OK, NULL);
  tgt_solid_free(&s);
}

static void test_limits(void **state) {
  (void)state;
  tgtSolid s = tgt_solid_cubes(1, 1, 1, "X", 1);
  tgCloud c;
  tgError e = {0};
  assert_int_equal(build(&s, 1e-5, false, &c, &e), TG_ERR_LIMIT);
  assert_non_null(strstr(e.text, "wider spacing"));
  assert_int_equal(build(&s, -1, false, &c, &e), TG_ERR_ARG);
  for (int v = 0; v < 8; v++) s.vert[3 * v] += 1e13;
  assert_int_equal(build(&s, 1, false, &c, &e), TG_ERR_LIMIT);
  s.vert[0] = NAN;
  assert_int_equal(build(&s, 1, false, &c, &e), TG_ERR_NOT_FINITE);
  assert_int_equal(tgi_cloud_mesh(s.vert, s.nvert, s.face, s.nface, (double[3]){1, 0, 1}, 1, false, NULL, &c, &e), TG_ERR_ARG);
  tgt_solid_free(&s);
}

static void test_memory(void **state) {
  (void)state;
  tgtSolid s = tgt_solid_cubes(5, 4, 2, tee, 0.05);
  tgStatus st = TG_ERR_MEMORY;
  long fail = 1;
  for (; st == TG_ERR_MEMORY; fail++) {
    tgtAlloc a;
    tgCloud c;
    tgError e = {0};
    tgt_alloc_init(&a);
    a.fail_at = fail;
    st = tgi_cloud_mesh(s.vert, s.nvert, s.face, s.nface, ones, 0.05, true, &a.hooks, &c, &e);
    assert_true(st == TG_OK || st == TG_ERR_MEMORY);
    tgi_cloud_free(&c);
    assert_int_equal(a.blocks, 0);
  }
  assert_true(fail > 30);
  tgt_solid_free(&s);
}

// ---- scale ----

// the cloud at a scale is that of the scaled mesh; a mirrored one keeps outward normals
static void test_scale(void **state) {
  (void)state;
  tgtSolid s = tgt_solid_torus(0.2, 0.07, 24, 12), t = tgt_solid_torus(0.2, 0.07, 24, 12);
  const double scale[3] = {2, 1, 1.5}, mirror[3] = {-2, 1, 1.5};
  tgCloud a, b, c;
  tgError e = {0};
  for (int k = 0; k < 3 * t.nvert; k++) t.vert[k] *= scale[k % 3];
  assert_int_equal(tgi_cloud_mesh(s.vert, s.nvert, s.face, s.nface, scale, 0.05, false, NULL, &a, &e), TG_OK);
  assert_int_equal(build(&t, 0.05, false, &b, &e), TG_OK);
  assert_int_equal(tgi_cloud_mesh(s.vert, s.nvert, s.face, s.nface, mirror, 0.05, false, NULL, &c, &e), TG_OK);
  assert_true(a.n == b.n && a.n == c.n && a.n > 200);
  for (int i = 0; i < a.n; i++)
    for (int j = 0; j < 3; j++) {
      check_close(a.p[3 * i + j], b.p[3 * i + j], 1e-15);
      check_close(a.normal[3 * i + j], b.normal[3 * i + j], 1e-14);
      check_close(c.p[3 * i + j], (j == 0 ? -1 : 1) * b.p[3 * i + j], 1e-15);
      check_close(c.normal[3 * i + j], (j == 0 ? -1 : 1) * b.normal[3 * i + j], 1e-14);
      check_close(a.area[i], b.area[i], 1e-15);
    }
  tgi_cloud_free(&a);
  tgi_cloud_free(&b);
  tgi_cloud_free(&c);
  tgt_solid_free(&s);
  tgt_solid_free(&t);
}

static tgStatus numbers(void *ctx, const tgReal *size, tgReal *y) {
  const tgCloud *c = ctx;
  tgi_cloud_place(c, size, y, y + 3 * c->n, y + 6 * c->n);
  return TG_OK;
}

static void test_scale_derivative(void **state) {
  (void)state;
  tgtSolid s = tgt_solid_torus(0.2, 0.07, 12, 6);
  tgCloud c;
  tgError e = {0};
  assert_int_equal(build(&s, 0.1, false, &c, &e), TG_OK);
  int n = 3 * c.n, ny = 2 * n + 3 * c.nvert;
  const int rows[3] = {n, n, 3 * c.nvert};
  tgReal *D = calloc((size_t)ny * 3, sizeof *D), *bar = calloc((size_t)ny, sizeof *bar), scale[3] = {1.2, -0.7, 2};
  for (int i = 0; i < ny; i++) {
    bar[i] = 1;
    tgi_cloud_place_vjp(&c, scale, bar, bar + n, bar + 2 * n, D + 3 * i);
    bar[i] = 0;
  }
#ifdef TG_COMPLEX
  double tol = 1e-12;
#else
  double tol = 1e-8;
#endif
  tgtDeriv d = {.name = "scale of a torus", .nx = 3, .ny = ny, .map = numbers, .ctx = &c, .tol = tol, .rows = rows,
                .nrows = 3, .step = 0.1};
  tgt_check_jacobian(&d, scale, D);
  free(D);
  free(bar);
  tgi_cloud_free(&c);
  tgt_solid_free(&s);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_on_mesh), cmocka_unit_test(test_patches), cmocka_unit_test(test_quality), cmocka_unit_test(test_repeats),
      cmocka_unit_test(test_refused), cmocka_unit_test(test_crowded), cmocka_unit_test(test_limits),  cmocka_unit_test(test_memory),
      cmocka_unit_test(test_scale),   cmocka_unit_test(test_scale_derivative),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
