// ssdf_tree.c: see ssdf_tree.h.
#include "coll/clouds/ssdf_tree.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "coll/clouds/ssdf_near.h"
#include "math/vec3.h"

enum { BLOCK = TGI_SSDF_BLOCK, FACET = 2 * BLOCK };

// ---- topology ----

// a point with its plane, rounded: normal in units of 1e-9, offset in units of 1e-9 of the cloud's extent
typedef struct Item { double x[3]; long long plane[4]; int point; } Item;
// points on one plane, or all those on planes of few points
typedef struct Group { double x[3]; int first, count; bool facet; } Group;

typedef struct Maker {
  tgiSsdfTree *tree;
  Item *item;
  Group *group;
  int nodes, blocks;
} Maker;

static int by_plane(const void *a, const void *b) {
  const Item *x = a, *y = b;
  for (int k = 0; k < 4; k++)
    if (x->plane[k] != y->plane[k]) return x->plane[k] < y->plane[k] ? -1 : 1;
  return x->point < y->point ? -1 : x->point > y->point;
}

#define BY_AXIS(type, axis, least)                                                       \
  static int by_##axis##_##least(const void *a, const void *b) {                         \
    const type *x = a, *y = b;                                                           \
    if (x->x[axis] != y->x[axis]) return x->x[axis] < y->x[axis] ? -1 : 1;               \
    return x->least < y->least ? -1 : x->least > y->least;                               \
  }
BY_AXIS(Item, 0, point)
BY_AXIS(Item, 1, point)
BY_AXIS(Item, 2, point)
BY_AXIS(Group, 0, first)
BY_AXIS(Group, 1, first)
BY_AXIS(Group, 2, first)

// axis along which the n places, `stride` bytes apart, reach farthest
static int longest(const void *x, size_t stride, int n) {
  double lo[3] = {INFINITY, INFINITY, INFINITY}, hi[3] = {-INFINITY, -INFINITY, -INFINITY};
  for (int i = 0; i < n; i++) {
    const double *p = (const double *)((const char *)x + (size_t)i * stride);
    for (int k = 0; k < 3; k++) {
      lo[k] = fmin(lo[k], p[k]);
      hi[k] = fmax(hi[k], p[k]);
    }
  }
  int axis = 0;
  for (int k = 1; k < 3; k++)
    if (hi[k] - lo[k] > hi[axis] - lo[axis]) axis = k;
  return axis;
}

static int children(Maker *m, int node) {
  int c = m->nodes;
  m->nodes += 2;
  m->tree->block[node] = -1;
  return m->tree->child[node] = c;
}

// halves along the longest axis, the first of whole blocks: ceil(count/8) blocks in all; lead: of a facet its first, else -1
static void make_points(Maker *m, int node, int first, int count, int lead) {
  tgiSsdfTree *t = m->tree;
  Item *item = m->item + first;
  if (count <= BLOCK) {
    int b = m->blocks++;
    for (int i = 0; i < BLOCK; i++) t->point[BLOCK * b + i] = item[i < count ? i : count - 1].point;
    t->used[b] = count;
    t->lead[b] = lead >= 0 ? lead : b;
    t->block[node] = b;
    t->child[node] = -1;
    return;
  }
  int (*order[3])(const void *, const void *) = {by_0_point, by_1_point, by_2_point};
  int half = BLOCK * ((count + 2 * BLOCK - 1) / (2 * BLOCK)), c = children(m, node);
  qsort(item, (size_t)count, sizeof *item, order[longest(item, sizeof *item, count)]);
  make_points(m, c, first, half, lead);
  make_points(m, c + 1, first + half, count - half, lead);
}

static void make_groups(Maker *m, int node, int first, int count) {
  Group *group = m->group + first;
  if (count == 1) {
    make_points(m, node, group->first, group->count, group->facet ? m->blocks : -1);
    return;
  }
  int (*order[3])(const void *, const void *) = {by_0_first, by_1_first, by_2_first};
  int c = children(m, node);
  qsort(group, (size_t)count, sizeof *group, order[longest(group, sizeof *group, count)]);
  make_groups(m, c, first, count / 2);
  make_groups(m, c + 1, first + count / 2, count - count / 2);
}

static void set_items(int n, const tgReal *p, const tgReal *normal, Item *item) {
  double extent = 0;
  for (int i = 0; i < 3 * n; i++) extent = fmax(extent, fabs(tgRe(p[i] - p[i % 3])));
  for (int i = 0; i < n; i++) {
    double offset = 0;
    for (int k = 0; k < 3; k++) {
      item[i].x[k] = tgRe(p[3 * i + k]);
      item[i].plane[k] = llround(1e9 * tgRe(normal[3 * i + k]));
      offset += tgRe(normal[3 * i + k]) * (tgRe(p[3 * i + k]) - tgRe(p[k]));
    }
    item[i].plane[3] = extent > 0 ? llround(1e9 * offset / extent) : 0;
    item[i].point = i;
  }
}

// Facets of at least 16 points first, each a group; the rest behind them, in one. Returns the number of groups.
static int set_groups(int n, Item *item, Item *room, Group *group) {
  int groups = 0, at = 0, loose = 0;
  qsort(item, (size_t)n, sizeof *item, by_plane);
  for (int i = 0, next; i < n; i = next) {
    for (next = i + 1; next < n && memcmp(item[next].plane, item[i].plane, sizeof item->plane) == 0;) next++;
    if (next - i < FACET) {
      memcpy(room + loose, item + i, (size_t)(next - i) * sizeof *item);
      loose += next - i;
      continue;
    }
    memmove(item + at, item + i, (size_t)(next - i) * sizeof *item);
    group[groups++] = (Group){.first = at, .count = next - i, .facet = true};
    at += next - i;
  }
  memcpy(item + at, room, (size_t)loose * sizeof *item);
  if (loose > 0) group[groups++] = (Group){.first = at, .count = loose};
  for (int g = 0; g < groups; g++)
    for (int k = 0; k < 3; k++)
      for (int i = 0; i < group[g].count; i++) group[g].x[k] += item[group[g].first + i].x[k] / group[g].count;
  return groups;
}

static tgStatus place(tgiSsdfTree *t, const tgAllocator *a) {
  int *at = a->alloc(a->ctx, ((size_t)t->nnode * 2 + (size_t)t->nblock * (BLOCK + 2)) * sizeof *at);
  if (at == NULL) return TG_ERR_MEMORY;
  t->child = at;
  t->block = at + t->nnode;
  t->point = at + 2 * (size_t)t->nnode;
  t->used = t->point + (size_t)t->nblock * BLOCK;
  t->lead = t->used + t->nblock;
  return TG_OK;
}

tgStatus tgi_ssdf_tree_make(int n, const tgReal *p, const tgReal *normal, const tgAllocator *allocator, tgiSsdfTree *tree) {
  tgAllocator a = tgi_allocator(allocator);
  size_t most = (size_t)n / FACET + 1;
  *tree = (tgiSsdfTree){.n = n, .alloc = a};
  Item *item = a.alloc(a.ctx, tgi_size_mul(2 * (size_t)n, sizeof *item));
  Group *group = a.alloc(a.ctx, most * sizeof *group);
  tgStatus status = TG_ERR_MEMORY;
  if (item != NULL && group != NULL) {
    set_items(n, p, normal, item);
    int groups = set_groups(n, item, item + n, group);
    for (int g = 0; g < groups; g++) tree->nblock += (group[g].count + BLOCK - 1) / BLOCK;
    tree->nnode = 2 * tree->nblock - 1;
    status = place(tree, &a);
    Maker m = {.tree = tree, .item = item, .group = group, .nodes = 1};
    if (status == TG_OK) make_groups(&m, 0, 0, groups);
  }
  a.free(a.ctx, item);
  a.free(a.ctx, group);
  return status;
}

void tgi_ssdf_tree_free(tgiSsdfTree *tree) {
  if (tree->child != NULL) tree->alloc.free(tree->alloc.ctx, tree->child);
  *tree = (tgiSsdfTree){0};
}

// ---- numbers ----

static double norm(const double a[3]) { return sqrt(a[0] * a[0] + a[1] * a[1] + a[2] * a[2]); }
static double dot(const double a[3], const double b[3]) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }

// are the points of b on the plane of the first point of a?
static bool on_plane(const tgiSsdfBlock *a, const tgiSsdfBlock *b, double size) {
  for (int i = 0; i < BLOCK; i++) {
    double apart = 0, offset = 0;
    for (int k = 0; k < 3; k++) {
      apart = fmax(apart, fabs(tgRe(b->normal[k][i] - a->normal[k][0])));
      offset += tgRe(a->normal[k][0] * (b->p[k][i] - a->p[k][0]));
    }
    if (apart > 1e-14 || fabs(offset) > 1e-14 * size) return false;
  }
  return true;
}

static void fill_block(const tgiSsdfTree *t, int block, const tgReal *p, const tgReal *normal, tgiSsdfBlock *all) {
  tgiSsdfBlock *b = all + block;
  const int *point = t->point + BLOCK * block;
  double size = 0;
  for (int k = 0; k < 3; k++) {
    b->lo[k] = INFINITY;
    b->hi[k] = -INFINITY;
    for (int i = 0; i < BLOCK; i++) {
      double x = tgRe(p[3 * (size_t)point[i] + (size_t)k]);
      b->p[k][i] = p[3 * (size_t)point[i] + (size_t)k];
      b->normal[k][i] = normal[3 * (size_t)point[i] + (size_t)k];
      b->lo[k] = fmin(b->lo[k], x);
      b->hi[k] = fmax(b->hi[k], x);
      size = fmax(size, fabs(x));
    }
  }
  b->used = t->used[block];
  b->plane = !on_plane(b, b, size) ? 0 : on_plane(all + t->lead[block], b, size) ? t->lead[block] + 1 : block + 1;
}

static void leaf_node(const tgiSsdfBlock *b, tgiSsdfNode *d) {
  *d = (tgiSsdfNode){.low = INFINITY, .high = -INFINITY};
  for (int k = 0; k < 3; k++) {
    d->lo[k] = INFINITY;
    d->hi[k] = -INFINITY;
    for (int i = 0; i < b->used; i++) {
      d->lo[k] = fmin(d->lo[k], tgRe(b->p[k][i]));
      d->hi[k] = fmax(d->hi[k], tgRe(b->p[k][i]));
      d->normal[k] += tgRe(b->normal[k][i]) / b->used;
    }
    d->centre[k] = 0.5 * (d->lo[k] + d->hi[k]);
  }
  for (int i = 0; i < b->used; i++) {
    double n[3], x[3], e[3];
    for (int k = 0; k < 3; k++) {
      n[k] = tgRe(b->normal[k][i]);
      x[k] = tgRe(b->p[k][i]) - d->centre[k];
      e[k] = n[k] - d->normal[k];
    }
    double s = dot(n, x);
    d->radius = fmax(d->radius, norm(x));
    d->spread = fmax(d->spread, norm(e));
    d->low = fmin(d->low, s);
    d->high = fmax(d->high, s);
  }
}

// n_i . (p_i - centre) = n_i . (p_i - c_child) + n_i . (c_child - centre)
static void inner_node(const tgiSsdfNode c[2], tgiSsdfNode *d) {
  double half[3];
  for (int k = 0; k < 3; k++) {
    d->lo[k] = fmin(c[0].lo[k], c[1].lo[k]);
    d->hi[k] = fmax(c[0].hi[k], c[1].hi[k]);
    d->centre[k] = 0.5 * (d->lo[k] + d->hi[k]);
    d->normal[k] = 0.5 * (c[0].normal[k] + c[1].normal[k]);
    half[k] = 0.5 * (d->hi[k] - d->lo[k]);
  }
  d->radius = d->spread = 0;
  d->low = INFINITY;
  d->high = -INFINITY;
  for (int i = 0; i < 2; i++) {
    double x[3], e[3];
    for (int k = 0; k < 3; k++) {
      x[k] = c[i].centre[k] - d->centre[k];
      e[k] = c[i].normal[k] - d->normal[k];
    }
    double s = dot(c[i].normal, x), t = c[i].spread * norm(x);
    d->radius = fmax(d->radius, norm(x) + c[i].radius);
    d->spread = fmax(d->spread, norm(e) + c[i].spread);
    d->low = fmin(d->low, c[i].low + s - t);
    d->high = fmax(d->high, c[i].high + s + t);
  }
  d->radius = fmin(d->radius, norm(half));
}

void tgi_ssdf_tree_numbers(const tgiSsdfTree *tree, const tgReal *p, const tgReal *normal, tgiSsdfNumbers *numbers) {
  for (int b = 0; b < tree->nblock; b++) fill_block(tree, b, p, normal, numbers->block);
  for (int i = tree->nnode - 1; i >= 0; i--) {
    if (tree->child[i] < 0) leaf_node(numbers->block + tree->block[i], numbers->node + i);
    else inner_node(numbers->node + tree->child[i], numbers->node + i);
  }
}

// ---- which points count ----

void tgi_ssdf_nearest(const tgiSsdfTree *tree, const tgiSsdfNumbers *numbers, const double c[3], double below,
                      bool about, tgiSsdfNearest *near) {
  TGI_ISA_CALL(tgi_isa(), tgi_ssdf_nearest, (tree, numbers, c, below, about, near));
}

int tgi_ssdf_gather(const tgiSsdfTree *tree, const tgiSsdfNumbers *numbers, const double c[3], double r, double cut,
                    const tgiSsdfNearest *near, int *blocks) {
  int n = 0;
  TGI_ISA_CALL(tgi_isa(), tgi_ssdf_gather, (tree, numbers, c, r, cut, near, blocks, &n));
  return n;
}

bool tgi_ssdf_above(const tgiSsdfTree *tree, const tgiSsdfNumbers *numbers, const tgiSsdfBall *ball, double cut, double level) {
  bool above = false;
  TGI_ISA_CALL(tgi_isa(), tgi_ssdf_above, (tree, numbers, ball, cut, level, &above));
  return above;
}

tgReal tgi_ssdf_pruned(const tgiSsdf *s, const tgiSsdfTree *tree, const tgiSsdfNumbers *numbers, double tau, int *kept,
                       const tgReal x[3], tgReal g[3], tgReal H[9]) {
  double c[3] = {tgRe(x[0]), tgRe(x[1]), tgRe(x[2])}, cut = tgi_ssdf_cut(tgRe(s->eps), s->n, tau);
  tgiSsdfNearest near;
  tgi_ssdf_nearest(tree, numbers, c, INFINITY, false, &near);
  // the list of blocks goes to the end of the room: as each block has a point, points never reach the part not read yet
  int *block = kept + s->n - tree->nblock, n = tgi_ssdf_gather(tree, numbers, c, 0, cut, &near, block), m = 0;
  memmove(kept + s->n - n, block, (size_t)n * sizeof *block);
  block = kept + s->n - n;
  cut += near.squared * (1 + TGI_SSDF_ROUNDING);
  for (int a = 0; a < n; a++) {
    int b = block[a];
    const tgiSsdfBlock *z = numbers->block + b;
    for (int i = 0; i < tree->used[b]; i++) {
      double e[3] = {tgRe(z->p[0][i]) - c[0], tgRe(z->p[1][i]) - c[1], tgRe(z->p[2][i]) - c[2]};
      if (dot(e, e) <= cut) kept[m++] = tree->point[BLOCK * b + i];
    }
  }
  return tgi_ssdf_among(s, kept, m, x, g, H);
}
