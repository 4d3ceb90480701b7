// near.c: see near.h.
#include "contact/barrier/near.h"

#include <string.h>

#include "coll/broad.h"
#include "contact/barrier/barrier.h"
#include "math/vec3.h"

// ---- one pair ----

static bool is_plane(const tgModel *m, int g) { return m->geom_type[g] == TG_GEOM_PLANE; }

static tgiWorldTree nominal_of(const tgiBarrier *k, int g) {
  return (tgiWorldTree){.surface = k->shapes.surface[g], .tree = k->shapes.tree[g], .nominal = k->nominal[g]};
}

static bool is_core(const tgiBarrier *k, int g) { return k->shapes.surface[g]->core; }

bool tgi_near_pair(const tgiBarrier *k, const tgModel *m, int p, tgiGeomPair *g) {
  int a = m->pair_geom1[p], b = m->pair_geom2[p], body1 = m->body_weld[m->geom_body[a]], body2 = m->body_weld[m->geom_body[b]];
  bool plane = is_plane(m, a) || is_plane(m, b), turned = body1 > body2;
  if (body1 == body2 || (is_plane(m, a) && is_plane(m, b))) return false;
  bool swap = is_plane(m, a) || (!plane && k->nominal[b][0] < k->nominal[a][0]);
  *g = (tgiGeomPair){.A = swap ? b : a, .B = swap ? a : b, .pair = p, .body = {turned ? body2 : body1, turned ? body1 : body2},
                     .plane = plane, .swapped = swap != turned, .times = k->times != NULL ? k->times[p] : 1, .law = k->law};
  // a core is one face, and its potential smooth at every distance: nothing is clustered or blended
  if (is_core(k, g->A) && (plane || is_core(k, g->B))) {
    g->law.brute = true;
    return true;
  }
  if (plane || k->law.local > 0 || k->options.hierarchy != TG_HIERARCHY_MOMENT) return true;
  tgiWorldTree A = nominal_of(k, g->A), B = nominal_of(k, g->B);
  g->law.one_sided[0] = tgi_one_sided(&A, &B);
  g->law.one_sided[1] = tgi_one_sided(&B, &A);
  return true;
}

// ---- memory ----

void tgi_near_needs(int ngeom, int n, const tgiGeomPair *pair, unsigned char *needs) {
  memset(needs, 0, (size_t)ngeom);
  for (int i = 0; i < n; i++) {
    needs[pair[i].A] |= pair[i].plane ? TGI_NEAR_PLANE : TGI_NEAR_WORLD;
    if (!pair[i].plane) needs[pair[i].B] |= TGI_NEAR_WORLD;
  }
}

void tgi_near_place(tgLayout *l, const tgModel *m, const tgiBarrier *k, int room, tgiNearPairs *list) {
  bool listed = k->pair != NULL;
  *list = (tgiNearPairs){.n = listed ? k->npair : 0, .room = room, .pair = k->pair};
  list->needs = tgi_place(l, (size_t)m->ngeom, sizeof *list->needs);
  list->own = tgi_place(l, listed ? 0 : (size_t)room, sizeof *list->own);
  if (list->needs == NULL) return;
  if (listed) tgi_near_needs(m->ngeom, k->npair, k->pair, list->needs);
  else list->pair = list->own;
}

void tgi_near_step_place(tgLayout *l, const tgiBarrier *k, int room, tgiNearStep *step) {
  bool listed = k->pair != NULL;
  size_t own = listed ? 0 : (size_t)room;
  *step = (tgiNearStep){.n = listed ? k->npair : 0, .room = room};
  step->bound = tgi_place(l, (size_t)room, sizeof *step->bound);
  step->bound_before = tgi_place(l, own, sizeof *step->bound_before);
  step->pair = tgi_place(l, own, sizeof *step->pair);
  step->pair_before = tgi_place(l, own, sizeof *step->pair_before);
  step->geom1 = tgi_place(l, own, sizeof *step->geom1);
  step->geom2 = tgi_place(l, own, sizeof *step->geom2);
}

// ---- lists ----

static tgStatus short_of(tgSim *s, int found, int room) {
  if (found <= room) return TG_OK;
  if (found > s->wanted.nnear) s->wanted.nnear = found;
  return tgi_error(&s->error, TG_ERR_CAPACITY, "%d pairs of geoms are near each other and there is room for %d; reserve more and repeat.",
                   found, room);
}

// Calls take(ctx, p) for each pair of the model whose spheres come within the margin of each other; for each at all in
// the plain twin, s->all_pairs.
static tgStatus each_near(tgSim *s, const tgPose *pose, const tgiSpheres *spheres, double margin,
                          void (*take)(void *ctx, int p), void *ctx) {
  const tgModel *m = &s->m;
  tgiBroad broad;
  int *pair = tgi_stack_bytes(s, ((size_t)tgi_broad_most(m) + 1) * sizeof *pair);
  if (pair == NULL) return tgi_error(&s->error, TG_ERR_CAPACITY, "Scratch too small for pairs of geoms; reserve more and repeat.");
  TG_TRY(tgi_broad_spheres(s, pose, spheres, s->all_pairs ? INFINITY : margin, &broad));
  for (int g = 0; g < m->ngeom; g++)
    for (int i = 0, n = tgi_broad_pairs(&broad, g, pair); i < n; i++) take(ctx, pair[i]);
  return TG_OK;
}

// where the roots of the geoms' trees are, as tgi_world_tree_transform has them; radius is the caller's to fill
static bool take_spheres(tgSim *s, const tgPose *pose, double **centre, double **radius) {
  const tgiBarrierWork *w = s->solver;
  int n = s->m.ngeom;
  double *x = *centre = tgi_stack_bytes(s, 4 * (size_t)n * sizeof *x);
  if (x == NULL) {
    tgi_error(&s->error, TG_ERR_CAPACITY, "Scratch too small for the spheres of %d geoms; reserve more and repeat.", n);
    return false;
  }
  *radius = x + 3 * n;
  for (int g = 0; g < n; g++) {
    tgReal c[3] = {0, 0, 0};
    if (w->solid[g].tree != NULL) tgi_m3_mulv(c, pose->geom_xmat + 9 * g, w->geom[g].numbers.centre);
    tgi_v3_axpy(c, 1, pose->geom_xpos + 3 * g);
    for (int i = 0; i < 3; i++) x[3 * g + i] = tgRe(c[i]);
  }
  return true;
}

typedef struct Listing { const tgSim *s; tgiNearPairs *list; tgiNearStep *step; } Listing;

static void add_pair(void *ctx, int p) {
  const Listing *c = ctx;
  tgiNearPairs *list = c->list;
  tgiGeomPair g;
  if (!tgi_near_pair(tgi_barrier(c->s), &c->s->m, p, &g)) return;
  if (list->n < list->room) list->own[list->n] = g;
  list->n++;
}

tgStatus tgi_near_at(tgSim *s, const tgPose *pose, tgiNearPairs *list) {
  const tgiBarrier *k = tgi_barrier(s);
  const tgiBarrierWork *w = s->solver;
  Listing c = {.s = s, .list = list};
  double *centre, *radius;
  if (k->pair != NULL) return TG_OK;
  size_t mark = tgi_stack_mark(s);
  if (!take_spheres(s, pose, &centre, &radius)) return TG_ERR_CAPACITY;
  for (int g = 0; g < s->m.ngeom; g++) radius[g] = w->solid[g].tree != NULL ? w->geom[g].around : 0;
  list->n = 0;
  TG_TRY(each_near(s, pose, &(tgiSpheres){centre, radius}, (1 + 1e-9) * tgi_local_ends(&k->law, false), add_pair, &c));
  tgi_stack_free(s, mark);
  int found = list->n;
  if (found > list->room) list->n = 0;
  tgi_near_needs(s->m.ngeom, list->n, list->own, list->needs);
  return short_of(s, found, list->room);
}

static void add_step(void *ctx, int p) {
  const Listing *c = ctx;
  tgiNearStep *step = c->step;
  tgiGeomPair g;
  if (!tgi_near_pair(tgi_barrier(c->s), &c->s->m, p, &g)) return;
  if (step->n < step->room) {
    step->geom1[step->n] = g.A;
    step->geom2[step->n] = g.B;
    step->pair[step->n] = p;
  }
  step->n++;
}

// the list of the call before, and one with room for this
static void turn_over(tgiNearStep *step) {
  int *pair = step->pair;
  double *bound = step->bound;
  step->pair = step->pair_before;
  step->bound = step->bound_before;
  step->pair_before = pair;
  step->bound_before = bound;
  step->before = step->n;
  step->n = 0;
}

// both lists ascend; of a pair that was not listed nothing is known
static void carry_over(tgiNearStep *step) {
  for (int i = 0, j = 0; i < step->n; i++) {
    while (j < step->before && step->pair_before[j] < step->pair[i]) j++;
    step->bound[i] = j < step->before && step->pair_before[j] == step->pair[i] ? step->bound_before[j] : 0;
  }
}

tgStatus tgi_near_along(tgSim *s, const tgPose *pose, const tgReal *d) {
  const tgiBarrier *k = tgi_barrier(s);
  tgiBarrierWork *w = tgi_barrier_work(s);
  Listing c = {.s = s, .step = &w->step};
  double *centre, *radius;
  if (k->pair != NULL) return TG_OK;
  size_t mark = tgi_stack_mark(s);
  if (!take_spheres(s, pose, &centre, &radius)) return TG_ERR_CAPACITY;
  tgi_advance_reach(s, &w->advance, pose, d, radius);
  for (int g = 0; g < s->m.ngeom; g++)
    if (w->solid[g].tree != NULL) radius[g] += tgRe(w->geom[g].numbers.radius[0]);
  turn_over(&w->step);
  TG_TRY(each_near(s, pose, &(tgiSpheres){centre, radius}, 0, add_step, &c));
  tgi_stack_free(s, mark);
  int found = w->step.n;
  if (found > w->step.room) w->step.n = 0;
  TG_TRY(short_of(s, found, w->step.room));
  carry_over(&w->step);
  w->advance.npair = w->step.n;
  w->advance.geom1 = w->step.geom1;
  w->advance.geom2 = w->step.geom2;
  w->advance.bound = w->step.bound;
  return TG_OK;
}
