// tree_lanes.h: pairs of nodes on vectors, one a lane. Included by kernels only.
#ifndef TG_CONTACT_BARRIER_TREE_TREE_LANES_H
#define TG_CONTACT_BARRIER_TREE_TREE_LANES_H

#include "contact/barrier/pair/law_lanes.h"
#include "contact/barrier/tree/tree_wide.h"
#include "math/lanes.h"

// rows of eight numbers, one for each lane, to columns, and columns added to rows
#if (TGI_WIDTH == 8 && defined(__AVX512F__)) || (TGI_WIDTH == 4 && defined(__AVX2__))
TGI_LANE void columns(const tgReal *const row[TGI_WIDTH], V c[8]) {
  for (int i = 0; i < 8; i += TGI_WIDTH) {
    for (int l = 0; l < TGI_WIDTH; l++) c[i + l] = v_load(row[l] + i);
    v_turn(c + i);
  }
}
TGI_LANE void add_rows(tgReal *const *row, const V c[8]) {
  V r[8];
  for (int i = 0; i < 8; i++) r[i] = c[i];
  for (int i = 0; i < 8; i += TGI_WIDTH) v_turn(r + i);
  for (int l = 0; l < TGI_WIDTH; l++)
    for (int i = 0; i < 8; i += TGI_WIDTH) v_store(row[l] + i, v_load(row[l] + i) + r[i + l]);
}
#else
TGI_LANE void columns(const tgReal *const row[TGI_WIDTH], V c[8]) {
  tgReal t[TGI_WIDTH];
  for (int i = 0; i < 8; i++) {
    for (int l = 0; l < TGI_WIDTH; l++) t[l] = row[l][i];
    c[i] = v_load(t);
  }
}
TGI_LANE void add_rows(tgReal *const *row, const V c[8]) {
  for (int l = 0; l < TGI_WIDTH; l++)
    for (int i = 0; i < 8; i++) row[l][i] += v_lane(c[i], l);
}
#endif
TGI_LANE void nodes(const tgReal *base, const int *at, V c[8]) {
  const tgReal *row[TGI_WIDTH];
  for (int l = 0; l < TGI_WIDTH; l++) row[l] = base + (long)at[l] * TGI_NODE_SIZE;
  columns(row, c);
}

// a pair of nodes: places, squared distance, sums of radii, product of weights, moments
typedef struct Pair { V x[3], y[3], q, d1, w, m; } Pair;

TGI_LANE void look(const tgiTreeFrame *f, const int *of_a, const int *of_b, Pair *p) {
  V a[8], c[8], d[3];
  nodes(f->a, of_a, a);
  nodes(f->b, of_b, c);
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

// phi(d) of (72) and its slope
TGI_LANE V nearby(double range, V d, V *slope) {
  double half = 0.5 * range;
  V f[3];
  blend(v_max(v_min(d * (1.0 / half) - 1.0, v_all(1)), v_all(0)), f);
  *slope = -1.0 / half * f[1];
  return 1.0 - f[0];
}

// w (base + h(q + m)) and two derivatives in q
TGI_LANE void law(const tgiTreeFrame *f, const Pair *p, V C[3]) {
  V s = 1.0 / v_sqrt(p->q + p->m), r = (1 + f->more) * v_sqrt(s), i = s * s, wi = p->w * i;
  C[0] = p->w * (f->base + 24.0 * r + 12.0 * s);
  C[1] = -6.0 * wi * (r + s);
  C[2] = wi * i * (7.5 * r + 9.0 * s);
}

#endif
