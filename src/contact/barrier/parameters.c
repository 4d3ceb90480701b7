// parameters.c: the numbers behind the barrier and its friction. See parameters.h.
//
// Based on: [math/barrier Parameters]. What is wanted is the rate of c = sum g . (Z1; Z2) in a number. A number
// that moves or changes a geom changes the barrier's g at the pose, and the friction points at that of the start,
// which slip over their bodies with the geom. Both are rates of forces (tree_force.h) along the same directions:
// the six twists of a pair's A, then the sizes of A and of B, the far strength and the radius around faces. A twist of B is
// one of both geoms, which turns everything along, less one of A.
#include "contact/barrier/parameters.h"

#include <stdio.h>
#include <string.h>

#include "contact/barrier/barrier.h"
#include "contact/barrier/friction/friction_twist.h"
#include "contact/barrier/halfspace/halfspace.h"
#include "kin/kinematics.h"
#include "math/quat.h"
#include "math/spatial.h"

enum { TWISTS = 6, SIZES = 3 };

// rates of c along the directions of one pair
typedef struct Rates {
  tgReal Z[12];                        // of the bodies of A and B
  tgiFrictionLaw law;
  tgiFrictionMotion m[2];
  int nd;
  tgReal rate[TGI_MOST_DIRECTIONS];    // of friction
  tgReal common[TWISTS];               // of friction, twists of both geoms
  tgReal h, lambda;                    // of friction; law.lambda is 1
} Rates;

static tgReal along(const Rates *r, const tgReal dg[12]) {
  tgReal sum = 0;
  for (int i = 0; i < 12; i++) sum += r->Z[i] * dg[i];
  return sum;
}

static void point_rates(void *ctx, const tgiFrictionPoint *p, const tgiFrictionPoint *dp) {
  Rates *r = ctx;
  tgReal dg[12] = {0}, Q[9];
  tgi_friction_energy(1, p, &r->law, r->m, dg, NULL);
  r->lambda += along(r, dg);
  tgi_friction_step_rate(p, &r->law, r->m, dg);
  r->h += along(r, dg);
  for (int j = 0; j < r->nd; j++) {
    tgi_friction_rate(p, &dp[j], &r->law, r->m, dg);
    r->rate[j] += along(r, dg);
  }
  for (int i = 0; i < 3; i++) Q[4 * i] = p->Q[i];
  Q[1] = Q[3] = p->Q[3];
  Q[2] = Q[6] = p->Q[4];
  Q[5] = Q[7] = p->Q[5];
  for (int j = 0; j < TWISTS && r->nd > 0; j++) {
    tgiFrictionPoint d = {.N = 0};
    tgi_friction_velocity(d.a, j, p->a);
    tgi_friction_velocity(d.b, j, p->b);
    tgi_friction_turned(d.Q, j, Q);
    tgi_friction_rate(p, &d, &r->law, r->m, dg);
    r->common[j] += along(r, dg);
  }
}

static void plane_rates(void *ctx, const tgiFrictionPlane *p, const tgiFrictionPlane *dp) {
  Rates *r = ctx;
  tgReal dg[12] = {0};
  tgi_friction_plane_energy(1, p, &r->law, r->m, dg, NULL);
  r->lambda += along(r, dg);
  tgi_friction_plane_step_rate(p, &r->law, r->m, dg);
  r->h += along(r, dg);
  for (int j = 0; j < r->nd; j++) {
    tgi_friction_plane_rate(p, &dp[j], &r->law, r->m, dg);
    r->rate[j] += along(r, dg);
  }
  for (int j = 0; j < TWISTS && r->nd > 0; j++) {
    tgiFrictionPlane d = {.f = {0}};
    for (int k = 0; k < 6; k++) tgi_friction_velocity(d.x + 3 * k, j, p->x + 3 * k);
    if (j < 3) tgi_friction_velocity(d.n, j, p->n);
    tgi_friction_plane_rate(p, &d, &r->law, r->m, dg);
    r->common[j] += along(r, dg);
  }
}

// ---- directions ----

// the array that a geom's sizes are in, NULL when it is not chosen or the geom is a plane
static tgReal *size_array(const tgSim *s, int g, const tgParamGrad *p) {
  if (tgi_barrier(s)->shapes.tree[g] == NULL) return NULL;
  tgReal *out = s->m.geom_type[g] == TG_GEOM_MESH ? p->geom_scale : p->geom_size;
  return out != NULL ? out + 3 * g : NULL;
}

// rates of a geom's nodes and vertices in its sizes from `first` to before `end` (TGI_SIZE_ROUNDING among them) at the frame (x, R), added
// to dir, one of each
static bool size_directions(tgSim *s, int g, bool before_plane, int side, const tgReal *frame, int first, int end, tgiDirection *dir) {
  const tgiBarrier *k = tgi_barrier(s);
  const tgiBarrierGeom *geom = &tgi_barrier_work(s)->geom[g];
  const tgiSurface *surface = k->shapes.surface[g];
  const tgiTree *tree = k->shapes.tree[g];
  const tgiWorldTree *world = before_plane ? &geom->plane : &geom->world;
  size_t reals = tgi_tree_reals(surface, tree);
  tgReal *memory = tgi_stack_real(s, 2 * reals);
  if (memory == NULL) return false;
  for (int j = first; j < end; j++) {
    tgReal *node = tgi_stack_real(s, tgi_world_tree_reals(surface, tree)), *vert = node + (size_t)tree->nnode * TGI_NODE_SIZE;
    if (node == NULL) return false;
    tgiTreeNumbers d = tgi_tree_place(surface, tree, memory);
    tgi_tree_numbers_d(surface, tree, k->form, TGI_CLIMB_DEFAULT, &geom->numbers, j, &d);
    // of a local barrier spheres only leave out what is 0
    if (!(k->law.local > 0) && tgi_tree_tie(tree, k->form, &geom->numbers, &d)) tgi_barrier_work(s)->tied = g;
    if (before_plane && k->form == TGI_TREE_MOMENT) {
      tgiTreeNumbers plane = tgi_tree_place(surface, tree, memory + reals);
      tgi_plane_numbers_d(tree, &geom->numbers, &d, &geom->plane_numbers, &plane);
      d = plane;
    }
    tgi_world_tree_rates(world, &d, frame + 3, node, vert);
    dir[j - first].node[side] = node;
    dir[j - first].vert[side] = vert;
    dir[j - first].round[side] = *d.round;
  }
  return true;
}

// which directions of a pair are wanted: twists from 0, sizes of A and B from size[0], size[1], the far strength and
// the radius around faces; -1: none
typedef struct Wanted { int nd, size[2], far, rounding; bool twists; } Wanted;

static bool rounds(const tgSim *s, int g) {
  const tgiSurface *surface = tgi_barrier(s)->shapes.surface[g];
  return surface != NULL && surface->rounds;
}

// Terms are of bodies that are welded together as one. A geom of another of them moves by the places of bodies in between too.
static bool is_carried(const tgModel *m, int g) { return m->body_weld[m->geom_body[g]] != m->geom_body[g]; }

// the places of bodies are wanted, and some of a pair's geoms are carried
static bool places(const tgSim *s, const tgiGeomPair *g, const tgParamGrad *p) {
  return p->places && (is_carried(&s->m, g->A) || is_carried(&s->m, g->B));
}

static Wanted wanted_of(const tgSim *s, const tgiGeomPair *g, const tgParamGrad *p) {
  Wanted w = {.size = {-1, -1}, .far = -1, .rounding = -1,
              .twists = p->geom_pos != NULL || p->geom_quat != NULL || places(s, g, p)};
  if (w.twists) w.nd = TWISTS;
  for (int side = 0; side < 2; side++)
    if (size_array(s, side == 0 ? g->A : g->B, p) != NULL) {
      w.size[side] = w.nd;
      w.nd += SIZES;
    }
  if (TG_NUMBER_GRAD(p, far_strength) != NULL && !(g->law.local > 0)) w.far = w.nd++;
  if (TG_NUMBER_GRAD(p, rounding) != NULL && (rounds(s, g->A) || rounds(s, g->B))) w.rounding = w.nd++;
  return w;
}

static bool directions(tgSim *s, const tgiGeomPair *g, const Wanted *w, const tgReal *frame, tgiDirection *dir) {
  for (int j = 0; j < w->nd; j++) dir[j] = (tgiDirection){.twist = {0}};
  for (int j = 0; w->twists && j < TWISTS; j++) dir[j].twist[j] = 1;
  if (w->far >= 0) dir[w->far].more = 1;
  for (int side = 0; side < 2; side++) {
    int geom = side == 0 ? g->A : g->B;
    const tgReal *at = frame + 12 * geom;
    if (w->size[side] >= 0 && !size_directions(s, geom, g->plane, side, at, 0, SIZES, dir + w->size[side])) return false;
    if (w->rounding >= 0 && rounds(s, geom) &&
        !size_directions(s, geom, g->plane, side, at, TGI_SIZE_ROUNDING, TGI_SIZE_ROUNDING + 1, dir + w->rounding))
      return false;
  }
  return true;
}

// ---- to the parameters ----

// of a geom's twist in the world at the frame `geom`, R being its body's axes
static void add_place(const tgSim *s, int g, const tgReal *R, const tgReal *geom, const tgReal twist[6], tgParamGrad *p) {
  tgReal t[3], r[3];
  if (p->geom_pos != NULL) {
    tgi_m3_tmulv(r, R, twist + 3);
    tgi_v3_add(p->geom_pos + 3 * g, p->geom_pos + 3 * g, r);
  }
  if (p->geom_quat == NULL) return;
  tgi_v3_cross(t, geom, twist + 3);
  tgi_v3_sub(t, twist, t);
  tgi_m3_tmulv(r, geom + 3, t);
  tgi_quat_gradient(s->m.geom_quat + 4 * g, r, p->geom_quat + 4 * g);
}

// What a term leaves with the body that all are welded to is the geom's own body's: both cancel on the way to the former, behind which
// the places of bodies have their share.
static void add_carried(const tgSim *s, int g, const tgReal twist[6], tgParamGrad *p) {
  if (!p->places || !is_carried(&s->m, g)) return;
  tgi_sp_axpy(p->X + 6 * s->m.geom_body[g], 1, twist);
  tgi_sp_axpy(p->X + 6 * s->m.body_weld[s->m.geom_body[g]], -1, twist);
}

// frames and body axes of all geoms at one time
typedef struct Time { const tgReal *geom, *body; } Time;

static void add_rates(const tgSim *s, const tgiGeomPair *g, const Wanted *w, Time at, const tgReal *rate,
                      const tgReal *common, tgParamGrad *p) {
  tgReal other[TWISTS];
  if (w->twists) {
    for (int j = 0; j < TWISTS; j++) other[j] = common[j] - rate[j];
    add_place(s, g->A, at.body + 12 * s->m.geom_body[g->A] + 3, at.geom + 12 * g->A, rate, p);
    add_place(s, g->B, at.body + 12 * s->m.geom_body[g->B] + 3, at.geom + 12 * g->B, other, p);
    add_carried(s, g->A, rate, p);
    add_carried(s, g->B, other, p);
  }
  for (int side = 0; side < 2; side++) {
    tgReal *out = w->size[side] >= 0 ? size_array(s, side == 0 ? g->A : g->B, p) : NULL;
    for (int j = 0; j < SIZES && out != NULL; j++) out[j] += rate[w->size[side] + j];
  }
  if (w->far >= 0) *TG_NUMBER_GRAD(p, far_strength) += rate[w->far];
  if (w->rounding >= 0) *TG_NUMBER_GRAD(p, rounding) += rate[w->rounding];
}

static void add_coefficient(const tgSim *s, const tgiGeomPair *g, tgReal rate, tgParamGrad *p) {
  int geom;
  tgi_pair_friction(&s->m, g->pair, 0, &geom);
  if (geom >= 0 && p->geom_friction != NULL) p->geom_friction[geom] += rate;
  if (geom < 0 && p->pair_friction != NULL) p->pair_friction[2 * s->m.pair_own[g->pair]] += rate;
}

// ---- the two times ----

static tgStatus no_room(tgSim *s) {
  return tgi_error(&s->error, TG_ERR_CAPACITY, "Scratch too small for the gradient in sizes of geoms; reserve more and repeat.");
}

static tgStatus touches(tgSim *s) { return tgi_error(&s->error, TG_ERR_INVALID, "The gradient is asked where two geoms touch."); }

// minus the twists: the sums are gradients of energies, and forces are minus them
static void twist_pair(const tgiGeomPair *g, const tgReal *Z, tgReal pair[12]) {
  for (int side = 0; side < 2; side++)
    for (int i = 0; i < 6; i++) pair[6 * side + i] = -Z[6 * g->body[g->swapped ? 1 - side : side] + i];
}

// what the barrier's own g . Z, g (Z_A - Z_B), changes by
static tgStatus now(tgSim *s, const tgiGeomPair *g, const tgReal *Z, Time at, tgParamGrad *p) {
  tgiDirection dir[TGI_MOST_DIRECTIONS];
  tgReal pair[12], relative[6], rate[TGI_MOST_DIRECTIONS], common[TWISTS], n[3];
  Wanted w = wanted_of(s, g, p);
  tgiForceSum sum;
  if (w.nd == 0) return TG_OK;
  if (!directions(s, g, &w, at.geom, dir)) return no_room(s);
  tgiForceTask t = tgi_lagged_task(s, g, at.geom, n);
  t.nd = w.nd;
  t.dir = dir;
  if (!tgi_tree_force(&t, &sum)) return touches(s);
  twist_pair(g, Z, pair);
  tgi_sp_sub(relative, pair, pair + 6);
  for (int j = 0; j < w.nd; j++) rate[j] = tgi_sp_dot(sum.dg[j], relative);
  for (int j = 0; j < TWISTS; j++) {
    tgReal e[6] = {0}, f[6];
    e[j] = 1;
    tgi_sp_cross_f(f, e, sum.g);
    common[j] = tgi_sp_dot(f, relative);
  }
  add_rates(s, g, &w, at, rate, common, p);
  return TG_OK;
}

// what friction's g . Z changes by
static tgStatus before(tgSim *s, const tgiGeomPair *g, const tgReal *Z, Time at, tgParamGrad *p) {
  tgiDirection dir[TGI_MOST_DIRECTIONS];
  tgReal n[3];
  Wanted w = wanted_of(s, g, p);
  tgiForceSum sum;
  if (!directions(s, g, &w, at.geom, dir)) return no_room(s);
  Rates r = {.law = tgi_lagged_law(s, g), .nd = w.nd};
  // friction is linear in its coefficient, which may be 0
  tgReal lambda = r.law.lambda;
  r.law.lambda = 1;
  twist_pair(g, Z, r.Z);
  tgi_lagged_motions(s, g, r.m);
  tgiForceTask t = tgi_lagged_task(s, g, at.geom, n);
  t.ctx = &r;
  t.nd = w.nd;
  t.dir = dir;
  if (tgi_lagged_in_planes(s, g)) t.plane = plane_rates; else t.point = point_rates;
  if (!tgi_tree_force(&t, &sum)) return touches(s);
  add_coefficient(s, g, r.lambda, p);
  tgReal *slip = TG_NUMBER_GRAD(p, slip_speed);
  if (p->opt_timestep != NULL) p->opt_timestep[0] += lambda * r.h;
  // s - eps is a function of h V and h eps
  if (slip != NULL) *slip += lambda * r.h * s->h / TG_NUMBER(s, slip_speed);
  for (int j = 0; j < w.nd; j++) r.rate[j] *= lambda;
  for (int j = 0; j < TWISTS; j++) r.common[j] *= lambda;
  add_rates(s, g, &w, at, r.rate, r.common, p);
  return TG_OK;
}

static bool any_carried(const tgModel *m) {
  for (int g = 0; g < m->ngeom; g++)
    if (is_carried(m, g)) return true;
  return false;
}

static bool any(const tgModel *m, const tgParamGrad *p) {
  return (p->places && any_carried(m)) || p->geom_friction != NULL || p->pair_friction != NULL || p->geom_pos != NULL ||
         p->geom_quat != NULL || p->geom_size != NULL || p->geom_scale != NULL || p->opt_timestep != NULL ||
         TG_NUMBER_GRAD(p, slip_speed) != NULL || TG_NUMBER_GRAD(p, far_strength) != NULL || TG_NUMBER_GRAD(p, rounding) != NULL;
}

typedef tgStatus (*Part)(tgSim *s, const tgiGeomPair *g, const tgReal *Z, Time at, tgParamGrad *p);

// only: of the term of two bodies, NULL: of all
static tgStatus each_pair(tgSim *s, int n, const tgiGeomPair *pair, const tgPairTerm *only, Part part, const tgReal *Z, Time at,
                          tgParamGrad *p) {
  for (int i = 0; i < n; i++) {
    if (only != NULL && (pair[i].body[0] != only->body1 || pair[i].body[1] != only->body2)) continue;
    size_t mark = tgi_stack_mark(s);
    TG_TRY(part(s, &pair[i], Z, at, p));
    tgi_stack_free(s, mark);
  }
  return TG_OK;
}

// friction is of the start, where bodies are placed by the pose there; the rest that p has of poses is of the end
static tgStatus each_pair_before(tgSim *s, const tgPairTerm *term, const tgReal *Z, tgParamGrad *p) {
  const tgiLagged *lagged = &tgi_barrier_work(s)->lagged;
  size_t nX = 6 * (size_t)s->m.nbody, nS = 6 * (size_t)s->m.nv;
  Time start = {lagged->geom, lagged->body};
  if (!p->places) return each_pair(s, lagged->nacting, lagged->acting, term, before, Z, start, p);
  tgReal *kept = tgi_stack_real(s, nX + nS);
  if (kept == NULL) return no_room(s);
  for (size_t i = 0; i < nX + nS; i++) {
    tgReal *x = i < nX ? p->X + i : p->S + (i - nX);
    kept[i] = *x;
    *x = 0;
  }
  TG_TRY(each_pair(s, lagged->nacting, lagged->acting, term, before, Z, start, p));
  tgi_place_vjp(s, &s->start, p, NULL);
  for (size_t i = 0; i < nX + nS; i++) *(i < nX ? p->X + i : p->S + (i - nX)) = kept[i];
  return TG_OK;
}

// all terms are linear in mu, friction through its normal forces
static void add_weight(const tgSim *s, int only, const tgReal *Z, tgReal *by_mu) {
  tgReal sum = 0;
  for (int i = 0; i < s->nterm; i++) {
    if (only >= 0 && only != i) continue;
    const tgPairTerm *t = &s->term[i];
    sum += tgi_sp_dot(t->w, Z + 6 * t->body1) + tgi_sp_dot(t->w + 6, Z + 6 * t->body2);
  }
  *by_mu += sum / TG_NUMBER(s, weight);
}

tgStatus tgi_barrier_parameters(tgSim *s, const tgPose *pose, const tgReal *Z, int only, tgParamGrad *p) {
  if (p->hull_vert != NULL && s->m.nhullvert > 0)
    return tgi_error(&s->error, TG_ERR_UNSUPPORTED,
                     "hull_vert has no derivative under this contact model, whose geoms are the meshes' own triangles; geom_scale has.");
  tgi_barrier_work(s)->tied = -1;
  if (TG_NUMBER_GRAD(p, weight) != NULL) add_weight(s, only, Z, TG_NUMBER_GRAD(p, weight));
  if (!any(&s->m, p)) return TG_OK;
  const tgiNearPairs *near = &tgi_barrier_work(s)->sums.near;
  const tgPairTerm *term = only >= 0 ? &s->term[only] : NULL;
  size_t mark = tgi_stack_mark(s);
  tgReal *geom = tgi_stack_real(s, 12 * (size_t)s->m.ngeom), *body = tgi_stack_real(s, 12 * (size_t)s->m.nbody);
  if (geom == NULL || body == NULL) return no_room(s);
  tgi_lagged_frames(s->m.ngeom, pose->geom_xpos, pose->geom_xmat, geom);
  tgi_lagged_frames(s->m.nbody, pose->xpos, pose->xmat, body);
  tgi_barrier_transform(s, pose);
  TG_TRY(each_pair(s, near->n, near->pair, term, now, Z, (Time){geom, body}, p));
  tgi_lagged_transform(s);
  TG_TRY(each_pair_before(s, term, Z, p));
  tgi_stack_free(s, mark);
  return TG_OK;
}

// Friction between planes becomes that of slip where edges get a radius, however small: the step jumps there. The derivative in the radius
// at 0 has it held, and is that of no side.
static void note_sharp_edges(const tgSim *s, tgGradInfo *info) {
  const tgiLagged *lagged = &((const tgiBarrierWork *)s->solver)->lagged;
  if (tgRe(tgi_barrier_rounding(s)) > 0) return;
  for (int i = 0; i < lagged->nacting; i++) {
    const tgiGeomPair *g = &lagged->acting[i];
    char a[60], b[60];
    bool rubs = tgRe(tgi_pair_friction(&s->m, g->pair, 0, NULL)) > 0 && tgi_lagged_in_planes(s, g);
    if (!rubs || !(rounds(s, g->A) || rounds(s, g->B))) continue;
    info->ties++;
    if (info->label == TG_GRAD_SURROGATE) continue;
    info->label = TG_GRAD_SURROGATE;
    snprintf(info->reason, sizeof info->reason, "friction of %s and %s is another as soon as rounding is not 0, by friction: plane",
             tgi_model_label(&s->m, TG_THING_GEOM, g->A, a, sizeof a), tgi_model_label(&s->m, TG_THING_GEOM, g->B, b, sizeof b));
  }
}

void tgi_barrier_param_nonsmooth(const tgSim *s, const tgParamGrad *p, tgGradInfo *info) {
  const tgModel *m = &s->m;
  const tgiBarrierWork *w = s->solver;
  int tied = w->tied;
  if ((p->geom_size != NULL || p->geom_scale != NULL || TG_NUMBER_GRAD(p, rounding) != NULL) && tied >= 0 && info->ties++ == 0) {
    char label[80];
    info->label = TG_GRAD_ONE_SIDED;
    snprintf(info->reason, sizeof info->reason, "two vertices of %s are farthest from the centre of one of its spheres",
             tgi_model_label(m, TG_THING_GEOM, tied, label, sizeof label));
  }
  if (TG_NUMBER_GRAD(p, rounding) != NULL) note_sharp_edges(s, info);
  if (p->geom_friction == NULL) return;
  for (int i = 0; i < w->lagged.nacting; i++) {
    const tgiGeomPair *g = &w->lagged.acting[i];
    int geom;
    tgi_pair_friction(m, g->pair, 0, &geom);
    if (geom >= 0 && m->geom_priority[g->A] == m->geom_priority[g->B])
      tgi_equal_numbers(m, g->A, g->B, m->geom_friction[g->A], m->geom_friction[g->B], "friction", info);
  }
}
