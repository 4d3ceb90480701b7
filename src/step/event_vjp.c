// event_vjp.c: the adjoint of a step in pieces, from its end to its start. Shares no derivative code with event_jacobian.c.
//
// Based on: [math/toi Adjoint]. Of a flow with tau = t/s, d = v' - v, e = V - v, T_q and T_w the derivatives of q (+) w, u = v + tau e:
//   slope  b = gv.d/s + gq.(T_w u) - gR,  of the loss in t;   a meeting at gap 0:  lambda = -b/(J T_w u),  g = gq + lambda J';  else g = gq
//   gv' = tau gv,  gV = (t tau/2) T_w' g,   gs = -(t/s^2) d.gv - (tau^2/2) e.(T_w' g) + V_s' gV + v'_s' gv' (+ b where t = s)
//   gq <- T_q' g + ..,  gv <- (1 - tau) gv + t (1 - tau/2) T_w' g + ..,  gR <- gR + gs/2^k.
// No search: each piece is made again by its record.
#include <string.h>

#include "contact/rows.h"
#include "dyn/dynamics.h"
#include "kin/kinematics.h"
#include "sim/row.h"
#include "step/event.h"
#include "step/impulse_impact.h"
#include "step/impulse_meeting.h"
#include "step/impulse_parts.h"
#include "step/step.h"

typedef struct Sweep {
  tgReal *q, *v, *u;     // gq, gv at the end of the piece; gu, summed, NULL: not wanted
  tgReal *aq, *av;       // at its start
  tgReal rest;           // gR
  tgParamGrad *p;        // NULL: not wanted
  int *clamps, again;
  // of a flow
  tgReal *w, *rate, *x, *gap, *z;
} Sweep;

static bool take(tgSim *s, Sweep *a) {
  size_t nv = (size_t)s->m.nv + 1;
  tgReal **at[] = {&a->q, &a->v, &a->aq, &a->av, &a->w, &a->rate, &a->x, &a->gap, &a->z};
  for (size_t i = 0; i < sizeof at / sizeof *at; i++) {
    *at[i] = tgi_stack_real(s, nv);
    if (*at[i] == NULL) return false;
  }
  return true;
}

// at the start of the piece becomes at the end of the one before
static void turn(const tgSim *s, Sweep *a) {
  tgReal *q = a->q, *v = a->v;
  a->q = a->aq;
  a->v = a->av;
  a->aq = q;
  a->av = v;
  memset(q, 0, (size_t)s->m.nv * sizeof *q);
  memset(v, 0, (size_t)s->m.nv * sizeof *v);
}

static tgStatus impact_vjp(tgSim *s, Sweep *a) {
  tgiAdjoint o = {.gq = a->aq, .gv = a->av, .gu = a->u, .p = a->p, .clamps = &a->again};
  for (int d = 0; d < s->m.nv; d++) o.gq[d] += a->q[d];
  return tgi_impact_vjp(s, a->v, &o);
}

// parameters move the gap at the end of the flow, and with it the meeting; rows there are in the sim
static tgStatus gap_parameters(tgSim *s, int row, const tgiPiece *piece, tgReal lambda, Sweep *a) {
  tgReal *y = tgi_stack_real(s, (size_t)s->cap.nrow), *clearance = TG_NUMBER_GRAD(a->p, gap);
  if (y == NULL) return tgi_no_room(s, "adjoint");
  tgi_meeting_gradient(s, row, lambda, y, a->z, a->p);
  if (clearance != NULL && piece->who.kind == TG_ROW_NORMAL) *clearance += (1 - piece->share) * lambda;
  TG_TRY(tgi_rows_size_parameters(s, &s->end, a->p));
  tgi_place_vjp(s, &s->end, a->p, NULL);
  return TG_OK;
}

// J' of what meets at the end of flow k, which is in the sim and in a->rate, a->w; then lambda from b, and g = gq + lambda J'
static tgStatus meet(tgSim *s, int k, tgReal slope, Sweep *a) {
  const tgiEvents *e = tgi_events(s);
  const tgiPiece *piece = &e->piece[k];
  size_t mark = tgi_stack_mark(s), nv = (size_t)s->m.nv;
  tgReal *q = tgi_stack_real(s, (size_t)s->m.nq + 1), *u = tgi_stack_real(s, nv + 1), *y = tgi_stack_real(s, (size_t)s->cap.nrow),
         speed = 0;
  if (q == NULL || u == NULL || y == NULL) return tgi_no_room(s, "adjoint");
  tgiFlight path = tgi_piece_path(s, k, e->s[k]);
  tgi_flight_pose(&s->m, &path, e->t[k], a->w, q, &s->end, u);
  TG_TRY(tgi_rows(s, &s->end, 0, TGI_ROWS_NEAR));
  int row = tgi_who_row(s, &piece->who);
  if (row < 0) return tgi_error(&s->error, TG_ERR_STATE, "The contact at which a piece of the step ends is not found again.");
  tgi_meeting_gradient(s, row, 1, y, a->gap, NULL);
  for (size_t d = 0; d < nv; d++) speed += a->gap[d] * u[d];
  tgReal lambda = -slope / speed;
  if (a->p != NULL) TG_TRY(gap_parameters(s, row, piece, lambda, a));
  for (size_t d = 0; d < nv; d++) a->x[d] = a->q[d] + lambda * a->gap[d];
  tgi_stack_free(s, mark);
  return tgi_piece_load(s, k);
}

// the velocities' problem and the positions', or one where nothing is held, in the middle of the flow
static tgStatus problems_midway(tgSim *s, const tgReal *gv1, tgReal *gV, const tgiAdjoint *o) {
  if (s->nrow == 0) {
    for (int d = 0; d < s->m.nv; d++) gV[d] += gv1[d];
    return tgi_impulse_vjp(s, gV, o);
  }
  int twice = 0;
  tgiAdjoint positions = *o;
  positions.clamps = &twice;
  tgi_rows_select(s, 1);
  tgStatus status = tgi_impulse_vjp(s, gV, &positions);
  tgi_rows_select(s, 0);
  return status < 0 ? status : tgi_impulse_vjp(s, gv1, o);
}

// the same from the start, q the middle at q0 (+) (length/2) v0
static tgStatus problems_vjp(tgSim *s, const tgReal *gv1, tgReal *gV, const tgiAdjoint *o) {
  size_t nv = (size_t)s->m.nv, mark = tgi_stack_mark(s);
  tgReal *gq = tgi_stack_real(s, 3 * nv + 1), *w = gq + nv, *gw = gq + 2 * nv;
  if (gq == NULL) return tgi_no_room(s, "adjoint");
  memset(gq, 0, 3 * nv * sizeof *gq);
  tgiAdjoint at_middle = *o;
  at_middle.gq = gq;
  tgi_midway(s);
  tgStatus status = problems_midway(s, gv1, gV, &at_middle);
  tgi_midway(s);
  for (size_t d = 0; d < nv; d++) w[d] = 0.5 * s->dt * s->start.vel[d];
  tgi_integrate_vjp(&s->m, w, gq, o->gq, gw);
  for (size_t d = 0; d < nv; d++) {
    o->gv[d] += 0.5 * s->dt * gw[d];
    *o->dt += 0.5 * s->start.vel[d] * gw[d];
  }
  tgi_stack_free(s, mark);
  return status;
}

static tgStatus flow_vjp(tgSim *s, int k, Sweep *a) {
  tgiEvents *e = tgi_events(s);
  const tgModel *m = &s->m;
  int nv = m->nv;
  bool meets = e->piece[k].kind == TGI_PIECE_MEETING;
  tgReal length = e->s[k], t = e->t[k], tau = t / length, along = 0, slope = 0, late = 0, *Tg = a->z;
  tgiFlight path = tgi_piece_path(s, k, length);
  tgi_flight_at(m, &path, t, a->w, a->rate);
  memset(Tg, 0, (size_t)nv * sizeof *Tg);
  tgi_integrate_vjp(m, a->w, a->q, NULL, Tg);
  for (int d = 0; d < nv; d++) {
    if (!tgi_piece_stalls(s, d, k)) along += a->v[d] * (s->end.vel[d] - s->start.vel[d]);
    slope += Tg[d] * a->rate[d];
  }
  slope += along / length - a->rest;
  memcpy(a->x, a->q, (size_t)nv * sizeof *a->x);
  if (meets) TG_TRY(meet(s, k, slope, a));
  path = tgi_piece_path(s, k, length);
  tgi_flight_at(m, &path, t, a->w, a->rate);
  memset(Tg, 0, (size_t)nv * sizeof *Tg);
  tgi_integrate_vjp(m, a->w, a->x, a->aq, Tg);
  tgReal *gv1 = a->gap, gs = -t / (length * length) * along;
  for (int d = 0; d < nv; d++) {
    bool stalls = tgi_piece_stalls(s, d, k);
    tgReal g = stalls ? 0 : Tg[d];
    gs -= 0.5 * tau * tau * (path.v1[d] - path.v0[d]) * g;
    a->av[d] += stalls ? a->v[d] : (1 - tau) * a->v[d] + t * (1 - 0.5 * tau) * g;
    gv1[d] = stalls ? 0 : tau * a->v[d];
    Tg[d] = 0.5 * t * tau * g;
  }
  tgiAdjoint o = {.gq = a->aq, .gv = a->av, .gu = a->u, .p = a->p, .dt = &late, .clamps = k == e->n - 1 ? a->clamps : &a->again};
  TG_TRY(problems_vjp(s, gv1, Tg, &o));
  gs += late + (meets ? 0 : slope);
  a->rest += gs * ldexp(1, -e->piece[k].halvings);
  return TG_OK;
}

static tgStatus sweep(tgSim *s, Sweep *a) {
  for (int k = tgi_events(s)->n - 1; k >= 0; k--) {
    size_t mark = tgi_stack_mark(s);
    memset(a->aq, 0, (size_t)s->m.nv * sizeof *a->aq);
    memset(a->av, 0, (size_t)s->m.nv * sizeof *a->av);
    TG_TRY(tgi_piece_reach(s, k));
    TG_TRY(tgi_events(s)->piece[k].kind == TGI_PIECE_IMPACT ? impact_vjp(s, a) : flow_vjp(s, k, a));
    tgi_stack_free(s, mark);
    turn(s, a);
  }
  return TG_OK;
}

tgStatus tgi_event_revisit(tgSim *s, tgStatus (*visit)(tgSim *s, void *ctx), void *ctx) {
  size_t nv = (size_t)s->m.nv, nq = (size_t)s->m.nq, mark = tgi_stack_mark(s);
  tgReal *q = tgi_stack_real(s, nq + 1), *v = tgi_stack_real(s, nv + 1);
  if (q == NULL || v == NULL) return tgi_no_room(s, "adjoint");
  memcpy(q, s->end.q, nq * sizeof *q);
  memcpy(v, s->end.vel, nv * sizeof *v);
  tgStepInfo info = s->info;   // of the step, not of its pieces made again
  int nedge = s->nedge;
  tgi_parts_swap_memory(s);
  tgStatus status = visit(s, ctx);
  if (status >= 0) status = tgi_piece_reach(s, tgi_events(s)->n - 1);   // whose contacts are shown
  tgi_parts_swap_memory(s);
  s->info = info;
  s->nedge = nedge;
  memcpy(s->end.q, q, nq * sizeof *q);
  memcpy(s->end.vel, v, nv * sizeof *v);
  tgi_stack_free(s, mark);
  return status;
}

static tgStatus visit(tgSim *s, void *ctx) { return sweep(s, ctx); }

tgStatus tgi_event_vjp(tgSim *s, const tgReal *gq, const tgReal *gv, tgReal *aq, tgReal *av, tgReal *du, tgParamGrad *p, int *clamps) {
  Sweep a = {.u = du, .p = p, .clamps = clamps};
  if (!take(s, &a)) return tgi_no_room(s, "adjoint");
  for (int d = 0; d < s->m.nv; d++) {
    a.q[d] = gq != NULL ? gq[d] : 0;
    a.v[d] = gv != NULL ? gv[d] : 0;
  }
  TG_TRY(tgi_event_revisit(s, visit, &a));
  for (int d = 0; d < s->m.nv; d++) {
    aq[d] += a.q[d];
    av[d] += a.v[d];
  }
  if (p != NULL && p->opt_timestep != NULL) p->opt_timestep[0] += a.rest;
  return TG_OK;
}
