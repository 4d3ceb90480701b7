// pair_fast.c: see pair_fast.h.
#include "contact/softmin/pair_fast.h"

#include <string.h>

#include "base/layout.h"
#include "contact/softmin/field_kernel.h"
#include "math/spatial.h"

enum { LANES = TGI_SOFT_LANES, DEPTH = 96 };

// Derivatives of a tail are larger than the tail by its exponents over the widths, while the whole may be small by cancellation (as in eps1): where there
// are derivatives tails are this much smaller.
#define DERIVED 1e-5

// the points of one surface against the other, `source`
typedef struct Side {
  const tgiSoftIndex *source, *points;
  tgiSoftPose pose;
  double eps1, cut, extent, share;   // cut of (a); share: eps3/extent
  enum { POINTS, PLANE, BALL } kind; // of the source
  double n[3], e, c[3], radius;      // in the frame of the points: of a plane n . x = e, of a ball its centre
  int *block, nblock;                // blocks of points that count, where the source is a plane or a ball
} Side;

// eight points that may count: none is lower than `low`
typedef struct Candidate { int side, block; double low; tgiSsdfBall ball; } Candidate;

typedef struct Search {
  const tgiSoftPair *p;
  int isa;
  Side side[2];
  double tau, tail, eps2;          // tail of (b)
  double least, cut, room;         // least height found, right to `room`; points higher than that by the cut, or more, weigh less than the tail
  double ceiling;                  // a plane higher than this pushes less than tau k eps3
  int n;
  Candidate *candidate;
  int *blocks, *kept;              // that may count for eight points, and do
  double *sums;                    // of such blocks
  tgReal *near[2];                 // points and normals that count for one
} Search;

// ---- what counts ----

static double apart2(const double a[3], const double b[3]) {
  double sum = 0;
  for (int k = 0; k < 3; k++) sum += (a[k] - b[k]) * (a[k] - b[k]);
  return sum;
}

// near (may be NULL): of a place close by
static void set_ball(const Side *s, int node, const tgiSsdfNearest *near, tgiSsdfBall *b) {
  const tgiSsdfNode *d = s->points->numbers.node + node;
  for (int k = 0; k < 3; k++) {
    const double *R = s->pose.R + 3 * k;
    b->c[k] = R[0] * d->centre[0] + R[1] * d->centre[1] + R[2] * d->centre[2] + s->pose.t[k];
    b->half[k] = 0.5 * (d->hi[k] - d->lo[k]);
  }
  b->r = d->radius;
  b->R = s->pose.R;
  double below = INFINITY;
  b->near = near != NULL ? *near : (tgiSsdfNearest){.squared = INFINITY};
  if (near != NULL) below = apart2(b->c, near->q);
  // (1) holds of any point q: for nodes with children one that is near will do
  tgi_ssdf_nearest(s->source->tree, &s->source->numbers, b->c, below, s->points->tree->child[node] >= 0, &b->near);
}

// height of the ball's centre over the nearest plane: the order in which nodes are taken
static double rank(const tgiSsdfBall *b) {
  double s = 0;
  for (int k = 0; k < 3; k++) s += b->near.normal[k] * (b->c[k] - b->near.q[k]);
  return s;
}

// the source's points that count in the ball. No exponent, less that of the point nearest the centre, is above 2 r |p - q|/eps1.
static tgiSoftSource source_at(const Search *q, const Side *s, const tgiSsdfBall *b, double cut) {
  const tgiSsdfNode *root = s->source->numbers.node;
  int n = tgi_ssdf_gather(s->source->tree, &s->source->numbers, b->c, b->r, cut, &b->near, q->blocks);
  tgiSoftSource source = {.block = s->source->numbers.block, .at = q->blocks, .n = n, .eps1 = s->eps1, .cut = cut, .sums = q->sums, .kept = q->kept};
  for (int k = 0; k < 3; k++) source.q[k] = b->near.q[k];
  source.reach = 4 * b->r * root->radius / s->eps1;
  return source;
}

// a cut that leaves `room` to phi where it is about `level`, or lower
static double coarse_cut(const Search *q, const Side *s, const tgiSsdfBall *b, double level) {
  double most = fabs(level) + sqrt(b->near.squared) + b->r + s->extent;
  return tgi_ssdf_cut(s->eps1, s->source->tree->n, fmin(q->room / most, 0.1));
}

// is phi in all of the ball above the level?
static bool above(const Search *q, const Side *s, const tgiSsdfBall *b, double level) {
  if (!(level < INFINITY)) return false;
  return tgi_ssdf_above(s->source->tree, &s->source->numbers, b, coarse_cut(q, s, b, level + q->room), level + q->room);
}

// heights point by point: the twin of the kernel
static void heights_plain(const tgiSoftSource *s, const tgiSoftPose *pose, const tgiSsdfBlock *points, double phi[LANES]) {
  for (int l = 0; l < LANES; l++) {
    double y[3], least = INFINITY, W = 0, S = 0;
    for (int k = 0; k < 3; k++)
      y[k] = pose->R[3 * k] * points->p[0][l] + pose->R[3 * k + 1] * points->p[1][l] + pose->R[3 * k + 2] * points->p[2][l] + pose->t[k];
    for (int pass = 0; pass < 2; pass++)
      for (int a = 0; a < s->n; a++) {
        const tgiSsdfBlock *z = s->block + s->at[a];
        for (int i = 0; i < z->used; i++) {
          double d = 0, height = 0;
          for (int k = 0; k < 3; k++) {
            double r = y[k] - z->p[k][i];
            d += r * r;
            height += r * z->normal[k][i];
          }
          if (pass == 0) least = fmin(least, d);
          else {
            double w = exp((least - d) / s->eps1);
            W += w;
            S += w * height;
          }
        }
      }
    phi[l] = S / W;
  }
}

// least height of a block's points, right to q->room
static double look(const Search *q, const Side *s, int block, const tgiSsdfBall *ball) {
  const tgiSsdfBlock *points = s->points->numbers.block + block;
  tgiSoftSource source = source_at(q, s, ball, coarse_cut(q, s, ball, rank(ball)));
  double phi[LANES], least = INFINITY;
#if !defined(TG_COMPLEX)
  if (q->isa >= 0) TGI_ISA_CALL(q->isa, tgi_soft_heights, (&source, &s->pose, points, phi));
  else
#endif
    heights_plain(&source, &s->pose, points, phi);
  for (int l = 0; l < points->used; l++) least = fmin(least, phi[l]);
  return least;
}

static void list(Search *q, int o, int block, const tgiSsdfBall *ball) {
  double least = look(q, &q->side[o], block, ball), low = least - q->room;
  q->least = fmin(q->least, least);
  if (low > q->least + q->room + q->cut) return;
  q->candidate[q->n++] = (Candidate){.side = o, .block = block, .low = low, .ball = *ball};
}

// AFAR: are all planes that count above the ceiling, for all points? LIST: candidates, and the least height.
typedef enum Task { AFAR, LIST } Task;

static bool passed(const Search *q, const Side *s, Task task, const tgiSsdfBall *b) {
  // a ball with a point of the source in it is not above anything
  if (b->near.squared <= b->r * b->r) return false;
  if (task == AFAR) return tgi_ssdf_above(s->source->tree, &s->source->numbers, b, s->cut, q->ceiling);
  return above(q, s, b, q->least + q->room + q->cut);
}

static bool walk(Search *q, int o, Task task) {
  const Side *s = &q->side[o];
  const tgiSsdfTree *t = s->points->tree;
  struct { int node; tgiSsdfBall ball; } stack[DEPTH];
  int top = 0;
  stack[0].node = 0;
  set_ball(s, 0, NULL, &stack[0].ball);
  while (top >= 0) {
    int i = stack[top].node;
    tgiSsdfBall ball = stack[top--].ball;
    if (passed(q, s, task, &ball)) continue;
    if (t->child[i] < 0) {
      if (task == AFAR) return false;
      list(q, o, t->block[i], &ball);
      continue;
    }
    tgiSsdfBall child[2];
    for (int k = 0; k < 2; k++) set_ball(s, t->child[i] + k, &ball.near, &child[k]);
    int first = rank(&child[0]) <= rank(&child[1]) ? 0 : 1;
    for (int k = 1; k >= 0; k--) {
      stack[++top].node = t->child[i] + (k == 0 ? first : 1 - first);
      stack[top].ball = child[k == 0 ? first : 1 - first];
    }
  }
  return true;
}

// ---- a plane or a ball ----

static void set_exact(const tgiSoftPair *p, int o, Side *s) {
  const tgiSsdfBlock *plane = s->source->numbers.block;
  s->radius = tgRe(p->side[o].surface.ball);
  s->e = 0;
  for (int k = 0; k < 3; k++) {
    const double *R = s->pose.R;
    s->n[k] = plane->normal[0][0] * R[k] + plane->normal[1][0] * R[3 + k] + plane->normal[2][0] * R[6 + k];
    s->e += plane->normal[k][0] * (plane->p[k][0] - s->pose.t[k]);
    s->c[k] = -(R[k] * s->pose.t[0] + R[3 + k] * s->pose.t[1] + R[6 + k] * s->pose.t[2]);
  }
}

// least height of a box
static double box_height(const Side *s, const double lo[3], const double hi[3]) {
  double sum = s->kind == PLANE ? -s->e : 0;
  for (int k = 0; k < 3; k++) {
    double below = lo[k] - s->c[k], over = s->c[k] - hi[k], out = below > over ? below : over;
    sum += s->kind == PLANE ? s->n[k] * (s->n[k] > 0 ? lo[k] : hi[k]) : out > 0 ? out * out : 0;
  }
  return s->kind == PLANE ? sum : sqrt(sum) - s->radius;
}

static double block_height(const Side *s, const tgiSsdfBlock *b) {
  double least = INFINITY;
  for (int l = 0; l < b->used; l++) {
    double sum = 0;
    for (int k = 0; k < 3; k++) {
      double x = b->p[k][l] - s->c[k];
      sum += s->kind == PLANE ? s->n[k] * b->p[k][l] : x * x;
    }
    least = fmin(least, s->kind == PLANE ? sum - s->e : sqrt(sum) - s->radius);
  }
  return least;
}

// Blocks with a box no higher than the least height by more than the cut, to s->block. The least is found to within the room, which the cut is widened by.
static void over_exact(Search *q, Side *s) {
  const tgiSsdfTree *t = s->points->tree;
  const tgiSsdfNumbers *z = &s->points->numbers;
  int stack[DEPTH];
  s->nblock = 0;
  for (int pass = 0; pass < 2; pass++) {
    int top = 0;
    stack[0] = 0;
    while (top >= 0) {
      int i = stack[top--];
      double low = box_height(s, z->node[i].lo, z->node[i].hi);
      if (low > q->least + (pass == 0 ? -q->room : q->cut + q->room)) continue;
      if (t->child[i] >= 0) {
        int a = t->child[i], first = box_height(s, z->node[a].lo, z->node[a].hi) <= box_height(s, z->node[a + 1].lo, z->node[a + 1].hi) ? 0 : 1;
        stack[++top] = a + 1 - first;
        stack[++top] = a + first;
      } else if (pass == 1) s->block[s->nblock++] = t->block[i];
      else q->least = fmin(q->least, block_height(s, z->block + t->block[i]));
    }
  }
}

// ---- both sides ----

// what counts on both sides; false: no point is pushed
static bool search(Search *q) {
  bool afar = true;
  int n = 0;
  for (int o = 0; o < 2; o++) {
    Side *s = &q->side[o];
    if (s->points == NULL || s->kind == POINTS) continue;
    over_exact(q, s);
    // no least height: places that are no numbers, which are not far
    afar = afar && s->kind == BALL && q->least > q->ceiling && q->least < INFINITY;
  }
  for (int o = 0; o < 2 && afar; o++)
    if (q->side[o].kind == POINTS && q->side[o].points != NULL) afar = walk(q, o, AFAR);
  if (afar) return false;
  // the side of fewer points first: it finds the least height sooner
  int first = q->side[0].points != NULL && q->side[1].points != NULL && q->side[0].points->tree->n > q->side[1].points->tree->n ? 1 : 0;
  for (int k = 0; k < 2; k++) {
    int o = k == 0 ? first : 1 - first;
    if (q->side[o].kind == POINTS && q->side[o].points != NULL) walk(q, o, LIST);
  }
  for (int i = 0; i < q->n; i++)
    if (q->candidate[i].low <= q->least + q->room + q->cut) q->candidate[n++] = q->candidate[i];
  q->n = n;
  return true;
}

// Of points that weigh w at most, tails of tau/w are as good as those of tau: w = exp(-(low - Phi_min)/eps2).
static double cut_below(const Search *q, const Side *s, double low) {
  return fmax(s->cut - s->eps1 * fmax(low - q->least - q->room, 0) / q->eps2, 3 * s->eps1);
}

// ---- sums on vectors ----

#if !defined(TG_COMPLEX)

static tgiSoftPush push_of(const Search *q, int o) {
  const tgiSoftLaw *l = &q->p->law;
  const tgiSoftSide *P = &q->p->side[1 - o], *O = &q->p->side[o];
  double over = q->least / q->eps2 - log(q->tail);   // exponents of weight and push together reach it at `far`
  tgiSoftPush push = {.k = tgRe(l->k), .eps3 = tgRe(l->eps), .v_d = tgRe(l->v_d), .v_s = tgRe(l->v_s), .mu = tgRe(l->mu),
                      .eps2 = q->eps2, .level = q->least, .tail = q->tail, .share = q->side[o].share};
  push.far = over > 0 ? over / (1 / q->eps2 + 1 / push.eps3) : over * q->eps2;
  tgReal V[6], v[3], w[3];
  tgi_sp_sub(V, P->V, O->V);
  tgi_sp_point_velocity(v, V, O->x);
  for (int k = 0; k < 3; k++) {
    tgi_m3_col(w, O->R, k);
    push.v[k] = tgRe(tgi_v3_dot(w, v));
    push.w[k] = tgRe(tgi_v3_dot(w, V));
  }
  return push;
}

static double sum_lanes(const double x[LANES]) {
  double sum = 0;
  for (int l = 0; l < LANES; l++) sum += x[l];
  return sum;
}

// w += the wrenches of the sums of side o, in the world; returns their weight
static double add_totals(const tgiSoftPair *p, int o, const tgiSoftTotals *sum, tgReal w[12]) {
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

static double sum_on_vectors(Search *q, tgPairForce *out) {
  double total = 0, least = INFINITY;
  for (int i = 0; i < 12; i++) out->w[i] = 0;
  for (int o = 0; o < 2; o++) {
    const Side *s = &q->side[o];
    if (s->points == NULL) continue;
    tgiSoftPush push = push_of(q, o);
    tgiSoftTotals sum = {.weight = {0}};
    for (int l = 0; l < LANES; l++) sum.least[l] = INFINITY;
    const tgiSsdfBlock *points = s->points->numbers.block;
    if (s->kind == PLANE) {
      const tgiSsdfBlock *plane = s->source->numbers.block;
      double n[3] = {plane->normal[0][0], plane->normal[1][0], plane->normal[2][0]}, at[3] = {plane->p[0][0], plane->p[1][0], plane->p[2][0]};
      TGI_ISA_CALL(q->isa, tgi_soft_plane, (n, at, &push, &s->pose, points, s->block, s->nblock, &sum));
    }
    if (s->kind == BALL) TGI_ISA_CALL(q->isa, tgi_soft_ball, (s->radius, &push, &s->pose, points, s->block, s->nblock, &sum));
    for (int i = 0; i < q->n; i++) {
      const Candidate *c = &q->candidate[i];
      if (c->side != o) continue;
      tgiSoftSource source = source_at(q, s, &c->ball, cut_below(q, s, c->low));
      TGI_ISA_CALL(q->isa, tgi_soft_forces, (&source, &push, &s->pose, points + c->block, &sum));
    }
    total += add_totals(q->p, o, &sum, out->w);
    for (int l = 0; l < LANES; l++) least = fmin(least, sum.least[l]);
  }
  for (int i = 0; i < 12; i++) out->w[i] /= total;
  return least;
}

#endif

// ---- sums point by point, with derivatives ----

// the points of the source that count at y, to q->near
static tgiSoftSurface near_points(const Search *q, int o, const tgReal y[3], const tgiSsdfBall *ball, double cut) {
  const Side *s = &q->side[o];
  const tgiSoftSurface *whole = &q->p->side[o].surface;
  const tgiSsdfTree *t = s->source->tree;
  tgiSoftSurface part = {.p = q->near[0], .normal = q->near[1], .eps1 = whole->eps1};
  tgiSsdfBall at = *ball;
  for (int k = 0; k < 3; k++) at.c[k] = tgRe(y[k]);
  at.r = 0;
  tgi_ssdf_nearest(t, &s->source->numbers, at.c, apart2(at.c, ball->near.q), false, &at.near);
  int n = tgi_ssdf_gather(t, &s->source->numbers, at.c, 0, cut, &at.near, q->blocks);
  for (int a = 0; a < n; a++)
    for (int i = 0; i < t->used[q->blocks[a]]; i++) {
      int point = t->point[LANES * q->blocks[a] + i];
      const tgiSsdfBlock *b = s->source->numbers.block + q->blocks[a];
      double p[3] = {b->p[0][i], b->p[1][i], b->p[2][i]};
      if (apart2(p, at.c) > at.near.squared * (1 + 1e-14) + cut) continue;
      tgi_v3_copy(q->near[0] + 3 * part.n, whole->p + 3 * point);
      tgi_v3_copy(q->near[1] + 3 * part.n, whole->normal + 3 * point);
      part.n++;
    }
  return part;
}

typedef struct Sums { tgiSoftSum sum[2]; tgReal total; double least; bool d; } Sums;

static void add_point(const Search *q, int o, int point, const Candidate *c, Sums *sums) {
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
  tgiSoftSurface part = q->side[o].kind != POINTS ? O->surface : near_points(q, o, y, &c->ball, cut_below(q, &q->side[o], c->low));
  tgiSoftPoint x;
  double weight = exp(fmin(q->least - tgRe(tgi_soft_height(&part, y)), 0) / q->eps2);
  if (weight < q->tail) return;
  tgi_soft_point(&part, &q->p->law, y, u, omega, sums->d, &x);
  tgReal W = tgExp((q->least - x.phi) / q->p->eps2);
  sums->least = fmin(sums->least, tgRe(x.phi));
  tgi_soft_point_turn(O->R, q->p->law.paper, sums->d, &x);
  tgi_soft_sum_add(&sums->sum[o], W, z, P->V, O->V, &x, q->p->law.paper, sums->d);
  sums->total += W;
}

static double sum_by_points(const Search *q, bool d, tgPairForce *out) {
  Sums sums = {.d = d, .least = INFINITY};
  for (int o = 0; o < 2; o++) {
    const Side *s = &q->side[o];
    for (int a = 0; a < s->nblock; a++)
      for (int i = 0; i < s->points->tree->used[s->block[a]]; i++)
        add_point(q, o, s->points->tree->point[LANES * s->block[a] + i], NULL, &sums);
  }
  for (int i = 0; i < q->n; i++) {
    const Candidate *c = &q->candidate[i];
    const tgiSsdfTree *t = q->side[c->side].points->tree;
    for (int l = 0; l < t->used[c->block]; l++) add_point(q, c->side, t->point[LANES * c->block + l], c, &sums);
  }
  for (int o = 0; o < 2; o++) {
    tgReal *x = (tgReal *)&sums.sum[o];   // reals alone
    for (size_t i = 0; i < sizeof(tgiSoftSum) / sizeof(tgReal); i++) x[i] /= sums.total;
  }
  tgi_soft_sum_finish(sums.sum, q->p->side[0].V, q->p->side[1].V, q->p->eps2, d, out);
  return sums.least;
}

// ---- the pair ----

static size_t place(const tgiSsdfTree *a, const tgiSsdfTree *b, void *base, Search *q) {
  tgLayout l = {.base = base};
  int most = a->n > b->n ? a->n : b->n;
  q->candidate = tgi_place(&l, (size_t)a->nblock + (size_t)b->nblock, sizeof *q->candidate);
  size_t blocks = (size_t)(a->nblock > b->nblock ? a->nblock : b->nblock);
  q->blocks = tgi_place(&l, blocks, sizeof *q->blocks);
  q->kept = tgi_place(&l, blocks, sizeof *q->kept);
  q->sums = tgi_place(&l, LANES * blocks, sizeof *q->sums);
  for (int o = 0; o < 2; o++) q->side[o].block = tgi_place(&l, blocks, sizeof *q->side[o].block);
  for (int k = 0; k < 2; k++) q->near[k] = tgi_place(&l, 3 * (size_t)most, sizeof *q->near[k]);
  return l.used;
}

size_t tgi_soft_fast_work(const tgiSsdfTree *a, const tgiSsdfTree *b) {
  Search q;
  return place(a, b, NULL, &q);
}

static void set_side(Search *q, int o, const tgiSoftIndex index[2], double tau) {
  const tgiSoftSide *P = &q->p->side[1 - o], *O = &q->p->side[o];
  Side *s = &q->side[o];
  int *room = s->block;
  *s = (Side){.source = &index[o], .points = &index[1 - o], .eps1 = tgRe(O->surface.eps1), .block = room};
  s->kind = O->flat ? PLANE : tgRe(O->surface.ball) > 0 ? BALL : POINTS;
  if (P->flat) s->points = NULL;
  s->extent = 2 * index[o].numbers.node->radius;
  s->share = fmin(1, tgRe(q->p->law.eps) / s->extent);
  s->cut = tgi_ssdf_cut(s->eps1, O->surface.n, tau * s->share);
  tgReal d[3], R[9], column[3];
  tgi_v3_sub(d, P->x, O->x);
  for (int i = 0; i < 3; i++) {
    tgi_m3_col(column, O->R, i);
    s->pose.t[i] = tgRe(tgi_v3_dot(column, d));
    tgi_m3_tmulv(R + 3 * i, P->R, column);   // row i of O' P: P' times column i of O
    for (int j = 0; j < 3; j++) s->pose.R[3 * i + j] = tgRe(R[3 * i + j]);
  }
  if (s->kind != POINTS) set_exact(q->p, o, s);
}

static void nothing(bool d, tgPairForce *out) {
  memset(out->w, 0, sizeof out->w);
  if (!d) return;
  memset(out->X, 0, sizeof out->X);
  memset(out->Y, 0, sizeof out->Y);
}

double tgi_soft_pair_fast_on(int isa, const tgiSoftPair *p, const tgiSoftIndex index[2], double tau, bool d, void *work, tgPairForce *out) {
  Search q;
  int points = 0;
  place(index[0].tree, index[1].tree, work, &q);
  q.p = p;
  q.isa = isa;
  q.n = 0;
  q.least = INFINITY;
  q.eps2 = tgRe(p->eps2);
  if (isa < 0 || d) tau *= DERIVED;
  for (int o = 0; o < 2; o++) {
    set_side(&q, o, index, tau);
    if (q.side[o].points != NULL) points += index[1 - o].tree->n;
  }
  q.tail = tau / points;
  q.cut = -q.eps2 * log(q.tail);
  q.room = q.eps2 / 8;
  q.ceiling = -tgRe(p->law.eps) * log(tau);
  if (!search(&q)) {
    nothing(d, out);
    return q.ceiling;
  }
#if !defined(TG_COMPLEX)
  if (isa >= 0 && !d && !p->law.paper) return sum_on_vectors(&q, out);
#endif
  return sum_by_points(&q, d, out);
}

double tgi_soft_pair_fast(const tgiSoftPair *p, const tgiSoftIndex index[2], double tau, bool d, void *work, tgPairForce *out) {
#if defined(TG_COMPLEX)
  return tgi_soft_pair_fast_on(-1, p, index, tau, d, work, out);
#else
  return tgi_soft_pair_fast_on(tgi_isa(), p, index, tau, d, work, out);
#endif
}
