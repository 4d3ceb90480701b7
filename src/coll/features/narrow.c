// narrow.c: dispatch of one pair by the kinds of its shapes; the polytope of a box.
#include "coll/features/convex.h"
#include "coll/features/pair.h"

static bool is_round(const tgShape *S) { return S->type == TG_GEOM_SPHERE || S->type == TG_GEOM_CAPSULE; }
static bool is_curved(const tgShape *S) { return S->type == TG_GEOM_CYLINDER || S->type == TG_GEOM_ELLIPSOID; }

// vertex v of a box: bit 0, 1, 2 of v set: upper in x, y, z; faces -x +x -y +y -z +z
typedef struct Box {
  tgHull hull;
  tgShape shape;
  tgReal vert[24], plane[24];
} Box;

static const int box_edge[48] = {0, 4, 0, 2, 4, 6, 0, 5, 6, 2, 0, 3, 2, 0, 0, 4, 1, 3, 1, 4, 3, 7, 1, 3,
                                 7, 5, 1, 5, 5, 1, 1, 2, 0, 1, 2, 4, 5, 4, 2, 5, 6, 7, 3, 5, 3, 2, 3, 4};
static const int box_face_adr[7] = {0, 4, 8, 12, 16, 20, 24};
static const int box_face_vert[24] = {0, 4, 6, 2, 1, 3, 7, 5, 0, 1, 5, 4, 2, 6, 7, 3, 0, 2, 3, 1, 4, 5, 7, 6};
static const int box_face_edge[24] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 7, 9, 0, 2, 10, 5, 11, 3, 11, 4, 8, 9, 6, 10, 1};
static const int box_vert_adr[9] = {0, 3, 6, 9, 12, 15, 18, 21, 24};
static const int box_vert_next[24] = {1, 2, 4, 0, 3, 5, 0, 3, 6, 1, 2, 7, 0, 5, 6, 1, 4, 7, 2, 4, 7, 3, 5, 6};

// S itself when it needs no polytope or carries one, the box's for a box; NULL when it lacks one
static const tgShape *with_hull(const tgShape *S, Box *box) {
  if (S->type == TG_GEOM_MESH) return S->hull ? S : NULL;
  if (S->type != TG_GEOM_BOX) return S;
  double radius = tgi_hull_box_fill(box->vert, box->plane, S->size);
  box->hull = (tgHull){8, 12, 6, box->vert, box_edge, box_face_adr, box_face_vert, box_face_edge, box->plane,
                       box_vert_adr, box_vert_next, radius, {{0}}};
  box->shape = *S;
  box->shape.hull = &box->hull;
  return &box->shape;
}

bool tgi_edge_normal(const tgShape *A, const tgShape *B, double n[3]) {
  Box box_a, box_b;
  tgiPair P = {.A = with_hull(A, &box_a), .B = with_hull(B, &box_b)};
  if (P.A == NULL || P.B == NULL || P.A->hull == NULL || P.B->hull == NULL) return false;
  tgiConvex X, Y;
  static const tgiPart all = {.edge = NULL};
  tgi_convex_pair(&P, &X, &Y);
  tgiAxis best = tgi_best_edges(&X, &all, &Y, &all, INFINITY);
  if (best.i < 0) return false;
  tgiSegment a, b;
  double u[3];
  tgi_convex_edge(&X, best.i, &a, NULL, NULL);
  tgi_convex_edge(&Y, best.j, &b, NULL, NULL);
  tgi_d3_cross(u, a.u, b.u);
  double scale = best.side * (X.is_a ? 1 : -1) / tgi_d3_norm(u);
  for (int i = 0; i < 3; i++) {
    n[i] = 0;
    for (int k = 0; k < 3; k++) n[i] += tgRe(Y.S->mat[3 * i + k]) * u[k] * scale;
  }
  return true;
}

static bool all_told_apart(const tgHull *h) {
  return h != NULL && h->nvert <= TGI_FEATURE_J && h->nedge <= TGI_FEATURE_J && h->nface <= TGI_FEATURE_J;
}

static void crossing(const tgShape *const S[2], int i, int j, const tgReal n[3], tgContactPoint *c) {
  tgiCore a, b;
  tgi_hull_edge(&a, S[0], true, i, TG_COLLIDE_POINTS);
  tgi_hull_edge(&b, S[1], false, j, TG_COLLIDE_POINTS);
  tgi_rule_cores(c, &a, &b, TGI_NORMAL_CROSS, 1, NULL, TG_COLLIDE_POINTS);
  if (tgRe(tgi_v3_dot(c->n, n)) < 0) tgi_rule_cores(c, &a, &b, TGI_NORMAL_CROSS, -1, NULL, TG_COLLIDE_POINTS);
}

// over face f of S[side]
static void on_face(const tgShape *const S[2], int side, int f, int kind, int i, int j, tgContactPoint *c) {
  const tgShape *F = S[side], *I = S[1 - side];
  bool of_a = side == 0;
  tgiFace face, other;
  tgiCore core, edge;
  tgi_hull_face(&face, F, of_a, f, TG_COLLIDE_POINTS);
  if (kind == TGI_KIND_FACE_POINT) {
    tgi_hull_vertex(&core, I, !of_a, i, TG_COLLIDE_POINTS);
    tgi_rule_face_point(c, &face, &core, TG_COLLIDE_POINTS);
  } else if (kind == TGI_KIND_FACE_EDGE) {
    tgi_hull_edge(&edge, F, of_a, j, TG_COLLIDE_POINTS);
    tgi_hull_edge(&core, I, !of_a, i, TG_COLLIDE_POINTS);
    tgi_rule_face_edge(c, &face, &edge, &core, TG_COLLIDE_POINTS);
  } else {
    tgi_hull_vertex(&core, F, of_a, j, TG_COLLIDE_POINTS);
    tgi_hull_face(&other, I, !of_a, i, TG_COLLIDE_POINTS);
    tgi_rule_face_corner(c, &face, &core, &other, TG_COLLIDE_POINTS);
  }
}

// The face of S[side] over which a contact of normal n lies; beside a crossing of edges the one of its edge's two that looks along n.
// -1: not known.
static int reference(const tgShape *const S[2], const int memory[TG_PAIR_MEMORY], int side, const tgReal n[3]) {
  const tgHull *h = S[side]->hull;
  int edge = -1 - memory[side];
  tgiFace left, right;
  if (memory[side] > 0) return memory[side] - 1;
  if (memory[side] == 0 || memory[1 - side] >= 0 || edge >= h->nedge) return -1;
  tgi_hull_face(&left, S[side], side == 0, h->edge[4 * edge + 2], TG_COLLIDE_POINTS);
  tgi_hull_face(&right, S[side], side == 0, h->edge[4 * edge + 3], TG_COLLIDE_POINTS);
  double along = (side == 0 ? -1 : 1) * tgRe(tgi_v3_dot(left.n, n) - tgi_v3_dot(right.n, n));
  return h->edge[4 * edge + (along >= 0 ? 2 : 3)];
}

bool tgi_same_features(const tgShape *A, const tgShape *B, int feature, const int memory[TG_PAIR_MEMORY], const tgReal n[3],
                       tgContactPoint *c) {
  Box box_a, box_b;
  const tgShape *S[2] = {with_hull(A, &box_a), with_hull(B, &box_b)};
  int kind = feature >> TGI_FEATURE_KIND, i = feature >> 13 & 0x3fff, j = feature & TGI_FEATURE_J, side = kind < TGI_KIND_A;
  if (S[0] == NULL || S[1] == NULL || !all_told_apart(S[0]->hull) || !all_told_apart(S[1]->hull)) return false;
  if (!side) kind -= TGI_KIND_A;
  if (kind == TGI_KIND_CROSS) {
    crossing(S, i, j, n, c);
    return true;
  }
  if (kind < TGI_KIND_FACE_POINT || kind > TGI_KIND_FACE_CORNER) return false;
  int f = kind == TGI_KIND_FACE_POINT ? j : reference(S, memory, side, n);
  if (f >= 0) on_face(S, side, f, kind, i, j, c);
  return f >= 0;
}

double tgi_remembered_separation(const tgShape *A, const tgShape *B, const int32_t memory[TG_PAIR_MEMORY]) {
  Box box_a, box_b;
  tgiPair P = {.A = with_hull(A, &box_a), .B = with_hull(B, &box_b)};
  int side = memory[0] > 0 ? 0 : 1, f = memory[side] - 1;
  tgiConvex X, Y;
  if (f < 0 || P.A == NULL || P.B == NULL) return -INFINITY;
  const tgHull *h = side == 0 ? P.A->hull : P.B->hull;
  if (h == NULL || f >= h->nface) return -INFINITY;
  tgi_convex_pair(&P, &X, &Y);
  const tgiConvex *F = X.is_a == (side == 0) ? &X : &Y, *V = F == &X ? &Y : &X;
  return tgi_face_separation(F, f, V) - V->r;
}

int tgi_collide(const tgShape *A, const tgShape *B, double margin, double fine, tgCollide want, int32_t memory[TG_PAIR_MEMORY],
                tgContactPoint out[TG_PAIR_POINTS], double *distance) {
  Box box_a, box_b;
  tgiPair P = {with_hull(A, &box_a), with_hull(B, &box_b), margin, fine, want, memory, out, INFINITY};
  bool plane_a = A->type == TG_GEOM_PLANE, plane_b = B->type == TG_GEOM_PLANE;
  int count = 0;
  if (!P.A || !P.B) return TG_ERR_UNSUPPORTED;
  if (plane_a && plane_b) count = 0;                // two half-spaces have no contact points
  else if (plane_a || plane_b) {
    const tgShape *other = plane_a ? B : A;
    count = is_round(other) ? tgi_pair_plane_round(&P) : is_curved(other) ? tgi_pair_plane_curved(&P) : tgi_pair_plane_hull(&P);
  }
  else if (is_round(A) && is_round(B)) count = tgi_pair_round_round(&P);
  else count = tgi_pair_convex(&P);
  if (distance) *distance = P.distance;
  return count;
}
