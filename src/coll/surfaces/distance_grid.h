// distance_grid.h: the signed distance of a closed surface: a cubic B-spline through its values on a grid, twice differentiable.
//
// Based on: [math/damped Fields]. Values are exact distances at the nodes, negative inside; between them the spline rounds edges, and what
// the medial axis of the surface would tear, over about a cell.
#ifndef TG_COLL_SURFACES_DISTANCE_GRID_H
#define TG_COLL_SURFACES_DISTANCE_GRID_H

#include "geom/tessellate.h"

/// Cells by which a grid reaches past the box around its surface. The spline is good to two of them.
enum { TGI_GRID_MARGIN = 4, TGI_GRID_GOOD = 2 };

typedef struct tgiDistanceGrid {
  int n[3];                 ///< nodes along the axes
  double low[3], spacing;   ///< place of the first node, and between neighbours [m]
  double *coef;             ///< of the splines, n[0] x n[1] x n[2]
  double error;             ///< largest found, at vertices, amid edges and faces, and amid cells within one of the surface [m]
  double depth;             ///< of the deepest node [m]
  double steepest;          ///< no gradient is longer
  tgAllocator alloc;
} tgiDistanceGrid;

/// The grid of a surface at a size (tgiSurface), its longest side cut into `cells`. TG_ERR_INVALID with a sentence about "it" where the
/// surface is open, wound inside out or inconsistently, flat, or meets itself; TG_ERR_LIMIT: too many nodes; TG_ERR_MEMORY.
tgStatus tgi_distance_grid_make(const tgiSurface *surface, const double size[3], int cells, const tgAllocator *allocator,
                                tgiDistanceGrid *grid, tgError *error);
void tgi_distance_grid_free(tgiDistanceGrid *grid);
/// Memory of its coefficients.
size_t tgi_distance_grid_bytes(const tgiDistanceGrid *grid);
/// The box in which the spline is good.
void tgi_distance_grid_box(const tgiDistanceGrid *grid, double low[3], double high[3]);
/// The spline at x in that box; order 1: and its gradient d; 2: and its second derivatives dd, (0,0), (1,0), (1,1), (2,0) ..
void tgi_distance_grid_at(const tgiDistanceGrid *grid, const tgReal x[3], int order, tgReal *f, tgReal d[3], tgReal dd[6]);

/// Is it the border of a solid: closed, wound outwards, not meeting itself but where faces are neighbours? vert: nvert x 3, its vertices.
/// TG_ERR_INVALID with a sentence about "it"; TG_ERR_MEMORY.
tgStatus tgi_surface_check_solid(const tgiSurface *surface, const double *vert, const tgAllocator *allocator, tgError *error);

#endif
