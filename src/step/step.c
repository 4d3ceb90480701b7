// step.c: one step as a map (q, v, act, u) -> (q', v', act'), its adjoint and its Jacobian; see tangere/step.h.
//
// The equations are the stepper's (sim/stepper.h); here is what all have in common. Activations are: a stepper takes of
// each actuator one number, its activation at the start of the step or its control, and knows no more of them.
#include "step/step.h"

#include <stdio.h>
#include <string.h>

#include "base/fpenv.h"
#include "contact/contact.h"
#include "dyn/dynamics.h"
#include "kin/tendon.h"
#include "sim/stepper.h"

tgStatus tgi_no_room(tgSim *s, const char *what) {
  return tgi_error(&s->error, TG_ERR_CAPACITY, "Scratch too small for the step's %s; reserve more and repeat.", what);
}

void tgi_step_forces(tgSim *s, const tgReal *v) {
  tgi_velocities(s, &s->start, v);
  tgi_bias(s, &s->start);
  tgi_actuation(s, &s->start);
  tgi_passive(s, &s->start);
  for (int d = 0; d < s->m.nv; d++) s->tau[d] = s->qfrc_applied[d] + s->qfrc_actuator[d] + s->qfrc_passive[d];
}

void tgi_start_smooth(tgSim *s) {
  tgi_kinematics(&s->m, s->start.q, &s->start);
  tgi_inertias(s, &s->start);
  tgi_mass_matrix(s, &s->start);
  tgi_step_forces(s, s->start.vel);
}

// (q0, v0, act0) is the state
static void open_step(tgSim *s, double h) {
  s->stage = TG_STAGE_NONE;
  s->h = h;
  memcpy(s->start.q, s->qpos, (size_t)s->m.nq * sizeof(tgReal));
  memcpy(s->start.vel, s->qvel, (size_t)s->m.nv * sizeof(tgReal));
  memcpy(s->act0, s->act, (size_t)s->m.na * sizeof(tgReal));
}

static tgStatus step(tgSim *s, double h) {
  if (!(h > 0) || !isfinite(h)) return tgi_error(&s->error, TG_ERR_ARG, "The step size is %g; give a positive number of seconds.", h);
  TG_TRY(tgi_check_state(s));
  TG_TRY(tgi_check_parameters(s));
  open_step(s, h);
  tgStatus status = s->stepper->step(s, h);
  // what a solve that was stopped leaves is not what it would have found
  if ((status > 0 || s->info.fallback != 0) && tgi_watch_stopped(&s->watch)) status = tgi_sim_cancelled(s, "step");
  if (status != TG_OK) return status;
  tgi_activation(s, h);
  return tgi_check_velocity(s, s->end.vel);
}

// what the step's size should be, before it; the step computes everything anew
static tgStatus watch(tgSim *s, double h) {
  tgStepAdvice advice;
  TG_TRY(s->stepper->advice(s, &advice));
  s->info.stable_step = advice.h;
  s->info.unstable = h > advice.h;
  return TG_OK;
}

void tg_sim_watch_stability(tgSim *sim, bool on) {
  if (sim != NULL) sim->watched = on;
}

void tg_sim_watch_answers(tgSim *sim, bool on) {
  if (sim != NULL) sim->answers_asked = on ? TGI_ASK_ALL : TGI_ASK_FEW;
}

void tg_sim_watch_cancel(tgSim *sim, const volatile int *cancel) {
  if (sim != NULL) sim->watch.cancel = cancel;
}

// (q1, v1, act1) of the state
static tgStatus solve(tgSim *s, double h) {
  s->info = (tgStepInfo){.least_distance = INFINITY, .stable_step = INFINITY, .body1 = -1, .body2 = -1, .ambiguous1 = -1, .ambiguous2 = -1,
                         .burst1 = -1, .burst2 = -1};
  tgi_stack_free(s, 0);
  s->stack_high = 0;
  s->watch.asked = 0;
  s->error = (tgError){.status = TG_OK};
  tgiFpEnv env = tgi_fp_enter();
  tgStatus status = s->watched && s->stepper->advice != NULL ? watch(s, h) : TG_OK;
  if (status == TG_OK) status = step(s, h);
  tgi_fp_leave(env);
  if (status == TG_OK) s->stage = TG_STAGE_STEPPED;
  s->info.converged = status == TG_OK && s->info.fallback == 0;
  s->info.scratch_high = s->stack_high;
  return status;
}

// (q1, v1, act1) becomes the state
static void take_over(tgSim *s) {
  memcpy(s->qpos, s->end.q, (size_t)s->m.nq * sizeof(tgReal));
  memcpy(s->qvel, s->end.vel, (size_t)s->m.nv * sizeof(tgReal));
  memcpy(s->act, s->act1, (size_t)s->m.na * sizeof(tgReal));
  if (s->frozen || s->stepper->remember == NULL) return;
  tgiFpEnv env = tgi_fp_enter();
  s->stepper->remember(s);
  tgi_fp_leave(env);
}

tgStatus tgi_step_solve(tgSim *s, double h, tgStepInfo *info) {
  if (!tgi_sim_claim(s)) return TG_ERR_STATE;
  tgStatus status = solve(s, h);
  if (info != NULL) *info = s->info;
  tgi_sim_release(s);
  return status;
}

void tgi_step_take(tgSim *s) { take_over(s); }

tgStatus tg_sim_step(tgSim *sim, double h, tgStepInfo *info) {
  if (sim == NULL) return TG_ERR_ARG;
  if (!tgi_sim_claim(sim)) return TG_ERR_STATE;
  tgStatus status = solve(sim, h);
  if (status == TG_OK) take_over(sim);
  if (info != NULL) *info = sim->info;
  tgi_sim_release(sim);
  return status;
}

// ---- a step on a tape ----

static size_t info_bytes(void) { return (sizeof(tgStepInfo) + 15) / 16 * 16; }

size_t tgi_step_record_bytes(const tgSim *s) { return info_bytes() + (s->stepper->revisit != NULL ? s->stepper->record_bytes(s) : 0); }

void tgi_step_record(const tgSim *s, void *to) {
  memcpy(to, &s->info, sizeof s->info);
  if (s->stepper->revisit != NULL) s->stepper->record(s, (char *)to + info_bytes());
}

tgStatus tgi_step_revisit(tgSim *s, double h, const void *from, bool *solved) {
  *solved = s->stepper->revisit == NULL;
  if (*solved) return tgi_step_solve(s, h, NULL);
  if (!tgi_sim_claim(s)) return TG_ERR_STATE;
  tgi_stack_free(s, 0);
  s->error = (tgError){.status = TG_OK};
  tgiFpEnv env = tgi_fp_enter();
  open_step(s, h);
  tgStatus status = s->stepper->revisit(s, h, (const char *)from + info_bytes());
  tgi_activation(s, h);
  memcpy(&s->info, from, sizeof s->info);
  tgi_fp_leave(env);
  if (status == TG_OK) s->stage = TG_STAGE_STEPPED;
  tgi_sim_release(s);
  return status;
}

tgStatus tg_sim_step_growing(tgSim *sim, double h, tgStepInfo *info) {
  enum { GROWTHS = 48 };
  tgStatus status = tg_sim_step(sim, h, info);
  for (int growth = 0; status == TG_ERR_CAPACITY && growth < GROWTHS; growth++) {
    if (tg_sim_grow(sim) != TG_OK) return TG_ERR_MEMORY;
    status = tg_sim_step(sim, h, info);
  }
  return status;
}

void tg_sim_freeze_memory(tgSim *sim, bool frozen) {
  if (sim != NULL) sim->frozen = frozen;
}

// ---- derivatives of the last step ----

static tgStatus stepped(tgSim *s) {
  if (s->stage == TG_STAGE_STEPPED) return TG_OK;
  return tgi_error(&s->error, TG_ERR_STATE, "A step's derivative is asked for after something else than a successful step; step first.");
}

const char *tg_grad_label_text(tgGradLabel label) {
  static const char *const text[] = {"exact", "one-sided", "smoothed", "surrogate", "unstable"};
  return (int)label >= 0 && label <= TG_GRAD_UNSTABLE ? text[label] : NULL;
}

// at the least: a surrogate stays one
static void one_sided(tgGradInfo *info) {
  if (info->label < TG_GRAD_ONE_SIDED) info->label = TG_GRAD_ONE_SIDED;
}

// A strand of no length pulls at neither side, next to that it does: there is no derivative.
static void label_strands(const tgSim *s, tgGradInfo *info) {
  char text[90];
  for (int t = 0; t < s->m.ntendon; t++) {
    if (!tgi_is_spatial(&s->m, t) || !tgi_strands_degenerate(&s->m, &s->start, t)) continue;
    info->label = TG_GRAD_SURROGATE;
    info->ties++;
    snprintf(info->reason, sizeof info->reason, "two sites in one place, between which %s runs",
             tgi_model_label(&s->m, TG_THING_TENDON, t, text, sizeof text));
  }
}

static tgStatus label(tgSim *s, int clamps, const tgParamGrad *dp, tgGradInfo *info) {
  if (info == NULL) return TG_OK;
  *info = (tgGradInfo){.label = TG_GRAD_EXACT, .converged = s->info.converged, .first_step = -1};
  const tgContactModel *kind = s->contact_model != NULL ? s->contact_model->kind : NULL;
  size_t mark = tgi_stack_mark(s);
  tgStatus status = kind != NULL && kind->nonsmooth != NULL ? kind->nonsmooth(s, s->h, info) : TG_OK;
  tgi_stack_free(s, mark);
  if (status != TG_OK) return status;
  if (kind != NULL && kind->param_nonsmooth != NULL && dp != NULL) kind->param_nonsmooth(s, dp, info);
  if (dp != NULL && dp->sided.ties > 0) {
    if (info->ties == 0) memcpy(info->reason, dp->sided.reason, sizeof info->reason);
    info->ties += dp->sided.ties;
    one_sided(info);
  }
  if (clamps > 0) {
    if (info->ties == 0) snprintf(info->reason, sizeof info->reason, "an actuator, activation or spring at its clamp");
    info->ties += clamps;
    one_sided(info);
  }
  label_strands(s, info);
  if (s->stepper->label != NULL) s->stepper->label(s, info);
  if (s->info.fallback != 0) {
    char text[90];
    info->label = TG_GRAD_SURROGATE;
    snprintf(info->reason, sizeof info->reason, "the contact solve had no answer at %s: the step has %s there",
             tgi_model_label(&s->m, TG_THING_BODY, s->info.body1 > 0 ? s->info.body1 : s->info.body2, text, sizeof text),
             s->info.fallback == 1 ? "less friction" : "the least residual");
  }
  return TG_OK;
}

tgStatus tgi_step_label(tgSim *s, tgGradInfo *info) {
  s->aware_row = -1;   // of no derivative that was taken
  return label(s, 0, NULL, info);
}

// what a gradient is in: the step's end, or in place of that a number that a leg decides, or the contacts
typedef struct Seed {
  const tgReal *gq, *gv;
  const tgiLegSlopes *leg;
  const tgiTouchGrad *touch;
} Seed;

static tgStatus stepper_vjp(tgSim *s, const Seed *g, tgReal *aq, tgReal *av, tgReal *du, tgParamGrad *dp, int *clamps) {
  const tgStepper *k = s->stepper;
  if (g->leg != NULL) return k->leg_vjp(s, g->leg, aq, av, du, dp, clamps);
  return g->touch != NULL ? k->touches_vjp(s, g->touch, aq, av, du, dp, clamps) : k->vjp(s, g->gq, g->gv, aq, av, du, dp, clamps);
}

static tgStatus vjp_of(tgSim *s, const Seed *g, tgReal *dq, tgReal *dv, tgReal *du, tgParamGrad *dp, int *clamps) {
  int nv = s->m.nv, nu = s->m.nu, na = s->m.na;
  tgReal *a = tgi_stack_real(s, 2 * (size_t)nv + (na > 0 ? (size_t)nu : 0)), *input = na > 0 ? a + 2 * nv : du;
  if (a == NULL) return tgi_no_room(s, "adjoint");
  for (int d = 0; d < 2 * nv; d++) a[d] = 0;
  for (int i = 0; i < nu && input != NULL; i++) input[i] = 0;
  if (dp != NULL && s->contact_model != NULL) TG_TRY(tgi_contact_differentiable(s, dp));
  if (dp != NULL) {
    dp->sided = (tgGradInfo){.label = TG_GRAD_EXACT};
    dp->ends = 0;
  }
  TG_TRY_OUTCOME(stepper_vjp(s, g, a, a + nv, input, dp, clamps));
  if (na > 0) tgi_activation_vjp(s, s->h, g->gv != NULL ? g->gv + nv : NULL, input, dv != NULL ? dv + nv : NULL, du, dp, clamps);
  if (dq != NULL) memcpy(dq, a, (size_t)nv * sizeof *dq);
  if (dv != NULL) memcpy(dv, a + nv, (size_t)nv * sizeof *dv);
  return TG_OK;
}

static tgStatus vjp(tgSim *s, const tgReal *gq, const tgReal *gv, tgReal *dq, tgReal *dv, tgReal *du, tgParamGrad *dp, int *clamps) {
  return vjp_of(s, &(Seed){.gq = gq, .gv = gv}, dq, dv, du, dp, clamps);
}

tgStatus tgi_step_leg_vjp(tgSim *s, const tgiLegSlopes *g, tgReal *dq, tgReal *dv, tgReal *du, tgParamGrad *dp) {
  int clamps = 0;
  size_t mark = tgi_stack_mark(s);
  tgiFpEnv env = tgi_fp_enter();
  s->no_aware_adjoint = true;   // no label would say so
  tgStatus status = vjp_of(s, &(Seed){.leg = g}, dq, dv, du, dp, &clamps);
  s->no_aware_adjoint = false;
  tgi_fp_leave(env);
  tgi_stack_free(s, mark);
  return status;
}

tgStatus tgi_step_touches_vjp(tgSim *s, const tgiTouchGrad *g, tgReal *dq, tgReal *dv, tgReal *du, tgParamGrad *dp, tgGradInfo *info) {
  int clamps = 0;
  size_t mark = tgi_stack_mark(s);
  TG_TRY(stepped(s));
  if (s->stepper->touches_vjp == NULL)
    return tgi_error(&s->error, TG_ERR_UNSUPPORTED, "Forces of contacts have no derivative under the contact model %s.",
                     s->contact_model != NULL ? s->contact_model->kind->word : "none");
  s->aware_row = -1;
  s->no_aware_adjoint = true;   // of forces there is no such choice
  tgStatus status = vjp_of(s, &(Seed){.touch = g}, dq, dv, du, dp, &clamps);
  s->no_aware_adjoint = false;
  tgi_stack_free(s, mark);
  return status == TG_OK ? label(s, clamps, dp, info) : status;
}

tgStatus tg_sim_step_vjp(tgSim *sim, const tgReal *gq, const tgReal *gv, tgReal *dq, tgReal *dv, tgReal *du,
                         tgParamGrad *dp, tgGradInfo *info) {
  if (sim == NULL || (dp != NULL && !tgi_param_fits(dp, sim))) return TG_ERR_ARG;
  if (!tgi_sim_claim(sim)) return TG_ERR_STATE;
  int clamps = 0;
  size_t mark = tgi_stack_mark(sim);
  sim->aware_row = -1;
  tgiFpEnv env = tgi_fp_enter();
  tgStatus status = stepped(sim);
  if (status == TG_OK) status = vjp(sim, gq, gv, dq, dv, du, dp, &clamps);
  tgi_stack_free(sim, mark);
  if (status == TG_OK) status = label(sim, clamps, dp, info);
  tgi_fp_leave(env);
  tgi_sim_release(sim);
  return status;
}

static tgStatus add_activations(tgSim *s, tgReal *D, int *clamps) {
  size_t mark = tgi_stack_mark(s);
  tgReal *row = tgi_stack_real(s, (size_t)s->m.nu);
  if (row == NULL) return tgi_no_room(s, "Jacobian");
  tgi_activation_jacobian(s, s->h, row, D, clamps);
  tgi_stack_free(s, mark);
  return TG_OK;
}

static tgStatus jacobian(tgSim *s, tgReal *D, tgGradInfo *info) {
  int clamps = 0;
  TG_TRY(stepped(s));
  TG_TRY(tgi_stack_reserve_dense(s));
  s->aware_row = -1;
  size_t mark = tgi_stack_mark(s);
  tgStatus status = s->stepper->jacobian(s, D, &clamps);
  tgi_stack_free(s, mark);
  if (status == TG_OK && s->m.na > 0) status = add_activations(s, D, &clamps);
  return status != TG_OK ? status : label(s, clamps, NULL, info);
}

tgStatus tg_sim_step_jacobian(tgSim *sim, tgReal *D, tgGradInfo *info) {
  if (sim == NULL || D == NULL) return TG_ERR_ARG;
  if (!tgi_sim_claim(sim)) return TG_ERR_STATE;
  tgiFpEnv env = tgi_fp_enter();
  tgStatus status = jacobian(sim, D, info);
  tgi_fp_leave(env);
  tgi_sim_release(sim);
  return status;
}

static tgStatus param_jacobian(tgSim *s, tgParamGrad *dp, tgReal *D, tgGradInfo *info) {
  int nv = s->m.nv, ny = nv + tgi_nw(&s->m), clamps = 0;
  size_t mark = tgi_stack_mark(s);
  tgReal *g = tgi_stack_real(s, (size_t)ny);
  tgStatus status = stepped(s);
  s->aware_row = -1;
  s->no_aware_adjoint = true;
  if (status == TG_OK && g == NULL)
    status = tgi_no_room(s, "Jacobian");
  for (int i = 0; i < ny && status == TG_OK; i++) {
    for (int k = 0; k < ny; k++) g[k] = k == i;
    tg_param_grad_clear(dp);
    clamps = 0;
    size_t row = tgi_stack_mark(s);
    status = vjp(s, g, g + nv, NULL, NULL, NULL, dp, &clamps);
    tgi_stack_free(s, row);
    for (int k = 0; k < dp->size; k++) D[(size_t)i * (size_t)dp->size + (size_t)k] = dp->value[k];
  }
  s->no_aware_adjoint = false;
  tgi_stack_free(s, mark);
  return status == TG_OK ? label(s, clamps, dp, info) : status;
}

tgStatus tg_sim_step_param_jacobian(tgSim *sim, tgParamGrad *dp, tgReal *D, tgGradInfo *info) {
  if (sim == NULL || dp == NULL || D == NULL || !tgi_param_fits(dp, sim)) return TG_ERR_ARG;
  if (!tgi_sim_claim(sim)) return TG_ERR_STATE;
  tgiFpEnv env = tgi_fp_enter();
  tgStatus status = param_jacobian(sim, dp, D, info);
  tgi_fp_leave(env);
  tgi_sim_release(sim);
  return status;
}
