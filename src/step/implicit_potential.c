// implicit_potential.c: the contact potential at a pose, apart from any step. See tg_sim_contact_potential.
#include "kin/kinematics.h"
#include "step/implicit.h"

static tgStatus no_room(tgSim *s) { return tgi_error(&s->error, TG_ERR_CAPACITY, "Scratch too small for the contact potential; reserve more and repeat."); }

// the pair terms at the present pose
static tgStatus evaluate(tgSim *s) {
  const tgPotentialModel *kind = s->contact_model->kind->potential;
  tgi_kinematics(&s->m, s->qpos, &s->start);
  TG_TRY(kind->begin(s, tgRe(s->m.opt_timestep[0])));
  TG_TRY(kind->evaluate(s, &s->start));
  if (tgRe(s->potential) < INFINITY) return TG_OK;
  return tgi_error(&s->error, TG_ERR_INVALID, "Bodies touch at this pose, where the contact potential is infinite; move them apart.");
}

// gradient += J' g, g the derivative in the twist (angular; linear) of a body at the world's origin
static void add_wrench(tgSim *s, int body, const tgReal *g, tgReal *J, tgReal *gradient) {
  static const tgReal origin[3] = {0};
  int nv = s->m.nv;
  tgi_point_jacobian(s, &s->start, body, origin, J);
  for (int k = 0; k < 6; k++)
    for (int d = 0; d < nv; d++) gradient[d] += J[k * nv + d] * g[k];
}

tgStatus tgi_implicit_potential(tgSim *s, tgReal *energy, tgReal *gradient) {
  TG_TRY(evaluate(s));
  if (energy != NULL) *energy = s->potential;
  if (gradient == NULL) return TG_OK;
  tgReal *J = tgi_stack_real(s, 6 * (size_t)s->m.nv);
  if (J == NULL) return no_room(s);
  for (int d = 0; d < s->m.nv; d++) gradient[d] = 0;
  for (int t = 0; t < s->nterm; t++) {
    add_wrench(s, s->term[t].body1, s->term[t].g, J, gradient);
    add_wrench(s, s->term[t].body2, s->term[t].g + 6, J, gradient);
  }
  return TG_OK;
}
