// feature.c: see feature.h.
//
// A polytope under the scale s is x = S x0, n = unit(S^-1 n0), so that dx/ds_i = x_i/s_i e_i and
// dn/ds_i = -n_i/s_i (e_i - n_i n) in the geom's frame; a box is the unit cube under its half lengths.
#include "coll/features/feature.h"

#include <string.h>

void tgi_round_core(tgiCore *core, const tgShape *S, bool is_a, int at, tgCollide want) {
  tgReal h = S->type == TG_GEOM_CAPSULE ? S->size[1] : 0;
  core->r = S->size[0];
  core->round = true;
  core->part = 0;
  core->is_a = is_a;
  core->line = at == TGI_AT_INSIDE && tgRe(h) > 0;
  double sign = at == TGI_AT_START ? -1 : 1;
  for (int i = 0; i < 3; i++) {
    core->u[i] = sign * h * S->mat[3 * i + 2];
    core->x[i] = S->pos[i] + (core->line ? 0 : core->u[i]);
  }
  if (want < TG_COLLIDE_SIZE) return;
  memset(&core->size, 0, sizeof core->size);
  core->size.r[0] = 1;
  if (S->type != TG_GEOM_CAPSULE) return;
  for (int i = 0; i < 3; i++) {
    tgReal axis = sign * S->mat[3 * i + 2];
    core->size.u[1][i] = axis;
    if (!core->line) core->size.x[1][i] = axis;
  }
}

void tgi_plane_face(tgiFace *F, const tgShape *P, bool is_a) {
  for (int i = 0; i < 3; i++) {
    F->n[i] = P->mat[3 * i + 2];
    F->s[i] = P->pos[i];
  }
  F->is_a = is_a;
  F->part = 0;
  memset(&F->size, 0, sizeof F->size);
}

// rates of a vector of the geom's frame that scales with it
static void scale_rates(tgReal rate[3][3], const tgShape *S, const tgReal *x) {
  for (int k = 0; k < 3; k++)
    for (int i = 0; i < 3; i++) rate[k][i] = S->mat[3 * i + k] * x[k] / S->size[k];
}

static void start(tgiCore *core, bool is_a, bool line) {
  core->r = 0;
  core->round = false;
  core->part = 0;
  core->is_a = is_a;
  core->line = line;
}

void tgi_hull_vertex(tgiCore *core, const tgShape *S, bool is_a, int v, tgCollide want) {
  const tgReal *x = S->hull->vert + 3 * v;
  start(core, is_a, false);
  core->part = 1 + v;
  tgi_m3_mulv(core->x, S->mat, x);
  tgi_v3_add(core->x, core->x, S->pos);
  if (want < TG_COLLIDE_SIZE) return;
  memset(&core->size, 0, sizeof core->size);
  scale_rates(core->size.x, S, x);
}

void tgi_hull_edge(tgiCore *core, const tgShape *S, bool is_a, int e, tgCollide want) {
  const int *q = S->hull->edge + 4 * e;
  tgReal d[3];
  tgi_hull_vertex(core, S, is_a, q[0], want);
  core->line = true;
  core->part = -1 - e;
  tgi_v3_sub(d, S->hull->vert + 3 * q[1], S->hull->vert + 3 * q[0]);
  tgi_m3_mulv(core->u, S->mat, d);
  if (want >= TG_COLLIDE_SIZE) scale_rates(core->size.u, S, d);
}

// mean of a face's corners: the plane goes through it
static int face_mean(tgReal *x, const tgHull *h, int f) {
  int adr = h->face_adr[f], len = h->face_adr[f + 1] - adr;
  tgi_v3_zero(x);
  for (int k = 0; k < len; k++) tgi_v3_axpy(x, 1.0 / len, h->vert + 3 * h->face_vert[adr + k]);
  return len;
}

void tgi_hull_face(tgiFace *F, const tgShape *S, bool is_a, int f, tgCollide want) {
  const tgReal *n = S->hull->face_plane + 4 * f;
  tgReal x[3];
  F->is_a = is_a;
  F->part = 1 + f;
  face_mean(x, S->hull, f);
  tgi_m3_mulv(F->n, S->mat, n);
  tgi_m3_mulv(F->s, S->mat, x);
  tgi_v3_add(F->s, F->s, S->pos);
  if (want < TG_COLLIDE_SIZE) return;
  memset(&F->size, 0, sizeof F->size);
  scale_rates(F->size.x, S, x);
  for (int k = 0; k < 3; k++)
    for (int i = 0; i < 3; i++) F->size.u[k][i] = -n[k] / S->size[k] * (S->mat[3 * i + k] - n[k] * F->n[i]);
}

// what a vertex of the scaled hull gets, handed to the vertex before the scale
static void give(tgReal *g, const tgShape *S, int v, const tgReal x[3]) {
  for (int i = 0; i < 3; i++) g[3 * v + i] += S->type == TG_GEOM_MESH ? S->size[i] * x[i] : x[i];
}

// n = N/|N|, N the sum of p_k x p_(k+1) about the face: N'.g = sum of p_k'.((p_(k+1) - p_(k-1)) x g)
static void face_vjp(const tgShape *S, int f, const tgReal gx[3], const tgReal gn[3], tgReal *g) {
  const tgHull *h = S->hull;
  const int *loop = h->face_vert + h->face_adr[f];
  const tgReal *n = h->face_plane + 4 * f;
  tgReal mean[3], N[3] = {0, 0, 0}, p[3], q[3], c[3], gN[3], along = tgi_v3_dot(n, gn);
  int len = face_mean(mean, h, f);
  for (int k = 0; k < len; k++) {
    tgi_v3_sub(p, h->vert + 3 * loop[k], mean);
    tgi_v3_sub(q, h->vert + 3 * loop[(k + 1) % len], mean);
    tgi_v3_cross(c, p, q);
    tgi_v3_add(N, N, c);
  }
  tgReal size = tgi_v3_norm(N);
  for (int i = 0; i < 3; i++) gN[i] = (gn[i] - along * n[i]) / size;
  for (int k = 0; k < len; k++) {
    tgi_v3_sub(p, h->vert + 3 * loop[(k + 1) % len], h->vert + 3 * loop[(k + len - 1) % len]);
    tgi_v3_cross(c, p, gN);
    tgi_v3_axpy(c, 1.0 / len, gx);
    give(g, S, loop[k], c);
  }
}

void tgi_hull_part_vjp(const tgShape *S, bool face, int part, const tgReal gx[3], const tgReal gu[3], tgReal *g) {
  tgReal x[3], u[3];
  tgi_m3_tmulv(x, S->mat, gx);
  tgi_m3_tmulv(u, S->mat, gu);
  if (part == 0) return;
  if (face) {
    face_vjp(S, part - 1, x, u, g);
  } else if (part > 0) {
    give(g, S, part - 1, x);
  } else {
    const int *e = S->hull->edge + 4 * (-1 - part);
    tgi_v3_sub(x, x, u);
    give(g, S, e[0], x);
    give(g, S, e[1], u);
  }
}

void tgi_cylinder_cap(tgiFace *F, const tgShape *S, bool is_a, int cap) {
  double sign = cap == 0 ? -1 : 1;
  F->is_a = is_a;
  F->part = 0;
  memset(&F->size, 0, sizeof F->size);
  for (int i = 0; i < 3; i++) {
    F->n[i] = F->size.x[1][i] = sign * S->mat[3 * i + 2];
    F->s[i] = S->pos[i] + S->size[1] * F->n[i];
  }
}

void tgi_cylinder_point(tgiCore *core, const tgShape *S, bool is_a, int cap, const double at[2]) {
  double sign = cap == 0 ? -1 : 1;
  start(core, is_a, false);
  memset(&core->size, 0, sizeof core->size);
  for (int i = 0; i < 3; i++) {
    core->size.x[0][i] = at[0] * S->mat[3 * i] + at[1] * S->mat[3 * i + 1];
    core->size.x[1][i] = sign * S->mat[3 * i + 2];
    core->x[i] = S->pos[i] + S->size[0] * core->size.x[0][i] + S->size[1] * core->size.x[1][i];
  }
}
