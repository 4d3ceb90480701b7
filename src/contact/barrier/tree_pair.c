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
#include "contact/barrier/pair_wide.h"
#include "math/vec3.h"

enum { FAR_ROOM = 512, LEAF_ROOM = 256, POINT_ROOM = 256, BLEND_ROOM = 2048, ACC = 8 };

// before: under a one-sided node, where only the triangle's own distance counts, or a sphere would undercut what the node promised
typedef struct Item { int a, b, owner; bool before; } Item;
typedef struct Blend { Item at; int point; tgReal phi[3]; } Blend;   // point: place of a one-sided pair, -1: two spheres

struct tgiTreeWork {
  int stack_room, blend_room, nstack, nfar, nleaf, npoint, nblend;
  Item *stack, *far, *leaf;
  Blend *blend;              // 0: the total
  int *renamed;              // blend_room
  tgReal *inner;             // blend_room: share of the total, for what the blend owns
  tgReal *acc;               // blend_room x ACC: value and gradient of what it owns
  tgiPair *point;
  tgiPairBlock *block;
};

typedef struct Run {
  const tgiPosed *A, *B;
  const tgiTreeLaw *law;
  tgiTreeWork *w;
  tgReal shift[3];           // of B's origin from A's
  tgReal H[21];
  tgReal lanes[21][TGI_PAIR_LANES];   // part of H, by the column of the block it came from
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

static void place(tgLayout *l, int depth, tgiTreeWork *w) {
  w->stack_room = 4 * (depth + 2);
  w->blend_room = BLEND_ROOM + depth + 2;
  w->stack = tgi_place(l, (size_t)w->stack_room, sizeof *w->stack);
  w->far = tgi_place(l, FAR_ROOM, sizeof *w->far);
  w->leaf = tgi_place(l, LEAF_ROOM, sizeof *w->leaf);
  w->blend = tgi_place(l, (size_t)w->blend_room, sizeof *w->blend);
  w->renamed = tgi_place(l, (size_t)w->blend_room, sizeof *w->renamed);
  w->inner = tgi_place(l, (size_t)w->blend_room, sizeof *w->inner);
  w->acc = tgi_place(l, (size_t)w->blend_room * ACC, sizeof *w->acc);
  w->point = tgi_place(l, (size_t)(POINT_ROOM + depth), sizeof *w->point);
  w->block = tgi_place(l, 1, sizeof *w->block);
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

// ---- terms ----

void tgi_sum_add(tgReal H[21], tgReal c2, const tgReal v[6], tgReal c1, const tgReal G[21]) {
  for (int i = 0, k = 0; i < 6; i++)
    for (int j = 0; j <= i; j++, k++) H[k] += c2 * v[i] * v[j] + c1 * G[k];
}

static const tgReal *node_a(const Run *r, int a) { return r->A->node + (size_t)a * TGI_NODE_SIZE; }
static const tgReal *node_b(const Run *r, int b) { return r->B->node + (size_t)b * TGI_NODE_SIZE; }

static void place_b(const Run *r, int b, tgReal y[3]) { tgi_v3_add(y, node_b(r, b), r->shift); }

static void add_value(Run *r, int owner, tgReal P, tgReal c1, const tgReal v[6]) {
  tgReal *acc = r->w->acc + (size_t)owner * ACC;
  acc[0] += P;
  for (int i = 0; i < 6; i++) acc[1 + i] += c1 * v[i];
}

// squared distance of x (moving) and y with its two derivatives: the moving point goes to x + w x x + v + (w x (w x x) + w x v)/2         (44)
static tgReal square(const tgReal x[3], const tgReal y[3], tgReal v[6], tgReal G[21]) {
  tgReal d[3], dot2 = 2 * tgi_v3_dot(x, y), s[3];
  tgi_v3_sub(d, x, y);
  tgi_v3_add(s, x, y);
  tgi_v3_cross(v, y, x);
  for (int i = 0; i < 3; i++) {
    v[i] *= 2;
    v[3 + i] = 2 * d[i];
  }
  memset(G, 0, 21 * sizeof *G);
  for (int i = 0; i < 3; i++) {
    for (int j = 0; j <= i; j++) G[TGI_LOWER(i, j)] = (i == j ? dot2 : 0) - x[i] * y[j] - y[i] * x[j];
    int j = (i + 1) % 3, k = (i + 2) % 3;
    G[TGI_LOWER(3 + k, j)] = -s[i];   // the block of w and v is [x] + [y], [s]_jk = -s_i
    G[TGI_LOWER(3 + j, k)] = s[i];
    G[TGI_LOWER(3 + i, 3 + i)] = 2;
  }
  return tgi_v3_dot(d, d);
}

// clusters count their moments; a side that may be one-sided more of them
static tgReal cluster_moment(const Run *r, Item at) {
  double s = TGI_ONE_SIDED * TGI_ONE_SIDED;
  return (r->law->one_sided[0] ? s : 1) * node_a(r, at.a)[TGI_NODE_M] + (r->law->one_sided[1] ? s : 1) * node_b(r, at.b)[TGI_NODE_M];
}

static tgReal cluster(const Run *r, Item at, tgReal v[6], tgReal G[21], tgReal f[3]) {
  tgReal y[3];
  place_b(r, at.b, y);
  tgReal q = square(node_a(r, at.a), y, v, G);
  tgi_law_cluster(node_a(r, at.a)[TGI_NODE_W] * node_b(r, at.b)[TGI_NODE_W], r->law->base, q + cluster_moment(r, at), f);
  return q;
}

static void flush_far(Run *r) {
  tgReal v[6], G[21], f[3];
  for (int k = 0; k < r->w->nfar; k++) {
    Item at = r->w->far[k];
    tgReal inner = r->w->inner[at.owner];
    r->q = fmin(r->q, tgRe(cluster(r, at, v, G, f)));
    add_value(r, at.owner, f[0], f[1], v);
    tgi_sum_add(r->H, inner * f[2], v, inner * f[1], G);
  }
  r->count.clusters += r->w->nfar;
  r->w->nfar = 0;
}

static void vertices(const Run *r, int side, int leaf, tgReal x[9]) {
  const tgiPosed *p = side == 0 ? r->A : r->B;
  const int *face = p->surface->face + 3 * (size_t)p->tree->tri[leaf];
  for (int k = 0; k < 3; k++)
    for (int i = 0; i < 3; i++) x[3 * k + i] = p->vert[3 * (size_t)face[k] + i] + (side == 0 ? 0 : r->shift[i]);
}

// width of the slab between the triangles of column l along their plane's normal
static double slab(const tgiPairBlock *b, int l) {
  double lo = INFINITY, hi = -INFINITY;
  for (int k = 0; k < 6; k++) {
    double z = 0;
    for (int i = 0; i < 3; i++) z += tgRe(b->u[i][l]) * tgRe(b->x[3 * k + i][l]);
    if (k < 3) lo = fmin(lo, z);
    else hi = fmax(hi, z);
  }
  return lo - hi;
}

// second derivatives of the columns with the shares c1 of H and c2 of g g'
static void add_block(Run *r, const tgiPairBlock *b, const tgReal c1[TGI_PAIR_LANES], const tgReal c2[TGI_PAIR_LANES]) {
  for (int i = 0, n = 0; i < 6; i++)
    for (int j = 0; j <= i; j++, n++)
      for (int l = 0; l < TGI_PAIR_LANES; l++) r->lanes[n][l] += c1[l] * b->H[n][l] + c2[l] * b->g[i][l] * b->g[j][l];
}

// count pairs of leaves from `at` on; false: one of them touches
static bool solve_block(Run *r, const Item *at, int count) {
  tgiPairBlock *b = r->w->block;
  tgReal x[18], c1[TGI_PAIR_LANES] = {0}, c2[TGI_PAIR_LANES] = {0};
  for (int l = 0; l < count; l++) {
    vertices(r, 0, at[l].a, x);
    vertices(r, 1, at[l].b, x + 9);
    for (int k = 0; k < 18; k++) b->x[k][l] = x[k];
  }
  b->count = count;
  b->warm = 0;
  tgi_pair_block(b);
  for (int l = 0; l < count; l++) {
    tgReal f[3], g[6], inner = r->w->inner[at[l].owner];
    if ((b->apart >> l & 1) == 0) {
      r->touching[0] = r->A->tree->tri[at[l].a];
      r->touching[1] = r->B->tree->tri[at[l].b];
      return false;
    }
    r->nearest = fmin(r->nearest, slab(b, l));
    r->count.iterations += b->steps[l];
    tgi_law_pair(node_a(r, at[l].a)[TGI_NODE_W] * node_b(r, at[l].b)[TGI_NODE_W], r->law->base, b->S[l], f);
    for (int i = 0; i < 6; i++) g[i] = b->g[i][l];
    add_value(r, at[l].owner, f[0], f[1], g);
    c1[l] = inner * f[1];
    c2[l] = inner * f[2];
  }
  add_block(r, b, c1, c2);
  return true;
}

static bool flush_leaf(Run *r) {
  int n = r->w->nleaf;
  for (int k = 0; k < n; k += TGI_PAIR_LANES)
    if (!solve_block(r, r->w->leaf + k, n - k < TGI_PAIR_LANES ? n - k : TGI_PAIR_LANES)) return false;
  r->count.leaves += n;
  r->w->nleaf = 0;
  return true;
}

static bool push_leaf(Run *r, Item at) {
  if (r->w->nleaf == LEAF_ROOM && !flush_leaf(r)) return false;
  r->w->leaf[r->w->nleaf++] = at;
  return true;
}

static void push_far(Run *r, Item at) {
  if (r->w->nfar == FAR_ROOM) flush_far(r);
  r->w->far[r->w->nfar++] = at;
}

// ---- blends ----

// s from 0 to 1 between d1 and (1 + eps) d1 and its derivatives in the coordinate, from those of the distance D
static void blend_at(tgReal D, tgReal D1, tgReal D2, tgReal d1, double eps, tgReal phi[3]) {
  tgReal width = eps * d1, b[3];
  tgi_law_blend((D - d1) / width, b);
  phi[0] = b[0];
  phi[1] = b[1] * D1 / width;
  phi[2] = b[2] * D1 * D1 / (width * width) + b[1] * D2 / width;
}

static int open_blend(Run *r, Item at, int point, const tgReal phi[3]) {
  tgiTreeWork *w = r->w;
  int k = w->nblend++;
  w->blend[k] = (Blend){.at = at, .point = point, .phi = {phi[0], phi[1], phi[2]}};
  w->inner[k] = w->inner[at.owner] * (1 - phi[0]);
  for (int i = 0; i < ACC; i++) w->acc[(size_t)k * ACC + (size_t)i] = 0;
  r->count.blends++;
  return k;
}

static void point_law(const Run *r, Item at, tgReal S, tgReal f[3]) {
  tgReal m = TGI_ONE_SIDED * TGI_ONE_SIDED * (r->A->tree->tri[at.a] < 0 ? node_a(r, at.a)[TGI_NODE_M] : node_b(r, at.b)[TGI_NODE_M]);
  tgi_law_point(node_a(r, at.a)[TGI_NODE_W] * node_b(r, at.b)[TGI_NODE_W], r->law->base, S, m, f);
}

// (43), all below it being summed
static void close_blend(Run *r, int k) {
  const Blend *b = &r->w->blend[k];
  const tgReal *acc = r->w->acc + (size_t)k * ACC, *phi = b->phi;
  tgReal v[6], G[21], C[3], outer = r->w->inner[b->at.owner];
  if (b->point < 0) {
    cluster(r, b->at, v, G, C);
  } else {
    const tgiPair *p = &r->w->point[b->point];
    memcpy(v, p->g, sizeof v);
    memcpy(G, p->H, sizeof G);
    point_law(r, b->at, p->S, C);
  }
  tgReal less = C[0] - acc[0], c1 = phi[0] * C[1] + less * phi[1], c2 = phi[0] * C[2] + less * phi[2] + 2 * phi[1] * C[1];
  tgReal cross = outer * phi[1];
  tgi_sum_add(r->H, outer * c2, v, outer * c1, G);
  for (int i = 0, n = 0; i < 6; i++)
    for (int j = 0; j <= i; j++, n++) r->H[n] -= cross * (v[i] * acc[1 + j] + acc[1 + i] * v[j]);
  tgReal *up = r->w->acc + (size_t)b->at.owner * ACC;
  up[0] += acc[0] + phi[0] * less;
  for (int i = 0; i < 6; i++) up[1 + i] += (1 - phi[0]) * acc[1 + i] + c1 * v[i];
}

// makes room: closes every blend but those that the stack still needs, which are few
static bool retire(Run *r) {
  tgiTreeWork *w = r->w;
  flush_far(r);
  if (!flush_leaf(r)) return false;
  for (int k = 0; k < w->nblend; k++) w->renamed[k] = k == 0;
  for (int i = 0; i < w->nstack; i++)
    for (int k = w->stack[i].owner; !w->renamed[k]; k = w->blend[k].at.owner) w->renamed[k] = 1;
  for (int k = w->nblend - 1; k > 0; k--)
    if (!w->renamed[k]) close_blend(r, k);
  int kept = 0, points = 0;
  for (int k = 0; k < w->nblend; k++) {
    if (!w->renamed[k]) continue;
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

// the pair of a node, as a point three times, and a triangle
static bool solve_point(Run *r, Item at, int side, tgiPair *p) {
  tgReal x[18];
  for (int k = 0; k < 3; k++) {
    if (side == 0) tgi_v3_copy(x + 3 * k, node_a(r, at.a));
    else place_b(r, at.b, x + 9 + 3 * k);
  }
  vertices(r, 1 - side, side == 0 ? at.b : at.a, x + (side == 0 ? 9 : 0));
  r->count.points++;
  return tgi_pair_solve(x, false, p);
}

// A node before a larger triangle of the other side: as a point while 12/S* is above d2, blended down to d1 = TGI_ONE_SIDED R. (46)
// false: go on to the children, under *owner
static bool one_sided(Run *r, Item at, int side, int *owner) {
  tgiTreeWork *w = r->w;
  tgiPair *p = &w->point[w->npoint];
  tgReal f[3], phi[3], d1 = TGI_ONE_SIDED * (side == 0 ? node_a(r, at.a) : node_b(r, at.b))[TGI_NODE_R];
  if (!solve_point(r, at, side, p)) return false;
  tgReal D = 12 / p->S, D1 = -D / p->S, inner = w->inner[at.owner];
  if (tgRe(D) <= tgRe(d1)) return false;
  if (tgRe(D) >= tgRe(d1) * (1 + r->law->eps)) {
    r->D = fmin(r->D, tgRe(D));
    point_law(r, at, p->S, f);
    add_value(r, at.owner, f[0], f[1], p->g);
    tgi_sum_add(r->H, inner * f[2], p->g, inner * f[1], p->H);
    return true;
  }
  blend_at(D, D1, -2 * D1 / p->S, d1, r->law->eps, phi);
  *owner = open_blend(r, at, w->npoint++, phi);
  return false;
}

static int small_side(const Run *r, Item at) {
  bool leaf_a = r->A->tree->tri[at.a] >= 0, leaf_b = r->B->tree->tri[at.b] >= 0;
  if (r->law->one_sided[0] && leaf_b && !leaf_a && r->A->nominal[at.a] <= 0.5 * r->B->nominal[at.b]) return 0;
  if (r->law->one_sided[1] && leaf_a && !leaf_b && r->B->nominal[at.b] <= 0.5 * r->A->nominal[at.a]) return 1;
  return -1;
}

static bool go_down(Run *r, Item at) {
  if (r->A->tree->tri[at.a] >= 0 && r->B->tree->tri[at.b] >= 0) return push_leaf(r, at);
  int side = small_side(r, at);
  if (side >= 0 && one_sided(r, at, side, &at.owner)) return true;
  push_children(r, at, side >= 0);
  return true;
}

static bool visit(Run *r, Item at) {
  const tgReal *x = node_a(r, at.a);
  tgReal y[3], d[3], phi[3], d1 = x[TGI_NODE_R] + node_b(r, at.b)[TGI_NODE_R];
  double eps = r->law->eps, far = tgRe(d1) * (1 + eps);
  r->count.visits++;
  if (at.before) return go_down(r, at);
  place_b(r, at.b, y);
  tgi_v3_sub(d, x, y);
  tgReal q = tgi_v3_dot(d, d);
  if (tgRe(q) >= far * far) {
    push_far(r, at);
    return true;
  }
  if (tgRe(q) > tgRe(d1) * tgRe(d1)) {
    tgReal D = tgSqrt(q);
    blend_at(D, 0.5 / D, -0.25 / (D * q), d1, eps, phi);
    at.owner = open_blend(r, at, -1, phi);
  }
  return go_down(r, at);
}

static bool descend(Run *r) {
  tgiTreeWork *w = r->w;
  w->stack[w->nstack++] = (Item){0, 0, 0, false};
  while (w->nstack > 0) {
    if ((w->nblend + 2 > w->blend_room || w->npoint == POINT_ROOM) && !retire(r)) return false;
    if (!visit(r, w->stack[--w->nstack])) return false;
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
  w->nstack = w->nfar = w->nleaf = w->npoint = 0;
  w->nblend = 1;
  w->inner[0] = 1;
  w->blend[0] = (Blend){.point = -1};
  for (int i = 0; i < ACC; i++) w->acc[i] = 0;
}

bool tgi_tree_pair(const tgiPosed *A, const tgiPosed *B, const tgiTreeLaw *law, tgiTreeWork *w, tgiPairSum *sum, int touching[2],
                   tgiClearance *clear, tgiTreeCount *count) {
  Run r = {.A = A, .B = B, .law = law, .w = w, .nearest = INFINITY, .q = INFINITY, .D = INFINITY};
  tgi_v3_sub(r.shift, B->origin, A->origin);
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
    sum->H[n] = r.H[n];
    for (int l = 0; l < TGI_PAIR_LANES; l++) sum->H[n] += r.lanes[n][l];
  }
  return true;
}
