// rack.c: see rack.h.
#include "bench/rack.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tangere/desc.h"

static const double radius = TGB_RACK_RADIUS;

// faces of an octahedron cut into f x f, on the sphere; vertices of neighbouring faces are made one by the surface
static void geodesic(int f, double **vert, int *nvert, int **face, int *nface) {
  static const double corner[6][3] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}, {-1, 0, 0}, {0, -1, 0}, {0, 0, -1}};
  *vert = malloc((size_t)(8 * f * f * 9) * sizeof **vert);
  *face = malloc((size_t)(8 * f * f * 3) * sizeof **face);
  *nvert = 0;
  *nface = 0;
  for (int o = 0; o < 8; o++) {
    const double *a = corner[o & 1 ? 3 : 0], *b = corner[o & 2 ? 4 : 1], *c = corner[o & 4 ? 5 : 2];
    bool turned = ((o & 1) + (o >> 1 & 1) + (o >> 2)) % 2 == 1;
    for (int i = 0; i < f; i++)
      for (int j = 0; j < f - i; j++)
        for (int t = 0; t < (j < f - i - 1 ? 2 : 1); t++) {
          int at[3][2] = {{i + t, j + t}, {i + 1, j}, {i, j + 1}};
          if (t == 1) at[1][0] = i, at[1][1] = j + 1, at[2][0] = i + 1, at[2][1] = j;
          for (int k = 0; k < 3; k++) {
            double x[3], n = 0;   // whole numbers up to the root: the same bits where faces meet
            for (int d = 0; d < 3; d++) {
              x[d] = (f - at[k][0] - at[k][1]) * a[d] + at[k][0] * b[d] + at[k][1] * c[d];
              n += x[d] * x[d];
            }
            for (int d = 0; d < 3; d++) (*vert)[3 * *nvert + d] = radius * x[d] / sqrt(n);
            (*face)[3 * *nface + (turned && k > 0 ? 3 - k : k)] = (*nvert)++;
          }
          (*nface)++;
        }
  }
}

tgModel *tgb_rack(int f, int ground) {
  double *vert, s = 2.05 * radius;
  int nvert, *face, nface;
  tgError e = {0};
  tgDesc *d = tg_desc_create(NULL);
  geodesic(f, &vert, &nvert, &face, &nface);
  int mesh = tg_desc_add_mesh(d, "ball", vert, nvert, face, nface);
  d->mesh[mesh].inertia_kind = 1;
  for (int k = 0, row = 0, place = 0; k < TGB_RACK_BALLS; k++) {
    int b = tg_desc_add_body(d, 0, NULL);
    tg_desc_add_joint(d, b, TG_JOINT_FREE, NULL);
    int g = tg_desc_add_geom(d, b, TG_GEOM_MESH, NULL);
    d->geom[g].mesh = mesh;
    double *x = d->body[b].pos;
    x[0] = k == 15 ? -1 : row * s * sqrt(0.75);
    x[1] = k == 15 ? 0 : (place - row / 2.0) * s;
    x[2] = 1.05 * radius;
    if (place++ == row) row++, place = 0;
  }
  int g = tg_desc_add_geom(d, 0, ground ? TG_GEOM_BOX : TG_GEOM_PLANE, NULL);
  double size[3] = {3, 3, 0.1};
  memcpy(d->geom[g].size, size, sizeof size);
  if (ground) d->geom[g].pos[2] = -0.1;
  tgModel *m = tg_model_compile(d, NULL, &e);
  if (m == NULL) printf("%s\n", e.text);
  tg_desc_free(d);
  free(vert);
  free(face);
  return m;
}
