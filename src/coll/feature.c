// feature.c: see feature.h.
//
// A polytope under the scale s is x = S x0, n = unit(S^-1 n0), so that dx/ds_i = x_i/s_i e_i and
// dn/ds_i = -n_i/s_i (e_i - n_i n) in the geom's frame; a box is the unit cube under its half lengths.
#include "coll/feature.h"

#include <string.h>

void tgi_round_core(tgiCore *core, const tgShape *S, bool is_a, int at, tgCollide want) {
  tgReal h = S->type == TG_GEOM_CAPSULE ? S->size[1] : 0;
  core->r = S->size[0];
  core->round = true;
  core->is_a = is_a;
  core->line = at == TGI_AT_INSIDE && tgRe(h) > 0;
  double sign = at == TGI_AT_START ? -1 : 1;
  for (int i = 0; i < 3; i++) {
    core->u[i] = sign * h * S->mat[3 * i + 2];
    core->x[i] = S->pos[i] + (core->line ? 0 : core->u[i]);
  }
  if (want != TG_COLLIDE_SIZE) return;
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
  core->is_a = is_a;
  core->line = line;
}

void tgi_hull_vertex(tgiCore *core, const tgShape *S, bool is_a, int v, tgCollide want) {
  const tgReal *x = S->hull->vert + 3 * v;
  start(core, is_a, false);
  tgi_m3_mulv(core->x, S->mat, x);
  tgi_v3_add(core->x, core->x, S->pos);
  if (want != TG_COLLIDE_SIZE) return;
  memset(&core->size, 0, sizeof core->size);
  scale_rates(core->size.x, S, x);
}

void tgi_hull_edge(tgiCore *core, const tgShape *S, bool is_a, int e, tgCollide want) {
  const int *q = S->hull->edge + 4 * e;
  tgReal d[3];
  tgi_hull_vertex(core, S, is_a, q[0], want);
  core->line = true;
  tgi_v3_sub(d, S->hull->vert + 3 * q[1], S->hull->vert + 3 * q[0]);
  tgi_m3_mulv(core->u, S->mat, d);
  if (want == TG_COLLIDE_SIZE) scale_rates(core->size.u, S, d);
}

void tgi_hull_face(tgiFace *F, const tgShape *S, bool is_a, int f, tgCollide want) {
  const tgReal *n = S->hull->face_plane + 4 * f, *x = S->hull->vert + 3 * S->hull->face_vert[S->hull->face_adr[f]];
  F->is_a = is_a;
  tgi_m3_mulv(F->n, S->mat, n);
  tgi_m3_mulv(F->s, S->mat, x);
  tgi_v3_add(F->s, F->s, S->pos);
  if (want != TG_COLLIDE_SIZE) return;
  memset(&F->size, 0, sizeof F->size);
  scale_rates(F->size.x, S, x);
  for (int k = 0; k < 3; k++)
    for (int i = 0; i < 3; i++) F->size.u[k][i] = -n[k] / S->size[k] * (S->mat[3 * i + k] - n[k] * F->n[i]);
}

void tgi_cylinder_cap(tgiFace *F, const tgShape *S, bool is_a, int cap) {
  double sign = cap == 0 ? -1 : 1;
  F->is_a = is_a;
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
