// test_gjk.c: nearest vertices of large polytopes against every separating axis and every pair of edges; incident faces against all faces.
#include "coll/coll_support.h"
#include "coll/features/clip.h"
#include "coll/features/gjk.h"
#include "support/tessellate.h"

static void pair(tgiPair *P, tgShape *A, tgShape *B, const tgtShape *a, const tgtShape *b) {
  static tgtScaled room[2];
  *A = tgt_shape(a, &room[0]);
  *B = tgt_shape(b, &room[1]);
  *P = (tgiPair){.A = A, .B = B};
}

// deep: the depth is minus the best of all axes; apart: the distance is that of the nearest edges or of a face
static void against_all_axes(void **state) {
  (void)state;
  tgtRandom r = {31};
  tgHullOwned *hull[3];
  tgError why;
  double x[3 * 80];
  int unsure = 0, deep = 0, apart = 0;
  for (int i = 0; i < 3 * 80; i++) x[i] = tgt_normal(&r) * 0.3;
  double semi[3] = {0.4, 0.3, 0.2};
  assert_int_equal(tgi_hull_from_points(x, 80, NULL, &hull[0], &why), TG_OK);
  assert_int_equal(tgt_hull_cylinder(0.3, 0.2, 24, NULL, &hull[1]), TG_OK);
  assert_int_equal(tgt_hull_ellipsoid(semi, 6, 12, NULL, &hull[2]), TG_OK);
  for (int trial = 0; trial < 400; trial++) {
    tgtShape a = {.type = TG_GEOM_MESH, .size = {1, 1, 1}, .hull = &hull[trial % 3]->hull};
    tgtShape b = {.type = TG_GEOM_MESH, .size = {1, 1, 1}, .hull = &hull[trial / 3 % 3]->hull};
    tgShape A, B;
    tgiPair P;
    tgiConvex X, Y;
    tgiPart all = {.edge = NULL};
    const double n[3] = {0, 0, 1};
    int ex, ey;
    tgt_random_pose(&r, &a, trial % 2 ? 0.1 : 0.9);
    tgt_random_pose(&r, &b, trial % 2 ? 0.1 : 0.9);
    pair(&P, &A, &B, &a, &b);
    tgi_convex_pair(&P, &X, &Y);
    tgiNearest R = tgi_nearest(&X, &Y, n, INFINITY);
    tgiAxis fx = tgi_best_face(&X, &all, &Y, INFINITY), fy = tgi_best_face(&Y, &all, &X, INFINITY);
    tgiAxis e = tgi_best_edges(&X, &all, &Y, &all, INFINITY);
    double best = fmax(fmax(fx.s, fy.s), e.s);
    if (R.kind == TGI_NEAREST_UNSURE) {
      unsure++;
    } else if (best <= 0) {
      check_close(R.s, best, 1e-9);
      deep++;
    } else {
      tgiClosest c = tgi_closest_edges(&X, &all, &Y, &all, 1e-12, &ex, &ey);
      check_true(fabs(R.s - c.distance) < 1e-9 || fabs(R.s - best) < 1e-9, "distance %.12g, edges %.12g, axes %.12g", R.s,
                 c.distance, best);
      check_true(best <= R.s + 1e-9 && R.s <= c.distance + 1e-9, "out of bounds");
      tgiNearest S = tgi_nearest(&X, &Y, n, 0.5 * R.s);   // stops at a bound that holds
      check_true(S.kind == TGI_NEAREST_BEYOND && S.s <= R.s + 1e-12 && S.s > 0.5 * R.s, "bound %g of %g", S.s, R.s);
      apart++;
    }
  }
  print_message("%d deep, %d apart, %d unsure\n", deep, apart, unsure);
  check_true(unsure <= 4 && deep > 100 && apart > 100, "%d deep, %d apart, %d unsure", deep, apart, unsure);
  for (int k = 0; k < 3; k++) tgi_hull_free(hull[k]);
}

static bool has_corner(const tgHull *h, int f, int v) {
  for (int k = h->face_adr[f]; k < h->face_adr[f + 1]; k++)
    if (h->face_vert[k] == v) return true;
  return false;
}

// The incident face is, of all that have the vertex lowest along the other's normal, the one that looks most against it; a tie is where
// another does so as much. Of few edges and of many, at tips where many faces meet, in poses by chance and along the axes.
static void incident_faces(void **state) {
  (void)state;
  tgtRandom r = {77};
  tgHullOwned *hull[4];
  tgError why;
  double x[3 * 60], semi[3] = {0.4, 0.3, 0.2};
  int ties = 0;
  for (int i = 0; i < 3 * 60; i++) x[i] = tgt_normal(&r) * 0.3;
  assert_int_equal(tgi_hull_from_points(x, 60, NULL, &hull[0], &why), TG_OK);
  assert_int_equal(tgt_hull_cylinder(0.3, 0.2, 24, NULL, &hull[1]), TG_OK);
  assert_int_equal(tgt_hull_ellipsoid(semi, 6, 12, NULL, &hull[2]), TG_OK);
  assert_int_equal(tgt_hull_cylinder(0.2, 0.2, 4, NULL, &hull[3]), TG_OK);
  for (int trial = 0; trial < 800; trial++) {
    tgtShape a = {.type = TG_GEOM_MESH, .size = {1, 1, 1}, .hull = &hull[trial / 2 % 4]->hull}, b = a;
    tgShape A, B;
    tgiPair P;
    tgiConvex X, Y;
    double n[3], m[3], best = INFINITY, second = INFINITY;
    int v, face = -1;
    bool tie;
    b.hull = &hull[trial % 2 == 0 ? 3 : 1]->hull;
    tgi_m3_identity(a.mat);
    tgi_m3_identity(b.mat);
    if (trial / 8 % 4 != 0) tgt_random_pose(&r, &a, 0.5);
    pair(&P, &A, &B, &a, &b);
    tgi_convex_pair(&P, &X, &Y);
    int f = trial / 32 % Y.nface, found = tgi_incident_face(&Y, f, &X, -1, 0, &tie);
    tgi_convex_face(&Y, f, n);
    tgi_convex_support(&X, n, &v);
    for (int g = 0; g < X.nface; g++) {
      if (!has_corner(X.h, g, v)) continue;
      tgi_convex_face(&X, g, m);
      double c = tgi_d3_dot(m, n);
      if (c < best) {
        second = best;
        best = c;
        face = g;
      } else if (c < second) {
        second = c;
      }
    }
    tgi_convex_face(&X, found, m);
    check_true(has_corner(X.h, found, v) && tgi_d3_dot(m, n) == best,
               "trial %d: face %d, %d looks more against it", trial, found, face);
    check_true(tie == (second - best < TGI_TIE), "trial %d: tie %d by %g", trial, tie, second - best);
    ties += tie;
  }
  check_true(ties > 10 && ties < 400, "%d ties", ties);
  for (int k = 0; k < 4; k++) tgi_hull_free(hull[k]);
}

// Deep in each other, with caps of many corners in one plane, in whose faces rounding decides which a new point sees: depths are found all
// the same, and are the best of all axes.
static void flat_caps(void **state) {
  (void)state;
  tgtRandom r = {32};
  tgHullOwned *hull;
  int unsure = 0, deep = 0;
  assert_int_equal(tgt_hull_cylinder(0.3, 0.2, 60, NULL, &hull), TG_OK);
  for (int trial = 0; trial < 150; trial++) {
    tgtShape a = {.type = TG_GEOM_MESH, .size = {1, 1, 1}, .hull = &hull->hull}, b = a;
    tgShape A, B;
    tgiPair P;
    tgiConvex X, Y;
    tgiPart all = {.edge = NULL};
    const double n[3] = {0, 0, 1};
    tgt_random_pose(&r, &a, 0.05);
    tgt_random_pose(&r, &b, 0.05);
    pair(&P, &A, &B, &a, &b);
    tgi_convex_pair(&P, &X, &Y);
    tgiNearest R = tgi_nearest(&X, &Y, n, INFINITY);
    unsure += R.kind == TGI_NEAREST_UNSURE;
    if (R.kind != TGI_NEAREST_FOUND || R.s > 0) continue;
    tgiAxis fx = tgi_best_face(&X, &all, &Y, INFINITY), fy = tgi_best_face(&Y, &all, &X, INFINITY);
    check_close(R.s, fmax(fmax(fx.s, fy.s), tgi_best_edges(&X, &all, &Y, &all, INFINITY).s), 1e-9);
    deep++;
  }
  print_message("%d deep, %d unsure\n", deep, unsure);
  check_true(deep > 140, "%d deep, %d unsure", deep, unsure);
  tgi_hull_free(hull);
}

// exactly touching, exactly concentric, a polytope against itself: an answer that agrees with the axes, or unsure
static void degenerate(void **state) {
  (void)state;
  tgHullOwned *hull;
  assert_int_equal(tgt_hull_cylinder(0.5, 0.5, 32, NULL, &hull), TG_OK);
  for (int k = 0; k < 6; k++) {
    static const double at[6][3] = {{0, 0, 0}, {0, 0, 1}, {0, 0, 0.5}, {0.5, 0, 0}, {1, 0, 0}, {0.3, 0.4, 1}};
    tgtShape a = {.type = TG_GEOM_MESH, .size = {1, 1, 1}, .hull = &hull->hull}, b = a;
    tgShape A, B;
    tgiPair P;
    tgiConvex X, Y;
    tgiPart all = {.edge = NULL};
    const double n[3] = {1, 0, 0};
    tgi_m3_identity(a.mat);
    tgi_m3_identity(b.mat);
    for (int i = 0; i < 3; i++) a.pos[i] = at[k][i];
    pair(&P, &A, &B, &a, &b);
    tgi_convex_pair(&P, &X, &Y);
    tgiNearest R = tgi_nearest(&X, &Y, n, INFINITY);
    double best = fmax(tgi_best_face(&X, &all, &Y, INFINITY).s, tgi_best_face(&Y, &all, &X, INFINITY).s);
    if (R.kind != TGI_NEAREST_UNSURE) check_close(R.s, best, 1e-9);
  }
  tgi_hull_free(hull);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(against_all_axes), cmocka_unit_test(incident_faces),
                                     cmocka_unit_test(flat_caps), cmocka_unit_test(degenerate)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
