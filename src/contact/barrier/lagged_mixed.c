// lagged_mixed.c: friction's derivatives in the poses at the start of a step: B of the terms, and B' Z for one Z. See lagged.h.
//
// B' Z needs no rates of forces along directions: what Z weighs the points of friction by, the patches weigh their
// forces by, and the sum over the trees takes it back to the pose of A (tree_reverse.c).
#include <string.h>

#include "contact/barrier/barrier.h"
#include "contact/barrier/halfspace/halfspace.h"
#include "math/spatial.h"

typedef struct Mix { tgiFrictionLaw law; tgiFrictionMotion m[2]; tgReal B[144]; } Mix;

static void mix_point(void *ctx, const tgiFrictionPoint *p, const tgiFrictionPoint *dp) {
  Mix *x = ctx;
  tgi_friction_mixed(p, dp, &x->law, x->m, x->B);
}

static void mix_plane(void *ctx, const tgiFrictionPlane *p, const tgiFrictionPlane *dp) {
  Mix *x = ctx;
  tgi_friction_plane_mixed(p, dp, &x->law, x->m, x->B);
}

// B (order A, B) of one pair, by the plain walk
static bool mixed_pair(tgSim *s, int worker, const tgiGeomPair *g, Mix *x) {
  tgiDirection dir[6] = {{.twist = {0}}};
  tgiForceSum sum;
  tgReal n[3];
  for (int j = 0; j < 6; j++) dir[j].twist[j] = 1;
  *x = (Mix){.law = tgi_lagged_law(s, g)};
  tgi_lagged_motions(s, g, x->m);
  tgiForceTask t = tgi_lagged_task(s, g, tgi_barrier_work(s)->lagged.geom, n);
  t.room = tgi_lagged_room(s, worker);
  t.ctx = x;
  t.nd = 6;
  t.dir = dir;
  if (tgi_lagged_in_planes(s, g)) t.plane = mix_plane; else t.point = mix_point;
  return tgi_tree_force(&t, &sum);
}

static tgStatus touches(tgSim *s) { return tgi_error(&s->error, TG_ERR_INVALID, "The step starts where two geoms touch."); }

tgStatus tgi_lagged_mixed(tgSim *s, const tgPose *pose) {
  const tgiLagged *lagged = &tgi_barrier_work(s)->lagged;
  tgi_barrier_work(s)->pose = pose;
  tgi_lagged_transform(s);
  for (int i = 0; i < lagged->nacting; i++) {
    const tgiGeomPair *g = &lagged->acting[i];
    Mix x;
    if (!mixed_pair(s, 0, g, &x)) return touches(s);
    tgi_lagged_subtract_blocks(g, x.B, tgi_barrier_term(s, g)->B);
  }
  return TG_OK;
}

// ---- B' Z ----

// of A and of B
static void bodies(const tgiGeomPair *g, int body[2]) {
  for (int side = 0; side < 2; side++) body[side] = g->body[g->swapped ? 1 - side : side];
}

// weights of the sums of patches and of the share, from those of the points of an acting pair
static void weigh(tgSim *s, int acting, const tgReal Z[12], tgiPatchWeight *weight, tgiFrictionShare *share, tgReal out[12]) {
  const tgiLagged *lagged = &tgi_barrier_work(s)->lagged;
  const tgiGeomPair *g = &lagged->acting[acting];
  int i = lagged->slot[acting];
  const tgiFrictionShare unit[2] = {{.all = 1}, {.near = 1}};
  tgiFrictionLaw law = tgi_lagged_law(s, g);
  tgiFrictionMotion m[2];
  tgReal rate[2], factor = tgi_friction_factor(&lagged->start.share[i], 2, unit, rate), all = 0;
  tgi_lagged_motions(s, g, m);
  memset(weight, 0, (size_t)tgi_barrier(s)->npatch[g->A] * sizeof *weight);
  for (int j = lagged->start.first[i]; j < lagged->start.first[i] + lagged->start.npoint[i]; j++) {
    const tgiFrictionPoint *p = &lagged->start.point[j];
    tgiFrictionPoint bar;
    tgReal N = p->N / factor;
    tgiPatchWeight *w = &weight[lagged->start.patch[j]];
    tgi_friction_mixed_vjp(p, &law, m, Z, &bar, out);
    tgi_v3_copy(w->pa, p->a);
    tgi_v3_copy(w->pb, p->b);
    memcpy(w->Q, p->Q, sizeof w->Q);
    w->N = factor * bar.N;
    for (int c = 0; c < 6; c++) w->M[c] = -bar.Q[c] / N;
    tgi_v3_scale(w->a, bar.a, 1 / N);
    tgi_v3_scale(w->b, bar.b, 1 / N);
    all += bar.N * N;
  }
  *share = (tgiFrictionShare){.all = all * rate[0], .near = all * rate[1]};
}

static bool reverse(tgSim *s, int worker, int acting, const tgReal Z[12], tgReal out[12]) {
  const tgiBarrier *k = tgi_barrier(s);
  tgiBarrierWork *w = tgi_barrier_work(s);
  const tgiGeomPair *g = &w->lagged.acting[acting];
  tgiTreeWork *tree = w->tree[worker];
  tgReal n[3], lever[3];
  tgiForceTask t = tgi_lagged_task(s, g, w->lagged.geom, n);
  tgiPatchWeight *weight = w->lagged.weight + (size_t)worker * (size_t)k->most_patches;
  tgiForceReverse p = {.mu = t.mu, .range = t.range, .patch = t.patch, .weight = weight};
  tgiPairSum sum;
  int face[2];
  bool separated;
  tgi_v3_copy(p.origin, t.A->origin);
  weigh(s, acting, Z, weight, &p.share, out);
  if (g->plane) {
    tgiHalfSpace plane = {.A = t.A, .n = n, .height = t.height, .law = &t.law, .work = w->height[worker], .reverse = &p};
    separated = tgi_half_space(&plane, &sum, face, NULL, NULL);
  } else {
    tgi_tree_work_scatter(tree, NULL);
    tgi_tree_work_reverse(tree, &p);
    separated = tgi_tree_pair(t.A, t.B, &t.law, tree, &sum, face, NULL, NULL);
    tgi_tree_work_reverse(tree, NULL);
  }
  // from A's origin to the world's
  tgi_v3_cross(lever, t.A->origin, p.twist + 3);
  tgi_v3_add(p.twist, p.twist, lever);
  for (int j = 0; j < 6; j++) {
    out[j] += p.twist[j];
    out[6 + j] -= p.twist[j];
  }
  return separated;
}

typedef struct Product { tgSim *s; const tgReal *Z; } Product;

static void reverse_pair(void *ctx, int worker, int acting) {
  const Product *c = ctx;
  tgiLagged *lagged = &tgi_barrier_work(c->s)->lagged;
  const tgiGeomPair *g = &lagged->acting[acting];
  tgReal Z[12], *out = lagged->out + 12 * acting;
  int body[2];
  memset(out, 0, 12 * sizeof *out);
  bodies(g, body);
  for (int side = 0; side < 2; side++) tgi_sp_copy(Z + 6 * side, c->Z + 6 * body[side]);
  if (tgi_lagged_scatters(c->s, g)) {
    lagged->separated[acting] = reverse(c->s, worker, acting, Z, out);
    return;
  }
  Mix x;
  lagged->separated[acting] = mixed_pair(c->s, worker, g, &x);
  for (int r = 0; r < 12; r++)
    for (int j = 0; j < 12; j++) out[j] += Z[r] * x.B[12 * r + j];
}

tgStatus tgi_lagged_mixed_vjp(tgSim *s, const tgPose *pose, const tgReal *Z, tgReal *out) {
  const tgiLagged *lagged = &tgi_barrier_work(s)->lagged;
  Product c = {.s = s, .Z = Z};
  tgi_barrier_work(s)->pose = pose;
  tgi_lagged_transform(s);
  tgi_barrier_each(s, lagged->nacting, reverse_pair, &c);
  for (int i = 0; i < lagged->nacting; i++) {
    int body[2];
    if (!lagged->separated[i]) return touches(s);
    bodies(&lagged->acting[i], body);
    for (int side = 0; side < 2; side++) tgi_sp_axpy(out + 6 * body[side], -1, lagged->out + 12 * i + 6 * side);
  }
  return TG_OK;
}
