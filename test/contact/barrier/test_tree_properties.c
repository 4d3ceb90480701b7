// test_tree_properties.c: what is claimed of the barrier between surfaces: smooth, pushes at every distance, does not
// depend on meshes, near the sum over all pairs.
#include "contact/barrier/pair/law.h"
#include "test/contact/barrier/shapes.h"

static const tgReal unturned[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};

// b at rest at the origin, a at `x` turned a little
static void stand(tgtBody *a, tgtBody *b, const double x[3], const double turn[3]) {
  tgReal R[9], zero[3] = {0, 0, 0};
  tgt_rotation(turn, R);
  tgt_body_move(a, x, R);
  tgt_body_move(b, zero, unturned);
}

static double change(const tgiPairSum *a, const tgiPairSum *b) {
  double d = 0;
  for (int k = 0; k < 21; k++) d = fmax(d, fabs(a->H[k] - b->H[k]));
  return d;
}

// how the change of second derivatives across s = 0 shrinks when the step is halved: by 2 when they are continuous, by 1 when they jump
static double halving(bool (*f)(void *ctx, double s, tgiPairSum *sum), void *ctx, double step) {
  double d[2];
  for (int k = 0; k < 2; k++, step /= 2) {
    tgiPairSum lo, hi;
    assert_true(f(ctx, -step, &lo) && f(ctx, step, &hi));
    d[k] = change(&lo, &hi);
  }
  return d[0] / d[1];
}

typedef struct Approach { tgtBody *a, *b; tgiTreeLaw law; tgiTreeWork *w; double x[3], turn[3], dir[3]; } Approach;
static bool approach(void *ctx, double s, tgiPairSum *sum) {
  Approach *p = ctx;
  int face[2];
  double x[3];
  for (int i = 0; i < 3; i++) x[i] = p->x[i] + s * p->dir[i];
  stand(p->a, p->b, x, p->turn);
  return tgi_tree_pair(&p->a->world, &p->b->world, &p->law, p->w, sum, face, NULL, NULL);
}
static bool sink(void *ctx, double s, tgiPairSum *sum) {
  Approach *p = ctx;
  int face;
  tgReal n[3] = {0, 0, 1}, x[3] = {0, 0, p->x[2] + s}, R[9];
  tgt_rotation(p->turn, R);
  tgt_body_move(p->a, x, R);
  return tgt_half_space(&p->a->plane, n, p->a->plane.origin[2], &p->law, sum, &face);
}

// a root pair through both ends of its blend; a body over a plane likewise
static void test_smooth(void **state) {
  (void)state;
  for (int form = 0; form < 2; form++)
    for (int sa = 0; sa < TGT_PLATE; sa++) {
      tgtBody a, b;
      tgiTreeForm f = form ? TGI_TREE_PAPER : TGI_TREE_MOMENT;
      tgt_shape(&a, sa, f);
      tgt_shape(&b, (sa + 1) % TGT_PLATE, f);
      Approach p = {&a, &b, tgt_law(&a, &b, f, 0.5), tgt_tree_work(&a, &b), {0}, {0.1, 0.2, 0.3}, {2.0 / 7, 3.0 / 7, 6.0 / 7}};
      for (int end = 0; end < 2; end++) {
        double d = (tgt_size(&a) + tgt_size(&b)) * (end ? 1.5 : 1), from[3] = {0, 0, 0}, shift[3];
        stand(&a, &b, from, p.turn);
        for (int i = 0; i < 3; i++) shift[i] = a.world.origin[i] - b.world.origin[i];   // of the centres of the roots
        for (int i = 0; i < 3; i++) p.x[i] = d * p.dir[i] - shift[i];
        double ratio = halving(approach, &p, 1e-5 * d);
        check_true(ratio > 1.9 && ratio < 2.1, "%s and %s, end %d: ratio %.3f", tgt_shape_name[sa],
                   tgt_shape_name[(sa + 1) % TGT_PLATE], end, ratio);
        stand(&a, &b, from, p.turn);
        p.x[2] = a.plane.node[TGI_NODE_R] * (end ? 1.5 : 1) - a.plane.origin[2];
        ratio = halving(sink, &p, 1e-5 * p.x[2]);
        check_true(ratio > 1.9 && ratio < 2.1, "%s over a plane, end %d: ratio %.3f", tgt_shape_name[sa], end, ratio);
      }
      free(p.w);
      tgt_body_free(&a);
      tgt_body_free(&b);
    }
}

// a ball beside the middle of a large triangle: one-sided, through both ends of its root's blend
static void test_one_sided_smooth(void **state) {
  (void)state;
  tgtBody a, b;
  tgt_shape(&a, TGT_BALL, TGI_TREE_MOMENT);
  tgt_shape(&b, TGT_PLATE, TGI_TREE_MOMENT);
  Approach p = {&a, &b, tgt_law(&a, &b, TGI_TREE_MOMENT, 0.5), tgt_tree_work(&a, &b), {0.5, 0.3, 0}, {0.1, 0.2, 0.3}, {0, 0, 1}};
  assert_true(p.law.one_sided[0] && !p.law.one_sided[1]);
  for (int end = 0; end < 2; end++) {
    // the height at which 12/S* of the centre and some triangle of the top is at the end
    double lo = 0.101, hi = 1;
    for (int k = 0; k < 100; k++) {
      double z = (lo + hi) / 2, from[3] = {p.x[0], p.x[1], z}, most = 0;
      stand(&a, &b, from, p.turn);
      for (int f = 0; f < b.surface.nface; f++) {
        tgReal x[18];
        tgiPair q;
        for (int i = 0; i < 9; i++) {
          x[i] = a.world.origin[i % 3];
          x[9 + i] = b.world.vert[3 * b.surface.face[3 * f + i / 3] + i % 3] + b.world.origin[i % 3];
        }
        if (tgi_pair_solve(x, NULL, false, &q)) most = fmax(most, q.S);
      }
      if (12 / most < TGI_ONE_SIDED * a.nominal[0] * (end ? 1.5 : 1)) lo = z;
      else hi = z;
    }
    p.x[2] = lo;
    double ratio = halving(approach, &p, 1e-6);
    check_true(ratio > 1.9 && ratio < 2.1, "end %d: ratio %.3f", end, ratio);
  }
  free(p.w);
  tgt_body_free(&a);
  tgt_body_free(&b);
}

// convex bodies push each other apart at every distance, and a plane pushes
static void test_pushes(void **state) {
  (void)state;
  for (int form = 0; form < 2; form++)
    for (int k = 0; k < 2; k++) {
      tgtBody a, b;
      tgiTreeForm f = form ? TGI_TREE_PAPER : TGI_TREE_MOMENT;
      tgt_shape(&a, TGT_BALL, f);
      tgt_shape(&b, k ? TGT_PLATE : TGT_BALL, f);
      Approach p = {&a, &b, tgt_law(&a, &b, f, 0.5), tgt_tree_work(&a, &b), {0, 0, k ? 0.2 : 0.2}, {0}, {0, 0, 1}};
      for (double e = -6; e <= 4; e += 0.01) {
        tgiPairSum s;
        check_true(approach(&p, pow(10, e), &s) && s.g[5] < 0, "gap 1e%.2f: force %.3g", e, -s.g[5]);
        p.x[2] = 0.1;
        check_true(sink(&p, pow(10, e), &s) && s.g[5] < 0, "over a plane, gap 1e%.2f: force %.3g", e, -s.g[5]);
        p.x[2] = 0.2;
      }
      free(p.w);
      tgt_body_free(&a);
      tgt_body_free(&b);
    }
}

// gap at which a plank carries the force, over another (b) or a plane (b NULL)
static double carried(tgtBody *a, tgtBody *b, const tgiTreeLaw *law, double force, tgiTreeWork *w) {
  double lo = 1e-6, hi = 1;
  for (int k = 0; k < 60; k++) {
    double gap = sqrt(lo * hi), x[3] = {0, 0, b != NULL ? 0.2 + gap : 0.1 + gap}, turn[3] = {0, 0, 0};
    tgiPairSum s;
    tgReal n[3] = {0, 0, 1};
    int face[2];
    stand(a, b != NULL ? b : a, x, turn);
    if (b == NULL) {
      tgt_body_move(a, x, unturned);
      assert_true(tgt_half_space(&a->plane, n, a->plane.origin[2], law, &s, face));
    } else {
      assert_true(tgi_tree_pair(&a->world, &b->world, law, w, &s, face, NULL, NULL));
    }
    if (-s.g[5] > force) lo = gap;
    else hi = gap;
  }
  return lo;
}

// planks of 2 x 0.4 x 0.2 m, 0.16 kg, mu 1e-7: the gap does not depend on the mesh in the moment form; in the
// publication's it grows with it
static void test_mesh_independent(void **state) {
  (void)state;
  double force = 1.57 / 1e-7, least[3] = {1, 1, 1}, most[3] = {0, 0, 0};
  for (int n = 1; n <= 8; n *= 2)
    for (int form = 0; form < 3; form++) {
      tgiTreeForm f = form == 2 ? TGI_TREE_PAPER : TGI_TREE_MOMENT;
      tgtBody a, b;
      tgt_body_grid(&a, 1, 0.2, 0.1, n, f);
      tgt_body_grid(&b, 1, 0.2, 0.1, n, f);
      tgiTreeWork *w = tgt_tree_work(&a, &b);
      tgiTreeLaw law = tgt_law(&a, &b, f, 0.5);
      double gap = carried(&a, form == 1 ? NULL : &b, &law, force, w);
      least[form] = fmin(least[form], gap);
      most[form] = fmax(most[form], gap);
      free(w);
      tgt_body_free(&a);
      tgt_body_free(&b);
    }
  print_message("gaps: plank on plank %.3g to %.3g, on a plane %.3g to %.3g, publication's form %.3g to %.3g\n",
                least[0], most[0], least[1], most[1], least[2], most[2]);
  check_true(most[0] < 1.5 * least[0], "plank on plank: %.3g to %.3g", least[0], most[0]);
  check_true(most[1] < 1.5 * least[1], "plank on a plane: %.3g to %.3g", least[1], most[1]);
  check_true(most[2] > 5 * least[2], "publication's form: %.3g to %.3g", least[2], most[2]);
}

// worst of energy and force of the moment form against the sum over all pairs, from `from` times the sum of the radii on
static void against_brute(tgtBody *a, tgtBody *b, double from, double worst[2]) {
  Approach p = {a, b, tgt_law(a, b, TGI_TREE_MOMENT, 0.5), tgt_tree_work(a, b), {0}, {0.3, 0.2, 0.1}, {2.0 / 7, 3.0 / 7, 6.0 / 7}};
  worst[0] = worst[1] = 0;
  for (double d = from; d < 20; d *= 1.3) {
    tgiPairSum s[2];
    double r = d * (tgt_size(a) + tgt_size(b)), miss = 0, size = 0;
    p.law.brute = false;
    if (!approach(&p, r, &s[0])) continue;
    p.law.brute = true;
    assert_true(approach(&p, r, &s[1]));
    for (int i = 3; i < 6; i++) {
      miss += pow(s[0].g[i] - s[1].g[i], 2);
      size += pow(s[1].g[i], 2);
    }
    worst[0] = fmax(worst[0], fabs(s[0].P / s[1].P - 1));
    worst[1] = fmax(worst[1], sqrt(miss / size));
  }
  free(p.w);
}

static void test_near_brute(void **state) {
  (void)state;
  double worst[2], most[2] = {0, 0};
  tgtBody a, b;
  tgt_body_primitive(&a, TG_GEOM_SPHERE, 0.1, 0, 0, 0.02, TGI_TREE_MOMENT);
  tgt_body_primitive(&b, TG_GEOM_SPHERE, 0.1, 0, 0, 0.02, TGI_TREE_MOMENT);
  against_brute(&a, &b, 1.1, worst);   // a gap of a fifth of the radius
  print_message("against all pairs: balls %.3g of the energy, %.3g of the force", worst[0], worst[1]);
  check_true(worst[0] < 0.1 && worst[1] < 0.22, "balls: energy %.3g, force %.3g", worst[0], worst[1]);
  tgt_body_free(&a);
  tgt_body_free(&b);
  for (int sa = 0; sa < TGT_PLATE; sa++)
    for (int sb = sa; sb < TGT_PLATE; sb++) {
      tgt_shape(&a, sa, TGI_TREE_MOMENT);
      tgt_shape(&b, sb, TGI_TREE_MOMENT);
      against_brute(&a, &b, 0.9, worst);
      most[0] = fmax(most[0], worst[0]);
      most[1] = fmax(most[1], worst[1]);
      tgt_body_free(&a);
      tgt_body_free(&b);
    }
  print_message(", all shapes %.3g, %.3g\n", most[0], most[1]);
  check_true(most[0] < 0.2 && most[1] < 0.6, "energy %.3g, force %.3g", most[0], most[1]);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_smooth), cmocka_unit_test(test_one_sided_smooth),
                                     cmocka_unit_test(test_pushes), cmocka_unit_test(test_mesh_independent),
                                     cmocka_unit_test(test_near_brute)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
