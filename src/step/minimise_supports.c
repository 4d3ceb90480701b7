// minimise_supports.c: what a step that minimises does not support, refused by name before a simulation is made.
//
// Its forces are derivatives of energies of the configuration [math/barrier Step]. The forces of a medium are none, nor
// is a force on several joints of which one is clamped by a sum that the others do not see.
#include "dyn/sheet.h"
#include "step/minimise.h"

// a tendon's actuator that works on a joint whose summed force is limited
static tgStatus supports_actuator(const tgModel *m, int i, tgError *error) {
  char tendon[160], joint[160];
  int t = m->act_target[i];
  for (int w = m->ten_adr[t]; w < m->ten_adr[t] + m->ten_num[t]; w++)
    if (tgi_sum_limited(m, m->wrap_jnt[w]))
      return tgi_error(error, TG_ERR_UNSUPPORTED,
                       "%s drives a tendon over %s, which has a range of actuator forces: these have no energy together, which a "
                       "contact model with a potential needs; take another, `lcp` or `damped`.",
                       tgi_model_label(m, TG_THING_ACTUATOR, i, tendon, sizeof tendon),
                       tgi_model_label(m, TG_THING_JOINT, m->wrap_jnt[w], joint, sizeof joint));
  return TG_OK;
}

static tgStatus refuse_site(const tgModel *m, int i, tgError *error) {
  char label[160];
  return tgi_error(error, TG_ERR_UNSUPPORTED,
                   "%s pushes at a site, with a force that has no energy, which a contact model with a potential needs; take another, "
                   "`lcp` or `damped`.", tgi_model_label(m, TG_THING_ACTUATOR, i, label, sizeof label));
}

static tgStatus refuse_spatial(const tgModel *m, int t, tgError *error) {
  char label[160];
  return tgi_error(error, TG_ERR_UNSUPPORTED,
                   "%s runs from site to site, which a contact model with a potential does not support; take another, `lcp`, `toi` or "
                   "`damped`.", tgi_model_label(m, TG_THING_TENDON, t, label, sizeof label));
}

tgStatus tgi_minimise_supports(const tgModel *m, tgError *error) {
  for (int t = 0; t < m->ntendon; t++)
    if (tgi_is_spatial(m, t)) return refuse_spatial(m, t, error);
  for (int i = 0; i < m->nu; i++)
    if (m->act_trn[i] == TG_TRN_SITE) return refuse_site(m, i, error);
  for (int i = 0; i < m->nu; i++)
    if (m->act_trn[i] == TG_TRN_TENDON) TG_TRY(supports_actuator(m, i, error));
  if (tgi_has_sheet(m)) {
    char sheet[160];
    int f = 0;
    while (!m->flex_stretch[f] && !m->flex_bend[f]) f++;
    return tgi_error(error, TG_ERR_UNSUPPORTED,
                     "%s is elastic, which a contact model with a potential does not support; take `damped`, which is implicit in it.",
                     tgi_model_label(m, TG_THING_FLEX, f, sheet, sizeof sheet));
  }
  if (tgRe(m->opt_density[0]) != 0 || tgRe(m->opt_viscosity[0]) != 0)
    return tgi_error(error, TG_ERR_UNSUPPORTED,
                     "A medium (opt_density, opt_viscosity) acts, whose forces have no energy, which a contact model with a potential "
                     "needs; take another, `lcp` or `damped`.");
  return TG_OK;
}
