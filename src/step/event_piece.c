// event_piece.c: the pieces of a step, made one after the other and put back one by one. See event.h and event_piece.h.
#include "step/event_piece.h"

#include <string.h>

#include "contact/rows.h"
#include "kin/kinematics.h"
#include "step/event_impact.h"
#include "step/impulse_impact.h"
#include "step/impulse_parts.h"
#include "step/step.h"
#include "tangere/base.h"

void tgi_event_hold(tgSim *s, const uint64_t *name, int count) {
  s->held = name;
  s->nheld = count;
  tgi_events(s)->at_start = false;
}

void tgi_event_start_at(tgSim *s, const tgReal *q, const tgReal *v) {
  if (q != s->start.q) memcpy(s->start.q, q, (size_t)s->m.nq * sizeof *q);
  if (v != s->start.vel) memcpy(s->start.vel, v, (size_t)s->m.nv * sizeof *v);
  tgi_kinematics(&s->m, s->start.q, &s->start);
}

tgiPiece *tgi_piece_open(tgSim *s, tgiPieceKind kind) {
  tgiEvents *e = tgi_events(s);
  int k = e->n++;
  memcpy(tgi_piece_q(s, k), s->start.q, (size_t)s->m.nq * sizeof *s->start.q);
  memcpy(tgi_piece_v(s, k), s->start.vel, (size_t)s->m.nv * sizeof *s->start.vel);
  e->s[k] = e->t[k] = 0;
  e->piece[k] = (tgiPiece){.kind = kind, .share = 1, .nheld = s->nheld, .at_start = e->at_start};
  if (s->held != tgi_piece_names(s, k) && s->nheld > 0) memcpy(tgi_piece_names(s, k), s->held, (size_t)s->nheld * sizeof *s->held);
  return &e->piece[k];
}

tgStatus tgi_piece_keep(tgSim *s) {
  tgiEvents *e = tgi_events(s);
  const tgiPiece *p = &e->piece[e->n - 1];
  int choice[6] = {(int)p->kind, p->halvings, p->who.kind, p->who.owner, p->who.part, s->ahead};
  s->part_mode = tg_hash(s->part_mode, choice, sizeof choice);
  tgi_parts_hash_choices(s);
  tgi_part_record_answers(s, s->guarded || p->kind != TGI_PIECE_IMPACT, tgi_piece_answers(s, e->n - 1));
  return tgi_parts_note_answers(s, s->guarded || p->kind != TGI_PIECE_IMPACT);
}

tgiFlight tgi_piece_path(tgSim *s, int k, tgReal length) {
  tgiEvents *e = tgi_events(s);
  for (int d = 0; d < s->m.nv; d++) {
    bool stalls = tgi_piece_stalls(s, d, k);
    e->from[d] = stalls ? 0 : s->start.vel[d];
    e->to[d] = stalls ? 0 : s->rows->mean[d];
    if (!stalls && tgi_piece_is_straight(s, d, k)) e->from[d] = e->to[d] = 0.5 * (e->from[d] + e->to[d]);
  }
  return (tgiFlight){s->start.q, e->from, e->to, length};
}

// (q, v) at the end of flow k, which is in the sim, into end
static tgStatus end_of_flow(tgSim *s, int k) {
  const tgiEvents *e = tgi_events(s);
  size_t mark = tgi_stack_mark(s), nv = (size_t)s->m.nv;
  tgReal *w = tgi_stack_real(s, nv + 1), *u = tgi_stack_real(s, nv + 1), *q = tgi_stack_real(s, (size_t)s->m.nq + 1);
  if (w == NULL || u == NULL || q == NULL) return tgi_no_room(s, "pieces");
  tgiFlight path = tgi_piece_path(s, k, e->s[k]);
  tgi_flight_at(&s->m, &path, e->t[k], w, u);
  tg_model_integrate(&s->m, s->start.q, w, q);
  tgReal tau = e->t[k] / e->s[k];
  for (int d = 0; d < s->m.nv; d++) {
    if (tgi_piece_stalls(s, d, k)) u[d] = s->start.vel[d];
    else u[d] = e->piece[k].kind == TGI_PIECE_CUT ? s->start.vel[d] + tau * (s->end.vel[d] - s->start.vel[d]) : s->end.vel[d];
  }
  memcpy(s->end.q, q, (size_t)s->m.nq * sizeof *q);
  memcpy(s->end.vel, u, nv * sizeof *u);
  tgi_stack_free(s, mark);
  return TG_OK;
}

tgStatus tgi_event_end(tgSim *s) {
  int k = tgi_events(s)->n - 1;
  if (tgi_events(s)->piece[k].kind != TGI_PIECE_IMPACT) return end_of_flow(s, k);
  memcpy(s->end.q, tgi_piece_q(s, k), (size_t)s->m.nq * sizeof *s->end.q);
  memcpy(s->end.vel, s->rows->after, (size_t)s->m.nv * sizeof *s->end.vel);
  return TG_OK;
}

void tgi_event_show_start(tgSim *s) {
  if (tgi_events(s)->n < 2) return;
  size_t mark = tgi_stack_mark(s);
  tgi_parts_start_at(s, tgi_piece_q(s, 0), tgi_piece_v(s, 0));
  tgi_stack_free(s, mark);
}

tgStatus tgi_piece_complete(tgSim *s) {
  tgiEvents *e = tgi_events(s);
  e->made = false;
  tgi_event_hold(s, tgi_piece_names(s, 0), e->piece[0].nheld);
  e->at_start = e->piece[0].at_start;
  TG_TRY(tgi_order_find(s, e->s[0]));
  tgi_order_match(s);
  e->loaded = true;
  return tgi_impulse_open_flow(s);   // the search has looked elsewhere since
}

tgStatus tgi_piece_load(tgSim *s, int k) {
  tgiEvents *e = tgi_events(s);
  e->made = false;
  e->loaded = e->n == 1 && s->info.nstalled == 0;
  tgi_event_start_at(s, tgi_piece_q(s, k), tgi_piece_v(s, k));
  tgi_event_hold(s, tgi_piece_names(s, k), e->piece[k].nheld);
  e->at_start = e->piece[k].at_start;
  if (e->piece[k].kind != TGI_PIECE_IMPACT) {
    TG_TRY(tgi_order_find(s, e->s[k]));
    return tgi_impulse_held_flow(s, e->s[k], tgi_piece_answers(s, k), NULL);
  }
  tgi_impulse_look(s);
  TG_TRY(tgi_rows(s, &s->start, 0, TGI_ROWS_CLOSED));
  return tgi_event_impact_by_flags(s, (int8_t *)tgi_piece_flags(s, k), tgi_piece_answers(s, k) + tgi_servo_record_bytes(s));
}
