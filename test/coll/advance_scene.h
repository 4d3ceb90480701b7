// advance_scene.h: a simulation with the surfaces of its geoms, their exact checkers, and tgi_advance on all its pairs.
#ifndef TG_TEST_ADVANCE_SCENE_H
#define TG_TEST_ADVANCE_SCENE_H

#include <stdlib.h>

#include "coll/surfaces/advance.h"
#include "coll/surfaces/exact.h"
#include "coll/surfaces/surface.h"
#include "kin/kinematics.h"
#include "support/check.h"

typedef struct tgtScene {
  tgModel *model;
  tgSim *sim;
  tgiShapes shapes;
  tgiSolid *solid;
  tgiTreeNumbers *number;
  tgReal *memory;
  tgiAdvance advance;
  tgiExactSurface *exact;
  double **vert;            // world vertices of each geom
} tgtScene;

static inline void tgt_scene_open(tgtScene *c, tgDesc *d, double chord) {
  tgError e = {0};
  c->model = tg_model_compile(d, NULL, &e);
  check_true(c->model != NULL, "%s", e.text);
  tg_desc_free(d);
  c->sim = tg_sim_create(c->model, NULL, NULL, &e);
  check_true(c->sim != NULL, "%s", e.text);
  check_true(tgi_shapes_make(c->model, chord, false, &c->shapes, &e) == TG_OK, "%s", e.text);
  int n = c->model->ngeom, pairs = c->model->npair;
  c->solid = calloc((size_t)n, sizeof *c->solid);
  c->number = calloc((size_t)n, sizeof *c->number);
  c->exact = calloc((size_t)n, sizeof *c->exact);
  c->vert = calloc((size_t)n, sizeof *c->vert);
  size_t reals = 0;
  for (int g = 0; g < n; g++)
    if (c->shapes.surface[g] != NULL) reals += tgi_tree_reals(c->shapes.surface[g], c->shapes.tree[g]);
  c->memory = malloc(reals * sizeof *c->memory);
  reals = 0;
  for (int g = 0; g < n; g++) {
    const tgiSurface *s = c->shapes.surface[g];
    if (s == NULL) continue;
    c->number[g] = tgi_tree_place(s, c->shapes.tree[g], c->memory + reals);
    reals += tgi_tree_reals(s, c->shapes.tree[g]);
    tgi_tree_numbers(s, c->shapes.tree[g], TGI_TREE_MOMENT, TGI_CLIMB_SUM, tgi_surface_size(c->model, g), &c->number[g]);
    c->solid[g] = (tgiSolid){s, c->shapes.tree[g], &c->number[g]};
    c->vert[g] = malloc(3 * (size_t)s->nvert * sizeof *c->vert[g]);
    for (int i = 0; i < 3 * s->nvert; i++) c->vert[g][i] = tgRe(c->number[g].vert[i]);
    assert_int_equal(tgi_exact_make(c->vert[g], s->nvert, s->face, s->nface, NULL, &c->exact[g]), TG_OK);
  }
  c->advance = (tgiAdvance){.npair = pairs, .geom1 = c->model->pair_geom1, .geom2 = c->model->pair_geom2, .solid = c->solid};
  c->advance.bound = malloc((size_t)pairs * sizeof *c->advance.bound);
  c->advance.q = malloc((size_t)c->model->nq * sizeof *c->advance.q);
}

static inline void tgt_scene_close(tgtScene *c) {
  for (int g = 0; g < c->model->ngeom; g++) {
    if (c->vert[g] != NULL) tgi_exact_free(&c->exact[g]);
    free(c->vert[g]);
  }
  free(c->solid);
  free(c->number);
  free(c->exact);
  free(c->vert);
  free(c->memory);
  free(c->advance.bound);
  free(c->advance.q);
  tgi_shapes_free(&c->shapes);
  tg_sim_free(c->sim);
  tg_model_free(c->model);
}

static inline void tgt_scene_place(tgtScene *c, const tgReal *q) {
  tgi_kinematics(&c->sim->m, q, &c->sim->start);
  for (int g = 0; g < c->model->ngeom; g++) {
    if (c->vert[g] == NULL) continue;
    for (int k = 0; k < c->solid[g].surface->nvert; k++) {
      tgReal x[3];
      tgi_m3_mulv(x, c->sim->start.geom_xmat + 9 * g, c->number[g].vert + 3 * k);
      for (int i = 0; i < 3; i++) c->vert[g][3 * k + i] = tgRe(x[i] + c->sim->start.geom_xpos[3 * g + i]);
    }
    tgi_exact_pose(&c->exact[g], c->vert[g]);
  }
}

// first pair that meets at the frames of tgt_scene_place, -1: none
static inline int tgt_scene_touching(const tgtScene *c) {
  for (int p = 0; p < c->model->npair; p++) {
    int g = c->model->pair_geom1[p], h = c->model->pair_geom2[p];
    if (c->vert[g] != NULL && c->vert[h] != NULL && tgi_exact_surfaces(&c->exact[g], &c->exact[h], NULL)) return p;
    int plane = c->vert[g] == NULL ? g : c->vert[h] == NULL ? h : -1;
    if (plane < 0) continue;
    double x[3], n[3];
    for (int i = 0; i < 3; i++) {
      x[i] = tgRe(c->sim->start.geom_xpos[3 * plane + i]);
      n[i] = tgRe(c->sim->start.geom_xmat[9 * plane + 3 * i + 2]);
    }
    if (tgi_exact_half_space(&c->exact[plane == g ? h : g], x, n) >= 0) return p;
  }
  return -1;
}

static inline tgiRigid tgt_scene_pose(const tgtScene *c, int g) {
  tgiRigid P;
  for (int i = 0; i < 9; i++) P.R[i] = tgRe(c->sim->start.geom_xmat[9 * g + i]);
  for (int i = 0; i < 3; i++) P.p[i] = tgRe(c->sim->start.geom_xpos[3 * g + i]);
  return P;
}

static inline double tgt_advance(tgtScene *c, const tgReal *q, const tgReal *d, bool plain, bool forget) {
  double fraction = -1;
  c->advance.plain = plain;
  if (forget) c->advance.known = false;
  tgi_kinematics(&c->sim->m, q, &c->sim->start);
  tgStatus status = tgi_advance(c->sim, &c->advance, &c->sim->start, d, &fraction);
  if (status == TG_ERR_CAPACITY) {
    assert_int_equal(tgi_sim_grow(c->sim), TG_OK);
    tgi_kinematics(&c->sim->m, q, &c->sim->start);
    status = tgi_advance(c->sim, &c->advance, &c->sim->start, d, &fraction);
  }
  assert_int_equal(status, TG_OK);
  return fraction;
}

#endif
