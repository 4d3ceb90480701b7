// coll_support.h: random shapes and poses, rigid displacement of a shape, derivative and invariance checks of a pair.
#ifndef TG_TEST_COLL_SUPPORT_H
#define TG_TEST_COLL_SUPPORT_H

#include <string.h>
#include "coll/narrow.h"
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
  return tgi_collide(&A, &B, margin, want, memory, out, distance);
}

#endif
