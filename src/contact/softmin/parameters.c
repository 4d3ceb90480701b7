// parameters.c: adjoint of the `softmin` model's forces in the numbers of geoms and pairs; see tgForceModel.parameters.
//
// A geom's place moves its points as a twist of it does with the velocity of its body held: X of the pair. Its sizes move the points and turn the
// normals, whose adjoint the pair gives [math/softmin Parameters].
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

// places of the two geoms
static void places(tgSim *s, int i, const tgReal Z[12], tgParamGrad *p) {
  const tgPairForce *f = &s->force[i];
  tgReal bar[12] = {0};
  if (p->geom_pos == NULL && p->geom_quat == NULL) return;
  for (int r = 0; r < 12; r++)
    for (int c = 0; c < 12; c++) bar[c] += Z[r] * f->X[12 * r + c];
  for (int side = 0; side < 2; side++) tgi_geom_parameters(s, tgi_softmin(s)->pair[i].geom[side], bar + 6 * side, p);
}

static void friction(const tgSim *s, int pair, tgReal bar, tgParamGrad *p) {
  int geom;
  if (s->m.pair_condim[pair] == 1) return;
  tgi_pair_friction(&s->m, pair, 0, &geom);
  if (geom >= 0 && p->geom_friction != NULL) p->geom_friction[geom] += bar;
  if (geom < 0 && p->pair_friction != NULL) p->pair_friction[2 * pair] += bar;
}

static tgStatus one_pair(tgSim *s, int i, const tgReal *Z, tgParamGrad *p) {
  const tgiSoftGeoms *g = &tgi_softmin(s)->pair[i];
  const tgPairForce *f = &s->force[i];
  tgReal pair_Z[12];
  tgi_sp_copy(pair_Z, Z + 6 * f->body1);
  tgi_sp_copy(pair_Z + 6, Z + 6 * f->body2);
  places(s, i, pair_Z, p);
  tgReal *size[2] = {sizes_of(s, g->geom[0], p), sizes_of(s, g->geom[1], p)};
  if (size[0] == NULL && size[1] == NULL && p->geom_friction == NULL && p->pair_friction == NULL) return TG_OK;
  tgiSoftPair x = tgi_softmin_pair(s, i);
  tgiSoftPairBar bar = {.eps2 = 0};
  for (int side = 0; side < 2; side++) {
    size_t n = 3 * (size_t)x.side[side].surface.n;
    if (size[side] == NULL) continue;
    bar.p[side] = tgi_stack_real(s, 2 * n);
    if (bar.p[side] == NULL) return no_room(s);
    bar.normal[side] = bar.p[side] + n;
    for (size_t k = 0; k < 2 * n; k++) bar.p[side][k] = 0;
  }
  tgi_soft_pair_vjp(&x, pair_Z, tgi_softmin_work(s)->work, &bar);
  for (int side = 0; side < 2; side++)
    if (size[side] != NULL)
      tgi_cloud_place_vjp(&tgi_softmin(s)->cloud[g->geom[side]], tgi_softmin_work(s)->geom[g->geom[side]].size, bar.p[side], bar.normal[side], NULL, size[side]);
  friction(s, g->pair, bar.law.mu, p);
  return TG_OK;
}

tgStatus tgi_softmin_parameters(tgSim *s, const tgReal *Z, tgParamGrad *p) {
  if (p->hull_vert != NULL && s->m.nhullvert > 0)
    return tgi_error(&s->error, TG_ERR_UNSUPPORTED, "hull_vert has no derivative under this contact model, whose geoms are the meshes' own surfaces; geom_scale has.");
  for (int i = 0; i < s->nforce; i++) {
    size_t mark = tgi_stack_mark(s);
    TG_TRY(one_pair(s, i, Z, p));
    tgi_stack_free(s, mark);
  }
  return TG_OK;
}
