// tree_lanes.h: pairs of nodes on vectors, one a lane. Included by kernels only.
#ifndef TG_CONTACT_BARRIER_TREE_TREE_LANES_H
#define TG_CONTACT_BARRIER_TREE_TREE_LANES_H

#include "contact/barrier/tree/tree_wide.h"
#include "math/lanes.h"

// rows of numbers, one for each lane, to columns
#if TGI_WIDTH == 8 && defined(__AVX512F__)
TGI_LANE void columns(const tgReal *base, const int *at, V c[8]) {
  for (int l = 0; l < 8; l++) c[l] = v_load(base + (long)at[l] * TGI_NODE_SIZE);
  v_turn(c);
}
TGI_LANE void rows(tgReal (*acc)[8], const V c[8]) {
  V r[8];
  for (int l = 0; l < 8; l++) r[l] = c[l];
  v_turn(r);
  for (int l = 0; l < 8; l++) v_store(acc[l], r[l]);
}
TGI_LANE void from_rows(tgReal (*acc)[8], V c[8]) {
  for (int l = 0; l < 8; l++) c[l] = v_load(acc[l]);
  v_turn(c);
}
#else
TGI_LANE void columns(const tgReal *base, const int *at, V c[8]) {
  tgReal t[TGI_WIDTH];
  for (int i = 0; i < 6; i++) {
    for (int l = 0; l < TGI_WIDTH; l++) t[l] = base[(long)at[l] * TGI_NODE_SIZE + i];
    c[i] = v_load(t);
  }
}
TGI_LANE void rows(tgReal (*acc)[8], const V c[8]) {
  for (int l = 0; l < TGI_WIDTH; l++)
    for (int i = 0; i < 8; i++) acc[l][i] = v_lane(c[i], l);
}
TGI_LANE void from_rows(tgReal (*acc)[8], V c[8]) {
  tgReal t[TGI_WIDTH];
  for (int i = 0; i < 7; i++) {
    for (int l = 0; l < TGI_WIDTH; l++) t[l] = acc[l][i];
    c[i] = v_load(t);
  }
}
#endif

// a pair of nodes: places, squared distance, sums of radii, product of weights, moments
typedef struct Pair { V x[3], y[3], q, d1, w, m; } Pair;

TGI_LANE void look(const tgiTreeFrame *f, const int *of_a, const int *of_b, Pair *p) {
  V a[8], c[8], d[3];
  columns(f->a, of_a, a);
  columns(f->b, of_b, c);
  for (int i = 0; i < 3; i++) {
    p->x[i] = a[i];
    p->y[i] = c[i] + f->shift[i];
    d[i] = p->x[i] - p->y[i];
  }
  p->q = v_dot(d, d);
  p->d1 = a[TGI_NODE_R] + c[TGI_NODE_R];
  p->w = a[TGI_NODE_W] * c[TGI_NODE_W];
  p->m = f->moment[0] * a[TGI_NODE_M] + f->moment[1] * c[TGI_NODE_M];
}

// w (base + h(q + m)) and two derivatives in q
TGI_LANE void law(const tgiTreeFrame *f, const Pair *p, V C[3]) {
  V s = 1.0 / v_sqrt(p->q + p->m), r = (1 + f->more) * v_sqrt(s), i = s * s, wi = p->w * i;
  C[0] = p->w * (f->base + 24.0 * r + 12.0 * s);
  C[1] = -6.0 * wi * (r + s);
  C[2] = wi * i * (7.5 * r + 9.0 * s);
}

#endif
