// facet_pairs.c: the pairs of faces of two geoms that are near each other, see facets.h.
//
// Both trees are gone down together, by the boxes about the faces under each node. A search along a path looks at two geoms hundreds of
// times within a small distance of where they were: the pairs of faces found at one place, with some distance to spare, are kept. By D, the
// most that a point of the second geom has moved as seen from the first, faces come nearer: those within x now were within x + D there.
// Based on: [math/collision Facets].
#include <string.h>

#include "coll/surfaces/facets.h"
#include "math/d3.h"

// ---- down the trees ----

// the second geom as seen from the first: x = R y + t; and how far rounding may be out
typedef struct Seen { double R[9], t[3], rounding; } Seen;
typedef struct Box { double c[3], h[3]; } Box;   // in the geom's frame

static void see(const tgiFacetBody *a, const tgiFacetBody *b, Seen *s) {
  double d[3], size = 0;
  tgi_d3_sub(d, b->p, a->p);
  for (int i = 0; i < 3; i++) {
    s->t[i] = 0;
    for (int k = 0; k < 3; k++) s->t[i] += tgRe(a->shape.mat[3 * k + i]) * d[k];
    for (int j = 0; j < 3; j++) {
      s->R[3 * i + j] = 0;
      for (int k = 0; k < 3; k++) s->R[3 * i + j] += tgRe(a->shape.mat[3 * k + i]) * tgRe(b->shape.mat[3 * k + j]);
    }
    size += fabs(a->p[i]) + fabs(b->p[i]) + fabs(a->size[i]) * (fabs(a->f->node->mid[i]) + a->f->node->half[i]) +
            fabs(b->size[i]) * (fabs(b->f->node->mid[i]) + b->f->node->half[i]);
  }
  s->rounding = 1e-13 * size;
}

static Box box_of(const tgiFacetBody *b, const tgiFacetNode *node) {
  Box box;
  for (int i = 0; i < 3; i++) {
    box.c[i] = node->mid[i] * b->size[i];
    box.h[i] = node->half[i] * fabs(b->size[i]);
  }
  return box;
}

// They are at least so far apart: along the axes of either.
static double boxes_apart(const Seen *s, const Box *A, const Box *B) {
  double d[3], one = 0, two = 0;
  for (int i = 0; i < 3; i++) {
    const double *r = s->R + 3 * i;
    d[i] = tgi_d3_dot(r, B->c) + s->t[i] - A->c[i];
    double gap = fabs(d[i]) - A->h[i] - fabs(r[0]) * B->h[0] - fabs(r[1]) * B->h[1] - fabs(r[2]) * B->h[2];
    if (gap > 0) one += gap * gap;
  }
  for (int j = 0; j < 3; j++) {
    double x = s->R[j], y = s->R[3 + j], z = s->R[6 + j];
    double gap = fabs(x * d[0] + y * d[1] + z * d[2]) - B->h[j] - fabs(x) * A->h[0] - fabs(y) * A->h[1] - fabs(z) * A->h[2];
    if (gap > 0) two += gap * gap;
  }
  return sqrt(fmax(one, two));
}

// The gap between two triangles along the normal of the first, which they may have more of; -INFINITY: it has next to none, with two sides
// within a hundredth of a radian, and what rounding makes of that says nothing.
static double apart_along(const double x[9], const double y[9]) {
  double d[3], e[3], f[3], n[3], low = INFINITY, high = -INFINITY;
  tgi_d3_sub(e, x + 3, x);
  tgi_d3_sub(f, x + 6, x);
  tgi_d3_cross(n, e, f);
  double nn = tgi_d3_dot(n, n);
  if (!(nn > 1e-4 * tgi_d3_dot(e, e) * tgi_d3_dot(f, f))) return -INFINITY;
  for (int k = 0; k < 3; k++) {
    tgi_d3_sub(d, y + 3 * k, x);
    double at = tgi_d3_dot(n, d);
    if (at < low) low = at;
    if (at > high) high = at;
  }
  return (low > -high ? low : -high) / sqrt(nn);
}

// Where faces i and j, the list's k-th, are nearest: what is known of that at the place where they are is not found again. NULL: they are
// farther apart than `within`, by less than the distance itself.
static const tgiNearby *nearest_of(const tgiFacetVisit *v, double rounding, int k, int i, int j, const double x[18]) {
  tgiFaceLists *all = v->a->list->all;
  tgiFaceNear *n = &all->near[k % TGI_FACE_NEARS];
  bool here = n->place == all->place && n->a == i && n->b == j;
  if (here && n->apart < 0) return &n->near;
  if (!here) {
    n->a = i;
    n->b = j;
    n->place = all->place;
    n->apart = fmax(0, fmax(apart_along(x, x + 9), apart_along(x + 9, x)));
  }
  if (n->apart > v->within + rounding) return NULL;
  n->near = tgi_triangle_triangle(x, x + 9);
  n->apart = -1;
  return &n->near;
}

// Two faces are visited if they are within `within` as they lie, whatever led to them: by their distance itself, as what leaves them out
// before that is known is right within rounding alone.
static void visit_faces(tgiFacetVisit *v, double rounding, int i, int j) {
  double x[18];
  tgi_facet_corners(v->a, i, x);
  tgi_facet_corners(v->b, j, x + 9);
  for (int side = 0; side < 2; side++)
    if (apart_along(x + 9 * side, x + 9 * (1 - side)) > v->within + rounding) return;
  tgiNearby near = tgi_triangle_triangle(x, x + 9);
  if (near.distance <= v->within) v->visit(v, i, j, x, &near);
}

typedef struct Walk {
  tgiFacetVisit *v;
  const Seen *seen;
} Walk;

static void descend(const Walk *w, int i, int j, const Box *A, const Box *B, double apart) {
  tgiFacetVisit *v = w->v;
  const tgiFacetNode *a = v->a->f->node + i, *b = v->b->f->node + j;
  if (apart > v->within + w->seen->rounding) return;
  if (a->face >= 0 && b->face >= 0) {
    visit_faces(v, w->seen->rounding, a->face, b->face);
    return;
  }
  bool first = b->face >= 0 || (a->face < 0 && tgi_d3_dot(A->h, A->h) >= tgi_d3_dot(B->h, B->h));
  int at = first ? i : j, child[2] = {at + 1, first ? a->second : b->second};
  Box C[2];
  double far[2];
  for (int k = 0; k < 2; k++) {
    C[k] = box_of(first ? v->a : v->b, (first ? v->a->f : v->b->f)->node + child[k]);
    far[k] = first ? boxes_apart(w->seen, &C[k], B) : boxes_apart(w->seen, A, &C[k]);
  }
  for (int k = 0; k < 2; k++) {
    int c = v->nearest && far[1] < far[0] ? 1 - k : k;
    if (first) descend(w, child[c], j, &C[c], B, far[c]);
    else descend(w, i, child[c], A, &C[c], far[c]);
  }
}

static void walk(tgiFacetVisit *v, const Seen *s) {
  Walk w = {v, s};
  Box A = box_of(v->a, v->a->f->node), B = box_of(v->b, v->b->f->node);
  descend(&w, 0, 0, &A, &B, boxes_apart(s, &A, &B));
}

// ---- lists ----

static const double spare = 1e-3, farthest = 3e-3;   // what a list has more than is asked for, and up to how far apart they are made [m]

static size_t lists_of(const tgiFacetTable *t) {
  return t == NULL ? 0 : t->npair < TGI_FACE_LISTS ? (size_t)t->npair : (size_t)TGI_FACE_LISTS;
}

size_t tgi_face_lists_bytes(const tgiFacetTable *t) {
  size_t n = lists_of(t);
  return n > 0 ? sizeof(tgiFaceLists) + n * TGI_FACE_LIST * sizeof(tgiFacePair) : 0;
}

tgiFaceLists *tgi_face_lists_make(void *block, const tgiFacetTable *t) {
  tgiFaceLists *l = block;
  if (l == NULL || lists_of(t) == 0) return NULL;
  l->count = (int)lists_of(t);
  for (int i = 0; i < l->count; i++) {
    l->list[i].face = (tgiFacePair *)(void *)(l + 1) + (size_t)i * TGI_FACE_LIST;
    l->list[i].all = l;
  }
  return l;
}

// A list that was among the last so many that were asked for stays: where more pairs are asked for in turn than there are lists, each would
// else lose its own before it is asked for again.
static const long lately = 256;

tgiFaceList *tgi_face_list(tgiFaceLists *l, int pair) {
  tgiFaceList *oldest;
  if (l == NULL) return NULL;
  oldest = l->list;
  l->asked++;
  for (int i = 0; i < l->count; i++) {
    tgiFaceList *k = l->list + i;
    if (k->pair == pair + 1) {
      k->used = l->asked;
      return k;
    }
    if (k->used < oldest->used) oldest = k;
  }
  if (oldest->pair > 0 && l->asked - oldest->used < lately) return NULL;
  oldest->pair = pair + 1;
  oldest->used = l->asked;
  oldest->within = -1;
  return oldest;
}

// The most that a point of the second geom has moved as seen from the first since the list was made; INFINITY: the list says nothing.
static double moved(const tgiFaceList *l, const tgiFacetVisit *v, const Seen *s) {
  double sum = 0, at[3], from[3], reach = 0;
  if (!(l->within >= 0)) return INFINITY;
  for (int i = 0; i < 3; i++)
    if (l->size[i] != v->a->size[i] || l->size[3 + i] != v->b->size[i]) return INFINITY;
  for (int i = 0; i < 9; i++) sum += (s->R[i] - l->R[i]) * (s->R[i] - l->R[i]);
  Box B = box_of(v->b, v->b->f->node);
  for (int i = 0; i < 3; i++) {
    at[i] = tgi_d3_dot(s->R + 3 * i, B.c) + s->t[i];
    from[i] = tgi_d3_dot(l->R + 3 * i, B.c) + l->t[i];
    reach += B.h[i] * B.h[i];
  }
  // of rotations by an angle x apart |R - R'| = 2 sin(x/2), and the sum of squares of the entries is twice the square of that
  return tgi_d3_distance(at, from) + sqrt(0.5 * sum * reach) + s->rounding + l->rounding;
}

static void list_faces(tgiFacetVisit *v, int i, int j, const double x[18], const tgiNearby *near) {
  tgiFaceList *l = v->ctx;
  (void)x;
  if (l->n == TGI_FACE_LIST) l->n = -1;
  else l->face[l->n++] = (tgiFacePair){i, j, near->distance};
  if (l->n < 0) v->within = -1;   // nothing more is looked for
}

static void make_list(tgiFaceList *l, const tgiFacetVisit *v, const Seen *s) {
  l->within = v->within + spare;
  l->n = 0;
  for (int i = 0; i < 3; i++) {
    l->size[i] = v->a->size[i];
    l->size[3 + i] = v->b->size[i];
    l->t[i] = s->t[i];
  }
  memcpy(l->R, s->R, sizeof l->R);
  l->rounding = s->rounding;
  tgiFacetVisit look = {.a = v->a, .b = v->b, .within = l->within, .visit = list_faces, .ctx = l};
  walk(&look, s);
}

// the geoms of the list's pair are where v has them: what is known of any other place is forgotten
static void stand_at(const tgiFacetVisit *v) {
  const tgiFaceList *l = v->a->list;
  tgiFaceLists *all = l->all;
  double at[24];
  memcpy(at, v->a->M, 9 * sizeof *at);
  memcpy(at + 9, v->b->M, 9 * sizeof *at);
  memcpy(at + 18, v->a->p, 3 * sizeof *at);
  memcpy(at + 21, v->b->p, 3 * sizeof *at);
  if (all->pair == l->pair && memcmp(at, all->at, sizeof at) == 0) return;
  all->pair = l->pair;
  memcpy(all->at, at, sizeof at);
  all->place++;
}

// Those of the list that may be within what is asked for, in its order. by: how far faces may have come nearer.
static void visit_list(tgiFacetVisit *v, const Seen *s, const tgiFaceList *l, double by) {
  stand_at(v);
  for (int k = 0; k < l->n; k++) {
    double x[18];
    if (!(l->face[k].distance - by <= v->within)) continue;
    tgi_facet_corners(v->a, l->face[k].a, x);
    tgi_facet_corners(v->b, l->face[k].b, x + 9);
    const tgiNearby *near = nearest_of(v, s->rounding, k, l->face[k].a, l->face[k].b, x);
    if (near != NULL && near->distance <= v->within) v->visit(v, l->face[k].a, l->face[k].b, x, near);
  }
}

// The list is to be made anew for what is asked for: it does not reach so far, and would not have had too many there.
static bool is_short(const tgiFaceList *l, const tgiFacetVisit *v, double by) {
  if (v->nearest || v->within - tgi_facets_within(v->a, v->b, 0) > farthest) return false;
  return l->n < 0 ? by > spare || v->within + spare < l->within : v->within + by > l->within;
}

// How deep a curved body is goes by what was looked at before: its faces are looked at in one order.
static bool may_be_listed(const tgiFacetVisit *v) { return v->a->list != NULL && !(v->nearest && v->a->reach + v->b->reach > 0); }

void tgi_facets_visit(tgiFacetVisit *v) {
  tgiFaceList *l = v->a->list;
  Seen s;
  see(v->a, v->b, &s);
  if (may_be_listed(v)) {
    double by = moved(l, v, &s);
    if (is_short(l, v, by)) {
      make_list(l, v, &s);
      by = moved(l, v, &s);
    }
    if (l->n >= 0 && (v->nearest ? by < INFINITY : v->within + by <= l->within)) visit_list(v, &s, l, by);
    if (l->n >= 0 && v->within + by <= l->within) return;   // the nearest of the list is that of all, if it is within its reach
  }
  walk(v, &s);
}

// ---- distance ----

static void take_nearest(tgiFacetVisit *v, int i, int j, const double x[18], const tgiNearby *near) {
  double reach = v->a->reach + v->b->reach, distance = near->distance;
  tgContactPoint point[TG_PAIR_POINTS];
  (void)x;
  if (reach > 0) {
    tgi_facets_curved(v->a, i, v->b, j, v->within - reach, 0, TG_COLLIDE_POINTS, point, &distance);
    distance += reach;
  }
  v->within = fmin(v->within, distance);
}

double tgi_facets_distance(const tgiFacetBody *a, const tgiFacetBody *b, double cap) {
  tgiFacetVisit v = {.a = a, .b = b, .within = tgi_facets_within(a, b, cap), .nearest = true, .visit = take_nearest};
  tgi_facets_visit(&v);
  return v.within - tgi_facets_within(a, b, 0);
}
