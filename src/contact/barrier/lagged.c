// lagged.c: see lagged.h.
#include "contact/barrier/lagged.h"

#include <string.h>

#include "contact/barrier/barrier.h"

static int least(int a, int b) { return a < b ? a : b; }

static void place_points(tgLayout *l, const tgiBarrier *k, const tgCapacity *z, size_t room, tgiLaggedPoints *p) {
  *p = (tgiLaggedPoints){.room = least(k->npoint, z->npoint)};
  p->npoint = tgi_place(l, room, sizeof *p->npoint);
  p->first = tgi_place(l, room, sizeof *p->first);
  p->point = tgi_place(l, (size_t)p->room, sizeof *p->point);
  p->patch = tgi_place(l, (size_t)p->room, sizeof *p->patch);
  p->share = tgi_place(l, room, sizeof *p->share);
}

void tgi_lagged_place(tgLayout *l, const tgContact *c, const tgCapacity *z, int room, tgiLagged *lagged) {
  const tgiBarrier *k = c->data;
  bool planes = k->options.friction == TG_FRICTION_PLANE;
  size_t patches = tgi_size_mul((size_t)k->most_patches, (size_t)k->options.threads);
  place_points(l, k, z, (size_t)room, &lagged->start);
  place_points(l, k, z, (size_t)room, &lagged->ahead);
  lagged->nacting = 0;
  lagged->most_acting = least(k->npair, z->nfriction);
  size_t acting = (size_t)lagged->most_acting;
  lagged->acting = tgi_place(l, acting, sizeof *lagged->acting);
  lagged->slot = tgi_place(l, acting, sizeof *lagged->slot);
  lagged->needs = tgi_place(l, (size_t)c->model->ngeom, sizeof *lagged->needs);
  lagged->term = tgi_place(l, acting, sizeof *lagged->term);
  lagged->out = tgi_place(l, 12 * acting, sizeof *lagged->out);
  lagged->separated = tgi_place(l, acting, sizeof *lagged->separated);
  lagged->weight = tgi_place(l, patches, sizeof *lagged->weight);
  lagged->point = tgi_place(l, patches, sizeof *lagged->point);
  lagged->patch = tgi_place(l, patches, sizeof *lagged->patch);
  lagged->sum = tgi_place(l, tgi_size_mul((size_t)k->most_patches * (1 + TGI_MOST_DIRECTIONS),
                                          (size_t)k->options.threads), sizeof *lagged->sum);
  lagged->room = planes ? z->ncon : 0;
  lagged->first_plane = tgi_place(l, (size_t)room + 1, sizeof *lagged->first_plane);
  lagged->plane = tgi_place(l, (size_t)lagged->room, sizeof *lagged->plane);
  lagged->body = tgi_place(l, 12 * (size_t)c->model->nbody, sizeof *lagged->body);
  lagged->geom = tgi_place(l, 12 * (size_t)c->model->ngeom, sizeof *lagged->geom);
}

tgStatus tgi_lagged_supports(const tgModel *m, tgError *error) {
  for (int p = 0; p < m->npair; p++) TG_TRY(tgi_pair_one_friction(m, p, error));
  return TG_OK;
}

static tgiLagged *lagged_of(tgSim *s) { return &tgi_barrier_work(s)->lagged; }

void tgi_lagged_frames(int n, const tgReal *x, const tgReal *R, tgReal *frame) {
  for (int i = 0; i < n; i++) {
    tgi_v3_copy(frame + 12 * i, x + 3 * i);
    tgi_m3_copy(frame + 12 * i + 3, R + 9 * i);
  }
}

tgiFrictionSum *tgi_lagged_room(const tgSim *s, int worker) {
  const tgiBarrierWork *w = s->solver;
  return w->lagged.sum + (size_t)worker * (size_t)tgi_barrier(s)->most_patches * (1 + TGI_MOST_DIRECTIONS);
}

bool tgi_lagged_in_planes(const tgSim *s, const tgiGeomPair *g) {
  const tgiBarrier *k = tgi_barrier(s);
  if (k->options.friction != TG_FRICTION_PLANE || g->plane || g->law.local > 0) return false;
  const tgiSurface *A = k->shapes.surface[g->A], *B = k->shapes.surface[g->B];
  bool rounded = (A->rounds || B->rounds) && tgRe(tgi_barrier_rounding(s)) > 0;
  return !A->core && !B->core && !rounded;   // what the publication has planes between
}

// of a local barrier, all of whose forces are near, friction does not ask for distances
static double range_of(const tgSim *s, const tgiGeomPair *g) {
  if (g->law.local > 0) return g->law.everywhere ? g->law.local : 0;
  return tgi_barrier(s)->options.friction_range;
}

tgiForceTask tgi_lagged_task(tgSim *s, const tgiGeomPair *g, const tgReal *frame, tgReal n[3]) {
  const tgiBarrier *k = tgi_barrier(s);
  tgiBarrierWork *w = tgi_barrier_work(s);
  tgiForceTask t = {.law = tgi_barrier_law(s, g), .mu = tgi_barrier_weight(s, g), .range = range_of(s, g),
                    .patch = k->patch[g->A], .npatch = k->npatch[g->A], .room = w->lagged.sum};
  t.A = g->plane ? &w->geom[g->A].plane : &w->geom[g->A].world;
  if (!g->plane) {
    t.B = &w->geom[g->B].world;
    return t;
  }
  t.n = n;
  t.height = tgi_barrier_height(s, g, frame + 12 * g->B, frame + 12 * g->B + 3, n);
  return t;
}

// ---- at the start ----

void tgi_lagged_freeze(tgSim *s, double h) {
  tgiLagged *lagged = lagged_of(s);
  lagged->h = h;
  tgi_lagged_frames(s->m.nbody, s->start.xpos, s->start.xmat, lagged->body);
  tgi_lagged_frames(s->m.ngeom, s->start.geom_xpos, s->start.geom_xmat, lagged->geom);
}

bool tgi_lagged_by_sums(const tgSim *s) {
#ifdef TG_COMPLEX
  (void)s;
  return false;
#else
  const tgiBarrier *k = tgi_barrier(s);
  return k->options.friction != TG_FRICTION_PLANE && k->npair > 0 && !(k->law.local > 0);
#endif
}

void tgi_lagged_take(tgSim *s) {
  tgiLagged *lagged = lagged_of(s);
  tgiLaggedPoints ahead = lagged->ahead;
  lagged->ahead = lagged->start;
  lagged->start = ahead;
  lagged->ahead.made = false;
}

static bool in_points(const tgSim *s, const tgiGeomPair *g) { return s->m.pair_condim[g->pair] > 1 && !tgi_lagged_in_planes(s, g); }

// A segment has its forces at its ends, and an ellipsoid's have rates but no reverse pass: by a walk of their own
bool tgi_lagged_scatters(const tgSim *s, const tgiGeomPair *g) {
  const tgiShapes *k = &tgi_barrier(s)->shapes;
  bool walks = k->surface[g->A]->segment || k->surface[g->A]->oval || (!g->plane && k->surface[g->B]->oval);
  return in_points(s, g) && !(g->law.local > 0) && !walks;
}

tgiForceScatter tgi_lagged_scatter(tgSim *s, int worker, const tgiGeomPair *g, tgiFrictionShare *share) {
  const tgiBarrier *k = tgi_barrier(s);
  tgiFrictionSum *sum = tgi_lagged_room(s, worker);
  memset(sum, 0, (size_t)k->npatch[g->A] * sizeof *sum);
  return (tgiForceScatter){.mu = tgi_barrier_weight(s, g), .range = range_of(s, g), .patch = k->patch[g->A], .sum = sum, .share = share};
}

static void keep_point(void *ctx, const tgiFrictionPoint *p, const tgiFrictionPoint *dp) {
  tgiFrictionPoint **next = ctx;
  (void)dp;
  *(*next)++ = *p;
}

// by a walk of their own; *next: behind the last point
static bool walk_points(tgSim *s, int worker, const tgiGeomPair *g, tgiFrictionPoint **next) {
  tgReal n[3];
  tgiForceSum sum;
  tgiForceTask t = tgi_lagged_task(s, g, lagged_of(s)->geom, n);
  t.room = tgi_lagged_room(s, worker);
  t.ctx = next;
  t.point = keep_point;
  return tgi_tree_force(&t, &sum);
}

// where there is room
static void keep_points(tgiLaggedPoints *points, int i, int n, const tgiFrictionPoint *point, const int *patch) {
  int at = __atomic_fetch_add(&points->used, n, __ATOMIC_RELAXED);
  if (n == 0 || at > points->room - n) return;
  memcpy(points->point + at, point, (size_t)n * sizeof *point);
  memcpy(points->patch + at, patch, (size_t)n * sizeof *patch);
  points->first[i] = at;
  points->npoint[i] = n;
}

bool tgi_lagged_gather(tgSim *s, int worker, int i, const tgiForceScatter *scatter, tgiLaggedPoints *points) {
  const tgiBarrier *k = tgi_barrier(s);
  const tgiGeomPair *g = &tgi_barrier_work(s)->sums.near.pair[i];
  size_t own = (size_t)worker * (size_t)k->most_patches;
  tgiFrictionPoint *first = lagged_of(s)->point + own, *next = first;
  int *patch = lagged_of(s)->patch + own;
  points->npoint[i] = 0;
  if (!in_points(s, g)) return true;
  if (scatter != NULL) {
    tgReal factor = scatter->range > 0 ? tgi_friction_factor(scatter->share, 0, NULL, NULL) : 1;
    for (int j = 0; j < k->npatch[g->A] && tgRe(factor) > 0; j++) {
      if (!tgi_friction_point(&scatter->sum[j], next)) continue;
      patch[next - first] = j;
      next++->N *= factor;
    }
    points->share[i] = *scatter->share;
  } else if (!walk_points(s, worker, g, &next)) {
    return false;
  }
  keep_points(points, i, (int)(next - first), first, patch);
  return true;
}

typedef struct Planes { tgiLagged *lagged; int count; } Planes;

static void keep_plane(void *ctx, const tgiFrictionPlane *p, const tgiFrictionPlane *dp) {
  Planes *c = ctx;
  (void)dp;
  if (c->count < c->lagged->room) c->lagged->plane[c->count] = *p;
  c->count++;
}

static tgStatus list_acting(tgSim *s) {
  const tgiNearPairs *near = &tgi_barrier_work(s)->sums.near;
  tgiLagged *lagged = lagged_of(s);
  int n = 0;
  for (int i = 0; i < near->n; i++) {
    if (!(lagged->start.npoint[i] > 0 || lagged->first_plane[i + 1] > lagged->first_plane[i])) continue;
    if (n++ >= lagged->most_acting) continue;
    lagged->acting[n - 1] = near->pair[i];
    lagged->slot[n - 1] = i;
  }
  lagged->nacting = n <= lagged->most_acting ? n : 0;
  tgi_near_needs(s->m.ngeom, lagged->nacting, lagged->acting, lagged->needs);
  if (n <= lagged->most_acting) return TG_OK;
  if (n > s->wanted.nfriction) s->wanted.nfriction = n;
  return tgi_error(&s->error, TG_ERR_CAPACITY, "Friction acts on %d pairs of geoms and there is room for %d; reserve more and repeat.", n,
                   lagged->most_acting);
}

tgStatus tgi_lagged_planes(tgSim *s) {
  const tgiNearPairs *near = &tgi_barrier_work(s)->sums.near;
  tgiLagged *lagged = lagged_of(s);
  const tgiLaggedPoints *start = &lagged->start;
  Planes c = {.lagged = lagged};
  if (start->used > start->room) {
    if (start->used > s->wanted.npoint) s->wanted.npoint = start->used;
    return tgi_error(&s->error, TG_ERR_CAPACITY,
                     "There are %d friction points and room for %d; reserve more and repeat.", start->used,
                     start->room);
  }
  for (int i = 0; i < near->n; i++) {
    const tgiGeomPair *g = &near->pair[i];
    tgReal n[3];
    tgiForceSum sum;
    lagged->first_plane[i] = c.count;
    if (s->m.pair_condim[g->pair] == 1 || !tgi_lagged_in_planes(s, g)) continue;
    tgiForceTask t = tgi_lagged_task(s, g, lagged->geom, n);
    t.ctx = &c;
    t.plane = keep_plane;
    if (!tgi_tree_force(&t, &sum)) return tgi_error(&s->error, TG_ERR_INVALID, "The step starts where two geoms touch.");
  }
  lagged->first_plane[near->n] = c.count;
  if (c.count <= lagged->room) return list_acting(s);
  if (c.count > s->wanted.ncon) s->wanted.ncon = c.count;
  return tgi_error(&s->error, TG_ERR_CAPACITY,
                   "Friction acts at %d pairs of triangles and there is room for %d; reserve more and repeat.", c.count,
                   lagged->room);
}

// ---- now ----

tgiFrictionLaw tgi_lagged_law(const tgSim *s, const tgiGeomPair *g) {
  const tgiBarrierWork *w = s->solver;
  return (tgiFrictionLaw){.lambda = tgi_pair_friction(&s->m, g->pair, 0, NULL), .h = w->lagged.h, .eps = TG_NUMBER(s, slip_speed)};
}

void tgi_lagged_motions(const tgSim *s, const tgiGeomPair *g, tgiFrictionMotion m[2]) {
  const tgiBarrierWork *w = s->solver;
  for (int side = 0; side < 2; side++) {
    int b = g->body[g->swapped ? 1 - side : side];
    tgi_friction_motion(w->lagged.body + 12 * b, w->lagged.body + 12 * b + 3, w->pose->xpos + 3 * b, w->pose->xmat + 9 * b, &m[side]);
  }
}

void tgi_lagged_subtract_blocks(const tgiGeomPair *g, const tgReal from[144], tgReal to[144]) {
  int turn = g->swapped ? 6 : 0;
  for (int i = 0; i < 12; i++)
    for (int j = 0; j < 12; j++) to[12 * ((i + turn) % 12) + (j + turn) % 12] -= from[12 * i + j];
}

int tgi_lagged_acting(const tgSim *s, const tgiGeomPair *g) {
  const tgiLagged *lagged = &((const tgiBarrierWork *)s->solver)->lagged;
  int low = 0, high = lagged->nacting;
  while (low < high) {
    int middle = low + (high - low) / 2;
    if (lagged->acting[middle].pair < g->pair) low = middle + 1;
    else high = middle;
  }
  return low < lagged->nacting && lagged->acting[low].pair == g->pair ? low : -1;
}

void tgi_lagged_pair(tgSim *s, int acting) {
  tgiLagged *lagged = lagged_of(s);
  int i = lagged->slot[acting], planes = lagged->first_plane[i + 1] - lagged->first_plane[i];
  const tgiGeomPair *g = &lagged->acting[acting];
  tgiFrictionTerm *t = &lagged->term[acting];
  tgiFrictionMotion m[2];
  tgiFrictionLaw law = tgi_lagged_law(s, g);
  memset(t, 0, sizeof *t);
  tgi_lagged_motions(s, g, m);
  t->energy = tgi_friction_energy(lagged->start.npoint[i], lagged->start.point + lagged->start.first[i], &law, m, t->g, t->H);
  if (planes > 0) t->energy += tgi_friction_plane_energy(planes, lagged->plane + lagged->first_plane[i], &law, m, t->g, t->H);
}

void tgi_lagged_evaluate(tgSim *s) {
  const tgiLagged *lagged = lagged_of(s);
  for (int i = 0; i < lagged->nacting; i++) {
    const tgiGeomPair *g = &lagged->acting[i];
    tgPairTerm *t = tgi_barrier_term(s, g);
    t->energy += lagged->term[i].energy;
    for (int j = 0; j < 12; j++) t->w[(j + (g->swapped ? 6 : 0)) % 12] -= lagged->term[i].g[j];
    tgi_lagged_subtract_blocks(g, lagged->term[i].H, t->X);
  }
}

void tgi_lagged_transform(tgSim *s) {
  const tgiLagged *lagged = lagged_of(s);
  tgi_barrier_place(s, lagged->geom, lagged->needs);
}
