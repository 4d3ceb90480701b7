// tree_wide.c: which kernel works on a block of pairs of nodes, and the same column by column. See tree_wide.h.
#include "contact/barrier/tree/tree_wide.h"

#include <string.h>

#include "contact/barrier/pair/law.h"
#include "math/vec3.h"

// the moving point goes to x + w x x + v + (w x (w x x) + w x v)/2                                                                        (44)
tgReal tgi_tree_square(const tgReal x[3], const tgReal y[3], tgReal v[6], tgReal G[21]) {
  tgReal d[3], dot2 = 2 * tgi_v3_dot(x, y), s[3];
  tgi_v3_sub(d, x, y);
  tgi_v3_add(s, x, y);
  tgi_v3_cross(v, y, x);
  for (int i = 0; i < 3; i++) {
    v[i] *= 2;
    v[3 + i] = 2 * d[i];
  }
  memset(G, 0, 21 * sizeof *G);
  for (int i = 0; i < 3; i++) {
    for (int j = 0; j <= i; j++) G[TGI_LOWER(i, j)] = (i == j ? dot2 : 0) - x[i] * y[j] - y[i] * x[j];
    int j = (i + 1) % 3, k = (i + 2) % 3;
    G[TGI_LOWER(3 + k, j)] = -s[i];   // the block of w and v is [x] + [y], [s]_jk = -s_i
    G[TGI_LOWER(3 + j, k)] = s[i];
    G[TGI_LOWER(3 + i, 3 + i)] = 2;
  }
  return tgi_v3_dot(d, d);
}

#if defined(TG_COMPLEX)

static const tgReal *node(const tgReal *of, int k) { return of + (size_t)k * TGI_NODE_SIZE; }

static void cluster(const tgiTreeFrame *f, const tgiTreeBlock *b, int l, tgReal *q, tgReal v[6], tgReal G[21], tgReal C[3]) {
  const tgReal *x = node(f->a, b->a[l]), *z = node(f->b, b->b[l]);
  tgReal y[3];
  tgi_v3_add(y, z, f->shift);
  *q = tgi_tree_square(x, y, v, G);
  tgi_law_cluster(x[TGI_NODE_W] * z[TGI_NODE_W], f->base, *q + f->moment[0] * x[TGI_NODE_M] + f->moment[1] * z[TGI_NODE_M], C);
}

void tgi_tree_visit(const tgiTreeFrame *f, tgiTreeLook *b) {
  b->far = b->between = 0;
  for (int l = 0; l < b->count; l++) {
    const tgReal *x = node(f->a, b->a[l]), *y = node(f->b, b->b[l]);
    tgReal d1 = x[TGI_NODE_R] + y[TGI_NODE_R], d[3], width = f->eps * d1, s[3];
    double end = tgRe(d1) * (1 + f->eps);
    tgi_v3_sub(d, x, y);
    tgi_v3_sub(d, d, f->shift);
    tgReal q = tgi_v3_dot(d, d);
    b->far |= (unsigned)(tgRe(q) >= end * end) << l;
    if (tgRe(q) >= end * end || tgRe(q) <= tgRe(d1) * tgRe(d1)) continue;
    b->between |= 1u << l;
    tgReal D = tgSqrt(q), s1 = 0.5 / (D * width);
    tgi_law_blend((D - d1) / width, s);
    b->phi[0][l] = s[0];
    b->phi[1][l] = s[1] * s1;
    b->phi[2][l] = s[2] * s1 * s1 - s[1] * s1 * 0.5 / q;
  }
}

static void add(tgiTreeSum *sum, int l, int n, tgReal h) {
  if (sum != NULL) sum->H[n][l] += h;
}

void tgi_tree_far(const tgiTreeFrame *f, tgiTreeBlock *b, tgiTreeSum *sum) {
  for (int l = 0; l < b->count; l++) {
    tgReal v[6], G[21], C[3], inner = b->inner[l];
    cluster(f, b, l, &b->q[l], v, G, C);
    b->acc[l][0] = C[0];
    for (int i = 0, n = 0; i < 6; i++) {
      b->acc[l][1 + i] = C[1] * v[i];
      for (int j = 0; j <= i; j++, n++) add(sum, l, n, inner * (C[2] * v[i] * v[j] + C[1] * G[n]));
    }
  }
}

void tgi_tree_close(const tgiTreeFrame *f, tgiTreeBlock *b, tgiTreeSum *sum) {
  for (int l = 0; l < b->count; l++) {
    tgReal v[6], G[21], C[3], q, *A = b->acc[l], phi0 = b->phi[0][l], phi1 = b->phi[1][l], inner = b->inner[l];
    cluster(f, b, l, &q, v, G, C);
    tgReal less = C[0] - A[0], c1 = phi0 * C[1] + less * phi1, c2 = phi0 * C[2] + less * b->phi[2][l] + 2 * phi1 * C[1];
    for (int i = 0, n = 0; i < 6; i++)
      for (int j = 0; j <= i; j++, n++)
        add(sum, l, n, inner * (c2 * v[i] * v[j] + c1 * G[n] - phi1 * (v[i] * A[1 + j] + A[1 + i] * v[j])));
    A[0] += phi0 * less;
    for (int i = 0; i < 6; i++) A[1 + i] = (1 - phi0) * A[1 + i] + c1 * v[i];
  }
}

// width of the slab between the triangles of column l along their plane's normal
static double slab(const tgiPairBlock *p, int l) {
  double lo = INFINITY, hi = -INFINITY;
  for (int k = 0; k < 6; k++) {
    double z = 0;
    for (int i = 0; i < 3; i++) z += tgRe(p->u[i][l]) * tgRe(p->x[3 * k + i][l]);
    if (k < 3) lo = fmin(lo, z);
    else hi = fmax(hi, z);
  }
  return lo - hi;
}

void tgi_tree_leaves(const tgiTreeFrame *f, const tgiPairBlock *p, const tgReal weight[TGI_TREE_LANES], tgiTreeBlock *b, tgiTreeSum *sum) {
  for (int l = 0; l < b->count; l++) {
    tgReal C[3], inner = b->inner[l];
    tgi_law_pair(weight[l], f->base, p->S[l], C);
    b->q[l] = slab(p, l);
    b->acc[l][0] = C[0];
    for (int i = 0, n = 0; i < 6; i++) {
      b->acc[l][1 + i] = C[1] * p->g[i][l];
      for (int j = 0; j <= i; j++, n++) add(sum, l, n, inner * (C[2] * p->g[i][l] * p->g[j][l] + C[1] * p->H[n][l]));
    }
  }
}

#else

// columns that are not in use become copies of the first, with no share
static void fill(tgiTreeBlock *b) {
  for (int l = b->count; l < TGI_TREE_LANES; l++) {
    b->a[l] = b->a[0];
    b->b[l] = b->b[0];
    b->inner[l] = b->phi[0][l] = b->phi[1][l] = b->phi[2][l] = 0;
    for (int i = 0; i < 8; i++) b->acc[l][i] = 0;
  }
}

void tgi_tree_visit(const tgiTreeFrame *f, tgiTreeLook *b) {
  unsigned used = (1u << b->count) - 1;
  for (int l = b->count; l % TGI_TREE_LANES != 0; l++) {
    b->a[l] = b->a[0];
    b->b[l] = b->b[0];
  }
  TGI_ISA_CALL(tgi_isa(), tgi_tree_visit, (f, b));
  b->far &= used;
  b->between &= used;
}
void tgi_tree_far(const tgiTreeFrame *f, tgiTreeBlock *b, tgiTreeSum *sum) {
  if (b->count < TGI_TREE_LANES) fill(b);
  TGI_ISA_CALL(tgi_isa(), tgi_tree_far, (f, b, sum));
}
void tgi_tree_close(const tgiTreeFrame *f, tgiTreeBlock *b, tgiTreeSum *sum) {
  if (b->count < TGI_TREE_LANES) fill(b);
  TGI_ISA_CALL(tgi_isa(), tgi_tree_close, (f, b, sum));
}
void tgi_tree_leaves(const tgiTreeFrame *f, const tgiPairBlock *p, const tgReal weight[TGI_TREE_LANES], tgiTreeBlock *b, tgiTreeSum *sum) {
  if (b->count < TGI_TREE_LANES) fill(b);
  TGI_ISA_CALL(tgi_isa(), tgi_tree_leaves, (f, p, weight, b, sum));
}

#endif
