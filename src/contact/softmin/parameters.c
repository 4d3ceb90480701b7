// parameters.c: adjoint of the `softmin` model's forces in the numbers of geoms and pairs; see tgLaw.parameters.
//
// A geom's place moves its points as a twist of it does with the velocity of its body held: X of the pair. Its sizes
// move the points and turn the normals, whose adjoint the pair gives [math/softmin Parameters].
#include <string.h>

#include "contact/rows.h"
#include "contact/softmin/softmin.h"
#include "math/spatial.h"

static tgStatus no_room(tgSim *s) {
  return tgi_error(&s->error, TG_ERR_CAPACITY, "Scratch too small for the gradient in numbers of contacts; reserve more and repeat.");
}

static tgReal *sizes_of(const tgSim *s, int g, const tgParamGrad *p) {
  tgReal *all = s->m.geom_type[g] == TG_GEOM_MESH ? p->geom_scale : p->geom_size;
  return all != NULL && !tgi_softmin(s)->cloud[g].flat ? all + 3 * g : NULL;
}

static bool wants_points(const tgParamGrad *p, int g) { return p->point != NULL && p->points_of == g; }

// places of the two geoms
static void places(tgSim *s, const tgPose *pose, int i, const tgReal Z[12], tgParamGrad *p) {
  const tgPairTerm *f = &s->term[i];
  tgReal bar[12] = {0};
  if (p->geom_pos == NULL && p->geom_quat == NULL) return;
  for (int r = 0; r < 12; r++)
    for (int c = 0; c < 12; c++) bar[c] += Z[r] * f->X[12 * r + c];
  for (int side = 0; side < 2; side++) tgi_geom_parameters(s, pose, tgi_softmin(s)->pair[i].geom[side], bar + 6 * side, p);
}

static void friction(const tgSim *s, int pair, tgReal bar, tgParamGrad *p) {
  int geom;
  if (s->m.pair_condim[pair] == 1) return;
  tgi_pair_friction(&s->m, pair, 0, &geom);
  if (geom >= 0 && p->geom_friction != NULL) p->geom_friction[geom] += bar;
  if (geom < 0 && p->pair_friction != NULL) p->pair_friction[2 * s->m.pair_own[pair]] += bar;
}

// Where the derivative in a number goes, NULL when it is not chosen. A number that is 0 stands for one that follows
// from geometry and masses.
static tgReal *chosen(tgReal value, tgReal *bar) { return tgRe(value) > 0 ? bar : NULL; }

typedef struct Numbers { tgReal *k, *eps1, *eps2, *eps3, *v_d, *v_s; } Numbers;

static Numbers numbers_of(const tgSim *s, const tgParamGrad *p) {
  return (Numbers){.k = chosen(TG_NUMBER(s, stiffness), TG_NUMBER_GRAD(p, stiffness)),
                   .eps1 = chosen(TG_NUMBER(s, eps1), TG_NUMBER_GRAD(p, eps1)),
                   .eps2 = chosen(TG_NUMBER(s, eps2), TG_NUMBER_GRAD(p, eps2)),
                   .eps3 = chosen(TG_NUMBER(s, eps3), TG_NUMBER_GRAD(p, eps3)),
                   .v_d = TG_NUMBER_GRAD(p, dissipation_speed), .v_s = TG_NUMBER_GRAD(p, slip_speed)};
}

static bool any_number(const Numbers *n) {
  return n->k != NULL || n->eps1 != NULL || n->eps2 != NULL || n->eps3 != NULL || n->v_d != NULL || n->v_s != NULL;
}

static void add_numbers(const tgSim *s, const tgiSoftPair *x, const tgiSoftPairBar *bar, const Numbers *n) {
  tgReal eps3 = bar->law.eps;
  // the derived stiffness goes as 1/eps3
  if (tgRe(TG_NUMBER(s, stiffness)) == 0) eps3 -= bar->law.k * x->law.k / x->law.eps;
  if (n->k != NULL) *n->k += bar->law.k;
  if (n->eps1 != NULL) *n->eps1 += bar->eps1[0] + bar->eps1[1];
  if (n->eps2 != NULL) *n->eps2 += bar->eps2;
  if (n->eps3 != NULL) *n->eps3 += eps3;
  if (n->v_d != NULL) *n->v_d += bar->law.v_d;
  if (n->v_s != NULL) *n->v_s += bar->law.v_s;
}

static tgStatus one_pair(tgSim *s, const tgPose *pose, int i, const tgReal *Z, tgParamGrad *p) {
  const tgiSoftGeoms *g = &tgi_softmin(s)->pair[i];
  const tgPairTerm *f = &s->term[i];
  tgReal pair_Z[12];
  tgi_sp_copy(pair_Z, Z + 6 * f->body1);
  tgi_sp_copy(pair_Z + 6, Z + 6 * f->body2);
  places(s, pose, i, pair_Z, p);
  tgReal *size[2] = {sizes_of(s, g->geom[0], p), sizes_of(s, g->geom[1], p)};
  Numbers numbers = numbers_of(s, p);
  bool points[2] = {wants_points(p, g->geom[0]), wants_points(p, g->geom[1])};
  if (size[0] == NULL && size[1] == NULL && !points[0] && !points[1] && p->geom_friction == NULL &&
      p->pair_friction == NULL && !any_number(&numbers))
    return TG_OK;
  tgiSoftPair x = tgi_softmin_pair(s, pose, i);
  tgiSoftPairBar bar = {.eps2 = 0};
  for (int side = 0; side < 2; side++) {
    size_t n = 3 * (size_t)x.side[side].surface.n;
    if (size[side] == NULL && !points[side]) continue;
    bar.p[side] = tgi_stack_real(s, 2 * n);
    if (bar.p[side] == NULL) return no_room(s);
    bar.normal[side] = bar.p[side] + n;
    for (size_t k = 0; k < 2 * n; k++) bar.p[side][k] = 0;
  }
  double tau = tgi_softmin_options(s->contact_model)->prune;
  tgiSoftIndex index[2];
  tgi_softmin_index(s, i, index);
  if (tau > 0) tgi_soft_pair_fast_vjp(&x, index, tau, pair_Z, &tgi_softmin_work(s)->plan[i], &bar);
  else tgi_soft_pair_vjp(&x, pair_Z, tgi_softmin_work(s)->work, &bar);
  for (int side = 0; side < 2; side++) {
    for (int k = 0; k < 3 * x.side[side].surface.n && points[side]; k++) {
      p->point[k] += bar.p[side][k];
      p->point_normal[k] += bar.normal[side][k];
    }
    if (size[side] == NULL) continue;
    size[side][0] += bar.ball[side];
    tgi_cloud_place_vjp(&tgi_softmin(s)->cloud[g->geom[side]], tgi_softmin_work(s)->geom[g->geom[side]].size,
                        bar.p[side], bar.normal[side], NULL, size[side]);
  }
  friction(s, g->pair, bar.law.mu, p);
  add_numbers(s, &x, &bar, &numbers);
  return TG_OK;
}

tgStatus tgi_softmin_parameters(tgSim *s, const tgPose *pose, const tgReal *Z, int only, tgParamGrad *p) {
  for (int i = only < 0 ? 0 : only; i < (only < 0 ? s->nterm : only + 1); i++) {
    size_t mark = tgi_stack_mark(s);
    TG_TRY(one_pair(s, pose, i, Z, p));
    tgi_stack_free(s, mark);
  }
  return TG_OK;
}
