// public.c: calls of tangere/step.h that a stepper may have an answer to. See sim/stepper.h.
#include "base/fpenv.h"
#include "contact/contact.h"

// ---- how long a step may be ----

static tgStatus step_advice(tgSim *s, tgStepAdvice *out) {
  if (s->stepper->advice != NULL) return s->stepper->advice(s, out);
  return tgi_error(&s->error, TG_ERR_UNSUPPORTED, "Steps of this contact model have no advice: none of its forces is explicit%s.",
                   s->m.nflex > 0 ? ", but for those of sheets, which are not looked at" : "");
}

tgStatus tg_sim_step_advice(tgSim *sim, tgStepAdvice *out) {
  if (sim == NULL || out == NULL) return TG_ERR_ARG;
  if (!tgi_sim_claim(sim)) return TG_ERR_STATE;
  tgi_stack_free(sim, 0);
  tgiFpEnv env = tgi_fp_enter();
  tgStatus status = step_advice(sim, out);
  tgi_fp_leave(env);
  tgi_sim_release(sim);
  return status;
}

// ---- inverse dynamics ----

static tgStatus inverse_contact(tgSim *s, const tgReal *qacc, tgReal *tau) {
  if (s->stepper->inverse != NULL) return s->stepper->inverse(s, qacc, tau);
  return tgi_error(&s->error, TG_ERR_UNSUPPORTED,
                   "Inverse dynamics with contact needs contact forces in closed form, which this contact model has not.");
}

tgStatus tg_sim_inverse_contact(tgSim *sim, const tgReal *qacc, tgReal *tau) {
  if (sim == NULL || qacc == NULL || tau == NULL) return TG_ERR_ARG;
  if (!tgi_sim_claim(sim)) return TG_ERR_STATE;
  tgi_stack_free(sim, 0);
  tgiFpEnv env = tgi_fp_enter();
  tgStatus status = inverse_contact(sim, qacc, tau);
  tgi_fp_leave(env);
  tgi_sim_release(sim);
  return status;
}

// ---- single points of a surface ----

int tg_sim_geom_points(tgSim *sim, int geom, const tgReal **position, const tgReal **normal) {
  const tgReal *p, *n;
  if (sim == NULL || geom < 0 || geom >= sim->m.ngeom || sim->stepper->points == NULL || !tgi_sim_claim(sim)) return 0;
  int count = sim->stepper->points(sim, geom, &p, &n);
  if (count > 0 && position != NULL) *position = p;
  if (count > 0 && normal != NULL) *normal = n;
  tgi_sim_release(sim);
  return count;
}

static tgStatus no_points(tgSim *s, int geom) {
  char label[128];
  return tgi_error(&s->error, TG_ERR_UNSUPPORTED, "%s collides by no points: it is in no pair, or the contact model has none.",
                   tgi_model_label(&s->m, TG_THING_GEOM, geom, label, sizeof label));
}

static tgStatus points_vjp(tgSim *s, const tgReal *gq, const tgReal *gv, int geom, tgReal *dposition, tgReal *dnormal) {
  if (s->stepper->points_vjp == NULL) return no_points(s, geom);
  if (s->stage != TG_STAGE_STEPPED)
    return tgi_error(&s->error, TG_ERR_STATE, "A step's derivative is asked for after something else than a successful step; step first.");
  return s->stepper->points_vjp(s, gq, gv, geom, dposition, dnormal);
}

tgStatus tg_sim_step_points_vjp(tgSim *sim, const tgReal *gq, const tgReal *gv, int geom, tgReal *dposition, tgReal *dnormal) {
  if (sim == NULL || geom < 0 || geom >= sim->m.ngeom) return TG_ERR_ARG;
  if (!tgi_sim_claim(sim)) return TG_ERR_STATE;
  tgi_stack_free(sim, 0);
  tgiFpEnv env = tgi_fp_enter();
  tgStatus status = points_vjp(sim, gq, gv, geom, dposition, dnormal);
  tgi_fp_leave(env);
  tgi_sim_release(sim);
  return status;
}

const tgStepInfo *tg_sim_step_info(const tgSim *sim) { return sim != NULL ? &sim->info : NULL; }

// ---- contact potential ----

static tgStatus contact_potential(tgSim *s, tgReal *energy, tgReal *gradient) {
  if (s->stepper->potential == NULL) return tgi_error(&s->error, TG_ERR_UNSUPPORTED, "Contact has no potential under this contact model.");
  TG_TRY(tgi_check_state(s));
  return s->stepper->potential(s, energy, gradient);
}

tgStatus tg_sim_contact_potential(tgSim *sim, tgReal *energy, tgReal *gradient) {
  if (sim == NULL) return TG_ERR_ARG;
  if (!tgi_sim_claim(sim)) return TG_ERR_STATE;
  tgi_stack_free(sim, 0);
  sim->stage = TG_STAGE_NONE;
  tgiFpEnv env = tgi_fp_enter();
  tgStatus status = contact_potential(sim, energy, gradient);
  tgi_fp_leave(env);
  tgi_sim_release(sim);
  return status;
}
