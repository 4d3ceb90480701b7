// grid.c: see grid.h.
#include "contact/softmin/grid.h"

#define NOTHING 40.0   // an exponential of minus this, of a hundred terms, is below rounding

void tgi_soft_grid_place(tgiSoftGrid *grid, const tgCloud *cloud, tgLayout *l) {
  for (int j = 0; j < 3; j++) {
    tgReal *decay = tgi_place(l, (size_t)cloud->grid[j], sizeof *decay);
    if (grid != NULL) grid->decay[j] = decay;
  }
}

void tgi_soft_grid_set(tgiSoftGrid *g, const tgCloud *cloud, const tgReal size[3], tgReal eps1) {
  g->eps1 = eps1;
  for (int j = 0; j < 3; j++) {
    int n = g->count[j] = cloud->grid[j];
    g->half[j] = size[j];
    g->first[j] = cloud->first[j] * g->half[j];
    g->step[j] = n > 1 ? -2 * g->first[j] / (n - 1) : 0;
    g->decay[j][0] = 1;
    g->most[j] = 0;
    for (int m = 1; m < n; m++) {
      tgReal x = (double)m * (m - 1) * g->step[j] * g->step[j] / eps1;
      if (!(tgRe(x) < NOTHING)) break;
      g->decay[j][m] = tgExp(-x);
      g->most[j] = m;
    }
  }
}
