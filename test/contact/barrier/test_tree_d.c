// test_tree_d.c: derivatives of the sums over two trees and over one before a half-space, and of the numbers before
// planes, against complex steps.
#include "contact/barrier/pair/law.h"
#include "test/contact/barrier/shapes.h"

// A moved by e xi about its origin, to first order in e (imaginary)
typedef struct Place { tgReal x[3], R[9]; } Place;
static void nudged(const Place *p, const tgReal pivot[3], int k, double e, Place *q) {
  tgReal xi[6] = {0}, d[3], t[3];
  *q = *p;
  xi[k] = CMPLX(0, e);
  tgi_v3_sub(d, p->x, pivot);
  tgi_v3_cross(t, xi, d);
  tgi_v3_axpy(q->x, 1, t);
  tgi_v3_axpy(q->x, 1, xi + 3);
  for (int j = 0; j < 3; j++) {
    tgReal col[3];
    tgi_m3_col(col, p->R, j);
    tgi_v3_cross(t, xi, col);
    for (int i = 0; i < 3; i++) q->R[3 * i + j] += t[i];
  }
}

typedef bool (*Sum)(void *ctx, const Place *p, tgReal origin[3], tgiPairSum *s);

// g by the complex step of P; the derivative of g in xi is H plus half of g.[., xi], since twists do not commute
static bool check_sum(Sum f, void *ctx, const Place *p, const char *what) {
  const double e = 1e-30;
  tgReal pivot[3], origin[3], D[6][6], g[6];
  tgiPairSum s, t;
  if (!f(ctx, p, pivot, &s)) return false;
  for (int k = 0; k < 6; k++) {
    Place q;
    nudged(p, pivot, k, e, &q);
    assert_true(f(ctx, &q, origin, &t));
    g[k] = tgIm(t.P) / e;
    tgReal d[3], m[3];
    tgi_v3_sub(d, origin, pivot);
    tgi_v3_cross(m, d, t.g + 3);
    tgi_v3_axpy(t.g, 1, m);
    for (int i = 0; i < 6; i++) D[i][k] = tgIm(t.g[i]) / e;
  }
  tgiPairSum ref = s;
  memcpy(ref.g, g, sizeof g);
  for (int i = 0; i < 6; i++)
    for (int j = 0; j <= i; j++) ref.H[TGI_LOWER(i, j)] = (D[i][j] + D[j][i]) / 2;
  tgt_near_sum(&s, &ref, 2e-10, what);
  return true;
}

typedef struct Two { tgtBody *a, *b; tgiTreeLaw law; tgiTreeWork *w; } Two;
static bool sum_two(void *ctx, const Place *p, tgReal origin[3], tgiPairSum *s) {
  Two *t = ctx;
  int face[2];
  tgt_body_move(t->a, p->x, p->R);
  tgi_v3_copy(origin, t->a->world.origin);
  return tgi_tree_pair(&t->a->world, &t->b->world, &t->law, t->w, s, face, NULL, NULL);
}

static void test_derivatives(void **state) {
  (void)state;
  tgtRandom r = {2};
  for (int form = 0; form < 2; form++)
    for (int sa = 0; sa < TGT_SHAPES; sa++)
      for (int sb = sa; sb < TGT_SHAPES; sb++) {
        tgtBody a, b;
        tgt_shape(&a, sa, form ? TGI_TREE_PAPER : TGI_TREE_MOMENT);
        tgt_shape(&b, sb, form ? TGI_TREE_PAPER : TGI_TREE_MOMENT);
        Two two = {&a, &b, tgt_law(&a, &b, form ? TGI_TREE_PAPER : TGI_TREE_MOMENT, 0.5), tgt_tree_work(&a, &b)};
        int met = 0;
        for (int k = 0; k < 20 && met < 3; k++) {
          Place p;
          double w[3] = {tgt_normal(&r), tgt_normal(&r), tgt_normal(&r)};
          tgt_scatter(&r, &a, &b, 1);
          double far = met == 2 ? 1.5 : 0.8;   // the second is within the root's blend
          tgt_rotation(w, p.R);
          for (int i = 0; i < 3; i++)
            p.x[i] = (tgt_size(&a) + tgt_size(&b)) * far * (i == 0 ? 0.7 : i == 1 ? -0.5 : 0.5) * (1 + 0.1 * tgt_normal(&r));
          met += check_sum(sum_two, &two, &p, tgt_shape_name[sb]);
        }
        check_true(met > 0, "%s and %s: never apart", tgt_shape_name[sa], tgt_shape_name[sb]);
        free(two.w);
        tgt_body_free(&a);
        tgt_body_free(&b);
      }
}

typedef struct One { tgtBody *a; tgiTreeLaw law; tgReal n[3]; } One;
static bool sum_plane(void *ctx, const Place *p, tgReal origin[3], tgiPairSum *s) {
  One *t = ctx;
  int face;
  tgt_body_move(t->a, p->x, p->R);
  tgi_v3_copy(origin, t->a->plane.origin);
  return tgt_half_space(&t->a->plane, t->n, tgi_v3_dot(t->n, origin), &t->law, s, &face);
}

// numbers before planes in the sizes
static void test_half_space_numbers(void **state) {
  (void)state;
  const double e = 1e-30;
  for (int j = 0; j < 3; j++) {
    tgtBody a, b;
    tgt_shape(&a, TGT_ROD, TGI_TREE_MOMENT);
    tgt_shape(&b, TGT_ROD, TGI_TREE_MOMENT);
    size_t n = (size_t)a.tree.nnode;
    tgReal size[3] = {1, 1, 1}, *memory = malloc(2 * tgi_tree_reals(&a.surface, &a.tree) * sizeof *memory);
    tgiTreeNumbers d = tgi_tree_place(&a.surface, &a.tree, memory),
                   dp = tgi_tree_place(&a.surface, &a.tree, memory + tgi_tree_reals(&a.surface, &a.tree));
    size[j] = CMPLX(1, e);
    tgi_tree_numbers_d(&a.surface, &a.tree, TGI_TREE_MOMENT, TGI_CLIMB_SUM, &a.numbers, j, &d);
    tgi_plane_numbers_d(&a.tree, &a.numbers, &d, &a.plane_numbers, &dp);
    tgi_tree_numbers(&b.surface, &b.tree, TGI_TREE_MOMENT, TGI_CLIMB_SUM, size, &b.numbers);
    tgi_plane_numbers(&b.tree, &b.numbers, &b.plane_numbers);
    for (size_t k = 0; k < n; k++) {
      for (size_t i = 0; i < 3; i++) check_close(dp.centre[3 * k + i], tgIm(b.plane_numbers.centre[3 * k + i]) / e, 1e-12);
      check_close(dp.radius[k], tgIm(b.plane_numbers.radius[k]) / e, 1e-12);
      check_close(dp.weight[k], tgIm(b.plane_numbers.weight[k]) / e, 1e-12);
      check_close(dp.moment[k], 0, 0);
    }
    free(memory);
    tgt_body_free(&a);
    tgt_body_free(&b);
  }
}

static void test_half_space_derivatives(void **state) {
  (void)state;
  tgtRandom r = {3};
  for (int form = 0; form < 2; form++)
    for (int shape = 0; shape < TGT_SHAPES; shape++) {
      tgtBody a;
      tgt_shape(&a, shape, form ? TGI_TREE_PAPER : TGI_TREE_MOMENT);
      One one = {&a, {.eps = 0.5, .base = form ? 12 : 0}, {2.0 / 7, 3.0 / 7, 6.0 / 7}};
      int met = 0;
      for (int k = 0; k < 30; k++) {
        Place p;
        double w[3] = {tgt_normal(&r), tgt_normal(&r), tgt_normal(&r)}, up = tgt_uniform(&r, 0.2, 2) * tgt_size(&a);
        tgt_rotation(w, p.R);
        for (int i = 0; i < 3; i++) p.x[i] = up * one.n[i] + 0.1 * (i == 0);
        met += check_sum(sum_plane, &one, &p, tgt_shape_name[shape]);
      }
      check_true(met > 5, "%s: apart %d times", tgt_shape_name[shape], met);
      tgt_body_free(&a);
    }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_derivatives), cmocka_unit_test(test_half_space_derivatives),
                                     cmocka_unit_test(test_half_space_numbers)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
