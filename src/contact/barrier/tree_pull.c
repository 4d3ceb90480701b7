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

// a plane between two triangles, and its force
typedef struct Between { tgReal S, d; const tgReal *g; tgiPairForce force; tgiForceWeight weight; } Between;

static void weigh_between(const tgiTreeRun *r, tgiTreeItem at, Between *c) {
  tgReal D = 12 / c->S;
  c->d = tgi_run_distance(r, at, D * D);
  c->weight = tgi_pull_weigh(r->w->pull, r->A, at.a, c->force.u, c->force.a, c->force.b, c->d);
}

// Of a term with c1 and c2 in S, of which T has the slope `other` besides. bar: what is left, the weights of the force itself.
static void pull_between(tgiTreeRun *r, tgiTreeItem at, const Between *c, tgReal c1, tgReal c2, tgReal other, tgiPairForce *bar) {
  tgiTreeWork *w = r->w;
  const tgiForceWeight *q = &c->weight;
  tgReal Y = c->force.N, per = w->pull->mu * w->inner[at.owner], N = per * c1 * Y, D = 12 / c->S;
  tgReal slope = w->lift[at.owner] * c1 + other + q->q * per * c2 * Y - N * q->d * D * D / (c->S * c->d);
  for (int i = 0; i < 6; i++) w->pull->twist[i] += slope * c->g[i];
  bar->N = q->q * per * c1;
  tgi_v3_scale(bar->u, q->n, N);
  tgi_v3_scale(bar->a, q->of->a, N);
  tgi_v3_scale(bar->b, q->of->b, N);
  w->held[at.owner] += q->q * w->pull->mu * c1 * Y;
}

void tgi_pull_column(tgiTreeRun *r, tgiTreeItem at, int l, const tgReal f[3]) {
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
  pull_between(r, at, &c, f[1], f[2], 0, &bar);
  w->bar->N[l] = bar.N;
  for (int i = 0; i < 3; i++) {
    w->bar->u[i][l] = bar.u[i];
    w->bar->a[i][l] = bar.a[i];
    w->bar->b[i][l] = bar.b[i];
  }
  w->weighed |= 1u << l;
}

void tgi_pull_columns(tgiTreeRun *r) {
  tgiTreeWork *w = r->w;
  tgReal twist[6][TGI_PAIR_LANES];
  if (w->weighed == 0) return;
  tgi_pair_block_force_vjp(w->pairs, w->bar, twist);
  for (int l = 0; l < w->pairs->count; l++)
    for (int i = 0; i < 6 && (w->weighed >> l & 1) != 0; i++) w->pull->twist[i] += twist[i][l];
  w->weighed = 0;
}

// a one-sided blend with the corners x
static void look_blend(const tgiTreeRun *r, const tgiTreeBlend *b, tgReal x[18], Between *c) {
  const tgiPair *p = &r->w->point[b->point];
  tgi_run_point_corners(r, b->at, x, 1);
  c->S = p->S;
  c->g = p->g;
  tgi_pair_force(x, p, &c->force);
  weigh_between(r, b->at, c);
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
    tgReal x[18];
    Between c;
    look_blend(r, b, x, &c);
    by_value = -c.weight.q * c.force.N;
  }
  w->lift[k] = w->lift[b->at.owner] * (1 - b->phi[0]) + by_value * w->pull->mu * w->inner[b->at.owner] * b->phi[1];
  w->held[k] = 0;
}

void tgi_pull_close(tgiTreeRun *r, int k) {
  tgiTreeWork *w = r->w;
  const tgiTreeBlend *b = &w->blend[k];
  const tgReal *phi = b->phi, below = w->acc[(size_t)k * TGI_ACC];
  tgReal C[3], x[18], other = -w->inner[b->at.owner] * w->held[k] * phi[1];
  Centres c;
  Between p;
  if (b->point < 0) {
    look(r, b->at, &c);
    for (int i = 0; i < 3; i++) C[i] = c.C[i];
  } else {
    look_blend(r, b, x, &p);
    tgi_run_point_law(r, b->at, p.S, C);
  }
  tgReal less = C[0] - below, c1 = phi[0] * C[1] + less * phi[1], c2 = phi[0] * C[2] + less * phi[2] + 2 * phi[1] * C[1];
  if (b->point < 0) pull_centres(r, b->at, &c, c1, c2, other);
  else {
    tgiPairForce bar;
    pull_between(r, b->at, &p, c1, c2, other, &bar);
    tgi_pair_force_vjp(x, &w->point[b->point], &bar, w->pull->twist);
  }
  w->held[b->at.owner] += (1 - phi[0]) * w->held[k];
}
