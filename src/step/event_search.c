// event_search.c: the first contact or limit of a flow, see event.h.
#include <string.h>

#include "coll/contacts.h"
#include "contact/rows.h"
#include "dyn/dynamics.h"
#include "kin/kinematics.h"
#include "step/event.h"
#include "step/step.h"

// ---- gaps by name ----

bool tgi_who_gap(tgSim *s, const tgPose *pose, const tgReal *u, const tgiWho *who, double share, tgReal *gap, tgReal *rate) {
  if (who->kind == TG_ROW_NORMAL) {
    if (!tgi_flight_gap(s, pose, u, who->owner, who->part, gap, rate)) return false;
    *gap -= share * s->clearance;
    return true;
  }
  tgi_limit_gap(s, pose, u, who, gap, rate);
  *gap -= share * tgi_who_clearance(s, who);
  return true;
}

// ---- contacts ----

void tgi_event_list_closed(tgSim *s) {
  tgiEvents *e = tgi_events(s);
  double clearance = tgRe(s->clearance);
  e->nclosed = 0;
  e->nstart = s->ncon;
  for (int i = 0; i < s->ncon; i++) {
    const tgContactRow *c = &s->contact[i];
    tgiStartPoint *x = &e->start[i];
    x->pair = c->pair;
    x->feature = c->feature;
    x->gap = c->gap;
    tgi_v3_copy(x->p, c->p);
    tgi_v3_copy(x->n, c->n);
    double gap = tgRe(c->gap);
    bool held = c->row >= 0 && tgi_row_is_held(s, c->row);
    if (!tgi_sinks(gap, clearance, held)) continue;
    e->rests[e->nclosed] = held;
    e->closed[e->nclosed++] = (tgiClosed){c->pair, c->feature, tgi_level_share(gap, clearance) * clearance};
  }
}

// scratch: nv, nv, nv, nq
typedef struct Work { tgReal *w, *u, *x, *q; } Work;

// gap and rate of who at t of the path, of a contact by what its two geoms are placed by alone
static bool gap_at(tgSim *s, const tgiFlight *path, tgReal t, const tgiWho *who, double share, Work *k, tgReal *gap, tgReal *rate) {
  if (who->kind == TG_ROW_NORMAL) tgi_flight_pair(&s->m, path, t, who->owner, k->w, k->x, &s->trial, k->u);
  else tgi_flight_pose(&s->m, path, t, k->w, k->q, &s->trial, k->u);
  return tgi_who_gap(s, &s->trial, k->u, who, share, gap, rate);
}

// The root of the gap near t, in all that the numbers carry; false: it is lost, or is not listed there. enough: a share of the path, up to
// which a step need not be followed by another.
static bool polish(tgSim *s, const tgiFlight *path, const tgiMeeting *m, double enough, Work *k, tgReal *t, double *speed) {
  enum { ROUNDS = 6 };
  tgReal gap, rate;
  double clearance = tgRe(tgi_who_clearance(s, &m->who)), before = INFINITY;
  bool last = false;
  for (int i = 0;; i++) {
    if (!gap_at(s, path, *t, &m->who, m->share, k, &gap, &rate) || !(tgRe(rate) < 0)) return false;
    if (i == ROUNDS) break;
    double change = fabs(tgRe(gap / rate));
    *t -= gap / rate;
    last = change <= enough * tgRe(path->s);
    if (last || tgi_root_stays(change, before, tgRe(path->s))) break;
    before = change;
  }
  *speed = tgRe(rate);
  return (last || fabs(tgRe(gap)) < 0.5 * TGI_CLOSED * clearance) && tgRe(*t) < tgRe(path->s) && tgRe(*t) > -1e-3 * tgRe(path->s);
}

// A contact that is first listed when it has come nearer than bodies meet, or changes as it does, or what meets so slowly that its root is
// no better known: it meets there and then.
static bool meets_as_found(tgSim *s, const tgiFlight *path, const tgiWho *who, Work *k, tgReal t, double *share) {
  tgReal gap, rate;
  if (!tgi_meets_at_gap(s, who->kind, who->owner, who->part) || !gap_at(s, path, t, who, 0, k, &gap, &rate)) return false;
  *share = tgRe(gap / tgi_who_clearance(s, who));
  if (!(*share > 0 && *share <= 1 + TGI_CLOSED && tgRe(rate) < 0)) return false;
  tgi_rows_edge(s, who->kind == TG_ROW_NORMAL ? "a contact that appears as it meets" : "a limit that meets slowly", -1);
  return true;
}

// *t of what the search has found: the root next to it, but for what the numbers carry, as nothing was looked for beyond it. The search
// has come to it by Newton's steps: one more is exact.
static bool meets_at(tgSim *s, const tgiFlight *path, const tgiWho *who, Work *k, double *share, tgReal *t) {
  static const double enough = 1e-11;
  tgReal found = *t;
  double rate;
  if (polish(s, path, &(tgiMeeting){.who = *who, .share = *share}, enough, k, t, &rate) &&
      fabs(tgRe(*t - found)) * tgi_events(s)->fastest <= tgi_stillness(s))
    return true;
  *t = found;
  return meets_as_found(s, path, who, k, found, share);
}

// The search has come to what was known to meet: at the time known, but for rounding.
static bool is_known(const tgSim *s, const tgiMeeting *known, const tgiWho *who, tgReal t) {
  return known != NULL && who->kind == known->who.kind && who->owner == known->who.owner && who->part == known->who.part &&
         fabs(tgRe(t - known->t)) * tgi_events(s)->fastest <= tgi_stillness(s);
}

static bool take(tgSim *s, Work *k) {
  k->w = tgi_stack_real(s, (size_t)s->m.nv + 1);
  k->u = tgi_stack_real(s, (size_t)s->m.nv + 1);
  k->x = tgi_stack_real(s, (size_t)s->m.nv + 1);
  k->q = tgi_stack_real(s, (size_t)s->m.nq + 1);
  return k->w != NULL && k->u != NULL && k->x != NULL && k->q != NULL;
}

tgStatus tgi_event_polish(tgSim *s, const tgiFlight *path, double enough, tgiMeeting *m, bool *meets) {
  size_t mark = tgi_stack_mark(s);
  Work k;
  if (!take(s, &k)) return tgi_no_room(s, "pieces");
  *meets = polish(s, path, m, enough, &k, &m->t, &m->rate);
  tgi_stack_free(s, mark);
  return TG_OK;
}

tgStatus tgi_event_search(tgSim *s, const tgiFlight *path, const tgiMeeting *known, tgiMeeting *m, tgiMet *met) {
  tgiEvents *e = tgi_events(s);
  size_t mark = tgi_stack_mark(s);
  double end = tgRe(path->s);
  tgiLimitMet limit;
  Work k;
  tgiFirst f = {.meet = tgRe(s->clearance), .closed = e->closed, .start = e->start, .nstart = e->nstart};
  f.still = tgi_stillness(s);
  f.known = (tgiKnown){.pair = -1};
  if (known != NULL && known->who.kind == TG_ROW_NORMAL) f.known = (tgiKnown){known->who.owner, known->who.part, tgRe(known->t)};
  if (!take(s, &k)) return tgi_no_room(s, "search for contacts");
  f.nclosed = e->nclosed;
  tgStatus status = tgi_first_contact(s, path, &f);
  e->looks += f.looks;
  e->fastest = f.fastest;
  if (status == TG_ERR_CAPACITY) return tgi_no_room(s, "search for contacts");
  TG_TRY(status);
  TG_TRY(tgi_first_limit(s, path, fmin(f.t, end * (1 - 1e-12)), &limit));
  *met = TGI_MET;
  m->t = limit.any ? limit.t : f.t;
  if (limit.any) {
    m->who = limit.who;
    m->share = limit.share;
    if (limit.held) *met = TGI_MET_HELD;
  } else if (f.pair >= 0) {
    m->who = (tgiWho){TG_ROW_NORMAL, f.pair, f.feature};
    m->share = f.which >= 0 ? e->closed[f.which].level / tgRe(s->clearance) : 1;
    if (f.which >= 0 && e->rests[f.which]) *met = TGI_MET_HELD;
  } else {
    *met = f.t < end ? TGI_MET_UNKNOWN : TGI_MET_NOTHING;
    m->who = (tgiWho){TG_ROW_NORMAL, f.stuck, -1};
  }
  if (*met == TGI_MET && is_known(s, known, &m->who, m->t)) {
    *m = *known;
  } else if (*met == TGI_MET) {
    bool meets = limit.any || f.settled ? meets_at(s, path, &m->who, &k, &m->share, &m->t)
                                    : meets_as_found(s, path, &m->who, &k, m->t, &m->share);
    if (!meets) *met = TGI_MET_UNKNOWN;
  }
  tgi_stack_free(s, mark);
  return TG_OK;
}

tgStatus tgi_event_meets_now(tgSim *s, const tgiFlight *path, tgiMeeting *m) {
  size_t mark = tgi_stack_mark(s);
  Work k;
  if (!take(s, &k)) return tgi_no_room(s, "pieces");
  m->t = 0;
  m->share = 1;
  meets_at(s, path, &m->who, &k, &m->share, &m->t);
  tgi_stack_free(s, mark);
  return TG_OK;
}
