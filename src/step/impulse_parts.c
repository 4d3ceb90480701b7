// impulse_parts.c: see impulse_parts.h.
#include "step/impulse_parts.h"

#include <stdio.h>
#include <string.h>

#include "contact/contact.h"
#include "tangere/base.h"
#include "contact/islands.h"
#include "coll/contacts.h"
#include "contact/rows.h"
#include "dyn/dynamics.h"
#include "step/impulse.h"
#include "step/step.h"

static tgStatus no_room(tgSim *s, const char *what) {
  return tgi_error(&s->error, TG_ERR_CAPACITY, "Scratch too small for the step's %s; reserve more and repeat.", what);
}

// ---- parts ----

static void start_at(tgSim *s, const tgReal *q, const tgReal *v) {
  if (q != s->start.q) memcpy(s->start.q, q, (size_t)s->m.nq * sizeof *q);
  if (v != s->start.vel) memcpy(s->start.vel, v, (size_t)s->m.nv * sizeof *v);
  tgi_start_smooth(s);
}

// A drift takes what touches within rounding to gap 0, before or after, at the velocity that it has: too short for forces.
typedef enum PartKind { FLOW, IMPACT, DRIFT } PartKind;

static void note_part(tgSim *s, PartKind kind, tgReal dt, tgReal rest) {
  tgRows *r = s->rows;
  int k = s->npart++;
  memcpy(r->part_q + (size_t)k * (size_t)s->m.nq, s->start.q, (size_t)s->m.nq * sizeof *s->start.q);
  memcpy(r->part_v + (size_t)k * (size_t)s->m.nv, s->start.vel, (size_t)s->m.nv * sizeof *s->start.vel);
  r->part_kind[k] = (int)kind;
  r->part_dt[k] = dt;
  r->part_rest[k] = rest;
  s->part_mode = tg_hash(s->part_mode, &r->part_kind[k], sizeof(int));
}

// the part in the sim is not the last, whose own rows show where it is not smooth
static void note_edges(tgSim *s, double h) {
  const tgContactModel *kind = s->contact_model->kind;
  tgGradInfo info = {.label = TG_GRAD_EXACT};
  if (kind->nonsmooth == NULL) return;
  int before = s->nedge;
  kind->nonsmooth(s, h, &info);
  if (before == 0 && info.ties > s->nedge) snprintf(s->edge, sizeof s->edge, "%.190s", info.reason);
  if (info.ties > s->nedge) s->nedge = info.ties;
}

// adds what the part in the sim chose, of the rows that act
static void hash_choices(tgSim *s) {
  const tgRows *r = s->rows;
  for (int i = 0; i < s->nrow; i++) {
    if (tgRe(r->f[i]) == 0 && (tgi_is_impact(s) || tgRe(r->f2[i]) == 0)) continue;
    bool contact = r->kind[i] == TG_ROW_NORMAL;
    int owner = contact ? s->contact[r->owner[i]].pair : r->owner[i], feature = contact ? s->contact[r->owner[i]].feature : 0;
    int choice[7] = {r->kind[i], owner, feature, r->part[i], r->class[i], tgi_is_impact(s) ? 0 : r->class2[i], tgRe(r->bounce[i]) > 0};
    s->part_mode = tg_hash(s->part_mode, choice, sizeof choice);
  }
}

static PartKind kind_of(const tgSim *s, int k) { return (PartKind)s->rows->part_kind[k]; }

// end.q = q0 (+) dt V of the flow in the sim
static tgStatus end_flow(tgSim *s) {
  size_t mark = tgi_stack_mark(s);
  tgReal *w = tgi_stack_real(s, (size_t)s->m.nv);
  if (w == NULL) return no_room(s, "parts");
  for (int d = 0; d < s->m.nv; d++) w[d] = s->dt * s->rows->mean[d];
  tg_model_integrate(&s->m, s->start.q, w, s->end.q);
  tgi_stack_free(s, mark);
  return TG_OK;
}

// part k of the step again: it is then in the sim
static tgStatus load(tgSim *s, int k) {
  const tgRows *r = s->rows;
  int fast;
  start_at(s, r->part_q + (size_t)k * (size_t)s->m.nq, r->part_v + (size_t)k * (size_t)s->m.nv);
  TG_TRY(tgi_impulse_open(s, r->part_rest[k]));
  if (kind_of(s, k) == DRIFT) return TG_OK;
  if (kind_of(s, k) == IMPACT) return tgi_impulse_impact(s);
  TG_TRY(tgi_impulse_flow(s, r->part_dt[k], k == TGI_PARTS - 1, NULL, &fast));
  return end_flow(s);
}

// ---- the adjoint of the part in the sim ----

static tgStatus flow_vjp(tgSim *s, const tgReal *gq, const tgReal *gv, const tgiAdjoint *o) {
  int nv = s->m.nv, twice = 0;
  size_t mark = tgi_stack_mark(s);
  tgReal *w = tgi_stack_real(s, (size_t)nv), *gw = tgi_stack_real(s, (size_t)nv), *z = tgi_stack_real(s, (size_t)nv);
  if (w == NULL || gw == NULL || z == NULL) return no_room(s, "adjoint");
  for (int d = 0; d < nv; d++) {
    w[d] = s->dt * s->rows->mean[d];
    gw[d] = 0;
  }
  tgi_integrate_vjp(&s->m, w, gq, o->gq, gw);
  for (int d = 0; d < nv; d++) {
    if (o->dt != NULL) *o->dt += s->rows->mean[d] * gw[d];
    z[d] = s->dt * gw[d] + (s->nrow == 0 ? gv[d] : 0);
  }
  tgStatus status;
  if (s->nrow == 0) {
    status = tgi_impulse_vjp(s, z, o);
  } else {
    tgiAdjoint positions = *o;
    positions.clamps = &twice;   // clamps are those of the velocities
    tgi_rows_select(s, 1);
    status = tgi_impulse_vjp(s, z, &positions);
    tgi_rows_select(s, 0);
    if (status >= 0) status = tgi_impulse_vjp(s, gv, o);
  }
  tgi_stack_free(s, mark);
  return status;
}

// ---- the time at which a flow meets ----

// Row of the least gap of what meets fast at the end of a flow of t, and that gap; -1: nothing does.
static tgStatus look(tgSim *s, tgReal t, int *row, tgReal *gap) {
  int fast;
  double least;
  TG_TRY(tgi_impulse_flow(s, t, false, NULL, &fast));
  TG_TRY(end_flow(s));
  tgi_kinematics(&s->m, s->end.q, &s->end);
  TG_TRY(tgi_impulse_near(s, &s->end, s->end.vel, &least, row));
  *gap = *row >= 0 ? s->rows->gap[*row] : INFINITY;
  return TG_OK;
}

// gq (nv) = weight times the gradient of the gap of a row of look()
static void gap_gradient(tgSim *s, int row, tgReal weight, tgReal *y, tgReal *gq, tgParamGrad *p) {
  for (int i = 0; i < s->nrow; i++) y[i] = i == row ? weight : 0;
  for (int d = 0; d < s->m.nv; d++) gq[d] = 0;
  tgi_rows_gap_vjp(s, &s->end, y, gq, p);
}

// of the flow in the sim, dL/dt of gq at its end, gv at its end
static tgStatus length_slope(tgSim *s, const tgReal *gq, const tgReal *gv, tgReal *slope) {
  size_t mark = tgi_stack_mark(s), nv = (size_t)s->m.nv;
  tgReal *a = tgi_stack_real(s, 2 * nv + (size_t)s->m.nu);
  if (a == NULL) return no_room(s, "adjoint");
  memset(a, 0, (2 * nv + (size_t)s->m.nu) * sizeof *a);
  *slope = 0;
  tgiAdjoint o = {.gq = a, .gv = a + nv, .gu = a + 2 * nv, .dt = slope};
  tgStatus status = flow_vjp(s, gq, gv, &o);
  tgi_stack_free(s, mark);
  return status;
}

// dg/dt of the gap at the end of a flow of t, whose look() it was; the flow is in the sim afterwards
static tgStatus gap_slope(tgSim *s, tgReal t, int row, tgReal *gq, tgReal *slope) {
  size_t mark = tgi_stack_mark(s);
  int fast;
  tgReal *y = tgi_stack_real(s, (size_t)s->cap.nrow), *zero = tgi_stack_real(s, (size_t)s->m.nv);
  if (y == NULL || zero == NULL) return no_room(s, "parts");
  gap_gradient(s, row, 1, y, gq, NULL);
  for (int d = 0; d < s->m.nv; d++) zero[d] = 0;
  TG_TRY(tgi_impulse_flow(s, t, false, NULL, &fast));
  TG_TRY(end_flow(s));
  tgStatus status = length_slope(s, gq, zero, slope);
  tgi_stack_free(s, mark);
  return status;
}

// gaps at a meeting are at most this [m or rad]
static const double meets = 1e-11;

// end.q = q0 (+) t v0, and the row there of what meets fast first, -1: nothing does
static tgStatus look_after_drift(tgSim *s, tgReal t, int *row) {
  double least;
  size_t mark = tgi_stack_mark(s);
  tgReal *w = tgi_stack_real(s, (size_t)s->m.nv);
  if (w == NULL) return no_room(s, "parts");
  for (int d = 0; d < s->m.nv; d++) w[d] = t * s->start.vel[d];
  tg_model_integrate(&s->m, s->start.q, w, s->end.q);
  tgi_kinematics(&s->m, s->end.q, &s->end);
  tgi_stack_free(s, mark);
  return tgi_impulse_near(s, &s->end, s->start.vel, &least, row);
}

// The length of the drift that takes what touches at the start to gap 0. A body that arrives at the end of a step may be
// found a rounding before or after it: the derivative goes through the time of the meeting all the same.
static tgStatus drift_time(tgSim *s, tgReal *t) {
  int row;
  *t = 0;
  for (int i = 0; i < 3; i++) {
    TG_TRY(look_after_drift(s, *t, &row));
    if (row < 0 || fabs(tgRe(s->rows->gap[row])) > TG_TOUCH) break;
    *t -= s->rows->gap[row] / tgi_row_dot(s, s->rows->J, row, s->start.vel);
  }
  return TG_OK;
}

// Where the flow of `rest`, in which something closes fast, first meets it: *t, 0 where it meets at its start (*touch:
// within touch, not overlapping), -1: not within.
static tgStatus meeting_time(tgSim *s, tgReal rest, tgReal *t, bool *touch) {
  enum { TRIES = 60 };
  int row;
  double least, low = 0, high = tgRe(rest);
  tgReal gap, slope;
  size_t mark = tgi_stack_mark(s);
  tgReal *gq = tgi_stack_real(s, (size_t)s->m.nv);
  if (gq == NULL) return no_room(s, "parts");
  TG_TRY(tgi_impulse_near(s, &s->start, s->start.vel, &least, &row));
  *t = 0;
  *touch = fabs(least) <= TG_TOUCH;
  if (fabs(fabs(least) - TG_TOUCH) <= 1e-9) tgi_rows_edge(s, "about to touch", row);
  if (least <= TG_TOUCH) return TG_OK;
  *t = -1;
  TG_TRY(look(s, rest, &row, &gap));
  if (row < 0 || tgRe(gap) >= 0) return TG_OK;
  tgReal at = rest;
  for (int i = 0; i < TRIES && !(fabs(tgRe(gap)) <= meets); i++) {
    TG_TRY(row >= 0 ? gap_slope(s, at, row, gq, &slope) : TG_OK);
    tgReal next = row >= 0 ? at - gap / slope : INFINITY;
    if (tgRe(gap) < 0) high = tgRe(at);
    else low = tgRe(at);
    bool inside = tgRe(next) > low && tgRe(next) < high;
    at = inside ? next : 0.5 * (low + high);
    TG_TRY(look(s, at, &row, &gap));
  }
  if (row < 0 || !(fabs(tgRe(gap)) <= meets) || tgRe(rest) - tgRe(at) <= 1e-9 * s->h) {
    tgi_stack_free(s, mark);
    return TG_OK;
  }
  // once more: what the numbers carry besides their real parts
  TG_TRY(gap_slope(s, at, row, gq, &slope));
  *t = at - gap / slope;
  tgi_stack_free(s, mark);
  return TG_OK;
}

// ---- the step ----

// the drift to a meeting at the start
static tgStatus drift(tgSim *s, tgReal *rest) {
  tgReal t;
  TG_TRY(drift_time(s, &t));
  note_part(s, DRIFT, t, *rest);
  start_at(s, s->end.q, s->start.vel);
  *rest -= t;
  return TG_OK;
}

// the flow up to a meeting, the impact there; *rest is what is left
static tgStatus meet(tgSim *s, double h, tgReal t, bool touch, tgReal *rest) {
  int fast;
  if (tgRe(t) == 0 && touch) TG_TRY(drift(s, rest));
  if (tgRe(t) > 0) {
    TG_TRY(tgi_impulse_flow(s, t, false, NULL, &fast));
    TG_TRY(end_flow(s));
    note_part(s, FLOW, t, *rest);
    hash_choices(s);
    note_edges(s, h);
    start_at(s, s->end.q, s->end.vel);
    *rest -= t;
  }
  TG_TRY(tgi_impulse_open(s, h));
  TG_TRY(tgi_impulse_impact(s));
  note_part(s, IMPACT, 0, h);
  hash_choices(s);
  note_edges(s, h);
  s->info.nimpact++;
  memcpy(s->start.vel, s->end.vel, (size_t)s->m.nv * sizeof *s->end.vel);
  start_at(s, s->start.q, s->start.vel);
  return TG_OK;
}

static tgStatus run(tgSim *s, double h, const void *record) {
  tgReal rest = h, t = 0;
  int fast;
  bool touch = false;
  s->npart = s->nedge = 0;
  s->part_mode = TG_HASH_START;
  start_at(s, s->start.q, s->start.vel);
  for (;;) {
    bool last = s->npart >= TGI_PARTS - 1 || s->pinned;
    TG_TRY(tgi_impulse_open(s, rest));
    TG_TRY(tgi_impulse_flow(s, rest, last, record, &fast));
    if (fast > 0) {
      TG_TRY(meeting_time(s, rest, &t, &touch));
      if (tgRe(t) >= 0) {
        TG_TRY(meet(s, h, t, touch, &rest));
        continue;
      }
      TG_TRY(tgi_impulse_flow(s, rest, last, record, &fast));
    }
    TG_TRY(end_flow(s));
    note_part(s, FLOW, rest, rest);
    hash_choices(s);
    return TG_OK;
  }
}

// the state that the step started from is in the sim again
static void restore(tgSim *s) {
  if (s->npart > 1) start_at(s, s->rows->part_q, s->rows->part_v);
}

// A record's first bytes: the step is one flow, whose impulses follow; else it is made anew.
enum { HEAD = 16 };

size_t tgi_parts_record_bytes(const tgSim *s) {
  return HEAD + tgi_servo_record_bytes(s) + 2 * s->contact_model->kind->rows->record_bytes(s);
}

void tgi_parts_record(const tgSim *s, void *to) {
  tgSim *sim = (tgSim *)(uintptr_t)s;   // the problem is selected and put back
  const tgRowSolver *k = s->contact_model->kind->rows;
  char *at = (char *)to + HEAD + tgi_servo_record_bytes(s);
  int single = s->npart == 1;
  memset(to, 0, HEAD);
  memcpy(to, &single, sizeof single);
  tgi_servo_record(s, (char *)to + HEAD);
  if (!single || s->nrow == 0) return;
  k->record(s, at);
  tgi_rows_select(sim, 1);
  k->record(s, at + k->record_bytes(s));
  tgi_rows_select(sim, 0);
}

tgStatus tgi_parts_step(tgSim *s, double h, const void *record) {
  int single = 0;
  if (record != NULL) memcpy(&single, record, sizeof single);
  TG_TRY(run(s, h, single ? (const char *)record + HEAD : NULL));
  restore(s);
  return TG_OK;
}

// ---- the adjoint of the step, of n gradients at once ----

typedef struct Adjoints {
  int n;
  tgReal *q, *v;         // n x nv: at the end of the part that is next
  tgReal *aq, *av;       // n x nv: at its start
  tgReal *u;             // n x nu, NULL: not wanted
  tgReal *rest;          // n: in what is left of the step
  tgParamGrad *p;        // of one gradient; NULL: not wanted
  int *clamps;
} Adjoints;

static bool take(tgSim *s, int n, Adjoints *a) {
  size_t size = (size_t)n * (size_t)s->m.nv;
  *a = (Adjoints){.n = n, .q = tgi_stack_real(s, size), .v = tgi_stack_real(s, size), .aq = tgi_stack_real(s, size),
                  .av = tgi_stack_real(s, size), .rest = tgi_stack_real(s, (size_t)n)};
  if (a->q == NULL || a->v == NULL || a->aq == NULL || a->av == NULL || a->rest == NULL) return false;
  memset(a->q, 0, size * sizeof *a->q);
  memset(a->v, 0, size * sizeof *a->v);
  memset(a->rest, 0, (size_t)n * sizeof *a->rest);
  return true;
}

static tgiAdjoint start_of(const tgSim *s, const Adjoints *a, int i, int *clamps) {
  size_t at = (size_t)i * (size_t)s->m.nv;
  return (tgiAdjoint){.gq = a->aq + at, .gv = a->av + at, .gu = a->u != NULL ? a->u + i * s->m.nu : NULL, .p = a->p, .clamps = clamps};
}

// What is at the start of the part becomes what is at the end of the one before.
static void turn(const tgSim *s, Adjoints *a) {
  tgReal *q = a->q, *v = a->v;
  a->q = a->aq;
  a->v = a->av;
  a->aq = q;
  a->av = v;
  memset(q, 0, (size_t)a->n * (size_t)s->m.nv * sizeof *q);
  memset(v, 0, (size_t)a->n * (size_t)s->m.nv * sizeof *v);
}

static tgStatus impact_vjp(tgSim *s, Adjoints *a) {
  int nv = s->m.nv, again;
  for (int i = 0; i < a->n; i++) {
    tgiAdjoint o = start_of(s, a, i, &again);
    for (int d = 0; d < nv; d++) o.gq[d] += a->q[i * nv + d];
    TG_TRY(tgi_impulse_vjp(s, a->v + i * nv, &o));
  }
  return TG_OK;
}

static tgStatus last_flow_vjp(tgSim *s, Adjoints *a) {
  int nv = s->m.nv;
  for (int i = 0; i < a->n; i++) {
    tgiAdjoint o = start_of(s, a, i, i == 0 ? a->clamps : &(int){0});
    o.dt = &a->rest[i];
    TG_TRY(flow_vjp(s, a->q + i * nv, a->v + i * nv, &o));
  }
  return TG_OK;
}

// parameters move the gap, and with it the meeting; what it has of q is known
static tgStatus gap_parameters(tgSim *s, int row, tgReal weight, tgReal *y, tgReal *gq, tgParamGrad *p) {
  gap_gradient(s, row, weight, y, gq, p);
  TG_TRY(tgi_rows_size_parameters(s, &s->end, p));
  tgi_place_vjp(s, &s->end, p, NULL);
  return TG_OK;
}

// A flow that ends in a meeting: with L_t the slope of the loss in its length, at a held end of the step what is left
// shrinks by it:  dL = .. + (L_t - L_rest) dt,  dt = -dg/(dg/dt).
static tgStatus meeting_flow_vjp(tgSim *s, int k, Adjoints *a) {
  int nv = s->m.nv, row, again;
  tgReal t = s->rows->part_dt[k], gap, slope, late;
  tgReal *gq = tgi_stack_real(s, (size_t)nv), *weight = tgi_stack_real(s, (size_t)a->n), *y = tgi_stack_real(s, (size_t)s->cap.nrow),
         *x = tgi_stack_real(s, (size_t)nv);
  if (gq == NULL || weight == NULL || y == NULL || x == NULL) return no_room(s, "adjoint");
  TG_TRY(look(s, t, &row, &gap));
  if (row < 0) return tgi_error(&s->error, TG_ERR_STATE, "The meeting at which a part of the step ends is not found again.");
  TG_TRY(gap_slope(s, t, row, gq, &slope));
  for (int i = 0; i < a->n; i++) {
    TG_TRY(length_slope(s, a->q + i * nv, a->v + i * nv, &late));
    weight[i] = -(late - a->rest[i]) / slope;
  }
  if (a->p != NULL) {
    TG_TRY(look(s, t, &row, &gap));
    TG_TRY(gap_parameters(s, row, weight[0], y, x, a->p));
    TG_TRY(load(s, k));
  }
  for (int i = 0; i < a->n; i++) {
    tgiAdjoint o = start_of(s, a, i, &again);
    for (int d = 0; d < nv; d++) x[d] = a->q[i * nv + d] + weight[i] * gq[d];
    TG_TRY(flow_vjp(s, x, a->v + i * nv, &o));
  }
  return TG_OK;
}

// A drift: as a flow that ends in a meeting, with no force in it.
static tgStatus drift_vjp(tgSim *s, int k, Adjoints *a) {
  int nv = s->m.nv, row;
  tgReal t = s->rows->part_dt[k], slope, late;
  tgReal *gq = tgi_stack_real(s, (size_t)nv), *w = tgi_stack_real(s, (size_t)nv), *x = tgi_stack_real(s, (size_t)nv),
         *gw = tgi_stack_real(s, (size_t)nv), *y = tgi_stack_real(s, (size_t)s->cap.nrow);
  if (gq == NULL || w == NULL || x == NULL || gw == NULL || y == NULL) return no_room(s, "adjoint");
  TG_TRY(look_after_drift(s, t, &row));
  if (row < 0) return tgi_error(&s->error, TG_ERR_STATE, "The meeting at which a part of the step ends is not found again.");
  gap_gradient(s, row, 1, y, gq, NULL);
  slope = tgi_row_dot(s, s->rows->J, row, s->start.vel);
  for (int d = 0; d < nv; d++) w[d] = t * s->start.vel[d];
  for (int i = 0; i < a->n; i++) {
    tgiAdjoint o = start_of(s, a, i, NULL);
    // q0 (+) t v0 moves with t by v0
    late = -a->rest[i];
    for (int d = 0; d < nv; d++) gw[d] = 0;
    tgi_integrate_vjp(&s->m, w, a->q + i * nv, NULL, gw);
    for (int d = 0; d < nv; d++) late += s->start.vel[d] * gw[d];
    for (int d = 0; d < nv; d++) {
      x[d] = a->q[i * nv + d] - late / slope * gq[d];
      gw[d] = 0;
    }
    tgi_integrate_vjp(&s->m, w, x, o.gq, gw);
    for (int d = 0; d < nv; d++) o.gv[d] += a->v[i * nv + d] + t * gw[d];
    if (a->p != NULL) TG_TRY(gap_parameters(s, row, -late / slope, y, x, a->p));
  }
  return TG_OK;
}

// from the end of the step to its start
static tgStatus sweep(tgSim *s, Adjoints *a) {
  bool parts = s->npart > 1;
  for (int k = s->npart - 1; k >= 0; k--) {
    size_t mark = tgi_stack_mark(s);
    memset(a->aq, 0, (size_t)a->n * (size_t)s->m.nv * sizeof *a->aq);
    memset(a->av, 0, (size_t)a->n * (size_t)s->m.nv * sizeof *a->av);
    if (parts) TG_TRY(load(s, k));
    if (kind_of(s, k) == IMPACT) TG_TRY(impact_vjp(s, a));
    else if (kind_of(s, k) == DRIFT) TG_TRY(drift_vjp(s, k, a));
    else if (k == s->npart - 1) TG_TRY(last_flow_vjp(s, a));
    else TG_TRY(meeting_flow_vjp(s, k, a));
    tgi_stack_free(s, mark);
    turn(s, a);
  }
  if (!parts) return TG_OK;
  TG_TRY(load(s, s->npart - 1));   // whose contacts are shown
  restore(s);
  return TG_OK;
}

tgStatus tgi_parts_vjp(tgSim *s, const tgReal *gq, const tgReal *gv, tgReal *aq, tgReal *av, tgReal *du, tgParamGrad *dp, int *clamps) {
  int nv = s->m.nv;
  Adjoints a;
  if (!take(s, 1, &a)) return no_room(s, "adjoint");
  a.u = du;
  a.p = dp;
  a.clamps = clamps;
  for (int d = 0; d < nv; d++) {
    a.q[d] = gq != NULL ? gq[d] : 0;
    a.v[d] = gv != NULL ? gv[d] : 0;
  }
  TG_TRY(sweep(s, &a));
  for (int d = 0; d < nv; d++) {
    aq[d] += a.q[d];
    av[d] += a.v[d];
  }
  if (dp != NULL && dp->opt_timestep != NULL) dp->opt_timestep[0] += a.rest[0];
  return TG_OK;
}

// ---- dense: of one flow by its own formulas, of several parts by adjoints ----

static tgStatus flow_jacobian(tgSim *s, tgReal *D, int *clamps) {
  int nv = s->m.nv, nc = 2 * nv + s->m.nu, again = 0, *span = tgi_stack_bytes(s, 2 * ((size_t)nv + 1) * sizeof *span);
  size_t size = (size_t)nv * (size_t)nc;
  tgReal *w = tgi_stack_real(s, (size_t)nv), *Dv = D + size, *DV = Dv;
  if (w == NULL || span == NULL) return no_room(s, "Jacobian");
  for (int d = 0; d < nv; d++) {
    int island = s->nrow > 0 ? s->rows->dof_island[d] : -1;
    const int *tree = s->m.dof_set + 3 * s->m.dof_set[3 * d];
    span[2 * d] = island >= 0 ? s->rows->island_dof[s->rows->island_dofadr[island]] : tree[1];
    span[2 * d + 1] = island >= 0 ? s->rows->island_dof[s->rows->island_dofadr[island + 1] - 1] + 1 : tree[2];
    w[d] = s->dt * s->rows->mean[d];
  }
  if (s->nrow > 0) {
    DV = tgi_stack_real(s, size);
    if (DV == NULL) return no_room(s, "Jacobian");
    tgi_rows_select(s, 1);
    tgStatus status = tgi_impulse_jacobian(s, DV, &again);
    tgi_rows_select(s, 0);
    TG_TRY(status);
  }
  TG_TRY(tgi_impulse_jacobian(s, Dv, clamps));
  memset(D, 0, size * sizeof *D);
  tgi_integrate_own_jacobian(&s->m, w, s->dt, nc, DV, span, D);
  return TG_OK;
}

tgStatus tgi_parts_jacobian(tgSim *s, tgReal *D, int *clamps) {
  if (s->npart == 1) return flow_jacobian(s, D, clamps);
  int nv = s->m.nv, nu = s->m.nu, nc = 2 * nv + nu;
  Adjoints a;
  if (!take(s, 2 * nv, &a)) return no_room(s, "Jacobian");
  a.u = tgi_stack_real(s, 2 * (size_t)nv * (size_t)nu + 1);
  if (a.u == NULL) return no_room(s, "Jacobian");
  memset(a.u, 0, 2 * (size_t)nv * (size_t)nu * sizeof *a.u);
  a.clamps = clamps;
  for (int i = 0; i < 2 * nv; i++) (i < nv ? a.q : a.v)[i * nv + i % nv] = 1;
  TG_TRY(sweep(s, &a));
  for (int i = 0; i < 2 * nv; i++) {
    tgReal *row = D + (size_t)i * (size_t)nc;
    memcpy(row, a.q + i * nv, (size_t)nv * sizeof *row);
    memcpy(row + nv, a.v + i * nv, (size_t)nv * sizeof *row);
    if (nu > 0) memcpy(row + 2 * nv, a.u + i * nu, (size_t)nu * sizeof *row);
  }
  return TG_OK;
}
