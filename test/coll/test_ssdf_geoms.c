// test_ssdf_geoms.c: the soft distance of geoms' own clouds against exact distances: on smooth surfaces
// phi = d - (eps/2) H, H the mean curvature, up to what the spacing l leaves; on boxes and cylinders exact away from
// creases, and the zero set meets creases.
#include <stdio.h>

#include "coll/clouds/ssdf.h"
#include "geom/cloud.h"
#include "geom/solids.h"
#include "support/check.h"

typedef struct Shape {
  const char *name;
  tgGeomType type;        // mesh: a torus, radii size[0] and size[1]
  double size[3], spacing;
  double worst;           // of phi - d + (eps/2) H over l^2/R, R the least radius
} Shape;

// exact distance, its gradient and the mean curvature of the surface through x's foot
static double distance(const Shape *s, const double *x, double *g, double *H) {
  double q[3] = {x[0], x[1], x[2]}, r = s->size[0], about = 0, curve = 1 / r;
  if (s->type == TG_GEOM_CAPSULE && fabs(x[2]) <= s->size[1]) q[2] = 0, curve = 0.5 / r;
  else if (s->type == TG_GEOM_CAPSULE) q[2] = x[2] - copysign(s->size[1], x[2]);
  if (s->type == TG_GEOM_MESH) {
    double rho = hypot(x[0], x[1]), away = hypot(rho - r, x[2]);
    for (int i = 0; i < 2; i++) q[i] = x[i] * (rho - r) / rho;
    about = (rho - r) / away;
    r = s->size[1];
    curve = 0.5 * (1 / r + about / (s->size[0] + r * about));
  }
  double length = sqrt(q[0] * q[0] + q[1] * q[1] + q[2] * q[2]);
  for (int i = 0; i < 3; i++) g[i] = q[i] / length;
  *H = curve;
  return length - r;
}

static void make(const Shape *s, tgCloud *c) {
  tgError e = {0};
  tgStatus st;
  if (s->type == TG_GEOM_MESH) {
    tgtSolid t = tgt_solid_torus(s->size[0], s->size[1], 300, 120);
    st = tgi_cloud_mesh(t.vert, t.nvert, t.face, t.nface, (double[3]){1, 1, 1}, s->spacing, false, NULL, c, &e);
    tgt_solid_free(&t);
  } else {
    st = tgi_cloud_primitive(s->type, s->size, s->spacing, NULL, c, &e);
  }
  check_true(st == TG_OK, "%s: %s", s->name, e.text);
}

// on the surface between points, for widths from l^2/2 to 2 l^2
static void test_smooth(void **state) {
  (void)state;
  static const Shape shapes[] = {{"sphere", TG_GEOM_SPHERE, {0.1}, 0.01, 0.08},
                                 {"capsule", TG_GEOM_CAPSULE, {0.05, 0.1}, 0.008, 0.3},  // where curvature jumps, half of eps/(4 R)
                                 {"torus", TG_GEOM_MESH, {0.2, 0.07}, 0.014, 0.12}};
  tgtRandom random = {7};
  for (int k = 0; k < 3; k++) {
    tgCloud c;
    make(&shapes[k], &c);
    double l = shapes[k].spacing, unit = l * l / shapes[k].size[k == 2];
    for (double width = 0.5; width <= 2; width *= 2) {
      tgiSsdf field = {.n = c.n, .p = c.p, .normal = c.normal, .eps = width * l * l};
      double worst = 0, turn = 0;
      for (int m = 0; m < 300; m++) {
        int i = (int)(tgt_next(&random) % (uint64_t)c.n);
        double x[3], g[3], h[3], H, sum = 0;
        for (int j = 0; j < 3; j++) x[j] = c.p[3 * i + j] + tgt_uniform(&random, -0.5, 0.5) * l;
        double d = distance(&shapes[k], x, g, &H);
        for (int j = 0; j < 3; j++) x[j] -= d * g[j];
        double phi = tgi_ssdf(&field, x, h, NULL);
        for (int j = 0; j < 3; j++) sum += (h[j] - g[j]) * (h[j] - g[j]);
        worst = fmax(worst, fabs(phi + 0.5 * width * l * l * H) / unit);
        turn = fmax(turn, sqrt(sum));
      }
      printf("  %-8s eps = %.1f l^2: off the formula by %.3f l^2/R, gradient by %.4f\n", shapes[k].name, width, worst, turn);
      check_true(worst <= shapes[k].worst, "%s, eps = %g l^2: off the formula by %g l^2/R", shapes[k].name, width, worst);
      check_true(turn <= 0.06, "%s, eps = %g l^2: the gradient is off by %g", shapes[k].name, width, turn);
    }
    tgi_cloud_free(&c);
  }
}

// a box's zero set is its sides farther than 4 sqrt(eps) from edges, and for narrow kernels passes through the edges themselves
static void test_box(void **state) {
  (void)state;
  const double half[3] = {0.3, 0.22, 0.41}, l = 0.04;
  tgCloud c;
  tgtRandom random = {3};
  assert_int_equal(tgi_cloud_primitive(TG_GEOM_BOX, half, l, NULL, &c, NULL), TG_OK);
  tgiSsdf wide = {.n = c.n, .p = c.p, .normal = c.normal, .eps = l * l}, narrow = wide;
  narrow.eps = 0.01 * l * l;
  for (int m = 0; m < 500; m++) {
    int axis = m % 3, i = (axis + 1) % 3, j = (axis + 2) % 3;
    double x[3], out = tgt_uniform(&random, -0.02, 0.02);
    x[axis] = half[axis] + out;
    x[i] = tgt_uniform(&random, -1, 1) * (half[i] - 5 * l);
    x[j] = tgt_uniform(&random, -1, 1) * (half[j] - 5 * l);
    check_close(tgi_ssdf(&wide, x, NULL, NULL), out, 1e-7);
    // beside a point, so that its partner across the edge is the only other that counts
    int p = (int)(tgt_next(&random) % (uint64_t)c.n), edges = 0;
    for (int k = 0; k < 3; k++) {
      x[k] = tgRe(c.p[3 * p + k]);
      if (fabs(c.normal[3 * p + k]) < 0.5 && half[k] - fabs(x[k]) < 0.6 * l && edges++ == 0) x[k] = copysign(half[k], x[k]);
    }
    if (edges == 1) check_close(tgi_ssdf(&narrow, x, NULL, NULL), 0, 1e-12);
  }
  tgi_cloud_free(&c);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_smooth), cmocka_unit_test(test_box)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
