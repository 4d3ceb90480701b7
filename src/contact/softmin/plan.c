// plan.c: see plan.h.
#include "contact/softmin/plan.h"

#include <string.h>

#include "math/spatial.h"

enum { LANES = TGI_SOFT_LANES, DEPTH = 96, LISTED = 48 };   // LISTED: numbers of blocks kept for each block of points, in the mean

typedef tgiSoftMeeting Side;

// ---- room ----

tgiSoftPlanWork *tgi_soft_plan_work(int nblock, int npoint, tgLayout *l) {
  size_t blocks = (size_t)nblock, all = 2 * blocks, most = (size_t)npoint;
  tgiSoftPlanWork p, *work = tgi_place(l, 1, sizeof *work);
  p.phi = tgi_place(l, LANES * all, sizeof *p.phi);
  p.force = tgi_place(l, 3 * LANES * all, sizeof *p.force);
  p.sums = tgi_place(l, LANES * blocks, sizeof *p.sums);
  p.blocks = tgi_place(l, blocks, sizeof *p.blocks);
  p.kept = tgi_place(l, blocks, sizeof *p.kept);
  p.which = tgi_place(l, most, sizeof *p.which);
  for (int k = 0; k < 4; k++) p.near[k] = tgi_place(l, 3 * most, sizeof *p.near[k]);
  if (work != NULL) *work = p;
  return work;
}

void tgi_soft_plan_place(tgiSoftPlan *plan, const tgiSsdfTree *a, const tgiSsdfTree *b, const tgiSoftPlanWork *work, tgLayout *l) {
  size_t blocks = (size_t)(a->nblock > b->nblock ? a->nblock : b->nblock);
  tgiSoftPlan p = {.made = false, .most = LISTED * (int)blocks, .work = work};
  for (int o = 0; o < 2; o++) {
    p.list[o].block = tgi_place(l, blocks, sizeof *p.list[o].block);
    p.list[o].candidate = tgi_place(l, blocks, sizeof *p.list[o].candidate);
  }
  p.pool = tgi_place(l, LISTED * blocks, sizeof *p.pool);
  if (plan != NULL) *plan = p;
}

// ---- at the pose at hand ----

static double apart2(const double a[3], const double b[3]) {
  double sum = 0;
  for (int k = 0; k < 3; k++) sum += (a[k] - b[k]) * (a[k] - b[k]);
  return sum;
}

static void set_pose(const tgiSoftSide *P, const tgiSoftSide *O, Side *s) {
  tgReal d[3], column[3];
  tgi_v3_sub(d, P->x, O->x);
  for (int i = 0; i < 3; i++) {
    tgi_m3_col(column, O->R, i);
    s->frame.t[i] = tgi_v3_dot(column, d);
    tgi_m3_tmulv(s->frame.R + 3 * i, P->R, column);   // row i of O' P: P' times column i of O
  }
  for (int i = 0; i < 3; i++) s->pose.t[i] = tgRe(s->frame.t[i]);
  for (int i = 0; i < 9; i++) s->pose.R[i] = tgRe(s->frame.R[i]);
}

static void set_exact(const tgiSoftPair *p, int o, Side *s) {
  const tgiSsdfBlock *plane = s->source->numbers.block;
  s->radius = tgRe(p->side[o].surface.ball);
  s->e = 0;
  for (int k = 0; k < 3; k++) {
    const double *R = s->pose.R;
    s->n[k] = tgRe(plane->normal[0][0] * R[k] + plane->normal[1][0] * R[3 + k] + plane->normal[2][0] * R[6 + k]);
    s->e += tgRe(plane->normal[k][0] * (plane->p[k][0] - s->pose.t[k]));
    s->c[k] = -(R[k] * s->pose.t[0] + R[3 + k] * s->pose.t[1] + R[6 + k] * s->pose.t[2]);
  }
}

static void set_side(tgiSoftSearch *q, int o, const tgiSoftIndex index[2]) {
  const tgiSoftSide *P = &q->p->side[1 - o], *O = &q->p->side[o];
  Side *s = &q->side[o];
  *s = (Side){.source = &index[o], .points = P->flat ? NULL : &index[1 - o], .width = O->surface.eps1, .eps1 = tgRe(O->surface.eps1)};
  s->kind = O->flat ? TGI_SOFT_PLANE : tgRe(O->surface.ball) > 0 ? TGI_SOFT_BALL : TGI_SOFT_POINTS;
  s->extent = 2 * index[o].numbers.node->radius;
  s->share = fmin(1, tgRe(q->p->law.eps) / s->extent);
  s->cut = tgi_ssdf_cut(s->eps1, O->surface.n, q->tau * s->share);
  set_pose(P, O, s);
  if (s->kind != TGI_SOFT_POINTS) set_exact(q->p, o, s);
}

void tgi_soft_search_start(tgiSoftSearch *q, int isa, const tgiSoftPair *p, const tgiSoftIndex index[2], double tau, tgiSoftPlan *plan) {
  int points = 0;
  double eps1 = INFINITY;
  *q = (tgiSoftSearch){.p = p, .isa = isa, .tau = tau, .eps2 = tgRe(p->eps2), .least = INFINITY, .plan = plan};
  for (int o = 0; o < 2; o++) {
    set_side(q, o, index);
    if (q->side[o].points != NULL) points += index[1 - o].tree->n;
    if (!p->side[o].flat) eps1 = fmin(eps1, q->side[o].eps1);
  }
  q->tail = tau / points;
  q->cut = -q->eps2 * log(q->tail);
  q->room = q->eps2 / 8;
  q->ceiling = -tgRe(p->law.eps) * log(tau);
  // about half a spacing of the finer surface: lists are little longer, and serve for some steps
  q->skin = 0.5 * sqrt(eps1);
}

static void set_key(const tgiSoftSearch *q, double key[7]) {
  const tgiSoftPair *p = q->p;
  const double k[7] = {q->side[0].eps1, q->side[1].eps1, tgRe(p->side[0].surface.ball), tgRe(p->side[1].surface.ball),
                       q->eps2, tgRe(p->law.eps), q->tau};
  memcpy(key, k, sizeof k);
}

// how far a point within the radius of c has moved at most
static double motion(const tgiSoftPose *a, const tgiSoftPose *b, const double c[3], double radius) {
  double turned = 0, moved = 0;
  for (int i = 0; i < 3; i++) {
    double x = a->t[i] - b->t[i];
    for (int k = 0; k < 3; k++) {
      double d = a->R[3 * i + k] - b->R[3 * i + k];
      turned += d * d;
      x += d * c[k];
    }
    moved += x * x;
  }
  return sqrt(moved) + sqrt(0.5 * turned) * radius;
}

bool tgi_soft_plan_holds(const tgiSoftSearch *q) {
  const tgiSoftPlan *plan = q->plan;
  double key[7];
  set_key(q, key);
  if (!plan->made || memcmp(key, plan->key, 6 * sizeof *key) != 0 || !(plan->key[6] <= key[6])) return false;
  for (int o = 0; o < 2; o++) {
    const Side *s = &q->side[o];
    if (s->points == NULL) continue;
    const tgiSsdfNode *root = s->points->numbers.node;
    if (!(motion(&s->pose, &plan->list[o].made, root->centre, root->radius) <= plan->skin)) return false;
  }
  return true;
}

// ---- points against points ----

void tgi_soft_ball(const Side *s, int node, const tgiSsdfNearest *near, double skin, tgiSsdfBall *b) {
  const tgiSsdfNode *d = s->points->numbers.node + node;
  for (int k = 0; k < 3; k++) {
    const double *R = s->pose.R + 3 * k;
    b->c[k] = R[0] * d->centre[0] + R[1] * d->centre[1] + R[2] * d->centre[2] + s->pose.t[k];
    b->half[k] = 0.5 * (d->hi[k] - d->lo[k]) + skin;
  }
  b->r = d->radius + skin;
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

tgiSoftSource tgi_soft_source(const tgiSoftSearch *q, const Side *s, double cut, const int *at, int n) {
  return (tgiSoftSource){.grid = s->source->grid, .block = s->source->numbers.block, .at = at, .n = n,
                         .points = s->source->tree->n, .eps1 = s->width, .cut = cut, .sums = q->plan->work->sums,
                         .kept = q->plan->work->kept};
}

// a cut that leaves `room` to phi where it is about `level`, or lower
static double coarse_cut(const tgiSoftSearch *q, const Side *s, const tgiSsdfBall *b, double level) {
  double most = fabs(level) + sqrt(b->near.squared) + b->r + s->extent;
  return tgi_ssdf_cut(s->eps1, s->source->tree->n, fmin(q->room / most, 0.1));
}

// is phi in all of the ball above the level?
static bool above(const tgiSoftSearch *q, const Side *s, const tgiSsdfBall *b, double level) {
  if (!(level < INFINITY)) return false;
  return tgi_ssdf_above(s->source->tree, &s->source->numbers, b, coarse_cut(q, s, b, level + q->room), level + q->room);
}

void tgi_soft_heights(int isa, const tgiSoftSource *source, const tgiSoftFrame *pose, const tgiSsdfBlock *points, tgReal phi[LANES]) {
  if (source->grid != NULL) TGI_ISA_CALL(isa, tgi_soft_grid_heights, (source, pose, points, phi));
  else TGI_ISA_CALL(isa, tgi_soft_heights, (source, pose, points, phi));
}

// least height of a block's points, right to q->room
static void look(tgiSoftSearch *q, const Side *s, int block, const tgiSsdfBall *ball) {
  const tgiSsdfBlock *points = s->points->numbers.block + block;
  tgReal phi[LANES];
  double cut = coarse_cut(q, s, ball, rank(ball));
  int n = tgi_soft_by_grid(s) ? 0 : tgi_ssdf_gather(s->source->tree, &s->source->numbers, ball->c, ball->r, cut,
                                                    &ball->near, q->plan->work->blocks);
  tgiSoftSource source = tgi_soft_source(q, s, cut, q->plan->work->blocks, n);
  tgi_soft_heights(q->isa, &source, &s->frame, points, phi);
  for (int l = 0; l < points->used; l++) q->least = fmin(q->least, tgRe(phi[l]));
}

// what of the source may count for a block within the skin: to the pool, while there is room
static void list(tgiSoftSearch *q, int o, int block, const tgiSsdfBall *ball) {
  const Side *s = &q->side[o];
  tgiSoftPlan *plan = q->plan;
  tgiSoftCandidate *c = &plan->list[o].candidate[plan->list[o].ncandidate++];
  *c = (tgiSoftCandidate){.block = block, .first = plan->pooled, .n = -1};
  if (s->source->grid != NULL) return;
  int n = tgi_ssdf_gather(s->source->tree, &s->source->numbers, ball->c, ball->r, s->cut, &ball->near, plan->work->blocks);
  if (n > plan->most - plan->pooled) return;
  memcpy(plan->pool + plan->pooled, plan->work->blocks, (size_t)n * sizeof *plan->pool);
  plan->pooled += n;
  c->n = n;
}

// AFAR: are all planes that count above the ceiling, for all points? LEAST: the least height. LIST: candidates, in the tree's order.
typedef enum Task { AFAR, LEAST, LIST } Task;

static bool passed(const tgiSoftSearch *q, const Side *s, Task task, const tgiSsdfBall *b) {
  // a ball with a point of the source in it is not above anything
  if (b->near.squared <= b->r * b->r) return false;
  if (task == AFAR) return tgi_ssdf_above(s->source->tree, &s->source->numbers, b, s->cut, q->ceiling);
  return above(q, s, b, task == LEAST ? q->least - q->room : q->plan->level);
}

static bool walk(tgiSoftSearch *q, int o, Task task) {
  const Side *s = &q->side[o];
  const tgiSsdfTree *t = s->points->tree;
  double skin = task == LEAST ? 0 : q->skin;
  struct { int node; tgiSsdfBall ball; } stack[DEPTH];
  int top = 0;
  stack[0].node = 0;
  tgi_soft_ball(s, 0, NULL, skin, &stack[0].ball);
  while (top >= 0) {
    int i = stack[top].node;
    tgiSsdfBall ball = stack[top--].ball;
    if (passed(q, s, task, &ball)) continue;
    if (t->child[i] < 0) {
      if (task == AFAR) return false;
      if (task == LEAST) look(q, s, t->block[i], &ball);
      else list(q, o, t->block[i], &ball);
      continue;
    }
    tgiSsdfBall child[2];
    for (int k = 0; k < 2; k++) tgi_soft_ball(s, t->child[i] + k, &ball.near, skin, &child[k]);
    int first = task == LIST || rank(&child[0]) <= rank(&child[1]) ? 0 : 1;
    for (int k = 1; k >= 0; k--) {
      stack[++top].node = t->child[i] + (k == 0 ? first : 1 - first);
      stack[top].ball = child[k == 0 ? first : 1 - first];
    }
  }
  return true;
}

// ---- a plane or a ball ----

// least height of a box
static double box_height(const Side *s, const double lo[3], const double hi[3]) {
  double sum = s->kind == TGI_SOFT_PLANE ? -s->e : 0;
  for (int k = 0; k < 3; k++) {
    double below = lo[k] - s->c[k], over = s->c[k] - hi[k], out = below > over ? below : over;
    sum += s->kind == TGI_SOFT_PLANE ? s->n[k] * (s->n[k] > 0 ? lo[k] : hi[k]) : out > 0 ? out * out : 0;
  }
  return s->kind == TGI_SOFT_PLANE ? sum : sqrt(sum) - s->radius;
}

static double block_height(const Side *s, const tgiSsdfBlock *b) {
  double least = INFINITY;
  for (int l = 0; l < b->used; l++) {
    double sum = 0;
    for (int k = 0; k < 3; k++) {
      double p = tgRe(b->p[k][l]), x = p - s->c[k];
      sum += s->kind == TGI_SOFT_PLANE ? s->n[k] * p : x * x;
    }
    least = fmin(least, s->kind == TGI_SOFT_PLANE ? sum - s->e : sqrt(sum) - s->radius);
  }
  return least;
}

// LEAST: the least height, to within the room. LIST: blocks whose box comes to the level within the skin, in the tree's order.
static void walk_exact(tgiSoftSearch *q, int o, Task task) {
  const Side *s = &q->side[o];
  const tgiSsdfTree *t = s->points->tree;
  const tgiSsdfNumbers *z = &s->points->numbers;
  tgiSoftList *list = &q->plan->list[o];
  int stack[DEPTH], top = 0;
  stack[0] = 0;
  while (top >= 0) {
    int i = stack[top--], a = t->child[i], first = 0;
    double low = box_height(s, z->node[i].lo, z->node[i].hi);
    if (low > (task == LEAST ? q->least - q->room : q->plan->level + q->skin)) continue;
    if (a < 0) {
      if (task == LIST) list->block[list->n++] = t->block[i];
      else q->least = fmin(q->least, block_height(s, z->block + t->block[i]));
      continue;
    }
    if (task == LEAST && box_height(s, z->node[a + 1].lo, z->node[a + 1].hi) < box_height(s, z->node[a].lo, z->node[a].hi)) first = 1;
    stack[++top] = a + 1 - first;
    stack[++top] = a + first;
  }
}

// ---- both ----

// Pose rounded so that no point moves by more than the skin: by sqrt(3)/2 of a step of t, and by the norm of R's
// change, 3/2 of its step at most, at the points' distance.
static void round_pose(const Side *s, double skin, tgiSoftPose *pose) {
  const tgiSsdfNode *root = s->points->numbers.node;
  double far = root->radius, c2 = 0, step = 0.5 * skin;
  for (int k = 0; k < 3; k++) c2 += root->centre[k] * root->centre[k];
  far += sqrt(c2);
  double turn = 0.35 * skin / far;
  for (int i = 0; i < 3; i++) pose->t[i] = rint(s->pose.t[i] / step) * step;
  for (int i = 0; i < 9; i++) pose->R[i] = rint(s->pose.R[i] / turn) * turn;
}

static bool ask_afar(tgiSoftSearch *q) {
  bool far = true;
  for (int o = 0; o < 2; o++) {
    const Side *s = &q->side[o];
    if (s->points == NULL || s->kind == TGI_SOFT_POINTS) continue;
    walk_exact(q, o, LEAST);
    // no least height: places that are no numbers, which are not far
    far = far && s->kind == TGI_SOFT_BALL && q->least > q->ceiling + q->skin + q->room && q->least < INFINITY;
  }
  for (int o = 0; o < 2 && far; o++)
    if (q->side[o].points != NULL && q->side[o].kind == TGI_SOFT_POINTS) far = walk(q, o, AFAR);
  return far;
}

bool tgi_soft_afar(const tgiSoftSearch *q, int slot) {
  tgiSoftPlan *plan = q->plan;
  tgiSoftPose cell[2];
  double key[7];
  memset(cell, 0, sizeof cell);
  set_key(q, key);
  for (int o = 0; o < 2; o++)
    if (q->side[o].points != NULL) round_pose(&q->side[o], 2 * q->skin, &cell[o]);
  if (plan->far[slot].made && memcmp(key, plan->far[slot].key, sizeof key) == 0 && memcmp(cell, plan->far[slot].cell, sizeof cell) == 0)
    return plan->far[slot].afar;
  tgiSoftSearch at = *q;
  at.skin = 2.1 * q->skin;   // a rounded R is no rotation: its columns are shorter by little
  for (int o = 0; o < 2; o++) {
    if (q->side[o].points == NULL) continue;
    at.side[o].pose = cell[o];
    if (at.side[o].kind != TGI_SOFT_POINTS) set_exact(q->p, o, &at.side[o]);
  }
  memcpy(plan->far[slot].key, key, sizeof key);
  memcpy(plan->far[slot].cell, cell, sizeof cell);
  plan->far[slot].made = true;
  return plan->far[slot].afar = ask_afar(&at);
}

void tgi_soft_plan_make(tgiSoftSearch *q) {
  tgiSoftPlan *plan = q->plan;
  bool exact = false;
  set_key(q, plan->key);
  plan->made = true;
  plan->skin = q->skin;
  plan->pooled = 0;
  q->least = INFINITY;
  for (int o = 0; o < 2; o++) {
    plan->list[o].made = q->side[o].pose;
    plan->list[o].n = plan->list[o].ncandidate = 0;
    exact = exact || (q->side[o].points != NULL && q->side[o].kind != TGI_SOFT_POINTS);
  }
  for (int o = 0; o < 2; o++)
    if (q->side[o].points != NULL && q->side[o].kind != TGI_SOFT_POINTS) walk_exact(q, o, LEAST);
  // a plane's or a ball's least height will do; else the side of fewer points first: it finds the least height sooner
  int first = q->side[0].points != NULL && q->side[1].points != NULL && q->side[0].points->tree->n > q->side[1].points->tree->n ? 1 : 0;
  for (int k = 0; k < 2 && !exact; k++)
    if (q->side[k == 0 ? first : 1 - first].points != NULL) walk(q, k == 0 ? first : 1 - first, LEAST);
  // heights may rise by about the skin before the lists no longer hold
  plan->level = q->least + 2 * q->room + q->cut + q->skin;
  for (int o = 0; o < 2; o++) {
    if (q->side[o].points == NULL) continue;
    if (q->side[o].kind == TGI_SOFT_POINTS) walk(q, o, LIST);
    else walk_exact(q, o, LIST);
  }
}
