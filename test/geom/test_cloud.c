// test_cloud.c: clouds of primitives: on the surface, one patch each, spaced alike, kept off creases, and how they follow the sizes.
#include "geom/cloud.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/alloc.h"
#include "test/support/deriv.h"

typedef struct Shape {
  const char *name;
  tgGeomType type;
  double size[3], spacing;
} Shape;

static const Shape shapes[] = {
    {"sphere", TG_GEOM_SPHERE, {0.1}, 0.01},
    {"coarse sphere", TG_GEOM_SPHERE, {1}, 0.7},
    {"box", TG_GEOM_BOX, {0.5, 0.5, 0.5}, 0.05},
    {"uneven box", TG_GEOM_BOX, {0.11, 0.052, 0.203}, 0.02},
    {"capsule", TG_GEOM_CAPSULE, {0.05, 0.2}, 0.011},
    {"short capsule", TG_GEOM_CAPSULE, {0.3, 0.01}, 0.05},
    {"cylinder", TG_GEOM_CYLINDER, {0.1, 0.2}, 0.013},
    {"disk", TG_GEOM_CYLINDER, {0.5, 0.06}, 0.05},
    {"ellipsoid", TG_GEOM_ELLIPSOID, {0.1, 0.13, 0.2}, 0.01},
    {"long ellipsoid", TG_GEOM_ELLIPSOID, {0.5, 0.1, 0.1}, 0.02},
    {"flat ellipsoid", TG_GEOM_ELLIPSOID, {0.3, 0.1, 0.28}, 0.02},
};
enum { NSHAPE = (int)(sizeof shapes / sizeof *shapes) };

static tgCloud make(const Shape *s) {
  tgCloud c;
  tgError e = {0};
  check_true(tgi_cloud_primitive(s->type, s->size, s->spacing, NULL, &c, &e) == TG_OK, "%s: %s", s->name, e.text);
  return c;
}

static double norm(const double *x) { return sqrt(x[0] * x[0] + x[1] * x[1] + x[2] * x[2]); }

// distance to the surface (of an ellipsoid: to first order) and its gradient, for points near it and away from creases
static double distance(const Shape *s, const double *x, double *gradient) {
  double q[3], length;
  memcpy(q, x, sizeof q);
  if (s->type == TG_GEOM_BOX) {
    int axis = 0;
    for (int i = 1; i < 3; i++)
      if (fabs(x[i]) - s->size[i] > fabs(x[axis]) - s->size[axis]) axis = i;
    for (int i = 0; i < 3; i++) gradient[i] = i == axis ? copysign(1, x[i]) : 0;
    return fabs(x[axis]) - s->size[axis];
  }
  if (s->type == TG_GEOM_CYLINDER) {
    double rho = hypot(x[0], x[1]), side = rho - s->size[0], cap = fabs(x[2]) - s->size[1];
    for (int i = 0; i < 3; i++) gradient[i] = side > cap ? (i < 2 ? x[i] / rho : 0) : (i < 2 ? 0 : copysign(1, x[2]));
    return fmax(side, cap);
  }
  if (s->type == TG_GEOM_ELLIPSOID) {
    for (int i = 0; i < 3; i++) q[i] = x[i] / s->size[i], gradient[i] = q[i] / s->size[i];
    double slope = norm(gradient), value = (norm(q) - 1) / slope;
    for (int i = 0; i < 3; i++) gradient[i] /= slope;
    return value;
  }
  if (s->type == TG_GEOM_CAPSULE) q[2] = fabs(x[2]) <= s->size[1] ? 0 : x[2] - copysign(s->size[1], x[2]);
  length = norm(q);
  for (int i = 0; i < 3; i++) gradient[i] = q[i] / length;
  return length - s->size[0];
}

// area of an ellipsoid by the trapezium rule over azimuth and Simpson's over height
static double ellipsoid_area(const double *s) {
  enum { N = 600 };
  double sum = 0;
  for (int i = 0; i <= N; i++) {
    double z = -1 + 2.0 * i / N, rho = sqrt(fmax(0, 1 - z * z)), ring = 0;
    for (int k = 0; k < N; k++) {
      double f = 2 * TG_PI * k / N, n[3] = {rho * cos(f) / s[0], rho * sin(f) / s[1], z / s[2]};
      ring += norm(n) * s[0] * s[1] * s[2] * 2 * TG_PI / N;
    }
    sum += ring * (i == 0 || i == N ? 1 : i % 2 ? 4 : 2) * 2.0 / N / 3;
  }
  return sum;
}

static double surface_area(const Shape *s) {
  double r = s->size[0], h = s->size[1];
  if (s->type == TG_GEOM_SPHERE) return 4 * TG_PI * r * r;
  if (s->type == TG_GEOM_CAPSULE) return 4 * TG_PI * r * r + 4 * TG_PI * r * h;
  if (s->type == TG_GEOM_CYLINDER) return 2 * TG_PI * r * r + 4 * TG_PI * r * h;
  if (s->type == TG_GEOM_ELLIPSOID) return ellipsoid_area(s->size);
  return 8 * (s->size[0] * s->size[1] + s->size[1] * s->size[2] + s->size[2] * s->size[0]);
}

static void real3(const tgReal *x, double *y) {
  for (int i = 0; i < 3; i++) y[i] = tgRe(x[i]);
}

static void test_on_surface(void **state) {
  (void)state;
  for (int k = 0; k < NSHAPE; k++) {
    tgCloud c = make(&shapes[k]);
    double sum = 0, size = norm(shapes[k].size);
    for (int i = 0; i < c.n; i++) {
      double x[3], n[3], gradient[3];
      real3(c.p + 3 * i, x);
      real3(c.normal + 3 * i, n);
      double d = distance(&shapes[k], x, gradient);
      check_true(fabs(d) <= 4e-16 * size, "%s: point %d is %g m off the surface", shapes[k].name, i, d);
      for (int j = 0; j < 3; j++) check_close(n[j], gradient[j], 4e-15);
      sum += c.area[i];
    }
    double area = surface_area(&shapes[k]), tol = shapes[k].type == TG_GEOM_ELLIPSOID ? 1e-6 : 1e-13;
    check_true(fabs(sum - area) <= tol * area, "%s: areas sum to %.15g, not %.15g (relative %.2g)", shapes[k].name, sum,
               area, sum / area - 1);
    tgi_cloud_free(&c);
  }
}

static int compare_edges(const void *p, const void *q) {
  const int *a = p, *b = q;
  return a[0] != b[0] ? (a[0] > b[0]) - (a[0] < b[0]) : (a[1] > b[1]) - (a[1] < b[1]);
}

// twice the vector area of a patch's polygon
static void polygon(const tgCloud *c, int i, double *a) {
  double o[3];
  real3(c->vert + 3 * c->corner[c->corner_at[i]], o);
  a[0] = a[1] = a[2] = 0;
  for (int k = c->corner_at[i]; k < c->corner_at[i + 1]; k++) {
    double u[3], v[3];
    real3(c->vert + 3 * c->corner[k], u);
    real3(c->vert + 3 * c->corner[k + 1 < c->corner_at[i + 1] ? k + 1 : c->corner_at[i]], v);
    for (int j = 0; j < 3; j++) u[j] -= o[j], v[j] -= o[j];
    for (int j = 0; j < 3; j++) a[j] += u[(j + 1) % 3] * v[(j + 2) % 3] - u[(j + 2) % 3] * v[(j + 1) % 3];
  }
}

// least radius of curvature, of a box its least half length
static double least_radius(const Shape *s) {
  double least = s->size[0], most = s->size[0];
  for (int i = 1; i < 3 && s->type >= TG_GEOM_ELLIPSOID && s->type != TG_GEOM_CYLINDER; i++) {
    least = fmin(least, s->size[i]);
    most = fmax(most, s->size[i]);
  }
  return s->type == TG_GEOM_ELLIPSOID ? least * least / most : least;
}

// patches form a closed surface of a ball's topology, each runs round its normal and is as large as it says
static void test_patches(void **state) {
  (void)state;
  for (int k = 0; k < NSHAPE; k++) {
    tgCloud c = make(&shapes[k]);
    const char *name = shapes[k].name;
    int nedge = c.corner_at[c.n], (*edge)[2] = malloc((size_t)nedge * sizeof *edge);
    for (int i = 0; i < c.n; i++) {
      double a[3];
      polygon(&c, i, a);
      double along = 0.5 * (a[0] * tgRe(c.normal[3 * i]) + a[1] * tgRe(c.normal[3 * i + 1]) + a[2] * tgRe(c.normal[3 * i + 2]));
      double share = fmin(0.9, c.spacing / least_radius(&shapes[k]));  // a flat polygon is smaller than the curved cell
      check_true(along >= (1 - share) * c.area[i] && along <= (1 + 1e-12 + 0.3 * share) * c.area[i],
                 "%s: patch %d has a polygon of %g, an area of %g", name, i, along, c.area[i]);
      for (int m = c.corner_at[i]; m < c.corner_at[i + 1]; m++) {
        edge[m][0] = c.corner[m];
        edge[m][1] = c.corner[m + 1 < c.corner_at[i + 1] ? m + 1 : c.corner_at[i]];
      }
    }
    qsort(edge, (size_t)nedge, sizeof *edge, compare_edges);
    for (int m = 0; m < nedge; m++) {
      int back[2] = {edge[m][1], edge[m][0]};
      check_true(edge[m][0] != edge[m][1], "%s: an edge from vertex %d to itself", name, edge[m][0]);
      check_true(m == 0 || compare_edges(edge[m], edge[m - 1]) != 0, "%s: two patches run from vertex %d to %d", name,
                 edge[m][0], edge[m][1]);
      check_true(bsearch(back, edge, (size_t)nedge, sizeof *edge, compare_edges) != NULL,
                 "%s: no patch beyond edge %d, %d", name, back[1], back[0]);
    }
    assert_int_equal(c.nvert - nedge / 2 + c.n, 2);
    free(edge);
    tgi_cloud_free(&c);
  }
}

// distance of each point to its nearest neighbour on the same side of creases: mean and standard deviation over the spacing
static void neighbours(const tgCloud *c, double *mean, double *deviation) {
  double sum = 0, squares = 0;
  for (int i = 0; i < c->n; i++) {
    double least = INFINITY;
    for (int j = 0; j < c->n; j++) {
      double d[3];
      for (int m = 0; m < 3; m++) d[m] = tgRe(c->p[3 * i + m]) - tgRe(c->p[3 * j + m]);
      double side = 0;
      for (int m = 0; m < 3; m++) side += tgRe(c->normal[3 * i + m]) * tgRe(c->normal[3 * j + m]);
      if (j != i && side > 0.5) least = fmin(least, norm(d));
    }
    sum += least / c->spacing;
    squares += least / c->spacing * least / c->spacing;
  }
  *mean = sum / c->n;
  *deviation = sqrt(fmax(0, squares / c->n - *mean * *mean));
}

static void test_spacing(void **state) {
  (void)state;
  for (int k = 0; k < NSHAPE; k++) {
    double mean, deviation;
    tgCloud c = make(&shapes[k]);
    neighbours(&c, &mean, &deviation);
    printf("  %-16s %5d points, nearest neighbours %.3f +- %.3f of the spacing\n", shapes[k].name, c.n, mean, deviation);
    check_true(mean > 0.9 && mean < 1.1 && deviation < 0.12, "%s: nearest neighbours at %g +- %g of the spacing",
               shapes[k].name, mean, deviation);
    tgi_cloud_free(&c);
  }
}

// A box with room for one point along an axis: where there is a choice, the points on the two sides of a crease are equally far from it.
static void test_coarse_box(void **state) {
  (void)state;
  static const struct { double half[3], spacing; int n[3], grid; } box[] = {
      {{0.1, 0.025, 0.02}, 0.063, {3, 1, 1}, 0}, {{0.025, 0.1, 0.02}, 0.063, {1, 3, 1}, 0},
      {{0.1, 0.08, 0.02}, 0.03, {7, 5, 1}, 0}, {{0.1, 0.06, 0.004}, 0.011, {18, 11, 1}, 1}};
  for (size_t k = 0; k < sizeof box / sizeof *box; k++) {
    tgCloud c;
    double apart[3][3] = {{0}};   // least distance of points on the sides across axis a from those across axis b
    assert_int_equal(tgi_cloud_primitive(TG_GEOM_BOX, box[k].half, box[k].spacing, NULL, &c, NULL), TG_OK);
    for (int a = 0; a < 9; a++) apart[a / 3][a % 3] = INFINITY;
    for (int i = 0; i < c.n; i++)
      for (int a = 0; a < 3; a++)
        for (int b = 0; b < 3; b++)
          if (fabs(tgRe(c.normal[3 * i + a])) > 0.9 && a != b) apart[a][b] = fmin(apart[a][b], box[k].half[b] - fabs(tgRe(c.p[3 * i + b])));
    for (int a = 0; a < 3; a++)
      for (int b = 0; b < 3; b++)
        if (a != b && (box[k].n[a] > 1 || box[k].n[b] > 1)) check_close(apart[a][b], apart[b][a], 1e-15);
    for (int a = 0; a < 3; a++) assert_int_equal(c.grid[a], box[k].grid ? box[k].n[a] : 0);
    tgi_cloud_free(&c);
  }
}

// least distances of the points on one side of a crease to it, the least over a cloud's creases and the largest; of
// points not next to it the rest
static void test_creases(void **state) {
  (void)state;
  for (int k = 0; k < NSHAPE; k++) {
    const Shape *s = &shapes[k];
    if (s->type != TG_GEOM_BOX && s->type != TG_GEOM_CYLINDER) continue;
    tgCloud c = make(s);
    double least[6] = {0}, inset = INFINITY;  // by side: axis and sign of the normal; a cylinder's mantle is side 0
    for (int m = 0; m < 6; m++) least[m] = INFINITY;
    for (int i = 0; i < c.n; i++) {
      double x[3], n[3], d = INFINITY;
      real3(c.p + 3 * i, x);
      real3(c.normal + 3 * i, n);
      int side = fabs(n[2]) > 0.9 ? 4 + (n[2] > 0) : s->type == TG_GEOM_CYLINDER ? 0 : 2 * (fabs(n[1]) > 0.9) + (n[0] + n[1] > 0);
      if (s->type == TG_GEOM_CYLINDER) d = side == 0 ? s->size[1] - fabs(x[2]) : s->size[0] - hypot(x[0], x[1]);
      for (int j = 0; j < 3 && s->type == TG_GEOM_BOX; j++)
        if (fabs(n[j]) < 0.9) d = fmin(d, s->size[j] - fabs(x[j]));
      least[side] = fmin(least[side], d);
      inset = fmin(inset, d);
    }
    assert_true(inset > 0.4 * c.spacing && inset < 0.6 * c.spacing);
    for (int m = 0; m < 6; m++)
      if (isfinite(least[m])) check_close(least[m], inset, 1e-15);
    tgi_cloud_free(&c);
  }
}

static void test_plane(void **state) {
  (void)state;
  tgCloud c;
  assert_int_equal(tgi_cloud_primitive(TG_GEOM_PLANE, (double[3]){0}, 0.01, NULL, &c, NULL), TG_OK);
  assert_true(c.flat && c.n == 1 && c.nvert == 0 && c.corner_at[1] == 0 && isinf(c.area[0]));
  check_close(c.normal[2], 1, 0);
  for (int i = 0; i < 3; i++) check_close(c.p[i], 0, 0);
  tgi_cloud_free(&c);
}

// ---- sizes ----

static tgStatus numbers(void *ctx, const tgReal *size, tgReal *y) {
  const tgCloud *c = ctx;
  tgi_cloud_place(c, size, y, y + 3 * c->n, y + 6 * c->n);
  return TG_OK;
}

static void check_sizes(const Shape *s) {
  tgCloud c = make(s);
  int n = 3 * c.n, ny = 2 * n + 3 * c.nvert;
  tgReal *D = calloc((size_t)ny * 3, sizeof *D), *bar = calloc((size_t)ny, sizeof *bar), size[3];
  for (int j = 0; j < 3; j++) size[j] = s->size[j] * (1 + 0.1 * j);
  for (int i = 0; i < ny; i++) {
    bar[i] = 1;
    tgi_cloud_place_vjp(&c, size, bar, bar + n, bar + 2 * n, D + 3 * i);
    bar[i] = 0;
  }
#ifdef TG_COMPLEX
  double tol = 1e-12;
#else
  double tol = 1e-8;
#endif
  tgtDeriv d = {.name = s->name, .nx = 3, .ny = ny, .map = numbers, .ctx = &c, .tol = tol, .step = 0.1 * s->size[1]};
  if (s->type == TG_GEOM_SPHERE) d.step = 0.1 * s->size[0];
  const int rows[3] = {n, n, 3 * c.nvert};
  if (s->type == TG_GEOM_ELLIPSOID) {  // normals of the others keep
    d.rows = rows;
    d.nrows = 3;
  }
  tgt_check_jacobian(&d, size, D);
  free(D);
  free(bar);
  tgi_cloud_free(&c);
}

static void test_sizes(void **state) {
  (void)state;
  static const Shape coarse[] = {{"sphere", TG_GEOM_SPHERE, {1}, 0.7},
                                 {"box", TG_GEOM_BOX, {1, 0.7, 1.3}, 0.6},
                                 {"capsule", TG_GEOM_CAPSULE, {0.7, 1}, 0.6},
                                 {"cylinder", TG_GEOM_CYLINDER, {0.7, 1}, 0.6},
                                 {"ellipsoid", TG_GEOM_ELLIPSOID, {1, 0.8, 1.4}, 0.6}};
  for (int k = 0; k < 5; k++) check_sizes(&coarse[k]);
}

// resized points lie on the resized surface, and areas still sum to it
static void test_resize(void **state) {
  (void)state;
  for (int k = 0; k < NSHAPE; k++) {
    tgCloud c = make(&shapes[k]);
    Shape now = shapes[k];
    tgReal size[3];
    for (int j = 0; j < 3; j++) size[j] = now.size[j] *= 1 + 0.2 * j;
    assert_int_equal(tgi_cloud_resize(&c, size), TG_OK);
    double sum = 0, area = surface_area(&now);
    for (int i = 0; i < c.n; i++) {
      double x[3], gradient[3];
      real3(c.p + 3 * i, x);
      double d = distance(&now, x, gradient);
      check_true(fabs(d) <= 1e-15 * norm(now.size), "%s: point %d is %g m off the resized surface", now.name, i, d);
      for (int j = 0; j < 3; j++) check_close(c.normal[3 * i + j], gradient[j], 4e-15);
      sum += c.area[i];
    }
    check_close(sum / area, 1, now.type == TG_GEOM_ELLIPSOID ? 1e-3 : 1e-13);
    size[0] = 0;
    double before = tgRe(c.p[0]);
    assert_int_equal(tgi_cloud_resize(&c, size), TG_ERR_ARG);
    check_close(c.p[0], before, 0);
    tgi_cloud_free(&c);
  }
}

static void test_refused(void **state) {
  (void)state;
  tgCloud c;
  tgError e = {0};
  assert_int_equal(tgi_cloud_primitive(TG_GEOM_BOX, (double[3]){1, 0, 1}, 0.1, NULL, &c, &e), TG_ERR_ARG);
  assert_non_null(strstr(e.text, "size 1 is 0"));
  assert_int_equal(tgi_cloud_primitive(TG_GEOM_SPHERE, (double[3]){1}, NAN, NULL, &c, &e), TG_ERR_ARG);
  for (int type = TG_GEOM_SPHERE; type <= TG_GEOM_BOX; type++)
    assert_int_equal(tgi_cloud_primitive((tgGeomType)type, (double[3]){1, 1e9, 1}, 1e-4, NULL, &c, &e), TG_ERR_LIMIT);
  assert_non_null(strstr(e.text, "wider spacing"));
  assert_int_equal(tgi_cloud_primitive(TG_GEOM_MESH, (double[3]){1, 1, 1}, 0.1, NULL, &c, &e), TG_ERR_ARG);
  tgi_cloud_free(&c);
}

static void test_memory(void **state) {
  (void)state;
  for (int k = 0; k < NSHAPE; k++) {
    tgtAlloc a;
    tgStatus st = TG_ERR_MEMORY;
    for (long fail = 1; st == TG_ERR_MEMORY; fail++) {
      tgCloud c;
      tgError e = {0};
      tgt_alloc_init(&a);
      a.fail_at = fail;
      st = tgi_cloud_primitive(shapes[k].type, shapes[k].size, shapes[k].spacing, &a.hooks, &c, &e);
      if (st == TG_OK) assert_true(a.calls < fail);
      tgi_cloud_free(&c);
      assert_int_equal(a.blocks, 0);
    }
    assert_int_equal(st, TG_OK);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_on_surface), cmocka_unit_test(test_patches), cmocka_unit_test(test_spacing),
      cmocka_unit_test(test_creases), cmocka_unit_test(test_coarse_box),
      cmocka_unit_test(test_plane),      cmocka_unit_test(test_sizes),   cmocka_unit_test(test_resize),  cmocka_unit_test(test_refused),
      cmocka_unit_test(test_memory),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
