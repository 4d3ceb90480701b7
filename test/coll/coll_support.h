// coll_support.h: random shapes and poses, rigid displacement of a shape, derivative and invariance checks of a pair.
#ifndef TG_TEST_COLL_SUPPORT_H
#define TG_TEST_COLL_SUPPORT_H

#include <string.h>
#include "coll/features/narrow.h"
#include "math/quat.h"
#include "math/spatial.h"
#include "support/check.h"

/// A shape that owns its pose. size of a mesh: the scale of its hull.
typedef struct tgtShape {
  tgGeomType type;
  tgReal size[3], pos[3], mat[9];
  const tgHull *hull;
} tgtShape;

/// A hull under a scale, with room for it.
typedef struct tgtScaled { tgHull hull; tgReal vert[3 * 400], plane[4 * 800]; } tgtScaled;

static inline tgShape tgt_shape(const tgtShape *s, tgtScaled *room) {
  tgShape S = {.type = s->type, .size = s->size, .hull = s->hull, .pos = s->pos, .mat = s->mat};
  if (s->type != TG_GEOM_MESH || s->hull == NULL) return S;
  assert_true(s->hull->nvert <= 400 && s->hull->nface <= 800);
  room->hull = tgi_hull_scale(s->hull, s->size, room->vert, room->plane);
  S.hull = &room->hull;
  return S;
}
static inline void tgt_random_quat(tgtRandom *r, tgReal *q) {
  for (int i = 0; i < 4; i++) q[i] = tgt_normal(r);
  tgi_quat_normalize(q);
}
static inline void tgt_random_pose(tgtRandom *r, tgtShape *s, double spread) {
  tgReal q[4];
  tgt_random_quat(r, q);
  tgi_quat_to_mat(s->mat, q);
  for (int i = 0; i < 3; i++) s->pos[i] = tgt_uniform(r, -spread, spread);
}
/// Moves the shape by exp of the spatial motion h m (world axes, world origin), to first order exact in h's imaginary
/// part: R <- exp(h w) R, x <- exp(h w) x + h V v with V = 1 + h[w]/2 + ...: here v is applied after the turn, which has
/// the same first derivative at h = 0.
static inline void tgt_move(tgtShape *s, const double *m, tgReal h) {
  tgReal w[3], q[4], R[9], x[3], M[9];
  for (int i = 0; i < 3; i++) w[i] = h * m[i];
  tgi_quat_exp(q, w);
  tgi_quat_to_mat(R, q);
  tgi_m3_mul(M, R, s->mat);
  tgi_m3_copy(s->mat, M);
  tgi_m3_mulv(x, R, s->pos);
  for (int i = 0; i < 3; i++) s->pos[i] = x[i] + h * m[3 + i];
}
static inline void tgt_apply(tgtShape *s, const tgReal *R, const tgReal *d) {
  tgReal x[3], M[9];
  tgi_m3_mul(M, R, s->mat);
  tgi_m3_copy(s->mat, M);
  tgi_m3_mulv(x, R, s->pos);
  tgi_v3_add(s->pos, x, d);
}
static inline int tgt_collide(const tgtShape *a, const tgtShape *b, double margin, tgCollide want, int32_t *memory,
                              tgContactPoint *out, double *distance) {
  static tgtScaled room[2];
  tgShape A = tgt_shape(a, &room[0]), B = tgt_shape(b, &room[1]);
  return tgi_collide(&A, &B, margin, 0, want, memory, out, distance);
}

/// The kinds of shapes, and meshes for them (group set-up and tear-down).
enum { TGT_KINDS = 7, TGT_MESHES = 6 };
static const char *const tgt_kind_name[] = {"plane", "sphere", "capsule", "box", "mesh", "cylinder", "ellipsoid"};
static tgHullOwned *tgt_mesh[TGT_MESHES];

static inline int tgt_build_meshes(void **state) {
  (void)state;
  tgtRandom r = {1};
  tgError why;
  for (int k = 0; k < TGT_MESHES; k++) {
    double x[3 * 300];
    int n = k < 5 ? 4 + 4 * k : 300;                 // up to those that go through GJK
    for (int i = 0; i < 3 * n; i++) x[i] = tgt_uniform(&r, -0.4, 0.4);
    if (tgi_hull_from_points(x, n, NULL, &tgt_mesh[k], &why) < 0) return -1;
  }
  return 0;
}
static inline int tgt_free_meshes(void **state) {
  (void)state;
  for (int k = 0; k < TGT_MESHES; k++) tgi_hull_free(tgt_mesh[k]);
  return 0;
}

static inline void tgt_make_shape(tgtShape *s, int kind, tgtRandom *r) {
  memset(s, 0, sizeof *s);
  tgi_m3_identity(s->mat);
  switch (kind) {
    case 0: s->type = TG_GEOM_PLANE; break;
    case 1: s->type = TG_GEOM_SPHERE; s->size[0] = tgt_uniform(r, 0.1, 0.5); break;
    case 2:
      s->type = TG_GEOM_CAPSULE;
      s->size[0] = tgt_uniform(r, 0.05, 0.3);
      s->size[1] = tgt_uniform(r, 0.1, 0.6);
      break;
    case 3:
      s->type = TG_GEOM_BOX;
      for (int i = 0; i < 3; i++) s->size[i] = tgt_uniform(r, 0.1, 0.5);
      break;
    case 4:
      s->type = TG_GEOM_MESH;
      for (int i = 0; i < 3; i++) s->size[i] = tgt_uniform(r, 0.7, 1.3);
      s->hull = &tgt_mesh[tgt_next(r) % TGT_MESHES]->hull;
      break;
    case 5:
      s->type = TG_GEOM_CYLINDER;
      s->size[0] = tgt_uniform(r, 0.1, 0.4);
      s->size[1] = tgt_uniform(r, 0.05, 0.5);
      break;
    default:
      s->type = TG_GEOM_ELLIPSOID;
      for (int i = 0; i < 3; i++) s->size[i] = tgt_uniform(r, 0.15, 0.4);
      break;
  }
}

// random poses; when near, A is moved along the line of centres (or the plane's normal) to a gap in [-0.05, 0.03]
static inline void tgt_place_pair(tgtShape *a, tgtShape *b, tgtRandom *r, bool near) {
  double dir[3], gap = 0, want = tgt_uniform(r, -0.05, 0.03);
  tgContactPoint out[TG_PAIR_POINTS];
  tgt_random_pose(r, a, 0.5);
  tgt_random_pose(r, b, 0.5);
  for (int i = 0; i < 3; i++) {
    dir[i] = tgRe(a->pos[i] - b->pos[i]);
    if (a->type == TG_GEOM_PLANE) dir[i] = -tgRe(a->mat[3 * i + 2]);
    if (b->type == TG_GEOM_PLANE) dir[i] = tgRe(b->mat[3 * i + 2]);
  }
  double len = sqrt(dir[0] * dir[0] + dir[1] * dir[1] + dir[2] * dir[2]);
  for (int it = 0; it < 30 && near; it++) {
    int32_t memory[TG_PAIR_MEMORY] = {0};
    tgt_collide(a, b, 0, TG_COLLIDE_POINTS, memory, out, &gap);
    for (int i = 0; i < 3; i++) a->pos[i] += (want - gap) * dir[i] / len;
  }
}

static inline void tgt_set_box(tgtShape *s, double hx, double hy, double hz, double x, double y, double z) {
  memset(s, 0, sizeof *s);
  s->type = TG_GEOM_BOX;
  tgi_v3_set(s->size, hx, hy, hz);
  tgi_v3_set(s->pos, x, y, z);
  tgi_m3_identity(s->mat);
}

static inline void tgt_set_sphere(tgtShape *s, double radius, double x, double y, double z) {
  memset(s, 0, sizeof *s);
  s->type = TG_GEOM_SPHERE;
  s->size[0] = radius;
  tgi_v3_set(s->pos, x, y, z);
  tgi_m3_identity(s->mat);
}

static inline void tgt_set_capsule(tgtShape *s, double r, double h, double x, double y, double z, int axis) {
  memset(s, 0, sizeof *s);
  s->type = TG_GEOM_CAPSULE;
  s->size[0] = r;
  s->size[1] = h;
  tgi_v3_set(s->pos, x, y, z);
  for (int k = 0; k < 3; k++) s->mat[3 * ((axis + 1 + k) % 3) + k] = 1;   // geom z along the world axis
}

static inline void tgt_turn(tgtShape *s, double ax, double ay, double az, double angle) {
  tgReal q[4], R[9], M[9], axis[3];
  double len = sqrt(ax * ax + ay * ay + az * az);
  tgi_v3_set(axis, ax / len, ay / len, az / len);
  tgi_quat_axis_angle(q, axis, angle);
  tgi_quat_to_mat(R, q);
  tgi_m3_mul(M, R, s->mat);
  tgi_m3_copy(s->mat, M);
}

static inline int tgt_fresh(const tgtShape *a, const tgtShape *b, tgContactPoint *c) {
  int32_t memory[TG_PAIR_MEMORY] = {0};
  return tgt_collide(a, b, 0, TG_COLLIDE_POSE, memory, c, NULL);
}

#endif
