// cloud_box.c: clouds of boxes: a grid on each side, whose outer points are as far from an edge as those of the side beyond it.
#include <stdlib.h>

#include "base/memory.h"
#include "geom/cloud_make.h"

// points and cell boundaries along one axis in half lengths: n points, n + 1 boundaries
static double grid_point(int n, double inset, int k) { return n == 1 ? 0 : -1 + inset + (2 - 2 * inset) * k / (n - 1); }
static double grid_line(int n, double inset, int k) {
  return k == 0 ? -1 : k == n ? 1 : 0.5 * (grid_point(n, inset, k - 1) + grid_point(n, inset, k));
}

// Inset of the outermost points from the edges: half a cell, averaged over the axes so that it is the same on both
// sides of an edge; a short axis counts more, as fewer cells make up for what its own cells lack. Points in the middle
// of a short axis are not nearer to its edges.
static double common_inset(const double half[3], const int n[3]) {
  double sum = 0, weight = 0, most = INFINITY;
  for (int i = 0; i < 3; i++) {
    sum += half[i] / n[i] / n[i];
    weight += 1.0 / n[i];
    if (n[i] == 1) most = fmin(most, half[i]);
  }
  return fmin(sum / weight, most);
}

// Inset along axis i on the sides across `axis`, in half lengths. With room for one point across, the sides beyond the
// edge have it in the middle, `across` from the edge, and these are as far, but for half a cell that is left between
// points. Two such axes of unlike lengths leave no choice.
static double side_inset(const double half[3], const int n[3], double inset, int axis, int i) {
  return n[axis] == 1 && n[i] > 1 ? fmin(half[axis], half[i] * (n[i] + 1) / (2 * n[i])) / half[i] : inset / half[i];
}

static int compare_keys(const void *p, const void *q) {
  const uint64_t *a = p, *b = q;
  return (*a > *b) - (*a < *b);
}

// a place of the lattice of cell boundaries; below 2^63, as a side has fewer than 2^21 cells
static uint64_t key_of(const int k[3]) { return (uint64_t)k[0] << 42 | (uint64_t)k[1] << 21 | (uint64_t)k[2]; }

// lattice place of corner c (counter-clockwise from outside) of cell (a, b) of side `side`: axis side/2, low or high
static void cell_corner(const int n[3], int side, int a, int b, int c, int k[3]) {
  static const int step[4][2] = {{0, 0}, {1, 0}, {1, 1}, {0, 1}};
  int axis = side / 2, high = side % 2, turn = high ? c : 3 - c;
  k[axis] = high ? n[axis] : 0;
  k[(axis + 1) % 3] = a + step[turn][0];
  k[(axis + 2) % 3] = b + step[turn][1];
}

// the lattice places of all cells' corners, each once, sorted; returns how many
static int vertex_keys(const int n[3], uint64_t *key) {
  size_t count = 0;
  int k[3];
  for (int side = 0; side < 6; side++)
    for (int a = 0; a < n[(side / 2 + 1) % 3]; a++)
      for (int b = 0; b < n[(side / 2 + 2) % 3]; b++)
        for (int c = 0; c < 4; c++) cell_corner(n, side, a, b, c, k), key[count++] = key_of(k);
  qsort(key, count, sizeof *key, compare_keys);
  size_t kept = 0;
  for (size_t i = 0; i < count; i++)
    if (i == 0 || key[i] != key[i - 1]) key[kept++] = key[i];
  return (int)kept;
}

static void fill_points(const double half[3], const int n[3], double d, const uint64_t *key, tgCloud *cloud) {
  double inset[3] = {d / half[0], d / half[1], d / half[2]};
  int point = 0, k[3];
  for (int side = 0; side < 6; side++) {
    int axis = side / 2, i = (axis + 1) % 3, j = (axis + 2) % 3;
    double inset_i = side_inset(half, n, d, axis, i), inset_j = side_inset(half, n, d, axis, j);
    for (int a = 0; a < n[i]; a++)
      for (int b = 0; b < n[j]; b++, point++) {
        double *u = cloud->unit + 3 * point, sign = side % 2 ? 1 : -1;
        u[axis] = sign;
        u[i] = grid_point(n[i], inset_i, a);
        u[j] = grid_point(n[j], inset_j, b);
        cloud->extent[3 * point + axis] = sign * (grid_line(n[i], inset[i], a + 1) - grid_line(n[i], inset[i], a)) *
                                          (grid_line(n[j], inset[j], b + 1) - grid_line(n[j], inset[j], b));
        cloud->corner_at[point + 1] = 4 * (point + 1);
        for (int c = 0; c < 4; c++) {
          cell_corner(n, side, a, b, c, k);
          uint64_t wanted = key_of(k), *found = bsearch(&wanted, key, (size_t)cloud->nvert, sizeof *key, compare_keys);
          cloud->corner[4 * point + c] = (int)(found - key);
        }
      }
  }
  for (int v = 0; v < cloud->nvert; v++)
    for (int i = 0; i < 3; i++) cloud->vert_unit[3 * v + i] = grid_line(n[i], inset[i], (int)(key[v] >> (42 - 21 * i) & 0x1fffff));
}

// where the places along every axis are the same on all sides
static void note_grid(const double half[3], const int n[3], double d, tgCloud *cloud) {
  double first[3][2];
  for (int i = 0; i < 3; i++)
    for (int k = 0; k < 2; k++) first[i][k] = grid_point(n[i], side_inset(half, n, d, (i + 1 + k) % 3, i), 0);
  for (int i = 0; i < 3; i++)
    if (first[i][0] != first[i][1]) return;
  for (int i = 0; i < 3; i++) {
    cloud->grid[i] = n[i];
    cloud->first[i] = first[i][0];
  }
}

tgStatus tgi_cloud_box(const double half[3], double spacing, const tgAllocator *allocator, tgCloud *cloud, tgError *error) {
  double cells[3], points = 0;
  int n[3];
  for (int i = 0; i < 3; i++) cells[i] = fmax(1, round(2 * half[i] / spacing));
  for (int i = 0; i < 3; i++) points += 2 * cells[i] * cells[(i + 1) % 3];
  TG_TRY(tgi_cloud_fits(points, spacing, error));
  for (int i = 0; i < 3; i++) n[i] = (int)cells[i];
  double d = common_inset(half, n);
  tgAllocator alloc = tgi_allocator(allocator);
  uint64_t *key = alloc.alloc(alloc.ctx, tgi_size_mul(4 * (size_t)points, sizeof *key));
  if (key == NULL) return TG_ERR_MEMORY;
  tgStatus st = tgi_cloud_room(TG_GEOM_BOX, spacing, (int)points, vertex_keys(n, key), 4 * (int)points, &alloc, cloud);
  if (st >= 0) {
    fill_points(half, n, d, key, cloud);
    note_grid(half, n, d, cloud);
  }
  alloc.free(alloc.ctx, key);
  return st;
}
