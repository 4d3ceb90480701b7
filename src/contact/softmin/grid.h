// grid.h: a box's points as six grids, over which sums of exponentials are products of sums along the axes.
//
// Based on: [math/softmin Pruning]. On the side x_j = +-h_j of a box the points are all pairs of places x_a, x_b along
// the other two axes, the same places on all sides; so with c_a = sum over the places of exp(-(y_a - x_a)^2/eps1)
//   sum over the side of exp(-|y - p|^2/eps1) = exp(-(y_j -+ h_j)^2/eps1) c_a c_b.
// With r = y_a - x, x the place nearest to y_a, and places m steps s beyond it (down: -r for r)
//   c_a exp(r^2/eps1) = 1 + sum of e^m D_m up and down,   e = exp((2 r - s) s/eps1) <= 1,   D_m = exp(-(m^2 - m) s^2/eps1).
#ifndef TG_CONTACT_SOFTMIN_GRID_H
#define TG_CONTACT_SOFTMIN_GRID_H

#include "base/layout.h"
#include "geom/cloud.h"

/// Along axis j count places from first on, a step apart, on the sides at -half and half of the others. decay: D_m,
/// m = 0 .. most; what follows is below exp(-40), or beyond the places.
typedef struct tgiSoftGrid { int count[3], most[3]; tgReal first[3], step[3], half[3], eps1, *decay[3]; } tgiSoftGrid;

/// Room for a cloud's; none where it is of no box.
void tgi_soft_grid_place(tgiSoftGrid *grid, const tgCloud *cloud, tgLayout *layout);
/// Its numbers at the sizes.
void tgi_soft_grid_set(tgiSoftGrid *grid, const tgCloud *cloud, const tgReal size[3], tgReal eps1);

#endif
