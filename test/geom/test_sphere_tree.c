// test_sphere_tree.c: invariants of sphere trees by brute force, the lower bound that their weights and moments keep, derivatives in sizes.
#include "geom/sphere_tree.h"

#include <stdlib.h>
#include <string.h>

#include "support/alloc.h"
#include "test/support/deriv.h"

typedef struct Case {
  tgiSurface s;
  tgiTree t;
  tgiTreeNumbers n;
  tgReal *memory;
} Case;

static const double ones[3] = {1, 1, 1};

static void make_case(Case *c, const tgiSurface *s, const double size[3]) {
  c->s = *s;
  assert_int_equal(tgi_tree_make(&c->s, size, NULL, &c->t), TG_OK);
  c->memory = malloc(tgi_tree_reals(&c->s, &c->t) * sizeof *c->memory);
  c->n = tgi_tree_place(&c->s, &c->t, c->memory);
}

static void free_case(Case *c) {
  free(c->memory);
  tgi_tree_free(&c->t);
  tgi_surface_free(&c->s);
}

static void numbers(Case *c, tgiTreeForm form, tgiClimb climb, const double size[3]) {
  tgReal z[3] = {size[0], size[1], size[2]};
  tgi_tree_numbers(&c->s, &c->t, form, climb, z, &c->n);
}

// n random triangles of very different sizes, some sharing vertices, some repeated
static void soup(tgtRandom *r, int n, tgiSurface *s) {
  int nvert = n + 2, *face = malloc(3 * (size_t)n * sizeof *face);
  double *vert = malloc(3 * (size_t)nvert * sizeof *vert);
  for (int k = 0; k < 3 * nvert; k++) vert[k] = tgt_normal(r) * pow(10, tgt_uniform(r, -2, 0));
  for (int k = 0; k < 3 * n; k++) face[k] = (int)(tgt_next(r) % (uint64_t)nvert);
  for (int f = 0; f < n; f++) face[3 * f] = f, face[3 * f + 1] = f + 1;
  if (n > 5) memcpy(face + 12, face, 3 * sizeof *face);
  tgError e = {0};
  check_true(tgi_surface_mesh(vert, nvert, face, n, NULL, s, &e) >= 0, "%s", e.text);
  free(vert);
  free(face);
}

static double gap(const tgReal *a, const tgReal *b) {
  double d = 0;
  for (int i = 0; i < 3; i++) d += (tgRe(a[i]) - tgRe(b[i])) * (tgRe(a[i]) - tgRe(b[i]));
  return sqrt(d);
}

// faces under nodes partition, children follow parents side by side, leaves hold one face each, depth is logarithmic
static void check_topology(const Case *c) {
  const tgiTree *t = &c->t;
  int *seen = calloc((size_t)t->nface, sizeof *seen);
  assert_int_equal(t->nnode, 2 * t->nface - 1);
  assert_int_equal(t->nface, c->s.nface);
  assert_int_equal(t->first[0], 0);
  assert_int_equal(t->count[0], t->nface);
  check_true(t->depth <= 2 + 3 * log2(t->nface), "depth %d of %d faces", t->depth, t->nface);
  for (int k = 0; k < t->nnode; k++) {
    const int *child = t->child + 2 * k;
    assert_int_equal(child[0] < 0, t->count[k] == 1);
    assert_int_equal(t->tri[k], child[0] < 0 ? t->order[t->first[k]] : -1);
    if (child[0] < 0) {
      seen[t->tri[k]]++;
      continue;
    }
    assert_true(child[0] > k && child[1] == child[0] + 1);
    assert_int_equal(t->first[child[0]], t->first[k]);
    assert_int_equal(t->first[child[1]], t->first[k] + t->count[child[0]]);
    assert_int_equal(t->count[child[0]] + t->count[child[1]], t->count[k]);
  }
  for (int f = 0; f < t->nface; f++) assert_int_equal(seen[f], 1);
  free(seen);
}

static void check_spheres(const Case *c) {
  for (int k = 0; k < c->t.nnode; k++)
    for (int i = 0; i < c->t.count[k]; i++)
      for (int v = 0; v < 3; v++) {
        double d = gap(c->n.vert + 3 * c->s.face[3 * c->t.order[c->t.first[k] + i] + v], c->n.centre + 3 * k), r = tgRe(c->n.radius[k]);
        check_true(d <= r * (1 + 1e-13), "a vertex of node %d is at %.17g of %.17g", k, d, r);
      }
}

// sums over the faces below with weights climbed by the plain rule: share of face i in node k is the product of the shares on the way
static void check_moments(const Case *c, tgiClimb climb) {
  const tgiTreeNumbers *n = &c->n;
  for (int k = 0; k < c->t.nnode; k++) {
    double mean[3] = {0, 0, 0}, second = 0, total = 0, area = 0, root = tgRe(n->area[0]), sum = 0;
    for (int pass = 0; pass < 2; pass++)
      for (int i = 0; i < c->t.count[k]; i++) {
        int at = k, place = c->t.first[k] + i;
        double share = 1;
        while (c->t.child[2 * at] >= 0) {
          const int *ch = c->t.child + 2 * at;
          int down = place >= c->t.first[ch[1]];
          share *= tgRe(n->weight[ch[down]]) / (tgRe(n->weight[ch[0]]) + tgRe(n->weight[ch[1]]));
          at = ch[down];
        }
        const int *v = c->s.face + 3 * c->t.order[place];
        double x[3];
        for (int j = 0; j < 3; j++) x[j] = (tgRe(n->vert[3 * v[0] + j]) + tgRe(n->vert[3 * v[1] + j]) + tgRe(n->vert[3 * v[2] + j])) / 3;
        for (int j = 0; j < 3 && pass == 0; j++) mean[j] += share * x[j];
        for (int j = 0; j < 3 && pass == 1; j++) second += share * (x[j] - mean[j]) * (x[j] - mean[j]);
        if (pass == 0) {
          total += share;
          area += tgRe(n->area[at]);
          sum += sqrt(tgRe(n->area[at]) / root);
        }
      }
    check_close(total, 1, 1e-12);
    check_close(n->area[k], area, 1e-12 * root);
    check_close(n->weight[k], climb == TGI_CLIMB_SUM ? sum : sqrt(area / root), 1e-11 * (1 + sum));
    for (int j = 0; j < 3; j++) check_close(n->centre[3 * k + j], mean[j], 1e-12);
    check_close(n->moment[k], second, 1e-12);
  }
}

static void check_paper(const Case *c) {
  for (int k = 0; k < c->t.nnode; k++) {
    double mean[3] = {0, 0, 0};
    int count = 0;
    for (int v = 0; v < c->s.nvert; v++) {
      bool under = false;
      for (int i = 0; i < 3 * c->t.count[k]; i++) under = under || c->s.face[3 * c->t.order[c->t.first[k] + i / 3] + i % 3] == v;
      count += under;
      for (int j = 0; j < 3 && under; j++) mean[j] += tgRe(c->n.vert[3 * v + j]);
    }
    for (int j = 0; j < 3; j++) check_close(c->n.centre[3 * k + j], mean[j] / count, 1e-12);
    check_close(c->n.weight[k], 1, 0);
    check_close(c->n.moment[k], 0, 0);
    if (c->t.child[2 * k] < 0) continue;
    double r = 0;
    for (int i = 0; i < 2; i++) {
      int ch = c->t.child[2 * k + i];
      r = fmax(r, gap(c->n.centre + 3 * k, c->n.centre + 3 * ch) + tgRe(c->n.radius[ch]));
    }
    check_close(c->n.radius[k], r, 1e-13);
  }
}

static void check_all(Case *c, const double size[3]) {
  check_topology(c);
  for (int climb = 0; climb < 2; climb++) {
    numbers(c, TGI_TREE_MOMENT, (tgiClimb)climb, size);
    check_spheres(c);
    check_moments(c, (tgiClimb)climb);
  }
  numbers(c, TGI_TREE_PAPER, TGI_CLIMB_SUM, size);
  check_spheres(c);
  check_paper(c);
}

static void test_invariants(void **state) {
  (void)state;
  tgtRandom r = {7};
  static const int count[] = {1, 2, 3, 8, 57, 200};
  for (int i = 0; i < 6; i++) {
    tgiSurface s;
    Case c;
    const double size[3] = {1.3, 0.4, 2};
    soup(&r, count[i], &s);
    make_case(&c, &s, ones);
    check_all(&c, ones);
    check_all(&c, size);
    free_case(&c);
  }
  for (int type = TG_GEOM_PLANE + 1; type < TG_GEOM_MESH; type++) {
    tgiSurface s;
    Case c;
    const double size[3] = {0.5, 0.6, 0.3};
    assert_int_equal(tgi_surface_primitive((tgGeomType)type, size, 0.05, NULL, &s), TG_OK);
    make_case(&c, &s, size);
    check_all(&c, size);
    free_case(&c);
  }
}

static double h(double z) { return 24 / pow(z, 0.25) + 12 / sqrt(z); }

// what the climb of weights must keep: the children's clusters together exceed their parents', at every distance, overlapping included
static void test_lower_bound(void **state) {
  (void)state;
  tgtRandom r = {11};
  for (int climb = 0; climb < 2; climb++) {
    Case c[2];
    for (int i = 0; i < 2; i++) {
      tgiSurface s;
      soup(&r, 60, &s);
      make_case(&c[i], &s, ones);
      numbers(&c[i], TGI_TREE_MOMENT, (tgiClimb)climb, ones);
    }
    for (int trial = 0; trial < 20000; trial++) {
      int node[2], child[2][2], n[2];
      double shift[3], far = pow(10, tgt_uniform(&r, -3, 3)), low = 0, high = 0;
      for (int i = 0; i < 3; i++) shift[i] = far * tgt_normal(&r);
      for (int i = 0; i < 2; i++) {
        node[i] = (int)(tgt_next(&r) % (uint64_t)c[i].t.nnode);
        memcpy(child[i], c[i].t.child + 2 * node[i], sizeof child[i]);
        n[i] = child[i][0] < 0 ? 1 : 2;
        if (n[i] == 1) child[i][0] = node[i];
      }
      for (int a = -1; a < n[0]; a++)
        for (int b = -1; b < n[1]; b++) {
          if ((a < 0) != (b < 0)) continue;
          int I = a < 0 ? node[0] : child[0][a], J = b < 0 ? node[1] : child[1][b];
          double d2 = 0;
          for (int i = 0; i < 3; i++) d2 += pow(tgRe(c[0].n.centre[3 * I + i]) + shift[i] - tgRe(c[1].n.centre[3 * J + i]), 2);
          double p = tgRe(c[0].n.weight[I]) * tgRe(c[1].n.weight[J]) * h(d2 + tgRe(c[0].n.moment[I]) + tgRe(c[1].n.moment[J]));
          if (a < 0) low = p;
          else high += p;
        }
      check_true(high >= low * (1 - 1e-12), "climb %d: children %g below parents %g", climb, high, low);
    }
    for (int i = 0; i < 2; i++) free_case(&c[i]);
  }
}

typedef struct Map {
  Case *c;
  tgiTreeForm form;
  tgiClimb climb;
} Map;

static tgStatus all_numbers(void *ctx, const tgReal *x, tgReal *y) {
  const Map *m = ctx;
  tgi_tree_numbers_at(&m->c->s, &m->c->t, m->form, m->climb, x, 0, x[TGI_SIZE_ROUNDING], &m->c->n);
  memcpy(y, m->c->memory, tgi_tree_reals(&m->c->s, &m->c->t) * sizeof *y);
  return TG_OK;
}

// in the sizes and the radius around the faces, at 0.03
static void check_derivative(Case *c, tgiTreeForm form, tgiClimb climb, const double size[3]) {
  enum { SIZES = TGI_SIZE_ROUNDING + 1 };
  size_t n = tgi_tree_reals(&c->s, &c->t), node = (size_t)c->t.nnode, vert = 3 * (size_t)c->s.nvert;
  Map map = {c, form, climb};
  tgReal x[SIZES] = {size[0], size[1], size[2], 0.03}, *J = malloc(SIZES * n * sizeof *J), *d = malloc(n * sizeof *d);
  int rows[] = {(int)vert, (int)(3 * node), (int)node, (int)node, (int)node, (int)node, 1};
  tgi_tree_numbers_at(&c->s, &c->t, form, climb, x, 0, x[TGI_SIZE_ROUNDING], &c->n);
  for (int j = 0; j < SIZES; j++) {
    tgiTreeNumbers dn = tgi_tree_place(&c->s, &c->t, d);
    tgi_tree_numbers_d(&c->s, &c->t, form, climb, &c->n, j, &dn);
    for (size_t k = 0; k < n; k++) J[SIZES * k + (size_t)j] = d[k];
  }
  // those of the vertices by themselves, which the last column checks
  tgi_surface_place_rounded_d(&c->s, d);
  for (size_t k = 0; k < vert; k++) check_close(d[k], J[SIZES * k + TGI_SIZE_ROUNDING], 0);
  tgtDeriv D = {.name = "numbers of a tree", .nx = SIZES, .ny = (int)n, .map = all_numbers, .ctx = &map, .tol = 1e-8, .rows = rows,
                .nrows = 7};
#ifdef TG_COMPLEX
  D.tol = 1e-12;
#endif
  tgt_check_jacobian(&D, x, J);
  free(J);
  free(d);
}

// Complex step follows the vertex that makes a radius; differences see both where two are equally far, as in every round shape, so that
// those are left to the complex build.
static void test_derivatives(void **state) {
  (void)state;
  tgtRandom r = {3};
#ifdef TG_COMPLEX
  const int ncase = 5;
#else
  const int ncase = 1;
#endif
  for (int i = 0; i < ncase; i++) {
    tgiSurface s;
    Case c;
    const double size[3] = {1.3, 0.4, 2}, round[3] = {0.21, 0.37, 0.3};
    static const tgGeomType kind[] = {TG_GEOM_MESH, TG_GEOM_CAPSULE, TG_GEOM_ELLIPSOID, TG_GEOM_CYLINDER, TG_GEOM_BOX};
    if (i == 0) soup(&r, 40, &s);
    else assert_int_equal(tgi_surface_primitive(kind[i], round, 0.1, NULL, &s), TG_OK);
    make_case(&c, &s, i == 0 ? size : round);
    check_derivative(&c, TGI_TREE_MOMENT, TGI_CLIMB_SUM, i == 0 ? size : round);
    check_derivative(&c, TGI_TREE_MOMENT, TGI_CLIMB_AREA, i == 0 ? size : round);
    check_derivative(&c, TGI_TREE_PAPER, TGI_CLIMB_SUM, i == 0 ? size : round);
    free_case(&c);
  }
}

// the same tree twice; faces all at one place do not make it deep; a strip of 100,000 ends soon
static void test_large(void **state) {
  (void)state;
  enum { N = 100000 };
  double *vert = malloc(3 * (size_t)(N + 2) * sizeof *vert);
  int *face = malloc(3 * (size_t)N * sizeof *face);
  for (int kind = 0; kind < 2; kind++) {
    tgiSurface s;
    tgiTree a, b;
    for (int k = 0; k < N + 2; k++) {
      vert[3 * k] = kind == 0 ? k : k % 3 == 1;
      vert[3 * k + 1] = kind == 0 ? k % 2 : k % 3 == 2;
      vert[3 * k + 2] = 0;
    }
    for (int f = 0; f < N; f++)
      for (int c = 0; c < 3; c++) face[3 * f + c] = f + c;
    assert_int_equal(tgi_surface_mesh(vert, N + 2, face, N, NULL, &s, NULL), TG_OK);
    assert_int_equal(s.nvert, kind == 0 ? N + 2 : 3);
    assert_int_equal(tgi_tree_make(&s, ones, NULL, &a), TG_OK);
    assert_int_equal(tgi_tree_make(&s, ones, NULL, &b), TG_OK);
    assert_memory_equal(a.child, b.child, 2 * (size_t)a.nnode * sizeof *a.child);
    assert_memory_equal(a.order, b.order, (size_t)a.nface * sizeof *a.order);
    check_true(a.depth <= 2 + 3 * log2(N), "depth %d", a.depth);
    tgi_tree_free(&a);
    tgi_tree_free(&b);
    tgi_surface_free(&s);
  }
  free(vert);
  free(face);
}

// every allocation fails once: nothing is left behind
static void test_memory(void **state) {
  (void)state;
  tgtRandom r = {5};
  tgiSurface s;
  soup(&r, 20, &s);
  for (long k = 1; k <= 4; k++) {
    tgtAlloc a;
    tgiTree t;
    tgt_alloc_init(&a);
    a.fail_at = k;
    assert_int_equal(tgi_tree_make(&s, ones, &a.hooks, &t), k <= 3 ? TG_ERR_MEMORY : TG_OK);
    tgi_tree_free(&t);
    assert_int_equal(a.blocks, 0);
  }
  tgi_surface_free(&s);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_invariants), cmocka_unit_test(test_lower_bound),
                                     cmocka_unit_test(test_derivatives), cmocka_unit_test(test_large),
                                     cmocka_unit_test(test_memory)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
