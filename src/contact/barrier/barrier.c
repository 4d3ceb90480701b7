// barrier.c: the `barrier` model: pairs of geoms at a pose, and their sums as terms of bodies.
//
// Based on: [barrier]; [math/barrier Hierarchy], [math/barrier Half-space].
#include "contact/barrier/barrier.h"

#include <stdio.h>
#include <string.h>

#include "contact/barrier/halfspace/halfspace.h"
#include "contact/barrier/tree/local_sum.h"
#include "contact/barrier/parameters.h"
#include "contact/barrier/prepare.h"
#include "contact/barrier/intersecting.h"
#include "kin/kinematics.h"
#include "math/spatial.h"
#include "tangere/ipc.h"
#include "tangere/sdrs.h"

#define BARRIER(kind, ...) TGI_OPTION_##kind(tgBarrierOptions, __VA_ARGS__)
static const tgiOption barrier_option[] = {TG_MINIMISE_OPTIONS(BARRIER) TG_BARRIER_OPTIONS(BARRIER)};

#define SDRS(kind, ...) TGI_OPTION_##kind(tgSdrsOptions, __VA_ARGS__)
static const tgiOption sdrs_option[] = {TG_MINIMISE_OPTIONS(SDRS) TG_SDRS_OPTIONS(SDRS)};

#define IPC(kind, ...) TGI_OPTION_##kind(tgIpcOptions, __VA_ARGS__)
static const tgiOption ipc_option[] = {TG_MINIMISE_OPTIONS(IPC) TG_IPC_OPTIONS(IPC)};

// ---- geoms ----

static bool same(const tgReal *a, const tgReal *b, int n) {
  for (int i = 0; i < n; i++)
    if (!tgZero(a[i] - b[i])) return false;
  return true;
}

// radius around the root's centre that holds the roots of both trees
static double around(const tgiBarrierGeom *geom, bool before_plane) {
  double r = tgRe(geom->numbers.radius[0]);
  tgReal d[3];
  if (!before_plane) return r;
  tgi_v3_sub(d, geom->plane_numbers.centre, geom->numbers.centre);
  return (1 + 1e-12) * fmax(r, sqrt(tgRe(tgi_v3_dot(d, d))) + tgRe(geom->plane_numbers.radius[0]));
}

static bool renew_numbers(const tgSim *s, int g, tgiBarrierGeom *geom) {
  const tgiBarrier *k = tgi_barrier(s);
  const tgReal *size = tgi_surface_size(&s->m, g);
  const tgiBarrierWork *w = s->solver;
  tgReal rounding = k->shapes.surface[g]->rounds ? w->rounding : 0;
  if (geom->made && same(size, geom->size, 3) && w->sunk == geom->sunk && tgZero(rounding - geom->rounding)) return false;
  tgi_v3_copy(geom->size, size);
  geom->sunk = w->sunk;
  geom->rounding = rounding;
  tgi_tree_numbers_at(k->shapes.surface[g], k->shapes.tree[g], k->form, TGI_CLIMB_DEFAULT, size, w->sunk, rounding, &geom->numbers);
  tgi_world_tree_numbers(&geom->numbers, &geom->world);
  if (k->before_plane[g]) {
    if (k->form == TGI_TREE_MOMENT) tgi_plane_numbers(k->shapes.tree[g], &geom->numbers, &geom->plane_numbers);
    else geom->plane_numbers = geom->numbers;
    tgi_world_tree_numbers(&geom->plane_numbers, &geom->plane);
  }
  geom->around = around(geom, k->before_plane[g]);
  geom->placed[0] = geom->placed[1] = false;
  return true;
}

void tgi_barrier_each(tgSim *s, int n, void (*work)(void *ctx, int worker, int item), void *ctx) {
  const tgiBarrier *k = tgi_barrier(s);
  // another simulation may have the threads; the results are the same without
  if (k->pool == NULL || tgi_pool_run(k->pool, n, work, ctx) < 0)
    for (int i = 0; i < n; i++) work(ctx, 0, i);
}

static void renew_geom(void *ctx, int worker, int g) {
  const tgSim *s = ctx;
  tgiBarrierGeom *geom = &((tgiBarrierWork *)s->solver)->geom[g];
  (void)worker;
  geom->renewed = tgi_barrier(s)->shapes.tree[g] != NULL && renew_numbers(s, g, geom);
  geom->made = true;
}

// the numbers of all trees, for a call at the pose; what was summed for others goes
static void renew(tgSim *s, const tgPose *pose) {
  tgiBarrierWork *w = tgi_barrier_work(s);
  w->pose = pose;
  w->rounding = tgi_barrier_rounding(s);
  tgi_barrier_each(s, s->m.ngeom, renew_geom, s);
  tgReal strength = tgi_barrier(s)->law.local > 0 ? 1 : TG_NUMBER(s, far_strength);
  bool other = !tgZero(w->far_strength - strength);
  for (int g = 0; g < s->m.ngeom && !other; g++) other = w->geom[g].renewed;
  if (other) w->sums.current = w->start.current = false;
  w->far_strength = strength;
}

typedef struct Places { tgSim *s; const tgReal *frame; const unsigned char *needs; } Places;

static void place_tree(tgiBarrierGeom *geom, bool plane, const tgReal *frame) {
  if (geom->placed[plane] && same(geom->frame[plane], frame, 12)) return;
  geom->placed[plane] = true;
  memcpy(geom->frame[plane], frame, sizeof geom->frame[plane]);
  tgi_world_tree_transform(plane ? &geom->plane_numbers : &geom->numbers, frame, frame + 3, plane ? &geom->plane : &geom->world);
}

const tgiWorldTree *tgi_barrier_tree_at(tgSim *s, int geom, const tgReal *frame) {
  place_tree(&tgi_barrier_work(s)->geom[geom], false, frame);
  return &tgi_barrier_work(s)->geom[geom].world;
}

static void place_geom(void *ctx, int worker, int g) {
  const Places *p = ctx;
  tgiBarrierGeom *geom = &((tgiBarrierWork *)p->s->solver)->geom[g];
  (void)worker;
  if (p->needs[g] & TGI_NEAR_WORLD) place_tree(geom, false, p->frame + 12 * g);
  if (p->needs[g] & TGI_NEAR_PLANE) place_tree(geom, true, p->frame + 12 * g);
}

void tgi_barrier_place(tgSim *s, const tgReal *frame, const unsigned char *needs) {
  Places p = {.s = s, .frame = frame, .needs = needs};
  tgi_barrier_each(s, s->m.ngeom, place_geom, &p);
}

static void place_listed(tgSim *s) {
  tgiBarrierWork *w = tgi_barrier_work(s);
  tgi_lagged_frames(s->m.ngeom, w->pose->geom_xpos, w->pose->geom_xmat, w->frame);
  tgi_barrier_place(s, w->frame, w->sums.near.needs);
}

void tgi_barrier_transform(tgSim *s, const tgPose *pose) {
  renew(s, pose);
  place_listed(s);
}

static bool sums_at(const tgSim *s, const tgiBarrierSums *sums, const tgPose *pose) {
  bool good = sums->current;
  for (int g = 0; g < s->m.ngeom && good; g++)
    good = same(sums->frame + 12 * g, pose->geom_xpos + 3 * g, 3) && same(sums->frame + 12 * g + 3, pose->geom_xmat + 9 * g, 9);
  return good;
}

// the pairs are those of the pose
static bool summed(tgSim *s, const tgPose *pose) { return sums_at(s, &tgi_barrier_work(s)->sums, pose); }

// ---- pairs ----

// M = R M R'
static void turn(const tgReal R[9], tgReal M[9]) {
  tgReal T[9];
  tgi_m3_mul(T, R, M);
  tgi_m3_mult(M, T, R);
}

// [t] M'
static void cross_rows(const tgReal t[3], const tgReal M[9], tgReal out[9]) {
  tgReal c[3];
  for (int j = 0; j < 3; j++) {
    tgi_v3_cross(c, t, M + 3 * j);
    for (int i = 0; i < 3; i++) out[3 * i + j] = c[i];
  }
}

// g = X' g, H = (A, B; B', D) = X' H X with X = (R', 0; -R' [t], R'), which takes twists (w; v) to (R' w; R' (v - t x w)): each block
// turned, then B + [t] D and A + [t] B' + ([t] (B + [t] D)')'
void tgi_sum_carry(const tgReal *R, const tgReal t[3], tgiPairSum *sum) {
  tgReal A[9], B[9], D[9], T[9], U[9], *H = sum->H, *m = sum->g, *f = sum->g + 3;
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < 3; j++) {
      int low = i < j ? i : j, high = i < j ? j : i;
      A[3 * i + j] = H[TGI_LOWER(high, low)];
      B[3 * i + j] = H[TGI_LOWER(3 + j, i)];
      D[3 * i + j] = H[TGI_LOWER(3 + high, 3 + low)];
    }
  if (R != NULL) {
    turn(R, A);
    turn(R, B);
    turn(R, D);
    tgi_m3_mulv(T, R, m);
    tgi_m3_mulv(T + 3, R, f);
    memcpy(sum->g, T, sizeof sum->g);
  }
  tgi_v3_cross(T, t, f);
  tgi_v3_add(m, m, T);
  cross_rows(t, B, T);
  cross_rows(t, D, U);
  for (int i = 0; i < 9; i++) {
    A[i] += T[i];
    B[i] += U[i];
  }
  cross_rows(t, B, U);
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < 3; j++) {
      H[TGI_LOWER(3 + j, i)] = B[3 * i + j];
      if (j > i) continue;
      H[TGI_LOWER(i, j)] = A[3 * i + j] + U[3 * j + i];
      H[TGI_LOWER(3 + i, 3 + j)] = D[3 * i + j];
    }
}

tgReal tgi_barrier_height(tgSim *s, const tgiGeomPair *g, const tgReal *x, const tgReal *R, tgReal n[3]) {
  tgReal d[3];
  tgi_m3_col(n, R, 2);
  tgi_v3_sub(d, tgi_barrier_work(s)->geom[g->A].plane.origin, x);
  return tgi_v3_dot(n, d) + tgi_barrier_work(s)->sunk;
}

// What is summed, and friction's points of the forces, NULL: none.
typedef struct Sums { tgSim *s; tgiLaggedPoints *points; } Sums;

static void sum_pair(void *ctx, int worker, int item) {
  const Sums *sums = ctx;
  tgSim *s = sums->s;
  tgiBarrierWork *w = tgi_barrier_work(s);
  const tgiGeomPair *g = &w->sums.near.pair[item];
  tgiBarrierPair *p = &w->sums.pair[item];
  const tgiWorldTree *A = g->plane ? &w->geom[g->A].plane : &w->geom[g->A].world;
  const tgiWorldTree *B = g->plane ? NULL : &w->geom[g->B].world;
  tgReal n[3] = {0}, height = 0;
  const tgiTreeLaw law = tgi_barrier_law(s, g);
  tgiFrictionShare share = {.all = 0};
  tgiHardLog *log = w->log[worker];
  log->pair = item;
  log->times = g->times;
  log->own = (tgiHardLeaves){.at = w->own + (size_t)item * (size_t)log->few};
  tgiForceScatter room, *scatter = NULL;
  if (sums->points != NULL && tgi_lagged_scatters(s, g)) {
    room = tgi_lagged_scatter(s, worker, g, &share);
    scatter = &room;
  }
  if (g->plane) {
    height = tgi_barrier_height(s, g, w->pose->geom_xpos + 3 * g->B, w->pose->geom_xmat + 9 * g->B, n);
    p->face[1] = -1;
  }
  if (law.local > 0) {
    p->separated = tgi_local_sum(A, B, n, height, &law, &p->sum, p->face, &p->clear, &p->count);
  } else if (g->plane) {
    tgiHalfSpace t = {.A = A, .n = n, .height = height, .law = &law, .work = w->height[worker], .scatter = scatter,
                      .log = log};
    p->separated = tgi_half_space(&t, &p->sum, &p->face[0], &p->clear, &p->count);
  } else {
    tgi_tree_work_scatter(w->tree[worker], scatter);
    tgi_tree_work_hard(w->tree[worker], log);
    p->separated = tgi_tree_pair(A, B, &law, w->tree[worker], &p->sum, p->face, &p->clear, &p->count);
    tgi_tree_work_scatter(w->tree[worker], NULL);
    tgi_tree_work_hard(w->tree[worker], NULL);
  }
  w->sums.hard[item] = log->own;
  if (p->separated && sums->points != NULL) p->separated = tgi_lagged_gather(s, worker, item, scatter, sums->points);
  if (p->separated) tgi_sum_carry(NULL, A->origin, &p->sum);
}

// the step's potential, and friction's points ahead where they are asked for
static tgStatus sum_pairs(tgSim *s, bool friction) {
  tgiBarrierWork *w = tgi_barrier_work(s);
  tgiLaggedPoints *ahead = &w->lagged.ahead;
  Sums sums = {.s = s, .points = friction ? ahead : NULL};
  w->sums.current = w->sums.thinned = w->foreseen.made = ahead->made = false;
  TG_TRY(tgi_near_at(s, w->pose, &w->sums.near));
  place_listed(s);
  if (friction) ahead->used = 0;
  for (int t = 0; t < w->nthread; t++) tgi_hard_begin(w->log[t]);
  tgi_barrier_each(s, w->sums.near.n, sum_pair, &sums);
  tgi_hard_gather(w->log, w->nthread, w->sums.hard, w->sums.near.n, w->sums.leaf);
  w->sums.current = true;
  ahead->made = friction;
  ahead->weight = TG_NUMBER(s, weight);
  tgi_lagged_frames(s->m.ngeom, w->pose->geom_xpos, w->pose->geom_xmat, w->sums.frame);
  return TG_OK;
}

// Where the step is foreseen to end friction's points are asked for too: the next one starts here, and needs no sums of its own then.
tgStatus tgi_barrier_pairs(tgSim *s, const tgPose *pose, bool last) {
  renew(s, pose);
  if (!summed(s, pose)) return sum_pairs(s, last && tgi_lagged_by_sums(s));
  place_listed(s);
  return TG_OK;
}

// ---- terms ----

// T(i, j) = g . [e_i, e_j]
static void brackets(const tgReal g[6], tgReal T[36]) {
  memset(T, 0, 36 * sizeof *T);
  for (int i = 0; i < 3; i++) {
    int j = (i + 1) % 3, k = (i + 2) % 3;   // [e_j, e_k] = e_i, of turns; of a turn and a shift the shift
    T[6 * j + k] = g[i];
    T[6 * k + j] = -g[i];
    T[6 * j + 3 + k] = T[6 * (3 + j) + k] = g[3 + i];
    T[6 * k + 3 + j] = T[6 * (3 + k) + j] = -g[3 + i];
  }
}

// A's twist is that of the relative pose; with both bodies free it is xi1 - xi2 - 1/2 [xi2, xi1]: the last part turns g
// into the blocks between them. X gets minus the second derivative of the energy.
static void add_term(tgReal mu, const tgiGeomPair *g, const tgiPairSum *sum, tgPairTerm *t) {
  int a = g->swapped ? 6 : 0, b = 6 - a;
  tgReal T[36];
  brackets(sum->g, T);
  t->energy += mu * sum->P;
  for (int i = 0; i < 6; i++) {
    t->w[a + i] -= mu * sum->g[i];
    t->w[b + i] += mu * sum->g[i];
  }
  for (int i = 0; i < 6; i++)
    for (int j = 0; j < 6; j++) {
      // of e_i on B and e_j on A: -1/2 g.[e_i, e_j]
      tgReal h = mu * sum->H[i >= j ? TGI_LOWER(i, j) : TGI_LOWER(j, i)], turn = 0.5 * mu * T[6 * i + j];
      t->X[12 * (a + i) + a + j] -= h;
      t->X[12 * (b + i) + b + j] -= h;
      t->X[12 * (b + i) + a + j] += h + turn;
      t->X[12 * (a + j) + b + i] += h + turn;
    }
}

// of the barrier alone, before friction is added
static void add_hardening(tgPairTerm *t) {
  const tgReal *w = t->w + 3;
  tgReal square = tgi_v3_dot(w, w), bend = 0;
  for (int i = 0; i < 6; i++) t->push[i] = -t->w[i];
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < 3; j++) bend -= w[i] * t->X[12 * (3 + i) + 3 + j] * w[j];
  t->hardening = tgRe(square) > 0 && tgRe(bend) > 0 ? bend / (square * square) : 0;
}

static void clear_terms(tgSim *s) {
  tgiTermTable *t = &tgi_barrier_work(s)->term;
  s->nterm = 0;
  memset(t->at, 0, (t->mask + 1) * sizeof *t->at);
}

tgPairTerm *tgi_barrier_term(tgSim *s, const tgiGeomPair *g) {
  const tgiTermTable *table = &tgi_barrier_work(s)->term;
  size_t at = ((uint64_t)g->body[0] * 0x9E3779B97F4A7C15u + (uint64_t)g->body[1] * 0xC2B2AE3D27D4EB4Fu) >> 20 & table->mask;
  while (table->at[at].term > 0 && (table->at[at].body1 != g->body[0] || table->at[at].body2 != g->body[1])) at = (at + 1) & table->mask;
  bool fresh = table->at[at].term == 0;
  if (fresh) {
    table->at[at].body1 = g->body[0];
    table->at[at].body2 = g->body[1];
    table->at[at].term = ++s->nterm;
  }
  int term = table->at[at].term;
  if (term > s->cap.nterm) return NULL;
  tgPairTerm *t = &s->term[term - 1];
  if (fresh) {
    memset(t, 0, sizeof *t);
    t->body1 = g->body[0];
    t->body2 = g->body[1];
  }
  return t;
}

static bool is_zero(const tgiPairSum *sum) {
  bool zero = tgZero(sum->P);
  for (int i = 0; i < 6 && zero; i++) zero = tgZero(sum->g[i]);
  for (int i = 0; i < 21 && zero; i++) zero = tgZero(sum->H[i]);
  return zero;
}

static void add_sum(tgSim *s, const tgiGeomPair *g, const tgiPairSum *sum) {
  tgPairTerm *t = is_zero(sum) ? NULL : tgi_barrier_term(s, g);
  if (t != NULL) add_term(tgi_barrier_weight(s, g), g, sum, t);
}

// have all terms found room?
static tgStatus check_room(tgSim *s) {
  int nterm = s->nterm;
  if (nterm <= s->cap.nterm) return TG_OK;
  if (nterm > s->wanted.nterm) s->wanted.nterm = nterm;
  s->nterm = 0;
  return tgi_error(&s->error, TG_ERR_CAPACITY, "%d pairs of bodies feel each other and there is room for %d; reserve more and repeat.",
                   nterm, s->cap.nterm);
}

// where both stand in their lists, which ascend, what the sums know of the distances of the step bound's pairs; 0 elsewhere
static void note_apart(tgiBarrierWork *w) {
  const tgiBarrierSums *sums = &w->sums;
  for (int i = 0, j = 0; i < w->step.n; i++) {
    while (j < sums->near.n && sums->near.pair[j].pair < w->step.pair[i]) j++;
    w->apart[i] = j < sums->near.n && sums->near.pair[j].pair == w->step.pair[i] ? sums->pair[j].clear.all : 0;
  }
}

// How far the step may go before something touches, by the sphere trees of the sizes of the last begin. Sums at q know
// how far surfaces are apart at least: most pairs need not be looked at again.
static tgStatus advance(tgSim *s, const tgPose *pose, const tgReal *d, double *fraction) {
  tgiBarrierWork *w = tgi_barrier_work(s);
  bool known = summed(s, pose);
  TG_TRY(tgi_near_along(s, pose, d));
  if (known && tgi_barrier(s)->pair == NULL) note_apart(w);
  for (int i = 0; i < w->advance.npair && known && tgi_barrier(s)->pair != NULL; i++) w->apart[i] = w->sums.pair[i].clear.all;
  w->advance.apart = known ? w->apart : NULL;
  return tgi_advance(s, &w->advance, pose, d, fraction);
}

static void friction_of_pair(void *ctx, int worker, int item) {
  (void)worker;
  tgi_lagged_pair(ctx, item);
}

// The terms of the pairs at hand that act. They carry all that a barrier has: sums give values and derivatives together.
static tgStatus add_terms(tgSim *s, bool foreseen) {
  tgiBarrierWork *w = tgi_barrier_work(s);
  const tgiNearPairs *near = &w->sums.near;
  clear_terms(s);
  s->energy = 0;
  s->info.least_distance = INFINITY;
  for (int i = 0; i < near->n; i++) {
    if (!(foreseen ? w->foreseen.separated[i] : w->sums.pair[i].separated)) {
      s->energy = INFINITY;
      return TG_OK;
    }
    add_sum(s, &near->pair[i], foreseen ? &w->foreseen.sum[i] : &w->sums.pair[i].sum);
    s->info.least_distance = fmin(s->info.least_distance, w->sums.pair[i].clear.solved);
  }
  for (int i = 0; i < w->lagged.nacting; i++) tgi_barrier_term(s, &w->lagged.acting[i]);
  TG_TRY(check_room(s));
  for (int t = 0; t < s->nterm; t++) add_hardening(&s->term[t]);
  tgi_barrier_each(s, w->lagged.nacting, friction_of_pair, s);
  tgi_lagged_evaluate(s);
  for (int t = 0; t < s->nterm; t++) {
    tgi_term_turn(&s->term[t]);
    s->energy += s->term[t].energy;
  }
  return TG_OK;
}

static tgStatus evaluate(tgSim *s, const tgPose *pose, unsigned want) {
  bool foreseen = (want & TG_LAW_FORESEEN) != 0;
  if (foreseen) tgi_barrier_foresee(s, pose);
  else TG_TRY(tgi_barrier_pairs(s, pose, (want & TG_LAW_LAST) != 0));
  return add_terms(s, foreseen);
}

// the surfaces are the meshes' own, which a changed hull does not move
static tgStatus check_hulls(tgSim *s) {
  if (!s->hulls_given || same(s->m.hull_vert, s->model->hull_vert, 3 * s->m.nhullvert)) return TG_OK;
  return tgi_error(&s->error, TG_ERR_UNSUPPORTED,
                   "hull_vert was changed, and this contact model's geoms are the meshes' own triangles; geom_scale moves those.");
}

// sizes and the radius of edges are this simulation's own
static tgStatus check_rounding(tgSim *s) {
  double rounding = tgRe(tgi_barrier_rounding(s));
  for (int g = 0; g < s->m.ngeom && rounding > 0; g++) {
    const tgiBarrierGeom *geom = &tgi_barrier_work(s)->geom[g];
    bool known = geom->made && tgRe(geom->rounding) == rounding && same(tgi_surface_size(&s->m, g), geom->size, 3);
    if (!known) TG_TRY(tgi_shape_check_rounding(&s->m, &tgi_barrier(s)->shapes, g, rounding, TG_ERR_INVALID, &s->error));
  }
  return TG_OK;
}

static tgStatus sum_at_start(tgSim *s, double sunk) {
  tgiBarrierWork *w = tgi_barrier_work(s);
  w->sunk = w->advance.sunk = sunk;
  s->widened = 2 * sunk;
  renew(s, &s->start);
  const tgiLaggedPoints *ahead = &w->lagged.ahead;
  if (!summed(s, &s->start) || w->sums.thinned || !ahead->made || !tgZero(ahead->weight - TG_NUMBER(s, weight))) return sum_pairs(s, true);
  place_listed(s);
  return TG_OK;
}

// ties of closest features in the last sums, added to *n; *pair: of the model, the first that has one where n was 0
static void count_ties(const tgiBarrierWork *w, int *n, int *pair) {
  for (int i = 0; i < w->sums.near.n; i++) {
    long ties = w->sums.pair[i].count.ties;
    if (ties > 0 && *n == 0) *pair = w->sums.near.pair[i].pair;
    *n += (int)ties;
  }
}

// the forces of friction are those at the start
static void note_ties(tgSim *s) {
  tgiBarrierWork *w = tgi_barrier_work(s);
  w->ties = 0;
  if (w->lagged.nacting > 0) count_ties(w, &w->ties, &w->tied_pair);
}

static tgStatus ipc_nonsmooth(tgSim *s, double h, tgGradInfo *info) {
  const tgiBarrierWork *w = s->solver;
  int n = w->ties, pair = w->tied_pair;
  char a[100], b[100];
  (void)h;
  count_ties(w, &n, &pair);
  if (n == 0) return TG_OK;
  info->label = TG_GRAD_ONE_SIDED;
  if (info->ties == 0)
    snprintf(info->reason, sizeof info->reason, "of %s and %s other features are as close as those that the barrier takes",
             tgi_model_label(&s->m, TG_THING_GEOM, s->m.pair_geom1[pair], a, sizeof a),
             tgi_model_label(&s->m, TG_THING_GEOM, s->m.pair_geom2[pair], b, sizeof b));
  info->ties += n;
  return TG_OK;
}

static bool all_separated(tgSim *s) {
  const tgiBarrierWork *w = tgi_barrier_work(s);
  for (int i = 0; i < w->sums.near.n; i++)
    if (!w->sums.pair[i].separated) return false;
  return true;
}

static tgStatus begin(tgSim *s, double h) {
  TG_TRY(check_hulls(s));
  TG_TRY(check_rounding(s));
  const tgiBarrier *k = tgi_barrier(s);
  tgiBarrierWork *w = tgi_barrier_work(s);
  w->advance.known = false;
  tgi_lagged_freeze(s, h);
  TG_TRY(sum_at_start(s, k->sunk));
  // another contact model's state may have bodies nearer than touching
  for (double sunk = 2 * k->sunk; s->visiting && sunk > 0 && sunk < k->most_sunk && !all_separated(s); sunk *= 2)
    TG_TRY(sum_at_start(s, sunk));
  tgi_lagged_take(s);
  TG_TRY(tgi_barrier_check_separated(s));
  TG_TRY(tgi_lagged_planes(s));
  note_ties(s);
  return TG_OK;
}

static void swap_sums(tgiBarrierWork *w) {
  tgiBarrierSums sums = w->sums;
  w->sums = w->start;
  w->start = sums;
  w->foreseen.made = false;
}

// Steps are put back from the last to the first: one ends where the one after it started, whose sums are there. So each
// needs those of its start alone.
static tgStatus revisit(tgSim *s, double h) {
  tgiBarrierWork *w = tgi_barrier_work(s);
  tgi_lagged_freeze(s, h);
  if (sums_at(s, &w->start, &s->end)) swap_sums(w);
  TG_TRY(tgi_barrier_pairs(s, &s->end, false));
  swap_sums(w);
  renew(s, &s->start);
  TG_TRY(sum_pairs(s, true));
  tgi_lagged_take(s);
  TG_TRY(tgi_lagged_planes(s));
  note_ties(s);
  swap_sums(w);
  tgi_barrier_transform(s, &s->end);
  return add_terms(s, false);
}

// friction alone is lagged
static tgStatus start_d(tgSim *s, const tgPose *pose) {
  for (int t = 0; t < s->nterm; t++) memset(s->term[t].B, 0, sizeof s->term[t].B);
  return tgi_lagged_mixed(s, pose);
}

static const char *term_label(const tgSim *s, int term, char *text, size_t size) {
  char a[128], b[128];
  const tgPairTerm *t = &s->term[term];
  snprintf(text, size, "%s and %s", tgi_model_label(&s->m, TG_THING_BODY, t->body1, a, sizeof a),
           tgi_model_label(&s->m, TG_THING_BODY, t->body2, b, sizeof b));
  return text;
}

static const tgLaw law = {
    .has = TG_LAW_ENERGY | TG_LAW_POSE,
    .terms = tgi_barrier_terms,
    .begin = begin,
    .evaluate = evaluate,
    .foresees = tgi_barrier_foresees,
    .revisit = revisit,
    .step_bound = advance,
    .start_d = start_d,
    .start_vjp = tgi_lagged_mixed_vjp,
    .parameters = tgi_barrier_parameters,
    .by_bodies = true,
    .plane_normal = true,
    .plane_point = true,
    .term_label = term_label,
};

static const tgContactDoubt barrier_doubts[] = {
    {.name = "stiffer", .option = "weight", .factor = 0.01, .finer = true, .required = true},
    {.name = "near", .option = "long_range", .word = "off"},
    {.name = NULL}};

const tgContactModel tgi_barrier_model = {
    .word = "barrier",
    .stepper = "minimise",
    .options = TGI_OPTION_LIST(barrier_option, tgBarrierOptions),
    .solver_bytes = tgi_barrier_bytes,
    .prepare = tgi_barrier_prepare,
    .release = tgi_barrier_release,
    .resting_gap = tgi_barrier_resting_gap,
    .thicker = tgi_barrier_thicker,
    .param_nonsmooth = tgi_barrier_param_nonsmooth,
    .touches = tgi_barrier_touches,
    .touch = tgi_barrier_touch,
    .doubts = barrier_doubts,
    .law = &law,
};

static const tgContactDoubt local_doubts[] = {
    {.name = "stiffer", .option = "weight", .factor = 0.01, .finer = true, .required = true},
    {.name = NULL}};

const tgContactModel tgi_sdrs_model = {
    .word = "sdrs",
    .stepper = "minimise",
    .options = TGI_OPTION_LIST(sdrs_option, tgSdrsOptions),
    .solver_bytes = tgi_barrier_bytes,
    .prepare = tgi_barrier_prepare,
    .release = tgi_barrier_release,
    .resting_gap = tgi_barrier_resting_gap,
    .param_nonsmooth = tgi_barrier_param_nonsmooth,
    .touches = tgi_barrier_touches,
    .touch = tgi_barrier_touch,
    .doubts = local_doubts,
    .law = &law,
};

const tgContactModel tgi_ipc_model = {
    .word = "ipc",
    .stepper = "minimise",
    .options = TGI_OPTION_LIST(ipc_option, tgIpcOptions),
    .solver_bytes = tgi_barrier_bytes,
    .prepare = tgi_barrier_prepare,
    .release = tgi_barrier_release,
    .resting_gap = tgi_barrier_resting_gap,
    .nonsmooth = ipc_nonsmooth,
    .param_nonsmooth = tgi_barrier_param_nonsmooth,
    .touches = tgi_barrier_touches,
    .touch = tgi_barrier_touch,
    .doubts = local_doubts,
    .law = &law,
};
