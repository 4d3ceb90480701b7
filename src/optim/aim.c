// aim.c: see aim.h. A sum over many things that are to be moved has minima where what is gained by one is lost by the others; of one it has
// few. So of those that are not home one counts, until it is, and those that are home count, since they cost nothing there.
#include "optim/aim.h"

#include <math.h>
#include <string.h>

#include "kin/kinematics.h"

// What is aimed at is asked for closer, by these shares of its tolerance: until it is within HOME it counts from NEAR on. So it does not
// lie on the edge, over which the next way of the pusher would bring it.
static const double NEAR = 0.7, HOME = 0.85;

bool tgi_aim_can(const tgTerm *term) { return tgi_term_is_position(term->kind) && term->tolerance > 0; }

static void place(tgAim *a, const tgTask *t, tgLayout *l) {
  a->term = tgi_place(l, (size_t)t->nterm, sizeof *a->term);
  tgi_term_rows_place(t->model, &a->rows, l);
}

bool tgi_aim_make(tgAim *a, const tgTask *task, const tgAllocator *alloc) {
  *a = (tgAim){.at = -1, .alloc = *alloc};
  tgLayout l = {.base = NULL};
  place(a, task, &l);
  a->block = alloc->alloc(alloc->ctx, l.used);
  if (a->block == NULL) return false;
  memset(a->block, 0, l.used);
  l = (tgLayout){.base = a->block};
  place(a, task, &l);
  a->sim = tg_sim_create(task->model, task->contact, alloc, NULL);
  return a->sim != NULL;
}

void tgi_aim_free(tgAim *a) {
  if (a->block == NULL) return;
  tg_sim_free(a->sim);
  a->alloc.free(a->alloc.ctx, a->block);
}

// over its tolerance; at most 1: home
static double over(tgAim *a, const tgTerm *term) {
  tgTerm whole = *term;
  whole.tolerance = 0;
  return sqrt(tgi_term_rows(a->sim, &a->sim->start, &whole, false, &a->rows)) / term->tolerance;
}

// the one that is the least way from being home, -1: all are; the first of equals
static int nearest(tgAim *a, const tgTask *t) {
  int at = -1;
  double least = INFINITY;
  for (int i = 0; i < t->nterm; i++) {
    const tgTerm *term = &t->term[i];
    double ratio = tgi_aim_can(term) && term->weight > 0 ? over(a, term) : 0, way = (ratio - 1) * term->tolerance;
    if (ratio <= 1 || way >= least) continue;
    at = i;
    least = way;
  }
  return at;
}

bool tgi_aim_take(tgAim *a, const tgTask *t, const double *q) {
  int before = a->at;
  memcpy(a->sim->qpos, q, (size_t)t->model->nq * sizeof *q);
  tgi_kinematics(&a->sim->m, a->sim->qpos, &a->sim->start);
  if (before < 0 || !tgi_aim_can(&t->term[before]) || over(a, &t->term[before]) <= HOME) a->at = nearest(a, t);
  memcpy(a->term, t->term, (size_t)t->nterm * sizeof *t->term);
  for (int i = 0; i < t->nterm; i++)
    if (i != a->at && tgi_aim_can(&t->term[i]) && over(a, &t->term[i]) > 1) a->term[i].weight = 0;
  if (a->at >= 0) a->term[a->at].tolerance *= NEAR;
  return a->at != before;
}
