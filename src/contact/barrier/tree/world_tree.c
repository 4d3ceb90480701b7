// world_tree.c: see world_tree.h.
#include "contact/barrier/tree/world_tree.h"

#include <math.h>

#include "math/vec3.h"

size_t tgi_world_tree_reals(const tgiSurface *s, const tgiTree *t) { return (size_t)t->nnode * TGI_NODE_SIZE + 3 * (size_t)s->nvert; }

void tgi_world_tree_place(const tgiSurface *s, const tgiTree *t, tgReal *memory, tgiWorldTree *p) {
  p->surface = s;
  p->tree = t;
  p->node = memory;
  p->vert = memory + (size_t)t->nnode * TGI_NODE_SIZE;
}

void tgi_world_tree_numbers(const tgiTreeNumbers *n, tgiWorldTree *p) {
  p->round = *n->round;
  for (int k = 0; k < p->tree->nnode; k++) {
    tgReal *x = p->node + (size_t)k * TGI_NODE_SIZE;
    for (int i = 0; i < TGI_NODE_SIZE; i++) x[i] = 0;
    x[TGI_NODE_R] = n->radius[k];
    x[TGI_NODE_W] = n->weight[k];
    x[TGI_NODE_M] = n->moment[k];
  }
}

void tgi_world_tree_transform(const tgiTreeNumbers *n, const tgReal x[3], const tgReal R[9], tgiWorldTree *p) {
  tgReal d[3];
  tgi_m3_mulv(p->origin, R, n->centre);
  tgi_v3_axpy(p->origin, 1, x);
  for (size_t k = 0; k < (size_t)p->tree->nnode; k++) {
    tgi_v3_sub(d, n->centre + 3 * k, n->centre);
    tgi_m3_mulv(p->node + k * TGI_NODE_SIZE, R, d);
  }
  for (size_t k = 0; k < (size_t)p->surface->nvert; k++) {
    tgi_v3_sub(d, n->vert + 3 * k, n->centre);
    tgi_m3_mulv(p->vert + 3 * k, R, d);
  }
}

bool tgi_one_sided(const tgiWorldTree *a, const tgiWorldTree *b) {
  double least = INFINITY, most = 0;
  for (int k = 0; k < a->tree->nnode; k++)
    if (a->tree->tri[k] < 0) least = fmin(least, a->nominal[k]);
  for (int k = 0; k < b->tree->nnode; k++)
    if (b->tree->tri[k] >= 0) most = fmax(most, b->nominal[k]);
  return least <= 0.5 * most;
}
