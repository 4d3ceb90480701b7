// event_meeting.c: the flow whose length is the time at which it meets. See event.h.
//
// Based on: [math/toi The time of a meeting]. A flow of length s has the forces of its own middle and meets at t(s). Where it meets at
// t < s its forces are of a pose that it never comes to, so the flow is solved for anew with s = t, until t(s) = s. t changes little with
// s, by the rate of the forces alone, and rounds are those of a secant.
#include <math.h>

#include "step/event.h"

// Rounds at most; other contacts that a path may turn out to meet first. In the complex build rounds go on after t is there: what it
// carries comes by the same factors, but one round later, and all the way where t(s) = s by chance.
enum { ROUNDS = 24, OTHERS = 4 };
#ifdef TG_COMPLEX
enum { ROUNDS_AT_LEAST = 5, ROUNDS_MORE = 3 };
#else
enum { ROUNDS_AT_LEAST = 1, ROUNDS_MORE = 0 };
#endif

// Share of the length by which a path goes on beyond it, to be looked along for what meets there.
static const double beyond = 1.0 / 16;
// A gap that is nothing beside what rounding makes of one between bodies a metre away [m or rad].
static const double no_gap = 1e-16;
// Share of the path up to which one step of Newton's tells t(s) well enough for the next round: what it leaves is of the square of that.
static const double one_step = 1e-6;
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

// The search for t(s) = s: the round before, the slope dt/ds by it, and how often t(s) = s has been true.
typedef struct Rounds { tgReal s, t; double slope, off; int done, own; } Rounds;

// The flow of `at` in the sim meets at t, where the gap has that rate. True: that is its own length, as far as numbers tell, of which a
// short flow has fewer: its gap is 0 at its end but for rounding, or what is left no longer shrinks, and is nothing beside `closed`.
static bool is_own(Rounds *r, double at, double t, double rate, double closed) {
  double off = fabs(t - at);
  r->done++;
  if (!(fabs(off * rate) < closed)) return false;
  if (off <= 1e-13 * at || fabs(off * rate) <= no_gap || (off <= 1e-6 * at && off >= 0.5 * r->off)) r->own++;
  return r->done >= ROUNDS_AT_LEAST && r->own > ROUNDS_MORE;
}

// the next length, from the flow of `at`, which meets at t
static tgReal next_length(Rounds *r, tgReal at, tgReal t) {
  double change = tgRe(at - r->s);
  if (fabs(change) > 1e-7 * tgRe(at)) r->slope = fmax(-4, fmin(0.9, tgRe(t - r->t) / change));
  r->s = at;
  r->t = t;
  r->off = fabs(tgRe(t - at));
  return at + (t - at) / (1 - r->slope);
}

// The flow of `from` meets at m->t: of which length does one meet at its end, of `most` at most? *own: that; found: there is one, and it is
// in the sim.
static tgStatus solve(tgSim *s, double most, tgReal from, tgiMeeting *m, tgReal *own, bool *found) {
  Rounds r = {.s = from, .t = m->t, .off = INFINITY};
  tgReal at = m->t;
  int nedge = s->nedge, ncut = s->info.ncut;
  double closed = 0.5 * TGI_CLOSED * tgRe(tgi_who_clearance(s, &m->who));
  *found = false;
  while (r.done < ROUNDS) {
    bool meets;
    if (!(tgRe(at) > 0 && tgRe(at) <= most)) return TG_OK;
    s->nedge = nedge;   // as if the flow before had not been
    s->info.ncut = ncut;
    TG_TRY_OUTCOME(tgi_sim_iterates(s, "step between impacts"));
    tgStatus status = tgi_impulse_held_flow(s, at, NULL, &tgi_events(s)->last);
    if (status != TG_OK) return status;
    tgiFlight path = longer_path(s, at);
    m->t = at;
    TG_TRY(tgi_event_polish(s, &path, one_step, m, &meets));
    if (!meets) return TG_OK;
    *own = at;
    *found = is_own(&r, tgRe(at), tgRe(m->t), m->rate, closed);
    if (*found) return TG_OK;
    at = next_length(&r, at, m->t);
  }
  return TG_OK;
}

tgStatus tgi_event_meeting(tgSim *s, tgReal length, tgiMeeting *m, tgReal *own, bool *found) {
  tgReal from = length;
  *found = false;
  for (int i = 0; i < OTHERS; i++) {
    tgiMeeting first;
    tgiMet met;
    tgStatus status = solve(s, tgRe(length), from, m, own, found);
    if (status != TG_OK || !*found) return status;
    tgiFlight path = longer_path(s, *own);
    TG_TRY(tgi_event_search(s, &path, m, &first, &met));
    if (met == TGI_MET_NOTHING || tgRe(first.t) >= tgRe(m->t) * (1 - same_time)) return TG_OK;
    *found = false;
    if (met != TGI_MET) return TG_OK;
    *m = first;   // the bent path comes to another one before
    from = *own;
  }
  return TG_OK;
}
