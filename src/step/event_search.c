// event_search.c: the first contact or limit of a flow, see event.h.
#include <string.h>

#include "coll/contacts.h"
#include "contact/rows.h"
#include "dyn/dynamics.h"
#include "kin/kinematics.h"
#include "step/event.h"
#include "step/step.h"

// ---- gaps by name ----

// of a limit: gap and its rate
static void limit_gap(const tgSim *s, const tgPose *pose, const tgReal *u, const tgiWho *who, tgReal *gap, tgReal *rate) {
  const tgModel *m = &s->m;
  tgReal x, v, axis[3], w[3];
  const tgReal *range;
  if (who->part >= 2) {
    x = pose->ten_length[who->owner];
    v = tgi_tendon_rate(m, who->owner, u);
    range = m->ten_range + 2 * who->owner;
  } else if (m->jnt_type[who->owner] == TG_JOINT_BALL) {
    x = tgi_ball_axis(s, pose, who->owner, axis, w);
    v = tgi_v3_dot(axis, u + m->jnt_vadr[who->owner]);
    range = m->jnt_range + 2 * who->owner;
  } else {
    x = pose->q[m->jnt_qadr[who->owner]];
    v = u[m->jnt_vadr[who->owner]];
    range = m->jnt_range + 2 * who->owner;
  }
  bool upper = who->part % 2 == 1;
  *gap = upper ? range[1] - x : x - range[0];
  *rate = upper ? -v : v;
}

bool tgi_who_gap(tgSim *s, const tgPose *pose, const tgReal *u, const tgiWho *who, double share, tgReal *gap, tgReal *rate) {
  if (who->kind == TG_ROW_NORMAL) {
    if (!tgi_flight_gap(s, pose, u, who->owner, who->part, gap, rate)) return false;
    *gap -= share * s->clearance;
    return true;
  }
  limit_gap(s, pose, u, who, gap, rate);
  *gap -= share * s->limit_clearance;
  return true;
}

// ---- limits ----

// What is the least to which a gap that is closed may come, as a share of the clearance: the first 2^-j that is well below it.
static double level_share(double gap, double clearance) {
  double share = 0.5;
  while (share > tgi_least_level && gap <= 1.5 * share * clearance) share /= 2;
  return share;
}

// It may come lower than where others meet: what is held there, or is lower already. What leaves from there meets again there: if it
// fell deeper than it rose, the difference would become motion each time that a body rocks.
static bool sinks(double gap, double clearance, bool held) {
  return held || gap < (1 - TGI_CLOSED) * clearance;
}

typedef struct LimitSearch {
  tgSim *s;
  const tgiFlight *path;
  tgReal *w, *u, *x, *q;
  double t;
  tgiWho who;
  double share;
  bool held;
} LimitSearch;

static void limit_at(const LimitSearch *k, const tgiWho *who, double t, double *gap, double *rate) {
  tgSim *s = k->s;
  tgReal g, r;
  if (t != 0) tgi_flight_pose(&s->m, k->path, t, k->w, k->q, &s->trial, k->u);
  limit_gap(s, t != 0 ? &s->trial : &s->start, t != 0 ? k->u : k->path->v0, who, &g, &r);
  *gap = tgRe(g);
  *rate = tgRe(r);
}

// the least t in (0, end) at which a + b t + c t^2 comes down through 0, from above; INFINITY: none
static double comes_down(double a, double b, double c, double end) {
  double D = b * b - 4 * a * c;
  if (D < 0 || (b >= 0 && c >= 0)) return INFINITY;
  double t = b < 0 ? 2 * a / (sqrt(D) - b) : (sqrt(D) + b) / (-2 * c);
  return t >= 0 && t < end ? t : INFINITY;
}

// of a ball joint, whose angle changes by no more than its rate
static double ball_time(const LimitSearch *k, const tgiWho *who, double level, double end) {
  const tgModel *m = &k->s->m;
  int d = m->jnt_vadr[who->owner];
  double most = 0, t = 0;
  for (int e = 0; e < 2; e++) {
    const tgReal *v = e == 0 ? k->path->v0 : k->path->v1;
    most = fmax(most, sqrt(tgRe(v[d]) * tgRe(v[d]) + tgRe(v[d + 1]) * tgRe(v[d + 1]) + tgRe(v[d + 2]) * tgRe(v[d + 2])));
  }
  if (most == 0) return INFINITY;
  for (int i = 0; i < 2000 && t < end; i++) {
    double gap, rate;
    limit_at(k, who, t, &gap, &rate);
    if (gap - level <= 1e-13 && rate < 0) return t;
    t += fmax(gap - level, 1e-13) / most;
  }
  return t < end ? t : INFINITY;
}

static double scalar_time(const LimitSearch *k, const tgiWho *who, double above, double end) {
  const tgModel *m = &k->s->m;
  double b, c, sign = who->part % 2 == 1 ? -1 : 1;
  if (who->part >= 2) {
    b = tgRe(tgi_tendon_rate(m, who->owner, k->path->v0));
    c = tgRe(tgi_tendon_rate(m, who->owner, k->path->v1)) - b;
  } else {
    b = tgRe(k->path->v0[m->jnt_vadr[who->owner]]);
    c = tgRe(k->path->v1[m->jnt_vadr[who->owner]]) - b;
  }
  return comes_down(above, sign * b, sign * 0.5 * c / tgRe(k->path->s), end);
}

// one side of one limit
static void try_limit(LimitSearch *k, const tgiWho *who) {
  const tgSim *s = k->s;
  double clearance = tgRe(s->limit_clearance), gap, rate, share = 1;
  limit_at(k, who, 0, &gap, &rate);
  bool held = tgi_is_held(s, tgi_constraint_name(who->kind, who->owner, who->part)), closed = sinks(gap, clearance, held);
  if (closed) share = level_share(gap, clearance);
  double above = gap - share * clearance;
  if (closed && !(above > 0)) return;   // beyond it: what pushes back is the flow's
  bool ball = who->part < 2 && s->m.jnt_type[who->owner] == TG_JOINT_BALL;
  double t = ball ? ball_time(k, who, share * clearance, k->t) : scalar_time(k, who, above, k->t);
  if (!(t < k->t)) return;
  k->t = t;
  k->who = *who;
  k->share = share;
  k->held = held;
}

static void first_limit(LimitSearch *k) {
  const tgModel *m = &k->s->m;
  for (int j = 0; j < m->njnt; j++) {
    if (!m->jnt_limited[j] || m->jnt_type[j] == TG_JOINT_FREE) continue;
    for (int side = m->jnt_type[j] == TG_JOINT_BALL ? 1 : 0; side < 2; side++) try_limit(k, &(tgiWho){TG_ROW_LIMIT, j, side});
  }
  for (int t = 0; t < m->ntendon; t++)
    for (int side = 0; side < 2 && m->ten_limited[t]; side++) try_limit(k, &(tgiWho){TG_ROW_LIMIT, t, 2 + side});
}

// ---- contacts ----

void tgi_event_list_closed(tgSim *s) {
  tgiEvents *e = tgi_events(s);
  double clearance = tgRe(s->clearance);
  e->nclosed = 0;
  for (int i = 0; i < s->ncon; i++) {
    const tgContactRow *c = &s->contact[i];
    double gap = tgRe(c->gap);
    bool held = c->row >= 0 && tgi_row_is_held(s, c->row);
    if (!sinks(gap, clearance, held)) continue;
    e->rests[e->nclosed] = held;
    e->closed[e->nclosed++] = (tgiClosed){c->pair, c->feature, level_share(gap, clearance) * clearance};
  }
}

// gap and rate of who at t of the path, of a contact by what its two geoms are placed by alone
static bool gap_at(tgSim *s, const tgiFlight *path, tgReal t, const tgiWho *who, double share, LimitSearch *k, tgReal *gap, tgReal *rate) {
  if (who->kind == TG_ROW_NORMAL) tgi_flight_pair(&s->m, path, t, who->owner, k->w, k->x, &s->trial, k->u);
  else tgi_flight_pose(&s->m, path, t, k->w, k->q, &s->trial, k->u);
  return tgi_who_gap(s, &s->trial, k->u, who, share, gap, rate);
}

// The root of the gap near t, in all that the numbers carry; false: it is lost, or is not listed there. enough: a share of the path, up to
// which the first step need not be followed by another.
static bool polish(tgSim *s, const tgiFlight *path, const tgiMeeting *m, double enough, LimitSearch *k, tgReal *t, double *speed) {
  enum { ROUNDS = 6 };
  tgReal gap, rate;
  double clearance = tgRe(m->who.kind == TG_ROW_NORMAL ? s->clearance : s->limit_clearance), before = INFINITY;
  bool once = false;
  for (int i = 0;; i++) {
    if (!gap_at(s, path, *t, &m->who, m->share, k, &gap, &rate) || !(tgRe(rate) < 0)) return false;
    if (i == ROUNDS) break;
    double change = fabs(tgRe(gap / rate));
    *t -= gap / rate;
    once = i == 0 && change <= enough * tgRe(path->s);
    if (once || tgi_root_stays(change, before, tgRe(path->s))) break;
    before = change;
  }
  *speed = tgRe(rate);
  return (once || fabs(tgRe(gap)) < 0.5 * TGI_CLOSED * clearance) && tgRe(*t) < tgRe(path->s) && tgRe(*t) > -1e-3 * tgRe(path->s);
}

// A contact that is first listed when it has come nearer than bodies meet, or changes as it does: it meets there and then.
static bool meets_as_found(tgSim *s, const tgiFlight *path, const tgiWho *who, LimitSearch *k, tgReal t, double *share) {
  tgReal gap, rate;
  if (who->kind != TG_ROW_NORMAL || !gap_at(s, path, t, who, 0, k, &gap, &rate)) return false;
  *share = tgRe(gap) / tgRe(s->clearance);
  if (!(*share > 0 && *share <= 1 + TGI_CLOSED && tgRe(rate) < 0)) return false;
  tgi_rows_edge(s, "a contact that appears as it meets", -1);
  return true;
}

// *t of what the search has found: the root next to it, but for what the numbers carry, as nothing was looked for beyond it. The search
// has come to it by Newton's steps: one more is exact.
static bool meets_at(tgSim *s, const tgiFlight *path, const tgiWho *who, LimitSearch *k, double *share, tgReal *t) {
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

static bool take(tgSim *s, LimitSearch *k) {
  k->w = tgi_stack_real(s, (size_t)s->m.nv + 1);
  k->u = tgi_stack_real(s, (size_t)s->m.nv + 1);
  k->x = tgi_stack_real(s, (size_t)s->m.nv + 1);
  k->q = tgi_stack_real(s, (size_t)s->m.nq + 1);
  return k->w != NULL && k->u != NULL && k->x != NULL && k->q != NULL;
}

tgStatus tgi_event_polish(tgSim *s, const tgiFlight *path, double enough, tgiMeeting *m, bool *meets) {
  size_t mark = tgi_stack_mark(s);
  LimitSearch k = {.s = s, .path = path};
  if (!take(s, &k)) return tgi_no_room(s, "pieces");
  *meets = polish(s, path, m, enough, &k, &m->t, &m->rate);
  tgi_stack_free(s, mark);
  return TG_OK;
}

tgStatus tgi_event_search(tgSim *s, const tgiFlight *path, const tgiMeeting *known, tgiMeeting *m, tgiMet *met) {
  tgiEvents *e = tgi_events(s);
  size_t mark = tgi_stack_mark(s);
  double end = tgRe(path->s);
  LimitSearch k = {.s = s, .path = path, .t = end * (1 - 1e-12)};
  tgiFirst f = {.meet = tgRe(s->clearance), .closed = e->closed};
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
  first_limit(&k);
  bool limit = k.who.kind == TG_ROW_LIMIT && k.t < end * (1 - 1e-12) && k.t < f.t;
  *met = TGI_MET;
  m->t = limit ? k.t : f.t;
  if (limit) {
    m->who = k.who;
    m->share = k.share;
    if (k.held) *met = TGI_MET_HELD;
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
    bool meets = limit || f.settled ? meets_at(s, path, &m->who, &k, &m->share, &m->t)
                                    : meets_as_found(s, path, &m->who, &k, m->t, &m->share);
    if (!meets) *met = TGI_MET_UNKNOWN;
  }
  tgi_stack_free(s, mark);
  return TG_OK;
}

tgStatus tgi_event_meets_now(tgSim *s, const tgiFlight *path, tgiMeeting *m) {
  size_t mark = tgi_stack_mark(s);
  LimitSearch k = {.s = s, .path = path};
  if (!take(s, &k)) return tgi_no_room(s, "pieces");
  m->t = 0;
  m->share = 1;
  meets_at(s, path, &m->who, &k, &m->share, &m->t);
  tgi_stack_free(s, mark);
  return TG_OK;
}
