// grid.h: a closed box whose faces are grids, as a mesh of a description.
#ifndef TG_TEST_CONTACT_BARRIER_GRID_H
#define TG_TEST_CONTACT_BARRIER_GRID_H

#include <stdlib.h>

#include "tangere/desc.h"

/// Mesh of a box of half sides `half` with 12 n^2 triangles.
static inline int tgt_add_grid(tgDesc *d, const char *name, const double half[3], int n) {
  int per = (n + 1) * (n + 1), *face = malloc((size_t)(36 * n * n) * sizeof *face), *f = face;
  double *vert = malloc((size_t)(18 * per) * sizeof *vert);
  for (int side = 0; side < 6; side++)
    for (int i = 0; i <= n; i++)
      for (int j = 0; j <= n; j++) {
        int k = side / 2, at = side * per + i * (n + 1) + j, out = side % 2;
        vert[3 * at + k] = out ? half[k] : -half[k];
        vert[3 * at + (k + 1) % 3] = half[(k + 1) % 3] * (2.0 * i / n - 1);
        vert[3 * at + (k + 2) % 3] = half[(k + 2) % 3] * (2.0 * j / n - 1);
        if (i == n || j == n) continue;
        int q[6] = {at, at + n + 1, at + n + 2, at, at + n + 2, at + 1};
        for (int t = 0; t < 2; t++, f += 3) {
          f[0] = q[3 * t];
          f[1] = q[3 * t + (out ? 1 : 2)];
          f[2] = q[3 * t + (out ? 2 : 1)];
        }
      }
  int mesh = tg_desc_add_mesh(d, name, vert, 6 * per, face, 12 * n * n);
  free(vert);
  free(face);
  return mesh;
}

#endif
