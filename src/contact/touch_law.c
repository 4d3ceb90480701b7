// touch_law.c: the adjoint of what is told of the contacts of a law: from their forces, points and axes to the wrenches of its terms.
//
// Of the wrench (m; f) at the world's origin on the body of the first geom: the force is -f, its moment along f the torque,
// T = -f (f.m)/f.f, and the point is on the line of action, P = f x m/f.f + a f, where that crosses a plane. Of that plane nothing is known
// but where it is one of the world: a gradient in P may have no part along f elsewhere.
#include "contact/touch_law.h"

#include <math.h>

#include "contact/rows.h"
#include "kin/kinematics.h"

static bool is_plane_of_world(const tgSim *s, int geom) {
  return s->m.geom_type[geom] == TG_GEOM_PLANE && s->m.body_lastdof[s->m.geom_body[geom]] < 0;
}

static bool slides_freely(const tgSim *s, int geom1, int geom2) {
  int pair = tgi_pair_of(&s->m, geom1, geom2);
  return pair >= 0 && (s->m.pair_condim[pair] == 1 || tgRe(tgi_pair_friction(&s->m, pair, 0, NULL)) == 0);
}

static tgStatus unknown(tgSim *s, const tgContactInfo *c, const char *what) {
  char a[128], b[128];
  return tgi_error(&s->error, TG_ERR_UNSUPPORTED, "Under the contact model %s, of the contact of %s and %s %s.",
                   s->contact_model->kind->word, tgi_model_label(&s->m, TG_THING_GEOM, c->geom1, a, sizeof a),
                   tgi_model_label(&s->m, TG_THING_GEOM, c->geom2, b, sizeof b), what);
}

static bool any(const tgReal x[3]) { return x[0] != 0 || x[1] != 0 || x[2] != 0; }

// what the normal weighs, n its direction
static tgStatus of_normal(tgSim *s, const tgContactInfo *c, bool plane, const tgReal gn[3], const tgReal f[3], tgReal to[3]) {
  const tgLaw *law = s->contact_model->kind->law;
  tgReal ff = tgi_v3_dot(f, f), length = tgSqrt(ff), along = tgi_v3_dot(gn, f) / ff;
  double off = 0;
  if (!any(gn) || (plane && law->plane_normal)) return TG_OK;
  for (int i = 0; i < 3; i++) off = fmax(off, fabs(c->frame[i] + tgRe(f[i] / length)));
  if (!slides_freely(s, c->geom1, c->geom2) || off > 1e-9)
    return unknown(s, c, "the axes have no derivative, and with them `force`; `world` has one");
  for (int i = 0; i < 3; i++) to[3 + i] -= (gn[i] - along * f[i]) / length;
  return TG_OK;
}

// what the point weighs: P = P0 + a f, P0 = f x m/f.f
static tgStatus of_point(tgSim *s, const tgContactInfo *c, bool plane, const tgReal gp[3], const tgReal f[3], const tgReal m[3],
                         tgReal to[6]) {
  tgReal ff = tgi_v3_dot(f, f), along = tgi_v3_dot(gp, f), g[3], P0[3], P[3], x[3];
  if (!any(gp)) return TG_OK;
  tgi_v3_copy(g, gp);
  for (int i = 0; i < 3; i++) P[i] = c->point[i];
  if (plane && s->contact_model->kind->law->plane_point) {
    tgReal n[3], fn = 0;
    for (int i = 0; i < 3; i++) n[i] = c->frame[i];
    fn = tgi_v3_dot(f, n);
    if (fabs(tgRe(fn)) <= 1e-3 * sqrt(tgRe(ff))) return unknown(s, c, "the point has no derivative");
    tgi_v3_axpy(g, -along / fn, n);
  } else if (fabs(tgRe(along)) > 1e-12 * sqrt(tgRe(tgi_v3_dot(gp, gp) * ff))) {
    return unknown(s, c, "the point has no derivative along the force, but only across it");
  }
  tgi_v3_cross(P0, f, m);
  tgi_v3_scale(P0, P0, 1 / ff);
  tgReal a = tgi_v3_dot(f, P) / ff;
  tgi_v3_cross(x, m, g);
  for (int i = 0; i < 3; i++) to[3 + i] += x[i] / ff - 2 * tgi_v3_dot(g, P0) * f[i] / ff + a * g[i];
  tgi_v3_cross(x, g, f);
  for (int i = 0; i < 3; i++) to[i] += x[i] / ff;
  return TG_OK;
}

// to (6): the gradient in (m; f); c is as the law tells it
static tgStatus resultant_vjp(tgSim *s, const tgContactInfo *c, const tgiTouchGrad *g, tgReal to[6]) {
  bool plane = is_plane_of_world(s, c->geom1) || is_plane_of_world(s, c->geom2);
  tgReal f[3], P[3], m[3];
  for (int i = 0; i < 3; i++) {
    f[i] = -c->world[i];
    P[i] = c->point[i];
  }
  tgi_v3_cross(m, P, f);
  for (int i = 0; i < 3; i++) m[i] -= c->torque[i];
  tgReal ff = tgi_v3_dot(f, f), pitch = tgi_v3_dot(f, m) / ff, turn = tgi_v3_dot(g->torque, f);
  for (int i = 0; i < 3; i++) {
    to[i] = -turn * f[i] / ff;
    to[3 + i] = -g->world[i] - g->torque[i] * pitch - turn * (m[i] - 2 * pitch * f[i]) / ff;
  }
  TG_TRY(of_normal(s, c, plane, g->normal, f, to));
  return of_point(s, c, plane, g->point, f, m, to);
}

// the term of a contact, and which of its bodies is that of the first geom
static int term_of(const tgSim *s, int i, const tgContactInfo *c, int *side) {
  if (!s->contact_model->kind->law->by_bodies) {
    *side = s->term[i].body1 == c->body1 ? 0 : 1;
    return i;
  }
  // of bodies that are welded together as one
  int body1 = s->m.body_weld[c->body1], body2 = s->m.body_weld[c->body2];
  for (int t = 0; t < s->nterm; t++)
    for (*side = 0; *side < 2; ++*side)
      if (body1 == (*side == 0 ? s->term[t].body1 : s->term[t].body2) && body2 == (*side == 0 ? s->term[t].body2 : s->term[t].body1))
        return t;
  return -1;
}

tgStatus tgi_law_seeds(tgSim *s, const tgiTouchGrad *g, tgReal *seed) {
  const tgContactModel *kind = s->contact_model->kind;
  size_t mark = tgi_stack_mark(s);
  bool *told = tgi_stack_bytes(s, ((size_t)s->nterm + 1) * sizeof *told);
  if (told == NULL) return tgi_error(&s->error, TG_ERR_CAPACITY, "Scratch too small for the adjoint of contacts; reserve more and repeat.");
  for (int t = 0; t < s->nterm; t++) told[t] = false;
  for (int i = 0; i < 12 * s->nterm; i++) seed[i] = 0;
  for (int i = 0, n = kind->touches(s); i < n; i++) {
    tgContactInfo c;
    tgReal to[6];
    int side = 0;
    if (!kind->touch(s, i, &c)) continue;
    int t = term_of(s, i, &c, &side);
    TG_TRY(resultant_vjp(s, &c, &g[i], to));
    if (t < 0) return unknown(s, &c, "forces have no derivative");
    tgReal *at = seed + 12 * t + 6 * side;
    double most = 0, off = 0;
    for (int k = 0; k < 6; k++) {
      most = fmax(most, fmax(fabs(tgRe(at[k])), fabs(tgRe(to[k]))));
      off = fmax(off, fabs(tgRe(at[k] - to[k])));
    }
    if (told[t] && off > 1e-12 * most)
      return unknown(s, &c, "the force alone has no derivative, as their bodies meet by other geoms too: the wrench of all has one");
    for (int k = 0; k < 6 && !told[t]; k++) at[k] = to[k];
    told[t] = true;
  }
  tgi_stack_free(s, mark);
  return TG_OK;
}

tgStatus tgi_law_seeds_parameters(tgSim *s, const tgPose *pose, const tgReal *seed, tgReal *Z, tgParamGrad *p) {
  for (int t = 0; t < s->nterm; t++) {
    const tgReal *own = seed + 12 * t;
    bool weighs = false;
    for (int k = 0; k < 12; k++) weighs = weighs || own[k] != 0;
    if (!weighs) continue;
    for (int i = 0; i < 6 * s->m.nbody; i++) Z[i] = 0;
    for (int k = 0; k < 12; k++) Z[6 * (k < 6 ? s->term[t].body1 : s->term[t].body2) + k % 6] = own[k];
    TG_TRY(s->contact_model->kind->law->parameters(s, pose, Z, t, p));
  }
  return TG_OK;
}

// A twist (w; v) of the plane turns the normal N, dN = w x N, and moves the point along f by da, f.N da = v.N + w.(P x N).
static void plane_parameters(tgSim *s, const tgPose *pose, int geom, const tgContactInfo *c, const tgiTouchGrad *g, tgParamGrad *p) {
  const tgLaw *law = s->contact_model->kind->law;
  tgReal twist[6], N[3], P[3], turn[3], along = 0, fn = 0;
  for (int i = 0; i < 3; i++) {
    N[i] = c->frame[i];
    P[i] = c->point[i];
    along += g->point[i] * c->world[i];
    fn += N[i] * c->world[i];
  }
  tgi_sp_screw(twist, P, N);
  for (int i = 0; i < 6; i++) twist[i] *= law->plane_point && along != 0 ? along / fn : 0;
  tgi_v3_cross(turn, N, g->normal);
  if (law->plane_normal) tgi_v3_add(twist, twist, turn);
  tgi_geom_parameters(s, pose, geom, twist, p);
  tgi_param_pose(p, s->m.geom_body[geom], twist);
}

void tgi_law_planes_parameters(tgSim *s, const tgPose *pose, const tgiTouchGrad *g, tgParamGrad *p) {
  const tgContactModel *kind = s->contact_model->kind;
  for (int i = 0, n = kind->touches(s); i < n; i++) {
    tgContactInfo c;
    if (!kind->touch(s, i, &c)) continue;
    if (is_plane_of_world(s, c.geom1)) plane_parameters(s, pose, c.geom1, &c, &g[i], p);
    else if (is_plane_of_world(s, c.geom2)) plane_parameters(s, pose, c.geom2, &c, &g[i], p);
  }
}
