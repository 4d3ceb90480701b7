// meshes.c: triangle meshes of any fineness for the experiments: balls and boxes, put in place of a mesh that a model file gives.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "repro/barrier.h"

// a mesh under construction; vertices that lie at the same place of a grid become one
typedef struct Grid { double *vert; int *key, *face, nvert, nface, room; } Grid;

static bool grid_make(Grid *g, int nface) {
  size_t room = (size_t)nface * 3;
  *g = (Grid){.vert = malloc(room * 3 * sizeof(double)), .key = malloc(room * 3 * sizeof(int)),
              .face = malloc(room * sizeof(int)), .room = (int)room};
  return g->vert != NULL && g->key != NULL && g->face != NULL;
}

static void grid_free(Grid *g) {
  free(g->vert);
  free(g->key);
  free(g->face);
}

static int grid_vertex(Grid *g, const int key[3], const double x[3]) {
  for (int i = 0; i < g->nvert; i++)
    if (memcmp(g->key + 3 * i, key, 3 * sizeof *key) == 0) return i;
  memcpy(g->key + 3 * g->nvert, key, 3 * sizeof *key);
  memcpy(g->vert + 3 * g->nvert, x, 3 * sizeof *x);
  return g->nvert++;
}

static void grid_face(Grid *g, int a, int b, int c) {
  int face[3] = {a, b, c};
  memcpy(g->face + 3 * g->nface++, face, sizeof face);
}

// a point of the octahedron |x| + |y| + |z| = f with whole coordinates, on the sphere; (1, 1, 1) is turned to -z so
// that the ball lies on a face
static int ball_vertex(Grid *g, const int k[3], double radius) {
  static const double turn[3][3] = {{0.70710678118654752, -0.70710678118654752, 0},
                                    {-0.40824829046386302, -0.40824829046386302, 0.81649658092772603},
                                    {-0.57735026918962576, -0.57735026918962576, -0.57735026918962576}};
  double x[3], n = radius / sqrt((double)(k[0] * k[0] + k[1] * k[1] + k[2] * k[2]));
  for (int i = 0; i < 3; i++) x[i] = n * (turn[i][0] * k[0] + turn[i][1] * k[1] + turn[i][2] * k[2]);
  return grid_vertex(g, k, x);
}

static void ball_face(Grid *g, const int s[3], int f, double radius, const int at[3][2]) {
  int v[3];
  for (int i = 0; i < 3; i++) {
    int k[3] = {s[0] * at[i][0], s[1] * at[i][1], s[2] * (f - at[i][0] - at[i][1])};
    v[i] = ball_vertex(g, k, radius);
  }
  if (s[0] * s[1] * s[2] > 0) grid_face(g, v[0], v[1], v[2]);
  else grid_face(g, v[0], v[2], v[1]);
}

static bool put(tgDesc *desc, int mesh, Grid *g) {
  tgMeshDesc *m = &desc->mesh[mesh];
  m->vert = tg_desc_bytes(desc, g->vert, (size_t)g->nvert * 3 * sizeof *g->vert);
  m->face = tg_desc_bytes(desc, g->face, (size_t)g->nface * 3 * sizeof *g->face);
  m->nvert = g->nvert;
  m->nface = g->nface;
  return m->vert != NULL && m->face != NULL;
}

bool tgi_mesh_ball(tgDesc *desc, int mesh, double radius, int f) {
  Grid g;
  bool good = grid_make(&g, 8 * f * f);
  for (int octant = 0; good && octant < 8; octant++) {
    int s[3] = {octant & 1 ? -1 : 1, octant & 2 ? -1 : 1, octant & 4 ? -1 : 1};
    for (int i = 0; i < f; i++)
      for (int j = 0; i + j < f; j++) {
        ball_face(&g, s, f, radius, (const int[3][2]){{i, j}, {i + 1, j}, {i, j + 1}});
        if (i + j < f - 1) ball_face(&g, s, f, radius, (const int[3][2]){{i + 1, j}, {i + 1, j + 1}, {i, j + 1}});
      }
  }
  good = good && put(desc, mesh, &g);
  grid_free(&g);
  return good;
}

// ---- an icosphere ----

#define PHI 1.6180339887498949
static const double ico_corner[12][3] = {{-1, PHI, 0}, {1, PHI, 0}, {-1, -PHI, 0}, {1, -PHI, 0}, {0, -1, PHI}, {0, 1, PHI},
                                     {0, -1, -PHI}, {0, 1, -PHI}, {PHI, 0, -1}, {PHI, 0, 1}, {-PHI, 0, -1}, {-PHI, 0, 1}};
static const int ico_side[20][3] = {{0, 11, 5}, {0, 5, 1}, {0, 1, 7}, {0, 7, 10}, {0, 10, 11}, {1, 5, 9}, {5, 11, 4},
                                    {11, 10, 2}, {10, 7, 6}, {7, 1, 8}, {3, 9, 4}, {3, 4, 2}, {3, 2, 6}, {3, 6, 8},
                                    {3, 8, 9}, {4, 9, 5}, {2, 4, 11}, {6, 2, 10}, {8, 6, 7}, {9, 8, 1}};

static int sphere_vertex(Grid *g, const double u[3], double radius) {
  enum { FINE = 1 << 20 };   // places of neighbours are farther apart
  double x[3];
  int key[3];
  for (int c = 0; c < 3; c++) {
    x[c] = radius * u[c];
    key[c] = (int)lround(FINE * u[c]);
  }
  return grid_vertex(g, key, x);
}

static void middle(const double a[3], const double b[3], double out[3]) {
  double n = 0;
  for (int c = 0; c < 3; c++) {
    out[c] = a[c] + b[c];
    n += out[c] * out[c];
  }
  for (int c = 0; c < 3; c++) out[c] /= sqrt(n);
}

// the triangle of three points of the unit sphere, or four in its place
static void divide(Grid *g, const double a[3], const double b[3], const double c[3], int level, double radius) {
  double ab[3], bc[3], ca[3];
  if (level == 0) {
    int v[3] = {sphere_vertex(g, a, radius), sphere_vertex(g, b, radius), sphere_vertex(g, c, radius)};
    grid_face(g, v[0], v[1], v[2]);
    return;
  }
  middle(a, b, ab);
  middle(b, c, bc);
  middle(c, a, ca);
  divide(g, a, ab, ca, level - 1, radius);
  divide(g, b, bc, ab, level - 1, radius);
  divide(g, c, ca, bc, level - 1, radius);
  divide(g, ab, bc, ca, level - 1, radius);
}

int tgi_mesh_icosphere(tgDesc *desc, const char *name, double radius, int level) {
  static const double none[3] = {0};
  Grid g;
  int mesh = -1;
  double at[12][3];
  for (int i = 0; i < 12; i++) middle(ico_corner[i], none, at[i]);
  if (grid_make(&g, 20 << 2 * level)) {
    for (int s = 0; s < 20; s++) divide(&g, at[ico_side[s][0]], at[ico_side[s][1]], at[ico_side[s][2]], level, radius);
    mesh = tg_desc_add_mesh(desc, name, g.vert, g.nvert, g.face, g.nface);
  }
  grid_free(&g);
  return mesh;
}

// cells of one pair of sides of the box: `axis` is normal to them, u and v run along them
static void box_sides(Grid *g, const double half[3], const int n[3], int axis) {
  int u = (axis + 1) % 3, v = (axis + 2) % 3;
  for (int side = 0; side < 2; side++)
    for (int i = 0; i < n[u]; i++)
      for (int j = 0; j < n[v]; j++) {
        int at[4];
        for (int k = 0; k < 4; k++) {
          int key[3];
          double x[3];
          key[axis] = side * n[axis];
          key[u] = i + (k == 1 || k == 2);
          key[v] = j + (k >= 2);
          for (int c = 0; c < 3; c++) x[c] = half[c] * (2.0 * key[c] / n[c] - 1);
          at[k] = grid_vertex(g, key, x);
        }
        int b = side ? 1 : 3, d = side ? 3 : 1;   // counter-clockwise from outside
        grid_face(g, at[0], at[b], at[2]);
        grid_face(g, at[0], at[2], at[d]);
      }
}

bool tgi_mesh_box(tgDesc *desc, int mesh, const double half[3], const int cells[3]) {
  Grid g;
  bool good = grid_make(&g, 4 * (cells[0] * cells[1] + cells[1] * cells[2] + cells[2] * cells[0]));
  for (int axis = 0; good && axis < 3; axis++) box_sides(&g, half, cells, axis);
  good = good && put(desc, mesh, &g);
  grid_free(&g);
  return good;
}
