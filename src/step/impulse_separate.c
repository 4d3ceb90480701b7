// impulse_separate.c: bodies that overlap, moved apart by the least motion.
//
// Wanted is the least |q (-) q0|_M at which every gap is what was asked for, limits are passed by no more than they were and errors of
// equalities stay. A round is that problem with gaps to first order at q: the impact of a body that moves back to q0,
//   dq = b + M^-1 J' f,   b = q0 (-) q,   0 <= f perp J dq + gap >= 0,   q <- q (+) dq.
// Where such rounds come to no end, features changing from each to the next, plain ones with b = 0 follow: apart, if not by the least
// motion. Meshes that are not convex have one contact a pair where they overlap, so that they often do.
#include <string.h>

#include "base/fpenv.h"
#include "base/memory.h"
#include "coll/contacts.h"
#include "contact/contact.h"
#include "contact/rows.h"
#include "kin/kinematics.h"
#include "step/impulse.h"
#include "step/impulse_parts.h"
#include "step/step.h"
#include "tangere/base.h"

enum { LEAST_ROUNDS = 40, ROUNDS = 100, GROWTHS = 48 };
#define SETTLED 1e-3   // of the way from the start: a round that moves no further has found the least motion
#define STRAY 1e-3     // of the gap, by which it may be missed

typedef struct Apart {
  tgSim *s, *w;            // whose bodies they are; with rows of all that is near
  tgContact *rows;
  double gap, tol;         // wanted, and by how much it may be missed [m]
  double *thick, thickest; // npair: gap of the geoms at which their surfaces touch as the contact model has them [m]; the most of any
  double *q0, *q;          // nq each
  double *back, *error;    // nv; 6 neq: of equalities at the start
  double *first;           // npair: gap of the surfaces at the start where it is near, else infinite [m]
  tgReal *at, *dq;         // nq, nv
  bool near_stays;         // pairs that are apart at the start, if by less than the gap, may stay so
  void *block;
} Apart;

// ---- the simulation with rows ----

static void zero(tgSim *w, const char *name) {
  int rows, cols;
  tgReal *x = tg_sim_param(w, name, &rows, &cols);
  for (int i = 0; x != NULL && i < rows * cols; i++)
    if (tgRe(x[i]) > 0) x[i] = 0;   // less means: that of the geoms
}

// The contact model of rows that sees bodies as that of s does: in which they never overlap, or may.
static const tgContactModel *kind_of_rows(const tgSim *s) {
  bool free = tg_contact_intersection_free(tg_contact_word(s->contact_model));
  const tgContactModel *kind;
  for (int i = 0; (kind = tgi_contact_table(i)) != NULL; i++)
    if (kind->rows != NULL && kind->intersection_free == free) break;
  return kind;
}

static tgStatus make_rows(Apart *a) {
  static const char *const friction[] = {"geom_friction", "geom_spinfriction", "pair_friction", "pair_spinfriction"};
  tgSim *s = a->s;
  a->rows = tgi_contact_create(s->model, kind_of_rows(s), &tgi_impulse, NULL, &s->error);
  if (a->rows == NULL) return s->error.status;
  a->w = tg_sim_create(s->model, a->rows, &s->alloc, &s->error);
  if (a->w == NULL) return s->error.status;
  tgi_sim_take_start(a->w, s);
  for (size_t i = 0; i < sizeof friction / sizeof *friction; i++) zero(a->w, friction[i]);
  a->w->clearance = a->gap + a->thickest;
  if (a->rows->facets != NULL) a->w->clearance = fmax(tgRe(a->w->clearance), 1e-9);   // facets have to know what is near
  a->w->limit_clearance = a->w->strand_clearance = 0;
  return TG_OK;
}

static tgStatus make_room(Apart *a) {
  const tgModel *m = a->s->model;
  size_t nq = (size_t)m->nq, nv = (size_t)m->nv, neq = 6 * (size_t)m->neq, npair = (size_t)m->npair;
  tgAllocator alloc = a->s->alloc;
  a->block = alloc.alloc(alloc.ctx, (nq + nv) * sizeof(tgReal) + (2 * nq + nv + neq + 2 * npair + 1) * sizeof(double));
  if (a->block == NULL) return tgi_error(&a->s->error, TG_ERR_MEMORY, "Out of memory for moving bodies apart.");
  a->at = a->block;
  a->dq = a->at + nq;
  a->q0 = (double *)(a->dq + nv);
  a->q = a->q0 + nq;
  a->back = a->q + nq;
  a->error = a->back + nv;
  a->first = a->error + neq;
  a->thick = a->first + npair;
  a->thickest = tgi_contact_thickest(a->s->contact_model, a->s);
  for (size_t i = 0; i < npair; i++) a->thick[i] = tgi_contact_thicker(a->s->contact_model, a->s, (int)i);
  for (size_t i = 0; i < nq; i++) a->q0[i] = tgRe(a->s->qpos[i]);
  return TG_OK;
}

static void release(Apart *a) {
  tgAllocator alloc = a->s->alloc;
  tg_sim_free(a->w);
  tg_contact_free(a->rows);
  alloc.free(alloc.ctx, a->block);
}

// ---- a round ----

// apart at the start, and nearer than the gap
static bool is_near(const Apart *a, int pair) { return a->first[pair] > 0 && a->first[pair] < a->gap; }

// rows have the gaps of geoms less the most that is wanted of any: these become those of the surfaces less what is wanted of them, which of
// pairs that may stay near is half of what they had
static void take_gaps(Apart *a) {
  const tgRows *r = a->w->rows;
  for (int i = 0; i < a->w->nrow; i++) {
    if (r->kind[i] != TG_ROW_NORMAL) continue;
    int pair = a->w->contact[r->owner[i]].pair;
    if (a->thickest > 0) r->gap[i] += a->thickest - a->thick[pair];
    if (a->near_stays && is_near(a, pair)) r->gap[i] += a->gap - a->first[pair] / 2;
  }
}

// the rows of all that is near q, with the way back to the start as the velocity of what moves freely
static tgStatus look(Apart *a, bool least) {
  tgSim *w = a->w;
  int nq = w->m.nq, nv = w->m.nv;
  tgReal *start = w->qpos;
  tgi_stack_free(w, 0);
  for (int i = 0; i < nq; i++) {
    a->at[i] = a->q[i];
    start[i] = a->q0[i];
  }
  tg_model_difference(&w->m, a->at, start, a->dq);
  for (int d = 0; d < nv; d++) a->back[d] = tgRe(a->dq[d]);
  for (int d = 0; d < nv; d++) a->dq[d] = least ? a->back[d] : 0;
  tgi_parts_start_at(w, a->at, a->dq);
  tgi_impulse_look(w);
  TG_TRY(tgi_rows(w, &w->start, 0, TGI_ROWS_NEAR));
  take_gaps(a);
  return TG_OK;
}

static bool moves(const Apart *a, int row) {
  const tgRows *r = a->w->rows;
  return r->kind[row] != TG_ROW_NORMAL || tgi_pair_moves(&a->w->m, a->w->contact[r->owner[row]].pair);
}

// The row of the contact that is nearest, and by how much its gap is less than wanted; -1: none is.
static int nearest(const Apart *a, double *least) {
  const tgRows *r = a->w->rows;
  int row = -1;
  *least = 0;
  for (int i = 0; i < a->w->nrow; i++) {
    if (r->kind[i] != TG_ROW_NORMAL || !moves(a, i) || tgRe(r->gap[i]) >= *least) continue;
    *least = tgRe(r->gap[i]);
    row = i;
  }
  return row;
}

static tgStatus move(Apart *a) {
  tgSim *w = a->w;
  tgRows *r = w->rows;
  int8_t *drop = tgi_stack_bytes(w, (size_t)w->nrow + 1);
  if (drop == NULL) return TG_ERR_CAPACITY;
  for (int i = 0; i < w->nrow; i++) drop[i] = !moves(a, i);
  tgi_rows_drop(w, drop);
  TG_TRY(tgi_impulse_still(w));
  for (int i = 0; i < w->nrow; i++) {
    r->rate[i] = 1;
    if (r->kind[i] == TG_ROW_LIMIT) r->gap[i] = fmax(0, tgRe(r->gap[i]));
    if (r->kind[i] == TG_ROW_EQUALITY) r->gap[i] -= a->error[i];   // they come first, always all
  }
  TG_TRY(tgi_impulse_velocities(w, NULL));
  tg_model_integrate(&w->m, w->start.q, w->end.vel, a->at);
  for (int i = 0; i < w->m.nq; i++) a->q[i] = tgRe(a->at[i]);
  return TG_OK;
}

// the last round went on by no more than that share of the whole way
static bool settled(const Apart *a) {
  double step = 0, way = 0;
  for (int d = 0; d < a->w->m.nv; d++) {
    step = fmax(step, fabs(tgRe(a->w->end.vel[d])));
    way = fmax(way, fabs(a->back[d]));
  }
  return step <= SETTLED * way;
}

static tgStatus stays(Apart *a, int row) {
  const tgContactRow *c = &a->w->contact[a->w->rows->owner[row]];
  char one[96], two[96];
  a->s->info.body1 = a->s->m.geom_body[c->geom1];
  a->s->info.body2 = a->s->m.geom_body[c->geom2];
  tgi_model_label(&a->s->m, TG_THING_GEOM, c->geom1, one, sizeof one);
  tgi_model_label(&a->s->m, TG_THING_GEOM, c->geom2, two, sizeof two);
  double gap = tgRe(c->gap);
  return tgi_error(&a->s->error, TG_ERR_INVALID, "%s and %s cannot be moved apart: after %d rounds they %s %.3g m%s. Nothing was moved.",
                   one, two, ROUNDS, gap < 0 ? "still overlap by" : "are", fabs(gap), gap < 0 ? "" : " apart");
}

static void take_first_gaps(Apart *a) {
  for (int i = 0; i < a->w->m.npair; i++) a->first[i] = HUGE_VAL;
  for (int i = 0; i < a->w->ncon; i++) {
    int pair = a->w->contact[i].pair;
    a->first[pair] = fmin(a->first[pair], tgRe(a->w->contact[i].gap) - a->thick[pair]);
  }
}

// Rounds until all is apart; *any: something was not, else nothing moves.
static tgStatus rounds(Apart *a, bool *any) {
  double least;
  memcpy(a->q, a->q0, (size_t)a->w->m.nq * sizeof *a->q);
  for (int k = 0;; k++) {
    TG_TRY(look(a, k < LEAST_ROUNDS));
    int row = nearest(a, &least);
    if (k == 0) {
      if (!a->near_stays) take_first_gaps(a);
      *any = row >= 0 && least < -fmax(0.5 * a->gap, a->tol);
      if (!*any) return TG_OK;
      a->w->wider = -2 * least;   // what a round moves past its gap is seen again in the next
      for (int i = 0; i < a->w->nrow && a->w->rows->kind[i] == TG_ROW_EQUALITY; i++) a->error[i] = tgRe(a->w->rows->gap[i]);
    } else if (least >= -a->tol && (k >= LEAST_ROUNDS || settled(a))) {
      return TG_OK;
    }
    if (k == ROUNDS) return stays(a, row);
    TG_TRY(move(a));
  }
}

static tgStatus rounds_growing(Apart *a, bool *any) {
  tgStatus status = rounds(a, any);
  for (int growth = 0; status == TG_ERR_CAPACITY && growth < GROWTHS; growth++) {
    if (tg_sim_grow(a->w) != TG_OK) return tgi_error(&a->s->error, TG_ERR_MEMORY, "Out of memory for moving bodies apart.");
    status = rounds(a, any);
  }
  return status;
}

static bool any_near(const Apart *a) {
  for (int i = 0; i < a->w->m.npair; i++)
    if (is_near(a, i)) return true;
  return false;
}

// Where not all can be had, what is apart already, as links beside a hinge are, which no motion parts, may stay as near as it is.
static tgStatus part(Apart *a, bool *any) {
  tgStatus status = rounds_growing(a, any);
  if (status == TG_ERR_INVALID && any_near(a)) {
    a->near_stays = true;
    a->s->error = (tgError){.status = TG_OK};
    a->s->info.body1 = a->s->info.body2 = -1;
    status = rounds_growing(a, any);
  }
  if (status != TG_OK && a->s->error.status == TG_OK) a->s->error = a->w->error;
  return status;
}

// ---- what was done ----

// the least gap of a pair among the contacts in the sim, up to the margin
static double gap_of(const tgSim *w, int pair) {
  double gap = tgi_contact_margin(w);
  for (int i = 0; i < w->ncon; i++)
    if (w->contact[i].pair == pair) gap = fmin(gap, tgRe(w->contact[i].gap));
  return gap;
}

static double way(const tgSim *w, int geom) {
  tgReal d[3];
  tgi_v3_sub(d, w->end.geom_xpos + 3 * geom, w->trial.geom_xpos + 3 * geom);
  return sqrt(tgRe(tgi_v3_dot(d, d)));
}

// The pairs that were nearer than half the gap, in their order: gaps at q0, then those at q.
static tgStatus report(Apart *a, tgSeparated *pair, int room, int *count) {
  tgSim *w = a->w;
  for (int i = 0; i < w->m.nq; i++) a->at[i] = a->q[i];
  tgi_kinematics(&w->m, a->at, &w->end);
  for (int i = 0; i < w->m.nq; i++) a->at[i] = a->q0[i];
  tgi_kinematics(&w->m, a->at, &w->trial);
  tgi_stack_free(w, 0);
  TG_TRY(tgi_contacts(w, &w->trial, NULL));
  *count = 0;
  for (int i = 0; i < w->ncon; i++) {
    const tgContactRow *c = &w->contact[i];
    if ((i > 0 && w->contact[i - 1].pair == c->pair) || !tgi_pair_moves(&w->m, c->pair)) continue;
    double gap = gap_of(w, c->pair);
    if (gap - a->thick[c->pair] - a->gap >= -fmax(0.5 * a->gap, a->tol)) continue;
    if (*count < room) pair[*count] = (tgSeparated){c->geom1, c->geom2, gap, 0, way(w, c->geom1), way(w, c->geom2)};
    ++*count;
  }
  TG_TRY(tgi_contacts(w, &w->end, NULL));
  for (int i = 0; i < *count && i < room; i++) pair[i].after = gap_of(w, tgi_pair_of(&w->m, pair[i].geom1, pair[i].geom2));
  return TG_OK;
}

static double own_gap(const tgSim *s) {
  double gap = tgRe(TG_NUMBER(s, gap));   // NAN: the contact model has no such number
  return gap >= 0 ? gap : tg_contact_resting_gap(s->contact_model);
}

// Does a step of the sim's own contact model start from q? The state is q then, else what it was.
static tgStatus try_step(Apart *a) {
  tgSim *s = a->s;
  for (int i = 0; i < s->m.nq; i++) s->qpos[i] = a->q[i];
  tgStatus status = tgi_step_solve(s, tg_model_timestep(s->model), NULL);
  for (int growth = 0; status == TG_ERR_CAPACITY && growth < GROWTHS && tg_sim_grow(s) == TG_OK; growth++)
    status = tgi_step_solve(s, tg_model_timestep(s->model), NULL);
  s->stage = TG_STAGE_NONE;
  if (status != TG_ERR_INVALID) return TG_OK;   // what else a step may say is its own to say
  for (int i = 0; i < s->m.nq; i++) s->qpos[i] = a->q0[i];
  return status;
}

static tgStatus separate(Apart *a, tgSeparated *pair, int room, int *count) {
  bool any = false;
  TG_TRY(tgi_check_state(a->s));
  TG_TRY(tgi_check_parameters(a->s));
  TG_TRY(make_room(a));
  TG_TRY(make_rows(a));
  TG_TRY(part(a, &any));
  return any ? report(a, pair, room, count) : TG_OK;
}

int tg_sim_separate(tgSim *sim, double gap, tgSeparated *pair, int room) {
  if (sim == NULL || !(gap < HUGE_VAL) || room < 0 || (room > 0 && pair == NULL)) return TG_ERR_ARG;
  if (!tgi_sim_claim(sim)) return TG_ERR_STATE;
  int count = 0;
  Apart a = {.s = sim, .gap = gap >= 0 ? gap : own_gap(sim)};
  a.tol = a.gap > 0 ? STRAY * a.gap : TG_TOUCH;
  tgi_stack_free(sim, 0);
  sim->stage = TG_STAGE_NONE;
  sim->error = (tgError){.status = TG_OK};
  tgiFpEnv env = tgi_fp_enter();
  tgStatus status = sim->contact_model != NULL ? separate(&a, pair, room, &count) : TG_OK;
  tgi_fp_leave(env);
  tgi_sim_release(sim);
  if (status == TG_OK && count > 0) status = try_step(&a);
  release(&a);
  return status == TG_OK ? count : (int)status;
}
