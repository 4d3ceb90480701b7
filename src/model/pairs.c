// pairs.c: which pairs of geoms may ever touch: MuJoCo's filters, then the explicit pairs. Sorted, so that the order of
// contacts is a function of the model alone.
#include <stdlib.h>
#include <string.h>

#include "model/compile.h"

static bool excluded(const tgDesc *d, int a, int b) {
  for (int i = 0; i < d->nexclude; i++) {
    int x = d->exclude[i].body1, y = d->exclude[i].body2;
    if ((x == a && y == b) || (x == b && y == a)) return true;
  }
  return false;
}

static tgStatus add_pair(tgCompile *c, int g1, int g2, int desc_pair, int condim) {
  if (c->npair == c->pair_room) {
    int room = c->pair_room == 0 ? 64 : 2 * c->pair_room;
    void *p = c->alloc.realloc(c->alloc.ctx, c->pair, tgi_size_mul((size_t)room, sizeof *c->pair));
    if (p == NULL) return tgi_error(c->error, TG_ERR_MEMORY, "out of memory for %d geom pairs", room);
    c->pair = p;
    c->pair_room = room;
  }
  int *pair = c->pair[c->npair++];
  pair[0] = g1 < g2 ? g1 : g2;
  pair[1] = g1 < g2 ? g2 : g1;
  pair[2] = desc_pair;
  pair[3] = condim;
  return TG_OK;
}

static int explicit_pair(const tgDesc *d, int a, int b) {
  for (int i = 0; i < d->npair; i++) {
    int x = d->pair[i].geom1, y = d->pair[i].geom2;
    if ((x == a && y == b) || (x == b && y == a)) return i;
  }
  return -1;
}

// the filters that hold for two bodies whatever their geoms: same rigid group, parent and child, exclude
static bool bodies_may_touch(const tgDesc *d, const int *weld, const int *weld_parent, int a, int b) {
  int wa = weld[a], wb = weld[b];
  if (wa == wb) return false;
  if (wa != 0 && wb != 0 && (weld_parent[wa] == wb || weld_parent[wb] == wa)) return false;
  return !excluded(d, a, b);
}

static tgStatus body_pair(tgCompile *c, int a, int b) {
  const tgDesc *d = c->desc;
  for (int i = c->geom_adr[a]; i < c->geom_adr[a + 1]; i++) {
    const tgGeomDesc *g = &d->geom[c->geom_from[i]];
    if (g->visual_only) continue;
    for (int j = c->geom_adr[b]; j < c->geom_adr[b + 1]; j++) {
      const tgGeomDesc *k = &d->geom[c->geom_from[j]];
      if (k->visual_only) continue;
      if (!((g->contype & k->conaffinity) != 0 || (k->contype & g->conaffinity) != 0)) continue;
      if ((g->type == TG_GEOM_PLANE && k->type == TG_GEOM_PLANE) || (g->flex >= 0 && k->flex >= 0)) continue;
      if (d->npair > 0 && explicit_pair(d, c->geom_from[i], c->geom_from[j]) >= 0) continue;
      int condim = g->priority > k->priority ? g->condim : k->priority > g->priority ? k->condim
                   : g->condim > k->condim ? g->condim : k->condim;
      TG_TRY(add_pair(c, i, j, -1, condim));
    }
  }
  return TG_OK;
}

static int by_geoms(const void *x, const void *y) {
  const int *a = x, *b = y;
  return a[0] != b[0] ? (a[0] < b[0] ? -1 : 1) : a[1] != b[1] ? (a[1] < b[1] ? -1 : 1) : 0;
}

// as bodies of one geom each leave them
static bool sorted(const tgCompile *c) {
  for (int p = 1; p < c->npair; p++)
    if (by_geoms(c->pair[p - 1], c->pair[p]) > 0) return false;
  return true;
}

static tgStatus all_pairs(tgCompile *c, int *weld, int *weld_parent, int *touching, int *ntouch) {
  const tgDesc *d = c->desc;
  int n = 0;
  for (int b = 0; b < d->nbody; b++) {
    weld[b] = b == 0 ? 0 : c->joint_adr[b + 1] > c->joint_adr[b] ? b : weld[d->body[b].parent];
    weld_parent[b] = b == 0 ? 0 : weld[d->body[b].parent];
    bool any = false;
    for (int g = c->geom_adr[b]; g < c->geom_adr[b + 1]; g++)
      any |= (d->geom[c->geom_from[g]].contype | d->geom[c->geom_from[g]].conaffinity) != 0;
    if (any) touching[n++] = b;
  }
  *ntouch = n;
  for (int i = 0; i < n; i++)
    for (int j = i + 1; j < n; j++)
      if (bodies_may_touch(d, weld, weld_parent, touching[i], touching[j])) TG_TRY(body_pair(c, touching[i], touching[j]));
  for (int i = 0; i < d->npair; i++)
    TG_TRY(add_pair(c, c->geom_to[d->pair[i].geom1], c->geom_to[d->pair[i].geom2], i, d->pair[i].condim));
  return TG_OK;
}

tgStatus tgi_compile_pairs(tgCompile *c) {
  size_t n = (size_t)c->desc->nbody;
  int *work = c->alloc.alloc(c->alloc.ctx, tgi_size_mul(3 * n, sizeof *work));
  if (work == NULL) return tgi_error(c->error, TG_ERR_MEMORY, "out of memory for the pairs of %d bodies", c->desc->nbody);
  int ntouch;
  tgStatus st = all_pairs(c, work, work + n, work + 2 * n, &ntouch);
  c->alloc.free(c->alloc.ctx, work);
  if (st < 0) return st;
  if (!sorted(c)) qsort(c->pair, (size_t)c->npair, sizeof *c->pair, by_geoms);
  return TG_OK;
}
