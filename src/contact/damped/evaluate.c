// evaluate.c: wrenches of all pairs of geoms and their derivatives, proxy by proxy.
//
// Based on: [math/damped Contact], [math/damped Solve]. A proxy at x (field's frame y) with normal n, force f on its body at
// x_c = x - radius n and wrench W = (x_c x f; f): where its body moves x by u, or the field's body moves by u there and turns by w,
//   dn = N u  or  w x n - N u,   dx_c = u - radius dn  or  -radius dn,   dW = D_x dx_c + D_n dn + W_gap dg_d,
// D_n and D_x of W in n and x_c alone.
#include <string.h>

#include "coll/contacts.h"
#include "contact/damped/damped.h"
#include "math/spatial.h"
#include "model/source.h"

#define SOFTEST 1e4   // times the resting gap: that of the gentlest law
#define PULLED 1e-3   // force over the weight below which `signorini` has let go, and above which it holds: in between it does neither
#define HELD 1e-1
#define TRUSTED 0.1   // of the depth to which a field is known: as deep as iterations of a step may go

// ---- a proxy at a pose ----

static const tgReal *frame(const tgPose *pose, int g) { return pose->geom_xmat + 9 * g; }

void tgi_proxy_place(const tgiDampedSide *side, const tgiProxyState *state, const tgPose *pose, tgReal x[3], tgReal y[3]) {
  tgReal t[3];
  tgi_m3_mulv(t, frame(pose, side->of), state->r);
  tgi_v3_add(x, pose->geom_xpos + 3 * side->of, t);
  tgi_v3_sub(t, x, pose->geom_xpos + 3 * side->in);
  tgi_m3_tmulv(y, frame(pose, side->in), t);
}

static tgiSideState *state_of(const tgSim *s, const tgiDampedSide *side) {
  return &((const tgiDampedWork *)s->solver)->side[side - tgi_damped(s)->side];
}

double tgi_damped_share(const tgSim *s, const tgiDampedSide *side) { return state_of(s, side)->inside ? 1 : side->share; }

void tgi_proxy_field(const tgSim *s, const tgiDampedSide *side, const tgReal y[3], int order, bool with_size, tgiJet *G) {
  tgiField f = side->field;
  f.inside = state_of(s, side)->inside;
  f.size = tgi_damped_size(s, side->in);
  tgi_field(&f, y, (tgiJets){order == 0 ? 0 : with_size ? TGI_JET_VARIABLES : 3, order}, G);
}

void tgi_proxy_turn(const tgiDampedSide *side, const tgPose *pose, const tgReal x[3], tgReal world[3]) {
  tgi_m3_mulv(world, frame(pose, side->in), x);
}

// the gap at a pose and its screw
static tgReal gap_at(const tgSim *s, const tgiDampedSide *side, const tgiProxyState *state, const tgPose *pose, tgReal screw[6]) {
  tgReal x[3], y[3], n[3];
  tgiJet G;
  tgi_proxy_place(side, state, pose, x, y);
  tgi_proxy_field(s, side, y, 1, false, &G);
  tgi_proxy_turn(side, pose, G.d, n);
  tgi_sp_screw(screw, x, n);
  return G.f - state->radius + s->widened;
}

// ---- the start of a step ----

void tgi_damped_from(const tgSim *s, const tgiDampedPair *pair, double h, tgReal from[6]) {
  from[TGI_FROM_GAP] = TG_NUMBER(s, resting_gap);
  if (!(tgRe(from[TGI_FROM_GAP]) > 0)) from[TGI_FROM_GAP] = pair->gap;
  from[TGI_FROM_RATIO] = TG_NUMBER(s, damping_ratio);
  from[TGI_FROM_TIME] = tgi_damped_options(s->contact_model)->damping_time;
  from[TGI_FROM_STIFFNESS] = TG_NUMBER(s, stiffness);
  from[TGI_FROM_ONSET] = TG_NUMBER(s, onset);
  from[TGI_FROM_STEP] = h;
}

void tgi_damped_numbers_of(const tgContact *c, const tgiDampedPair *pair, const tgReal from[6], tgiJets k, tgiDampedNumbers *n) {
  const tgDampedOptions *o = tgi_damped_options(c);
  tgi_damped_numbers(o->law, from, pair->mass * TG_STANDARD_GRAVITY, pair->mass, o->rule == TG_RULE_MIDPOINT, k, n);
  n->reach = o->reach;
}

tgReal tgi_damped_friction(const tgSim *s, const tgiDampedPair *pair) {
  return s->m.pair_condim[pair->pair] == 1 ? 0 : tgi_pair_friction(&s->m, pair->pair, 0, NULL);
}

static void put_proxy(const tgSim *s, const tgiDampedSide *side, int i, tgiProxyState *state) {
  const tgiProxies *p = side->proxies;
  const tgReal *size = tgi_damped_size(s, side->of), *vert = NULL;
  if (p->place == NULL) vert = s->m.hull[s->m.geom_hull[side->of]].vert + 3 * i;
  for (int k = 0; k < 3; k++) state->r[k] = (vert != NULL ? vert[k] : p->place[3 * i + k]) * size[p->axis[k]];
  state->radius = p->round ? size[0] : 0;
  state->followed = false;
}

// by how far bodies may overlap at the start of a step: by the resting gap under laws that keep them apart
static double most_depth(const tgSim *s, const tgiDampedSide *side, const tgiDampedPair *pair) {
  tgReal from[6];
  if (tgi_damped_options(s->contact_model)->law == TG_DAMPED_PENALTY) return state_of(s, side)->inside ? INFINITY : side->depth;
  tgi_damped_from(s, pair, s->h, from);
  return fmin(state_of(s, side)->inside ? INFINITY : side->depth, tgRe(from[TGI_FROM_GAP]));
}

static tgStatus too_deep(tgSim *s, const tgiDampedSide *side, double depth, double most) {
  char a[160], b[160];
  return tgi_error(&s->error, TG_ERR_INVALID,
                   "%s is %.6g m deep in %s at the start of a step, which may be %.3g m at most; move the bodies apart, or let "
                   "--separate (tg_sim_separate) do it.",
                   tgi_model_label_source(&s->m, TG_THING_GEOM, side->of, a, sizeof a), depth,
                   tgi_model_label_source(&s->m, TG_THING_GEOM, side->in, b, sizeof b), most);
}

static void ball_at(const tgSim *s, const tgiDampedSide *side, const tgiSideState *w, const tgPose *pose, tgiBall *ball) {
  const tgiProxyState centre = {.radius = 0};
  tgReal x[3], axis[3];
  tgiJet G;
  tgi_proxy_place(side, &centre, pose, x, ball->y);
  tgi_proxy_field(s, side, ball->y, 0, false, &G);
  ball->gap = tgRe(G.f) - w->round + s->widened;
  for (int i = 0; i < 3; i++) {
    tgi_m3_col(axis, frame(pose, side->of), i);
    tgi_m3_tmulv(ball->axes + 3 * i, frame(pose, side->in), axis);
  }
}

// how far a proxy may have moved in the field's frame
static double moved(const tgiBall *a, const tgiBall *b, double radius) {
  double way = 0, turn = 0;
  for (int i = 0; i < 3; i++) way += tgRe(b->y[i] - a->y[i]) * tgRe(b->y[i] - a->y[i]);
  for (int i = 0; i < 9; i++) turn += tgRe(b->axes[i] - a->axes[i]) * tgRe(b->axes[i] - a->axes[i]);
  return sqrt(way) + radius * sqrt(turn);
}

// gaps at the start of the step, no deeper than `most`
static tgStatus know(tgSim *s, const tgiDampedSide *side, tgiSideState *w, double most) {
  for (int i = 0; i < side->proxies->n && !w->known; i++) {
    tgiProxyState *state = &tgi_damped_work(s)->state[side->first + i];
    state->gap = gap_at(s, side, state, &s->start, state->screw);
    double depth = -tgRe(state->gap);
    if (depth > most) return too_deep(s, side, depth, most);
  }
  w->known = true;
  return TG_OK;
}

// Are all proxies wholly in the field's geom, but for what they may overlap? Its middle has to be, to begin with.
static bool is_inside(const tgSim *s, const tgiDampedSide *side, const tgiDampedPair *pair) {
  const tgiProxyState *state = ((const tgiDampedWork *)s->solver)->state + side->first;
  int n = side->proxies->n;
  tgReal from[6];
  if (!side->hollow) return false;
  tgi_damped_from(s, pair, s->h, from);
  for (int i = 0; i < n; i++) {
    tgReal x[3], y[3];
    tgiJet G;
    tgi_proxy_place(side, &state[i], &s->start, x, y);
    tgi_proxy_field(s, side, y, 0, false, &G);
    if (tgRe(G.f + state[i].radius) > tgRe(from[TGI_FROM_GAP])) return false;
  }
  return n > 0;
}

static tgStatus begin_side(tgSim *s, const tgiDampedSide *side, const tgiDampedPair *pair, tgiSideState *w) {
  double square = 0;
  for (int i = 0; i < side->proxies->n; i++) {
    tgiProxyState *state = &tgi_damped_work(s)->state[side->first + i];
    square = fmax(square, tgRe(tgi_v3_dot(state->r, state->r)));
    w->round = tgRe(state->radius);
  }
  tgiField f = side->field;
  f.size = tgi_damped_size(s, side->in);
  w->radius = sqrt(square);
  w->steep = tgi_field_steepness(&f);
  w->known = false;
  if (w->idle) return TG_OK;
  // those that are far are looked at when they come near
  ball_at(s, side, w, &s->start, &w->start);
  if (!tgi_damped(s)->plain && w->start.gap > w->radius * w->steep) return TG_OK;
  return know(s, side, w, most_depth(s, side, pair));
}

// The proxies of a pair; which of its geoms, if any, is in the other's hollow.
static void place_sides(tgSim *s, const tgiDampedPair *pair) {
  const tgiDamped *k = tgi_damped(s);
  tgiDampedWork *w = tgi_damped_work(s);
  int last = pair->side + pair->nside;
  for (int j = pair->side; j < last; j++) {
    w->side[j].inside = w->side[j].idle = false;
    for (int i = 0; i < k->side[j].proxies->n; i++) put_proxy(s, &k->side[j], i, &w->state[k->side[j].first + i]);
  }
  for (int j = pair->side; j < last; j++) {
    if (!is_inside(s, &k->side[j], pair)) continue;
    for (int i = pair->side; i < last; i++) w->side[i].idle = i != j;
    w->side[j].inside = true;
    return;
  }
}

// May a proxy push? Its damped gap is g' + alpha (g' - g), and |g' - g| at most its way times the steepness.
static bool may_push(const tgSim *s, const tgiDampedSide *side, const tgiSideState *w, const tgiDampedNumbers *n) {
  double end = tgi_damped_end(n);
  tgiBall now;
  if (w->idle) return false;
  if (!(end < INFINITY) || tgi_damped(s)->plain) return true;
  ball_at(s, side, w, &s->end, &now);
  return now.gap - w->steep * (w->radius + tgRe(n->alpha.f) * moved(&w->start, &now, w->radius)) < end;
}

// A grid is of the mesh as the model has it.
static tgStatus check_vertices(tgSim *s) {
  char label[128];
  const tgModel *m = s->model;
  int g = tgi_damped(s)->gridded;
  if (g < 0 || !s->hulls_given || memcmp(s->m.hull_vert, m->hull_vert, 3 * (size_t)m->nhullvert * sizeof(tgReal)) == 0) return TG_OK;
  return tgi_error(&s->error, TG_ERR_UNSUPPORTED,
                   "hull_vert is not the model's, and the field of %s is a grid that does not follow it; take the option `mesh: points`.",
                   tgi_model_label(m, TG_THING_GEOM, g, label, sizeof label));
}

tgStatus tgi_damped_begin(tgSim *s, double h) {
  const tgiDamped *k = tgi_damped(s);
  tgiDampedWork *w = tgi_damped_work(s);
  s->widened = tgi_damped_options(s->contact_model)->widen;
  TG_TRY(check_vertices(s));
  TG_TRY(tgi_hulls_update(s));
  for (int i = 0; i < k->npair; i++) {
    const tgiDampedPair *pair = &k->pair[i];
    tgReal from[6];
    tgi_damped_from(s, pair, h, from);
    tgi_damped_numbers_of(s->contact_model, pair, from, (tgiJets){0, 1}, &w->numbers[i]);
    place_sides(s, pair);
    for (int j = pair->side; j < pair->side + pair->nside; j++) TG_TRY(begin_side(s, &k->side[j], pair, &w->side[j]));
  }
  return TG_OK;
}

// Lengths are up to so many times the law's own. The damping stays as it is.
void tgi_damped_soften(tgSim *s, double soft, bool anew) {
  const tgiDamped *k = tgi_damped(s);
  double by = pow(SOFTEST / tgi_damped_rests(tgi_damped_options(s->contact_model)->law), soft);
  tgiDampedWork *w = tgi_damped_work(s);
  for (int i = 0; i < k->npair; i++) {
    tgReal from[6];
    tgiDampedNumbers *n = &w->numbers[i];
    tgiJet alpha = n->alpha;
    tgi_damped_from(s, &k->pair[i], s->h, from);
    from[TGI_FROM_GAP] *= by;
    from[TGI_FROM_ONSET] *= by;
    tgi_damped_numbers_of(s->contact_model, &k->pair[i], from, (tgiJets){0, 1}, n);
    n->alpha = alpha;
  }
  for (int i = 0; i < k->nproxy && anew; i++) w->state[i].followed = false;
}

bool tgi_damped_trusted(const tgSim *s) {
  const tgiDamped *k = tgi_damped(s);
  const tgiDampedWork *w = s->solver;
  for (int i = 0; i < k->nside; i++) {
    const tgiDampedSide *side = &k->side[i];
    const tgiSideState *at = &w->side[i];
    tgiBall ball;
    if (!(side->depth < INFINITY) || at->idle || at->inside) continue;
    ball_at(s, side, at, &s->end, &ball);
    if (!k->plain && ball.gap > s->widened + at->radius * at->steep) continue;
    for (int j = 0; j < side->proxies->n; j++) {
      const tgiProxyState *state = &w->state[side->first + j];
      double most = fmax(TRUSTED * side->depth, at->known ? -2 * tgRe(state->gap) : 0);
      tgReal x[3], y[3];
      tgiJet G;
      tgi_proxy_place(side, state, &s->end, x, y);
      tgi_proxy_field(s, side, y, 0, false, &G);
      if (tgRe(G.f - state->radius) < -most) return false;
    }
  }
  return true;
}

// ---- one proxy in a step ----

// what a side's proxies have in common, and what they add up to: wrench on their body, and its derivatives
typedef struct Sum {
  const tgiDampedSide *side;
  const tgiDampedNumbers *numbers;
  const tgPose *pose;      // middle
  tgReal V[6];             // of their body against the field's
  tgReal mu, slip;
  unsigned want;
  tgReal W[6], X[72];      // 6 x 12: twists of their body, of the field's
  tgReal Y[36], B[36], E[36];
  double push, at[3], n[3], least;   // at: on the field's surface, below the proxies
  int undecided;           // proxies that neither hold nor have let go
} Sum;

typedef struct Proxy {
  tgReal x[3], n[3], N[9], xc[3], height;   // height: in the field at the middle
  bool flat;               // n does not turn with x, and N is not there
  tgReal gap;              // damped
  tgReal screw[6];         // of the gap at the end
  tgReal w[3], along, slide[3], r;   // velocity, its part along n and the rest, and the smooth length of that
  tgReal force, slope;     // normal, and its slope in the gap, of weight 1
  tgReal hold[3];          // friction over its most, as its derivative takes it
  tgReal f[3];
} Proxy;

// normal and, of order 2, how it turns with x
static void normal_of(const Sum *k, const tgReal y[3], const tgSim *s, bool d, Proxy *p) {
  tgiJet G;
  tgReal local[3], H[9], t[9];
  tgi_proxy_field(s, k->side, y, d && k->side->field.type != TG_GEOM_PLANE ? 2 : 1, false, &G);
  tgReal length = tgi_v3_unit(local, G.d);
  tgi_proxy_turn(k->side, k->pose, local, p->n);
  p->height = G.f;
  p->flat = k->side->field.type == TG_GEOM_PLANE || (tgi_damped_options(s->contact_model)->held_normals && !(k->want & TG_LAW_SOLVE));
  if (!d || p->flat) return;
  for (int c = 0; c < 3; c++) {
    tgReal along = 0;
    for (int r = 0; r < 3; r++) along += local[r] * tgi_jet_dd(&G, r, c);
    for (int r = 0; r < 3; r++) H[3 * r + c] = (tgi_jet_dd(&G, r, c) - local[r] * along) / length;
  }
  tgi_m3_mul(t, frame(k->pose, k->side->in), H);
  tgi_m3_mult(p->N, t, frame(k->pose, k->side->in));
}

static void slide_of(const Sum *k, Proxy *p) {
  tgi_sp_point_velocity(p->w, k->V, p->xc);
  p->along = tgi_v3_dot(p->n, p->w);
  tgi_v3_copy(p->slide, p->w);
  tgi_v3_axpy(p->slide, -p->along, p->n);
  p->r = tgSqrt(tgi_v3_dot(p->slide, p->slide) + k->slip * k->slip);
}

// The tangent of the force is taken where the last tangent foretold the force, when that is more than the law's at this gap: then
// gaps may be anything, and a blow is found in two iterations.
static void follow_normal(const tgiDampedNumbers *n, tgiProxyState *state, Proxy *p) {
  double gap = tgRe(p->gap), near = tgi_damped_near(n);
  tgiDampedForce at;
  if (n->law == TG_DAMPED_PENALTY) {
    state->slack = gap;
  } else if (!state->followed) {
    // of a gap that is open the law's own tangent; of one that is not, that where the law is firm
    state->slack = gap > 0 ? gap : near;
  } else {
    tgi_damped_force(n, state->slack, &at);
    double told = tgRe(at.f) + tgRe(at.slope) * (gap - state->slack);
    if (gap >= state->slack) state->slack = gap;
    else if (tgRe(at.f) > 0) state->slack = tgi_damped_gap(n, told, state->slack);
    else state->slack = fmax(gap, near);
  }
  tgi_damped_force(n, state->slack, &at);
  p->slope = at.slope;
  p->force = at.f + at.slope * (p->gap - state->slack);
}

// friction as a share of its most, foretold by the tangent of the last iteration and held within 1
static void follow_friction(tgiProxyState *state, bool first, double slip, Proxy *p) {
  double size = 0, r = slip * slip, turn = 0;
  for (int i = 0; i < 3; i++) r += state->w[i] * state->w[i];
  r = sqrt(r);
  for (int i = 0; i < 3; i++) turn += state->w[i] * (tgRe(p->slide[i]) - state->w[i]) / r;
  for (int i = 0; i < 3; i++) {
    double w = state->w[i], change = tgRe(p->slide[i]) - w;
    state->hold[i] = first ? -tgRe(p->slide[i] / p->r) : -(w + change + state->hold[i] * turn) / r;
    state->w[i] = tgRe(p->slide[i]);
    size += state->hold[i] * state->hold[i];
  }
  size = fmax(1, sqrt(size));
  for (int i = 0; i < 3; i++) p->hold[i] = state->hold[i] /= size;
}

static void push(const Sum *k, tgiProxyState *state, double weight, Proxy *p) {
  if (k->want & TG_LAW_SOLVE) {
    follow_normal(k->numbers, state, p);
    follow_friction(state, !state->followed, tgRe(k->slip), p);
    state->followed = true;
  } else {
    tgiDampedForce at;
    tgi_damped_force(k->numbers, p->gap, &at);
    p->force = at.f;
    p->slope = at.slope;
    for (int i = 0; i < 3; i++) p->hold[i] = -p->slide[i] / p->r;
  }
  p->force *= weight;
  p->slope *= weight;
  for (int i = 0; i < 3; i++) p->f[i] = p->force * (p->n[i] - k->mu * p->slide[i] / p->r);
}

// D (6 x 3) = d(x_c x f; f) where f changes by F (3 x 3)
static void lever(const Proxy *p, const tgReal *F, tgReal *D) {
  for (int c = 0; c < 3; c++) {
    tgReal f[3] = {F[c], F[3 + c], F[6 + c]}, m[3];
    tgi_v3_cross(m, p->xc, f);
    for (int r = 0; r < 3; r++) {
      D[3 * r + c] = m[r];
      D[9 + 3 * r + c] = f[r];
    }
  }
}

// out (6 x 6, rows of `ld`) += sign D S, D 6 x 3 and S (3 x 6) of the velocity of a point at x by a twist: D_r . (v + w x x)
static void add_product(const tgReal *D, const tgReal x[3], tgReal sign, int ld, tgReal *out) {
  for (int r = 0; r < 6; r++, D += 3, out += ld) {
    const tgReal a = sign * D[0], b = sign * D[1], c = sign * D[2];
    out[0] += x[1] * c - x[2] * b;
    out[1] += x[2] * a - x[0] * c;
    out[2] += x[0] * b - x[1] * a;
    out[3] += a;
    out[4] += b;
    out[5] += c;
  }
}

static void add_outer(const tgReal *restrict a, const tgReal *restrict b, tgReal by, tgReal *restrict out) {
  for (int r = 0; r < 6; r++) {
    tgReal x = by * a[r];
    for (int c = 0; c < 6; c++) out[6 * r + c] += x * b[c];
  }
}

// F (3 x 3) = df/dw
static void by_velocity(const Sum *k, const Proxy *p, tgReal *F) {
  tgReal T[9], most = k->mu * p->force / p->r;
  for (int r = 0; r < 3; r++)
    for (int c = 0; c < 3; c++) T[3 * r + c] = -most * ((r == c ? 1 : 0) + p->hold[r] * p->slide[c] / p->r);
  // of the sliding part of dw alone
  for (int r = 0; r < 3; r++) {
    tgReal along = T[3 * r] * p->n[0] + T[3 * r + 1] * p->n[1] + T[3 * r + 2] * p->n[2];
    for (int c = 0; c < 3; c++) F[3 * r + c] = T[3 * r + c] - along * p->n[c];
  }
}

static void add_derivatives(Sum *k, const tgiProxyState *state, const Proxy *p) {
  tgReal F[9], D[18], Dx[18], Dn[18], T[9], alpha = k->numbers->alpha.f, direct[3], W[6];
  // by velocities
  by_velocity(k, p, F);
  lever(p, F, D);
  add_product(D, p->xc, 1, 6, k->Y);
  // by the gaps
  for (int i = 0; i < 3; i++) direct[i] = p->slope * (p->n[i] - k->mu * p->slide[i] / p->r);
  tgi_sp_screw(W, p->xc, direct);
  add_outer(W, p->screw, 1 + alpha, k->E);
  if (!(k->want & TG_LAW_SOLVE)) add_outer(W, state->screw, -alpha, k->B);   // a solve holds the start
  // by x_c: the velocity there changes by w x dx_c, and the lever
  for (int r = 0; r < 3; r++) {
    const tgReal *w = k->V, *f = F + 3 * r;
    T[3 * r] = f[1] * w[2] - f[2] * w[1];
    T[3 * r + 1] = f[2] * w[0] - f[0] * w[2];
    T[3 * r + 2] = f[0] * w[1] - f[1] * w[0];
  }
  lever(p, T, Dx);
  Dx[1] += p->f[2];
  Dx[2] -= p->f[1];
  Dx[3] -= p->f[2];
  Dx[5] += p->f[0];
  Dx[6] += p->f[1];
  Dx[7] -= p->f[0];
  // by n: f = force n + .., the sliding velocity changes by -(n w' + w.n) dn, of which F takes the part across n
  for (int r = 0; r < 3; r++) {
    for (int c = 0; c < 3; c++) T[3 * r + c] = (r == c ? p->force : 0) - p->along * F[3 * r + c];
    tgReal t = 0, most = k->mu * p->force / p->r;
    for (int c = 0; c < 3; c++) t += -most * ((r == c ? 1 : 0) + p->hold[r] * p->slide[c] / p->r) * p->n[c];
    for (int c = 0; c < 3; c++) T[3 * r + c] -= t * p->w[c] + p->along * t * p->n[c];
  }
  lever(p, T, Dn);
  for (int i = 0; i < 18; i++) Dn[i] -= state->radius * Dx[i];
  // twists: of the proxies' body (D_x + D_n N) u, of the field's D_n (w x n - N u)
  if (!p->flat) {
    for (int r = 0; r < 6; r++)
      for (int c = 0; c < 3; c++) D[3 * r + c] = Dn[3 * r] * p->N[c] + Dn[3 * r + 1] * p->N[3 + c] + Dn[3 * r + 2] * p->N[6 + c];
    add_product(D, p->x, -1, 12, k->X + 6);
    for (int i = 0; i < 18; i++) Dx[i] += D[i];
  }
  add_product(Dx, p->x, 1, 12, k->X);
  for (int r = 0; r < 6; r++) {
    const tgReal *d = Dn + 3 * r, *n = p->n;
    k->X[12 * r + 6] += n[1] * d[2] - n[2] * d[1];
    k->X[12 * r + 7] += n[2] * d[0] - n[0] * d[2];
    k->X[12 * r + 8] += n[0] * d[1] - n[1] * d[0];
  }
}

// a force of weight 1 that is neither that of what holds nor that of what has let go
static bool is_undecided(const tgiDampedNumbers *n, double force) {
  double share = force / tgRe(n->amplitude.f / n->length.f);
  return share > PULLED && share < HELD;
}

static void add_proxy(const tgSim *s, tgiProxyState *state, double weight, Sum *k) {
  Proxy p;
  tgReal y[3], W[6];
  bool d = (k->want & (TG_LAW_POSE | TG_LAW_VELOCITY)) != 0;
  tgi_proxy_place(k->side, state, k->pose, p.x, y);
  normal_of(k, y, s, d, &p);
  tgi_v3_copy(p.xc, p.x);
  tgi_v3_axpy(p.xc, -state->radius, p.n);
  slide_of(k, &p);
  tgReal gap = gap_at(s, k->side, state, &s->end, p.screw);
  p.gap = gap + k->numbers->alpha.f * (gap - state->gap);
  k->least = fmin(k->least, tgRe(gap));
  push(k, state, weight, &p);
  if (k->numbers->law == TG_DAMPED_SIGNORINI) k->undecided += is_undecided(k->numbers, tgRe(p.force) / weight);
  tgi_sp_screw(W, p.xc, p.f);
  tgi_sp_axpy(k->W, 1, W);
  double force = tgRe(p.force);
  k->push += force;
  for (int i = 0; i < 3; i++) {
    k->at[i] += force * tgRe(p.x[i] - p.height * p.n[i]);
    k->n[i] += force * tgRe(p.n[i]);
  }
  if (d) add_derivatives(k, state, &p);
}

// ---- pairs ----

// M (12 x 12) += K (6 rows of ld) in the rows of a wrench and less it in those of its opposite, in the columns from `at` on
static void add_block(const tgReal *K, int ld, tgReal sign, int own, int at, tgReal *M) {
  tgReal *to = M + 12 * own + at, *less = M + 12 * (6 - own) + at;
  for (int r = 0; r < 6; r++, K += ld, to += 12, less += 12)
    for (int c = 0; c < 6; c++) {
      to[c] += sign * K[c];
      less[c] -= sign * K[c];
    }
}

// a side's sums into its pair's term, whose first body may be either
static void add_side(const Sum *k, bool d, tgPairTerm *t) {
  int own = k->side->second ? 6 : 0, other = 6 - own;
  tgi_sp_axpy(t->w + own, 1, k->W);
  tgi_sp_axpy(t->w + other, -1, k->W);
  if (!d) return;
  tgReal *const M[3] = {t->Y, t->E, t->B};
  const tgReal *const K[3] = {k->Y, k->E, k->B};
  add_block(k->X, 12, 1, own, own, t->X);
  add_block(k->X + 6, 12, 1, own, other, t->X);
  for (int i = 0; i < 3; i++) {
    if (i == 2 && k->want & TG_LAW_SOLVE) continue;   // a solve holds the start
    add_block(K[i], 6, 1, own, own, M[i]);
    add_block(K[i], 6, -1, own, other, M[i]);
  }
}

static void one_pair(tgSim *s, const tgPose *pose, int i, unsigned want, tgPairTerm *t) {
  const tgiDamped *model = tgi_damped(s);
  const tgiDampedPair *pair = &model->pair[i];
  tgiDampedWork *w = tgi_damped_work(s);
  double *centre = w->centre + TGI_DAMPED_CENTRE * i, push = 0;
  bool d = (want & (TG_LAW_POSE | TG_LAW_VELOCITY)) != 0;
  t->body1 = s->m.geom_body[pair->geom[0]];
  t->body2 = s->m.geom_body[pair->geom[1]];
  memset(t->w, 0, sizeof t->w);
  if (d) {
    memset(t->X, 0, sizeof t->X);
    memset(t->Y, 0, sizeof t->Y);
    memset(t->B, 0, sizeof t->B);
    memset(t->E, 0, sizeof t->E);
  }
  memset(centre, 0, TGI_DAMPED_CENTRE * sizeof *centre);
  centre[6] = INFINITY;
  for (int j = pair->side; j < pair->side + pair->nside; j++) {
    const tgiDampedSide *side = &model->side[j];
    if (!w->side[j].live) continue;
    Sum k = {.side = side, .numbers = &w->numbers[i], .pose = pose, .mu = tgi_damped_friction(s, pair), .slip = TG_NUMBER(s, slip_speed),
             .want = want, .least = INFINITY};
    tgi_sp_sub(k.V, pose->V + 6 * s->m.geom_body[side->of], pose->V + 6 * s->m.geom_body[side->in]);
    double share = tgi_damped_share(s, side);
    for (int n = 0; n < side->proxies->n; n++) {
      tgiProxyState *state = &w->state[side->first + n];
      if (tgi_proxy_takes_part(s, state)) add_proxy(s, state, share * side->proxies->weight[n], &k);
    }
    add_side(&k, d, t);
    centre[6] = fmin(centre[6], k.least);
    centre[7] += k.undecided;
    push += k.push;
    for (int c = 0; c < 3; c++) {
      centre[c] += k.at[c];
      centre[3 + c] += side->second ? -k.n[c] : k.n[c];
    }
  }
  s->info.least_distance = fmin(s->info.least_distance, centre[6]);
  for (int c = 0; c < 6 && push > 0; c++) centre[c] /= push;
}

// one side of the pair at least
static tgStatus wake(tgSim *s, int i, bool *any) {
  const tgiDamped *model = tgi_damped(s);
  const tgiDampedPair *pair = &model->pair[i];
  tgiDampedWork *w = tgi_damped_work(s);
  *any = false;
  for (int j = pair->side; j < pair->side + pair->nside; j++) {
    w->side[j].live = may_push(s, &model->side[j], &w->side[j], &w->numbers[i]);
    if (w->side[j].live) TG_TRY(know(s, &model->side[j], &w->side[j], INFINITY));
    *any = *any || w->side[j].live;
  }
  return TG_OK;
}

tgStatus tgi_damped_evaluate(tgSim *s, const tgPose *pose, unsigned want) {
  const tgiDamped *k = tgi_damped(s);
  tgiDampedWork *w = tgi_damped_work(s);
  s->nterm = 0;
  s->info.least_distance = INFINITY;
  for (int i = 0; i < k->npair; i++) {
    bool any;
    TG_TRY(wake(s, i, &any));
    if (!any) continue;
    w->pair[s->nterm] = i;
    one_pair(s, pose, i, want, &s->term[s->nterm++]);
  }
  return TG_OK;
}
