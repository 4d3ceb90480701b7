// intersecting.c: see intersecting.h.
#include "contact/barrier/intersecting.h"

#include <float.h>

#include "coll/surfaces/triangle.h"
#include "math/vec3.h"

static void face_of(const tgiWorldTree *p, const double shift[3], int f, double x[9]) {
  for (int k = 0; k < 3; k++)
    for (int i = 0; i < 3; i++)
      x[3 * k + i] = tgRe(p->vert[3 * (size_t)p->surface->face[3 * (size_t)f + (size_t)k] + (size_t)i]) + shift[i];
}

static void shift_of(const tgiWorldTree *A, const tgiWorldTree *B, double shift[3]) {
  for (int i = 0; i < 3; i++) shift[i] = tgRe(B->origin[i]) - tgRe(A->origin[i]);
}

static void cross(double r[3], const double *a, const double *b) {
  for (int i = 0; i < 3; i++) r[i] = a[(i + 1) % 3] * b[(i + 2) % 3] - a[(i + 2) % 3] * b[(i + 1) % 3];
}
static double dot(const double *a, const double *b) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }

// shortest move along the axis n that takes one triangle off the other
static double overlap(const double a[9], const double b[9], const double n[3]) {
  double length = sqrt(dot(n, n)), lo[2] = {INFINITY, INFINITY}, hi[2] = {-INFINITY, -INFINITY};
  if (!(length > 0)) return INFINITY;
  for (int k = 0; k < 3; k++) {
    double x = dot(n, a + 3 * k) / length, y = dot(n, b + 3 * k) / length;
    lo[0] = fmin(lo[0], x);
    hi[0] = fmax(hi[0], x);
    lo[1] = fmin(lo[1], y);
    hi[1] = fmax(hi[1], y);
  }
  return fmax(0, fmin(hi[0] - lo[1], hi[1] - lo[0]));
}

// how far two triangles are in each other, over their normals and the crosses of their edges
static double depth_of(const double a[9], const double b[9]) {
  double e[2][3][3], n[3], least = INFINITY;
  for (int k = 0; k < 3; k++)
    for (int i = 0; i < 3; i++) {
      e[0][k][i] = a[3 * ((k + 1) % 3) + i] - a[3 * k + i];
      e[1][k][i] = b[3 * ((k + 1) % 3) + i] - b[3 * k + i];
    }
  for (int side = 0; side < 2; side++) {
    cross(n, e[side][0], e[side][1]);
    least = fmin(least, overlap(a, b, n));
  }
  for (int k = 0; k < 9; k++) {
    cross(n, e[0][k / 3], e[1][k % 3]);
    if (dot(n, n) > 1e-24 * dot(e[0][k / 3], e[0][k / 3]) * dot(e[1][k % 3], e[1][k % 3])) least = fmin(least, overlap(a, b, n));
  }
  return least;
}

// times that the surface winds about the point, by the solid angles of its faces
static double winding(const tgiWorldTree *p, const double shift[3], const double at[3]) {
  double sum = 0;
  for (int f = 0; f < p->surface->nface; f++) {
    double x[9], r[3], n[3];
    face_of(p, shift, f, x);
    for (int k = 0; k < 9; k++) x[k] -= at[k % 3];
    for (int k = 0; k < 3; k++) r[k] = sqrt(dot(x + 3 * k, x + 3 * k));
    cross(n, x + 3, x + 6);
    sum += 2 * atan2(dot(x, n), r[0] * r[1] * r[2] + dot(x, x + 3) * r[2] + dot(x + 3, x + 6) * r[0] + dot(x + 6, x) * r[1]);
  }
  return sum / (4 * TG_PI);
}

// A, which does not touch B, is inside: its first vertex is in the sphere of B, and B, being closed, winds about it.
// Faces that point inwards hold nothing, they are the walls of a room.
static bool inside(const tgiWorldTree *A, const tgiWorldTree *B) {
  double shift[3], x[3], d[3], r = tgRe(B->node[TGI_NODE_R]);
  shift_of(A, B, shift);
  for (int i = 0; i < 3; i++) {
    x[i] = tgRe(A->vert[i]);
    d[i] = x[i] - shift[i];
  }
  if (dot(d, d) > r * r) return false;
  double w = winding(B, shift, x);
  return w > 0.5 && fabs(w - round(w)) < 1e-6;
}

#define MOST_PAIRS 1e6   // of faces that are all looked at

// The faces that are deepest in each other, from those that were found: they may touch at an edge only. Of large
// meshes those found are taken.
static double deepest(const tgiWorldTree *A, const tgiWorldTree *B, int face[2]) {
  const double none[3] = {0, 0, 0};
  double shift[3], x[9], y[9], depth;
  shift_of(A, B, shift);
  face_of(A, none, face[0], x);
  face_of(B, shift, face[1], y);
  depth = depth_of(x, y);
  if ((double)A->surface->nface * B->surface->nface > MOST_PAIRS) return depth;
  for (int a = 0; a < A->surface->nface; a++)
    for (int b = 0; b < B->surface->nface; b++) {
      face_of(A, none, a, x);
      face_of(B, shift, b, y);
      double d = depth_of(x, y);
      if (!(d > depth)) continue;
      depth = d;
      face[0] = a;
      face[1] = b;
    }
  return depth;
}

// what a solid reaches beyond its core along n
static double reach_of(const tgiWorldTree *A, const double n[3]) {
  tgReal axes[9];
  double sum = 0;
  if (!A->surface->oval) return tgRe(A->round);
  tgi_world_axes(A->vert, axes);
  for (int i = 0; i < 9; i += 3) {
    double e = tgRe(axes[i]) * n[0] + tgRe(axes[i + 1]) * n[1] + tgRe(axes[i + 2]) * n[2];
    sum += e * e;
  }
  return tgRe(A->round) + sqrt(sum);
}

// how far two solids are in each other of which one is all within a radius of its core or its faces, or an ellipsoid: along the line of
// these
static double core_depth(const tgiWorldTree *A, const tgiWorldTree *B, const int face[2]) {
  const double none[3] = {0, 0, 0};
  double shift[3], x[9], y[9], least = INFINITY, n[3] = {0, 0, 1};
  shift_of(A, B, shift);
  const bool large = (double)A->surface->nface * B->surface->nface > MOST_PAIRS;   // then of the faces that were found
  for (int a = large ? face[0] : 0; a < (large ? face[0] + 1 : A->surface->nface); a++)
    for (int b = large ? face[1] : 0; b < (large ? face[1] + 1 : B->surface->nface); b++) {
      face_of(A, none, a, x);
      face_of(B, shift, b, y);
      tgiNearby c = tgi_triangle_triangle(x, y);
      if (c.distance >= least) continue;
      least = c.distance;
      for (int i = 0; i < 3 && least > 0; i++) n[i] = (c.a[i] - c.b[i]) / least;
    }
  double reach = reach_of(A, n) + reach_of(B, n);
  if (least > 0 || A->surface->core || B->surface->core) return fmax(0, reach - least);
  int both[2] = {face[0], face[1]};
  return reach + deepest(A, B, both);
}

// what to do about a depth
static const char *advice(double depth) {
  return depth < 1e-9 ? ", which is rounding; a step under the contact potential must start with them apart: part them by 1e-4 m or so, "
                        "or let --separate (tg_sim_separate) do it"
                      : " deep; a step under the contact potential must start with them apart: --separate (tg_sim_separate) moves them";
}

static tgStatus error_overlap(tgSim *s, const char *a, const char *b, double depth) {
  return tgi_error(&s->error, TG_ERR_INVALID, "%s and %s touch, %.3g m%s.", a, b, depth, advice(depth));
}

static tgStatus error_touch(tgSim *s, const tgiGeomPair *g, const tgiBarrierPair *p) {
  const tgiBarrierWork *w = tgi_barrier_work(s);
  const tgiWorldTree *A = g->plane ? &w->geom[g->A].plane : &w->geom[g->A].world, *B = &w->geom[g->B].world;
  char a[128], b[128];
  double none[3] = {0, 0, 0}, x[9], depth = 0;
  face_of(A, none, p->face[0], x);
  tgi_model_label(&s->m, TG_THING_GEOM, g->A, a, sizeof a);
  tgi_model_label(&s->m, TG_THING_GEOM, g->B, b, sizeof b);
  if (!g->plane && (A->surface->core || B->surface->core || tgRe(A->round) > 0 || tgRe(B->round) > 0))
    return error_overlap(s, a, b, core_depth(A, B, p->face));
  if (g->plane) {
    const tgReal *R = w->pose->geom_xmat + 9 * g->B, *at = w->pose->geom_xpos + 3 * g->B;
    for (int k = 0; k < 3; k++) {
      double n[3] = {tgRe(R[2]), tgRe(R[5]), tgRe(R[8])}, z = w->sunk - reach_of(A, n);
      for (int i = 0; i < 3; i++) z += tgRe(R[3 * i + 2]) * (x[3 * k + i] + tgRe(A->origin[i]) - tgRe(at[i]));
      depth = fmax(depth, -z);
    }
    if (A->surface->core)
      return tgi_error(&s->error, TG_ERR_INVALID, "%s reaches into %s, %.3g m%s.", a, b, depth, advice(depth));
    return tgi_error(&s->error, TG_ERR_INVALID, "Face %d of %s reaches into %s, %.3g m%s.",
                     A->surface->origin[p->face[0]], a, b, depth, advice(depth));
  }
  int face[2] = {p->face[0], p->face[1]};
  depth = deepest(A, B, face);
  return tgi_error(&s->error, TG_ERR_INVALID, "Face %d of %s and face %d of %s touch, %.3g m%s.",
                   A->surface->origin[face[0]], a, B->surface->origin[face[1]], b, depth, advice(depth));
}

static tgStatus error_inside(tgSim *s, int inner, int outer) {
  char a[128], b[128];
  return tgi_error(&s->error, TG_ERR_INVALID,
                   "%s is wholly inside %s; a step under the contact potential must start with them outside each "
                   "other.", tgi_model_label(&s->m, TG_THING_GEOM, inner, a, sizeof a),
                   tgi_model_label(&s->m, TG_THING_GEOM, outer, b, sizeof b));
}

tgStatus tgi_barrier_check_separated(tgSim *s) {
  const tgiBarrierWork *w = tgi_barrier_work(s);
  for (int i = 0; i < w->sums.near.n; i++) {
    const tgiGeomPair *g = &w->sums.near.pair[i];
    const tgiWorldTree *A = &w->geom[g->A].world, *B = &w->geom[g->B].world;
    bool in = w->sums.pair[i].separated && !g->plane && inside(A, B), out = w->sums.pair[i].separated && !g->plane && !in && inside(B, A);
    if (w->sums.pair[i].separated && !in && !out) continue;
    s->info.body1 = s->m.geom_body[g->A];
    s->info.body2 = s->m.geom_body[g->B];
    return !w->sums.pair[i].separated ? error_touch(s, g, &w->sums.pair[i]) : in ? error_inside(s, g->A, g->B)
           : error_inside(s, g->B, g->A);
  }
  return TG_OK;
}
