// exact.c: intersection of triangles and surfaces by exact signs. See exact.h.
//
// Based on: [math/collision Intersection], [Shewchuk]. A sign is taken from the rounded determinant where that is larger than its error
// bound, else from a sum of doubles that is the determinant exactly: differences split as hi + lo, products as p + e, and all terms added
// without loss.
#include "coll/surfaces/exact.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"

// ---- a sum of doubles without rounding: parts that do not overlap, by rising magnitude

enum { PARTS = 200 };   // 6 products of the determinant, 8 of their halves, 4 doubles each, is 192
typedef struct Sum { int n; double x[PARTS]; } Sum;

// s += b: b meets the parts from the smallest on, each addition leaves its rounding error behind  [Shewchuk]
static void add(Sum *s, double b) {
  int n = 0;
  for (int i = 0; i < s->n; i++) {
    double e = s->x[i], sum = b + e, t = sum - b, low = (b - (sum - t)) + (e - t);
    if (low != 0) s->x[n++] = low;
    b = sum;
  }
  if (b != 0) s->x[n++] = b;
  s->n = n;
}

// s += a b
static void add_product(Sum *s, double a, double b) {
  double p = a * b;
  if (p == 0) return;
  add(s, fma(a, b, -p));
  add(s, p);
}

// a - b = d[0] + d[1] exactly
static void difference(double a, double b, double d[2]) {
  double x = a - b, t = x - a;
  d[0] = x;
  d[1] = (a - (x - t)) - (b + t);
}

// s += sign x y z of split numbers
static void add_triple(Sum *s, double sign, const double *x, const double *y, const double *z) {
  for (int i = 0; i < 2; i++)
    for (int j = 0; j < 2; j++) {
      double p = x[i] * y[j];
      if (p == 0) continue;
      double e = fma(x[i], y[j], -p);
      for (int k = 0; k < 2; k++) {
        add_product(s, sign * p, z[k]);
        add_product(s, sign * e, z[k]);
      }
    }
}

// s += sign x y of split numbers
static void add_pair(Sum *s, double sign, const double *x, const double *y) {
  for (int i = 0; i < 2; i++)
    for (int j = 0; j < 2; j++) add_product(s, sign * x[i], y[j]);
}

static int sign_of(const Sum *s) {
  double top = s->n > 0 ? s->x[s->n - 1] : 0;
  return (top > 0) - (top < 0);
}

// ---- signs of determinants

// Relative error of a rounded sum of triple products against the sum of their magnitudes: 3 differences, 2 products, 3 sums, each 1.1e-16.
// The second number covers what vanishes below the smallest double.
static const double slack = 1.2e-15, least = 1e-290;

static int certain(double value, double magnitude) {
  double bound = slack * magnitude + least;
  return (value > bound) - (value < -bound);
}

static int orient3_sum(const double *a, const double *b, const double *c, const double *d) {
  double m[3][3][2];
  for (int i = 0; i < 3; i++) {
    difference(a[i], d[i], m[0][i]);
    difference(b[i], d[i], m[1][i]);
    difference(c[i], d[i], m[2][i]);
  }
  Sum s = {.n = 0};
  for (int i = 0; i < 3; i++) {
    int j = (i + 1) % 3, k = (i + 2) % 3;
    add_triple(&s, 1, m[0][i], m[1][j], m[2][k]);
    add_triple(&s, -1, m[0][i], m[1][k], m[2][j]);
  }
  return sign_of(&s);
}

int tgi_exact_orient3(const double *a, const double *b, const double *c, const double *d) {
  double x[3][3], value = 0, magnitude = 0;
  for (int i = 0; i < 3; i++) {
    x[0][i] = a[i] - d[i];
    x[1][i] = b[i] - d[i];
    x[2][i] = c[i] - d[i];
  }
  for (int i = 0; i < 3; i++) {
    int j = (i + 1) % 3, k = (i + 2) % 3;
    double p = x[1][j] * x[2][k], q = x[1][k] * x[2][j];
    value += x[0][i] * (p - q);
    magnitude += fabs(x[0][i]) * (fabs(p) + fabs(q));
  }
  int sign = certain(value, magnitude);
  return sign != 0 ? sign : orient3_sum(a, b, c, d);
}

int tgi_exact_orient2(const double *a, const double *b, const double *c, int u, int v) {
  double p = (a[u] - c[u]) * (b[v] - c[v]), q = (a[v] - c[v]) * (b[u] - c[u]);
  int sign = certain(p - q, fabs(p) + fabs(q));
  if (sign != 0) return sign;
  double x[4][2];
  difference(a[u], c[u], x[0]);
  difference(b[v], c[v], x[1]);
  difference(a[v], c[v], x[2]);
  difference(b[u], c[u], x[3]);
  Sum s = {.n = 0};
  add_pair(&s, 1, x[0], x[1]);
  add_pair(&s, -1, x[2], x[3]);
  return sign_of(&s);
}

// sign of n.(x - p)
static int side_of_plane(const double *p, const double *n, const double *x) {
  double value = 0, magnitude = 0;
  for (int i = 0; i < 3; i++) {
    double t = n[i] * (x[i] - p[i]);
    value += t;
    magnitude += fabs(t);
  }
  int sign = certain(value, magnitude);
  if (sign != 0) return sign;
  Sum s = {.n = 0};
  for (int i = 0; i < 3; i++) {
    double d[2], whole[2] = {n[i], 0};
    difference(x[i], p[i], d);
    add_pair(&s, 1, whole, d);
  }
  return sign_of(&s);
}

// ---- segments

static bool within(double a, double b, double lo, double hi) { return fmin(a, b) <= hi && fmax(a, b) >= lo; }

// do the intervals of segments p q and a b overlap along coordinate i
static bool overlap(const double *p, const double *q, const double *a, const double *b, int i) {
  return within(p[i], q[i], fmin(a[i], b[i]), fmax(a[i], b[i]));
}

// segments of one plane, which u, v map one to one
static bool segments_in_plane(const double *p, const double *q, const double *a, const double *b, int u, int v) {
  int sp = tgi_exact_orient2(a, b, p, u, v), sq = tgi_exact_orient2(a, b, q, u, v);
  int sa = tgi_exact_orient2(p, q, a, u, v), sb = tgi_exact_orient2(p, q, b, u, v);
  if (sp == 0 && sq == 0 && sa == 0 && sb == 0) return overlap(p, q, a, b, u) && overlap(p, q, a, b, v);
  return sp * sq <= 0 && sa * sb <= 0;
}

static bool segments(const double *p, const double *q, const double *a, const double *b) {
  if (tgi_exact_orient3(p, q, a, b) != 0) return false;
  for (int u = 0; u < 3; u++) {
    int v = (u + 1) % 3;
    // three of the points that are not in line there: the plane of all is mapped one to one
    if (tgi_exact_orient2(p, q, a, u, v) != 0 || tgi_exact_orient2(p, q, b, u, v) != 0 || tgi_exact_orient2(a, b, p, u, v) != 0 ||
        tgi_exact_orient2(a, b, q, u, v) != 0)
      return segments_in_plane(p, q, a, b, u, v);
  }
  return overlap(p, q, a, b, 0) && overlap(p, q, a, b, 1) && overlap(p, q, a, b, 2);   // all on one line
}

// ---- triangles

static bool inside(const double *T, const double *p, int turn, int u, int v) {
  for (int e = 0; e < 3; e++)
    if (turn * tgi_exact_orient2(T + 3 * e, T + 3 * ((e + 1) % 3), p, u, v) < 0) return false;
  return true;
}

// segment p q in the plane of T; T may be a segment or a point, then p q is anywhere
static bool segment_in_plane_hits(const double *p, const double *q, const double *T) {
  for (int u = 0; u < 3; u++) {
    int v = (u + 1) % 3, turn = tgi_exact_orient2(T, T + 3, T + 6, u, v);
    if (turn == 0) continue;
    if (inside(T, p, turn, u, v) || inside(T, q, turn, u, v)) return true;
    for (int e = 0; e < 3; e++)
      if (segments_in_plane(p, q, T + 3 * e, T + 3 * ((e + 1) % 3), u, v)) return true;
    return false;
  }
  for (int e = 0; e < 3; e++)
    if (segments(p, q, T + 3 * e, T + 3 * ((e + 1) % 3))) return true;
  return false;
}

// sp, sq: on which side of the plane of T the ends are, 0 for both when T has no plane
static bool segment_hits(const double *p, const double *q, int sp, int sq, const double *T) {
  if (sp * sq > 0) return false;
  if (sp == 0 && sq == 0) return segment_in_plane_hits(p, q, T);
  int low = 0, high = 0;   // the line meets the plane in one point: within T when it passes all edges on the same side
  for (int e = 0; e < 3; e++) {
    int s = tgi_exact_orient3(p, q, T + 3 * e, T + 3 * ((e + 1) % 3));
    if (s < 0) low = 1;
    if (s > 0) high = 1;
  }
  return !(low && high);
}

static bool all_finite(const double *x, int n) {
  for (int i = 0; i < n; i++)
    if (!isfinite(x[i])) return false;
  return true;
}

// sides of the plane of T on which the vertices of S are; true when all are strictly on one
static bool sides(const double *S, const double *T, int side[3]) {
  for (int i = 0; i < 3; i++) side[i] = tgi_exact_orient3(T, T + 3, T + 6, S + 3 * i);
  return side[0] != 0 && side[0] == side[1] && side[1] == side[2];
}

// A common point that is extreme among the common points lies on the border of one triangle: some edge meets the other triangle.
bool tgi_exact_triangles(const double a[9], const double b[9]) {
  if (!all_finite(a, 9) || !all_finite(b, 9)) return true;
  int sa[3], sb[3];
  if (sides(a, b, sa) || sides(b, a, sb)) return false;
  for (int e = 0; e < 3; e++) {
    int f = (e + 1) % 3;
    if (segment_hits(a + 3 * e, a + 3 * f, sa[e], sa[f], b) || segment_hits(b + 3 * e, b + 3 * f, sb[e], sb[f], a)) return true;
  }
  return false;
}

// ---- surfaces

enum { LEAF = 4 };   // faces of a leaf at most

static double middle(const tgiExactSurface *s, int f, int axis) {
  const int *v = s->face + 3 * f;
  return s->vert[3 * v[0] + axis] + s->vert[3 * v[1] + axis] + s->vert[3 * v[2] + axis];
}

// order[0 .. n - 1] so that the half first along the axis comes first; equals by index
static void halve(const tgiExactSurface *s, int *order, int n, int axis) {
  int lo = 0, hi = n - 1, k = n / 2;
  while (lo < hi) {
    double x = middle(s, order[(lo + hi) / 2], axis);
    int i = lo, j = hi;
    while (i <= j) {
      while (middle(s, order[i], axis) < x) i++;
      while (middle(s, order[j], axis) > x) j--;
      if (i > j) break;
      int t = order[i];
      order[i++] = order[j];
      order[j--] = t;
    }
    if (k <= j) hi = j;
    else if (k >= i) lo = i;
    else return;
  }
}

// the smaller; NaN when either is
static double lower(double a, double b) { return b < a || isnan(b) ? b : a; }

static void fit(tgiExactSurface *s, int k) {
  double *box = s->box + 6 * k;
  const int *node = s->node + 3 * k;
  for (int i = 0; i < 3; i++) {
    box[i] = INFINITY;
    box[3 + i] = -INFINITY;
  }
  for (int j = 0; node[2] == 0 && j < 3 * node[1]; j++) {
    const double *x = s->vert + 3 * s->face[3 * s->order[node[0] + j / 3] + j % 3];
    for (int i = 0; i < 3; i++) {
      box[i] = lower(box[i], x[i]);
      box[3 + i] = -lower(-box[3 + i], -x[i]);
    }
  }
  for (int c = 0; node[2] != 0 && c < 2; c++) {
    const double *part = s->box + 6 * (c == 0 ? k + 1 : node[2]);
    for (int i = 0; i < 3; i++) {
      box[i] = lower(box[i], part[i]);
      box[3 + i] = -lower(-box[3 + i], -part[3 + i]);
    }
  }
}

static int split(tgiExactSurface *s, int first, int count) {
  int k = s->nnode++, axis = 0;
  int *node = s->node + 3 * k;
  node[0] = first;
  node[1] = count;
  node[2] = 0;
  fit(s, k);
  if (count <= LEAF) return k;
  const double *box = s->box + 6 * k;
  for (int i = 1; i < 3; i++)
    if (box[3 + i] - box[i] > box[3 + axis] - box[axis]) axis = i;
  halve(s, s->order + first, count, axis);
  split(s, first, count / 2);
  node[2] = split(s, first + count / 2, count - count / 2);
  return k;
}

tgStatus tgi_exact_make(const double *vert, int nvert, const int *face, int nface, const tgAllocator *allocator, tgiExactSurface *surface) {
  *surface = (tgiExactSurface){.nvert = nvert, .nface = nface, .vert = vert, .alloc = tgi_allocator(allocator)};
  tgiExactSurface *s = surface;
  size_t n = (size_t)(nface > 0 ? nface : 1);
  s->face = s->alloc.alloc(s->alloc.ctx, 3 * n * sizeof *s->face);
  s->order = s->alloc.alloc(s->alloc.ctx, n * sizeof *s->order);
  s->node = s->alloc.alloc(s->alloc.ctx, 6 * n * sizeof *s->node);
  s->box = s->alloc.alloc(s->alloc.ctx, 12 * n * sizeof *s->box);
  if (s->face == NULL || s->order == NULL || s->node == NULL || s->box == NULL) {
    tgi_exact_free(s);
    return TG_ERR_MEMORY;
  }
  memcpy(s->face, face, 3 * (size_t)nface * sizeof *face);
  for (int f = 0; f < nface; f++) s->order[f] = f;
  if (nface > 0) split(s, 0, nface);
  return TG_OK;
}

void tgi_exact_free(tgiExactSurface *s) {
  if (s == NULL || s->alloc.free == NULL) return;
  s->alloc.free(s->alloc.ctx, s->face);
  s->alloc.free(s->alloc.ctx, s->order);
  s->alloc.free(s->alloc.ctx, s->node);
  s->alloc.free(s->alloc.ctx, s->box);
  s->face = s->order = s->node = NULL;
  s->box = NULL;
}

void tgi_exact_pose(tgiExactSurface *s, const double *vert) {
  s->vert = vert;
  for (int k = s->nnode - 1; k >= 0; k--) fit(s, k);   // children come after their parent
}

// false for boxes that are certainly apart; a NaN is not certain
static bool boxes_meet(const double *a, const double *b) {
  for (int i = 0; i < 3; i++)
    if (a[i] > b[3 + i] || b[i] > a[3 + i]) return false;
  return true;
}

static void corners(const tgiExactSurface *s, int f, double x[9]) {
  for (int i = 0; i < 3; i++) memcpy(x + 3 * i, s->vert + 3 * s->face[3 * f + i], 3 * sizeof *x);
}

static bool share_a_corner(const tgiExactSurface *s, int f, int g) {
  for (int i = 0; i < 9; i++)
    if (s->face[3 * f + i / 3] == s->face[3 * g + i % 3]) return true;
  return false;
}

static bool leaves_meet(const tgiExactSurface *a, const int *na, const tgiExactSurface *b, const int *nb, int pair[2]) {
  for (int i = 0; i < na[1]; i++)
    for (int j = 0; j < nb[1]; j++) {
      int f = a->order[na[0] + i], g = b->order[nb[0] + j];
      double x[9], y[9];
      if (a == b && (g <= f || share_a_corner(a, f, g))) continue;
      corners(a, f, x);
      corners(b, g, y);
      if (!tgi_exact_triangles(x, y)) continue;
      pair[0] = f;
      pair[1] = g;
      return true;
    }
  return false;
}

static bool nodes_meet(const tgiExactSurface *a, int ka, const tgiExactSurface *b, int kb, int pair[2]) {
  const int *na = a->node + 3 * ka, *nb = b->node + 3 * kb;
  if (!boxes_meet(a->box + 6 * ka, b->box + 6 * kb)) return false;
  if (na[2] == 0 && nb[2] == 0) return leaves_meet(a, na, b, nb, pair);
  if (nb[2] == 0 || (na[2] != 0 && na[1] >= nb[1])) return nodes_meet(a, ka + 1, b, kb, pair) || nodes_meet(a, na[2], b, kb, pair);
  return nodes_meet(a, ka, b, kb + 1, pair) || nodes_meet(a, ka, b, nb[2], pair);
}

bool tgi_exact_surfaces(const tgiExactSurface *a, const tgiExactSurface *b, int pair[2]) {
  int found[2] = {-1, -1};
  bool meet = a->nface > 0 && b->nface > 0 && nodes_meet(a, 0, b, 0, found);
  if (pair != NULL) memcpy(pair, found, sizeof found);
  return meet;
}

int tgi_exact_half_space(const tgiExactSurface *a, const double p[3], const double n[3]) {
  for (int j = 0; j < 3 * a->nface; j++) {
    const double *x = a->vert + 3 * a->face[j];
    if (!all_finite(x, 3) || side_of_plane(p, n, x) <= 0) return a->face[j];
  }
  return -1;
}

// solid angle of a triangle seen from the origin: tan(omega/2) = det/(|a||b||c| + (a.b)|c| + (b.c)|a| + (c.a)|b|)
double tgi_surface_winding(const tgiExactSurface *a, const double p[3]) {
  double total = 0;
  for (int f = 0; f < a->nface; f++) {
    double x[9], n[3], dot[3], det;
    corners(a, f, x);
    for (int i = 0; i < 9; i++) x[i] -= p[i % 3];
    for (int i = 0; i < 3; i++) {
      const double *u = x + 3 * i, *v = x + 3 * ((i + 1) % 3);
      n[i] = sqrt(u[0] * u[0] + u[1] * u[1] + u[2] * u[2]);
      dot[i] = u[0] * v[0] + u[1] * v[1] + u[2] * v[2];
    }
    det = x[0] * (x[4] * x[8] - x[5] * x[7]) + x[1] * (x[5] * x[6] - x[3] * x[8]) + x[2] * (x[3] * x[7] - x[4] * x[6]);
    total += 2 * atan2(det, n[0] * n[1] * n[2] + dot[0] * n[2] + dot[1] * n[0] + dot[2] * n[1]);
  }
  return total / (4 * 3.14159265358979323846);
}
