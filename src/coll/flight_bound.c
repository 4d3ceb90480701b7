// flight_bound.c: see flight_bound.h.
#include "coll/flight_bound.h"

#include "coll/contacts.h"
#include "coll/surfaces/triangle.h"
#include "math/d3.h"

// ---- speeds ----

int tgi_common_dof(const tgModel *m, int body1, int body2) {
  int i = m->body_lastdof[body1], j = m->body_lastdof[body2];
  while (i != j)
    if (i > j) i = m->dof_parent[i];
    else j = m->dof_parent[j];
  return i;
}

// dofs that move at once: a rotation, a free joint's translation, else one
typedef struct Group {
  int from, to;
  bool rotation;
  double rate, slope, past;   // of the stretch: largest rate, its change, largest |w|
} Group;

static double length_of(const double *x, int from, int to) {
  double sum = 0;
  for (int k = from; k <= to; k++) sum += x[k] * x[k];
  return sqrt(sum);
}

static Group group_of(const tgiStretch *k, int j) {
  const tgModel *m = k->m;
  int joint = m->dof_jnt[j], adr = m->jnt_vadr[joint];
  Group g = {.from = m->dof_grpadr[j], .to = j, .rotation = m->dof_grpnum[j] == 3};
  if (m->jnt_type[joint] == TG_JOINT_FREE && j < adr + 3) g.from = adr;
  g.rate = fmax(length_of(k->d0, g.from, j), length_of(k->d1, g.from, j));   // the rate goes evenly from one to the other
  g.slope = length_of(k->slope, g.from, j);
  g.past = length_of(k->w, g.from, j) + g.rate * k->span;
  return g;
}

// a dof of its own: a hinge or a slide
static Group group_of_one(const tgiStretch *k, int j) {
  double from = fabs(k->d0[j]), to = fabs(k->d1[j]);
  return (Group){.from = j, .to = j, .rate = from > to ? from : to, .slope = fabs(k->slope[j])};
}

// distance of c from the axis of a hinge or the centre of a rotation; 1 for what moves along itself. *turns: it is a turn.
static double lever(const tgiStretch *k, const Group *g, const double c[3], bool *turns) {
  const tgReal *S = k->pose->S + 6 * g->from;
  double a[3] = {tgRe(S[0]), tgRe(S[1]), tgRe(S[2])}, v[3], x[3], p[3] = {0, 0, 0};
  *turns = g->rotation || a[0] != 0 || a[1] != 0 || a[2] != 0;
  if (!*turns) return 1;
  for (int i = 0; i < 3; i++) v[i] = tgRe(S[3 + i]);
  if (!g->rotation) {
    tgi_d3_cross(x, a, c);
    for (int i = 0; i < 3; i++) x[i] += v[i];
    return tgi_d3_norm(x);
  }
  // of orthonormal axes e through p, sum e x (p x e) = 2 p
  for (int d = 0; d < 3; d++) {
    for (int i = 0; i < 3; i++) {
      a[i] = tgRe(S[6 * d + i]);
      v[i] = tgRe(S[6 * d + 3 + i]);
    }
    tgi_d3_cross(x, a, v);
    for (int i = 0; i < 3; i++) p[i] += 0.5 * x[i];
  }
  return tgi_d3_distance(c, p);
}

// From the body towards the root: a point that lower dofs have moved by up to D = V span is no farther from the axis than lever + r + D, so
//   J += 3 w A + 3 (w^2 + w') V + (w^3 + 3 w w' + w'') arm,  A += 2 w V + w^2 arm + w' arm,  V += w arm,  arm = lever + r + D;
// of a rotation q exp([w]) the angular velocity is Jr(w) dw/dt, |Jr| = 1, |d/dt| <= |w''| + |w| |w'|^2/6; its second derivative, of a path
// whose third is 0, is D2 Jr (w', w') w' + 3 D Jr (w') w'', with |D Jr| <= 1/2, |D2 Jr| <= 1/3, as Jr is the mean of exp(-[s w]) over s.
tgiSpeeds tgi_stretch_speeds(const tgiStretch *k, int body, int stop, const double c[3], double r) {
  tgiSpeeds R = {0, 0, 0, 0};
  for (int j = k->m->body_lastdof[body]; j > stop;) {
    bool one = k->m->dof_grpnum[j] == 1 && k->m->jnt_type[k->m->dof_jnt[j]] != TG_JOINT_FREE, turns;
    Group g = one ? group_of_one(k, j) : group_of(k, j);
    double arm = lever(k, &g, c, &turns);
    if (turns) {
      double w = g.rate, slope = g.slope + (g.rotation ? g.past * w * w / 6 : 0);
      double change = g.rotation ? w * w * w / 3 + 1.5 * w * g.slope : 0;
      arm += r + R.speed * k->span;
      R.jerk += 3 * w * R.acceleration + 3 * (w * w + slope) * R.speed + (w * w * w + 3 * w * slope + change) * arm;
      R.acceleration += 2 * w * R.speed + w * w * arm + slope * arm;
      R.speed += w * arm;
      R.turn += w;
    } else {
      R.acceleration += g.slope;
      R.speed += g.rate;
    }
    j = k->m->dof_parent[g.from];
  }
  return R;
}

// ---- the separation along n ----

// least k.x over a shape
static double lowest(const tgShape *S, const double k[3]) {
  double along[3], at = 0, size[3];
  for (int i = 0; i < 3; i++) {
    along[i] = 0;
    for (int j = 0; j < 3; j++) along[i] += tgRe(S->mat[3 * j + i]) * k[j];
    at += tgRe(S->pos[i]) * k[i];
    size[i] = S->size != NULL ? tgRe(S->size[i]) : 0;
  }
  double norm = tgi_d3_norm(k), across = sqrt(along[0] * along[0] + along[1] * along[1]), least = INFINITY;
  switch (S->type) {
    case TG_GEOM_PLANE: return at;   // asked for along its own normal alone
    case TG_GEOM_SPHERE: return at - size[0] * norm;
    case TG_GEOM_CAPSULE: return at - size[0] * norm - size[1] * fabs(along[2]);
    case TG_GEOM_CYLINDER: return at - size[0] * across - size[1] * fabs(along[2]);
    case TG_GEOM_BOX: return at - size[0] * fabs(along[0]) - size[1] * fabs(along[1]) - size[2] * fabs(along[2]);
    case TG_GEOM_ELLIPSOID:
      for (int i = 0; i < 3; i++) along[i] *= size[i];
      return at - tgi_d3_norm(along);
    case TG_GEOM_MESH: break;
  }
  for (int v = 0; v < S->hull->nvert; v++) {
    const tgReal *x = S->hull->vert + 3 * v;
    least = fmin(least, tgRe(x[0]) * along[0] + tgRe(x[1]) * along[1] + tgRe(x[2]) * along[2]);
  }
  return at + least;
}

double tgi_core_radius(const tgModel *m, int g) {
  return m->geom_type[g] == TG_GEOM_SPHERE || m->geom_type[g] == TG_GEOM_CAPSULE ? tgRe(m->geom_size[3 * g]) : 0;
}

// a ball or a capsule becomes its core, and its radius is given back: as the body turns it does not
static double core_of(tgShape *S, tgReal size[3]) {
  if (S->type != TG_GEOM_SPHERE && S->type != TG_GEOM_CAPSULE) return 0;
  double radius = tgRe(S->size[0]);
  for (int i = 0; i < 3; i++) size[i] = i == 1 && S->type == TG_GEOM_CAPSULE ? S->size[1] : 0;
  S->size = size;
  return radius;
}

// of one body as seen from the other
enum { CORNERS = 8 };   // of a box
typedef struct Seen {
  const tgShape *moving;
  double n[3], m[3];      // n, from the one to the other; n x w
  double rate, far;       // n.v; max n.b
  double level;
  const tgShape *other;   // not NULL: b is seen to turn too, and far goes with d: - min b.(o - n) at d o
  double o[3];
  int ncorner;            // of a shape that is the hull of so few points, else 0: each above the level, and its rate
  double height[CORNERS], rise[CORNERS];
} Seen;

static double far_of(const Seen *f, double d) {
  double k[3];
  if (f->other == NULL) return f->far;
  for (int i = 0; i < 3; i++) k[i] = d * f->o[i] - f->n[i];
  return -lowest(f->other, k);
}

static double above(const Seen *f, double acceleration, double d) {
  double k[3];
  for (int i = 0; i < 3; i++) k[i] = f->n[i] + d * f->m[i];
  return d * f->rate + lowest(f->moving, k) - far_of(f, d) - f->level - 0.5 * acceleration * d * d;
}

static void add_corner(Seen *f, const double x[3]) {
  f->height[f->ncorner] = tgi_d3_dot(f->n, x) - f->far - f->level;
  f->rise[f->ncorner++] = f->rate + tgi_d3_dot(f->m, x);
}

// The points of which the shape that moves is the hull, where these are few: corners, ends of a capsule's core, a ball's centre.
static void list_corners(Seen *f) {
  const tgShape *S = f->moving;
  int axes = S->type == TG_GEOM_BOX ? 3 : S->type == TG_GEOM_CAPSULE ? 1 : 0;
  bool round = S->type == TG_GEOM_SPHERE || S->type == TG_GEOM_CAPSULE, core = round && tgRe(S->size[0]) == 0;
  f->ncorner = 0;
  if (f->other != NULL || (!core && axes < 3 && (S->type != TG_GEOM_MESH || S->hull->nvert > CORNERS))) return;
  for (int v = 0, n = S->type == TG_GEOM_MESH ? S->hull->nvert : 1 << axes; v < n; v++) {
    double x[3];
    for (int i = 0; i < 3; i++) {
      x[i] = tgRe(S->pos[i]);
      for (int j = 0; j < 3 && S->type == TG_GEOM_MESH; j++) x[i] += tgRe(S->mat[3 * i + j] * S->hull->vert[3 * v + j]);
      for (int a = 0; a < axes; a++) {
        int j = axes == 1 ? 2 : a;
        double half = tgRe(S->size[axes == 1 ? 1 : a] * S->mat[3 * i + j]);
        x[i] += v >> a & 1 ? half : -half;
      }
    }
    add_corner(f, x);
  }
}

// when height + rise d - A d^2/2, above 0 at 0, comes down to it
static double falls(double height, double rise, double A) {
  double D = sqrt(rise * rise + 2 * A * height);
  return rise < 0 ? 2 * height / (D - rise) : A > 0 ? (rise + D) / A : INFINITY;
}

// up to which the bound of each corner is above its level
static double root_of_corners(const Seen *f, double acceleration, double span) {
  double low = INFINITY, high = INFINITY, first = span;
  if (!(acceleration < INFINITY)) return 0;   // no bound is known
  for (int v = 0; v < f->ncorner; v++) {
    double at_end = f->height[v] + span * f->rise[v] - 0.5 * acceleration * span * span;
    low = f->height[v] < low ? f->height[v] : low;
    high = at_end < high ? at_end : high;
  }
  if (low < -1e-4 * f->level) return 0;   // what leaves its level begins there, within rounding
  if (high >= 0) return span;
  if (low <= 0) return 0;
  for (int v = 0; v < f->ncorner; v++) {
    double d = falls(f->height[v], f->rise[v], acceleration);
    first = d < first ? d : first;
  }
  return first;
}

// up to which the bound is above its level, within a twentieth
static double root(const Seen *f, double acceleration, double span) {
  if (f->ncorner > 0) return root_of_corners(f, acceleration, span);
  double low = 0, high = span, at_low = above(f, acceleration, 0), at_high = above(f, acceleration, span);
  if (at_low < -1e-4 * f->level) return 0;   // what leaves its level begins there, within rounding
  if (at_high >= 0) return span;
  if (at_low <= 0) return 0;
  for (int i = 0; i < 80 && high - low > 0.05 * low; i++) {
    double d = i % 2 == 0 ? low + (high - low) * at_low / (at_low - at_high) : 0.5 * (low + high), y = above(f, acceleration, d);
    if (!(d > low && d < high)) break;
    if (y >= 0) {
      low = d;
      at_low = y;
    } else {
      high = d;
      at_high = y;
    }
  }
  return low;
}

void tgi_geom_centre(const tgPose *pose, int g, double c[3]) {
  for (int i = 0; i < 3; i++) c[i] = tgRe(pose->geom_xpos[3 * g + i]);
}

// Of a geom that is seen, the speeds of its core; of one from which it is seen, those of its frame at the other's core: a ball does not
// turn, and its frame goes along with its centre.
tgiSpeeds tgi_stretch_core(const tgSim *s, const tgiStretch *k, int g, int stop) {
  double c[3];
  tgi_geom_centre(k->pose, g, c);
  tgiSpeeds R = tgi_stretch_speeds(k, k->m->geom_body[g], stop, c, tgRe(s->geom_bound[g]) - tgi_core_radius(k->m, g));
  if (k->m->geom_type[g] == TG_GEOM_SPHERE) R.turn = 0;
  return R;
}

static tgiSpeeds frame_speeds(const tgSim *s, const tgiStretch *k, int g, int stop, int seen, double reach) {
  double c[3];
  if (k->m->geom_type[g] == TG_GEOM_SPHERE) return tgi_stretch_core(s, k, g, stop);
  tgi_geom_centre(k->pose, seen, c);
  return tgi_stretch_speeds(k, k->m->geom_body[g], stop, c, reach);
}

// A bound on the acceleration of geom `moving` as seen from geom `still` over a stretch, and how fast both turn.
static double bend(const tgSim *s, const tgiStretch *k, int moving, int still, double span, double *turn) {
  const tgModel *m = k->m;
  int common = tgi_common_dof(m, m->geom_body[moving], m->geom_body[still]);
  tgiStretch part = *k;
  part.span = span;
  double r = tgRe(s->geom_bound[moving]) - tgi_core_radius(m, moving);
  tgiSpeeds R = tgi_stretch_core(s, &part, moving, common), Q = frame_speeds(s, &part, still, common, moving, r + R.speed * span);
  *turn = R.turn + Q.turn;
  return R.acceleration + Q.acceleration + 2 * Q.turn * (R.speed + Q.speed);
}

// the same over a stretch: bounds are of all of it
static double clear(const tgSim *s, const tgiStretch *k, const Seen *f, int moving, int still, double span) {
  double turn, A = bend(s, k, moving, still, span, &turn);
  if (turn * span > 1) return clear(s, k, f, moving, still, 0.99 / turn);   // bounds on far turns are loose: a radian at a time
  double d = root(f, A, span);
  if (d > 0.25 * span || d == 0) return d;
  return fmax(d, clear(s, k, f, moving, still, 2 * d));   // over less the bounds are less
}

// geom `moving` as seen from geom `still`
static double clear_seen(tgSim *s, const tgiStretch *k, int moving, int still, const double n[3], const double V[6], const double from[6],
                         double level) {
  tgHull scaled[2];
  tgShape A = tgi_geom_shape(s, k->pose, moving, 0, &scaled[0]), B = tgi_geom_shape(s, k->pose, still, 1, &scaled[1]);
  if (A.type == TG_GEOM_PLANE) return 0;
  tgReal core[3];
  double w[3], back[3], c[3], at_centre[3];
  Seen f = {.moving = &A, .rate = 0, .level = level + core_of(&A, core)};
  bool ball = B.type == TG_GEOM_SPHERE;
  tgi_geom_centre(k->pose, still, c);
  tgi_d3_cross(at_centre, from, c);
  for (int i = 0; i < 3; i++) {
    f.n[i] = n[i];
    back[i] = -n[i];
    w[i] = V[i] - (ball ? 0 : from[i]);
    f.rate += n[i] * (V[3 + i] - from[3 + i] - (ball ? at_centre[i] : 0));
  }
  tgi_d3_cross(f.m, n, w);
  f.far = B.type == TG_GEOM_PLANE ? lowest(&B, n) : -lowest(&B, back);
  list_corners(&f);
  return clear(s, k, &f, moving, still, k->span);
}

double tgi_flight_clear(tgSim *s, const tgiStretch *k, int pair, const double n[3], const double V1[6], const double V2[6], double level) {
  int g = k->m->pair_geom1[pair], h = k->m->pair_geom2[pair];
  double back[3] = {-n[0], -n[1], -n[2]}, one = clear_seen(s, k, g, h, n, V1, V2, level);
  return one >= k->span ? one : fmax(one, clear_seen(s, k, h, g, back, V2, V1, level));
}

// ---- faces ----

// Pairs of faces over a stretch, bodies seen from either side: 0 geom1 from geom2, 1 the reverse.
typedef struct Faces {
  double level, span, least, A[2], w[2][3], v[2][3];   // w, v: twist of the one that moves as seen from the other
  double fine;                                         // of contacts, whose directions are tried
  double fastest, reach[2], centre[2][3];              // of points of the two beside each other; of a geom's points about its place
  bool turns;                                          // the frame that goes along with both features is tried
} Faces;

// the corners of a triangle in the world as a shape
typedef struct Corners {
  tgHull hull;
  tgShape shape;
  tgReal x[9];
} Corners;

static void shape_of(Corners *c, const double x[9]) {
  static const tgReal here[3] = {0, 0, 0}, upright[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
  for (int i = 0; i < 9; i++) c->x[i] = x[i];
  c->hull = (tgHull){.nvert = 3, .vert = c->x};
  c->shape = (tgShape){.type = TG_GEOM_MESH, .hull = &c->hull, .pos = here, .mat = upright};
}

// How long two shapes are clear along n, from the second to the first. What other faces are clear for, `least`, is as good as the span.
static double clear_along(const Faces *k, const tgShape *const shape[2], const double n[3], double level) {
  double best = 0;
  for (int view = 0; view < 2 && best < k->least; view++) {
    Seen f = {.moving = shape[view], .level = level};
    double back[3];
    for (int i = 0; i < 3; i++) {
      f.n[i] = view == 0 ? n[i] : -n[i];
      back[i] = -f.n[i];
    }
    f.rate = tgi_d3_dot(f.n, k->v[view]);
    tgi_d3_cross(f.m, f.n, k->w[view]);
    f.far = -lowest(shape[1 - view], back);
    list_corners(&f);
    best = fmax(best, root(&f, k->A[view], k->least));
  }
  return best;
}

// ---- two edges that turn about each other ----
//
// Where an edge lies across another the plane between them turns with both: seen from either body the far end of the other's edge goes
// through it. Seen from a frame that turns by O about the contact p, beside body 2, both move, with the points' velocities
// v + w x x - O x (x - p) and -O x (x - p), and accelerations of A + 2 O V + O^2 r and O^2 r at most, r the distance from p. The bound of
// the header with these is true of any O; with O normal to n, and n x (w - O) and n x O normal to their edges, those stay in the plane.

// the direction of the edge of a shape that is lowest along n; false: it has none
static bool edge_of(const tgShape *S, const double n[3], double e[3]) {
  double axis[3], x[3][3], at[3];
  for (int i = 0; i < 3; i++) axis[i] = tgRe(S->mat[3 * i + 2]);
  if (S->type == TG_GEOM_CYLINDER && fabs(tgi_d3_dot(axis, n)) > 0.05) {
    tgi_d3_cross(e, axis, n);
    return tgi_d3_unit(e, e) > 0;
  }
  for (int i = 0; i < 3; i++) e[i] = axis[i];
  if (S->type == TG_GEOM_CYLINDER || S->type == TG_GEOM_CAPSULE) return true;
  if (S->type != TG_GEOM_MESH || S->hull->nvert != 3) return false;
  int top = 0;
  for (int v = 0; v < 3; v++) {
    for (int i = 0; i < 3; i++) x[v][i] = tgRe(S->hull->vert[3 * v + i]);
    at[v] = tgi_d3_dot(x[v], n);
    if (at[v] > at[top]) top = v;
  }
  tgi_d3_sub(e, x[(top + 1) % 3], x[(top + 2) % 3]);
  return tgi_d3_unit(e, e) > 0;
}

// O as above; false: the edges are about along each other
static bool turn_between(const double n[3], const double w[3], const double e1[3], const double e2[3], double O[3]) {
  double a[3], b[3], across[3];
  tgi_d3_cross(a, e1, n);
  tgi_d3_cross(b, e2, n);
  tgi_d3_cross(across, b, n);
  double along = tgi_d3_dot(across, a);
  if (fabs(along) < 0.1 * tgi_d3_norm(a) * tgi_d3_norm(b) || along == 0) return false;
  double by = tgi_d3_dot(w, a) / along;
  for (int i = 0; i < 3; i++) O[i] = by * across[i];
  return true;
}

// how far a shape of body g reaches from p
static double reach_from(const Faces *k, const tgShape *S, int g, const double p[3]) {
  double most = 0;
  if (S->type != TG_GEOM_MESH || S->hull->nvert != 3) return tgi_d3_distance(k->centre[g], p) + k->reach[g];
  for (int v = 0; v < 3; v++) {
    double x[3] = {tgRe(S->hull->vert[3 * v]), tgRe(S->hull->vert[3 * v + 1]), tgRe(S->hull->vert[3 * v + 2])};
    most = fmax(most, tgi_d3_distance(x, p));
  }
  return most;
}

static double clear_turning(const Faces *k, const tgShape *const shape[2], const double n[3], const double p[3], double level) {
  double e[2][3], O[3], back[3], rest[3];
  for (int i = 0; i < 3; i++) back[i] = -n[i];
  if (!k->turns || !edge_of(shape[0], n, e[0]) || !edge_of(shape[1], back, e[1]) || !turn_between(n, k->w[0], e[0], e[1], O)) return 0;
  double turn = tgi_d3_norm(O), r[2];
  for (int g = 0; g < 2; g++) r[g] = reach_from(k, shape[g], g, p);
  double A = k->A[0] + 2 * turn * k->fastest + turn * turn * (r[0] + k->fastest * k->span + r[1]);
  Seen f = {.moving = shape[0], .rate = tgi_d3_dot(n, k->v[0]), .level = level, .other = shape[1]};
  for (int i = 0; i < 3; i++) {
    f.n[i] = n[i];
    rest[i] = k->w[0][i] - O[i];
  }
  tgi_d3_cross(f.m, n, rest);
  tgi_d3_cross(f.o, n, O);
  return root(&f, A, k->least);
}

// Along the normal of either, which those that slide on each other keep; else between where they are nearest. No two points come nearer by
// more than `fastest`.
static void clear_faces(tgiFacetVisit *v, int face_a, int face_b, const double x[18], const tgiNearby *near) {
  Faces *k = v->ctx;
  Corners c[2];
  const tgiFacetBody *body[2] = {v->a, v->b};
  const tgShape *shape[2];
  double n[3], level = k->level + v->a->r + v->b->r, reach = v->a->reach + v->b->reach;
  double best = fmax(0, near->distance - reach - level) / fmax(k->fastest, 1e-300);
  bool curved = v->a->f->curved || v->b->f->curved;
  if (best >= k->least) return;
  for (int g = 0; g < 2; g++) {
    shape_of(&c[g], x + 9 * g);
    shape[g] = body[g]->f->curved ? &body[g]->shape : &c[g].shape;
  }
  for (int g = 0; g < 2 && best < k->least; g++) {
    if (body[g]->f->round) continue;
    tgi_facet_normal(x + 9 * g, n);
    for (int i = 0; i < 3 && g == 0; i++) n[i] = -n[i];
    best = fmax(best, clear_along(k, shape, n, level));
  }
  if (best < k->least && curved) {
    tgContactPoint point[TG_PAIR_POINTS];
    double distance;
    int count = tgi_facets_curved(v->a, face_a, v->b, face_b, INFINITY, k->fine, TG_COLLIDE_POINTS, point, &distance);
    double p[3] = {0};
    for (int i = 0; i < 3 && count > 0; i++) {
      n[i] = tgRe(point[0].n[i]);
      p[i] = tgRe(point[0].p[i]);
    }
    if (count > 0) best = fmax(best, clear_along(k, shape, n, level));
    if (count > 0 && best < k->least) best = fmax(best, clear_turning(k, shape, n, p, level));
  } else if (best < k->least) {
    tgi_d3_sub(n, near->a, near->b);
    tgi_d3_unit(n, n);
    best = fmax(best, clear_along(k, shape, n, level));
    if (best < k->least) best = fmax(best, clear_turning(k, shape, n, near->a, level));
  }
  k->least = fmin(k->least, best);
}

// twists of either as seen from the other; a ball goes along with its centre, and does not turn
static void see_faces(const tgiStretch *k, const int g[2], const double *const V[2], Faces *f) {
  for (int view = 0; view < 2; view++) {
    int still = g[1 - view];
    const double *from = V[1 - view];
    double c[3], at[3] = {0};
    bool ball = k->m->geom_type[still] == TG_GEOM_SPHERE;
    tgi_geom_centre(k->pose, still, c);
    if (ball) tgi_d3_cross(at, from, c);
    for (int i = 0; i < 3; i++) {
      f->w[view][i] = V[view][i] - (ball ? 0 : from[i]);
      f->v[view][i] = V[view][3 + i] - from[3 + i] - at[i];
    }
  }
}

// Accelerations over the span; false: it is a far turn, over which they say little, and is now less.
static bool bend_faces(const tgSim *s, const tgiStretch *k, const int g[2], Faces *f) {
  double turn[2];
  for (int view = 0; view < 2; view++) f->A[view] = bend(s, k, g[view], g[1 - view], f->span, &turn[view]);
  double most = fmax(turn[0], turn[1]);
  if (most * f->span <= 1) return true;
  f->span = 0.99 / most;
  return false;
}

double tgi_flight_clear_faces(tgSim *s, const tgiStretch *k, int pair, const double V1[6], const double V2[6], double fastest,
                              double within, double level) {
  int g[2] = {k->m->pair_geom1[pair], k->m->pair_geom2[pair]};
  const double *V[2] = {V1, V2};
  Faces f = {.level = level, .fastest = fastest, .fine = tgRe(s->clearance) / 16,
             .span = fmin(k->span, fmax(0, within - level) / fmax(fastest, 1e-300))};
  tgiFacetBody A, B;
  double best = 0;
  tgi_contacts_facets(s, k->pose, pair, &A, &B);
  see_faces(k, g, V, &f);
  f.turns = k->m->geom_type[g[0]] != TG_GEOM_PLANE && k->m->geom_type[g[1]] != TG_GEOM_PLANE;
  for (int i = 0; i < 2; i++) {
    tgi_geom_centre(k->pose, g[i], f.centre[i]);
    f.reach[i] = tgRe(s->geom_bound[g[i]]);
  }
  for (int round = 0; round < 6; round++) {
    if (!bend_faces(s, k, g, &f)) continue;
    tgiFacetVisit v = {.a = &A, .b = &B, .within = tgi_facets_within(&A, &B, level + fastest * f.span), .visit = clear_faces, .ctx = &f};
    f.least = f.span;
    tgi_facets_visit(&v);
    best = fmax(best, f.least);
    if (f.least > 0.25 * f.span || f.least == 0) break;
    f.span = 2 * f.least;   // over less the bounds are less
  }
  return best;
}

// ---- over a plane ----

bool tgi_over_plane(const tgSim *s, const tgPose *pose, int pair, tgiOver *o) {
  const tgModel *m = &s->m;
  int g = m->pair_geom1[pair], plane = m->pair_geom2[pair];
  if (m->geom_type[g] == TG_GEOM_PLANE) {
    plane = g;
    g = m->pair_geom2[pair];
  }
  tgGeomType type = (tgGeomType)m->geom_type[g];
  if (m->geom_type[plane] != TG_GEOM_PLANE || m->body_lastdof[m->geom_body[plane]] >= 0) return false;
  if (type != TG_GEOM_SPHERE && type != TG_GEOM_CAPSULE && type != TG_GEOM_BOX && type != TG_GEOM_MESH) return false;
  *o = (tgiOver){.geom = g, .reach = tgRe(s->geom_bound[g])};
  for (int i = 0; i < 3; i++) {
    o->n[i] = tgRe(pose->geom_xmat[9 * plane + 3 * i + 2]);
    o->off += o->n[i] * tgRe(pose->geom_xpos[3 * plane + i]);
  }
  o->radius = tgi_core_radius(m, g);
  o->reach = fmax(0, o->reach - o->radius);
  return true;
}

double tgi_over_lowest(tgSim *s, const tgPose *pose, const tgiOver *o, const double V[6], double a, double b) {
  tgHull scaled;
  tgReal core[3];
  double k[3], at = -a * (o->off + o->radius);
  tgShape A = tgi_geom_shape(s, pose, o->geom, 0, &scaled);
  core_of(&A, core);
  tgi_d3_cross(k, o->n, V);
  for (int i = 0; i < 3; i++) {
    k[i] = a * o->n[i] + b * k[i];
    at += b * o->n[i] * V[3 + i];
  }
  return at + lowest(&A, k);
}
