// world_tree.h: a surface and its tree of spheres transformed to world axes, as the sums over trees take them.
#ifndef TG_CONTACT_BARRIER_TREE_WORLD_TREE_H
#define TG_CONTACT_BARRIER_TREE_WORLD_TREE_H

#include "geom/sphere_tree.h"

/// What a node is at a pose, side by side: centre, radius, weight, moment.
enum { TGI_NODE_X = 0, TGI_NODE_R = 3, TGI_NODE_W = 4, TGI_NODE_M = 5, TGI_NODE_SIZE = 8 };

/// A surface and its tree at a pose; positions relative to the origin (the root's centre), world axes.
typedef struct tgiWorldTree {
  const tgiSurface *surface;
  const tgiTree *tree;
  tgReal origin[3];         ///< world
  tgReal *node;             ///< nnode x TGI_NODE_SIZE
  tgReal *vert;             ///< nvert x 3
  tgReal round;             ///< radius around a core, or around the faces
  const double *nominal;    ///< nnode: radii at the model's sizes, by which the one-sided nodes are chosen
  const unsigned char *owned;   ///< nface: vertices and edges that belong to a face (distance_sites.h); NULL: not asked for
} tgiWorldTree;

/// Reals of node and vert.
size_t tgi_world_tree_reals(const tgiSurface *surface, const tgiTree *tree);
/// Places node and vert in memory.
void tgi_world_tree_place(const tgiSurface *surface, const tgiTree *tree, tgReal *memory, tgiWorldTree *world);
/// What does not depend on the pose, then the rest: R (row-major) and x of the geom.
void tgi_world_tree_numbers(const tgiTreeNumbers *n, tgiWorldTree *world);
void tgi_world_tree_transform(const tgiTreeNumbers *n, const tgReal x[3], const tgReal R[9], tgiWorldTree *world);

/// Semi-axes of an ellipsoid, rows; and of rates of its vertices.
static inline void tgi_world_axes(const tgReal *vert, tgReal axes[9]) {
  for (int i = 0; i < 9; i++) axes[i] = vert[3 + i] - vert[i % 3];
}

/// Whether nodes of a are small enough to meet triangles of b one-sidedly.
bool tgi_one_sided(const tgiWorldTree *a, const tgiWorldTree *b);

#endif
