// event_stall.c: what stays where it is for the rest of a step, see event_impact.h.
#include <string.h>

#include "contact/islands.h"
#include "step/event_impact.h"
#include "step/step.h"

bool tgi_event_stall(tgSim *s, const int8_t *mark) {
  tgiEvents *e = tgi_events(s);
  bool any = false;
  for (int d = 0; d < s->m.nv; d++) {
    if (!mark[d] || e->stalled[d] <= e->n) continue;
    e->stalled[d] = e->n;
    any = true;
    if (e->stuck < 0) e->stuck = d;
  }
  if (any) s->info.nstalled++;
  return any;
}

// marks what moves with dof d: the island that it is in, of the rows in the sim, or its tree
static void mark_with(const tgSim *s, int d, int8_t *mark) {
  int island = s->rows->dof_island[d];
  for (int k = s->m.dof_tree[2 * d]; k < s->m.dof_tree[2 * d + 1]; k++) mark[k] = 1;
  for (int k = 0; k < s->m.nv && island >= 0; k++) mark[k] |= s->rows->dof_island[k] == island;
}

// marks what the contact or limit is of, with the islands of the rows in the sim; false: it is not known
static bool mark_who(const tgSim *s, const tgiWho *who, int8_t *mark) {
  int row = tgi_who_row(s, who);
  if (row >= 0) {
    for (int d = 0; d < s->m.nv; d++) mark[d] |= s->rows->dof_island[d] == s->rows->island[row];
    return true;
  }
  if (who->kind != TG_ROW_NORMAL || who->owner < 0) return false;
  int g[2] = {s->m.pair_geom1[who->owner], s->m.pair_geom2[who->owner]};
  for (int i = 0; i < 2; i++) {
    int d = s->m.body_lastdof[s->m.geom_body[g[i]]];
    if (d >= 0) mark_with(s, d, mark);
  }
  return true;
}

int8_t *tgi_event_dof_marks(tgSim *s) {
  int8_t *mark = tgi_stack_bytes(s, (size_t)s->m.nv + 1);
  if (mark != NULL) memset(mark, 0, (size_t)s->m.nv + 1);
  return mark;
}

tgStatus tgi_event_stall_who(tgSim *s, const tgiWho *who, bool *any) {
  size_t mark = tgi_stack_mark(s);
  int8_t *dofs = tgi_event_dof_marks(s);
  if (dofs == NULL) return tgi_no_room(s, "pieces");
  TG_TRY(tgi_event_closed_rows(s));
  TG_TRY(tgi_islands(s));
  *any = mark_who(s, who, dofs) && tgi_event_stall(s, dofs);
  tgi_stack_free(s, mark);
  return TG_OK;
}

tgStatus tgi_event_stall_busy(tgSim *s, bool all) {
  tgiEvents *e = tgi_events(s);
  size_t mark = tgi_stack_mark(s);
  int8_t *dofs = tgi_event_dof_marks(s);
  int most = -1;
  if (dofs == NULL) return tgi_no_room(s, "pieces");
  TG_TRY(tgi_islands(s));
  for (int d = 0; d < s->m.nv; d++)
    if (e->stalled[d] > e->n && e->cost[d] > (most >= 0 ? e->cost[most] : 0)) most = d;
  for (int d = 0; d < s->m.nv; d++)
    if (all ? e->cost[d] > 0 : d == most) mark_with(s, d, dofs);
  tgi_event_stall(s, dofs);
  tgi_stack_free(s, mark);
  return TG_OK;
}

tgStatus tgi_event_crowd_busy(tgSim *s) {
  size_t mark = tgi_stack_mark(s);
  int8_t *dofs = tgi_event_dof_marks(s);
  if (dofs == NULL) return tgi_no_room(s, "pieces");
  TG_TRY(tgi_islands(s));
  for (int d = 0; d < s->m.nv; d++)
    if (tgi_events(s)->cost[d] >= TGI_PIECES_EACH) mark_with(s, d, dofs);
  tgi_event_crowd(s, dofs);
  tgi_stack_free(s, mark);
  return TG_OK;
}

void tgi_event_note_cost(tgSim *s, const tgiWho *who) {
  if (who->kind != TG_ROW_NORMAL || who->owner < 0) return;
  int g[2] = {s->m.pair_geom1[who->owner], s->m.pair_geom2[who->owner]};
  for (int i = 0; i < 2; i++) {
    int last = s->m.body_lastdof[s->m.geom_body[g[i]]];
    for (int d = last >= 0 ? s->m.dof_tree[2 * last] : 0; last >= 0 && d < s->m.dof_tree[2 * last + 1]; d++) tgi_events(s)->cost[d]++;
  }
}

void tgi_event_note_impact(tgSim *s, const int8_t *dofs, bool meets) {
  tgiEvents *e = tgi_events(s);
  bool full = false, crowd = false;
  for (int d = 0; d < s->m.nv; d++) {
    if (!dofs[d]) continue;
    e->cost[d]++;
    e->met[d] += meets;
    full = full || e->met[d] > TGI_EVENTS || e->stalled[d] <= e->n;
    crowd = crowd || e->met[d] >= TGI_EVENTS_OWN || e->straight[d] <= e->n;
  }
  s->info.nimpact += meets;
  if (full) tgi_event_stall(s, dofs);
  else if (crowd) tgi_event_crowd(s, dofs);
}

void tgi_event_note_unanswered(tgSim *s, const int8_t *dofs) {
  tgiEvents *e = tgi_events(s);
  bool full = false;
  for (int d = 0; d < s->m.nv; d++)
    if (dofs[d]) full = ++e->unanswered[d] >= TGI_UNANSWERED || full;
  if (full) tgi_event_stall(s, dofs);
}
