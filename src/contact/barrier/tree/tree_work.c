// tree_work.c: memory of the recursion over two trees. See tree_run.h.
#include <string.h>

#include "contact/barrier/tree/tree_run.h"

// A look takes TGI_LOOK_LANES pairs of nodes from the stack and puts four times as many on it, a level further down.
static void place(tgLayout *l, int depth, tgiTreeWork *w) {
  int open = TGI_LOOK_LANES * (depth + 2);
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
  w->value_bar = tgi_place(l, (size_t)w->blend_room, sizeof *w->value_bar);
  w->share_bar = tgi_place(l, (size_t)w->blend_room, sizeof *w->share_bar);
  w->acc = tgi_place(l, (size_t)w->blend_room * TGI_ACC, sizeof *w->acc);
  w->point = tgi_place(l, (size_t)w->point_room, sizeof *w->point);
  w->pairs = tgi_place(l, 1, sizeof *w->pairs);
  w->force = tgi_place(l, 1, sizeof *w->force);
  w->forces = tgi_place(l, 1, sizeof *w->forces);
  w->bar = tgi_place(l, 1, sizeof *w->bar);
  w->terms = tgi_place(l, 1, sizeof *w->terms);
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

void tgi_tree_work_scatter(tgiTreeWork *w, const tgiForceScatter *scatter) { w->scatter = scatter; }

void tgi_tree_work_hard(tgiTreeWork *w, tgiHardLog *hard) { w->hard = hard; }

void tgi_tree_work_reverse(tgiTreeWork *w, tgiForceReverse *reverse) { w->reverse = reverse; }

void tgi_run_solve(tgiTreeWork *w, int count, bool warm) {
  w->pairs->count = count;
  w->pairs->warm = warm ? (1u << count) - 1 : 0;
  tgi_pair_block(w->pairs);
  if (w->scatter != NULL || w->reverse != NULL) tgi_pair_block_force(w->pairs, w->force);
}
