// test_halfspace.c: the half-space as the limit of a large triangle, and the lower bound in every blend before it.
#include "contact/barrier/pair/height.h"
#include "contact/barrier/pair/law.h"
#include "test/contact/barrier/shapes.h"

// a half-space is a triangle whose corners are far away: their separating planes and second derivatives agree as it grows
static void test_half_space_limit(void **state) {
  (void)state;
  tgtRandom r = {7};
  for (int k = 0; k < 100; k++) {
    tgReal x[18], z[3];
    tgiHeightPair h;
    tgiPair p;
    double far = 1e5, c = sqrt(0.75);
    for (int i = 0; i < 9; i++) x[i] = i % 3 == 2 ? pow(10, tgt_uniform(&r, -3, 0)) : tgt_uniform(&r, -0.5, 0.5);
    double corner[9] = {far, 0, 0, -far / 2, c * far, 0, -far / 2, -c * far, 0};
    for (int i = 0; i < 9; i++) x[9 + i] = corner[i];
    for (int i = 0; i < 3; i++) z[i] = x[3 * i + 2];
    assert_true(tgi_height_pair(z, false, &h) && tgi_pair_solve(x, NULL, false, &p));
    check_close(h.S, p.S, 1e-4 * tgRe(p.S));
    tgReal g = 0, H = 0;
    for (int i = 0; i < 9; i++) {
      g += i < 3 ? h.d[i] : 0;
      H += h.D[i];
    }
    check_close(g, p.g[5], 1e-4 * fabs(tgRe(g)));
    check_close(H, p.H[TGI_LOWER(5, 5)], 1e-3 * tgRe(H));
  }
}

// below every node of a tree before a plane: the children's cluster values, and the triangles' own, are not below the node's
static void test_half_space_bound(void **state) {
  (void)state;
  tgtRandom r = {8};
  for (int form = 0; form < 2; form++)
    for (int shape = 0; shape < TGT_SHAPES; shape++) {
      tgtBody a;
      tgt_shape(&a, shape, form ? TGI_TREE_PAPER : TGI_TREE_MOMENT);
      for (int k = 0; k < 50; k++) {
        tgReal x[3] = {0, 0, 0}, R[9], f[3], below, s[3];
        double w[3] = {tgt_normal(&r), tgt_normal(&r), tgt_normal(&r)}, base = form ? 12 : 0, more = k % 2 == 0 ? 0 : 30;
        tgt_rotation(w, R);
        tgt_body_move(&a, x, R);
        double low = INFINITY;
        for (int i = 0; i < a.surface.nvert; i++) low = fmin(low, tgRe(a.plane.vert[3 * i + 2]));
        tgReal up = -low + pow(10, tgt_uniform(&r, -4, 1));
        for (int n = 0; n < a.tree.nnode; n++) {
          const tgReal *y = a.plane.node + 8 * n;
          if (form == 1 && tgRe(up + y[2]) < tgRe(y[TGI_NODE_R])) continue;
          tgi_law_height(y[TGI_NODE_W], base, more, up + y[2], f);
          if (a.tree.tri[n] >= 0) {
            tgReal z[3];
            tgiHeightPair h;
            for (int i = 0; i < 3; i++) z[i] = up + a.plane.vert[3 * a.surface.face[3 * a.tree.tri[n] + i] + 2];
            assert_true(tgi_height_pair(z, false, &h));
            tgi_law_pair(y[TGI_NODE_W], base, more, h.S, s);
            below = s[0];
          } else {
            below = 0;
            for (int c = 0; c < 2; c++) {
              const tgReal *e = a.plane.node + 8 * a.tree.child[2 * n + c];
              tgi_law_height(e[TGI_NODE_W], base, more, up + e[2], s);
              below += s[0];
            }
          }
          check_true(tgRe(below) >= tgRe(f[0]) * (1 - 1e-13), "%s, node %d: %.17g below %.17g", tgt_shape_name[shape],
                     n, tgRe(below), tgRe(f[0]));
        }
      }
      tgt_body_free(&a);
    }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_half_space_limit), cmocka_unit_test(test_half_space_bound)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
