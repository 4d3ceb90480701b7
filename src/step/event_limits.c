// event_limits.c: the first limit that a flow comes to, see event.h.
//
// Of hinges, slides and fixed tendons the gap is a quadratic of the time; a ball joint's angle is let go by bounds on its rate and on its
// second derivative, and so is the length of a spatial tendon, whose third has one too (coll/flight_strands.h).
#include "coll/flight_strands.h"
#include "contact/rows.h"
#include "dyn/dynamics.h"
#include "kin/kinematics.h"
#include "step/event.h"
#include "step/step.h"

void tgi_limit_gap(const tgSim *s, const tgPose *pose, const tgReal *u, const tgiWho *who, tgReal *gap, tgReal *rate) {
  const tgModel *m = &s->m;
  tgReal v, axis[3];
  *gap = tgi_limit_inside(s, pose, who->owner, who->part, axis);
  if (who->part >= 2) v = tgi_tendon_speed(s, pose, who->owner, u);
  else if (m->jnt_type[who->owner] == TG_JOINT_BALL) v = tgi_v3_dot(axis, u + m->jnt_vadr[who->owner]);
  else v = u[m->jnt_vadr[who->owner]];
  *rate = who->part % 2 == 1 ? -v : v;
}

double tgi_level_share(double gap, double clearance) {
  double share = 0.5;
  while (share > tgi_least_level && gap <= 1.5 * share * clearance) share /= 2;
  return share;
}

bool tgi_sinks(double gap, double clearance, bool held) { return held || gap < (1 - TGI_CLOSED) * clearance; }

enum { LOOKS = 2000 };

typedef struct Search {
  tgSim *s;
  const tgiFlight *path;
  tgReal *w, *u, *q;                 // scratch: nv, nv, nq
  double *d0, *d1, *slope, *past;    // of a stretch, nv each
  tgiLimitMet *met;
} Search;

static void limit_at(const Search *k, const tgiWho *who, double t, double *gap, double *rate) {
  tgSim *s = k->s;
  tgReal g, r;
  if (t != 0) tgi_flight_pose(&s->m, k->path, t, k->w, k->q, &s->trial, k->u);
  tgi_limit_gap(s, t != 0 ? &s->trial : &s->start, t != 0 ? k->u : k->path->v0, who, &g, &r);
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

// ---- ball joints ----

// Bounds on how a ball joint turns along the path: speed and acceleration.
typedef struct Turning { double speed, acceleration; } Turning;

static Turning turning_of(const Search *k, int d) {
  double length = tgRe(k->path->s), bend = 0;
  Turning b = {0, 0};
  for (int e = 0; e < 2; e++) {
    const tgReal *v = (e == 0 ? k->path->v0 : k->path->v1) + d;
    b.speed = fmax(b.speed, tgRe(tgi_v3_norm(v)));
  }
  for (int i = 0; i < 3; i++) bend += pow((tgRe(k->path->v1[d + i]) - tgRe(k->path->v0[d + i])) / length, 2);
  b.acceleration = sqrt(bend) + b.speed * length * b.speed * b.speed / 6;
  return b;
}

// How long the angle stays below its level, from where it is that far below it and has that rate: it changes by no more than the joint
// turns and, for as long as half of it is left, bends by no more than what drives it and what turns its axis [math/toi First contact].
static double turns_for(const Turning *b, double angle, double below, double rate) {
  double sure = below / b->speed, half = 0.5 * angle / b->speed;
  if (half <= sure) return sure;
  double bend = b->acceleration + b->speed * b->speed * 0.5 / tan(0.25 * angle);
  return fmax(sure, fmin(comes_down(below, -rate, -0.5 * bend, INFINITY), half));
}

static double ball_time(const Search *k, const tgiWho *who, double level, double end) {
  static const double rounds = 1e-13;
  Turning b = turning_of(k, k->s->m.jnt_vadr[who->owner]);
  double t = 0, range = tgRe(k->s->m.jnt_range[2 * who->owner + 1]);
  if (b.speed == 0) return INFINITY;
  for (int i = 0; i < LOOKS && t < end; i++) {
    double gap, rate;
    limit_at(k, who, t, &gap, &rate);
    if (gap - level <= rounds && rate < 0) return t;
    t += turns_for(&b, range - gap, fmax(gap - level, rounds), -rate);
  }
  return t < end ? t : INFINITY;
}

static double scalar_time(const Search *k, const tgiWho *who, double above, double end) {
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

// ---- spatial tendons ----

// the rest of the path from t on, of which limit_at has been last
static tgiStretch stretch_from(const Search *k, double t) {
  tgSim *s = k->s;
  double length = tgRe(k->path->s);
  for (int d = 0; d < s->m.nv; d++) {
    double v0 = tgRe(k->path->v0[d]);
    k->d1[d] = tgRe(k->path->v1[d]);
    k->slope[d] = (k->d1[d] - v0) / length;
    k->d0[d] = v0 + t * k->slope[d];
    k->past[d] = t != 0 ? tgRe(k->w[d]) : 0;
  }
  return (tgiStretch){&s->m, t != 0 ? &s->trial : &s->start, k->d0, k->d1, k->slope, k->past, length - t};
}

// share of the clearance within which a length has come to the end of its range
static const double arrived = 1e-4;

// The root of the gap near t, where it closes, is no later than nothing moves by `near` in, and no earlier than the path; else INFINITY.
// What has come to its level is as far below it as rounding goes: its root is before t.
static double root_near(const Search *k, const tgiWho *who, double level, double t, double fastest, double near) {
  enum { ROUNDS = 6 };
  double at = t, before = INFINITY, gap, rate, clearance = tgRe(tgi_who_clearance(k->s, who));
  for (int i = 0; i < ROUNDS; i++) {
    limit_at(k, who, at, &gap, &rate);
    if (!(rate < 0)) return INFINITY;
    double change = (gap - level) / rate;
    at -= change;
    if (!(at >= 0) || (at - t) * fastest > near) return INFINITY;
    if (tgi_root_stays(fabs(change), before, tgRe(k->path->s))) return at;
    before = fabs(change);
  }
  limit_at(k, who, at, &gap, &rate);
  return fabs(gap - level) <= arrived * clearance ? at : INFINITY;
}

// How long the length stays above the level, from where it has that gap above it and that rate.
static double stays(const tgiStrandsBound *b, bool upper, double above, double rate, double still) {
  double bent = comes_down(above, rate, -0.5 * (upper ? b->longer : b->shorter), INFINITY);
  return fmax(fmax(fmin(bent, b->span), above / b->rate), still / b->rate);
}

// How far the next look is to be: where the gap is above the level there, it is all the way [math/toi First contact].
static double next_look(const tgiStrandsBound *b, double above, double rate) {
  double far = cbrt(6 * above / b->jerk);
  return fmin(rate < 0 ? fmin(far, -above / rate) : far, b->span);
}

static double strands_time(const Search *k, const tgiWho *who, double level, double end) {
  double t = 0, gap, rate, clearance = tgRe(tgi_who_clearance(k->s, who)), still = clearance * tgi_least_level / 8;
  limit_at(k, who, t, &gap, &rate);
  for (int i = 0; i < LOOKS && t < end; i++) {
    tgiStretch rest = stretch_from(k, t);
    tgiStrandsBound b = tgi_strands_bound(&rest, who->owner);
    if (!(b.rate > 0)) return INFINITY;
    if (gap - level <= arrived * clearance && rate < 0) {
      double root = root_near(k, who, level, t, b.rate, 0.01 * clearance);
      if (root < INFINITY) return root < end ? root : INFINITY;
      if (gap <= level) return t;
    }
    double above = fmax(gap - level, 0), clear = stays(&b, who->part % 2 == 1, above, rate, still), far = next_look(&b, above, rate);
    if (far > 1.5 * clear && clear < end - t) {
      far = fmin(far, end - t);
      limit_at(k, who, t + far, &gap, &rate);
      if (gap >= level) {
        t += far;
        continue;
      }
    }
    t += clear;
    if (t < end) limit_at(k, who, t, &gap, &rate);
  }
  return t < end ? t : INFINITY;
}

// ---- all of them ----

// one side of one limit
static void try_limit(Search *k, const tgiWho *who) {
  const tgSim *s = k->s;
  double clearance = tgRe(tgi_who_clearance(s, who)), gap, rate, share = 1, t;
  limit_at(k, who, 0, &gap, &rate);
  bool held = tgi_is_held(s, tgi_constraint_name(who->kind, who->owner, who->part)), closed = tgi_sinks(gap, clearance, held);
  if (closed) share = tgi_level_share(gap, clearance);
  double above = gap - share * clearance;
  if (closed && !(above > 0)) return;   // beyond it: what pushes back is the flow's
  if (who->part < 2 && s->m.jnt_type[who->owner] == TG_JOINT_BALL) t = ball_time(k, who, share * clearance, k->met->t);
  else if (who->part >= 2 && tgi_is_spatial(&s->m, who->owner)) t = strands_time(k, who, share * clearance, k->met->t);
  else t = scalar_time(k, who, above, k->met->t);
  if (t < k->met->t) *k->met = (tgiLimitMet){true, held, t, share, *who};
}

static bool take(tgSim *s, Search *k) {
  size_t nv = (size_t)s->m.nv + 1;
  k->w = tgi_stack_real(s, nv);
  k->u = tgi_stack_real(s, nv);
  k->q = tgi_stack_real(s, (size_t)s->m.nq + 1);
  k->d0 = tgi_stack_bytes(s, 4 * nv * sizeof *k->d0);
  if (k->w == NULL || k->u == NULL || k->q == NULL || k->d0 == NULL) return false;
  k->d1 = k->d0 + nv;
  k->slope = k->d1 + nv;
  k->past = k->slope + nv;
  return true;
}

tgStatus tgi_first_limit(tgSim *s, const tgiFlight *path, double end, tgiLimitMet *met) {
  const tgModel *m = &s->m;
  size_t mark = tgi_stack_mark(s);
  Search k = {.s = s, .path = path, .met = met};
  *met = (tgiLimitMet){.t = end};
  if (!take(s, &k)) return tgi_no_room(s, "search for limits");
  for (int j = 0; j < m->njnt; j++) {
    if (!m->jnt_limited[j] || m->jnt_type[j] == TG_JOINT_FREE) continue;
    for (int side = m->jnt_type[j] == TG_JOINT_BALL ? 1 : 0; side < 2; side++) try_limit(&k, &(tgiWho){TG_ROW_LIMIT, j, side});
  }
  for (int t = 0; t < m->ntendon; t++)
    for (int side = 0; side < 2 && m->ten_limited[t]; side++) try_limit(&k, &(tgiWho){TG_ROW_LIMIT, t, 2 + side});
  tgi_stack_free(s, mark);
  return TG_OK;
}
