// test_tree_force.c: the terms as forces against the sum that the step uses, their rates along twists, sizes and the radius around
// faces by differences, and how they gather.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "contact/barrier/tree/distance_sites.h"
#include "contact/barrier/tree/local_sum.h"
#include "contact/barrier/tree/tree_force.h"
#include "math/quat.h"
#include "support/deriv.h"
#include "test/contact/barrier/half_space.h"

enum { TWIST = 6, NZ = TGI_MOST_DIRECTIONS, SHAPES = 12, OUT = 7 + 13 + 15 };

typedef struct Shape {
  tgiSurface surface;
  tgiTree tree;
  double size[3];
  tgReal *memory[2];       // numbers, world
  double *nominal;
  int *patch;
  unsigned char *owned;
  tgReal x[3], R[9];
} Shape;

static void finish_shape(Shape *s) {
  assert_int_equal(tgi_tree_make(&s->surface, s->size, NULL, &s->tree), TG_OK);
  s->memory[0] = malloc(3 * tgi_tree_reals(&s->surface, &s->tree) * sizeof(tgReal));
  s->memory[1] = malloc(tgi_world_tree_reals(&s->surface, &s->tree) * sizeof(tgReal));
  s->nominal = malloc((size_t)s->tree.nnode * sizeof(double));
  s->patch = malloc((size_t)s->tree.nnode * sizeof(int));
  s->owned = malloc((size_t)s->surface.nface);
  assert_int_equal(tgi_distance_owners(&s->surface, &s->surface.alloc, s->owned), TG_OK);
  memset(s->x, 0, sizeof s->x);
  tgi_m3_identity(s->R);
}

static void make_shape(Shape *s, tgGeomType type, double a, double b, double c, double chord) {
  memcpy(s->size, (double[3]){a, b, c}, sizeof s->size);
  assert_int_equal(tgi_surface_primitive(type, s->size, chord, NULL, &s->surface), TG_OK);
  finish_shape(s);
}

static void make_core(Shape *s, tgGeomType type, double a, double b, double c) {
  memcpy(s->size, (double[3]){a, b, c}, sizeof s->size);
  assert_int_equal(tgi_surface_core(type, s->size, NULL, &s->surface), TG_OK);
  finish_shape(s);
}

static void free_shape(Shape *s) {
  free(s->memory[0]);
  free(s->memory[1]);
  free(s->nominal);
  free(s->patch);
  free(s->owned);
  tgi_tree_free(&s->tree);
  tgi_surface_free(&s->surface);
}

typedef struct Scene {
  Shape A, B;
  bool plane;              // a half-space instead of B
  tgiTreeForm form;
  tgiTreeLaw law;
  double patch;            // size of a friction patch
  double range;            // of friction; 0: any
  double rounding;         // radius around the faces of what rounds
} Scene;

typedef struct Posed { tgiWorldTree p; tgiTreeNumbers n; } Posed;

// numbers under a plane replace the tree's own in the moment form
static void pose(const Scene *s, const Shape *h, const tgReal size[3], tgReal rounding, const tgReal *x, const tgReal *R, Posed *p) {
  size_t reals = tgi_tree_reals(&h->surface, &h->tree);
  tgiTreeNumbers n = tgi_tree_place(&h->surface, &h->tree, h->memory[0]);
  p->n = n;
  tgi_tree_numbers_at(&h->surface, &h->tree, s->form, TGI_CLIMB_SUM, size, 0, rounding, &n);
  if (s->plane && s->form == TGI_TREE_MOMENT) {
    p->n = tgi_tree_place(&h->surface, &h->tree, h->memory[0] + reals);
    tgi_plane_numbers(&h->tree, &n, &p->n);
  }
  tgi_world_tree_place(&h->surface, &h->tree, h->memory[1], &p->p);
  p->p.nominal = h->nominal;
  p->p.owned = h->owned;
  tgi_world_tree_numbers(&p->n, &p->p);
  tgi_world_tree_transform(&p->n, x, R, &p->p);
}

static void nominal(const Scene *s, Shape *h) {
  Posed p;
  pose(s, h, (tgReal[3]){h->size[0], h->size[1], h->size[2]}, s->rounding, h->x, h->R, &p);
  for (int k = 0; k < h->tree.nnode; k++) h->nominal[k] = tgRe(p.n.radius[k]);
}

// sums over what was scattered, in the order of an output, with rates
typedef struct Sums {
  int nd, points, planes;
  tgReal y[OUT], d[OUT][NZ];
} Sums;

static void add_product(Sums *s, int at, tgReal N, tgReal q, const tgReal *dN, const tgReal *dq) {
  s->y[at] += N * q;
  for (int j = 0; j < s->nd; j++) s->d[at][j] += dN[j] * q + N * dq[j];
}

static void take_point(void *ctx, const tgiFrictionPoint *p, const tgiFrictionPoint *dp) {
  Sums *s = (Sums *)ctx;
  tgReal dN[NZ], dq[NZ], none[NZ] = {0};
  s->points++;
  for (int j = 0; j < s->nd; j++) dN[j] = dp[j].N;
  add_product(s, 7, p->N, 1, dN, none);
  for (int i = 0; i < 3; i++) {
    for (int j = 0; j < s->nd; j++) dq[j] = dp[j].a[i];
    add_product(s, 8 + i, p->N, p->a[i], dN, dq);
    for (int j = 0; j < s->nd; j++) dq[j] = dp[j].b[i];
    add_product(s, 11 + i, p->N, p->b[i], dN, dq);
  }
  for (int i = 0; i < 6; i++) {
    for (int j = 0; j < s->nd; j++) dq[j] = dp[j].Q[i];
    add_product(s, 14 + i, p->N, p->Q[i], dN, dq);
  }
}

static void take_plane(void *ctx, const tgiFrictionPlane *p, const tgiFrictionPlane *dp) {
  Sums *s = (Sums *)ctx;
  tgReal dN[NZ], dq[NZ], none[NZ] = {0};
  s->planes++;
  for (int k = 0; k < 6; k++) {
    for (int j = 0; j < s->nd; j++) dN[j] = dp[j].f[k];
    add_product(s, 20 + k, p->f[k], 1, dN, none);
    for (int i = 0; i < 3; i++) {
      for (int j = 0; j < s->nd; j++) dq[j] = dp[j].x[3 * k + i];
      add_product(s, 29 + 3 * (k / 3) + i, p->f[k], p->x[3 * k + i], dN, dq);
    }
    if (k >= 3) continue;
    for (int i = 0; i < s->nd; i++) dq[i] = dp[i].n[k];
    for (int j = 0; j < s->nd; j++) dN[j] = dp[j].f[k];
    add_product(s, 26 + k, p->f[k], p->n[k], dN, dq);
  }
}

// rates of a shape in its size j or the radius around its faces, added to those of *dir
static void size_rates(const Scene *s, const Shape *h, const Posed *p, int side, int j, const tgReal *R, tgiDirection *dir,
                       tgReal **memory) {
  size_t reals = tgi_tree_reals(&h->surface, &h->tree), world = tgi_world_tree_reals(&h->surface, &h->tree);
  *memory = calloc(2 * reals + world, sizeof(tgReal));
  tgiTreeNumbers d = tgi_tree_place(&h->surface, &h->tree, *memory), own = tgi_tree_place(&h->surface, &h->tree, h->memory[0]);
  tgi_tree_numbers_d(&h->surface, &h->tree, s->form, TGI_CLIMB_SUM, &own, j, &d);
  if (s->plane && s->form == TGI_TREE_MOMENT) {
    tgiTreeNumbers dplane = tgi_tree_place(&h->surface, &h->tree, *memory + reals);
    tgi_plane_numbers_d(&h->tree, &own, &d, &p->n, &dplane);
    d = dplane;
  }
  tgReal *node = *memory + 2 * reals, *vert = node + (size_t)h->tree.nnode * TGI_NODE_SIZE;
  tgi_world_tree_rates(&p->p, &d, R, node, vert);
  dir->node[side] = node;
  dir->vert[side] = vert;
  dir->round[side] = *d.round;
}

// of a scene: twists and sizes, then the radius around faces and by how much more the far part counts
static int variables(const Scene *s) { return (s->plane ? 9 : SHAPES) + 2; }

// z: twist of A about the world origin, sizes of A, sizes of B, and the last two of all
static void evaluate(const Scene *s, const tgReal *z, bool rates, Sums *sums, tgiForceSum *f, tgiPairSum *reference) {
  Posed A, B;
  tgReal E[9], q[4], x[3], R[9], n[3] = {0, 0, 1}, height = 0;
  tgiDirection dir[NZ] = {{.twist = {0}}};
  tgReal *memory[NZ + 1] = {NULL};
  tgi_quat_exp(q, z);
  tgi_quat_to_mat(E, q);
  tgi_m3_mul(R, E, s->A.R);
  tgi_m3_mulv(x, E, s->A.x);
  tgi_v3_add(x, x, z + 3);
  int nz = variables(s), nd = rates ? nz : 0;
  pose(s, &s->A, z + 6, z[nz - 2], x, R, &A);
  if (!s->plane) pose(s, &s->B, z + 9, z[nz - 2], s->B.x, s->B.R, &B);
  else height = A.p.origin[2];
  tgiTreeLaw law = s->law;
  law.more = z[nz - 1];
  for (int j = 0; j < nd; j++) {
    if (j == nz - 1) {
      dir[j].more = 1;
      continue;
    }
    if (j < TWIST) {
      dir[j].twist[j] = 1;
      continue;
    }
    if (j < nz - 2) {
      size_rates(s, j < 9 ? &s->A : &s->B, j < 9 ? &A : &B, j < 9 ? 0 : 1, j % 3, j < 9 ? R : s->B.R, &dir[j], &memory[j]);
      continue;
    }
    if (s->A.surface.rounds) size_rates(s, &s->A, &A, 0, TGI_SIZE_ROUNDING, R, &dir[j], &memory[j]);
    if (!s->plane && s->B.surface.rounds) size_rates(s, &s->B, &B, 1, TGI_SIZE_ROUNDING, s->B.R, &dir[j], &memory[NZ]);
  }
  int npatch = tgi_force_patches(&s->A.surface, &s->A.tree, s->A.nominal, s->patch, s->A.patch);
  tgiFrictionSum *room = malloc((size_t)(npatch * (1 + nd)) * sizeof *room);
  *sums = (Sums){.nd = nd};
  tgiForceTask t = {.A = &A.p, .B = s->plane ? NULL : &B.p, .n = n, .height = height, .law = law, .mu = 1,
                    .range = s->range, .nd = nd, .dir = dir, .patch = s->A.patch, .npatch = npatch, .room = room,
                    .ctx = sums, .point = take_point, .plane = s->plane || s->A.surface.core || s->B.surface.core ? NULL : take_plane};
  assert_true(tgi_tree_force(&t, f));
  sums->y[0] = f->P;
  for (int j = 0; j < nd; j++) sums->d[0][j] = f->dP[j];
  for (int i = 0; i < 6; i++) {
    sums->y[1 + i] = f->g[i];
    for (int j = 0; j < nd; j++) sums->d[1 + i][j] = f->dg[j][i];
  }
  for (int j = 0; j <= NZ; j++) free(memory[j]);
  free(room);
  if (reference == NULL) return;
  int intersecting[2], depth = s->A.tree.depth + (s->plane ? 0 : s->B.tree.depth);
  void *work = malloc(tgi_tree_work_bytes(depth));
  bool separated = s->plane ? tgt_half_space(&A.p, n, height, &law, reference, intersecting)
                        : tgi_tree_pair(&A.p, &B.p, &law, tgi_tree_work_place(work, depth), reference, intersecting, NULL, NULL);
  assert_true(separated);
  // to the world origin
  tgi_v3_cross(x, A.p.origin, reference->g + 3);
  tgi_v3_add(reference->g, reference->g, x);
  free(work);
}

static void start(const Scene *s, tgReal z[NZ]) {
  for (int i = 0; i < NZ; i++) z[i] = 0;
  for (int i = 0; i < 3; i++) {
    z[6 + i] = s->A.size[i];
    if (!s->plane) z[9 + i] = s->B.size[i];
  }
  z[variables(s) - 2] = s->rounding;
  z[variables(s) - 1] = s->law.more;
}

static tgStatus map(void *ctx, const tgReal *z, tgReal *y) {
  Sums sums;
  tgiForceSum f;
  evaluate((const Scene *)ctx, z, false, &sums, &f, NULL);
  memcpy(y, sums.y, sizeof sums.y);
  return TG_OK;
}

#ifdef TG_COMPLEX
static const double tolerance = 1e-9;
#else
static const double tolerance = 3e-6;
#endif

static void check_scene(const Scene *s, const char *name) {
  tgReal z[NZ];
  Sums sums;
  tgiForceSum f;
  tgiPairSum reference;
  start(s, z);
  evaluate(s, z, true, &sums, &f, &reference);
  check_close(f.P, reference.P, 1e-11 * tgRe(reference.P));
  double size = 0;
  for (int i = 0; i < 6; i++) size = fmax(size, fabs(tgRe(reference.g[i])));
  for (int i = 0; i < 6; i++) check_close(f.g[i], reference.g[i], 1e-9 * size);
  int nz = variables(s), rows[] = {1, 6, 1, 3, 3, 6, 6, 3, 3, 3};
  tgReal D[OUT * NZ];
  for (int i = 0; i < OUT; i++)
    for (int j = 0; j < nz; j++) D[i * nz + j] = sums.d[i][j];
  tgtDeriv d = {.name = name, .nx = nz, .ny = OUT, .map = map, .ctx = (void *)(uintptr_t)s, .tol = tolerance,
                .step = 1e-5, .rows = rows, .nrows = 10};
  tgt_check_jacobian(&d, z, D);
}

// the factor of friction, by what is scattered with and without it
static double factor(Scene s) {
  tgReal z[NZ];
  Sums part, all;
  tgiForceSum f;
  start(&s, z);
  evaluate(&s, z, false, &part, &f, NULL);
  s.range = 0;
  evaluate(&s, z, false, &all, &f, NULL);
  if (part.planes > 0) check_close(part.y[20], part.y[7] / all.y[7] * all.y[20], 1e-12 * fabs(tgRe(all.y[20])));
  return tgRe(part.y[7]) / tgRe(all.y[7]);
}

// at a pose: all friction counts, then with ranges so that none, some, and all of it does
static void check_ranges(Scene *s, const char *name, int *some) {
  s->range = 0;
  check_scene(s, name);
  double low = 1e-3, high = 100;
  assert_true(factor((s->range = low, *s)) == 0);
  check_scene(s, name);
  assert_true(factor((s->range = high, *s)) == 1);
  for (int i = 0; i < 30; i++) {
    double middle = sqrt(low * high), f = factor((s->range = middle, *s));
    if (f > 0.2 && f < 0.8) break;
    if (f > 0.5) high = middle; else low = middle;
  }
  double f = factor(*s);
  *some += f > 0 && f < 1;
  check_scene(s, name);
}

// forces and their points, without the plane's form
static void check_rubbing(Scene *s, const char *name) {
  tgReal z[NZ], J[20 * NZ];
  Sums sums;
  tgiForceSum f;
  start(s, z);
  evaluate(s, z, true, &sums, &f, NULL);
  int nz = variables(s), rows[] = {1, 6, 1, 3, 3, 6};
  for (int i = 0; i < 20; i++)
    for (int j = 0; j < nz; j++) J[i * nz + j] = sums.d[i][j];
  tgtDeriv d = {.name = name, .nx = nz, .ny = 20, .map = map, .ctx = s, .tol = tolerance, .step = 1e-5, .rows = rows, .nrows = 6};
  tgt_check_jacobian(&d, z, J);
}

// the short reach, whose friction does not ask for distances
static void check_local(Scene *s, const char *name) {
  s->range = 0;
  check_rubbing(s, name);
}

static void at(Shape *h, tgtRandom *r, double x, double y, double z, double turn) {
  tgReal w[3], q[4];
  for (int i = 0; i < 3; i++) w[i] = turn * tgt_normal(r);
  tgi_quat_exp(q, w);
  tgi_quat_to_mat(h->R, q);
  tgi_v3_set(h->x, x, y, z);
}

static Scene pair_scene(bool big, tgiTreeForm form) {
  Scene s = {.form = form, .law = {.eps = 0.5, .base = form == TGI_TREE_PAPER ? 12 : 0, .more = big ? 6 : 0}};
  make_shape(&s.A, TG_GEOM_ELLIPSOID, 0.1, 0.12, 0.11, 0.1);
  make_shape(&s.B, TG_GEOM_BOX, big ? 1 : 0.2, big ? 0.9 : 0.15, 0.1, 0.01);
  nominal(&s, &s.A);
  nominal(&s, &s.B);
  s.patch = s.A.nominal[0] / 4;
  Posed A, B;
  pose(&s, &s.A, (tgReal[3]){0.1, 0.12, 0.11}, 0, s.A.x, s.A.R, &A);
  pose(&s, &s.B, (tgReal[3]){s.B.size[0], s.B.size[1], s.B.size[2]}, 0, s.B.x, s.B.R, &B);
  if (form == TGI_TREE_MOMENT) {
    s.law.one_sided[0] = tgi_one_sided(&A.p, &B.p);
    s.law.one_sided[1] = tgi_one_sided(&B.p, &A.p);
  }
  return s;
}

static void two_trees(void **state) {
  (void)state;
  tgtRandom r = {5};
  const double heights[] = {0.215, 0.25, 0.3, 0.45, 0.8, 3};
  int some = 0;
  for (int big = 0; big < 2; big++)
    for (int form = 0; form < 2; form++) {
      Scene s = pair_scene(big != 0, form == 0 ? TGI_TREE_MOMENT : TGI_TREE_PAPER);
      for (size_t i = 0; i < sizeof heights / sizeof *heights; i++) {
        char name[80];
        snprintf(name, sizeof name, "%s box, form %d, height %g", big ? "large" : "small", form, heights[i]);
        at(&s.A, &r, 1.03, 0.52, heights[i], 0.3);
        at(&s.B, &r, 1, 0.5, 0, 0.01);
        check_ranges(&s, name, &some);
      }
      s.law.brute = true;
      s.patch = 10;
      check_ranges(&s, "brute", &some);
      free_shape(&s.A);
      free_shape(&s.B);
    }
  assert_int_equal(some, 28);
}

// Cores with a radius, of two surfaces or of one, whose other is large or small triangles; all that a sum may be: the long reach and
// the short.
static void cores(void **state) {
  (void)state;
  tgtRandom r = {7};
  int some = 0, n = 0;
  for (int pair = 0; pair < 10; pair++)   // from 6 on an ellipsoid, before a capsule, another, and both boxes
    for (int level = 0; level < 3; level++) {
      const double gap[] = {2e-3, 3e-2, 0.5};
      Scene s = {.form = TGI_TREE_MOMENT, .law = {.eps = 0.5}};
      double reach = 0.1;
      bool oval = pair >= 6, both = pair < 2 || pair == 6 || pair == 7, large = pair < 4 || pair == 8;
      if (oval) make_core(&s.A, TG_GEOM_ELLIPSOID, 0.12, 0.08, 0.1);
      else if (pair % 2 == 0) make_core(&s.A, TG_GEOM_SPHERE, 0.1, 0, 0);
      else make_core(&s.A, TG_GEOM_CAPSULE, 0.07, 0.1, 0);
      if (pair % 2 == 1 && !oval) reach = 0.17;
      if (pair == 7) make_core(&s.B, TG_GEOM_ELLIPSOID, 0.1, 0.3, 0.2);
      else if (both) make_core(&s.B, TG_GEOM_CAPSULE, 0.1, 0.3, 0);
      else make_shape(&s.B, TG_GEOM_BOX, large ? 1 : 0.2, large ? 0.9 : 0.15, 0.1, 0.01);
      nominal(&s, &s.A);
      nominal(&s, &s.B);
      s.patch = 1;
      s.law.brute = both;
      at(&s.B, &r, 1, 0.5, 0, 0.01);
      if (both) tgi_m3_copy(s.B.R, (tgReal[9]){0, 0, 1, 0, 1, 0, -1, 0, 0});
      tgi_m3_identity(s.A.R);
      tgi_v3_set(s.A.x, 1.03, 0.52, 0.1 + reach + gap[level]);
      if (level > 0) at(&s.A, &r, 1.03, 0.52, 0.1 + reach + gap[level], 0.3);
      char name[80];
      snprintf(name, sizeof name, "cores, pair %d, gap %g", pair, gap[level]);
      check_ranges(&s, name, &some);
      n++;
      s.law.local = 0.08;
      if (level < 2) check_local(&s, name);
      free_shape(&s.A);
      free_shape(&s.B);
    }
  check_true(some > n / 2, "%d of %d have some of their friction", some, n);
}

static void core_before_plane(void **state) {
  (void)state;
  tgtRandom r = {8};
  int some = 0;
  for (int kind = 0; kind < 3; kind++)
    for (int level = 0; level < 3; level++) {
      const double gap[] = {2e-3, 2e-2, 0.5};
      Scene s = {.plane = true, .form = TGI_TREE_MOMENT, .law = {.eps = 0.5, .brute = true}};
      if (kind == 0) make_core(&s.A, TG_GEOM_SPHERE, 0.1, 0, 0);
      else if (kind == 1) make_core(&s.A, TG_GEOM_CAPSULE, 0.1, 0.2, 0);
      else make_core(&s.A, TG_GEOM_ELLIPSOID, 0.1, 0.15, 0.2);
      nominal(&s, &s.A);
      s.patch = 1;
      at(&s.A, &r, 0.3, -0.2, (level == 0 ? 0.1 : 0.3) + gap[level], level == 0 ? 0 : 0.5);
      if (level == 0) tgi_m3_copy(s.A.R, (tgReal[9]){0, 0, 1, 0, 1, 0, -1, 0, 0});
      char name[80];
      snprintf(name, sizeof name, "core %d before a plane, gap %g", kind, gap[level]);
      check_ranges(&s, name, &some);
      s.law.local = 0.05;
      if (level < 2) check_local(&s, name);
      free_shape(&s.A);
    }
}

// A mesh with few faces whose vertices are linear in sizes as any mesh's are: a tetrahedron.
static void make_mesh(Shape *s, double scale) {
  const double vert[12] = {.1, .01, -.08, -.09, .08, -.07, -.06, -.1, -.075, .01, .02, .1};
  const int face[12] = {0, 2, 1, 0, 1, 3, 1, 2, 3, 2, 0, 3};
  tgError e = {0};
  memcpy(s->size, (double[3]){scale, 1.1 * scale, scale}, sizeof s->size);
  check_true(tgi_surface_mesh(vert, 4, face, 4, NULL, &s->surface, &e) >= 0, "%s", e.text);
  finish_shape(s);
}

// Faces with a radius around them: a box, a cylinder and a mesh before a box, large, small and turned, before a ball and a capsule, and
// before a half-space; sizes of boxes and cylinders with the radius held, and the radius.
static void rounded_edges(void **state) {
  (void)state;
  tgtRandom r = {17};
  int some = 0, n = 0;
  for (int a = 0; a < 3; a++)
    for (int b = 0; b < 5; b++)
      for (int level = 0; level < (b < 2 ? 2 : 1) && !(a == 1 && b == 0); level++)   // a cylinder has many faces
        for (int form = 0; form < (b == 1 || b == 4 ? 2 : 1); form++) {
          const double gap[] = {3e-3, .3};
          Scene s = {.plane = b == 4, .form = form == 0 ? TGI_TREE_MOMENT : TGI_TREE_PAPER, .rounding = 0.02,
                     .law = {.eps = 0.5, .base = form == 0 ? 0 : 12, .more = form == 0 ? 2 : 0}};
          if (a == 0) make_shape(&s.A, TG_GEOM_BOX, .1, .09, .08, .1);
          else if (a == 1) make_shape(&s.A, TG_GEOM_CYLINDER, .1, .08, 0, .1);
          else make_mesh(&s.A, 1);
          if (b < 2) make_shape(&s.B, TG_GEOM_BOX, b == 0 ? 1 : .2, b == 0 ? .9 : .15, .1, .01);
          else if (b == 2) make_core(&s.B, TG_GEOM_SPHERE, .1, 0, 0);
          else if (b == 3) make_core(&s.B, TG_GEOM_CAPSULE, .1, .3, 0);
          nominal(&s, &s.A);
          at(&s.A, &r, 1.03, .52, .3 + gap[level], 1);
          if (s.plane) s.A.x[2] = .2 + gap[level];
          else {
            Posed A, B;
            nominal(&s, &s.B);
            at(&s.B, &r, 1, .5, 0, b == 1 ? .05 : .01);
            if (b == 3) tgi_m3_copy(s.B.R, (tgReal[9]){0, 0, 1, 0, 1, 0, -1, 0, 0});
            pose(&s, &s.A, (tgReal[3]){s.A.size[0], s.A.size[1], s.A.size[2]}, s.rounding, s.A.x, s.A.R, &A);
            pose(&s, &s.B, (tgReal[3]){s.B.size[0], s.B.size[1], s.B.size[2]}, s.rounding, s.B.x, s.B.R, &B);
            s.law.one_sided[0] = form == 0 && tgi_one_sided(&A.p, &B.p);
            s.law.one_sided[1] = form == 0 && tgi_one_sided(&B.p, &A.p);
          }
          s.patch = s.A.nominal[0] / 2;
          char name[128];
          snprintf(name, sizeof name, "rounded edges %d before %d, gap %g, form %d", a, b, gap[level], form);
          check_ranges(&s, name, &some);
          n++;
          s.law.local = .3;
          if (level == 0 && form == 0) check_local(&s, name);
          free_shape(&s.A);
          if (!s.plane) free_shape(&s.B);
        }
  check_true(some > n / 2, "%d of %d have some of their friction", some, n);
}

static void half_space(void **state) {
  (void)state;
  tgtRandom r = {6};
  const double heights[] = {0.13, 0.15, 0.2, 0.4, 2};
  int some = 0;
  for (int form = 0; form < 2; form++) {
    Scene s = {.plane = true, .form = form == 0 ? TGI_TREE_MOMENT : TGI_TREE_PAPER,
               .law = {.eps = 0.5, .base = form == 0 ? 0 : 12, .more = form == 0 ? 6 : 0}};
    make_shape(&s.A, TG_GEOM_ELLIPSOID, 0.1, 0.12, 0.11, 0.1);
    nominal(&s, &s.A);
    s.patch = s.A.nominal[0] / 4;
    for (size_t i = 0; i < sizeof heights / sizeof *heights; i++) {
      char name[80];
      snprintf(name, sizeof name, "half-space, form %d, height %g", form, heights[i]);
      at(&s.A, &r, 0.3, -0.2, heights[i], 0.5);
      check_ranges(&s, name, &some);
    }
    free_shape(&s.A);
  }
  assert_int_equal(some, 10);
}

// value, gradient and second derivatives of the step's sum, against those of the forces
static void check_sum(const Scene *s, const char *name) {
  tgReal z[NZ], n[3] = {0, 0, 1}, H[36];
  Sums sums;
  tgiForceSum f;
  tgiPairSum sum;
  Posed A, B;
  int meet[2];
  start(s, z);
  evaluate(s, z, true, &sums, &f, NULL);
  pose(s, &s->A, z + 6, 0, s->A.x, s->A.R, &A);
  if (!s->plane) pose(s, &s->B, z + 9, 0, s->B.x, s->B.R, &B);
  check_true(tgi_local_sum(&A.p, s->plane ? NULL : &B.p, n, A.p.origin[2], &s->law, &sum, meet, NULL, NULL), "%s", name);
  double size = 0;
  // from a twist about A's origin to one about the world's: v + w x origin moves the origin
  tgReal X[36] = {0}, g[6] = {0};
  for (int i = 0; i < 6; i++) X[7 * i] = 1;
  for (int i = 0; i < 3; i++) {
    X[6 * (3 + (i + 2) % 3) + (i + 1) % 3] = -A.p.origin[i];
    X[6 * (3 + (i + 1) % 3) + (i + 2) % 3] = A.p.origin[i];
  }
  for (int i = 0; i < 6; i++)
    for (int k = 0; k < 6; k++) g[i] += X[6 * k + i] * sum.g[k];
  for (int i = 0; i < 36; i++) H[i] = 0;
  for (int i = 0; i < 6; i++)
    for (int j = 0; j < 6; j++)
      for (int k = 0; k < 6; k++)
        for (int l = 0; l < 6; l++) H[6 * i + j] += X[6 * k + i] * sum.H[k >= l ? TGI_LOWER(k, l) : TGI_LOWER(l, k)] * X[6 * l + j];
  check_close(f.P, sum.P, 1e-11 * fabs(tgRe(sum.P)));
  for (int i = 0; i < 6; i++) size = fmax(size, fabs(tgRe(g[i])));
  check_true(size > 0, "%s: nothing is felt", name);
  for (int i = 0; i < 6; i++)
    check_true(fabs(tgRe(f.g[i] - g[i])) <= 1e-11 * size, "%s: g %d is %.17g, and of the sum %.17g", name, i, tgRe(f.g[i]), tgRe(g[i]));
  size = 0;
  for (int i = 0; i < 36; i++) size = fmax(size, fabs(tgRe(H[i])));
  for (int i = 0; i < 6; i++)
    for (int j = 0; j < 6; j++) check_close(0.5 * (f.dg[i][j] + f.dg[j][i]), H[6 * i + j], 1e-11 * size);
}

// the barrier of distances, near and everywhere; boxes that lie square have parallel edges
static void distances(void **state) {
  (void)state;
  tgtRandom r = {9};
  const struct { bool plane, boxes; double z, turn; } scenes[] = {
      {false, false, 0.215, 0.3}, {false, false, 0.24, 0.3}, {false, true, 0.21, 0}, {false, true, 0.25, 0.02}, {true, false, 0.13, 0.3},
      {true, true, 0.11, 0.01}};
  for (size_t i = 0; i < sizeof scenes / sizeof *scenes; i++)
    for (int everywhere = 0; everywhere < 2; everywhere++) {
      Scene s = {.plane = scenes[i].plane, .form = TGI_TREE_PAPER, .law = {.local = 0.05, .distances = true, .everywhere = everywhere > 0}};
      if (scenes[i].boxes) make_shape(&s.A, TG_GEOM_BOX, 0.1, 0.12, 0.1, 0.1);
      else make_shape(&s.A, TG_GEOM_ELLIPSOID, 0.1, 0.12, 0.11, 0.1);
      if (!s.plane) make_shape(&s.B, TG_GEOM_BOX, 0.2, 0.15, 0.1, 0.01);
      nominal(&s, &s.A);
      if (!s.plane) nominal(&s, &s.B);
      s.patch = s.A.nominal[0] / 4;
      at(&s.A, &r, 1.03, 0.52, scenes[i].z, scenes[i].turn);
      if (!s.plane) at(&s.B, &r, 1, 0.5, 0, 0);
      char name[80];
      snprintf(name, sizeof name, "distances, scene %d, everywhere %d", (int)i, everywhere);
      check_local(&s, name);
      check_sum(&s, name);
      s.range = everywhere > 0 ? 0.1 : 0;
      if (everywhere > 0) check_rubbing(&s, name);
      free_shape(&s.A);
      if (!s.plane) free_shape(&s.B);
    }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(two_trees), cmocka_unit_test(half_space), cmocka_unit_test(cores),
                                     cmocka_unit_test(core_before_plane), cmocka_unit_test(rounded_edges), cmocka_unit_test(distances)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
