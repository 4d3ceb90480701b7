// express.c: what the step of potential models cannot express, refused by name before a simulation is made.
//
// Its forces are derivatives of energies of the configuration [math/barrier Step]; constraints that hold exactly, clamps of forces and the
// forces of a medium are none.
#include "contact/contact.h"

static tgStatus refuse(const tgModel *m, tgKindOfThing kind, int i, const char *what, tgError *error) {
  char label[160];
  return tgi_error(error, TG_ERR_UNSUPPORTED, "%s has %s, which a contact model with a potential cannot express; remove it or take another contact model.",
                   tgi_model_label(m, kind, i, label, sizeof label), what);
}

tgStatus tgi_potential_express(const tgModel *m, tgError *error) {
  for (int e = 0; e < m->neq; e++)
    if (m->eq_active[e]) return refuse(m, TG_THING_EQUALITY, e, "an equality", error);
  for (int i = 0; i < m->nu; i++)
    if (m->act_forcelimited[i]) return refuse(m, TG_THING_ACTUATOR, i, "a force range", error);
  for (int j = 0; j < m->njnt; j++)
    if (m->jnt_actfrclimited[j]) return refuse(m, TG_THING_JOINT, j, "a range of actuator forces", error);
  for (int t = 0; t < m->ntendon; t++)
    if (m->ten_limited[t]) return refuse(m, TG_THING_TENDON, t, "a limit", error);
  if (tgRe(m->opt_density[0]) != 0 || tgRe(m->opt_viscosity[0]) != 0)
    return tgi_error(error, TG_ERR_UNSUPPORTED,
                     "A medium (opt_density, opt_viscosity) acts, which a contact model with a potential cannot express; set both to 0 or take another contact model.");
  return TG_OK;
}
