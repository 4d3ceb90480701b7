// height_nodes.h: the sum over a surface and a plane node by node, each with its own six-dimensional derivatives: the
// oracle of halfspace_kernel.c.
#ifndef TG_TEST_CONTACT_BARRIER_HEIGHT_NODES_H
#define TG_TEST_CONTACT_BARRIER_HEIGHT_NODES_H

#include <string.h>

#include "contact/barrier/halfspace/halfspace.h"
#include "contact/barrier/pair/height.h"
#include "contact/barrier/pair/law.h"
#include "math/vec3.h"

typedef struct tgtHeights {
  const tgiHalfSpace *t;
  tgReal H[21];
  int intersecting;
  double near, far;
  tgiTreeCount count;
} tgtHeights;

static inline tgReal tgt_height_of(const tgtHeights *r, const tgReal x[3], tgReal v[6], tgReal G[21]) {
  return r->t->height + tgi_height(r->t->n, x, v, G);
}

static inline void tgt_height_force(const tgtHeights *r, int k, tgReal N, const tgReal a[3], tgReal z, tgReal d) {
  tgReal F[3], b[3];
  if (r->t->scatter == NULL) return;
  tgi_v3_scale(F, r->t->n, N * r->t->scatter->mu);
  tgi_v3_copy(b, a);
  tgi_v3_axpy(b, -z, r->t->n);
  tgi_scatter(r->t->scatter, r->t->A, k, F, a, b, d);
}

static inline bool tgt_height_leaf(tgtHeights *r, int k, tgReal share, tgReal out[7]) {
  const tgiWorldTree *A = r->t->A;
  const int *face = A->surface->face + 3 * (size_t)A->tree->tri[k];
  const tgReal *x[3];
  tgReal z[3], v[3][6], G[3][21], S1[6] = {0}, S2[21] = {0}, f[3], a[3] = {0}, za = 0;
  tgiHeightPair p;
  for (int i = 0; i < 3; i++) {
    x[i] = A->vert + 3 * (size_t)face[i];
    z[i] = tgt_height_of(r, x[i], v[i], G[i]) - A->round;
  }
  r->count.leaves++;
  if (!tgi_height_pair(z, false, &p)) {
    r->intersecting = A->tree->tri[k];
    return false;
  }
  for (int i = 0; i < 3; i++) {
    r->near = fmin(r->near, tgRe(z[i]));
    for (int j = 0; j < 6; j++) S1[j] += p.d[i] * v[i][j];
    tgi_sum_add(S2, p.D[4 * i], v[i], p.d[i], G[i]);
    for (int l = 0; l < i; l++)
      for (int j = 0, m = 0; j < 6; j++)
        for (int o = 0; o <= j; o++, m++) S2[m] += p.D[3 * i + l] * (v[i][j] * v[l][o] + v[l][j] * v[i][o]);
  }
  tgi_law_pair(A->node[(size_t)k * TGI_NODE_SIZE + TGI_NODE_W], r->t->law->base, r->t->law->more, p.S, f);
  out[0] += f[0];
  for (int j = 0; j < 6; j++) out[1 + j] += f[1] * S1[j];
  tgi_sum_add(r->H, share * f[2], S1, share * f[1], S2);
  tgReal Y = -(p.d[0] + p.d[1] + p.d[2]);
  for (int i = 0; i < 3; i++) {
    tgi_v3_axpy(a, -p.d[i] / Y, x[i]);
    za -= p.d[i] / Y * z[i];
  }
  tgi_v3_axpy(a, -A->round, r->t->n);
  tgt_height_force(r, k, share * f[1] * Y, a, za, 12 / p.S);
  return true;
}

static bool tgt_height_node(tgtHeights *r, int k, tgReal share, tgReal out[7]);

static inline bool tgt_height_below(tgtHeights *r, int k, tgReal share, tgReal out[7]) {
  const int *c = r->t->A->tree->child + 2 * (size_t)k;
  if (c[0] < 0) return tgt_height_leaf(r, k, share, out);
  return tgt_height_node(r, c[0], share, out) && tgt_height_node(r, c[1], share, out);
}

// adds node k to out; its second derivatives go to H with its share (42), (43)
static inline bool tgt_height_node(tgtHeights *r, int k, tgReal share, tgReal out[7]) {
  const tgReal *x = r->t->A->node + (size_t)k * TGI_NODE_SIZE;
  tgReal v[6], G[21], f[3], phi[3] = {1, 0, 0}, A[7] = {0}, radius = x[TGI_NODE_R], width = r->t->law->eps * radius,
         z = tgt_height_of(r, x, v, G);
  r->count.visits++;
  if (r->t->law->brute || tgRe(z) <= tgRe(radius)) return tgt_height_below(r, k, share, out);
  tgi_law_height(x[TGI_NODE_W], r->t->law->base, r->t->law->more, z, f);
  if (tgRe(z) < tgRe(radius + width)) {
    tgi_law_blend((z - radius) / width, phi);
    phi[1] /= width;
    phi[2] /= width * width;
    r->count.blends++;
    if (!tgt_height_below(r, k, share * (1 - phi[0]), A)) return false;
  } else {
    r->count.clusters++;
    r->far = fmin(r->far, tgRe(z));
  }
  tgReal less = f[0] - A[0], c1 = phi[0] * f[1] + less * phi[1], c2 = phi[0] * f[2] + less * phi[2] + 2 * phi[1] * f[1];
  tgi_sum_add(r->H, share * c2, v, share * c1, G);
  for (int i = 0, m = 0; i < 6; i++)
    for (int j = 0; j <= i; j++, m++) r->H[m] -= share * phi[1] * (v[i] * A[1 + j] + A[1 + i] * v[j]);
  out[0] += A[0] + phi[0] * less;
  for (int j = 0; j < 6; j++) out[1 + j] += (1 - phi[0]) * A[1 + j] + c1 * v[j];
  tgt_height_force(r, k, -share * c1, x, z, z);
  return true;
}

/// As tgi_half_space, without a reverse pass.
static inline bool tgt_height_nodes(const tgiHalfSpace *t, tgiPairSum *sum, int *intersecting, tgiClearance *clear, tgiTreeCount *count) {
  tgtHeights r = {.t = t, .near = INFINITY, .far = INFINITY};
  tgReal out[7] = {0};
  bool separated = tgt_height_node(&r, 0, 1, out);
  *count = r.count;
  *clear = (tgiClearance){.all = fmin(r.near, r.far * t->law->eps / (1 + t->law->eps)), .solved = r.near};
  *intersecting = r.intersecting;
  if (!separated) return false;
  sum->P = out[0];
  memcpy(sum->g, out + 1, sizeof sum->g);
  memcpy(sum->H, r.H, sizeof sum->H);
  return true;
}

#endif
