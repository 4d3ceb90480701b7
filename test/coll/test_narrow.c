// test_narrow.c: every ordered pair of shapes: derivatives, swap, equivariance, gaps by brute force; what cannot collide says so.
#include "coll/coll_brute.h"
#include "coll/coll_deriv.h"
#include "coll/features/feature.h"

#ifdef TG_COMPLEX
enum { POSES = 300, CURVED_POSES = 150 };
#else
enum { POSES = 300, CURVED_POSES = 60 };             // Ridders' method takes fourteen evaluations a column
#endif
static int poses(int ka, int kb) { return tgt_cases(ka < 5 && kb < 5 ? POSES : CURVED_POSES, 30); }

#ifdef TG_COMPLEX
// the derivatives in the vertices of a mesh (side 0: A), through the parts that a point names; of large meshes those vertices alone
static void vertex_error(const tgtShape *a, const tgtShape *b, int side, const int32_t *memory, double margin, int count,
                                    const tgContactPoint *c, double *worst) {
  enum { MOST = 400, FEW = 20 };
  static tgReal g[TG_PAIR_POINTS][7][3 * MOST], vert[3 * MOST], plane[8 * MOST];
  static tgtScaled room;
  const tgtShape *s = side == 0 ? a : b;
  if (s->type != TG_GEOM_MESH) return;
  const tgHull *h = s->hull;
  tgShape S = tgt_shape(s, &room);
  bool touched[MOST] = {false};
  memset(g, 0, sizeof g);
  for (int j = 0; j < count; j++)
    for (int r = 0; r < 7; r++)
      for (int face = 0; face < 2; face++) {
        const tgReal *D = c[j].Dp[r] + 12 * side + 6 * face;
        tgi_hull_part_vjp(&S, face == 1, c[j].part[2 * side + face], D, D + 3, g[j][r]);
      }
  for (int v = 0; v < h->nvert; v++)
    for (int k = 0; k < 3 * 7 * count; k++) touched[v] = touched[v] || g[k / 21][k / 3 % 7][3 * v + k % 3] != 0;
  for (int v = 0; v < h->nvert; v++)
    for (int axis = 0; axis < 3; axis++) {
      if (!touched[v] && h->nvert > FEW) continue;
      tgContactPoint d[TG_PAIR_POINTS];
      tgtShape moved = *s;
      tgHull hull;
      tgHullFault fault;
      int32_t mem[TG_PAIR_MEMORY];
      memcpy(mem, memory, sizeof mem);
      memcpy(vert, h->vert, 3 * (size_t)h->nvert * sizeof *vert);
      vert[3 * v + axis] += CMPLX(0, 1e-30);
      assert_true(tgi_hull_move(h, vert, plane, &hull, &fault));
      moved.hull = &hull;
      assert_int_equal(tgt_collide(side == 0 ? &moved : a, side == 0 ? b : &moved, margin, TG_COLLIDE_POINTS, mem, d, NULL), count);
      for (int j = 0; j < count; j++) {
        tgReal y[7];
        tgt_seven(y, &d[j]);
        for (int i = 0; i < 7; i++) *worst = fmax(*worst, fabs(tgIm(y[i]) / 1e-30 - tgRe(g[j][i][3 * v + axis])) / tgt_largest(&c[j]));
      }
    }
}
#endif

// D against the independent derivative, over both near and deep poses of all ordered pairs
static void derivatives(void **state) {
  (void)state;
  tgtRandom r = {11};
  for (int ka = 0; ka < TGT_KINDS; ka++)
    for (int kb = 0; kb < TGT_KINDS; kb++) {
      int touching = 0, aside = 0;
      double worst = 0;
      if (ka == 0 && kb == 0) continue;
      for (int trial = 0; trial < poses(ka, kb); trial++) {
        tgtShape a, b;
        tgContactPoint c[TG_PAIR_POINTS];
        int32_t memory[TG_PAIR_MEMORY] = {0};
        tgt_make_shape(&a, ka, &r);
        tgt_make_shape(&b, kb, &r);
        tgt_place_pair(&a, &b, &r, trial % 2 == 0);
        tgt_collide(&a, &b, 0.05, TG_COLLIDE_POINTS, memory, c, NULL);  // sets the memory, which then stays
        int32_t frozen[TG_PAIR_MEMORY];
        memcpy(frozen, memory, sizeof frozen);
        int count = tgt_collide(&a, &b, 0.05, TG_COLLIDE_VERTEX, memory, c, NULL);
        if (count > 0) touching++;
        double e = 0;
        if (tgt_derivative_error(&a, &b, frozen, 0.05, count, c, &e)) aside++;
        else if (e > worst) worst = e;
#ifdef TG_COMPLEX
        for (int side = 0; side < 2; side++) vertex_error(&a, &b, side, frozen, 0.05, count, c, &e);
        worst = fmax(worst, e);
#endif
        check_true(e <= tgt_derivative_tolerance, "%s-%s pose %d: derivative error %g", tgt_kind_name[ka], tgt_kind_name[kb], trial, e);
      }
      check_true(touching > poses(ka, kb) / 2, "%s-%s: only %d of %d touch", tgt_kind_name[ka], tgt_kind_name[kb], touching, poses(ka, kb));
      check_true(aside <= poses(ka, kb) / 10, "%s-%s: %d set aside", tgt_kind_name[ka], tgt_kind_name[kb], aside);
      print_message("%s-%s: %d touch, %d set aside, worst %.2g\n", tgt_kind_name[ka], tgt_kind_name[kb], touching, aside, worst);
    }
}

// (B, A) gives the points of (A, B) with n turned and the twists swapped
static void swap(void **state) {
  (void)state;
  tgtRandom r = {12};
  for (int ka = 0; ka < TGT_KINDS; ka++)
    for (int kb = 0; kb < TGT_KINDS; kb++)
      for (int trial = 0; trial < poses(ka, kb) / 3; trial++) {
        tgtShape a, b;
        tgContactPoint c[TG_PAIR_POINTS], d[TG_PAIR_POINTS];
        int32_t m1[TG_PAIR_MEMORY] = {0}, m2[TG_PAIR_MEMORY] = {0};
        double dist1, dist2;
        tgt_make_shape(&a, ka, &r);
        tgt_make_shape(&b, kb, &r);
        tgt_place_pair(&a, &b, &r, trial % 2 == 0);
        int n1 = tgt_collide(&a, &b, 0.05, TG_COLLIDE_SIZE, m1, c, &dist1), n2 = tgt_collide(&b, &a, 0.05, TG_COLLIDE_SIZE, m2, d, &dist2);
        assert_int_equal(n1, n2);
        if (dist1 <= 0.05 || dist2 <= 0.05) check_close(dist1, dist2, 1e-12);  // beyond the margin: only a bound
        for (int j = 0; j < n1; j++) {
          check_close(c[j].gap, d[j].gap, 1e-12);
          for (int i = 0; i < 3; i++) {
            check_close(c[j].p[i], d[j].p[i], 1e-11);
            check_close(c[j].n[i], -d[j].n[i], 1e-11);
          }
          for (int i = 0; i < 7; i++)
            for (int k = 0; k < 12; k++) {
              double x = tgRe(c[j].D[i][k]), y = tgRe(d[j].D[i][(k + 6) % 12]) * (i >= 3 && i < 6 ? -1 : 1);
              check_close(x, y, 1e-9 * (1 + fabs(x)));
            }
          for (int i = 0; i < 7; i++)
            for (int k = 12; k < TGT_COLUMNS; k++) {
              double x = tgRe(tgt_derivative(&c[j], i, k));
              double y = tgRe(tgt_derivative(&d[j], i, 12 + (k - 9) % 6)) * (i >= 3 && i < 6 ? -1 : 1);
              check_close(x, y, 1e-9 * (1 + fabs(x)));
            }
        }
      }
}

// the same motion of both bodies moves p and n along and leaves the gap; the normal is a unit vector
static void equivariance(void **state) {
  (void)state;
  tgtRandom r = {13};
  for (int ka = 0; ka < TGT_KINDS; ka++)
    for (int kb = 0; kb < TGT_KINDS; kb++)
      for (int trial = 0; trial < poses(ka, kb) / 3; trial++) {
        tgtShape a, b;
        tgContactPoint c[TG_PAIR_POINTS], d[TG_PAIR_POINTS];
        int32_t m1[TG_PAIR_MEMORY] = {0}, m2[TG_PAIR_MEMORY] = {0};
        tgReal q[4], R[9], t[3], p[3], n[3];
        tgt_make_shape(&a, ka, &r);
        tgt_make_shape(&b, kb, &r);
        tgt_place_pair(&a, &b, &r, trial % 2 == 0);
        int n1 = tgt_collide(&a, &b, 0.05, TG_COLLIDE_POINTS, m1, c, NULL);
        tgt_random_quat(&r, q);
        tgi_quat_to_mat(R, q);
        for (int i = 0; i < 3; i++) t[i] = tgt_uniform(&r, -1, 1);
        tgt_apply(&a, R, t);
        tgt_apply(&b, R, t);
        int n2 = tgt_collide(&a, &b, 0.05, TG_COLLIDE_POINTS, m2, d, NULL);
        assert_int_equal(n1, n2);
        for (int j = 0; j < n1; j++) {
          tgi_m3_mulv(p, R, c[j].p);
          tgi_v3_add(p, p, t);
          tgi_m3_mulv(n, R, c[j].n);
          check_close(c[j].gap, d[j].gap, 1e-12);
          check_close(tgi_v3_norm(d[j].n), 1, 1e-14);
          for (int i = 0; i < 3; i++) {
            check_close(p[i], d[j].p[i], 1e-11);
            check_close(n[i], d[j].n[i], 1e-11);
          }
        }
      }
}

// Against support functions. The plane of the contact's own normal leaves exactly the least gap; no other direction of a
// sweep leaves more (so the depth is the least, and a positive gap the distance); every point lies on or in both bodies;
// nothing that overlaps is missed; a distance is exact, or beyond the margin a lower bound. The slack is the hysteresis.
static void gaps(void **state) {
  (void)state;
  enum { SWEEP = 2000 };
  const double margin = 0.1, slack = 1.01e-4 * 0.6;
  tgtRandom r = {15};
  double dir[SWEEP][3];
  int exact = 0, all = 0;
  for (int k = 0; k < SWEEP; k++) {
    double z = 1 - (2 * k + 1.0) / SWEEP, w = sqrt(1 - z * z), t = 2.399963229728653 * k;
    dir[k][0] = w * cos(t);
    dir[k][1] = w * sin(t);
    dir[k][2] = z;
  }
  for (int ka = 1; ka < TGT_KINDS; ka++)
    for (int kb = 1; kb < TGT_KINDS; kb++)
      for (int trial = 0; trial < 60; trial++) {
        static tgtCore A, B;
        tgtShape a, b;
        tgContactPoint c[TG_PAIR_POINTS];
        int32_t memory[TG_PAIR_MEMORY] = {0};
        double dist, least = INFINITY, n[3] = {0};
        tgt_make_shape(&a, ka, &r);
        tgt_make_shape(&b, kb, &r);
        tgt_place_pair(&a, &b, &r, trial % 2 == 0);
        tgt_core(&A, &a);
        tgt_core(&B, &b);
        int count = tgt_collide(&a, &b, margin, TG_COLLIDE_POINTS, memory, c, &dist);
        double bound = tgt_distance_bound(&A, &B) - A.r - B.r;
        check_true(dist <= bound + 1e-9 || count > 0, "%s-%s: distance %g above %g", tgt_kind_name[ka], tgt_kind_name[kb], dist, bound);
        check_true(count > 0 || bound > margin - 1e-9, "%s-%s %d: missed at %g", tgt_kind_name[ka], tgt_kind_name[kb], trial, bound);
        if (count == 0) continue;
        for (int j = 0; j < count; j++) {
          least = fmin(least, tgRe(c[j].gap));
          bool in_both = false;
          for (int side = 0; side < 3; side++) {       // p on A, half-way, on B
            double pa[3], pb[3], g = tgRe(c[j].gap);
            for (int i = 0; i < 3; i++) {
              pa[i] = tgRe(c[j].p[i]) + 0.5 * side * g * tgRe(c[j].n[i]);
              pb[i] = pa[i] - g * tgRe(c[j].n[i]);
            }
            in_both = in_both || (tgt_outside(&a, pa) < 1e-5 && tgt_outside(&b, pb) < 1e-5);
          }
          // two round bodies: p divides the gap in the ratio of the radii
          if (A.r > 0 && B.r > 0) in_both = true;
          check_true(in_both, "%s-%s %d: point %d is on neither body", tgt_kind_name[ka], tgt_kind_name[kb], trial, j);
        }
        for (int i = 0; i < 3; i++) n[i] = tgRe(c[0].n[i]);
        double own = tgt_separation(&A, &B, n), top = -INFINITY;
        check_close(own, least, slack);
        check_close(dist, least, slack);
        if (fabs(own - least) < 1e-9) exact++;
        all++;
        for (int k = 0; k < SWEEP; k++) top = fmax(top, tgt_separation(&A, &B, dir[k]));
        check_true(top <= own + slack, "%s-%s %d: separation %g, a sweep finds %g", tgt_kind_name[ka], tgt_kind_name[kb], trial, own, top);
        if (least > 0) check_true(bound >= least - slack, "%s-%s: gap %g, distance %g", tgt_kind_name[ka], tgt_kind_name[kb], least, bound);
      }
  check_true(exact >= 0.98 * all, "exact %d of %d", exact, all);
  print_message("gap equals the separation along n to 1e-9 in %d of %d\n", exact, all);
}

// what cannot collide says so
static void no_hull(void **state) {
  (void)state;
  tgtShape a, b;
  tgContactPoint c[TG_PAIR_POINTS];
  tgt_set_box(&a, 1, 1, 1, 0, 0, 0);
  b = a;
  b.type = TG_GEOM_MESH;
  assert_int_equal(tgt_fresh(&a, &b, c), TG_ERR_UNSUPPORTED);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(derivatives), cmocka_unit_test(swap), cmocka_unit_test(equivariance), cmocka_unit_test(gaps),
    cmocka_unit_test(no_hull),
  };
  return cmocka_run_group_tests(tests, tgt_build_meshes, tgt_free_meshes);
}
