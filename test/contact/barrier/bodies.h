// bodies.h: surfaces with their trees, made and transformed for the tests of the barrier.
#ifndef TG_TEST_CONTACT_BARRIER_BODIES_H
#define TG_TEST_CONTACT_BARRIER_BODIES_H

#include <stdlib.h>
#include <string.h>

#include "contact/barrier/tree/tree_pair.h"
#include "math/vec3.h"
#include "support/check.h"
#include "test/contact/barrier/half_space.h"

typedef struct tgtBody {
  tgiSurface surface;
  tgiTree tree;
  tgiTreeNumbers numbers, plane_numbers;
  tgiWorldTree world, plane;
  tgReal *memory;
  double *nominal;
} tgtBody;

/// Radius around the faces, where these round, of bodies that are made from now on.
static double tgt_rounding = 0;

static inline void tgt_body_numbers(tgtBody *b, tgiTreeForm form, const double size[3]) {
  size_t n = (size_t)b->tree.nnode, reals = tgi_tree_reals(&b->surface, &b->tree), world = tgi_world_tree_reals(&b->surface, &b->tree);
  tgReal z[3] = {size[0], size[1], size[2]};
  b->memory = malloc((2 * reals + 2 * world) * sizeof *b->memory);
  b->nominal = malloc(n * sizeof *b->nominal);
  b->numbers = tgi_tree_place(&b->surface, &b->tree, b->memory);
  b->plane_numbers = tgi_tree_place(&b->surface, &b->tree, b->memory + reals);
  tgi_tree_numbers_at(&b->surface, &b->tree, form, TGI_CLIMB_SUM, z, 0, tgt_rounding, &b->numbers);
  if (form == TGI_TREE_MOMENT) tgi_plane_numbers(&b->tree, &b->numbers, &b->plane_numbers);
  else b->plane_numbers = b->numbers;
  for (size_t k = 0; k < n; k++) b->nominal[k] = tgRe(b->numbers.radius[k]);
  tgi_world_tree_place(&b->surface, &b->tree, b->memory + 2 * reals, &b->world);
  tgi_world_tree_place(&b->surface, &b->tree, b->memory + 2 * reals + world, &b->plane);
  b->world.nominal = b->plane.nominal = b->nominal;
  tgi_world_tree_numbers(&b->numbers, &b->world);
  tgi_world_tree_numbers(&b->plane_numbers, &b->plane);
}

static inline void tgt_body_finish(tgtBody *b, tgiTreeForm form, const double size[3]) {
  assert_int_equal(tgi_tree_make(&b->surface, size, NULL, &b->tree), TG_OK);
  tgt_body_numbers(b, form, size);
}

static inline void tgt_body_primitive(tgtBody *b, tgGeomType type, double x, double y, double z, double chord, tgiTreeForm form) {
  double size[3] = {x, y, z};
  assert_int_equal(tgi_surface_primitive(type, size, chord, NULL, &b->surface), TG_OK);
  tgt_body_finish(b, form, size);
}

static inline void tgt_body_mesh(tgtBody *b, const double *vert, int nvert, const int *face, int nface, tgiTreeForm form) {
  double ones[3] = {1, 1, 1};
  tgError e = {0};
  check_true(tgi_surface_mesh(vert, nvert, face, nface, NULL, &b->surface, &e) >= 0, "%s", e.text);
  tgt_body_finish(b, form, ones);
}

/// A torus about z with n x m quads.
static inline void tgt_body_torus(tgtBody *b, double R, double r, int n, int m, tgiTreeForm form) {
  double *vert = malloc((size_t)(3 * n * m) * sizeof *vert);
  int *face = malloc((size_t)(6 * n * m) * sizeof *face), *f = face;
  for (int i = 0; i < n; i++)
    for (int j = 0; j < m; j++) {
      double u = 2 * TG_PI * i / n, v = 2 * TG_PI * j / m, *x = vert + 3 * (i * m + j);
      x[0] = (R + r * cos(v)) * cos(u);
      x[1] = (R + r * cos(v)) * sin(u);
      x[2] = r * sin(v);
      int a = i * m + j, c = (i + 1) % n * m + j, d = (i + 1) % n * m + (j + 1) % m, e = i * m + (j + 1) % m;
      int q[6] = {a, c, d, a, d, e};
      for (int k = 0; k < 6; k++) *f++ = q[k];
    }
  tgt_body_mesh(b, vert, n * m, face, 2 * n * m, form);
  free(vert);
  free(face);
}

/// A box of half sides x, y, z whose faces are n x n grids.
static inline void tgt_body_grid(tgtBody *b, double x, double y, double z, int n, tgiTreeForm form) {
  int per = (n + 1) * (n + 1);
  double *vert = malloc((size_t)(18 * per) * sizeof *vert), half[3] = {x, y, z};
  int *face = malloc((size_t)(36 * n * n) * sizeof *face), *f = face;
  for (int s = 0; s < 6; s++)
    for (int i = 0; i <= n; i++)
      for (int j = 0; j <= n; j++) {
        int k = s / 2, at = s * per + i * (n + 1) + j;
        double sign = s % 2 ? 1 : -1;
        vert[3 * at + k] = sign * half[k];
        vert[3 * at + (k + 1) % 3] = half[(k + 1) % 3] * (2.0 * i / n - 1);
        vert[3 * at + (k + 2) % 3] = half[(k + 2) % 3] * (2.0 * j / n - 1);
        if (i == n || j == n) continue;
        int q[6] = {at, at + n + 1, at + n + 2, at, at + n + 2, at + 1};
        for (int t = 0; t < 2; t++, f += 3) {
          f[0] = q[3 * t];
          f[1] = q[3 * t + (sign > 0 ? 1 : 2)];
          f[2] = q[3 * t + (sign > 0 ? 2 : 1)];
        }
      }
  tgt_body_mesh(b, vert, 6 * per, face, 12 * n * n, form);
  free(vert);
  free(face);
}

static inline void tgt_body_free(tgtBody *b) {
  free(b->memory);
  free(b->nominal);
  tgi_tree_free(&b->tree);
  tgi_surface_free(&b->surface);
}

static inline void tgt_body_move(tgtBody *b, const tgReal x[3], const tgReal R[9]) {
  tgi_world_tree_transform(&b->numbers, x, R, &b->world);
  tgi_world_tree_transform(&b->plane_numbers, x, R, &b->plane);
}

/// Rotation by the vector w.
static inline void tgt_rotation(const double w[3], tgReal R[9]) {
  double a = sqrt(w[0] * w[0] + w[1] * w[1] + w[2] * w[2]), s = a > 0 ? sin(a) / a : 1, c = a > 0 ? (1 - cos(a)) / (a * a) : 0.5;
  double K[9] = {0, -w[2], w[1], w[2], 0, -w[0], -w[1], w[0], 0};
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < 3; j++) {
      double kk = 0;
      for (int k = 0; k < 3; k++) kk += K[3 * i + k] * K[3 * k + j];
      R[3 * i + j] = (i == j) + s * K[3 * i + j] + c * kk;
    }
}

static inline tgiTreeWork *tgt_tree_work(const tgtBody *a, const tgtBody *b) {
  int depth = a->tree.depth + b->tree.depth;
  return tgi_tree_work_place(aligned_alloc(64, (tgi_tree_work_bytes(depth) + 63) / 64 * 64), depth);
}

static inline tgiTreeLaw tgt_law(const tgtBody *a, const tgtBody *b, tgiTreeForm form, double eps) {
  tgiTreeLaw law = {.eps = eps, .base = form == TGI_TREE_PAPER ? 12 : 0};
  if (form == TGI_TREE_MOMENT) {
    law.one_sided[0] = tgi_one_sided(&a->world, &b->world);
    law.one_sided[1] = tgi_one_sided(&b->world, &a->world);
  }
  return law;
}

#endif
