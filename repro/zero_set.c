// zero_set.c: zero sets of fields: lines in the plane by marching squares, shaded surfaces in space by marching tetrahedra.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "repro/picture.h"

// ---- plane ----

static bool add_segment(tgSegments *s, const double *a, const double *b) {
  if (s->n == s->room) {
    int room = s->room > 0 ? 2 * s->room : 256;
    double *x = realloc(s->x, 4 * (size_t)room * sizeof *x);
    if (x == NULL) return false;
    s->x = x;
    s->room = room;
  }
  double *x = s->x + 4 * s->n++;
  x[0] = a[0];
  x[1] = a[1];
  x[2] = b[0];
  x[3] = b[1];
  return true;
}

// where the field is 0 between two points with values of different signs
static void crossing(const double *a, double fa, const double *b, double fb, int n, double *x) {
  double t = fa / (fa - fb);
  for (int i = 0; i < n; i++) x[i] = a[i] + t * (b[i] - a[i]);
}

// the line through a triangle whose corners have these values
static bool cross_triangle(const double x[3][2], const double f[3], tgSegments *s) {
  double end[3][2];
  int n = 0;
  for (int c = 0; c < 3; c++) {
    int d = (c + 1) % 3;
    if ((f[c] < 0) != (f[d] < 0)) crossing(x[c], f[c], x[d], f[d], 2, end[n++]);
  }
  return n < 2 || add_segment(s, end[0], end[1]);
}

bool tgi_contour(tgPictureField field, void *ctx, double level, double half, int cells, tgSegments *s) {
  double *value = malloc((size_t)(cells + 1) * (size_t)(cells + 1) * sizeof *value), h = 2 * half / cells;
  bool good = value != NULL;
  for (int k = 0; good && k < (cells + 1) * (cells + 1); k++) {
    const double x[2] = {-half + h * (k % (cells + 1)), -half + h * (k / (cells + 1))};
    value[k] = field(ctx, x) - level;
  }
  for (int k = 0; good && k < cells * cells; k++) {
    double x[4][2], f[4];
    for (int c = 0; c < 4; c++) {
      int i = k % cells + (c == 1 || c == 2), j = k / cells + (c >= 2);
      x[c][0] = -half + h * i;
      x[c][1] = -half + h * j;
      f[c] = value[i + j * (cells + 1)];
    }
    for (int t = 0; t < 2 && good; t++) {
      const double y[3][2] = {{x[0][0], x[0][1]}, {x[t + 1][0], x[t + 1][1]}, {x[t + 2][0], x[t + 2][1]}};
      good = cross_triangle(y, (const double[3]){f[0], f[t + 1], f[t + 2]}, s);
    }
  }
  free(value);
  return good;
}

// ---- space ----

#define EDGE 1e-9  // pixels on the edge of two triangles belong to both

typedef struct Grid {
  int n[3];
  double origin[3], cell[3], *value;
} Grid;

typedef struct Scene {
  const Grid *grid;
  const double *centre, *view;
  double scale;
  tgRaster *raster;
  float *depth;
} Scene;

static size_t at(const Grid *g, int i, int j, int k) { return (size_t)i + (size_t)g->n[0] * ((size_t)j + (size_t)g->n[1] * (size_t)k); }

// gradient of the field as interpolated from the grid, at x
static void slope(const Grid *g, const double *x, double *out) {
  int k[3];
  for (int i = 0; i < 3; i++) k[i] = (int)fmin(g->n[i] - 2, fmax(1, round((x[i] - g->origin[i]) / g->cell[i])));
  for (int i = 0; i < 3; i++) {
    int a[3] = {k[0], k[1], k[2]}, b[3] = {k[0], k[1], k[2]};
    a[i]--;
    b[i]++;
    out[i] = (g->value[at(g, b[0], b[1], b[2])] - g->value[at(g, a[0], a[1], a[2])]) / (2 * g->cell[i]);
  }
}

// brightness of a surface with that outward direction: lit from the viewer's upper left
static double brightness(const double *view, const double *n) {
  static const double light[3] = {-0.4, 0.55, 0.73};
  double length = sqrt(n[0] * n[0] + n[1] * n[1] + n[2] * n[2]), sum = 0;
  for (int i = 0; i < 3; i++) sum += light[i] * (view[3 * i] * n[0] + view[3 * i + 1] * n[1] + view[3 * i + 2] * n[2]) / length;
  return 40 + 200 * fmax(0, sum);
}

// puts a triangle with brightness at its corners into the picture where it is in front
static void draw_triangle(Scene *s, const double x[3][3]) {
  double p[3][3], light[3];
  for (int c = 0; c < 3; c++) {
    double n[3], d[3];
    slope(s->grid, x[c], n);
    light[c] = brightness(s->view, n);
    for (int i = 0; i < 3; i++) d[i] = x[c][i] - s->centre[i];
    for (int i = 0; i < 3; i++) p[c][i] = s->scale * (s->view[3 * i] * d[0] + s->view[3 * i + 1] * d[1] + s->view[3 * i + 2] * d[2]);
    p[c][0] += 0.5 * s->raster->width;
    p[c][1] = 0.5 * s->raster->height - p[c][1];
  }
  double area = (p[1][0] - p[0][0]) * (p[2][1] - p[0][1]) - (p[2][0] - p[0][0]) * (p[1][1] - p[0][1]);
  if (fabs(area) < 1e-12) return;
  int x0 = (int)fmax(0, fmin(p[0][0], fmin(p[1][0], p[2][0]))), x1 = (int)fmin(s->raster->width - 1, fmax(p[0][0], fmax(p[1][0], p[2][0])));
  int y0 = (int)fmax(0, fmin(p[0][1], fmin(p[1][1], p[2][1]))),
      y1 = (int)fmin(s->raster->height - 1, fmax(p[0][1], fmax(p[1][1], p[2][1])));
  for (int j = y0; j <= y1; j++)
    for (int i = x0; i <= x1; i++) {
      double u = ((i - p[0][0]) * (p[2][1] - p[0][1]) - (p[2][0] - p[0][0]) * (j - p[0][1])) / area;
      double v = ((p[1][0] - p[0][0]) * (j - p[0][1]) - (i - p[0][0]) * (p[1][1] - p[0][1])) / area;
      double z = p[0][2] + u * (p[1][2] - p[0][2]) + v * (p[2][2] - p[0][2]);
      size_t k = (size_t)i + (size_t)s->raster->width * (size_t)j;
      if (u < -EDGE || v < -EDGE || u + v > 1 + EDGE || z <= s->depth[k]) continue;
      s->depth[k] = (float)z;
      s->raster->pixel[k] = (uint8_t)fmin(255, light[0] + u * (light[1] - light[0]) + v * (light[2] - light[0]));
    }
}

// the zero set in a tetrahedron: a triangle, or a quadrangle as two
static void draw_tetrahedron(Scene *s, const double x[4][3], const double f[4]) {
  double y[4][3];
  int in[4], out[4], nin = 0, nout = 0, n = 0;
  for (int c = 0; c < 4; c++) {
    if (f[c] < 0) in[nin++] = c;
    else out[nout++] = c;
  }
  for (int i = 0; i < nin; i++)
    for (int j = 0; j < nout; j++) {
      int k = nin == 2 && i == 1 ? 1 - j : j;  // in order round the quadrangle
      crossing(x[in[i]], f[in[i]], x[out[k]], f[out[k]], 3, y[n++]);
    }
  for (int t = 0; t + 2 < n; t++) {
    double triangle[3][3];
    memcpy(triangle[0], y[0], sizeof y[0]);
    memcpy(triangle[1], y[t + 1], sizeof y[0]);
    memcpy(triangle[2], y[t + 2], sizeof y[0]);
    draw_triangle(s, triangle);
  }
}

// the six tetrahedra about the cube's diagonal
static void draw_cube(Scene *s, int i, int j, int k) {
  static const int path[6][2] = {{1, 3}, {1, 5}, {2, 3}, {2, 6}, {4, 5}, {4, 6}};
  const Grid *g = s->grid;
  for (int t = 0; t < 6; t++) {
    const int corner[4] = {0, path[t][0], path[t][1], 7};
    double x[4][3], f[4];
    for (int c = 0; c < 4; c++) {
      const int node[3] = {i + (corner[c] & 1), j + (corner[c] >> 1 & 1), k + (corner[c] >> 2 & 1)};
      for (int m = 0; m < 3; m++) x[c][m] = g->origin[m] + g->cell[m] * node[m];
      f[c] = g->value[at(g, node[0], node[1], node[2])];
    }
    draw_tetrahedron(s, x, f);
  }
}

bool tgi_zero_set_draw(tgPictureField field, void *ctx, const double centre[3], const double half[3], double cell,
                       const double view[9], double scale, tgRaster *r) {
  Grid g;
  size_t nodes = 1, pixels = (size_t)r->width * (size_t)r->height;
  for (int i = 0; i < 3; i++) {
    g.n[i] = (int)ceil(2 * half[i] / cell) + 3;
    g.cell[i] = 2 * half[i] / (g.n[i] - 3);
    g.origin[i] = centre[i] - half[i] - g.cell[i];
    nodes *= (size_t)g.n[i];
  }
  g.value = malloc(nodes * sizeof *g.value);
  Scene s = {.grid = &g, .centre = centre, .view = view, .scale = scale, .raster = r, .depth = malloc(pixels * sizeof(float))};
  bool good = g.value != NULL && s.depth != NULL;
  for (size_t p = 0; p < pixels && good; p++) s.depth[p] = -INFINITY;
  for (int k = 0; k < g.n[2] && good; k++)
    for (int j = 0; j < g.n[1]; j++)
      for (int i = 0; i < g.n[0]; i++) {
        const double x[3] = {g.origin[0] + g.cell[0] * i, g.origin[1] + g.cell[1] * j, g.origin[2] + g.cell[2] * k};
        g.value[at(&g, i, j, k)] = field(ctx, x);
      }
  for (int k = 0; k + 1 < g.n[2] && good; k++)
    for (int j = 0; j + 1 < g.n[1]; j++)
      for (int i = 0; i + 1 < g.n[0]; i++) draw_cube(&s, i, j, k);
  free(g.value);
  free(s.depth);
  return good;
}
