// event_impact.c: which of what is closed meets or presses, its impact, and what of it goes first. See event_impact.h.
#include "step/event_impact.h"

#include <math.h>
#include <string.h>

#include "contact/islands.h"
#include "contact/rows.h"
#include "sim/row.h"
#include "step/event_piece.h"
#include "step/impulse_parts.h"
#include "step/step.h"

tgStatus tgi_event_closed_rows(tgSim *s) {
  tgi_event_hold(s, tgi_events(s)->stays, tgi_events(s)->nstays);
  tgi_impulse_look(s);
  return tgi_rows(s, &s->start, 0, TGI_ROWS_CLOSED);
}

tgStatus tgi_event_closed_rows_anew(tgSim *s) {
  int ncon = s->ncon;
  tgi_event_hold(s, tgi_events(s)->stays, tgi_events(s)->nstays);
  tgi_impulse_look(s);
  s->ncon = ncon;
  return tgi_rows_anew(s, &s->start, 0, TGI_ROWS_CLOSED);
}

// Below this a closed contact does not press. One that was held by a force has a speed of the order of the step all the same, by the curves
// that joints make: the next flow takes it, as long as the path sinks by no more than 3/8 of the gap, of half of which it may.
static double press_speed(const tgSim *s, int row) {
  double clearance = tgRe(tgi_row_clearance(s, row));
  return tgi_row_is_held(s, row) ? 1.5 * clearance / s->h : 1e-9;
}
static bool presses(const tgSim *s, int row) { return tgi_row_closes_faster(s, row, press_speed(s, row)); }

bool tgi_event_is_fast(const tgSim *s, int row) {
  double clearance = tgRe(tgi_row_clearance(s, row));
  return fabs(tgRe(s->rows->gap[row])) <= TGI_CLOSED * clearance && tgi_row_closes_faster(s, row, tgi_rows_rest_speed(s)) &&
         !tgi_event_was_held(s, row);
}

// all that the row moves stays where it is
static bool row_stalls(const tgSim *s, int row) {
  const int *span = s->rows->span + 4 * row;
  if (s->info.nstalled == 0) return false;
  for (int d = span[0]; d < span[3]; d = d + 1 == span[1] ? span[2] : d + 1)
    if (!tgi_piece_stalls(s, d, tgi_events(s)->n)) return false;
  return true;
}

// of rows by island: whether something there presses
static void mark_pressing(const tgSim *s, bool *island) {
  for (int i = 0; i < s->nrow; i++)
    if (tgi_row_pushes(s, i) && presses(s, i) && !row_stalls(s, i)) island[s->rows->island[i]] = true;
}

// What the impact in the sim has made part faster, by more than TGI_HOLDS, is held no longer.
static void let_go(tgSim *s) {
  tgiEvents *e = tgi_events(s);
  int count = 0;
  for (int k = 0; k < e->nstays; k++) {
    bool parts = false;
    for (int i = 0; i < s->nrow && !parts; i++) {
      if (!tgi_row_pushes(s, i) || tgi_row_name(s, i) != e->stays[k]) continue;
      double after = tgRe(tgi_row_dot(s, s->rows->J, i, s->rows->after)), before = tgRe(tgi_row_dot(s, s->rows->J, i, s->start.vel));
      parts = after - fmax(before, 0) > TGI_HOLDS;
    }
    if (!parts) e->stays[count++] = e->stays[k];
  }
  e->nstays = count;
}

// The impact in the sim has made something slower that presses. If not, its speed is what the solver leaves of an impact, and a flow
// holds it.
static bool slows(const tgSim *s) {
  for (int i = 0; i < s->nrow; i++) {
    if (!tgi_row_pushes(s, i) || !presses(s, i)) continue;
    double before = tgRe(tgi_row_dot(s, s->rows->J, i, s->start.vel)), after = tgRe(tgi_row_dot(s, s->rows->J, i, s->rows->after));
    if (after > 0.5 * before) return true;
  }
  return false;
}

// velocities (nv) of an impact from v of what is closed, by such bytes; the rows in the sim are gone then
static tgStatus try_impact(tgSim *s, const tgReal *v, const int8_t *flag, tgReal *after) {
  size_t nv = (size_t)s->m.nv;
  if (v != s->start.vel) memcpy(s->start.vel, v, nv * sizeof *v);
  TG_TRY(tgi_event_closed_rows_anew(s));
  tgStatus status = tgi_event_impact_by_flags(s, flag, NULL);
  memcpy(after, s->rows->after, nv * sizeof *after);
  return status;
}

// Of what meets together, none of which bounces, `row` goes first where that comes to the same velocities: alone, by flag `first`, and then
// all of it. Whatever else meets does so at a time of its own then, and the derivative is that of the states in which it meets later.
static tgStatus goes_first(tgSim *s, const int8_t *flag, const int8_t *first, bool *same) {
  size_t nv = (size_t)s->m.nv, mark = tgi_stack_mark(s);
  tgReal *v = tgi_stack_real(s, 4 * nv + 1), *alone = v + nv, *then = v + 2 * nv, *all = v + 3 * nv;
  double fastest = 0, off = 0;
  if (v == NULL) return tgi_no_room(s, "impact");
  tgStepInfo info = s->info;
  tgStatus unsolved = s->unsolved;
  int nedge = s->nedge;
  memcpy(v, s->start.vel, nv * sizeof *v);
  tgStatus status = try_impact(s, v, flag, all);
  if (status == TG_OK) status = try_impact(s, v, first, alone);
  if (status == TG_OK) status = try_impact(s, alone, flag, then);
  *same = status == TG_OK && s->info.nfallback == info.nfallback;
  for (size_t d = 0; d < nv && *same; d++) {
    fastest = fmax(fastest, fabs(tgRe(v[d])));
    off = fmax(off, fabs(tgRe(then[d] - all[d])));
  }
  *same = *same && off <= 1e-10 * fastest;
  s->info = info;
  s->unsolved = unsolved;
  s->nedge = nedge;
  memcpy(s->start.vel, v, nv * sizeof *v);
  tgi_stack_free(s, mark);
  if (status < 0 || status == TG_CANCELLED) return status;   // an impact that has no answer is none that goes first
  TG_TRY(tgi_event_closed_rows_anew(s));
  return tgi_islands(s);
}

// Decides that, where more than the row meets: flag of the others. An impulse of the row that opens one of them would hardly do. Where all
// have one impact, its derivative is that of states in which they go on to meet together: of neither side. So it is, unasked, among more
// rows than three impacts more are worth.
static tgStatus put_in_turn(tgSim *s, const bool *island, int row, int8_t *flag) {
  size_t mark = tgi_stack_mark(s), n = (size_t)s->nrow, nv = (size_t)s->m.nv;
  int8_t *first = tgi_stack_bytes(s, n + 1);
  tgReal *x = tgi_stack_real(s, nv + 1);
  bool any = false, may = s->nrow <= TGI_CROWD, same = false;
  if (first == NULL || x == NULL) return tgi_no_room(s, "impact");
  memcpy(first, flag, n);
  for (int i = 0; i < s->nrow; i++) {
    may = may && (flag[i] & TGI_EVENT_BOUNCES) == 0;
    if (i == row || !tgi_event_meets_too(s, island, i, flag)) continue;
    first[i] = TGI_EVENT_DROPPED;
    any = true;
  }
  if (any && may) {
    memset(x, 0, nv * sizeof *x);
    tgi_row_add(s, s->rows->J, row, 1, x);
    tgi_impulse_solve(s, x, x);   // by the masses at the start, which are made where several meet (tgi_event_set_flags)
    for (int i = 0; i < s->nrow; i++)
      may = may && (first[i] == flag[i] || tgRe(tgi_row_dot(s, s->rows->J, i, x)) <= 0);
    if (may) TG_TRY(goes_first(s, flag, first, &same));
  }
  if (same) memcpy(flag, first, n);
  else if (any) tgi_rows_between(s, "meets at the same time as another", row);
  tgi_stack_free(s, mark);
  return TG_OK;
}

tgStatus tgi_event_impact(tgSim *s, int row) {
  size_t mark = tgi_stack_mark(s);
  int unanswered = s->info.nfallback;
  TG_TRY_OUTCOME(tgi_sim_iterates(s, "step between impacts"));
  TG_TRY(tgi_islands(s));
  bool *island = tgi_stack_bytes(s, (size_t)s->nisland + 1);
  int8_t *dofs = tgi_event_dof_marks(s);
  if (island == NULL || dofs == NULL) return tgi_no_room(s, "impact");
  memset(island, 0, (size_t)s->nisland + 1);
  if (row >= 0) island[s->rows->island[row]] = true;
  else mark_pressing(s, island);
  tgiPiece *p = tgi_piece_open(s, TGI_PIECE_IMPACT);
  int8_t *flag = (int8_t *)tgi_piece_flags(s, tgi_events(s)->n - 1);
  p->nrow = s->nrow;
  TG_TRY(tgi_event_set_flags(s, island, row, flag));
  if (row >= 0) TG_TRY(put_in_turn(s, island, row, flag));
  for (int d = 0; d < s->m.nv; d++) dofs[d] = s->rows->dof_island[d] >= 0 && island[s->rows->dof_island[d]];
  tgi_event_note_impact(s, dofs, row >= 0);
  tgStatus status = tgi_event_impact_by_flags(s, flag, NULL);
  if (status != TG_OK) return status;
  if (s->info.nfallback > unanswered) tgi_event_note_unanswered(s, dofs);
  tgi_classes_note(s, &tgi_events(s)->last);
  let_go(s);
  tgi_events(s)->still = row < 0 && !slows(s);
  TG_TRY_OUTCOME(tgi_piece_keep(s));
  tgi_touches_add(s, 1);
  TG_TRY(tgi_parts_note_edges(s, s->h));
  tgi_stack_free(s, mark);
  memcpy(s->start.vel, s->rows->after, (size_t)s->m.nv * sizeof *s->start.vel);
  return TG_OK;
}

static const double grazes = 1e-3;   // share of the rest speed

tgStatus tgi_event_impact_of(tgSim *s, const tgiWho *who) {
  TG_TRY(tgi_event_closed_rows(s));
  int row = tgi_row_that_meets(s, who);
  if (row < 0) return tgi_error(&s->error, TG_ERR_STATE, "The contact at which a piece of the step ends is not closed there.");
  if (tgi_row_who(s, row).part != who->part) tgi_rows_edge(s, "meets where another feature's point is as well", row);
  if (!tgi_row_closes_faster(s, row, grazes * tgi_rows_rest_speed(s))) tgi_rows_edge(s, "grazes", row);
  return tgi_event_impact(s, row);
}

int tgi_event_first_fast(const tgSim *s, bool *pressing) {
  *pressing = false;
  for (int i = 0; i < s->nrow; i++) {
    if (!tgi_row_pushes(s, i)) continue;
    if (row_stalls(s, i)) continue;
    if (tgi_event_is_fast(s, i)) return i;
    *pressing = *pressing || presses(s, i);
  }
  return -1;
}
