// tree_pair.c: the recursion over two sphere trees. See tree_pair.h.
//
// Going down, pairs of nodes become clusters (far), pairs of triangles (leaf) or blends. A blend is a pair of nodes
// between d1 and d2; what lies under it, and not under a deeper one, adds its value and gradient to it. The share that
// reaches the total is known going down,
//   inner(blend) = inner(owner) (1 - Phi),                                                                                 (42)
// so second derivatives of clusters and triangles go to the total at once; only Phi' needs the gradient of the sum below it:
//   P = (1 - Phi) A + Phi C,   H = (1 - Phi) H_A + c2 y y' + c1 G - Phi' (y g_A' + g_A y'),                                (43)
//   c1 = Phi C' + (C - A) Phi',  c2 = Phi C'' + (C - A) Phi'' + 2 Phi' C',
//     y, G derivatives of the coordinate that C and Phi are functions of.
#include <string.h>

#include "contact/barrier/tree/tree_run.h"

void tgi_run_vertices(const tgiTreeRun *r, int side, int leaf, tgReal *x, int stride) {
  const tgiWorldTree *p = side == 0 ? r->A : r->B;
  const int *face = p->surface->face + 3 * (size_t)p->tree->tri[leaf];
  for (int k = 0; k < 3; k++)
    for (int i = 0; i < 3; i++) x[(3 * k + i) * stride] = p->vert[3 * (size_t)face[k] + (size_t)i] + (side == 0 ? 0 : r->frame.shift[i]);
}

int tgi_small_side(const tgiWorldTree *A, const tgiWorldTree *B, const tgiTreeLaw *law, int a, int b) {
  bool leaf_a = A->tree->tri[a] >= 0, leaf_b = B->tree->tri[b] >= 0;
  if (law->one_sided[0] && leaf_b && !leaf_a && A->nominal[a] <= 0.5 * B->nominal[b]) return 0;
  if (law->one_sided[1] && leaf_a && !leaf_b && B->nominal[b] <= 0.5 * A->nominal[a]) return 1;
  return -1;
}

// a node, as a point three times, and the triangle of the other side
void tgi_run_point_corners(const tgiTreeRun *r, tgiTreeItem at, tgReal *x, int stride) {
  int side = tgi_run_small_side(r, at), from = 9 * side;
  const tgReal *node = side == 0 ? tgi_run_node_a(r, at.a) : tgi_run_node_b(r, at.b);
  for (int i = 0; i < 9; i++) x[(from + i) * stride] = node[i % 3] + (side == 0 ? 0 : r->frame.shift[i % 3]);
  tgi_run_vertices(r, 1 - side, side == 0 ? at.b : at.a, x + (9 - from) * stride, stride);
}

tgiPairCores tgi_run_point_cores(const tgiTreeRun *r, tgiTreeItem at) {
  tgiPairCores c = r->cores;
  int side = tgi_run_small_side(r, at);
  c.radius[side] = 0;
  c.segment[side] = c.oval[side] = false;
  return c;
}

static void put_cores(tgiPairBlock *b, int l, const tgiPairCores *c) {
  for (int side = 0; side < 2; side++) {
    b->radius[side][l] = c->radius[side];
    b->segment[side][l] = c->segment[side];
    for (int i = 0; i < 9 && b->oval; i++) b->axes[side][i][l] = c->oval[side] ? c->axes[side][i] : 0;
  }
}

void tgi_run_point_law(const tgiTreeRun *r, tgiTreeItem at, tgReal S, tgReal f[3]) {
  tgReal m = TGI_ONE_SIDED * TGI_ONE_SIDED * (r->A->tree->tri[at.a] < 0 ? tgi_run_node_a(r, at.a)[TGI_NODE_M]
                                              : tgi_run_node_b(r, at.b)[TGI_NODE_M]);
  tgi_law_point(tgi_run_weights(r, at), r->law->base, r->law->more, S, m, f);
}

// where second derivatives go; a reverse pass asks for first ones only
static tgiTreeSum *second(const tgiTreeRun *r) { return r->w->reverse == NULL ? r->w->sum : NULL; }

static void add_value(tgiTreeRun *r, int owner, const tgReal acc[TGI_ACC]) {
  tgReal *to = r->w->acc + (size_t)owner * TGI_ACC;
  for (int i = 0; i < TGI_ACC; i++) to[i] += acc[i];
}

// value f[0] and derivatives of f(c), c with gradient v and second derivatives G
static void add_term(tgiTreeRun *r, int owner, const tgReal f[3], const tgReal v[6], const tgReal G[21]) {
  tgReal acc[TGI_ACC] = {f[0]}, inner = r->w->inner[owner];
  for (int i = 0, n = 0; i < 6; i++) {
    acc[1 + i] = f[1] * v[i];
    for (int j = 0; j <= i; j++, n++) r->w->sum->H[n][0] += inner * (f[2] * v[i] * v[j] + f[1] * G[n]);
  }
  add_value(r, owner, acc);
}

static void fill(const tgiTreeRun *r, int l, tgiTreeItem at) {
  tgiTreeBlock *b = r->w->block;
  b->a[l] = at.a;
  b->b[l] = at.b;
  b->inner[l] = r->w->inner[at.owner];
  b->to[l] = r->w->acc + (size_t)at.owner * TGI_ACC;
}

static void flush_far(tgiTreeRun *r) {
  tgiTreeWork *w = r->w;
  tgiTreeBlock *b = w->block;
  for (int k = 0; k < w->nfar; k += TGI_TREE_LANES) {
    const tgiTreeItem *at = w->far + k;
    b->count = w->nfar - k < TGI_TREE_LANES ? w->nfar - k : TGI_TREE_LANES;
    for (int l = 0; l < b->count; l++) fill(r, l, at[l]);
    tgi_tree_far(&r->frame, b, second(r), tgi_scatter_block(r));
    if (w->reverse != NULL) tgi_reverse_far(r, at, b->count);
  }
  r->count.clusters += w->nfar;
  w->nfar = 0;
}

static void note_hard(tgiTreeRun *r, tgiTreeItem at, int l, tgReal weight) {
  const tgiPairBlock *p = r->w->pairs;
  const tgReal share = r->w->block->inner[l];
  const double growth = tgi_hard_growth(r->w->hard, share, weight, p->S[l]);
  if (!tgi_hard_wanted(r->w->hard, growth)) return;
  tgi_hard_note(r->w->hard, &(tgiHardLeaf){.a = at.a, .b = at.b, .gap = (float)(12 / tgRe(p->S[l])), .growth = growth, .share = share,
                                           .u = {p->u[0][l], p->u[1][l], p->u[2][l]}, .delta = p->delta[l]});
}

// count pairs of leaves from `at` on, with the planes that they start from (NULL: none); false: one of them touches
static bool solve_leaves(tgiTreeRun *r, const tgiTreeItem *at, int count, const tgiHardLeaf *from) {
  tgiTreeBlock *b = r->w->block;
  tgiPairBlock *p = r->w->pairs;
  tgReal weight[TGI_TREE_LANES] = {0};
  p->oval = tgi_pair_oval(&r->cores);
  for (int l = 0; l < count; l++) {
    put_cores(p, l, &r->cores);
    tgi_run_vertices(r, 0, at[l].a, &p->x[0][l], TGI_TREE_LANES);
    tgi_run_vertices(r, 1, at[l].b, &p->x[9][l], TGI_TREE_LANES);
    fill(r, l, at[l]);
    weight[l] = tgi_run_weights(r, at[l]);
    for (int i = 0; i < 3 && from != NULL; i++) p->u[i][l] = from[l].u[i];
    if (from != NULL) p->delta[l] = from[l].delta;
  }
  b->count = count;
  tgi_run_solve(r->w, count, from != NULL);
  for (int l = 0; l < count; l++) {
    r->count.iterations += p->steps[l];
    if ((p->separated >> l & 1) != 0) continue;
    r->intersecting[0] = r->A->tree->tri[at[l].a];
    r->intersecting[1] = r->B->tree->tri[at[l].b];
    return false;
  }
  tgi_tree_leaves(&r->frame, p, weight, b, second(r), tgi_scatter_block(r));
  for (int l = 0; l < count && r->w->hard != NULL; l++) note_hard(r, at[l], l, weight[l]);
  for (int l = 0; l < count && r->w->reverse != NULL; l++) {
    tgReal f[3];
    tgi_law_pair(weight[l], r->law->base, r->law->more, p->S[l], f);
    tgi_reverse_column(r, at[l], l, f);
  }
  if (r->w->reverse != NULL) tgi_reverse_columns(r);
  return true;
}

static bool flush_leaf(tgiTreeRun *r) {
  int n = r->w->nleaf;
  for (int k = 0; k < n; k += TGI_TREE_LANES)
    if (!solve_leaves(r, r->w->leaf + k, n - k < TGI_TREE_LANES ? n - k : TGI_TREE_LANES, NULL)) return false;
  r->count.leaves += n;
  r->w->nleaf = 0;
  return true;
}

static bool push_leaf(tgiTreeRun *r, tgiTreeItem at) {
  if (r->w->nleaf == TGI_LEAF_ROOM && !flush_leaf(r)) return false;
  r->w->leaf[r->w->nleaf++] = at;
  return true;
}

// ---- blends ----

static int open_blend(tgiTreeRun *r, tgiTreeItem at, int point, tgReal phi0, tgReal phi1, tgReal phi2) {
  tgiTreeWork *w = r->w;
  int k = w->nblend++;
  w->blend[k] = (tgiTreeBlend){.at = at, .level = w->blend[at.owner].level + 1, .point = point, .phi = {phi0, phi1, phi2}};
  w->inner[k] = w->inner[at.owner] * (1 - phi0);
  memset(w->acc + (size_t)k * TGI_ACC, 0, TGI_ACC * sizeof *w->acc);
  r->count.blends++;
  return k;
}

// (43) with S* as the coordinate
static void close_point(tgiTreeRun *r, int k) {
  const tgiTreeBlend *b = &r->w->blend[k];
  const tgiPair *p = &r->w->point[b->point];
  const tgReal *below = r->w->acc + (size_t)k * TGI_ACC, *phi = b->phi, *v = p->g;
  tgReal C[3], up[TGI_ACC] = {0}, outer = r->w->inner[b->at.owner];
  tgi_run_point_law(r, b->at, p->S, C);
  tgReal less = C[0] - below[0], c1 = phi[0] * C[1] + less * phi[1], c2 = phi[0] * C[2] + less * phi[2] + 2 * phi[1] * C[1];
  up[0] = below[0] + phi[0] * less;
  for (int i = 0, n = 0; i < 6; i++) {
    up[1 + i] = (1 - phi[0]) * below[1 + i] + c1 * v[i];
    for (int j = 0; j <= i; j++, n++)
      r->w->sum->H[n][0] += outer * (c2 * v[i] * v[j] + c1 * p->H[n] - phi[1] * (v[i] * below[1 + j] + below[1 + i] * v[j]));
  }
  add_value(r, b->at.owner, up);
  if (r->w->reverse != NULL) tgi_reverse_close_point(r, k);
  if (r->w->scatter == NULL) return;
  tgReal x[18], g[3];
  tgi_run_point_corners(r, b->at, x, 1);
  tgi_v3_scale(g, v + 3, c1);
  tgi_scatter_triangles(r, b->at, x, p, g, outer);
}

static void close_clusters(tgiTreeRun *r, const int *which, int count) {
  tgiTreeWork *w = r->w;
  tgiTreeBlock *b = w->block;
  b->count = count;
  for (int l = 0; l < count; l++) {
    const tgiTreeBlend *k = &w->blend[which[l]];
    fill(r, l, k->at);
    for (int i = 0; i < 3; i++) b->phi[i][l] = k->phi[i];
    b->below[l] = w->acc + (size_t)which[l] * TGI_ACC;
  }
  tgi_tree_close(&r->frame, b, second(r), tgi_scatter_block(r));
  if (w->reverse != NULL) tgi_reverse_close(r, which, count);
}

// blends of one level do not depend on each other
static void close_level(tgiTreeRun *r, const int *which, int count) {
  int batch[TGI_TREE_LANES], n = 0;
  for (int i = 0; i < count; i++) {
    if (r->w->blend[which[i]].point >= 0) {
      close_point(r, which[i]);
      continue;
    }
    batch[n++] = which[i];
    if (n < TGI_TREE_LANES) continue;
    close_clusters(r, batch, n);
    n = 0;
  }
  if (n > 0) close_clusters(r, batch, n);
}

// all blends that are not marked in renamed, the deepest first
static void close_blends(tgiTreeRun *r) {
  tgiTreeWork *w = r->w;
  memset(w->level, 0, ((size_t)w->levels + 1) * sizeof *w->level);
  for (int k = 1; k < w->nblend; k++)
    if (w->renamed[k] == 0) w->level[w->blend[k].level + 1]++;
  for (int i = 0; i < w->levels; i++) w->level[i + 1] += w->level[i];
  for (int k = 1; k < w->nblend; k++)
    if (w->renamed[k] == 0) w->order[w->level[w->blend[k].level]++] = k;
  for (int i = w->levels - 1; i > 0; i--) close_level(r, w->order + w->level[i - 1], w->level[i] - w->level[i - 1]);
}

static void mark_open(tgiTreeWork *w, const tgiTreeItem *item, int n) {
  for (int i = 0; i < n; i++)
    for (int k = item[i].owner; w->renamed[k] == 0; k = w->blend[k].at.owner) w->renamed[k] = 1;
}

// makes room: closes every blend but those that the stack still needs, which are few
static bool retire(tgiTreeRun *r) {
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
    tgiTreeBlend b = w->blend[k];
    b.at.owner = w->renamed[b.at.owner];
    if (b.point >= 0) {
      w->point[points] = w->point[b.point];
      b.point = points++;
    }
    w->blend[kept] = b;
    w->inner[kept] = w->inner[k];
    w->value_bar[kept] = w->value_bar[k];
    w->share_bar[kept] = w->share_bar[k];
    memmove(w->acc + (size_t)kept * TGI_ACC, w->acc + (size_t)k * TGI_ACC, TGI_ACC * sizeof *w->acc);
    w->renamed[k] = kept++;
  }
  for (int i = 0; i < w->nstack; i++) w->stack[i].owner = w->renamed[w->stack[i].owner];
  for (int i = 0; i < w->nask; i++) w->ask[i].owner = w->renamed[w->ask[i].owner];
  w->nblend = kept;
  w->npoint = points;
  return true;
}

// ---- going down ----

static void push_children(tgiTreeRun *r, tgiTreeItem at, bool before) {
  const int *ca = r->A->tree->child + 2 * (size_t)at.a, *cb = r->B->tree->child + 2 * (size_t)at.b;
  int na = ca[0] >= 0 ? 2 : 1, nb = cb[0] >= 0 ? 2 : 1, a[2] = {na == 2 ? ca[0] : at.a, ca[1]}, b[2] = {nb == 2 ? cb[0] : at.b, cb[1]};
  tgiTreeItem *to = r->w->stack + r->w->nstack;
  for (int i = 0; i < na; i++)
    for (int j = 0; j < nb; j++) *to++ = (tgiTreeItem){a[i], b[j], at.owner, before};
  r->w->nstack += na * nb;
}

static bool go_down(tgiTreeRun *r, tgiTreeItem at) {
  bool leaf_a = r->A->tree->tri[at.a] >= 0, leaf_b = r->B->tree->tri[at.b] >= 0;
  if (leaf_a && leaf_b) return push_leaf(r, at);
  if ((leaf_a || leaf_b) && tgi_run_small_side(r, at) >= 0) r->w->ask[r->w->nask++] = at;
  else push_children(r, at, false);
  return true;
}

// A node before a larger triangle of the other side: as a point while 12/S* is above d2, blended down to d1 = TGI_ONE_SIDED R. (46)
static void one_sided(tgiTreeRun *r, tgiTreeItem at, const tgReal radius, const tgiPair *p, int column) {
  tgiTreeWork *w = r->w;
  tgReal f[3], d1 = TGI_ONE_SIDED * radius, width = r->law->eps * d1, D = 12 / p->S;
  if (tgRe(D) >= tgRe(d1 + width)) {
    r->D = fmin(r->D, tgRe(D));
    tgi_run_point_law(r, at, p->S, f);
    add_term(r, at.owner, f, p->g, p->H);
    if (w->scatter != NULL) tgi_scatter_column(r, at, column, p->g + 3, w->inner[at.owner] * f[1]);
    if (w->reverse != NULL) tgi_reverse_column(r, at, column, f);
    return;
  }
  if (tgRe(D) > tgRe(d1)) {
    tgReal s1 = -D / (p->S * width);   // of (D - d1)/width in S
    tgi_law_blend((D - d1) / width, f);
    w->point[w->npoint] = *p;
    at.owner = open_blend(r, at, w->npoint++, f[0], f[1] * s1, f[2] * s1 * s1 - 2 * f[1] * s1 / p->S);
    if (w->reverse != NULL) tgi_reverse_open_point(r, at.owner);
  }
  push_children(r, at, true);
}

// the last of what was asked: pairs of a node, as a point three times, and a triangle
static void answer(tgiTreeRun *r) {
  tgiTreeWork *w = r->w;
  tgiPairBlock *b = w->pairs;
  int n = w->nask < TGI_TREE_LANES ? w->nask : TGI_TREE_LANES;
  const tgiTreeItem *at = w->ask + w->nask - n;
  tgReal radius[TGI_TREE_LANES];
  b->oval = r->A->surface->oval || r->B->surface->oval;
  for (int l = 0; l < n; l++) {
    const tgiPairCores cores = tgi_run_point_cores(r, at[l]);
    put_cores(b, l, &cores);
    tgi_run_point_corners(r, at[l], &b->x[0][l], TGI_TREE_LANES);
    radius[l] = (tgi_run_small_side(r, at[l]) == 0 ? tgi_run_node_a(r, at[l].a) : tgi_run_node_b(r, at[l].b))[TGI_NODE_R];
  }
  tgi_run_solve(w, n, false);
  w->nask -= n;
  r->count.points += n;
  for (int l = 0; l < n; l++) {
    tgiPair p = {.S = b->S[l], .u = {b->u[0][l], b->u[1][l], b->u[2][l]}, .delta = b->delta[l]};
    if ((b->separated >> l & 1) == 0) {
      push_children(r, at[l], true);
      continue;
    }
    for (int i = 0; i < 6; i++) p.g[i] = b->g[i][l];
    for (int i = 0; i < 21; i++) p.H[i] = b->H[i][l];
    one_sided(r, at[l], radius[l], &p, l);
  }
  if (w->reverse != NULL) tgi_reverse_columns(r);
}

// takes up to TGI_LOOK_LANES pairs from the stack
static bool visit(tgiTreeRun *r) {
  tgiTreeWork *w = r->w;
  tgiTreeLook *b = w->look;
  tgiTreeItem at[TGI_LOOK_LANES], under[TGI_LOOK_LANES];
  int nunder = 0, count = 0, nstack = w->nstack;
  while (nstack > 0 && count + nunder < TGI_LOOK_LANES) {
    const tgiTreeItem k = w->stack[--nstack];
    if (k.before) {
      under[nunder++] = k;
      continue;
    }
    b->a[count] = k.a;
    b->b[count] = k.b;
    at[count++] = k;
  }
  w->nstack = nstack;
  b->count = count;
  r->count.visits += b->count + nunder;
  for (int l = 0; l < nunder; l++)
    if (!go_down(r, under[l])) return false;
  if (b->count == 0) return true;
  tgi_tree_visit(&r->frame, b);
  if (w->nfar + TGI_LOOK_LANES > TGI_FAR_ROOM) flush_far(r);
  const unsigned beyond = b->far, between = b->between;
  int first = w->nblend, inside = 0;
  tgiTreeItem *far = w->far + w->nfar;
  for (int l = 0; l < count; l++) {
    if ((beyond >> l & 1) != 0) {
      *far++ = at[l];
      continue;
    }
    if ((between >> l & 1) != 0) at[l].owner = open_blend(r, at[l], -1, b->phi[0][l], b->phi[1][l], b->phi[2][l]);
    at[inside++] = at[l];
  }
  w->nfar = (int)(far - w->far);
  if (w->reverse != NULL) tgi_reverse_open(r, first, w->nblend - first);
  for (int l = 0; l < inside; l++)
    if (!go_down(r, at[l])) return false;
  return true;
}

static bool descend(tgiTreeRun *r) {
  tgiTreeWork *w = r->w;
  w->stack[w->nstack++] = (tgiTreeItem){0, 0, 0, false};
  while (w->nstack + w->nask > 0) {
    if ((w->nblend + TGI_TREE_LANES + TGI_LOOK_LANES > w->blend_room || w->npoint + TGI_TREE_LANES > w->point_room) && !retire(r))
      return false;
    if (w->nask >= TGI_TREE_LANES || w->nstack == 0) answer(r);
    else if (!visit(r)) return false;
  }
  return retire(r);
}


static bool every_pair(tgiTreeRun *r) {
  const tgiTree *a = r->A->tree, *b = r->B->tree;
  for (int i = 0; i < a->nnode; i++)
    for (int j = 0; a->tri[i] >= 0 && j < b->nnode; j++)
      if (b->tri[j] >= 0 && !push_leaf(r, (tgiTreeItem){i, j, 0, false})) return false;
  return flush_leaf(r);
}

static void reset(tgiTreeRun *r) {
  tgiTreeWork *w = r->w;
  for (int l = 0; l < TGI_TREE_LANES; l++) w->block->square[l] = w->block->slab[l] = INFINITY;
  if (w->scatter != NULL) tgi_scatter_begin(r);
  w->nstack = w->nfar = w->nleaf = w->nask = w->npoint = 0;
  w->nblend = 1;
  w->inner[0] = 1;
  w->weighed = 0;
  w->value_bar[0] = w->share_bar[0] = 0;
  w->blend[0] = (tgiTreeBlend){.point = -1};
  memset(w->acc, 0, TGI_ACC * sizeof *w->acc);
  memset(w->sum, 0, sizeof *w->sum);
}

static void total(const tgiTreeWork *w, tgiPairSum *sum) {
  sum->P = w->acc[0];
  memcpy(sum->g, w->acc + 1, sizeof sum->g);
  for (int n = 0; n < 21; n++) {
    sum->H[n] = 0;
    for (int l = 0; l < TGI_TREE_LANES; l++) sum->H[n] += w->sum->H[n][l];
  }
}

// moments count; those of a side that may be one-sided more
static tgiTreeFrame frame_of(const tgiWorldTree *A, const tgiWorldTree *B, const tgiTreeLaw *law) {
  double k = TGI_ONE_SIDED * TGI_ONE_SIDED;
  tgiTreeFrame f = {.a = A->node, .b = B->node, .eps = law->eps, .base = law->base, .more = law->more,
                    .moment = {law->one_sided[0] ? k : 1, law->one_sided[1] ? k : 1}};
  tgi_v3_sub(f.shift, B->origin, A->origin);
  return f;
}

static double least(const tgReal x[TGI_TREE_LANES]) {
  double least = INFINITY;
  for (int l = 0; l < TGI_TREE_LANES; l++) least = fmin(least, tgRe(x[l]));
  return least;
}

// beyond d2 = (1 + eps) d1 two surfaces are eps d1 apart at least
static tgiClearance clearance(const tgiTreeRun *r) {
  const tgiTreeBlock *b = r->w->block;
  double share = r->law->eps / (1 + r->law->eps), far = share * fmin(sqrt(least(b->square)), r->D / TGI_ONE_SIDED), slab = least(b->slab);
  return (tgiClearance){.all = fmin(far, slab), .solved = slab};
}

bool tgi_tree_pair(const tgiWorldTree *A, const tgiWorldTree *B, const tgiTreeLaw *law, tgiTreeWork *w, tgiPairSum *sum,
                   int intersecting[2], tgiClearance *clear, tgiTreeCount *count) {
  tgiTreeRun r = {.A = A, .B = B, .law = law, .w = w, .frame = frame_of(A, B, law), .cores = tgi_pair_cores(A, B),
                  .D = INFINITY};
  reset(&r);
  if (w->reverse != NULL) tgi_reverse_begin(&r);
  bool separated = law->brute ? every_pair(&r) : descend(&r);
  if (w->reverse != NULL) tgi_reverse_end(&r);
  if (w->scatter != NULL) tgi_scatter_end(&r);
  if (count != NULL) *count = r.count;
  if (clear != NULL) *clear = clearance(&r);
  intersecting[0] = r.intersecting[0];
  intersecting[1] = r.intersecting[1];
  if (separated) total(w, sum);
  return separated;
}

bool tgi_tree_hard(const tgiWorldTree *A, const tgiWorldTree *B, const tgiTreeLaw *law, tgiTreeWork *w, const tgiHardLeaves *hard,
                   tgiPairSum *sum) {
  tgiTreeRun r = {.A = A, .B = B, .law = law, .w = w, .frame = frame_of(A, B, law), .cores = tgi_pair_cores(A, B)};
  reset(&r);
  for (int k = 0; k < hard->n; k += TGI_TREE_LANES) {
    tgiTreeItem at[TGI_TREE_LANES];
    int n = hard->n - k < TGI_TREE_LANES ? hard->n - k : TGI_TREE_LANES;
    memset(w->acc + TGI_ACC, 0, (size_t)n * TGI_ACC * sizeof *w->acc);
    for (int l = 0; l < n; l++) {   // each in a blend of its own, which has its share
      at[l] = (tgiTreeItem){hard->at[k + l].a, hard->at[k + l].b, 1 + l, false};
      w->inner[1 + l] = hard->at[k + l].share;
    }
    if (!solve_leaves(&r, at, n, hard->at + k)) return false;
    for (int l = 0; l < n; l++)
      for (int i = 0; i < TGI_ACC; i++) w->acc[i] += w->inner[1 + l] * w->acc[(1 + l) * TGI_ACC + i];
  }
  total(w, sum);
  return true;
}

// ---- outside the recursion ----

tgiPairCores tgi_pair_cores(const tgiWorldTree *A, const tgiWorldTree *B) {
  tgiPairCores c = {.radius = {A->round, B->round}, .segment = {A->surface->segment, B->surface->segment}};
  for (int side = 0; side < 2; side++) {
    const tgiWorldTree *p = side == 0 ? A : B;
    if ((c.oval[side] = p->surface->oval)) tgi_world_axes(p->vert, c.axes[side]);
  }
  return c;
}

void tgi_sum_add(tgReal H[21], tgReal c2, const tgReal v[6], tgReal c1, const tgReal G[21]) {
  for (int i = 0, k = 0; i < 6; i++)
    for (int j = 0; j <= i; j++, k++) H[k] += c2 * v[i] * v[j] + c1 * G[k];
}
