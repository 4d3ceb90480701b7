// intersections.c: pairs of geoms that have a point in common, by exact predicates on their triangles. See tangere/geometry.h.
#include <stdlib.h>
#include <string.h>

#include "base/status.h"
#include "coll/surfaces/exact.h"
#include "coll/surfaces/surface.h"
#include "math/vec3.h"
#include "sim/sim.h"
#include "tangere/geometry.h"

struct tgIntersections {
  const tgModel *m;
  tgiShapes shapes;
  tgiExactSurface *surface;      // of each geom; nface 0: a plane, or never touches
  double **local, **world;       // vertices in the geom's frame and in the world
};
static tgStatus add_geom(tgIntersections *t, int g) {
  const tgiSurface *s = t->shapes.surface[g];
  if (s == NULL) return TG_OK;
  t->local[g] = calloc((size_t)s->nvert * 6, sizeof(double));
  if (t->local[g] == NULL) return TG_ERR_MEMORY;
  t->world[g] = t->local[g] + 3 * s->nvert;
  tgi_surface_place(s, tgi_surface_size(t->m, g), t->local[g]);
  return tgi_exact_make(t->local[g], s->nvert, s->face, s->nface, NULL, &t->surface[g]);
}

tgIntersections *tg_intersections_create(const tgModel *m, tgError *error) {
  if (m == NULL) return tgi_error(error, TG_ERR_ARG, "no model given"), NULL;
  size_t n = (size_t)m->ngeom;
  tgIntersections *t = calloc(1, sizeof *t);
  if (t == NULL) return tgi_error(error, TG_ERR_MEMORY, "out of memory for the judge of intersections"), NULL;
  t->m = m;
  t->surface = calloc(n + 1, sizeof *t->surface);
  t->local = calloc(2 * n + 1, sizeof *t->local);
  t->world = t->local + n;
  bool made = t->surface != NULL && t->local != NULL;
  tgStatus st = made ? tgi_shapes_make(m, TGI_CHORD, false, &t->shapes, error)
                : tgi_error(error, TG_ERR_MEMORY, "out of memory for the judge of intersections");
  for (int g = 0; g < m->ngeom && st == TG_OK; g++) st = add_geom(t, g);
  if (st == TG_OK) return t;
  if (st == TG_ERR_MEMORY) tgi_error(error, st, "out of memory for the judge of intersections");
  tg_intersections_free(t);
  return NULL;
}

void tg_intersections_free(tgIntersections *t) {
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

// places [m] and rotations of geoms in the world
typedef struct Frames { const tgReal *pos, *mat; } Frames;

static Frames frames_of(const tgSim *s) {
  return (Frames){s->start.geom_xpos, s->start.geom_xmat};
}

// at the sim's sizes
static void place(tgIntersections *t, const tgSim *s, Frames f) {
  for (int g = 0; g < t->m->ngeom; g++) {
    if (t->surface[g].nface == 0) continue;
    tgi_surface_place(t->shapes.surface[g], tgi_surface_size(&s->m, g), t->local[g]);
    for (int k = 0; k < t->surface[g].nvert; k++) {
      double *x = t->world[g] + 3 * k;
      tgi_m3_mulv(x, f.mat + 9 * g, t->local[g] + 3 * k);
      tgi_v3_add(x, x, f.pos + 3 * g);
    }
    tgi_exact_pose(&t->surface[g], t->world[g]);
  }
}

static bool boxes_overlap(const tgiExactSurface *a, const tgiExactSurface *b) {
  bool overlap = true;
  for (int i = 0; i < 3; i++) overlap = overlap && a->box[i] <= b->box[3 + i] && b->box[i] <= a->box[3 + i];
  return overlap;
}

// faces that meet, or one wholly inside the other
static bool surfaces_intersect(const tgiExactSurface *a, const tgiExactSurface *b) {
  if (!boxes_overlap(a, b)) return false;
  return tgi_exact_surfaces(a, b, NULL) || tgi_surface_winding(a, b->vert) > 0.5 || tgi_surface_winding(b, a->vert) > 0.5;
}

static bool intersect(const tgIntersections *t, Frames f, int a, int b) {
  const tgModel *m = t->m;
  if (m->geom_type[a] != TG_GEOM_PLANE && m->geom_type[b] != TG_GEOM_PLANE) return surfaces_intersect(&t->surface[a], &t->surface[b]);
  int plane = m->geom_type[a] == TG_GEOM_PLANE ? a : b, other = plane == a ? b : a;
  const tgReal *R = f.mat + 9 * plane;
  double normal[3] = {R[2], R[5], R[8]};
  return tgi_exact_half_space(&t->surface[other], f.pos + 3 * plane, normal) >= 0;
}

int tg_intersections_count(tgIntersections *t, const tgSim *s, int (*geoms)[2], int room) {
  if (t == NULL || s == NULL || s->model != t->m || (geoms == NULL && room > 0)) return 0;
  const tgModel *m = t->m;
  Frames f = frames_of(s);
  int n = 0;
  place(t, s, f);
  for (int p = 0; p < m->npair; p++) {
    if (!intersect(t, f, m->pair_geom1[p], m->pair_geom2[p])) continue;
    if (n < room) {
      geoms[n][0] = m->pair_geom1[p];
      geoms[n][1] = m->pair_geom2[p];
    }
    n++;
  }
  return n;
}

long tg_intersections_of_motion(const tgModel *m, const double *q, int steps) {
  if (m == NULL || q == NULL) return -1;
  tgIntersections *t = tg_intersections_create(m, NULL);
  tgSim *sim = t != NULL ? tg_sim_create(m, NULL, NULL, NULL) : NULL;
  long n = sim != NULL ? 0 : -1;
  for (int k = 0; k <= steps && n >= 0; k++) {
    memcpy(tg_sim_qpos(sim), q + (size_t)k * (size_t)m->nq, (size_t)m->nq * sizeof *q);
    n = tg_sim_forward(sim) == TG_OK ? n + tg_intersections_count(t, sim, NULL, 0) : -1;
  }
  tg_sim_free(sim);
  tg_intersections_free(t);
  return n;
}
