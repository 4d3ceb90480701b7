// intersections.c: pairs of geoms that have a point in common, by exact predicates on their triangles. See tangere/geometry.h.
#include <math.h>
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
  int **part;                    // a vertex of each part of a surface that hangs together, then -1
};

static int root(int *up, int i) {
  while (up[i] != i) i = up[i] = up[up[i]];
  return i;
}

// a vertex of each part, then -1; NULL: no memory
static int *parts_of(const tgiSurface *s) {
  int *up = malloc(((size_t)s->nvert + 1) * sizeof *up), n = 0;
  if (up == NULL) return NULL;
  for (int v = 0; v < s->nvert; v++) up[v] = v;
  for (int f = 0; f < s->nface; f++)
    for (int k = 1; k < 3; k++) {
      // the lower number stays the root
      int a = root(up, s->face[3 * f]), b = root(up, s->face[3 * f + k]);
      up[a > b ? a : b] = a < b ? a : b;
    }
  for (int v = 0; v < s->nvert; v++)
    if (up[v] == v) up[n++] = v;   // roots below n are listed already, and no later vertex asks for them
  up[n] = -1;
  return up;
}

static tgStatus add_geom(tgIntersections *t, int g) {
  const tgiSurface *s = t->shapes.surface[g];
  if (s == NULL) return TG_OK;
  t->local[g] = calloc((size_t)s->nvert * 6, sizeof(double));
  if (t->local[g] == NULL) return TG_ERR_MEMORY;
  t->world[g] = t->local[g] + 3 * s->nvert;
  t->part[g] = parts_of(s);
  if (t->part[g] == NULL) return TG_ERR_MEMORY;
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
  t->part = calloc(n + 1, sizeof *t->part);
  bool made = t->surface != NULL && t->local != NULL && t->part != NULL;
  if (made) t->world = t->local + n;
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
  for (int g = 0; g < t->m->ngeom && t->local != NULL && t->surface != NULL && t->part != NULL; g++) {
    if (t->surface[g].nface > 0) tgi_exact_free(&t->surface[g]);
    free(t->local[g]);
    free(t->part[g]);
  }
  if (t->shapes.surface != NULL) tgi_shapes_free(&t->shapes);
  free(t->surface);
  free(t->local);
  free(t->part);
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

// Is a part of b inside a? No faces meet, so that one vertex tells of the whole part; whichever way the faces of a are wound.
static bool part_inside(const tgiExactSurface *a, const tgiExactSurface *b, const int *part) {
  for (; *part >= 0; part++)
    if (fabs(tgi_surface_winding(a, b->vert + 3 * *part)) > 0.5) return true;
  return false;
}

// faces that meet, or a part of one wholly inside the other
static bool surfaces_intersect(const tgIntersections *t, int a, int b) {
  const tgiExactSurface *x = &t->surface[a], *y = &t->surface[b];
  if (!boxes_overlap(x, y)) return false;
  return tgi_exact_surfaces(x, y, NULL) || part_inside(x, y, t->part[b]) || part_inside(y, x, t->part[a]);
}

static bool intersect(const tgIntersections *t, Frames f, int a, int b) {
  const tgModel *m = t->m;
  if (m->geom_type[a] != TG_GEOM_PLANE && m->geom_type[b] != TG_GEOM_PLANE) return surfaces_intersect(t, a, b);
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
