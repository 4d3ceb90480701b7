// test_distance.c: the barrier of distances: derivatives at every kind of closest features, what is continuous where they change and what
// jumps, the ends of the barrier and of the mollifier, owners of vertices and edges, and triangles that meet.
#include "contact/barrier/pair/distance.h"

#include <string.h>

#include "contact/barrier/tree/distance_sites.h"
#include "math/vec3.h"
#include "support/deriv.h"
#include "test/contact/barrier/bodies.h"

enum { OUT = 1 + 12 + 1 + 12 + 1 + 4 };   // D, its gradient, P, its gradient, m, weights

typedef struct Site { bool edges; tgiDistanceLaw law; } Site;

static tgStatus map(void *ctx, const tgReal *x, tgReal *y) {
  const Site *site = ctx;
  tgiStencil s;
  assert_true(tgi_stencil(x, site->edges, &site->law, true, &s));
  y[0] = s.features.D;
  tgi_features_derivatives(&s.features, y + 1, NULL);
  y[13] = s.P;
  memcpy(y + 14, s.g, sizeof s.g);
  y[26] = s.m;
  memcpy(y + 27, s.features.weight, sizeof s.features.weight);
  return TG_OK;
}

static void derivatives(const tgReal x[12], const Site *site, tgReal J[OUT * 12]) {
  tgiStencil s;
  tgReal g[12], H[144];
  assert_true(tgi_stencil(x, site->edges, &site->law, true, &s));
  tgi_features_derivatives(&s.features, g, H);
  for (int j = 0; j < 12; j++) {
    tgReal dx[12] = {0}, dweight[4];
    dx[j] = 1;
    tgReal dthreshold = site->edges ? tgi_mollifier_threshold_rate(x, dx) : 0;
    tgi_features_rate(&s.features, dx, dweight);
    J[j] = g[j];
    J[12 * 13 + j] = s.g[j] + s.P_by_threshold * dthreshold;
    J[12 * 26 + j] = s.m_g[j] + s.m_by_threshold * dthreshold;
    for (int i = 0; i < 12; i++) {
      J[12 * (1 + i) + j] = H[12 * i + j];
      J[12 * (14 + i) + j] = s.H[12 * i + j] + s.g_by_threshold[i] * dthreshold;
    }
    for (int i = 0; i < 4; i++) J[12 * (27 + i) + j] = dweight[i];
  }
}

// which features are closest, and whether the mollifier acts
static int kind_of(const tgReal x[12], const Site *site) {
  tgiStencil s;
  assert_true(tgi_stencil(x, site->edges, &(tgiDistanceLaw){.reach = site->law.reach, .everywhere = true}, true, &s));
  int kind = site->edges ? 16 : 0;
  for (int k = 0; k < 4; k++) kind += tgRe(s.features.weight[k]) != 0 ? 1 << k : 0;
  kind = 2 * kind + (tgRe(s.m) < 1);
  return tgRe(s.features.D) >= site->law.reach * site->law.reach ? -1 : kind;
}

// of no other kind within `way`
static bool inside(const tgReal x[12], const Site *site, double way) {
  int kind = kind_of(x, site);
  for (int j = 0; j < 24; j++) {
    tgReal y[12];
    memcpy(y, x, sizeof y);
    y[j / 2] += j % 2 == 0 ? way : -way;
    if (kind_of(y, site) != kind) return false;
  }
  return kind >= 0;
}

static void random_site(tgtRandom *r, bool parallel, tgReal x[12]) {
  for (int k = 0; k < 12; k++) x[k] = tgt_uniform(r, -1, 1);
  for (int i = 0; i < 3 && parallel; i++) x[9 + i] = x[6 + i] + 1.3 * (x[3 + i] - x[i]) + 0.01 * tgt_normal(r);
}

static void test_derivatives(void **state) {
  (void)state;
#ifdef TG_COMPLEX
  const double tolerance = 1e-12, way = 1e-6;
#else
  const double tolerance = 1e-6, way = 1e-3;
#endif
  tgtRandom r = {3};
  bool seen[64] = {false};
  const int rows[] = {1, 12, 1, 12, 1, 4};
  int kinds = 0, checked = 0;
  for (int trial = 0; trial < 3000; trial++) {
    Site site = {.edges = trial % 2 == 1, .law = {.reach = 1.5}};
    tgReal x[12], J[OUT * 12];
    random_site(&r, trial % 4 == 3, x);
    if (!inside(x, &site, way)) continue;
    site.law.everywhere = trial % 5 == 0;
    derivatives(x, &site, J);
    tgtDeriv d = {.name = "stencil", .nx = 12, .ny = OUT, .map = map, .ctx = &site, .tol = tolerance, .step = way / 4,
                  .rows = rows, .nrows = 6};
    tgt_check_jacobian(&d, x, J);
    int kind = kind_of(x, &site);
    kinds += !seen[kind];
    seen[kind] = true;
    checked++;
  }
  check_true(checked > 500, "%d sites", checked);
  check_true(kinds >= 7 + 9 + 4, "%d kinds", kinds);   // of a point, of two edges; and mollified ones
}

// the publication's example: a point on the line (x, 1) before the edge from (1, 0) to (2, 0). d' goes on at x = 1, d'' jumps from 1 to 0
static void test_jump(void **state) {
  (void)state;
  const tgiDistanceLaw law = {.reach = 2};
  double first[2], second[2];
  for (int side = 0; side < 2; side++) {
    const tgReal x[12] = {side == 0 ? 1 - 1e-9 : 1 + 1e-9, 1, 0, 1, 0, 0, 2, 0, 0, 1.5, -1, 0};
    tgiStencil s;
    tgReal g[12], H[144];
    assert_true(tgi_stencil(x, false, &law, true, &s));
    tgi_features_derivatives(&s.features, g, H);
    double d = sqrt(tgRe(s.features.D));
    first[side] = tgRe(g[0]) / (2 * d);
    second[side] = tgRe(H[0]) / (2 * d) - first[side] * first[side] / d;
  }
  check_close(first[0], first[1], 1e-8);
  check_close(second[0], 1, 1e-8);
  check_close(second[1], 0, 1e-8);
}

static bool ties(const tgReal x[12], bool edges) {
  tgiStencil s;
  assert_true(tgi_stencil(x, edges, &(tgiDistanceLaw){.reach = 3}, true, &s));
  return tgi_stencil_tie(x, edges, &s.features);
}

// where other features are as close, to 1e-9, and nowhere else
static void test_ties(void **state) {
  (void)state;
  for (int k = 0; k < 3; k++) {
    const double off = k == 0 ? 0 : k == 1 ? 1e-12 : -1e-6;
    assert_true(ties((const tgReal[12]){0.3, off, 1, 0, 0, 0, 1, 0, 0, 0, 1, 0}, false) == (k < 2));   // between face and edge
    assert_true(ties((const tgReal[12]){off, -1, 1, 0, 0, 0, 1, 0, 0, 0, 1, 0}, false) == (k < 2));    // between edge and vertex
    // the end of an edge over another; edges that cross the corner of both; parallel ones have no say
    assert_true(ties((const tgReal[12]){off, 0, 1, 1, 0, 1, 0, -1, 0, 0, 1, 0}, true) == (k < 2));
    assert_true(ties((const tgReal[12]){off, off, 1, 1, off, 1, 0, 0, 0, 0, 1, 0}, true) == (k < 2));
    assert_false(ties((const tgReal[12]){off, 0, 1, 1, 0, 1, 0, 0, 0, 1, 0, 0}, true));
  }
  assert_false(ties((const tgReal[12]){0.2, 0.2, 1, 0, 0, 0, 1, 0, 0, 0, 1, 0}, false));
  double turn = sqrt(1e-3) / sqrt(1 - 1e-3);   // the tangent of the angle from which on nothing is taken away
  assert_true(ties((const tgReal[12]){-1, 0, 1, 1, 0, 1, -1, -turn, 0, 1, turn, 0}, true));
  assert_false(ties((const tgReal[12]){-1, 0, 1, 1, 0, 1, -1, -1.01 * turn, 0, 1, 1.01 * turn, 0}, true));
}

// two derivatives of the barrier go to 0 at its end; the mollifier's first does
static void test_ends(void **state) {
  (void)state;
  const tgiDistanceLaw law = {.reach = 0.1};
  tgReal b[3];
  tgi_distance_barrier(0.01 * (1 - 1e-7), &law, b);
  assert_true(fabs(tgRe(b[0])) < 1e-19 && fabs(tgRe(b[1])) < 1e-10 && fabs(tgRe(b[2])) < 1e-1);   // 6 e/D0^2: 6e-3
  tgi_distance_barrier(law.reach * law.reach, &law, b);
  assert_true(tgZero(b[0]) && tgZero(b[1]) && tgZero(b[2]));
  tgiMollifier m = tgi_mollifier(1 - 1e-8, 1);
  assert_true(fabs(tgRe(m.m) - 1) < 1e-15 && fabs(tgRe(m.m1)) < 1e-7 && tgRe(m.m2) == -2);
  m = tgi_mollifier(0, 1);
  assert_true(tgZero(m.m) && tgRe(m.m1) == 2);
}

// parallel edges, and triangles and edges without size, have the distance that they have
static void test_degenerate(void **state) {
  (void)state;
  tgiFeatures c;
  tgi_distance_of_edges((const tgReal[12]){0, 0, 0, 1, 0, 0, 0.2, 0, 0.5, 2, 0, 0.5}, &c);
  check_close(c.D, 0.25, 1e-15);
  tgi_distance_of_edges((const tgReal[12]){0, 0, 0, 0, 0, 0, 1, 0, 0, 1, 0, 0}, &c);
  check_close(c.D, 1, 1e-15);
  tgi_distance_of_point((const tgReal[12]){0.5, 2, 0, 0, 0, 0, 1, 0, 0, 0.5, 0, 0}, &c);
  check_close(c.D, 4, 1e-15);
  tgi_distance_of_point((const tgReal[12]){3, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}, &c);
  check_close(c.D, 25, 1e-13);
}

static void test_owners(void **state) {
  (void)state;
  tgtBody b;
  tgt_body_torus(&b, 1, 0.3, 12, 7, TGI_TREE_PAPER);
  unsigned char owned[2 * 12 * 7];
  assert_int_equal(b.surface.nface, (int)sizeof owned);
  assert_int_equal(tgi_distance_owners(&b.surface, &b.surface.alloc, owned), TG_OK);
  int verts[12 * 7] = {0}, edges = 0;
  for (int f = 0; f < b.surface.nface; f++)
    for (int k = 0; k < 3; k++) {
      verts[b.surface.face[3 * f + k]] += owned[f] >> k & TGI_OWN_VERTEX;
      edges += (owned[f] >> k & TGI_OWN_EDGE) != 0;
    }
  for (int v = 0; v < b.surface.nvert; v++) assert_int_equal(verts[v], 1);
  assert_int_equal(edges, 3 * b.surface.nface / 2);
  tgt_body_free(&b);
  // two faces with all that is theirs: nine pairs of edges, six of points and triangles, each once
  tgiDistanceSite site[TGI_MOST_SITES];
  assert_int_equal(tgi_distance_sites(0x3f, 0x3f, site), TGI_MOST_SITES);
  assert_int_equal(tgi_distance_sites(0x3f, 0, site), 3);
  assert_int_equal(tgi_distance_sites(TGI_OWN_EDGE, TGI_OWN_EDGE << 2, site), 1);
  assert_true(site[0].edges && site[0].point[0] == 0 && site[0].point[1] == 1 && site[0].point[2] == 5 && site[0].point[3] == 3);
}

static void test_meeting(void **state) {
  (void)state;
  tgReal x[18] = {0, 0, 0, 1, 0, 0, 0, 1, 0, 0.2, 0.2, -1, 0.2, 0.2, 1, 0.2, 5, 0};
  assert_true(tgi_triangles_meet(x));
  for (int k = 0; k < 3; k++) x[9 + 3 * k] += 1;
  assert_false(tgi_triangles_meet(x));
  for (int k = 0; k < 3; k++) x[9 + 3 * k] -= 1.2;   // an edge on an edge
  assert_true(tgi_triangles_meet(x));
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_derivatives), cmocka_unit_test(test_jump), cmocka_unit_test(test_ties),
                                     cmocka_unit_test(test_ends),
                                     cmocka_unit_test(test_degenerate), cmocka_unit_test(test_owners), cmocka_unit_test(test_meeting)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
