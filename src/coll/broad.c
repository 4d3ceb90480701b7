// broad.c: see broad.h. A node holds a part of `order`, which its two children halve along the longest side of its centres.
#include "coll/broad.h"

enum { LEAF = 8, FEW = 16 };   // geoms of a leaf; pairs to a geom up to which all are looked at
#define LOOSE 1e-12            // of a coordinate, by which sums of a few of them round at most

typedef struct tgiBroadNode {
  double low[3], high[3];
  int from, to, second;        // part of order; the second child, the first follows the node; 0: a leaf
} Node;

static double centre(const tgiBroad *b, int geom, int axis) { return b->centre[3 * geom + axis]; }

// between the spheres of two geoms; of a half-space, above it
static double gap(const tgiBroad *b, int g, int h) {
  const tgModel *m = &b->s->m;
  if (m->geom_type[h] == TG_GEOM_PLANE) { int t = g; g = h; h = t; }
  double d[3];
  for (int i = 0; i < 3; i++) d[i] = centre(b, h, i) - centre(b, g, i);
  if (m->geom_type[g] == TG_GEOM_PLANE) {
    const tgReal *R = b->pose->geom_xmat + 9 * g;
    return tgRe(R[2]) * d[0] + tgRe(R[5]) * d[1] + tgRe(R[8]) * d[2] - b->radius[h] - b->radius[g];
  }
  return sqrt(d[0] * d[0] + d[1] * d[1] + d[2] * d[2]) - b->radius[g] - b->radius[h];
}

// does geom g come before geom h along an axis; no two are equal
static bool before(const tgiBroad *b, int axis, int g, int h) {
  double x = centre(b, g, axis), y = centre(b, h, axis);
  return x != y ? x < y : g < h;
}

static void swap(int *x, int i, int j) {
  int t = x[i];
  x[i] = x[j];
  x[j] = t;
}

// of three places of order, that of the middle one
static int median_place(const tgiBroad *b, int axis, int i, int j, int k) {
  const int *x = b->order;
  bool ij = before(b, axis, x[i], x[j]), jk = before(b, axis, x[j], x[k]), ik = before(b, axis, x[i], x[k]);
  return ij == jk ? j : ij == ik ? k : i;
}

// order[from .. to - 1] such that the least ones come before place `at`
static void select_at(const tgiBroad *b, int axis, int from, int to, int at) {
  int *x = b->order;
  while (to - from > 1) {
    swap(x, median_place(b, axis, from, from + (to - from) / 2, to - 1), to - 1);
    int pivot = x[to - 1], low = from;
    for (int i = from; i < to - 1; i++)
      if (before(b, axis, x[i], pivot)) swap(x, i, low++);
    swap(x, low, to - 1);
    if (low == at) return;
    if (low < at) from = low + 1;
    else to = low;
  }
}

// as fmin and fmax, of which there are twelve for each geom of each node
static void widen(double x, double y, double *least, double *most) {
  if (x < *least) *least = x;
  if (y > *most) *most = y;
}

static void hold(const tgiBroad *b, Node *n, double centres[3]) {
  double least[3] = {INFINITY, INFINITY, INFINITY}, most[3] = {-INFINITY, -INFINITY, -INFINITY};
  for (int i = 0; i < 3; i++) {
    n->low[i] = INFINITY;
    n->high[i] = -INFINITY;
  }
  for (int k = n->from; k < n->to; k++) {
    double r = b->radius[b->order[k]];
    for (int i = 0; i < 3; i++) {
      double c = centre(b, b->order[k], i);
      widen(c - r, c + r, &n->low[i], &n->high[i]);
      widen(c, c, &least[i], &most[i]);
    }
  }
  for (int i = 0; i < 3; i++) centres[i] = most[i] - least[i];
}

static void make(tgiBroad *b, int from, int to) {
  Node *n = &b->node[b->nnode++];
  double side[3];
  *n = (Node){.from = from, .to = to};
  hold(b, n, side);
  if (to - from <= LEAF) return;
  int axis = side[0] >= side[1] ? (side[0] >= side[2] ? 0 : 2) : side[1] >= side[2] ? 1 : 2, middle = from + (to - from) / 2;
  select_at(b, axis, from, to, middle);
  make(b, from, middle);
  n->second = b->nnode;
  make(b, middle, to);
}

// The first geom that is the second of a pair. Those before it, as what is fixed to the world and comes first, are asked for by none.
static int first_second(const tgModel *m) {
  int first = m->ngeom;
  for (int g = 0; g < m->ngeom; g++) {
    int p = m->geom_pairadr[g];
    if (p < m->geom_pairadr[g + 1] && m->pair_geom2[p] < first) first = m->pair_geom2[p];
  }
  return first;
}

// geoms into order and planes; false: a centre is no number, and nothing can be told by it
static bool list_geoms(tgiBroad *b, int *count) {
  const tgModel *m = &b->s->m;
  *count = 0;
  for (int g = first_second(m); g < m->ngeom; g++) {
    if (m->geom_type[g] == TG_GEOM_PLANE) {
      b->plane[b->nplane++] = g;
      continue;
    }
    for (int i = 0; i < 3; i++)
      if (!isfinite(centre(b, g, i))) return false;
    b->order[(*count)++] = g;
  }
  return true;
}

static tgStatus no_room(tgSim *s) {
  return tgi_error(&s->error, TG_ERR_CAPACITY, "Scratch too small for the pairs of %d geoms; reserve more and repeat.", s->m.ngeom);
}

// the spheres about the geoms' origins
static bool take_spheres(tgSim *s, const tgPose *pose, tgiSpheres *out) {
  int n = s->m.ngeom;
  double *x = tgi_stack_bytes(s, 4 * (size_t)n * sizeof *x);
  if (x == NULL) return false;
  for (int i = 0; i < 3 * n; i++) x[i] = tgRe(pose->geom_xpos[i]);
  for (int g = 0; g < n; g++) x[3 * n + g] = tgRe(s->geom_bound[g]);
  *out = (tgiSpheres){x, x + 3 * n};
  return true;
}

tgStatus tgi_broad_begin(tgSim *s, const tgPose *pose, double margin, tgiBroad *b) {
  tgiSpheres spheres;
  return take_spheres(s, pose, &spheres) ? tgi_broad_spheres(s, pose, &spheres, margin, b) : no_room(s);
}

tgStatus tgi_broad_spheres(tgSim *s, const tgPose *pose, const tgiSpheres *spheres, double margin, tgiBroad *b) {
  size_t n = (size_t)s->m.ngeom;
  int count;
  *b = (tgiBroad){.s = s, .pose = pose, .centre = spheres->centre, .radius = spheres->radius, .margin = margin};
  if (s->all_pairs || !tgi_broad_pays(&s->m)) return TG_OK;
  int *at = tgi_stack_bytes(s, 3 * n * sizeof *at);
  Node *node = tgi_stack_bytes(s, (n + 1) * sizeof *node);   // a leaf has more than LEAF/2 geoms
  if (at == NULL || node == NULL) return no_room(s);
  b->order = at;
  b->plane = at + n;
  b->near = at + 2 * n;
  if (!list_geoms(b, &count)) return TG_OK;
  b->node = node;
  if (count > 0) make(b, 0, count);
  return TG_OK;
}

bool tgi_broad_pays(const tgModel *m) {
  int first = first_second(m);
  return m->npair > FEW * (m->ngeom - first) + first;
}

int tgi_broad_most(const tgModel *m) {
  int most = 0;
  for (int g = 0; g < m->ngeom; g++)
    most = m->geom_pairadr[g + 1] - m->geom_pairadr[g] > most ? m->geom_pairadr[g + 1] - m->geom_pairadr[g] : most;
  return most;
}

// geoms after `geom` whose boxes come within the margin of its own
static int find(const tgiBroad *b, int geom, int node, int found) {
  const Node *n = &b->node[node];
  double r = b->radius[geom] + b->margin;
  for (int i = 0; i < 3; i++) {
    double c = centre(b, geom, i), loose = LOOSE * (fabs(c) + r);
    if (c - r - loose > n->high[i] || c + r + loose < n->low[i]) return found;
  }
  if (n->second > 0) return find(b, geom, n->second, find(b, geom, node + 1, found));
  for (int k = n->from; k < n->to; k++)
    if (b->order[k] > geom) b->near[found++] = b->order[k];
  return found;
}

static void sort(int n, int *x) {
  for (int i = 1; i < n; i++)
    for (int k = i; k > 0 && x[k] < x[k - 1]; k--) swap(x, k, k - 1);
}

// Centres farther apart than `near` by more than rounds, without a root: spheres whose gap is above the margin for sure.
static bool surely_apart(const double *x, const double *y, double near) {
  double d[3] = {y[0] - x[0], y[1] - x[1], y[2] - x[2]};
  return d[0] * d[0] + d[1] * d[1] + d[2] * d[2] > near * near * (1 + LOOSE);
}

// The pairs of a geom, nearly all of which are far apart, one after the other.
static int all(const tgiBroad *b, int geom, int *pair) {
  const tgModel *m = &b->s->m;
  const int *second = m->pair_geom2, *type = m->geom_type;
  const double *centres = b->centre, *radius = b->radius, *own = centres + 3 * geom, reach = radius[geom] + b->margin;
  bool plane = type[geom] == TG_GEOM_PLANE;
  int n = 0;
  for (int p = m->geom_pairadr[geom], end = m->geom_pairadr[geom + 1]; p < end; p++) {
    int h = second[p];
    if (!plane && type[h] != TG_GEOM_PLANE && surely_apart(own, centres + 3 * h, reach + radius[h])) continue;
    if (!(gap(b, geom, h) > b->margin)) pair[n++] = p;
  }
  return n;
}

int tgi_broad_pairs(tgiBroad *b, int geom, int *pair) {
  const tgModel *m = &b->s->m;
  if (m->geom_pairadr[geom] == m->geom_pairadr[geom + 1]) return 0;
  if (b->node == NULL || m->geom_type[geom] == TG_GEOM_PLANE) return all(b, geom, pair);
  int n = b->nnode > 0 ? find(b, geom, 0, 0) : 0, count = 0;
  for (int k = 0; k < b->nplane; k++)
    if (b->plane[k] > geom) b->near[n++] = b->plane[k];
  int close = 0;
  for (int k = 0; k < n; k++)
    if (!(gap(b, geom, b->near[k]) > b->margin)) b->near[close++] = b->near[k];
  sort(close, b->near);
  for (int k = 0; k < close; k++) {
    int p = tgi_pair_of(m, geom, b->near[k]);
    if (p < 0) continue;
    for (; p < m->geom_pairadr[geom + 1] && m->pair_geom2[p] == b->near[k]; p++) pair[count++] = p;
  }
  return count;
}
