// sphere_tree.c: see sphere_tree.h.
#include "geom/sphere_tree.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "math/vec3.h"

// ---- topology ----

typedef struct Key {
  double x;
  int face;
} Key;

typedef struct Build {
  tgiTree *t;
  double *centroid;        // nface x 3
  double *box;             // nface x 6: low, high
  double *behind;          // nface: of a sweep
  int *by[3];              // nface each: the faces of every node's range along the three axes
  int *part;               // nface
  bool *left;              // nface
} Build;

static int by_key(const void *p, const void *q) {
  const Key *a = p, *b = q;
  if (a->x != b->x) return a->x < b->x ? -1 : 1;
  return (a->face > b->face) - (a->face < b->face);
}

static void clear_box(double *box) {
  for (int i = 0; i < 3; i++) {
    box[i] = INFINITY;
    box[3 + i] = -INFINITY;
  }
}

// extends the box by that of a face; returns its diagonal
static double extend(double *box, const double *by) {
  double d = 0;
  for (int i = 0; i < 3; i++) {
    box[i] = fmin(box[i], by[i]);
    box[3 + i] = fmax(box[3 + i], by[3 + i]);
    d += (box[3 + i] - box[i]) * (box[3 + i] - box[i]);
  }
  return sqrt(d);
}

// How many of the n faces in the order `by` go left so that sum of count x diagonal is least; *cost: that sum. A
// quarter stays on each side.
static int sweep(const Build *b, const int *by, int n, double *cost) {
  int least = n < 8 ? 1 : (n + 3) / 4, best = n / 2;
  double box[6];
  clear_box(box);
  for (int k = n - 1; k > 0; k--) b->behind[k] = extend(box, b->box + 6 * (size_t)by[k]);
  clear_box(box);
  *cost = INFINITY;
  for (int k = 1; k <= n - least; k++) {
    double c = extend(box, b->box + 6 * (size_t)by[k - 1]) * k + b->behind[k] * (n - k);
    if (k < least || !(c < *cost)) continue;
    *cost = c;
    best = k;
  }
  return best;
}

// Splits the range by the best of the three sweeps, the orders along all axes kept; returns how many go left. Axes that tie to rounding
// count as equal, so that the tree does not hang on it.
static int split(Build *b, int first, int n) {
  double least = INFINITY;
  int axis = 0, left = n / 2;
  for (int i = 0; i < 3; i++) {
    double cost;
    int k = sweep(b, b->by[i] + first, n, &cost);
    if (!(cost < least * (1 - 1e-9))) continue;
    least = cost;
    axis = i;
    left = k;
  }
  for (int k = 0; k < n; k++) b->left[b->by[axis][first + k]] = k < left;
  for (int i = 0; i < 3; i++) {
    int *by = b->by[i] + first, l = 0, r = left;
    for (int k = 0; k < n; k++) b->part[b->left[by[k]] ? l++ : r++] = by[k];
    memcpy(by, b->part, (size_t)n * sizeof *by);
  }
  return left;
}

// fills node `node`; the depth is logarithmic, so the recursion is shallow
static void grow(Build *b, int node, int first, int count, int depth) {
  tgiTree *t = b->t;
  t->first[node] = first;
  t->count[node] = count;
  t->tri[node] = count == 1 ? b->by[0][first] : -1;
  if (depth > t->depth) t->depth = depth;
  t->child[2 * node] = t->child[2 * node + 1] = -1;
  if (count == 1) return;
  int left = split(b, first, count), child = t->nnode;
  t->nnode += 2;
  t->child[2 * node] = child;
  t->child[2 * node + 1] = child + 1;
  grow(b, child, first, left, depth + 1);
  grow(b, child + 1, first + left, count - left, depth + 1);
}

// Distinct vertices under each node, in the order of the faces; vert NULL: only counts them into vert_adr. false: more than an int holds.
static bool list_vertices(tgiTree *t, const int *face, int *stamp, int *vert) {
  size_t total = 0;
  for (int n = 0; n < t->nnode; n++) {
    t->vert_adr[n] = (int)total;
    for (int k = 0; k < t->count[n]; k++)
      for (int c = 0; c < 3; c++) {
        int v = face[3 * (size_t)t->order[t->first[n] + k] + (size_t)c], mark = vert == NULL ? n : t->nnode + n;
        if (stamp[v] == mark) continue;
        stamp[v] = mark;
        if (vert != NULL) vert[total] = v;
        total++;
      }
    if (total > INT32_MAX) return false;
  }
  t->vert_adr[t->nnode] = (int)total;
  return true;
}

// centroids and boxes of the faces, orders along the axes
static void prepare(const tgiSurface *s, const double size[3], Build *b, double *vert, Key *key) {
  for (size_t k = 0; k < 3 * (size_t)s->nvert; k++)
    vert[k] = s->coef[3 * k] * size[0] + s->coef[3 * k + 1] * size[1] + s->coef[3 * k + 2] * size[2];
  for (size_t f = 0; f < (size_t)s->nface; f++) {
    const int *v = s->face + 3 * f;
    clear_box(b->box + 6 * f);
    for (int i = 0; i < 3; i++) {
      double x[3] = {vert[3 * (size_t)v[0] + i], vert[3 * (size_t)v[1] + i], vert[3 * (size_t)v[2] + i]};
      b->centroid[3 * f + i] = (x[0] + x[1] + x[2]) / 3;
      b->box[6 * f + i] = fmin(x[0], fmin(x[1], x[2]));
      b->box[6 * f + 3 + i] = fmax(x[0], fmax(x[1], x[2]));
    }
  }
  for (int i = 0; i < 3; i++) {
    for (int f = 0; f < s->nface; f++) key[f] = (Key){b->centroid[3 * (size_t)f + i], f};
    qsort(key, (size_t)s->nface, sizeof *key, by_key);
    for (int f = 0; f < s->nface; f++) b->by[i][f] = key[f].face;
  }
}

static size_t scratch_size(const tgiSurface *s) {
  return (size_t)s->nvert * (3 * sizeof(double) + sizeof(int)) +
         (size_t)s->nface * (10 * sizeof(double) + sizeof(Key) + 4 * sizeof(int) + sizeof(bool));
}

static tgStatus fill(const tgiSurface *s, const double size[3], tgiTree *t, void *scratch) {
  size_t nvert = (size_t)s->nvert, nface = (size_t)s->nface;
  double *vert = scratch;
  Key *key = (Key *)(void *)(vert + 3 * nvert + 10 * nface);
  int *stamp = (int *)(void *)(key + nface);
  Build b = {.t = t, .centroid = vert + 3 * nvert};
  b.box = b.centroid + 3 * nface;
  b.behind = b.box + 6 * nface;
  b.part = stamp + nvert;
  for (int i = 0; i < 3; i++) b.by[i] = b.part + (size_t)(i + 1) * nface;
  b.left = (bool *)(b.by[2] + nface);
  prepare(s, size, &b, vert, key);
  t->nnode = 1;
  grow(&b, 0, 0, s->nface, 0);
  memcpy(t->order, b.by[0], nface * sizeof *t->order);
  for (int v = 0; v < s->nvert; v++) stamp[v] = -1;
  if (!list_vertices(t, s->face, stamp, NULL)) return TG_ERR_LIMIT;
  t->vert = t->alloc.alloc(t->alloc.ctx, (size_t)t->vert_adr[t->nnode] * sizeof *t->vert);
  if (t->vert == NULL) return TG_ERR_MEMORY;
  list_vertices(t, s->face, stamp, t->vert);
  return TG_OK;
}

tgStatus tgi_tree_make(const tgiSurface *s, const double size[3], const tgAllocator *allocator, tgiTree *t) {
  *t = (tgiTree){.nface = s->nface, .alloc = tgi_allocator(allocator)};
  if (s->nface < 1) return TG_ERR_ARG;
  size_t nface = (size_t)s->nface, nnode = 2 * nface - 1;
  t->child = t->alloc.alloc(t->alloc.ctx, (6 * nnode + 1 + nface) * sizeof(int));
  if (t->child == NULL) return TG_ERR_MEMORY;
  t->tri = t->child + 2 * nnode;
  t->first = t->tri + nnode;
  t->count = t->first + nnode;
  t->vert_adr = t->count + nnode;
  t->order = t->vert_adr + nnode + 1;
  void *scratch = t->alloc.alloc(t->alloc.ctx, scratch_size(s));
  tgStatus st = scratch != NULL ? fill(s, size, t, scratch) : TG_ERR_MEMORY;
  t->alloc.free(t->alloc.ctx, scratch);
  if (st < 0) tgi_tree_free(t);
  return st;
}

void tgi_tree_free(tgiTree *t) {
  if (t == NULL || t->child == NULL) return;
  t->alloc.free(t->alloc.ctx, t->child);
  t->alloc.free(t->alloc.ctx, t->vert);
  t->child = t->vert = NULL;
}

// ---- numbers ----

size_t tgi_tree_reals(const tgiSurface *s, const tgiTree *t) { return 3 * (size_t)s->nvert + 7 * (size_t)t->nnode + 1; }

tgiTreeNumbers tgi_tree_place(const tgiSurface *s, const tgiTree *t, tgReal *memory) {
  size_t n = (size_t)t->nnode;
  tgReal *node = memory + 3 * (size_t)s->nvert;
  return (tgiTreeNumbers){.vert = memory, .centre = node, .radius = node + 3 * n, .weight = node + 4 * n,
                          .moment = node + 5 * n, .area = node + 6 * n, .round = node + 7 * n};
}

static void edges(const tgReal *vert, const int *v, tgReal *a, tgReal *b) {
  tgi_v3_sub(a, vert + 3 * (size_t)v[1], vert + 3 * (size_t)v[0]);
  tgi_v3_sub(b, vert + 3 * (size_t)v[2], vert + 3 * (size_t)v[0]);
}

static void areas(const tgiSurface *s, const tgiTree *t, tgiTreeNumbers *n) {
  for (int k = t->nnode - 1; k >= 0; k--) {
    const int *c = t->child + 2 * (size_t)k;
    if (c[0] >= 0 || s->core) {
      n->area[k] = s->core ? 1 : n->area[c[0]] + n->area[c[1]];
      continue;
    }
    tgReal a[3], b[3], cross[3];
    edges(n->vert, s->face + 3 * (size_t)t->tri[k], a, b);
    tgi_v3_cross(cross, a, b);
    n->area[k] = 0.5 * tgi_v3_norm(cross);
  }
}

// mean of the distinct vertices under node k
static void vertex_mean(const tgiTree *t, int k, const tgReal *vert, tgReal *mean) {
  int from = t->vert_adr[k], count = t->vert_adr[k + 1] - from;
  tgi_v3_zero(mean);
  for (int i = 0; i < count; i++) tgi_v3_axpy(mean, 1, vert + 3 * (size_t)t->vert[from + i]);
  tgi_v3_scale(mean, mean, 1.0 / count);
}

// vertex under node k that is farthest from its centre, the first of equals and where distances are no numbers
static int farthest(const tgiTree *t, int k, const tgiTreeNumbers *n) {
  double most = -1;
  int far = t->vert[t->vert_adr[k]];
  for (int i = t->vert_adr[k]; i < t->vert_adr[k + 1]; i++) {
    tgReal d[3];
    tgi_v3_sub(d, n->vert + 3 * (size_t)t->vert[i], n->centre + 3 * (size_t)k);
    double r = tgRe(tgi_v3_dot(d, d));
    if (r > most) {
      most = r;
      far = t->vert[i];
    }
  }
  return far;
}

static tgReal between(const tgReal *a, const tgReal *b) {
  tgReal d[3];
  tgi_v3_sub(d, a, b);
  return tgi_v3_norm(d);
}

// the child that makes the layered radius of node k
static int outermost(const tgiTree *t, int k, const tgiTreeNumbers *n) {
  const int *c = t->child + 2 * (size_t)k;
  double reach[2];
  for (int i = 0; i < 2; i++)
    reach[i] = tgRe(between(n->centre + 3 * (size_t)k, n->centre + 3 * (size_t)c[i])) + tgRe(n->radius[c[i]]);
  return reach[1] > reach[0] ? c[1] : c[0];
}

// mean and second moment with the children's weights
static void climb_moments(const int *c, int k, tgiTreeNumbers *n) {
  tgReal *x = n->centre + 3 * (size_t)k, W = n->weight[c[0]] + n->weight[c[1]];
  tgi_v3_zero(x);
  for (int i = 0; i < 2; i++) tgi_v3_axpy(x, n->weight[c[i]] / W, n->centre + 3 * (size_t)c[i]);
  n->moment[k] = 0;
  for (int i = 0; i < 2; i++) {
    tgReal d[3];
    tgi_v3_sub(d, n->centre + 3 * (size_t)c[i], x);
    n->moment[k] += n->weight[c[i]] / W * (n->moment[c[i]] + tgi_v3_dot(d, d));
  }
}

// Mean square of the distance from the centre over the surface of a capsule whose axis is L long, or of a sphere, L = 0:
//   r^2 + (L^3/12 + r L^2/2 + r^2 L)/(L + 2r)                                                            [math/barrier (93)]
static tgReal core_moment(tgReal r, tgReal L) {
  return r * r + (L * L * L / 12 + r * L * L / 2 + r * r * L) / (L + 2 * r);
}

// its rate with those of r and L
static tgReal core_moment_d(tgReal r, tgReal L, tgReal dr, tgReal dL) {
  tgReal part = L * L * L / 12 + r * L * L / 2 + r * r * L, all = L + 2 * r;
  tgReal dpart = (L * L / 4 + r * L + r * r) * dL + (L * L / 2 + 2 * r * L) * dr;
  return 2 * r * dr + (dpart - part * (dL + 2 * dr) / all) / all;
}

// ---- ellipsoids: what their semi-axes a make of the numbers of their leaf ----

static void semi_axes(const tgReal *vert, tgReal a[3]) {
  for (int i = 0; i < 3; i++) a[i] = vert[3 * (i + 1) + i] - vert[i];
}

// A radius that holds all of it, at most 15 % larger than the largest semi-axis and smooth where two are equal: (a^8 + b^8 + c^8)^(1/8);
// its rates.
static tgReal oval_radius(const tgReal a[3], tgReal d[3]) {
  tgReal sum = 0, ratio, most = tgRe(a[0]) > tgRe(a[1]) ? a[0] : a[1];
  if (tgRe(a[2]) > tgRe(most)) most = a[2];
  for (int i = 0; i < 3; i++) {
    ratio = a[i] / most;
    ratio *= ratio;
    ratio *= ratio;
    sum += ratio * ratio;
  }
  tgReal r = most * tgSqrt(tgSqrt(tgSqrt(sum)));
  for (int i = 0; i < 3; i++) {
    ratio = a[i] / r;
    tgReal square = ratio * ratio;
    d[i] = square * square * square * ratio;
  }
  return r;
}

// Mean square of the distance from the centre over the surface, by quadrature over directions w, of which the surface element at
// (a w_x, b w_y, c w_z) is abc (w_x^2/a^2 + w_y^2/b^2 + w_z^2/c^2)^(1/2): Gauss and Legendre in w_z, equal angles about it; its rates.
static tgReal oval_moment(const tgReal a[3], tgReal d[3]) {
  static const double node[] = {0.0950125098376374, 0.2816035507792589, 0.4580167776572274, 0.6178762444026438,
                                0.7554044083550030, 0.8656312023878318, 0.9445750230732326, 0.9894009349916499};
  static const double weight[] = {0.1894506104550685, 0.1826034150449236, 0.1691565193950025, 0.1495959888165767,
                                  0.1246289712555339, 0.0951585116824928, 0.0622535239386479, 0.0271524594117541};
  enum { NODES = 8, ANGLES = 8 };   // of an octant: the rest is alike
  tgReal area = 0, part = 0, darea[3] = {0, 0, 0}, dpart[3] = {0, 0, 0};
  for (int k = 0; k < NODES * ANGLES; k++) {
    double z = node[k / ANGLES], across = sqrt(1 - z * z), angle = 0.5 * TG_PI * (k % ANGLES + 0.5) / (double)ANGLES;
    double w[3] = {across * cos(angle), across * sin(angle), z};
    tgReal element = 0, square = 0;
    for (int i = 0; i < 3; i++) {
      element += w[i] * w[i] / (a[i] * a[i]);
      square += w[i] * w[i] * a[i] * a[i];
    }
    element = tgSqrt(element);
    area += weight[k / ANGLES] * element;
    part += weight[k / ANGLES] * element * square;
    for (int i = 0; i < 3; i++) {
      tgReal de = -w[i] * w[i] / (a[i] * a[i] * a[i] * element);
      darea[i] += weight[k / ANGLES] * de;
      dpart[i] += weight[k / ANGLES] * (de * square + element * 2 * a[i] * w[i] * w[i]);
    }
  }
  for (int i = 0; i < 3; i++) d[i] = (dpart[i] - part / area * darea[i]) / area;
  return part / area;
}

static void oval_numbers(tgiTreeForm form, tgiTreeNumbers *n) {
  tgReal a[3], d[3];
  semi_axes(n->vert, a);
  n->radius[0] = oval_radius(a, d) + *n->round;
  n->moment[0] = form == TGI_TREE_MOMENT ? oval_moment(a, d) : 0;
}

static void oval_numbers_d(tgiTreeForm form, int j, const tgiTreeNumbers *n, tgiTreeNumbers *dn) {
  tgReal a[3], d[3];
  dn->radius[0] = dn->moment[0] = 0;
  if (j == TGI_SIZE_ROUNDING) return;
  semi_axes(n->vert, a);
  oval_radius(a, d);
  dn->radius[0] = d[j];
  oval_moment(a, d);
  dn->moment[0] = form == TGI_TREE_MOMENT ? d[j] : 0;
}

// length of a core
static tgReal core_length(const tgiTree *t, const tgReal *vert) {
  const tgReal *a = vert + 3 * (size_t)t->vert[0], *b = vert + 3 * (size_t)t->vert[t->vert_adr[1] - 1];
  return between(a, b);
}

static void moment_node(const tgiTree *t, tgiClimb climb, int k, tgiTreeNumbers *n) {
  const int *c = t->child + 2 * (size_t)k;
  if (c[0] < 0) {
    vertex_mean(t, k, n->vert, n->centre + 3 * (size_t)k);
    n->moment[k] = 0;
  } else {
    climb_moments(c, k, n);
  }
  n->weight[k] = c[0] >= 0 && climb == TGI_CLIMB_SUM ? n->weight[c[0]] + n->weight[c[1]] : tgSqrt(n->area[k] / n->area[0]);
  n->radius[k] = between(n->vert + 3 * (size_t)farthest(t, k, n), n->centre + 3 * (size_t)k) + *n->round;
}

static void paper_node(const tgiTree *t, int k, tgiTreeNumbers *n) {
  tgReal *x = n->centre + 3 * (size_t)k;
  vertex_mean(t, k, n->vert, x);
  n->weight[k] = 1;
  n->moment[k] = 0;
  if (t->tri[k] >= 0) {
    n->radius[k] = between(n->vert + 3 * (size_t)farthest(t, k, n), x) + *n->round;
    return;
  }
  int c = outermost(t, k, n);
  n->radius[k] = between(n->centre + 3 * (size_t)c, x) + n->radius[c];
}

void tgi_tree_numbers_at(const tgiSurface *s, const tgiTree *t, tgiTreeForm form, tgiClimb climb, const tgReal size[3],
                         double depth, tgReal rounding, tgiTreeNumbers *n) {
  tgi_surface_place_rounded(s, size, rounding, n->vert);
  for (size_t k = 0; k < 3 * (size_t)s->nvert && depth != 0 && !s->core; k++) n->vert[k] += depth * s->inwards[k];
  *n->round = s->core ? tgi_surface_radius(s, size) - depth : s->rounds ? rounding : 0;
  areas(s, t, n);
  for (int k = t->nnode - 1; k >= 0; k--) {
    if (form == TGI_TREE_PAPER) paper_node(t, k, n);
    else moment_node(t, climb, k, n);
  }
  if (s->oval) oval_numbers(form, n);
  else if (s->core && form == TGI_TREE_MOMENT) n->moment[0] = core_moment(*n->round, core_length(t, n->vert));
}

void tgi_tree_numbers(const tgiSurface *s, const tgiTree *t, tgiTreeForm form, tgiClimb climb, const tgReal size[3], tgiTreeNumbers *n) {
  tgi_tree_numbers_at(s, t, form, climb, size, 0, 0, n);
}

// ---- their derivatives ----

static void areas_d(const tgiSurface *s, const tgiTree *t, const tgiTreeNumbers *n, tgiTreeNumbers *d) {
  for (int k = t->nnode - 1; k >= 0; k--) {
    const int *c = t->child + 2 * (size_t)k;
    if (c[0] >= 0 || s->core) {
      d->area[k] = s->core ? 0 : d->area[c[0]] + d->area[c[1]];
      continue;
    }
    tgReal a[3], b[3], da[3], db[3], cross[3], dcross[3], part[3];
    const int *v = s->face + 3 * (size_t)t->tri[k];
    edges(n->vert, v, a, b);
    edges(d->vert, v, da, db);
    tgi_v3_cross(cross, a, b);
    tgi_v3_cross(dcross, da, b);
    tgi_v3_cross(part, a, db);
    tgi_v3_add(dcross, dcross, part);
    d->area[k] = 0.25 * tgi_v3_dot(cross, dcross) / n->area[k];
  }
}

// derivative of |p - q|
static tgReal between_d(const tgReal *p, const tgReal *q, const tgReal *dp, const tgReal *dq) {
  tgReal e[3], de[3], r = between(p, q);
  tgi_v3_sub(e, p, q);
  tgi_v3_sub(de, dp, dq);
  return tgRe(r) > 0 ? tgi_v3_dot(e, de) / r : 0;
}

#define TIE 1e-9   // of radii, relative, and of their derivatives

static void climb_moments_d(const int *c, int k, const tgiTreeNumbers *n, tgiTreeNumbers *d) {
  const tgReal *x = n->centre + 3 * (size_t)k;
  tgReal *dx = d->centre + 3 * (size_t)k, W = n->weight[c[0]] + n->weight[c[1]], dW = d->weight[c[0]] + d->weight[c[1]],
         share[2], dshare[2];
  tgi_v3_zero(dx);
  for (int i = 0; i < 2; i++) {
    share[i] = n->weight[c[i]] / W;
    dshare[i] = (d->weight[c[i]] - share[i] * dW) / W;
    tgi_v3_axpy(dx, dshare[i], n->centre + 3 * (size_t)c[i]);
    tgi_v3_axpy(dx, share[i], d->centre + 3 * (size_t)c[i]);
  }
  d->moment[k] = 0;
  for (int i = 0; i < 2; i++) {
    tgReal e[3], de[3];
    tgi_v3_sub(e, n->centre + 3 * (size_t)c[i], x);
    tgi_v3_sub(de, d->centre + 3 * (size_t)c[i], dx);
    d->moment[k] += dshare[i] * (n->moment[c[i]] + tgi_v3_dot(e, e)) + share[i] * (d->moment[c[i]] + 2 * tgi_v3_dot(e, de));
  }
}

static void moment_node_d(const tgiTree *t, tgiClimb climb, int k, const tgiTreeNumbers *n, tgiTreeNumbers *d) {
  const int *c = t->child + 2 * (size_t)k;
  if (c[0] < 0) {
    vertex_mean(t, k, d->vert, d->centre + 3 * (size_t)k);
    d->moment[k] = 0;
  } else {
    climb_moments_d(c, k, n, d);
  }
  d->weight[k] = c[0] >= 0 && climb == TGI_CLIMB_SUM ? d->weight[c[0]] + d->weight[c[1]]
                                                     : 0.5 * n->weight[k] * (d->area[k] / n->area[k] - d->area[0] / n->area[0]);
  size_t far = 3 * (size_t)farthest(t, k, n), at = 3 * (size_t)k;
  d->radius[k] = between_d(n->vert + far, n->centre + at, d->vert + far, d->centre + at) + *d->round;
}

static void paper_node_d(const tgiTree *t, int k, const tgiTreeNumbers *n, tgiTreeNumbers *d) {
  size_t at = 3 * (size_t)k;
  vertex_mean(t, k, d->vert, d->centre + at);
  d->weight[k] = 0;
  d->moment[k] = 0;
  if (t->tri[k] >= 0) {
    size_t far = 3 * (size_t)farthest(t, k, n);
    d->radius[k] = between_d(n->vert + far, n->centre + at, d->vert + far, d->centre + at) + *d->round;
    return;
  }
  int c = outermost(t, k, n);
  d->radius[k] = between_d(n->centre + 3 * (size_t)c, n->centre + at, d->centre + 3 * (size_t)c, d->centre + at) + d->radius[c];
}

void tgi_tree_numbers_d(const tgiSurface *s, const tgiTree *t, tgiTreeForm form, tgiClimb climb, const tgiTreeNumbers *n, int j,
                        tgiTreeNumbers *d) {
  if (j == TGI_SIZE_ROUNDING) tgi_surface_place_rounded_d(s, d->vert);
  else tgi_surface_place_d(s, j, d->vert);
  *d->round = j != TGI_SIZE_ROUNDING ? s->radius[j] : s->rounds ? 1 : 0;
  areas_d(s, t, n, d);
  for (int k = t->nnode - 1; k >= 0; k--) {
    if (form == TGI_TREE_PAPER) paper_node_d(t, k, n, d);
    else moment_node_d(t, climb, k, n, d);
  }
  if (s->oval) oval_numbers_d(form, j, n, d);
  if (!s->core || s->oval || form != TGI_TREE_MOMENT) return;
  const size_t a = 3 * (size_t)t->vert[0], b = 3 * (size_t)t->vert[t->vert_adr[1] - 1];
  tgReal dL = between_d(n->vert + a, n->vert + b, d->vert + a, d->vert + b);
  d->moment[0] = core_moment_d(*n->round, core_length(t, n->vert), *d->round, dL);
}

// ---- ties ----

static bool unequal(double reach, double slope, double most, double radius_d) {
  return reach >= (1 - TIE) * most && fabs(slope - radius_d) > TIE * (fabs(slope) + fabs(radius_d));
}

static bool vertices_tie(const tgiTree *t, int k, const tgiTreeNumbers *n, const tgiTreeNumbers *d) {
  size_t at = 3 * (size_t)k;
  for (int i = t->vert_adr[k]; i < t->vert_adr[k + 1]; i++) {
    size_t v = 3 * (size_t)t->vert[i];
    if (unequal(tgRe(between(n->vert + v, n->centre + at) + *n->round),
                tgRe(between_d(n->vert + v, n->centre + at, d->vert + v, d->centre + at) + *d->round), tgRe(n->radius[k]),
                tgRe(d->radius[k])))
      return true;
  }
  return false;
}

static bool children_tie(const tgiTree *t, int k, const tgiTreeNumbers *n, const tgiTreeNumbers *d) {
  size_t at = 3 * (size_t)k;
  for (int i = 0; i < 2; i++) {
    size_t c = (size_t)t->child[2 * (size_t)k + (size_t)i];
    double reach = tgRe(between(n->centre + 3 * c, n->centre + at)) + tgRe(n->radius[c]);
    double slope = tgRe(between_d(n->centre + 3 * c, n->centre + at, d->centre + 3 * c, d->centre + at)) + tgRe(d->radius[c]);
    if (unequal(reach, slope, tgRe(n->radius[k]), tgRe(d->radius[k]))) return true;
  }
  return false;
}

bool tgi_tree_tie(const tgiTree *t, tgiTreeForm form, const tgiTreeNumbers *n, const tgiTreeNumbers *d) {
  for (int k = 0; k < t->nnode; k++)
    if (form == TGI_TREE_PAPER && t->tri[k] < 0 ? children_tie(t, k, n, d) : vertices_tie(t, k, n, d)) return true;
  return false;
}
