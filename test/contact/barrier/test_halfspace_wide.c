// test_halfspace_wide.c: the sum over a surface and a plane in every width that the machine has against the same node by node.
#include "math/isa.h"
#include "test/contact/barrier/height_nodes.h"
#include "test/contact/barrier/shapes.h"

enum { TORUS_18 = TGT_SHAPES, TORUS_2000, BODIES, NODES = -1 };   // NODES: in place of an instruction set, node by node

static void make(tgtBody *b, int which, tgiTreeForm form) {
  if (which == TORUS_18) tgt_body_torus(b, 0.3, 0.1, 3, 3, form);
  else if (which == TORUS_2000) tgt_body_torus(b, 0.2, 0.06, 40, 25, form);
  else tgt_shape(b, which, form);
}

typedef struct Pose { tgReal n[3], height; double gap, extent; } Pose;

static void turn(tgtRandom *r, tgReal R[9]) {
  double w[3];
  for (int i = 0; i < 3; i++) w[i] = tgt_normal(r);
  tgt_rotation(w, R);
}

// the body turned at random over a plane of a random normal, its lowest corner `gap` above it; every fifth stands flat
static void place(tgtRandom *r, tgtBody *b, int k, double gap, Pose *p) {
  tgReal x[3], R[9], turned[9];
  double low = INFINITY;
  turn(r, turned);
  tgi_m3_col(p->n, turned, 2);
  if (k % 5 == 0) tgi_m3_copy(R, turned);
  else turn(r, R);
  for (int i = 0; i < 3; i++) x[i] = tgt_normal(r);
  tgt_body_move(b, x, R);
  p->gap = gap;
  p->extent = 0;
  for (int i = 0; i < b->surface.nvert; i++) {
    const tgReal *v = b->plane.vert + 3 * i;
    low = fmin(low, tgi_v3_dot(p->n, v));
    p->extent = fmax(p->extent, tgi_v3_norm(v));
  }
  p->height = gap - low + b->plane.round;
}

typedef struct Result { tgiPairSum sum; int intersecting; tgiClearance clear; tgiTreeCount count; bool separated; } Result;

static Result sum_scattering(int isa, const tgiWorldTree *A, const Pose *p, const tgiTreeLaw *law, const tgiForceScatter *scatter) {
  Result r;
  memset(&r, 0, sizeof r);   // padding too, for memcmp
  void *memory = malloc(tgi_height_work_bytes(A->surface->nface));
  tgiHalfSpace t = {.A = A, .n = p->n, .height = p->height, .law = law,
                    .work = tgi_height_work_place(memory, A->surface->nface), .scatter = scatter};
  if (isa == NODES) r.separated = tgt_height_nodes(&t, &r.sum, &r.intersecting, &r.clear, &r.count);
  else r.separated = tgi_half_space_on(isa, &t, &r.sum, &r.intersecting, &r.clear, &r.count);
  free(memory);
  return r;
}
static Result sum_on(int isa, const tgiWorldTree *A, const Pose *p, const tgiTreeLaw *law) { return sum_scattering(isa, A, p, law, NULL); }

static void near(const char *what, const char *isa, const Pose *p, const tgReal *x, const tgReal *y, int n, double tol) {
  for (int i = 0; i < n; i++)
    check_true(fabs(x[i] - y[i]) <= tol,
               "%s, %s, gap %g: entry %d is %.17g, node by node %.17g, %.2g of what is allowed", what, isa, p->gap, i,
               x[i], y[i], fabs(x[i] - y[i]) / tol);
}

static double largest(const tgReal *a, int n) {
  double m = 0;
  for (int k = 0; k < n; k++) m = fmax(m, fabs(a[k]));
  return m;
}

// To rounding of the sums, and what rounding of a height makes of it at this gap. Blocks of the derivatives have units,
// so each has its own scale.
static void compare(const char *isa, const Pose *p, const Result *wide, const Result *plain) {
  const tgiPairSum *a = &wide->sum, *b = &plain->sum;
  double tol = 1e-13 + 1e-15 * p->extent / p->gap, force = largest(b->g + 3, 3), ww[2][6], wv[2][9], vv[2][6];
  for (int s = 0; s < 2; s++)
    for (int i = 0, u = 0, m = 0; i < 3; i++) {
      const tgReal *H = s ? b->H : a->H;
      for (int j = 0; j <= i; j++, u++) {
        ww[s][u] = H[TGI_LOWER(i, j)];
        vv[s][u] = H[TGI_LOWER(3 + i, 3 + j)];
      }
      for (int j = 0; j < 3; j++, m++) wv[s][m] = H[TGI_LOWER(3 + i, j)];
    }
  double bend = largest(vv[1], 6), e = p->extent;
  near("value", isa, p, &a->P, &b->P, 1, tol * b->P);
  near("force", isa, p, a->g + 3, b->g + 3, 3, 3 * tol * force);
  near("torque", isa, p, a->g, b->g, 3, 3 * tol * force * e);
  near("H of v", isa, p, vv[0], vv[1], 6, 10 * tol * bend);
  near("H of w and v", isa, p, wv[0], wv[1], 9, 10 * tol * (bend * e + force));
  near("H of w", isa, p, ww[0], ww[1], 6, 10 * tol * (bend * e * e + force * e));
}

static void check_counts(const char *isa, const Pose *p, const Result *wide, const Result *plain) {
  check_true(memcmp(&wide->count, &plain->count, sizeof plain->count) == 0,
             "%s, gap %g: %ld visits, %ld leaves, %ld clusters, %ld blends, not %ld, %ld, %ld, %ld", isa, p->gap,
             wide->count.visits, wide->count.leaves, wide->count.clusters, wide->count.blends, plain->count.visits,
             plain->count.leaves, plain->count.clusters, plain->count.blends);
  // a clearance is a height, or infinite where there is nothing to measure
  double rounding = 1e-15 * (fabs(p->height) + p->extent);
  check_true(wide->clear.all == plain->clear.all || fabs(wide->clear.all - plain->clear.all) <= rounding,
             "%s: clear %g, %g", isa, wide->clear.all, plain->clear.all);
  check_true(wide->clear.solved == plain->clear.solved || fabs(wide->clear.solved - plain->clear.solved) <= rounding,
             "%s: solved %g, %g", isa, wide->clear.solved, plain->clear.solved);
}

// ---- forces for friction ----

enum { PATCHES = 7 };
typedef struct Scattered { tgiFrictionSum sum[PATCHES]; tgiFrictionShare share; } Scattered;

static Result scatter_on(int isa, const tgtBody *b, const Pose *p, const tgiTreeLaw *law, Scattered *forces) {
  int *patch = malloc((size_t)b->tree.nnode * sizeof *patch);
  for (int i = 0; i < b->tree.nnode; i++) patch[i] = i % PATCHES;
  memset(forces, 0, sizeof *forces);
  tgiForceScatter scatter = {.mu = 0.3, .range = 0.1, .patch = patch, .sum = forces->sum, .share = &forces->share};
  Result r = sum_scattering(isa, &b->plane, p, law, &scatter);
  free(patch);
  return r;
}

// the same forces patch by patch, and the sum has the same bits as without
static void check_forces(int isa, const char *name, const tgtBody *b, const Pose *p, const tgiTreeLaw *law, const tgiPairSum *sum) {
  Scattered wide, plain;
  Result r = scatter_on(isa, b, p, law, &wide);
  assert_true(r.separated && scatter_on(NODES, b, p, law, &plain).separated);
  check_true(memcmp(&r.sum, sum, sizeof *sum) == 0, "%s, gap %g: another sum with forces", name, p->gap);
  double tol = 1e-12 + 1e-14 * p->extent / p->gap, N = plain.share.all, reach = tgi_v3_norm(b->plane.origin) + p->extent + fabs(p->height);
  for (int i = 0; i < PATCHES; i++) {
    near("N", name, p, &wide.sum[i].N, &plain.sum[i].N, 1, tol * N);
    near("a", name, p, wide.sum[i].a, plain.sum[i].a, 3, tol * N * reach);
    near("b", name, p, wide.sum[i].b, plain.sum[i].b, 3, tol * N * reach);
    near("M", name, p, wide.sum[i].M, plain.sum[i].M, 6, tol * N);
  }
  near("share", name, p, &wide.share.all, &N, 1, tol * N);
  near("share nearby", name, p, &wide.share.near, &plain.share.near, 1, tol * N);
}

static void each_isa(void (*check)(int isa, const char *name)) {
  for (int isa = 0; isa < tgi_isas(); isa++)
    if (tgi_isa_present(isa)) check(isa, tgi_isa_name(isa));
}

static void poses_of(int isa, const char *name, double rounding) {
  static const double eps[3] = {0.3, 0.5, 1};
  tgtRandom r = {11};
  tgt_rounding = rounding;
  tgiTreeCount met = {0};
  for (int form = 0; form < 2; form++)
    for (int which = 0; which < BODIES; which++) {
      tgtBody b;
      make(&b, which, form ? TGI_TREE_PAPER : TGI_TREE_MOMENT);
      for (int k = 0; k < 90; k++) {
        tgiTreeLaw law = {.eps = eps[k / 7 % 3], .base = form ? 12 : 0, .more = k % 4 == 1 ? 30 : 0, .brute = k % 10 == 9};
        Pose p;
        place(&r, &b, k, pow(10, tgt_uniform(&r, -7, 1)), &p);
        Result wide = sum_on(isa, &b.plane, &p, &law), plain = sum_on(NODES, &b.plane, &p, &law);
        check_true(wide.separated && plain.separated, "%s: apart", name);
        compare(name, &p, &wide, &plain);
        check_counts(name, &p, &wide, &plain);
        if (k % 3 == 0) check_forces(isa, name, &b, &p, &law, &wide.sum);
        met.leaves += plain.count.leaves;
        met.clusters += plain.count.clusters;
        met.blends += plain.count.blends;
      }
      tgt_body_free(&b);
    }
  tgt_rounding = 0;
  check_true(met.leaves > 10000 && met.clusters > 10000 && met.blends > 10000, "%ld leaves, %ld clusters, %ld blends",
             met.leaves, met.clusters, met.blends);
}
// sharp edges, and faces with a radius around them
static void poses(int isa, const char *name) {
  poses_of(isa, name, 0);
  poses_of(isa, name, 0.03);
}
static void test_poses(void **state) {
  (void)state;
  each_isa(poses);
}

// one face reaches in, or many: the same one is named
static void touches(int isa, const char *name) {
  tgtRandom r = {12};
  tgt_rounding = 0.03;
  for (int form = 0; form < 2; form++)
    for (int which = 0; which < BODIES; which++) {
      tgtBody b;
      make(&b, which, form ? TGI_TREE_PAPER : TGI_TREE_MOMENT);
      for (int k = 0; k < 40; k++) {
        tgiTreeLaw law = {.eps = 0.5, .base = form ? 12 : 0, .brute = k % 4 == 3};
        Pose p;
        place(&r, &b, k, -pow(10, tgt_uniform(&r, -7, 0)), &p);
        Result wide = sum_on(isa, &b.plane, &p, &law), plain = sum_on(NODES, &b.plane, &p, &law);
        check_true(!wide.separated && !plain.separated && wide.intersecting == plain.intersecting,
                   "%s, depth %g: face %d, node by node %d", name, -p.gap, wide.intersecting, plain.intersecting);
      }
      tgt_body_free(&b);
    }
  tgt_rounding = 0;
}
static void test_touches(void **state) {
  (void)state;
  each_isa(touches);
}

// A triangle's numbers have the same bits whatever is beside it: with all others' weights 0 they are the sum, before
// and after the others are moved.
static void neighbours(int isa, const char *name) {
  tgtRandom r = {13};
  tgiTreeLaw law = {.eps = 0.5, .brute = true};
  for (int k = 0; k < 40; k++) {
    tgtBody b;
    Pose p;
    int which = k % TORUS_2000, leaf;
    make(&b, which, TGI_TREE_MOMENT);
    place(&r, &b, 1, pow(10, tgt_uniform(&r, -6, 0)), &p);
    do leaf = (int)tgt_uniform(&r, 0, b.tree.nnode);
    while (b.tree.tri[leaf] < 0);
    for (int i = 0; i < b.tree.nnode; i++)
      if (i != leaf) b.plane.node[i * TGI_NODE_SIZE + TGI_NODE_W] = 0;
    Result before = sum_on(isa, &b.plane, &p, &law);
    const int *own = b.surface.face + 3 * b.tree.tri[leaf];
    for (int i = 0; i < b.surface.nvert; i++)
      if (i != own[0] && i != own[1] && i != own[2]) tgi_v3_axpy(b.plane.vert + 3 * i, pow(10, tgt_uniform(&r, -6, 1)), p.n);
    Result after = sum_on(isa, &b.plane, &p, &law);
    check_true(before.separated && after.separated && before.sum.P > 0, "%s: apart", name);
    check_true(memcmp(&before.sum, &after.sum, sizeof before.sum) == 0, "%s: leaf %d of %s depends on its neighbours", name, leaf,
               which < TGT_SHAPES ? tgt_shape_name[which] : "a torus");
    tgt_body_free(&b);
  }
}
static void test_neighbours(void **state) {
  (void)state;
  each_isa(neighbours);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_poses), cmocka_unit_test(test_touches), cmocka_unit_test(test_neighbours)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
