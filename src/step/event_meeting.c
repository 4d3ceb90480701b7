// event_meeting.c: the flow whose length is the time at which it meets. See event.h.
//
// Based on: [math/toi The time of a meeting]. A flow of length s has the forces of its own middle and meets at t(s). Where it meets at
// t < s its forces are of a pose that it never comes to, so the flow is solved for anew with s = t, until t(s) = s. t changes little with
// s, by the rate of the forces alone, or much, where errors are put right; rounds are those of a secant of one contact's t(s), kept between
// lengths with t > s and t < s. Where that contact is lost or not the first, lengths are halved between one that meets nothing and one that
// does.
#include <math.h>

#include "coll/flight_bound.h"
#include "step/event.h"
#include "step/step.h"

// Rounds at most; other contacts that a path may turn out to meet first. In the complex build rounds go on after t is there: what it
// carries comes by the same factors, but one round later, and all the way where t(s) = s by chance. Paths at most that are looked along
// for what else meets at the end of its flow, and shorter ones in a row of which the meeting is no later a share.
enum { ROUNDS = 24, OTHERS = 4, PROBES = 10, FALLS = 2 };
#ifdef TG_COMPLEX
enum { ROUNDS_AT_LEAST = 5, ROUNDS_MORE = 3 };
#else
enum { ROUNDS_AT_LEAST = 1, ROUNDS_MORE = 0 };
#endif

// Share of the length by which a path goes on beyond it, to be looked along for what meets there.
static const double beyond = 1.0 / 16;
// A gap that is what rounding makes of one between bodies a metre away [m or rad].
static const double no_gap = 0x1p-52;
// Share of the path up to which one step of Newton's tells t(s) well enough for the next round: what it leaves is of the square of that.
static const double one_step = 1e-6;
// Share of the length below which no flow that meets at its end is looked for: what is held is put where it belongs in no time there.
static const double least_length = 0x1p-10;
// Share of the length by which another contact may come before: meeting at the same time but for rounding, far less than any gap.
static const double same_time = 1e-11;

// the path of the flow in the sim, and some more of the same parabola behind its end
static tgiFlight longer_path(tgSim *s, tgReal length) {
  tgiEvents *e = tgi_events(s);
  tgiFlight path = tgi_piece_path(s, e->n, length);
  for (int d = 0; d < s->m.nv; d++) e->to[d] += beyond * (e->to[d] - e->from[d]);
  path.s += beyond * length;
  return path;
}

// The search for t(s) = s of one contact.
typedef struct Rounds {
  tgReal s, t;           // of the round before
  tgReal guess;          // of the next t
  double slope, off;     // dt/ds by the two rounds before; |t - s|
  double low, high;      // t > s at low, t < s at high
  double above, below;   // by so much; 0: not known
  bool clear;            // the flow of low meets nothing, though it is not known when it would
  int side;              // of the two ends that of the round before: 1 low, -1 high
  int done, own, stays;  // rounds; in which t(s) = s was true; in which what is left did not shrink, all together
} Rounds;

// What is left no longer shrinks, and is rounding: a gap of that, or one that stays however its root is gone about.
static bool no_longer_shrinks(Rounds *r, double off, double at, double rate) {
  enum { STAYS = 3 };
  if (!(off <= 1e-6 * at && off >= 0.5 * r->off)) return false;
  return ++r->stays >= STAYS || fabs(off * rate) <= 32 * no_gap || r->high - r->low <= 1e-13 * at;
}

// The flow of `at` in the sim meets at t, where the gap has that rate. True: that is its own length, as far as numbers tell, of which a
// short flow has fewer: its gap is 0 at its end but for rounding, or what is left no longer shrinks, and is nothing beside `closed`.
static bool is_own(Rounds *r, double at, double t, double rate, double closed) {
  double off = fabs(t - at);
  r->done++;
  if (!(fabs(off * rate) < closed)) return false;
  if (off <= 1e-13 * at || fabs(off * rate) <= no_gap || no_longer_shrinks(r, off, at, rate)) r->own++;
  return r->done >= ROUNDS_AT_LEAST && r->own > ROUNDS_MORE;
}

// The flow of `at` meets at t: what the root is between. An end that stays weighs less from round to round.
static void narrow(Rounds *r, double at, double t) {
  bool later = t > at;
  if (later) {
    if (r->side > 0) r->below *= 0.5;
    r->low = at;
    r->above = fmin(t - at, at);
  } else {
    if (r->side < 0) r->above *= 0.5;
    r->high = at;
    r->below = at - t;
  }
  r->side = later ? 1 : -1;
}

// between the two ends, by the chord where both are known
static double between(const Rounds *r) {
  double share = r->above > 0 && r->below > 0 ? r->above / (r->above + r->below) : 0.5;
  return r->low + share * (r->high - r->low);
}

static bool is_between(const Rounds *r, double at) { return at > r->low && at < r->high; }

// The next length, from the flow of `at`, which meets at t: by the secant, where that stays between what the root is between. Once
// t(s) = s is true its value stays, and what the numbers carry besides is gone on with: a gap that closes next to not at all turns the
// rounding of a value into much of that. An end again: nothing tells of a root between them.
static tgReal next_length(Rounds *r, tgReal at, tgReal t) {
  double change = tgRe(at - r->s);
  if (fabs(change) > 1e-7 * tgRe(at)) r->slope = tgRe(t - r->t) / change;
  r->s = at;
  r->t = t;
  r->off = fabs(tgRe(t - at));
  tgReal next = r->guess = r->slope != 1 ? at + (t - at) / (1 - r->slope) : at;
  if (r->own > 0) return r->guess = tgRe(at) + (next - tgRe(next));
  narrow(r, tgRe(at), tgRe(t));
  if (is_between(r, tgRe(next))) return next;
  if (r->above == 0 && !r->clear) return at;
  next = between(r) + (next - tgRe(next));
  r->guess = t + r->slope * (next - at);
  if (!(tgRe(r->guess) > 0 && tgRe(r->guess) < (1 + beyond) * tgRe(next))) r->guess = next;
  return next;
}

// No length is left between the two ends, or t jumps past s there.
static bool has_none(const Rounds *r, double at) {
  return r->own == 0 && (!is_between(r, at) || (r->high - r->low <= 1e-9 * at && r->off > 1e-6 * at));
}

// Lengths between which one is that of a flow that meets at its end.
typedef struct Bracket {
  double low, high;     // the flow of `low` meets nothing in its time, that of `high` does
  bool clear;           // low is known to; else no shorter flow is of use
  double share;         // of its length at which the whole flow meets, or the last shorter one of those that were looked along
  int falls;            // so many of those in a row met at no larger a share than the one before
  tgReal last;          // length of the flow in the sim; 0: it is of no more use
  int nedge;            // counted before the first flow was made
  int noted;            // edges that the search has noted of what is followed
} Bracket;

// the flow of that length, as if those before had not been
static tgStatus make_flow(tgSim *s, tgReal length, Bracket *b) {
  s->nedge = b->nedge + b->noted;
  b->last = length;
  TG_TRY_OUTCOME(tgi_sim_iterates(s, "step between impacts"));
  return tgi_impulse_try_flow(s, length, &tgi_events(s)->last);
}

// The flow of `from` meets at m->t: of which length does one meet the same at its end? *own: that; found: there is one within the bracket,
// and it is in the sim.
static tgStatus solve(tgSim *s, Bracket *b, tgReal from, tgiMeeting *m, tgReal *own, bool *found) {
  Rounds r = {.s = from, .t = m->t, .guess = m->t, .off = INFINITY, .low = b->low, .high = b->high, .clear = b->clear};
  double closed = 0.5 * TGI_CLOSED * tgRe(tgi_who_clearance(s, &m->who));
  *found = false;
  narrow(&r, tgRe(from), tgRe(m->t));
  tgReal at = m->t;
  if (!is_between(&r, tgRe(at)) && b->clear) at = between(&r) + (at - tgRe(at));
  while (r.done < ROUNDS + (r.own > 0 ? ROUNDS_MORE : 0) && !has_none(&r, tgRe(at))) {
    bool meets;
    tgStatus status = make_flow(s, at, b);
    if (status != TG_OK) return status;
    tgiFlight path = longer_path(s, at);
    m->t = r.guess;
    m->rate = 0;
    TG_TRY(tgi_event_polish(s, &path, one_step, m, &meets));
    bool later = !meets && m->rate < 0 && tgRe(m->t) >= tgRe(path.s);   // the root is there, beyond that path
    if (!meets && !later) return TG_OK;
    *own = at;
    *found = meets && is_own(&r, tgRe(at), tgRe(m->t), m->rate, closed);
    if (*found) return TG_OK;
    at = next_length(&r, at, m->t);
  }
  b->last = 0;
  return TG_OK;
}

// A path in real numbers: its rate at the start, and how that changes (nv).
typedef struct Course { double *from, *bend; } Course;

static bool take_course(tgSim *s, Course *c) {
  c->from = tgi_stack_bytes(s, (2 * (size_t)s->m.nv + 1) * sizeof *c->from);
  c->bend = c->from + s->m.nv;
  return c->from != NULL;
}

// of the path that is in from and to of what the stepper keeps
static void note_course(const tgSim *s, double length, Course *c) {
  const tgiEvents *e = tgi_events(s);
  for (int d = 0; d < s->m.nv; d++) {
    c->from[d] = tgRe(e->from[d]);
    c->bend[d] = (tgRe(e->to[d]) - tgRe(e->from[d])) / length;
  }
}

// Ends of ranges are come to at the same times, but for what is nothing beside their clearance, on two paths of which no joint's coordinate
// is farther apart than that. Of tendons' ranges nothing is said.
static bool same_limits(const tgSim *s, const double *apart) {
  const tgModel *m = &s->m;
  double nothing = tgRe(s->limit_clearance) * tgi_least_level / 8;
  for (int t = 0; t < m->ntendon; t++)
    if (m->ten_limited[t]) return false;
  for (int j = 0; j < m->njnt; j++) {
    double sum = 0;
    if (!m->jnt_limited[j] || m->jnt_type[j] == TG_JOINT_FREE) continue;
    for (int d = m->jnt_vadr[j]; d < m->nv && m->dof_jnt[d] == j; d++) sum += apart[d];
    if (!(sum <= nothing)) return false;
  }
  return true;
}

// No two points are nearer on the one path than on the other, up to t, by more than is nothing beside the least level, and no joint is
// nearer to an end of its range. By a bound on speeds (coll/flight_bound.h): of the way there, and from the one path to the other at
// levers that are no longer than they get on that way.
static bool is_same_course(tgSim *s, const Course *a, const Course *b, double t) {
  const tgModel *m = &s->m;
  size_t mark = tgi_stack_mark(s), nv = (size_t)m->nv;
  double *rate = tgi_stack_bytes(s, (3 * nv + 1) * sizeof *rate), *apart = rate + nv, *none = rate + 2 * nv, most = 0;
  if (rate == NULL) return false;
  for (size_t d = 0; d < nv; d++) {
    rate[d] = t * fmax(fabs(a->from[d]), fabs(a->from[d] + t * a->bend[d]));
    apart[d] = t * fabs(b->from[d] - a->from[d]) + 0.5 * t * t * fabs(b->bend[d] - a->bend[d]);
    none[d] = 0;
  }
  bool same = same_limits(s, apart);
  for (int g = 0; g < m->ngeom && same; g++) {
    double c[3], r = tgRe(s->geom_bound[g]);
    int body = m->geom_body[g];
    if (m->body_lastdof[body] < 0) continue;
    same = m->geom_type[g] != TG_GEOM_PLANE;   // which has no end: its points may be anywhere
    tgi_geom_centre(&s->start, g, c);
    tgiStretch way = {m, &s->start, rate, rate, none, none, 1}, across = {m, &s->start, apart, apart, none, none, 1};
    double moves = tgi_stretch_speeds(&way, body, -1, c, r).speed;
    most = fmax(most, tgi_stretch_speeds(&across, body, -1, c, r + 2 * moves).speed);
  }
  tgi_stack_free(s, mark);
  return same && 2 * most <= tgi_stillness(s);
}

// A search for the flow that meets at its end.
typedef struct Meeting {
  Course looked, bent;  // the path of the whole flow, clear up to t; of the one made last
  double t;
  Bracket b;
  bool first;           // the contact that the whole flow meets is followed
  tgiMet ends;          // nothing is found: something held sinks, or a search ends early; TGI_MET_NOTHING: neither has been so
} Meeting;

// The search along the path of the flow in the sim. What it notes of m as an edge (tgi_rows_edge) is noted of all flows that follow m.
static tgStatus search_along(tgSim *s, Bracket *b, const tgiFlight *path, const tgiMeeting *known, tgiMeeting *m, tgiMet *met) {
  int made = s->nedge;
  s->nedge = b->nedge;
  TG_TRY(tgi_event_search(s, path, known, m, met));
  b->noted = s->nedge - b->nedge;
  s->nedge = made + b->noted;
  return TG_OK;
}

// The flow of `from` meets m first, as far as is known: *own, the length of a flow that meets m, or what turns out to be before it, at its
// end and nothing before, if *found; it is in the sim.
static tgStatus follow(tgSim *s, Meeting *k, tgReal from, tgiMeeting *m, tgReal *own, bool *found) {
  for (int i = 0; i < OTHERS; i++) {
    tgiMeeting first;
    tgiMet met;
    tgStatus status = solve(s, &k->b, from, m, own, found);
    if (status != TG_OK || !*found) return status;
    tgiFlight path = longer_path(s, *own);
    note_course(s, tgRe(path.s), &k->bent);
    bool same = k->first && i == 0 && fabs(tgRe(m->t) - k->t) * tgi_events(s)->fastest <= tgi_stillness(s);
    if (same && is_same_course(s, &k->looked, &k->bent, tgRe(m->t))) return TG_OK;   // nothing is before it there either
    TG_TRY(search_along(s, &k->b, &path, m, &first, &met));
    if (met == TGI_MET_NOTHING || tgRe(first.t) >= tgRe(m->t) * (1 - same_time)) return TG_OK;
    *found = false;
    *m = first;   // the bent path comes to another one before
    if (met != TGI_MET) {
      k->ends = met;
      return TG_OK;
    }
    k->b.high = tgRe(*own);
    from = *own;
  }
  return TG_OK;
}

// The flow in the sim is looked along: the bracket is narrowed by it, and *m is what it meets first, if *any.
static tgStatus look_along(tgSim *s, Meeting *k, tgiMeeting *m, bool *any) {
  tgiFlight path = longer_path(s, k->b.last);
  tgiMet met;
  TG_TRY(search_along(s, &k->b, &path, NULL, m, &met));
  double last = tgRe(k->b.last), share = met != TGI_MET_NOTHING ? tgRe(m->t) / last : INFINITY;
  *any = met == TGI_MET;
  if (!*any && share <= 1) k->ends = met;
  if (share <= 1) {
    k->b.falls = share <= k->b.share ? k->b.falls + 1 : 0;
    k->b.high = fmin(k->b.high, last);
    k->b.share = share;
  } else {
    k->b.low = fmax(k->b.low, last);
    k->b.clear = true;
  }
  return TG_OK;
}

tgStatus tgi_event_meeting(tgSim *s, tgReal length, tgiMeeting *m, tgReal *own, tgiMet *met) {
  size_t mark = tgi_stack_mark(s);
  bool found = false;
  Meeting k = {.t = tgRe(m->t), .first = true, .ends = TGI_MET_NOTHING};
  k.b = (Bracket){.high = tgRe(length), .share = tgRe(m->t / length), .last = length, .nedge = s->nedge};
  k.b.low = least_length * tgRe(length);
  if (!take_course(s, &k.looked) || !take_course(s, &k.bent)) return tgi_no_room(s, "pieces");
  note_course(s, tgRe(length), &k.looked);
  tgStatus status = follow(s, &k, length, m, own, &found);
  // What was followed may not be there on the path of another length, or not first. The time of the first meeting on each path goes
  // evenly with the length, and is above it where that is short.
  k.first = false;
  for (int i = 0; i < PROBES && status == TG_OK && !found && k.ends == TGI_MET_NOTHING && k.b.falls < FALLS; i++) {
    bool any;
    if (!(tgRe(k.b.last) > k.b.low && tgRe(k.b.last) < k.b.high)) status = make_flow(s, 0.5 * (k.b.low + k.b.high), &k.b);
    if (status != TG_OK) break;
    TG_TRY(look_along(s, &k, m, &any));
    if (any) status = follow(s, &k, k.b.last, m, own, &found);
  }
  if (!found) s->nedge = k.b.nedge;
  *met = found ? TGI_MET : k.ends;
  tgi_stack_free(s, mark);
  return status;
}
