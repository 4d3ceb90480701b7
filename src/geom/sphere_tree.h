// sphere_tree.h: binary tree of bounding spheres over the triangles of a surface: fixed topology, numbers that follow the sizes.
//
// Based on: [barrier] Section 3 for the hierarchy and its layered spheres; [math/barrier Trees] for the moment form.
// What a pair of nodes I, J at distance D needs: centre, radius, weight w and second moment sigma^2.
//   paper:  centre = mean of the distinct vertices, R_I = max_c |x_I - x_c| + R_c, w = 1, sigma^2 = 0
//   moment: leaf: centroid, w = sqrt(A_i/A), sigma^2 = 0; node: with the children's weights and W = w_l + w_r
//             x_I = sum w_c x_c/W,  sigma_I^2 = sum w_c (sigma_c^2 + |x_c - x_I|^2)/W,  R_I = max over vertices |x_k - x_I|
//           w_I = W (TGI_CLIMB_SUM) or sqrt(A_I/A) (TGI_CLIMB_AREA)
// Faces with a radius around them have spheres that hold it; moments stay those of the faces.
// A core (tessellate.h) is one leaf of weight 1; its radius holds the one around the core, and its sigma^2 is that of the solid's surface.
// For convex decreasing h >= 0 and any w_I <= W: sum_c w_c h(D_c^2 + sigma_c^2) >= w_I h(D^2 + sigma_I^2), for every tree.
#ifndef TG_GEOM_SPHERE_TREE_H
#define TG_GEOM_SPHERE_TREE_H

#include "geom/tessellate.h"

typedef enum tgiTreeForm { TGI_TREE_MOMENT, TGI_TREE_PAPER } tgiTreeForm;
typedef enum tgiClimb { TGI_CLIMB_SUM, TGI_CLIMB_AREA } tgiClimb;   // docs/decisions/0009-barrier-weights.md: the sum
#define TGI_CLIMB_DEFAULT TGI_CLIMB_SUM

/// Topology. Children come after their parent and beside each other; node 0 is the root; a leaf holds one face. nnode = 2 nface - 1.
typedef struct tgiTree {
  int nnode, nface, depth;
  int *child;               ///< nnode x 2; -1, -1 at a leaf
  int *tri;                 ///< nnode: face of a leaf, else -1
  int *order;               ///< nface: faces in tree order
  int *first, *count;       ///< nnode: the faces under a node are order[first] to order[first + count - 1]
  int *vert_adr;            ///< nnode + 1: where the distinct vertices under a node start in vert
  int *vert;
  tgAllocator alloc;
} tgiTree;

/// Numbers for one choice of sizes, geom frame, structure of arrays. Memory is the caller's.
typedef struct tgiTreeNumbers {
  tgReal *vert;             ///< nvert x 3
  tgReal *centre;           ///< nnode x 3
  tgReal *radius, *weight;  ///< nnode each
  tgReal *moment;           ///< nnode: sigma^2
  tgReal *area;             ///< nnode: of the faces under the node; of a core 1
  tgReal *round;            ///< 1: radius around a core, or around every face of a surface that is rounded, else 0
} tgiTreeNumbers;

/// Tree over the faces of a surface at the sizes `size` (which choose the topology only). Depth <= 2 + 3 log2(nface).
/// Same input, same tree. TG_ERR_MEMORY.
tgStatus tgi_tree_make(const tgiSurface *surface, const double size[3], const tgAllocator *allocator, tgiTree *tree);
void tgi_tree_free(tgiTree *tree);

/// Number of reals that the numbers take, and the arrays placed in that many at `memory`.
size_t tgi_tree_reals(const tgiSurface *surface, const tgiTree *tree);
tgiTreeNumbers tgi_tree_place(const tgiSurface *surface, const tgiTree *tree, tgReal *memory);

/// Fills the numbers for the sizes `size`. climb is read by the moment form only.
void tgi_tree_numbers(const tgiSurface *surface, const tgiTree *tree, tgiTreeForm form, tgiClimb climb,
                      const tgReal size[3], tgiTreeNumbers *n);
/// The same with the surface `depth` deeper in its geom, along its `inwards` where depth is not 0, and, where it rounds, with the radius
/// `rounding` around its faces.
void tgi_tree_numbers_at(const tgiSurface *surface, const tgiTree *tree, tgiTreeForm form, tgiClimb climb,
                         const tgReal size[3], double depth, tgReal rounding, tgiTreeNumbers *n);
enum { TGI_SIZE_ROUNDING = 3 };
/// d = derivative of all numbers in size j, or (TGI_SIZE_ROUNDING) in the radius around the faces, n being those of tgi_tree_numbers or
/// tgi_tree_numbers_at. A radius has the
/// derivative of what makes it, its farthest vertex or (the paper's) child; of several the first, the same for every j.
void tgi_tree_numbers_d(const tgiSurface *surface, const tgiTree *tree, tgiTreeForm form, tgiClimb climb, const tgiTreeNumbers *n, int j,
                        tgiTreeNumbers *d);
/// Is d one-sided: has a node two vertices (the paper's: children) that make its radius, within 1e-9, with different derivatives?
bool tgi_tree_tie(const tgiTree *tree, tgiTreeForm form, const tgiTreeNumbers *n, const tgiTreeNumbers *d);

#endif
