// foreseen.c: the pairs at another pose as their last sums foresee them. See TG_LAW_FORESEEN.
//
// Based on: [math/barrier Minimisation]. The leaves that hardened most (pair/hard.h) are solved again, with the shares that they had.
// What is left of a pair's sum is a parabola in the twist rho by which A has moved against B, exp(rho) = M_B^-1 M_A:
//   P + g . rho + rho' H rho/2,   of slope g + H rho + ((w x m + v x f)/2; w x f/2), g = (m; f), rho = (w; v),                       (77)
// in a twist that comes after exp(rho), and then moves along with B.
#include <string.h>

#include "contact/barrier/barrier.h"
#include "math/spatial.h"
#include "math/vec3.h"

#define FAR 1e5   // a leaf that moves by less than its gap over this is as good as a parabola, to the end of a step at rest

enum {
  LESS = 2,    // by which leaves that are foreseen have to be fewer than those of a sum
  CHEAP = 8,   // nodes that cost as much as a leaf
  PART = 16    // of a sum's leaves, which more than are foreseen only where they are the few of their pairs
};

// the geom's motion since the last sums: x goes to R x + t
static void motion(const tgiBarrierWork *w, int g, tgReal R[9], tgReal t[3]) {
  const tgReal *from = w->sums.frame + 12 * g, *x = w->pose->geom_xpos + 3 * g;
  tgReal moved[3];
  tgi_m3_mult(R, w->pose->geom_xmat + 9 * g, from + 3);
  tgi_m3_mulv(moved, R, from);
  tgi_v3_sub(t, x, moved);
}

// the twist of the motion R, t to second order in its turn, and to second order in all
static void twist_of(const tgReal R[9], const tgReal t[3], tgReal rho[6]) {
  tgReal turned[3];
  for (int i = 0; i < 3; i++) rho[i] = (R[3 * ((i + 2) % 3) + (i + 1) % 3] - R[3 * ((i + 1) % 3) + (i + 2) % 3]) / 2;
  double sine = sqrt(tgRe(tgi_v3_dot(rho, rho))), cosine = tgRe(R[0] + R[4] + R[8] - 1) / 2;
  if (sine > 0) tgi_v3_scale(rho, rho, atan2(sine, cosine) / sine);
  tgi_v3_cross(turned, rho, t);
  tgi_v3_copy(rho + 3, t);
  tgi_v3_axpy(rho + 3, -0.5, turned);
}

// (77) at the pose; about the world origin as the rest
static void at_pose(const tgiBarrierWork *w, const tgiGeomPair *g, const tgiPairSum *rest, tgiPairSum *sum) {
  tgReal Ra[9], ta[3], Rb[9], tb[3], R[9], t[3], apart[3], rho[6], bent[6];
  *sum = *rest;
  motion(w, g->A, Ra, ta);
  motion(w, g->B, Rb, tb);
  tgi_v3_sub(apart, ta, tb);
  for (int i = 0; i < 9; i++) R[i] = Rb[i / 3] * Ra[i % 3] + Rb[3 + i / 3] * Ra[3 + i % 3] + Rb[6 + i / 3] * Ra[6 + i % 3];
  tgi_m3_tmulv(t, Rb, apart);
  twist_of(R, t, rho);
  tgi_sp_cross_f(bent, rho, rest->g);
  for (int i = 0; i < 6; i++) {
    tgReal slope = 0;
    for (int j = 0; j < 6; j++) slope += rest->H[i >= j ? TGI_LOWER(i, j) : TGI_LOWER(j, i)] * rho[j];
    sum->P += rho[i] * (rest->g[i] + slope / 2);
    sum->g[i] += slope + bent[i] / 2;
  }
  tgi_sum_carry(Rb, tb, sum);
}

static void add(tgReal f, const tgiPairSum *x, tgiPairSum *to) {
  to->P += f * x->P;
  for (int i = 0; i < 6; i++) to->g[i] += f * x->g[i];
  for (int i = 0; i < 21; i++) to->H[i] += f * x->H[i];
}

// over the hardest leaves of pair i where the trees are, frame (ngeom x 12) being the geoms' there
static bool hard_sum(tgSim *s, int worker, int i, const tgReal *frame, tgiPairSum *sum) {
  tgiBarrierWork *w = tgi_barrier_work(s);
  const tgiGeomPair *g = &w->sums.near.pair[i];
  const tgiWorldTree *A = g->plane ? &w->geom[g->A].plane : &w->geom[g->A].world;
  tgReal n[3];
  bool apart;
  const tgiTreeLaw law = tgi_barrier_law(s, g);
  if (g->plane) {
    tgiHalfSpace t = {.A = A, .n = n, .law = &law, .hard = &w->sums.hard[i]};
    t.height = tgi_barrier_height(s, g, frame + 12 * g->B, frame + 12 * g->B + 3, n);
    apart = tgi_half_space_hard(&t, sum);
  } else {
    apart = tgi_tree_hard(A, &w->geom[g->B].world, &law, w->tree[worker], &w->sums.hard[i], sum);
  }
  if (apart) tgi_sum_carry(NULL, A->origin, sum);
  return apart;
}

// at the pose of the last sums
static void make_rest(void *ctx, int worker, int i) {
  tgiBarrierWork *w = tgi_barrier_work(ctx);
  tgiPairSum hard;
  w->foreseen.rest[i] = w->sums.pair[i].sum;
  if (w->sums.hard[i].n > 0 && hard_sum(ctx, worker, i, w->sums.frame, &hard)) add(-1, &hard, &w->foreseen.rest[i]);
}

static void foresee_pair(void *ctx, int worker, int i) {
  tgiBarrierWork *w = tgi_barrier_work(ctx);
  tgiForeseen *f = &w->foreseen;
  tgiPairSum hard;
  at_pose(w, &w->sums.near.pair[i], &f->rest[i], &f->sum[i]);
  f->separated[i] = true;
  if (w->sums.hard[i].n == 0) return;
  f->separated[i] = hard_sum(ctx, worker, i, w->frame, &hard);
  if (f->separated[i]) add(1, &hard, &f->sum[i]);
}

bool tgi_barrier_foresees(tgSim *s, double reach) {
  tgiBarrierWork *w = tgi_barrier_work(s);
  long before = 0, all = 0;
  for (int i = 0; i < w->sums.near.n; i++) {
    const tgiTreeCount *c = &w->sums.pair[i].count;
    before += w->sums.hard[i].n;
    all += c->leaves + c->points + (c->clusters + c->blends + c->visits) / CHEAP;
  }
  long n = tgi_hard_within(w->sums.hard, w->sums.near.n, FAR * reach, all / PART);
  w->foreseen.made = false;
  w->sums.thinned = true;
  // with no leaf that near the rounds are for what is no parabola besides, friction and joints: worth it where a sum costs more than that
  return LESS * (n > 0 ? n : before) < all;
}

static void place(tgSim *s, const tgReal *frame) { tgi_barrier_place(s, frame, tgi_barrier_work(s)->sums.near.needs); }

void tgi_barrier_foresee(tgSim *s, const tgPose *pose) {
  tgiBarrierWork *w = tgi_barrier_work(s);
  w->pose = pose;
  if (!w->foreseen.made) {
    place(s, w->sums.frame);
    tgi_barrier_each(s, w->sums.near.n, make_rest, s);
    w->foreseen.made = true;
  }
  tgi_lagged_frames(s->m.ngeom, pose->geom_xpos, pose->geom_xmat, w->frame);
  place(s, w->frame);
  tgi_barrier_each(s, w->sums.near.n, foresee_pair, s);
}
