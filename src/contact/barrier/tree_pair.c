// tree_pair.c: the recursion over two sphere trees. See tree_pair.h.
//
// Going down, pairs of nodes become clusters (far), pairs of triangles (leaf) or blends. A blend is a pair of nodes between d1 and d2; what lies
// under it, and not under a deeper one, owes it value and gradient. The share that reaches the total is known going down,
//   inner(blend) = inner(owner) (1 - Phi),                                                                                 (42)
// so second derivatives of clusters and triangles go to the total at once; only Phi' needs the gradient of the sum below it:
//   P = (1 - Phi) A + Phi C,   H = (1 - Phi) H_A + c2 y y' + c1 G - Phi' (y g_A' + g_A y'),                                (43)
//   c1 = Phi C' + (C - A) Phi',  c2 = Phi C'' + (C - A) Phi'' + 2 Phi' C',   y, G derivatives of the coordinate that C and Phi are functions of.
#include "contact/barrier/tree_pair.h"

#include <string.h>

#include "contact/barrier/law.h"
#include "math/vec3.h"

enum { FAR_ROOM = 512, LEAF_ROOM = 256, POINT_ROOM = 128, BLEND_ROOM = 2048, LANES = TGI_TREE_LANES, ASK_ROOM = 4 * LANES, ACC = 8 };

// before: under a one-sided node, where only the triangle's own distance counts, or a sphere would undercut what the node promised
typedef struct Item { int a, b, owner, before; } Item;
typedef struct Blend { Item at; int level, point; tgReal phi[3]; } Blend;   // level: blends above; point: place of a one-sided pair, -1: two spheres

struct tgiTreeWork {
  int stack_room, blend_room, point_room, nstack, nfar, nleaf, nask, npoint, nblend;
  Item *stack, *far, *leaf, *ask;   // ask: one-sided pairs to be looked at
  Blend *blend;              // 0: the total
  int *renamed, *order;      // blend_room
  int *level;                // levels + 1
  int levels;
  tgReal *inner;             // blend_room: share of the total, for what the blend owns
  tgReal *acc;               // blend_room x ACC: value and gradient of what it owns
  tgiPair *point;
  tgiPairBlock *pairs;
  tgiPlaneCache *planes;     // NULL: none
  const tgiTreePress *press; // NULL: none
  tgiTreeBlock *look, *block;   // look: of visits, which the rest happens within
  tgiTreeSum *sum;
};

typedef struct Run {
  const tgiPosed *A, *B;
  const tgiTreeLaw *law;
  tgiTreeWork *w;
  tgiTreeFrame frame;
  double nearest, q, D;      // narrowest slab between triangles; of clusters the least squared distance, of points the least 12/S*
  int touching[2];
  tgiTreeCount count;
} Run;

// ---- posed trees ----

size_t tgi_posed_reals(const tgiSurface *s, const tgiTree *t) { return (size_t)t->nnode * TGI_NODE_SIZE + 3 * (size_t)s->nvert; }

void tgi_posed_place(const tgiSurface *s, const tgiTree *t, tgReal *memory, tgiPosed *p) {
  p->surface = s;
  p->tree = t;
  p->node = memory;
  p->vert = memory + (size_t)t->nnode * TGI_NODE_SIZE;
}

void tgi_posed_numbers(const tgiTreeNumbers *n, tgiPosed *p) {
  for (int k = 0; k < p->tree->nnode; k++) {
    tgReal *x = p->node + (size_t)k * TGI_NODE_SIZE;
    for (int i = 0; i < TGI_NODE_SIZE; i++) x[i] = 0;
    x[TGI_NODE_R] = n->radius[k];
    x[TGI_NODE_W] = n->weight[k];
    x[TGI_NODE_M] = n->moment[k];
  }
}

void tgi_posed_move(const tgiTreeNumbers *n, const tgReal x[3], const tgReal R[9], tgiPosed *p) {
  tgReal d[3];
  tgi_m3_mulv(p->origin, R, n->centre);
  tgi_v3_axpy(p->origin, 1, x);
  for (size_t k = 0; k < (size_t)p->tree->nnode; k++) {
    tgi_v3_sub(d, n->centre + 3 * k, n->centre);
    tgi_m3_mulv(p->node + k * TGI_NODE_SIZE, R, d);
  }
  for (size_t k = 0; k < (size_t)p->surface->nvert; k++) {
    tgi_v3_sub(d, n->vert + 3 * k, n->centre);
    tgi_m3_mulv(p->vert + 3 * k, R, d);
  }
}

bool tgi_one_sided(const tgiPosed *a, const tgiPosed *b) {
  double least = INFINITY, most = 0;
  for (int k = 0; k < a->tree->nnode; k++)
    if (a->tree->tri[k] < 0) least = fmin(least, a->nominal[k]);
  for (int k = 0; k < b->tree->nnode; k++)
    if (b->tree->tri[k] >= 0) most = fmax(most, b->nominal[k]);
  return least <= 0.5 * most;
}

// ---- memory ----

// A block takes LANES pairs of nodes from the stack and puts four times as many on it, a level further down.
static void place(tgLayout *l, int depth, tgiTreeWork *w) {
  int open = LANES * (depth + 2);
  w->stack_room = 8 * open;
  w->blend_room = BLEND_ROOM + 4 * open;
  w->point_room = POINT_ROOM + open;
  w->levels = 2 * depth + 4;
  w->stack = tgi_place(l, (size_t)w->stack_room, sizeof *w->stack);
  w->far = tgi_place(l, FAR_ROOM, sizeof *w->far);
  w->leaf = tgi_place(l, LEAF_ROOM, sizeof *w->leaf);
  w->ask = tgi_place(l, ASK_ROOM, sizeof *w->ask);
  w->blend = tgi_place(l, (size_t)w->blend_room, sizeof *w->blend);
  w->renamed = tgi_place(l, (size_t)w->blend_room, sizeof *w->renamed);
  w->order = tgi_place(l, (size_t)w->blend_room, sizeof *w->order);
  w->level = tgi_place(l, (size_t)w->levels + 1, sizeof *w->level);
  w->inner = tgi_place(l, (size_t)w->blend_room, sizeof *w->inner);
  w->acc = tgi_place(l, (size_t)w->blend_room * ACC, sizeof *w->acc);
  w->point = tgi_place(l, (size_t)w->point_room, sizeof *w->point);
  w->pairs = tgi_place(l, 1, sizeof *w->pairs);
  w->look = tgi_place(l, 1, sizeof *w->look);
  w->block = tgi_place(l, 1, sizeof *w->block);
  w->sum = tgi_place(l, 1, sizeof *w->sum);
}

size_t tgi_tree_work_bytes(int depth) {
  tgLayout l = {.base = NULL};
  tgiTreeWork w;
  tgi_place(&l, 1, sizeof w);
  place(&l, depth, &w);
  return l.used;
}

tgiTreeWork *tgi_tree_work_place(void *memory, int depth) {
  tgLayout l = {.base = memory};
  tgiTreeWork *w = tgi_place(&l, 1, sizeof *w);
  memset(w, 0, sizeof *w);
  place(&l, depth, w);
  return w;
}

void tgi_tree_work_planes(tgiTreeWork *w, tgiPlaneCache *planes) { w->planes = planes != NULL && planes->room > 0 ? planes : NULL; }

void tgi_tree_work_press(tgiTreeWork *w, const tgiTreePress *press) { w->press = press; }

// ---- planes kept within a step ----

// place of the pair's plane; *known: it is there, else the place is the pair's to write, where another may have been
static int plane_at(const tgiPlaneCache *c, Item at, bool *known) {
  enum { PROBES = 4 };
  unsigned first = ((unsigned)at.a * 0x9e3779b1u ^ (unsigned)at.b * 0x85ebca6bu) * 0xc2b2ae35u, mask = (unsigned)c->room - 1;
  for (unsigned i = 0; i < PROBES; i++) {
    unsigned k = ((first >> 12) + i) & mask;
    *known = c->key[k][0] == at.a && c->key[k][1] == at.b;
    if (*known || c->key[k][0] < 0) return (int)k;
  }
  return (int)((first >> 12) & mask);
}

const tgReal *tgi_plane_kept(const tgiPlaneCache *c, int a, int b) {
  bool known = false;
  int k = c->room > 0 ? plane_at(c, (Item){.a = a, .b = b}, &known) : 0;
  return known ? c->plane[k] : NULL;
}

// solves w->pairs, whose columns are `at`
static void solve(tgiTreeWork *w, const Item *at, int count) {
  tgiPairBlock *p = w->pairs;
  int place[LANES];
  p->count = count;
  p->warm = 0;
  for (int l = 0; l < count && w->planes != NULL; l++) {
    bool known;
    place[l] = plane_at(w->planes, at[l], &known);
    if (!known) continue;
    const tgReal *plane = w->planes->plane[place[l]];
    for (int i = 0; i < 3; i++) p->u[i][l] = plane[i];
    p->delta[l] = plane[3];
    p->warm |= 1u << l;
  }
  tgi_pair_block(p);
  for (int l = 0; l < count && w->planes != NULL; l++) {
    tgReal *plane = w->planes->plane[place[l]];
    w->planes->key[place[l]][0] = at[l].a;
    w->planes->key[place[l]][1] = at[l].b;
    for (int i = 0; i < 3; i++) plane[i] = p->u[i][l];
    plane[3] = p->delta[l];
  }
}

// ---- terms ----

static const tgReal *node_a(const Run *r, int a) { return r->A->node + (size_t)a * TGI_NODE_SIZE; }
static const tgReal *node_b(const Run *r, int b) { return r->B->node + (size_t)b * TGI_NODE_SIZE; }
static tgReal weights(const Run *r, Item at) { return node_a(r, at.a)[TGI_NODE_W] * node_b(r, at.b)[TGI_NODE_W]; }

static void add_value(Run *r, int owner, const tgReal acc[ACC]) {
  tgReal *to = r->w->acc + (size_t)owner * ACC;
  for (int i = 0; i < ACC; i++) to[i] += acc[i];
}

// value f[0] and derivatives of f(c), c with gradient v and second derivatives G
static void add_term(Run *r, int owner, const tgReal f[3], const tgReal v[6], const tgReal G[21]) {
  tgReal acc[ACC] = {f[0]}, inner = r->w->inner[owner];
  for (int i = 0, n = 0; i < 6; i++) {
    acc[1 + i] = f[1] * v[i];
    for (int j = 0; j <= i; j++, n++) r->w->sum->H[n][0] += inner * (f[2] * v[i] * v[j] + f[1] * G[n]);
  }
  add_value(r, owner, acc);
}

static void fill(tgiTreeBlock *b, int l, Item at) {
  b->a[l] = at.a;
  b->b[l] = at.b;
}

// ---- forces ----

// -g (its linear part) on A at a, against B at b, both from A's origin, across the distance d
static void press(Run *r, int node, const tgReal g[3], tgReal share, const tgReal a[3], const tgReal b[3], tgReal d) {
  const tgiTreePress *p = r->w->press;
  tgiFrictionForce f;
  tgReal F[3], square;
  tgi_v3_scale(F, g, -share * p->mu);
  square = tgi_v3_dot(F, F);
  if (!(tgRe(square) > 0)) return;
  f.N = tgSqrt(square);
  tgi_v3_scale(f.n, F, 1 / f.N);
  tgi_v3_add(f.a, a, r->A->origin);
  tgi_v3_add(f.b, b, r->A->origin);
  tgi_friction_add(&p->sum[p->patch[node]], &f);
  if (p->range > 0) tgi_friction_share(p->share, p->range, f.N, d);
}

// distance of the law of clusters that are D apart, squared, or of a node that is D before a triangle
static tgReal law_distance(const Run *r, Item at, tgReal square) {
  return tgSqrt(square + r->frame.moment[0] * node_a(r, at.a)[TGI_NODE_M] + r->frame.moment[1] * node_b(r, at.b)[TGI_NODE_M]);
}

static void press_centres(Run *r, Item at, const tgReal g[3], tgReal share) {
  tgReal y[3], e[3];
  tgi_v3_add(y, node_b(r, at.b), r->frame.shift);
  tgi_v3_sub(e, node_a(r, at.a), y);
  press(r, at.a, g, share, node_a(r, at.a), y, law_distance(r, at, tgi_v3_dot(e, e)));
}

// six vertices, the triangle of A first, in steps of `stride`, with the cost S: at the means with weights 1/m^2
static void press_triangles(Run *r, Item at, const tgReal *x, int stride, const tgReal u[3], tgReal delta, tgReal S, const tgReal g[3], tgReal share) {
  tgReal at_mean[2][3] = {{0}}, sum[2] = {0}, D = 12 / S;
  for (int k = 0; k < 6; k++) {
    const tgReal *v = x + (size_t)(3 * k * stride);
    tgReal m = u[0] * v[0] + u[1] * v[stride] + u[2] * v[2 * stride] + delta, y = 1 / (m * m);
    sum[k / 3] += y;
    for (int i = 0; i < 3; i++) at_mean[k / 3][i] += y * v[i * stride];
  }
  for (int half = 0; half < 2; half++) tgi_v3_scale(at_mean[half], at_mean[half], 1 / sum[half]);
  press(r, at.a, g, share, at_mean[0], at_mean[1], law_distance(r, at, D * D));
}

// column l of the solved pairs; g: gradient of what its share is of
static void press_column(Run *r, Item at, int l, const tgReal g[3], tgReal share) {
  const tgiPairBlock *p = r->w->pairs;
  tgReal u[3] = {p->u[0][l], p->u[1][l], p->u[2][l]};
  press_triangles(r, at, &p->x[0][l], LANES, u, p->delta[l], p->S[l], g, share);
}

static void flush_far(Run *r) {
  tgiTreeWork *w = r->w;
  tgiTreeBlock *b = w->block;
  for (int k = 0; k < w->nfar; k += LANES) {
    const Item *at = w->far + k;
    b->count = w->nfar - k < LANES ? w->nfar - k : LANES;
    for (int l = 0; l < b->count; l++) {
      fill(b, l, at[l]);
      b->inner[l] = w->inner[at[l].owner];
    }
    tgi_tree_far(&r->frame, b, w->sum);
    for (int l = 0; l < b->count; l++) {
      add_value(r, at[l].owner, b->acc[l]);
      r->q = fmin(r->q, tgRe(b->q[l]));
      if (w->press != NULL) press_centres(r, at[l], b->acc[l] + 4, w->inner[at[l].owner]);
    }
  }
  r->count.clusters += w->nfar;
  w->nfar = 0;
}

static void vertices(const Run *r, int side, int leaf, tgReal *x, int stride) {
  const tgiPosed *p = side == 0 ? r->A : r->B;
  const int *face = p->surface->face + 3 * (size_t)p->tree->tri[leaf];
  for (int k = 0; k < 3; k++)
    for (int i = 0; i < 3; i++) x[(3 * k + i) * stride] = p->vert[3 * (size_t)face[k] + (size_t)i] + (side == 0 ? 0 : r->frame.shift[i]);
}

// count pairs of leaves from `at` on; false: one of them touches
static bool solve_leaves(Run *r, const Item *at, int count) {
  tgiTreeBlock *b = r->w->block;
  tgiPairBlock *p = r->w->pairs;
  tgReal weight[LANES] = {0};
  for (int l = 0; l < count; l++) {
    vertices(r, 0, at[l].a, &p->x[0][l], LANES);
    vertices(r, 1, at[l].b, &p->x[9][l], LANES);
    b->inner[l] = r->w->inner[at[l].owner];
    fill(b, l, at[l]);
    weight[l] = weights(r, at[l]);
  }
  b->count = count;
  solve(r->w, at, count);
  for (int l = 0; l < count; l++) {
    r->count.iterations += p->steps[l];
    if ((p->apart >> l & 1) != 0) continue;
    r->touching[0] = r->A->tree->tri[at[l].a];
    r->touching[1] = r->B->tree->tri[at[l].b];
    return false;
  }
  tgi_tree_leaves(&r->frame, p, weight, b, r->w->sum);
  for (int l = 0; l < count; l++) {
    add_value(r, at[l].owner, b->acc[l]);
    r->nearest = fmin(r->nearest, tgRe(b->q[l]));
    if (r->w->press != NULL) press_column(r, at[l], l, b->acc[l] + 4, b->inner[l]);
  }
  return true;
}

static bool flush_leaf(Run *r) {
  int n = r->w->nleaf;
  for (int k = 0; k < n; k += LANES)
    if (!solve_leaves(r, r->w->leaf + k, n - k < LANES ? n - k : LANES)) return false;
  r->count.leaves += n;
  r->w->nleaf = 0;
  return true;
}

static bool push_leaf(Run *r, Item at) {
  if (r->w->nleaf == LEAF_ROOM && !flush_leaf(r)) return false;
  r->w->leaf[r->w->nleaf++] = at;
  return true;
}

// ---- blends ----

static int open_blend(Run *r, Item at, int point, tgReal phi0, tgReal phi1, tgReal phi2) {
  tgiTreeWork *w = r->w;
  int k = w->nblend++;
  w->blend[k] = (Blend){.at = at, .level = w->blend[at.owner].level + 1, .point = point, .phi = {phi0, phi1, phi2}};
  w->inner[k] = w->inner[at.owner] * (1 - phi0);
  memset(w->acc + (size_t)k * ACC, 0, ACC * sizeof *w->acc);
  r->count.blends++;
  return k;
}

static int small_side(const Run *r, Item at) {
  bool leaf_a = r->A->tree->tri[at.a] >= 0, leaf_b = r->B->tree->tri[at.b] >= 0;
  if (r->law->one_sided[0] && leaf_b && !leaf_a && r->A->nominal[at.a] <= 0.5 * r->B->nominal[at.b]) return 0;
  if (r->law->one_sided[1] && leaf_a && !leaf_b && r->B->nominal[at.b] <= 0.5 * r->A->nominal[at.a]) return 1;
  return -1;
}

// a node, as a point three times, and the triangle of the other side
static void point_corners(const Run *r, Item at, tgReal *x, int stride) {
  int side = small_side(r, at), from = 9 * side;
  const tgReal *node = side == 0 ? node_a(r, at.a) : node_b(r, at.b);
  for (int i = 0; i < 9; i++) x[(from + i) * stride] = node[i % 3] + (side == 0 ? 0 : r->frame.shift[i % 3]);
  vertices(r, 1 - side, side == 0 ? at.b : at.a, x + (9 - from) * stride, stride);
}

static void point_law(const Run *r, Item at, tgReal S, tgReal f[3]) {
  tgReal m = TGI_ONE_SIDED * TGI_ONE_SIDED * (r->A->tree->tri[at.a] < 0 ? node_a(r, at.a)[TGI_NODE_M] : node_b(r, at.b)[TGI_NODE_M]);
  tgi_law_point(weights(r, at), r->law->base, S, m, f);
}

// (43) with S* as the coordinate
static void close_point(Run *r, int k) {
  const Blend *b = &r->w->blend[k];
  const tgiPair *p = &r->w->point[b->point];
  const tgReal *below = r->w->acc + (size_t)k * ACC, *phi = b->phi, *v = p->g;
  tgReal C[3], up[ACC] = {0}, outer = r->w->inner[b->at.owner];
  point_law(r, b->at, p->S, C);
  tgReal less = C[0] - below[0], c1 = phi[0] * C[1] + less * phi[1], c2 = phi[0] * C[2] + less * phi[2] + 2 * phi[1] * C[1];
  up[0] = below[0] + phi[0] * less;
  for (int i = 0, n = 0; i < 6; i++) {
    up[1 + i] = (1 - phi[0]) * below[1 + i] + c1 * v[i];
    for (int j = 0; j <= i; j++, n++)
      r->w->sum->H[n][0] += outer * (c2 * v[i] * v[j] + c1 * p->H[n] - phi[1] * (v[i] * below[1 + j] + below[1 + i] * v[j]));
  }
  add_value(r, b->at.owner, up);
  if (r->w->press == NULL) return;
  tgReal x[18], g[3];
  point_corners(r, b->at, x, 1);
  tgi_v3_scale(g, v + 3, c1);
  press_triangles(r, b->at, x, 1, p->u, p->delta, p->S, g, outer);
}

static void close_clusters(Run *r, const int *which, int count) {
  tgiTreeWork *w = r->w;
  tgiTreeBlock *b = w->block;
  b->count = count;
  for (int l = 0; l < count; l++) {
    const Blend *k = &w->blend[which[l]];
    fill(b, l, k->at);
    for (int i = 0; i < 3; i++) b->phi[i][l] = k->phi[i];
    b->inner[l] = w->inner[k->at.owner];
    memcpy(b->acc[l], w->acc + (size_t)which[l] * ACC, sizeof b->acc[l]);
  }
  tgi_tree_close(&r->frame, b, w->sum);
  for (int l = 0; l < count; l++) {
    const Blend *k = &w->blend[which[l]];
    const tgReal *below = w->acc + (size_t)which[l] * ACC;
    tgReal g[3];
    add_value(r, k->at.owner, b->acc[l]);
    if (w->press == NULL) continue;
    for (int i = 0; i < 3; i++) g[i] = b->acc[l][4 + i] - (1 - k->phi[0]) * below[4 + i];   // c1 y of (43)
    press_centres(r, k->at, g, b->inner[l]);
  }
}

// blends of one level do not depend on each other
static void close_level(Run *r, const int *which, int count) {
  int batch[LANES], n = 0;
  for (int i = 0; i < count; i++) {
    if (r->w->blend[which[i]].point >= 0) {
      close_point(r, which[i]);
      continue;
    }
    batch[n++] = which[i];
    if (n < LANES) continue;
    close_clusters(r, batch, n);
    n = 0;
  }
  if (n > 0) close_clusters(r, batch, n);
}

// all blends that are not marked in renamed, the deepest first
static void close_blends(Run *r) {
  tgiTreeWork *w = r->w;
  memset(w->level, 0, ((size_t)w->levels + 1) * sizeof *w->level);
  for (int k = 1; k < w->nblend; k++)
    if (w->renamed[k] == 0) w->level[w->blend[k].level + 1]++;
  for (int i = 0; i < w->levels; i++) w->level[i + 1] += w->level[i];
  for (int k = 1; k < w->nblend; k++)
    if (w->renamed[k] == 0) w->order[w->level[w->blend[k].level]++] = k;
  for (int i = w->levels - 1; i > 0; i--) close_level(r, w->order + w->level[i - 1], w->level[i] - w->level[i - 1]);
}

static void mark_open(tgiTreeWork *w, const Item *item, int n) {
  for (int i = 0; i < n; i++)
    for (int k = item[i].owner; w->renamed[k] == 0; k = w->blend[k].at.owner) w->renamed[k] = 1;
}

// makes room: closes every blend but those that the stack still needs, which are few
static bool retire(Run *r) {
  tgiTreeWork *w = r->w;
  flush_far(r);
  if (!flush_leaf(r)) return false;
  memset(w->renamed, 0, (size_t)w->nblend * sizeof *w->renamed);
  w->renamed[0] = 1;
  mark_open(w, w->stack, w->nstack);
  mark_open(w, w->ask, w->nask);
  close_blends(r);
  int kept = 0, points = 0;
  for (int k = 0; k < w->nblend; k++) {
    if (w->renamed[k] == 0) continue;
    Blend b = w->blend[k];
    b.at.owner = w->renamed[b.at.owner];
    if (b.point >= 0) {
      w->point[points] = w->point[b.point];
      b.point = points++;
    }
    w->blend[kept] = b;
    w->inner[kept] = w->inner[k];
    memmove(w->acc + (size_t)kept * ACC, w->acc + (size_t)k * ACC, ACC * sizeof *w->acc);
    w->renamed[k] = kept++;
  }
  for (int i = 0; i < w->nstack; i++) w->stack[i].owner = w->renamed[w->stack[i].owner];
  for (int i = 0; i < w->nask; i++) w->ask[i].owner = w->renamed[w->ask[i].owner];
  w->nblend = kept;
  w->npoint = points;
  return true;
}

// ---- going down ----

static void push_children(Run *r, Item at, bool before) {
  tgiTreeWork *w = r->w;
  const int *ca = r->A->tree->child + 2 * (size_t)at.a, *cb = r->B->tree->child + 2 * (size_t)at.b;
  int na = ca[0] >= 0 ? 2 : 1, nb = cb[0] >= 0 ? 2 : 1;
  for (int i = 0; i < na; i++)
    for (int j = 0; j < nb; j++) w->stack[w->nstack++] = (Item){na == 2 ? ca[i] : at.a, nb == 2 ? cb[j] : at.b, at.owner, before};
}

static bool go_down(Run *r, Item at) {
  if (r->A->tree->tri[at.a] >= 0 && r->B->tree->tri[at.b] >= 0) return push_leaf(r, at);
  if (small_side(r, at) >= 0) r->w->ask[r->w->nask++] = at;
  else push_children(r, at, false);
  return true;
}

// A node before a larger triangle of the other side: as a point while 12/S* is above d2, blended down to d1 = TGI_ONE_SIDED R. (46)
static void one_sided(Run *r, Item at, const tgReal radius, const tgiPair *p, int column) {
  tgiTreeWork *w = r->w;
  tgReal f[3], d1 = TGI_ONE_SIDED * radius, width = r->law->eps * d1, D = 12 / p->S;
  if (tgRe(D) >= tgRe(d1 + width)) {
    r->D = fmin(r->D, tgRe(D));
    point_law(r, at, p->S, f);
    add_term(r, at.owner, f, p->g, p->H);
    if (w->press != NULL) press_column(r, at, column, p->g + 3, w->inner[at.owner] * f[1]);
    return;
  }
  if (tgRe(D) > tgRe(d1)) {
    tgReal s1 = -D / (p->S * width);   // of (D - d1)/width in S
    tgi_law_blend((D - d1) / width, f);
    w->point[w->npoint] = *p;
    at.owner = open_blend(r, at, w->npoint++, f[0], f[1] * s1, f[2] * s1 * s1 - 2 * f[1] * s1 / p->S);
  }
  push_children(r, at, true);
}

// the last of what was asked: pairs of a node, as a point three times, and a triangle
static void answer(Run *r) {
  tgiTreeWork *w = r->w;
  tgiPairBlock *b = w->pairs;
  int n = w->nask < LANES ? w->nask : LANES;
  const Item *at = w->ask + w->nask - n;
  tgReal radius[LANES];
  for (int l = 0; l < n; l++) {
    point_corners(r, at[l], &b->x[0][l], LANES);
    radius[l] = (small_side(r, at[l]) == 0 ? node_a(r, at[l].a) : node_b(r, at[l].b))[TGI_NODE_R];
  }
  solve(w, at, n);
  w->nask -= n;
  r->count.points += n;
  for (int l = 0; l < n; l++) {
    tgiPair p = {.S = b->S[l], .u = {b->u[0][l], b->u[1][l], b->u[2][l]}, .delta = b->delta[l]};
    if ((b->apart >> l & 1) == 0) {
      push_children(r, at[l], true);
      continue;
    }
    for (int i = 0; i < 6; i++) p.g[i] = b->g[i][l];
    for (int i = 0; i < 21; i++) p.H[i] = b->H[i][l];
    one_sided(r, at[l], radius[l], &p, l);
  }
}

// takes up to LANES pairs from the stack
static bool visit(Run *r) {
  tgiTreeWork *w = r->w;
  tgiTreeBlock *b = w->look;
  Item at[LANES], under[LANES];
  int nunder = 0;
  b->count = 0;
  while (w->nstack > 0 && b->count + nunder < LANES) {
    Item k = w->stack[--w->nstack];
    if (k.before) {
      under[nunder++] = k;
      continue;
    }
    fill(b, b->count, k);
    at[b->count++] = k;
  }
  r->count.visits += b->count + nunder;
  for (int l = 0; l < nunder; l++)
    if (!go_down(r, under[l])) return false;
  if (b->count == 0) return true;
  tgi_tree_visit(&r->frame, b);
  if (w->nfar + LANES > FAR_ROOM) flush_far(r);
  for (int l = 0; l < b->count; l++) {
    if ((b->far >> l & 1) != 0) {
      w->far[w->nfar++] = at[l];
      continue;
    }
    if ((b->between >> l & 1) != 0) at[l].owner = open_blend(r, at[l], -1, b->phi[0][l], b->phi[1][l], b->phi[2][l]);
    if (!go_down(r, at[l])) return false;
  }
  return true;
}

static bool descend(Run *r) {
  tgiTreeWork *w = r->w;
  w->stack[w->nstack++] = (Item){0, 0, 0, false};
  while (w->nstack + w->nask > 0) {
    if ((w->nblend + 2 * LANES > w->blend_room || w->npoint + LANES > w->point_room) && !retire(r)) return false;
    if (w->nask >= LANES || w->nstack == 0) answer(r);
    else if (!visit(r)) return false;
  }
  return retire(r);
}


static bool every_pair(Run *r) {
  const tgiTree *a = r->A->tree, *b = r->B->tree;
  for (int i = 0; i < a->nnode; i++)
    for (int j = 0; a->tri[i] >= 0 && j < b->nnode; j++)
      if (b->tri[j] >= 0 && !push_leaf(r, (Item){i, j, 0, false})) return false;
  return flush_leaf(r);
}

static void reset(tgiTreeWork *w) {
  w->nstack = w->nfar = w->nleaf = w->nask = w->npoint = 0;
  w->nblend = 1;
  w->inner[0] = 1;
  w->blend[0] = (Blend){.point = -1};
  memset(w->acc, 0, ACC * sizeof *w->acc);
  memset(w->sum, 0, sizeof *w->sum);
}

// moments count; those of a side that may be one-sided more
static tgiTreeFrame frame_of(const tgiPosed *A, const tgiPosed *B, const tgiTreeLaw *law) {
  double k = TGI_ONE_SIDED * TGI_ONE_SIDED;
  tgiTreeFrame f = {.a = A->node, .b = B->node, .eps = law->eps, .base = law->base, .moment = {law->one_sided[0] ? k : 1, law->one_sided[1] ? k : 1}};
  tgi_v3_sub(f.shift, B->origin, A->origin);
  return f;
}

bool tgi_tree_pair(const tgiPosed *A, const tgiPosed *B, const tgiTreeLaw *law, tgiTreeWork *w, tgiPairSum *sum, int touching[2],
                   tgiClearance *clear, tgiTreeCount *count) {
  Run r = {.A = A, .B = B, .law = law, .w = w, .frame = frame_of(A, B, law), .nearest = INFINITY, .q = INFINITY, .D = INFINITY};
  reset(w);
  bool apart = law->brute ? every_pair(&r) : descend(&r);
  if (count != NULL) *count = r.count;
  // beyond d2 = (1 + eps) d1 two surfaces are eps d1 apart at least
  double share = law->eps / (1 + law->eps), far = share * fmin(sqrt(r.q), r.D / TGI_ONE_SIDED);
  if (clear != NULL) *clear = (tgiClearance){.all = fmin(far, r.nearest), .solved = r.nearest};
  touching[0] = r.touching[0];
  touching[1] = r.touching[1];
  if (!apart) return false;
  sum->P = w->acc[0];
  memcpy(sum->g, w->acc + 1, sizeof sum->g);
  for (int n = 0; n < 21; n++) {
    sum->H[n] = 0;
    for (int l = 0; l < LANES; l++) sum->H[n] += w->sum->H[n][l];
  }
  return true;
}

// ---- outside the recursion ----

void tgi_sum_add(tgReal H[21], tgReal c2, const tgReal v[6], tgReal c1, const tgReal G[21]) {
  for (int i = 0, k = 0; i < 6; i++)
    for (int j = 0; j <= i; j++, k++) H[k] += c2 * v[i] * v[j] + c1 * G[k];
}
