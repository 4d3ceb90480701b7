// clip_curved.c: what of a curved body lies over a reference face, and what lies over a cylinder's cap. See clip.h.
//
// Based on: [math/collision Curved shapes].
// Numbers of a cylinder's parts: rims 0 (-z) and 1, lines of the side 2, points 3 + 4 cap + k of the rims at a quarter turn each.
#include "coll/features/clip.h"
#include "coll/features/smooth.h"

enum { LINES = 2, POINTS = 3 };
#define GRAZING 1e-6  // a chord of an outline shorter than this part of its radius is a touch, not two crossings
#define FACING 0.8    // cosine between a cap's normal and the face's from which its points and crossings count

static const double quarter[4][2] = {{1, 0}, {0, 1}, {-1, 0}, {0, -1}};

typedef struct Over {
  tgiManifold *M;
  tgiOutline O;
  const tgiConvex *I;
} Over;

static void column(const tgiConvex *C, int j, double *u) {
  for (int i = 0; i < 3; i++) u[i] = C->R[3 * i + j];
}
static double gap_at(const Over *V, const double *x) { return tgi_d3_dot(V->O.n, x) - V->O.off - V->I->r; }

static void offer(Over *V, int kind, int i, int j, const double *x, double at, bool tie) {
  tgiManifold *M = V->M;
  double gap = gap_at(V, x);
  tgi_manifold_offer(M, kind, i, j, x, gap, tie);
  if (gap <= M->margin) M->c[M->count - 1].at = at;
}
static void offer_inside(Over *V, int i, const double *x) {
  bool tie = false;
  if (tgi_outline_holds(&V->O, x, V->M->tol, &tie)) offer(V, TGI_KIND_FACE_POINT, i, 0, x, 0, tie);
}

// ---- crossings with the outline

// the segment x0 + t u: ends of its stretch [t0, t1] inside, each with the side that it leaves through
static bool stretch(Over *V, const double *x0, const double *u, double *t, int *at) {
  tgiOutline *O = &V->O;
  double ms[4], tol = V->M->tol;
  t[0] = 0;
  t[1] = 1;
  at[0] = at[1] = -1;
  if (O->F->kind == TGI_CONVEX_CYLINDER) {
    double y[3], v[3], a, b, c;
    tgi_d3_sub(y, x0, O->F->t);
    tgi_d3_along(y, y, -tgi_d3_dot(y, O->n), O->n);
    tgi_d3_along(v, u, -tgi_d3_dot(u, O->n), O->n);
    a = tgi_d3_dot(v, v);
    b = tgi_d3_dot(v, y);
    c = tgi_d3_dot(y, y) - O->F->size[0] * O->F->size[0];
    if (!(a > 1e-12 * tgi_d3_dot(u, u))) return false;    // upright: its ends decide
    if (!(b * b - a * c > GRAZING * GRAZING * a * O->F->size[0] * O->F->size[0])) return false;
    double root = sqrt(b * b - a * c), in = (-b - root) / a, out = (-b + root) / a, e = tol / sqrt(a);
    if (in > e) { t[0] = in; at[0] = 0; }
    if (out < 1 - e) { t[1] = out; at[1] = 1; }
    return t[0] < t[1] && t[0] < 1 && t[1] > 0;
  }
  for (int j = 0; j < O->nside; j++) {
    const double *m = tgi_outline_side(O, j, ms);
    double d0 = tgi_d3_dot(m, x0) - m[3], d1 = d0 + tgi_d3_dot(m, u);
    if (d0 <= tol && d1 <= tol) continue;
    if (d0 >= -tol && d1 >= -tol) return false;
    double cut = d0 / (d0 - d1);
    if (d0 > 0 && cut > t[0]) { t[0] = cut; at[0] = j; }
    if (d1 > 0 && cut < t[1]) { t[1] = cut; at[1] = j; }
  }
  return t[0] < t[1];
}
static int side_number(const Over *V, int k) {
  const tgHull *h = V->O.F->h;
  return h ? h->face_edge[h->face_adr[V->O.f] + k] : k;
}
// whole: the parameter of the feature runs from -1 to 1 over the segment, else from 0
static void offer_segment(Over *V, int i, const double *x0, const double *u, bool whole) {
  double t[2], x[3];
  int at[2];
  if (!stretch(V, x0, u, t, at)) return;
  bool tie = (t[1] - t[0]) * tgi_d3_norm(u) < V->M->tol;
  for (int e = 0; e < 2; e++) {
    if (at[e] < 0) continue;
    tgi_d3_along(x, x0, t[e], u);
    offer(V, TGI_KIND_FACE_CROSSING, i, side_number(V, at[e]), x, whole ? 2 * t[e] - 1 : t[e], tie);
  }
}

// a rim: centre and two axes times its radius
typedef struct Rim { double c[3], a[3], b[3]; } Rim;
static void rim_of(Rim *q, const tgiConvex *C, int cap) {
  double z[3];
  column(C, 2, z);
  tgi_d3_along(q->c, C->t, cap == 0 ? -C->size[1] : C->size[1], z);
  for (int j = 0; j < 2; j++) {
    double *u = j == 0 ? q->a : q->b;
    column(C, j, u);
    for (int i = 0; i < 3; i++) u[i] *= C->size[0];
  }
}
static void rim_at(const Rim *q, double angle, double *x) {
  tgi_d3_along(x, q->c, cos(angle), q->a);
  tgi_d3_along(x, x, sin(angle), q->b);
}

// the rim through side plane k: m.(c + a cos + b sin) = off
static void offer_rim_side(Over *V, const Rim *q, int cap, int k) {
  double ms[4], x[3], tol = V->M->tol;
  const double *m = tgi_outline_side(&V->O, k, ms);
  double a = tgi_d3_dot(m, q->a), b = tgi_d3_dot(m, q->b), c = m[3] - tgi_d3_dot(m, q->c), top = hypot(a, b);
  if (!(top > fabs(c) && top * top - c * c > GRAZING * GRAZING * top * top)) return;
  double mid = atan2(b, a), half = acos(c / top);
  for (int e = 0; e < 2; e++) {
    double angle = e == 0 ? mid - half : mid + half;
    bool tie = false, own = top - fabs(c) < tol;
    rim_at(q, angle, x);
    // on its own side plane it is always; within the others strictly or as a tie
    bool in = true;
    for (int j = 0; j < V->O.nside && in; j++) {
      double ns[4];
      if (j == k) continue;
      const double *n = tgi_outline_side(&V->O, j, ns);
      double d = tgi_d3_dot(n, x) - n[3];
      in = d <= tol;
      tie = tie || d >= -tol;
    }
    if (in) offer(V, TGI_KIND_FACE_CROSSING, cap + 4 * e, side_number(V, k), x, angle, tie || own);
  }
}

// the rim through the reference cap's side: from the circles as if parallel, then Newton on |P (x - t)|^2 = r^2
static void offer_rim_lateral(Over *V, const Rim *q, int cap) {
  const tgiConvex *F = V->O.F;
  double y[3], R = F->size[0], r = V->I->size[0], first = 0;
  tgi_d3_sub(y, q->c, F->t);
  tgi_d3_along(y, y, -tgi_d3_dot(y, V->O.n), V->O.n);
  double d = tgi_d3_norm(y);
  if (!(d < R + r && d > fabs(R - r))) return;
  double mid = atan2(-tgi_d3_dot(y, q->b), -tgi_d3_dot(y, q->a)), half = acos(fmin(1, fmax(-1, (d * d + r * r - R * R) / (2 * d * r))));
  if (!(sin(half) > GRAZING)) return;
  for (int e = 0; e < 2; e++) {
    double angle = e == 0 ? mid - half : mid + half, x[3], v[3], value = 0;
    for (int step = 0; step < 8; step++) {
      rim_at(q, angle, x);
      tgi_d3_sub(y, x, F->t);
      tgi_d3_along(y, y, -tgi_d3_dot(y, V->O.n), V->O.n);
      value = (tgi_d3_dot(y, y) - R * R) / 2;
      for (int i = 0; i < 3; i++) v[i] = cos(angle) * q->b[i] - sin(angle) * q->a[i];
      angle -= value / tgi_d3_dot(y, v);
    }
    if (!(fabs(value) < V->M->tol * R) || (e == 1 && fabs(remainder(angle - first, 2 * TG_PI)) < 1e-9)) continue;
    first = angle;
    rim_at(q, angle, x);
    offer(V, TGI_KIND_FACE_CROSSING, cap + 4 * e, e, x, angle, false);
  }
}

// ---- points of the reference face over a face of I, carried along n: onto the plane m.x = off of I
static void offer_carried(Over *V, int i, int j, const double *x0, const double *m, double off, bool tie) {
  double x[3], h = (off - tgi_d3_dot(m, x0)) / tgi_d3_dot(m, V->O.n);
  tgi_d3_along(x, x0, h, V->O.n);
  offer(V, TGI_KIND_FACE_CORNER, i, j, x, 0, tie);
}

// corners of a polygon over cap `cap` of I, or the four points of a reference cap's rim over it
static void offer_over_cap(Over *V, int cap) {
  const tgiConvex *F = V->O.F;
  tgiOutline C;
  double x[3], tol = V->M->tol;
  tgi_outline_start(&C, V->I, cap);
  Rim q;
  if (F->kind == TGI_CONVEX_CYLINDER) rim_of(&q, F, V->O.f);
  for (int k = 0; k < (F->h ? V->O.nside : F->kind == TGI_CONVEX_CYLINDER ? 4 : 0); k++) {
    int v = F->h ? F->h->face_vert[F->h->face_adr[V->O.f] + k] : POINTS + 4 * V->O.f + k;
    bool tie = false;
    if (F->h) tgi_convex_vertex(F, v, x);
    else {
      tgi_d3_along(x, q.c, quarter[k][0], q.a);
      tgi_d3_along(x, x, quarter[k][1], q.b);
    }
    double h = (C.off - tgi_d3_dot(C.n, x)) / tgi_d3_dot(C.n, V->O.n), y[3];
    tgi_d3_along(y, x, h, V->O.n);
    if (tgi_outline_holds(&C, y, -tol, &tie)) offer_carried(V, cap, v, x, C.n, C.off, false);
  }
}

// the four points of the reference cap's rim over face g of a polytope, strictly within its outline as seen along n
static void offer_over_face(Over *V, int g) {
  double m[3], x[3], a[3], b[3], e[3], out[3], r[3];
  double off = tgi_convex_face(V->I, g, m);
  const tgHull *h = V->I->h;
  int size = h->face_adr[g + 1] - h->face_adr[g];
  Rim q;
  if (!(tgi_d3_dot(m, V->O.n) < -FACING)) return;
  rim_of(&q, V->O.F, V->O.f);
  for (int k = 0; k < 4; k++) {
    bool in = true;
    tgi_d3_along(x, q.c, quarter[k][0], q.a);
    tgi_d3_along(x, x, quarter[k][1], q.b);
    for (int l = 0; l < size && in; l++) {
      tgi_convex_vertex(V->I, h->face_vert[h->face_adr[g] + l], a);
      tgi_convex_vertex(V->I, h->face_vert[h->face_adr[g] + (l + 1) % size], b);
      tgi_d3_sub(e, b, a);
      tgi_d3_cross(out, V->O.n, e);
      tgi_d3_sub(r, x, a);
      in = tgi_d3_dot(out, r) < -V->M->tol * tgi_d3_norm(out);
    }
    if (in) offer_carried(V, g, POINTS + 4 * V->O.f + k, x, m, off, false);
  }
}

// ---- bodies over the face

static void cylinder_over(Over *V) {
  const tgiConvex *I = V->I;
  double a[3], e[3], x[3], u[3];
  column(I, 2, a);
  double cosine = tgi_d3_dot(V->O.n, a), tilt = 0;
  for (int i = 0; i < 3; i++) e[i] = 0;
  for (int j = 0; j < 2; j++) {
    column(I, j, u);
    double c = tgi_d3_dot(V->O.n, u);
    tgi_d3_along(e, e, c, u);
    tilt += c * c;
  }
  tilt = sqrt(tilt);
  int low = cosine > 0 ? 0 : 1;
  bool tilted = tilt > I->flat, near = fabs(tilt - I->flat) < fmin(TGI_TIE, 0.1 * I->flat);
  Rim q;
  if (tilted) {                                      // lowest line of the side, and its ends, the lowest points of the rims
    for (int i = 0; i < 3; i++) {
      u[i] = 2 * I->size[1] * a[i];
      x[i] = I->t[i] - u[i] / 2 - I->size[0] / tilt * e[i];
    }
    for (int cap = 0; cap < 2; cap++) {
      double end[3];
      tgi_d3_along(end, x, cap, u);
      offer_inside(V, cap, end);
    }
    offer_segment(V, LINES, x, u, true);
  }
  if (!(fabs(cosine) > FACING)) return;
  rim_of(&q, I, low);
  for (int k = 0; k < 4; k++) {
    // those next to the lowest point are spared
    double c = -(quarter[k][0] * tgi_d3_dot(e, q.a) + quarter[k][1] * tgi_d3_dot(e, q.b)) / (tilt * I->size[0]);
    if (tilted && c > 0.7071067811865476) continue;
    tgi_d3_along(x, q.c, quarter[k][0], q.a);
    tgi_d3_along(x, x, quarter[k][1], q.b);
    offer_inside(V, POINTS + 4 * low + k, x);
  }
  for (int k = 0; k < V->O.nside; k++) offer_rim_side(V, &q, low, k);
  if (V->O.F->kind == TGI_CONVEX_CYLINDER) offer_rim_lateral(V, &q, low);
  offer_over_cap(V, low);
  for (int k = 0; k < V->M->count && near; k++) V->M->c[k].tie = true;
}

int tgi_cylinder_lowest(const tgiConvex *I, const double *n) {
  double a[3], tilt[2];
  for (int j = 0; j < 2; j++) {
    column(I, j, a);
    tilt[j] = tgi_d3_dot(n, a);
  }
  column(I, 2, a);
  int low = tgi_d3_dot(n, a) > 0 ? 0 : 1;
  return tilt[0] * tilt[0] + tilt[1] * tilt[1] > I->flat * I->flat ? low : POINTS + 4 * low;
}

static void hull_over(Over *V, int g) {
  const tgHull *h = V->I->h;
  int size = h->face_adr[g + 1] - h->face_adr[g];
  double a[3], b[3];
  for (int k = 0; k < size; k++) {
    int v = h->face_vert[h->face_adr[g] + k], e = h->face_edge[h->face_adr[g] + k];
    tgi_convex_vertex(V->I, v, a);
    offer_inside(V, v, a);
    tgi_convex_vertex(V->I, h->edge[4 * e], a);      // from the edge's own start, as its parameter runs
    tgi_convex_vertex(V->I, h->edge[4 * e + 1], b);
    tgi_d3_sub(b, b, a);
    offer_segment(V, e, a, b, false);
  }
  offer_over_face(V, g);
}

void tgi_clip_curved(tgiManifold *M, const tgiConvex *F, int f, const tgiConvex *I, int g, double margin, double tol) {
  Over V = {.M = M, .I = I};
  double along[3], x[3], m[3];
  tgi_outline_start(&V.O, F, f);
  // directions for the reduction, carried by a body: an axis of F in the face's plane; of I where F is a half-space
  const tgiConvex *C = F->kind == TGI_CONVEX_PLANE ? I : F;
  double best = INFINITY;
  for (int j = 0; j < 3; j++) {
    column(C, j, m);
    if (fabs(tgi_d3_dot(m, V.O.n)) < best - 1e-6) { best = fabs(tgi_d3_dot(m, V.O.n)); column(C, j, along); }
  }
  tgi_manifold_start(M, margin, tol, V.O.n, along);
  switch (I->kind) {
    case TGI_CONVEX_ROUND:
      for (int k = 0; k < I->nvert; k++) {
        tgi_convex_vertex(I, k, x);
        offer_inside(&V, k, x);
      }
      if (I->seg.line) offer_segment(&V, 0, I->seg.x, I->seg.u, true);
      break;
    case TGI_CONVEX_ELLIPSOID: {
      int from = 0;
      tgi_convex_lowest(I, V.O.n, 1, &from, x);
      offer_inside(&V, 0, x);
      break;
    }
    case TGI_CONVEX_CYLINDER: cylinder_over(&V); break;
    case TGI_CONVEX_HULL: hull_over(&V, g); break;
    case TGI_CONVEX_PLANE: break;
  }
}

// ---- closed forms

void tgi_convex_world_face(tgiFace *W, const tgiConvex *F, int f, tgCollide want) {
  if (F->h) tgi_hull_face(W, F->S, F->is_a, f, want);
  else if (F->kind == TGI_CONVEX_CYLINDER) tgi_cylinder_cap(W, F->S, F->is_a, f);
  else tgi_plane_face(W, F->S, F->is_a);
}

static void rim_point(tgiCore *core, const tgiConvex *C, int number) {
  tgi_cylinder_point(core, C->S, C->is_a, (number - POINTS) / 4, quarter[(number - POINTS) % 4]);
}

void tgi_emit_curved(tgContactPoint *c, const tgiCandidate *k, const tgiFace *W, const tgiConvex *F, const tgiConvex *I,
                     tgCollide want) {
  tgiSmooth K = {.curve = TGI_CURVE_NONE};
  tgiBound bound;
  tgiFace other;
  tgiCore *core = &K.core;
  bool cylinder = I->kind == TGI_CONVEX_CYLINDER;
  if (k->kind == TGI_KIND_FACE_POINT && I->kind == TGI_CONVEX_ELLIPSOID) {
    tgi_ellipsoid_surface(&K, I->S, I->is_a, want);
    tgi_rule_face_support(c, W, &K, want);
  } else if (k->kind == TGI_KIND_FACE_POINT && cylinder && k->i < LINES) {
    tgi_cylinder_rim(&K, I->S, I->is_a, k->i, want);
    tgi_rule_face_support(c, W, &K, want);
  } else if (k->kind == TGI_KIND_FACE_POINT) {
    if (cylinder) rim_point(core, I, k->i);
    else if (I->h) tgi_hull_vertex(core, I->S, I->is_a, k->i, want);
    else tgi_round_core(core, I->S, I->is_a, k->i == 0 ? TGI_AT_START : TGI_AT_END, want);
    tgi_rule_face_point(c, W, core, want);
  } else if (k->kind == TGI_KIND_FACE_CORNER) {
    if (F->h) tgi_hull_vertex(core, F->S, F->is_a, k->j, want);
    else rim_point(core, F, k->j);
    tgi_convex_world_face(&other, I, k->i, want);
    tgi_rule_face_corner(c, W, core, &other, want);
  } else {
    bound.lateral = !F->h;
    if (F->h) tgi_hull_edge(&bound.line, F->S, F->is_a, k->j, want);
    else {
      tgiSmooth side;
      tgi_cylinder_side(&side, F->S, F->is_a, want);
      bound.line = side.core;
    }
    if (I->h) tgi_hull_edge(core, I->S, I->is_a, k->i, want);
    else if (!cylinder) tgi_round_core(core, I->S, I->is_a, TGI_AT_INSIDE, want);
    else if (k->i == LINES) tgi_cylinder_lines(&K, I->S, I->is_a, want);
    else tgi_cylinder_rim(&K, I->S, I->is_a, k->i % 4, want);
    tgi_rule_face_crossing(c, W, &bound, &K, k->at, want);
  }
}
