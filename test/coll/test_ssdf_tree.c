// test_ssdf_tree.c: the points kept at a place weigh all but tau, whatever cloud, place, ball and width; sums over them are the full ones.
#include "coll/clouds/ssdf_tree.h"

#include <string.h>

#include "coll/ssdf_clouds.h"

typedef struct Indexed { tgtCloud c; tgiSsdfTree tree; tgiSsdfNumbers z; int *kept; } Indexed;

static Indexed indexed(tgtCloud c) {
  Indexed x = {.c = c};
  assert_int_equal(tgi_ssdf_tree_make(c.n, c.p, c.normal, NULL, &x.tree), TG_OK);
  x.z.node = calloc((size_t)x.tree.nnode, sizeof *x.z.node);
  x.z.block = calloc((size_t)x.tree.nblock, sizeof *x.z.block);
  x.kept = calloc((size_t)c.n, sizeof *x.kept);
  assert_true(x.z.node != NULL && x.z.block != NULL && x.kept != NULL);
  tgi_ssdf_tree_numbers(&x.tree, c.p, c.normal, &x.z);
  return x;
}
static void indexed_free(Indexed *x) {
  tgt_cloud_free(&x->c);
  tgi_ssdf_tree_free(&x->tree);
  free(x->z.node);
  free(x->z.block);
  free(x->kept);
}

static Indexed some_cloud(int which) {
  double half[3] = {0.2, 0.3, 0.1}, sliver[3] = {0.5, 0.005, 0.005};
  if (which == 0) return indexed(tgt_cloud_sphere(1500, 0.3));
  if (which == 1) return indexed(tgt_cloud_box(half, 0.02));
  if (which == 2) return indexed(tgt_cloud_torus(0.3, 0.1, 0.02));
  if (which == 3) return indexed(tgt_cloud_box(sliver, 0.01));
  return indexed(tgt_cloud_sphere(which - 3, 0.3));   // 1 to 7 points: one block
}

// a place: the centre and points of the medial axis, on the surface, around it, far away
static void place(const Indexed *x, tgtRandom *r, int k, tgReal at[3]) {
  double u[3], far = k % 5 == 4 ? pow(10, tgt_uniform(r, 0, 5)) : tgt_uniform(r, -0.05, 0.3);
  tgt_random_unit(r, u);
  int i = (int)(tgt_next(r) % (uint64_t)x->c.n);
  for (int c = 0; c < 3; c++)
    at[c] = k % 5 == 0 ? 0 : k % 5 == 1 ? (c == k % 3 ? tgt_uniform(r, -0.3, 0.3) : 0) : x->c.p[3 * i + c] + far * u[c];
}

static void test_topology(void **state) {
  (void)state;
  for (int which = 0; which < 9; which++) {
    Indexed x = some_cloud(which);
    char *seen = calloc((size_t)x.c.n, 1);
    assert_non_null(seen);
    for (int b = 0; b < x.tree.nblock; b++)
      for (int i = 0; i < x.tree.used[b]; i++) seen[x.tree.point[8 * b + i]]++;
    for (int i = 0; i < x.c.n; i++) assert_int_equal(seen[i], 1);
    free(seen);
    // what a node says of the points below it
    for (int d = 0; d < x.tree.nnode; d++) {
      int stack[64], top = 0;
      const tgiSsdfNode *z = x.z.node + d;
      stack[0] = d;
      while (top >= 0) {
        int k = stack[top--], b = x.tree.block[k];
        if (b < 0) {
          stack[++top] = x.tree.child[k];
          stack[++top] = x.tree.child[k] + 1;
          continue;
        }
        for (int i = 0; i < x.tree.used[b]; i++) {
          const tgReal *p = x.c.p + 3 * x.tree.point[8 * b + i], *n = x.c.normal + 3 * x.tree.point[8 * b + i];
          double s = 0, e = 0, q = 0;
          for (int c = 0; c < 3; c++) {
            double y = tgRe(p[c]) - z->centre[c], m = tgRe(n[c]) - z->normal[c];
            assert_true(tgRe(p[c]) >= z->lo[c] && tgRe(p[c]) <= z->hi[c]);
            s += tgRe(n[c]) * y;
            e += m * m;
            q += y * y;
          }
          assert_true(sqrt(q) <= z->radius + 1e-15 && sqrt(e) <= z->spread + 1e-15 && s >= z->low - 1e-15 && s <= z->high + 1e-15);
        }
      }
    }
    // what a flat block says
    int flat = 0;
    for (int b = 0; b < x.tree.nblock; b++) flat += x.z.block[b].plane > 0 && x.z.block[b].used > 1;
    if (which == 1) assert_int_equal(flat, x.tree.nblock);
    if (which == 0) assert_int_equal(flat, 0);
    indexed_free(&x);
  }
}

// every x in the ball: what is left out weighs less than tau
static void test_ball(void **state) {
  (void)state;
  tgtRandom r = {.s = 11};
  double tau = 1e-9;
  for (int which = 0; which < 9; which++) {
    Indexed x = some_cloud(which);
    tgReal *w = calloc((size_t)x.c.n, sizeof *w);
    char *in = calloc((size_t)x.c.n, 1);
    assert_true(w != NULL && in != NULL);
    for (int k = 0; k < 60; k++) {
      double eps = pow(10, tgt_uniform(&r, -6, 0)), radius = k % 3 == 0 ? 0 : pow(10, tgt_uniform(&r, -4, -0.5)), c[3], u[3];
      tgReal at[3];
      place(&x, &r, k, at);
      for (int i = 0; i < 3; i++) c[i] = tgRe(at[i]);
      tgiSsdfNearest near;
      tgi_ssdf_nearest(&x.tree, &x.z, c, INFINITY, k % 2 == 0, &near);
      int n = tgi_ssdf_gather(&x.tree, &x.z, c, radius, tgi_ssdf_cut(eps, x.c.n, tau), &near, x.kept);
      memset(in, 0, (size_t)x.c.n);
      for (int a = 0; a < n; a++)
        for (int i = 0; i < x.tree.used[x.kept[a]]; i++) in[x.tree.point[8 * x.kept[a] + i]] = 1;
      for (int e = 0; e < 6; e++) {
        double lost = 0, t = e < 4 ? radius : tgt_uniform(&r, 0, radius);   // on the ball's border it is tight
        tgt_random_unit(&r, u);
        tgReal y[3] = {c[0] + t * u[0], c[1] + t * u[1], c[2] + t * u[2]};
        tgiSsdf s = tgt_ssdf(&x.c, eps);
        tgt_ssdf_weights(&s, y, w);
        for (int i = 0; i < x.c.n; i++) lost += in[i] ? 0 : tgRe(w[i]);
        check_true(lost <= tau, "cloud %d, place %d: %g lost", which, k, lost);
      }
    }
    free(w);
    free(in);
    indexed_free(&x);
  }
}

// a level that phi is said to be above in a ball, it is; and far enough below it is said
static void test_above(void **state) {
  (void)state;
  tgtRandom r = {.s = 13};
  double tau = 1e-13, R[9];
  for (int which = 0; which < 4; which++) {
    Indexed x = some_cloud(which);
    int said = 0;
    for (int k = 0; k < 400; k++) {
      double a[3], b[3], eps = 4e-4 * pow(10, tgt_uniform(&r, -2, 0.5)), n = 0;
      tgiSsdfBall ball = {.half = {pow(10, tgt_uniform(&r, -4, -1.5)), pow(10, tgt_uniform(&r, -4, -1.5)),
                                   pow(10, tgt_uniform(&r, -4, -1.5))}, .R = R};
      tgReal at[3], lo = INFINITY;
      // a turned frame from two random vectors
      tgt_random_unit(&r, a);
      tgt_random_unit(&r, b);
      double c[3] = {a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]};
      for (int i = 0; i < 3; i++) n += c[i] * c[i];
      for (int i = 0; i < 3; i++) c[i] /= sqrt(n);
      double e[3] = {c[1] * a[2] - c[2] * a[1], c[2] * a[0] - c[0] * a[2], c[0] * a[1] - c[1] * a[0]};
      for (int i = 0; i < 3; i++) {
        R[3 * i] = a[i];
        R[3 * i + 1] = c[i];
        R[3 * i + 2] = e[i];
      }
      place(&x, &r, k, at);
      for (int i = 0; i < 3; i++) ball.c[i] = tgRe(at[i]);
      ball.r = sqrt(ball.half[0] * ball.half[0] + ball.half[1] * ball.half[1] + ball.half[2] * ball.half[2]);
      tgi_ssdf_nearest(&x.tree, &x.z, ball.c, INFINITY, k % 2 == 0, &ball.near);
      tgiSsdf s = tgt_ssdf(&x.c, eps);
      for (int v = 0; v < 30; v++) {
        tgReal y[3];
        double u[3];
        for (int i = 0; i < 3; i++) u[i] = v < 8 ? (v >> i & 1 ? 1 : -1) * ball.half[i] : tgt_uniform(&r, -ball.half[i], ball.half[i]);
        for (int i = 0; i < 3; i++) y[i] = ball.c[i] + R[3 * i] * u[0] + R[3 * i + 1] * u[1] + R[3 * i + 2] * u[2];
        lo = tgMin(lo, tgi_ssdf(&s, y, NULL, NULL));
      }
      double cut = tgi_ssdf_cut(eps, x.c.n, tau), least = tgRe(lo), slack = 1e-12 * (1 + fabs(least));
      for (int v = 0; v < 20; v++) {
        double level = least + pow(10, tgt_uniform(&r, -9, -1));
        assert_false(tgi_ssdf_above(&x.tree, &x.z, &ball, cut, level + slack));
      }
      said += tgi_ssdf_above(&x.tree, &x.z, &ball, cut, least - 3 * ball.r - 0.05);
    }
    check_true(said > 50, "cloud %d: said %d times of 400", which, said);
    indexed_free(&x);
  }
}

static void test_pruned(void **state) {
  (void)state;
  tgtRandom r = {.s = 12};
  for (int which = 0; which < 9; which++) {
    Indexed x = some_cloud(which);
    for (int k = 0; k < 100; k++) {
      double eps = 4e-4 * pow(10, tgt_uniform(&r, -4, 2));
      tgReal at[3], g[3], H[9], gp[3], Hp[9];
      place(&x, &r, k, at);
      tgiSsdf s = tgt_ssdf(&x.c, eps);
      double phi = tgRe(tgi_ssdf(&s, at, g, H)), slope = 1, bend = 1 / sqrt(eps), far = 1;
      double pruned = tgRe(tgi_ssdf_pruned(&s, &x.tree, &x.z, 1e-16, x.kept, at, gp, Hp));
      for (int i = 0; i < 3; i++) {
        slope = fmax(slope, fabs(tgRe(g[i])));
        far = fmax(far, fabs(tgRe(at[i])));
      }
      for (int i = 0; i < 9; i++) bend = fmax(bend, fabs(tgRe(H[i])));
      check_close(pruned, phi, 1e-10 * far);
      for (int i = 0; i < 3; i++) check_close(gp[i], g[i], 1e-10 * slope * far);
      for (int i = 0; i < 9; i++) check_close(Hp[i], H[i], 1e-10 * bend * far);
    }
    indexed_free(&x);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_topology), cmocka_unit_test(test_ball),
                                     cmocka_unit_test(test_above), cmocka_unit_test(test_pruned)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
