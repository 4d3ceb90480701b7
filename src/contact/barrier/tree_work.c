// tree_work.c: memory of the recursion over two trees, and the planes that are kept within a step. See tree_run.h.
#include <string.h>

#include "contact/barrier/tree_run.h"

// A block takes TGI_TREE_LANES pairs of nodes from the stack and puts four times as many on it, a level further down.
static void place(tgLayout *l, int depth, tgiTreeWork *w) {
  int open = TGI_TREE_LANES * (depth + 2);
  w->stack_room = 8 * open;
  w->blend_room = TGI_BLEND_ROOM + 4 * open;
  w->point_room = TGI_POINT_ROOM + open;
  w->levels = 2 * depth + 4;
  w->stack = tgi_place(l, (size_t)w->stack_room, sizeof *w->stack);
  w->far = tgi_place(l, TGI_FAR_ROOM, sizeof *w->far);
  w->leaf = tgi_place(l, TGI_LEAF_ROOM, sizeof *w->leaf);
  w->ask = tgi_place(l, TGI_ASK_ROOM, sizeof *w->ask);
  w->blend = tgi_place(l, (size_t)w->blend_room, sizeof *w->blend);
  w->renamed = tgi_place(l, (size_t)w->blend_room, sizeof *w->renamed);
  w->order = tgi_place(l, (size_t)w->blend_room, sizeof *w->order);
  w->level = tgi_place(l, (size_t)w->levels + 1, sizeof *w->level);
  w->inner = tgi_place(l, (size_t)w->blend_room, sizeof *w->inner);
  w->lift = tgi_place(l, (size_t)w->blend_room, sizeof *w->lift);
  w->held = tgi_place(l, (size_t)w->blend_room, sizeof *w->held);
  w->acc = tgi_place(l, (size_t)w->blend_room * TGI_ACC, sizeof *w->acc);
  w->point = tgi_place(l, (size_t)w->point_room, sizeof *w->point);
  w->pairs = tgi_place(l, 1, sizeof *w->pairs);
  w->look = tgi_place(l, 1, sizeof *w->look);
  w->block = tgi_place(l, 1, sizeof *w->block);
  w->sum = tgi_place(l, 1, sizeof *w->sum);
}

size_t tgi_tree_work_bytes(int depth) {
  tgLayout l = {.base = NULL};
  tgiTreeWork w;
  tgi_place(&l, 1, sizeof w);
  place(&l, depth, &w);
  return l.used;
}

tgiTreeWork *tgi_tree_work_place(void *memory, int depth) {
  tgLayout l = {.base = memory};
  tgiTreeWork *w = tgi_place(&l, 1, sizeof *w);
  memset(w, 0, sizeof *w);
  place(&l, depth, w);
  return w;
}

void tgi_tree_work_planes(tgiTreeWork *w, tgiPlaneCache *planes) { w->planes = planes != NULL && planes->room > 0 ? planes : NULL; }

void tgi_tree_work_press(tgiTreeWork *w, const tgiTreePress *press) { w->press = press; }

void tgi_tree_work_pull(tgiTreeWork *w, tgiTreePull *pull) { w->pull = pull; }

// ---- planes kept within a step ----

// place of the pair's plane; *known: it is there, else the place is the pair's to write, where another may have been
static int plane_at(const tgiPlaneCache *c, tgiTreeItem at, bool *known) {
  enum { PROBES = 4 };
  unsigned first = ((unsigned)at.a * 0x9e3779b1u ^ (unsigned)at.b * 0x85ebca6bu) * 0xc2b2ae35u, mask = (unsigned)c->room - 1;
  for (unsigned i = 0; i < PROBES; i++) {
    unsigned k = ((first >> 12) + i) & mask;
    *known = c->key[k][0] == at.a && c->key[k][1] == at.b;
    if (*known || c->key[k][0] < 0) return (int)k;
  }
  return (int)((first >> 12) & mask);
}

const tgReal *tgi_plane_kept(const tgiPlaneCache *c, int a, int b) {
  bool known = false;
  int k = c->room > 0 ? plane_at(c, (tgiTreeItem){.a = a, .b = b}, &known) : 0;
  return known ? c->plane[k] : NULL;
}

void tgi_run_solve(tgiTreeWork *w, const tgiTreeItem *at, int count) {
  tgiPairBlock *p = w->pairs;
  int place[TGI_TREE_LANES];
  p->count = count;
  p->warm = 0;
  for (int l = 0; l < count && w->planes != NULL; l++) {
    bool known;
    place[l] = plane_at(w->planes, at[l], &known);
    if (!known) continue;
    const tgReal *plane = w->planes->plane[place[l]];
    for (int i = 0; i < 3; i++) p->u[i][l] = plane[i];
    p->delta[l] = plane[3];
    p->warm |= 1u << l;
  }
  tgi_pair_block(p);
  for (int l = 0; l < count && w->planes != NULL; l++) {
    tgReal *plane = w->planes->plane[place[l]];
    w->planes->key[place[l]][0] = at[l].a;
    w->planes->key[place[l]][1] = at[l].b;
    for (int i = 0; i < 3; i++) plane[i] = p->u[i][l];
    plane[3] = p->delta[l];
  }
}
