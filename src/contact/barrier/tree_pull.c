// tree_pull.c: the adjoint of the forces of a sum over two trees: T = sum q_k N_k over its terms, q_k the weight of force k, and dT in the twist of A.
// See tree_run.h.
//
// A force is N = -2 mu W c1 D (clusters D apart) or mu W c1 Y (triangles, Y = |dS|), c1 the slope of the term as in (43), W its share of the total. W and
// the value A below a blend depend on the pose too. Going down a blend knows what T weighs A by, lift, and when all below it is done what T weighs its
// share by, held:
//   lift(blend) = lift(owner) (1 - Phi) + q dN/dA,   held(owner) += held(blend) (1 - Phi) + q N/W                                        (74)
// so that along its coordinate s, of which Phi and C are functions, T has the slope
//   lift(owner) c1 - W held(blend) Phi' + q dN/ds + N dq/ds,   dc1/ds = c2.
// In c1 the value below is weighed by -Phi'. c1 < 0 in the distance: no term pulls.
#include "contact/barrier/tree_run.h"

// two centres
typedef struct Centres { tgReal y[3], e[3], n[3], square, D, d, C[3]; tgiForceWeight weight; } Centres;

static void look(const tgiTreeRun *r, tgiTreeItem at, Centres *c) {
  const tgReal *x = tgi_run_node_a(r, at.a);
  tgi_v3_add(c->y, tgi_run_node_b(r, at.b), r->frame.shift);
  tgi_v3_sub(c->e, x, c->y);
  c->square = tgi_v3_dot(c->e, c->e);
  c->D = tgi_v3_unit(c->n, c->e);
  c->d = tgi_run_distance(r, at, c->square);
  tgi_law_cluster(tgi_run_weights(r, at), r->law->base, c->d * c->d, c->C);
  c->weight = tgi_pull_weigh(r->w->pull, r->A, at.a, c->n, x, c->y, c->d);
}

// of a term with c1 and c2 in the square of the distance, of which T has the slope `other` besides
static void pull_centres(tgiTreeRun *r, tgiTreeItem at, const Centres *c, tgReal c1, tgReal c2, tgReal other) {
  tgiTreeWork *w = r->w;
  const tgiForceWeight *q = &c->weight;
  tgReal per = -2 * w->pull->mu, N = per * w->inner[at.owner] * c1 * c->D, f[3];
  tgReal slope = w->lift[at.owner] * c1 + other + q->q * per * w->inner[at.owner] * (c2 * c->D + 0.5 * c1 / c->D) + 0.5 * N * q->d / c->d;
  tgReal across = tgi_v3_dot(c->n, q->n);
  for (int i = 0; i < 3; i++) f[i] = 2 * slope * c->e[i] + N * (q->of->a[i] + (q->n[i] - across * c->n[i]) / c->D);
  tgi_pull_at(w->pull, tgi_run_node_a(r, at.a), f);
  w->held[at.owner] += q->q * per * c1 * c->D;
}

void tgi_pull_far(tgiTreeRun *r, tgiTreeItem at) {
  Centres c;
  look(r, at, &c);
  pull_centres(r, at, &c, c.C[1], c.C[2], 0);
}

// a plane between two triangles
typedef struct Between { tgReal x[18], Y, d; tgiPair pair; tgiForceWeight weight; } Between;

static void look_between(const tgiTreeRun *r, tgiTreeItem at, Between *c) {
  tgReal mean[2][3] = {{0}}, sum[2] = {0}, D = 12 / c->pair.S;
  for (int k = 0; k < 6; k++) {
    tgReal m = tgi_v3_dot(c->pair.u, c->x + 3 * k) + c->pair.delta, y = 1 / (m * m);
    sum[k / 3] += y;
    tgi_v3_axpy(mean[k / 3], y, c->x + 3 * k);
  }
  for (int half = 0; half < 2; half++) tgi_v3_scale(mean[half], mean[half], 1 / sum[half]);
  c->Y = sum[0];
  c->d = tgi_run_distance(r, at, D * D);
  c->weight = tgi_pull_weigh(r->w->pull, r->A, at.a, c->pair.u, mean[0], mean[1], c->d);
}

// of a term with c1 and c2 in S
static void pull_between(tgiTreeRun *r, tgiTreeItem at, const Between *c, tgReal c1, tgReal c2, tgReal other) {
  tgiTreeWork *w = r->w;
  const tgiForceWeight *q = &c->weight;
  tgReal per = w->pull->mu * w->inner[at.owner], N = per * c1 * c->Y, D = 12 / c->pair.S;
  tgReal slope = w->lift[at.owner] * c1 + other + q->q * per * c2 * c->Y - N * q->d * D * D / (c->pair.S * c->d);
  for (int i = 0; i < 6; i++) w->pull->twist[i] += slope * c->pair.g[i];
  tgiPairForce bar = {.N = q->q * per * c1};
  tgi_v3_scale(bar.u, q->n, N);
  tgi_v3_scale(bar.a, q->of->a, N);
  tgi_v3_scale(bar.b, q->of->b, N);
  tgi_pair_force_vjp(c->x, &c->pair, &bar, w->pull->twist);
  w->held[at.owner] += q->q * w->pull->mu * c1 * c->Y;
}

void tgi_pull_column(tgiTreeRun *r, tgiTreeItem at, int l, const tgReal f[3]) {
  const tgiPairBlock *b = r->w->pairs;
  Between c = {.pair = {.S = b->S[l], .u = {b->u[0][l], b->u[1][l], b->u[2][l]}, .delta = b->delta[l]}};
  for (int i = 0; i < 18; i++) c.x[i] = b->x[i][l];
  for (int i = 0; i < 6; i++) c.pair.g[i] = b->g[i][l];
  look_between(r, at, &c);
  pull_between(r, at, &c, f[1], f[2], 0);
}

// a one-sided blend
static void look_blend(const tgiTreeRun *r, const tgiTreeBlend *b, Between *c) {
  c->pair = r->w->point[b->point];
  tgi_run_point_corners(r, b->at, c->x, 1);
  look_between(r, b->at, c);
}

void tgi_pull_open(tgiTreeRun *r, int k) {
  tgiTreeWork *w = r->w;
  const tgiTreeBlend *b = &w->blend[k];
  tgReal by_value;
  if (b->point < 0) {
    Centres c;
    look(r, b->at, &c);
    by_value = 2 * c.weight.q * c.D;
  } else {
    Between c;
    look_blend(r, b, &c);
    by_value = -c.weight.q * c.Y;
  }
  w->lift[k] = w->lift[b->at.owner] * (1 - b->phi[0]) + by_value * w->pull->mu * w->inner[b->at.owner] * b->phi[1];
  w->held[k] = 0;
}

void tgi_pull_close(tgiTreeRun *r, int k) {
  tgiTreeWork *w = r->w;
  const tgiTreeBlend *b = &w->blend[k];
  const tgReal *phi = b->phi, below = w->acc[(size_t)k * TGI_ACC];
  tgReal C[3], other = -w->inner[b->at.owner] * w->held[k] * phi[1];
  Centres c;
  Between p;
  if (b->point < 0) {
    look(r, b->at, &c);
    for (int i = 0; i < 3; i++) C[i] = c.C[i];
  } else {
    look_blend(r, b, &p);
    tgi_run_point_law(r, b->at, p.pair.S, C);
  }
  tgReal less = C[0] - below, c1 = phi[0] * C[1] + less * phi[1], c2 = phi[0] * C[2] + less * phi[2] + 2 * phi[1] * C[1];
  if (b->point < 0) pull_centres(r, b->at, &c, c1, c2, other);
  else pull_between(r, b->at, &p, c1, c2, other);
  w->held[b->at.owner] += (1 - phi[0]) * w->held[k];
}
