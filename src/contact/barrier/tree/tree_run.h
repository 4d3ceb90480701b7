// tree_run.h: what the recursion over two trees is made of, between its own files: tree_pair.c goes down and sums,
// tree_work.c has the memory, tree_scatter.c scatters forces, tree_reverse.c is their reverse pass. See tree_pair.h.
#ifndef TG_CONTACT_BARRIER_TREE_TREE_RUN_H
#define TG_CONTACT_BARRIER_TREE_TREE_RUN_H

#include "contact/barrier/pair/law.h"
#include "contact/barrier/tree/reverse_wide.h"
#include "contact/barrier/tree/tree_pair.h"
#include "math/vec3.h"

enum { TGI_FAR_ROOM = 512, TGI_LEAF_ROOM = 256, TGI_POINT_ROOM = 128, TGI_BLEND_ROOM = 2048,
       TGI_ASK_ROOM = TGI_TREE_LANES + TGI_LOOK_LANES, TGI_ACC = 8 };

/// A pair of nodes, and the blend that has it. before: under a one-sided node, where only the triangle's own distance
/// counts, or a sphere would undercut what the node promised
typedef struct tgiTreeItem { int a, b, owner, before; } tgiTreeItem;
typedef struct tgiTreeBlend { tgiTreeItem at; int level, point; tgReal phi[3]; } tgiTreeBlend;   ///< level: blends above; point: place of a
                                                                                                 ///< one-sided pair, -1: two spheres

struct tgiTreeWork {
  int stack_room, blend_room, point_room, nstack, nfar, nleaf, nask, npoint, nblend;
  tgiTreeItem *stack, *far, *leaf, *ask;   // ask: one-sided pairs to be looked at
  tgiTreeBlend *blend;              // 0: the total
  int *renamed, *order;      // blend_room
  int *level;                // levels + 1
  int levels;
  tgReal *inner;             // blend_room: share of the total, for what the blend owns
  tgReal *acc;               // blend_room x TGI_ACC: value and gradient of what it owns
  tgiPair *point;
  tgiPairBlock *pairs;
  tgiPairForces *force, *bar;       // with scatter or reverse, of the solved pairs; with reverse, what the columns `weighed` weigh them by
  unsigned weighed;
  const tgiForceScatter *scatter;   // NULL: none
  tgiTreeForces *forces;            // with scatter, where a block's go
  tgiHardLog *hard;                 // NULL: none
  tgiForceReverse *reverse;         // NULL: none; with it two more numbers of what a blend owns:
  tgReal *value_bar, *share_bar;    // blend_room: weight of its value, and of its share of the total
  tgiReverseBlock *terms;       // with reverse
  tgiTreeLook *look;
  tgiTreeBlock *block;
  tgiTreeSum *sum;
};

typedef struct tgiTreeRun {
  const tgiWorldTree *A, *B;
  const tgiTreeLaw *law;
  tgiTreeWork *w;
  tgiTreeFrame frame;
  tgiPairCores cores;
  double D;                  // of nodes before triangles the least 12/S*
  int intersecting[2];
  tgiTreeCount count;
} tgiTreeRun;

static inline const tgReal *tgi_run_node_a(const tgiTreeRun *r, int a) { return r->A->node + (size_t)a * TGI_NODE_SIZE; }
static inline const tgReal *tgi_run_node_b(const tgiTreeRun *r, int b) { return r->B->node + (size_t)b * TGI_NODE_SIZE; }
static inline tgReal tgi_run_weights(const tgiTreeRun *r, tgiTreeItem at) {
  return tgi_run_node_a(r, at.a)[TGI_NODE_W] * tgi_run_node_b(r, at.b)[TGI_NODE_W];
}
/// Three corners of a triangle, in steps of stride, from A's origin.
void tgi_run_vertices(const tgiTreeRun *r, int side, int leaf, tgReal *x, int stride);
/// The side, 0 or 1, whose node may meet the other's triangle as a point; -1: neither.
static inline int tgi_run_small_side(const tgiTreeRun *r, tgiTreeItem at) { return tgi_small_side(r->A, r->B, r->law, at.a, at.b); }
/// A node, as a point three times, and the triangle of the other side.
void tgi_run_point_corners(const tgiTreeRun *r, tgiTreeItem at, tgReal *x, int stride);
/// What these are the cores of.
tgiPairCores tgi_run_point_cores(const tgiTreeRun *r, tgiTreeItem at);
/// Value in S of a node before a triangle.
void tgi_run_point_law(const tgiTreeRun *r, tgiTreeItem at, tgReal S, tgReal f[3]);
/// Moment of a node that meets a triangle; of a leaf its triangle counts, or the solid around it, and no moment.
static inline tgReal tgi_run_point_moment(const tgiWorldTree *t, int k) {
  return t->tree->tri[k] >= 0 ? 0 : t->node[(size_t)k * TGI_NODE_SIZE + TGI_NODE_M];
}
/// Distance of the law of two triangles that are D apart (square: D^2), or of a node that is D before a triangle.
static inline tgReal tgi_run_point_distance(const tgiTreeRun *r, tgiTreeItem at, tgReal square) {
  return tgSqrt(square + r->frame.moment[0] * tgi_run_point_moment(r->A, at.a) + r->frame.moment[1] * tgi_run_point_moment(r->B, at.b));
}

/// Solves the first `count` columns of w->pairs, warm: from the planes there; their forces where these are wanted.
void tgi_run_solve(tgiTreeWork *w, int count, bool warm);

// ---- tree_scatter.c: with w->scatter ----

/// What the terms of a block scatter their forces to; NULL: they do not.
tgiTreeForces *tgi_scatter_block(tgiTreeRun *r);
/// Before the first block, and after the last.
void tgi_scatter_begin(tgiTreeRun *r);
void tgi_scatter_end(tgiTreeRun *r);
/// Of six vertices, A's first, with the plane of p; g: gradient (its linear part) of what `share` is the share of.
void tgi_scatter_triangles(tgiTreeRun *r, tgiTreeItem at, const tgReal x[18], const tgiPair *p, const tgReal g[3], tgReal share);
/// Of column l of the solved pairs.
void tgi_scatter_column(tgiTreeRun *r, tgiTreeItem at, int l, const tgReal g[3], tgReal share);

// ---- tree_reverse.c: with w->reverse ----

/// Of up to TGI_TREE_LANES clusters.
void tgi_reverse_far(tgiTreeRun *r, const tgiTreeItem *at, int count);
/// Of column l of the solved pairs, triangles or a one-sided pair, with the value f in S; then of the vertices of all these columns.
void tgi_reverse_column(tgiTreeRun *r, tgiTreeItem at, int l, const tgReal f[3]);
void tgi_reverse_columns(tgiTreeRun *r);
/// Of blends: as they are opened, `count` of clusters from k on, or k over a one-sided pair; and as they are closed,
/// when all below them is done, up to TGI_TREE_LANES of clusters, or one.
void tgi_reverse_open(tgiTreeRun *r, int k, int count);
void tgi_reverse_open_point(tgiTreeRun *r, int k);
void tgi_reverse_close(tgiTreeRun *r, const int *which, int count);
void tgi_reverse_close_point(tgiTreeRun *r, int k);
/// What the terms have added up goes to w->reverse->twist.
void tgi_reverse_begin(tgiTreeRun *r);
void tgi_reverse_end(tgiTreeRun *r);

#endif
