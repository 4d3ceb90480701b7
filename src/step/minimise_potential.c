// minimise_potential.c: the contact potential at a pose, apart from any step. See tg_sim_contact_potential.
#include "kin/kinematics.h"
#include "step/minimise.h"

static tgStatus no_room(tgSim *s) {
  return tgi_error(&s->error, TG_ERR_CAPACITY, "Scratch too small for the contact potential; reserve more and repeat.");
}

// the pair terms at the present pose
static tgStatus evaluate(tgSim *s) {
  const tgLaw *law = s->contact_model->kind->law;
  tgi_kinematics(&s->m, s->qpos, &s->start);
  TG_TRY(law->begin(s, tgRe(s->m.opt_timestep[0])));
  TG_TRY(law->evaluate(s, &s->start, TG_LAW_ENERGY));
  if (tgRe(s->energy) < INFINITY) return TG_OK;
  return tgi_error(&s->error, TG_ERR_INVALID, "Bodies touch at this pose, where the contact potential is infinite; move them apart.");
}

// gradient -= J' w, w the wrench (moment; force) on a body about the world's origin
static void add_wrench(tgSim *s, int body, const tgReal *w, tgReal *J, tgReal *gradient) {
  static const tgReal origin[3] = {0};
  int nv = s->m.nv;
  tgi_point_jacobian(s, &s->start, body, origin, J);
  for (int k = 0; k < 6; k++)
    for (int d = 0; d < nv; d++) gradient[d] -= J[k * nv + d] * w[k];
}

tgStatus tgi_minimise_potential(tgSim *s, tgReal *energy, tgReal *gradient) {
  TG_TRY(evaluate(s));
  if (energy != NULL) *energy = s->energy;
  if (gradient == NULL) return TG_OK;
  tgReal *J = tgi_stack_real(s, 6 * (size_t)s->m.nv);
  if (J == NULL) return no_room(s);
  for (int d = 0; d < s->m.nv; d++) gradient[d] = 0;
  for (int t = 0; t < s->nterm; t++) {
    add_wrench(s, s->term[t].body1, s->term[t].w, J, gradient);
    add_wrench(s, s->term[t].body2, s->term[t].w + 6, J, gradient);
  }
  return TG_OK;
}
