// solids.c: see solids.h.
#include "geom/solids.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double pi = 3.14159265358979323846;

static tgtSolid room(int nvert, int nface) {
  return (tgtSolid){nvert, nface, calloc(3 * (size_t)nvert, sizeof(double)), calloc(3 * (size_t)nface, sizeof(int))};
}

void tgt_solid_free(tgtSolid *s) {
  free(s->vert);
  free(s->face);
}

static void put(tgtSolid *s, int a, int b, int c) {
  int *v = s->face + 3 * s->nface++;
  v[0] = a;
  v[1] = b;
  v[2] = c;
}

tgtSolid tgt_solid_cubes(int sx, int sy, int sz, const char *cells, double side) {
  const int size[3] = {sx, sy, sz};
  int nx = sx + 1, ny = sy + 1, nz = sz + 1;
  tgtSolid s = room(nx * ny * nz, 12 * sx * sy * sz);
  s.nface = 0;
  for (int k = 0; k < nx * ny * nz; k++) {
    const int at[3] = {k % nx, k / nx % ny, k / nx / ny};
    for (int i = 0; i < 3; i++) s.vert[3 * k + i] = side * at[i];
  }
  for (int c = 0; c < sx * sy * sz; c++)
    for (int way = 0; way < 6 && cells[c] != ' '; way++) {
      int at[3] = {c % sx, c / sx % sy, c / sx / sy}, axis = way / 2, high = way % 2, beyond[3], v[4];
      memcpy(beyond, at, sizeof at);
      beyond[axis] += high ? 1 : -1;
      if (beyond[axis] >= 0 && beyond[axis] < size[axis] && cells[beyond[0] + sx * (beyond[1] + sy * beyond[2])] != ' ') continue;
      for (int q = 0; q < 4; q++) {
        int corner[3];
        memcpy(corner, at, sizeof at);
        corner[axis] += high;
        corner[(axis + 1) % 3] += q == 1 || q == 2;
        corner[(axis + 2) % 3] += q >= 2;
        v[high ? q : 3 - q] = corner[0] + nx * (corner[1] + ny * corner[2]);
      }
      put(&s, v[0], v[1], v[2]);
      put(&s, v[0], v[2], v[3]);
    }
  return s;
}

tgtSolid tgt_solid_torus(double R, double r, int m, int n) {
  tgtSolid s = room(m * n, 2 * m * n);
  s.nface = 0;
  for (int i = 0; i < m; i++)
    for (int j = 0; j < n; j++) {
      double a = 2 * pi * i / m, b = 2 * pi * j / n, *x = s.vert + 3 * (i * n + j);
      x[0] = (R + r * cos(b)) * cos(a);
      x[1] = (R + r * cos(b)) * sin(a);
      x[2] = r * sin(b);
      int p = i * n + j, q = (i + 1) % m * n + j, u = i * n + (j + 1) % n, v = (i + 1) % m * n + (j + 1) % n;
      put(&s, p, q, v);
      put(&s, p, v, u);
    }
  return s;
}

// each face of the octahedron as a triangular grid with its own vertices; equal places are left to the reader of the mesh to weld
tgtSolid tgt_solid_ball(double radius, int n) {
  int grid = (n + 1) * (n + 2) / 2;
  tgtSolid s = room(8 * grid, 8 * n * n);
  s.nface = 0;
  for (int o = 0; o < 8; o++) {
    const double sign[3] = {o & 1 ? -1 : 1, o & 2 ? -1 : 1, o & 4 ? -1 : 1};
    int turn = sign[0] * sign[1] * sign[2] < 0, base = o * grid, at = base;
    for (int i = 0; i <= n; i++)
      for (int j = 0; j <= n - i; j++, at++) {
        double x[3] = {i, j, n - i - j}, length = sqrt(x[0] * x[0] + x[1] * x[1] + x[2] * x[2]);
        for (int c = 0; c < 3; c++) s.vert[3 * at + c] = x[c] == 0 ? 0 : sign[c] * radius * x[c] / length;
      }
    for (int i = 0; i < n; i++)
      for (int j = 0; j < n - i; j++) {
        int p = base + i * (n + 1) - i * (i - 1) / 2 + j, q = base + (i + 1) * (n + 1) - (i + 1) * i / 2 + j;
        put(&s, p, turn ? p + 1 : q, turn ? q : p + 1);
        if (j + 1 < n - i) put(&s, p + 1, turn ? q + 1 : q, turn ? q : q + 1);
      }
  }
  return s;
}

tgtSolid tgt_solid_prism(const double *polygon, int n, double height) {
  tgtSolid s = room(2 * n, 4 * n - 4);
  s.nface = 0;
  for (int k = 0; k < 2 * n; k++) {
    s.vert[3 * k] = polygon[2 * (k % n)];
    s.vert[3 * k + 1] = polygon[2 * (k % n) + 1];
    s.vert[3 * k + 2] = k < n ? 0 : height;
  }
  for (int k = 0; k < n; k++) {
    int l = (k + 1) % n;
    put(&s, k, l, n + l);
    put(&s, k, n + l, n + k);
    if (k >= 1 && k + 1 < n) {
      put(&s, 0, k + 1, k);
      put(&s, n, n + k, n + k + 1);
    }
  }
  return s;
}
