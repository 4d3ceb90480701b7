// parameters.c: adjoint of the forces in the numbers of pairs and geoms; see tgLaw.parameters.
//
// Of one proxy, with u the velocity of x_c by the held twists and f its force, phi = f . u, backwards through the lines of evaluate.c.
// Geoms' places move the proxies at all three poses: what the terms' X, B and E say of twists.
// Based on: [math/damped Parameters].
#include "contact/damped/damped.h"
#include "contact/rows.h"
#include "math/spatial.h"

// adjoints of a pair's numbers, and of the sizes of its two geoms
typedef struct Bars { tgReal amplitude, length, alpha, mu, slip, size[2][3]; } Bars;

// a proxy at a pose: what its gap and the direction of its normal cost
typedef struct Place { const tgPose *pose; tgReal x[3], y[3]; tgiJet G; } Place;

static void place(const tgSim *s, const tgiDampedSide *side, const tgiProxyState *state, const tgPose *pose, Place *at) {
  at->pose = pose;
  tgi_proxy_place(side, state, pose, at->x, at->y);
  tgi_proxy_field(s, side, at->y, 2, true, &at->G);
}

// x (3, geom's frame) += what ybar in the field's frame and xbar in the world say of a proxy's place in its geom
static void to_geom(const tgiDampedSide *side, const Place *at, const tgReal ybar[3], const tgReal xbar[3], tgReal x[3]) {
  tgReal world[3], local[3];
  tgi_proxy_turn(side, at->pose, ybar, world);
  tgi_v3_add(world, world, xbar);
  tgi_m3_tmulv(local, at->pose->geom_xmat + 9 * side->of, world);
  tgi_v3_add(x, x, local);
}

// of the gap, by bar
static void gap_bars(const tgiDampedSide *side, const Place *at, tgReal bar, tgReal rbar[3], tgReal *radius, tgReal field[3]) {
  tgReal ybar[3], none[3] = {0};
  tgi_v3_scale(ybar, at->G.d, bar);
  to_geom(side, at, ybar, none, rbar);
  tgi_v3_axpy(field, bar, at->G.d + 3);
  *radius -= bar;
}

// of the normal, by nbar (world); what it costs at y is left in ybar
static void normal_bars(const tgiDampedSide *side, const Place *at, const tgReal nbar[3], tgReal ybar[3], tgReal field[3]) {
  tgReal local[3], n[3], g[3];
  tgi_m3_tmulv(local, at->pose->geom_xmat + 9 * side->in, nbar);
  tgReal length = tgi_v3_unit(n, at->G.d), along = tgi_v3_dot(n, local);
  for (int i = 0; i < 3; i++) g[i] = (local[i] - n[i] * along) / length;
  for (int i = 0; i < 3; i++) {
    ybar[i] = 0;
    for (int r = 0; r < 3; r++) {
      ybar[i] += tgi_jet_dd(&at->G, r, i) * g[r];
      field[i] += tgi_jet_dd(&at->G, r, 3 + i) * g[r];
    }
  }
}

// of where proxy i is in its geom, and of its radius: into those of the geom's size, and of its hull's vertex
static void shape_bars(const tgSim *s, const tgiDampedSide *side, int i, const tgReal rbar[3], tgReal radius, tgReal *own,
                       tgParamGrad *grad) {
  const tgiProxies *p = side->proxies;
  int hull = s->m.geom_hull[side->of];
  const tgReal *vert = p->place == NULL ? s->m.hull[hull].vert + 3 * i : NULL, *size = tgi_damped_size(s, side->of);
  for (int c = 0; c < 3; c++) {
    own[p->axis[c]] += (vert != NULL ? vert[c] : p->place[3 * i + c]) * rbar[c];
    if (vert != NULL && grad->hull_vert != NULL) grad->hull_vert[3 * (s->m.hull_vertadr[hull] + i) + c] += rbar[c] * size[c];
  }
  if (p->round) own[0] += radius;
}

typedef struct Held { tgReal V[6], Z[6], mu, slip; } Held;

static void one_proxy(const tgSim *s, const tgiDampedSide *side, int i, const tgPose *pose, const tgiDampedNumbers *numbers, const Held *k,
                      Bars *out, tgParamGrad *grad) {
  const tgiProxyState *state = &((const tgiDampedWork *)s->solver)->state[side->first + i];
  Place start, middle, end;
  tgReal local[3], n[3], xc[3], w[3], u[3], slide[3], t[3], alpha = numbers->alpha.f;
  double weight = tgi_damped_share(s, side) * side->proxies->weight[i];
  place(s, side, state, &s->start, &start);
  place(s, side, state, pose, &middle);
  place(s, side, state, &s->end, &end);
  tgi_v3_unit(local, middle.G.d);
  tgi_proxy_turn(side, pose, local, n);
  tgi_v3_copy(xc, middle.x);
  tgi_v3_axpy(xc, -state->radius, n);
  tgi_sp_point_velocity(w, k->V, xc);
  tgi_sp_point_velocity(u, k->Z, xc);
  tgReal along = tgi_v3_dot(n, w);
  tgi_v3_copy(slide, w);
  tgi_v3_axpy(slide, -along, n);
  tgReal r = tgSqrt(tgi_v3_dot(slide, slide) + k->slip * k->slip), gap = end.G.f - start.G.f, slip = tgi_v3_dot(slide, u);
  tgiDampedForce f;
  tgi_damped_force(numbers, end.G.f - state->radius + s->widened + alpha * gap, &f);
  // phi = weight force (n . u - mu slide . u/r)
  tgReal by_force = weight * (tgi_v3_dot(n, u) - k->mu * slip / r), by_gap = f.slope * by_force;
  tgReal force = weight * f.f, most = k->mu * force / r;
  out->amplitude += f.by_amplitude * by_force;
  out->length += f.by_length * by_force;
  out->alpha += by_gap * gap;
  out->mu -= force * slip / r;
  out->slip += most * slip * k->slip / (r * r);
  tgReal wbar[3], nbar[3], xbar[3], ybar[3], rbar[3] = {0}, radius = 0, *field = out->size[!side->second], *own = out->size[side->second];
  // of the sliding velocity, then of the velocity and the normal
  for (int c = 0; c < 3; c++) wbar[c] = -most * (u[c] - slip * slide[c] / (r * r));
  tgReal across = tgi_v3_dot(n, wbar);
  for (int c = 0; c < 3; c++) nbar[c] = force * u[c] - wbar[c] * along - w[c] * across;
  tgi_v3_axpy(wbar, -across, n);
  // of x_c: u and w there
  for (int c = 0; c < 3; c++) t[c] = force * n[c] - most * slide[c];
  tgi_v3_cross(xbar, t, k->Z);
  tgi_v3_cross(t, wbar, k->V);
  tgi_v3_add(xbar, xbar, t);
  tgi_v3_axpy(nbar, -state->radius, xbar);
  radius -= tgi_v3_dot(n, xbar);
  if (tgi_damped_options(s->contact_model)->held_normals) tgi_v3_zero(nbar);
  normal_bars(side, &middle, nbar, ybar, field);
  to_geom(side, &middle, ybar, xbar, rbar);
  gap_bars(side, &end, (1 + alpha) * by_gap, rbar, &radius, field);
  tgReal unused = 0;
  gap_bars(side, &start, -alpha * by_gap, rbar, &unused, field);
  radius += alpha * by_gap;
  shape_bars(s, side, i, rbar, radius, own, grad);
}

static void add_friction(const tgSim *s, int pair, tgReal bar, tgParamGrad *p) {
  int geom;
  if (s->m.pair_condim[pair] == 1) return;
  tgi_pair_friction(&s->m, pair, 0, &geom);
  if (geom >= 0 && p->geom_friction != NULL) p->geom_friction[geom] += bar;
  if (geom < 0 && p->pair_friction != NULL) p->pair_friction[2 * s->m.pair_own[pair]] += bar;
}

static void add_numbers(tgSim *s, const tgiDampedPair *pair, const Bars *bar, tgParamGrad *p) {
  tgiDampedNumbers n;
  tgReal from[6];
  tgReal *to[6] = {TG_NUMBER_GRAD(p, resting_gap), TG_NUMBER_GRAD(p, damping_ratio), NULL,
                   TG_NUMBER_GRAD(p, stiffness), TG_NUMBER_GRAD(p, onset), p->opt_timestep};
  tgi_damped_from(s, pair, s->h, from);
  tgi_damped_numbers_of(s->contact_model, pair, from, (tgiJets){6, 1}, &n);
  for (int i = 0; i < 6; i++)
    if (to[i] != NULL) *to[i] += bar->amplitude * n.amplitude.d[i] + bar->length * n.length.d[i] + bar->alpha * n.alpha.d[i];
  tgReal *slip = TG_NUMBER_GRAD(p, slip_speed);
  if (slip != NULL) *slip += bar->slip;
}

// places of the two geoms, at the three poses
static void add_places(const tgSim *s, const tgPose *pose, const tgiDampedPair *pair, const tgPairTerm *t, const tgReal Z[12],
                       tgParamGrad *p) {
  const tgPose *const at[3] = {pose, &s->start, &s->end};
  const tgReal *const D[3] = {t->X, t->B, t->E};
  if (p->geom_pos == NULL && p->geom_quat == NULL) return;
  for (int k = 0; k < 3; k++) {
    tgReal bar[12] = {0};
    for (int r = 0; r < 12; r++)
      for (int c = 0; c < 12; c++) bar[c] += Z[r] * D[k][12 * r + c];
    for (int side = 0; side < 2; side++) tgi_geom_parameters(s, at[k], pair->geom[side], bar + 6 * side, p);
  }
}

static void one_term(tgSim *s, const tgPose *pose, int term, const tgReal *Z, tgParamGrad *p) {
  const tgiDamped *model = tgi_damped(s);
  const tgiDampedWork *w = tgi_damped_work(s);
  const tgiDampedPair *pair = &model->pair[w->pair[term]];
  const tgPairTerm *t = &s->term[term];
  tgReal both[12];
  Bars bar = {.amplitude = 0};
  tgi_sp_copy(both, Z + 6 * t->body1);
  tgi_sp_copy(both + 6, Z + 6 * t->body2);
  add_places(s, pose, pair, t, both, p);
  for (int j = pair->side; j < pair->side + pair->nside; j++) {
    const tgiDampedSide *side = &model->side[j];
    if (!w->side[j].live) continue;
    int of = s->m.geom_body[side->of], in = s->m.geom_body[side->in];
    Held k = {.mu = tgi_damped_friction(s, pair), .slip = TG_NUMBER(s, slip_speed)};
    tgi_sp_sub(k.V, pose->V + 6 * of, pose->V + 6 * in);
    tgi_sp_sub(k.Z, Z + 6 * of, Z + 6 * in);
    for (int n = 0; n < side->proxies->n; n++)
      if (tgi_proxy_takes_part(s, &w->state[side->first + n])) one_proxy(s, side, n, pose, &w->numbers[w->pair[term]], &k, &bar, p);
  }
  for (int g = 0; g < 2; g++) {
    int geom = pair->geom[g], type = s->m.geom_type[geom];
    tgReal *size = type == TG_GEOM_MESH ? p->geom_scale : p->geom_size;
    if (size != NULL && type != TG_GEOM_PLANE) tgi_v3_add(size + 3 * geom, size + 3 * geom, bar.size[g]);
  }
  add_friction(s, pair->pair, bar.mu, p);
  add_numbers(s, pair, &bar, p);
}

tgStatus tgi_damped_parameters(tgSim *s, const tgPose *pose, const tgReal *Z, int only, tgParamGrad *p) {
  for (int i = 0; i < s->nterm; i++)
    if (only < 0 || only == i) one_term(s, pose, i, Z, p);
  return TG_OK;
}
