// facet_points.c: contact points of two geoms by their vertices, edges and faces, see facets.h.
//
// A cylinder or an ellipsoid touches each face as a convex shape; of these contacts those stay at which the mesh beside it is not nearer.
// Of every two other faces that are near: the vertices of each over the other, ridges that cross, and where vertices and ridges are nearest
// beside every face. Each such pair of features is a contact point of its own, the same from whatever faces it is found; faces in one plane
// are one. Of points with about the same normal the outermost are kept.
// Based on: [math/collision Facets].
#include <stdlib.h>
#include <string.h>

#include "coll/features/clip.h"
#include "coll/surfaces/facets.h"
#include "coll/surfaces/triangle.h"

static const double sunk = 160;       // times `fine`: how deep under a face a vertex counts as over it
static const double outside = 0.05;   // sine by which the normal of two ridges may leave the fan of either
static const double crossing = 1e-4;  // sine below which edges count as parallel
static const double bundle = 0.995;   // cosine of normals that are reduced together
static const double tied = 1e-9;      // of the size: a switch this near is a tie

enum { CANDIDATES = 192 };

typedef struct Candidate {
  int kind, i, j, feature;   // TGI_KIND_*; numbers of A's and of B's feature: vertex, edge, nvert + edge, plane
  double x[3], n[3], gap, side;
  int face[2], index;        // of a curved body: the faces, and which of their contacts
  bool tie;
} Candidate;

// the nearest two faces so far
typedef struct Nearest { double distance; int face[2]; } Nearest;

typedef struct Finder {
  const tgiFacetBody *body[2];
  double margin, fine, tol;
  Candidate c[CANDIDATES];
  int count;
  Nearest nearest;
} Finder;

// ---- candidates ----

// unique as long as there are TGI_FEATURES for all the features of both (tgi_facets_make)
static int feature_of(const Finder *f, int kind, int i, int j) { return kind << 27 | (i * tgi_facet_numbers(f->body[1]->f) + j); }

static int by_gap(const void *x, const void *y) {
  const Candidate *a = x, *b = y;
  return a->gap != b->gap ? (a->gap < b->gap ? -1 : 1) : a->feature - b->feature;
}
static int by_feature(const void *x, const void *y) { return ((const Candidate *)x)->feature - ((const Candidate *)y)->feature; }

// Keeps at most `most` points, those with the nearest first: of each bundle of normals TGI_FACE_POINTS.
static void reduce(Finder *f, int most) {
  bool keep[CANDIDATES] = {false}, seen[CANDIDATES] = {false};
  int kept = 0;
  if (f->count <= TGI_FACE_POINTS) return;
  qsort(f->c, (size_t)f->count, sizeof *f->c, by_gap);
  for (int first = 0; first < f->count && kept < most; first++) {
    tgiManifold M;
    double along[3] = {0};
    const tgReal *mat = f->body[1]->shape.mat;
    if (seen[first]) continue;
    const double *n = f->c[first].n;
    int axis = 0;
    double least = INFINITY;
    for (int k = 0; k < 3; k++) {
      double x = fabs(tgRe(mat[k]) * n[0] + tgRe(mat[3 + k]) * n[1] + tgRe(mat[6 + k]) * n[2]);
      if (x < least) axis = k;
      least = fmin(least, x);
    }
    for (int i = 0; i < 3; i++) along[i] = tgRe(mat[3 * i + axis]);
    tgi_manifold_start(&M, f->margin, f->tol, n, along);
    for (int k = first; k < f->count; k++) {
      if (seen[k] || tgi_d3_dot(n, f->c[k].n) < bundle) continue;
      seen[k] = true;
      tgi_manifold_offer(&M, TGI_KIND_CORES, k, 0, f->c[k].x, f->c[k].gap, f->c[k].tie);
    }
    tgi_manifold_reduce(&M, TGI_FACE_POINTS);
    for (int k = 0; k < M.count && kept < most; k++, kept++) keep[M.c[k].i] = true;
  }
  int n = 0;
  for (int k = 0; k < f->count; k++)
    if (keep[k]) f->c[n++] = f->c[k];
  f->count = n;
}

static void offer(Finder *f, const Candidate *c) {
  for (int k = 0; k < f->count; k++)
    if (f->c[k].feature == c->feature) {
      f->c[k].tie = f->c[k].tie && c->tie;   // at the border of one face, and well over another in its plane
      return;
    }
  if (f->count == CANDIDATES) reduce(f, CANDIDATES / 2);
  f->c[f->count++] = *c;
}

// ---- a vertex over a face ----

// how far x is outside the triangle, seen along its normal, at most; negative inside
static double beyond(const double T[9], const double n[3], const double x[3]) {
  double most = -INFINITY;
  for (int k = 0; k < 3; k++) {
    double u[3], out[3], d[3];
    tgi_d3_sub(u, T + 3 * ((k + 1) % 3), T + 3 * k);
    tgi_d3_cross(out, u, n);
    tgi_d3_unit(out, out);
    tgi_d3_sub(d, x, T + 3 * k);
    most = fmax(most, tgi_d3_dot(out, d));
  }
  return most;
}

static double height(const double T[9], const double n[3], const double x[3]) {
  double d[3];
  tgi_d3_sub(d, x, T);
  return tgi_d3_dot(n, d);
}

// vertex x of a body over the face with corners T and normal n of the other, body `of`; `deep`: wherever it is
static void offer_over(Finder *f, int of, int face, const double T[9], const double n[3], int vertex, const double x[3], bool deep) {
  const tgiFacetBody *F = f->body[of], *V = f->body[1 - of];
  double gap = height(T, n, x) - V->r, sign = of == 1 ? 1 : -1;
  if (!deep && (gap > f->margin || gap < -sunk * f->fine)) return;
  double out = beyond(T, n, x);
  if (!deep && out > f->fine) return;
  int plane = F->f->plane[face];
  Candidate c = {.kind = TGI_KIND_FACE_POINT + (of == 0 ? TGI_KIND_A : 0), .i = of == 0 ? plane : vertex, .j = of == 0 ? vertex : plane,
                 .gap = gap, .tie = fabs(out - f->fine) < f->tol || deep};
  c.feature = feature_of(f, c.kind, c.i, c.j);
  for (int i = 0; i < 3; i++) {
    c.n[i] = sign * n[i];
    c.x[i] = x[i] - V->r * n[i];
  }
  offer(f, &c);
}

static bool is_over(const Finder *f, int of, int face, const double x[3]) {
  double T[9], n[3];
  tgi_facet_corners(f->body[of], face, T);
  tgi_facet_normal(T, n);
  double gap = height(T, n, x) - f->body[1 - of]->r;
  return gap <= f->margin && gap >= -sunk * f->fine && beyond(T, n, x) <= f->fine;
}

// ---- ridges across ridges ----

// the unit direction into a face from its edge at x along the unit vector u
static void into_face(const tgiFacetBody *b, int face, int edge, const double x[3], const double u[3], double w[3]) {
  const int *v = b->f->face + 3 * face, *e = b->f->edge + 4 * edge;
  double o[3];
  for (int k = 0; k < 3; k++)
    if (v[k] != e[0] && v[k] != e[1]) tgi_facet_vertex(b, v[k], o);
  tgi_d3_sub(w, o, x);
  tgi_d3_along(w, w, -tgi_d3_dot(w, u), u);
  tgi_d3_unit(w, w);
}

// The sum of the normals of the edge's faces, and the most that m, from the body to the other, goes into one of them.
static double into(const tgiFacetBody *b, int edge, const double x[3], const double u[3], const double m[3]) {
  double most = -1, w[3], unit[3];
  tgi_d3_unit(unit, u);
  for (int k = 2; k < 4; k++) {
    int face = b->f->edge[4 * edge + k];
    if (b->f->round || face < 0) continue;
    into_face(b, face, edge, x, unit, w);
    most = fmax(most, tgi_d3_dot(m, w));
  }
  return most;
}

static void offer_crossing(Finder *f, int ea, int eb) {
  const tgiFacetBody *A = f->body[0], *B = f->body[1];
  double p[3], q[3], u[3], w[3], n[3], d[3], a[3], b[3], back[3];
  tgi_facet_vertex(A, A->f->edge[4 * ea], p);
  tgi_facet_vertex(A, A->f->edge[4 * ea + 1], u);
  tgi_facet_vertex(B, B->f->edge[4 * eb], q);
  tgi_facet_vertex(B, B->f->edge[4 * eb + 1], w);
  tgi_d3_sub(u, u, p);
  tgi_d3_sub(w, w, q);
  tgi_d3_sub(d, q, p);
  tgi_d3_cross(n, u, w);
  double nn = tgi_d3_dot(n, n), lu = tgi_d3_norm(u), lw = tgi_d3_norm(w);
  if (!(nn > crossing * crossing * lu * lu * lw * lw)) return;
  tgi_d3_cross(a, d, w);
  tgi_d3_cross(b, d, u);
  double s = tgi_d3_dot(a, n) / nn, t = tgi_d3_dot(b, n) / nn;
  if (!(s > 0 && s < 1 && t > 0 && t < 1)) return;
  tgi_d3_unit(n, n);
  double side = tgi_d3_dot(n, d) > 0 ? -1 : 1;
  for (int turn = 0; turn < 2; turn++, side = -side) {   // apart along n; else they are through each other, and n is the fans'
    for (int i = 0; i < 3; i++) {
      a[i] = side * n[i];
      back[i] = -a[i];
    }
    double gap = -tgi_d3_dot(a, d) - A->r - B->r;
    if (gap > f->margin || gap < -sunk * f->fine) continue;
    if (into(A, ea, p, u, back) > outside || into(B, eb, q, w, a) > outside) continue;
    Candidate c = {.kind = TGI_KIND_CROSS, .i = ea, .j = eb, .gap = gap, .side = side};
    c.feature = feature_of(f, c.kind, ea, eb);
    c.tie = fmin(s, 1 - s) * lu < f->tol || fmin(t, 1 - t) * lw < f->tol;
    for (int i = 0; i < 3; i++) {
      c.n[i] = a[i];
      c.x[i] = 0.5 * (p[i] + s * u[i] + q[i] + t * w[i]);
    }
    offer(f, &c);
    return;
  }
}

// ---- vertices and ridges beside faces ----

// A feature of a body at x: its vertex, or edge (the other -1), from which the other body's nearest point is along m, `far` away.
typedef struct Corner { int vertex, edge; } Corner;

static Corner corner_of(const tgiFacets *f, int face, int feature) {
  if (feature >= TGI_EDGE) return (Corner){-1, f->side[3 * face + feature - TGI_EDGE]};
  return (Corner){f->face[3 * face + feature], -1};
}

// no part of the body next to the feature is nearer to the point that is `far` along m
static bool is_nearest(const Finder *f, int of, Corner k, const double m[3], double far) {
  const tgiFacetBody *b = f->body[of];
  double x[3], y[3];
  if (k.edge >= 0) {
    tgi_facet_vertex(b, b->f->edge[4 * k.edge], x);
    tgi_facet_vertex(b, b->f->edge[4 * k.edge + 1], y);
    tgi_d3_sub(y, y, x);
    return into(b, k.edge, x, y, m) * far <= f->fine;
  }
  tgi_facet_vertex(b, k.vertex, x);
  for (int i = b->f->vert_adr[k.vertex]; i < b->f->vert_adr[k.vertex + 1]; i++) {
    const int *e = b->f->edge + 4 * b->f->vert_edge[i];
    tgi_facet_vertex(b, e[0] == k.vertex ? e[1] : e[0], y);
    tgi_d3_sub(y, y, x);
    tgi_d3_unit(y, y);
    if (tgi_d3_dot(m, y) * far > f->fine) return false;
  }
  return true;
}

// the vertex x of the other body is over one of the faces at the feature
static bool is_covered(const Finder *f, int of, Corner k, const double x[3]) {
  const tgiFacets *g = f->body[of]->f;
  if (g->round) return false;
  int one[1] = {k.edge}, n = k.edge >= 0 ? 1 : g->vert_adr[k.vertex + 1] - g->vert_adr[k.vertex];
  const int *edge = k.edge >= 0 ? one : g->vert_edge + g->vert_adr[k.vertex];
  for (int i = 0; i < n; i++)
    for (int s = 2; s < 4; s++)
      if (g->edge[4 * edge[i] + s] >= 0 && is_over(f, of, g->edge[4 * edge[i] + s], x)) return true;
  return false;
}

static int number_of(const tgiFacets *f, Corner k) { return k.vertex >= 0 ? k.vertex : f->nvert + k.edge; }

static void offer_corners(Finder *f, const tgiNearby *near, Corner a, Corner b) {
  const tgiFacetBody *A = f->body[0], *B = f->body[1];
  Candidate c = {.kind = TGI_KIND_CORES, .i = number_of(A->f, a), .j = number_of(B->f, b), .gap = near->distance - A->r - B->r};
  c.feature = feature_of(f, c.kind, c.i, c.j);
  tgi_d3_sub(c.n, near->a, near->b);
  tgi_d3_unit(c.n, c.n);
  tgi_d3_along(c.x, near->b, B->r, c.n);
  offer(f, &c);
}

static void offer_beside(Finder *f, const int face[2], const tgiNearby *near) {
  double m[3], back[3];
  if (near->feature_a >= TGI_FACE || near->feature_b >= TGI_FACE || near->distance == 0) return;
  if (near->feature_a >= TGI_EDGE && near->feature_b >= TGI_EDGE) return;   // they cross
  if (near->distance - f->body[0]->r - f->body[1]->r > f->margin) return;
  Corner a = corner_of(f->body[0]->f, face[0], near->feature_a), b = corner_of(f->body[1]->f, face[1], near->feature_b);
  tgi_d3_sub(m, near->a, near->b);
  tgi_d3_unit(m, m);
  for (int i = 0; i < 3; i++) back[i] = -m[i];
  if (!is_nearest(f, 0, a, back, near->distance) || !is_nearest(f, 1, b, m, near->distance)) return;
  if (a.vertex >= 0 && is_covered(f, 1, b, near->a)) return;
  if (b.vertex >= 0 && is_covered(f, 0, a, near->b)) return;
  offer_corners(f, near, a, b);
}

// ---- a curved body ----

// a triangle of a mesh as a polytope of two faces, the second turned to the inside
typedef struct Triangle {
  tgHull hull;
  tgShape shape;
  tgReal vert[9], plane[8];
} Triangle;

static void corners_of(tgReal *vert, const tgiFacetBody *b, const int *vertex, int n) {
  for (int i = 0; i < 3 * n; i++) vert[i] = b->shape.size[i % 3] * b->f->vert[3 * vertex[i / 3] + i % 3];
}

static void normal_of(tgReal n[3], const tgReal *vert) {
  tgReal a[3], c[3];
  tgi_v3_sub(a, vert + 3, vert);
  tgi_v3_sub(c, vert + 6, vert);
  tgi_v3_cross(n, a, c);
  tgi_v3_unit(n, n);
}

static void triangle_of(Triangle *t, const tgiFacetBody *b, int face) {
  static const int edge[12] = {0, 1, 0, 1, 1, 2, 0, 1, 2, 0, 0, 1}, face_adr[3] = {0, 3, 6}, face_vert[6] = {0, 1, 2, 0, 2, 1},
                   face_edge[6] = {0, 1, 2, 2, 1, 0}, vert_adr[4] = {0, 2, 4, 6}, vert_next[6] = {1, 2, 0, 2, 0, 1};
  corners_of(t->vert, b, b->f->face + 3 * face, 3);
  normal_of(t->plane, t->vert);
  t->plane[3] = tgi_v3_dot(t->plane, t->vert);
  for (int i = 0; i < 4; i++) t->plane[4 + i] = -t->plane[i];
  double radius = 0;
  for (int k = 0; k < 3; k++) radius = fmax(radius, tgRe(tgi_v3_norm(t->vert + 3 * k)));
  t->hull = (tgHull){3, 3, 2, t->vert, edge, face_adr, face_vert, face_edge, t->plane, vert_adr, vert_next, radius, {{0}}};
  t->shape = b->shape;
  t->shape.type = TG_GEOM_MESH;   // a box's sizes scale its corners as those of a mesh do
  t->shape.hull = &t->hull;
}

int tgi_facets_curved(const tgiFacetBody *a, int face_a, const tgiFacetBody *b, int face_b, double margin, double fine, tgCollide want,
                      tgContactPoint out[TG_PAIR_POINTS], double *distance) {
  Triangle t;
  int32_t memory[TG_PAIR_MEMORY] = {0};
  bool first = b->f->curved;
  triangle_of(&t, first ? a : b, first ? face_a : face_b);
  return tgi_collide(first ? &t.shape : &a->shape, first ? &b->shape : &t.shape, margin, fine, want, memory, out, distance);
}

// What of the mesh a contact is of: number of a vertex, an edge or a plane. False: it is of the inside of the face, or the mesh goes on
// there; whole: whatever it is.
static bool mesh_feature(const Finder *f, int of, int face, const tgContactPoint *c, bool whole, int *number) {
  const tgiFacetBody *b = f->body[of];
  const tgiFacets *g = b->f;
  int part = c->part[2 * of], flat = c->part[2 * of + 1];
  double m[3], x[3], y[3];
  for (int i = 0; i < 3; i++) m[i] = of == 0 ? -tgRe(c->n[i]) : tgRe(c->n[i]);
  *number = tgi_facet_numbers(g) + g->plane[face];
  if (part > 0) *number = g->face[3 * face + part - 1];
  if (part < 0) *number = g->nvert + g->side[3 * face - 1 - part];
  if (whole) return true;
  if (flat > 1) return false;
  if (part == 0) return true;
  // where a face's outline or a cap is crossed normals of both bodies agree but for a small angle; else it is the nearest point
  double least = flat > 0 || (c->feature >> 27 & 7) != TGI_KIND_SMOOTH ? outside : tied;
  if (part < 0) {
    int e = *number - g->nvert;
    if (!g->ridge[e]) return false;
    tgi_facet_vertex(b, g->edge[4 * e], x);
    tgi_facet_vertex(b, g->edge[4 * e + 1], y);
    tgi_d3_sub(y, y, x);
    return into(b, e, x, y, m) <= least;
  }
  return is_nearest(f, of, (Corner){*number, -1}, m, f->fine / least);
}

// the number of the curved body's feature in a contact of narrow.h
static int curved_feature(const tgContactPoint *c, int of) {
  int kind = c->feature >> 27, i = c->feature >> 13 & 0x3fff, j = c->feature & 0x1fff;
  bool of_mesh = (kind & 7) == TGI_KIND_SMOOTH ? of == 1 : ((kind & TGI_KIND_A) != 0) == (of == 0);   // the reference face; the second
  return (of_mesh ? i : j) % TGI_CURVED_FEATURES;
}

static void offer_curved(Finder *f, int fa, int fb, bool whole) {
  tgContactPoint point[TG_PAIR_POINTS];
  double distance;
  int of = f->body[0]->f->curved ? 1 : 0, face = of == 0 ? fa : fb, number;
  int count = tgi_facets_curved(f->body[0], fa, f->body[1], fb, f->margin, f->fine, TG_COLLIDE_POINTS, point, &distance);
  if (distance < f->nearest.distance) f->nearest = (Nearest){distance, {fa, fb}};
  for (int k = 0; k < count; k++) {
    if (!mesh_feature(f, of, face, &point[k], whole, &number)) continue;
    Candidate c = {.kind = TGI_KIND_SMOOTH, .face = {fa, fb}, .index = k, .gap = tgRe(point[k].gap), .tie = point[k].tie || whole};
    c.feature = (point[k].feature >> 27) << 27 | (number * TGI_CURVED_FEATURES + curved_feature(&point[k], of));
    for (int i = 0; i < 3; i++) {
      c.n[i] = tgRe(point[k].n[i]);
      c.x[i] = tgRe(point[k].p[i]);
    }
    offer(f, &c);
  }
}

// ---- two faces ----

static void find(tgiFacetVisit *v, int fa, int fb, const double x[18], const tgiNearby *near) {
  Finder *f = v->ctx;
  const int face[2] = {fa, fb};
  if (v->a->f->curved || v->b->f->curved) {
    offer_curved(f, fa, fb, false);
    return;
  }
  for (int of = 0; of < 2; of++) {
    double n[3];
    if (f->body[of]->f->round) continue;
    tgi_facet_normal(x + 9 * of, n);
    for (int k = 0; k < 3; k++)
      offer_over(f, of, face[of], x + 9 * of, n, f->body[1 - of]->f->face[3 * face[1 - of] + k], x + 9 * (1 - of) + 3 * k, false);
  }
  for (int i = 0; i < 9; i++) {
    const tgiFacets *a = f->body[0]->f, *b = f->body[1]->f;
    int ea = a->side[3 * fa + i / 3], eb = b->side[3 * fb + i % 3];
    if (a->nedge > 0 && b->nedge > 0 && a->ridge[ea] && b->ridge[eb]) offer_crossing(f, ea, eb);
  }
  if (near->distance < f->nearest.distance) f->nearest = (Nearest){near->distance, {fa, fb}};
  offer_beside(f, face, near);
}

// Faces that meet: the vertex that is least deep, of those that are deepest under either.
static void offer_deep(Finder *f, const int face[2], const double x[18]) {
  int at[2] = {0, 0};
  double low[2], n[3];
  for (int of = 0; of < 2; of++) {
    const double *T = x + 9 * of, *other = x + 9 * (1 - of);
    tgi_facet_normal(T, n);
    low[of] = f->body[of]->f->round ? -INFINITY : INFINITY;
    for (int k = 0; k < 3; k++) {
      double up = height(T, n, other + 3 * k);
      if (up < low[of]) at[of] = k;
      low[of] = fmin(low[of], up);
    }
  }
  int of = low[0] > low[1] ? 0 : 1;
  tgi_facet_normal(x + 9 * of, n);
  offer_over(f, of, face[of], x + 9 * of, n, f->body[1 - of]->f->face[3 * face[1 - of] + at[of]], x + 9 * (1 - of) + 3 * at[of], true);
}

// What is nearest of all is a point, whatever the rules above have left out.
static void offer_nearest(Finder *f) {
  double x[18], least = INFINITY, radii = f->body[0]->r + f->body[1]->r;
  const int *face = f->nearest.face;
  if (!(f->nearest.distance - radii <= f->margin)) return;
  for (int k = 0; k < f->count; k++) least = fmin(least, f->c[k].gap);
  if (least <= f->nearest.distance - radii + f->fine) return;
  if (f->body[0]->f->curved || f->body[1]->f->curved) {
    offer_curved(f, face[0], face[1], true);
    return;
  }
  for (int of = 0; of < 2; of++) tgi_facet_corners(f->body[of], face[of], x + 9 * of);
  tgiNearby near = tgi_triangle_triangle(x, x + 9);
  if (near.distance == 0) {
    offer_deep(f, face, x);
  } else if (near.feature_a >= TGI_FACE || near.feature_b >= TGI_FACE) {
    double n[3];
    int of = near.feature_a >= TGI_FACE ? 0 : 1, k = of == 0 ? near.feature_b : near.feature_a;
    tgi_facet_normal(x + 9 * of, n);
    offer_over(f, of, face[of], x + 9 * of, n, f->body[1 - of]->f->face[3 * face[1 - of] + k], x + 9 * (1 - of) + 3 * k, true);
  } else {
    offer_corners(f, &near, corner_of(f->body[0]->f, face[0], near.feature_a), corner_of(f->body[1]->f, face[1], near.feature_b));
  }
}

// ---- closed forms ----

// a few vertices of the body as a polytope, whose features rules take
typedef struct Part {
  tgHull hull;
  tgShape shape;
  tgReal vert[9], plane[4];
} Part;

static void part_of(Part *part, const tgiFacetBody *b, const int *vertex, int n) {
  static const int adr[2] = {0, 3}, loop[3] = {0, 1, 2}, edge[4] = {0, 1, 0, 0};
  part->hull = (tgHull){.nvert = n, .nedge = 1, .nface = 1, .vert = part->vert, .edge = edge, .face_adr = adr, .face_vert = loop,
                        .face_plane = part->plane};
  part->shape = b->shape;
  part->shape.hull = &part->hull;
  corners_of(part->vert, b, vertex, n);
}

static void vertex_core(tgiCore *core, const tgiFacetBody *b, bool is_a, int vertex, tgCollide want) {
  Part part;
  if (b->f->round) {
    tgi_round_core(core, &b->shape, is_a, vertex == 0 ? TGI_AT_START : TGI_AT_END, want);
    return;
  }
  part_of(&part, b, &vertex, 1);
  tgi_hull_vertex(core, &part.shape, is_a, 0, want);
  core->part = 0;
}

static void edge_core(tgiCore *core, const tgiFacetBody *b, bool is_a, int edge, tgCollide want) {
  Part part;
  if (b->f->round) {
    tgi_round_core(core, &b->shape, is_a, TGI_AT_INSIDE, want);
    return;
  }
  part_of(&part, b, b->f->edge + 4 * edge, 2);
  tgi_hull_edge(core, &part.shape, is_a, 0, want);
  core->part = 0;
}

static void corner_core(tgiCore *core, const tgiFacetBody *b, bool is_a, int number, tgCollide want) {
  if (number < b->f->nvert) vertex_core(core, b, is_a, number, want);
  else edge_core(core, b, is_a, number - b->f->nvert, want);
}

static void plane_face(tgiFace *F, const tgiFacetBody *b, bool is_a, int plane, tgCollide want) {
  Part part;
  part_of(&part, b, b->f->face + 3 * plane, 3);
  normal_of(part.plane, part.vert);
  tgi_hull_face(F, &part.shape, is_a, 0, want);
  F->part = 0;
}

static void emit(const Finder *f, const Candidate *c, tgCollide want, tgContactPoint *out) {
  tgiCore a, b;
  tgiFace face;
  if (c->kind == TGI_KIND_SMOOTH) {
    tgContactPoint point[TG_PAIR_POINTS];
    double distance;
    tgi_facets_curved(f->body[0], c->face[0], f->body[1], c->face[1], f->margin, f->fine, want, point, &distance);
    *out = point[c->index];
    for (int i = 0; i < 4; i++) out->part[i] = 0;
  } else if (c->kind == TGI_KIND_CROSS) {
    edge_core(&a, f->body[0], true, c->i, want);
    edge_core(&b, f->body[1], false, c->j, want);
    tgi_rule_cores(out, &a, &b, TGI_NORMAL_CROSS, c->side, NULL, want);
  } else if (c->kind == TGI_KIND_CORES) {
    corner_core(&a, f->body[0], true, c->i, want);
    corner_core(&b, f->body[1], false, c->j, want);
    tgi_rule_cores(out, &a, &b, TGI_NORMAL_CLOSEST, 0, NULL, want);
  } else {
    int of = c->kind == TGI_KIND_FACE_POINT ? 1 : 0;
    plane_face(&face, f->body[of], of == 0, of == 0 ? c->i : c->j, want);
    vertex_core(&a, f->body[1 - of], of == 1, of == 0 ? c->j : c->i, want);
    tgi_rule_face_point(out, &face, &a, want);
  }
  out->feature = c->feature;
  out->tie = c->tie;
}

// Of bodies that are apart no feature is nearer than the nearest two: what is under a face is the far side of something thin.
static void drop_far_sides(Finder *f, double radii) {
  int n = 0;
  if (!(f->nearest.distance > 0)) return;
  for (int k = 0; k < f->count; k++)
    if (f->c[k].gap >= f->nearest.distance - radii - f->fine) f->c[n++] = f->c[k];
  f->count = n;
}

int tgi_facets_collide(const tgiFacetBody *a, const tgiFacetBody *b, double margin, double fine, tgCollide want,
                       tgContactPoint out[TG_PAIR_POINTS], double *distance) {
  Finder f = {.body = {a, b}, .margin = margin, .fine = fine, .nearest = {.distance = INFINITY}};
  double size = 0, radii = a->r + b->r;
  for (int k = 0; k < 2; k++)
    for (int i = 0; i < 3; i++) size = fmax(size, f.body[k]->size[i] * f.body[k]->f->node->half[i] + f.body[k]->r + f.body[k]->reach);
  f.tol = tied * size;
  tgiFacetVisit v = {.a = a, .b = b, .within = tgi_facets_within(a, b, margin), .visit = find, .ctx = &f};
  tgi_facets_visit(&v);
  drop_far_sides(&f, radii);
  offer_nearest(&f);
  *distance = fmin(f.nearest.distance - radii, margin);
  reduce(&f, TG_PAIR_POINTS);
  qsort(f.c, (size_t)f.count, sizeof *f.c, by_feature);
  for (int k = 0; k < f.count; k++) emit(&f, &f.c[k], want, &out[k]);
  return f.count;
}
