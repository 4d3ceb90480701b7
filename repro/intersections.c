// intersections.c: pairs of geoms that have a point in common, by exact predicates on their triangles at the poses of a motion.
#include <stdlib.h>
#include <string.h>

#include "repro/barrier.h"
#include "math/vec3.h"

struct tgTouching {
  const tgModel *m;
  tgiShapes shapes;
  tgiExactSurface *surface;      // of each geom; nface 0: a plane, or never touches
  double **local, **world;       // vertices in the geom's frame and in the world
};

static tgStatus add_geom(tgTouching *t, int g) {
  const tgiSurface *s = t->shapes.surface[g];
  if (s == NULL) return TG_OK;
  t->local[g] = calloc((size_t)s->nvert * 6, sizeof(double));
  if (t->local[g] == NULL) return TG_ERR_MEMORY;
  t->world[g] = t->local[g] + 3 * s->nvert;
  tgi_surface_place(s, tgi_surface_size(t->m, g), t->local[g]);
  return tgi_exact_make(t->local[g], s->nvert, s->face, s->nface, NULL, &t->surface[g]);
}

tgTouching *tgi_touching_create(const tgModel *m) {
  size_t n = (size_t)m->ngeom;
  tgTouching *t = calloc(1, sizeof *t);
  if (t == NULL) return NULL;
  t->m = m;
  t->surface = calloc(n + 1, sizeof *t->surface);
  t->local = calloc(2 * n + 1, sizeof *t->local);
  t->world = t->local + n;
  tgStatus st = t->surface == NULL || t->local == NULL ? TG_ERR_MEMORY : tgi_shapes_make(m, TGI_CHORD, &t->shapes, NULL);
  for (int g = 0; g < m->ngeom && st == TG_OK; g++) st = add_geom(t, g);
  if (st == TG_OK) return t;
  tgi_touching_free(t);
  return NULL;
}

void tgi_touching_free(tgTouching *t) {
  if (t == NULL) return;
  for (int g = 0; g < t->m->ngeom && t->local != NULL && t->surface != NULL; g++) {
    if (t->surface[g].nface > 0) tgi_exact_free(&t->surface[g]);
    free(t->local[g]);
  }
  if (t->shapes.surface != NULL) tgi_shapes_free(&t->shapes);
  free(t->surface);
  free(t->local);
  free(t);
}

static bool pair_touches(const tgTouching *t, const tgSim *s, int a, int b) {
  const tgModel *m = t->m;
  if (m->geom_type[a] != TG_GEOM_PLANE && m->geom_type[b] != TG_GEOM_PLANE) return tgi_exact_surfaces(&t->surface[a], &t->surface[b], NULL);
  int plane = m->geom_type[a] == TG_GEOM_PLANE ? a : b, other = plane == a ? b : a;
  const tgReal *R = s->start.geom_xmat + 9 * plane;
  double normal[3] = {R[2], R[5], R[8]};
  return tgi_exact_half_space(&t->surface[other], s->start.geom_xpos + 3 * plane, normal) >= 0;
}

int tgi_touching_count(tgTouching *t, const tgSim *s) {
  const tgModel *m = t->m;
  for (int g = 0; g < m->ngeom; g++) {
    if (t->surface[g].nface == 0) continue;
    for (int k = 0; k < t->surface[g].nvert; k++) {
      double *x = t->world[g] + 3 * k;
      tgi_m3_mulv(x, s->start.geom_xmat + 9 * g, t->local[g] + 3 * k);
      tgi_v3_add(x, x, s->start.geom_xpos + 3 * g);
    }
    tgi_exact_pose(&t->surface[g], t->world[g]);
  }
  int n = 0;
  for (int p = 0; p < m->npair; p++) n += pair_touches(t, s, m->pair_geom1[p], m->pair_geom2[p]);
  return n;
}

long tgi_touching_motion(const tgModel *m, const double *q, int steps) {
  tgTouching *t = tgi_touching_create(m);
  tgSim *sim = t != NULL ? tg_sim_create(m, NULL, NULL, NULL) : NULL;
  long n = sim != NULL ? 0 : -1;
  for (int k = 0; k <= steps && n >= 0; k++) {
    memcpy(tg_sim_qpos(sim), q + (size_t)k * (size_t)m->nq, (size_t)m->nq * sizeof *q);
    n = tg_sim_forward(sim) == TG_OK ? n + tgi_touching_count(t, sim) : -1;
  }
  tg_sim_free(sim);
  tgi_touching_free(t);
  return n;
}
