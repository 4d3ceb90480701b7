// spring.c: the contact model `spring`. Each contact point of a pair at a gap g below the length l costs k (l - g)^2/2,
// equation (1) of its page.
//
// The gap's derivative in the twist of the first body is the screw of the normal at the point, (p x n; n), and in that
// of the second its opposite.
#include "contact/spring/spring.h"

#include "coll/contacts.h"
#include "math/spatial.h"
#include "tangere/spring.h"

#define SPRING(kind, ...) TGI_OPTION_##kind(tgSpringOptions, __VA_ARGS__)
static const tgiOption option[] = {TG_MINIMISE_OPTIONS(SPRING) TG_SPRING_OPTIONS(SPRING)};

static bool is_round(int type) { return type == TG_GEOM_SPHERE || type == TG_GEOM_CAPSULE; }

// the normals of other pairs do not follow from their gaps
static tgStatus prepare(tgContact *c, tgError *error) {
  const tgModel *m = c->model;
  char a[96], b[96];
  for (int i = 0; i < m->npair; i++) {
    int g = m->pair_geom1[i], h = m->pair_geom2[i];
    if (m->geom_type[g] == TG_GEOM_PLANE || m->geom_type[h] == TG_GEOM_PLANE || (is_round(m->geom_type[g]) && is_round(m->geom_type[h])))
      continue;
    return tgi_error(error, TG_ERR_UNSUPPORTED,
                     "%s and %s: this contact model takes planes with anything, and spheres and capsules with each "
                     "other.", tgi_model_label(m, TG_THING_GEOM, g, a, sizeof a),
                     tgi_model_label(m, TG_THING_GEOM, h, b, sizeof b));
  }
  return TG_OK;
}

static int terms(const tgContact *c) { return c->model->npair; }

static tgStatus begin(tgSim *s, double h) {
  (void)s;
  (void)h;
  return TG_OK;
}

// t += what the spring at the point adds; push: k (l - g)
static void add_point(const tgContactPoint *p, tgReal k, tgReal push, tgPairTerm *t) {
  tgReal screw[6], turn[6];
  tgi_sp_screw(screw, p->p, p->n);
  for (int side = 0; side < 2; side++) tgi_sp_axpy(t->w + 6 * side, side == 0 ? push : -push, screw);
  t->energy += push * push / (2 * k);
  for (int c = 0; c < 12; c++) {
    tgReal dp[3] = {p->D[0][c], p->D[1][c], p->D[2][c]}, dn[3] = {p->D[3][c], p->D[4][c], p->D[5][c]};
    tgi_sp_screw(turn, p->p, dn);
    tgi_v3_cross(dn, dp, p->n);
    tgi_v3_add(turn, turn, dn);
    for (int r = 0; r < 12; r++) t->X[12 * r + c] += (r < 6 ? 1 : -1) * (push * turn[r % 6] - k * p->D[6][c] * screw[r % 6]);
  }
}

static tgStatus evaluate(tgSim *s, const tgPose *pose, unsigned want) {
  const tgModel *m = &s->m;
  double length = ((const tgSpringOptions *)(const void *)s->contact_model->options)->length;
  (void)want;
  s->nterm = m->npair;
  s->energy = 0;
  s->info.least_distance = INFINITY;
  for (int i = 0; i < m->npair; i++) {
    int g = m->pair_geom1[i], h = m->pair_geom2[i], memory[TG_PAIR_MEMORY] = {0};
    tgContactPoint point[TG_PAIR_POINTS];
    tgHull hull[2];
    double distance = INFINITY;
    tgShape A = tgi_geom_shape(s, pose, g, 0, &hull[0]), B = tgi_geom_shape(s, pose, h, 1, &hull[1]);
    int n = tgi_collide(&A, &B, length, 0, TG_COLLIDE_POSE, memory, point, &distance);
    s->term[i] = (tgPairTerm){.body1 = m->geom_body[g], .body2 = m->geom_body[h]};
    for (int k = 0; k < n; k++)
      add_point(&point[k], TG_NUMBER(s, stiffness), TG_NUMBER(s, stiffness) * (length - point[k].gap), &s->term[i]);
    s->energy += s->term[i].energy;
    s->info.least_distance = fmin(s->info.least_distance, distance);
  }
  return TG_OK;
}

// forces are proportional to the stiffness; those of geoms are refused
static tgStatus parameters(tgSim *s, const tgPose *pose, const tgReal *Z, int only, tgParamGrad *p) {
  (void)pose;
  if (p->geom_size != NULL || p->geom_pos != NULL || p->geom_quat != NULL || p->geom_scale != NULL || p->hull_vert != NULL)
    return tgi_error(&s->error, TG_ERR_UNSUPPORTED, "The numbers of geoms have no derivative under this contact model.");
  tgReal *out = TG_NUMBER_GRAD(p, stiffness);
  for (int i = 0; i < s->nterm && out != NULL; i++) {
    if (only >= 0 && i != only) continue;
    const tgPairTerm *t = &s->term[i];
    *out += (tgi_sp_dot(t->w, Z + 6 * t->body1) + tgi_sp_dot(t->w + 6, Z + 6 * t->body2)) / TG_NUMBER(s, stiffness);
  }
  return TG_OK;
}

static const tgLaw law = {.has = TG_LAW_ENERGY | TG_LAW_POSE, .terms = terms, .begin = begin, .evaluate = evaluate,
                          .parameters = parameters};

const tgContactModel tgi_spring_model = {
    .word = "spring",
    .stepper = "minimise",
    .options = TGI_OPTION_LIST(option, tgSpringOptions),
    .prepare = prepare,
    .law = &law,
};
