// tree_link.h: what the plain recursion of tree_force.c is made of: pairs of nodes, the distances that their clusters
// know, and the rates of these.
#ifndef TG_CONTACT_BARRIER_TREE_TREE_LINK_H
#define TG_CONTACT_BARRIER_TREE_TREE_LINK_H

#include "contact/barrier/friction/friction.h"
#include "contact/barrier/tree/tree_force.h"

/// Two nodes, a node and a triangle, or a node and a plane, as far as a cluster's value knows them: distance D along n
/// between the points a and b; its gradient is nu (a x n; n). Value w (base + h(D^2 + m)); blended from D = d1 on.
typedef struct tgiLink { tgReal D, n[3], a[3], b[3], nu, w, m, d1; } tgiLink;

/// value of what lies under a pair of nodes, with its rates
typedef struct tgiForceValue { tgReal P, d[TGI_MOST_DIRECTIONS]; } tgiForceValue;

typedef struct tgiForceRun {
  const tgiForceTask *t;
  int nd, ntwist;           // directions; of these the first are the unit twists of A and nothing else: 6 or 0
  tgReal shift[3];          // of B's origin from A's; positions here are relative to A's
  tgiForceSum *sum;
  tgiFrictionShare share[1 + TGI_MOST_DIRECTIONS];   // of what is nearby, and its rates
  tgReal factor[1 + TGI_MOST_DIRECTIONS];            // of friction, once all forces are known
  bool planes;              // a second time, for the planes alone
} tgiForceRun;

/// before: below a node that met a triangle as a point; it no longer asks its spheres (tree_pair.c)
typedef struct tgiForceItem { int a, b; bool before; } tgiForceItem;

static inline const tgReal *tgi_force_node_a(const tgiForceRun *r, tgiForceItem at) { return r->t->A->node + (size_t)at.a * TGI_NODE_SIZE; }
static inline const tgReal *tgi_force_node_b(const tgiForceRun *r, tgiForceItem at) { return r->t->B->node + (size_t)at.b * TGI_NODE_SIZE; }
static inline bool tgi_force_leaf_a(const tgiForceRun *r, tgiForceItem at) { return r->t->A->tree->tri[at.a] >= 0; }
static inline bool tgi_force_leaf_b(const tgiForceRun *r, tgiForceItem at) { return r->t->B->tree->tri[at.b] >= 0; }

/// Numbers of node k of a side [NULL: they stay] and one of them, along direction j.
const tgReal *tgi_force_node_rate(const tgiForceRun *r, int j, int side, int k);
static inline tgReal tgi_force_number_rate(const tgReal *node, int which) { return node != NULL ? node[which] : 0; }
/// Vertices of a leaf's triangle, relative to A's origin, and their rates along direction j.
void tgi_force_vertices(const tgiForceRun *r, int side, int leaf, tgReal x[9]);
void tgi_force_vertices_rate(const tgiForceRun *r, int j, int side, int leaf, const tgReal x[9], tgReal dx[9]);
/// Rates of the semi-axes of an ellipsoid, else 0.
void tgi_force_axes_rate(const tgiForceRun *r, int j, int side, tgReal daxes[9]);
/// Rates of the radii around the cores, or the faces.
static inline tgReal tgi_force_round_rate(const tgiForceRun *r, int j, int side) { return r->t->dir[j].round[side]; }
/// Foot of a on the plane, which it is z above; also of rates.
void tgi_force_foot(const tgiForceRun *r, const tgReal a[3], tgReal z, tgReal b[3]);

/// What lies below counts, not the cluster: links have no rates then.
static inline bool tgi_link_is_near(const tgiForceRun *r, const tgiLink *l) {
  return r->t->law.brute || r->t->law.local > 0 || tgRe(l->D) <= tgRe(l->d1);
}
/// Links of two nodes, of a node (of `side`) as a point before a triangle, of a node above the plane. The second: false
/// where no plane is between them.
void tgi_cluster_link(const tgiForceRun *r, tgiForceItem at, tgiLink *l, tgiLink *dl);
bool tgi_point_link(const tgiForceRun *r, tgiForceItem at, int side, tgiLink *l, tgiLink *dl);
void tgi_height_link(const tgiForceRun *r, tgiForceItem at, tgiLink *l, tgiLink *dl);
/// Value and slope in D of a link's cluster, with rates.
void tgi_link_value(const tgiForceRun *r, const tgiLink *l, const tgiLink *dl, tgiForceValue *C, tgReal *slope, tgReal *dslope);

#endif
