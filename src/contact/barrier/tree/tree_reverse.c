// tree_reverse.c: the adjoint of the forces of a sum over two trees: T = sum q_k N_k over its terms, q_k the weight of
// force k, and dT in the twist of A. See tree_run.h.
//
// A force is N = -2 mu W c1 D (clusters D apart) or mu W c1 Y (triangles, Y = |dS|), c1 the slope of the term as in
// (43), W its share of the total. W and the value A below a blend depend on the pose too. Going down a blend knows what
// T weighs A by, value_bar, and when all below it is done what T weighs its share by, share_bar:
//   value_bar(blend) = value_bar(owner) (1 - Phi) + q dN/dA,   share_bar(owner) += share_bar(blend) (1 - Phi) + q N/W             (74)
// so that along its coordinate s, of which Phi and C are functions, T has the slope
//   value_bar(owner) c1 - W share_bar(blend) Phi' + q dN/ds + N dq/ds,   dc1/ds = c2.
// In c1 the value below is weighed by -Phi'. c1 < 0 in the distance: no term attracts.
#include <string.h>

#include "contact/barrier/tree/tree_run.h"

// ---- clusters, and blends over them ----

static void fill(const tgiTreeRun *r, int l, tgiTreeItem at) {
  tgiReverseBlock *b = r->w->terms;
  b->a[l] = at.a;
  b->b[l] = at.b;
  b->of[l] = tgi_reverse_patch(r->w->reverse, at.a);
}

static void fill_owner(const tgiTreeRun *r, int l, int owner) {
  r->w->terms->inner[l] = r->w->inner[owner];
  r->w->terms->value_bar[l] = r->w->value_bar[owner];
}

void tgi_reverse_begin(tgiTreeRun *r) { memset(r->w->terms->twist, 0, sizeof r->w->terms->twist); }

void tgi_reverse_end(tgiTreeRun *r) {
  for (int i = 0; i < 6; i++)
    for (int l = 0; l < TGI_TREE_LANES; l++) r->w->reverse->twist[i] += r->w->terms->twist[i][l];
}

void tgi_reverse_far(tgiTreeRun *r, const tgiTreeItem *at, int count) {
  tgiTreeWork *w = r->w;
  tgiReverseBlock *b = w->terms;
  b->count = count;
  for (int l = 0; l < count; l++) {
    fill(r, l, at[l]);
    fill_owner(r, l, at[l].owner);
    b->phi[0][l] = 1;
    b->phi[1][l] = b->phi[2][l] = b->below[l] = b->other[l] = 0;
  }
  tgi_reverse_terms(&r->frame, w->reverse, b);
  for (int l = 0; l < count; l++) w->share_bar[at[l].owner] += b->out[l];
}

// `by` mu W Phi' is what T weighs the value under the blend by, through its force
static void open_with(tgiTreeWork *w, int k, tgReal by) {
  const tgiTreeBlend *b = &w->blend[k];
  w->value_bar[k] = w->value_bar[b->at.owner] * (1 - b->phi[0]) + by * w->reverse->mu * w->inner[b->at.owner] * b->phi[1];
  w->share_bar[k] = 0;
}

void tgi_reverse_open(tgiTreeRun *r, int k, int count) {
  tgiTreeWork *w = r->w;
  tgiReverseBlock *b = w->terms;
  for (; count > 0; k += b->count, count -= b->count) {
    b->count = count < TGI_TREE_LANES ? count : TGI_TREE_LANES;
    for (int l = 0; l < b->count; l++) fill(r, l, w->blend[k + l].at);
    tgi_reverse_values(&r->frame, w->reverse, b);
    for (int l = 0; l < b->count; l++) open_with(w, k + l, b->out[l]);
  }
}

void tgi_reverse_close(tgiTreeRun *r, const int *which, int count) {
  tgiTreeWork *w = r->w;
  tgiReverseBlock *b = w->terms;
  b->count = count;
  for (int l = 0; l < count; l++) {
    const tgiTreeBlend *k = &w->blend[which[l]];
    fill(r, l, k->at);
    fill_owner(r, l, k->at.owner);
    for (int i = 0; i < 3; i++) b->phi[i][l] = k->phi[i];
    b->below[l] = w->acc[(size_t)which[l] * TGI_ACC];
    b->other[l] = -b->inner[l] * w->share_bar[which[l]] * k->phi[1];
  }
  tgi_reverse_terms(&r->frame, w->reverse, b);
  for (int l = 0; l < count; l++) {
    const tgiTreeBlend *k = &w->blend[which[l]];
    w->share_bar[k->at.owner] += b->out[l] + (1 - k->phi[0]) * w->share_bar[which[l]];
  }
}

// ---- triangles, and one-sided pairs ----

// a plane between two triangles, and its force
typedef struct Between { tgReal S, d; const tgReal *g; tgiPairForce force; tgiForceWeight weight; } Between;

static void weigh_between(const tgiTreeRun *r, tgiTreeItem at, Between *c) {
  tgReal D = 12 / c->S;
  c->d = tgi_run_point_distance(r, at, D * D);
  c->weight = tgi_reverse_weigh(r->w->reverse, tgi_reverse_patch(r->w->reverse, at.a), c->force.u, c->force.a, c->force.b, c->d);
}

// Of a term with c1 and c2 in S, of which T has the slope `other` besides. bar: what is left, the weights of the force itself.
static void reverse_between(tgiTreeRun *r, tgiTreeItem at, const Between *c, tgReal c1, tgReal c2, tgReal other, tgiPairForce *bar) {
  tgiTreeWork *w = r->w;
  const tgiForceWeight *q = &c->weight;
  tgReal Y = c->force.N, per = w->reverse->mu * w->inner[at.owner], N = per * c1 * Y, D = 12 / c->S;
  tgReal slope = w->value_bar[at.owner] * c1 + other + q->q * per * c2 * Y - N * q->d * D * D / (c->S * c->d);
  for (int i = 0; i < 6; i++) w->reverse->twist[i] += slope * c->g[i];
  bar->N = q->q * per * c1;
  tgi_v3_scale(bar->u, q->n, N);
  tgi_v3_scale(bar->a, q->of->a, N);
  tgi_v3_scale(bar->b, q->of->b, N);
  w->share_bar[at.owner] += q->q * w->reverse->mu * c1 * Y;
}

void tgi_reverse_column(tgiTreeRun *r, tgiTreeItem at, int l, const tgReal f[3]) {
  tgiTreeWork *w = r->w;
  const tgiPairForces *F = w->force;
  tgReal g[6];
  Between c = {.S = w->pairs->S[l], .g = g, .force = {.N = F->N[l]}};
  tgiPairForce bar;
  for (int i = 0; i < 6; i++) g[i] = w->pairs->g[i][l];
  for (int i = 0; i < 3; i++) {
    c.force.u[i] = F->u[i][l];
    c.force.a[i] = F->a[i][l];
    c.force.b[i] = F->b[i][l];
  }
  weigh_between(r, at, &c);
  reverse_between(r, at, &c, f[1], f[2], 0, &bar);
  w->bar->N[l] = bar.N;
  for (int i = 0; i < 3; i++) {
    w->bar->u[i][l] = bar.u[i];
    w->bar->a[i][l] = bar.a[i];
    w->bar->b[i][l] = bar.b[i];
  }
  w->weighed |= 1u << l;
}

void tgi_reverse_columns(tgiTreeRun *r) {
  tgiTreeWork *w = r->w;
  tgReal twist[6][TGI_PAIR_LANES];
  if (w->weighed == 0) return;
  tgi_pair_block_force_vjp(w->pairs, w->bar, twist);
  for (int l = 0; l < w->pairs->count; l++)
    for (int i = 0; i < 6 && (w->weighed >> l & 1) != 0; i++) w->reverse->twist[i] += twist[i][l];
  w->weighed = 0;
}

// a one-sided blend with the corners x
static void look_blend(const tgiTreeRun *r, const tgiTreeBlend *b, tgReal x[18], Between *c) {
  const tgiPair *p = &r->w->point[b->point];
  tgi_run_point_corners(r, b->at, x, 1);
  c->S = p->S;
  c->g = p->g;
  const tgiPairCores cores = tgi_run_point_cores(r, b->at);
  tgi_pair_force(x, &cores, p, &c->force);
  weigh_between(r, b->at, c);
}

void tgi_reverse_open_point(tgiTreeRun *r, int k) {
  tgReal x[18];
  Between c;
  look_blend(r, &r->w->blend[k], x, &c);
  open_with(r->w, k, -c.weight.q * c.force.N);
}

void tgi_reverse_close_point(tgiTreeRun *r, int k) {
  tgiTreeWork *w = r->w;
  const tgiTreeBlend *b = &w->blend[k];
  const tgReal *phi = b->phi;
  tgReal C[3], x[18], less, other = -w->inner[b->at.owner] * w->share_bar[k] * phi[1];
  Between p;
  tgiPairForce bar;
  look_blend(r, b, x, &p);
  tgi_run_point_law(r, b->at, p.S, C);
  less = C[0] - w->acc[(size_t)k * TGI_ACC];
  reverse_between(r, b->at, &p, phi[0] * C[1] + less * phi[1], phi[0] * C[2] + less * phi[2] + 2 * phi[1] * C[1], other, &bar);
  const tgiPairCores cores = tgi_run_point_cores(r, b->at);
  tgi_pair_force_vjp(x, &cores, &w->point[b->point], &bar, w->reverse->twist);
  w->share_bar[b->at.owner] += (1 - phi[0]) * w->share_bar[k];
}
