// event_crowd.c: what meets in an island that has had many impacts in the step, see event_impact.h.
//
// Based on: [math/toi Crowds]. Bodies of a crowd go straight, at the mean velocity (v + V)/2 of a flow, and what they would meet on the way
// is held by the flow from its start: gap + s J (v + V)/2 >= 0, so that the gap closes evenly and is met where the flow ends.
#include "contact/rows.h"
#include "step/event_impact.h"
#include "step/step.h"

void tgi_event_crowd(tgSim *s, const int8_t *mark) {
  tgiEvents *e = tgi_events(s);
  for (int d = 0; d < s->m.nv; d++)
    if (mark[d] && e->straight[d] > e->n) e->straight[d] = e->n;
  e->crowd = true;
}

// the last dof that moves the body goes straight, and so do all of its tree; -1: it stands
static bool is_straight(const tgSim *s, int dof) { return dof >= 0 && tgi_piece_is_straight(s, dof, tgi_events(s)->n); }

bool tgi_event_in_crowd(const tgSim *s, const tgiWho *who) {
  const tgModel *m = &s->m;
  if (who->owner < 0) return false;
  if (who->kind == TG_ROW_LIMIT) return who->part < 2 && is_straight(s, m->jnt_vadr[who->owner]);
  int a = m->body_lastdof[m->geom_body[m->pair_geom1[who->owner]]], b = m->body_lastdof[m->geom_body[m->pair_geom2[who->owner]]];
  return (a < 0 || is_straight(s, a)) && (b < 0 || is_straight(s, b)) && (is_straight(s, a) || is_straight(s, b));
}

static bool is_who(const tgContactRow *c, const tgiWho *who) {
  return who->kind == TG_ROW_NORMAL && c->pair == who->owner && c->feature == who->part;
}

// Names beyond the room for rows are counted alone.
static int add_name(const tgSim *s, uint64_t own, uint64_t *name, int count) {
  if (count < s->cap.nrow) name[count] = own;
  return count + 1;
}

// Adds the contacts that the straight way of `length` at `mean` goes into, and all of the pair that meets, where who itself is none of them
// at the start.
static int add_contacts(const tgSim *s, double length, const tgReal *mean, const tgiWho *who, uint64_t *name, int count) {
  bool seen = false;
  for (int i = 0; i < s->ncon; i++) seen = seen || is_who(&s->contact[i], who);
  for (int i = 0; i < s->ncon; i++) {
    const tgContactRow *c = &s->contact[i];
    uint64_t own = tgi_constraint_name(TG_ROW_NORMAL, c->pair, c->feature);
    bool meets = is_who(c, who) || (!seen && who->kind == TG_ROW_NORMAL && c->pair == who->owner);
    if (tgi_is_held(s, own) || !tgi_event_in_crowd(s, &(tgiWho){TG_ROW_NORMAL, c->pair, c->feature})) continue;
    double end = tgRe(c->gap) + length * tgi_impulse_gap_speed(s, &s->start, c, mean);
    if (!meets && !(end < tgRe(s->clearance))) continue;
    count = add_name(s, own, name, count);
  }
  return count;
}

tgStatus tgi_event_hold_crowd(tgSim *s, tgReal length, const tgiWho *who, bool *more) {
  tgiEvents *e = tgi_events(s);
  size_t mark = tgi_stack_mark(s), nv = (size_t)s->m.nv;
  tgReal *mean = tgi_stack_real(s, nv + 1);
  uint64_t *name = tgi_piece_names(s, e->n);
  if (mean == NULL) return tgi_no_room(s, "pieces");
  for (size_t d = 0; d < nv; d++) mean[d] = 0.5 * (s->start.vel[d] + s->rows->mean[d]);
  int before = s->nheld, count = before;
  tgi_impulse_look(s);
  TG_TRY(tgi_rows(s, &s->start, 0, TGI_ROWS_CLOSED));
  count = add_contacts(s, tgRe(length), mean, who, name, count);
  if (who->kind == TG_ROW_LIMIT) {
    uint64_t own = tgi_constraint_name(who->kind, who->owner, who->part);
    if (!tgi_is_held(s, own)) count = add_name(s, own, name, count);
  }
  tgi_stack_free(s, mark);
  *more = count > before;
  if (!*more) return TG_OK;
  if (count > s->cap.nrow) {   // what is held has a row at least
    if (count > s->wanted.nrow) s->wanted.nrow = count;
    return tgi_error(&s->error, TG_ERR_CAPACITY, "%d constraint rows needed, room for %d; reserve more and repeat the step.", count,
                     s->cap.nrow);
  }
  s->info.ncrowded += count - before;
  s->held = name;
  s->nheld = count;
  e->at_start = true;
  tgi_impulse_look(s);
  return tgi_rows(s, &s->start, 0, TGI_ROWS_CLOSED);
}
