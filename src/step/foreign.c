// foreign.c: the gradient of a step taken from another contact model at the state that the step began from.
//
// The other model makes its own step from (q, v, u) and that step is differentiated. Coordinates, velocities and
// controls are the same in both models, and so are their tangents: adjoints and Jacobians carry over unchanged.
#include <stdio.h>
#include <string.h>

#include "contact/contact.h"
#include "sim/param.h"

static const char *word_of(const tgSim *s) { return s->contact_model != NULL ? tg_contact_word(s->contact_model) : "none"; }

static tgStatus failed(tgSim *s, const tgSim *by, tgStatus status) {
  const tgError *e = tg_sim_error(by);
  return tgi_error(&s->error, status, "The gradient by contact model '%s': %s", word_of(by),
                   e->text[0] != '\0' ? e->text : tg_status_text(status));
}

static tgStatus step_from_start(tgSim *s, tgSim *by) {
  if (s == by || by->model != s->model)
    return tgi_error(&s->error, TG_ERR_ARG, "The gradient by contact model '%s' needs a second simulation of the same model.", word_of(by));
  if (s->stage != TG_STAGE_STEPPED)
    return tgi_error(&s->error, TG_ERR_STATE, "A step's derivative is asked for after something else than a successful step; step first.");
  tgi_sim_take_start(by, s);
  const volatile int *own = by->watch.cancel;
  if (own == NULL) by->watch.cancel = s->watch.cancel;
  tgStatus status = tg_sim_step(by, s->h, NULL);
  by->watch.cancel = own;
  return status != TG_OK ? failed(s, by, status) : TG_OK;
}

// what the gradient is of comes first, then what its own label had to say
static void label(const tgSim *s, const tgSim *by, tgGradInfo *info) {
  char own[sizeof info->reason], gaps[48] = "";
  if (info == NULL) return;
  memcpy(own, info->reason, sizeof own);
  if (by->widened > 0) snprintf(gaps, sizeof gaps, ", gaps seen %.3g m wider", by->widened);
  int used = snprintf(info->reason, sizeof info->reason, "the gradient is of contact model '%s'%s, the step of '%s'",
                      word_of(by), gaps, word_of(s));
  if (own[0] != '\0' && used > 0 && (size_t)used < sizeof info->reason)
    snprintf(info->reason + used, sizeof info->reason - (size_t)used, "; %.*s", (int)(sizeof info->reason - (size_t)used) - 3, own);
  info->label = TG_GRAD_SURROGATE;
  info->converged = info->converged && s->info.converged;
}

tgStatus tg_sim_step_vjp_by(tgSim *sim, tgSim *by, const tgReal *gq, const tgReal *gv, tgReal *dq, tgReal *dv,
                            tgReal *du, tgParamGrad *dp, tgGradInfo *info) {
  if (sim == NULL || by == NULL || (dp != NULL && !tgi_param_fits(dp, by))) return TG_ERR_ARG;
  if (!tgi_sim_claim(sim)) return TG_ERR_STATE;
  tgStatus status = step_from_start(sim, by);
  if (status == TG_OK) {
    status = tg_sim_step_vjp(by, gq, gv, dq, dv, du, dp, info);
    if (status == TG_OK) label(sim, by, info);
    else failed(sim, by, status);
  }
  tgi_sim_release(sim);
  return status;
}

tgStatus tg_sim_step_jacobian_by(tgSim *sim, tgSim *by, tgReal *D, tgGradInfo *info) {
  if (sim == NULL || by == NULL || D == NULL) return TG_ERR_ARG;
  if (!tgi_sim_claim(sim)) return TG_ERR_STATE;
  tgStatus status = step_from_start(sim, by);
  if (status == TG_OK) {
    status = tg_sim_step_jacobian(by, D, info);
    if (status == TG_OK) label(sim, by, info);
    else failed(sim, by, status);
  }
  tgi_sim_release(sim);
  return status;
}
