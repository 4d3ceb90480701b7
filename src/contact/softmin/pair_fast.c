// pair_fast.c: see pair_fast.h.
#include "contact/softmin/pair_fast.h"

#include <string.h>

#include "math/spatial.h"

enum { LANES = TGI_SOFT_LANES };

// Derivatives of a tail are larger than the tail by its exponents over the widths, while the whole may be small by
// cancellation (as in eps1): where there are derivatives tails are this much smaller.
#define DERIVED 1e-5

// ---- heights ----

// what of the source may count for a block: as listed, or gathered where there was no room
static tgiSoftSource source_of(const tgiSoftSearch *q, const tgiSoftMeeting *s, const tgiSoftCandidate *c) {
  const tgiSsdfBlock *points = s->points->numbers.block + c->block;
  tgiSsdfBall ball = {.r = 0};
  if (c->n >= 0 || tgi_soft_by_grid(s)) return tgi_soft_source(q, s, s->cut, q->plan->pool + c->first, c->n);
  double m[3];
  for (int k = 0; k < 3; k++) {
    m[k] = 0.5 * (points->lo[k] + points->hi[k]);
    ball.r += (points->hi[k] - m[k]) * (points->hi[k] - m[k]);
  }
  ball.r = sqrt(ball.r);
  for (int k = 0; k < 3; k++)
    ball.c[k] = s->pose.R[3 * k] * m[0] + s->pose.R[3 * k + 1] * m[1] + s->pose.R[3 * k + 2] * m[2] + s->pose.t[k];
  tgi_ssdf_nearest(s->source->tree, &s->source->numbers, ball.c, INFINITY, false, &ball.near);
  int n = tgi_ssdf_gather(s->source->tree, &s->source->numbers, ball.c, ball.r, s->cut, &ball.near, q->plan->work->blocks);
  return tgi_soft_source(q, s, s->cut, q->plan->work->blocks, n);
}

// of a plane's only point: normal and place
static void plane_of(const tgiSoftMeeting *s, tgReal n[3], tgReal at[3]) {
  for (int k = 0; k < 3; k++) {
    n[k] = s->source->numbers.block->normal[k][0];
    at[k] = s->source->numbers.block->p[k][0];
  }
}

static void exact_heights(const tgiSoftSearch *q, int o, const int *at, int n, tgReal *phi) {
  const tgiSoftMeeting *s = &q->side[o];
  const tgiSsdfBlock *points = s->points->numbers.block;
  tgReal normal[3], place[3];
  plane_of(s, normal, place);
  if (s->kind == TGI_SOFT_PLANE) TGI_ISA_CALL(q->isa, tgi_soft_plane_heights, (normal, place, &s->frame, points, at, n, phi));
  else TGI_ISA_CALL(q->isa, tgi_soft_ball_heights, (q->p->side[o].surface.ball, &s->frame, points, at, n, phi));
}

static int heights_of(const tgiSoftSearch *q, int o) { return LANES * (q->plan->list[o].n + q->plan->list[o].ncandidate); }

static void lower(tgiSoftSearch *q, const tgiSsdfBlock *points, const tgReal phi[LANES]) {
  for (int l = 0; l < points->used; l++) q->least = tgRe(phi[l]) < q->least ? tgRe(phi[l]) : q->least;
}

static void points_at(int isa, const tgiSoftSource *source, const tgiSoftPush *push, const tgiSoftFrame *pose,
                      const tgiSsdfBlock *points, tgReal *phi, tgReal *force) {
  if (source->grid != NULL) TGI_ISA_CALL(isa, tgi_soft_grid_points, (source, push, pose, points, phi, force));
  else TGI_ISA_CALL(isa, tgi_soft_points, (source, push, pose, points, phi, force));
}

// how the points of a side are pushed where the least height is `least`, or less
static tgiSoftPush push_of(const tgiSoftSearch *q, int o, double least) {
  const tgiSoftLaw *l = &q->p->law;
  const tgiSoftSide *P = &q->p->side[1 - o], *O = &q->p->side[o];
  double over = least / q->eps2 - log(q->tail);   // exponents of weight and push together reach it at `far`
  tgiSoftPush push = {.k = l->k, .eps3 = l->eps, .v_d = l->v_d, .v_s = l->v_s, .mu = l->mu, .eps2 = q->p->eps2,
                      .level = least, .tail = q->tail, .share = q->side[o].share,
                      .reach = least + q->cut};
  push.far = over > 0 ? over / (1 / q->eps2 + 1 / tgRe(l->eps)) : over * q->eps2;
  tgReal V[6], v[3], w[3];
  tgi_sp_sub(V, P->V, O->V);
  tgi_sp_point_velocity(v, V, O->x);
  for (int k = 0; k < 3; k++) {
    tgi_m3_col(w, O->R, k);
    push.v[k] = tgi_v3_dot(w, v);
    push.w[k] = tgi_v3_dot(w, V);
  }
  return push;
}

// All heights, to plan->work->phi: of either side its blocks, then its candidates. The least of them is the pair's. Planes
// and balls come first, so that `forces` (on vectors) knows what is out of reach.
static void set_heights(tgiSoftSearch *q, bool forces) {
  tgReal *phi[2] = {q->plan->work->phi, q->plan->work->phi + heights_of(q, 0)}, *force = q->plan->work->force;
  q->least = INFINITY;
  for (int o = 0; o < 2; o++) {
    const tgiSoftMeeting *s = &q->side[o];
    const tgiSoftList *list = &q->plan->list[o];
    if (list->n == 0) continue;
    exact_heights(q, o, list->block, list->n, phi[o]);
    for (int a = 0; a < list->n; a++) lower(q, s->points->numbers.block + list->block[a], phi[o] + LANES * a);
  }
  double known = q->least;
  for (int o = 0; o < 2; o++) {
    const tgiSoftMeeting *s = &q->side[o];
    const tgiSoftList *list = &q->plan->list[o];
    if (list->ncandidate == 0) continue;
    tgiSoftPush push = push_of(q, o, known);
    for (int a = 0; a < list->ncandidate; a++, force += 3 * LANES) {
      const tgiSsdfBlock *points = s->points->numbers.block + list->candidate[a].block;
      tgiSoftSource source = source_of(q, s, &list->candidate[a]);
      tgReal *h = phi[o] + LANES * (list->n + a);
      if (forces) points_at(q->isa, &source, &push, &s->frame, points, h, force);
      else tgi_soft_heights(q->isa, &source, &s->frame, points, h);
      lower(q, points, h);
    }
  }
}

// does a block weigh? A height that is no number does.
static bool weighs(const tgiSoftSearch *q, const tgReal phi[LANES]) {
  for (int l = 0; l < LANES; l++)
    if (!(tgRe(phi[l]) > q->least + q->cut)) return true;
  return false;
}

// ---- sums on vectors ----

static tgReal sum_lanes(const tgReal x[LANES]) {
  tgReal sum = 0;
  for (int l = 0; l < LANES; l++) sum += x[l];
  return sum;
}

// w += the wrenches of the sums of side o, in the world; returns their weight
static tgReal add_totals(const tgiSoftPair *p, int o, const tgiSoftTotals *sum, tgReal w[12]) {
  const tgiSoftSide *O = &p->side[o];
  tgReal f[6], F[3], M[3], t[3];
  for (int k = 0; k < 3; k++) {
    F[k] = sum_lanes(sum->F[k]);
    M[k] = sum_lanes(sum->M[k]);
  }
  tgi_m3_mulv(f + 3, O->R, F);
  tgi_m3_mulv(f, O->R, M);
  tgi_v3_cross(t, O->x, f + 3);
  tgi_v3_add(f, f, t);
  for (int i = 0; i < 6; i++) {
    w[6 * (1 - o) + i] += f[i];
    w[6 * o + i] -= f[i];
  }
  return sum_lanes(sum->weight);
}

// sums of side o, whose heights begin at phi and forces of candidates at `force`, or where rates are wanted of those
static void sum_side(const tgiSoftSearch *q, int o, const tgReal *phi, const tgReal *force, tgiSoftTotals *sum, tgiSoftRates *rates) {
  const tgiSoftMeeting *s = &q->side[o];
  const tgiSoftList *list = &q->plan->list[o];
  const tgiSsdfBlock *points = s->points->numbers.block;
  tgiSoftPush push = push_of(q, o, q->least);
  tgReal n[3], at[3];
  plane_of(s, n, at);
  if (s->kind == TGI_SOFT_PLANE) {
    if (rates != NULL) TGI_ISA_CALL(q->isa, tgi_soft_plane_d, (n, at, &push, &s->frame, points, list->block, list->n, phi, rates));
    else TGI_ISA_CALL(q->isa, tgi_soft_plane, (n, at, &push, &s->frame, points, list->block, list->n, phi, sum));
  } else if (s->kind == TGI_SOFT_BALL) {
    if (rates != NULL)
      TGI_ISA_CALL(q->isa, tgi_soft_ball_d, (q->p->side[o].surface.ball, &push, &s->frame, points, list->block, list->n, phi, rates));
    else TGI_ISA_CALL(q->isa, tgi_soft_ball, (q->p->side[o].surface.ball, &push, &s->frame, points, list->block, list->n, phi, sum));
  }
  for (int a = 0; a < list->ncandidate; a++) {
    const tgiSoftCandidate *c = &list->candidate[a];
    if (!weighs(q, phi + LANES * (list->n + a))) continue;
    if (rates != NULL) {
      tgiSoftSource source = source_of(q, s, c);
      if (source.grid != NULL) TGI_ISA_CALL(q->isa, tgi_soft_grid_forces_d, (&source, &push, &s->frame, points + c->block, rates));
      else TGI_ISA_CALL(q->isa, tgi_soft_forces_d, (&source, &push, &s->frame, points + c->block, rates));
    } else TGI_ISA_CALL(q->isa, tgi_soft_weigh,
                        (&push, &s->frame, points + c->block, phi + LANES * (list->n + a), force + 3 * LANES * a, sum));
  }
}

static void sum_forces(const tgiSoftSearch *q, tgPairTerm *out) {
  tgReal total = 0;
  for (int i = 0; i < 12; i++) out->w[i] = 0;
  for (int o = 0; o < 2; o++) {
    if (q->side[o].points == NULL) continue;
    tgiSoftTotals sum = {.weight = {0}};
    sum_side(q, o, q->plan->work->phi + (o == 0 ? 0 : heights_of(q, 0)),
             q->plan->work->force + (o == 0 ? 0 : 3 * LANES * q->plan->list[0].ncandidate), &sum, NULL);
    total += add_totals(q->p, o, &sum, out->w);
  }
  for (int i = 0; i < 12; i++) out->w[i] /= total;
}

// ---- rates ----

// T (6 x 6): a twist at the world's origin, in the frame of the source at its origin
static void twist_map(const tgiSoftSide *O, tgReal T[36]) {
  memset(T, 0, 36 * sizeof *T);
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < 3; j++) {
      T[6 * i + j] = T[6 * (3 + i) + 3 + j] = O->R[3 * j + i];
      // R' (e_j x x)
      int k = (j + 1) % 3, l = (j + 2) % 3;
      T[6 * (3 + i) + j] = O->R[3 * l + i] * O->x[k] - O->R[3 * k + i] * O->x[l];
    }
}

// out (6) = T' x times by; out (6 x 6) = T' M T times by
static void to_world(const tgReal T[36], const tgReal x[6], tgReal by, tgReal *out) {
  for (int i = 0; i < 6; i++) {
    tgReal sum = 0;
    for (int k = 0; k < 6; k++) sum += T[6 * k + i] * x[k];
    out[i] = by * sum;
  }
}
static void matrix_to_world(const tgReal T[36], const tgReal M[36], tgReal by, tgReal *out) {
  tgReal MT[36];
  for (int i = 0; i < 6; i++)
    for (int j = 0; j < 6; j++) {
      MT[6 * i + j] = 0;
      for (int k = 0; k < 6; k++) MT[6 * i + j] += M[6 * i + k] * T[6 * k + j];
    }
  for (int i = 0; i < 6; i++)
    for (int j = 0; j < 6; j++) {
      tgReal sum = 0;
      for (int k = 0; k < 6; k++) sum += T[6 * k + i] * MT[6 * k + j];
      out[6 * i + j] = by * sum;
    }
}

// what tgi_soft_sum_finish takes, from the lanes' sums over a total weight of 1/by
static void world_sum(const tgiSoftSide *O, const tgiSoftRates *r, tgReal by, tgiSoftSum *sum) {
  tgReal T[36], h[6], G[6], hG[36], A[36], U[36], yF[9], trace = 0;
  for (int i = 0; i < 6; i++) {
    h[i] = sum_lanes(r->h[i]);
    G[i] = sum_lanes(r->G[i]);
  }
  for (int i = 0; i < 36; i++) {
    hG[i] = sum_lanes(r->hG[i]);
    A[i] = sum_lanes(r->A[i]);
    U[i] = sum_lanes(r->U[i]);
  }
  for (int i = 0; i < 9; i++) yF[i] = sum_lanes(r->yF[i]);
  trace = yF[0] + yF[4] + yF[8];
  // dz x F, dz = omega x y + v: (y F' - (y . F) 1) omega - [F] v
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < 3; j++) {
      A[6 * i + j] += yF[3 * i + j] - (i == j ? trace : 0);
      if (i != j) A[6 * i + 3 + j] += ((j - i + 3) % 3 == 1 ? 1 : -1) * h[3 + 3 - i - j];
    }
  twist_map(O, T);
  to_world(T, h, by, sum->h);
  to_world(T, G, by, sum->phi);
  matrix_to_world(T, hG, by, sum->hphi);
  matrix_to_world(T, A, by, sum->Dh);
  matrix_to_world(T, U, by, sum->YP);
  matrix_to_world(T, U, -by, sum->YO);
}

static void sum_rates(const tgiSoftSearch *q, tgPairTerm *out) {
  tgiSoftRates rates[2];
  tgiSoftSum sum[2];
  tgReal total = 0;
  memset(rates, 0, sizeof rates);
  memset(sum, 0, sizeof sum);
  for (int o = 0; o < 2; o++) {
    if (q->side[o].points == NULL) continue;
    sum_side(q, o, q->plan->work->phi + (o == 0 ? 0 : heights_of(q, 0)), NULL, NULL, &rates[o]);
    total += sum_lanes(rates[o].weight);
  }
  for (int o = 0; o < 2; o++)
    if (q->side[o].points != NULL) world_sum(&q->p->side[o], &rates[o], 1 / total, &sum[o]);
  tgi_soft_sum_finish(sum, q->p->side[0].V, q->p->side[1].V, q->p->eps2, true, out);
}

// ---- sums point by point, in the publication's form, and adjoints ----

// the points of the source that count at y, to q->near
static tgiSoftSurface near_points(const tgiSoftSearch *q, int o, const tgReal y[3]) {
  const tgiSoftMeeting *s = &q->side[o];
  tgiSoftPlan *plan = q->plan;
  const tgiSoftSurface *whole = &q->p->side[o].surface;
  const tgiSsdfTree *t = s->source->tree;
  tgiSoftSurface part = {.p = plan->work->near[0], .normal = plan->work->near[1], .eps1 = whole->eps1};
  tgiSsdfNearest near;
  double c[3] = {tgRe(y[0]), tgRe(y[1]), tgRe(y[2])};
  tgi_ssdf_nearest(t, &s->source->numbers, c, INFINITY, false, &near);
  int n = tgi_ssdf_gather(t, &s->source->numbers, c, 0, s->cut, &near, plan->work->blocks);
  for (int a = 0; a < n; a++)
    for (int i = 0; i < t->used[plan->work->blocks[a]]; i++) {
      int point = t->point[LANES * plan->work->blocks[a] + i];
      const tgiSsdfBlock *b = s->source->numbers.block + plan->work->blocks[a];
      double e[3] = {tgRe(b->p[0][i]) - c[0], tgRe(b->p[1][i]) - c[1], tgRe(b->p[2][i]) - c[2]};
      if (e[0] * e[0] + e[1] * e[1] + e[2] * e[2] > near.squared * (1 + 1e-14) + s->cut) continue;
      tgi_v3_copy(plan->work->near[0] + 3 * part.n, whole->p + 3 * point);
      tgi_v3_copy(plan->work->near[1] + 3 * part.n, whole->normal + 3 * point);
      plan->work->which[part.n] = point;
      part.n++;
    }
  return part;
}

// calls visit at the points of the blocks that weigh, in the order of the lists
static void each_weighing(const tgiSoftSearch *q, void (*visit)(const tgiSoftSearch *, int o, int point, void *ctx), void *ctx) {
  const tgReal *phi = q->plan->work->phi;
  for (int o = 0; o < 2; o++) {
    const tgiSoftMeeting *s = &q->side[o];
    const tgiSoftList *list = &q->plan->list[o];
    for (int a = 0; s->points != NULL && a < list->n + list->ncandidate; a++, phi += LANES) {
      int block = a < list->n ? list->block[a] : list->candidate[a - list->n].block;
      for (int l = 0; weighs(q, phi) && l < s->points->tree->used[block]; l++) visit(q, o, s->points->tree->point[LANES * block + l], ctx);
    }
  }
}

typedef struct Sums { tgiSoftSum sum[2]; tgReal total; bool d; } Sums;

static void add_point(const tgiSoftSearch *q, int o, int point, void *ctx) {
  Sums *sums = ctx;
  const tgiSoftSide *P = &q->p->side[1 - o], *O = &q->p->side[o];
  tgReal a[3], b[3], z[3], y[3], u[3], omega[3], V[6];
  tgi_m3_mulv(a, P->R, P->surface.p + 3 * point);
  tgi_v3_add(z, a, P->x);
  tgi_v3_sub(b, P->x, O->x);
  tgi_v3_add(a, a, b);
  tgi_m3_tmulv(y, O->R, a);
  tgi_sp_sub(V, P->V, O->V);
  tgi_sp_point_velocity(a, V, z);
  tgi_m3_tmulv(u, O->R, a);
  tgi_m3_tmulv(omega, O->R, O->V);
  tgiSoftSurface part = q->side[o].kind != TGI_SOFT_POINTS ? O->surface : near_points(q, o, y);
  tgiSoftPoint x;
  double weight = exp(fmin(q->least - tgRe(tgi_soft_height(&part, y)), 0) / q->eps2);
  if (weight < q->tail) return;
  tgi_soft_point(&part, &q->p->law, y, u, omega, sums->d, &x);
  tgReal W = tgExp((q->least - x.phi) / q->p->eps2);
  tgi_soft_point_turn(O->R, q->p->law.paper, sums->d, &x);
  tgi_soft_sum_add(&sums->sum[o], W, z, P->V, O->V, &x, q->p->law.paper, sums->d);
  sums->total += W;
}

static void sum_by_points(const tgiSoftSearch *q, bool d, tgPairTerm *out) {
  Sums sums = {.d = d};
  each_weighing(q, add_point, &sums);
  for (int o = 0; o < 2; o++) {
    tgReal *x = (tgReal *)&sums.sum[o];   // reals alone
    for (size_t i = 0; i < sizeof(tgiSoftSum) / sizeof(tgReal); i++) x[i] /= sums.total;
  }
  tgi_soft_sum_finish(sums.sum, q->p->side[0].V, q->p->side[1].V, q->p->eps2, d, out);
}

// ---- the pair ----

static void nothing(bool d, tgPairTerm *out) {
  memset(out->w, 0, sizeof out->w);
  if (!d) return;
  memset(out->X, 0, sizeof out->X);
  memset(out->Y, 0, sizeof out->Y);
}

// lists for the pose at hand, and heights; false: no point is pushed
static bool prepare(tgiSoftSearch *q, int slot, bool forces) {
  bool held = tgi_soft_plan_holds(q);
  if (tgi_soft_afar(q, slot)) return false;
  if (!held) tgi_soft_plan_make(q);
  set_heights(q, forces);
  // lists are for heights up to the level; those just made are enough
  if (held && !(q->least + q->cut <= q->plan->level)) {
    tgi_soft_plan_make(q);
    set_heights(q, forces);
  }
  return true;
}

double tgi_soft_pair_fast_on(int isa, const tgiSoftPair *p, const tgiSoftIndex index[2], double tau, bool d,
                             tgiSoftPlan *plan, tgPairTerm *out) {
  tgiSoftSearch q;
#if defined(TG_COMPLEX)
  bool derived = true;   // tangents are derivatives
#else
  bool derived = d;
#endif
  tgi_soft_search_start(&q, isa, p, index, derived ? tau * DERIVED : tau, plan);
  if (!prepare(&q, derived, !p->law.paper && !d)) {
    nothing(d, out);
    return q.ceiling;
  }
  if (p->law.paper) sum_by_points(&q, d, out);
  else if (d) sum_rates(&q, out);
  else sum_forces(&q, out);
  return q.least;
}

double tgi_soft_pair_fast(const tgiSoftPair *p, const tgiSoftIndex index[2], double tau, bool d, tgiSoftPlan *plan, tgPairTerm *out) {
  return tgi_soft_pair_fast_on(tgi_isa(), p, index, tau, d, plan, out);
}

// ---- adjoint ----

// One pass over the points that weigh: their weights and values summed, or, these known, their adjoints.
typedef struct Adjoint { const tgReal *Z; tgReal total, mean; bool back; tgiSoftPairBar *bar; } Adjoint;

static void point_back(const tgiSoftSearch *q, int o, int point, const tgiSoftPair *part, tgReal W, tgReal value,
                       tgReal phi, const Adjoint *a) {
  tgiSoftPlan *plan = q->plan;
  tgiSoftPairBar bar = *a->bar;
  bool some = q->side[o].kind == TGI_SOFT_POINTS && bar.p[o] != NULL;
  int n = 3 * part->side[o].surface.n;
  for (int k = 0; k < n && some; k++) plan->work->near[2][k] = plan->work->near[3][k] = 0;
  if (some) {
    bar.p[o] = plan->work->near[2];
    bar.normal[o] = plan->work->near[3];
  }
  W /= a->total;
  tgReal over = W * (value - a->mean) / part->eps2;
  bar.eps2 += over * phi / part->eps2;
  tgi_soft_pair_point_back(part, o, point, W, -over, a->Z, &bar);
  for (int k = 0; k < n && some; k++) {
    int at = 3 * plan->work->which[k / 3] + k % 3;
    a->bar->p[o][at] += plan->work->near[2][k];
    a->bar->normal[o][at] += plan->work->near[3][k];
  }
  bar.p[o] = a->bar->p[o];
  bar.normal[o] = a->bar->normal[o];
  *a->bar = bar;
}

static void adjoint_point(const tgiSoftSearch *q, int o, int point, void *ctx) {
  Adjoint *a = ctx;
  tgiSoftPair part = *q->p;
  tgReal z[3], y[3];
  tgi_soft_pair_place(&part, o, point, z, y);
  if (q->side[o].kind == TGI_SOFT_POINTS) part.side[o].surface = near_points(q, o, y);
  tgReal phi = tgi_soft_height(&part.side[o].surface, y), W = tgExp((q->least - phi) / part.eps2);
  if (tgRe(W) < q->tail) return;
  tgReal value = tgi_soft_pair_value(&part, o, point, a->Z);
  if (a->back) {
    point_back(q, o, point, &part, W, value, phi, a);
    return;
  }
  a->total += W;
  a->mean += W * value;
}

void tgi_soft_pair_fast_vjp(const tgiSoftPair *p, const tgiSoftIndex index[2], double tau, const tgReal Z[12],
                            tgiSoftPlan *plan, tgiSoftPairBar *bar) {
  tgiSoftSearch q;
  Adjoint a = {.Z = Z, .bar = bar};
  tgi_soft_search_start(&q, tgi_isa(), p, index, tau * DERIVED, plan);
  if (!prepare(&q, 1, false)) return;
  each_weighing(&q, adjoint_point, &a);
  a.mean /= a.total;
  a.back = true;
  each_weighing(&q, adjoint_point, &a);
}
