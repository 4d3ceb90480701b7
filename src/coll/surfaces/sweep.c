// sweep.c: traversals of two sphere trees. See sweep.h.
//
// A pair of nodes is left when its spheres stay farther apart than what is asked; leaves are decided by their triangles.
#include "coll/surfaces/sweep.h"

#include <math.h>
#include <string.h>

#include "coll/surfaces/ccd.h"
#include "coll/surfaces/oval.h"
#include "coll/surfaces/triangle.h"
#include "math/d3.h"

// radii are rounded: a vertex may lie that much outside
static const double loose = 1 + 1e-12;

// P NULL: not moved
static void place(const tgiRigid *P, const tgReal *y, double *x) {
  double z[3] = {tgRe(y[0]), tgRe(y[1]), tgRe(y[2])};
  if (P == NULL) {
    memcpy(x, z, sizeof z);
    return;
  }
  for (int i = 0; i < 3; i++) x[i] = P->R[3 * i] * z[0] + P->R[3 * i + 1] * z[1] + P->R[3 * i + 2] * z[2] + P->p[i];
}
static void centre_at(const tgiSolid *s, int k, const tgiRigid *P, double *x) { place(P, s->number->centre + 3 * k, x); }
static double radius(const tgiSolid *s, int k) { return loose * tgRe(s->number->radius[k]); }
static void corners(const tgiSolid *s, int k, const tgiRigid *P, double *x) {
  const int *face = s->surface->face + 3 * s->tree->tri[k];
  for (int i = 0; i < 3; i++) place(P, s->number->vert + 3 * face[i], x + 3 * i);
}
// of a core: the solid is all within that of its face
static double round_of(const tgiSolid *s) { return loose * tgRe(*s->number->round); }
static void axes_at(const tgiSolid *s, const tgiRigid *P, double axes[9]) {
  double x[3];
  place(P, s->number->vert, x);
  for (int k = 0; k < 3; k++) {
    place(P, s->number->vert + 3 * (k + 1), axes + 3 * k);
    tgi_d3_sub(axes + 3 * k, axes + 3 * k, x);
  }
}
static tgiOvalPart part_of(const tgiSolid *s, int k, const tgiRigid *P) {
  tgiOvalPart p = {.round = round_of(s), .oval = s->surface->oval};
  corners(s, k, P, p.x);
  if (p.oval) axes_at(s, P, p.axes);
  return p;
}
static bool is_leaf(const tgiSolid *s, int k) { return s->tree->tri[k] >= 0; }
// of two nodes, is the first the one to open
static bool opens_first(const tgiSolid *a, int i, const tgiSolid *b, int j) {
  return is_leaf(b, j) || (!is_leaf(a, i) && radius(a, i) >= radius(b, j));
}

// The sphere of a leaf much larger than what it is compared with says little: its triangle does.
static bool large_leaf(const tgiSolid *a, int i, const tgiSolid *b, int j) {
  return is_leaf(a, i) && !a->surface->oval && radius(a, i) > 2 * radius(b, j);
}

// distance from the triangle of leaf i to the sphere of node j
static double face_to_sphere(const tgiSolid *a, int i, const tgiRigid *pa, const tgiSolid *b, int j, const tgiRigid *pb) {
  double x[9], c[3];
  corners(a, i, pa, x);
  centre_at(b, j, pb, c);
  return tgi_point_triangle(c, x).distance - round_of(a) - radius(b, j);
}

// ---- distance

typedef struct Query {
  const tgiSolid *a, *b;
  const tgiRigid *pa, *pb;
  double best, n[3];   // n: from b to a, of the nearest triangles so far; it mostly separates their neighbours too
} Query;

// how far apart the triangles at x (that of a, then that of b) are along n, at least
static double apart(const double *x, const double *n) {
  double low = INFINITY, high = -INFINITY;
  for (int i = 0; i < 3; i++) {
    double a = tgi_d3_dot(n, x + 3 * i), b = tgi_d3_dot(n, x + 9 + 3 * i);
    low = a < low ? a : low;   // fmin and fmax are calls
    high = b > high ? b : high;
  }
  return low - high;
}

static void normal_of(const double *x, double *n) {
  double e[3], f[3];
  tgi_d3_sub(e, x + 3, x);
  tgi_d3_sub(f, x + 6, x);
  tgi_d3_cross(n, e, f);
}

// to no more than 1; false: of none
static bool shorten(double *n) {
  double length = tgi_d3_norm(n);
  for (int i = 0; i < 3 && length > 0; i++) n[i] *= (1 - 1e-12) / length;
  return length > 0;
}

// the triangles are `least` apart along the normal of either, to one side
static bool faces_apart(const double *x, double least) {
  for (int k = 0; k < 18; k += 9) {
    double n[3], back[3];
    normal_of(x + k, n);
    if (!shorten(n)) continue;
    for (int i = 0; i < 3; i++) back[i] = -n[i];
    if (apart(x, n) >= least || apart(x, back) >= least) return true;
  }
  return false;
}

// lower bound of the distance of what is under nodes i and j; of large leaves the better one where the spheres' does not leave them out
static double spheres(const Query *Q, int i, int j) {
  double x[3], y[3], r[3];
  centre_at(Q->a, i, Q->pa, x);
  centre_at(Q->b, j, Q->pb, y);
  tgi_d3_sub(r, x, y);
  double least = tgi_d3_norm(r) - radius(Q->a, i) - radius(Q->b, j);
  if (least >= Q->best) return least;
  if (large_leaf(Q->a, i, Q->b, j)) return face_to_sphere(Q->a, i, Q->pa, Q->b, j, Q->pb);
  if (large_leaf(Q->b, j, Q->a, i)) return face_to_sphere(Q->b, j, Q->pb, Q->a, i, Q->pa);
  return least;
}

// least: what the spheres of i and j leave between them
static void nearest(Query *Q, int i, int j, double least) {
  if (least >= Q->best) return;
  if (is_leaf(Q->a, i) && is_leaf(Q->b, j) && (Q->a->surface->oval || Q->b->surface->oval)) {
    tgiOvalPart a = part_of(Q->a, i, Q->pa), b = part_of(Q->b, j, Q->pb);
    double n[3];
    Q->best = fmin(Q->best, tgi_oval_distance(&a, &b, n));
    return;
  }
  if (is_leaf(Q->a, i) && is_leaf(Q->b, j)) {
    double x[18];
    corners(Q->a, i, Q->pa, x);
    corners(Q->b, j, Q->pb, x + 9);
    double round = round_of(Q->a) + round_of(Q->b);
    if (apart(x, Q->n) - round >= Q->best || faces_apart(x, Q->best + round)) return;
    tgiNearby c = tgi_triangle_triangle(x, x + 9);
    if (c.distance - round >= Q->best) return;
    Q->best = fmax(0, c.distance - round);
    for (int k = 0; k < 3 && c.distance > 0; k++) Q->n[k] = (c.a[k] - c.b[k]) / c.distance * (1 - 1e-12);   // no longer than 1
    return;
  }
  bool first = opens_first(Q->a, i, Q->b, j);
  const int *child = first ? Q->a->tree->child + 2 * i : Q->b->tree->child + 2 * j;
  double gap[2];
  for (int c = 0; c < 2; c++) gap[c] = first ? spheres(Q, child[c], j) : spheres(Q, i, child[c]);
  for (int n = 0; n < 2; n++) {   // the nearer first
    int c = (gap[1] < gap[0]) != (n == 1);
    nearest(Q, first ? child[c] : i, first ? j : child[c], gap[c]);
  }
}

double tgi_solid_distance(const tgiSolid *a, const tgiRigid *pa, const tgiSolid *b, const tgiRigid *pb, double cap) {
  Query Q = {.a = a, .b = b, .pa = pa, .pb = pb, .best = cap};
  nearest(&Q, 0, 0, spheres(&Q, 0, 0));
  return Q.best;
}

// ---- motion

typedef struct Sweep {
  const tgiSolid *a, *b;
  const tgiRigid *pa, *pb;       // two each
  double gap, tol, enough, t;   // t: nothing comes nearer than gap before
  double x[2][18];              // corners at both ends of the leaves `leaf` of a and of b
  int leaf[2];
  double n[3];                  // from b to a: what kept the last pair apart, or of the last search; it mostly parts its neighbours
} Sweep;

// Greatest distance that the centre of node j moves in a triangle's eyes, which is that in the eyes of one of its vertices.
static double relative_path(const tgiSolid *a, int i, const tgiRigid *pa, const tgiSolid *b, int j, const tgiRigid *pb) {
  double x[2][9], c[2][3], most = 0;
  for (int s = 0; s < 2; s++) {
    corners(a, i, pa + s, x[s]);
    centre_at(b, j, pb + s, c[s]);
  }
  for (int k = 0; k < 3; k++) {
    double r[3];
    for (int n = 0; n < 3; n++) r[n] = c[1][n] - c[0][n] - x[1][3 * k + n] + x[0][3 * k + n];
    most = fmax(most, tgi_d3_dot(r, r));
  }
  return sqrt(most);
}

// large leaf i and the sphere of node j: apart by more than they move
static bool face_stays_apart(const Sweep *S, const tgiSolid *a, int i, const tgiRigid *pa, const tgiSolid *b, int j, const tgiRigid *pb) {
  return face_to_sphere(a, i, pa, b, j, pb) - S->t * relative_path(a, i, pa, b, j, pb) > S->gap + S->tol;
}

// Do the spheres stay gap apart until S->t? Their centres are on straight lines too, and what lies in a sphere at both ends stays in it.
static bool stay_apart(const Sweep *S, int i, int j) {
  double x[3], y[3], r[2][3], w[3];
  for (int s = 0; s < 2; s++) {
    centre_at(S->a, i, S->pa + s, x);
    centre_at(S->b, j, S->pb + s, y);
    tgi_d3_sub(r[s], x, y);
  }
  tgi_d3_sub(w, r[1], r[0]);
  double ww = tgi_d3_dot(w, w), t = ww > 0 ? -tgi_d3_dot(r[0], w) / ww : 0;
  tgi_d3_along(x, r[0], fmax(0, fmin(t, S->t)), w);
  if (tgi_d3_norm(x) > radius(S->a, i) + radius(S->b, j) + S->gap + S->tol) return true;
  if (large_leaf(S->a, i, S->b, j)) return face_stays_apart(S, S->a, i, S->pa, S->b, j, S->pb);
  return large_leaf(S->b, j, S->a, i) && face_stays_apart(S, S->b, j, S->pb, S->a, i, S->pa);
}

// Along a fixed direction gaps change linearly: more than `goal` at both ends, more than that between them.
static bool gap_stays(const double x[2][18], const double *n, double goal) { return apart(x[0], n) > goal && apart(x[1], n) > goal; }

// Do they keep it along n? That is tried first for the next ones then.
static bool parts(Sweep *S, const double *n, double goal) {
  if (!gap_stays(S->x, n, goal)) return false;
  memcpy(S->n, n, sizeof S->n);
  return true;
}

// Do the triangles keep `goal` along the normal of either, between those at both ends, to either side?
static bool faces_part(Sweep *S, double goal) {
  for (int k = 0; k < 18; k += 9) {
    double n[2][3], back[3];
    for (int s = 0; s < 2; s++) normal_of(S->x[s] + k, n[s]);
    for (int i = 0; i < 3; i++) n[0][i] += n[1][i];
    if (!shorten(n[0])) continue;
    for (int i = 0; i < 3; i++) back[i] = -n[0][i];
    if (parts(S, n[0], goal) || parts(S, back, goal)) return true;
  }
  return false;
}

// Do they along the shortest way between them at the start?
static bool nearest_part(Sweep *S, double goal) {
  tgiNearby c = tgi_triangle_triangle(S->x[0], S->x[0] + 9);
  double n[3];
  if (!(c.distance > goal)) return false;
  for (int k = 0; k < 3; k++) n[k] = (c.a[k] - c.b[k]) / c.distance * (1 - 1e-12);   // no longer than 1
  return parts(S, n, goal);
}

// S->x of leaves i and j, of which the last ones often were one
static void take_corners(Sweep *S, int i, int j) {
  for (int s = 0; s < 2 && S->leaf[0] != i; s++) corners(S->a, i, S->pa + s, S->x[s]);
  for (int s = 0; s < 2 && S->leaf[1] != j; s++) corners(S->b, j, S->pb + s, S->x[s] + 9);
  S->leaf[0] = i;
  S->leaf[1] = j;
}

static void first_contact(Sweep *S, int i, int j) {
  if (S->t <= S->enough || stay_apart(S, i, j)) return;
  if (is_leaf(S->a, i) && is_leaf(S->b, j) && (S->a->surface->oval || S->b->surface->oval)) {
    tgiOvalPart a[2], b[2];
    for (int s = 0; s < 2; s++) {
      a[s] = part_of(S->a, i, S->pa + s);
      b[s] = part_of(S->b, j, S->pb + s);
    }
    S->t = fmin(S->t, tgi_oval_sweep(a, b, S->gap, S->tol, S->t));
    return;
  }
  if (is_leaf(S->a, i) && is_leaf(S->b, j)) {
    take_corners(S, i, j);
    // a direction that keeps them apart is much cheaper to find than that no vertex, face and edges of them meet
    double gap = S->gap + round_of(S->a) + round_of(S->b), goal = gap + S->tol;
    if (gap_stays(S->x, S->n, goal) || faces_part(S, goal) || nearest_part(S, goal)) return;
    tgiCcd c = tgi_ccd(S->x[0], S->x[1], 3, 3, gap, S->tol);
    for (int k = 0; k < 3; k++) S->n[k] = c.n[k] * (1 - 1e-12);
    if (c.hit) S->t = fmin(S->t, c.t);
    return;
  }
  bool first = opens_first(S->a, i, S->b, j);
  const int *child = first ? S->a->tree->child + 2 * i : S->b->tree->child + 2 * j;
  for (int c = 0; c < 2; c++) first_contact(S, first ? child[c] : i, first ? j : child[c]);
}

double tgi_solid_sweep(const tgiSolid *a, const tgiRigid pa[2], const tgiSolid *b, const tgiRigid pb[2], double gap, double tol,
                       double enough, double until) {
  Sweep S = {.a = a, .b = b, .pa = pa, .pb = pb, .gap = gap, .tol = tol, .enough = enough, .t = until, .leaf = {-1, -1}};
  first_contact(&S, 0, 0);
  return S.t;
}

// ---- half-space

static double height(const tgiPlane *plane, const double *x) {
  double r[3];
  tgi_d3_sub(r, x, plane->p);
  return tgi_d3_dot(r, plane->n);
}

// support of an ellipsoid along the plane's normal
static double rise(const tgiSolid *a, const tgiRigid *pa, const tgiPlane *plane) {
  double axes[9], e[3];
  if (!a->surface->oval) return 0;
  axes_at(a, pa, axes);
  for (int i = 0; i < 3; i++) e[i] = tgi_d3_dot(axes + 3 * i, plane->n);
  return tgi_d3_norm(e);
}

static double lowest(const tgiSolid *a, const tgiRigid *pa, const tgiPlane *plane, int k, double best) {
  double x[9];
  centre_at(a, k, pa, x);
  if (height(plane, x) - radius(a, k) >= best) return best;
  if (!is_leaf(a, k)) {
    best = lowest(a, pa, plane, a->tree->child[2 * k], best);
    return lowest(a, pa, plane, a->tree->child[2 * k + 1], best);
  }
  corners(a, k, pa, x);
  for (int i = 0; i < 3; i++) best = fmin(best, height(plane, x + 3 * i) - round_of(a) - rise(a, pa, plane));
  return best;
}

double tgi_solid_height(const tgiSolid *a, const tgiRigid *pa, const tgiPlane *plane, double cap) { return lowest(a, pa, plane, 0, cap); }

// Heights are linear in time; that of an ellipsoid's lowest point lies above its chord, as its support is convex
static double fall(const tgiSolid *a, const tgiRigid *pa, const tgiPlane *plane, double gap, int k, double t) {
  double x[2][9], h[2];
  for (int s = 0; s < 2; s++) {
    centre_at(a, k, pa + s, x[s]);
    h[s] = height(plane, x[s]) - radius(a, k);
  }
  if (h[0] > gap && h[0] + t * (h[1] - h[0]) > gap) return t;
  if (!is_leaf(a, k)) {
    t = fall(a, pa, plane, gap, a->tree->child[2 * k], t);
    return fall(a, pa, plane, gap, a->tree->child[2 * k + 1], t);
  }
  for (int s = 0; s < 2; s++) corners(a, k, pa + s, x[s]);
  for (int i = 0; i < 3; i++) {
    for (int s = 0; s < 2; s++) h[s] = height(plane, x[s] + 3 * i) - round_of(a) - rise(a, pa + s, plane) - gap;
    if (h[0] <= 0 && h[1] < h[0]) t = 0;
    else if (h[1] < 0) t = fmin(t, h[0] / (h[0] - h[1]));
  }
  return t;
}

double tgi_solid_fall(const tgiSolid *a, const tgiRigid pa[2], const tgiPlane *plane, double gap, double until) {
  return fall(a, pa, plane, gap, 0, until);
}
