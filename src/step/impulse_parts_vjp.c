// impulse_parts_vjp.c: the derivative of a step by the rule `closing`: adjoints through its parts. See impulse_parts.h.
#include <string.h>

#include "contact/rows.h"
#include "dyn/dynamics.h"
#include "step/impulse_flow.h"
#include "step/impulse_impact.h"
#include "step/impulse_meeting.h"
#include "step/impulse_parts.h"
#include "step/step.h"

typedef struct Adjoints {
  int n;
  tgReal *q, *v;         // n x nv: at the end of the part that is next
  tgReal *aq, *av;       // n x nv: at its start
  tgReal *u;             // n x nu, NULL: not wanted
  tgReal *rest;          // n: in what is left of the step
  tgParamGrad *p;        // of one gradient; NULL: not wanted
  int *clamps;
  tgiTouchSeeds *touch;  // of one gradient, in the contacts of all parts besides; NULL: none
  tgReal by_length;      // what that has of the length of the part
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

// the contacts of a flow, which is in the sim
static tgStatus flow_touches_vjp(tgSim *s, Adjoints *a) {
  int again = 0;
  tgiAdjoint o = start_of(s, a, 0, &again);
  o.dt = &a->by_length;
  a->by_length = 0;
  return a->touch != NULL && s->nrow > 0 ? tgi_part_touches_vjp(s, a->touch, &o) : TG_OK;
}

// those of an impact with what it does to velocities
static tgStatus impact_touches_vjp(tgSim *s, Adjoints *a) {
  int again;
  tgiAdjoint o = start_of(s, a, 0, &again);
  tgReal *force = tgi_stack_real(s, (size_t)s->nrow + 1), *shape = tgi_stack_real(s, 12 * (size_t)s->ncon + 1);
  if (force == NULL || shape == NULL) return tgi_no_room(s, "adjoint");
  if (tgi_touches_weigh(s, a->touch, force, shape)) {
    o.force = force;
    o.shape = shape;
  }
  for (int d = 0; d < s->m.nv; d++) o.gq[d] += a->q[d];
  return tgi_impact_vjp(s, a->v, &o);
}

static tgStatus impact_vjp(tgSim *s, Adjoints *a) {
  int nv = s->m.nv, again;
  if (a->touch != NULL) return impact_touches_vjp(s, a);
  for (int i = 0; i < a->n; i++) {
    tgiAdjoint o = start_of(s, a, i, &again);
    for (int d = 0; d < nv; d++) o.gq[d] += a->q[i * nv + d];
    TG_TRY(tgi_impact_vjp(s, a->v + i * nv, &o));
  }
  return TG_OK;
}

static tgStatus last_flow_vjp(tgSim *s, Adjoints *a) {
  int nv = s->m.nv;
  TG_TRY(flow_touches_vjp(s, a));
  a->rest[0] += a->by_length;
  for (int i = 0; i < a->n; i++) {
    tgiAdjoint o = start_of(s, a, i, i == 0 ? a->clamps : &(int){0});
    if (s->npart > 1 || (a->p != NULL && a->p->opt_timestep != NULL)) o.dt = &a->rest[i];   // else nobody asks for it
    TG_TRY(tgi_flow_vjp(s, a->q + i * nv, a->v + i * nv, &o));
  }
  return TG_OK;
}

// A flow of t, which is a fixed share x of what is left, r; (1 - x) r is left after it:  dL/dr = x L_t + (1 - x) L_rest.
static tgStatus share_flow_vjp(tgSim *s, int k, Adjoints *a) {
  int nv = s->m.nv, again;
  double left = 0;
  for (int i = k; i < s->npart; i++) left += tgRe(s->rows->part_dt[i]);
  double x = tgRe(s->rows->part_dt[k]) / left;
  TG_TRY(flow_touches_vjp(s, a));
  for (int i = 0; i < a->n; i++) {
    tgReal late = a->by_length;
    tgiAdjoint o = start_of(s, a, i, &again);
    o.dt = &late;
    TG_TRY(tgi_flow_vjp(s, a->q + i * nv, a->v + i * nv, &o));
    a->rest[i] = x * late + (1 - x) * a->rest[i];
  }
  return TG_OK;
}

// parameters move the gap, and with it the meeting; what it has of q is known
static tgStatus gap_parameters(tgSim *s, int row, tgReal weight, tgReal *y, tgReal *gq, tgParamGrad *p) {
  tgi_meeting_gradient(s, row, weight, y, gq, p);
  TG_TRY(tgi_rows_size_parameters(s, &s->end, p));
  tgi_place_vjp(s, &s->end, p, NULL);
  return TG_OK;
}

// A flow that ends in a meeting: with L_t the slope of the loss in its length, at a held end of the step what is left
// shrinks by it:  dL = .. + (L_t - L_rest) dt,  dt = -dg/(dg/dt).
static tgStatus meeting_flow_vjp(tgSim *s, int k, Adjoints *a) {
  int nv = s->m.nv, row, again;
  const void *record = tgi_part_record(s, k);
  tgiWho who = tgi_part_meets(s, k);
  tgReal t = s->rows->part_dt[k], slope, late;
  tgReal *gq = tgi_stack_real(s, (size_t)nv), *weight = tgi_stack_real(s, (size_t)a->n), *y = tgi_stack_real(s, (size_t)s->cap.nrow),
         *x = tgi_stack_real(s, (size_t)nv);
  if (gq == NULL || weight == NULL || y == NULL || x == NULL) return tgi_no_room(s, "adjoint");
  TG_TRY(flow_touches_vjp(s, a));
  TG_TRY(tgi_meeting_again(s, t, &who, record, &row));
  TG_TRY(tgi_meeting_slope(s, t, row, record, gq, &slope));
  for (int i = 0; i < a->n; i++) {
    TG_TRY(tgi_meeting_length_slope(s, a->q + i * nv, a->v + i * nv, &late));
    weight[i] = -(late + a->by_length - a->rest[i]) / slope;
  }
  if (a->p != NULL) {
    TG_TRY(tgi_meeting_again(s, t, &who, record, &row));
    TG_TRY(gap_parameters(s, row, weight[0], y, x, a->p));
    TG_TRY(tgi_part_load(s, k));
  }
  for (int i = 0; i < a->n; i++) {
    tgiAdjoint o = start_of(s, a, i, &again);
    for (int d = 0; d < nv; d++) x[d] = a->q[i * nv + d] + weight[i] * gq[d];
    TG_TRY(tgi_flow_vjp(s, x, a->v + i * nv, &o));
  }
  return TG_OK;
}

// A drift: as a flow that ends in a meeting, too short for its acceleration to change.
static tgStatus drift_vjp(tgSim *s, int k, Adjoints *a) {
  int nv = s->m.nv, row;
  tgiWho who = tgi_part_meets(s, k);
  tgReal t = s->rows->part_dt[k], slope, late;
  tgReal *gq = tgi_stack_real(s, (size_t)nv), *w = tgi_stack_real(s, (size_t)nv), *x = tgi_stack_real(s, (size_t)nv),
         *gw = tgi_stack_real(s, (size_t)nv), *acceleration = tgi_stack_real(s, (size_t)nv), *y = tgi_stack_real(s, (size_t)s->cap.nrow);
  if (gq == NULL || w == NULL || x == NULL || gw == NULL || acceleration == NULL || y == NULL) return tgi_no_room(s, "adjoint");
  TG_TRY(tgi_meeting_acceleration(s, acceleration));
  TG_TRY(tgi_meeting_after_drift(s, t, &who, &row));
  if (row < 0) return tgi_error(&s->error, TG_ERR_STATE, "The meeting at which a part of the step ends is not found again.");
  tgi_meeting_gradient(s, row, 1, y, gq, NULL);
  slope = 0;
  for (int d = 0; d < nv; d++) slope += gq[d] * s->start.vel[d];
  for (int d = 0; d < nv; d++) w[d] = t * s->start.vel[d];
  for (int i = 0; i < a->n; i++) {
    tgiAdjoint o = start_of(s, a, i, NULL);
    // q0 (+) t v0 moves with t by v0, v by the acceleration
    late = -a->rest[i];
    for (int d = 0; d < nv; d++) gw[d] = 0;
    tgi_integrate_vjp(&s->m, w, a->q + i * nv, NULL, gw);
    for (int d = 0; d < nv; d++) late += s->start.vel[d] * gw[d] + acceleration[d] * a->v[i * nv + d];
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

static tgStatus part_vjp(tgSim *s, int k, Adjoints *a) {
  if (tgi_part_kind(s, k) == TGI_IMPACT) return impact_vjp(s, a);
  if (tgi_part_kind(s, k) == TGI_DRIFT) return drift_vjp(s, k, a);
  if (tgi_part_is_share(s, k)) return share_flow_vjp(s, k, a);
  return k == s->npart - 1 ? last_flow_vjp(s, a) : meeting_flow_vjp(s, k, a);
}

// the last part first; each is made again, but where it is the only one
static tgStatus part_by_part(tgSim *s, bool again, Adjoints *a) {
  for (int k = s->npart - 1; k >= 0; k--) {
    size_t mark = tgi_stack_mark(s);
    memset(a->aq, 0, (size_t)a->n * (size_t)s->m.nv * sizeof *a->aq);
    memset(a->av, 0, (size_t)a->n * (size_t)s->m.nv * sizeof *a->av);
    if (again) TG_TRY(tgi_part_load(s, k));
    TG_TRY(part_vjp(s, k, a));
    tgi_stack_free(s, mark);
    turn(s, a);
  }
  return again ? tgi_part_load(s, s->npart - 1) : TG_OK;   // whose contacts are shown
}

static tgStatus visit(tgSim *s, void *ctx) { return part_by_part(s, true, ctx); }

// from the end of the step to its start
static tgStatus sweep(tgSim *s, Adjoints *a) {
  return s->npart == 1 ? part_by_part(s, false, a) : tgi_parts_revisit(s, visit, a);
}

tgStatus tgi_parts_revisit(tgSim *s, tgStatus (*visitor)(tgSim *s, void *ctx), void *ctx) {
  tgStepInfo info = s->info;   // of the step, not of its parts made again
  int nedge = s->nedge;
  tgi_parts_swap_memory(s);
  tgStatus status = visitor(s, ctx);
  tgi_parts_swap_memory(s);
  tgi_parts_restore(s);
  s->info = info;
  s->nedge = nedge;
  return status;
}

// of one gradient: gq and gv at the end, NULL: 0, and touch; to: where u, p and clamps go
static tgStatus adjoint(tgSim *s, const tgReal *gq, const tgReal *gv, tgiTouchSeeds *touch, tgReal *aq, tgReal *av, const Adjoints *to) {
  int nv = s->m.nv;
  Adjoints a;
  if (!take(s, 1, &a)) return tgi_no_room(s, "adjoint");
  a.u = to->u;
  a.p = to->p;
  a.clamps = to->clamps;
  a.touch = touch;
  for (int d = 0; d < nv; d++) {
    a.q[d] = gq != NULL ? gq[d] : 0;
    a.v[d] = gv != NULL ? gv[d] : 0;
  }
  TG_TRY(sweep(s, &a));
  for (int d = 0; d < nv; d++) {
    aq[d] += a.q[d];
    av[d] += a.v[d];
  }
  if (a.p != NULL && a.p->opt_timestep != NULL) a.p->opt_timestep[0] += a.rest[0];
  return TG_OK;
}

tgStatus tgi_parts_vjp(tgSim *s, const tgReal *gq, const tgReal *gv, tgReal *aq, tgReal *av, tgReal *du, tgParamGrad *dp, int *clamps) {
  return adjoint(s, gq, gv, NULL, aq, av, &(Adjoints){.u = du, .p = dp, .clamps = clamps});
}

tgStatus tgi_parts_touches_vjp(tgSim *s, const tgiTouchGrad *g, tgReal *aq, tgReal *av, tgReal *du, tgParamGrad *dp, int *clamps) {
  tgiTouchSeeds seeds = {.grad = g, .share = 1};
  if (s->npart > 1) {
    size_t n = 2 * (size_t)s->cap.ncon + 1;
    seeds.shown = tgi_stack_bytes(s, n * sizeof *seeds.shown);
    if (seeds.shown == NULL) return tgi_no_room(s, "adjoint");
    memset(seeds.shown, 0, n * sizeof *seeds.shown);
  }
  return adjoint(s, NULL, NULL, &seeds, aq, av, &(Adjoints){.u = du, .p = dp, .clamps = clamps});
}

tgStatus tgi_parts_jacobian(tgSim *s, tgReal *D, int *clamps) {
  if (s->npart == 1) return tgi_flow_jacobian(s, D, clamps);
  int nv = s->m.nv, nu = s->m.nu, nc = 2 * nv + nu;
  Adjoints a;
  if (!take(s, 2 * nv, &a)) return tgi_no_room(s, "Jacobian");
  a.u = tgi_stack_real(s, 2 * (size_t)nv * (size_t)nu + 1);
  if (a.u == NULL) return tgi_no_room(s, "Jacobian");
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
