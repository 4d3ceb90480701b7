// event_vjp.c: the adjoint of a step in pieces, from its end to its start. Shares no derivative code with event_jacobian.c.
//
// Based on: [math/toi Adjoint]. Of a flow with tau = t/s, d = v' - v, e = V - v, T_q and T_w the derivatives of q (+) w, u = v + tau e:
//   slope  b = gv.d/s + gq.(T_w u) - gR,  of the loss in t;   a meeting at gap 0:  lambda = -b/(J T_w u),  g = gq + lambda J';  else g = gq
//   gv' = tau gv,  gV = (t tau/2) T_w' g,   gs = -(t/s^2) d.gv - (tau^2/2) e.(T_w' g) + V_s' gV + v'_s' gv' (+ b where t = s)
//   gq <- T_q' g + ..,  gv <- (1 - tau) gv + t (1 - tau/2) T_w' g + ..,  gR <- gR + gs/2^k.
// Of a flow whose length is the time of its meeting the slopes b and J T_w u are in t and s at once, and gR stays.
// No search: each piece is made again by its record.
#include <string.h>

#include "contact/rows.h"
#include "dyn/dynamics.h"
#include "kin/kinematics.h"
#include "sim/row.h"
#include "step/event.h"
#include "step/impulse_carried.h"
#include "step/impulse_impact.h"
#include "step/impulse_meeting.h"
#include "step/impulse_parts.h"
#include "step/step.h"

typedef struct Sweep {
  tgReal *q, *v, *u;     // gq, gv at the end of the piece; gu, summed, NULL: not wanted
  tgReal *aq, *av;       // at its start
  tgReal rest;           // gR
  int last;              // the piece that the sweep begins with
  const tgiLegSlopes *leg;   // of that piece's way; NULL: none
  tgiTouchSeeds *touch;  // in the contacts of all pieces; NULL: none
  tgReal *force, *shape; // of the piece in the sim, what that is in the impulses of its rows and in its contacts
  tgReal *told, *early;  // of a flow, in the impulses of positions and in the contacts at its start (tgi_order_tell)
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

// ---- contacts ----

static bool take_touches(tgSim *s, Sweep *a) {
  size_t nrow = (size_t)s->cap.nrow + 1, ncon = (size_t)s->cap.ncon + 1;
  tgReal **at[] = {&a->force, &a->told, &a->shape, &a->early};
  for (size_t i = 0; i < 4; i++) {
    *at[i] = tgi_stack_real(s, i < 2 ? nrow : 12 * ncon);
    if (*at[i] == NULL) return false;
  }
  a->touch->shown = tgi_stack_bytes(s, 2 * ncon * sizeof(bool));
  if (a->touch->shown != NULL) memset(a->touch->shown, 0, 2 * ncon * sizeof(bool));
  return a->touch->shown != NULL;
}

static const tgReal *direction(const tgContactRow *c, int k) { return k % 3 == 0 ? c->n : k % 3 == 1 ? c->t1 : c->t2; }

// Half of the positions' impulses of a flow, told along the rows at its start in place of those at its end.
static void weigh_order(tgSim *s, Sweep *a) {
  const tgiOrder *o = &tgi_events(s)->order;
  tgReal half = 0.5 * a->touch->share;
  memset(a->told, 0, ((size_t)s->cap.nrow + 1) * sizeof *a->told);
  memset(a->early, 0, 12 * ((size_t)s->cap.ncon + 1) * sizeof *a->early);
  if (!o->any) return;
  tgi_rows_select(s, 1);
  for (int i = 0; i < s->ncon; i++) {
    const tgContactRow *c = &s->contact[i];
    int entry = c->row >= 0 ? tgi_touch_entry(s, c) : -1;
    for (int k = 0; entry >= 0 && k < c->nrow && k < 6; k++) {
      int row = c->row + k, at = o->at[row];
      if (at < 0) continue;
      const tgContactRow *early = &o->contact[o->owner[at]];
      const tgReal *now = direction(c, k), *then = direction(early, o->part[at]), F = s->rows->f[row],
                   *world = k < 3 ? a->touch->grad[entry].world : a->touch->grad[entry].torque;
      tgReal turn[3], g[3];
      tgi_v3_scale(g, world, -1 / s->h);
      tgi_v3_sub(turn, then, now);
      a->told[row] = half * tgi_v3_dot(g, turn);
      a->touch->by_share += 0.5 * F * tgi_v3_dot(g, turn);
      tgi_v3_axpy(a->shape + 12 * i + 3 + 3 * (k % 3), -half * F, g);
      tgi_v3_axpy(a->early + 12 * o->owner[at] + 3 + 3 * (o->part[at] % 3), half * F, g);
    }
  }
  tgi_rows_select(s, 0);
}

// what the contacts of the piece in the sim weigh
static void weigh_touches(tgSim *s, int k, Sweep *a) {
  bool impact = tgi_events(s)->piece[k].kind == TGI_PIECE_IMPACT;
  if (a->touch == NULL) return;
  a->touch->share = impact ? 1 : tgi_events(s)->t[k] / tgi_events(s)->s[k];
  tgi_touches_weigh(s, a->touch, a->force, a->shape);
  if (!impact) weigh_order(s, a);
}

static tgStatus impact_vjp(tgSim *s, Sweep *a) {
  tgiAdjoint o = {.gq = a->aq, .gv = a->av, .gu = a->u, .p = a->p, .clamps = &a->again, .force = a->force, .shape = a->shape};
  for (int d = 0; d < s->m.nv; d++) o.gq[d] += a->q[d];
  return tgi_impact_vjp(s, a->v, &o);
}

// parameters move the gap at the end of the flow, and with it the meeting; rows there are in the sim
static tgStatus gap_parameters(tgSim *s, int row, const tgiPiece *piece, tgReal lambda, Sweep *a) {
  tgReal *y = tgi_stack_real(s, (size_t)s->cap.nrow), *clearance = TG_NUMBER_GRAD(a->p, gap);
  if (y == NULL) return tgi_no_room(s, "adjoint");
  tgi_meeting_gradient(s, row, lambda, y, a->z, a->p);
  if (clearance != NULL && tgi_meets_at_gap(s, piece->who.kind, piece->who.owner, piece->who.part))
    *clearance += (1 - piece->share) * lambda;
  TG_TRY(tgi_rows_size_parameters(s, &s->end, a->p));
  tgi_place_vjp(s, &s->end, a->p, NULL);
  return TG_OK;
}

// The row of what meets at the end of flow k, which is in the sim: its rows and pose are those there then; u (nv): the rate of the pose.
static tgStatus rows_at_meeting(tgSim *s, int k, Sweep *a, tgReal *u, int *row) {
  const tgiEvents *e = tgi_events(s);
  size_t mark = tgi_stack_mark(s);
  tgReal *q = tgi_stack_real(s, (size_t)s->m.nq + 1);
  if (q == NULL) return tgi_no_room(s, "adjoint");
  tgiFlight path = tgi_piece_path(s, k, e->s[k]);
  tgi_flight_pose(&s->m, &path, e->t[k], a->w, q, &s->end, u);
  TG_TRY(tgi_rows(s, &s->end, 0, TGI_ROWS_NEAR));
  *row = tgi_row_that_meets(s, &e->piece[k].who);
  tgi_stack_free(s, mark);
  return *row >= 0 ? TG_OK : tgi_error(&s->error, TG_ERR_STATE, "The contact at which a piece of the step ends is not found again.");
}

// of the row there: J' (nv)
static tgStatus gap_gradient(tgSim *s, int row, tgReal *J) {
  size_t mark = tgi_stack_mark(s);
  tgReal *y = tgi_stack_real(s, (size_t)s->cap.nrow);
  if (y == NULL) return tgi_no_room(s, "adjoint");
  tgi_meeting_gradient(s, row, 1, y, J, NULL);
  tgi_stack_free(s, mark);
  return TG_OK;
}

// slope of the loss in the time of piece k, but for what moves with its end: of its way
static tgReal by_time(const Sweep *a, int k) { return a->leg != NULL && k == a->last ? a->leg->t : 0; }

// x = g = gq + lambda J' of what meets at the end of flow k, which is in the sim, then again; slope: b
static tgStatus meet(tgSim *s, int k, tgReal slope, Sweep *a) {
  size_t mark = tgi_stack_mark(s), nv = (size_t)s->m.nv;
  tgReal *u = tgi_stack_real(s, nv + 1), speed = 0;
  int row;
  if (u == NULL) return tgi_no_room(s, "adjoint");
  TG_TRY(rows_at_meeting(s, k, a, u, &row));
  TG_TRY(gap_gradient(s, row, a->gap));
  for (size_t d = 0; d < nv; d++) speed += a->gap[d] * u[d];
  tgReal lambda = -slope / speed;
  if (a->p != NULL) TG_TRY(gap_parameters(s, row, &tgi_events(s)->piece[k], lambda, a));
  for (size_t d = 0; d < nv; d++) a->x[d] = a->q[d] + lambda * a->gap[d];
  tgi_stack_free(s, mark);
  return tgi_piece_load(s, k);
}

// pull (nrow): by which rows at the end have less than J' f, as rows at the start have it
static void half_of_positions(tgSim *s, tgReal *pull) {
  tgi_rows_select(s, 1);
  for (int i = 0; i < s->nrow; i++) pull[i] = tgi_events(s)->order.at[i] >= 0 ? -0.5 * s->rows->f[i] : 0;
  tgi_rows_select(s, 0);
}

// the gradient in u* = v + c (V - v), c = (1 - share)/2, to V, v and the shares of fast trees
static tgStatus of_middle_velocity(tgSim *s, tgReal *gV, const tgiAdjoint *o) {
  if (!tgi_order_is_turned(s)) return TG_OK;
  size_t nv = (size_t)s->m.nv, mark = tgi_stack_mark(s);
  tgReal *c = tgi_stack_real(s, 3 * nv + 1), *by = c + nv, *sum = c + 2 * nv;
  const tgReal *g = tgi_events(s)->order.by;
  if (c == NULL) return tgi_no_room(s, "adjoint");
  tgi_order_shares(s, c);
  for (size_t d = 0; d < nv; d++) {
    by[d] = tgRe(c[d]) != 0 ? -0.5 * (s->rows->mean[d] - s->start.vel[d]) * g[d] : 0;
    gV[d] += c[d] * g[d];
    o->gv[d] -= c[d] * g[d];
  }
  tgi_carried_share_vjp(s, by, sum, o->gv, o->dt);
  tgi_stack_free(s, mark);
  return TG_OK;
}

// The velocities' problem and the positions', or one where nothing is held, in the middle of the flow. lambda (nv): the gradient in the
// momentum of the first. told: a gradient in the positions' impulses besides.
static tgStatus problems_midway(tgSim *s, const tgReal *gv1, tgReal *gV, const tgReal *told, const tgiAdjoint *o, tgReal *lambda) {
  if (s->nrow == 0) {
    for (int d = 0; d < s->m.nv; d++) gV[d] += gv1[d];
    return tgi_impulse_vjp(s, gV, o);
  }
  int twice = 0;
  size_t mark = tgi_stack_mark(s), n = (size_t)s->nrow;
  tgReal *pull = tgi_stack_real(s, n), *force = tgi_stack_real(s, n);
  if (pull == NULL || force == NULL) return tgi_no_room(s, "adjoint");
  half_of_positions(s, pull);
  tgiAdjoint velocities = *o, positions = *o;
  velocities.pull = pull;
  velocities.lambda = lambda;
  TG_TRY(tgi_impulse_vjp(s, gv1, &velocities));
  tgi_order_speed(s, 0.5, lambda, force);
  for (size_t i = 0; i < n && told != NULL; i++) force[i] += told[i];
  TG_TRY(of_middle_velocity(s, gV, o));
  positions.clamps = &twice;
  positions.force = force;
  positions.shape = NULL;
  tgi_order_turn(s, false);
  tgi_rows_select(s, 1);
  tgStatus status = tgi_impulse_vjp(s, gV, &positions);
  tgi_rows_select(s, 0);
  tgi_order_turn(s, true);
  tgi_stack_free(s, mark);
  return status;
}

// the same from the start, q the middle at q0 (+) (length/2) v0
static tgStatus problems_vjp(tgSim *s, const tgReal *gv1, tgReal *gV, const tgReal *told, const tgiAdjoint *o, tgReal *lambda) {
  size_t nv = (size_t)s->m.nv, mark = tgi_stack_mark(s);
  tgReal *gq = tgi_stack_real(s, 3 * nv + 1), *w = gq + nv, *gw = gq + 2 * nv;
  if (gq == NULL) return tgi_no_room(s, "adjoint");
  memset(gq, 0, 3 * nv * sizeof *gq);
  tgiAdjoint at_middle = *o;
  at_middle.gq = gq;
  tgi_midway(s);
  tgStatus status = problems_midway(s, gv1, gV, told, &at_middle, lambda);
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

// Of flow k, which is in the sim and runs up to t: what gx and gv at its end are in q, v, u, parameters and, *o->dt, its length at held t;
// *by_t: in t at held length. lambda (nv): the gradient in the momentum of its velocities' problem. touch: whose contacts are weighed
// besides; NULL: none.
static tgStatus ends_vjp(tgSim *s, int k, const tgReal *gx, const tgReal *gv, const Sweep *touch, const tgiAdjoint *to, tgReal *by_t,
                         tgReal *lambda) {
  tgiAdjoint with = *to;
  const tgiAdjoint *o = &with;
  if (touch != NULL) {
    with.force = touch->force;
    with.shape = touch->shape;
  }
  tgiEvents *e = tgi_events(s);
  size_t mark = tgi_stack_mark(s), nv = (size_t)s->m.nv;
  tgReal length = e->s[k], t = e->t[k], tau = t / length, along = 0;
  tgReal *Tg = tgi_stack_real(s, 4 * nv + 1), *w = Tg + nv, *rate = Tg + 2 * nv, *gv1 = Tg + 3 * nv;
  if (Tg == NULL) return tgi_no_room(s, "adjoint");
  tgiFlight path = tgi_piece_path(s, k, length);
  tgi_flight_at(&s->m, &path, t, w, rate);
  memset(Tg, 0, nv * sizeof *Tg);
  tgi_integrate_vjp(&s->m, w, gx, o->gq, Tg);
  *by_t = 0;
  for (size_t d = 0; d < nv; d++) {
    bool stalls = tgi_piece_stalls(s, (int)d, k);
    tgReal g = stalls ? 0 : Tg[d], bent = tgi_piece_is_straight(s, (int)d, k) ? 1 : tau;
    *by_t += Tg[d] * rate[d];
    if (!stalls) along += gv[d] * (s->end.vel[d] - s->start.vel[d]);
    *o->dt -= 0.5 * tau * tau * (path.v1[d] - path.v0[d]) * g;
    o->gv[d] += stalls ? gv[d] : (1 - tau) * gv[d] + t * (1 - 0.5 * bent) * g;
    gv1[d] = stalls ? 0 : tau * gv[d];
    Tg[d] = 0.5 * t * bent * g;
  }
  if (touch != NULL) along += touch->touch->by_share;
  *by_t += along / length;
  *o->dt -= t / (length * length) * along;
  tgStatus status = problems_vjp(s, gv1, Tg, touch != NULL ? touch->told : NULL, o, lambda);
  tgi_stack_free(s, mark);
  return status;
}

// What half of the positions' impulses, along the rows at the start, has of the pose there: d(lambda' J_0' F/2).
static tgStatus start_rows_vjp(tgSim *s, const tgReal *lambda, Sweep *a) {
  if (s->nrow == 0) return TG_OK;
  size_t mark = tgi_stack_mark(s);
  tgReal *F = tgi_stack_real(s, (size_t)s->nrow), *y = tgi_stack_real(s, (size_t)s->cap.nrow);
  if (F == NULL || y == NULL) return tgi_no_room(s, "adjoint");
  half_of_positions(s, F);
  tgi_order_at_start(s, -1, F, y);
  tgStatus status = TG_OK;
  tgi_order_exchange(s);
  tgi_rows_sum_vjp(s, &s->start, 1, &(tgiRowProduct){y, lambda}, NULL, a->early, a->aq, a->p);
  if (a->p != NULL) {
    status = tgi_rows_size_parameters(s, &s->start, a->p);
    if (status == TG_OK) tgi_place_vjp(s, &s->start, a->p, NULL);
  }
  tgi_order_exchange(s);
  tgi_stack_free(s, mark);
  return status;
}

static const Sweep *weighed(const Sweep *a) { return a->touch != NULL ? a : NULL; }

// of a flow whose length is t: *slope of what gx and gv weigh at its end, in t
static tgStatus own_slope(tgSim *s, int k, const tgReal *gx, const tgReal *gv, const Sweep *touch, tgReal *slope) {
  size_t mark = tgi_stack_mark(s), nv = (size_t)s->m.nv;
  tgReal *q = tgi_stack_real(s, 3 * nv + 1), late = 0;
  int clamps = 0;
  if (q == NULL) return tgi_no_room(s, "adjoint");
  memset(q, 0, 2 * nv * sizeof *q);
  tgiAdjoint o = {.gq = q, .gv = q + nv, .dt = &late, .clamps = &clamps};
  TG_TRY(ends_vjp(s, k, gx, gv, touch, &o, slope, q + 2 * nv));
  *slope += late;
  tgi_stack_free(s, mark);
  return TG_OK;
}

// A flow whose length is the time t of its meeting: gap(t) = 0 has the slope in t that J' has along the flow and the change of its forces.
static tgStatus own_flow_vjp(tgSim *s, int k, Sweep *a) {
  size_t mark = tgi_stack_mark(s), nv = (size_t)s->m.nv;
  tgReal *zero = tgi_stack_real(s, 3 * nv + 1), *u = zero + nv, *lambda_v = zero + 2 * nv, late = 0, by_t, closing, slope;
  int row;
  if (zero == NULL) return tgi_no_room(s, "adjoint");
  TG_TRY(rows_at_meeting(s, k, a, u, &row));
  TG_TRY(gap_gradient(s, row, a->gap));
  TG_TRY(tgi_piece_load(s, k));
  memset(zero, 0, nv * sizeof *zero);
  TG_TRY(own_slope(s, k, a->gap, zero, NULL, &closing));
  TG_TRY(own_slope(s, k, a->q, a->v, weighed(a), &slope));
  tgReal lambda = -(slope - a->rest + by_time(a, k)) / closing;
  for (size_t d = 0; d < nv; d++) a->x[d] = a->q[d] + lambda * a->gap[d];
  tgiAdjoint o = {.gq = a->aq, .gv = a->av, .gu = a->u, .p = a->p, .dt = &late, .clamps = &a->again};
  TG_TRY(ends_vjp(s, k, a->x, a->v, weighed(a), &o, &by_t, lambda_v));
  TG_TRY(start_rows_vjp(s, lambda_v, a));
  if (a->p != NULL) {
    TG_TRY(rows_at_meeting(s, k, a, u, &row));
    TG_TRY(gap_parameters(s, row, &tgi_events(s)->piece[k], lambda, a));
  }
  tgi_stack_free(s, mark);
  return TG_OK;
}

// a flow of R/2^k, to its end or to where it is cut
static tgStatus flow_vjp(tgSim *s, int k, Sweep *a) {
  tgiEvents *e = tgi_events(s);
  const tgModel *m = &s->m;
  bool cut = e->piece[k].kind == TGI_PIECE_CUT;
  size_t nv = (size_t)m->nv;
  tgReal slope = 0, late = 0, by_t;
  tgiFlight path = tgi_piece_path(s, k, e->s[k]);
  tgi_flight_at(m, &path, e->t[k], a->w, a->rate);
  memset(a->z, 0, nv * sizeof *a->z);
  tgi_integrate_vjp(m, a->w, a->q, NULL, a->z);
  for (int d = 0; d < m->nv; d++) {
    if (!tgi_piece_stalls(s, d, k)) slope += a->v[d] * (s->end.vel[d] - s->start.vel[d]) / e->s[k];
    slope += a->z[d] * a->rate[d];
  }
  slope += by_time(a, k) - a->rest + (a->touch != NULL ? a->touch->by_share / e->s[k] : 0);
  memcpy(a->x, a->q, nv * sizeof *a->x);
  if (cut) TG_TRY(meet(s, k, slope, a));
  tgiAdjoint o = {.gq = a->aq, .gv = a->av, .gu = a->u, .p = a->p, .dt = &late, .clamps = k == e->n - 1 ? a->clamps : &a->again};
  TG_TRY(ends_vjp(s, k, a->x, a->v, weighed(a), &o, &by_t, a->gap));
  TG_TRY(start_rows_vjp(s, a->gap, a));
  a->rest += (late + (cut ? 0 : slope)) * ldexp(1, -e->piece[k].halvings);
  return TG_OK;
}

static tgStatus piece_vjp(tgSim *s, int k, Sweep *a) {
  tgiPieceKind kind = tgi_events(s)->piece[k].kind;
  if (kind == TGI_PIECE_IMPACT) return impact_vjp(s, a);
  return kind == TGI_PIECE_MEETING ? own_flow_vjp(s, k, a) : flow_vjp(s, k, a);
}

static tgStatus sweep(tgSim *s, Sweep *a) {
  for (int k = a->last; k >= 0; k--) {
    size_t mark = tgi_stack_mark(s);
    memset(a->aq, 0, (size_t)s->m.nv * sizeof *a->aq);
    memset(a->av, 0, (size_t)s->m.nv * sizeof *a->av);
    TG_TRY(tgi_piece_reach(s, k));
    weigh_touches(s, k, a);
    TG_TRY(piece_vjp(s, k, a));
    for (int d = 0; a->leg != NULL && k == a->last && d < s->m.nv; d++) {
      a->aq[d] += a->leg->q0[d];
      a->av[d] += a->leg->v0[d];
    }
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
  if (status >= 0) tgi_event_show_start(s);
  s->info = info;
  s->nedge = nedge;
  memcpy(s->end.q, q, nq * sizeof *q);
  memcpy(s->end.vel, v, nv * sizeof *v);
  tgi_stack_free(s, mark);
  return status;
}

static tgStatus visit(tgSim *s, void *ctx) { return sweep(s, ctx); }

// gq, gv: at the end of the sweep's first piece
static tgStatus adjoint(tgSim *s, const tgReal *gq, const tgReal *gv, Sweep *a, tgReal *aq, tgReal *av) {
  if (!take(s, a) || (a->touch != NULL && !take_touches(s, a))) return tgi_no_room(s, "adjoint");
  for (int d = 0; d < s->m.nv; d++) {
    a->q[d] = gq != NULL ? gq[d] : 0;
    a->v[d] = gv != NULL ? gv[d] : 0;
  }
  TG_TRY(tgi_event_revisit(s, visit, a));
  for (int d = 0; d < s->m.nv; d++) {
    aq[d] += a->q[d];
    av[d] += a->v[d];
  }
  if (a->p != NULL && a->p->opt_timestep != NULL) a->p->opt_timestep[0] += a->rest;
  return TG_OK;
}

tgStatus tgi_event_vjp(tgSim *s, const tgReal *gq, const tgReal *gv, tgReal *aq, tgReal *av, tgReal *du, tgParamGrad *p, int *clamps) {
  Sweep a = {.u = du, .p = p, .clamps = clamps, .last = tgi_events(s)->n - 1};
  return adjoint(s, gq, gv, &a, aq, av);
}

tgStatus tgi_event_touches_vjp(tgSim *s, const tgiTouchGrad *g, tgReal *aq, tgReal *av, tgReal *du, tgParamGrad *p, int *clamps) {
  tgiTouchSeeds seeds = {.grad = g};
  Sweep a = {.u = du, .p = p, .clamps = clamps, .last = tgi_events(s)->n - 1, .touch = &seeds};
  TG_TRY(tgi_touches_have_friction(s, p));
  if (p != NULL && p->opt_timestep != NULL) p->opt_timestep[0] += tgi_touches_by_length(s, g);
  return adjoint(s, NULL, NULL, &a, aq, av);
}

tgStatus tgi_event_leg_vjp(tgSim *s, const tgiLegSlopes *g, tgReal *aq, tgReal *av, tgReal *du, tgParamGrad *p, int *clamps) {
  Sweep a = {.u = du, .p = p, .clamps = clamps, .last = g->leg, .leg = g};
  return adjoint(s, g->q1, NULL, &a, aq, av);
}
