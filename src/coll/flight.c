// flight.c: see flight.h. The pair that is shown clear for the shortest time is looked at next, at the end of that time.
#include "coll/flight.h"

#include <string.h>

#include "coll/broad.h"
#include "coll/contacts.h"
#include "coll/features/pair.h"
#include "coll/flight_bound.h"
#include "kin/kinematics.h"
#include "math/d3.h"

static void dof_at(const tgiFlight *f, tgReal t, int d, tgReal *w, tgReal *u) {
  tgReal tau = t / f->s, change = f->v1[d] - f->v0[d];
  w[d] = t * (f->v0[d] + 0.5 * tau * change);
  u[d] = f->v0[d] + tau * change;
}

void tgi_flight_at(const tgModel *m, const tgiFlight *f, tgReal t, tgReal *w, tgReal *u) {
  for (int d = 0; d < m->nv; d++) dof_at(f, t, d, w, u);
}

void tgi_flight_pose(const tgModel *m, const tgiFlight *f, tgReal t, tgReal *w, tgReal *q, tgPose *pose, tgReal *u) {
  tgi_flight_at(m, f, t, w, q);   // q: the rate, for a moment; nq >= nv
  tgi_integrate_jacobian(m, w, 1, NULL, q, u);
  tg_model_integrate(m, f->q, w, q);
  tgi_kinematics(m, q, pose);
}

// the lowest body on the way of both
static int common_body(const tgModel *m, int body1, int body2) {
  while (body1 != body2)
    if (body1 > body2) body1 = m->body_parent[body1];
    else body2 = m->body_parent[body2];
  return body1;
}

// The pose of geom g at t where body `below`, on its way, is in its place: its joints from there on, their rates, and its frames.
static void place_geom(const tgModel *m, const tgiFlight *f, tgReal t, int g, int below, tgReal *w, tgReal *x, tgPose *pose, tgReal *u) {
  for (int d = m->body_lastdof[m->geom_body[g]], stop = m->body_lastdof[below]; d > stop;) {
    int joint = m->dof_jnt[d], first = m->jnt_vadr[joint];
    for (; d >= first; d--) dof_at(f, t, d, w, x);
    tgi_integrate_joint(m, joint, f->q, w, pose->q);
    tgi_integrate_joint_rate(m, joint, w, x, u);
    d = m->dof_parent[first];
  }
  tgi_kinematics_geom(m, g, below, pose);
}

void tgi_flight_pair(const tgModel *m, const tgiFlight *f, tgReal t, int pair, tgReal *w, tgReal *x, tgPose *pose, tgReal *u) {
  int g[2] = {m->pair_geom1[pair], m->pair_geom2[pair]}, below = common_body(m, m->geom_body[g[0]], m->geom_body[g[1]]);
  for (int i = 0; i < 2; i++) place_geom(m, f, t, g[i], i == 0 ? 0 : below, w, x, pose, u);
}

// ---- one search ----

// A contact that the search has come to. It meets at the root of its gap, a little later than the search comes to it.
typedef struct Passed { int pair, feature; } Passed;
enum { PASSED = 64 };

// Contacts that a pair has at t of the path, within a margin; pair -1: none are known.
typedef struct Points {
  int pair, count;
  double t, margin, distance;
  tgContactPoint point[TG_PAIR_POINTS];
} Points;

typedef struct Search {
  tgSim *s;
  const tgiFlight *path;
  tgiFirst *f;
  double *until;            // npair: clear up to there; INFINITY: all along the path
  int *pair, npair;         // those that may meet at all
  tgReal *w, *x, *u;
  double *d0, *d1, *slope, *past;
  double t;                 // of the pose, of the pair
  int at;
  tgPose *pose;             // s->start at 0, else s->trial
  const tgReal *rate;       // dw/dt there, in its coordinates
  double *when;             // nbody, ngeom: of s->trial, the time that they are placed at there
  Passed passed[PASSED];
  int npassed;
  Points *seen, *root;      // of the last look; where the root of a gap was looked for last, by the feature and not by the margin
  double came;              // when the search came to the contact that meets first as far as it knows
} Search;

// the velocity of a contact's gap: n.(velocity of geom1's body - of geom2's) at p
static tgReal gap_rate(const tgSim *s, const tgPose *pose, const tgReal *u, int pair, const tgContactPoint *c) {
  const tgModel *m = &s->m;
  tgReal V1[6], V2[6], v1[3], v2[3];
  tgi_body_velocity(s, pose, m->geom_body[m->pair_geom1[pair]], u, V1);
  tgi_body_velocity(s, pose, m->geom_body[m->pair_geom2[pair]], u, V2);
  tgi_sp_point_velocity(v1, V1, c->p);
  tgi_sp_point_velocity(v2, V2, c->p);
  tgi_v3_sub(v1, v1, v2);
  return tgi_v3_dot(c->n, v1);
}

// the contact among others of its pair; NULL: it is not one of them
static const tgContactPoint *with_feature(const tgContactPoint *point, int count, int feature) {
  for (int i = 0; i < count; i++)
    if (point[i].feature == feature) return &point[i];
  return NULL;
}

// Contacts of a pair at a pose among which the feature is, if any are, with what want asks for; how many.
static int points_with(tgSim *s, const tgPose *pose, int pair, int feature, tgCollide want, tgContactPoint point[TG_PAIR_POINTS]) {
  static const double few = 16;   // times the gap at which bodies meet: of faces few are so near, and what is asked for mostly is
  double distance, margin = tgi_contact_margin(s), least = few * tgRe(s->clearance);
  bool faces = tgi_contacts_of_facets(s, pair) && least < margin;
  int count = 0;
  for (int wide = faces ? 0 : 1; wide < 2; wide++) {
    count = tgi_contacts_of_pair_with(s, pose, pair, wide ? margin : least, want, point, &distance);
    if (with_feature(point, count, feature) != NULL) break;
  }
  return count;
}

// The point is where edges cross as seen along the normal: it slides along both, and its gap changes by their slopes besides. Kinds are
// those of pair.h of faces too: of meshes that are not convex only a curved body's are such.
static bool slides(int feature) {
  int kind = (int)((unsigned)feature >> TGI_FEATURE_KIND) & (TGI_KIND_A - 1);
  return kind == TGI_KIND_FACE_EDGE || kind == TGI_KIND_FACE_CORNER || kind == TGI_KIND_FACE_CROSSING;
}

// of a contact with derivatives: by those of its gap in the poses of its geoms
static tgReal gap_rate_of_pose(const tgSim *s, const tgPose *pose, const tgReal *u, int pair, const tgContactPoint *c) {
  const tgModel *m = &s->m;
  tgReal V[6], rate = 0;
  for (int side = 0; side < 2; side++) {
    tgi_body_velocity(s, pose, m->geom_body[side == 0 ? m->pair_geom1[pair] : m->pair_geom2[pair]], u, V);
    rate += tgi_sp_dot(c->D[6] + 6 * side, V);
  }
  return rate;
}

bool tgi_flight_gap(tgSim *s, const tgPose *pose, const tgReal *u, int pair, int feature, tgReal *gap, tgReal *rate) {
  tgContactPoint point[TG_PAIR_POINTS];
  bool bends = slides(feature);
  int count = points_with(s, pose, pair, feature, bends ? TG_COLLIDE_POSE : TG_COLLIDE_POINTS, point);
  const tgContactPoint *c = with_feature(point, count, feature);
  if (c == NULL) return false;
  *gap = c->gap;
  *rate = bends ? gap_rate_of_pose(s, pose, u, pair, c) : gap_rate(s, pose, u, pair, c);
  return true;
}

static void real_twist(const tgSim *s, const tgPose *pose, int body, const tgReal *u, double V[6]) {
  tgReal x[6];
  tgi_body_velocity(s, pose, body, u, x);
  for (int i = 0; i < 6; i++) V[i] = tgRe(x[i]);
}

// the rest of the path from the pose on, which is the pair's
static tgiStretch rest_of(Search *k) {
  const tgModel *m = &k->s->m;
  int body[2] = {m->geom_body[m->pair_geom1[k->at]], m->geom_body[m->pair_geom2[k->at]]}, common = tgi_common_dof(m, body[0], body[1]);
  for (int i = 0; i < 2; i++)
    for (int d = m->body_lastdof[body[i]], stop = i == 0 ? -1 : common; d > stop; d = m->dof_parent[d]) {
      k->d0[d] = tgRe(k->path->v0[d]) + k->t * k->slope[d];
      k->past[d] = k->t != 0 ? tgRe(k->w[d]) : 0;
    }
  return (tgiStretch){m, k->pose, k->d0, k->d1, k->slope, k->past, tgRe(k->path->s) - k->t};
}

// Geom g in s->trial at t. Of its way what is there already stays: many pairs have a body, and many looks go to the path's end.
static void place_at(Search *k, int g, double t) {
  const tgModel *m = &k->s->m;
  int body = m->geom_body[g], below = body;
  for (int b = body; b > 0; b = m->body_parent[b])
    if (k->when[b] != t) below = m->body_parent[b];
  if (below == body && k->when[m->nbody + g] == t) return;
  for (int b = body; b > below; b = m->body_parent[b]) k->when[b] = t;
  k->when[m->nbody + g] = t;
  place_geom(m, k->path, t, g, below, k->w, k->x, k->pose, k->u);
}

// the pose of the pair at t
static void place(Search *k, int pair, double t) {
  if (pair == k->at && t == k->t) return;
  k->at = pair;
  k->t = t;
  k->pose = t != 0 ? &k->s->trial : &k->s->start;
  k->rate = t != 0 ? k->u : k->path->v0;
  if (t == 0) return;
  place_at(k, k->s->m.pair_geom1[pair], t);
  place_at(k, k->s->m.pair_geom2[pair], t);
}

// first of the pair's closed contacts
static int first_closed(const tgiFirst *f, int pair) {
  int low = 0, high = f->nclosed;
  while (low < high) {
    int middle = low + (high - low) / 2;
    if (f->closed[middle].pair < pair) low = middle + 1;
    else high = middle;
  }
  return low;
}

// which of the closed contacts a feature of the pair is; -1: none
static int which_closed(const tgiFirst *f, int pair, int feature) {
  for (int i = first_closed(f, pair); i < f->nclosed && f->closed[i].pair == pair; i++)
    if (f->closed[i].feature == feature) return i;
  return -1;
}

static bool is_passed(const Search *k, int pair, int feature) {
  for (int i = 0; i < k->npassed; i++)
    if (k->passed[i].pair == pair && k->passed[i].feature == feature) return true;
  return false;
}

// the gap at which a contact meets
static double own_level(const tgiFirst *f, int pair, int feature) {
  int which = which_closed(f, pair, feature);
  return which >= 0 ? f->closed[which].level : f->meet;
}

// the gap to which it may come: of what the search has come to already, half of that
static double level_of(const Search *k, int pair, int feature) {
  return (is_passed(k, pair, feature) ? 0.5 : 1) * own_level(k->f, pair, feature);
}

// the gap to which the pair may come down with any of its contacts
static double lowest_level(const Search *k, int pair) {
  const tgiFirst *f = k->f;
  double level = f->meet;
  for (int i = first_closed(f, pair); i < f->nclosed && f->closed[i].pair == pair; i++) level = fmin(level, f->closed[i].level);
  for (int i = 0; i < k->npassed; i++)
    if (k->passed[i].pair == pair) level = fmin(level, level_of(k, pair, k->passed[i].feature));
  return level;
}

// share of the meeting gap within which a contact has come down to what it may
static const double arrived = 1e-4;

// A pair under way: its twists and what of it is bounded.
typedef struct Look {
  int pair, count;
  const tgContactPoint *point;
  double above[TG_PAIR_POINTS], rate[TG_PAIR_POINTS];   // of each contact: its gap above that to which it may come
  double V1[6], V2[6], level, fastest, reach;
  double faces_within;      // of what touches by its faces: those that are looked at are no farther apart
  tgiStretch rest;
} Look;

// of the contacts at the pose
static void note_heights(const Search *k, Look *l) {
  for (int i = 0; i < l->count; i++) {
    const tgContactPoint *c = &l->point[i];
    l->rate[i] = tgRe(gap_rate(k->s, k->pose, k->rate, l->pair, c));
    l->above[i] = tgRe(c->gap) - level_of(k, l->pair, c->feature);
  }
}

// A bound on how fast a contact's rate falls. Of a ball its centre counts, whose distance from a convex body is a convex function of where
// it is, seen from that body.
static double contact_bend(const Search *k, const tgiStretch *part, int pair, const double p[3]) {
  const tgModel *m = &k->s->m;
  int g[2] = {m->pair_geom1[pair], m->pair_geom2[pair]}, common = tgi_common_dof(m, m->geom_body[g[0]], m->geom_body[g[1]]);
  bool ball[2] = {m->geom_type[g[0]] == TG_GEOM_SPHERE, m->geom_type[g[1]] == TG_GEOM_SPHERE};
  tgiSpeeds R[2];
  for (int i = 0; i < 2; i++) {
    double x[3];
    int at = ball[i] ? g[i] : g[1 - i];
    for (int j = 0; j < 3; j++) x[j] = ball[0] || ball[1] ? tgRe(k->pose->geom_xpos[3 * at + j]) : p[j];
    R[i] = ball[i] ? tgi_stretch_core(k->s, part, g[i], common) : tgi_stretch_speeds(part, m->geom_body[g[i]], common, x, 0);
  }
  return R[0].acceleration + R[1].acceleration + 2 * (R[0].turn + R[1].turn) * (R[0].speed + R[1].speed);
}

// when height + rate d - A d^2/2, above 0 at 0, comes down to it
static double falls(double height, double rate, double A) {
  double root = sqrt(rate * rate + 2 * A * height);
  return rate < 0 ? 2 * height / (root - rate) : A > 0 ? (root + rate) / A : INFINITY;
}

// Contact i is clear for as long as gap + rate d - A d^2/2 is above its level.
static double contact_clear(const Search *k, const Look *l, int i) {
  const tgReal *x = l->point[i].p;
  double rate = l->rate[i], above = fmax(l->above[i], arrived * k->f->meet), p[3] = {tgRe(x[0]), tgRe(x[1]), tgRe(x[2])}, d = 0;
  tgiStretch part = l->rest;
  for (int round = 0; round < 3; round++) {
    double most = falls(above, rate, contact_bend(k, &part, l->pair, p));
    d = fmax(d, fmin(most, part.span));
    if (most >= part.span) break;
    part.span = 2 * most;
  }
  return fmin(d, l->rest.span);
}

// ---- over a plane ----

// A contact of the pair over a plane: the point of the core under it, in the frame of the geom; what it has above its level, and how fast
// that grows; the level down to which it is clear, lower where it is at its own but for rounding.
typedef struct Point { double local[3], level, above, rate, low; } Point;

// A geom over a plane and its contacts; all of its points stay above the floor.
typedef struct Over {
  tgiOver of;
  Point point[TG_PAIR_POINTS];
  double floor, least;      // least: what it has above the floor at the pose
  double reach, guess;      // how far (4a) tells of it, at most; where it is looked at first
  bool sure;                // its accelerations alone tell that it is clear up to there
} Over;

static void to_world(const tgPose *pose, int g, const double x[3], double out[3]) {
  for (int i = 0; i < 3; i++) {
    out[i] = tgRe(pose->geom_xpos[3 * g + i]);
    for (int j = 0; j < 3; j++) out[i] += tgRe(pose->geom_xmat[9 * g + 3 * i + j]) * x[j];
  }
}

static Point point_over(const Search *k, const Look *l, const tgiOver *o, int at) {
  const tgPose *pose = k->pose;
  const tgContactPoint *c = &l->point[at];
  double x[3], up, gap = tgRe(c->gap);
  Point p = {.above = l->above[at], .rate = l->rate[at], .level = gap - l->above[at]};
  p.low = gap - fmax(p.above, arrived * k->f->meet);
  for (int i = 0; i < 3; i++) x[i] = tgRe(c->p[i]);
  up = gap + o->radius + o->off - tgi_d3_dot(o->n, x);
  for (int i = 0; i < 3; i++) x[i] += up * o->n[i] - tgRe(pose->geom_xpos[3 * o->geom + i]);
  for (int j = 0; j < 3; j++)
    for (int i = 0; i < 3; i++) p.local[j] += tgRe(pose->geom_xmat[9 * o->geom + 3 * i + j]) * x[i];
  return p;
}

// The bound's condition at the pose: of a point, of least f = `above` its level, with `far` = 2 f + D f'. It holds of less D too.
static bool holds_over(double above, double far, double jerk, double D) { return above >= 0 && far >= jerk * D * D * D / 6; }

// Its accelerations over D, the rest of the path, are `most` or less: is it clear all along?
static bool is_sure(const Search *k, const Look *l, const Over *over, const double V[6], double D, double most) {
  double falls_by = 0.5 * most * D * D;
  bool sure = over->least >= 0 && tgi_over_lowest(k->s, k->pose, &over->of, V, 1, D) - over->floor >= falls_by;
  for (int i = 0; i < l->count && sure; i++) sure = l->above[i] >= 0 && l->above[i] + D * l->rate[i] >= falls_by;
  return sure;
}

// Some D at which it holds for all points above the floor and for each contact above its level, into over->reach; 0: none.
static void reach_over(const Search *k, const Look *l, Over *over) {
  tgSim *s = k->s;
  const tgPose *pose = k->pose;
  const tgiOver *o = &over->of;
  int body = s->m.geom_body[o->geom];
  const double *V = s->m.pair_geom1[l->pair] == o->geom ? l->V1 : l->V2;
  double c[3], x[3], own, D = l->rest.span;
  tgi_geom_centre(pose, o->geom, c);
  over->reach = 0;
  for (int round = 0; round < 12 && over->reach == 0; round++) {
    tgiStretch part = l->rest;
    part.span = D;
    double far = tgi_over_lowest(s, pose, o, V, 2, D) - 2 * over->floor;
    tgiSpeeds R = tgi_stretch_speeds(&part, body, -1, c, o->reach);   // of all points, so that few are asked for their own
    over->sure = round == 0 && is_sure(k, l, over, V, D, R.acceleration);
    bool clear = over->sure || holds_over(over->least, far, R.jerk, D);
    own = R.jerk;
    for (int i = 0; i < l->count && clear && !over->sure; i++) {
      const Point *p = &over->point[i];
      double above = p->level + p->above - p->low;
      far = 2 * above + D * p->rate;
      if (holds_over(above, far, R.jerk, D)) continue;
      to_world(pose, o->geom, p->local, x);
      own = tgi_stretch_speeds(&part, body, -1, x, 0).jerk;
      clear = holds_over(above, far, own, D);
    }
    if (clear) over->reach = D;
    else D *= fmin(0.9, fmax(0.25, 0.97 * cbrt(fmax(0, far) / (own * D * D * D / 6))));   // where it held, if both were the same there
  }
}

// What comes down from where it meets nothing yet is looked at first where its accelerations alone would let it meet at the soonest.
static void guess_over(const Search *k, const Look *l, Over *over) {
  over->guess = over->reach;
  for (int i = 0; i < l->count && !over->sure && l->level == k->f->meet; i++) {
    const Point *p = &over->point[i];
    double x[3];
    if (!(p->rate < 0)) continue;
    to_world(k->pose, over->of.geom, p->local, x);
    double A = tgi_stretch_speeds(&l->rest, k->s->m.geom_body[over->of.geom], -1, x, 0).acceleration;
    over->guess = fmin(over->guess, falls(fmax(0, p->above), p->rate, A));
  }
}

// Of heights [m].
static const double rounding = 1e-15;

// At the pose: the least of what contacts have above their levels and points above the floor, but for rounding, and of which contact; -1:
// of the floor. *clear: none is lower than it may be.
static double height_over(const Search *k, const Look *l, const Over *over, int *which, bool *clear) {
  static const double still[6] = {0};
  const tgiOver *o = &over->of;
  double lowest = tgi_over_lowest(k->s, k->pose, o, still, 1, 0) - over->floor, least = INFINITY, x[3];
  *which = -1;
  *clear = lowest >= 0;
  for (int i = 0; i < l->count; i++) {
    const Point *p = &over->point[i];
    to_world(k->pose, o->geom, p->local, x);
    double at = tgi_d3_dot(o->n, x) - o->off - o->radius;
    *clear = *clear && at >= p->low;
    if (at - p->level >= least) continue;
    least = at - p->level;
    *which = i;
  }
  if (lowest >= least - rounding) return least;
  *which = -1;
  return lowest;
}

// When the parabola that has f and f' = rate at 0, and f(at) = height, falls to 0; *slope: its rate there. 0: it does not.
static double falls_between(double f, double rate, double at, double height, double *slope) {
  double half = (height - f - rate * at) / (at * at), square = rate * rate - 4 * half * f, root = sqrt(fmax(0, square));
  *slope = -root;
  if (!(square > 0)) return 0;
  return rate < 0 ? 2 * f / (root - rate) : half < 0 ? (rate + root) / (-2 * half) : 0;
}

// How far a geom over a plane is clear from the pose on, at most over->reach: to where the first of its contacts comes to its level, if
// there is one and it is found, else to somewhere before; the pose goes there. *arrives_there: that is found.
static double come_down(Search *k, const Look *l, const Over *over, bool *arrives_there) {
  enum { ROUNDS = 9 };
  double start = k->t, end = over->reach, low = 0, high = end, at = over->guess, most = arrived * k->f->meet;
  double aim = rounding, slope = 0, before = 0, height = 0;
  bool low_at_end = false;
  for (int round = 0; round < ROUNDS && high - low > 1e-15 * end; round++) {
    int which;
    bool clear;
    if (at >= high && !low_at_end) at = end;
    else if (!(at > low && at < high)) at = 0.5 * (low + high);
    place(k, l->pair, start + at);
    double f = height_over(k, l, over, &which, &clear);
    if (clear) low = at;
    else high = at;
    low_at_end = low_at_end || !clear;
    *arrives_there = clear ? f <= most && at < end : *arrives_there;
    if (clear && (at == end || f <= 2 * aim)) break;
    if (round == 0) {
      double first = which >= 0 ? over->point[which].above : over->least;
      at = falls_between(first, which >= 0 ? over->point[which].rate : (f - first) / at, at, f, &slope);
      if (at > 0) aim = fmax(rounding, fmin(0.5 * most, 0.5 * k->f->still * fabs(slope) / fmax(k->f->fastest, 1e-300)));
      at = at > 0 ? at + aim / slope : INFINITY;
      continue;
    }
    if (round > 1) slope = (f - height) / (at - before);
    before = at;
    height = f;
    at = slope < 0 ? at - (f - aim) / slope : INFINITY;
  }
  place(k, l->pair, start + low);
  return low;
}

// How long a pair over a plane is clear, where the pose goes if it has to be known there; 0: this bound says nothing.
static double clear_over(Search *k, const Look *l) {
  static const double still[6] = {0};
  Over over;
  double start = k->t;
  bool arrives_there = false;
  if (!tgi_over_plane(k->s, k->pose, l->pair, &over.of)) return 0;
  double lowest = tgi_over_lowest(k->s, k->pose, &over.of, still, 1, 0);
  over.floor = (l->level < k->f->meet || lowest < l->level ? 0.5 : 1) * l->level;
  over.least = lowest - over.floor;
  for (int i = 0; i < l->count; i++) over.point[i] = point_over(k, l, &over.of, i);
  reach_over(k, l, &over);
  if (over.reach == 0 || over.sure) return over.reach;
  guess_over(k, l, &over);
  double D = come_down(k, l, &over, &arrives_there);
  if (D > 1e-3 * l->rest.span || arrives_there) return D;
  place(k, l->pair, start);
  return 0;
}

// ---- two balls ----

// of the centres at the pose
static double distance_of_centres(const Search *k, const int g[2]) {
  double x[2][3];
  for (int i = 0; i < 2; i++) tgi_geom_centre(k->pose, g[i], x[i]);
  return tgi_d3_distance(x[0], x[1]);
}

// The same of two balls: of r from the one centre to the other f = r.r has the rate 2 r.r' and a third derivative of at most
// 2 (3 |r'| |r''| + |r| |r'''|), and where they roll on each other it stays.
static double clear_balls(Search *k, const Look *l) {
  const tgModel *m = &k->s->m;
  int g[2] = {m->pair_geom1[l->pair], m->pair_geom2[l->pair]};
  double c[2][3], start = k->t, radii = 0;
  if (m->geom_type[g[0]] != TG_GEOM_SPHERE || m->geom_type[g[1]] != TG_GEOM_SPHERE || l->count != 1) return 0;
  for (int i = 0; i < 2; i++) {
    radii += tgi_core_radius(m, g[i]);
    tgi_geom_centre(k->pose, g[i], c[i]);
  }
  double gap = tgRe(l->point[0].gap), above = l->above[0], apart = radii + gap, f = above * (2 * apart - above);
  for (double D = l->rest.span; D > 1e-2 * l->rest.span; D *= 0.5) {
    tgiStretch part = l->rest;
    part.span = D;
    tgiSpeeds R = tgi_stretch_speeds(&part, m->geom_body[g[0]], -1, c[0], 0),
              Q = tgi_stretch_speeds(&part, m->geom_body[g[1]], -1, c[1], 0);
    double speed = R.speed + Q.speed, J = 2 * (3 * speed * (R.acceleration + Q.acceleration) + (apart + speed * D) * (R.jerk + Q.jerk));
    if (!holds_over(f, 2 * (f + D * apart * l->rate[0]), J, D)) continue;
    place(k, l->pair, start + D);
    if (distance_of_centres(k, g) - radii >= gap - above) return D;
    place(k, l->pair, start);
  }
  return 0;
}

// ---- a look at a pair ----

static void begin_look(Search *k, int pair, Look *l) {
  const tgSim *s = k->s;
  const tgModel *m = &s->m;
  int b1 = m->geom_body[m->pair_geom1[pair]], b2 = m->geom_body[m->pair_geom2[pair]], common = tgi_common_dof(m, b1, b2);
  int g = m->geom_type[m->pair_geom1[pair]] == TG_GEOM_PLANE ? m->pair_geom2[pair] : m->pair_geom1[pair], body = m->geom_body[g];
  double c[3], r = tgRe(s->geom_bound[g]);
  tgi_geom_centre(k->pose, g, c);
  l->pair = pair;
  l->rest = rest_of(k);
  tgiSpeeds R = tgi_stretch_speeds(&l->rest, body, common, c, r),
            Q = tgi_stretch_speeds(&l->rest, body == b1 ? b2 : b1, common, c, r + R.speed * l->rest.span);
  l->fastest = R.speed + Q.speed;
  l->reach = l->fastest * l->rest.span;
  l->level = lowest_level(k, pair);
  real_twist(s, k->pose, b1, k->rate, l->V1);
  real_twist(s, k->pose, b2, k->rate, l->V2);
}

// The pair above a level by its faces.
static double faces_clear(Search *k, const Look *l, double level) {
  return l->faces_within > 0 ? tgi_flight_clear_faces(k->s, &l->rest, l->pair, l->V1, l->V2, l->fastest, l->faces_within, level) : 0;
}

// The same by the directions that its contacts have, and across its edges.
static double pair_clear(Search *k, const Look *l, double level) {
  tgSim *s = k->s;
  const tgModel *m = &s->m;
  double best = 0, n[3];
  for (int i = 0; i < l->count && best < l->rest.span; i++) {
    const tgReal *x = l->point[i].n;
    bool seen = false;
    for (int j = 0; j < i && !seen; j++) seen = tgRe(tgi_v3_dot(x, l->point[j].n)) > 1 - 1e-15;
    for (int c = 0; c < 3; c++) n[c] = tgRe(x[c]);
    if (!seen) best = fmax(best, tgi_flight_clear(s, &l->rest, l->pair, n, l->V1, l->V2, level));
  }
  tgHull scaled[2];
  tgShape A = tgi_geom_shape(s, k->pose, m->pair_geom1[l->pair], 0, &scaled[0]),
          B = tgi_geom_shape(s, k->pose, m->pair_geom2[l->pair], 1, &scaled[1]);
  if (best < l->rest.span && tgi_edge_normal(&A, &B, n))
    best = fmax(best, tgi_flight_clear(s, &l->rest, l->pair, n, l->V1, l->V2, level));
  return best;
}

// Which faces are looked at, and what for: contacts are known of what is within their margin.
static void face_distances(const Search *k, Look *l, double distance) {
  l->faces_within = distance > 10 * TG_CONTACT_MARGIN ? 0 : fmin(l->reach + k->f->meet, fmax(TG_CONTACT_MARGIN, 3 * distance));
  if (distance > TG_CONTACT_MARGIN) l->level = k->f->meet;   // what was closed has parted
}

// ---- what meets ----

static bool arrives(const Search *k, const Look *l, int i) { return l->rate[i] < 0 && l->above[i] <= arrived * k->f->meet; }

// The contact at t of the path, where the pose goes; what is known of the pair there is not looked for again. NULL: it is not listed there.
static const tgContactPoint *point_at(Search *k, int pair, int feature, double t) {
  const Points *known[] = {k->seen, k->root};
  Points *root = k->root;
  place(k, pair, t);
  for (int i = 0; i < 2; i++) {
    if (known[i]->pair != pair || known[i]->t != t) continue;
    const tgContactPoint *c = with_feature(known[i]->point, known[i]->count, feature);
    if (c != NULL) return c;
  }
  root->pair = pair;
  root->t = t;
  root->count = points_with(k->s, k->pose, pair, feature, TG_COLLIDE_POINTS, root->point);
  return with_feature(root->point, root->count, feature);
}

// Nothing moves by more than a small part of the least level in that time.
static bool is_no_time(const Search *k, double time) { return fabs(time) * k->f->fastest <= k->f->still; }

// *t: the root near it of a contact's gap above the level at which it meets; false: it is lost.
static bool settle(Search *k, int pair, int feature, double *t) {
  double level = own_level(k->f, pair, feature), end = tgRe(k->path->s), above = INFINITY, before = INFINITY;
  for (int i = 0; i < 8; i++) {
    const tgContactPoint *c = point_at(k, pair, feature, *t);
    double rate = c != NULL ? tgRe(gap_rate(k->s, k->pose, k->rate, pair, c)) : 0;
    if (!(rate < 0)) return false;
    above = tgRe(c->gap) - level;
    double change = above / rate;
    if (fabs(change) <= 1e-15 * end) return true;
    *t -= change;
    if (is_no_time(k, change) || tgi_root_stays(fabs(change), before, end)) return true;   // that leaves its square
    before = fabs(change);
  }
  return fabs(above) <= arrived * k->f->meet;
}

// Where the root of a contact's gap is looked for, which arrives at `came`: from that of another contact of the pair, as contacts that meet
// together have about the same one.
static double settle_from(const Search *k, int pair, double came) {
  return k->root->pair == pair && k->npassed > 0 && k->passed[k->npassed - 1].pair == pair && k->root->t >= came ? k->root->t : came;
}

// The root of the contact's gap next to the pose, at which it arrives, is that which is known.
static bool is_known(const Search *k, const Look *l, const tgContactPoint *c) {
  const tgiKnown *known = &k->f->known;
  if (l->pair != known->pair || c->feature != known->feature) return false;
  double rate = tgRe(gap_rate(k->s, k->pose, k->rate, l->pair, c)), above = tgRe(c->gap) - own_level(k->f, l->pair, c->feature);
  return is_no_time(k, k->t - above / rate - known->t);
}

// The contact meets first, as far as is known: at t; settled: that is the root of its gap, else it is where the search has come to.
static void meets_first(Search *k, int pair, int feature, double came, double t, bool settled) {
  tgiFirst *f = k->f;
  f->t = t;
  f->pair = pair;
  f->feature = feature;
  f->which = which_closed(f, pair, feature);
  f->settled = settled;
  k->came = came;
}

// The contacts that have come to their levels are let pass up to the first of the roots of their gaps, along which the search goes on: what
// meets slowly leaves others time to meet before. What has no root, or one before the path's start that is worth telling, meets here.
static void meet(Search *k, const Look *l) {
  tgiFirst *f = k->f;
  double came = k->t;
  for (int i = 0; i < l->count; i++) {
    const tgContactPoint *c = &l->point[i];
    place(k, l->pair, came);
    if (!arrives(k, l, i)) continue;
    bool known = is_known(k, l, c);
    double t = known ? f->known.t : settle_from(k, l->pair, came);
    bool settled = (known || settle(k, l->pair, c->feature, &t)) && (t >= 0 || is_no_time(k, t)) && k->npassed < PASSED;
    if (!settled) {
      meets_first(k, l->pair, c->feature, came, came, false);
      return;
    }
    if (f->pair < 0 || t < f->t) meets_first(k, l->pair, c->feature, came, t, true);
    k->passed[k->npassed++] = (Passed){l->pair, c->feature};
  }
}

// Some of the pair's contacts have come to their levels: what that makes of the search.
static bool meets_here(Search *k, Look *l) {
  bool any = false;
  note_heights(k, l);
  for (int i = 0; i < l->count && !any; i++) any = arrives(k, l, i);
  if (any) meet(k, l);
  return any;
}

// The pair is near what it may not pass, and none of its contacts has come to its level: no farther than *clear, less by each of them.
static void look_near(Search *k, const Look *l, double *clear) {
  for (int i = 0; i < l->count; i++) *clear = fmin(*clear, contact_clear(k, l, i));
  *clear = fmin(*clear, l->rest.span);
}

// The contacts within a margin of a pair that is closed at the path's start, where all that are as near as `need` are known already. False:
// they are to be asked for.
static bool start_points(const Search *k, const Look *l, double need, double margin, Points *p) {
  const tgiFirst *f = k->f;
  int low = 0, high = f->nstart;
  if (k->t != 0 || !(l->level < f->meet) || need > tgi_contact_margin(k->s)) return false;
  while (low < high) {
    int middle = low + (high - low) / 2;
    if (f->start[middle].pair < l->pair) low = middle + 1;
    else high = middle;
  }
  p->count = 0;
  p->distance = 0;   // or more, of which nothing follows
  for (; low < f->nstart && f->start[low].pair == l->pair; low++) {
    if (tgRe(f->start[low].gap) > margin) continue;
    tgContactPoint *c = &p->point[p->count++];
    tgi_v3_copy(c->p, f->start[low].p);
    tgi_v3_copy(c->n, f->start[low].n);
    c->gap = f->start[low].gap;
    c->feature = f->start[low].feature;
  }
  return p->count > 0;
}

// The pair's contacts at the pose, of which those as near as `need` may meet, and its distance; l->count < 0: an error. What has met is
// looked at again where it is.
static void find_points(Search *k, Look *l, double need, double margin, double *distance) {
  Points *p = k->seen;
  if (p->pair != l->pair || p->t != k->t || p->margin != margin) {
    if (!start_points(k, l, need, margin, p))
      p->count = tgi_contacts_of_pair(k->s, k->pose, l->pair, margin, p->point, &p->distance);
    p->pair = p->count < 0 ? -1 : l->pair;
    p->t = k->t;
    p->margin = margin;
  }
  l->count = p->count;
  l->point = p->point;
  *distance = p->distance;
}

// How long the pair is clear from the pose on; *met: some of its contacts have come to their levels there.
static tgStatus look_convex(Search *k, Look *l, double *clear, bool *met) {
  double distance, over = 0;
  find_points(k, l, l->reach * (1 + 1e-9) + k->f->meet, l->reach + tgi_contact_margin(k->s), &distance);
  if (l->count < 0) return (tgStatus)l->count;
  if (distance - k->f->meet > l->reach * (1 + 1e-9)) return TG_OK;
  *met = meets_here(k, l);
  if (*met) return TG_OK;
  over = clear_over(k, l);
  if (l->level < k->f->meet && over == 0) over = clear_balls(k, l);
  if (over > 0) {
    *clear = over;
    return TG_OK;
  }
  bool near = l->level < k->f->meet;
  if (!near) {
    *clear = fmax(pair_clear(k, l, l->level), fmax(0, distance - l->level) / fmax(l->fastest, 1e-300));
    near = *clear * l->fastest < k->f->meet;
  }
  if (!near) return TG_OK;
  // Where faces lie on each other the pair may be nearer than any of its contacts, which are what meets: half the level is its floor.
  *clear = pair_clear(k, l, 0.5 * l->level);
  look_near(k, l, clear);
  return TG_OK;
}

// The same of what touches by its faces. Contacts are asked for as far away as may come in the time for which its faces are clear.
static tgStatus look_faces(Search *k, Look *l, double *clear, bool *met) {
  double margin = tgi_contact_margin(k->s), meet = k->f->meet, fastest = fmax(l->fastest, 1e-300), distance = meet;
  bool near = l->level < meet;
  if (k->t != 0 || !near) TG_TRY(tgi_faces_distance(k->s, k->pose, l->pair, l->reach + margin, &distance));   // else it is closed
  if (distance - meet > l->reach * (1 + 1e-9)) return TG_OK;
  face_distances(k, l, distance);
  near = l->level < meet;
  if (!near) {
    *clear = fmax(faces_clear(k, l, l->level), fmax(0, distance - l->level) / fastest);
    near = *clear * l->fastest < meet;
  }
  if (!near) return TG_OK;
  *clear = fmin(faces_clear(k, l, 0.5 * l->level), (margin - meet) / fastest);
  margin = fmin(margin, 2 * meet + l->fastest * *clear);
  find_points(k, l, margin, margin, &distance);
  if (l->count < 0) return (tgStatus)l->count;
  *met = meets_here(k, l);
  if (!*met) look_near(k, l, clear);
  return TG_OK;
}

static tgStatus look(Search *k, int pair, double *clear, bool *met) {
  Look l;
  begin_look(k, pair, &l);
  *met = false;
  *clear = l.rest.span;
  k->f->looks++;
  if (l.fastest == 0) return TG_OK;   // they stay as they are, as what is stalled does
  return tgi_contacts_of_facets(k->s, pair) ? look_faces(k, &l, clear, met) : look_convex(k, &l, clear, met);
}

static bool take(Search *k) {
  tgSim *s = k->s;
  size_t nv = (size_t)s->m.nv, places = (size_t)(s->m.nbody + s->m.ngeom);
  k->until = tgi_stack_bytes(s, ((size_t)s->m.npair + 1) * sizeof *k->until);
  k->pair = tgi_stack_bytes(s, ((size_t)s->m.npair + 1) * sizeof *k->pair);
  k->w = tgi_stack_real(s, nv + 1);
  k->u = tgi_stack_real(s, nv + 1);
  k->x = tgi_stack_real(s, nv + 1);
  k->d0 = tgi_stack_bytes(s, (4 * nv + places + 1) * sizeof *k->d0);
  if (k->until == NULL || k->pair == NULL || k->w == NULL || k->u == NULL || k->x == NULL || k->d0 == NULL) return false;
  k->d1 = k->d0 + nv;
  k->slope = k->d1 + nv;
  k->past = k->slope + nv;
  k->when = k->past + nv;
  for (size_t i = 0; i < places; i++) k->when[i] = 0;   // where s->start is, which no pose in s->trial is
  for (size_t d = 0; d < nv; d++) {
    k->d0[d] = tgRe(k->path->v0[d]);
    k->d1[d] = tgRe(k->path->v1[d]);
    k->slope[d] = (k->d1[d] - k->d0[d]) / tgRe(k->path->s);
    k->past[d] = 0;
  }
  return true;
}

// the pairs whose spheres meet on the way
static tgStatus list_pairs(Search *k) {
  tgSim *s = k->s;
  const tgModel *m = &s->m;
  size_t mark = tgi_stack_mark(s);
  double *centre = tgi_stack_bytes(s, (4 * (size_t)m->ngeom + 1) * sizeof *centre), *radius = centre + 3 * m->ngeom;
  const tgPose *pose = &s->start;
  tgiStretch rest = {m, pose, k->d0, k->d1, k->slope, k->past, tgRe(k->path->s)};
  tgiBroad broad;
  if (centre == NULL) return TG_ERR_CAPACITY;
  for (int g = 0; g < m->ngeom; g++) {
    double *c = centre + 3 * g, r = tgRe(s->geom_bound[g]);
    tgi_geom_centre(pose, g, c);
    bool moves = m->body_lastdof[m->geom_body[g]] >= 0, plane = m->geom_type[g] == TG_GEOM_PLANE;
    double speed = moves ? tgi_stretch_speeds(&rest, m->geom_body[g], -1, c, r).speed : 0;
    radius[g] = plane && moves ? INFINITY : r + speed * rest.span;
    k->f->fastest = fmax(k->f->fastest, 2 * speed);
  }
  TG_TRY(tgi_broad_spheres(s, pose, &(tgiSpheres){centre, radius}, 2 * tgi_contact_margin(s), &broad));
  k->npair = 0;
  for (int g = 0; g < m->ngeom; g++) k->npair += tgi_broad_pairs(&broad, g, k->pair + k->npair);
  for (int i = 0; i < k->npair; i++) k->until[i] = 0;
  tgi_stack_free(s, mark);
  return TG_OK;
}

// of the pairs that which is clear for the shortest time; -1: none
static int next_pair(const Search *k) {
  int next = -1;
  for (int i = 0; i < k->npair; i++)
    if (k->until[i] < (next >= 0 ? k->until[next] : INFINITY)) next = i;
  return next;
}

// The next look: the pair that is clear for the shortest time; -1: all are, up to the first contact or the path's end.
static int next_look(const Search *k) {
  int i = next_pair(k);
  const tgiFirst *f = k->f;
  return i >= 0 && f->pair >= 0 && (!f->settled || k->until[i] >= f->t || is_no_time(k, f->t - k->until[i])) ? -1 : i;
}

tgStatus tgi_first_contact(tgSim *s, const tgiFlight *path, tgiFirst *f) {
  enum { LOOKS = 4000 };   // of a pair
  size_t mark = tgi_stack_mark(s);
  Points seen, root;
  Search k = {.s = s, .path = path, .f = f, .at = -1, .seen = &seen, .root = &root};
  double end = tgRe(path->s), to = 0;
  int i;
  seen.pair = root.pair = -1;
  f->pair = f->which = f->stuck = -1;
  f->looks = 0;
  f->fastest = 0;
  f->settled = false;
  if (!take(&k)) return TG_ERR_CAPACITY;
  TG_TRY(list_pairs(&k));
  for (i = next_look(&k); i >= 0 && f->looks < LOOKS + 100 * k.npair; i = next_look(&k)) {
    bool met;
    double clear, t = to = k.until[i];
    place(&k, k.pair[i], t);
    TG_TRY(look(&k, k.pair[i], &clear, &met));
    if (met) continue;   // looked at again, as what has met may come lower
    t = t + fmax(clear, 1e-12 * end);
    k.until[i] = t >= end * (1 - 1e-12) ? INFINITY : t;
  }
  if (f->pair < 0) f->t = i < 0 ? end : to;
  if (f->pair < 0 && i >= 0) f->stuck = k.pair[i];
  else if (i >= 0 && f->settled) meets_first(&k, f->pair, f->feature, k.came, k.came, false);
  tgi_stack_free(s, mark);
  return TG_OK;
}
