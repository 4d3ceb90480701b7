// cloud_assemble.c: sites and the patches of small faces they own, made a cloud.
//
// Corners of patches are vertices about which three patches or more meet; what lies between them on a patch's border is
// left out of its polygon, the same on both sides.
#include <stdlib.h>
#include <string.h>

#include "geom/cloud_mesh.h"

// an edge of a patch's border, run counter-clockwise about the patch
typedef struct Border {
  int owner, from, to;
  bool taken;
} Border;

typedef struct Patches {
  const tgiFine *fine;
  const int *owner;
  int nborder, nloop, nsite;
  Border *border;   // by owner and start
  int *loop;        // vertices of the longest loops, site after site
  int *loop_at;     // nsite + 1
  int *number;      // nvert of the mesh: > 0 a corner, its number from 1 on
} Patches;

static int by_owner(const void *p, const void *q) {
  const Border *a = p, *b = q;
  if (a->owner != b->owner) return a->owner < b->owner ? -1 : 1;
  if (a->from != b->from) return a->from < b->from ? -1 : 1;
  return (a->to > b->to) - (a->to < b->to);
}

static bool take_borders(Patches *p, tgiBlocks *blocks) {
  const tgiFine *fine = p->fine;
  size_t n = 0;
  for (size_t e = 0; e < 3 * (size_t)fine->nface; e++) n += fine->next[e] < 0 || p->owner[fine->next[e]] != p->owner[e / 3];
  p->border = tgi_blocks_take(blocks, n, sizeof *p->border);
  p->loop = tgi_blocks_take(blocks, n, sizeof *p->loop);
  p->loop_at = tgi_blocks_take(blocks, (size_t)p->nsite + 1, sizeof *p->loop_at);
  p->number = tgi_blocks_take(blocks, (size_t)fine->nvert, sizeof *p->number);
  if (p->border == NULL || p->loop == NULL || p->loop_at == NULL || p->number == NULL) return false;
  for (int e = 0; e < 3 * fine->nface; e++) {
    if (fine->next[e] >= 0 && p->owner[fine->next[e]] == p->owner[e / 3]) continue;
    p->border[p->nborder++] = (Border){p->owner[e / 3], fine->face[e], fine->face[e - e % 3 + (e + 1) % 3], false};
  }
  qsort(p->border, n, sizeof *p->border, by_owner);
  return true;
}

// the edge of the patch's border, among `count` from `border` on, that starts at the vertex and is not taken; NULL: none
static Border *starting_at(Border *border, int count, int vertex) {
  int low = 0, high = count;
  while (low < high) {
    int middle = (low + high) / 2;
    if (border[middle].from < vertex) low = middle + 1;
    else high = middle;
  }
  while (low < count && border[low].from == vertex && border[low].taken) low++;
  return low < count && border[low].from == vertex ? &border[low] : NULL;
}

// The longest loop of a patch's border goes to the end of the loops. A patch with a hole, or one that touches itself, has others.
static void take_loop(Patches *p, int first, int count) {
  int start = p->nloop, best = 0;
  for (int k = 0; k < count; k++) {
    Border *b = &p->border[first + k];
    int length = 0;
    if (b->taken) continue;
    int *out = p->loop + start + best;  // behind the longest so far; there is room, as every edge is taken once
    for (; b != NULL; b = starting_at(p->border + first, count, b->to)) {
      b->taken = true;
      out[length++] = b->from;
    }
    if (length <= best) continue;
    memmove(p->loop + start, out, (size_t)length * sizeof *out);
    best = length;
  }
  p->nloop = start + best;
}

// number: 0 where fewer than three patches meet. A patch with fewer than three such corners gets some of its border's vertices.
static int number_corners(Patches *p, int *pair) {
  const tgiFine *fine = p->fine;
  int count = 0;
  memset(pair, -1, 2 * (size_t)fine->nvert * sizeof *pair);
  for (int e = 0; e < 3 * fine->nface; e++) {
    int v = fine->face[e], owner = p->owner[e / 3], *two = pair + 2 * (size_t)v;
    if (two[0] < 0 || two[0] == owner) two[0] = owner;
    else if (two[1] < 0 || two[1] == owner) two[1] = owner;
    else p->number[v] = 1;
  }
  for (int i = 0; i < p->nsite; i++) {
    int *loop = p->loop + p->loop_at[i], n = p->loop_at[i + 1] - p->loop_at[i], corners = 0;
    for (int k = 0; k < n; k++) corners += p->number[loop[k]] > 0;
    for (int k = 0; k < 3 && corners < 3; k++) p->number[loop[k * n / 3]] = 1;
  }
  for (int v = 0; v < fine->nvert; v++)
    if (p->number[v] > 0) p->number[v] = ++count;
  return count;
}

static tgStatus find_patches(Patches *p, tgiBlocks *blocks, int *nvert, int *ncorner) {
  if (!take_borders(p, blocks)) return TG_ERR_MEMORY;
  int *pair = tgi_blocks_take(blocks, 2 * (size_t)p->fine->nvert, sizeof *pair);
  if (pair == NULL) return TG_ERR_MEMORY;
  for (int i = 0, at = 0; i < p->nsite; i++) {
    int end = at;
    while (end < p->nborder && p->border[end].owner == i) end++;
    take_loop(p, at, end - at);
    p->loop_at[i + 1] = p->nloop;
    at = end;
  }
  *nvert = number_corners(p, pair);
  *ncorner = 0;
  for (int k = 0; k < p->nloop; k++) *ncorner += p->number[p->loop[k]] > 0;
  tgi_blocks_give(blocks, pair);
  return TG_OK;
}

// areas, and vector areas' directions: the normal of a patch is the mean of its faces' by area, of a patch that closes
// on itself the site's own face's
static void sum_areas(const tgiFine *fine, const tgiSites *sites, const int *owner, double *area, double *extent) {
  for (int f = 0; f < fine->nface; f++) {
    area[owner[f]] += fine->area[f];
    for (int i = 0; i < 3; i++) extent[3 * (size_t)owner[f] + i] += fine->area[f] * fine->normal[3 * (size_t)f + i];
  }
  for (int k = 0; k < sites->n; k++) {
    double n[3];
    const double *own = fine->normal + 3 * (size_t)sites->site[k].face;
    if (!(tgi_d3_unit(n, extent + 3 * (size_t)k) > 1e-9 * area[k])) memcpy(n, own, sizeof n);
    for (int i = 0; i < 3; i++) extent[3 * (size_t)k + i] = area[k] * n[i];
  }
}

// sites without a patch go: all of their faces are nearer to others
static bool drop_empty(const tgiFine *fine, const tgiSites *all, tgiSites *kept, int *owner, tgiBlocks *blocks) {
  int *number = tgi_blocks_take(blocks, (size_t)all->n, sizeof *number);
  kept->site = tgi_blocks_take(blocks, (size_t)all->n, sizeof *kept->site);
  if (number == NULL || kept->site == NULL) return false;
  for (int f = 0; f < fine->nface; f++)
    if (fine->area[f] > 0) number[owner[f]] = 1;
  for (int k = 0; k < all->n; k++) {
    if (number[k] == 0) continue;
    number[k] = kept->n;
    kept->site[kept->n++] = all->site[k];
  }
  for (int f = 0; f < fine->nface; f++) owner[f] = number[owner[f]];
  return true;
}

tgStatus tgi_cloud_assemble(const tgiFine *fine, const tgiSites *all, const int *owner, tgiBlocks *blocks, tgCloud *cloud) {
  tgiSites sites = {0};
  int *of = tgi_blocks_take(blocks, (size_t)fine->nface, sizeof *of), nvert, ncorner;
  if (of == NULL) return TG_ERR_MEMORY;
  memcpy(of, owner, (size_t)fine->nface * sizeof *of);
  if (!drop_empty(fine, all, &sites, of, blocks)) return TG_ERR_MEMORY;
  Patches p = {.fine = fine, .owner = of, .nsite = sites.n};
  TG_TRY(find_patches(&p, blocks, &nvert, &ncorner));
  TG_TRY(tgi_cloud_room(TG_GEOM_MESH, fine->spacing, sites.n, nvert, ncorner, &blocks->alloc, cloud));
  sum_areas(fine, &sites, of, cloud->area, cloud->extent);
  for (int i = 0, n = 0; i < sites.n; i++) {
    memcpy(cloud->unit + 3 * (size_t)i, sites.site[i].x, 3 * sizeof(double));
    for (int k = p.loop_at[i]; k < p.loop_at[i + 1]; k++)
      if (p.number[p.loop[k]] > 0) cloud->corner[n++] = p.number[p.loop[k]] - 1;
    cloud->corner_at[i + 1] = n;
  }
  for (int v = 0; v < fine->nvert; v++)
    if (p.number[v] > 0) memcpy(cloud->vert_unit + 3 * (size_t)(p.number[v] - 1), fine->vert + 3 * (size_t)v, 3 * sizeof(double));
  return TG_OK;
}
