// test_ssdf_shape.c: kernels of the points' own shapes: those left out weigh less than tau together, at any place and
// for any shape; sums over those kept are the full ones; few are kept.
#include "coll/clouds/ssdf_shape.h"

#include <string.h>

#include "coll/ssdf_clouds.h"
#include "support/deriv.h"

typedef struct Indexed { tgtCloud c; tgReal *shape; double *low; tgiSsdfTree tree; tgiSsdfNumbers z; int *kept; } Indexed;

// A = 1/(across^2) off the normal and 1/(along^2) on it, both drawn over two decades; turned at random where tilt
static void draw_shape(tgtRandom *r, const tgReal *normal, bool tilt, double decades, tgReal A[6]) {
  double u[3], along = pow(10, tgt_uniform(r, -decades / 2, decades / 2)), across = pow(10, tgt_uniform(r, -decades / 2, decades / 2));
  tgt_random_unit(r, u);
  for (int i = 0; i < 3 && !tilt; i++) u[i] = tgRe(normal[i]);
  for (int i = 0, k = 0; i < 3; i++)
    for (int j = 0; j <= i; j++) A[k++] = (i == j ? across : 0) + (along - across) * u[i] * u[j];
}

static Indexed indexed(tgtCloud c, int kind, tgtRandom *r) {
  Indexed x = {.c = c, .shape = calloc(6 * (size_t)c.n, sizeof *x.shape), .kept = calloc((size_t)c.n, sizeof *x.kept)};
  for (int i = 0; i < c.n; i++) {
    if (kind == 0) x.shape[6 * i] = x.shape[6 * i + 2] = x.shape[6 * i + 5] = 1;     // the isotropic kernel
    else draw_shape(r, c.normal + 3 * i, kind > 1, kind == 3 ? 3 : 1, x.shape + 6 * i);
  }
  assert_int_equal(tgi_ssdf_tree_make(c.n, c.p, c.normal, NULL, &x.tree), TG_OK);
  x.z.node = calloc((size_t)x.tree.nnode, sizeof *x.z.node);
  x.z.block = calloc((size_t)x.tree.nblock, sizeof *x.z.block);
  x.low = calloc((size_t)x.tree.nnode, sizeof *x.low);
  tgi_ssdf_tree_numbers(&x.tree, c.p, c.normal, &x.z);
  tgi_ssdf_tree_shapes(&x.tree, x.shape, x.low);
  return x;
}

static void indexed_free(Indexed *x) {
  tgt_cloud_free(&x->c);
  tgi_ssdf_tree_free(&x->tree);
  free(x->shape);
  free(x->low);
  free(x->z.node);
  free(x->z.block);
  free(x->kept);
}

static Indexed some(int which, int kind, tgtRandom *r) {
  double half[3] = {0.2, 0.3, 0.1};
  if (which == 0) return indexed(tgt_cloud_sphere(1500, 0.3), kind, r);
  if (which == 1) return indexed(tgt_cloud_box(half, 0.02), kind, r);
  if (which == 2) return indexed(tgt_cloud_torus(0.3, 0.1, 0.02), kind, r);
  return indexed(tgt_cloud_sphere(which - 2, 0.3), kind, r);
}

static void place(const Indexed *x, tgtRandom *r, int k, tgReal at[3]) {
  double u[3], far = k % 4 == 3 ? pow(10, tgt_uniform(r, 0, 4)) : tgt_uniform(r, -0.05, 0.3);
  tgt_random_unit(r, u);
  int i = (int)(tgt_next(r) % (uint64_t)x->c.n);
  for (int c = 0; c < 3; c++) at[c] = k % 4 == 0 ? 0 : x->c.p[3 * i + c] + far * u[c];
}

// eigenvalues of drawn shapes are known, of repeated ones too: what a leaf says is below, by little
static void test_eigenvalues(void **state) {
  (void)state;
  tgtRandom r = {.s = 4};
  for (int k = 0; k < 2000; k++) {
    tgReal p[3] = {0}, n[3] = {0, 0, 1}, A[6];
    double u[3], v[3] = {0, 0, 0}, e[3], low, trace = 0, least = INFINITY;
    // A = sum e_i q_i q_i' of a random rotation
    tgt_random_unit(&r, u);
    v[fabs(u[0]) < 0.6 ? 0 : 1] = 1;
    double d = u[0] * v[0] + u[1] * v[1], len = 0, w[3];
    for (int i = 0; i < 3; i++) v[i] -= d * u[i], len += v[i] * v[i];
    for (int i = 0; i < 3; i++) v[i] /= sqrt(len);
    for (int i = 0; i < 3; i++) w[i] = u[(i + 1) % 3] * v[(i + 2) % 3] - u[(i + 2) % 3] * v[(i + 1) % 3];
    for (int i = 0; i < 3; i++) e[i] = pow(10, tgt_uniform(&r, -3, 1));
    if (k % 3 == 1) e[1] = e[0];
    if (k % 3 == 2) e[1] = e[0] * (1 + 1e-9 * tgt_normal(&r)), e[2] = e[0];
    for (int i = 0; i < 3; i++) trace += e[i], least = fmin(least, e[i]);
    for (int i = 0, a = 0; i < 3; i++)
      for (int j = 0; j <= i; j++) A[a++] = e[0] * u[i] * u[j] + e[1] * v[i] * v[j] + e[2] * w[i] * w[j];
    tgiSsdfTree tree;
    assert_int_equal(tgi_ssdf_tree_make(1, p, n, NULL, &tree), TG_OK);
    tgi_ssdf_tree_shapes(&tree, A, &low);
    tgi_ssdf_tree_free(&tree);
    check_true(low <= least && low >= fmax(0, least - 2e-6 * trace), "least %.15g, said %.15g", least, low);
  }
}

// the bound: all that is left out weighs less than tau, and each of it less than tau/n
static void test_bound(void **state) {
  (void)state;
  tgtRandom r = {.s = 12};
  long kept = 0, all = 0;
  for (int which = 0; which < 6; which++)
    for (int kind = 0; kind < 4; kind++) {
      Indexed x = some(which, kind, &r);
      tgReal *w = calloc((size_t)x.c.n, sizeof *w);
      char *in = calloc((size_t)x.c.n, 1);
      for (int k = 0; k < 60; k++) {
        tgReal at[3];
        double tau = pow(10, tgt_uniform(&r, -14, -2)), eps = pow(10, tgt_uniform(&r, -5, -2)), out = 0;
        place(&x, &r, k, at);
        tgiSsdf s = tgt_ssdf(&x.c, eps);
        s.shape = x.shape;
        tgt_ssdf_weights(&s, at, w);
        int n = tgi_ssdf_shaped_kept(&s, &x.tree, &x.z, x.low, tau, (double[]){tgRe(at[0]), tgRe(at[1]), tgRe(at[2])}, x.kept);
        memset(in, 0, (size_t)x.c.n);
        for (int a = 0; a < n; a++) assert_int_equal(in[x.kept[a]]++, 0);
        for (int i = 0; i < x.c.n; i++) {
          if (in[i]) continue;
          out += tgRe(w[i]);
          check_true(tgRe(w[i]) <= tau / x.c.n * (1 + 1e-9),
                     "cloud %d, shapes %d, place %d: a point left out weighs %.3g of %.3g", which, kind, k, tgRe(w[i]),
                     tau / x.c.n);
        }
        check_true(out <= tau, "cloud %d, shapes %d, place %d: %.3g is left out of %.3g", which, kind, k, out, tau);
        assert_true(n >= 1);
        if (which < 3 && k % 4 != 0 && eps < 1e-3) kept += n, all += x.c.n;
      }
      free(w);
      free(in);
      indexed_free(&x);
    }
  print_message("%.3g of the points are kept\n", (double)kept / (double)all);
  check_true(4 * kept < all, "%ld of %ld points are kept", kept, all);
}

// value, gradient and Hessian are those of all points
static void test_sums(void **state) {
  (void)state;
  tgtRandom r = {.s = 21};
  double worst = 0;
  for (int which = 0; which < 6; which++)
    for (int kind = 0; kind < 4; kind++) {
      Indexed x = some(which, kind, &r);
      for (int k = 0; k < 40; k++) {
        tgReal at[3], g[2][3], H[2][9], phi[2];
        double eps = pow(10, tgt_uniform(&r, -4, -2)), size = 0, most = 0;
        place(&x, &r, k, at);
        tgiSsdf s = tgt_ssdf(&x.c, eps);
        s.shape = x.shape;
        phi[0] = tgi_ssdf(&s, at, g[0], H[0]);
        phi[1] = tgi_ssdf_pruned_shaped(&s, &x.tree, &x.z, x.low, 1e-20, x.kept, at, g[1], H[1]);
        for (int i = 0; i < 3; i++) size = fmax(size, fabs(tgRe(at[i])));
        worst = fmax(worst, fabs(tgRe(phi[0] - phi[1])) / (1 + size));
        for (int i = 0; i < 3; i++) worst = fmax(worst, fabs(tgRe(g[0][i] - g[1][i])) / fmax(1, fabs(tgRe(g[0][i]))));
        for (int i = 0; i < 9; i++) most = fmax(most, fabs(tgRe(H[0][i])));
        for (int i = 0; i < 9; i++) worst = fmax(worst, fabs(tgRe(H[0][i] - H[1][i])) / fmax(1, most));
      }
      indexed_free(&x);
    }
  print_message("sums differ by %.2g\n", worst);
  check_true(worst <= 1e-10, "sums differ by %g", worst);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_eigenvalues), cmocka_unit_test(test_bound), cmocka_unit_test(test_sums)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
