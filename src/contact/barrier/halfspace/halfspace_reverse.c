// halfspace_reverse.c: the reverse pass of the sum before a plane: T = sum q_k N_k over its forces, q_k the weight of
// force k (scatter.h), and dT in the twist of A, over the lists of the sum itself (halfspace_wide.h). Coordinates of
// terms are heights; else as tree_reverse.c. (74)
#include "contact/barrier/halfspace/halfspace_wide.h"
#include "contact/barrier/pair/height.h"
#include "contact/barrier/pair/law.h"
#include "math/vec3.h"

typedef struct Run { const tgiHeightFrame *f; tgiHeightWork *w; tgiForceReverse *reverse; const tgReal *n; } Run;

// a node as a cluster: place, height, value and two slopes, share in a blend and its slopes, weight of its force
typedef struct Height { const tgReal *x; tgReal z, law[3], phi[3]; tgiForceWeight weight; } Height;

static tgiForceWeight weigh(const Run *r, int node, const tgReal a[3], tgReal z, tgReal d) {
  tgReal foot[3];
  tgi_v3_copy(foot, a);
  tgi_v3_axpy(foot, -z, r->n);
  return tgi_reverse_weigh(r->reverse, tgi_reverse_patch(r->reverse, node), r->n, a, foot, d);
}

static void look(const Run *r, int node, Height *h) {
  const tgReal *x = h->x = r->f->A->node + (size_t)node * TGI_NODE_SIZE;
  h->z = r->f->height + tgi_v3_dot(r->n, x);
  tgi_law_height(x[TGI_NODE_W], r->f->base, r->f->more, h->z, h->law);
  h->weight = weigh(r, node, x, h->z, h->z);
}

static void share_of(const Run *r, Height *h) {
  tgReal radius = h->x[TGI_NODE_R], width = r->f->eps * radius;
  tgi_law_blend((h->z - radius) / width, h->phi);
  h->phi[1] /= width;
  h->phi[2] /= width * width;
}

// what a force weighs its point on A by, its foot being on the plane
static void by_place(const Run *r, const tgiForceWeight *q, tgReal N, tgReal f[3]) {
  tgReal up = tgi_v3_dot(r->n, q->of->b);
  for (int i = 0; i < 3; i++) f[i] = N * (q->of->a[i] + q->of->b[i] - up * r->n[i]);
}

// of a node whose value has the slopes c1, c2 in its height, and of which T has the slope `other` besides
static void reverse_node(const Run *r, int owner, const Height *h, tgReal c1, tgReal c2, tgReal other) {
  const tgiForceWeight *q = &h->weight;
  tgReal per = -r->reverse->mu, share = r->w->inner[owner], N = per * share * c1, f[3];
  by_place(r, q, N, f);
  tgi_v3_axpy(f, r->w->value_bar[owner] * c1 + other + q->q * per * share * c2 + N * q->d, r->n);
  tgi_reverse_at(r->reverse, h->x, f);
  r->w->share_bar[owner] += q->q * per * c1;
}

static void reverse_leaf(const Run *r, tgiHeightItem at) {
  const tgiWorldTree *A = r->f->A;
  const int *face = A->surface->face + 3 * (size_t)A->tree->tri[at.node];
  const tgReal *x[3];
  tgReal z[3], f[3], a[3] = {0}, za = 0, g[3], bar[3];
  tgiHeightPair p;
  for (int i = 0; i < 3; i++) {
    x[i] = A->vert + 3 * (size_t)face[i];
    z[i] = r->f->height + tgi_v3_dot(r->n, x[i]) - A->round;
  }
  if (!tgi_height_pair(z, A->surface->segment, &p)) return;   // the sum has been: none touches
  tgi_law_pair(A->node[(size_t)at.node * TGI_NODE_SIZE + TGI_NODE_W], r->f->base, r->f->more, p.S, f);
  tgReal Y = -(p.d[0] + p.d[1] + p.d[2]), d = 12 / p.S;
  for (int i = 0; i < 3; i++) {
    tgi_v3_axpy(a, -p.d[i] / Y, x[i]);
    za -= p.d[i] / Y * z[i];
  }
  tgReal low[3];
  tgi_v3_copy(low, a);
  tgi_v3_axpy(low, -A->round, r->n);
  tgiForceWeight q = weigh(r, at.node, low, za, d);
  tgReal per = r->reverse->mu * r->w->inner[at.owner], N = per * f[1] * Y;
  tgReal slope = r->w->value_bar[at.owner] * f[1] + q.q * per * f[2] * Y - N * q.d * d / p.S;
  by_place(r, &q, N, g);
  // of -d_i, which N and a are made of
  for (int i = 0; i < 3; i++) bar[i] = q.q * per * f[1] + (tgi_v3_dot(g, x[i]) - tgi_v3_dot(g, a)) / Y;
  for (int i = 0; i < 3; i++) {
    tgReal along = slope * p.d[i], w[3];
    for (int l = 0; l < 3; l++) along -= bar[l] * p.D[3 * l + i];
    tgi_v3_scale(w, g, -p.d[i] / Y);
    tgi_v3_axpy(w, along, r->n);
    tgi_reverse_at(r->reverse, x[i], w);
  }
  r->w->share_bar[at.owner] += q.q * r->reverse->mu * f[1] * Y;
}

static void open_blend(const Run *r, int k) {
  tgiHeightWork *w = r->w;
  int owner = w->blend[k].owner;
  Height h;
  look(r, w->blend[k].node, &h);
  share_of(r, &h);
  w->value_bar[k] = w->value_bar[owner] * (1 - h.phi[0]) + h.weight.q * r->reverse->mu * w->inner[owner] * h.phi[1];
  w->share_bar[k] = 0;
}

static void close_blend(const Run *r, int k) {
  tgiHeightWork *w = r->w;
  int owner = w->blend[k].owner;
  Height h;
  look(r, w->blend[k].node, &h);
  share_of(r, &h);
  tgReal less = h.law[0] - w->acc[k][0], c1 = h.phi[0] * h.law[1] + less * h.phi[1];
  tgReal c2 = h.phi[0] * h.law[2] + less * h.phi[2] + 2 * h.phi[1] * h.law[1];
  reverse_node(r, owner, &h, c1, c2, -w->inner[owner] * w->share_bar[k] * h.phi[1]);
  w->share_bar[owner] += (1 - h.phi[0]) * w->share_bar[k];
}

void tgi_height_reverse(const tgiHeightFrame *f, tgiHeightWork *w, tgiForceReverse *reverse) {
  Run r = {.f = f, .w = w, .reverse = reverse, .n = f->axis + 6};
  w->value_bar[0] = w->share_bar[0] = 0;
  // an owner stands before the blends that it owns
  for (int k = 1; k < w->nblend; k++) open_blend(&r, k);
  for (int i = 0; i < w->nfar; i++) {
    Height h;
    look(&r, w->far[i].node, &h);
    reverse_node(&r, w->far[i].owner, &h, h.law[1], h.law[2], 0);
  }
  for (int i = 0; i < w->nleaf; i++) reverse_leaf(&r, w->leaf[i]);
  for (int k = w->nblend - 1; k > 0; k--) close_blend(&r, k);
}
